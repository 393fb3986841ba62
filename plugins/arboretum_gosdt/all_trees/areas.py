"""Areas under the ROC curve, bounded by additive costs.

const − Σ_leaves max_k (P Ω_k − N W_k) + λ · leaves is at most R(d) = 1 − area + λ · leaves.  A
concave curve lies below its tangents: on a piece of length ω_j its height is at most h(w_j) + w_j
x, for any slope w_j, with h(w) = Σ_leaves max(P − w N, 0) and P, N the shares of all positives and
negatives that a leaf holds.  For w_1 ≥ w_2 ≥ …, Ω_k and W_k are the sums of ω_j and ω_j w_j from j
= k on.  The slopes are sought that bound best (a bundle method, as of Lemaréchal 1975 and Kiwiel
1985).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from arboretum.api import decimal, rational
from arboretum_gosdt.all_trees.monotone import MOST, Room

PARTS = 1000
"""Lengths of tangents are rounded to so many parts, and what they gain to whole numbers: what
they bound stays true.
"""
PIECES, FINEST = 4, 30
"""Pieces of the tangents that are searched, few because each is one more answer of a leaf; and of
those that are sought.
"""
AXIS = np.linspace(0, 1, FINEST + 1) ** 1.5
"""Ends of the finest pieces, as shares of θ."""
MOST_COSTS, MOST_AGAIN = 12, 3
"""Tangents that are tried, at most; and of these such that bound hardly better."""
PROVABLE = 1 << 50
"""What a proof counts stays below, and an eighth of it for a leaf."""
PROGRESS = 0.05
"""Of a leaf's price: tangents that raise the bound by less count as hardly better."""
STEPS, STEEPEST, FLAT = 150, 7.0, 0.05
"""Steps of the bundle method; the logarithm of the greatest slope, and of the inverse of the least;
a slope that counts as none.
"""


