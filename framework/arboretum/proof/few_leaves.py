"""Losses of few leaves where there are two labels and nothing is counted but their weights (numba
kernels of the checker).

The general kernels are in :mod:`arboretum.proof.counting`; these say the same, and count trees of
three and four leaves besides.  With S a set, X the side of a test c on it, A and B the sides of a
test m on X, and t the most that a leaf saves which does not pay for itself::

    least_losses(X):                                    counts of X with each test f are there
        two ← least loss of two leaves, over the tests f of which both sides save more than t
        beside ← least loss of a leaf beside one that loses more than t, over these
        both ← whether both sides of one of these lose more than t
        (trees of three leaves and more cost 3p + beside, or 4p if ``both``)
    bound_few_leaves(X, most):                                             most: 4p or 5p
        low ← most
        for each test m of which both sides save more than t:
            if that may be less than low by what A and B lose as leaves:         (open_bound)
                count X with m and each test f; least_losses of A and of B     (losses_of_sides)
                low ← min(low, 3p + loss(A) + two(B), p + loss(A) + trees of three leaves of B
                               and more, where B loses more than t; the same of B and A;
                               4p + two(A) + two(B))
        no tree of X of three leaves or more costs less than low: what is left out has five

Invariants: losses and weights are multiples of what a saving of 1 is worth, and int32: eight
columns are counted at once.  All weights of the table stay below HALF.  The loops that count write
nothing, or one array: else the compiler gives up telling arrays apart, and counts columns one by
one.
"""

import numpy as np

from arboretum.kernels.bits import popcount
from arboretum.kernels.jit import inner

HALF = np.int32(1 << 29)
"""The loss of what does not exist; two of them still add up in 32 bits."""


@inner
def count_pairs(ground, node, c, m, s, pairs):
    """Write into ``pairs``, int32[2 · columns], what each label weighs where test m of side s of
    column c is 1, with each column; c = −1: of the whole node.
    """
    n, first = node.numbers.columns, np.int64(0)
    pairs[: 2 * n] = 0
    for g in range(ground.plane.shape[0]):
        plane, shift = ground.plane[g], np.int32(ground.shift[g])
        both = pairs[plane * n : (plane + 1) * n]
        for w in range(first, node.ends[g]):
            words = node.words[w * n : (w + 1) * n]
            word = words[m]
            if c >= 0:
                word &= words[c] if s == 1 else ~words[c]
            if word != 0:
                for f in range(n):
                    both[f] += np.int32(popcount(words[f] & word) << shift)
        first = node.ends[g]


@inner
def least_losses(n, pairs, whole_0, whole_1, pays):
    """(two, beside, both) of a set, int32, as above; HALF where there are none.

    pairs : int32[2 · n], what the labels of the set weigh with each column.
    whole_0, whole_1 : int32, and in all.
    """
    pairs_0, pairs_1 = pairs[:n], pairs[n : 2 * n]
    two, beside, both = HALF, HALF, np.int32(0)
    # no ``min``: the compiler would call it, and count columns one by one
    for f in range(n):
        one_0, one_1 = pairs_0[f], pairs_1[f]
        other_0, other_1 = np.int32(whole_0 - one_0), np.int32(whole_1 - one_1)
        one, other = one_0 if one_0 < one_1 else one_1, other_0 if other_0 < other_1 else other_1
        busy = ((one_0 > pays) | (one_1 > pays)) & ((other_0 > pays) | (other_1 > pays))
        open_one, open_other = busy & (one > pays), busy & (other > pays)
        loss = np.int32(one + other) if busy else HALF
        two = loss if loss < two else two
        loss = one if open_other else HALF
        beside = loss if loss < beside else beside
        loss = other if open_one else HALF
        beside = loss if loss < beside else beside
        loss = one if open_one & open_other else np.int32(0)
        both = loss if loss > both else both
    return two, beside, both


@inner
def losses_of_sides(n, ones, pairs, rest, with_0, with_1, whole_0, whole_1, pays):
    """:func:`least_losses` of side 1 of a test and then of side 0.

    ones, pairs : int32[2 · n], what the labels weigh with each column, of the set, and of side 1.
    rest : int32[2 · n], written.
    with_0, with_1, whole_0, whole_1 : int32, of side 1 in all, and of the set.
    """
    for f in range(2 * n):
        rest[f] = np.int32(ones[f] - pairs[f])
    one = least_losses(n, pairs, with_0, with_1, pays)
    without_0, without_1 = np.int32(whole_0 - with_0), np.int32(whole_1 - with_1)
    return one + least_losses(n, rest, without_0, without_1, pays)


@inner
def cost_of_more(ground, beside, both, never):
    """What trees of three leaves and more cost at least, by what :func:`least_losses` says."""
    cost = 3 * ground.p + beside * ground.unit if beside < HALF else never
    return min(cost, 4 * ground.p) if both > 0 else cost


