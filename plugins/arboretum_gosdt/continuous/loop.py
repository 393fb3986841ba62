"""The loop of the search over intervals of cuts; it is left and entered again at any step.

A frame is a set of rows with a budget: on return its value is its least loss, if that is less than
the budget, else a lower bound that is not.  A node is a cut with lower bounds of its two sides, an
interval what lies between two neighbouring nodes (:mod:`.cuts`).  With s the rows of frame
``top``, d = depth − top its remaining levels, lb and ub those of its record::

    push the frame of all rows                                                        (push_side)
    while there is a frame, by the phase of the uppermost one:
        ENTER:       d > 2: push a frame of the same rows with d − 1 levels; go on to WHOLE_DONE
                     d = 2: own(one pass with a cut above all ranks)                   (losses)
        WHOLE_DONE:  own(the value of that frame)
                     own(x): own = x, least = lb = x − price, ub = min(budget − price, least +
                     margin); ub ≤ 0: lb = min(lb, 0), leave
        NEXT:        nodes and intervals of the next column                      (start_column)
                     top > 0: go on to PICK;  top = 0: only after the last column
                     no column is left: leave, or, at top = 0, PICK
        PICK:        while an interval is open, take the last (top = 0: that of least bound):
                         its bound ≥ ub: lb = min(lb, its bound)
                         else t = the middle of its cuts that are not closed      (choose_cut)
                         d = 2: losses of both sides of t by one pass, unless sets like
                                them close t (:mod:`.similar`);  add the cut t
                         d > 2: bounds of both sides by sets like them; go on to JUDGE
                     then NEXT; at top = 0 leave
        JUDGE:       while left + right < ub and a side is not solved, the heavier one first:
                         push its frame, with the budget ub − bound of the other side + slack
                     add the cut t; go back to PICK
    add the cut t: t becomes a node;  lb = min(lb, left + right)
                     left + right < ub and < least: least = left + right, ub = min(ub, least +
                     margin), and the best tree is joined                           (join_trees)
                     two intervals, those whose bound is below ub, are open
    leave:           value = least + price if that is < budget, else lb + price;  pop

Invariants:

- ``now.top`` is the uppermost frame; UNBORN before the start, −1 at the end, when ``value`` is the
  least loss.  Frames below it wait in JUDGE or WHOLE_DONE.
- ub never rises and is at most the budget less the price; what is closed had a bound of at least
  ub.  So lb ≥ min(ub, least) whenever a frame is left.  ``floor`` bounds the whole while the first
  frame picks.
- Only the first frame has a margin: when it is left, both sides of a cut are solved, or the sum of
  their bounds is at least its ub.  Elsewhere ub is least wherever that is below the budget.
- A frame's nodes begin at ``first_node`` of ``nodes``, and its open intervals at the same place of
  ``open``, a stack of ``frame.open`` entries.  ``after`` leads from a column's first node to its
  last one (−1) in the order of ranks.  Frames but the first have one column at a time.
- The list of a frame lies in its parent's part of ``lists`` (−1: none).  All but the first frame
  drop those of a column's cuts when they go on to the next one, and keep that of ``whole``
  (``kept``).
- ``best[top]`` is the heap of the frame's best tree where ub < budget; column −1 there says that no
  split is named, and what follows is the best leaf or split.  ``sides`` has those of both sides.
- There is no NEED_ROOM: a column has at most as many nodes as cuts, and two; a set for whose list
  there is no room leaves none.

Where nothing else is said, plan and tables are Plan and Tables of :mod:`.tables`, state is a State
of :mod:`.parts`; tables and state are written; top is the place of a frame, which is its level,
too.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.slices import FINISHED, PAUSED
from arboretum_gosdt.continuous.cuts import add_node, choose_cut, keep_interval, start_column
from arboretum_gosdt.continuous.lists import list_nodes_of_column, start_list
from arboretum_gosdt.continuous.parts import (
    ENTER,
    JUDGE,
    NEXT,
    NOTHING,
    PICK,
    UNBORN,
    WHOLE_DONE,
    cut_above_all,
    measure_sides,
    push_side,
    table_level,
    weight_up_to,
)
from arboretum_gosdt.continuous.similar import (
    bound_of_side,
    has_families,
    inherit_literals,
    remember_side,
)
from arboretum_gosdt.continuous.strips import (
    blocks_up_to,
    first_block_above,
    make_strips,
    strips_are_missing,
)


@jit(borrow=True)
def search_intervals(plan, tables, state, limit):
    """Begin or go on with the search, until nothing is left to do or ``limit`` steps of vectors are
    done.

    plan, tables, state : Plan, Tables and State, the last two written.  ``state.now.value`` holds
        the budget of all rows before, and the least loss after FINISHED.
    """
    now = state.now[0]
    now.work = 0
    if now.top == UNBORN:
        push_side(plan, tables, state, -1, 0, 0, 1, now.value)
    while now.top >= 0:
        if now.work >= limit:
            return PAUSED
        top = now.top
        frame = state.frames[top]
        phase = frame.phase
        if strips_are_missing(plan, tables, table_level(plan, top)):
            make_strips(plan, tables, state, table_level(plan, top))
        elif phase == PICK:
            work_off_intervals(plan, tables, state, top, limit)
        elif phase == JUDGE:
            solve_sides_of_cut(plan, tables, state, top)
        elif phase == NEXT:
            next_column(plan, tables, state, top)
        elif phase == ENTER:
            enter_frame(plan, tables, state, top)
        else:
            frame.whole, frame.kept = now.given, frame.used
            copy_heap(state.best[top + 1], state.best[top])
            start_with_loss(plan, state, top, now.value)
    return FINISHED


@inner
def enter_frame(plan, tables, state, top):
    """Solve the rows of frame ``top`` with one level less: at depth 2 this is one pass, above a
    frame of its own is pushed.

    The phase becomes NEXT, or WHOLE_DONE until that frame has returned.
    """
    frame = state.frames[top]
    if plan.depth - top > 2:
        frame.phase = WHOLE_DONE
        push_side(plan, tables, state, top, 0, cut_above_all(plan), 1, frame.budget)
        start_list(plan, state, top + 1)
    else:
        measure_sides(plan, tables, state, top, 0, cut_above_all(plan), frame.weight)
        state.best[top, 0, 0] = -1
        start_with_loss(plan, state, top, state.out[0])


@inline
def start_with_loss(plan, state, top, value):
    """Begin a frame's bounds with ``value``, the loss with one level less, or a bound that is no
    less than the budget.
    """
    frame = state.frames[top]
    frame.own = value
    frame.least = frame.lb = value - plan.price
    frame.ub = min(frame.budget - plan.price, frame.least + margin_of_frame(plan, top))
    frame.phase = NEXT
    if frame.ub <= 0:  # two sides lose 0 at least
        frame.lb = min(frame.lb, 0)
        close_frame(plan, state, top)


@inline
def margin_of_frame(plan, top):
    """Return by how much two sides may lose more than the best, to be solved: only of all rows."""
    return plan.margin if top == 0 else np.int64(0)


@inline
def close_frame(plan, state, top):
    """Pop the frame, and leave its parent (``now.value``) the loss if it is less than the budget,
    else a bound that is not.

    ``now.given`` becomes the place of its list in the parent's room, −1 where it leaves none.
    """
    frame = state.frames[top]
    now = state.now[0]
    now.value = frame.least + plan.price
    if now.value >= frame.budget:
        now.value = frame.lb + plan.price
    now.top = top - 1
    now.given = -1
    if top > 0 and frame.list >= 0:
        parent = state.frames[top - 1]
        if frame.column < 0:  # nothing to tell
            parent.used = frame.list
        else:
            now.given = frame.list


@inline
def next_column(plan, tables, state, top):
    """Go on to the next column of frame ``top``, or to what comes after the last one.

    The first frame has the intervals of all columns open at once and picks after the last; others
    list the bounds of the column that is done, and forget its nodes.
    """
    frame = state.frames[top]
    if frame.column >= 0 and top > 0:
        list_nodes_of_column(plan, state, top, frame.column)
    frame.column += 1
    if frame.column == plan.columns:
        if top == 0:
            frame.phase = PICK
        else:
            close_frame(plan, state, top)
        return
    if top > 0:
        frame.nodes = frame.open = 0
        frame.used = frame.kept
        frame.phase = PICK
    start_column(plan, tables, state, top)


@inline
def work_off_intervals(plan, tables, state, top, limit):
    """Work off the open intervals, those of the first frame by their bounds: at depth 2 a cut is
    measured at once, above it is judged.

    limit : work at which it stops between two cuts.  The phase becomes JUDGE with a cut to judge,
        NEXT where no interval is left.
    """
    frame, now = state.frames[top], state.now[0]
    while frame.open > 0:
        if now.work >= limit:
            return
        base = frame.first_node
        chosen = last = base + frame.open - 1
        if top == 0:
            for k in range(base, last):
                if state.open[k].low < state.open[chosen].low:
                    chosen = np.int64(k)
            now.floor = min(state.open[chosen].low, frame.lb) + plan.price
        interval = state.open[chosen]
        i, j, low, hint = interval.a, interval.b, interval.low, interval.hint
        frame.open -= 1
        state.open[chosen] = state.open[last]
        if low >= frame.ub:
            frame.lb = min(frame.lb, low)
            continue
        a, b = state.nodes[i], state.nodes[j]
        cut = choose_cut(plan, tables, state, top, a, b, hint)
        if cut < 0:
            continue
        mass = weight_up_to(plan, tables, top, a.column, cut)
        frame.a, frame.b, frame.cut, frame.side, frame.massed = i, j, cut, 0, mass
        frame.given[0] = frame.given[1] = -1
        if mass == 0 or mass == frame.weight:  # with a margin, rows that weigh nothing are divided
            frame.low[0], frame.low[1] = frame.own, 0
            if mass == 0:
                frame.low[0], frame.low[1] = 0, frame.own
            add_cut(plan, tables, state, top)
            continue
        if plan.depth - top > 2:
            frame.low[0] = max(a.low_left, b.low_left - (b.mass - mass))
            frame.low[1] = max(b.low_right, a.low_right - (mass - a.mass))
            # so much more than needed is to be proven of a side that neighbours are often closed
            # with it
            frame.slack = min(frame.slack, frame.ub) >> (3 if plan.depth == 3 else 2)
            frame.phase = JUDGE
            return
        known = has_families(plan, tables, state, top)
        if known:
            frame.low[0] = bound_of_side(plan, tables, state, top, 0)
            frame.low[1] = bound_of_side(plan, tables, state, top, 1)
        if not known or frame.low[0] + frame.low[1] < frame.ub:
            measure_sides(plan, tables, state, top, a.column, cut, mass)
            frame.low[0], frame.low[1] = state.out[0], state.out[1]
            if known:
                remember_side(plan, tables, state, top, 0)
                remember_side(plan, tables, state, top, 1)
        add_cut(plan, tables, state, top)
    frame.phase = NEXT
    if top == 0:
        close_frame(plan, state, top)


@inner
def copy_heap(heap, to):
    """Copy the upper levels of a tree: (column, cut) in heap order, int64[places, 2]; ``to`` is as
    long.
    """
    for k in range(len(heap)):
        to[k, 0], to[k, 1] = heap[k, 0], heap[k, 1]


@inner
def solve_sides_of_cut(plan, tables, state, top):
    """Solve the sides of the frame's cut, the heavier first, as long as their bounds do not close
    it.

    ``frame.side`` counts the sides begun; where one was, what it returned is in ``now`` and
    ``state.best[top + 1]``.  Pushes a frame, or adds the cut and goes back to PICK.
    """
    frame, now = state.frames[top], state.now[0]
    i, j = frame.a, frame.b
    light_left = np.int64(2 * frame.massed < frame.weight)
    known = has_families(plan, tables, state, top)
    if frame.side > 0:
        side = light_left if frame.side == 1 else 1 - light_left
        frame.low[side], frame.given[side] = max(frame.low[side], now.value), now.given
        copy_heap(state.best[top + 1], state.sides[top, side])
        if known:
            remember_side(plan, tables, state, top, side)
    elif known:
        for side in range(2):
            found = bound_of_side(plan, tables, state, top, side)
            frame.low[side] = max(frame.low[side], found)
    if frame.side < 2 and frame.low[0] + frame.low[1] < frame.ub:
        side = light_left if frame.side == 0 else 1 - light_left
        frame.side += 1
        budget = frame.ub - frame.low[1 - side] + frame.slack
        push_side(plan, tables, state, top, state.nodes[i].column, frame.cut, 1 - side, budget)
        child = state.frames[top + 1]
        child.sub, child.super = lists_of_side(state, i, j, side)
        inherit_literals(plan, tables, state, top, side)
        if child.part >= 0 and plan.fine > 0:
            level, column = table_level(plan, top + 1), state.nodes[i].column
            near, far = (frame.cut, state.nodes[j].cut) if side else (state.nodes[i].cut, frame.cut)
            child.first_new = first_block_above(plan, tables, level, column, near)
            child.last_new = blocks_up_to(plan, tables, level, column, far)
        start_list(plan, state, top + 1)
        return
    frame.phase = PICK
    add_cut(plan, tables, state, top)


@inline
def lists_of_side(state, i, j, side):
    """Return the lists of a subset and of a superset of the rows on a side of a cut between two
    nodes.

    i, j : places of the nodes below and above.
    side : 0 left, 1 right.  Places in the frame's part of ``lists``, −1: none.
    """
    within, around = (j, i) if side else (i, j)
    return state.nodes[within].sub[side], state.nodes[around].super[side]


@inline
def add_cut(plan, tables, state, top):
    """Make the cut that was judged or measured a node between two new intervals.

    ``frame.a``, ``b``, ``cut``, ``massed``, ``low`` and ``given`` describe it.  A better sum of
    both sides becomes ``frame.least``, with its tree.
    """
    frame = state.frames[top]
    i, j = frame.a, frame.b
    column, found = state.nodes[i].column, frame.low[0] + frame.low[1]
    new = add_node(state, top, column, frame.cut, frame.massed, frame.low[0], frame.low[1])
    node = state.nodes[new]
    state.nodes[i].after, node.after = new, j
    for side in range(2):
        given = frame.given[side]
        lists = (given, given) if given >= 0 else lists_of_side(state, i, j, side)
        node.sub[side], node.super[side] = lists
    frame.lb = min(frame.lb, found)
    if found < frame.ub and found < frame.least:
        frame.least = found
        frame.ub = min(frame.ub, found + margin_of_frame(plan, top))
        join_trees(state, top, column, frame.cut)
    keep_interval(plan, tables, state, top, i, new, NOTHING)
    keep_interval(plan, tables, state, top, new, j, NOTHING)


@inner
def join_trees(state, top, column, cut):
    """Make the best tree of a frame of a cut and the trees of its sides, which are heaps of one
    level less.

    cut : a rank of ``column``.  ``state.sides[top]`` has both trees; ``state.best[top]`` is
        written.
    """
    best = state.best[top]
    for k in range(len(best)):
        best[k, 0] = -1
    best[0, 0], best[0, 1] = column, cut
    # level by level: ``width`` places of each side's heap, from ``first`` on, lie side by side one
    # level lower in the tree's
    width, first = 1, 0
    while 2 * first + 1 + 2 * width <= len(best):
        for side in range(2):
            for k in range(width):
                at = 2 * first + 1 + side * width + k
                best[at, 0] = state.sides[top, side, first + k, 0]
                best[at, 1] = state.sides[top, side, first + k, 1]
        first, width = 2 * first + 1, 2 * width
