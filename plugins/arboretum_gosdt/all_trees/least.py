"""The least cost of all trees where tests are many: by the search over intervals of cuts, where
tests are thresholds, else by the search for all trees, which counts a test's pairs when it is
bounded, and so most tests' not at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from arboretum.api import BudgetError
from arboretum_gosdt.all_trees.enumeration import AllTrees
from arboretum_gosdt.all_trees.few_leaves import nodes_of_preorder
from arboretum_gosdt.all_trees.first_tests import FirstTests

MANY_TESTS = 300
"""From as many tests on this search is faster than the one that counts the pairs of all tests."""
FEW_TESTS = 14
"""Up to so many tests this search is no slower, and one search is begun instead of two."""
SHARE = 0.5
"""Of the seconds that are left, for this search, before another one takes its place."""


class LeastSearch:
    """Minimise q · loss + p · leaves + what the tests cost; where it does not end soon, another
    search does, which knows a good tree at any time.

    make : makes the search for all trees within a cost, with what is known of first tests; may
        raise BudgetError.
    other : makes the other search (:class:`arboretum_gosdt.solvers.choice.Search`).
    constant : what every tree costs besides, as the other search tells costs.
    leaf : what a leaf costs, without that.
    more : of the least cost, as ``upper`` has it, how much more the trees may cost that will be
        asked for; these are found at once.
    bound : finds the least cost, and what first tests cost at least, both without ``constant``,
        until a time; None: it does not end soon, or does not know such tests.
    """

    def __init__(
        self,
        make: Callable[[int, FirstTests | None], AllTrees],
        other: Callable[[], Any],
        constant: int,
        leaf: int,
        more: Callable[[int], int],
        bound: Callable[[float | None], FirstTests | None],
    ) -> None:
        self._make, self._make_other, self._constant = make, other, constant
        self._more, self._bound = more, bound
        self.all_trees: AllTrees | None = None
        self._other: Any = None
        self._cost, self._proven = leaf, False
        self._nodes = np.array([(-1, 0, -1, -1)])

    def run(
        self, until: float | None, memory_bytes: int | None, report: Callable[[int, int], None]
    ) -> str:
        """Go on until the least cost is proven (""), or "seconds" or "bytes" run out."""
        if self._other is None and not self._proven:
            now = time.monotonic()
            if self._find(None if until is None else now + SHARE * (until - now)):
                self._other = self._make_other()
        if self._other is None:
            return ""
        ended: str = self._other.run(until, memory_bytes, report)
        return ended

    def _find(self, until: float | None) -> str:
        """Find the least cost and a tree of it; returns what ran out, or ""."""
        known = self._bound(until)
        if known is not None:  # to find all trees may take longer, and is not waited for
            self._cost, self._nodes, self._proven = known.least, known.nodes, True
        try:
            if known is None:
                found = self._make(self._cost, None)
                if ended := found.find_least(until):
                    return ended
                least = found.least_cost
                found.restart(self._budget(least))
            else:
                self.all_trees = self._make(self._budget(known.least), known)
                return ""
        except BudgetError:
            return "" if self._proven else "bytes"
        if ended := found.run(until):
            return ended
        self._cost = least
        first = next(iter(found.trees(found.count_trees_of_sets())))
        self._nodes, self.all_trees, self._proven = nodes_of_preorder(first.tolist()), found, True
        return ""

    def _budget(self, least: int) -> int:
        """Return what trees may cost that will be asked for."""
        return least + self._more(least + self._constant)

    @property
    def lower(self) -> int:
        """The proven bound: no tree costs less."""
        if self._other is not None:
            return int(self._other.lower)
        return self._constant + (self._cost if self._proven else 0)

    @property
    def upper(self) -> int:
        """The cost of the best tree known."""
        return self._constant + self._cost if self._other is None else int(self._other.upper)

    @property
    def subproblems(self) -> int:
        """Number of sets of objects that were bounded."""
        if self._other is not None:
            return int(self._other.subproblems)
        return 0 if self.all_trees is None else self.all_trees.n_sets

    @property
    def bytes_used(self) -> int:
        """Bytes of its arrays."""
        return 0 if self._other is None else int(self._other.bytes_used)

    def tree(self) -> np.ndarray:
        """Return the best tree known, int64[nodes, 4], as searches do."""
        found: np.ndarray = self._nodes if self._other is None else self._other.tree()
        return found
