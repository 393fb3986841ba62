"""Additive objectives: a loss that is a sum over objects, λ per leaf, μ per unit of price.

All numbers are known exactly: a weight, a cost, λ and μ are the decimals that were written down (0.1 is one tenth), so that
solvers work with integers.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np

from arboretum.api import CapabilityError, Encoded, Problem, Tree, param

PAPER = "Lin, Zhong, Hu, Rudin & Seltzer 2020, section 2"
Costs = Sequence[Sequence[Fraction]]
"""costs[y][k]: what one unit of weight of class y adds to the loss where its leaf says k."""


class Price(enum.Enum):
    """Which price of a tree counts."""

    expected = "expected"
    max = "max"


def decimal(number: float) -> Fraction:
    """The number as it is written, not as it is stored: 0.1 is 1/10."""
    return Fraction(repr(float(number)))


def class_weights(objects: Encoded) -> list[Fraction]:
    """Weight of each class, as the sum of decimals."""
    total = [Fraction(0)] * objects.n_classes
    for k in range(objects.n_classes):
        weight, times = np.unique(objects.weight[objects.label == k], return_counts=True)
        total[k] = sum((decimal(w) * n for w, n in zip(weight.tolist(), times.tolist(), strict=True)), Fraction(0))
    return total


@attrs.frozen
class Additive:
    """Loss + λ · leaves + μ · price; subclasses say what an error costs."""

    kind: ClassVar[str] = "objective"
    paper: ClassVar[str] = PAPER
    capabilities: ClassVar[tuple] = ("classification", "multiclass", "weights", "prices")
    shape: ClassVar[str] = "additive"
    example: ClassVar[str] = "dataset=monk1-full method=gosdt"

    lam: float = param(
        0.01, "λ, what a leaf costs: a split stays where it lowers the loss by more (0.01: one row in a hundred)", ge=0.0, lt=math.inf
    )
    mu: float = param(0.0, "μ, what a unit of price costs; 0: prices do not count", ge=0.0, lt=math.inf)
    price: Price = param(Price.expected, "which price of the tree counts: expected (mean over the weight) or max (the dearest path)")

    def costs_of(self, weights: Sequence[Fraction]) -> Costs:
        """What an error costs, per unit of weight.   weights : of the classes."""
        raise NotImplementedError

    def costs(self, problem: Problem) -> Costs:
        """The same, for the problem's objects."""
        return self.costs_of(class_weights(problem.objects))

    def label_costs(self, weights: np.ndarray, problem: Problem) -> np.ndarray:
        """float64[nodes, classes]: the loss of nodes with these class weights, by the class they predict."""
        return weights @ np.array([[float(cost) for cost in row] for row in self.costs(problem)])

    def value(self, tree: Tree, problem: Problem) -> float:
        """The objective of a tree by the classes that it predicts, in the unit of the loss."""
        rest = tree.weights.copy()  # what stops at each node: all of a leaf, nothing of most inner nodes
        np.subtract.at(rest, tree.parent[1:], tree.weights[1:])
        rest[~tree.is_leaf & (np.abs(rest) <= 1e-12 * tree.weights).all(axis=1)] = 0.0
        loss = self.label_costs(rest, problem)[np.arange(tree.n_nodes), tree.label].sum()
        paid = 0.0
        if self.mu > 0:
            to = tree.price_to + tree.price
            paid = to[tree.is_leaf].max() if self.price is Price.max else float(rest.sum(axis=1) @ to) / float(tree.mass[0])
        return float(loss + self.lam * tree.n_leaves + self.mu * paid)


@attrs.frozen
class Accuracy(Additive):
    """Share of the weight that is misclassified, + λ · leaves."""

    name = "accuracy"

    def costs_of(self, weights: Sequence[Fraction]) -> Costs:
        total = sum(weights)
        return _off_diagonal([Fraction(1) / total] * len(weights))


@attrs.frozen
class Balanced(Additive):
    """Mean over the classes of the share of the class that is misclassified, + λ · leaves.

    With two classes ½ (FN / N⁺ + FP / N⁻).  Classes without weight do not count.
    """

    name = "balanced"

    def costs_of(self, weights: Sequence[Fraction]) -> Costs:
        present = sum(weight > 0 for weight in weights)
        return _off_diagonal([Fraction(1) / (present * weight) if weight else Fraction(0) for weight in weights])


@attrs.frozen
class Weighted(Additive):
    """(FP + ω FN) / (ω N⁺ + N⁻), + λ · leaves; the second class is the positive one.

    ω > 1 punishes misses; ``dataset.positive=CLASS`` says which class is positive.  More than two classes: ``cost_matrix``.
    """

    name = "weighted"
    capabilities = ("classification", "weights", "prices")

    omega: float = param(2.0, "ω, what a missed positive costs against a false alarm", gt=0.0, lt=math.inf)

    def costs_of(self, weights: Sequence[Fraction]) -> Costs:
        factors = [Fraction(1), decimal(self.omega)]
        total = sum(factor * weight for factor, weight in zip(factors, weights, strict=True))
        return _off_diagonal([factor / total for factor in factors])


@attrs.frozen
class CostMatrix(Additive):
    """Mean cost of the answers by a table of costs, + λ · leaves.

    ``costs=[[0,1],[5,0]]``: a row per true class and a column per predicted one, in the order of the classes; nothing: every
    error costs 1.
    """

    name = "cost_matrix"

    table: tuple[tuple[float, ...], ...] = param((), "costs[true][predicted] ≥ 0, by the order of the classes", alias="costs", converter=lambda rows: tuple(map(tuple, rows)))  # fmt: skip

    def __attrs_post_init__(self) -> None:
        for row in self.table:
            if len(row) != len(self.table):
                raise ValueError(f"objective.costs must have as many columns as rows; got {len(row)} in a table of {len(self.table)}")
            if not all(0 <= cost < math.inf for cost in row):
                raise ValueError(f"objective.costs must be finite numbers ≥ 0; got {list(row)}")

    def costs_of(self, weights: Sequence[Fraction]) -> Costs:
        total, n = sum(weights), len(weights)
        if not self.table:
            return _off_diagonal([Fraction(1) / total] * n)
        if len(self.table) != n:
            raise CapabilityError(f"objective.costs is a table for {len(self.table)} classes, but there are {n}; give it a row per class")
        return [[decimal(cost) / total for cost in row] for row in self.table]


def _off_diagonal(costs: Sequence[Fraction]) -> Costs:
    """An error on class y costs costs[y], whatever was said instead."""
    return [[Fraction(0) if k == y else cost for k in range(len(costs))] for y, cost in enumerate(costs)]
