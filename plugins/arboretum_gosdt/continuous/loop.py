"""The loop of the search over intervals of cuts; it is left and entered again at any step.

A frame is a set of rows with a budget: on return its value is its least loss, if that is less than
the budget, else a lower bound that is not.  A node is a cut with lower bounds of its two sides, an
interval what lies between two neighbouring nodes (:mod:`.cuts`).  With s the rows of frame
``top``, d = depth − top its remaining levels, lb = ``frame[LOWER]``, ub = ``frame[UPPER]``::

    push the frame of all rows                                                        (descend)
    while there is a frame, by the phase of the uppermost one:
        ENTER:       d > 2: push a frame of the same rows with d − 1 levels; go on to WHOLE_DONE
                     d = 2: own(one pass with a cut above all ranks)                   (losses)
        WHOLE_DONE:  own(the value of that frame)
                     own(x): OWN = lb = x, ub = min(budget, x); leave if x = 0
        NEXT:        nodes and intervals of the next column                      (start_column)
                     top > 0: go on to PICK;  top = 0: only after the last column
                     no column is left: leave, or, at top = 0, PICK
        PICK:        while an interval is open, take the last (top = 0: that of least bound):
                         its bound ≥ ub: lb = min(lb, its bound)
                         else t = the middle of its cuts that are not closed      (choose_cut)
                         d = 2: losses of both sides of t by one pass; divide at t
                         d > 2: go on to JUDGE
                     then NEXT; at top = 0 leave
        JUDGE:       while left + right < ub and a side is not solved, the heavier one first:
                         push its frame, with the budget ub − bound of the other side + SLACK
                     divide at t; go back to PICK
    divide at t:     t becomes a node;  lb = min(lb, left + right)
                     left + right < ub: ub = left + right, and the best tree is joined  (join)
                     two intervals, those whose bound is below ub, are open
    leave:           VALUE = ub if ub < budget, else lb;  pop

Invariants:

- ``numbers[TOP]`` is the uppermost frame; UNBORN before the start, −1 at the end, when VALUE is the
  least loss.  Frames below it wait in JUDGE or WHOLE_DONE.
- ub never rises and is at most the budget; what is closed had a bound of at least ub.  So lb ≥ ub
  whenever a frame is left.  FLOOR bounds the whole while the first frame picks.
- A frame's nodes begin at FIRST_NODE of ``nodes``, and its open intervals at the same place of
  ``open``, a stack of OPEN entries.  AFTER leads from a column's first node to its last one (−1) in
  the order of ranks.  Frames but the first have one column at a time.
- The list of a frame lies in its parent's part of ``lists`` (−1: none).  All but the first frame
  drop those of a column's cuts when they go on to the next one, and keep that of WHOLE (KEPT).
- ``best[top]`` is the heap of the frame's best tree where ub < budget; column −1 there says that no
  split is named, and what follows is the best leaf or split.  ``sides`` has those of both sides.
- There is no NEED_ROOM: a column has at most as many nodes as cuts, and two; a set for whose list
  there is no room leaves none.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.slices import FINISHED, PAUSED
from arboretum_gosdt.continuous.cuts import add_node, choose_cut, put_interval, start_column
from arboretum_gosdt.continuous.lists import list_column, start_list
from arboretum_gosdt.continuous.parts import (
    AFTER,
    BUDGET,
    COLUMN,
    CUT,
    ENTER,
    FILL,
    FIRST_NODE,
    FLOOR,
    GIVEN,
    JUDGE,
    KEPT,
    LEFT,
    LEFT_LIST,
    LEFT_SUB,
    LEFT_SUPER,
    LIST,
    LOW_LEFT,
    LOW_RIGHT,
    LOWER,
    MASS,
    MASSED,
    NEXT,
    NODES,
    NOTHING,
    OF,
    OPEN,
    OWN,
    PHASE,
    PICK,
    RIGHT,
    RIGHT_LIST,
    RIGHT_SUB,
    RIGHT_SUPER,
    SIDE,
    SLACK,
    SUB,
    SUPER,
    TOP,
    UNBORN,
    UPPER,
    VALUE,
    WEIGHT,
    WHOLE,
    WHOLE_DONE,
    WORK,
    A,
    B,
    all_of,
    descend,
    losses,
    weight_to,
)


@jit(borrow=True)
def work(plan, tables, state, limit):
    """Begin or go on, until nothing is left to do or so many steps of vectors are done."""
    numbers = state.numbers
    numbers[WORK] = 0
    if numbers[TOP] == UNBORN:
        descend(
            plan, tables, state, np.int64(-1), np.int64(0), np.int64(0), np.int64(1), numbers[VALUE]
        )
    while numbers[TOP] >= 0:
        if numbers[WORK] >= limit:
            return PAUSED
        top = numbers[TOP]
        frame = state.frames[top]
        phase = frame[PHASE]
        if phase == PICK:
            pick(plan, tables, state, top, limit)
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
        _lists, parent = state.lists[top - 1], state.frames[top - 1]
        if frame[COLUMN] < 0:  # nothing to tell
            parent[FILL] = frame[LIST]
        else:
            state.numbers[GIVEN] = frame[LIST]


@jit(inner=True, borrow=True)
def next_column(plan, tables, state, top):
    """Go on to the next column; the first frame has the intervals of all columns open at once."""
    frame = state.frames[top]
    if frame[COLUMN] >= 0 and top > 0:
        list_column(plan, state, top, frame[COLUMN])
    frame[COLUMN] += 1
    if frame[COLUMN] == plan.columns:
        if top == 0:
            frame[PHASE] = PICK
        else:
            leave(state, top)
        return
    if top > 0:
        frame[NODES] = frame[OPEN] = 0
        frame[FILL] = frame[KEPT]
        frame[PHASE] = PICK
    start_column(plan, tables, state, top)


@jit(inner=True, borrow=True)
def pick(plan, tables, state, top, limit):
    """Work off the open intervals, those of the first frame by their bounds: at depth 2 a cut is
    measured at once, above it is judged.
    """
    frame, numbers = state.frames[top], state.numbers
    while frame[OPEN] > 0:
        if numbers[WORK] >= limit:
            return
        base = frame[FIRST_NODE]
        chosen = last = base + frame[OPEN] - 1
        if top == 0:
            for k in range(base, last):
                if state.open[k, 2] < state.open[chosen, 2]:
                    chosen = np.int64(k)
            numbers[FLOOR] = min(state.open[chosen, 2], frame[LOWER])
        i, j, low, hint = (
            state.open[chosen, 0],
            state.open[chosen, 1],
            state.open[chosen, 2],
            state.open[chosen, 3],
        )
        frame[OPEN] -= 1
        for k in range(4):
            state.open[chosen, k] = state.open[last, k]
        if low >= frame[UPPER]:
            frame[LOWER] = min(frame[LOWER], low)
            continue
        a, b = state.nodes[i], state.nodes[j]
        cut = choose_cut(plan, tables, state, top, a, b, hint)
        if cut < 0:
            continue
        mass = weight_to(plan, tables, top, a[OF], cut)
        frame[A], frame[B], frame[CUT], frame[SIDE], frame[MASSED] = i, j, cut, 0, mass
        frame[LEFT_LIST] = frame[RIGHT_LIST] = -1
        if plan.depth - top > 2:
            frame[LEFT] = max(a[LOW_LEFT], b[LOW_LEFT] - (b[MASS] - mass))
            frame[RIGHT] = max(b[LOW_RIGHT], a[LOW_RIGHT] - (mass - a[MASS]))
            # so much more than needed is to be proven of a side that neighbours are often closed
            # with it
            frame[SLACK] = min(frame[SLACK], frame[UPPER]) >> 3
            frame[PHASE] = JUDGE
            return
        losses(plan, tables, state, top, a[OF], cut, mass)
        frame[LEFT], frame[RIGHT] = state.out[0], state.out[1]
        divide(state, top)
    frame[PHASE] = NEXT
    if top == 0:
        leave(state, top)


@jit(inner=True, borrow=True)
def copy_heap(heap, to):
    """Copy the upper levels of a tree."""
    for k in range(len(heap)):
        to[k, 0], to[k, 1] = heap[k, 0], heap[k, 1]


@jit(inner=True, borrow=True)
def judge(plan, tables, state, top):
    """Solve the sides of the cut, the heavier first, as long as their bounds do not close it."""
    frame, numbers, i, j = (
        state.frames[top],
        state.numbers,
        state.frames[top, A],
        state.frames[top, B],
    )
    light_left = np.int64(2 * frame[MASSED] < frame[WEIGHT])
    if frame[SIDE] > 0:
        side = light_left if frame[SIDE] == 1 else 1 - light_left
        frame[LEFT + side], frame[LEFT_LIST + side] = (
            max(frame[LEFT + side], numbers[VALUE]),
            numbers[GIVEN],
        )
        copy_heap(state.best[top + 1], state.sides[top, side])
    if frame[SIDE] < 2 and frame[LEFT] + frame[RIGHT] < frame[UPPER]:
        side = light_left if frame[SIDE] == 0 else 1 - light_left
        frame[SIDE] += 1
        budget = frame[UPPER] - frame[RIGHT - side] + frame[SLACK]
        descend(plan, tables, state, top, state.nodes[i, OF], frame[CUT], 1 - side, budget)
        child = state.frames[top + 1]
        child[SUB], child[SUPER] = lists_of_side(state, i, j, side)
        start_list(plan, state, top + 1)
        return
    frame[PHASE] = PICK
    divide(state, top)


@jit(inline=True, borrow=True)
def lists_of_side(state, i, j, side):
    """Lists of a subset and of a superset of the rows on a side of a cut between two nodes."""
    if side:
        return state.nodes[j, RIGHT_SUB], state.nodes[i, RIGHT_SUPER]
    return state.nodes[i, LEFT_SUB], state.nodes[j, LEFT_SUPER]


@jit(inline=True, borrow=True)
def divide(state, top):
    """The cut that was judged or measured becomes a node between two new intervals."""
    frame, i, j = state.frames[top], state.frames[top, A], state.frames[top, B]
    column, found = state.nodes[i, OF], frame[LEFT] + frame[RIGHT]
    new = add_node(state, top, column, frame[CUT], frame[MASSED], frame[LEFT], frame[RIGHT])
    node = state.nodes[new]
    state.nodes[i, AFTER], node[AFTER] = new, j
    for side in range(2):
        given = frame[LEFT_LIST + side]
        lists = (given, given) if given >= 0 else lists_of_side(state, i, j, side)
        node[LEFT_SUB + 2 * side], node[LEFT_SUPER + 2 * side] = lists
    frame[LOWER] = min(frame[LOWER], found)
    if found < frame[UPPER]:
        frame[UPPER] = found
        join(state, top, column, frame[CUT])
    put_interval(state, top, i, new, NOTHING)
    put_interval(state, top, new, j, NOTHING)


@jit(inner=True, borrow=True)
def join(state, top, column, cut):
    """The best tree of a frame is made of a cut and the trees of its sides: heaps of one level
    less.
    """
    best = state.best[top]
    for k in range(len(best)):
        best[k, 0] = -1
    best[0, 0], best[0, 1] = column, cut
    width, first = 1, 0
    while 2 * first + 1 + 2 * width <= len(best):
        for side in range(2):
            for k in range(width):
                at = 2 * first + 1 + side * width + k
                best[at, 0], best[at, 1] = (
                    state.sides[top, side, first + k, 0],
                    state.sides[top, side, first + k, 1],
                )
        first, width = 2 * first + 1, 2 * width
