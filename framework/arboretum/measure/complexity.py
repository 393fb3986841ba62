"""What does a tree cost?  Over its training objects by weight, or over given rows."""

from __future__ import annotations

import numpy as np

from arboretum.model.table import Table
from arboretum.model.tree import Tree
from arboretum.model.walk import Places


def complexities(tree: Tree) -> dict[str, float]:
    """Every complexity of the tree over its training objects, by weight.

    depth : most tests on a path.   total_path_length : Σ over objects of tests asked.   average_depth : that per
        object.
    n_nodes, n_leaves, n_internal : nodes that exist (an outcome without objects has no node).
    expected_cost : price paid per object.   max_cost : largest price of a path to a leaf.

    An object that stops at an inner node has been asked that node's test.  So each inner node adds its mass once to the
    total path length, and its mass times its price to the total cost, less what its cheaper branches leave.
    """
    inner, present = ~tree.is_leaf, tree.child >= 0
    saved = (tree.price[tree.owner] - tree.edge_price)[present] * tree.mass[tree.child[present]]
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
        "expected_cost": (float((mass[inner] * tree.price[inner]).sum()) - float(saved.sum())) / total,
        "max_cost": float(tree.price_to[tree.is_leaf].max(initial=0.0)),
    }


def costs_of_rows(tree: Tree, table: Table, places: Places | None = None) -> dict[str, float]:
    """The complexities that depend on rows, over the rows of ``table`` by weight.

    Same names as :func:`complexities`, without the counts of nodes.  A row that is split over branches asks and pays
    the average over its shares.  An empty table has NaN.
    """
    weights = table.row_weights()
    if len(weights) == 0:
        return dict.fromkeys(("depth", "average_depth", "total_path_length", "expected_cost", "max_cost"), float("nan"))
    places = places or tree.places(table)
    asked, paid = tree.tests_asked(table, places), tree.prices_paid(table, places)
    length, cost = float((weights * asked).sum()), float((weights * paid).sum())
    return {
        "depth": float(asked.max()),
        "average_depth": length / weights.sum(),
        "total_path_length": length,
        "expected_cost": cost / weights.sum(),
        "max_cost": float(paid.max()),
    }
