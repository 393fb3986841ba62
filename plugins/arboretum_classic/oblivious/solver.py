"""The best oblivious tree of a small depth, with proof."""

from __future__ import annotations

import time

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Choice,
    Context,
    Facts,
    Problem,
    Solution,
    Status,
    TestRule,
    Tree,
    assemble,
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
        return _Sets(problem, self._depth(problem), context).solution(context)

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels on a few of the objects."""
        from arboretum.api import sample

        small = attrs.evolve(problem, objects=sample(problem.objects))
        _Sets(small, min(2, self._depth(problem)), Context()).solution(Context())

    @staticmethod
    def _depth(problem: Problem) -> int:
        objects, parts = problem.objects, problem.parts
        refuse_unfit("oblivious", objects, problem.prices)
        rule, depth = parts.leaf_rule(obeyed=("max_depth",)), parts.limits().max_depth
        if depth is None:
            raise CapabilityError(
                "solver oblivious needs a number of levels; add stopping=[standard] "
                "stopping.standard.max_depth=3"
            )
        if rule.theta or rule.delta is not None or rule.min_split > 2 or rule.min_objects:
            raise CapabilityError(
                "solver oblivious divides all nodes of a level, whatever they hold; use "
                "stopping=[standard] with max_depth alone"
            )
        return depth


class _Sets:
    """The search over sets of tests of one problem."""

    def __init__(self, problem: Problem, depth: int, context: Context) -> None:
        objects, objective = problem.objects, problem.parts.objective
        self.problem, self.context = problem, context
        context.look(PER_ROW * len(objects.codes) + PER_CODE * objects.codes.size)
        context.room(8 * objects.codes.size, f"equal rows among {objects.n_objects:,} objects")
        rows, self.group = np.unique(
            np.ascontiguousarray(objects.codes), axis=0, return_inverse=True
        )
        self.group = self.group.reshape(-1)
        weights = np.zeros((len(rows), objects.n_classes))
        np.add.at(weights, (self.group, objects.label), objects.weight)
        self.costs = np.ascontiguousarray(objective.label_costs(weights, problem))
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
        self.chosen, self.cells, self.n_cells = (
            np.zeros(k, np.int64),
            np.zeros((k + 1, n), np.int32),
            np.ones(k + 1, np.int64),
        )

    def _tests(self, rows: np.ndarray) -> None:
        """Tests that divide the rows, each way of dividing once (the cheapest), the best by
        themselves first.
        """
        objects, prices, mu = (
            self.problem.objects,
            self.problem.prices.tests,
            getattr(self.problem.parts.objective, "mu", 0.0),
        )
        found: dict[bytes, tuple[float, int, np.ndarray]] = {}
        first = objects.test_offset
        for f, feature in enumerate(objects.features):
            code = rows[:, f].astype(np.int64)
            for index in range(feature.n_tests):
                self.context.look(
                    PER_OUTCOME * len(rows) * (objects.n_tests - int(first[f]) - index)
                )
                outcome = {"multiway": code, "thresholds": code > index, "equals": code != index}[
                    feature.family.value
                ]
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

    def solution(self, context: Context) -> Solution:
        """Search until all is known or the time is up."""
        from arboretum_classic.oblivious import set_kernels as kernels

        n, lam, k = len(self.costs), self.problem.parts.objective.lam, len(self.chosen)
        alone = float(self.costs.sum(axis=0).min()) + lam
        best, state = (np.array([alone]), np.zeros(max(1, k), np.int64)), np.zeros(4, np.int64)
        room = n * max(self.arity, min(n, self.arity ** min(k, 40)))
        scratch = (
            np.full(room, -1, np.int32),
            np.zeros((n + 1, self.costs.shape[1])),
            np.zeros(n, np.int32),
        )
        t = len(self.tests)
        suffix = np.zeros((t + 1, n), np.int32), np.ones(t + 1, np.int64), np.zeros(t + 1)
        context.look(t * n)
        kernels.suffixes(self.outcomes, self.arity, self.costs, *scratch[:2], *suffix)
        # of sets whose first test is t or later
        least = suffix[2] + 2 * lam + np.append(np.minimum.accumulate(self.prices[::-1])[::-1], 0.0)
        tests, late = (self.outcomes, self.arity, self.costs), False
        state[kernels.DONE] = k == 0
        interrupt: Facts = {}
        try:
            while not (state[kernels.DONE] or late):
                late = context.deadline is not None and time.monotonic() >= context.deadline
                if not late:
                    slack = 1e-12 * alone  # rounding of sums
                    kernels.search_sets(
                        tests,
                        suffix,
                        self.prices,
                        lam,
                        slack,
                        WORK,
                        state,
                        self.chosen,
                        self.cells,
                        self.n_cells,
                        best,
                        scratch,
                    )
                    low = (
                        best[0][0]
                        if state[kernels.DONE]
                        else min(best[0][0], least[self.chosen[0]])
                    )
                    context.proven(float(low), float(best[0][0]))
                    if low >= best[0][0] - slack:
                        break
        except KeyboardInterrupt as error:  # what is known is kept
            late, interrupt = True, {"interrupted": error.args[0] if error.args else True}
        low = best[0][0] if not late else min(best[0][0], least[self.chosen[0]])
        tree = self._tree(
            [
                self.tests[one]
                for one in sorted(
                    best[1][: state[kernels.SIZE]].tolist(), key=lambda one: self.tests[one]
                )
            ]
        )
        value = self.problem.parts.objective.value(tree, self.problem)
        proven = not late or low >= value
        ended = "the search was interrupted" if interrupt else "budget.seconds ran out"
        notes = (
            ()
            if proven
            else (
                f"{ended} after {state[kernels.SETS]:,} sets: no oblivious tree is below {low:g}",
            )
        )
        status = Status.optimal if proven else Status.feasible
        return Solution(
            tree,
            value,
            value if proven else float(min(low, value)),
            status,
            int(state[kernels.SETS]),
            proven,
            notes,
            interrupt,
        )

    def _tree(self, tests: list[int]) -> Tree:
        """The tree that asks these tests, level by level."""
        objects, prices = self.problem.objects, self.problem.prices.tests
        first = objects.test_offset
        rules: list[TestRule] = [objects.rule(test) for test in tests]
        outcomes = []
        for test in tests:
            f = int(np.searchsorted(first, test, side="right")) - 1
            code, index = objects.codes[:, f].astype(np.int64), test - int(first[f])
            outcomes.append(
                {"multiway": code, "thresholds": code > index, "equals": code != index}[
                    objects.features[f].family.value
                ].astype(np.int64)
            )
        heaviest = [int(np.bincount(outcome, objects.weight).argmax()) for outcome in outcomes]

        def choose(place: tuple[int, np.ndarray]) -> Choice:
            level, rows = place
            weights, count = (
                np.bincount(objects.label[rows], objects.weight[rows], objects.n_classes),
                float(objects.count[rows].sum()),
            )
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
        return attrs.evolve(
            tree,
            label=self.problem.parts.objective.label_costs(tree.weights, self.problem).argmin(
                axis=1
            ),
        )
