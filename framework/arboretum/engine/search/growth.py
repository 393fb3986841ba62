"""The one loop that grows every greedy tree, and what it knows of its nodes."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from arboretum.engine.monotone import Monotone, asked_of
from arboretum.engine.search.assemble import Grown
from arboretum.engine.search.bounded import BoundedEngine
from arboretum.engine.search.choose import choose_candidate, list_candidates, prepare_columns
from arboretum.engine.search.coded import CodedEngine
from arboretum.engine.search.compiled_criterion import CompiledCriterion, component_name
from arboretum.engine.search.contract import Candidate, Cell, Engine, branch_prices
from arboretum.engine.search.coverage_state import CoverageState
from arboretum.engine.search.fit_check import check_parts, scores_two_outcomes_only
from arboretum.engine.search.node_tests import NodeTestEngine
from arboretum.engine.search.plan import BINNED, CODED, NODE_TESTS, SORTED, Plan
from arboretum.engine.search.raw import PresortedEngine
from arboretum.engine.search.statistics import Statistics
from arboretum.engine.search.subtree import Subtrees
from arboretum.engine.search.workspace import Draw, Workspace
from arboretum.interfaces.method import Context, Problem
from arboretum.interfaces.stopping import Limits
from arboretum.kernels.counting import partition, send
from arboretum.model.encoded import Node, Tables

# what sums of shares may lack of a whole number of rows: 10⁶ shares lose 10⁶ · 2⁻⁵³, a tenth of
# that
ROUNDED = 1e-9


@attrs.define(eq=False)
class Open:
    """A node whose test is chosen, waiting to be divided (or a leaf if there is none)."""

    grown: Grown
    cell: Cell
    node: Node
    candidate: Any = None


@attrs.define(eq=False)
class Growth:
    """One growth: what stays the same over all nodes, and the counters.

    total_mass : weight of all training objects.
    expanded, leaves : nodes divided, and leaves if all open nodes were.
    stopped : the deadline has passed.
    refused, finished : nodes that the budget of leaves left undivided; objects in closed nodes.
    last_report : when progress was told, in seconds of the monotonic clock.
    """

    problem: Problem
    context: Context
    space: Workspace
    scorer: CompiledCriterion
    plan: Plan
    limits: Limits
    total_mass: float
    subtrees: Subtrees | None = None
    expanded: int = 0
    leaves: int = 1
    stopped: bool = False
    refused: int = 0
    finished: int = 0
    last_report: float = attrs.field(factory=time.monotonic)

    @classmethod
    def of(
        cls,
        problem: Problem,
        context: Context,
        allow_constant: bool,
        order: str = "depth",
        max_features: int | None = None,
        *,
        increasing: Sequence[str] = (),
        decreasing: Sequence[str] = (),
    ) -> Growth:
        """Prepare a growth: its components are checked and compiled, its way decided.

        allow_constant, … : as of :func:`~arboretum.engine.search.grow.grow`.
        """
        objects, parts = problem.objects, problem.parts
        statistics = Statistics.of(objects, parts.criterion, parts.impurity)
        scorer = CompiledCriterion.of(
            parts.criterion,
            parts.impurity,
            statistics,
            context.seed,
            parts.coverage,
            problem.prices.fixed,
        )
        check_parts(problem, scorer, statistics, allow_constant, max_features is not None)
        limits = parts.limits()
        space = Workspace.of(
            objects,
            problem.prices,
            statistics,
            limits,
            allow_constant,
            bool(parts.predicate) and not parts.beside_raw,
        )
        if max_features is not None:
            columns = sorted({feature.position for feature in objects.all_features})
            space.draw = Draw(max_features, np.array(columns, np.int64), context.seed)
        space.monotone = Monotone.of(problem, increasing, decreasing)
        plan = Plan.of(problem, space, scorer, order, context.deadline is not None)
        growth = cls(
            problem, context, space, scorer, plan, limits, total_mass=float(statistics.weight.sum())
        )
        space.coverage_state = CoverageState.of(parts.coverage, objects, growth.report)
        return growth

    @classmethod
    def of_run(cls, problem: Problem, context: Context) -> Growth:
        """Prepare the growth by which the run's own method grows."""
        method = problem.parts.method
        order = getattr(method, "order", "depth")
        constant = bool(getattr(method, "allow_constant", False))
        drawn = getattr(method, "max_features", None)
        rising, falling = asked_of(problem.parts)
        return cls.of(
            problem,
            context,
            constant,
            getattr(order, "value", order),
            drawn,
            increasing=rising,
            decreasing=falling,
        )

    def use_subtrees(self) -> None:
        """Grow small nodes by a kernel, where the plan has one."""
        if self.plan.kernel:
            self.subtrees = Subtrees.of(
                self.problem, self.space, self.scorer, self.context.deadline is not None
            )

    @cached_property
    def engines(self) -> tuple[Engine, ...]:
        """Opened when a node needs them: raw columns are sorted or binned then."""
        make: dict[str, Callable[[Workspace], Engine]] = {
            CODED: CodedEngine,
            BINNED: BoundedEngine,
            SORTED: PresortedEngine,
            NODE_TESTS: lambda space: NodeTestEngine(
                space,
                self.problem.parts.predicate,
                self.context.seed,
                scores_two_outcomes_only(self.scorer),
            ),
        }
        return tuple(make[name](self.space) for name in self.plan.engines)

    def run(self, order: str) -> Grown:
        """Grow from the root; return it with its descendants.

        order : depth, breadth or best.
        """
        first = self.evaluate(self.root())
        waiting = Waiting(order, self)
        waiting.push([first])
        while (item := waiting.pop()) is not None:
            self.report()
            if item.candidate is None or not self.may_split(item):
                self.close(item)
            else:
                waiting.push(self.split_node(item))
        return first.grown

    # -- one node ----------------------------------------------------------------------------------

    @property
    def n_objects(self) -> int:
        """Training objects."""
        return self.problem.objects.n_objects

    def root(self) -> Cell:
        """The cell of all objects, at depth 0."""
        return Cell(0, self.n_objects, 0)

    def rows_of(self, cell: Cell) -> np.ndarray:
        """int[k]: the objects of a node."""
        return self.space.rows[cell.low : cell.high]

    def weight_of(self, cell: Cell) -> np.ndarray:
        """Return float64[k]: what the objects of a node weigh there."""
        weight: np.ndarray = self.space.statistics.weight[self.rows_of(cell)]
        return weight

    def totals(self, cell: Cell) -> tuple[np.ndarray, np.ndarray, float]:
        """Return float64[width] weights and int64[count_width] counts of a node as a whole, and
        the training rows that its objects stand for.
        """
        rows, statistics = self.rows_of(cell), self.space.statistics
        weights, counts = statistics.totals(rows)
        return weights, counts, statistics.count_rows(rows, counts)

    def evaluate(self, cell: Cell) -> Open:
        """Return a node with its totals, impurity and coverage; ``cell.wanted`` then says whether
        its tests are to be scored.
        """
        rows, statistics = self.rows_of(cell), self.space.statistics
        weights, counts, count = self.totals(cell)
        mass = float(statistics.mass(weights))
        impurity = self.scorer.node_impurity(weights, statistics, rows)
        node = Node(
            weights,
            counts,
            mass,
            self.total_mass,
            impurity,
            depth=cell.depth,
            coverage=self.coverage_of(rows),
            n_rows=round(count),
            n_objects=self.count_objects(cell),
        )
        item = Open(Grown(weights, count, self.leaf_value(weights, cell), impurity), cell, node)
        cell.wanted = not self.reason_to_stop(item)
        return item

    def count_objects(self, cell: Cell) -> int:
        """Return how many objects a node holds, whole or in part."""
        return len(self.rows_of(cell))

    def is_pure(self, item: Open) -> bool:
        """Return whether a node's objects are of one class, or have one value of the target."""
        return self.space.statistics.is_pure(self.rows_of(item.cell), item.node.weights)

    def coverage_of(self, rows: np.ndarray) -> float:
        """Return ``node.coverage`` of some objects, 0 where nobody looks at it.

        rows : int[k].
        """
        coverage_state, rules = self.space.coverage_state, self.problem.parts.stopping
        if coverage_state is None or not (
            self.scorer.sums_gain or any(getattr(rule, "needs_coverage", False) for rule in rules)
        ):
            return 0.0
        rows = rows.astype(np.int64)
        return coverage_state.mean(rows, coverage_state.visit(rows))

    def leaf_value(self, weights: np.ndarray, cell: Cell) -> float:
        """Return what a leaf predicts: the impurity's ``leaf_value``, by default the weighted mean;
        NaN for classes, or the share of the second where predictions are monotone.

        weights : float64[3], moments of the node, or of its classes.
        """
        statistics, order = self.space.statistics, self.space.monotone
        if not statistics.moments:
            return math.nan if order is None else float(order.predicted(weights))
        if (leaf_value := getattr(self.scorer.impurity, "leaf_value", None)) is not None:
            value = leaf_value(statistics.y[self.rows_of(cell)], self.weight_of(cell))
        else:
            value = weights[1] / weights[0]
        return float(value) + statistics.shift

    def reason_to_stop(self, item: Open) -> str:
        """Return which rule makes a node a leaf before any test is scored; "" where tests
        compete.
        """
        limits, node = self.limits, item.node
        if self.is_pure(item):
            return "one class (or one value) is left"
        if limits.max_depth is not None and node.depth >= limits.max_depth:
            return f"max_depth {limits.max_depth} is reached"
        if item.grown.count < 2 * limits.min_leaf - ROUNDED:
            return f"{node.count} rows are too few for two branches of min_leaf {limits.min_leaf}"
        if node.mass < 2.0 * self.space.min_weight:
            share = node.mass / node.total_mass
            return (
                f"a share of {share:.3g} of the weight is too little for two branches of "
                f"min_mass {limits.min_mass:g}"
            )
        if limits.max_leaves is not None and limits.max_leaves < 2:
            return f"max_leaves is {limits.max_leaves}"
        found = next((rule for rule in self.problem.parts.stopping if rule.is_leaf(node)), None)
        return "" if found is None else f"the stopping rule {component_name(found)} makes it a leaf"

    def score(self, item: Open) -> None:
        """Choose the node's test and keep it in ``item``, if it may have one."""
        if not item.cell.wanted or self.late() or self.finish(item) or self.reason_to_refuse(item):
            return
        candidate, least = self.best_test(item), self.limits.min_decrease
        # above it by more than ties: a gain of 0 is often 1e-17 once it is summed
        if candidate is not None and (
            least is None or candidate.score > least + self.scorer.tie_floor(item.node)
        ):
            item.candidate = candidate

    def reason_to_refuse(self, item: Open) -> str:
        """Return which rule makes a node a leaf for what its tests are; "" where they compete."""
        rules = (rule for rule in self.problem.parts.stopping if hasattr(rule, "is_leaf_among"))
        found = next(
            (rule for rule in rules if rule.is_leaf_among(self.tables(item), item.node)), None
        )
        return (
            ""
            if found is None
            else f"the stopping rule {component_name(found)} makes it a leaf: none of its tests "
            "is good enough"
        )

    def tables(self, item: Open) -> Iterator[Tables]:
        """Yield the tables of all tests that compete at a node, many at a time."""
        prepare_columns(item.cell, item.node, self.scorer, self.space)
        return (
            block.tables
            for block in list_candidates(self.engines, item.cell, self.scorer, self.space)
        )

    def best_test(self, item: Open) -> Any:
        """Return the test with the highest score, which has a price; None where no test is
        admissible.
        """
        draw = self.space.draw
        while True:
            found = choose_candidate(self.engines, item.cell, item.node, self.scorer, self.space)
            if found is not None or draw is None or not draw.widen(item.cell):
                return found

    def finish(self, item: Open) -> bool:
        """Grow the whole subtree of a small node at once; return whether that was possible."""
        if self.subtrees is None or not self.subtrees.takes(item.cell, item.node):
            return False
        divided = self.subtrees.grow(item.cell, item.grown, self.late)
        if divided < 0:  # a NaN: the loop will meet it, too, and name the test
            self.subtrees = None
            return False
        self.expanded += divided
        return True

    def late(self) -> bool:
        """Return whether the deadline has passed; report it the first time."""
        deadline = self.context.deadline
        if not self.stopped and deadline is not None and time.monotonic() >= deadline:
            self.stopped = True
            self.context.progress(self.finished, self.n_objects, "stopped early: the time is up")
        return self.stopped

    def may_split(self, item: Open) -> bool:
        """Return whether the leaf budget allows as many more leaves as the test has outcomes with
        objects; count it where not.
        """
        most = self.limits.max_leaves
        if most is None:
            return True
        allowed = self.leaves - 1 + self.n_present(item) <= most
        self.refused += not allowed
        return allowed

    def n_present(self, item: Open) -> int:
        """Return how many outcomes of the chosen test some object has."""
        return len(np.unique(item.candidate.engine.outcomes(item.cell, item.candidate)))

    def split_node(self, item: Open) -> list[Open]:
        """Divide a node by its chosen test; return the children that have objects."""
        item.grown.price, item.grown.score = item.candidate.price, item.candidate.score
        children = self.children(item)
        item.grown.children = [None if c is None else c.grown for c in children]
        present = [c for c in children if c is not None]
        self.leaves += len(present) - 1
        self.expanded += 1
        return present

    def children(self, item: Open) -> list[Open | None]:
        """Divide the objects and return the nodes below, one per outcome, None without any."""
        candidate, cell, grown = item.candidate, item.cell, item.grown
        grown.rule = candidate.engine.rule(cell, candidate)
        grown.branch_price = branch_prices(
            cell, candidate, self.space.prices.at(cell.asked, cell.path_cost)
        )
        start = self.divide(cell, candidate)
        below = self._child_cells(cell, candidate, start, grown.branch_price)
        children = [None if c is None else self.evaluate(c) for c in below]
        if self.space.monotone is not None:
            self._hold(children, candidate, cell, self.space.monotone)
        for each in self.engines:
            each.split_node(cell, [c for c in below if c is not None], start)
        mass = [0.0 if c is None else c.node.mass for c in children]
        grown.missing_child = candidate.side if candidate.side >= 0 else int(np.argmax(mass))
        return children

    def _hold(
        self, children: list[Open | None], candidate: Candidate, cell: Cell, order: Monotone
    ) -> None:
        """Bound what the children may predict, and hold them to it."""
        weights = [None if child is None else child.node.weights for child in children]
        position, shift = candidate.place[0], self.space.statistics.shift
        found = order.bounds_below(weights, position, cell.bounds)
        for child, bounds in zip(children, found, strict=True):
            if child is not None:
                child.cell.bounds = bounds
                low, high = (bound + shift for bound in bounds)
                child.grown.value = min(max(child.grown.value, low), high)

    def divide(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        """Divide the permutation; return int64[arity + 1], as in :meth:`Engine.split_node`."""
        start = np.empty(candidate.engine.arity(cell, candidate) + 1, np.int64)
        rows, space = self.rows_of(cell), self.space
        send(rows, candidate.engine.outcomes(cell, candidate), space.goes)
        partition(rows, space.goes, start, space.spare)
        return start

    def _child_cells(
        self, cell: Cell, candidate: Candidate, start: np.ndarray, price: list[float]
    ) -> list[Cell | None]:
        """Return the children's segments of the permutation, one per outcome, None without objects.

        start : int64[arity + 1], as in :meth:`Engine.split_node`.
        price : of each outcome.
        """
        asked = cell.asked | candidate.engine.columns(cell, candidate)
        used = cell.used
        if (
            self.space.allow_constant
            and (number := candidate.engine.test_number(candidate.feature, candidate.index)) >= 0
        ):
            used = (*used, number)
        return [
            Cell(
                cell.low + int(a),
                cell.low + int(b),
                cell.depth + 1,
                asked=asked,
                path_cost=cell.path_cost + p,
                used=used,
            )
            if b > a
            else None
            for a, b, p in zip(start[:-1], start[1:], price, strict=True)
        ]

    def close(self, item: Open) -> None:
        """Make a node a leaf: engines forget it, and its objects count as finished."""
        if item.cell.memo:
            for engine in self.engines:
                engine.close(item.cell)
        self.finished += item.cell.size

    def report(self) -> None:
        """Report progress, at most twice a second."""
        now = time.monotonic()
        if now - self.last_report > 0.5:
            self.last_report = now
            how = (
                ", scoring by the definition of coverage, which has no kernel here"
                if self.scorer.sums_gain
                else ""
            )
            self.context.progress(
                self.finished, self.n_objects, f"{self.expanded} nodes divided{how}"
            )

    def notes(self, order: str, compiled: bool) -> tuple[str, ...]:
        """Return what the reader of the result should know.

        compiled : subtrees might have been grown by a kernel.
        """
        found = []
        if self.stopped:
            found.append(
                f"budget.seconds ran out: the tree is cut short after {self.expanded} splits"
            )
        if self.refused and order != "best":
            found.append(
                f"the {self.limits.max_leaves} leaves were spent {order}-first, whatever a test "
                "gains; method.order=best spends them by gain"
            )
        if self.scorer.sums_gain and self.scorer.kernel is None:
            parts = self.problem.parts
            coverage = ", ".join(map(component_name, parts.coverage))
            impurity = component_name(parts.impurity)
            found.append(
                f"criterion {component_name(parts.criterion)} has no kernel for "
                f"coverage={coverage} with impurity={impurity}: scored by its definition, object "
                "by object"
            )
        elif compiled and self.plan.note:
            found.append(self.plan.note)
        return tuple(found)


class Waiting:
    """Open nodes: depth-first (left to right) or breadth-first, tests chosen when a node's turn
    comes; or best-first, by the score of a test that is chosen when the node is found.
    """

    def __init__(self, order: str, growth: Growth) -> None:
        """Begin with no node.   order : depth, breadth or best."""
        self._best = order == "best"
        self._back = -1 if order == "depth" else 1
        self._growth = growth
        self._heap: list[tuple[float, int, Open]] = []
        self._number = 0

    def push(self, items: list[Open]) -> None:
        """Add nodes, children in the order of outcomes; best-first chooses their tests here."""
        for item in items[:: self._back]:
            if self._best:
                self._growth.score(item)
            gain = item.candidate.score if self._best and item.candidate is not None else -math.inf
            heapq.heappush(self._heap, (-gain, self._back * self._number, item))
            self._number += 1

    def pop(self) -> Open | None:
        """Take the next node, its test chosen if it may have one; None where no node waits."""
        item = heapq.heappop(self._heap)[-1] if self._heap else None
        if item is not None and not self._best:
            self._growth.score(item)
        return item
