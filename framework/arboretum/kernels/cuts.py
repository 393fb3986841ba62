"""Exact thresholds on raw columns: every midpoint between neighbouring values of a node competes.

``order`` : int32[columns, n].  The rows of a node lie in ``order[f, low:high]``, sorted by column f, missing values last.
``values`` : float32/64[columns, n], NaN = missing.
A *cut* at position j of a sorted run divides it into its first j + 1 rows and the rest.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.coded import BLOCK, NAN_SCORE, NO_SIDE, NOTHING
from arboretum.kernels.jit import jit
from arboretum.kernels.pointers import batch_at, make_node, prefix_at


@jit
def find_cuts(values, rows, count, min_leaf, gap, position, side):
    """List the cuts of one column that may compete, ascending; return (their number, rows with a value).

    values : float[n].   rows : int32[m], sorted by value.   gap : neighbours not further apart are not separated.
    position, side : int32[2 m].  With missing rows each cut is listed twice: missing rows left (0), then right (1).
    """
    known = len(rows)
    missing = np.int64(0)
    while known > 0 and np.isnan(values[rows[known - 1]]):
        known -= 1
        missing += count[rows[known]]
    total = np.int64(0)
    for j in range(known):
        total += count[rows[j]]
    left = np.int64(0)
    n = 0
    for j in range(known - 1):
        left += count[rows[j]]
        here = values[rows[j]]
        if not values[rows[j + 1]] > here + gap:
            continue
        for s in range(2 if missing > 0 else 1):
            a = left + (missing if s == 0 else 0)
            if a < min_leaf or total + missing - a < min_leaf:
                continue
            position[n] = j
            side[n] = s if missing > 0 else NO_SIDE
            n += 1
    return n, known


@jit
def fill_cuts(rows, known, label, y, weight, count, extra, position, side, state_w, state_c, state_e, at, out_w, out_c, out_e):
    """Write the contingency tables of the listed cuts.

    state_w : float64[3, classes]: first rows up to ``at[0]``, all known rows, missing rows; state_c, state_e alike.
    at : int64[1], rows added so far; −1 before the first call.  Successive calls continue with later positions.
    out_w : float64[cuts, 2, classes]; out_c, out_e alike.
    """
    n_classes, n_counts, n_extra = out_w.shape[2], out_c.shape[2], out_e.shape[2]
    moments = len(label) == 0
    first = 0 if at[0] < 0 else 2
    done = max(np.int64(0), at[0])
    for turn in range(first, 3):
        # turn 0: rows with a value, turn 1: missing rows, turn 2: the cuts
        if turn < 2:
            to = turn + 1
            for j in range(0 if turn == 0 else known, known if turn == 0 else len(rows)):
                i = rows[j]
                w = weight[i]
                if moments:
                    state_w[to, 0] += w
                    state_w[to, 1] += w * y[i]
                    state_w[to, 2] += w * y[i] * y[i]
                    state_c[to, 0] += count[i]
                else:
                    state_w[to, label[i]] += w
                    state_c[to, label[i]] += count[i]
                for k in range(n_extra):
                    state_e[to, k] += extra[i, k]
            continue
        for t in range(len(position)):
            while done <= position[t]:
                i = rows[done]
                w = weight[i]
                if moments:
                    state_w[0, 0] += w
                    state_w[0, 1] += w * y[i]
                    state_w[0, 2] += w * y[i] * y[i]
                    state_c[0, 0] += count[i]
                else:
                    state_w[0, label[i]] += w
                    state_c[0, label[i]] += count[i]
                for k in range(n_extra):
                    state_e[0, k] += extra[i, k]
                done += 1
            for k in range(n_counts):
                out_c[t, 0, k], out_c[t, 1, k] = state_c[0, k], state_c[1, k] - state_c[0, k]
            for k in range(n_classes):
                # a cut always leaves rows on the right; where none of a class, its weight is 0 and not 1e-17
                gone = not moments and out_c[t, 1, k] == 0
                out_w[t, 0, k] = state_w[0, k]
                out_w[t, 1, k] = 0.0 if gone else state_w[1, k] - state_w[0, k]
            for k in range(n_extra):
                out_e[t, 0, k], out_e[t, 1, k] = state_e[0, k], state_e[1, k] - state_e[0, k]
            s = side[t]
            if s >= 0:
                for k in range(n_classes):
                    out_w[t, s, k] += state_w[2, k]
                for k in range(n_counts):
                    out_c[t, s, k] += state_c[2, k]
                for k in range(n_extra):
                    out_e[t, s, k] += state_e[2, k]
    at[0] = done


@jit
def _scan_column(
    values, rows, label, y, weight, count, unit, min_leaf, gap, relative, floor, batch, node,
    block_w, block_c, block_p, block_e, scores, position, nothing_yet, best,
):
    """Score all cuts of one sorted column in one pass, a block of tables at a time.

    unit : every object has weight 1 and stands for one row: weights and counts are then not looked up.
    nothing_yet, best : whether there is a test to beat, and its score.
    Returns (position, side, score) of a cut that beats it; position −1 if there is none; side NAN_SCORE on NaN.
    """  # fmt: skip
    score_block = batch_at(batch)
    n_classes, n_counts = block_w.shape[2], block_c.shape[2]
    moments = len(label) == 0
    known = len(rows)
    lost_w, all_w, left_w = np.zeros(n_classes), np.zeros(n_classes), np.zeros(n_classes)
    lost_c, all_c, left_c = np.zeros(n_counts, np.int64), np.zeros(n_counts, np.int64), np.zeros(n_counts, np.int64)
    while known > 0 and np.isnan(values[rows[known - 1]]):
        known -= 1
    for j in range(len(rows)):
        i = np.uintp(rows[j])
        w, c = (1.0, np.int64(1)) if unit else (weight[i], count[i])
        if moments:
            target = all_w if j < known else lost_w
            target[0] += w
            target[1] += w * y[i]
            target[2] += w * y[i] * y[i]
            if j < known:
                all_c[0] += c
            else:
                lost_c[0] += c
        elif j < known:
            all_w[label[i]] += w
            all_c[label[i]] += c
        else:
            lost_w[label[i]] += w
            lost_c[label[i]] += c
    lost = lost_c.sum()
    total = all_c.sum() + lost
    found_at, found_side = np.int64(-1), np.int64(NO_SIDE)
    for s in range(2 if known < len(rows) else 1):
        left_w[:] = 0.0
        left_c[:] = 0
        left = lost if lost > 0 and s == 0 else np.int64(0)
        n = 0
        value = values[rows[0]] if known > 0 else values[0]
        for j in range(known):
            last = j == known - 1
            if not last:
                i = np.uintp(rows[j])
                w, c = (1.0, np.int64(1)) if unit else (weight[i], count[i])
                if moments:
                    left_w[0] += w
                    left_w[1] += w * y[i]
                    left_w[2] += w * y[i] * y[i]
                    left_c[0] += c
                else:
                    k = np.uintp(label[i])
                    left_w[k] += w
                    left_c[k] += c
                left += c
                following = values[np.uintp(rows[j + 1])]
                if following > value + gap and left >= min_leaf and total - left >= min_leaf:
                    for k in range(n_counts):
                        block_c[n, 0, k], block_c[n, 1, k] = left_c[k], all_c[k] - left_c[k]
                    for k in range(n_classes):
                        # where no row of a class is left its weight is 0 and not 1e-17
                        gone = not moments and left_c[k] == all_c[k]
                        block_w[n, 0, k], block_w[n, 1, k] = left_w[k], 0.0 if gone else all_w[k] - left_w[k]
                    if lost > 0:
                        for k in range(n_counts):
                            block_c[n, s, k] += lost_c[k]
                        for k in range(n_classes):
                            block_w[n, s, k] += lost_w[k]
                    position[n] = j
                    n += 1
                value = following
            if n == BLOCK or (last and n > 0):
                score_block(block_w[:n], block_c[:n], block_p[:n], block_e[:n], node, scores[:n])
                for t in range(n):
                    found = scores[t]
                    if np.isnan(found):
                        return np.int64(position[t]), np.int64(NAN_SCORE), found
                    slack = max(relative * abs(best), floor)
                    # the second side does not win against an equal cut further left, nor lose to one further right
                    sooner = s == 1 and position[t] < found_at and found >= best - slack
                    if sooner or (found > best and (nothing_yet or found > best + slack)):
                        nothing_yet = False
                        found_at, found_side, best = np.int64(position[t]), np.int64(s if lost > 0 else NO_SIDE), found
                n = 0
    return found_at, found_side, best


@jit
def best_cut(
    order, low, high, values, label, y, weight, count, unit, extra, price, min_leaf, gap,
    batch, scalars, params, impurity, relative, floor, prefix,
):
    """Score every cut of every column through a function pointer; return (column, position, side, score).

    price : float64[columns].   prefix : address of a prefix kernel, or 0; its values replace ``extra`` (one column).
    Ties: see :func:`arboretum.kernels.coded.best_test`.
    """  # fmt: skip
    node = make_node(scalars, params, impurity)
    score_block = batch_at(batch)
    n_classes = scalars_classes(label, scalars)
    n_counts = n_classes if len(label) > 0 else 1
    n_extra = extra.shape[1] if prefix == 0 else 1
    m = high - low
    position, side = np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    block_w = np.empty((BLOCK, 2, n_classes))
    block_c = np.empty((BLOCK, 2, n_counts), np.int64)
    block_e = np.zeros((BLOCK, 2, n_extra))
    block_p = np.empty(BLOCK)
    scores = np.empty(BLOCK)
    at = np.empty(1, np.int64)
    state_w = np.empty((3, n_classes))
    state_c = np.empty((3, n_counts), np.int64)
    state_e = np.empty((3, n_extra))
    costs = np.empty((4, m if prefix != 0 else 0))
    best_f, best_at, best_side, best = np.int64(NOTHING), np.int64(NOTHING), np.int64(NO_SIDE), -np.inf
    simple = prefix == 0 and n_extra == 0
    for f in range(len(order)):
        rows = order[f, low:high]
        if simple:
            block_p[:] = price[f]
            found = _scan_column(
                values[f], rows, label, y, weight, count, unit, min_leaf, gap, relative, floor, batch, node,
                block_w, block_c, block_p, block_e, scores, position, best_f < 0, best,
            )  # fmt: skip
            if found[1] == NAN_SCORE:
                return f, found[0], np.int64(NAN_SCORE), np.nan
            if found[0] >= 0:
                best_f, best_at, best_side, best = f, found[0], found[1], found[2]
            continue
        n, known = find_cuts(values[f], rows, count, min_leaf, gap, position, side)
        if n == 0:
            continue
        if prefix != 0:
            fill_prefix_costs(rows, known, y, weight, prefix, costs)
        at[0] = -1
        state_w[:] = 0.0
        state_c[:] = 0
        state_e[:] = 0.0
        for start in range(0, n, BLOCK):
            stop = min(n, start + BLOCK)
            b = stop - start
            fill_cuts(
                rows, known, label, y, weight, count, extra, position[start:stop], side[start:stop],
                state_w, state_c, state_e, at, block_w[:b], block_c[:b], block_e[:b],
            )  # fmt: skip
            if prefix != 0:
                for t in range(b):
                    s = 2 if side[start + t] == 1 else 0
                    block_e[t, 0, 0] = costs[s, position[start + t]]
                    block_e[t, 1, 0] = costs[s + 1, position[start + t] + 1]
            block_p[:b] = price[f]
            score_block(block_w[:b], block_c[:b], block_p[:b], block_e[:b], node, scores[:b])
            for t in range(b):
                s = scores[t]
                if np.isnan(s):
                    return f, np.int64(position[start + t]), np.int64(NAN_SCORE), s
                if s > best and (best_f < 0 or s > best + max(relative * abs(best), floor)):
                    best_f, best_at, best_side, best = f, np.int64(position[start + t]), np.int64(side[start + t]), s
    return best_f, best_at, best_side, best


@jit
def scalars_classes(label, scalars):
    """Width of a table: classes (kept behind the node's scalars), or the three moments."""
    return np.int64(scalars[5]) if len(label) > 0 else 3


@jit
def fill_prefix_costs(rows, known, y, weight, prefix, out):
    """Impurity × mass of every prefix and every suffix of a sorted run.

    rows : int32[m]; its first ``known`` rows have a value.   prefix : address of a prefix kernel.
    out : float64[4, m].  With the missing rows left: out[0, j] of the rows 0 … j, out[1, j] of the rows j … known − 1;
    out[2], out[3]: the same with the missing rows right.
    """
    call = prefix_at(prefix)
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
        call(ys[:m], ws[:m], costs[:m])
        for j in range(known):
            out[form, known - 1 - j if backward else j] = costs[first + j]


@jit
def threshold_outcomes(values, row_stride, base, rows, threshold, side, out):
    """0 where value ≤ threshold, else 1; missing rows follow ``side``.   values : flat memory of a matrix."""
    for j in range(len(rows)):
        v = values[np.uintp(base) + np.uintp(rows[j]) * np.uintp(row_stride)]
        outcome = np.int32(v > threshold)
        out[j] = outcome if v == v else np.int32(side)


@jit
def partition_order(order, low, high, rows, start, owner, spare):
    """Divide the sorted runs of a node stably by outcome, in every column.

    rows : int32[n], the permutation, divided already: outcome k has ``rows[low + start[k] : low + start[k + 1]]``.
    start : int64[arity + 1].   owner : uint32[n], scratch by object.   spare : int32[≥ high − low + 1], scratch.
    """
    arity = len(start) - 1
    for k in range(arity):
        for j in range(low + start[k], low + start[k + 1]):
            owner[np.uintp(rows[j])] = k
    at = np.empty(arity, np.int64)
    for f in range(len(order)):
        run = order[f, low:high]
        if arity == 2:
            left, right = np.uintp(0), np.uintp(0)
            for j in range(len(run)):
                i = run[j]
                goes = np.uintp(owner[np.uintp(i)])
                spare[right] = i
                run[left] = i
                right += goes
                left += np.uintp(1) - goes
            for j in range(right):
                run[left + np.uintp(j)] = spare[j]
            continue
        for k in range(arity):
            at[k] = start[k]
        for j in range(len(run)):
            i = run[j]
            k = owner[i]
            spare[at[k]] = i
            at[k] += 1
        for j in range(len(run)):
            run[j] = spare[j]
