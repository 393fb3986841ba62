"""Optima of losses that are no sums over leaves: additive costs bound the loss, then all trees
below a budget are gone through.

Any additive cost will do of which it is known how much trees can cost whose value R(d) = loss + λ ·
leaves is below some R: lines of (FP, FN) (:mod:`arboretum_gosdt.all_trees.monotone`), or
tangents of ROC curves (:mod:`arboretum_gosdt.all_trees.areas`).  The least of such a cost bounds
R(d) from below, and often that is the end.  Else R rises in steps: all trees that may be better are
in the graph of :mod:`arboretum_gosdt.all_trees.enumeration`, of their partial solutions, with
(FP, FN) or curves as values, only those are kept that no other beats, and the best of whole trees
is the optimum as soon as it is at most R.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np

from arboretum.api import (
    Attempt,
    CapabilityError,
    Context,
    Problem,
    Shape,
    Solution,
    Tree,
    TreeLimits,
    param,
    shape_of,
    sure,
)
from arboretum_gosdt.all_trees.areas import RankedLoss
from arboretum_gosdt.all_trees.enumeration import AllTrees
from arboretum_gosdt.all_trees.monotone import ROUNDING, MonotoneLoss, Room
from arboretum_gosdt.all_trees.table import Rows, unpack_outcomes
from arboretum_gosdt.problem.prepared import Merged, Tests, Units, all_tests, merge_equal_rows
from arboretum_gosdt.problem.proving import HARD_TO_SHOW, prove_lines
from arboretum_gosdt.problem.trees import build_labelled_tree
from arboretum_gosdt.solvers.choice import WEIGHTS as SPARSE

if TYPE_CHECKING:
    from arboretum.interfaces.objective import Objective


STEPS = (0.3, 0.55, 0.75, 0.9, 1.0)
"""Where between the bound and the best tree known R is set; a better tree then lowers the rest."""
NEAR = 1.0
"""Leaves: all trees that cost so little more than the cheapest are gone through at once."""
WEIGHTS = 1 << 31
"""All weights in their common unit stay below."""
PER_PAIR, PER_OUTCOME, BYTES = 300, 5, 4
"""Steps of the trees of three leaves that ask two tests; steps and bytes of an outcome that is
laid out and counted.
"""
PATIENCE = 1000
"""Slices of the search for the least additive cost; a slice takes some 30 ms."""


class BoundedLoss(Protocol):
    """A loss that additive costs bound; R(d) = loss + λ · leaves."""

    curves: bool
    lines: dict[Any, int]
    """Costs that were searched, and what no tree costs less than: each with ``name`` and
    ``constant``, of what a proof says of it.
    """

    @property
    def columns(self) -> np.ndarray:
        """What is added up over leaves: int64[objects, answers, values]."""

    def values_of_trees(self, trees: Any) -> np.ndarray:
        """Return float64[trees], R of each."""

    def value_of_leaves(self, leaves: np.ndarray) -> tuple[float, np.ndarray]:
        """Return R of a tree whose leaves hold so much of each class (int64[leaves, 2]), and their
        best answers.
        """

    def next_cost(self, best: np.ndarray, value: float) -> Any:
        """Return the cost to search next, given the leaves of the best tree and its R; None:
        none.
        """

    def record_least_cost(self, cost: Any, least: int, leaves: np.ndarray | None = None) -> None:
        """Record that no tree costs less than ``least``, and the leaves of one that costs so
        much.
        """

    def cost_near(self, leaves: np.ndarray, wrong: np.ndarray) -> Any:
        """Return the cost that bounds trees near a tree best, by its leaves or its errors."""

    def lower_bound(self, value: float) -> float:
        """Return a bound that no tree's R is below; at most ``value``."""

    def tightest_room(self, value: float) -> Room:
        """Return the least room that a searched cost leaves to trees whose R is below ``value``."""


