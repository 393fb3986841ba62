"""Sets of rows as words of bits, below a base of at most 64 rows.

Part of :mod:`arboretum_decision_tables.exact.row_kernels`, which says what the stream and the
stacks are::

    write_bundles_of_subset(s):
        for every feature that divides s, and every way in which its tests divide s:
            for every part c = s ∩ (rows of an outcome): node ← node_of_subset(c)
                a leaf is counted; any other number is appended to the bundle
        look_up_noted_subsets: enter the fingerprints noted, write their nodes into the stream; new
            ones are pending
    node_of_subset(c):
        one class: a leaf; in the cache: the node, or a leaf
        fingerprint ← Σ words of the rows of c; a leaf by the rule: a leaf
        else note (fingerprint, c, place in the stream); −2 stands there until
            ``look_up_noted_subsets``

Invariants:

- Bit k stands for ``rows[low + k]``, low being the first row of the base.  Of ``same``, ``other``
  and ``words`` the entries of the rows of the base are filled in, of ``pieces`` the first
  ``n_pieces[f]``; the rest is stale.
- An entry of ``near`` counts only where the upper 32 bits of its ``node`` are the ``epoch`` of the
  base; the lower 32 are node + 1, and 0 for a leaf.  A later set overwrites an earlier one in the
  same place.
- ``by_code`` is all 0 between features.
- ``late`` holds state.late notes; its last entry is no note: it takes what only loads the slots.

Where nothing else is said, table is a Table, graph a Graph and base a Base, the last two written; f
is a feature, c and s are sets of rows of the base.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.bits import lowest, popcount
from arboretum.kernels.jit import inline, inner
from arboretum.kernels.solving.fingerprints import GOLDEN, LOWER, find_or_enter
from arboretum.kernels.solving.rows import MULTIWAY, THRESHOLDS, cheapest, sort_few
from arboretum_decision_tables.exact.parts import (
    Table,
    is_pure_enough,
    is_too_small_to_divide,
    most_bins,
    n_classes,
)

STATE = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("nodes", "stream", "frames", "pending", "rows"),  # used of each array
            "expanded",  # subtables
            "leaves",  # distinct ones
            *("need", "need_rows"),  # the room that is asked for
            "late",  # subsets to be looked up
        )
    ]
)
FRAME = np.dtype(
    [
        ("low", np.int64),  # its rows are rows[low:high]
        ("high", np.int64),
        ("below", np.int64),  # pending children below it
        ("is_base", np.bool_),
    ],
    align=True,
)
CHILD = np.dtype(
    [
        ("node", np.int64),
        ("feature", np.int64),  # −1: all rows of the frame; and a test and an outcome of it
        ("test", np.int64),
        ("outcome", np.int64),
        ("subset", np.uint64),  # instead, above a base
    ]
)
PIECE = np.dtype([("code", np.int64), ("subset", np.uint64)])
"""The rows of a base that have a code."""
BASE_ROW = np.dtype([("other", np.uint64), ("words", np.uint64, 2)])
"""Rows of the base of another class; words of the fingerprint."""
NEAR = np.dtype([("subset", np.uint64), ("node", np.uint64)])
"""An entry of the cache."""
LATE = np.dtype(
    [
        ("one", np.uint64),  # fingerprint
        ("two", np.uint64),
        ("subset", np.uint64),
        ("at", np.int64),  # where in the stream its node belongs
    ]
)
BASE = 64
"""Rows of a subtable below which sets of rows are words of bits."""
NEAR_BITS = 14
"""Entries of the cache: 2¹⁴ of 16 bytes stay in the second-level cache of the processor."""
ONE, NONE = np.uint64(1), np.uint64(0)


class Graph(NamedTuple):
    """What is written, as long as is needed.

    state : STATE[1].
    size : int32[nodes].
    mass : float64[nodes].
    start : int64[nodes, 2], the node's part of ``stream``, (−1, −1) before it is expanded.
    slots, leaf_slots : uint64[2^k, 2].
    frames : FRAME[·].
    pending : CHILD[·].
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
    """The rows of a base as bits.

    same[f, k] : rows with the code of row k.
    pieces : PIECE[F, 64], of the codes of two-way tests that occur, ascending; n_pieces[f] : how
        many.
    row : BASE_ROW[64].
    by_code : uint64 of zeros, one per code or class, left as found; touched : int64, as long.
    near : NEAR[·], cache of nodes by set; epoch : uint64[1], of the entries that are of this base.
    late : LATE[·], sets to be looked up.
    vector : float64[classes], scratch.
    """

    same: np.ndarray
    pieces: np.ndarray
    n_pieces: np.ndarray
    row: np.ndarray
    by_code: np.ndarray
    touched: np.ndarray
    near: np.ndarray
    epoch: np.ndarray
    late: np.ndarray
    vector: np.ndarray


