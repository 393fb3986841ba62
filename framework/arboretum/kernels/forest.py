"""Many trees over one set of coded objects: grown, measured and checked without a turn through Python per tree.

The trees lie one after the other; tree k has the nodes ``start[k] … start[k + 1] − 1``, numbered from 0 within the tree,
the root first.  Arrays of nodes are those of :mod:`arboretum.kernels.coded_tree`.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.coded import MULTIWAY, THRESHOLDS
from arboretum.kernels.coded_tree import grow_coded, scratch_for
from arboretum.kernels.jit import jit

DEPTH, AVERAGE_DEPTH, TOTAL_PATH_LENGTH, N_NODES, N_LEAVES, N_INTERNAL, EXPECTED_COST, MAX_COST = range(8)
"""Columns of the measures of a tree."""

SOUND, BROKEN_TREE, UNREACHED = 0, 1, 2
"""What checking a tree says: rows walk through all of it; its nodes do not form one tree, or a row finds no branch; a
node is reached by no row."""


@jit
def grow_forest(
    codes, row_stride, column_stride, column, family, offset, has_missing, price_offset, prices, owner,
    depth, used, paid, label, y, weight, count, unit, n_rows, rules, levels, batch, params, impurity_address,
    column_address, relative, start, integers, floats, weights, counts, tallies, measures,
):
    """Grow one tree per scorer over all the objects and measure it; return the number of judges served.

    That is all of them, or ``start`` holds FOUND_NAN or NO_ROOM behind the last one.  Groups of arguments are those of
    :mod:`arboretum.kernels.coded_tree`, written out: calls from Python are fastest with plain arrays.
    batch, impurity_address, column_address : int64[judges]; all have a column of their own or none has.   params :
    float64[judges, most].
    Written: start int64[judges + 1]; integers int32[5, room] (feature, index, side, parent, branch) and floats float64[3,
    room] (price, score, impurity), weights and counts, tallies (rows; int64[0] without n_rows), with room for all trees; measures
    float64[judges, 8].
    """  # fmt: skip
    features = (
        codes, row_stride, column_stride, column, family, offset, has_missing, price_offset, prices, owner,
    )  # fmt: skip
    objects = (label, y, weight, count, unit, n_rows)
    rows = np.empty(len(codes) // max(1, row_stride), np.int32)
    scratch = scratch_for(
        features, len(rows), integers.shape[1], weights.shape[1], counts.shape[1], unit, len(label) > 0,
        1 if len(column_address) > 0 and column_address[0] != 0 else 0,
    )  # fmt: skip
    at = np.int64(0)
    start[0] = 0
    for k in range(len(batch)):
        for i in range(len(rows)):
            rows[i] = i
        nodes = (
            integers[0, at:], integers[1, at:], integers[2, at:], integers[3, at:], integers[4, at:], floats[0, at:],
            floats[1, at:], floats[2, at:], weights[at:], counts[at:], tallies[at:],
        )  # fmt: skip
        scorer = (batch[k], params[k], impurity_address[k], relative, column_address[k])
        n = grow_coded(features, rows, depth, (used, paid), objects, rules, levels, scorer, nodes, scratch)
        if n < 0:
            start[k + 1] = n
            return k
        measure(n, nodes, len(label) == 0, levels[4], measures[k])
        at += n
        start[k + 1] = at
    return len(batch)


@jit
def measure(n, nodes, moments, total, out):
    """Complexities of a tree of n nodes from the weights of its nodes; see ``arboretum.measure.complexities``."""
    feature, parent, price, weights = nodes[0], nodes[3], nodes[5], nodes[8]
    depth, paid = np.empty(n, np.int64), np.empty(n)
    out[:] = 0.0
    for v in range(n):
        depth[v] = depth[parent[v]] + 1 if v > 0 else 0
        paid[v] = paid[parent[v]] + price[parent[v]] if v > 0 else 0.0
        if feature[v] < 0:
            out[N_LEAVES] += 1.0
            out[DEPTH] = max(out[DEPTH], np.float64(depth[v]))
            out[MAX_COST] = max(out[MAX_COST], paid[v])
        else:
            mass = 0.0
            for k in range(1 if moments else weights.shape[1]):
                mass += weights[v, k]
            out[N_INTERNAL] += 1.0
            out[TOTAL_PATH_LENGTH] += mass
            out[EXPECTED_COST] += mass * price[v]
    out[N_NODES] = n
    out[AVERAGE_DEPTH] = out[TOTAL_PATH_LENGTH] / total
    out[EXPECTED_COST] /= total


@jit
def check_forest(
    codes, row_stride, column_stride, column, family, offset, has_missing, price_offset, prices, owner,
    label, weight, once, start, feature, index, side, parent, branch, n_classes, measures, wrong, verdict,
):
    """Walk every object through every tree and recompute its measures from nothing but tests, edges and price list.

    measures : float64[trees, 8], wrong : float64[trees] (weight outside the heaviest class of its leaf) and verdict :
    int64[trees] are written.
    """  # fmt: skip
    most = np.int64(0)
    for k in range(len(start) - 1):
        most = max(most, start[k + 1] - start[k])
    first, after, reached = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.bool_)
    held, path = np.empty((most, n_classes)), np.empty(most, np.int32)
    total = weight.sum()
    for t in range(len(start) - 1):
        low, n = start[t], start[t + 1] - start[t]
        out = measures[t]
        out[:] = 0.0
        first[:n], reached[:n], held[:n] = -1, False, 0.0
        verdict[t], wrong[t] = SOUND, 0.0
        for v in range(n - 1, 0, -1):  # the children of a node as a chain
            up = parent[low + v]
            if not 0 <= up < v or feature[low + up] < 0:
                verdict[t] = BROKEN_TREE
                break
            after[v], first[up] = first[up], v
        if verdict[t] != SOUND or parent[low] != -1:
            verdict[t] = BROKEN_TREE
            continue
        for i in range(len(label)):
            v, asked, spent = 0, 0, 0.0
            while v >= 0 and feature[low + v] >= 0:
                reached[v] = True
                f, number = feature[low + v], index[low + v]
                code = np.int64(codes[i * row_stride + column[f] * column_stride])
                o = outcome(code, family[f], number, offset[f + 1] - offset[f] - has_missing[f], side[low + v])
                paid = prices[price_offset[f] + number]
                for a in range(asked):
                    if once and owner[path[a]] == owner[f]:
                        paid = 0.0
                path[asked] = f
                asked, spent = asked + 1, spent + paid
                v = first[v]
                while v >= 0 and branch[low + v] != o:
                    v = after[v]
            if v < 0:
                verdict[t] = BROKEN_TREE
                break
            reached[v] = True
            held[v, label[i]] += weight[i]
            out[DEPTH], out[MAX_COST] = max(out[DEPTH], np.float64(asked)), max(out[MAX_COST], spent)
            out[TOTAL_PATH_LENGTH] += weight[i] * asked
            out[EXPECTED_COST] += weight[i] * spent
        for v in range(n):
            if not reached[v] and verdict[t] == SOUND:
                verdict[t] = UNREACHED
            out[N_NODES] += 1.0
            out[N_INTERNAL if feature[low + v] >= 0 else N_LEAVES] += 1.0
            wrong[t] += held[v].sum() - held[v].max()
        out[AVERAGE_DEPTH] = out[TOTAL_PATH_LENGTH] / total
        out[EXPECTED_COST] /= total


@jit(inline=True)
def outcome(code, family, index, known, side):
    """Where a test sends a code; ``side`` where the value is missing."""
    if code >= known:
        return np.int64(side)
    if family == MULTIWAY:
        return code
    return np.int64(code > index) if family == THRESHOLDS else np.int64(code != index)
