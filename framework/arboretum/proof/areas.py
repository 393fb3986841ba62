"""Does a bound of an area under the ROC curve follow?  From tangents of the curve, which are lines,
and from fronts of the curves of trees that these leave.

A tree has leaves of P positives and N negatives, whole multiples of the weights' common divisor;
from the greatest share of positives down, joined by straight lines, they make its curve C, which is
concave, over the share x of negatives.  With h leaves its value is R = 1 − A / u + λ h, where A is
the area up to θ; the objective says θ and u.  To show: no tree has R < B.  What is relied on:

1. *Tangents.*  For any slope w ≥ 0, C(x) ≤ w x + Σ max(P / ΣP − w N / ΣN, 0), summed over leaves.
   The axis up to θ is cut into pieces of l_j / D each, D = Σ l_j, with slopes w_j, written down as
   whole gains g_j = l_j w_j ΣP / ΣN; C lies over no piece j higher than w_j says in its middle m_j.
   So, with S = D ΣP u / θ,

       S R ≥ S − Σ_j g_j ΣN m_j − Σ_leaves Σ_j max(l_j P − g_j N, 0) + S λ h.

   Where slopes fall, the second sum of a leaf is max_k (P Σ_{j ≥ k} l_j − N Σ_{j ≥ k} g_j): an
   additive cost of one answer more than pieces.  With p ≤ q S λ records of a line (:mod:`.lines`)
   show that q times it + p h is at least L.
2. *Fronts.*  Where these leave values below B, such trees cost at most C = q (S B − S + Σ_j g_j ΣN
   m_j) by the line of the fronts: all of them are gone through (:mod:`.fronts`), by curves.  The
   curve of two sides together is the Minkowski sum of theirs.  So if on a set one curve is nowhere
   below another, and has no more leaves, it is as good beside any other tree, and costs no more by
   any tangents, as Σ max(P − w N, 0) is the height of a curve above a line of slope w.

All of it is in fractions; bounds and values are floats, and compared up to ``ROUNDING``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from arboretum.errors import CapabilityError, VerificationError
from arboretum.model.tree import Tree
from arboretum.proof.ground import decimal, rational
from arboretum.proof.lines import DEAREST, ROUNDING, OfTwoClasses, are_counts

PIECES = 16
"""Pieces of tangents, at most."""
MOST_COST, MOST_SUMS = 1 << 61, 1 << 18
"""What trees that are gone through may cost, so that two of them add up; and how many curves are
added.
"""
Curve = tuple[tuple[int, int], ...]
"""Segments (positives, negatives), the steepest first, those of one slope joined."""
RankedTree = tuple[int, int, Curve]
"""What a tree costs, its leaves, and its curve."""


class Areas(OfTwoClasses):
    """Lines are named by (lengths l, gains g, q, p); what is left of trees is one part."""

    form = "[lengths, gains, q, p, records]"

    @classmethod
    def is_line(cls, line: list[Any]) -> bool:
        """As of :class:`Lines`."""
        return (
            len(line) == 4
            and are_counts(line[0])
            and are_counts(line[1])
            and are_counts(line[2:])
            and 0 < len(line[0]) == len(line[1]) <= PIECES
        )

    def prepare(self) -> None:
        """Ask which area counts.  Raises CapabilityError where the objective does not say it."""
        super().prepare()
        if not hasattr(self.objective, "false_positive_limit"):
            raise CapabilityError(
                f"objective={self.objective.name} says no false_positive_limit(); proofs know of "
                "rankings areas up to one"
            )
        self.theta, self.divided_by = map(decimal, self.objective.false_positive_limit())
        if not (0 < self.theta <= 1 and self.divided_by > 0 and self.total.min() > 0):
            raise VerificationError(
                f"an area up to {self.theta}, divided by {self.divided_by}, of rows that weigh "
                f"{self.total.tolist()} by class, is none"
            )

    def costs_of(self, *line: Any) -> tuple[list[tuple[int, int]], int]:
        """As of :class:`OfTwoClasses`."""
        lengths, gains, q, p = line
        pieces = list(zip(lengths, gains, strict=True))
        if not (
            min(lengths) > 0
            and q > 0
            and p < DEAREST
            and (p > 0) == (self.lam > 0)
            and p <= q * self._scale(lengths) * rational(self.lam)
            # slopes must not rise, or a leaf's best answer is less than all that it may gain
            and all(g * m >= h * l for (l, g), (m, h) in itertools.pairwise(pieces))
        ):
            raise VerificationError(
                "tangents have pieces of some length, whose slopes do not rise, and a leaf costs "
                f"λ at most, below 2^48, and above 0 where λ is; got {list(line)}"
            )
        return [(q * sum(gains[k:]), -q * sum(lengths[k:])) for k in range(len(pieces) + 1)], p

    def _scale(self, lengths: Sequence[int]) -> Fraction:
        """S, what a value of 1 is in gains."""
        return sum(lengths) * int(self.total[1]) * self.divided_by / self.theta

    def _shift(self, lengths: Sequence[int], gains: Sequence[int]) -> Fraction:
        """S − Σ_j g_j ΣN m_j."""
        area, at, whole = Fraction(0), 0, sum(lengths)
        for length, gain in zip(lengths, gains, strict=True):
            area += gain * int(self.total[0]) * self.theta * Fraction(2 * at + length, 2 * whole)
            at += length
        return self._scale(lengths) - area

    def bound_of(self, k: int) -> float:
        """The value that no tree is below, by line k."""
        lengths, gains, q, _ = self.lines[k].name
        cost = self._shift(lengths, gains) + Fraction(self.least[k], q)
        return float(cost / self._scale(lengths))

    def budget(self, left: np.ndarray, k: int) -> int:
        """As of :class:`Lines`.  Raises VerificationError where it exceeds 61 bits."""
        lengths, gains, q, _ = self.lines[k].name
        most = self._scale(lengths) * Fraction(self.target) - self._shift(lengths, gains)
        budget: int = math.floor(q * most)
        if budget >= MOST_COST:
            raise VerificationError("trees that the tangents leave may cost 2^61 or more")
        return budget

    def trees(self) -> RankedTrees:
        """As of :class:`Lines`."""
        line = self.lines[self.fronts]
        return RankedTrees(np.array(self.costs_of(*line.name)[0], np.int64), line.p)

    def least_of_fronts(self, trees: list[RankedTree]) -> float:
        """As of :class:`Lines`."""
        most = self._limits.max_leaves
        return min(
            (
                self._value_of_curve(curve, leaves)
                for _, leaves, curve in trees
                if most is None or leaves <= most
            ),
            default=math.inf,
        )

    def _value_of_curve(self, curve: Curve, leaves: int) -> float:
        """R, the value of a tree with this curve."""
        negatives, positives = map(int, self.total)
        x, y, end, area = 0, 0, self.theta * negatives, Fraction(0)
        for rise, run in curve:
            part = min(Fraction(run), end - x)
            if part > 0:
                area += part * (y + rise * part / (2 * run))
            x, y = x + run, y + rise
        area /= positives * negatives
        return float(1 - area / self.divided_by + rational(self.lam) * leaves)

    def cost_of(self, tree: Tree) -> float:
        """As of :class:`Lines`."""
        objects = self.problem.objects
        held = np.zeros((tree.n_nodes, 2), np.int64)
        at = tree.apply(objects.table)[objects.row_of_object]
        np.add.at(held, (at, objects.label), self.mass)
        curve: Curve = ()
        for negatives, positives in held[held.any(axis=1)].tolist():
            curve = sum_of(curve, ((positives, negatives),))
        value, said = self._value_of_curve(curve, int(tree.is_end.sum())), self.said_of(tree)
        if not abs(value - said) <= ROUNDING:
            raise VerificationError(
                f"the tree's value is {value!r}, but its objective says {said!r}"
            )
        return value


@attrs.define
class RankedTrees:
    """Trees by their curves, of the sets that a line leaves.

    answers, p : of the line.   sums : curves that were added so far.
    """

    answers: np.ndarray
    p: int
    sums: int = 0

    def of_leaf(self, held: np.ndarray) -> list[RankedTree]:
        """The one, by its best answer."""
        negatives, positives = held[:2].tolist()
        cost = int((self.answers @ held[:2]).min()) + self.p
        return [(cost, 1, ((positives, negatives),))]

    def of_sides(
        self, one: list[RankedTree], rest: list[RankedTree], budget: int, paid: int
    ) -> list[RankedTree]:
        """All pairs within the budget.  Raises VerificationError where more than MOST_SUMS curves
        are added.
        """
        first, second = (np.array([tree[0] for tree in side], np.int64) for side in (one, rest))
        pairs = np.argwhere(first[:, None] + second[None] <= budget).tolist()
        self.sums += len(pairs)
        if self.sums > MOST_SUMS:
            raise VerificationError(f"its fronts add more than {MOST_SUMS:,} curves")
        return [
            (
                one[i][0] + rest[j][0],
                one[i][1] + rest[j][1],
                sum_of(one[i][2], rest[j][2]),
            )
            for i, j in pairs
        ]

    def front(self, found: list[list[RankedTree]], budget: int) -> list[RankedTree]:
        """Those within the budget that no other beats."""
        kept: list[RankedTree] = []
        for tree in sorted({tree for trees in found for tree in trees if tree[0] <= budget}):
            # what beats a tree costs no more: it comes before, or is as dear and may stay beside it
            if not any(other[1] <= tree[1] and reaches(other[2], tree[2]) for other in kept):
                kept.append(tree)
        return kept


def sum_of(one: Curve, rest: Curve) -> Curve:
    """The Minkowski sum of two curves."""
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(one) or j < len(rest):
        first = j == len(rest) or (
            i < len(one) and one[i][0] * rest[j][1] >= rest[j][0] * one[i][1]
        )
        rise, run = one[i] if first else rest[j]
        i, j = i + first, j + (not first)
        if found and found[-1][0] * run == rise * found[-1][1]:
            found[-1] = found[-1][0] + rise, found[-1][1] + run
        else:
            found.append((rise, run))
    return tuple(found)


def reaches(one: Curve, other: Curve) -> bool:
    """Whether a curve is at least as high as another of the same ends: at each corner of that."""
    i = x = y = 0
    right = up = 0
    for rise, run in other:
        right, up = right + run, up + rise
        while x + one[i][1] < right:
            x, y = x + one[i][1], y + one[i][0]
            i += 1
        high, wide = one[i]
        if (up - y) * wide > high * (right - x) if wide else up > y + high:
            return False
    return True
