"""Small nodes of coded features: their whole subtree in one compiled call, instead of a turn of the loop per node.

The same idea as :mod:`arboretum.engine.search.subtree`, which serves raw columns; the loop remains for what
the plan refuses, and for nodes so large that its histograms are worth their price.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arboretum.engine.search.assemble import Grown
from arboretum.engine.search.coded import FAMILY
from arboretum.engine.search.contract import Cell
from arboretum.engine.search.compiled_criterion import TIE_TOLERANCE, CompiledCriterion
from arboretum.engine.search.plan import leaf_rule_of
from arboretum.engine.search.statistics import NO_ROWS, Statistics
from arboretum.engine.search.subtree import MOST_ENTRIES, MOST_ENTRIES_IN_TIME
from arboretum.engine.search.workspace import Workspace
from arboretum.interfaces.method import Problem
from arboretum.interfaces.stopping import LeafRule, Limits
from arboretum.kernels.coded_tree import FOUND_NAN, NO_ROOM
from arboretum.kernels.forest import grow_forest
from arboretum.model.encoded import Node
from arboretum.model.rules import TestRule

NODE_COST, COUNT_COST = 80e3, 1.0
"""Nanoseconds: the loop per node; the kernel per value and level.  They decide which way is taken, never what is
found."""

NO_LABELS, NO_NUMBERS = np.zeros(0, np.int32), np.zeros(0)
"""In place of the target that there is not."""


@attrs.frozen(eq=False)
class Layout:
    """Coded features as the kernel wants them, in the order in which ties are broken.

    column : int64[F], place of each feature in the code matrix (and among ``features``).   family, price_offset, owner
    : int64[F].   offset : int64[F + 1], bins.   has_missing : bool[F].   prices : float64[tests].
    owner : number of the raw column.
    """

    column: np.ndarray
    family: np.ndarray
    offset: np.ndarray
    has_missing: np.ndarray
    price_offset: np.ndarray
    prices: np.ndarray
    owner: np.ndarray

    @staticmethod
    def of(features: tuple[Any, ...], prices: np.ndarray) -> Layout:
        """Read it off the features of encoded objects.   prices : float64[tests]."""
        order = sorted(range(len(features)), key=lambda f: (features[f].position, f))
        chosen = [features[f] for f in order]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(f.column for f in chosen))}
        first = np.cumsum([0, *(f.n_tests for f in features)])
        return Layout(
            column=np.array(order, np.int64),
            family=np.array([FAMILY[f.family] for f in chosen], np.int64),
            offset=np.cumsum([0, *(f.n_bins + f.has_missing for f in chosen)], dtype=np.int64),
            has_missing=np.array([f.has_missing for f in chosen], np.bool_),
            price_offset=first[order].astype(np.int64),
            prices=np.array(prices, np.float64),
            owner=np.array([numbers[f.column] for f in chosen], np.int64),
        )

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        """In the order in which kernels take them."""
        return (
            self.column, self.family, self.offset, self.has_missing, self.price_offset, self.prices, self.owner
        )  # fmt: skip


def rules_and_levels(
    limits: Limits, rule: LeafRule, min_weight: float, total: float, allow_constant: bool, once: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(int64[7], float64[5]): what :mod:`arboretum.kernels.coded_tree` calls rules and levels."""
    rules = np.array(
        [
            -1 if limits.max_depth is None else limits.max_depth, max(1, limits.min_leaf), rule.min_split,
            allow_constant, once, limits.min_decrease is not None, rule.min_objects,
        ],
        np.int64,
    )  # fmt: skip
    return rules, np.array([min_weight, limits.min_decrease or 0.0, *rule.levels(total), total])


