"""Δ(T) for any number of objects: depth first over lists of rows.

A subtable is known by the sum of two random 64-bit words per row (mod 2⁶⁴); a slot of the hash table keeps all of the
first sum and the upper half of the second.  Two different sets of rows agree in these 96 bits with probability 2⁻⁹⁶, as
one row that only one of them has makes both differences uniform; so among N subtables some two are confused with
probability at most N² · 2⁻⁹⁷ (6 · 10⁻¹⁴ for a hundred million).

A subtable of at most 64 rows is a *base*: all that is below it is handled as sets of bits among its rows, where a branch is
one conjunction, and a lossy cache remembers the nodes that its subsets have.

The walk keeps a stack of *frames*, each the rows of one subtable on a stack of rows, and a stack of *pending* children,
each still to be taken from the rows of the frame below it.  A child's rows are fewer than its parent's.  All state lies in
arrays that the caller enlarges when the kernel says so; the kernel can be left and entered again at any subtable.

A bundle in ``stream`` is: global index of its test, number of branches that are leaves, number of the other branches, their
node numbers.  Tests of one feature that divide the rows alike make one bundle, that of the cheapest, ties to the first.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.pointers import impurity_at
from arboretum_decision_tables.kernels_sets import (
    BASE, EQUALS, EXPANDED, FINISHED, FRAMES, LEAVES, MULTIWAY, NEAR_BITS, NEED, NEED_ROOM, NEED_ROWS, NODES, NONE, ONE,
    PAUSED, PENDING, ROWS, STREAM, THRESHOLDS, cheapest, expand_bits, few, find, find_or_enter, jit, open_base,
)  # fmt: skip

__all__ = ["MIXED", "MULTIWAY", "NOBODY", "THRESHOLDS", "EQUALS", "build_rows", "cheapest", "few", "find", "find_or_enter", "goes",
           "is_light_or_pure_enough", "union"]  # fmt: skip

NOBODY, MIXED = -1, -2
"""Class of no rows, and of rows of several classes."""


@jit(inline=True)
def union(a, b):
    """Class of two sets of rows together."""
    if a == NOBODY:
        return b
    if b == NOBODY or a == b:
        return a
    return np.int64(MIXED)


@jit(inline=True)
def goes(family, code, index, outcome):
    """Whether a code has that outcome under test ``index`` of its feature."""
    if family == MULTIWAY:
        return code == outcome
    if family == THRESHOLDS:
        return (code <= index) == (outcome == 0)
    return (code == index) == (outcome == 0)


@jit
def is_light_or_pure_enough(rows, low, high, column, family, index, outcome, label, weight, rule, impurity, vector):
    """Whether one branch of a test is a leaf by its mass or impurity; summed in the order of rows, so that the answer does
    not depend on the way that led to the subtable.

    rule : float64[4], see ``space.Space.rule_array``.
    """
    vector[:] = 0.0
    mass = 0.0
    for k in range(low, high):
        r = rows[k]
        if goes(family, np.int64(column[r]), index, outcome):
            mass += weight[r]
            vector[label[r]] += weight[r]
    if mass <= rule[1]:
        return True
    return not np.isnan(rule[2]) and impurity_at(impurity)(vector) <= rule[2]


@jit
def build_rows(
    codes, family, n_bins, first_test, price, even, label, weight, count, words, rule, impurity, track,
    state, size, mass, start, stream, slots, leaf_slots, frames, pending, rows, limit, scratch,
):  # fmt: skip
    """Expand subtables until none is pending (FINISHED), an array is full (NEED_ROOM) or ``limit`` row visits (PAUSED).

    codes : uint[F, n].   family, n_bins, first_test : int64[F].   price : float64[tests].   even : bool[F], all tests of the
    feature cost the same.   label : int32[n].   weight : float64[n].   count : int64[n].   words : uint64[n, 2].
    rule : see :func:`is_light_or_pure_enough`.   impurity : address.   track : count distinct leaves, too.
    state : int64[10].   size : int32[nodes].   mass : float64[nodes].   start : int64[nodes, 2], the node's part of
    ``stream``, (−1, −1) before it is expanded.   slots, leaf_slots : uint64[2^k, 2].   frames : int64[·, 4] (first and last
    row, pending children below it, whether it is a base).   pending : int64[·, 4] (node, feature, test of the feature,
    outcome; above a base: node, set of its rows).   rows : int32[·].   scratch : of ``graph.scratch_for``, fresh for
    every call.
    """
    n_features = codes.shape[0]
    (
        tally, counts, one, two, heavy, who, vector, after, touched, same, part, part_code, parts, other, near, late_at,
        late, by_code, base_words, row_words, row_label,
    ) = scratch  # fmt: skip
    summed = rule[1] > 0.0 or not np.isnan(rule[2])
    ruled = summed or rule[0] > 0.0 or rule[3] > 0.0
    unit = True
    for r in range(len(label)):
        unit &= weight[r] == 1.0 and count[r] == 1
    is_open, epoch, done, need = False, np.uint64(0), 0, 0
    while True:
        while state[FRAMES] > 0 and state[PENDING] == frames[state[FRAMES] - 1, 2]:
            state[FRAMES] -= 1
            state[ROWS] = frames[state[FRAMES], 0]
            is_open = False
        if state[FRAMES] == 0:
            return FINISHED
        frame, child = frames[state[FRAMES] - 1], pending[state[PENDING] - 1]
        node = child[0]
        n, in_bits = np.int64(size[node]), frame[3] == 1
        if in_bits and not is_open:
            open_base(
                codes, family, label, words, rows, frame[0], frame[1], same, part, part_code, parts, other, base_words,
                by_code, touched,
            )  # fmt: skip
            epoch += ONE
            is_open = True
            need = room_for(n_bins, frame[1] - frame[0])
        elif not in_bits:
            need = room_for(n_bins, n)
        state[NEED], state[NEED_ROWS] = need, n
        if (
            state[STREAM] + need > stream.shape[0] or state[NODES] + need > size.shape[0]
            or 2 * (state[NODES] + need) > slots.shape[0] or state[PENDING] + need > pending.shape[0]
            or state[ROWS] + n > rows.shape[0] or state[FRAMES] + 1 > frames.shape[0]
            or (track and 2 * (state[LEAVES] + need) > leaf_slots.shape[0])
        ):  # fmt: skip
            return NEED_ROOM
        if done > limit:
            return PAUSED
        if not in_bits and n <= BASE:
            low = state[ROWS]
            take_rows(codes, family, frame, child, rows, low)
            push_frame(state, frames, low, low + n, state[PENDING] - 1, 1)
            child[1] = np.int64((ONE << np.uint64(n - 1)) - ONE | ONE << np.uint64(n - 1))
            continue
        state[PENDING] -= 1
        below, at = state[PENDING], state[STREAM]
        start[node, 0] = at
        state[EXPANDED] += 1
        if in_bits:
            done += n_features
            at = expand_bits(
                np.uint64(child[1]), frame[0], family, first_test, price, even, label, weight, count, base_words, rule,
                impurity, vector, ruled, track, same, part, part_code, parts, other, near, epoch, late, late_at,
                state, size, mass, start, stream, slots, leaf_slots, pending, rows, at,
            )  # fmt: skip
        else:
            done += n * n_features
            low = state[ROWS]
            high = low + n
            take_rows(codes, family, frame, child, rows, low)
            for k in range(n):
                r = rows[low + k]
                row_label[k], row_words[k, 0], row_words[k, 1] = label[r], words[r, 0], words[r, 1]
            for f in range(n_features):
                seen = tally_bins(
                    codes[f], rows, low, high, unit, row_label, weight, count, row_words, tally, touched, one, two, heavy,
                    who, counts,
                )  # fmt: skip
                if seen > 1:
                    at = list_bundles(
                        f, family[f], first_test[f], price, even[f], low, high, codes[f], label, weight, rule, impurity,
                        vector, summed, track, seen, touched, tally, counts, one, two, heavy, who, after,
                        state, size, mass, start, stream, slots, leaf_slots, pending, rows, at,
                    )  # fmt: skip
                for k in range(seen):
                    tally[touched[k]] = 0
            if state[PENDING] > below:
                push_frame(state, frames, low, high, below, 0)
        start[node, 1] = at
        state[STREAM] = at


@jit(inline=True)
def room_for(n_bins, n):
    """Entries of the stream (and so nodes, and pending children) that the bundles of n rows may need."""
    need = 3 * n_bins.shape[0]
    for f in range(n_bins.shape[0]):
        need += 5 * min(n, n_bins[f])
    return need


@jit(inline=True)
def push_frame(state, frames, low, high, below, in_bits):
    """The rows low … high − 1 are now those of the topmost subtable."""
    top = state[FRAMES]
    frames[top, 0], frames[top, 1], frames[top, 2], frames[top, 3] = low, high, below, in_bits
    state[FRAMES] = top + 1
    state[ROWS] = high


@jit(inline=True)
def tally_bins(
    column, rows, low, high, unit, row_label, weight, count, row_words, tally, touched, one, two, heavy, who, counts
):  # fmt: skip
    """Add up the rows of each bin of one feature; returns the number of bins that occur.

    row_label, row_words : of the rows low … high − 1, one after the other.   unit : every object weighs 1 and is one row.
    """
    seen = 0
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
            heavy[c] += weight[r]
            counts[c] += count[r]
    if unit:
        for k in range(seen):
            c = touched[k]
            heavy[c], counts[c] = tally[c], tally[c]
    return seen


@jit(inline=True)
def take_rows(codes, family, frame, child, rows, low):
    """Copy the rows of a pending child from its parent's to the top of the stack; feature −1 takes all."""
    f = child[1]
    for k in range(frame[0], frame[1]):
        r = rows[k]
        if f < 0 or goes(family[f], np.int64(codes[f, r]), child[2], child[3]):
            rows[low] = r
            low += 1


