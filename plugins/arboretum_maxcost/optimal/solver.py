"""Exact trees of bounded price (Nan, Wang & Saligrama): the least maximum path cost, and the least
error within a budget.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    ConfigError,
    Context,
    Ended,
    Form,
    Problem,
    Shape,
    Solution,
    Status,
    Tree,
    few,
    form_of,
    param,
    refuse_unfit,
    shape_of,
    sure,
    unknown,
    value_of,
    within_bytes,
)
from arboretum_maxcost.greedy.guarantee import refute_admissibility
from arboretum_maxcost.optimal.budgeted import find_least_budget, whole_errors_allowed
from arboretum_maxcost.optimal.objectives import MaxCost, TrainingError
from arboretum_maxcost.optimal.search import BOUNDS, EVER, MaxCostSearch
from arboretum_maxcost.optimal.space import Space, space_of

if TYPE_CHECKING:
    from arboretum.interfaces.complexity import Complexity
    from arboretum.interfaces.objective import Objective


DEFAULT_BYTES = 2_000_000_000


@attrs.frozen
class MaxCostSolver:
    """Proven least maximum path cost, or least error among trees whose every path keeps
    within a budget.

    Three questions: ``objective=zero_error complexity=max_cost`` (or depth) with
    ``stopping=[pure]`` or ``[impurity]``; ``objective=max_cost objective.error=0.01``; and
    ``objective=accuracy objective.lam=0`` within ``stopping=[max_cost] stopping.max_cost.limit=B``.
    Depth-first search over tests, with a memory of what is known of every set of objects at every
    budget; all arithmetic on errors and prices is in integers.  Bounds come from admissible
    impurities (Lemma 4.1, made stronger): the run's, where it declares ``admissible``, else pairs.
    """

    kind = "solver"
    name = "max_cost"
    paper = "Nan, Wang & Saligrama 2015, sections 2 and 4"
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "prices",
        "multiway",
        "exact",
        "anytime",
    )
    needs = ("objective",)
    limits = ("max_cost",)
    certifies = ("depth", "max_cost")
    example = "dataset=monk1-full method=max_cost"

    without: tuple[str, ...] = param(
        (),
        "bounds of the search that are not used, which costs time and changes no optimum; a "
        "wrong name lists them",
        converter=tuple,
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError or DataError with the way out."""
        context, objective = self._check_context(context), problem.parts.objective
        if isinstance(objective, MaxCost):
            return self._solve_at_least_budget(
                problem,
                context,
                space_of(problem, without_error=False, context=context),
                lambda space: whole_errors_allowed(space, objective.error),
            )
        shape = shape_of(objective)
        if shape is Shape.complexity:
            return self._solve_without_error(problem, context)
        if isinstance(objective, TrainingError) or (
            shape is Shape.additive
            and getattr(objective, "name", "") == "accuracy"
            and not any(getattr(objective, price) for price in ("lam", "mu"))
        ):
            return self._solve_most_accurate(problem, context)
        raise CapabilityError(
            "solver max_cost knows three questions: objective=zero_error "
            "complexity=max_cost; objective=max_cost objective.error=…; "
            "and objective=accuracy objective.lam=0 with stopping=[max_cost] "
            "stopping.max_cost.limit=…"
        )

    def minima(
        self, problem: Problem, complexities: Sequence[Complexity], context: Context
    ) -> list[Solution]:
        """Return the least maximum path cost, or depth, of trees that obey the leaf rule, for each
        complexity; seconds are shared evenly.
        """
        found, context = [], self._check_context(context)
        for left, complexity in zip(range(len(complexities), 0, -1), complexities, strict=True):
            now = time.monotonic()
            until = (
                None if context.deadline is None else now + max(0.0, context.deadline - now) / left
            )
            one = attrs.evolve(problem, parts=attrs.evolve(problem.parts, complexity=complexity))
            answer = self._solve_without_error(one, attrs.evolve(context, deadline=until))
            found.append(answer.unless_signalled())
        return found

    def least(self, problem: Problem, context: Context) -> tuple[Objective, Solution]:
        """Return the objective that is certified (the run's, without one the training error), and
        its least value within the budget of a path.
        """
        # of the training error its value is all that is asked
        objective = problem.parts.objective or cast("Objective", TrainingError())
        parts = attrs.evolve(problem.parts, objective=objective)
        return objective, self.solve(attrs.evolve(problem, parts=parts), context)

    def _check_context(self, context: Context) -> Context:
        """Return the context with a budget of bytes.  Raises ConfigError for a bound that does not
        exist.
        """
        for name in self.without:
            if name not in BOUNDS:
                raise ConfigError("solver.without: " + unknown("bound", name, BOUNDS))
        return within_bytes(context, DEFAULT_BYTES)

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels on a few of the objects."""
        from arboretum.kernels.solving.fingerprints import rehash

        context.progress(0, None, "loading the kernels of max_cost")
        objects, objective = problem.objects, problem.parts.objective
        refuse_unfit(self.name, objects, problem.prices)
        counting = objective is not None and shape_of(objective) is not Shape.complexity
        small = few(problem, 8)
        search = MaxCostSearch(space_of(small, without_error=not counting), Context())
        search.search_within(EVER // 2, 0)
        search.grow_greedy_tree(EVER)
        search.best_tree(EVER)
        search.bound_loss(0)
        rehash(*np.zeros((2, 2, 2), np.uint64))

    def _solve_without_error(self, problem: Problem, context: Context) -> Solution:
        """Return the tree of least max cost, or depth, among those that obey the leaf rule.  Raises
        CapabilityError for another complexity, and for an impurity that would prove what is false.
        """
        form = form_of(sure(problem.parts.complexity))
        # the last: it counts neither tests nor prices, so every tree costs the same
        if (
            form is None
            or form.combine != "max"
            or form.per_mass
            or attrs.evolve(form, combine="max") == Form(combine="max", leaf=form.leaf)
        ):
            raise CapabilityError(
                "solver max_cost minimises complexity=max_cost or complexity=depth; "
                "solver=subtable_dp knows the others"
            )
        if refuted := refute_admissibility(problem.parts.impurity, problem.objects.n_classes):
            raise CapabilityError(f"solver max_cost would prove what is false: {refuted}")
        space = space_of(problem, without_error=True, priced=form.priced, context=context)

        def value(paid: float) -> float:
            return form.leaf + form.per_node * paid

        return self._solve_at_least_budget(problem, context, space, lambda _: 0, value)

    def _solve_at_least_budget(
        self,
        problem: Problem,
        context: Context,
        space: Space,
        limit: Callable[[Space], int],
        value: Callable[[float], float] = float,
    ) -> Solution:
        """Return the tree of the least budget at which some tree loses at most ``limit``, or a
        solution without a tree where none within the run's limits does.

        limit : whole errors that are allowed, by the space.
        value : of the complexity, by the maximum path cost in the unit of prices.
        """
        top = self._path_budget(problem, space, EVER)
        search = MaxCostSearch(space, context, self.without)
        most = limit(space)
        if most < search.equivalent_loss:
            loss = float(search.equivalent_loss * space.unit)
            wrong = f"{loss:g} of {float(space.total * space.unit):g}"
            return self._infeasible_solution(
                search,
                f"every tree misclassifies {wrong}, of objects with the same values as others "
                "of another class",
            )
        search.report = lambda low, up: context.proven(
            value(float(low * space.coin)), value(float(up * space.coin)) if up < EVER else math.inf
        )
        low, path_cost = find_least_budget(search, most, top)
        if path_cost == EVER:
            return self._infeasible_solution(
                search, "no tree keeps within the limits and errs so little"
            )
        tree = search.best_tree(path_cost)
        parts = problem.parts
        found = (
            parts.objective.value(tree, problem)
            if isinstance(parts.objective, MaxCost)
            else value_of(sure(parts.complexity), tree)
        )
        return self._make_solution(
            search, tree, found, value(float(low * space.coin)), low == path_cost
        )

    def _solve_most_accurate(self, problem: Problem, context: Context) -> Solution:
        """Return the tree of least error within the run's budget of a path, which must be given."""
        space = space_of(problem, without_error=False, context=context)
        top = self._path_budget(problem, space, None)
        search, share = MaxCostSearch(space, context, self.without), Fraction(1, space.total)
        search.report = lambda low, up: context.proven(float(low * share), float(up * share))
        low, up = search.minimise_loss(top), search.known_bounds(top).up
        tree = search.best_tree(top)
        return self._make_solution(
            search,
            tree,
            sure(problem.parts.objective).value(tree, problem),
            float(low * share),
            low == up,
        )

    @staticmethod
    def _path_budget(problem: Problem, space: Space, unlimited: int | None) -> int:
        """Return the run's limits on a path in whole prices, the least of them; ``unlimited`` where
        there is none.  Raises CapabilityError where that is None, or where a depth is limited and
        the tests do not all cost the same.

        unlimited : in whole prices; None: a limit must be given.
        """
        limits, budgets = problem.parts.limits(), []
        if limits.max_cost is not None:
            budgets.append(space.whole_budget(limits.max_cost))
        if limits.max_depth is not None:
            if len(set(space.price.tolist())) > 1:
                raise CapabilityError(
                    "solver max_cost knows a depth only where all tests cost the same; use "
                    "stopping=[max_cost], or leave max_depth out"
                )
            budgets.append(limits.max_depth * int(space.price.max(initial=0)))
        if budgets:
            return min(budgets)
        if unlimited is None:
            raise CapabilityError(
                "objective accuracy with solver max_cost needs a budget; add "
                "stopping=[max_cost] stopping.max_cost.limit=…"
            )
        return unlimited

    @staticmethod
    def _infeasible_solution(search: MaxCostSearch, why: str) -> Solution:
        """Return a solution without a tree, proven infeasible, with a note that says why."""
        return Solution(
            None,
            math.inf,
            math.inf,
            Status.infeasible,
            search.subproblems,
            notes=(f"{why}; allow more errors, or a larger budget",),
        )

    def _make_solution(
        self, search: MaxCostSearch, tree: Tree, value: float, low: float, proven: bool
    ) -> Solution:
        """Return the solution with the notes that a reader needs: on objects that contradict each
        other, on rounded weights or prices, and on an impurity without a kernel.

        value : of the tree.
        low : proven bound, which is ``value`` itself where ``proven``.
        """
        notes, space = [], search.space
        if space.without_error and (contradicting := int(space.contradicting.sum())):
            notes.append(
                f"{contradicting} objects have "
                "the same values as objects of another class: "
                "leaves that hold them answer with the majority class"
            )
        if not space.exact:
            notes.append(
                "weights or prices have too many digits for whole numbers and were rounded "
                "down in the search, by less than 1e-9 of their mean"
            )
        if search.from_python is not None:
            notes.append("the impurity has no kernel: every look at it is a call of Python, slowly")
        ended = search.ended if proven or search.ended.by else Ended("seconds")
        return ended.solution(
            tree,
            value,
            value if proven else low,
            search.subproblems,
            f"after {search.subproblems:,} subtables",
            notes=tuple(notes),
            details={"opened": int(search.state["opened"][0])},
        )
