"""Bounds that the nodes of a sparse search propagate to one another, and trees of few leaves below
a child (numba kernels).

With S, T sets of rows, R(S) the least cost q · loss + p · leaves, w(x) the weight of x, bounds are
propagated by::

    R(S) ≥ R(T) − q · w(T ∖ S)             similar support (B.10): a tree for S serves T
    R(S) ≥ R(T) − (p + q · loss(T ∖ S))    divided: T is divided by a test first, one side is T ∖ S
    R(S) ≥ R(T) for T ⊂ S                  subset (G.1)

    inherit_bounds_from_parent:
        from T, a child of the parent, to S, the child of the same literal here
    propagate_to_siblings:
        from T = child (side, i) that is known, to S, the children of all features f
    raise_bounds_of_supersets:
        from the children of the node that was solved, to those of its parent
    bound_three_leaves:
        where tests have prices, for every cell with or without f that can be a leaf beside a
        divided one: the least loss of that leaf + of the best two leaves for the rest

What B.10 takes off has a path's price for the mass of T ∖ S added where tests have prices; the
second bound then pays for the test that divides T.  It asks one level more than the tree for S, so
it holds only without a limit of depth.

Where leaves have a least mass, a tree for S serves T only if S lies within T: elsewhere a part of a
leaf may be too light.  So the first bound holds for such sets, from the parent's children always,
and the second and the third do not.

Invariants: ``low`` is only raised, and never above ``upper``.  ``many`` may be above it: it is of
trees of three leaves and more.  All but ``raise_bounds_of_supersets`` write ``scratch.cells``.
``bound_three_leaves`` gives up after ``numbers.three_work`` steps, and then tells nothing.

Where nothing else is said, arguments are those of :mod:`.node`: data is a Data, only read; levels
and scratch are SparseLevels and SparseScratch, written; d is the level of a node, i and f are lanes
of its features, and side is 1 or 0.
"""

import numpy as np

from arboretum.kernels.jit import inner
from arboretum_gosdt.sparse.masked_counts import mark_leaf_candidates, raise_similar
from arboretum_gosdt.sparse.node import (
    NEVER,
    SIMILAR,
    SPLIT_FIRST,
    TWO_0,
    TWO_1,
    UNLIMITED,
    evaluate_cells_of_child,
    test_cost_of,
    words_of_level,
)
from arboretum_gosdt.sparse.pair_counts import (
    has_prices,
    least_loss_of_two_leaves,
    lowest_bit,
    mask_rows_with_feature,
)


@inner
def inherit_bounds_from_parent(data, levels, scratch, d):
    """Bound the children of the node of level d by the bounds of its parent's children.

    Child T of the parent has the rows of child S of the same literal here, and those that the other
    side of the parent's test took away: a tree for S serves T at their cost, or with a leaf for
    them, one level deeper (as in ``propagate_to_siblings``).

    d : at least 1; level d − 1 holds the parent, with its counts.  ``many`` of level d is set,
        ``low`` only raised; ``scratch.cells`` and ``part`` are overwritten, and ``test_bound``,
        which ``bound_by_pairs`` writes anew.
    """
    q = data.numbers.q
    p = data.numbers.p
    support = data.numbers.support
    above = levels.node[d - 1]
    path, tested = levels.node[d].path, levels.features[d - 1, above.child]
    evaluate_cells_of_child(data, levels, scratch, d - 1, above.child, 1 - above.side)
    if above.depth != UNLIMITED or data.numbers.bounds & SPLIT_FIRST == 0:
        support = NEVER
    wide = above.stride
    stride = levels.node[d].stride
    n = levels.node[d].n_features
    found = scratch.cells
    lane = levels.lane[d]
    upper, low, many = levels.upper[d], levels.low[d], levels.many[d]
    never = np.int64(scratch.never[0])
    less, part = levels.test_bound[d], scratch.part
    for side in range(2):
        # each loop writes one array, so that it is made of vectors
        mine, theirs = (
            slice(side * stride, side * stride + n),
            slice(side * wide, (side + 1) * wide),
        )
        gone = found[(1 - side) * 2 * wide :]
        loss, saved = part[:n], part[stride : stride + n]
        two, bound = levels.two[d, mine], many[mine]
        move_lanes(gone, lane, stride == wide, loss)
        move_lanes(gone[wide:], lane, stride == wide, saved)
        move_lanes(levels.two[d - 1, theirs], lane, stride == wide, two)
        move_lanes(levels.low[d - 1, theirs], lane, stride == wide, bound)
        for f in range(n):
            lost, kept = np.int64(loss[f]), np.int64(saved[f])
            less[f] = p + q * lost if kept >= support else q * (lost + kept)
        for f in range(n):
            known, taken = np.int64(two[f]), np.int64(loss[f]) + np.int64(saved[f])
            two[f] = known if known == never else max(known - taken, 0)
        if has_prices(data.price):
            for f in range(n):
                lost, old = np.int64(loss[f]), side * wide + lane[f]
                path_of_f = path * scratch.gone[lane[f] if side == 1 else wide + lane[f]]
                less[f] = q * (lost + np.int64(saved[f])) + path_of_f
                if support != NEVER:
                    divided = data.price[tested] * levels.mass[d - 1, old]
                    less[f] = min(less[f], p + q * lost + divided)
        for f in range(n):
            bound[f] = bound[f] - less[f]
        lower, most = low[mine], upper[mine]
        for f in range(n):
            lower[f] = max(lower[f], min(bound[f], most[f]))


