"""The one loop that grows every greedy tree: contingency tables → criterion → best test → stop or recurse."""

from __future__ import annotations

import heapq
import math
import time
from collections import deque
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from arboretum.engine.search.assemble import Grown, to_tree
from arboretum.engine.search.bounded import BoundedEngine
from arboretum.engine.search.choose import choose
from arboretum.engine.search.coded import CodedEngine
from arboretum.engine.search.coded_subtree import CodedSubtrees
from arboretum.engine.search.contract import Candidate, Cell, Engine, branch_prices
from arboretum.engine.search.coverage_state import CoverageState
from arboretum.engine.search.fit_check import check_parts, two_outcomes_only
from arboretum.engine.search.compiled_criterion import CompiledCriterion, component_name
from arboretum.engine.search.made import MadeEngine
from arboretum.engine.search.memory import check_memory
from arboretum.engine.search.plan import BINNED, CODED, MADE, SORTED, Plan
from arboretum.engine.search.raw import PresortedEngine
from arboretum.engine.search.shares import grow_by_shares
from arboretum.engine.search.statistics import Statistics
from arboretum.engine.search.subtree import Subtrees
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.method import Context, Problem
from arboretum.kernels.counting import partition
from arboretum.model.encoded import Node
from arboretum.model.solution import Solution, Status

ORDERS = ("depth", "breadth", "best")


def grow(
    problem: Problem, context: Context, *, order: str = "depth", allow_constant: bool = False, compiled: bool = True
) -> Solution:
    """Grow a tree greedily.

    order : ``depth`` (first), ``breadth`` (first), or ``best``: always the open node whose chosen test has the highest
        score, ties to the node found first; the gain of a node is that score and nothing else.
    allow_constant : tests with a single outcome at the node compete too; not with a predicate, whose tests are made at
        the node, so that nobody could tell whether one was asked before.
    compiled : subtrees of small nodes may be grown inside a kernel; the tree is the same.

    A leaf budget (``Limits.max_leaves``) is spent in that order: a node is divided only if the tree would keep at most
    so many leaves were all open nodes leaves.  ``min_decrease`` refuses a test whose score is not above it
    (by more than the tolerance of ties).  When the
    deadline passes, open nodes become leaves; the solution then is not ``finished`` and says so in a note.

    Missing values, unless the run's ``missing`` says otherwise (then growth goes by shares): a two-outcome test is scored
    with the node's missing rows in outcome 0 and in outcome 1, and the better one is kept (ties: outcome 0); a multiway test sends them to its heaviest outcome.  A node without missing
    rows sends later ones to its heaviest outcome (ties: lowest).  Whether a test is constant is judged on known values.

    Returns a Solution with status feasible and value NaN: what matters is its tree.
    Raises CapabilityError for parts that do not fit, ContractError when a component breaks its contract, BudgetError when
    the memory allowed is less than what growing is estimated to need.
    """
    if order not in ORDERS:
        raise ConfigError(unknown("order of growth", str(order), ORDERS))
    if problem.parts.by_shares:
        return grow_by_shares(problem, context, order, allow_constant)
    growth = Growth.of(problem, context, allow_constant, order)
    check_memory(growth.space, growth.scorer, growth.plan, compiled, context.memory_bytes)
    if compiled:
        growth.use_subtrees()
    root = growth.run(order)
    tree = to_tree(root, problem.objects, growth.space.statistics)
    return Solution(tree, math.nan, math.nan, Status.feasible, growth.expanded, not growth.stopped, growth.notes(order, compiled))


@attrs.define(eq=False)
class Open:
    """A node whose test is chosen, waiting to be divided (or a leaf if there is none)."""

    grown: Grown
    cell: Cell
    node: Node
    candidate: Candidate | None = None


