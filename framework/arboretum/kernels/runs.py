"""Sorted runs: the columns of a subtree, sorted once and divided from node to node.  See ``subtree``."""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.sorting import sort_run


@jit
def sort_columns(values, row_stride, column_stride, rows, keys, owners, spare, listed):
    """Fill ``keys`` and ``owners``; list the columns that are not constant, and return their number."""
    m, n = len(rows), 0
    for f in range(len(keys)):
        start = np.uintp(f) * np.uintp(column_stride)
        key, owner = keys[f], owners[f]
        known, last = 0, m
        lowest, highest = np.inf, -np.inf
        for j in range(m):
            v = values[start + np.uintp(rows[j]) * np.uintp(row_stride)]
            if v == v:
                key[known], owner[known] = v, j
                known += 1
                lowest, highest = min(lowest, v), max(highest, v)
            else:
                last -= 1
                owner[last] = j
        for j in range(known, m):
            key[j] = np.nan
        if not lowest < highest:
            continue
        listed[n] = f
        n += 1
        between = False
        for j in range(known):
            between |= (key[j] != lowest) & (key[j] != highest)
        if between:
            sort_run(key, owner, 0, known)
            continue
        left, right = 0, 0
        for j in range(known):  # two values: no need to sort
            if key[j] == lowest:
                owner[left] = owner[j]
                left += 1
            else:
                spare[right] = owner[j]
                right += 1
        for j in range(known):
            key[j] = lowest if j < left else highest
            if j >= left:
                owner[j] = spare[j - left]
    return n


@jit(inline=True)
def varies(key):
    """Whether a sorted run has two different values."""
    last = len(key) - 1
    while last > 0 and key[last] != key[last]:
        last -= 1
    return key[0] < key[last]


@jit
def divide(members, goes, spare):
    """Divide positions stably by outcome, in place; return how many go left."""
    left, right = 0, 0
    for j in range(len(members)):
        i = members[j]
        g = np.int64(goes[i])
        spare[right] = i
        members[left] = i
        right += g
        left += 1 - g
    for j in range(right):
        members[left + j] = spare[j]
    return left


@jit
def divide_run(key, owner, goes, wanted, spare_key, spare):
    """Divide a sorted run stably by outcome.   wanted : 1 only the left part is needed, 2 only the right, 3 both."""
    m = len(owner)
    if wanted == 2:
        at = m - 1
        for j in range(m - 1, -1, -1):
            i = owner[j]
            key[at], owner[at] = key[j], i
            at -= np.int64(goes[i])
            if at < 0:
                break
        return
    left, right = 0, 0
    for j in range(m):
        i, k = owner[j], key[j]
        g = np.int64(goes[i])
        if wanted == 3:
            spare[right], spare_key[right] = i, k
            right += g
        owner[left], key[left] = i, k
        left += 1 - g
    if wanted == 3:
        for j in range(right):
            owner[left + j], key[left + j] = spare[j], spare_key[j]
