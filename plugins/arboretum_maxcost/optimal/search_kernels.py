"""The least loss of a subtable at a budget: depth first over tests, with a memory of facts and
bounds from admissible impurities.

The question put to a subtable G is: what is the least loss E(G, b) over trees whose every path
costs at most b, if it is at most ``limit``?  The answer is an upper bound with its test, a lower
bound, or both; each holds for more budgets than the one asked, and is kept with them.  A test is
given up where the parts' lower bounds add up to more than is wanted::

    while a question (G, b, limit) is on top:
        if G is not opened: best ← loss of a leaf
            give up all tests if the conflict sets say so; list the tests of price ≤ b that divide
            G; give up what the lemma or the memory refutes; sort the others by rank
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

Conflict sets.  F may also look at objects: the number of rivals of one object x (objects of other
classes) is monotone and supermodular, with any weights, and so is it when x is left out.  With
rivals of which no two are divided from x by the same test, weighted by the cheapest test that
divides each, no test lowers F by more than its price: the path of x costs at least F.  Where errors
are counted, conflict sets that are too dear for the budget hold an error each, and disjoint
conflict sets add up.

Invariants:

- Budgets, prices and losses are whole numbers of int64; EVER is above all of them.
- ``least_loss`` and ``reach`` of a frame are minima over the tests given up so far: each of them
  loses at least ``least_loss`` at any budget up to ``reach``.  ``best`` is the loss of a leaf or of
  a tree that is kept as a fact.
- The rows of the topmost frame end at ``state.rows``.  The tests of a frame are the places first …
  first + count − 1, in the order in which they are tried; the last place of all is spare.
- ``mark`` and ``used`` count only where they equal the last stamp.  ``order`` is scratch of the
  lemma: places of the frame's tests, the first ``placed`` by price/Δ.
- The ``tally`` is 0 in every bin between two features.
- Each turn first sees that there is room for one more frame, subtable, copy of the rows, list of
  all tests and one, and as many facts and two; ``slots`` is at most half full.  The caller
  enlarges.

Where nothing else is said, task is a Task of :mod:`.parts` and stacks are Stacks, both written;
frame is a record of FRAME, first the place of its first test on the stack.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
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
    EVER,
    LOWER,
    add_part,
    add_row_to_part,
    bounds_of_test,
    clear_parts,
    fill_parts,
    impurity_bound,
    keep_fact,
    mass_times_gini,
    subtract_part,
    write_leaf_loss,
)

STATE = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("nodes", "facts"),  # subtables and facts known
            *("frames", "rows", "tests"),  # on the stacks
            "opened",  # subtables opened (again)
            "stamp",  # the last one
        )
    ]
)
FRAME = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("low", "high"),  # its rows are rows[low:high]
            "node",  # its subtable
            *("first", "count"),  # its tests; count −1 before it is opened
            "current",  # of its tests the one that is being weighed
            *("left", "limit"),  # the budget and the limit of the question
            *("least_loss", "reach"),  # of the tests given up, and up to which budget it holds
            "best",  # the least loss found
        )
    ]
)
LISTED = np.dtype(
    [
        ("test", np.int64),
        ("feature", np.int64),
        ("floor", np.int64),  # least loss, and up to which budget it holds
        ("reach", np.int64),
        ("top", np.float64),  # largest F of a part
        ("drop", np.float64),  # Δ, by which it lowers F
        ("rank", np.float64),
    ]
)
BY_BIN = np.int64(-1)
ROUNDING = 1e-9
"""Relative, of values of F: sums of differences of them are wrong by less."""


class Stacks(NamedTuple):
    """state : STATE[1], frames : FRAME[·], rows : int32[·], tests : LISTED[·]."""

    state: np.ndarray
    frames: np.ndarray
    rows: np.ndarray
    tests: np.ndarray


@inline
def give_up_test(frame, loss, reach):
    """Give up a test of a frame: it loses at least ``loss`` at any budget up to ``reach``.

    frame : FRAME, whose ``least_loss`` and ``reach`` fall to that.
    """
    frame.least_loss = min(frame.least_loss, loss)
    frame.reach = min(frame.reach, reach)


@inner
def push_test(task, frame, f, index, n_parts, whole, alpha, stacks):
    """Bound a test whose parts are the first ``n_parts`` of the ``chosen`` slots, and push it on
    the stack of tests; one that costs more than the frame has left is given up at once.

    f, index : its feature, and its number there.
    whole : F of the frame's rows.
    alpha : mass that a class keeps of hinged pairs.
    A better tree than the frame's best becomes ``frame.best``, and is kept as a fact.
    """
    parts, state = task.parts, stacks.state[0]
    number = task.table.features[f].first_test + index
    price = task.table.price[number]
    if price > frame.left:
        give_up_test(frame, EVER, price - 1)
        return
    top, mixed = 0.0, 0.0
    for k in range(n_parts):
        slot = parts.chosen[k].slot
        write_leaf_loss(task, slot)
        top = max(top, impurity_bound(task, slot, alpha))
        mixed += mass_times_gini(parts, slot)
    needed = min(frame.limit + 1, frame.best)
    lower, reach, upper, cost, _unsolved, _ = bounds_of_test(
        task, n_parts, frame.left - price, needed
    )
    listed = stacks.tests[state.tests]
    listed.test, listed.feature, listed.top, listed.rank = number, f, top, mixed
    listed.floor, listed.reach = lower, min(EVER, price + reach)
    if task.setting.without_error:
        listed.rank = price / (whole - top) if whole > top else np.inf
    state.tests += 1
    if upper < frame.best:
        frame.best = upper
        keep_fact(task.memory, frame.node, price + cost, upper, number, stacks.state)


@inner
def push_tests(task, frame, all_of_it, whole, alpha, stacks):
    """Push all tests that divide the rows of a frame; of those that divide alike, the cheapest.

    all_of_it : slot of the subtable, filled.
    whole, alpha : as of ``push_test``.
    All slots of bins are empty before and after; the two behind them are overwritten.
    """
    table, parts = task.table, task.parts
    touched, chosen, run = parts.touched, parts.chosen, all_of_it - 2
    for f in range(table.codes.shape[0]):
        seen = fill_parts(table, f, BY_BIN, stacks.rows, frame.low, frame.high, parts)
        family, first = table.features[f].family, table.features[f].first_test
        if seen > 1 and family == MULTIWAY:
            for k in range(seen):
                chosen[k].slot = touched[k]
            push_test(task, frame, f, 0, seen, whole, alpha, stacks)
        elif seen > 1:
            ordered = family == THRESHOLDS
            sort_few(touched, seen)
            parts.after[seen] = NOBODY
            for k in range(seen - 1, -1, -1):
                parts.after[k] = union(parts.after[k + 1], parts.sets[touched[k]].who)
            before = np.int64(NOBODY)
            for k in range(seen - 1 if ordered else 1 if seen == 2 else seen):
                inside = touched[k]
                if ordered:
                    add_part(parts, run, inside, k == 0)
                    inside = run
                others = parts.after[k + 1] if ordered else union(before, parts.after[k + 1])
                subtract_part(parts, run + 1, all_of_it, inside, others)
                before = union(before, parts.sets[touched[k]].who)
                chosen[0].slot, chosen[1].slot = inside, run + 1
                index = touched[k]
                if ordered:
                    index = cheapest(table.price, first, touched[k], touched[k + 1])
                elif seen == 2 and table.price[first + touched[1]] < table.price[first + index]:
                    index = touched[1]
                push_test(task, frame, f, index, 2, whole, alpha, stacks)
        clear_parts(parts, seen)


@inner
def sort_one_more_by_ratio(task, first, n_tests, place, stacks):
    """Swap the test of least price/Δ among places ``place`` … n_tests − 1 of ``task.order`` to
    ``place``; of equal ones that of greatest Δ.

    first : where the frame's tests begin on the stack; ``order`` counts from there.
    """
    order, price, best = task.order, task.table.price, place
    for q in range(place + 1, n_tests):
        one, other = stacks.tests[first + order[q]], stacks.tests[first + order[best]]
        one_ratio, other_ratio = price[one.test] * other.drop, price[other.test] * one.drop
        if one_ratio < other_ratio or (one_ratio == other_ratio and one.drop > other.drop):
            best = q
    order[place], order[best] = order[best], order[place]


@inner
def knapsack_cover_price(task, first, n_tests, required, without, budget, placed, stacks):
    """Return (least price of tests that lower F by ``required`` together, in the fractional
    relaxation; how many places of ``task.order`` are sorted now).

    first, n_tests : the frame's tests on the stack.
    without : a test (its place on the stack less ``first``) that is left out; −1: none.
    budget : a price above it is not exact, only above it.
    placed : how many places of ``order`` are sorted already.
    EVER: all tests together do not lower F so far.
    """
    path_cost = 0.0
    if required <= 0.0:
        return np.int64(0), placed
    for k in range(n_tests):
        if k >= placed:
            sort_one_more_by_ratio(task, first, n_tests, k, stacks)
            placed = k + 1
        t = task.order[k]
        if t == without:
            continue
        lowers = stacks.tests[first + t].drop
        price = np.float64(task.table.price[stacks.tests[first + t].test])
        if lowers >= required:
            return np.int64(
                np.ceil((path_cost + price * required / lowers) * (1.0 - 1e-12) - ROUNDING)
            ), placed
        if lowers <= 0.0:
            break
        required -= lowers
        path_cost += price
        if path_cost >= budget:
            return np.int64(path_cost) + (1 if price > 0.0 else 0), placed
    return EVER, placed


@inner
def give_up_unaffordable_tests(task, frame, whole, needed, stacks):
    """Give up the tests that the frame cannot afford, by the lemma of the module: the drops of F
    that are still needed cost more than is left.  Returns True when that is every test.

    whole : F of the frame's rows; needed : the loss that a test given up has at least.
    Writes ``drop`` of the frame's tests, and one step ahead their ``floor`` and ``reach``;
    overwrites ``task.order``.
    """
    first, n, setting = frame.first, stacks.state[0].tests - frame.first, task.setting
    for k in range(n):
        task.order[k] = k
        listed = stacks.tests[first + k]
        listed.drop = max(0.0, whole - listed.top)
    allowed = setting.most * (1.0 + ROUNDING) if setting.without_error else 0.0
    slack, nothing = ROUNDING * whole, np.int64(-1)
    required = whole - slack - allowed
    dear, placed = knapsack_cover_price(task, first, n, required, nothing, frame.left, 0, stacks)
    if dear > frame.left:
        give_up_test(frame, needed, dear - 1)
        return True
    for k in range(n if setting.ahead else 0):
        listed = stacks.tests[first + k]
        if listed.floor < needed:
            price = task.table.price[listed.test]
            required, left = listed.top - slack - allowed, frame.left - price
            dear, placed = knapsack_cover_price(
                task, first, n, required, np.int64(k), left, placed, stacks
            )
            if dear > left:
                listed.floor, listed.reach = needed, min(EVER, price + dear) - 1
    return False


@inner
def bound_by_conflict_sets(task, frame, needed, stacks):
    """Bound the loss of a subtable by its conflict sets; give all its tests up and return True when
    it is ``needed`` or more.

    frame : its rows and budget (``left``) are read.
    Stamps ``task.mark`` and ``task.used`` anew.
    """
    table, rows, mark, used = task.table, stacks.rows, task.mark, task.used
    stacks.state[0].stamp += 1
    stamp, counting = stacks.state[0].stamp, not task.setting.without_error
    lost, reach = np.int64(0), EVER
    for k in range(frame.low, frame.high):
        mark[rows[k]] = stamp
        lost += table.rows[rows[k]].equivalent_loss if counting else 0
    longest = np.int64(0)
    for k in range(frame.low, frame.high):
        x = rows[k]
        if used[x] == stamp:
            continue
        # the price of x's rivals in this subtable, so far as it must be known
        total, end = np.int64(0), table.conflict[x]
        while end < table.conflict[x + 1] and (total <= frame.left or not counting):
            y = table.conflict_row[end]
            if mark[y] == stamp and used[y] != stamp:
                total += table.conflict_price[end]
            end += 1
        if not counting:
            longest = max(longest, total)
        elif total > frame.left:
            # x and these rivals have an error at least, the lightest of them; each object counts
            # in one conflict set only, so that errors add up
            lightest = table.rows[x].mass
            used[x] = stamp
            for at in range(table.conflict[x], end):
                y = table.conflict_row[at]
                if mark[y] == stamp and used[y] != stamp:
                    used[y] = stamp
                    lightest = min(lightest, table.rows[y].mass)
            # the bound holds for budgets below the cheapest of the sets that were too dear
            lost, reach = lost + lightest, min(reach, total - 1)
            if lost >= needed:
                break
    if not counting and longest > frame.left:
        # without errors one conflict set that is too dear says that there is no tree
        lost, reach = np.int64(1), longest - 1
    if lost < needed:
        return False
    give_up_test(frame, needed, reach)
    return True


@inner
def open_subtable(task, frame, stacks):
    """List the tests of a subtable that may answer the question put to it, the most promising
    first.

    frame : FRAME, ``count`` −1 before; its tests are the last of the stack behind it.  None is
        listed where bounds give all up.
    """
    parts, state, setting, tests = task.parts, stacks.state[0], task.setting, stacks.tests
    first = state.tests
    frame.first, frame.count, frame.current = first, 0, 0
    frame.least_loss = frame.reach = EVER
    all_of_it = np.int64(len(parts.sets) - 1)
    parts.sets[all_of_it].tally = 0
    for k in range(frame.low, frame.high):
        add_row_to_part(task.table, stacks.rows[k], all_of_it, parts)
    write_leaf_loss(task, all_of_it)
    frame.best = parts.sets[all_of_it].loss
    needed = min(frame.limit + 1, frame.best)
    if setting.conflicts and bound_by_conflict_sets(task, frame, needed, stacks):
        return
    alpha = np.int64(0) if setting.without_error else needed - 1
    whole = impurity_bound(task, all_of_it, alpha)
    push_tests(task, frame, all_of_it, whole, alpha, stacks)
    needed = min(frame.limit + 1, frame.best)
    if setting.lemma and give_up_unaffordable_tests(task, frame, whole, needed, stacks):
        state.tests = first
        return
    before = np.int64(-1)  # the test that was best with less to spend
    at = task.memory.head[frame.node]
    while at >= 0:
        fact = task.memory.facts[at]
        if fact.test != LOWER:
            before = fact.test
        at = fact.next
    end = first
    for q in range(first, state.tests):
        floor, rank = tests[q].floor, tests[q].rank
        if floor >= needed:
            give_up_test(frame, needed, tests[q].reach)
            continue
        if tests[q].test == before:
            rank = tests[q].rank = -1.0
        k = end
        tests[len(tests) - 1] = tests[q]
        while k > first and (
            tests[k - 1].rank > rank or (tests[k - 1].rank == rank and tests[k - 1].floor > floor)
        ):
            tests[k] = tests[k - 1]
            k -= 1
        tests[k] = tests[len(tests) - 1]
        end += 1
    frame.count, state.tests = end - first, end


@jit(borrow=True)
def answer_questions(task, limit, stacks):
    """Answer the questions on the stacks: until none is left (FINISHED), an array is full
    (NEED_ROOM) or ``limit`` row visits (PAUSED).

    task : Task, with a memory.
    stacks : Stacks, written.  Another call goes on where this one stopped.
    """
    table, parts, memory = task.table, task.parts, task.memory
    frames, rows, tests = stacks.frames, stacks.rows, stacks.tests
    state, done = stacks.state[0], 0
    while state.frames > 0:
        d = state.frames - 1
        frame = frames[d]
        a, b, node = frame.low, frame.high, frame.node
        if (
            state.rows + b - a > len(rows)
            or d + 2 > len(frames)
            or state.nodes + 1 > len(memory.head)
            or 2 * (state.nodes + 1) > len(memory.slots)
            or state.tests + len(table.price) + 1 > len(tests)
            or state.facts + len(table.price) + 2 > len(memory.facts)
        ):
            return NEED_ROOM
        if frame.count < 0:
            open_subtable(task, frame, stacks)
            state.opened += 1
            done += (b - a) * len(table.features)
        if done > limit:
            return PAUSED
        needed = min(frame.limit + 1, frame.best)
        if frame.current == frame.count or needed == 0:
            if frame.current == frame.count:
                loss = min(frame.least_loss, frame.best)
                keep_fact(memory, node, frame.reach, loss, LOWER, stacks.state)
            state.frames -= 1
            state.rows, state.tests = a, frame.first
            continue
        listed = tests[frame.first + frame.current]
        if listed.floor >= needed:
            give_up_test(frame, needed, listed.reach)
            frame.current += 1
            continue
        f, price = listed.feature, table.price[listed.test]
        feature = table.features[f]
        index = listed.test - feature.first_test
        by = BY_BIN if feature.family == MULTIWAY else index
        m = fill_parts(table, f, by, rows, a, b, parts)
        for k in range(m):
            parts.chosen[k].slot = parts.touched[k]
            write_leaf_loss(task, parts.touched[k])
        clear_parts(parts, m)
        done += b - a
        left = frame.left - price
        lower, up_to, upper, cost, slot, slot_low = bounds_of_test(task, m, left, needed)
        if upper < frame.best:
            frame.best = upper
            needed = min(frame.limit + 1, upper)
            keep_fact(memory, node, price + cost, upper, listed.test, stacks.state)
        if lower >= needed or slot < 0:
            give_up_test(frame, min(lower, needed), min(EVER, price + up_to))
            frame.current += 1
            continue
        part, fresh = parts.sets[slot], state.nodes
        child = find_or_enter(memory.slots, part.one, part.two, fresh)
        if child == fresh:
            memory.head[child] = -1
            state.nodes += 1
        begin = state.rows
        state.rows = take_rows(table.codes[f], feature.family, index, slot, rows, a, b, begin)
        below = frames[d + 1]
        below.low, below.high, below.node, below.count = begin, state.rows, child, -1
        below.left, below.limit = left, needed - 1 - (lower - slot_low)
        state.frames += 1
    return FINISHED


@jit(borrow=True)
def bound_loss_of_table(task, budget, needed, stacks):
    """Return (errors that no tree within ``budget`` avoids, next budget worth a look), by the
    conflict sets of a whole table.

    needed : errors that are bounded, at most.
    stacks : ``rows`` has all rows; frame 0 is overwritten, so that no question may be open.
    """
    frame = stacks.frames[0]
    frame.low, frame.high, frame.left, frame.least_loss = 0, len(task.mark), budget, EVER
    low, up, reach = np.int64(0), needed, EVER
    while low < up:  # the largest loss that is refuted
        middle = (low + up + 1) // 2
        frame.reach = EVER
        if bound_by_conflict_sets(task, frame, middle, stacks):
            low, reach = middle, frame.reach
        else:
            up = middle - 1
    return low, reach
