"""The solver: a problem becomes integers, a search is chosen that knows its limits, its tree is grown on the objects."""

from __future__ import annotations

import enum
import math
from functools import cached_property
from typing import Any, Protocol

import attrs
import numpy as np

from arboretum.api import CapabilityError, Context, Problem, Shape, Solution, Status, param, shape_of
from arboretum_gosdt.objectives import Accuracy, Price
from arboretum_gosdt.prepared import Merged, Tests, Units, all_tests, merge, units_of
from arboretum_gosdt.trees import tree_of

DEFAULT_BYTES = 4_000_000_000
"""Of the solver's own, where the run sets no budget.memory_mb."""
SLACK = 1e-9
"""Relative: a gap that rounding leaves counts as none."""


class Search(Protocol):
    """What every search here has; values are integers, without ``base``."""

    lower: int
    upper: int
    subproblems: int
    bytes_used: int

    def run(self, until: float | None, memory_bytes: int | None, tell: Any) -> str:
        """Go on until it is finished (""), or "seconds" or "bytes" run out; ``tell(lower, upper)`` as they improve."""

    def tree(self) -> np.ndarray:
        """int64[nodes, 4]: (feature or column, −1 for a leaf; cut; node of outcome 1; node of outcome 0), root first."""


class Which(enum.Enum):
    """Which search is used."""

    auto = "auto"
    general = "general"


@attrs.frozen
class Gosdt:
    """Proven least loss + λ · leaves + μ · price, under limits on depth, leaves and rows per leaf.

    Sets of objects are solved once each, with bounds (dynamic programming by branch and bound); all arithmetic is in integers.
    Two-way tests: of ``encoder=auto`` all there are, of ``encoder=raw`` every threshold.  Stopped by a budget or by Ctrl-C it returns
    its best tree and what is proven.  Limits: ``stopping.standard.max_depth``, ``max_leaves``, ``min_leaf``.
    """

    kind = "solver"
    name = "gosdt"
    paper = "Lin, Zhong, Hu, Rudin & Seltzer 2020"
    capabilities = ("classification", "multiclass", "weights", "prices", "thresholds", "exact", "anytime")
    needs = ("objective",)
    minimises = ("additive",)
    limits = ("max_depth", "max_leaves", "min_leaf")
    example = "dataset=monk1-full method=gosdt"

    search: Which = param(Which.auto, "which search: auto (the fastest that knows the limits) or general (knows all of them, plain)")

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError, DataError or BudgetError with the way out."""
        return self.begin(problem, context).go_on(context)

    def begin(self, problem: Problem, context: Context = Context()) -> Attempt:  # noqa: B008 - frozen
        """The same in steps: ``attempt = solver.begin(problem)``, and ``attempt.go_on(context)`` as often as a budget runs out."""
        objective = problem.parts.objective
        if shape_of(objective) is not Shape.additive:
            raise CapabilityError("solver gosdt minimises a loss that is a sum over objects; add objective=accuracy (or balanced, cost_matrix)")
        asked = Asked.of(problem)
        tests, units = all_tests(problem), units_of(problem)
        memory = DEFAULT_BYTES if context.memory_bytes is None else context.memory_bytes
        return Attempt(problem, asked, tests, units, merge(problem, tests, units, memory), self.search)

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Compile, or load, what a problem of these dtypes and limits will call, on a few of its objects."""
        context.progress(0, None, "loading the kernels of gosdt")
        n = problem.objects.n_objects
        some = np.unique(np.linspace(0, n - 1, min(n, 16)).astype(np.int64))
        small = attrs.evolve(problem, objects=problem.objects.take(some))
        self.solve(small, attrs.evolve(context, deadline=None, proven=lambda low, value: None))

    def least(self, problem: Problem, context: Context) -> tuple[Any, Solution]:
        """The objective that is certified (the run's, without one the training error), and its least value within the limits."""
        objective = problem.parts.objective or Accuracy(lam=0.0)
        return objective, self.solve(attrs.evolve(problem, parts=attrs.evolve(problem.parts, objective=objective)), context)


