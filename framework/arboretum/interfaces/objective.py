"""Contract: what does an exact solver minimise?"""

import enum
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol, cast

import numpy as np

from arboretum.errors import ContractError, DataError
from arboretum.interfaces.component import Component
from arboretum.interfaces.method import Parts, Problem
from arboretum.model.encoded import Encoded
from arboretum.model.real_numbers import real_numbers
from arboretum.model.table import Table
from arboretum.model.tree import Tree


class Shape(enum.Enum):
    """What an objective is made of: bounds and recursions hold for a shape, and a solver says
    which it minimises.
    """

    additive = "additive"
    """A cost per leaf, of its class weights, plus a cost per node."""
    deviation = "deviation"
    """How far a leaf's targets are from what it predicts, plus a cost per node."""
    sums = "sums"
    """A cost per leaf, of sums over its objects, plus a cost per leaf."""
    squares = "squares"
    """How far a leaf's targets are from their mean, squared and as a share of what one leaf of all
    leaves, plus λ per leaf: a case of deviation and of sums.
    """
    complexity = "complexity"
    """The run's complexity, monotone in what the branches cost, over trees that obey the leaf
    rule; ∞ for the others.
    """
    confusion = "confusion"
    """A monotone function of false positives and false negatives, plus a cost per node."""
    ranking = "ranking"
    """A value of the leaves ranked by their share of a class, plus a cost per node."""

    @property
    def cases(self) -> "tuple[Shape, ...]":
        """This shape and those that it is a case of: whoever minimises one of these minimises it,
        the first of them best.
        """
        wider = (Shape.deviation, Shape.sums) if self is Shape.squares else ()
        return (self, *wider)


class Objective(Component, Protocol):
    """A value of a tree that a solver minimises and verification recomputes.

    shape : (optional) a :class:`Shape` or its name; a solver that states ``minimises``, a tuple of
        them, refuses all others that are no case of these.
    """

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the objective's value over the problem's objects; lower is better, ∞ = the tree is
        not allowed.
        """


class ObjectiveOptional(Protocol):
    """What an objective may have besides."""

    def label_costs(self, weights: np.ndarray, problem: Problem) -> np.ndarray:
        """Return float64[nodes, classes]: what nodes with these class weights (float64[nodes,
        classes]) add by the class that they predict.

        An exact solver's trees then predict a class of least cost, where others predict the
        heaviest; but with ``weigh`` all do.  For numbers ``leaf_value(y, weight) -> float`` says
        what its leaves predict in place of the mean.
        """

    def metrics(self, tree: Tree, rows: Table, train: Table) -> Mapping[str, float]:
        """Return numbers of a tree on rows that train or judge, by name: ``train_NAME`` and
        ``test_NAME`` of the record.

        train : by which is estimated what rows do not say.
        """

    def weigh(self, objects: Encoded) -> np.ndarray:
        """Return float64[n_objects] > 0: what the training objects weigh in place of
        ``objects.weight``, so that greedy methods serve the objective.
        """


class CostsByObject(Objective, Protocol):
    """An additive objective of which each object has costs of its own, by label: the loss is their
    mean over the weight.
    """

    @property
    def lam(self) -> float:
        """λ, what a leaf costs."""

    def costs(self, problem: Problem) -> np.ndarray:
        """Return float64[objects, labels]: what each object costs where its leaf says a label, per
        unit of its weight; finite, below 0 where it gains something.

        The labels are the classes of the target.  Called more than once with the same objects, to
        which it says the same; what is estimated from data is estimated from these rows alone.
        """


class WeightedErrors(Objective, Protocol):
    """An additive objective of errors and leaves, all in decimals: what solvers and proofs count
    in integers.
    """

    @property
    def lam(self) -> float:
        """λ, what a leaf costs."""

    def factors(self, weights: Sequence[Fraction]) -> Sequence[Fraction]:
        """Return what an error of cost 1 on a unit of weight adds, per true class.

        weights : of the classes.
        """

    def errors(self, n_classes: int) -> Sequence[Sequence[Fraction | int]]:
        """errors[y][k]: cost of saying k of an object of class y."""


def costs_by_object(problem: Problem) -> np.ndarray:
    """Return float64[objects, labels], what ``costs`` of the run's objective says.

    Raises ContractError for another shape, DataError, naming row (from 1) and label, for a number
    that is not finite.
    """
    objective, objects = cast(CostsByObject, problem.parts.objective), problem.objects
    found = real_numbers(objective.costs(problem), f"objective {objective.name}: costs")
    if found.shape != (wanted := (objects.n_objects, objects.n_classes)):
        rows = found.shape[:1] == (objects.table.n_rows,) != wanted[:1]
        way = "; objects.mean_of_rows(values) takes rows to objects" if rows else ""
        raise ContractError(
            f"objective {objective.name}: costs must return float64[objects, labels], here "
            f"{wanted}; got {found.shape}{way}"
        )
    if not np.isfinite(found).all():
        u, k = map(int, np.argwhere(~np.isfinite(found))[0])
        raise DataError(
            f"objective {objective.name}: costs are finite numbers, and that of row "
            f"{int(objects.row_of_object[u]) + 1} for {objects.table.target.classes[k]!r} is "
            f"{found[u, k]}"
        )
    return found


def shape_of(objective: object) -> Shape | None:
    """Return what an objective says of itself; raises ValueError for a shape that does not
    exist.
    """
    declared = getattr(objective, "shape", None)
    return None if declared is None else Shape(declared)


def minimised(shape: Shape, solver: object) -> Shape | None:
    """Return of which shape a solver minimises objectives of this one, its own or a wider one;
    None: it does not.
    """
    known = tuple(map(Shape, getattr(solver, "minimises", ())))
    return next((one for one in shape.cases if one in known), None)


def certified_by_value(parts: Parts) -> bool:
    """Return whether the certificate of such a run is about its objective, or the training error,
    rather than about complexities.

    So it is where trees are held to a depth, a number of leaves or a least leaf, and where an
    objective is no complexity, or stands beside a method that does not minimise it.
    """
    return bool(parts.limits().certified.given) or (
        parts.objective is not None
        and (parts.solver is None or shape_of(parts.objective) is not Shape.complexity)
    )
