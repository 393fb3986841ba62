"""Exact thresholds without sorting: bound what a cut inside a bin can score, look only where it may win.

At a node each column is counted into bins (see :mod:`arboretum.kernels.binning`).  Cuts between bins are scored from the
counts, cuts inside them are bounded (see :mod:`arboretum.kernels.vertex_bounds`); where the bound cannot beat the best cut found,
the bin is never sorted.  Usually a handful of bins per node remain; where most do, they are divided and bounded once more
(see :mod:`arboretum.kernels.fine_bins`).
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.binning import MISSING_BIN
from arboretum.kernels.coded import NAN_SCORE, NO_SIDE, NOTHING
from arboretum.kernels.vertex_bounds import BLOCK, score_edges
from arboretum.kernels.fine_bins import (
    BINS,
    WHOLE,
    choose_entries,
    count_entries,
    entry_of,
    fine_codes,
    lay_entries,
    search_entries,
)
from arboretum.kernels.jit import jit
from arboretum.kernels.function_pointers import make_node

CODING = 16
"""Placing all objects of a column within their bins costs as much as sorting one in so many."""


@jit
def best_bounded(
    w, c, codes, values, row_stride, column_stride, fine, is_fine, edges, rows, label, weight, count, unit, many, dropped,
    price, min_leaf, min_weight, gap, crowd, piece, batch, scalars, params, impurity, relative, floor,
):
    """The best threshold of a node over all raw columns; see the module.

    w : float64[columns × 256, classes], c : int64, the node's bins.   codes : uint8[n, columns].
    values : flat memory of float[n, columns].   rows : int32[m].   many : bool[columns, 256], see ``binning``.
    fine : uint16[columns, n], written for the columns that need it, which ``is_fine`` remembers.   unit : all objects are.
    crowd : rows in the bins in question, from which they are divided, in pieces of ``piece`` rows.
    dropped : bool[columns, 256], cuts between bins that are known not to be admissible here (neighbours too close).
    Returns (column, bin, low, high, side, score).  A cut inside a bin comes with its neighbouring values, one after a bin
    with NaN.  Ties go to the lowest column, then the lowest cut, then side 0.
    """  # fmt: skip
    node = make_node(scalars, params, impurity)
    n_classes = w.shape[1]
    n_columns = len(many)
    block = (
        np.empty((BLOCK, 2, n_classes)), np.empty((BLOCK, 2, n_classes), np.int64), np.empty((BLOCK, 2, 0)),
        np.empty(BLOCK), np.empty(BLOCK),
    )  # fmt: skip
    scores = np.full((n_columns, 2, BINS), -np.inf)
    bounds = np.full((n_columns, 2, BINS), -np.inf)
    highest = np.full(n_columns, -np.inf)
    lost = np.zeros(n_columns, np.int64)
    top = -np.inf
    all_w, all_c = np.zeros(n_classes), np.zeros(n_classes, np.int64)
    for b in range(BINS):  # every column has all objects, the missing ones in the last bin
        for k in range(n_classes):
            all_w[k] += w[b, k]
            all_c[k] += c[b, k]
    for f in range(n_columns):
        first, last = f * BINS, (f + 1) * BINS
        lost[f] = c[f * BINS + MISSING_BIN].sum()
        for s in range(2 if lost[f] > 0 else 1):
            side = s if lost[f] > 0 else NO_SIDE
            if not score_edges(
                w[first:last], c[first:last], all_w, all_c, many[f], min_leaf, min_weight, side, price[f], batch, node,
                block, scores[f, s], bounds[f, s],
            ):  # fmt: skip
                return f, 0, np.nan, np.nan, NAN_SCORE, np.nan
            for b in range(BINS):
                if dropped[f, b]:
                    scores[f, s, b] = -np.inf
                top = max(top, scores[f, s, b])
                highest[f] = max(highest[f], bounds[f, s, b])
    # look first where the bound is highest: what is found there spares other bins
    found_f, found_b, found_low, found_high, found_side, found = NOTHING, -1, np.nan, np.nan, NO_SIDE, -np.inf
    members = np.empty(len(rows) + 1, np.int32)
    keys = np.empty(len(rows), values.dtype)
    while True:
        f = np.argmax(highest)
        least = top - max(relative * abs(top), floor) if top > -np.inf else -np.inf
        if highest[f] == -np.inf or highest[f] < least:
            break
        highest[f] = -np.inf
        ok, b, low, high, side, score = search_column(
            w[f * BINS : (f + 1) * BINS], c[f * BINS : (f + 1) * BINS], all_w, all_c, codes, values, row_stride,
            column_stride, fine, is_fine, edges, rows, label, weight, count, unit, f, bounds[f], lost[f] > 0, top, least,
            price[f], min_leaf, min_weight, gap, crowd, piece, batch, node, block, keys, members, relative, floor,
        )  # fmt: skip
        if not ok:
            return f, b, low, high, NAN_SCORE, np.nan
        if b < 0:
            continue
        slack = max(relative * abs(score), floor)
        if found_f < 0 or score > found + slack or (score >= found - slack and f < found_f):
            found_f, found_b, found_low, found_high, found_side, found = f, b, low, high, side, score
        top = max(top, score)
    if top == -np.inf:
        return NOTHING, -1, np.nan, np.nan, NO_SIDE, -np.inf
    # among the cuts within the tolerance of the best, the lowest
    least = top - max(relative * abs(top), floor)
    for f in range(n_columns):
        inner = found_b if found_f == f and found >= least else BINS
        for b in range(BINS):
            if inner == b:
                return f, b, found_low, found_high, found_side, found
            for s in range(2):
                if scores[f, s, b] >= least:
                    return f, b, np.nan, np.nan, (s if lost[f] > 0 else NO_SIDE), scores[f, s, b]
    return NOTHING, -1, np.nan, np.nan, NO_SIDE, -np.inf


@jit
def search_column(
    w, c, all_w, all_c, codes, values, row_stride, column_stride, fine, is_fine, edges, rows, label, weight, count, unit, f,
    bounds, has_missing, top, least, price, min_leaf, min_weight, gap, crowd, piece, batch, node, block, keys, members,
    relative, floor,
):
    """Score every cut inside the bins of column f whose bound reaches ``least``.

    w, c : [256, classes], the column's bins.   bounds : float64[2, 256].   top : best admissible score so far.
    keys, members : scratch of the node's size.
    Returns (no NaN, bin, low, high, side, score) of the best; bin −1 if there is none.
    """  # fmt: skip
    wanted = np.empty(BINS, np.uint8)
    asked = np.int64(0)
    for b in range(BINS):
        bound = max(bounds[0, b], bounds[1, b])
        wanted[b] = 1 if bound >= least and bound > -np.inf else 0
        asked += c[b].sum() if wanted[b] else 0
    first, shift = np.arange(BINS + 1), np.full(BINS, WHOLE, np.uint8)
    column, step = np.uintp(f) * np.uintp(column_stride), np.uintp(row_stride)
    in_pieces = asked >= crowd and (is_fine[f] or CODING * asked >= len(codes))
    if in_pieces and not is_fine[f]:
        fine_codes(values, column, step, codes, f, edges[f], fine[f])
        is_fine[f] = True
    m = pick_members(codes, fine[f], is_fine[f], rows, f, wanted, members)
    if not in_pieces:
        return search_entries(
            w, c, all_w, all_c, codes, fine[f], first, shift, wanted, values, column, step, members, m, label, weight,
            count, f, has_missing, price, min_leaf, min_weight, gap, batch, node, block, keys, relative, floor,
        )  # fmt: skip
    n_classes = len(all_w)
    entries = lay_entries(c, wanted, piece, first, shift)
    some_w, some_c = np.zeros((entries, n_classes)), np.zeros((entries, n_classes), np.int64)
    many = np.empty(entries, np.bool_)
    count_entries(w, c, fine[f], members[:m], label, weight, count, unit, wanted, first, shift, some_w, some_c, many)
    scores, limits = np.full((2, entries), -np.inf), np.full((2, entries), -np.inf)
    for s in range(2 if has_missing else 1):
        side = s if has_missing else NO_SIDE
        if not score_edges(
            some_w, some_c, all_w, all_c, many, min_leaf, min_weight, side, price, batch, node, block, scores[s],
            limits[s],
        ):  # fmt: skip
            return False, 0, np.nan, np.nan, NAN_SCORE, np.nan
    chosen = np.empty(entries, np.uint8)
    # a cut between two pieces is as good as any if its neighbours are far enough apart, which is known after sorting
    hoped = max(top, scores.max())
    while True:
        now = max(least, hoped - max(relative * abs(hoped), floor)) if hoped > -np.inf else least
        choose_entries(some_c, scores, limits, many, now, chosen)
        n = np.uintp(0)
        for j in range(m):
            i = members[j]
            e = entry_of(i, f, codes, fine[f], first, shift)
            members[j], members[n] = members[n], i  # the others are kept behind them
            n += np.uintp(chosen[e])
        ok, b, low, high, side, score = search_entries(
            some_w, some_c, all_w, all_c, codes, fine[f], first, shift, chosen, values, column, step, members, np.int64(n),
            label, weight, count, f, has_missing, price, min_leaf, min_weight, gap, batch, node, block, keys, relative, floor,
        )  # fmt: skip
        if not ok or hoped <= top or (b >= 0 and score >= now):
            return ok, b, low, high, side, score
        hoped = max(top, score) if b >= 0 else top


@jit
def pick_members(codes, fine, is_fine, rows, f, wanted, members):
    """Write the rows whose bin is wanted to ``members``; return their number.

    Without a branch: which rows are wanted cannot be predicted.  The column's own array is read where there is one.
    """
    n, width, column = np.uintp(0), np.uintp(codes.shape[1]), np.uintp(f)
    flat = codes.reshape(codes.size)
    if is_fine:
        for j in range(len(rows)):
            i = rows[j]
            members[n] = i
            n += np.uintp(wanted[np.uintp(fine[np.uintp(i)]) >> np.uintp(8)])
    else:
        for j in range(len(rows)):
            i = rows[j]
            members[n] = i
            n += np.uintp(wanted[flat[np.uintp(i) * width + column]])
    return np.int64(n)


@jit
def edge_values(codes, values, row_stride, column_stride, rows, f, b):
    """The highest value of the node's objects in the bins up to b of column f, and the lowest above."""
    low, high = -np.inf, np.inf
    start = np.uintp(f) * np.uintp(column_stride)
    for j in range(len(rows)):
        i = rows[j]
        code = codes[i, f]
        v = np.float64(values[start + np.uintp(i) * np.uintp(row_stride)])
        if code <= b:
            low = max(low, v)
        elif code != MISSING_BIN:
            high = min(high, v)
    return low, high
