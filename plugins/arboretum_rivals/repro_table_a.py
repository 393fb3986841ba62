"""Table A: what each method is and does, found by asking components and by trying, beside the printed words.

Every column is a recipe as the paper describes it; every cell is what that recipe declares or does on small tables that need no file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import CapabilityError, Claim, DataError, House, Judgement, Piece, Table, csv_text
from arboretum_rivals.repro_buckets import random_table
from arboretum_rivals.repro_study import choices_of, loaded, published, run, there

NA, YES, NO = "N/A", "Yes", "No"
ABSENT, UNTRIED = "not installed", "not tried"
LAM = 0.05
TRIED = 40
"""Random tables on which thresholds that are left out may be missed."""
LOST = 0.2
"""λ by which it is tried whether a method can be made to pay for leaves: the best tree of the table is then smaller."""
COMPATIBLE = {("Maybe", YES), ("Maybe", NO)}
REASONS = {
    "Built-in Preprocessor": "here an encoder, a component of its own, makes the tests of every method",
    "Preprocessing Strategy": "here the encoder is chosen apart from the method",
    "Can use Multiple Cores?": "the number of threads is an option of gosdt alone here",
    "Can prune using updates from partial evaluation of subproblem?": "it is a solver's inside that no run shows",
    "Strategy for preventing overfitting": "limits on depth and leaves, and λ, are components that go with more methods here",
    "Can we modify this to use regularization?": "BinOCT's program is here as its authors print it; a term for the leaves could be added",
}
"""Row → why it differs here."""


@attrs.frozen
class Recipe:
    """A column.   method : None for a greedy one with a pruner.   encoder : of the paper's preprocessing; None: numbers stay as they are."""

    method: str
    encoder: Mapping[str, Any] | None
    depth: bool
    pruner: str = ""

    @property
    def greedy(self) -> bool:
        return self.method == "cart"


COLUMNS = {
    "GOSDT": Recipe("gosdt_reference", {}, False),
    "DL8": Recipe("dl8", {"numeric": "mdl"}, True),
    "DL8.5": Recipe("dl85", {"numeric": "bucketised"}, True),
    "BinOCT": Recipe("binoct", {"numeric": "bucketised"}, True),
    "DTC": Recipe("cart", None, False, "optimal_subtree"),
    "CART": Recipe("cart", None, True),
}
DP = ("gosdt_reference", "dl8", "dl85")
"""Methods that solve subproblems and keep what they find."""


def pieces(paper: Any) -> list[Piece]:
    return [Piece({"chapter": "table_a", "column": name}, 20.0 if name == "BinOCT" else 3.0) for name in COLUMNS]


def work(key: Mapping[str, Any], seed: int, house: House) -> dict[str, list[str]]:
    """Row → what is found, and by what."""
    recipe = COLUMNS[key["column"]]
    if not there(house, recipe.method):
        return {row: [ABSENT, ""] for row in ROWS}
    return {row: list(find(recipe, house)) for row, find in ROWS.items()}


def _choices(recipe: Recipe) -> dict[str, str]:
    return {"pruner": recipe.pruner} if recipe.pruner else {}


def _solver(recipe: Recipe, house: House) -> Any:
    return house.parts(choices_of(recipe.method)).solver


def _small(house: House) -> Table:
    """A table of numbers that needs no file: every tenth row of two classes of wine, three columns."""
    wine = loaded(house, "wine")
    table = wine.take((wine.target.codes < 2).nonzero()[0][::2])
    target = attrs.evolve(table.target, classes=table.target.classes[:2])
    return attrs.evolve(table, columns=table.columns[:3], target=target)


def _best(house: House, table: Table, recipe: Recipe, encoder: Mapping[str, Any] | None, **values: Any) -> Any:
    """Depth 2 and no λ, or GOSDT with a small one."""
    held = {"objective.lam": 0.0, "stopping.standard.max_depth": 2}
    if recipe.greedy:
        held = {"stopping.standard.max_depth": 2} if recipe.depth else {"pruner.price": "mdl"}
    elif not recipe.depth:
        held = {"objective.lam": LAM}
    return run(house, table, recipe.method, {**held, **values}, 60.0, encoder, **_choices(recipe))


def _built_in(recipe: Recipe, house: House) -> tuple[str, str]:
    parts = house.parts(choices_of(recipe.method))
    own = parts.encoder.name if parts.encoder is not None else "none"
    return (NO, "numbers are compared at the node") if recipe.encoder is None else (YES if own == "auto" else NO, f"encoder={own} unless another is chosen")


