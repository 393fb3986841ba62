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
from arboretum_maxcost.greedy.tradeoff import by_alpha, by_delta, hinges

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


def greedy_curves(
    problem: Problem, axes: tuple[str, ...]
) -> Iterator[tuple[str, list[tuple[float, ...]]]]:
    """(name, values) of GREEDYTREE with powers, stopped at every δ, and with hinged pairs for
    every α; those that can be grown here.
    """
    if not set(axes) <= COLUMNS.keys():
        return
    objects = problem.objects
    weights = np.bincount(objects.label, objects.weight, objects.n_classes)
    ways: tuple[tuple[str, Callable[[], Curve]], ...] = (
        ("greedy, powers 2", lambda: by_delta(_grown(problem, Powers(l=2)))),
        ("greedy, powers 5", lambda: by_delta(_grown(problem, Powers(l=5)))),
        ("greedy, hinged", lambda: by_alpha(_with(problem, HingedPairs()), hinges(weights, STEPS))),
    )
    for name, curve in ways:
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


def _with(problem: Problem, impurity: Impurity) -> Problem:
    return attrs.evolve(
        problem,
        parts=attrs.evolve(problem.parts, criterion=WorstCase(), impurity=impurity, solver=None),
    )


def _grown(problem: Problem, impurity: Impurity) -> Tree:
    return sure(api.grow(_with(problem, impurity), Context()).tree)
