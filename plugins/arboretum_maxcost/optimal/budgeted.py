"""Every budget at once: the least errors of trees by their maximum path cost, and the
least price by errors or leaf rule.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction

import attrs

from arboretum.api import Context, OutOfTime, Problem, Tree
from arboretum_maxcost.optimal.search import EVER, MaxCostSearch
from arboretum_maxcost.optimal.space import Space, space_of

FIRST_TURN = 0.2
"""Seconds."""


@attrs.frozen(eq=False)
class Step:
    """A tree and what it says: from this budget on, so much weight is misclassified."""

    budget: Fraction
    errors: Fraction
    tree: Tree


@attrs.frozen(eq=False)
class ParetoStepFunction:
    """The least errors for every budget.

    steps : trees by rising budget and falling errors, the first of which asks nothing that has a
        price.
    lower : (budget, errors) by rising budget: from this budget to the next one no tree errs less.
        Where the search was not stopped, both say the same.
    total : weight of all objects, so that errors / total is the training error.
    stopped : "" or what ran out.
    """

    steps: Sequence[Step]
    lower: Sequence[tuple[Fraction, Fraction]]
    total: Fraction
    stopped: str
    subproblems: int

    @property
    def exact(self) -> bool:
        """Whether the search came to its end, so that ``steps`` and ``lower`` say the same."""
        return not self.stopped


def pareto_step_function(
    problem: Problem,
    context: Context = Context(),
    *,
    without: tuple[str, ...] = (),
    most: float | None = None,
) -> ParetoStepFunction:
    """Return the least errors for every budget, from nothing on until no tree errs less, or up to
    the budget ``most``.

    without : names of bounds that are not used, see ``MaxCostSearch``.
    most : in the unit of prices; None: any budget.
    Stops early when seconds or bytes run out; what it says then is proven, but has gaps.
    """
    space = space_of(problem, without_error=False)
    search = MaxCostSearch(space, context, without)
    top = EVER if most is None else space.whole_budget(most)
    budget = 0
    while budget <= top and search.search_within(budget, EVER):
        known = search.known_bounds(budget)
        if known.up == search.equivalent_loss:
            break
        budget = known.reach + 1
    if search.stopped:
        with suppress(OutOfTime):  # a leaf is a tree, too
            search.grow_greedy_tree(top)
    return _read_step_function(space, search, budget, top)


def _read_step_function(
    space: Space, search: MaxCostSearch, solved: int, top: int
) -> ParetoStepFunction:
    """Read off what the search has found: its trees and its lower bounds, by budget.

    solved : below that budget, in whole prices, all is known.
    top : the highest budget asked for, EVER: any.
    """
    steps: list[Step] = []
    lower: list[tuple[int, int]] = []
    budget, last = 0, None
    for path_cost, errors in search.values_found(top):
        if last is None or errors < last:
            steps.append(
                Step(path_cost * space.coin, errors * space.unit, search.best_tree(path_cost))
            )
            last = errors
    while budget <= top:
        low, reach, _, _ = search.known_bounds(budget)
        if budget >= solved and search.stopped:
            guess, further = search.bound_loss(budget)
            low, reach = (low, reach) if low > guess else (guess, further)
        if not lower or low < lower[-1][1]:
            lower.append((budget, low))
        if low <= search.equivalent_loss:
            break
        budget = reach + 1
    return ParetoStepFunction(
        steps,
        [(budget * space.coin, low * space.unit) for budget, low in lower],
        space.total * space.unit,
        search.stopped,
        search.subproblems,
    )


def find_least_budget(search: MaxCostSearch, limit: int, top: int = EVER) -> tuple[int, int]:
    """Return (budget below which no tree loses at most ``limit``, path cost of the best such tree
    or EVER), by raising the budget from below; both in whole prices.

    limit : whole errors; top : highest budget that is allowed, EVER: any.
    Where that takes longer than a while, cheaper trees than the best one known (first the greedy
    one) are looked for as long, and so on in turn for longer and longer; the memory is kept.  The
    two numbers are equal where the optimum is proven.  What stops the search is ``search.stopped``.
    """
    budget, turn = 0, FIRST_TURN
    while budget <= top:
        finished = search.search_within(budget, limit, turn)
        if not finished and turn == FIRST_TURN:
            try:
                search.grow_greedy_tree(top)
            except OutOfTime:
                if search.least_path_cost_found(limit) == EVER:
                    raise
        _, reach, up, path_cost = search.known_bounds(budget)
        if up <= limit:
            return budget, path_cost
        if finished:
            budget = reach + 1
            search.report(budget, search.least_path_cost_found(limit))
            continue
        best = min(top, search.least_path_cost_found(limit))
        if not search.out_of_budget and budget + 1 < best:
            search.search_within(best - 1, limit, turn)
        if search.out_of_budget:
            return budget, search.least_path_cost_found(limit)
        turn *= 2
    return budget, EVER


def whole_errors_allowed(space: Space, share: float) -> int:
    """Return the most whole errors that a share of the weight allows, up to 1e-9 of it."""
    return math.floor(Fraction(share) * (1 + Fraction(1, 10**9)) * space.total)
