"""The Rashomon set: all trees whose value is at most (1 + ε) times the optimum, or the k best;
what they share, and where they differ.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arboretum.api import (
    Attempt,
    CapabilityError,
    Context,
    Ended,
    Facts,
    OutOfTime,
    Problem,
    Shape,
    Solution,
    Status,
    Tree,
    decimal,
    file_for,
    legible,
    legible_tree,
    param,
    put_text,
    shape_of,
    sure,
    within_bytes,
)
from arboretum_gosdt.all_trees.enumeration import AllTrees
from arboretum_gosdt.all_trees.first_tests import FirstTests, Thresholds
from arboretum_gosdt.all_trees.least import FEW_TESTS, MANY_TESTS, LeastSearch
from arboretum_gosdt.all_trees.table import Rows, codes_of_columns, unpack_outcomes
from arboretum_gosdt.problem.prepared import Merged, merge_equal_rows, pack_distinct_tests
from arboretum_gosdt.problem.trees import build_tree, preorder_to_nodes
from arboretum_gosdt.solvers.additive import AdditiveSearch
from arboretum_gosdt.solvers.choice import Which, choose_search, chosen_of_merged, search_kind
from arboretum_gosdt.solvers.gosdt import Gosdt

if TYPE_CHECKING:
    from arboretum_gosdt.sparse.node import ClosedSets

COSTS, COSTS_ON_PAGE = 10, 100
"""Values of which the record, and the page, tell how many trees are as good; of more, so many
from the first to the last.
"""
DISAGREED = 20
"""Groups of equal rows on the page on which trees disagree most."""
TITLE = "<title>Good trees for"
"""How a page begins, so that no other file is taken for one."""
SURE = 0.9
"""Share of the trees that agree on a row, for a row that they agree on."""
WIDER = Fraction(1, 4)
"""Share of a leaf's price by which the set is widened, doubled each time, until it holds k trees.
"""


@attrs.frozen
class Rashomon:
    """All trees of at most (1 + ε) times the least loss + λ · leaves + μ · price, or the k best:
    counted, listed in order, compared.

    The run's tree is the optimum; ``listed`` more lie beside it, best first.  The record's details
    tell how many trees there are of each value, which columns all of them ask, how far the
    importance of a column varies, and on which rows they disagree; ``page`` shows it.
    """

    kind = "solver"
    name = "rashomon"
    paper = "Xin, Zhong, Chen, Takagi, Seltzer & Rudin 2022, after Lin et al. 2020"
    capabilities = ("classification", "multiclass", "weights", "prices", "thresholds", "exact")
    needs = ("objective",)
    minimises = ("additive",)
    limits = ("max_depth", "min_leaf")
    example = "dataset=monk1-full method=rashomon objective.lam=0.02"

    epsilon: float = param(
        0.05, "ε, by what share of the optimum a tree may be worse", ge=0.0, lt=math.inf
    )
    k: int = param(
        0, "how many trees instead: the k best, with those as good as the k-th; 0: by epsilon", ge=0
    )
    listed: int = param(10, "trees kept beside the optimum, best first", ge=0)
    compared: int = param(1000, "trees, the best ones, of which importances are told", ge=0)
    page: str = param("", "HTML file for a page on the set; nothing: none", writes=True)

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Find the optimum, then the set.  Raises CapabilityError, DataError, or StoreError
        where the page cannot be written.
        """
        if shape_of(problem.parts.objective) is not Shape.additive:
            raise CapabilityError(
                "solver rashomon lists trees of a loss that is a sum over objects; add "
                "objective=accuracy (or balanced, cost_matrix)"
            )
        if self.page:  # known before the search, whose results would be lost
            file_for(self.page, "solver.page", TITLE)
        found = TreeSet.read(
            problem, context, self.limits, by_sides=0.0 if self.k else self.epsilon
        )
        if found.units.above:
            objective: Any = problem.parts.objective
            raise CapabilityError(
                f"objective.lam={objective.lam:g} is above all losses together, so that trees "
                "differ by their leaves alone; set a smaller one"
            )
        solution = found.optimum()
        if solution.status is not Status.optimal:
            return attrs.evolve(
                solution, notes=(*solution.notes, "the set is not known, as the optimum is not")
            )
        if solution.interrupted:  # who sends a signal does not wait for the set
            note = "the set is not known: it was interrupted"
            return attrs.evolve(solution, finished=False, notes=(*solution.notes, note))
        trees: list[Tree] = []
        details: Facts = {}

        def find() -> str:
            """Find the set, its first trees and its details; returns what ran out, or ""."""
            if ended := found.find_asked_trees(self):
                return ended
            trees.extend(
                legible_tree(found.tree(nodes), problem.objects.table)
                for nodes in found.first_preorders(self.listed + 1)
            )
            details.update(found.details(self.compared))
            return ""

        ended = Ended.of(find)
        if ended.error is not None or ended.by:
            return self._solution_without_set(found, solution, ended)
        return self._solution_with_set(found, solution, trees, details)

    def _solution_without_set(self, found: TreeSet, optimum: Solution, ended: Ended) -> Solution:
        """Return the optimum, with a note on what ended the search for the set."""
        if ended.error is not None:
            why = "it was interrupted" if ended.details else ended.error
            note = f"the set is not known: {why}"
            return attrs.evolve(optimum, finished=False, notes=(note,), details=ended.details)
        ways = (
            f"lower solver.{'k' if self.k else 'epsilon'}, or raise "
            f"budget.{'seconds' if ended.by == 'seconds' else 'memory_mb'}"
        )
        note = (
            f"the set is not known: {ended.why} after "
            f"{found.all_trees.n_sets:,} sets of objects; {ways}"
        )
        return attrs.evolve(optimum, finished=False, notes=(*optimum.notes, note))

    def _solution_with_set(
        self, found: TreeSet, optimum: Solution, trees: list[Tree], details: Facts
    ) -> Solution:
        """Return the best of the set, with the others that are listed and all that the record
        tells of it; write the page, where one is asked for.

        trees : best first, one at least; details : of ``TreeSet.details``.
        """
        if self.page:
            from arboretum_gosdt.solvers.rashomon_page import page_of

            text = page_of(
                details,
                found.counts_by_value(COSTS_ON_PAGE),
                found.disputed_rows(),
                trees,
                found.problem,
            )
            put_text(self.page, text, "solver.page", TITLE)
        count = int(details["trees"])
        left = (
            f", {count - len(trees):,} of them not listed (solver.listed)"
            if count > len(trees)
            else ""
        )
        note = (
            f"{count:,} {'tree' if count == 1 else 'trees'} of a value up to "
            f"{details['most']:g}{left}"
        )
        # the search's may be another of the best
        return attrs.evolve(
            optimum,
            tree=trees[0],
            others=tuple(trees[1:]),
            details=details,
            subproblems=found.all_trees.n_sets,
            notes=(*optimum.notes, note),
        )

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Compile, or load, what will be called."""
        from arboretum_gosdt.all_trees.enumeration import load_kernels

        load_kernels()
        Gosdt().warm_up(problem, context)
        of = AdditiveSearch.read(problem, self.limits, context, self.name)
        if len(of.tests.column) >= MANY_TESTS and not of.units.above:
            merged = merge_equal_rows(problem, of.tests, of.units, context, by_codes=True)
            asked = thresholds_of(of, merged, codes_of_columns(of.tests, merged)[1])
            if asked is not None:
                asked.load_kernels()
            few = np.ascontiguousarray(of.tests.codes[:, :2])  # as bits, where trees are compared
            pack_distinct_tests(attrs.evolve(of.tests, codes=few), Context())


class TreeSet:
    """A problem, its optimum, and the trees that are nearly as good."""

    def __init__(self, of: AdditiveSearch, context: Context, merged: Merged) -> None:
        self.of, self.context, self.merged = of, context, merged
        self.problem = of.problem
        self.limits = of.limits
        self.tests = of.tests
        self.units = of.units
        self.chosen, self.value = of.chosen, of.value
        weights = merged.weights
        # of all trees, in what searches tell
        self.equivalent_cost = of.units.q * int(weights.sum() - weights.max(axis=1).sum())
        self.all_trees: AllTrees
        self.tree_counts: Any
        self.costs: np.ndarray
        self.counts: list[int]

    @staticmethod
    def read(
        problem: Problem,
        context: Context,
        limits: tuple[str, ...],
        solver: str = "rashomon",
        without: str = "",
        by_sides: float | None = 0.0,
        unused: tuple[str, ...] = (),
    ) -> TreeSet:
        """Return a problem's set, not searched yet.  Raises CapabilityError for rules and prices
        that the set is not known for.

        without : a column that no test asks.
        limits : fields of the stopping rules that the solver keeps to, by name.
        solver : its name, for messages.
        by_sides : ε of the trees that are found with the optimum where tests are many; None: it is
            found without them.
        unused : bounds that the sparse search does without.
        """
        of = AdditiveSearch.read(problem, limits, context, solver)
        tests, units = of.tests, of.units
        if without:
            of.tests = tests = tests.select(
                np.array(
                    [tests.rule(test).columns[0] != without for test in range(len(tests.column))],
                    bool,
                )
            )
        of.limits.refuse_rules(solver, limits)
        if units.worst:
            raise CapabilityError(
                f"solver {solver} knows expected prices, and not those of the costliest path; "
                "leave objective.price=max out"
            )
        if of.rounded:
            raise CapabilityError(
                "weights, costs or objective.lam have more digits than the set can be exact "
                "with; round them to fewer"
            )
        of.limits.refuse_endless(units.p, ("max_depth", "min_leaf"))
        merged = merge_equal_rows(problem, tests, units, context, by_codes=True)
        auto = search_kind(Which.auto, of.limits, tests, units, with_memo=True)
        n = len(merged.tests)
        by_all_trees = 0 < n <= FEW_TESTS or n >= MANY_TESTS
        if by_sides is not None and by_all_trees and auto is not Which.intervals:
            of.chosen = chosen_of_merged(search_by_sides(of, merged, by_sides, context), merged)
        else:
            unused = unused if auto is Which.sparse else ()
            of.choose_search(auto, within_bytes(context), unused, merged=merged)
        return TreeSet(of, context, merged)

    def optimum(self) -> Solution:
        """The best tree, proven unless a budget ends the search."""
        return Attempt(self.problem, self.of).go_on(self.context)

    def find_asked_trees(self, asked: Rashomon) -> str:
        """Find all trees within ε, or at least k; returns what ran out, or "".

        Of k trees the set is widened by a step that doubles until it holds so many, then narrowed
        to the cost of the k-th.
        """
        least = sure(self.chosen).search.upper
        if not asked.k:
            return self.search_and_count(cost_beyond(self.of, self.merged, asked.epsilon, least))
        step, more = max(1, int(self.units.p * WIDER)), 0
        highest = greatest_cost(self.of, self.merged) - least
        while True:
            if ended := self.search_and_count(more):
                return ended
            if sum(self.counts) >= asked.k or more >= highest:
                break
            more, step = more + step, 2 * step
        kept = next(
            (i for i, n in enumerate(itertools.accumulate(self.counts)) if n >= asked.k),
            len(self.counts) - 1,
        )
        # what they have in common is asked of these trees alone
        return self.search_and_count(int(self.costs[kept]) - least)

    def search_graph(self, more: int) -> str:
        """Find all trees that cost at most so much more than the best, as a graph; returns what ran
        out, or "".

        more : in 1/q losses.
        """
        least = sure(self.chosen).search.upper
        most, search = least - self.equivalent_cost + more, sure(self.chosen).search
        if isinstance(search, LeastSearch) and search.all_trees is not None:
            self.all_trees = search.all_trees
            if not self.all_trees.asked_for(most):
                self.all_trees.restart(most)
        else:
            self.all_trees = _all_trees(
                self.of, self.merged, most, self.context, self._known_bounds()
            )
        return self.all_trees.run(
            self.context.deadline,
            lambda: self.context.progress(
                0, None, f"all trees of a value up to {self.value(least + more):.4f}"
            ),
        )

    def _known_bounds(self) -> ClosedSets | None:
        """Return what the search for the optimum knows of sets of objects; None: of other sets."""
        from arboretum_gosdt.sparse.search import SparseSearch

        search, merged = sure(self.chosen).search, self.merged
        same = merged.helps.all() and merged.weights.shape[1] == 2 and not self.units.price_value
        if not isinstance(search, SparseSearch) or not same or not search.subproblems:
            return None
        return search.bounds_of_closed_sets(0, self.context.deadline, self.context.memory_bytes)

    def search_and_count(self, more: int) -> str:
        """Find the trees as :meth:`search_graph` does, and count how many there are of each cost;
        returns what ran out, or "".

        more : how much above the best, in 1/q losses.
        """
        if ended := self.search_graph(more):
            return ended
        try:
            self.tree_counts = self.all_trees.count_trees_of_sets()
            costs, self.counts = self.all_trees.costs_and_counts(self.tree_counts)
        except OutOfTime:
            return "seconds"
        self.costs = costs + self.equivalent_cost
        return ""

    def preorders(self) -> Iterator[np.ndarray]:
        """Return the trees, best first, by their tests in preorder."""
        return self.all_trees.trees(self.tree_counts)

    def first_preorders(self, most: int) -> Iterator[np.ndarray]:
        """Yield so many of the trees, best first, by their tests in preorder, or fewer when the
        time is over: one at least.

        Each is int64[nodes], features of the merged table, −1 for a leaf.
        """
        deadline = math.inf if self.context.deadline is None else self.context.deadline
        for at, preorder in enumerate(itertools.islice(self.preorders(), most)):
            if at and time.monotonic() > deadline:
                return
            yield preorder

    def tree(self, preorder: Sequence[int] | np.ndarray) -> Any:
        """Return a tree, given by its tests in preorder, with the problem's tests and labels."""
        nodes = preorder_to_nodes(np.asarray(preorder).tolist())
        inner = nodes[:, 0] >= 0
        nodes[inner, 0] = self.merged.tests[nodes[inner, 0]]
        return build_tree(self.problem, self.tests, self.units, nodes)

    def details(self, compared: int) -> Facts:
        """Return all that the record tells of the set, in words of JSON.

        compared : how many of the best trees the importance of columns is taken from.
        """
        total = sum(self.counts)
        columns = self._columns()
        usage = {}
        for name, mask in columns.items():
            _, counts = self.all_trees.costs_and_counts(self.all_trees.count_trees_of_sets(mask))
            usage[name] = {"asked": 1 - sum(counts) / total, "by_all": sum(counts) == 0}
        trees, reliance = self._reliance(columns, compared)
        for name, (low, high) in reliance.items():
            usage[name] |= {"importance_from": low, "importance_to": high}
        return {
            "trees": str(total),
            "least": self.value(int(self.costs[0])),
            "most": self.value(int(self.costs[-1])),
            "values": {f"{value:g}": str(trees) for value, trees in self.counts_by_value(COSTS)},
            "columns": usage,
            "compared": trees,
            "rows_in_doubt": int(self.merged.rows[self.answer_shares.max(axis=1) < SURE].sum()),
        }

    def counts_by_value(self, most: int) -> list[tuple[float, int]]:
        """Return (value, number of trees that are as good or better), of at most so many values,
        the first and the last among them.
        """
        n, below = len(self.costs), list(itertools.accumulate(self.counts))
        shown = (
            range(n)
            if n <= most
            else sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})
        )
        return [(self.value(int(self.costs[i])), below[i]) for i in shown]

    @cached_property
    def answer_shares(self) -> np.ndarray:
        """float64[objects, classes]: the share of trees that say each class."""
        return self.all_trees.shares_of_answers(self.tree_counts)

    def _columns(self) -> dict[str, np.ndarray]:
        """Return, for every column, bool[tests]: which tests ask it."""
        kept, found = self.merged.tests, dict[str, np.ndarray]()
        column = self.tests.column[kept]
        for at, first in zip(*np.unique(column, return_index=True), strict=True):
            name = self.tests.rule(int(kept[first])).columns[0]
            found[name] = found.get(name, np.zeros(len(kept), bool)) | (column == at)
        first_test = {name: int(mask.argmax()) for name, mask in found.items()}
        return {name: found[name] for name in sorted(found, key=first_test.__getitem__)}

    def _reliance(
        self, columns: dict[str, np.ndarray], compared: int
    ) -> tuple[int, dict[str, tuple[float, float]]]:
        """Return of how many of the best trees, and by column the least and the most by which their
        loss grows where the column's values are those of any object instead of its own.

        columns : name → bool[tests], which tests ask it.
        compared : trees, at most; fewer where the time is over.
        The mean over all pairs of objects (model reliance as a difference, Fisher, Rudin & Dominici
        2019), no shuffle.
        """
        from arboretum_gosdt.all_trees.importance import Compared, grow_losses, room_for

        merged, names = self.merged, list(columns)
        loss = merged.weights.max(axis=1, keepdims=True) - merged.weights
        column = np.zeros(len(merged.tests), np.int64)
        for at, mask in enumerate(columns.values()):
            column[mask] = at
        table = Compared(unpack_outcomes(merged), column, loss, merged.mass)
        room = room_for(table)
        low, high = np.full(len(names), math.inf), np.full(len(names), -math.inf)
        grown, trees = np.empty(len(names)), 0
        for preorder in self.first_preorders(compared):
            trees += 1
            grow_losses(preorder, table, room, grown)
            np.minimum(low, grown, out=low)
            np.maximum(high, grown, out=high)
        unit = float(self.units.loss_value)
        varies = zip(names, (low * unit).tolist(), (high * unit).tolist(), strict=True)
        return trees, {name: (least, most) for name, least, most in varies} if trees else {}

    def disputed_rows(self) -> list[tuple[int, dict[str, float], list[str]]]:
        """Return the groups of equal rows on which the trees disagree most, at most DISAGREED:
        number of rows, the share of trees by the class that they say, and what holds for the rows.
        """
        classes, outcome = self.problem.objects.table.target.classes, unpack_outcomes(self.merged)
        rules = legible(
            [self.tests.rule(int(test)) for test in self.merged.tests], self.problem.objects.table
        )
        doubt = (1 - self.answer_shares.max(axis=1)) * self.merged.rows
        return [
            (
                int(self.merged.rows[u]),
                {str(classes[k]): float(x) for k, x in enumerate(self.answer_shares[u]) if x > 0},
                _describe_facts(
                    [
                        (rule.subject, rule.outcome_label(int(one)), rule.cuts)
                        for rule, one in zip(rules, outcome[u], strict=True)
                    ]
                ),
            )
            for u in np.argsort(-doubt, kind="stable")[:DISAGREED].tolist()
            if doubt[u] > 1e-12
        ]


