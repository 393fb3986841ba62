"""Table A: what each method is and does, beside the printed words.

Every column is a recipe as the paper describes it.  A cell is *found* where the recipe is run on
small tables that need no file, or its component is asked, so that it could come out otherwise; else
it is *stated*: a sentence of this file, counted apart and judged by nothing.  Where "Maybe" is
printed nothing is claimed, and nothing is judged.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Claim,
    DataError,
    Encoded,
    Facts,
    Judgement,
    Key,
    Keyed,
    Piece,
    Plain,
    Services,
    Table,
    csv_text,
)
from arboretum_gosdt.paper.buckets import random_table
from arboretum_gosdt.paper.reproduction import GosdtStudy
from arboretum_gosdt.paper.study import choices_of, is_installed, load_table, published, run

NA, YES, NO = "N/A", "Yes", "No"
MAYBE = "Maybe"
"""Printed words that whatever is found agrees with."""
ABSENT, UNTRIED = "not installed", "not tried"
FOUND, STATED = "found", "stated"
Answer = tuple[str, str, str]
"""What is said, by what, and whether that was found or is stated."""
LAM = 0.05
TRIED = 40
"""Random tables on which thresholds that are left out may be missed."""
LOST = 0.2
"""λ by which it is tried whether a method can be made to pay for leaves: the best tree of the
table is then smaller.
"""
LEAST = 0.001
"""The λ beside it, by which it is larger."""
KNOWN: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Built-in Preprocessor": (
        "here the encoder is a component that every exact method has, auto unless another is "
        "chosen",
        {"DL8": YES, "DL8.5": YES},
    ),
    "Can use Multiple Cores?": (
        "the printed algorithms name no threads (the certified solver has them), and HiGHS "
        "is called with one",
        {"GOSDT": NO, "BinOCT": NO},
    ),
    "Can we modify this to use regularization?": (
        "BinOCT's program is here as its authors print it, without a term for leaves",
        {"BinOCT": NO},
    ),
}
"""Row → why it differs here, and what is then found, by column; what is found elsewhere, or
else, fails.
"""


def found(value: str, why: str) -> Answer:
    """The answer ``value`` that a run or a component gave, and by what (``why``)."""
    return value, why, FOUND


def stated(value: str, why: str) -> Answer:
    """The answer ``value`` that this file gives by itself, and why; nothing judges it."""
    return value, why, STATED


@attrs.frozen
class Recipe:
    """A column.

    method : as the study names it.
    encoder : of the paper's preprocessing; None: numbers stay as they are.
    depth : whether trees are held small by a depth, else by λ or a pruner.
    pruner : by name; nothing: none.
    """

    method: str
    encoder: Plain | None
    depth: bool
    pruner: str = ""

    @property
    def greedy(self) -> bool:
        """Whether its trees are grown by CART, without a solver."""
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


def pieces(paper: GosdtStudy) -> list[Piece]:
    """Return a piece for every column of Table A, whichever data sets are wanted."""
    return [
        Piece({"chapter": "table_a", "column": name}, 20.0 if name == "BinOCT" else 3.0)
        for name in COLUMNS
    ]


def work(key: Key, seed: int, services: Services) -> dict[str, list[str]]:
    """Row → what is said, by what, and whether it is found or stated."""
    recipe = COLUMNS[key["column"]]
    if not is_installed(services, recipe.method):
        return {row: [ABSENT, "", FOUND] for row in ROWS}
    return {row: list(find(recipe, services)) for row, find in ROWS.items()}


def _choices_of_recipe(recipe: Recipe) -> dict[str, str]:
    return {"pruner": recipe.pruner} if recipe.pruner else {}


def _solver_of_recipe(recipe: Recipe, services: Services) -> Any:
    return services.parts(choices_of(recipe.method)).solver


def _small_table(services: Services) -> Table:
    """Return a table of numbers that needs no file: every second row of two classes of wine, three
    columns.
    """
    wine = load_table(services, "wine")
    table = wine.take((wine.target.codes < 2).nonzero()[0][::2])
    target = attrs.evolve(table.target, classes=table.target.classes[:2])
    return attrs.evolve(table, columns=table.columns[:3], target=target)


def _run_best(
    services: Services, table: Table, recipe: Recipe, encoder: Plain | None, **values: Any
) -> Any:
    """Run a recipe as it finds its best tree: at depth 2 and no λ, or GOSDT with a small one.

    encoder : fields of the encoder.
    values : configuration by dotted name, over that.
    """
    held: Facts = {"objective.lam": 0.0, "stopping.standard.max_depth": 2}
    if recipe.greedy:
        held = {"stopping.standard.max_depth": 2} if recipe.depth else {"pruner.price": "mdl"}
    elif not recipe.depth:
        held = {"objective.lam": LAM}
    return run(
        services,
        table,
        recipe.method,
        {**held, **values},
        60.0,
        encoder,
        **_choices_of_recipe(recipe),
    )


def _answer_encoder(recipe: Recipe, services: Services) -> Answer:
    """Answer whether a run has encoder=auto where no encoder is chosen."""
    if recipe.encoder is None:
        return stated(NO, "numbers are compared at the node")
    encoder = services.parts(choices_of(recipe.method)).encoder
    own = encoder.name if encoder is not None else "none"
    return found(YES if own == "auto" else NO, f"encoder={own} unless another is chosen")


def _answer_strategy(recipe: Recipe, services: Services) -> Answer:
    """Answer by the number of tests on a table of numbers."""
    if recipe.encoder is None:
        return stated("None", "thresholds are found at the node")
    table = _small_table(services)

    def count(**fields: Any) -> int:
        encoder = services.component("encoder", "tests", fields)
        objects: Encoded = encoder.encode(table, table, raw_thresholds=False, seed=0)
        return objects.n_fixed

    own, every, buckets = count(**recipe.encoder), count(), count(numeric="bucketised")
    name = (
        "All values"
        if own == every
        else "Bucketization"
        if own == buckets
        else "Weka Discretization"
    )
    return found(name, f"{own} of {every} thresholds; buckets have {buckets}")


def _answer_preserves(recipe: Recipe, services: Services) -> Answer:
    """Answer whether the best trees of depth 2 over these tests are as good as over all of them, on
    tables whose labels alternate.
    """
    if recipe.encoder is None:
        return stated(NA, "nothing is left out")
    draw, dl85 = np.random.default_rng(0), COLUMNS["DL8.5"]
    for _ in range(TRIED):
        table = random_table(draw, 2)
        every = _run_best(services, table, dl85, {"numeric": "midpoints"}).errors
        try:
            own = _run_best(services, table, dl85, recipe.encoder).errors
        except DataError:  # no cut at all
            own = min(np.bincount(table.target.codes))
        if own > every:
            return found(NO, f"{own} errors at depth 2, {every} with all thresholds")
    return found(YES, f"as few errors at depth 2 on {TRIED} tables")


def _answer_optimises(recipe: Recipe, services: Services) -> Answer:
    """Answer by how many sets of rows, or itemsets, a dynamic program visits: all, or fewer by
    bounds.
    """
    if _solver_of_recipe(recipe, services) is None:
        return found("Greedy Search", "a method without a solver")
    if recipe.method not in DP:
        return stated("ILP", "an integer program")
    own, every = _count_visited_sets(services, recipe.method)
    what = "sets of rows" if recipe.method == "gosdt_reference" else "itemsets"
    return (
        found("DP", f"it lists all {every:,} {what}")
        if own == every
        else found("DPB", f"bounds leave {own:,} of {every:,} {what}")
    )


def _count_visited_sets(services: Services, method: str) -> tuple[int, int]:
    """Return how many itemsets or sets of rows of a table that needs no file a method visits, and
    how many there are.
    """
    table, held = load_table(services, "play-tennis"), {"objective.lam": 0.0}
    every = run(services, table, "dl8", {**held, "solver.row_sets": True}, 60.0).details
    if method == "gosdt_reference":
        return int(
            run(services, table, method, {"objective.lam": 0.05}, 60.0).details["sets"]
        ), int(every["row_sets"])
    return int(run(services, table, method, held, 60.0).details["itemsets"]), int(every["itemsets"])


def _answer_exact(recipe: Recipe, services: Services) -> Answer:
    """Answer whether no tree of the same tests and limit is better."""
    table = random_table(np.random.default_rng(0), 2) if recipe.greedy else _small_table(services)
    own = _run_best(services, table, recipe, recipe.encoder or {})
    if recipe.depth:
        best = _run_best(services, table, COLUMNS["DL8.5"], recipe.encoder or {}).errors
        return found(
            YES if own.errors == best else NO,
            f"{own.errors} errors at depth 2, the least are {best}",
        )
    best = _run_best(
        services, table, attrs.evolve(COLUMNS["GOSDT"], method="gosdt"), recipe.encoder or {}
    )
    value, least = (one.errors / table.n_rows + LAM * one.leaves for one in (own, best))
    return found(
        YES if value <= least + 1e-9 else NO,
        f"errors + λ · leaves are {value:.4f}, the least {least:.4f}",
    )


def _answer_hierarchical(recipe: Recipe, services: Services) -> Answer:
    if recipe.method not in DP:
        return stated(NA, "no subproblems are kept")
    name, why, _ = _answer_optimises(recipe, services)
    return found(YES if name == "DPB" else NO, why)


def _answer_sets(recipe: Recipe, services: Services) -> Answer:
    """Answer whether one set of rows is ever solved under two names."""
    if recipe.method not in DP:
        return stated(NA, "no subproblems are kept")
    if recipe.method == "gosdt_reference":
        own, every = _count_visited_sets(services, recipe.method)
        return found(
            YES if own <= every else NO, f"{own:,} entries of {every:,} sets of rows that differ"
        )
    table = load_table(services, "tic-tac-toe")
    held = {"objective.lam": 0.0, "stopping.standard.max_depth": 4, "solver.row_sets": True}
    details = run(
        services, table.take(np.arange(0, table.n_rows, 4)), recipe.method, held, 60.0
    ).details
    return found(
        YES if details["itemsets"] == details["row_sets"] else NO,
        f"{details['itemsets']:,} itemsets of {details['row_sets']:,} sets of rows",
    )


def _answer_cores(recipe: Recipe, services: Services) -> Answer:
    """Answer whether the method or its solver has a field for threads or workers."""
    parts = services.parts({**choices_of(recipe.method), **_choices_of_recipe(recipe)})
    able = [
        part.name
        for part in (parts.method, parts.solver)
        if part is not None
        and {"threads", "workers"} & {field.name for field in attrs.fields(type(part))}
    ]
    return (
        found(YES, f"{able[0]} has threads")
        if able
        else found(NO, "no field says how many threads")
    )


def _answer_partial(recipe: Recipe, services: Services) -> Answer:
    """Answer whether bounds of a set change before it is solved, and reach those above it."""
    if recipe.greedy:
        return stated(NA, "nothing is bounded")
    if recipe.method == "binoct":
        return stated("Depends on (generic) solver", "an integer program")
    updates = _run_best(services, _small_table(services), recipe, recipe.encoder).details.get(
        "updates"
    )
    if updates is None:
        return stated(NO, "a subproblem is solved before the next begins")
    return found(YES if updates else NO, f"{updates} updates of bounds went upward")


def _answer_overfitting(recipe: Recipe, services: Services) -> Answer:
    """Answer by what makes trees smaller: pruning, a larger price of leaves, or a smaller depth."""
    table = _small_table(services)
    if recipe.pruner:
        whole = run(services, table, recipe.method, {}, 60.0).leaves
        pruned = _run_best(services, table, recipe, None).leaves
        return found(
            "MDL Criteria" if pruned < whole else "None",
            f"pruner.price=mdl leaves {pruned} of {whole} leaves",
        )
    name, field, least, most = (
        ("Structural Constraints", "stopping.standard.max_depth", 1, 2)
        if recipe.depth
        else ("Penalize Leaves", "objective.lam", LOST, LEAST)
    )
    few, many = (
        _run_best(services, table, recipe, recipe.encoder, **{field: value}).leaves
        for value in (least, most)
    )
    return found(
        name if few < many else "None", f"{few} leaves with {field}={least:g}, {many} with {most:g}"
    )


def _answer_regularised(recipe: Recipe, services: Services) -> Answer:
    """Answer whether a price of leaves makes the tree smaller."""
    if recipe.method == "gosdt_reference" or recipe.pruner:
        return stated(NA, "it is")
    if recipe.greedy:
        return stated(NO, "its criterion looks at a node alone")
    try:
        few, many = (
            _run_best(
                services, _small_table(services), recipe, recipe.encoder, **{"objective.lam": lam}
            ).leaves
            for lam in (LOST, 0.0)
        )
    except CapabilityError:
        return found(NO, "λ > 0 is refused")
    return found(YES if few < many else NO, f"{few} leaves with λ = {LOST:g}, {many} without")


def _answer_imbalance(recipe: Recipe, services: Services) -> Answer:
    """Answer whether it grows trees for an objective that weighs classes."""
    if recipe.greedy:
        return stated(MAYBE, "rows can be weighted")
    held = (
        {"objective.lam": 0.0, "stopping.standard.max_depth": 2}
        if recipe.depth
        else {"objective.lam": LAM}
    )
    one = run(
        services,
        _small_table(services),
        recipe.method,
        held,
        10.0,
        recipe.encoder,
        objective="balanced",
    )
    return (
        found(YES, "objective=balanced, proven")
        if one.finished
        else found(MAYBE, "objective=balanced, not proven")
    )


ROWS: Mapping[str, Callable[[Recipe, Services], Answer]] = dict(
    zip(
        published()["table_a"]["rows"],
        (
            _answer_encoder,
            _answer_strategy,
            _answer_preserves,
            _answer_optimises,
            _answer_exact,
            _answer_hierarchical,
            _answer_sets,
            _answer_cores,
            _answer_partial,
            _answer_overfitting,
            _answer_regularised,
            _answer_imbalance,
        ),
        strict=True,
    )
)


def verdict_of(row: str, column: str, printed: str, ours: str, how: str) -> str:
    """Return PASS, FAIL, KNOWN or OPEN where the cell was found and something is printed that it
    can be held against; else STATED.

    row, column : of the table; printed, ours : what is said in the cell.
    how : FOUND or STATED.
    """
    if ours in (ABSENT, UNTRIED):
        return "OPEN"
    if how == STATED:
        return "STATED"
    if printed == MAYBE:
        return "OPEN"
    if ours == printed:
        return "PASS"
    return "KNOWN" if KNOWN.get(row, ("", {}))[1].get(column) == ours else "FAIL"


def judge(results: Keyed) -> Judgement:
    """Return a claim per row of the table: every cell that is found says what is printed."""
    if not results:
        return Judgement()
    paper, said = published()["table_a"], {key["column"]: result for key, result in results}
    lines, claims = [["row", "column", "printed", "here", "how", "verdict", "by"]], []
    for row, printed in paper["rows"].items():
        cells = []
        for column, words in zip(paper["columns"], printed, strict=True):
            ours, why, how = said.get(column, {}).get(row, [UNTRIED, "", FOUND])
            cells.append(
                [row, column, words, ours, how, verdict_of(row, column, words, ours, how), why]
            )
        claims.append(_judge_row(row, cells))
        lines += cells
    counts = {
        verdict: sum(line[5] == verdict for line in lines[1:])
        for verdict in ("PASS", "FAIL", "KNOWN", "OPEN", "STATED")
    }
    judged = counts["PASS"] + counts["FAIL"] + counts["KNOWN"]
    metrics = {
        "cells_as_printed": float(counts["PASS"]),
        "cells_found": float(judged),
        "cells_stated": float(counts["STATED"]),
    }
    reported = (
        f"Table A: {counts['PASS']} of {judged} cells that are found say what is printed; "
        f"{counts['STATED']} are stated, and judged by nothing; {counts['OPEN']} are open."
    )
    return Judgement.of_chapter(
        "Table A",
        {},
        metrics,
        claims=claims,
        tables={"table_a.csv": csv_text(lines)},
        notes=[reported],
    )


def _judge_row(row: str, cells: Sequence[Sequence[str]]) -> Claim:
    """Judge the cells of a row that are found; open where none passes, and none differs.

    cells : of (row, column, printed, here, how, verdict, by).
    """
    by = {
        verdict: [cell for cell in cells if cell[5] == verdict]
        for verdict in ("PASS", "FAIL", "KNOWN", "OPEN", "STATED")
    }
    unlike = [
        f"{column} {ours} (printed: {words}; {why})"
        for _, column, words, ours, _, _, why in by["FAIL"] + by["KNOWN"]
    ]
    reported = [", ".join(unlike)]
    for verdict, heading in (
        ("PASS", "found as printed"),
        ("STATED", "stated"),
        ("OPEN", "not judged"),
    ):
        reported.append(
            f"{heading}: {', '.join(f'{cell[1]} {cell[3]}' for cell in by[verdict])}"
            * bool(by[verdict])
        )
    reason = KNOWN[row][0] if by["KNOWN"] and not by["FAIL"] else ""
    holds = False if unlike else True if by["PASS"] else None
    return Claim.judged(f"Table A: {row}", holds, "; ".join(filter(None, reported)), reason)
