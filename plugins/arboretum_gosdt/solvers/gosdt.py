"""The solver: a problem becomes integers, a search is chosen that knows its limits, its tree is
grown on the objects.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arboretum.api import (
    Attempt,
    BudgetError,
    CapabilityError,
    ConfigError,
    Context,
    Problem,
    Shape,
    Solution,
    few,
    param,
    shape_of,
    spread,
    sure,
    within_bytes,
)
from arboretum_gosdt.problem.objectives import Accuracy
from arboretum_gosdt.problem.proving import HARD_TO_SHOW, prove, resume_from_proof
from arboretum_gosdt.solvers.additive import AdditiveSearch
from arboretum_gosdt.solvers.choice import Which, search_kind

if TYPE_CHECKING:
    from arboretum.interfaces.objective import Objective


WARM_SECONDS = 5.0
"""That the search of a few objects may take on which kernels are loaded."""
PROVEN_BY_INTERVALS = 3
"""Levels up to which a proof goes by what a search over intervals remembers.

Search and proof, in processor seconds on a busy machine, of intervals and of sets of rows:
ct_raisin within 3, λ = .01: 3.7 and 11.9; ct_bank 2.6 and 10.8; within 4, λ = .03, more than 100
and 31.
"""
SLACK = 1e-9
"""Relative: a gap that rounding leaves counts as none."""


@attrs.frozen
class Gosdt:
    """Proven least loss + λ · leaves + μ · price, under limits on depth, leaves and rows per leaf.

    Sets of objects are solved once each, with bounds (dynamic programming by branch and bound); all
    arithmetic is in integers. Two-way tests: of ``encoder=auto`` all there are, of ``encoder=raw``
    every threshold.  Stopped by a budget, Ctrl-C or SIGTERM it returns its best tree and what is
    proven.  Limits: ``stopping.standard.max_depth``, ``max_leaves``, ``min_leaf``.
    """

    kind = "solver"
    name = "gosdt"
    paper = "Lin, Zhong, Hu, Rudin & Seltzer 2020"
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "prices",
        "thresholds",
        "exact",
        "anytime",
    )
    needs = ("objective",)
    minimises = ("additive",)
    limits = ("max_depth", "max_leaves", "min_leaf")
    example = "dataset=monk1-full method=gosdt"

    search: Which = param(
        Which.auto,
        "which search: auto takes the fastest that knows the limits; general knows all of "
        "them, and asks the others",
    )

    without: tuple[str, ...] = param(
        (),
        "bounds of the search that are not used, which costs time and changes no optimum; a "
        "wrong name lists them",
        converter=tuple,
    )
    threads: int = param(
        1,
        "threads of the sparse search, which find the same optimum; the other searches take one",
        ge=1,
    )
    proof: str = param(
        "",
        "file for the proof of the bound (arboretum verify checks it), written after the "
        "search; nothing: none",
        writes=True,
    )
    resumable: bool = param(
        False,
        "whether the proof of a search that was stopped also holds what another goes on "
        "from, which takes longer",
    )
    resume: str = param(
        "",
        "proof of the same problem from which the search goes on; it is checked first; "
        "nothing: none",
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError, DataError or BudgetError with
        the way out.
        """
        if self.proof:
            from arboretum.api import ProofWriter

            # known before the search, whose result would be lost
            place = ProofWriter.place(self.proof)
            if self.resume and place == Path(self.resume).expanduser().resolve():
                raise ConfigError(
                    f"solver.proof={self.proof!r} is the proof that the search goes on from; "
                    "it is kept: name another file"
                )
        attempt = self.begin(problem, context)
        found = attempt.go_on(context)
        if not self.proof:
            return found
        return context.after(
            found, lambda: prove(self.proof, attempt.search, found, context, self.resumable)
        )

    def begin(self, problem: Problem, context: Context = Context()) -> Attempt:
        """Begin a solution in steps: ``attempt = solver.begin(problem)``, then
        ``attempt.go_on(context)`` as often as a budget runs out.  Raises CapabilityError for
        another kind of objective, and where the search does not know the limits or does not go on
        from a proof.
        """
        context = within_bytes(context)
        found = self._read(problem, context)
        which = self._kind(found)
        if self.resume and not (which is Which.sparse and found.units.p and not found.units.worst):
            raise CapabilityError(
                f"the search {which.name} does not go on from a proof, as sparse does with "
                "objective.lam > 0, no limit but the depth and a least leaf, and without "
                "objective.price=max; leave solver.resume, or --from, out"
            )
        without = (
            (*self.without, HARD_TO_SHOW) if self.proof and which is Which.sparse else self.without
        )
        try:
            found.choose_search(which, context, without, self.threads)
        except BudgetError:  # of a least leaf the general search knows, too, in less room
            if self.search is not Which.auto or found.limits.least <= 1 or self.resume:
                raise
            found.choose_search(Which.general, context)
        if self.resume:
            resume_from_proof(self.resume, found, context)
        return Attempt(problem, found, slack=SLACK)

    def _read(self, problem: Problem, context: Context = Context()) -> AdditiveSearch:
        """Return the problem as costs of objects, tests and limits.  Raises CapabilityError for an
        objective that is no sum over objects.
        """
        if shape_of(problem.parts.objective) is not Shape.additive:
            raise CapabilityError(
                "solver gosdt minimises a loss that is a sum over objects; add "
                "objective=accuracy (or balanced, cost_matrix)"
            )
        return AdditiveSearch.read(problem, self.limits, context)

    def _kind(self, of: AdditiveSearch) -> Which:
        # what intervals leave for a proof is of one level of cuts, and only with a price of leaves
        depth = of.limits.depth if of.units.p else None
        deep = depth is None or depth > PROVEN_BY_INTERVALS or self.resumable
        with_memo = bool((self.proof and deep) or self.resume or self.without)
        return search_kind(self.search, of.limits, of.tests, of.units, with_memo)

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Compile, or load, what a problem of these dtypes and limits will call, on a few of its
        objects.
        """
        from arboretum.kernels.solving.fingerprints import rehash
        from arboretum_gosdt.problem.tree_kernels import best_cut

        context.progress(0, None, "loading the kernels of gosdt")
        whole, n = self._read(problem, context), problem.objects.n_objects
        some = spread(n)
        which = self._kind(whole)
        # a few rows may not show what the run's objective reads
        plain = attrs.evolve(problem.parts, objective=Accuracy())
        small = few(attrs.evolve(problem, parts=plain))
        labels = np.arange(whole.units.costs.shape[1])
        costs = (labels != small.objects.label[:, None]).astype(np.int64)
        if which is not Which.intervals:
            # lanes are as wide as all losses together ask for
            costs[0] *= max(1, whole.units.most // max(1, costs[0].sum()) - len(some))
        codes = np.ascontiguousarray(whole.tests.codes[:, some])
        tests = attrs.evolve(whole.tests, objects=small.objects, codes=codes)
        units = attrs.evolve(whole.units, costs=costs, mass=whole.units.mass[some])
        search = AdditiveSearch(small, whole.limits, tests, units)
        search.choose_search(which, Context(), self.without, self.threads)
        if which is Which.intervals:  # here the width depends on ranks, too
            own: Any = sure(search.chosen).search
            wide: Any = sure(whole.choose_search(which, context).chosen).search
            own.total = wide.total  # by which sums are as wide
            if wide.layout is not None:
                own.layout = wide.layout[0], 1
            some = np.arange(min(1, len(own.weights)))  # of one class nothing is asked
            best_cut(own.columns, own.weights, some)  # few objects may need no tree
        warmed = Attempt(small, search).go_on(Context(deadline=time.monotonic() + WARM_SECONDS))
        if load := getattr(sure(search.chosen).search, "load_kernels", None):
            load(time.monotonic() + WARM_SECONDS)
        if warmed.interrupted:
            raise warmed.interrupted
        if which is Which.general:
            from arboretum_gosdt.general.kernels import load_kernels

            load_kernels()
        rehash(*np.zeros((2, 2, 2), np.uint64))  # few objects never ask for a longer memo

    def least(self, problem: Problem, context: Context) -> tuple[Objective, Solution]:
        """Return the objective that is certified (the run's, without one the training error), and
        its least value within the limits.
        """
        objective = problem.parts.objective or Accuracy(lam=0.0)
        return objective, attrs.evolve(self, proof="", resume="").solve(
            attrs.evolve(problem, parts=attrs.evolve(problem.parts, objective=objective)), context
        )
