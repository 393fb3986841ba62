"""What is paid until objects are covered (Zhang & Gionis, Problem 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from arboretum.model.tree import Tree


def covering_cost(
    tree: Tree, rest: np.ndarray, weight: np.ndarray, left: Callable[[np.ndarray], np.ndarray]
) -> float:
    """c(T, F): the price paid until an object is covered, possibly at an inner node; weighted mean over the objects.

    rest : int64[n], the node where each object comes to rest.   weight : float64[n] > 0.
    left : objects that are together at a node (int64[m]) → float64[m], how far each is from being covered, 0 where it is.
    An object that its leaf does not cover has paid for its whole path.

    An object that is not covered at a node pays for the node's test; one that is covered there stays covered below.
    """
    low, high, place = _segments(tree)
    order = np.argsort(place[rest], kind="stable")
    start = np.searchsorted(place[rest][order], np.arange(tree.n_nodes + 1))
    paid = 0.0
    for v in np.flatnonzero(~tree.is_leaf).tolist():
        rows = order[start[low[v]] : start[high[v]]]
        if len(rows) and tree.price[v] != 0.0:
            paid += float(tree.price[v]) * float(weight[rows][left(rows) > 0.0].sum())
    return paid / float(weight.sum())


def covering_cost_of_shares(
    tree: Tree,
    resting: Iterable[tuple[int, np.ndarray, np.ndarray]],
    weight: np.ndarray,
    left: Callable[[np.ndarray], np.ndarray],
) -> float:
    """c(T, F) where a missing value splits objects over branches: every share of an object pays along its own path.

    resting : (node, int64[m] objects, float64[m] shares) as :meth:`Tree.flow` yields them.   weight, left : as above.
    An object is told apart from those of which no share is with it: its share at a node pays for the node's test unless the
    objects that have any share there leave nothing to cover.
    """
    here: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(tree.n_nodes)]
    for node, objects, shares in resting:
        here[node].append((objects, shares))
    paid, parent = 0.0, tree.parent
    for v in range(tree.n_nodes - 1, -1, -1):  # children come after their parent
        if not here[v]:
            continue
        who, place = np.unique(np.concatenate([objects for objects, _ in here[v]]), return_inverse=True)
        share = np.bincount(place, np.concatenate([shares for _, shares in here[v]]))
        here[v] = []
        if v > 0:
            here[parent[v]].append((who, share))
        if not tree.is_leaf[v] and tree.price[v] != 0.0:
            open_ = left(who) > 0.0
            paid += float(tree.price[v]) * float((weight[who] * share)[open_].sum())
    return paid / float(weight.sum())


def _segments(tree: Tree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per node its subtree as a segment ``low … high − 1`` of the nodes in preorder, and its own place there."""
    place, size = np.zeros(tree.n_nodes, np.int64), np.ones(tree.n_nodes, np.int64)
    parent = tree.parent
    for v in range(tree.n_nodes - 1, 0, -1):
        size[parent[v]] += size[v]
    stack, n = [0], 0
    while stack:
        v = stack.pop()
        place[v] = n
        n += 1
        stack.extend(int(c) for c in tree.children(v)[::-1] if c >= 0)
    return place, place + size, place
