"""What a search over intervals of cuts knows, and the steps from one set of rows to another.

With d the remaining levels of the child, D(x) the signed weight of rows (class 0 counts up), and
most and least its greatest and least value over the first rows of any column::

    losses of a cut, on each side x, with one more split:
        two classes:  (weight(x) − max(2 · most − D(x), D(x) − 2 · least)) / 2       (measure_two)
        more:         weight(x) − what the best split labels rightly                (measure_many)
    descend to one side of a cut:
        d > 2:        its rows become the table of the next level                        (compact)
        d = 2:        they stay in the table, signs of others are 0                    (keep_side)

Invariants:

- A frame of d = 2 has no table of its own: its rows are those of its parent's table
  (``table_of``) whose sign is not 0 in the last row of ``signs`` (``data_of``).
- ``counts`` of a frame has the weight up to every place of its table; ``weight_to`` reads it at the
  last place of a rank.  Cut −1 has no row at its left.
- Lists and nodes are named by places, −1 where there is none.  UPPER never exceeds BUDGET.
- ``numbers[TOP]`` is the frame at work; frames above it are stale, but for ``best`` of the one
  above, which its parent copies first.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum_gosdt.continuous.column_passes import keep_side, measure_many, measure_two
from arboretum_gosdt.continuous.tables import compact, ranks_at

(
    PHASE,
    COLUMN,
    BUDGET,
    UPPER,
    LOWER,
    WEIGHT,
    OWN,
    NODES,
    OPEN,
    LIST,
    SUB,
    SUPER,
    WHOLE,
    FILL,
    KEPT,
    FIRST_NODE,
) = range(16)
"""Fields of a frame: what comes next; the column; solved where less than the budget; least loss
below it known; no tree is below; of all rows; least loss with one level less (or a bound); nodes,
open intervals; its list, those of a subset and of a superset, that of its rows with one level less,
all -1 where there is none; room of the lists of its children used, for good; its nodes.
"""
A, B, CUT, SIDE, LEFT, RIGHT, LEFT_LIST, RIGHT_LIST, SLACK, MASSED = range(16, 26)
"""The cut that is being judged: the nodes around it, its rank, 0 to 2 sides begun, bounds of the
sides, their lists; how much more than needed is to be proven; weight up to the cut.
"""
FRAME_FIELDS = 26

ENTER, WHOLE_DONE, NEXT, PICK, JUDGE = range(5)
"""Phases."""

AT, MASS, LOW_LEFT, LOW_RIGHT, AFTER, LEFT_SUB, LEFT_SUPER, RIGHT_SUB, RIGHT_SUPER, OF = range(10)
"""Fields of a node: rank; weight up to it; bounds; the next node; lists of subsets and supersets
of its sides; column.
"""
NODE_FIELDS = 10

UNBORN = -2
"""As the uppermost frame: nothing is begun.  -1: everything is done."""

TOP, VALUE, GIVEN, WORK, MEASURED, SETS, FLOOR = range(7)
"""Numbers of a search: the uppermost frame; what a frame returned; its list; work done; passes;
sets of rows; lower bound of the first frame while it works.
"""

NOTHING = np.int64(-1)

State = namedtuple("State", "frames nodes open lists seeds best sides numbers out order")
"""What a search knows.

frames : int64[levels, FRAME_FIELDS].
nodes : int64[…, NODE_FIELDS].
open : int64[…, 4]: nodes around, bound, a cut to try first or -1.
lists : int32[levels, …]: bounds of the sets that a frame has solved below, see
    :mod:`.lists`.
seeds : int64[…, 4]: rank, weight, bounds.
best, sides : int64[levels, …, 2]: column and cut of the best tree's upper levels in heap order, of
    the children last solved.
numbers : int64[7].
out : int64[6].
order : int32[rows].
"""


@jit(inline=True, borrow=True)
def table_of(plan, top):
    """Level of the table in which a frame's rows stand: one of depth 2 has that of its parent."""
    return max(np.int64(0), top - 1) if plan.depth - top == 2 else top


