"""Dynamic programming over subtables with a whole Pareto front for each: the search that
combines the lists of branches, test by test::

    while a frame (rows of G, tests left D, points, corners) is on top:
        no candidate is left: keep points and corners with G; pop; next turn
        t ← the candidate at hand
        if every tree that begins with t is at or above a point: skip t
        if D ≤ 0 and t is not the first candidate:
            corners ← corners ∪ what is known of t without its branches; skip t
        for every branch of t that holds rows:
            no tree errs less than a leaf there: it is a leaf
            else find its node; if that is not known for so many tests left: enter it; next turn
        points ← points ∪ (own cost of t + sums of one point per branch)
        corners ← corners ∪ (own cost of t + sums of one corner per branch)

In round D every test is tried on the first D levels; below them only the candidate that separates
most pairs of objects per price.  *Points* are trees.  *Corners* are bounds: no tree of the subtable
is below all of them.  They meet when nothing was left out.

Invariants:

- Points and corners are lists as :mod:`arboretum_maxcost.fronts.lists` says.  A frame begins
  with a leaf as its corner, and with the points that are known of its node, or else a leaf.  Sums
  with a leaf's error or more are left out.  TEST is −1 for a leaf and in a corner that was not
  summed up.
- The topmost frame's lists are ``ups[F_UP : state[UPS]]`` and ``lows[F_LOWER : state[LOWS]]``; its
  candidates are ``tests[F_TESTS:F_END]`` with ``score`` beside them, the best first, ties in the
  order of the table; its rows end at ``state[ROWS]``.
- ``kids`` from F_KIDS on are the branches of the candidate at hand that are found: a node, or
  −1 − error for a leaf.
- N_LEFT of a node is −EXACT before its lists are finished, EXACT where points and corners are the
  same or nothing was left out, else the number of tests left that they were found for.  Corners may
  share the place of the points in the pool.
- A finished list in ``pool`` is overwritten only by its own node's next one, if that is no longer;
  else the next one goes to the end, and the old place is lost.
- Row −3 of ``table`` is the weight of the rows that ``node_of`` and ``enter`` are about: whoever
  calls them has weighed them.  Row −1 is 0, all other rows are scratch of one feature.
- Room is asked for before a branch is taken.  Where a list grows too long, NEED_ROOM comes after
  part of the work; uniting twice changes nothing, so that the step is simply done again.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.fingerprints import find_or_enter
from arboretum.kernels.solving.rows import EQUALS, INSIDE, MULTIWAY, OUTSIDE, THRESHOLDS, take_rows
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_maxcost.fronts.lists import (
    COST,
    ERROR,
    FULL,
    LEAVES,
    NEVER,
    TEST,
    add,
    beaten,
    copy,
    unite,
)

FRAMES, ROWS, TESTS, KIDS, UPS, LOWS, POOL, NODES, VISITS, LONGEST, EFFORT = range(11)
"""Places of ``state``: lengths in use, how many subtables were opened, the longest list that was
kept, and sums made in this slice.
"""
(
    F_LOW,
    F_HIGH,
    F_NODE,
    F_LEFT,
    F_TESTS,
    F_END,
    F_AT,
    F_OUTCOME,
    F_KIDS,
    F_UP,
    F_LOWER,
    F_CUT,
    F_LEAF,
) = range(13)
"""Of a frame: its rows, node, tests left to ask below it; its candidates and the one at hand; the
outcome that is next, where the branches found so far stand; where its two lists begin; whether
something was left out; the error of a leaf.
"""
T_FEATURE, T_INDEX, T_OWN, T_LEAVES, T_ERROR, T_PLAIN, T_MORE = range(7)
"""Of a candidate: feature, index, what the node costs, how many branches; errors and cost if all
are leaves; the least cost where one is not.
"""
N_UP, N_UP_END, N_LOW, N_LOW_END, N_LEFT, N_LOSS = range(6)
"""Of a node: its points, its corners, for how many tests left they were found (EXACT: all), and
the error that no tree avoids.
"""
EXACT = np.int64(1) << 40


class Stacks(NamedTuple):
    """state : int64[11].

    frames, tests, kids, rows : stacks.
    score : float64, beside tests.
    ups, lows : lists under way.

    pool : finished lists.
    nodes : int64[., 6].
    slots : fingerprints.
    table : int64[most bins + 3, classes + 3], of a feature at a node, then of all rows, of the rows
        inside a test, and zeros.
    """

    state: np.ndarray
    frames: np.ndarray
    rows: np.ndarray
    tests: np.ndarray
    score: np.ndarray
    kids: np.ndarray
    ups: np.ndarray
    lows: np.ndarray
    pool: np.ndarray
    nodes: np.ndarray
    slots: np.ndarray
    table: np.ndarray


@jit(inline=True, borrow=True)
def add_row(table, r, to):
    """Add a row to class weights, then the weight that no tree gets right, the rows and the
    objects: int64[classes + 3].
    """
    k = table.n_classes
    to[table.label[r]] += table.mass[r]
    to[k] += table.sure[r]
    to[k + 1] += table.count[r]
    to[k + 2] += 1


@jit(inner=True, borrow=True)
def tally(table, rows, low, high, f, counts):
    """What rows[low:high] add up to in each bin of a feature."""
    codes = table.codes[f]
    counts[: table.n_bins[f], :] = 0
    for i in range(low, high):
        add_row(table, rows[i], counts[codes[rows[i]]])


@jit(inline=True, borrow=True)
def weigh(table, rows, low, high, whole):
    """The same of all of them together."""
    whole[:] = 0
    for i in range(low, high):
        add_row(table, rows[i], whole)


@jit(inner=True, borrow=True, wraps=True)
def node_of(table, stacks, low, high, depth):
    """The number of the subtable of rows[low:high], which are weighed; a new one where it is not
    known.

    depth : tells subtables apart that may ask another number of tests (0 where all may ask any).
    """
    state, rows = stacks.state, stacks.rows
    one, two = (
        np.uint64(depth) * np.uint64(0x9E3779B97F4A7C15),
        np.uint64(depth) * np.uint64(0xBF58476D1CE4E5B9),
    )
    for i in range(low, high):
        one, two = one + table.words[rows[i], 0], two + table.words[rows[i], 1]
    node = find_or_enter(stacks.slots, one, two, state[NODES])
    if node == state[NODES]:
        stacks.nodes[node, :] = 0
        stacks.nodes[node, N_LEFT], stacks.nodes[node, N_LOSS] = (
            -EXACT,
            stacks.table[len(stacks.table) - 3, table.n_classes],
        )
        state[NODES] += 1
    return node


@jit(inner=True, borrow=True)
def branch(one, other, sign, k):
    """(weight, heaviest class, Σ squares) of the class weights one + sign · other, with 0 for
    the loss, rows and objects.
    """
    mass, most, squares = np.int64(0), np.int64(0), 0.0
    for c in range(k):
        w = one[c] + sign * other[c]
        mass, most, squares = mass + w, max(most, w), squares + float(w) * float(w)
    return mass, most, squares


@jit(inner=True, borrow=True)
def candidates(table, form, stacks, low, high, whole, at):
    """Push the tests that divide rows[low:high], the best first, from ``at`` on; returns the end.

    whole : int64[classes + 3], of the rows.
    """
    k, counts, tests, top = table.n_classes, stacks.table, stacks.tests, at
    nothing = counts[len(counts) - 1]
    for f in range(len(table.family)):
        tally(table, stacks.rows, low, high, f, counts)
        bins, family = table.n_bins[f], table.family[f]
        held = np.int64(0)
        for b in range(bins):
            held += counts[b, k + 2] > 0
        if held < 2:
            continue
        inside, last = counts[len(counts) - 2], NEVER
        inside[:] = 0
        for index in range(1 if family == MULTIWAY else bins - 1 if family == THRESHOLDS else bins):
            price = table.price[table.first_test[f] + index]
            own, error, more, separated, kids, fits = (
                np.int64(0),
                np.int64(0),
                NEVER,
                0.0,
                np.int64(0),
                True,
            )
            for c in range(k + 3 if family != MULTIWAY else 0):
                inside[c] = counts[index, c] + (inside[c] if family == THRESHOLDS else 0)
            if family != MULTIWAY and (inside[k + 2] == 0 or inside[k + 2] == high - low):
                continue
            alike = (
                counts[index, k + 2] == 0
                if family == THRESHOLDS
                else family == EQUALS and held == 2
            )
            if alike and price >= last:  # it divides the rows as the one before
                continue
            for outcome in range(bins if family == MULTIWAY else 2):
                one, other, sign = (
                    (counts[outcome], nothing, 0)
                    if family == MULTIWAY
                    else (inside, nothing, 0)
                    if outcome == 0
                    else (whole, inside, -1)
                )
                if one[k + 2] + sign * other[k + 2] == 0:
                    continue
                mass, most, squares = branch(one, other, sign, k)
                kids += 1
                error += mass - most
                separated += float(mass) * float(mass) - squares
                fits = fits and one[k + 1] + sign * other[k + 1] >= form.min_leaf
                if mass - most > one[k] + sign * other[k]:
                    more = min(more, (form.per_node + form.per_mass * mass) * form.cheapest)
            if not fits:
                continue
            mass, most, squares = branch(whole, nothing, 0, k)
            own = (form.per_node + form.per_mass * mass) * price
            gain = float(mass) * float(mass) - squares - separated
            score = gain / float(price) if price > 0 else np.inf
            all_leaves = own + (form.leaf if form.largest else kids * form.leaf)
            if more < NEVER:
                more = own + more if form.largest else all_leaves + form.leaf + more
            j, last = top, price
            # insertion, ties in the order of the table
            while j > at and stacks.score[j - 1] < score:
                stacks.score[j] = stacks.score[j - 1]
                copy(tests, j - 1, j, tests, j)
                j -= 1
            stacks.score[j] = score
            tests[j, T_FEATURE], tests[j, T_INDEX], tests[j, T_OWN] = f, index, own
            tests[j, T_LEAVES], tests[j, T_ERROR], tests[j, T_PLAIN], tests[j, T_MORE] = (
                kids,
                error,
                all_leaves,
                more,
            )
            top += 1
    return top


@jit(inner=True, borrow=True)
def put(a, at, error, cost, leaves, test):
    """Write the point (error, cost, leaves, test) into row ``at`` of a list."""
    a[at, ERROR], a[at, COST], a[at, LEAVES], a[at, TEST] = error, cost, leaves, test


@jit(inner=True, borrow=True)
def enter(table, form, stacks, low, high, node, left):
    """Open a frame for rows[low:high], which are weighed, and which more than one leaf could
    serve better.
    """
    state, k, whole = stacks.state, table.n_classes, stacks.table[len(stacks.table) - 3]
    mass, most, _ = branch(whole, whole, 0, k)
    at, frame = state[TESTS], stacks.frames[state[FRAMES]]
    end = at
    if left != form.stop and whole[k + 1] >= form.min_split and mass > form.light:
        end = candidates(table, form, stacks, low, high, whole, at)
    (
        frame[F_LOW],
        frame[F_HIGH],
        frame[F_NODE],
        frame[F_LEFT],
        frame[F_TESTS],
        frame[F_END],
        frame[F_AT],
    ) = low, high, node, left, at, end, at
    frame[F_OUTCOME], frame[F_KIDS], frame[F_UP], frame[F_LOWER], frame[F_CUT] = (
        0,
        state[KIDS],
        state[UPS],
        state[LOWS],
        0,
    )
    frame[F_LEAF] = mass - most
    put(stacks.lows, state[LOWS], mass - most, form.leaf, form.counts, np.int64(-1))
    first, last = stacks.nodes[node, N_UP], stacks.nodes[node, N_UP_END]
    if first == last:
        put(stacks.ups, state[UPS], mass - most, form.leaf, form.counts, np.int64(-1))
        last = first + 1
    else:  # trees known from an earlier visit
        copy(stacks.pool, first, last, stacks.ups, state[UPS])
    state[UPS] += last - first
    state[LOWS] += 1
    state[TESTS] = end
    state[ROWS] = high
    state[FRAMES] += 1
    state[VISITS] += 1


@jit(inner=True, borrow=True)
def fold(frame, test, stacks, form, upper, buffers):
    """The sums of the branches' points (corners, unless ``upper``) with the node's own cost, in
    ``buffers.one``; its length, or FULL.
    """
    put(buffers.one, 0, np.int64(0), np.int64(0), np.int64(0), np.int64(-1))
    n, cap = np.int64(1), frame[F_LEAF]
    for at in range(frame[F_KIDS], stacks.state[KIDS]):
        kid, low, high = stacks.kids[at], np.int64(0), np.int64(1)
        if kid < 0:  # a leaf, of error −1 − kid
            put(buffers.three, 0, -1 - kid, form.leaf, form.counts, np.int64(-1))
            n = add(
                buffers.one,
                np.int64(0),
                n,
                buffers.three,
                np.int64(0),
                np.int64(1),
                cap,
                form,
                buffers,
                buffers.two,
            )
        else:
            low, high = (
                (stacks.nodes[kid, N_UP], stacks.nodes[kid, N_UP_END])
                if upper
                else (stacks.nodes[kid, N_LOW], stacks.nodes[kid, N_LOW_END])
            )
            n = add(
                buffers.one, np.int64(0), n, stacks.pool, low, high, cap, form, buffers, buffers.two
            )
        stacks.state[EFFORT] += n * (high - low)
        if n <= 0:  # FULL, or all are worse than a leaf
            return n
        copy(buffers.two, 0, n, buffers.one, 0)
    for k in range(n):
        buffers.one[k, COST] += stacks.tests[frame[F_AT], T_OWN]
        buffers.one[k, TEST] = test
    return n


@jit(inner=True, borrow=True)
def include(lists, low, high, n, buffers):
    """Unite lists[low:high] with ``buffers.one[:n]`` in place; returns its end, or FULL."""
    n = unite(lists, low, high, buffers.one, np.int64(0), n, buffers, buffers.two)
    if n == FULL or low + n > len(lists):
        return FULL
    copy(buffers.two, 0, n, lists, low)
    return low + n


@jit(inner=True, borrow=True)
def combine(frame, test, stacks, form, buffers):
    """All branches of the candidate at hand are known: take its sums into the frame's lists.
    Returns False where there is no room.
    """
    state, exact = stacks.state, True
    for at in range(frame[F_KIDS], state[KIDS]):
        exact = exact and (stacks.kids[at] < 0 or stacks.nodes[stacks.kids[at], N_LEFT] == EXACT)
    n = fold(frame, test, stacks, form, True, buffers)
    if n == FULL:
        return False
    up = include(stacks.ups, frame[F_UP], state[UPS], n, buffers)
    if up == FULL:
        return False
    state[UPS] = up  # taken in twice, points stay what they are: the rest may be done again
    if not exact:
        n = fold(frame, test, stacks, form, False, buffers)
        if n == FULL:
            return False
    low = include(stacks.lows, frame[F_LOWER], state[LOWS], n, buffers)
    if low == FULL:
        return False
    state[LOWS] = low
    if not exact:
        frame[F_CUT] = 1
    return True


@jit(inner=True, borrow=True)
def needless(frame, stacks, form):
    """Whether every tree that begins with the candidate at hand is at or above a point of the
    frame.
    """
    ups, top, test = stacks.ups, stacks.state[UPS], stacks.tests[frame[F_AT]]
    leaves, loss = test[T_LEAVES] * form.counts, stacks.nodes[frame[F_NODE], N_LOSS]
    if not beaten(ups, frame[F_UP], top, test[T_ERROR], test[T_PLAIN], leaves):
        return False
    return test[T_MORE] == NEVER or beaten(
        ups, frame[F_UP], top, loss, test[T_MORE], leaves + form.counts
    )


@jit(inner=True, borrow=True)
def guess(frame, stacks, form, buffers):
    """Take what is known of the candidate at hand without its branches into the frame's corners.
    Returns False where there is no room.
    """
    test, state = stacks.tests[frame[F_AT]], stacks.state
    leaves, loss = test[T_LEAVES] * form.counts, stacks.nodes[frame[F_NODE], N_LOSS]
    frame[F_CUT] = 1
    for split in range(1 if test[T_MORE] == NEVER else 2):
        error, cost = (loss, test[T_MORE]) if split else (test[T_ERROR], test[T_PLAIN])
        put(buffers.one, 0, error, cost, leaves + split * form.counts, np.int64(-1))
        low = include(stacks.lows, frame[F_LOWER], state[LOWS], np.int64(1), buffers)
        if low == FULL:
            return False
        state[LOWS] = low
    return True


@jit(inner=True, borrow=True)
def store(lists, low, high, node, which, stacks):
    """Keep a list in the pool, in the place of the node's old one where that is long enough;
    False where there is no room.
    """
    nodes, state, n = stacks.nodes, stacks.state, high - low
    if n > nodes[node, which + 1] - nodes[node, which]:
        if state[POOL] + n > len(stacks.pool):
            return False
        nodes[node, which] = state[POOL]
        state[POOL] += n
    at = nodes[node, which]
    copy(lists, low, high, stacks.pool, at)
    nodes[node, which + 1] = at + n
    state[LONGEST] = max(state[LONGEST], n)
    return True


@jit(inner=True, borrow=True)
def leave(frame, stacks, buffers):
    """The frame's lists are finished: keep them with the node.  Returns False where there is no
    room.

    A candidate was left out because of points, so these are corners, too.
    """
    state, node = stacks.state, frame[F_NODE]
    n = state[UPS] - frame[F_UP]
    if n > len(buffers.one):
        return False
    copy(stacks.ups, frame[F_UP], state[UPS], buffers.one, 0)
    end = include(stacks.lows, frame[F_LOWER], state[LOWS], n, buffers)
    if end == FULL:
        return False
    state[LOWS] = end
    up, low = state[UPS] - frame[F_UP], state[LOWS] - frame[F_LOWER]
    same = up == low
    for k in range(up if same else 0):
        for f in range(3):
            same = same and stacks.ups[frame[F_UP] + k, f] == stacks.lows[frame[F_LOWER] + k, f]
    if not store(stacks.ups, frame[F_UP], state[UPS], node, N_UP, stacks):
        return False
    if same:
        stacks.nodes[node, N_LOW], stacks.nodes[node, N_LOW_END] = (
            stacks.nodes[node, N_UP],
            stacks.nodes[node, N_UP_END],
        )
    else:
        if stacks.nodes[node, N_LOW] == stacks.nodes[node, N_UP]:
            stacks.nodes[node, N_LOW_END] = stacks.nodes[node, N_LOW]  # it shared the other's place
        if not store(stacks.lows, frame[F_LOWER], state[LOWS], node, N_LOW, stacks):
            return False
    stacks.nodes[node, N_LEFT] = (
        EXACT if same or not frame[F_CUT] else max(frame[F_LEFT], np.int64(0))
    )
    state[UPS], state[LOWS], state[TESTS], state[ROWS] = (
        frame[F_UP],
        frame[F_LOWER],
        frame[F_TESTS],
        frame[F_LOW],
    )
    state[FRAMES] -= 1
    return True


@jit(borrow=True)
def search_fronts(table, form, most, stacks, buffers):
    """Work on the frames until none is left, room is needed, or so many rows were looked at.
    Returns how it ended.
    """
    state, frames, rows, k, work = (
        stacks.state,
        stacks.frames,
        stacks.rows,
        table.n_classes,
        np.int64(0),
    )
    whole, limited = stacks.table[len(stacks.table) - 3], form.stop > -EXACT
    state[EFFORT] = 0
    while state[FRAMES] > 0:
        if work + state[EFFORT] // 8 > most:
            return PAUSED
        frame = frames[state[FRAMES] - 1]
        if frame[F_AT] == frame[F_END]:
            if not leave(frame, stacks, buffers):
                return NEED_ROOM
            continue
        f, index = stacks.tests[frame[F_AT], T_FEATURE], stacks.tests[frame[F_AT], T_INDEX]
        greedy = frame[F_LEFT] <= 0
        if frame[F_OUTCOME] == 0:
            if needless(frame, stacks, form):
                frame[F_AT] += 1
                continue
            if greedy and frame[F_AT] > frame[F_TESTS]:
                if not guess(frame, stacks, form, buffers):
                    return NEED_ROOM
                frame[F_AT] += 1
                continue
        family = table.family[f]
        outcomes, entered = table.n_bins[f] if family == MULTIWAY else np.int64(2), False
        left = frame[F_LEFT] - 1 if limited or not greedy else np.int64(0)
        while frame[F_OUTCOME] < outcomes:
            n, low = frame[F_HIGH] - frame[F_LOW], frame[F_HIGH]
            if (
                low + 2 * n > len(rows)
                or state[KIDS] + 1 > len(stacks.kids)
                or state[FRAMES] + 1 > len(frames)
                or state[NODES] + 1 > len(stacks.nodes)
                or 2 * state[NODES] + 2 > len(stacks.slots)
                or state[TESTS] + len(table.price) + 1 > len(stacks.tests)
                or state[UPS] + state[LONGEST] + 1 > len(stacks.ups)
                or state[LOWS] + 1 > len(stacks.lows)
            ):
                return NEED_ROOM
            outcome = frame[F_OUTCOME]
            if family != MULTIWAY:
                outcome = INSIDE if outcome == 0 else OUTSIDE
            high = take_rows(
                table.codes[f], family, index, outcome, rows, frame[F_LOW], frame[F_HIGH], low
            )
            work += n
            frame[F_OUTCOME] += 1
            if high == low:
                continue
            weigh(table, rows, low, high, whole)
            mass, heaviest, _ = branch(whole, whole, 0, k)
            if mass - heaviest == whole[k]:  # nothing is gained below
                stacks.kids[state[KIDS]] = -1 - whole[k]
                state[KIDS] += 1
                continue
            node = node_of(table, stacks, low, high, left - form.stop if limited else np.int64(0))
            stacks.kids[state[KIDS]] = node
            state[KIDS] += 1
            known = stacks.nodes[node, N_LEFT]
            if known < left:
                enter(table, form, stacks, low, high, node, left)
                work += (high - low) * len(table.family)
                entered = True
                break
        if entered:
            continue
        if not combine(frame, table.first_test[f] + index, stacks, form, buffers):
            return NEED_ROOM
        state[KIDS] = frame[F_KIDS]
        frame[F_OUTCOME] = 0
        frame[F_AT] += 1
    return FINISHED


@jit(borrow=True)
def begin(table, form, stacks, n, left):
    """Enter all n rows, with so many tests left before greedy ones."""
    state = stacks.state
    state[:POOL] = 0
    for r in range(n):
        stacks.rows[r] = r
    weigh(table, stacks.rows, 0, n, stacks.table[len(stacks.table) - 3])
    node = node_of(table, stacks, 0, n, left - form.stop if form.stop > -EXACT else np.int64(0))
    enter(table, form, stacks, np.int64(0), np.int64(n), node, left)
    return node
