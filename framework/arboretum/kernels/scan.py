"""Score every cut of presorted columns, in one pass, without writing tables down.

Sorted runs are those of ``presort``; a *cut* at position j divides a run into its first j + 1 rows
and the rest::

    for each column f whose price can be paid:
        lost ← Σ of the rows without a value, which end the run;  left ← 0
        for each position j of a row with a value:
            left ← left + row j
            if the values at j and j + 1 are not separated: next j
            for side in (0, 1) if there are rows without a value, else NO_SIDE:
                table ← (left, all − left), with lost on that side
                if a branch is too small: next side
                if its score is above bar (the best + what ties differ by): it is the best
    return the best (column, position, side, score)

Last comes the cut behind all values, with the missing rows alone right.  :func:`search_by_sums`
finds the same by :mod:`.class_sums`.  The loop is compiled once per criterion kernel, with the
kernel merged into it as source: after that, LLVM unrolls the kernel's own loops over outcomes and
classes and keeps small tables in registers.  Where a criterion adds up columns of its own, or an
impurity is computed along the sorted objects, one loop serves all, which calls the kernel through
its address.

Invariants:

- A run is ascending.  Its entries name rows, by which weights, counts and values are read.
- ``separated`` in an entry holds wherever the run was divided.  Where it is not set the values of
  the two neighbours are compared: they may have become neighbours since.
- Tables are written anew for each cut, but those of many classes without missing rows are kept up
  to date class by class, before a cut is asked for.
- A class that has no row on a side weighs 0 there, and not what rounding leaves.
- Of a block the first ``used`` tables are filled; it is scored when it is full, and at the end.
- The first of equals is kept.  A score that is NaN ends the search, and is returned.
"""

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from arboretum.kernels.class_sums import Keys, Moved, best_cut
from arboretum.kernels.function_pointers import call_prefix, compiled
from arboretum.kernels.jit import jit, merged
from arboretum.kernels.kernel_decorators import baked
from arboretum.kernels.stack_arrays import float_table, int_table
from arboretum.kernels.tables import (
    BLOCK,
    NO_SIDE,
    NOTHING,
    Least,
    add_moments,
    bar_of,
    enough_rows,
    enough_weight,
    score_block,
    scoring_of,
)

# classes up to which the number of classes is a constant of the compiled loop
MOST_IN_REGISTERS = 3

CLASSES, MOMENTS, WEIGHTED, OWN, PREFIX = 0, False, True, False, False
"""Constants of a compiled loop: the number of classes where it is known; the tables hold Σw, Σwy,
Σwy²; weights or counts are not all 1; tables have columns of the criterion's own, or what a prefix
kernel answers.
"""

_TEMPLATE = """
def {name}(runs, objects, own, whole, price, rules, scorer):
    return search(kernel, runs, objects, own, whole, price, rules, scorer)  # CONSTANTS
"""

Runs = namedtuple("Runs", "order low high shift values")
"""A node's part of the columns.

order : uint32/64[columns, n] of entries.
low, high, shift : int.
values : float32/64[columns, n].
"""

Own = namedtuple("Own", "values prefix")
"""Columns of the criterion's own.

values : float64[n, k], by object.
prefix : address of a prefix kernel, whose answers take their place (k = 1).
"""


class ScanRules(NamedTuple):
    """gap : neighbours not further apart are not separated."""

    least: Least
    gap: np.floating


ScanTable = namedtuple("ScanTable", "weights counts extra left_w left_c lost_w lost_c own")
"""The table of a cut, float64[2, width], int64[2, count width], float64[2, 0], and what is summed
up for it.

left_w, left_c, lost_w, lost_c : rows left of the cut, and those without a value, as tables of one
    row.
own : float64[3, k], the criterion's columns left, known, missing; or the costs of a prefix kernel.
"""


