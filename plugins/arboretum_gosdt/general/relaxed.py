"""Limits that the fast searches do not know, relaxed: their bounds hold, and their trees may keep
the limits.

Without rules and the maximum path cost (and where leaves cost nothing, or tests have prices and
rows weigh differently, without a least leaf) more trees are allowed, so that the best of them costs
no more.  A limit of k leaves is relaxed by a higher price p + more of a leaf (Lagrange): a tree
within it costs q · loss + p · leaves = q · loss + (p + more) · leaves − more · leaves, which is at
least the fast search's minimum less more · k.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from arboretum.api import BudgetError
from arboretum_gosdt.problem.prepared import Merged

BITS = 29
"""Bits of all weights, or all masses, together, so that they fit into lanes; of more the last ones
are dropped, and bounds hold.
"""
MOST = 1 << 58
"""All costs stay below."""


class Line(NamedTuple):
    """A bound: a tree of at most ``depth`` tests on a path costs at least low − more · leaves,
    and some q · loss + p · leaves.
    """

    depth: int
    low: int
    more: int
    p: int
    q: int

    def bound_for_leaves(self, leaves: int) -> int:
        """Return the bound of trees of at most so many leaves, rounded up to a value that such
        trees can have.
        """
        return (
            least_cost_from(self.low - self.more * leaves, leaves, self.p, self.q)
            if self.more
            else self.low
        )


@lru_cache(1 << 16)
def least_cost_from(low: int, leaves: int, p: int, q: int) -> int:
    """Return the least q · loss + p · k from ``low`` on, for whole losses and k = 1 … leaves."""
    several = range(1, max(1, min(leaves, low // p + 1 if p else 1)) + 1)
    return min(-(-max(low - p * k, 0) // q) * q + p * k for k in several)


class Relaxed:
    """The fast searches on sets of a problem's objects, each of at most ``memory_bytes``.

    worst : prices count by the costliest path, which they do not know.
    least : training rows in a leaf.
    """

    memory_bytes: int | None = None

    def __init__(self, merged: Merged, p: int, q: int, worst: bool, least: int) -> None:
        self._merged, self._p, self._q, self._least = merged, p, q, least
        self._priced = bool(merged.price.any()) and not worst
        self._n_features, self._total = len(merged.tests), int(merged.weights.sum())
        self._less, masses = (
            max(0, int(numbers.sum()).bit_length() - BITS)
            for numbers in (merged.weights, merged.mass)
        )
        self.usable = self._n_features > 0 and not (merged.price.any() and (self._less or masses))
        self._word: dict[type, int | None] = {}
        # every object pays at least for its best label, which the general search leaves out
        self._own = q * (merged.weights.sum(axis=1) - merged.weights.max(axis=1))

    def begin_expected(self, depth: int | None) -> tuple[Any, Callable[[int], int]] | None:
        """Return the fast search for expected prices, where those of the costliest path count (they
        are no lower), and what reads its bounds; None where there is none.

        depth : tests on a path, at most; None: any number.
        Its costs are those of the general search times the mass of all objects, so that an expected
        price is whole.  There is none where a leaf costs nothing, where costs exceed MOST, or where
        its levels take too many bytes.
        """
        merged, mass = self._merged, int(self._merged.mass.sum())
        most = mass * (self._q * self._total + self._p * len(merged.bits))
        if (
            self._p == 0
            or not merged.weights.any()
            or most + mass * int(merged.price[-1]) * len(merged.bits) >= MOST
        ):
            return None
        from arboretum_gosdt.sparse.incumbent import Masses
        from arboretum_gosdt.sparse.search import SparseSearch

        numbers = (
            merged.bits,
            merged.weights,
            self._n_features,
            mass * self._p,
            mass * self._q,
            depth,
        )
        own = int(self._own.sum())
        with suppress(BudgetError):
            search = SparseSearch(
                *numbers, masses=Masses(merged.mass, merged.price), memory_bytes=self.memory_bytes
            )
            return search, lambda low: -(-low // mass) - own
        return None

    def make_line(self, depth: int, low: int, more: int) -> Line:
        """Return the bound ``low`` that a search for the price p + more of a leaf has shown, as a
        line.
        """
        return Line(depth, low, more, *((0, 1) if self._priced else (self._p, self._q)))

    def begin_search(
        self, rows: np.ndarray, depth: int | None, more: int
    ) -> tuple[Any, Callable[[int], int]] | None:
        """Return a fast search for a set of objects that costs p + more for a leaf, and how its
        bounds are read; None where there is none.

        rows : int64, the objects of the set.
        depth : tests on a path, at most; None: any number, which a leaf that costs nothing rules
            out.
        more : by how much a leaf is dearer than in the problem, 0 or more.
        There is none where labels save nothing, costs exceed MOST, or the levels take too many
        bytes.
        """
        merged, p = self._merged, self._p + more
        arrays = (merged.bits[rows], merged.weights[rows] >> self._less)
        own = int(self._own[rows].sum())
        q = self._q << self._less
        if not arrays[1].any() or p * len(rows) >= MOST:
            return None
        if p > 0:
            from arboretum_gosdt.sparse.incumbent import Masses
            from arboretum_gosdt.sparse.search import SparseSearch

            options = {}
            if self._priced:
                least = self._least * merged.units.mass_of_row  # 0: rows are no masses
                masses = Masses(merged.mass[rows], merged.price, max(1, least))
                options = {"masses": masses}
            elif self._least > 1:
                masses = Masses(merged.rows[rows], 0 * merged.price, self._least)
                options = {"masses": masses}
            with suppress(BudgetError):
                return self._build_search(
                    SparseSearch,
                    *arrays,
                    self._n_features,
                    p,
                    q,
                    depth,
                    **options,
                    memory_bytes=self.memory_bytes,
                ), lambda low: low - own
            return None
        if depth is None:
            return None
        from arboretum_gosdt.depth.search import LimitedSearch

        deepest = min(depth, self._n_features, len(rows) - 1)
        return self._build_search(
            LimitedSearch, *arrays, self._n_features, deepest
        ), lambda low: q * low - own

    def _build_search(self, kind: type, *numbers: Any, **options: Any) -> Any:
        """Return a search of that kind.  The first one is of all objects: those of sets have lanes
        as wide, so that they wait for no compiler.
        """
        search = kind(*numbers, **options, word=self._word.get(kind))
        self._word.setdefault(kind, getattr(search, "word", None))
        return search
