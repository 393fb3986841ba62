"""Tables of many nodes at once, from rows that know the node they are in::

    pick_rows:   for each row: if its node has a slot, list it; then order by slot, rows ascending
    count_nodes: for each feature, for each listed row: table of its slot, at its bin and class += 1
    weigh_nodes: the same with weights and rows, or moments
    add_columns: the same with the criterion's own columns
    add_totals:  for each row whose node has a slot: totals of the slot += what the row adds
    send_rows:   for each row whose node has a test: its node ← the child of its outcome, if any

A chunk is some rows next to each other.  ``node`` holds a number per row, of which ``first`` is the
lowest that a slot or a test may belong to: all below are closed.

Invariants: tables and totals are added to, and never set to 0 here, in the order of rows within a
slot; codes are below the bins of their feature, labels below the classes; no position is checked.
"""

import numpy as np

from arboretum.kernels.coded import EQUALS, MULTIWAY
from arboretum.kernels.jit import jit
from arboretum.kernels.tables import add_moments


@jit
def pick_rows(node, first, slot, start, which, place):
    """List the rows of nodes that have a slot, ordered by slot, rows ascending; return how many.

    node : int32[n].   slot : int32[nodes], by number − first, −1 without one.
    start : int64[slots + 1], scratch.   which, place : int32[n], receive rows and their slots.
    """
    start[:] = 0
    n_slots = len(start) - 1
    for i in range(len(node)):
        v = node[i] - first
        if v >= 0 and slot[v] >= 0:
            start[slot[v] + 1] += 1
    for s in range(n_slots):
        start[s + 1] += start[s]
    m = start[n_slots]
    for i in range(len(node)):
        v = node[i] - first
        if v >= 0 and slot[v] >= 0:
            s = slot[v]
            which[start[s]] = i
            place[start[s]] = s
            start[s] += 1
    return m


@jit
def count_nodes(codes, offset, which, place, label, out):
    """Add up rows of weight 1 by slot, bin and class.

    codes : uint8/16[features, n], of a chunk.   offset : int64[features + 1], first bin of each.
    which, place : int32[m], as :func:`pick_rows` has them.   label : uint8/int32[n].
    out : int32[slots, bins, classes], added to.

    A feature at a time: its part of a table stays in the nearest cache while the rows of a slot
    pass.  Positions are unsigned: numba's test for negative ones costs a third.
    """
    classes = np.uintp(out.shape[2])
    size = np.uintp(out.shape[1]) * classes
    flat = out.reshape(out.size)
    for f in range(len(codes)):
        own = codes[f]
        begin = np.uintp(offset[f]) * classes
        for j in range(len(which)):
            i = np.uintp(which[j])
            at = np.uintp(place[j]) * size + begin
            flat[at + np.uintp(own[i]) * classes + np.uintp(label[i])] += np.int32(1)


@jit
def weigh_nodes(codes, offset, which, place, label, y, weight, weights, counts):
    """Add up weights and rows by slot, bin and class, or moments when ``label`` is empty.

    codes, offset, which, place : as in :func:`count_nodes`.
    label : int32[n] or int32[0].   y : float64[n], read for moments alone.   weight : float64[n].
    weights : float64[slots, bins, width], counts : int64[slots, bins, count width], added to.
    """
    if len(label) > 0:
        width = np.uintp(weights.shape[2])
        size = np.uintp(weights.shape[1]) * width
        flat_w, flat_c = weights.reshape(weights.size), counts.reshape(counts.size)
        for f in range(len(codes)):
            own = codes[f]
            begin = np.uintp(offset[f]) * width
            for j in range(len(which)):
                i = np.uintp(which[j])
                b = np.uintp(place[j]) * size + begin
                b += np.uintp(own[i]) * width + np.uintp(label[i])
                flat_w[b] += weight[i]
                flat_c[b] += 1
        return
    for f in range(len(codes)):
        for j in range(len(which)):
            i, s = which[j], place[j]
            b = offset[f] + np.int64(codes[f, i])
            add_moments(weights[s], b, weight[i], y[i])
            counts[s, b, 0] += 1


@jit
def add_columns(codes, offset, which, place, columns, out):
    """Add up the criterion's own columns by slot and bin.

    codes, offset, which, place : as in :func:`count_nodes`.   columns : float64[n, k].
    out : float64[slots, bins, k], added to.
    """
    for f in range(len(codes)):
        for j in range(len(which)):
            i, s = which[j], place[j]
            b = offset[f] + np.int64(codes[f, i])
            for c in range(columns.shape[1]):
                out[s, b, c] += columns[i, c]


@jit
def add_totals(node, first, slot, label, y, weight, weights, counts, low, high):
    """Add up what rows add to their slots as a whole.

    node, first, slot : as in :func:`pick_rows`.   label : uint8/int32[n], or int32[0].
    y, weight : float64[n]; weight of no row where each weighs 1.
    weights : float64[slots, width], counts : int64[slots, count width], added to.
    low, high : float64[slots], least and largest y.
    """
    units = len(weight) == 0
    for i in range(len(node)):
        v = node[i] - first
        if v < 0 or slot[v] < 0:
            continue
        s = slot[v]
        w = 1.0 if units else weight[i]
        if len(label) == 0:
            add_moments(weights, s, w, y[i])
            counts[s, 0] += 1
            low[s], high[s] = min(low[s], y[i]), max(high[s], y[i])
        else:
            weights[s, label[i]] += w
            counts[s, label[i]] += 1


@jit
def send_rows(codes, node, first, tests, children):
    """Move the rows of nodes that have a test to the nodes below.

    codes : uint8/16[features, n], of a chunk.   node : int32[n], written.
    tests : int64[nodes, 6], by number − first: feature (−1: none), family, index, number of bins,
        outcome of rows without a value (−1: they stay), where its children begin in ``children``,
        int32[·].
    """
    for i in range(len(node)):
        v = node[i] - first
        if v < 0 or tests[v, 0] < 0:
            continue
        code = np.int64(codes[tests[v, 0], i])
        family, index = tests[v, 1], tests[v, 2]
        if code == tests[v, 3]:
            outcome = tests[v, 4]
            if outcome < 0:
                continue  # it stays
        elif family == MULTIWAY:
            outcome = code
        elif family == EQUALS:
            outcome = np.int64(code != index)
        else:
            outcome = np.int64(code > index)
        node[i] = children[tests[v, 5] + outcome]
