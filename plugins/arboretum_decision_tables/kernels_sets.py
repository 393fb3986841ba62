"""Sets of rows: fingerprints in a hash table, and words of bits below a base of at most 64 rows.

Part of :mod:`arboretum_decision_tables.kernels_rows`, which says what the arrays are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arboretum.kernels import jit as house
from arboretum.kernels.bits import lowest, popcount
from arboretum.kernels.pointers import impurity_at


def jit(function: Callable | None = None, *, inline: bool = False) -> Any:
    """The policy of the house, without counting references."""
    return house.jit(function, inline=inline, borrow=True) if function else lambda f: jit(f, inline=inline)


MULTIWAY, THRESHOLDS, EQUALS = 0, 1, 2
FINISHED, NEED_ROOM, PAUSED = 0, 1, 2
NODES, STREAM, FRAMES, PENDING, ROWS, EXPANDED, LEAVES, NEED, NEED_ROWS, LATE = range(10)
"""Places in ``state``: how much of each array is used; subtables expanded; distinct leaves; the room that is asked for;
subsets to be looked up."""

BASE = 64
"""Rows of a subtable below which sets of rows are words of bits."""
NEAR_BITS = 14
"""Entries of the cache: 2¹⁴ of 16 bytes stay in the second-level cache of the processor."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ONE, NONE = np.uint64(1), np.uint64(0)
UPPER = np.uint64(0xFFFFFFFF00000000)
LOWER = np.uint64(0x00000000FFFFFFFF)


@jit(inline=True)
def find_or_enter(slots, one, two, number):
    """The number under which a fingerprint is known; it is entered under ``number`` when it is new."""
    mask = np.int64(slots.shape[0] - 1)
    at = np.int64(one & np.uint64(mask))
    upper = two & UPPER
    while True:
        word = slots[at, 1]
        if word == np.uint64(0):
            slots[at, 0] = one
            slots[at, 1] = upper | np.uint64(number + 1)
            return number
        if slots[at, 0] == one and word & UPPER == upper:
            return np.int64(word & LOWER) - 1
        at = (at + 1) & mask


@jit
def find(slots, one, two):
    """The number under which a fingerprint is known, or −1."""
    mask = np.int64(slots.shape[0] - 1)
    at = np.int64(one & np.uint64(mask))
    while slots[at, 1] != np.uint64(0):
        if slots[at, 0] == one and slots[at, 1] & UPPER == two & UPPER:
            return np.int64(slots[at, 1] & LOWER) - 1
        at = (at + 1) & mask
    return np.int64(-1)


@jit
def rehash(old, new):
    """Enter all of ``old`` into an empty, larger table."""
    mask = np.int64(new.shape[0] - 1)
    for i in range(old.shape[0]):
        if old[i, 1] != np.uint64(0):
            at = np.int64(old[i, 0] & np.uint64(mask))
            while new[at, 1] != np.uint64(0):
                at = (at + 1) & mask
            new[at, 0] = old[i, 0]
            new[at, 1] = old[i, 1]


@jit(inline=True)
def cheapest(price, first, low, high):
    """The cheapest of the tests low … high − 1 of a feature, ties to the lowest."""
    best = low
    for k in range(low + 1, high):
        if price[first + k] < price[first + best]:
            best = k
    return best


