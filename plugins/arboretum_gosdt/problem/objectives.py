"""Additive objectives: a loss that is a sum over objects, λ per leaf, μ per unit of price.

All numbers are known exactly: a weight, a cost, λ and μ are the decimals that were written down
(0.1 is one tenth), so that solvers work with integers.
"""

import enum
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np

from arboretum.api import CapabilityError, Encoded, Problem, Tree, decimal, param, whole_numbers

PAPER = "Lin, Zhong, Hu, Rudin & Seltzer 2020, section 2"


class Price(enum.Enum):
    """Which price of a tree counts."""

    expected = "expected"
    max = "max"


def exact_weights(weight: np.ndarray) -> tuple[np.ndarray, Fraction, Fraction]:
    """Return weights as whole numbers: mass, unit and error, so that weight = mass · unit.

    mass : int64[n] without a common divisor.
    error : by how much mass · unit may be off, less than 2^-33 of the mean weight; 0 unless
        decimals have too many digits.
    """
    if found := whole_numbers(weight):
        return *found, Fraction(0)
    unit = Fraction(float(weight.mean())) / (1 << max(0, min(34, 52 - len(weight).bit_length())))
    mass = np.rint(weight / float(unit)).astype(np.int64)
    shared = int(np.gcd.reduce(mass)) or 1
    return mass // shared, unit * shared, unit


def class_totals(objects: Encoded, mass: np.ndarray, unit: Fraction) -> list[Fraction]:
    """Return the weight of each class, exactly.

    mass, unit : of :func:`exact_weights`.
    """
    total = np.bincount(objects.label, mass, objects.n_classes)  # sums of whole numbers below 2^53
    return [Fraction(int(one)) if unit == 1 else int(one) * unit for one in total.tolist()]


@attrs.frozen
class Additive:
    """Loss + λ · leaves + μ · price; subclasses say what an error costs."""

    kind = "objective"
    paper = PAPER
    capabilities: ClassVar[tuple[str, ...]] = ("classification", "multiclass", "weights", "prices")
    shape = "additive"
    example = "dataset=monk1-full method=gosdt"

    lam: float = param(
        0.01,
        "λ, what a leaf costs: a split stays where it lowers the loss by more (0.01: one row "
        "in a hundred)",
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
        return [Fraction(1) / sum(weights)] * len(weights)

    def errors(self, n_classes: int) -> Sequence[Sequence[Fraction | int]]:
        """errors[y][k] : cost of saying k of an object of class y; an error costs 1."""
        return [[int(k != y) for k in range(n_classes)] for y in range(n_classes)]

    def label_costs(self, weights: np.ndarray, problem: Problem) -> np.ndarray:
        """Return float64[nodes, classes]: the loss of nodes by the class they predict.

        weights : float64[nodes, classes], of the nodes; what the classes weigh in all is the
            problem's.
        """
        mass, unit, _ = exact_weights(problem.objects.weight)
        factors = self.factors(class_totals(problem.objects, mass, unit))
        errors = self.errors(weights.shape[1])
        found: np.ndarray = weights @ np.array(
            [
                [float(factor * one) if one else 0.0 for one in row]
                for factor, row in zip(factors, errors, strict=True)
            ]
        )
        return found

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the objective of a tree by the classes that it predicts, in the loss's unit."""
        loss = self.label_costs(tree.resting, problem)[np.arange(tree.n_nodes), tree.label].sum()
        test_cost = 0.0
        if self.mu > 0:
            to = tree.price_to + tree.price
            test_cost = (
                to[tree.is_end].max()
                if self.price is Price.max
                else float(tree.resting.sum(axis=1) @ to) / float(tree.mass[0])
            )
        return float(loss + self.lam * int(tree.is_end.sum()) + self.mu * test_cost)


@attrs.frozen
class Accuracy(Additive):
    """Share of the weight that is misclassified, + λ · leaves."""

    name = "accuracy"


@attrs.frozen
class Balanced(Additive):
    """Mean over the classes of the share of the class that is misclassified, + λ · leaves.

    With two classes ½ (FN / N⁺ + FP / N⁻).  Classes without weight do not count.
    """

    name = "balanced"

    def factors(self, weights: Sequence[Fraction]) -> Sequence[Fraction]:
        """1 / (k · N_c) for a class of weight N_c, k being the number of classes that have any; 0
        for a class without weight.
        """
        present = sum(weight > 0 for weight in weights)
        return [Fraction(1) / (present * weight) if weight else Fraction(0) for weight in weights]


@attrs.frozen
class Weighted(Additive):
    """(FP + ω FN) / (ω N⁺ + N⁻), + λ · leaves; the second class is the positive one.

    ω > 1 punishes misses; ``dataset.positive=CLASS`` says which class is positive.  More than two
    classes: ``cost_matrix``.
    """

    name = "weighted"
    capabilities = ("classification", "weights", "prices")

    omega: float = param(
        2.0, "ω, what a missed positive costs against a false alarm", gt=0.0, lt=math.inf
    )

    def factors(self, weights: Sequence[Fraction]) -> Sequence[Fraction]:
        """1 / (ω N⁺ + N⁻) for an error on the first class, a false alarm, and ω times that for one
        on the second, a missed positive.
        """
        # rows of an estimator may have one class
        each = [Fraction(1), decimal(self.omega)][: len(weights)]
        total = sum(factor * weight for factor, weight in zip(each, weights, strict=True))
        return [factor / total for factor in each]


@attrs.frozen
class CostMatrix(Additive):
    """Mean cost of the answers by a table of costs, + λ · leaves.

    ``costs=[[0,1],[5,0]]``: a row per true class and a column per predicted one, in the order of
    the classes; nothing: every error costs 1.
    """

    name = "cost_matrix"

    table: tuple[tuple[float, ...], ...] = param(
        (),
        "costs[true][predicted] ≥ 0, by the order of the classes",
        alias="costs",
        converter=lambda rows: tuple(map(tuple, rows)),
    )

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for a table that is not square, or a cost that is negative or not
        finite.
        """
        for row in self.table:
            if len(row) != len(self.table):
                raise ValueError(
                    f"objective.costs must have as many columns as rows; got {len(row)} in a "
                    f"table of {len(self.table)}"
                )
            if not all(0 <= cost < math.inf for cost in row):
                raise ValueError(f"objective.costs must be finite numbers ≥ 0; got {list(row)}")

    def errors(self, n_classes: int) -> Sequence[Sequence[Fraction | int]]:
        """errors[y][k] of the table, as the decimals that were written; without a table every error
        costs 1.

        Raises CapabilityError where the table is for another number of classes.
        """
        if not self.table:
            return super().errors(n_classes)
        if len(self.table) != n_classes:
            got = (
                f"objective.costs is a table for {len(self.table)} classes, but there are "
                f"{n_classes}"
            )
            raise CapabilityError(f"{got}; give it a row per class")
        return [[decimal(cost) for cost in row] for row in self.table]
