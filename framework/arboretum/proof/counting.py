"""What counting says of a set, and whether a bound of it follows: the checker's own kernels (no
solver uses them).

The rules that are meant by number stand in :mod:`arboretum.proof.additive`.  A set is a mask of
objects, counted by its columns (:mod:`.sets`)::

    for each record (path, limits, bound), in their order:
        S ← the objects of the path
        if a record before it says as much of S, under limits as loose: next
        enter: count S; its columns ← the tests that are not idle (rule 1)
            low[side of a column] ← cost as a leaf, or of two leaves, the cheapest test and what
                objects cost apart if that is less; at least what a record says of the side
        refuse the record if S costs less than the bound as a leaf
        while a column is open, low[side 0] + low[side 1] + test_cost < bound (rule 2):
                                                                                     (count_columns)
            if a column is left to be counted: the one of the highest rank
                count it against all: cells, and low of its sides (rule 3)
            else, once: low of sides ← by what is known of larger sets, too (:mod:`.larger_sets`)
            else a side of an open column that might suffice if its trees of three leaves, or of
                    three and four, are counted, too, up to what suffices (:mod:`.few_leaves`);
                    refuse the record if there is none
            raise low of other columns' sides by what is shown of these (rules 4 and 5)
                                                                              (propagate_to_sides)
        the record is known from now on, in place of those that say less of S; refuse it if
            MOST_KEPT others stay

Invariants:

- Costs and bounds are integers.  ``low`` and ``own`` never exceed what a side really costs, and
  only rise once a set is entered.  What is propagated to a side is in ``low`` alone, and goes no
  further.

Records, and processor milliseconds of writing and of checking them; without few leaves; with trees
of three leaves and of two and two; and with all of four, counted up to what suffices, in tests that
may matter alone:

==================== ====================== ====================== =====================
tic-tac-toe .01      16,141; 188, 157       5,100; 72, 62          3,383; 69, 64
heart-cleveland .02  39,156; 574, 452       6,561; 211, 197        2,742; 144, 137
heart-cleveland .01  1,122,043              282,648; 7,460, 6,380  132,603; 6,368, 5,300
coupon_carryout .025                        23,978; 5,820, 5,429   11,929; 1,548, 1,434
german-credit .03                           8,949; 1,046, 1,022    4,432; 396, 386
==================== ====================== ====================== =====================

Pairs that are kept, words counted by four, and loops without ends that are done one by one took a
third off since (coupon_carryout .02: 9,415 and 8,479 before, 6,862 and 6,031 with them).
"""

import numpy as np

from arboretum.kernels.bits import popcount
from arboretum.kernels.jit import inner, jit
from arboretum.proof.few_leaves import (
    HALF,
    bound_few_leaves,
    cost_of_more,
    count_pairs,
    losses_of_sides,
    raise_similar,
    row_of_pairs,
)
from arboretum.proof.larger_sets import inherit_sides
from arboretum.proof.records import bound_of, known_of, mark_of, path_set, take_place
from arboretum.proof.sets import (
    COUNTED,
    NEVER,
    RECORDED,
    enter,
    fewer,
    floor_of,
    is_priced,
    leaf_of,
    levels_of,
    mass_of,
)


