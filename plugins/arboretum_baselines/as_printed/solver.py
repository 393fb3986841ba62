"""The solver ``gosdt_reference``: GOSDT as printed, its schedule a parameter, its dependency
graph to be looked at.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    PER_OUTCOME,
    Context,
    Facts,
    Problem,
    Solution,
    TwoWay,
    few,
    param,
    two_way_problem,
)
from arboretum_baselines.binary import SETUP_STEPS, InSlices, four_rows, room_of, words_of

if TYPE_CHECKING:
    from arboretum_baselines.as_printed.graph_kernels import Graph


class Rule(enum.IntEnum):
    """Which set's turn it is, the least value first; numbers as in ``graph_kernels``."""

    curiosity = 0
    """Lower bound over the share of the weight."""
    objective = 1
    """Upper bound."""
    bound = 2
    """Lower bound."""
    entropy = 3
    """Entropy of the classes, times the share of the weight."""
    gini = 4
    """Gini's index, times the share of the weight."""
    fifo = 5
    """The set that waits longest."""
    random = 6


@attrs.frozen
class GosdtReference:
    """GOSDT by its printed algorithms: a queue of sets of rows, a graph of their dependence, bounds
    that move upward.

    Minimises weighted errors + λ · leaves.  For comparison: ``solver=gosdt`` is the fast one, with
    more bounds, limits and proofs.
    """

    kind = "solver"
    name = "gosdt_reference"
    paper = "Lin, Zhong, Hu, Rudin & Seltzer 2020"
    capabilities = ("classification", "multiclass", "weights", "exact", "anytime")
    needs = ("objective",)
    minimises = ("additive",)
    example = "dataset=monk1-full method=gosdt_reference objective.lam=0.03"

    rule: Rule = param(Rule.fifo, "which waiting set of rows comes next, the least value first")
    high: bool = param(True, "whether parents of an updated set go to the head of the queue")
    graph: str = param(
        "",
        "file (.dot or .svg) for the dependency graph with its bounds, of a small problem; "
        "nothing: none",
        writes=True,
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError or DataError with the way out;
        ConfigError or StoreError for a file that cannot be written.
        """
        from arboretum_baselines.as_printed.drawing import check_file, write_graph

        if self.graph:
            check_file(self.graph)
        found = two_way_problem(problem, self.name, context=context)
        tests, groups = found.outcome.shape
        room = room_of(
            context, 10 * tests * groups, f"{tests:,} tests of {groups:,} groups of rows"
        )
        context.check_time(SETUP_STEPS * PER_OUTCOME * tests * groups)
        search = PrintedSearch(found, self.rule, self.high, context.seed)

        def report() -> None:
            context.proven(found.value(search.lower), found.value(search.upper))
            context.progress(
                0, None, f"{search.iterations:,} iterations, {search.known:,} sets of rows"
            )

        ended = search.run(room, context, report)
        details = {
            "iterations": search.iterations,
            "sets": search.known,
            "expanded": search.expanded,
            "updates": search.updates,
        }
        solution = found.solution(
            found.tree(search.tree()),
            found.value(search.lower),
            ended,
            (search.iterations, "iterations"),
            details,
        )
        if self.graph:
            solution = attrs.evolve(
                solution, notes=(*solution.notes, *write_graph(self.graph, search))
            )
        return solution

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels, on four rows."""
        two_way_problem(few(problem), self.name)
        search = PrintedSearch(four_rows(problem, 9, 1), self.rule, self.high, 0)
        search.run(10**6, Context())


class PrintedSearch(InSlices):
    """The search on a problem, to be left and entered again."""

    def __init__(self, found: TwoWay, rule: Rule, high: bool, seed: int) -> None:
        """Allocate the graph, with the root alone.

        rule : of scheduling; seed : of the rule that draws.
        high : whether updates go upward before all others.
        """
        from arboretum.kernels.solving.fingerprints import random_words
        from arboretum.kernels.solving.memo import MemoArrays
        from arboretum_baselines.as_printed import graph_kernels as kernels

        self.found, self.kernels = found, kernels
        (tests, groups), labels = found.outcome.shape, found.cost.shape[1]
        packed = words_of(found.outcome)
        mask = np.multiply(found.outcome.T, np.int64(-1), order="C")
        self._data = kernels.Data(
            mask, packed[:-1], found.cost, found.cost.min(axis=1), random_words(groups)
        )
        words = np.zeros(tests, np.uint64)
        whole = np.zeros(tests, np.int64)
        self._sums = kernels.Sums(
            np.zeros((labels, tests), np.int64),
            whole,
            words,
            words.copy(),
            whole.copy(),
            np.zeros(labels, np.int64),
        )
        edges = ("child", "higher", "owner")
        fields: Facts = dict.fromkeys(kernels.Graph._fields[1:], np.int64)
        fields |= {"rows": (np.uint64, packed.shape[1]), "share": np.float64, "key": np.float64}
        self._memo = MemoArrays(
            {name: kind for name, kind in fields.items() if name not in edges},
            child=np.empty(1024, np.int64),
            higher=np.empty(1024, np.int64),
            owner=np.empty(1024, np.int64),
        )
        self._memo["rows"][0] = packed[-1]
        self._settings = np.array([(found.leaf, rule, high, seed)], kernels.SETTINGS)[0]
        self._state = np.zeros(1, kernels.STATE)[0]
        kernels.begin(self._data, self.arrays(), self._sums, self._state, self._settings)

    def arrays(self) -> Graph:
        """Return the graph."""
        return self.kernels.Graph(*self._memo.values())

    lower = property(lambda self: int(self._memo["lower"][0]), doc="What no tree undercuts.")
    upper = property(lambda self: int(self._memo["upper"][0]), doc="What some tree costs.")
    known = property(lambda self: int(self._state["known"]), doc="Sets in the graph.")
    expanded = property(
        lambda self: int(self._state["expanded"]),
        doc="Sets whose children are in the graph.",
    )
    iterations = property(lambda self: int(self._state["iterations"]), doc="Sets popped.")
    updates = property(lambda self: int(self._state["updates"]), doc="Changes of bounds.")

    def steps_of(self, iterations: int) -> int:
        """Pop so many sets; return how that ended: FINISHED, PAUSED or NEED_ROOM."""
        return int(
            self.kernels.search(
                self._data, self.arrays(), self._sums, self._state, self._settings, iterations
            )
        )

    def make_room(self, memory_bytes: int) -> bool:
        """Make the graph long enough for 1,024 sets and 256 expansions more; False where it would
        take more than ``memory_bytes``.
        """
        entries = 2 * len(self.found.outcome)
        wanted, blocks = self.known + entries + 1024, self.expanded + 256
        edges = {"child": entries * blocks, "higher": entries * blocks, "owner": blocks}
        return self._memo.room_for(wanted, memory_bytes, **edges)

    def children(self, number: int) -> np.ndarray:
        """Return int64[tests, 2]: the sets of outcome 0 and 1 of the set ``number``, −1 where a
        test does not divide; without rows for a set that was not expanded.
        """
        start, tests = int(self._memo["start"][number]), len(self.found.outcome)
        return (
            self._memo["child"][start : start + 2 * tests].reshape(tests, 2)
            if start >= 0
            else np.empty((0, 2), np.int64)
        )

    def tree(self) -> np.ndarray:
        """Return the tree of Algorithm 6, as :meth:`TwoWay.tree` reads it."""
        upper, leaf = self._memo["upper"], self._memo["leaf"]

        def divided(number: int) -> tuple[int, int, int] | None:
            """Return the test of a set and those of its outcomes; None at a leaf."""
            below = self.children(number)
            splitting = np.flatnonzero(below[:, 0] >= 0)
            sums = upper[below[splitting]].sum(axis=1)
            if not len(splitting) or sums.min() >= leaf[number]:
                return None
            test = int(splitting[sums.argmin()])
            zero, other = below[test].tolist()
            return test, zero, other

        return TwoWay.nodes_of(0, divided)
