"""Tests of an interval: is a number within [a, b]?"""

from collections.abc import Sequence

import attrs
import numpy as np

from arboretum.api import (
    CodedTests,
    Column,
    Encoded,
    Family,
    Interval,
    TestRule,
    Threshold,
    param,
)
from arboretum_classic.predicates.predicates import (
    ALL,
    HANDLES,
    HOW_MANY,
    columns_of,
    ranks,
    ranks_of_few_bins,
)
from arboretum_classic.predicates.proposals import Goal, best_interval, climb_interval, within


@attrs.frozen
class Intervals:
    """Is a number within [a, b]: all pairs of midpoints at the node, thresholds among them; O(p n
    (log n + s) + p s²), s = ``size``.

    Where a column has more than ``size`` distinct values at the node, ends are the midpoints that
    divide the rows into ``size`` parts most evenly; besides, the best of these by the proxy
    (:mod:`~arboretum_classic.predicates.proposals`), each end moved in turn among all midpoints
    until neither helps.
    """

    kind, name, paper, capabilities = "predicate", "interval", "", HANDLES

    size: int = param(64, "distinct values of a column up to which all intervals compete", ge=2)
    columns: int = param(ALL, HOW_MANY, ge=0)

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[CodedTests]:
        """Return all intervals of each column of numbers, a code for each bin in which they begin.

        Where a column has more than ``size`` values at the node, bins are at most ``size`` parts of
        its rows; with three or more of them the best interval found among all midpoints competes,
        too.
        """
        goal, found = Goal.of(objects, rows), []
        for column in columns_of(objects, rows, seed, self.columns):
            if column.is_continuous:
                codes, cuts = ranks(column.values)
                some = ranks_of_few_bins(column.values, self.size)
                found.append(_interval_tests(column, *some))
                if len(some[1]) < len(cuts) and len(some[1]) > 1:
                    found.append(_best_interval(column, goal, some, (codes, cuts)))
        return found


def _interval_tests(column: Column, codes: np.ndarray, cuts: np.ndarray) -> CodedTests:
    """Return the intervals of a column: code a has the bins a, a + 1, … and one for all others, the
    last bin among them: its thresholds are the intervals that begin at bin a.

    codes : int64[rows], the bin of each value between the cuts, float64[m]; m + 1 without a value.

    One that ends at the last bin is a threshold, and code 0 has it.
    """
    last = len(cuts)

    def shifted(first: int, stop: int) -> np.ndarray:
        start = np.arange(first, stop)[:, None]
        inside = (codes >= start) & (codes < last)
        return np.where(codes > last, last + 1, np.where(inside, codes, last)) - start

    def rule(start: int, index: int) -> TestRule:
        """Return the test of code ``start`` with that index."""
        high = float(cuts[start + index])
        return (
            Interval(column.name, float(cuts[start - 1]), high, unit=column.unit)
            if start
            else Threshold(column.name, high, column.unit)
        )

    return CodedTests(
        (column.name,), Family.thresholds, last + 1 - np.arange(max(last, 1)), shifted, rule
    )


def _best_interval(
    column: Column,
    goal: Goal,
    some: tuple[np.ndarray, np.ndarray],
    every: tuple[np.ndarray, np.ndarray],
) -> CodedTests:
    """Return the best interval between some cuts, its ends moved among all.

    some, every : (codes, cuts).
    """
    nothing = np.zeros(goal.each.shape[1])
    (first, last), _ = best_interval(goal, nothing, goal.by_bin(*some))
    first, last = climb_interval(
        goal, nothing, goal.by_bin(*every), *within(some[1], every[1], first, last)
    )
    codes, cuts = every
    low = float(cuts[first - 1]) if first else None
    high = float(cuts[last]) if last < len(cuts) else None
    rule = Interval(column.name, low, high, unit=column.unit)
    code = np.where(codes > len(cuts), 2, (codes < first) | (codes > last))[None]
    return CodedTests(
        (column.name,), Family.thresholds, [2], lambda a, b: code[a:b], lambda _, index: rule
    )
