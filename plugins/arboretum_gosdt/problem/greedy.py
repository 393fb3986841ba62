"""The greedy counterparts of additive objectives and of sums by leaf: the test that lowers costs
most.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    DataError,
    Encoded,
    Node,
    Problem,
    SumsByLeaf,
    Tables,
    is_additive,
    leaf_costs,
    moments_of,
    shares_of_costs,
)


@attrs.frozen
class CostReduction:
    """By how much a test lowers what the cheapest labels cost, by the run's objective; without one,
    the weight of the errors.

    With ``objective=policy_value`` it is the gain of the policy, with ``instance_cost`` what rows
    save.  Its tests see one level ahead, and many change no label: exact solvers see further.
    """

    kind = "criterion"
    name = "cost_reduction"
    paper = "Elkan 2001; Athey & Wager 2021"
    capabilities = ("classification", "multiclass", "weights", "multiway", "thresholds", "additive")
    own_unit = True
    columns_are_costs = True
    example = "dataset=iris method=greedy objective=accuracy"

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]: the errors of the node less those of the outcomes."""
        return reduction(-tables.weights)

    def for_problem(self, problem: Problem) -> CostReduction:
        """Return the criterion with the costs of the run's objective.  Raises CapabilityError for
        one that is no sum over objects.
        """
        objective: Any = problem.parts.objective
        if objective is None:
            return self
        if not is_additive(objective):
            raise CapabilityError(
                "criterion cost_reduction needs an objective of sums over objects; "
                f"{objective.name} is none: choose accuracy, instance_cost or policy_value"
            )
        try:
            own = shares_of_costs(problem)
        except DataError:  # a few rows on which kernels are loaded; of all, labels ask again
            return CostReduction()
        if own is not None:
            return OfObjects(own)
        eye = np.eye(problem.objects.n_classes)
        return OfClasses(np.asarray(objective.label_costs(eye, problem)))


@attrs.frozen(eq=False)
class OfObjects(CostReduction):
    """With costs of objects.   shares : float64[n_objects, labels]."""

    shares: np.ndarray = attrs.field(default=None)

    def columns(self, node: Node, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows), labels], what objects cost by label."""
        return np.asarray(self.shares[rows])

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]: the costs of the node less those of the outcomes."""
        return reduction(tables.extra)


@attrs.frozen(eq=False)
class OfClasses(CostReduction):
    """With costs that are told by class.   costs : float64[classes, labels], of a weight of 1."""

    costs: np.ndarray = attrs.field(default=None)

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]: the costs of the node less those of the outcomes."""
        return reduction(tables.weights @ self.costs)


def reduction(costs: np.ndarray) -> np.ndarray:
    """Return float64[tests]: by how much the cheapest labels of the outcomes together cost less
    than that of the node.

    costs : float64[tests, outcomes, labels].
    """
    found: np.ndarray = costs.sum(axis=1).min(axis=1) - costs.min(axis=2).sum(axis=1)
    return found


@attrs.frozen
class SumsReduction:
    """By how much a test lowers what leaves cost, by the sums of the run's objective; without one,
    the squared deviation from the mean.
    """

    kind = "criterion"
    name = "sums_reduction"
    paper = "Breiman, Friedman, Olshen & Stone 1984; LeBlanc & Crowley 1992"
    capabilities = ("regression", "weights", "multiway", "thresholds", "additive")
    own_unit = True
    by_value = True  # where the moments are
    example = "dataset=diabetes method=greedy objective=poisson"

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]: what the node costs less what the outcomes cost."""
        return _reduction_of_sums(tables.weights, _squares)

    def for_problem(self, problem: Problem) -> SumsReduction:
        """Return the criterion with the moments of the run's objective.  Raises CapabilityError for
        one that has none.
        """
        objective = problem.parts.objective
        if objective is None:
            return self
        if not hasattr(objective, "moments"):
            raise CapabilityError(
                "criterion sums_reduction needs an objective of sums by leaf; "
                f"{objective.name} is none: choose poisson or survival"
            )
        return OfMoments(moments_of(problem), partial(leaf_costs, cast(SumsByLeaf, objective)))


@attrs.frozen(eq=False)
class OfMoments(SumsReduction):
    """With an objective.   moments : float64[n_objects, k].   leaf : what sums of them cost."""

    moments: np.ndarray = attrs.field(default=None)
    leaf: Callable[[np.ndarray], np.ndarray] = attrs.field(default=None)

    def columns(self, node: Node, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows), k], the moments."""
        return np.asarray(self.moments[rows])

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]: what the node costs less what the outcomes cost."""
        return _reduction_of_sums(tables.extra, self.leaf)


def _reduction_of_sums(sums: np.ndarray, leaf: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """float64[tests] of float64[tests, outcomes, k]; an outcome of no object costs nothing."""
    held = sums.any(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(held, leaf(sums), 0.0).sum(axis=1)
        found: np.ndarray = leaf(sums.sum(axis=1)) - below
    return found


def _squares(sums: np.ndarray) -> np.ndarray:
    """Σ w (y − mean)² of sums of w, w y and w y²."""
    found: np.ndarray = sums[..., 2] - sums[..., 1] ** 2 / sums[..., 0]
    return found
