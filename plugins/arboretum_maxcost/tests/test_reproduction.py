"""The reproduction of the max-cost paper: a small form of it, and that a wrong number fails."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import numpy as np
import pytest

import arboretum.cli.main
from arboretum.api import Judgement, Verdict
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum.testing import ReproductionSuite
from arboretum_maxcost.paper import figure4, lemmas
from arboretum_maxcost.paper.reproduction import CHAPTERS, MaxCostStudy
from arboretum_maxcost.paper.study import published

AT_HAND = Path(os.environ.get("ARBORETUM_DATA", "nowhere"), "mammography.csv.gz").exists()
NEEDS_MAMMOGRAPHY = pytest.mark.skipif(
    not AT_HAND, reason="mammography is not in the data home (ARBORETUM_DATA)"
)
NAMES = ("mammography", "wdbc") if AT_HAND else ("wdbc",)
SMALL = [
    {"chapter": "figure1"},
    *({"chapter": "synthetic", "bits": bits} for bits in (4, 6, 10)),
    *({"chapter": "datasets", "dataset": name} for name in NAMES),
    *(
        {"chapter": "figure4", "dataset": name, "function": f}
        for name in NAMES
        for f in (*figure4.FUNCTIONS, figure4.LEAST)
    ),
]


class TestContract(ReproductionSuite):
    component = MaxCostStudy(datasets=("wdbc",))
    fraction = 0.3


@pytest.fixture(scope="module")
def results() -> list[tuple[dict, dict]]:
    services, paper = RegistryFactory(load_registry()), MaxCostStudy()
    return [
        (key, json.loads(json.dumps(paper.work(key, 0, services), allow_nan=False)))
        for key in SMALL
    ]


@pytest.fixture
def doctored(results):
    """Results that may be changed."""
    return copy.deepcopy(results)


def of(results, **key) -> dict:
    return next(result for own, result in results if own.items() >= key.items())


def failing(results) -> set[tuple[str, str]]:
    return {
        (cell.row, cell.column)
        for cell in MaxCostStudy().judge(results).cells
        if cell.verdict is Verdict.FAIL
    }


def test_the_small_form_meets_every_printed_number(results):
    found = MaxCostStudy().judge(results)
    assert not failing(results) and len(found.cells) > 60
    known = {(cell.row, cell.column) for cell in found.cells if cell.verdict is Verdict.KNOWN}
    assert ("hinged Pairs", "F") in known
    assert not AT_HAND or known >= {("Mammography", "objects"), ("Mammography", "attributes")}
    assert all(
        claim.verdict is Verdict.PASS
        for claim in found.claims
        if claim.sentence.startswith(("Figure", "All nodes", "Section 5"))
    )


def test_the_whole_work_covers_nine_data_sets_and_five_functions():
    pieces = [piece.key for piece in MaxCostStudy().pieces(1.0)]
    assert {key["chapter"] for key in pieces} == set(CHAPTERS)
    pairs = {
        (key["dataset"], key["function"])
        for key in pieces
        if key["chapter"] == "figure4" and key["function"] in figure4.FUNCTIONS
    }
    assert pairs == {(name, f) for name in published()["datasets"] for f in figure4.FUNCTIONS}
    assert [key["bits"] for key in pieces if key["chapter"] == "synthetic"] == list(range(4, 15))


@pytest.mark.parametrize(
    "chapter, path, value, place",
    [
        ({"chapter": "figure1"}, ("functions", "Pairs", "gains", 1), 674.0, ("Pairs", "1/R(t2)")),
        (
            {"chapter": "figure1"},
            ("functions", "Powers(4)", "errors"),
            31,
            ("Powers(4)", "errors after t2"),
        ),
        ({"chapter": "synthetic", "bits": 10}, ("greedy", "leaves"), 37, ("Pairs", "leaves")),
        ({"chapter": "synthetic", "bits": 10}, ("errors", 3), 5, ("Pairs", "errors at depth 3")),
        ({"chapter": "synthetic", "bits": 10}, ("least",), 9.0, ("optimum", "max cost")),
        (
            {"chapter": "synthetic", "bits": 10},
            ("more", "hinged", "errors"),
            3,
            ("hinged Pairs, α = 5", "errors"),
        ),
        ({"chapter": "datasets", "dataset": "wdbc"}, ("objects",), 568, ("WBCD", "objects")),
        ({"chapter": "datasets", "dataset": "wdbc"}, ("attributes",), 31, ("WBCD", "attributes")),
    ],
)
def test_a_wrong_number_fails(doctored, chapter, path, value, place):
    found = of(doctored, **chapter)
    for step in path[:-1]:
        found = found[step]
    assert found[path[-1]] != value
    found[path[-1]] = value
    assert failing(doctored) == {place}


def test_a_known_difference_fails_where_its_reason_predicts_something_else(doctored):
    """The appendix' F without −α² is 484; were it 483, nothing would explain what is printed."""
    of(doctored, chapter="figure1")["functions"]["hinged Pairs without −α²"]["F"] = 483.0
    assert failing(doctored) == {("hinged Pairs", "F"), ("hinged Pairs without −α²", "F")}


@NEEDS_MAMMOGRAPHY
def test_mammographys_objects_are_known_to_be_its_complete_rows(doctored):
    one = of(doctored, chapter="datasets", dataset="mammography")
    one["complete"] = 829  # rows with a missing value: then 830 does not count the complete ones
    assert ("Mammography", "objects") in failing(doctored)


