"""Trees of proven least cost by sums over leaves: a problem becomes moments, its best tree is
grown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arboretum.api import (
    Attempt,
    CapabilityError,
    Context,
    Problem,
    ProofWriter,
    Solution,
    Task,
    Tree,
    TreeLimits,
    moments_of,
    param,
    shape_of,
    sure,
    two_way_order,
    two_way_tree,
    within_bytes,
)
from arboretum_gosdt.problem.prepared import (
    all_tests,
    group_equal_rows,
    pack_distinct_tests,
    unpack_bits,
)
from arboretum_gosdt.problem.trees import preorder_to_nodes
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
        """Return the objective that is certified, and its least value within the limits.  Raises
        CapabilityError where it is another's.
        """
        objective = problem.parts.objective
        if objective is None or getattr(shape_of(objective), "value", "") != "sums":
            raise CapabilityError(
                "solver leaf_sums certifies objectives of the shape sums; choose solver=regression "
                "for squared_error, solver=gosdt for classes"
            )
        return objective, self.solve(problem, context)


class SumsProblem:
    """A problem as moments of merged objects, as :class:`arboretum.api.Attempt` asks."""

    def __init__(self, problem: Problem, context: Context) -> None:
        objects, objective = problem.objects, sure(problem.parts.objective)
        self.problem, self.objective = problem, objective
        limits = TreeLimits.of(LeafSums.name, problem, LeafSums.limits)
        limits.refuse_rules(LeafSums.name, LeafSums.limits)
        self.tests = all_tests(problem, Task.regression, context)
        planes, self.kept = pack_distinct_tests(self.tests, context)
        group, first = group_equal_rows(planes)
        self.weight = float(objects.weight.sum())
        context = within_bytes(context)
        context.room(
            9 * len(first) * len(self.kept),
            f"{len(self.kept):,} tests of {len(first):,} objects",
        )
        self.search = SumsSearch(
            unpack_bits(planes[:, first].T, len(self.kept)),
            moments_of(problem),
            np.bincount(group, objects.count).astype(np.int64),
            objective.leaf,  # type: ignore[attr-defined]
            superadditive=bool(getattr(objective, "superadditive", False)),
            p=float(getattr(objective, "lam", 0.0)) * self.weight,
            depth=DEEP if limits.depth is None else limits.depth,
            least=limits.least,
            group=group,
        )

    @property
    def lower(self) -> float:
        """What is proven of every tree, less what rounding may have changed."""
        return (self.search.lower - self.search.slack) / self.weight

    @property
    def upper(self) -> float:
        """Of the best tree known."""
        return self.search.upper / self.weight

    @property
    def subproblems(self) -> int:
        """Sets of objects whose pairs were counted."""
        return self.search.subproblems

    rounded = "costs are sums of floats"
    """Why the bound is below the truth."""

    def run(self, context: Context, report: Callable[..., None]) -> str:
        """Go on until it is finished, "", or "seconds" or "bytes" run out."""
        return self.search.run(context.deadline, context.memory_bytes, report)

    def tree(self) -> Tree:
        """Return the best tree known, with the number that the objective predicts at each node."""
        objects, objective = self.problem.objects, self.objective
        nodes = preorder_to_nodes(self.search.best)
        inner = nodes[:, 0] >= 0
        nodes[inner, 0] = self.kept[nodes[inner, 0]]
        nodes = two_way_order(nodes)
        n, moments = len(nodes), moments_of(self.problem)
        weights, counts, sums = np.zeros((n, 3)), np.zeros(n), np.zeros((n, moments.shape[1]))
        at = {0: np.arange(objects.n_objects)}
        for v, (test, one, rest) in enumerate(nodes.tolist()):
            rows = at.pop(v)
            y, w = objects.y[rows], objects.weight[rows]
            weights[v] = [w.sum(), w @ y, w @ y**2]
            counts[v], sums[v] = objects.count[rows].sum(), moments[rows].sum(axis=0)
            if test >= 0:
                mine = self.tests.outcome(test, rows)
                at[one], at[rest] = rows[mine], rows[~mine]
        said: Any = objective
        value = np.asarray(said.predicts(sums), np.float64)
        held = (weights, counts, np.zeros(n, np.int64), value)
        return two_way_tree(objects, nodes, self.tests.rule, self.tests.price, held)


def write_proof(path: str, sums: SumsProblem, found: Solution, context: Context) -> Solution:
    """Write the proof of a search's bound: what it has shown of sets, in that order.  Raises
    StoreError where the file cannot be written.
    """
    search, tests, kept = sums.search, sums.tests, sums.kept.tolist()
    objects, coded = sums.problem.objects, len(sums.problem.objects.features)
    names = [
        test
        if test < objects.n_fixed
        else [objects.n_fixed + int(tests.column[test]) - coded, int(tests.index[test])]
        for test in kept
    ]
    value = found.value * sums.weight
    bound = min(search.lower - search.slack, value)
    with ProofWriter(path, sums.problem, tests=names, unit=Fraction(1), seed=context.seed) as log:
        for one in search.shown or ():
            log.record(one.path, one.bound, depth=one.depth)
        log.close(max(bound, -sys.float_info.max), value, found.tree)
    return found
