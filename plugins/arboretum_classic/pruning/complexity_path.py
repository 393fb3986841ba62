"""What cutting a tree back costs: R of every node and subtree, the cheapest pruned subtree at a
price α, and those of all α.

R(t) = p(t)·h(t): the node's share of the training weight times its impurity.  A tree costs Σ R + α
over its leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import CapabilityError, Task, Tree
from arboretum_classic.criteria.impurities import Entropy, Gini, Misclassification, Variance

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity


ROUNDINGS = 8
"""Operations on one node's share and impurity besides the sum over classes: divisions, a
logarithm, the products.
"""
NEVER = np.iinfo(np.int64).max


@attrs.frozen(eq=False)
class Path:
    """The cheapest pruned subtrees as α grows: that of step k, the smallest of its cost, is the
    cheapest from α_k up to the next α.

    alpha, risk : float64[k], α_k (0 first) and Σ R over the leaves.
    n_leaves : int64[k].
    step : int64[n_nodes], the step at which a node becomes a leaf, NEVER for one that does not by
        itself.
    root : R of the root.
    """

    alpha: np.ndarray
    risk: np.ndarray
    n_leaves: np.ndarray
    step: np.ndarray
    root: float

    def cuts(self, k: int) -> np.ndarray:
        """Return int64[…]: where the tree is cut at a step."""
        return np.flatnonzero(self.step <= k)

    def at(self, alpha: float) -> int:
        """Return the step whose tree is the cheapest at α."""
        return int(np.searchsorted(self.alpha, alpha, side="right")) - 1

    def cp_table(self) -> list[tuple[float, int, float]]:
        """Return (CP, nsplit, rel error) as rpart prints them, the root first: α and R as shares of
        the root's R, leaves less one.
        """
        unit = self.root or 1.0
        rows = zip(
            (self.alpha / unit).tolist(),
            (self.n_leaves - 1).tolist(),
            (self.risk / unit).tolist(),
            strict=True,
        )
        return list(rows)[::-1]


@attrs.frozen(eq=False)
class Subtrees:
    """What each node costs as a leaf, and what lies below it.

    risk : float64[n_nodes], R(t).
    resting : float64[n_nodes], R of the training objects that stop at an inner node, for which its
        test has no branch: they are there whatever becomes of the branches.
    n_leaves : int64[n_nodes], below a node.
    slack : float64[n_nodes], by how much rounding can separate two costs of the subtree that are
        equal.
    """

    parent: np.ndarray
    is_leaf: np.ndarray
    risk: np.ndarray
    resting: np.ndarray
    n_leaves: np.ndarray
    slack: np.ndarray

    @staticmethod
    def of(tree: Tree, risk: str, costs: np.ndarray | None = None) -> Subtrees:
        """Measure a tree.

        risk, costs : which R, see :func:`node_impurities`.
        """
        h, mass, parent = node_impurities(tree, risk, costs), tree.mass, tree.parent
        own, whole = own_weights(tree), mass[0] if mass[0] > 0 else 1.0
        share = mass / whole
        stopping = (
            np.where(tree.is_leaf, 0.0, own[:, 0] if tree.is_regression else own.sum(axis=1))
            / whole
        )
        n_leaves = subtree_sums(parent, tree.is_leaf.astype(np.int64))
        # R(t) carries the rounding of one share and one impurity, each of (classes + ROUNDINGS)
        # operations on numbers of the size of h; a sum over L leaves adds L more.  A unit of
        # rounding is ε/2, and two sides are compared.
        units = n_leaves + tree.weights.shape[1] + ROUNDINGS
        slack = units * np.finfo(np.float64).eps * share * max(1.0, float(h.max(initial=0.0)))
        return Subtrees(parent, tree.is_leaf, share * h, stopping * h, n_leaves, slack)

    def minimal(self, alpha: float) -> np.ndarray:
        """Return int64[…]: where to cut for the smallest of the pruned subtrees with the least Σ (R
        + α) over its leaves.

        alpha : price of a leaf, on the scale of R.

        Bottom up: a node is cut when it costs no more than the best its branches can do (T(α) of
        Breiman et al., section 3.2: the minimising subtree that all others contain).
        """
        slack = self.slack + self._rounding(alpha)
        return cheapest_cuts(self.parent, self.is_leaf, self.risk + alpha, self.resting, slack)

    def dearer_than_a_leaf(self, alpha: float) -> np.ndarray:
        """Return int64[…]: nodes with R + α < Σ (R + α) over the leaves of their whole subtree (the
        rule of the authors' program).
        """
        total = (
            subtree_sums(self.parent, np.where(self.is_leaf, self.risk, self.resting))
            + alpha * self.n_leaves
        )
        slack = self.slack + self._rounding(alpha)
        return np.flatnonzero(~self.is_leaf & (self.risk + alpha < total - slack))

    def son_by_son(self, alpha: float) -> np.ndarray:
        """Return int64[…]: where rpart cuts.  A node's complexity is the gain of its subtree per
        split, in which sons whose own complexity is lower are leaves; it becomes a leaf where that
        is at most α.  Where the weakest link lies deeper than at a son it is not the book's, nor
        where rows rest at the node, which lose nothing there.
        """
        return self._by_sons(alpha)[1]

    def _by_sons(self, alpha: float) -> tuple[list[float], np.ndarray]:
        """Return (complexity of each node, 0 of a leaf; where it is at most α)."""
        risk, slack, parent = self.risk.tolist(), self.slack.tolist(), self.parent.tolist()
        total, splits, complexity, cuts = list(risk), [0] * len(risk), [0.0] * len(risk), []
        sons: list[list[int]] = [[] for _ in risk]
        for node in range(len(risk) - 1, -1, -1):
            if not self.is_leaf[node]:
                below = sum(total[son] for son in sons[node])
                count = 1 + sum(splits[son] for son in sons[node])
                for son in sorted(sons[node], key=complexity.__getitem__):
                    if (risk[node] - below) / count > complexity[son] + slack[node]:
                        below, count = below + risk[son] - total[son], count - splits[son]
                complexity[node] = (risk[node] - below) / count
                if complexity[node] <= alpha + slack[node]:
                    cuts.append(node)
                else:
                    total[node], splits[node] = below, count
            if node:
                sons[parent[node]].append(node)
        return complexity, np.array(cuts, np.int64)

    def path_by_sons(self) -> Path:
        """Return the sequence that rpart tells: a node becomes a leaf at its complexity (see
        :meth:`son_by_son`), or with the first node above it.
        """
        found, cuts = self._by_sons(0.0)
        complexity = np.where(self.is_leaf | np.isin(np.arange(len(found)), cuts), 0.0, found)
        for node, above in enumerate(self.parent.tolist()):
            complexity[node] = (
                min(complexity[node], complexity[above]) if node else complexity[node]
            )
        alpha = np.unique(complexity)
        alpha = alpha[np.diff(alpha, prepend=-np.inf) > self.slack[0]]
        step = np.searchsorted(alpha, complexity + self.slack[0], side="right") - 1
        above = np.append(NEVER, step[self.parent[1:]])
        ends = [(step <= k) & (above > k) for k in range(len(alpha))]
        sizes = np.array([end.sum() for end in ends], np.int64)
        return Path(
            alpha,
            np.array([self.risk[end].sum() for end in ends]),
            sizes,
            np.where(self.is_leaf, NEVER, step),
            float(self.risk[0]),
        )

    def _rounding(self, alpha: float) -> np.ndarray:
        """Return float64[n_nodes]: rounding of a sum of L times α."""
        return np.asarray(np.finfo(np.float64).eps * self.n_leaves * self.n_leaves * alpha)

    def path(self) -> Path:
        """Return the sequence of the weakest links (Breiman et al., section 3.3): the link whose
        leaf is the cheapest is cut first.

        An inner node t costs as a leaf as much as its subtree where α = [R(t) − R(T_t)] / (leaves
        below − 1).
        """
        parent, risk, n_leaves = self.parent.tolist(), self.risk.tolist(), self.n_leaves.tolist()
        below = subtree_sums(self.parent, np.where(self.is_leaf, self.risk, self.resting)).tolist()
        end = subtree_sums(self.parent, np.ones(len(parent), np.int64)) + np.arange(len(parent))
        slack = self.slack.tolist()
        link = np.full(len(parent), np.inf)
        step = np.full(len(parent), NEVER)

        def strength(node: int) -> float:
            """Return α of a node; ∞ where its subtree is a leaf already."""
            more, fewer = risk[node] - below[node], n_leaves[node] - 1
            return more / fewer if fewer else np.inf

        def cut(node: int) -> None:
            """Make a leaf of a node in the last step, and bring those above it up to date."""
            step[node], link[node : end[node]] = len(alpha) - 1, np.inf
            dearer, fewer, up = risk[node] - below[node], n_leaves[node] - 1, node
            while up >= 0:
                below[up] += dearer
                n_leaves[up] -= fewer
                if up != node:
                    link[up] = strength(up)
                up = parent[up]
            sums[-1], sizes[-1] = below[0], n_leaves[0]

        for node in np.flatnonzero(~self.is_leaf).tolist():
            link[node] = strength(node)
        alpha, sums, sizes, known = [0.0], [below[0]], [n_leaves[0]], 0.0
        # from below: where rows stop at a node a subtree can cost more than its root
        for node in self.minimal(0.0).tolist():
            cut(node)
        while link[node := int(link.argmin())] < np.inf:
            rounding = slack[node] / (n_leaves[node] - 1)
            if link[node] > alpha[-1] + known + rounding:
                alpha.append(0.0)
                sums.append(below[0])
                sizes.append(n_leaves[0])
                known = rounding
            alpha[-1] = max(alpha[-1], float(link[node])) if len(alpha) > 1 else 0.0
            cut(node)
        return Path(
            np.array(alpha), np.array(sums), np.array(sizes, np.int64), step, float(self.risk[0])
        )


def own_weights(tree: Tree) -> np.ndarray:
    """Return float64[n_nodes, classes]: class weights (or moments) of what each node predicts by
    itself: all at a leaf, what rests at an inner node.
    """
    below, rows = np.zeros_like(tree.weights), np.zeros(tree.n_nodes)
    np.add.at(below, tree.parent[1:], tree.weights[1:])
    np.add.at(rows, tree.parent[1:], tree.counts[1:])
    rests = tree.is_leaf | (rows < tree.counts - 1e-6)  # a difference of sums is no row
    return np.where(rests[:, None], np.maximum(tree.weights - below, 0.0), 0.0)


def cheapest_cuts(
    parent: np.ndarray,
    is_leaf: np.ndarray,
    leaf: np.ndarray,
    rest: np.ndarray,
    slack: np.ndarray | float,
) -> np.ndarray:
    """Return int64[…]: where to cut bottom up: a node becomes a leaf where that costs no more than
    what is left below, plus ``slack``.

    parent : int64[n_nodes], in preorder, of the root any; is_leaf : bool[n_nodes].
    leaf, rest : float64[n_nodes], cost of a node as a leaf, and of what it predicts itself as an
        inner node.
    slack : what rounding may separate, of each node or of all.
    """
    above, best, cuts = parent.tolist(), np.where(is_leaf, leaf, rest).tolist(), []
    bound, alone, whole = (leaf - slack).tolist(), leaf.tolist(), is_leaf.tolist()
    for node in range(len(above) - 1, -1, -1):  # children come before their parent
        if not whole[node] and bound[node] <= best[node]:
            best[node] = alone[node]
            cuts.append(node)
        if node:
            best[above[node]] += best[node]
    return np.array(cuts, np.int64)


def subtree_sums(parent: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Return, per node, the sum of ``amount`` over its subtree, of the same type.

    parent : int[n_nodes], in preorder.
    """
    total, above = amount.tolist(), parent.tolist()
    for node in range(len(above) - 1, 0, -1):
        total[above[node]] += total[node]
    return np.array(total, amount.dtype)


def refuse_risk(risk: str, task: Task) -> None:
    """Raise CapabilityError for a risk (see :func:`node_impurities`) that does not fit a target of
    that task.
    """
    if risk not in (
        fits := ("error", "variance") if task is Task.regression else ("error", "gini", "entropy")
    ) + ("impurity",):
        raise CapabilityError(
            f"pruner.risk={risk} does not fit a target of {task.value}; use "
            f"pruner.risk={', '.join(fits)}, or impurity"
        )


def node_impurities(tree: Tree, risk: str, costs: np.ndarray | None = None) -> np.ndarray:
    """Return float64[n_nodes]: h of each node, in bits for entropy, in the square of the target's
    unit for variance.

    risk : "impurity" (the one the tree was grown with), "gini", "entropy", "error" (of numbers: the
        variance) or "variance".
    costs : float64[classes, classes], what a unit of weight of a class (row) loses by each label,
        where an error is not worth 1.
    Raises CapabilityError for a tree grown without impurity, or a risk that does not fit the
    target.
    """
    if risk == "impurity":
        if np.isnan(tree.impurity).any():
            msg = (
                "pruner cost_complexity needs the tree's impurity, and this tree was grown "
                "without; say pruner.risk="
            )
            raise CapabilityError(
                msg + ("variance" if tree.is_regression else "gini (or entropy, error)")
            )
        return tree.impurity
    refuse_risk(risk, tree.task)
    if risk == "error" and tree.is_regression:
        risk = "variance"
    if risk == "error" and costs is not None:
        lost = (tree.weights @ costs)[np.arange(tree.n_nodes), tree.label]
        return np.asarray(
            np.divide(lost, tree.mass, out=np.zeros(tree.n_nodes), where=tree.mass > 0)
        )
    risks: dict[str, Callable[[], Impurity]] = {
        "variance": Variance,
        "entropy": Entropy,
        "error": Misclassification,
        "gini": Gini,
    }
    return risks[risk]().value(tree.weights)