@inner
def raise_similar(ground, node, scratch, c, s, bound, dear, t, low):
    """Raise ``low``, of side t of each column, by similarity (rules 4 and 5) to side s of the
    node's column c, which was counted last.

    bound : of side s of c.   dear : what rule 5 costs more than it does, NEVER where it may not be
        used.
    """
    n, unit, p = node.numbers.columns, np.int32(ground.unit), ground.p
    # what saves more costs less as a leaf of its own (rule 5)
    pays = np.int32(p // ground.unit) if dear == 0 else HALF
    ones, pairs = node.weights, scratch.pairs
    ones_0, ones_1, pairs_0, pairs_1 = ones[:n], ones[n : 2 * n], pairs[:n], pairs[n : 2 * n]
    # the cell is a side of c with side 1 of f, or what the side has besides
    rest = np.int32(0) if s == 1 else np.int32(-1)
    other = np.int32(0) if t == 0 else np.int32(-1)
    side_0 = ones[c] if s == 1 else np.int32(node.totals[0] - ones[c])
    side_1 = ones[n + c] if s == 1 else np.int32(node.totals[1] - ones[n + c])
    base_0, base_1 = np.int32(side_0 & other), np.int32(side_1 & other)
    for f in range(n):
        with_0 = np.int32(np.int32(ones_0[f] & rest) + np.int32(np.int32(pairs_0[f] ^ rest) - rest))
        with_1 = np.int32(np.int32(ones_1[f] & rest) + np.int32(np.int32(pairs_1[f] ^ rest) - rest))
        cell_0 = np.int32(base_0 + np.int32(np.int32(with_0 ^ other) - other))
        cell_1 = np.int32(base_1 + np.int32(np.int32(with_1 ^ other) - other))
        loss = cell_0 if cell_0 < cell_1 else cell_1
        leaf = (cell_0 > pays) | (cell_1 > pays)
        less = loss if leaf else np.int32(cell_0 + cell_1)
        reached = bound - (p if leaf else 0) - np.int64(less) * np.int64(unit)
        low[f] = reached if reached > low[f] else low[f]


@inner
def open_bound(p, loss_a, loss_b):
    """What trees of three leaves and more cost at least that begin with a test, by what its sides
    cost as leaves without the leaf: one side, or both, are divided.
    """
    bound = 4 * p if (loss_a > p) & (loss_b > p) else 5 * p
    if loss_b > p:
        bound = min(bound, 3 * p + loss_a)
    if loss_a > p:
        bound = min(bound, 3 * p + loss_b)
    return bound


@inner
def bound_few_leaves(ground, node, scratch, c, s, needed, most):
    """(bound, found): what no tree of three leaves or more costs less than, on side s of the node's
    column c, which was counted last, and at most ``most``; what a tree costs that was found.

    needed : a bound that is less says only that there is no better one.
    most : 4p or 5p, at least ``needed``.
    """
    n, p, unit, pays = (
        node.numbers.columns,
        ground.p,
        ground.unit,
        np.int32(ground.p // ground.unit),
    )
    ones, pairs, side = node.weights, scratch.pairs, scratch.side
    low, found, never = most, 5 * p, np.int64(1) << 60
    # what X has of each column
    rest = np.int32(0) if s == 1 else np.int32(-1)
    whole_0 = ones[c] if s == 1 else np.int32(node.totals[0] - ones[c])
    whole_1 = ones[n + c] if s == 1 else np.int32(node.totals[1] - ones[n + c])
    for f in range(2 * n):
        side[f] = np.int32((ones[f] & rest) + (pairs[f] ^ rest) - rest)
    for m in range(n):
        a_0, a_1 = side[m], side[n + m]
        b_0, b_1 = np.int32(whole_0 - a_0), np.int32(whole_1 - a_1)
        loss_a, loss_b = unit * min(a_0, a_1), unit * min(b_0, b_1)
        if min(max(a_0, a_1), max(b_0, b_1)) <= pays or open_bound(p, loss_a, loss_b) >= low:
            continue
        count_pairs(ground, node, c, m, s, scratch.few)
        losses = losses_of_sides(
            n, side, scratch.few, scratch.rest, a_0, a_1, whole_0, whole_1, pays
        )
        two_a = losses[0] * unit if (loss_a > p) & (losses[0] < HALF) else never
        two_b = losses[3] * unit if (loss_b > p) & (losses[3] < HALF) else never
        if loss_a > p:
            found = min(found, 3 * p + loss_b + two_a)
            low = min(low, p + loss_b + cost_of_more(ground, losses[1], losses[2], never))
        if loss_b > p:
            found = min(found, 3 * p + loss_a + two_b)
            low = min(low, p + loss_a + cost_of_more(ground, losses[4], losses[5], never))
        found = min(found, 4 * p + two_a + two_b)
        low = min(low, found)
        if low < needed:
            break
    return low, found
