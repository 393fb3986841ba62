"""What a search over intervals of cuts knows, and the steps from one set of rows to another.

With d the remaining levels of the child, D(x) the signed weight of rows (class 0 counts up), and
most and least its greatest and least value over the first rows of any column::

    losses of a cut, on each side x, with one more split:
        two classes:  (weight(x) − max(2 · most − D(x), D(x) − 2 · least)) / 2
                                                                               (measure_two_classes)
        more:         weight(x) − what the best split labels rightly          (measure_many_classes)
    descend to one side of a cut:
        d > 2:        its rows become the table of the next level               (write_rows_of_side)
        d = 2:        they stay in the table, signs of others are 0             (keep_signs_of_side)

Invariants:

- A frame of d = 2 has no table of its own: its rows are those of its parent's table
  (``table_level``) whose sign is not 0 in the last row of ``signs`` (``data_level``).
- ``counts`` of a frame has the weight up to every place of its table; ``weight_up_to`` reads it at
  the last place of a rank.  Cut −1 has no row at its left.
- Lists and nodes are named by places, −1 where there is none.
- A loss is what a tree costs: weights that its labels lose, and the price of every split.  ub,
  least and lb of a frame are without the price of its first split, as sums of both sides are.
- ``now.top`` is the frame at work; frames above it are stale, but for ``best`` of the one
  above, which its parent copies first.

Where nothing else is said, plan and tables are Plan and Tables of :mod:`.tables`, state is a State;
tables and state are written; top is the place of a frame, which is its level, too.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import inline, inner
from arboretum_gosdt.continuous.class_passes import (
    ClassRows,
    ClassSums,
    count_classes,
    measure_many_classes,
)
from arboretum_gosdt.continuous.column_passes import (
    keep_signs_of_side,
    measure_two_classes,
)
from arboretum_gosdt.continuous.strips import (
    blocks_up_to,
    first_block_above,
    side_of_blocks,
)
from arboretum_gosdt.continuous.tables import ranks_of_column, write_rows_of_side

FRAME = np.dtype(
    [
        ("phase", "i8"),  # what comes next
        ("column", "i8"),  # that is at work; −1: none was
        ("budget", "i8"),  # solved where the loss is less
        ("ub", "i8"),  # sides of cuts are solved that lose less together
        ("least", "i8"),  # of the best tree known, as the sum of two sides
        ("lb", "i8"),  # no tree loses less, of what is closed
        ("weight", "i8"),  # of all rows
        ("own", "i8"),  # least loss with one level less, or a bound
        ("nodes", "i8"),  # how many there are
        ("open", "i8"),  # intervals that are
        ("list", "i8"),  # where its list begins
        ("sub", "i8"),  # where that of a subset begins
        ("super", "i8"),  # where that of a superset begins
        ("whole", "i8"),  # where that of its rows with one level less begins
        ("used", "i8"),  # room that the lists of its children take
        ("kept", "i8"),  # room of them that is taken for good
        ("first_node", "i8"),  # where its nodes and intervals begin
        ("a", "i8"),  # of the cut that is judged: the node below,
        ("b", "i8"),  # the node above,
        ("cut", "i8"),  # its rank,
        ("side", "i8"),  # sides begun, 0 to 2,
        ("low", "i8", 2),  # bounds of the left and the right side,
        ("given", "i8", 2),  # where the lists of the sides begin,
        ("slack", "i8"),  # how much more than needed is to be proven,
        ("massed", "i8"),  # weight up to it
        ("part", "i8"),  # column of its parent's cut, or −1,
        ("first_block", "i8"),  # fine blocks of it that the frame has wholly: from this
        ("last_block", "i8"),  # to that before this
        ("side_row", "i8"),  # the side that they are in strips of a pair, −1: none
        ("within", "i8"),  # the strips of the column at work, −1: none
        ("first_new", "i8"),  # those of them that the subset with a list has not: from this
        ("last_new", "i8"),  # to that before this
        ("cuts", "i8"),  # how many make it, −1: it is not known,
        ("literals", "i8", 2),  # 2 · column + side of each, in order,
        ("weights", "i8", 2),  # and what the side weighs among all rows
    ],
    align=True,
)
"""A set of rows with a budget; losses and weights in units of the objective, places −1 where there
is none.
"""

ENTER, WHOLE_DONE, NEXT, PICK, JUDGE = range(5)
"""Phases."""

NODE = np.dtype(
    [
        ("cut", "i8"),  # its rank
        ("mass", "i8"),  # weight up to it
        ("low_left", "i8"),  # bounds of its sides with one level less
        ("low_right", "i8"),
        ("after", "i8"),  # the next node, −1: none
        ("column", "i8"),
        ("sub", "i8", 2),  # where lists of subsets of its sides begin, or −1
        ("super", "i8", 2),  # where those of supersets begin
    ],
    align=True,
)
"""A cut of which bounds are known; sides are left and right."""

INTERVAL = np.dtype([("a", "i8"), ("b", "i8"), ("low", "i8"), ("hint", "i8")], align=True)
"""Nodes around it; a bound of its cuts; one to try first, or −1."""

SEED = np.dtype(
    [("cut", "i8"), ("mass", "i8"), ("low_left", "i8"), ("low_right", "i8")], align=True
)
"""A cut as lists hand it on: its rank, the weight up to it, and the bounds of its sides."""

PART = np.dtype(
    [("low", "i8"), ("high", "i8"), ("mass_low", "i8"), ("mass_high", "i8")], align=True
)
"""Neighbouring cuts that are not closed: the first, the last, and the weights up to them."""

UNBORN = -2
"""``now.top`` before anything is begun; −1 says that everything is done."""

NOW = np.dtype(
    [
        ("top", "i8"),  # the uppermost frame
        ("value", "i8"),  # what a frame returned
        ("given", "i8"),  # where its list begins, or −1
        ("work", "i8"),  # steps of vectors in this slice
        ("measured", "i8"),  # passes over all columns
        ("sets", "i8"),  # sets of rows looked into
        ("floor", "i8"),  # lower bound of the first frame while it works
    ],
    align=True,
)
"""Where a search is."""

NOTHING = np.int64(-1)

State = namedtuple(
    "State",
    "frames nodes open lists seeds parts best sides now out order pairs triples weights",
)
"""What a search knows.

