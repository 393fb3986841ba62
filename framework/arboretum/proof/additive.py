"""Does a bound of an additive objective on binary tests follow from the bounds before it?  By counting, and by nothing else.

Write OPT(S, d, l) for the least cost, loss + p·leaves in units of the log, of a tree on the set S with at most d tests on a path
and l leaves.  What
is relied on, each for the limits of a record ("looser" limits allow all that tighter ones allow):

1. *A tree with the fewest leaves among the best.*  Its subtrees are such trees of their sets, for the limits that are left to
   them.  Let w_u be the most that object u can cost, and save(L) = Σ w_u − loss(L) what the best label of a leaf saves.  Give a
   leaf's objects to its sibling's subtree instead: costs rise by at most save − p, no path and no count of leaves grows, no leaf
   gets smaller.  So **save(L) > p for every leaf L of such a tree that is not its root**, and, as save grows with the set, for
   every set below the root.  A test with a side that saves less ("idle") does not occur, here or further down.  And a set with
   loss ≤ p is not divided, as two leaves cost 2p at least.
2. *Division.*  OPT(S, d, l) is the leaf's cost loss(S) + p, or, over the tests that are not idle, the least sum of what the
   sides cost with d − 1 and with numbers of leaves that add up to l.
3. *Few leaves.*  One and two leaves cost g₁ and g₂, counted over pairs of tests.  With three or more, some test of the set has
   either one leaf A beside a subtree of B: at least 3p + loss(A), where loss(B) > p; or two subtrees: at least 4p.
4. *Similarity.*  OPT(S) ≥ OPT(T) − w(T ∖ S): a tree for S serves T ∩ S, and then each object of T ∖ S costs w_u at most.  Used
   between all sides of the tests of one set, and with a record that is named as ``like``: with its set, and side by side.
5. *Split similarity*, without limits: for T = (i, s), S = (j, t) and D = T ∧ (j = 1 − t), OPT(S) ≥ OPT(T) − (p + loss(D)).
   Monotone, without limits: OPT(S) is at least that of each part of it.

With a least size of leaves, counted in rows, tests with a smaller side are left out, and 4 and 5 are not used: a part of a leaf
need not be a leaf.  Stricter leaf rules only raise what trees cost.  Sets that miss a record are expanded once more where counting
decides something there: with two tests left, and wherever p > 0.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from arboretum.errors import VerificationError
from arboretum.interfaces.method import Problem
from arboretum.model.tree import Tree
from arboretum.proof.format import Proof, Record
from arboretum.proof.ground import Columns, Costs

PRECISION = 1e-9
"""Relative; to which an objective's value in floating point is the exact one."""
Limits = tuple[int, int]
"""Tests on a path and leaves that a subtree may have; −1: no limit."""


def serves(known: Limits, asked: Limits) -> bool:
    """Whether a bound under the first limits holds under the second: they are looser."""
    return all(have < 0 or 0 <= want <= have for have, want in zip(known, asked, strict=True))


class Node(NamedTuple):
    """A set, counted.   leaf : its cost.   tests : int64[F], the columns that are not idle, to which all arrays refer.

    side : float64[2, F], w of a side.   one, two, more : float64[2, F], cost of a side with one leaf, with two, at least with more.
    apart, split : float64[2, 2, F, F], for T = (i, s) and S = (j, t), at [s, t, i, j]: what similarity and split similarity subtract.
    """

    leaf: float
    tests: np.ndarray
    one: np.ndarray
    two: np.ndarray
    more: np.ndarray
    apart: np.ndarray
    split: np.ndarray


class Kept(NamedTuple):
    """A record that others are like.   profile : float64[2, columns], bounds of the sides of tests; −∞ where none is known."""

    bits: np.ndarray
    limits: Limits
    bound: int
    profile: np.ndarray


