"""What the tests of a set of objects, and their pairs, say of the least costs of both sides of
every test, for all trees within a budget (numba kernels).

With n_c(x) the excess of answer c over the best one, summed over the objects x, side ℓ of test i,
and every second test j (B.2, B.6)::

    leaf(ℓ) = q · min over c of n_c(ℓ) + p
    two(ℓ) = 2 p + min over j of q · (min n_c(ℓ ∧ j) + min n_c(ℓ ∧ ¬j)) + price of j
    three(ℓ) = min over j of min(3 p + q · least of both cells, 4 p) + price of j
    low(ℓ) = min(leaf, two, three), or what the memo knows;  high(ℓ) = min(leaf, two)

What d, i, j and side are: :mod:`.graph`.

Invariants: low ≤ least cost of a side ≤ high; low = high: it is solved.  Columns of ``sums`` go by
the tests that divide the set, in the order of ``levels.test[d]``.  ``both`` and ``near`` hold rows
of the open tests only.  numba checks no index: ``levels`` and ``scratch`` have room for all tests.

Where nothing else is said, table is a GraphTable, only read; levels and scratch are GraphLevels and
GraphScratch, memo is a Memo, graph a Graph and state a record of STATE, all written.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import find
from arboretum_gosdt.problem.kernels import ONE, REST, weight_in_common
from arboretum_gosdt.sparse.loop import depth_below, key_with_depth

NEVER = np.int64(1) << 60
"""The cost of what does not exist; two of them still add up."""
MASS, ROWS, WORST = 2, 3, 4
"""Rows of ``GraphScratch.sums`` and ``side`` behind those of the answers and of both words of the
fingerprint: mass, training rows, the greatest excess of each object.
"""


@inner(wraps=True)
def sum_sides_of_tests(table, levels, scratch, d):
    """Sum excess, keys, mass, rows and the worst answer over the objects with outcome 1 of each
    test (``scratch.sums``) and over all (``scratch.side``), and list the tests that divide the set;
    returns how many.

    table, levels, scratch : GraphTable, GraphLevels and GraphScratch; d : the level of the set.
    Of all objects keys are not summed.  A test with fewer than ``numbers.least`` rows on a side is
    left out; ``levels.test[d]`` and the columns of ``sums`` keep the others, in their order.
    """
    outcome = table.outcome
    excess = table.excess
    sums = scratch.sums
    n_answers = table.excess.shape[1]
    mask = scratch.mask
    sums[:] = 0
    last, objects = outcome.shape[1], levels.objects[levels.first[d] : levels.first[d + 1]]
    for r in objects:
        for f in range(last):
            mask[f] = -np.int64(outcome[r, f])
        most = np.int64(0)
        for c in range(n_answers + 5):
            value = (
                excess[r, c]
                if c < n_answers
                else table.keys[r, c - n_answers]
                if c < n_answers + MASS
                else table.mass[r]
            )
            value = (
                table.rows[r]
                if c == n_answers + ROWS
                else most
                if c == n_answers + WORST
                else value
            )
            most = max(most, value) if c < n_answers else most
            if value != 0:
                for f in range(last):
                    sums[c, f] += value & mask[f]
    total, width = scratch.side, 0
    total[: n_answers + 5] = 0
    for r in objects:
        most = np.int64(0)
        for c in range(n_answers):
            total[c] += excess[r, c]
            most = max(most, excess[r, c])
        total[n_answers + WORST] += most
        total[n_answers + MASS] += table.mass[r]
        total[n_answers + ROWS] += table.rows[r]
    words, least = table.planes.shape[1], table.numbers.least
    for f in range(last):
        one, rest, rows = np.uint64(0), np.uint64(0), sums[n_answers + ROWS, f]
        for w in range(words):
            one |= levels.bits[d, w] & table.planes[f, w]
            rest |= levels.bits[d, w] & ~table.planes[f, w]
        if one != 0 and rest != 0 and rows >= least and total[n_answers + ROWS] - rows >= least:
            levels.test[d, width] = f
            for c in range(n_answers + 5):
                sums[c, width] = sums[c, f]  # of the tests kept, in their order
            width += 1
    return width


@inline
def add_masked(into, value, mask):
    """Add the value where the mask is −1, in the type of the lanes."""
    lane = into.dtype.type(value)
    for j in range(into.shape[0]):
        into[j] += lane & mask[j]


@inner
def count_pairs(table, levels, scratch, d, m, limit):
    """Sum ``excess[r, c]`` over the objects r of the set with both tests i and j into both[c, i,
    j], and the greatest excess into both[answers, i, j].

    m : tests j that divide the set; i are those of them that may be asked first within ``limit``
        and of which a side is not solved, listed in ``levels.open[d]``.
    ``scratch.both`` is flat, [answers + 1, m, m]; rows of other tests hold anything.
    """
    outcome = table.outcome
    excess = table.excess
    n_answers = table.excess.shape[1]
    open_tests = levels.open[d]
    bound = levels.bound[d]
    both, square, mask, n_open = scratch.both, m * m, scratch.narrow, 0
    for i in range(m):
        if bound[i] <= limit and (is_open(levels, d, ONE, i) or is_open(levels, d, REST, i)):
            open_tests[n_open] = i
            n_open += 1
            for c in range(n_answers + 1):
                both[c * square + i * m : c * square + i * m + m] = 0
    levels.node[d].open = n_open
    for at in range(levels.first[d], levels.first[d + 1]):
        r = levels.objects[at]
        for i in range(m):
            mask[i] = -np.int64(outcome[r, levels.test[d, i]])
        most = np.int64(0)
        for c in range(n_answers + 1):
            value = excess[r, c] if c < n_answers else most
            most = max(most, value)
            if value != 0 and (c < n_answers or n_answers > 2):
                for k in range(n_open):
                    i = open_tests[k]
                    if mask[i] != 0:
                        add_masked(both[c * square + i * m : c * square + i * m + m], value, mask)
    if n_answers <= 2:  # one of two excesses is 0
        for k in range(n_open):
            begin = open_tests[k] * m
            for c in range(n_answers):
                for j in range(begin, begin + m):
                    both[n_answers * square + j] += both[c * square + j]


@jit(borrow=True, wraps=True)
def bound_sides_of_tests(table, levels, scratch, memo, d):
    """Bound the least cost of both sides of every test of a set: by leaves, by the memo, by pairs
    of tests, and by one another.

    memo : read only.  The node of level d, its objects and its bits must be there; all other arrays
        of the level are written, and ``scratch``.  ``node.width`` is 0 where the set must be a
        leaf.
    """
    node = levels.node[d]
    n_answers = table.excess.shape[1]
    p = table.numbers.p
    q = table.numbers.q
    node.child, node.width, node.open = -1, 0, 0
    m = sum_sides_of_tests(table, levels, scratch, d)
    sums, total = scratch.sums, scratch.side
    least = total[0]
    for c in range(1, n_answers):
        least = min(least, total[c])
    node.leaf = node.best = q * least + p
    if m == 0 or node.depth < 1:
        return
    node.width = m
    depth, mass = depth_below(node.depth), total[n_answers + MASS]
    whole_table = levels.first[d + 1] - levels.first[d] == table.outcome.shape[0]
    for i in range(m):
        f = levels.test[d, i]
        levels.test_cost[d, i] = table.price[f] * mass
        levels.known_bound[d, i] = table.first[f] if whole_table else 0
        for side in range(2):
            weight = sums[n_answers + WORST, i]
            levels.weight[d, side, i] = weight if side == ONE else total[n_answers + WORST] - weight
            for word in range(2):
                key = sums[n_answers + word, i]
                levels.side_key[d, side, i, word] = key if side == ONE else node.key[word] - key
            leaf = NEVER
            for c in range(n_answers):
                leaf = min(leaf, sums[c, i] if side == ONE else total[c] - sums[c, i])
            leaf = q * leaf + p
            low, high = leaf if depth < 1 else min(leaf, 2 * p), leaf
            if low < high:
                known = find(
                    memo.slots,
                    key_with_depth(np.uint64(levels.side_key[d, side, i, 0]), depth),
                    np.uint64(levels.side_key[d, side, i, 1]),
                )
                if known >= 0:
                    low, high = max(low, memo.lower[known]), min(high, memo.upper[known])
            levels.low[d, side, i], levels.high[d, side, i] = low, high
        refresh_bound_of_test(levels, d, i)
    count_pairs(table, levels, scratch, d, m, cost_limit(node, d))
    both, near, square, priced = scratch.both, levels.near[d], m * m, False
    for i in range(m):
        priced |= table.price[levels.test[d, i]] != 0
    for k in range(node.open):
        i = levels.open[d, k]
        f = levels.test[d, i]
        for j in range(i * m, i * m + m):
            near[j] = both[n_answers * square + j]
        for side in range(2):
            two, three, high = NEVER, NEVER, levels.high[d, side, i]
            if levels.low[d, side, i] == high:
                continue
            here = sums[n_answers + MASS, i] if side == ONE else mass - sums[n_answers + MASS, i]
            if n_answers == 2 and not priced:
                one, rest = both[i * m : i * m + m], both[square + i * m : square + i * m + m]
                two, three = losses_of_two_and_three_leaves(
                    one,
                    rest,
                    sums[0, :m],
                    sums[1, :m],
                    sums[0, i],
                    sums[1, i],
                    total[0],
                    total[1],
                    side,
                )
                two, three = q * two + 2 * p, min(q * three + 3 * p, 4 * p)
            for j in range(m if n_answers != 2 or priced else 0):
                one, rest = NEVER, NEVER
                for c in range(n_answers):
                    x = both[c * square + i * m + j]
                    loss = sums[c, i] if side == ONE else total[c] - sums[c, i]
                    x = x if side == ONE else sums[c, j] - x
                    one, rest = min(one, x), min(rest, loss - x)
                test_cost = table.price[levels.test[d, j]] * here
                two = min(two, q * (one + rest) + 2 * p + test_cost)
                three = min(three, min(q * min(one, rest) + 3 * p, 4 * p) + test_cost)
            if depth < 2:
                three = NEVER
            # a second test that leaves the side whole costs more than a leaf; one that leaves too
            # few rows is a bound, and no tree
            low = min(high, min(two, three))
            high = min(high, two) if table.numbers.least <= 1 else high
            levels.low[d, side, i], levels.high[d, side, i] = max(levels.low[d, side, i], low), high
        refresh_bound_of_test(levels, d, i)
    if table.numbers.similar:
        for i in range(m):
            for side in range(2):
                propagate_to_siblings(table, levels, d, i, side)


@inner
def losses_of_two_and_three_leaves(one, other, first, second, with_1, with_2, all_1, all_2, side):
    """Return the least loss of two leaves on a side of a test, and the least of one leaf beside
    others (of three leaves and more), over all second tests, for two answers.

    one, other : int64[tests], excess of both answers on what the two tests share.
    first, second : int64[tests], on all with the second test.
    with_1, with_2 : on all with the first.
    all_1, all_2 : of the set.
    side : ONE or REST, the side of the first test.
    """
    two, three = NEVER, NEVER
    if side == ONE:
        for j in range(one.shape[0]):
            a, b = min(one[j], other[j]), min(with_1 - one[j], with_2 - other[j])
            two, three = min(two, a + b), min(three, min(a, b))
    else:
        rest_1, rest_2 = all_1 - with_1, all_2 - with_2
        for j in range(one.shape[0]):
            x, y = first[j] - one[j], second[j] - other[j]
            a, b = min(x, y), min(rest_1 - x, rest_2 - y)
            two, three = min(two, a + b), min(three, min(a, b))
    return two, three


@inline
def cost_limit(node, d):
    """Return what trees of the set of level d may cost by a test that is still asked: of a set that
    was taken, at level 0, all within its budget; below, only what beats the best tree known.
    """
    return node.budget if d == 0 else min(node.budget, node.best - 1)


@inline
def is_open(levels, d, side, i):
    """Return whether the least cost of a side of test i is not proven yet."""
    return levels.low[d, side, i] < levels.high[d, side, i]


@inline
def cost_of_sides(costs, d, i):
    """Return what both sides of test i cost.

    costs : int64[levels, 2, tests], ``levels.low`` or ``levels.high``.
    """
    return costs[d, ONE, i] + costs[d, REST, i]


@inline
def raise_bound_of_side(levels, d, side, i, lower):
    """Enter a lower bound of a side of test i; return whether it is higher than the known one."""
    low = levels.low[d, side, i]
    levels.low[d, side, i] = max(low, min(lower, levels.high[d, side, i]))
    return lower > low


@inline
def refresh_bound_of_test(levels, d, i):
    """Compute the bound of the trees that ask test i first, and the best tree's cost, anew.

    Writes ``levels.bound[d, i]`` and ``best`` of the node.
    """
    node, test_cost = levels.node[d], levels.test_cost[d, i]
    levels.bound[d, i] = max(cost_of_sides(levels.low, d, i) + test_cost, levels.known_bound[d, i])
    node.best = min(node.best, cost_of_sides(levels.high, d, i) + test_cost)


@inner
def propagate_to_siblings(table, levels, d, i, side):
    """Raise the bounds of the sides S of all open tests by that of one side T:
    R(S) ≥ R(T) − q · w(T ∖ S) (B.10).

    Writes ``low`` and ``bound`` of level d; only where ``numbers.similar``: rows and prices do not
    count.
    """
    m, q, low = levels.node[d].width, table.numbers.q, levels.low[d, side, i]
    if low <= 2 * table.numbers.p:
        return
    whole = levels.weight[d, side, i]
    for k in range(levels.node[d].open):
        j = levels.open[d, k]
        near = levels.near[d, j * m + i]
        common = weight_in_common(levels, d, side, j, near)
        one = raise_bound_of_side(levels, d, ONE, j, low - q * (whole - common))
        rest = raise_bound_of_side(levels, d, REST, j, low - q * common)
        if one or rest:
            refresh_bound_of_test(levels, d, j)
