"""Tables of the rows of a node in the layout of :mod:`.intervals_lanes`, and how those of a child are made of them.

A table that a search may compact stands at a *level*; the ranks stay those of the whole table, so that a cut means the same
everywhere.  ``ranks[level, slot]`` holds the ranks of one column at the places of the layout: as many columns at once as memory
allows, made when a cut of that column is first measured.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit


class Plan(NamedTuple):
    """What does not change in a search, as numbers.

    lanes : of a vector: 64, of 8 bits beside ranks of 16; 32, of 16 bits; 16, of 32 bits.
    blocks : parts of a column.   two : 1 for two classes.   slots : columns of ranks held at once.
    cross : 1 to look for bounds in the lists of other columns' cuts, which pays where a pass is dear.
    """

    columns: int
    classes: int
    lanes: int
    blocks: int
    vectors: int
    two: int
    depth: int
    slots: int
    cross: int


class Tables(NamedTuple):
    """Arrays [level, …] of the tables, with columns, rows and ranks counted as in the whole table.

    starts : int64[columns + 1]: where the ranks of a column begin.   shape : int64[levels, 2]: rows, steps.
    rank : int32[levels, columns · (rows + 1)] by row.   weight : int64[levels, rows].   label : int32[levels, rows].
    row : int32[levels, places]: the row at a place; that after the last one where there is none.
    ends : uint64[levels, vectors · steps].   last : int32[levels, ranks]: place of the last row up to a rank, or -1.
    ranks : [levels · slots, places].   slot : int64[levels, columns], or -1.   owner : int64[levels, slots + 1], the next one at the end.
    signs : [levels + 1, places], the last for a node of depth 2: what rows weigh.   counts : int32[levels + 1, places], weights of the
    column up to a place.
    labels : [levels, places], of more than two classes.   room : int32[4 · lanes]: a half for sums of 32 bits, one for
    others, of each the first vector zeros.

    ranks, signs, labels are the bytes of the integers that the lanes hold: one kernel serves all widths.
    """

    starts: np.ndarray
    shape: np.ndarray
    rank: np.ndarray
    weight: np.ndarray
    label: np.ndarray
    row: np.ndarray
    ends: np.ndarray
    last: np.ndarray
    ranks: np.ndarray
    slot: np.ndarray
    owner: np.ndarray
    signs: np.ndarray
    counts: np.ndarray
    labels: np.ndarray
    room: np.ndarray


@jit
def fill_first(plan, tables, ranks, weights, order):
    """The table of level 0: a row for every class in which a row of the problem weighs something.

    ranks : int32[rows, columns].   weights : int64[rows, classes].   order : int32[rows] and new : room.
    """
    n = 0
    for u in range(len(weights)):
        for k in range(weights.shape[1]):
            if weights[u, k] > 0:
                tables.weight[0, n] = weights[u, k]
                tables.label[0, n] = k
                n += 1
    for g in range(plan.columns):
        base, r = g * (n + 1), 0
        for u in range(len(weights)):
            for k in range(weights.shape[1]):
                if weights[u, k] > 0:
                    tables.rank[0, base + r] = ranks[u, g]
                    r += 1
    start_table(plan, tables, 0, n)
    for g in range(plan.columns):
        base = g * (n + 1)
        size = tables.starts[g + 1] - tables.starts[g]
        at = np.zeros(size + 1, np.int64)
        for r in range(n):
            at[tables.rank[0, base + r] + 1] += 1
        for u in range(size):
            at[u + 1] += at[u]
        for r in range(n):
            u = tables.rank[0, base + r]
            order[at[u]] = r
            at[u] += 1
        place_column(plan, tables, 0, g, order, n)


@jit(inner=True, borrow=True)
def start_table(plan, tables, level, n):
    """An empty layout for n rows."""
    steps = (n + plan.blocks - 1) // plan.blocks
    tables.shape[level, 0], tables.shape[level, 1] = n, steps
    size = plan.vectors * steps
    tables.ends[level, :size] = 0
    tables.row[level, : size * plan.lanes] = n
    tables.signs[level, : size * 64] = 0
    for g in range(plan.columns):
        tables.rank[level, g * (n + 1) + n] = 0
        tables.slot[level, g] = -1
    tables.owner[level, : plan.slots] = -1
    tables.owner[level, plan.slots] = 0


@jit(inner=True, borrow=True)
def place_column(plan, tables, level, g, order, n):
    """Lay out the rows of a column, which stand in ``order`` by rank."""
    steps, per = tables.shape[level, 1], plan.lanes // plan.blocks
    vector, lane = g // per, g % per
    base, start = g * (n + 1), tables.starts[g]
    place, step, known = (vector * steps) * plan.lanes + lane, 0, 0
    before = np.int32(-1)
    signs16, signs32 = tables.signs[level].view(np.int16), tables.signs[level].view(np.int32)
    labels = tables.labels[min(level, len(tables.labels) - 1)]
    labels16, labels32 = labels.view(np.int16), labels.view(np.int32)
    for p in range(n):
        if step == steps:
            step, lane = 0, lane + per
            place = (vector * steps) * plan.lanes + lane
        r = order[p]
        u = tables.rank[level, base + r]
        tables.row[level, place] = r
        w = tables.weight[level, r]
        if plan.two and tables.label[level, r] > 0:
            w = -w
        if plan.lanes == 64:
            tables.signs[level, place] = w
        elif plan.lanes == 32:
            signs16[place] = w
        else:
            signs32[place] = w
        if not plan.two and plan.lanes == 32:
            labels16[place] = tables.label[level, r]
        elif not plan.two:
            labels32[place] = tables.label[level, r]
        while known < u:  # no row has these ranks
            tables.last[level, start + known] = before
            known += 1
        if p == n - 1 or tables.rank[level, base + order[p + 1]] != u:
            tables.ends[level, vector * steps + step] |= np.uint64(1) << np.uint64(lane)
            tables.last[level, start + u] = place
            known = u + 1
            before = np.int32(place)
        step += 1
        place += plan.lanes
    while start + known < tables.starts[g + 1]:
        tables.last[level, start + known] = before
        known += 1


@jit(inner=True, borrow=True)
def compact(plan, tables, level, column, cut, left, order):
    """The table of the next level: the rows whose rank in the column is <= cut, or those whose is not.

    order : int32[2 · rows], room.
    """
    n, steps = tables.shape[level, 0], tables.shape[level, 1]
    name = order[n:]
    base, m = column * (n + 1), 0
    for r in range(n):
        if (tables.rank[level, base + r] <= cut) == left:
            tables.weight[level + 1, m] = tables.weight[level, r]
            tables.label[level + 1, m] = tables.label[level, r]
            order[m] = r
            m += 1
    for g in range(plan.columns):
        old, new = g * (n + 1), g * (m + 1)
        for r in range(m):
            tables.rank[level + 1, new + r] = tables.rank[level, old + order[r]]
    name[:n] = -1
    for r in range(m):
        name[order[r]] = r
    start_table(plan, tables, level + 1, m)
    per = plan.lanes // plan.blocks
    for g in range(plan.columns):
        found = 0
        for block in range(plan.blocks):
            place = (g // per) * steps * plan.lanes + block * per + g % per
            for _ in range(min(steps, n - block * steps)):
                r = name[tables.row[level, place]]
                order[found] = r  # one that is not kept is written over
                found += r >= 0
                place += plan.lanes
        place_column(plan, tables, level + 1, g, order, m)


@jit(inner=True, borrow=True)
def ranks_at(plan, tables, level, column):
    """The row of ``tables.ranks`` with the ranks of a column; made if it is not there, in place of the oldest."""
    slot = tables.slot[level, column]
    if slot < 0:
        slot = tables.owner[level, plan.slots]
        tables.owner[level, plan.slots] = (slot + 1) % plan.slots
        if tables.owner[level, slot] >= 0:
            tables.slot[level, tables.owner[level, slot]] = -1
        tables.owner[level, slot] = column
        tables.slot[level, column] = slot
        n, steps = tables.shape[level, 0], tables.shape[level, 1]
        rank, ranks = tables.rank[level, column * (n + 1) :], tables.ranks[level * plan.slots + slot]
        if plan.lanes > 16:
            gather(rank, tables.row[level], ranks.view(np.int16), plan.vectors * steps * plan.lanes)
        else:
            gather(rank, tables.row[level], ranks.view(np.int32), plan.vectors * steps * plan.lanes)
    return level * plan.slots + slot


@jit(inner=True, borrow=True)
def gather(rank, row, found, size):
    """found[i] = rank[row[i]]."""
    for i in range(size):
        found[i] = rank[row[i]]
