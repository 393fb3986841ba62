"""How much trees change with the rows that teach: resampling, false labels and false values; whole trees and pruned ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arboretum.api import Axis, BarChart, Claim, House, Judgement, Line, LineChart, Panels, Piece, Table, csv_text
from arboretum_classic.lecture import divided, mean_and_error, run, with_noise, wrong

METHODS: Mapping[str, Mapping[str, str]] = {"whole": {}, "pruned": {"pruner": "error_based"}}
LEVELS = (0.0, 0.1, 0.2, 0.3)
RESAMPLED = 4
"""Bootstrap samples of each division's training rows."""
UNSTABLE = 0.05
"""Share of test rows on which trees from two samples of the same rows must differ, at least, for growth to be called unstable."""


def pieces(paper: Any) -> list[Piece]:
    return [Piece({"chapter": "noise", "dataset": name, "seeds": paper.seeds}, 0.3 * paper.seeds) for name in paper.datasets if name not in ("digits", "diabetes")]


def work(key: Mapping[str, Any], seed: int, house: House) -> dict[str, Any]:
    """Method → "label 0.1" … or "resampled" → a list per division: test error, leaves, and the share of test rows predicted otherwise than without
    noise (by the other samples' trees); of samples also how often two of their trees ask for the same column first."""
    found: dict[str, dict[str, list]] = {method: {} for method in METHODS}
    for s in range(seed, seed + key["seeds"]):
        train, test = divided(house, key["dataset"], s)
        draw = np.random.default_rng([s, 2])
        changed = {(kind, level): with_noise(train, kind, level, draw) if level else train for kind in ("label", "attribute") for level in LEVELS}
        samples = [train.take(draw.integers(train.n_rows, size=train.n_rows)) for _ in range(RESAMPLED)]
        for method, own in found.items():
            clean = _grown(house, train, test, method)[0]
            for (kind, level), rows in changed.items():
                predicted, error, leaves, _ = _grown(house, rows, test, method)
                own.setdefault(f"{kind} {level:g}", []).append([error, leaves, float(np.mean(predicted != clean))])
            grown = [_grown(house, rows, test, method) for rows in samples]
            pairs = [(a, b) for i, a in enumerate(grown) for b in grown[:i]]
            apart, same = (float(np.mean(values)) for values in zip(*((np.mean(a[0] != b[0]), a[3] == b[3]) for a, b in pairs), strict=True))
            error, leaves = (float(np.mean([one[k] for one in grown])) for k in (1, 2))
            own.setdefault("resampled", []).append([error, leaves, apart, same])
    return found


def _grown(house: House, train: Table, test: Table, method: str) -> tuple[np.ndarray, float, int, str]:
    """Predictions, error, leaves and first column of a tree."""
    tree = run(house, train, "cart", **METHODS[method]).tree
    return tree.predict(test), wrong(tree, test), tree.n_leaves, tree.rule(0).columns[0] if tree.n_nodes > 1 else ""


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    means = {key["dataset"]: {m: {at: np.mean(v, axis=0) for at, v in own.items()} for m, own in one.items()} for key, one in results}
    rows = [["data set", "tree", "rows", "test error", "std. error", "leaves", "predicted otherwise", "same first column"]]
    for key, one in results:
        for method, own in one.items():
            for at, values in own.items():
                error, leaves, *rest = ([value[k] for value in values] for k in range(len(values[0])))
                told = [*mean_and_error(error), np.mean(leaves), *(np.mean(x) for x in rest)]
                rows.append([key["dataset"], method, at, *(f"{x:.5g}" for x in told), *[""] * (rest[1:] == [])])

    def over(method: str, at: str, what: int) -> list[float]:
        return [float(one[method][at][what]) for one in means.values()]

    enough = len(means) > 2
    apart = dict(zip(means, over("whole", "resampled", 2), strict=True))
    claims = [
        Claim.judged(
            f"trees are unstable: those of two bootstrap samples differ on at least {UNSTABLE:.0%} of the test rows (on most data sets)",
            2 * sum(x >= UNSTABLE for x in apart.values()) > len(apart) if enough else None, ", ".join(f"{name} {x:.1%}" for name, x in apart.items()),
        )
    ]  # fmt: skip
    for kind in ("label", "attribute"):
        errors = [float(np.mean(over("whole", f"{kind} {level:g}", 0))) for level in LEVELS]
        told = f"mean test error at {', '.join(f'{x:.0%}' for x in LEVELS)}: {', '.join(f'{x:.1%}' for x in errors)}"
        claims.append(Claim.judged(f"instability to noise: every further tenth of false {kind} values raises the test error of whole trees", bool((np.diff(errors) > 0).all()) if enough else None, told))
    at = f"label {LEVELS[-1]:g}"
    better = [name for name, a, b in zip(means, over("whole", at, 0), over("pruned", at, 0), strict=True) if b < a]
    leaves = " and ".join(f"{np.mean(over(method, at, 1)):.0f}" for method in METHODS)
    claims.append(
        Claim.judged(
            "the smaller the complexity, the better it generalises: at 30 % false labels pruned trees err less than whole ones (on most data sets)",
            2 * len(better) > len(means) if enough else None, f"on {len(better)} of {len(means)} ({', '.join(better)}); mean leaves of whole and pruned: {leaves}",
        )
    )  # fmt: skip
    noise = [[_line(means, kind, method, k, what) for k, method in enumerate(METHODS)] for what in (0, 2) for kind in ("label", "attribute")]
    titles = [f"{what}, false {kind}" for what in ("Error", "Changed predictions") for kind in ("labels", "attribute values")]
    charts = [
        LineChart(title, lines, Axis("false in the training rows, %"), Axis("test rows in error, %" if k < 2 else "test rows predicted otherwise, %"))
        for k, (title, lines) in enumerate(zip(titles, noise, strict=True))
    ]  # fmt: skip
    told = f"CART, whole and with error-based pruning; means over {len(means)} data sets"
    values = [[100 * float(one[method]["resampled"][2]) for method in METHODS] for one in means.values()]
    bars = BarChart("Two samples of the same rows, two trees", list(means), list(METHODS), values, Axis("test rows on which they differ, %"), subtitle="bootstrap samples; CART")
    metrics = {f"error_{at}/{m}": float(np.mean(over(m, at, 0))) for m in METHODS for at in means[results[0][0]["dataset"]][m]}
    pictures = {"noise": Panels("What noise does to a tree", charts, 2, told), "resampling": bars}
    return Judgement.of_chapter("instability", {"method": "cart"}, metrics, claims=claims, tables={"noise.csv": csv_text(rows)}, pictures=pictures)


def _line(means: Mapping[str, Any], kind: str, method: str, colour: int, what: int) -> Line:
    y = [100 * float(np.mean([one[method][f"{kind} {level:g}"][what] for one in means.values()])) for level in LEVELS]
    return Line(f"{method} tree", [100 * level for level in LEVELS], y, colour=colour)
