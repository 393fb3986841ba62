"""Score every cut of presorted columns by a scalar kernel, in one pass, without writing tables down.

The loop is compiled once per criterion kernel, with the kernel merged into it as source: after that, LLVM unrolls the kernel's
own loops over outcomes and classes and keeps small tables in registers.  Sorted runs are those of ``presort``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from arboretum.kernels.coded import NAN_SCORE, NO_SIDE, NOTHING
from arboretum.kernels.jit import jit, merged
from arboretum.kernels.function_pointers import compiled, make_node
from arboretum.kernels.stack_arrays import float_table, int_table

MOST_IN_REGISTERS = 3
"""Classes up to which the number of classes is a constant of the compiled loop."""

_TEMPLATE = """
def {name}(order, low, high, shift, values, objects, whole, price, least, gap, scalars, params, impurity, ties):
    return search(
        kernel, CLASSES, MOMENTS, WEIGHTED,
        order, low, high, shift, values, objects, whole, price, least, gap, scalars, params, impurity, ties,
    )
"""


@lru_cache(maxsize=None)
def scan_of(kernel: Callable, classes: int, moments: bool, weighted: bool) -> Any:
    """The compiled :func:`search` of a criterion kernel.

    classes : of the tables.   moments : the tables hold Σw, Σwy, Σwy².   weighted : weights or counts are not all 1.
    Compiled at its first call, or read from the cache.
    """
    constant = classes if classes <= MOST_IN_REGISTERS and not moments else 0
    template = _TEMPLATE
    for word, value in (("CLASSES", constant), ("MOMENTS", moments), ("WEIGHTED", weighted)):
        template = template.replace(word, repr(value))
    return compiled(kernel, template, None, (("search", search),))


@merged
def search(
    kernel, classes, moments, weighted,
    order, low, high, shift, values, objects, whole, price, least, gap, scalars, params, impurity, ties,
):
    """Find the best cut of a node over all columns; return (column, position, side, score).

    order : uint32/64[columns, n] of entries.   values : float32/64[columns, n].   objects : y, weight, count.
    whole : float64[width], int64[count width], the node's table.   price : float64[columns].
    least : rows and weight that both sides must have.   ties : relative and absolute tolerance; the lowest cut wins.
    Column NOTHING: there is none.  Side NAN_SCORE: the criterion returned NaN there.
    """  # fmt: skip
    node = make_node(scalars, params, impurity)
    width, n_counts = len(whole[0]), len(whole[1])
    missing = (np.empty(width), np.empty(n_counts, np.int64))
    if classes > 0 or moments:
        width, n_counts = (3, 1) if moments else (classes, classes)
        tables = (float_table(2, width), int_table(2, n_counts), float_table(1, width), int_table(1, n_counts))
    else:
        tables = (
            np.empty((2, width)), np.empty((2, width), np.int64), np.empty((1, width)), np.empty((1, width), np.int64)
        )  # fmt: skip
    extra = float_table(2, 0)
    best_f, best_at, best_side, best = np.int64(NOTHING), np.int64(NOTHING), np.int64(NO_SIDE), -np.inf
    for f in range(len(order)):
        at, side, score = scan_column(
            kernel, classes, moments, weighted, order[f, low:high], shift, values[f], objects, whole, tables, missing, extra,
            (width, n_counts), price[f], least, gap, node, ties, best_f < 0, best,
        )  # fmt: skip
        if at >= 0:
            best_f, best_at, best_side, best = np.int64(f), at, side, score
            if side == NAN_SCORE:
                break
    return best_f, best_at, best_side, best


@merged
def scan_column(
    kernel, classes, moments, weighted, run, shift, values, objects, whole, tables, missing, extra, widths, price, least,
    gap, node, ties, nothing_yet, best,
):
    """Score every cut of a sorted run, with missing rows once with them left, then right.

    tables : scratch: the table of a cut (float64[2, width], int64[2, count width]), the sums left of it (of one row).
    missing : scratch, the table of the rows without a value.   extra : float64[2, 0].
    nothing_yet, best : whether there is no test to beat, and its score.
    Returns (position, side, score) of the best cut that beats it, position NOTHING if none does.
    """  # fmt: skip
    y, weight, count = objects
    all_w, all_c = whole
    lost_w, lost_c = missing
    weights, counts, sums, tally = tables
    mask = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    separated, to_class = np.uint64(1) << np.uint64(shift), np.uint64(shift + 1)
    for k in range(widths[0]):
        sums[0, k], weights[0, k], weights[1, k] = 0.0, 0.0, all_w[k]
    for k in range(widths[1]):
        tally[0, k], counts[0, k], counts[1, k] = 0, 0, all_c[k]
    known = sum_missing(run, mask, to_class, values, moments, y, weight, count, lost_w, lost_c)
    lost, total, left = lost_c.sum(), all_c.sum(), np.int64(0)
    bar = -np.inf if nothing_yet else best + max(ties[0] * abs(best), ties[1])
    at, at_side = np.int64(NOTHING), np.int64(NO_SIDE)
    # a large table is kept up to date class by class; with missing rows there are two, written anew for each cut
    anew = classes > 0 or moments or lost > 0
    for j in range(known - 1):
        entry = np.uint64(run[j])
        i = entry & mask
        rows = count[i] if weighted else np.int64(1)
        left += rows
        if moments:
            w = weight[i] if weighted else 1.0
            sums[0, 0] += w
            sums[0, 1] += w * y[i]
            sums[0, 2] += w * y[i] * y[i]
            tally[0, 0] = left
        else:
            own = np.int64(entry >> to_class)
            # a loop over all classes leaves the sums in registers, an index would not
            for k in range(0 if classes > 0 else own, classes if classes > 0 else own + 1):
                hit = np.int64(k == own)
                tally[0, k] += rows * hit
                sums[0, k] = sums[0, k] + weight[i] * hit if weighted else float(tally[0, k])
                if not anew:
                    put(weights, counts, sums, tally, all_w, all_c, lost_w, lost_c, moments, k, False)
        if entry & separated == 0:
            if not values[np.uint64(run[j + 1]) & mask] > values[i] + gap:
                continue
        for s in range(2 if lost > 0 else 1):
            here = left + lost if s == 0 else left
            if here < least[0] or total - here < least[0]:
                continue
            if anew:
                for k in range(widths[0]):
                    put(weights, counts, sums, tally, all_w, all_c, lost_w, lost_c, moments, k, s == 0)
            if least[1] > 0.0:
                mass_left = mass_right = 0.0
                for k in range(1 if moments else widths[0]):
                    mass_left += weights[0, k]
                    mass_right += weights[1, k]
                if mass_left < least[1] or mass_right < least[1]:
                    continue
            score = float(kernel(weights, counts, price, extra, node))
            if not score <= bar:
                at, at_side, best = np.int64(j), np.int64(s if lost > 0 else NO_SIDE), score
                if score != score:
                    return at, np.int64(NAN_SCORE), score
                bar = best + max(ties[0] * abs(best), ties[1])
    return at, at_side, best


@jit
def sum_missing(run, mask, to_class, values, moments, y, weight, count, lost_w, lost_c):
    """Add up the rows without a value, which end the run; return how many have one."""
    lost_w[:] = 0.0
    lost_c[:] = 0
    known = len(run)
    while known > 0:
        i = np.uint64(run[known - 1]) & mask
        if not np.isnan(values[i]):
            break
        known -= 1
        if moments:
            lost_w[0] += weight[i]
            lost_w[1] += weight[i] * y[i]
            lost_w[2] += weight[i] * y[i] * y[i]
            lost_c[0] += count[i]
        else:
            k = np.uint64(run[known]) >> to_class
            lost_w[k] += weight[i]
            lost_c[k] += count[i]
    return known


@jit(inline=True)
def put(weights, counts, sums, tally, all_w, all_c, lost_w, lost_c, moments, k, with_missing):
    """Write column k of the table of the cut; missing rows are left of it if ``with_missing``."""
    w = sums[0, k] + (lost_w[k] if with_missing else 0.0)
    weights[0, k] = w
    if moments:
        weights[1, k] = all_w[k] - w
        counts[0, 0] = tally[0, 0] + (lost_c[0] if with_missing else 0)
        counts[1, 0] = all_c[0] - counts[0, 0]
    else:
        c = tally[0, k] + (lost_c[k] if with_missing else 0)
        rest = all_c[k] - c
        counts[0, k], counts[1, k] = c, rest
        # where no row of a class is left its weight is 0 and not 1e-17
        weights[1, k] = 0.0 if rest == 0 else all_w[k] - w
