"""Branch and bound over subtables: an AND/OR graph is searched depth first, with a memory of bounds.

A subtable is known by the fingerprint of ``kernels_rows``; of each that was ever visited a lower and an upper bound of the
least ψ are kept, and the test that gave the upper one.  Its objects are kept only while it lies on the path that is being
searched: each frame of that path has its rows on a stack of rows, and its tests with a lower bound ("floor") each,

    floor(test) = F(mass, price, lower bounds of the parts),

from what is known of the parts, or else from their class weights (``part_bound``).  The least floor is a lower bound of the
subtable, and F of the parts' upper bounds is an upper bound.  A subtable is visited with a *budget* and left when its bounds
meet or the lower one is above the budget.  It is searched in one of two ways:

- width = 0: the test of least floor first, with the second least floor (a little more, so that the same parts are not
  opened over and over) as the budget.  Only what must be refuted is searched: the lower bound of the root grows fastest.
- width > 0: only that many tests of each subtable, those of best rank, each to the end within what the best tree known so
  far leaves.  The lower bounds are then no bounds of the problem, and lie in an array of their own; trees are trees.

The kernel can be left and entered again at any step; the caller enlarges the arrays when the kernel says so.
"""

from __future__ import annotations

import numpy as np

from arboretum_decision_tables.kernels_ahead import bound_ahead, fill_bits, literals_of
from arboretum_decision_tables.kernels_cubes import DEEPEST, cube_bound, fitting_depth
from arboretum_decision_tables.kernels_parts import (
    AHEAD,
    CUBES,
    EASE,
    SLACK,
    WORST_PAIRS,
    clear_parts,
    disorder,
    fill_parts,
    jit,
    new_parts,
    part_bound,
)
from arboretum_decision_tables.kernels_rows import (
    MIXED,
    MULTIWAY,
    NOBODY,
    THRESHOLDS,
    cheapest,
    few,
    find,
    find_or_enter,
    goes,
    is_light_or_pure_enough,
    union,
)
from arboretum_decision_tables.kernels_values import LEAF, MAX, PER_MASS, PER_NODE, PRICED

FINISHED, NEED_ROOM, PAUSED = 0, 1, 2
NODES, FRAMES, ROWS, TESTS, VISITS = range(5)
"""Places in ``state``: subtables known, frames, rows and tests on the stacks, subtables opened (again) so far."""
LOW, HIGH, NODE, FIRST, COUNT, CURRENT = range(6)
"""Columns of ``frames``: its rows, its subtable, its tests, and the one that is being searched (all but the first three −1
before it is opened)."""
CUBE_WORK = 64.0
"""Words of cubes looked at per row and feature of a subtable that is opened."""


@jit(inline=True)
def own_cost(form, mass, price):
    own = form[PER_NODE] + form[PER_MASS] * mass
    return own * price if form[PRICED] else own


@jit(inline=True)
def combine(form, a, b):
    return max(a, b) if form[MAX] else a + b


@jit
def bounds_of_part(k, parts, leaf, form, setting, memory, heap, table, literal, base, ahead):
    """(lower, upper) bound of ψ of a part, of which ``literal`` is the number (−1: do not look ahead)."""
    tally, _, mass, one, two, _, _, heavy, alone, spread = parts
    slots, low, up, seen = memory
    if leaf:
        return form[LEAF], form[LEAF]
    if tally[k] == 2 and not form[PRICED]:  # any test that divides two objects makes two leaves
        both = own_cost(form, mass[k], 1.0) + combine(form, form[LEAF], form[LEAF])
        return both, both
    node = find(slots, one[k], two[k])
    known, upper = np.float64(0.0), np.inf
    if node >= 0:
        known, upper = low[node], up[node]
        if known >= upper or seen[node]:  # what is to be seen from here was seen when it was opened
            return known, upper
    known = max(known, part_bound(mass[k], heavy[k], alone[k], spread[k], form, setting, heap))
    if literal >= 0:
        known = max(known, bound_ahead(literal, mass[k], known, table[1], base, table[3], table[4], form, setting, ahead))
    return known, upper


@jit
def part_is_leaf(k, parts, table, rows, low, high, f, index, outcome, impurity, vector):
    """Whether a part is a leaf by the rule."""
    family, label, weight, rule = table[1], table[6], table[9], table[12]
    counts, who = parts[1], parts[5]
    if who[k] != MIXED or few(counts[k], rule):
        return True
    if rule[1] > 0.0 or not np.isnan(rule[2]):
        return is_light_or_pure_enough(
            rows, low, high, table[0][f], family[f], index, outcome, label, weight, rule, impurity, vector
        )
    return False