@inner
def count_column(ground, node, scratch, c):
    """Count the node's column c against all, which is left in ``node.pairs`` or ``scratch``, and
    what its sides cost with two leaves and with more (rules 2 and 3), which raises ``own`` and
    ``low``.
    """
    node.state[c] |= COUNTED
    if ground.plain:
        n, pairs = node.numbers.columns, node.pairs[row_of_pairs(node, c)]
        all_objects = np.int64(-1), np.int64(0)
        count_pairs(ground, node, *all_objects, *all_objects, c, pairs)
        losses = losses_of_sides(
            n,
            node.weights,
            pairs,
            scratch.rest,
            node.weights[c],
            node.weights[n + c],
            np.int32(node.totals[0]),
            np.int32(node.totals[1]),
            np.int32(ground.p // ground.unit),
        )
        for s in range(2):
            two, beside, both = losses[:3] if s == 1 else losses[3:]
            more = cost_of_more(ground, beside, both, NEVER)
            two_leaves = two * ground.unit + 2 * ground.p if two < HALF else NEVER
            raise_side(ground, node, c, s, two_leaves, more)
        return
    count_pairs_of_planes(ground, node, scratch, c)
    count_cells(ground, node, scratch, c)
    n, p, priced = node.numbers.columns, ground.p, is_priced(ground)
    for s in range(2):
        two, more, cell, mass = NEVER, NEVER, 2 * s * n, mass_of(ground, node, c, s)
        floor = p + floor_of(ground, node, c, s)
        losses_0, losses_1 = scratch.loss[cell : cell + n], scratch.loss[cell + n : cell + 2 * n]
        busy_0, busy_1 = scratch.busy[cell : cell + n], scratch.busy[cell + n : cell + 2 * n]
        least_1 = scratch.least[cell + n : cell + 2 * n]
        for f in range(n):
            one, other = losses_0[f], losses_1[f]
            test_cost = ground.price[node.columns[f]] * mass if priced else np.int64(0)
            below_1, below_0 = least_1[f], floor - p - least_1[f]
            open_0, open_1 = one > p + below_0, other > p + below_1
            beside_leaf = min(
                one + below_1 if open_1 else NEVER,
                other + below_0 if open_0 else NEVER,
                floor if open_0 & open_1 else NEVER,
            )
            idle = busy_0[f] & busy_1[f] == 0
            two = min(two, NEVER if idle else one + other + test_cost)
            more = min(more, NEVER if idle else test_cost + beside_leaf)
        raise_side(ground, node, c, s, two + 2 * p, more + 3 * p)


@inner
def recall_column(ground, node, scratch, c):
    """Count column c, which may not be the last that was counted, unless its pairs are kept."""
    if not ground.plain or node.pairs.shape[0] == 1 or node.state[c] & COUNTED == 0:
        count_column(ground, node, scratch, c)


@inner
def count_pairs_of_planes(ground, node, scratch, c):
    """Write into ``both`` what each plane counts in side 1 of column c, with each column."""
    n, first = node.numbers.columns, np.int64(0)
    scratch.both[: node.totals.shape[0] * n] = 0
    for g in range(ground.plane.shape[0]):
        plane, shift = ground.plane[g], ground.shift[g]
        both = scratch.both[plane * n : (plane + 1) * n]
        for w in range(first, node.ends[g]):
            words = node.words[w * n : (w + 1) * n]
            word = words[c]
            if word != 0:
                for f in range(n):
                    both[f] += popcount(words[f] & word) << shift
        first = node.ends[g]


@inner
def raise_side(ground, node, c, s, two, more):
    """Raise ``own`` and ``low`` of side s of column c by what it costs as a leaf, with two leaves
    and with more.
    """
    n, depth, leaves = node.numbers.columns, node.numbers.depth - 1, node.numbers.leaves
    leaf = leaf_of(ground, node, c, s)
    for level in range(levels_of(leaves)):
        few, place, cost = fewer(leaves, level), (2 * level + s) * n + c, leaf
        if depth != 0 and few != 1:
            cost = min(cost, two)
        if depth != 0 and depth != 1 and (few < 0 or few > 2):
            cost = min(cost, more)
        node.own[place] = max(node.own[place], cost)
        node.low[place] = max(node.low[place], cost)
    if depth != 0:
        node.high[s * n + c] = min(node.high[s * n + c], two)


@inner
def fill_cell(node, scratch, plane, c, cell, out):
    """Write into ``out`` what a plane counts in a cell of column c and each of the others."""
    n = node.numbers.columns
    ones, pairs = node.ones[plane * n : (plane + 1) * n], scratch.both[plane * n : (plane + 1) * n]
    of_c = ones[c]
    without = node.totals[plane] - of_c
    if cell == 3:
        for f in range(n):
            out[f] = pairs[f]
    elif cell == 2:
        for f in range(n):
            out[f] = of_c - pairs[f]
    elif cell == 1:
        for f in range(n):
            out[f] = ones[f] - pairs[f]
    else:
        for f in range(n):
            out[f] = without - ones[f] + pairs[f]


@inner
def count_cells(ground, node, scratch, c):
    """Write into ``scratch`` the cells of column c, counted against all, and the others: ``most``,
    ``loss``, ``mass``, ``least`` and ``busy``.
    """
    n, p, unit, priced = node.numbers.columns, ground.p, ground.unit, is_priced(ground)
    path, beside = node.numbers.path, node.numbers.beside
    for cell in range(4):
        most = scratch.most[cell * n : (cell + 1) * n]
        loss = scratch.loss[cell * n : (cell + 1) * n]
        mass = scratch.mass[cell * n : (cell + 1) * n]
        busy = scratch.busy[cell * n : (cell + 1) * n]
        least = scratch.least[cell * n : (cell + 1) * n]
        fill_cell(node, scratch, 0, c, cell, loss)
        for f in range(n):
            most[f] = loss[f]
        for k in range(1, ground.labels):
            fill_cell(node, scratch, k, c, cell, mass)
            for f in range(n):
                most[f], loss[f] = most[f] + mass[f], max(loss[f], mass[f])
        for f in range(n):
            busy[f] = loss[f] * unit
            loss[f] = unit * most[f] - busy[f]
            most[f] = unit * most[f]
        if ground.apart:
            fill_cell(node, scratch, ground.labels + 2, c, cell, mass)
            for f in range(n):
                least[f] = unit * mass[f]
        elif priced:
            for f in range(n):
                least[f] = 0
        if priced:
            fill_cell(node, scratch, ground.labels + 1, c, cell, mass)
            for f in range(n):
                least[f] += node.numbers.cheapest * mass[f]
                busy[f] += beside * mass[f]
                most[f] += path * mass[f]
        for f in range(n):
            busy[f] = busy[f] > p
        if ground.least > 0:
            rows = scratch.rows[:n]
            fill_cell(node, scratch, ground.labels, c, cell, rows)
            for f in range(n):
                busy[f] &= rows[f] >= ground.least


@inner
def propagate_to_sides(ground, node, scratch, c):
    """Raise low of other columns' sides by similarity (rules 4 and 5) to both sides of a column
    whose pairs, or cells, are there.
    """
    n, p = node.numbers.columns, ground.p
    if ground.least > 1:
        return
    dear = np.int64(0) if node.numbers.depth < 0 and node.numbers.leaves < 0 else NEVER
    priced = is_priced(ground)
    for level in range(levels_of(node.numbers.leaves) if ground.plain else 0):
        for s in range(2):
            bound = node.own[(2 * level + s) * n + c]
            # of less, what it costs is known or no more than is known
            for t in range(2 if bound > 2 * p else 0):
                low = node.low[(2 * level + t) * n : (2 * level + t + 1) * n]
                raise_similar(ground, node, c, s, bound, dear, t, low)
    for level in range(0 if ground.plain else levels_of(node.numbers.leaves)):
        for s in range(2):
            bound, mass = node.own[(2 * level + s) * n + c], mass_of(ground, node, c, s)
            for t in range(2):
                low = node.low[(2 * level + t) * n : (2 * level + t + 1) * n]
                cell = (2 * s + 1 - t) * n
                most, loss = scratch.most[cell : cell + n], scratch.loss[cell : cell + n]
                for f in range(n):
                    test_cost = ground.price[node.columns[f]] * mass if priced else np.int64(0)
                    less = min(most[f], dear + p + loss[f] + test_cost)
                    low[f] = max(low[f], bound - less)


@inner
def join_sides(node, joined):
    """Write into ``joined`` what trees cost that begin with each column (rule 2), with a limit on
    leaves by the best way to share them.
    """
    n, levels = node.numbers.columns, levels_of(node.numbers.leaves)
    for c in range(n):
        joined[c] = NEVER
    if levels == 1:
        zero, one, test_cost = node.low[:n], node.low[n : 2 * n], node.test_cost
        for c in range(n):
            joined[c] = zero[c] + one[c] + test_cost[c]
        return
    for level in range(levels):
        zero = node.low[2 * level * n : (2 * level + 1) * n]
        one = node.low[(2 * (levels - level) - 1) * n : 2 * (levels - level) * n]
        for c in range(n):
            joined[c] = min(joined[c], zero[c] + one[c])
    for c in range(n):
        joined[c] += node.test_cost[c]


@jit(borrow=True)
def cheapest(node, scratch):
    """(cost, column) of the trees that cost least, by the column that they begin with."""
    least, at = 4 * NEVER, np.int64(-1)
    join_sides(node, scratch.joined)
    for c in range(node.numbers.columns):
        if scratch.joined[c] < least:
            least, at = scratch.joined[c], np.int64(c)
    return least, at


@inner
def order_columns(node, joined, goal, thorough, order):
    """Write into ``order`` when each column is to be counted: the greatest first, −1: not; returns
    how many are open.

    Records say most about other columns, and so do balanced ones.
    """
    still, state, rank = np.int64(0), node.state, node.rank
    for c in range(node.numbers.columns):
        still += joined[c] < goal
    for c in range(node.numbers.columns):
        is_open, known = np.int64(joined[c] < goal), np.int64(state[c] & RECORDED != 0)
        first = rank[c] + (NEVER if known != 0 else is_open * (NEVER >> 1))
        ready = (state[c] & COUNTED == 0) & (thorough | (is_open != 0) | (known != 0))
        order[c] = first if ready else np.int64(-1)
    return still


@inner
def count_columns(ground, log, at, node, scratch, goal, thorough):
    """Count columns until the bound follows; returns how many columns are open, 0: it follows.

    at : word where the set's path is spelled, whose literals are left out in turn to learn from
        larger sets; −1: they are not asked.
    goal : the bound.
    thorough : where counting the open ones, or asking larger sets of them, does not help, also the
        others: the whole costs no less than any side.
    """
    n = node.numbers.columns
    alone = ground.least <= 1 and node.numbers.depth < 0 and node.numbers.leaves < 0
    low, order, ask = node.low[: 2 * n], scratch.order[:n], at >= 0
    while True:
        if alone:
            # rule 5: the whole costs no less than a part
            whole = np.int64(0)
            for place in range(2 * n):
                whole = max(whole, low[place])
            if whole >= goal:
                return np.int64(0)
        join_sides(node, scratch.joined)
        still = order_columns(node, scratch.joined, goal, thorough, order)
        best, column = np.int64(-1), n
        for c in range(n):
            best = max(best, order[c])
        if still == 0:
            return still
        if best < 0 and ask:
            inherit_sides(ground, log, at, node, scratch, goal)
            ask = False
            continue
        if best < 0:
            c, side, needed = side_of_few_leaves(ground, node, scratch, goal, thorough)
            if c < 0 and thorough and at >= 0:
                inherit_sides(ground, log, at, node, scratch, NEVER)
                at = np.int64(-1)
                continue
            if c < 0:
                return still
            recall_column(ground, node, scratch, c)
            if raise_by_few_leaves(ground, node, scratch, c, side, needed):
                propagate_to_sides(ground, node, scratch, c)
            continue
        for c in range(n):
            column = min(column, c if order[c] == best else n)
        count_column(ground, node, scratch, column)
        propagate_to_sides(ground, node, scratch, column)


@inner
def side_of_few_leaves(ground, node, scratch, goal, thorough):
    """(column, side, bound): of which side trees of three leaves, or of three and four, are to be
    counted next, and which bound of it suffices for the goal; column −1 where there is none.

    thorough : where none suffices, what can be known at all (a bound of NEVER).
    """
    n, p, best = node.numbers.columns, ground.p, np.int64(-1)
    none = np.int64(-1), np.int64(0), np.int64(0)
    if node.numbers.leaves >= 0 or not ground.plain:
        return none
    rank, joined, test_cost = node.rank, scratch.joined, node.test_cost
    for side in range(2):
        here, there = slice(side * n, (side + 1) * n), slice((1 - side) * n, (2 - side) * n)
        few, high, other = node.few[here], node.high[here], node.low[there]
        order = scratch.loss[here]
        for c in range(n):
            needed = goal - test_cost[c] - other[c]
            first = 2 * rank[c] + (0 if needed > 4 * p else NEVER)
            order[c] = first if (joined[c] < goal) & (needed <= min(few[c], high[c])) else -1
        for c in range(n):
            best = max(best, order[c])
    if best >= 0:
        column = n
        for c in range(n):
            is_first = (scratch.loss[c] == best) | (scratch.loss[n + c] == best)
            column = min(column, c if is_first else n)
        side = np.int64(scratch.loss[column] != best)
        return column, side, goal - test_cost[column] - node.low[(1 - side) * n + column]
    if thorough:
        for place in range(2 * n):
            side = np.int64(place >= n)
            asked = node.test_cost[place - side * n] < NEVER
            if asked and node.low[place] < min(node.few[place], node.high[place]):
                return place - side * n, side, NEVER
    return none


@inner
def few_leaves_may_show(ground, node, c, s, bound):
    """Whether counting trees of few leaves may show a bound of side s of column c."""
    place = s * node.numbers.columns + c
    if node.numbers.leaves >= 0 or not ground.plain or bound > min(node.few[place], 5 * ground.p):
        return False
    return node.low[place] < min(node.high[place], bound)


@inner
def raise_by_few_leaves(ground, node, scratch, c, s, needed):
    """Raise ``own`` and ``low`` of side s of column c, whose pairs are there, by what its trees of
    few leaves cost, up to ``needed``; False where that says nothing new.
    """
    place, p = s * node.numbers.columns + c, ground.p
    most = max(4 * p, min(needed, 5 * p))
    bound, found = bound_few_leaves(ground, node, scratch, c, s, most)
    if bound < most:
        node.few[place] = bound
    if node.numbers.depth < 0:
        node.high[place] = min(node.high[place], found)
    bound = min(bound, node.high[place])
    raised = bound > node.own[place]
    node.own[place] = max(node.own[place], bound)
    node.low[place] = max(node.low[place], bound)
    return raised


FINE, NO_PATH, NO_LIMITS, LEAF_COSTS, OPEN, MANY = range(6)
MOST_KEPT = 4096
"""Records of one set, under limits of which none is as loose as another's: what one more costs
is bounded by them.
"""


@jit(borrow=True, whole=True)
def check_records(ground, log, node, scratch, first, end):
    """Check records in their order; returns (number, reason) of the first that does not follow,
    which is the node's, or (end, FINE).

    first, end : numbers of records.
    """
    for number in range(first, end):
        at = log.start[number]
        depth = np.int64(log.words[at + 1])
        leaves = np.int64(log.words[at + 2])
        bound = bound_of(log.words, at)
        if depth < -1 or leaves < -1 or leaves == 0:
            return number, NO_LIMITS
        if not path_set(ground, log.words, at, node.mask):
            return number, NO_PATH
        # as many as there are objects are as good as any number
        leaves = min(leaves, max(np.int64(1), np.int64(ground.bits.shape[0])))
        log.mark[number] = mark_of(ground, node.mask)
        if known_of(ground, log, node.mask, log.mark[number], depth, leaves, scratch.path) < bound:
            enter(ground, log, node, scratch, depth, leaves)
            if node.numbers.leaf < bound:
                return number, LEAF_COSTS
            if count_columns(ground, log, at, node, scratch, bound, True) > 0:
                return number, OPEN
            if take_place(ground, log, number, node.mask, scratch.path) >= MOST_KEPT:
                return number, MANY
    return end, FINE