def scan_of(kernel: Callable, classes: int, moments: bool, weighted: bool) -> Callable:
    """The compiled :func:`search` of a criterion kernel, for tables without columns of its own.

    classes, moments, weighted : see CLASSES, MOMENTS, WEIGHTED.

    Compiled at its first call, or read from the cache.
    """
    return _compile_scan(
        kernel, classes if classes <= MOST_IN_REGISTERS and not moments else 0, moments, weighted
    )


def scan_with_columns(moments: bool, prefix: bool) -> Callable:
    """Return the compiled :func:`search` for every criterion with columns of its own, or
    (``prefix``) along which a prefix kernel answers.

    moments : the tables hold Σw, Σwy, Σwy².
    """
    return _compile_scan(_none, 0, moments, True, True, prefix)


def _none(weights, counts, price, extra, node):
    """In place of a kernel that is called through its address."""
    return 0.0


@cache
def _compile_scan(kernel: Callable, *constants: int) -> Callable:
    """Compile the search of a kernel's column loop with these constants put in for its switches.

    constants : of CLASSES, MOMENTS, WEIGHTED, OWN, PREFIX, in that order; the last two may be left
        out and are then False.
    """
    names = dict(
        zip(
            ("CLASSES", "MOMENTS", "WEIGHTED", "OWN", "PREFIX"),
            (*constants, False, False),
            strict=False,
        )
    )
    column = merged(baked(scan_column, "scan_column", **names))
    whole = merged(baked(search, "search", scan_column=column, **names))
    return compiled(
        kernel, _TEMPLATE.replace("CONSTANTS", repr(constants)), names=(("search", whole),)
    )


def search(kernel, runs, objects, own, whole, price, rules, scorer):
    """Find the best cut of a node over all columns; return (column, position, side, score).

    kernel : a criterion's, scalar; merged in as source.
    runs, own, rules, scorer : Runs, Own, ScanRules, :class:`arboretum.kernels.tables.Scorer`.
    whole : float64[width], int64[count width], the node's table.
    price : float64[columns], ∞ where it cannot be paid.

    Column NOTHING: there is none.  Score NaN: the criterion returned it there.  The lowest of equal
    cuts wins.
    """
    scoring = scoring_of(scorer)
    width, n_counts, k = len(whole[0]), len(whole[1]), 1 if PREFIX else own.values.shape[1]
    rows = np.empty(runs.high - runs.low if PREFIX else 0, np.int32)
    sums = np.empty((4, len(rows))) if PREFIX else np.empty((3, k))
    lost_w, lost_c = np.empty((1, width)), np.empty((1, n_counts), np.int64)
    some = BLOCK if OWN else 0
    block = (
        np.empty((some, 2, width)),
        np.empty((some, 2, n_counts), np.int64),
        np.empty(some),
        np.empty((some, 2, k)),
        np.empty(some),
        np.empty((some, 2), np.int64),
    )
    if not OWN and (CLASSES > 0 or MOMENTS):
        width, n_counts = (3, 1) if MOMENTS else (CLASSES, CLASSES)
        table = ScanTable(
            float_table(2, width),
            int_table(2, n_counts),
            float_table(2, 0),
            float_table(1, width),
            int_table(1, n_counts),
            lost_w,
            lost_c,
            sums,
        )
    else:
        table = ScanTable(
            np.empty((2, width)),
            np.empty((2, n_counts), np.int64),
            float_table(2, 0),
            np.empty((1, width)),
            np.empty((1, n_counts), np.int64),
            lost_w,
            lost_c,
            sums,
        )
    best_f = np.int64(NOTHING)
    best_at = np.int64(NOTHING)
    best_side = np.int64(NO_SIDE)
    best = -np.inf
    for f in range(len(runs.order)):
        if price[f] == np.inf:
            continue
        run = runs.order[f, runs.low : runs.high]
        at, side, score = scan_column(
            kernel,
            run,
            runs.shift,
            runs.values[f],
            objects,
            own,
            whole,
            (table, (width, n_counts), rows, block),
            price[f],
            rules,
            scoring,
            best,
        )
        if at >= 0:
            best_f, best_at, best_side, best = np.int64(f), at, side, score
            if score != score:
                break
    return best_f, best_at, best_side, best


