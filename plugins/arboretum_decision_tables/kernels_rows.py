"""Δ(T) for any number of objects: depth first over lists of rows.

A subtable is known by its fingerprint (:mod:`arboretum.kernels.solving.fingerprints`).  One of at most 64 rows is a *base*: all
that is below it is handled as sets of bits among its rows, where a branch is
one conjunction, and a lossy cache remembers the nodes that its subsets have.

The walk keeps a stack of *frames*, each the rows of one subtable on a stack of rows, and a stack of *pending* children,
each still to be taken from the rows of the frame below it.  A child's rows are fewer than its parent's.  All state lies in
arrays that the caller enlarges when the kernel says so; the kernel can be left and entered again at any subtable.

A bundle in ``stream`` is: global index of its test, number of branches that are leaves, number of the other branches, their
node numbers.  Tests of one feature that divide the rows alike make one bundle, that of the cheapest, ties to the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.fingerprints import find_or_enter
from arboretum.kernels.solving.rows import (
    INSIDE, MIXED, MULTIWAY, NOBODY, OUTSIDE, THRESHOLDS, cheapest, sort_few, take_rows, union,
)  # fmt: skip
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_decision_tables.kernels_sets import (
    BASE, EXPANDED, FRAMES, LEAVES, NEED, NEED_ROWS, NODES, ONE, PENDING, ROWS, STREAM, expand_bits, open_base,
)  # fmt: skip
from arboretum_decision_tables.kernels_table import few, is_light_or_pure_enough


class Part(NamedTuple):
    """One outcome of a test: objects, what the leaf rule counts, mass, fingerprint, class."""

    tally: int
    counts: int
    heavy: float
    one: int
    two: int
    who: int


@jit(inline=True, borrow=True)
def bin_of(bins, c):
    return Part(bins.tally[c], bins.counts[c], bins.heavy[c], bins.one[c], bins.two[c], bins.who[c])


@jit(inline=True, borrow=True)
def nobody():
    return Part(np.int64(0), np.int64(0), 0.0, np.uint64(0), np.uint64(0), np.int64(NOBODY))


@jit(inline=True, borrow=True)
def both(a, b):
    return Part(a.tally + b.tally, a.counts + b.counts, a.heavy + b.heavy, a.one + b.one, a.two + b.two, union(a.who, b.who))


@jit(inline=True, borrow=True)
def without(a, b, who):
    """a without b, whose rows it holds.   who : class of what is left."""
    return Part(a.tally - b.tally, a.counts - b.counts, a.heavy - b.heavy, a.one - b.one, a.two - b.two, who)


@jit(borrow=True)
def build_rows(table, track, graph, limit, bins, base):
    """Expand subtables until none is pending (FINISHED), an array is full (NEED_ROOM) or ``limit`` row visits (PAUSED).

    track : count distinct leaves, too.   graph : written.   bins, base : scratch, fresh for every call.
    """
    state, frames, pending, rows, n_features = graph.state, graph.frames, graph.pending, graph.rows, table.codes.shape[0]
    summed = table.rule[1] > 0.0 or not np.isnan(table.rule[2])
    ruled = summed or table.rule[0] > 0.0 or table.rule[3] > 0.0
    unit = len(table.label) > 0
    for r in range(len(table.label)):
        unit &= table.weight[r] == 1.0 and table.count[r] == 1
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
            state[STREAM] + need > graph.stream.shape[0] or state[NODES] + need > graph.size.shape[0]
            or 2 * (state[NODES] + need) > graph.slots.shape[0] or state[PENDING] + need > pending.shape[0]
            or state[ROWS] + n > rows.shape[0] or state[FRAMES] + 1 > frames.shape[0]
            or (track and 2 * (state[LEAVES] + need) > graph.leaf_slots.shape[0])
        ):  # fmt: skip
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
            for k in range(n):
                r = rows[low + k]
                bins.row_label[k], bins.row_words[k, 0], bins.row_words[k, 1] = table.label[r], table.words[r, 0], table.words[r, 1]
            for f in range(n_features):
                seen = tally_bins(table, f, rows, low, high, unit, bins)
                if seen > 1:
                    at = list_bundles(table, f, low, high, summed, track, graph, seen, bins, at)
                for k in range(seen):
                    bins.tally[bins.touched[k]] = 0
            if state[PENDING] > below:
                push_frame(state, frames, low, high, below, 0)
        graph.start[node, 1] = at
        state[STREAM] = at


@jit(inline=True, borrow=True)
def room_for(n_bins, n):
    """Entries of the stream (and so nodes, and pending children) that the bundles of n rows may need."""
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
    """Copy the rows of a pending child from its parent's to the top of the stack; feature −1 takes all."""
    f = child[1]
    if f >= 0:
        take_rows(table.codes[f], table.family[f], child[2], child[3], rows, frame[0], frame[1], top)
        return
    for k in range(frame[0], frame[1]):
        rows[top + k - frame[0]] = rows[k]


