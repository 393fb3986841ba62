"""Sums of losses over objects, as an attempt goes on with them: a problem in integers, and the
search that was chosen for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

from arboretum.api import (
    Context,
    Problem,
    Tree,
    TreeLimits,
    sure,
)
from arboretum_gosdt.problem.prepared import (
    Merged,
    Tests,
    Units,
    all_tests,
    merge_equal_rows,
    units_of,
    unpack_bits,
)
from arboretum_gosdt.problem.trees import build_tree
from arboretum_gosdt.solvers.choice import Chosen, Which, choose_search


@attrs.define(eq=False)
class AdditiveSearch:
    """A problem, and what was chosen to search it, as :class:`arboretum.api.Attempt` asks."""

    problem: Problem
    limits: TreeLimits
    tests: Tests
    units: Units
    chosen: Chosen | None = None

    @classmethod
    def read(
        cls, problem: Problem, obeyed: tuple[str, ...], context: Context, solver: str = "gosdt"
    ) -> AdditiveSearch:
        """Return a problem in integers, with all its tests, for which no search is chosen yet.

        obeyed : fields of the stopping rules that the solver keeps to, by name.
        solver : its name, for messages.
        Raises CapabilityError or DataError where the problem is none for these searches, OutOfTime
        where laying out its tests would take too long.
        """
        limits = TreeLimits.of(solver, problem, obeyed)
        return cls(problem, limits, all_tests(problem, context=context), units_of(problem))

    def choose_search(
        self, which: Which, context: Context, *options: Any, merged: Merged | None = None
    ) -> AdditiveSearch:
        """Choose the search, and return this problem with it.

        options, merged : as of :func:`.choice.choose_search`.
        """
        given = self.problem, self.limits, self.tests, self.units
        choose: Callable[..., Chosen] = partial(choose_search, merged=merged)
        self.chosen = choose(*given, which, context, *options)
        return self

    def run(self, context: Context, report: Callable[..., None]) -> str:
        """Go on until the search is finished, "", or "seconds" or "bytes" run out.

        report : called, with what a search reports, where its bounds may have changed.
        """
        return sure(self.chosen).search.run(context.deadline, context.memory_bytes, report)

    def tree(self) -> Tree:
        """Return the best tree known."""
        nodes = sure(self.chosen).tests(sure(self.chosen).search.tree())
        return build_tree(self.problem, self.tests, self.units, nodes)

    def value(self, integer: int) -> float:
        """Return the objective's value of a cost in 1/q losses, which is without what every tree
        costs: ``chosen.base`` losses and ``chosen.leaf``.
        """
        chosen = sure(self.chosen)
        return self.units.value(integer + self.units.q * chosen.base + chosen.leaf)

    def sides_of_cuts(self, context: Context) -> tuple[tuple[Any, ...], list[int]] | None:
        """Return what a search over intervals of cuts with a price of splits remembers, as
        :class:`arboretum.api.Memo` has it, and the tests that divide the rows; None of another
        search.
        """
        search: Any = sure(self.chosen).search
        if not hasattr(search, "root_cuts") or not self.units.p:
            return None
        from arboretum_gosdt.continuous.remembered import sides_of_cuts
        from arboretum_gosdt.sparse.loop import DEPTH_KEY
        from arboretum_gosdt.sparse.node import UNLIMITED

        merged = merge_equal_rows(self.problem, self.tests, self.units, context).prepared
        has = unpack_bits(merged.bits, len(merged.tests)).astype(bool)
        sides, turn = sides_of_cuts(search, int(DEPTH_KEY)), int(DEPTH_KEY)
        return (has, *sides, turn, turn * int(UNLIMITED)), merged.tests.tolist()

    @property
    def subproblems(self) -> int:
        """Sets of objects that were looked into."""
        return sure(self.chosen).search.subproblems

    @property
    def upper(self) -> float:
        """Value of the best tree known."""
        return self.value(sure(self.chosen).search.upper)

    @property
    def lower(self) -> float:
        """Lower bound on the value of every tree, less what rounding may have changed.

        The slack is ``units.slack`` and for each leaf ``slack_per_leaf``, of as many leaves as a
        tree within the limits can have.
        """
        units, limits, chosen = self.units, self.limits, sure(self.chosen)
        found = self.value(max(chosen.search.lower, units.p - chosen.leaf))
        if not self.rounded:
            return found
        deepest = chosen.objects if limits.depth is None else limits.depth
        leaves = min(chosen.objects, 2 ** min(62, deepest), limits.leaves or chosen.objects)
        return found - float(units.slack + units.slack_per_leaf * leaves)

    @property
    def rounded(self) -> str:
        """Why a bound is below the truth."""
        digits = "weights, costs or objective.lam have more digits than integers hold"
        units = self.units
        return digits if units.slack or units.slack_per_leaf or units.more else ""
