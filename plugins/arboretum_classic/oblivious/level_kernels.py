"""The best test for many nodes together: a test's score is the sum of the criterion's scores at the
nodes that it divides, each times the node's factor.

An oblivious tree asks one test at all nodes of a level; a fuzzy tree has levels of one node, whose
rows are there in shares.  A raw column is counted by bins, at all nodes at once: cuts between bins
are scored from these sums, and what cuts inside a bin score at most is bounded, so that only bins
that may hold the best cut are scanned row by row::

    for each column f that can be paid, and each side s of its rows without a value:
        score[b] ← Σ_v factor_v · (score at node v of the cut after bin b), −∞ if it may not compete
        bound[b] ← Σ_v the most that factor_v · (score of a cut inside bin b) is
    low ← the highest score, less what rounding and ties may hide
    for each column and side with a score or bound of at least low:
        left ← 0 at each node; the rows without a value, for side 0
        for each bin b:
            if bound[b] ≥ low, scan: for each row of the bin, by value:
                if its value is separated from the one before: ask again the nodes that were given
                    rows since the last time; the cut before the row scores Σ_v of all nodes
                left[its node] ← left + the row
            else: left ← left + bin b, at each node
            the cut after bin b scores score[b]

A test may compete if it divides some node, and none into outcomes that are too small or that the
criterion refuses.  The first of the cuts that are equal within ties is kept.

Sums of a set of rows, a *cell*, are class weights, or moments (Σw, Σwy, Σwy²), and behind them
numbers of rows, which may be shares, where these differ.

Invariants:

- ``sums`` is [node, bin, cell]; its last bin has the rows without a value.  The sums of all columns
  are kept, or, where they are too many, those of the column that was counted last.
- ``bin`` b of a column has the positions start[b] … start[b + 1] − 1 of ``order``, and does not end
  between values that are not separated.  A search counts it in bin (b + 1) >> shift of ``sums``.
- ``place`` is −1 for rows outside the level; they stay in ``order``, and are passed over.
- In ``scan``, ``states`` and ``scores`` are of the last time that a node was asked, ``refused`` and
  ``n_split`` count nodes that allow no cut, and that it divides; the first ``n_dirty`` entries of
  ``dirty`` are the nodes to be asked again.
"""

import math
from collections import namedtuple
from functools import cache

import numpy as np

from arboretum.kernels.coded import EQUALS, MULTIWAY, THRESHOLDS
from arboretum.kernels.function_pointers import compiled, impurity_at
from arboretum.kernels.jit import jit, merged
from arboretum.kernels.kernel_decorators import KernelNode, baked
from arboretum.kernels.presort import sorted_rows
from arboretum.kernels.stack_arrays import float_table, int_table
from arboretum.kernels.tables import NO_SIDE, NOTHING, bar_of, slack

MOST_IN_REGISTERS = 3
LEAST_BINS = 16
# sums that are kept for all columns; of more a column is counted again where its bins are scanned
MOST_KEPT = 1 << 22
LOWEST = np.finfo(np.float64).min
NO_BOUND, VERTICES, VARIANCE = range(3)
EMPTY, SMALL, REFUSED, SPLIT = range(4)
"""What a cut does at a node: an outcome has no rows, or nobody asks; one has too few; the
criterion says −inf; it is divided.
"""
OCTAGON = (
    (0.0, math.tan(math.pi / 8)),
    (0.5 - math.tan(math.pi / 8) / 2, 1.0),
    (0.5 + math.tan(math.pi / 8) / 2, 1.0),
    (1.0, math.tan(math.pi / 8)),
)
"""Corners around the disc of diameter 1 × 2 about (½, 0), of the upper half."""

CLASSES, MOMENTS, WEIGHTED, ALONE, BOUND = 0, False, True, True, NO_BOUND
"""Constants of a compiled search: the number of classes where it is known; cells hold moments;
weights are not all 1; numbers of rows are kept beside weights, since they differ; how bins are
bounded.
"""