@attrs.frozen
class Asked:
    """Over which trees is minimised.   depth, leaves : at most, None: any.   least : rows in every branch.

    split, light, members : a node of fewer rows, of at most that weight, or of fewer objects is a leaf, by the leaf rule.
    """

    depth: int | None
    leaves: int | None
    least: int
    split: int
    light: float
    members: int

    @staticmethod
    def of(problem: Problem) -> Asked:
        """Raises CapabilityError for limits that are not obeyed."""
        parts = problem.parts
        rule, limits = parts.leaf_rule(counting_objects=True, obeyed=Gosdt.limits), parts.limits()
        if rule.delta is not None:
            raise CapabilityError("solver gosdt knows no leaf rule that looks at impurities; leave stopping=impurity out")
        light = rule.levels(float(problem.objects.weight.sum()))[0]
        return Asked(limits.max_depth, limits.max_leaves, limits.min_leaf, rule.min_split, light, rule.min_objects)


@attrs.define(eq=False, slots=False)
class Attempt:
    """A problem on its way to be solved."""

    problem: Problem
    asked: Asked
    tests: Tests
    units: Units
    merged: Merged
    which: Which

    @cached_property
    def search(self) -> Search:
        """The search that goes on with every call."""
        from arboretum_gosdt.general import ANY, Bounds, GeneralSearch, Rules

        asked, units = self.asked, self.units
        bounds = Bounds(*(ANY if most is None else most for most in (asked.depth, asked.leaves)))
        worst = bool(units.price_value) and self.problem.parts.objective.price is Price.max
        # masses are whole: a node is light where its mass is at most this
        light = math.floor(asked.light * float(units.mass.sum()) / float(self.problem.objects.weight.sum())) if asked.light else 0
        return GeneralSearch(self.merged, units.p, units.q, Rules(bounds, asked.least, asked.split, light, asked.members, worst))

    def go_on(self, context: Context) -> Solution:
        """Search within the budget, from where the call before ended; Ctrl-C ends it as a budget does."""
        search, memory = self.search, DEFAULT_BYTES if context.memory_bytes is None else context.memory_bytes

        def tell(lower: int, upper: int) -> None:
            context.proven(self._bound(lower), self._value(upper))
            context.progress(0, None, f"{search.subproblems:,} sets of objects")

        try:
            ended = search.run(context.deadline, memory, tell)
        except KeyboardInterrupt as error:
            if error.args:  # a signal that ends the process
                raise
            ended = "interrupt"
        return self._solution(ended)

    def _value(self, integer: int) -> float:
        return self.units.value(integer + self.units.q * self.merged.base)

    def _bound(self, integer: int) -> float:
        """What is proven of every tree, less what rounding may have changed."""
        units, asked = self.units, self.asked
        leaves = min(len(self.merged.bits), 2 ** min(62, asked.depth if asked.depth is not None else 62), asked.leaves or len(self.merged.bits))
        return self._value(integer) - float(units.slack + units.slack_per_leaf * leaves)

    def _nodes(self) -> np.ndarray:
        """The best tree, in the problem's tests."""
        nodes = self.search.tree()[:, [0, 2, 3]]
        inner = nodes[:, 0] >= 0
        nodes[inner, 0] = self.merged.tests[nodes[inner, 0]]
        return nodes

    def _solution(self, ended: str) -> Solution:
        search, problem = self.search, self.problem
        tree = tree_of(problem, self.tests, self.units, self._nodes())
        value = float(problem.parts.objective.value(tree, problem))
        exact = not ended and not self.units.slack and not self.units.slack_per_leaf
        bound = value if exact else min(value, self._bound(search.lower))
        proven = exact or value - bound <= SLACK * max(1.0, abs(value))
        notes, details = [], {}
        if ended:
            what = "the search was interrupted" if ended == "interrupt" else f"the budget of {ended} ran out"
            told = f"{what} after {search.subproblems:,} sets of objects"
            notes.append(told if proven else f"{told}: the value is that of the best tree found, and no tree is below {bound:g}")
            details = {"interrupted": True} if ended == "interrupt" else {}
        if not exact and not ended and not proven:
            notes.append(f"weights, costs or objective.lam have more digits than 62 bits hold; proven up to {value - bound:g}")
        status = Status.optimal if proven else Status.feasible
        return Solution(tree, value, bound, status, search.subproblems, not ended or proven, tuple(notes), details)


