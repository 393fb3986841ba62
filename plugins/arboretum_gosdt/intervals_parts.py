"""Steps of the search over intervals of cuts: frames, intervals, and the lists of bounds that sets of rows leave to others.

A *node* is a cut of a column at which lower bounds of both sides are known, so that nothing is open there; an *interval* lies
between two neighbouring nodes.  For a cut t between nodes a < b, with r the weight up to a cut, L and R lower bounds of the loss
of the left and the right side: left(t) >= max(L(a), L(b) - (r(b) - r(t))), right(t) >= max(R(b), R(a) - (r(t) - r(a))).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum_gosdt.intervals_lanes import keep_side, measure_many, measure_two
from arboretum_gosdt.intervals_tables import compact, ranks_at

PHASE, COLUMN, BUDGET, UPPER, LOWER, WEIGHT, OWN, NODES, OPEN, LIST, SUB, SUPER, WHOLE, FILL, KEPT, FIRST_NODE = range(16)
"""Fields of a frame: what comes next; the column; solved where less than the budget; least loss below it known; no tree is below;
of all rows; least loss with one level less (or a bound); nodes, open intervals; its list, those of a subset and of a superset,
that of its rows with one level less, all -1 where there is none; room of the lists of its children used, for good; its nodes."""
A, B, CUT, SIDE, LEFT, RIGHT, LEFT_LIST, RIGHT_LIST, SLACK, MASSED = range(16, 26)
"""The cut that is being judged: the nodes around it, its rank, 0 to 2 sides done, bounds of the sides, their lists."""
FRAME_FIELDS = 26

ENTER, WHOLE_DONE, NEXT, PICK, JUDGE = range(5)
"""Phases."""

AT, MASS, LOW_LEFT, LOW_RIGHT, AFTER, LEFT_SUB, LEFT_SUPER, RIGHT_SUB, RIGHT_SUPER, OF = range(10)
"""Fields of a node: rank; weight up to it; bounds; the next node; lists of subsets and supersets of its sides; column."""
NODE_FIELDS = 10

UNBORN = -2
"""As the uppermost frame: nothing is begun.  -1: everything is done."""

TOP, VALUE, GIVEN, WORK, MEASURED, SETS, FLOOR, HALF, PART = range(9)
"""Numbers of a search: the uppermost frame; what a frame returned; its list; work done; passes; sets of rows; lower bound of
the first frame while it works; slack of children as shares of 1 / 32: of the open weight, of the upper bound."""

NOTHING = np.int64(-1)


class State(NamedTuple):
    """What a search knows.

    frames : int64[levels, FRAME_FIELDS].   nodes : int64[…, NODE_FIELDS].   open : int64[…, 4]: nodes around, bound, a cut to
    try first or -1.   lists : int32[levels, …]: bounds of the sets that a frame has solved below, see ``start_list``.
    seeds : int64[…, 4]: rank, weight, bounds.   best, sides : int64[levels, …, 2]: column and cut of the best tree's upper levels
    in heap order, of the children last solved.   numbers : int64[9].   out : int64[6].   sums : int32[…].   order : int32[2 · rows].
    """

    frames: np.ndarray
    nodes: np.ndarray
    open: np.ndarray
    lists: np.ndarray
    seeds: np.ndarray
    best: np.ndarray
    sides: np.ndarray
    numbers: np.ndarray
    out: np.ndarray
    sums: np.ndarray
    order: np.ndarray


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
    """Losses of both sides of a cut with one more split each, in state.out[:2].   mass : weight of the left side."""
    table, data, out = table_of(plan, top), data_of(plan, top), state.out
    at, steps, ends = ranks_at(plan, tables, table, column), tables.shape[table, 1], tables.ends[table]
    rest = state.frames[top, WEIGHT] - mass
    state.numbers[MEASURED] += 1
    state.numbers[WORK] += plan.vectors * steps * plan.classes
    signs, ranks, room = tables.signs[data], tables.ranks[at], tables.room[2 * plan.lanes :]
    if plan.two:
        if plan.lanes == 64:
            measure_two(signs, ranks.view(np.int16), ends, cut, plan.vectors, steps, plan.blocks, room.view(np.int16), out)
        elif plan.lanes == 32:
            measure_two(signs.view(np.int16), ranks.view(np.int16), ends, cut, plan.vectors, steps, plan.blocks, room.view(np.int16), out)
        else:
            measure_two(signs.view(np.int32), ranks.view(np.int32), ends, cut, plan.vectors, steps, plan.blocks, room, out)
        left = max(2 * out[0] - out[2], out[2] - 2 * out[1])
        right = max(2 * out[3] - out[5], out[5] - 2 * out[4])
        out[0], out[1] = (mass - left) >> 1, (rest - right) >> 1
        return
    labels = tables.labels[table]
    if plan.lanes == 32:
        measure_many(
            signs.view(np.int16), labels.view(np.int16), ranks.view(np.int16), ends, cut, plan.vectors, steps, plan.blocks, plan.classes,
            room.view(np.int16), state.sums.view(np.int16), out,
        )  # fmt: skip
    else:
        measure_many(
            signs.view(np.int32), labels.view(np.int32), ranks.view(np.int32), ends, cut, plan.vectors, steps, plan.blocks, plan.classes,
            room, state.sums, out,
        )  # fmt: skip
    out[0], out[1] = mass - out[0], rest - out[1]


@jit(inner=True, borrow=True)
def keep(plan, tables, table, at, cut, left, data):
    """Fill ``signs`` and ``counts`` number ``data`` with the rows of a table on one side of a cut in column of ranks ``at``."""
    steps, signs, ranks = tables.shape[table, 1], tables.signs[table], tables.ranks[at]
    kept, counts, room = tables.signs[data], tables.counts[data], tables.room
    if plan.lanes == 64:
        keep_side(signs, ranks.view(np.int16), cut, left, plan.vectors, steps, plan.blocks, room, kept, counts)
    elif plan.lanes == 32:
        keep_side(
            signs.view(np.int16), ranks.view(np.int16), cut, left, plan.vectors, steps, plan.blocks, room, kept.view(np.int16), counts
        )  # fmt: skip
    else:
        keep_side(
            signs.view(np.int32), ranks.view(np.int32), cut, left, plan.vectors, steps, plan.blocks, room, kept.view(np.int32), counts
        )  # fmt: skip


@jit(inner=True, borrow=True)
def descend(plan, tables, state, top, column, cut, left, budget):
    """Put the rows of a frame on one side of a cut into a new one above it; the first one, above none, has all of them."""
    child = top + 1
    source = table_of(plan, top) if top >= 0 else np.int64(0)
    data, at, side = data_of(plan, child), np.int64(0), left
    if top < 0 or plan.depth - child > 2:  # then all of the child's table is kept, whatever the ranks
        if top >= 0:
            compact(plan, tables, source, column, cut, left == 1, state.order)
            source = child
        cut, side = all_of(plan), np.int64(1)
    else:
        at = ranks_at(plan, tables, source, column)
    keep(plan, tables, source, at, cut, side, data)
    state.numbers[WORK] += plan.vectors * tables.shape[source, 1]
    start_frame(plan, tables, state, child, budget)


@jit(inner=True, borrow=True)
def start_frame(plan, tables, state, top, budget):
    """A new frame for rows whose signs and counts are there."""
    state.numbers[TOP] = top
    state.numbers[SETS] += 1
    frame = state.frames[top]
    frame[PHASE], frame[COLUMN], frame[BUDGET], frame[UPPER], frame[LOWER] = ENTER, -1, budget, budget, 0
    frame[WEIGHT] = weight_to(plan, tables, top, 0, tables.starts[1] - 1)
    frame[LIST] = frame[SUB] = frame[SUPER] = frame[WHOLE] = -1
    frame[FILL] = frame[KEPT] = frame[NODES] = frame[OPEN] = 0


@jit(inner=True, borrow=True)
def start_list(plan, state, top):
    """Begin a frame's list, in its parent's room.

    A list: weight of the rows; for every column where its entries begin, and the end of the last; entries of four numbers: rank,
    weight up to it, lower bounds of both sides with one level less.
    """
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


@jit(inner=True, borrow=True)
def add_node(state, top, cut, mass, left, right):
    """A new node of the frame's column; it follows none yet."""
    frame = state.frames[top]
    at = frame[FIRST_NODE] + frame[NODES]
    frame[NODES] += 1
    node = state.nodes[at]
    node[AT], node[MASS], node[LOW_LEFT], node[LOW_RIGHT], node[AFTER], node[OF] = cut, mass, left, right, -1, frame[COLUMN]
    node[LEFT_SUB] = node[RIGHT_SUB] = -1
    node[LEFT_SUPER] = node[RIGHT_SUPER] = frame[WHOLE]
    return at


