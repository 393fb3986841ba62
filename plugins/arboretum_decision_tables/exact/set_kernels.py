"""Sets of rows as words of bits, below a base of at most 64 rows.

Part of :mod:`arboretum_decision_tables.exact.row_kernels`, which says what the stream and the
stacks are::

    expand_bits(s):
        for every feature that divides s, and every way in which its tests divide s:
            for every part c = s ∩ (rows of an outcome): node ← subset(c)
                a leaf is counted; any other number is appended to the bundle
        look_up: enter the fingerprints noted, write their nodes into the stream; new ones are
            pending
    subset(c):
        one class: a leaf; in the cache: the node, or a leaf
        fingerprint ← Σ words of the rows of c; a leaf by the rule: a leaf
        else note (fingerprint, c, place in the stream); −2 stands there until ``look_up``

Invariants:

- Bit k stands for ``rows[low + k]``, low being the first row of the base.  Of ``same``, ``other``
  and ``words`` the entries of the rows of the base are filled in, of ``part`` and ``part_code`` the
  first ``parts[f]``; the rest is stale.
- An entry of ``near`` counts only where its upper 32 bits are the base's ``epoch``; the lower 32
  are node + 1, and 0 for a leaf.  A later set overwrites an earlier one in the same place.
- ``by_code`` is all 0 between features.
- ``late`` holds state[LATE] notes; its last entry is no note: it takes what only loads the slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.bits import lowest, popcount
from arboretum.kernels.function_pointers import call_impurity
from arboretum.kernels.jit import jit
from arboretum.kernels.solving.fingerprints import LOWER, find_or_enter
from arboretum.kernels.solving.rows import MULTIWAY, THRESHOLDS, cheapest, sort_few
from arboretum_decision_tables.exact.parts import Table, few

NODES, STREAM, FRAMES, PENDING, ROWS, EXPANDED, LEAVES, NEED, NEED_ROWS, LATE = range(10)
"""Places in ``state``: how much of each array is used; subtables expanded; distinct leaves; the
room that is asked for; subsets to be looked up.
"""

BASE = 64
"""Rows of a subtable below which sets of rows are words of bits."""
NEAR_BITS = 14
"""Entries of the cache: 2¹⁴ of 16 bytes stay in the second-level cache of the processor."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ONE, NONE = np.uint64(1), np.uint64(0)


class Graph(NamedTuple):
    """What is written, as long as is needed.

    state : int64[10].
    size : int32[nodes].
    mass : float64[nodes].
    start : int64[nodes, 2], the node's part of ``stream``, (−1, −1) before it is expanded.
    slots, leaf_slots : uint64[2^k, 2].
    frames : int64[·, 4] (first and last row, pending children below it, whether it is a base).
    pending : int64[·, 4] (node, feature, test of the feature, outcome; above a base: node, set of
        its rows).
    rows : int32[·].
    """

    state: np.ndarray
    size: np.ndarray
    mass: np.ndarray
    start: np.ndarray
    stream: np.ndarray
    slots: np.ndarray
    leaf_slots: np.ndarray
    frames: np.ndarray
    pending: np.ndarray
    rows: np.ndarray


class Base(NamedTuple):
    """Words of the rows of a base, and masks.

    same[f, k] : rows with the code of row k.   part[f], part_code[f] : for two-way tests the codes
    that occur, ascending, and their rows; parts[f] : how many.   other[k] : rows of another class.
    words : uint64[64, 2].   by_code : uint64 of zeros, one per code or class, left as found;
    touched : int64, as long.   near : cache of nodes by set; epoch : uint64[1], of the entries that
    are of this base.   late, late_at : sets to be looked up, and where in the stream their nodes
    belong.
    """

    same: np.ndarray
    part: np.ndarray
    part_code: np.ndarray
    parts: np.ndarray
    other: np.ndarray
    words: np.ndarray
    by_code: np.ndarray
    touched: np.ndarray
    near: np.ndarray
    epoch: np.ndarray
    late: np.ndarray
    late_at: np.ndarray
    vector: np.ndarray


def new_base(table: Table) -> Base:
    """Room for a base of the table."""
    m, classes = len(table.n_bins), int(table.label.max(initial=0)) + 1
    widest = max(int(table.n_bins.max(initial=0)), classes)
    late = 3 * m + 5 * int(np.minimum(table.n_bins, BASE).sum()) + 1
    whole, words = (
        (lambda *shape: np.zeros(shape, np.int64)),
        (lambda *shape: np.zeros(shape, np.uint64)),
    )
    return Base(
        same=words(m, BASE),
        part=words(m, BASE),
        part_code=whole(m, BASE),
        parts=whole(m),
        other=words(BASE),
        words=words(BASE, 2),
        by_code=words(widest),
        touched=whole(widest),
        near=words(1 << NEAR_BITS, 2),
        epoch=words(1),
        late=words(late, 3),
        late_at=whole(late),
        vector=np.zeros(classes),
    )


@jit(inner=True, borrow=True)
def open_base(table, rows, low, high, base):
    """Fill in what a base holds of rows[low:high]."""
    n, by_code, touched = high - low, base.by_code, base.touched
    for f in range(table.codes.shape[0]):
        seen = 0
        for k in range(n):
            c = np.int64(table.codes[f, rows[low + k]])
            if by_code[c] == NONE:
                touched[seen] = c
                seen += 1
            by_code[c] |= ONE << np.uint64(k)
        for k in range(n):
            base.same[f, k] = by_code[table.codes[f, rows[low + k]]]
        if table.family[f] != MULTIWAY:
            sort_few(touched, seen)
            base.parts[f] = seen
            for k in range(seen):
                base.part_code[f, k], base.part[f, k] = touched[k], by_code[touched[k]]
        for k in range(seen):
            by_code[touched[k]] = NONE
    everything = ((ONE << np.uint64(n - 1)) - ONE) | (ONE << np.uint64(n - 1))
    for k in range(n):
        by_code[table.label[rows[low + k]]] |= ONE << np.uint64(k)
    for k in range(n):
        r = rows[low + k]
        base.other[k] = everything ^ by_code[table.label[r]]
        base.words[k, 0], base.words[k, 1] = table.words[r, 0], table.words[r, 1]
    for k in range(n):
        by_code[table.label[rows[low + k]]] = NONE
    base.epoch[0] += ONE


