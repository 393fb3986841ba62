"""The objects of a set as bits, a word for 64 of them and every test, and what is counted in them
(numba kernels).

An object r adds ``excess[r, c]`` to number c; so that sums are counts of bits, every bit of such a
number is a *kind*, and a word has a mask for each kind::

    pack: the t-th object of the set is bit t % 64 of planes[t // 64, f] where it has test f, and
        of masks[t // 64, k] where the binary digit k of its numbers is 1
    sums[c, f] = Σ over words and kinds k of c of 2^shift(k) · |planes[·, f] ∧ masks[·, k]|
    both[c, j], of one test i, = Σ 2^shift(k) · |planes[·, i] ∧ planes[·, j] ∧ masks[·, k]|

Numbers are the answers' excesses, the greatest excess (WORST, of three answers and more), mass and
rows, as far as they are asked for.  Objects of like excesses are neighbours, so that few masks of a
word are not 0.

What it was worth, in seconds of the search for all trees (fico-binary depth 5, german-credit 3,
heart-cleveland 4, thresholds of ct_raisin 2)::

                                                                      fico german  heart raisin
    64-bit (of pairs: 32-bit) lanes added for each object             .864   .240   .181   9.28
    counts of bits, pairs of a test when it is bounded, and no
        set is taken that must be a leaf                              .172   .071   .065   .064
    the memo is asked before a side is solved, not for every test     .142   .034   .039   .077
    pairs say that a side of an edge must be a leaf                   .122   .034   .039   .074
    eight objects are put together before they are added to planes,
        masks by ranges of like objects                               .072   .014   .025   .048
    the optimum of many tests by the same search, which goes on to
        all trees from there (.15 to .6 s by the sparse search)         –      –      –    .011

Invariants: lanes behind the ``width`` tests that divide the set are 0, up to a multiple of LANES,
``lanes`` of the node.  numba checks no index.

Where nothing else is said, table is a GraphTable, only read; levels and scratch are GraphLevels and
GraphScratch, written; d is the level of the set.
"""

import numpy as np

from arboretum.kernels.bits import lowest, popcount
from arboretum.kernels.jit import inline, inner, jit
from arboretum_gosdt.all_trees.codes import (
    LANES,
    count_pairs_by_codes,
    list_side_by_codes,
    sum_keys_by_codes,
    sum_sides_by_codes,
    write_bits_by_codes,
)
from arboretum_gosdt.problem.kernels import ONE, REST

WORST, MASS, ROWS = 0, 1, 2
"""Rows of ``GraphLevels.sums`` and ``total`` behind those of the answers: the greatest excess of
each object, mass and training rows.
"""


@jit(borrow=True)
def order_table(outcome, order, into, planes, plane):
    """Write the outcomes of a table in another order of its objects, as bytes and as planes.

    outcome : uint8[objects, tests].
    order : int64[objects], which comes where.
    into : uint8[objects, lanes], zeros.
    planes : uint64[tests, words], out.   plane : uint64[lanes], room.
    """
    n, tests = outcome.shape
    for begin in range(0, n, 64):
        plane[:] = 0
        for at in range(begin, min(begin + 64, n)):
            says, row, bit = outcome[order[at]], into[at], np.uint64(at - begin)
            for f in range(tests):
                row[f] = says[f]
            for f in range(tests):
                plane[f] |= np.uint64(says[f]) << bit
        for f in range(tests):
            planes[f, begin >> 6] = plane[f]


