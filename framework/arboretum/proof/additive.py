"""Does a bound of an additive objective follow from the bounds before it?  By counting, and by nothing else.

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
   between all sides of the tests of one set.
5. *Split similarity*, without limits: for T = (i, s), S = (j, t) and D = T ∧ (j = 1 − t), OPT(S) ≥ OPT(T) − (p + loss(D)).
   Monotone, without limits: OPT(S) is at least that of each part of it.

With a least size of leaves, counted in rows, tests with a smaller side are left out, and 4 and 5 are not used: a part of a leaf
need not be a leaf.  Stricter leaf rules only raise what trees cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from arboretum.errors import VerificationError
from arboretum.interfaces.method import Problem
from arboretum.model.tree import Tree
from arboretum.proof.format import Record
from arboretum.proof.ground import Columns, Costs

PRECISION = 1e-9
"""Relative; to which an objective's value in floating point is the exact one."""
EXACT = 1 << 24
"""Sums of integers below are exact in float32, which is twice as fast."""
Limits = tuple[int, int]
"""Tests on a path and leaves that a subtree may have; −1: no limit."""


def serves(known: Limits, asked: Limits) -> bool:
    """Whether a bound under the first limits holds under the second: they are looser."""
    return all(have < 0 or 0 <= want <= have for have, want in zip(known, asked, strict=True))


class Additive:
    """Checks records about sets of merged objects; subclasses divide them.

    planes : float[n, ·], costs by label, w, and rows where leaves have a least size.   rank : int32[n, columns].
    known : set → its bounds, each with the limits that it holds for.
    """

    slack = 0

    def __init__(self, problem: Problem, tests: Sequence[Any], columns: Columns, costs: Costs) -> None:
        self.problem, self.columns, self.costs, self.p = problem, columns, costs, costs.p
        self.tests, self.min_leaf = tests, problem.parts.limits().min_leaf
        rows = np.bincount(columns.group, problem.objects.count)
        kept = np.ones(len(rows), np.bool_) if self.min_leaf > 1 else costs.loss.any(axis=1)
        loss, self.more, self.rank = costs.loss[kept], costs.more[kept], columns.rank[kept]
        self.n, self.k = loss.shape
        planes = [*loss.T, loss.max(axis=1), *([rows[kept]] if self.min_leaf > 1 else [])]
        self.kind = np.float32 if max(int(plane.sum()) for plane in planes) + 4 * costs.p < EXACT else np.float64
        self.planes = np.array(planes, self.kind).T
        self.everything = np.packbits(np.ones(self.n, np.bool_), bitorder="little")
        self.known: dict[bytes, list[tuple[Limits, int]]] = {}

    def root_bound(self, limits: Limits) -> int:
        """The best that is known of all objects."""
        return self.known_of(self.everything, limits) + self.more_of(self.everything)

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

    def refusal(self, record: Record) -> str:
        """Why a record does not follow, "" where it does: it is known from then on."""
        bits, limits = self.path_set(record.path), (record.depth, record.leaves)
        bound = record.bound - self.more_of(bits)
        if reason := "" if self.known_of(bits, limits) >= bound else self.gap(bits, limits, bound):
            return reason
        self.learn(bits, limits, bound)
        return ""

    def gap(self, bits: np.ndarray, limits: Limits, bound: int) -> str:
        """Division: why some tree may cost less than the bound, "" where none does."""
        raise NotImplementedError

    def learn(self, bits: np.ndarray, limits: Limits, bound: int) -> None:
        """Take a bound for known."""
        self.known.setdefault(bits.tobytes(), []).append((limits, bound))

    def known_of(self, bits: np.ndarray, limits: Limits) -> int:
        """The best bound that is known of a set, 0 without one."""
        return max((bound for held, bound in self.known.get(bits.tobytes(), ()) if serves(held, limits)), default=0)

    def path_set(self, path: np.ndarray) -> np.ndarray:
        """uint8[bytes]: the objects that a path leads to, packed."""
        bits = self.everything
        for test, outcome in path.tolist():
            bits = bits & self.side_of(*self.columns.literal(self.tests[test], outcome))
        return bits

    def side_of(self, column: int, cut: int, above: bool) -> np.ndarray:
        """uint8[bytes]: the objects of ranks above a cut of a column, or of the others; column −1 holds rank 0 alone."""
        inside = (self.rank[:, column] if column >= 0 else np.zeros(self.n, np.int32)) > cut
        return np.packbits(inside if above else ~inside, bitorder="little")

    def more_of(self, bits: np.ndarray) -> int:
        """What the log counts of a set besides its loss."""
        return int(self.more[self._rows(bits)].sum()) if self.k > 2 else 0

    def _rows(self, bits: np.ndarray) -> np.ndarray:
        return np.flatnonzero(np.unpackbits(bits, count=self.n, bitorder="little"))

    def _busy(self, planes: np.ndarray) -> np.ndarray:
        """Whether sets, given by their sums along the first axis, may stand below the root of a tree with the fewest leaves."""
        busy = planes[self.k] - planes[: self.k].min(axis=0) > self.p
        return busy & (planes[self.k + 1] >= self.min_leaf) if self.min_leaf > 1 else busy
