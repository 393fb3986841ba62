"""Exact thresholds on raw columns: every midpoint between neighbouring values of a node competes.

``order`` : uint32/64[columns, n] of entries (:mod:`arboretum.kernels.presort`).  Those of a node's rows lie in
``order[f, low:high]``, sorted by column f, missing values last.
``values`` : float32/64[columns, n], NaN = missing.
A *cut* at position j of a sorted run divides it into its first j + 1 rows and the rest.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.coded import BLOCK, NAN_SCORE, NO_SIDE, NOTHING
from arboretum.kernels.jit import jit
from arboretum.kernels.function_pointers import batch_at, make_node, prefix_at
from arboretum.kernels.presort import unpack


@jit
def find_cuts(values, rows, weight, count, least, gap, position, side):
    """List the cuts of one column that may compete, ascending; return (their number, rows with a value).

    values : float[n].   rows : int32[m], sorted by value.   gap : neighbours not further apart are not separated.
    least : rows and weight that both sides must have.
    position, side : int32[2 m].  With missing rows each cut is listed twice: missing rows left (0), then right (1).
    """
    known = len(rows)
    missing, lost = np.int64(0), 0.0
    while known > 0 and np.isnan(values[rows[known - 1]]):
        known -= 1
        missing += count[rows[known]]
        lost += weight[rows[known]]
    total, whole = missing, lost
    for j in range(known):
        total += count[rows[j]]
        whole += weight[rows[j]]
    left, mass = np.int64(0), 0.0
    n = 0
    for j in range(known - 1):
        left += count[rows[j]]
        mass += weight[rows[j]]
        here = values[rows[j]]
        if not values[rows[j + 1]] > here + gap:
            continue
        for s in range(2 if missing > 0 else 1):
            a = left + (missing if s == 0 else 0)
            if a < least[0] or total - a < least[0]:
                continue
            w = mass + (lost if s == 0 else 0.0)
            if w < least[1] or whole - w < least[1]:
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
def best_cut(
    order, low, high, shift, values, label, objects, extra, price, least, gap, batch, scalars, params, impurity, ties, prefix,
):
    """Score every cut of every column, with values added up over objects beside the tables; (column, position, side, score).

    order, shift : see :mod:`arboretum.kernels.presort`; :mod:`arboretum.kernels.scan` serves criteria without such values.   objects : y, weight, count.
    extra : float64[n, k], values of the objects.   price : float64[columns].   least : rows and weight of both sides.
    ties : relative and absolute tolerance; see :func:`arboretum.kernels.coded.best_test`.
    prefix : address of a prefix kernel, or 0; its values replace ``extra`` (one column).
    """  # fmt: skip
    y, weight, count = objects
    node = make_node(scalars, params, impurity)
    score_block = batch_at(batch)
    n_classes = scalars_classes(label, scalars)
    n_counts = n_classes if len(label) > 0 else 1
    n_extra = extra.shape[1] if prefix == 0 else 1
    m = high - low
    rows, position, side = np.empty(m, np.int32), np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    block_w, block_c = np.empty((BLOCK, 2, n_classes)), np.empty((BLOCK, 2, n_counts), np.int64)
    block_e, block_p, scores = np.zeros((BLOCK, 2, n_extra)), np.empty(BLOCK), np.empty(BLOCK)
    at = np.empty(1, np.int64)
    state_w, state_c, state_e = np.empty((3, n_classes)), np.empty((3, n_counts), np.int64), np.empty((3, n_extra))
    costs = np.empty((4, m if prefix != 0 else 0))
    best_f, best_at, best_side, best = np.int64(NOTHING), np.int64(NOTHING), np.int64(NO_SIDE), -np.inf
    for f in range(len(order)):
        unpack(order[f, low:high], shift, rows)
        n, known = find_cuts(values[f], rows, weight, count, least, gap, position, side)
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
                if s > best and (best_f < 0 or s > best + max(ties[0] * abs(best), ties[1])):
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
