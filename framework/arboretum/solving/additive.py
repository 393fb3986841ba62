"""Additive objectives: a loss that is a sum over objects, λ per leaf, μ per unit of price; and
their costs as whole numbers.

A plugin's objective says what its labels cost, by object (``costs``) or by class (``factors`` and
``errors``), and has the rest from :class:`AdditiveObjective`.  All numbers are known exactly: a
weight, a cost, λ and μ are the decimals that were written down (0.1 is one tenth), so that solvers
work with integers.  Costs of objects that 52 bits do not hold together are rounded down: what is
a bound for them is one for the costs themselves.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, cast

import attrs
import numpy as np

from arboretum.interfaces.component import param
from arboretum.interfaces.method import Problem
from arboretum.interfaces.objective import WeightedErrors, costs_by_object
from arboretum.model.tree import Tree
from arboretum.model.whole import WHOLE, common_unit, in_common_unit, whole_numbers

FINE = 34
"""Bits of the mean loss where losses of classes have to be rounded."""
ROUNDED, FINE_OF_OBJECTS = 51, 40
"""Bits of all costs of objects together, at most, and of their mean, where these have to be
rounded: each takes the bit-parallel searches its share.
"""


class Price(enum.Enum):
    """Which price of a tree counts."""

    expected = "expected"
    max = "max"


@attrs.frozen(eq=False)
class WholeCosts:
    """The costs of an additive objective as whole numbers, without λ and prices.

    costs : int64[objects, labels], what an object adds to the loss where its leaf says a label.
    unit : what 1 is worth.
    slack : the loss of a tree may be lower than its whole costs say by at most this, as weights, or
        the costs of classes, have too many digits; 0: it is not.
    more : it may be higher by at most this, as costs of objects were rounded down.
    """

    costs: np.ndarray
    unit: Fraction
    slack: Fraction = Fraction(0)
    more: Fraction = Fraction(0)


def whole_costs(problem: Problem) -> WholeCosts:
    """Return the costs of a problem's objects as whole numbers, exact where they fit into 52 bits
    together.  Raises what :func:`costs_by_object` raises.
    """
    if hasattr(problem.parts.objective, "costs"):
        return _whole_costs_of_objects(problem)
    return _whole_costs_of_classes(problem)


def _whole_costs_of_objects(problem: Problem) -> WholeCosts:
    """Costs that differ by object: their mean over the weight is the loss."""
    mass, unit, error = problem.objects.exact_weights
    costs, total = costs_by_object(problem), int(mass.sum())
    most = Fraction(float(np.abs(costs).max(initial=0.0)))
    slack = 2 * error * len(mass) * most / (total * unit)
    found = whole_numbers(costs.ravel())
    if found:
        whole, each = found[0].reshape(costs.shape), found[1]
        if float(mass @ np.abs(whole).max(axis=1, initial=0).astype(np.float64)) < WHOLE:
            return WholeCosts(whole * mass[:, None], each / total, slack)
    return _rounded_down(costs, mass, slack)


def _rounded_down(costs: np.ndarray, mass: np.ndarray, slack: Fraction) -> WholeCosts:
    """Costs of objects, of which the loss is the mean over the weight, as 51 bits hold them.

    costs : float64[objects, labels].   mass : int64[objects].
    """
    total = int(mass.sum())
    bits = min(ROUNDED, FINE_OF_OBJECTS + len(mass).bit_length())
    places = bits - math.frexp(float(mass @ np.abs(costs).max(axis=1, initial=0.0)))[1]
    whole = np.floor(np.ldexp(costs, places)).astype(np.int64)
    grain = Fraction(1, total) * (Fraction(1, 2**places) if places >= 0 else 2**-places)
    return WholeCosts(whole * mass[:, None], grain, slack, total * grain)


def _whole_costs_of_classes(problem: Problem) -> WholeCosts:
    """Costs that are told by class: weight · factor · error."""
    objects, objective = problem.objects, cast(WeightedErrors, problem.parts.objective)
    mass, unit, error = objects.exact_weights
    factors = objective.factors(objects.class_weights)
    errors = objective.errors(objects.n_classes)
    parts = common_unit(
        {Fraction(one) for row in errors for one in row} - {Fraction(0)} or {Fraction(1)}
    )
    cost = [[int(one / parts) for one in row] for row in errors]
    most, total = max(1, *map(max, cost)), int(mass.sum())
    slack = error and error * len(mass) * max(factors) * parts * most
    each, value = in_common_unit(factors if unit == 1 else [one * unit for one in factors])
    value = value if parts == 1 else value * parts
    if total * max(each) * most < WHOLE:
        costs = (np.array(each)[:, None] * np.array(cost)).take(objects.label, axis=0)
        if (mass != 1).any():
            costs *= mass[:, None]
        return WholeCosts(costs, value, slack)
    if most > 1:  # a factor, an error and their product are rounded to 53 bits each
        by_class = np.array([[float(one * unit * total)] for one in factors])
        found = by_class * np.array([[float(one) for one in row] for row in errors])
        slack = Fraction(2 * slack) + Fraction(float(found.max())) / 2**51
        return _rounded_down(found.take(objects.label, axis=0), mass, slack)
    # half a loss, and the rounding of a product of floats below 2^52 in losses
    whole = Fraction(float(total * unit * max(factors)))
    value = whole / (1 << min(FINE + len(mass).bit_length(), 50)) * parts
    scale = np.array([float(one * parts / value) for one in factors])
    loss = np.rint(objects.weight * scale[objects.label]).astype(np.int64)
    costs = loss[:, None] * np.array(cost).take(objects.label, axis=0)
    return WholeCosts(costs, value, slack + len(mass) * value)


def is_additive(objective: object) -> bool:
    """Return whether an objective says what labels cost, by object or by class, so that its loss is
    a sum over objects.
    """
    return hasattr(objective, "costs") or hasattr(objective, "factors")


def shares_of_costs(problem: Problem) -> np.ndarray | None:
    """Return float64[n_objects, labels]: what each object adds to the loss by the label of its
    leaf; None where the objective does not tell by object.
    """
    if not hasattr(problem.parts.objective, "costs"):
        return None
    weight = problem.objects.weight
    return np.asarray(costs_by_object(problem) * (weight / weight.sum())[:, None])


def sum_by_group(values: np.ndarray, group: np.ndarray, n: int) -> np.ndarray:
    """Return float64[n, k]: the sums over groups of float64[m, k].   group : int64[m], below n."""
    return np.stack([np.bincount(group, column, n) for column in values.T], axis=1)


def label_costs(
    problem: Problem, weights: np.ndarray, costs: np.ndarray | None = None
) -> np.ndarray:
    """Return float64[nodes, labels]: what nodes add to the objective by the label that they are
    given; without an objective that says so, less their weight of that class.

    weights : float64[nodes, classes].
    costs : float64[nodes, labels], sums of :func:`shares_of_costs`; None where that is None.
    """
    if costs is not None:
        return costs
    own = getattr(problem.parts.objective, "label_costs", None)
    return -weights if own is None else np.asarray(own(weights, problem))


def costs_of_groups(problem: Problem, group: np.ndarray, n: int) -> np.ndarray:
    """Return float64[n, labels], :func:`label_costs` of groups of objects.

    group : int64[n_objects].
    """
    objects, k = problem.objects, problem.objects.n_classes
    weights = np.bincount(group * k + objects.label, objects.weight, n * k).reshape(n, k)
    own = shares_of_costs(problem)
    return label_costs(problem, weights, None if own is None else sum_by_group(own, group, n))


@attrs.frozen
class AdditiveObjective:
    """Loss + λ · leaves + μ · price, of a loss that is a sum over objects.

    A subclass says what an object costs where its leaf says a label, in one of two ways: ``costs``,
    by object, or ``factors`` and ``errors``, by class; without either every error costs 1.

    linear_in_roles : (class attribute) of rows of one class, costs are a linear function of their
        roles, and look at nothing else, so that they are known of rows in parts.  A promise: each
        such run tries it on a few rows.  Where it is so of other roles only,
        ``linear_roles(table)`` makes these of a table's own, and rows that have them instead cost
        the same; it raises CapabilityError for a table (of no row) without a role that it needs.
    needs_all_rows : (optional) why costs are not known of rows in parts, and what is; a refusal
        says it.
    """

    kind = "objective"
    paper = ""
    linear_in_roles: ClassVar[bool] = False
    capabilities: ClassVar[tuple[str, ...]] = ("classification", "multiclass", "weights", "prices")
    shape = "additive"

    lam: float = param(
        0.01,
        "λ, what a leaf costs, in the loss's unit: a split stays where it lowers the loss by more "
        "(0.01 where an error costs 1: one row in a hundred)",
        ge=0.0,
        lt=math.inf,
    )
    mu: float = param(
        0.0, "μ, what a unit of price costs; 0: prices do not count", ge=0.0, lt=math.inf
    )
    price: Price = param(
        Price.expected,
        "which price of the tree counts: expected (mean over the weight) or max "
        "(the costliest path)",
    )

    def factors(self, weights: Sequence[Fraction]) -> Sequence[Fraction]:
        """Return what an error of cost 1 on a unit of weight adds to the loss, per true class.

        weights : of the classes.
        """
        below = math.lcm(*(one.denominator for one in weights))
        total = sum(one.numerator * (below // one.denominator) for one in weights)
        return [Fraction(below, total)] * len(weights)

    def errors(self, n_classes: int) -> Sequence[Sequence[Fraction | int]]:
        """errors[y][k] : cost of saying k of an object of class y; an error costs 1."""
        return [[1] * y + [0] + [1] * (n_classes - y - 1) for y in range(n_classes)]

    def label_costs(self, weights: np.ndarray, problem: Problem) -> np.ndarray:
        """Return float64[nodes, classes]: the loss of nodes by the class they predict, where costs
        are told by class.

        weights : float64[nodes, classes], of the nodes; what the classes weigh in all is the
            problem's.
        """
        factors = self.factors(problem.objects.class_weights)
        errors, costs = self.errors(weights.shape[1]), []
        for factor, row in zip(factors, errors, strict=True):
            of_one = float(factor)
            costs.append(
                [(of_one if one == 1 else float(factor * one)) if one else 0.0 for one in row]
            )
        found: np.ndarray = weights @ np.array(costs)
        return found

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the objective of a tree by the classes that it predicts, in the loss's unit."""
        test_cost = 0.0
        if self.mu > 0:
            to = tree.price_to + tree.price
            test_cost = (
                to[tree.is_end].max()
                if self.price is Price.max
                else float(tree.resting.sum(axis=1) @ to) / float(tree.mass[0])
            )
        return float(
            self._loss(tree, problem) + self.lam * int(tree.is_end.sum()) + self.mu * test_cost
        )

    def _loss(self, tree: Tree, problem: Problem) -> float:
        """What the tree's answers cost the problem's objects."""
        objects, own = problem.objects, shares_of_costs(problem)
        if own is None:
            costs = self.label_costs(tree.resting, problem)
            return float(costs[np.arange(tree.n_nodes), tree.label].sum())
        said = tree.predict(objects.table)[objects.row_of_object]
        return float(own[np.arange(len(said)), said].sum())
