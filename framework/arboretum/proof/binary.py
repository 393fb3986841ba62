"""Sets that tests with two outcomes divide: counted over all pairs of tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arboretum.interfaces.method import Problem
from arboretum.proof.additive import Additive, Limits, serves
from arboretum.proof.ground import Columns, Costs


class Node(NamedTuple):
    """A set, counted.   leaf : its cost.   tests : int64[F], the columns that are not idle, to which all arrays refer.

    one, two, more : float64[2, F], cost of a side with one leaf, with two, at least with more.
    apart, split : float64[2, 2, F, F], for T = (i, s) and S = (j, t), at [s, t, i, j]: what similarity and split similarity subtract.
    """

    leaf: float
    tests: np.ndarray
    one: np.ndarray
    two: np.ndarray
    more: np.ndarray
    apart: np.ndarray
    split: np.ndarray


class Binary(Additive):
    """Checks records on binary tests.

    Sides that miss a record are expanded once more where counting decides something there: with two tests left, and wherever p > 0.
    """

    def __init__(self, problem: Problem, tests: Sequence[Any], columns: Columns, costs: Costs) -> None:
        super().__init__(problem, tests, columns, costs)
        self.matrix = self.rank.astype(self.kind)
        self.packed = np.packbits(self.rank.T.astype(np.bool_), axis=1, bitorder="little")

    def gap(self, bits: np.ndarray, limits: Limits, bound: int) -> str:
        """Division: why some tree may cost less than the bound, "" where none does."""
        node, (depth, leaves) = self.count(bits), limits
        if node.leaf < bound:
            return f"a leaf costs {bound - node.leaf:.0f} less"
        if depth == 0 or leaves == 1 or not len(node.tests):
            return ""
        below, unlimited, expanded = (max(depth - 1, -1), leaves), limits == (-1, -1), np.zeros((2, len(node.tests)), np.bool_)
        lower, heavy = self.sides(bits, node, *below), np.minimum(node.apart[0, 1].diagonal(), node.apart[1, 0].diagonal())
        while True:
            self.spread(node, lower, unlimited)
            still = self.joined(lower, leaves) < bound
            if not still.any() or (unlimited and self.min_leaf <= 1 and lower.max() >= bound):
                return ""
            fresh = ~expanded.all(axis=0) & self.decides(below[0])
            fresh = still & fresh if (still & fresh).any() else fresh  # what is counted of others may help
            at = int(np.where(fresh if fresh.any() else still, heavy, -1).argmax())  # balanced ones say most about others
            if not fresh.any():
                less = bound - self.joined(lower, leaves)[at]
                test = int(np.flatnonzero(self.columns.column == node.tests[at])[0])
                return f"trees that begin with test {test} of the table may cost {less:.0f} less for all that is known"
            side = int(lower[-1, 1, at] < lower[-1, 0, at])  # the side of which less is known
            side = 1 - side if expanded[side, at] else side
            expanded[side, at] = True
            self.expand(self.side(bits, int(node.tests[at]), side), lower[:, side, at], *below)

    def decides(self, depth: int) -> bool:
        """Whether counting says more of a set than what the set above it says."""
        return depth == 2 or (self.p > 0 and depth not in (0, 1))

    def side(self, bits: np.ndarray, column: int, side: int) -> np.ndarray:
        return bits & (self.packed[column] if side else ~self.packed[column])

    def count(self, bits: np.ndarray) -> Node:
        """Counting, of a set and the sides of its tests."""
        rows, p, k = self._rows(bits), self.p, self.k
        planes, x = self.planes[rows], self.matrix[rows]
        total, ones = planes.sum(axis=0), x.T @ planes
        tests = np.flatnonzero(self._busy((total - ones).T) & self._busy(ones.T))
        x, ones = x[:, tests], ones[tests].T
        both = [(x * plane[:, None]).T @ x for plane in planes.T[1 if k == 2 else 0 :]]
        if k == 2:  # an object costs nothing as one of its two classes: w is their sum
            both = [both[1] - both[0], *both]
        pair = np.array(both).reshape(len(total), len(tests), len(tests))
        i, j, every = ones[:, :, None], ones[:, None, :], total[:, None, None]
        cell = [[every - i - (j - pair), j - pair], [i - pair, pair]]  # [s][t], of planes by tests i and j
        loss = np.array([[each[:k].min(axis=0) for each in row] for row in cell])
        busy = np.array([self._busy(row[0]) & self._busy(row[1]) for row in cell])
        divided = busy[:, None] & (loss[:, ::-1] > p)
        least = np.where(divided, loss, np.inf).min(axis=(1, 3), initial=np.inf)
        one = np.array([(total[:k, None] - ones[:k]).min(axis=0), ones[:k].min(axis=0)]) + p
        two = np.where(busy, loss[:, 0] + loss[:, 1], np.inf).min(axis=2, initial=np.inf) + 2 * p
        more = np.where(least < np.inf, 3 * p + np.minimum(least, p), np.inf)
        apart = np.array([[row[1][k], row[0][k]] for row in cell])
        return Node(float(total[:k].min() + p), tests, one, two, more, apart, np.minimum(apart, p + loss[:, ::-1]))

    def sides(self, bits: np.ndarray, node: Node, depth: int, leaves: int) -> np.ndarray:
        """float64[levels, 2, F]: bounds of the sides of the tests, by counting and by records, with 1, 2, … leaves − 1 leaves; one
        level where leaves are not limited.   depth : that is left to the sides.
        """
        steps = [node.one, np.minimum(node.one, node.two), np.minimum(np.minimum(node.one, node.two), node.more)]
        deepest = min(depth, 2) if depth >= 0 else 2
        levels = [steps[deepest]] if leaves < 0 else [steps[min(n, deepest)] for n in range(leaves - 1)]
        lower = np.array(levels).reshape(len(levels), 2, len(node.tests))
        for s in (0, 1):
            for f, part in enumerate(self.side(bits, node.tests, s)):
                for held, bound in self.known.get(part.tobytes(), ()):
                    for n in range(len(lower)):
                        if serves(held, (depth, n + 1 if leaves >= 0 else -1)):
                            lower[n, s, f] = max(lower[n, s, f], bound)
        return lower

    def spread(self, node: Node, lower: np.ndarray, unlimited: bool) -> None:
        """Similarity between all sides."""
        if self.min_leaf > 1 or not len(node.tests):
            return
        less = node.split if unlimited else node.apart
        for level in lower:
            np.maximum(level, (level[:, None, :, None] - less).max(axis=(0, 2)), out=level)

    @staticmethod
    def joined(lower: np.ndarray, leaves: int) -> np.ndarray:
        """float64[F]: what trees cost that begin with each test."""
        return (lower + lower[:, ::-1] if leaves < 0 else lower + lower[::-1, ::-1])[:, 0].min(axis=0)

    def expand(self, bits: np.ndarray, lower: np.ndarray, depth: int, leaves: int) -> None:
        """Raise bounds of a set, float64[levels] as :meth:`sides` orders them, by counting in it and by records of its parts."""
        node = self.count(bits)
        sides = self.sides(bits, node, max(depth - 1, -1), leaves - 1 if leaves > 0 else leaves)
        self.spread(node, sides, (depth, leaves) == (-1, -1))
        for n in range(len(lower)):
            few = n + 1 if leaves > 0 else -1
            below = sides[:n] if leaves > 0 else sides
            least = self.joined(below, few).min(initial=np.inf) if len(below) else np.inf
            lower[n] = max(lower[n], min(node.leaf, least))
