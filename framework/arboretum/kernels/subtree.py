"""The whole subtree of a node in one call: for coded features, raw columns and both, and a criterion in kernel form.

It finds what the loop finds: the same tests compete in the same order, by the same rules of ties, prices and missing values.  Coded
features, and raw columns of few values, are counted anew at every node (:mod:`arboretum.kernels.coded`); other raw columns are sorted once,
and their runs divided from node to node (:mod:`arboretum.kernels.runs`).  A feature that is constant at a node is not looked at
again further down.  Nothing is allocated per node.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from arboretum.kernels.block import BROKEN, FEATURE, INDEX, SIDE, block_for, flush
from arboretum.kernels.coded import (
    MULTIWAY, SORTED, Allowed, Features, bins_for, count_bins, count_column, outcome, scan_binary, scan_multiway,
)  # fmt: skip
from arboretum.kernels.function_pointers import call_impurity, impurity_at
from arboretum.kernels.jit import jit
from arboretum.kernels.kernel_decorators import KernelNode
from arboretum.kernels.runs import MISSING, MOST_CLASSES, OBJECT, PROBED, TO_RANK, divide_run, probe, scan_run
from arboretum.kernels.sorting import split_many, split_two, take_back
from arboretum.kernels.tables import NO_SIDE, Ask, Least, Ties, add_moments, mass_of, slack

EPS = 2.0**-52
FOUND_NAN = -1  # the criterion returned NaN or +inf somewhere, or its own column a value that is not finite
NODE_WORK = 50  # what a node costs per feature besides its objects, in objects

LEVELS = 64
"""Lists of features that are not constant which a path may need, each shorter than the one above; without room for another, a node goes
by the list of its parent."""

Members = namedtuple("Members", "label y weight count unit n_rows")
"""What is added up, by object; label or y is empty.   unit : all weigh 1 and count once.   n_rows : int64[n], rows that each object
stands for, where ``count`` is something else; else empty."""


class Rules(NamedTuple):
    """Which nodes and branches are allowed.

    max_depth : −1 without one.   min_leaf, min_weight : rows and weight of a branch.   min_split, min_objects : rows and objects that a node
    needs to be divided.   light, mixed : weight, and impurity, at or below which a node is a leaf.   bounded : a score must be above
    ``least``.   allow_constant : tests with one outcome compete.   once : asked columns are free further down.   total : weight of
    the root.   corners : the criterion is quasi-convex in the class weights of an outcome.
    """

    max_depth: int
    min_leaf: int
    min_weight: float
    min_split: int
    min_objects: int
    light: float
    mixed: float
    bounded: bool
    least: float
    allow_constant: bool
    once: bool
    total: float
    corners: bool
    max_cost: float


Above = namedtuple("Above", "depth asked paid spent listed")
"""The path to the given node.   asked : bool[·], by place in ``prices``, whether a test was asked; empty without allow_constant.
paid : bool[F], whether a feature's column was asked.   spent : float, what it has paid.   listed : float64[·], the prices, of which the kernel
makes ∞ what a path cannot pay any more; empty without ``max_cost``.   depth : int."""


class Scorer(NamedTuple):
    """batch, impurity, column : addresses, 0 without a column of the criterion's own.   relative : tolerance of ties.   floor : the same per impurity of a node."""

    batch: int
    params: np.ndarray
    impurity: int
    column: int
    relative: float
    floor: float


Nodes = namedtuple("Nodes", "feature index side parent branch beyond price score impurity weights counts n_rows segment stack")
"""Written, one entry per node, the given node first; children have consecutive numbers.

feature : −1 at a leaf.   index : of the test; for a raw column the rank below the cut, and in ``beyond`` the rank (or code) above it.
branch : outcome of the parent's test.   rows : int64[·], empty without ``n_rows``.   segment : int64[·, 5], where the node's objects
lie in ``rows``, its depth, and its features worth looking at.   stack : int32[·], the nodes that are open.
"""

Runs = namedtuple("Runs", "left_w left_c lost_w lost_c all_c bound before spare")
"""Scratch of sorted columns: sums left of a cut and of missing entries, the node's counts, bounds of pieces and counts before them."""

Scratch = namedtuple("Scratch", "bins block runs lists free spare goes start")
"""Memory for :func:`grow_subtree`: Bins, Block, Runs, then arrays.   lists : features worth looking at: a node's lie in lists[first : stop]."""


