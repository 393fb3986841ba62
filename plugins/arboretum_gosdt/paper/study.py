"""What the chapters of the reproduction share: the paper's numbers, tables as the authors encode
them, and timed runs that are replayed.
"""

import json
import math
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Claim,
    Column,
    ColumnKind,
    ConfigError,
    Context,
    Family,
    Plain,
    Problem,
    Services,
    Solution,
    Status,
    Table,
    Tree,
    VerificationError,
    sure,
)

MEMORY = 1_000_000_000
"""Bytes that a run may take."""
CALLED = {
    "gosdt_reference": "GOSDT as printed",
    "gosdt": "GOSDT, certified",
    "pygosdt": "PyGOSDT",
    "osdt": "OSDT",
    "dl85": "DL8.5",
    "dl8": "DL8",
    "binoct": "BinOCT",
    "cart": "CART",
    "optimal_subtree": "optimal subtree of CART",
    "rank": "rank, with a bound of ours",
}
"""Method → its name in figures."""
COLOURS = {name: number for number, name in enumerate(CALLED)}
PENALISED = ("gosdt_reference", "gosdt", "pygosdt", "rank", "osdt")
"""Methods whose trees are held small by λ; the others by a depth."""
AS_PRINTED = {"pygosdt": {"solver.without": ("subtrees",)}}
"""Method → what it leaves out of its solver, since the paper does not have it."""
OURS = ("gosdt", "rank")
"""Methods that the paper does not have; no sentence is judged by them but those that say so."""


def majority(
    sentence: str,
    cases: Sequence[tuple[bool | None, str]],
    evidence: str,
    whole: bool = True,
) -> list[Claim]:
    """Judge whether a sentence holds in more cases than not; nothing is said without cases.

    cases : whether it holds in each (None: nobody is ahead), and what is said of it.
    evidence : with {yes} and {no}, in how many it holds and does not, and {each}, what is said.
    whole : else it is open.
    """
    if not cases:
        return []
    yes, no = (sum(holds is way for holds, _ in cases) for way in (True, False))
    reported = evidence.format(yes=yes, no=no, each="; ".join(one for _, one in cases))
    return [Claim.judged(sentence, yes > no if whole else None, reported)]


@lru_cache(maxsize=1)
def published() -> Plain:
    """Return the numbers as printed; ``released``: of the authors' result files;
    ``monk1_correct_by_depth`` and depths 1 and 3 of Figure 1: proven elsewhere.
    """
    found: Plain = json.loads(
        Path(__file__).with_name("published.json").read_text(encoding="utf-8")
    )
    return found


def choices_of(method: str) -> dict[str, str]:
    """Return what a run chooses for a method: component by kind."""
    solver = "rank" if method == "pygosdt" else method
    exact = {"method": "exact", "solver": solver, "objective": "accuracy", "stopping": "standard"}
    return {
        "cart": {"method": "cart"},
        "optimal_subtree": {"method": "cart", "pruner": "optimal_subtree"},
    }.get(method, exact)


def is_installed(services: Services, method: str) -> bool:
    """Return whether an installed plugin brings a method.

    method : a key of CALLED.
    """
    try:
        services.parts(choices_of(method))
    except ConfigError:
        return False
    return True


@lru_cache(maxsize=4)
def load_table(services: Services, dataset: str) -> Table:
    """Return a data set; raises DataError where its file is not at hand."""
    found: Table = services.component("dataset", dataset).load(0)
    return found


@lru_cache(maxsize=4)
def load_released(services: Services, dataset: str) -> Table:
    """Return a data set of categories as in the authors' files: a column of two values per
    category, the last category of each attribute left out.
    """
    return binary_table(load_table(services, dataset))


def binary_table(table: Table) -> Table:
    """Return the same table with a column of two values per category but the last; columns of two
    values that are "0" and "1" stay as they are.
    """
    columns = []
    for column in table.columns:
        if column.categories == ("0", "1"):
            columns.append(column)
        else:
            columns += [
                _binary_column(f"{column.name} is {value}", column.values == k)
                for k, value in enumerate(column.categories[:-1])
            ]
    return attrs.evolve(table, columns=tuple(columns))


def table_of_bits(table: Table, bits: np.ndarray, names: Sequence[str]) -> Table:
    """Return a table with the same classes as another, and columns of two values.

    bits : bool[columns, rows].
    """
    return attrs.evolve(
        table,
        columns=tuple(_binary_column(name, one) for name, one in zip(names, bits, strict=True)),
    )


def _binary_column(name: str, holds: np.ndarray) -> Column:
    return Column(name, ColumnKind.categorical, (~holds).astype(np.int32), ("yes", "no"))


