"""The tables of the printed optima, as their authors encode them, and a problem on one of them."""

import os
import time
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    Context,
    DataError,
    Facts,
    Plain,
    Problem,
    Services,
    Status,
    Table,
    VerificationError,
    sure,
)

BENCH = "ARBORETUM_BENCH"
"""Variable: the folder of solver tables, NAME.csv.gz with a column ``label``."""
MEMORY = 2_000_000_000
"""Bytes that a search may take."""
WARM = 60.0
"""Seconds for which a solver may load or compile, before its clock."""


@attrs.frozen
class Question:
    """Least errors / n + λ · leaves, within a depth or not.

    depth : None: any.   lam : per leaf.   least : rows per leaf.
    """

    depth: int | None
    lam: float
    least: int

    @property
    def fields(self) -> Facts:
        """Configuration of a run by dotted name."""
        limits = {"max_depth": self.depth, "min_leaf": None if self.least == 1 else self.least}
        return {"objective.lam": self.lam} | {
            f"stopping.standard.{name}": value for name, value in limits.items() if value
        }


def load_table(services: Services, described: Plain) -> Table:
    """Return a table as ``published.json`` describes it: file, home, encoding (``binary``: columns
    of 0 and 1 as they are; ``numbers``; ``onehot``: a column per value; ``drop_first``: without the
    first of each column; ``drop_given``: without those in ``drop``), and the class that counts
    against the rest, where it has one (``positive``).

    Raises DataError where it is not at hand, or has no such class.
    """
    if described["home"] == "bench":
        path = Path(os.environ.get(BENCH, ""), f"{described['file']}.csv.gz")
        if not os.environ.get(BENCH) or not path.exists():
            raise DataError(f"{path.name} is not at hand; name its folder in {BENCH}")
        fields = {"path": str(path), "target": "label", "task": "classification"}
        table: Table = services.component("dataset", "file", fields).load(0)
    else:
        table = services.component("dataset", described["file"]).load(0)
    if positive := described.get("positive"):
        table = _one_against_rest(table, positive)
    if described["encoding"] == "numbers":
        return table
    if described["encoding"] == "binary":
        columns = [_column(column.name, np.asarray(column.values) == 1) for column in table.columns]
        return attrs.evolve(table, columns=tuple(columns))
    columns = []
    for place, column in enumerate(table.columns):
        values = _spelled(column)
        left_out = {
            "onehot": None,
            "drop_first": str(min(values)),
            "drop_given": (described.get("drop") or [""] * len(table.columns))[place],
        }[described["encoding"]]
        columns += [
            _column(f"{column.name} is {value}", values == value)
            for value in np.unique(values)
            if value != left_out
        ]
    return attrs.evolve(table, columns=tuple(columns))


def _spelled(column: Column) -> np.ndarray:
    """Return the values of a column as words, "" where one is missing."""
    values = np.asarray(column.values)
    if column.categories:
        words = np.array([*column.categories, ""])
        return words[np.where(column.missing, len(words) - 1, values).astype(np.int64)]
    return np.array([f"{value:g}" for value in values.tolist()])


def _column(name: str, holds: np.ndarray) -> Column:
    """Return a column of two values.   holds : bool[rows]."""
    return Column(name, ColumnKind.categorical, holds.astype(np.int32), ("0", "1"))


def _one_against_rest(table: Table, positive: str) -> Table:
    """Return the table with two classes: ``positive``, and all others."""
    if positive not in table.target.classes:
        raise DataError(f"{table.name} has no class {positive}, which its records count")
    codes = (table.target.codes == table.target.classes.index(positive)).astype(np.int32)
    target = attrs.evolve(table.target, codes=codes, classes=("rest", positive))
    return attrs.evolve(table, target=target)


def solve(
    services: Services, table: Table, solver: str, question: Question, seconds: float
) -> Facts:
    """Return what a solver finds on all rows: ``errors`` of its tree, replayed over the table,
    ``leaves``, ``value``, ``bound``, ``proven`` and ``seconds`` of the fit.

    seconds : that the fit may take.
    Raises CapabilityError, DataError for what the solver cannot do, VerificationError where a value
    is not that of its tree.
    """
    parts = services.parts(
        {
            "method": "exact",
            "solver": solver,
            "objective": "accuracy",
            "stopping": "standard",
            "encoder": "auto",
        },
        question.fields,
    )
    # peers take tests that are fixed before the search
    raw = not solver.startswith("peer_")
    objects = sure(parts.encoder).encode(table, table, raw_thresholds=raw, seed=0)
    problem = Problem(objects, sure(parts.cost).price_list(objects, 0), parts)
    method: Any = parts.method
    if hasattr(method, "warm_up"):
        method.warm_up(problem, Context(deadline=time.monotonic() + WARM))
    start = time.perf_counter()
    context = Context(deadline=time.monotonic() + seconds, memory_bytes=MEMORY)
    solution = method.fit(problem, context)
    spent = time.perf_counter() - start
    if solution.interrupted:
        raise solution.interrupted
    tree = sure(solution.tree)
    errors = int((tree.predict(table) != table.target.codes).sum())
    replayed = errors / table.n_rows + question.lam * tree.n_leaves
    if abs(replayed - solution.value) > 1e-9:
        raise VerificationError(
            f"verification failed: the value is {solution.value:g}, by its rows {replayed:g}"
        )
    return {
        "errors": errors,
        "leaves": int(tree.n_leaves),
        "value": float(solution.value),
        "bound": float(solution.lower_bound),
        "proven": solution.status is Status.optimal,
        "seconds": spent,
    }


def ask_peer(
    services: Services, table: Table, peer: str, question: Question, seconds: float
) -> Facts:
    """Return what a peer finds (see :func:`solve`), or ``refused``, the reason why it was not
    asked.
    """
    try:
        return solve(services, table, peer, question, seconds)
    except (CapabilityError, DataError) as error:
        return {"refused": str(error)}