@jit(inline=True, borrow=True)
def tally_bins(table, f, rows, low, high, unit, bins):
    """Add up the rows of each bin of one feature; returns the number of bins that occur.

    unit : every object weighs 1 and is one row.
    """
    tally, counts, one, two, heavy, who, _, touched, row_words, row_label, _ = bins
    column, seen = table.codes[f], 0
    for k in range(low, high):
        r, at = rows[k], k - low
        c = np.int64(column[r])
        if tally[c] == 0:
            touched[seen] = c
            seen += 1
            one[c], two[c], who[c] = row_words[at, 0], row_words[at, 1], row_label[at]
            heavy[c], counts[c] = 0.0, 0
        else:
            one[c] += row_words[at, 0]
            two[c] += row_words[at, 1]
            if who[c] != row_label[at]:
                who[c] = MIXED
        tally[c] += 1
        if not unit:
            heavy[c] += table.weight[r]
            counts[c] += table.count[r]
    if unit:
        for k in range(seen):
            c = touched[k]
            heavy[c], counts[c] = tally[c], tally[c]
    return seen


@jit(inline=True, borrow=True)
def enter_child(part, table, f, index, outcome, low, high, summed, track, graph, vector):
    """The node of one branch, entered and put on the pending stack when it is new; −1 for a leaf."""
    state, leaf = graph.state, part.who != MIXED or few(part.counts, table.rule)
    if summed and not leaf:
        leaf = is_light_or_pure_enough(table, graph.rows, low, high, f, index, outcome, vector)
    if leaf:
        if track:
            fresh = state[LEAVES]
            if find_or_enter(graph.leaf_slots, part.one, part.two, fresh) == fresh:
                state[LEAVES] += 1
        return np.int64(-1)
    fresh = state[NODES]
    node = find_or_enter(graph.slots, part.one, part.two, fresh)
    if node == fresh:
        graph.size[node], graph.mass[node] = part.tally, part.heavy
        graph.start[node, 0], graph.start[node, 1] = -1, -1
        top, pending = state[PENDING], graph.pending
        pending[top, 0], pending[top, 1], pending[top, 2], pending[top, 3] = node, f, index, outcome
        state[PENDING] = top + 1
        state[NODES] = node + 1
    return node


@jit(inline=True, borrow=True)
def list_bundles(table, f, low, high, summed, track, graph, seen, bins, at):
    """Write the bundles of one feature, whose bins were tallied; returns the end of the stream."""
    family, first, price, stream = table.family[f], table.first_test[f], table.price, graph.stream
    touched, after, vector = bins.touched, bins.after, bins.vector
    if family == MULTIWAY:
        stream[at] = first
        end, leaves = at + 3, 0
        for k in range(seen):
            c = touched[k]
            node = enter_child(bin_of(bins, c), table, f, INSIDE, c, low, high, summed, track, graph, vector)
            if node < 0:
                leaves += 1
            else:
                stream[end] = node
                end += 1
        stream[at + 1], stream[at + 2] = leaves, end - at - 3
        return end
    sort_few(touched, seen)
    whole = nobody()
    after[seen] = NOBODY
    for k in range(seen - 1, -1, -1):
        whole = both(whole, bin_of(bins, touched[k]))
        after[k] = whole.who
    inside, before = nobody(), np.int64(NOBODY)
    last = seen - 1 if family == THRESHOLDS or seen == 2 else seen
    for k in range(last):
        c = touched[k]
        if family == THRESHOLDS:
            inside, out_who = both(inside, bin_of(bins, c)), after[k + 1]
            index = c if table.even[f] else cheapest(price, first, c, touched[k + 1])
        else:
            out_who, before = union(before, after[k + 1]), union(before, bins.who[c])
            index = c
            if seen == 2 and price[first + touched[1]] < price[first + c]:
                # both tests divide alike: ask the cheaper, whose outcomes are the other way round
                index, out_who = touched[1], bins.who[touched[0]]
            inside = bin_of(bins, index)
        a = enter_child(inside, table, f, index, INSIDE, low, high, summed, track, graph, vector)
        b = enter_child(without(whole, inside, out_who), table, f, index, OUTSIDE, low, high, summed, track, graph, vector)
        stream[at], stream[at + 1] = first + index, (a < 0) + (b < 0)
        at += 3
        begin = at
        if a >= 0:
            stream[at] = a
            at += 1
        if b >= 0:
            stream[at] = b
            at += 1
        stream[begin - 1] = at - begin
    return at
