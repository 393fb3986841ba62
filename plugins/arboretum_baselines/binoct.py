"""BinOCT: the tree of least error of a depth as a mixed-integer linear program, which HiGHS
solves.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Context,
    Ended,
    Problem,
    Solution,
    TwoWay,
    param,
    two_way_problem,
)
from arboretum_baselines.binary import (
    room_of,
)

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint, OptimizeResult

WHOLE = 1e-6
"""By how much HiGHS lets a constraint, or a variable's wholeness, be missed."""
BYTES = 48
"""Per entry of the matrix: scipy's, while it is made, and HiGHS's by rows and by columns."""
SOLVED, OUT_OF_TIME = 0, 1
"""Status of scipy's milp."""
PER_ENTRY = 300
"""Steps for an entry of the matrix, until HiGHS, which looks at no clock before, has made it
smaller.
"""
LOOK = 0.05
"""Seconds after which Ctrl-C is looked for."""


@attrs.frozen
class BinOct:
    """BinOCT: least error within a depth as a mixed-integer program over complete trees, solved by
    HiGHS (scipy).

    One 0/1 variable per node and test, and per leaf and class; which leaf a group of equal rows
    reaches follows from the tests, by one constraint for each node, test and side, summed over
    groups.  Knows no price of a leaf: ``objective.lam=0``.
    """

    kind = "solver"
    name = "binoct"
    paper = "Verwer & Zhang 2019"
    capabilities = ("classification", "multiclass", "weights", "exact", "anytime")
    needs = ("objective",)
    minimises = ("additive",)
    limits = ("max_depth",)
    example = (
        "dataset=play-tennis method=exact solver=binoct objective=accuracy objective.lam=0 "
        "stopping.standard.max_depth=2"
    )

    tight: bool = param(
        False,
        "a constraint for each node, side and group, not summed over groups: another program "
        "than BinOCT's, solved sooner",
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError or DataError with the way out,
        BudgetError for too little memory.
        """
        found = two_way_problem(problem, self.name, self.limits, context=context)
        depth = problem.parts.limits().max_depth
        if depth is None or found.leaf:
            raise CapabilityError(
                "solver binoct needs stopping.standard.max_depth, and objective.lam=0: its "
                "program knows no price of a leaf"
            )
        try:
            import scipy.optimize  # noqa: F401
        except ModuleNotFoundError:
            raise CapabilityError(
                "solver binoct needs HiGHS, which scipy brings; install it with pip install scipy"
            ) from None
        n_tests, n_groups = found.outcome.shape
        program = Program(found, min(depth, n_tests, n_groups - 1), self.tight)
        room_of(context, BYTES * program.entries, f"{program.entries:,} entries of its matrix")
        context.check_time(PER_ENTRY * program.entries)
        ended = Ended.of(lambda: program.solve(context))
        details = {"variables": program.width, "constraints": program.height}
        return found.solution(
            found.tree(program.best),
            found.value(program.lower),
            ended,
            (program.visited, "nodes of the branch and bound"),
            details,
        )


class Program:
    """The program of a problem; its variables are tests of nodes, classes of leaves, leaves of
    groups, and what leaves cost.

    Costs are counted beyond what every tree pays, in units of the greatest one of a group, so that
    no coefficient but a sum is above 1.

    best : of the trees found, as ``TwoWay.tree`` reads it.
    upper, lower : what it costs, and what is proven.
    visited : nodes so far.
    """

    def __init__(self, found: TwoWay, depth: int, tight: bool) -> None:
        """Lay out the variables of the program: tests of nodes, labels of leaves, leaves of groups,
        costs of leaves.

        tight : see :class:`BinOct`.
        """
        self._found, self._depth, self._tight = found, depth, tight
        self._own = found.cost - found.cost.min(axis=1, keepdims=True)
        held = self._own.any(axis=1)  # what no label helps goes anywhere
        self._scale = float(self._own.max(initial=1))
        self._cost = self._own[held]
        self._outcome = found.outcome[:, held]
        (self._tests, self._groups), self._classes = self._outcome.shape, self._own.shape[1]
        self._inner, self._leaves = 2**depth - 1, 2**depth
        sizes = (
            self._inner * self._tests,
            self._leaves * self._classes,
            self._groups * self._leaves,
            self._leaves,
        )
        self._at = np.cumsum([0, *sizes])
        self.width, self.height, self.visited = int(self._at[-1]), 0, 0
        self.best, self.lower = np.array([[-1, -1, -1]]), found.inevitable
        self.upper = found.inevitable + int(self._own.sum(axis=0).min())

    @property
    def entries(self) -> int:
        """About so many numbers does the matrix hold."""
        each = (
            self._inner * self._tests
            if self._tight
            else self._depth * self._tests * self._leaves // 2
        )
        return int(self._groups * (each + (self._depth + self._classes + 1) * self._leaves))

    def solve(self, context: Context) -> str:
        """ "" or what ended it before its end.

        HiGHS returns nothing before it ends, and hears no Ctrl-C: it works in a thread, round by
        round, each of twice the time; the last tree and bound of a round are kept.
        """
        if self.lower == self.upper or not self._depth:
            self.lower = self.upper
            return ""
        constraints, seconds, presolve = self._list_constraints(), 1.0, True
        context.progress(
            0, None, f"a program of {self.width:,} variables and {self.height:,} constraints"
        )
        while True:
            left = math.inf if context.deadline is None else context.deadline - time.monotonic()
            if left <= 0:
                return "seconds"
            answer = self._solve_once(constraints, min(seconds, left), presolve)
            self._take_answer(answer)
            context.proven(self._found.value(self.lower), self._found.value(self.upper))
            if self.lower == self.upper:
                return ""
            if answer.status == OUT_OF_TIME:
                seconds *= 2
            elif presolve:
                # what it says is optimal of the smaller program may miss the constraints of
                # this one
                presolve = False
            else:
                return f"digits of HiGHS {answer.message}"

    def _solve_once(
        self, constraints: LinearConstraint, seconds: float, presolve: bool
    ) -> OptimizeResult:
        """Return what milp answers within so many ``seconds``, under the constraints of
        :meth:`_list_constraints`.

        presolve : whether it may simplify the program before.
        """
        from scipy.optimize import Bounds, milp

        place, answers = np.arange(self.width), []
        high = np.where(place < self._at[3], 1.0, np.inf)

        def work() -> None:
            objective, whole = (place >= self._at[3]).astype(float), place < self._at[2]
            options = {"mip_rel_gap": 0.0, "time_limit": seconds, "presolve": presolve}
            answers.append(
                milp(
                    objective,
                    integrality=whole,
                    bounds=Bounds(0, high),
                    constraints=constraints,
                    options=options,
                )
            )

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(LOOK)
        return answers[0]

    def _take_answer(self, answer: OptimizeResult) -> None:
        """Keep a better tree, and a higher bound: each entry of a leaf's cost may be missed by
        WHOLE, and costs are whole numbers.
        """
        bound = answer.get("mip_dual_bound")
        self.visited = self.visited + int(answer.get("mip_node_count") or 0)
        if answer.x is not None:
            nodes, cost = self._read_tree(
                answer.x[: self._at[1]].reshape(self._inner, self._tests).argmax(axis=1)
            )
            if cost < self.upper:
                self.best, self.upper = nodes, cost
        if bound is not None and math.isfinite(bound):
            slack = WHOLE * self._leaves * (self._groups + 1)
            self.lower = min(
                self.upper,
                max(self.lower, self._found.inevitable + math.ceil(self._scale * (bound - slack))),
            )

    def _list_constraints(self) -> LinearConstraint:
        """Return one test per node, one class per leaf, one leaf per group, none on the wrong side
        of a test, and what leaves cost.
        """
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_array

        columns, values, ends, low, high = [], [], [0], [], []

        def add(where: np.ndarray, what: float | np.ndarray, least: float, most: float) -> None:
            """Add the row least ≤ Σ what · variables ``where`` ≤ most."""
            ends.append(ends[-1] + len(where))
            columns.append(where.astype(np.int32))
            values.append(np.broadcast_to(np.asarray(what, float), len(where)))
            low.append(least)
            high.append(most)

        test_of = self._at[0] + np.arange(self._inner * self._tests).reshape(
            self._inner, self._tests
        )
        class_of = self._at[1] + np.arange(self._leaves * self._classes).reshape(
            self._leaves, self._classes
        )
        leaf_of = self._at[2] + np.arange(self._groups * self._leaves).reshape(
            self._groups, self._leaves
        )
        for one in (*test_of, *class_of, *leaf_of):
            add(one, 1, 1, 1)
        for node in range(self._inner):
            level = (node + 1).bit_length() - 1
            span, first = self._leaves >> level, (node + 1 - (1 << level)) * (self._leaves >> level)
            sides = np.arange(first, first + span // 2), np.arange(first + span // 2, first + span)
            if self._tight:  # a group is on a side by one of the tests that send it there
                for group, outcome in enumerate(self._outcome.T):
                    for side, sent in zip(sides, (~outcome, outcome), strict=True):
                        add(
                            np.append(leaf_of[group, side], test_of[node, sent]),
                            np.append(np.ones(len(side)), -np.ones(sent.sum())),
                            -np.inf,
                            0,
                        )
                continue
            # where a test is asked, none of those that it sends elsewhere is on a side
            for test, outcome in enumerate(self._outcome):
                for side, wrong in zip(sides, (outcome, ~outcome), strict=True):
                    where, n = leaf_of[np.ix_(wrong, side)].ravel(), float(wrong.sum())
                    add(
                        np.append(where, test_of[node, test]),
                        np.append(np.ones(len(where)), n),
                        -np.inf,
                        n,
                    )
        for leaf in range(self._leaves):
            # a leaf costs at least what its class costs
            for k, cost in enumerate(self._cost.T / self._scale):
                where = np.concatenate([leaf_of[:, leaf], [class_of[leaf, k], self._at[3] + leaf]])
                add(where, np.concatenate([cost, [cost.sum(), -1.0]]), -np.inf, float(cost.sum()))
        self.height = len(low)
        matrix = csr_array(
            (np.concatenate(values), np.concatenate(columns), np.array(ends, np.int32)),
            shape=(self.height, self.width),
        )
        return LinearConstraint(matrix, low, high)

    def _read_tree(self, chosen: np.ndarray) -> tuple[np.ndarray, int]:
        """Return a tree and what it costs, without nodes whose test does not divide the groups that
        reach them.

        chosen : test of each inner node.
        """
        nodes: list[list[int]] = []
        outcome, cost = self._found.outcome, self._found.inevitable

        def grow(node: int, held: np.ndarray) -> int:
            """Write the nodes from node ``node`` of the full tree down, for the groups ``held``
            that reach it, int64[·]; return the number of the first.
            """
            nonlocal cost
            while node < self._inner:
                goes = outcome[chosen[node]][held]
                if goes.any() and not goes.all():
                    break
                node = 2 * node + 1 + int(goes.all())
            at = len(nodes)
            nodes.append([-1, -1, -1])
            if node < self._inner:
                nodes[at] = [
                    int(chosen[node]),
                    grow(2 * node + 1, held[~goes]),
                    grow(2 * node + 2, held[goes]),
                ]
            else:
                cost += int(self._own[held].sum(axis=0).min())
            return at

        grow(0, np.arange(outcome.shape[1]))
        return np.array(nodes), cost