def new_base(table: Table) -> Base:
    """Return an empty base, with room for any 64 rows of the table."""
    m, classes = len(table.features), n_classes(table)
    widest = max(most_bins(table), classes)
    late = 3 * m + 5 * int(np.minimum(table.features["n_bins"], BASE).sum()) + 1
    return Base(
        same=np.zeros((m, BASE), np.uint64),
        pieces=np.zeros((m, BASE), PIECE),
        n_pieces=np.zeros(m, np.int64),
        row=np.zeros(BASE, BASE_ROW),
        by_code=np.zeros(widest, np.uint64),
        touched=np.zeros(widest, np.int64),
        near=np.zeros(1 << NEAR_BITS, NEAR),
        epoch=np.zeros(1, np.uint64),
        late=np.zeros(late, LATE),
        vector=np.zeros(classes),
    )


@inline
def set_of_first_rows(n):
    """Return the set of the first n ≥ 1 rows of a base, a word of bits."""
    last = ONE << np.uint64(n - 1)
    return (last - ONE) | last


@inner
def fill_base(table, rows, low, high, base):
    """Fill in what a base holds of rows[low:high], at most 64; ``base.epoch`` rises, so that its
    cache is empty.
    """
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
        if table.features[f].family != MULTIWAY:
            sort_few(touched, seen)
            base.n_pieces[f] = seen
            for k in range(seen):
                piece = base.pieces[f, k]
                piece.code, piece.subset = touched[k], by_code[touched[k]]
        for k in range(seen):
            by_code[touched[k]] = NONE
    everything = set_of_first_rows(n)
    for k in range(n):
        by_code[table.rows[rows[low + k]].label] |= ONE << np.uint64(k)
    for k in range(n):
        row, here = table.rows[rows[low + k]], base.row[k]
        here.other = everything ^ by_code[row.label]
        here.words[0], here.words[1] = row.words[0], row.words[1]
    for k in range(n):
        by_code[table.rows[rows[low + k]].label] = NONE
    base.epoch[0] += ONE


@inner
def subset_is_leaf(c, low, table, rows, vector):
    """Return whether the leaf rule makes a leaf of a set of rows of several classes of the base.

    c : the set, a word of bits; low : first row of the base in ``rows``.
    vector : float64[classes], overwritten.
    """
    counts, mass, rest, rule = 0, 0.0, c, table.rule
    vector[:] = 0.0
    while rest != NONE:
        row = table.rows[rows[low + lowest(rest)]]
        counts += row.count
        mass += row.weight
        vector[row.label] += row.weight
        rest &= rest - ONE
    return (
        is_too_small_to_divide(counts, rule) or mass <= rule.light or is_pure_enough(table, vector)
    )


@inline(wraps=True)
def node_of_subset(c, low, table, ruled, track, graph, base, at):
    """Return the node of a set of rows of the base if the cache knows it, −1 for a leaf; else −2,
    and ``stream[at]`` is filled in late: the fingerprint is noted, because looking up many at once
    hides what each waits for memory.

    c : the set, not empty, a word of bits; low : first row of the base in ``graph.rows``.
    ruled : whether the leaf rule may make leaves of several classes.
    track : whether distinct leaves are counted.
    """
    pure = c & base.row[lowest(c)].other == NONE
    if pure and not track:
        return np.int64(-1)
    epoch, state, near = base.epoch[0], graph.state[0], base.near[place_in_cache(c)]
    if near.subset == c and near.node >> np.uint64(32) == epoch:
        return np.int64(near.node & LOWER) - 1
    # the fingerprint: the sum of the rows' random words
    one, two, rest = NONE, NONE, c
    while rest != NONE:
        words = base.row[lowest(rest)].words
        one += words[0]
        two += words[1]
        rest &= rest - ONE
    if pure or (ruled and subset_is_leaf(c, low, table, graph.rows, base.vector)):
        if track:
            fresh = state.leaves
            if find_or_enter(graph.leaf_slots, one, two, fresh) == fresh:
                state.leaves += 1
        near.subset, near.node = c, epoch << np.uint64(32)  # number + 1 is 0: a leaf
        return np.int64(-1)
    note = base.late[state.late]
    note.one, note.two, note.subset, note.at = one, two, c, at
    state.late += 1
    return np.int64(-2)


