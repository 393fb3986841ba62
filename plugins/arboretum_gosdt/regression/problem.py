"""A regression problem in whole numbers, its objectives and its trees."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np

from arboretum.api import (
    WHOLE,
    CapabilityError,
    Problem,
    Tree,
    exact_weights,
    param,
    two_way_order,
    two_way_tree,
    whole_numbers,
)

if TYPE_CHECKING:
    from arboretum_gosdt.problem.prepared import Tests

MOST_WEIGHT = 1 << 31
"""All weights in their common unit stay below."""


@attrs.frozen
class SquaredError:
    """Σ w (y − leaf's mean)², as a share of what a single leaf leaves (1 − R²), + λ · leaves."""

    kind = "objective"
    name = "squared_error"
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
        """What a leaf predicts."""
        return float(np.average(y, weights=weight))

    def deviation(self, y: np.ndarray, said: Any, weight: np.ndarray) -> float:
        """Σ w (y − said)², in squares of the target's unit.

        y, weight : float64[n].
        said : a number, or float64[n].
        """
        return float(weight @ (y - said) ** 2)

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the objective of what the tree predicts; a target that is everywhere the same
        leaves nothing to explain.
        """
        objects = problem.objects
        said = tree.predict(objects.table)[objects.row_of_object]
        whole = self.leaf_value(objects.y, objects.weight)
        share = 0.0 if (objects.y == objects.y[0]).all() else 1.0
        if share:
            share = self.deviation(objects.y, said, objects.weight) / self.deviation(
                objects.y, whole, objects.weight
            )
        return share + self.lam * int(tree.is_end.sum())


@attrs.frozen
class AbsoluteDeviation(SquaredError):
    """Σ w |y − leaf's median|, as a share of what a single leaf leaves, + λ · leaves."""

    name = "absolute_error"

    def leaf_value(self, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the weighted median (the middle of the two, where half of the weight lies on
        either side).
        """
        order = np.argsort(y, kind="stable")
        below, y = np.cumsum(weight[order]), y[order]
        i, half = int(np.searchsorted(below, below[-1] / 2)), below[-1] / 2
        return float(y[i] if below[i] != half else (y[i] + y[i + 1]) / 2)

    def deviation(self, y: np.ndarray, said: Any, weight: np.ndarray) -> float:
        """Σ w |y − said|, in the target's unit.

        y, weight : float64[n].
        said : a number, or float64[n].
        """
        return float(weight @ np.abs(y - said))


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
    unit = spread * mass / (1 << 51)
    return np.rint((y - middle) / unit).astype(np.int64), 0.5 + 4 * float(
        np.abs(y).max()
    ) * 2.0**-52 / unit


def regression_tree(problem: Problem, tests: Tests, nodes: np.ndarray) -> Tree:
    """Return a tree with the value that the objective asks of every leaf.

    nodes : int64[nodes, 3], (test or −1 at a leaf, node of outcome 1, node of outcome 0), root
        first.
    """
    objects, objective = problem.objects, cast(SquaredError, problem.parts.objective)
    nodes = two_way_order(nodes)
    weights = np.zeros((len(nodes), 3))
    counts = np.zeros(len(nodes))
    value = np.zeros(len(nodes))
    at = {0: np.arange(objects.n_objects)}
    for v, (test, one, rest) in enumerate(nodes.tolist()):
        rows = at.pop(v)
        y, w = objects.y[rows], objects.weight[rows]
        weights[v] = [w.sum(), w @ y, w @ y**2]
        counts[v] = objects.count[rows].sum()
        value[v] = objective.leaf_value(y, w)
        if test >= 0:
            mine = tests.outcome(test, rows)
            at[one], at[rest] = rows[mine], rows[~mine]
    return two_way_tree(
        objects,
        nodes,
        tests.rule,
        tests.price,
        (weights, counts, np.zeros(len(nodes), np.int64), value),
    )