@attrs.frozen
class NonDominated:
    """Proven optima of losses of false positives and negatives, and of areas under the ROC curve, +
    λ · leaves.

    Goes through all trees that an additive bound leaves, of which only those are kept that no other
    beats in (FP, FN) or in its curve, and leaves. Limits: ``stopping.standard.max_depth``,
    ``max_leaves``, ``min_leaf``.  Stopped by a budget it returns its best tree and what is proven.
    """

    kind = "solver"
    name = "fronts"
    paper = "Lin, Zhong, Hu, Rudin & Seltzer 2020"
    capabilities = ("classification", "weights", "thresholds", "exact", "anytime")
    needs = ("objective",)
    minimises = ("confusion", "ranking")
    limits = ("max_depth", "max_leaves", "min_leaf")
    example = "dataset=monk1-full method=fronts objective=f_score"

    proof: str = param(
        "",
        "file for the proof of the bound (arboretum verify checks it), written after the search; "
        "nothing: none",
        writes=True,
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError or DataError with the way out,
        StoreError where a proof cannot be written.
        """
        if not self.proof:
            return Attempt(problem, NonDominatedSearch(problem, context)).go_on(context)
        from arboretum.api import ProofWriter

        ProofWriter.place(self.proof)  # known before the search, whose result would be lost
        search = NonDominatedSearch(problem, context, remember=True)
        found = Attempt(problem, search).go_on(context)
        return context.after(found, lambda: prove_lines(self.proof, search, found, context))

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Compile, or load, what will be called."""
        from arboretum.kernels.solving.fingerprints import rehash
        from arboretum_gosdt.all_trees.enumeration import load_kernels
        from arboretum_gosdt.sparse.search import SparseSearch

        context.progress(0, None, "loading the kernels of fronts")
        load_kernels()
        whole = NonDominatedSearch(problem, context)
        whole.tree()
        cost = whole.loss.next_cost(whole.leaves, whole.upper)
        if cost is None or not cost.p:
            return
        # lanes as wide as all costs together ask for
        wide = max(1, int((cost.cost.max(axis=1)[:, None] - cost.cost).sum()) // 4)
        search = SparseSearch(
            np.arange(4, dtype=np.uint32)[:, None],
            np.array([[0, wide], [wide, 0], [wide, 0], [0, wide]]),
            2,
            1,
            1,
        )
        search.run(None, None, lambda low, up: None)
        search.tree()
        rehash(*np.zeros((2, 2, 2), np.uint64))  # four objects never ask for a longer memo

    def least(self, problem: Problem, context: Context) -> tuple[Objective, Solution]:
        """Return the objective that is certified, and its least value within the limits.  Raises
        CapabilityError where it is another's.
        """
        objective = problem.parts.objective
        if objective is None or shape_of(objective) not in (Shape.confusion, Shape.ranking):
            raise CapabilityError(
                "solver fronts certifies f_score, auc, pauc and their like; choose "
                "solver=gosdt for sums over leaves"
            )
        return objective, self.solve(problem, context)


class NonDominatedSearch:
    """Additive costs, then all trees below a budget.

    remember : whether ``remembered`` has the searches of all costs, for a proof.
    """

    def __init__(self, problem: Problem, context: Context, *, remember: bool = False) -> None:
        self.problem, self.remember = problem, remember
        objective: Any = problem.parts.objective
        limits = self.limits = TreeLimits.of("fronts", problem, NonDominated.limits)
        limits.refuse_rules("fronts", NonDominated.limits)
        objective.classes_of(problem)
        mass, unit, error = problem.objects.exact_weights
        if error or mass.sum() >= WEIGHTS:
            raise CapabilityError(
                "solver fronts counts weights exactly, and these have too many digits; round "
                "them to fewer"
            )
        limits.refuse_endless(objective.lam, NonDominated.limits)
        if not objective.lam and limits.leaves is not None:  # else nothing ends a path before
            most = limits.leaves - 1
            depth = most if limits.depth is None else min(limits.depth, most)
            self.limits = limits = attrs.evolve(limits, depth=depth)
        none, eye = Fraction(0), 1 - np.eye(2, dtype=np.int64)
        self.units = Units(
            loss_value=Fraction(1),
            q=1,
            p=0,
            costs=mass[:, None] * eye[problem.objects.label],
            mass=mass,
            price_value=none,
            slack=none,
            slack_per_leaf=none,
            worst=False,
        )
        self.tests: Tests = all_tests(problem, context=context)
        self.merged: Merged = merge_equal_rows(problem, self.tests, self.units, context)
        kind = RankedLoss if shape_of(objective) is Shape.ranking else MonotoneLoss
        # of two classes, an error on one costs the other's weight
        self.class_weights = self.merged.costs[:, ::-1]
        n = len(self.class_weights)
        self.loss: BoundedLoss = kind(
            objective, self.class_weights, float(unit), min(n, limits.leaves or n)
        )
        context.check_time(PER_OUTCOME * n * len(self.merged.tests))
        context.room(
            BYTES * n * len(self.merged.tests),
            f"the outcomes of {len(self.merged.tests):,} tests of {n:,} objects",
        )
        ones = np.zeros(len(self.merged.tests), np.int64)
        self.table = Rows(
            unpack_outcomes(self.merged),
            np.zeros((n, 2), np.int64),
            self.merged.rows,
            self.merged.mass,
            ones,
        )
        total = self.class_weights.sum(axis=0)[None]
        self.upper, answers = self.loss.value_of_leaves(total)
        self.best, self.leaves = [(-1, int(answers[0]))], total
        self.bound, self.subproblems, self.proven = 0.0, 0, False
        self.searches: dict[Any, Any] = {}
        self.remembered: dict[Any, Any] = {}

    def run(self, context: Context, report: Callable[..., None]) -> str:
        """Search until the optimum is proven, "", or a budget ends it ("seconds", "bytes").

        report : called without arguments where ``lower`` or ``upper`` may have changed.
        """
        ended = self._run(context, report)
        self.proven = not ended
        return ended

    def _run(self, context: Context, report: Callable[..., None]) -> str:
        """Search as ``run`` says.

        report : called without arguments where ``lower`` or ``upper`` may have changed.
        Trees of few leaves are tried first, then additive costs are minimised, then all trees below
        rising values are gone through.
        """
        held = self.merged.nbytes + self.table.nbytes
        self.context = context = attrs.evolve(
            context, memory_bytes=max(1, sure(context.memory_bytes) - held)
        )
        # of three leaves there is a tree for each pair of tests
        quick = PER_PAIR * len(self.merged.tests) ** 2 < context.steps_left
        limits = self.limits
        limits = limits if quick else attrs.evolve(limits, leaves=min(2, limits.leaves or 2))
        found = (
            self.loss.best_small_tree(self.table, limits)
            if isinstance(self.loss, MonotoneLoss)
            else None
        )
        if found is not None and found[0] < self.upper:
            self.upper, self.best, self.leaves = found
        if ended := self._minimise_costs():
            return ended
        room = self.loss.tightest_room(self.upper).leaves
        steps = STEPS if room > NEAR else STEPS[-1:]
        self.bound = self.loss.lower_bound(self.upper) if room > NEAR else self.bound
        while room >= 0:
            for step in steps:
                report()
                aim = self.bound + step * (self.upper - self.bound)
                if ended := self._search_trees_below(aim):
                    return ended
                if self.upper <= aim + ROUNDING:
                    return ""
                self.bound = max(self.bound, aim - ROUNDING)
        return ""

    @property
    def lower(self) -> float:
        """The proven bound, of additive costs and of the trees that were gone through."""
        if self.proven:
            return self.upper
        return max(self.bound, self.loss.lower_bound(self.upper))

    def _minimise_costs(self) -> str:
        """Minimise additive costs, as long as they promise a better bound or tree; returns what
        ran out, or "".
        """
        while (cost := self.loss.next_cost(self.leaves, self.upper)) is not None:
            self.loss.record_least_cost(cost, *self._search_cost(cost))
            if self.context.late:
                return "seconds"
        return ""

    def _search_cost(self, cost: Any) -> tuple[int, np.ndarray | None]:
        """Return what a tree costs at least, and the leaves of the cheapest one found.

        cost : with ``cost`` (int64[objects, answers]), ``p`` and ``q``, as ``loss.next_cost``
            returns it.
        The leaves are int64[leaves, 2], weights of both classes; None where no search was begun:
        leaves cost nothing, no test or no label matters, or the costs are too large for one.
        """
        from arboretum_gosdt.sparse.search import SparseSearch

        costs, depth = cost.cost, self.limits.depth
        # answers are few: column by column
        most, least = (reduce(one, costs.T) for one in (np.maximum, np.minimum))
        kept = most > least
        if (
            not cost.p
            or not kept.any()
            or not len(self.merged.tests)
            or (most - least).sum() * costs.shape[1] > SPARSE
        ):
            return cost.q * int(least.sum()) + cost.p, None
        saves = most[:, None] - costs
        room = self._bytes_left() - costs.nbytes - most.nbytes - saves.nbytes
        search = SparseSearch(
            bits=self.merged.bits[kept],
            weights=saves[kept],
            n_features=len(self.merged.tests),
            p=cost.p,
            q=cost.q,
            depth=depth,
            memory_bytes=room,
            without=(HARD_TO_SHOW,) if self.remember else (),
        )
        report = lambda low, up: self.context.progress(
            0, None, f"{self.subproblems + search.subproblems:,} sets of objects"
        )
        search.run(self.context.deadline, room, report, slices=PATIENCE)
        self.subproblems += search.subproblems
        leaves = self._keep_tree(search.tree())
        if self.remember:
            self.remembered[cost] = search
        if kept.all() and costs.shape[1] == 2:
            self.searches[cost] = search
        return search.lower + cost.q * int(most.sum() - saves.sum()), leaves

    def _bytes_left(self) -> int:
        """Return the bytes that the next search may take.

        Searches that are kept for their bounds are dropped where they hold more than a quarter.
        """
        room = sure(self.context.memory_bytes)
        held = sum(one.bytes_used for one in self.searches.values())
        if held > room // 4:
            self.searches.clear()
        found: int = room - held * bool(self.searches)
        return found

    def _keep_tree(self, nodes: np.ndarray) -> np.ndarray:
        """Keep a tree if it is better than the best, and allowed; returns its leaves.

        nodes : int64[nodes, 4], see SparseSearch, features being those of the merged table.
        Returns int64[leaves, 2], weights of both classes.
        """
        tests, leaves, rows, waiting = [], [], [], [(0, np.arange(len(self.table.outcome)))]
        while waiting:
            at, here = waiting.pop()
            test, _, one, rest = nodes[at].tolist()
            tests.append(test)
            if test >= 0:
                mine = self.table.outcome[here, test] == 1
                waiting += [(rest, here[~mine]), (one, here[mine])]
            else:
                leaves.append(self.class_weights[here].sum(axis=0))
                rows.append(self.merged.rows[here].sum())
        held = np.array(leaves)
        if min(rows) < self.limits.least or len(leaves) > (self.limits.leaves or len(leaves)):
            return held
        value, answers = self.loss.value_of_leaves(held)
        if value < self.upper:
            answer = iter(answers.tolist())
            self.upper, self.leaves = value, held
            self.best = [(test, -1 if test >= 0 else next(answer)) for test in tests]
        return held

    def _search_trees_below(self, aim: float) -> str:
        """Find the best of all trees whose value is below ``aim``; returns what ran out, or "".

        aim : a value R, loss + λ · leaves.
        """
        context, (cost, budget, room) = self.context, self.loss.tightest_room(aim)
        report = lambda: context.progress(0, None, f"all trees below {aim:.4f}")
        known = None
        if cost in self.searches and room < NEAR:
            known = self.searches[cost].bounds_of_closed_sets(
                math.ceil(room * cost.p) + 1, context.deadline, context.memory_bytes, report
            )
        limits = self.limits.depth, self.limits.least, self._bytes_left()
        all_trees = AllTrees(
            attrs.evolve(self.table, cost=cost.cost), cost.p, cost.q, budget, *limits, known=known
        )
        ended = all_trees.run(context.deadline, report)
        self.subproblems += all_trees.n_sets
        fronts = all_trees.fronts(self.loss.columns, curves=self.loss.curves)
        ended = ended or fronts.run(context.deadline, report)
        if ended:
            return ended
        for trees in fronts.trees():
            if context.late:
                return "seconds"
            values = self.loss.values_of_trees(trees)
            if self.limits.leaves is not None:
                values[trees.leaves > self.limits.leaves] = math.inf
            i = int(values.argmin())
            if values[i] < self.upper:
                self.upper, self.best = float(values[i]), fronts.nodes_of_tree(trees.origin[i])
        return ""

    def tree(self) -> Tree:
        """Return the best tree known, its leaves labelled by their answers."""
        best = [(test, -1 if self.loss.curves else answer) for test, answer in self.best]
        return build_labelled_tree(self.problem, self.tests, self.units, self.merged.tests, best)