@jit
def join(a, i, b, j):
    """Slot i of a becomes the union of itself and slot j of b.  Only sums, no differences: a class that is absent weighs 0."""
    for k in range(b[7].shape[1]):
        a[7][i, k] += b[7][j, k]
    a[0][i] += b[0][j]
    a[1][i] += b[1][j]
    a[2][i] += b[2][j]
    a[3][i] += b[3][j]
    a[4][i] += b[4][j]
    a[5][i] = union(a[5][i], b[5][j])
    a[8][i] += b[8][j]
    a[9][i] += b[9][j]


@jit
def nothing(a, i):
    """Slot i becomes the empty set."""
    a[7][i, :] = 0.0
    a[0][i], a[1][i], a[2][i], a[3][i], a[4][i], a[5][i] = 0, 0, 0.0, np.uint64(0), np.uint64(0), NOBODY
    a[8][i], a[9][i] = 0, 0.0


@jit
def copy_part(a, i, b, j):
    for k in range(b[7].shape[1]):
        a[7][i, k] = b[7][j, k]
    a[0][i], a[1][i], a[2][i], a[3][i], a[4][i], a[5][i] = b[0][j], b[1][j], b[2][j], b[3][j], b[4][j], b[5][j]
    a[8][i], a[9][i] = b[8][j], b[9][j]


@jit
def weigh_test(
    f, index, by_bin, seen, parts, table, mass, rows, low, high, form, setting, memory, impurity, vector, heap, heuristic,
    looks, base, ahead,
):  # fmt: skip
    """(floor, upper bound, disorder) of a test whose parts are filled in."""
    price = table[4][table[3][f] + index]
    least = greatest = form[LEAF] if form[MAX] else 0.0
    mixed = 0.0
    for k in range(seen):
        c = parts[6][k]
        leaf = part_is_leaf(c, parts, table, rows, low, high, f, index, c, impurity, vector)
        literal = np.int64(-1)
        if looks and not leaf:
            literal = base[f] + (c if table[1][f] == MULTIWAY else 2 * index + c)
        a, b = bounds_of_part(c, parts, leaf, form, setting, memory, heap, table, literal, base, ahead)
        least, greatest = combine(form, least, a), combine(form, greatest, b)
        if heuristic >= 0:
            d = 0.0 if leaf else disorder(parts[7][c], parts[9][c], parts[2][c], heuristic)
            mixed = max(mixed, d) if heuristic >= WORST_PAIRS else mixed + d
    own = own_cost(form, mass, price)
    return own + least, own + greatest, mixed


@jit
def put_test(at, weighed, number, price, whole, form, heuristic, test, floor, rank):
    floor[at], test[at] = weighed[0], number
    if heuristic >= 0:
        gain = whole - weighed[2]
        rank[at] = -gain if not form[PRICED] else (-gain / price if price > 0.0 else -np.inf)


