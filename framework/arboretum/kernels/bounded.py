"""Exact thresholds without sorting: bound what a cut inside a bin can score, look only where it may win.

At a node each column is counted into bins (see :mod:`arboretum.kernels.binning`).  Cuts between bins are scored from the
counts.  A cut inside bin b leaves some of the bin's objects left: its class weights lie in the box between those before
the bin and those after it.  For a criterion that is quasi-convex in the class weights of an outcome (impurity reduction
with a concave impurity, gain ratio) the highest score over the box is at one of its corners; if that cannot beat the best
cut found, the bin is never sorted.  Usually a handful of bins per node remain.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.binning import MISSING_BIN
from arboretum.kernels.coded import NAN_SCORE, NO_SIDE, NOTHING
from arboretum.kernels.jit import jit
from arboretum.kernels.pointers import batch_at, make_node

BLOCK = 128
"""Tables per call of the criterion."""

BINS = 256
BIG = np.int64(1) << 60
"""Marks bins that may be cut inside."""

MOST_CORNERS = 6
"""Bins with more classes than this are not bounded by their corners (2⁶ of them), but searched."""


@jit(inline=True)
def put_corner(t, weights, counts, left_w, left_c, all_w, all_c, w, c, b, bit, mask):
    """Write a two-outcome table: left and the classes of bin b that ``mask`` picks, against the rest.

    bit : int64[classes], the class's place in ``mask``; 63 for a class that the bin has not.   One loop: with two classes
    loops cost more than what they do.
    """
    for k in range(len(left_w)):
        inside = mask >> bit[k] & 1
        count = left_c[k] + inside * c[b, k]
        weight = left_w[k] + (w[b, k] if inside else 0.0)
        rest = all_c[k] - count
        weights[t, 0, k], counts[t, 0, k] = weight, count
        weights[t, 1, k], counts[t, 1, k] = all_w[k] - weight if rest > 0 else 0.0, rest


@jit(inline=True)
def put_table(t, weights, counts, left_w, left_c, all_w, all_c):
    """Write a two-outcome table: left, and all − left (0 where no row is left)."""
    for k in range(len(left_w)):
        weights[t, 0, k] = left_w[k]
        counts[t, 0, k] = left_c[k]
        c = all_c[k] - left_c[k]
        counts[t, 1, k] = c
        weights[t, 1, k] = all_w[k] - left_w[k] if c > 0 else 0.0


@jit
def score_edges(w, c, all_w, all_c, many, min_leaf, min_weight, side, price, batch, node, block, scores, bounds):
    """Score the cuts after every bin of one column, and bound the cuts inside every bin.

    w : float64[256, classes], c : int64[256, classes], the column's bins.   all_w, all_c : of the node.
    many : bool[256], bins with more than one value in the training set.   side : where missing rows go, or −1.
    scores : float64[256], −inf where the cut is not admissible; bounds : float64[256], −inf where there is nothing to cut.
    Returns False if a score is NaN.
    """
    n_classes = w.shape[1]
    left_w, left_c = np.zeros(n_classes), np.zeros(n_classes, np.int64)
    bit = np.empty(n_classes, np.int64)
    block_w, block_c, block_e, block_p, out = block
    target = np.empty(BLOCK, np.int64)  # bin; plus 256 for a corner
    reached = np.full(BINS, -1, np.int64)  # rows left of the cut after each bin that has rows
    block_p[:] = price
    total, left = np.int64(0), np.int64(0)
    for k in range(n_classes):
        total += all_c[k]
        if side == 0:
            left_w[k], left_c[k] = w[MISSING_BIN, k], c[MISSING_BIN, k]
            left += left_c[k]
    first = left
    last = MISSING_BIN - 1
    while last >= 0 and _is_empty(c, last):
        last -= 1
    n = 0
    ok = True
    for b in range(last + 1):
        here = np.int64(0)
        classes = 0
        for k in range(n_classes):
            bit[k] = 63
            if c[b, k] > 0:
                here += c[b, k]
                bit[k] = classes
                classes += 1
        if here == 0:
            continue
        # no and all objects of the bin are corners, too: cuts between bins, but for the missing rows alone on a side
        full = (1 << classes) - 1
        if many[b] and here > 1 and left + here > min_leaf and total - left > min_leaf:
            bounds[b] = np.inf if classes > MOST_CORNERS else -np.inf
            lowest = 0 if side == 0 and left == first else 1
            highest = full + 1 if side == 1 and b == last else full
            for mask in range(lowest, highest if classes <= MOST_CORNERS else lowest):
                if n == BLOCK:
                    ok = _flush(n, block, node, batch, target, scores, bounds) and ok
                    n = 0
                put_corner(n, block_w, block_c, left_w, left_c, all_w, all_c, w, c, b, bit, mask)
                target[n] = b + BINS
                n += 1
            many_here = True
        else:
            many_here = False
        if b < last:
            if n == BLOCK:
                ok = _flush(n, block, node, batch, target, scores, bounds) and ok
                n = 0
            put_corner(n, block_w, block_c, left_w, left_c, all_w, all_c, w, c, b, bit, full)
            target[n] = b
            n += 1
        for k in range(n_classes):
            left_w[k] += w[b, k]
            left_c[k] += c[b, k]
        left += here
        reached[b] = left + (BIG if many_here else 0)
    if n > 0:
        ok = _flush(n, block, node, batch, target, scores, bounds) and ok
    # the corners that are cuts between bins; then the leaf rule for those cuts
    previous = -np.inf
    heavy = whole = 0.0
    if min_weight > 0.0:
        for k in range(n_classes):
            whole += all_w[k]
            heavy += w[MISSING_BIN, k] if side == 0 else 0.0
    for b in range(last + 1):
        left = reached[b]
        if left < 0:
            continue
        score = scores[b]
        if left >= BIG:
            left -= BIG
            bounds[b] = max(bounds[b], max(previous, score))
        previous = score
        if left < min_leaf or total - left < min_leaf:
            scores[b] = -np.inf
        if min_weight > 0.0:
            for k in range(n_classes):
                heavy += w[b, k]
            if heavy < min_weight or whole - heavy < min_weight:
                scores[b] = -np.inf
    return ok


@jit(inline=True)
def heavy_enough(left_w, all_w, min_weight):
    """Whether both sides weigh ``min_weight``; 0 asks for nothing."""
    if min_weight <= 0.0:
        return True
    left = whole = 0.0
    for k in range(len(left_w)):
        left += left_w[k]
        whole += all_w[k]
    return left >= min_weight and whole - left >= min_weight


@jit(inline=True)
def _is_empty(c, b):
    for k in range(c.shape[1]):
        if c[b, k] > 0:
            return False
    return True


@jit
def _flush(n, block, node, batch, target, scores, bounds):
    block_w, block_c, block_e, block_p, out = block
    batch_at(batch)(block_w[:n], block_c[:n], block_p[:n], block_e[:n], node, out[:n])
    ok = True
    for t in range(n):
        s = out[t]
        if np.isnan(s):
            ok = False
        if target[t] >= BINS:
            b = target[t] - BINS
            bounds[b] = max(bounds[b], s)
        else:
            scores[target[t]] = s
    return ok


@jit
def sort_run(keys, rows, low, high):
    """Sort keys[low:high] ascending and rows with them, in place: quicksort, heap sort where it degenerates."""
    stack = np.empty((64, 3), np.int64)
    deepest = 2
    while (high - low) >> (deepest // 2) > 0:
        deepest += 1
    stack[0, 0], stack[0, 1], stack[0, 2] = low, high, 0
    n = 1
    while n > 0:
        n -= 1
        a, b, depth = stack[n, 0], stack[n, 1], stack[n, 2]
        while b - a > 16 and depth < deepest and n < 62:
            x, y, z = keys[a], keys[(a + b) // 2], keys[b - 1]
            pivot = max(min(x, y), min(max(x, y), z))
            i, j = a, b - 1
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    keys[i], keys[j] = keys[j], keys[i]
                    rows[i], rows[j] = rows[j], rows[i]
                    i += 1
                    j -= 1
            depth += 1
            stack[n, 0], stack[n, 1], stack[n, 2] = i, b, depth
            n += 1
            b = j + 1
        if b - a > 16:
            _heap_sort(keys, rows, a, b)
            continue
        for j in range(a + 1, b):
            key, row = keys[j], rows[j]
            i = j
            while i > a and keys[i - 1] > key:
                keys[i], rows[i] = keys[i - 1], rows[i - 1]
                i -= 1
            keys[i], rows[i] = key, row


@jit
def _heap_sort(keys, rows, low, high):
    n = high - low
    start, end = n // 2, n
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            keys[low + end], keys[low] = keys[low], keys[low + end]
            rows[low + end], rows[low] = rows[low], rows[low + end]
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and keys[low + child] < keys[low + child + 1]:
                child += 1
            if not keys[low + root] < keys[low + child]:
                break
            keys[low + root], keys[low + child] = keys[low + child], keys[low + root]
            rows[low + root], rows[low + child] = rows[low + child], rows[low + root]
            root = child


@jit
def best_bounded(
    w, c, codes, values, row_stride, column_stride, rows, label, weight, count, many, dropped, price, min_leaf,
    min_weight, gap, batch, scalars, params, impurity, relative, floor,
):
    """The best threshold of a node over all raw columns; see the module.

    w : float64[columns × 256, classes], c : int64, the node's bins.   codes : uint8[n, columns].
    values : flat memory of float[n, columns].   rows : int32[m].   many : bool[columns, 256], see ``binning``.
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
        ok, b, low, high, side, score = search_bins(
            w, c, all_w, all_c, codes, values, row_stride, column_stride, rows, label, weight, count, f, bounds[f],
            lost[f] > 0, least, price[f], min_leaf, min_weight, gap, batch, node, block, keys, members, relative, floor,
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
def search_bins(
    w, c, all_w, all_c, codes, values, row_stride, column_stride, rows, label, weight, count, f, bounds,
    has_missing, least, price, min_leaf, min_weight, gap, batch, node, block, keys, members, relative, floor,
):
    """Sort the objects of the bins of column f whose bound reaches ``least``, and score every cut inside those bins.

    bounds : float64[2, 256].   keys, members : scratch of the node's size.
    Returns (no NaN, bin, low, high, side, score) of the best; bin −1 if there is none.
    """  # fmt: skip
    block_w, block_c, block_e, block_p, out = block
    n_classes = w.shape[1]
    wanted = np.empty(BINS, np.uint8)
    for b in range(BINS):
        bound = max(bounds[0, b], bounds[1, b])
        wanted[b] = 1 if bound >= least and bound > -np.inf else 0
    m = np.uintp(0)
    width, column = np.uintp(codes.shape[1]), np.uintp(f)
    flat = codes.reshape(codes.size)
    for j in range(len(rows)):  # without a branch: which rows are wanted cannot be predicted
        i = rows[j]
        members[m] = i
        m += np.uintp(wanted[flat[np.uintp(i) * width + column]])
    start = column * np.uintp(column_stride)
    for j in range(m):
        keys[j] = values[start + np.uintp(members[j]) * np.uintp(row_stride)]
    m = np.int64(m)
    sort_run(keys, members, 0, m)
    first = f * BINS
    total = all_c.sum()
    left_w, left_c = np.empty(n_classes), np.empty(n_classes, np.int64)
    low, high = np.empty(BLOCK, keys.dtype), np.empty(BLOCK, keys.dtype)
    place = np.empty(BLOCK, np.int64)
    best_b, best_low, best_high, best_side, best = -1, np.nan, np.nan, NO_SIDE, -np.inf
    block_p[:] = price
    for s in range(2 if has_missing else 1):
        left_w[:] = 0.0
        left_c[:] = 0
        left = np.int64(0)
        if has_missing and s == 0:
            for k in range(n_classes):
                left_w[k] += w[first + MISSING_BIN, k]
                left_c[k] += c[first + MISSING_BIN, k]
                left += left_c[k]
        j, n = 0, 0
        for b in range(MISSING_BIN):
            if not wanted[b]:
                for k in range(n_classes):
                    left_w[k] += w[first + b, k]
                    left_c[k] += c[first + b, k]
                    left += c[first + b, k]
                continue
            while j < m and codes[members[j], f] == b:
                i = members[j]
                left_w[label[i]] += weight[i]
                left_c[label[i]] += count[i]
                left += count[i]
                inside = j + 1 < m and codes[members[j + 1], f] == b and keys[j + 1] > keys[j] + gap
                if inside and left >= min_leaf and total - left >= min_leaf and heavy_enough(left_w, all_w, min_weight):
                    put_table(n, block_w, block_c, left_w, left_c, all_w, all_c)
                    low[n], high[n], place[n] = keys[j], keys[j + 1], b
                    n += 1
                j += 1
                if n < BLOCK:
                    continue
                ok, best_b, best_low, best_high, best_side, best = _take_best(
                    n, block, node, batch, low, high, place, s if has_missing else NO_SIDE, relative, floor,
                    best_b, best_low, best_high, best_side, best,
                )  # fmt: skip
                if not ok:
                    return False, best_b, best_low, best_high, best_side, best
                n = 0
        if n > 0:
            ok, best_b, best_low, best_high, best_side, best = _take_best(
                n, block, node, batch, low, high, place, s if has_missing else NO_SIDE, relative, floor,
                best_b, best_low, best_high, best_side, best,
            )  # fmt: skip
            if not ok:
                return False, best_b, best_low, best_high, best_side, best
    return True, best_b, best_low, best_high, best_side, best


@jit
def _take_best(n, block, node, batch, low, high, place, side, relative, floor, best_b, best_low, best_high, best_side, best):
    """Score the block and keep the better of its best and the best so far."""
    block_w, block_c, block_e, block_p, out = block
    batch_at(batch)(block_w[:n], block_c[:n], block_p[:n], block_e[:n], node, out[:n])
    for t in range(n):
        s = out[t]
        if np.isnan(s):
            return False, place[t], np.float64(low[t]), np.float64(high[t]), side, s
        slack = max(relative * abs(s), floor)
        if s > -np.inf and (best_b < 0 or s > best + slack or (s >= best - slack and low[t] < best_low)):
            best_b, best_low, best_high, best_side, best = place[t], np.float64(low[t]), np.float64(high[t]), side, s
    return True, best_b, best_low, best_high, best_side, best


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
