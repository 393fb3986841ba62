"""Tests to bits, equal rows to one: what is done once per table, in a few passes over its codes::

    pack_tests: for every test t: outcomes of all rows; constant: drop
                    sign = sum of the random words of rows with outcome 1, of the complement if
                    row 0 has it; a kept test with that sign and the same division: drop
                    else keep t as bit j % 32 of planes[j // 32, row]
    merge_rows: rows with equal bits get one number, in the order of their first         (B.9)
    save:       weights[u, k] = greatest cost of any label in u − cost of label k

Invariants: the slots of a hash table are −1 where they are free, and more than there are entries,
so that every search ends.  Of equal signs or hashes all bits are compared, so that no result
depends on them.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import GOLDEN
from arboretum.kernels.solving.rows import THRESHOLDS

TOO_LONG = 3
"""What a slice returns besides the words of :mod:`arboretum.kernels.solving.slices`: the next
step would not end in time.
"""
ONE, REST = 0, 1
"""Sides of a test: of outcome 1, and the other."""

Coded = namedtuple("Coded", "codes family column index")
"""Columns of codes with their tests.

codes : uint8, uint16 or uint32[columns, rows], each column contiguous.
family : int64[columns], THRESHOLDS (test k has outcome 1 where code > k) or any other (where code ≠
    k).
column, index : int64[tests], of each test: its column, and its number there; in the order in which
    equal tests compete.
"""

Planes = namedtuple("Planes", "planes kept words outcome signs slots")
"""Room for the result of :func:`pack_tests`.