@inner
def pack_objects(table, levels, scratch, d):
    """Write the bits of the objects of the set, of all tests, and the masks of their kinds.

    Of eight objects bits are put together as bytes, eight tests a word, then added to the planes.
    """
    node, packed, objects = levels.node[d], table.packed, levels.objects
    begin, end = levels.first[d], levels.first[d + 1]
    words = (end - begin + 63) >> 6
    node.words = words
    planes, masks = levels.planes[d], levels.masks[d]
    planes[:words] = 0
    masks[:words] = 0
    together, says = scratch.together, scratch.says
    for at in range(begin, end, 8):
        if at + 8 <= end:
            put_together(packed, objects[at : at + 8], together)
        else:
            together[:] = 0
            for t in range(end - at):
                for g in range(together.shape[0]):
                    together[g] |= packed[objects[at + t], g] << np.uint64(t)
        plane, shift = planes[(at - begin) >> 6], np.uint64((at - begin) & 63)
        for f in range(says.shape[0]):
            plane[f] |= np.uint64(says[f]) << shift
    start = begin
    while start < end:
        like, stop = table.like[objects[start]], start + 1
        while stop < end and table.like[objects[stop]] == like:
            stop += 1
        for k in range(table.first_kind[like], table.first_kind[like + 1]):
            add_range(masks, table.kind_of[k], start - begin, stop - begin)
        start = stop


@inline
def put_together(packed, rows, together):
    """Write bit t of every byte from eight rows of ``packed``, ``rows`` in their order."""
    a, b, c, d = packed[rows[0]], packed[rows[1]], packed[rows[2]], packed[rows[3]]
    e, f, g, h = packed[rows[4]], packed[rows[5]], packed[rows[6]], packed[rows[7]]
    for i in range(together.shape[0]):
        low = a[i] | b[i] << np.uint64(1) | c[i] << np.uint64(2) | d[i] << np.uint64(3)
        high = e[i] | f[i] << np.uint64(1) | g[i] << np.uint64(2) | h[i] << np.uint64(3)
        together[i] = low | high << np.uint64(4)


@inline
def add_range(masks, k, start, stop):
    """Set bits ``start`` … ``stop`` − 1 of a kind's masks."""
    for w in range(start >> 6, ((stop - 1) >> 6) + 1):
        low, high = max(start - w * 64, 0), min(stop - w * 64, 64)
        ones = ~np.uint64(0) >> np.uint64(64 - (high - low))
        masks[w, k] |= ones << np.uint64(low)


@inline
def add_bits(into, plane, mask, shift, lanes):
    """Add 2^shift for every bit that a mask and the words of the tests have in common.

    into : int64[lanes].   plane : uint64[lanes].
    """
    for j in range(lanes):
        into[j] += popcount(plane[j] & mask) << shift


@inner
def sum_sides_of_tests(table, levels, scratch, d):
    """Sum all numbers over the objects with outcome 1 of each test (``levels.sums``) and over all
    (``levels.total``), and list the tests that divide the set; returns how many.

    Tables of codes have no planes (:mod:`.codes`).
    A test with fewer than ``numbers.least`` rows on a side is left out; ``levels.test[d]``, the
    columns of ``sums`` and the planes keep the others, in their order.
    """
    if table.numbers.coded:
        return sum_sides_by_codes(table, levels, scratch, d)
    pack_objects(table, levels, scratch, d)
    node, planes, masks = levels.node[d], levels.planes[d], levels.masks[d]
    sums, total, objects = levels.sums[d], levels.total[d], scratch.objects
    last, n = planes.shape[1], levels.first[d + 1] - levels.first[d]
    sums[:] = 0
    total[:] = 0
    objects[:] = 0
    for w in range(node.words):
        add_bits(objects, planes[w], ~np.uint64(0), np.int64(0), last)
        for k in range(masks.shape[1]):
            mask, number, shift = masks[w, k], table.number[k], table.shift[k]
            if mask != 0:
                total[number] += popcount(mask) << shift
                add_bits(sums[number], planes[w], mask, shift, last)
    n_answers, least, width = table.excess.shape[1], table.numbers.least, 0
    if n_answers <= 2:  # one of two excesses is 0
        for c in range(n_answers):
            total[n_answers + WORST] += total[c]
            for f in range(last):
                sums[n_answers + WORST, f] += sums[c, f]
    for f in range(table.price.shape[0]):
        rows = sums[n_answers + ROWS, f]
        if 0 < objects[f] < n and rows >= least and total[n_answers + ROWS] - rows >= least:
            levels.test[d, width] = f
            width += 1
    node.lanes = (width + LANES - 1) // LANES * LANES
    if width < table.price.shape[0]:
        keep_columns(sums, levels.test[d], width, node.lanes)
        keep_columns(planes[: node.words], levels.test[d], width, node.lanes)
    return width


