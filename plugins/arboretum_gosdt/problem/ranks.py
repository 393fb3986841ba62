"""Dense ranks of the values of columns: what a search over thresholds reads in place of the
values::

    sort each column;  rank ← 0
    for each of its rows, ascending:
        rank ← rank + 1, if its value is greater than the one before;  rank of the row ← rank

Invariant: each row is once in a column's order, so that every rank is written; which of equal
values comes first does not matter.
"""

import numpy as np

from arboretum.kernels.jit import jit


@jit
def rank_columns(columns, order, ranks):
    """Write the ranks of sorted columns.

    columns : float64[columns, rows].
    order : int64[columns, rows], the rows of each column, ascending by value.
    ranks : out, int32[columns, rows].
    """
    for f in range(len(order)):
        values, rank = columns[f], np.int32(0)
        for j, row in enumerate(order[f]):
            if j > 0 and values[row] > values[order[f, j - 1]]:
                rank += np.int32(1)
            ranks[f, row] = rank


def ranks_of(values: np.ndarray) -> np.ndarray:
    """Return int32[columns, rows]: how many different values of its column are smaller than a
    value.

    values : float64[rows, columns], none missing.
    """
    columns = np.ascontiguousarray(values.T, np.float64)
    ranks = np.empty(columns.shape, np.int32)
    # NumPy sorts with vectors: half the time of a radix sort of our own, up to 27,000 rows
    rank_columns(columns, columns.argsort(axis=1), ranks)
    return ranks