@jit(inline=True, borrow=True)
def data_of(plan, top):
    """Which of ``signs`` and ``counts`` are a frame's."""
    return max(np.int64(1), plan.depth - 2) if plan.depth - top == 2 else top


@jit(inline=True, borrow=True)
def weight_to(plan, tables, top, column, cut):
    """Weight of the frame's rows with rank <= cut."""
    if cut < 0:
        return np.int64(0)
    place = tables.last[table_of(plan, top), tables.starts[column] + cut]
    return np.int64(tables.counts[data_of(plan, top), place]) if place >= 0 else np.int64(0)


@jit(inline=True, borrow=True)
def all_of(plan):
    """A cut above every rank."""
    return np.int64((1 << 15) - 1 if plan.lanes > 16 else (1 << 31) - 1)


@jit(inner=True, borrow=True)
def losses(plan, tables, state, top, column, cut, mass):
    """Losses of both sides of a cut with one more split each, in state.out[:2].

    mass : weight of the left side.
    """
    table, data, out = table_of(plan, top), data_of(plan, top), state.out
    steps, ends = tables.shape[table, 1], tables.ends[table]
    if tables.slot[table, column] < 0:  # ranks are to be made, row by row
        state.numbers[WORK] += plan.vectors * steps * plan.lanes // 2
    at = ranks_at(plan, tables, table, column)
    rest = state.frames[top, WEIGHT] - mass
    state.numbers[MEASURED] += 1
    state.numbers[WORK] += plan.vectors * steps * plan.classes
    signs, ranks = tables.signs[data], tables.ranks[at]
    if plan.two:
        measure_two(signs, ranks, ends, cut, plan.vectors, steps, plan.blocks, tables.sums, out)
        left = max(2 * out[0] - out[2], out[2] - 2 * out[1])
        right = max(2 * out[3] - out[5], out[5] - 2 * out[4])
        out[0], out[1] = (mass - left) >> 1, (rest - right) >> 1
    else:
        measure_many(
            signs,
            tables.labels[table],
            ranks,
            ends,
            cut,
            plan.vectors,
            steps,
            plan.blocks,
            plan.classes,
            tables.sums,
            out,
        )
        out[0], out[1] = mass - out[0], rest - out[1]


@jit(inner=True, borrow=True)
def descend(plan, tables, state, top, column, cut, left, budget):
    """Put the rows of a frame on one side of a cut into a new one above it; the first one, above
    none, has all of them.
    """
    child = top + 1
    source = table_of(plan, top) if top >= 0 else np.int64(0)
    data, at, side = data_of(plan, child), np.int64(0), left
    # then all of the child's table is kept, whatever the ranks
    if top < 0 or plan.depth - child > 2:
        if top >= 0:
            compact(plan, tables, source, column, cut, left == 1, state.order)
            source = child
        cut, side = all_of(plan), np.int64(1)
    else:
        at = ranks_at(plan, tables, source, column)
    steps, signs, kept = tables.shape[source, 1], tables.signs[source], tables.signs[data]
    keep_side(
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
    state.numbers[WORK] += plan.vectors * steps
    start_frame(plan, tables, state, child, budget)


@jit(inner=True, borrow=True)
def start_frame(plan, tables, state, top, budget):
    """A new frame for rows whose signs and counts are there."""
    state.numbers[TOP] = top
    state.numbers[SETS] += 1
    frame = state.frames[top]
    frame[PHASE], frame[COLUMN], frame[BUDGET], frame[UPPER], frame[LOWER] = (
        ENTER,
        -1,
        budget,
        budget,
        0,
    )
    frame[WEIGHT] = weight_to(plan, tables, top, 0, tables.starts[1] - 1)
    frame[LIST] = frame[SUB] = frame[SUPER] = frame[WHOLE] = -1
    frame[FILL] = frame[KEPT] = frame[NODES] = frame[OPEN] = 0
