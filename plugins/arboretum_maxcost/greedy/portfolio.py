"""Several impurities, one tree: the best of what they grow within the run's limits (section 5,
the best curve of several impurities).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    Context,
    Problem,
    Solution,
    param,
    sure,
)
from arboretum_maxcost.greedy.exact import error_and_costs_of
from arboretum_maxcost.greedy.impurities import HingedPairs, Powers

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity


GROWS = (
    "classification",
    "multiclass",
    "weights",
    "missing",
    "prices",
    "multiway",
    "thresholds",
    "anytime",
)
"""Capabilities of methods that grow greedy trees of classes."""


@attrs.frozen
class BestOf:
    """Grow a greedy tree for each of several impurities and keep the best: least training error,
    then least max cost, then expected cost.

    They are the run's own impurity, powers, and hinged pairs; criterion and stopping rules are the
    run's.  Within ``stopping=[max_cost]`` this is the least error that any of them reaches at the
    budget, without a limit the least max cost without error.  A budget that runs out leaves the
    best so far.
    """

    kind = "method"
    name = "best_of"
    paper = "Nan, Wang & Saligrama 2015, section 5"
    capabilities = GROWS
    needs = ("criterion", "impurity")
    example = "dataset=dfep-synthetic criterion=worst_case impurity=pairs"

    powers: tuple[int, ...] = param((2, 3, 4, 5), "exponents l of powers", converter=tuple)
    epsilons: tuple[float, ...] = param(
        (0.0, 0.005, 0.01, 0.02, 0.05, 0.1),
        "α of hinged pairs, as shares",
        converter=tuple,
        unit="share of the total weight",
    )

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for a power or a share that no impurity takes."""
        for field, values, of in (
            ("powers", self.powers, lambda l: Powers(l=l)),
            ("epsilons", self.epsilons, lambda e: HingedPairs(epsilon=e)),
        ):
            for value in values:
                try:
                    of(value)
                except (TypeError, ValueError) as error:
                    raise ValueError(f"method.{field}: {str(error).partition(' ')[2]}") from None

    def impurities_tried(self, own: Impurity) -> list[Impurity]:
        """Return the impurities that are tried: ``own``, the run's, first."""
        return [
            own,
            *(Powers(l=l) for l in self.powers),
            *(HingedPairs(epsilon=share) for share in self.epsilons),
        ]

    def problems_tried(self, problem: Problem) -> Iterator[tuple[str, Problem]]:
        """Yield the name of each impurity, and the run's problem with it."""
        for impurity in self.impurities_tried(sure(problem.parts.impurity)):
            fields = ", ".join(
                f"{key}={value:g}"
                for key, value in attrs.asdict(impurity).items()
                if key in ("l", "epsilon") and value is not None
            )
            parts = attrs.evolve(problem.parts, impurity=impurity)
            yield (
                impurity.name + (f" ({fields})" if fields else ""),
                attrs.evolve(problem, parts=parts),
            )

    def fit(self, problem: Problem, context: Context) -> Solution:
        """Grow a tree for each impurity, and return the first of least (training error, max cost,
        expected cost); notes tell those of the others.

        Where the budget ends a growth, later impurities are not tried.
        """
        from arboretum.api import grow

        found: dict[str, tuple[tuple[Fraction, Fraction, Fraction], Solution]] = {}
        for name, one in self.problems_tried(problem):
            solution = grow(one, context)
            found[name] = error_and_costs_of(sure(solution.tree), problem.objects), solution
            if not solution.finished:
                break
        name = min(found, key=lambda each: found[each][0])  # the first of equals
        (error, most, mean), best = tuple(map(float, found[name][0])), found[name][1]
        kept = (
            f"of {len(found)} impurities {name} is kept: training error {error:.4g}, max cost "
            f"{most:g}, expected cost {mean:.4g}"
        )
        others = "; ".join(
            f"{each} {float(e):.4g} at {float(m):g}"
            for each, ((e, m, _), _) in found.items()
            if each != name
        )
        notes = (
            (*best.notes, kept, f"the others, error at max cost: {others}")
            if others
            else (*best.notes, kept)
        )
        tree, own = sure(best.tree), problem.parts.impurity
        # verification knows the run's impurity, and scores of that alone
        if name != next(iter(found)):
            tree = attrs.evolve(
                tree,
                impurity=sure(own).value(tree.weights),
                score=np.full(tree.n_nodes, np.nan),
            )
        finished = all(solution.finished for _, solution in found.values())
        return attrs.evolve(
            best,
            tree=tree,
            finished=finished,
            subproblems=sum(each.subproblems for _, each in found.values()),
            notes=notes,
        )

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels of every impurity."""
        from arboretum.api import warm_up

        for _, one in self.problems_tried(problem):
            warm_up(one, lambda message: context.progress(0, None, message))
