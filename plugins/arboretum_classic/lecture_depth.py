"""Depth against training and test error, on rows as they are and with false labels: trees overfit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arboretum.api import Axis, Claim, House, Judgement, Line, LineChart, Panels, Piece, Task, csv_text
from arboretum_classic.lecture import divided, mean_and_error, run, with_noise, wrong

NOISE = (0.0, 0.2)
"""Shares of training labels that are false."""
DEEPEST = 12
"""Tests on a path, at most; what is grown beyond counts as this depth."""
BEYOND = 2.0
"""Standard errors of the mean difference by which the whole tree must be worse than the best depth."""


def pieces(paper: Any) -> list[Piece]:
    return [Piece({"chapter": "depth", "dataset": name, "seeds": paper.seeds}, (5 if name == "digits" else 1) * 0.1 * paper.seeds) for name in paper.datasets]


def work(key: Mapping[str, Any], seed: int, house: House) -> dict[str, Any]:
    """Share of false labels → training and test error, float[seeds][depths]; the tree of depth d is the whole one, cut off there."""
    found: dict[str, Any] = {str(noise): {"train": [], "test": []} for noise in NOISE}
    for s in range(seed, seed + key["seeds"]):
        train, test = divided(house, key["dataset"], s)
        for noise in NOISE:
            taught = with_noise(train, "label", noise, np.random.default_rng([s, 1])) if noise else train
            whole = run(house, taught, "cart").tree
            trees = [whole.cut(np.flatnonzero(whole.depth_of == d)) for d in range(DEEPEST)] + [whole]
            for part, rows in (("train", taught), ("test", test)):
                found[str(noise)][part].append([wrong(tree, rows) for tree in trees])
    return {"errors": found, "numbers": train.task is Task.regression}


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    rows, charts, falling, worse, metrics = [["data set", "false labels", "depth", "training error", "test error", "std. error of test error"]], [], {}, {}, {}
    for key, result in results:
        lines, name = [], key["dataset"]
        for k, (noise, own) in enumerate(result["errors"].items()):
            train, test = (np.array(own[part]) for part in ("train", "test"))
            falling[name] = falling.get(name, True) and bool((np.diff(train, axis=1) <= 1e-12).all())
            best = int(test.mean(axis=0).argmin())
            apart, error = mean_and_error((test[:, -1] - test[:, best]).tolist())
            worse[name, float(noise)] = (apart, apart > BEYOND * error and best < DEEPEST, best)
            rows += [[name, noise, d, *(f"{x:.5f}" for x in (train[:, d].mean(), *mean_and_error(test[:, d].tolist())))] for d in range(DEEPEST + 1)]
            metrics |= {f"{part}_error_{noise}/{name}": float(values.mean(axis=0)[-1]) for part, values in (("train", train), ("test", test))}
            words = "rows as they are" if k == 0 else f"{float(noise):.0%} of the labels false"
            lines.append(Line(f"test, {words}", list(range(DEEPEST + 1)), (100 * test.mean(axis=0)).tolist(), colour=k))
            lines.append(Line(f"training, {words}", list(range(DEEPEST + 1)), (100 * train.mean(axis=0)).tolist(), colour=k, dashed=True, marked=False))
        y = "squared error, % of the variance" if result["numbers"] else "rows in error, %"
        charts.append(LineChart(name, lines, Axis("depth, at most"), Axis(y)))
    panels = Panels("Training error falls, test error does not follow", charts, 3, f"CART; means over {results[0][0]['seeds']} divisions 70 : 30", ("Dashed: training error.",))
    gap = {name: [float(np.mean(result["errors"]["0.0"][part], axis=0)[-1]) for part in ("train", "test")] for name, result in ((key["dataset"], r) for key, r in results)}
    claims = [Claim.judged("the training error never rises with depth", all(falling.values()), f"on {sum(falling.values())} of {len(falling)} data sets")]
    claims.append(
        Claim.judged(
            "trees overfit super-easily: whole trees make no training error, and errors on new rows (on every data set)", all(a == 0 < b for a, b in gap.values()),
            ", ".join(f"{name} {a:.1%} and {b:.1%}" for name, (a, b) in gap.items()),
        )
    )  # fmt: skip
    for noise, words in zip(NOISE, ("", ", with a fifth of the training labels false"), strict=True):
        own = {name: one for (name, at), one in worse.items() if at == noise}
        told = ", ".join(f"{name} {100 * apart:+.1f} points against depth {best}" for name, (apart, _, best) in own.items())
        sentence = f"overfitting costs: the whole tree is worse than one cut off at some depth (by {BEYOND:g} standard errors, on most data sets{words})"
        n = sum(bad for _, bad, _ in own.values())
        claims.append(Claim.judged(sentence, 2 * n > len(own) if len(own) > 2 else None, f"on {n} of {len(own)}; {told}"))
    return Judgement.of_chapter("depth", {"method": "cart"}, metrics, claims=claims, tables={"depth.csv": csv_text(rows)}, pictures={"depth": panels})
