"""Δ(T) for any number of objects: depth first over lists of rows.

A subtable is known by its fingerprint (:mod:`arboretum.kernels.solving.fingerprints`).  One of at
most 64 rows is a *base*: all that is below it is handled as sets of bits among its rows, where a
branch is one conjunction, and a lossy cache remembers the nodes that its subsets have::

    while True:
        drop the frames on top that have no pending child; if none is left: FINISHED
        Θ ← the pending child on top
        if an array may be too short for Θ: NEED_ROOM; if the slice has worked enough: PAUSED
        if Θ has at most 64 rows and lies in no base: push a frame of its rows, a base; next turn
        take Θ off the stack of pending children
        if it lies in a base: expand_bits(Θ)
        else for every f_i in E(Θ), and every way in which tests of f_i divide Θ:
            for every part: count it if it is a leaf, else find its node;
                a new one is entered, and pending
            append the bundle (test, leaves, edges, nodes) to the stream
        start[Θ] ← where its bundles lie; outside a base push a frame if children are pending

The walk keeps a stack of *frames*, each the rows of one subtable on a stack of rows, and a stack of
*pending* children, each still to be taken from the rows of the frame below it.  A child's rows are
fewer than its parent's.  All state lies in arrays that the caller enlarges when the kernel says so;
the kernel can be left and entered again at any subtable.

A bundle in ``stream`` is: global index of its test, number of branches that are leaves, number of
the other branches, their node numbers.  Tests of one feature that divide the rows alike make one
bundle, that of the cheapest, ties to the first.

Invariants:

- Nodes are 0 … NODES − 1, T is 0, leaves are none.  A node is entered once, is pending once and
  expanded once; until then its ``start`` is (−1, −1).
- A frame is (first row, end of its rows, pending children below it, whether it is a base).  The
  pending children above that number are the frame's.  The rows of the topmost frame end at
  ``state[ROWS]``; those of a dropped frame are free.
- What ``base`` holds is of the topmost frame, and only while ``is_open``; a kernel that is entered
  again fills it in anew.
- ``room_for`` bounds what one subtable may add to the stream, and so nodes and pending children.
  It is asked for before anything is written; hash tables stay at most half full.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.fingerprints import find_or_enter
from arboretum.kernels.solving.rows import INSIDE, MULTIWAY, take_rows
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_decision_tables.exact.parts import (
    BY_BIN,
    clear_parts,
    fill_parts,
    list_tests,
    part_is_leaf,
)
from arboretum_decision_tables.exact.set_kernels import (
    BASE,
    EXPANDED,
    FRAMES,
    LEAVES,
    NEED,
    NEED_ROWS,
    NODES,
    ONE,
    PENDING,
    ROWS,
    STREAM,
    expand_bits,
    open_base,
)


@jit(borrow=True)
def build_rows(table, track, graph, limit, parts, base):
    """Expand subtables until none is pending (FINISHED), an array is full (NEED_ROOM) or ``limit``
    row visits (PAUSED).

    track : count distinct leaves, too.
    graph : written.
    parts, base : scratch.
    """
    state, frames, pending, rows, n_features = (
        graph.state,
        graph.frames,
        graph.pending,
        graph.rows,
        table.codes.shape[0],
    )
    ruled = (
        table.rule[0] > 0.0
        or table.rule[1] > 0.0
        or not np.isnan(table.rule[2])
        or table.rule[3] > 0.0
    )
    is_open, done, need = False, 0, 0
    while True:
        while state[FRAMES] > 0 and state[PENDING] == frames[state[FRAMES] - 1, 2]:
            state[FRAMES] -= 1
            state[ROWS] = frames[state[FRAMES], 0]
            is_open = False
        if state[FRAMES] == 0:
            return FINISHED
        frame, child = frames[state[FRAMES] - 1], pending[state[PENDING] - 1]
        node = child[0]
        n, in_bits = np.int64(graph.size[node]), frame[3] == 1
        if in_bits and not is_open:
            open_base(table, rows, frame[0], frame[1], base)
            is_open = True
            need = room_for(table.n_bins, frame[1] - frame[0])
        elif not in_bits:
            need = room_for(table.n_bins, n)
        state[NEED], state[NEED_ROWS] = need, n
        if (
            state[STREAM] + need > graph.stream.shape[0]
            or state[NODES] + need > graph.size.shape[0]
            or 2 * (state[NODES] + need) > graph.slots.shape[0]
            or state[PENDING] + need > pending.shape[0]
            or state[ROWS] + n > rows.shape[0]
            or state[FRAMES] + 1 > frames.shape[0]
            or (track and 2 * (state[LEAVES] + need) > graph.leaf_slots.shape[0])
        ):
            return NEED_ROOM
        if done > limit:
            return PAUSED
        low = state[ROWS]
        high = low + n
        if not in_bits and n <= BASE:
            take_child(table, frame, child, rows, low)
            push_frame(state, frames, low, high, state[PENDING] - 1, 1)
            child[1] = np.int64((ONE << np.uint64(n - 1)) - ONE | ONE << np.uint64(n - 1))
            continue
        state[PENDING] -= 1
        below, at = state[PENDING], state[STREAM]
        graph.start[node, 0] = at
        state[EXPANDED] += 1
        if in_bits:
            done += n_features
            at = expand_bits(np.uint64(child[1]), frame[0], table, ruled, track, graph, base, at)
        else:
            done += n * n_features
            take_child(table, frame, child, rows, low)
            for f in range(n_features):
                seen = fill_parts(table, f, BY_BIN, rows, low, high, parts)
                if seen > 1:
                    at = list_bundles(table, f, low, high, track, graph, seen, parts, at)
                clear_parts(parts, seen)
            if state[PENDING] > below:
                push_frame(state, frames, low, high, below, 0)
        graph.start[node, 1] = at
        state[STREAM] = at


@jit(inline=True, borrow=True)
def room_for(n_bins, n):
    """Entries of the stream (and so nodes, and pending children) that the bundles of n rows may
    need.
    """
    need = 3 * n_bins.shape[0]
    for f in range(n_bins.shape[0]):
        need += 5 * min(n, n_bins[f])
    return need


@jit(inline=True, borrow=True)
def push_frame(state, frames, low, high, below, in_bits):
    """The rows low … high − 1 are now those of the topmost subtable."""
    top = state[FRAMES]
    frames[top, 0], frames[top, 1], frames[top, 2], frames[top, 3] = low, high, below, in_bits
    state[FRAMES] = top + 1
    state[ROWS] = high


@jit(inline=True, borrow=True)
def take_child(table, frame, child, rows, top):
    """Copy the rows of a pending child from its parent's to the top of the stack; feature −1
    takes all.
    """
    f = child[1]
    if f >= 0:
        take_rows(
            table.codes[f], table.family[f], child[2], child[3], rows, frame[0], frame[1], top
        )
        return
    for k in range(frame[0], frame[1]):
        rows[top + k - frame[0]] = rows[k]


@jit(inline=True, borrow=True)
def enter_child(parts, slot, table, f, index, outcome, low, high, track, graph):
    """The node of one branch, entered and put on the pending stack when it is new; −1 for a
    leaf.
    """
    state, one, two = graph.state, parts.one[slot], parts.two[slot]
    if part_is_leaf(table, parts, slot, graph.rows, low, high, f, index, outcome):
        if track:
            fresh = state[LEAVES]
            if find_or_enter(graph.leaf_slots, one, two, fresh) == fresh:
                state[LEAVES] += 1
        return np.int64(-1)
    fresh = state[NODES]
    node = find_or_enter(graph.slots, one, two, fresh)
    if node == fresh:
        graph.size[node], graph.mass[node] = parts.tally[slot], parts.mass[slot]
        graph.start[node, 0], graph.start[node, 1] = -1, -1
        top, pending = state[PENDING], graph.pending
        pending[top, 0], pending[top, 1], pending[top, 2], pending[top, 3] = node, f, index, outcome
        state[PENDING] = top + 1
        state[NODES] = node + 1
    return node


@jit(inline=True, borrow=True)
def list_bundles(table, f, low, high, track, graph, seen, parts, at):
    """Write the bundles of one feature, whose bins were filled in; returns the end of the
    stream.
    """
    first, stream, multiway = table.first_test[f], graph.stream, table.family[f] == MULTIWAY
    for t in range(1 if multiway else list_tests(table, f, seen, parts)):
        index = INSIDE if multiway else parts.tests[t, 0]
        begin, branches = at, seen if multiway else 2
        at += 3
        for k in range(branches):
            slot = parts.touched[k] if multiway else parts.tests[t, 1 + k]
            node = enter_child(
                parts,
                slot,
                table,
                f,
                index,
                slot if multiway else np.int64(k),
                low,
                high,
                track,
                graph,
            )
            if node >= 0:
                stream[at] = node
                at += 1
        edges = at - begin - 3
        stream[begin], stream[begin + 1], stream[begin + 2] = first + index, branches - edges, edges
    return at
