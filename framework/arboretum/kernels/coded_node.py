"""One node of a subtree of coded features: its objects added up as a whole, by bin, and in the criterion's own column.

Groups of arguments are those of :mod:`arboretum.kernels.coded_tree`.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.coded import NO_SIDE
from arboretum.kernels.jit import jit
from arboretum.kernels.function_pointers import column_at, impurity_at

MAX_DEPTH, MIN_LEAF, MIN_SPLIT, ALLOW_CONSTANT, ONCE, BOUNDED, MIN_OBJECTS = range(7)
MIN_WEIGHT, LEAST, LIGHT, MIXED, TOTAL = range(5)
"""Places in ``rules`` and in ``levels``."""


@jit(inline=True, borrow=True)
def mass_of(weights, by_class):
    """Weight of a table's row."""
    mass = weights[0]
    if by_class:
        for k in range(1, len(weights)):
            mass += weights[k]
    return mass


@jit(borrow=True)
def describe(first, stop, rows, segment, stack, waiting, objects, rules, levels, impurity_address, nodes):
    """Add up the objects of nodes ``first … stop − 1`` and start them as leaves; put those that may be divided on the
    stack, and return its height."""
    label, y, weight, count, unit, rows_each = objects
    feature, index, side, parent, branch, price, score, impurity, weights, counts, rows_of_node = nodes
    by_class = len(label) > 0
    width, count_width = weights.shape[1], counts.shape[1]
    impurity_of = impurity_at(impurity_address)
    for v in range(first, stop):
        low, high = segment[v, 0], segment[v, 1]
        feature[v], index[v], side[v], price[v], score[v] = -1, 0, NO_SIDE, 0.0, np.nan
        for k in range(width):
            weights[v, k] = 0.0
        for k in range(count_width):
            counts[v, k] = 0
        for j in range(low, high):
            i = np.uintp(rows[j])
            if not by_class:
                w = weight[i]
                weights[v, 0] += w
                weights[v, 1] += w * y[i]
                weights[v, 2] += w * y[i] * y[i]
                counts[v, 0] += count[i]
            elif unit:
                counts[v, np.uintp(label[i])] += 1
            else:
                weights[v, np.uintp(label[i])] += weight[i]
                counts[v, np.uintp(label[i])] += count[i]
        n_rows, classes, mass = np.int64(0), 0, 0.0
        for k in range(count_width):
            n_rows += counts[v, k]
            classes += counts[v, k] > 0
            if unit and by_class:
                weights[v, k] = counts[v, k]
        if len(rows_each) > 0:
            n_rows = 0
            for j in range(low, high):
                n_rows += rows_each[rows[j]]
            rows_of_node[v] = n_rows
        for k in range(width if by_class else 1):
            mass += weights[v, k]
        impurity[v] = impurity_of(weights[v])
        pure = classes <= 1
        if not by_class:
            for j in range(low + 1, high):
                if y[rows[j]] != y[rows[low]]:
                    pure = False
                    break
        if not (
            pure or segment[v, 2] == rules[MAX_DEPTH] or n_rows < 2 * rules[MIN_LEAF] or n_rows < rules[MIN_SPLIT]
            or mass < 2.0 * levels[MIN_WEIGHT] or mass <= levels[LIGHT] or impurity[v] <= levels[MIXED]
            or high - low < rules[MIN_OBJECTS]
        ):  # fmt: skip
            stack[waiting] = v
            waiting += 1
    return waiting


@jit(inline=True, borrow=True)
def count_bins(features, rows, low, high, objects, bin_w, bin_c):
    """Add up a node's rows by bin and class; for units in ``bin_c`` alone."""
    codes, row_stride, column_stride, column, _, offset = features[:6]
    label, y, weight, count, unit = objects[:5]
    across, down = np.uintp(column_stride), np.uintp(row_stride)
    by_class = len(label) > 0
    bin_c[:] = 0
    bin_w[:] = 0.0
    for f in range(len(column)):
        base, first = np.uintp(column[f]) * across, np.uintp(offset[f])
        for j in range(low, high):
            i = np.uintp(rows[j])
            b = first + np.uintp(codes[base + i * down])
            if by_class:
                k = np.uintp(label[i])
                if unit:
                    bin_c[b, k] += 1
                else:
                    bin_w[b, k] += weight[i]
                    bin_c[b, k] += count[i]
            else:
                w = weight[i]
                bin_w[b, 0] += w
                bin_w[b, 1] += w * y[i]
                bin_w[b, 2] += w * y[i] * y[i]
                bin_c[b, 0] += count[i]


@jit(borrow=True)
def count_column(features, rows, objects, column_address, node, own):
    """Add up the criterion's own column by bin, over the rows where it is not 0; False if some value is not finite."""
    codes, row_stride, column_stride, column, _, offset = features[:6]
    bin_e, picked, values = own
    n = column_at(column_address)(rows, objects[2], objects[0], node, picked, values)
    across, down = np.uintp(column_stride), np.uintp(row_stride)
    bin_e[:] = 0.0
    for f in range(len(column)):
        base, first = np.uintp(column[f]) * across, np.uintp(offset[f])
        for j in range(n):
            bin_e[first + np.uintp(codes[base + np.uintp(picked[j]) * down])] += values[j]
    return n >= 0
