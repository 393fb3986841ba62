"""Outcomes of tests on coded columns, and stacks of the rows that have them.

A feature is multiway (the code is the outcome), or two-way: thresholds (code ≤ index, or not) or
equals (code = index, or not)::

    take_rows, for each row of rows[low : high] with the outcome:
        rows[top] ← row;  top ← top + 1

Invariants: the rows of a set lie in a stack, those of its parts from ``top`` on, in the same order;
the caller has made room for them there.  The class of a set is that of all its rows, NOBODY without
rows, MIXED with several classes.
"""

import numpy as np

from arboretum.kernels.jit import inline

MULTIWAY, THRESHOLDS, EQUALS = 0, 1, 2
INSIDE, OUTSIDE = np.int64(0), np.int64(1)
"""Outcomes of a two-way test.  A plain 0 has a type of its own, for which numba would compile a
kernel anew.
"""
NOBODY, MIXED = -1, -2  # class of no rows, and of rows of several classes


@inline
def union(a, b):
    """Return the class of two sets of rows together, of which a and b are the classes: a label,
    NOBODY or MIXED.
    """
    if a == NOBODY:
        return b
    if b == NOBODY or a == b:
        return a
    return np.int64(MIXED)


@inline
def goes(family, code, index, outcome):
    """Whether a code has that outcome under test ``index`` of its feature.

    family : MULTIWAY, THRESHOLDS or EQUALS.
    outcome : a code where the feature is multiway, else INSIDE or OUTSIDE.
    """
    if family == MULTIWAY:
        return code == outcome
    if family == THRESHOLDS:
        return (code <= index) == (outcome == INSIDE)
    return (code == index) == (outcome == INSIDE)


@inline
def take_rows(column, family, index, outcome, rows, low, high, top):
    """Copy those of rows[low:high] that have the outcome to rows[top:]; return the end of the copy.

    column : the feature's codes by row; family, index, outcome : as in :func:`goes`.
    """
    for k in range(low, high):
        r = rows[k]
        if goes(family, np.int64(column[r]), index, outcome):
            rows[top] = r
            top += 1
    return top


@inline
def cheapest(price, first, low, high):
    """Return the cheapest of the tests low … high − 1 of a feature, ties to the lowest.

    price : of all tests; those of the feature begin at ``first``.
    """
    best = low
    for k in range(low + 1, high):
        if price[first + k] < price[first + best]:
            best = k
    return best


@inline
def sort_few(values, n):
    """Sort the first n values by insertion, in place."""
    for k in range(1, n):
        c, j = values[k], k
        while j > 0 and values[j - 1] > c:
            values[j] = values[j - 1]
            j -= 1
        values[j] = c
