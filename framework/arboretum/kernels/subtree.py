"""The whole subtree of a node in one call: for coded features, raw columns and both, and a
criterion in kernel form.

It finds what the loop finds, by the same rules of ties, prices and missing values::

    describe the given node; put it on the stack if it may be divided
    while the stack is not empty, v its last node:
        count the bins of v's features; with shares, load its entries
        score the tests of lists[first : stop]; list behind them what may divide further down
        if no test competes, or the best is not above ``least``: pop v, a leaf; next
        goes ← outcomes of the best test; divide rows by it; describe the children
        if the stopping rule finds no test significant: drop the children, pop v, a leaf; next
        put those that may be divided in place of v; divide the runs that they need

Coded features, and raw columns of few values, are counted at each node (:mod:`.coded`); other raw
columns are sorted once (:mod:`.runs`).  Without ``shares`` nothing of :mod:`.fractional` is
compiled.

Invariants: the objects of an open node, and its part of each run listed for it, lie in its segment.
Open nodes lie in the order of the stack: entries behind the last one are free.  Runs are stale at
leaves, and of features not listed.  Nothing is allocated per node: room is checked before rows or
nodes are written, and after LATE or NO_ROOM v still waits, so that the call can be repeated.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from arboretum.kernels.block import block_for, flush, reset
from arboretum.kernels.class_sums import NO_SUMS, Sums, sums_for
from arboretum.kernels.coded import (
    MULTIWAY,
    SORTED,
    Allowed,
    Features,
    bins_for,
    count_bins,
    count_column,
    scan_binary,
    scan_multiway,
)
from arboretum.kernels.fractional import ROUNDED, hand_on, load, score_shared
from arboretum.kernels.function_pointers import call_batch, call_impurity, impurity_at
from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.kernel_decorators import KernelNode
from arboretum.kernels.runs import (
    MOST_CLASSES,
    OBJECT,
    PROBED,
    TO_RANK,
    probe,
    scan_run,
    scan_sums,
    split_run,
)
from arboretum.kernels.sorting import split_shared
from arboretum.kernels.subtree_paths import (
    bar_prices,
    mark_asked,
    mark_paid,
    send,
    split_rows,
)
from arboretum.kernels.tables import NO_SIDE, Least, NodeScorer, Ties, add_moments, mass_of, slack

DONE, LATE, NO_ROOM, FOUND_NAN = range(4)
"""Why growing ends.

LATE, NO_ROOM : for the time, or for the rows or nodes; it can go on.
FOUND_NAN : the criterion returned NaN or +inf somewhere, or its own column a value that is not
    finite.
"""
NODE_WORK = 50  # what a node costs per feature besides its objects, in objects

LEVELS = 64
"""Lists of features that are not constant which a path may need, each shorter than the one above;
without room for another, a node goes by the list of its parent.
"""

Members = namedtuple("Members", "label y weight count unit n_rows")
"""What is added up, by object; label or y is empty.

unit : all weigh 1 and count once.
n_rows : int64[n], rows that each object stands for, where ``count`` is something else; else empty.
"""


class SubtreeRules(NamedTuple):
    """Which nodes and branches are allowed.

    max_depth : −1 without one.
    min_leaf, min_weight : rows and weight of a branch.
    min_split, min_objects : rows and objects that a node needs to be divided.
    light, mixed : weight, and impurity, at or below which a node is a leaf.
    bounded : a score must be above ``least``.
    allow_constant : tests with one outcome compete.
    once : asked columns are free further down.
    total : weight of the root.
    vertices : the criterion is quasi-convex in the class weights of an outcome.
    significance, own : address and parameters of a stopping rule's kernel, 0 without one; a test
        has to be of 1, or (``each``) as much as tests compete.
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
    vertices: bool
    max_cost: float
    significance: int
    own: np.ndarray
    each: bool


Above = namedtuple("Above", "depth asked paid spent listed")
"""The path to the given node.

asked : bool[·], by place in ``prices``, whether a test was asked; empty without allow_constant.
paid : bool[F], whether a feature's column was asked.
spent : float, what it has paid.
listed : float64[·], the prices, of which the kernel makes ∞ what a path cannot pay any more; empty
    without ``max_cost``.
depth : int.
"""


