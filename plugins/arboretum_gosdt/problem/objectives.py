"""Additive objectives: a loss that is a sum over objects, λ per leaf, μ per unit of price.

All numbers are known exactly: a weight, a cost, λ and μ are the decimals that were written down
(0.1 is one tenth), so that solvers work with integers.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import attrs
import numpy as np

from arboretum.api import COSTS, AdditiveObjective, CapabilityError, Problem, decimal, param

PAPER = "Lin, Zhong, Hu, Rudin & Seltzer 2020, section 2"


@attrs.frozen
class Additive(AdditiveObjective):
    """An additive objective of the paper."""

    paper = PAPER
    example = "dataset=monk1-full method=gosdt"


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


@attrs.frozen
class InstanceCost(Additive):
    """Mean cost of the answers where each row has its own, + λ · leaves.

    ``dataset.costs={LABEL: COLUMN, …}`` names a column of costs for each label; a cost below 0 is a
    gain.
    """

    name = "instance_cost"
    paper = "Elkan 2001"
    reads = (COSTS,)
    linear_in_roles = True
    example = "dataset=loans method=gosdt encoder=bins stopping.standard.max_depth=3"

    def costs(self, problem: Problem) -> np.ndarray:
        """Return float64[objects, labels], the columns of costs."""
        return problem.objects.role(COSTS)
