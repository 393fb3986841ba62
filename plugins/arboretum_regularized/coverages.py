"""How close is an object to a leaf?  Monotone submodular functions of the tests asked, per object;
and the leaf rules beside ``mass``.

For an object x_i and the tests on its path, S is the set of objects that agree with x_i on all of
them: the node.  Several coverages of one run mean their disjunction, 1 − Π (1 − f).
"""

from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np

from arboretum.api import DataError, Encoded, LeafRule, Limits, Node, param

_PAPER = "Zhang & Gionis 2023, section 4"
_CLASSES = (
    "classification",
    "multiclass",
    "weights",
    "missing",
    "prices",
    "multiway",
    "thresholds",
)
_SUM = 1e-9
"""Probabilities that are written with ten digits or more sum to 1 within this."""


class _Coverage:
    """Base of coverages and of what they are once the root is known."""

    kind = "coverage"
    paper = _PAPER
    capabilities: ClassVar[tuple[str, ...]] = _CLASSES

    def prepare(self, objects: Encoded) -> Any:
        """Return the same function with what it needs of the root at hand."""
        return self

    def covered(self, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows)], 0 … 1: how far each object is identified by a set of objects.

        rows : int64, the set's, positions in ``objects``.
        """
        covered: np.ndarray = self.prepare(objects).covered_many(
            objects, rows, np.array([0, len(rows)])
        )
        return covered


@attrs.frozen(eq=False)
class AtRoot(_Coverage):
    """A coverage on the objects of one table.

    function : its ``at_root``.
    known : what that wants to know of the root.
    """

    function: Callable[..., np.ndarray]
    known: Any

    def covered_many(self, objects: Encoded, rows: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return float64[len(rows)]: the same for many sets of objects, ``rows[start[k]:start[k +
        1]]`` each.
        """
        return self.function(self.known, objects, rows, start)


@attrs.frozen
class Probability(_Coverage):
    """The share of the weight that a test has told apart from the object, truncated at θ (f^p).

    f_i = min((1 − p(S)) / (1 − max(p_i, θ)), 1): 1 where the object is alone, or where p(S) ≤ θ.
    """

    name = "probability"
    capabilities = (*_CLASSES, "regression")

    theta: float = param(
        0.0,
        "a node this light is as good as a leaf",
        ge=0.0,
        le=1.0,
        unit="share of the total weight",
        shared="theta",
    )
    normalise: bool = param(
        True, "weights that do not sum to 1 are divided by their sum; false: they are refused"
    )

    def prepare(self, objects: Encoded) -> AtRoot:
        """Return the same function with the root's weight at hand.

        Raises DataError where ``normalise`` is false and the training rows' own weights do not sum
        to 1 (within 1e-9), and where the share of an object is lost beside 1.
        """
        total = float(objects.weight.sum())
        if (least := float(objects.weight.min())) < np.finfo(np.float64).eps * total:
            raise DataError(
                f"coverage probability takes shares of the weight {total:g} of all rows from 1, "
                f"and float64 does not tell that of a row of weight {least:g} from 0; give the "
                "rows weights that are nearer to each other"
            )
        if not self.normalise and objects.table.weights is not None and abs(total - 1.0) > _SUM:
            raise DataError(
                f"the weights of the training rows sum to {total:.12g} and not to 1; choose "
                "coverage.probability.normalise=true"
            )
        return AtRoot(self.at_root, total)

    def at_root(
        self, total: float, objects: Encoded, rows: np.ndarray, start: np.ndarray
    ) -> np.ndarray:
        """Return float64[len(rows)], f of each object in its set.

        total : weight of all objects.
        rows, start : int64, objects of all sets; set k is rows[start[k]:start[k + 1]].
        """
        weight, size = objects.weight[rows], np.diff(start)
        share = np.repeat(np.add.reduceat(weight, start[:-1]) / total, size)
        target = np.maximum(weight / total, self.theta)
        # θ is meant as by the leaf rule
        apart = (share > self.theta * (1.0 + LeafRule.ROUNDING)) & np.repeat(size > 1, size)
        left = np.divide(
            np.maximum(share - target, 0.0), 1.0 - target, out=np.zeros(len(rows)), where=apart
        )
        covered: np.ndarray = 1.0 - np.minimum(left, 1.0)
        return covered