@jit
def open_subtable(
    table, mass, whole, rows, low, high, form, setting, memory, impurity, vector, heap, heuristic, bins, pair, tail,
    looks, base, ahead, at, test, floor, rank,
):  # fmt: skip
    """List all tests that divide the rows, from ``at`` on; returns (end, least upper bound, its test)."""
    codes, family, _, first_test, price, even, _, purity, group, weight, count, words, _ = table
    best, best_test, before = np.inf, np.int64(-1), len(tail[0]) - 1
    pair[6][0], pair[6][1] = 0, 1
    for f in range(codes.shape[0]):
        seen = fill_parts(codes[f], MULTIWAY, 0, True, rows, low, high, purity, group, weight, count, words, bins)
        touched, first = bins[6], first_test[f]
        if seen > 1 and family[f] == MULTIWAY:
            weighed = weigh_test(
                f, 0, True, seen, bins, table, mass, rows, low, high, form, setting, memory, impurity, vector, heap, heuristic,
                looks, base, ahead,
            )  # fmt: skip
            put_test(at, weighed, first, price[first], whole, form, heuristic, test, floor, rank)
            at += 1
            if weighed[1] < best:
                best, best_test = weighed[1], first
        elif seen > 1:
            for k in range(1, seen):  # few bins: sort by insertion
                c, j = touched[k], k
                while j > 0 and touched[j - 1] > c:
                    touched[j] = touched[j - 1]
                    j -= 1
                touched[j] = c
            nothing(tail, seen)
            nothing(tail, before)
            for k in range(seen - 1, -1, -1):
                copy_part(tail, k, tail, k + 1)
                join(tail, k, bins, touched[k])
            last = seen - 1 if family[f] == THRESHOLDS or seen == 2 else seen
            for k in range(last):
                c = index = touched[k]
                if family[f] == THRESHOLDS:
                    join(tail, before, bins, c)
                    copy_part(pair, 0, tail, before)
                    copy_part(pair, 1, tail, k + 1)
                    if not even[f]:
                        index = cheapest(price, first, c, touched[k + 1])
                else:
                    if seen == 2 and price[first + touched[1]] < price[first + c]:
                        # both tests divide alike: ask the cheaper, whose outcomes are the other way round
                        c = index = touched[1]
                        copy_part(pair, 1, bins, touched[0])
                    else:
                        copy_part(pair, 1, tail, before)
                        join(pair, 1, tail, k + 1)
                    copy_part(pair, 0, bins, c)
                    join(tail, before, bins, c)
                weighed = weigh_test(
                    f, index, False, 2, pair, table, mass, rows, low, high, form, setting, memory, impurity, vector, heap, heuristic,
                    looks, base, ahead,
                )  # fmt: skip
                put_test(at, weighed, first + index, price[first + index], whole, form, heuristic, test, floor, rank)
                at += 1
                if weighed[1] < best:
                    best, best_test = weighed[1], first + index
        clear_parts(bins, seen)
    return at, best, best_test