def scan_column(
    kernel, run, shift, values, objects, own, whole, scratch, price, rules, scoring, best
):
    """Score every cut of a sorted run, with missing rows once with them left, then right; at last
    these rows alone right.

    run : uint32/64[m] of entries; shift : bits of a row in one.
    values : float32/64[n], the column by object.
    own : Own.
    scratch : a :class:`ScanTable`, its widths, int32[m] for a prefix kernel, and a block of tables
        for calls through an address.
    best : the score to beat, −inf without one.

    Returns (position, side, score) of the best cut that beats it, position NOTHING if none does.
    """
    _, y, weight, count, _ = objects
    all_w, all_c = whole
    # what tuples hold is taken out once: each time costs an atomic addition per array
    (weights, counts, extra, left_w, left_c, lost_w, lost_c, sums), widths, rows, block = scratch
    block_w, block_c, block_p, block_e, _, place = block
    used = 0
    node, ties, (least, gap), own_values = scoring.node, scoring.ties, rules, own.values
    mask = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    separated, to_class = np.uint64(1) << np.uint64(shift), np.uint64(shift + 1)
    for k in range(widths[0]):
        left_w[0, k], weights[0, k], weights[1, k] = 0.0, 0.0, all_w[k]
    for k in range(widths[1]):
        left_c[0, k], counts[0, k], counts[1, k] = 0, 0, all_c[k]
    known = sum_missing(run, mask, to_class, values, MOMENTS, objects, lost_w, lost_c)
    if PREFIX:
        for j in range(len(run)):
            rows[j] = np.int32(np.uint64(run[j]) & mask)
        if known > 0:
            fill_prefix_costs(rows, known, y, weight, own.prefix, sums)
    elif OWN:
        sum_own(run, mask, known, own_values, sums)
    lost, total, left = lost_c.sum(), all_c.sum(), np.int64(0)
    bar = bar_of(best, ties)
    at, at_side = np.int64(NOTHING), np.int64(NO_SIDE)
    # a large table is kept up to date class by class; with missing rows there are two, written anew
    # for each cut
    anew = CLASSES > 0 or MOMENTS or lost > 0
    for j in range(known if lost > 0 else known - 1):
        entry = np.uint64(run[j])
        i = entry & mask
        here = count[i] if WEIGHTED else np.int64(1)
        left += here
        if MOMENTS:
            add_moments(left_w, 0, weight[i] if WEIGHTED else 1.0, y[i])
            left_c[0, 0] = left
        else:
            label = np.int64(entry >> to_class)
            # a loop over all classes leaves the sums in registers, an index would not
            for k in range(0 if CLASSES > 0 else label, CLASSES if CLASSES > 0 else label + 1):
                hit = np.int64(k == label)
                left_c[0, k] += here * hit
                left_w[0, k] = left_w[0, k] + weight[i] * hit if WEIGHTED else float(left_c[0, k])
                if not anew:
                    put(
                        weights,
                        counts,
                        left_w,
                        left_c,
                        lost_w,
                        lost_c,
                        all_w,
                        all_c,
                        MOMENTS,
                        k,
                        False,
                    )
        if OWN and not PREFIX:
            for k in range(sums.shape[1]):
                sums[0, k] += own_values[i, k]
        if entry & separated == 0 and j < known - 1:
            if not values[np.uint64(run[j + 1]) & mask] > values[i] + gap:
                continue
        for s in range(2 if lost > 0 else 1):
            if not enough_rows(left + lost if s == 0 else left, total, least):
                continue
            if anew:
                for k in range(widths[0]):
                    put(
                        weights,
                        counts,
                        left_w,
                        left_c,
                        lost_w,
                        lost_c,
                        all_w,
                        all_c,
                        MOMENTS,
                        k,
                        s == 0,
                    )
            if least.weight > 0.0 and not enough_weight(weights, MOMENTS, least):
                continue
            if OWN:
                for o in range(2):
                    for k in range(widths[0]):
                        block_w[used, o, k] = weights[o, k]
                    for k in range(widths[1]):
                        block_c[used, o, k] = counts[o, k]
                if PREFIX:
                    block_e[used, 0, 0] = sums[2 * s, j]
                    block_e[used, 1, 0] = sums[2 * s + 1, j + 1]
                else:
                    for k in range(sums.shape[1]):
                        block_e[used, 0, k] = sums[0, k] + (sums[2, k] if s == 0 else 0.0)
                        block_e[used, 1, k] = (
                            sums[1, k] - sums[0, k] + (0.0 if s == 0 else sums[2, k])
                        )
                block_p[used], place[used, 0], place[used, 1] = price, j, s if lost > 0 else NO_SIDE
                used += 1
                if used == BLOCK:
                    at, at_side, best = score_and_keep_best(used, block, scoring, at, at_side, best)
                    used = 0
                continue
            score = float(kernel(weights, counts, price, extra, node))
            if not score <= bar:
                at, at_side, best = np.int64(j), np.int64(s if lost > 0 else NO_SIDE), score
                if score != score:
                    return at, at_side, score
                bar = bar_of(best, ties)
    return (
        score_and_keep_best(used, block, scoring, at, at_side, best) if OWN else (at, at_side, best)
    )


