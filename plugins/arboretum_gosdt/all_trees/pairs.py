"""What the tests of a set of objects, and their pairs, say of the least costs of both sides of
every test, for all trees within a budget (numba kernels).

With n_c(x) the excess of answer c over the best one, summed over the objects x, side ℓ of test i,
and every second test j (B.2, B.6)::

    leaf(ℓ) = q · min over c of n_c(ℓ) + p
    two(ℓ) = 2 p + min over j of q · (min n_c(ℓ ∧ j) + min n_c(ℓ ∧ ¬j)) + price of j
    three(ℓ) = min over j of min(3 p + q · least of both cells, 4 p) + price of j, over all j with
        some excess in both cells: what splits off none is worth no leaf
    low(ℓ) = min(leaf, two, three), or what the memo knows;  high(ℓ) = min(leaf, two)
    several(ℓ) = min(two, three, low + p), of the trees that are no leaf

Pairs are counted test by test (``table`` has them so that those in the middle of a column come
first): what they say of one raises the bounds of all others, many of which are then above the
limit, and are not counted.

What d, i, j and side are: :mod:`.graph`.

Invariants: low ≤ least cost of a side ≤ high; low = high: it is solved.  Columns of ``sums`` go by
the tests that divide the set, in the order of ``levels.test[d]``; behind them, up to ``lanes`` of
the node, bounds hold anything.  numba checks no index: ``levels`` and ``scratch`` have room for all
tests.

Where nothing else is said, table is a GraphTable, only read; levels and scratch are GraphLevels and
GraphScratch, memo is a Memo, graph a Graph and state a record of STATE, all written.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import find
from arboretum_gosdt.all_trees.passes import (
    least_losses_of_few,
    least_losses_of_two,
    raise_siblings,
)
from arboretum_gosdt.all_trees.planes import (
    MASS,
    WORST,
    count_losses_of_pairs,
    count_pairs_of_test,
    sum_keys,
    sum_sides_of_tests,
)
from arboretum_gosdt.problem.kernels import ONE, REST, both_sides
from arboretum_gosdt.sparse.loop import depth_below, key_with_depth

NEVER = np.int64(1) << 60
"""The cost of what does not exist; two of them still add up."""


@jit(borrow=True)
def bound_sides_of_tests(table, levels, scratch, d, given):
    """Bound the least cost of both sides of every test of a set: by leaves, by pairs of tests, and
    by one another.

    The node of level d, its objects and its bits must be there; all other arrays of the level are
    written, and ``scratch``.  ``node.width`` is 0 where the set must be a leaf.

    given : whether ``first`` and ``sides`` of the table are the set's.
    """
    node = levels.node[d]
    n_answers, p, q = table.excess.shape[1], table.numbers.p, table.numbers.q
    node.child, node.width = -1, 0
    m = sum_sides_of_tests(table, levels, scratch, d)
    total = levels.total[d]
    least = total[0]
    for c in range(1, n_answers):
        least = min(least, total[c])
    node.leaf = node.best = q * least + p
    if m == 0 or node.depth < 1:
        return
    node.width = m
    depth, mass = depth_below(node.depth), total[n_answers + MASS]
    for i in range(m):
        f = levels.test[d, i]
        levels.test_cost[d, i] = table.price[f] * mass
        levels.known_bound[d, i] = table.first[f] if given else 0
    levels.keyed[d, :m] = False
    levels.paired[d, :m] = False
    bound_by_leaves(table, levels, d, ONE, depth)
    bound_by_leaves(table, levels, d, REST, depth)
    if given:
        take_known_sides(table, levels, d)
    refresh_bounds(levels, d)
    bound_all_by_pairs(table, levels, scratch, d)


@inner
def take_known_sides(table, levels, d):
    """Take what is known of the sides of the tests of the set."""
    for side in range(2):
        known, low, high = table.sides[side], levels.low[d, side], levels.high[d, side]
        for i in range(levels.node[d].width):
            cost = known[levels.test[d, i]]
            if cost >= 0:
                low[i] = high[i] = cost


@inner
def bound_all_by_pairs(table, levels, scratch, d):
    """Bound the tests that may be asked first by pairs, one after the other as ``turn`` has
    them.
    """
    node, place = levels.node[d], scratch.place
    place[:] = -1
    for i in range(node.width):
        place[levels.test[d, i]] = i
    for k in range(table.turn.shape[0]):
        i = place[table.turn[k]]
        if i >= 0 and not levels.paired[d, i] and is_asked(levels, d, i, cost_limit(node)):
            bound_by_pairs(table, levels, scratch, d, i)


@inner
def bound_by_leaves(table, levels, d, side, depth):
    """Bound the least cost of a side of every test by that of a leaf, and of two.

    depth : tests that may follow there.
    """
    sums, total, lanes = levels.sums[d], levels.total[d], levels.node[d].lanes
    worst, weight = table.excess.shape[1] + WORST, levels.weight[d, side]
    leaf, low, high = levels.leaf[d, side], levels.low[d, side], levels.high[d, side]
    p, q = table.numbers.p, table.numbers.q
    several = NEVER if depth < 1 else 2 * p
    leaf[:lanes] = NEVER
    for c in range(worst - WORST):
        of_one, of_all = sums[c], total[c]
        for i in range(lanes):
            leaf[i] = min(leaf[i], of_one[i] if side == ONE else of_all - of_one[i])
    of_one, of_all = sums[worst], total[worst]
    for i in range(lanes):
        weight[i] = of_one[i] if side == ONE else of_all - of_one[i]
    for i in range(lanes):
        leaf[i] = high[i] = q * leaf[i] + p
        low[i] = min(high[i], several)
    levels.several[d, side, :lanes] = several


@inner
def refresh_bounds(levels, d):
    """Compute the bounds of the trees by their first tests, and the best tree's cost, anew."""
    low_1, low_2 = both_sides(levels.low[d])
    high_1, high_2 = both_sides(levels.high[d])
    bound, known_bound, node = levels.bound[d], levels.known_bound[d], levels.node[d]
    test_cost, best = levels.test_cost[d], node.best
    for i in range(node.width):
        bound[i] = max(low_1[i] + low_2[i] + test_cost[i], known_bound[i])
    for i in range(node.width):
        best = min(best, high_1[i] + high_2[i] + test_cost[i])
    node.best = best


