"""A node of the sparse search: its words, the pairs of its features, what they say of its children (numba kernels).

Costs are integers: q for a unit of loss, p for a leaf.  A *literal* is a feature with a side: 1, the rows that have it, or 0; child
(side, f) of a node has the rows of that literal.  Arrays by literal have the side first: place ``side · stride + f``.

Where tests have prices, a test costs its price for each unit of mass that it is asked of.  Then the pairs tell what two leaves
cost without the price of the test between them; ``two_leaves`` finds it exactly for one literal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum_gosdt.sparse_lanes import (
    Rows, Words, best_of_two, cells_of, class_weights, has_prices, keep_rows, leaf_candidates, leaf_losses, lowest_bit, mask_of, pack_word,
    pairs_of, unpack_word,
)  # fmt: skip

NEVER = np.int64(1) << 60
"""The cost of what does not exist; two of them still add up."""
UNLIMITED = np.int64(1) << 20
"""Remaining depth where there is no limit."""
PART = 32
"""Features of one uint32 of a row; lanes are moved in whole parts."""


class Data(NamedTuple):
    """The table, and what is asked.

    of_class : int64[planes + 1], shifts : int64[groups], see :mod:`.sparse_lanes`.   saving : [1], what a leaf must save, in the
    type of a lane.   price : int64, of every feature, ascending; none where tests cost nothing.   dearest : int64, [k] the sum of
    the k highest prices.   numbers : int64, see the names below.
    """

    of_class: np.ndarray
    shifts: np.ndarray
    saving: np.ndarray
    price: np.ndarray
    dearest: np.ndarray
    numbers: np.ndarray


CLASSES, PLANES, WORD_BITS, LOSS, LEAF, SUPPORT, POSITIONS, LANES, OWN, BOUNDS = range(10)
"""Places in ``Data.numbers``: classes, planes (one more, where mass is counted), bits of a word, q, p, what
a leaf must save, rows that a level can hold, lanes of a vector, 1 where the weights of the classes are mass, besides that which is
counted, and which bounds are used (the bits below)."""
SIMILAR, DIVIDED, PARENT, SUPERSET, THREE, SHAPE, MEMO, SELECT = (1 << k for k in range(8))


class Levels(NamedTuple):
    """The nodes on the way from the root, one row a level; elements as wide as a lane unless said.

    words, full : words of the features, bits that stand for rows.   rows : uint32[parts · positions], the features of each row.
    sums : uint64[2 · positions], its random words.   starts : int64[groups + 1].   features : int32, of the table.
    totals, counts, both : see ``pairs_of``.   alive : 1 for features that divide the rows as no feature before them.
    upper, low, many : int64 by literal: least cost known, bound of all trees, bound of trees of three leaves and more.
    pair : int64, bound of the trees that ask the feature first, other than those whose cost is known.   paid : int64, what it costs
    to ask it.   mass, more : int64 by literal, the mass of the rows; ``many``, before two leaves may cost less (where tests have prices).
    rank : int64, the larger the sooner a feature is tried.   lane : int32, of a feature on the level above.   keys : uint64[…, 2], of child (1, f).
    seen : uint8, what was done for a feature.   node : int64, see the names below.   node_key : uint64[2].
    """

    words: np.ndarray
    full: np.ndarray
    rows: np.ndarray
    sums: np.ndarray
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
    paid: np.ndarray
    mass: np.ndarray
    more: np.ndarray
    rank: np.ndarray
    lane: np.ndarray
    keys: np.ndarray
    seen: np.ndarray
    node: np.ndarray
    node_key: np.ndarray


N_FEATURES, STRIDE, DEPTH, BUDGET, BEST, BEST_FEATURE, LEAST, CHILD, SIDE, STATE, WEIGHT, MASS, SAVING, PATH, CHEAPEST = range(15)
"""Places in ``Levels.node``: features, their number rounded up to whole vectors, remaining depth, what a tree may cost to matter,
least cost known and its feature (−1: a leaf), proven bound, feature and side of the child that is being solved, 0 for a node that
is new, weight of all rows; where tests have prices, mass of all rows, what a path below may cost, and the lowest price; what a
leaf must save beside a node that is divided."""
N_NODE = 15
RANK = 1 << 20
"""Rank = weight of the smaller side · RANK + features behind."""


class Scratch(NamedTuple):
    """Elements as wide as a lane.   row : one word of every feature of the table.   two, three : by literal.   mask, child : words.
    some : [classes].   least : see ``pairs_of``.   cells : see ``cells_of``.   gone : int64, mass of its cells, with f and without.
    alive : see ``count_pairs``.
    """

    row: np.ndarray
    two: np.ndarray
    three: np.ndarray
    mask: np.ndarray
    child: np.ndarray
    some: np.ndarray
    least: np.ndarray
    alive: np.ndarray
    cells: np.ndarray
    gone: np.ndarray
    fits: np.ndarray
    never: np.ndarray


TWO_0, TWO_1, OPEN, WHOLE = 8, 16, 32, 64
"""Bits of ``Levels.seen``: two leaves of a side may cost less than is known; the feature's pairs are counted; row i of ``both`` is
there for all features, not only from i's vector on."""


