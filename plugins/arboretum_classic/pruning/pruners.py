"""Post-pruning: error-based (C4.5, J48), pessimistic, reduced error, and the m-estimate.

What rests at an inner node, for want of a branch, is predicted by that node whatever becomes of its
branches: each rule counts it as a leaf of its own beside them.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arboretum.api import (
    Capability,
    CapabilityError,
    Problem,
    Table,
    Tree,
    param,
    sure,
)
from arboretum_classic.pruning.complexity_path import cheapest_cuts, own_weights, subtree_sums

if TYPE_CHECKING:
    from arboretum_classic.pruning.kernels import Limit

CLASSES = tuple(
    Capability(name)
    for name in (
        "classification",
        "multiclass",
        "weights",
        "missing",
        "prices",
        "multiway",
        "thresholds",
    )
)
LIMITS = ("normal", "table", "exact")
TINY = float(np.finfo(np.float64).tiny)
DEVIATES = (
    (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.0),
    (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.0),
)
"""Probability → standard normal deviate, two digits of it, between which C4.5 interpolates
(Quinlan 1993, the program).
"""


def wrong(tree: Tree, weights: np.ndarray) -> np.ndarray:
    """Return float64[n_nodes]: what each node's label gets wrong of class weights."""
    return np.asarray(weights.sum(axis=1) - weights[np.arange(len(weights)), tree.label])


def cut(tree: Tree, leaf: np.ndarray, rest: np.ndarray, slack: float) -> Tree:
    """Return the tree cut where :func:`~arboretum_classic.pruning.complexity_path.cheapest_cuts`
    says.
    """
    return tree.cut(cheapest_cuts(tree.parent, tree.is_leaf, leaf, rest, slack))


class _OfClasses:
    """What the pruners share that estimate errors from the training rows."""

    kind = "pruner"
    capabilities = CLASSES
    needs_validation = False


@attrs.frozen
class ErrorBased(_OfClasses):
    """C4.5's pruning: a subtree goes where an upper limit of its error is no lower than that of
    a leaf, or of its largest branch.
    """

    name = "error_based"
    paper = "Quinlan 1993, section 4.2; as in Weka's J48 (Frank, Hall & Witten 2016)"

    confidence: float = param(
        0.25,
        "CF: how probable so few errors would be at the upper limit; lower cuts more",
        gt=0.0,
        le=0.5,
    )
    raising: bool = param(
        True, "whether the largest branch may take the place of its node, with all rows of the node"
    )
    estimate: str = param(
        "normal",
        "upper limit: normal (J48's approximation), table (C4.5's deviates), exact (binomial)",
        choices=LIMITS,
    )
    margin: float = param(
        0.1,
        "expected errors by which a leaf or branch may be worse and still replace the subtree",
        ge=0.0,
        unit="errors",
    )

    @property
    def limit(self) -> Limit:
        """The upper limit of an error rate; confidence in the precision in which J48 has it."""
        from arboretum_classic.pruning.kernels import Limit

        confidence, tail = float(np.float32(self.confidence)), 1.0
        z = NormalDist().inv_cdf(float(np.float32(1.0) - np.float32(self.confidence)))
        if self.estimate == "table":
            confidence, tail = self.confidence, 0.67
            z = float(np.interp(confidence, DEVIATES[0], DEVIATES[1]))
        return Limit(confidence, z, tail, self.estimate == "exact")

    def check(self, problem: Problem) -> None:
        """Raising sends whole rows down other branches: they must be those that the tree counts,
        at prices that the tests above do not change.
        """
        objects, way = problem.objects, "say pruner.raising=false"
        if not self.raising:
            return
        if getattr(method := problem.parts.method, "fuzzy", False):
            raise CapabilityError(
                f"pruner {self.name} raises subtrees, and tests of method {sure(method).name} send "
                f"rows down several branches in shares; {way}"
            )
        if problem.prices.after is not None:
            raise CapabilityError(
                f"pruner {self.name} raises subtrees, and what their tests cost depends on "
                f"what was asked above; {way}, or choose cost=table"
            )
        own = np.bincount(
            objects.table.target.codes, objects.table.row_weights(), objects.n_classes
        )
        reported = np.bincount(objects.label, objects.weight, objects.n_classes)
        if not np.allclose(own, reported, rtol=1e-9):
            counts = f"the rows weigh {own.tolist()} by class, the objects {reported.tolist()}"
            raise CapabilityError(
                f"pruner {self.name} counts rows anew, but {counts}: rows were merged under "
                f"one class, or weighed by an objective; {way}"
            )

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Cut and raise.  Raises CapabilityError for numbers, and where raising cannot count the
        rows anew.
        """
        classes_only(self, tree)
        if self.raising:
            from arboretum_classic.pruning.raising import raise_subtrees

            return raise_subtrees(tree, train, self.limit, self.margin)
        from arboretum_classic.pruning.kernels import SMALL, estimates

        leaf, rest = (
            estimates(weights, tree.label, self.limit)
            for weights in (tree.weights, own_weights(tree))
        )
        return cut(tree, leaf, rest, self.margin + SMALL)


@attrs.frozen
class ErrorBasedRelease8(ErrorBased):
    """``error_based`` as Quinlan's program has it: the normal deviate is read off a table of
    nine.
    """

    name = "error_based_release8"
    estimate: str = param(
        "table",
        "upper limit: normal (J48's approximation), table (C4.5's deviates), exact (binomial)",
        choices=LIMITS,
    )


@attrs.frozen
class Pessimistic(_OfClasses):
    """Quinlan's pessimistic pruning: half an error more per leaf, and a leaf within one standard
    error of its subtree is kept.
    """

    name = "pessimistic"
    paper = "Quinlan 1987, Simplifying decision trees, section 2.3"

    correction: float = param(0.5, "errors added per leaf, for continuity", ge=0.0, unit="errors")
    standard_errors: float = param(
        1.0,
        "standard errors of the subtree's corrected errors by which a leaf may be worse",
        ge=0.0,
    )

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Cut from the root down: each node is compared with its whole subtree as grown."""
        classes_only(self, tree)
        own = own_weights(tree)
        errors = subtree_sums(
            tree.parent, wrong(tree, own) + self.correction * (tree.is_leaf | (own.sum(axis=1) > 0))
        )
        spread = np.sqrt(
            np.maximum(errors * (tree.mass - errors), 0.0) / np.maximum(tree.mass, TINY)
        )
        return tree.cut(
            np.flatnonzero(
                wrong(tree, tree.weights) + self.correction
                <= errors + self.standard_errors * spread
            )
        )


