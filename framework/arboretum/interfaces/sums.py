"""Contract: what do leaves cost and predict, by sums over their objects?"""

from typing import Protocol, cast

import numpy as np

from arboretum.errors import ContractError, DataError
from arboretum.interfaces.method import Problem
from arboretum.interfaces.objective import Objective
from arboretum.model.encoded import Encoded
from arboretum.model.real_numbers import real_numbers


class SumsByLeaf(Objective, Protocol):
    """An objective of which a leaf's cost is a function of sums over its objects."""

    def moments(self, objects: Encoded) -> np.ndarray:
        """Return float64[objects, k]: what each object adds."""

    def leaf(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…]: what leaves cost whose objects have these sums, float64[…, k]."""

    def predicts(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…]: what leaves of these sums, float64[…, k], predict."""

    def unit(self, objects: Encoded) -> float:
        """Return what costs are divided by, above 0."""


def moments_of(problem: Problem) -> np.ndarray:
    """Return float64[objects, k], what ``moments`` of the run's objective says.

    Raises ContractError for another shape, DataError, naming the row (from 1), for a number that is
    not finite.
    """
    objective, objects = cast(SumsByLeaf, problem.parts.objective), problem.objects
    found = real_numbers(objective.moments(objects), f"objective {objective.name}: moments")
    if found.ndim != 2 or len(found) != objects.n_objects or not found.shape[1]:
        raise ContractError(
            f"objective {objective.name}: moments must return float64[{objects.n_objects}, k], k "
            f"at least 1; got {found.shape}"
        )
    if not np.isfinite(found).all():
        u, k = map(int, np.argwhere(~np.isfinite(found))[0])
        target = "" if objects.y is None else f", whose target is {objects.y[u]:g},"
        raise DataError(
            f"objective {objective.name}: moments are finite numbers, and number {k} of row "
            f"{int(objects.row_of_object[u]) + 1}{target} is {found[u, k]}"
        )
    return found


def unit_of(objective: SumsByLeaf, objects: Encoded) -> float:
    """Return what ``unit`` of an objective says of objects.  Raises ContractError unless it is one
    finite number above 0.
    """
    found = real_numbers(objective.unit(objects), f"objective {objective.name}: unit")
    if found.ndim or not 0 < found < np.inf:
        got = f"an array of the shape {found.shape}" if found.ndim else f"{found:g}"
        raise ContractError(
            f"objective {objective.name}: unit must return one finite number above 0, by which "
            f"costs are divided; got {got}"
        )
    return float(found)


def leaf_costs(objective: SumsByLeaf, sums: np.ndarray) -> np.ndarray:
    """Return float64[…]: what ``leaf`` says of sums, float64[…, k], which it cannot change."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return real_numbers(objective.leaf(read_only(sums)), f"objective {objective.name}: leaf")


def leaf_answers(objective: SumsByLeaf, sums: np.ndarray) -> np.ndarray:
    """Return float64[…]: what ``predicts`` says of sums, float64[…, k], which it cannot change.

    Raises ContractError for a number that is not finite.
    """
    said = f"objective {objective.name}: predicts"
    found = real_numbers(objective.predicts(read_only(sums)), said)
    if (amiss := ~np.isfinite(found)).any():
        raise ContractError(
            f"objective {objective.name}: predicts must return a finite number for every leaf; "
            f"got {found[amiss][0]} for the sums {sums[amiss][0].tolist()}"
        )
    return found


def read_only(sums: np.ndarray) -> np.ndarray:
    """Return a view that an author's function cannot write to: the sums are still needed."""
    view = sums.view()
    view.flags.writeable = False
    return view
