"""What is paid until objects are covered (Zhang & Gionis, Problem 2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arboretum.model.tree import Tree


def covering_cost(
    tree: Tree,
    places: tuple[np.ndarray, np.ndarray, np.ndarray],
    weight: np.ndarray,
    left: Callable[[np.ndarray], np.ndarray],
) -> float:
    """c(T, F): the price paid until an object is covered, possibly at an inner node; weighted mean over the objects.

    places : (int64[m] nodes, int64[m] objects, float64[m] shares), where the objects come to rest: with share 1, or in shares
    that a missing value has split.   weight : float64[n] > 0.   left : objects that are together at a node (int64[m]) →
    float64[m], how far each is from being covered, 0 where it is; asked in preorder.

    An object that is not covered at a node pays for the node's test; one that is covered there stays covered below, and one
    that its leaf does not cover has paid for its whole path.  A share pays along its own path; at a node, an object is told
    apart from those of which no share is with it.
    """
    order = np.argsort(places[0], kind="stable")
    node, who, share = (part[order] for part in places)
    whole = bool((share == 1.0).all())
    start = np.searchsorted(node, np.arange(tree.n_nodes + 1))
    paid = 0.0
    for v in np.flatnonzero(~tree.is_leaf & (tree.price != 0.0)).tolist():
        part = slice(start[v], start[tree.subtree_end[v]])
        objects, mass = who[part], weight[who[part]] * share[part]
        if not whole:  # shares that parted below meet here
            objects, place = np.unique(objects, return_inverse=True)
            mass = np.bincount(place, mass)
        if len(objects):
            paid += float(tree.price[v]) * float(mass[left(objects) > 0.0].sum())
    return paid / float(weight.sum())
