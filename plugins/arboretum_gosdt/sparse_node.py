"""A node of the sparse search: its words, the pairs of its features, what they say of its children (numba kernels).

Costs are integers: q for a unit of loss, p for a leaf.  A *literal* is a feature with a side: 1, the rows that have it, or 0; child
(side, f) of a node has the rows of that literal.  Arrays by literal have the side first: place ``side · stride + f``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum_gosdt.sparse_lanes import best_of_two, class_weights, lowest_bit, pack_rows, pairs_of

NEVER = np.int64(1) << 60
"""The cost of what does not exist; two of them still add up."""
UNLIMITED = np.int64(1) << 20
"""Remaining depth where there is no limit."""


class Data(NamedTuple):
    """The table, and what is asked.

    bits : [rows · row_words], elements as wide as a vector has lanes.   random : uint64[rows, 2].   of_class : int64[classes + 1],
    group_class, shifts : int64[groups], see :mod:`.sparse_lanes`.   saving : [1], what a leaf must save, in lanes' type.
    numbers : int64, see the names below.
    """

    bits: np.ndarray
    random: np.ndarray
    of_class: np.ndarray
    group_class: np.ndarray
    shifts: np.ndarray
    saving: np.ndarray
    numbers: np.ndarray


ROW_WORDS, CLASSES, WORD_BITS, LOSS, LEAF, SUPPORT = range(6)
"""Places in ``Data.numbers``: words of a row, classes, bits of a word, q, p, what a leaf must save."""


class Levels(NamedTuple):
    """The nodes on the way from the root, one row a level; lanes' type unless said.

    words, full : words of the features, bits that stand for rows.   ids : int32, row of each bit, group by group.
    starts : int64[groups + 1].   features : int32, of the table.   totals, counts, both : see ``pairs_of``.
    alive : 1 for features that divide the rows as no feature before them.
    upper, low, many : int64 by literal: least cost known, bound of all trees, bound of trees of three leaves and more.
    pair : int64, bound of the trees that ask the feature first, other than those whose cost is known.
    order : int32, features from the most balanced to the least.   keys : uint64[…, 2], of child (1, f).
    seen : int8, what was done for a feature.   node : int64, see the names below.   node_key : uint64[2].
    first, second : uint64, the two random words of each row.
    """

    words: np.ndarray
    full: np.ndarray
    ids: np.ndarray
    starts: np.ndarray
    features: np.ndarray
    totals: np.ndarray
    counts: np.ndarray
    both: np.ndarray
    alive: np.ndarray
    upper: np.ndarray
    low: np.ndarray
    many: np.ndarray
    pair: np.ndarray
    order: np.ndarray
    keys: np.ndarray
    seen: np.ndarray
    node: np.ndarray
    node_key: np.ndarray
    first: np.ndarray
    second: np.ndarray


N_FEATURES, STRIDE, DEPTH, BUDGET, BEST, BEST_FEATURE, LEAST, AT, CHILD, SIDE, STATE, TRIED = range(12)
"""Places in ``Levels.node``: features, their number rounded up to whole vectors, remaining depth, what a tree may cost to matter,
least cost known and its feature (−1: a leaf), proven bound, place in ``order``, feature and side of the child that is being
solved, 0 for a node that is new, features that a greedy pass has tried."""
N_NODE = 12


class Scratch(NamedTuple):
    """Lanes' type.   row : one word of every feature of the table.   two, three : by literal, and the largest number behind the
    last.   mask, child : words.   some : [classes].
    """

    row: np.ndarray
    two: np.ndarray
    three: np.ndarray
    mask: np.ndarray
    child: np.ndarray
    some: np.ndarray


@jit(inner=True, borrow=True)
def weight_both(levels, d, i, f, k, stride, lanes, classes):
    """Weight of class k that has features i and f."""
    if f // lanes < i // lanes:
        i, f = f, i
    return np.int64(levels.both[d, (i * classes + k) * stride + f])


@jit(inner=True, borrow=True)
def cells_of(levels, d, i, side, f, k, stride, lanes, classes):
    """Weight of class k in child (side, i) with and without feature f."""
    counts, total = levels.counts[d], np.int64(levels.totals[d, k])
    with_both = weight_both(levels, d, i, f, k, stride, lanes, classes)
    of_i, of_f = np.int64(counts[k * stride + i]), np.int64(counts[k * stride + f])
    if side == 1:
        return with_both, of_i - with_both
    return of_f - with_both, total - of_i - of_f + with_both


@jit(inner=True, borrow=True)
def enter_child(data, levels, d, i, side):
    """Copy the rows of child (side, i) of level d to level d + 1, group by group."""
    bits = data.numbers[WORD_BITS]
    stride, old, new = levels.node[d, STRIDE], levels.ids[d], levels.ids[d + 1]
    words, full = levels.words[d], levels.full[d]
    at = 0
    for g in range(data.shifts.shape[0]):
        levels.starts[d + 1, g] = at
        n = at * bits
        for w in range(levels.starts[d, g], levels.starts[d, g + 1]):
            word = np.int64(words[w * stride + i])
            if side == 0:
                word = np.int64(full[w]) & ~word
            base = w * bits
            while word != 0:
                new[n] = old[base + lowest_bit(words, word)]
                n += 1
                word &= word - 1
        while at * bits < n:
            left = n - at * bits
            levels.full[d + 1, at] = (1 << left) - 1 if left < bits else (1 << bits) - 1
            at += 1
        for k in range(n, at * bits):
            new[k] = -1
    levels.starts[d + 1, data.shifts.shape[0]] = at


@jit(inner=True, borrow=True)
def keep_features(data, levels, d, i, side):
    """Features of level d + 1: those of level d that leave both sides of the child enough to save; with their class weights."""
    classes, support = data.numbers[CLASSES], data.numbers[SUPPORT]
    lanes = 512 // data.numbers[WORD_BITS]
    stride, n = levels.node[d, STRIDE], 0
    for k in range(classes):
        of_i = np.int64(levels.counts[d, k * stride + i])
        levels.totals[d + 1, k] = of_i if side == 1 else np.int64(levels.totals[d, k]) - of_i
    order = levels.order[d + 1]
    for f in range(levels.node[d, N_FEATURES]):
        if levels.alive[d, f] == 0:
            continue
        most_with, most_without = np.int64(0), np.int64(0)
        for k in range(classes):
            inside, outside = cells_of(levels, d, i, side, f, k, stride, lanes, classes)
            most_with, most_without = max(most_with, inside), max(most_without, outside)
        if most_with >= support and most_without >= support:
            order[n] = f
            n += 1
    new_stride = (n + lanes - 1) // lanes * lanes
    counts = levels.counts[d + 1]
    for k in range(classes):
        for c in range(n):
            inside, outside = cells_of(levels, d, i, side, np.int64(order[c]), k, stride, lanes, classes)
            counts[k * new_stride + c] = inside
        for c in range(n, new_stride):
            counts[k * new_stride + c] = 0
    for c in range(n):
        levels.features[d + 1, c] = levels.features[d, order[c]]
    levels.node[d + 1, N_FEATURES], levels.node[d + 1, STRIDE] = n, new_stride


@jit(inner=True, borrow=True)
def pack_node(data, levels, scratch, d):
    """Words of the features of level d for its rows; the random words of its rows."""
    bits, row_words = data.numbers[WORD_BITS], data.numbers[ROW_WORDS]
    n, stride = levels.node[d, N_FEATURES], levels.node[d, STRIDE]
    words, ids, features = levels.words[d], levels.ids[d], levels.features[d]
    n_words = levels.starts[d, data.shifts.shape[0]]
    for w in range(n_words):
        low, high = w * bits, (w + 1) * bits
        while ids[high - 1] < 0:
            high -= 1
        pack_rows(scratch.row, 0, data.bits, row_words, ids, low, high)
        for f in range(n):
            words[w * stride + f] = scratch.row[features[f]]
        for f in range(n, stride):
            words[w * stride + f] = 0
    for r in range(n_words * bits):
        row = np.int64(ids[r])
        levels.first[d, r] = data.random[row, 0] if row >= 0 else np.uint64(0)
        levels.second[d, r] = data.random[row, 1] if row >= 0 else np.uint64(0)


@jit(inner=True, borrow=True)
def literal_costs(data, levels, scratch, d, i, depth_left):
    """What the pairs say of the children of feature i: ``upper``, ``low`` and ``many`` of both sides.

    One leaf and two leaves are known exactly.  A tree of three leaves and more has, at its root, a leaf beside a cell that is
    divided (three leaves and at least the loss of that leaf), or two cells that are divided (four leaves).
    """
    q, p, classes = data.numbers[LOSS], data.numbers[LEAF], data.numbers[CLASSES]
    stride = levels.node[d, STRIDE]
    never = np.int64(scratch.two[2 * stride])
    for side in range(2):
        weight, most = np.int64(0), np.int64(0)
        for k in range(classes):
            x = np.int64(levels.counts[d, k * stride + i])
            if side == 0:
                x = np.int64(levels.totals[d, k]) - x
            weight += x
            most = max(most, x)
        place = side * stride + i
        upper, many = q * (weight - most) + p, NEVER
        if depth_left >= 2:
            two, three = np.int64(scratch.two[place]), np.int64(scratch.three[place])
            if two != never:
                upper = min(upper, q * two + 2 * p)
            if depth_left >= 3 and three != never:
                many = min(4 * p, q * three + 3 * p)
        levels.upper[d, place], levels.many[d, place], levels.low[d, place] = upper, many, min(upper, many)


@jit(inner=True, borrow=True)
def bound_pair(levels, d, i):
    """The bound of feature i: a tree that is not among those known has at least three leaves on one side."""
    stride = levels.node[d, STRIDE]
    low, many = levels.low[d], levels.many[d]
    levels.pair[d, i] = min(low[stride + i] + many[i], many[stride + i] + low[i])


@jit(inner=True, borrow=True)
def begin(data, levels, scratch):
    """Features of the root that leave both sides enough to save; rows, words' rows and depth are there."""
    classes, support, lanes, node = data.numbers[CLASSES], data.numbers[SUPPORT], 512 // data.numbers[WORD_BITS], levels.node[0]
    n = levels.features.shape[1]
    for f in range(n):
        levels.features[0, f] = f
    node[N_FEATURES], node[STRIDE] = n, (n + lanes - 1) // lanes * lanes
    pack_node(data, levels, scratch, 0)
    for r in range(levels.starts[0, data.shifts.shape[0]] * data.numbers[WORD_BITS]):
        levels.node_key[0, 0] += levels.first[0, r]
        levels.node_key[0, 1] += levels.second[0, r]
    stride, counts, kept = node[STRIDE], levels.counts[0], 0
    class_weights(levels.words[0], stride, classes, data.of_class, levels.starts[0], data.shifts, counts)
    for f in range(n):
        most_with, most_without = np.int64(0), np.int64(0)
        for k in range(classes):
            x = np.int64(counts[k * stride + f])
            most_with, most_without = max(most_with, x), max(most_without, np.int64(levels.totals[0, k]) - x)
        if most_with >= support and most_without >= support:
            levels.features[0, kept] = f
            kept += 1
    node[N_FEATURES], node[STRIDE] = kept, (kept + lanes - 1) // lanes * lanes
    pack_node(data, levels, scratch, 0)
    class_weights(levels.words[0], node[STRIDE], classes, data.of_class, levels.starts[0], data.shifts, counts)


