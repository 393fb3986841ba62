"""Least squared error of trees of at most two levels over all thresholds of columns of any length,
within bounds that hardly depend on the number of rows.

Some thresholds of each column are its *cuts*; the rows between two neighbouring cuts are a *strip*.
With D(S) the deviation of a set S from its mean, which never grows when rows leave it, a threshold
inside a strip divides S at a deviation of at least D(what is below the strip) + D(what is above
it): the strip itself is left out.  So ::

    stump(S): the least of D(below c) + D(above c) over the cuts c of all columns, and of
              D(below s) + D(above s) over their strips s that hold a threshold

bounds all trees of one test on S, from sums by strip, and at its best cut gives a tree::

    repeat, with four times as many cuts for stumps, until nothing is open:
        for each column, from its first cut to its last, where a cut or a strip beside it is open:
            L, R ← sums by strip of all columns, of the rows below and above the cut
            bounds of the cut's sides ← stump(L), stump(R);  the best tree, if it is better
        a cut costs what its sides cost; a strip what the side below costs at the cut before it and
        the side above at the cut behind it
        what costs no less than the best tree is closed for good; a strip that is open is divided

(the bounds of strips at the first level are those of intervals of cuts in Mazumder, Meng & Wang,
Quant-BnB, ICML 2022; leaving strips out at the second makes them independent of the rows).

Invariants:

- Targets are whole numbers less a constant, so that sums of weights and of weight · target are
  exact in float64 (below 2⁵³); sums of squares are not, which ``rounding`` says.
- ``low`` is a bound whatever the cuts for stumps were: it is kept, or raised.
- A strip without a threshold inside is one distinct value; with only such strips bounds are exact.
"""

import itertools
import time
from collections.abc import Callable, Iterator

import attrs
import numpy as np

EPS = float(np.finfo(np.float64).eps)
FIRST, MORE = 256, 4
"""Cuts of a column in the first round, and how many times more in each that follows."""
MOST = 1 << 21
"""Strips of all columns together, at most: a stump then reads some 100 MB."""


@attrs.define(eq=False)
class Column:
    """A column at the first level.

    order : int32[rows], ascending by rank.   end : int64[ranks], of each in ``order``.
    cut : int64[cuts], ranks of the highest values below.
    low : float64[cuts, side, 2], least deviations of its sides as a leaf, and with a test, of
        leaves of any size.
    own : where each has as many rows as it must.
    open : bool[cuts], whether the cut, or a strip beside it, may still be best.
    """

    order: np.ndarray
    end: np.ndarray
    cut: np.ndarray
    low: np.ndarray
    own: np.ndarray
    open: np.ndarray


