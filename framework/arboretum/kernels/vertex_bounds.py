"""Score the cuts between the bins of a column, and bound the cuts inside them by corners.

A cut inside bin b leaves some of the bin's objects left: its class weights lie in the box between those before the bin and
those after it.  For a criterion that is quasi-convex in the class weights of an outcome (impurity reduction with a concave
impurity, gain ratio) the highest score over the box is at one of its corners.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.function_pointers import batch_at

BLOCK = 128
"""Tables per call of the criterion."""

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

    w : float64[bins, classes], c : int64[bins, classes], the column's bins, the missing values last.
    all_w, all_c : of the node.   many : bool[bins], bins with more than one value in the training set.
    side : where missing rows go, or −1.   Written: scores : float64[bins], −inf where the cut is not admissible;
    bounds : float64[bins], −inf where there is nothing to cut.
    Returns False if a score is NaN.
    """
    n_bins, n_classes = w.shape
    missing_bin = n_bins - 1
    left_w, left_c = np.zeros(n_classes), np.zeros(n_classes, np.int64)
    bit = np.empty(n_classes, np.int64)
    block_w, block_c, block_e, block_p, out = block
    target = np.empty(BLOCK, np.int64)  # bin; plus their number for a corner
    reached = np.full(n_bins, -1, np.int64)  # rows left of the cut after each bin that has rows
    block_p[:] = price
    total, left = np.int64(0), np.int64(0)
    for k in range(n_classes):
        total += all_c[k]
        if side == 0:
            left_w[k], left_c[k] = w[missing_bin, k], c[missing_bin, k]
            left += left_c[k]
    first = left
    last = missing_bin - 1
    while last >= 0 and is_empty(c, last):
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
                target[n] = b + n_bins
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
            heavy += w[missing_bin, k] if side == 0 else 0.0
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
def is_empty(c, b):
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
        if target[t] >= len(scores):
            b = target[t] - len(scores)
            bounds[b] = max(bounds[b], s)
        else:
            scores[target[t]] = s
    return ok