Columns = namedtuple("Columns", "order values known bin start")
"""order, values : uint32, float[columns, k], rows by value and these values, the ``known[f]`` rows
with a value first.

bin : uint16[columns, k], by row, the last where there is no value.
start : int64[columns, bins], where each bin begins in ``order``.
"""

Level = namedtuple(
    "Level", "place members first weights rows mass impurity factor open depth total"
)
"""place : int32[n], node · width + class, −1 outside.

members, first : int32[m] rows by node, int64[nodes + 1] where each node begins.
weights, rows : float64[nodes, width], [nodes, count width].
mass, impurity, factor : float64[nodes].
open : bool[nodes], has a say.
total : weight of the root.
"""

Objects = namedtuple("Objects", "y weight rows")
"""float64[n] by row: target, weight and number of rows as they are in the level."""

LevelRules = namedtuple("LevelRules", "rows weight gap shared piece")
"""rows, weight : of every branch that receives any.

gap : neighbours not further apart are not separated.
shared : rows without a value go every way, in proportion; else they are tried in either outcome.
piece : rows per node and bin, at least, which decides the speed alone.
"""

Work = namedtuple("Work", "left weights counts extra")
"""left : float64[2, cell], left of a cut, and of a vertex.

weights, counts, extra : the table of one test at one node.
"""


@cache
def search_of(kernel, classes, *constants):
    """Return the compiled :func:`search` of a criterion kernel; compiled at its first call, or read
    from the cache.

    classes : how many, a constant of the loop where they are few.
    constants : MOMENTS … BOUND.
    """
    known = _constants(
        classes if classes <= MOST_IN_REGISTERS and not constants[0] else 0, *constants
    )
    parts = {
        "edges": _compile_for_criterion(kernel, edges, known),
        "scan": _compile_for_criterion(kernel, scan, known),
        "count": _compile_count(known),
    }
    return _compile_for_criterion(kernel, search, known, **parts)


@cache
def coded_of(kernel, moments):
    """Return the compiled :func:`score_coded` of a criterion kernel.   moments : of the tables."""
    known = _constants(0, moments, True, True, NO_BOUND)
    return _compile_for_criterion(
        kernel,
        score_coded,
        known,
        edges=_compile_for_criterion(kernel, edges, known),
        count=_compile_count(known),
    )


def _constants(*values):
    return dict(zip(("CLASSES", "MOMENTS", "WEIGHTED", "ALONE", "BOUND"), values, strict=True))


def _compile_count(known):
    """Return the compiled :func:`count`, which knows no criterion.

    known : name of a constant → value.
    """
    return jit(
        baked(
            count,
            "count_" + "_".join(map(str, known.values())),
            **known,
            add_row=merged(baked(add_row, "add_row", **known)),
        )
    )


def _compile_for_criterion(kernel, function, known, **parts):
    """Return a function of a criterion kernel, as one of its other arguments.

    function : takes the kernel first.
    known : name of a constant → value.
    parts : name → compiled helper that it calls.
    """
    for part in (work_for, add_row, ask, most_inside, all_bins):
        known = known | {part.__name__: merged(baked(part, part.__name__, **known))}
    name = function.__name__
    arguments = ", ".join(function.__code__.co_varnames[1 : function.__code__.co_argcount])
    template = (
        f"\ndef {{name}}({arguments}):\n    return {name}(kernel, {arguments})  # "
        f"{tuple(known.values())[:5]}\n"
    )
    return compiled(
        kernel, template, names=((name, merged(baked(function, name, **known, **parts))),)
    )


