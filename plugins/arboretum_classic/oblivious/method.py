"""Oblivious trees: one test per level, shared by all nodes of the level."""

import math
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from arboretum.api import (
    Context,
    Facts,
    Problem,
    Solution,
    Status,
    legible,
    param,
)


class ByLevels:
    """A recipe whose growth finds the best test of several nodes at once, or of rows in shares,
    by the kernels of ``levels``.
    """

    name: ClassVar[str]
    kind = "method"
    capabilities = (
        "classification",
        "regression",
        "multiclass",
        "weights",
        "missing",
        "prices",
        "multiway",
        "thresholds",
        "anytime",
    )
    needs = ("criterion",)
    by_node = False

    if TYPE_CHECKING:

        def fit(self, problem: Problem, context: Context) -> Solution:
            """The tree."""

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels on some of the objects."""
        from arboretum_classic.oblivious.levels import small_problem

        context.progress(0, None, f"loading the kernels of {self.name}")
        self.fit(small_problem(problem), Context())


@attrs.frozen
class Oblivious(ByLevels):
    """Grow an oblivious tree: the test of a level is the best by the summed score over all of its
    nodes.

    k levels make up to 2^k leaves; an outcome without rows has no branch, and a row that comes
    there later is predicted by the node.  Where the criterion says ``adds_over_nodes`` (reduction)
    scores are summed as they are, else weighted by the nodes' shares of the mass.  A node at which
    a test has one outcome adds nothing; one that a leaf rule settles has no say, and is divided
    with the others.  ``min_leaf`` and ``min_mass`` hold in every branch of every node that receives
    any row.  Rows without a value follow one outcome, the better for the level (multiway: the
    heaviest).
    """

    name = "level_by_level"
    paper = "Kohavi 1994"

    levels: int = param(
        6,
        "tests that a row is asked, at most; stopping.standard.max_depth can ask for less",
        ge=0,
        le=64,
        unit="tests",
    )

    def fit(self, problem: Problem, context: Context) -> Solution:
        """Grow level by level; return the tree as feasible, its value and lower bound NaN.

        There are at most ``levels`` levels, or ``max_depth`` of the stopping rules if that is less;
        test and score of each are in the notes and in ``details["levels"]``.  ``finished`` is False
        where the deadline cut growth short.  Raises CapabilityError for what
        :func:`~arboretum_classic.oblivious.levels.refuse_parts` names, such as coverages and
        predicates.
        """
        from arboretum.api import to_tree
        from arboretum_classic.oblivious.growth import ObliviousGrowth

        growth: Any = ObliviousGrowth.of(problem, context, False)
        most = min(
            self.levels,
            growth.limits.max_depth if growth.limits.max_depth is not None else self.levels,
        )
        adds_up = bool(getattr(problem.parts.criterion, "adds_over_nodes", False))
        tree = to_tree(growth.run(most, adds_up), problem.objects, growth.space.statistics)
        tests = legible([test for test, _ in growth.levels], problem.objects.table)
        levels: list[Facts] = [
            {"test": test.describe(), "score": score}
            for test, (_, score) in zip(tests, growth.levels, strict=True)
        ]
        how = "" if adds_up else ", scores weighted by mass"
        notes = [
            f"level {k}: {one['test']}, score {one['score']:.4g}{how}"
            for k, one in enumerate(levels, 1)
        ]
        notes += growth.notes("breadth", False)
        details = {"levels": levels}
        return Solution(
            tree,
            math.nan,
            math.nan,
            Status.feasible,
            len(levels),
            not growth.stopped,
            notes=tuple(notes),
            details=details,
        )
