"""The loop of the search over intervals of cuts; it is left and entered again at any step."""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.slices import FINISHED, PAUSED
from arboretum_gosdt.intervals_cuts import add_node, choose_cut, put_interval, start_column
from arboretum_gosdt.intervals_lists import list_column, start_list
from arboretum_gosdt.intervals_parts import (
    A, AFTER, B, BUDGET, COLUMN, CUT, ENTER, FILL, FIRST_NODE, FLOOR, GIVEN, HALF, JUDGE, KEPT, LEFT, LEFT_LIST, LEFT_SUB, LEFT_SUPER,
    LIST, LOWER, LOW_LEFT, LOW_RIGHT, MASS, MASSED, NEXT, NODES, NOTHING, OF, OPEN, OWN, PART, PHASE, PICK, RIGHT, RIGHT_LIST,
    RIGHT_SUB, RIGHT_SUPER, SIDE, SLACK, SUB, SUPER, TOP, UNBORN, UPPER, VALUE, WEIGHT, WHOLE, WHOLE_DONE, WORK, all_of, descend,
    losses, weight_to,
)  # fmt: skip


@jit(borrow=True)
def work(plan, tables, state, limit):
    """Begin or go on, until nothing is left to do or so many steps of vectors are done."""
    numbers = state.numbers
    numbers[WORK] = 0
    if numbers[TOP] == UNBORN:
        descend(plan, tables, state, np.int64(-1), np.int64(0), np.int64(0), np.int64(1), numbers[VALUE])
    while numbers[TOP] >= 0:
        if numbers[WORK] >= limit:
            return PAUSED
        top = numbers[TOP]
        frame = state.frames[top]
        phase = frame[PHASE]
        if phase == PICK:
            if plan.depth - top == 2:
                measure_cuts(plan, tables, state, top, limit)
            else:
                pick(plan, tables, state, top)
        elif phase == JUDGE:
            judge(plan, tables, state, top)
        elif phase == NEXT:
            next_column(plan, tables, state, top)
        elif phase == ENTER:
            enter(plan, tables, state, top)
        else:
            frame[WHOLE], frame[KEPT] = numbers[GIVEN], frame[FILL]
            copy_heap(state.best[top + 1], state.best[top])
            own(state, top, numbers[VALUE])
    return FINISHED


@jit(inner=True, borrow=True)
def enter(plan, tables, state, top):
    """Solve the rows with one level less: at depth 2 this is one pass."""
    frame = state.frames[top]
    if plan.depth - top > 2:
        frame[PHASE] = WHOLE_DONE
        descend(plan, tables, state, top, np.int64(0), all_of(plan), np.int64(1), frame[BUDGET])
        start_list(plan, state, top + 1)
    else:
        losses(plan, tables, state, top, np.int64(0), all_of(plan), frame[WEIGHT])
        state.best[top, 0, 0] = -1
        own(state, top, state.out[0])


@jit(inner=True, borrow=True)
def own(state, top, value):
    """The loss with one level less, or a bound that is no less than the budget."""
    frame = state.frames[top]
    frame[OWN] = frame[LOWER] = value
    frame[UPPER] = min(frame[BUDGET], value)
    frame[PHASE] = NEXT
    if value == 0:
        leave(state, top)


@jit(inner=True, borrow=True)
def leave(state, top):
    """Return the loss if it is less than the budget, else a bound that is not."""
    frame = state.frames[top]
    state.numbers[VALUE] = frame[UPPER] if frame[UPPER] < frame[BUDGET] else frame[LOWER]
    state.numbers[TOP] = top - 1
    state.numbers[GIVEN] = -1
    if top > 0 and frame[LIST] >= 0:
        lists, parent = state.lists[top - 1], state.frames[top - 1]
        if frame[COLUMN] < 0:  # nothing to tell
            parent[FILL] = frame[LIST]
        else:
            state.numbers[GIVEN] = frame[LIST]