def search(kernel, columns, level, objects, price, rules, scorer):
    """Find the best cut; return (column, position of the last row left of it, side, score).

    columns, level, objects, rules : Columns, Level, Objects, Rules.
    scorer : see :mod:`arboretum.kernels.tables`.
    price : float64[columns], ∞ where it cannot be paid.

    Column NOTHING: there is none.  The first of equal cuts wins, those with rows without a value in
    outcome 0 before the others.   Score NaN: the criterion returned it.
    side : outcome of rows without a value, NO_SIDE where there are none or they go every way.
    """
    n, n_columns, shift = len(level.mass), len(columns.order), 0
    while columns.start.shape[1] >> shift > LEAST_BINS and (
        columns.start.shape[1] >> shift
    ) * n * rules.piece > len(level.members):
        shift += 1
    bins = columns.start.shape[1] >> shift
    size = level.weights.shape[1] + (level.rows.shape[1] if ALONE else 0)
    asked = level.depth, level.total, scorer.params, impurity_at(scorer.impurity)
    kept = n_columns if n_columns * n * (bins + 1) * size <= MOST_KEPT else 1
    every = np.empty((kept, n, bins + 1, size))
    left = np.empty((n, size))
    low = -np.inf
    lost = np.zeros(n_columns, np.int64)
    scores = np.full((n_columns, 2, bins), -np.inf)
    bounds = np.full((n_columns, 2, bins), -np.inf)
    prices = np.empty(bins)
    highest, inside = np.full((n_columns, 2), -np.inf), np.full((n_columns, 2), -np.inf)
    for f in range(n_columns):
        if price[f] == np.inf:
            continue
        sums = every[f % kept]
        lost[f] = count(columns.bin[f], 1, shift, level, objects, sums)
        prices[:], at = price[f], 0
        while level.place[columns.order[f, at]] < 0:
            at += 1
        for s in range(2 if lost[f] > 0 and not rules.shared else 1):
            edges((THRESHOLDS, s), sums, level, prices, rules, asked, scores[f, s], bounds[f, s])
            for b in range(bins):
                if columns.start[f, ((b + 1) << shift) - 1] <= at:  # no row with a value is left
                    scores[f, s, b] = -np.inf
                if scores[f, s, b] != scores[f, s, b]:
                    return np.int64(f), np.int64(0), np.int64(s), scores[f, s, b]
                low = max(low, scores[f, s, b])
                highest[f, s] = max(highest[f, s], scores[f, s, b])
                inside[f, s] = max(inside[f, s], bounds[f, s, b])
    # where no edge may compete all bins with a bound are looked into
    low = low - 8.0 * slack(low, scorer.ties) if low > -np.inf else LOWEST
    best = np.int64(NOTHING), np.int64(NOTHING), np.int64(NO_SIDE), -np.inf
    for f in range(n_columns):
        sums, counted = every[f % kept], kept > 1
        for s in range(2):
            if not max(highest[f, s], inside[f, s]) >= low:
                continue
            side, start = np.int64(NO_SIDE if lost[f] == 0 or rules.shared else s), columns.start[f]
            if not counted and max(inside[f, 0], inside[f, 1]) >= low:
                count(columns.bin[f], 1, shift, level, objects, sums)
                counted = True
            left[:] = 0.0
            if counted and side == 0:
                add_bin(sums, bins, left)
            for b in range(bins):
                first, stop = start[max(0, (b << shift) - 1)], start[((b + 1) << shift) - 1]
                if first < stop and bounds[f, s, b] >= low:
                    found = scan(
                        (f, first, stop),
                        columns,
                        level,
                        objects,
                        price[f],
                        rules,
                        asked,
                        scorer.ties,
                        best[3],
                        sums,
                        left,
                    )
                    if found[0] >= 0:
                        best = np.int64(f), found[0], side, found[1]
                        if best[3] != best[3]:
                            return best
                elif counted:
                    add_bin(sums, b, left)
                if scores[f, s, b] > bar_of(best[3], scorer.ties):
                    while level.place[columns.order[f, stop - 1]] < 0:
                        stop -= 1
                    best = np.int64(f), np.int64(stop - 1), side, scores[f, s, b]
    return best


@jit(inline=True)
def add_bin(sums, b, left):
    """Add the sums of bin ``b`` at every node to those of the rows left of a cut.

    sums : float64[nodes, bins + 1, cell].
    left : float64[nodes, cell], added to.
    """
    for v in range(len(left)):
        for k in range(left.shape[1]):
            left[v, k] += sums[v, b, k]