def _strategy(recipe: Recipe, house: House) -> tuple[str, str]:
    """By the number of tests on a table of numbers."""
    if recipe.encoder is None:
        return "None", "thresholds are found at the node"
    table = _small(house)

    def count(**fields: Any) -> int:
        encoder = house.component("encoder", "tests", fields)
        return int(encoder.encode(table, table, raw_thresholds=False, seed=0).test_offset[-1])

    own, every, buckets = count(**recipe.encoder), count(), count(numeric="bucketised")
    name = "All values" if own == every else "Bucketization" if own == buckets else "Weka Discretization"
    return name, f"{own} of {every} thresholds; buckets have {buckets}"


def _preserves(recipe: Recipe, house: House) -> tuple[str, str]:
    """Whether the best trees of depth 2 over these tests are as good as over all of them, on tables whose labels alternate."""
    if recipe.encoder is None:
        return NA, "nothing is left out"
    if not recipe.encoder:
        return YES, "no threshold is left out"
    draw, dl85 = np.random.default_rng(0), COLUMNS["DL8.5"]
    for _ in range(TRIED):
        table = random_table(draw, 2)
        every = _best(house, table, dl85, {}).errors
        try:
            own = _best(house, table, dl85, recipe.encoder).errors
        except DataError:  # no cut at all
            own = min(np.bincount(table.target.codes))
        if own > every:
            return NO, f"{own} errors at depth 2, {every} with all thresholds"
    return YES, f"as few errors at depth 2 on {TRIED} tables"


def _optimises(recipe: Recipe, house: House) -> tuple[str, str]:
    if recipe.greedy:
        return "Greedy Search", "a method without a solver"
    if recipe.method not in DP:
        return "ILP", "an integer program"
    own, every = _looked_at(house, recipe.method)
    what = "sets of rows" if recipe.method == "gosdt_reference" else "itemsets"
    return ("DP", f"it lists all {every:,} {what}") if own == every else ("DPB", f"bounds leave {own:,} of {every:,} {what}")


def _looked_at(house: House, method: str) -> tuple[int, int]:
    """Itemsets or sets of rows of a table that needs no file, and how many there are."""
    table, held = loaded(house, "play-tennis"), {"objective.lam": 0.0}
    every = run(house, table, "dl8", {**held, "solver.row_sets": True}, 60.0).details
    if method == "gosdt_reference":
        return int(run(house, table, method, {"objective.lam": 0.05}, 60.0).details["sets"]), int(every["row_sets"])
    return int(run(house, table, method, held, 60.0).details["itemsets"]), int(every["itemsets"])


def _exact(recipe: Recipe, house: House) -> tuple[str, str]:
    """Whether no tree of the same tests and limit is better."""
    table = random_table(np.random.default_rng(0), 2) if recipe.greedy else _small(house)
    own = _best(house, table, recipe, recipe.encoder or {})
    if recipe.depth:
        best = _best(house, table, COLUMNS["DL8.5"], recipe.encoder or {}).errors
        return (YES if own.errors == best else NO), f"{own.errors} errors at depth 2, the least are {best}"
    best = _best(house, table, attrs.evolve(COLUMNS["GOSDT"], method="gosdt"), recipe.encoder or {})
    value, least = (one.errors / table.n_rows + LAM * one.leaves for one in (own, best))
    return (YES if value <= least + 1e-9 else NO), f"errors + λ · leaves are {value:.4f}, the least {least:.4f}"


def _hierarchical(recipe: Recipe, house: House) -> tuple[str, str]:
    if recipe.method not in DP:
        return NA, "no subproblems are kept"
    name, why = _optimises(recipe, house)
    return (YES if name == "DPB" else NO), why


def _support_sets(recipe: Recipe, house: House) -> tuple[str, str]:
    """Whether one set of rows is ever solved under two names."""
    if recipe.method not in DP:
        return NA, "no subproblems are kept"
    if recipe.method == "gosdt_reference":
        return YES, "sets of rows are the keys of its graph"
    table = loaded(house, "tic-tac-toe")
    held = {"objective.lam": 0.0, "stopping.standard.max_depth": 4, "solver.row_sets": True}
    found = run(house, table.take(np.arange(0, table.n_rows, 4)), recipe.method, held, 60.0).details
    return (YES if found["itemsets"] == found["row_sets"] else NO), f"{found['itemsets']:,} itemsets of {found['row_sets']:,} sets of rows"