frames : FRAME[levels].
nodes : NODE[…].
open : INTERVAL[…].
lists : int32[levels, …]: bounds of the sets that a frame has solved below, see
    :mod:`.lists`.
seeds : SEED[…].
parts : PART[…].
best, sides : int64[levels, …, 2]: column and cut of the best tree's upper levels in heap order, of
    the children last solved.
now : NOW[1].
out : int64[6].
order : int32[rows].
pairs, triples : Families of two and of three cuts, see :mod:`.similar`.
weights : int32[4], of a set that is looked up there.
"""


@inline
def table_level(plan, top):
    """Return the level of the table in which a frame's rows stand: one of depth 2 has that of its
    parent.
    """
    return max(np.int64(0), top - 1) if plan.depth - top == 2 else top


@inline
def data_level(plan, top):
    """Return which rows of ``signs`` and ``counts`` are a frame's: one of depth 2 has the last."""
    return max(np.int64(1), plan.depth - 2) if plan.depth - top == 2 else top


@inline
def weight_up_to(plan, tables, top, column, cut):
    """Return the weight of the rows of frame ``top`` whose rank in a column is at most ``cut``; 0
    for cut −1.
    """
    if cut < 0:
        return np.int64(0)
    place = tables.last[table_level(plan, top), tables.starts[column] + cut]
    return np.int64(tables.counts[data_level(plan, top), place]) if place >= 0 else np.int64(0)


@inline
def cut_above_all(plan):
    """Return a cut above every rank, the greatest number of a rank's type."""
    return np.int64((1 << 15) - 1 if plan.lanes > 16 else (1 << 31) - 1)


