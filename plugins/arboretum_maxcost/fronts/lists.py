"""Pareto fronts as lists of points: merged, added up and united.

A point is a record (error, cost, leaves, test); a list of points ascends in leaves,
and among equal leaves (a level) it ascends in errors and descends in costs.  None of its points is
at or below another in errors, costs and leaves.  Without the third axis all leaves count 0, and a
list has one level::

    merge(A, B):  of two levels, the point of least error, then cost, comes next;
                  keep it where it is cheaper than the last one kept
    add(A, B):    for every number of leaves l, ascending:
                      level ← ∅
                      for a in the shorter list: level ← merge(level, a + B[leaves = l − leaves(a)])
                      keep_level(level)
    unite(A, B):  for every number of leaves that occurs, ascending:
                      keep_level(merge of both levels)
    keep_level:   append the points that are cheaper than all of fewer leaves and no more errors

Invariants:

- ``below[:n_below]`` is the step function of the levels kept so far, whatever their leaves: errors
  ascend, costs descend.  Where leaves are no axis there is one level, and none is kept.
- ``add`` and ``unite`` overwrite ``level``, ``level_too``, ``below`` and ``below_too``.  Neither a
  list nor ``out`` may be one of these, and ``out`` is none of the lists.
- A function that finds its buffer too short returns FULL (−1) before it writes beyond it; what
  ``out`` holds is then worth nothing.  The lists are never changed.
- ``cap`` and NEVER are above every error that is kept; ``test`` is carried along, and of a sum it
  is that of either point.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit

POINT = np.dtype(
    [
        ("error", np.int64),  # mass outside the majority class of its leaf, over all leaves
        ("cost", np.int64),  # on the second axis, as Form says
        ("leaves", np.int64),  # 0 where they are no axis
        ("test", np.int64),  # asked first; −1 for a leaf, and for a bound that is no sum
    ]
)
FULL = np.int64(-1)
"""What a list function returns where its buffer is too short."""
NEVER = np.int64(1) << 62


class Form(NamedTuple):
    """The second axis: a leaf costs ``leaf``, a node (per_node + per_mass · mass) · price, and its
    branches their sum or (``largest``) the most of them.

    counts : 1 where leaves are an axis (or are limited), else 0.   most_leaves, min_leaf (rows),
        min_split (rows), light (weight at or below which a node is a leaf): limits.
    stop : nodes entered with so many tests left are leaves. cheapest : no test costs less.
    """

    largest: bool
    leaf: int
    per_node: int
    per_mass: int
    counts: int
    most_leaves: int
    min_leaf: int
    min_split: int
    light: int
    stop: int
    cheapest: int


class Buffers(NamedTuple):
    """POINT[length] each, all of one length: two for a level, two for the step function of the
    levels before, three for whole lists.
    """

    level: np.ndarray
    level_too: np.ndarray
    below: np.ndarray
    below_too: np.ndarray
    one: np.ndarray
    two: np.ndarray
    three: np.ndarray


@jit(inline=True, borrow=True)
def copy(source, low, high, target, at):
    """Copy points source[low:high] to target[at:]."""
    for k in range(high - low):
        target[at + k] = source[low + k]


@jit(inline=True, borrow=True)
def put(point, error, cost, leaves, test):
    """Write all fields of a point."""
    point.error, point.cost, point.leaves, point.test = error, cost, leaves, test


def values(points: np.ndarray) -> np.ndarray:
    """int64[., 3]: error, cost and leaves of POINT[.], a view."""
    return points.view(np.int64).reshape(-1, 4)[:, :3]


@jit(inner=True, borrow=True)
def merge(a, i, end, b, j, last, error, cost, largest, cap, out):
    """Write one level of a[i:end] and b[j:last] to ``out``, the latter with ``error`` and ``cost``
    added (or the larger cost taken), without points that another beats; returns the length of
    ``out``, or FULL.  Errors of ``cap`` and more are left out.
    """
    top, least = np.int64(0), np.int64(0)
    if end - i + last - j > len(out):
        return FULL
    while True:
        from_a = i < end
        if j < last:
            e = b[j].error + error
            c = max(b[j].cost, cost) if largest else b[j].cost + cost
            if not from_a or e < a[i].error or (e == a[i].error and c < a[i].cost):
                if e >= cap:
                    return top
                if top == 0 or c < least:
                    put(out[top], e, c, b[j].leaves, b[j].test)
                    least, top = c, top + 1
                j += 1
                continue
        elif not from_a:
            return top
        if a[i].error >= cap:
            return top
        if top == 0 or a[i].cost < least:
            out[top] = a[i]
            least, top = a[i].cost, top + 1
        i += 1


@jit(inner=True, borrow=True)
def level_start(a, low, high, leaves):
    """Return the first of a[low:high] with at least so many leaves, ``high`` where none has."""
    while low < high:
        middle = (low + high) // 2
        if a[middle].leaves < leaves:
            low = middle + 1
        else:
            high = middle
    return low


@jit(inner=True, borrow=True)
def keep_level(level, n, leaves, buffers, n_below, out, top):
    """Append a level of n points to ``out`` but for those that fewer leaves achieve as well;
    returns (new top, length of ``below``).

    ``below`` is the step function of all levels so far, whatever their leaves.
    """
    if top + n > len(out):
        return FULL, n_below
    first, at = top, np.int64(-1)
    for k in range(n):
        while at + 1 < n_below and buffers.below[at + 1].error <= level[k].error:
            at += 1
        if at < 0 or level[k].cost < buffers.below[at].cost:
            put(out[top], level[k].error, level[k].cost, leaves, level[k].test)
            top += 1
    if leaves > 0 and top > first:
        n_new = merge(
            buffers.below,
            np.int64(0),
            n_below,
            out,
            first,
            top,
            np.int64(0),
            np.int64(0),
            False,
            NEVER,
            buffers.below_too,
        )
        if n_new == FULL:
            return FULL, n_below
        copy(buffers.below_too, 0, n_new, buffers.below, 0)
        n_below = n_new
    return top, n_below


@jit(inner=True, borrow=True)
def add(a, i, end, b, j, last, cap, form, buffers, out):
    """Write all sums of a point of a[i:end] and one of b[j:last] to ``out``, but for those that are
    beaten; returns the length of ``out``, or FULL.
    """
    if end - i > last - j:
        a, b, i, j, end, last = b, a, j, i, last, end
    top, n_below = np.int64(0), np.int64(0)
    most = min(a[end - 1].leaves + b[last - 1].leaves, form.most_leaves)
    for leaves in range(a[i].leaves + b[j].leaves, most + 1):
        n, level, longer = np.int64(0), buffers.level, buffers.level_too
        for k in range(i, end):
            other = leaves - a[k].leaves
            low = level_start(b, j, last, other)
            high = level_start(b, low, last, other + 1)
            if low == high:
                continue
            n = merge(
                level,
                np.int64(0),
                n,
                b,
                low,
                high,
                a[k].error,
                a[k].cost,
                form.largest,
                cap,
                longer,
            )
            if n == FULL:
                return FULL
            level, longer = longer, level
        if n:
            top, n_below = keep_level(level, n, leaves, buffers, n_below, out, top)
            if top == FULL:
                return FULL
    return top


@jit(inner=True, borrow=True)
def unite(a, i, end, b, j, last, buffers, out):
    """Write the points of two lists to ``out`` but for those that are beaten; returns the length of
    ``out``, or FULL.
    """
    top, n_below, nothing = np.int64(0), np.int64(0), np.int64(0)
    while i < end or j < last:
        leaves = (
            a[i].leaves if i < end and (j == last or a[i].leaves <= b[j].leaves) else b[j].leaves
        )
        next_i, next_j = level_start(a, i, end, leaves + 1), level_start(b, j, last, leaves + 1)
        n = merge(a, i, next_i, b, j, next_j, nothing, nothing, False, NEVER, buffers.level)
        if n == FULL:
            return FULL
        top, n_below = keep_level(buffers.level, n, leaves, buffers, n_below, out, top)
        if top == FULL:
            return FULL
        i, j = next_i, next_j
    return top


@jit(inner=True, borrow=True)
def beaten(a, i, end, error, cost, leaves):
    """Return whether some point of a[i:end] is at or below these values."""
    for k in range(i, end):
        if a[k].leaves > leaves:
            return False
        if a[k].error <= error and a[k].cost <= cost:
            return True
    return False


@jit(borrow=True)
def sums(a, b, cap, form, buffers):
    """:func:`add` of two whole lists, into ``buffers.one``."""
    return add(a, np.int64(0), len(a), b, np.int64(0), len(b), cap, form, buffers, buffers.one)


@jit(borrow=True)
def first_within(a, error, cost, leaves):
    """Return the first point of a list that is at or below these values, −1 where there is none."""
    for k in range(len(a)):
        if a[k].leaves <= leaves and a[k].error <= error and a[k].cost <= cost:
            return k
    return -1


@jit(borrow=True)
def first_pair(a, b, error, cost, leaves, form):
    """Return the first point of a, and the first of b beside it, whose sum is at or below these
    values; (−1, −1) where there is none.
    """
    for i in range(len(a)):
        left = cost if form.largest else cost - a[i].cost
        if a[i].cost <= cost:
            j = first_within(b, error - a[i].error, left, leaves - a[i].leaves)
            if j >= 0:
                return i, j
    return -1, -1
