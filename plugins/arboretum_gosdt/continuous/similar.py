"""Bounds from similar sets: rows on the same sides of other cuts of the same columns.

A set of rows that two or three cuts make is met again in every order of these cuts, and sets like
it are met more often still.  Those of the same columns and sides are a *family*; of each the last
ones are remembered, by what the sides of their cuts weigh among all rows.  With T a set that is
known, S another of its family, both with the same levels left, t_i and s_i the weights of the sides
of their cuts, and w(x) the weight of x (similar support, Lin et al. 2020, B.10)::

    loss(S) ≥ loss(T) − w(T ∖ S)
    w(T ∖ S) ≤ Σ_i max(t_i − s_i, 0)
    w(T ∖ S) = w(T) − w(S)                    where t_i ≥ s_i for all i: S is a subset of T

    bound_of_side:      the greatest of these bounds for a side of the cut at work, before it is
                        solved (d > 2) or measured (d = 2); without need for either where those of
                        both sides close the cut
    remember_side:      enter what was found for it

Invariants: a frame's ``literals``, 2 · column + side, are in order, and each has its weight; frames
that a cut of one with ``cuts`` k makes have k + 1, so that sets of a family have as many levels
left.  A family has one place; where there are fewer places than families, the one that came last
has it (``key``).  Of a family's sets the oldest is overwritten.

What they are worth at depth 4, in sets looked into, passes, and processor seconds: without them,
with families of two cuts, and with those of three::

    raisin     161,585  8,115,462   3.1     87,846  5,891,666   2.2    (a pass is short)
    segment    110,002  1,734,220  24.4     51,890  1,209,530  15.5    52,777  928,537  13.0
    room        28,450    379,878  11.6     15,867    235,075   6.5    16,795  139,543   4.4

At depth 3, where sides of two cuts are measured, they save a tenth to a fifth of the passes (fault
66,859 to 53,082, page 21,962 to 19,127).  With families by the order of their cuts, of which only
the other order is asked, raisin makes 7,105,063 passes.  A quarter of the weight in question is
proven beyond need (``frame.slack``): with an eighth segment takes 17.5 s in place of 16.0, with a
half 19.7.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import inline, inner
from arboretum_gosdt.continuous.parts import table_level, weight_up_to

Families = namedtuple("Families", "sets key count")
"""Sets by family.

sets : int32[places, 5, sets of a family]: weights of the sides of three cuts (0 where there are but
    two), weight of the set, bound of its loss.
key : int64[places], the family that has a place, and count, int64[places], how many sets of it were
    entered.
"""

FAR = 1 << 30
"""More than a set weighs: differences of three weights below half of it fit into 32 bits."""


@inline
def has_families(plan, tables, state, top):
    """Return whether the sides of a frame's cuts are looked up: of a frame that one or two cuts
    make, and at depth 2 where a pass takes longer than that.
    """
    cuts, table = state.frames[top].cuts, table_level(plan, top)
    if cuts < 1 or len(families_of(state, top).key) == 0:
        return False
    steps = plan.vectors * tables.shape[table, 1] * plan.classes
    return plan.depth - top > 2 or steps >= plan.long


@inline
def families_of(state, top):
    """Return the families that the sides of a frame's cuts belong to: of one cut more than make
    the frame.
    """
    return state.pairs if state.frames[top].cuts == 1 else state.triples


@inline
def literal_of_side(plan, tables, state, top, side):
    """Return the literal of a side of the cut at work, and what it weighs among all rows."""
    frame = state.frames[top]
    column = state.nodes[frame.a].column
    weight = weight_up_to(plan, tables, 0, column, frame.cut)
    return 2 * column + side, state.frames[0].weight - weight if side == 1 else weight


@inline
def family_of_side(plan, tables, state, top, side):
    """Write the weights of the cuts of a side of the cut at work to ``state.weights``, by literal;
    returns the family's key.
    """
    frame, weights = state.frames[top], state.weights
    literal, weight = literal_of_side(plan, tables, state, top, side)
    key, n, entered, at = np.int64(0), 2 * plan.columns, False, 0
    weights[2] = 0
    for k in range(frame.cuts):
        if not entered and literal < frame.literals[k]:
            weights[at], entered = weight, True
            key, at = key * n + literal, at + 1
        weights[at] = frame.weights[k]
        key, at = key * n + frame.literals[k], at + 1
    if not entered:
        weights[at], key = weight, key * n + literal
    weights[3] = frame.weight - frame.massed if side == 1 else frame.massed
    return key


@inner
def bound_of_side(plan, tables, state, top, side):
    """Return a lower bound of the loss of a side of the cut at work by what is known of its family;
    0 where nothing is.
    """
    families = families_of(state, top)
    key = family_of_side(plan, tables, state, top, side)
    at = key % len(families.key)
    if families.key[at] != key:
        return np.int64(0)
    sets, zero, far = families.sets[at], np.int32(0), np.int32(FAR)
    first, second, third, weight, loss = sets[0], sets[1], sets[2], sets[3], sets[4]
    a, b, c, mass = state.weights[0], state.weights[1], state.weights[2], state.weights[3]
    best = zero
    for k in range(min(families.count[at], np.int64(sets.shape[1]))):
        # numba makes sums of 64 bits of numbers of 32; a vector holds half as many of them
        x, y, z = np.int32(first[k] - a), np.int32(second[k] - b), np.int32(third[k] - c)
        gone = np.int32(max(x, zero) + max(y, zero) + max(z, zero))
        within = np.int32(weight[k] - mass) if min(min(x, y), z) >= zero else far
        best = max(best, np.int32(loss[k] - min(gone, within)))
    return np.int64(best)


@inner
def remember_side(plan, tables, state, top, side):
    """Enter the bound ``frame.low[side]`` of a side of the cut at work into its family."""
    frame = state.frames[top]
    families = families_of(state, top)
    key = family_of_side(plan, tables, state, top, side)
    place = key % len(families.key)
    if families.key[place] != key:
        families.key[place], families.count[place] = key, 0
    sets = families.sets[place]
    at = families.count[place] % sets.shape[1]
    families.count[place] += 1
    for k in range(4):
        sets[k, at] = state.weights[k]
    sets[4, at] = frame.low[side]


@inline
def inherit_literals(plan, tables, state, top, side):
    """Say of the frame above ``top`` which cuts make it: those of frame ``top``, and its cut at
    work; none where there is no room for more.
    """
    frame, child = state.frames[top], state.frames[top + 1]
    if frame.cuts < 0 or frame.cuts == len(frame.literals):
        return
    literal, weight = literal_of_side(plan, tables, state, top, side)
    at = frame.cuts
    while at > 0 and frame.literals[at - 1] > literal:
        child.literals[at], child.weights[at] = frame.literals[at - 1], frame.weights[at - 1]
        at -= 1
    child.literals[at], child.weights[at] = literal, weight
    for k in range(at):
        child.literals[k], child.weights[k] = frame.literals[k], frame.weights[k]
    child.cuts = frame.cuts + 1