@inner
def move_lanes(values, lane, same, found):
    """Write the values of the level above into the lanes of this one.

    lane : of a feature on the level above; same : whether it is every feature's own.
    found : out, by feature.
    """
    if same:
        for f in range(found.shape[0]):
            found[f] = values[f]
    else:
        for f in range(found.shape[0]):
            found[f] = values[lane[f]]


@inner
def propagate_to_siblings(data, levels, scratch, d, i, side, value, ready):
    """Bound the children of other features, which have most of its rows, by a bound of child (side,
    i).

    With T the rows of the one, S of the other: a tree for S serves T, at the cost of the rows T ∖ S
    (similar support, B.10).  Or T is divided by S's literal first, and T ∖ S becomes a leaf: its
    loss and a leaf, one level deeper.

    value : a lower bound of child (side, i), in costs.
    ready : whether ``scratch.cells`` are those of the child already.
    Does nothing without the bound ``similar``.  Raises ``low``, ``many`` and ``test_bound`` of all
    lanes of level d; lanes that are not alive get numbers that nobody reads.
    """
    q, p, support = data.numbers.q, data.numbers.p, data.numbers.support
    node, found = levels.node[d], scratch.cells
    stride, path = node.stride, node.path
    if data.numbers.bounds & SIMILAR == 0:
        return
    if not ready:
        evaluate_cells_of_child(data, levels, scratch, d, i, side)
    if node.depth != UNLIMITED or data.numbers.bounds & SPLIT_FIRST == 0:
        support = NEVER
    low, many, upper, test_bound = (
        levels.low[d],
        levels.many[d],
        levels.upper[d],
        levels.test_bound[d],
    )
    if not has_prices(data.price):
        support = min(support, np.int64(scratch.never[0]))
        raise_similar(found, stride, low, many, upper, test_bound, value, p, q, support)
        return
    mass, size = levels.mass[d], levels.mass[d, side * stride + i]
    for other in range(2):
        out = 2 * stride if other == 1 else 0  # T without f where S has it
        for f in range(stride):
            loss = np.int64(found[out + f])
            saved = np.int64(found[out + stride + f])
            place, gone = other * stride + f, scratch.gone[out // 2 + f]
            if data.numbers.least > 1 and mass[place] + gone > size:
                continue  # S has rows that T has not: its leaves may be too light there
            less = q * (loss + saved) + path * gone
            if support != NEVER and f < node.n_features:
                less = min(less, p + q * loss + data.price[levels.features[d, f]] * size)
            many[place] = max(many[place], value - less)
            low[place] = max(low[place], min(value - less, upper[place]))
    for f in range(stride):
        test_bound[f] = max(
            test_bound[f],
            min(low[stride + f] + many[f], many[stride + f] + low[f])
            + test_cost_of(data, levels, d, f),
        )


@inner
def allow_two_leaves(data, scratch, stride, f):
    """Return whether the cells with and without f, whose mass is in ``scratch.gone``, may both be
    leaves.
    """
    return min(scratch.gone[f], scratch.gone[stride + f]) >= data.numbers.least


@inner
def raise_bounds_of_supersets(data, levels, d):
    """Raise ``low`` and ``many`` of the children of level d by those of the node just closed, still
    in row d + 1: its children have fewer rows, and cost no more (G.1).

    Only without a limit of depth, else level d's children have one level more.

    ``levels.lane[d + 1]`` says which feature of level d each of its lanes is.
    """
    wide = levels.node[d].stride
    stride = levels.node[d + 1].stride
    n = levels.node[d + 1].n_features
    lane = levels.lane[d + 1]
    upper = levels.upper[d]
    low = levels.low[d]
    many = levels.many[d]
    test_bound = levels.test_bound[d]
    for f in range(n):
        if levels.alive[d + 1, f] == 0:
            continue
        old = lane[f]
        for side in range(2):
            bound, place = levels.low[d + 1, side * stride + f], side * wide + old
            many[place] = max(many[place], bound)
            low[place] = max(low[place], min(bound, upper[place]))
        test_bound[old] = max(
            test_bound[old],
            min(low[wide + old] + many[old], many[wide + old] + low[old])
            + test_cost_of(data, levels, d, old),
        )


@inner
def cost_of_two_leaves(data, levels, scratch, d, i, side):
    """Return the least cost of two leaves for child (side, i), where tests have prices.

    That is q · loss + 2 p and the price of their test, not that of feature i above.  Clears the
    mark in ``levels.seen[d, i]`` that asks for it, and raises ``many`` of the child to what was put
    aside in ``levels.more``.
    """
    q = data.numbers.q
    p = data.numbers.p
    stride = levels.node[d].stride
    found = scratch.cells
    place, best = side * stride + i, NEVER
    evaluate_cells_of_child(data, levels, scratch, d, i, side)
    mass = levels.mass[d, place]
    for f in range(levels.node[d].n_features):
        if levels.alive[d, f] != 0 and allow_two_leaves(data, scratch, stride, f):
            loss = np.int64(found[f]) + np.int64(found[2 * stride + f])
            best = min(best, q * loss + data.price[levels.features[d, f]] * mass)
    levels.seen[d, i] &= ~np.uint16(TWO_1 if side == 1 else TWO_0)
    levels.many[d, place] = max(levels.many[d, place], levels.more[d, place])
    return best + 2 * p


@inner
def bound_three_leaves(data, levels, scratch, d, i, side, most):
    """Return a lower bound of the trees of three leaves for child (side, i), above the cost of
    three leaves and one test of the lowest price, and the work it took; where tests have prices
    (:mod:`.few_leaves` does it where they have none).

    most : the caller wants to know only whether such a tree costs at most this, counted the same
        way.
    From the node's own words, without entering the child: one feature makes a leaf, another divides
    what is left.  Above ``most`` the bound says only that no such tree is cheaper.  The work is
    negative, and the bound says nothing, where there is more to do than ``numbers.three_work``.
    Overwrites ``scratch.cells``, ``fits``, ``child``, ``mask`` and ``some``.
    """
    q, p, stride = data.numbers.q, data.numbers.p, levels.node[d].stride
    planes = data.numbers.planes
    cheapest, size = levels.node[d].cheapest, levels.mass[d, side * stride + i]
    work = np.int64(0)
    words, n_words, ready = levels.words[d], levels.starts[d, data.factors.shape[0]], False
    # two leaves for the rest cost at least the child's best two without the rows of the leaf
    least_saved = levels.upper[d, side * stride + i] - 2 * p - data.max_path_cost[1] * size
    evaluate_cells_of_child(data, levels, scratch, d, i, side)
    found = scratch.cells
    lanes = data.numbers.lanes
    allowed = most // q
    never = np.int64(scratch.never[0])
    mark_leaf_candidates(
        found,
        stride,
        levels.alive[d],
        min(allowed, never),
        min(max(np.int64(0), least_saved // q - allowed), never),
        scratch.fits,
    )
    for vector in range(2 * stride // lanes):
        bits, without = scratch.fits[vector], vector & 1
        while bits != 0:
            f = vector // 2 * lanes + lowest_bit(bits)
            bits &= bits - 1
            at = 2 * without * stride + f
            loss, saved = np.int64(found[at]), np.int64(found[stride + at])
            rest = scratch.gone[f if without == 1 else stride + f]
            test_cost = (data.price[levels.features[d, f]] - cheapest) * size + cheapest * rest
            allowed = (most - test_cost) // q
            if loss > allowed or q * (saved + allowed) < least_saved:
                continue
            if min(size - rest, rest // 2) < data.numbers.least and data.numbers.least > 1:
                continue  # two leaves share the rest
            work += n_words * stride // 32
            if work > data.numbers.three_work:
                return most, -work
            if not ready:
                ready = True
                mask_rows_with_feature(
                    words, stride, i, 1 - side, levels.full[d], 0, n_words, scratch.child
                )
            mask_rows_with_feature(
                words, stride, f, 1 - without, scratch.child, 0, n_words, scratch.mask
            )
            row = i * planes * stride
            for k in range(data.numbers.summed):
                of_f = np.int64(levels.counts[d, k * stride + f])
                of_i = np.int64(levels.counts[d, k * stride + i])
                with_f = np.int64(levels.both[d, row + k * stride + f])
                if side == 0:
                    with_f, of_i = of_f - with_f, np.int64(levels.totals[d, k]) - of_i
                scratch.some[k] = with_f if without == 1 else of_i - with_f
            rest = least_loss_of_two_leaves(
                words_of_level(data, levels, d), scratch.mask, scratch.some, data.saving
            )
            if rest != never:  # which times q may not fit
                most = min(most, q * (loss + rest) + test_cost - 1)
    return most + 1, work