class StripSearch:
    """The tree of least squared error + price · leaves, of at most two levels.

    ranks : int32[columns, rows], dense, from 0 on.
    weight, total, rows : [rows], Σ w, Σ w · target, whole numbers, and training rows.
    price : of a leaf, in squares of the targets' unit.
    depth : 0, 1 or 2;  leaves : at most, None: any number;  least : training rows in every leaf.
    most_strips : of all columns together, beyond those of the first round.

    lower, upper : no tree costs less; ``tree()`` costs that.   subproblems : stumps counted.
    """

    def __init__(
        self,
        ranks: np.ndarray,
        weight: np.ndarray,
        total: np.ndarray,
        rows: np.ndarray,
        price: float,
        *,
        depth: int,
        leaves: int | None = None,
        least: int = 1,
        most_strips: int = MOST,
    ) -> None:
        self._at_most = most_strips
        self.ranks, self.price, self.depth, self.least = ranks, price, depth, least
        square = total.astype(np.float64) ** 2 / weight
        self._planes = np.vstack([weight, total, square, rows]).astype(np.float64)[
            : 3 + (least > 1)
        ]
        self.whole = self._planes.sum(axis=1)
        self._most_leaves = min(leaves or 4, 1 << depth)
        self.rounding = 8 * EPS * (len(weight) + 8) * float(self.whole[2])
        self.upper, self._best = float(deviation(*self.whole[:3])) + price, Tests()
        self.lower, self.subproblems = price, 0
        self.counts = ranks.max(axis=1, initial=-1) + 1
        self._columns: list[Column] = []
        self.inner: list[np.ndarray] = []
        self._strips = 0

    @property
    def shares(self) -> list[tuple[int, int]]:
        """Leaves, less one, that two sides of the first test may have."""
        return [(i, k) for i, k in self._all_shares if i + k + 2 <= self._most_leaves]

    @property
    def _all_shares(self) -> list[tuple[int, int]]:
        return list(itertools.product(range(self.depth), range(self.depth)))

    def run(self, until: float | None, report: Callable[[], None]) -> str:
        """Search; returns "" when the least cost is known, or can be bounded no better, else
        "seconds".

        until : ``time.monotonic()`` value at which it stops; None: no limit.
        report : called about ten times a second.
        """
        if self._most_leaves == 1 or (self.counts < 2).all():
            self.lower = self.upper - self.rounding
            return ""
        heard = time.monotonic()
        while self._begin_round():
            for f, column in enumerate(self._columns):
                for _ in self._sweep(f, column):
                    now = time.monotonic()
                    if now - heard > 0.1:
                        heard = now
                        self._bound()
                        report()
                        if until is not None and now >= until:
                            return "seconds"
            self._bound()
            report()
        return ""

    def _begin_round(self) -> bool:
        """Make more cuts; False where none is left to be made, or nothing is open."""
        longest, strips = int(self.counts.max(initial=1)), FIRST
        if not self._columns:
            for ranks, count in zip(self.ranks, self.counts.tolist(), strict=True):
                order = np.argsort(ranks, kind="stable").astype(np.int32)
                end = np.cumsum(np.bincount(ranks, minlength=count))
                none, no_bounds = np.empty(0, np.int64), np.empty((0, 2, 2))
                self._columns.append(
                    Column(order, end, none, no_bounds, no_bounds, np.empty(0, np.bool_))
                )
                self._add_cuts(self._columns[-1], np.array([[-1, count - 1]]), FIRST)
        else:
            most = max(self._strips, min(longest, self._at_most // len(self._columns)))
            strips = min(MORE * self._strips, most)
            for column in self._columns:
                self._divide_open(column, again=strips > self._strips)
            if not any(column.open.any() for column in self._columns):
                return False
            if strips == self._strips:
                return True
        self._strips = strips
        inner = [quantile_cuts(c.end, strips) for c in self._columns]
        self.inner, n = inner, max(map(len, inner)) + 1
        self._open_strip = np.zeros((len(inner), n), np.bool_)
        self._is_cut = np.arange(n) < np.array([[len(cuts)] for cuts in inner])
        self._strip_of = np.empty(self.ranks.shape[::-1], np.int32)
        for g, (cuts, count) in enumerate(zip(inner, self.counts.tolist(), strict=True)):
            number = np.searchsorted(cuts, np.arange(count)).astype(np.int32) + g * n
            self._strip_of[:, g] = number[self.ranks[g]]
            ends = np.concatenate([[-1], cuts, [count - 1]])
            self._open_strip[g, : len(cuts) + 1] = np.diff(ends) > 1
        self._of_all = self._sums(np.arange(self.ranks.shape[1], dtype=np.int32))
        return True

    def _add_cuts(self, column: Column, strips: np.ndarray, parts: int) -> None:
        """Divide strips, int64[·, 2] ranks of the cuts that enclose them, into about as many
        parts of as many rows.
        """
        new = []
        for before, behind in strips.tolist():
            first = column.end[before] if before >= 0 else 0
            at = np.linspace(first, column.end[behind], parts + 1)[1:-1]
            found = np.searchsorted(column.end, at, side="left")
            found = np.unique(found[(found > before) & (found < behind)])
            middle = [(before + behind) // 2] if behind - before > 1 else []
            new.append(found if len(found) else np.array(middle, np.int64))
        cuts = np.concatenate([column.cut, *new]).astype(np.int64)
        place = np.argsort(cuts, kind="stable")
        old = len(column.cut)
        column.cut = cuts[place]
        new_bounds = np.zeros((len(cuts) - old, 2, 2))
        column.low = np.concatenate([column.low, new_bounds])[place]
        column.own = np.concatenate([column.own, new_bounds])[place]
        # a set deviates no less than its parts
        np.maximum.accumulate(column.low[:, 0], out=column.low[:, 0])
        column.low[::-1, 1] = np.maximum.accumulate(column.low[::-1, 1])
        column.open = np.concatenate([column.open, np.ones(len(cuts) - old, np.bool_)])[place]

    def _divide_open(self, column: Column, again: bool) -> None:
        """Close what is no better than the best tree, and divide strips that are open.

        again : whether their cuts are counted again, by more strips.
        """
        cuts, strips = self._costs(column)
        better = self.upper - self.rounding
        wide = (strips < better) & self._holds_threshold(column)
        column.open = ((cuts < better) | wide[:-1] | wide[1:]) & again
        ends = np.concatenate([[-1], column.cut, [len(column.end) - 1]])
        self._add_cuts(column, np.column_stack([ends[:-1], ends[1:]])[wide], MORE)

    def _holds_threshold(self, column: Column) -> np.ndarray:
        """bool[cuts + 1]: whether a strip holds a threshold."""
        ends = np.concatenate([[-1], column.cut, [len(column.end) - 1]])
        found: np.ndarray = np.diff(ends) > 1
        return found

    def _costs(self, column: Column, limited: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """(float64[cuts], float64[cuts + 1]): what trees cost at least that begin with a cut, or
        with a threshold in a strip.

        limited : whether leaves are, in number and size.
        """
        nothing = np.zeros((1, 2))
        below = np.concatenate([nothing, column.low[:, 0]])
        above = np.concatenate([column.low[:, 1], nothing])
        of_cut, shares = column.low, self._all_shares
        if limited:
            of_cut, shares = column.own, self.shares
        return self._joined(of_cut[:, 0], of_cut[:, 1], shares), self._joined(below, above, shares)

    def _joined(
        self, below: np.ndarray, above: np.ndarray, shares: list[tuple[int, int]]
    ) -> np.ndarray:
        costs = [below[:, i] + above[:, k] + (i + k + 2) * self.price for i, k in shares]
        found: np.ndarray = np.minimum.reduce(costs)
        return found

    def _bound(self) -> None:
        """Raise ``lower`` to what the cuts and strips of all columns show."""
        self.lower = max(self.lower, self._least(self.upper) - self.rounding)

    def shown(self) -> float:
        """What they show of all trees, whatever their leaves."""
        if not self._columns:
            return self.lower
        leaf = float(deviation(*self.whole[:3])) + self.price
        return self._least(leaf, limited=False) - self.rounding

    def _least(self, least: float, limited: bool = True) -> float:
        for column in self._columns:
            cuts, strips = self._costs(column, limited)
            least = min(
                least,
                float(cuts.min(initial=np.inf)),
                float(strips[self._holds_threshold(column)].min(initial=np.inf)),
            )
        return least

    def _sums(self, rows: np.ndarray) -> np.ndarray:
        """float64[planes, columns, strips] of some rows, int32[·]."""
        shape = self._open_strip.shape
        place = self._strip_of[rows].ravel()
        return np.array(
            [
                np.bincount(place, np.repeat(plane[rows], shape[0]), shape[0] * shape[1])
                for plane in self._planes
            ]
        ).reshape(-1, *shape)

    def _sweep(self, f: int, column: Column) -> Iterator[None]:
        """Bound the sides of the cuts of a column that are open, one at a time."""
        below, start = np.zeros_like(self._of_all), 0
        for at in np.flatnonzero(column.open).tolist():
            end = int(column.end[column.cut[at]])
            below += self._sums(column.order[start:end])
            start = end
            sides = [self._stump(sums, f) for sums in (below, self._of_all - below)]
            column.low[at] = np.maximum(column.low[at], [side.low for side in sides])
            column.own[at] = np.maximum(column.own[at], [side.own for side in sides])
            column.open[at] = False
            self.subproblems += 2
            self._take(f, int(column.cut[at]), sides)
            yield

    def _take(self, f: int, cut: int, sides: list["Stump"]) -> None:
        """Keep a tree that begins with a cut, where it is better."""
        if min(side.rows for side in sides) < self.least:
            return
        for i, k in self.shares:
            cost = sides[0].found[i] + sides[1].found[k] + (i + k + 2) * self.price
            if cost < self.upper:
                self.upper = cost
                below, above = (
                    side.test if more else None for side, more in zip(sides, (i, k), strict=True)
                )
                self._best = Tests((f, cut), below, above)

    def _stump(self, sums: np.ndarray, f: int) -> "Stump":
        """The trees of at most one test on a set, from its sums by strip."""
        whole = sums[:, f].sum(axis=1)
        upto = np.cumsum(sums, axis=2)
        rest = whole[:, None, None] - upto
        gain_below, gain_above = mean_square(*upto[:2]), mean_square(*rest[:2])
        leaf = float(deviation(*whole[:3]))
        gain, inside = gain_below + gain_above, gain_above + sums[2]  # but for the strip itself
        inside[:, 1:] += gain_below[:, :-1]
        least = float(whole[2]) - max(
            float(gain[self._is_cut].max(initial=-np.inf)),
            float(inside[self._open_strip].max(initial=-np.inf)),
        )
        low = leaf, max(0.0, min(leaf, least))
        allowed, own, rows = self._is_cut, low, np.inf
        if self.least > 1:
            rows = float(whole[3])
            few = (upto[3] < self.least) | (rest[3] < self.least)
            allowed = allowed & ~few
            # the rows of a strip may be on either side
            some = self._open_strip & (upto[3] >= self.least)
            some[:, 1:] &= rest[3][:, :-1] >= self.least
            least = float(whole[2]) - max(
                float(gain[allowed].max(initial=-np.inf)),
                float(inside[some].max(initial=-np.inf)),
            )
            own = (leaf, max(low[1], least)) if rows >= self.least else (np.inf, np.inf)
        gain[~allowed] = -np.inf
        g, j = divmod(int(gain.argmax()), gain.shape[1])
        found = float(whole[2] - gain[g, j])
        test = (g, int(self.inner[g][j])) if allowed[g, j] else None
        return Stump(low, own, (leaf, found), test, rows)

    def cuts(self) -> list[tuple[int, int]]:
        """(column, cut) of all cuts by which bounds were counted, or that have bounds."""
        found = []
        for g, column in enumerate(self._columns):
            both = np.union1d(self.inner[g], column.cut).tolist()
            found += [(g, cut) for cut in both]
        return found

    def sides(self) -> Iterator[tuple[int, int, tuple[float, float]]]:
        """(column, cut, what trees of one test cost at least below it and above it) of the cuts
        that were counted: as much as what is shown of all trees needs, so that most can be counted
        again by few cuts.
        """
        goal = self.shown() + self.rounding
        for g, column in enumerate(self._columns if self.depth == 2 else []):
            cuts, strips = self._costs(column, limited=False)
            strips[~self._holds_threshold(column)] = np.inf
            spare = np.column_stack([np.minimum(cuts, strips[1:]), np.minimum(cuts, strips[:-1])])
            low = (column.low + self.price * np.array([1, 2])).min(axis=2)
            low = np.maximum(low - np.maximum(spare - goal, 0.0) / 2, self.price)
            for cut, bounds in zip(column.cut.tolist(), low.tolist(), strict=True):
                yield g, cut, (bounds[0], bounds[1])

    def tree(self) -> "Tests":
        """The tests of the best tree known."""
        return self._best


@attrs.frozen
class Stump:
    """Trees of one test on a set.

    low : what it deviates at least, as a leaf and with a test, of leaves of any size.
    own : of leaves of as many rows as they must have.
    found : what it does as a leaf, and with ``test``, (column, cut).
    rows : training rows.
    """

    low: tuple[float, float]
    own: tuple[float, float]
    found: tuple[float, float]
    test: tuple[int, int] | None
    rows: float


@attrs.frozen
class Tests:
    """The tests of a tree, (column, cut), None: a leaf."""

    root: tuple[int, int] | None = None
    below: tuple[int, int] | None = None
    above: tuple[int, int] | None = None


def mean_square(weight: np.ndarray, total: np.ndarray) -> np.ndarray:
    """total² / weight, 0 of nothing."""
    found: np.ndarray = np.divide(total * total, weight, out=np.zeros_like(total), where=weight > 0)
    return found


def deviation(weight: np.ndarray, total: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Σ w (y − mean)² of sets, from Σ w, Σ w y and Σ w y²."""
    return np.maximum(square - np.float64(total) ** 2 / weight, 0.0)


def quantile_cuts(end: np.ndarray, parts: int) -> np.ndarray:
    """Cuts that divide a column into about as many strips of about as many rows, all of them
    where there are no more.

    end : int64[ranks], rows up to each rank.
    """
    if len(end) <= parts:
        return np.arange(len(end) - 1)
    at = np.linspace(0, end[-1], parts + 1)[1:-1]
    found = np.unique(np.searchsorted(end, at, side="left"))
    return found[found < len(end) - 1]