@jit(inner=True, borrow=True)
def expand(data, levels, scratch, d):
    """Everything that counting the pairs of a node's features says of it; rows, features and class weights are there."""
    node, numbers = levels.node[d], data.numbers
    q, p, classes = numbers[LOSS], numbers[LEAF], numbers[CLASSES]
    n, stride, depth = node[N_FEATURES], node[STRIDE], node[DEPTH]
    weight, most = np.int64(0), np.int64(0)
    for k in range(classes):
        weight += np.int64(levels.totals[d, k])
        most = max(most, np.int64(levels.totals[d, k]))
    node[STATE], node[AT], node[CHILD], node[TRIED] = 1, 0, -1, 0
    node[BEST], node[BEST_FEATURE] = q * (weight - most) + p, -1
    if n == 0 or depth == 0:
        node[N_FEATURES], levels.order[d, 0] = 0, -1
        return
    pack_node(data, levels, scratch, d)
    none = np.int64(-1)
    for c in range(2 * stride + 1):
        scratch.two[c] = none
        scratch.three[c] = none
    alive = levels.alive[d]
    for f in range(stride):
        alive[f] = 1 if f < n else 0
    for i in range(n):
        if alive[i] != 0:
            pairs_of(
                levels.words[d], stride, i, classes, data.of_class, levels.starts[d], data.shifts, levels.totals[d], levels.counts[d],
                data.saving, levels.both[d, i * classes * stride :], scratch.two, scratch.three, alive,
            )  # fmt: skip
            alive[i] = 1
    kept = 0
    for i in range(n):
        levels.seen[d, i] = 0
        if alive[i] == 0:
            levels.pair[d, i] = NEVER
            continue
        literal_costs(data, levels, scratch, d, i, depth)
        bound_pair(levels, d, i)
        cost = levels.upper[d, i] + levels.upper[d, stride + i]
        if cost < node[BEST]:
            node[BEST], node[BEST_FEATURE] = cost, levels.features[d, i]
        levels.order[d, kept] = i
        kept += 1
    sort_by_balance(levels, d, kept, weight, classes)
    levels.order[d, kept] = -1


