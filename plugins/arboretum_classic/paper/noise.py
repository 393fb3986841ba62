"""How much trees change with the training rows: resampling, false labels and false values;
whole trees and pruned ones.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from arboretum.api import (
    Axis,
    Claim,
    Facts,
    Judgement,
    Key,
    Keyed,
    Line,
    LineChart,
    Panels,
    Piece,
    Services,
    csv_text,
)
from arboretum_classic.paper.reproduction import Lecture
from arboretum_classic.paper.study import (
    claim_on_most,
    divisions,
    grow,
    mean_and_error,
    share_of_errors,
    with_noise,
)

METHODS: Mapping[str, Mapping[str, str]] = {"whole": {}, "pruned": {"pruner": "error_based"}}
LEVELS = (0.0, 0.1, 0.2, 0.3)
RESAMPLED = 4
"""Bootstrap samples of each division's training rows."""
UNSTABLE = 0.05
"""Share of test rows on which trees from two samples of the same rows must differ, at least, for
growth to be called unstable.
"""
Means = Mapping[str, Mapping[str, Mapping[str, np.ndarray]]]
"""Means over the divisions: data set → method → "label 0.1" … or "resampled" → float64[3], at
ERROR, LEAVES, APART.
"""
ERROR, LEAVES, APART = range(3)
"""Places of what is measured of a tree: test error, leaves, share of test rows predicted
otherwise; a file of results holds them as lists.
"""


