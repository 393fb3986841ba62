"""Rows of a sparse search: the root's, in groups by class and power of two of their weights, and
those of children (numba kernels).

With s the set of rows of level d, g a group, and the child (side, i) as level d + 1::

    enter_child(d, i, side):
        for every group g: append its rows that have the literal, from a new word on
                                                                          (append_rows_with_feature)
        totals[k] = n_k(i) or n_k(s) − n_k(i);  ``full`` and ``starts`` follow
        valid[f] = f is alive, and both cells with and without f save enough for a leaf     (B.6)
    assign_lanes:
        if the valid features take as wide a stride as before: the others stay, and are not alive
        else move the valid ones to the first lanes of every row
    pack_words_of_node:
        words[w · stride + f] from the rows;  counts[k, f] = n_k(f)          (sum_feature_weights)

Invariants:

- Row r has its features in ``rows[part · positions + r]`` and its random words in ``sums[r]`` and
  ``sums[positions + r]``.  Every group begins with a word; what fills up its last word is 0 in all
  of them, and in ``full``.
- ``lane[c]`` is the lane on the level above of what is in lane c here (of the root: its own lane
  before ``assign_lanes``).
- ``words`` and ``counts`` of a child are there only after ``pack_words_of_node``, which
  ``bound_by_features`` calls unless the child must be a leaf.

Where nothing else is said, arguments are those of :mod:`.node`: data is a Data, only read; levels
and scratch are SparseLevels and SparseScratch, written; d is the level of a node, i and f are lanes
of its features, and side is 1 or 0.
"""

import numpy as np

from arboretum.kernels.jit import inner, jit
from arboretum_gosdt.sparse.node import (
    PART,
    evaluate_cells_of_child,
    set_mass_and_least_saving,
    words_of_level,
)
from arboretum_gosdt.sparse.pair_counts import (
    Rows,
    append_rows_with_feature,
    has_prices,
    pack_rows_into_word,
    sum_feature_weights,
    unpack_word_into_rows,
)

BITS = 63
"""Bits of a weight."""


def stack_planes(
    weights: np.ndarray, mass: np.ndarray | None, total: int
) -> tuple[np.ndarray, int, int]:
    """Stack what is counted of rows: the classes' weights, what every label loses, and mass, where
    there is any.

    weights : int64[rows, classes], what a label saves.
    mass : int64[rows], what the rows pay prices for; None: tests cost nothing.
    total : sum of what the best label of each row saves.
    Returns (planes int64[rows, n], summed, own): ``summed`` planes come before mass, and own is 1
    if the mass plane holds only mass − best weight (all of these must be ≥ 0), else 0.  Planes of
    zeros only are left out, but for the classes.
    """
    if mass is None and total == weights.sum():
        return weights, weights.shape[1], 0
    most = weights.max(axis=1)
    equivalent_loss = weights.sum(axis=1) - most
    rest = np.zeros_like(most) if mass is None else mass - most
    own = int(mass is not None and (rest >= 0).all())
    rest = rest if own or mass is None else mass
    more = [one for one in (equivalent_loss, rest) if one.any()]
    return np.column_stack([weights, *more]), weights.shape[1] + int(equivalent_loss.any()), own


@jit(borrow=True)
def sum_planes(planes, totals, shared):
    """Add each plane's sum to its total, and find what its weights have in common; returns the sum
    of the greatest weights of all rows.

    planes : int64[rows, planes], ≥ 0.
    totals, shared : int64[planes], zeros, written.
    """
    best = np.int64(0)
    for r in range(planes.shape[0]):
        most = np.int64(0)
        for k in range(planes.shape[1]):
            weight = planes[r, k]
            totals[k] += weight
            most = max(most, weight)
            while weight != 0 and shared[k] != 1:
                shared[k], weight = weight, shared[k] % weight
        best += most
    return best


