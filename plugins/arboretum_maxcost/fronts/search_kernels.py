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
  with a leaf's error or more are left out.  ``test`` is −1 for a leaf and in a corner that was not
  summed up.
- The topmost frame's lists are ``ups[frame.ups:state.ups]`` and ``lows[frame.lows:state.lows]``;
  its candidates are ``tests[frame.tests : frame.end]``, the best ``score`` first, ties in the order
  of the table; its rows end at ``state.rows``.
- ``kids`` from ``frame.kids`` on are the branches found of the candidate at hand: a node, or
  −1 − error for a leaf.
- ``left`` of a node is −EXACT before its lists are finished, EXACT where points and corners are the
  same or nothing was left out, else the number of tests left that they were found for.  Corners may
  share the place of the points in the pool.
- A finished list in ``pool`` is overwritten only by its own node's next one, if that is no longer;
  else the next one goes to the end, and the old place is lost.
- Row −3 of ``table`` is the weight of the rows that ``find_or_enter_node`` and ``open_frame`` are
  about: whoever calls them has weighed them.  Row −1 is 0, all other rows are scratch of one
  feature.
- Room is asked for before a branch is taken.  Where a list grows too long, NEED_ROOM comes after
  part of the work; uniting twice changes nothing, so that the step is simply done again.

Where nothing else is said, table is a MaxCostTable of :mod:`arboretum_maxcost.optimal.parts`, form
a Form and buffers are Buffers of :mod:`.lists`, stacks are Stacks, written; frame is a record of
FRAME, low and high bound rows of ``stacks.rows``.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import find_or_enter
from arboretum.kernels.solving.rows import EQUALS, INSIDE, MULTIWAY, OUTSIDE, THRESHOLDS, take_rows
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_maxcost.fronts.lists import (
    FULL,
    NEVER,
    add_fronts,
    copy_points,
    is_dominated,
    unite_fronts,
    write_point,
)

STATE = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("frames", "rows", "tests", "kids", "ups", "lows", "pool", "nodes"),  # lengths in use
            "visits",  # how many subtables were opened
            "longest",  # of the lists that were kept
            "effort",  # sums made in this slice
        )
    ]
)
FRAME = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("low", "high"),  # its rows are rows[low:high]
            "node",
            "left",  # tests to ask below it
            *("tests", "end", "at"),  # its candidates are tests[tests:end]; the one at hand
            "outcome",  # the next one of the candidate at hand
            *("kids", "ups", "lows"),  # where the branches found and its two lists begin
            "cut",  # 1 where something was left out
            "leaf",  # the error of a leaf
        )
    ]
)
CANDIDATE = np.dtype(
    [
        ("feature", np.int64),
        ("index", np.int64),
        ("own", np.int64),  # cost of the node without its branches
        ("leaves", np.int64),  # how many branches
        ("error", np.int64),  # if all branches are leaves
        ("plain", np.int64),  # cost, if all branches are leaves
        ("more", np.int64),  # least cost where one is not; NEVER where all must be
        ("score", np.float64),  # pairs of objects that it separates, per price
    ]
)
SPAN = np.dtype([("first", np.int64), ("end", np.int64)])
"""A list in the pool."""
NODE = np.dtype(
    [
        ("points", SPAN),
        ("corners", SPAN),
        ("left", np.int64),  # tests left that both were found for, EXACT: all
        ("loss", np.int64),  # the error that no tree avoids
    ]
)
EXACT = np.int64(1) << 40


class Stacks(NamedTuple):
    """state : STATE[1].

    frames : FRAME[.], tests : CANDIDATE[.], kids : int64[.], rows : int32[.], stacks.
    ups, lows : POINT[.], lists under way.
    pool : POINT[.], finished lists.
    nodes : NODE[.].
    slots : fingerprints.
    table : int64[most bins + 3, classes + 3], of a feature at a node, then of all rows, of the rows
        inside a test, and zeros.
    """

    state: np.ndarray
    frames: np.ndarray
    rows: np.ndarray
    tests: np.ndarray
    kids: np.ndarray
    ups: np.ndarray
    lows: np.ndarray
    pool: np.ndarray
    nodes: np.ndarray
    slots: np.ndarray
    table: np.ndarray


