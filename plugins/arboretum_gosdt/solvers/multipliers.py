"""Which prices of rates bound the trees that keep them best?  The dual of the limits, by planes.

With a multiplier m_k ≥ 0 for each pair of groups of each rate, D(m) = min over trees of cost +
Σ m_k (difference_k − room_k) is no more than the least cost of a tree that keeps all limits.  D is
concave, and every tree is a plane above it: the maximum of the lowest plane, a linear program, is
no less than that of D (Kelley 1960).  Half way between the best prices and those of the program
fewer planes are needed (Ben-Ameur & Neto 2007).

    planes ← trees that are known;  best ← 0
    repeat
        m', top ← the maximum of the planes
        stop where top is hardly above what is proven
        m ← (best + m') / 2, or m' where the last such m was no better
        search at m → a bound, proven, and a plane, its tree's
        where the bound is the highest so far:  best ← m

Invariants: no plane lies below D, so that ``top`` is no less than any bound a search can prove;
planes are floats and only propose, what is proven is whole numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from arboretum_gosdt.solvers.constraints import Price, Rates

DEAREST = 4.0
"""A difference of one in a rate costs at most so many times all losses."""
FINEST, LARGEST = 1 << 30, 1 << 52
"""Parts of the greatest multiplier, and the greatest number and divisor."""


def load_program() -> Callable[..., Any]:
    """Return the linear program's solver, which takes 0.3 s to import."""
    from scipy.optimize import linprog

    return linprog  # type: ignore[no-any-return]


class Dual:
    """Planes above the dual, by shares of groups: prices are losses for a difference of one.

    pairs : of each its rate, by its place, and both groups.
    limits : float[pairs], what shares may differ by.
    """

    def __init__(self, rates: Sequence[Rates], losses: float) -> None:
        self.rates, self.most = rates, DEAREST * losses
        self.pairs = [
            (r, g, h)
            for r, one in enumerate(rates)
            for g, h in itertools.permutations(range(len(one.sizes)), 2)
        ]
        self.limits = np.array(
            [rates[r].room(g, h) / self._pairs_of_rows(r, g, h) for r, g, h in self.pairs]
        )
        self.best, self.shown = np.zeros(len(self.pairs)), -math.inf
        self._costs = list[float]()
        self._over = list[np.ndarray]()

    def _pairs_of_rows(self, r: int, g: int, h: int) -> int:
        return self.rates[r].sizes[g] * self.rates[r].sizes[h]

    def add(self, cost: float, positives: Sequence[Sequence[int]]) -> np.ndarray:
        """Add a tree's plane, and return by how much it exceeds each limit, float[pairs].

        cost : in losses.
        positives : of each rate the weight of every group that the tree says yes to.
        """
        shares = [
            [y / n for y, n in zip(mine, one.sizes, strict=True)]
            for one, mine in zip(self.rates, positives, strict=True)
        ]
        apart = np.array([shares[r][g] - shares[r][h] for r, g, h in self.pairs])
        over: np.ndarray = apart - self.limits
        self._costs.append(cost)
        self._over.append(over)
        return over

    def next_prices(self, whole: bool) -> tuple[np.ndarray, float]:
        """Return prices, float[pairs], and what no bound exceeds, in losses.

        whole : the maximum of the planes itself, not half way there.
        """
        n = len(self.pairs)
        found = load_program()(
            np.append(np.zeros(n), -1.0),
            A_ub=np.column_stack([-np.array(self._over), np.ones(len(self._over))]),
            b_ub=np.array(self._costs),
            bounds=[(0, self.most)] * n + [(None, None)],
        )
        if found.status:  # planes of nearly one slope
            return self.best, -math.inf
        top = found.x[:n]
        return (top if whole else (self.best + top) / 2), float(found.x[n])

    def learn(self, prices: np.ndarray, shown: float) -> bool:
        """Keep prices if no others have shown as much; return whether.

        shown : the proven bound, in losses.
        """
        better = shown > self.shown
        if better:
            self.best, self.shown = prices, shown
        return better

    def multipliers(self, prices: np.ndarray, q: int) -> list[Price]:
        """Return the prices above 0 as multipliers with a common divisor, a power of two, in 1/q
        losses: numbers that a proof can hold.
        """
        each = [
            float(price) * q / self._pairs_of_rows(*pair)
            for price, pair in zip(prices, self.pairs, strict=True)
        ]
        if not max(each) > 0:
            return []
        exponent = math.floor(math.log2(FINEST / max(each)))
        divisor = 1 << max(0, min(exponent, LARGEST.bit_length() - 1))
        found = []
        for one, (r, g, h) in zip(each, self.pairs, strict=True):
            if number := min(round(one * divisor), LARGEST):
                found.append(Price(self.rates[r], g, h, Fraction(number, divisor)))
        return found
