"""Trees of proven least cost by sums over leaves: a problem becomes moments, its best tree is
grown.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np

from arboretum.api import (
    PROOF_ROUNDING,
    Attempt,
    CapabilityError,
    Context,
    DataError,
    Facts,
    Problem,
    ProofWriter,
    Solution,
    Task,
    Tree,
    TreeLimits,
    leaf_answers,
    leaf_costs,
    moments_of,
    param,
    sure,
    unit_of,
    within_bytes,
)
from arboretum_gosdt.problem.prepared import (
    all_tests,
    group_equal_rows,
    pack_distinct_tests,
    unpack_bits,
)
from arboretum_gosdt.problem.trees import build_tree_of_numbers, preorder_to_nodes
from arboretum_gosdt.sums.search import DEEP, SumsSearch, load_kernels

if TYPE_CHECKING:
    from arboretum.interfaces.objective import Objective

SLACK = 1e-9
"""Relative: a gap that rounding leaves counts as none."""


@attrs.frozen
class LeafSums:
    """Proven least cost by sums over leaves + λ · leaves, under limits on depth and rows per leaf.

    Any objective of the shape ``sums``: survival times, counts, an author's own.  Sets of objects
    are solved once each, two levels at a time, and costs are asked of thousands of leaves at once.
    Costs are floats, and bounds are lowered by what rounding may make of them.  Stopped by a
    budget, Ctrl-C or SIGTERM it returns its best tree and what is proven.
    """

    kind = "solver"
    name = "leaf_sums"
    paper = "van der Linden, de Weerdt & Demirović 2023"
    capabilities = ("regression", "weights", "thresholds", "exact", "anytime")
    needs = ("objective",)
    minimises = ("sums",)
    limits = ("max_depth", "min_leaf")
    example = (
        "dataset=diabetes encoder=bins method=leaf_sums objective=poisson "
        "stopping.standard.max_depth=3"
    )

    proof: str = param(
        "",
        "file for the proof (arboretum verify checks it), written after the search; nothing: none",
        writes=True,
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError, DataError or BudgetError with the
        way out, StoreError where a proof cannot be written.
        """
        objective = problem.parts.objective
        if not hasattr(objective, "moments"):
            name = getattr(objective, "name", "none")
            raise CapabilityError(
                f"solver leaf_sums needs sums by leaf, and objective={name} says none; use "
                "solver=regression for absolute_error, solver=gosdt for classes"
            )
        if self.proof:
            ProofWriter.place(self.proof)  # known before the search, whose result would be lost
        sums = SumsProblem(problem, context)
        sums.search.shown = [] if self.proof else None
        found = Attempt(problem, sums, slack=SLACK).go_on(context)
        if not self.proof:
            return found
        return context.after(found, lambda: write_proof(self.proof, sums, found, context))

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Compile, or load, what a search calls: the same for all problems."""
        context.progress(0, None, "loading the kernels of leaf_sums")
        load_kernels()

    def least(self, problem: Problem, context: Context) -> tuple[Objective, Solution]:
        """Return the objective that is certified, and its least value within the limits."""
        found = self.solve(problem, context)
        return sure(problem.parts.objective), found


class SumsProblem:
    """A problem as moments of merged objects, as :class:`arboretum.api.Attempt` asks."""

    def __init__(self, problem: Problem, context: Context) -> None:
        objects, said = problem.objects, cast(Any, problem.parts.objective)
        self.problem = problem
        limits = TreeLimits.of(LeafSums.name, problem, LeafSums.limits)
        limits.refuse_rules(LeafSums.name, LeafSums.limits)
        self.tests = all_tests(problem, Task.regression, context)
        planes, self.kept = pack_distinct_tests(self.tests, context)
        group, first = group_equal_rows(planes)
        self.unit = unit_of(said, objects)
        context = within_bytes(context)
        context.room(
            9 * len(first) * len(self.kept),
            f"{len(self.kept):,} tests of {len(first):,} objects",
        )
        self.search = SumsSearch(
            unpack_bits(planes[:, first].T, len(self.kept)),
            moments_of(problem),
            np.bincount(group, objects.count).astype(np.int64),
            partial(leaf_costs, said),
            superadditive=bool(getattr(said, "superadditive", False)),
            p=float(getattr(said, "lam", 0.0)) * self.unit,
            depth=DEEP if limits.depth is None else limits.depth,
            least=limits.least,
            group=group,
        )

    @property
    def lower(self) -> float:
        """What is proven of every tree, less what rounding may have changed."""
        return (self.search.lower - self.search.slack) / self.unit

    @property
    def upper(self) -> float:
        """Value of the best tree known."""
        return self.search.upper / self.unit

    @property
    def subproblems(self) -> int:
        """Sets of objects whose pairs were counted."""
        return self.search.subproblems

    rounded = "costs are sums of floats"
    """Why the bound is below the truth."""

    def run(self, context: Context, report: Callable[..., None]) -> str:
        """Go on until it is finished, "", or "seconds" or "bytes" run out.  Raises DataError where
        no tree is known that costs a number.
        """
        ended = self.search.run(context.deadline, context.memory_bytes, report)
        if not math.isfinite(self.search.upper):
            name, least = sure(self.problem.parts.objective).name, self.search.upper
            raise DataError(
                f"objective {name}: the least that a tree was found to cost is {least:g}; let leaf "
                "return a number for some leaves, or raise budget.seconds, or the limits, where "
                "these keep such trees out"
            )
        return ended

    def tree(self) -> Tree:
        """Return the best tree known, with the number that the objective predicts at each node."""
        nodes = preorder_to_nodes(self.search.best)
        inner = nodes[:, 0] >= 0
        nodes[inner, 0] = self.kept[nodes[inner, 0]]
        moments, said = moments_of(self.problem), cast(Any, self.problem.parts.objective)
        return build_tree_of_numbers(
            self.problem,
            self.tests,
            nodes,
            lambda rows: float(leaf_answers(said, moments[rows].sum(axis=0))),
        )


def write_proof(path: str, sums: SumsProblem, found: Solution, context: Context) -> Solution:
    """Write the proof of a search's bound: what it has shown of sets, in that order; the end claims
    what its check leaves of it.  Raises StoreError where the file cannot be written.
    """
    search, tests, kept = sums.search, sums.tests, sums.kept.tolist()
    objects, coded = sums.problem.objects, len(sums.problem.objects.features)
    names = [
        test
        if test < objects.n_fixed
        else [objects.n_fixed + int(tests.column[test]) - coded, int(tests.index[test])]
        for test in kept
    ]
    value = found.value * sums.unit
    bound = min(search.lower - search.slack - PROOF_ROUNDING * search.sizes, value)
    shown, notes = f"{bound / sums.unit:g}", found.notes
    if shown != f"{found.lower_bound:g}":
        notes = (*notes, f"the proof shows {shown} only: its check allows more for rounding")
    named: Facts = {"tests": names, "unit": Fraction(1), "shape": "sums", "seed": context.seed}
    with ProofWriter(path, sums.problem, **named) as log:
        for one in search.shown or ():
            log.record(one.path, one.bound, depth=one.depth)
        log.close(max(bound, -sys.float_info.max), value, found.tree)
    return attrs.evolve(found, notes=notes)
