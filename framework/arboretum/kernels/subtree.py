"""The whole subtree of a node in one call, for raw columns and a criterion in kernel form.

Every column of the node is sorted once; below, the sorted runs are divided, and a column that is constant at a node is not
looked at again further down.  Positions: the objects of the node are 0 … m − 1 in the order they are given; ``keys`` and
``owners`` hold, column by column, their values and those positions, sorted, missing values last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.coded import BLOCK
from arboretum.kernels.jit import jit
from arboretum.kernels.kernel_decorators import KernelNode
from arboretum.kernels.function_pointers import batch_at, impurity_at, make_node
from arboretum.kernels.runs import divide, divide_run, sort_columns, varies

FOUND_NAN = -1
"""The criterion returned NaN somewhere."""

NODE_WORK = 50
"""What a node costs per column besides its values, in values."""

USED, FEATURE, AT, SIDE, BROKEN = range(5)
"""What is known while a node's tests are scored: tables in the block, the best test, whether a score was NaN."""


class Values(NamedTuple):
    """What is sorted.   memory : flat float[n, columns].   rows : int32[m], the objects of the node."""

    memory: np.ndarray
    row_stride: int
    column_stride: int
    rows: np.ndarray


class Objects(NamedTuple):
    """What is added up, by object; label or y is empty.   unit : all weigh 1 and count once."""

    label: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    unit: bool


class Charges(NamedTuple):
    """price : float64[columns].   owner : int64[columns], number of the raw column.   once : asked ones are free further down."""

    price: np.ndarray
    owner: np.ndarray
    once: bool


class Rules(NamedTuple):
    """Which nodes and branches are allowed.

    max_depth : −1 without one.   min_weight : of a branch, 0 without such a rule.   min_split : rows a node needs to be divided.
    bounded : a score must be above ``least``.   gap : neighbours not further apart are not separated.
    corners : scores are convex along rows of one class, so that a cut between two of them scores no more than one of its
    neighbours and need not be looked at.
    """

    max_depth: int
    min_leaf: int
    min_weight: float
    min_split: int
    bounded: bool
    least: float
    gap: float
    corners: bool


class Criterion(NamedTuple):
    """batch, impurity : addresses.   params : float64[k].   relative : tolerance of ties.   width, total_mass : of the root's table."""

    batch: int
    params: np.ndarray
    impurity: int
    relative: float
    width: int
    total_mass: float


class Nodes(NamedTuple):
    """Written, one entry per node, the given node first.

    feature : int32, −1 at a leaf.   child : int32[., 2].   side : int32.   edges : float[., 2], the values on both sides of the
    threshold.   score, paid, impurity : float64.   weights : float64[., width].   counts : int64[., count width].
    segment : int64[., 5], where the node's objects lie in ``members``, its depth, and its columns worth looking at.
    stack : int32[.], the nodes that are open.
    """

    feature: np.ndarray
    child: np.ndarray
    side: np.ndarray
    edges: np.ndarray
    score: np.ndarray
    paid: np.ndarray
    weights: np.ndarray
    counts: np.ndarray
    impurity: np.ndarray
    segment: np.ndarray
    stack: np.ndarray


class Ask(NamedTuple):
    """How the tests of one node are scored.   floor : absolute tolerance of ties."""

    node: KernelNode
    batch: int
    relative: float
    floor: float