@attrs.define(eq=False)
class Growth:
    """One growth: what stays the same over all nodes, and the counters."""

    problem: Problem
    context: Context
    space: Workspace
    scorer: CompiledCriterion
    plan: Plan
    limits: Any
    total_mass: float
    subtrees: Subtrees | CodedSubtrees | None = None
    expanded: int = 0
    leaves: int = 1
    stopped: bool = False
    refused: int = 0
    settled: int = 0
    last_report: float = attrs.field(factory=time.monotonic)

    @staticmethod
    def of(problem: Problem, context: Context, allow_constant: bool, order: str = "depth") -> Growth:
        """Prepare a growth: components checked and compiled, its way decided."""
        objects, parts = problem.objects, problem.parts
        statistics = Statistics.of(objects, bool(getattr(parts.criterion, "counts_objects", False)))
        scorer = CompiledCriterion.of(parts.criterion, parts.impurity, statistics, context.seed, parts.coverage)
        check_parts(problem, scorer, statistics, allow_constant)
        limits = parts.limits()
        space = Workspace.of(objects, problem.prices, statistics, limits, allow_constant)
        plan = Plan.of(problem, space, scorer, order, context.deadline is not None)
        growth = Growth(problem, context, space, scorer, plan, limits, float(statistics.weight.sum()))
        space.coverage_state = CoverageState.of(parts.coverage, objects, growth.report)
        return growth

    def use_subtrees(self) -> None:
        """Grow small nodes by a kernel, where the plan has one."""
        if self.plan.kernel:
            kind = Subtrees if self.plan.kernel == "raw" else CodedSubtrees
            self.subtrees = kind.of(self.problem, self.space, self.scorer, self.context.deadline is not None)

    @cached_property
    def engines(self) -> tuple[Engine, ...]:
        """Opened when a node needs them: raw columns are sorted or binned then."""
        make = {
            CODED: CodedEngine, BINNED: BoundedEngine, SORTED: PresortedEngine,
            MADE: lambda space: MadeEngine(space, self.problem.parts.predicate, self.context.seed, two_outcomes_only(self.scorer)),
        }  # fmt: skip
        return tuple(make[name](self.space) for name in self.plan.engines)

    def run(self, order: str) -> Grown:
        """Grow from the root; returns it with its descendants."""
        first = self.look(Cell(0, self.problem.objects.n_objects, 0))
        waiting = Best() if order == "best" else First(last_in_first_out=order == "depth")
        waiting.push(first, self)
        while (item := waiting.pop(self)) is not None:
            self.report()
            if item.candidate is None or not self.may_divide(item):
                self.close(item)
                continue
            waiting.extend(self.divide(item), self)
        return first.grown

    # -- one node --------------------------------------------------------------------------------------------------

    def look(self, cell: Cell) -> Open:
        """Describe a node; ``cell.wanted`` says whether its tests are to be scored."""
        rows = self.space.rows[cell.low : cell.high]
        statistics = self.space.statistics
        weights, counts = statistics.totals(rows)
        mass = float(weights[0] if statistics.moments else weights.sum())
        impurity = self.scorer.node_impurity(weights, statistics, rows)
        sizes = statistics.rows_in(rows, counts), len(rows)
        node = Node(weights, counts, mass, self.total_mass, impurity, cell.depth, self.coverage_of(rows), *sizes)
        cell.wanted = not self.is_leaf(cell, node, rows)
        grown = Grown(weights, node.count, self.leaf_value(weights, rows), impurity)
        return Open(grown, cell, node)

    def coverage_of(self, rows: np.ndarray) -> float:
        """``node.coverage``, where somebody looks at it."""
        coverage_state, rules = self.space.coverage_state, self.problem.parts.stopping
        if coverage_state is None or not (self.scorer.sums_gain or any(getattr(rule, "needs_coverage", False) for rule in rules)):
            return 0.0
        rows = rows.astype(np.int64)
        return coverage_state.mean(rows, coverage_state.visit(rows))

    def leaf_value(self, weights: np.ndarray, rows: np.ndarray) -> float:
        """What a leaf predicts (regression): the impurity's ``leaf_value``, by default the weighted mean."""
        statistics = self.space.statistics
        if not statistics.moments:
            return math.nan
        if hasattr(self.scorer.impurity, "leaf_value"):
            value = self.scorer.impurity.leaf_value(statistics.y[rows], statistics.weight[rows])
        else:
            value = weights[1] / weights[0]
        return float(value) + statistics.shift

    def is_leaf(self, cell: Cell, node: Node, rows: np.ndarray) -> bool:
        """The rules that need no score."""
        limits = self.limits
        return (
            self.space.statistics.is_pure(rows, node.counts)
            or (limits.max_depth is not None and cell.depth >= limits.max_depth)
            or node.count < 2 * limits.min_leaf
            or node.mass < 2.0 * self.space.min_weight
            or (limits.max_leaves is not None and limits.max_leaves < 2)
            or any(rule.is_leaf(node) for rule in self.problem.parts.stopping)
        )

    def score(self, item: Open) -> None:
        """Choose the node's test, if it may have one."""
        if not item.cell.wanted or self.late() or self.finish(item):
            return
        candidate = choose(self.engines, item.cell, item.node, self.scorer, self.space)
        least = self.limits.min_decrease
        # above it by more than ties: a gain of 0 is often 1e-17 once it is summed
        if candidate is not None and (least is None or candidate.score > least + self.scorer.tie_floor(item.node)):
            item.candidate = candidate

    def finish(self, item: Open) -> bool:
        """Grow the whole subtree of a small node at once, if that is possible."""
        if self.subtrees is None or not self.subtrees.takes(item.cell, item.node):
            return False
        divided = self.subtrees.grow(item.cell, item.grown, self.late)
        if divided < 0:  # a NaN: the loop will meet it, too, and name the test
            self.subtrees = None
            return False
        self.expanded += divided
        return True

    def late(self) -> bool:
        """Whether the deadline has passed."""
        deadline = self.context.deadline
        if not self.stopped and deadline is not None and time.monotonic() >= deadline:
            self.stopped = True
            self.context.progress(self.settled, self.problem.objects.n_objects, "stopped early: the time is up")
        return self.stopped

    def may_divide(self, item: Open) -> bool:
        """Whether the leaf budget allows as many more leaves as the test has outcomes with objects."""
        most = self.limits.max_leaves
        if most is None:
            return True
        outcome = item.candidate.engine.outcomes(item.cell, item.candidate)
        allowed = self.leaves - 1 + len(np.unique(outcome)) <= most
        self.refused += not allowed
        return allowed

    def divide(self, item: Open) -> list[Open]:
        """Ask the chosen test; return the children."""
        candidate, cell, grown = item.candidate, item.cell, item.grown
        engine, space = candidate.engine, self.space
        rows = space.rows[cell.low : cell.high]
        outcome = engine.outcomes(cell, candidate)
        grown.rule = engine.rule(cell, candidate)
        grown.price, grown.score = candidate.price, candidate.score
        arity = engine.arity(cell, candidate)
        grown.branch_price = branch_prices(cell, candidate, space.prices.at(cell.asked, cell.paid))
        start = np.empty(arity + 1, np.int64)
        partition(rows, outcome, start, space.spare)
        below = self._child_cells(cell, candidate, start, grown.branch_price)
        children = [None if c is None else self.look(c) for c in below]
        present = [c for c in children if c is not None]
        for each in self.engines:
            each.divide(cell, [c.cell for c in present], start)
        grown.children = [None if c is None else c.grown for c in children]
        mass = [0.0 if c is None else c.node.mass for c in children]
        grown.missing_child = candidate.side if candidate.side >= 0 else int(np.argmax(mass))
        self.leaves += len(present) - 1
        self.expanded += 1
        return present

    def _child_cells(self, cell: Cell, candidate: Candidate, start: np.ndarray, price: list[float]) -> list[Cell | None]:
        asked = cell.asked | candidate.engine.columns(cell, candidate)
        used = cell.used
        if self.space.allow_constant and (number := candidate.engine.test_number(candidate.feature, candidate.index)) >= 0:
            used = (*used, number)
        return [
            Cell(cell.low + int(a), cell.low + int(b), cell.depth + 1, asked=asked, paid=cell.paid + p, used=used) if b > a else None
            for a, b, p in zip(start[:-1], start[1:], price, strict=True)
        ]

    def close(self, item: Open) -> None:
        """The node stays a leaf."""
        if item.cell.memo:
            for engine in self.engines:
                engine.close(item.cell)
        self.settled += item.cell.size

    def report(self) -> None:
        """Tell of progress, at most twice a second."""
        now = time.monotonic()
        if now - self.last_report > 0.5:
            self.last_report = now
            how = ", scoring by the definition of coverage, which has no kernel here" if self.scorer.sums_gain else ""
            self.context.progress(self.settled, self.problem.objects.n_objects, f"{self.expanded} nodes divided{how}")

    def notes(self, order: str, compiled: bool) -> tuple[str, ...]:
        """What the reader of the result should know."""
        found = []
        if self.stopped:
            found.append(f"budget.seconds ran out: the tree is cut short after {self.expanded} splits")
        if self.refused and order != "best":
            found.append(
                f"the {self.limits.max_leaves} leaves were spent {order}-first, whatever a test gains; method.order=best spends them by gain"
            )
        if self.scorer.sums_gain and self.scorer.kernel is None:
            parts = self.problem.parts
            coverage, impurity = ", ".join(map(component_name, parts.coverage)), component_name(parts.impurity)
            found.append(
                f"criterion {component_name(parts.criterion)} has no kernel for coverage={coverage} with impurity={impurity}: "
                "scored by its definition, object by object"
            )
        elif compiled and self.plan.note:
            found.append(self.plan.note)
        return tuple(found)


class First:
    """Open nodes in depth-first (left to right) or breadth-first order; tests are chosen when a node's turn comes."""

    def __init__(self, last_in_first_out: bool) -> None:
        self._lifo = last_in_first_out
        self._items: deque[Open] = deque()

    def push(self, item: Open, growth: Growth) -> None:
        self._items.append(item)

    def extend(self, items: list[Open], growth: Growth) -> None:
        self._items.extend(reversed(items) if self._lifo else items)

    def pop(self, growth: Growth) -> Open | None:
        if not self._items:
            return None
        item = self._items.pop() if self._lifo else self._items.popleft()
        growth.score(item)
        return item


class Best:
    """Open nodes by the score of their test, highest first; tests are chosen when a node is found."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Open]] = []
        self._number = 0

    def push(self, item: Open, growth: Growth) -> None:
        growth.score(item)
        gain = -math.inf if item.candidate is None else item.candidate.score
        heapq.heappush(self._heap, (-gain, self._number, item))
        self._number += 1

    def extend(self, items: list[Open], growth: Growth) -> None:
        for item in items:
            self.push(item, growth)

    def pop(self, growth: Growth) -> Open | None:
        return heapq.heappop(self._heap)[2] if self._heap else None
