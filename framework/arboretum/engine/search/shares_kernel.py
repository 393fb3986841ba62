"""Trees by shares in one compiled call, where ``missing`` is a rule of the kernel; the same trees as node by node."""

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arboretum.engine.search.assemble import Grown, Subtree
from arboretum.engine.search.contract import Cell
from arboretum.engine.search.subtree import Subtrees, members_of, tests_chosen
from arboretum.engine.search.workspace import Workspace
from arboretum.interfaces.missing import SHARED
from arboretum.kernels import shares
from arboretum.kernels import subtree as kernels
from arboretum.kernels.block import block_for
from arboretum.model.encoded import Node
from arboretum.model.rules import TestRule

ROOM = 1 << 12  # nodes at first


@attrs.frozen(eq=False)
class ShareTrees:
    """Grows the whole tree below a root; where tests have surrogates, it finds the test of one node.   own : what growth of subtrees has, too."""

    missing: Any
    space: Workspace
    own: Subtrees

    @property
    def whole(self) -> bool:
        return not hasattr(self.missing, "surrogates")

    def takes(self, cell: Cell, node: Node) -> bool:
        return cell.depth == 0 and self.whole

    def grow(self, cell: Cell, root: Grown, late: Callable[[], bool]) -> int:
        """Grow below ``root``; return how many nodes were divided, or −1 if the criterion broke its contract."""
        root.below = self.subtree(cell, root, late)
        return -1 if root.below is None else int(np.count_nonzero(root.below.feature >= 0))

    def subtree(self, cell: Any, root: Grown, late: Callable[[], bool]) -> Subtree | None:
        """What hangs below a node, a tree or a test; None if the criterion broke its contract.   cell : with ``who`` and ``share``."""
        own, stats, coded, n = self.own, self.space.statistics, self.space.objects.features, len(cell.who)
        members = members_of(stats, cell.who)
        chosen, features, distinct = own.tests.at(cell.who, members.label)
        listed = features.prices if own.limits.max_cost is not None else np.zeros(0)
        features = features._replace(prices=features.prices.copy())  # the kernel writes into them
        forms = np.array([f >= len(coded) or coded[f].rule(0).with_missing() is not None for f in chosen.tolist()], np.bool_)
        asked = np.array([own.tests.column[f] in cell.asked for f in chosen.tolist()], np.bool_)
        above = kernels.Above(0, np.zeros(0, np.bool_), asked, cell.paid, listed)
        rules = own.rules if self.whole else own.rules._replace(max_depth=cell.depth + 1)
        run = shares.Run(features, forms, SHARED.index(self.missing.kernel), members, rules, own.scorer, above)
        most = int(max([2, *np.diff(features.offset)])) + 2  # rows of sums: bins, or outcomes and what has none
        labels, numbers, rows = (0, n, shares.FIRST + most) if stats.moments else (n, 0, shares.FIRST + most)
        here = shares.Here(
            *np.empty((2, n)), np.empty(labels, np.int32), np.empty(numbers), np.empty(n, np.int32), np.empty(n, np.uint64),
            np.empty(most, np.int64), *np.empty((3, most)),
        )  # fmt: skip
        sums = shares.Sums(np.empty((rows, stats.width)), np.empty((rows, stats.count_width)), np.empty((rows, stats.count_width), np.int64))
        block, free = block_for(most, stats.width, stats.count_width, 0), np.zeros(len(chosen), np.bool_)
        pool = shares.Pool(np.arange(n, dtype=np.int32), cell.share, features.order if len(features.order) else np.zeros((1, n), np.uint64))
        integers, floats = np.empty((6, ROOM), np.int32), np.empty((4, ROOM))
        nodes = shares.Nodes(*integers, *floats, np.empty((ROOM, stats.width)), np.empty((ROOM, 3), np.int64), np.empty(ROOM, np.int32))
        nodes.weights[0], nodes.rows[0], nodes.impurity[0], nodes.segment[0], nodes.stack[0] = root.weights, root.count, root.impurity, (0, n, cell.depth), 0
        nodes.feature[0], nodes.parent[0], nodes.branch[0], nodes.price[0], nodes.score[0] = -1, -1, 0, 0.0, math.nan
        pool, progress = _larger(pool, 3 * n), np.ones(2, np.int64)
        while (end := shares.grow_shares(run, pool, progress, own.most_work, nodes, here, sums, block, free)) != shares.DONE:
            if end == shares.FOUND_NAN:
                return None
            if end == shares.LATE and late():
                break
            if end == shares.NO_ROOM:
                pool, nodes = _larger(pool, 2 * len(pool.who)), _larger(nodes, 2 * len(nodes.feature) + most)
        return self._grown(run.how, nodes, int(progress[0]), chosen, distinct)

    def _grown(self, how: int, nodes: Any, n: int, chosen: np.ndarray, distinct: np.ndarray) -> Subtree:
        feature, number = tests_chosen(nodes, n, chosen, distinct, len(self.space.objects.features))
        tests, stats, features, to = self.own.tests, self.space.statistics, len(self.own.tests.column), nodes.to[:n].astype(np.int64)
        arity = np.array([tests.rule(f, x).arity if f >= 0 else 0 for f, x in zip(feature.tolist(), number.tolist())])
        apart = (feature >= 0) & (to == arity)  # an outcome of their own

        def rule_of(f: int, x: float) -> TestRule:
            return tests.rule(f, x) if f < features else tests.rule(f - features, x).with_missing()

        return Subtree(
            np.where(apart, feature + features, feature), number, np.where(apart, -1, to), nodes.parent[:n], nodes.branch[:n], nodes.price[:n], nodes.score[:n],
            nodes.impurity[:n], nodes.weights[:n].copy(), nodes.rows[:n], stats.shift if stats.moments else math.nan, rule_of,
            fills=how in (shares.HEAVIEST, shares.LEFT_OUT),
        )  # fmt: skip


def _larger(arrays: Any, room: int) -> Any:
    """The same arrays with room for more: runs along their last axis, others along their first."""
    found = []
    for name, array in zip(arrays._fields, arrays, strict=True):
        shape = (len(array), room) if name == "runs" else (room, *array.shape[1:])
        more = np.empty(shape, array.dtype)
        more[tuple(map(slice, array.shape))] = array
        found.append(more)
    return type(arrays)(*found)