@inline
def add_row_to_counts(table, r, to):
    """Add row r of the table to a line of sums: class weights, then the weight that no tree gets
    right, the rows and the objects.

    to : int64[classes + 3].
    """
    k, row = table.n_classes, table.rows[r]
    to[row.label] += row.mass
    to[k] += row.equivalent_loss
    to[k + 1] += row.count
    to[k + 2] += 1


@inner
def count_bins(table, rows, low, high, f, counts):
    """Sum up rows[low:high] in each bin of feature f.

    counts : int64[bins and more, classes + 3], out: a line per bin, as ``add_row_to_counts`` has
        it; lines behind the bins stay.
    """
    codes = table.codes[f]
    counts[: table.features[f].n_bins, :] = 0
    for i in range(low, high):
        add_row_to_counts(table, rows[i], counts[codes[rows[i]]])


@inline
def sum_rows(table, rows, low, high, whole):
    """Sum up rows[low:high] in ``whole``, int64[classes + 3], as ``add_row_to_counts`` has it."""
    whole[:] = 0
    for i in range(low, high):
        add_row_to_counts(table, rows[i], whole)


@inner(wraps=True)
def find_or_enter_node(table, stacks, low, high, depth):
    """Return the number of the subtable of rows[low:high], which are weighed (row −3 of
    ``stacks.table``); a new one where it is not known.

    depth : tells subtables apart that may ask another number of tests (0 where all may ask any).
    A new node has empty lists; there must be room for one.
    """
    state, rows = stacks.state[0], stacks.rows
    one = np.uint64(depth) * np.uint64(0x9E3779B97F4A7C15)
    two = np.uint64(depth) * np.uint64(0xBF58476D1CE4E5B9)
    for i in range(low, high):
        words = table.rows[rows[i]].words
        one, two = one + words[0], two + words[1]
    node = find_or_enter(stacks.slots, one, two, state.nodes)
    if node == state.nodes:
        new = stacks.nodes[node]
        new.points.first = new.points.end = new.corners.first = new.corners.end = 0
        new.left, new.loss = -EXACT, stacks.table[len(stacks.table) - 3, table.n_classes]
        state.nodes += 1
    return node


@inner
def mass_majority_squares(one, other, sign, n_classes):
    """Return (weight, weight of the majority class, Σ squares) of the class weights one + sign ·
    other.

    one, other : int64[≥ n_classes]; sign : 0 or −1.
    """
    mass, most, squares = np.int64(0), np.int64(0), 0.0
    for c in range(n_classes):
        w = one[c] + sign * other[c]
        mass, most, squares = mass + w, max(most, w), squares + float(w) * float(w)
    return mass, most, squares


@inner
def push_candidates(table, form, stacks, low, high, whole, at):
    """Push the tests that divide rows[low:high], the best first, from ``at`` on; returns the end.

    whole : int64[classes + 3], of the rows, as ``add_row_to_counts`` has them.
    A test that leaves a branch fewer rows than ``form.min_leaf`` is left out, and of those that
    divide alike all but the cheapest.  Overwrites the lines of ``stacks.table`` but the third last
    and the last.
    """
    k, counts, tests, top = table.n_classes, stacks.table, stacks.tests, at
    nothing = counts[len(counts) - 1]
    for f in range(len(table.features)):
        count_bins(table, stacks.rows, low, high, f, counts)
        bins, family = table.features[f].n_bins, table.features[f].family
        held = np.int64(0)
        for b in range(bins):
            held += counts[b, k + 2] > 0
        if held < 2:
            continue
        inside, last = counts[len(counts) - 2], NEVER
        inside[:] = 0
        for index in range(1 if family == MULTIWAY else bins - 1 if family == THRESHOLDS else bins):
            price = table.price[table.features[f].first_test + index]
            own = np.int64(0)
            error = np.int64(0)
            more = NEVER
            separated = 0.0
            kids = np.int64(0)
            fits = True
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
                mass, most, squares = mass_majority_squares(one, other, sign, k)
                kids += 1
                error += mass - most
                separated += float(mass) * float(mass) - squares
                fits = fits and one[k + 1] + sign * other[k + 1] >= form.min_leaf
                if mass - most > one[k] + sign * other[k]:
                    more = min(more, (form.per_node + form.per_mass * mass) * form.cheapest)
            if not fits:
                continue
            mass, most, squares = mass_majority_squares(whole, nothing, 0, k)
            own = (form.per_node + form.per_mass * mass) * price
            gain = float(mass) * float(mass) - squares - separated
            score = gain / float(price) if price > 0 else np.inf
            all_leaves = own + (form.leaf if form.largest else kids * form.leaf)
            if more < NEVER:
                more = own + more if form.largest else all_leaves + form.leaf + more
            j, last = top, price
            # insertion, ties in the order of the table
            while j > at and tests[j - 1].score < score:
                tests[j] = tests[j - 1]
                j -= 1
            new = tests[j]
            new.feature, new.index, new.own, new.leaves = f, index, own, kids
            new.error, new.plain, new.more, new.score = error, all_leaves, more, score
            top += 1
    return top


