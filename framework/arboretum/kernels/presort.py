"""Sorted columns as runs of entries, and their division from node to node.

An *entry* says all that the common case of a scan needs, so that nothing is gathered from
elsewhere: ``row | separated << shift | class << (shift + 1)``, where ``separated`` is set if every
greater value of the column is far enough away for a threshold.  Where it is not set, the values
themselves have to be compared::

    sort_columns, for each column: sort the rows by value; write an entry per row
    sorted_rows, by radix:
        key ← the value's bits as an unsigned integer in the order of the values; NaN last
        for each digit of 11 bits, the lowest first, unless all keys have the same:
            place of a digit ← number of keys with a lower one
            for each key in its order: move it and its row to the place of its digit, and that on
    partition_order, for each column: divide the node's run stably by outcome

Invariants:

- A node's part of each column is order[f, low : high]: the node's rows by value, equal values in
  the order of the rows that were sorted, missing values last.  Division keeps that.
- Rows are below 2^shift, and an entry's type has the bits for row, flag and class: the caller sees
  to both.
- ``separated`` is set at the last of equal values alone, and stays true when rows leave the run; it
  is not set anew where rows in between have left.
- Each pass of the radix sort is stable, so that an earlier one orders what a later one finds equal;
  keys and rows are in the buffers that the last pass wrote.
"""

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.sorting import sort_run, split

DIGIT = 11  # bits sorted by at a time: 2048 counters stay in the first-level cache

BUCKETS = 1 << DIGIT

FEW = 256  # values up to which a comparison sort is faster than counters for every digit


@jit
def sort_columns(values, bits, rows, label, shift, gap, order, low):
    """Fill ``order`` from position ``low`` on with the entries of some rows in every column, by
    value; equal values in the order of ``rows``, missing ones last.

    values : float32/64[columns, n].
    bits : the same memory as uint32/64.
    rows : int32[m].
    label : int[n], or empty: the entries have no class.
    shift : bits of a row.
    gap : neighbours not further apart are not separated.
    order : uint32/64[columns, n], written at low … low + m − 1.
    """
    m = len(rows)
    own, own_bits = np.empty(m, values.dtype), np.empty(m, bits.dtype)
    for f in range(len(values)):
        for j in range(m):
            own[j], own_bits[j] = values[f, rows[j]], bits[f, rows[j]]
        entries, places = order[f, low : low + m], sorted_rows(own, own_bits)
        for j in range(m):
            at = places[j]
            i = rows[at]
            entry = np.uint64(i)
            if j + 1 < m and own[places[j + 1]] > own[at] + gap:
                entry |= np.uint64(1) << np.uint64(shift)
            if len(label) > 0:
                entry |= np.uint64(label[i]) << np.uint64(shift + 1)
            entries[j] = entry


@jit(inner=True)
def sorted_rows(values, bits):
    """uint32[n]: rows by value, equal ones in their order, those without a value last.

    bits : the values' memory as integers.

    Radix sort (Knuth, The Art of Computer Programming, volume 3, section 5.2.5): a pass per 11 bits
    of the values.
    """
    n, passes = len(values), 3 if bits.itemsize == 4 else 6
    keys = np.empty(n, bits.dtype)
    rows = np.empty(n, np.uint32)
    counts = np.empty((passes, BUCKETS), np.uint32)
    ordered_keys(values, bits, keys, rows, counts)
    if n <= FEW:
        sort_run(keys, rows)
        return rows
    other_keys, other_rows = np.empty(n, bits.dtype), np.empty(n, np.uint32)
    for p in range(passes):
        if spread(keys, rows, other_keys, other_rows, counts[p], p):
            keys, other_keys = other_keys, keys
            rows, other_rows = other_rows, rows
    return rows


@jit(inner=True)
def ordered_keys(values, bits, keys, rows, counts):
    """Write to ``keys`` integers in the order of the values, NaN last and −0 = 0, to ``rows`` 0, 1,
    …, and to ``counts`` how often each digit occurs.

    bits : the values' memory as integers, of 32 or 64 bits.
    counts : uint32[passes, 2048], by digit from the lowest; 3 passes for 32 bits, 6 for 64.
    """
    passes = len(counts)
    sign = np.uint64(1) << np.uint64(31 if passes == 3 else 63)
    last = sign | (sign - np.uint64(1))
    counts[:] = 0
    for i in range(len(values)):
        b = np.uint64(bits[i])
        if values[i] != values[i]:
            key = last
        elif values[i] == 0.0:
            key = sign
        elif b & sign:
            key = last - b
        else:
            key = b | sign
        keys[i], rows[i] = key, i
        for p in range(passes):
            counts[p, key & np.uint64(BUCKETS - 1)] += np.uint32(1)
            key >>= np.uint64(DIGIT)


@jit(inner=True)
def spread(keys, rows, to_keys, to_rows, counts, p):
    """Move keys and rows to their places by digit p, stably; False, and nothing done, where all
    have the same digit.

    to_keys, to_rows : written, as long as keys.
    counts : uint32[2048], how often each digit p occurs; used up.
    """
    by, mask = np.uint64(DIGIT * p), np.uint64(BUCKETS - 1)
    n = len(keys)
    if n == 0 or counts[np.uint64(keys[0]) >> by & mask] == n:
        return False
    place = np.uint32(0)
    for d in range(BUCKETS):
        place, counts[d] = place + counts[d], place
    for j in range(n):
        key = keys[j]
        digit = np.uint64(key) >> by & mask
        to = counts[digit]
        counts[digit] = to + np.uint32(1)
        to_keys[to], to_rows[to] = key, rows[j]
    return True


@jit
def threshold_outcomes(values, row_stride, base, rows, threshold, side, out):
    """Write to ``out`` 0 where value ≤ threshold, else 1; missing rows follow ``side``.

    values : flat memory of a matrix.
    row_stride, base : from row to row, and of the column's first row, in elements.
    out : int32[len(rows)].
    """
    for j in range(len(rows)):
        v = values[np.uintp(base) + np.uintp(rows[j]) * np.uintp(row_stride)]
        outcome = np.int32(v > threshold)
        out[j] = outcome if v == v else np.int32(side)


@jit
def partition_order(order, low, high, shift, goes, start, spare):
    """Divide the sorted runs of a node stably by outcome, in every column, in place.

    order : uint32/64[columns, n]; the node's part is low … high − 1.
    shift : bits of a row in an entry.
    goes : outcome by object.
    start : int64[arity + 1], first positions from ``low``.
    spare : order's type[≥ high − low + 1], scratch.
    """
    mask = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    for f in range(len(order)):
        split(order[f, low:high], mask, goes, start, spare)
