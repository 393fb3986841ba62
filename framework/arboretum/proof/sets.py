"""A set of objects as the checker counts it (numba kernels): by columns, the tests that are not
idle, as rows of one label and one power of two each, 64 of them a word::

    enter(S):
        for each group, a plane and a power of two: the objects of S that have it
            each 64 of them are a word for every test of the table: their bits, transposed
            ones[plane, test] += popcount(word) · power
        columns ← the tests of which both sides save enough (rule 1)
        for each side of each column:                                                (bound_sides)
            low ← cost as a leaf, or of two leaves, the cheapest test and what objects cost apart if
                that is less, of two leaves no less than its labels cost (rule 3); at least what a
                record says of the side

Invariants:

- Sides lie at (2 · level + side) · columns + column; with a limit on leaves, level counts from one
  leaf on, and the two sides of a column share the leaves: levels that add up to the last one.
- Plane k of ``ones`` has a number per column, that of objects with it; ``totals`` has all.
- In ``CountingScratch``, ``both`` and the four arrays of cells are of the column that was counted
  last.
- Numbers of columns are read and written as slices: an index that is a sum could be negative, for
  all that the compiler knows, and nothing would be done to eight columns at once.
- Where the table is plain, columns without an object, which nobody asks (COUNTED, and as dear as
  NEVER), make the columns of a set a multiple of LANES: what is left over behind full vectors is
  done one by one.

The rules that are meant by number stand in :mod:`arboretum.proof.additive`.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.bits import lowest, popcount, transpose
from arboretum.kernels.jit import inner
from arboretum.kernels.solving.fingerprints import prefetch
from arboretum.proof.records import first_slot_of, known_of, mark_of, part, slot_of

NEVER = np.int64(1) << 60
"""The cost of what does not exist; two of them still add up."""
COUNTED, RECORDED = 1, 2
"""Bits of ``Node.state``."""
LANES = 32
"""Columns that are counted at once: those of a plain table are a multiple of it.  Four vectors of
eight numbers, as the compiler makes them: with half as many the loops' ends took a tenth of
checking coupon_carryout λ=.02.
"""
KEPT = 256
"""Columns whose pairs are kept until the next set, half a MB; of more they are counted again."""

Ground = namedtuple(
    "Ground",
    "bits packed everything members plane shift mixer literal first price max_path_cost "
    "p unit labels least apart plain",
)
"""The table.  Planes of counts: what each label saves, then rows, mass, and what objects cost at
least; nothing is counted of rows where leaves may have any size, nor of mass where tests cost
nothing.

bits : uint64[objects, ·], bit f of the words is whether the object has column f.
packed : uint64[columns + 1, ·], the same as masks; the last holds no object.

everything : uint64[·], mask.
members : uint64[groups, ·], masks of the objects with a power of two in the count of a plane.
plane, shift : int64[groups], the plane and the power.
mixer : uint64[·], random.
literal : int64[·], 2 · column + side of a literal of the log.
first : int64[tests + 1], where those of a test begin.
price : int64[columns + 1], of a unit of mass.
max_path_cost : int64[·], sums of so many of the highest prices, of most tests on a path.
p, unit, labels, least : int64, what a leaf costs and a saving of 1 is worth, how many labels, and
    rows that a leaf must have.
apart : whether some object costs something by its best label.
plain : whether nothing is counted but what two labels weigh, in 32 bits: :mod:`.few_leaves`.
"""

NUMBERS = np.dtype(
    [
        ("columns", np.int64),  # how many are not idle
        ("depth", np.int64),  # limits of the set; −1: any
        ("leaves", np.int64),
        ("leaf", np.int64),  # its cost as a leaf
        ("path", np.int64),  # of a unit of mass: what a path below a side costs at most,
        ("beside", np.int64),  # one beside a leaf,
        ("cheapest", np.int64),  # and the cheapest of the columns
    ],
    align=True,
)
Node = namedtuple(
    "Node",
    "mask columns test_cost words ends ones weights totals low own high few claimed tried state "
    "rank pairs numbers",
)
"""A set.

mask : uint64[·].
columns, test_cost : int64, and what it costs to ask them.
words : uint64, ``words[w · columns + c]``.
ends : int64[groups], first word after each.
ones : int64, sums by plane and column.
totals : int64[planes].
weights : int32[2 · columns], ``ones`` of two labels, where the table is plain.
low, own : int64[levels, 2, columns], bounds of sides, and those of them that are from counting or a
    record.   A level is a number of leaves from 1 on, or there is one.
