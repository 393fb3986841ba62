"""Steps of the search over intervals of cuts: frames, intervals, and the lists of bounds that sets
of rows leave to others.

A *node* is a cut of a column at which lower bounds of both sides are known, so that nothing is open
there; an *interval* lies between two neighbouring nodes.  For a cut t between nodes a < b, with r
the weight up to a cut, L and R lower bounds of the loss of the left and the right side: left(t) >=
max(L(a), L(b) - (r(b) - r(t))), right(t) >= max(R(b), R(a) - (r(t) - r(a))).  With ub the frame's::

    bound of (a, b):  max(L(a) + R(b), L(b) + R(a) − (r(b) − r(a)))             (bound_between)
    closed by a:      t with r(t) ≤ r(a) + L(a) + R(a) − ub
    closed by b:      t with r(t) ≥ r(b) − (L(b) + R(b) − ub)
    choose_cut:       of the others the hint, if there is one, or the middle by number if a quarter
                      of their weight lies on either side, else by weight

With e the loss of strips wholly between two cuts (:mod:`.strips`), L(a) + e(a, t) stands for L(a)
at a cut t, and R(b) + e(t, b) for R(b)::

    bound of t:       max(L(a) + e(a, t) + R(b) + e(t, b),  L(b) + R(a) − (r(b) − r(a)),
                          L(a) + e(a, t) + R(a) − (r(t) − r(a)),
                          L(b) + R(b) + e(t, b) − (r(b) − r(t)))
    for the cuts of one fine block after the other: closed as above, with the e of that block's ends
    choose_among_blocks:  where half the weight of what is open lies on either side
    start_column:     nodes at −1 (L = 0, R = own) and at the last cut (L = own, R = 0), between
                      them those cuts that lists close

Invariants: bounds of what is closed are taken into ``frame.lb``, so that this bounds all of it.
Nodes of a column are linked by ``after`` in the order of their ranks.  ``choose_cut`` leaves in
``frame.slack`` the weight between the outer two of the cuts that are not closed.

Where nothing else is said, plan and tables are Plan and Tables of :mod:`.tables`, state is a State
of :mod:`.parts`; tables and state are written; top is the place of a frame, which is its level,
too.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner
from arboretum_gosdt.continuous.lists import collect_bounds
from arboretum_gosdt.continuous.parts import (
    NOTHING,
    data_level,
    table_level,
    weight_up_to,
)
from arboretum_gosdt.continuous.strips import (
    blocks_from,
    blocks_up_to,
    first_block_above,
    is_divided,
    lost_between,
)


@inline
def add_node(state, top, column, cut, mass, left, right):
    """Add a node to the frame's nodes, which follows none yet, and return its place in
    ``state.nodes``.

    cut : rank in the column; mass : weight of the frame's rows up to it.
    left, right : lower bounds of the loss of both sides with one level less.
    No list is known of its sides but that of the frame's own rows with one level less.
    """
    frame = state.frames[top]
    at = frame.first_node + frame.nodes
    frame.nodes += 1
    node = state.nodes[at]
    node.cut = cut
    node.mass = mass
    node.low_left = left
    node.low_right = right
    node.after = -1
    node.column = column
    for side in range(2):
        node.sub[side], node.super[side] = -1, frame.whole
    return at


@inline
def bound_between(a, b):
    """Return a bound that no cut between two nodes loses less than.

    a, b : records of NODE of one column, a at the lower cut.
    """
    return max(a.low_left + b.low_right, b.low_left + a.low_right - (b.mass - a.mass))


@inner
def bound_with_strips(plan, tables, state, top, a, b):
    """Return a bound that no cut between two nodes loses less than, with what strips lose.

    a, b : records of NODE of one column, a at the lower cut.
    """
    frame, level = state.frames[top], table_level(plan, top)
    levels, column, least = plan.depth - top, a.column, np.int64(1) << 40
    found = bound_between(a, b)
    if not is_divided(plan, tables, frame, levels, level):
        return found
    after = first_block_above(plan, tables, level, column, a.cut)
    before = blocks_up_to(plan, tables, level, column, b.cut)
    near, far = a.low_left + a.low_right, b.low_left + b.low_right
    first, last = a.cut + 1, b.cut - 1
    while first <= last:
        block, beyond, end = blocks_from(plan, tables, levels, level, column, first, last)
        left = lost_between(plan, tables, frame, levels, level, column, after, block)
        right = lost_between(plan, tables, frame, levels, level, column, beyond, before)
        near_end = weight_up_to(plan, tables, top, column, end) - a.mass
        far_end = b.mass - weight_up_to(plan, tables, top, column, first)
        low = max(found, a.low_left + left + b.low_right + right)
        least = min(least, max(low, near + left - near_end, far + right - far_end))
        first = end + 1
    return max(found, least)


@inline
def keep_interval(plan, tables, state, top, a, b, hint):
    """Keep an interval that is still open, or take its bound into the frame's.

    a, b : places of its nodes in ``state.nodes``; hint : a cut to try first, or −1.
    An interval is open where its bound is below ``frame.ub``.
    """
    frame = state.frames[top]
    if top == 0:
        low = bound_with_strips(plan, tables, state, top, state.nodes[a], state.nodes[b])
    else:
        low = bound_between(state.nodes[a], state.nodes[b])
    if low >= frame.ub:
        frame.lb = min(frame.lb, low)
    else:
        entry = state.open[frame.first_node + frame.open]
        entry.a, entry.b, entry.low, entry.hint = a, b, low, hint
        frame.open += 1


@inline
def start_column(plan, tables, state, top):
    """Make nodes of the frame's column as far as bounds are known, and its intervals.

    Of the bounds that others leave only those stay that close more than their neighbours do; a cut
    that is not closed by its bounds becomes the one to try first in its interval.

    Writes ``state.seeds``, and appends to the frame's nodes and open intervals.
    """
    frame, seeds = state.frames[top], state.seeds
    column = frame.column
    size = tables.starts[column + 1] - tables.starts[column]
    n = collect_bounds(plan, tables, state, top, column)
    a = add_node(state, top, column, NOTHING, 0, 0, frame.own)
    held, hint = NOTHING, NOTHING
    for k in range(n + 1):
        if k == n:
            q = add_node(state, top, column, size - 1, frame.weight, frame.own, 0)
        elif seeds[k].low_left + seeds[k].low_right < frame.ub:
            hint = seeds[k].cut
            continue
        else:
            seed = seeds[k]
            q = add_node(state, top, column, seed.cut, seed.mass, seed.low_left, seed.low_right)
        if held >= 0 and (hint >= 0 or bound_between(state.nodes[a], state.nodes[q]) < frame.ub):
            state.nodes[a].after = held
            keep_interval(plan, tables, state, top, a, held, NOTHING)
            a = held
        if hint >= 0 or k == n or bound_between(state.nodes[a], state.nodes[q]) < frame.ub:
            state.nodes[a].after = q
            keep_interval(plan, tables, state, top, a, q, hint)
            a, held, hint = q, NOTHING, NOTHING
        else:
            held = q


@inline
def choose_cut(plan, tables, state, top, a, b, hint):
    """Return the cut of an interval to judge next, the middle by weight of those that its ends do
    not close; -1 if they close all.

    a, b : records of NODE at its ends; hint : a cut to try first, if it is not closed; −1: none.
    Takes the bounds of what is closed into ``frame.lb``, and leaves ``frame.slack``.
    """
    frame, level = state.frames[top], table_level(plan, top)
    column, first, last = a.column, a.cut + 1, b.cut - 1
    levels, upper = plan.depth - top, frame.ub
    near, far = a.low_left + a.low_right, b.low_left + b.low_right
    counts = tables.counts[data_level(plan, top)]
    starts = tables.last[level][tables.starts[column] :]
    if is_divided(plan, tables, frame, levels, level):
        _, _, end = blocks_from(plan, tables, levels, level, column, first, last)
        if end < last:
            return choose_among_blocks(plan, tables, state, top, a, b, hint)
    # cuts of weight <= most and of >= least are closed
    most, least = a.mass + near - upper, b.mass - (far - upper)
    low = first_cut_above(counts, starts, first, last + 1, most)
    high = first_cut_above(counts, starts, low, last + 1, least - 1) - 1
    if low > first:
        frame.lb = min(frame.lb, near - (weight_up_to_cut(counts, starts, low - 1) - a.mass))
    if high < last:
        frame.lb = min(frame.lb, far - (b.mass - weight_up_to_cut(counts, starts, high + 1)))
    if low > high:
        return NOTHING
    heavy, light = weight_up_to_cut(counts, starts, high), weight_up_to_cut(counts, starts, low)
    frame.slack = heavy - light
    if low <= hint <= high:
        return hint
    middle = (low + high) >> 1
    mass = weight_up_to_cut(counts, starts, middle)
    if 4 * min(mass - light, heavy - mass) >= heavy - light:
        return middle
    return first_cut_above(counts, starts, low, high, (light + heavy) // 2 - 1)


@inner
def choose_among_blocks(plan, tables, state, top, a, b, hint):
    """Return the cut of an interval of several fine blocks to judge next, as ``choose_cut`` does,
    which calls it.
    """
    frame, level = state.frames[top], table_level(plan, top)
    column, first, last = a.column, a.cut + 1, b.cut - 1
    levels, upper = plan.depth - top, frame.ub
    both, parts, weight = bound_between(a, b), np.int64(0), np.int64(0)
    near, far = a.low_left + a.low_right, b.low_left + b.low_right
    after = first_block_above(plan, tables, level, column, a.cut)
    before = blocks_up_to(plan, tables, level, column, b.cut)
    counts = tables.counts[data_level(plan, top)]
    starts = tables.last[level][tables.starts[column] :]
    while first <= last:
        block, beyond, end = blocks_from(plan, tables, levels, level, column, first, last)
        left = lost_between(plan, tables, frame, levels, level, column, after, block)
        right = lost_between(plan, tables, frame, levels, level, column, beyond, before)
        all_of = max(both, a.low_left + left + b.low_right + right)
        mass_low = weight_up_to_cut(counts, starts, first)
        mass_high = weight_up_to_cut(counts, starts, end)
        # cuts of weight <= most and of >= least are closed
        most, least = a.mass + near + left - upper, b.mass - (far + right - upper)
        if all_of >= upper or mass_high <= most or mass_low >= least:
            frame.lb = min(
                frame.lb,
                max(all_of, near + left - (mass_high - a.mass), far + right - (b.mass - mass_low)),
            )
        else:
            low, high = first, end
            if mass_low <= most:
                low = first_cut_above(counts, starts, first, end + 1, most)
            if mass_high >= least:
                high = first_cut_above(counts, starts, low, end + 1, least - 1) - 1
            if low > first:
                mass = weight_up_to_cut(counts, starts, low - 1) - a.mass
                frame.lb = min(frame.lb, max(all_of, near + left - mass))
            if high < end:
                mass = b.mass - weight_up_to_cut(counts, starts, high + 1)
                frame.lb = min(frame.lb, max(all_of, far + right - mass))
            if low <= high:
                part = state.parts[parts]
                part.low, part.high = low, high
                part.mass_low = weight_up_to_cut(counts, starts, low)
                part.mass_high = weight_up_to_cut(counts, starts, high)
                if parts > 0 and state.parts[parts - 1].high + 1 == low:
                    weight += part.mass_high - state.parts[parts - 1].mass_high
                    state.parts[parts - 1].high, state.parts[parts - 1].mass_high = (
                        high,
                        part.mass_high,
                    )
                else:
                    weight += part.mass_high - part.mass_low
                    parts += 1
        first = end + 1
    if parts == 0:
        return NOTHING
    frame.slack = state.parts[parts - 1].mass_high - state.parts[0].mass_low
    if state.parts[0].low <= hint <= state.parts[parts - 1].high:
        return hint
    # the part in which half of the open weight is
    half, k = weight >> 1, np.int64(0)
    while k < parts - 1 and half > state.parts[k].mass_high - state.parts[k].mass_low:
        half -= state.parts[k].mass_high - state.parts[k].mass_low
        k += 1
    low, high = state.parts[k].low, state.parts[k].high
    mass_low, mass_high = state.parts[k].mass_low, state.parts[k].mass_high
    middle = (low + high) >> 1
    mass = weight_up_to_cut(counts, starts, middle)
    if parts == 1:
        if 4 * min(mass - mass_low, mass_high - mass) >= mass_high - mass_low:
            return middle
        half = (mass_high - mass_low) // 2
    return first_cut_above(counts, starts, low, high, mass_low + half - 1)


@inline
def weight_up_to_cut(counts, starts, cut):
    """Return the weight of the rows up to a cut.

    counts : of the frame.
    starts : where the column's ranks end.
    """
    place = starts[cut]
    return np.int64(counts[place]) if place >= 0 else np.int64(0)


@inner
def first_cut_above(counts, starts, low, high, mass):
    """Return the first cut from low to high - 1 up to which the rows weigh more than ``mass``, or
    high, where none is.

    counts, starts : as of ``weight_up_to_cut``; low, high : a half-open range of cuts.
    """
    while low < high:
        middle = (low + high) >> 1
        if weight_up_to_cut(counts, starts, middle) > mass:
            high = middle
        else:
            low = middle + 1
    return low
