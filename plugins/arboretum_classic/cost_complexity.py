"""Minimal cost-complexity pruning (Breiman, Friedman, Olshen & Stone 1984, chapter 3), as Zhang & Gionis use it.

R(t) = p(t)·h(t): the node's share of the training weight times its impurity.  A tree costs Σ R + α over its leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import attrs
import numpy as np

from arboretum.api import CapabilityError, Selection, Table, Task, Tree, ValidationScore, param

ROUNDINGS = 8
"""Operations on one node's share and impurity besides the sum over classes: divisions, a logarithm, the products."""


@attrs.frozen
class CostComplexity:
    """Minimal cost-complexity pruning: fewest leaves that minimise Σ (R + α), α given or chosen on validation rows."""

    kind: ClassVar[str] = "pruner"
    name: ClassVar[str] = "cost_complexity"
    paper: ClassVar[str] = "Breiman, Friedman, Olshen & Stone 1984, chapter 3; Zhang & Gionis 2023, section 6"
    capabilities: ClassVar[tuple] = ()

    alpha: float | None = param(
        None, "price of a leaf, on the scale of the root's impurity; none: the best of grid on validation rows", ge=0.0
    )
    grid: tuple[float, ...] = param(
        (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0), "values of alpha to choose from; of equally good ones the smallest", ge=0.0,
        converter=tuple,
    )  # fmt: skip
    direction: str = param(
        "bottom_up",
        "bottom_up: the minimum itself; top_down: a node is cut when it is cheaper than its whole unpruned subtree",
        choices=("bottom_up", "top_down"),
    )
    risk: str = param(
        "impurity",
        "h: the impurity the tree was grown with, or another (error: share outside the heaviest class)",
        choices=("impurity", "error", "gini", "entropy", "variance"),
    )

    def __attrs_post_init__(self) -> None:
        if not self.grid:
            raise ValueError("pruner.grid must hold at least one value; got an empty list")
        if not np.isfinite([*self.grid, 0.0 if self.alpha is None else self.alpha]).all():
            raise ValueError(f"pruner.alpha and pruner.grid must be finite; got {self.alpha!r} and {self.grid!r}")

    @property
    def needs_validation(self) -> bool:
        """Only where α is to be chosen."""
        return self.alpha is None

    @property
    def reads_impurity(self) -> bool:
        """Whether h is the run's impurity."""
        return self.risk == "impurity"

    def choose(self, tree: Tree, valid: Table) -> Selection:
        """The α with the best score on the validation rows; rows walk the tree once for the whole grid.

        Raises CapabilityError for a tree without the impurity that is asked for, DataError without validation rows.
        """
        score = ValidationScore.on(valid)
        cuts, of_cuts = self.cuts_of(tree), score.of_cuts(tree)
        tried = [({"pruner.alpha": alpha}, of_cuts(cuts(alpha))) for alpha in sorted(set(self.grid))]
        kept = max(tried, key=lambda one: one[1])[0]  # the first of the best
        return Selection(kept, score.measure, tried, score.notes)

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Cut the tree.  Raises CapabilityError without validation rows where they are needed, or without the impurity."""
        alpha = self.alpha
        if alpha is None:
            if valid is None:
                msg = "pruner cost_complexity chooses alpha on validation rows; use split=holdout, or say pruner.alpha=VALUE"
                raise CapabilityError(msg)
            alpha = self.choose(tree, valid).kept["pruner.alpha"]
        return tree.cut(self.cuts_of(tree)(alpha))

    def cuts_of(self, tree: Tree) -> Callable[[float], np.ndarray]:
        """α → int64[…], where the tree is cut."""
        subtrees = Subtrees.of(tree, self.risk)
        return subtrees.minimal if self.direction == "bottom_up" else subtrees.dearer_than_a_leaf


@attrs.frozen(eq=False)
class Subtrees:
    """What each node costs as a leaf, and what lies below it.

    risk : float64[n_nodes], R(t).   resting : float64[n_nodes], R of the training objects that stop at an inner node, for
    which its test has no branch: they are there whatever becomes of the branches.   n_leaves : int64[n_nodes], below a node.
    slack : float64[n_nodes], by how much rounding can separate two costs of the subtree that are equal.
    """

    parent: np.ndarray
    is_leaf: np.ndarray
    risk: np.ndarray
    resting: np.ndarray
    n_leaves: np.ndarray
    slack: np.ndarray

    @staticmethod
    def of(tree: Tree, risk: str) -> Subtrees:
        """Measure a tree; raises CapabilityError when it does not hold what ``risk`` asks for."""
        h, mass, parent = impurities(tree, risk), tree.mass, tree.parent
        share = mass / mass[0] if mass[0] > 0 else np.zeros(tree.n_nodes)
        below, rows = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes, np.int64)
        np.add.at(below, parent[1:], mass[1:])
        np.add.at(rows, parent[1:], tree.counts[1:])
        stops = ~tree.is_leaf & (rows < tree.counts)
        stopping = np.where(stops, np.maximum(mass - below, 0.0), 0.0) / (mass[0] if mass[0] > 0 else 1.0)
        n_leaves = sum_up(parent, tree.is_leaf.astype(np.int64))
        # R(t) carries the rounding of one share and one impurity, each of (classes + ROUNDINGS) operations on numbers of the
        # size of h; a sum over L leaves adds L more.  A unit of rounding is ε/2, and two sides are compared.
        units = n_leaves + tree.weights.shape[1] + ROUNDINGS
        slack = units * np.finfo(np.float64).eps * share * max(1.0, float(h.max(initial=0.0)))
        return Subtrees(parent, tree.is_leaf, share * h, stopping * h, n_leaves, slack)

    def minimal(self, alpha: float) -> np.ndarray:
        """int64[…]: where to cut for the smallest of the pruned subtrees with the least Σ (R + α) over its leaves.

        Bottom up: a node is cut when it costs no more than the best its branches can do (T(α) of Breiman et al., section
        3.2: the minimising subtree that all others contain).
        """
        leaf_cost, parent = (self.risk + alpha).tolist(), self.parent.tolist()
        slack = (self.slack + self._rounding(alpha)).tolist()
        is_leaf, best, cuts = self.is_leaf.tolist(), self.resting.tolist(), []
        for node in range(len(parent) - 1, -1, -1):  # children come before their parent
            if is_leaf[node]:
                best[node] = leaf_cost[node]
            elif leaf_cost[node] <= best[node] + slack[node]:
                best[node] = leaf_cost[node]
                cuts.append(node)
            if node:
                best[parent[node]] += best[node]
        return np.array(cuts, np.int64)

    def dearer_than_a_leaf(self, alpha: float) -> np.ndarray:
        """int64[…]: nodes with R + α < Σ (R + α) over the leaves of their whole subtree (the rule of the authors' program)."""
        total = sum_up(self.parent, np.where(self.is_leaf, self.risk, self.resting)) + alpha * self.n_leaves
        slack = self.slack + self._rounding(alpha)
        return np.flatnonzero(~self.is_leaf & (self.risk + alpha < total - slack))

    def _rounding(self, alpha: float) -> np.ndarray:
        """float64[n_nodes]: rounding of a sum of L times α."""
        return np.finfo(np.float64).eps * self.n_leaves * self.n_leaves * alpha


def sum_up(parent: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Per node, the sum of ``amount`` over its subtree."""
    total, above = amount.tolist(), parent.tolist()
    for node in range(len(above) - 1, 0, -1):
        total[above[node]] += total[node]
    return np.array(total, amount.dtype)


def impurities(tree: Tree, risk: str) -> np.ndarray:
    """float64[n_nodes]: h of each node, in bits for entropy, in the square of the target's unit for variance.

    Raises CapabilityError for a tree grown without impurity, or a risk that does not fit the target.
    """
    if risk == "impurity":
        if np.isnan(tree.impurity).any():
            msg = "pruner cost_complexity needs the tree's impurity, and this tree was grown without; say pruner.risk="
            raise CapabilityError(msg + ("variance" if tree.task is Task.regression else "gini (or entropy, error)"))
        return tree.impurity
    if (risk == "variance") is not (tree.task is Task.regression):
        fits = "variance" if tree.task is Task.regression else "gini, entropy or error"
        msg = f"pruner.risk={risk} does not fit a target of {tree.task.value}; use pruner.risk={fits}, or impurity"
        raise CapabilityError(msg)
    if risk == "variance":
        w, wy, wyy = tree.weights.T
        safe = np.where(w > 0, w, 1.0)
        return np.where(w > 0, np.maximum(wyy / safe - (wy / safe) ** 2, 0.0), 0.0)
    mass = tree.mass[:, None]
    p = np.divide(tree.weights, mass, out=np.zeros_like(tree.weights), where=mass > 0)
    if risk == "entropy":
        return -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1) + 0.0
    alike = p.max(axis=1) if risk == "error" else (p**2).sum(axis=1)
    return np.where(tree.mass > 0, 1.0 - alike, 0.0)