def pieces(paper: Lecture) -> list[Piece]:
    """Return one piece per small data set (:data:`~arboretum_classic.paper.study.SMALL`), of
    all its divisions.
    """
    return [
        Piece({"chapter": "noise", "dataset": name, "seeds": paper.seeds}, 0.3 * paper.seeds)
        for name in paper.small
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return method → "label 0.1" … or "resampled" → float[divisions][3], at ERROR, LEAVES, APART.

    Apart of the tree without noise; of "resampled", of each other, and means over the samples.
    """
    found: dict[str, dict[str, list[list[float]]]] = {method: {} for method in METHODS}
    for s, train, test in divisions(services, key, seed):
        draw = np.random.default_rng([s, 2])
        changed = {
            f"{kind} {level:g}": with_noise(train, kind, level, draw)
            for kind in ("label", "attribute")
            for level in LEVELS
        }
        samples = [
            train.take(draw.integers(train.n_rows, size=train.n_rows)) for _ in range(RESAMPLED)
        ]
        for method, own in found.items():
            trees = {
                at: grow(services, rows, "cart", None, **METHODS[method])
                for at, rows in changed.items()
            }
            clean = trees["label 0"].predict(test)
            for at, tree in trees.items():
                own.setdefault(at, []).append(
                    [
                        share_of_errors(tree, test),
                        tree.n_leaves,
                        float(np.mean(tree.predict(test) != clean)),
                    ]
                )
            grown = [grow(services, rows, "cart", None, **METHODS[method]) for rows in samples]
            predicted = [tree.predict(test) for tree in grown]
            measured = (
                np.mean([share_of_errors(tree, test) for tree in grown]),
                np.mean([tree.n_leaves for tree in grown]),
                np.mean([a != b for a, b in combinations(predicted, 2)]),
            )
            own.setdefault("resampled", []).append(list(map(float, measured)))
    return found


def judge(results: Keyed) -> Judgement:
    """Return the claims on trees under resampling, false labels and false values, whole and pruned.

    Fewer than three data sets decide none of them.  With means and standard errors (``noise.csv``),
    charts, and mean errors over the data sets as metrics.
    """
    means = {
        key["dataset"]: {
            m: {at: np.mean(v, axis=0) for at, v in own.items()} for m, own in one.items()
        }
        for key, one in results
    }
    percent = [[100 * one[m]["resampled"][APART] for m in METHODS] for one in means.values()]
    bars = Panels.of_bars(
        "Two samples of the same rows, two trees",
        list(means),
        list(METHODS),
        percent,
        Axis("test rows on which trees of two bootstrap samples differ, %"),
    )
    levels = next(iter(means.values()))
    return Judgement.of_chapter(
        "instability",
        {"method": "cart"},
        {
            f"error_{at}/{m}": _over_data_sets(means, m, at, ERROR)
            for m in METHODS
            for at in levels[m]
        },
        claims=_claims(means),
        tables={"noise.csv": csv_text(_rows(results))},
        pictures={"noise": _draw_noise(means), "resampling": bars},
    )


def _by_data_set(means: Means, method: str, at: str, what: int) -> dict[str, float]:
    """Return data set → one measure."""
    return {name: float(one[method][at][what]) for name, one in means.items()}


def _over_data_sets(means: Means, method: str, at: str, what: int) -> float:
    """Return the mean of one measure over the data sets."""
    return float(np.mean(list(_by_data_set(means, method, at, what).values())))


def _claims(means: Means) -> list[Claim]:
    """Return the lecture's sentences; fewer than three data sets decide none."""
    apart = _by_data_set(means, "whole", "resampled", APART)
    unstable = (
        f"trees are unstable: those of two bootstrap samples differ on at least {UNSTABLE:.0%} "
        "of the test rows"
    )
    reported = ", ".join(f"{name} {x:.1%}" for name, x in apart.items())
    claims = [claim_on_most(unstable, {name: x >= UNSTABLE for name, x in apart.items()}, reported)]
    for kind in ("label", "attribute"):
        errors = [_over_data_sets(means, "whole", f"{kind} {level:g}", ERROR) for level in LEVELS]
        sentence = (
            f"instability to noise: every further tenth of false {kind} values raises the test "
            "error of whole trees"
        )
        reported = (
            f"mean test error at {', '.join(f'{x:.0%}' for x in LEVELS)}: "
            f"{', '.join(f'{x:.1%}' for x in errors)}"
        )
        claims.append(
            Claim.judged(
                sentence, bool((np.diff(errors) > 0).all()) if len(apart) > 2 else None, reported
            )
        )
    whole, pruned = (_by_data_set(means, method, "label 0.3", ERROR) for method in METHODS)
    sentence = (
        "the smaller the complexity, the better it generalises: at 30 % false labels pruned "
        "trees err less than whole ones"
    )
    leaves = " and ".join(
        f"{_over_data_sets(means, method, 'label 0.3', LEAVES):.0f}" for method in METHODS
    )
    claims.append(
        claim_on_most(
            sentence,
            {name: pruned[name] < whole[name] for name in whole},
            f"mean leaves of whole and pruned: {leaves}",
        )
    )
    return claims


def _draw_noise(means: Means) -> Panels:
    """Return the error and the share of changed predictions by false labels and false values."""
    charts = []
    for what, words, axis in (
        (ERROR, "Error", "test rows in error, %"),
        (APART, "Changed predictions", "test rows that change, %"),
    ):
        for kind, false in (("label", "labels"), ("attribute", "attribute values")):
            values = {
                method: [
                    100 * _over_data_sets(means, method, f"{kind} {level:g}", what)
                    for level in LEVELS
                ]
                for method in METHODS
            }
            lines = [
                Line(f"{method} tree", [100 * level for level in LEVELS], y)
                for method, y in values.items()
            ]
            charts.append(
                LineChart(
                    f"{words}, false {false}",
                    lines,
                    Axis("false in the training rows, %"),
                    Axis(axis),
                )
            )
    return Panels(
        "What noise does to a tree",
        charts,
        2,
        f"CART, whole and with error-based pruning; means over {len(means)} data sets",
    )


def _rows(results: Keyed) -> list[list[object]]:
    """Return means over the divisions by data set, method and kind of rows, their names first."""
    rows: list[list[object]] = [
        ["data set", "tree", "rows", "test error", "std. error", "leaves", "predicted otherwise"]
    ]
    for key, one in results:
        for method, at, (error, leaves, apart) in (
            (method, at, np.array(values).T)
            for method, own in one.items()
            for at, values in own.items()
        ):
            rows.append(
                [
                    key["dataset"],
                    method,
                    at,
                    *(f"{x:.5g}" for x in (*mean_and_error(error), leaves.mean(), apart.mean())),
                ]
            )
    return rows
