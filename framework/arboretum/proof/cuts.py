"""Sets that thresholds of raw columns divide: the sides of one column's cuts lie within each other, so few of them need a look.

For cuts a < b of a column, with sides L (ranks up to the cut) and R, and w of the objects in between: L(b) ⊇ L(a) costs no less,
L(a) no less than L(b) − w, and R alike (rules 4 and 5 of :mod:`arboretum.proof.additive`).  Sides are bounded by records, and where
these leave a cut open, by counting over all cuts of all columns: exact with one test left, and otherwise g₁, g₂ and t₃.  Records are
looked up by path: what counts is a record whose path is that of the set and one literal more, or one of the very same set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arboretum.interfaces.method import Problem
from arboretum.proof.additive import Additive, Limits, serves
from arboretum.proof.format import Record
from arboretum.proof.ground import Columns, Costs

Prove = Callable[[int, int, bool, int], int]


class Sorted(NamedTuple):
    """A set, its objects in the order of every column.

    rows : int64[m].   order : int64[columns, m], places in ``rows``.   rank : int32[columns, m], sorted.   ends : bool[columns, m],
    the last object of its rank, and not the last of all.   sums : float64[planes, columns, m], of the objects up to there.
    """

    rows: np.ndarray
    order: np.ndarray
    rank: np.ndarray
    ends: np.ndarray
    sums: np.ndarray


class Cuts(Additive):
    """Checks records on raw columns, fixed tests among them; without limits on leaves."""

    def __init__(self, problem: Problem, tests: Sequence[Any], columns: Columns, costs: Costs) -> None:
        super().__init__(problem, tests, columns, costs)
        self.planes = self.planes.astype(np.float64)
        self.below: dict[bytes, list[tuple[int, int, int, Limits, int]]] = {}

    def refusal(self, record: Record) -> str:
        """Why a record does not follow, "" where it does: it is known from then on."""
        if record.leaves >= 0:
            return "proofs know no limit of leaves where columns are raw"
        reason = super().refusal(record)
        if not reason and len(record.path):
            test, outcome = record.path[-1].tolist()
            literal = self.columns.literal(self.tests[test], outcome)
            whole, limits = self.path_set(record.path), (record.depth, -1)
            self.learn_side(self.path_set(record.path[:-1]), literal, limits, record.bound - self.more_of(whole))
        return reason

    def learn_side(self, bits: np.ndarray, literal: tuple[int, int, bool], limits: Limits, bound: int) -> None:
        """Take a bound of a side of a cut of a set for known; a constant column has none."""
        if literal[0] >= 0:
            self.below.setdefault(bits.tobytes(), []).append((literal[0], literal[1], int(literal[2]), limits, bound))

    def gap(self, bits: np.ndarray, limits: Limits, bound: int) -> str:
        """Division: why some tree may cost less than the bound, "" where none does."""
        return self.least(bits, limits, bound)[1]

    def least(self, bits: np.ndarray, limits: Limits, bound: int, prove: Prove | None = None) -> tuple[int, str]:
        """The bound, or less where that is all that is shown, and why.   prove : raises bounds of sides that do not suffice."""
        node, depth, why = self._sorted(self._rows(bits)), max(limits[0] - 1, -1), ""
        total = self.planes[node.rows].sum(axis=0)
        leaf = int(total[: self.k].min() + self.p)
        if leaf < bound:
            bound, why = leaf, f"a leaf costs {bound - leaf} less"
            if prove is None:
                return bound, why
        left = node.sums
        right = total[:, None, None] - left
        busy = node.ends & self._busy(left) & self._busy(right)
        if limits[0] == 0 or not busy.any():
            return bound, why
        lower = np.array([left[: self.k].min(axis=0), right[: self.k].min(axis=0)]) + self.p  # [side, column, place]
        lower = lower if depth == 0 else np.minimum(lower, 2 * self.p)
        for column, cut, side, held, known in self.below.get(bits.tobytes(), ()):
            at = int(np.searchsorted(node.rank[column], cut, side="right")) - 1
            if 0 <= at < len(node.rows) - 1 and serves(held, (depth, -1)):
                lower[side, column, at] = max(lower[side, column, at], known)
        for column in np.flatnonzero(busy.any(axis=1)).tolist():
            tried = np.zeros(len(node.rows), np.bool_)
            while True:
                self._spread(lower[:, column], left[self.k, column], node.ends[column])
                places = np.flatnonzero(busy[column] & (lower[:, column].sum(axis=0) < bound))
                if not len(places):
                    break
                fresh, at = places[~tried[places]], int(places[len(places) // 2])
                if len(fresh):
                    at = int(fresh[len(fresh) // 2])
                elif prove is None and len(fresh := np.flatnonzero(busy[column] & ~tried)):  # what is known of others may help
                    at = int(fresh[np.abs(fresh - at).argmin()])
                here = np.maximum(lower[:, column, at], self._sides(node, column, at, depth))
                for side in (0, 1) if 2 * at < len(node.rows) else (1, 0):  # the smaller one first
                    if prove is not None and here.sum() < bound:
                        goal = int(bound - here[1 - side])
                        here[side] = max(here[side], prove(column, int(node.rank[column, at]), bool(side), goal))
                lower[:, column, at], less = here, int(here.sum())
                if less < bound and (prove is not None or (tried[at] and not len(fresh))):
                    bound, why = less, f"trees that begin with a cut of column {column} may cost {bound - less} less for all that is known"
                    if prove is None:
                        return bound, why
                tried[at] = True
        return bound, why

    def _sorted(self, rows: np.ndarray) -> Sorted:
        order = np.argsort(self.rank[rows], axis=0, kind="stable").T
        rank = np.take_along_axis(self.rank[rows].T, order, axis=1)
        ends = np.zeros(rank.shape, np.bool_)
        ends[:, :-1] = rank[:, 1:] != rank[:, :-1]
        return Sorted(rows, order, rank, ends, np.cumsum(self.planes[rows].T[:, order], axis=2))

    def _spread(self, lower: np.ndarray, weight: np.ndarray, ends: np.ndarray) -> None:
        """Between the sides of one column's cuts.   lower : float64[2, places].   weight : float64[places], w up to there."""
        at = np.flatnonzero(ends)
        left, right, w = lower[0, at], lower[1, at], weight[at]
        left = np.maximum(left, w + np.maximum.accumulate((left - w)[::-1])[::-1])
        right = np.maximum(right, np.maximum.accumulate(right + w) - w)
        if self.min_leaf <= 1:
            left, right = np.maximum.accumulate(left), np.maximum.accumulate(right[::-1])[::-1]
        lower[0, at], lower[1, at] = left, right

    def _sides(self, node: Sorted, column: int, at: int, depth: int) -> np.ndarray:
        """float64[2]: bounds of both sides of a cut, by counting and by records of the same sets."""
        inside = np.zeros(len(node.rows), np.bool_)
        inside[node.order[column, : at + 1]] = True
        left = np.cumsum(np.where(inside[node.order], self.planes[node.rows].T[:, node.order], 0.0), axis=2)
        found = [self._few(part, node.ends, depth) for part in (left, node.sums - left)]
        for side, here in enumerate((inside, ~inside)):
            member = np.zeros(self.n, np.bool_)
            member[node.rows[here]] = True
            found[side] = max(found[side], self.known_of(np.packbits(member, bitorder="little"), (depth, -1)))
        return np.array(found)

    def _few(self, sums: np.ndarray, ends: np.ndarray, depth: int) -> float:
        """Least cost of a set with one leaf, with two, and at least with more.   sums : float64[planes, columns, places]."""
        total = sums[:, :1, -1:]
        one, parts = float(total[: self.k].min()) + self.p, np.stack([sums, total - sums], axis=1)  # [plane, side, column, place]
        if depth == 0:
            return one
        busy, loss = ends & self._busy(parts).all(axis=0), parts[: self.k].min(axis=0)
        two = float((loss.sum(axis=0) + 2 * self.p)[busy].min(initial=np.inf))
        least = float(loss[busy & (loss[::-1] > self.p)].min(initial=np.inf)) if depth != 1 else np.inf
        return min(one, two, 3 * self.p + min(least, self.p) if least < np.inf else np.inf)
