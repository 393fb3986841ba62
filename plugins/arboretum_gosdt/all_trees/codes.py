"""Sums over the sides of tests that are thresholds of columns: an object is a code in every column,
and a sum for each threshold is what lies at it and above (numba kernels).

For columns of many thresholds this is done in place of :mod:`.planes`, with the same results.
Threshold k of a column, of those that divide the table, has outcome 1 where code > k::

    ones[k] = |{objects of the set: code > k}|, from a count at code − 1, summed from the top
    kept = the thresholds that divide the set; codes[d, t, b] = the lane of the last kept threshold
        of column b that the t-th object is above, −1: of none
    sums[c, lane] = Σ of number c at lanes of the column from this one up
    both[c, ·] of a test = the same over the objects whose lane in its column is at least its own

A pass costs objects · columns + thresholds, where planes cost objects · thresholds / 512 and more.
Processor seconds of optimum and set, by planes and by codes: ct_page at depth 2 (5,322 objects, 10
columns, 9,016 thresholds) .215 and .074; ct_bank at depth 2 (1,278 objects, 4 columns, 4,776
thresholds; 500,624 trees) .154 and .078; ct_raisin at depth 3 1.89 and 1.47; fourclass at depth 3
(850 objects, 2 columns, 343 thresholds) .014 and .024.

Invariants: tests of a column are neighbours, and ascend.  A lane of a set's column lies between
``lane_first[d, b]`` and ``lane_first[d, b + 1]``.  numba checks no index.

Where nothing else is said, arguments are those of :mod:`.planes`.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, inner
from arboretum_gosdt.problem.kernels import ONE

LANES = 8
"""Lanes are rounded up to a multiple of this."""


class CodeLevels(NamedTuple):
    """The sets of a search, one level a row; of no columns where the table has no codes.

    codes : int32[levels, objects, columns], the lane of each object in each column.
    column : int64[levels, tests], of each lane.
    lane_first : int64[levels, columns + 1], where the lanes of a column begin.
    """

    codes: np.ndarray
    column: np.ndarray
    lane_first: np.ndarray


@inner
def sum_sides_by_codes(table, levels, scratch, d):
    """Sum all numbers over the objects with outcome 1 of each test (``levels.sums``) and over all
    (``levels.total``), and list the tests that divide the set; returns how many.
    """
    node, codes, start = levels.node[d], table.codes, table.start
    begin, n, columns = levels.first[d], levels.first[d + 1] - levels.first[d], codes.shape[1]
    ones, lane_of = scratch.objects, scratch.place
    ones[:] = 0
    for at in range(begin, begin + n):
        row = codes[levels.objects[at]]
        for b in range(columns):
            if row[b] > 0:
                ones[start[b] + row[b] - 1] += 1
    sum_from_the_top(ones, start)
    width = np.int64(0)
    for b in range(columns):
        levels.by_codes.lane_first[d, b] = width
        for f in range(start[b], start[b + 1]):
            if 0 < ones[f] < n:
                levels.test[d, width] = f
                levels.by_codes.column[d, width] = b
                width += 1
            lane_of[f] = width - 1 if width > levels.by_codes.lane_first[d, b] else -1
    levels.by_codes.lane_first[d, columns] = width
    node.lanes = (width + LANES - 1) // LANES * LANES
    sums, total, lanes = levels.sums[d], levels.total[d], levels.by_codes.codes[d]
    sums[:, : node.lanes] = 0
    total[:] = 0
    for t in range(n):
        r = levels.objects[begin + t]
        row, mine = codes[r], lanes[t]
        for b in range(columns):
            mine[b] = lane_of[start[b] + row[b] - 1] if row[b] > 0 else -1
        for c in range(total.shape[0]):
            amount = table.amount[r, c]
            if amount != 0:
                total[c] += amount
                add_at_lanes(sums[c], mine, amount)
    n_answers = table.excess.shape[1]
    for c in range(n_answers + (0 if n_answers <= 2 else 1)):
        sum_from_the_top(sums[c], levels.by_codes.lane_first[d])
    if n_answers <= 2:
        add_worst(sums, n_answers, node.lanes)
        for c in range(n_answers):
            total[n_answers] += total[c]
    if not table.numbers.free:
        for c in range(n_answers + 1, total.shape[0]):
            sum_from_the_top(sums[c], levels.by_codes.lane_first[d])
    return width


@inline
def add_worst(sums, n_answers, lanes):
    """Sum both excesses of an object, one of which is 0, into the greatest one."""
    worst = sums[n_answers]
    worst[:lanes] = 0
    for c in range(n_answers):
        of_answer = sums[c]
        for i in range(lanes):
            worst[i] += of_answer[i]


@inline(wraps=True)
def add_at_lanes(into, lanes, amount):
    """Add an object's amount at its lane of each column."""
    for b in range(lanes.shape[0]):
        if lanes[b] >= 0:
            into[lanes[b]] += amount