@attrs.frozen
class ReducedError:
    """Minimum error on validation rows: bottom up, a node becomes a leaf where that does not
    raise their error (or by no more than a tolerance).
    """

    kind = "pruner"
    name = "reduced_error"
    paper = "Quinlan 1987, section 2.2"
    capabilities = ()
    needs_validation = True

    tolerance: float = param(
        0.0,
        "by how much one cut may raise the validation error (share of the weight; mean "
        "squared error for numbers)",
        ge=0.0,
    )

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Cut bottom up.  Raises CapabilityError without validation rows."""
        if valid is None or not valid.n_rows:
            raise CapabilityError(
                "pruner reduced_error judges on validation rows, and there are none; use "
                "split=holdout"
            )
        leaf, rest, mass = costs_by_node(tree, valid)
        return cut(tree, leaf, rest, self.tolerance * mass + rounding(tree, mass))


@attrs.frozen
class MEstimate(_OfClasses):
    """Niblett & Bratko's minimum-error pruning: a subtree goes where its expected error by
    m-estimates is no lower than that of a leaf.
    """

    name = "m_estimate"
    paper = "Niblett & Bratko 1986 (prior=uniform without m); Cestnik & Bratko 1991"

    m: float | None = param(
        None,
        "rows that the prior is worth; none: as many as there are classes (with "
        "prior=uniform Laplace's rule)",
        ge=0.0,
    )
    prior: str = param(
        "uniform",
        "of the classes: uniform, or their shares among all training rows (training)",
        choices=("uniform", "training"),
    )

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Cut bottom up."""
        classes_only(self, tree)
        n_classes = len(tree.classes)
        m = n_classes if self.m is None else self.m
        prior = (
            np.full(n_classes, 1.0 / n_classes)
            if self.prior == "uniform"
            else tree.distribution()[0]
        )

        def expected(weights: np.ndarray) -> np.ndarray:
            """Return the rows expected to be wrong: N (N − n_c + m (1 − p_c)) / (N + m) for the
            label c.

            weights : float64[n_nodes, classes].
            """
            mass = weights.sum(axis=1)
            return np.asarray(
                mass
                * (wrong(tree, weights) + m * (1.0 - prior[tree.label]))
                / np.maximum(mass + m, TINY)
            )

        return cut(
            tree, expected(tree.weights), expected(own_weights(tree)), rounding(tree, tree.mass[0])
        )


def classes_only(pruner: Any, tree: Tree) -> None:
    """Raise CapabilityError for a tree that predicts numbers, naming the pruner, which counts
    errors.
    """
    if tree.is_regression:
        raise CapabilityError(
            f"pruner {pruner.name} counts errors, and this tree predicts numbers; use "
            "pruner=cost_complexity or reduced_error"
        )


def rounding(tree: Tree, scale: float) -> float:
    """Return by how much two sums over a subtree that are equal may differ: an ε of the largest,
    ``scale``, for each node and each class.
    """
    return float(
        float(np.finfo(np.float64).eps) * (tree.n_nodes + 2 * tree.weights.shape[1] + 8) * scale
    )


def costs_by_node(tree: Tree, valid: Table) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (float64[n_nodes], float64[n_nodes], float): what rows that reach a node cost if it
    is a leaf; what the rows cost that stay at an inner node for want of a child; their weight.

    The cost is the weight of wrong rows, or Σ w (y − prediction)²; a row in shares counts by its
    shares.

    valid : rows that prune, of training or of validation.
    """
    node, row, share = tree.places(valid).all()
    weight, ends = share * valid.row_weights()[row], tree.subtree_end

    def at_nodes(
        amount: np.ndarray, group: np.ndarray, width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return float64[n_nodes, width], twice: sums of what comes by, and of what rests.

        amount, group : of each row at the node where it ends; group is the column, below width.
        """
        rests = np.bincount(node * width + group, amount, tree.n_nodes * width).reshape(
            tree.n_nodes, width
        )
        # nodes stand in preorder, so that a subtree is a stretch of them
        before = np.concatenate([np.zeros((1, width)), np.cumsum(rests, axis=0)])
        return before[ends] - before[:-1], rests

    if tree.is_classification:
        pairs = at_nodes(weight, valid.target.codes[row], len(tree.classes))
        leaf, rest = (
            found.sum(axis=1) - found[np.arange(tree.n_nodes), tree.label] for found in pairs
        )
    else:
        shift = tree.value[0]
        y, value = valid.target.values[row] - shift, tree.value - shift
        moments = [at_nodes(weight * y**k, np.zeros_like(node), 1) for k in range(3)]
        of_both = ([sums[which][:, 0] for sums in moments] for which in (0, 1))
        leaf, rest = (
            np.maximum(wyy - 2 * value * wy + value**2 * w, 0.0) for w, wy, wyy in of_both
        )
    return leaf, np.where(tree.is_leaf, 0.0, rest), float(weight.sum())
