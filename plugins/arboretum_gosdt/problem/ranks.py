"""Dense ranks of the values of columns: what a search over thresholds reads in place of the
values::

    sort each column;  rank ← 0
    for each of its entries, ascending:
        rank of the entry's row ← rank;  rank ← rank + 1, if a greater value follows

Invariants: an entry is its row, and bit ``shift`` above it, which is 1 where the next value is
greater; each row has one entry in a column, so that every rank is written.
"""

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.presort import sort_columns


@jit
def rank_columns(order, shift, ranks):
    """Write the ranks of sorted entries.

    order : uint32/64[columns, rows], ascending by value: row, and bit ``shift`` where a greater
        value follows.
    ranks : out, int32[columns, rows].
    """
    for f in range(len(order)):
        rank = np.int32(0)
        for entry in order[f]:
            ranks[f, entry & ((1 << shift) - 1)] = rank
            rank += np.int32((entry >> shift) & 1)


def ranks_of(values: np.ndarray) -> np.ndarray:
    """Return int32[columns, rows]: how many different values of its column are smaller than a
    value.

    values : float64[rows, columns], none missing.
    """
    columns = np.add(values.T, 0.0, order="C", dtype=np.float64)  # −0.0 is 0.0
    shift = max(1, columns.shape[1].bit_length())
    order = np.empty(columns.shape, np.uint32 if shift < 31 else np.uint64)
    rows = np.arange(columns.shape[1], dtype=np.int32)
    sort_columns(
        columns, columns.view(np.uint64), rows, np.empty(0, np.uint8), shift, 0.0, order, 0
    )
    ranks = np.empty(columns.shape, np.int32)
    rank_columns(order, shift, ranks)
    return ranks
