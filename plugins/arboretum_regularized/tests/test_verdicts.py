"""Every verdict of the study can fail: numbers that bear a sentence out, and the same numbers
with one thing changed.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from arboretum.api import ConfigError, Verdict, VerificationError
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum_regularized.paper import certified, drawn, growth
from arboretum_regularized.paper.claims import claims
from arboretum_regularized.paper.means import standard_error
from arboretum_regularized.paper.reproduction import Regularized
from arboretum_regularized.paper.results import (
    ALGORITHMS,
    AUTHORS,
    FAMILY,
    GROWN,
    PAPER,
    UNIT,
    Part,
    Results,
    as_published,
    published,
)
from arboretum_regularized.paper.study import study
from arboretum_regularized.paper.verdicts import cells, judge_sweep, one_sided

OURS = Part(UNIT, AUTHORS)


@pytest.fixture(scope="module")
def services() -> RegistryFactory:
    return RegistryFactory(load_registry())


def of_means(**changed) -> Results:
    """The published means as results, changed: measure → (data set, algorithm, value) → value."""
    found = {place: [dict(noted[0])] for place, noted in as_published().found.items()}
    for measure, change in changed.items():
        for (_, dataset, algorithm), noted in found.items():
            noted[0][measure] = change(dataset, algorithm, noted[0].get(measure))
    return Results(found)


def verdict(found: Results, words: str) -> tuple[Verdict, str]:
    """The verdict of the one sentence with these words, and its evidence."""
    [claim] = [claim for claim in claims(found) if words in claim.sentence]
    return claim.verdict, claim.evidence


# -- the paper's sentences -------------------------------------------------------------------------


def test_c45_and_cart_behave_alike_unless_the_ranks_of_one_family_change():
    assert verdict(of_means(), "behave alike")[0] is Verdict.PASS
    swapped = of_means(roc_auc=lambda d, a, v: v - 0.4 if a in ("CART", "ECART", "pECART") else v)
    assert verdict(swapped, "behave alike")[0] is Verdict.FAIL


@pytest.mark.parametrize("measure", ["roc_auc", "expected_cost"])
def test_pruning_helps_in_both_measures_or_the_sentence_fails(measure):
    assert verdict(of_means(), "post-pruning helps")[0] is Verdict.PASS
    sign = 1 if measure == "roc_auc" else -1
    worse = of_means(**{measure: lambda d, a, v: v - sign * 0.3 * v if a == "pC4.5" else v})
    assert verdict(worse, "post-pruning helps")[0] is Verdict.FAIL


def timed(ratios: dict[str, float], cost: float = 10.0, seconds: float = 1.0) -> Results:
    """Seconds of EC4.5 per data set, C4.5 taking ``seconds``; expected cost of C4.5, EC4.5's
    being 5.
    """
    found = {
        (OURS, name, a): [
            {
                "seconds": seconds * (ratio if a.startswith("E") else 1.0),
                "expected_cost": cost if a == "C4.5" else 5.0,
            }
        ]
        for name, ratio in ratios.items()
        for a in GROWN
    }
    return Results(found)


def test_times_are_judged_on_three_data_sets_that_take_long_enough():
    three = dict.fromkeys(("dota2", "diabetic", "covertype"), 3.5)
    assert verdict(timed(three), "3 to 4 times")[0] is Verdict.PASS
    assert verdict(timed(dict.fromkeys(three, 2.5)), "3 to 4 times")[0] is Verdict.FAIL
    assert verdict(timed({"dota2": 3.5, "diabetic": 3.5}), "3 to 4 times")[0] is Verdict.OPEN
    short, words = verdict(timed(three, seconds=0.02), "3 to 4 times")
    assert short is Verdict.OPEN and "0 of the 3 data sets needed take more than 0.1 s" in words


def test_the_published_ratios_of_running_times_stand_beside_ours():
    words = verdict(timed(dict.fromkeys(("dota2", "diabetic", "covertype"), 3.5)), "3 to 4 times")[
        1
    ]
    for pair, ours in (
        ("EC4.5/C4.5", 3.5),
        ("ECART/CART", 3.5),
        ("IP/C4.5", 1.0),
        ("ASR/C4.5", 1.0),
    ):
        a, b = pair.split("/")
        seconds = published().seconds
        same = np.exp(
            np.mean(
                [
                    np.log(seconds[name, a] / seconds[name, b])
                    for name in ("dota2", "diabetic", "covertype")
                ]
            )
        )
        whole = np.exp(
            np.mean([np.log(seconds[name, a] / seconds[name, b]) for name in published().datasets])
        )
        assert f"{pair} {ours:.2f} (published {same:.2f}; on all twenty {whole:.2f})" in words
    assert "mean ratios to CC4.5: EC4.5 – (published 3.68)" in words
    one = timed({"dota2": 3.5}).found
    random = {(Part("random", OURS.variant), name, a): rows for (_, name, a), rows in one.items()}
    words = verdict(Results(one | random), "3 to 4 times")[1]
    for text in (
        "EC4.5 3.50 (published 3.68)",
        "ASR 1.00 (published 2.48)",
        "IP 1.00 (published 0.60)",
        "BAL 1.00 (published 3.36)",
    ):
        assert text in words


def test_a_longer_time_counts_only_where_the_tree_is_skewed():
    ratios = {"dota2": 0.5, "diabetic": 2.0, "covertype": 2.0}
    assert verdict(timed(ratios), "is skewed")[0] is Verdict.PASS
    assert verdict(timed(ratios, cost=6.0), "is skewed")[0] is Verdict.FAIL
    assert verdict(timed(dict.fromkeys(ratios, 2.0)), "is skewed")[0] is Verdict.FAIL


@pytest.mark.parametrize(
    ("pure", "wasted", "expected"),
    [(0.2, 0.1, Verdict.PASS), (0.9, 0.1, Verdict.FAIL), (0.2, 0.8, Verdict.FAIL)],
)
def test_bal_is_long_for_want_of_homogeneous_nodes_only_if_useless_tests_are_not_why(
    pure, wasted, expected
):
    def noted(a):
        return [
            {
                "pure": pure if a == "BAL" else 0.95,
                "expected_cost": 10.0,
                "useless": 10.0 * wasted if a == "BAL" else 0.0,
            }
        ]

    found = Results({(OURS, name, a): noted(a) for name in published().datasets for a in GROWN})
    assert verdict(found, "rarely become homogeneous")[0] is expected


def test_where_friedman_finds_nothing_no_two_algorithms_are_told_apart():
    random = np.random.default_rng(0)
    noise = of_means(
        roc_auc=lambda d, a, v: float(random.random()),
        expected_cost=lambda d, a, v: float(random.random()),
    )
    found = {claim.sentence: claim.verdict for claim in claims(noise)}
    assert {v for s, v in found.items() if "Friedman" in s} == {Verdict.FAIL}
    assert {v for s, v in found.items() if "significantly better than most" in s} == {Verdict.FAIL}
    assert "critical difference inf" in verdict(noise, "pEC4.5 does not differ")[1]
    assert verdict(of_means(), "of the family of C4.5 differ")[0] is Verdict.PASS
    assert "critical difference 1.80" in verdict(of_means(), "pEC4.5 does not differ")[1]


def test_friedman_stands_in_the_tables_of_ranks():
    from arboretum_regularized.paper.showing import rank_tables

    table = rank_tables(of_means(n_nodes=lambda d, a, v: len(d) + len(a)))["ranks_unit_authors.csv"]
    first = dict(zip(*(line.split(",") for line in table.splitlines()[:2]), strict=True))
    assert (
        float(first["Friedman chi-square"]) == pytest.approx(49.9, abs=0.1)
        and 0 < float(first["Friedman p"]) < 1e-8
    )


# -- all of a data set -----------------------------------------------------------------------------


def noisy(shift: float) -> Results:
    """The published means with the noise of twenty splits; electricity's costs all moved by so
    many standard deviations.
    """
    random, found = np.random.default_rng(7), {}
    for (dataset, algorithm, measure), value in published().results.items():
        moved = shift if (dataset, measure) == ("electricity", "expected_cost") else 0.0
        values = value * (1.0 + 0.01 * (random.standard_normal(20) + moved))
        splits = found.setdefault(
            (OURS, dataset, algorithm), [{"seed": seed, "n_nodes": 3} for seed in range(20)]
        )
        for one, x in zip(splits, values, strict=True):
            one[measure] = float(x)
    return Results(found)


@pytest.mark.parametrize("shift", [0.0, 1.0, -1.0])
def test_algorithms_that_all_lie_to_one_side_fail_though_each_passes(shift):
    """One standard deviation is two standard errors of a cell (0.5 s): nobody fails alone."""
    found = noisy(shift)
    made = cells(found)
    assert all(cell.verdict is Verdict.PASS for cell in made)
    auc, cost = one_sided(found, made)
    assert auc.verdict is Verdict.PASS
    assert cost.verdict is (Verdict.FAIL if shift else Verdict.PASS)
    assert ("electricity" in cost.evidence) is bool(shift)


# -- chapters --------------------------------------------------------------------------------------


def swept(factor: float = 1.0) -> Results:
    """EC4.5 on iris over λ, its published costs times a factor, and areas."""
    paper, splits = published(), []
    for seed in range(5):
        off = 1.0 + 0.01 * (seed - 2)
        rows = [
            [
                lam,
                *[paper.sweep["iris", lam, "roc_auc"] * off] * 2,
                paper.sweep["iris", lam, "expected_cost"] * off * factor,
                9,
            ]
            for lam in paper.sweep_lambdas
        ]
        splits.append({"seed": seed, "sweep": rows, "roc_auc": 0.9})
    return Results({(OURS, "iris", "EC4.5"): splits, (OURS, "iris", "ECART"): splits})


def test_the_sweep_over_lambda_is_judged_mean_by_mean():
    found = judge_sweep(swept())
    assert len(found.cells) == 14 and {cell.verdict for cell in found.cells} == {Verdict.PASS}
    assert "lambda_sweep" in found.pictures and found.chapters[0].pictures == ("lambda_sweep",)
    assert found.tables["lambda_sweep.csv"].count("\n") == 1 + 14
    off = {cell.table: cell.verdict for cell in judge_sweep(swept(1.1)).cells}
    assert off == {
        "validation AUC of EC4.5 by λ": Verdict.PASS,
        "expected cost of EC4.5 by λ": Verdict.FAIL,
    }
    assert not judge_sweep(as_published()).cells


def test_the_sweep_of_a_piece_has_every_lambda_and_the_trees_of_the_tuning(services):
    key = {"dataset": "iris", "seed": 0, "prices": UNIT, "variant": AUTHORS, "times": False}
    noted = study(services, key, 0)["algorithms"]
    for algorithm in ("EC4.5", "ECART"):
        rows = {row[0]: row[1:4] for row in noted[algorithm]["sweep"]}
        assert sorted(rows) == list(published().sweep_lambdas)
        assert all(rows[row[0]] == row[1:] for row in noted[algorithm]["tried"])
    assert len(noted["BAL"]["orders"]) == 2
    assert "sweep" not in study(services, {**key, "variant": PAPER}, 0)["algorithms"]["EC4.5"]


def test_what_a_tree_pays_for_nothing_and_how_many_rows_end_pure(services):
    """BAL asks useless tests where they compete, and none where they do not; C4.5 on iris goes
    on to pure leaves.
    """
    key = {"dataset": "iris", "seed": 0, "prices": UNIT, "times": False}
    authors, paper = (
        study(services, {**key, "variant": v}, 0)["algorithms"] for v in (AUTHORS, PAPER)
    )
    assert (
        authors["BAL"]["useless"] > 0.5 * authors["BAL"]["expected_cost"]
        and paper["BAL"]["useless"] == 0.0
    )
    assert (
        all(0.0 <= noted["pure"] <= 1.0 for noted in authors.values())
        and authors["C4.5"]["pure"] > authors["BAL"]["pure"]
    )


def captioned(height: float) -> list:
    offs = (-0.1, -0.05, 0.0, 0.05, 0.1)
    one = [
        {"roc_auc": 0.839 + off / 10, "height": height + off, "leaves": 38, "svg": "<svg/>"}
        for off in offs
    ]
    return [
        ({"dataset": "spambase", "seed": seed}, dict.fromkeys(drawn.METHODS, own))
        for seed, own in enumerate(one)
    ]


def test_a_caption_that_is_missed_fails_and_the_trees_are_pictures():
    found = drawn.judge(captioned(5.8))
    assert {cell.verdict for cell in found.cells} == {Verdict.PASS} and len(found.cells) == 2
    assert (
        set(found.pictures)
        == {f"tree_spambase_{preset}" for preset in drawn.METHODS}
        == set(found.chapters[0].pictures)
    )
    verdicts = {cell.table: cell.verdict for cell in drawn.judge(captioned(5.2)).cells}
    assert verdicts["captions of drawn trees: expected height"] is Verdict.FAIL
    assert not drawn.judge(captioned(5.2)[:3]).cells


def grown(
    exponents: tuple[float, float, float], seconds: float = 1.0, names=("covertype", "bioresponse")
) -> list:
    """Seconds that follow powers of objects and tests, an average depth that follows one of log
    n.
    """
    over_n, over_m, over_log = exponents
    rows = []
    for kind, n, m in [("objects", 2.0**k, 64.0) for k in (14, 13, 12, 11, 10)] + [
        ("tests", 2.0**14, 2.0**k) for k in (5, 4, 3, 2)
    ]:
        for method in growth.METHODS:
            time = (
                seconds
                * (n / 2**14) ** over_n
                * (m / 64) ** over_m
                * (1.0 + 0.001 * (n % 7 + m % 3))
            )
            rows.append([method, kind, n, m, time, np.log(n) ** over_log * (1 + 0.001 * (n % 5))])
    return [({"dataset": name, "seed": 0}, {"rows": rows}) for name in names]


@pytest.mark.parametrize(
    ("exponents", "seconds", "expected"),
    [
        ((1.1, 0.9, 1.0), 1.0, ["PASS", "PASS", "PASS"]),
        ((1.1, -0.1, 1.0), 1.0, ["FAIL", "PASS", "PASS"]),
        ((0.8, 0.9, 0.3), 1.0, ["PASS", "FAIL", "FAIL"]),
        ((1.0, 1.0, 1.0), 1.0, ["PASS", "OPEN", "PASS"]),
        ((1.1, 0.9, 1.0), 0.05, ["OPEN", "OPEN", "PASS"]),
    ],
)
def test_figure_15_is_judged_by_exponents_and_not_on_times_too_short(exponents, seconds, expected):
    found = growth.judge(grown(exponents, seconds))
    assert [claim.verdict.value for claim in found.claims] == expected
    assert (
        set(found.chapters[0].pictures) == set(found.pictures)
        and len(found.pictures) == 4
        and "growth.csv" in found.tables
    )
    assert {c.verdict for c in growth.judge(grown(exponents, seconds, ("covertype",))).claims} == {
        Verdict.OPEN
    }


def test_a_piece_of_figure_15_grows_on_fewer_rows_and_on_fewer_columns(services, monkeypatch):
    rows = growth.work({"dataset": "iris", "seed": 0}, 0, services)["rows"]
    assert len(rows) == len(growth.METHODS) * (2 * len(growth.SHARES) - 1)
    objects, tests = (
        [row[place] for row in rows if row[1] == kind]
        for kind, place in (("objects", 2), ("tests", 3))
    )
    assert objects[0] > objects[-1] and len(set(tests)) > 1 and max(tests) < rows[0][3]
    assert json.dumps(growth.judge([({"dataset": "covertype", "seed": 0}, {"rows": rows})]).tables)


def test_a_ratio_above_its_promise_fails(services):
    key = {"chapter": "certified", "dataset": "iris", "prices": UNIT, "variant": PAPER}
    found = certified.work(key, 0, services)
    assert found["least"] < min(one["expected_cost"] for one in found["methods"].values())
    judged = certified.judge([(key, found)])
    assert [claim.verdict for claim in judged.claims] == [Verdict.PASS]
    assert (
        judged.chapters[0].metrics["mean/EC4.5"]
        == found["methods"]["EC4.5"]["expected_cost"] / found["least"]
    )
    broken = json.loads(json.dumps(found))
    broken["methods"]["ASR"]["promised"] = 1.0
    assert [claim.verdict for claim in certified.judge([(key, broken)]).claims] == [Verdict.FAIL]


def test_a_tree_below_the_proven_least_stops_the_piece(services, monkeypatch):
    monkeypatch.setattr(certified, "_least_expected_cost", lambda *_: 99.0)
    with pytest.raises(VerificationError, match="costs less than the proven least"):
        certified.work(
            {"chapter": "certified", "dataset": "iris", "prices": UNIT, "variant": PAPER},
            0,
            services,
        )


def test_chapters_can_be_asked_for_and_are_judged_together(services):
    study_only, all_of_it = (
        Regularized(datasets=("iris",), chapters=c) for c in (("study",), ("study", "certified"))
    )
    more = [p.key for p in all_of_it.pieces(1.0) if p not in study_only.pieces(1.0)]
    assert {key["chapter"] for key in more} == {"certified"} and len(more) == 4
    assert {
        key["chapter"]
        for key in (p.key for p in Regularized(chapters=("drawn", "growth")).pieces(1.0))
    } == {"drawn", "growth"}
    assert not [
        p
        for p in Regularized(datasets=("covertype",), times=False).pieces(1.0)
        if "chapter" in p.key
    ]
    with pytest.raises(ConfigError, match="nothing to do: these fields leave no piece of growth"):
        Regularized(chapters=("growth",), times=False).pieces(1.0)
    results = [(key, all_of_it.work(key, 0, services)) for key in more if key["variant"] == PAPER]
    assert [claim.sentence for claim in all_of_it.judge(results).claims] == [
        "Theorem 1: expected cost is at most 20γ times the least"
    ]


def test_the_error_of_a_cell_is_that_of_two_means():
    assert standard_error(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), published().runs) == pytest.approx(
        np.sqrt(2.5) * np.sqrt(1 / 5 + 1 / 5)
    )
    assert standard_error(np.array([1.0]), 5) == 0.0
    assert len(FAMILY["C4.5"]) == 7 and set(FAMILY["CART"]) <= set(ALGORITHMS)
