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
    bound_few_leaves(X, most):                                             most: 4p, or up to 5p
        low ← most
        for each test m of which both sides save more than t:
            if trees that begin with m may cost less than low:              (bound_first_tests)
                count X with m and each test f; least_losses of A and of B     (losses_of_sides)
                low ← min(low, 4p + two(A) + two(B), 3p + loss(A) + two(B), the same of B and A)
                of B, if it loses more than t and trees of three leaves may cost less than
                        low − p − loss(A):
                    low ← min(low, p + loss(A) + its best tree of three leaves)
                                                                            (cost_of_three_leaves)
                the same of B and A
        no tree of X of three leaves or more costs less than low: what is left out has five
    bound_first_tests(X):
        for each test m, with T the side of m on S that A is a part of:
            a tree of A costs at least low(T) − w(T ∖ A); one of two leaves also two(T) − w(T ∖ A)
            and two(X) − w(X ∖ A), with 2p; one of three leaves also 3p; B likewise
            where B is a leaf, what follows loses what is said below, too
    cost_of_three_leaves(B):
        for each test f and both sides D, E of it on B that may be a leaf beside two:
            if 3p + loss(D) + two(B) − w(D) may be less: count B with f and each test; it costs
                3p + loss(D) + two(E)

Leaves of one label, a, that one after the other take off a part of what is left may change places:
the tree costs as much (no least size of leaves is counted here, which one of them may miss then).
So only the largest of them need come first.  With n_a what a weighs, b the
other label and ℓ the first leaf, what follows it loses at least (loss_after_leaf)::

    in a tree of three leaves, of which two have one label:  n_a(X) − 2 n_a(ℓ)
    of four leaves:  n_a(X) − 3 n_a(ℓ), if all three are of label a; or n_a(ℓ′) − n_a(ℓ), if two of
        label b follow, of which the larger one, ℓ′ on X, loses n_b(X) − 2 n_b(ℓ′)  (fewest_beside)