high : int64[2, columns], what sides cost at most without a limit on leaves, as a leaf or with a
    test: for who looks for a proof.
few : int64[2, columns], what counting trees of few leaves can show at most.
claimed : int64[2, columns], what somebody says of sides.
tried : uint8, as ``low``.
state : int64.
rank : int64, weight of the smaller side.
pairs : int32[columns, 2 · columns], or [1, …] where there are more than KEPT: what two labels weigh
    in side 1 of a column with each other; there for columns that are COUNTED, or for the last one.
numbers : NUMBERS.
"""

CountingScratch = namedtuple(
    "CountingScratch",
    "rows block words both most loss mass least busy joined order first marks planes mask path "
    "whole gone side few rest third fourth",
)
"""rows : int64[objects, or columns if they are more].

block : uint64[64].
words : uint64, of all columns.
both : int64[planes · columns].
most, loss, mass, least, busy : int64[4 · columns], of the cells of sides s of one column and t of
    another, at 2 s + t: what their objects cost anywhere below, what a leaf loses, mass where tests
    cost anything, what its objects and a test cost at least, and whether it may stand below the
    root.
joined, order : int64[columns], what trees cost that begin with each, and when it is counted.
marks : uint64[columns], fingerprints of the sides 1.
planes : int64[planes].
mask, path, whole, gone : uint64[·].
side, few, rest : int32[2 · columns], what two labels weigh on a side of a column, with each column;
    there in side 1 of a test; and in side 0.
