"""Coded features of a node: counted by bin, and their tests scored or listed::

    count_bins, for each feature that is not sorted:
        for each row of the node: bin[offset + code of the row, class] += its weight and count
    scan_multiway: put one table with a row per bin; the heaviest one has the missing rows, too
    scan_binary:
        all ← Σ of the bins of known values;  left ← 0
        for each bin b of known values (for thresholds, but the last):
            left ← left + bin b;  for EQUALS, left ← bin b
            if left is nothing or all, or as it was at the test before, at the same price: next
            for side in (0, 1) if rows lack a value, else NO_SIDE:
                if both outcomes are large enough: put (left, all − left), missing rows on that side

With ``Allowed.constant`` tests that divide nothing compete, too, unless they were asked on the
path.  A COUNTED raw column has one test more: known against missing values.

Invariants:

- Feature f has the bins offset[f] … offset[f + 1] − 1, by code; with ``has_missing`` the last one
  counts missing values.  A sorted column has none that are read.
- ``Bins.weights`` is empty where all objects weigh 1 and count once: then weights are counts.  Bins
  of features that were not chosen are stale.
- Tests of f have the prices from price_offset[f] on, by bin; ∞ is what cannot be paid, and such a
  table is written, but not counted (``block.named``).
- Room in the block is made before a table is written (``block.make_room``).
- A scan says whether its feature may divide a node further down: whether two of its bins have rows
  (of COUNTED columns the missing one, too), or tests that divide nothing compete.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from arboretum.kernels.block import flush, make_room, named, reset
from arboretum.kernels.function_pointers import call_column
from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.tables import (
    NO_SIDE,
    Least,
    Scorer,
    Ties,
    add_moments,
    mass_of,
    scoring_of,
)

MULTIWAY, THRESHOLDS, EQUALS, SORTED, COUNTED = 0, 1, 2, 3, 4
"""Families of features.  A raw column with a test at every cut, also between known and missing
values, is sorted, or counted by value.
"""

Features = namedtuple(
    "Features",
    "codes row_stride column_stride column family offset has_missing price_offset prices "
    "owner order reach close",
)
"""What may be asked, in the order in which ties are broken.

codes : uint16[·], flat, with strides in elements.
column : int64[F], a feature's place in ``codes``, or in ``order``.
family : int64[F].
offset : int64[F + 1], bins.
has_missing : bool[F].
price_offset : int64[F], where the prices of a feature's tests begin in prices float64[·]; a sorted
    column has one.
owner : int64[F], number of the raw column.
order, reach, close : uint64[columns, n], int32[columns, n], bool[columns], of the sorted columns
    (:func:`arboretum.kernels.runs.rank_columns`).
"""

NO_CODES = np.zeros(0, np.uint16), 0, 0
NO_RUNS = np.zeros((0, 0), np.uint64), np.zeros((0, 0), np.int32), np.zeros(0, np.bool_)

Bins = namedtuple(
    "Bins", "weights counts extra all_w all_c all_e left_w left_c left_e picked values"
)
"""A node's objects by bin: weights float64[bins, width] (empty where they are counts), counts
int64[bins, count width], and the criterion's own columns float64[bins, k].

