"""Bounds that a set of rows leaves at the cuts of its columns, for the sets between which it lies.

A list, int32: weight of the rows; for every column where its entries begin, and the end of the last; entries of four numbers:
rank, weight up to it, lower bounds of both sides with one level less.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit
from arboretum_gosdt.intervals_parts import (
    A, AFTER, AT, CUT, FILL, FIRST_NODE, LEFT_SUB, LEFT_SUPER, LIST, LOW_LEFT, LOW_RIGHT, MASS, MASSED, OF, OPEN, SIDE, SUB, SUPER,
    WEIGHT, weight_to,
)  # fmt: skip


@jit(inner=True, borrow=True)
def start_list(plan, state, top):
    """Begin a frame's list, in its parent's room; -1 where there is none left."""
    frame, parent = state.frames[top], state.frames[top - 1]
    lists, fill = state.lists[top - 1], parent[FILL]
    frame[LIST] = -1
    if fill + plan.columns + 2 <= len(lists):
        frame[LIST] = fill
        parent[FILL] = fill + plan.columns + 2
        lists[fill] = frame[WEIGHT]
        lists[fill + 1] = parent[FILL]


@jit(inner=True, borrow=True)
def list_column(plan, state, top, column):
    """Write the nodes of a column to the frame's list, and go on without a list where they do not fit."""
    frame, parent = state.frames[top], state.frames[top - 1]
    if frame[LIST] < 0:
        return
    lists, fill = state.lists[top - 1], parent[FILL]
    at = state.nodes[frame[FIRST_NODE], AFTER]
    while state.nodes[at, AFTER] >= 0:
        if fill + 4 > len(lists):
            parent[FILL] = frame[LIST]
            frame[LIST] = -1
            return
        node = state.nodes[at]
        lists[fill], lists[fill + 1], lists[fill + 2], lists[fill + 3] = node[AT], node[MASS], node[LOW_LEFT], node[LOW_RIGHT]
        fill += 4
        at = node[AFTER]
    lists[frame[LIST] + 2 + column] = fill
    parent[FILL] = fill


@jit(inner=True, borrow=True)
def cross_seeds(plan, tables, state, column, first):
    """Bounds for a side of a cut t of column f of the first frame, from the lists of that frame's cuts u of another column g: at
    state.seeds[first:], by rank; returns the end.

    Of {g <= u}, the list has cuts of f, and so bounds of {g <= u, f <= t'}, that are also those of {f <= t, g <= u'}.
    """
    frame, child, seeds = state.frames[0], state.frames[1], state.seeds
    f, cut, lists, found = state.nodes[frame[A], OF], frame[CUT], state.lists[0], first
    is_left = (2 * frame[MASSED] >= frame[WEIGHT]) == (frame[SIDE] == 1)
    at, gap = state.nodes[frame[FIRST_NODE] + 2 * column, AFTER], child[FIRST_NODE]
    last = gap + child[OPEN]
    while state.nodes[at, AFTER] >= 0:
        node = state.nodes[at]
        at = node[AFTER]
        while gap < last and state.nodes[state.open[gap, 1], AT] <= node[AT]:  # intervals stand in order
            gap += 1
        if gap == last:
            break
        if state.nodes[state.open[gap, 0], AT] >= node[AT]:
            continue
        mass = weight_to(plan, tables, np.int64(1), column, node[AT])
        if mass == 0 or mass == child[WEIGHT]:
            continue
        seeds[found, 0], seeds[found, 1] = node[AT], mass
        for side in range(2):
            best = np.int64(0)
            where = node[LEFT_SUB + 2 * side]
            if where >= 0 and where == node[LEFT_SUPER + 2 * side]:
                own = mass if side == 0 else child[WEIGHT] - mass
                low, high = np.int64(lists[where + 1 + f]), np.int64(lists[where + 2 + f])
                begin, end = low, high
                while low < high:
                    middle = low + ((high - low) >> 3) * 4
                    if lists[middle] <= cut:
                        low = middle + 4
                    else:
                        high = middle
                # entries before low have cuts <= t, those from low on have more
                for entry in (low - 4, low):
                    if begin <= entry < end:
                        whole = lists[entry + 1] if is_left else lists[where] - lists[entry + 1]
                        bound = lists[entry + 2] if is_left else lists[entry + 3]
                        best = max(best, bound - max(np.int64(0), whole - own))
            seeds[found, 2 + side] = best
        found += 1
    return found


@jit(inner=True, borrow=True)
def collect_seeds(plan, tables, state, top, column, cross):
    """Bounds for the frame's rows from the lists of a subset and a superset, in state.seeds by rank; returns how many.

    A subset's bounds hold as they are; a superset's less the weight of the rows on that side that the frame does not have.
    cross : look into the lists of the first frame's cuts of this column, too.
    """
    frame, seeds, n = state.frames[top], state.seeds, 0
    if top == 0:
        return 0
    lists, total = state.lists[top - 1], frame[WEIGHT]
    i = end_i = j = end_j = more = np.int64(0)
    if frame[SUB] >= 0:
        i, end_i = np.int64(lists[frame[SUB] + 1 + column]), np.int64(lists[frame[SUB] + 2 + column])
    if frame[SUPER] >= 0:
        j, end_j = np.int64(lists[frame[SUPER] + 1 + column]), np.int64(lists[frame[SUPER] + 2 + column])
        more = lists[frame[SUPER]] - total
    low = np.int64(0)
    k = end_k = np.int64(len(seeds) // 2)
    if cross:
        end_k = cross_seeds(plan, tables, state, column, k)
    far = np.int64(1) << 40
    while i < end_i or j < end_j or k < end_k:
        cut = min(np.int64(lists[i]) if i < end_i else far, np.int64(lists[j]) if j < end_j else far)
        cut = min(cut, seeds[k, 0] if k < end_k else far)
        mass, right = weight_to(plan, tables, top, column, cut), np.int64(0)
        if i < end_i and lists[i] == cut:
            low, right = max(low, np.int64(lists[i + 2])), np.int64(lists[i + 3])
            i += 4
        if j < end_j and lists[j] == cut:
            lost = lists[j + 1] - mass
            low, right = max(low, lists[j + 2] - lost), max(right, lists[j + 3] - (more - lost))
            j += 4
        if k < end_k and seeds[k, 0] == cut:
            low, right = max(low, seeds[k, 2]), max(right, seeds[k, 3])
            k += 1
        if mass == 0 or mass == total:
            continue
        if n == 0 or seeds[n - 1, 1] != mass:
            seeds[n, 0], seeds[n, 1], seeds[n, 3] = cut, mass, 0
            n += 1
        seeds[n - 1, 2] = low
        seeds[n - 1, 3] = max(seeds[n - 1, 3], right)
    for k in range(n - 2, -1, -1):
        seeds[k, 3] = max(seeds[k, 3], seeds[k + 1, 3])
    return n