@jit(inline=True)
def enter_child(
    one, two, tally, counts, heavy, who, f, family, index, outcome, low, high, column, label, weight, rule, impurity, vector,
    summed, track, state, size, mass, start, slots, leaf_slots, pending, rows,
):  # fmt: skip
    """The node of one branch, entered and put on the pending stack when it is new; −1 for a leaf."""
    leaf = who != MIXED or few(counts, rule)
    if summed and not leaf:
        leaf = is_light_or_pure_enough(
            rows, low, high, column, family, index, outcome, label, weight, rule, impurity, vector
        )
    if leaf:
        if track:
            fresh = state[LEAVES]
            if find_or_enter(leaf_slots, one, two, fresh) == fresh:
                state[LEAVES] += 1
        return np.int64(-1)
    fresh = state[NODES]
    node = find_or_enter(slots, one, two, fresh)
    if node == fresh:
        size[node], mass[node] = tally, heavy
        start[node, 0], start[node, 1] = -1, -1
        top = state[PENDING]
        pending[top, 0], pending[top, 1], pending[top, 2], pending[top, 3] = node, f, index, outcome
        state[PENDING] = top + 1
        state[NODES] = node + 1
    return node


@jit(inline=True)
def list_bundles(
    f, family, first, price, even, low, high, column, label, weight, rule, impurity, vector,
    summed, track, seen, touched, tally, counts, one, two, heavy, who, after,
    state, size, mass, start, stream, slots, leaf_slots, pending, rows, at,
):  # fmt: skip
    """Write the bundles of one feature, whose bins were tallied; returns the end of the stream."""
    if family == MULTIWAY:
        stream[at] = first
        end, leaves = at + 3, 0
        for k in range(seen):
            c = touched[k]
            node = enter_child(
                one[c], two[c], tally[c], counts[c], heavy[c], who[c], f, family, 0, c, low, high, column, label, weight,
                rule, impurity, vector, summed, track, state, size, mass, start, slots, leaf_slots, pending, rows,
            )  # fmt: skip
            if node < 0:
                leaves += 1
            else:
                stream[end] = node
                end += 1
        stream[at + 1], stream[at + 2] = leaves, end - at - 3
        return end
    for k in range(1, seen):  # few bins: sort by insertion
        c, j = touched[k], k
        while j > 0 and touched[j - 1] > c:
            touched[j] = touched[j - 1]
            j -= 1
        touched[j] = c
    all_one, all_two, all_tally, all_counts, all_heavy = np.uint64(0), np.uint64(0), 0, 0, 0.0
    after[seen] = NOBODY
    for k in range(seen - 1, -1, -1):
        c = touched[k]
        all_one += one[c]
        all_two += two[c]
        all_tally += tally[c]
        all_counts += counts[c]
        all_heavy += heavy[c]
        after[k] = union(who[c], after[k + 1])
    in_one, in_two, in_tally, in_counts, in_heavy, in_who = np.uint64(0), np.uint64(0), 0, 0, 0.0, np.int64(NOBODY)
    last = seen - 1 if family == THRESHOLDS or seen == 2 else seen
    for k in range(last):
        c = touched[k]
        if family == THRESHOLDS:
            in_one += one[c]
            in_two += two[c]
            in_tally += tally[c]
            in_counts += counts[c]
            in_heavy += heavy[c]
            in_who = union(in_who, who[c])
            out_who = after[k + 1]
            index = c if even else cheapest(price, first, c, touched[k + 1])
        else:
            in_one, in_two, in_tally, in_counts, in_heavy = one[c], two[c], tally[c], counts[c], heavy[c]
            out_who = union(in_who, after[k + 1])
            in_who, before = who[c], union(in_who, who[c])
            index = c
            if seen == 2 and price[first + touched[1]] < price[first + c]:
                # both tests divide alike: ask the cheaper, whose outcomes are the other way round
                c = index = touched[1]
                in_one, in_two, in_tally, in_counts, in_heavy = one[c], two[c], tally[c], counts[c], heavy[c]
                in_who, out_who = who[c], who[touched[0]]
        a = enter_child(
            in_one, in_two, in_tally, in_counts, in_heavy, in_who, f, family, index, 0, low, high, column, label,
            weight, rule, impurity, vector, summed, track, state, size, mass, start, slots, leaf_slots, pending, rows,
        )  # fmt: skip
        b = enter_child(
            all_one - in_one, all_two - in_two, all_tally - in_tally, all_counts - in_counts, all_heavy - in_heavy,
            out_who, f, family, index, 1, low, high, column, label,
            weight, rule, impurity, vector, summed, track, state, size, mass, start, slots, leaf_slots, pending, rows,
        )  # fmt: skip
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
        if family == EQUALS:
            in_who = before
    return at
