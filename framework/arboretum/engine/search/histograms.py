"""Counted bins of coded features, kept for open nodes so that only the smaller children are
counted.
"""

import numpy as np

from arboretum.engine.search.contract import Cell
from arboretum.engine.search.workspace import Workspace
from arboretum.kernels import counting
from arboretum.model.table import frozen_array

KEEP_BYTES = 1 << 23
"""Histograms of open nodes beyond this are not kept, but counted again: 40 nodes of 50 columns ×
256 bins × 2 classes.
"""

Where = tuple[np.ndarray, int, int, np.ndarray, np.ndarray]
"""Flat codes, row stride, column stride (in elements), columns counted, first bin of each: see
``kernels.counting``.
"""


class Histograms:
    """Class weights (or moments) and counts per bin.

    Of unit objects only int32[classes, bins] is kept, 16 times less than the tables criteria see.
    """

    keep_bytes = KEEP_BYTES

    def __init__(self, workspace: Workspace, where: Where) -> None:
        self.where = where
        self._space = workspace
        self._bins = int(where[-1][-1])
        stats = workspace.statistics
        self._integers = stats.unit and not stats.moments
        self._kept_bytes = 0

    def tables(self, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
        """Return float64[bins, width] weights and int64[bins, count width] counts of a node,
        counted unless they were kept.  They must not be changed.
        """
        kept = cell.memo.get(self)
        if kept is None:
            kept = self._count_node(cell)
            self._keep_tables(cell, kept)
        if self._integers:
            counts = self._counts_of(kept[0])
            return counts.astype(np.float64), counts
        weights, counts = kept
        return weights, counts

    def _counts_of(self, kept: np.ndarray) -> np.ndarray:
        """Return int64[bins, classes] of what is kept of unit objects."""
        return np.ascontiguousarray(kept.T, np.int64)

    def split_node(self, cell: Cell, children: list[Cell]) -> None:
        """Count the smaller children; the largest is what is left of the parent.

        Sums that round are added up anew: the square of an outlier that has left would leave its
        rounding, equal scores would no longer be equal, and a tree would depend on which nodes'
        tables were kept.
        """
        largest = max(children, key=lambda child: child.size)
        subtracted = self.may_subtract(cell, largest)
        kept = self.drop(cell)
        if kept is None or not subtracted:
            return  # counted when asked for
        for child in children:
            if child is largest:
                continue
            counted = self._count_node(child)
            for left, taken in zip(kept, counted, strict=True):
                left -= taken
            if child.wanted:
                self._keep_tables(child, counted)
        if not self._integers:
            weights, counts = kept  # after a subtraction: no weight where no row is left
            weights[(counts if counts.shape == weights.shape else counts[:, 0]) == 0] = 0.0
        self._keep_tables(largest, kept)

    def may_subtract(self, cell: Cell, largest: Cell) -> bool:
        """Return whether the largest child of a node will be what its siblings leave."""
        return self in cell.memo and self._space.statistics.exact and largest.wanted

    def drop(self, cell: Cell) -> tuple[np.ndarray, ...] | None:
        """Forget a node; return what was kept of it, None if nothing was."""
        kept: tuple[np.ndarray, ...] | None = cell.memo.pop(self, None)
        if kept is not None:
            self._kept_bytes -= sum(a.nbytes for a in kept)
        return kept

    def _keep_tables(self, cell: Cell, tables: tuple[np.ndarray, ...]) -> None:
        """Keep a node's tables, unless those kept take too much memory."""
        size = sum(a.nbytes for a in tables)
        if self._kept_bytes + size <= self.keep_bytes or not self._kept_bytes:
            cell.memo[self] = tables
            self._kept_bytes += size

    def _count_node(self, cell: Cell) -> tuple[np.ndarray, ...]:
        """Count a node's objects by bin: int32[classes, bins] alone of unit objects, else weights
        and counts as in :meth:`tables`.
        """
        space, stats = self._space, self._space.statistics
        rows = space.rows[cell.low : cell.high]
        if self._integers:
            table = np.zeros((stats.n_classes, self._bins), np.int32)
            counting.count_classes(*self.where, rows, stats.short_label, table)
            return (table,)
        weights, counts = stats.empty_tables(self._bins)
        counting.count_weights(
            *self.where, rows, stats.label, stats.y, stats.weight, stats.count, weights, counts
        )
        return weights, counts


def flatten_matrix(matrix: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Return a matrix as flat read-only memory with its (row, column) strides in elements; copied
    only if it is not contiguous.
    """
    by_row = matrix.flags.c_contiguous
    return frozen_array(matrix if by_row else matrix.T).reshape(-1), *(
        (matrix.shape[1], 1) if by_row else (1, matrix.shape[0])
    )
