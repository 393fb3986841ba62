"""Trees drawn at random over small tables: grown by random tests, row by row with ``outcome_of``,
so that their weights are those of their training rows.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from hypothesis import strategies as st

from arboretum.model.rules import (
    Bins,
    Equals,
    Interval,
    OrdinalThreshold,
    TestRule,
    Threshold,
    Values,
    numbers,
    spell,
)
from arboretum.model.table import Column, ColumnKind, Table, Task
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, Tree
from arboretum.testing.oracles import mean_of, plant_tree
from arboretum.testing.strategies import (  # noqa: F401 - tests draw tables, too
    NUMBERS,
    WEIGHTS,
    cells,
    columns,
    tables,
    targets,
)
from arboretum.testing.tables import bare_objects, row_of


@st.composite
def rows_like(draw: st.DrawFn, table: Table, max_rows: int = 12, unseen: bool = True) -> Table:
    """Other rows with the columns of ``table``, also with categories it never showed (code −2)."""
    n_rows = draw(st.integers(1, max_rows))
    found = []
    for column in table.columns:
        values = draw(cells(column.kind, column.categories, n_rows, -2 if unseen else -1))
        found.append(attrs.evolve(column, values=values.astype(column.values.dtype)))
    target = draw(targets(table.task, n_rows, table.n_classes or None))
    if table.task is Task.classification:
        target = attrs.evolve(target, classes=table.target.classes)
    return Table("rows", tuple(found), target)


@st.composite
def rules(draw: st.DrawFn, column: Column) -> TestRule:
    """Any built-in test that a column of this kind allows."""
    if column.kind is ColumnKind.continuous:
        edges = sorted(set(draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3))))
        kinds = [
            Threshold(column.name, edges[0]),
            Bins(column.name, tuple(edges), draw(st.booleans())),
        ]
        low, high = edges[0], edges[-1] if len(edges) > 1 else None
        kinds += [Interval(column.name, low, high, draw(st.booleans())), Equals(column.name, None)]
        return draw(st.sampled_from(kinds))
    category = draw(st.sampled_from(column.categories))
    kept = tuple(draw(st.permutations(column.categories)))[
        : draw(st.integers(1, len(column.categories)))
    ]
    kinds = [
        Equals(column.name, category, draw(st.booleans())),
        Equals(column.name, None),
        Values(column.name, kept, draw(st.booleans())),
        Values(column.name, column.categories, draw(st.booleans())),
        OrdinalThreshold(column.name, column.categories, column.categories.index(category)),
    ]
    return draw(st.sampled_from(kinds))


@attrs.frozen
class Ramp(TestRule):
    """A fuzzy threshold: outcome 0 up to ``low``, outcome 1 from ``high`` on, both in shares
    that change evenly between.
    """

    tag: ClassVar[str] = "ramp"
    fuzzy: ClassVar[bool] = True
    column: str
    low: float
    high: float

    def degrees(self, table, rows):
        values = numbers(table, self.column, rows).astype(np.float64)
        above = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        return np.nan_to_num(np.stack([1.0 - above, above], axis=1))

    def degrees_of(self, row):
        if row[self.column] is None:
            return 0.0, 0.0
        above = min(max((row[self.column] - self.low) / (self.high - self.low), 0.0), 1.0)
        return 1.0 - above, above

    def outcome_label(self, outcome):
        return f"{'below' if outcome == 0 else 'above'} about {spell((self.low + self.high) / 2)}"


@st.composite
def trees(
    draw: st.DrawFn,
    table: Table,
    max_depth: int = 3,
    binary: bool = False,
    splits: bool = True,
    shares: bool = False,
) -> Tree:
    """A tree grown on ``table`` by random tests; its weights are those of the training rows.

    binary : only tests with two outcomes.
    splits : missing values may be split over branches.
    shares : all that schema 2 can say, too: tests that give degrees, surrogates, prices of
        branches.
    """
    rows = [(row, weight) for row, weight in enumerate(table.row_weights())]
    return plant_tree(
        _grow(draw, table, rows, max_depth, binary, splits, shares), bare_objects(table)
    )


def _grow(
    draw,
    table: Table,
    rows: list[tuple[int, float]],
    depth: int,
    binary: bool,
    splits: bool,
    shares: bool,
) -> Any:
    """A node with (row, weight) of what comes there, and what is drawn below it."""
    node = _node(table, rows)
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return node
    column = draw(st.sampled_from(table.columns))
    rule = draw(rules(column))
    if shares and column.kind is ColumnKind.continuous and draw(st.booleans()):
        low, high = sorted(
            draw(st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=2, unique=True))
        )
        rule = Ramp(column.name, low, high)
    if binary and rule.arity != 2:
        return node
    surrogates = []
    for _ in range(draw(st.integers(0, 2)) if shares else 0):
        other = draw(rules(draw(st.sampled_from(table.columns))))
        outcomes = st.lists(
            st.integers(-1, rule.arity - 1), min_size=other.arity, max_size=other.arity
        )
        surrogates.append((other, tuple(draw(outcomes))))
    parts: list[list[tuple[int, float]]] = [[] for _ in range(rule.arity)]
    lost = []
    for row, weight in rows:
        values = row_of(table, row)
        degrees = rule.degrees_of(values) if rule.fuzzy else ()
        outcome = -1 if rule.fuzzy else rule.outcome_of(values)
        for other, to in surrogates if outcome < 0 and not any(degrees) else ():
            outcome = (*to, -1)[other.outcome_of(values)] if outcome < 0 else outcome
        if any(degrees):
            for part, degree in zip(parts, degrees, strict=True):
                part += [(row, weight * degree)] if degree > 0 else []
        else:
            (lost if outcome < 0 else parts[outcome]).append((row, weight))
    filled = [k for k, part in enumerate(parts) if part]
    policies = [MISSING_STOPS, draw(st.integers(0, rule.arity - 1))] + (
        [MISSING_SPLITS] if splits and filled else []
    )
    policy = draw(st.sampled_from(policies))
    if policy >= 0:
        parts[policy] += lost
    elif policy == MISSING_SPLITS:
        mass = [sum(weight for _, weight in part) for part in parts]
        for k in filled:
            parts[k] = parts[k] + [(row, weight * mass[k] / sum(mass)) for row, weight in lost]
    if not any(parts):
        return node
    some = st.sampled_from([0.0, 1.0, 2.5])
    prices = (
        [draw(some) for _ in parts] if shares and draw(st.booleans()) else [draw(some)] * len(parts)
    )
    node.rule, node.missing_child, node.surrogates = rule, policy, surrogates
    node.price, node.branch_price = max(prices), prices
    node.children = [
        _grow(draw, table, part, depth - 1, binary, splits, shares) if part else None
        for part in parts
    ]
    return node


def _node(table: Table, rows: list[tuple[int, float]]) -> Any:
    from arboretum.engine.search.assemble import Grown

    target, whole = table.target, table.row_weights()
    if target.task is Task.regression:
        weights = np.sum(
            [np.array([w, w * target.values[r], w * target.values[r] ** 2]) for r, w in rows],
            axis=0,
        )
    else:
        weights = np.bincount(
            [target.codes[r] for r, _ in rows], [w for _, w in rows], len(target.classes)
        )
    return Grown(
        weights,
        sum(weight / whole[row] for row, weight in rows),
        mean_of(weights, target.task),
        float("nan"),
    )