@jit
def search_by_sums(sums, runs, objects, own, whole, price, rules, scorer):
    """Find what :func:`search` finds, for a kernel that says ``by_sums``; compiled once for all of
    them.

    sums : of ``class_sums``, scratch.
    own : not read; there as in :func:`search`.
    """
    scoring = scoring_of(scorer)
    all_w, all_c = whole
    _, _, weight, count, unit = objects
    table, moved = (all_w, all_c, all_c.sum(), all_w.sum()), Moved(weight, count, unit)
    object_mask = (np.uint64(1) << np.uint64(runs.shift)) - np.uint64(1)
    keys = Keys(np.uint64(runs.shift + 1), ~np.uint64(0), object_mask)
    best_f = np.int64(NOTHING)
    best_at = np.int64(NOTHING)
    best_side = np.int64(NO_SIDE)
    best = -np.inf
    for f in range(len(runs.order)):
        if price[f] == np.inf:
            continue
        run = runs.order[f, runs.low : runs.high]
        known = mark_room(run, runs.shift, object_mask, runs.values[f], rules.gap, sums.cut)
        at, side, score = best_cut(
            run, known, keys, moved, table, rules.least, price[f], scoring, best, sums
        )
        if at >= 0:
            best_f, best_at, best_side, best = np.int64(f), at, side, score
            if score != score:
                break
    return best_f, best_at, best_side, best


@jit(inner=True)
def mark_room(run, shift, mask, values, gap, cut):
    """Write to ``cut`` behind which entries there is room for a threshold; return how many have a
    value.

    shift : bits of a row in an entry, which ``mask`` picks.
    values : float32/64[n], by object.
    cut : bool[≥ len(run)]; the last entry with a value has room behind it, for missing values.
    """
    separated, known = np.uint64(1) << np.uint64(shift), len(run)
    while known > 0 and np.isnan(values[np.uint64(run[known - 1]) & mask]):
        known -= 1
    for j in range(known):
        entry = np.uint64(run[j])
        cut[j] = (
            entry & separated != 0
            or j == known - 1
            or values[np.uint64(run[j + 1]) & mask] > values[entry & mask] + gap
        )
    return known


@jit(inner=True)
def score_and_keep_best(used, block, scoring, at, side, best):
    """Score the first ``used`` tables of a block; return the better of their best and the best so
    far, the first of equals, as (position, side, score); NaN beats all.

    scoring : of ``tables.scoring_of``.
    block : as :func:`search` allocates it, its ``place`` int64[·, 2] the position and side of each
        table's cut; its scores are written.
    """
    weights, counts, price, extra, scores, place = block
    score_block(used, weights, counts, price, extra, scoring, scores)
    for t in range(used):
        if best == best and not scores[t] <= bar_of(best, scoring.ties):
            at, side, best = place[t, 0], place[t, 1], scores[t]
    return at, side, best


