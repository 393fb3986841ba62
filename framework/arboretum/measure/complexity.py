"""What does a tree cost?  Over its training objects by weight, or over given rows."""

from collections.abc import Callable

import numpy as np

from arboretum.model.table import Table
from arboretum.model.tree import Tree
from arboretum.model.walk import Places


def complexities(tree: Tree) -> dict[str, float]:
    """Return every complexity of the tree over its training objects, by weight.

    depth : most tests on a path.
    total_path_length : Σ over objects of tests asked.
    average_depth : that per object.
    n_nodes, n_leaves, n_internal : nodes that exist (an outcome without objects has no node); where
        objects stop at an inner node, for want of an outcome, they are one leaf more.
    expected_cost : price paid per object.
    max_cost : largest price of a path to where objects come to rest.

    An object that stops at an inner node has been asked that node's test.  So each inner node adds
    its mass once to the total path length, and its mass times its price to the total cost, less
    what its cheaper branches leave.
    """
    inner, present, ends = ~tree.is_leaf, tree.child >= 0, int(tree.is_end.sum())
    saved = (tree.price[tree.owner] - tree.edge_price)[present] * tree.mass[tree.child[present]]
    mass = tree.mass
    total = mass[0] if mass[0] > 0 else np.nan
    asked = float(mass[inner].sum())
    return {
        "depth": float(tree.depth_of.max()),
        "average_depth": asked / total,
        "total_path_length": asked,
        "n_nodes": float(inner.sum() + ends),
        "n_leaves": float(ends),
        "n_internal": float(inner.sum()),
        "expected_cost": (float((mass[inner] * tree.price[inner]).sum()) - float(saved.sum()))
        / total,
        "max_cost": float((tree.price_to + tree.price)[tree.is_end].max(initial=0.0)),
    }


def costs_of_rows(tree: Tree, table: Table, places: Places | None = None) -> dict[str, float]:
    """Return the complexities that depend on rows, over the rows of ``table`` by weight.

    places : where the rows rest; None: they walk the tree here.

    Same names as :func:`complexities`, without the counts of nodes.  A row that is split over
    branches asks and pays the average over its shares.  An empty table has NaN.
    """
    weights = table.row_weights()
    names = ("depth", "average_depth", "total_path_length", "expected_cost", "max_cost")
    if len(weights) == 0:
        return dict.fromkeys(names, float("nan"))
    places = places or tree.places(table)
    asked, paid = tree.tests_asked(table, places), tree.prices_paid(table, places)
    length, cost = float((weights * asked).sum()), float((weights * paid).sum())
    return dict(
        zip(
            names,
            (
                float(asked.max()),
                length / weights.sum(),
                length,
                cost / weights.sum(),
                float(paid.max()),
            ),
            strict=True,
        )
    )


def covering_cost(
    tree: Tree,
    places: tuple[np.ndarray, np.ndarray, np.ndarray],
    weight: np.ndarray,
    left: Callable[[np.ndarray], np.ndarray],
) -> float:
    """c(T, F) of Zhang & Gionis, Problem 2: the price paid until an object is covered, possibly at
    an inner node; weighted mean over the objects.

    places : (int64[m] nodes, int64[m] objects, float64[m] shares), where the objects come to rest:
        with share 1, or in shares that a missing value has split.
    weight : float64[n] > 0.
    left : objects that are together at a node (int64[m]) → float64[m], how far each is from being
        covered, 0 where it is; asked in preorder.

    An object that is not covered at a node pays for the node's test (by the branch it takes); one
    that is covered there stays covered below, and one that its leaf does not cover has paid for its
    whole path.  A share pays along its own path; at a node, an object is told apart from those of
    which no share is with it.
    """
    order = np.argsort(places[0], kind="stable")
    node, who, share = (part[order] for part in places)
    whole = bool((share == 1.0).all())
    start = np.searchsorted(node, np.arange(tree.n_nodes + 1))
    paid, price, open_at = 0.0, tree.edge_price, np.zeros(len(weight), np.bool_)
    for v in np.flatnonzero(~tree.is_leaf & (tree.price != 0.0)).tolist():
        objects, mass = _join_entries(
            who, share, slice(start[v], start[tree.subtree_end[v]]), weight, whole
        )
        if not len(objects):
            continue
        pays = left(objects) > 0.0
        paid += float(tree.price[v]) * float(mass[pays].sum())
        for edge in range(*tree.child_offset[v : v + 2]) if tree.branch_price is not None else ():
            if (saved := float(tree.price[v] - price[edge])) and (
                child := int(tree.child[edge])
            ) >= 0:
                open_at[objects] = pays
                below, mass = _join_entries(
                    who, share, slice(start[child], start[tree.subtree_end[child]]), weight, whole
                )
                paid -= saved * float(mass[open_at[below]].sum())
    return paid / float(weight.sum())


def _join_entries(
    who: np.ndarray, share: np.ndarray, part: slice, weight: np.ndarray, whole: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return (objects, their weight by shares) of the entries of a subtree.

    who, share : int64[m], float64[m], of all entries by node; ``part`` are those of the subtree.
    whole : every share is 1, so that an object has one entry.
    """
    objects, mass = who[part], weight[who[part]] * share[part]
    if whole:
        return objects, mass
    objects, place = np.unique(objects, return_inverse=True)  # shares that parted below meet here
    return objects, np.bincount(place, mass)
