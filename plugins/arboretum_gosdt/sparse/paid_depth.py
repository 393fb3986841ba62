"""The sparse search where the costliest path is paid and all tests have one price: what a tree
pays is that price times its depth.

    best, budget ← cost of a leaf;  d ← the limit of depth, if there is one
    repeat:
        c, j ← least cost q · loss + p · leaves of trees of depth d at most, and the depth of such a
               tree; end if no tree costs less than budget
        best ← min(best, c + price · j);  end if j < 2
        budget ← best − price;  d ← j − 1

Invariants: trees of depth j to d cost c at least, and pay for j tests, so that none is better than
the one that was found.  Shallower trees pay for one test at least, so that those that cost
``budget`` or more are no better than the best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arboretum.api import BudgetError
from arboretum_gosdt.sparse.incumbent import LEAF
from arboretum_gosdt.sparse.node import UNLIMITED
from arboretum_gosdt.sparse.search import SparseSearch


class PaidDepth:
    """Minimises q · loss + p · leaves + price · depth.

    make : a search of q · loss + p · leaves within a depth (None: any), before any work.
    depth : of the trees, at most.
    price : above 0, as what make's searches count.
    """

    def __init__(
        self, make: Callable[[int | None], SparseSearch], depth: int | None, price: int
    ) -> None:
        self._make, self._price = make, price
        search = make(depth)
        self.upper = search.upper  # a leaf's
        # the search at work, and its budget: they change at once, whenever Ctrl-C comes
        self._now = search, search.upper
        self._tree, self._finished = LEAF, False
        self._bound, self._expanded = 0, 0
        # of each search that is done: its limit, the depth of its tree, and the search itself; None
        # where it was dropped, as bytes are few
        self._done: list[tuple[int, int, SparseSearch | None]] = []

    @property
    def _search(self) -> SparseSearch:
        """The search at work."""
        return self._now[0]

    @property
    def lower(self) -> int:
        """The proven bound: no tree costs less.  All trees but the leaf pay for a test."""
        bound = max(self._bound, self._search.lower) + self._price
        return self.upper if self._finished else min(self.upper, bound)

    @property
    def subproblems(self) -> int:
        """Number of sets of rows that were expanded, by all searches."""
        return self._expanded + self._search.subproblems

    @property
    def bytes_used(self) -> int:
        """Bytes of the levels and of the memos of all searches that are kept."""
        return self._search.bytes_used + self._bytes_held

    @property
    def _bytes_held(self) -> int:
        return sum(search.bytes_used for _, _, search in self._done if search)

    def run(
        self, until: float | None, memory_bytes: int | None, report: Callable[[int, int], None]
    ) -> str:
        """As :meth:`.search.SparseSearch.run`."""

        def report_bounds(*_: int) -> None:
            report(self.lower, self.upper)

        while not self._finished:
            deepest = 0
            room = None if memory_bytes is None else memory_bytes - self._bytes_held
            try:
                ended = self._search.run(until, room, report_bounds)
            finally:  # also where Ctrl-C ends it
                if self._search.upper < self._now[1]:
                    deepest = self._keep_tree()
            if ended:
                return ended
            self._bound = max(self._bound, self._search.lower)
            if deepest < 2 or self._bound + self._price >= self.upper:
                self._finished = True
            else:
                try:
                    below, budget = self._make(deepest - 1), self.upper - self._price
                except BudgetError:
                    return "bytes"
                below.search_below(budget)
                self._expanded += self._search.subproblems
                self._done.append((self._limit, deepest, self._search))
                if memory_bytes is not None and self._bytes_held > memory_bytes // 4:
                    self._done = [(limit, levels, None) for limit, levels, _ in self._done]
                self._now = below, budget
            report_bounds()
        return ""

    def _keep_tree(self) -> int:
        """Keep the search's tree if it is the best so far; returns its depth."""
        nodes = self._search.tree(hurry=self._search.lower < self._search.upper)
        depth = np.zeros(len(nodes), np.int64)
        for node, (test, _, one, rest) in enumerate(nodes.tolist()):
            if test >= 0:  # sides stand behind their node
                depth[[one, rest]] = depth[node] + 1
        deepest = int(depth.max())
        tree = self._search.subproblem.build_subtree(nodes)
        cost = tree.recompute_cost() + self._price * deepest
        if cost < self.upper:
            self.upper, self._tree = cost, nodes
        return deepest

    def levels_of_proof(self) -> list[tuple[int, int, tuple[Any, ...]]]:
        """Return (limit, levels, memo) of each search: its limit of depth (−1: none), the least
        depth of the trees that no later search bounds, and its memo as
        :class:`arboretum.api.Memo` has it.  The last memo stands in for one that was dropped.
        """
        return [
            (limit, levels, (search or self._search).memo_for_proof())
            for limit, levels, search in [*self._done, (self._limit, 1, self._search)]
        ]

    @property
    def _limit(self) -> int:
        """Of depth, of the search at work; −1: none."""
        depth = self._search.subproblem.depth
        return -1 if depth >= int(UNLIMITED) else depth

    def tree(self) -> np.ndarray:
        """Return the best tree known, as :meth:`.search.SparseSearch.tree` does."""
        return self._tree
