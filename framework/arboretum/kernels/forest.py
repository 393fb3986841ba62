"""Many trees over one set of coded objects: grown, measured and checked without a turn through
Python per tree::

    grow_forest, for each judge k:
        rows ← all objects;  grow the tree behind the one before (:mod:`.subtree`);  measure it
        start[k + 1] ← start[k] + its number of nodes
    check_forest, for each tree:
        chain the children of each node: first[v], after[first[v]], …
        if a node's parent is a leaf, or not before it, or the root has one: BROKEN_TREE
        for each object i:
            v ← the root
            while v asks: pay for its test;  v ← the child on the branch of i's outcome
            if there is no such child: BROKEN_TREE
            add what was asked and paid, times the weight of i;  held[v, class of i] += its weight
        if a node was reached by no object: UNREACHED

Invariants:

- The trees lie one after the other; tree k has the nodes ``start[k] … start[k + 1] − 1``, numbered
  from 0 within the tree, the root first, parents before their children.  Arrays of nodes are those
  of :class:`arboretum.kernels.subtree.Nodes`.
- ``rows`` is divided in place by a tree, and set anew for the next; scratch memory serves all.
- ``check_forest`` takes its measures from tests, edges and prices alone; no weight or count that
  growing wrote is used.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.coded import outcome
from arboretum.kernels.jit import jit
from arboretum.kernels.subtree import DONE, Nodes, SubtreeScorer, grow_subtree

MEASURES = np.dtype(
    [
        ("depth", np.float64),  # tests on the longest path
        ("average_depth", np.float64),  # tests on a path, by the weight of its rows
        ("total_path_length", np.float64),  # the same times the weight of all rows
        ("n_nodes", np.float64),
        ("n_leaves", np.float64),
        ("n_internal", np.float64),
        ("expected_cost", np.float64),  # test costs of a path, by the weight of its rows
        ("max_cost", np.float64),  # and of the dearest path
    ]
)
"""The measures of a tree."""

SOUND, BROKEN_TREE, UNREACHED = 0, 1, 2
"""What checking a tree says: rows walk through all of it; its nodes do not form one tree, or a row
finds no branch; a node is reached by no row.
"""

Trees = namedtuple("Trees", "integers floats weights counts tallies")
"""Nodes of all trees: integers int32[6, room] and floats float64[3, room] are the first nine of
``Nodes``, tallies its ``n_rows``.
"""


@jit
def grow_forest(features, above, objects, rules, judges, scratch, start, trees, measures):
    """Grow one tree per judge over all the objects and measure it; return the number of judges
    served.

    That is all of them, unless the criterion of the next one returned NaN or +∞.

    features, above, objects, rules, scratch : as :func:`.subtree.grow_subtree` takes them, for all
        trees.
    judges : Scorers, all with a column of their own or none; batch, impurity, column int64[judges],
        floor float64[judges], params float64[judges, most].
    start : int64[judges + 1], receives the first node of each tree.
    trees : Trees, written; with room for all of them.
    measures : MEASURES[judges], 0 at first; written.
    """
    rows = np.empty(len(features.codes) // max(1, features.row_stride), np.int32)
    room = trees.integers.shape[1]
    segment, stack = np.empty((2 * len(rows), 5), np.int64), np.empty(2 * len(rows), np.int32)
    at, progress = np.int64(0), np.zeros(2, np.int64)
    start[0] = 0
    for k in range(len(judges.batch)):
        for i in range(len(rows)):
            rows[i] = i
        whole, parts = trees.integers, trees.floats
        nodes = Nodes(
            whole[0, at:],
            whole[1, at:],
            whole[2, at:],
            whole[3, at:],
            whole[4, at:],
            whole[5, at:],
            parts[0, at:],
            parts[1, at:],
            parts[2, at:],
            trees.weights[at:],
            trees.counts[at:],
            trees.tallies[at:],
            segment,
            stack,
        )
        scorer = SubtreeScorer(
            judges.batch[k],
            judges.params[k],
            judges.impurity[k],
            judges.column[k],
            judges.relative,
            judges.floor[k],
        )
        progress[0] = 0
        if (
            grow_subtree(
                features,
                rows,
                None,
                scratch.bins,
                room * 1000000,
                above,
                objects,
                rules,
                scorer,
                nodes,
                scratch,
                progress,
            )
            != DONE
        ):
            return k
        n = progress[0]
        measure(n, nodes, len(objects.label) == 0, rules.total, measures[k])
        at += n
        start[k + 1] = at
    return len(judges.batch)


@jit(inner=True)
def measure(n, nodes, moments, total, out):
    """Add the complexities of a tree of n nodes to ``out``, one entry of MEASURES that is 0; see
    ``arboretum.measure.complexities``.

    moments : the tables hold Σw, Σwy, Σwy², so that the first column alone is weight.
    total : weight of the root.
    """
    feature, parent, price, weights = nodes.feature, nodes.parent, nodes.price, nodes.weights
    depth, paid = np.empty(n, np.int64), np.empty(n)
    for v in range(n):
        depth[v] = depth[parent[v]] + 1 if v > 0 else 0
        paid[v] = paid[parent[v]] + price[parent[v]] if v > 0 else 0.0
        if feature[v] < 0:
            out.n_leaves += 1.0
            out.depth = max(out.depth, np.float64(depth[v]))
            out.max_cost = max(out.max_cost, paid[v])
        else:
            mass = 0.0
            for k in range(1 if moments else weights.shape[1]):
                mass += weights[v, k]
            out.n_internal += 1.0
            out.total_path_length += mass
            out.expected_cost += mass * price[v]
    out.n_nodes = n
    out.average_depth = out.total_path_length / total
    out.expected_cost /= total


@jit
def check_forest(
    features, label, weight, once, start, integers, n_classes, measures, wrong, verdict
):
    """Walk every object through every tree and recompute its measures from nothing but tests, edges
    and price list.

    label : int[n] and weight : float64[n], of the objects that ``features.codes`` holds.
    once : a column that was asked above costs nothing.
    start : int64[trees + 1], first node of each tree.
    integers : int32[≥ 5, nodes], the rows feature, index, side, parent and branch of ``Nodes``.
    measures : MEASURES[trees], 0 at first; written, and worth nothing where the verdict is
        BROKEN_TREE.
    wrong : float64[trees], receives the weight outside the majority class of its leaf.
    verdict : int64[trees], receives SOUND, BROKEN_TREE or UNREACHED.
    """
    family = features.family
    offset = features.offset
    prices = features.prices
    owner = features.owner
    feature = integers[0]
    index = integers[1]
    side = integers[2]
    parent = integers[3]
    branch = integers[4]
    most = np.int64(0)
    for k in range(len(start) - 1):
        most = max(most, start[k + 1] - start[k])
    first = np.empty(most, np.int32)
    after = np.empty(most, np.int32)
    reached = np.empty(most, np.bool_)
    held, path = np.empty((most, n_classes)), np.empty(most, np.int32)
    total = weight.sum()
    for t in range(len(start) - 1):
        low, n = start[t], start[t + 1] - start[t]
        out = measures[t]
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
                code = np.int64(
                    features.codes[
                        i * features.row_stride + features.column[f] * features.column_stride
                    ]
                )
                o = outcome(
                    code,
                    family[f],
                    number,
                    offset[f + 1] - offset[f] - features.has_missing[f],
                    side[low + v],
                )
                paid = prices[features.price_offset[f] + number]
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
            out.depth = max(out.depth, np.float64(asked))
            out.max_cost = max(out.max_cost, spent)
            out.total_path_length += weight[i] * asked
            out.expected_cost += weight[i] * spent
        for v in range(n):
            if not reached[v] and verdict[t] == SOUND:
                verdict[t] = UNREACHED
            out.n_internal += feature[low + v] >= 0
            wrong[t] += held[v].sum() - held[v].max()
        out.n_nodes, out.n_leaves = n, n - out.n_internal
        out.average_depth = out.total_path_length / total
        out.expected_cost /= total
