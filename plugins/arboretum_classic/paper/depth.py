"""Depth against training and test error, on rows as they are and with false labels: trees
overfit.
"""

from collections.abc import Mapping, Sequence

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

NOISE = ("0", "0.2")
"""Shares of training labels that are false."""
DEEPEST = 12
"""Tests on a path, at most; what is grown beyond counts as this depth."""
Errors = Mapping[str, Mapping[str, np.ndarray]]
"""Of a data set: share of false labels → "train" and "test" → float64[seeds, DEEPEST + 1]."""
BEYOND = 2.0
"""Standard errors of the mean difference by which the whole tree must be worse than the best
depth.
"""


def pieces(paper: Lecture) -> list[Piece]:
    """Return one piece per data set, of all its divisions into training and test rows."""
    sets = ((name, 0.5 if name == "digits" else 0.1) for name in paper.datasets)
    return [
        Piece({"chapter": "depth", "dataset": name, "seeds": paper.seeds}, cost * paper.seeds)
        for name, cost in sets
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return "errors": share of false labels → "train" and "test" → float[seeds][DEEPEST + 1], and
    "numbers": whether the target is one.

    The error at depth d is that of the whole tree cut off there; the last is the whole tree's.
    """
    found: Facts = {noise: {"train": [], "test": []} for noise in NOISE}
    for s, train, test in divisions(services, key, seed):
        for noise in NOISE:
            taught = with_noise(train, "label", float(noise), np.random.default_rng([s, 1]))
            whole = grow(services, taught, "cart")
            trees = [whole.cut(np.flatnonzero(whole.depth_of == d)) for d in range(DEEPEST)]
            trees.append(whole)
            for part, rows in (("train", taught), ("test", test)):
                found[noise][part].append([share_of_errors(tree, rows) for tree in trees])
    return {"errors": found, "numbers": train.is_regression}


def judge(results: Keyed) -> Judgement:
    """Return the claims that the training error never rises with depth, and that whole trees
    overfit.

    With the errors by depth (``depth.csv``), a chart per data set, and both errors of the whole
    trees as metrics.
    """
    errors = {
        key["dataset"]: {
            noise: {part: np.array(v) for part, v in own.items()}
            for noise, own in result["errors"].items()
        }
        for key, result in results
    }
    ends = {
        name: [float(one["0"][part][:, -1].mean()) for part in ("train", "test")]
        for name, one in errors.items()
    }
    units = [
        "squared error, % of the variance" if result["numbers"] else "rows in error, %"
        for _, result in results
    ]
    charts = [
        LineChart(name, _draw_lines(one), Axis("depth, at most"), Axis(unit))
        for (name, one), unit in zip(errors.items(), units, strict=True)
    ]
    picture = Panels(
        "Training error falls, test error does not follow",
        charts,
        3,
        f"CART; means over {results[0][0]['seeds']} divisions 70 : 30",
        ("Dashed: training error.",),
    )
    metrics = {
        f"{part}_error/{name}": x
        for name, both in ends.items()
        for part, x in zip(("training", "test"), both, strict=True)
    }
    return Judgement.of_chapter(
        "depth",
        {"method": "cart"},
        metrics,
        claims=_claims(errors, ends),
        tables={"depth.csv": csv_text(_rows(errors))},
        pictures={"depth": picture},
    )


def _claims(errors: Mapping[str, Errors], ends: Mapping[str, Sequence[float]]) -> list[Claim]:
    """Return the claims.

    ends : data set → mean training and test error of the whole trees, without false labels.
    """
    falling = [
        bool((np.diff(own["train"], axis=1) <= 1e-12).all())
        for one in errors.values()
        for own in one.values()
    ]
    claims = [
        Claim.judged(
            "the training error never rises with depth",
            all(falling),
            f"in {sum(falling)} of {len(falling)} cases",
        ),
        Claim.judged(
            "trees overfit super-easily: whole trees make no training error, and errors on "
            "new rows (on every data set)",
            all(a == 0 < b for a, b in ends.values()),
            ", ".join(f"{name} {a:.1%} and {b:.1%}" for name, (a, b) in ends.items()),
        ),
    ]
    for noise, words in zip(
        NOISE, ("", ", with a fifth of the training labels false"), strict=True
    ):
        worse, reported = {}, []
        for name, one in errors.items():
            test = one[noise]["test"]
            best = int(test.mean(axis=0).argmin())
            apart, error = mean_and_error(test[:, -1] - test[:, best])
            worse[name] = best < DEEPEST and apart > BEYOND * error
            reported.append(f"{name} {100 * apart:+.1f} points against depth {best}")
        sentence = (
            "overfitting costs: the whole tree is worse than one cut off at some depth, by "
            f"{BEYOND:g} standard errors{words}"
        )
        claims.append(claim_on_most(sentence, worse, ", ".join(reported)))
    return claims


def _rows(errors: Mapping[str, Errors]) -> list[list[object]]:
    """Return the mean errors by data set, share of false labels and depth, their names first."""
    rows: list[list[object]] = [
        [
            "data set",
            "false labels",
            "depth",
            "training error",
            "test error",
            "std. error of test error",
        ]
    ]
    for name, one in errors.items():
        for noise, own in one.items():
            columns = zip(own["train"].mean(axis=0), own["test"].T, strict=True)
            rows += [
                [name, noise, d, *(f"{x:.5f}" for x in (train, *mean_and_error(test)))]
                for d, (train, test) in enumerate(columns)
            ]
    return rows


def _draw_lines(errors: Errors) -> list[Line]:
    """Return the lines of one data set: mean error in %, test and (dashed) training, by depth."""
    lines = []
    for k, (own, words) in enumerate(
        zip(errors.values(), ("rows as they are", "a fifth of the labels false"), strict=True)
    ):
        for part, dashed in (("test", False), ("train", True)):
            y = (100 * own[part].mean(axis=0)).tolist()
            lines.append(
                Line(
                    words,
                    list(range(DEEPEST + 1)),
                    y,
                    colour=k,
                    dashed=dashed,
                    marked=not dashed,
                    quiet=dashed,
                )
            )
    return lines
