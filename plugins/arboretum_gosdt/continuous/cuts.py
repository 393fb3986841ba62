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
    start_column:     nodes at −1 (L = 0, R = OWN) and at the last cut (L = OWN, R = 0), between
                      them those cuts that lists close

Invariants: bounds of what is closed are taken into ``frame[LOWER]``, so that this bounds all of it.
Nodes of a column are linked by AFTER in the order of their ranks.  ``choose_cut`` leaves in SLACK
the weight between the outer two of the cuts that are not closed.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit
from arboretum_gosdt.continuous.lists import collect_seeds
from arboretum_gosdt.continuous.parts import (
    AFTER,
    AT,
    COLUMN,
    FIRST_NODE,
    LEFT_SUB,
    LEFT_SUPER,
    LOW_LEFT,
    LOW_RIGHT,
    LOWER,
    MASS,
    NODES,
    NOTHING,
    OF,
    OPEN,
    OWN,
    RIGHT_SUB,
    RIGHT_SUPER,
    SLACK,
    UPPER,
    WEIGHT,
    WHOLE,
    data_of,
    table_of,
    weight_to,
)


@jit(inner=True, borrow=True)
def add_node(state, top, column, cut, mass, left, right):
    """A new node; it follows none yet."""
    frame = state.frames[top]
    at = frame[FIRST_NODE] + frame[NODES]
    frame[NODES] += 1
    node = state.nodes[at]
    node[AT], node[MASS], node[LOW_LEFT], node[LOW_RIGHT], node[AFTER], node[OF] = (
        cut,
        mass,
        left,
        right,
        -1,
        column,
    )
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
def start_column(plan, tables, state, top):
    """Nodes of the frame's column as far as bounds are known, and its intervals.

    Of the bounds that others leave only those stay that close more than their neighbours do; a cut
    that is not closed by its bounds becomes the one to try first in its interval.
    """
    frame, seeds = state.frames[top], state.seeds
    column = frame[COLUMN]
    size = tables.starts[column + 1] - tables.starts[column]
    n = collect_seeds(plan, tables, state, top, column)
    a = add_node(state, top, column, NOTHING, np.int64(0), np.int64(0), frame[OWN])
    held, hint = NOTHING, NOTHING
    for k in range(n + 1):
        if k == n:
            q = add_node(state, top, column, size - 1, frame[WEIGHT], frame[OWN], np.int64(0))
        elif seeds[k, 2] + seeds[k, 3] < frame[UPPER]:
            hint = seeds[k, 0]
            continue
        else:
            q = add_node(state, top, column, seeds[k, 0], seeds[k, 1], seeds[k, 2], seeds[k, 3])
        if held >= 0 and (
            hint >= 0 or bound_between(state.nodes[a], state.nodes[q]) < frame[UPPER]
        ):
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
    """The cut of an interval to judge next, the middle by weight of those that its ends do not
    close; -1 if they close all.
    """
    frame = state.frames[top]
    column, first, last = a[OF], a[AT] + 1, b[AT] - 1
    upper = frame[UPPER]
    near, far = a[LOW_LEFT] + a[LOW_RIGHT], b[LOW_LEFT] + b[LOW_RIGHT]
    # cuts of weight <= most and of >= least are closed
    most, least = a[MASS] + near - upper, b[MASS] - (far - upper)
    counts, starts = (
        tables.counts[data_of(plan, top)],
        tables.last[table_of(plan, top)][tables.starts[column] :],
    )
    low = first_above(counts, starts, first, last + 1, most)
    high = first_above(counts, starts, low, last + 1, least - 1) - 1
    if low > first:
        frame[LOWER] = min(
            frame[LOWER], near - (weight_to(plan, tables, top, column, low - 1) - a[MASS])
        )
    if high < last:
        frame[LOWER] = min(
            frame[LOWER], far - (b[MASS] - weight_to(plan, tables, top, column, high + 1))
        )
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
    """The first cut from low to high - 1 up to which the rows weigh more than that, or high."""
    while low < high:
        middle = (low + high) >> 1
        if mass_at(counts, starts, middle) > mass:
            high = middle
        else:
            low = middle + 1
    return low