@attrs.frozen
class UnlikePairs(_Coverage):
    """The share of the pairs of objects of different classes that tests have told apart (f^φ).

    f_i = (φ(X) − φ(S)) / φ(X), φ the number of pairs of objects with different labels; every object
    counts once, whatever its weight.  1 where the node has one class.
    """

    name = "pairs"

    def prepare(self, objects: Encoded) -> AtRoot:
        """Return the same function with φ(X) at hand."""
        return AtRoot(self.at_root, pairs_of(objects.label, objects.n_classes))

    def at_root(
        self, pairs: int, objects: Encoded, rows: np.ndarray, start: np.ndarray
    ) -> np.ndarray:
        """Return float64[len(rows)], f of each object in its set.

        pairs : φ(X), unlike pairs of all objects; 0: all is covered.
        rows, start : int64, objects of all sets; set k is rows[start[k]:start[k + 1]].
        """
        n = _by_class(objects, rows, start)
        here = (n.sum(axis=1) ** 2 - (n * n).sum(axis=1)) // 2
        return np.repeat((pairs - here) / pairs if pairs else np.ones(len(n)), np.diff(start))


@attrs.frozen
class OthersExcluded(_Coverage):
    """The share of the objects of other classes that tests have told apart from the object.

    f_i = (g_i(X) − g_i(S)) / g_i(X), g_i the number of objects of another class than x_i; every
    object counts once. The text's other form of the pairs: Σ g_i(S) over the objects of S is 2
    φ(S).
    """

    name = "excluded"
    paper = "Zhang & Gionis 2023, appendix A"

    def prepare(self, objects: Encoded) -> AtRoot:
        """Return the same function with the g_i(X) at hand."""
        return AtRoot(self.at_root, others_of(objects.label, objects.n_classes))

    def at_root(
        self, all_others: np.ndarray, objects: Encoded, rows: np.ndarray, start: np.ndarray
    ) -> np.ndarray:
        """Return float64[len(rows)], f of each object in its set.

        all_others : int64[classes], objects of another class than that.
        rows, start : int64, objects of all sets; set k is rows[start[k]:start[k + 1]].
        """
        n, label, size = _by_class(objects, rows, start), objects.label[rows], np.diff(start)
        others = n.sum(axis=1)[:, None] - n
        here, there = others[np.repeat(np.arange(len(size)), size), label], all_others[label]
        return np.where(there > 0, (there - here) / np.maximum(there, 1), 1.0)


def _by_class(objects: Encoded, rows: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return int64[sets, classes]: objects of each class in each set."""
    sets, width = len(start) - 1, objects.n_classes
    number = np.repeat(np.arange(sets), np.diff(start)) * width + objects.label[rows]
    return np.bincount(number, minlength=sets * width).reshape(sets, width)


def pairs_of(label: np.ndarray, n_classes: int) -> int:
    """φ: pairs of objects with different labels."""
    n = np.bincount(label, minlength=n_classes).tolist()
    return int(sum(n) ** 2 - sum(k * k for k in n)) // 2


def others_of(label: np.ndarray, n_classes: int) -> np.ndarray:
    """Return int64[classes]: objects of another class than that."""
    return len(label) - np.bincount(label, minlength=n_classes)


@attrs.frozen
class Covered:
    """Stop where every object is covered: its f_i, the disjunction of the run's coverages, is 1.

    Without coverages nothing is ever covered.  A node of one class is a leaf in any case.
    """

    kind = "stopping"
    name = "covered"
    paper = "Zhang & Gionis 2023, problem 2"
    capabilities = ()
    needs_coverage = True

    def limits(self) -> Limits:
        """Return no limits: the rule looks at the coverage of objects alone."""
        return Limits()

    def is_leaf(self, node: Node) -> bool:
        """Return whether the mean of f over the node's objects is 1."""
        return node.coverage >= 1.0


@attrs.frozen
class FewObjects:
    """Stop where few distinct objects are left, as the authors' program does at two.

    Distinct objects are those of a coalescing encoder; without one, every row is an object.
    """

    kind = "stopping"
    name = "few_objects"
    paper = "the program of Zhang & Gionis 2023"
    capabilities = ()

    most: int = param(2, "objects of a node that is a leaf, at most", ge=1, unit="objects")

    def limits(self) -> Limits:
        """Return no limits: the rule looks at the number of objects alone."""
        return Limits()

    def is_leaf(self, node: Node) -> bool:
        """Return whether the node has that few objects (rows, where nobody counted objects)."""
        return (node.count if node.n_objects is None else node.n_objects) <= self.most

    def leaf_rule(self) -> LeafRule:
        """A node of at most ``most`` objects is a leaf: fewer than ``most`` + 1."""
        return LeafRule(min_objects=self.most + 1)


COVERAGES, RULES = [Probability, UnlikePairs, OthersExcluded], [Covered, FewObjects]
