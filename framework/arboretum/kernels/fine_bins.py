"""Finer bins for a column whose bins cannot be ruled out: the second look of the bounded exact search.

On noise the bound of nearly every bin of a node reaches the best cut found, since a bin of a 254th of the objects could
hold anything; sorting them all costs as much as not having bins.  So the bins in question are divided at even steps of the
value, counted and bounded again: of pieces of a few dozen objects hardly any remains.  A piece or a bin left whole is an
*entry*; entries lie in the order of the values, the missing values come last.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.binning import LAST_BIN, MISSING_BIN
from arboretum.kernels.coded import NO_SIDE
from arboretum.kernels.vertex_bounds import BLOCK, heavy_enough, is_empty, put_table
from arboretum.kernels.jit import jit
from arboretum.kernels.function_pointers import batch_at
from arboretum.kernels.sorting import sort_run

BINS = 256

WHOLE = 8
"""Shift that leaves a bin in one piece: positions within a bin have eight bits."""


@jit
def fine_codes(values, start, step, codes, f, edges, out):
    """Write 256 · bin + position of the value within its bin, in 256 even steps, for every object: uint16[n].

    A monotone function of the value.  The first and the last bin have no edge on one side, and no steps.
    """
    scale = np.zeros(BINS, edges.dtype)
    low = np.zeros(BINS, edges.dtype)
    for b in range(1, LAST_BIN):
        if edges[b] < np.inf and edges[b - 1] > -np.inf:
            low[b] = edges[b - 1]
            scale[b] = 256 / (edges[b] - edges[b - 1])
    zero, most = low[0], low[0] + 255
    for i in range(len(out)):
        b = np.uintp(codes[i, f])
        x = (values[start + np.uintp(i) * step] - low[b]) * scale[b]
        x = x if x > zero else zero  # also where x is NaN
        out[i] = np.uint16(b << np.uintp(8)) | np.uint16(x if x < most else most)


@jit
def lay_entries(c, wanted, target, first, shift):
    """Decide in how many pieces each bin is counted; return the number of entries, the missing values included.

    c : int64[256, classes].   wanted : uint8[256].   target : rows per piece.
    first : int64[256], written: the bin's first entry.   shift : uint8[256], written: position >> shift is the piece.
    """
    n = 0
    for b in range(BINS):
        first[b], shift[b] = n, WHOLE
        if wanted[b] and 0 < b < LAST_BIN:
            rows = c[b].sum()
            while shift[b] > 0 and (rows >> (WHOLE - shift[b])) > target:
                shift[b] -= 1
        n += 1 << (WHOLE - shift[b])
    return n


@jit
def count_entries(w, c, fine, members, label, weight, count, unit, wanted, first, shift, out_w, out_c, many):
    """Count the members into entries; entries of bins that are not wanted take the bin's table.

    w, c : [256, classes].   out_w : float64[entries, classes], out_c : int64, zeros.   many : bool[entries], may be cut.
    """
    for j in range(len(members)):
        i = np.uintp(members[j])
        code = np.uintp(fine[i])
        b = code >> np.uintp(8)
        e = np.uintp(first[b]) + ((code & np.uintp(255)) >> np.uintp(shift[b]))
        k = np.uintp(label[i])
        if unit:
            out_c[e, k] += 1
        else:
            out_w[e, k] += weight[i]
            out_c[e, k] += count[i]
    for b in range(BINS):
        stop = first[b + 1] if b < MISSING_BIN else len(out_c)
        for e in range(first[b], stop):
            many[e] = wanted[b] > 0
            for k in range(c.shape[1]):
                if not wanted[b]:
                    out_w[e, k], out_c[e, k] = w[b, k], c[b, k]
                elif unit:
                    out_w[e, k] = out_c[e, k]


@jit
def choose_entries(c, scores, bounds, many, least, wanted):
    """Say which entries hold a cut that may reach ``least``, within them or at an edge between two pieces.

    scores, bounds : float64[2, entries].   wanted : uint8[entries], written.
    """
    wanted[:] = 0
    waiting = False  # the cut before this entry may win
    for e in range(len(c) - 1):
        if c[e].sum() == 0:
            continue
        edge = max(scores[0, e], scores[1, e])
        inside = max(bounds[0, e], bounds[1, e])
        here = (inside >= least and inside > -np.inf) or (edge >= least and edge > -np.inf)
        wanted[e] = 1 if many[e] and (here or waiting) else 0
        waiting = edge >= least and edge > -np.inf


@jit(inline=True)
def entry_of(i, f, codes, fine, first, shift):
    """Entry of an object; ``fine`` is read only where bins are in pieces."""
    b = np.uintp(codes[i, f])
    e = first[b]
    if shift[b] < WHOLE:
        e += np.int64((fine[i] & 255) >> shift[b])
    return e


@jit
def search_entries(
    w, c, all_w, all_c, codes, fine, first, shift, wanted, values, column, step, members, m, label, weight, count, f,
    has_missing, price, min_leaf, min_weight, gap, batch, node, block, keys, relative, floor,
):
    """Sort the members, who are the objects of the wanted entries, and score every cut inside their bins.

    w, c : [entries, classes]; ``first`` and ``shift`` say which entries a bin has.   members : int32[≥ m].
    Returns (no NaN, bin, low, high, side, score) of the best; bin −1 if there is none.
    """  # fmt: skip
    block_w, block_c, block_e, block_p, out = block
    n_classes = w.shape[1]
    for j in range(m):
        keys[j] = values[column + np.uintp(members[j]) * step]
    sort_run(keys, members, 0, m)
    missing_bin = len(w) - 1
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
                left_w[k] += w[missing_bin, k]
                left_c[k] += c[missing_bin, k]
                left += left_c[k]
        j, n = 0, 0
        for e in range(missing_bin):
            if not wanted[e]:
                for k in range(n_classes):
                    left_w[k] += w[e, k]
                    left_c[k] += c[e, k]
                    left += c[e, k]
                continue
            while j < m and entry_of(members[j], f, codes, fine, first, shift) == e:
                i = members[j]
                left_w[label[i]] += weight[i]
                left_c[label[i]] += count[i]
                left += count[i]
                b = codes[i, f]
                inside = j + 1 < m and codes[members[j + 1], f] == b and keys[j + 1] > keys[j] + gap
                if inside and left >= min_leaf and total - left >= min_leaf and heavy_enough(left_w, all_w, min_weight):
                    # the next piece that has objects may be one that is not wanted
                    between = e + 1
                    after = entry_of(members[j + 1], f, codes, fine, first, shift)
                    while between < after and is_empty(c, between):
                        between += 1
                    if between >= after:
                        put_table(n, block_w, block_c, left_w, left_c, all_w, all_c)
                        low[n], high[n], place[n] = keys[j], keys[j + 1], b
                        n += 1
                j += 1
                if n < BLOCK:
                    continue
                ok, best_b, best_low, best_high, best_side, best = take_best(
                    n, block, node, batch, low, high, place, s if has_missing else NO_SIDE, relative, floor,
                    best_b, best_low, best_high, best_side, best,
                )  # fmt: skip
                if not ok:
                    return False, best_b, best_low, best_high, best_side, best
                n = 0
        if n > 0:
            ok, best_b, best_low, best_high, best_side, best = take_best(
                n, block, node, batch, low, high, place, s if has_missing else NO_SIDE, relative, floor,
                best_b, best_low, best_high, best_side, best,
            )  # fmt: skip
            if not ok:
                return False, best_b, best_low, best_high, best_side, best
    return True, best_b, best_low, best_high, best_side, best


@jit
def take_best(n, block, node, batch, low, high, place, side, relative, floor, best_b, best_low, best_high, best_side, best):
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
