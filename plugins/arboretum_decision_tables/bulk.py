"""The five minima of the paper for very many small tables: no objects, no graph, a few microseconds of Python per table."""

from __future__ import annotations

import numpy as np

from arboretum.api import DataError

COSTS = ("depth", "total_path_length", "n_nodes", "n_internal", "n_leaves")
"""What :meth:`Minima.of` returns, in this order; average depth is total path length divided by the number of rows."""


class Minima:
    """Solves tables one after the other in the same memory.  Use one per thread or process.

    small, large : that memory; after a table it holds every subtable with its values, so that trees can be read off.
    """

    def __init__(self, nodes: int = 4096) -> None:
        from arboretum_decision_tables import kernels_bulk

        self._kernels = kernels_bulk
        self.small = kernels_bulk.Rows(*(np.zeros(shape, np.uint64) for shape in (64, (64, 64), 64, 64)))
        self._allocate(nodes, 1 << 16)

    def _allocate(self, nodes: int, stream: int) -> None:
        self._room = nodes, stream
        self.large = self._kernels.Subtables(
            np.zeros(2 * nodes, np.int32), np.zeros(nodes, np.uint64), np.zeros(nodes, np.int64), np.zeros(nodes, np.uint64),
            np.zeros(nodes, np.int64), np.zeros(nodes + 1, np.int64), np.zeros(stream, np.int64), np.zeros(nodes, np.int64),
        )  # fmt: skip

    def of(self, codes: np.ndarray, label: np.ndarray) -> np.ndarray:
        """float64[5]: the minima of :data:`COSTS` over the trees that tell all decisions apart; ∞-free and exact.

        codes : uint8[n, m], C order, distinct rows, n ≤ 64.   label : int64[n].   Every object weighs 1, every test costs 1.
        Raises DataError for a table that is none for this way; solver subtable_dp does those.
        """
        kernels, out = self._kernels, np.empty(5)
        while True:
            found = kernels.five_minima(codes, label, self.small, self.large, out)
            if found == kernels.SOLVED:
                return out
            if found != kernels.NEED_ROOM:
                break
            self._allocate(*(2 * room for room in self._room))
        reason = {
            kernels.NOT_DISTINCT: "two rows have the same values; merge them first",
            kernels.TOO_WIDE: "a row needs more than 64 bits; use solver subtable_dp",
            kernels.TOO_MANY_ROWS: f"{len(codes)} rows are more than 64; use solver subtable_dp",
        }[found]
        raise DataError(f"table of {codes.shape[0]} rows and {codes.shape[1]} attributes: {reason}")