@jit(borrow=True)
def count_rows_of_groups(planes, sizes):
    """Count, of each plane and power of two, the rows whose weight has it.

    planes : int64[rows, planes].
    sizes : out, int64[planes, BITS].

    Weights are ≥ 0 and divided by what the weights of their plane have in common; sizes are added
    to, so they come in as zeros.
    """
    for r in range(planes.shape[0]):
        for k in range(planes.shape[1]):
            left, power = planes[r, k], 0
            while left != 0:
                sizes[k, power] += left & 1
                left >>= 1
                power += 1


@jit(borrow=True, wraps=True)
def write_root_rows(bits, planes, next_row, word_bits, random, level, virtual):
    """Write rows, their random words and their bits of ``full`` into the root's level, group by
    group.

    bits : uint32[rows, parts].
    planes : int64[rows, planes], the weights, each plane divided by its common divisor.
    next_row : int64[planes, BITS, 2], written: the place of a group's next row in ``virtual``, and
        in the level, where each group begins with a word.
    random : uint64[·, 2].
    level : rows, sums and full, written, as in ``SparseLevels``.
    virtual : out, the row that each of them is.
    """
    rows, sums, full = level
    parts, positions = bits.shape[1], sums.shape[0] // 2
    rows[:], sums[:], full[:] = 0, 0, 0
    for r in range(planes.shape[0]):
        for k in range(planes.shape[1]):
            left, power = planes[r, k], 0
            while left != 0:
                if left & 1:
                    found, at = next_row[k, power, 0], next_row[k, power, 1]
                    next_row[k, power, 0], next_row[k, power, 1] = found + 1, at + 1
                    for part in range(parts):
                        rows[part * positions + at] = bits[r, part]
                    sums[at], sums[positions + at] = random[found, 0], random[found, 1]
                    full[at // word_bits] |= np.int64(1) << at % word_bits
                    virtual[found] = r
                left >>= 1
                power += 1


@inner(wraps=True)
def begin_root(data, levels, scratch):
    """Write the root's fingerprint, and its features that leave both sides enough to save;
    everything else is there.

    levels : row 0 has ``rows``, ``sums``, ``full``, ``starts``, ``totals`` and ``features``; its
        words, counts, lanes and fingerprint are written.
    scratch : ``two`` and ``least`` are overwritten.
    """
    set_mass_and_least_saving(data, levels, scratch, 0)
    node, counts, valid, kept = levels.node[0], levels.counts[0], scratch.two, 0
    positions, stride, support = data.numbers.positions, node.stride, node.saving
    for r in range(levels.starts[0, data.factors.shape[0]] * data.numbers.word_bits):
        levels.node_key[0, 0] += levels.sums[0, r]
        levels.node_key[0, 1] += levels.sums[0, positions + r]
    pack_words_of_node(data, levels, 0)
    for f in range(node.n_features):
        most_with, most_without = np.int64(0), np.int64(0)
        for k in range(data.numbers.classes):
            x = np.int64(counts[k * stride + f])
            most_with = max(most_with, x)
            most_without = max(most_without, np.int64(levels.totals[0, k]) - x)
        valid[f] = most_with >= support and most_without >= support
        kept += np.int64(valid[f])
    assign_lanes(data, levels, scratch, 0, 0, valid, kept)


@inner
def enter_child(data, levels, scratch, d, i, side):
    """Write rows, totals and features of child (side, i) of level d into level d + 1.

    Features that leave a side of the child too little to save, or too little mass, for a leaf stay
    out, here and below.

    i : a lane of level d.  Level d + 1 is overwritten but for its words and counts
        (``pack_words_of_node``), and for the search's own fields of its node (``push_child``); so
        are ``scratch.cells`` and ``scratch.row``.
    """
    numbers, stride = data.numbers, levels.node[d].stride
    bits = numbers.word_bits
    at, words = np.int64(0), words_of_level(data, levels, d)
    old_rows = Rows(levels.rows[d], levels.sums[d])
    new_rows = Rows(levels.rows[d + 1], levels.sums[d + 1])
    for g in range(data.factors.shape[0]):
        first = at // bits
        levels.starts[d + 1, g] = first
        end = append_rows_with_feature(
            words,
            i,
            1 - side,
            levels.full[d],
            g,
            stride // PART,
            numbers.positions,
            old_rows,
            at,
            new_rows,
        )
        while at < end:
            left = end - at
            levels.full[d + 1, at // bits] = np.int64((1 << left) - 1 if left < bits else -1)
            at += bits
    levels.starts[d + 1, data.factors.shape[0]] = at // bits
    child, weight = levels.node[d + 1], np.int64(0)
    for k in range(numbers.planes):
        of_i = np.int64(levels.counts[d, k * stride + i])
        total = of_i if side == 1 else np.int64(levels.totals[d, k]) - of_i
        levels.totals[d + 1, k] = total
        weight += total if k < numbers.classes else -total if k < numbers.summed else 0
    child.weight = weight
    evaluate_cells_of_child(data, levels, scratch, d, i, side)
    # the first mask of ``fill_losses_of_cells``: both cells save enough for a leaf
    valid, alive, kept = scratch.cells[4 * stride : 5 * stride], levels.alive[d], 0
    for f in range(levels.node[d].n_features):
        valid[f] &= alive[f]
        if has_prices(data.price):
            valid[f] &= min(scratch.gone[f], scratch.gone[stride + f]) >= numbers.least
        kept += np.int64(valid[f])
    assign_lanes(data, levels, scratch, d + 1, d, valid, kept)


@inner
def assign_lanes(data, levels, scratch, d, above, valid, kept):
    """Assign lanes of level d to the ``kept`` features of the level above (or itself) that are
    valid.

    Only where that saves a vector are lanes moved; else features that are out keep theirs and are
    not alive.

    above : the level whose lanes the features have: d − 1, or d for the root.
    valid : a lane each, not 0 where the feature stays; kept : how many these are.
    Writes ``lane``, ``features`` and ``alive`` of level d, its stride and number of features, and
    moves the bits of its rows.
    """
    wide, n = levels.node[above].stride, levels.node[above].n_features
    lane, features, alive = levels.lane[d], levels.features[d], levels.alive[d]
    stride = max(kept + PART - 1, PART) // PART * PART
    levels.node[d].stride, levels.node[d].n_features = stride, kept
    if stride == wide:
        levels.node[d].n_features = n
        for f in range(n):
            lane[f], features[f], alive[f] = f, levels.features[above, f], valid[f]
        return
    c = 0
    for f in range(n):
        if valid[f] != 0:
            lane[c], features[c], alive[c] = f, levels.features[above, f], 1
            c += 1
    positions, bits, words = data.numbers.positions, data.numbers.word_bits, levels.words[d]
    for w in range(levels.starts[d, data.factors.shape[0]]):
        pack_rows_into_word(scratch.row, 0, wide // PART, positions, levels.rows[d], w * bits)
        for f in range(kept):
            words[f] = scratch.row[lane[f]]
        for f in range(kept, stride):
            words[f] = 0
        unpack_word_into_rows(words, 0, stride // PART, positions, levels.rows[d], w * bits)


@inner
def pack_words_of_node(data, levels, d):
    """Write the words of level d for its rows and features, and what each class weighs with a
    feature.

    Rows, groups and stride of level d must be there.
    """
    stride, bits = levels.node[d].stride, data.numbers.word_bits
    for w in range(levels.starts[d, data.factors.shape[0]]):
        pack_rows_into_word(
            levels.words[d],
            w * stride,
            stride // PART,
            data.numbers.positions,
            levels.rows[d],
            w * bits,
        )
    sum_feature_weights(words_of_level(data, levels, d), levels.counts[d])