all_*, left_* : scratch, sums over the known bins of a feature.
picked, values : scratch for :func:`count_column`.
"""


class Allowed(NamedTuple):
    """Which tests compete at a node.

    least : what a branch must have.
    constant : those with one outcome too, but for tests asked before on the path, ``asked``
        bool[·], by their places in the prices (else empty).
    free : bool[F], whether a feature's column has been paid for.
    """

    least: Least
    constant: bool
    asked: np.ndarray
    free: np.ndarray


def bins_for(weights: np.ndarray, counts: np.ndarray, extra: np.ndarray, n_rows: int = 0) -> Bins:
    """Put counted bins together with scratch memory for scans of them, not filled in.

    weights : float64[bins, width], with no rows where weights are counts.
    counts : int64[bins, count width].
    extra : float64[bins, k], the criterion's own columns.
    n_rows : most objects of a node, where such a column is counted by its kernel; else 0.
    """
    w, c, e = weights.shape[1], counts.shape[1], extra.shape[1]
    return Bins(
        weights,
        counts,
        extra,
        np.empty(w),
        np.empty(c, np.int64),
        np.empty(e),
        np.empty(w),
        np.empty(c, np.int64),
        np.empty(e),
        np.empty(n_rows, np.int32),
        np.empty(n_rows),
    )


@inline
def count_bins(features, chosen, rows, objects, bins):
    """Add up a node's rows by bin and class, into ``bins.counts`` and, unless all objects are
    units, ``bins.weights``.

    chosen : int[·], features to count; of the others the bins keep what they hold.  Sorted ones are
        left out.
    rows : int32[m], the node's objects.
    objects : :class:`arboretum.kernels.tables.Objects`; without labels moments of y are added up.
    """
    label = objects.label
    y = objects.y
    weight = objects.weight
    count = objects.count
    unit = objects.unit
    across, down = np.uintp(features.column_stride), np.uintp(features.row_stride)
    by_class = len(label) > 0
    bin_w, bin_c = bins.weights, bins.counts
    for f in chosen:
        if features.family[f] == SORTED:
            continue
        base, first = np.uintp(features.column[f]) * across, np.uintp(features.offset[f])
        for b in range(features.offset[f], features.offset[f + 1]):
            for k in range(bin_c.shape[1]):
                bin_c[b, k] = 0
            for k in range(bin_w.shape[1] if len(bin_w) > 0 else 0):
                bin_w[b, k] = 0.0
        for row in rows:
            i = np.uintp(row)
            b = first + np.uintp(features.codes[base + i * down])
            if by_class:
                k = np.uintp(label[i])
                if unit:
                    bin_c[b, k] += 1
                else:
                    bin_w[b, k] += weight[i]
                    bin_c[b, k] += count[i]
            else:
                add_moments(bin_w, b, weight[i], y[i])
                bin_c[b, 0] += count[i]


@inner
def count_column(features, rows, objects, column_address, node, bins):
    """Add up the criterion's own column by bin, into ``bins.extra``, over the rows where it is not
    0; False if some value is not finite.

    column_address : of the criterion's ``column`` kernel.
    node : the KernelNode that it is asked at.
    All features are counted, chosen or not; none is sorted where a criterion has a column.
    """
    n = call_column(
        column_address, rows, objects.weight, objects.label, node, bins.picked, bins.values
    )
    across, down = np.uintp(features.column_stride), np.uintp(features.row_stride)
    bins.extra[:] = 0.0
    for f in range(len(features.column)):
        base, first = np.uintp(features.column[f]) * across, np.uintp(features.offset[f])
        for j in range(n):
            bins.extra[
                first + np.uintp(features.codes[base + np.uintp(bins.picked[j]) * down]), 0
            ] += bins.values[j]
    return n >= 0


@inline
def rows_of(counts, b):
    """Return how many rows are in bin b: its counts summed over the classes."""
    n = counts[b, 0]
    for k in range(1, counts.shape[1]):
        n += counts[b, k]
    return n


@inline
def weight_of(weights, counts, b):
    """Return the weight of bin b; its rows where ``weights`` is empty, as every object then weighs
    1.
    """
    if len(weights) == 0:
        return np.float64(rows_of(counts, b))
    return mass_of(weights, b, counts.shape[1] != weights.shape[1])


@inline
def scan_multiway(f, features, bins, allowed, block, scoring):
    """Put the table of a multiway test into the block, if it is allowed; its heaviest outcome takes
    the missing rows.

    Returns whether the feature may divide a node further down, which a test that is too small here
    may.
    """
    first = features.offset[f]
    stop = features.offset[f + 1] - features.has_missing[f]
    least = allowed.least
    bin_w, bin_c, bin_e = bins.weights, bins.counts, bins.extra
    units, width, count_width = len(bin_w) == 0, block.shaped_w.shape[2], block.shaped_c.shape[2]
    number = features.price_offset[f]
    if allowed.constant and allowed.asked[number]:
        return True
    missing, lost = np.int64(0), 0.0
    if features.has_missing[f]:
        missing, lost = rows_of(bin_c, stop), weight_of(bin_w, bin_c, stop)
    present, at, heaviest = 0, np.int64(0), -1.0
    lightest, smallest = np.inf, np.int64(np.iinfo(np.int64).max)
    for b in range(first, stop):
        here = rows_of(bin_c, b)
        if here == 0:
            continue
        present += 1
        mass = np.float64(here) if units else weight_of(bin_w, bin_c, b)
        if mass > heaviest:
            if present > 1:  # the former heaviest gets no missing rows after all
                lightest = min(lightest, heaviest)
                smallest = min(smallest, rows_of(bin_c, first + at))
            heaviest, at = mass, b - first
        else:
            lightest, smallest = min(lightest, mass), min(smallest, here)
    if present < 2 and not allowed.constant:
        return False
    here = rows_of(bin_c, first + at) + missing
    if here > 0:
        smallest, lightest = min(smallest, here), min(lightest, max(heaviest, 0.0) + lost)
    if smallest < least.rows or lightest < least.weight:
        return True
    arity = stop - first
    t = make_room(arity, block, scoring)
    w, c, e = t * arity * width, t * arity * count_width, t * arity * bin_e.shape[1]
    for b in range(first, stop):
        takes = missing > 0 and b - first == at
        for k in range(count_width):
            n = bin_c[b, k] + (bin_c[stop, k] if takes else 0)
            block.counts[c] = n
            c += 1
            if units:
                block.weights[w] = n
                w += 1
        if not units:
            for k in range(width):
                block.weights[w] = bin_w[b, k] + (bin_w[stop, k] if takes else 0.0)
                w += 1
        for k in range(bin_e.shape[1]):
            block.extra[e] = bin_e[b, k] + (bin_e[stop, k] if takes else 0.0)
            e += 1
    named(
        t,
        f,
        0,
        at if missing > 0 else NO_SIDE,
        0.0 if allowed.free[f] else features.prices[number],
        block,
    )
    return True


@inner
def scan_binary(f, features, bins, allowed, block, scoring):
    """Put the tables of the two-outcome tests of a feature into the block; where rows lack a value,
    each with them in outcome 0, then in 1.

    ``bins.all_*`` and ``bins.left_*`` are overwritten.
    Returns whether one of the tests may divide a node further down.
    """
    prices = features.prices
    bin_w = bins.weights
    bin_c = bins.counts
    bin_e = bins.extra
    least = allowed.least
    all_w = bins.all_w
    all_c = bins.all_c
    all_e = bins.all_e
    left_w = bins.left_w
    left_c = bins.left_c
    left_e = bins.left_e
    width, count_width, by_class = len(all_w), len(all_c), len(all_w) == len(all_c)
    out_w, out_c, out_e = block.weights, block.counts, block.extra
    units, cuts = len(bin_w) == 0, features.family[f] != EQUALS
    first, stop = features.offset[f], features.offset[f + 1] - features.has_missing[f]
    missing = rows_of(bin_c, stop) if features.has_missing[f] else np.int64(0)
    parted = features.family[f] == COUNTED and missing > 0  # known against missing is a test, too
    for k in range(count_width):
        all_c[k], left_c[k] = 0, 0
    for k in range(width):
        all_w[k], left_w[k] = 0.0, 0.0
    for k in range(len(all_e)):
        all_e[k], left_e[k] = 0.0, 0.0
    present = 0
    for b in range(first, stop):
        here = np.int64(0)
        for k in range(count_width):
            here += bin_c[b, k]
            all_c[k] += bin_c[b, k]
        present += here > 0
        if not units:
            for k in range(width):
                all_w[k] += bin_w[b, k]
        for k in range(len(all_e)):
            all_e[k] += bin_e[b, k]
    if present + parted < 2 and not allowed.constant:
        return False
    known = np.int64(0)
    for k in range(count_width):
        known += all_c[k]
    if units:
        for k in range(width):
            all_w[k] = all_c[k]
    for b in range(first, stop - 1 if cuts and not parted else stop):
        last = parted and b == stop - 1
        here, left = np.int64(0), np.int64(0)
        for k in range(count_width):
            here += bin_c[b, k]
            left_c[k] = left_c[k] + bin_c[b, k] if cuts else bin_c[b, k]
            left += left_c[k]
        for k in range(width):
            w = np.float64(bin_c[b, k]) if units else bin_w[b, k]
            left_w[k] = left_w[k] + w if cuts else w
        for k in range(len(left_e)):
            left_e[k] = left_e[k] + bin_e[b, k] if cuts else bin_e[b, k]
        test = features.price_offset[f] + b - first
        if allowed.constant:
            if allowed.asked[test]:
                continue
        elif not last and (
            left == 0 or left == known or (here == 0 and prices[test] == prices[test - 1])
        ):
            continue  # no division, or that of the test before it at the same price
        for s in range(1 if last else 0, 2 if missing > 0 else 1):
            a = left + (missing if s == 0 else 0)
            c = known + missing - a
            if 0 < a < least.rows or 0 < c < least.rows:
                continue
            if least.weight > 0.0:
                lost = weight_of(bin_w, bin_c, stop) if missing > 0 else 0.0
                mass, rest = (lost if s == 0 else 0.0), lost
                for k in range(width if by_class else 1):
                    mass += left_w[k]
                    rest += all_w[k]
                rest -= mass
                if (a > 0 and mass < least.weight) or (c > 0 and rest < least.weight):
                    continue
            t = make_room(2, block, scoring)
            more = missing > 0  # bin ``stop`` goes to outcome s
            for k in range(count_width):
                at, n = 2 * t * count_width + k, bin_c[stop, k] if more else np.int64(0)
                out_c[at] = left_c[k] + (0 if s else n)
                out_c[at + count_width] = all_c[k] - left_c[k] + (n if s else 0)
            for k in range(width):
                at, heavy = 2 * t * width + k, 0.0
                if more:
                    heavy = np.float64(bin_c[stop, k]) if units else bin_w[stop, k]
                # where no row is left the difference is set to 0, so that rounding cannot leave
                # 1e-17 of a class behind
                gone = all_c[k] == left_c[k] if by_class else left == known
                out_w[at] = left_w[k] + (0.0 if s else heavy)
                out_w[at + width] = (0.0 if gone else all_w[k] - left_w[k]) + (heavy if s else 0.0)
            for k in range(len(left_e)):
                at, heavy = 2 * t * len(left_e) + k, bin_e[stop, k] if more else 0.0
                out_e[at] = left_e[k] + (0.0 if s else heavy)
                out_e[at + len(left_e)] = (all_e[k] - left_e[k] if left < known else 0.0) + (
                    heavy if s else 0.0
                )
            named(
                t,
                f,
                b - first,
                s if missing > 0 else NO_SIDE,
                0.0 if allowed.free[f] else prices[test],
                block,
            )
    return True


@jit
def scan_coded(features, chosen, bins, allowed, scorer, block, skipped, found):
    """Score the tests of the chosen features, the best of which then stands in ``block.state``;
    without a kernel (``scorer.batch`` is 0) list those after the first ``skipped`` ones, as many
    as the block holds.

    chosen : int64[·], features, none of them sorted; their bins have been counted.
    scorer : :class:`arboretum.kernels.tables.Scorer`.
    found : int64[len(chosen)], receives how many tests of each compete; meaningful where they are
        listed alone, since a block that is scored starts to count anew.
    """
    scoring, state = scoring_of(scorer), block.state[0]
    reset(block)
    state.skipped = skipped
    for at in range(len(chosen)):
        f, before = chosen[at], state.used
        if features.family[f] == MULTIWAY:
            scan_multiway(f, features, bins, allowed, block, scoring)
        else:
            scan_binary(f, features, bins, allowed, block, scoring)
        found[at] = state.used - before
    flush(block, scoring)


@jit
def scan_nodes(features, chosen, tables, allowed, scorer, nodes, bins, block, found):
    """Score the tests of many nodes, each as :func:`scan_coded` does one.

    features, chosen, allowed : the same at all of them.
    tables : (float64[nodes, bins, width] weights, of no node where they are counts, and
        integers[nodes, bins, count width] counts).
    scorer : whose scalars and floor of ties are those of no node.
    nodes : (float64[nodes, 5], scalars of each, and float64[nodes], the floor of ties).
    bins : memory for the bins of a node.
    found : STATE[nodes], receives what is known of each.
    """
    (weights, counts), (scalars, floor) = tables, nodes
    tests = np.empty(len(chosen), np.int64)
    for i in range(len(counts)):
        for b in range(counts.shape[1]):
            for k in range(counts.shape[2]):
                bins.counts[b, k] = counts[i, b, k]
        if len(weights) > 0:
            bins.weights[:] = weights[i]
        ties = Ties(scorer.ties.relative, floor[i])
        one = Scorer(scorer.batch, scalars[i], scorer.params, scorer.impurity, ties)
        scan_coded(features, chosen, bins, allowed, one, block, 0, tests)
        state = block.state[0]
        found[i].feature, found[i].index, found[i].side = state.feature, state.index, state.side
        found[i].best, found[i].broken = state.best, state.broken


@jit
def outcomes_of(codes, row_stride, base, rows, family, index, n_bins, side, out):
    """Write the outcome of each row under a test to ``out``, int32[len(rows)].

    codes : flat memory of a matrix, whose column begins at ``base``; strides in elements.
    index : of the test in its feature.
    n_bins : number of codes of known values, which is the code of a missing one.
    side : outcome of rows without a value.
    """
    down, start = np.uintp(row_stride), np.uintp(base)
    for j in range(len(rows)):
        out[j] = outcome(
            np.int64(codes[start + np.uintp(rows[j]) * down]), family, index, n_bins, side
        )


@inline
def outcome(code, family, index, known, side):
    """Return where a test sends a code.

    family : MULTIWAY: outcome = code; EQUALS: 0 where code = index; else 0 where code ≤ index.
    known : number of codes of known values; from there on the value is missing, and the outcome is
        ``side``.
    """
    if code >= known:
        return np.int64(side)
    if family == MULTIWAY:
        return code
    return np.int64(code != index) if family == EQUALS else np.int64(code > index)
