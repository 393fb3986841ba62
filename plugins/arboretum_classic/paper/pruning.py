"""Pre-pruning by significance "is fast, but can stop too early": play-tennis, exclusive-or, and
data sets, against post-pruning.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from arboretum.api import (
    Axis,
    Claim,
    Facts,
    Judgement,
    Key,
    Keyed,
    Panels,
    Piece,
    Plain,
    Services,
    csv_text,
    sure,
)
from arboretum_classic.paper.reproduction import Lecture
from arboretum_classic.paper.study import (
    claim_on_most,
    divisions,
    grow,
    mean_and_error,
    nominal_column,
    published,
    rounded_cell,
    run,
    share_of_errors,
    table_of,
)
from arboretum_classic.stopping.kernels import PLAIN, p_value

DIGITS = 1e-4
"""The last digit of p as published."""
WAYS: Mapping[str, Plain] = {
    "none": {},
    "before: chi-square": {"stopping": ["chi2", "standard"]},
    "after: error-based": {"pruner": "error_based"},
    "after: pessimistic": {"pruner": "pessimistic"},
    "after: reduced error": {"pruner": "reduced_error", "split": "holdout"},
}
HELD = {"split.train": 0.75, "split.valid": 0.25, "split.test": 0.0}
"""Of the training rows, where a pruner judges on some of them."""


class Measured(NamedTuple):
    """What is measured of the trees of a data set, float64[divisions] each.

    error : share of the test rows.
    seconds : of growth with pruning; 0 where the piece does not ask for times.
    """

    error: np.ndarray
    leaves: np.ndarray
    seconds: np.ndarray


def pieces(paper: Lecture) -> list[Piece]:
    """Return one piece for play-tennis and exclusive-or, and one per small data set
    (:data:`~arboretum_classic.paper.study.SMALL`).
    """
    drawn = {"chapter": "pruning", "seeds": paper.seeds, "times": paper.times}
    return [
        Piece({"chapter": "pruning"}, 0.2),
        *(Piece({**drawn, "dataset": name}, 0.1 * paper.seeds) for name in paper.small),
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return what pruning before and after growth leaves.

    Where ``key`` names a data set: way → float[divisions][3], test error, leaves, seconds.  Else
    "p": attribute → p at the root of play-tennis, and "trees": table → way → [leaves, errors].
    """
    return (
        _measure_data_set(services, key, seed)
        if "dataset" in key
        else _measure_early_stopping(services)
    )


def _measure_early_stopping(services: Services) -> Facts:
    """Return "p": attribute → p at the root of play-tennis; "trees": table → way → [leaves, rows in
    error] on the training rows, pruned before, after and not at all.
    """
    tennis = services.component("dataset", "play-tennis").load(0)
    a, b = (np.repeat(x, 25) for x in ([0, 0, 1, 1], [0, 1, 0, 1]))
    tables = {
        "play-tennis": tennis,
        "exclusive-or": table_of(
            "exclusive-or", [nominal_column("a", a), nominal_column("b", b)], a ^ b
        ),
    }
    counts = {
        c.name: np.histogram2d(c.values, tennis.target.codes, (len(c.categories), 2))[0]
        for c in tennis.columns
    }
    p = {name: p_value(one, 1.0, PLAIN) for name, one in counts.items()}
    trees: dict[str, dict[str, list[int]]] = {name: {} for name in tables}
    for name, table in tables.items():
        for way in ("none", "before: chi-square", "after: error-based"):
            tree = grow(services, table, "id3", **WAYS[way])
            trees[name][way] = [
                tree.n_leaves,
                round(share_of_errors(tree, table) * table.n_rows),
            ]
    return {"p": p, "trees": trees}


def _measure_data_set(services: Services, key: Key, seed: int) -> Facts:
    """Return way → the fields of :class:`Measured`, per division.

    seed : of the first division; the others follow.
    """
    found: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    for _, train, test in divisions(services, key, seed):
        for way, choices in WAYS.items():
            record = run(services, train, "cart", HELD if "split" in choices else {}, **choices)
            found[way].append(
                [
                    share_of_errors(sure(record.tree), test),
                    sure(record.tree).n_leaves,
                    record.timings["fit"] if key["times"] else 0.0,
                ]
            )
    return found


