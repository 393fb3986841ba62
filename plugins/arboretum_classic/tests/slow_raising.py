"""The slow, obvious twins of ``pruning/kernels.py``: any test, asked of the table itself; and
the same estimates for whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from arboretum.api import MISSING_SPLITS, MISSING_STOPS, Table, Tree
from arboretum_classic.pruning.kernels import SMALL, Limit


def extra_errors(n: np.ndarray, e: np.ndarray, limit: Limit) -> np.ndarray:
    """How many errors more than e among n rows are to be expected of later ones: float64, of the
    shape of both.
    """
    n, e = np.broadcast_arrays(np.asarray(n, np.float64), np.asarray(e, np.float64))
    rows = np.maximum(n, SMALL)
    if limit.exact:
        from scipy.special import betaincinv

        inside = e < n
        rate = betaincinv(
            np.where(inside, e, 0.0) + 1.0, np.where(inside, rows - e, 1.0), 1.0 - limit.confidence
        )
        return np.where(inside & (n > SMALL), rows * rate - e, 0.0)

    def by_normal(e: np.ndarray) -> np.ndarray:
        square, seen = limit.z**2, e + 0.5
        root = np.sqrt(np.maximum(seen * (1.0 - seen / rows) + square / 4.0, 0.0))
        high = limit.tail * np.maximum(rows - e, 0.0)
        return np.where(
            seen >= rows, high, (seen + square / 2.0 + limit.z * root) / (1.0 + square / rows) - e
        )

    none = rows * (1.0 - limit.confidence ** (1.0 / rows))
    few = none + e * (by_normal(np.ones_like(e)) - none)
    return np.where(n > SMALL, np.where(e < 1.0, np.where(e == 0.0, none, few), by_normal(e)), 0.0)


@attrs.define(eq=False)
class Node:
    """A node while it is pruned.

    origin : the node of the tree whose test it asks, −1: a leaf.
    below : by outcome.
    """

    origin: int
    who: np.ndarray
    share: np.ndarray
    weights: np.ndarray
    below: list[Node | None] = attrs.field(factory=list)


@attrs.define(eq=False)
class Raising:
    """Error-based pruning of one tree with subtree raising, node by node."""

    tree: Tree
    table: Table
    limit: Limit
    margin: float

    def pruned(self) -> Node:
        """The root of what is left."""
        n = self.table.n_rows
        root = self.grown(0, np.arange(n), np.ones(n))
        self.prune(root)
        return root

    def grown(self, v: int, who: np.ndarray, share: np.ndarray) -> Node:
        """A node of the tree with its rows and everything below."""
        node = Node(v if self.tree.test[v] >= 0 else -1, who, share, self.weights(who, share))
        if node.origin >= 0:
            parts, _ = self.divided(node)
            node.below = [
                None if child < 0 else self.grown(child, *part)
                for child, part in zip(self.tree.children(v).tolist(), parts, strict=False)
            ]
        return node

    def weights(self, who: np.ndarray, share: np.ndarray) -> np.ndarray:
        return np.bincount(
            self.table.target.codes[who],
            share * self.table.row_weights()[who],
            len(self.tree.classes),
        )

    def divided(
        self, node: Node
    ) -> tuple[list[tuple[np.ndarray, np.ndarray]], tuple[np.ndarray, np.ndarray]]:
        """Rows and shares of each outcome, and those that stop at the node."""
        tree, v = self.tree, node.origin
        outcome = tree.rule(v).outcomes(self.table, node.who).astype(np.int64)
        for one in (one for one in tree.surrogates if one.node == v):
            stands = np.array([*one.to, -1])[tree.rules[one.rule].outcomes(self.table, node.who)]
            outcome = np.where(outcome < 0, stands, outcome)
        outcome = np.where(outcome < 0, tree.missing_child[v], outcome)
        mass = np.array(
            [
                self.weights(node.who[outcome == k], node.share[outcome == k]).sum()
                for k in range(tree.rule(v).arity)
            ]
        )
        parts = []
        for k, known in enumerate(mass):
            share = np.where(
                outcome == k,
                1.0,
                np.where(outcome == MISSING_SPLITS, known / max(mass.sum(), SMALL), 0.0),
            )
            parts.append((node.who[share > 0], (node.share * share)[share > 0]))
        stops = (outcome == MISSING_STOPS) | ((outcome == MISSING_SPLITS) & (mass.sum() == 0.0))
        return parts, (node.who[stops], node.share[stops])

    def errors(self, node: Node, raised: bool) -> float:
        """Errors to be expected of its subtree.

        raised : outcomes without a branch that have rows are leaves.
        """
        if node.origin < 0:
            return self.estimated(node.weights, int(node.weights.argmax()))
        parts, stops = self.divided(node)
        total, resting = 0.0, self.weights(*stops)
        for child, part in zip(node.below, parts, strict=True):
            if child is not None:
                total += self.errors(child, raised)
            elif raised:
                total += self.estimated(own := self.weights(*part), int(own.argmax()))
            else:
                resting = resting + self.weights(*part)
        return total + self.estimated(resting, int(node.weights.argmax()))

    def estimated(self, weights: np.ndarray, label: int) -> float:
        total, errors = weights.sum(), weights.sum() - weights[label]
        return float(errors + extra_errors(total, errors, self.limit)) if total > SMALL else 0.0

    def sent(self, node: Node, who: np.ndarray, share: np.ndarray, leaves: bool = True) -> Node:
        """A copy of a node and all below with other rows.

        leaves : outcomes without a branch that have rows become leaves.
        """
        copy = Node(node.origin, who, share, self.weights(who, share))
        if node.origin >= 0:
            for child, part in zip(node.below, self.divided(copy)[0], strict=True):
                alone = Node(-1, *part, self.weights(*part)) if leaves and len(part[0]) else None
                copy.below.append(alone if child is None else self.sent(child, *part))
        return copy

    def prune(self, node: Node, raised: bool = False) -> None:
        if node.origin < 0:
            return
        for child in filter(None, node.below):
            self.prune(child, raised)
        bound, below = self.margin + SMALL, [child for child in node.below if child is not None]
        heaviest = largest = below[0]
        for child in below:
            if child.weights.sum() > heaviest.weights.sum() - SMALL:
                heaviest = largest = child
        branch = self.sent(largest, node.who, node.share)
        tree = self.errors(node, raised)
        leaf = self.estimated(node.weights, int(node.weights.argmax()))
        best = self.errors(branch, True)
        if leaf <= tree + bound and leaf <= best + bound:
            node.origin, node.below = -1, []
        elif best <= tree + bound:
            node.origin, node.below = branch.origin, branch.below
            self.prune(node, raised=True)


def preorder(node: Node) -> Iterator[Node]:
    """A node and all below."""
    yield node
    for child in node.below:
        if child is not None:
            yield from preorder(child)