@inner
def open_frame(table, form, stacks, low, high, node, left):
    """Open a frame for rows[low:high], which are weighed, and which more than one leaf could serve
    better.

    node : number of their subtable; left : tests to ask below it before greedy ones.
    It begins with a leaf as its corner and with the trees known of the node.
    """
    state, k, whole = stacks.state[0], table.n_classes, stacks.table[len(stacks.table) - 3]
    mass, most, _ = mass_majority_squares(whole, whole, 0, k)
    frame, end = stacks.frames[state.frames], state.tests
    frame.low, frame.high, frame.node, frame.left = low, high, node, left
    frame.tests = frame.at = end
    if left != form.stop and whole[k + 1] >= form.min_split and mass > form.light:
        end = push_candidates(table, form, stacks, low, high, whole, end)
    frame.end, frame.outcome, frame.kids, frame.cut = end, 0, state.kids, 0
    frame.ups, frame.lows, frame.leaf = state.ups, state.lows, mass - most
    write_point(stacks.lows[state.lows], frame.leaf, form.leaf, form.counts, -1)
    known = stacks.nodes[node].points
    if known.first == known.end:
        stacks.ups[state.ups] = stacks.lows[state.lows]
        state.ups += 1
    else:  # trees known from an earlier visit
        copy_points(stacks.pool, known.first, known.end, stacks.ups, state.ups)
        state.ups += known.end - known.first
    state.lows += 1
    state.tests = end
    state.rows = high
    state.frames += 1
    state.visits += 1


@inner
def sum_branches(frame, test, stacks, form, upper, buffers):
    """Add up the branches' points and the node's own cost, one point per branch in every way, in
    ``buffers.one``; returns its length, or FULL.

    test : global number of the candidate at hand.
    upper : points, that is trees, else corners.
    0: every sum errs as much as a leaf, or more.
    """
    one, two, alone = buffers.one, buffers.two, buffers.three
    write_point(one[0], 0, 0, 0, -1)
    n, state = np.int64(1), stacks.state[0]
    for at in range(frame.kids, state.kids):
        kid, low, high, others = stacks.kids[at], np.int64(0), np.int64(1), alone
        if kid < 0:  # a leaf, of error −1 − kid
            write_point(alone[0], -1 - kid, form.leaf, form.counts, -1)
        else:
            span = stacks.nodes[kid].points if upper else stacks.nodes[kid].corners
            low, high, others = span.first, span.end, stacks.pool
        n = add_fronts(one, 0, n, others, low, high, frame.leaf, form, buffers, two)
        state.effort += n * (high - low)
        if n <= 0:  # FULL, or all are worse than a leaf
            return n
        copy_points(two, 0, n, one, 0)
    for k in range(n):
        one[k].cost += stacks.tests[frame.at].own
        one[k].test = test
    return n


@inner
def unite_in_place(lists, low, high, n_points, buffers):
    """Unite lists[low:high], the end of a stack, with ``buffers.one[:n_points]`` in place; returns
    its end, or FULL.
    """
    n_points = unite_fronts(lists, low, high, buffers.one, 0, n_points, buffers, buffers.two)
    if n_points == FULL or low + n_points > len(lists):
        return FULL
    copy_points(buffers.two, 0, n_points, lists, low)
    return low + n_points


