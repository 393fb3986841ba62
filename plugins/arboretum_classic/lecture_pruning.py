"""Pre-pruning by significance "is fast, but can stop too early": play-tennis, exclusive-or, and data sets, against post-pruning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arboretum.api import Axis, BarChart, Claim, House, Judgement, Piece, Table, csv_text
from arboretum_classic.chi2 import least_p
from arboretum_classic.lecture import divided, mean_and_error, nominal, published, rounded, run, table_of, wrong

DIGITS = 1e-4
WAYS: Mapping[str, Mapping[str, Any]] = {
    "none": {}, "before: chi-square": {"stopping": ["chi2", "standard"]}, "after: error-based": {"pruner": "error_based"},
    "after: pessimistic": {"pruner": "pessimistic"}, "after: reduced error": {"pruner": "reduced_error", "split": "holdout"},
}  # fmt: skip
HELD = {"split.train": 0.75, "split.valid": 0.25, "split.test": 0.0}
"""Of the training rows, where a pruner judges on some of them."""
XOR = 25
"""Objects of each of the four kinds."""


def pieces(paper: Any) -> list[Piece]:
    sets = [name for name in paper.datasets if name not in ("digits", "diabetes")]
    return [
        Piece({"chapter": "pruning"}, 0.2),
        *(Piece({"chapter": "pruning", "dataset": name, "seeds": paper.seeds, "times": paper.times}, 0.1 * paper.seeds) for name in sets),
    ]  # fmt: skip


def work(key: Mapping[str, Any], seed: int, house: House) -> dict[str, Any]:
    return _data(house, key, seed) if "dataset" in key else _too_early(house)


def _too_early(house: House) -> dict[str, Any]:
    """p of each attribute at the root of play-tennis; leaves and training errors of both tables, pruned before, after and not at all."""
    tennis = house.component("dataset", "play-tennis").load(0)
    a, b = (np.repeat(x, XOR) for x in ([0, 0, 1, 1], [0, 1, 0, 1]))
    tables = {"play-tennis": tennis, "exclusive-or": table_of("exclusive-or", [nominal("a", a), nominal("b", b)], a ^ b)}
    p = {}
    for column in tennis.columns:
        counts = np.zeros((len(column.categories), 2))
        np.add.at(counts, (column.values, tennis.target.codes), 1.0)
        p[column.name] = least_p(counts[None], "plain")
    trees = {}
    for name, table in tables.items():
        for way in ("none", "before: chi-square", "after: error-based"):
            tree = run(house, table, "id3", **WAYS[way]).tree
            trees[f"{name}, {way}"] = {"leaves": tree.n_leaves, "errors": round(wrong(tree, table) * table.n_rows)}
    return {"p": p, "trees": trees}


def _data(house: House, key: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Way → a list per division: test error, leaves, and the seconds of growth with pruning (0 where they are not asked for)."""
    found: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    for s in range(seed, seed + key["seeds"]):
        train, test = divided(house, key["dataset"], s)
        for way, choices in WAYS.items():
            record = run(house, train, "cart", HELD if "split" in choices else {}, **choices)
            found[way].append([wrong(record.tree, test), record.tree.n_leaves, record.timings["fit"] if key["times"] else 0.0])
    return found


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    data = {key["dataset"]: one for key, one in results if "dataset" in key}
    first = [_judged(one) for key, one in results if "dataset" not in key]
    return Judgement.joined([*first, *([_compared(data)] if data else [])])


def _judged(found: Mapping[str, Any]) -> Judgement:
    paper, trees, p = published()["play_tennis"], found["trees"], found["p"]
    cells = [rounded("play-tennis at the root, χ² without correction", name, "p", paper["p"][name], p[name], DIGITS) for name in p]
    claims = []
    for name, whole in (("play-tennis", f"the least p is {min(p.values()):.4f}"), ("exclusive-or", "either attribute alone has p = 1")):
        before, after, none = (trees[f"{name}, {way}"] for way in ("before: chi-square", "after: error-based", "none"))
        told = "; ".join(f"{way}: {one['leaves']} leaves, {one['errors']} errors" for way, one in (("not pruned", none), ("before", before), ("after", after)))
        sentence = f"pre-pruning can stop too early: on {name} chi-square at 0.05 leaves one leaf, and error-based post-pruning a tree without error"
        claims.append(Claim.judged(sentence, before["leaves"] == 1 < after["leaves"] and not after["errors"], f"{whole}; {told}"))
    metrics = {f"leaves/{name}": float(one["leaves"]) for name, one in trees.items()}
    rows = [["table and pruning", "leaves", "errors"], *([name, one["leaves"], one["errors"]] for name, one in trees.items())]
    return Judgement.of_chapter("pruning too early", {"alpha": 0.05}, metrics, cells=cells, claims=claims, tables={"too_early.csv": csv_text(rows)})


def _compared(data: Mapping[str, Any]) -> Judgement:
    rows = [["data set", "pruning", "test error", "std. error", "leaves", "seconds"]]
    means = {name: {way: np.mean(values, axis=0) for way, values in one.items()} for name, one in data.items()}
    for name, one in data.items():
        rows += [[name, way, *(f"{x:.5g}" for x in (*mean_and_error([v[0] for v in values]), *means[name][way][1:]))] for way, values in one.items()]
    before, *after = list(WAYS)[1:]
    smaller = [name for name, one in means.items() if one[before][1] < one["none"][1]]
    at = {way: float(np.mean([one[way][0] for one in means.values()])) for way in WAYS}
    times = {way: [one[way][2] / one["none"][2] for one in means.values() if one["none"][2]] for way in WAYS}
    told = "; ".join(f"{way} {float(np.median(x)):.2f}" for way, x in times.items() if x)
    evidence = f"on {len(smaller)} of {len(means)} data sets"
    evidence += f"; median seconds of growth with pruning ÷ growth alone: {told}" if told else ""
    worst = [name for name, one in means.items() if min(one[way][0] for way in after) < one[before][0]]
    claims = [
        Claim.judged("pre-pruning grows fewer leaves than are grown to be pruned (by which it is fast; seconds are not judged)", len(smaller) == len(means), evidence),
        Claim.judged(
            "on data sets, too, some post-pruning errs less on new rows than chi-square (on most)", 2 * len(worst) > len(means) if len(means) > 2 else None,
            f"on {len(worst)} of {len(means)} ({', '.join(worst)}); mean test error: " + ", ".join(f"{way} {x:.1%}" for way, x in at.items()),
        ),
    ]  # fmt: skip
    values = [[100 * float(one[way][0]) for way in WAYS] for one in means.values()]
    bars = BarChart("Pruned before, after, or not at all", list(means), list(WAYS), values, Axis("test rows in error, %"), own_scales=True, subtitle="CART; reduced error holds back a quarter of the training rows")
    metrics = {f"test_error/{way}": x for way, x in at.items()} | {f"leaves/{way}": float(np.mean([one[way][1] for one in means.values()])) for way in WAYS}
    return Judgement.of_chapter("pruning", {"method": "cart"}, metrics, claims=claims, tables={"pruning.csv": csv_text(rows)}, pictures={"pruning": bars})