@lru_cache(maxsize=2)
def bits_of(services: Services, dataset: str) -> tuple[np.ndarray, list[str]]:
    """Return all tests of a data set, by column, then threshold: bool[tests, rows] and what each
    asks.
    """
    table = load_table(services, dataset)
    objects = services.component("encoder", "midpoints").encode(
        table, table, raw_thresholds=False, seed=0
    )
    bits, names = [], []
    for f, feature in enumerate(objects.features):
        code = objects.codes[objects.object_of_row, f].astype(np.int64)
        for k in range(feature.n_tests):
            bits.append(code <= k if feature.family is Family.thresholds else code > 0)
            names.append(f"{feature.column}, test {k + 1}")
    return np.array(bits), names


def split_fold(table: Table, fold: int, folds: int = 5) -> tuple[Table, Table]:
    """Return the rows that train and the rows that test: contiguous stretches, the first ones a row
    longer where they are not equal.

    fold : 0 … folds − 1, the stretch that tests.
    """
    parts = np.array_split(np.arange(table.n_rows), folds)
    return table.take(
        np.concatenate([part for k, part in enumerate(parts) if k != fold])
    ), table.take(parts[fold])


@attrs.frozen(eq=False)
class Run:
    """What a method found on a table.

    errors : rows of its training table that the tree has wrong, replayed.
    work : sets, itemsets or iterations that it looked at.
    value, bound : of the objective; NaN for greedy methods.
    curve : (seconds, bound, value).
    """

    tree: Tree
    errors: int
    leaves: int
    seconds: float
    work: int
    finished: bool = True
    value: float = math.nan
    bound: float = math.nan
    details: Plain = attrs.Factory(dict)
    curve: Sequence[tuple[float, float, float]] = ()


def run(
    services: Services,
    table: Table,
    method: str,
    values: Plain | None = None,
    seconds: float = 20.0,
    encoder: Plain | None = None,
    **choices: Any,
) -> Run:
    """Run a method on all rows of a table, its kernels loaded before the clock starts; its tree and
    its value are found again by replaying it.

    values : configuration by dotted name, as "objective.lam".
    seconds : that the fit may take.
    encoder : fields of the encoder ``tests``.
    choices : component by kind, where it is another than the method's.
    Raises VerificationError where the tree says something else than its rows do.
    """
    fields = {f"encoder.{name}": value for name, value in (encoder or {}).items()} | AS_PRINTED.get(
        method, {}
    )
    parts = services.parts(
        {**choices_of(method), "encoder": "tests", **choices}, {**fields, **(values or {})}
    )
    objects = sure(parts.encoder).encode(table, table, raw_thresholds=False, seed=0)
    problem, heard = Problem(objects, sure(parts.cost).price_list(objects, 0), parts), []
    if hasattr(parts.method, "warm_up"):
        sure(parts.method).warm_up(problem, Context(deadline=time.monotonic() + 60.0))
    start = time.perf_counter()
    context = Context(
        deadline=time.monotonic() + seconds,
        memory_bytes=MEMORY,
        proven=lambda low, up: heard.append((time.perf_counter() - start, low, up)),
    )
    solution = sure(parts.method).fit(problem, context)
    spent = time.perf_counter() - start
    if solution.interrupted:
        raise solution.interrupted
    tree = solution.tree
    if parts.pruner is not None:
        tree = parts.pruner.prune(sure(tree), table, None)
    return _verified_run(solution, sure(tree), problem, table, spent, heard)


def _verified_run(
    solution: Solution,
    tree: Tree,
    problem: Problem,
    table: Table,
    seconds: float,
    curve: list[tuple[float, float, float]],
) -> Run:
    """Return the run after its numbers have been found again: errors by predicting the rows of the
    table, value by the objective.  A method without solver has no value, and counts as finished.

    seconds : that the fit took.
    curve : (seconds, lower, upper), as they changed.

    Raises VerificationError where the solution's value is not that of its tree, or, of accuracy on
    rows of weight 1, not errors / rows + λ · leaves.
    """
    errors = int((tree.predict(table) != table.target.codes).sum())
    objective: Any = problem.parts.objective
    found = Run(tree, errors, tree.n_leaves, seconds, solution.subproblems)
    if objective is None or problem.parts.solver is None:
        return found
    value = float(objective.value(tree, problem))
    plain = objective.name == "accuracy" and table.weights is None
    reported = errors / table.n_rows + objective.lam * tree.n_leaves
    if abs(value - solution.value) > 1e-9 or (plain and abs(value - reported) > 1e-9):
        raise VerificationError(
            f"verification failed: the value is {solution.value:g}, of the tree {value:g}, "
            f"by its rows {reported:g}"
        )
    return attrs.evolve(
        found,
        finished=solution.status is Status.optimal,
        value=value,
        bound=solution.lower_bound,
        details=solution.details,
        curve=curve,
    )
