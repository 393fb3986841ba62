"""Pareto fronts as lists of points: merged, added up and united.

A point is a record (error, cost, leaves, test); a list of points ascends in leaves, and among equal
leaves (a level) it ascends in errors and descends in costs.  None of its points is at or below
another in errors, costs and leaves.  Without the third axis all leaves count 0, and a list has one
level::

    merge_levels(A, B):
                  of two levels, the point of least error, then cost, comes next;
                  keep it where it is cheaper than the last one kept
    add_fronts(A, B):
                  for every number of leaves l, ascending:
                      level ← ∅
                      for a in the shorter list:
                          level ← merge_levels(level, a + B[leaves = l − leaves(a)])
                      append_level(level)
    unite_fronts(A, B):
                  for every number of leaves that occurs, ascending:
                      append_level(merge_levels of both levels)
    append_level: append the points that are cheaper than all of fewer leaves and no more errors

Invariants:

- ``below[:n_below]`` is the step function of the levels kept so far, whatever their leaves: errors
  ascend, costs descend.  Where leaves are no axis there is one level, and none is kept.
- ``add_fronts`` and ``unite_fronts`` overwrite ``level``, ``level_too``, ``below`` and
  ``below_too``.  Neither a list nor ``out`` may be one of these, and ``out`` is none of the lists.
- A function that finds its buffer too short returns FULL (−1) before it writes beyond it; what
  ``out`` holds is then worth nothing.  The lists are never changed.
- ``cap`` and NEVER are above every error that is kept; ``test`` is carried along, and of a sum it
  is that of either point.

Where nothing else is said, form is a Form and buffers are Buffers, overwritten; lists are POINT[·],
of which low and high bound what counts.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit

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

    counts : 1 where leaves are an axis (or are limited), else 0.

    most_leaves, min_leaf (rows), min_split (rows), light (weight at or below which a node is a
    leaf): limits.
    stop : nodes entered with so many tests left are leaves.
    cheapest : no test costs less.
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


@inline
def copy_points(source, low, high, target, at):
    """Copy points source[low:high] to target[at:]; one array may be both where ``at`` ≤ ``low``."""
    for k in range(high - low):
        target[at + k] = source[low + k]


@inline
def write_point(point, error, cost, leaves, test):
    """Write all fields of a point."""
    point.error, point.cost, point.leaves, point.test = error, cost, leaves, test


def point_values(points: np.ndarray) -> np.ndarray:
    """Return int64[., 3]: error, cost and leaves of POINT[.], a view."""
    return points.view(np.int64).reshape(-1, 4)[:, :3]


@inner
def merge_levels(
    first, first_low, first_high, second, second_low, second_high, error, cost, largest, cap, out
):
    """Write the points of two levels that no other of them dominates to ``out``; returns its
    length, or FULL.

    first[first_low:first_high], second[second_low:second_high] : POINT, a level each.
    error, cost : added to those of the second (or the larger cost taken, where ``largest``).
    cap : errors of so much and more are left out.
    out : POINT[·], neither of the two.
    The leaves and test of a point are carried along as they are, those of the second for a sum:
    ``append_level`` writes the leaves that count.
    """
    n_points, cost_of_last = np.int64(0), np.int64(0)
    if first_high - first_low + second_high - second_low > len(out):
        return FULL
    while True:
        first_has_points = first_low < first_high
        if second_low < second_high:
            sum_error = second[second_low].error + error
            sum_cost = (
                max(second[second_low].cost, cost) if largest else second[second_low].cost + cost
            )
            if (
                not first_has_points
                or sum_error < first[first_low].error
                or (sum_error == first[first_low].error and sum_cost < first[first_low].cost)
            ):
                if sum_error >= cap:
                    return n_points
                if n_points == 0 or sum_cost < cost_of_last:
                    write_point(
                        out[n_points],
                        sum_error,
                        sum_cost,
                        second[second_low].leaves,
                        second[second_low].test,
                    )
                    cost_of_last, n_points = sum_cost, n_points + 1
                second_low += 1
                continue
        elif not first_has_points:
            return n_points
        if first[first_low].error >= cap:
            return n_points
        if n_points == 0 or first[first_low].cost < cost_of_last:
            out[n_points] = first[first_low]
            cost_of_last, n_points = first[first_low].cost, n_points + 1
        first_low += 1


@inner
def start_of_level(points, low, high, leaves):
    """Return the index of the first of points[low:high] with at least ``leaves`` leaves, ``high``
    where none has.
    """
    while low < high:
        middle = (low + high) // 2
        if points[middle].leaves < leaves:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def append_level(level, n_points, leaves, buffers, n_below, out, top):
    """Append a level to ``out`` but for the points that fewer leaves achieve as well; returns (new
    length of ``out``, new length of ``buffers.below``), the first FULL where there is no room.

    level : POINT[·], of which the first ``n_points`` count; they get ``leaves`` leaves.
    n_below : length of ``buffers.below``, the step function of all levels so far, whatever their
        leaves; it is written where leaves are an axis.
    top : length of ``out``.
    """
    if top + n_points > len(out):
        return FULL, n_below
    first, at = top, np.int64(-1)
    for k in range(n_points):
        while at + 1 < n_below and buffers.below[at + 1].error <= level[k].error:
            at += 1
        if at < 0 or level[k].cost < buffers.below[at].cost:
            write_point(out[top], level[k].error, level[k].cost, leaves, level[k].test)
            top += 1
    if leaves > 0 and top > first:
        n_new = merge_levels(
            buffers.below,
            0,
            n_below,
            out,
            first,
            top,
            0,
            0,
            False,
            NEVER,
            buffers.below_too,
        )
        if n_new == FULL:
            return FULL, n_below
        copy_points(buffers.below_too, 0, n_new, buffers.below, 0)
        n_below = n_new
    return top, n_below


@inner
def add_fronts(
    first, first_low, first_high, second, second_low, second_high, cap, form, buffers, out
):
    """Write the sums of a point of first[first_low:first_high] and one of
    second[second_low:second_high] to ``out``, but for those that are dominated; returns the length
    of ``out``, or FULL.

    cap : errors of so much and more are left out.
    form : Form, which says how costs add up and how many leaves are allowed.
    Neither list may be empty.
    """
    # the shorter list is gone through point by point, the longer one is merged for each
    if first_high - first_low > second_high - second_low:
        first, second, first_low, second_low, first_high, second_high = (
            second,
            first,
            second_low,
            first_low,
            second_high,
            first_high,
        )
    top, n_below = np.int64(0), np.int64(0)
    most = min(first[first_high - 1].leaves + second[second_high - 1].leaves, form.most_leaves)
    for leaves in range(first[first_low].leaves + second[second_low].leaves, most + 1):
        n, level, longer = np.int64(0), buffers.level, buffers.level_too
        for k in range(first_low, first_high):
            other = leaves - first[k].leaves
            low = start_of_level(second, second_low, second_high, other)
            high = start_of_level(second, low, second_high, other + 1)
            if low == high:
                continue
            n = merge_levels(
                level,
                0,
                n,
                second,
                low,
                high,
                first[k].error,
                first[k].cost,
                form.largest,
                cap,
                longer,
            )
            if n == FULL:
                return FULL
            level, longer = longer, level
        if n:
            top, n_below = append_level(level, n, leaves, buffers, n_below, out, top)
            if top == FULL:
                return FULL
    return top


@inner
def unite_fronts(first, first_low, first_high, second, second_low, second_high, buffers, out):
    """Write the points of first[first_low:first_high] and second[second_low:second_high] to ``out``
    but for those that are dominated; returns the length of ``out``, or FULL.
    """
    top, n_below = np.int64(0), np.int64(0)
    while first_low < first_high or second_low < second_high:
        leaves = (
            first[first_low].leaves
            if first_low < first_high
            and (second_low == second_high or first[first_low].leaves <= second[second_low].leaves)
            else second[second_low].leaves
        )
        first_next, second_next = (
            start_of_level(first, first_low, first_high, leaves + 1),
            start_of_level(second, second_low, second_high, leaves + 1),
        )
        n = merge_levels(
            first,
            first_low,
            first_next,
            second,
            second_low,
            second_next,
            0,
            0,
            False,
            NEVER,
            buffers.level,
        )
        if n == FULL:
            return FULL
        top, n_below = append_level(buffers.level, n, leaves, buffers, n_below, out, top)
        if top == FULL:
            return FULL
        first_low, second_low = first_next, second_next
    return top


@inner
def is_dominated(points, low, high, error, cost, leaves):
    """Return whether some of points[low:high], a list that ascends in leaves, is at or below these
    values.
    """
    for k in range(low, high):
        if points[k].leaves > leaves:
            return False
        if points[k].error <= error and points[k].cost <= cost:
            return True
    return False


@jit(borrow=True)
def sum_of_fronts(first, second, cap, form, buffers):
    """Write :func:`add_fronts` of two whole lists to ``buffers.one``; returns its length, or FULL.

    first, second : POINT[·], neither of the buffers.
    """
    return add_fronts(
        first,
        0,
        len(first),
        second,
        0,
        len(second),
        cap,
        form,
        buffers,
        buffers.one,
    )


@jit(borrow=True)
def first_point_within(points, error, cost, leaves):
    """Return the index of the first point of a list at or below these values, −1 where there is
    none.
    """
    for k in range(len(points)):
        if points[k].leaves <= leaves and points[k].error <= error and points[k].cost <= cost:
            return k
    return -1


@jit(borrow=True)
def first_pair_within(first, second, error, cost, leaves, form):
    """Return the indices of the first point of ``first``, and the first of ``second`` beside it,
    whose sum is at or below these values; (−1, −1) where there is none.
    """
    for i in range(len(first)):
        left = cost if form.largest else cost - first[i].cost
        if first[i].cost <= cost:
            j = first_point_within(second, error - first[i].error, left, leaves - first[i].leaves)
            if j >= 0:
                return i, j
    return -1, -1
