"""Branch and bound over subtables: an AND/OR graph is searched depth first, with a memory of
bounds.

A subtable is known by its fingerprint; of each that was ever visited a lower and an upper bound of
the least ψ are kept, and the test that gave the upper one.  Its objects are kept only while it lies
on the path that is being searched: each frame of that path has its rows on a stack of rows, and its
tests with a lower bound ("floor") each,

    floor(test) = F(mass, price, lower bounds of the parts),

from what is known of the parts, or else from their class weights (``part_bound``).  The least floor
is a lower bound of the subtable, and F of the parts' upper bounds is an upper bound.  A subtable is
visited with a *budget* and left when its bounds meet or the lower one is above the budget::

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

- Node numbers are 0 … NODES − 1, the root is 0.  ``up`` only falls; it is ∞ and ``best`` is −1
  until some tree of the subtable is known.
- The rows of a frame are ``rows[LOW:HIGH]``, a subset of those of the frame below it, and end at
  ``state[ROWS]`` for the topmost one.  Its tests are the places FIRST … FIRST + COUNT − 1 of
  ``test``, ``floor`` and ``rank``.  COUNT is −1 before it is opened, CURRENT −1 before a test is
  searched.  ``rank`` is written only where a heuristic ranks; kept tests lie in its order.
- ``parts.tally`` is 0 in every bin between two features; the other fields of a slot are stale then.
- Nothing is written in a turn before there is room for one more frame, subtable, copy of the rows
  and list of all tests, and ``slots`` is at most half full.  So the kernel can be left and entered
  again at any step; the caller owns the arrays and enlarges them when the kernel says so.  With
  ``unwind`` nothing is pushed, and no room is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.fingerprints import find, find_or_enter
from arboretum.kernels.solving.rows import INSIDE, MULTIWAY, take_rows
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_decision_tables.exact.bound_kernels import (
    AHEAD,
    EASE,
    SLACK,
    WORST_PAIRS,
    Literals,
    bound_ahead,
    disorder,
    fill_bits,
    in_use,
    new_literals,
    part_bound,
)
from arboretum_decision_tables.exact.parts import (
    BY_BIN,
    LEAF,
    MAX,
    PER_MASS,
    PER_NODE,
    PRICED,
    Parts,
    Table,
    clear_parts,
    fill_parts,
    list_tests,
    new_parts,
    part_is_leaf,
)

NODES, FRAMES, ROWS, TESTS, VISITS = range(5)
"""Places in ``state``: subtables known, frames, rows and tests on the stacks, subtables opened
(again) so far.
"""
LOW, HIGH, NODE, FIRST, COUNT, CURRENT = range(6)
"""Columns of ``frames``: its rows, its subtable, its tests, and the one that is being searched (all
but the first three −1 before it is opened).
"""


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

    state : int64[5].
    frames : int64[·, 6].
    budget : float64[·], per frame.
    rows : int32[·].
    test : int64[·], floor, rank : float64[·], per test of a frame.
    """

    state: np.ndarray
    frames: np.ndarray
    budget: np.ndarray
    rows: np.ndarray
    test: np.ndarray
    floor: np.ndarray
    rank: np.ndarray


class Task(NamedTuple):
    """What is minimised, by whom, and memory for the subtable that is looked at.

    form : float64[5], see parts.
    setting : float64[9], see bound_kernels.
    heuristic : what ranks tests, −1 for none.
    heap : float64[classes].
    parts : of the tests of a feature.
    room : its literals.
    """

    table: Table
    form: np.ndarray
    setting: np.ndarray
    memory: Memory
    heuristic: int
    heap: np.ndarray
    parts: Parts
    room: Literals


