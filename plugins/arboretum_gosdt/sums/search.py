"""The least sum of leaf costs + p · leaves over trees of binary tests, for any cost of sums.

Objects are rows that all tests see alike; M are their moments.  All pairs of tests are counted by
products of matrices, and leaf costs are taken of whole arrays of sums at once, so that a cost that
is written in NumPy is as fast as any::

    solve(S, d, budget):                                  # trees of at most d tests on a path
        leaf = c(Σ M) + p;  none below 2p + Σ c(each object's M), where c is superadditive
        d = 0 or that is no better: the leaf
        d = 1: sums of all sides at once; the best pair of leaves
        else:  P[f, g] = Σ of the objects with f and g, for all pairs
               two[f, side] = the best of one and two leaves on each side of f
               best = the best tree of depth 2: min over f of two[f, 0] + two[f, 1]
               d = 2: that
               low[f, side] = min(two, 3p + Σ c(each object's M) on the side)
               for f by low[f, 0] + low[f, 1], as long as that is below min(best, budget):
                   solve the side that weighs more, with what the other leaves of the budget
                   then the other, if both can still be below

Invariants: low is only raised, best only lowered.  A set that is remembered has a lower bound for
its depth and every lower one, and a tree of no more than its depth.  Costs are floats: sums of n
terms in an order of BLAS's choosing, so that values are good to TOLERANCE of the root's leaf, which
bounds are lowered by.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs
import numpy as np

from arboretum.api import ContractError

TOLERANCE = 1e-10
"""Of the sum of absolute costs of all objects as leaves and of the root's leaf."""
BLOCK = 1 << 22
"""Sums of pairs that are taken at once."""
DEEP = 1 << 20
"""Tests on a path: any number."""