"""


@inner
def levels_of(leaves):
    """Levels of a set: one for each number of leaves of a side, 1 without a limit (−1)."""
    return np.int64(1) if leaves < 0 else max(leaves - 1, np.int64(0))


@inner
def is_priced(ground):
    """Whether tests cost anything."""
    return ground.max_path_cost[ground.max_path_cost.shape[0] - 1] > 0


@inner
def busy_of(ground, path, saved, rows, mass):
    """Rule 1: whether a set may stand below the root of a tree with the fewest leaves.

    saved : by its best label.
    path : beside it.
    """
    return saved * ground.unit + path * mass > ground.p and rows >= ground.least


@inner
def paths_of(ground, node, depth):
    """Write into ``node.numbers`` what paths cost at most, for a unit of mass: a tree has no more
    leaves than pay for what they save (rule 1).

    depth : −1: any.
    """
    p, most = ground.p, np.int64(ground.max_path_cost.shape[0] - 1)
    tests = min(most, (node.numbers.leaf - p) // p) if p > 0 else most
    below = tests if depth < 0 else min(tests, max(depth - 1, np.int64(0)))
    node.numbers.path = ground.max_path_cost[below]
    node.numbers.beside = ground.max_path_cost[max(min(below, tests - 1), np.int64(0))]


@inner
def lay_word(ground, rows, block, word, ones, shift):
    """Write a word of up to 64 objects for each column, and add its ones up.

    rows : int64[≤ 64], the objects.
    block : uint64[64], scratch.
    word : uint64[columns], written: bit i is whether object i has the column.
    ones : int64[columns], takes 2^shift for each that has it.
    """
    for w in range(ground.bits.shape[1]):
        here = word[64 * w : min(64 * w + 64, word.shape[0])]
        with_column = ones[64 * w : 64 * w + here.shape[0]]
        for i in range(rows.shape[0]):
            block[i] = ground.bits[rows[i], w]
        block[rows.shape[0] :] = 0
        transpose(block)
        for f in range(here.shape[0]):
            here[f] = block[f]
            with_column[f] += popcount(block[f]) << shift


@inner
def enter(ground, log, node, scratch, depth, leaves):
    """Count the objects of ``node.mask``, find its columns, and what sides cost by one leaf and
    by records: writes all of ``node`` but ``claimed``.

    depth, leaves : limits of the set; −1: any.
    """
    numbers, columns, planes = node.numbers, ground.packed.shape[0] - 1, node.totals.shape[0]
    every = scratch.words
    ones = scratch.both
    labels = ground.labels
    n_words = np.int64(0)
    n = np.int64(0)
    divided = depth != 0 and leaves != 1
    node.totals[:] = 0
    ones[:] = 0
    for g in range(ground.plane.shape[0]):
        count, plane, shift = np.int64(0), ground.plane[g], ground.shift[g]
        for w in range(node.mask.shape[0]):
            rest = node.mask[w] & ground.members[g, w]
            while rest != 0:
                scratch.rows[count] = 64 * w + lowest(rest)
                count += 1
                rest &= rest - np.uint64(1)
        node.totals[plane] += count << shift
        for begin in range(0, count if divided else 0, 64):
            word = every[n_words * columns : (n_words + 1) * columns]
            of_plane = ones[plane * columns : (plane + 1) * columns]
            lay_word(
                ground,
                scratch.rows[begin : min(begin + 64, count)],
                scratch.block,
                word,
                of_plane,
                shift,
            )
            n_words += 1
        node.ends[g] = n_words
    most, whole = np.int64(0), np.int64(0)
    for k in range(labels):
        most, whole = max(most, node.totals[k]), whole + node.totals[k]
    numbers.leaf, numbers.cheapest = (whole - most) * ground.unit + ground.p, NEVER
    paths_of(ground, node, depth)
    rows, mass, beside = node.totals[labels], node.totals[labels + 1], numbers.beside
    inside, outside = scratch.loss[:columns], scratch.loss[columns : 2 * columns]
    weight = scratch.most[:columns]
    for f in range(columns):
        inside[f], outside[f], weight[f] = 0, 0, 0
    for k in range(labels):
        ones_k, total = ones[k * columns : (k + 1) * columns], node.totals[k]
        for f in range(columns):
            weight[f] += ones_k[f]
            inside[f] = max(inside[f], ones_k[f])
            outside[f] = max(outside[f], total - ones_k[f])
    for f in range(columns if divided else 0):
        rows_f, mass_f = ones[labels * columns + f], ones[(labels + 1) * columns + f]
        if busy_of(ground, beside, inside[f], rows_f, mass_f) and busy_of(
            ground, beside, outside[f], rows - rows_f, mass - mass_f
        ):
            node.columns[n], node.rank[n], node.state[n] = f, min(weight[f], whole - weight[f]), 0
            node.test_cost[n] = ground.price[f] * mass
            numbers.cheapest = min(numbers.cheapest, ground.price[f])
            n += 1
    # columns without an object fill the last vector up: nobody asks them
    wide = min(-(-n // LANES) * LANES, node.columns.shape[0]) if ground.plain else n
    for c in range(n, wide):
        node.columns[c], node.rank[c], node.state[c] = columns, 0, COUNTED
        node.test_cost[c] = NEVER
    for k in range(planes):
        kept, of_all = node.ones[k * wide : (k + 1) * wide], ones[k * columns : (k + 1) * columns]
        for c in range(n):
            kept[c] = of_all[node.columns[c]]
        kept[n:] = 0
    if ground.plain:
        for c in range(2 * wide):
            node.weights[c] = np.int32(node.ones[c])
    for w in range(n_words):
        words, all_words = (
            node.words[w * wide : (w + 1) * wide],
            every[w * columns : (w + 1) * columns],
        )
        for c in range(n):
            words[c] = all_words[node.columns[c]]
        words[n:] = 0
    numbers.columns, numbers.depth, numbers.leaves = wide, depth, leaves
    bound_sides(ground, log, node, scratch)


@inner
def mass_of(ground, node, c, s):
    """The mass of side s of the node's column c; 0 where tests cost nothing."""
    plane = ground.labels + 1
    with_c = node.ones[plane * node.numbers.columns + c]
    return with_c if s == 1 else node.totals[plane] - with_c


@inner
def floor_of(ground, node, c, s):
    """What the objects of side s of the node's column c cost at least, divided by the cheapest
    test.
    """
    plane = ground.labels + 2
    with_c = node.ones[plane * node.numbers.columns + c]
    apart = with_c if s == 1 else node.totals[plane] - with_c
    return apart * ground.unit + node.numbers.cheapest * mass_of(ground, node, c, s)


@inner
def leaf_of(ground, node, c, s):
    """What side s of the node's column c costs as a leaf."""
    whole, most = np.int64(0), np.int64(0)
    for k in range(ground.labels):
        one = node.ones[k * node.numbers.columns + c]
        one = one if s == 1 else node.totals[k] - one
        whole, most = whole + one, max(most, one)
    return (whole - most) * ground.unit + ground.p


