"""What is known of the sides of a set's tests, and the sets that are to be solved next: steps of
the search of trees of three levels and more (numba kernels).

Bounds of a side of a test of the set S, of trees of what depth is left::

    high = the best of one and two leaves                                       (pairs: exactly)
    low = high if no more than one level is left, or the side is one object
          else min(high, 3p + Σ alone)           where a set costs no less than its objects apart
    a tree of more leaves than (high − Σ alone) / p is dearer than high: so many levels less one
        are left at most                                                          (levels_left)
    both are tightened by what the memo has of the side                           (bound_sides)
    a side that is part of another T: low(T) ≥ low(side) + Σ alone of T without it   (share_bounds)
    next: the test of least low + low below the limit, of it the open side of more objects
                                                                                  (choose_sides)

The last bound needs no leaf's least rows: a tree of T is one of its part, whose leaves may be
empty.  Levels are counted from the best of one and two leaves, so that they are the set's alone,
and so is what the memo keeps of it.

What it was worth, in processor seconds (survival trees of ``anneal``, depth 4; 60 rows with 30 cuts
at any depth, λ = .2): all .105 and .37; without share_bounds .14 and .40; without Σ alone .14 and
more than 25; without the search by levels .10 and .60.

Invariants: low ≤ the least cost of a side ≤ high, up to rounding; low = high: solved.  ``tree`` of
a side is where a tree of cost ``high`` is found: a set's number in the memo, −1: a leaf, −2 − f:
the test f and two leaves.  Memo: numbers 0 … known − 1; a fingerprint stands for a set with the
depth that is left, never more than it has objects less one; lower rises, upper falls, and first,
one and rest are those of ``upper``: its first test (−1: a leaf), and trees of the objects inside it
and outside.

Where nothing else is said, sides is a Sides, written, memo a Memo; i and j are places of tests,
side is 1 inside and 0 outside.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import GOLDEN, find, find_or_enter

DEPTH_KEY = GOLDEN
"""Added to a fingerprint per remaining depth."""
LEAF = -1
NOTHING = -1e300
"""A bound that says nothing: it may be added to ∞."""


class Memo(NamedTuple):
    """Sets by number.

    slots : see fingerprints.
    lower, upper : float64, of the least cost.
    first, one, rest : int64, of the tree of ``upper``.
    """

    slots: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    first: np.ndarray
    one: np.ndarray
    rest: np.ndarray


class Sides(NamedTuple):
    """The sides of a node's tests.

    low, high, alone : float64[2, m], bounds, and the sum of ``alone``.
    objects, left : int64[2, m], and tests that may follow on a path.   tree : int64[2, m].
    inside : uint8[m, m] or of no length: whether sides are part of others, as in a SumsBatch.
    """

    low: np.ndarray
    high: np.ndarray
    alone: np.ndarray
    objects: np.ndarray
    left: np.ndarray
    tree: np.ndarray
    inside: np.ndarray


@inline
def levels_left(depth, objects, cost, alone, p, floor):
    """Return how many tests may follow on a path of a set that are worth their price.

    depth, objects : that may follow, and that there are.   cost : of a tree.
    alone : Σ of the objects; floor : whether that bounds.
    """
    left = min(depth, objects - 1)
    if floor and p > 0 and (cost - alone) / p < left + 1:
        # rounding must not take a level away
        left = max(0, min(left, np.int64((cost - alone) / p + 1e-6) - 1))
    return left


@inline(wraps=True)
def key_with_depth(one, depth):
    """Return the first word of a set's fingerprint, mixed with the depth of its trees."""
    return np.uint64(one) + DEPTH_KEY * np.uint64(depth)


@inline
def enter_words(memo, one, two, depth, known):
    """Return the number of the set of these words with its depth; it is ``known``, and nothing
    known of it, where it is new.
    """
    number = find_or_enter(memo.slots, key_with_depth(one, depth), two, known)
    if number == known:
        memo.lower[number], memo.upper[number], memo.first[number] = -np.inf, np.inf, LEAF
    return number


@jit(borrow=True, wraps=True)
def enter_set(memo, word, depth, known):
    """Return the number of a set, as :func:`enter_words` does.   word : uint64[2]."""
    return enter_words(memo, word[0], word[1], depth, known)


@jit(borrow=True, wraps=True)
def enter_side(memo, node, i, side, depth, known):
    """Return the number of a side of test i of a node, as :func:`enter_words` does."""
    one, two = word_of_side(node, i, side, 0), word_of_side(node, i, side, 1)
    return enter_words(memo, one, two, depth, known)


@inline(wraps=True)
def word_of_side(node, i, side, half):
    """Return a word of the fingerprint of a side of test i of a node."""
    word = node.word[i, half]
    return word if side == 1 else node.own[half] - word


