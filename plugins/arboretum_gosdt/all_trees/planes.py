"""The objects of a set as bits, a word for 64 of them and every test, and what is counted in them
(numba kernels).

An object r adds ``excess[r, c]`` to number c; so that sums are counts of bits, every bit of such a
number is a *kind*, and a word has a mask for each kind; masks that are not 0 are *terms*::

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

The terms of a set are listed once, its masks are packed as tests are, and vector code goes through
the tests (:mod:`.passes`).  Processor milliseconds of optimum, set and counts, before and after in
turns: bar-7 2.2 and 1.7, german-credit 11.2 and 9.4, heart-cleveland 19.9 and 17.2, fico-binary 66
and 63, a million rows drawn from it 195 and 154.

Invariants: number c has the terms end[d, c] … end[d, c + 1] − 1; each has a word ``mask``, its
``shift``, and the ``place`` of the first test's word in ``planes``.  Lanes behind the ``width``
tests that divide the set are 0, up to a multiple of LANES, ``lanes`` of the node.  numba checks no
index.

Where nothing else is said, table is a GraphTable, only read; levels and scratch are GraphLevels and
GraphScratch, written; d is the level of the set.
"""

from typing import NamedTuple

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
from arboretum_gosdt.all_trees.passes import count_common
from arboretum_gosdt.problem.kernels import ONE, REST

WORST, MASS, ROWS = 0, 1, 2
"""Rows of ``GraphLevels.sums`` and ``total`` behind those of the answers: the greatest excess of
each object, mass and training rows.
"""


class PlaneLevels(NamedTuple):
    """The sets of a search, one level a row; of no words where the table has codes.

    planes : uint64[levels, words, tests], the outcomes of tests as bits of objects.
    mask : uint64[levels, terms], a word of a kind of excess.
    place : int64[levels, terms], where the term's word of the first test is in ``planes``.
    shift : int64[levels, terms], of its kind.
    end : int64[levels, answers + 4], where the terms of each number begin.
    """

    planes: np.ndarray
    mask: np.ndarray
    place: np.ndarray
    shift: np.ndarray
    end: np.ndarray


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
    planes, masks = levels.by_planes.planes[d], scratch.masks
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
        word, shift = (at - begin) >> 6, np.uint64((at - begin) & 63)
        plane, mask = planes[word], masks[word]
        for f in range(plane.shape[0]):
            plane[f] |= np.uint64(says[f]) << shift
        for k in range(mask.shape[0]):
            mask[k] |= np.uint64(says[plane.shape[0] + k]) << shift
    mask, place, shift_of = (
        levels.by_planes.mask[d],
        levels.by_planes.place[d],
        levels.by_planes.shift[d],
    )
    ends, terms = levels.by_planes.end[d], np.int64(0)
    for c in range(ends.shape[0] - 1):
        ends[c] = terms
        first, last = table.first_kind[c], table.first_kind[c + 1]
        for k in range(first, last):
            for w in range(words):
                mask[terms], place[terms] = masks[w, k], w * planes.shape[1]
                shift_of[terms] = table.shift[k]
                terms += masks[w, k] != 0
    ends[ends.shape[0] - 1] = terms


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
def add_bits(into, plane, lanes):
    """Add the bits of the words of the tests.

    into : int64[lanes].   plane : uint64[lanes].
    """
    for j in range(lanes):
        into[j] += popcount(plane[j])


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
    node, planes, end, place = (
        levels.node[d],
        levels.by_planes.planes[d],
        levels.by_planes.end[d],
        levels.by_planes.place[d],
    )
    mask, shift = levels.by_planes.mask[d], levels.by_planes.shift[d]
    sums, total, objects = levels.sums[d], levels.total[d], scratch.objects
    last, n = planes.shape[1], levels.first[d + 1] - levels.first[d]
    total[:] = 0
    objects[:] = 0
    for w in range(node.words):
        add_bits(objects, planes[w], last)
    for c in range(sums.shape[0]):
        for t in range(end[c], end[c + 1]):
            total[c] += popcount(mask[t]) << shift[t]
        count_common(planes, mask, place, shift, sums[c], end[c], end[c + 1], last)
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
    count_losses_of_pairs(table, levels, scratch, d, i)
    n_answers, both = table.excess.shape[1], scratch.both
    if n_answers == 2 and not table.numbers.coded:
        worst, one, other = both[2], both[0], both[1]
        for j in range(levels.node[d].lanes):
            worst[j] = one[j] + other[j]


@inner
def count_losses_of_pairs(table, levels, scratch, d, i):
    """Do what :func:`count_pairs_of_test` does; of two answers the greatest excess may be left
    out.
    """
    if table.numbers.coded:
        count_pairs_by_codes(table, levels, scratch, d, i)
        return
    planes, of_set, place_of_set = (
        levels.by_planes.planes[d],
        levels.by_planes.mask[d],
        levels.by_planes.place[d],
    )
    words, ends, lanes = planes.reshape(-1), levels.by_planes.end[d], levels.node[d].lanes
    shift_of_set, n_answers = levels.by_planes.shift[d], table.excess.shape[1]
    mask, place, shift = scratch.mask, scratch.at, scratch.shift
    for c in range(n_answers + (n_answers != 2)):
        terms = np.int64(0)
        for t in range(ends[c], ends[c + 1]):
            at = place_of_set[t]
            here = words[at + i] & of_set[t]
            mask[terms], place[terms], shift[terms] = here, at, shift_of_set[t]
            terms += here != 0
        count_common(planes, mask, place, shift, scratch.both[c], np.int64(0), terms, lanes)


@inner(wraps=True)
def sum_keys(table, levels, d, i):
    """Write the fingerprints of both sides of test i, sums of the words of their objects, where
    they are not there yet.
    """
    if levels.keyed[d, i]:
        return
    levels.keyed[d, i] = True
    node, planes, begin = levels.node[d], levels.by_planes.planes[d], levels.first[d]
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
        word = levels.by_planes.planes[d, w, i]
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
