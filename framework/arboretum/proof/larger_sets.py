"""What larger sets say of the sides of a set's columns (numba kernel of the checker).

With N the set of a record, whose path has the literal j, P the set of the path without j, and T and
S the sides of one column on P and on N, so that S is a part of T::

    inherit_sides:
        for each of the last literals j of the path:
            P ← the objects of the path without j
            for each side of a column that is open:
                if a record says more of T than ``low`` of S:
                    low of S ← what it says, less what T ∖ S can cost          (rules 4 and 5)

Invariants: only records that are known count, so that the checker, which knows all that was known
when the record was written, finds no less of a column that it asks for; it asks for all before it
gives up, as others were open then.  ``own`` stays as it is: what is inherited goes no further.

It is worth a third to a half of the records (of coupon_carryout λ=.02 107,722 remain of 165,364, of
anneal λ=.01 28,879 of 55,976): the searches inherit bounds from the node above in the same way.
"""

import numpy as np

from arboretum.kernels.bits import popcount
from arboretum.kernels.jit import inner
from arboretum.proof.records import known_of, literal_of, part, slot_of
from arboretum.proof.sets import fewer, levels_of, mark_sides, mass_of

LITERALS = 16
"""Literals of a path that are left out in turn, at most, so that a long path takes no time."""


@inner
def sets_without(ground, words, at, j, whole, gone):
    """Write the objects of the path at a word without its literal j into ``whole``, and those of
    them that the literal takes off into ``gone``.
    """
    for w in range(whole.shape[0]):
        whole[w] = ground.everything[w]
    for k in range(words[at]):
        if k != j:
            literal = literal_of(ground, words, at, k)
            part(ground, whole, literal >> 1, literal & 1, whole)
    literal = literal_of(ground, words, at, j)
    part(ground, whole, literal >> 1, 1 - (literal & 1), gone)


@inner
def count_mask(ground, mask, planes):
    """Write into ``planes`` what each plane counts in a mask."""
    planes[:] = 0
    for g in range(ground.plane.shape[0]):
        members, count = ground.members[g], np.int64(0)
        for w in range(mask.shape[0]):
            count += popcount(mask[w] & members[w])
        planes[ground.plane[g]] += count << ground.shift[g]


@inner(wraps=True)
def inherit_sides(ground, log, at, node, scratch, goal):
    """Raise ``low`` of the sides of open columns by similarity to the same sides of larger sets.

    at : word where the path of the node's set is spelled.
    goal : ``scratch.joined`` is below it where a column is open.
    """
    n, last, endless = node.numbers.columns, np.int64(log.words[at]), node.numbers.leaves < 0
    if ground.least > 1:
        return
    for j in range(max(np.int64(0), last - LITERALS), last):
        sets_without(ground, log.words, at, j, scratch.whole, scratch.gone)
        mark = mark_sides(ground, log, node, scratch, scratch.whole, goal)
        price = ground.price[literal_of(ground, log.words, at, j) >> 1]
        for c in range(n):
            for s in range(2 if scratch.joined[c] < goal else 0):
                here, place = scratch.marks[c] if s == 1 else mark - scratch.marks[c], s * n + c
                settled = endless and node.low[place] >= node.high[place]  # its cost is known
                if not settled and log.slots[slot_of(log, here), 0] != 0:
                    inherit_side(ground, log, node, scratch, c, s, here, price)


@inner
def inherit_side(ground, log, node, scratch, c, s, mark, price):
    """Raise ``low`` of side s of column c by what is known of the same side of ``scratch.whole``,
    with the fingerprint ``mark``.

    price : of the test that takes ``scratch.gone`` off.
    """
    numbers = node.numbers
    below = max(numbers.depth - 1, np.int64(-1))
    part(ground, scratch.whole, node.columns[c], s, scratch.mask)
    for level in range(levels_of(numbers.leaves)):
        few, place = fewer(numbers.leaves, level), (2 * level + s) * numbers.columns + c
        known = known_of(ground, log, scratch.mask, mark, below, few, scratch.path)
        if known <= node.low[place]:
            continue
        part(ground, scratch.gone, node.columns[c], s, scratch.path)
        count_mask(ground, scratch.path, scratch.planes)
        whole, best, mass = np.int64(0), np.int64(0), scratch.planes[ground.labels + 1]
        for k in range(ground.labels):
            whole, best = whole + scratch.planes[k], max(best, scratch.planes[k])
        less = whole * ground.unit + numbers.path * mass
        if numbers.depth < 0 and numbers.leaves < 0:
            test_cost = price * (mass + mass_of(ground, node, c, s))
            less = min(less, ground.p + (whole - best) * ground.unit + test_cost)
        node.low[place] = max(node.low[place], known - less)