@jit(borrow=True, wraps=True)
def bound_sides(batch, node, memo, sides, depth, p, floor):
    """Bound the sides of the tests of a node, which is the only set of a batch.

    depth : of its trees.   floor : whether sums of ``alone`` bound.
    Writes all of ``sides`` but ``inside``.
    """
    for i in range(len(node.test)):
        for side in range(2):
            alone, objects = node.alone_of[i], node.objects_of[i]
            if side == 0:
                alone, objects = node.alone[0] - alone, len(node.objects) - objects
            high, second = batch.two[0, side, i], batch.second[0, side, i]
            left = levels_left(depth - 1, objects, high, alone, p, floor)
            low, tree = high, np.int64(LEAF)
            if second >= 0:
                tree = -2 - node.test[second]
            if left >= 2:
                low = min(high, 3 * p + alone) if floor else NOTHING
                for less in range(min(2, left - 1)):
                    key = key_with_depth(word_of_side(node, i, side, 0), left - less)
                    number = find(memo.slots, key, word_of_side(node, i, side, 1))
                    if number >= 0:
                        known = memo.lower[number]
                        if less > 0:  # a deeper tree has so many leaves at least
                            known = min(known, (left + 1) * p + alone) if floor else NOTHING
                        low = max(low, known)
                        if memo.upper[number] < high:
                            high, tree = memo.upper[number], number
                low = min(low, high)
            sides.alone[side, i], sides.objects[side, i] = alone, objects
            sides.left[side, i] = left
            sides.low[side, i], sides.high[side, i], sides.tree[side, i] = low, high, tree
    if floor and len(sides.inside) > 0:
        for i in range(sides.low.shape[1]):
            for side in range(2):
                share_bound(sides, i, side)


@inner
def share_bound(sides, i, side):
    """Raise the bounds of the sides that side ``side`` of test i is part of."""
    mine, low, alone = sides.low[side, i], sides.low, sides.alone
    for j in range(sides.low.shape[1]):
        bits = sides.inside[i, j] >> (2 * (1 - side))
        for other in range(2):
            if bits >> (1 - other) & 1:
                bound = mine + alone[other, j] - alone[side, i]
                low[other, j] = max(low[other, j], min(bound, sides.high[other, j]))


@jit(borrow=True)
def keep_bounds(node, memo, sides, number):
    """Enter the best tree that is known of a node's sides, and what any that asks a test costs at
    least, in the memo, under the node's number.
    """
    best, least, bound = -1, memo.upper[number], np.inf
    for i in range(sides.low.shape[1]):
        cost = sides.high[0, i] + sides.high[1, i]
        if cost < least:
            best, least = i, cost
        bound = min(bound, sides.low[0, i] + sides.low[1, i])
    if best >= 0:
        memo.upper[number], memo.first[number] = least, node.test[best]
        memo.one[number], memo.rest[number] = sides.tree[1, best], sides.tree[0, best]
    memo.lower[number] = max(memo.lower[number], min(least, bound))


@jit(borrow=True)
def choose_sides(sides, limit, asked, most_objects):
    """Write the sides that are to be solved next to ``asked``; returns how many.

    limit : what a tree may cost, exclusively.
    asked : int64[2, most], place and side.
    most_objects : of all sides together.
    The first is that of the test of least bound; where two levels are left to it, others of such
    follow, by their bounds; else it is alone.
    """
    count, total, before, last = 0, 0, -np.inf, -1
    while count < asked.shape[1]:
        found, chosen, least = -1, 0, limit
        for i in range(sides.low.shape[1]):
            bound = sides.low[0, i] + sides.low[1, i]
            if bound >= least or bound < before or (bound == before and i <= last):
                continue
            side = 0 if sides.objects[0, i] >= sides.objects[1, i] else 1
            if sides.low[side, i] >= sides.high[side, i]:
                side = 1 - side
            if sides.low[side, i] < sides.high[side, i] and (
                count == 0 or sides.left[side, i] <= 2
            ):
                found, chosen, least = i, side, bound
        if found < 0:
            break
        total += sides.objects[chosen, found]
        if count > 0 and total > most_objects:
            break
        asked[0, count], asked[1, count] = found, chosen
        before, last, count = least, found, count + 1
        if sides.left[chosen, found] > 2:
            break
    return count


@jit(borrow=True, wraps=True)
def take_two_levels(batch, node, memo, sides, asked, known, floor):
    """Keep the best trees of two levels of the sets of a batch, which are the sides ``asked``:
    int64[2, sets]; returns how many sets are known then.
    """
    for b in range(batch.position[0].sets):
        m, best, first = batch.width[b], batch.cost[b], -1
        for i in range(m):
            cost = batch.two[b, 0, i] + batch.two[b, 1, i]
            if cost < best:
                best, first = cost, i
        key = key_with_depth(batch.own[b, 0], 2)
        number = find_or_enter(memo.slots, key, batch.own[b, 1], known)
        known = max(known, number + 1)
        memo.lower[number], memo.upper[number], memo.first[number] = best, best, LEAF
        if first >= 0:
            memo.first[number] = node.test[batch.at[b, first]]
            memo.one[number] = tree_of_side(batch, node, b, 1, first)
            memo.rest[number] = tree_of_side(batch, node, b, 0, first)
        if sides.low.shape[1] > 0:
            take_side(memo, sides, asked[0, b], asked[1, b], number, floor)
    return known


@inline
def tree_of_side(batch, node, b, side, i):
    """Return the tree of one or two leaves of a side."""
    second = batch.second[b, side, i]
    return np.int64(LEAF) if second < 0 else -2 - node.test[batch.at[b, second]]


@jit(borrow=True)
def take_side(memo, sides, i, side, number, floor):
    """Take what the memo has of a side."""
    low, high = sides.low, sides.high
    if memo.upper[number] <= high[side, i]:
        high[side, i], sides.tree[side, i] = memo.upper[number], number
    low[side, i] = min(max(low[side, i], memo.lower[number]), high[side, i])
    if floor and len(sides.inside) > 0:
        share_bound(sides, i, side)