def task_of(table: Table, form: np.ndarray, setting: np.ndarray) -> Task:
    """The task but for the memory of subtables."""
    classes, rows = int(table.label.max()) + 1, len(table.label)
    room = new_literals(table, 64 * ((rows + 63) // 64) if setting[AHEAD] else 0, classes)
    return Task(
        table,
        form,
        setting,
        None,
        -1,
        np.zeros(classes),
        new_parts(table, class_weights=True),
        room,
    )


@jit(inline=True, borrow=True)
def own_cost(form, mass, price):
    """What an inner node adds to its branches: (per_node + per_mass · mass) · price.

    Without the price where the form is not priced.   form : float64[5].
    """
    own = form[PER_NODE] + form[PER_MASS] * mass
    return own * price if form[PRICED] else own


@jit(inline=True, borrow=True)
def combine(form, a, b):
    """What two branches cost together: the larger, or the sum, as the form says."""
    return max(a, b) if form[MAX] else a + b


@jit(inline=True, borrow=True)
def bounds_of_part(task, slot, leaf, literal, ahead):
    """(lower, upper) bound of ψ of a part, of which ``literal`` is the number (−1: do not look
    ahead).
    """
    form, memory, parts = task.form, task.memory, task.parts
    mass = parts.mass[slot]
    if leaf:
        return form[LEAF], form[LEAF]
    # any test that divides two objects makes two leaves
    if parts.tally[slot] == 2 and not form[PRICED]:
        both = own_cost(form, mass, 1.0) + combine(form, form[LEAF], form[LEAF])
        return both, both
    node = find(memory.slots, parts.one[slot], parts.two[slot])
    known, upper = np.float64(0.0), np.inf
    if node >= 0:
        known, upper = memory.low[node], memory.up[node]
        # what is to be seen from here was seen when it was opened
        if known >= upper or memory.wide[node]:
            return known, upper
    known = max(
        known,
        part_bound(
            mass,
            parts.heavy[slot],
            parts.alone[slot],
            parts.spread[slot],
            form,
            task.setting,
            task.heap,
        ),
    )
    if literal >= 0:
        known = max(known, bound_ahead(literal, mass, known, task.table, form, task.setting, ahead))
    return known, upper


@jit(inner=True, borrow=True)
def weigh_test(task, f, t, seen, mass, low, high, rows, ahead):
    """(floor, upper bound, disorder) of the test listed at ``t``, or of the multiway test, of
    which ``seen`` outcomes occur.
    """
    table, form, heuristic, parts = task.table, task.form, task.heuristic, task.parts
    multiway = table.family[f] == MULTIWAY
    index = INSIDE if multiway else parts.tests[t, 0]
    least = greatest = form[LEAF] if form[MAX] else 0.0
    mixed = 0.0
    for k in range(seen if multiway else 2):
        slot = parts.touched[k] if multiway else parts.tests[t, 1 + k]
        outcome = slot if multiway else np.int64(k)
        leaf = part_is_leaf(table, parts, slot, rows, low, high, f, index, outcome)
        literal = np.int64(-1)
        if ahead.words > 0 and not leaf:
            literal = ahead.base[f] + (outcome if multiway else 2 * index + outcome)
        a, b = bounds_of_part(task, slot, leaf, literal, ahead)
        least, greatest = combine(form, least, a), combine(form, greatest, b)
        if heuristic >= 0:
            d = (
                0.0
                if leaf
                else disorder(parts.heavy[slot], parts.spread[slot], parts.mass[slot], heuristic)
            )
            mixed = max(mixed, d) if heuristic >= WORST_PAIRS else mixed + d
    own = own_cost(form, mass, table.price[table.first_test[f] + index])
    return own + least, own + greatest, mixed


@jit(inner=True, borrow=True)
def open_subtable(task, mass, whole, low, high, ahead, at, stacks):
    """List all tests that divide the rows, from ``at`` on; returns (end, least upper bound, its
    test).
    """
    table, parts, rows = task.table, task.parts, stacks.rows
    best, best_test = np.inf, np.int64(-1)
    for f in range(table.codes.shape[0]):
        seen = fill_parts(table, f, BY_BIN, rows, low, high, parts)
        multiway, first = table.family[f] == MULTIWAY, table.first_test[f]
        for t in range(0 if seen < 2 else 1 if multiway else list_tests(table, f, seen, parts)):
            floor, upper, mixed = weigh_test(task, f, t, seen, mass, low, high, rows, ahead)
            number = first if multiway else first + parts.tests[t, 0]
            stacks.floor[at], stacks.test[at] = floor, number
            if task.heuristic >= 0:
                gain, price = whole - mixed, table.price[number]
                stacks.rank[at] = (
                    -gain if not task.form[PRICED] else (-gain / price if price > 0.0 else -np.inf)
                )
            at += 1
            if upper < best:
                best, best_test = upper, number
        clear_parts(parts, seen)
    return at, best, best_test


@jit(inner=True, borrow=True)
def keep_best(first, end, width, stacks):
    """Keep the ``width`` tests of least rank (ties to the first), in that order; returns the new
    end.
    """
    test, floor, rank = stacks.test, stacks.floor, stacks.rank
    kept = min(width, end - first)
    for k in range(first, first + kept):
        best = k
        for q in range(k + 1, end):
            if rank[q] < rank[best] or (rank[q] == rank[best] and test[q] < test[best]):
                best = q
        test[k], test[best] = test[best], test[k]
        floor[k], floor[best] = floor[best], floor[k]
        rank[k], rank[best] = rank[best], rank[k]
    return first + kept


@jit
def search_tests(task, width, unwind, limit, stacks):
    """Search until the root is left (FINISHED), an array is full (NEED_ROOM) or ``limit`` row
    visits (PAUSED).

    unwind : open nothing any more, take what is known up to the root.
    """
    table, form, setting, heuristic, parts = (
        task.table,
        task.form,
        task.setting,
        task.heuristic,
        task.parts,
    )
    family, first_test, price, weight, group = (
        table.family,
        table.first_test,
        table.price,
        table.weight,
        table.group,
    )
    state, frames, budget, rows, test, floor, _ = stacks
    slots, low, _, up, best, wide = task.memory
    nowhere = task.room
    done = 0
    while state[FRAMES] > 0:
        d = state[FRAMES] - 1
        frame = frames[d]
        a, b, node = frame[LOW], frame[HIGH], frame[NODE]
        if not unwind and (
            state[ROWS] + b - a > rows.shape[0]
            or d + 2 > frames.shape[0]
            or state[NODES] + 1 > low.shape[0]
            or 2 * (state[NODES] + 1) > slots.shape[0]
            or state[TESTS] + len(price) > test.shape[0]
        ):
            return NEED_ROOM
        if done > limit and not unwind:
            return PAUSED
        part, part_low, part_one, part_two, others = (
            np.int64(-1),
            0.0,
            np.uint64(0),
            np.uint64(0),
            0.0,
        )
        mass = 0.0
        for k in range(a, b):
            mass += weight[rows[k]]
        if frame[COUNT] < 0:
            if unwind:
                leave(state, frame)
                continue
            whole = (
                disorder_of(rows, a, b, group, weight, mass, heuristic, parts.vector)
                if heuristic >= 0
                else 0.0
            )
            looks = setting[AHEAD] > 0.0 and width == 0 and b - a > 3
            ahead = in_use(nowhere, fill_bits(table, rows, a, b, nowhere) if looks else 0)
            frame[FIRST] = state[TESTS]
            end, found, found_test = open_subtable(
                task, mass, whole, a, b, ahead, frame[FIRST], stacks
            )
            if found < up[node]:
                up[node], best[node] = found, found_test
            if width > 0:
                end = keep_best(frame[FIRST], end, width, stacks)
            wide[node] |= width == 0
            frame[COUNT], state[TESTS] = end - frame[FIRST], end
            state[VISITS] += 1
            done += (b - a) * len(family)
        elif frame[CURRENT] >= 0:
            at = frame[FIRST] + frame[CURRENT]
            f = np.searchsorted(first_test, test[at], side="right") - 1
            index = test[at] - first_test[f]
            seen = fill_parts(
                table, f, BY_BIN if family[f] == MULTIWAY else index, rows, a, b, parts
            )
            done += b - a
            own = own_cost(form, mass, price[test[at]])
            least = greatest = form[LEAF] if form[MAX] else 0.0
            for k in range(seen):
                c = parts.touched[k]
                leaf = part_is_leaf(table, parts, c, rows, a, b, f, index, c)
                x, y = bounds_of_part(task, c, leaf, np.int64(-1), nowhere)
                least, greatest = combine(form, least, x), combine(form, greatest, y)
                if x < y and (part < 0 or x > part_low):
                    part, part_low, part_one, part_two = c, x, parts.one[c], parts.two[c]
            clear_parts(parts, seen)
            floor[at] = max(floor[at], own + least)
            others = own if form[MAX] else own + least - part_low
            if own + greatest < up[node]:
                up[node], best[node] = own + greatest, test[at]
        first, end = frame[FIRST], frame[FIRST] + frame[COUNT]
        chosen, second = first, np.inf
        for q in range(first + 1, end):
            if floor[q] < floor[chosen]:
                second, chosen = floor[chosen], q
            else:
                second = min(second, floor[q])
        low[node] = max(low[node], floor[chosen])
        if low[node] >= up[node] * (1.0 - setting[SLACK]):
            low[node] = up[node]
            leave(state, frame)
            continue
        if low[node] > budget[d] or unwind:
            leave(state, frame)
            continue
        until = min(budget[d], up[node])
        if width > 0:
            for q in range(first, end):  # kept tests lie in the order of their rank
                if floor[q] <= until and floor[q] < up[node] * (1.0 - setting[SLACK]):
                    chosen = q
                    break
        else:
            until = min(until, max(second, floor[chosen] * (1.0 + setting[EASE])))
        if chosen - first != frame[CURRENT] or part < 0:
            frame[CURRENT] = chosen - first
            continue
        f = np.searchsorted(first_test, test[chosen], side="right") - 1
        push_part(
            table,
            f,
            test[chosen] - first_test[f],
            part,
            (part_one, part_two),
            part_low,
            until - others,
            stacks,
            task.memory,
        )
    return FINISHED


@jit(inline=True, borrow=True)
def leave(state, frame):
    """Take the topmost frame off the stacks; its rows lie on top, as do its tests."""
    state[FRAMES] -= 1
    state[ROWS], state[TESTS] = frame[LOW], frame[FIRST]


@jit(inner=True, borrow=True)
def disorder_of(rows, a, b, group, weight, mass, heuristic, totals):
    """How mixed the rows a … b − 1 are.   totals : scratch, float64[classes]."""
    totals[:] = 0.0
    spread = 0.0
    for k in range(a, b):
        r = rows[k]
        if group[r] >= 0:
            totals[group[r]] += weight[r]
        elif weight[r] > 0.0:
            spread += weight[r] * np.log2(weight[r])
    return disorder(totals, spread, mass, heuristic)


@jit(inner=True, borrow=True)
def push_part(table, f, index, outcome, words, least, allowed, stacks, memory):
    """Put one part of the topmost subtable on the stacks, and in the memory if it is new there
    with its bound ``least``.
    """
    state, frames, rows = stacks.state, stacks.frames, stacks.rows
    fresh, d = state[NODES], state[FRAMES] - 1
    child = find_or_enter(memory.slots, words[0], words[1], fresh)
    if child == fresh:
        memory.low[child], memory.other[child], memory.up[child], memory.best[child] = (
            least,
            least,
            np.inf,
            -1,
        )
        memory.wide[child] = False
        state[NODES] += 1
    begin = state[ROWS]
    top = take_rows(
        table.codes[f],
        table.family[f],
        index,
        outcome,
        rows,
        frames[d, LOW],
        frames[d, HIGH],
        begin,
    )
    frames[d + 1, LOW], frames[d + 1, HIGH], frames[d + 1, NODE] = begin, top, child
    frames[d + 1, FIRST], frames[d + 1, COUNT], frames[d + 1, CURRENT] = state[TESTS], -1, -1
    stacks.budget[d + 1] = max(least, allowed)
    state[ROWS], state[FRAMES] = top, d + 2
