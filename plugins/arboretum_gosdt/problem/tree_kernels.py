"""What the nodes of a tree hold: every object walks down once; and the last tests of a tree that
a search does not keep::

    add_objects_to_nodes: for every object: from the root to a leaf, add its weight; there, rows
                          and costs, which are then added upwards
    best_test: for every binary test: greatest weight of a class at its one side + at its other
    best_cut:  for every column and cut: greatest weight of a class at its left + at its right

Invariants: node 0 is the root, test −1 a leaf.  Ranks are at least 0, so that they index; a cut
that saves no more than a leaf is none (column −1), and the first of equally good ones stays.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.rows import THRESHOLDS

Objects = namedtuple("Objects", "label weight count costs")
"""int32[n] label, float64[n] weight, int64[n] rows, int64[n, labels] losses by label."""

Held = namedtuple("Held", "weights rows costs")
"""Zeros, filled per node: float64[nodes, classes] weights, int64[nodes] rows, int64[nodes,
labels] losses by label.
"""


@jit
def add_objects_to_nodes(coded, nodes, objects, held):
    """Add every object to the nodes on its path.

    coded : :class:`arboretum_gosdt.problem.kernels.Coded`.
    nodes : int64[nodes, 3], (test or −1, node of outcome 1, node of outcome 0), each before those
        below it.
    objects : Objects.
    held : Held, zeros, written.
    """
    for r in range(objects.label.shape[0]):
        node = np.int64(0)
        while True:
            held.weights[node, objects.label[r]] += objects.weight[r]
            t = nodes[node, 0]
            if t < 0:
                break
            column = coded.column[t]
            code, index = coded.codes[column, r], coded.index[t]
            one = code > index if coded.family[column] == THRESHOLDS else code != index
            node = nodes[node, 1] if one else nodes[node, 2]
        held.rows[node] += objects.count[r]
        for label in range(objects.costs.shape[1]):
            held.costs[node, label] += objects.costs[r, label]
    for node in range(nodes.shape[0] - 1, -1, -1):  # whole numbers add up in any order
        if nodes[node, 0] >= 0:
            for below in nodes[node, 1:]:
                held.rows[node] += held.rows[below]
                for label in range(objects.costs.shape[1]):
                    held.costs[node, label] += held.costs[below, label]


@jit
def sum_weights(weights, rows):
    """Return int64[classes], the sums of some rows (int64) of weights, int64[rows, classes]."""
    found = np.zeros(weights.shape[1], np.int64)
    for r in rows:
        for k in range(weights.shape[1]):
            found[k] += weights[r, k]
    return found


@jit
def best_test(bits, weights, rows, features):
    """Return (feature, weight, total) of the test with which the labels of both sides save most,
    what that is, and what all labels together save; feature −1: none saves more than a leaf.

    bits : uint32[rows, words], as searches over binary tests read them.
    weights : int64[rows, classes].
    rows : int64, some of them.
    """
    whole, classes = sum_weights(weights, rows), weights.shape[1]
    inside = np.zeros((classes, 32 * bits.shape[1]), np.int64)
    for r in rows:
        for k in range(classes):
            weight = weights[r, k]
            for w in range(bits.shape[1] if weight else 0):
                word, lanes = bits[r, w], inside[k, 32 * w : 32 * w + 32]
                for f in range(32):
                    lanes[f] += weight & -np.int64(word >> np.uint32(f) & np.uint32(1))
    most, feature = whole.max(), np.int64(-1)
    for f in range(features):
        low, high = np.int64(0), np.int64(0)
        for k in range(classes):
            low, high = max(low, whole[k] - inside[k, f]), max(high, inside[k, f])
        if low + high > most:
            most, feature = low + high, np.int64(f)
    return feature, most, whole.sum()


@jit
def best_cut(ranks, weights, rows):
    """Return (column, cut) of the split "rank <= cut" with which the labels of both sides save
    most; column -1: none saves more than a leaf.

    ranks : int32[columns, rows].
    weights : int64[rows, classes].
    rows : int64, some of them.
    """
    if weights.shape[1] == 2:
        return best_cut_of_two(ranks, weights, rows)
    whole, classes = sum_weights(weights, rows), weights.shape[1]
    most, column, cut = whole.max(), np.int64(-1), np.int64(0)
    for h in range(ranks.shape[0]):
        top = np.int64(-1)
        for r in rows:
            top = max(top, np.int64(ranks[h, r]))
        at, left = np.zeros((top + 1, classes), np.int64), np.zeros(classes, np.int64)
        for r in rows:
            for k in range(classes):
                at[ranks[h, r], k] += weights[r, k]
        for u in range(top + 1):
            low, high = np.int64(0), np.int64(0)
            for k in range(classes):
                left[k] += at[u, k]
                low, high = max(low, left[k]), max(high, whole[k] - left[k])
            if low + high > most:
                most, column, cut = low + high, np.int64(h), np.int64(u)
    return column, cut


@jit(inner=True)
def best_cut_of_two(ranks, weights, rows):
    """Return what :func:`best_cut` does, of two classes.

    A label saves half of all weight and half of what one class weighs more than the other, so that
    one sum says it: the difference.
    """
    more = np.empty(rows.shape[0], np.int64)
    for i, r in enumerate(rows):
        more[i] = weights[r, 1] - weights[r, 0]
    whole = more.sum()
    most, column, cut = abs(whole), np.int64(-1), np.int64(0)
    at = np.zeros(np.int64(ranks.max()) + 1 if ranks.size else 0, np.int64)
    for h in range(ranks.shape[0]):
        top, left, here = np.int64(-1), np.int64(0), ranks[h]
        for i, r in enumerate(rows):
            rank = np.int64(here[r])
            at[rank] += more[i]
            top = max(top, rank)
        for u in range(top + 1):
            left += at[u]
            at[u] = 0
            if abs(left) + abs(whole - left) > most:
                most, column, cut = abs(left) + abs(whole - left), np.int64(h), np.int64(u)
    return column, cut
