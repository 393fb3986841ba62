"""Optimal trees read off a solved table: what shows that a minimum is reached, and not only bounded."""

from __future__ import annotations

import numpy as np

from arboretum.kernels.bits import lowest, popcount
from arboretum.kernels.jit import jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""As in kernels_bulk: the hash of a subtable."""
ONE, NONE, LANE = np.uint64(1), np.uint64(0), np.uint64(0xFFFF)
DEPTH = 0
"""The first cost takes the maximum over branches; path length, nodes, inner nodes and leaves add up (lanes 0 to 3)."""
LEAF = -1
NO_TEST, NO_ROOM, NOT_LEAST = -1, -2, -3


@jit(inline=True)
def joined(cost, whole, part):
    """The values of two branches, or of a node and a branch."""
    return max(whole, part + 1) if cost == DEPTH else whole + part


@jit(inline=True)
def own(cost, n):
    """What an inner node of n rows costs by itself: depth, path length, nodes, inner nodes, leaves."""
    return n if cost == 1 else 1 if cost in (2, 3) else 0


@jit(inline=True)
def of_leaf(cost):
    """What a leaf costs."""
    return 1 if cost in (2, 4) else 0


@jit(inline=True)
def pure(s, other):
    return s & other[lowest(s)] == NONE


@jit
def least_of_few(cost, s, n_columns, same, other):
    """The minimum for two or three rows of several classes, by trying everything."""
    n, best = popcount(s), np.int64(1 << 60)
    first = lowest(s)
    for f in range(n_columns):
        c = s & same[f, first]
        if c == s:
            continue
        value, rest, r = own(cost, n), s, first
        while rest != NONE:
            r = lowest(rest)
            c = rest & same[f, r]
            rest ^= c
            if pure(c, other):
                value = joined(cost, value, of_leaf(cost))
            else:  # two rows of two classes; they are distinct, so some test tells them apart
                value = joined(cost, value, (1, 2, 3, 1, 2)[cost])
        best = min(best, value)
    return best


@jit
def value_of(cost, s, n_columns, same, other, ids, node, best, deep):
    """The minimum for a subtable, as the solver left it; 2⁶⁰ for one that it never met."""
    if pure(s, other):
        return np.int64(of_leaf(cost))
    if popcount(s) <= 3:
        return np.int64(least_of_few(cost, s, n_columns, same, other))
    mask, shift, width = len(ids) - 1, np.uint64(64), len(ids)
    while width > 1:
        shift -= ONE
        width >>= 1
    h = np.int64((s * GOLDEN) >> shift)
    while ids[h] >= 0:
        k = ids[h]
        if node[k] == s:
            return np.int64(deep[k]) if cost == DEPTH else np.int64((best[k] >> np.uint64(16 * (cost - 1))) & LANE)
        h = (h + 1) & mask
    return np.int64(1 << 60)


@jit
def optimal_trees(codes, minima, same, other, ids, node, best, deep, start, integers):
    """Write one optimal tree per cost; return how many nodes in all.

    Or NO_TEST where no test attains a minimum, NOT_LEAST where a test of the whole table gives less, NO_ROOM.

    minima : float64[5], as five_minima wrote them, and its memory after it.   codes : uint8[n, m], impure.
    start : int64[6] and integers : int32[5, room] (feature, index, side, parent, branch) are written as in a forest.
    """
    n_rows, m = codes.shape
    room = integers.shape[1]
    everything = (ONE << np.uint64(n_rows - 1)) - ONE | ONE << np.uint64(n_rows - 1)
    held = np.zeros(room, np.uint64)
    at = 0
    start[0] = 0
    for cost in range(5):
        base, i = at, at
        held[at], integers[3, at], integers[4, at] = everything, -1, 0
        at += 1
        while i < at:
            s = held[i]
            integers[0, i], integers[1, i], integers[2, i] = LEAF, 0, -1
            if not pure(s, other):
                if i == base:
                    wanted = np.int64(minima[cost])
                else:
                    wanted = value_of(cost, s, m, same, other, ids, node, best, deep)
                found = False
                for f in range(m):
                    if s & same[f, lowest(s)] == s:
                        continue
                    value, rest = own(cost, popcount(s)), s
                    while rest != NONE:
                        c = rest & same[f, lowest(rest)]
                        rest ^= c
                        value = joined(cost, value, value_of(cost, c, m, same, other, ids, node, best, deep))
                    if value < wanted:  # met at T only: every test is looked at there
                        return NOT_LEAST
                    if value == wanted and not found:
                        found = True
                        integers[0, i] = f
                        rest = s
                        while rest != NONE:
                            if at == room:
                                return NO_ROOM
                            r = lowest(rest)
                            c = rest & same[f, r]
                            rest ^= c
                            held[at], integers[3, at], integers[4, at] = c, i - base, codes[r, f]
                            at += 1
                        if i > base:
                            break
                if not found:
                    return NO_TEST
            i += 1
        start[cost + 1] = at
    return at