@pytest.mark.parametrize(
    "path, value, words",
    [
        (("synthetic", "stopped", "max_cost"), 3.0, "constant number of outliers"),
        (("synthetic", "wrong"), [0, 256, 512, 769], "given up"),
        (("synthetic", "tests"), ["t1", "t2", "t3"], "then t2 on both sides"),
        (("figure1", "first"), [3.0], "no α prefers t1"),
    ],
)
def test_a_sentence_fails_where_its_numbers_do(doctored, path, value, words):
    found = of(doctored, chapter=path[0], **({"bits": 10} if path[0] == "synthetic" else {}))
    for step in path[1:-1]:
        found = found[step]
    found[path[-1]] = value
    verdicts = {
        claim.sentence: claim.verdict
        for claim in MaxCostStudy().judge(doctored).claims
        if words in claim.sentence
    }
    assert list(verdicts.values()) == [Verdict.FAIL]


def test_trends_are_open_before_all_data_sets_are_done(results):
    verdicts = [
        claim.verdict
        for claim in MaxCostStudy().judge(results).claims
        if claim.sentence.startswith(("Trend 2", "Choosing"))
    ]
    assert verdicts == [Verdict.OPEN] * 3


def test_curves_fall_and_the_portfolio_is_the_lowest_of_them(results):
    found = MaxCostStudy().judge(results)
    rows = [line.split(",") for line in found.tables["portfolio.csv"].splitlines()[1:]]
    for name in NAMES:
        lowest = [float(row[2]) for row in rows if row[0] == name]
        assert lowest == sorted(lowest, reverse=True) and lowest[-1] == 0.0
        for f in figure4.FUNCTIONS:
            points = of(results, dataset=name, function=f)["points"]
            n = of(results, dataset=name, function=f)["objects"]
            assert all(lowest[int(cost)] <= errors / n + 1e-6 for cost, errors, *_ in points)


def test_greedy_trees_do_not_beat_the_proven_least_errors(results):
    for name in NAMES:
        least = {
            cost: errors
            for cost, errors, *_ in of(results, dataset=name, function=figure4.LEAST)["points"]
        }
        for f in figure4.FUNCTIONS:
            for cost, errors, *_ in of(results, dataset=name, function=f)["points"]:
                assert errors >= min(wrong for budget, wrong in least.items() if budget <= cost)


def test_evenness_and_errors_of_the_top_by_hand():
    """Ten objects: 6 | 4, and the six 3 | 3; of two classes."""
    parent, asks = np.array([-1, 0, 1, 1, 0]), np.array([True, True, False, False, False])
    weights = np.array([[6, 4], [5, 1], [3, 0], [2, 1], [1, 3]], float)
    assert figure4.evenness_of_top(parent, asks, weights) == pytest.approx(
        [1 - (6 + 3) / (10 + 6), 0.2, 0.4, 0.2]
    )
    assert figure4.evenness_of_top(parent[:1], ~asks[:1], weights[:1]) == []


def test_what_has_not_been_done_is_not_judged(results):
    assert MaxCostStudy().judge([]) == Judgement()
    part = MaxCostStudy().judge(
        [pair for pair in results if pair[0].get("function") == "Powers(2)"]
    )
    assert not (part.cells or part.claims or part.chapters or part.pictures)


@pytest.mark.compiled  # as commands do outside of runs
def test_the_command_does_a_part_and_goes_on_from_there(tmp_path, capsys):
    words = [
        "reproduce",
        "maxcost",
        "--chapters",
        "figure1,synthetic",
        "--workers",
        "1",
        "--out",
        str(tmp_path),
        "tracker=none",
    ]
    assert arboretum.cli.main.main([*words, "--fraction", "0.2"]) == 0
    assert arboretum.cli.main.main([*words, "--fraction", "0.4"]) == 0
    summary = json.loads((tmp_path / "reproduction.json").read_text())
    assert summary["reused"] == 3 and summary["pieces"] == 5  # figure1 is one piece
    assert "verdict: KNOWN" in capsys.readouterr().out


def test_limits_of_the_lemmas_by_hand():
    """Five leaves of 9 + 1 objects refute Lemma 4.3 as printed; a leaf of 40 + 40 has P₁ > 0,
    and more errors than any limit allows.
    """
    assert lemmas.check_limits(*lemmas.REFUTES) == {
        "4.3": False,
        "4.3 · l": True,
        "4.4": True,
        "4.5, first": True,
        "4.5, second": True,
    }
    assert lemmas.hinged_pairs((4, 4), 1) == 8 and lemmas.hinged_pairs((9, 1), 1) == 0
    far = lemmas.check_limits(1, ((40, 40),))
    assert not (far["4.3 · l"] or far["4.5, second"] or far["4.4"])


def test_the_least_depth_of_small_tables_by_hand():
    bits = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert [lemmas.least_depth(bits, bits[:, 0] ^ bits[:, 1], errors) for errors in (0, 1, 2)] == [
        2,
        2,
        0,
    ]
    assert lemmas.least_depth(bits, bits[:, 1], 0) == 1


def test_sentences_of_the_lemmas_can_fail():
    leaves = {"beyond": dict.fromkeys(lemmas.LIMITS, 0), "drawn": 10}
    trees = {"rows": [[1, 8, 3.0, 0, 1, 2.5]]}
    keys = {"chapter": "lemmas", "what": "leaves"}, {"chapter": "lemmas", "what": "trees"}
    assert [c.verdict for c in lemmas.judge([(keys[0], leaves), (keys[1], trees)]).claims] == [
        Verdict.PASS
    ] * 4 + [Verdict.FAIL]
    leaves["beyond"] |= {"4.3": 3}
    assert lemmas.judge([(keys[0], leaves)]).claims[0].verdict is Verdict.KNOWN
    leaves["beyond"] |= {"4.3 · l": 1}
    assert lemmas.judge([(keys[0], leaves)]).claims[0].verdict is Verdict.FAIL