class RankedLoss:
    """The loss of a ROC curve, in whole units of weight.

    objective : of shape ranking: ``lam``, ``false_positive_limit``, ``curve_loss`` and
        ``ranked_loss`` are asked of it.
    of_class : int64[objects, 2], weights of both classes, the second being positive.
    unit, most_leaves : not needed by it (see ``MonotoneLoss``).
    """

    curves = True

    def __init__(self, objective: Any, of_class: np.ndarray, unit: float, most_leaves: int) -> None:
        self.objective, self.of_class = objective, of_class
        self.negatives, self.positives = of_class.sum(axis=0).tolist()
        self.lines: dict[Tangents, int] = {}
        self._trees: list[np.ndarray] = []
        self._slopes = self._asked = (
            0.5 * (self._positions_and_lengths()[0] / objective.false_positive_limit()[0]) ** -0.5
        )
        self._again, self._bound = 0, -math.inf

    @property
    def columns(self) -> np.ndarray:
        """int64[objects, 1, 2]: positives and negatives."""
        return np.ascontiguousarray(self.of_class[:, None, ::-1])

    def values_of_trees(self, trees: Any) -> np.ndarray:
        """Return float64[trees], R of each, of trees as ``Fronts.trees`` hands them over."""
        found: np.ndarray = (
            self.objective.curve_loss(
                trees.value[:, :, 0].astype(float), trees.value[:, :, 1].astype(float)
            )
            + self.objective.lam * trees.leaves
        )
        return found

    def value_of_leaves(self, leaves: np.ndarray) -> tuple[float, np.ndarray]:
        """Return R of a tree whose leaves hold so much of each class (int64[leaves, 2]), and their
        answers, the heavier class.
        """
        value = self.objective.ranked_loss(leaves[:, 1].astype(float), leaves[:, 0].astype(float))
        return value + self.objective.lam * len(leaves), leaves.argmax(axis=1)

    def next_cost(self, best: np.ndarray, value: float) -> Tangents | None:
        """Return the tangents to search next, those that bound all trees best that are known; None:
        no others.

        best : int64[leaves, 2], of the best tree.
        value : R of the best tree; a bound that reaches it ends the search.
        """
        self._trees += [best] if all(one is not best for one in self._trees) else []
        if len(self.lines) >= MOST_COSTS or self._again > MOST_AGAIN or self._bound >= value:
            return None
        while self._again <= MOST_AGAIN:
            slopes = self._find_best_slopes() if self.lines else self._asked
            found = Tangents(self, *self._round_pieces(slopes))
            if found not in self.lines:
                self._asked = slopes
                return found
            self._again += 1
            self._slopes = np.sqrt(self._slopes * slopes)
        return None

    def record_least_cost(
        self, cost: Tangents, least: int, leaves: np.ndarray | None = None
    ) -> None:
        """Record that no tree costs less than ``least`` by the tangents ``cost``.

        leaves : int64[leaves, 2], of the one that costs so much.
        """
        bound = cost.value_of_cost(least)
        self._again += bound < self._bound + PROGRESS * self.objective.lam
        if bound > self._bound:
            self._slopes, self._bound = self._asked, bound
        self.lines[cost] = least
        self._trees += [] if leaves is None else [leaves]

    def cost_near(self, leaves: np.ndarray, wrong: np.ndarray) -> Tangents:
        """Return the tangents that bound a tree best.

        leaves : int64[leaves, 2], weights of both classes.   wrong : not needed.
        """
        self._trees = [leaves]
        return Tangents(self, *self._round_pieces(self._find_best_slopes()))

    def lower_bound(self, value: float) -> float:
        """Return a bound that no tree's value is below; at most ``value``."""
        return max(0.0, min(value, self._bound))

    def tightest_room(self, value: float) -> Room:
        """Return the searched tangents that bound all trees best, and the room that they leave to
        trees whose value is below ``value``.

        Negative room says that no such tree exists.  Some tangents must have been searched.
        """
        cost = max(self.lines, key=lambda one: one.value_of_cost(self.lines[one]))
        theta, unit = self.objective.false_positive_limit()
        # no two leaves are better, and one is not
        if value <= 1 - theta / unit + 2 * self.objective.lam:
            return Room(cost, -1, -1.0)
        budget = cost.budget_below(value)
        return Room(cost, budget, (budget - self.lines[cost]) / max(cost.p, 1))

    def _find_best_slopes(self) -> np.ndarray:
        """Return float64[pieces], slopes of tangents that bound all known trees best, not far from
        the best slopes searched: a bundle method.

        The bound that slopes give for one tree is a concave function of them, and so is the least
        of all trees'.
        """
        theta, unit = self.objective.false_positive_limit()
        lam, (middle, length) = self.objective.lam, self._positions_and_lengths()
        share = np.diff(AXIS)  # θ may be so small that nothing may be divided by it
        held = min(lam, 1.0)  # to the best slopes
        rise, run = (
            np.concatenate([tree[:, k] / one for tree in self._trees])
            for k, one in ((1, self.positives), (0, self.negatives))
        )
        starts = np.cumsum([0, *map(len, self._trees[:-1])])
        leaves = np.array([len(tree) for tree in self._trees])
        found, at, most = np.log(self._slopes), np.log(self._slopes), -math.inf
        for k in range(STEPS):
            slopes = np.exp(at)
            height = rise[:, None] - run[:, None] * slopes
            above = np.add.reduceat(np.maximum(height, 0), starts) + slopes * middle
            bounds = 1 - above @ length / unit + lam * leaves
            i, away = int(bounds.argmin()), at - np.log(self._slopes)
            if (value := bounds[i] - held * (away**2 @ share)) > most:
                found, most = at.copy(), value
            mine = slice(starts[i], starts[i] + leaves[i])
            fall = ((run[mine, None] * (height[mine] > 0)).sum(axis=0) - middle) * slopes * (
                theta / unit
            ) - 2 * held * away
            at = np.clip(
                at + fall / (math.sqrt((fall**2 @ share) * (k + 1)) + 1e-12) / 2,
                -STEEPEST,
                STEEPEST,
            )
        made: np.ndarray = np.exp(found)
        return made

    def _positions_and_lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Return float64[pieces] each, middles and lengths of the finest pieces of the axis of
        false positive rates, shorter where curves bend most.
        """
        ends = self.objective.false_positive_limit()[0] * AXIS
        return (ends[1:] + ends[:-1]) / 2, np.diff(ends)

    def _round_pieces(self, slopes: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Join neighbours of like slopes until there are PIECES; return their lengths in θ / PARTS
        and what they gain, length · slope · N⁺ / N⁻, the steepest first.

        slopes : float64[pieces], of the finest pieces.
        """
        theta = self.objective.false_positive_limit()[0]
        pieces = list(zip(self._positions_and_lengths()[1].tolist(), slopes.tolist(), strict=True))
        while len(pieces) > PIECES:
            # how much the curve moves where two neighbours become one; the least is joined
            bends = [
                v * w / (v + w) * math.log((s + FLAT) / (t + FLAT)) ** 2
                for (v, s), (w, t) in itertools.pairwise(pieces)
            ]
            i = bends.index(min(bends))
            (v, s), (w, t) = pieces[i : i + 2]
            pieces[i : i + 2] = [(v + w, (v * s + w * t) / (v + w))]
        ends = [round(PARTS * one / theta) for one in np.cumsum([0.0] + [w for w, _ in pieces])]
        ends[-1] = PARTS
        lengths = [b - a for a, b in itertools.pairwise(ends)]
        gains = [
            round(length * slope * self.positives / self.negatives)
            for length, (_, slope) in zip(lengths, pieces, strict=True)
        ]
        both = sorted(
            (
                (Fraction(gain, length), length, gain)
                for length, gain in zip(lengths, gains, strict=True)
                if length
            ),
            reverse=True,
        )
        return tuple(length for _, length, _ in both), tuple(gain for _, _, gain in both)


