"""Tables of the rows of a node in the layout of :mod:`.column_passes`, and how those of a child
are made of them.

A table that a search may compact stands at a *level*; the ranks stay those of the whole table, so
that a cut means the same everywhere.  ``ranks[level, slot]`` holds the ranks of one column at the
places of the layout: as many columns at once as memory allows, made when a cut of that column is
first measured.  With per = lanes / blocks the columns of a vector::

    write_layout:   for every column g: sort the rows by rank (counting sort); for the p-th of them
                   place = (g // per · steps + p % steps) · lanes + p // steps · per + g % per
                   row[place] = the row, signs[place] = its weight, negative for class 1 of two
               last[g, u] = place of the last row of rank ≤ u, −1: none; a bit of ``ends`` there
    compact:   list the rows on one side of a cut; their ranks, weights and labels; write_layout
    ranks_of_column:  ranks[place] = rank in one column of row[place], in the oldest column's slot

Invariants: a place without a row has the row n, which is rank 0 and weight 0, so that a pass may
read all places.  ``write_layout`` forgets the level's ranks (``slot`` −1).  ``shape`` says how much
of a level's arrays is in use; a child has no more rows, so that its table fits.

Where nothing else is said, plan and tables are a Plan and Tables, the latter written; level is that
of a table, column a feature.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import inner, jit

Plan = namedtuple(
    "Plan",
    "columns classes lanes blocks vectors two depth slots span fine coarse patience "
    "long price margin finals losses sorted keys",
)
"""What does not change in a search, as numbers.

lanes : of a vector: 64, of 8 bits beside ranks of 16; 32, of 16 bits; 16, of 32 bits.
blocks : parts of a column.   two : 1 for two classes.   slots : columns of ranks held at once.
span : steps whose weights of a block fit into a lane.
fine, coarse : blocks of a column, see :mod:`.strips`; 0: there are no strips.
patience : how long passes take before strips are made, by what making them takes.
long : steps of a pass from which on sides are looked up before they are measured.
price : what each split costs besides, in the units of weights.
margin : cuts of all rows are solved as long as their trees cost less than so much more than the
    best; 0: as long as they cost less than that.
finals, losses, sorted, keys : where parts of ``strips`` begin.
"""

Tables = namedtuple(
    "Tables",
    "starts shape rank weight label row ends last ranks slot owner signs counts labels room sums "
    "mine totals chosen strips strip_sums spent",
)
"""Arrays [level, …] of the tables, with columns, rows and ranks counted as in the whole table.

starts : int64[columns + 1]: where the ranks of a column begin.
shape : int64[levels, 2]: rows, steps.
rank : int32[levels, columns · (rows + 1)] by row.
weight : int64[levels, rows].
label : int32[levels, rows].
row : int32[levels, places]: the row at a place; that after the last one where there is none.
ends : uint64[levels, vectors · steps].
last : int32[levels, ranks]: place of the last row up to a rank, or -1.
ranks : int16/32[levels · slots, places], as labels.
slot : int64[levels, columns], or -1.
owner : int64[levels, slots + 1], the next one at the end.
signs : int8/16/32[levels + 1, places], the last for a node of depth 2: what rows weigh.
counts : int32[levels + 1, places], weights of the column up to a place.
labels : [levels, places], of more than two classes.
room : int32[2 · lanes], the first half zeros.
sums : int16/32, vectors, the first of zeros.
mine : int64[rows], weights of the rows of a node of depth 2 among those of its table; totals,
    chosen : int64[2 · K]; of more than two classes, see :mod:`.class_passes`.
strips : int32[levels, …]: from 0 on, of every rank, which of BLOCKS blocks of about as many rows;
    from ``plan.finals``, [columns, fine], the last rank up to the end of every
    fine block; from ``plan.losses``,
    [columns, columns, 2 · coarse, fine + 1], losses of strips; from ``plan.sorted``, [columns,
    rows], 2 · the row, + 1 where it begins a value, in the order of each column; from ``plan.keys``
    what :mod:`.strips` needs while it makes them: [rows] keys, [rows] signs, [fine] the last value,
    [fine, 2 · coarse] losses.
strip_sums : int16/32: the sides of coarse blocks, and sums, while strips are made.
spent : int64[levels, 2]: steps of passes over the level's rows; pairs of columns whose strips are
    there.
