"""The best oblivious tree of a small depth, with proof."""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Attempt,
    CapabilityError,
    Choice,
    Context,
    Problem,
    Solution,
    TestRule,
    Tree,
    TreeLimits,
    assemble,
    costs_of_groups,
    labelled,
    refuse_unfit,
)

WORK = 1 << 22  # groups of rows looked at between two looks at the clock, some 20 ms
MOST_CELLS = 1 << 27
"""Tests times groups of rows that are kept."""
PER_ROW, PER_CODE, PER_OUTCOME, BYTES = 600, 5, 60, 14
"""Steps for each row and each code while equal rows are found, and for each outcome of a test of
them while equal tests are; bytes of that.
"""


@attrs.frozen
class ObliviousSolver:
    """Proven least loss + λ · leaves + μ · price of oblivious trees of at most
    ``stopping.standard.max_depth`` levels.

    A level's place does not matter for the leaves, so that sets of tests are searched: by rising
    numbers, best single tests first.  Below a set nothing loses less than its cells divided by all
    tests that may still come, and no tree has fewer leaves.
    """

    kind = "solver"
    name = "oblivious"
    paper = "Kohavi 1994"
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
    minimises = ("additive",)
    example = (
        "dataset=monk1-full method=exact objective=accuracy stopping=[standard] "
        "stopping.standard.max_depth=3"
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError or DataError with the way out."""
        search = ObliviousSearch(problem, self._depth(problem), context)
        return Attempt(problem, search, "sets", none="no oblivious tree").go_on(context)

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels on a few of the objects."""
        from arboretum.api import sample

        small = attrs.evolve(problem, objects=sample(problem.objects))
        search = ObliviousSearch(small, min(2, self._depth(problem)), Context())
        Attempt(small, search).go_on(Context())

    @staticmethod
    def _depth(problem: Problem) -> int:
        """Return the number of levels, at most.  Raises CapabilityError without one, or for limits
        that are not kept.
        """
        refuse_unfit("oblivious", problem.objects, problem.prices)
        limits = TreeLimits.of("oblivious", problem, ("max_depth",))
        if limits.depth is None:
            raise CapabilityError(
                "solver oblivious needs a number of levels; add stopping=[standard] "
                "stopping.standard.max_depth=3"
            )
        limits.refuse_rules("oblivious", ("max_depth",))
        return limits.depth


class ObliviousSearch:
    """The search over sets of tests of one problem."""

    def __init__(self, problem: Problem, depth: int, context: Context) -> None:
        """Merge equal rows into groups, and list the tests that divide them.

        depth : levels, at most.  Raises CapabilityError where memory or time does not suffice.
        """
        objects = problem.objects
        objective: Any = problem.parts.objective
        self.problem, self.context = problem, context
        context.check_time(PER_ROW * len(objects.codes) + PER_CODE * objects.codes.size)
        context.room(8 * objects.codes.size, f"equal rows among {objects.n_objects:,} objects")
        rows, self.group = np.unique(
            np.ascontiguousarray(objects.codes), axis=0, return_inverse=True
        )
        self.group = self.group.reshape(-1)
        self.costs = np.ascontiguousarray(costs_of_groups(problem, self.group, len(rows)))
        context.room(
            BYTES * len(rows) * objects.n_tests,
            f"the outcomes of {objects.n_tests:,} tests of {len(rows):,} different rows",
        )
        self._tests(rows)
        n, k = len(rows), min(depth, len(self.outcomes))
        if (len(self.outcomes) + 1) * n > MOST_CELLS:
            raise CapabilityError(
                f"solver oblivious keeps {len(self.outcomes)} tests of {n} different rows, "
                "which is too much; use fewer bins (encoder=bins)"
            )
        self.chosen = np.zeros(k, np.int64)
        self.cells = np.zeros((k + 1, n), np.int32)
        self.n_cells = np.ones(k + 1, np.int64)
        self._begin(n, k, objective.lam)

    def _tests(self, rows: np.ndarray) -> None:
        """Keep the tests that divide the rows, each way of dividing once (the cheapest), the best
        by themselves first.

        rows : uint[groups, features], codes of distinct rows.
        """
        objects = self.problem.objects
        prices = self.problem.prices.tests
        mu = getattr(self.problem.parts.objective, "mu", 0.0)
        found: dict[bytes, tuple[float, int, np.ndarray]] = {}
        first = objects.test_offset
        for f, feature in enumerate(objects.features):
            code = rows[:, f]
            for index in range(feature.n_tests):
                self.context.check_time(
                    PER_OUTCOME * len(rows) * (objects.n_tests - int(first[f]) - index)
                )
                outcome = feature.family.outcome(index, code)
                seen, at, cell = np.unique(outcome, return_index=True, return_inverse=True)
                cell = np.argsort(np.argsort(at))[cell.reshape(-1)].astype(
                    np.uint8 if len(seen) < 256 else np.uint32
                )
                test = int(first[f]) + index
                if len(seen) > 1 and (
                    cell.tobytes() not in found or prices[test] < prices[found[cell.tobytes()][1]]
                ):
                    found[cell.tobytes()] = (
                        sum(self.costs[cell == o].sum(axis=0).min() for o in range(len(seen))),
                        test,
                        cell,
                    )
        ordered = sorted(found.values(), key=lambda one: one[:2])
        self.tests = [test for _, test, _ in ordered]
        self.outcomes = np.array([cell for *_, cell in ordered], np.uint32).reshape(
            len(ordered), len(rows)
        )
        self.arity = int(self.outcomes.max(initial=1)) + 1
        self.prices = np.array([mu * prices[test] for test in self.tests])

    def _begin(self, n: int, k: int, lam: float) -> None:
        """Make the state of the search: no set is known but the one without tests.

        n : groups of rows.
        k : tests in a set, at most.
        lam : price of a leaf.
        """
        from arboretum_classic.oblivious import set_kernels

        self.kernels, t = set_kernels, len(self.tests)
        alone = float(self.costs.sum(axis=0).min()) + lam
        self.best = np.zeros(max(1, k), np.int64)
        room = n * max(self.arity, min(n, self.arity ** min(k, 40)))
        self.scratch = (
            np.full(room, -1, np.int32),
            np.zeros((n + 1, self.costs.shape[1])),
            np.zeros(n, np.int32),
        )
        self.suffix = np.zeros((t + 1, n), np.int32), np.ones(t + 1, np.int64), np.zeros(t + 1)
        self.context.check_time(t * n)
        set_kernels.write_suffix_losses(
            self.outcomes, self.arity, self.costs, *self.scratch[:2], *self.suffix
        )
        # of sets whose first test is t or later
        cheapest = np.append(np.minimum.accumulate(self.prices[::-1])[::-1], 0.0)
        self.least, self.slack = self.suffix[2] + 2 * lam + cheapest, 1e-12 * alone  # of sums
        self.state = np.zeros(1, set_kernels.STATE)
        self.state["done"], self.state["upper"] = k == 0, alone

    @property
    def upper(self) -> float:
        """Of the best set known."""
        return float(self.state["upper"][0])

    @property
    def lower(self) -> float:
        """No set has a lower value."""
        if self.state["done"][0]:
            return self.upper
        return min(self.upper, float(self.least[self.chosen[0]]))

    @property
    def subproblems(self) -> int:
        """Sets that were looked at."""
        return int(self.state["sets"][0])

    def run(self, context: Context, report: Callable[..., None]) -> str:
        """Search until all is known, "", or the "seconds" are over; call it again to go on.

        report : called without arguments after each stretch of work.
        """
        objective: Any = self.problem.parts.objective
        tests, lam = (self.outcomes, self.arity, self.costs), objective.lam
        while not self.state["done"][0]:
            if context.late:
                return "seconds"
            self.kernels.search_sets(
                tests,
                self.suffix,
                self.prices,
                lam,
                self.slack,
                WORK,
                self.state,
                self.chosen,
                self.cells,
                self.n_cells,
                self.best,
                self.scratch,
            )
            report()
            if self.lower >= self.upper - self.slack:
                break
        return ""

    def tree(self) -> Tree:
        """Return the tree that asks the tests of the best set known, level by level."""
        best = sorted(self.best[: self.state["size"][0]].tolist(), key=self.tests.__getitem__)
        tests = [self.tests[one] for one in best]
        objects, prices = self.problem.objects, self.problem.prices.tests
        rules: list[TestRule] = [objects.rule(test) for test in tests]
        outcomes = [objects.outcome(test) for test in tests]
        heaviest = [int(np.bincount(outcome, objects.weight).argmax()) for outcome in outcomes]

        def choose(place: tuple[int, np.ndarray]) -> Choice:
            """Return what becomes of the rows at a place: (level, int64[·])."""
            level, rows = place
            weights = np.bincount(objects.label[rows], objects.weight[rows], objects.n_classes)
            count = float(objects.count[rows].sum())
            if level == len(tests):
                return Choice(weights, count)
            below = [
                (int(o), (level + 1, rows[outcomes[level][rows] == o]))
                for o in np.unique(outcomes[level][rows])
            ]
            return Choice(
                weights, count, rules[level], float(prices[tests[level]]), below, heaviest[level]
            )

        tree = assemble(
            objects, self.problem.parts.impurity, (0, np.arange(objects.n_objects)), choose
        )
        return labelled(tree, self.problem)