@inner
def include_sums_of_candidate(frame, test, stacks, form, buffers):
    """Take the sums of the candidate at hand, all branches of which are known, into the frame's
    lists.  Returns False where there is no room; it may be done again then.

    test : global number of the candidate.
    Where a branch is not exact, ``frame.cut`` becomes 1.
    """
    state, exact = stacks.state[0], True
    for at in range(frame.kids, state.kids):
        exact = exact and (stacks.kids[at] < 0 or stacks.nodes[stacks.kids[at]].left == EXACT)
    n = sum_branches(frame, test, stacks, form, True, buffers)
    if n == FULL:
        return False
    up = unite_in_place(stacks.ups, frame.ups, state.ups, n, buffers)
    if up == FULL:
        return False
    state.ups = up  # taken in twice, points stay what they are: the rest may be done again
    if not exact:
        n = sum_branches(frame, test, stacks, form, False, buffers)
        if n == FULL:
            return False
    low = unite_in_place(stacks.lows, frame.lows, state.lows, n, buffers)
    if low == FULL:
        return False
    state.lows = low
    if not exact:
        frame.cut = 1
    return True


@inner
def candidate_is_dominated(frame, stacks, form):
    """Return whether every tree that begins with the candidate at hand is at or above a point of
    the frame: with leaves as its branches, and with the least that it costs otherwise.
    """
    ups, top, test = stacks.ups, stacks.state[0].ups, stacks.tests[frame.at]
    leaves, loss = test.leaves * form.counts, stacks.nodes[frame.node].loss
    if not is_dominated(ups, frame.ups, top, test.error, test.plain, leaves):
        return False
    return test.more == NEVER or is_dominated(
        ups, frame.ups, top, loss, test.more, leaves + form.counts
    )


@inner
def include_bound_of_candidate(frame, stacks, form, buffers):
    """Take what is known of the candidate at hand without its branches into the frame's corners.
    Returns False where there is no room.

    ``frame.cut`` becomes 1.
    """
    test, state = stacks.tests[frame.at], stacks.state[0]
    leaves, loss = test.leaves * form.counts, stacks.nodes[frame.node].loss
    frame.cut = 1
    for split in range(1 if test.more == NEVER else 2):
        error, cost = (loss, test.more) if split else (test.error, test.plain)
        write_point(buffers.one[0], error, cost, leaves + split * form.counts, -1)
        low = unite_in_place(stacks.lows, frame.lows, state.lows, 1, buffers)
        if low == FULL:
            return False
        state.lows = low
    return True


@inner
def store_list(lists, low, high, span, stacks):
    """Keep lists[low:high] in the pool, in the place of a node's old one where that is long enough;
    False where there is no room.

    span : SPAN of the node, written.
    """
    state, n = stacks.state[0], high - low
    if n > span.end - span.first:
        if state.pool + n > len(stacks.pool):
            return False
        span.first = state.pool
        state.pool += n
    copy_points(lists, low, high, stacks.pool, span.first)
    span.end = span.first + n
    state.longest = max(state.longest, n)
    return True


@inner
def close_frame(frame, stacks, buffers):
    """Keep the frame's lists, which are finished, with the node, and pop the frame.  Returns False
    where there is no room.

    A candidate was left out because of points, so these are corners, too.  The node is exact where
    both lists are the same, or nothing was left out.
    """
    state, node = stacks.state[0], stacks.nodes[frame.node]
    n = state.ups - frame.ups
    if n > len(buffers.one):
        return False
    copy_points(stacks.ups, frame.ups, state.ups, buffers.one, 0)
    end = unite_in_place(stacks.lows, frame.lows, state.lows, n, buffers)
    if end == FULL:
        return False
    state.lows = end
    same = n == end - frame.lows
    for k in range(n if same else 0):
        up, low = stacks.ups[frame.ups + k], stacks.lows[frame.lows + k]
        same = same and up.error == low.error and up.cost == low.cost and up.leaves == low.leaves
    if not store_list(stacks.ups, frame.ups, state.ups, node.points, stacks):
        return False
    if same:
        node.corners = node.points
    else:
        if node.corners.first == node.points.first:
            node.corners.end = node.corners.first  # it shared the other's place
        if not store_list(stacks.lows, frame.lows, state.lows, node.corners, stacks):
            return False
    node.left = EXACT if same or not frame.cut else max(frame.left, np.int64(0))
    state.ups, state.lows, state.tests, state.rows = frame.ups, frame.lows, frame.tests, frame.low
    state.frames -= 1
    return True