@inner
def cost_leaves(ground, node, s, cost, best):
    """Write into ``cost`` what side s of each column costs as a leaf.   best : written."""
    n = node.numbers.columns
    for c in range(n):
        cost[c], best[c] = 0, 0
    for k in range(ground.labels):
        ones, total = node.ones[k * n : (k + 1) * n], node.totals[k]
        for c in range(n):
            one = ones[c] if s == 1 else total - ones[c]
            cost[c], best[c] = cost[c] + one, max(best[c], one)
    for c in range(n):
        cost[c] = (cost[c] - best[c]) * ground.unit + ground.p


@inner
def raise_by_labels(ground, node, s, two, cost):
    """Raise ``two``, what side s of each column costs at least when it is divided, to what its
    labels cost (rule 3).

    cost : written.
    """
    n = node.numbers.columns
    for c in range(n):
        cost[c] = 0
    for k in range(ground.labels):
        ones, total = node.ones[k * n : (k + 1) * n], node.totals[k]
        for c in range(n):
            one = ones[c] if s == 1 else total - ones[c]
            cost[c] += min(one * ground.unit, ground.p)
    for c in range(n):
        two[c] = max(two[c], cost[c])


@inner(wraps=True)
def mark_sides(ground, log, node, scratch, mask, goal):
    """Write the fingerprints of side 1 of the node's columns on a mask into ``scratch.marks``, and
    prefetch what is looked up of both sides; returns the fingerprint of the mask.

    goal : only of columns whose ``scratch.joined`` is below it; NEVER: of all.
    """
    mark = mark_of(ground, mask)
    for c in range(node.numbers.columns):
        if goal == NEVER or scratch.joined[c] < goal:
            with_c, column = np.uint64(0), ground.packed[node.columns[c]]
            for w in range(mask.shape[0]):
                with_c += (mask[w] & column[w]) * ground.mixer[w]
            scratch.marks[c] = with_c
            prefetch(log.slots, first_slot_of(log, with_c))
            prefetch(log.slots, first_slot_of(log, mark - with_c))
    return mark


@inner(wraps=True)
def bound_sides(ground, log, node, scratch):
    """Write into ``low``, ``own``, ``tried`` and ``state`` what the sides of the columns cost by
    one leaf and by records.
    """
    n, leaves = node.numbers.columns, node.numbers.leaves
    below = max(node.numbers.depth - 1, np.int64(-1))
    mark = mark_sides(ground, log, node, scratch, node.mask, NEVER)
    for s in range(2):
        leaf, two = scratch.loss[s * n : (s + 1) * n], scratch.most[s * n : (s + 1) * n]
        cost_leaves(ground, node, s, leaf, two)
        high, few = node.high[s * n : (s + 1) * n], node.few[s * n : (s + 1) * n]
        for c in range(n):
            high[c], few[c] = leaf[c], 5 * ground.p
            two[c] = 2 * ground.p + floor_of(ground, node, c, s)
        if ground.labels > 2:
            raise_by_labels(ground, node, s, two, scratch.loss[2 * n : 3 * n])
        for level in range(levels_of(leaves)):
            first = (2 * level + s) * n
            low, own = node.low[first : first + n], node.own[first : first + n]
            alone = below == 0 or fewer(leaves, level) == 1
            for c in range(n):
                low[c], own[c] = leaf[c] if alone else min(leaf[c], two[c]), 0
            node.tried[first : first + n] = 0
        for c in range(n):
            here = scratch.marks[c] if s == 1 else mark - scratch.marks[c]
            # else its cost is known
            if leaf[c] > two[c] and below != 0 and log.slots[slot_of(log, here), 0] != 0:
                part(ground, node.mask, node.columns[c], s, scratch.mask)
                for level in range(levels_of(leaves)):
                    few, place = fewer(leaves, level), (2 * level + s) * n + c
                    found = known_of(ground, log, scratch.mask, here, below, few, scratch.path)
                    node.low[place], node.own[place] = max(found, node.low[place]), found
                    node.state[c] |= RECORDED if found > 0 else 0


@inner
def fewer(leaves, level):
    """Leaves that a side may have on a level."""
    return np.int64(-1) if leaves < 0 else np.int64(level + 1)
