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
        if it lies in a base: write_bundles_of_subset(Θ)
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
- The pending children above ``below`` are the frame's.  The rows of the topmost frame end at
  ``state.rows``; those of a dropped frame are free.
- What ``base`` holds is of the topmost frame, and only while ``is_open``; a kernel that is entered
  again fills it in anew.
- ``room_for_bundles`` bounds what one subtable may add to the stream, and so nodes and pending
  children. It is asked for before anything is written; hash tables stay at most half full.

Where nothing else is said, table is a Table and parts are Parts of :mod:`.parts`, graph is a Graph
of :mod:`.set_kernels` and state its record; f is a feature, low and high bound rows of
``graph.rows``.
"""

import numpy as np

from arboretum.kernels.jit import inline, jit
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
    enter_node,
    fill_base,
    set_of_first_rows,
    write_bundles_of_subset,
)


@jit(borrow=True)
def expand_subtables(table, track, graph, limit, parts, base):
    """Expand subtables until none is pending (FINISHED), an array is full (NEED_ROOM) or ``limit``
    row visits (PAUSED).

    table : Table.
    track : count distinct leaves, too.
    graph : Graph of :mod:`.set_kernels`, written; another call goes on where this one stopped.
    parts, base : Parts and Base, overwritten.
    """
    state, frames, pending, rows = graph.state[0], graph.frames, graph.pending, graph.rows
    rule, n_features = table.rule, len(table.features)
    ruled = rule.rows > 0.0 or rule.light > 0.0 or not np.isnan(rule.impurity) or rule.objects > 0.0
    is_open, done, need = False, 0, 0
    while True:
        while state.frames > 0 and state.pending == frames[state.frames - 1].below:
            state.frames -= 1
            state.rows = frames[state.frames].low
            is_open = False
        if state.frames == 0:
            return FINISHED
        frame, child = frames[state.frames - 1], pending[state.pending - 1]
        node = child.node
        n, in_bits = np.int64(graph.size[node]), frame.is_base
        if in_bits and not is_open:
            fill_base(table, rows, frame.low, frame.high, base)
            is_open = True
            need = room_for_bundles(table.features, frame.high - frame.low)
        elif not in_bits:
            need = room_for_bundles(table.features, n)
        state.need, state.need_rows = need, n
        if (
            state.stream + need > graph.stream.shape[0]
            or state.nodes + need > graph.size.shape[0]
            or 2 * (state.nodes + need) > graph.slots.shape[0]
            or state.pending + need > pending.shape[0]
            or state.rows + n > rows.shape[0]
            or state.frames + 1 > frames.shape[0]
            or (track and 2 * (state.leaves + need) > graph.leaf_slots.shape[0])
        ):
            return NEED_ROOM
        if done > limit:
            return PAUSED
        low = state.rows
        high = low + n
        if not in_bits and n <= BASE:
            copy_rows_of_child(table, frame, child, rows, low)
            push_frame(state, frames, low, high, state.pending - 1, True)
            child.subset = set_of_first_rows(n)
            continue
        state.pending -= 1
        below, at = state.pending, state.stream
        graph.start[node, 0] = at
        state.expanded += 1
        if in_bits:
            done += n_features
            at = write_bundles_of_subset(
                child.subset, frame.low, table, ruled, track, graph, base, at
            )
        else:
            done += n * n_features
            copy_rows_of_child(table, frame, child, rows, low)
            for f in range(n_features):
                seen = fill_parts(table, f, BY_BIN, rows, low, high, parts)
                if seen > 1:
                    at = write_bundles(table, f, low, high, track, graph, seen, parts, at)
                clear_parts(parts, seen)
            if state.pending > below:
                push_frame(state, frames, low, high, below, False)
        graph.start[node, 1] = at
        state.stream = at


@inline
def room_for_bundles(features, n):
    """Return how many entries of the stream (and so nodes, and pending children) the bundles of n
    rows may need at most.

    features : FEATURE[F].
    """
    need = 3 * len(features)
    for f in range(len(features)):
        need += 5 * min(n, features[f].n_bins)
    return need


@inline
def push_frame(state, frames, low, high, below, is_base):
    """Push a frame of rows[low:high], which become those of the topmost subtable.

    below : pending children below it; is_base : whether its subsets are words of bits.
    """
    frame = frames[state.frames]
    frame.low, frame.high, frame.below, frame.is_base = low, high, below, is_base
    state.frames += 1
    state.rows = high


@inline
def copy_rows_of_child(table, frame, child, rows, top):
    """Copy the rows of a pending child from its parent's, those of ``frame``, to rows[top:];
    feature −1 takes all.
    """
    f, low, high = child.feature, frame.low, frame.high
    if f >= 0:
        family = table.features[f].family
        take_rows(table.codes[f], family, child.test, child.outcome, rows, low, high, top)
        return
    for k in range(low, high):
        rows[top + k - low] = rows[k]


@inline
def enter_child(parts, slot, table, f, index, outcome, low, high, track, graph):
    """Return the node of one branch, entered and put on the pending stack when it is new; −1 for a
    leaf.

    slot : of the branch in ``parts``; low, high : rows of the subtable above.
    f, index, outcome : feature, test and outcome that lead to it.
    track : whether distinct leaves are counted.
    """
    state, part = graph.state[0], parts.sets[slot]
    if part_is_leaf(table, parts, slot, graph.rows, low, high, f, index, outcome):
        if track:
            fresh = state.leaves
            if find_or_enter(graph.leaf_slots, part.one, part.two, fresh) == fresh:
                state.leaves += 1
        return np.int64(-1)
    fresh = state.nodes
    node = find_or_enter(graph.slots, part.one, part.two, fresh)
    if node == fresh:
        child = enter_node(graph, node, part.tally, part.mass)
        child.feature, child.test, child.outcome = f, index, outcome
    return node


@inline
def write_bundles(table, f, low, high, track, graph, seen, parts, at):
    """Write the bundles of one feature, whose bins were filled in; returns the end of the stream.

    f : the feature; low, high : rows of the subtable.
    track : whether distinct leaves are counted.
    seen : bins that occur.
    at : where in ``graph.stream`` they begin.
    """
    first, stream = table.features[f].first_test, graph.stream
    multiway = table.features[f].family == MULTIWAY
    for t in range(1 if multiway else list_tests(table, f, seen, parts)):
        index = INSIDE if multiway else parts.tests[t].index
        begin, branches = at, seen if multiway else 2
        at += 3  # its head is written below, when its edges are counted
        for k in range(branches):
            slot = parts.touched[k] if multiway else parts.tests[t].slots[k]
            outcome = slot if multiway else np.int64(k)
            node = enter_child(parts, slot, table, f, index, outcome, low, high, track, graph)
            if node >= 0:
                stream[at] = node
                at += 1
        edges = at - begin - 3
        stream[begin], stream[begin + 1], stream[begin + 2] = first + index, branches - edges, edges
    return at
