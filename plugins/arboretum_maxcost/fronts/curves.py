"""What greedy trees make of the same trade: the curves that are drawn beside a front, of which
nothing is proven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum import api
from arboretum.api import (
    CapabilityError,
    Context,
    Problem,
    Tree,
    sure,
)
from arboretum_maxcost.greedy.criteria import WorstCase
from arboretum_maxcost.greedy.impurities import HingedPairs, Powers
from arboretum_maxcost.greedy.tradeoff import curve_over_alpha, curve_over_delta, hinge_values

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity
    from arboretum_maxcost.greedy.tradeoff import Curve


COLUMNS = {
    "train_error": "error",
    "max_cost": "max_cost",
    "expected_cost": "expected_cost",
    "n_leaves": "n_leaves",
}
"""Axis of a front → column of a curve."""
STEPS = 50
"""Values of α."""


def grow_greedy_curves(
    problem: Problem, axes: tuple[str, ...]
) -> Iterator[tuple[str, list[tuple[float, ...]]]]:
    """Yield (name, values on the axes) of each greedy curve that can be grown here: GREEDYTREE with
    powers, stopped at every δ, and with hinged pairs for every α.

    axes : names of metrics; nothing is yielded where one has no column of a curve.
    """
    if not set(axes) <= COLUMNS.keys():
        return
    objects = problem.objects
    weights = np.bincount(objects.label, objects.weight, objects.n_classes)
    curves: tuple[tuple[str, Callable[[], Curve]], ...] = (
        ("greedy, powers 2", lambda: curve_over_delta(_grow_with_impurity(problem, Powers(l=2)))),
        ("greedy, powers 5", lambda: curve_over_delta(_grow_with_impurity(problem, Powers(l=5)))),
        (
            "greedy, hinged",
            lambda: curve_over_alpha(
                _with_impurity(problem, HingedPairs()), hinge_values(weights, STEPS)
            ),
        ),
    )
    for name, curve in curves:
        try:
            found = curve()
        except CapabilityError:
            # prices or impurities of a kind that this growth does not take: the front needs no
            # curve
            continue
        yield (
            name,
            sorted(
                set(zip(*(getattr(found, COLUMNS[axis]).tolist() for axis in axes), strict=True))
            ),
        )


def _with_impurity(problem: Problem, impurity: Impurity) -> Problem:
    return attrs.evolve(
        problem,
        parts=attrs.evolve(problem.parts, criterion=WorstCase(), impurity=impurity, solver=None),
    )


def _grow_with_impurity(problem: Problem, impurity: Impurity) -> Tree:
    return sure(api.grow(_with_impurity(problem, impurity), Context()).tree)