def work_for(level):
    """Return memory for the table of one test of two outcomes at one node of the level, in
    registers where its size is known.
    """
    width, n_counts = level.weights.shape[1], level.rows.shape[1]
    if CLASSES > 0 or MOMENTS:
        width, n_counts = (3, 1) if MOMENTS else (CLASSES, CLASSES)
        return Work(
            float_table(2, width + n_counts * ALONE),
            float_table(2, width),
            int_table(2, n_counts),
            float_table(2, 0),
        )
    return Work(
        np.empty((2, width + n_counts * ALONE)),
        np.empty((2, width)),
        np.empty((2, n_counts), np.int64),
        float_table(2, 0),
    )


def add_row(i, at, width, objects, cells):
    """Add row i to flat cells.

    at : unsigned, where its cell begins, and its class behind.
    width : weights in a cell; with ALONE the counts lie behind them.
    """
    w = objects.weight[i] if WEIGHTED else 1.0
    cells[at] += w
    if MOMENTS:
        y = objects.y[i]
        cells[at + np.uintp(1)] += w * y
        cells[at + np.uintp(2)] += w * y * y
    if ALONE:
        cells[at + np.uintp(width)] += objects.rows[i]


def count(codes, base, shift, level, objects, sums):
    """Add up the rows of a level by node and bin; return how many have no value.

    codes : uint[n], a row's bin is (code + base) >> shift, the last one where it has no value.
    level, objects : Level, Objects.
    sums : float64[nodes, bins + 1, cell], written.
    """
    last = sums.shape[1] - 1
    n_lost = 0
    cells = sums.reshape(sums.size)
    size = sums.shape[2]
    width = level.weights.shape[1]
    place, members = level.place, level.members
    cells[:] = 0.0
    for v in range(len(sums)):
        first = v * ((last + 1) * size - width)
        for j in range(level.first[v], level.first[v + 1]):
            i = np.uintp(members[j])
            b = min((np.int64(codes[i]) + base) >> shift, last)
            add_row(i, np.uintp(first + b * size + place[i]), width, objects, cells)
            n_lost += b == last
    return n_lost


def ask(kernel, v, cells, at, lost, level, price, rules, asked, work):
    """Return (state, score times factor) of a test of two outcomes at node v.

    cells[at] : of outcome 0.
    lost : float64[cell], of rows without a value where they go both ways, else empty.
    price : of the test; rules : Rules.
    asked : (depth, total mass, params, impurity) of the level's nodes.
    work : Work, overwritten.
    """
    weights = work.weights
    counts = work.counts
    width = level.weights.shape[1]
    n_counts = level.rows.shape[1]
    if CLASSES > 0 or MOMENTS:
        width, n_counts = (3, 1) if MOMENTS else (CLASSES, CLASSES)
    part, left_rows, right_rows, first = 0.0, 0.0, 0.0, width if ALONE else 0
    if len(lost) > 0:  # what has no value is divided as what has one
        left_mass, known = 0.0, level.mass[v]
        for k in range(1 if MOMENTS else width):
            left_mass += cells[at, k]
            known -= lost[k]
        part = left_mass / known if known > 0.0 else 0.0
    for k in range(n_counts):
        rows = cells[at, first + k] + (part * lost[first + k] if len(lost) > 0 else 0.0)
        left_rows += rows
        right_rows += level.rows[v, k] - rows
        counts[0, k] = np.int64(rows + 0.5)
        counts[1, k] = np.int64(level.rows[v, k] - rows + 0.5)
    if not (left_rows > 0.0 and right_rows > 0.0):
        return EMPTY, 0.0
    left_mass = 0.0
    for k in range(width):
        weights[0, k] = cells[at, k] + (part * lost[k] if len(lost) > 0 else 0.0)
        weights[1, k] = level.weights[v, k] - weights[0, k]
        if ALONE and not MOMENTS and len(lost) == 0 and level.rows[v, k] == cells[at, first + k]:
            weights[1, k] = 0.0  # and not 1e-17
        left_mass += 0.0 if MOMENTS and k > 0 else weights[0, k]
    small = (
        left_rows < rules.rows
        or right_rows < rules.rows
        or left_mass < rules.weight
        or level.mass[v] - left_mass < rules.weight
    )
    if not level.open[v]:
        return (SMALL if small else EMPTY), 0.0
    node = KernelNode(level.mass[v], asked[1], level.impurity[v], asked[0], 0.0, asked[2], asked[3])
    score = level.factor[v] * float(kernel(weights, counts, price, work.extra, node))
    return (SMALL if small else REFUSED if score == -np.inf else SPLIT), score