def scratch_for(features: Features, n_rows: int, width: int, count_width: int, by_units: bool, own: int) -> Scratch:
    """Memory for subtrees over at most ``n_rows`` objects.   by_units : weights are counts.   own : columns of the criterion's own, 0 or 1.

    Made by NumPy: a kernel that makes the arrays it hands on counts references to each of them, and takes longer to compile than some
    that grow.
    """
    n_features, n_columns, bins = len(features.family), len(features.order), int(features.offset[-1])
    arity = max([2, *np.diff(features.offset)[features.family == MULTIWAY].tolist()])
    counted = bins_for(
        np.empty((0 if by_units else bins, width)), np.empty((bins, count_width), np.int64), np.empty((bins, own)), n_rows * own
    )  # fmt: skip
    pieces = n_rows // 16 + 1
    runs = Runs(
        np.empty(width), np.empty(count_width, np.int64), np.empty(width), np.empty(count_width, np.int64), np.empty(count_width, np.int64),
        np.empty((n_columns, pieces)), np.empty((n_columns, pieces, count_width), np.int32), np.empty(n_rows * (n_columns > 0), np.uint64),
    )  # fmt: skip
    lists = np.empty(min(n_features * (n_features + 3) // 2, LEVELS * n_features) + 1, np.int32)
    return Scratch(
        counted, block_for(arity, width, count_width, own), runs, lists, np.zeros(n_features, np.bool_), np.empty(n_rows, np.int32),
        np.empty(n_rows, np.uint16), np.empty(arity + 1, np.int64),
    )  # fmt: skip


@jit(borrow=True)
def grow_subtree(features, rows, most_work, above, objects, rules, scorer, nodes, scratch):
    """Grow depth first until every node is a leaf; return the number of nodes, or FOUND_NAN, and how many are left open.

    rows : int32[m], the objects of the given node; divided in place.   most_work : values looked at, roughly, after which the open nodes are
    left, as they are where there is no room for more (at least one node is divided); they stand in ``nodes.stack``.
    """
    family, segment, lists, block = features.family, nodes.segment, scratch.lists, scratch.block
    state, bins, runs, free = block.state, scratch.bins, scratch.runs, scratch.free
    by_class, n_runs = len(objects.label) > 0, len(features.order)
    width = nodes.weights.shape[1]
    impurity_of = impurity_at(scorer.impurity)
    allowed = Allowed(Least(rules.min_leaf, rules.min_weight), rules.allow_constant, above.asked, free)
    nodes.parent[0], nodes.branch[0] = -1, 0
    for f in range(len(family)):
        lists[f] = f
    segment[0, 0], segment[0, 1], segment[0, 2], segment[0, 3], segment[0, 4] = 0, len(rows), above.depth, 0, len(family)
    n, work = np.int64(1), np.int64(0)
    waiting = describe(n - 1, n, rows, n - 1, objects, rules, scorer.impurity, nodes)
    while waiting > 0 and (n == 1 or work < most_work):
        waiting -= 1
        v = np.int64(nodes.stack[waiting])
        low, high, first, stop = segment[v, 0], segment[v, 1], segment[v, 3], segment[v, 4]
        work += (high - low + NODE_WORK) * (stop - first)
        count_bins(features, lists[first:stop], rows[low:high], objects, bins)
        if rules.once:
            mark_paid(v, features.owner, nodes, above.paid, free)
        if len(above.listed) > 0:
            bar_prices(v, nodes, above, rules.max_cost, features.prices)
        if rules.allow_constant:
            mark_asked(v, features, nodes, above.asked, True)
        mass = mass_of(nodes.weights, v, not by_class)
        node = KernelNode(mass, rules.total, nodes.impurity[v], segment[v, 2], 0.0, scorer.params, impurity_of)
        if scorer.column != 0 and not count_column(features, rows[low:high], objects, scorer.column, node, bins):
            return np.int64(FOUND_NAN), np.int64(0)
        floor = scorer.floor * abs(nodes.impurity[v]) if np.isfinite(nodes.impurity[v]) else 0.0
        ask = Ask(node, scorer.batch, Ties(scorer.relative, floor), 1.0)
        state[:] = 0
        state[FEATURE], block.best[0] = -1, -np.inf
        bar = np.nan
        if n_runs > 0 and rules.corners and high - low >= PROBED and objects.unit and by_class and width <= MOST_CLASSES and rules.min_weight == 0.0:
            bar = -np.inf
            for k in range(width):
                runs.all_c[k] = nodes.counts[v, k]
            for at in range(first, stop):
                f = lists[at]
                price = 0.0 if free[f] else features.prices[features.price_offset[f]]
                if family[f] == SORTED and price < np.inf:
                    bar = max(bar, probe(features.column[f], features, low, high, price, rules.min_leaf, runs, block, ask))
            bar -= 8.0 * slack(bar, ask.ties) if bar > -np.inf else 0.0
        kept, room = np.int64(0), 2 * stop - first <= len(lists)
        for at in range(first, stop):
            f = lists[at]
            if family[f] == MULTIWAY:
                alive = scan_multiway(f, features, bins, allowed, block, ask)
            elif family[f] == SORTED:
                price = 0.0 if free[f] else features.prices[features.price_offset[f]]  # ∞: it may be free further down
                whole = (nodes.weights[v], nodes.counts[v])
                alive = price == np.inf or scan_run(f, features, low, high, objects, whole, rules, price, bar, runs, block, ask)
            else:
                alive = scan_binary(f, features, bins, allowed, block, ask)
            if alive and room:
                lists[stop + kept] = f
                kept += 1
        flush(block, ask)
        if rules.allow_constant:
            mark_asked(v, features, nodes, above.asked, False)
        if state[BROKEN] or block.best[0] == np.inf:
            return np.int64(FOUND_NAN), np.int64(0)
        if state[FEATURE] < 0 or (rules.bounded and not block.best[0] > rules.least + floor):
            continue
        f = state[FEATURE]
        outcomes = features.offset[f + 1] - features.offset[f] - features.has_missing[f] if family[f] == MULTIWAY else 2
        start = scratch.start[: outcomes + 1]
        beyond = divide(features, f, state[INDEX], state[SIDE], rows, low, high, start, scratch)
        born = n
        for o in range(outcomes):
            n += start[o] < start[o + 1]
        if n > len(nodes.feature):
            n = born
            nodes.stack[waiting] = v
            waiting += 1
            break
        nodes.feature[v], nodes.side[v], nodes.score[v], nodes.beyond[v] = f, state[SIDE], block.best[0], beyond
        nodes.index[v], test = state[INDEX], state[INDEX]
        if family[f] == SORTED:
            nodes.index[v], test = features.order[features.column[f], low + state[INDEX]] >> TO_RANK, 0
        nodes.price[v] = 0.0 if free[f] else features.prices[features.price_offset[f] + test]
        if room and kept < stop - first:
            first, stop = stop, stop + kept
        c = born
        for o in range(outcomes):
            if start[o] < start[o + 1]:
                nodes.parent[c], nodes.branch[c] = v, o
                segment[c, 0], segment[c, 1], segment[c, 2], segment[c, 3], segment[c, 4] = (
                    low + start[o], low + start[o + 1], segment[v, 2] + 1, first, stop,
                )  # fmt: skip
                c += 1
        before = waiting
        waiting = describe(born, n, rows, waiting, objects, rules, scorer.impurity, nodes)
        wanted = 0
        for at in range(before, waiting):
            wanted |= 1 << nodes.branch[nodes.stack[at]] if outcomes == 2 else 4
        if n_runs > 0 and wanted > 0:
            for at in range(first, stop):
                if family[lists[at]] == SORTED:
                    divide_run(features.order[features.column[lists[at]], low:high], scratch.goes, start, wanted, runs.spare)
    return n, waiting


@jit(inner=True, borrow=True)
def describe(first, stop, rows, waiting, objects, rules, impurity_address, nodes):
    """Add up the objects of nodes ``first … stop − 1`` and start them as leaves; put those that may be divided on the
    stack, and return its height."""
    label, y, weight, count, unit, rows_each = objects
    weights, counts = nodes.weights, nodes.counts
    by_class = len(label) > 0
    width, count_width = weights.shape[1], counts.shape[1]
    for v in range(first, stop):
        low, high, depth = nodes.segment[v, 0], nodes.segment[v, 1], nodes.segment[v, 2]
        nodes.feature[v], nodes.index[v], nodes.side[v], nodes.price[v], nodes.score[v] = -1, 0, NO_SIDE, 0.0, np.nan
        for k in range(width):
            weights[v, k] = 0.0
        for k in range(count_width):
            counts[v, k] = 0
        for j in range(low, high):
            i = np.uintp(rows[j])
            if not by_class:
                add_moments(weights, v, weight[i], y[i])
                counts[v, 0] += count[i]
            elif unit:
                counts[v, np.uintp(label[i])] += 1
            else:
                weights[v, np.uintp(label[i])] += weight[i]
                counts[v, np.uintp(label[i])] += count[i]
        n_rows, classes = np.int64(0), 0
        for k in range(count_width):
            n_rows += counts[v, k]
            classes += counts[v, k] > 0
            if unit and by_class:
                weights[v, k] = counts[v, k]
        if len(rows_each) > 0:
            n_rows = 0
            for j in range(low, high):
                n_rows += rows_each[rows[j]]
            nodes.n_rows[v] = n_rows
        mass = mass_of(weights, v, not by_class)
        nodes.impurity[v] = call_impurity(impurity_address, weights[v])
        pure = classes <= 1
        if not by_class:
            for j in range(low + 1, high):
                if y[rows[j]] != y[rows[low]]:
                    pure = False
                    break
        if not (
            pure or depth == rules.max_depth or n_rows < 2 * rules.min_leaf or n_rows < rules.min_split
            or mass < 2.0 * rules.min_weight or mass <= rules.light or nodes.impurity[v] <= rules.mixed
            or high - low < rules.min_objects
        ):  # fmt: skip
            nodes.stack[waiting] = v
            waiting += 1
    return waiting


@jit(inner=True, borrow=True)
def bar_prices(v, nodes, above, max_cost, prices):
    """Write the prices at node v: ∞ where its path cannot pay them any more (Limits.most_paid)."""
    spent, up = above.spent, nodes.parent[v]
    while up >= 0:
        spent += nodes.price[up]
        up = nodes.parent[up]
    most = max_cost * (1.0 + (nodes.segment[v, 2] + 3) * EPS)
    for i in range(len(prices)):
        prices[i] = above.listed[i] if spent + above.listed[i] <= most else np.inf


@jit(inner=True, borrow=True)
def mark_paid(v, owner, nodes, paid, free):
    """Say of each feature whether its column was asked on the path to node v."""
    for f in range(len(free)):
        free[f] = paid[f]
    up = nodes.parent[v]
    while up >= 0:
        column = owner[nodes.feature[up]]
        for f in range(len(owner)):
            free[f] |= owner[f] == column
        up = nodes.parent[up]


@jit(inner=True, borrow=True)
def mark_asked(v, features, nodes, asked, value):
    """Say of the tests asked on the path to node v, below the given one, that they were, or take it back."""
    up = nodes.parent[v]
    while up >= 0:
        f = nodes.feature[up]
        if features.family[f] != SORTED:
            asked[features.price_offset[f] + nodes.index[up]] = value
        up = nodes.parent[up]


@jit(inline=True, borrow=True)
def divide(features, f, index, side, rows, low, high, start, scratch):
    """Sort a node's rows stably by the outcome of a test, in place; ``start[o]`` receives the first place of outcome o, from ``low``, and
    ``scratch.goes`` the outcome by object.  Return the lowest rank, or code, above a cut."""
    goes, spare, column, family = scratch.goes, scratch.spare, features.column[f], features.family[f]
    outcomes, beyond = len(start) - 1, np.int64(1 << 30)
    for o in range(outcomes + 1):
        start[o] = 0
    if family == SORTED:
        run = features.order[column, low:high]
        beyond = np.int64(run[index + 1] >> TO_RANK)
        for j in range(high - low):
            goes[run[j] & OBJECT] = j > index if run[j] >> TO_RANK != MISSING else side
    else:
        known = features.offset[f + 1] - features.offset[f] - features.has_missing[f]
        base, down = np.uintp(column) * np.uintp(features.column_stride), np.uintp(features.row_stride)
        for j in range(low, high):
            i = np.uintp(rows[j])
            code = np.int64(features.codes[base + i * down])
            o = outcome(code, family, index, known, side)
            beyond = min(beyond, code) if o == 1 and code < known else beyond
            goes[i] = o
    some, every = rows[low:high], np.int64(-1)
    if outcomes == 2:
        left = split_two(some, every, goes, spare)
        take_back(some, left, spare)
        start[1], start[2] = np.int64(left), high - low
        return beyond
    for j in range(low, high):
        start[np.int64(goes[rows[j]]) + 1] += 1
    for o in range(outcomes):
        start[o + 1] += start[o]
    split_many(some, every, goes, start, spare)
    return beyond