@jit
def grow_subtree(table, objects, charges, rules, criterion, members, depth, most_work, nodes):
    """Grow depth first until every node is a leaf; return the number of nodes, or FOUND_NAN, and how many are left open.

    members : int32[m], 0 … m − 1; divided in place.   depth : of the given node.
    most_work : values looked at, roughly, after which the open nodes are left (at least one node is divided); they stand
    in ``nodes.stack``.
    """
    price, n_counts, n_classes = charges.price, nodes.counts.shape[1], nodes.weights.shape[1]
    feature, weights, counts, impurities, segment, stack = (
        nodes.feature, nodes.weights, nodes.counts, nodes.impurity, nodes.segment, nodes.stack,
    )  # fmt: skip
    impurity = criterion.impurity
    m, n_columns = len(members), len(price)
    keys, owners = np.empty((n_columns, m), table.memory.dtype), np.empty((n_columns, m), np.int32)
    goes, spare_key, spare = np.empty(m, np.uint8), np.empty(m, table.memory.dtype), np.empty(m, np.int32)
    lists = np.empty(2 * n_columns + 1, np.int32)  # columns worth looking at: a node's lie in lists[first : stop]
    some = sort_columns(table.memory, table.row_stride, table.column_stride, table.rows, keys, owners, spare, lists)
    block = (
        np.empty((BLOCK, 2, n_classes)), np.empty((BLOCK, 2, n_counts), np.int64), np.empty((BLOCK, 2, 0)),
        np.empty(BLOCK), np.empty(BLOCK), np.empty((BLOCK, 3), np.int32),
    )  # fmt: skip
    room = len(feature)
    parent = np.empty(room, np.int32)
    state, best = np.zeros(5, np.int64), np.empty(1)
    sums = (np.empty(n_classes), np.empty(n_counts, np.int64), np.empty(n_classes), np.empty(n_counts, np.int64))
    here_price, scalars = price.copy(), np.zeros(6)
    scalars[5] = criterion.width
    segment[0, 0], segment[0, 1], segment[0, 2], segment[0, 3], segment[0, 4] = 0, m, depth, 0, some
    parent[0] = -1
    measure(0, 0, m, members, objects, weights, counts, impurity, impurities)
    feature[0] = -1
    n, waiting, work = 1, 1, np.int64(0)
    stack[0] = 0
    while waiting > 0 and (n == 1 or work < most_work):
        waiting -= 1
        v = stack[waiting]
        low, high, first, stop = segment[v, 0], segment[v, 1], segment[v, 3], segment[v, 4]
        work += (high - low + NODE_WORK) * (stop - first)
        if len(lists) < stop + n_columns:
            more = np.empty(2 * len(lists) + n_columns, np.int32)
            for at in range(stop):
                more[at] = lists[at]
            lists = more
        if charges.once:
            here_price[:] = price
            up = parent[v]
            while up >= 0:
                asked = charges.owner[feature[up]]
                for f in range(n_columns):
                    if charges.owner[f] == asked:
                        here_price[f] = 0.0
                up = parent[up]
        mass = mass_of(weights[v], n_counts < n_classes)
        scalars[0], scalars[1], scalars[2], scalars[3] = mass, criterion.total_mass, impurities[v], segment[v, 2]
        floor = criterion.relative * abs(impurities[v]) if np.isfinite(impurities[v]) else 0.0
        ask = Ask(make_node(scalars, criterion.params, impurity), criterion.batch, criterion.relative, floor)
        state[:] = 0
        state[FEATURE] = -1
        best[0] = -np.inf
        kept = 0
        for at in range(first, stop):
            f = lists[at]
            key = keys[f, low:high]
            if varies(key):
                lists[stop + kept] = f
                kept += 1
                whole = (weights[v], counts[v])
                scan(f, key, owners[f, low:high], objects, whole, sums, rules, here_price[f], block, ask, state, best)
        flush(block, ask, state, best)
        if state[BROKEN] > 0:
            return FOUND_NAN, 0
        if state[FEATURE] < 0 or (rules.bounded and not best[0] > rules.least):
            continue
        if kept < stop - first:
            first, stop = stop, stop + kept
        f, cut = state[FEATURE], low + state[AT]
        feature[v], nodes.side[v], nodes.score[v], nodes.paid[v] = f, state[SIDE], best[0], here_price[f]
        nodes.edges[v, 0], nodes.edges[v, 1] = keys[f, cut], keys[f, cut + 1]
        for j in range(low, high):
            k = keys[f, j]
            goes[owners[f, j]] = (j > cut) if k == k else state[SIDE]
        middle = low + divide(members[low:high], goes, spare)
        wanted = 0
        for outcome in range(2):
            c = n + outcome
            a, b = (low, middle) if outcome == 0 else (middle, high)
            segment[c, 0], segment[c, 1], segment[c, 2], segment[c, 3], segment[c, 4] = a, b, segment[v, 2] + 1, first, stop
            parent[c], nodes.child[v, outcome], feature[c] = v, c, -1
            rows_here = measure(c, a, b, members, objects, weights, counts, impurity, impurities)
            small = rows_here < 2 * rules.min_leaf or rows_here < rules.min_split or segment[c, 2] == rules.max_depth
            light = rules.min_weight > 0.0 and mass_of(weights[c], n_counts < n_classes) < 2.0 * rules.min_weight
            if not (small or light or is_pure(counts[c], objects.y, members[a:b])):
                wanted += 1 + outcome
        if wanted > 0:
            for at in range(first, stop):
                g = lists[at]
                divide_run(keys[g, low:high], owners[g, low:high], goes, wanted, spare_key, spare)
        if wanted >= 2:
            stack[waiting] = n + 1
            waiting += 1
        if wanted % 2 == 1:
            stack[waiting] = n
            waiting += 1
        n += 2
    return n, waiting


@jit(inline=True)
def mass_of(weights, moments):
    """Weight of a table's row."""
    mass = weights[0]
    if not moments:
        for k in range(1, len(weights)):
            mass += weights[k]
    return mass


@jit
def is_pure(counts, y, members):
    """One class, or one value of the target."""
    if len(y) == 0:
        classes = 0
        for c in counts:
            classes += c > 0
        return classes <= 1
    for i in members:
        if y[i] != y[members[0]]:
            return False
    return True


@jit
def measure(v, low, high, members, objects, weights, counts, impurity, impurities):
    """Add up a node's objects; return its number of rows."""
    label, y, weight, count, unit = objects
    w, c = weights[v], counts[v]
    w[:] = 0.0
    c[:] = 0
    for j in range(low, high):
        i = members[j]
        if len(y) > 0:
            w[0] += weight[i]
            w[1] += weight[i] * y[i]
            w[2] += weight[i] * y[i] * y[i]
            c[0] += count[i]
        elif unit:
            c[np.uintp(label[i])] += 1
        else:
            w[np.uintp(label[i])] += weight[i]
            c[np.uintp(label[i])] += count[i]
    if unit and len(y) == 0:
        for k in range(len(c)):
            w[k] = c[k]
    impurities[v] = impurity_at(impurity)(w)
    return c.sum()


