"""Sort a run of values together with the objects they belong to; divide objects, or entries of sorted columns, by outcome."""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit


@jit(inner=True)
def sort_run(keys, rows, low, high):
    """Sort keys[low:high] ascending and rows with them, in place: quicksort, heap sort where it degenerates."""
    stack = np.empty((64, 3), np.int64)
    deepest = 2
    while (high - low) >> (deepest // 2) > 0:
        deepest += 1
    stack[0, 0], stack[0, 1], stack[0, 2] = low, high, 0
    n = 1
    while n > 0:
        n -= 1
        a, b, depth = stack[n, 0], stack[n, 1], stack[n, 2]
        while b - a > 16 and depth < deepest and n < 62:
            x, y, z = keys[a], keys[(a + b) // 2], keys[b - 1]
            pivot = max(min(x, y), min(max(x, y), z))
            i, j = a, b - 1
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    keys[i], keys[j] = keys[j], keys[i]
                    rows[i], rows[j] = rows[j], rows[i]
                    i += 1
                    j -= 1
            depth += 1
            stack[n, 0], stack[n, 1], stack[n, 2] = i, b, depth
            n += 1
            b = j + 1
        if b - a > 16:
            _heap_sort(keys, rows, a, b)
            continue
        for j in range(a + 1, b):
            key, row = keys[j], rows[j]
            i = j
            while i > a and keys[i - 1] > key:
                keys[i], rows[i] = keys[i - 1], rows[i - 1]
                i -= 1
            keys[i], rows[i] = key, row


@jit(inner=True)
def _heap_sort(keys, rows, low, high):
    n = high - low
    start, end = n // 2, n
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            keys[low + end], keys[low] = keys[low], keys[low + end]
            rows[low + end], rows[low] = rows[low], rows[low + end]
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and keys[low + child] < keys[low + child + 1]:
                child += 1
            if not keys[low + root] < keys[low + child]:
                break
            keys[low + root], keys[low + child] = keys[low + child], keys[low + root]
            rows[low + root], rows[low + child] = rows[low + child], rows[low + root]
            root = child


@jit(inline=True, borrow=True)
def split_two(items, mask, goes, spare):
    """Move items of outcome 0 to the front, stably, and those of outcome 1 to ``spare``; return how many are left.

    items : integers, whose bits under ``mask`` are objects.   goes : outcome by object.   Without a branch, for it could not be predicted.
    """
    left, right = np.uintp(0), np.uintp(0)
    for j in range(len(items)):
        item = items[j]
        g = np.uintp(goes[np.uintp(item & mask)])
        spare[right] = item
        items[left] = item
        right += g
        left += np.uintp(1) - g
    return left


@jit(inline=True, borrow=True)
def take_back(items, left, spare):
    """Put what :func:`split_two` moved aside behind the rest."""
    for j in range(np.uintp(len(items)) - left):
        items[left + np.uintp(j)] = spare[j]


@jit(inner=True, borrow=True)
def split_many(items, mask, goes, start, spare):
    """Sort items stably by outcome, in place.   start : int64[arity + 1], first places of the outcomes."""
    for j in range(len(items)):
        o = goes[np.uintp(items[j] & mask)]
        spare[start[o]] = items[j]
        start[o] += 1
    for o in range(len(start) - 1, 0, -1):  # each has moved on to the next one's first place
        start[o] = start[o - 1]
    start[0] = 0
    for j in range(len(items)):
        items[j] = spare[j]