@jit(inline=True, borrow=True)
def bound_between(a, b):
    """No cut between two nodes loses less."""
    return max(a[LOW_LEFT] + b[LOW_RIGHT], b[LOW_LEFT] + a[LOW_RIGHT] - (b[MASS] - a[MASS]))


@jit(inner=True, borrow=True)
def put_interval(state, top, a, b, cut):
    """Keep an interval that is still open, or take its bound into the frame's."""
    frame = state.frames[top]
    low = bound_between(state.nodes[a], state.nodes[b])
    if low >= frame[UPPER]:
        frame[LOWER] = min(frame[LOWER], low)
    else:
        entry = state.open[frame[FIRST_NODE] + frame[OPEN]]
        entry[0], entry[1], entry[2], entry[3] = a, b, low, cut
        frame[OPEN] += 1


@jit(inner=True, borrow=True)
def start_column(plan, tables, state, top, cross):
    """Nodes of the frame's column as far as bounds are known, and its intervals.

    Of the bounds that others leave only those stay that close more than their neighbours do; a cut that is not closed by its
    bounds becomes the one to try first in its interval.
    """
    frame, seeds = state.frames[top], state.seeds
    column = frame[COLUMN]
    size = tables.starts[column + 1] - tables.starts[column]
    n = collect_seeds(plan, tables, state, top, column, cross)
    if cross:
        frame[NODES] = frame[OPEN] = 0
    a = add_node(state, top, NOTHING, np.int64(0), np.int64(0), frame[OWN])
    held, hint = NOTHING, NOTHING
    for k in range(n + 1):
        if k == n:
            q = add_node(state, top, size - 1, frame[WEIGHT], frame[OWN], np.int64(0))
        elif seeds[k, 2] + seeds[k, 3] < frame[UPPER]:
            hint = seeds[k, 0]
            continue
        else:
            q = add_node(state, top, seeds[k, 0], seeds[k, 1], seeds[k, 2], seeds[k, 3])
        if held >= 0 and (hint >= 0 or bound_between(state.nodes[a], state.nodes[q]) < frame[UPPER]):
            state.nodes[a, AFTER] = held
            put_interval(state, top, a, held, NOTHING)
            a = held
        if hint >= 0 or k == n or bound_between(state.nodes[a], state.nodes[q]) < frame[UPPER]:
            state.nodes[a, AFTER] = q
            put_interval(state, top, a, q, hint)
            a, held, hint = q, NOTHING, NOTHING
        else:
            held = q


