"""Trees of least squared or absolute error + p · leaves: branch and bound over sets of rows, with a
memo (numba kernels).

All costs are whole numbers.  A leaf S costs Σ square − round(scale · (Σ w y)² / Σ w), or scale · Σ
w |y − median|; a leaf's price p comes on top. Objects are sorted by their target.  Bounds of a side
of a test: its best one and two leaves, exactly, from all pairs of tests; the least cost of any
division of its targets into intervals (k-means in one dimension, Zhang et al. 2023), when the side
is about to be entered; a tree for fewer rows costs no more, and a tree for a similar set serves
with what the rows between them can cost at most.  With s the set on top of the stack, k its leaves
at most (0: any number), ub(s) = ``node.ub``, low and high the bounds of a side::

    push the set of all objects
    repeat:
        if s is new: if there is no room, no work left or too little time, return; else
            two levels left, squared errors, no limit on rows or leaves that matters: solve
                it by pairs                                                (find_tree_of_two_levels)
            else: bound the sides of its tests by pairs and by the memo       (bound_sides_of_tests)
        limit = min(budget of s, ub(s) − 1)
        (i, a) = the most balanced test and a share of leaves for its side of outcome 1 with
            low₁[a] + low₀[k − a] ≤ limit, one of the two not solved       (most_balanced_open_test)
        if there is one:
            side = the lighter one that is not solved
            if its intervals were not counted: raise its low by them          (bound_by_intervals)
            else push it, with its share of leaves and the budget limit − low of the other
                                                                                         (push_side)
        else:
            lb(s) = min(ub(s), least low₁[a] + low₀[k − a] of all i and a)      (lower_bound_of_set)
            memo(s) = lb(s), ub(s), and the first test of ub(s) with its share a     (enter_in_memo)
            if s was the set of all objects, return lb(s); else pop s
            low and high of that side, for more and for fewer leaves, follow
                                                                            (tighten_bounds_of_side)
            so do low of the sides of all other tests (B.10)               (propagate_to_siblings)

Invariants:

- ``objects[first[d] : first[d + 1]]`` are those of level d in the order of their targets, which
  ``least_cost_of_intervals`` needs.  What is behind the top is room: ``bound_by_intervals`` and
  ``push_side`` lay a side there.
- low[side, i, k] ≤ least cost of the side with at most k leaves ≤ high[side, i, k]; equal: solved.
  Where leaves are not limited, k = 0 is the only place; where they are, it is not used.
- ``propagate_to_siblings`` and ``bound_by_intervals`` take ``slack`` off their bounds: what
  rounding may have added.
- ``memo``: numbers 0 … ``state.known`` − 1; a fingerprint stands for the objects with what depth
  and leaves are left (``key_with_limits``); lower rises, upper falls, and ``test`` and ``share``
  are those of ``upper`` (test −1: a leaf).
- numba checks no index: NEED_ROOM comes before a set is expanded where the memo could not take a
  set of every level; half of ``slots`` stays free.
- With PAUSED and TOO_LONG, ``state.bound`` is what level 0 proves of the whole so far.

Where nothing else is said, table is a RegressionTable, only read; levels and scratch are
RegressionLevels and RegressionScratch, written; d is the level of a set, i and j are places of
tests there, side is ONE or REST, and k is how many leaves a side may have.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import GOLDEN, find, find_or_enter
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_gosdt.problem.kernels import ONE, REST, TOO_LONG, lightest_side, weight_in_common
from arboretum_gosdt.regression.intervals import least_cost_of_intervals
from arboretum_gosdt.regression.pairs import (
    NEVER,
    NEW,
    count_pairs,
    deviations_of_cells,
    deviations_of_two_leaves,
    find_tree_of_two_levels,
    leaf_cost,
    savings_of_two_leaves,
    squares_saved_by_leaf,
    sum_sides_of_tests,
)

UNLIMITED = np.int64(1) << 20
"""Remaining depth where there is no limit."""
DEPTH_KEY, LEAVES_KEY = GOLDEN, np.uint64(0xD1B54A32D192ED03)
"""Added to a fingerprint per remaining depth, and per leaf."""


class Memo(NamedTuple):
    """Sets by number.

    slots : see fingerprints.
    lower, upper : int64, least cost.
    test, share : int64, the first test of the tree of ``upper``.
    """

    slots: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    test: np.ndarray
    share: np.ndarray


STATE = np.dtype(
    [
        ("level", "i8"),  # of the set on top
        ("known", "i8"),  # sets in the memo
        ("opened", "i8"),  # sets whose tests were counted in pairs
        ("bound", "i8"),  # no tree of all objects costs less
    ],
    align=True,
)
"""Where a search is."""


@inline(wraps=True)
def key_with_limits(one, depth, leaves):
    """Return the first word of a set's fingerprint, mixed with the limits of its trees.

    one : the word alone; depth : tests that may follow, UNLIMITED or more: any number.
    leaves : at most, 0: any number.
    """
    return (
        np.uint64(one)
        + LEAVES_KEY * np.uint64(leaves)
        + (DEPTH_KEY * np.uint64(depth) if depth < UNLIMITED else np.uint64(0))
    )


@inline
def depth_below(depth):
    """Return the depth that remains to a side of a set with so much."""
    return depth if depth >= UNLIMITED else depth - 1


@inner(wraps=True)
def bound_sides_of_tests(table, levels, scratch, memo, d):
    """Bound the least cost of both sides of every test of a set: by the memo, by pairs of tests,
    and by one another.

    table, levels, scratch, memo : see :mod:`.pairs` and above; the memo is only read.
    Writes the tests, bounds, fingerprints and weights of level d, and ``ub``, ``first`` and
    ``width`` of its node; ``width`` is 0 where the set must be a leaf.
    """
    node, p, absolute = levels.node[d], table.p, table.absolute
    node.child, node.width, node.first = -1, 0, -1
    node.leaf = node.ub = (
        leaf_cost(table, levels.objects[levels.first[d] : levels.first[d + 1]]) + p
    )
    if node.depth < 1 or node.leaves == 1 or node.leaf <= 2 * p:
        return
    m = sum_sides_of_tests(table, levels, scratch, d)
    node.width = m
    if m == 0:
        return
    sums, whole, both, square = scratch.sums, scratch.whole, scratch.both, m * m
    count_pairs(table, levels, scratch, d, m, True)
    if absolute:
        deviations_of_cells(table, levels, scratch, d, m)
        deviations_of_two_leaves(table, scratch, m)
    else:
        savings_of_two_leaves(table, scratch, m)
    for k in range(square):
        levels.near[d, k] = both[2, k]
    depth, leaves, scale = depth_below(node.depth), levels.low.shape[3], table.scale
    for i in range(m):
        for side in range(2):
            mine = sums[:, i]
            for word in range(2):
                levels.side_key[d, side, i, word] = (
                    mine[4 + word] if side == ONE else node.key[word] - mine[4 + word]
                )
            levels.weight[d, side, i] = mine[3] if side == ONE else whole[3] - mine[3]
            squares = mine[2] if side == ONE else whole[2] - mine[2]
            if absolute:
                leaf = np.int64(scale * scratch.cells[2, i, 1 - side, 1, m]) + p
                two = np.int64(scratch.two[side, i]) + 2 * p
                floor = squares
            else:
                total, weight = (
                    (mine[1], mine[0]) if side == ONE else (whole[1] - mine[1], whole[0] - mine[0])
                )
                leaf = (
                    squares
                    - np.int64(squares_saved_by_leaf(scale, np.float64(total), np.float64(weight)))
                    + p
                )
                two = squares - np.int64(scratch.two[side, i]) + 2 * p
                floor = np.int64(0)
            levels.seen[d, side, i] = 0
            for k in range(leaves):
                few = leaf if depth < 1 or k == 1 else min(leaf, two)
                low = few if depth < 2 or k == 1 or k == 2 else min(few, floor + 3 * p)
                high = few if table.least <= 1 else leaf
                if low < high:
                    known = find(
                        memo.slots,
                        key_with_limits(levels.side_key[d, side, i, 0], depth, k),
                        np.uint64(levels.side_key[d, side, i, 1]),
                    )
                    if known >= 0:
                        low, high = max(low, memo.lower[known]), min(high, memo.upper[known])
                levels.low[d, side, i, k], levels.high[d, side, i, k] = low, high
    for i in range(m):
        refresh_best_tree(levels, d, i)
    if table.similar:
        for i in range(m):
            for side in range(2):
                propagate_to_siblings(table, levels, d, i, side)


@inner
def refresh_best_tree(levels, d, i):
    """Keep the best tree by test i in the node of level d (``ub``, ``first``, ``given``), where it
    is better than the best so far, for every way to share its leaves.
    """
    node = levels.node[d]
    many = node.leaves
    for a in range(min(many, 1), max(many, 1)):
        cost = cost_of_sides(levels.high, d, i, a, many)
        if cost < node.ub:
            node.ub, node.first, node.given = cost, levels.test[d, i], a


@inline
def cost_of_sides(costs, d, i, a, many):
    """Return what both sides of test i cost, of ``many`` leaves a on that of outcome 1; both are 0
    where leaves are not limited.

    costs : int64[levels, 2, tests, leaves], ``levels.low`` or ``levels.high``.
    """
    return costs[d, ONE, i, a] + costs[d, REST, i, many - a]


@inline
def is_open(levels, d, side, i, k):
    """Return whether the least cost of a side of test i, of at most k leaves, is not proven yet."""
    return levels.low[d, side, i, k] < levels.high[d, side, i, k]


@inline
def raise_bound_of_side(levels, d, side, i, k, lower):
    """Enter a lower bound of a side of test i, of at most k leaves."""
    levels.low[d, side, i, k] = max(
        levels.low[d, side, i, k], min(lower, levels.high[d, side, i, k])
    )


@inner
def propagate_to_siblings(table, levels, d, i, side):
    """Raise the bounds of the sides S of all tests by that of one side T:
    R(S) ≥ R(S ∩ T) ≥ R(T) − worst(T ∖ S).

    worst is the most that rows can add to a tree (``levels.weight``); ``table.slack`` is taken off.
    For every number of leaves; writes ``levels.low[d]``.
    """
    m, slack = levels.node[d].width, table.slack
    for k in range(levels.low.shape[3]):
        low = levels.low[d, side, i, k] - slack
        if low <= 2 * table.p:
            continue
        whole = levels.weight[d, side, i]
        for j in range(m):
            near = levels.near[d, i * m + j]
            common = weight_in_common(levels, d, side, j, near)
            raise_bound_of_side(levels, d, ONE, j, k, low - (whole - common))
            raise_bound_of_side(levels, d, REST, j, k, low - common)


@inner
def tighten_bounds_of_side(table, levels, d, i, side, k, lower, upper):
    """Tighten the bounds of a side by those of its trees of at most k leaves: ``upper`` holds for
    more leaves as well, ``lower`` for fewer.

    k : 0 where leaves are not limited.
    Writes ``low`` and ``high`` of level d, and the best tree of its node.
    """
    low, high = levels.low[d, side, i], levels.high[d, side, i]
    for b in range(k, len(high)):
        if k > 0 or b == k:
            high[b] = min(high[b], upper)
    for b in range(min(k, 1), k + 1):
        low[b] = min(max(low[b], lower), high[b])
    refresh_best_tree(levels, d, i)


@inner
def push_side(table, levels, d, i, side, k, budget):
    """Push side ``side`` of test i (place in ``levels.test[d]``) as level d + 1: its rows, at most
    k leaves, cost ≤ ``budget``.

    Writes objects behind ``first[d + 1]``.
    """
    node, child, f, end = levels.node[d], levels.node[d + 1], levels.test[d, i], levels.first[d + 1]
    for at in range(levels.first[d], levels.first[d + 1]):
        r = levels.objects[at]
        levels.objects[end] = r
        end += (table.outcome[r, f] == 1) == (side == ONE)
    levels.first[d + 2] = end
    node.child, node.side, node.share = i, side, k
    child.budget, child.depth, child.leaves, child.child = budget, depth_below(node.depth), k, NEW
    for word in range(2):
        child.key[word] = levels.side_key[d, side, i, word]


@inner
def most_balanced_open_test(levels, d, limit):
    """Return (test, leaves of its side of outcome 1), the most balanced within the limit of which a
    side is not solved; test −1: none.

    limit : what a tree that asks the test first may cost; the balance is the weight of the lighter
        side.
    """
    found, given, most, many = np.int64(-1), np.int64(0), np.int64(-1), levels.node[d].leaves
    for i in range(levels.node[d].width):
        balance = levels.weight[d, lightest_side(levels, d, i), i]
        if balance > most:
            for a in range(min(many, 1), max(many, 1)):
                if cost_of_sides(levels.low, d, i, a, many) <= limit and (
                    is_open(levels, d, ONE, i, a) or is_open(levels, d, REST, i, many - a)
                ):
                    found, given, most = np.int64(i), np.int64(a), balance
    return found, given


@inner
def bound_by_intervals(table, levels, scratch, d, i, side):
    """Bound a side by intervals of its targets: at a price p' ≥ p of a leaf, less what that
    overcharges the most leaves that it may have.

    i : the test's place in ``levels.test[d]``; side : ONE or REST.
    Lays the side's objects behind ``first[d + 1]``, sets ``seen``, and raises ``low`` for every
    number of leaves.
    """
    f, end, p = levels.test[d, i], levels.first[d + 1], table.p
    for at in range(levels.first[d], levels.first[d + 1]):
        r = levels.objects[at]
        levels.objects[end] = r
        end += (table.outcome[r, f] == 1) == (side == ONE)
    levels.seen[d, side, i] = 1
    depth, many = depth_below(levels.node[d].depth), levels.low.shape[3] - 1
    most = np.int64(1) << min(depth, 20)
    most = min(most, many) if many > 0 else most
    price = max(np.float64(p), 2.0 * levels.high[d, side, i, many] / most / most / most)
    bound = (
        np.int64(
            least_cost_of_intervals(
                table, scratch, levels.objects[levels.first[d + 1] : end], price
            )
            - (price - p) * most
        )
        - table.slack
    )
    for k in range(many + 1):
        levels.low[d, side, i, k] = max(
            levels.low[d, side, i, k], min(bound, levels.high[d, side, i, k])
        )


@inner
def enter_in_memo(memo, state, node, lower):
    """Enter the bounds of a set and its first test into the memo; returns its number.

    node : NODE of the set, with its fingerprint and limits; ``ub`` is the upper bound, ``first``
        and ``given`` are its tree's.
    memo, state : written; there must be room for one set.
    """
    number = find_or_enter(
        memo.slots,
        key_with_limits(node.key[0], node.depth, node.leaves),
        np.uint64(node.key[1]),
        state.known,
    )
    if number == state.known:
        state.known += 1
        memo.lower[number], memo.upper[number] = 0, NEVER
    memo.lower[number] = max(memo.lower[number], lower)
    if node.ub < memo.upper[number]:
        memo.upper[number] = node.ub
        memo.test[number] = node.first
        memo.share[number] = node.given
    return number


@inner
def lower_bound_of_set(levels, d):
    """Return the proven bound of the set of level d: the least that any of its tests can cost, and
    no more than ``ub``.
    """
    node = levels.node[d]
    many, lower = node.leaves, node.ub
    for i in range(node.width):
        for a in range(min(many, 1), max(many, 1)):
            lower = min(lower, cost_of_sides(levels.low, d, i, a, many))
    return lower


@jit(borrow=True)
def search(table, levels, scratch, memo, state, work, most):
    """Work on, some ``work`` objects · tests² long; returns FINISHED, NEED_ROOM or PAUSED, or
    TOO_LONG where the next set alone takes ``most``.

    table : RegressionTable.
    levels, scratch, memo : written; another call with the same arrays (or a longer memo) goes on
        where this one stopped.
    state : STATE[1], written; ``bound`` is the least cost after FINISHED.
    """
    now = state[0]
    tests = table.outcome.shape[1]
    short = not table.absolute and table.least <= 1
    while True:
        d = now.level
        node = levels.node[d]
        if node.child == NEW:
            soon = now.known + d + 2
            if soon >= memo.lower.shape[0] or 2 * soon >= memo.slots.shape[0]:
                return NEED_ROOM
            if work < 0:
                now.bound = lower_bound_of_set(levels, 0) if d > 0 else now.bound
                return PAUSED
            step = (levels.first[d + 1] - levels.first[d]) * tests * tests // 8
            if step > most:
                now.bound = lower_bound_of_set(levels, 0) if d > 0 else now.bound
                return TOO_LONG
            work -= 1000 + step
            now.opened += 1
            if node.depth == 2 and short and (node.leaves == 0 or node.leaves > 3):
                find_tree_of_two_levels(table, levels, scratch, d)
            else:
                bound_sides_of_tests(table, levels, scratch, memo, d)
        limit = min(node.budget, node.ub - 1)
        i, a = most_balanced_open_test(levels, d, limit)
        if i >= 0:
            side = lightest_side(levels, d, i)
            if not is_open(levels, d, side, i, a if side == ONE else node.leaves - a):
                side = 1 - side
            k = a if side == ONE else node.leaves - a
            other = levels.low[d, 1 - side, i, node.leaves - k]
            if levels.seen[d, side, i] == 0:
                bound_by_intervals(table, levels, scratch, d, i, side)
                continue
            push_side(table, levels, d, i, side, k, limit - other)
            now.level = d + 1
            continue
        number = enter_in_memo(memo, now, node, lower_bound_of_set(levels, d))
        if d == 0:
            now.bound = memo.lower[number]
            return FINISHED
        d -= 1
        now.level = d
        node = levels.node[d]
        i, side, k = node.child, node.side, node.share
        tighten_bounds_of_side(table, levels, d, i, side, k, memo.lower[number], memo.upper[number])
        if table.similar:
            propagate_to_siblings(table, levels, d, i, side)