class Binary:
    """Checks records about sets of merged objects, which tests with two outcomes divide."""

    def __init__(self, problem: Problem, proof: Proof, columns: Columns, costs: Costs) -> None:
        self.problem, self.slack = problem, 0
        limits, rows = problem.parts.limits(), np.bincount(columns.group, problem.objects.count)
        self.columns, self.costs, self.tests = columns, costs, proof.header["tests"]
        self.p = costs.p
        self.min_leaf = limits.min_leaf
        kept = np.ones(len(rows), np.bool_) if self.min_leaf > 1 else costs.loss.any(axis=1)
        loss = costs.loss[kept]
        self.n, self.k = loss.shape
        self.more = costs.more[kept]
        planes = [*loss.T, loss.max(axis=1), *([rows[kept]] if self.min_leaf > 1 else [])]
        kind = np.float32 if max(int(plane.sum()) for plane in planes) + 4 * costs.p < 1 << 24 else np.float64
        self.planes = np.array(planes, kind).T
        self.matrix = columns.rank[kept].astype(kind)
        self.packed = np.packbits(columns.rank[kept].T.astype(np.bool_), axis=1, bitorder="little")
        self.everything = np.packbits(np.ones(self.n, np.bool_), bitorder="little")
        self.known: dict[bytes, list[tuple[Limits, int]]] = {}
        self.named = {record.like for record in proof.records()} - {-1}
        self.kept: dict[int, Kept] = {}

    def root_bound(self, limits: Limits) -> int:
        """The best that is known of all objects."""
        known = self.known.get(self.everything.tobytes(), ())
        return max((bound for held, bound in known if serves(held, limits)), default=0) + self._more(self.everything)

    def value(self, cost: Fraction | int) -> float:
        """The objective's value of a cost as the log counts it."""
        return float(self.costs.base + cost * self.costs.unit)

    def cost_of(self, tree: Tree) -> Fraction:
        """The tree's cost as the log counts it: its answers for the raw rows, and its leaves.

        Raises VerificationError where its objective, in floating point, says something else.
        """
        objects, costs = self.problem.objects, self.costs
        answer = tree.predict(objects.table)[objects.row_of_object]
        lost = int(costs.scaled[np.arange(len(answer)), answer].sum())
        cost = Fraction(lost, costs.scale) - costs.base / costs.unit + costs.p * tree.n_leaves
        said = float(self.problem.parts.objective.value(tree, self.problem))
        if abs(said - self.value(cost)) > PRECISION * max(1.0, abs(said)):
            raise VerificationError(f"the tree's value is {self.value(cost)!r} exactly, but its objective says {said!r}")
        return cost

    def refusal(self, number: int, record: Record) -> str:
        """Why a record does not follow, "" where it does: it is known from then on."""
        bits, limits = self._set(record.path), (record.depth, record.leaves)
        bound = record.bound - self._more(bits)
        like = self.kept.get(record.like)
        if record.like >= 0 and like is None:
            return f"it is like record {record.like}, which does not come before it"
        follows, profile = self._at_once(bits, limits, bound, like), np.full((2, self.matrix.shape[1]), -np.inf)
        if not follows or number in self.named:
            reason = self._divided(bits, limits, bound, like, profile)
            if reason and not follows:
                return reason
        self.known.setdefault(bits.tobytes(), []).append((limits, bound))
        if number in self.named:
            self.kept[number] = Kept(bits, limits, bound, profile)
        return ""

    def _set(self, path: np.ndarray) -> np.ndarray:
        """uint8[bytes]: the objects that a path leads to, packed."""
        bits = self.everything
        for test, outcome in path.tolist():
            column, side = self.columns.column[self.tests[test]], outcome ^ int(self.columns.flip[self.tests[test]])
            bits = self._side(bits, column, side) if column >= 0 else bits * np.uint8(1 - side)
        return bits

    def _at_once(self, bits: np.ndarray, limits: Limits, bound: int, like: Kept | None) -> bool:
        """Whether the set itself, or the record that it is like, has the bound already."""
        if any(known >= bound and serves(held, limits) for held, known in self.known.get(bits.tobytes(), ())):
            return True
        far = like is not None and self.min_leaf <= 1 and serves(like.limits, limits)
        return bool(far and like.bound - self._weight(like.bits & ~bits) >= bound)

    def _weight(self, bits: np.ndarray) -> float:
        return float(self.planes[self._rows(bits), self.k].sum(dtype=np.float64))

    def _more(self, bits: np.ndarray) -> int:
        """What the log counts of a set besides its loss."""
        return int(self.more[self._rows(bits)].sum()) if self.k > 2 else 0

    def _rows(self, bits: np.ndarray) -> np.ndarray:
        return np.flatnonzero(np.unpackbits(bits, count=self.n, bitorder="little"))

    def _divided(self, bits: np.ndarray, limits: Limits, bound: int, like: Kept | None, profile: np.ndarray) -> str:
        """Division: why some tree may cost less than the bound, "" where none does.   profile : takes the bounds of the sides."""
        node, (depth, leaves) = self._count(bits), limits
        if node.leaf < bound:
            return f"a leaf costs {bound - node.leaf:.0f} less"
        if depth == 0 or leaves == 1 or not len(node.tests):
            return ""
        below, unlimited, expanded = (max(depth - 1, -1), leaves), limits == (-1, -1), set()
        lower = self._sides(bits, node, *below)
        if like is not None and self.min_leaf <= 1 and leaves < 0 and serves(like.limits, limits):
            lower[0] = np.maximum(lower[0], self._beside(bits, node, like))
        self._spread(node, lower, unlimited)
        while True:
            total = self._joined(lower, leaves)
            at = int(total.argmin())
            if leaves < 0:
                profile[:, node.tests] = lower[0]
            if total[at] >= bound or (unlimited and self.min_leaf <= 1 and lower.max() >= bound):
                return ""
            worse = int(lower[-1, 1, at] < lower[-1, 0, at])  # the side of which less is known
            for side in (worse, 1 - worse):
                if (side, at) not in expanded and self._decides(below[0]):
                    expanded.add((side, at))
                    self._expand(self._side(bits, node.tests[at], side), lower[:, side, at], *below)
                    break
            else:
                test = int(np.flatnonzero(self.columns.column == node.tests[at])[0])
                return f"trees that begin with test {test} of the table may cost {bound - total[at]:.0f} less for all that is known"
            self._spread(node, lower, unlimited)

    def _decides(self, depth: int) -> bool:
        """Whether counting says more of a set than what the set above it says."""
        return depth == 2 or (self.p > 0 and depth not in (0, 1))

    def _side(self, bits: np.ndarray, column: int, side: int) -> np.ndarray:
        return bits & (self.packed[column] if side else ~self.packed[column])

    def _count(self, bits: np.ndarray) -> Node:
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

    def _busy(self, planes: np.ndarray) -> np.ndarray:
        """Whether sets, given by their sums along the first axis, may stand below the root of a tree with the fewest leaves."""
        busy = planes[self.k] - planes[: self.k].min(axis=0) > self.p
        return busy & (planes[self.k + 1] >= self.min_leaf) if self.min_leaf > 1 else busy

    def _sides(self, bits: np.ndarray, node: Node, depth: int, leaves: int) -> np.ndarray:
        """float64[levels, 2, F]: bounds of the sides of the tests, by counting and by records, with 1, 2, … leaves − 1 leaves; one
        level where leaves are not limited.   depth : that is left to the sides.
        """
        steps = [node.one, np.minimum(node.one, node.two), np.minimum(np.minimum(node.one, node.two), node.more)]
        deepest = min(depth, 2) if depth >= 0 else 2
        levels = [steps[deepest]] if leaves < 0 else [steps[min(n, deepest)] for n in range(leaves - 1)]
        lower = np.array(levels).reshape(len(levels), 2, len(node.tests))
        for s in (0, 1):
            for f, part in enumerate(self._side(bits, node.tests, s)):
                for held, bound in self.known.get(part.tobytes(), ()):
                    for n in range(len(lower)):
                        if serves(held, (depth, n + 1 if leaves >= 0 else -1)):
                            lower[n, s, f] = max(lower[n, s, f], bound)
        return lower

    def _beside(self, bits: np.ndarray, node: Node, like: Kept) -> np.ndarray:
        """float64[2, F]: what similarity to the sides of a record's set says of the sides."""
        rows = self._rows(like.bits & ~bits)
        weight = self.planes[rows, self.k].astype(np.float64)
        ones = weight @ self.matrix[np.ix_(rows, node.tests)]
        return like.profile[:, node.tests] - np.array([weight.sum() - ones, ones])

    def _spread(self, node: Node, lower: np.ndarray, unlimited: bool) -> None:
        """Similarity between all sides."""
        if self.min_leaf > 1 or not len(node.tests):
            return
        less = node.split if unlimited else node.apart
        for level in lower:
            np.maximum(level, (level[:, None, :, None] - less).max(axis=(0, 2)), out=level)

    @staticmethod
    def _joined(lower: np.ndarray, leaves: int) -> np.ndarray:
        """float64[F]: what trees cost that begin with each test."""
        return (lower + lower[:, ::-1] if leaves < 0 else lower + lower[::-1, ::-1])[:, 0].min(axis=0)

    def _expand(self, bits: np.ndarray, lower: np.ndarray, depth: int, leaves: int) -> None:
        """Raise bounds of a set, float64[levels] as :meth:`_sides` orders them, by counting in it and by records of its parts."""
        node = self._count(bits)
        sides = self._sides(bits, node, max(depth - 1, -1), leaves - 1 if leaves > 0 else leaves)
        self._spread(node, sides, (depth, leaves) == (-1, -1))
        for n in range(len(lower)):
            few = n + 1 if leaves > 0 else -1
            below = sides[:n] if leaves > 0 else sides
            least = self._joined(below, few).min(initial=np.inf) if len(below) else np.inf
            lower[n] = max(lower[n], min(node.leaf, least))