@jit(inner=True, borrow=True)
def choose_cut(plan, tables, state, top, a, b, hint):
    """The cut of an interval to judge next, the middle by weight of those that its ends do not close; -1 if they close all."""
    frame = state.frames[top]
    column, first, last = a[OF], a[AT] + 1, b[AT] - 1
    upper = frame[UPPER]
    near, far = a[LOW_LEFT] + a[LOW_RIGHT], b[LOW_LEFT] + b[LOW_RIGHT]
    most, least = a[MASS] + near - upper, b[MASS] - (far - upper)  # cuts of weight <= most and of >= least are closed
    counts, starts = tables.counts[data_of(plan, top)], tables.last[table_of(plan, top)][tables.starts[column] :]
    low = first_above(counts, starts, first, last + 1, most)
    high = last_below(counts, starts, low, last, least)
    if low > first:
        frame[LOWER] = min(frame[LOWER], near - (weight_to(plan, tables, top, column, low - 1) - a[MASS]))
    if high < last:
        frame[LOWER] = min(frame[LOWER], far - (b[MASS] - weight_to(plan, tables, top, column, high + 1)))
    if low > high:
        return NOTHING
    heavy, light = mass_at(counts, starts, high), mass_at(counts, starts, low)
    frame[SLACK] = heavy - light
    if low <= hint <= high:
        return hint
    middle = (low + high) >> 1
    mass = mass_at(counts, starts, middle)
    if 4 * min(mass - light, heavy - mass) >= heavy - light:
        return middle
    return first_above(counts, starts, low, high, (light + heavy) // 2 - 1)


@jit(inline=True, borrow=True)
def mass_at(counts, starts, cut):
    """Weight up to a cut.   counts : of the frame.   starts : where the column's ranks end."""
    place = starts[cut]
    return np.int64(counts[place]) if place >= 0 else np.int64(0)


@jit(inner=True, borrow=True)
def first_above(counts, starts, low, high, mass):
    """The first cut from low to high - 1 up to which the rows weigh more than that, or high; quick where it is near low."""
    step = np.int64(1)
    while low < high:
        probe = min(low + step, high) - 1
        if mass_at(counts, starts, probe) > mass:
            high = probe
            break
        low, step = probe + 1, 2 * step
    while low < high:
        middle = (low + high) >> 1
        if mass_at(counts, starts, middle) > mass:
            high = middle
        else:
            low = middle + 1
    return low


@jit(inner=True, borrow=True)
def last_below(counts, starts, low, high, mass):
    """The last cut from low to high up to which the rows weigh less than that, or low - 1; quick where it is near high."""
    step = np.int64(1)
    while low <= high:
        probe = max(high + 1 - step, low)
        if mass_at(counts, starts, probe) < mass:
            low = probe + 1
            break
        high, step = probe - 1, 2 * step
    while low <= high:
        middle = (low + high) >> 1
        if mass_at(counts, starts, middle) < mass:
            low = middle + 1
        else:
            high = middle - 1
    return high