@jit(inner=True, borrow=True)
def next_column(plan, tables, state, top):
    """Go on to the next column; the first frame of depth 3 and more has the intervals of all columns open at once."""
    frame = state.frames[top]
    at_once = top == 0 and plan.depth > 2
    if frame[COLUMN] >= 0 and top > 0:
        list_column(plan, state, top, frame[COLUMN])
    frame[COLUMN] += 1
    if frame[COLUMN] == plan.columns:
        if at_once:
            frame[PHASE] = PICK
        else:
            leave(state, top)
        return
    if not at_once:
        frame[NODES] = frame[OPEN] = 0
        frame[FILL] = frame[KEPT]
        frame[PHASE] = PICK
    start_column(plan, tables, state, top, False)
    first = state.frames[0]
    if plan.cross and top == 1 and frame[OPEN] > 0 and first[PHASE] == JUDGE and frame[COLUMN] != state.nodes[first[A], OF]:
        start_column(plan, tables, state, top, True)


@jit(inner=True, borrow=True)
def measure_cuts(plan, tables, state, top, limit):
    """Depth 2: work off the intervals of the column."""
    frame = state.frames[top]
    while frame[OPEN] > 0:
        if state.numbers[WORK] >= limit:
            return
        frame[OPEN] -= 1
        entry = state.open[frame[FIRST_NODE] + frame[OPEN]]
        i, j, low, hint = entry[0], entry[1], entry[2], entry[3]
        if low >= frame[UPPER]:
            frame[LOWER] = min(frame[LOWER], low)
            continue
        a, b = state.nodes[i], state.nodes[j]
        cut = choose_cut(plan, tables, state, top, a, b, hint)
        if cut < 0:
            continue
        mass = weight_to(plan, tables, top, frame[COLUMN], cut)
        losses(plan, tables, state, top, frame[COLUMN], cut, mass)
        left, right = state.out[0], state.out[1]
        new = add_node(state, top, cut, mass, left, right)
        a[AFTER], state.nodes[new, AFTER] = new, j
        if left + right < frame[UPPER]:
            frame[UPPER] = left + right
            state.best[top, 0, 0], state.best[top, 0, 1] = frame[COLUMN], cut
        frame[LOWER] = min(frame[LOWER], left + right)
        put_interval(state, top, i, new, NOTHING)
        put_interval(state, top, new, j, NOTHING)
    frame[PHASE] = NEXT


@jit(inner=True, borrow=True)
def pick(plan, tables, state, top):
    """Depth 3 and more: the interval to work on, of the first frame that with the least bound, and its cut."""
    frame = state.frames[top]
    if frame[OPEN] == 0:
        frame[PHASE] = NEXT
        if top == 0:
            leave(state, top)
        return
    base = frame[FIRST_NODE]
    chosen = last = base + frame[OPEN] - 1
    if top == 0:
        for k in range(base, last):
            if state.open[k, 2] < state.open[chosen, 2]:
                chosen = np.int64(k)
        state.numbers[FLOOR] = min(state.open[chosen, 2], frame[LOWER])
    entry = state.open[chosen]
    i, j, low, hint = entry[0], entry[1], entry[2], entry[3]
    if low >= frame[UPPER]:
        frame[LOWER] = min(frame[LOWER], low)
        drop_interval(state, top, chosen)
        return
    a, b = state.nodes[i], state.nodes[j]
    cut = choose_cut(plan, tables, state, top, a, b, hint)
    drop_interval(state, top, chosen)
    if cut < 0:
        return
    mass = weight_to(plan, tables, top, a[OF], cut)
    frame[A], frame[B], frame[CUT], frame[SIDE], frame[PHASE] = i, j, cut, 0, JUDGE
    frame[LEFT] = max(a[LOW_LEFT], b[LOW_LEFT] - (b[MASS] - mass))
    frame[RIGHT] = max(b[LOW_RIGHT], a[LOW_RIGHT] - (mass - a[MASS]))
    frame[LEFT_LIST] = frame[RIGHT_LIST] = -1
    frame[MASSED] = mass
    frame[SLACK] = min((frame[SLACK] * state.numbers[HALF]) >> 5, (frame[UPPER] * state.numbers[PART]) >> 5)