@inline(wraps=True)
def sum_from_the_top(into, start):
    """Make every entry of a column the sum of those from it up.

    start : int64[columns + 1], where the entries of each begin.
    """
    for b in range(start.shape[0] - 1):
        above = np.int64(0)
        for i in range(start[b + 1] - 1, start[b] - 1, -1):
            above += into[i]
            into[i] = above


@inner
def count_pairs_by_codes(table, levels, scratch, d, i):
    """Sum excesses over the objects of the set with test i and every other: both[c, j], and the
    greatest excess: both[answers, j].
    """
    begin, n = levels.first[d], levels.first[d + 1] - levels.first[d]
    lanes, own, both = levels.by_codes.codes[d], levels.by_codes.column[d, i], scratch.both
    n_answers, width = table.excess.shape[1], levels.node[d].lanes
    counted = n_answers + (0 if n_answers <= 2 else 1)
    both[:, :width] = 0
    for t in range(n):
        mine = lanes[t]
        if mine[own] >= i:
            r = levels.objects[begin + t]
            for c in range(counted):
                amount = table.amount[r, c]
                if amount != 0:
                    add_at_lanes(both[c], mine, amount)
    for c in range(counted):
        sum_from_the_top(both[c], levels.by_codes.lane_first[d])
    if n_answers <= 2:
        add_worst(both, n_answers, width)


@inner(wraps=True)
def sum_keys_by_codes(table, levels, d, i):
    """Return the fingerprint of the side of outcome 1 of test i, two words."""
    begin, n = levels.first[d], levels.first[d + 1] - levels.first[d]
    lanes, own = levels.by_codes.codes[d], levels.by_codes.column[d, i]
    one, two = np.int64(0), np.int64(0)
    for t in range(n):
        if lanes[t, own] >= i:
            r = levels.objects[begin + t]
            one += table.keys[r, 0]
            two += table.keys[r, 1]
    return one, two


@inner(wraps=True)
def sum_keys_of_all_tests(table, levels, scratch, d):
    """Write the fingerprints of both sides of all tests, where many are asked for; ``scratch.both``
    is written.
    """
    begin, n = levels.first[d], levels.first[d + 1] - levels.first[d]
    node, lanes, sums = levels.node[d], levels.by_codes.codes[d], scratch.both
    sums[:2, : node.lanes] = 0
    for t in range(n):
        r = levels.objects[begin + t]
        for word in range(2):
            add_at_lanes(sums[word], lanes[t], table.keys[r, word])
    for word in range(2):
        sum_from_the_top(sums[word], levels.by_codes.lane_first[d])
        for i in range(node.width):
            levels.side_key[d, 0, i, word] = sums[word, i]
            levels.side_key[d, 1, i, word] = node.key[word] - sums[word, i]
    levels.keyed[d, : node.width] = True


@inner
def list_side_by_codes(levels, d, i, side, end):
    """Write the objects of a side of test i to ``levels.objects`` from ``end`` on; returns the new
    end.
    """
    begin, n = levels.first[d], levels.first[d + 1] - levels.first[d]
    lanes, own = levels.by_codes.codes[d], levels.by_codes.column[d, i]
    for t in range(n):
        if (lanes[t, own] >= i) == (side == ONE):
            levels.objects[end] = levels.objects[begin + t]
            end += 1
    return end


@inner
def write_bits_by_codes(levels, d, i, side, bits):
    """Write the objects of a side of test i as bits, uint64[words]."""
    begin, n = levels.first[d], levels.first[d + 1] - levels.first[d]
    lanes, own = levels.by_codes.codes[d], levels.by_codes.column[d, i]
    bits[:] = 0
    for t in range(n):
        if (lanes[t, own] >= i) == (side == ONE):
            r = levels.objects[begin + t]
            bits[r >> 6] |= np.uint64(1) << np.uint64(r & 63)
