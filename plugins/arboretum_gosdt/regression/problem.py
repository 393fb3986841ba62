"""A regression problem in whole numbers, absolute errors, and trees."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    WHOLE,
    CapabilityError,
    Problem,
    Tree,
    exact_weights,
    param,
    whole_numbers,
)

if TYPE_CHECKING:
    from arboretum_gosdt.problem.prepared import Tests

MOST_WEIGHT = 1 << 31
"""All weights in their common unit stay below."""


@attrs.frozen
class AbsoluteDeviation:
    """Σ w |y − leaf's median|, as a share of what a single leaf leaves, + λ · leaves."""

    kind = "objective"
    name = "absolute_error"
    paper = "Zhang, Xin, Seltzer & Rudin 2023"
    capabilities = ("regression", "weights")
    shape = "deviation"
    example = "dataset=diabetes encoder=bins method=regression stopping.standard.max_depth=3"

    lam: float = param(
        0.01,
        "λ, what a leaf costs (0.01: a split stays where it explains more than a hundredth "
        "of the deviation)",
        ge=0.0,
        lt=math.inf,
    )

    def leaf_value(self, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the weighted median (the middle of the two, where half of the weight lies on
        either side).
        """
        order = np.argsort(y, kind="stable")
        below, y = np.cumsum(weight[order]), y[order]
        i, half = int(np.searchsorted(below, below[-1] / 2)), below[-1] / 2
        return float(y[i] if below[i] != half else (y[i] + y[i + 1]) / 2)

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the objective of what the tree predicts; a target that is everywhere the same
        leaves nothing to explain.
        """
        objects = problem.objects
        y, weight = objects.y, objects.weight
        said = tree.predict(objects.table)[objects.row_of_object]
        whole = float(weight @ np.abs(y - self.leaf_value(y, weight)))
        left = float(weight @ np.abs(y - said)) / whole if whole else 0.0
        return left + self.lam * int(tree.is_end.sum())


def is_absolute(objective: object) -> bool:
    """Return whether errors are absolute, else squared."""
    return isinstance(objective, AbsoluteDeviation)


def squares_of(
    total: np.ndarray, weight: np.ndarray
) -> tuple[list[Fraction], np.ndarray, Fraction]:
    """Return the distinct total² / weight of int64[n] each, which of them each is, and the sum of
    all n.
    """
    kinds, of, many = np.unique(
        np.column_stack([total, weight]), axis=0, return_inverse=True, return_counts=True
    )
    each = [Fraction(s * s, w) for s, w in kinds.tolist()]
    return (
        each,
        of.ravel(),
        sum((one * n for one, n in zip(each, many.tolist(), strict=True)), Fraction(0)),
    )


def deviation_from_median(total: np.ndarray, weight: np.ndarray) -> int:
    """Return Σ w |y − median| of sorted objects.

    total, weight : int64[objects], Σ w y and Σ w of each.
    """
    y, below = total // weight, np.cumsum(weight)
    half = y[np.searchsorted(below, below[-1] / 2)]
    return int((weight * np.abs(y - half)).sum())


def deviations_of_all(
    mass: np.ndarray, target: np.ndarray, weight: np.ndarray, total: np.ndarray, absolute: bool
) -> tuple[Fraction, Fraction]:
    """Return the deviation of all objects from one leaf's value, and that within equal rows, which
    every tree has and the search leaves out.

    mass, target : int64[objects].
    weight, total : int64[merged objects], Σ w and Σ w y of each.
    absolute : whether deviations are absolute: merged objects have one target each then, and
        nothing is left out; else they are squares.
    """
    if absolute:
        order = np.argsort(target, kind="stable")
        return Fraction(deviation_from_median((mass * target)[order], mass[order])), Fraction(0)
    squares = squares_of(mass * target, mass)[2]
    return (
        squares - Fraction(int(total.sum()) ** 2, int(weight.sum())),
        squares - squares_of(total, weight)[2],
    )


def change_by_rounding(mass: np.ndarray, target: np.ndarray, off: float, absolute: bool) -> float:
    """Return by how much the deviation of a tree, or of one leaf, changes at most where targets are
    off by ``off``: as much per weight, or times twice the range where deviations are squares.
    """
    span = 1.0 if absolute else 2 * float(target.max() - target.min()) + off
    return off * int(mass.sum()) * span


def whole_weights(weight: np.ndarray) -> np.ndarray:
    """Return weights in their common unit, int64[n].  Raises CapabilityError where all together
    reach MOST_WEIGHT.
    """
    mass, _, error = exact_weights(weight)
    if error or mass.sum() >= MOST_WEIGHT:
        raise CapabilityError(
            "solver regression counts weights exactly, and these have too many digits; "
            "round them to fewer"
        )
    return mass


def round_targets(y: np.ndarray, mass: int) -> tuple[np.ndarray, float]:
    """Return the targets as whole numbers of some unit, less a constant, int64[n], and by how much
    of the unit they may be off: 0 where their decimals are few.

    y : float64[n].
    mass : of all objects together, so that sums of mass · target stay below WHOLE.
    """
    if found := whole_numbers(y, math.inf):
        exact = found[0] - int(found[0].sum() // len(y))
        if int(np.abs(exact).max()) * mass < WHOLE:
            return exact, 0.0
    middle, spread = float(y.min() + y.max()) / 2, float(y.max() - y.min())
    if not spread:
        return np.zeros(len(y), np.int64), 0.0
    unit = spread * mass / (1 << 51)
    return np.rint((y - middle) / unit).astype(np.int64), 0.5 + 4 * float(
        np.abs(y).max()
    ) * 2.0**-52 / unit


def regression_tree(problem: Problem, tests: Tests, nodes: np.ndarray) -> Tree:
    """Return a tree with the value that the objective asks of every leaf: its median, or mean.

    nodes : int64[nodes, 3], as :func:`arboretum_gosdt.problem.trees.build_tree` reads them.
    """
    from arboretum_gosdt.problem.trees import build_tree_of_numbers

    objects = problem.objects
    of_leaf = getattr(problem.parts.objective, "leaf_value", _mean)
    return build_tree_of_numbers(
        problem, tests, nodes, lambda rows: of_leaf(objects.y[rows], objects.weight[rows])
    )


def _mean(y: np.ndarray, weight: np.ndarray) -> float:
    return float(np.average(y, weights=weight))