class OutOfBudget(Exception):
    """Seconds or bytes ran out below; ``what`` says which."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@attrs.define(eq=False)
class Known:
    """What is known of a set within a depth: bounds of its cost, and the tests of its best tree in
    preorder (−1: a leaf; the side of outcome 1 first).
    """

    lower: float
    upper: float
    tree: list[int]


class SumsSearch:
    """Minimise Σ leaf(sums) + p · leaves.

    outcome : uint8[objects, tests], 0 or 1, no two alike.
    moments : float64[objects, k]; rows : int64[objects], training rows.
    leaf : float64[…, k] → float64[…].
    superadditive : whether a set costs no less than its objects, each a leaf.
    p : of a leaf, ≥ 0.   depth : tests on a path, at most.   least : rows in a leaf.
    lower, upper : proven bound, cost of the best tree.
    subproblems : sets whose pairs were counted.
    """

    def __init__(
        self,
        outcome: np.ndarray,
        moments: np.ndarray,
        rows: np.ndarray,
        leaf: Callable[[np.ndarray], np.ndarray],
        *,
        superadditive: bool,
        p: float,
        depth: int = DEEP,
        least: int = 1,
    ) -> None:
        self.outcome = np.ascontiguousarray(outcome)
        self.moments = np.column_stack([moments, rows])  # rows are counted beside the sums
        self._leaf, self.p, self.depth, self.least = leaf, p, depth, least
        n = len(outcome)
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.asarray(leaf(self.moments[:, :-1]), np.float64)
        self.alone = alone if superadditive else np.full(n, -np.inf)
        _refuse_nan(self.alone, self.moments)  # of which no bound could be made
        whole = self.moments.sum(axis=0)
        self.upper = float(self.costs(whole[None])[0])
        sizes = np.abs(alone[np.isfinite(alone)])  # of objects that may be leaves by themselves
        self.slack = TOLERANCE * float(sizes.sum() + abs(self.upper))
        self.best = [-1]
        self.lower = self._floor(np.arange(n), self.upper)
        self.subproblems = 0
        self._known: dict[tuple[bytes, int], Known] = {}
        self._bytes = 0
        self._until: float | None = None
        self._most_bytes: int | None = None
        self._report: Callable[[], None] = lambda: None

    def costs(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…]: what leaves cost whose objects have these sums, float64[…, k + 1], the
        last the number of rows, with p; ∞ where these are too few.  Raises ContractError for NaN.
        """
        few = sums[..., -1] < max(self.least, 0.5)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(few, np.inf, np.asarray(self._leaf(sums[..., :-1])) + self.p)
        _refuse_nan(found, sums)  # every comparison with it is false, so that it would win
        return found

    def run(
        self,
        until: float | None,
        memory_bytes: int | None = None,
        report: Callable[[], None] = lambda: None,
    ) -> str:
        """Search until it is finished (""), or "seconds" or "bytes" run out.

        until : ``time.monotonic()`` value; None: no limit.  A later call goes on with what is
            remembered.
        report : called as bounds improve.
        """
        self._until, self._most_bytes, self._report = until, memory_bytes, report
        try:
            found = self._solve(np.arange(len(self.outcome)), self.depth, np.inf, root=True)
        except OutOfBudget as ended:
            return ended.what
        self.lower, self.upper, self.best = found.lower, found.upper, found.tree
        report()
        return ""

    def _floor(self, objects: np.ndarray, leaf: float) -> float:
        """No tree of these objects costs less: a leaf, or two and what objects cost by
        themselves.
        """
        return float(min(leaf, 2 * self.p + self.alone[objects].sum()))

    def _solve(
        self, objects: np.ndarray, depth: int, budget: float, *, root: bool = False
    ) -> Known:
        """Return what is known of a set after its search: solved, or no tree below the budget."""
        depth = min(depth, len(objects) - 1)
        key = objects.tobytes(), depth
        known = self._known.get(key)
        if known is not None and (known.lower >= known.upper or known.lower >= budget):
            return known
        if self._until is not None and time.monotonic() >= self._until:
            raise OutOfBudget("seconds")
        if known is None:
            leaf = float(self.costs(self.moments[objects].sum(axis=0)[None])[0])
            known = Known(self._floor(objects, leaf) if depth > 0 else leaf, leaf, [-1])
            self._remember(key, known)
        if known.lower >= min(known.upper, budget) or not self.outcome.shape[1]:
            known.lower = max(known.lower, min(known.upper, budget))
            return known
        pairs = self._count_pairs(objects, depth)
        if pairs.best < known.upper:
            known.upper, known.tree = pairs.best, pairs.tree()
        if depth <= 2:
            known.lower = known.upper
            return known
        self._search_tests(objects, depth, budget, known, pairs, root=root)
        return known

    def _search_tests(
        self,
        objects: np.ndarray,
        depth: int,
        budget: float,
        known: Known,
        pairs: Pairs,
        *,
        root: bool,
    ) -> None:
        """Try each test first, by what its sides cost at least; tightens ``known``."""
        low = pairs.low
        both = low.sum(axis=0)
        open_tests = (both < np.inf) & pairs.divides
        waiting = list(np.flatnonzero(open_tests)[np.argsort(both[open_tests], kind="stable")])
        while waiting:
            f = min(waiting, key=lambda test: float(low[:, test].sum()))
            limit = min(known.upper, budget)
            bound = float(low[:, f].sum())
            if root:
                self.lower = max(self.lower, min(known.upper, bound))
                self.upper, self.best = known.upper, known.tree
                self._report()
            if bound >= limit:
                break
            waiting.remove(f)
            inside = self.outcome[objects, f] == 1
            sides = objects[~inside], objects[inside]
            trees: dict[int, list[int]] = {}
            for side in sorted((0, 1), key=lambda s: -len(sides[s])):
                found = self._solve(sides[side], depth - 1, limit - float(low[1 - side, f]))
                low[side, f] = max(low[side, f], found.lower)
                if found.lower < found.upper:  # not solved: above what the budget leaves
                    break
                trees[side] = found.tree
            if len(trees) == 2 and (cost := float(low[:, f].sum())) < known.upper:
                known.upper = cost
                known.tree = [int(f), *trees[1], *trees[0]]
        rest = float(low.sum(axis=0)[open_tests].min(initial=np.inf))
        known.lower = max(known.lower, min(known.upper, rest))

    def _remember(self, key: tuple[bytes, int], known: Known) -> None:
        self._bytes += len(key[0]) + 400
        if self._most_bytes is not None and self._bytes > self._most_bytes:
            raise OutOfBudget("bytes")
        self._known[key] = known

    @property
    def bytes_used(self) -> int:
        """Bytes of the sets that are remembered, about."""
        return self._bytes

    def _count_pairs(self, objects: np.ndarray, depth: int) -> Pairs:
        """Count all tests of a set, and their pairs unless one test alone may be asked."""
        self.subproblems += 1
        has = self.outcome[objects].astype(np.float64)
        moments = self.moments[objects]
        whole = moments.sum(axis=0)
        with_test = has.T @ moments  # [tests, k + 1]
        sums = np.stack([whole - with_test, with_test])  # [side, tests, k + 1]
        leaves = self.costs(sums)
        divides = np.asarray((sums[..., -1] > 0.5).all(axis=0))
        found = Pairs(leaves.copy(), np.full(leaves.shape, -1), leaves, divides)
        if depth > 1:
            self._best_pairs(has, moments, sums, found)
        found.finish()
        if depth > 2:
            alone = self.alone[objects]
            if np.isfinite(alone).all():
                inside = has.T @ alone
                floors = 3 * self.p + np.stack([alone.sum() - inside, inside])
                found.low = np.minimum(found.two, floors)
            else:
                found.low = np.minimum(found.two, -np.inf)
        return found

    def _best_pairs(
        self, has: np.ndarray, moments: np.ndarray, sums: np.ndarray, found: Pairs
    ) -> None:
        """Fill in the best of one and two leaves on each side of each test."""
        tests, k = has.shape[1], moments.shape[1]
        block = max(1, BLOCK // max(1, tests * k))
        for first in range(0, tests, block):
            some = slice(first, min(tests, first + block))
            mine = has[:, some]
            both = np.stack(
                [(mine * moments[:, [j]]).T @ has for j in range(k)], axis=-1
            )  # [some, tests, k + 1]
            for side in (0, 1):
                inside = both if side else sums[1][None] - both  # on the side, with g
                cost = self.costs(inside) + self.costs(sums[side, some][:, None] - inside)
                at = cost.argmin(axis=1)
                least = cost[np.arange(len(at)), at]
                better = least < found.two[side, some]
                found.two[side, some] = np.where(better, least, found.two[side, some])
                found.second[side, some] = np.where(better, at, -1)


def _refuse_nan(costs: np.ndarray, sums: np.ndarray) -> None:
    """Raise ContractError for a cost of NaN.   sums : float64[…, k + 1], of float64[…]."""
    if (amiss := np.isnan(costs)).any():
        raise ContractError(
            "leaf must return a cost, or ∞, for every sum of objects, also of one alone; got nan "
            f"for the sums {sums[amiss][0, :-1].tolist()}"
        )


@attrs.define(eq=False)
class Pairs:
    """What counting tells of the tests of a set.

    two : float64[side, tests], the best of one and two leaves on a side.
    second : int64[side, tests], its test, −1: a leaf.
    low : float64[side, tests], no tree of the side costs less.
    divides : bool[tests], whether both sides hold rows.
    best, first : of the best tree of depth 2 at most, and its first test.
    """

    two: np.ndarray
    second: np.ndarray
    low: np.ndarray
    divides: np.ndarray
    best: float = np.inf
    first: int = -1

    def finish(self) -> None:
        """Find the best first test."""
        both = np.where(self.divides, self.two.sum(axis=0), np.inf)
        if len(both):
            self.first = int(both.argmin())
            self.best = float(both[self.first])

    def tree(self) -> list[int]:
        """Return the best tree of depth 2 in preorder."""
        sides = [int(self.second[side, self.first]) for side in (1, 0)]
        below = [[-1] if test < 0 else [test, -1, -1] for test in sides]
        return [self.first, *below[0], *below[1]]