def _all_trees(
    of: AdditiveSearch,
    merged: Merged,
    budget: int,
    context: Context,
    known: ClosedSets | None = None,
    columns: tuple[np.ndarray, np.ndarray | None] | None = None,
    bounds: FirstTests | None = None,
) -> AllTrees:
    """Return the search for all trees of a problem, within a budget, not begun.

    known : what a search of the same objects knows.
    columns : of ``codes_of_columns``, where that is known.
    bounds : as of :class:`AllTrees`.
    """
    column, codes = codes_of_columns(of.tests, merged) if columns is None else columns
    return AllTrees(
        table=Rows.of_merged(merged, column=column, codes=None if of.limits.least > 1 else codes),
        p=of.units.p,
        q=of.units.q,
        budget=budget,
        depth=of.limits.depth,
        least=of.limits.least,
        memory_bytes=context.memory_bytes,
        known=known,
        bounds=bounds,
    )


def cost_beyond(of: AdditiveSearch, merged: Merged, epsilon: float, least: int) -> int:
    """Return how much more than the best the trees cost at most that are worse by a share ε.

    least : what the best costs, as searches tell it; with what every tree costs besides it may be a
        gain, below 0.
    """
    value = least + of.units.q * sure(of.chosen).base
    return min(int(abs(value) * decimal(epsilon)), greatest_cost(of, merged) - least)