def judge(results: Keyed) -> Judgement:
    """Return the cells of p at the root of play-tennis; claims that compare pruning before and
    after growth.

    Those on data sets come with ``pruning.csv``, bars and mean test errors as metrics.
    """
    data = {
        key["dataset"]: {way: Measured(*np.transpose(v)) for way, v in one.items()}
        for key, one in results
        if "dataset" in key
    }
    first = [_judge_early_stopping(one) for key, one in results if "dataset" not in key]
    return Judgement.joined([*first, *([_claims_that_compare(data)] if data else [])])


def _judge_early_stopping(found: Plain) -> Judgement:
    """Return the cells of p, and whether chi-square stops too early on either table.

    found : as :func:`_measure_early_stopping` returns it.
    """
    paper, p = published()["play_tennis"]["p"], found["p"]
    cells = [
        rounded_cell(
            "play-tennis at the root, χ² without correction",
            name,
            "p",
            paper[name],
            p[name],
            DIGITS,
            recomputed=True,
        )
        for name in p
    ]
    claims = []
    for name, why in (
        ("play-tennis", f"the least p is {min(p.values()):.4f}"),
        ("exclusive-or", "either attribute alone has p = 1"),
    ):
        _none, before, after = found["trees"][name].values()
        words = (
            f"{way}: {leaves} leaves, {errors} errors"
            for way, (leaves, errors) in found["trees"][name].items()
        )
        sentence = (
            f"pre-pruning can stop too early: on {name} chi-square leaves one leaf, error-based "
            "post-pruning a tree without error"
        )
        claims.append(
            Claim.judged(
                sentence, before[0] == 1 < after[0] and not after[1], f"{why}; {'; '.join(words)}"
            )
        )
    return Judgement.of_chapter(
        "pruning too early", {"alpha": 0.05}, {}, cells=cells, claims=claims
    )


def _claims_that_compare(data: Mapping[str, Mapping[str, Measured]]) -> Judgement:
    """Return the claims on pruning before and after growth, with means as a table and bars.

    data : data set → way → its trees.
    """
    means = {name: {way: v.error.mean() for way, v in one.items()} for name, one in data.items()}
    before, *after = list(WAYS)[1:]
    better = {
        name: bool(min(one[way] for way in after) < one[before]) for name, one in means.items()
    }
    error = {way: float(np.mean([one[way] for one in means.values()])) for way in WAYS}
    errors = "mean test error: " + ", ".join(f"{way} {x:.1%}" for way, x in error.items())
    claims = [
        _claim_of_time(data),
        claim_on_most(
            "on data sets, too, some post-pruning errs less on new rows than chi-square",
            better,
            errors,
        ),
    ]
    rows = [["data set", "pruning", "test error", "std. error", "leaves", "seconds"]]
    for name, one in data.items():
        rows += [
            [
                name,
                way,
                *(
                    f"{x:.5g}"
                    for x in (*mean_and_error(v.error), v.leaves.mean(), v.seconds.mean())
                ),
            ]
            for way, v in one.items()
        ]
    bars = Panels.of_bars(
        "Pruned before, after, or not at all",
        list(means),
        list(WAYS),
        [[100 * float(one[way]) for way in WAYS] for one in means.values()],
        Axis("test rows in error, %"),
        own_scales=True,
        subtitle="CART; reduced error holds back a quarter of the training rows",
    )
    return Judgement.of_chapter(
        "pruning",
        {},
        {f"test_error/{way}": x for way, x in error.items()},
        claims=claims,
        tables={"pruning.csv": csv_text(rows)},
        pictures={"pruning": bars},
    )


def _claim_of_time(data: Mapping[str, Mapping[str, Measured]]) -> Claim:
    """Return the claim that chi-square takes less time than every pruning after growth, by the
    least seconds of all divisions.

    data : as of :func:`_claims_that_compare`.
    """
    before, *after = list(WAYS)[1:]
    fewer = sum(one[before].leaves.mean() < one["none"].leaves.mean() for one in data.values())
    least = {
        name: {way: v.seconds.min() for way, v in one.items()}
        for name, one in data.items()
        if one["none"].seconds.any()
    }
    quicker = {
        name: bool(one[before] < min(one[way] for way in after)) for name, one in least.items()
    }
    times = {
        way: np.median([one[way] / one["none"] for one in least.values()]) for way in WAYS if least
    }
    reported = "; ".join(f"{way} {x:.2f}" for way, x in times.items())
    return claim_on_most(
        "pre-pruning is fast: chi-square takes less time than every post-pruning",
        quicker,
        f"fewer leaves are grown on {fewer} of {len(data)}; least seconds with pruning ÷ growth "
        f"alone, median: {reported or 'not asked for'}",
    )