@jit(inner=True, borrow=True)
def subset_is_leaf(c, low, table, rows, vector):
    """The leaf rule for a set of rows of several classes of the base."""
    counts, heavy, rest, rule = 0, 0.0, c, table.rule
    vector[:] = 0.0
    while rest != NONE:
        r = rows[low + lowest(rest)]
        counts += table.count[r]
        heavy += table.weight[r]
        vector[table.label[r]] += table.weight[r]
        rest &= rest - ONE
    if few(counts, rule) or heavy <= rule[1]:
        return True
    return not np.isnan(rule[2]) and call_impurity(table.impurity, vector) <= rule[2]


@jit(inline=True, borrow=True, wraps=True)
def subset(c, low, table, ruled, track, graph, base, at):
    """The node of a set of rows of the base if the cache knows it, −1 for a leaf; else −2, and
    ``stream[at]`` is filled in late: the fingerprint is noted, because looking up many at once
    hides what each waits for memory.
    """
    pure = c & base.other[lowest(c)] == NONE
    if pure and not track:
        return np.int64(-1)
    epoch, state, near = base.epoch[0], graph.state, base.near
    place = np.int64((c * GOLDEN) >> np.uint64(64 - NEAR_BITS))
    if near[place, 0] == c and near[place, 1] >> np.uint64(32) == epoch:
        return np.int64(near[place, 1] & LOWER) - 1
    one, two, rest = NONE, NONE, c
    while rest != NONE:
        k = lowest(rest)
        one += base.words[k, 0]
        two += base.words[k, 1]
        rest &= rest - ONE
    if pure or (ruled and subset_is_leaf(c, low, table, graph.rows, base.vector)):
        if track:
            fresh = state[LEAVES]
            if find_or_enter(graph.leaf_slots, one, two, fresh) == fresh:
                state[LEAVES] += 1
        near[place, 0], near[place, 1] = c, epoch << np.uint64(32)
        return np.int64(-1)
    k = state[LATE]
    base.late[k, 0], base.late[k, 1], base.late[k, 2], base.late_at[k] = one, two, c, at
    state[LATE] = k + 1
    return np.int64(-2)


@jit(inline=True, borrow=True, wraps=True)
def look_up(low, table, graph, base):
    """Nodes of the noted subsets, entered and put on the pending stack where they are new."""
    state, slots, late = graph.state, graph.slots, base.late
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
                heavy += table.weight[graph.rows[low + lowest(rest)]]
                rest &= rest - ONE
            graph.size[node], graph.mass[node] = popcount(c), heavy
            graph.start[node, 0], graph.start[node, 1] = -1, -1
            top = state[PENDING]
            graph.pending[top, 0], graph.pending[top, 1] = node, np.int64(c)
            state[PENDING] = top + 1
            state[NODES] = node + 1
        graph.stream[base.late_at[k]] = node
        place = np.int64((c * GOLDEN) >> np.uint64(64 - NEAR_BITS))
        base.near[place, 0], base.near[place, 1] = (
            c,
            (base.epoch[0] << np.uint64(32)) | np.uint64(node + 1),
        )


@jit(inline=True, borrow=True)
def expand_bits(s, low, table, ruled, track, graph, base, at):
    """Write all bundles of a set of rows of the base; returns the end of the stream."""
    first_row, stream, price, same = lowest(s), graph.stream, table.price, base.same
    graph.state[LATE] = 0
    for f in range(same.shape[0]):
        c, family, first = s & same[f, first_row], table.family[f], table.first_test[f]
        if c == s:
            continue
        if family == MULTIWAY:
            stream[at] = first
            begin, leaves, rest = at, 0, s ^ c
            at += 3
            while True:
                node = subset(c, low, table, ruled, track, graph, base, at)
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
        for j in range(base.parts[f]):
            c = s & base.part[f, j]
            if c == NONE:
                continue
            index = base.part_code[f, j]
            if family == THRESHOLDS:
                inside |= c
                if inside == s:
                    break
                c = inside
                if not table.even[f]:
                    beyond = j + 1
                    while s & base.part[f, beyond] == NONE:
                        beyond += 1
                    index = cheapest(price, first, index, base.part_code[f, beyond])
            else:
                if two_parts:
                    break
                rest = s ^ c
                two_parts = inside == NONE and rest & same[f, lowest(rest)] == rest
                inside |= c
                if two_parts:
                    beyond = j + 1
                    while s & base.part[f, beyond] == NONE:
                        beyond += 1
                    if price[first + base.part_code[f, beyond]] < price[first + index]:
                        # both tests divide alike: ask the cheaper, whose outcomes are the other way
                        # round
                        c, index = rest, base.part_code[f, beyond]
            stream[at], begin = first + index, at
            at += 3
            for _outcome in range(2):
                node = subset(c, low, table, ruled, track, graph, base, at)
                if node != -1:
                    stream[at] = node
                    at += 1
                c = s ^ c
            stream[begin + 1], stream[begin + 2] = 5 + begin - at, at - begin - 3
    look_up(low, table, graph, base)
    return at
