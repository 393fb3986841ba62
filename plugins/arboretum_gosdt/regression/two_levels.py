"""A regression problem of at most two levels: its columns become ranks, and what strips show of
them becomes a tree, a bound and a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import attrs
import numpy as np

from arboretum.api import (
    DEFAULT_BYTES,
    BudgetError,
    Context,
    Facts,
    Problem,
    ProofWriter,
    Solution,
    Task,
    Tree,
    TreeLimits,
    sure,
)
from arboretum_gosdt.problem.prepared import THRESHOLDS, Tests, all_tests
from arboretum_gosdt.regression.problem import (
    change_by_rounding,
    regression_tree,
    round_targets,
    whole_weights,
)
from arboretum_gosdt.regression.strips import FIRST, MOST, StripSearch, deviation

BYTES_PER_VALUE, BYTES_PER_ROW, BYTES_PER_STRIP = 24, 64, 192
"""Bytes that the search takes for a value, a row and a strip."""


class TwoLevelSearch:
    """A problem of squared errors within two levels, in whole numbers, and its search."""

    def __init__(self, problem: Problem, limits: TreeLimits, context: Context) -> None:
        """Raise CapabilityError, DataError or BudgetError, with the way out."""
        objects = problem.objects
        self.problem, self.tests = problem, all_tests(problem, Task.regression, context)
        mass = whole_weights(objects.weight)
        ranks, self._tests_of = ranks_of_tests(self.tests)
        needed = ranks.size * BYTES_PER_VALUE + objects.n_objects * BYTES_PER_ROW
        left = (context.memory_bytes or DEFAULT_BYTES) - needed
        few = len(ranks) * min(FIRST, 1 + int(ranks.max(initial=0)))
        if left < few * BYTES_PER_STRIP:
            raise BudgetError(
                f"{objects.n_objects:,} rows of {len(ranks)} columns take "
                f"{(needed + few * BYTES_PER_STRIP) / 1e6:,.0f} MB; raise budget.memory_mb, or ask "
                "fewer columns"
            )
        target, off = round_targets(objects.y, int(mass.sum()))
        square = mass.astype(np.float64) @ (target.astype(np.float64) ** 2)
        self.all = float(deviation(mass.sum(), (mass * target).sum(), square))
        self.lam: float = cast(Any, problem.parts.objective).lam
        self.search = StripSearch(
            ranks if self.all else ranks[:0],
            mass,
            mass * target,
            objects.count,
            self.lam * (self.all or 1.0),
            depth=sure(limits.depth),
            leaves=limits.leaves,
            least=limits.least,
            most_strips=min(MOST, left // BYTES_PER_STRIP),
        )
        moved = change_by_rounding(mass, target, off, absolute=False)
        self.slack = 2 * moved / (self.all or 1.0)

    @property
    def rounded(self) -> str:
        """Why the bound may be below the truth though the search came to its end."""
        if self.slack:
            return "targets have more digits than the search counts"
        thick = self.search.upper - self.search.lower > 4 * self.search.rounding
        return "strips are as thin as they may be" if thick else "sums are rounded"

    def run(self, context: Context, report: Callable[..., None]) -> str:
        """Go on until it is finished, "", or "seconds" run out."""
        return self.search.run(context.deadline, report)

    @property
    def subproblems(self) -> int:
        """Sets of rows of which trees of one test were bounded."""
        return self.search.subproblems

    @property
    def lower(self) -> float:
        """What is proven of every tree, less what rounding may have changed; a leaf costs λ."""
        return max(self.lam, self.search.lower / self.all - self.slack) if self.all else self.lam

    @property
    def upper(self) -> float:
        """Value of the best tree known."""
        return self.search.upper / self.all if self.all else self.lam

    def tree(self) -> Tree:
        """Return the best tree known, with the value that the objective asks of every leaf."""
        found, nodes = self.search.tree(), [[-1, -1, -1]]
        if found.root is not None:
            nodes = [[self.test(*found.root), 2, 1], [-1, -1, -1], [-1, -1, -1]]
            for node, test in ((1, found.below), (2, found.above)):
                if test is not None:
                    nodes[node] = [self.test(*test), len(nodes) + 1, len(nodes)]
                    nodes += [[-1, -1, -1], [-1, -1, -1]]
        return regression_tree(self.problem, self.tests, np.array(nodes, np.int64))

    def test(self, column: int, cut: int) -> int:
        """Return the number of a cut of a column of ranks."""
        return int(self._tests_of[column][cut])


def ranks_of_tests(tests: Tests) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return int32[columns, objects], dense ranks whose thresholds are the tests that divide the
    objects, and the test, int64[ranks − 1], that each threshold is.

    A test for a value is a column of its own.
    """
    first, ranks, numbers = tests.first, [], []
    everyone = np.arange(tests.objects.n_objects)
    for column, codes in enumerate(tests.codes):
        which = np.arange(first[column], first[column + 1])
        if tests.family[column] == THRESHOLDS:
            kept, dense = np.unique(codes, return_inverse=True)
            ranks.append(dense)
            numbers.append(which[kept[:-1]])
            continue
        for test in which.tolist():
            answer = tests.outcome(test, everyone)
            ranks.append((answer & ~answer.all()).astype(np.int64))  # 0: nothing is divided
            numbers.append(np.array([test]))
    return np.array(ranks, np.int32).reshape(len(ranks), len(everyone)), numbers


def write_proof(path: str, levels: TwoLevelSearch, found: Solution, context: Context) -> Solution:
    """Write the proof of a search's bound: what it knows of both sides of each cut.  Raises
    StoreError where the file cannot be written.

    The log lists the cuts of all strips, by which the checker counts.
    """
    search = levels.search
    names = [name_test(levels, column, cut) for column, cut in search.cuts()]
    number = {str(name): at for at, name in enumerate(names)}
    notes, bound = found.notes, min(levels.lower, found.value)
    # both sides of a test are off by what targets were rounded to
    shown = max(levels.lam, search.shown() / (levels.all or 1.0) - 2 * levels.slack)
    if shown < bound - 2 * levels.slack:
        notes = (*notes, f"the proof shows {shown:g} only: it knows no limits of leaves")
    named: Facts = {"tests": names, "unit": Fraction(1), "seed": context.seed}
    with ProofWriter(path, levels.problem, **named, shape="deviation") as log:
        for column, cut, bounds in search.sides():
            test = number[str(name_test(levels, column, cut))]
            for outcome, cost in enumerate(bounds):
                log.record([(test, outcome)], cost / levels.all - levels.slack, depth=1)
        log.close(min(shown, bound), found.value, found.tree)
    return attrs.evolve(found, notes=notes)


def name_test(levels: TwoLevelSearch, column: int, cut: int) -> int | list[int]:
    """Return a (column, cut) as a log names it: single thresholds of raw columns by column and
    cut.
    """
    tests, objects = levels.tests, levels.problem.objects
    test = levels.test(column, cut)
    if test < objects.n_fixed:
        return test
    raw = objects.n_fixed + int(tests.column[test]) - len(objects.features)
    return [raw, int(tests.index[test])]