"""

BLOCKS = 256
"""Blocks that ``block`` tells apart; fine and coarse ones are so many of them."""


@jit(borrow=True)
def write_layout(plan, tables, level, n, order):
    """Lay out the n rows of a table whose ranks, weights and labels are there.

    plan, tables : Plan and Tables.
    order : int32[rows], overwritten.
    Writes ``shape``, ``row``, ``signs``, ``labels``, ``last`` and ``ends`` of the level, and
    forgets its ranks in other columns' order.
    """
    steps, per = (n + plan.blocks - 1) // plan.blocks, plan.lanes // plan.blocks
    tables.shape[level, 0], tables.shape[level, 1] = n, steps
    size = plan.vectors * steps
    tables.ends[level, :size] = 0
    tables.row[level, : size * plan.lanes] = n
    tables.signs[level, : size * plan.lanes] = 0
    tables.slot[level, :] = -1
    tables.owner[level, : plan.slots] = -1
    tables.owner[level, plan.slots] = 0
    tables.spent[level, 0] = tables.spent[level, 1] = 0
    labels = tables.labels[min(level, len(tables.labels) - 1)]
    for g in range(plan.columns):
        rank = tables.rank[level, g * (n + 1) :]
        last = tables.last[level, tables.starts[g] : tables.starts[g + 1]]
        first, lane, begin = (g // per) * steps, g % per, np.int32(0)
        rank[n], last[:] = 0, 0
        for r in range(n):
            last[rank[r]] += 1
        for u in range(len(last)):
            begin += last[u]
            last[u] = begin - last[u]
        for r in range(n):
            order[last[rank[r]]] = r
            last[rank[r]] += 1
        if plan.fine > 0:
            for p in range(n):
                begins = p == 0 or rank[order[p]] != rank[order[p - 1]]
                tables.strips[level, plan.sorted + g * n + p] = 2 * order[p] + begins
        for block in range(plan.blocks):
            place = first * plan.lanes + block * per + lane
            for p in range(block * steps, min(n, (block + 1) * steps)):
                r = order[p]
                tables.row[level, place] = r
                tables.signs[level, place] = (
                    -tables.weight[level, r]
                    if plan.two and tables.label[level, r]
                    else tables.weight[level, r]
                )
                if not plan.two:
                    labels[place] = tables.label[level, r]
                place += plan.lanes
        before, end, filled = np.int32(0), np.int32(-1), np.int64(0)
        # from how many rows have ranks up to u to the place of the last of them
        for u in range(len(last)):
            if plan.fine > 0:
                block = min(np.int64(before), n - 1) * BLOCKS // max(1, n)
                tables.strips[level, tables.starts[g] + u] = block
                fine = block * plan.fine // BLOCKS
                while filled < fine:
                    tables.strips[level, plan.finals + g * plan.fine + filled] = u - 1
                    filled += 1
            if last[u] > before:
                before, p = last[u], last[u] - 1
                end = np.int32((first + p % steps) * plan.lanes + (p // steps) * per + lane)
                tables.ends[level, first + p % steps] |= np.uint64(1) << np.uint64(
                    (p // steps) * per + lane
                )
            last[u] = end
        finals = plan.finals + g * plan.fine
        tables.strips[level, finals + filled : finals + plan.fine] = len(last) - 1


@inner
def write_rows_of_side(plan, tables, level, column, cut, left, order):
    """Write the table of the next level: the rows whose rank in the column is <= cut, or those
    whose is not.

    left : bool, which of the two.
    order : int32[rows], overwritten: the rows that are kept.
    """
    n, m = tables.shape[level, 0], np.int64(0)
    for r in range(n):
        if (tables.rank[level, column * (n + 1) + r] <= cut) == left:
            tables.weight[level + 1, m] = tables.weight[level, r]
            tables.label[level + 1, m] = tables.label[level, r]
            order[m] = r
            m += 1
    for g in range(plan.columns):
        for r in range(m):
            tables.rank[level + 1, g * (m + 1) + r] = tables.rank[level, g * (n + 1) + order[r]]
    write_layout(plan, tables, level + 1, m, order)


@inner
def ranks_of_column(plan, tables, level, column):
    """Return the row of ``tables.ranks`` with the ranks of a column; made if it is not there, in
    place of the oldest.

    level, column : of which table and column.  They are in the order of the level's ``row``, place
        by place.
    """
    slot = tables.slot[level, column]
    if slot < 0:
        slot = tables.owner[level, plan.slots]
        tables.owner[level, plan.slots] = (slot + 1) % plan.slots
        if tables.owner[level, slot] >= 0:
            tables.slot[level, tables.owner[level, slot]] = -1
        tables.owner[level, slot] = column
        tables.slot[level, column] = slot
        n, steps = tables.shape[level, 0], tables.shape[level, 1]
        rank = tables.rank[level, column * (n + 1) :]
        row = tables.row[level]
        ranks = tables.ranks[level * plan.slots + slot]
        for i in range(plan.vectors * steps * plan.lanes):
            ranks[i] = rank[row[i]]
    return level * plan.slots + slot
