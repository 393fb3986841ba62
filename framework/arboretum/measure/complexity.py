"""What does a tree cost?  Over its training objects by weight, or over given rows."""

from __future__ import annotations

import numpy as np

from arboretum.model.table import Table, Task
from arboretum.model.tree import Tree


def complexities(tree: Tree) -> dict[str, float]:
    """Every complexity of the tree over its training objects, by weight.

    depth : most tests on a path.   total_path_length : Σ over objects of tests asked.   average_depth : that per object.
    n_nodes, n_leaves, n_internal : nodes that exist (an outcome without objects has no node).
    expected_cost : price paid per object.   max_cost : largest price of a path.

    An object that stops at an inner node has been asked that node's test.  So each inner node adds its mass once to the
    total path length, and its mass times its price to the total cost.
    """
    inner = ~tree.is_leaf
    mass = tree.mass
    total = mass[0] if mass[0] > 0 else np.nan
    asked = float(mass[inner].sum())
    return {
        "depth": float(tree.depth_of.max()),
        "average_depth": asked / total,
        "total_path_length": asked,
        "n_nodes": float(tree.n_nodes),
        "n_leaves": float(tree.n_leaves),
        "n_internal": float(inner.sum()),
        "expected_cost": float((mass[inner] * tree.price[inner]).sum()) / total,
        "max_cost": float((tree.price_to + tree.price).max()),
    }


def costs_of_rows(tree: Tree, table: Table, rest: np.ndarray | None = None) -> dict[str, float]:
    """The complexities that depend on rows, over the rows of ``table`` by weight.

    Same names as :func:`complexities`, without the counts of nodes.  A row that is split over branches asks and pays the
    average over its shares.  An empty table has NaN.
    """
    weights = table.row_weights()
    if len(weights) == 0:
        return dict.fromkeys(("depth", "average_depth", "total_path_length", "expected_cost", "max_cost"), float("nan"))
    asked, paid = tree.tests_asked(table, rest), tree.prices_paid(table, rest)
    length, cost = float((weights * asked).sum()), float((weights * paid).sum())
    return {
        "depth": float(asked.max()),
        "average_depth": length / weights.sum(),
        "total_path_length": length,
        "expected_cost": cost / weights.sum(),
        "max_cost": float(paid.max()),
    }


def node_impurity(tree: Tree) -> np.ndarray:
    """float64[n_nodes]: gini (classification) or variance (regression) of each node, whatever the tree was grown with."""
    mass = np.maximum(tree.mass, np.finfo(np.float64).tiny)
    if tree.task is Task.classification:
        return 1.0 - ((tree.weights / mass[:, None]) ** 2).sum(axis=1)
    return np.maximum(tree.weights[:, 2] / mass - (tree.weights[:, 1] / mass) ** 2, 0.0)


def impurity_decrease(tree: Tree) -> dict[str, float]:
    """Column → Σ over the nodes that ask it of mass · impurity, minus the same of their children; as share of the mass.

    The impurity is gini or variance (:func:`node_impurity`), so that trees of different methods compare.  What stops at a
    node for want of an answer decreases nothing.  A test on several columns is shared equally among them.
    Breiman, Friedman, Olshen & Stone (1984), section 5.3.4, without surrogates.
    """
    impurity, mass = node_impurity(tree), tree.mass
    gain = np.zeros(tree.n_nodes)
    parent = tree.parent[1:]
    np.add.at(gain, parent, mass[1:] * (impurity[parent] - impurity[1:]))
    found: dict[str, float] = {}
    for node in np.flatnonzero(~tree.is_leaf):
        columns = tree.rule(node).columns
        for name in columns:
            found[name] = found.get(name, 0.0) + max(float(gain[node]), 0.0) / (len(columns) * float(mass[0]))
    return found
