"""Dense ranks of the values of columns: what a search over thresholds reads in place of the
values::

    for each of a column's rows:                                                    (number_few)
        number of the row ← that of its value, if it is in the table
                            else how many are there; enter the value, or end if that is too many
    sort the values that were entered;  rank of a row ← place of its value among them
    if they were too many:                                                         (rank_sorted)
        sort the column;  rank ← 0
        for each of its rows, ascending:
            rank ← rank + 1, if its value is greater than the one before;  rank of the row ← rank

Invariants: each row is once in a column's order, so that every rank is written; which of equal
values comes first does not matter.  Values are equal where their bits are: 0 is added to them
before, so that there is no −0.  A table has at least twice as many slots as values may be entered.
"""

import numpy as np

from arboretum.kernels.bits import lowest
from arboretum.kernels.jit import inner, jit
from arboretum.kernels.solving.fingerprints import GOLDEN

FEW, SLOTS = 4, 4
"""Rows for each value that is entered, at least, and slots for each of these."""


@inner(wraps=True)
def number_few(values, keys, slots, distinct, numbers):
    """Number the values of a column as they occur; returns how many there are, −1 if more than
    there is room for.

    values : float64[rows].   keys : uint64[rows], their bits.
    slots : int32[2^·], room.   distinct : float64[·], out, what has each number.
    numbers : int32[rows], out.
    """
    mask, known, entered = np.uint64(len(slots) - 1), 0, distinct.view(np.uint64)
    shift = np.uint64(64 - lowest(~mask))  # of whole numbers the lower bits of a product are 0
    slots[:] = -1
    for row in range(len(values)):
        key = keys[row]
        at = key * GOLDEN >> shift
        while slots[at] >= 0 and entered[slots[at]] != key:
            at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            if known == len(distinct):
                return -1
            slots[at], distinct[known] = known, values[row]
            known += 1
        numbers[row] = slots[at]
    return known


@jit
def rank_few(columns, distinct, slots, ranks, found):
    """Write the ranks of the columns of few values, and into ``found`` which these are.

    columns : float64[columns, rows], without −0.   distinct, slots : see :func:`number_few`.
    ranks : out, int32[columns, rows].   found : out, bool[columns].
    """
    keys, place = columns.view(np.uint64), np.empty(len(distinct), np.int32)
    for f in range(len(columns)):
        many = number_few(columns[f], keys[f], slots, distinct, ranks[f])
        found[f] = many >= 0
        for rank, number in enumerate(np.argsort(distinct[: max(many, 0)])):
            place[number] = rank
        for row in range(columns.shape[1] if found[f] else 0):
            ranks[f, row] = place[ranks[f, row]]


@jit
def rank_sorted(columns, which, order, ranks):
    """Write the ranks of sorted columns.

    columns : float64[columns, rows].   which : int64[·], those that are sorted.
    order : int64[·, rows], the rows of each of these, ascending by value.
    ranks : out, int32[columns, rows].
    """
    for k, f in enumerate(which):
        values, rank = columns[f], np.int32(0)
        for j, row in enumerate(order[k]):
            if j > 0 and values[row] > values[order[k, j - 1]]:
                rank += np.int32(1)
            ranks[f, row] = rank


def ranks_of(values: np.ndarray) -> np.ndarray:
    """Return int32[columns, rows]: how many different values of its column are smaller than a
    value.

    values : float64[rows, columns], none missing.
    """
    columns = np.add(values.T, 0.0, order="C", dtype=np.float64)  # which makes −0 0
    ranks, found = np.empty(columns.shape, np.int32), np.empty(len(columns), bool)
    room = -(-len(values) // FEW)
    slots = np.empty(1 << (SLOTS * room).bit_length(), np.int32)
    rank_few(columns, np.empty(room), slots, ranks, found)
    if not found.all():
        rest = np.flatnonzero(~found)
        # NumPy sorts with vectors: half the time of a radix sort of our own, up to 27,000 rows
        order = (columns[rest] if found.any() else columns).argsort(axis=1)
        rank_sorted(columns, rest, order, ranks)
    return ranks