class SubtreeScorer(NamedTuple):
    """batch, impurity, column : addresses, 0 without a column of its own; arrays: of many trees.

    relative : tolerance of ties.
    floor : the same per impurity of a node.
    """

    batch: int | np.ndarray
    params: np.ndarray
    impurity: int | np.ndarray
    column: int | np.ndarray
    relative: float
    floor: float | np.ndarray


Nodes = namedtuple(
    "Nodes",
    "feature index side parent branch beyond price score impurity weights counts n_rows "
    "segment stack",
)
"""Written, one entry per node, the given node first; children have consecutive numbers.

feature : −1 at a leaf.
index : of the test; for a raw column the rank below the cut, and in ``beyond`` the rank (or code)
    above it.
branch : outcome of the parent's test.
side : the arity for rows without a value that have no outcome.
counts : by shares float64.
n_rows : empty without ``Members.n_rows``.
segment : int64[·, 5], where the node's objects lie in ``rows``, its depth, and its features worth
    looking at.
stack : int32[·], the nodes that are open.
"""

RunScratch = namedtuple("RunScratch", "left_w left_c lost_w lost_c all_c bound before spare sums")
"""Scratch of sorted columns: sums left of a cut and of missing entries, the node's counts,
bounds of pieces and counts before them; Sums.
"""

SubtreeScratch = namedtuple("SubtreeScratch", "bins block runs lists free spare goes start")
"""Memory for :func:`grow_subtree`: Bins, BlockMemory, RunScratch, then arrays.

lists : features worth looking at: a node's lie in lists[first : stop].
"""


