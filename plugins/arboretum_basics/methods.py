"""The two open recipes (everything else about a method is the choice of its parts), and what
becomes of a row without a value.
"""

import enum
from collections.abc import Sequence
from contextlib import suppress

import attrs
import numpy as np

from arboretum.api import ConfigError, Context, OutOfTime, Problem, Solution, best_leaf, param


class Order(enum.Enum):
    """In which order nodes are split."""

    depth = "depth"
    breadth = "breadth"
    best = "best"


@attrs.frozen
class Greedy:
    """Grow a tree top-down: at each node the test that the criterion scores highest."""

    kind = "method"
    name = "greedy"
    paper = ""
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
    asks_missing = True
    asks_rows = True

    order: Order = param(Order.depth, "which node is split next; best spends max_leaves by gain")
    allow_constant: bool = param(False, "let tests compete that send every object the same way")
    max_features: int | None = param(
        None, "columns that compete at a node, drawn anew at each by the seed; all by default", ge=1
    )
    increasing: tuple[str, ...] = param(
        (), "columns of numbers in which predictions must not fall", converter=tuple
    )
    decreasing: tuple[str, ...] = param(
        (), "columns of numbers in which predictions must not rise", converter=tuple
    )

    def fit(self, problem: Problem, context: Context) -> Solution:
        """Return the greedy tree of the run's criterion; where the budget of seconds ends, open
        nodes become leaves, and the solution is not ``finished``.
        """
        from arboretum.api import grow

        return grow(
            problem,
            context,
            order=self.order.value,
            allow_constant=self.allow_constant,
            max_features=self.max_features,
            increasing=self.increasing,
            decreasing=self.decreasing,
        )

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels that :meth:`fit` will use."""
        from arboretum.api import warm_up

        warm_up(problem, lambda message: context.progress(0, None, message))


@attrs.frozen
class Exact:
    """Ask a solver for the optimum of an objective, with proof."""

    kind = "method"
    name = "exact"
    paper = ""
    capabilities = (
        "classification",
        "regression",
        "multiclass",
        "weights",
        "prices",
        "multiway",
        "exact",
        "anytime",
    )
    needs = ("solver",)
    example = "dataset=play-tennis"

    def fit(self, problem: Problem, context: Context) -> Solution:
        """Return what the run's solver finds; the best leaf where seconds ran out, or somebody
        interrupted, before it had anything to keep.

        Raises ConfigError without a solver; OutOfTime, or KeyboardInterrupt, where no leaf can
        stand in: without an objective, or for a complexity.
        """
        if problem.parts.solver is None:
            raise ConfigError(
                "method exact needs a solver; add solver=NAME (arboretum plugins lists them)"
            )
        try:
            return problem.parts.solver.solve(problem, context)
        except OutOfTime as why:
            return best_leaf(problem, why)
        except KeyboardInterrupt as why:  # before a solver had anything to keep
            return attrs.evolve(
                best_leaf(problem, why),
                details={"interrupted": (*why.args, True)[0]},
                notes=("interrupted before the search began; the tree is the best leaf",),
            )

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Let the solver load its kernels, so that none of the budget goes into compilation."""
        solver = problem.parts.solver
        if solver is not None and hasattr(solver, "warm_up"):
            with suppress(OutOfTime):  # which it is then, too
                solver.warm_up(problem, context)


@attrs.frozen
class BetterSide:
    """A two-way test tries them in either outcome and keeps the better; a multiway test has them
    in its heaviest.
    """

    kind = "missing"
    name = "better_side"
    paper = ""
    capabilities = ()
    counted, discounted, kernel = True, False, "better_side"

    def placements(self, known: np.ndarray) -> Sequence[int]:
        """Outcomes 0 and 1 of a two-way test, else the heaviest outcome, the first of equals."""
        return (0, 1) if len(known) == 2 else (int(np.argmax(known)),)
