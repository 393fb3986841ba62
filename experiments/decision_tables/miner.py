"""Look for the smallest table on which one greedy algorithm loses to another by the largest factor.

    python experiments/decision_tables/miner.py max/gini w_sum/gini depth --tables 20000 --rows 12
        --columns 5

Algorithms: max, sum, w_max, w_sum / ent, gini, me, rt.  Complexities: depth, total_path_length,
n_nodes, n_internal, n_leaves. Prints the table, both trees, an optimal tree and the proven minimum;
``--csv FILE`` keeps the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    ArboretumError,
    Column,
    ColumnKind,
    ConfigError,
    Context,
    Problem,
    Services,
    Solution,
    Table,
    Target,
    Task,
    Tree,
    VerificationError,
    bulk,
    unknown,
    value_of,
)
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum_decision_tables.complexities import COMPLEXITIES
from arboretum_decision_tables.exact.solver import SubtableDP
from arboretum_decision_tables.paper.published import ALGORITHMS
from arboretum_decision_tables.paper.study import MINIMA as COSTS, Minima

LETTERS = "abcdefghijklmnopqrstuvwxyz"
REPORT_EVERY = 1000
"""Drawn tables between two calls of ``progress``."""


@attrs.frozen
class Search:
    """What to look for.

    loser, winner : two of the sixteen algorithms, ``max/ent`` … ``w_sum/rt``.
    complexity : one of :data:`~.bulk.COSTS`.
    tables : how many random tables are drawn.
    n_rows, n_columns : at most so many; each table's own numbers are drawn.
    Raises ConfigError, with the closest match.
    """

    loser: str
    winner: str
    complexity: str
    tables: int = 20_000
    n_rows: int = 12
    n_columns: int = 5
    n_values: int = 2
    n_classes: int = 2
    seed: int = 0

    def __attrs_post_init__(self) -> None:
        for name in (self.loser, self.winner):
            if name not in ALGORITHMS:
                raise ConfigError(unknown("algorithm", name, ALGORITHMS))
        if self.complexity not in COSTS:
            raise ConfigError(unknown("complexity", self.complexity, COSTS))
        ranges = {
            "tables": (1, None),
            "n_rows": (2, 64),
            "n_columns": (1, None),
            "n_values": (2, 26),
            "n_classes": (2, 26),
            "seed": (0, None),
        }
        for field, (low, high) in ranges.items():
            value = getattr(self, field)
            if value < low or (high is not None and value > high):
                msg = f"{field} is {value}; it is at least {low}" + (
                    "" if high is None else f" and at most {high}"
                )
                raise ConfigError(msg)


@attrs.frozen(eq=False)
class Candidate:
    """A table with what the two trees cost.

    codes : uint8[n, m], distinct rows.
    label : uint8[n].
    """

    codes: np.ndarray
    label: np.ndarray
    costs: tuple[int, int]

    @property
    def factor(self) -> Fraction:
        """Cost of the loser's tree ÷ cost of the winner's, exactly."""
        return Fraction(*self.costs)

    @property
    def rank(self) -> tuple[Fraction, int, int]:
        """Larger is better: the factor, then fewer rows, then fewer columns."""
        return self.factor, -self.codes.shape[0], -self.codes.shape[1]


@attrs.frozen(eq=False)
class Found:
    """The best table of a search, verified.

    loser, winner : trees, as a run returns them.
    optimal : a tree of least complexity, proven by the exact solver.
    minimum : that least complexity.
    drawn : (rows, columns) of the random table before it was made smaller.
    losses : tables drawn on which the first algorithm lost.
    """

    search: Search
    table: Table
    costs: tuple[int, int]
    minimum: int
    loser: Tree
    winner: Tree
    optimal: Tree
    drawn: tuple[int, int]
    losses: int

    @property
    def factor(self) -> Fraction:
        return Fraction(*self.costs)


def mine(
    search: Search,
    services: Services,
    progress: Callable[[int, str], None] = lambda done, message: None,
) -> Found | None:
    """Draw random tables, make those with a large factor smaller, and verify the best; None if the
    first never loses.

    The answer is the best of the tables drawn and of what is left of them: a lower bound of what is
    possible, not a maximum over all tables.  It depends on ``search`` alone.  Raises
    VerificationError when a tree, measured again in another way, costs something else, or costs
    less than the proven minimum.
    """
    trial = _Trial(search, services)
    best, drawn, losses = None, (0, 0), 0
    for index in range(search.tables):
        table = trial.draw(index)
        if table is not None and table.factor > 1:
            losses += 1
            if best is None or table.factor >= best.factor:
                smaller = trial.shrink(table)
                if best is None or smaller.rank > best.rank:
                    best, drawn = smaller, table.codes.shape
        if (index + 1) % REPORT_EVERY == 0 or index + 1 == search.tables:
            progress(index + 1, "the first has not lost yet" if best is None else _told(best))
    return None if best is None else _verified(search, best, drawn, losses, services)


def _told(best: Candidate) -> str:
    rows, columns = best.codes.shape
    return f"factor {best.costs[0]}/{best.costs[1]} on {rows} rows and {columns} attributes"


class _Trial:
    """Two algorithms on small tables, one after the other."""

    def __init__(self, search: Search, services: Services) -> None:
        parts = [services.parts({"method": preset(name)}) for name in (search.loser, search.winner)]
        self.search = search
        self.judges = bulk.Judges.of(
            [(part.criterion, part.impurity) for part in parts], search.n_classes
        )
        self.stopping = parts[0].stopping
        self.layouts = {
            m: bulk.multiway_layout([search.n_values] * m) for m in range(1, search.n_columns + 1)
        }
        self.cost = bulk.MEASURES.index(search.complexity)

    def draw(self, index: int) -> Candidate | None:
        """Table number ``index``; None if it has a single decision."""
        search, draw = self.search, np.random.default_rng([self.search.seed, index])
        n, m = draw.integers(2, search.n_rows + 1), draw.integers(1, search.n_columns + 1)
        codes = np.unique(draw.integers(search.n_values, size=(n, m), dtype=np.uint8), axis=0)
        return self.measure(codes, draw.integers(search.n_classes, size=len(codes), dtype=np.uint8))

    def measure(self, codes: np.ndarray, label: np.ndarray) -> Candidate | None:
        """Grow both trees; None if the table has a single decision."""
        if (label == label[0]).all():
            return None
        objects = bulk.Objects(self.layouts[codes.shape[1]], codes, label, self.search.n_classes)
        costs = bulk.grow_many(objects, self.judges, self.stopping).measures[:, self.cost]
        return Candidate(codes, label, (int(costs[0]), int(costs[1])))

    def shrink(self, table: Candidate) -> Candidate:
        """Leave out one row or column after the other while the factor does not fall, until none
        can be left out.
        """
        while True:
            smaller = self._without_one(table)
            if smaller is None:
                return table
            table = smaller

    def _without_one(self, table: Candidate) -> Candidate | None:
        n, m = table.codes.shape
        for row in range(n if n > 2 else 0):
            found = self.measure(np.delete(table.codes, row, axis=0), np.delete(table.label, row))
            if found is not None and found.factor >= table.factor:
                return found
        for column in range(m if m > 1 else 0):
            codes = np.delete(table.codes, column, axis=1)
            if len(np.unique(codes, axis=0)) < n:
                continue
            found = self.measure(np.ascontiguousarray(codes), table.label)
            if found is not None and found.factor >= table.factor:
                return found
        return None


def preset(algorithm: str) -> str:
    """``w_sum/gini`` → the name of its preset."""
    return algorithm.replace("/", "_")


def table_of(codes: np.ndarray, label: np.ndarray) -> Table:
    """A table whose values are letters, so that a file of it is read as it is meant.   Columns
    f1, f2, …; target decision.
    """
    columns = []
    for f in range(codes.shape[1]):
        present, own = np.unique(codes[:, f], return_inverse=True)
        columns.append(
            Column(
                f"f{f + 1}",
                ColumnKind.categorical,
                own.astype(np.int32),
                tuple(LETTERS[v] for v in present),
            )
        )
    present, own = np.unique(label, return_inverse=True)
    target = Target(
        "decision",
        Task.classification,
        own.astype(np.int32),
        tuple(LETTERS[v].upper() for v in present),
    )
    return Table("counterexample", tuple(columns), target)


def _verified(
    search: Search, best: Candidate, drawn: tuple[int, int], losses: int, services: Services
) -> Found:
    """Grow both trees once more as a run does, walk all rows through them, and prove the minimum
    in two ways.
    """
    table, trees = table_of(best.codes, best.label), []
    complexity = next(cls for cls in COMPLEXITIES if cls.name == search.complexity)()
    for name, cost in zip((search.loser, search.winner), best.costs, strict=True):
        parts = services.parts({"method": preset(name)})
        objects = parts.encoder.encode(table, table, raw_thresholds=False, seed=search.seed)
        problem = Problem(objects, parts.cost.price_list(objects, search.seed), parts)
        trees.append(_replayed(name, parts.method.fit(problem, Context()), cost, complexity, table))
    proven = SubtableDP().minima(problem, [complexity], Context())[0]
    minimum = int(
        Minima().of(best.codes, best.label.astype(np.int64))[COSTS.index(search.complexity)]
    )
    optimal = _replayed("subtable_dp", proven, minimum, complexity, table)
    if proven.lower_bound != minimum or min(best.costs) < minimum:
        msg = (
            f"verification failed: trees of {best.costs} beside minima of {minimum} and "
            f"{proven.lower_bound:g}; please report this table"
        )
        raise VerificationError(msg)
    return Found(search, table, best.costs, minimum, *trees, optimal, drawn, losses)


def _replayed(name: str, solution: Solution, cost: int, complexity: Any, table: Table) -> Tree:
    """The tree, once each row has found its decision in it and its cost is what was said."""
    tree, value = solution.tree, value_of(complexity, solution.tree)
    if value != cost or (tree.predict(table) != table.target.codes).any():
        msg = (
            f"verification failed: {name} was said to cost {cost}, and costs {value:g} or errs; "
            "please report this table"
        )
        raise VerificationError(msg)
    return tree


def report(found: Found) -> str:
    """The table, both trees, an optimal tree, and what they cost."""
    search, table = found.search, found.table
    first, second = found.costs
    cells = [[column.categories[code] for code in column.values] for column in table.columns]
    cells.append([table.target.classes[code] for code in table.target.codes])
    header = [*(column.name for column in table.columns), table.target.name]
    lines = [
        " ".join(text.ljust(len(name)) for text, name in zip(row, header, strict=True)).rstrip()
        for row in zip(*cells, strict=True)
    ]
    return "\n".join(
        [
            f"{search.complexity}: {search.loser} needs {first}, {search.winner} {second}, "
            f"the minimum is {found.minimum}",
            f"factor {first}/{second} = {float(found.factor):.4g}; to the minimum "
            f"{first / found.minimum:.4g} and {second / found.minimum:.4g}",
            f"{table.n_rows} rows and {len(table.columns)} attributes, left of "
            f"{found.drawn[0]} and {found.drawn[1]}; "
            f"{search.loser} lost on {found.losses:,} of {search.tables:,} tables of at most "
            f"{search.n_rows} rows and "
            f"{search.n_columns} attributes",
            "",
            " ".join(header),
            *lines,
            "",
            f"{search.loser}:",
            found.loser.to_text(),
            f"{search.winner}:",
            found.winner.to_text(),
            "an optimal tree:",
            found.optimal.to_text(),
        ]
    )


def csv_of(table: Table) -> str:
    """The table as a file, so that ``dataset=file`` reads the same."""
    rows = [[column.name for column in table.columns] + [table.target.name]]
    for i in range(table.n_rows):
        rows.append(
            [c.categories[c.values[i]] for c in table.columns]
            + [table.target.classes[table.target.codes[i]]]
        )
    return "".join(",".join(row) + "\n" for row in rows)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("loser")
    parser.add_argument("winner")
    parser.add_argument("complexity")
    for name, default, meaning in (
        ("tables", 20_000, "random tables to draw"),
        ("rows", 12, "rows of a table, at most"),
        ("columns", 5, "attributes, at most"),
        ("values", 2, "values of an attribute"),
        ("classes", 2, "decisions"),
        ("seed", 0, "of the tables"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"{meaning} (default {default})"
        )
    parser.add_argument("--csv", type=Path, help="file to keep the table in")
    a = parser.parse_args(arguments)

    def progress(done: int, message: str) -> None:
        if sys.stderr.isatty() or done == a.tables:
            print(
                f"\r{done:,} of {a.tables:,} tables: {message}",
                end="\n" if done == a.tables else "",
                file=sys.stderr,
                flush=True,
            )

    try:
        search = Search(
            a.loser,
            a.winner,
            a.complexity,
            a.tables,
            a.rows,
            a.columns,
            a.values,
            a.classes,
            a.seed,
        )
        found = mine(search, RegistryFactory(load_registry()), progress)
    except ArboretumError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if found is None:
        print(
            f"{a.loser} never lost to {a.winner} on {a.tables:,} tables; draw more, or larger ones"
        )
        return 1
    print(report(found), end="")
    if a.csv:
        a.csv.write_text(csv_of(found.table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
