"""Small nodes: their whole subtree in one compiled call, instead of a turn of the loop per node; by
shares the whole tree.

The loop costs some 100 to 200 µs per node whatever its size; a subtree costs a sort of its raw
columns and then a few µs per node. Both give the same tree; the loop remains for what the plan
refuses, and for coded nodes so large that its histograms are worth their price.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np

from arboretum.engine.search.assemble import Grown, Subtree
from arboretum.engine.search.coded import FAMILY
from arboretum.engine.search.compiled_criterion import (
    TIE_TOLERANCE,
    CompiledCriterion,
    compile_kernel,
    numeric_fields,
)
from arboretum.engine.search.contract import Cell, Part
from arboretum.engine.search.plan import combine_leaf_rules
from arboretum.engine.search.raw import gap_of
from arboretum.engine.search.statistics import Statistics
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import sure
from arboretum.interfaces.method import Parts, Problem
from arboretum.interfaces.missing import SHARED, Missing
from arboretum.interfaces.stopping import Limits
from arboretum.kernels import fractional, runs, subtree as kernels
from arboretum.kernels.class_sums import Sums
from arboretum.kernels.coded import COUNTED, NO_CODES, NO_RUNS, SORTED, Features
from arboretum.model.encoded import Encoded, Node, Prices
from arboretum.model.rules import TestRule, midpoints
from arboretum.model.tree import MISSING_SPLITS

# values of a node from which on it is left to the loop: the kernel copies them, 8 to 24 bytes each
MOST_ENTRIES = 1 << 22

MOST_ENTRIES_IN_TIME = 1 << 17
"""The same when there is a deadline, which is not looked at inside the kernel: some 10 ms to
sort them.
"""

MOST_WORK, MOST_WORK_IN_TIME = 1 << 62, 1 << 21
"""Values that one call of the kernel looks at, without and with a deadline.  A value costs 5 … 40
ns, so that the deadline is passed by 0.1 s at most; a chain of 11,565 nodes took 38 s in one call.
"""

RAW_NODE_COST, COLUMN_COST, SORT_COST, SPLIT_COST = 200e3, 1e3, 3.0, 8.0
NODE_COST, COUNT_COST = 80e3, 1.0
"""Nanoseconds: the loop per node with raw columns, and without, and per node and raw column; the
kernel per value and doubling of the node, and per value and level of raw columns, and of coded
ones.  They decide which way is taken, never what is found.
"""

MOST_CODES = 32
"""Raw columns of at most so many values are counted, not sorted; moments are always summed along
sorted columns, as the loop does it, since the last digits of a small variance depend on the order.
"""

MOST_COUNTS = 128
"""Entries of a column's counts up to which it is counted where cuts are scored by sums, which takes
a row of a sorted column a dozen nanoseconds whatever the number of classes.
"""

# in place of the target that there is not
NO_LABELS, NO_NUMBERS = np.zeros(0, np.int32), np.zeros(0)


def with_values(layout: Features, codes: np.ndarray, *sorted_ones: np.ndarray) -> Features:
    """Return a layout, which is features without values, together with the values.

    codes : uint16[n, columns], C or F order.
    sorted_ones : order, reach, close of sorted columns.
    """
    by_row = codes.flags.c_contiguous
    order, reach, close = sorted_ones or NO_RUNS
    return layout._replace(
        codes=(codes if by_row else codes.T).reshape(-1),
        row_stride=codes.shape[1] if by_row else 1,
        column_stride=1 if by_row else len(codes),
        order=order,
        reach=reach,
        close=close,
    )


def make_subtree_rules(
    parts: Parts, min_weight: float, total: float, once: bool, **more: bool
) -> kernels.SubtreeRules:
    """Return the limits and leaf rules of a run as :class:`arboretum.kernels.subtree.SubtreeRules`.

    min_weight : weight that a branch needs; 0: any.   total : weight of all objects.
    once : columns that were asked above are free.
    more : ``allow_constant``, tests with one outcome compete too; ``vertices``, bins may be bounded
        by their vertices.  False where left out.
    """
    limits, rule, judge = (
        parts.limits(),
        sure(combine_leaf_rules(parts)),
        next((rule for rule in parts.stopping if hasattr(rule, "significance")), None),
    )
    kernel, each = judge.significance() if judge else (None, False)
    light, mixed = rule.levels(total)
    return kernels.SubtreeRules(
        max_depth=-1 if limits.max_depth is None else limits.max_depth,
        min_leaf=max(1, limits.min_leaf),
        min_weight=float(min_weight),
        min_split=rule.min_split,
        min_objects=rule.min_objects,
        light=float(light),
        mixed=float(mixed),
        bounded=limits.min_decrease is not None,
        least=float(limits.min_decrease or 0.0),
        allow_constant=more.get("allow_constant", False),
        once=once,
        total=total,
        vertices=more.get("vertices", False),
        max_cost=math.inf if limits.max_cost is None else float(limits.max_cost),
        significance=compile_kernel(kernel, "criterion", judge),
        own=numeric_fields(judge),
        each=each,
    )


@attrs.frozen(eq=False)
class Tests:
    """All features of a problem, coded ones first; ``order`` is that in which ties are broken.

    family, n_bins, price_offset : int64, has_missing : bool; by feature, of raw ones to be filled
        in.
    column : the raw column's name, ``owner`` its number.
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
        """Read them off encoded objects and the price list of the root."""
        coded, raw = objects.features, objects.raw_features
        both = objects.all_features
        column = tuple(f.column for f in both)
        numbers = {name: i for i, name in enumerate(dict.fromkeys(column))}
        first = objects.test_offset
        integers = (
            sorted(range(len(both)), key=lambda f: (both[f].position, f)),
            [FAMILY[f.family] for f in coded] + [SORTED] * len(raw),
            [f.n_bins for f in coded] + [0] * len(raw),
            [f.has_missing for f in coded] + [False] * len(raw),
            [*first[:-1], *range(first[-1], first[-1] + len(raw))],
        )
        order, family, n_bins, has_missing, offset = (np.array(each, np.int64) for each in integers)
        owner = np.array([numbers[name] for name in column], np.int64)
        return Tests(
            objects=objects,
            order=order,
            family=family,
            n_bins=n_bins,
            has_missing=has_missing,
            price_offset=offset,
            prices=np.concatenate([prices.tests, prices.raw]).astype(np.float64),
            column=column,
            owner=owner,
        )

    def layout_at(
        self, rows: np.ndarray, label: np.ndarray, most_codes: int
    ) -> tuple[np.ndarray, Features, np.ndarray]:
        """Return for some objects: the features that are not constant (raw ones), how the kernel
        gets them, and the values of raw ones by rank.

        rows : int[k], the objects.
        label : int32[k], or empty.
        most_codes : values up to which a raw column is counted.
        """
        objects, n = self.objects, len(rows)
        codes = np.asarray(objects.codes.T[:, rows], np.uint16, order="C")
        if not objects.raw_features:
            return (
                self.order,
                with_values(self.coded, np.ascontiguousarray(codes).T),
                np.zeros((0, 0)),
            )
        values = np.ascontiguousarray(objects.raw.T[:, rows])
        order, distinct = np.empty(values.shape, np.uint64), np.empty_like(values)
        reach, found = np.empty(values.shape, np.int32), np.empty((len(values), 2), np.int64)
        bits = values.view(np.uint32 if values.itemsize == 4 else np.uint64)
        runs.rank_columns(values, bits, label, gap_of(objects), order, distinct, reach, found)
        n_values, close = found[:, 0], found[:, 1] > 0
        few, n_coded = (n_values <= most_codes) & ~close & (len(label) > 0), len(codes)
        missing = (order[:, -1] >> runs.TO_RANK) == runs.MISSING
        # known and missing are two values
        splitting = np.where(missing & (n_values > 0), 2, n_values) > 1
        counted = np.flatnonzero(few & splitting)
        codes = np.concatenate([codes, np.empty((len(counted), n), np.uint16)])
        if len(counted):
            ranks = np.minimum(
                order[counted] >> runs.TO_RANK, n_values[counted, None].astype(np.uint64)
            )
            np.put_along_axis(
                codes[n_coded:], (order[counted] & runs.OBJECT).view(np.int64), ranks, axis=1
            )
        sorted_ones = ~few
        if few.any():
            order, reach, close = order[sorted_ones], reach[sorted_ones], close[sorted_ones]
        column = np.where(few, n_coded + np.cumsum(few & splitting) - 1, np.cumsum(sorted_ones) - 1)
        alive = self.order[np.concatenate([np.ones(n_coded, np.bool_), splitting])[self.order]]
        layout = self._make_layout(
            alive,
            *(
                np.concatenate([own[:n_coded], more])
                for own, more in (
                    (self.family, np.where(few, COUNTED, SORTED)),
                    (self.n_bins, np.where(few, n_values, 0)),
                    (self.has_missing, few & missing),
                    (np.arange(n_coded), column),
                )
            ),
        )
        return alive, with_values(layout, codes.T, order, reach, close), distinct

    @property
    def coded(self) -> Features:
        """The layout where there are coded features alone."""
        return self._make_layout(
            self.order, self.family, self.n_bins, self.has_missing, np.arange(len(self.family))
        )

    def _make_layout(
        self,
        chosen: np.ndarray,
        family: np.ndarray,
        n_bins: np.ndarray,
        missing: np.ndarray,
        column: np.ndarray,
    ) -> Features:
        """Return the layout of the chosen features; the other arguments are by feature.

        chosen, family, n_bins, column : int64.
        missing : bool.
        """
        n_coded = len(self.objects.features)
        bins, missing = n_bins[chosen], missing[chosen].astype(np.bool_)
        first, prices = self.price_offset, self.prices
        if n_coded < len(family):  # the cuts of a counted raw column cost the same
            fixed = self.objects.n_fixed
            each = np.maximum(1, n_bins[n_coded:])
            prices = np.concatenate([prices[:fixed], np.repeat(prices[fixed:], each)])
            first = np.concatenate([first[:n_coded], fixed + np.cumsum(each) - each])
        offset = np.concatenate([[0], np.cumsum(bins + missing)])
        own = (
            column[chosen],
            family[chosen],
            offset,
            missing,
            first[chosen],
            prices,
            self.owner[chosen],
        )
        return Features(*NO_CODES, *own, *NO_RUNS)

    def rule(self, feature: int, number: float) -> TestRule:
        """Return the test of a feature; ``number`` is its index, or its threshold."""
        coded = self.objects.features
        return (
            coded[feature].rule(int(number))
            if feature < len(coded)
            else self.objects.raw_features[feature - len(coded)].rule(number)
        )


