"""What counting the pairs of a node's features says of a sparse search's node (numba kernels).

This is the look-ahead (B.2): one and two leaves below every literal ℓ = (side, f) are known exactly
before a child is entered, and trees of three leaves and more are bounded.  With s the set of rows,
w(s) its weight, ub(s) = ``node.best``, and floor(ℓ) = the lowest price times the mass of ℓ (0
where tests cost nothing)::

    bound_by_features(s):
        ub(s) = q · (w(s) − greatest class weight) + p;  done if s has no feature, or depth is 0
        for every literal ℓ:
            upper[ℓ] = q · loss(ℓ as a leaf) + p
            low[ℓ] = min(upper[ℓ], 2 p + floor(ℓ)), or upper[ℓ] if no test may follow
        raise low, set many by the bounds of the parent's children    (inherit_bounds_from_parent)
        if ∑ min(q · n_k(s), p) > 3 p: raise both to ∑ min(q · n_k(ℓ), p), less what every label
            loses of ℓ                                                  (raise_bounds_by_labels)
        within = min(budget, ub(s) − 1) and some part of p more, or NEVER without ``select``
        for every feature f:  ub(s) = min(ub(s), upper[1, f] + upper[0, f] + test_cost(f))
    count_pairs(s), in stretches:
        for every feature i that is alive, and may be asked first within ``within`` or if ``half``:
            count i with all f; two[ℓ], three[ℓ] = least loss of two leaves, and of a leaf beside
            a cell that can be divided; others that divide s as i does are not alive
                                                                            (count_pairs_of_feature)
    bound_by_pairs(s):
        for every literal ℓ of a feature whose pairs are counted:         (raise_bounds_from_pairs)
            upper[ℓ] = min(upper[ℓ], q · two[ℓ] + 2 p)       (with prices it stays, and
                two leaves with floor(ℓ) bound many[ℓ] until ``cost_of_two_leaves`` finds them)
            many[ℓ] = max(many[ℓ], min(q · three[ℓ] + 3 p, 4 p) + floor(ℓ))
            low[ℓ] = min(upper[ℓ], many[ℓ]), but no less than it was
        test_bound[f] = min(low[1, f] + many[0, f], many[1, f] + low[0, f]) + test_cost(f)
        ub(s) as above

Invariants:

- ``node.state`` is COUNTING between ``bound_by_features`` and ``bound_by_pairs``; ``node.counted``
  features are done.  ``scratch.two``, ``three`` and (with prices) ``alive`` belong to that node
  until then, so no other node is begun in between.  ``scratch.cells`` is anyone's.
- OPEN in ``seen[f]``: row f of ``both`` is counted.  If ``half``, it is there from f's vector
  on, and ``cells`` completes it (WHOLE) when it is first read.
- A feature whose pairs are not counted has test_bound[f] = low[1, f] + low[0, f] + test_cost(f).
  That is above ``within``, so it is not asked.
- ``alive[f]`` is 0 behind the last feature, and where f was found to divide the rows as one before
  it.  With prices the features stand in the order of their prices, so that the cheaper one stays.

Where nothing else is said, arguments are those of :mod:`.node`: data is a Data, only read; levels
and scratch are SparseLevels and SparseScratch, written; d is the level of a node, i and f are lanes
of its features, and side is 1 or 0.
"""

import numpy as np

from arboretum.kernels.jit import inner
from arboretum_gosdt.sparse.bounds import inherit_bounds_from_parent
from arboretum_gosdt.sparse.node import (
    COUNTING,
    EXPANDED_NODE,
    INHERIT,
    LABELS,
    NEVER,
    OPEN,
    RANK,
    RANK_BITS,
    SELECT,
    SHAPE,
    TWO_0,
    TWO_1,
    WHOLE,
    set_mass_and_least_saving,
    test_cost_of,
    words_of_level,
)
from arboretum_gosdt.sparse.pair_counts import (
    count_pairs_of_feature,
    fill_leaf_losses,
    has_prices,
    lowest_bit,
)
from arboretum_gosdt.sparse.rows import pack_words_of_node


