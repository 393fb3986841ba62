"""Contingency tables of all coded features of a node, in one pass over its rows::

    for each row i of the node, for each feature f (the other way round where columns lie together):
        b ← offset[f] + codes[i * row_stride + column[f] * column_stride]
        count_classes: out[class of i, b] += 1
        count_weights: weights[b, class of i] += weight of i;  counts[b, class of i] += count of i
            (without classes: moments of y in weights[b], counts[b, 0])
    send: goes[row] ← its outcome
    partition: rows ← the rows of outcome 0, of outcome 1, …, in their order

The bins of all features lie one after the other: feature f has the bins ``offset[f] … offset[f + 1]
− 1``.  ``codes`` is the flat memory of the code matrix.

Invariants: tables are added to, and never set to 0 here.  Codes are below the number of bins of
their feature (that of missing values included), and labels below the number of classes: no position
is checked.  ``goes`` goes by object, and holds for the node at hand.
"""

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.sorting import split
from arboretum.kernels.tables import add_moments


@jit
def count_classes(codes, row_stride, column_stride, column, offset, rows, label, out):
    """Add up rows by class and bin, for objects of weight 1 that stand for one row.

    codes : uint8/16/32[:], flat memory of a matrix, strides in elements.
    column, offset : int64[features], the column of each in the matrix, and its first bin.
    rows : int32[m].
    label : uint8/int32[n].
    out : int32[classes, bins], added to.

    All positions are unsigned: numba's test for negative ones costs a third (docs/decisions, greedy
    search).
    """
    bins = np.uintp(out.shape[1])
    flat = out.reshape(out.size)
    n_features = len(column)
    across, down = np.uintp(column_stride), np.uintp(row_stride)
    if row_stride < column_stride:  # columns lie together: one column at a time
        for f in range(n_features):
            base = np.uintp(column[f]) * across
            start = np.uintp(offset[f])
            for j in range(len(rows)):
                i = np.uintp(rows[j])
                flat[np.uintp(label[i]) * bins + start + np.uintp(codes[base + i * down])] += (
                    np.int32(1)
                )
        return
    starts, places = np.empty(n_features, np.uintp), np.empty(n_features, np.uintp)
    for f in range(n_features):
        starts[f], places[f] = np.uintp(offset[f]), np.uintp(column[f]) * across
    for j in range(len(rows)):
        i = np.uintp(rows[j])
        base = i * down
        shelf = np.uintp(label[i]) * bins
        for f in range(n_features):
            g = np.uintp(f)
            flat[shelf + starts[g] + np.uintp(codes[base + places[g]])] += np.int32(1)


@jit
def count_weights(
    codes, row_stride, column_stride, column, offset, rows, label, y, weight, count, weights, counts
):
    """Add up weights and rows by bin: by class, or as moments when ``label`` is empty.

    codes, row_stride, column_stride, column, offset, rows : as in :func:`count_classes`.
    label : int32[n] or int32[0].
    y, weight : float64[n]; y is read for moments alone.
    count : int64[n], rows that an object stands for.
    weights : float64[bins, classes] (moments: [bins, 3]), added to.
    counts : int64[bins, classes] ([bins, 1]), added to.
    """
    if len(label) > 0:
        width, down = np.uintp(weights.shape[1]), np.uintp(row_stride)
        flat_w, flat_c = weights.reshape(weights.size), counts.reshape(counts.size)
        for f in range(len(column)):
            base = np.uintp(column[f]) * np.uintp(column_stride)
            start = np.uintp(offset[f])
            for j in range(len(rows)):
                i = np.uintp(rows[j])
                b = (start + np.uintp(codes[base + i * down])) * width + np.uintp(label[i])
                flat_w[b] += weight[i]
                flat_c[b] += count[i]
        return
    for f in range(len(column)):
        base = column[f] * column_stride
        start = offset[f]
        for j in range(len(rows)):
            i = np.int64(rows[j])
            b = start + np.int64(codes[base + i * row_stride])
            add_moments(weights, b, weight[i], y[i])
            counts[b, 0] += count[i]


@jit
def count_extra(codes, row_stride, column_stride, column, offset, rows, values, out):
    """Add up a criterion's own columns by bin.

    codes, row_stride, column_stride, column, offset, rows : as in :func:`count_classes`.
    values : float64[n, k], by object.
    out : float64[bins, k], added to.
    """
    for f in range(len(column)):
        base = column[f] * column_stride
        for j in range(len(rows)):
            b = offset[f] + np.int64(codes[base + np.int64(rows[j]) * row_stride])
            for c in range(values.shape[1]):
                out[b, c] += values[rows[j], c]


@jit
def totals(rows, label, y, weight, count, weights, counts):
    """Add up class weights (or moments) and counts of a set of rows, in row 0 of ``weights`` and
    ``counts``.

    All arguments as in :func:`count_weights`.
    """
    for j in range(len(rows)):
        i = rows[j]
        if len(label) == 0:
            add_moments(weights, 0, weight[i], y[i])
            counts[0, 0] += count[i]
        else:
            weights[0, label[i]] += weight[i]
            counts[0, label[i]] += count[i]


@jit
def class_totals(rows, label, counts):
    """Count unit objects by class.

    rows : int32[m].
    label : uint8/int32[n].
    counts : int64[classes], added to.
    """
    for row in rows:
        counts[np.uintp(label[np.uintp(row)])] += 1


@jit
def send(rows, outcome, goes):
    """Write the outcome of a node's rows by object; NumPy takes five times as long.

    rows, outcome : int32[m], each the other's.
    goes : by object, written at ``rows`` alone.
    """
    for j in range(len(rows)):
        goes[np.uintp(rows[j])] = outcome[j]


@jit
def partition(rows, goes, start, spare):
    """Sort the rows of a node stably by outcome, in place.

    rows : int32[m].
    goes : outcome ≥ 0 by object.
    start : int64[arity + 1], receives the first position of each outcome and the number of rows.
    spare : int32[≥ m], scratch.
    """
    start[:] = 0
    for j in range(len(rows)):
        start[np.int64(goes[np.uintp(rows[j])]) + 1] += 1
    for k in range(len(start) - 1):
        start[k + 1] += start[k]
    split(rows, np.int64(-1), goes, start, spare)