@jit(inner=True, borrow=True)
def words_of(data, levels, d):
    """The words of level d with their groups."""
    return Words(levels.words[d], levels.starts[d], data.of_class, data.shifts, data.numbers[CLASSES], data.numbers[PLANES], levels.node[d, STRIDE])


@jit(inner=True, borrow=True)
def cells(data, levels, scratch, d, i, side):
    """Child (side, i) with and without each feature, in ``scratch.cells`` and ``scratch.gone``."""
    classes, planes, stride, lanes = data.numbers[CLASSES], data.numbers[PLANES], levels.node[d, STRIDE], data.numbers[LANES]
    both, counts, totals = levels.both[d], levels.counts[d], levels.totals[d]
    if levels.seen[d, i] & WHOLE == 0:
        levels.seen[d, i] |= WHOLE
        for k in range(planes):
            for f in range(i // lanes * lanes):
                both[(i * planes + k) * stride + f] = both[(f * planes + k) * stride + i]
    row, found = both[i * planes * stride : (i + 1) * planes * stride], scratch.cells
    cells_of(found, stride, classes, row, counts, totals, i, 1 - side, levels.node[d, SAVING], data.numbers[SUPPORT])
    if has_prices(data.price):
        gone = scratch.gone
        for c in range(2 * stride):
            gone[c] = 0
        if data.numbers[OWN] != 0:
            for f in range(stride):
                gone[f] = np.int64(found[f]) + np.int64(found[stride + f])
                gone[stride + f] = np.int64(found[2 * stride + f]) + np.int64(found[3 * stride + f])
        if planes > classes:
            of_i, plane = np.int64(counts[classes * stride + i]), classes * stride
            size = of_i if side == 1 else np.int64(totals[classes]) - of_i
            for f in range(stride):
                with_f = np.int64(row[plane + f])
                if side == 0:
                    with_f = np.int64(counts[plane + f]) - with_f
                gone[f] += with_f
                gone[stride + f] += size - with_f


@jit(inner=True, borrow=True)
def weigh(data, levels, scratch, d):
    """Mass of the node of level d, what a path below it may cost, and what a leaf must save there.

    Of the best trees one of fewest leaves has at most 1 + q · loss / p leaves, as a leaf alone costs no more.  If a leaf goes, its
    rows are asked what the other side of the test above is asked (B.6): where tests have prices that costs at most its mass times
    the price of a path.
    """
    node, numbers, classes = levels.node[d], data.numbers, data.numbers[CLASSES]
    q, p = numbers[LOSS], numbers[LEAF]
    node[SAVING] = numbers[SUPPORT]
    if has_prices(data.price):
        most, weight = np.int64(0), np.int64(0)
        for k in range(classes):
            most, weight = max(most, np.int64(levels.totals[d, k])), weight + np.int64(levels.totals[d, k])
        rest = np.int64(levels.totals[d, classes]) if numbers[PLANES] > classes else np.int64(0)
        node[MASS] = numbers[OWN] * weight + rest
        tests = min(q * (weight - most) // p, node[DEPTH] - 1, data.dearest.shape[0] - 1)
        node[PATH] = data.dearest[max(tests, 0)]
        path = data.dearest[max(min(tests, q * (weight - most) // p - 1), 0)]
        saved = (p - rest * path) // (q + numbers[OWN] * classes * path) + 1 if rest * path <= p else np.int64(0)
        node[SAVING] = min(numbers[SUPPORT], saved)
    scratch.least[0], scratch.least[1] = min(node[SAVING], np.int64(data.saving[0])), data.saving[0]


@jit(inner=True, borrow=True)
def enter_child(data, levels, scratch, d, i, side):
    """Rows and features of child (side, i) of level d, as level d + 1.

    Features that leave a side of the child too little to save for a leaf stay out, here and below.
    """
    numbers, stride = data.numbers, levels.node[d, STRIDE]
    bits = numbers[WORD_BITS]
    at, words = np.int64(0), words_of(data, levels, d)
    old_rows, new_rows = Rows(levels.rows[d], levels.sums[d]), Rows(levels.rows[d + 1], levels.sums[d + 1])
    for g in range(data.shifts.shape[0]):
        first = at // bits
        levels.starts[d + 1, g] = first
        end = keep_rows(words, i, 1 - side, levels.full[d], g, stride // PART, numbers[POSITIONS], old_rows, at, new_rows)
        while at < end:
            left = end - at
            levels.full[d + 1, at // bits] = (1 << left) - 1 if left < bits else -1
            at += bits
    levels.starts[d + 1, data.shifts.shape[0]] = at // bits
    child, weight = levels.node[d + 1], np.int64(0)
    for k in range(numbers[PLANES]):
        of_i = np.int64(levels.counts[d, k * stride + i])
        total = of_i if side == 1 else np.int64(levels.totals[d, k]) - of_i
        levels.totals[d + 1, k] = total
        weight += total if k < numbers[CLASSES] else 0
    child[WEIGHT] = weight
    cells(data, levels, scratch, d, i, side)
    valid, alive, kept = scratch.cells[4 * stride : 5 * stride], levels.alive[d], 0
    for f in range(levels.node[d, N_FEATURES]):
        valid[f] &= alive[f]
        kept += np.int64(valid[f])
    place_features(data, levels, scratch, d + 1, d, valid, kept)


@jit(inner=True, borrow=True)
def place_features(data, levels, scratch, d, above, valid, kept):
    """Lanes of level d for the ``kept`` features of the level above (or itself) that are valid.

    Only where that saves a vector are lanes moved; else features that are out keep theirs and are not alive.
    """
    wide, n = levels.node[above, STRIDE], levels.node[above, N_FEATURES]
    lane, features, alive = levels.lane[d], levels.features[d], levels.alive[d]
    stride = max(kept + PART - 1, PART) // PART * PART
    levels.node[d, STRIDE], levels.node[d, N_FEATURES] = stride, kept
    if stride == wide:
        levels.node[d, N_FEATURES] = n
        for f in range(n):
            lane[f], features[f], alive[f] = f, levels.features[above, f], valid[f]
        return
    c = 0
    for f in range(n):
        if valid[f] != 0:
            lane[c], features[c], alive[c] = f, levels.features[above, f], 1
            c += 1
    positions, bits, words = data.numbers[POSITIONS], data.numbers[WORD_BITS], levels.words[d]
    for w in range(levels.starts[d, data.shifts.shape[0]]):
        pack_word(scratch.row, 0, wide // PART, positions, levels.rows[d], w * bits)
        for f in range(kept):
            words[f] = scratch.row[lane[f]]
        for f in range(kept, stride):
            words[f] = 0
        unpack_word(words, 0, stride // PART, positions, levels.rows[d], w * bits)


@jit(inner=True, borrow=True)
def pack_node(data, levels, d):
    """Words of the features of level d for its rows, and what each class weighs with them."""
    stride, bits = levels.node[d, STRIDE], data.numbers[WORD_BITS]
    for w in range(levels.starts[d, data.shifts.shape[0]]):
        pack_word(levels.words[d], w * stride, stride // PART, data.numbers[POSITIONS], levels.rows[d], w * bits)
    class_weights(words_of(data, levels, d), levels.counts[d])


@jit(inner=True, borrow=True)
def paid_for(data, levels, d, f):
    """What it costs to ask feature f of all rows of level d."""
    return levels.paid[d, f] if has_prices(data.price) else np.int64(0)


@jit(inner=True, borrow=True)
def bound_pair(data, levels, d, i):
    """The bound of feature i: a tree that is not among those known has at least three leaves on one side."""
    low, many, other = levels.low[d], levels.many[d], levels.node[d, STRIDE] + i
    levels.pair[d, i] = max(levels.pair[d, i], min(low[other] + many[i], many[other] + low[i]) + paid_for(data, levels, d, i))


@jit(inner=True, borrow=True)
def begin(data, levels, scratch):
    """The root's fingerprint, and its features that leave both sides enough to save; everything else is there."""
    weigh(data, levels, scratch, 0)
    node, counts, valid, kept = levels.node[0], levels.counts[0], scratch.two, 0
    positions, stride, support = data.numbers[POSITIONS], node[STRIDE], node[SAVING]
    for r in range(levels.starts[0, data.shifts.shape[0]] * data.numbers[WORD_BITS]):
        levels.node_key[0, 0] += levels.sums[0, r]
        levels.node_key[0, 1] += levels.sums[0, positions + r]
    pack_node(data, levels, 0)
    for f in range(node[N_FEATURES]):
        most_with, most_without = np.int64(0), np.int64(0)
        for k in range(data.numbers[CLASSES]):
            x = np.int64(counts[k * stride + f])
            most_with, most_without = max(most_with, x), max(most_without, np.int64(levels.totals[0, k]) - x)
        valid[f] = most_with >= support and most_without >= support
        kept += np.int64(valid[f])
    place_features(data, levels, scratch, 0, 0, valid, kept)


@jit(inner=True, borrow=True)
def inherit(data, levels, scratch, d):
    """Bounds of the children of the node of level d from those of its parent's children.

    Child T of the parent has the rows of child S of the same literal here, and those that the other side of the parent's test
    took away: a tree for S serves T at their cost, or with a leaf for them, one level deeper (as in ``spread_bound``).
    """
    q, p, support, above = data.numbers[LOSS], data.numbers[LEAF], data.numbers[SUPPORT], levels.node[d - 1]
    path, asked = levels.node[d, PATH], levels.features[d - 1, above[CHILD]]
    cells(data, levels, scratch, d - 1, above[CHILD], 1 - above[SIDE])
    if above[DEPTH] != UNLIMITED or data.numbers[BOUNDS] & DIVIDED == 0:
        support = NEVER
    wide, stride, n, found, lane = above[STRIDE], levels.node[d, STRIDE], levels.node[d, N_FEATURES], scratch.cells, levels.lane[d]
    upper, low, many = levels.upper[d], levels.low[d], levels.many[d]
    for side in range(2):
        gone = 0 if side == 1 else 2 * wide
        for f in range(n):
            old, place = lane[f], side * stride + f
            loss, saved = np.int64(found[gone + old]), np.int64(found[gone + wide + old])
            less = p + q * loss if saved >= support else q * (loss + saved)
            if has_prices(data.price):
                less = q * (loss + saved) + path * scratch.gone[old if side == 1 else wide + old]
                if support != NEVER:
                    less = min(less, p + q * loss + data.price[asked] * levels.mass[d - 1, side * wide + old])
            bound = levels.low[d - 1, side * wide + old] - less
            many[place] = bound
            low[place] = max(low[place], min(bound, upper[place]))


@jit(inner=True, borrow=True)
def count_pairs(data, levels, scratch, d, limit):
    """Count the pairs of the features that may be asked first within the limit: half of all pairs, or whole rows of few features.

    Where tests have prices, a feature goes only where a cheaper one, which is before it, divides the rows alike.
    """
    node, lanes, planes, priced = levels.node[d], data.numbers[LANES], data.numbers[PLANES], has_prices(data.price)
    n, stride, alive, low, never = node[N_FEATURES], node[STRIDE], levels.alive[d], levels.low[d], scratch.never[0]
    judged = scratch.alive if priced else alive
    if data.numbers[BOUNDS] & SELECT == 0:
        limit = NEVER
    some, all_of, words = np.int64(0), np.int64(0), words_of(data, levels, d)
    for f in range(n):
        if alive[f] != 0:
            all_of += (stride - f // lanes * lanes) // lanes
            some += stride // lanes if low[f] + low[stride + f] + paid_for(data, levels, d, f) <= limit else 0
    for c in range(2 * stride):
        scratch.two[c] = never
        scratch.three[c] = never
    if priced:
        for f in range(stride):
            judged[f] = alive[f]
    for i in range(n):
        alive[i] = judged[i]
        if alive[i] != 0 and (some >= all_of or low[i] + low[stride + i] + paid_for(data, levels, d, i) <= limit):
            begins = i // lanes * lanes if some >= all_of else 0
            both = levels.both[d, i * planes * stride :]
            pairs_of(words, i, begins, levels.totals[d], levels.counts[d], scratch.least, both, scratch.two, scratch.three, judged)
            alive[i] = 1
            levels.seen[d, i] |= OPEN if some >= all_of else OPEN | WHOLE


@jit(inner=True, borrow=True)
def expand(data, levels, scratch, d):
    """Everything that counting the pairs of a node's features says of it; rows, features and class weights are there.

    One leaf and two leaves below a literal are known exactly.  A tree of three leaves and more has, at its root, a leaf beside a
    cell that is divided (three leaves and at least the loss of that leaf), or two cells that are divided (four leaves).
    """
    node, q, p, classes = levels.node[d], data.numbers[LOSS], data.numbers[LEAF], data.numbers[CLASSES]
    n, stride, depth = node[N_FEATURES], node[STRIDE], node[DEPTH]
    most, priced = np.int64(0), has_prices(data.price)
    for k in range(classes):
        most = max(most, np.int64(levels.totals[d, k]))
    weigh(data, levels, scratch, d)
    node[STATE], node[CHILD] = 1, -1
    node[BEST], node[BEST_FEATURE] = q * (node[WEIGHT] - most) + p, -1
    if n == 0 or depth == 0:
        node[N_FEATURES] = 0
        return
    pack_node(data, levels, d)
    upper, low, many, pair, alive, weight = levels.upper[d], levels.low[d], levels.many[d], levels.pair[d], levels.alive[d], node[WEIGHT]
    for f in range(n, stride):
        alive[f] = 0
    leaf_losses(scratch.cells, stride, classes, levels.counts[d], levels.totals[d])
    if priced:
        price_tests(data, levels, scratch, d)
    for place in range(2 * stride):
        upper[place] = q * np.int64(scratch.cells[place]) + p
        low[place], many[place] = upper[place] if depth == 1 else min(upper[place], 2 * p), 0
    if priced and depth > 1:
        for place in range(2 * stride):
            low[place] = min(upper[place], 2 * p + node[CHEAPEST] * levels.mass[d, place])
    for f in range(stride):
        levels.seen[d, f] = 0
        has = np.int64(scratch.cells[2 * stride + f])
        levels.rank[d, f] = min(has, weight - has) * RANK + stride - f
    if d > 0 and data.numbers[BOUNDS] & PARENT != 0:
        inherit(data, levels, scratch, d)
    # more than the limit: bounds that only just suffice here say too little about other nodes.  Most nodes of less than five leaves
    # are closed at once: they take a quarter less time with a quarter of a leaf (carryout; as many nodes)
    limit = min(node[BUDGET], node[BEST] - 1)
    count_pairs(data, levels, scratch, d, limit + (p // 4 if limit < 5 * p else p))
    never = np.int64(scratch.never[0])
    for place in range(2 * stride):
        f = place if place < stride else place - stride
        if levels.seen[d, f] & OPEN != 0:
            two, three = np.int64(scratch.two[place]), np.int64(scratch.three[place])
            floor = node[CHEAPEST] * levels.mass[d, place] if priced else 0
            two = q * two + 2 * p + floor if depth >= 2 and two != never else NEVER
            least = (min(4 * p, q * three + 3 * p) if data.numbers[BOUNDS] & SHAPE != 0 else 3 * p) + floor
            more = max(many[place], least if depth >= 3 and three != never else NEVER)
            if not priced:
                upper[place] = min(upper[place], two)
            elif two < upper[place]:
                levels.more[d, place] = more
                more = min(more, max(many[place], two))
                levels.seen[d, f] |= TWO_1 if place >= stride else TWO_0
            low[place], many[place] = max(min(upper[place], more), min(upper[place], low[place])), more
    for f in range(stride):
        paid = paid_for(data, levels, d, f)
        bound, cost = min(low[stride + f] + many[f], many[stride + f] + low[f]) + paid, upper[f] + upper[stride + f] + paid
        pair[f] = NEVER if alive[f] == 0 else bound if levels.seen[d, f] & OPEN != 0 else low[f] + low[stride + f] + paid
        if alive[f] != 0 and cost < node[BEST]:
            node[BEST], node[BEST_FEATURE] = cost, levels.features[d, f]


@jit(inner=True, borrow=True)
def price_tests(data, levels, scratch, d):
    """What the features of level d cost, the mass of their literals; without those that all rows or none have."""
    node, numbers = levels.node[d], data.numbers
    stride, n, classes, counts, mass, alive = node[STRIDE], node[N_FEATURES], numbers[CLASSES], levels.counts[d], levels.mass[d], levels.alive[d]
    for f in range(stride):
        mass[stride + f] = np.int64(scratch.cells[2 * stride + f]) if numbers[OWN] != 0 else 0
    if numbers[PLANES] > classes:
        for f in range(stride):
            mass[stride + f] += np.int64(counts[classes * stride + f])
    node[CHEAPEST] = NEVER
    for f in range(stride):
        mass[f] = node[MASS] - mass[stride + f]
        price = data.price[levels.features[d, f]] if f < n else np.int64(0)
        levels.paid[d, f] = price * node[MASS]
        if mass[f] == 0 or mass[stride + f] == 0:
            alive[f] = 0
        if alive[f] != 0:
            node[CHEAPEST] = min(node[CHEAPEST], price)
    node[CHEAPEST] = 0 if node[CHEAPEST] == NEVER else node[CHEAPEST]


@jit(inner=True, borrow=True)
def two_leaves(data, levels, scratch, d, i, side):
    """The least cost of two leaves for child (side, i), where tests have prices."""
    q, p, stride, found = data.numbers[LOSS], data.numbers[LEAF], levels.node[d, STRIDE], scratch.cells
    place, best = side * stride + i, NEVER
    cells(data, levels, scratch, d, i, side)
    mass = levels.mass[d, place]
    for f in range(levels.node[d, N_FEATURES]):
        if levels.alive[d, f] != 0:
            loss = np.int64(found[f]) + np.int64(found[2 * stride + f])
            best = min(best, q * loss + data.price[levels.features[d, f]] * mass)
    levels.seen[d, i] &= ~(TWO_1 if side == 1 else TWO_0)
    levels.many[d, place] = max(levels.many[d, place], levels.more[d, place])
    return best + 2 * p


@jit(inner=True, borrow=True)
def spread_bound(data, levels, scratch, d, i, side, value):
    """A bound of child (side, i) bounds the children of other features, which have most of its rows.

    With T the rows of the one, S of the other: a tree for S serves T, at the cost of the rows T ∖ S (similar support, B.10).  Or
    T is divided by S's literal first, and T ∖ S becomes a leaf: its loss and a leaf, one level deeper.
    """
    q, p, support, stride = data.numbers[LOSS], data.numbers[LEAF], data.numbers[SUPPORT], levels.node[d, STRIDE]
    if data.numbers[BOUNDS] & SIMILAR == 0:
        return
    cells(data, levels, scratch, d, i, side)
    if levels.node[d, DEPTH] != UNLIMITED or data.numbers[BOUNDS] & DIVIDED == 0:
        support = NEVER
    upper, low, many, pair, found = levels.upper[d], levels.low[d], levels.many[d], levels.pair[d], scratch.cells
    mass, path = levels.mass[d], levels.node[d, PATH]
    for other in range(2):
        out = 2 * stride if other == 1 else 0  # T without f where S has it
        if has_prices(data.price):
            for f in range(stride):
                loss, saved, place = np.int64(found[out + f]), np.int64(found[out + stride + f]), other * stride + f
                less = q * (loss + saved) + path * scratch.gone[out // 2 + f]
                if support != NEVER and f < levels.node[d, N_FEATURES]:
                    less = min(less, p + q * loss + data.price[levels.features[d, f]] * mass[side * stride + i])
                many[place] = max(many[place], value - less)
                low[place] = max(low[place], min(value - less, upper[place]))
            continue
        for f in range(stride):
            loss, saved, place = np.int64(found[out + f]), np.int64(found[out + stride + f]), other * stride + f
            bound = value - (p + q * loss if saved >= support else q * (loss + saved))
            many[place] = max(many[place], bound)
            low[place] = max(low[place], min(bound, upper[place]))
    for f in range(stride):
        pair[f] = max(pair[f], min(low[stride + f] + many[f], many[stride + f] + low[f]) + paid_for(data, levels, d, f))


@jit(inner=True, borrow=True)
def three_leaves(data, levels, scratch, d, i, side, most):
    """What a tree of three leaves for child (side, i) costs at least, above three leaves and one test of the lowest price, if that is at
    most ``most``, else more than that; where tests have no price, it is the least cost.

    From the node's own words, without entering the child: one feature makes a leaf, another divides what is left.
    """
    q, p, classes, stride = data.numbers[LOSS], data.numbers[LEAF], data.numbers[CLASSES], levels.node[d, STRIDE]
    planes, priced, cheapest, size = data.numbers[PLANES], has_prices(data.price), levels.node[d, CHEAPEST], np.int64(0)
    words, n_words, ready = levels.words[d], levels.starts[d, data.shifts.shape[0]], False
    # two leaves for the rest cost at least the child's best two without the rows of the leaf
    least_saved = levels.upper[d, side * stride + i] - 2 * p
    if priced:
        size = levels.mass[d, side * stride + i]
        least_saved -= data.dearest[1] * size
    cells(data, levels, scratch, d, i, side)
    found, lanes, allowed, never = scratch.cells, data.numbers[LANES], most // q, np.int64(scratch.never[0])
    leaf_candidates(found, stride, levels.alive[d], min(allowed, never), min(max(np.int64(0), least_saved // q - allowed), never), scratch.fits)
    for vector in range(2 * stride // lanes):
        bits, without = scratch.fits[vector], vector & 1
        while bits != 0:
            f = vector // 2 * lanes + lowest_bit(bits)
            bits &= bits - 1
            at = 2 * without * stride + f
            loss, saved, paid = np.int64(found[at]), np.int64(found[stride + at]), np.int64(0)
            if priced:
                rest = scratch.gone[f if without == 1 else stride + f]
                paid = (data.price[levels.features[d, f]] - cheapest) * size + cheapest * rest
            allowed = (most - paid) // q
            if loss > allowed or q * (saved + allowed) < least_saved:
                continue
            if not ready:
                ready = True
                mask_of(words, stride, i, 1 - side, levels.full[d], 0, n_words, scratch.child)
            mask_of(words, stride, f, 1 - without, scratch.child, 0, n_words, scratch.mask)
            row = i * planes * stride
            for k in range(classes):
                of_f, of_i = np.int64(levels.counts[d, k * stride + f]), np.int64(levels.counts[d, k * stride + i])
                with_f = np.int64(levels.both[d, row + k * stride + f])
                if side == 0:
                    with_f, of_i = of_f - with_f, np.int64(levels.totals[d, k]) - of_i
                scratch.some[k] = with_f if without == 1 else of_i - with_f
            rest = best_of_two(words_of(data, levels, d), scratch.mask, scratch.some, data.saving)
            most = min(most, q * (loss + rest) + paid - 1)
    return most + 1 if priced else (most // q + 1) * q


@jit(inner=True, borrow=True)
def hand_up(data, levels, d):
    """Bounds of the children of the node of level d from those of the child that was solved: more rows cost no less."""
    wide, stride, n, lane = levels.node[d, STRIDE], levels.node[d + 1, STRIDE], levels.node[d + 1, N_FEATURES], levels.lane[d + 1]
    upper, low, many, pair = levels.upper[d], levels.low[d], levels.many[d], levels.pair[d]
    for f in range(n):
        if levels.alive[d + 1, f] == 0:
            continue
        old = lane[f]
        for side in range(2):
            bound, place = levels.low[d + 1, side * stride + f], side * wide + old
            many[place] = max(many[place], bound)
            low[place] = max(low[place], min(bound, upper[place]))
        pair[old] = max(pair[old], min(low[wide + old] + many[old], many[wide + old] + low[old]) + paid_for(data, levels, d, old))
