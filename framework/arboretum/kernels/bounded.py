"""Exact thresholds without sorting: bound what a cut inside a bin can score, look only where it may
win.

At a node each column is counted into bins (see :mod:`arboretum.kernels.binning`).  Cuts between
bins are scored from the counts, cuts inside them are bounded (see
:mod:`arboretum.kernels.vertex_bounds`); where the bound cannot beat the best cut found, the bin is
never sorted::

    for each column f that can be paid, and each side s of its missing rows:
        scores[f, s, b] ← score of the cut after bin b
        bounds[f, s, b] ← the highest score that a cut inside bin b may have
    top ← the highest of the scores
    if bins with a bound that reaches top hold too many rows: return CROWDED
    while a column not yet searched has a bound that reaches top, the highest one first:
        sort the objects in its bins whose bound reaches top; score each cut inside (search_column)
        top ← max(top, the best of these)
    return the lowest column, and there the lowest cut, that equals top within ties

Usually a handful of bins per node remain; where most do, sorting whole columns is as fast, and left
to the caller.

Invariants:

- Bin b of column f is row 256 f + b of w and c; the row of MISSING_BIN counts missing values.  Each
  column has all objects of the node.
- Bins only say where to look: thresholds come from the values of the node's objects.
- scores is −∞ where a cut is not allowed, bounds where there is nothing to cut, and both of side 1
  where no row lacks a value.
- top never falls, so that a bin that was ruled out stays so.
- In search_column, left is the sum of the objects with a value up to the one at hand: whole bins
  that are not wanted, objects one by one in the others.
- The block has room for two tables when an object is looked at: it is scored before that.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from arboretum.kernels.binning import LAST_BIN, MISSING_BIN
from arboretum.kernels.jit import jit
from arboretum.kernels.presort import sorted_rows
from arboretum.kernels.tables import (
    BLOCK,
    NO_SIDE,
    NOTHING,
    Least,
    bar_of,
    enough_rows,
    enough_weight,
    equal_from,
    score_block,
    scoring_of,
    slack,
)
from arboretum.kernels.vertex_bounds import Whole, new_block, score_edges

BINS = 256
CROWDED = -2  # in place of a column: too many rows lie in bins that may win

Raw = namedtuple("Raw", "codes values bits row_stride column_stride edges many")
"""The raw columns.

