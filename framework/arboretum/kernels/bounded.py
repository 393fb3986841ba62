"""Exact thresholds without sorting: bound what a cut inside a bin can score, look only where it may win.

At a node each column is counted into bins (see :mod:`arboretum.kernels.binning`).  Cuts between bins are scored from the
counts, cuts inside them are bounded (see :mod:`arboretum.kernels.vertex_bounds`); where the bound cannot beat the best cut found,
the bin is never sorted.  Usually a handful of bins per node remain; where most do, they are divided and bounded once more
(see :mod:`arboretum.kernels.fine_bins`).
"""

import numpy as np

from arboretum.kernels.binning import LAST_BIN, MISSING_BIN
from arboretum.kernels.fine_bins import (
    BINS, WHOLE, Entries, Found, choose_entries, count_entries, entry_of, fine_codes, lay_entries, search_entries,
)  # fmt: skip
from arboretum.kernels.jit import jit
from arboretum.kernels.tables import NO_SIDE, NOTHING, ask_of, enough_rows, equal_from, heavy_enough, score_block, slack
from arboretum.kernels.vertex_bounds import Whole, new_block, score_edges

CODING = 16  # placing all objects of a column within their bins costs as much as sorting one in so many


@jit
def best_bounded(w, c, raw, rows, objects, dropped, price, rules, scorer):
    """The best threshold of a node over all raw columns; see the module.

    w : float64[columns × 256, classes], c : int64, the node's bins.   rows : int32[m].   price : float64[columns], ∞ where it cannot be paid.
    dropped : bool[columns, 256], cuts between bins that are known not to be admissible here (neighbours too close).
    Returns its column, or NOTHING, and :class:`Found`.  Ties go to the lowest column, then the lowest cut, then side 0.  The cut after the
    last bin, side 1, is that between known and missing values.
    """
    ask = ask_of(scorer)
    n_columns, n_classes = len(price), w.shape[1]
    block = new_block(n_classes)
    scores, bounds = np.full((n_columns, 2, BINS), -np.inf), np.full((n_columns, 2, BINS), -np.inf)
    highest, lost = np.full(n_columns, -np.inf), np.zeros(n_columns, np.int64)
    top = -np.inf
    all_w, all_c = np.zeros(n_classes), np.zeros(n_classes, np.int64)
    whole = Whole(all_w, all_c)
    for b in range(BINS):  # every column has all objects, the missing ones in the last bin
        for k in range(n_classes):
            all_w[k] += w[b, k]
            all_c[k] += c[b, k]
    for f in range(n_columns):
        if price[f] == np.inf:
            continue
        first, last = f * BINS, (f + 1) * BINS
        lost[f] = c[f * BINS + MISSING_BIN].sum()
        block.price[:] = price[f]
        for s in range(2 if lost[f] > 0 else 1):
            side = s if lost[f] > 0 else NO_SIDE
            if not score_edges(w[first:last], c[first:last], whole, raw.many[f], rules.least, side, ask, block, scores[f, s], bounds[f, s]):
                return f, Found(np.int64(0), np.nan, np.nan, np.int64(NO_SIDE), np.nan)
            for b in range(BINS):
                if dropped[f, b]:
                    scores[f, s, b] = -np.inf
                top = max(top, scores[f, s, b])
                highest[f] = max(highest[f], bounds[f, s, b])
        if lost[f] > 0 and not score_known(w[first:last], c[first:last], whole, rules.least, ask, block, scores[f, 1]):
            return f, Found(np.int64(LAST_BIN), np.nan, np.nan, np.int64(1), np.nan)
        top = max(top, scores[f, 1, LAST_BIN])
    # look first where the bound is highest: what is found there spares other bins
    found_f, found = np.int64(NOTHING), Found(np.int64(-1), np.nan, np.nan, np.int64(NO_SIDE), -np.inf)
    scratch = (np.empty(len(rows), raw.values.dtype), np.empty(len(rows) + 1, np.int32))
    while True:
        f = np.argmax(highest)
        if highest[f] == -np.inf or highest[f] < equal_from(top, ask.ties):
            break
        highest[f] = -np.inf
        block.price[:] = price[f]
        first, last = f * BINS, (f + 1) * BINS
        inner = search_column(w[first:last], c[first:last], whole, raw, f, rows, objects, (bounds[f], top), rules, ask, block, scratch)
        if inner.score != inner.score:
            return f, inner
        if inner.bin < 0:
            continue
        near = slack(inner.score, ask.ties)
        if found_f < 0 or inner.score > found.score + near or (inner.score >= found.score - near and f < found_f):
            found_f, found = f, inner
        top = max(top, inner.score)
    # among the cuts within the tolerance of the best, the lowest
    least = equal_from(top, ask.ties)
    for f in range(n_columns if top > -np.inf else 0):
        inner_bin = found.bin if found_f == f and found.score >= least else BINS
        for b in range(BINS):
            if inner_bin == b:
                return f, found
            for s in range(2):
                if scores[f, s, b] >= least:
                    side = np.int64(s if lost[f] > 0 else NO_SIDE)
                    return f, Found(np.int64(b), np.nan, np.nan, side, scores[f, s, b])
    return np.int64(NOTHING), found


