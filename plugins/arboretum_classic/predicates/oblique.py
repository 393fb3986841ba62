"""Oblique tests: a weighted sum of columns against a bound, found by coordinate search (Murthy,
Kasif & Salzberg 1994).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from arboretum.api import CodedTests, Column, Encoded, Family, param
from arboretum_classic.predicates.predicates import (
    ALL,
    HANDLES,
    HOW_MANY,
    generator_of,
    ranks,
    thresholds,
)
from arboretum_classic.predicates.proposals import Goal, plain_numbers, rounded
from arboretum_classic.predicates.rules import Oblique

# a coefficient below that part of the largest, both per standard deviation, is left out
FLAT = 0.01
STILL = 1e-12  # a row that moves no faster never changes sides
JUMPS = 3  # random directions tried at a point that no coordinate leaves


@attrs.frozen
class ObliqueSums:
    """Weighted sums of columns: Σ c_j x_j ≤ t.

    From the best single column, from logistic regressions (a least-squares fit for numbers) and
    from ``restarts`` random directions, one coefficient at a time is moved to where the proxy is
    highest (decrease of gini, or of variance), the bound as well, and where none helps along random
    directions; O(r q p s log s) per node, r the starts, q = ``passes``, s = min(n, ``sample``)
    rows, p columns. Of the best directions every bound is proposed, over all rows.  Columns are
    scaled while searched and a missing value counts as the mean there; a row that misses one of the
    values that the final sum reads has no outcome.
    """

    kind, name, capabilities = "predicate", "oblique", HANDLES
    paper = "Murthy, Kasif & Salzberg 1994, OC1"

    restarts: int = param(
        3, "random directions to start from, beside the best column and the regressions", ge=0
    )
    passes: int = param(5, "how often all coefficients are moved, at most", ge=0)
    terms: int = param(ALL, "columns of a sum, at most; 0: any number", ge=0)
    keep: int = param(3, "directions whose bounds are proposed", ge=1)
    digits: int = param(3, "significant digits of coefficients", ge=1, le=15)
    sample: int = param(
        2000,
        "rows of a node that the search looks at, drawn by the seed; all rows choose the bound",
        ge=2,
    )
    single: bool = param(True, "thresholds of single columns compete, too")
    columns: int = param(ALL, HOW_MANY, ge=0)

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[CodedTests]:
        """Return all bounds of at most ``keep`` weighted sums, and thresholds of single columns.

        The latter with ``single``, and where no sum of two columns is found.  Dates are left out.
        """
        columns = plain_numbers(objects, rows, seed, self.columns)
        found = (
            [thresholds(column, *ranks(column.values)) for column in columns]
            if self.single or len(columns) == 1
            else []
        )
        if len(columns) < 2:
            return found
        values = np.stack([column.values.astype(float) for column in columns])
        seen = set[object]()
        for weights in self._directions(values, Goal.of(objects, rows), generator_of(seed, rows)):
            chosen = _round_coefficients(weights, np.nanstd(values, axis=1), self.digits)
            if len(chosen) > 1 and chosen not in seen and len(seen) < self.keep:
                seen.add(chosen)
                found.append(
                    _bounds_of_sum(
                        [columns[j] for j, _ in chosen],
                        tuple(c for _, c in chosen),
                        values[[j for j, _ in chosen]],
                    )
                )
        return found or [thresholds(column, *ranks(column.values)) for column in columns]

    def _directions(
        self, values: np.ndarray, goal: Goal, generator: np.random.Generator
    ) -> list[np.ndarray]:
        """Return float64[p] each, per standard deviation: the best point that each start leads to,
        best first.

        values : float64[p, n], by column.
        """
        spread = np.nanstd(values, axis=1, keepdims=True)
        X = np.nan_to_num((values - np.nanmean(values, axis=1, keepdims=True)) / spread).T
        if len(X) > self.sample:
            some = np.sort(generator.choice(len(X), self.sample, replace=False))
            X, goal = X[some], goal.take(some)
        ends = [
            self._improve_by_moves(X, goal, start, generator)
            for start in self._starts(X, goal, generator)
        ]
        return [weights for _, weights in sorted(ends, key=lambda end: -end[0])]

    def _starts(
        self, X: np.ndarray, goal: Goal, generator: np.random.Generator
    ) -> Iterator[np.ndarray]:
        """Yield the directions that a search starts from, float64[p] each.

        X : float64[n, p], per standard deviation.
        """
        p = X.shape[1]
        zero, unit = np.zeros(len(X)), np.eye(p)
        yield unit[max(range(p), key=lambda j: _best_move(zero, X[:, j], goal, constant=True)[1])]
        yield from (self._limited(weights) for weights in _regress_majority_classes(X, goal))
        for weights in generator.normal(size=(self.restarts, p)):
            yield self._limited(weights)

    def _limited(self, weights: np.ndarray) -> np.ndarray:
        """Return the same with at most ``terms`` weights that are not 0: the largest."""
        if not self.terms or self.terms >= len(weights):
            return weights
        return np.where(np.abs(weights) >= np.sort(np.abs(weights))[-self.terms], weights, 0.0)

    def _improve_by_moves(
        self, X: np.ndarray, goal: Goal, weights: np.ndarray, generator: np.random.Generator
    ) -> tuple[float, np.ndarray]:
        """Move coefficients and the bound until nothing helps; return proxy and weights.

        X : float64[n, p], per standard deviation; weights : float64[p], to begin with.
        """
        side, weights = X @ weights, weights.copy()  # a row is above where its side is > 0
        move, score = _best_move(side, np.ones(len(X)), goal)
        side = side + move
        for _ in range(self.passes):
            before = score
            for j in range(X.shape[1]):
                if self.terms and weights[j] == 0.0 and np.count_nonzero(weights) >= self.terms:
                    continue
                move, better = _best_move(side, X[:, j], goal)
                if better > score * (1 + 1e-12):
                    weights[j], side, score = weights[j] + move, side + move * X[:, j], better
            move, better = _best_move(side, np.ones(len(X)), goal)
            if better > score * (1 + 1e-12):
                side, score = side + move, better
            if score > before * (1 + 1e-9):
                continue
            for jump in generator.normal(size=(JUMPS, X.shape[1])):
                jump = np.where(weights != 0.0, jump, 0.0) if self.terms else jump
                move, better = _best_move(side, X @ jump, goal)
                if better > score * (1 + 1e-9):
                    weights, side, score = weights + move * jump, side + move * (X @ jump), better
                    break
            else:
                break
        return score, weights


def _best_move(
    side: np.ndarray, along: np.ndarray, goal: Goal, constant: bool = False
) -> tuple[float, float]:
    """Return the move m for which rows with side + m · along > 0 against the rest are best by the
    proxy, and its proxy.

    side, along : float64[n].
    constant : side is 0 everywhere, so that rows are told apart by along alone: side + m · along >
        0 there means along > −m.

    Each row changes sides at one m, −side / along: in their order sums are carried along.
    """
    if constant:
        side, along = along, np.ones(len(along))
    moving = np.flatnonzero(np.abs(along) > STILL)
    turn = -side[moving] / along[moving]
    order = np.argsort(turn, kind="stable")
    moving, turn = moving[order], turn[order]
    # below all turns a row with along > 0 is not above; going up it comes above, and the others
    # leave
    sign = np.where(along[moving] > 0, 1.0, -1.0)
    above = (along < -STILL) | ((np.abs(along) <= STILL) & (side > 0))
    each = np.column_stack([goal.parts, goal.weight])
    sums = each[above].sum(axis=0) + np.concatenate(
        [np.zeros((1, each.shape[1])), np.cumsum(each[moving] * sign[:, None], axis=0)]
    )
    scores = goal.proxy(sums[:, :-1], sums[:, -1])
    scores[1:-1][turn[1:] == turn[:-1]] = -np.inf
    best = int(scores.argmax())
    if not len(turn) or best in (0, len(turn)):
        return (0.0 if not len(turn) else turn[0] - 1.0 if best == 0 else turn[-1] + 1.0), float(
            scores[best]
        )
    return float(turn[best - 1] / 2.0 + turn[best] / 2.0), float(scores[best])


def _regress_majority_classes(X: np.ndarray, goal: Goal, rounds: int = 8) -> Iterator[np.ndarray]:
    """Yield float64[p] each: logistic regression of the majority classes against the rest (at most
    3; one of two classes); least squares for numbers.

    X : float64[n, p]; rounds : of Newton's method.
    A ridge of a thousandth of the weight keeps coefficients finite where a line separates the
    classes.
    """
    Z, weight, ridge = np.column_stack([X, np.ones(len(X))]), goal.weight, 1e-3 * goal.weight.sum()
    penalty = ridge * np.eye(Z.shape[1])
    if goal.parts.shape[1] == 1:  # numbers
        yield np.linalg.solve((Z * weight[:, None]).T @ Z + penalty, Z.T @ goal.parts[:, 0])[:-1]
        return
    heaviest = np.argsort(-goal.parts.sum(axis=0), kind="stable")
    for one in heaviest[: 1 if len(heaviest) == 2 else 3]:
        beta = np.zeros(Z.shape[1])
        for _ in range(rounds):  # Newton's method
            p = 1.0 / (1.0 + np.exp(-np.clip(Z @ beta, -30.0, 30.0)))
            curved = (Z * (weight * p * (1.0 - p))[:, None]).T @ Z + penalty
            beta = beta + np.linalg.solve(
                curved, Z.T @ (goal.parts[:, one] - weight * p) - ridge * beta
            )
        yield beta[:-1]


def _round_coefficients(
    weights: np.ndarray, spread: np.ndarray, digits: int
) -> tuple[tuple[int, float], ...]:
    """Return (column, coefficient) in the columns' own units: the weightiest column's is 1 or −1,
    the first one positive, others rounded; () where all are 0.

    weights : float64[p], per standard deviation; spread : float64[p], the standard deviations.
    digits : kept of a coefficient.
    """
    largest = int(np.abs(weights).argmax())
    if not weights[largest]:
        return ()
    own = weights / spread / (abs(weights[largest]) / spread[largest])
    kept = np.flatnonzero(np.abs(weights) >= FLAT * abs(weights[largest]))
    sign = np.sign(own[kept[0]])
    return tuple((int(j), rounded(float(sign * own[j]), digits)) for j in kept)


def _bounds_of_sum(
    columns: Sequence[Column], coefficients: tuple[float, ...], values: np.ndarray
) -> CodedTests:
    """Return all bounds of one sum, one code.

    values : float64[columns, rows].
    """
    names = tuple(column.name for column in columns)
    codes, cuts = ranks(Oblique(names, coefficients, 0.0).total(list(values)))
    rule = lambda _, index: Oblique(names, coefficients, float(cuts[index]))
    return CodedTests(
        names, Family.thresholds, [len(cuts) + 1], lambda first, stop: codes[None][first:stop], rule
    )
