"""The greedy counterpart of additive objectives: the test that lowers what labels cost most."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Encoded,
    Node,
    Problem,
    Tables,
    is_additive,
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
    example = "dataset=iris method=greedy objective=accuracy"

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]: the errors of the node less those of the outcomes."""
        return reduction(-tables.weights)

    def for_problem(self, problem: Problem) -> CostReduction:
        """Return the criterion with the costs of the run's objective.  Raises CapabilityError for
        one that is no sum over objects.
        """
        objective = problem.parts.objective
        if objective is None:
            return self
        if not is_additive(objective):
            raise CapabilityError(
                "criterion cost_reduction needs an objective of sums over objects; "
                f"{objective.name} is none: choose accuracy, instance_cost or policy_value"
            )
        own = shares_of_costs(problem)
        if own is not None:
            return OfObjects(own)
        eye = np.eye(problem.objects.n_classes)
        return OfClasses(np.asarray(objective.label_costs(eye, problem)))  # type: ignore[attr-defined]


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