planes : uint32[ceil(tests / 32), rows], zeros.
kept : int64[tests].
words : uint32[rows], random.
outcome : uint32[rows] and signs : uint32[tests], anything.
slots : int64[2^k], −1, more than there are tests.
"""


@inner
def same_test(outcome, plane, bit):
    """Return whether a test divides all rows as a kept one, or as its complement.

    outcome : uint32[rows].
    plane : uint32[rows], whose bit ``bit`` is the kept test.
    """
    flip, differs = outcome[0] ^ ((plane[0] >> bit) & np.uint32(1)), np.uint32(0)
    for r in range(outcome.shape[0]):  # to the end: tests of one sign are hardly ever two
        differs |= np.uint32(outcome[r] ^ flip ^ ((plane[r] >> bit) & np.uint32(1)))
    return differs == np.uint32(0)


@jit(wraps=True)
def pack_tests(coded, room):
    """Keep the tests that are neither constant nor equal to a kept one or its complement; returns
    their number.

    coded : Coded, its tests in the order in which they are preferred.
    room : Planes, written: bit j % 32 of ``planes[j // 32, r]`` is the outcome of row r under the
        test ``kept[j]``, a place among those of ``coded``.
    """
    n = coded.codes.shape[1]
    mask = room.slots.shape[0] - 1
    found = 0
    outcome = room.outcome
    everything = np.uint32(0)
    for r in range(n):
        everything = np.uint32(everything + room.words[r])
    for t in range(coded.column.shape[0]):
        codes, k = coded.codes[coded.column[t]], np.uint32(coded.index[t])
        ones, sign = np.uint32(0), np.uint32(0)
        # numbers of 32 bits, cut at every step, so that a vector holds sixteen of them
        if coded.family[coded.column[t]] == THRESHOLDS:
            for r in range(n):
                outcome[r] = np.uint32(codes[r]) > k
        else:
            for r in range(n):
                outcome[r] = np.uint32(codes[r]) != k
        for r in range(n):
            ones = np.uint32(ones + outcome[r])
            chosen = np.uint32(np.uint32(0) - outcome[r])
            sign = np.uint32(sign + (room.words[r] & chosen))
        if ones == 0 or ones == n:
            continue
        if outcome[0]:  # a test and its complement have one sign
            sign = np.uint32(everything - sign)
        at = np.int64(sign) & mask
        while room.slots[at] >= 0:
            j = room.slots[at]
            if room.signs[j] == sign and same_test(
                outcome, room.planes[j // 32], np.uint32(j % 32)
            ):
                break
            at = (at + 1) & mask
        if room.slots[at] < 0:
            room.slots[at], room.signs[found], room.kept[found] = found, sign, t
            plane, bit = room.planes[found // 32], np.uint32(found % 32)
            for r in range(n):
                plane[r] |= outcome[r] << bit
            found += 1
    return found


@inner
def same_row(planes, a, b):
    """Return whether rows a and b have all bits in common.

    planes : uint32[words, rows].
    """
    for w in range(planes.shape[0]):
        if planes[w, a] != planes[w, b]:
            return False
    return True


@jit(wraps=True)
def merge_rows(planes, hashes, slots, group, first):
    """Number rows by their bits, equal ones alike, in the order of their first; returns how many
    different ones there are.

    hashes : uint64[rows], room.
    slots : int64[2^k], −1, more than there are rows.
    group : int64[rows], filled.
    first : int64[rows], filled: the first row of each group.
    planes : uint32[words, rows].
    """
    width, n, mask, found = planes.shape[0], planes.shape[1], slots.shape[0] - 1, 0
    hashes[:] = np.uint64(0)
    for w in range(width):
        plane = planes[w]
        for r in range(n):
            hashes[r] = (hashes[r] ^ np.uint64(plane[r])) * GOLDEN
            hashes[r] ^= hashes[r] >> np.uint64(29)
    for r in range(n):
        at = np.int64(hashes[r] & np.uint64(mask))
        while slots[at] >= 0 and not (
            hashes[first[slots[at]]] == hashes[r] and same_row(planes, first[slots[at]], r)
        ):
            at = (at + 1) & mask
        if slots[at] < 0:
            slots[at], first[found] = found, r
            found += 1
        group[r] = slots[at]
    return found


@jit
def span_of_costs(costs):
    """Return Σ over objects of (greatest − least cost), and of Σ over labels of (greatest − cost),
    where costs reach at least from 0 to 0.

    costs : int64[objects, labels].
    """
    spread, saved = np.int64(0), np.int64(0)
    for r in range(costs.shape[0]):
        most = least = np.int64(0)
        for k in range(costs.shape[1]):
            most, least = max(most, costs[r, k]), min(least, costs[r, k])
            saved -= costs[r, k]
        spread += most - least
        saved += most * costs.shape[1]
    return spread, saved


@jit
def add_to_groups(group, costs, mass, count, summed, sums):
    """Add what objects cost, weigh and count to the groups that they are in.

    group : int64[objects].
    costs : int64[objects, labels].
    mass, count : int64[objects], weight and training rows.
    summed : zeros, int64[groups, labels], sums of costs.
    sums : zeros, int64[3, groups], mass, rows and members.
    """
    for r in range(group.shape[0]):
        u = group[r]
        for k in range(costs.shape[1]):
            summed[u, k] += costs[r, k]
        sums[0, u] += mass[r]
        sums[1, u] += count[r]
        sums[2, u] += 1


@jit
def savings_of_labels(costs, weights, helps):
    """Write what label k saves of the worst label's cost in group u to weights[u, k], and whether
    any label saves something to helps[u].

    costs : int64[groups, labels], losses by the label that the group is given.
    weights, helps : out, int64[groups, labels] and bool[groups].
    Returns the constants: Σ over groups of (what every label costs + what it saves) − Σ of all that
    is saved.
    """
    base = np.int64(0)
    for u in range(costs.shape[0]):
        most, saved = costs[u, 0], np.int64(0)
        for k in range(costs.shape[1]):
            most = max(most, costs[u, k])
        for k in range(costs.shape[1]):
            weights[u, k] = most - costs[u, k]
            saved += weights[u, k]
        helps[u] = saved > 0
        base += most - saved
    return base


@inline
def both_sides(values):
    """Return what an array by side, its first axis, has for ONE and for REST."""
    return values[ONE], values[REST]


@inline
def lightest_side(levels, d, i):
    """Return the side of test i that weighs less, ONE where both weigh alike.

    levels : with ``weight``, int64[levels, 2, tests].
    """
    one, rest = both_sides(levels.weight[d])
    return ONE if one[i] <= rest[i] else REST


@inline
def weight_in_common(levels, d, side, j, near):
    """Return the weight of the rows on a side of one test and on side ONE of test j.

    levels : with ``weight``, int64[levels, 2, tests]; side : ONE or REST, of the one test.
    near : weight of those on side ONE of both.
    """
    return near if side == ONE else levels.weight[d, ONE, j] - near