@jit(inner=True, borrow=True)
def drop_interval(state, top, at):
    """Take an open interval out; the last one takes its place."""
    frame = state.frames[top]
    frame[OPEN] -= 1
    last = frame[FIRST_NODE] + frame[OPEN]
    for k in range(4):
        state.open[at, k] = state.open[last, k]


@jit(inner=True, borrow=True)
def copy_heap(heap, to):
    """Copy the upper levels of a tree."""
    for k in range(len(heap)):
        to[k, 0], to[k, 1] = heap[k, 0], heap[k, 1]


@jit(inner=True, borrow=True)
def judge(plan, tables, state, top):
    """Solve the sides of the cut, the heavier first, as long as their bounds do not close it."""
    frame, numbers = state.frames[top], state.numbers
    i, j, cut = frame[A], frame[B], frame[CUT]
    a, b = state.nodes[i], state.nodes[j]
    mass = frame[MASSED]
    left_first = 2 * mass >= frame[WEIGHT]
    if frame[SIDE] > 0:
        was_left = left_first == (frame[SIDE] == 1)
        if was_left:
            frame[LEFT], frame[LEFT_LIST] = max(frame[LEFT], numbers[VALUE]), numbers[GIVEN]
            copy_heap(state.best[top + 1], state.sides[top, 0])
        else:
            frame[RIGHT], frame[RIGHT_LIST] = max(frame[RIGHT], numbers[VALUE]), numbers[GIVEN]
            copy_heap(state.best[top + 1], state.sides[top, 1])
    if frame[SIDE] < 2 and frame[LEFT] + frame[RIGHT] < frame[UPPER]:
        go_left = left_first == (frame[SIDE] == 0)
        frame[SIDE] += 1
        other = frame[RIGHT] if go_left else frame[LEFT]
        descend(plan, tables, state, top, a[OF], cut, np.int64(go_left), frame[UPPER] - other + frame[SLACK])
        child = state.frames[top + 1]
        child[SUB], child[SUPER] = (a[LEFT_SUB], b[LEFT_SUPER]) if go_left else (b[RIGHT_SUB], a[RIGHT_SUPER])
        start_list(plan, state, top + 1)
        return
    frame[PHASE] = PICK
    new = add_node(state, top, cut, mass, frame[LEFT], frame[RIGHT])
    node = state.nodes[new]
    node[OF] = a[OF]
    a[AFTER], node[AFTER] = new, j
    node[LEFT_SUB], node[LEFT_SUPER], node[RIGHT_SUB], node[RIGHT_SUPER] = a[LEFT_SUB], b[LEFT_SUPER], b[RIGHT_SUB], a[RIGHT_SUPER]
    if frame[LEFT_LIST] >= 0:
        node[LEFT_SUB] = node[LEFT_SUPER] = frame[LEFT_LIST]
    if frame[RIGHT_LIST] >= 0:
        node[RIGHT_SUB] = node[RIGHT_SUPER] = frame[RIGHT_LIST]
    found = frame[LEFT] + frame[RIGHT]
    frame[LOWER] = min(frame[LOWER], found)
    if found < frame[UPPER]:
        frame[UPPER] = found
        join(state, top, a[OF], cut)
    put_interval(state, top, i, new, NOTHING)
    put_interval(state, top, new, j, NOTHING)


@jit(inner=True, borrow=True)
def join(state, top, column, cut):
    """The best tree of a frame is made of a cut and the trees of its sides: heaps of one level less."""
    best = state.best[top]
    for k in range(len(best)):
        best[k, 0] = -1
    best[0, 0], best[0, 1] = column, cut
    width, first = 1, 0
    while 2 * first + 1 + 2 * width <= len(best):
        for side in range(2):
            for k in range(width):
                at = 2 * first + 1 + side * width + k
                best[at, 0], best[at, 1] = state.sides[top, side, first + k, 0], state.sides[top, side, first + k, 1]
        first, width = 2 * first + 1, 2 * width
