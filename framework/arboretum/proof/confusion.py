"""Does a bound of a loss of false positives and false negatives follow?  From lines, which records
show, from trees of up to three leaves, which are counted, and from fronts of what lines leave.

A tree has (f, g, h): the weights of its false positives and false negatives, in whole multiples of
the weights' common divisor, and its leaves; its value is R = loss(f, g) + λ h.  To show: no tree
has R < B.  What is relied on:

1. *Lines* (:mod:`.lines`).  Records show of some weights (a, b, p) that every tree costs a f + b g
   + p h ≥ L.
2. *The loss falls neither with f nor with g.*  That is tried, on all pairs of them where these are
   few, else on a grid; what was not tried is taken on trust, and said so.  Then for h leaves and f
   from f₀ to f₁, g is at least what the lines demand at f₁, and R at least loss(f₀, g) + λ h.  Such
   steps are halved as long as that is below B.
3. *Few leaves.*  Where trees of one to three leaves are left by the lines, all these are counted.
4. *Fronts.*  Where others are left, these cost a f + b g + p h ≤ C by one of the lines, C being the
   most that a step that is left allows: all of them are gone through, set by set
   (:mod:`.fronts`), and the least of their values is taken.

If some part fails, what follows is the least R of what is left, which may be less than is claimed.
Values are floats, and compared up to ``ROUNDING``.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from arboretum.errors import ArboretumError, VerificationError
from arboretum.interfaces.monotony import monotone_losses
from arboretum.model.real_numbers import real_numbers
from arboretum.model.tree import Tree
from arboretum.proof.fronts import CountedTrees
from arboretum.proof.lines import DEAREST, ROUNDING, OfTwoClasses, are_counts

SUMMED = 1e-12
"""By so much, relatively, sums of floats may be off."""
TRIED = 200
"""Numbers of false positives, and of false negatives, of the grid on which a loss is tried."""
ALL_TRIED = 1 << 16
"""Pairs that are all tried."""
STEPS, MOST_STEPS = 64, 20_000
"""Steps of the false positives for each number of leaves at first, and together at last."""
MOST_LEAVES = 10_000
"""Leaves of trees that are looked at, at most, so that what they cost fits into 62 bits together.
"""
FEW = 3
"""Leaves of trees that are counted."""


class Confusion(OfTwoClasses):
    """Lines are named by (a, b, p); what is left of trees is steps of their false positives."""

    form = "[a, b, p, records]"

    @classmethod
    def is_line(cls, line: list[Any]) -> bool:
        """As of :class:`Lines`."""
        return len(line) == 3 and are_counts(line)

    def costs_of(self, *line: Any) -> tuple[list[tuple[int, int]], int]:
        """As of :class:`OfTwoClasses`: where a leaf says the second class, and the first."""
        a, b, p = line
        if not (a > 0 and b > 0 and p < DEAREST and (p > 0) == (self.lam > 0)):
            raise VerificationError(
                "weights of a line lie above 0, a leaf's below 2^48 and above 0 where λ is; got "
                f"{list(line)}"
            )
        return [(a, 0), (0, b)], p

    def prepare(self) -> None:
        """Try that the loss does not fall.  Raises VerificationError."""
        super().prepare()
        whole = int((self.total[0] + 1) * (self.total[1] + 1)) <= ALL_TRIED
        grid = [
            np.arange(most + 1)
            if whole
            else np.unique(np.linspace(0, most, TRIED).astype(np.int64))
            for most in self.total.tolist()
        ]
        positives, negatives = self.total[1] * self.unit, self.total[0] * self.unit
        try:
            monotone_losses(
                self.objective, grid[0] * self.unit, grid[1] * self.unit, positives, negatives
            )
        except ArboretumError as error:
            raise VerificationError(str(error)) from None
        self._tried, self._few = whole, dict[tuple[int, int], float]()

    def loss(self, fp: Any, fn: Any) -> np.ndarray:
        """float64, of the shape of both: the loss at weights in whole multiples."""
        return real_numbers(
            self.objective.loss(
                np.asarray(fp, np.float64) * self.unit,
                np.asarray(fn, np.float64) * self.unit,
                self.total[1] * self.unit,
                self.total[0] * self.unit,
            ),
            f"objective {self.objective.name}: loss",
        )

    def left_by_lines(self, depth: int, leaves: int) -> tuple[np.ndarray, float]:
        """As of :class:`Lines`: steps, without those of few leaves, which are counted."""
        left, best = self.steps_left(), self.of_many_leaves()
        if len(left) and left[:, 0].min() <= FEW:
            best = min(best, self.least_of_few_leaves(depth, leaves))
            left = left[left[:, 0] > FEW]
        return left, best

    def least_left(self, left: np.ndarray) -> float:
        """As of :class:`Lines`."""
        return float(left[:, 4].min())

    def of_many_leaves(self) -> float:
        """The least value of trees of more leaves than are looked at; ∞: there are none."""
        most = min(len(self.weights), self._limits.max_leaves or len(self.weights))
        many = MOST_LEAVES + 1
        if not self.lam:
            return np.inf
        return float(self.loss(0, 0)) + self.lam * many if most >= many else np.inf

    def steps_left(self) -> np.ndarray:
        """float64[steps, 5], where the lines leave room below the target: leaves, the first and the
        last false positives, the fewest false negatives, and the least value.
        """
        least = float(self.loss(0, 0))
        free = self.target - ROUNDING - least
        if free <= 0:
            return np.empty((0, 5))
        if self.lam:  # of more leaves no tree is below the target
            most = min(free / self.lam, MOST_LEAVES, len(self.weights))
            most = int(min(most, self._limits.max_leaves or most))
            leaves = np.arange(1, max(1, most) + 1)
        else:  # one step stands for any number, as leaves cost nothing
            leaves = np.array([FEW + 1])
        cuts = np.unique(np.linspace(0, self.total[0], STEPS + 1).astype(np.int64))
        first, last = cuts, np.append(cuts[1:] - 1, self.total[0])
        kept = first <= last
        steps = np.stack(
            [
                np.repeat(leaves, kept.sum()),
                np.tile(first[kept], len(leaves)),
                np.tile(last[kept], len(leaves)),
            ],
            axis=1,
        )
        done: list[np.ndarray] = []
        while True:
            fewest = np.zeros(len(steps), np.int64)
            for line, shown in zip(self.lines, self.least, strict=True):
                a, b, p = line.name
                rest = shown - a * steps[:, 2] - p * steps[:, 0]
                np.maximum(fewest, -(-rest // b), out=fewest)
            there = fewest <= self.total[1]
            steps, fewest = steps[there], fewest[there]
            value = self.loss(steps[:, 1], fewest) + self.lam * steps[:, 0]
            open_ = value < self.target - ROUNDING
            steps, fewest, value = steps[open_], fewest[open_], value[open_]
            wide = steps[:, 2] > steps[:, 1]
            wide &= len(steps) + sum(len(one) for one in done) < MOST_STEPS
            done.append(np.column_stack([steps, fewest, value])[~wide])
            if not wide.any():
                return np.concatenate(done)
            middle = (steps[wide, 1] + steps[wide, 2]) // 2
            below, above = steps[wide].copy(), steps[wide].copy()
            below[:, 2], above[:, 1] = middle, middle + 1
            steps = np.concatenate([below, above])

    def least_of_few_leaves(self, depth: int, leaves: int) -> float:
        """The least value of trees of few leaves, counted at the first call."""
        if (depth, leaves) not in self._few:
            self._few[depth, leaves] = self._count_few_leaves(depth, leaves)
        return self._few[depth, leaves]

    def _count_few_leaves(self, depth: int, leaves: int) -> float:
        """The least value of trees of one, two and three leaves within limits; −1: none.

        A leaf of no rows counts, where one row is enough: without it there is a better tree.
        """
        most = min(FEW, leaves if leaves > 0 else FEW, FEW if depth < 0 else depth + 1)
        need = self._limits.min_leaf
        # sums of whole numbers below 2^24 are exact in 32 bits
        kind = np.float32 if self.weights.sum(axis=0).max() < 1 << 24 else np.float64
        weights = self.weights if need > 1 else self.weights[:, :2]
        has, whole = self.columns.has.astype(kind), weights.sum(axis=0).astype(kind)
        best = float(min(self.loss(whole[0], 0.0), self.loss(0.0, whole[1]))) + self.lam
        if most < 2 or not has.shape[1]:
            return best
        inside = (has.T @ weights.astype(kind)).T  # [numbers, tests]
        rest = whole[:, None] - inside
        best = min(best, self._least_of_leaves([inside, rest], need))
        if most < 3:
            return best
        both = np.stack([pairs_of(has, column.astype(kind)) for column in weights.T])
        for of, other in ((inside, rest), (rest, inside)):
            one = both if of is inside else inside[:, None] - both
            two = of[:, :, None] - one
            best = min(best, self._least_of_leaves([one, two, other[:, :, None]], need))
        return best

    def _least_of_leaves(self, leaves: list[np.ndarray], need: int) -> float:
        """The least value of trees of these leaves, [numbers, …] each, over their answers.

        need : rows in a leaf, the third number, if it is above 1.
        """
        found, allowed = np.inf, np.array(0.0)
        if need > 1:
            enough = np.array(True)
            for leaf in leaves:
                enough = enough & (leaf[2] >= need)
            allowed = np.where(enough, 0.0, np.inf)
        for answers in itertools.product((0, 1), repeat=len(leaves)):
            fp, fn = (
                sum(
                    (leaf[k] for leaf, says in zip(leaves, answers, strict=True) if says != k),
                    np.zeros((1,) * (leaves[0].ndim - 1)),
                )
                for k in (0, 1)
            )
            found = min(found, float((self.loss(*np.broadcast_arrays(fp, fn)) + allowed).min()))
        return found + self.lam * len(leaves)

    def budget(self, left: np.ndarray, k: int) -> int:
        """As of :class:`Lines`."""
        a, b, p = self.lines[k].name
        most = self._most_false_negatives(left)
        ends, leaves = left[:, 2].astype(np.int64), left[:, 0].astype(np.int64)
        return int((a * ends + b * most + p * leaves).max())

    def trees(self) -> CountedTrees:
        """As of :class:`Lines`."""
        return CountedTrees(np.array(self.lines[self.fronts].name))

    def _most_false_negatives(self, left: np.ndarray) -> np.ndarray:
        """int64[steps], the most false negatives of trees of a step that are below the target."""
        low, high = left[:, 3].astype(np.int64), np.full(len(left), self.total[1])
        while (low < high).any():
            middle = (low + high + 1) // 2
            under = self.loss(left[:, 1], middle) + self.lam * left[:, 0] < self.target - ROUNDING
            low, high = np.where(under, middle, low), np.where(under, high, middle - 1)
        return low

    def least_of_fronts(self, trees: np.ndarray) -> float:
        """The least value of trees, int64[trees, 3]: false positives, false negatives, leaves."""
        most = self._limits.max_leaves
        trees = trees if most is None else trees[trees[:, 2] <= most]
        if not len(trees):
            return np.inf
        return float((self.loss(trees[:, 0], trees[:, 1]) + self.lam * trees[:, 2]).min())

    def cost_of(self, tree: Tree) -> float:
        """As of :class:`Lines`."""
        objects = self.problem.objects
        says = tree.predict(objects.table)[objects.row_of_object]
        wrong = says != objects.label
        fp, fn = (int(self.mass[wrong & (says == k)].sum()) for k in (1, 0))
        paid = self.lam * int(tree.is_end.sum())
        value = float(self.loss(fp, fn)) + paid
        said = self.said_of(tree)
        # its sums are of floats, of which a root may make much
        low, high = (float(self.loss(fp * by, fn * by)) + paid for by in (1 - SUMMED, 1 + SUMMED))
        if not low - ROUNDING <= said <= high + ROUNDING:
            raise VerificationError(
                f"the tree's value is {value!r}, but its objective says {said!r}"
            )
        return value

    @property
    def assumed(self) -> str:  # type: ignore[override]
        """What is not shown, as an accepted proof says it; "" where it is nothing."""
        if self._tried:
            return ""
        return (
            "the loss falls neither with false positives nor with false negatives; tried on a grid "
            f"of {TRIED} of each"
        )


def pairs_of(has: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """[columns, columns], what weighs that has both of two columns.   has : [objects, columns];
    weight : [objects].
    """
    some = weight > 0
    mine = has[some]
    return np.asarray((mine * weight[some][:, None]).T @ mine)
