"""The solver: a problem becomes integers, a search is chosen that knows its limits, its tree is
grown on the objects.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    ConfigError,
    Context,
    Problem,
    Shape,
    Solution,
    Status,
    param,
    shape_of,
)
from arboretum_gosdt.problem.limits import Asked
from arboretum_gosdt.problem.objectives import Accuracy
from arboretum_gosdt.problem.prepared import Tests, Units, all_tests, units_of
from arboretum_gosdt.problem.proving import interrupted, prove, resume
from arboretum_gosdt.problem.trees import tree_of
from arboretum_gosdt.solvers.choice import Chosen, Which, choose, kind_of

DEFAULT_BYTES = 4_000_000_000
"""Of the solver's own, where the run sets no budget.memory_mb."""
FEW, WARM_SECONDS = 16, 5.0
"""Objects on which kernels are loaded, and seconds that this may search."""
HARD_TO_SHOW = "superset"
"""A bound of the sparse search that makes proofs up to twenty times longer to find, and saves
one set in twenty-five.
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
        return (
            context.after(found, lambda: prove(self.proof, attempt, found, context, self.resumable))
            if self.proof
            else found
        )

    def begin(self, problem: Problem, context: Context = Context()) -> Attempt:
        """The same in steps: ``attempt = solver.begin(problem)``, and ``attempt.go_on(context)``
        as often as a budget runs out.
        """
        context = (
            context
            if context.memory_bytes is not None
            else attrs.evolve(context, memory_bytes=DEFAULT_BYTES)
        )
        found = self._read(problem, context)
        which = kind_of(self.search, found.asked, found.tests, found.units)
        if self.resume and which is not Which.sparse:
            able = "sparse does (objective.lam > 0, no limit but the depth)"
            raise CapabilityError(
                f"the search {which.name} does not go on from a proof, {able}; leave "
                "solver.resume, or --from, out"
            )
        without = (
            (*self.without, HARD_TO_SHOW) if self.proof and which is Which.sparse else self.without
        )
        found.chosen = choose(
            problem,
            found.asked,
            found.tests,
            found.units,
            self.search,
            context,
            without,
            self.threads,
        )
        if self.resume:
            resume(self.resume, found, context)
        return found

    def _read(self, problem: Problem, context: Context = Context()) -> Attempt:
        if shape_of(problem.parts.objective) is not Shape.additive:
            raise CapabilityError(
                "solver gosdt minimises a loss that is a sum over objects; add "
                "objective=accuracy (or balanced, cost_matrix)"
            )
        return Attempt(
            problem,
            Asked.of(problem, self.limits),
            all_tests(problem, context=context),
            units_of(problem),
        )

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Compile, or load, what a problem of these dtypes and limits will call, on a few of its
        objects.
        """
        from arboretum.kernels.solving.fingerprints import rehash

        context.progress(0, None, "loading the kernels of gosdt")
        attempt, n = self._read(problem, context), problem.objects.n_objects
        some = np.unique(np.linspace(0, n - 1, min(n, FEW)).astype(np.int64))
        which = kind_of(self.search, attempt.asked, attempt.tests, attempt.units)
        loss = np.ones(len(some), np.int64)
        if which is not Which.intervals:
            # lanes are as wide as all losses together ask for
            loss[0] = max(1, attempt.units.loss.sum() - len(some))
        small = problem.objects.take(some)
        # those of neighbours may ask for no search
        labels = np.random.default_rng(0).permutation(len(some)) % small.n_classes
        small = attrs.evolve(
            problem, objects=attrs.evolve(small, label=labels.astype(small.label.dtype))
        )
        tests = attrs.evolve(
            attempt.tests, codes=np.ascontiguousarray(attempt.tests.codes[:, some])
        )
        units = attrs.evolve(attempt.units, loss=loss, mass=attempt.units.mass[some])
        chosen = choose(
            small, attempt.asked, tests, units, which, Context(), self.without, self.threads
        )
        if which is Which.intervals:  # here the width depends on ranks, too
            whole = choose(problem, attempt.asked, attempt.tests, attempt.units, which, context)
            if whole.search.layout is not None:
                chosen.search.layout = whole.search.layout[0], 1
        warmed = attrs.evolve(
            attempt, problem=small, tests=tests, units=units, chosen=chosen
        ).go_on(Context(deadline=time.monotonic() + WARM_SECONDS))
        if warmed.interrupted:
            raise warmed.interrupted
        if which is Which.general:
            from arboretum_gosdt.general.kernels import load

            load()
        rehash(*np.zeros((2, 2, 2), np.uint64))  # few objects never ask for a longer memo

    def least(self, problem: Problem, context: Context) -> tuple[Any, Solution]:
        """The objective that is certified (the run's, without one the training error), and its
        least value within the limits.
        """
        objective = problem.parts.objective or Accuracy(lam=0.0)
        found = attrs.evolve(self, proof="", resume="").solve(
            attrs.evolve(problem, parts=attrs.evolve(problem.parts, objective=objective)), context
        )
        # the run has more to do than the signal leaves time for
        if found.interrupted and found.interrupted.args:
            raise found.interrupted
        return objective, found


@attrs.define(eq=False)
class Attempt:
    """A problem on its way to be solved: its search goes on with every call."""

    problem: Problem
    asked: Asked
    tests: Tests
    units: Units
    chosen: Chosen | None = None

    def go_on(self, context: Context) -> Solution:
        """Search within the budget, from where the call before ended; Ctrl-C and signals end it
        as a budget does.
        """
        search, memory = (
            self.chosen.search,
            DEFAULT_BYTES if context.memory_bytes is None else context.memory_bytes,
        )

        def tell(lower: int, upper: int) -> None:
            context.proven(self._bound(lower), self._value(upper))
            context.progress(0, None, f"{search.subproblems:,} sets of objects")

        try:
            ended = search.run(context.deadline, memory, tell)
        except KeyboardInterrupt as error:
            return attrs.evolve(self._solution("interrupt"), details=interrupted(error))
        return self._solution(ended)

    def _value(self, integer: int) -> float:
        return self.units.value(integer + self.units.q * self.chosen.base)

    def _bound(self, integer: int) -> float:
        """What is proven of every tree, less what rounding may have changed."""
        units, asked = self.units, self.asked
        most = self.chosen.objects
        leaves = min(
            most, 2 ** min(62, most if asked.depth is None else asked.depth), asked.leaves or most
        )
        return self._value(max(integer, units.p)) - float(
            units.slack + units.slack_per_leaf * leaves
        )

    def _solution(self, ended: str) -> Solution:
        search, problem = self.chosen.search, self.problem
        tree = tree_of(problem, self.tests, self.units, self.chosen.tests(search.tree()))
        value = float(problem.parts.objective.value(tree, problem))
        exact = not ended and not self.units.slack and not self.units.slack_per_leaf
        bound = value if exact else min(value, self._bound(search.lower))
        proven = exact or value - bound <= SLACK * max(1.0, abs(value))
        notes = []
        if ended:
            what = (
                "the search was interrupted"
                if ended == "interrupt"
                else f"the budget of {ended} ran out"
            )
            told = f"{what} after {search.subproblems:,} sets of objects"
            notes.append(
                told
                if proven
                else f"{told}: the value is that of the best tree found, and no tree is below "
                f"{bound:g}"
            )
        if not exact and not ended and not proven:
            notes.append(
                "weights, costs or objective.lam have more digits than 62 bits hold; proven "
                f"up to {value - bound:g}"
            )
        status = Status.optimal if proven else Status.feasible
        return Solution(
            tree, value, bound, status, search.subproblems, not ended or proven, tuple(notes)
        )