def scratch_for(
    features: Features,
    n_rows: int,
    width: int,
    count_width: int,
    by_units: bool,
    own: int,
    shared: bool = False,
    sums: Sums | None = None,
) -> SubtreeScratch:
    """Allocate memory for subtrees over at most ``n_rows`` objects.

    width, count_width : of a row of weights, and of counts.
    by_units : weights are counts.
    own : columns of the criterion's own, 0 or 1.
    shared : with shares, which have their own sums.
    sums : of ``class_sums``, for a criterion that scores them; None for any other.

    Made by NumPy: a kernel that makes the arrays it hands on counts references to each of them, and
    takes longer to compile than some that grow.
    """
    n_features = len(features.family)
    n_columns = len(features.order)
    bins = 0 if shared else int(features.offset[-1])
    arity = max([2, *np.diff(features.offset)[features.family == MULTIWAY].tolist()]) + shared
    counted = bins_for(
        np.empty((0 if by_units else bins, width)),
        np.empty((bins, count_width), np.int64),
        np.empty((bins, own)),
        n_rows * own,
    )
    pieces = 0 if shared else n_rows // 16 + 1
    runs = RunScratch(
        np.empty(width),
        np.empty(count_width, np.int64),
        np.empty(width),
        np.empty(count_width, np.int64),
        np.empty(count_width, np.int64),
        np.empty((n_columns, pieces)),
        np.empty((n_columns, pieces, count_width), np.int32),
        np.empty((n_rows + 1) * (n_columns > 0), np.uint64),
        sums or sums_for(NO_SUMS, 0, 0, 0),
    )
    lists = np.empty(min(n_features * (n_features + 3) // 2, LEVELS * n_features) + 1, np.int32)
    return SubtreeScratch(
        counted,
        block_for(arity, width, count_width, own),
        runs,
        lists,
        np.zeros(n_features, np.bool_),
        np.empty(n_rows + 1, np.int32),
        np.empty(n_rows, np.uint16),
        np.empty(arity + 2, np.int64),
    )


@jit(borrow=True)
def grow_subtree(
    features, rows, shares, bins, most_work, above, objects, rules, scorer, nodes, scratch, progress
):
    """Grow depth first until every node is a leaf; return why it ends.

    features, above, objects, rules, scorer : Features, Above, Members, SubtreeRules, SubtreeScorer.
    rows : int32[room], the objects of the given node first; divided in place.
    shares : Fractions, or None: every object is whole.
    bins : those of the scratch memory, or None with shares: numba leaves out what is for another
        argument than None alone.
    most_work : values looked at, roughly, after which it is LATE.
    nodes : Nodes, written; scratch : SubtreeScratch.
    progress : int64[2], nodes found and nodes open; 0 of both at first, then as it was left.

    ``features.prices`` are overwritten where paths have a limit of what they pay.
    """
    family, segment, lists, block = features.family, nodes.segment, scratch.lists, scratch.block
    state, runs, free, goes = block.state[0], scratch.runs, scratch.free, scratch.goes
    by_class, n_runs = len(objects.label) > 0, len(features.order)
    impurity_of = impurity_at(scorer.impurity)
    allowed = Allowed(
        Least(rules.min_leaf, rules.min_weight), rules.allow_constant, above.asked, free
    )
    work = np.int64(0)
    if progress[0] == 0:
        begin(above.depth, len(family), objects, lists, nodes)
        progress[0] = 1
        progress[1] = describe(0, 1, rows, 0, objects, rules, scorer.impurity, nodes, shares)
    while progress[1] > 0:
        if work >= most_work:
            return LATE
        v = np.int64(nodes.stack[progress[1] - 1])
        low, high, first, stop = segment[v, 0], segment[v, 1], segment[v, 3], segment[v, 4]
        work += (high - low + NODE_WORK) * (stop - first)
        if bins is not None:
            count_bins(features, lists[first:stop], rows[low:high], objects, bins)
        if shares is not None:
            load(rows, low, high, objects, shares)
        if rules.once:
            mark_paid(v, features.owner, nodes, above.paid, free)
        if len(above.listed) > 0:
            bar_prices(v, nodes, above, rules.max_cost, features.prices)
        if rules.allow_constant:
            mark_asked(v, features, nodes, above.asked, True)
        mass = mass_of(nodes.weights, v, not by_class)
        node = KernelNode(
            mass, rules.total, nodes.impurity[v], segment[v, 2], 0.0, scorer.params, impurity_of
        )
        floor = scorer.floor * abs(nodes.impurity[v]) if np.isfinite(nodes.impurity[v]) else 0.0
        scoring = NodeScorer(node, scorer.batch, Ties(scorer.relative, floor), 1.0)
        whole = nodes.weights[v], nodes.counts[v]
        if bins is not None:
            if scorer.column != 0 and not count_column(
                features, rows[low:high], objects, scorer.column, node, bins
            ):
                return FOUND_NAN
            bar = np.nan
            if n_runs > 0 and high - low >= PROBED and by_class:
                bar = probe_all(
                    features, lists, segment[v], free, objects, whole, rules, runs, block, scoring
                )
            kept = score_all(
                features,
                lists,
                segment[v],
                allowed,
                objects,
                whole,
                rules,
                bar,
                bins,
                runs,
                block,
                scoring,
            )
        if shares is not None:
            kept = score_shared(
                features, lists, segment[v], rows, objects, shares, rules, free, block, scoring
            )
        if rules.allow_constant:
            mark_asked(v, features, nodes, above.asked, False)
        if state.broken or state.best == np.inf:
            return FOUND_NAN
        if state.feature < 0 or (rules.bounded and not state.best > rules.least + floor):
            progress[1] -= 1
            continue
        f, index, side, born = state.feature, state.index, state.side, progress[0]
        outcomes = outcomes_of(features, f, side)
        if born + outcomes > len(nodes.feature):
            return NO_ROOM
        beyond = send(features, f, index, side if side >= 0 else outcomes, rows, low, high, goes)
        groups = split_rows(rows, low, high, outcomes, goes, shares, scratch)
        if groups == 0:
            return NO_ROOM
        if shares is not None:
            hand_on(rows, low, outcomes, goes, scratch.start, shares)
        write_test(v, state, beyond, free[f], features, nodes)
        if kept < stop - first:
            first, stop = stop, stop + kept
        start, before = scratch.start[: groups + 1], progress[1] - 1
        progress[0] = add_children(v, born, outcomes, start, (first, stop), nodes)
        progress[1] = describe(
            born, progress[0], rows, before, objects, rules, scorer.impurity, nodes, shares
        )
        if bins is not None:
            # mostly the chosen test is significant, and no other need be looked at
            if rules.significance != 0:
                node = KernelNode(
                    mass, rules.total, nodes.impurity[v], segment[v, 2], 0.0, rules.own, impurity_of
                )
                scoring = NodeScorer(node, rules.significance, scoring.ties, 1.0)
                most = 2 * (len(bins.counts) + (high - low) * n_runs) if rules.each else 1
                if significance_of(born, progress[0], nodes, block, scoring) < most:
                    score_all(
                        features,
                        lists,
                        segment[v],
                        allowed,
                        objects,
                        whole,
                        rules,
                        np.nan,
                        bins,
                        runs,
                        block,
                        scoring,
                    )
                    if state.best < (state.skipped if rules.each else 1):
                        clear_test(v, nodes)
                        progress[0], progress[1] = born, before
                        continue
        wanted = 0
        for at in range(before, progress[1]):
            wanted |= 1 << nodes.branch[nodes.stack[at]] if outcomes == 2 else 4
        if n_runs > 0 and wanted > 0:
            for at in range(first, stop):
                if family[lists[at]] == SORTED:
                    if shares is not None and start[groups] > high - low:
                        split_shared(
                            features.order[features.column[lists[at]], low:],
                            high - low,
                            OBJECT,
                            goes,
                            start,
                            runs.spare,
                        )
                        continue
                    split_run(
                        features.order[features.column[lists[at]], low:high],
                        goes,
                        start,
                        wanted,
                        runs.spare,
                    )
    return DONE


@inline
def begin(depth, n_features, objects, lists, nodes):
    """Make the given node, which holds all objects, and for which all features are listed."""
    nodes.parent[0], nodes.branch[0] = -1, 0
    for f in range(n_features):
        lists[f] = f
    nodes.segment[0, 0] = 0
    nodes.segment[0, 1] = max(len(objects.label), len(objects.y))
    nodes.segment[0, 2] = depth
    nodes.segment[0, 3] = 0
    nodes.segment[0, 4] = n_features


@inline
def outcomes_of(features, f, side):
    """Return how many outcomes a test of feature f has, that of rows without a value among them,
    where they go to none of the others.
    """
    outcomes = (
        features.offset[f + 1] - features.offset[f] - features.has_missing[f]
        if features.family[f] == MULTIWAY
        else np.int64(2)
    )
    return outcomes + (side == outcomes)


@inline
def write_test(v, state, beyond, is_free, features, nodes):
    """Write the best test at node v.   state : of the block.   beyond : see ``Nodes``."""
    f, index = state.feature, state.index
    nodes.feature[v], nodes.side[v] = f, state.side
    nodes.score[v], nodes.beyond[v] = state.best, beyond
    nodes.index[v], test = index, index
    if features.family[f] == SORTED:
        entry = features.order[features.column[f], nodes.segment[v, 0] + index]
        nodes.index[v], test = entry >> TO_RANK, 0
    nodes.price[v] = 0.0 if is_free else features.prices[features.price_offset[f] + test]


@inline
def clear_test(v, nodes):
    """Make node v a leaf again."""
    nodes.feature[v], nodes.index[v], nodes.side[v] = -1, 0, NO_SIDE
    nodes.price[v], nodes.score[v] = 0.0, np.nan


@inline
def add_children(v, first, outcomes, start, listed, nodes):
    """Add node v's children, from node ``first`` on, each with its part of the rows; return how
    many nodes there are.

    start : int64[outcomes + 1], where the rows of an outcome begin among those of v.
    listed : first and stop, where the features worth looking at lie in ``lists``.
    """
    n, segment = first, nodes.segment
    for o in range(outcomes):
        if start[o] < start[o + 1]:
            nodes.parent[n], nodes.branch[n] = v, o
            segment[n, 0] = segment[v, 0] + start[o]
            segment[n, 1] = segment[v, 0] + start[o + 1]
            segment[n, 2] = segment[v, 2] + 1
            segment[n, 3], segment[n, 4] = listed
            n += 1
    return n


@inline
def significance_of(first, stop, nodes, block, scoring):
    """Return what the stopping rule's kernel says of the test whose children are nodes
    ``first … stop − 1``.
    """
    n, width, count_width = stop - first, nodes.weights.shape[1], nodes.counts.shape[1]
    call_batch(
        scoring.batch,
        nodes.weights[first:stop].reshape(1, n, width),
        nodes.counts[first:stop].reshape(1, n, count_width),
        block.price[:1],
        block.shaped_e[:1],
        scoring.node,
        block.scores[:1],
    )
    return block.scores[0]


@inline
def probe_all(features, lists, segment, free, objects, whole, rules, runs, block, scoring):
    """Score some cuts of every raw column of a node; return what the best of them scores, less what
    rounding may take, or NaN where pieces of a run have no bounds.

    Arguments as of :func:`score_all`.
    """
    (low, high), (_, counts) = (segment[0], segment[1]), whole
    if not (
        rules.vertices and objects.unit and len(counts) <= MOST_CLASSES and rules.min_weight == 0.0
    ):
        return np.nan
    bar = -np.inf
    for k in range(len(counts)):
        runs.all_c[k] = counts[k]
    for at in range(segment[3], segment[4]):
        f = lists[at]
        price = 0.0 if free[f] else features.prices[features.price_offset[f]]
        if features.family[f] == SORTED and price < np.inf:
            column = features.column[f]
            found = probe(column, features, low, high, price, rules.min_leaf, runs, block, scoring)
            bar = max(bar, found)
    return bar - (8.0 * slack(bar, scoring.ties) if bar > -np.inf else 0.0)


@inner
def score_all(
    features, lists, segment, allowed, objects, whole, rules, bar, bins, runs, block, scoring
):
    """Score all tests of a node, the best of which then stands in ``block.state``; list the
    features that may divide nodes further down behind its own, where there is room for fewer,
    and return how many they are.

    lists : int32[·], the node's features at segment[3] … segment[4] − 1.
    segment, whole : the node's, of ``nodes``.
    bar : ``floor`` of :func:`.runs.scan_run`.
    """
    low, high, first, stop = segment[0], segment[1], segment[3], segment[4]
    reset(block)
    kept, room = np.int64(0), 2 * stop - first <= len(lists)
    all_w, all_c = whole
    total = np.int64(0)
    mass = 0.0
    by_sums = runs.sums.form != NO_SUMS and scoring.batch != rules.significance
    if by_sums:
        for k in range(len(all_c)):
            total += all_c[k]
            mass += all_w[k]
    for at in range(first, stop):
        f = lists[at]
        if features.family[f] == MULTIWAY:
            alive = scan_multiway(f, features, bins, allowed, block, scoring)
        elif features.family[f] == SORTED:
            # ∞: it may be free further down
            price = 0.0 if allowed.free[f] else features.prices[features.price_offset[f]]
            if by_sums:
                alive = price == np.inf or scan_sums(
                    f,
                    features,
                    low,
                    high,
                    objects,
                    (all_w, all_c, total, mass),
                    rules,
                    price,
                    runs.sums,
                    block,
                    scoring,
                )
            else:
                alive = price == np.inf or scan_run(
                    f, features, low, high, objects, whole, rules, price, bar, runs, block, scoring
                )
        else:
            alive = scan_binary(f, features, bins, allowed, block, scoring)
        if alive and room:
            lists[stop + kept] = f
            kept += 1
    flush(block, scoring)
    return kept if room else stop - first


@inner
def describe(first, stop, rows, waiting, objects, rules, impurity_address, nodes, shares):
    """Add up the objects of nodes ``first … stop − 1`` and start them as leaves; put those that may
    be divided on the stack, and return its height.

    waiting : height of the stack before.
    impurity_address : of the run's impurity.
    nodes : Nodes, of which segment, parent and branch are written; receives the rest, but
        ``beyond``.
    shares : Fractions, or None.
    """
    label, y, weight, count, unit, rows_each = objects
    weights, counts = nodes.weights, nodes.counts
    by_class = len(label) > 0
    width, count_width = weights.shape[1], counts.shape[1]
    for v in range(first, stop):
        low, high, depth = nodes.segment[v, 0], nodes.segment[v, 1], nodes.segment[v, 2]
        nodes.feature[v] = -1
        nodes.index[v] = 0
        nodes.side[v] = NO_SIDE
        nodes.price[v] = 0.0
        nodes.score[v] = np.nan
        for k in range(width):
            weights[v, k] = 0.0
        for k in range(count_width):
            counts[v, k] = 0
        n_rows, classes, part = np.int64(0), 0, 1
        for j in range(low, high):
            i = np.uintp(rows[j])
            if shares is not None:
                part = shares.share[j]
            if not by_class:
                add_moments(weights, v, weight[i] * part, y[i])
                counts[v, 0] += count[i] * part
            elif unit:
                counts[v, np.uintp(label[i])] += part
            else:
                weights[v, np.uintp(label[i])] += weight[i] * part
                counts[v, np.uintp(label[i])] += count[i] * part
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
            pure
            or depth == rules.max_depth
            or n_rows < 2 * rules.min_leaf - ROUNDED
            or np.rint(n_rows) < rules.min_split
            or mass < 2.0 * rules.min_weight
            or mass <= rules.light
            or nodes.impurity[v] <= rules.mixed
            or high - low < rules.min_objects
        ):
            nodes.stack[waiting] = v
            waiting += 1
    return waiting
