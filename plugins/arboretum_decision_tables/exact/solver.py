"""Dynamic programming over separable subtables (Alkhalid, Chikalov & Moshkov, section 4)."""

from __future__ import annotations

import enum
import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    ConfigError,
    Context,
    Ended,
    Facts,
    Problem,
    Shape,
    Solution,
    Status,
    heard,
    param,
    shape_of,
    sure,
    unknown,
    value_of,
    within_bytes,
)
from arboretum_decision_tables.complexities import COMPLEXITIES
from arboretum_decision_tables.exact.graph import Builder, Graph, build_graph
from arboretum_decision_tables.exact.proof import write_proof
from arboretum_decision_tables.exact.search import SubtableSearch, load_kernels
from arboretum_decision_tables.exact.space import Space, parity_table, space_of
from arboretum_decision_tables.exact.trees import best_known_tree, optimal_tree
from arboretum_decision_tables.exact.values import (
    Cost,
    count_trees,
    decimal_digits,
    keep_optimal_bundles,
    try_monotony,
    values_of_nodes,
)

if TYPE_CHECKING:
    from arboretum.interfaces.complexity import Complexity


class Inconsistent(enum.Enum):
    """What becomes of objects with the same values and different classes."""

    majority = "majority"
    refuse = "refuse"


@attrs.frozen
class SubtableDP:
    """Exact minimum of a complexity: every separable subtable is solved once, from the smallest up.

    Trees are counted and listed by the graph of optimal bundles: trees all of whose subtrees are
    optimal for their subtables.  For sums (path length, nodes, expected cost) these are all optimal
    trees.  For maxima (depth, largest cost) they are not all: off the longest path a subtree may
    waste tests without harm.  Tests of one column that divide a subtable alike count as one, the
    cheapest.

    ``then`` minimises further complexities one after the other, each among the trees that the
    stages before left.  A stage's minimum is exact over all trees that are optimal before it as
    long as the stages before are sums; after a maximum it is the minimum over the trees whose
    subtrees are all optimal, and a note says so.
    """

    kind = "solver"
    name = "subtable_dp"
    paper = "Alkhalid, Chikalov & Moshkov 2011, section 4"
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "prices",
        "multiway",
        "exact",
        "anytime",
    )
    needs = ("objective", "complexity")
    minimises = ("complexity",)
    example = "dataset=monk1-full method=subtable_dp"

    count: bool = param(False, "also count the optimal trees (details.optimal_trees)")
    enumerate: int = param(
        1, "how many optimal trees to list, the first included", ge=1, unit="trees"
    )
    then: tuple[str, ...] = param(
        (),
        "complexities minimised next among the optimal trees, one after the other",
        converter=tuple,
    )
    proof: str = param(
        "",
        "file for the proof of the minimum (arboretum verify checks it); nothing: none is written",
        writes=True,
    )
    inconsistent: Inconsistent = param(
        Inconsistent.majority,
        "objects with equal values and different classes: a leaf of the majority class, or refused",
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's complexity.  Raises CapabilityError, ConfigError or DataError with
        the way out.
        """
        if self.proof:
            from arboretum.api import ProofWriter

            ProofWriter.place(self.proof)  # known before the search, whose result would be lost
        return self.begin(problem, context).go_on(context)

    def begin(self, problem: Problem, context: Context = Context()) -> SubtableAttempt:
        """Begin a solution in steps: ``attempt = solver.begin(problem)``, then
        ``attempt.go_on(context)`` as often as a budget runs out.  Raises CapabilityError without
        ``objective=zero_error`` or without a complexity, ConfigError for an unknown name in
        ``then``.
        """
        objective, complexity = problem.parts.objective, problem.parts.complexity
        if shape_of(objective) is not Shape.complexity:
            msg = (
                "solver subtable_dp minimises a complexity over trees that obey the leaf rule; "
                "add objective=zero_error"
            )
            raise CapabilityError(msg)
        if complexity is None:
            raise CapabilityError(
                "solver subtable_dp needs a complexity; add complexity=NAME (arboretum "
                "plugins lists them)"
            )
        costs = [
            Cost.of(component, problem) for component in (complexity, *self._further_complexities())
        ]
        return SubtableAttempt(
            self, problem, costs, Builder(self._space(problem, context), values=len(costs))
        )

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Solve a table of four rows; by branch and bound, too, where a deadline may leave the
        rest to it.
        """
        from arboretum.api import sample

        space, cost = parity_table(problem), Cost.of(problem.parts.complexity or COMPLEXITIES[0]())
        context.progress(0, None, "loading the kernels of subtable_dp")
        self._space(attrs.evolve(problem, objects=sample(problem.objects)), context).make_table()
        graph = build_graph(space)
        keep_optimal_bundles(graph, cost, values_of_nodes(graph, cost))
        graph.node_of(np.arange(4))
        if context.deadline is not None and cost.form is not None:
            load_kernels(space, cost.form)

    def minima(
        self, problem: Problem, complexities: Sequence[Complexity], context: Context
    ) -> list[Solution]:
        """Return the minimum of each complexity; the graph is built once for all.  Where it does
        not fit, branch and bound shares what is left of the seconds among them.
        """
        costs = [Cost.of(component, problem) for component in complexities]
        space = self._space(problem, context)
        context, start = within_bytes(context), time.monotonic()
        graph = build_graph(space, _budget_of_graph(context, costs), values=len(costs))
        if not graph.finished:
            return [
                _branch_and_bound(graph, cost, context, start, costs_left=len(costs) - i)
                for i, cost in enumerate(costs)
            ]
        plain = attrs.evolve(self, count=False, enumerate=1, then=())
        return [plain._choose_optimal(graph, [cost]) for cost in costs]

    def _space(self, problem: Problem, context: Context) -> Space:
        return space_of(
            problem, context=context, refuse_inconsistent=self.inconsistent is Inconsistent.refuse
        )

    def _further_complexities(self) -> list[Complexity]:
        """Return the complexities that ``then`` names, in its order.  Raises ConfigError for an
        unknown name.
        """
        known = {one.name: one for one in [cls() for cls in COMPLEXITIES]}
        for name in self.then:
            if name not in known:
                raise ConfigError("solver.then: " + unknown("complexity", name, known))
        return [known[name] for name in self.then]

    def _choose_optimal(self, graph: Graph, costs: list[Cost]) -> Solution:
        """Choose among the optimal trees of a finished graph, which prove the minimum; each further
        complexity keeps, of the trees that those before it left, the best.

        costs : the run's complexity, then those of ``then``.
        Trees are counted and listed as the solver's fields say.
        """
        space, cost = graph.space, costs[0]
        stages, notes, kept = {}, self._write_notes(graph, costs), graph
        for stage in costs:
            found = values_of_nodes(kept, stage)
            # no node: the whole table is a leaf
            least = float(found[0]) if kept.n_nodes else stage.complexity.leaf()
            stages[stage.complexity.name] = least / stage.divisor_of_report(space)
            if kept.n_nodes:
                notes += try_monotony(kept, stage, found)
                kept = keep_optimal_bundles(kept, stage, found)
        details: Facts = {"stages": stages} if len(costs) > 1 else {}
        number = (count_trees(kept) or {0: 1}) if self.count or self.enumerate > 1 else None
        if self.count:
            details["optimal_trees"] = decimal_digits(sure(number)[0])
        listed = [
            optimal_tree(kept, k, number)
            for k in range(min(self.enumerate, number[0] if number else 1))
        ]
        tree = listed[0]
        reported = value_of(cost.complexity, tree)
        return Solution(
            tree,
            value=reported,
            lower_bound=min(reported, stages[cost.complexity.name]),
            status=Status.optimal,
            subproblems=max(1, graph.n_nodes),
            notes=tuple(notes),
            details=details,
            others=tuple(listed[1:]),
        )

    def _write_notes(self, graph: Graph, costs: list[Cost]) -> list[str]:
        """Return the sentences that a reader needs to understand the numbers; none where all is
        plain.
        """
        found = []
        if graph.space.inconsistent:
            found.append(
                f"{graph.space.inconsistent} objects have the same values as objects of "
                "another class: "
                "leaves that hold them answer with the majority class"
            )
        loose = [cost.complexity.name for cost in costs if not cost.strict]
        if loose and (self.count or self.enumerate > 1):
            found.append(
                "counted and listed are the trees all of whose subtrees are optimal; "
                f"{loose[0]} has further optimal trees"
            )
        early = [cost.complexity.name for cost in costs[:-1] if not cost.strict]
        if early:
            found.append(
                f"after {early[0]}, further minima are over the trees all of whose subtrees "
                "are optimal for it"
            )
        if not graph.space.compiled_impurity:
            found.append(
                "the impurity of the leaf rule has no kernel: every look at it is a call of "
                "Python, slowly"
            )
        found += [
            f"complexity {cost.complexity.name} is plain Python and slow; mark its node by "
            "complexity_kernel"
            for cost in costs
            if cost.in_python
        ]
        return found


@attrs.define(eq=False)
class SubtableAttempt:
    """A table on its way to be solved: the graph as far as it was built, and what branch and
    bound knows.
    """

    solver: SubtableDP
    problem: Problem
    costs: list[Cost]
    builder: Builder
    search: SubtableSearch | None = None

    def go_on(self, context: Context) -> Solution:
        """Solve within the budget, from where the call before ended; Ctrl-C and signals leave
        what the graph knows.
        """
        return heard(lambda: self._solve_within(context), self._solution_when_ended)

    def _solution_when_ended(self, ended: Ended) -> Solution:
        """Return what the graph knows when the work was ended; raise what ended it where the graph
        knows nothing, or where it was no interruption.
        """
        graph = self.builder.make_graph("interrupt")
        if not ended.details or not graph.n_nodes:
            raise sure(ended.error)
        return attrs.evolve(
            _solution_of_unfinished_graph(graph, self.costs[0], ended), finished=False
        )

    def _solve_within(self, context: Context) -> Solution:
        """Build the graph within its part of the budget and choose from it; where it does not fit,
        go on by branch and bound with what is left, and keep that search for the next call.
        """
        solver, costs, cost, space = self.solver, self.costs, self.costs[0], self.builder.space
        context, start, scale = (
            within_bytes(context),
            time.monotonic(),
            cost.divisor_of_report(space),
        )
        report = context.proven
        context = attrs.evolve(
            context,
            proven=lambda low, value: report(low / scale, value / scale),
        )
        graph = self.builder.run(_budget_of_graph(context, costs[:1]))
        if graph.finished:
            found = solver._choose_optimal(graph, costs)
            return (
                context.after(
                    found, functools.partial(self._write_proof, graph, found, context.seed)
                )
                if solver.proof
                else found
            )
        if self.search is None and cost.form is not None:
            self.search = SubtableSearch(space, cost.form)
        found = _branch_and_bound(graph, cost, context, start, self.search)
        if solver.proof:
            note = (
                "no proof is written: the graph of subtables, which it holds, did not fit the "
                "budget"
            )
            found = attrs.evolve(found, notes=(*found.notes, note))
        plain = len(costs) == 1 and not solver.count and solver.enumerate == 1
        return found if plain else attrs.evolve(found, finished=False)

    def _write_proof(self, graph: Graph, found: Solution, seed: int) -> Solution:
        write_proof(self.solver.proof, self.problem, graph, self.costs[0], sure(found.tree), seed)
        return found


GRAPH_SHARE, GRAPH_SHARE_OF_MANY = 0.1, 0.4
"""Share of the seconds for the graph, before branch and bound takes over; more where one graph
serves several complexities.
"""
LEAST_SECONDS = 10.0
"""For branch and bound per complexity where no budget of seconds is given (or as long as the
graph took).
"""


def _budget_of_graph(context: Context, costs: Sequence[Cost]) -> Context:
    """Return the context with the part of the budget that the graph may spend: a share of the
    seconds and half of the bytes; all of it where no branch and bound can follow (F without a
    form).

    costs : that one graph serves.
    """
    if any(cost.form is None for cost in costs):
        return context
    now, share = time.monotonic(), GRAPH_SHARE if len(costs) == 1 else GRAPH_SHARE_OF_MANY
    deadline = None if context.deadline is None else now + share * max(0.0, context.deadline - now)
    return attrs.evolve(context, deadline=deadline, memory_bytes=sure(context.memory_bytes) // 2)


def _branch_and_bound(
    graph: Graph,
    cost: Cost,
    context: Context,
    start: float,
    walk: SubtableSearch | None = None,
    costs_left: int = 1,
) -> Solution:
    """Search by branch and bound where the graph did not fit, with what is left of the budget,
    shared by the complexities that are left; F without a form takes what the graph knows.

    start : ``time.monotonic()`` value when the graph was begun.
    walk : a search to go on with; None: a new one.
    costs_left : complexities among which the seconds are shared.
    Without a deadline it takes as long as the graph did, or LEAST_SECONDS.
    """
    if cost.form is None:
        return _solution_of_unfinished_graph(graph, cost, Ended(graph.stopped))
    space = graph.space
    if context.deadline is None:
        load_kernels(space, cost.form)  # the seconds below are for the search alone
    now = time.monotonic()
    seconds = (
        max(LEAST_SECONDS, now - start)
        if context.deadline is None
        else max(0.0, context.deadline - now) / costs_left
    )
    until = now + seconds
    found = (walk or SubtableSearch(space, cost.form)).run(
        attrs.evolve(context, deadline=until, memory_bytes=sure(context.memory_bytes) // 2)
    )
    n, tree = found.subproblems, found.best_tree()
    value = value_of(cost.complexity, tree)
    if found.solved:
        note = (
            f"the graph of subtables did not fit its part of the budget of {graph.stopped}; "
            f"branch and bound proved the minimum with {n:,} subtables (it does not count or list "
            "trees, and has no stages)"
        )
        return Ended().solution(tree, value, value, n, "", notes=(note,))
    spent = found.stopped
    if spent == "seconds" and context.deadline is None:
        spent = (
            f"bytes ran out for the graph, and the {seconds:.0f} seconds that follow without "
            "budget.seconds"
        )
    low = found.lower_bound / cost.divisor_of_report(space)
    after = f"after branch and bound visited {n:,} subtables"
    return Ended(spent).solution(tree, value, low, n, after, slack=space.slack)


def _solution_of_unfinished_graph(graph: Graph, cost: Cost, ended: Ended) -> Solution:
    """Return the best tree that an unfinished graph knows, with the best bound that it proves.

    ended : how the work did, for the note.
    """
    known = values_of_nodes(graph, cost)
    tree = best_known_tree(graph, cost, known)
    return ended.solution(
        tree,
        value_of(cost.complexity, tree),
        float(values_of_nodes(graph, cost, bound=True)[0]) / cost.divisor_of_report(graph.space),
        graph.n_nodes,
        f"with {graph.n_nodes:,} subtables known",
        slack=graph.space.slack,
        notes=tuple(try_monotony(graph, cost, known)),
    )
