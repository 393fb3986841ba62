"""The whole subtree of a node in one call, for coded features and a criterion in kernel form.

It finds what the loop finds: the same tests compete in the same order, by the same rules of ties, prices and missing
values (:mod:`arboretum.kernels.coded`).  Tables of all features are counted anew at every node; nothing is allocated per
node.

Groups of arguments, one tuple each:

* ``features``: codes (flat), row stride, column stride, column int64[F], family int64[F], offset int64[F + 1] (bins),
  has_missing bool[F], price_offset int64[F], prices float64[tests], owner int64[F] (number of the raw column).  Features
  come in the order in which ties are broken; ``column`` is a feature's place in ``codes``.
* ``objects``: label, y, weight, count, unit (all objects weigh 1 and count once), n_rows (int64: rows that each stands for,
  where ``count`` is something else; else empty); label or y is empty.
* ``rules``: int64[7] max_depth (−1: none), min_leaf, min_split, allow_constant, once (asked columns are free), bounded
  (a score must beat ``levels[1]``), min_objects.
* ``levels``: float64[5] least weight of a branch, least score, weight at or below which a node is a leaf, impurity at
  or below which it is one, total weight.
* ``scorer``: batch address, params, impurity address, relative tolerance of ties, address of the criterion's own column (0:
  none; see ``function_pointers.column_address``).
* ``above``, about the path to the given node: used int64[:], tests asked (as positions in ``prices``; they matter with
  allow_constant only), and paid bool[F], whether a feature's column was asked.
* ``nodes``, one entry per node, the given node first: feature int32 (place in the group's order, −1: leaf), index
  int32, side int32, parent int32, branch int32 (outcome of the parent's test), price, score, impurity float64; the tables
  weights float64[., width], counts int64[., count width]; and rows int64[.] (empty without n_rows).  Children of a node
  have consecutive numbers.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.coded import BLOCK, EQUALS, MULTIWAY, NO_SIDE, THRESHOLDS
from arboretum.kernels.coded_node import (
    ALLOW_CONSTANT,
    BOUNDED,
    LEAST,
    MIN_LEAF,
    MIN_WEIGHT,
    ONCE,
    TOTAL,
    count_bins,
    count_column,
    describe,
    mass_of,
)
from arboretum.kernels.jit import jit
from arboretum.kernels.kernel_decorators import KernelNode
from arboretum.kernels.function_pointers import batch_at, impurity_at

FOUND_NAN = -1
"""The criterion returned NaN or +inf somewhere, or its own column a value that is not finite."""
NO_ROOM = -2
"""The tree has more nodes than there is room for."""

USED, ARITY, FEATURE, INDEX, SIDE, BROKEN = range(6)
"""What is known while a node's tests are scored: tables in the block and their arity, the best test, whether a score
broke the contract."""


@jit
def scratch_for(features, n_rows, room, width, count_width, unit, by_class, own):
    """Memory for :func:`grow_coded`: of trees over at most ``n_rows`` objects with at most ``room`` nodes.

    own : columns of the criterion's own, 0 or 1.
    """
    family, offset = features[4], features[5]
    n_features = len(family)
    bins = offset[n_features]
    arity = np.int64(2)
    for f in range(n_features):
        if family[f] == MULTIWAY:
            arity = max(arity, offset[f + 1] - offset[f])
    size = max(2 * BLOCK, arity)
    block_w, block_c, block_e = np.empty(size * width), np.empty(size * count_width, np.int64), np.empty(size * own)
    most = min(BLOCK, size // arity)
    block = (  # the same memory, as tables of the largest arity, too: a change of shape costs as much as a table
        block_w, block_c, block_e, block_w[: most * arity * width].reshape(most, arity, width),
        block_c[: most * arity * count_width].reshape(most, arity, count_width),
        block_e[: most * arity * own].reshape(most, arity, own),
    )  # fmt: skip
    place = (np.empty(BLOCK), np.empty(BLOCK), np.empty((BLOCK, 3), np.int32))
    sums = (np.empty(width), np.empty(count_width, np.int64), np.empty(width), np.empty(count_width, np.int64))
    column = (np.empty(bins * own), np.empty(n_rows * own, np.int32), np.empty(n_rows * own))
    return (
        np.empty((0 if unit and by_class else bins, width)), np.empty((bins, count_width), np.int64), block, place, sums,
        np.zeros(n_features, np.bool_), np.empty(n_rows, np.int32), np.empty(n_rows, np.int32), np.empty(arity + 1, np.int64),
        np.empty((room, 3), np.int64), np.empty(room, np.int32), np.empty(6, np.int64), np.empty(1), column,
    )  # fmt: skip


@jit(borrow=True)
def grow_coded(features, rows, depth, above, objects, rules, levels, scorer, nodes, scratch):
    """Grow depth first until every node is a leaf; return the number of nodes, or FOUND_NAN, or NO_ROOM.

    rows : int32[m], the objects of the given node; divided in place.   scratch : of :func:`scratch_for`.
    The rest: see the module.
    """
    family, offset, has_missing, price_offset, prices, owner = features[4:]
    feature, index, side, parent, branch, price, score, impurity, weights, counts = nodes[:10]
    batch, params, impurity_address, relative, column_address = scorer
    bin_w, bin_c, block, place, sums, free, spare, goes, start, segment, stack, state, best, column = scratch
    bin_e, path = column[0], (feature, index, parent)
    by_class = len(objects[0]) > 0
    width, count_width = weights.shape[1], counts.shape[1]
    n_features, room = len(family), len(feature)
    impurity_of = impurity_at(impurity_address)
    parent[0], branch[0] = -1, 0
    segment[0, 0], segment[0, 1], segment[0, 2] = 0, len(rows), depth
    n = np.int64(1)
    waiting = describe(n - 1, n, rows, segment, stack, n - 1, objects, rules, levels, impurity_address, nodes)
    while waiting > 0:
        waiting -= 1
        v = np.int64(stack[waiting])
        low, high = segment[v, 0], segment[v, 1]
        count_bins(features, rows, low, high, objects, bin_w, bin_c)
        if rules[ONCE]:
            mark_paid(v, owner, feature, parent, above[1], free)
        mass = mass_of(weights[v], by_class)
        node = KernelNode(mass, levels[TOTAL], impurity[v], segment[v, 2], 0.0, params, impurity_of)
        if column_address != 0 and not count_column(features, rows[low:high], objects, column_address, node, column):
            return FOUND_NAN
        floor = relative * abs(impurity[v]) if np.isfinite(impurity[v]) else 0.0
        state[:] = 0
        state[FEATURE], best[0] = -1, -np.inf
        f = np.int64(0)
        while f < n_features:
            if family[f] == MULTIWAY:
                f = scan_multiway(
                    v, f, features, bin_w, bin_c, bin_e, rules, levels, above[0], free, path, block, place, by_class,
                    node, batch, relative, floor, state, best,
                )  # fmt: skip
            else:
                f = scan_binary(
                    v, f, features, bin_w, bin_c, bin_e, rules, levels, above[0], free, path, block, place, sums,
                    by_class, node, batch, relative, floor, state, best,
                )  # fmt: skip
        flush(block, place, width, count_width, node, batch, relative, floor, state, best)
        if state[BROKEN] or best[0] == np.inf:
            return FOUND_NAN
        if state[FEATURE] < 0 or (rules[BOUNDED] and not best[0] > levels[LEAST] + floor):
            continue
        f = state[FEATURE]
        feature[v], index[v], side[v], score[v] = f, state[INDEX], state[SIDE], best[0]
        price[v] = 0.0 if free[f] else prices[price_offset[f] + state[INDEX]]
        outcomes = offset[f + 1] - offset[f] - has_missing[f] if family[f] == MULTIWAY else 2
        divide(features, f, state[INDEX], state[SIDE], rows, low, high, outcomes, goes, start, spare)
        born = n
        for o in range(outcomes):
            if start[o] == start[o + 1]:
                continue
            if n == room:
                return NO_ROOM
            parent[n], branch[n] = v, o
            segment[n, 0], segment[n, 1], segment[n, 2] = low + start[o], low + start[o + 1], segment[v, 2] + 1
            n += 1
        waiting = describe(born, n, rows, segment, stack, waiting, objects, rules, levels, impurity_address, nodes)
    return n


@jit(borrow=True)
def mark_paid(v, owner, feature, parent, paid, free):
    """Say of each feature whether its column was asked on the path to node v."""
    for f in range(len(free)):
        free[f] = paid[f]
    up = parent[v]
    while up >= 0:
        column = owner[feature[up]]
        for f in range(len(owner)):
            free[f] |= owner[f] == column
        up = parent[up]


@jit(borrow=True)
def was_asked(v, f, test, number, used, path):
    """Whether this very test, the one at ``number`` in the prices, was asked on the path to node v."""
    feature, index, parent = path
    for u in used:
        if u == number:
            return True
    up = parent[v]
    while up >= 0:
        if feature[up] == f and index[up] == test:
            return True
        up = parent[up]
    return False


@jit(borrow=True)
def scan_multiway(
    v, f, features, bin_w, bin_c, bin_e, rules, levels, used, free, path, block, place, by_class, node, batch, relative,
    floor, state, best,
):
    """Put the tables of the multiway tests from feature f on into the block, where they compete; a test's heaviest
    outcome takes missing rows.  Return the first feature of another family."""
    family, offset, has_missing, price_offset, prices = features[4:9]
    block_w, block_c, block_e = block[:3]
    block_p, _, block_t = place
    units, width, count_width = len(bin_w) == 0, block[3].shape[2], block[4].shape[2]
    allow_constant, min_leaf, min_weight = rules[ALLOW_CONSTANT] != 0, rules[MIN_LEAF], levels[MIN_WEIGHT]
    while f < len(family) and family[f] == MULTIWAY:
        g = f
        f += 1
        first, stop = offset[g], offset[g + 1] - has_missing[g]
        if allow_constant and was_asked(v, g, first - offset[g], price_offset[g], used, path):
            continue
        missing, lost = np.int64(0), 0.0
        if has_missing[g]:
            missing, lost = rows_of(bin_c, stop), weight_of(bin_w, bin_c, stop, by_class)
        present, at, heaviest = 0, np.int64(0), -1.0
        lightest, smallest = np.inf, np.int64(np.iinfo(np.int64).max)
        for b in range(first, stop):
            here = rows_of(bin_c, b)
            if here == 0:
                continue
            present += 1
            mass = np.float64(here) if units else weight_of(bin_w, bin_c, b, by_class)
            if mass > heaviest:
                if present > 1:  # the former heaviest gets no missing rows after all
                    lightest, smallest = min(lightest, heaviest), min(smallest, rows_of(bin_c, first + at))
                heaviest, at = mass, b - first
            else:
                lightest, smallest = min(lightest, mass), min(smallest, here)
        if present < 2 and not allow_constant:
            continue
        here = rows_of(bin_c, first + at) + missing
        if here > 0:
            smallest, lightest = min(smallest, here), min(lightest, max(heaviest, 0.0) + lost)
        if smallest < min_leaf or lightest < min_weight:
            continue
        arity = stop - first
        if state[USED] > 0 and (state[ARITY] != arity or state[USED] >= min(BLOCK, max(1, 2 * BLOCK // arity))):
            flush(block, place, width, count_width, node, batch, relative, floor, state, best)
        t = state[USED]
        state[USED], state[ARITY] = t + 1, arity
        w, c = t * arity * width, t * arity * count_width
        for b in range(first, stop):
            takes = missing > 0 and b - first == at
            for k in range(count_width):
                n = bin_c[b, k] + (bin_c[stop, k] if takes else 0)
                block_c[c] = n
                c += 1
                if units:
                    block_w[w] = n
                    w += 1
            if not units:
                for k in range(width):
                    block_w[w] = bin_w[b, k] + (bin_w[stop, k] if takes else 0.0)
                    w += 1
        if len(bin_e) > 0:
            for b in range(first, stop):
                block_e[t * arity + b - first] = bin_e[b] + (bin_e[stop] if missing > 0 and b - first == at else 0.0)
        block_p[t] = 0.0 if free[g] else prices[price_offset[g]]
        block_t[t, 0], block_t[t, 1], block_t[t, 2] = g, 0, at if missing > 0 else NO_SIDE
    return f


@jit(inline=True, borrow=True)
def rows_of(bin_c, b):
    """Rows in a bin."""
    n = bin_c[b, 0]
    for k in range(1, bin_c.shape[1]):
        n += bin_c[b, k]
    return n


@jit(inline=True, borrow=True)
def weight_of(bin_w, bin_c, b, by_class):
    """Weight in a bin."""
    return np.float64(rows_of(bin_c, b)) if len(bin_w) == 0 else mass_of(bin_w[b], by_class)


@jit(borrow=True)
def scan_binary(
    v, f, features, bin_w, bin_c, bin_e, rules, levels, used, free, path, block, place, sums, by_class, node, batch,
    relative, floor, state, best,
):
    """Put the tables of the two-outcome tests of feature f into the block; each with missing rows in outcome 0, then 1.
    Return the feature after it."""
    family, offset, has_missing, price_offset, prices = features[4:9]
    block_p, _, block_t = place
    all_w, all_c, left_w, left_c = sums
    block_e, own = block[2], len(bin_e) > 0
    width, count_width, all_e, left_e = len(all_w), len(all_c), 0.0, 0.0
    units, cuts = len(bin_w) == 0, family[f] == THRESHOLDS
    first, stop = offset[f], offset[f + 1] - has_missing[f]
    missing = rows_of(bin_c, stop) if has_missing[f] else np.int64(0)
    all_c[:], left_c[:] = 0, 0
    all_w[:], left_w[:] = 0.0, 0.0
    for b in range(first, stop):
        for k in range(count_width):
            all_c[k] += bin_c[b, k]
        if not units:
            for k in range(width):
                all_w[k] += bin_w[b, k]
    known = all_c.sum()
    if own:
        for b in range(first, stop):
            all_e += bin_e[b]
    if units:
        for k in range(width):
            all_w[k] = all_c[k]
    for b in range(first, stop - 1 if cuts else stop):
        here = rows_of(bin_c, b)
        for k in range(count_width):
            left_c[k] = left_c[k] + bin_c[b, k] if cuts else bin_c[b, k]
        for k in range(width):
            w = np.float64(bin_c[b, k]) if units else bin_w[b, k]
            left_w[k] = left_w[k] + w if cuts else w
        if own:
            left_e = left_e + bin_e[b] if cuts else bin_e[b]
        left, test = left_c.sum(), price_offset[f] + b - first
        if rules[ALLOW_CONSTANT]:
            if was_asked(v, f, b - first, test, used, path):
                continue
        elif left == 0 or left == known or (here == 0 and prices[test] == prices[test - 1]):
            continue
        for s in range(2 if missing > 0 else 1):
            a = left + (missing if s == 0 else 0)
            c = known + missing - a
            if 0 < a < rules[MIN_LEAF] or 0 < c < rules[MIN_LEAF]:
                continue
            if levels[MIN_WEIGHT] > 0.0:
                lost = weight_of(bin_w, bin_c, stop, by_class) if missing > 0 else 0.0
                mass = mass_of(left_w, by_class) + (lost if s == 0 else 0.0)
                rest = mass_of(all_w, by_class) + lost - mass
                if (a > 0 and mass < levels[MIN_WEIGHT]) or (c > 0 and rest < levels[MIN_WEIGHT]):
                    continue
            if state[USED] > 0 and (state[ARITY] != 2 or state[USED] == BLOCK):
                flush(block, place, width, count_width, node, batch, relative, floor, state, best)
            t = state[USED]
            state[USED], state[ARITY] = t + 1, 2
            put_two(t, sums, bin_w, bin_c, stop, s if missing > 0 else NO_SIDE, block, by_class)
            if own:
                block_e[2 * t], block_e[2 * t + 1] = left_e, all_e - left_e if left < known else 0.0
                if missing > 0:
                    block_e[2 * t + s] += bin_e[stop]
            block_p[t] = 0.0 if free[f] else prices[test]
            block_t[t, 0], block_t[t, 1], block_t[t, 2] = f, b - first, s if missing > 0 else NO_SIDE
    return f + 1


@jit(borrow=True)
def put_two(t, sums, bin_w, bin_c, lost, side, block, by_class):
    """Write the table of a two-outcome test: left, and all but left; bin ``lost`` goes to ``side``."""
    all_w, all_c, left_w, left_c = sums
    block_w, block_c = block[:2]
    width, count_width = len(all_w), len(all_c)
    w, c = 2 * t * width, 2 * t * count_width
    rest = np.int64(0)
    for k in range(count_width):
        more = bin_c[lost, k] if side >= 0 else np.int64(0)
        other = all_c[k] - left_c[k]
        rest += other
        block_c[c + k] = left_c[k] + (more if side == 0 else 0)
        block_c[c + count_width + k] = other + (more if side == 1 else 0)
    for k in range(width):
        more = 0.0
        if side >= 0:
            more = np.float64(bin_c[lost, k]) if len(bin_w) == 0 else bin_w[lost, k]
        # where no row is left the difference is set to 0, so that rounding cannot leave 1e-17 of a class behind
        gone = all_c[k] == left_c[k] if by_class else rest == 0
        other = 0.0 if gone else all_w[k] - left_w[k]
        block_w[w + k] = left_w[k] + (more if side == 0 else 0.0)
        block_w[w + width + k] = other + (more if side == 1 else 0.0)


@jit(borrow=True)
def flush(block, place, width, count_width, node, batch, relative, floor, state, best):
    """Score the tables of the block and empty it.  Ties: see :func:`arboretum.kernels.coded.best_test`."""
    n, arity = state[USED], state[ARITY]
    state[USED] = 0
    if n == 0:
        return
    block_w, block_c, block_e, shaped_w, shaped_c, shaped_e = block
    block_p, scores, block_t = place
    score_block = batch_at(batch)
    if arity == shaped_w.shape[1]:
        score_block(shaped_w[:n], shaped_c[:n], block_p[:n], shaped_e[:n], node, scores[:n])
    else:
        score_block(
            block_w[: n * arity * width].reshape(n, arity, width),
            block_c[: n * arity * count_width].reshape(n, arity, count_width),
            block_p[:n], block_e[: n * arity * shaped_e.shape[2]].reshape(n, arity, shaped_e.shape[2]), node, scores[:n],
        )  # fmt: skip
    top = best[0]
    for t in range(n):
        s = scores[t]
        if s != s:
            state[BROKEN] = 1
        if s > top and (state[FEATURE] < 0 or s > top + max(relative * abs(top), floor)):
            top = s
            state[FEATURE], state[INDEX], state[SIDE] = block_t[t, 0], block_t[t, 1], block_t[t, 2]
    best[0] = top


@jit(inline=True, borrow=True)
def divide(features, f, index, side, rows, low, high, outcomes, goes, start, spare):
    """Sort a node's rows stably by the outcome of a test, in place; ``start[o]`` receives the first place of outcome o,
    from ``low``."""
    codes, row_stride, column_stride, column, family, offset, has_missing = features[:7]
    across, down = np.uintp(column_stride), np.uintp(row_stride)
    base = np.uintp(column[f]) * across
    known = offset[f + 1] - offset[f] - has_missing[f]
    for o in range(outcomes + 1):
        start[o] = 0
    for j in range(low, high):
        code = np.int64(codes[base + np.uintp(rows[j]) * down])
        if code >= known:
            o = side
        elif family[f] == MULTIWAY:
            o = code
        elif family[f] == EQUALS:
            o = np.int64(code != index)
        else:
            o = np.int64(code > index)
        goes[j] = o
        start[o + 1] += 1
    for o in range(outcomes):
        start[o + 1] += start[o]
    for j in range(low, high):
        o = goes[j]
        spare[start[o]] = rows[j]
        start[o] += 1
    for o in range(outcomes, 0, -1):  # each has moved on to the next one's first place
        start[o] = start[o - 1]
    start[0] = 0
    for j in range(high - low):
        rows[low + j] = spare[j]