@inner
def bound_by_features(data, levels, scratch, d):
    """Write what the features of a node say one by one; then its pairs are to be counted, unless it
    must be a leaf.

    Rows, features and class weights are there.

    One leaf and two leaves below a literal are known exactly.  A tree of three leaves and more has,
    at its root, a leaf beside a cell that is divided (three leaves and at least the loss of that
    leaf), or two cells that are divided (four leaves).

    ``node.state`` is COUNTING behind it, or EXPANDED_NODE where it must be a leaf (``n_features``
    is 0 then).  Writes level d and all of ``scratch``.
    """
    node = levels.node[d]
    q = data.numbers.q
    p = data.numbers.p
    classes = data.numbers.classes
    n, stride, depth = node.n_features, node.stride, node.depth
    most, priced = np.int64(0), has_prices(data.price)
    for k in range(classes):
        most = max(most, np.int64(levels.totals[d, k]))
    set_mass_and_least_saving(data, levels, scratch, d)
    node.state, node.child = EXPANDED_NODE, -1
    node.best, node.best_feature = q * (node.weight - most) + p, -1
    if n == 0 or depth == 0:
        node.n_features = 0
        return
    pack_words_of_node(data, levels, d)
    upper = levels.upper[d]
    low = levels.low[d]
    many = levels.many[d]
    alive = levels.alive[d]
    weight = node.weight
    for f in range(n, stride):
        alive[f] = 0
    fill_leaf_losses(
        scratch.cells, stride, classes, data.numbers.summed, levels.counts[d], levels.totals[d]
    )
    if priced:
        set_prices_and_masses(data, levels, scratch, d)
    for place in range(2 * stride):
        upper[place] = q * np.int64(scratch.cells[place]) + p
        low[place], many[place] = upper[place] if depth == 1 else min(upper[place], 2 * p), 0
        levels.two[d, place] = 0
    if priced and depth > 1:
        for place in range(2 * stride):
            low[place] = min(upper[place], 2 * p + node.cheapest * levels.mass[d, place])
    finest = RANK_BITS if data.numbers.lanes == 8 else 0  # of lanes of 64 bits
    for f in range(stride):
        levels.seen[d, f] = 0
        has = np.int64(scratch.cells[2 * stride + f])
        levels.rank[d, f] = (min(has, weight - has) >> finest) * RANK + stride - f
    if d > 0 and data.numbers.bounds & INHERIT != 0:
        inherit_bounds_from_parent(data, levels, scratch, d)
    raise_bounds_by_labels(data, levels, d)
    # more than the limit: bounds that only just suffice here say too little about other nodes.
    # Most nodes of less than five leaves are closed at once: they take a quarter less time with a
    # quarter of a leaf (carryout; as many nodes)
    limit = min(node.budget, node.best - 1)
    limit = limit + (p // 4 if limit < 5 * p else p) if data.numbers.bounds & SELECT != 0 else NEVER
    node.state, node.counted, node.within = COUNTING, 0, limit
    # vectors to count: whole rows of the features that may be asked within the limit, or all pairs
    # once
    some, all_of, lanes = np.int64(0), np.int64(0), data.numbers.lanes
    vectors = stride // lanes
    for vector in range(vectors):
        lives, asked = np.int64(0), np.int64(0)
        for f in range(vector * lanes, min(n, (vector + 1) * lanes)):
            if alive[f] != 0:
                lives += 1
                asked += np.int64(
                    low[f] + low[stride + f] + test_cost_of(data, levels, d, f) <= limit
                )
        all_of += lives * (vectors - vector)
        some += asked * vectors
    node.half = some >= all_of
    for c in range(2 * stride):
        scratch.two[c] = scratch.never[0]
        scratch.three[c] = scratch.never[0]
    for f in range(stride):  # a leaf on both sides is known before any pair
        cost = upper[f] + upper[stride + f] + test_cost_of(data, levels, d, f)
        if alive[f] != 0 and cost < node.best:
            node.best, node.best_feature = cost, levels.features[d, f]
        if priced:
            scratch.alive[f] = alive[f]


@inner
def raise_bounds_by_labels(data, levels, d):
    """Raise ``low`` and ``many`` of the literals of level d by their labels: a tree has a leaf of a
    label, or saves nothing with it.

    Where that says no more of the node than three leaves, pairs say more, and nothing is done.
    ``levels.test_bound[d]`` is overwritten.
    """
    q, p, classes, node = data.numbers.q, data.numbers.p, data.numbers.classes, levels.node[d]
    least, stride, cost = np.int64(0), node.stride, levels.test_bound[d]
    for k in range(classes):
        least += min(q * np.int64(levels.totals[d, k]), p)
    if least <= 3 * p or data.numbers.bounds & LABELS == 0:
        return
    for side in range(2):
        for f in range(stride):
            cost[f] = 0
        for k in range(data.numbers.summed):
            total, counts = np.int64(levels.totals[d, k]), levels.counts[d, k * stride :]
            for f in range(stride):
                has = np.int64(counts[f])
                loss = q * (has if side == 1 else total - has)
                # by what every label loses the classes weigh more than their rows
                cost[f] += min(loss, p) if k < classes else -loss
        here = slice(side * stride, (side + 1) * stride)
        low, many = levels.low[d, here], levels.many[d, here]
        for f in range(stride):
            many[f] = max(many[f], cost[f])
        for f in range(stride):
            low[f] = max(low[f], cost[f])


@inner
def bound_by_pairs(data, levels, scratch, d):
    """Write what its pairs, now counted, say of a node.

    ``scratch.two`` and ``scratch.three`` must be those of this node.  ``node.state`` is
    EXPANDED_NODE behind it; ``test_bound`` of features that are not alive is NEVER.
    """
    raise_bounds_from_pairs(data, levels, scratch, d)
    node, stride = levels.node[d], levels.node[d].stride
    upper = levels.upper[d]
    low = levels.low[d]
    many = levels.many[d]
    test_bound = levels.test_bound[d]
    alive = levels.alive[d]
    node.state = EXPANDED_NODE
    for f in range(stride):
        test_cost = test_cost_of(data, levels, d, f)
        bound = min(low[stride + f] + many[f], many[stride + f] + low[f]) + test_cost
        cost = upper[f] + upper[stride + f] + test_cost
        test_bound[f] = (
            NEVER
            if alive[f] == 0
            else bound
            if levels.seen[d, f] & OPEN != 0
            else low[f] + low[stride + f] + test_cost
        )
        if alive[f] != 0 and cost < node.best:
            node.best, node.best_feature = cost, levels.features[d, f]


@inner
def raise_bounds_from_pairs(data, levels, scratch, d):
    """Write what the pairs of level d say of two leaves, and of three and more, below every
    literal.

    Only of features with OPEN in ``levels.seen[d]``.  Raises ``low`` and ``many``; lowers
    ``upper``, but with prices two leaves cheaper than ``upper`` are marked TWO_1 or TWO_0 in
    ``seen`` instead, and what ``many`` is then goes to ``more``.
    """
    node = levels.node[d]
    q = data.numbers.q
    p = data.numbers.p
    priced = has_prices(data.price)
    stride = node.stride
    depth = node.depth
    upper = levels.upper[d]
    low = levels.low[d]
    many = levels.many[d]
    never = np.int64(scratch.never[0])
    shape = data.numbers.bounds & SHAPE != 0
    if not priced:
        for side in range(2):
            here = slice(side * stride, (side + 1) * stride)
            raise_bounds_of_side(
                levels.seen[d],
                (scratch.two[here], scratch.three[here], levels.two[d, here]),
                (upper[here], low[here], many[here]),
                (never, p, q, depth, shape),
            )
        return
    for place in range(2 * stride):
        f = place if place < stride else place - stride
        if levels.seen[d, f] & OPEN != 0:
            levels.two[d, place] = scratch.two[place]
            two, three = np.int64(scratch.two[place]), np.int64(scratch.three[place])
            floor = node.cheapest * levels.mass[d, place]
            two = q * two + 2 * p + floor if depth >= 2 and two != never else NEVER
            least = (min(4 * p, q * three + 3 * p) if shape and three != never else 3 * p) + floor
            more = max(many[place], least if depth >= 3 and three != never else NEVER)
            if two < upper[place]:
                levels.more[d, place] = more
                more = min(more, max(many[place], two))
                levels.seen[d, f] |= TWO_1 if place >= stride else TWO_0
            low[place] = max(min(upper[place], more), min(upper[place], low[place]))
            many[place] = more


@inner
def raise_bounds_of_side(seen, losses, bounds, numbers):
    """Write what the pairs say of one side's literals where tests cost nothing.

    seen : of the features.   losses : two and three found, and two (out), by feature.
    bounds : upper, low and many by feature, written.   numbers : never, p, q, depth, shape.
    A loop writes one array, so that it is made of vectors.
    """
    found_two, found_three, two = losses
    upper, low, many = bounds
    never, p, q, depth, shape = numbers
    for f in range(upper.shape[0]):
        found, known = found_two[f], two[f]
        two[f] = found if seen[f] & OPEN != 0 else known
    for f in range(upper.shape[0]):
        loss, known = np.int64(found_two[f]), upper[f]
        cost = q * loss + 2 * p if depth >= 2 and loss != never else NEVER
        upper[f] = min(known, cost) if seen[f] & OPEN != 0 else known
    for f in range(upper.shape[0]):
        loss, known = np.int64(found_three[f]), many[f]
        # q times the largest number of a lane leaves its type
        least = min(p, q * (loss if loss != never else 0)) if shape else 0
        cost = least + 3 * p if depth >= 3 and loss != never else NEVER
        many[f] = max(known, cost) if seen[f] & OPEN != 0 else known
    for f in range(upper.shape[0]):
        most, more, known = upper[f], many[f], low[f]
        low[f] = min(most, max(known, more)) if seen[f] & OPEN != 0 else known


@inner
def set_prices_and_masses(data, levels, scratch, d):
    """Fill ``levels.mass[d]`` (by literal), ``levels.test_cost[d]`` (price · ``node.mass``) and
    ``node.cheapest``; clear ``alive[f]`` where a side has too little mass for a leaf.

    The weights of the classes are part of the mass where ``numbers.own`` is 1: those with f are in
    ``scratch.cells[2 · stride + f]``.

    Only where tests have prices.  A mass is int64, in the units that prices are paid for;
    ``node.cheapest`` is 0 where no feature is alive.
    """
    node, numbers = levels.node[d], data.numbers
    stride = node.stride
    n = node.n_features
    summed = numbers.summed
    counts = levels.counts[d]
    mass = levels.mass[d]
    alive = levels.alive[d]
    for f in range(stride):
        mass[stride + f] = np.int64(scratch.cells[2 * stride + f]) if numbers.own != 0 else 0
    if numbers.planes > summed:
        for f in range(stride):
            mass[stride + f] += np.int64(counts[summed * stride + f])
    node.cheapest = NEVER
    for f in range(stride):
        mass[f] = node.mass - mass[stride + f]
        price = data.price[levels.features[d, f]] if f < n else np.int64(0)
        levels.test_cost[d, f] = price * node.mass
        if min(mass[f], mass[stride + f]) < numbers.least:
            alive[f] = 0
        if alive[f] != 0:
            node.cheapest = min(node.cheapest, price)
    node.cheapest = 0 if node.cheapest == NEVER else node.cheapest


@inner
def count_pairs(data, levels, scratch, d, work):
    """Count on the pairs of the features that may be asked first within the limit, some ``work``
    long: half of all pairs, or whole rows of few features.

    Where tests have prices, a feature goes only where a cheaper one, which is before it, divides
    the rows alike.  Returns the work that is left; a node is done when all its features are
    ``counted``.

    work : words · vectors that may still be counted; it may end below 0, by one feature's pairs.
    Writes ``both``, ``alive`` and ``seen`` of level d, ``scratch.two`` and ``scratch.three``.
    """
    node = levels.node[d]
    lanes = data.numbers.lanes
    planes = data.numbers.planes
    priced = has_prices(data.price)
    n, stride, alive, low = node.n_features, node.stride, levels.alive[d], levels.low[d]
    judged = scratch.alive if priced else alive
    words = words_of_level(data, levels, d)
    n_words, shift = levels.starts[d, data.factors.shape[0]], lowest_bit(lanes)
    for i in range(node.counted, n):
        if work < 0:
            return work
        node.counted = i + 1
        alive[i] = judged[i]
        if alive[i] != 0 and (
            node.half or low[i] + low[stride + i] + test_cost_of(data, levels, d, i) <= node.within
        ):
            begins = i & -lanes if node.half else 0
            both = levels.both[d, i * planes * stride :]
            count_pairs_of_feature(
                words,
                i,
                begins,
                levels.totals[d],
                levels.counts[d],
                scratch.least,
                both,
                scratch.two,
                scratch.three,
                judged,
            )
            alive[i] = 1
            levels.seen[d, i] |= OPEN if node.half else OPEN | WHOLE
            work -= 2 * n_words * ((stride - begins >> shift) + 1)
    return work