@jit
def open_base(codes, family, label, words, rows, low, high, same, part, part_code, parts, other, base_words, by_code, touched):
    """Words of the rows of a base, and masks.   same[f, k] : rows with the code of row k.   other[k] : rows of another class.

    part[f], part_code[f] : for two-way tests the codes that occur, ascending, and their rows; parts[f] : how many.
    by_code : uint64 of zeros, one per code or class; left as found.   touched : int64, as long.
    """
    n = high - low
    for f in range(codes.shape[0]):
        seen = 0
        for k in range(n):
            c = np.int64(codes[f, rows[low + k]])
            if by_code[c] == NONE:
                touched[seen] = c
                seen += 1
            by_code[c] |= ONE << np.uint64(k)
        for k in range(n):
            same[f, k] = by_code[codes[f, rows[low + k]]]
        if family[f] != MULTIWAY:
            for k in range(1, seen):
                c, j = touched[k], k
                while j > 0 and touched[j - 1] > c:
                    touched[j] = touched[j - 1]
                    j -= 1
                touched[j] = c
            parts[f] = seen
            for k in range(seen):
                part_code[f, k], part[f, k] = touched[k], by_code[touched[k]]
        for k in range(seen):
            by_code[touched[k]] = NONE
    everything = ((ONE << np.uint64(n - 1)) - ONE) | (ONE << np.uint64(n - 1))
    for k in range(n):
        by_code[label[rows[low + k]]] |= ONE << np.uint64(k)
    for k in range(n):
        other[k] = everything ^ by_code[label[rows[low + k]]]
        base_words[k, 0], base_words[k, 1] = words[rows[low + k], 0], words[rows[low + k], 1]
    for k in range(n):
        by_code[label[rows[low + k]]] = NONE


@jit(inline=True)
def few(counts, rule):
    """Whether a subtable has fewer than rule[0] rows, or fewer than rule[3] objects.

    counts : its rows; where rule[3] > 0 its rows · 2³² + its objects, so that one sum (or difference) counts both.
    """
    if rule[3] > 0.0:
        return counts >> 32 < rule[0] or (counts & 0xFFFFFFFF) < rule[3]
    return counts < rule[0]


@jit
def subset_is_leaf(c, low, rows, label, weight, count, rule, impurity, vector):
    """The leaf rule for a set of rows of several classes of the base."""
    counts, heavy, rest = 0, 0.0, c
    vector[:] = 0.0
    while rest != NONE:
        r = rows[low + lowest(rest)]
        counts += count[r]
        heavy += weight[r]
        vector[label[r]] += weight[r]
        rest &= rest - ONE
    if few(counts, rule) or heavy <= rule[1]:
        return True
    return not np.isnan(rule[2]) and impurity_at(impurity)(vector) <= rule[2]


@jit(inline=True)
def subset(
    c, low, weight, count, label, words, rule, impurity, vector, ruled, track, other, near, epoch, late, late_at, state,
    leaf_slots, rows, at,
):  # fmt: skip
    """The node of a set of rows of the base if the cache knows it, −1 for a leaf; else −2, and ``stream[at]`` is filled in
    late: the fingerprint is noted, because looking up many at once hides what each waits for memory.
    """
    pure = c & other[lowest(c)] == NONE
    if pure and not track:
        return np.int64(-1)
    place = np.int64((c * GOLDEN) >> np.uint64(64 - NEAR_BITS))
    if near[place, 0] == c and near[place, 1] >> np.uint64(32) == epoch:
        return np.int64(near[place, 1] & LOWER) - 1
    one, two, rest = NONE, NONE, c
    while rest != NONE:
        k = lowest(rest)
        one += words[k, 0]
        two += words[k, 1]
        rest &= rest - ONE
    if pure or (ruled and subset_is_leaf(c, low, rows, label, weight, count, rule, impurity, vector)):
        if track:
            fresh = state[LEAVES]
            if find_or_enter(leaf_slots, one, two, fresh) == fresh:
                state[LEAVES] += 1
        near[place, 0], near[place, 1] = c, epoch << np.uint64(32)
        return np.int64(-1)
    k = state[LATE]
    late[k, 0], late[k, 1], late[k, 2], late_at[k] = one, two, c, at
    state[LATE] = k + 1
    return np.int64(-2)


