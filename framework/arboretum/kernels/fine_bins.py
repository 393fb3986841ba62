"""Finer bins for a column whose bins cannot be ruled out: the second look of the bounded exact search.

On noise the bound of nearly every bin of a node reaches the best cut found, since a bin of a 254th of the objects could
hold anything; sorting them all costs as much as not having bins.  So the bins in question are divided at even steps of the
value, counted and bounded again: of pieces of a few dozen objects hardly any remains.  A piece or a bin left whole is an
*entry*; entries lie in the order of the values, the missing values come last.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from arboretum.kernels.binning import LAST_BIN, MISSING_BIN
from arboretum.kernels.jit import jit
from arboretum.kernels.sorting import sort_run
from arboretum.kernels.tables import BLOCK, NO_SIDE, Least, bar_of, enough_rows, heavy_enough, score_block

BINS = 256

WHOLE = 8  # shift that leaves a bin in one piece: positions within a bin have eight bits

Raw = namedtuple("Raw", "codes values row_stride column_stride edges many fine is_fine")
"""The raw columns.

codes : uint8[n, columns], bins.   values : flat memory of float[n, columns], strides in elements.   edges : float[columns, 256].   many
: bool[columns, 256], see ``binning``.   fine : uint16[columns, n], written for the columns that need it, which ``is_fine`` remembers.
"""


class Rules(NamedTuple):
    """gap : neighbours not further apart are not separated.   crowd : rows in the bins in question from which they are
    divided, in pieces of ``piece`` rows."""

    least: Least
    gap: float
    crowd: int
    piece: int


Entries = namedtuple("Entries", "w c first shift wanted")
"""w, c : [entries, classes].   first : int64[256], the bin's first entry.   shift : uint8[256], position >> shift is the
piece.   wanted : uint8[entries]."""


class Found(NamedTuple):
    """A cut of a column between the values low and high, in or (NaN) after a bin, −1 for none; its score, NaN where the
    criterion returned it."""

    bin: int
    low: float
    high: float
    side: int
    score: float


@jit(inner=True)
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


@jit(inner=True)
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


@jit(inner=True)
def count_entries(w, c, fine, members, objects, wanted, entries, many):
    """Count the members into entries; entries of bins that are not wanted take the bin's table.

    w, c : [256, classes].   wanted : uint8[256].   many : bool[entries], written: may be cut.
    """
    label, _, weight, count, unit = objects
    out_w, out_c, first, shift, _ = entries
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


@jit(inner=True)
def choose_entries(entries, scores, bounds, many, least):
    """Say which entries hold a cut that may reach ``least``, within them or at an edge between two pieces.

    scores, bounds : float64[2, entries].   Written: ``entries.wanted``.
    """
    c, wanted = entries.c, entries.wanted
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


@jit(inner=True)
def search_entries(entries, raw, f, members, objects, whole, rules, ask, block, keys):
    """Sort the members, who are the objects of the wanted entries, and score every cut inside their bins.

    members : int32[m].   keys : scratch of the values' type, [≥ m].   Returns the best as :class:`Found`.
    """
    label, _, weight, count, _ = objects
    w, c, first, shift, wanted = entries
    codes, fine, values = raw.codes, raw.fine[f], raw.values
    all_w, all_c = whole
    weights, counts, low, high, place = block.weights, block.counts, block.low, block.high, block.place
    least, gap = rules.least, rules.gap
    n_classes, m = w.shape[1], len(members)
    start, step = np.uintp(f) * np.uintp(raw.column_stride), np.uintp(raw.row_stride)
    for j in range(m):
        keys[j] = values[start + np.uintp(members[j]) * step]
    sort_run(keys[:m], members)
    missing_bin = len(w) - 1
    total, lost = all_c.sum(), c[missing_bin].sum()
    left_w, left_c = np.zeros(n_classes), np.zeros(n_classes, np.int64)
    rows, j, n = np.int64(0), 0, 0
    best = Found(np.int64(-1), np.nan, np.nan, np.int64(NO_SIDE), -np.inf)
    for e in range(missing_bin):
        if not wanted[e]:
            for k in range(n_classes):
                left_w[k] += w[e, k]
                left_c[k] += c[e, k]
                rows += c[e, k]
            continue
        while j < m and entry_of(members[j], f, codes, fine, first, shift) == e:
            i = members[j]
            left_w[label[i]] += weight[i]
            left_c[label[i]] += count[i]
            rows += count[i]
            b = codes[i, f]
            if j + 1 < m and codes[members[j + 1], f] == b and keys[j + 1] > keys[j] + gap:
                # the next piece that has objects may be one that is not wanted
                between, after = e + 1, entry_of(members[j + 1], f, codes, fine, first, shift)
                while between < after and c[between].sum() == 0:
                    between += 1
                for s in range((2 if lost > 0 else 1) if between >= after else 0):
                    if enough_rows(rows + (lost if s == 0 else 0), total, least):
                        put_table(n, weights, counts, left_w, left_c, w, c, missing_bin if s == 0 else -1, all_w, all_c)
                        if least.weight <= 0.0 or heavy_enough(weights[n], False, least):
                            low[n], high[n], place[n] = keys[j], keys[j + 1], 2 * np.int64(b) + s
                            n += 1
            j += 1
            if n > BLOCK - 2:
                best, n = take_best(n, block, ask, lost > 0, best), 0
    return take_best(n, block, ask, lost > 0, best)


@jit(inline=True)
def put_table(t, weights, counts, left_w, left_c, w, c, missing, all_w, all_c):
    """Write a two-outcome table: left, with the bin ``missing`` if there is one, and the rest (0 where no row is left)."""
    for k in range(len(left_w)):
        here, rows = left_w[k], left_c[k]
        if missing >= 0:
            here, rows = here + w[missing, k], rows + c[missing, k]
        rest = all_c[k] - rows
        weights[t, 0, k], counts[t, 0, k] = here, rows
        weights[t, 1, k], counts[t, 1, k] = all_w[k] - here if rest > 0 else 0.0, rest


@jit(inner=True)
def take_best(n, block, ask, has_missing, best):
    """Score the block and keep the better of its best and the best so far: the first of equals."""
    score_block(n, block.weights, block.counts, block.price, block.extra, ask, block.scores)
    scores, ties, at, top = block.scores, ask.ties, -1, best.score
    bar = bar_of(top, ties)
    for t in range(n):
        if top == top and not scores[t] <= bar:
            at, top = t, scores[t]
            bar = bar_of(top, ties)
    if at < 0:
        return best
    side = block.place[at] % 2 if has_missing else np.int64(NO_SIDE)
    return Found(block.place[at] // 2, block.low[at], block.high[at], side, top)
