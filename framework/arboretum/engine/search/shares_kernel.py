"""Trees by shares in one compiled call, where ``missing`` is a rule of the kernel; the same trees as node by node."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arboretum.engine.search.assemble import Grown, Subtree
from arboretum.engine.search.compiled_criterion import TIE_TOLERANCE, CompiledCriterion
from arboretum.engine.search.contract import Cell
from arboretum.engine.search.subtree import MOST_WORK, MOST_WORK_IN_TIME, Tests, members_of, rules_of, tests_chosen
from arboretum.engine.search.plan import leaf_rule_of
from arboretum.engine.search.workspace import Workspace
from arboretum.interfaces.method import Problem
from arboretum.interfaces.missing import SHARED
from arboretum.kernels import shares
from arboretum.kernels import subtree as kernels
from arboretum.kernels.block import block_for
from arboretum.model.encoded import Node
from arboretum.model.rules import TestRule

ROOM = 1 << 12  # nodes at first


@attrs.define(eq=False)
class ShareTrees:
    """Grows the whole tree below a root.   timed : there is a deadline."""

    problem: Problem
    space: Workspace
    scorer: CompiledCriterion
    timed: bool

    def takes(self, cell: Cell, node: Node) -> bool:
        return cell.depth == 0

    def grow(self, cell: Cell, root: Grown, late: Callable[[], bool]) -> int:
        """Grow below ``root``; return how many nodes were divided, or −1 if the criterion broke its contract."""
        how = SHARED.index(self.problem.parts.missing.kernel)
        stats, n = self.space.statistics, self.space.objects.n_objects
        members = members_of(stats, np.arange(n))
        tests = Tests.of(self.space.objects, self.space.prices)
        chosen, features, distinct = tests.at(np.arange(n), members.label)
        run = self._run(how, tests, chosen, features, members)
        most = int(max([2, *np.diff(features.offset)])) + 2  # rows of sums: bins, or outcomes and what has none
        here = shares.Here(
            np.empty(n), np.empty(n), np.empty(n if not stats.moments else 0, np.int32), np.empty(n if stats.moments else 0), np.empty(n, np.int32),
            np.empty(n, np.int64), *np.empty((3, most), np.int64), *np.empty((3, most)),
        )  # fmt: skip
        sums, whole, lost, bins = (_sums(rows, stats.width, stats.count_width) for rows in (3, 1, 1, most))
        block, free = block_for(most, stats.width, stats.count_width, 0), np.zeros(len(chosen), np.bool_)
        pool = shares.Pool(np.arange(n, dtype=np.int32), np.ones(n), features.order if len(features.order) else np.zeros((1, n), np.uint64))
        pool, nodes, progress = _larger(pool, 3 * n), _nodes(ROOM, stats.width), np.ones(2, np.int64)
        nodes.weights[0], nodes.rows[0], nodes.impurity[0], nodes.segment[0], nodes.stack[0] = root.weights, root.count, root.impurity, (0, n, 0), 0
        nodes.feature[0], nodes.parent[0], nodes.branch[0], nodes.price[0], nodes.score[0] = -1, -1, 0, 0.0, math.nan
        while (end := shares.grow_shares(run, pool, progress, MOST_WORK_IN_TIME if self.timed else MOST_WORK, nodes, here, sums, whole, lost, bins, block, free)) != shares.DONE:
            if end == shares.FOUND_NAN:
                return -1
            if end == shares.LATE and late():
                break
            if end == shares.NO_ROOM:
                pool, nodes = _larger(pool, 2 * len(pool.who)), _larger(nodes, 2 * len(nodes.feature) + most)
        root.below = self._subtree(how, nodes, int(progress[0]), tests, chosen, distinct)
        return int(np.count_nonzero(root.below.feature >= 0))

    def _run(self, how: int, tests: Tests, chosen: np.ndarray, features: Any, members: Any) -> Any:
        problem, scorer, limits = self.problem, self.scorer, self.problem.parts.limits()
        coded, total = self.space.objects.features, float(self.space.statistics.weight.sum())
        forms = np.array([f >= len(coded) or coded[f].rule(0).with_missing() is not None for f in chosen.tolist()], np.bool_)
        rules = rules_of(
            limits, leaf_rule_of(problem.parts), self.space.min_weight, total, self.space.prices.once_per_column, corners=scorer.concave
        )  # fmt: skip
        one = kernels.Scorer(scorer.batch, scorer.params, scorer.impurity_at, 0, TIE_TOLERANCE, scorer.floor)
        listed = features.prices if limits.max_cost is not None else np.zeros(0)
        features = features._replace(prices=features.prices.copy()) if len(listed) else features  # the kernel writes into them
        above = kernels.Above(0, np.zeros(0, np.bool_), np.zeros(len(chosen), np.bool_), 0.0, listed)
        return shares.Run(features, forms, how, members, rules, one, above)

    def _subtree(self, how: int, nodes: Any, n: int, tests: Tests, chosen: np.ndarray, distinct: np.ndarray) -> Subtree:
        feature, number = tests_chosen(nodes, n, chosen, distinct, len(self.space.objects.features))
        features, to = len(tests.column), nodes.to[:n].astype(np.int64)
        arity = np.array([tests.rule(f, x).arity if f >= 0 else 0 for f, x in zip(feature.tolist(), number.tolist())])
        apart = (feature >= 0) & (to == arity)  # an outcome of their own

        def rule_of(f: int, x: float) -> TestRule:
            return tests.rule(f, x) if f < features else tests.rule(f - features, x).with_missing()

        stats = self.space.statistics
        return Subtree(
            np.where(apart, feature + features, feature), number, np.where(apart, -1, to), nodes.parent[:n], nodes.branch[:n], nodes.price[:n], nodes.score[:n],
            nodes.impurity[:n], nodes.weights[:n].copy(), nodes.rows[:n], stats.shift if stats.moments else math.nan, rule_of,
            fills=how in (shares.HEAVIEST, shares.LEFT_OUT),
        )  # fmt: skip


def _sums(rows: int, width: int, count_width: int) -> Any:
    return shares.Sums(np.empty((rows, width)), np.empty((rows, count_width)), np.empty((rows, count_width), np.int64))


def _nodes(room: int, width: int) -> Any:
    integers, floats = np.empty((6, room), np.int32), np.empty((4, room))
    return shares.Nodes(*integers, *floats, np.empty((room, width)), np.empty((room, 3), np.int64), np.empty(room, np.int32))


def _larger(arrays: Any, room: int) -> Any:
    """The same arrays with room for more: runs along their last axis, others along their first."""
    found = []
    for name, array in zip(arrays._fields, arrays, strict=True):
        shape = (len(array), room) if name == "runs" else (room, *array.shape[1:])
        more = np.empty(shape, array.dtype)
        more[tuple(map(slice, array.shape))] = array
        found.append(more)
    return type(arrays)(*found)