@jit(inline=True)
def look_up(low, weight, near, epoch, late, late_at, state, size, mass, start, stream, slots, pending, rows):
    """Nodes of the noted subsets, entered and put on the pending stack where they are new."""
    mask, found = np.uint64(slots.shape[0] - 1), NONE
    for k in range(state[LATE]):  # all slots are on their way before the first is needed
        found |= slots[np.int64(late[k, 0] & mask), 1]
    late[late.shape[0] - 1, 0] = found
    for k in range(state[LATE]):
        c, fresh = late[k, 2], state[NODES]
        node = find_or_enter(slots, late[k, 0], late[k, 1], fresh)
        if node == fresh:
            heavy, rest = 0.0, c
            while rest != NONE:
                heavy += weight[rows[low + lowest(rest)]]
                rest &= rest - ONE
            size[node], mass[node] = popcount(c), heavy
            start[node, 0], start[node, 1] = -1, -1
            top = state[PENDING]
            pending[top, 0], pending[top, 1] = node, np.int64(c)
            state[PENDING] = top + 1
            state[NODES] = node + 1
        stream[late_at[k]] = node
        place = np.int64((c * GOLDEN) >> np.uint64(64 - NEAR_BITS))
        near[place, 0], near[place, 1] = c, (epoch << np.uint64(32)) | np.uint64(node + 1)


@jit(inline=True)
def expand_bits(
    s, low, family, first_test, price, even, label, weight, count, words, rule, impurity,
    vector, ruled, track, same, part, part_code, parts, other, near, epoch, late, late_at,
    state, size, mass, start, stream, slots, leaf_slots, pending, rows, at,
):  # fmt: skip
    """Write all bundles of a set of rows of the base; returns the end of the stream."""
    first_row = lowest(s)
    state[LATE] = 0
    for f in range(same.shape[0]):
        c = s & same[f, first_row]
        if c == s:
            continue
        if family[f] == MULTIWAY:
            stream[at] = first_test[f]
            begin, leaves, rest = at, 0, s ^ c
            at += 3
            while True:
                node = subset(
                    c, low, weight, count, label, words, rule, impurity, vector, ruled, track, other, near, epoch,
                    late, late_at, state, leaf_slots, rows, at,
                )  # fmt: skip
                if node == -1:
                    leaves += 1
                else:
                    stream[at] = node
                    at += 1
                if rest == NONE:
                    break
                c = rest & same[f, lowest(rest)]
                rest ^= c
            stream[begin + 1], stream[begin + 2] = leaves, at - begin - 3
            continue
        inside, two_parts = NONE, False
        for j in range(parts[f]):
            c = s & part[f, j]
            if c == NONE:
                continue
            index = part_code[f, j]
            if family[f] == THRESHOLDS:
                inside |= c
                if inside == s:
                    break
                c = inside
                if not even[f]:
                    beyond = j + 1
                    while s & part[f, beyond] == NONE:
                        beyond += 1
                    index = cheapest(price, first_test[f], index, part_code[f, beyond])
            else:
                if two_parts:
                    break
                rest = s ^ c
                two_parts = inside == NONE and rest & same[f, lowest(rest)] == rest
                inside |= c
                if two_parts:
                    beyond = j + 1
                    while s & part[f, beyond] == NONE:
                        beyond += 1
                    if price[first_test[f] + part_code[f, beyond]] < price[first_test[f] + index]:
                        # both tests divide alike: ask the cheaper, whose outcomes are the other way round
                        c, index = rest, part_code[f, beyond]
            stream[at], begin = first_test[f] + index, at
            at += 3
            for outcome in range(2):
                node = subset(
                    c, low, weight, count, label, words, rule, impurity, vector, ruled, track, other, near, epoch,
                    late, late_at, state, leaf_slots, rows, at,
                )  # fmt: skip
                if node != -1:
                    stream[at] = node
                    at += 1
                c = s ^ c
            stream[begin + 1], stream[begin + 2] = 5 + begin - at, at - begin - 3
    look_up(low, weight, near, epoch, late, late_at, state, size, mass, start, stream, slots, pending, rows)
    return at