@jit(inner=True, borrow=True)
def sort_by_balance(levels, d, kept, weight, classes):
    """Features with the smaller side largest first: bounds of balanced children say most about other children."""
    stride, order, size = levels.node[d, STRIDE], levels.order[d], levels.low[d + 1]
    for c in range(kept):
        i, x = order[c], np.int64(0)
        for k in range(classes):
            x += np.int64(levels.counts[d, k * stride + i])
        x = min(x, weight - x)
        j = c
        while j > 0 and size[j - 1] < x:
            size[j], order[j] = size[j - 1], order[j - 1]
            j -= 1
        size[j], order[j] = x, i


@jit(inner=True, borrow=True)
def spread_bound(data, levels, d, i, side, value, limit):
    """A bound of child (side, i) bounds the children of other features, which have most of its rows.

    With T the rows of the one, S of the other: a tree for S serves T, at the cost of the rows T ∖ S (similar support, B.10).  Or
    T is divided by S's literal first, and T ∖ S becomes a leaf: its loss and a leaf.
    """
    q, p, classes = data.numbers[LOSS], data.numbers[LEAF], data.numbers[CLASSES]
    stride, lanes = levels.node[d, STRIDE], 512 // data.numbers[WORD_BITS]
    no_limit = levels.node[d, DEPTH] == UNLIMITED
    for f in range(levels.node[d, N_FEATURES]):
        if levels.pair[d, f] > limit or f == i:
            continue
        weight_in, weight_out, most_in, most_out = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for k in range(classes):
            inside, outside = cells_of(levels, d, i, side, f, k, stride, lanes, classes)
            weight_in += inside
            weight_out += outside
            most_in, most_out = max(most_in, inside), max(most_out, outside)
        loss_in, loss_out = q * weight_in, q * weight_out
        if no_limit:
            loss_in, loss_out = min(loss_in, p + q * (weight_in - most_in)), min(loss_out, p + q * (weight_out - most_out))
        raised = False
        for other in range(2):
            place, bound = other * stride + f, value - (loss_out if other == 1 else loss_in)
            if bound > levels.many[d, place]:
                levels.many[d, place] = bound
                raised = True
            if bound > levels.low[d, place]:
                levels.low[d, place] = min(bound, levels.upper[d, place])
                raised = True
        if raised:
            bound_pair(levels, d, f)


