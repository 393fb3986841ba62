"""The sparse search with a least mass of leaves, and beside it the one without: whose bounds hold,
whose sets are fewer, and whose best tree often keeps to it.

    the search without works EASY slices
    repeat until the bounds meet, or the search with a least mass has finished:
        that one works a slice
        the one without works, unless it has finished, until it has expanded as many sets
    its tree, as far as it keeps to the least mass, is one that the other need not exceed

So it takes at most twice as long as either alone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from arboretum_gosdt.problem.prepared import MOST
from arboretum_gosdt.sparse.incumbent import LEAF, SubProblem
from arboretum_gosdt.sparse.search import EASY, SparseSearch


class _BoundsMeet(Exception):
    """There is nothing left to be searched."""


class LeastLeafSearch:
    """Minimises q · loss + p · leaves over trees whose leaves have a least mass.

    search : knows the least mass.
    plain : of the same table, knows none.
    """

    def __init__(self, search: SparseSearch, plain: SparseSearch) -> None:
        self.search = search
        self._plain: SparseSearch | None = plain
        self._slices, self._expanded, self._bound = 0, 0, plain.lower
        self._tree, self._cost = LEAF, MOST

    @property
    def subproblem(self) -> SubProblem:
        """The table, and what is minimised."""
        return self.search.subproblem

    @property
    def lower(self) -> int:
        """The proven bound: no tree costs less."""
        return min(self.upper, max(self._bound, self.search.lower))

    @property
    def upper(self) -> int:
        """The cost of the best tree known."""
        return min(self._cost, self.search.upper)

    @property
    def subproblems(self) -> int:
        """Number of sets of rows that were expanded, with a least mass and without."""
        return self.search.subproblems + self._expanded

    @property
    def bytes_used(self) -> int:
        """Bytes of the levels and memos of both."""
        return self.search.bytes_used + (self._plain.bytes_used if self._plain else 0)

    def run(
        self, until: float | None, memory_bytes: int | None, report: Callable[[int, int], None]
    ) -> str:
        """As :meth:`.search.SparseSearch.run`; each of the two has half of the bytes."""

        def report_bounds(*_: int) -> None:
            report(self.lower, self.upper)

        def go_on_beside(*_: int) -> None:
            while (
                self._plain
                and self._expanded <= self.search.subproblems
                and self._work_without(1, until, report_bounds)
            ):
                pass
            report_bounds()
            if self.lower >= self.upper:
                raise _BoundsMeet

        self._work_without(EASY, until, report_bounds)
        half = None if memory_bytes is None else memory_bytes // 2
        with suppress(_BoundsMeet):
            if self.lower < self.upper:
                return self.search.run(until, half, go_on_beside)
        return ""

    def _work_without(self, slices: int, until: float | None, report: Callable[..., None]) -> bool:
        """Go on without a least mass; at the end keep what that leaves of its tree.  Returns
        whether it went on: seconds or bytes may have run out.
        """
        plain = self._plain
        if plain is None:
            return False
        before = self._slices
        self._slices = plain.work_slices(before + slices, until, report)
        self._bound, self._expanded = max(self._bound, plain.lower), plain.subproblems
        if plain.lower >= plain.upper:
            tree, self._plain = self.subproblem.build_subtree(plain.tree()), None
            self._tree, self._cost = tree.to_array(), tree.recompute_cost()
            if self._bound < self._cost < self.search.upper and not self.search.subproblems:
                self.search.search_below(self._cost)
        return self._slices > before

    def load_kernels(self, until: float) -> None:
        """Load those of the search with a least mass, which few objects may not need."""
        self.search.run(until, None, lambda low, up: None)

    def tree(self) -> np.ndarray:
        """Return the best tree known, as :meth:`.search.SparseSearch.tree` does."""
        return self._tree if self._cost < self.search.upper else self.search.tree()

    def resume_from_proof(self, words: np.ndarray, start: np.ndarray, nodes: np.ndarray) -> None:
        """As :meth:`.search.SparseSearch.resume_from_proof`; then it goes on alone."""
        self._plain = None
        self.search.resume_from_proof(words, start, nodes)