@inline
def measure_sides(plan, tables, state, top, column, cut, mass):
    """Measure the losses of both sides of a cut with one more split each, or none where that costs
    less, into state.out[:2].

    mass : weight of the left side of the frame's rows.
    Makes the ranks of the column where they are not there; counts work and passes in ``state.now``.
    """
    table, data, out = table_level(plan, top), data_level(plan, top), state.out
    steps, ends = tables.shape[table, 1], tables.ends[table]
    if tables.slot[table, column] < 0:  # ranks are to be made, row by row
        state.now[0].work += plan.vectors * steps * plan.lanes // 2
    at = ranks_of_column(plan, tables, table, column)
    rest = state.frames[top].weight - mass
    state.now[0].measured += 1
    state.now[0].work += plan.vectors * steps * plan.classes
    tables.spent[table, 0] += plan.vectors * steps * plan.classes
    signs, ranks = tables.signs[data], tables.ranks[at]
    if plan.two:
        measure_two_classes(
            signs,
            ranks,
            ends,
            cut,
            plan.vectors,
            steps,
            plan.span,
            plan.blocks,
            tables.sums,
            out,
        )
        left = max(2 * out[0] - out[2], out[2] - 2 * out[1])
        right = max(2 * out[3] - out[5], out[5] - 2 * out[4])
        leaf, other = (mass - abs(out[2])) >> 1, (rest - abs(out[5])) >> 1
        out[0], out[1] = (mass - left) >> 1, (rest - right) >> 1
    else:
        if plan.blocks == 1:
            n = tables.shape[table, 0]
            rank = tables.rank[table, column * (n + 1) :]
            count_classes(tables.label[table, :n], tables.mine, rank, cut, tables.totals)
        rows = ClassRows(signs, tables.labels[table], ranks, ends, cut, np.int64(0), steps)
        classes = np.int64(len(tables.totals) // 2)
        sums = ClassSums(classes, tables.sums, tables.totals, tables.chosen, out)
        measure_many_classes(rows, sums, plan.vectors, plan.blocks)
        leaf = mass - tables.totals[2 * tables.chosen[0]]
        other = rest - tables.totals[2 * tables.chosen[classes] + 1]
        out[0], out[1] = mass - out[0], rest - out[1]
    out[0], out[1] = min(leaf, out[0] + plan.price), min(other, out[1] + plan.price)


@inner
def push_side(plan, tables, state, top, column, cut, left, budget):
    """Put the rows of frame ``top`` on one side of a cut into a new frame above it.

    top : −1 for the first frame, which has all rows.
    left : 1 for the rows of rank ≤ cut, 0 for the others.
    budget : the loss below which the new frame is solved.
    A frame of depth 2 shares its parent's table; else the table of its level is overwritten.
    """
    child = top + 1
    source = table_level(plan, top) if top >= 0 else np.int64(0)
    data, at, side, mine = data_level(plan, child), np.int64(0), left, cut
    # then all of the child's table is kept, whatever the ranks
    if top < 0 or plan.depth - child > 2:
        if top >= 0:
            write_rows_of_side(plan, tables, source, column, cut, left == 1, state.order)
            source = child
        cut, side = cut_above_all(plan), np.int64(1)
    else:
        at = ranks_of_column(plan, tables, source, column)
    steps, signs, kept = tables.shape[source, 1], tables.signs[source], tables.signs[data]
    keep_signs_of_side(
        signs,
        tables.ranks[at],
        cut,
        side,
        plan.vectors,
        steps,
        plan.blocks,
        tables.room,
        kept,
        tables.counts[data],
    )
    state.now[0].work += plan.vectors * steps
    if not plan.two and plan.depth - child == 2:
        n = tables.shape[source, 0]
        rank = tables.rank[source, max(np.int64(0), column) * (n + 1) :]
        for r in range(n):
            tables.mine[r] = tables.weight[source, r] if (rank[r] <= cut) == (side == 1) else 0
    start_frame(plan, tables, state, child, budget)
    if top >= 0 and plan.depth - child == 2:
        frame = state.frames[child]
        frame.part, frame.first_block, frame.last_block = column, 0, plan.fine
        if plan.fine > 0:
            if left == 1:
                frame.last_block = blocks_up_to(plan, tables, source, column, mine)
            else:
                frame.first_block = first_block_above(plan, tables, source, column, mine)
            frame.side_row = side_of_blocks(plan, frame.first_block, frame.last_block)


@inner
def start_frame(plan, tables, state, top, budget):
    """Begin the record of frame ``top`` for rows whose signs and counts are there.

    budget : the loss below which it is to be solved; no list of a subset or superset is known yet.
    """
    state.now[0].top = top
    state.now[0].sets += 1
    frame = state.frames[top]
    frame.phase = ENTER
    frame.column = -1
    frame.budget = budget
    frame.ub = frame.least = budget
    frame.lb = 0
    frame.weight = weight_up_to(plan, tables, top, 0, tables.starts[1] - 1)
    frame.list = frame.sub = frame.super = frame.whole = -1
    frame.used = frame.kept = frame.nodes = frame.open = 0
    frame.part = -1
    frame.cuts = 0 if top == 0 else -1
    frame.first_new = frame.last_new = 0
