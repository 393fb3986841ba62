"""Tests of m-of-n intervals, found greedily."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    CodedTests,
    Column,
    Encoded,
    Family,
    Interval,
    Threshold,
    param,
    sure,
)
from arboretum_classic.predicates.predicates import ALL, HANDLES, HOW_MANY, ranks_of_few_bins
from arboretum_classic.predicates.proposals import (
    Goal,
    best_interval,
    climb_interval,
    plain_numbers,
    within,
)
from arboretum_classic.predicates.rules import MOfN


@attrs.frozen
class MOfNIntervals:
    """Do at least m of n intervals hold their values: Σ [a_j ≤ x_j ≤ b_j] ≥ m, or ≤ d = m − 1; of
    several columns, or several of one.

    Intervals are added greedily, up to ``terms``: the one that is best by the proxy
    (:mod:`~arboretum_classic.predicates.proposals`) for some m; after each, every interval is put
    in question again until none changes. Then their ends, midpoints that divide the rows into
    ``size`` parts most evenly, move to the best of all midpoints, one after the other. All m of
    each number of intervals are proposed. O(p n log n) per node, and O(p t (n + s²)) per interval
    tried, s = ``size``, t = ``terms``, of which there are some t² · ``passes``.
    """

    kind, name, capabilities = "predicate", "m_of_n", HANDLES
    paper = "Murphy & Pazzani 1991, ID2-of-3"

    terms: int = param(3, "intervals of a test, at most", ge=1)
    size: int = param(12, "parts of a column between which intervals begin and end", ge=2)
    passes: int = param(3, "how often all intervals are put in question, at most", ge=0)
    columns: int = param(ALL, HOW_MANY, ge=0)

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[CodedTests]:
        """Return the tests of every m for 1, 2, … ``terms`` intervals, one code per number of
        intervals.

        None where no column of numbers (dates left out) varies at the node.
        """
        columns = plain_numbers(objects, rows, seed, self.columns)
        if not columns:
            return []
        goal, found = Goal.of(objects, rows), []
        chosen: list[Any] = []
        some, every = (_Pool.of(columns, goal, size) for size in (self.size, len(rows) + 1))
        while len(chosen) < self.terms:
            chosen, best = some.add_best_interval(chosen)
            for _ in range(self.passes if len(chosen) > 1 else 0):
                before = best
                for i in range(len(chosen)):
                    chosen, best = some.add_best_interval(chosen[:i] + chosen[i + 1 :])
                    chosen = [*chosen[:i], chosen[-1], *chosen[i:-1]]
                if best <= before * (1 + 1e-12):
                    break
            exact = every.refine_ends(
                [
                    (f, *within(some.cuts[f], every.cuts[f], first, last))
                    for f, first, last in chosen
                ]
            )
            found.append(every.tests(exact))
        return found


@attrs.frozen(eq=False)
class _Pool:
    """Intervals of some columns.

    codes : int64[n] bins of each, one more without a value; an interval is (column, first bin, last
        bin).
    """

    columns: Sequence[Column]
    codes: Sequence[np.ndarray]
    cuts: Sequence[np.ndarray]
    goal: Goal

    @staticmethod
    def of(columns: Sequence[Column], goal: Goal, size: int) -> _Pool:
        codes, cuts = zip(
            *(ranks_of_few_bins(column.values, size) for column in columns), strict=True
        )
        return _Pool(columns, codes, cuts, goal)

    def count_held(self, intervals: Sequence[tuple[int, int, int]]) -> np.ndarray:
        """Return int64[n]: how many of the intervals hold each row.

        intervals : (column, first bin, last bin) of each.
        """
        return sum(
            ((self.codes[f] >= a) & (self.codes[f] <= b) for f, a, b in intervals),
            np.zeros(len(self.goal.weight), np.int64),
        )

    def add_best_interval(
        self, chosen: list[tuple[int, int, int]]
    ) -> tuple[list[tuple[int, int, int]], float]:
        """Return the intervals with one more, that which is best by the proxy for some m, and its
        proxy.

        chosen : (column, first bin, last bin) of each interval.

        At least m hold where m did before, or m − 1 and the new one.
        """
        held, goal, best = self.count_held(chosen), self.goal, (-np.inf, (0, 0, 0))
        for m in range(1, len(chosen) + 2):
            base, undecided = goal.each[held >= m].sum(axis=0), held == m - 1
            for f, (codes, cuts) in enumerate(zip(self.codes, self.cuts, strict=True)):
                (first, last), score = best_interval(
                    goal, base, goal.by_bin(codes, cuts, undecided)
                )
                if score > best[0]:
                    best = score, (f, first, last)
        return [*chosen, best[1]], best[0]

    def refine_ends(self, chosen: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Return the same intervals, the ends of each moved once to where the proxy is highest for
        the m that is best now.

        chosen : (column, first bin, last bin) of each interval.
        """
        held, goal = self.count_held(chosen), self.goal
        m = 1 + int(
            np.argmax(
                [
                    float(goal.score(goal.each[held >= m].sum(axis=0)))
                    for m in range(1, len(chosen) + 1)
                ]
            )
        )
        for i, (f, first, last) in enumerate(chosen):
            held = self.count_held(chosen[:i] + chosen[i + 1 :])
            by_bin = goal.by_bin(self.codes[f], self.cuts[f], held == m - 1)
            chosen = [
                *chosen[:i],
                (f, *climb_interval(goal, goal.each[held >= m].sum(axis=0), by_bin, first, last)),
                *chosen[i + 1 :],
            ]
        return chosen

    def tests(self, chosen: list[tuple[int, int, int]]) -> CodedTests:
        """Return the tests of all m: its code is the number of intervals that do not hold.

        chosen : (column, first bin, last bin) of each interval.
        """
        order = sorted(range(len(chosen)), key=lambda i: chosen[i])
        places = [chosen[i] for i in order]
        names = tuple(self.columns[f].name for f, _, _ in places)
        low = tuple(float(self.cuts[f][a - 1]) if a else None for f, a, _ in places)
        high = tuple(
            float(self.cuts[f][b]) if b < len(self.cuts[f]) else None for f, _, b in places
        )
        n, held = len(places), self.count_held(places)
        lost = np.any([self.columns[f].missing for f, _, _ in places], axis=0)
        codes = np.where(lost, n + 1, n - held)[None]
        if n == 1:  # in the form that reads best
            alone = (
                Interval(names[0], low[0], high[0])
                if None not in low + high
                else Threshold(names[0], sure(low[0] if high[0] is None else high[0]))
            )
            codes = np.where(lost, 2, held == (high[0] is None))[None]
            return CodedTests(
                names,
                Family.thresholds,
                [2],
                lambda first, stop: codes[first:stop],
                lambda _, index: alone,
            )
        return CodedTests(
            tuple(dict.fromkeys(names)),
            Family.thresholds,
            [n + 1],
            lambda first, stop: codes[first:stop],
            lambda _, index: MOfN(names, low, high, n - index),
        )
