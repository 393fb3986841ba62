"""The loop of the sparse search (numba kernel): branch and bound over sets of rows, with a stack of
nodes, a memo of bounds, and the order in which children are solved.

Contract of a node with a budget: on return its cost is known exactly, or its bound is above the
budget.  Costs are q · loss + p · leaves (+ prices), so that λ = p / q.  With s the set of rows on
top of the stack, lb and ub the bounds of its least cost (lb(child) = ``low``, ub(child) =
``upper``, ub(s) = ``node.best``)::

    push the set of all rows                                                       (begin_root)
    repeat:
        if s is new: if there is no room, or no work is left, return; else bound_by_features(s)
        if pairs of s are not counted: count them, or return in between; then bound_by_pairs(s)
                                                                                               (B.2)
        limit = min(budget of s, ub(s) − 1 (of all rows: + beyond))
        i = the most balanced feature with test_bound[i] ≤ limit, if node.least ≤ limit
        if there is such a feature, do the first of these that is still to be done for it:
            where tests have prices: the best two leaves of its children, exactly
                                                                                (cost_of_two_leaves)
            limit ≥ 5 p, or prices, or no bound ``three``: for all features with
                test_bound ≤ limit, ask the memo for both children      (look_up_children, B.8)
            if both children are solved: test_bound[i] = NEVER
            the best trees of three leaves, or of three and four, of a child that is not solved, if
                its budget is below 4 p, or 5 p (tighten_by_few_leaves; with prices a bound of those
                of three: tighten_by_three_leaves)
            push a child that is not solved (of two: child_solved_first), with the budget
                min(limit − test_cost(i) − lb(other child), ub(child) − 1)         (push_child)
        else:
            lb(s) = min(ub(s), max(node.least, min over f of test_bound[f]))
            memo(s) = lb(s), ub(s) and the test of ub(s); pop s                    (close_node)
            if s was the set of all rows, return
            lb and ub of s become those of a child of the set that is now on top
                                                                           (tighten_bounds_of_child)
            its other children's bounds follow
                                       (raise_bounds_of_supersets: G.1, propagate_to_siblings: B.10)

Invariants:

- Rows 0 … ``state.level`` of ``Levels`` are the stack.  ``node.child`` and ``node.side`` of a row
  say which child the next row is.  Rows behind the top are stale; only
  ``raise_bounds_of_supersets`` reads one, that of the node which was just closed.
- Of features that are alive: low ≤ least cost ≤ upper, and low = upper says that a child is solved.
  Lanes of features that are not alive hold anything, but ``bound_by_pairs`` makes their
  ``test_bound`` NEVER.
- ``test_bound[f]`` bounds the trees that ask f first and whose cost is not known; their three
  leaves or more on one side make it min(low₁ + many₀, many₁ + low₀) + test_cost.  NEVER: none is
  left.
- ``keys[f]`` is valid where ``seen[f]`` has QUERIED; before, it is what another node left there.
- ``memo`` has numbers 0 … ``state.known`` − 1; lower rises, upper falls.  A fingerprint stands for
  the rows together with the remaining depth (``key_with_depth``).  Its costs have what every label
  loses, those of the levels do not (``equivalent_cost_of_child``).
- numba checks no index.  So NEED_ROOM comes before a node is begun: the levels need a row for its
  child, the memo one number for every level, and at least half of ``slots`` stays free.  A log that
  could not take one entry for every level ends the slice (PAUSED).  The kernel returns only where
  the next call can go on.

Where nothing else is said, arguments are those of :mod:`.node`: data is a Data, only read; levels
and scratch are SparseLevels and SparseScratch, written; d is the level of a node, i and f are lanes
of its features, and side is 1 or 0; memo is a Memo, and state a record of STATE.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inner, jit
from arboretum.kernels.solving.fingerprints import GOLDEN, find, find_or_enter, prefetch
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_gosdt.sparse.bounds import (
    bound_three_leaves,
    cost_of_two_leaves,
    propagate_to_siblings,
    raise_bounds_of_supersets,
)
from arboretum_gosdt.sparse.expand import bound_by_features, bound_by_pairs, count_pairs
from arboretum_gosdt.sparse.few_leaves import least_losses_of_few_leaves
from arboretum_gosdt.sparse.node import (
    COUNTING,
    FOUR,
    FOUR_0,
    FOUR_1,
    FRESH,
    MEMO,
    NEVER,
    NEWLY,
    QUERIED,
    RANK,
    SUPERSET,
    THREE,
    THREE_0,
    THREE_1,
    TWO_0,
    TWO_1,
    UNLIMITED,
    raise_bound_of_test,
    test_cost_of,
)
from arboretum_gosdt.sparse.pair_counts import (
    greatest_within,
    has_prices,
    sum_numbers_where_feature,
)
from arboretum_gosdt.sparse.rows import begin_root, enter_child


class Memo(NamedTuple):
    """What is known of sets of rows.

    slots : see :mod:`arboretum.kernels.solving.fingerprints`.

    lower, upper : int64, by number.
    test : int32, feature that reaches ``upper``, −1 for a leaf.
    log : uint64[·, 3], fingerprint and number of the sets that were closed since others were told.
    """

    slots: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    test: np.ndarray
    log: np.ndarray


STATE = np.dtype(
    [
        ("level", "i8"),  # row of ``SparseLevels`` on top of the stack
        ("known", "i8"),  # sets in the memo
        ("expanded", "i8"),  # nodes, as often as each was
        ("logged", "i8"),  # sets in the log
        ("beyond", "i8"),  # how much more than the best first tests may cost that are solved
        ("begun", np.bool_),  # the root's features and fingerprint are there
    ],
    align=True,
)
NO_TREE = -3
"""Test of a set of which only a bound of its trees of three leaves and more is known: wherever
it is read, the best of fewer leaves is an upper bound.
"""
DEPTH_KEY = GOLDEN
"""Added to a fingerprint per remaining depth."""


@inner(wraps=True)
def key_with_depth(one, depth):
    """Return the first word of a set's fingerprint, mixed with the depth that its tree may have.

    one : uint64; the product wraps around on purpose.  Sets of the same rows with different
        remaining depths are entries of their own.
    """
    return one + np.uint64(depth) * DEPTH_KEY


@inner
def equivalent_cost_of_child(data, levels, d, i, side):
    """Return what every tree for child (side, i) costs by what it loses whatever its labels: the
    memo's costs have it, those of the levels do not.

    data, levels : see :mod:`.node`; i is a feature's lane on level d.
    """
    summed, weight = data.numbers.summed, np.int64(0)
    for k in range(data.numbers.classes, summed):
        with_i = np.int64(levels.counts[d, k * levels.node[d].stride + i])
        weight += with_i if side == 1 else np.int64(levels.totals[d, k]) - with_i
    return data.numbers.q * weight


@inner
def depth_below(depth):
    """Return the depth that remains to children of a node with so much."""
    return depth if depth == UNLIMITED else depth - 1


@inner
def tighten_bounds_of_child(data, levels, d, i, side, lower, upper):
    """Tighten the bounds of child (side, i) by a lower and an upper one, and what follows for the
    node: its best tree, its least cost, the bound of feature i.

    lower, upper : costs, without what every label loses.  A ``lower`` above the child's least known
        cost counts as that cost.
    Writes ``upper``, ``low``, ``many`` and ``test_bound`` of level d, and ``best``,
    ``best_feature`` and ``least`` of its node.
    """
    node, stride = levels.node[d], levels.node[d].stride
    place = side * stride + i
    levels.upper[d, place] = min(levels.upper[d, place], upper)
    lower = min(lower, levels.upper[d, place])
    levels.low[d, place] = max(levels.low[d, place], lower)
    levels.many[d, place] = max(levels.many[d, place], lower)
    # a tree for all rows serves fewer, but it may be one level deeper
    if data.numbers.bounds & SUPERSET != 0 and node.depth == UNLIMITED:
        node.least = max(node.least, lower)
    cost = levels.upper[d, i] + levels.upper[d, stride + i] + test_cost_of(data, levels, d, i)
    if cost < node.best:
        node.best, node.best_feature = cost, levels.features[d, i]
    raise_bound_of_test(data, levels, d, i)


@inner(wraps=True)
def fingerprint_children(data, levels, memo, d, i):
    """Write the fingerprint of child (1, i) into ``keys``, and prefetch the memo's slots of both
    children, which are read soon.

    Nothing says here that they are valid: the caller sets QUERIED in ``levels.seen[d, i]``.  The
    child of side 0 has the node's fingerprint minus this one, mod 2⁶⁴.
    """
    stride, n_words = levels.node[d].stride, levels.starts[d, data.factors.shape[0]]
    depth, mask = depth_below(levels.node[d].depth), np.uint64(memo.slots.shape[0] - 1)
    one = sum_numbers_where_feature(levels.words[d], stride, i, n_words, levels.sums[d])
    two = sum_numbers_where_feature(
        levels.words[d], stride, i, n_words, levels.sums[d, data.numbers.positions :]
    )
    levels.keys[d, i, 0], levels.keys[d, i, 1] = one, two
    prefetch(memo.slots, np.int64(key_with_depth(one, depth) & mask))
    prefetch(memo.slots, np.int64(key_with_depth(levels.node_key[d, 0] - one, depth) & mask))


@inner(wraps=True)
def find_children(levels, scratch, memo, d, i):
    """Write the numbers of both children of feature i in the memo into ``scratch.numbers``, −1
    where it has none, and prefetch their bounds.

    ``levels.keys[d, i]`` must be there.
    """
    depth, one, two = depth_below(levels.node[d].depth), levels.keys[d, i, 0], levels.keys[d, i, 1]
    for side in range(2):
        # fingerprints are sums: that of the other side is what the node has more
        a, b = (
            (one, two) if side == 1 else (levels.node_key[d, 0] - one, levels.node_key[d, 1] - two)
        )
        number = find(memo.slots, key_with_depth(a, depth), b)
        scratch.numbers[side * levels.node[d].stride + i] = number
        if number >= 0:
            prefetch(memo.lower, number)
            prefetch(memo.upper, number)


@inner(wraps=True)
def look_up_children(data, levels, scratch, memo, d, i):
    """Tighten the bounds of both children of feature i by what the memo knows of them.

    ``find_children`` wrote ``scratch.numbers``.  Siblings are bounded, too; ``scratch.cells`` is
    overwritten.
    """
    for side in range(2):
        number = scratch.numbers[side * levels.node[d].stride + i]
        if number >= 0:
            # bounds of the memo count what equal rows lose anyway, those of a level do not
            lower = memo.lower[number] - equivalent_cost_of_child(data, levels, d, i, side)
            tighten_bounds_of_child(
                data, levels, d, i, side, lower, memo.upper[number] - memo.lower[number] + lower
            )
            propagate_to_siblings(
                data,
                levels,
                scratch,
                d,
                i,
                side,
                min(lower, levels.upper[d, side * levels.node[d].stride + i]),
                False,
            )


@inner
def enter_in_memo(memo, state, one, two, lower, upper, test):
    """Enter bounds and test of a set into the memo, or tighten those that are there; returns its
    number.

    memo, state : written; ``state.known`` grows by 1 where the set is new.  There must be room for
        it.
    one, two : uint64, its fingerprint, mixed with the depth.
    lower, upper : costs with what every label loses.
    test : int32, the feature that reaches ``upper``; −1: a leaf, NO_TREE: there is only a bound.
    """
    number = find_or_enter(memo.slots, one, two, state.known)
    if number == state.known:
        state.known += 1
        memo.lower[number], memo.upper[number], memo.test[number] = lower, upper, test
    else:
        memo.lower[number] = max(memo.lower[number], lower)
        if upper < memo.upper[number]:
            memo.upper[number], memo.test[number] = upper, test
    return number


@inner
def close_node(data, levels, memo, state, d):
    """Enter bounds and test of the node of level d, which is solved, into memo and log; returns its
    number there.

    Its bound is the least ``test_bound`` of its features, but no less than ``node.least`` and no
    more than ``node.best``.  The log is written only where it has rows (searches of a team).
    """
    node, bound = levels.node[d], levels.node[d].best
    for f in range(node.n_features):
        bound = min(bound, levels.test_bound[d, f])
    bound = min(max(bound, node.least), node.best)
    one, two = key_with_depth(levels.node_key[d, 0], node.depth), levels.node_key[d, 1]
    more = np.int64(0)
    for k in range(data.numbers.classes, data.numbers.summed):
        more += data.numbers.q * np.int64(levels.totals[d, k])
    number = enter_in_memo(
        memo, state, one, two, bound + more, node.best + more, np.int32(node.best_feature)
    )
    if memo.log.shape[0] > 0:
        memo.log[state.logged, 0] = one
        memo.log[state.logged, 1] = two
        memo.log[state.logged, 2] = number
        state.logged += 1
    return number


@inner(wraps=True)
def push_child(data, levels, scratch, d, i, side, budget):
    """Make child (side, i) the node of level d + 1.

    budget : int64, what a tree for the child may cost to matter.
    ``levels.keys[d, i]`` must be there.  Level d + 1 is overwritten; ``node.child`` and
    ``node.side`` of level d say which child it is.
    """
    enter_child(data, levels, scratch, d, i, side)
    node, child = levels.node[d], levels.node[d + 1]
    node.child, node.side = i, side
    for word in range(2):
        key = levels.keys[d, i, word]
        levels.node_key[d + 1, word] = key if side == 1 else levels.node_key[d, word] - key
    child.state, child.budget, child.depth = FRESH, budget, depth_below(node.depth)
    child.least = levels.low[d, side * node.stride + i]


@inner
def tighten_by_three_leaves(data, levels, scratch, d, i, side):
    """Tighten the bounds of child (side, i) by the least cost of its trees of three leaves where
    tests have prices, by a bound of it; returns the work that took, 0 where nothing was looked
    for: a tree of three leaves costs 3p and a test at least, which the child cannot afford.

    A tree that has not three leaves or fewer has four or more, and costs ``4 p + floor`` at least;
    ``floor`` is the price of the cheapest test.

    Sets THREE_1 or THREE_0 in ``levels.seen[d, i]``, so that it is done once for each child, also
    where it was too much work.
    """
    p, place = data.numbers.p, side * levels.node[d].stride + i
    levels.seen[d, i] |= THREE_1 if side == 1 else THREE_0
    floor = levels.node[d].cheapest * levels.mass[d, place]
    cap = min(levels.upper[d, place], 4 * p + floor) - 1
    if cap < 3 * p + floor or levels.many[d, place] > cap:
        return np.int64(0)
    cost, work = bound_three_leaves(data, levels, scratch, d, i, side, cap - 3 * p - floor)
    if work < 0:
        return -work
    tighten_bounds_of_child(
        data,
        levels,
        d,
        i,
        side,
        lower=min(4 * p + floor, cost + 3 * p + floor),
        upper=levels.upper[d, place],
    )
    return work + 1


@inner(wraps=True)
def enter_bound_of_child(data, levels, memo, state, d, i, side):
    """Enter the lower bound of child (side, i) into the memo, where there is room beside that of
    the nodes on the stack.

    ``levels.keys[d, i]`` must be there.
    """
    room = state.known + levels.node.shape[0] + 1
    if room >= memo.lower.shape[0] or 2 * room >= memo.slots.shape[0]:
        return
    one, two = levels.keys[d, i, 0], levels.keys[d, i, 1]
    if side == 0:
        one, two = levels.node_key[d, 0] - one, levels.node_key[d, 1] - two
    one = key_with_depth(one, depth_below(levels.node[d].depth))
    bound = levels.low[d, side * levels.node[d].stride + i]
    bound += equivalent_cost_of_child(data, levels, d, i, side)
    number = find_or_enter(memo.slots, one, two, state.known)
    if number == state.known:
        state.known += 1
        memo.lower[number], memo.upper[number], memo.test[number] = bound, NEVER, NO_TREE
    else:
        memo.lower[number] = max(memo.lower[number], min(bound, memo.upper[number]))


@inner
def tighten_by_few_leaves(data, levels, scratch, memo, state, d, i, side, budget):
    """Tighten the bounds of child (side, i) by the least cost of its trees of three leaves, or of
    three and of four; returns the work that took, 0 where nothing was looked for, as it is known.

    budget : what a tree for the child may cost to matter.  From 4 p to 5 p trees of three leaves
        and of four are looked for up to it, else only those of three, up to 4 p.
    memo, state : what is found of four leaves is entered, for other nodes that have the child's
        rows.

    What has more leaves costs 4 p or 5 p at least.  Sets THREE_1, FOUR_1 … in
    ``levels.seen[d, i]``, so that each is done once for each child, also where it was too much
    work.
    """
    p, q, place = data.numbers.p, data.numbers.q, side * levels.node[d].stride + i
    if not 4 * p <= budget < 5 * p or data.numbers.bounds & FOUR == 0:
        leaves, cap = 4, min(levels.upper[d, place], 4 * p) - 1
    else:
        leaves, cap = 5, min(min(levels.upper[d, place] - 1, budget), 5 * p - 1)
        levels.seen[d, i] |= FOUR_1 if side == 1 else FOUR_0
    levels.seen[d, i] |= THREE_1 if side == 1 else THREE_0
    if cap < (leaves - 1) * p or levels.many[d, place] > cap:
        return np.int64(0)
    three, four, work = least_losses_of_few_leaves(
        data,
        levels,
        scratch,
        d,
        i,
        side,
        (cap - 3 * p) // q,
        (cap - 4 * p) // q if leaves == 5 else np.int64(-1),
    )
    if three >= 0:
        cost, upper = 3 * p + q * three, levels.upper[d, place]
        lower = min(leaves * p, cost)
        if leaves == 5:  # a tree that was found is laid out by entering the child
            lower = min(lower, 4 * p + q * max(four, 0))
        tighten_bounds_of_child(
            data,
            levels,
            d,
            i,
            side,
            lower=lower,
            upper=min(upper, cost) if leaves == 4 and cost <= cap else upper,
        )
        if leaves == 5 and levels.seen[d, i] & QUERIED != 0:
            enter_bound_of_child(data, levels, memo, state, d, i, side)
    return work + 400


@inner
def most_balanced_feature(levels, d, limit):
    """Return the most balanced feature whose bound does not exceed the limit, −1 where there is
    none.

    Bounds of balanced children say most about other children.

    limit : a cost; features with a higher ``test_bound`` cannot be asked first in a tree that
        matters.
    """
    node = levels.node[d]
    best = greatest_within(levels.rank[d], levels.test_bound[d], limit, node.n_features)
    return node.stride - best % RANK if best > 0 else np.int64(-1)


@inner
def child_solved_first(data, levels, d, i):
    """Return the side of the child of feature i that is solved first, of two that are open: what it
    costs limits the other.

    That of which fewer leaves are proven, or if these are as many, the one that can cost less
    (always that one: 4 % more sets and 6 % more time on thirteen problems of the sparse suite).
    """
    p, one, other = data.numbers.p, levels.node[d].stride + i, i
    few, many = levels.low[d, one] // p, levels.low[d, other] // p
    if few != many:
        return np.int64(1) if few < many else np.int64(0)
    return np.int64(1) if levels.upper[d, one] < levels.upper[d, other] else np.int64(0)


@inner
def take_step_for_feature(data, levels, scratch, memo, state, d, limit, i):
    """Take one step for feature i: ask the memo, look for small trees, or say which child is to be
    solved and with which budget.

    Returns (side, budget); side −1 where something was learnt and the node is to be looked at
    again, with the work that took for a budget.

    limit : what a tree that asks it first may cost to matter, the test's own cost included.
    memo, state : written, bounds are entered.  ``test_bound[i]`` becomes NEVER where both children
        are solved.
    """
    stride = levels.node[d].stride
    low = levels.low[d]
    upper = levels.upper[d]
    seen = levels.seen[d]
    again, use, priced = (np.int64(-1), np.int64(0)), data.numbers.bounds, has_prices(data.price)
    if seen[i] & (TWO_0 | TWO_1) != 0:
        for one in range(2):
            if seen[i] & (TWO_1 if one == 1 else TWO_0) != 0:
                cost, place = cost_of_two_leaves(data, levels, scratch, d, i, one), one * stride + i
                tighten_bounds_of_child(
                    data, levels, d, i, one, min(cost, levels.many[d, place]), cost
                )
        return again
    # else trees of three leaves settle every child, unless that was too much to do
    entered = limit >= 5 * data.numbers.p or use & THREE == 0 or priced
    if seen[i] & QUERIED == 0 and (entered or seen[i] & NEWLY != 0):
        for f in range(levels.node[d].n_features):
            if (levels.test_bound[d, f] <= limit or seen[f] & NEWLY != 0) and seen[
                f
            ] & QUERIED == 0:
                fingerprint_children(data, levels, memo, d, np.int64(f))
                seen[f] |= NEWLY
        # in turns of all features, so that memory answers one while others are asked
        for f in range(levels.node[d].n_features):
            if seen[f] & NEWLY != 0 and levels.test_bound[d, f] <= limit:
                find_children(levels, scratch, memo, d, np.int64(f))
        # of all features: what is known of one child bounds others
        for f in range(levels.node[d].n_features):
            if seen[f] & NEWLY != 0:
                seen[f] ^= NEWLY | QUERIED
                if levels.test_bound[d, f] <= limit and use & MEMO != 0:
                    look_up_children(data, levels, scratch, memo, d, np.int64(f))
        return again
    limit -= test_cost_of(data, levels, d, i)
    open_0, open_1 = low[i] < upper[i], low[stride + i] < upper[stride + i]
    if not open_0 and not open_1:
        levels.test_bound[d, i] = NEVER
        return again
    if open_0 and open_1:
        side = child_solved_first(data, levels, d, i)
    else:
        side = np.int64(1) if open_1 else np.int64(0)
    deep, p = levels.node[d].depth >= 3 and use & THREE != 0, data.numbers.p
    for turn in range(2):
        one = side if turn == 0 else 1 - side
        place = one * stride + i
        budget = min(limit - low[(1 - one) * stride + i], upper[place] - 1)
        untested = seen[i] & (THREE_1 if one == 1 else THREE_0) == 0
        if budget >= 4 * p and budget < 5 * p and use & FOUR != 0 and not priced:
            untested = seen[i] & (FOUR_1 if one == 1 else FOUR_0) == 0
        if deep and untested and budget >= 3 * p and (open_1 if one == 1 else open_0):
            took = (
                tighten_by_three_leaves(data, levels, scratch, d, i, one)
                if priced
                else tighten_by_few_leaves(data, levels, scratch, memo, state, d, i, one, budget)
            )
            if took > 0:
                propagate_to_siblings(data, levels, scratch, d, i, one, low[place], not priced)
                return np.int64(-1), took
    if seen[i] & QUERIED == 0:  # who enters a child needs its fingerprint
        seen[i] |= NEWLY
        return again
    place = side * stride + i
    return side, min(limit - low[(1 - side) * stride + i], upper[place] - 1)


@jit(borrow=True, whole=True)
def search(data, levels, scratch, memo, state, work):
    """Work on, some ``work`` nodes · words · features long; returns FINISHED, NEED_ROOM or
    PAUSED.

    data : Data.
    levels, scratch, memo, state : SparseLevels, SparseScratch, Memo and a record of STATE, all
        written; a later call with the same arrays goes on where this one stopped.
    work : int64; a node that is expanded takes 2000 of it, besides its pairs.
    """
    use = data.numbers.bounds
    if not state.begun:
        state.begun = True
        begin_root(data, levels, scratch)
    while True:
        d = state.level
        node = levels.node[d]
        if node.state == FRESH:
            # every node on the way from the root may be closed before the next is expanded
            soon = state.known + levels.node.shape[0]
            if (
                d + 2 >= levels.node.shape[0]
                or soon >= memo.lower.shape[0]
                or 2 * soon >= memo.slots.shape[0]
            ):
                return NEED_ROOM
            if work < 0 or (
                memo.log.shape[0] > 0 and state.logged + levels.node.shape[0] > memo.log.shape[0]
            ):
                return PAUSED
            state.expanded += 1
            work -= 2000
            bound_by_features(data, levels, scratch, d)
        if node.state == COUNTING:
            work = count_pairs(data, levels, scratch, d, work)
            if node.counted < node.n_features:
                return PAUSED
            bound_by_pairs(data, levels, scratch, d)
        limit = min(node.budget, node.best - 1 + (state.beyond if d == 0 else 0))
        i = most_balanced_feature(levels, d, limit) if node.least <= limit else np.int64(-1)
        if i >= 0:
            side, budget = take_step_for_feature(data, levels, scratch, memo, state, d, limit, i)
            if side >= 0:
                push_child(data, levels, scratch, d, i, side, budget)
                state.level = d + 1
                continue
            work -= budget
            if work < 0 and budget > 0:
                return PAUSED
            continue
        number = close_node(data, levels, memo, state, d)
        if d == 0:
            return FINISHED
        d -= 1
        state.level = d
        node = levels.node[d]
        i, side = node.child, node.side
        if use & SUPERSET != 0 and node.depth == UNLIMITED:
            raise_bounds_of_supersets(data, levels, d)
        more = equivalent_cost_of_child(data, levels, d, i, side)
        tighten_bounds_of_child(
            data, levels, d, i, side, memo.lower[number] - more, memo.upper[number] - more
        )
        propagate_to_siblings(
            data, levels, scratch, d, i, side, levels.low[d, side * node.stride + i], False
        )
