"""A good tree before the proof: best trees of small depth, put on top of one another, then mended.

The best tree of three levels is found for all rows; each of its leaves is divided by the best tree
of three levels for its rows, and so on; then the whole, and every subtree, is compared with the
best tree of four levels for its rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import attrs
import numpy as np

from arboretum.api import BudgetError
from arboretum_gosdt.problem.prepared import unpack_bits

if TYPE_CHECKING:
    from arboretum_gosdt.sparse.search import SparseSearch

SLICES, ROOT_SLICES, ALL_SLICES = 40, 80, 300
"""Slices for one best tree of small depth, for one of all rows, and for all of them together."""
LEAF = np.array([[-1, 0, -1, -1]])
"""The tree that is a leaf."""


class Masses(NamedTuple):
    """What rows count besides their weights.

    mass : int64[rows].
    price : int64[features], of a unit of it, ascending; zeros where tests cost nothing.
    least : mass of a leaf, at least.
    """

    mass: np.ndarray
    price: np.ndarray
    least: int = 1


@attrs.frozen(eq=False)
class SubProblem:
    """A table and what is minimised: q · loss + p · leaves + price · mass of each test.

    bits : uint32[rows, ceil(features / 32)].
    weights : int64[rows, classes].
    depth : tests on a path, at most.
    masses : None: tests cost nothing, and leaves may have any mass.
    """

    bits: np.ndarray
    weights: np.ndarray
    n_features: int
    p: int
    q: int
    depth: int
    masses: Masses | None = None

    def known_masses(self) -> Masses:
        """Return the masses; zeros where there are none."""
        return self.masses or Masses(
            np.zeros(len(self.bits), np.int64), np.zeros(self.n_features, np.int64)
        )

    def test_cost(self, rows: np.ndarray, feature: int) -> int:
        """Return what it costs to ask a feature of a set of rows (bool[rows])."""
        if self.masses is None:
            return 0
        return int(self.masses.mass[rows].sum()) * int(self.masses.price[feature])

    def feature_matrix(self) -> np.ndarray:
        """Return bool[rows, features], which rows have which feature."""
        return unpack_bits(self.bits, self.n_features).astype(bool)

    def rows_with_feature(self, feature: int) -> np.ndarray:
        """Return bool[rows], which rows have a feature: of one, where the bytes of all would take
        longer than a search may.
        """
        return (self.bits[:, feature // 32] >> np.uint32(feature % 32) & np.uint32(1)).astype(bool)

    def leaf_cost(self, rows: np.ndarray) -> int:
        """Return the cost of a leaf for a set of rows (bool[rows])."""
        sums = self.weights[rows].sum(axis=0)
        return self.q * int(sums.sum() - sums.max(initial=0)) + self.p

    def build_subtree(
        self,
        nodes: np.ndarray,
        rows: np.ndarray | None = None,
        left: int | None = None,
        at: int = 0,
    ) -> Node:
        """Return the subtree of a node of a tree (int64[nodes, 4], see ``SparseSearch.tree``), with
        the rows that reach it and what it costs.  A test that leaves a side too little mass for a
        leaf gives way to the subtree of the other side.

        rows : bool[rows], those that reach the node; None: all, as they do the root.
        left : tests that a path from here on may have; None: ``depth``.
        at : the node's row of ``nodes``, 0 for the root.
        """
        rows = np.ones(len(self.bits), bool) if rows is None else rows
        left, feature = self.depth if left is None else left, int(nodes[at, 0])
        node = Node(rows, self.leaf_cost(rows), left, feature)
        if feature >= 0:
            node.test_cost, mine = self.test_cost(rows, feature), self.rows_with_feature(feature)
            sides = rows & mine, rows & ~mine
            if self.masses and self.masses.least > 1:
                held = [int(self.masses.mass[side].sum()) for side in sides]
                if min(held) < self.masses.least:
                    return self.build_subtree(nodes, rows, left, nodes[at, 2 + (held[1] > held[0])])
            one, other = (
                self.build_subtree(nodes, side, left - 1, child)
                for side, child in zip(sides, nodes[at, 2:], strict=True)
            )
            node.children = one, other
        return node

    def exchange_subtree(
        self,
        node: Node,
        search: Callable[..., SparseSearch],
        depth: int,
        most: int,
        until: float | None = None,
        report: Callable[[], None] = lambda: None,
    ) -> int:
        """Exchange the subtree of ``node`` for the best one of small depth that is found in so many
        slices, if that costs less; returns how many slices it took.

        node : changed in place, feature, children and cost.
        search : makes the small search, from the arguments of ``SparseSearch``.
        depth : tests on a path of the new subtree, at most.
        most : slices, at most; 0 does nothing.
        until : ``time.monotonic()`` value at which it ends; then the tree may be one that is laid
            out in a hurry.  None: no limit.
        report : called after every slice.
        """
        depth, rows = min(depth, node.left), node.rows
        if depth <= 0 or most <= 0 or node.recompute_cost() <= 2 * self.p:
            return 0
        masses = self.masses and self.masses._replace(mass=self.masses.mass[rows])
        try:
            small = search(
                self.bits[rows],
                self.weights[rows],
                self.n_features,
                self.p,
                self.q,
                depth,
                greedy=False,
                masses=masses,
            )
        except BudgetError:  # there is room for smaller sets
            return 0
        slices = small.work_slices(most, until, report)
        found = self.build_subtree(small.tree(hurry=until is not None), rows, node.left)
        if found.recompute_cost() < node.cost:
            node.feature = found.feature
            node.children = found.children
            node.test_cost = found.test_cost
        return slices


@attrs.define
class Node:
    """A node of a tree, with its subtree.

    rows : bool[all rows], those that reach it.

    cost : of the subtree.
    left : how deep it may be.
    feature : −1 for a leaf.
    test_cost : of the cost, for the feature.
    """

    rows: np.ndarray
    cost: int
    left: int
    feature: int = -1
    children: tuple[Node, Node] | None = None
    test_cost: int = 0

    def inner_nodes(self) -> list[Node]:
        """Return the nodes that are divided, the lowest first."""
        return (
            []
            if self.children is None
            else [*self.children[0].inner_nodes(), *self.children[1].inner_nodes(), self]
        )

    def leaves(self) -> list[Node]:
        """Return the leaves of the subtree, those of outcome 1 first; of a node that is not divided
        itself.
        """
        return (
            [self]
            if self.children is None
            else [*self.children[0].leaves(), *self.children[1].leaves()]
        )

    def to_array(self) -> np.ndarray:
        """Return the tree as ``SparseSearch.tree`` has it, int64[nodes, 4] in preorder; its costs
        are left out.
        """
        below = [] if self.children is None else [child.to_array() for child in self.children]
        starts = np.cumsum([1, *(len(nodes) for nodes in below)])
        moved = [
            nodes + [0, 0, start, start] * (nodes[:, :1] >= 0)
            for nodes, start in zip(below, starts[:-1], strict=True)
        ]
        return np.concatenate([[[self.feature, 0, *(starts[:-1] if below else (-1, -1))]], *moved])

    def recompute_cost(self) -> int:
        """Write the costs of all nodes from the leaves up, where subtrees were exchanged; returns
        the root's.
        """
        if self.children is not None:
            self.cost = self.test_cost + sum(child.recompute_cost() for child in self.children)
        return self.cost


def find_first_tree(
    subproblem: SubProblem,
    search: Callable[..., SparseSearch],
    until: float | None,
    report: Callable[[], None] = lambda: None,
) -> np.ndarray:
    """Return a good tree, within the depth, as ``SparseSearch.tree`` has it.

    search : does the small ones.
    until : ``time.monotonic()`` value at which that ends.
    report : called after every slice.
    """
    slices = ALL_SLICES

    def improve(node: Node, depth: int, most: int = SLICES) -> None:
        nonlocal slices
        if until is None or time.monotonic() <= until:
            slices -= subproblem.exchange_subtree(
                node, search, depth, min(most, slices), until, report
            )

    root = subproblem.build_subtree(LEAF)
    waiting = [root]
    while waiting:
        node = waiting.pop(0)
        improve(node, 3)
        if node.children is not None:
            waiting += node.leaves()
    # without a limit of depth, subtrees may be exchanged for deeper ones
    if subproblem.depth > len(subproblem.bits):
        improve(root, 4, ROOT_SLICES)  # first, or on hard tables nothing is left for it
        for node in root.inner_nodes():
            improve(node, 4)
    return root.to_array()