@jit(inner=True)
def sum_missing(run, mask, to_class, values, moments, objects, lost_w, lost_c):
    """Add up the rows without a value, which end the run, into ``lost_w`` and ``lost_c``, whatever
    these held; return how many have one.

    mask, to_class : the bits of an entry that are its row, and how far the class is above the
        lowest.
    values : float32/64[n], by object.
    lost_w : float64[1, width], lost_c : int64[1, count width].
    """
    _, y, weight, count, _ = objects
    lost_w[:] = 0.0
    lost_c[:] = 0
    known = len(run)
    while known > 0:
        i = np.uint64(run[known - 1]) & mask
        if not np.isnan(values[i]):
            break
        known -= 1
        if moments:
            add_moments(lost_w, 0, weight[i], y[i])
            lost_c[0, 0] += count[i]
        else:
            k = np.uint64(run[known]) >> to_class
            lost_w[0, k] += weight[i]
            lost_c[0, k] += count[i]
    return known


@jit(inner=True)
def sum_own(run, mask, known, values, out):
    """Add up a criterion's own columns: out[1] of the rows with a value, out[2] of those without;
    out[0] is 0.

    known : entries with a value, which come first.
    values : float64[n, k], by object.
    out : float64[3, k].
    """
    out[:] = 0.0
    for j in range(len(run)):
        for k in range(values.shape[1]):
            out[1 if j < known else 2, k] += values[np.uint64(run[j]) & mask, k]


@jit(inline=True)
def put(weights, counts, left_w, left_c, lost_w, lost_c, all_w, all_c, moments, k, with_missing):
    """Write column k of the table of a cut; missing rows are left of it if ``with_missing``.

    weights : float64[2, width], counts : int64[2, count width].
    left_*, lost_* : tables of one row; all_* : rows of the node.
    """
    w = left_w[0, k] + (lost_w[0, k] if with_missing else 0.0)
    weights[0, k] = w
    if moments:
        weights[1, k] = all_w[k] - w
        counts[0, 0] = left_c[0, 0] + (lost_c[0, 0] if with_missing else 0)
        counts[1, 0] = all_c[0] - counts[0, 0]
    else:
        c = left_c[0, k] + (lost_c[0, k] if with_missing else 0)
        rest = all_c[k] - c
        counts[0, k], counts[1, k] = c, rest
        # where no row of a class is left its weight is 0 and not 1e-17
        weights[1, k] = 0.0 if rest == 0 else all_w[k] - w


@jit
def fill_prefix_costs(rows, known, y, weight, prefix, out):
    """Write impurity × mass of every prefix and every suffix of a sorted run.

    rows : int32[m]; its first ``known`` rows have a value.
    y, weight : float64[n], by object.
    prefix : address of a prefix kernel.
    out : float64[4, m].  With the missing rows left: out[0, j] of the rows 0 … j, out[1, j] of the
        rows j … known − 1; out[2], out[3]: the same with the missing rows right; out[3, known] of
        these alone.
    """
    n = len(rows)
    ys, ws, costs = np.empty(n), np.empty(n), np.empty(n)
    for form in range(4 if known < n else 2):
        first = n - known if form == 0 or form == 3 else 0
        for j in range(first):
            ys[j], ws[j] = y[rows[known + j]], weight[rows[known + j]]
        backward = form % 2 == 1
        for j in range(known):
            i = rows[known - 1 - j] if backward else rows[j]
            ys[first + j], ws[first + j] = y[i], weight[i]
        m = first + known
        call_prefix(prefix, ys[:m], ws[:m], costs[:m])
        for j in range(known):
            out[form, known - 1 - j if backward else j] = costs[first + j]
        if form == 3:
            out[form, known] = costs[first - 1]