Invariants: losses and weights are multiples of what a saving of 1 is worth, and int32: eight
columns are counted at once.  All weights of the table stay below HALF.  The loops that count write
nothing, or one array: else the compiler gives up telling arrays apart, and counts columns one by
one.
"""

import numpy as np

from arboretum.kernels.bits import popcount
from arboretum.kernels.jit import inner
from arboretum.proof.sets import COUNTED, NEVER

HALF = np.int32(1 << 29)
"""The loss of what does not exist; two of them still add up in 32 bits."""


@inner
def row_of_pairs(node, c):
    """Where ``node.pairs`` has what two labels weigh in side 1 of column c."""
    return min(c, node.pairs.shape[0] - 1)


@inner
def word_of_cell(words, f, c, s, m, t):
    """The objects of a word that lie in sides s of column c and t of column m, and have test f; c
    or m = −1: of all objects.
    """
    word = words[np.uint64(f)]
    if c >= 0:
        word &= words[np.uint64(c)] if s == 1 else ~words[np.uint64(c)]
    if m >= 0:
        word &= words[np.uint64(m)] if t == 1 else ~words[np.uint64(m)]
    return word


@inner
def count_pairs(ground, node, c, s, m, t, f, pairs):
    """Write into ``pairs``, int32[2 · columns], what each label weighs where test f of sides s of
    column c and t of column m is 1, with each column; c or m = −1: of all objects.

    Four words at once: what their columns count is added up before it is weighed and stored.
    """
    n, w = node.numbers.columns, np.int64(0)
    pairs[: 2 * n] = 0
    for g in range(ground.plane.shape[0]):
        plane, shift, end = ground.plane[g], np.int32(ground.shift[g]), node.ends[g]
        both = pairs[plane * n : (plane + 1) * n]
        while w + 4 <= end:
            first, second = node.words[w * n : (w + 1) * n], node.words[(w + 1) * n : (w + 2) * n]
            third = node.words[(w + 2) * n : (w + 3) * n]
            fourth = node.words[(w + 3) * n : (w + 4) * n]
            one, two = word_of_cell(first, f, c, s, m, t), word_of_cell(second, f, c, s, m, t)
            three, four = word_of_cell(third, f, c, s, m, t), word_of_cell(fourth, f, c, s, m, t)
            for k in range(n if one | two | three | four != 0 else 0):
                some = popcount(first[k] & one) + popcount(second[k] & two)
                more = popcount(third[k] & three) + popcount(fourth[k] & four)
                both[k] += np.int32(some + more << shift)
            w += 4
        while w < end:
            words = node.words[w * n : (w + 1) * n]
            word = word_of_cell(words, f, c, s, m, t)
            for k in range(n if word != 0 else 0):
                both[k] += np.int32(popcount(words[k] & word) << shift)
            w += 1


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
def raise_similar(ground, node, c, s, bound, dear, t, low):
    """Raise ``low``, of side t of each column, by similarity (rules 4 and 5) to side s of the
    node's column c, whose pairs are there.

    bound : of side s of c.
    dear : what rule 5 costs more than it does, NEVER where it may not be used.
    """
    n, unit, p = node.numbers.columns, np.int32(ground.unit), ground.p
    # what saves more costs less as a leaf of its own (rule 5)
    pays = np.int32(p // ground.unit) if dear == 0 else HALF
    ones, pairs = node.weights, node.pairs[row_of_pairs(node, c)]
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
def fewest_beside(ground, n, side, whole_0, whole_1, most):
    """(of label 0, of label 1): how little it weighs on a side of a test that can be the larger of
    two leaves of the other label; HALF where there is none.

    side : int32[2 · n], what the labels weigh with each column; most : cost of such a tree.
    """
    allowed = np.int32((most - 4 * ground.p) // ground.unit)
    side_0, side_1, fewest_0, fewest_1 = side[:n], side[n : 2 * n], HALF, HALF
    for f in range(n):
        one_0, one_1 = side_0[f], side_1[f]
        rest_0, rest_1 = np.int32(whole_0 - one_0), np.int32(whole_1 - one_1)
        has = one_0 if np.int32(rest_1 - one_1) <= allowed else HALF
        fewest_0 = has if has < fewest_0 else fewest_0
        has = rest_0 if np.int32(one_1 - rest_1) <= allowed else HALF
        fewest_0 = has if has < fewest_0 else fewest_0
        has = one_1 if np.int32(rest_0 - one_0) <= allowed else HALF
        fewest_1 = has if has < fewest_1 else fewest_1
        has = rest_1 if np.int32(one_0 - rest_0) <= allowed else HALF
        fewest_1 = has if has < fewest_1 else fewest_1
    return np.int64(fewest_0), np.int64(fewest_1)


@inner
def loss_after_leaf(leaf_0, leaf_1, whole_0, whole_1, fewest):
    """(in trees of three leaves, of four): what lies beside the first leaf loses at least.

    leaf_0, leaf_1, whole_0, whole_1 : int64, what the labels weigh in the leaf, and in all.
    fewest : (int64, int64), see :func:`fewest_beside`.
    """
    saved = max(leaf_0, leaf_1)
    whole = whole_0 if leaf_0 > leaf_1 else whole_1
    least = fewest[0] if leaf_0 > leaf_1 else fewest[1]
    if leaf_0 == leaf_1:
        whole, least = min(whole_0, whole_1), min(fewest[0], fewest[1])
    return max(whole - 2 * saved, 0), max(min(whole - 3 * saved, least - saved), 0)


@inner
def bound_first_tests(ground, node, scratch, whole_0, whole_1, most):
    """Write into ``scratch.first`` what trees of three leaves and more of X cost at least that
    begin with each test; ``most`` where that is no less, or the test is idle.  Returns
    :func:`fewest_beside` of X.

    whole_0, whole_1 : int32, what the labels weigh in X; ``scratch.side``: with each column.
    """
    n, p, unit, first = node.numbers.columns, ground.p, ground.unit, scratch.first
    pays, side = p // unit, scratch.side
    ones_0, ones_1, side_0, side_1 = node.weights[:n], node.weights[n:], side[:n], side[n : 2 * n]
    high_0, high_1 = node.high[:n], node.high[n : 2 * n]
    low_0, low_1 = node.low[:n], node.low[n : 2 * n]
    two = np.int64(least_losses(n, side, whole_0, whole_1, np.int32(pays))[0])
    all_0, all_1 = np.int64(whole_0), np.int64(whole_1)
    total, whole = node.totals[0] + node.totals[1], all_0 + all_1
    fewest = fewest_beside(ground, n, side, whole_0, whole_1, most)
    for m in range(n):
        a_0, a_1 = np.int64(side_0[m]), np.int64(side_1[m])
        b_0, b_1 = np.int64(whole_0) - a_0, np.int64(whole_1) - a_1
        weight_a, with_m = a_0 + a_1, np.int64(ones_0[m]) + np.int64(ones_1[m])
        loss_a, loss_b = unit * min(a_0, a_1), unit * min(b_0, b_1)
        gone_a, gone_b = unit * (with_m - weight_a), unit * (total - with_m - whole + weight_a)
        any_a, any_b = low_1[m] - gone_a, low_0[m] - gone_b
        two_a = max(2 * p + unit * (two - whole + weight_a), any_a, 2 * p)
        two_b = max(2 * p + unit * (two - weight_a), any_b, 2 * p)
        if node.state[m] & COUNTED != 0:  # two leaves cost ``high`` at least
            two_a, two_b = max(two_a, high_1[m] - gone_a), max(two_b, high_0[m] - gone_b)
        bound = most
        if loss_a > p:
            one, more = loss_after_leaf(b_0, b_1, all_0, all_1, fewest)
            least = min(max(two_a, 2 * p + unit * one), 3 * p + unit * more)
            bound = min(bound, p + loss_b + max(least, any_a))
        if loss_b > p:
            one, more = loss_after_leaf(a_0, a_1, all_0, all_1, fewest)
            least = min(max(two_b, 2 * p + unit * one), 3 * p + unit * more)
            bound = min(bound, p + loss_a + max(least, any_b))
        if (loss_a > p) & (loss_b > p):
            bound = min(bound, two_a + two_b)
        first[m] = most if min(max(a_0, a_1), max(b_0, b_1)) <= pays else bound
    return fewest


@inner
def cost_of_three_leaves(ground, node, scratch, c, s, m, t, counts, whole_0, whole_1, two, most):
    """What the best tree of three leaves costs on side t of test m on side s of column c, at most
    ``most``.

    counts : int32[2 · n], what the labels weigh there, with each column.
    whole_0, whole_1, two : int32, and in all; the least loss of two leaves there.
    """
    n, p, unit = node.numbers.columns, ground.p, ground.unit
    pays, none = np.int32(p // unit), (np.int64(0), np.int64(0))
    all_0, all_1 = np.int64(whole_0), np.int64(whole_1)
    for f in range(n):
        d_0, d_1 = counts[f], counts[n + f]
        e_0, e_1 = np.int32(whole_0 - d_0), np.int32(whole_1 - d_1)
        if min(max(d_0, d_1), max(e_0, e_1)) <= pays:
            continue
        beside_d, beside_e = 3 * p + unit * min(d_0, d_1), 3 * p + unit * min(e_0, e_1)
        after_d = loss_after_leaf(np.int64(d_0), np.int64(d_1), all_0, all_1, none)[0]
        after_e = loss_after_leaf(np.int64(e_0), np.int64(e_1), all_0, all_1, none)[0]
        leaf_d = unit * min(e_0, e_1) > p
        leaf_d &= beside_d + unit * max(two - d_0 - d_1, after_d) < most
        leaf_e = unit * min(d_0, d_1) > p
        leaf_e &= beside_e + unit * max(two - e_0 - e_1, after_e) < most
        if leaf_d | leaf_e:
            count_pairs(ground, node, c, s, m, t, np.int64(f), scratch.third)
            losses = losses_of_sides(
                n, counts, scratch.third, scratch.fourth, d_0, d_1, whole_0, whole_1, pays
            )
            most = min(most, beside_e + unit * losses[0]) if leaf_e else most
            most = min(most, beside_d + unit * losses[3]) if leaf_d else most
    return most


@inner
def bound_few_leaves(ground, node, scratch, c, s, most):
    """(bound, found): what no tree of three leaves or more costs less than, on side s of the node's
    column c, whose pairs are there, and at most ``most``; what a tree costs that was found, NEVER
    where none was.

    most : 4p, or more, up to 5p.
    """
    n, p, unit, side = node.numbers.columns, ground.p, ground.unit, scratch.side
    pays, low, found = np.int32(p // unit), most, NEVER
    # what X has of each column
    rest = np.int32(0) if s == 1 else np.int32(-1)
    whole_0 = node.weights[c] if s == 1 else np.int32(node.totals[0] - node.weights[c])
    whole_1 = node.weights[n + c] if s == 1 else np.int32(node.totals[1] - node.weights[n + c])
    weights, pairs = node.weights, node.pairs[row_of_pairs(node, c)]
    for f in range(2 * n):
        side[f] = np.int32((weights[f] & rest) + (pairs[f] ^ rest) - rest)
    fewest = bound_first_tests(ground, node, scratch, whole_0, whole_1, most)
    all_0, all_1 = np.int64(whole_0), np.int64(whole_1)
    for m in range(n):
        if scratch.first[m] >= low:
            continue
        a_0, a_1 = side[m], side[n + m]
        b_0, b_1 = np.int32(whole_0 - a_0), np.int32(whole_1 - a_1)
        loss_a, loss_b = unit * min(a_0, a_1), unit * min(b_0, b_1)
        count_pairs(ground, node, np.int64(-1), np.int64(0), c, s, np.int64(m), scratch.few)
        losses = losses_of_sides(
            n, side, scratch.few, scratch.rest, a_0, a_1, whole_0, whole_1, pays
        )
        two_a = losses[0] * unit if (loss_a > p) & (losses[0] < HALF) else NEVER
        two_b = losses[3] * unit if (loss_b > p) & (losses[3] < HALF) else NEVER
        found = min(found, 4 * p + two_a + two_b, 3 * p + loss_b + two_a, 3 * p + loss_a + two_b)
        low = min(low, found)
        for t in range(2):
            leaf, open_side = (loss_b, loss_a) if t == 1 else (loss_a, loss_b)
            two, beside, both = losses[:3] if t == 1 else losses[3:]
            leaf_0, leaf_1 = (b_0, b_1) if t == 1 else (a_0, a_1)
            after = loss_after_leaf(np.int64(leaf_0), np.int64(leaf_1), all_0, all_1, fewest)[1]
            more = max(cost_of_more(ground, beside, both, NEVER), 3 * p + unit * after)
            if open_side <= p or p + leaf + more >= low:
                continue
            cost = (
                p
                + leaf
                + cost_of_three_leaves(
                    ground,
                    node,
                    scratch,
                    c,
                    s,
                    np.int64(m),
                    np.int64(t),
                    scratch.few if t == 1 else scratch.rest,
                    a_0 if t == 1 else b_0,
                    a_1 if t == 1 else b_1,
                    two,
                    low - p - leaf,
                )
            )
            if cost < low:
                low = found = cost
    return low, found
