"""How much does each column contribute to a tree?"""

from __future__ import annotations

import numpy as np

from arboretum.model.table import Task
from arboretum.model.tree import Tree


def node_impurity(tree: Tree) -> np.ndarray:
    """float64[n_nodes]: gini or variance of each node, whatever the tree was grown with."""
    mass = np.maximum(tree.mass, np.finfo(np.float64).tiny)
    if tree.task is Task.classification:
        return 1.0 - ((tree.weights / mass[:, None]) ** 2).sum(axis=1)
    return np.maximum(tree.weights[:, 2] / mass - (tree.weights[:, 1] / mass) ** 2, 0.0)


def impurity_decrease(tree: Tree) -> dict[str, float]:
    """Column → Σ over the nodes that ask it of mass · impurity, minus the same of their children; as share of the mass.

    The impurity is gini or variance (:func:`node_impurity`), so that trees of different methods compare.  What stops
    at a node for want of an answer decreases nothing.  A test on several columns is shared equally among them.
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