@jit
def keep_best(first, end, width, test, floor, rank):
    """Keep the ``width`` tests of least rank (ties to the first), in that order; returns the new end."""
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
def search_tests(
    table, form, setting, impurity, width, heuristic, unwind, limit,
    state, frames, budget, rows, test, floor, rank, slots, low, other, up, best, wide,
):  # fmt: skip
    """Search until the root is left (FINISHED), an array is full (NEED_ROOM) or ``limit`` row visits (PAUSED).

    table : codes uint[F, n], family, n_bins, first_test int64[F], price float64[tests], even bool[F], label int32[n],
    purity int32[n] (equal: may share a leaf), group int64[n] (class that bounds may count on), weight, count, words, rule.
    form : float64[5] as in kernels_values.   setting : float64[10], see kernels_parts.   impurity : address.
    unwind : open nothing any more, take what is known up to the root.
    state : int64[5].   frames : int64[·, 6].   budget : float64[·], per frame.   rows : int32[·].   test : int64[·], floor,
    rank : float64[·], per test of a frame.   slots : uint64[2^k, 2].   low, up : float64[nodes], best : int64[nodes].
    wide : bool[nodes], was opened with width 0.   other : float64[nodes], the lower bounds of the other way of searching, which new subtables enter, too.
    """
    codes, family, n_bins, first_test, price, _, label, purity, group, weight, count, words, _ = table
    classes = max(1, label.max() + 1)
    widest = max(2, n_bins.max())
    bins, pair, tail = new_parts(widest, classes), new_parts(2, classes), new_parts(widest + 2, classes)
    vector, heap, totals = np.zeros(classes), np.zeros(classes), np.zeros(classes)
    base = literals_of(family, n_bins, first_test, len(price))
    ahead_of = setting[AHEAD] > 0.0
    room = (len(label) + 63) // 64 if ahead_of else 0
    bits, same = np.zeros((base[-1], room), np.uint64), np.zeros((classes, room), np.uint64)
    kind, heavy = np.zeros(64 * room, np.int64), np.zeros(64 * room)
    most = np.zeros((64 * room, DEEPEST + 1))
    done, memory = 0, (slots, low, up, wide)
    while state[FRAMES] > 0:
        d = state[FRAMES] - 1
        frame = frames[d]
        a, b, node = frame[LOW], frame[HIGH], frame[NODE]
        if not unwind and (
            state[ROWS] + b - a > rows.shape[0] or d + 2 > frames.shape[0] or state[NODES] + 1 > low.shape[0]
            or 2 * (state[NODES] + 1) > slots.shape[0] or state[TESTS] + len(price) > test.shape[0]
        ):  # fmt: skip
            return NEED_ROOM
        if done > limit and not unwind:
            return PAUSED
        part, part_low, part_one, part_two, others = np.int64(-1), 0.0, np.uint64(0), np.uint64(0), 0.0
        mass = 0.0
        for k in range(a, b):
            mass += weight[rows[k]]
        if frame[COUNT] < 0:
            if unwind:
                leave(state, frame)
                continue
            whole = disorder_of(rows, a, b, group, weight, mass, heuristic, totals) if heuristic >= 0 else 0.0
            looks = ahead_of and width == 0 and b - a > 3
            n_words = fill_bits(codes, family, base, rows, a, b, group, weight, bits, same, kind, heavy) if looks else 0
            ahead = (bits, same, kind, heavy, n_words)
            if looks and b - a >= setting[CUBES] and not wide[node] and (form[MAX] or form[PER_MASS] > 0.0):
                depth = fitting_depth(base[-1], n_words, CUBE_WORK * (b - a) * len(family))
                if depth > 0:
                    low[node] = max(low[node], cube_bound(b - a, depth, family, base, ahead, classes, form, setting, most))
            frame[FIRST] = state[TESTS]
            end, found, found_test = open_subtable(
                table, mass, whole, rows, a, b, form, setting, memory, impurity, vector, heap, heuristic, bins, pair, tail,
                looks, base, ahead, frame[FIRST], test, floor, rank,
            )  # fmt: skip
            if found < up[node]:
                up[node], best[node] = found, found_test
            if width > 0:
                end = keep_best(frame[FIRST], end, width, test, floor, rank)
            wide[node] |= width == 0
            frame[COUNT], state[TESTS] = end - frame[FIRST], end
            state[VISITS] += 1
            done += (b - a) * len(family)
        elif frame[CURRENT] >= 0:
            at = frame[FIRST] + frame[CURRENT]
            f = np.searchsorted(first_test, test[at], side="right") - 1
            index, by_bin = test[at] - first_test[f], family[f] == MULTIWAY
            seen = fill_parts(codes[f], family[f], index, by_bin, rows, a, b, purity, group, weight, count, words, bins)
            done += b - a
            own = own_cost(form, mass, price[test[at]])
            least = greatest = form[LEAF] if form[MAX] else 0.0
            for k in range(seen):
                c = bins[6][k]
                leaf = part_is_leaf(c, bins, table, rows, a, b, f, index, c, impurity, vector)
                x, y = bounds_of_part(c, bins, leaf, form, setting, memory, heap, table, np.int64(-1), base, (bits, same, kind, heavy, 0))
                least, greatest = combine(form, least, x), combine(form, greatest, y)
                if x < y and (part < 0 or x > part_low):
                    part, part_low, part_one, part_two = c, x, bins[3][c], bins[4][c]
            clear_parts(bins, seen)
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
        enter(
            codes[f], family[f], test[chosen] - first_test[f], part, part_one, part_two, part_low, until - others,
            state, frames, budget, rows, slots, low, other, up, best, wide,
        )  # fmt: skip
    return FINISHED


@jit(inline=True)
def leave(state, frame):
    """Take the topmost frame off the stacks; its rows lie on top, as do its tests."""
    state[FRAMES] -= 1
    state[ROWS], state[TESTS] = frame[LOW], frame[FIRST]


@jit
def find_or_enter_one(slots, one, two):
    """Enter the first subtable."""
    return find_or_enter(slots, one, two, np.int64(0))


@jit
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


@jit
def enter(
    column, family, index, outcome, one, two, least, allowed,
    state, frames, budget, rows, slots, low, other, up, best, wide,
):  # fmt: skip
    """Put one part of the topmost subtable on the stacks, and in the memory if it is new there with its bound ``least``."""
    fresh, d = state[NODES], state[FRAMES] - 1
    child = find_or_enter(slots, one, two, fresh)
    if child == fresh:
        low[child], other[child], up[child], best[child], wide[child] = least, least, np.inf, -1, False
        state[NODES] += 1
    top = state[ROWS]
    for k in range(frames[d, LOW], frames[d, HIGH]):
        if goes(family, np.int64(column[rows[k]]), index, outcome):
            rows[top] = rows[k]
            top += 1
    frames[d + 1, LOW], frames[d + 1, HIGH], frames[d + 1, NODE] = state[ROWS], top, child
    frames[d + 1, FIRST], frames[d + 1, COUNT], frames[d + 1, CURRENT] = state[TESTS], -1, -1
    budget[d + 1] = max(least, allowed)
    state[ROWS], state[FRAMES] = top, d + 2