@inline
def keep_columns(rows, kept, width, lanes):
    """Move the columns that are kept to the front, and make those behind 0, up to ``lanes``."""
    for c in range(rows.shape[0]):
        row = rows[c]
        for i in range(width):
            row[i] = row[kept[i]]
        for i in range(width, lanes):
            row[i] = 0


@inner
def count_pairs_of_test(table, levels, scratch, d, i):
    """Sum excesses over the objects of the set with test i and every other: both[c, j], and the
    greatest excess: both[answers, j].

    i : place among the tests that divide the set.
    """
    if table.numbers.coded:
        count_pairs_by_codes(table, levels, scratch, d, i)
        return
    node, planes, masks, both = levels.node[d], levels.planes[d], levels.masks[d], scratch.both
    n_answers, lanes = table.excess.shape[1], node.lanes
    for c in range(n_answers + 1):
        both[c, :lanes] = 0
    for w in range(node.words):
        here = planes[w, i]
        for k in range(table.numbers.pair_kinds if here != 0 else 0):
            mask = here & masks[w, k]
            if mask != 0:
                add_bits(both[table.number[k]], planes[w], mask, table.shift[k], lanes)
    if n_answers <= 2:
        for c in range(n_answers):
            for j in range(lanes):
                both[n_answers + WORST, j] += both[c, j]


@inner(wraps=True)
def sum_keys(table, levels, d, i):
    """Write the fingerprints of both sides of test i, sums of the words of their objects, where
    they are not there yet.
    """
    if levels.keyed[d, i]:
        return
    levels.keyed[d, i] = True
    node, planes, begin = levels.node[d], levels.planes[d], levels.first[d]
    one, two = np.int64(0), np.int64(0)
    if table.numbers.coded:
        one, two = sum_keys_by_codes(table, levels, d, i)
    for w in range(0 if table.numbers.coded else node.words):
        word = planes[w, i]
        while word != 0:
            r = levels.objects[begin + w * 64 + lowest(word)]
            word &= word - np.uint64(1)
            one += table.keys[r, 0]
            two += table.keys[r, 1]
    levels.side_key[d, 0, i, 0], levels.side_key[d, 0, i, 1] = one, two
    levels.side_key[d, 1, i, 0], levels.side_key[d, 1, i, 1] = node.key[0] - one, node.key[1] - two


@inner
def list_side(table, levels, d, i, side, end):
    """Write the objects of a side of test i to ``levels.objects`` from ``end`` on; returns the new
    end.
    """
    if table.numbers.coded:
        return list_side_by_codes(levels, d, i, side, end)
    node, begin, n = levels.node[d], levels.first[d], levels.first[d + 1] - levels.first[d]
    for w in range(node.words):
        word = levels.planes[d, w, i]
        if side == REST:
            word = ~word & (~np.uint64(0) >> np.uint64(max(64 * (w + 1) - n, 0)))
        while word != 0:
            levels.objects[end] = levels.objects[begin + w * 64 + lowest(word)]
            word &= word - np.uint64(1)
            end += 1
    return end


@inner
def write_bits_of_side(table, levels, scratch, i, side, bits):
    """Write the objects of a side of test i of level 0 as bits, uint64[words]."""
    if table.numbers.packed and levels.node[0].depth == 1:  # see :mod:`.stumps`
        for w in range(bits.shape[0]):
            own = scratch.side[w]
            bits[w] = own if side == ONE else levels.bits[w] & ~own
        return
    if table.numbers.coded:
        write_bits_by_codes(levels, 0, i, side, bits)
        return
    for w in range(bits.shape[0]):
        plane = table.planes[levels.test[0, i], w]
        bits[w] = levels.bits[w] & (plane if side == ONE else ~plane)
