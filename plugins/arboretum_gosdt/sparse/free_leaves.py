"""The sparse search where leaves cost nothing: at a price of one, where a loss costs as much as all
leaves together.

With K leaves at most and a loss that costs K, a tree costs K · loss + leaves, and 1 ≤ leaves ≤ K.
So a tree of least cost is one of least loss; no tree loses less than (bound − K) / K, rounded up,
and one of cost c loses (c − 1) / K, rounded down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arboretum_gosdt.sparse.search import SparseSearch


class FreeLeaves:
    """A search of least loss, by one of least cost.

    search : a leaf costs 1, a loss ``q · most``.
    most : leaves of a tree, at most.
    """

    def __init__(self, search: SparseSearch, most: int) -> None:
        self.search, self.most = search, most

    @property
    def lower(self) -> int:
        """The proven bound, in 1/q losses."""
        return -((self.most - self.search.lower) // self.most)

    @property
    def upper(self) -> int:
        """The loss of the best tree known, in 1/q losses."""
        return (self.search.upper - 1) // self.most

    @property
    def subproblems(self) -> int:
        """Number of sets of rows that were expanded."""
        return self.search.subproblems

    @property
    def bytes_used(self) -> int:
        """Bytes of the levels and of the memo."""
        return self.search.bytes_used

    def run(
        self, until: float | None, memory_bytes: int | None, report: Callable[[int, int], None]
    ) -> str:
        """As :meth:`.search.SparseSearch.run`."""
        return self.search.run(until, memory_bytes, lambda low, up: report(self.lower, self.upper))

    def tree(self) -> np.ndarray:
        """As :meth:`.search.SparseSearch.tree`."""
        return self.search.tree()

    def memo_for_proof(self) -> tuple[Any, ...]:
        """Return the memo as :class:`arboretum.api.Memo` has it, of losses."""
        has, words, slots, lower, turn, start = self.search.memo_for_proof()
        return has, words, slots, np.maximum(0, -((self.most - lower) // self.most)), turn, start