codes : uint8[n, columns], bins.
values : flat memory of float[n, columns], strides in elements; bits : the same as integers.
edges : float[columns, 256], many : bool[columns, 256], see ``binning``.
"""


class BoundedRules(NamedTuple):
    """gap : neighbours not further apart are not separated.

    crowd : share of the rows, over all columns, in the bins in question, from which on the node is
        CROWDED.
    """

    least: Least
    gap: np.floating
    crowd: float


class Found(NamedTuple):
    """A cut of a column between the values low and high, in or (NaN) after a bin, −1 for none; its
    score, NaN where the criterion returned it.
    """

    bin: int
    low: float
    high: float
    side: int
    score: float


@jit
def best_bounded(w, c, raw, rows, objects, dropped, price, rules, scorer):
    """Return the best threshold of a node over all raw columns: its column, or NOTHING, or CROWDED,
    and :class:`Found`; see the module.

    w : float64[columns × 256, classes], c : int64, the node's bins.
    rows : int32[m].
    objects : :class:`arboretum.kernels.tables.Objects`, with classes.
    dropped : bool[columns, 256], cuts between bins that are known not to be admissible here
        (neighbours too close).
    price : float64[columns], ∞ where it cannot be paid.

    Ties go to the lowest column, then the lowest cut, then side 0.  The cut after the last bin,
    side 1, is that between known and missing values.
    """
    scoring = scoring_of(scorer)
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
            if not score_edges(
                w[first:last],
                c[first:last],
                whole,
                raw.many[f],
                rules.least,
                side,
                scoring,
                block,
                scores[f, s],
                bounds[f, s],
            ):
                return f, Found(np.int64(0), np.nan, np.nan, np.int64(NO_SIDE), np.nan)
            for b in range(BINS):
                if dropped[f, b]:
                    scores[f, s, b] = -np.inf
                top = max(top, scores[f, s, b])
                highest[f] = max(highest[f], bounds[f, s, b])
        if lost[f] > 0 and not score_known(
            w[first:last], c[first:last], whole, rules.least, scoring, block, scores[f, 1]
        ):
            return f, Found(np.int64(LAST_BIN), np.nan, np.nan, np.int64(1), np.nan)
        top = max(top, scores[f, 1, LAST_BIN])
    # look first where the bound is highest: what is found there spares other bins
    found_f = np.int64(NOTHING)
    found = Found(np.int64(-1), np.nan, np.nan, np.int64(NO_SIDE), -np.inf)
    asked = np.int64(0)
    for f in range(n_columns):
        for b in range(
            BINS if highest[f] >= equal_from(top, scoring.ties) and highest[f] > -np.inf else 0
        ):
            asked += (
                c[f * BINS + b].sum()
                if max(bounds[f, 0, b], bounds[f, 1, b]) >= equal_from(top, scoring.ties)
                else 0
            )
    if asked > 0 and asked >= rules.crowd * n_columns * all_c.sum():
        return np.int64(CROWDED), found
    m = len(rows)
    scratch = (
        np.empty(m, raw.values.dtype),
        np.empty(m, raw.bits.dtype),
        np.empty(m + 1, np.int32),
    )
    while True:
        f = np.argmax(highest)
        if highest[f] == -np.inf or highest[f] < equal_from(top, scoring.ties):
            break
        highest[f] = -np.inf
        block.price[:] = price[f]
        first, last = f * BINS, (f + 1) * BINS
        inner = search_column(
            w[first:last],
            c[first:last],
            whole,
            raw,
            f,
            rows,
            objects,
            (bounds[f], top),
            rules,
            scoring,
            block,
            scratch,
        )
        if inner.score != inner.score:
            return f, inner
        if inner.bin < 0:
            continue
        near = slack(inner.score, scoring.ties)
        if (
            found_f < 0
            or inner.score > found.score + near
            or (inner.score >= found.score - near and f < found_f)
        ):
            found_f, found = f, inner
        top = max(top, inner.score)
    # among the cuts within the tolerance of the best, the lowest
    least = equal_from(top, scoring.ties)
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
def score_known(w, c, whole, least, scoring, block, scores):
    """Score the cut between known and missing values, if it is allowed; False if the score is NaN.

    w : float64[256, classes], c : int64[256, classes], the column's bins.
    scores : float64[256], those of side 1; written at LAST_BIN.
    """
    (all_w, all_c), missing_w, missing_c = whole, w[MISSING_BIN], c[MISSING_BIN]
    for k in range(len(all_c)):
        block.counts[0, 0, k], block.counts[0, 1, k] = all_c[k] - missing_c[k], missing_c[k]
        known = all_w[k] - missing_w[k] if all_c[k] > missing_c[k] else 0.0
        block.weights[0, 0, k], block.weights[0, 1, k] = known, missing_w[k]
    total, lost = all_c.sum(), missing_c.sum()
    if enough_rows(total - lost, total, least) and enough_weight(block.weights[0], False, least):
        score_block(1, block.weights, block.counts, block.price, block.extra, scoring, block.scores)
        scores[LAST_BIN] = block.scores[0]
    return not np.isnan(scores[LAST_BIN])


@jit(inner=True)
def search_column(w, c, whole, raw, f, rows, objects, known, rules, scoring, block, scratch):
    """Sort the objects in the bins of column f that may hold a better cut than what is known, and
    score every cut inside; return the best.

    w, c : [256, classes], the column's bins.
    whole : the node's table.
    rows : int32[m], the node's objects.
    known : float64[2, 256], the bounds of its bins by side of missing rows, and the best score so
        far.
    scratch : values, these as integers, and members, of the node's size.
    """
    bounds, top = known
    found, bits, members = scratch
    least = equal_from(top, scoring.ties)
    wanted = np.empty(BINS, np.uint8)
    for b in range(BINS):
        bound = max(bounds[0, b], bounds[1, b])
        wanted[b] = 1 if bound >= least and bound > -np.inf else 0
    m = pick_members(raw.codes, f, rows, wanted, members)
    label, _, weight, count, unit = objects
    all_w, all_c = whole
    weights = block.weights
    counts = block.counts
    low = block.low
    high = block.high
    place = block.place
    rows_least, gap = rules.least, rules.gap
    start, step = np.uintp(f) * np.uintp(raw.column_stride), np.uintp(raw.row_stride)
    for j in range(m):
        at = start + np.uintp(members[j]) * step
        found[j], bits[j] = raw.values[at], raw.bits[at]
    order = sorted_rows(found[:m], bits[:m])
    keys, members, edges = found[order], members[order], raw.edges[f]
    total, lost = all_c.sum(), c[MISSING_BIN].sum()
    left_w, left_c = np.zeros(w.shape[1]), np.zeros(w.shape[1], np.int64)
    left, j, n = np.int64(0), 0, 0
    best = Found(np.int64(-1), np.nan, np.nan, np.int64(NO_SIDE), -np.inf)
    for b in range(MISSING_BIN):
        if not wanted[b]:
            for k in range(w.shape[1]):
                left_w[k] += w[b, k]
                left_c[k] += c[b, k]
                left += c[b, k]
            continue
        while j < m and keys[j] <= edges[b]:
            i = members[j]
            here = np.int64(1) if unit else count[i]
            left_w[label[i]] += 1.0 if unit else weight[i]
            left_c[label[i]] += here
            left += here
            if j + 1 < m and keys[j + 1] <= edges[b] and keys[j + 1] > keys[j] + gap:
                for s in range(2 if lost > 0 else 1):
                    if enough_rows(left + (lost if s == 0 else 0), total, rows_least):
                        put_table(
                            n,
                            weights,
                            counts,
                            left_w,
                            left_c,
                            w,
                            c,
                            MISSING_BIN if s == 0 else -1,
                            all_w,
                            all_c,
                        )
                        if rows_least.weight <= 0.0 or enough_weight(weights[n], False, rows_least):
                            low[n], high[n], place[n] = keys[j], keys[j + 1], 2 * np.int64(b) + s
                            n += 1
            j += 1
            if n > BLOCK - 2:
                best, n = score_and_keep_best(n, block, scoring, lost > 0, best), 0
    return score_and_keep_best(n, block, scoring, lost > 0, best)


@jit(inner=True)
def pick_members(codes, f, rows, wanted, members):
    """Write the rows whose bin is wanted to ``members``; return their number.

    codes : uint8[n, columns], bins.
    wanted : uint8[256], 1 or 0.
    members : int32[≥ len(rows)]; what lies behind that number is stale.

    Without a branch, since which rows are wanted cannot be predicted.
    """
    n, width, column = np.uintp(0), np.uintp(codes.shape[1]), np.uintp(f)
    flat = codes.reshape(codes.size)
    for j in range(len(rows)):
        i = rows[j]
        members[n] = i
        n += np.uintp(wanted[flat[np.uintp(i) * width + column]])
    return np.int64(n)


@jit
def edge_values(raw, rows, f, b):
    """Return the highest value of the node's objects in the bins up to b of column f, and the
    lowest above; −∞ and ∞ where there is none.
    """
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


@jit(inline=True)
def put_table(t, weights, counts, left_w, left_c, w, c, missing, all_w, all_c):
    """Write two-outcome table t: left, with the bin ``missing`` if there is one, and the rest (0
    where no row is left).

    left_w, left_c : of the rows left of the cut; all_w, all_c : of the node.
    w, c : the column's bins.
    missing : a bin; −1: missing rows go right.
    """
    for k in range(len(left_w)):
        here, rows = left_w[k], left_c[k]
        if missing >= 0:
            here, rows = here + w[missing, k], rows + c[missing, k]
        rest = all_c[k] - rows
        weights[t, 0, k], counts[t, 0, k] = here, rows
        weights[t, 1, k], counts[t, 1, k] = all_w[k] - here if rest > 0 else 0.0, rest


@jit(inner=True)
def score_and_keep_best(n, block, scoring, has_missing, best):
    """Score the first n tables of the block; return the better of their best and ``best``: the
    first of equals.

    has_missing : some rows lack a value, so that a cut has a side for them.
    """
    score_block(n, block.weights, block.counts, block.price, block.extra, scoring, block.scores)
    scores, ties, at, top = block.scores, scoring.ties, -1, best.score
    bar = bar_of(top, ties)
    for t in range(n):
        if top == top and not scores[t] <= bar:
            at, top = t, scores[t]
            bar = bar_of(top, ties)
    if at < 0:
        return best
    side = block.place[at] % 2 if has_missing else np.int64(NO_SIDE)
    return Found(block.place[at] // 2, block.low[at], block.high[at], side, top)