@attrs.frozen
class Tangents:
    """const − Σ_leaves max_k (P Ω_k − N W_k) + λ · leaves, in 1 / (q · PARTS/θ · N⁺).

    lengths : of the pieces, in θ / PARTS.   gains : length · slope · N⁺ / N⁻ of each.
    """

    loss: RankedLoss = attrs.field(repr=False, eq=False)
    lengths: tuple[int, ...]
    gains: tuple[int, ...]

    @property
    def _limit_and_unit(self) -> tuple[Fraction, Fraction]:
        theta, divisor = self.loss.objective.false_positive_limit()
        return decimal(theta), decimal(divisor)

    @property
    def _scale(self) -> Fraction:
        """Value 1 in units of gain."""
        theta, divisor = self._limit_and_unit
        found: Fraction = PARTS / theta * self.loss.positives * divisor
        return found

    @property
    def q(self) -> int:
        """Factor of ``cost`` in what is minimised, q · Σ cost + p · leaves: the denominator of λ in
        units of gain, 2¹⁶ at most, and less where costs would not fit into a proof.
        """
        price = rational(self.loss.objective.lam) * self._scale
        most = (len(self.gains) + 1) * (
            sum(self.gains) * self.loss.negatives + PARTS * self.loss.positives
        )
        fits = min(PROVABLE // most, PROVABLE // (8 * math.ceil(price) or 1))
        found: int = max(1, min(price.denominator, 1 << 16, fits))
        return found

    @property
    def p(self) -> int:
        """Price of a leaf in q · Σ cost + p · leaves: λ in units of gain times q, rounded down, and
        MOST / (4 · objects) at most.
        """
        # a lower price is a bound as well
        return min(
            math.floor(rational(self.loss.objective.lam) * self._scale * self.q),
            MOST // (4 * len(self.loss.of_class)),
        )

    @property
    def name(self) -> tuple[list[int], list[int], int, int]:
        """As a proof names it (:mod:`arboretum.proof.areas`)."""
        return [*self.lengths], [*self.gains], self.q, self.p

    @property
    def constant(self) -> int:
        """What a tree of cost 0 costs by the tangents themselves."""
        return -self.q * int(self._gain.max(axis=1).sum())

    @property
    def _gain(self) -> np.ndarray:
        """int64[objects, answers]: P Ω_k − N W_k"""
        k = range(len(self.lengths) + 1)
        omega, slope = (
            np.array([sum(one[i:]) for i in k], np.int64) for one in (self.lengths, self.gains)
        )
        return self.loss.of_class[:, 1:] * omega - self.loss.of_class[:, :1] * slope

    @property
    def cost(self) -> np.ndarray:
        """int64[objects, answers] ≥ 0: what an object gains less by an answer than by its best one,
        max_j (P Ω_j − N W_j) − (P Ω_k − N W_k).
        """
        gain = self._gain
        found: np.ndarray = gain.max(axis=1, keepdims=True) - gain
        return found

    @property
    def _shift(self) -> Fraction:
        """Value of a tree of cost 0, in units of gain."""
        # Σ_j gain_j · N⁻ · middle of the piece, on the axis from 0 to 1
        at, area = Fraction(0), Fraction(0)
        theta, _ = self._limit_and_unit
        for length, gain in zip(self.lengths, self.gains, strict=True):
            middle = (at + Fraction(length, 2)) * theta / PARTS
            area, at = area + gain * self.loss.negatives * middle, at + length
        return self._scale - area - int(self._gain.max(axis=1).sum())

    def budget_below(self, value: float) -> int:
        """Return what trees of R below ``value`` can cost at most, q · Σ cost + p · leaves."""
        return math.floor((Fraction(value) * self._scale - self._shift) * self.q)

    def value_of_cost(self, cost: int) -> float:
        """Return the value R that no tree is below which costs so much or more, q · Σ cost + p ·
        leaves.
        """
        return float((Fraction(cost, self.q) + self._shift) / self._scale)