@jit(borrow=True)
def search_fronts(table, form, most, stacks, buffers):
    """Work on the frames until none is left (FINISHED), room is needed (NEED_ROOM) or about
    ``most`` rows were looked at (PAUSED); returns which.

    table : MaxCostTable; form : Form of this round.
    stacks : written; another call with the same or longer arrays goes on where this one stopped.
    buffers : overwritten.
    """
    state, frames, rows = stacks.state[0], stacks.frames, stacks.rows
    k, work = table.n_classes, np.int64(0)
    whole, limited = stacks.table[len(stacks.table) - 3], form.stop > -EXACT
    state.effort = 0
    while state.frames > 0:
        if work + state.effort // 8 > most:
            return PAUSED
        frame = frames[state.frames - 1]
        if frame.at == frame.end:
            if not close_frame(frame, stacks, buffers):
                return NEED_ROOM
            continue
        f, index = stacks.tests[frame.at].feature, stacks.tests[frame.at].index
        greedy = frame.left <= 0
        if frame.outcome == 0:
            if candidate_is_dominated(frame, stacks, form):
                frame.at += 1
                continue
            if greedy and frame.at > frame.tests:
                if not include_bound_of_candidate(frame, stacks, form, buffers):
                    return NEED_ROOM
                frame.at += 1
                continue
        feature = table.features[f]
        family = feature.family
        outcomes, entered = feature.n_bins if family == MULTIWAY else np.int64(2), False
        left = frame.left - 1 if limited or not greedy else np.int64(0)
        while frame.outcome < outcomes:
            n, low = frame.high - frame.low, frame.high
            if (
                low + 2 * n > len(rows)
                or state.kids + 1 > len(stacks.kids)
                or state.frames + 1 > len(frames)
                or state.nodes + 1 > len(stacks.nodes)
                or 2 * state.nodes + 2 > len(stacks.slots)
                or state.tests + len(table.price) + 1 > len(stacks.tests)
                or state.ups + state.longest + 1 > len(stacks.ups)
                or state.lows + 1 > len(stacks.lows)
            ):
                return NEED_ROOM
            outcome = frame.outcome
            if family != MULTIWAY:
                outcome = INSIDE if outcome == 0 else OUTSIDE
            high = take_rows(
                table.codes[f], family, index, outcome, rows, frame.low, frame.high, low
            )
            work += n
            frame.outcome += 1
            if high == low:
                continue
            sum_rows(table, rows, low, high, whole)
            mass, majority, _ = mass_majority_squares(whole, whole, 0, k)
            if mass - majority == whole[k]:  # nothing is gained below
                stacks.kids[state.kids] = -1 - whole[k]
                state.kids += 1
                continue
            node = find_or_enter_node(
                table, stacks, low, high, left - form.stop if limited else np.int64(0)
            )
            stacks.kids[state.kids] = node
            state.kids += 1
            if stacks.nodes[node].left < left:
                open_frame(table, form, stacks, low, high, node, left)
                work += (high - low) * len(table.features)
                entered = True
                break
        if entered:
            continue
        if not include_sums_of_candidate(frame, feature.first_test + index, stacks, form, buffers):
            return NEED_ROOM
        state.kids = frame.kids
        frame.outcome = 0
        frame.at += 1
    return FINISHED


@jit(borrow=True)
def begin_round(table, form, stacks, n_rows, left):
    """Open a frame for all rows, with ``left`` tests to ask before greedy ones, as the only one;
    returns its node.

    n_rows : of the table.
    Stacks are emptied; nodes and their lists stay.
    """
    state = stacks.state[0]
    state.frames = state.rows = state.tests = state.kids = state.ups = state.lows = 0
    for r in range(n_rows):
        stacks.rows[r] = r
    sum_rows(table, stacks.rows, 0, n_rows, stacks.table[len(stacks.table) - 3])
    node = find_or_enter_node(
        table, stacks, 0, n_rows, left - form.stop if form.stop > -EXACT else np.int64(0)
    )
    open_frame(table, form, stacks, 0, np.int64(n_rows), node, left)
    return node
