"""The five minima of one small table: depth, path length, nodes, inner nodes, leaves, for studies
of very many tables; and one optimal tree of each, read off the solved table: what shows that a
minimum is reached, and not only bounded::

    node 0 ← T
    for i = 0, 1, … until no node is left:
        for every f_i that divides node i:
            base ← an inner node of that size; for every part:
                one class, two rows, three rows: add its closed form
                else find its node, or enter it as the next one
            no part is a node: best[i] ← least(best[i], base)
            else append the bundle (base, depth, nodes) to the stream
    solve_nodes: for every node, the smallest first, and every bundle:
        best ← least(best, base + Σ best of its nodes);  deep ← min(deep, 1 + the deepest part)
    optimal_trees: from T down, per cost, the first test whose parts give the minimum

Rows are distinct, at most 64, every object weighs 1 and every test costs 1, leaves have one class.
A subtable is a word of bits.  Its path length, nodes, inner nodes and leaves lie in four 16-bit
lanes of another word, so that one addition adds all four and a handful of operations takes the
minimum of all four (they stay below 2¹⁵: a tree for n ≤ 64 rows has depth at most n − 1).
Subtables of two and three rows have closed forms and are no nodes; a bundle whose branches are all
such is solved at once.

Invariants:

- A node has at least four rows (T may have fewer), and more than its parts; ``node[:known]`` are
  different sets.
- ``ids`` is −1 for a free place, else a node; places are probed in turn from the hash of the set,
  and at least half of them are free.
- start[i] … start[i + 1] − 1 are the bundles of node i: base value, depth · 128 + edges, nodes.
- Before a node is expanded there is room for 64 more nodes and 66 more entries per attribute; else
  NEED_ROOM, and the caller begins anew with longer arrays.
- ``optimal_trees`` reads ``best`` and ``deep`` as ``five_minima`` left them, of the same table.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.bits import lowest, popcount
from arboretum.kernels.jit import inline, jit
from arboretum.kernels.solving.fingerprints import GOLDEN

SOLVED, NEED_ROOM, TOO_WIDE, NOT_DISTINCT, TOO_MANY_ROWS = range(5)
ONE, NONE = np.uint64(1), np.uint64(0)
TOP = np.uint64(0x8000800080008000)
FIFTEEN = np.uint64(15)

# lanes, from the lowest: path length, nodes, inner nodes, leaves
LEAF = np.uint64((1 << 48) + (1 << 16))
INNER = np.uint64((1 << 32) + (1 << 16))
PAIR = np.uint64((2 << 48) + (1 << 32) + (3 << 16) + 2)
THREE_TWO_LEAVES = np.uint64((2 << 48) + (1 << 32) + (3 << 16) + 3)
THREE_AT_ONCE = np.uint64((3 << 48) + (1 << 32) + (4 << 16) + 3)
THREE_IN_TURN = np.uint64((3 << 48) + (2 << 32) + (5 << 16) + 5)
WORST = np.uint64(0x7FFF7FFF7FFF7FFF)
LANE = np.uint64(0xFFFF)

DEPTH = 0
"""The first cost takes the maximum over branches; path length, nodes, inner nodes and leaves add
up.
"""
STOP = -1
NO_TEST, NO_ROOM, NOT_LEAST = -1, -2, -3
"""What :func:`optimal_trees` answers: see there."""


class Rows(NamedTuple):
    """packed, part, other : uint64[64].   same : uint64[64, 64]."""

    packed: np.ndarray
    same: np.ndarray
    part: np.ndarray
    other: np.ndarray


class Subtables(NamedTuple):
    """ids : int32[2^k], twice the nodes at least.

    node, best : uint64[nodes].
    size, deep, order : int64[nodes].
    start : int64[nodes + 1].
    stream : int64[·]: base value, depth · 128 + edges, node numbers.
    """

    ids: np.ndarray
    node: np.ndarray
    size: np.ndarray
    best: np.ndarray
    deep: np.ndarray
    start: np.ndarray
    stream: np.ndarray
    order: np.ndarray


@jit(inline=True)
def least(a, b):
    """Return the smaller of each pair of lanes."""
    not_below = ((a | TOP) - b) & TOP
    mask = (not_below - (not_below >> FIFTEEN)) | not_below
    return (b & mask) | (a & ~mask)


@inline
def of_three(c, packed, code_bits, lanes, other):
    """Return the minimum of three rows of several classes, four lanes in a word.

    c : uint64, the rows as bits.
    packed : uint64[64], a row's codes of code_bits each; lanes : the lowest bit of every code.
    other : uint64[64], the rows of another class than a row's.

    A test that leaves the two rows of one class together is best; then one that tells all three
    apart; otherwise a test takes one row away, and another divides the rest.
    """
    a = lowest(c)
    rest = c & (c - ONE)
    b = lowest(rest)
    d = lowest(rest & (rest - ONE))
    ab, ad, bd = packed[a] ^ packed[b], packed[a] ^ packed[d], packed[b] ^ packed[d]
    x, y, z = ab, ad, bd
    for i in range(1, code_bits):
        x |= ab >> np.uint64(i)
        y |= ad >> np.uint64(i)
        z |= bd >> np.uint64(i)
    x &= lanes
    y &= lanes
    z &= lanes
    others = c & other[a]
    if others == rest:  # a is of another class than b; b and d may share one
        together = NONE if rest & other[b] != NONE else y & ~z
    elif others == ONE << np.uint64(d):
        together = y & ~x
    else:
        together = x & ~y
    if together != NONE:
        return THREE_TWO_LEAVES
    return THREE_AT_ONCE if x & y & z != NONE else THREE_IN_TURN


@jit(inline=True)
def pack(codes, packed, same, part):
    """Write the rows as words (code_bits bits per attribute) to ``packed``, and to same[f, r] the
    rows with the value of row r.

    codes : uint8[n, m].
    part : uint64[64], scratch.

    Returns (bits per code, mask of the lowest bit of every code), or (0, 0) where a row needs more
    than 64 bits.
    """
    n, m = codes.shape
    largest = 1
    for r in range(n):
        for f in range(m):
            largest = max(largest, np.int64(codes[r, f]))
    code_bits = 1
    while largest >> code_bits:
        code_bits += 1
    lanes = NONE
    if m * code_bits > 64 or largest >= part.shape[0]:
        return 0, lanes
    for r in range(n):
        packed[r] = NONE
    for f in range(m):
        lanes |= ONE << np.uint64(f * code_bits)
        for v in range(largest + 1):
            part[v] = NONE
        for r in range(n):
            part[codes[r, f]] |= ONE << np.uint64(r)
            packed[r] |= np.uint64(codes[r, f]) << np.uint64(f * code_bits)
        for r in range(n):
            same[f, r] = part[codes[r, f]]
    return code_bits, lanes


@jit
def five_minima(codes, label, of_rows, subtables, out):
    """Write the minima of (depth, total path length, nodes, inner nodes, leaves) into ``out``,
    float64[5].

    codes : uint8[n, m].
    label : integers[n].
    of_rows, subtables : memory, a Rows and a Subtables, left as the table has them.

    Returns SOLVED, NEED_ROOM (nodes or stream), or why the table is none for this kernel.
    """
    n_rows, m = codes.shape
    packed, same, part, other = of_rows
    ids, node, size, best, deep, start, stream, order = subtables
    if n_rows > 64:
        return TOO_MANY_ROWS
    code_bits, lanes = pack(codes, packed, same, part)
    if code_bits == 0:
        return TOO_WIDE
    mixed = False
    for r in range(n_rows):
        other[r] = NONE
        for q in range(n_rows):
            if label[q] != label[r]:
                other[r] |= ONE << np.uint64(q)
            if q < r and packed[q] == packed[r]:
                return NOT_DISTINCT
        mixed |= other[r] != NONE
    if not mixed:
        out[0], out[1], out[2], out[3], out[4] = 0.0, 0.0, 1.0, 0.0, 1.0
        return SOLVED
    ids[:] = -1
    mask, shift = ids.shape[0] - 1, np.uint64(64)
    width = ids.shape[0]
    while width > 1:
        shift -= ONE
        width >>= 1
    last = node.shape[0] - 64 * m
    everything = (ONE << np.uint64(n_rows - 1)) - ONE | ONE << np.uint64(n_rows - 1)
    node[0], size[0] = everything, n_rows
    known, at, i = 1, 0, 0
    while i < known:
        if known > last or at + 66 * m > stream.shape[0]:
            return NEED_ROOM
        s, start[i] = node[i], at
        first = lowest(s)
        value, depth = WORST, 64
        whole = INNER + np.uint64(size[i])
        for f in range(m):
            c = s & same[f, first]
            if c == s:
                continue
            base, down, begin, rest, r = whole, 0, at, s ^ c, first
            at += 2
            while True:
                if c & other[r] == NONE:
                    base += LEAF
                else:
                    n = popcount(c)
                    if n == 2:
                        base += PAIR
                        down = max(down, 1)
                    elif n == 3:
                        three = of_three(c, packed, code_bits, lanes, other)
                        base += three
                        down = max(down, 2 if three == THREE_IN_TURN else 1)
                    else:
                        h = np.int64((c * GOLDEN) >> shift)
                        while True:
                            k = np.int64(ids[h])
                            if k < 0:
                                ids[h] = known
                                node[known], size[known] = c, n
                                k = known
                                known += 1
                                break
                            if node[k] == c:
                                break
                            h = (h + 1) & mask
                        stream[at] = k
                        at += 1
                if rest == NONE:
                    break
                r = lowest(rest)
                c = rest & same[f, r]
                rest ^= c
            if at == begin + 2:
                value, depth, at = least(value, base), min(depth, down + 1), begin
            else:
                stream[begin] = np.int64(base)
                stream[begin + 1] = ((down + 1) << 7) + at - begin - 2
        best[i], deep[i] = value, depth
        i += 1
    start[known] = at
    solve_nodes(known, n_rows, size, best, deep, start, stream, order)
    out[0], word = deep[0], best[0]
    out[1] = np.int64(word & np.uint64(0xFFFF))
    out[2] = np.int64((word >> np.uint64(16)) & np.uint64(0xFFFF))
    out[3] = np.int64((word >> np.uint64(32)) & np.uint64(0xFFFF))
    out[4] = np.int64(word >> np.uint64(48))
    return SOLVED


@jit(inline=True)
def solve_nodes(known, n_rows, size, best, deep, start, stream, order):
    """Write the values of all nodes, smaller ones first.

    known : nodes; n_rows : of the table.
    size, start, stream : see Subtables; read.
    best, deep : hold what is found without nodes, or WORST; written.   order : written.
    """
    head = np.zeros(66, np.int64)
    for i in range(known):
        head[size[i] + 1] += 1
    for n in range(n_rows + 1):
        head[n + 1] += head[n]
    for i in range(known):
        order[head[size[i]]] = i
        head[size[i]] += 1
    for j in range(known):
        i = order[j]
        at, end = start[i], start[i + 1]
        value, depth = best[i], deep[i]
        while at < end:
            base, info = np.uint64(stream[at]), stream[at + 1]
            down, stop = info >> 7, at + 2 + (info & 127)
            for q in range(at + 2, stop):
                k = stream[q]
                base += best[k]
                down = max(down, deep[k] + 1)
            value, depth = least(value, base), min(depth, down)
            at = stop
        best[i], deep[i] = value, depth


# -- witnesses -------------------------------------------------------------------------------------


@inline
def lane(word, cost):
    """Return the path length, nodes, inner nodes or leaves, for cost 1 to 4."""
    return np.int64((word >> np.uint64(16 * (cost - 1))) & LANE)


@inline
def minimum_of(cost, s, of_rows, code_bits, lanes, subtables):
    """Return the minimum of a cost for a subtable, as the solver left it; more than any tree costs
    for one that it never met.

    cost : DEPTH, or 1 … 4, a lane.
    s : uint64, the subtable's rows.
    code_bits, lanes : as :func:`pack` returns them.
    """
    other, n = of_rows.other, popcount(s)
    word, depth = WORST, np.int64(1 << 15)
    if s & other[lowest(s)] == NONE:
        word, depth = LEAF, np.int64(0)
    elif n == 2:
        word, depth = PAIR, np.int64(1)
    elif n == 3:
        word = of_three(s, of_rows.packed, code_bits, lanes, other)
        depth = np.int64(2 if word == THREE_IN_TURN else 1)
    else:
        mask, shift, width = len(subtables.ids) - 1, np.uint64(64), len(subtables.ids)
        while width > 1:
            shift -= ONE
            width >>= 1
        h = np.int64((s * GOLDEN) >> shift)
        while subtables.ids[h] >= 0:
            k = subtables.ids[h]
            if subtables.node[k] == s:
                word, depth = subtables.best[k], subtables.deep[k]
                break
            h = (h + 1) & mask
    return depth if cost == DEPTH else lane(word, cost)


@jit
def optimal_trees(codes, minima, of_rows, subtables, start, integers):
    """Write one optimal tree per cost; return how many nodes in all.

    Or NO_TEST where no test attains a minimum, NOT_LEAST where a test of the whole table gives
    less, NO_ROOM.

    codes : uint8[n, m], impure.
    minima : float64[5], as :func:`five_minima` wrote them.
    of_rows, subtables : its memory after it.
    start : int64[6] and integers : int32[5, room] (feature, index, side, parent, branch) are
        written as in a forest.
    """
    n_rows, m = codes.shape
    same, other, room = of_rows.same, of_rows.other, integers.shape[1]
    code_bits, lanes = pack(codes, of_rows.packed, same, of_rows.part)
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
            integers[0, i], integers[1, i], integers[2, i] = STOP, 0, -1
            if s & other[lowest(s)] != NONE:
                wanted = (
                    np.int64(minima[cost])
                    if i == base
                    else minimum_of(cost, s, of_rows, code_bits, lanes, subtables)
                )
                found = False
                for f in range(m):
                    if s & same[f, lowest(s)] == s:
                        continue
                    value = (
                        np.int64(0) if cost == DEPTH else lane(INNER + np.uint64(popcount(s)), cost)
                    )
                    rest = s
                    while rest != NONE:
                        c = rest & same[f, lowest(rest)]
                        rest ^= c
                        part = minimum_of(cost, c, of_rows, code_bits, lanes, subtables)
                        value = max(value, part + 1) if cost == DEPTH else value + part
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
