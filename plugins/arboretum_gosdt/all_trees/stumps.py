"""The thresholds that divide a set whose sides must be leaves, where tables are of codes and sums
are small (numba kernels).

Threshold k of a column has outcome 1 where code > k.  With B the set's budget, p what a leaf costs,
and n_c(x) the excess of answer c over objects x, of two answers::

    packed[c] = of the objects of code c: how many they are, n_0 and n_1, as one number; summed from
        the top: of the sides of outcome 1
    loss[k] = min n_c(one) + min n_c(rest), of all thresholds as vectors; NEVER where a side is
        empty                                                               (losses_of_stumps)
    for every column, its thresholds ascending, with q · loss[k] + 2 p ≤ B:
        at the first one: sort the set's objects by their codes               (begin_column)
        objects up to code k leave the side of outcome 1, its bits and its fingerprint; none does:
            the set is divided as before, and the sides are the same        (take_from_side)
        put both sides into the graph, as leaves;  keep an edge               (``write_stumps``)

What it was worth for ct_bank at depth 2, which has 420 such sets with 44 edges each, in processor
milliseconds of the whole: 59 by pairs and edges as of any set, 29 so, with sums apart; 26 with
these, when bits of all tests were left out, and 17 with one.

Invariants: ``packed`` has a place for every code of a column, one more than it has thresholds.  A
number in it is below 2^BITS.  ``scratch.side`` has the bits and the fingerprint of the side of
outcome 1 of the threshold at work.  Of level 0 only the objects, bits and node are read; places of
tests there are the tests themselves.  numba checks no index: the graph has room for an edge and two
sets for each test, the memo for as many sets.

table is a GraphTable of codes, only read; levels and scratch are GraphLevels and GraphScratch,
written; b is a column.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner
from arboretum_gosdt.all_trees.pairs import NEVER
from arboretum_gosdt.problem.kernels import both_sides

BITS = 21
"""Bits of each number that is packed."""
LOW = np.int64((1 << BITS) - 1)


@inner
def losses_of_stumps(table, levels, scratch):
    """Write what every threshold loses, with a leaf on both sides, in the set of level 0
    (``levels.bound``), and pack the numbers of all sides (``scratch.packed``); returns those of the
    set.
    """
    codes, start, n, packed = table.codes, table.start, levels.first[1], scratch.packed
    columns, whole = codes.shape[1], np.int64(0)
    packed[:] = 0
    for t in range(n):
        r = levels.objects[t]
        row, amount = codes[r], table.packed_amount[r]
        whole += amount
        for b in range(columns):
            packed[start[b] + b + row[b]] += amount
    all_0, all_1 = (whole >> BITS) & LOW, whole >> (2 * BITS)
    for b in range(columns):
        first, above = start[b], np.int64(0)
        sums = packed[first + b + 1 :]
        size = start[b + 1] - first
        for k in range(size - 1, -1, -1):
            above += sums[k]
            sums[k] = above
        lost = levels.bound[0, first:]
        for k in range(size):
            ones, one_0, one_1 = sums[k] & LOW, (sums[k] >> BITS) & LOW, sums[k] >> (2 * BITS)
            loss = min(one_0, one_1) + min(all_0 - one_0, all_1 - one_1)
            lost[k] = loss if 0 < ones < n else NEVER
    return whole


@inner
def begin_column(table, levels, scratch, b):
    """Let the side of outcome 1 have all objects of the set of level 0, and list these by their
    codes of a column, ascending, behind its objects.
    """
    codes, side, sums = table.codes, scratch.side, scratch.packed[table.start[b] + b + 1 :]
    n, words, end = levels.first[1], levels.bits.shape[0], scratch.place
    begin, none = n, np.int64(0)
    for k in range(table.start[b + 1] - table.start[b]):
        end[k] = n - (sums[k] & LOW)
    for t in range(n):
        r = levels.objects[t]
        code = codes[r, b]
        if code == 0:
            levels.objects[begin + none] = r
            none += 1
        else:
            levels.objects[begin + end[code - 1]] = r
            end[code - 1] += 1
    for w in range(words):
        side[w] = levels.bits[w]
    for word in range(2):
        side[words + word] = np.uint64(levels.node[0].key[word])


@inline(wraps=True)
def take_from_side(table, levels, scratch, begin, end):
    """Take the objects of those places, listed by :func:`begin_column`, from the side of outcome
    1.
    """
    side, words = scratch.side, levels.bits.shape[0]
    one, two = side[words], side[words + 1]
    for t in range(begin, end):
        r = levels.objects[levels.first[1] + t]
        side[r >> 6] &= ~(np.uint64(1) << np.uint64(r & 63))
        one -= np.uint64(table.keys[r, 0])
        two -= np.uint64(table.keys[r, 1])
    side[words], side[words + 1] = one, two


@inline(wraps=True)
def write_side(table, levels, scratch, f, one, whole):
    """Write what both sides of a threshold cost as leaves (``leaf``), none of them as any other
    tree, and their fingerprints.

    one, whole : packed numbers of the side of outcome 1, and of the set.
    """
    words, node, p, q = levels.bits.shape[0], levels.node[0], table.numbers.p, table.numbers.q
    rest = whole - one
    leaf_of_one, leaf_of_rest = both_sides(levels.leaf[0])
    leaf_of_one[f] = q * min((one >> BITS) & LOW, one >> (2 * BITS)) + p
    leaf_of_rest[f] = q * min((rest >> BITS) & LOW, rest >> (2 * BITS)) + p
    for several in both_sides(levels.several[0]):
        several[f] = NEVER
    key_of_one, key_of_rest = both_sides(levels.side_key[0])
    for word in range(2):
        key = np.int64(scratch.side[words + word])
        key_of_one[f, word], key_of_rest[f, word] = key, node.key[word] - key