@inline(wraps=True)
def look_up_noted_subsets(low, table, graph, base):
    """Find nodes of the noted subsets, entered and put on the pending stack where they are new, and
    write them into the stream and the cache.

    low : first row of the base in ``graph.rows``.
    """
    state, slots, late = graph.state[0], graph.slots, base.late
    mask, found = np.uint64(slots.shape[0] - 1), NONE
    for k in range(state.late):  # all slots are on their way before the first is needed
        found |= slots[np.int64(late[k].one & mask), 1]
    late[len(late) - 1].one = found
    for k in range(state.late):
        note, fresh = late[k], state.nodes
        c = note.subset
        node = find_or_enter(slots, note.one, note.two, fresh)
        if node == fresh:
            mass, rest = 0.0, c
            while rest != NONE:
                mass += table.rows[graph.rows[low + lowest(rest)]].weight
                rest &= rest - ONE
            child = enter_node(graph, node, popcount(c), mass)
            child.subset = c
        graph.stream[note.at] = node
        near = base.near[place_in_cache(c)]
        near.subset, near.node = c, (base.epoch[0] << np.uint64(32)) | np.uint64(node + 1)


@inline
def enter_node(graph, node, size, mass):
    """Write what is known of a new node, and put it on the pending stack; returns its record there,
    of which the caller fills in how its rows are found.

    node : its number, ``state.nodes``; size, mass : its objects and their weight.
    """
    state = graph.state[0]
    graph.size[node], graph.mass[node] = size, mass
    graph.start[node, 0], graph.start[node, 1] = -1, -1
    child = graph.pending[state.pending]
    child.node = node
    state.pending += 1
    state.nodes = node + 1
    return child


@inline
def place_in_cache(c):
    """Return where the cache keeps a set."""
    return np.int64((c * GOLDEN) >> np.uint64(64 - NEAR_BITS))


@inline
def next_code(s, pieces, j):
    """Return the code that follows in set s that of piece j, which is not its last.

    pieces : PIECE[64], of a two-way feature, ascending.
    """
    j += 1
    while s & pieces[j].subset == NONE:
        j += 1
    return pieces[j].code


@inline
def write_bundles_of_subset(s, low, table, ruled, track, graph, base, at):
    """Write all bundles of a set of rows of the base; returns the end of the stream.

    s : the set, a word of bits; other arguments as of ``node_of_subset``.
    at : where in ``graph.stream`` they begin.
    """
    first_row, stream, price, same = lowest(s), graph.stream, table.price, base.same
    graph.state[0].late = 0
    for f in range(same.shape[0]):
        c, feature, pieces = s & same[f, first_row], table.features[f], base.pieces[f]
        if c == s:
            continue
        family, first = feature.family, feature.first_test
        if family == MULTIWAY:
            stream[at] = first
            begin, leaves, rest = at, 0, s ^ c
            at += 3
            while True:
                node = node_of_subset(c, low, table, ruled, track, graph, base, at)
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
        for j in range(base.n_pieces[f]):
            c, index = s & pieces[j].subset, pieces[j].code
            if c == NONE:
                continue
            if family == THRESHOLDS:
                inside |= c
                if inside == s:
                    break
                c = inside
                if feature.even == 0:
                    index = cheapest(price, first, index, next_code(s, pieces, j))
            else:
                if two_parts:
                    break
                rest = s ^ c
                two_parts = inside == NONE and rest & same[f, lowest(rest)] == rest
                inside |= c
                if two_parts:
                    beyond = next_code(s, pieces, j)
                    if price[first + beyond] < price[first + index]:
                        # both tests divide alike: ask the cheaper, whose outcomes are the other way
                        # round
                        c, index = rest, beyond
            stream[at], begin = first + index, at
            at += 3
            for _outcome in range(2):
                node = node_of_subset(c, low, table, ruled, track, graph, base, at)
                if node != -1:
                    stream[at] = node
                    at += 1
                c = s ^ c
            stream[begin + 1], stream[begin + 2] = 5 + begin - at, at - begin - 3
    look_up_noted_subsets(low, table, graph, base)
    return at
