"""Many thresholds of few columns by codes, in place of bits of all tests.

A row's code in a column says how many of its thresholds the value is above: these are the first
ones.  Which thresholds divide the rows alike, or the other way round, is seen by fingerprints::

    sign[k] = words of the rows of code k + 1 summed from the top, those of outcome 1;  of the two
        sides that which lacks row 0 counts
    a threshold is kept where 0 < rows of outcome 1 < rows, and no other of its sign is kept that
        divides every row as it does, or turned                                   (keep_thresholds)

Invariants: thresholds of a column are neighbours, and ascend.  ``slots`` is longer than there are
thresholds, so that each search ends.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import inner, jit


@inner
def divides_alike(codes, a, j, b, k):
    """Return whether threshold j of column a divides all rows as threshold k of column b does, or
    turned.
    """
    turned = (codes[a, 0] > j) != (codes[b, 0] > k)
    for r in range(codes.shape[1]):
        if ((codes[a, r] > j) != (codes[b, r] > k)) != turned:
            return False
    return True


@jit(wraps=True)
def keep_thresholds(codes, start, words, slots, ones, sign, kept):
    """Say which thresholds divide the rows, and not as one before does.

    codes : int32[columns, rows].
    start : int64[columns + 1], where the thresholds of each column begin.
    words : uint64[rows], random.
    slots : int64[2^k], −1.
    ones : int64[thresholds], sign : uint64[thresholds], zeros; written.
    kept : bool[thresholds], out.
    """
    n, mask, everything = codes.shape[1], slots.shape[0] - 1, words.sum()
    for b in range(codes.shape[0]):
        own = codes[b]
        for r in range(n):
            if own[r] > 0:
                ones[start[b] + own[r] - 1] += 1
                sign[start[b] + own[r] - 1] += words[r]
        above, total = np.int64(0), np.uint64(0)
        for f in range(start[b + 1] - 1, start[b] - 1, -1):
            above += ones[f]
            total += sign[f]
            ones[f], sign[f] = above, total
        for f in range(start[b], start[b + 1]):
            kept[f] = 0 < ones[f] < n
            if not kept[f]:
                continue
            if own[0] > f - start[b]:
                sign[f] = everything - sign[f]
            at = np.int64(sign[f] & np.uint64(mask))
            while slots[at] >= 0:
                other = slots[at]
                if sign[other] == sign[f]:
                    a = column_of(start, other)
                    if divides_alike(codes, a, other - start[a], b, f - start[b]):
                        kept[f] = False
                        break
                at = (at + 1) & mask
            if kept[f]:
                slots[at] = f


@inner
def column_of(start, f):
    """Return the column of a threshold."""
    b = np.int64(0)
    while start[b + 1] <= f:
        b += 1
    return b