def edges(kernel, how, sums, level, price, rules, asked, score, bound):
    """Score the tests between the bins of a column at all nodes, and bound what cuts inside a bin
    score.

    how : (THRESHOLDS or EQUALS, the outcome of rows without a value where they go one way).
    sums : float64[nodes, bins + 1, cell], as :func:`count` writes them.
    price : float64[tests].
    asked : as in :func:`ask`.
    score : float64[tests], written, −inf where a test may not compete.
    bound : float64[bins], written with BOUND.  A cut inside a bin has some rows of it left and the
        others right, and no set of them scores more than a vertex: all rows of some classes, or see
        :func:`most_inside`.
    """
    last, width, work = sums.shape[1] - 1, level.weights.shape[1], work_for(level)
    left = work.left
    refused, n_split = np.zeros(len(price), np.bool_), np.zeros(len(price), np.int64)
    score[:] = 0.0
    bound[:] = 0.0 if BOUND else np.inf
    for v in range(len(sums)):
        n_lost = 0.0
        for k in range(sums.shape[2]):
            left[0, k] = 0.0
            n_lost += sums[v, last, k]
        lost = sums[v, last, : sums.shape[2] if rules.shared and n_lost > 0.0 else 0]
        state, one, before = EMPTY, 0.0, 0.0
        for b in range(len(price)):
            present, some, top = 0, 0, before
            for k in range(1 if MOMENTS else width):
                present |= np.int64(sums[v, b, k] > 0.0) << (k if BOUND == VERTICES else 0)
            for k in range(sums.shape[2] if how[0] == EQUALS or b == 0 else 0):
                left[0, k] = sums[v, last, k] if how[1] == 0 and not rules.shared else 0.0
            if BOUND == VARIANCE and present > 0 and level.open[v]:
                top = most_inside(v, left, sums[v, b], lost, level)
            # all choices of the classes that are there; the last is all of them
            while present > 0 or b == 0 or how[0] == EQUALS:
                some = (some - present) & present
                for k in range(sums.shape[2]):
                    left[1, k] = left[0, k] + (
                        sums[v, b, k] if BOUND != VERTICES or (some >> k % width) & 1 == 1 else 0.0
                    )
                state, one = ask(kernel, v, left, 1, lost, level, price[b], rules, asked, work)
                before = np.inf if state == REFUSED else max(one, 0.0)
                top = max(top, before)
                if some == present:
                    break
            for k in range(sums.shape[2]):
                left[0, k] += sums[v, b, k]
            score[b] += one
            refused[b] |= state == SMALL or state == REFUSED
            n_split[b] += state == SPLIT
            if BOUND:
                bound[b] += top
    for b in range(len(price)):
        if refused[b] or n_split[b] == 0 or price[b] == np.inf:
            score[b] = -np.inf


