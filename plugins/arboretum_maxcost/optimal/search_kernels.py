"""The least loss of a subtable at a budget: depth first over tests, with a memory of facts and
bounds from admissible impurities.

The question put to a subtable G is: what is the least loss E(G, b) over trees whose every path
costs at most b, if it is at most ``limit``?  The answer is an upper bound with its test, a lower
bound, or both; each holds for more budgets than the one asked, and is kept with them.  A test is
given up where the parts' lower bounds add up to more than is wanted::

    while a question (G, b, limit) is on top:
        if G is not opened: best ← loss of a leaf
            give up all tests if the stars say so; list the tests of price ≤ b that divide G;
            give up what the lemma or the memory refutes; sort the others by rank
        needed ← min(limit + 1, best)
        no test is left: keep "E(G, reach) ≥ min(least loss given up, best)"; pop; next turn
        needed = 0: pop; next turn
        t ← the test at hand; if its floor ≥ needed: give it up; next turn
        weigh its parts at the budget b − c(t)
        upper < best: best ← upper, and keep it as a fact with t
        lower ≥ needed, or no part is open: give t up
        else push (the open part of most error, b − c(t), needed − 1 − lower bounds of the others)

The lemma (Nan, Wang & Saligrama, Lemma 2.1 and 4.1, made stronger).  F is monotone and supermodular
as a function of sets of objects, and at most ``most`` in a leaf.  Let Δ_t = F(G) − max_i F(G_i).
Walk down a tree of G, always to the part of largest F. A test t that is asked at H ⊆ G there lowers
F by at most F(H) − F(H ∩ G_i), i being the largest part of *G*; and this is at most F(G) − F(G_i) =
Δ_t: what an object adds to F is no less in the larger set, so what leaving out the objects outside
of G_i takes away is no less, too.  No test divides twice, so the path is a set of different tests
with Σ Δ_t ≥ F(G) − most, and costs at least as much as the cheapest such set: a knapsack cover, of
which the fractional relaxation is taken (sort by price/Δ_t; it is exact for equal prices after
rounding up).  The lemma itself is the first term of it.  One step ahead: below t the walk starts in
G_i of largest F, and its tests lower F by at most the same Δ_s, s ≠ t.

Where errors are counted, F is that of hinged pairs with α = the errors allowed: it is 0 in every
leaf with no more errors than α (Lemma 4.5), hence the bound says which losses a budget cannot
reach.

Stars.  F may also look at objects: the number of rivals of one object x (objects of other classes)
is monotone and supermodular, with any weights, and so is it when x is left out.  With rivals of
which no two are divided from x by the same test, weighted by the cheapest test that divides each,
no test lowers F by more than its price: the path of x costs at least F.  Where errors are counted,
stars that are too dear for the budget hold an error each, and disjoint stars add up.

Invariants:

- Budgets, prices and losses are whole numbers of int64; EVER is above all of them.
- LEAST_LOSS and REACH of a frame are minima over the tests given up so far: each of them loses at
  least LEAST_LOSS at any budget up to REACH.  BEST is the loss of a leaf or of a tree that is kept
  as a fact.
- The rows of a frame are ``rows[LOW:HIGH]``; they end at ``state[ROWS]`` for the topmost one.  Its
  tests are the places FIRST … FIRST + COUNT − 1, in the order in which they are tried; COUNT is −1
  before it is opened.  ``top`` does not move with them and is stale once a subtable is open.
- ``mark`` and ``used`` count only where they equal the last stamp.  ``order`` and ``drop`` are
  scratch of the lemma: places of the frame's tests, the first ``placed`` by price/Δ.
- ``parts.tally`` is 0 in every bin between two features.
- Each turn first sees that there is room for one more frame, subtable, copy of the rows, list of
  all tests and as many facts and two; ``slots`` is at most half full.  The caller enlarges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.fingerprints import find_or_enter
from arboretum.kernels.solving.rows import (
    MULTIWAY,
    NOBODY,
    THRESHOLDS,
    cheapest,
    sort_few,
    take_rows,
    union,
)
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_maxcost.optimal.parts import (
    AHEAD,
    EVER,
    LEMMA,
    LOWER,
    MOST,
    NEXT,
    STARS,
    TEST,
    WITHOUT_ERROR,
    add_row,
    append_part,
    clear_parts,
    fill_parts,
    keep_fact,
    known_of,
    potential,
    settle,
    unevenness,
    weigh_parts,
    without_part,
)

NODES, FACTS, FRAMES, ROWS, TESTS, OPENED, STAMP = range(7)
"""Places in ``state``: subtables and facts known; frames, rows and tests on the stacks;
subtables opened (again); the last stamp.
"""
LOW, HIGH, NODE, FIRST, COUNT, CURRENT, LEFT, LIMIT, LEAST_LOSS, REACH, BEST = range(11)
"""Columns of ``frames``: its rows, its subtable, its tests (COUNT −1 before it is opened) and the
one that is being weighed, the budget and the limit of the question; the least loss of the tests
that were given up, up to which budget that holds, and the least found.
"""
BY_BIN = np.int64(-1)
ROUNDING = 1e-9
"""Relative, of values of F: sums of differences of them are wrong by less."""


class Stacks(NamedTuple):
    """state : int64[7].

    frames : int64[·, 11].
    rows : int32[·].   Per test: test, floor, reach : int64[·], top (largest F of a part), rank :
        float64[·].
    """

    state: np.ndarray
    frames: np.ndarray
    rows: np.ndarray
    test: np.ndarray
    floor: np.ndarray
    reach: np.ndarray
    top: np.ndarray
    rank: np.ndarray


@jit(inline=True, borrow=True)
def give_up(frame, loss, reach):
    """A test loses at least so much at any budget up to that."""
    frame[LEAST_LOSS] = min(frame[LEAST_LOSS], loss)
    frame[REACH] = min(frame[REACH], reach)


@jit(inner=True, borrow=True)
def list_test(task, frame, number, m, whole, alpha, stacks):
    """Weigh a test whose parts are in the ``chosen`` slots and put it on the stack."""
    parts, state = task.parts, stacks.state
    price = task.table.price[number]
    if price > frame[LEFT]:
        give_up(frame, EVER, price - 1)
        return
    top, mixed = 0.0, 0.0
    for k in range(m):
        slot = parts.chosen[k]
        settle(task, slot)
        top = max(top, potential(task, slot, alpha))
        mixed += unevenness(parts, slot)
    needed = min(frame[LIMIT] + 1, frame[BEST])
    lower, reach, upper, cost, _unsolved, _ = weigh_parts(task, m, frame[LEFT] - price, needed)
    at = state[TESTS]
    stacks.test[at], stacks.floor[at], stacks.reach[at], stacks.top[at] = (
        number,
        lower,
        min(EVER, price + reach),
        top,
    )
    if task.setting[WITHOUT_ERROR] > 0.0:
        stacks.rank[at] = price / (whole - top) if whole > top else np.inf
    else:
        stacks.rank[at] = mixed
    state[TESTS] += 1
    if upper < frame[BEST]:
        frame[BEST] = upper
        state[FACTS] = keep_fact(
            task.memory, frame[NODE], price + cost, upper, number, state[FACTS]
        )


@jit(inner=True, borrow=True)
def list_tests(task, frame, all_of_it, whole, alpha, stacks):
    """List all tests that divide the rows of a frame.   all_of_it : slot of the subtable."""
    table, parts = task.table, task.parts
    touched, chosen, run = parts.touched, parts.chosen, all_of_it - 2
    for f in range(table.codes.shape[0]):
        seen = fill_parts(table, f, BY_BIN, stacks.rows, frame[LOW], frame[HIGH], parts)
        first = table.first_test[f]
        if seen > 1 and table.family[f] == MULTIWAY:
            for k in range(seen):
                chosen[k] = touched[k]
            list_test(task, frame, first, seen, whole, alpha, stacks)
        elif seen > 1:
            ordered = table.family[f] == THRESHOLDS
            sort_few(touched, seen)
            parts.after[seen] = NOBODY
            for k in range(seen - 1, -1, -1):
                parts.after[k] = union(parts.after[k + 1], parts.who[touched[k]])
            before = np.int64(NOBODY)
            for k in range(seen - 1 if ordered else 1 if seen == 2 else seen):
                inside = touched[k]
                if ordered:
                    append_part(parts, run, inside, k == 0)
                    inside = run
                others = parts.after[k + 1] if ordered else union(before, parts.after[k + 1])
                without_part(parts, run + 1, all_of_it, inside, others)
                before = union(before, parts.who[touched[k]])
                chosen[0], chosen[1] = inside, run + 1
                index = touched[k]
                if ordered:
                    index = cheapest(table.price, first, touched[k], touched[k + 1])
                elif seen == 2 and table.price[first + touched[1]] < table.price[first + index]:
                    index = touched[1]
                list_test(task, frame, first + index, 2, whole, alpha, stacks)
        clear_parts(parts, seen)


@jit(inner=True, borrow=True)
def sort_further(task, first, n, place, stacks):
    """Bring the test of least price/Δ among the places from ``place`` on there."""
    order, drop, price = task.order, task.drop, task.table.price
    best = place
    for q in range(place + 1, n):
        a, b = order[q], order[best]
        x, y = price[stacks.test[first + a]] * drop[b], price[stacks.test[first + b]] * drop[a]
        if x < y or (x == y and drop[a] > drop[b]):
            best = q
    order[place], order[best] = order[best], order[place]


@jit(inner=True, borrow=True)
def cover(task, first, n, required, without, budget, placed, stacks):
    """(least price of tests that lower F by so much together, how many are in order now); more than
    ``budget`` is not told exactly.

    placed : how many places of ``order`` are sorted.
    without : a test (its place on the stack less ``first``) that is left out.
    """
    spent = 0.0
    if required <= 0.0:
        return np.int64(0), placed
    for k in range(n):
        if k >= placed:
            sort_further(task, first, n, k, stacks)
            placed = k + 1
        t = task.order[k]
        if t == without:
            continue
        lowers, price = task.drop[t], np.float64(task.table.price[stacks.test[first + t]])
        if lowers >= required:
            return np.int64(
                np.ceil((spent + price * required / lowers) * (1.0 - 1e-12) - ROUNDING)
            ), placed
        if lowers <= 0.0:
            break
        required -= lowers
        spent += price
        if spent >= budget:
            return np.int64(spent) + (1 if price > 0.0 else 0), placed
    return EVER, placed


@jit(inner=True, borrow=True)
def use_lemma(task, frame, whole, needed, stacks):
    """Give up what the drops of F say cannot be afforded; True when that is every test."""
    first, n, setting = frame[FIRST], stacks.state[TESTS] - frame[FIRST], task.setting
    for k in range(n):
        task.order[k] = k
        task.drop[k] = max(0.0, whole - stacks.top[first + k])
    allowed = setting[MOST] * (1.0 + ROUNDING) if setting[WITHOUT_ERROR] > 0.0 else 0.0
    slack = ROUNDING * whole
    dear, placed = cover(
        task, first, n, whole - slack - allowed, np.int64(-1), frame[LEFT], np.int64(0), stacks
    )
    if dear > frame[LEFT]:
        give_up(frame, needed, dear - 1)
        return True
    if setting[AHEAD] > 0.0:
        for k in range(n):
            at = first + k
            if stacks.floor[at] < needed:
                price = task.table.price[stacks.test[at]]
                dear, placed = cover(
                    task,
                    first,
                    n,
                    stacks.top[at] - slack - allowed,
                    k,
                    frame[LEFT] - price,
                    placed,
                    stacks,
                )
                if price + dear > frame[LEFT]:
                    stacks.floor[at], stacks.reach[at] = needed, min(EVER, price + dear) - 1
    return False


@jit(inner=True, borrow=True)
def count_stars(task, frame, needed, stacks):
    """Bound the loss of a subtable by its stars; True when it is ``needed`` or more."""
    table, state, rows, mark, used = task.table, stacks.state, stacks.rows, task.mark, task.used
    state[STAMP] += 1
    stamp, counting = state[STAMP], task.setting[WITHOUT_ERROR] == 0.0
    lost, reach = np.int64(0), EVER
    for k in range(frame[LOW], frame[HIGH]):
        mark[rows[k]] = stamp
        lost += table.sure[rows[k]] if counting else 0
    longest = np.int64(0)
    for k in range(frame[LOW], frame[HIGH]):
        x = rows[k]
        if used[x] == stamp:
            continue
        total, end = np.int64(0), table.star[x]
        while end < table.star[x + 1] and (total <= frame[LEFT] or not counting):
            y = table.star_row[end]
            if mark[y] == stamp and used[y] != stamp:
                total += table.star_price[end]
            end += 1
        if not counting:
            longest = max(longest, total)
        elif total > frame[LEFT]:
            lightest = table.mass[x]
            used[x] = stamp
            for at in range(table.star[x], end):
                y = table.star_row[at]
                if mark[y] == stamp and used[y] != stamp:
                    used[y] = stamp
                    lightest = min(lightest, table.mass[y])
            lost, reach = lost + lightest, min(reach, total - 1)
            if lost >= needed:
                break
    if not counting and longest > frame[LEFT]:
        lost, reach = np.int64(1), longest - 1
    if lost < needed:
        return False
    give_up(frame, needed, reach)
    return True


@jit(inner=True, borrow=True)
def open_subtable(task, frame, stacks):
    """List the tests of a subtable that may answer the question put to it, the most promising
    first.
    """
    table, parts, state, setting = task.table, task.parts, stacks.state, task.setting
    first = state[TESTS]
    frame[FIRST], frame[COUNT], frame[CURRENT], frame[LEAST_LOSS], frame[REACH] = (
        first,
        0,
        0,
        EVER,
        EVER,
    )
    all_of_it = np.int64(len(parts.tally) - 1)
    parts.tally[all_of_it] = 0
    for k in range(frame[LOW], frame[HIGH]):
        add_row(table, stacks.rows[k], all_of_it, parts)
    settle(task, all_of_it)
    frame[BEST] = parts.loss[all_of_it]
    needed = min(frame[LIMIT] + 1, frame[BEST])
    if setting[STARS] > 0.0 and count_stars(task, frame, needed, stacks):
        return
    alpha = np.int64(0) if setting[WITHOUT_ERROR] > 0.0 else needed - 1
    whole = potential(task, all_of_it, alpha)
    list_tests(task, frame, all_of_it, whole, alpha, stacks)
    needed = min(frame[LIMIT] + 1, frame[BEST])
    if setting[LEMMA] > 0.0 and use_lemma(task, frame, whole, needed, stacks):
        state[TESTS] = first
        return
    before = np.int64(-1)  # the test that was best with less to spend
    at = task.memory.head[frame[NODE]]
    while at >= 0:
        if task.memory.facts[at, TEST] != LOWER:
            before = task.memory.facts[at, TEST]
        at = task.memory.facts[at, NEXT]
    end = first
    for q in range(first, state[TESTS]):
        if stacks.floor[q] >= needed:
            give_up(frame, needed, stacks.reach[q])
            continue
        test, floor, reach, rank = stacks.test[q], stacks.floor[q], stacks.reach[q], stacks.rank[q]
        if test == before:
            rank = -1.0
        k = end
        while k > first and (
            stacks.rank[k - 1] > rank
            or (stacks.rank[k - 1] == rank and stacks.floor[k - 1] > floor)
        ):
            stacks.test[k], stacks.floor[k] = stacks.test[k - 1], stacks.floor[k - 1]
            stacks.reach[k], stacks.rank[k] = stacks.reach[k - 1], stacks.rank[k - 1]
            k -= 1
        stacks.test[k], stacks.floor[k], stacks.reach[k], stacks.rank[k] = test, floor, reach, rank
        end += 1
    frame[COUNT], state[TESTS] = end - first, end


@jit
def search_budgets(task, limit, stacks):
    """Answer the questions on the stacks: until none is left (FINISHED), an array is full
    (NEED_ROOM) or ``limit`` row visits (PAUSED).
    """
    table, parts, memory = task.table, task.parts, task.memory
    state, frames, rows, test, floor, reach, _, _ = stacks
    done = 0
    while state[FRAMES] > 0:
        d = state[FRAMES] - 1
        frame = frames[d]
        a, b, node = frame[LOW], frame[HIGH], frame[NODE]
        if (
            state[ROWS] + b - a > len(rows)
            or d + 2 > len(frames)
            or state[NODES] + 1 > len(memory.head)
            or 2 * (state[NODES] + 1) > len(memory.slots)
            or state[TESTS] + len(table.price) > len(test)
            or state[FACTS] + len(table.price) + 2 > len(memory.facts)
        ):
            return NEED_ROOM
        if done > limit:
            return PAUSED
        if frame[COUNT] < 0:
            open_subtable(task, frame, stacks)
            state[OPENED] += 1
            done += (b - a) * len(table.n_bins)
        needed = min(frame[LIMIT] + 1, frame[BEST])
        at = frame[FIRST] + frame[CURRENT]
        if frame[CURRENT] == frame[COUNT] or needed == 0:
            if frame[CURRENT] == frame[COUNT]:
                state[FACTS] = keep_fact(
                    memory,
                    node,
                    frame[REACH],
                    min(frame[LEAST_LOSS], frame[BEST]),
                    LOWER,
                    state[FACTS],
                )
            state[FRAMES] -= 1
            state[ROWS], state[TESTS] = a, frame[FIRST]
            continue
        if floor[at] >= needed:
            give_up(frame, needed, reach[at])
            frame[CURRENT] += 1
            continue
        f = np.searchsorted(table.first_test, test[at], side="right") - 1
        index, price = test[at] - table.first_test[f], table.price[test[at]]
        m = fill_parts(
            table, f, BY_BIN if table.family[f] == MULTIWAY else index, rows, a, b, parts
        )
        for k in range(m):
            parts.chosen[k] = parts.touched[k]
            settle(task, parts.chosen[k])
        clear_parts(parts, m)
        done += b - a
        left = frame[LEFT] - price
        lower, up_to, upper, cost, slot, slot_low = weigh_parts(task, m, left, needed)
        if upper < frame[BEST]:
            frame[BEST] = upper
            needed = min(frame[LIMIT] + 1, upper)
            state[FACTS] = keep_fact(memory, node, price + cost, upper, test[at], state[FACTS])
        if lower >= needed or slot < 0:
            give_up(frame, min(lower, needed), min(EVER, price + up_to))
            frame[CURRENT] += 1
            continue
        fresh = state[NODES]
        child = find_or_enter(memory.slots, parts.one[slot], parts.two[slot], fresh)
        if child == fresh:
            memory.head[child] = -1
            state[NODES] += 1
        begin = state[ROWS]
        state[ROWS] = take_rows(table.codes[f], table.family[f], index, slot, rows, a, b, begin)
        below = frames[d + 1]
        below[LOW], below[HIGH], below[NODE], below[COUNT] = begin, state[ROWS], child, -1
        below[LEFT], below[LIMIT] = left, needed - 1 - (lower - slot_low)
        state[FRAMES] += 1
    return FINISHED


@jit
def first_choice(task, low, high, node, left, stacks):
    """The most promising test of rows[low:high] that is affordable, or −1.

    node : their number in the memory.
    """
    stacks.state[TESTS] = 0
    frame = stacks.frames[0]
    frame[LOW], frame[HIGH], frame[NODE], frame[LEFT], frame[LIMIT] = low, high, node, left, EVER
    open_subtable(task, frame, stacks)
    stacks.state[TESTS] = 0
    return stacks.test[0] if frame[COUNT] > 0 else np.int64(-1)


@jit
def keep_found(memory, node, budget, loss, test, state):
    """Keep that a tree was found."""
    state[FACTS] = keep_fact(memory, node, budget, loss, test, state[FACTS])


@jit
def bounds_of(memory, node, budget, sure, loss):
    """See ``known_of``."""
    return known_of(memory, node, budget, sure, loss)


@jit
def bound_loss(task, rows, budget, needed, stacks):
    """(errors that no tree of that price avoids, next budget worth a look), by the stars of a
    whole table; at most ``needed``.
    """
    frame = stacks.frames[0]
    stacks.rows[: len(rows)] = rows
    frame[LOW], frame[HIGH], frame[LEFT], frame[REACH], frame[LEAST_LOSS] = (
        0,
        len(rows),
        budget,
        EVER,
        EVER,
    )
    low, up = np.int64(0), needed
    while low < up:  # the largest loss that is refuted
        middle = (low + up + 1) // 2
        if count_stars(task, frame, middle, stacks):
            low = middle
        else:
            up = middle - 1
    frame[REACH] = EVER
    if low > 0:
        count_stars(task, frame, low, stacks)
    return low, frame[REACH]
