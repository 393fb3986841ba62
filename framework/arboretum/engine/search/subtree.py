"""Small nodes: their whole subtree in one compiled call, instead of a turn of the loop per node.

The loop costs some 100 to 200 µs per node whatever its size; a subtree costs a sort of its raw columns and then a few µs per node.
Both give the same tree; the loop remains for what the plan refuses, and for coded nodes so large that its histograms are worth their price.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np

from arboretum.engine.search.assemble import Grown, Subtree
from arboretum.engine.search.coded import FAMILY
from arboretum.engine.search.compiled_criterion import TIE_TOLERANCE, CompiledCriterion
from arboretum.engine.search.contract import Cell
from arboretum.engine.search.plan import leaf_rule_of
from arboretum.engine.search.raw import gap_of, midpoints
from arboretum.engine.search.statistics import Statistics
from arboretum.engine.search.workspace import Workspace
from arboretum.interfaces.method import Problem
from arboretum.interfaces.stopping import LeafRule, Limits
from arboretum.kernels import runs
from arboretum.kernels import subtree as kernels
from arboretum.kernels.coded import COUNTED, NO_CODES, NO_RUNS, SORTED, Features
from arboretum.model.encoded import Encoded, Node, Prices
from arboretum.model.rules import TestRule

MOST_ENTRIES = 1 << 22  # values of a node from which on it is left to the loop: the kernel copies them, 8 to 24 bytes each

MOST_ENTRIES_IN_TIME = 1 << 17
"""The same when there is a deadline, which is not looked at inside the kernel: some 10 ms to sort them."""

MOST_WORK, MOST_WORK_IN_TIME = 1 << 62, 1 << 21
"""Values that one call of the kernel looks at, without and with a deadline.  A value costs 5 … 40 ns, so that
the deadline is passed by 0.1 s at most; a chain of 11,565 nodes took 38 s in one call."""

RAW_NODE_COST, COLUMN_COST, SORT_COST, DIVIDE_COST = 200e3, 1e3, 3.0, 8.0
NODE_COST, COUNT_COST = 80e3, 1.0
"""Nanoseconds: the loop per node with raw columns, and without, and per node and raw column; the kernel per value and doubling of the node, and per
value and level of raw columns, and of coded ones.  They decide which way is taken, never what is found."""

MOST_CODES = 32
"""Raw columns of at most so many values are counted, not sorted; moments are always summed along sorted columns, as the loop does it, since
the last digits of a small variance depend on the order."""

NO_LABELS, NO_NUMBERS = np.zeros(0, np.int32), np.zeros(0)  # in place of the target that there is not


def with_values(layout: Features, codes: np.ndarray, *sorted_ones: np.ndarray) -> Features:
    """A layout, which is features without values, together with the values.

    codes : uint16[n, columns], C or F order.   sorted_ones : order, reach, close of sorted columns.
    """
    by_row = codes.flags.c_contiguous
    order, reach, close = sorted_ones or NO_RUNS
    return layout._replace(
        codes=(codes if by_row else codes.T).reshape(-1), row_stride=codes.shape[1] if by_row else 1, column_stride=1 if by_row else len(codes),
        order=order, reach=reach, close=close,
    )  # fmt: skip


def rules_of(limits: Limits, rule: LeafRule, min_weight: float, total: float, once: bool, **more: bool) -> kernels.Rules:
    """What :class:`arboretum.kernels.subtree.Rules` says."""
    light, mixed = rule.levels(total)
    return kernels.Rules(
        max_depth=-1 if limits.max_depth is None else limits.max_depth, min_leaf=max(1, limits.min_leaf), min_weight=float(min_weight),
        min_split=rule.min_split, min_objects=rule.min_objects, light=float(light), mixed=float(mixed),
        bounded=limits.min_decrease is not None, least=float(limits.min_decrease or 0.0), allow_constant=more.get("allow_constant", False),
        once=once, total=total, corners=more.get("corners", False), max_cost=math.inf if limits.max_cost is None else float(limits.max_cost),
    )  # fmt: skip


@attrs.frozen(eq=False)
class Tests:
    """All features of a problem, coded ones first; ``order`` is that in which ties are broken.

    family, n_bins, price_offset : int64, has_missing : bool; by feature, of raw ones to be filled in.   column : the raw column's name, ``owner`` its number.
    prices : of tests, and behind them one for each raw column.
    """

    objects: Encoded
    order: np.ndarray
    family: np.ndarray
    n_bins: np.ndarray
    has_missing: np.ndarray
    price_offset: np.ndarray
    prices: np.ndarray
    column: tuple[str, ...]
    owner: np.ndarray

    @staticmethod
    def of(objects: Encoded, prices: Prices) -> Tests:
        coded, raw = objects.features, objects.raw_features
        both = (*coded, *raw)
        column = tuple(f.column for f in both)
        numbers = {name: i for i, name in enumerate(dict.fromkeys(column))}
        first = objects.test_offset
        integers = (
            sorted(range(len(both)), key=lambda f: (both[f].position, f)), [FAMILY[f.family] for f in coded] + [SORTED] * len(raw),
            [f.n_bins for f in coded] + [0] * len(raw), [f.has_missing for f in coded] + [False] * len(raw),
            [*first[:-1], *range(first[-1], first[-1] + len(raw))],
        )  # fmt: skip
        arrays = [np.array(each, np.int64) for each in integers]
        owner = np.array([numbers[name] for name in column], np.int64)
        return Tests(objects, *arrays, np.concatenate([prices.tests, prices.raw]).astype(np.float64), column, owner)

    def at(self, rows: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, Features, np.ndarray]:
        """For some objects: the features that are not constant (raw ones), how the kernel gets them, and the values of raw ones by rank."""
        objects, n = self.objects, len(rows)
        codes = np.asarray(objects.codes.T[:, rows], np.uint16, order="C")
        if not objects.raw_features:
            return self.order, with_values(self.coded, np.ascontiguousarray(codes).T), np.zeros((0, 0))
        values = np.ascontiguousarray(objects.raw.T[:, rows])
        order, distinct = np.empty(values.shape, np.uint64), np.empty_like(values)
        reach, found = np.empty(values.shape, np.int32), np.empty((len(values), 2), np.int64)
        bits = values.view(np.uint32 if values.itemsize == 4 else np.uint64)
        runs.rank_columns(values, bits, label, gap_of(values.dtype), order, distinct, reach, found)
        n_values, close = found[:, 0], found[:, 1] > 0
        few, n_coded = (n_values <= MOST_CODES) & ~close & (len(label) > 0), len(codes)
        missing = (order[:, -1] >> runs.TO_RANK) == runs.MISSING
        divides = np.where(missing & (n_values > 0), 2, n_values) > 1  # known and missing are two values
        counted = np.flatnonzero(few & divides)
        codes = np.concatenate([codes, np.empty((len(counted), n), np.uint16)])
        for own, f in zip(codes[n_coded:], counted):
            own[(order[f] & runs.OBJECT).view(np.int64)] = np.minimum(order[f] >> runs.TO_RANK, np.uint64(n_values[f]))
        sorted_ones = ~few
        if few.any():
            order, reach, close = order[sorted_ones], reach[sorted_ones], close[sorted_ones]
        column = np.where(few, n_coded + np.cumsum(few & divides) - 1, np.cumsum(sorted_ones) - 1)
        alive = self.order[np.concatenate([np.ones(n_coded, np.bool_), divides])[self.order]]
        layout = self._layout(
            alive, *(np.concatenate([own[:n_coded], more]) for own, more in (
                (self.family, np.where(few, COUNTED, SORTED)), (self.n_bins, np.where(few, n_values, 0)),
                (self.has_missing, few & missing), (np.arange(n_coded), column),
            )),
        )  # fmt: skip
        return alive, with_values(layout, codes.T, order, reach, close), distinct

    @property
    def coded(self) -> Features:
        """The layout where there are coded features alone."""
        return self._layout(self.order, self.family, self.n_bins, self.has_missing, np.arange(len(self.family)))

    def _layout(self, chosen: np.ndarray, family: np.ndarray, n_bins: np.ndarray, missing: np.ndarray, column: np.ndarray) -> Features:
        n_coded = len(self.objects.features)
        bins, missing = n_bins[chosen], missing[chosen].astype(np.bool_)
        first, prices = self.price_offset, self.prices
        if n_coded < len(family):  # the cuts of a counted raw column cost the same
            fixed = int(self.objects.test_offset[-1])
            each = np.maximum(1, n_bins[n_coded:])
            prices = np.concatenate([prices[:fixed], np.repeat(prices[fixed:], each)])
            first = np.concatenate([first[:n_coded], fixed + np.cumsum(each) - each])
        offset = np.concatenate([[0], np.cumsum(bins + missing)])
        own = column[chosen], family[chosen], offset, missing, first[chosen], prices, self.owner[chosen]
        return Features(*NO_CODES, *own, *NO_RUNS)

    def rule(self, feature: int, number: float) -> TestRule:
        """The test of a feature; ``number`` is its index, or its threshold."""
        coded = self.objects.features
        return coded[feature].rule(int(number)) if feature < len(coded) else self.objects.raw_features[feature - len(coded)].rule(number)


@attrs.define(eq=False)
class Subtrees:
    """What stays the same over all subtrees of a growth."""

    space: Workspace
    scorer: kernels.Scorer
    limits: Limits
    rules: kernels.Rules
    most_entries: int
    most_work: int
    tests: Tests

    @staticmethod
    def of(problem: Problem, space: Workspace, scorer: CompiledCriterion, timed: bool) -> Subtrees:
        """For what :class:`~arboretum.engine.search.plan.Plan` finds fit.   timed : there is a deadline."""
        limits, stats = problem.parts.limits(), space.statistics
        rules = rules_of(
            limits, leaf_rule_of(problem.parts), space.min_weight, float(stats.weight.sum()), space.prices.once_per_column,
            allow_constant=space.allow_constant, corners=scorer.concave and not stats.moments,
        )  # fmt: skip
        most, work = (MOST_ENTRIES_IN_TIME, MOST_WORK_IN_TIME) if timed else (MOST_ENTRIES, MOST_WORK)
        one = kernels.Scorer(scorer.batch, scorer.params, scorer.impurity_at, scorer.column_at, TIE_TOLERANCE, scorer.floor)
        return Subtrees(space, one, limits, rules, most, work, Tests.of(problem.objects, space.prices))

    def takes(self, cell: Cell, node: Node) -> bool:
        """Whether the kernel is allowed, and expected to be faster."""
        m, raw, coded = cell.size, len(self.tests.objects.raw_features), len(self.tests.objects.features)
        if m * (raw + coded) >= self.most_entries:
            return False
        divisions = node.count / max(1, self.limits.min_leaf, self.rules.min_split / 2)
        if self.rules.min_weight > 0.0:
            divisions = min(divisions, node.mass / self.rules.min_weight)
        if not self.space.statistics.moments:
            divisions = min(divisions, int(node.counts.sum() - node.counts.max()))
        levels = 2 + math.log2(max(1.0, divisions))
        if self.limits.max_depth is not None:
            left = self.limits.max_depth - cell.depth
            levels, divisions = min(levels, left), min(divisions, 2.0 ** min(left, 60) - 1)
        kernel = m * (raw * (SORT_COST * math.log2(m + 1) + DIVIDE_COST * levels) + coded * levels * COUNT_COST)
        return kernel <= divisions * (RAW_NODE_COST + COLUMN_COST * raw if raw else NODE_COST)

    def grow(self, cell: Cell, root: Grown, late: Callable[[], bool]) -> int:
        """Grow below ``root``; return how many nodes were divided, or −1 if the criterion broke its contract.

        late : asked between calls of the kernel, each of which ends soon where there is a deadline.
        """
        rows = self.space.rows[cell.low : cell.high]
        paid = np.array([name in cell.asked for name in self.tests.column], np.bool_)
        whole, waiting = self._call(rows, cell.depth, list(cell.used), paid, cell.paid)
        while waiting and not late():
            v, rows, depth = waiting.pop()
            more, below = self._call(rows, depth, *self._above(whole, v, cell, paid))
            if more is None:
                return -1
            waiting += [(u + len(whole.feature) - 1, *rest) for u, *rest in below]
            whole = whole.grafted(v, more)
        if whole is None:
            return -1
        root.below = whole
        return int(np.count_nonzero(whole.feature >= 0))

    def _above(self, whole: Subtree, v: int, cell: Cell, paid: np.ndarray) -> tuple[list[int], np.ndarray, float]:
        """What the path to an open node has asked: tests, as positions in the prices, of each feature whether its column is paid for, and
        what was paid in all."""
        used, paid, spent, tests = list(cell.used), paid.copy(), cell.paid, self.tests
        while v > 0:
            v = int(whole.parent[v])
            f, spent = int(whole.feature[v]), spent + float(whole.price[v])
            paid |= tests.owner == tests.owner[f]
            if f < len(tests.objects.features):
                used.append(int(tests.price_offset[f] + whole.number[v]))
        return used, paid, spent

    def _call(
        self, rows: np.ndarray, depth: int, used: list[int], paid: np.ndarray, spent: float
    ) -> tuple[Subtree | None, list[tuple[int, np.ndarray, int]]]:
        """One call of the kernel: what it grew, None if the criterion broke its contract; the nodes left open, with their rows and depths."""
        stats, room = self.space.statistics, 2 * len(rows)
        members = members_of(stats, rows)
        chosen, features, distinct = self.tests.at(rows, members.label)
        nodes = nodes_for(room, stats.width, stats.count_width, len(members.n_rows) > 0)
        here = np.arange(len(rows), dtype=np.int32)
        asked = np.zeros(len(features.prices) if self.rules.allow_constant else 0, np.bool_)
        if len(asked):
            asked[used] = True
        listed = features.prices if self.limits.max_cost is not None else np.zeros(0)
        features = features._replace(prices=features.prices.copy()) if len(listed) else features  # the kernel writes into them
        above = kernels.Above(depth, asked, paid[chosen], spent, listed)
        by_units = stats.unit and not stats.moments
        scratch = kernels.scratch_for(features, len(rows), stats.width, stats.count_width, by_units, int(self.scorer.column != 0))
        n, left = kernels.grow_subtree(features, here, self.most_work, above, members, self.rules, self.scorer, nodes, scratch)
        if n == kernels.FOUND_NAN:
            return None, []
        feature, number = tests_chosen(nodes, n, chosen, distinct, len(self.tests.objects.features))
        counts = nodes.n_rows[:n] if len(members.n_rows) else nodes.counts[:n].sum(axis=1)
        grown = Subtree(
            feature, number, nodes.side[:n], nodes.parent[:n], nodes.branch[:n], nodes.price[:n], nodes.score[:n], nodes.impurity[:n],
            nodes.weights[:n].copy(), counts, stats.shift if stats.moments else math.nan, self.tests.rule,
        )  # fmt: skip
        segments = ((v, *nodes.segment[v, :3].tolist()) for v in nodes.stack[:left].tolist())
        return grown, [(v, rows[here[low:high]], deep) for v, low, high, deep in segments]


def tests_chosen(nodes: kernels.Nodes, n: int, chosen: np.ndarray, distinct: np.ndarray, n_coded: int) -> tuple[np.ndarray, np.ndarray]:
    """The features of what a kernel grew, and what tells their tests apart, a threshold for raw columns; arguments of :meth:`Tests.at`."""
    feature, number = nodes.feature[:n], nodes.index[:n].astype(np.float64)
    feature = np.where(feature >= 0, chosen[feature] if len(chosen) else 0, -1)
    cut = np.flatnonzero(feature >= n_coded)
    after_all = nodes.beyond[cut] >= int(runs.MISSING)
    ranks = np.stack([nodes.index[cut], np.where(after_all, 0, nodes.beyond[cut])])
    edges = distinct[feature[cut] - n_coded, ranks] if len(cut) else np.zeros((2, 0))
    number[cut] = np.where(after_all, np.inf, midpoints(edges.T))
    return feature, number


def members_of(stats: Statistics, rows: np.ndarray) -> kernels.Members:
    """What is added up over some objects: copies, of one type of labels, so that one kernel serves all."""
    target = (NO_LABELS, stats.y[rows]) if stats.moments else (stats.label[rows], NO_NUMBERS)
    return kernels.Members(*target, stats.weight[rows], stats.count[rows], stats.unit, stats.n_rows[rows] if len(stats.n_rows) else np.zeros(0, np.int64))


def nodes_for(room: int, width: int, count_width: int, by_rows: bool) -> kernels.Nodes:
    integers, floats = np.empty((6, room), np.int32), np.empty((3, room))
    return kernels.Nodes(
        *integers, *floats, np.empty((room, width)), np.empty((room, count_width), np.int64), np.empty(room if by_rows else 0, np.int64),
        np.empty((room, 5), np.int64), np.empty(room, np.int32),
    )  # fmt: skip