@attrs.define(eq=False)
class CodedSubtrees:
    """What stays the same over all subtrees of a growth."""

    space: Workspace
    scorer: CompiledCriterion
    limits: Limits
    most_entries: int
    _layout: Layout
    _rules: np.ndarray
    _levels: np.ndarray
    _one: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    _names: dict[tuple[int, int], TestRule] = attrs.field(factory=dict)

    @staticmethod
    def of(problem: Problem, space: Workspace, scorer: CompiledCriterion, timed: bool) -> CodedSubtrees:
        """For what :class:`~arboretum.engine.search.plan.Plan` finds fit.   timed : there is a deadline."""
        objects, limits, rule = problem.objects, problem.parts.limits(), leaf_rule_of(problem.parts)
        total = float(space.statistics.weight.sum())
        rules, levels = rules_and_levels(
            limits, rule, space.min_weight, total, space.allow_constant, space.prices.once_per_column
        )
        most = MOST_ENTRIES_IN_TIME if timed else MOST_ENTRIES
        layout = Layout.of(objects.features, space.prices.tests)
        addresses = (np.array([at], np.int64) for at in (scorer.batch, scorer.impurity_at, scorer.column_at))
        batch, impurity, column = addresses
        one = batch, scorer.params[None], impurity, column
        return CodedSubtrees(space, scorer, limits, most, layout, rules, levels, one)

    def takes(self, cell: Cell, node: Node) -> bool:
        """Whether the kernel is allowed, and expected to be faster."""
        entries = cell.size * len(self._layout.column)
        if entries > self.most_entries:
            return False
        divisions = node.count / max(1, self.limits.min_leaf)
        if not self.space.statistics.moments:
            divisions = min(divisions, int(node.counts.sum() - node.counts.max()))
        levels = 2 + math.log2(max(1.0, divisions))
        if self.limits.max_depth is not None:
            left = self.limits.max_depth - cell.depth
            levels, divisions = min(levels, left), min(divisions, 2.0 ** min(left, 60) - 1)
        return entries * levels * COUNT_COST <= divisions * NODE_COST

    def grow(self, cell: Cell, root: Grown, late: Callable[[], bool]) -> int:
        """Grow below ``root``; return how many nodes were divided, or −1 if the criterion broke its contract.

        late : not asked, because there is one call of the kernel and ``most_entries`` keeps it short.
        """
        space, stats = self.space, self.space.statistics
        start, measures = np.zeros(2, np.int64), np.empty((1, 8))
        rows = space.rows[cell.low : cell.high]
        # one type of codes and labels, writable as copies are: every combination would be compiled for many seconds
        codes = np.array(space.objects.codes[rows], np.uint16, order="C")
        target = (NO_LABELS, stats.y[rows]) if stats.moments else (stats.label[rows], NO_NUMBERS)
        each = stats.n_rows[rows] if len(stats.n_rows) else NO_ROWS
        room = 2 * cell.size
        while True:
            integers, floats = np.empty((5, room), np.int32), np.empty((3, room))
            weights, counts = np.empty((room, stats.width)), np.empty((room, stats.count_width), np.int64)
            n_rows = np.empty(room if len(each) else 0, np.int64)
            grow_forest(
                codes.reshape(-1), codes.shape[1], 1, *self._layout.arguments, cell.depth, *self._above(cell), *target,
                stats.weight[rows], stats.count[rows], stats.unit, each, self._rules, self._levels, *self._one,
                TIE_TOLERANCE, start, integers, floats, weights, counts, n_rows, measures,
            )  # fmt: skip
            n = int(start[1])
            if n != NO_ROOM:
                break
            room *= 4  # tests with one outcome make chains
        if n == FOUND_NAN:
            return -1
        return attach(
            root, integers[:, :n], floats[:, :n], weights[:n].copy(),
            n_rows[:n] if len(each) else counts[:n].sum(axis=1), stats, space.objects.features, self._layout, self._names,
        )[1]  # fmt: skip

    def _above(self, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
        """What the path to a node has asked: positions of tests, and of each feature whether its column is paid for."""
        column, features = self._layout.column, self.space.objects.features
        paid = np.zeros(len(column), np.bool_)
        if cell.asked:
            paid[:] = [features[f].column in cell.asked for f in column]
        return np.array(cell.used, np.int64), paid


def attach(
    root: Grown | None, integers: np.ndarray, floats: np.ndarray, weights: np.ndarray, count: np.ndarray,
    stats: Statistics, features: tuple[Any, ...], layout: Layout, names: dict[tuple[int, int], TestRule],
) -> tuple[Grown, int]:  # fmt: skip
    """Make the kernel's nodes nodes below ``root`` (None: a new one); return it and how many nodes have a test.

    integers : int32[5, nodes], floats : float64[3, nodes], weights : float64[nodes, width], as the kernel wrote them.
    count : int64[nodes], rows.   names : rules made before, kept over calls.
    """
    value = weights[:, 1] / weights[:, 0] + stats.shift if stats.moments else np.full(len(weights), math.nan)
    nodes = list(map(Grown, weights, count.tolist(), value.tolist(), floats[2].tolist()))
    if root is not None:
        nodes[0] = root
    feature, index, side, parent, branch = (row.tolist() for row in integers)
    mass = (weights[:, 0] if stats.moments else weights.sum(axis=1)).tolist()
    column, price, score = layout.column.tolist(), floats[0].tolist(), floats[1].tolist()
    heaviest = [-1.0] * len(nodes)
    inner = 0
    for v, f in enumerate(feature):
        if f >= 0:
            node, inner = nodes[v], inner + 1
            rule = names.get((f, index[v]))
            if rule is None:
                rule = names[f, index[v]] = features[column[f]].rule(index[v])
            node.rule, node.price, node.score = rule, price[v], score[v]
            node.children = [None] * rule.arity
            node.missing_child = side[v]
        if v > 0:
            above, o = parent[v], branch[v]
            nodes[above].children[o] = nodes[v]
            if side[above] < 0 and mass[v] > heaviest[above]:  # children come in the order of outcomes
                heaviest[above], nodes[above].missing_child = mass[v], o
    return nodes[0], inner