@jit(inner=True, borrow=True)
def three_leaves(data, levels, scratch, d, i, side, allowed):
    """Least loss of a tree of three leaves for child (side, i), if it is at most ``allowed``, else allowed + 1 or more.

    From the node's own words, without entering the child: one feature makes a leaf, another divides what is left.
    """
    q, p, support, classes = data.numbers[LOSS], data.numbers[LEAF], data.numbers[SUPPORT], data.numbers[CLASSES]
    stride, lanes = levels.node[d, STRIDE], 512 // data.numbers[WORD_BITS]
    words, groups = levels.words[d], data.shifts.shape[0]
    n_words = levels.starts[d, groups]
    upper = levels.upper[d, side * stride + i]
    ready = False
    for f in range(levels.node[d, N_FEATURES]):
        if levels.alive[d, f] == 0 or f == i:
            continue
        weight_in, weight_out, most_in, most_out = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for k in range(classes):
            inside, outside = cells_of(levels, d, i, side, f, k, stride, lanes, classes)
            weight_in += inside
            weight_out += outside
            most_in, most_out = max(most_in, inside), max(most_out, outside)
        if most_in < support or most_out < support:
            continue
        for leaf in range(2):
            loss, saved, other = (weight_in - most_in, most_in, weight_out - most_out) if leaf == 1 else (weight_out - most_out, most_out, weight_in - most_in)
            # two leaves for the rest cost at least the child's best two without the leaf's rows
            if loss > allowed or other < support or upper + p - q * saved > 3 * p + q * allowed:
                continue
            if not ready:
                ready = True
                for w in range(n_words):
                    word = np.int64(words[w * stride + i])
                    scratch.child[w] = word if side == 1 else np.int64(levels.full[d, w]) & ~word
            for w in range(n_words):
                word = np.int64(words[w * stride + f])
                scratch.mask[w] = np.int64(scratch.child[w]) & (~word if leaf == 1 else word)
            for k in range(classes):
                inside, outside = cells_of(levels, d, i, side, f, k, stride, lanes, classes)
                scratch.some[k] = outside if leaf == 1 else inside
            rest = best_of_two(words, stride, scratch.mask, classes, data.of_class, levels.starts[d], data.shifts, scratch.some, data.saving)
            allowed = min(allowed, loss + rest - 1)
    return allowed + 1
