"""Objectives that are no sums over leaves: values of a whole tree, of two classes.

A plugin says what so many false positives and false negatives lose (``loss``); an exact solver
bounds it by additive costs (``solver=fronts``).  The second class is the positive one
(``dataset.positive=CLASS`` chooses).  λ per leaf is added.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import attrs
import numpy as np

from arboretum.errors import CapabilityError
from arboretum.interfaces.component import param
from arboretum.interfaces.method import Problem
from arboretum.model.encoded import Encoded
from arboretum.model.real_numbers import real_numbers
from arboretum.model.tree import Tree


@attrs.frozen
class TwoClassObjective:
    """A value that is defined where both of two classes have rows, + λ · leaves."""

    kind = "objective"
    paper = ""
    capabilities: ClassVar[tuple[str, ...]] = ("classification", "weights")

    name: ClassVar[str]
    lam: float = param(
        0.01,
        "λ, what a leaf costs: a split stays where it lowers the loss by more",
        ge=0.0,
        lt=math.inf,
    )

    def classes_of(self, problem: Problem) -> tuple[float, float]:
        """Return the weights of the positives and of the negatives.  Raises CapabilityError unless
        both have some.
        """
        objects = problem.objects
        if objects.n_classes > 2:
            raise CapabilityError(
                f"objective {self.name} knows two classes, and there are "
                f"{objects.n_classes}; use accuracy, balanced or cost_matrix"
            )
        if objects.n_classes < 2:
            raise CapabilityError(
                f"objective {self.name} is undefined with one class; choose rows of both classes"
            )
        negatives, positives = np.bincount(objects.label, objects.weight, 2).tolist()
        if not positives or not negatives:
            missing = "positive" if not positives else "negative"
            raise CapabilityError(
                f"objective {self.name} is undefined without a {missing} row; choose rows of "
                "both classes (split.stratify=true)"
            )
        return positives, negatives


@attrs.frozen
class ConfusionObjective(TwoClassObjective):
    """A loss of false positives and false negatives that falls with neither, + λ · leaves.

    A subclass says which loss; whoever minimises it tries on a grid of both numbers that it does
    not fall, and refuses it by name, with the counterexample.
    """

    shape = "confusion"

    @abstractmethod
    def loss(
        self, fp: np.ndarray, fn: np.ndarray, positives: float, negatives: float
    ) -> np.ndarray:
        """Return the loss of false positives and false negatives, float64 of their shape, without
        λ · leaves.  Subclasses say it.

        fp, fn : weights; arrays of one shape, or numbers.
        positives, negatives : weights that each class has in all, above 0.
        """
        raise NotImplementedError

    def label_costs(self, weights: np.ndarray, problem: Problem) -> np.ndarray:
        """Nothing: which labels are best depends on all leaves, and ``value`` judges those that
        a tree has.
        """
        return np.zeros_like(weights)

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the loss by the classes that the tree predicts, + λ · leaves.  Raises
        CapabilityError without two classes.

        The loss is asked of the numbers that solvers and proofs ask it of, which count weights in
        whole multiples of their unit: near the end of a root a sum's rounding would be 10⁻⁸.
        """
        rest, says = tree.resting, tree.label == 1
        wrong = rest[says, 0].sum(), rest[~says, 1].sum()
        fp, fn, positives, negatives = _in_units(
            np.array([*wrong, *self.classes_of(problem)]), problem.objects
        )
        loss = real_numbers(self.loss(fp, fn, positives, negatives), f"objective {self.name}: loss")
        return float(loss) + self.lam * int(tree.is_end.sum())


MOST = 1 << 50
"""Objects · all weights in their unit: sums of so few floats are off by less than half a unit."""


def _in_units(sums: np.ndarray, objects: Encoded) -> np.ndarray:
    """Return float64 sums of objects' weights as whole multiples of the weights' unit, rounded
    once; as they are where the weights have no unit, or it is too small to tell.
    """
    mass, unit, error = objects.exact_weights
    if error or len(mass) * int(mass.sum()) >= MOST:
        return sums
    return np.rint(sums / float(unit)) * float(unit)
