"""A good tree before the proof: best trees of small depth, put on top of one another, then mended.

The best tree of three levels is found for all rows; each of its leaves is divided by the best tree of three levels for its rows,
and so on; then every subtree is compared with the best tree of small depth for its rows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs
import numpy as np

if TYPE_CHECKING:
    from arboretum_gosdt.sparse import SparseSearch

SLICES, ALL_SLICES = 40, 200
"""Of work, for one best tree of small depth, and for all of them."""


@attrs.define
class Node:
    """rows : bool, those that reach it.   feature : −1 for a leaf.   cost : of the subtree."""

    rows: np.ndarray
    cost: int
    feature: int = -1
    children: tuple[Node, Node] | None = None

    def inner(self) -> list[Node]:
        """The nodes that are divided, the lowest first."""
        return [] if self.children is None else [*self.children[0].inner(), *self.children[1].inner(), self]

    def leaves(self) -> list[Node]:
        return [self] if self.children is None else [*self.children[0].leaves(), *self.children[1].leaves()]

    def settle(self) -> int:
        """Costs from the leaves up."""
        if self.children is not None:
            self.cost = sum(child.settle() for child in self.children)
        return self.cost


def cost_of(nodes: np.ndarray, has: np.ndarray, weights: np.ndarray, p: int, q: int) -> int:
    """q · loss + p · leaves of a tree (int64[nodes, 4], see ``SparseSearch.tree``)."""
    return _hang(nodes, 0, np.ones(len(has), bool), has, weights, p, q).settle()


def _hang(nodes: np.ndarray, at: int, rows: np.ndarray, has: np.ndarray, weights: np.ndarray, p: int, q: int) -> Node:
    sums, feature = weights[rows].sum(axis=0), int(nodes[at, 0])
    node = Node(rows, q * int(sums.sum() - sums.max(initial=0)) + p, feature)
    if feature >= 0:
        sides = ((nodes[at, 2], rows & has[:, feature]), (nodes[at, 3], rows & ~has[:, feature]))
        node.children = tuple(_hang(nodes, child, some, has, weights, p, q) for child, some in sides)  # type: ignore[assignment]
    return node


def first_tree(search: SparseSearch, until: float | None) -> np.ndarray:
    """A good tree for a search, within its depth.   until : ``time.monotonic()`` value at which it comes to an end."""
    has, weights, p, q = search._has(), search._weights, search._p, search._q
    most, slices = search._depth, ALL_SLICES

    def mend(node: Node, depth: int) -> bool:
        """Exchange a subtree for the best one of small depth, where that costs less."""
        nonlocal slices
        if depth <= 0 or slices <= 0 or node.settle() <= 2 * p or (until is not None and time.monotonic() > until):
            return False
        rows = node.rows
        small = type(search)(search._bits[rows], weights[rows], search._n_features, p, q, depth, greedy=False)
        slices -= small.steps(min(SLICES, slices))
        found = _hang(small.tree(), 0, rows, has, weights, p, q)
        if found.settle() >= node.cost:
            return False
        node.feature, node.children = found.feature, found.children
        return True

    root = Node(np.ones(len(has), bool), search.upper)
    waiting = [(root, most)]
    while waiting:
        node, left = waiting.pop(0)
        if mend(node, min(3, left)):
            waiting += [(one, left - 3) for one in node.leaves()]
    if most > len(has):  # without a limit of depth, subtrees may be exchanged for deeper ones
        for node in root.inner():
            mend(node, 4)
    nodes: list[list[int]] = []

    def lay(node: Node) -> int:
        at = len(nodes)
        nodes.append([node.feature, 0, -1, -1])
        if node.children is not None:
            nodes[at][2:] = [lay(child) for child in node.children]
        return at

    lay(root)
    return np.array(nodes, np.int64)
