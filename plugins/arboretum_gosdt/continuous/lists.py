"""Bounds that a set of rows leaves at the cuts of its columns, for the sets between which it lies.

A list, int32: weight of the rows; for every column where its entries begin, and the end of the
last; entries of four numbers: rank, weight up to it, lower bounds of both sides with one level
less.  For a frame s with the list of a subset A and of a superset B, at a cut t, with r the weight
up to it, L and R bounds of the left and the right side::

    L_s(t) ≥ max(L_A(u) of all u ≤ t, L_B(u) − (r_B(u) − r_s(u)) of all u ≤ t)
    R_s(t) ≥ max(R_A(u) of all u ≥ t, R_B(u) − (right weight of B − that of s, at u) of all u ≥ t)

Invariants: entries of a column are in the order of their ranks.  A list is written column by column
while its frame works, at the end of its parent's room (``used``); a list that is given has all
columns.  Room is asked for before each entry: where there is none, the list is dropped and its room
is free again.  ``seeds`` has at most one entry for each weight up to a cut, none at weight 0 or the
whole.

Where nothing else is said, plan and tables are Plan and Tables of :mod:`.tables`, state is a State
of :mod:`.parts`; tables and state are written; top is the place of a frame, which is its level,
too.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner
from arboretum_gosdt.continuous.parts import table_level, weight_up_to
from arboretum_gosdt.continuous.strips import (
    blocks_up_to,
    first_block_above,
    is_divided,
    loss_of_new_rows,
    lost_between,
)


@inner
def start_list(plan, state, top):
    """Begin the list of frame ``top`` in its parent's room; ``frame.list`` is −1 where there is
    none left.

    top : at least 1.

    Writes the weight of its rows and where the first column's entries begin; ``parent.used`` moves
    behind the head.
    """
    frame, parent = state.frames[top], state.frames[top - 1]
    lists, fill = state.lists[top - 1], parent.used
    frame.list = -1
    if fill + plan.columns + 2 <= len(lists):
        frame.list = fill
        parent.used = fill + plan.columns + 2
        lists[fill] = frame.weight
        lists[fill + 1] = parent.used


@inline
def list_nodes_of_column(plan, state, top, column):
    """Write the nodes of a column to the frame's list, and go on without a list where they do
    not fit.

    The column's outermost nodes, which every set has, are left out.  Columns must come in their
    order.
    """
    frame, parent = state.frames[top], state.frames[top - 1]
    if frame.list < 0:
        return
    lists, fill = state.lists[top - 1], parent.used
    at = state.nodes[frame.first_node].after
    while state.nodes[at].after >= 0:
        if fill + 4 > len(lists):
            parent.used = frame.list
            frame.list = -1
            return
        node = state.nodes[at]
        lists[fill] = node.cut
        lists[fill + 1] = node.mass
        lists[fill + 2] = node.low_left
        lists[fill + 3] = node.low_right
        fill += 4
        at = node.after
    lists[frame.list + 2 + column] = fill
    parent.used = fill


@inline
def collect_bounds(plan, tables, state, top, column):
    """Collect bounds for the frame's rows from the lists of a subset and a superset, in state.seeds
    by rank; returns how many.

    A subset's bounds hold as they are; a superset's less the weight of the rows on that side that
    the frame does not have.

    column : whose cuts they are.  ``frame.sub`` and ``frame.super`` say where the lists begin in
        the parent's room; −1: none.  The first frame has none.
    """
    frame, seeds, n = state.frames[top], state.seeds, 0
    if top == 0:
        return 0
    if frame.part >= 0:
        pair = frame.part * plan.columns + column
        if frame.part == column:
            frame.within = pair * 2 * plan.coarse + plan.coarse - 1
        else:
            frame.within = -1 if frame.side_row < 0 else pair * 2 * plan.coarse + frame.side_row
    lists, total = state.lists[top - 1], frame.weight
    i = end_i = j = end_j = more = np.int64(0)
    if frame.sub >= 0:
        i = np.int64(lists[frame.sub + 1 + column])
        end_i = np.int64(lists[frame.sub + 2 + column])
    if frame.super >= 0:
        j = np.int64(lists[frame.super + 1 + column])
        end_j = np.int64(lists[frame.super + 2 + column])
        more = lists[frame.super] - total
    level = table_level(plan, top)
    divided = is_divided(plan, tables, frame, plan.depth - top, level)
    fresh = divided and frame.first_new < frame.last_new
    low, far = np.int64(0), np.int64(1) << 40
    while i < end_i or j < end_j:
        cut = min(
            np.int64(lists[i]) if i < end_i else far, np.int64(lists[j]) if j < end_j else far
        )
        mass, right = weight_up_to(plan, tables, top, column, cut), np.int64(0)
        if i < end_i and lists[i] == cut:
            low_left, right = np.int64(lists[i + 2]), np.int64(lists[i + 3])
            if fresh:
                low_left += loss_of_new_rows(plan, tables, frame, level, column, cut, 0)
                right += loss_of_new_rows(plan, tables, frame, level, column, cut, 1)
            low = max(low, low_left)
            i += 4
        if j < end_j and lists[j] == cut:
            lost = lists[j + 1] - mass
            low, right = max(low, lists[j + 2] - lost), max(right, lists[j + 3] - (more - lost))
            j += 4
        if mass == 0 or mass == total:
            continue
        if n == 0 or seeds[n - 1].mass != mass:
            seeds[n].cut, seeds[n].mass, seeds[n].low_right = cut, mass, 0
            n += 1
        seed = seeds[n - 1]
        seed.low_left, seed.low_right = low, max(seed.low_right, right)
    if divided:
        carry_over_strips(plan, tables, state, top, column, n)
    else:
        for k in range(n - 2, -1, -1):
            seeds[k].low_right = max(seeds[k].low_right, seeds[k + 1].low_right)
    return n


@inner
def carry_over_strips(plan, tables, state, top, column, n):
    """Carry bounds of one cut over to the next one, with what is lost between them.

    n : how many entries ``state.seeds`` has, all of a column.
    """
    frame, seeds = state.frames[top], state.seeds
    level, levels = table_level(plan, top), plan.depth - top
    low = after = np.int64(0)
    for k in range(n):
        up_to = blocks_up_to(plan, tables, level, column, seeds[k].cut)
        low += lost_between(plan, tables, frame, levels, level, column, after, up_to)
        low = seeds[k].low_left = max(low, seeds[k].low_left)
        after = first_block_above(plan, tables, level, column, seeds[k].cut)
    low, after = np.int64(0), plan.fine
    for k in range(n - 1, -1, -1):
        above = first_block_above(plan, tables, level, column, seeds[k].cut)
        low += lost_between(plan, tables, frame, levels, level, column, above, after)
        low = seeds[k].low_right = max(low, seeds[k].low_right)
        after = blocks_up_to(plan, tables, level, column, seeds[k].cut)