@jit(inner=True)
def score_known(w, c, whole, least, ask, block, scores):
    """Score the cut between known and missing values, if it is allowed; False if the score is NaN."""
    (all_w, all_c), lost = whole, c[MISSING_BIN].sum()
    for k in range(len(all_c)):
        block.counts[0, 0, k], block.counts[0, 1, k] = all_c[k] - c[MISSING_BIN, k], c[MISSING_BIN, k]
        known = all_w[k] - w[MISSING_BIN, k]
        block.weights[0, 0, k], block.weights[0, 1, k] = known if block.counts[0, 0, k] > 0 else 0.0, w[MISSING_BIN, k]
    total = all_c.sum()
    if enough_rows(total - lost, total, least) and heavy_enough(block.weights[0], False, least):
        score_block(1, block.weights, block.counts, block.price, block.extra, ask, block.scores)
        scores[LAST_BIN] = block.scores[0]
    return scores[LAST_BIN] == scores[LAST_BIN]


@jit(inner=True)
def search_column(w, c, whole, raw, f, rows, objects, known, rules, ask, block, scratch):
    """Score every cut inside the bins of column f that may beat what is known; return the best.

    w, c : [256, classes], the column's bins.   known : float64[2, 256], the bounds of its bins, and the best score so far.
    scratch : keys and members, of the node's size.
    """
    bounds, top = known
    keys, members = scratch
    least = equal_from(top, ask.ties)
    wanted = np.empty(BINS, np.uint8)
    asked = np.int64(0)
    for b in range(BINS):
        bound = max(bounds[0, b], bounds[1, b])
        wanted[b] = 1 if bound >= least and bound > -np.inf else 0
        asked += c[b].sum() if wanted[b] else 0
    in_pieces = asked >= rules.crowd and (raw.is_fine[f] or CODING * asked >= len(raw.codes))
    if in_pieces and not raw.is_fine[f]:
        start, step = np.uintp(f) * np.uintp(raw.column_stride), np.uintp(raw.row_stride)
        fine_codes(raw.values, start, step, raw.codes, f, raw.edges[f], raw.fine[f])
        raw.is_fine[f] = True
    m = pick_members(raw, f, rows, wanted, members)
    first, shift = np.arange(BINS + 1), np.full(BINS, WHOLE, np.uint8)
    if not in_pieces:
        entries = Entries(w, c, first, shift, wanted)
        return search_entries(entries, raw, f, members[:m], objects, whole, rules, ask, block, keys)
    n, n_classes = lay_entries(c, wanted, rules.piece, first, shift), w.shape[1]
    chosen, codes, fine = np.empty(n, np.uint8), raw.codes, raw.fine[f]
    entries = Entries(np.zeros((n, n_classes)), np.zeros((n, n_classes), np.int64), first, shift, chosen)
    many = np.empty(n, np.bool_)
    count_entries(w, c, fine, members[:m], objects, wanted, entries, many)
    scores, limits = np.full((2, n), -np.inf), np.full((2, n), -np.inf)
    has_missing = c[MISSING_BIN].sum() > 0
    for s in range(2 if has_missing else 1):
        side = s if has_missing else NO_SIDE
        if not score_edges(entries.w, entries.c, whole, many, rules.least, side, ask, block, scores[s], limits[s]):
            return Found(np.int64(0), np.nan, np.nan, np.int64(NO_SIDE), np.nan)
    # a cut between two pieces is as good as any if its neighbours are far enough apart, which is known after sorting
    hoped = max(top, scores.max())
    while True:
        now = max(least, equal_from(hoped, ask.ties))
        choose_entries(entries, scores, limits, many, now)
        kept = np.uintp(0)
        for j in range(m):
            i = members[j]
            e = entry_of(i, f, codes, fine, first, shift)
            members[j], members[kept] = members[kept], i  # the others are kept behind them
            kept += np.uintp(chosen[e])
        found = search_entries(entries, raw, f, members[: np.int64(kept)], objects, whole, rules, ask, block, keys)
        if not found.score < now or hoped <= top:
            return found
        hoped = max(top, found.score)


@jit(inner=True)
def pick_members(raw, f, rows, wanted, members):
    """Write the rows whose bin is wanted to ``members``; return their number.

    Without a branch: which rows are wanted cannot be predicted.  The column's own array is read where there is one.
    """
    n, width, column = np.uintp(0), np.uintp(raw.codes.shape[1]), np.uintp(f)
    flat, fine = raw.codes.reshape(raw.codes.size), raw.fine[f]
    if raw.is_fine[f]:
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
def edge_values(raw, rows, f, b):
    """The highest value of the node's objects in the bins up to b of column f, and the lowest above."""
    low, high = -np.inf, np.inf
    start, step = np.uintp(f) * np.uintp(raw.column_stride), np.uintp(raw.row_stride)
    codes, values = raw.codes, raw.values
    for j in range(len(rows)):
        code, v = codes[rows[j], f], np.float64(values[start + np.uintp(rows[j]) * step])
        if code <= b:
            low = max(low, v)
        elif code != MISSING_BIN:
            high = min(high, v)
    return low, high