@jit
def scan(f, key, owner, objects, whole, sums, rules, price, block, ask, state, best):
    """Put the tables of all cuts of a column into the block; with missing rows, each cut with them left, then right."""
    label, y, weight, count, unit = objects
    all_w, all_c = whole
    min_leaf, min_weight, gap = rules.min_leaf, rules.min_weight, rules.gap
    left_w, left_c, lost_w, lost_c = sums
    block_w, block_c, _, block_p, _, place = block
    moments = len(y) > 0
    known = len(key)
    for k in range(len(all_w)):
        left_w[k], lost_w[k] = 0.0, 0.0
    for k in range(len(all_c)):
        left_c[k], lost_c[k] = 0, 0
    while key[known - 1] != key[known - 1]:
        known -= 1
        i = owner[known]
        if moments:
            lost_w[0] += weight[i]
            lost_w[1] += weight[i] * y[i]
            lost_w[2] += weight[i] * y[i] * y[i]
            lost_c[0] += count[i]
        else:
            lost_w[np.uintp(label[i])] += weight[i]
            lost_c[np.uintp(label[i])] += count[i]
    missing = lost_c.sum()
    total, left = all_c.sum(), np.int64(0)
    before, whole = np.int64(0), False  # rows left of the present value; whether they are of one class
    inner = rules.corners and min_weight == 0.0
    for j in range(known - 1):
        i = np.uintp(owner[j])
        if inner:
            if j == 0 or key[j] > key[j - 1] + gap:
                before, whole = left, True
            elif label[i] != label[np.uintp(owner[j - 1])]:
                whole = False
        if moments:
            left_w[0] += weight[i]
            left_w[1] += weight[i] * y[i]
            left_w[2] += weight[i] * y[i] * y[i]
            left_c[0] += count[i]
            left += count[i]
        elif unit:
            left_c[np.uintp(label[i])] += 1
            left += 1
        else:
            left_w[np.uintp(label[i])] += weight[i]
            left_c[np.uintp(label[i])] += count[i]
            left += count[i]
        if not key[j + 1] > key[j] + gap:
            continue
        if inner and whole and before >= min_leaf and j + 2 < known and key[j + 2] > key[j + 1] + gap:
            # one class on both sides, and cuts that are allowed before and after this one
            after = np.uintp(owner[j + 1])
            if label[i] == label[after] and total - missing - left - (1 if unit else count[after]) >= min_leaf:
                continue
        for s in range(2 if missing > 0 else 1):
            a = left + missing if s == 0 else left
            if a < min_leaf or total - a < min_leaf:
                continue
            if min_weight > 0.0:
                mass, rest = np.float64(a), np.float64(total - a)
                if not unit or moments:
                    mass = mass_of(left_w, moments) + (mass_of(lost_w, moments) if s == 0 else 0.0)
                    rest = mass_of(all_w, moments) - mass
                if mass < min_weight or rest < min_weight:
                    continue
            if state[USED] == BLOCK:
                flush(block, ask, state, best)
            t = state[USED]
            for k in range(len(all_c)):
                c = left_c[k] + (lost_c[k] if s == 0 else 0)
                block_c[t, 0, k], block_c[t, 1, k] = c, all_c[k] - c
            for k in range(len(all_w)):
                if unit and not moments:
                    block_w[t, 0, k], block_w[t, 1, k] = block_c[t, 0, k], block_c[t, 1, k]
                    continue
                w = left_w[k] + (lost_w[k] if s == 0 else 0.0)
                # where no row of a class is left its weight is 0 and not 1e-17
                gone = not moments and block_c[t, 1, k] == 0
                block_w[t, 0, k], block_w[t, 1, k] = w, 0.0 if gone else all_w[k] - w
            block_p[t] = price
            place[t, 0], place[t, 1], place[t, 2] = f, j, s if missing > 0 else -1
            state[USED] = t + 1


@jit
def flush(block, ask, state, best):
    """Score the tables of the block and empty it.  Ties: see :func:`arboretum.kernels.coded.best_test`."""
    block_w, block_c, block_e, block_p, scores, place = block
    n = state[USED]
    state[USED] = 0
    if n == 0:
        return
    batch_at(ask.batch)(block_w[:n], block_c[:n], block_p[:n], block_e[:n], ask.node, scores[:n])
    top = best[0]
    for t in range(n):
        s = scores[t]
        if s != s:
            state[BROKEN] = 1
        if s > top and (state[FEATURE] < 0 or s > top + max(ask.relative * abs(top), ask.floor)):
            top = s
            state[FEATURE], state[AT], state[SIDE] = place[t, 0], place[t, 1], place[t, 2]
    best[0] = top
