"""The whole subtree of a node in one call, for raw columns and a criterion in kernel form.

Every column of the node is sorted once; below, the sorted runs are divided, and a column that is constant at a node is not
looked at again further down.  Positions: the objects of the node are 0 … m − 1 in the order they are given; ``keys`` and
``owners`` hold, column by column, their values and those positions, sorted, missing values last.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.coded import BLOCK
from arboretum.kernels.jit import jit
from arboretum.kernels.pointers import batch_at, impurity_at, make_node
from arboretum.kernels.runs import divide, divide_run, sort_columns, varies

FOUND_NAN = -1
"""The criterion returned NaN somewhere."""

NODE_WORK = 50
"""What a node costs per column besides its values, in values."""

USED, FEATURE, AT, SIDE, BROKEN = range(5)
"""What is known while a node's tests are scored: tables in the block, the best test, whether a score was NaN."""


@jit
def grow_subtree(
    values, row_stride, column_stride, rows, members, objects, price, owner, once, depth, max_depth, min_leaf, min_weight,
    min_split, bounded_below, least, corners, gap, width, total_mass, batch, params, impurity, relative, most_work, segment, stack,
    feature, child, side, edges, score, paid, weights, counts, impurities,
):
    """Grow depth first until every node is a leaf; return the number of nodes, or FOUND_NAN, and how many are left open.

    most_work : values looked at, roughly, after which the open nodes are left (at least one node is divided); they stand
    in ``stack``, their objects in ``members[segment[v, 0] : segment[v, 1]]``, their depth in ``segment[v, 2]``.

    values : flat memory of float[n, columns].   rows : int32[m].   members : int32[m], 0 … m − 1; divided in place.
    objects : label, y, weight, count of the rows, and whether all of them are units; label or y is empty.
    price : float64[columns].   owner : int64[columns], number of the raw column.   once : asked ones are free further down.
    max_depth : −1 without one.
    min_weight : of a branch, 0 without such a rule.   min_split : rows a node needs to be divided.
    bounded_below : a score must be above ``least``.   corners : scores are convex along rows of one class, so that a cut
    between two of them scores no more than one of its neighbours and need not be looked at.
    Written, one entry per node, the given node first: feature int32 (−1: leaf), child int32[., 2], side int32, edges
    float[., 2] (neighbouring values on both sides of the threshold), score, paid, weights [., width], counts, impurities.
    segment : int64[., 5] and stack : int32[.] are scratch of that length, too.
    """  # fmt: skip
    m, n_columns = len(rows), len(price)
    keys, owners = np.empty((n_columns, m), values.dtype), np.empty((n_columns, m), np.int32)
    goes, spare_key, spare = np.empty(m, np.uint8), np.empty(m, values.dtype), np.empty(m, np.int32)
    lists = np.empty(2 * n_columns + 1, np.int32)  # columns worth looking at: a node's lie in lists[first : stop]
    some = sort_columns(values, row_stride, column_stride, rows, keys, owners, spare, lists)
    n_classes, n_counts = weights.shape[1], counts.shape[1]
    block = (
        np.empty((BLOCK, 2, n_classes)), np.empty((BLOCK, 2, n_counts), np.int64), np.empty((BLOCK, 2, 0)),
        np.empty(BLOCK), np.empty(BLOCK), np.empty((BLOCK, 3), np.int32),
    )  # fmt: skip
    room = len(feature)
    parent = np.empty(room, np.int32)
    state, best = np.zeros(5, np.int64), np.empty(1)
    sums = (np.empty(n_classes), np.empty(n_counts, np.int64), np.empty(n_classes), np.empty(n_counts, np.int64))
    here_price, scalars = price.copy(), np.zeros(6)
    scalars[5] = width
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
        if once:
            here_price[:] = price
            up = parent[v]
            while up >= 0:
                asked = owner[feature[up]]
                for f in range(n_columns):
                    if owner[f] == asked:
                        here_price[f] = 0.0
                up = parent[up]
        mass = mass_of(weights[v], n_counts < n_classes)
        scalars[0], scalars[1], scalars[2], scalars[3] = mass, total_mass, impurities[v], segment[v, 2]
        node = make_node(scalars, params, impurity)
        floor = relative * abs(impurities[v]) if np.isfinite(impurities[v]) else 0.0
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
                scan(
                    f, key, owners[f, low:high], objects, weights[v], counts[v], sums, min_leaf, min_weight, gap,
                    here_price[f], corners, block, node, batch, relative, floor, state, best,
                )  # fmt: skip
        flush(block, node, batch, relative, floor, state, best)
        if state[BROKEN] > 0:
            return FOUND_NAN, 0
        if state[FEATURE] < 0 or (bounded_below and not best[0] > least):
            continue
        if kept < stop - first:
            first, stop = stop, stop + kept
        f, cut = state[FEATURE], low + state[AT]
        feature[v], side[v], score[v], paid[v] = f, state[SIDE], best[0], here_price[f]
        edges[v, 0], edges[v, 1] = keys[f, cut], keys[f, cut + 1]
        for j in range(low, high):
            k = keys[f, j]
            goes[owners[f, j]] = (j > cut) if k == k else state[SIDE]
        middle = low + divide(members[low:high], goes, spare)
        wanted = 0
        for outcome in range(2):
            c = n + outcome
            a, b = (low, middle) if outcome == 0 else (middle, high)
            segment[c, 0], segment[c, 1], segment[c, 2], segment[c, 3], segment[c, 4] = a, b, segment[v, 2] + 1, first, stop
            parent[c], child[v, outcome], feature[c] = v, c, -1
            rows_here = measure(c, a, b, members, objects, weights, counts, impurity, impurities)
            small = rows_here < 2 * min_leaf or rows_here < min_split or segment[c, 2] == max_depth
            small = small or (min_weight > 0.0 and mass_of(weights[c], n_counts < n_classes) < 2.0 * min_weight)
            if not small and not is_pure(counts[c], objects[1], members[a:b]):
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
def scan(
    f, key, owner, objects, all_w, all_c, sums, min_leaf, min_weight, gap, price, corners, block, node, batch, relative,
    floor, state, best,
):
    """Put the tables of all cuts of a column into the block; with missing rows, each cut with them left, then right."""
    label, y, weight, count, unit = objects
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
    inner = corners and min_weight == 0.0
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
                flush(block, node, batch, relative, floor, state, best)
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
def flush(block, node, batch, relative, floor, state, best):
    """Score the tables of the block and empty it.  Ties: see :func:`arboretum.kernels.coded.best_test`."""
    block_w, block_c, block_e, block_p, scores, place = block
    n = state[USED]
    state[USED] = 0
    if n == 0:
        return
    batch_at(batch)(block_w[:n], block_c[:n], block_p[:n], block_e[:n], node, scores[:n])
    top = best[0]
    for t in range(n):
        s = scores[t]
        if s != s:
            state[BROKEN] = 1
        if s > top and (state[FEATURE] < 0 or s > top + max(relative * abs(top), floor)):
            top = s
            state[FEATURE], state[AT], state[SIDE] = place[t, 0], place[t, 1], place[t, 2]
    best[0] = top
