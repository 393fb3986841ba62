"""What trees cost at least by their first test, where tests are thresholds of columns: by the
search over intervals of cuts, before any set is bounded.

A tree of some leaves has one split less, so that it costs as much as its loss, a leaf, and a price
of p for every split.  The best trees of two levels, found at once, bound by how much trees may cost
more than the best that the search of all levels has to tell apart.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from arboretum_gosdt.continuous.search import IntervalSearch

MOST = (1 << 31) - 2
"""What trees lose stays below: lanes of 32 bits hold it."""


@attrs.frozen(eq=False)
class FirstTests:
    """nodes : the best tree, int64[nodes, 4], as searches tell it; () where it is not known.
    least : what the best tree costs.
    first : int64[tests], what trees cost at least that ask each first.
    sides : int64[2, tests], what the sides of outcome 1 and 0 cost, −1 where that is not known.
    """

    least: int
    first: np.ndarray
    sides: np.ndarray
    nodes: np.ndarray = np.empty((0, 4), np.int64)


@attrs.frozen(eq=False)
class Thresholds:
    """Objects whose tests are thresholds, two levels of them at least.

    codes : int32[objects, columns], as of :class:`.table.Rows`.
    weights : int64[objects, answers], ≥ 0, what an answer saves, in losses.
    p, q : what a leaf and a loss cost.
    depth : tests on a path, at most, and at least 2.
    """

    codes: np.ndarray
    weights: np.ndarray
    p: int
    q: int
    depth: int

    @property
    def fits(self) -> bool:
        """Whether the search holds such losses, and has anything to search."""
        weights = self.weights
        total = int(weights.sum())
        differs = total > int(weights.sum(axis=0).max(initial=0)) and self.codes.size > 0
        return self.depth >= 2 and self.q * total <= MOST and differs

    def load_kernels(self) -> None:
        """Compile, or load, what the search calls for weights and ranks of this width."""
        columns, classes = self.codes.shape[1], self.weights.shape[1]
        codes = np.repeat(np.arange(2, dtype=np.int32)[:, None], columns, axis=1)
        for depth in {2, self.depth}:
            wide = IntervalSearch(self.codes, self.q * self.weights, depth)
            if wide.layout is None:
                continue
            small = IntervalSearch(codes, np.eye(2, classes, dtype=np.int64), depth, self.p, 1)
            if depth > 2:  # sets of few objects have narrow sums
                small.run(None, None, _say_nothing)
                small = IntervalSearch(codes, np.eye(2, classes, dtype=np.int64), depth, self.p, 1)
            # by which sums are as wide
            small.layout, small.total = (wide.layout[0], 1), wide.total
            small.run(None, None, _say_nothing)

    def bound_first_tests(
        self,
        more: Callable[[int], int],
        until: float | None = None,
        memory_bytes: int | None = None,
    ) -> FirstTests | None:
        """Return the least cost, and of the trees by their first test, of both sides where that is
        at most ``more`` of the least cost above it; None where seconds or bytes run out.

        Costs are q · losses + p · leaves, losses being all weights less those that are saved.
        more : of a cost, ascending.
        until : ``time.monotonic()`` value at which it stops; None: no limit.
        memory_bytes : of the arrays, at most; None: no limit.
        """
        weights, margin, depth = self.q * self.weights, 0, min(2, self.depth)
        while True:
            search = IntervalSearch(self.codes, weights, depth, self.p, margin)
            if search.run(until, memory_bytes, _say_nothing):
                return None
            least = search.upper + self.p
            if margin:
                first, sides = search.bounds_of_cuts()
                sides = np.where(sides < 0, sides, sides + self.p)
                nodes = search.tree()[:, [0, 1, 3, 2]]  # what is above a cut has outcome 1
                inner, behind = nodes[:, 0] >= 0, np.cumsum([0, *search.highest])
                nodes[inner, 0] = behind[nodes[inner, 0]] + nodes[inner, 1]
                nodes[:, 1] = 0
                return FirstTests(least, first + self.p, sides, nodes)
            margin, depth = more(least) + 1, self.depth


def bound_first_tests_of_set(
    codes: np.ndarray,
    weights: np.ndarray,
    p: int,
    depth: int,
    margin: int,
    until: float | None = None,
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]] | None:
    """Return of every column the numbers of the thresholds that divide some objects, what trees
    cost at least that ask each first, and int64[2, thresholds], what both sides cost where that is
    less than ``margin`` more than the best tree, else −1; None where seconds run out, or where a
    leaf is the best tree of any.

    codes : int32[objects, columns]: threshold k has outcome 1 where code > k.
    weights : int64[objects, answers], what an answer saves; p, depth : as of :class:`Thresholds`.
    """
    distinct = [np.unique(one, return_inverse=True) for one in codes.T]
    ranks = np.column_stack([rank for _, rank in distinct])
    search = IntervalSearch(ranks, weights, depth, p, margin)
    if search.plain or search.run(until, None, _say_nothing):
        return None
    bounds, sides = search.bounds_of_cuts()
    tests, first, costs, begin = [], [], [], 0
    for values, _ in distinct:
        # thresholds between two values divide the objects alike
        end = begin + len(values) - 1
        times = np.diff(values)
        tests.append(np.arange(values[0], values[-1]))
        first.append(np.repeat(bounds[begin:end] + p, times))
        known = sides[:, begin:end]
        costs.append(np.repeat(np.where(known < 0, known, known + p), times, axis=1))
        begin = end
    return tests, first, costs


def _say_nothing(lower: int, upper: int) -> None:
    """Tell nobody of bounds."""