@inner
def take_bounds_from_memo(table, levels, scratch, memo, d, i):
    """Take what the memo knows of the sides of test i, for these and for those of other tests."""
    depth = depth_below(levels.node[d].depth)
    sum_keys(table, levels, d, i)
    higher = False
    for side in range(2):
        if is_open(levels, d, side, i):
            one, two = levels.side_key[d, side, i, 0], levels.side_key[d, side, i, 1]
            known = find(memo.slots, key_with_depth(np.uint64(one), depth), np.uint64(two))
            if known >= 0:
                low = levels.low[d, side, i]
                levels.low[d, side, i] = max(low, memo.lower[known])
                levels.high[d, side, i] = min(levels.high[d, side, i], memo.upper[known])
                higher |= low < levels.low[d, side, i]
    refresh_bound_of_test(levels, d, i)
    if higher and table.numbers.similar:
        count_pairs_of_test(table, levels, scratch, d, i)
        propagate_to_siblings(table, levels, scratch, d, i, True, True)


@inner
def bound_by_pairs(table, levels, scratch, d, i):
    """Bound the sides of test i by its pairs with all others, and the others' sides by them."""
    node, sums, total, both = levels.node[d], levels.sums[d], levels.total[d], scratch.both
    n_answers, p, q, m = table.excess.shape[1], table.numbers.p, table.numbers.q, node.width
    mass, found = total[n_answers + MASS], scratch.given
    two_free_answers = n_answers == 2 and table.numbers.free
    levels.paired[d, i] = True
    if two_free_answers:
        count_losses_of_pairs(table, levels, scratch, d, i)
        for c in range(2):
            found[c], found[2 + c] = sums[c, i], total[c] - sums[c, i]
        if depth_below(node.depth) < 2:
            found[4] = found[5] = NEVER
            least_losses_of_two(sums, both, found, sums.shape[1], node.lanes)
            found[2] = found[3] = NEVER
        else:
            least_losses_of_few(sums, both, found, sums.shape[1], node.lanes)
    else:
        count_pairs_of_test(table, levels, scratch, d, i)
    for side in range(2):
        high = levels.high[d, side, i]
        two, three = NEVER, NEVER
        if two_free_answers:
            two, three = q * found[side] + 2 * p, found[2 + side]
            # where no test splits anything off, q of them would not fit into 64 bits
            three = min(q * three + 3 * p, 4 * p) if three < NEVER else NEVER
        here = sums[n_answers + MASS, i] if side == ONE else mass - sums[n_answers + MASS, i]
        for j in range(0 if two_free_answers else m):
            one, rest = NEVER, NEVER
            for c in range(n_answers + 1):
                x = both[c, j]
                loss = sums[c, i] if side == ONE else total[c] - sums[c, i]
                x = x if side == ONE else sums[c, j] - x
                if c < n_answers:
                    one, rest = min(one, x), min(rest, loss - x)
                elif x == 0 or x == loss:
                    one = rest = NEVER  # it splits off nothing
            if one == NEVER:
                continue
            test_cost = table.price[levels.test[d, j]] * here
            two = min(two, q * (one + rest) + 2 * p + test_cost)
            three = min(three, min(q * min(one, rest) + 3 * p, 4 * p) + test_cost)
        if depth_below(node.depth) < 2:
            three = NEVER
        # one that leaves too few rows is a bound, and no tree
        low = max(levels.low[d, side, i], min(high, min(two, three)))
        if table.numbers.least <= 1:
            levels.high[d, side, i] = min(high, two)
        levels.low[d, side, i] = low
        levels.several[d, side, i] = min(min(two, three), low + p)
    refresh_bound_of_test(levels, d, i)
    if table.numbers.similar:
        propagate_to_siblings(table, levels, scratch, d, i, True, True)