def most_inside(v, left, cell, lost, level):
    """Return what any division of a cell between both sides scores at most by the reduction of
    variance, S the sum about the mean of the node.

    left, cell : float64[1, ·] of the rows left of the cell, float64[·] of those in it.
    lost : float64[·], of rows without a value, which are divided as the others; empty for none.

    The score of (n, S) left of the cut is N S² / (n (N − n)), which is convex.  k rows with moments
    about their mean of 0 and k σ² have subsets (m, d) with m (k − m) σ² ≥ d² (Cauchy–Schwarz): a
    disc, which lies within an octagon, and the score is highest at its vertices.  Where a side has
    no other row that says nothing, but no side's S² / n grows by more than the rows' squares.
    """
    total, mean = level.weights[v, 0], level.weights[v, 1] / level.weights[v, 0]
    gain, shift = 0.0, 0.0  # what rows without a value add to each with one
    if len(lost) > 0 and total > lost[0]:
        gain, shift = lost[0] / (total - lost[0]), (lost[1] - mean * lost[0]) / (total - lost[0])
    n, s = left[0, 0], left[0, 1] - mean * left[0, 0] + shift * left[0, 0]
    k, t = cell[0], cell[1] - mean * cell[0]
    # and rounding
    squares = (
        max(cell[2] - 2.0 * mean * cell[1] + mean * mean * k, 0.0) + 1e-14 * level.weights[v, 2]
    )
    spread = math.sqrt(max(k * squares - t * t, 0.0)) / 2.0
    squares = (squares + 2.0 * shift * t + shift * shift * k) / (1.0 + gain)
    t += shift * k
    n, k, most = n * (1.0 + gain), k * (1.0 + gain), 0.0
    for m, d in OCTAGON:
        here, sum_ = n + m * k, abs(s + m * t) + d * spread
        room = here * (total - here)
        most = max(most, total * sum_ * sum_ / room if room > 0.0 else np.inf)
    rest = total - n - k
    apart = squares + (s * s / n if n > 0.0 else 0.0)
    # of next to nothing the sum is rounding
    apart += (s + t) * (s + t) / rest if rest > 1e-9 * total else 0.0 if rest == 0.0 else np.inf
    return level.factor[v] * (min(most, apart) + 1e-12 * level.weights[v, 2]) / level.total


def scan(kernel, where, columns, level, objects, price, rules, asked, ties, best, sums, left):
    """Score the cuts between rows of a bin; return (position, score) of one that beats ``best``, or
    NOTHING.

    where : column, first position and the one behind the last.
    price : of the test; asked : as in :func:`ask`; ties : how far equal scores may differ.
    sums : of the column's bins.
    left : float64[nodes, cell], rows left of the bin, to which those in it are added.
    """
    (f, low, high), work = where, work_for(level)
    order = columns.order[f]
    values = columns.values[f]
    place = level.place
    width = 3 if MOMENTS else level.weights.shape[1]
    n, size, last_bin, shared = len(left), sums.shape[2], sums.shape[1] - 1, False
    flat = left.reshape(left.size)
    scores = np.zeros(n)
    states = np.zeros(n, np.int64)
    refused, n_split = np.int64(0), np.int64(0)
    total = 0.0
    dirty, waits, n_dirty = np.arange(n), np.ones(n, np.bool_), n
    for v in range(n if rules.shared else 0):
        shared |= sums[v, last_bin].any()
    bar, at, last = bar_of(best, ties), np.int64(NOTHING), np.int64(NOTHING)
    for j in range(low, high):
        i = order[j]
        p = np.int64(place[i])
        if p < 0:
            continue
        if last >= 0 and values[j] > values[last] + rules.gap:
            for d in range(n_dirty):
                v = dirty[d]
                state, one = ask(
                    kernel,
                    v,
                    left,
                    v,
                    sums[v, last_bin, : size if shared else 0],
                    level,
                    price,
                    rules,
                    asked,
                    work,
                )
                was = states[v]
                refused += (state == SMALL or state == REFUSED) - (was == SMALL or was == REFUSED)
                n_split += (state == SPLIT) - (was == SPLIT)
                total = one if n == 1 else total + (one - scores[v])
                states[v], scores[v], waits[v] = state, one, False
            n_dirty = 0
            if refused == 0 and n_split > 0 and not total <= bar:
                at, best = last, total
                if total != total:
                    break
                bar = bar_of(best, ties)
        v, last = p // width if n > 1 else np.int64(0), np.int64(j)
        add_row(np.uintp(i), np.uintp(p + v * (size - width)), width, objects, flat)
        if not waits[v]:
            dirty[n_dirty], waits[v] = v, True
            n_dirty += 1
    return at, best


