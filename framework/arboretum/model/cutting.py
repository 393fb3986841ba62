"""Cutting a tree back: subtrees become leaves, and everything else stays what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.errors import ContractError

if TYPE_CHECKING:
    from arboretum.model.tree import Tree

LEAF, MISSING_STOPS = -1, -1


def nearest_kept(tree: Tree, nodes: Sequence[int] | np.ndarray) -> np.ndarray:
    """int64[n_nodes]: the node at which a row that came to rest at each node rests once ``nodes`` are leaves.

    That is the first of ``nodes`` on the path from the root, or the node itself where none lies on it.
    Raises ContractError for a number that is no node.
    """
    marked = _marked(tree, nodes).tolist()
    parent, kept = tree.parent.tolist(), list(range(tree.n_nodes))
    for node in range(1, len(kept)):  # a parent comes before its children
        above = parent[node]
        if marked[above] or kept[above] != above:
            kept[node] = kept[above]
    return np.array(kept, np.int64)


def cut(tree: Tree, nodes: Sequence[int] | np.ndarray) -> Tree:
    """The tree with ``nodes`` (int[k], any; one below another has no effect) made leaves, the given one itself where all of them are.

    What stands keeps its weights, counts, label, value and impurity; a new leaf asks nothing, so its price is 0 and its
    score NaN.  Rules that nobody asks any more are dropped.  Raises ContractError for a number that is no node.
    """
    marked = _marked(tree, nodes)
    if not (marked & ~tree.is_leaf).any():
        return tree
    stands = nearest_kept(tree, nodes) == np.arange(tree.n_nodes)
    inner = stands & ~marked & ~tree.is_leaf
    arity = np.diff(tree.child_offset)
    edges = inner[tree.owner]
    child = tree.child[edges]
    number = np.cumsum(stands) - 1
    surrogates = [one for one in tree.surrogates if inner[one.node]]
    used = np.unique([*tree.test[inner], *(one.rule for one in surrogates)]).astype(np.int64)
    place = np.full(len(tree.rules) + 1, LEAF)
    place[used] = np.arange(len(used))
    kept = {name: getattr(tree, name)[stands] for name in ("weights", "counts", "label", "value", "impurity")}
    return attrs.evolve(
        tree,
        rules=tuple(tree.rules[rule] for rule in used),
        test=np.where(inner, place[tree.test], LEAF)[stands],
        child_offset=np.concatenate([[0], np.cumsum(np.where(inner, arity, 0)[stands])]),
        child=np.where(child >= 0, number[child], child),
        missing_child=np.where(inner, tree.missing_child, MISSING_STOPS)[stands],
        price=np.where(inner, tree.price, 0.0)[stands],
        score=np.where(inner, tree.score, np.nan)[stands],
        surrogates=tuple(attrs.evolve(one, node=int(number[one.node]), rule=int(place[one.rule])) for one in surrogates),
        branch_price=None if tree.branch_price is None else tree.branch_price[edges],
        **kept,
    )


def _marked(tree: Tree, nodes: Sequence[int] | np.ndarray) -> np.ndarray:
    """bool[n_nodes]."""
    numbers = np.asarray(nodes, np.int64).reshape(-1)
    wrong = numbers[(numbers < 0) | (numbers >= tree.n_nodes)]
    if len(wrong):
        raise ContractError(f"a tree is cut at its nodes, 0 to {tree.n_nodes - 1}; got {int(wrong[0])}")
    marked = np.zeros(tree.n_nodes, bool)
    marked[numbers] = True
    return marked