def greatest_cost(of: AdditiveSearch, merged: Merged) -> int:
    """Return what no tree costs more than, as searches tell it."""
    weights, units = merged.weights, of.units
    tests = int(merged.price.sum()) * int(merged.mass.sum())
    return units.q * int(weights.sum()) + units.p * len(weights) + tests


def thresholds_of(
    of: AdditiveSearch, merged: Merged, codes: np.ndarray | None
) -> Thresholds | None:
    """Return merged objects as the search over intervals of cuts reads them; None: it does not know
    them.

    codes : of ``codes_of_columns``.
    """
    if codes is None or of.limits.depth is None or of.limits.least > 1:
        return None
    tests = Thresholds(codes, merged.weights, of.units.p, of.units.q, of.limits.depth)
    return tests if tests.fits else None


def search_by_sides(
    of: AdditiveSearch, merged: Merged, epsilon: float, context: Context
) -> LeastSearch:
    """Return the search for the optimum that counts pairs of tests as they are bounded, and finds
    the trees that are worse by a share ε on the way.
    """
    weights, units = merged.weights, of.units
    best = int(weights.sum()) - int(weights.max(axis=1).sum())
    leaf = int(weights.max(axis=1).sum() - weights.sum(axis=0).max())
    constant, columns = units.q * best, codes_of_columns(of.tests, merged)

    def more(least: int) -> int:
        return cost_beyond(of, merged, epsilon, least)

    def bound(until: float | None) -> FirstTests | None:
        """Return the least cost, and those by the first test, without the constant."""
        tests = thresholds_of(of, merged, columns[1])
        found = None
        if tests is not None:
            found = tests.bound_first_tests(more, until, context.memory_bytes)
        if found is None:
            return None
        # each object's own share of the constant is not told apart
        sides = np.full_like(found.sides, -1) if constant else found.sides
        least, first = found.least - constant, found.first - constant
        return FirstTests(least, first, sides, found.nodes)

    def make(budget: int, known: FirstTests | None) -> AllTrees:
        return _all_trees(of, merged, budget, context, columns=columns, bounds=known)

    def other() -> Any:
        """Return the search that is chosen otherwise."""
        given = of.limits, of.tests, of.units
        which = search_kind(Which.auto, *given, with_memo=True)
        return choose_search(of.problem, *given, which, within_bytes(context), merged=merged).search

    return LeastSearch(make, other, constant, units.q * leaf + units.p, more, bound)


def _describe_facts(facts: list[tuple[str, str, tuple[float, ...] | None]]) -> list[str]:
    """Return what holds, without what a column is not where something says what it is; of its
    thresholds the nearest on each side.

    facts : of every test its subject, the label of the outcome ("= a", "≤ 3"), and its cuts, None
        where it has none.
    """
    named = {subject for subject, label, _ in facts if label.startswith("=")}
    near: dict[tuple[str, str], float] = {}
    for subject, label, cuts in facts:
        if cuts:
            side = subject, label[0]
            near[side] = (min if label.startswith("≤") else max)(cuts[0], near.get(side, cuts[0]))
    return [
        f"{subject} {label}"
        for subject, label, cuts in facts
        if (not cuts or near[subject, label[0]] == cuts[0])
        and (subject not in named or label.startswith("="))
    ]
