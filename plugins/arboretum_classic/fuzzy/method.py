"""Fuzzy trees: a row near a threshold goes down both branches, in shares."""

from __future__ import annotations

import enum
import math
from typing import Any

import attrs

from arboretum.api import Context, Problem, Solution, Status, param
from arboretum_classic.fuzzy.rule import Shape
from arboretum_classic.oblivious.method import ByLevels


class Order(enum.Enum):
    """In which order nodes are divided."""

    depth = "depth"
    breadth = "breadth"
    best = "best"


@attrs.frozen
class SoftSplits(ByLevels):
    """Grow a tree of fuzzy thresholds: a row counts in every branch by the product of its shares,
    and is predicted by the mean of its leaves.

    At a node the threshold is the crisp one that the criterion scores highest on the rows' shares;
    then its width is given or learned (Olaru & Wehenkel 2003): of 0 and ``GRID`` standard
    deviations of the column the one whose two branches together predict the target with the least
    squared error.  Categories, ordered ones too, are asked crisply.  A row without a value goes
    every way, by the branches' weights.
    """

    name = "soft_splits"
    paper = "Olaru & Wehenkel 2003"

    order: Order = param(Order.depth, "which node is split next; best spends max_leaves by gain")
    shape: Shape = param(Shape.linear, "how shares change around a threshold: linear or logistic")
    width: float | None = param(
        None,
        "of every threshold, in standard deviations of its column; 0: a crisp tree; None: "
        "learned at each",
        ge=0.0,
        lt=math.inf,
    )
    widths: dict[str, float] = param(
        attrs.Factory(dict),
        "column of numbers → width of its thresholds in the column's own unit",
        ge=0.0,
        lt=math.inf,
    )

    @property
    def fuzzy(self) -> bool:
        """Whether any threshold may have a width."""
        return self.width != 0.0 or any(self.widths.values())

    def fit(self, problem: Problem, context: Context) -> Solution:
        """Grow a fuzzy tree; return it as feasible, its value and lower bound NaN.

        ``finished`` is False where the deadline cut growth short.  Raises CapabilityError for what
        :func:`~arboretum_classic.oblivious.levels.refuse_parts` names, such as coverages and
        predicates;
        DataError where ``widths`` names no raw column of numbers.
        """
        from arboretum.api import to_tree
        from arboretum_classic.fuzzy.growth import FuzzyGrowth

        growth: Any = FuzzyGrowth.of(problem, context, False, self.order.value)
        growth.prepare(self)
        tree = to_tree(growth.run(self.order.value), problem.objects, growth.space.statistics)
        notes = growth.notes(self.order.value, False)
        return Solution(
            tree,
            math.nan,
            math.nan,
            Status.feasible,
            growth.expanded,
            not growth.stopped,
            notes=notes,
        )
