"""Branch and bound over subtables: an AND/OR graph is searched depth first, with a memory of
bounds.

A subtable is known by its fingerprint; of each that was ever visited a lower and an upper bound of
the least ψ are kept, and the test that gave the upper one.  Its objects are kept only while it lies
on the path that is being searched: each frame of that path has its rows on a stack of rows, and its
tests with a lower bound ("floor") each,

    floor(test) = F(mass, price, lower bounds of the parts),

from what is known of the parts, or else from their class weights (``lower_bound_of_part``).  The
least floor is a lower bound of the subtable, and F of the parts' upper bounds is an upper bound.  A
subtable is visited with a *budget* and left when its bounds meet or the lower one is above the
budget::

    while a frame (rows of Θ, tests of Θ, budget) is on top:
        if Θ is not opened: list its tests and their floors (with width > 0 keep the best of them);
            up(Θ) ← min(up(Θ), least F of upper bounds)
        else if a test is being searched: bound its parts anew; raise its floor, lower up(Θ);
            part ← of the parts whose bounds are apart, that of greatest lower bound
        low(Θ) ← max(low(Θ), least floor)
        if low(Θ) meets up(Θ), or low(Θ) > budget: leave Θ; next turn
        t ← the test of least floor, or with width > 0 the first kept one that may still be better
        if t is being searched and a part is open: push the part, its budget being
            min(budget, up(Θ), and with width = 0 about the second least floor)
            less the cost of the node (and, for sums, the lower bounds of the other parts)
        else: t is the one that is being searched

There are two ways to search:

- width = 0: the test of least floor first, with the second least floor (a little more, so that the
  same parts are not opened over and over) as the budget.  Only what must be refuted is searched:
  the lower bound of the root grows fastest.
- width > 0: only that many tests of each subtable, those of best rank, each to the end within what
  the best tree known so far leaves.  The lower bounds are then no bounds of the problem, and lie in
  an array of their own (the caller passes it as ``low``, and the other as ``other``); trees are
  trees.

Invariants:

- Node numbers are 0 … state.nodes − 1, the root is 0.  ``up`` only falls; it is ∞ and ``best`` is
  −1 until some tree of the subtable is known.
- The rows of a frame are a subset of those of the frame below it, and end at ``state.rows`` for the
  topmost one.  Its tests are the places first … first + count − 1; the last place of all is spare.
  ``rank`` is written only where a heuristic ranks; kept tests lie in its order.
- The ``tally`` of a part is 0 in every bin between two features; its other fields are stale then.
- Nothing is written in a turn before there is room for one more frame, subtable, copy of the rows
  and list of all tests and one, and ``slots`` is at most half full.  So the kernel can be left and
  entered again at any step; the caller owns the arrays and enlarges them when the kernel says so.
  With ``unwind`` nothing is pushed, and no room is needed.

Where nothing else is said, task is a Task and stacks are Stacks, both written, form is a ClosedForm
and setting a Setting; f is a feature, low and high bound rows of ``stacks.rows``.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import find, find_or_enter
from arboretum.kernels.solving.rows import INSIDE, MULTIWAY, take_rows
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_decision_tables.exact.bound_kernels import (
    WORST_PAIRS,
    Literals,
    Setting,
    bound_ahead,
    fill_literals,
    heuristic_impurity,
    lower_bound_of_part,
    new_literals,
)
from arboretum_decision_tables.exact.parts import (
    BY_BIN,
    ClosedForm,
    Parts,
    Table,
    clear_parts,
    fill_parts,
    list_tests,
    n_classes,
    new_parts,
    part_is_leaf,
)

STATE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "nodes",  # subtables known
            *("frames", "rows", "tests"),  # on the stacks
            "visits",  # subtables opened (again)
        )
    ]
)
FRAME = np.dtype(
    [
        ("low", np.int64),  # its rows are rows[low:high]
        ("high", np.int64),
        ("node", np.int64),  # its subtable
        ("first", np.int64),  # its tests
        ("count", np.int64),  # −1 before it is opened
        ("current", np.int64),  # of its tests the one that is being searched; −1 before
        ("budget", np.float64),
    ]
)
LISTED = np.dtype(
    [
        ("test", np.int64),
        ("feature", np.int64),
        ("floor", np.float64),
        ("rank", np.float64),
    ]
)


class Memory(NamedTuple):
    """What is kept of every subtable that was visited.

    slots : uint64[2^k, 2].
    low, up : float64[nodes].
    other : float64[nodes], the lower bounds of the other way of searching, which new subtables
        enter, too.
    best : int64[nodes].
    wide : bool[nodes], was opened with width 0.
    """

    slots: np.ndarray
    low: np.ndarray
    other: np.ndarray
    up: np.ndarray
    best: np.ndarray
    wide: np.ndarray


class Stacks(NamedTuple):
    """The path that is being searched.

    state : STATE[1].
    frames : FRAME[·].
    rows : int32[·].
    tests : LISTED[·], of the frames.
    """

    state: np.ndarray
    frames: np.ndarray
    rows: np.ndarray
    tests: np.ndarray


class Task(NamedTuple):
    """What is minimised, by whom, and memory for the subtable that is looked at.

    heuristic : what ranks tests, −1 for none.
    heap : float64[classes].
    parts : of the tests of a feature.
    room : its literals.
    """

    table: Table
    form: ClosedForm
    setting: Setting
    memory: Memory
    heuristic: int
    heap: np.ndarray
    parts: Parts
    room: Literals


def new_task(table: Table, form: ClosedForm, setting: Setting) -> Task:
    """Return the task but for the memory of subtables and the heuristic, which every slice sets."""
    classes, rows = n_classes(table), len(table.rows)
    room = new_literals(table, 64 * ((rows + 63) // 64) if setting.ahead else 0, classes)
    return Task(
        table=table,
        form=form,
        setting=setting,
        memory=None,
        heuristic=-1,
        heap=np.zeros(classes),
        parts=new_parts(table, class_weights=True),
        room=room,
    )


@inline
def own_cost(form, mass, price):
    """Return what an inner node adds to its branches: (per_node + per_mass · mass) · price, without
    the price where the form is not priced.
    """
    own = form.per_node + form.per_mass * mass
    return own * price if form.priced else own


@inline
def combine_branches(form, one, other):
    """Return what two branches cost together: the larger, or the sum, as the form says."""
    return max(one, other) if form.largest else one + other


@inline
def bounds_of_part(task, slot, leaf, literal, ahead):
    """Return (lower, upper) bound of ψ of a part; ∞ where no tree is known.

    slot : of the part, filled in.
    leaf : whether the leaf rule makes a leaf of it.
    literal : its number among those of ``ahead``; −1: do not look ahead.
    """
    form, memory, part = task.form, task.memory, task.parts.sets[slot]
    mass = part.mass
    if leaf:
        return form.leaf, form.leaf
    # any test that divides two objects makes two leaves
    if part.tally == 2 and not form.priced:
        both = own_cost(form, mass, 1.0) + combine_branches(form, form.leaf, form.leaf)
        return both, both
    node = find(memory.slots, part.one, part.two)
    known, upper = np.float64(0.0), np.inf
    if node >= 0:
        known, upper = memory.low[node], memory.up[node]
        # what is to be seen from here was seen when it was opened
        if known >= upper or memory.wide[node]:
            return known, upper
    class_weight = task.parts.class_weight[slot]
    by_classes = lower_bound_of_part(
        mass, class_weight, part.alone, part.spread, form, task.setting, task.heap
    )
    known = max(known, by_classes)
    if literal >= 0:
        known = max(known, bound_ahead(literal, mass, known, task.table, form, task.setting, ahead))
    return known, upper


@inner
def bounds_of_test(task, f, t, seen, mass, low, high, rows, ahead):
    """Return (floor, upper bound, sum or maximum of the parts' heuristic impurity, 0 without a
    heuristic) of a test.

    f : its feature, whose bins are filled in.
    t : its entry of ``parts.tests``, not read of a multiway feature.
    seen : outcomes of a multiway test that occur.
    mass : of the rows rows[low:high] that it divides.
    ahead : their literals; none are looked at where its ``words`` is 0.
    """
    table, form, heuristic, parts = task.table, task.form, task.heuristic, task.parts
    multiway = table.features[f].family == MULTIWAY
    index = INSIDE if multiway else parts.tests[t].index
    least = greatest = form.leaf if form.largest else 0.0
    mixed = 0.0
    for k in range(seen if multiway else 2):
        slot = parts.touched[k] if multiway else parts.tests[t].slots[k]
        outcome = slot if multiway else np.int64(k)
        leaf = part_is_leaf(table, parts, slot, rows, low, high, f, index, outcome)
        literal = np.int64(-1)
        if ahead.words > 0 and not leaf:
            literal = ahead.base[f] + (outcome if multiway else 2 * index + outcome)
        a, b = bounds_of_part(task, slot, leaf, literal, ahead)
        least, greatest = combine_branches(form, least, a), combine_branches(form, greatest, b)
        if heuristic >= 0:
            part = parts.sets[slot]
            d = (
                0.0
                if leaf
                else heuristic_impurity(parts.class_weight[slot], part.spread, part.mass, heuristic)
            )
            mixed = max(mixed, d) if heuristic >= WORST_PAIRS else mixed + d
    own = own_cost(form, mass, table.price[table.features[f].first_test + index])
    return own + least, own + greatest, mixed


@inner
def open_subtable(task, mass, whole, low, high, ahead, at, stacks):
    """List all tests that divide rows[low:high] on the stack of tests, from ``at`` on; returns
    (end, least upper bound, its test or −1).

    mass : of the rows; whole : their heuristic impurity, 0 without a heuristic.
    ahead : their literals, ``words`` 0 where nothing is looked ahead.
    """
    table, parts, rows = task.table, task.parts, stacks.rows
    best, best_test = np.inf, np.int64(-1)
    for f in range(table.codes.shape[0]):
        seen = fill_parts(table, f, BY_BIN, rows, low, high, parts)
        feature = table.features[f]
        multiway, first = feature.family == MULTIWAY, feature.first_test
        for t in range(0 if seen < 2 else 1 if multiway else list_tests(table, f, seen, parts)):
            floor, upper, mixed = bounds_of_test(task, f, t, seen, mass, low, high, rows, ahead)
            number = first if multiway else first + parts.tests[t].index
            listed = stacks.tests[at]
            listed.test, listed.feature, listed.floor = number, f, floor
            if task.heuristic >= 0:
                gain, price = whole - mixed, table.price[number]
                listed.rank = (
                    -gain if not task.form.priced else (-gain / price if price > 0.0 else -np.inf)
                )
            at += 1
            if upper < best:
                best, best_test = upper, number
        clear_parts(parts, seen)
    return at, best, best_test


@inner
def keep_best_tests(first, end, width, stacks):
    """Keep the ``width`` tests of least rank among places first … end − 1 of the stack (ties to the
    first), in that order; returns the new end.

    The last place of the stack is overwritten.
    """
    tests, spare = stacks.tests, len(stacks.tests) - 1
    kept = min(width, end - first)
    for k in range(first, first + kept):
        best = k
        for q in range(k + 1, end):
            one, other = tests[q], tests[best]
            if one.rank < other.rank or (one.rank == other.rank and one.test < other.test):
                best = q
        tests[spare] = tests[k]
        tests[k] = tests[best]
        tests[best] = tests[spare]
    return first + kept


@jit(borrow=True)
def search_subtables(task, width, unwind, limit, stacks):
    """Search until the root is left (FINISHED), an array is full (NEED_ROOM) or ``limit`` row
    visits (PAUSED).

    task : Task, with memory and heuristic.
    width : tests per subtable; 0: all, by their floors.
    unwind : open nothing any more, take what is known up to the root; then limit and room do not
        count.
    stacks : Stacks, written; another call goes on where this one stopped.
    """
    table = task.table
    form = task.form
    setting = task.setting
    heuristic = task.heuristic
    parts = task.parts
    state, frames, rows, tests = stacks.state[0], stacks.frames, stacks.rows, stacks.tests
    slots, low, _, up, best, wide = task.memory
    nowhere = task.room
    base, bits, same, kind, row_weight, _ = nowhere
    done = 0
    while state.frames > 0:
        d = state.frames - 1
        frame = frames[d]
        a, b, node = frame.low, frame.high, frame.node
        if not unwind and (
            state.rows + b - a > rows.shape[0]
            or d + 2 > frames.shape[0]
            or state.nodes + 1 > low.shape[0]
            or 2 * (state.nodes + 1) > slots.shape[0]
            or state.tests + len(table.price) + 1 > tests.shape[0]
        ):
            return NEED_ROOM
        if done > limit and not unwind:
            return PAUSED
        part = np.int64(-1)
        part_low = 0.0
        part_one = np.uint64(0)
        part_two = np.uint64(0)
        others = 0.0
        mass = 0.0
        for k in range(a, b):
            mass += table.rows[rows[k]].weight
        if frame.count < 0:
            if unwind:
                pop_frame(state, frame)
                continue
            whole = 0.0
            if heuristic >= 0:
                whole = heuristic_impurity_of_rows(rows, a, b, table, mass, heuristic, parts.vector)
            looks = setting.ahead and width == 0 and b - a > 3
            words = fill_literals(table, rows, a, b, nowhere) if looks else 0
            ahead = Literals(base, bits, same, kind, row_weight, words)
            frame.first = state.tests
            end, found, found_test = open_subtable(
                task, mass, whole, a, b, ahead, frame.first, stacks
            )
            if found < up[node]:
                up[node], best[node] = found, found_test
            if width > 0:
                end = keep_best_tests(frame.first, end, width, stacks)
            wide[node] |= width == 0
            frame.count, state.tests = end - frame.first, end
            state.visits += 1
            done += (b - a) * len(table.features)
        elif frame.current >= 0:
            listed = tests[frame.first + frame.current]
            f, feature = listed.feature, table.features[listed.feature]
            index = listed.test - feature.first_test
            by = BY_BIN if feature.family == MULTIWAY else index
            seen = fill_parts(table, f, by, rows, a, b, parts)
            done += b - a
            own = own_cost(form, mass, table.price[listed.test])
            least = greatest = form.leaf if form.largest else 0.0
            for k in range(seen):
                c = parts.touched[k]
                leaf = part_is_leaf(table, parts, c, rows, a, b, f, index, c)
                x, y = bounds_of_part(task, c, leaf, -1, nowhere)
                least, greatest = (
                    combine_branches(form, least, x),
                    combine_branches(form, greatest, y),
                )
                if x < y and (part < 0 or x > part_low):
                    part, part_low, part_one, part_two = c, x, parts.sets[c].one, parts.sets[c].two
            clear_parts(parts, seen)
            listed.floor = max(listed.floor, own + least)
            others = own if form.largest else own + least - part_low
            if own + greatest < up[node]:
                up[node], best[node] = own + greatest, listed.test
        first, end = frame.first, frame.first + frame.count
        chosen, second = first, np.inf
        for q in range(first + 1, end):
            if tests[q].floor < tests[chosen].floor:
                second, chosen = tests[chosen].floor, q
            else:
                second = min(second, tests[q].floor)
        low[node] = max(low[node], tests[chosen].floor)
        if low[node] >= up[node] * (1.0 - setting.slack):
            low[node] = up[node]
            pop_frame(state, frame)
            continue
        if low[node] > frame.budget or unwind:
            pop_frame(state, frame)
            continue
        until = min(frame.budget, up[node])
        if width > 0:
            for q in range(first, end):  # kept tests lie in the order of their rank
                if tests[q].floor <= until and tests[q].floor < up[node] * (1.0 - setting.slack):
                    chosen = q
                    break
        else:
            until = min(until, max(second, tests[chosen].floor * (1.0 + setting.ease)))
        if chosen - first != frame.current or part < 0:
            frame.current = chosen - first
            continue
        f = tests[chosen].feature
        push_part(
            table,
            f,
            tests[chosen].test - table.features[f].first_test,
            part,
            (part_one, part_two),
            part_low,
            until - others,
            stacks,
            task.memory,
        )
    return FINISHED


@inline
def pop_frame(state, frame):
    """Take the topmost frame off the stacks; its rows lie on top, as do its tests."""
    state.frames -= 1
    state.rows, state.tests = frame.low, frame.first


@inner
def heuristic_impurity_of_rows(rows, low, high, table, mass, heuristic, totals):
    """Return how mixed rows[low:high] are, as ``heuristic_impurity`` of ``bound_kernels``.

    mass : of the rows; heuristic : not −1.
    totals : float64[classes], overwritten.
    """
    totals[:] = 0.0
    spread = 0.0
    for k in range(low, high):
        row = table.rows[rows[k]]
        if row.group >= 0:
            totals[row.group] += row.weight
        elif row.weight > 0.0:
            spread += row.weight * np.log2(row.weight)
    return heuristic_impurity(totals, spread, mass, heuristic)


@inner
def push_part(table, f, index, outcome, words, least, allowed, stacks, memory):
    """Put one part of the topmost subtable on the stacks, and in the memory if it is new there with
    its bound ``least``.

    f, index, outcome : feature, test and outcome that lead to it.
    words : its fingerprint, two uint64.
    allowed : its budget, at least ``least``.
    """
    state, rows = stacks.state[0], stacks.rows
    frame, below = stacks.frames[state.frames - 1], stacks.frames[state.frames]
    fresh = state.nodes
    child = find_or_enter(memory.slots, words[0], words[1], fresh)
    if child == fresh:
        memory.low[child] = least
        memory.other[child] = least
        memory.up[child] = np.inf
        memory.best[child] = -1
        memory.wide[child] = False
        state.nodes += 1
    begin, family = state.rows, table.features[f].family
    column, a, b = table.codes[f], frame.low, frame.high
    top = take_rows(column, family, index, outcome, rows, a, b, begin)
    below.low, below.high, below.node, below.first = begin, top, child, state.tests
    below.count, below.current, below.budget = -1, -1, max(least, allowed)
    state.rows = top
    state.frames += 1