@inline
def cost_limit(node):
    """Return what trees of a set may cost by a test that is still asked: all within its budget,
    where all are asked for, else only what beats the best tree known.
    """
    return node.budget if node.every else min(node.budget, node.best - 1)


@inline
def is_open(levels, d, side, i):
    """Return whether the least cost of a side of test i is not proven yet."""
    return levels.low[d, side, i] < levels.high[d, side, i]


@inline
def is_asked(levels, d, i, limit):
    """Return whether test i may be asked first within the limit, and a side of it is not solved."""
    return levels.bound[d, i] <= limit and (
        is_open(levels, d, ONE, i) or is_open(levels, d, REST, i)
    )


@inline
def cost_of_sides(costs, d, i):
    """Return what both sides of test i cost.

    costs : int64[levels, 2, tests], ``levels.low`` or ``levels.high``.
    """
    one, rest = both_sides(costs[d])
    return one[i] + rest[i]


@inline
def refresh_bound_of_test(levels, d, i):
    """Compute the bound of the trees that ask test i first, and the best tree's cost, anew.

    Writes ``levels.bound[d, i]`` and ``best`` of the node.
    """
    node, test_cost = levels.node[d], levels.test_cost[d, i]
    levels.bound[d, i] = max(cost_of_sides(levels.low, d, i) + test_cost, levels.known_bound[d, i])
    node.best = min(node.best, cost_of_sides(levels.high, d, i) + test_cost)


@inner
def propagate_to_siblings(table, levels, scratch, d, i, by_one, by_rest):
    """Raise the bounds of the sides S of all tests by those of sides T of test i, whose pairs were
    counted last: R(S) ≥ R(T) − q · w(T ∖ S) (B.10).

    by_one, by_rest : of which sides of i.
    Writes ``low`` and ``bound`` of level d; only where ``numbers.similar``: rows and prices do not
    count.
    """
    q, p, given = table.numbers.q, table.numbers.p, scratch.given
    one, rest, some = levels.low[d, ONE, i], levels.low[d, REST, i], False
    given[0] = q
    given[1] = given[2] = given[3] = given[4] = -NEVER
    if by_one and one > 2 * p:
        given[1], given[2], some = one, one - q * levels.weight[d, ONE, i], True
    if by_rest and rest > 2 * p:
        given[3], given[4], some = rest, rest - q * levels.weight[d, REST, i], True
    if some:
        raise_siblings(
            levels.low[d],
            levels.high[d],
            levels.bound[d],
            levels.known_bound[d],
            scratch.both[table.excess.shape[1] + WORST],
            levels.weight[d, ONE],
            given,
            levels.bound.shape[1],
            levels.node[d].lanes,
        )
