"""Small nodes, where there are raw columns: their whole subtree in one compiled call, instead of a turn of the loop per node.

The loop costs some 200 µs per node whatever its size; a subtree costs a sort of its columns and then a few µs per node.
Both give the same tree; the loop remains for everything that the plan refuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arboretum.engine.search.assemble import Grown
from arboretum.engine.search.contract import Cell
from arboretum.engine.search.histograms import flat_memory
from arboretum.engine.search.compiled_criterion import TIE_TOLERANCE, CompiledCriterion
from arboretum.engine.search.plan import leaf_rule_of
from arboretum.engine.search.raw import gap_of, midpoints
from arboretum.engine.search.workspace import Workspace
from arboretum.interfaces.method import Problem
from arboretum.interfaces.stopping import Limits
from arboretum.kernels import subtree as kernels
from arboretum.model.encoded import Encoded, Family, Node, Prices
from arboretum.model.rules import TestRule
from arboretum.model.table import frozen_array

MOST_ENTRIES = 1 << 22
"""Values of a node beyond which it is left to the loop: the kernel copies them, eight to twelve bytes each."""

MOST_ENTRIES_IN_TIME = 1 << 17
"""The same when there is a deadline, which is not looked at inside the kernel: some 10 ms to sort them."""

MOST_WORK, MOST_WORK_IN_TIME = 1 << 62, 1 << 21
"""Values that one call of the kernel looks at, without and with a deadline.  A value costs 10 … 40 ns, so that
the deadline is passed by 0.1 s at most; a chain of 11,565 nodes took 38 s in one call."""

NODE_COST, COLUMN_COST, SORT_COST, DIVIDE_COST = 200e3, 1e3, 3.0, 8.0
"""Nanoseconds: the loop per node, and per node and column; the kernel per value and doubling of the node, and per value
and level.  They decide which way is taken, never what is found."""


@attrs.frozen(eq=False)
class TestColumns:
    """Columns of numbers whose cuts are the tests, in the order in which ties are broken: raw columns, codes that thresholds
    divide, and of codes that are asked one by one a column each, 0 where the code is that one and 1 elsewhere.

    feature : int64[columns], place among ``objects.features``, or among ``objects.raw_features`` where ``raw``.
    code : int64[columns], the code that is asked, −1 for cuts between numbers.   owner : int64[columns], raw column.
    names : of the raw columns.   price : float64[columns].
    """

    objects: Encoded
    raw: np.ndarray
    feature: np.ndarray
    code: np.ndarray
    owner: np.ndarray
    names: tuple[str, ...]
    price: np.ndarray

    @staticmethod
    def of(objects: Encoded, prices: Prices) -> TestColumns:
        """Features in the order of the raw table.   prices : of equal numbers within a feature of thresholds."""
        found = [(f.position, True, i, -1, f.column, prices.raw[i]) for i, f in enumerate(objects.raw_features)]
        for i, (f, first) in enumerate(zip(objects.features, objects.test_offset)):
            for code in range(f.n_bins) if f.family is Family.equals else (-1,) if f.n_tests else ():
                found.append((f.position, False, i, code, f.column, prices.tests[first + max(0, code)]))
        found.sort()
        names = tuple(dict.fromkeys(column for *_, column, _ in found))
        _, raw, feature, code, column, price = zip(*found)
        integers = (np.array(each, np.int64) for each in (feature, code, [names.index(name) for name in column]))
        return TestColumns(objects, np.array(raw), *integers, names, np.array(price, np.float64))

    @property
    def as_raw(self) -> bool:
        """Whether they are the raw columns as they stand."""
        return bool(self.raw.all() and (np.diff(self.feature) > 0).all())

    def values(self, rows: np.ndarray) -> np.ndarray:
        """float[columns, len(rows)], of the type of the raw columns, NaN = missing."""
        out = np.empty((len(self.feature), len(rows)), self.objects.raw.dtype)
        for own, raw, f, code in zip(out, self.raw, self.feature, self.code):
            codes = self.objects.raw[rows, f] if raw else self.objects.codes[rows, f]
            own[:] = codes if code < 0 else codes != code
            if not raw:
                own[codes >= self.objects.features[f].n_bins] = np.nan
        return out

    def rule(self, column: int, low: float, threshold: float) -> TestRule:
        """The test of a cut.   low : the number before it."""
        f, code = self.feature[column], int(self.code[column])
        if self.raw[column]:
            return self.objects.raw_features[f].rule(threshold)
        return self.objects.features[f].rule(int(low) if code < 0 else code)

    def prices_after(self, asked: frozenset[str]) -> np.ndarray:
        """float64[columns], where asked columns are free."""
        return np.where([self.names[o] in asked for o in self.owner], 0.0, self.price) if asked else self.price


@attrs.define(eq=False)
class Subtrees:
    """What stays the same over all subtrees of a growth."""

    space: Workspace
    scorer: CompiledCriterion
    limits: Limits
    min_split: int
    total_mass: float
    most_entries: int
    most_work: int
    _tests: TestColumns
    _flat: np.ndarray
    _strides: tuple[int, int]

    @staticmethod
    def of(problem: Problem, space: Workspace, scorer: CompiledCriterion, timed: bool) -> Subtrees:
        """For what :class:`~arboretum.engine.search.plan.Plan` finds fit.   timed : there is a deadline."""
        objects, limits, rule = problem.objects, problem.parts.limits(), leaf_rule_of(problem.parts)
        flat, *strides = flat_memory(objects.raw)
        most, work = (MOST_ENTRIES_IN_TIME, MOST_WORK_IN_TIME) if timed else (MOST_ENTRIES, MOST_WORK)
        total = float(space.statistics.weight.sum())
        tests = TestColumns.of(objects, space.prices)
        return Subtrees(space, scorer, limits, rule.min_split, total, most, work, tests, flat, (strides[0], strides[1]))

    def takes(self, cell: Cell, node: Node) -> bool:
        """Whether the kernel is allowed, and expected to be faster."""
        m, columns = cell.size, len(self._tests.feature)
        if m * columns > self.most_entries:
            return False
        divisions = node.count / max(1, self.limits.min_leaf, self.min_split / 2)
        if self.space.min_weight > 0.0:
            divisions = min(divisions, node.mass / self.space.min_weight)
        if not self.space.statistics.moments:
            divisions = min(divisions, node.count - int(node.counts.max()))
        levels = 2 + math.log2(max(1.0, divisions))
        if self.limits.max_depth is not None:
            left = self.limits.max_depth - cell.depth
            levels, divisions = min(levels, left), min(divisions, 2.0 ** min(left, 60) - 1)
        kernel = m * columns * (SORT_COST * math.log2(m + 1) + DIVIDE_COST * levels)
        return kernel <= divisions * (NODE_COST + COLUMN_COST * columns)

    def grow(self, cell: Cell, root: Grown, late: Callable[[], bool]) -> int:
        """Grow below ``root``; return how many nodes were divided, or −1 if the criterion returned NaN.

        late : asked between calls of the kernel, each of which ends soon where there is a deadline.
        """
        waiting = [(self.space.rows[cell.low : cell.high], cell.depth, cell.asked, root)]
        divided = 0
        while waiting and not (divided and late()):
            rows, depth, asked, top = waiting.pop()
            found = self._call(rows, depth, asked)
            if found is None:
                return -1
            nodes, inner = found.attach(top, self.space, self._tests)
            divided += inner
            once = self._tests if self.space.prices.once_per_column else None
            waiting += [(*found.open_node(v, rows, asked, once), nodes[v]) for v in found.left_open.tolist()]
        return divided

    def _call(self, rows: np.ndarray, depth: int, asked: frozenset[str]) -> Found | None:
        """One call of the kernel; None if the criterion returned NaN."""
        space, stats, scorer, limits = self.space, self.space.statistics, self.scorer, self.limits
        room, dtype = 2 * len(rows), self._flat.dtype
        target = (stats.label, stats.y[rows]) if stats.moments else (stats.short_label[rows], stats.y)
        objects = kernels.Objects(*target, stats.weight[rows], stats.count[rows], stats.unit)
        members = np.arange(len(rows), dtype=np.int32)
        once, tests = space.prices.once_per_column, self._tests
        table = kernels.Values(self._flat, *self._strides, rows)
        if not tests.as_raw:
            table = kernels.Values(frozen_array(tests.values(rows).reshape(-1)), 1, len(rows), members.copy())
        charges = kernels.Charges(tests.prices_after(asked if once else frozenset()), tests.owner, once)
        rules = kernels.Rules(
            -1 if limits.max_depth is None else limits.max_depth, space.min_leaf, space.min_weight, self.min_split,
            limits.min_decrease is not None, limits.min_decrease or 0.0, gap_of(dtype), scorer.concave and not stats.moments,
        )  # fmt: skip
        criterion = kernels.Criterion(
            scorer.batch, scorer.params, scorer.impurity_at, TIE_TOLERANCE, stats.width, self.total_mass
        )
        nodes = kernels.Nodes(
            feature=np.empty(room, np.int32), child=np.empty((room, 2), np.int32), side=np.empty(room, np.int32),
            edges=np.empty((room, 2), dtype), score=np.empty(room), paid=np.empty(room), weights=np.empty((room, stats.width)),
            counts=np.empty((room, stats.count_width), np.int64), impurity=np.empty(room), segment=np.empty((room, 5), np.int64),
            stack=np.empty(room, np.int32),
        )  # fmt: skip
        n, left = kernels.grow_subtree(table, objects, charges, rules, criterion, members, depth, self.most_work, nodes)
        if n == kernels.FOUND_NAN:
            return None
        found = {name: getattr(nodes, name)[:n] for name in ("feature", "child", "side", "edges", "score", "paid", "weights")}
        return Found(
            **found, count=nodes.counts[:n].sum(axis=1), impurity=nodes.impurity[:n], segment=nodes.segment[:n], members=members,
            left_open=nodes.stack[:left].copy(),
        )  # fmt: skip


@attrs.frozen(eq=False)
class Found:
    """The kernel's nodes: see :func:`arboretum.kernels.subtree.grow_subtree`."""

    feature: np.ndarray
    child: np.ndarray
    side: np.ndarray
    edges: np.ndarray
    score: np.ndarray
    paid: np.ndarray
    weights: np.ndarray
    count: np.ndarray
    impurity: np.ndarray
    segment: np.ndarray
    members: np.ndarray
    left_open: np.ndarray

    def open_node(self, v: int, rows: np.ndarray, asked: frozenset[str], tests: TestColumns | None) -> tuple[Any, ...]:
        """Rows, depth and columns asked on the path of a node that the kernel left open.   tests : None: nobody asks which."""
        low, high, depth = self.segment[v, :3].tolist()
        below = rows[self.members[low:high]]
        if tests is None:
            return below, depth, asked
        inner = np.flatnonzero(self.feature >= 0)
        parent = dict(zip(self.child[inner].ravel().tolist(), np.repeat(inner, 2).tolist(), strict=True))
        columns, up = set(asked), v
        while up in parent:
            up = parent[up]
            columns.add(tests.names[tests.owner[self.feature[up]]])
        return below, depth, frozenset(columns)

    def attach(self, root: Grown, space: Workspace, tests: TestColumns) -> tuple[list[Grown], int]:
        """Make them nodes below ``root``; return them, and how many have a test."""
        stats = space.statistics
        weights = self.weights.copy()
        value = weights[:, 1] / weights[:, 0] + stats.shift if stats.moments else np.full(len(weights), math.nan)
        nodes = list(map(Grown, weights, self.count.tolist(), value.tolist(), self.impurity.tolist()))
        nodes[0] = root
        inner = np.flatnonzero(self.feature >= 0)
        child = self.child[inner]
        mass = weights[:, 0] if stats.moments else weights.sum(axis=1)
        heavier = np.where(mass[child[:, 0]] >= mass[child[:, 1]], 0, 1)
        follows = np.where(self.side[inner] >= 0, self.side[inner], heavier)
        columns: tuple[Any, ...] = (
            inner, self.feature[inner], self.edges[inner, 0], midpoints(self.edges[inner]), child[:, 0], child[:, 1], follows, self.paid[inner],
            self.score[inner],
        )  # fmt: skip
        for v, f, low, threshold, left, right, missing, paid, score in zip(*(c.tolist() for c in columns), strict=True):
            node = nodes[v]
            node.rule = tests.rule(f, low, threshold)
            node.children = [nodes[left], nodes[right]]
            node.missing_child, node.price, node.score = missing, paid, score
        return nodes, len(inner)