@attrs.define(eq=False)
class Subtrees:
    """What stays the same over all subtrees of a growth.

    missing : the rule by which it goes by fractions of rows, else None.
    """

    space: Workspace
    scorer: kernels.SubtreeScorer
    limits: Limits
    rules: kernels.SubtreeRules
    most_entries: int
    most_work: int
    tests: Tests
    missing: Missing | None
    sums: Callable[[int], Sums]
    most_codes: int

    @staticmethod
    def of(problem: Problem, space: Workspace, scorer: CompiledCriterion, timed: bool) -> Subtrees:
        """Prepare growth by the kernel, for what :class:`~arboretum.engine.search.plan.Plan` finds
        fit.

        timed : there is a deadline.
        """
        limits, stats, parts = problem.parts.limits(), space.statistics, problem.parts
        rules = make_subtree_rules(
            parts,
            space.min_weight,
            float(stats.weight.sum()),
            space.prices.once_per_column,
            allow_constant=space.allow_constant,
            vertices=scorer.concave and not stats.moments,
        )
        most, work = (
            (MOST_ENTRIES_IN_TIME, MOST_WORK_IN_TIME) if timed else (MOST_ENTRIES, MOST_WORK)
        )
        codes = (
            min(MOST_CODES, MOST_COUNTS // stats.width)
            if scorer.sum_form and not parts.fractional_rows
            else MOST_CODES
        )
        one = kernels.SubtreeScorer(
            scorer.batch,
            scorer.params,
            scorer.impurity_at,
            scorer.column_at,
            TIE_TOLERANCE,
            scorer.floor,
        )
        tests = Tests.of(problem.objects, space.prices)
        missing = parts.missing if parts.fractional_rows else None
        return Subtrees(
            space=space,
            scorer=one,
            limits=limits,
            rules=rules,
            most_entries=most,
            most_work=work,
            tests=tests,
            missing=missing,
            sums=scorer.sums,
            most_codes=codes,
        )

    def takes(self, cell: Cell, node: Node) -> bool:
        """Return whether the kernel may grow a node's subtree, and is expected to be faster; by
        fractions of rows it grows whole trees, and where tests have surrogates none.
        """
        if self.missing is not None:
            return cell.depth == 0 and not hasattr(self.missing, "surrogates")
        m = cell.size
        raw = len(self.tests.objects.raw_features)
        coded = len(self.tests.objects.features)
        if m * (raw + coded) >= self.most_entries:
            return False
        splits = node.count / max(1, self.limits.min_leaf, self.rules.min_split / 2)
        if self.rules.min_weight > 0.0:
            splits = min(splits, node.mass / self.rules.min_weight)
        if not self.space.statistics.moments:
            splits = min(splits, int(node.counts.sum() - node.counts.max()))
        levels = 2 + math.log2(max(1.0, splits))
        if self.limits.max_depth is not None:
            left = self.limits.max_depth - cell.depth
            levels, splits = min(levels, left), min(splits, 2.0 ** min(left, 60) - 1)
        kernel = m * (
            raw * (SORT_COST * math.log2(m + 1) + SPLIT_COST * levels) + coded * levels * COUNT_COST
        )
        return kernel <= splits * (RAW_NODE_COST + COLUMN_COST * raw if raw else NODE_COST)

    def grow(self, cell: Cell, root: Grown, late: Callable[[], bool]) -> int:
        """Grow below ``root``; return how many nodes were divided, or −1 if the criterion broke
        its contract.
        """
        root.below = self.grow_arrays(cell, self.rules, late)
        return -1 if root.below is None else int(np.count_nonzero(root.below.feature >= 0))

    def grow_arrays(
        self, cell: Cell, rules: kernels.SubtreeRules, late: Callable[[], bool]
    ) -> Subtree | None:
        """Return what hangs below a node, by shares one with ``who`` and ``share``; None if the
        criterion broke its contract.

        rules : those of the growth, or with another ``max_depth``.
        late : asked between calls of the kernel, each of which ends soon where there is a deadline.
        """
        stats, limits, shared = self.space.statistics, self.limits, isinstance(cell, Part)
        rows = cell.who if isinstance(cell, Part) else self.space.rows[cell.low : cell.high]
        members, n = copy_members(stats, rows), len(rows)
        chosen, features, distinct = self.tests.layout_at(rows, members.label, self.most_codes)
        asked = np.zeros(len(features.prices) if rules.allow_constant else 0, np.bool_)
        if len(asked):
            asked[list(cell.used)] = True
        listed = features.prices if limits.max_cost is not None else np.zeros(0)
        # the kernel writes into them
        features = features._replace(prices=features.prices.copy()) if len(listed) else features
        paid = np.array([self.tests.column[f] in cell.asked for f in chosen.tolist()], np.bool_)
        above = kernels.Above(cell.depth, asked, paid, cell.path_cost, listed)
        most = max([2, *np.diff(features.offset).tolist()])
        parts = (
            self.allocate_fractions(chosen, most, cell.share) if isinstance(cell, Part) else None
        )
        nodes = self._allocate_nodes(2 * n + most + 1, shared)
        by_units = stats.unit and not stats.moments
        sums = None if shared else self.sums(n)
        own_columns = int(self.scorer.column != 0)
        scratch = kernels.scratch_for(
            features, n, stats.width, stats.count_width, by_units, own_columns, shared, sums
        )
        here, progress = np.arange(n, dtype=np.int32), np.zeros(2, np.int64)
        if parts is not None and sure(self.missing).kernel == "splits":
            features, here, parts, scratch = _enlarge_memory(features, here, parts, scratch, 3 * n)
        grow, bins = kernels.grow_subtree, None if shared else scratch.bins
        while (
            end := grow(
                features,
                here,
                parts,
                bins,
                self.most_work,
                above,
                members,
                rules,
                self.scorer,
                nodes,
                scratch,
                progress,
            )
        ) != kernels.DONE:
            if end == kernels.FOUND_NAN:
                return None
            if end == kernels.LATE and late():
                break
            if end == kernels.NO_ROOM:
                nodes = kernels.Nodes(
                    *(np.resize(array, (2 * len(array), *array.shape[1:])) for array in nodes)
                )
                if parts is not None:
                    features, here, parts, scratch = _enlarge_memory(
                        features, here, parts, scratch, 2 * len(here)
                    )
        return self._to_subtree(nodes, int(progress[0]), chosen, distinct, len(members.n_rows) > 0)

    def _allocate_nodes(self, room: int, shared: bool) -> kernels.Nodes:
        """Return memory for ``room`` nodes.

        shared : their objects are there by shares, so that counts are no whole numbers.
        """
        stats = self.space.statistics
        arrays = [
            *np.empty((6, room), np.int32),
            *np.empty((3, room)),
            np.empty((room, stats.width)),
            np.empty((room, stats.count_width), np.float64 if shared else np.int64),
            np.empty(room if len(stats.n_rows) else 0, np.int64),
            np.empty((room, 5), np.int64),
            np.empty(room, np.int32),
        ]
        return kernels.Nodes(*arrays)

    def allocate_fractions(
        self, chosen: np.ndarray, most: int, share: np.ndarray
    ) -> fractional.Fractions:
        """Return memory for growth on fractional rows.

        chosen : int64, features that compete.
        most : outcomes, or bins of a feature.
        share : float64[n], of each object.
        """
        stats, coded, n = self.space.statistics, self.space.objects.features, len(share)
        forms = np.array(
            [
                f >= len(coded) or coded[f].rule(0).with_missing() is not None
                for f in chosen.tolist()
            ],
            np.bool_,
        )
        rows = fractional.FIRST + most + 1
        sums = fractional.Sums(
            np.empty((rows, stats.width)),
            np.empty((rows, stats.count_width)),
            np.empty((rows, stats.count_width), np.int64),
        )
        of_object = np.empty(n)
        weight, count = (of_object, of_object) if stats.unit else np.empty((2, n))
        return fractional.Fractions(
            SHARED.index(sure(self.missing).kernel),
            forms,
            self.scorer.impurity,
            share.copy(),
            of_object,
            weight,
            count,
            sums,
            np.empty(most + 1),
        )

    def _to_subtree(
        self, nodes: kernels.Nodes, n: int, chosen: np.ndarray, distinct: np.ndarray, by_rows: bool
    ) -> Subtree:
        """Return the first ``n`` nodes of a kernel with the problem's features, and thresholds in
        place of ranks.

        chosen : int64, the problem's feature of each of the kernel's.
        distinct : float[raw columns, ·], values by rank.
        by_rows : objects stand for several rows each.
        """
        feature = nodes.feature[:n]
        number = nodes.index[:n].astype(np.float64)
        n_coded = len(self.tests.objects.features)
        feature = np.where(feature >= 0, chosen[feature] if len(chosen) else 0, -1)
        # what tells the tests of raw columns apart is a threshold
        cut = np.flatnonzero(feature >= n_coded)
        after_all = nodes.beyond[cut] >= int(runs.MISSING)
        ranks = np.stack([nodes.index[cut], np.where(after_all, 0, nodes.beyond[cut])])
        edges = distinct[feature[cut] - n_coded, ranks] if len(cut) else np.zeros((2, 0))
        number[cut] = np.where(after_all, np.inf, midpoints(edges.T))
        side, kernel = nodes.side[:n], "" if self.missing is None else self.missing.kernel
        rule_of: Callable[[int, float], TestRule] = self.tests.rule
        if kernel == "splits":
            side = np.full(n, MISSING_SPLITS)
        # tests with an outcome of their own are those of features numbered from ``past`` on
        if kernel == "own_outcome":
            tests, past = self.tests, len(self.tests.column)
            arity = [
                tests.rule(f, x).arity if f >= 0 else 0
                for f, x in zip(feature.tolist(), number.tolist(), strict=True)
            ]
            apart = (feature >= 0) & (side == arity)
            feature, side = np.where(apart, feature + past, feature), np.where(apart, -1, side)
            rule_of = lambda f, x: (
                tests.rule(f, x) if f < past else sure(tests.rule(f - past, x).with_missing())
            )
        weights = nodes.weights[:n]
        # a view keeps the room that is left
        weights = weights if 2 * n > len(nodes.weights) else weights.copy()
        return Subtree(
            feature=feature,
            number=number,
            side=side,
            parent=nodes.parent[:n],
            branch=nodes.branch[:n],
            price=nodes.price[:n],
            score=nodes.score[:n],
            impurity=nodes.impurity[:n],
            weights=weights,
            count=nodes.n_rows[:n] if by_rows else nodes.counts[:n].sum(axis=1),
            shift=self.space.statistics.shift if self.space.statistics.moments else math.nan,
            rule_of=rule_of,
            fills=kernel in ("", "heaviest", "left_out"),
        )


def _enlarge_memory(
    features: Features,
    here: np.ndarray,
    parts: fractional.Fractions,
    scratch: kernels.SubtreeScratch,
    room: int,
) -> tuple[Features, np.ndarray, fractional.Fractions, kernels.SubtreeScratch]:
    """Return the same four with memory for ``room`` entries of open nodes, larger copies.

    here : int32, the permutation of the entries; what is beyond those in use is not read.
    """
    order = np.pad(features.order, [(0, 0), (0, room - features.order.shape[1])])
    spare = scratch._replace(
        spare=np.empty(room + 1, np.int32),
        runs=scratch.runs._replace(spare=np.empty(room + 1, np.uint64)),
    )
    return (
        features._replace(order=order),
        np.resize(here, room),
        parts._replace(share=np.resize(parts.share, room)),
        spare,
    )


def copy_members(stats: Statistics, rows: np.ndarray) -> kernels.Members:
    """Return what is added up over some objects: copies, of one type of labels, so that one kernel
    serves all.

    rows : int[k], the objects.
    """
    label, y = (NO_LABELS, stats.y[rows]) if stats.moments else (stats.label[rows], NO_NUMBERS)
    return kernels.Members(
        label,
        y,
        stats.weight[rows],
        stats.count[rows],
        stats.unit,
        stats.n_rows[rows] if len(stats.n_rows) else np.zeros(0, np.int64),
    )