def _cores(recipe: Recipe, house: House) -> tuple[str, str]:
    names = {"gosdt_reference": ("gosdt",), "binoct": ("binoct",)}.get(recipe.method, (recipe.method,))
    solvers = [house.parts(choices_of(name)).solver for name in names]
    able = [one.name for one in solvers if one is not None and {"threads", "workers"} & {field.name for field in attrs.fields(type(one))}]
    return (YES, f"solver={able[0]} has threads") if able else (NO, "one thread")


def _partial(recipe: Recipe, house: House) -> tuple[str, str]:
    """Whether bounds of a set change before it is solved, and reach those above it."""
    if recipe.greedy:
        return NA, "nothing is bounded"
    if recipe.method == "binoct":
        return "Depends on (generic) solver", "an integer program"
    updates = _best(house, _small(house), recipe, recipe.encoder).details.get("updates", 0)
    return (YES, f"{updates} updates of bounds went upward") if updates else (NO, "a subproblem is solved before the next begins")


def _overfitting(recipe: Recipe, house: House) -> tuple[str, str]:
    if recipe.pruner:
        return "MDL Criteria", "pruner=optimal_subtree pruner.price=mdl"
    if not recipe.depth:
        return "Penalize Leaves", f"objective.lam is {house.parts(choices_of(recipe.method)).objective.lam:g} unless said otherwise"
    limits = getattr(_solver(recipe, house), "limits", ("max_depth",))
    return "Structural Constraints", "limits on " + ", ".join(limits)


def _regularised(recipe: Recipe, house: House) -> tuple[str, str]:
    """Whether a price of leaves makes the tree smaller."""
    if recipe.method == "gosdt_reference" or recipe.pruner:
        return NA, "it is"
    if recipe.greedy:
        return NO, "its criterion looks at a node alone"
    try:
        few, many = (_best(house, _small(house), recipe, recipe.encoder, **{"objective.lam": lam}).leaves for lam in (LOST, 0.0))
    except CapabilityError:
        return NO, "its program is as published, without λ"
    return (YES if few < many else NO), f"{few} leaves with λ = {LOST:g}, {many} without"


def _imbalance(recipe: Recipe, house: House) -> tuple[str, str]:
    """Whether it grows trees for an objective that weighs classes."""
    if recipe.greedy:
        return "Maybe", "rows can be weighted"
    found = run(house, _small(house), recipe.method, {"objective.lam": 0.0, "stopping.standard.max_depth": 2} if recipe.depth else {"objective.lam": LAM}, 10.0,
                recipe.encoder, objective="balanced")  # fmt: skip
    return (YES, "objective=balanced, proven") if found.finished else ("Maybe", "objective=balanced, not proven")


ROWS: Mapping[str, Callable[[Recipe, House], tuple[str, str]]] = dict(
    zip(
        published()["table_a"]["rows"],
        (_built_in, _strategy, _preserves, _optimises, _exact, _hierarchical, _support_sets, _cores, _partial, _overfitting, _regularised, _imbalance),
        strict=True,
    )
)


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    """A claim per row of the table: every cell that could be looked at says what is printed."""
    if not results:
        return Judgement()
    paper, found = published()["table_a"], {key["column"]: result for key, result in results}
    lines, claims, same = [["row", "column", "printed", "here", "verdict", "by"]], [], 0
    for row, printed in paper["rows"].items():
        told, unlike, missing = [], [], []
        for column, words in zip(paper["columns"], printed, strict=True):
            ours, why = found.get(column, {}).get(row, [UNTRIED, ""])
            verdict = "OPEN" if ours in (ABSENT, UNTRIED) else "PASS" if ours == words or (words, ours) in COMPATIBLE else "KNOWN" if row in REASONS else "FAIL"
            lines.append([row, column, words, ours, verdict, why])
            same += verdict == "PASS"
            (missing if verdict == "OPEN" else unlike if verdict != "PASS" else told).append(f"{column} {ours}" + f" (printed: {words}; {why})" * (verdict in ("KNOWN", "FAIL")))
        evidence = "; ".join(filter(None, (", ".join(unlike), f"as printed: {', '.join(told)}" * bool(told), f"not there: {', '.join(missing)}" * bool(missing))))
        claims.append(Claim.judged(f"Table A: {row}", False if unlike else None if missing else True, evidence, REASONS.get(row, "")))
    metrics = {"cells_as_printed": float(same), "cells": float(len(lines) - 1)}
    told = f"Table A: {same} of {len(lines) - 1} cells say what is printed."
    return Judgement.of_chapter("Table A", {}, metrics, claims=claims, tables={"table_a.csv": csv_text(lines)}, notes=[told])