@jit
def arrange(values, bits, gap, columns):
    """Sort raw columns, and lay bins that hold about as many rows as others and do not end between
    equal values.

    values : float[columns, k], C-contiguous, NaN = missing.
    bits : the same memory as integers.
    gap : neighbours not further apart are not separated.
    columns : :class:`Columns`, written.
    """
    for f in range(len(values)):
        order = columns.order[f]
        ordered = columns.values[f]
        codes = columns.bin[f]
        start = columns.start[f]
        order[:] = sorted_rows(values[f], bits[f])
        known, at, last = np.int64(0), np.int64(0), len(start) - 1
        for j in range(len(order)):
            ordered[j] = values[f, order[j]]
            known += ordered[j] == ordered[j]
        for b in range(last):
            start[b], stop = at, max(at, known * (b + 1) // last)
            while at < stop < known and not ordered[stop] > ordered[stop - 1] + gap:
                stop += 1
            for j in range(at, stop):
                codes[order[j]] = b
            at = stop
        for j in range(at, len(order)):
            codes[order[j]] = last
        start[last], columns.known[f] = at, known


def score_coded(kernel, feature, codes, level, objects, price, rules, scorer, found):
    """Score all tests of a coded feature at all nodes; return the heaviest of its bins, and how
    many rows have no value.

    feature : (family, number of bins).
    codes : uint[n]; those behind the last bin stand for no value.
    price : float64[tests].
    rules : Rules; scorer : see :mod:`arboretum.kernels.tables`.
    found : float64[2, tests], written: the level's score with rows without a value in outcome 0,
        and in 1; −inf where a test may not compete.  Of a multiway test they are in the heaviest
        bin, and the second is −inf; so it is, too, where there is only one way.
    """
    (family, bins), n, heaviest = feature, len(level.mass), 0
    size = level.weights.shape[1] + level.rows.shape[1]
    sums, none = np.empty((n, bins + 1, size)), np.empty(len(price))
    n_lost = count(codes, 0, 0, level, objects, sums)
    masses = (
        sums[:, :bins, 0].sum(axis=0)
        if MOMENTS
        else sums[:, :bins, : level.weights.shape[1]].sum(axis=2).sum(axis=0)
    )
    heaviest = np.int64(np.argmax(masses))
    asked = (level.depth, level.total, scorer.params, impurity_at(scorer.impurity))
    found[:] = -np.inf
    if family == MULTIWAY:
        found[0, 0] = all_bins(kernel, heaviest, sums, level, price[0], rules, asked)
    for s in range((2 if n_lost > 0 and not rules.shared else 1) if family != MULTIWAY else 0):
        edges((family, s), sums, level, price, rules, asked, found[s], none)
    return heaviest, n_lost


def all_bins(kernel, to, sums, level, price, rules, asked):
    """Return the level's score of the test with an outcome for each bin; −inf where it may not
    compete.

    to : outcome of rows without a value.
    sums : float64[nodes, bins + 1, cell], the last bin without a value.
    price : of the test; asked : as in :func:`ask`.
    """
    bins, width, total, n_split = sums.shape[1] - 1, level.weights.shape[1], 0.0, 0
    weights = np.empty((bins, width))
    counts = np.empty((bins, level.rows.shape[1]), np.int64)
    extra = np.empty((bins, 0))
    for v in range(len(sums)):
        cells, lost, present, small = sums[v], sums[v, bins], 0, False
        known = level.mass[v] - (lost[0] if MOMENTS else lost[:width].sum())
        for b in range(bins):
            own = cells[b, 0] if MOMENTS else cells[b, :width].sum()
            here = cells[b] + lost * (
                (own / known if known > 0.0 else 0.0) if rules.shared else 1.0 if b == to else 0.0
            )
            rows, heavy = here[width:].sum(), here[0] if MOMENTS else here[:width].sum()
            weights[b], counts[b] = here[:width], (here[width:] + 0.5).astype(np.int64)
            present += rows > 0.0
            small |= rows > 0.0 and (rows < rules.rows or heavy < rules.weight)
        if small:
            return -np.inf
        if level.open[v] and present > 1:
            node = KernelNode(
                level.mass[v], asked[1], level.impurity[v], asked[0], 0.0, asked[2], asked[3]
            )
            total += level.factor[v] * float(kernel(weights, counts, price, extra, node))
            n_split += 1
    return total if n_split > 0 and price < np.inf else -np.inf
