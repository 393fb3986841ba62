"""Optimal trees that keep constraints: predictions monotone in some columns, groups that are
predicted yes at about the same rates.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import numpy as np

from arboretum.api import (
    Attempt,
    CapabilityError,
    ConfigError,
    Constraints,
    Context,
    Problem,
    Shape,
    Solution,
    Tree,
    param,
    shape_of,
    sure,
    unknown,
)
from arboretum_gosdt.all_trees.enumeration import AllTrees
from arboretum_gosdt.all_trees.table import Rows, unpack_outcomes
from arboretum_gosdt.problem.prepared import group_equal_rows, pack_distinct_tests
from arboretum_gosdt.problem.proving import HARD_TO_SHOW, prove_constrained
from arboretum_gosdt.problem.trees import build_labelled_tree
from arboretum_gosdt.solvers.choice import WEIGHTS
from arboretum_gosdt.solvers.constraints import (
    LagrangianCost,
    Price,
    Space,
    rates_of,
    with_all_tests,
)
from arboretum_gosdt.solvers.gosdt import Gosdt
from arboretum_gosdt.solvers.multipliers import Dual, load_program
from arboretum_gosdt.solvers.rashomon import TreeSet

TRIED = 40
"""Lagrangian costs that are tried, at most."""
PATIENCE, IN_ALL = 300, 2400
"""Slices of the searches for the least of one Lagrangian cost, and of all together; a slice takes
some 30 ms.
"""
NEAR = 0.01
"""Share of what lies between bound and best tree: planes that promise less are not searched."""
ROUNDING = 1e-6
"""By which a cost that planes promise, a float, may be above a whole number and count as it."""
FEW = 20_000
"""Answers tried for a tree that is only a guess."""
EVERY = 256
"""Trees between looks at the clock."""
PER_OUTCOME, BYTES = 12, 4
"""Steps and bytes for each outcome of a test while the tests are laid out."""


@attrs.frozen
class Constrained:
    """Proven least loss + λ · leaves of trees that are monotone in named columns, or treat groups
    alike; a leaf then may say what is not best for it.

    Monotone: of two rows that differ in one column of ``increasing`` alone, the one with the
    greater value is predicted no earlier class (in the order of the classes).  Parity: the shares
    of the groups of ``sensitive`` that are predicted the second class differ by at most ``parity``,
    and of those whose class it is by at most ``opportunity``.
    """

    kind = "solver"
    name = "constrained"
    paper = "Lin, Zhong, Hu, Rudin & Seltzer 2020, beyond it"
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "prices",
        "thresholds",
        "exact",
        "anytime",
    )
    needs = ("objective",)
    minimises = ("additive",)
    limits = ("max_depth", "max_leaves", "min_leaf")
    constrains_labels = True
    example = "dataset=monk1-full method=constrained objective.lam=0.02"

    increasing: tuple[str, ...] = param(
        (), "columns of numbers in which predictions must not fall", converter=tuple
    )
    decreasing: tuple[str, ...] = param(
        (), "columns of numbers in which predictions must not rise", converter=tuple
    )
    sensitive: str = param("", "column of the groups that are compared; nothing: none")
    parity: float = param(
        1.0,
        "most by which the groups' shares that are predicted the second class may differ "
        "(demographic parity); 1: any",
        ge=0.0,
        le=1.0,
    )
    opportunity: float = param(
        1.0, "the same of the rows of the second class (equal opportunity); 1: any", ge=0.0, le=1.0
    )
    ask_sensitive: bool = param(False, "whether tests may ask the sensitive column")
    proof: str = param(
        "",
        "file for the proof of the bound (arboretum verify checks it), written after the search; "
        "nothing: none",
        writes=True,
    )

    def constraints(self) -> Constraints:
        """Return what trees keep, as the checker of proofs reads it."""
        return Constraints(
            self.sensitive,
            self.ask_sensitive,
            self.parity,
            self.opportunity,
            self.increasing,
            self.decreasing,
        )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError, ConfigError or DataError with
        the way out, StoreError where a proof cannot be written.
        """
        if shape_of(problem.parts.objective) is not Shape.additive:
            raise CapabilityError(
                "solver constrained minimises a loss that is a sum over objects; add "
                "objective=accuracy (or balanced, cost_matrix)"
            )
        self._check_fields(problem)
        if self.proof:  # known before the search, whose result would be lost
            from arboretum.api import ProofWriter

            ProofWriter.place(self.proof)
        search = ConstrainedSearch(self, problem, context)
        found = Attempt(problem, search, none="no tree that keeps the limits").go_on(context)
        if not self.proof:
            return found
        return context.after(found, lambda: prove_constrained(self.proof, search, found, context))

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Compile, or load, what will be called."""
        from arboretum_gosdt.all_trees.enumeration import load_kernels

        load_kernels()
        if self.sensitive:
            load_program()
        Gosdt().warm_up(problem, context)

    def _check_fields(self, problem: Problem) -> None:
        """Raise ConfigError for a column that is not there, or in both directions, and for a limit
        or a sensitive column without the other; CapabilityError for limits on rates of other than
        two classes.
        """
        columns = [column.name for column in problem.objects.table.columns]
        for field in ("increasing", "decreasing", "sensitive"):
            names = (
                (self.sensitive,) * bool(self.sensitive)
                if field == "sensitive"
                else getattr(self, field)
            )
            for name in names:
                if name not in columns:
                    raise ConfigError(f"solver.{field}: {unknown('column', name, columns)}")
        if both := set(self.increasing) & set(self.decreasing):
            raise ConfigError(
                f"column {min(both)!r} is in solver.increasing and in solver.decreasing; "
                "leave it out of one"
            )
        limited = min(self.parity, self.opportunity) < 1
        if limited != bool(self.sensitive):
            raise ConfigError(
                "solver.sensitive=COLUMN and solver.parity or solver.opportunity (a limit "
                "below 1) go together; say both"
            )
        if limited and problem.objects.n_classes != 2:
            ways = "make two with dataset.positive=CLASS"
            raise CapabilityError(
                "solver.parity and solver.opportunity compare two classes, but there are "
                f"{problem.objects.n_classes}; {ways}"
            )


class Line(NamedTuple):
    """An additive cost that was searched, for a proof.   least : what no tree costs less than."""

    name: tuple[Any, ...]
    least: int
    search: Any


class LeafAnswers(NamedTuple):
    """A leaf before its answer is chosen.

    answers : (what it costs more than the best answer, answer), cheapest first.
    sums : of the rates, if it says yes, as ``Rates.keeps`` takes them, of each rate in turn.
    cost : with its best answer, in 1/q losses.
    mass : what its objects pay prices for.
    rows : training rows in it.
    """

    answers: list[tuple[int, int]]
    sums: list[int]
    cost: int
    mass: int
    rows: int


class ConstrainedSearch:
    """Trees are gone through in the order of their unconstrained cost, of which no constrained
    one is lower.
    """

    def __init__(self, asked: Constrained, problem: Problem, context: Context) -> None:
        self.asked, self.problem, self.context = asked, problem, context
        found = self.found = TreeSet.read(
            problem,
            context,
            asked.limits,
            "constrained",
            "" if asked.ask_sensitive else asked.sensitive,
            by_sides=None,
            unused=(HARD_TO_SHOW,) if asked.proof else (),
        )
        self.divided, self.lines = found.merged, list[Line]()
        order = np.argsort(found.tests.price, kind="stable") if found.units.price_value else None
        group, self.first = group_equal_rows(
            pack_distinct_tests(found.tests, attrs.evolve(context, memory_bytes=None), order)[0]
        )
        self.rates = rates_of(
            problem, asked.sensitive, (asked.parity, asked.opportunity), group, len(self.first)
        )
        self.monotone = bool(asked.increasing or asked.decreasing)
        outcomes = len(found.tests.column) * len(self.first)
        context.check_time(PER_OUTCOME * outcomes)
        context.room(
            BYTES * outcomes,
            f"the outcomes of {len(found.tests.column):,} tests of {len(self.first):,} objects",
        )
        if self.monotone:
            found.merged = with_all_tests(found, self.first)
        merged = found.merged
        self.space = Space(found, asked.increasing, asked.decreasing) if self.monotone else None
        self.cost = found.units.q * (merged.weights.max(axis=1, keepdims=True) - merged.weights)
        self.lagrangian: LagrangianCost | None = None
        self.outcome = unpack_outcomes(merged)
        self.leaves: dict[int, LeafAnswers] = {}
        self.patience = IN_ALL
        total = self.cost.sum(axis=0)  # a leaf keeps every constraint
        self.best = [(-1, int(total.argmin()))]
        self.least = self.plain = sure(found.chosen).search.lower - found.equivalent_cost
        self.cost_of_best = int(total.min()) + found.units.p
        self.planes = [
            int.from_bytes(column.tobytes(), "little")
            for column in np.packbits(
                np.ascontiguousarray(self.outcome.T), axis=1, bitorder="little"
            )
        ]

    def run(self, context: Context, report: Callable[..., None]) -> str:
        """Search until the optimum is proven, "", or a budget ends it ("seconds", "bytes").

        report : called without arguments where ``lower`` or ``upper`` may have changed.
        The best tree without constraints is found first; its value bounds that of every other.
        """
        self.context, self.report, search = context, report, sure(self.found.chosen).search

        def learn(low: int, up: int) -> None:
            self.least = self.plain = low - self.found.equivalent_cost
            report()

        try:
            ended = search.run(context.deadline, context.memory_bytes, learn)
        finally:  # also where Ctrl-C ends it
            self.least = self.plain = search.lower - self.found.equivalent_cost
            self._keep_tree(sure(self.found.chosen).tests(search.tree()))
        if ended:
            return ended
        self.least = self.plain = search.upper - self.found.equivalent_cost
        return self._widen_set()

    def tree(self) -> Tree:
        """The best tree known, its leaves with their answers."""
        found = self.found
        return build_labelled_tree(
            self.problem, found.tests, found.units, found.merged.tests, self.best
        )

    @property
    def subproblems(self) -> int:
        """Sets of objects that the search without constraints looked into."""
        return sure(self.found.chosen).search.subproblems

    @property
    def lower(self) -> float:
        """The proven bound: no tree that keeps the limits has a lower value."""
        return self.found.value(min(self.least, self.cost_of_best) + self.found.equivalent_cost)

    @property
    def upper(self) -> float:
        """Value of the best tree known."""
        return self.found.value(self.cost_of_best + self.found.equivalent_cost)

    def _keep_tree(self, nodes: np.ndarray, features: bool = False) -> None:
        """Keep a tree with its best answers that keep all constraints, if it is the best one.

        nodes : int64[nodes, 3], see build_tree.
        features : whether its tests are features of the merged table, else tests of the problem;
            one that divides nothing there makes the tree be passed over.
        """
        number = {-1: -1} | {
            f if features else int(test): f for f, test in enumerate(self.found.merged.tests)
        }
        preorder, waiting = [], [0]
        while waiting:
            test, one, rest = nodes[waiting.pop()].tolist()
            # the same rows divided by another test, which may be another one where there is no row
            if test not in number:
                return
            preorder.append(number[test])
            waiting += [rest, one] if test >= 0 else []
        self._label_leaves(preorder, FEW)

    def _widen_set(self) -> str:
        """Widen the set of trees until the best one in it keeps the constraints, or none outside
        can be better than that; returns what ran out.

        Steps begin at a quarter of a leaf's price, and double.  ``least`` rises with each set that
        holds no better tree.
        """
        step, before = max(1, self.found.units.p // 4), self.least - 1
        if not self.monotone and self.rates:
            self.lagrangian = self._best_lagrangian()
        aim = self.least
        while aim < self.cost_of_best:
            ended = (
                self._search_listed_trees(aim, before)
                if self.monotone
                else self._by_partial_solutions(aim)
            )
            if ended:
                return ended
            before, self.least = aim, max(self.least, min(self.cost_of_best, aim + 1))
            self.report()
            aim, step = min(aim + step, max(self.cost_of_best - 1, aim + 1)), 2 * step
        return ""

    def _best_lagrangian(self) -> LagrangianCost | None:
        """Return the Lagrangian cost that bounds the optimum best (:mod:`.multipliers`), whose
        trees are tried, too.  None where the best tree of all keeps the limits, tests have prices,
        or leaves cost nothing.

        Raises ``least`` to the best bound.
        """
        found, merged = self.found, self.found.merged
        if found.units.price_value or not found.units.p or not len(merged.tests):
            return None
        q, losses = found.units.q, float(merged.weights.max(axis=1).sum())
        dual, best, whole = Dual(self.rates, losses), None, False
        none = [[0] * len(one.sizes) for one in self.rates]
        total = self.cost.sum(axis=0) + found.units.p
        dual.add(int(total[0]) / q, none)
        dual.add(int(total[1]) / q, [list(one.sizes) for one in self.rates])
        nodes = sure(found.chosen).tests(sure(found.chosen).search.tree())
        if (dual.add(*self._plane(nodes, self.cost)) <= 0).all():
            return None
        dual.learn(dual.best, self.least / q)
        tried = set[tuple[Price, ...]]()
        for _ in range(TRIED):
            prices, top = dual.next_prices(whole)
            named = dual.multipliers(prices, q)
            near = self.least / q + (self.cost_of_best - self.least) / q * NEAR
            if top <= near or math.ceil(q * top - ROUNDING) <= self.least:
                break
            if not named or tuple(named) in tried:  # as far as whole numbers lead
                break
            tried.add(tuple(named))
            lagrangian = LagrangianCost.of_prices(found, named)
            if (searched := self._search_lagrangian(lagrangian)) is None:
                break
            nodes, shown = searched
            dual.add(*self._plane(nodes, lagrangian.cost))
            whole = not dual.learn(prices, float(shown) / q) and not whole
            if (bound := min(math.ceil(shown), self.cost_of_best)) > self.least:
                best, self.least = lagrangian, bound
            self.report()
            if self.least >= self.cost_of_best or self.patience <= 0:
                break
        return best

    def _plane(self, nodes: np.ndarray, cost: np.ndarray) -> tuple[float, list[list[int]]]:
        """Return what a tree costs, in losses, and of each rate the weight of every group that it
        says yes to, where each leaf has its best answer.

        nodes : int64[nodes, 3], see build_tree; tests are the problem's.
        cost : int64[objects, answers], by which answers are the best.
        """
        held = np.concatenate([self.cost, *(one.held for one in self.rates)], axis=1)
        sums, waiting = np.zeros(held.shape[1], np.int64), [(0, np.arange(len(cost)))]
        while waiting:
            at, rows = waiting.pop()
            test, one, rest = nodes[at].tolist()
            if test >= 0:
                mine = self.found.tests.outcome(test, self.first[rows])
                waiting += [(one, rows[mine]), (rest, rows[~mine])]
                continue
            mine, answer = held[rows].sum(axis=0), int(cost[rows].sum(axis=0).argmin())
            sums[answer] += mine[answer] + self.found.units.p
            sums[2:] += answer * mine[2:]
        ends = np.cumsum([len(one.sizes) for one in self.rates])
        yes = [part.tolist() for part in np.split(sums[2:], ends[:-1])]
        return int(sums[:2].sum()) / self.found.units.q, yes

    def _search_lagrangian(self, lagrangian: LagrangianCost) -> tuple[np.ndarray, Fraction] | None:
        """Search for the tree that is cheapest by a Lagrangian cost, for PATIENCE slices, and try
        the best one found.  Returns int64[nodes, 3] as build_tree has it, tests the problem's, and
        the bound on ``least`` that is proven; None where the costs are too large to search.

        Takes its slices off ``patience``.
        """
        from arboretum_gosdt.sparse.search import SparseSearch

        found, merged = self.found, self.found.merged
        most = lagrangian.cost.max(axis=1)
        saves = most[:, None] - lagrangian.cost
        kept = saves.any(axis=1)
        if saves.sum() > WEIGHTS:
            return None
        search = SparseSearch(
            bits=merged.bits[kept],
            weights=saves[kept],
            n_features=len(merged.tests),
            p=lagrangian.p,
            q=lagrangian.q,
            depth=found.limits.depth,
            memory_bytes=self.context.memory_bytes,
            without=(HARD_TO_SHOW,) if self.asked.proof else (),
        )

        def report(*_: int) -> None:
            self.patience -= 1
            self.context.progress(0, None, f"{search.subproblems:,} sets of objects")

        slices = min(PATIENCE, self.patience)
        ended = search.run(self.context.deadline, self.context.memory_bytes, report, slices)
        if ended == "seconds":
            self.patience = 0
        nodes = search.tree()[:, [0, 2, 3]]
        self._keep_tree(nodes, features=True)
        inner = nodes[:, 0] >= 0
        nodes[inner, 0] = merged.tests[nodes[inner, 0]]
        shown = search.lower + lagrangian.q * int(most.sum() - saves.sum())
        bound = lagrangian.bound(shown)
        if self.asked.proof and bound > self.least:
            self.lines.append(Line(lagrangian.name, shown + lagrangian.least, search))
        return nodes, bound

    def _by_partial_solutions(self, aim: int) -> str:
        """Find the best tree of a cost up to ``aim`` that keeps the rates, from partial solutions
        by cost and differences; returns what ran out, or "".

        aim : in 1/q losses, without what every tree loses.
        """
        found = self.found
        context = self.context
        lagrangian = self.lagrangian or LagrangianCost.of_prices(found, [])
        all_trees = AllTrees(
            table=Rows.of_merged(found.merged, lagrangian.cost),
            p=lagrangian.p,
            q=lagrangian.q,
            budget=lagrangian.budget(aim),
            depth=found.limits.depth,
            least=found.limits.least,
            memory_bytes=context.memory_bytes,
        )
        report = lambda: context.progress(
            0,
            None,
            f"all trees that may have a value up to {found.value(aim + found.equivalent_cost):.4f}",
        )
        if ended := all_trees.run(context.deadline, report):
            return ended
        rates = np.concatenate(
            [one.per_object for one in self.rates] or [np.zeros((len(self.cost), 0), np.int64)],
            axis=1,
        )
        columns = np.zeros((len(self.cost), self.cost.shape[1], rates.shape[1] + 1), np.int64)
        columns[:, -1, 1:], columns[:, :, 0] = rates, self.cost
        fronts = all_trees.fronts(columns, equal=(False,) + (True,) * rates.shape[1])
        if ended := fronts.run(context.deadline, report):
            return ended
        for trees in fronts.trees():
            if context.late:
                return "seconds"
            cost = (
                trees.cost
                if self.lagrangian is None
                else trees.value[:, 0, 0] + found.units.p * trees.leaves
            )
            i = self._cheapest_that_keeps(cost, trees.leaves, trees.value[:, 1:, 0])
            if i is not None:
                self.cost_of_best = int(cost[i])
                self.best = fronts.nodes_of_tree(trees.origin[i])
        return ""

    def _cheapest_that_keeps(
        self, cost: np.ndarray, leaves: np.ndarray, sums: np.ndarray
    ) -> int | None:
        """Return which of some trees is the cheapest that is better than the best one known and
        keeps all limits; None if none does.

        cost : int64[trees], in 1/q losses, without what every tree loses.
        leaves : int64[trees], how many each has.
        sums : int64[trees, n], of each rate in turn a number per group but the first.
        """
        able, start, most = cost < self.cost_of_best, 0, self.found.limits.leaves
        if most is not None:
            able &= leaves <= most
        for one in self.rates:
            end = start + len(one.sizes) - 1
            able, start = able & one.keeps_about(sums[:, start:end]), end
        for i in np.flatnonzero(able)[np.argsort(cost[able], kind="stable")].tolist():
            if self._keeps_rates(sums[i].tolist()):
                return int(i)
        return None

    def _keeps_rates(self, sums: list[int]) -> bool:
        """Return whether all rates are within their limits, exactly.

        sums : of each rate in turn, for every group but the first, the sum of
            ``Rates.per_object`` over the leaves that say yes.
        """
        rest = iter(sums)
        return all(
            one.keeps(list(itertools.islice(rest, len(one.sizes) - 1))) for one in self.rates
        )

    def _search_listed_trees(self, aim: int, before: int) -> str:
        """Go through the trees that cost up to ``aim`` one by one, and keep each one's best answers
        that keep all constraints; those up to ``before`` are done.  Returns what ran out, or "".

        aim, before : costs in 1/q losses, without what every tree loses.
        """
        found = self.found
        if ended := found.search_and_count(
            aim - sure(found.chosen).search.upper + found.equivalent_cost
        ):
            return ended
        costs = itertools.chain.from_iterable(
            itertools.repeat(int(cost) - found.equivalent_cost, count)
            for cost, count in zip(found.costs, found.counts, strict=True)
        )
        for number, (cost, preorder) in enumerate(zip(costs, found.preorders(), strict=False)):
            if cost >= self.cost_of_best:
                return ""
            if number % EVERY == 0 and self.context.late:
                self.least = max(self.least, cost)
                return "seconds"
            if cost > before:
                self._label_leaves(preorder.tolist())
        return ""

    def _leaf_of_rows(self, rows: int) -> LeafAnswers:
        """Return the leaf that holds these objects, made once.

        rows : bit u of the number says whether object u is in it.
        """
        if rows not in self.leaves:
            n = len(self.cost)
            inside = np.unpackbits(
                np.frombuffer(rows.to_bytes(-(-n // 8), "little"), np.uint8),
                count=n,
                bitorder="little",
            ).astype(bool)
            costs, merged = self.cost[inside].sum(axis=0), self.found.merged
            self.leaves[rows] = LeafAnswers(
                answers=sorted((int(x - costs.min()), k) for k, x in enumerate(costs)),
                sums=[int(x) for one in self.rates for x in one.per_object[inside].sum(axis=0)],
                cost=int(costs.min()) + self.found.units.p,
                mass=int(merged.mass[inside].sum()),
                rows=int(merged.rows[inside].sum()),
            )
        return self.leaves[rows]

    def _label_leaves(self, preorder: list[int], most: float = math.inf) -> None:
        """Find the answers of a tree that keep all constraints and cost least, and keep them in
        ``best`` if that is less than the best tree costs.

        preorder : its tests (features of the merged table), −1 for a leaf; the side of outcome 1
            comes first.
        most : answers tried; then the search ends, with the best so far.
        A tree whose leaves are too small or too many is passed over.
        """
        space, price = self.space, self.found.merged.price
        boxes = []
        rows = []
        waiting = [((1 << len(self.cost)) - 1, space.whole if space else 0)]
        cost = 0
        for test in preorder:
            here, box = waiting.pop()
            if test < 0:
                boxes.append(box)
                rows.append(here)
                continue
            one, rest = space.sides[test] if space else (0, 0)
            cost += int(price[test] * self._leaf_of_rows(here).mass) if price[test] else 0
            waiting += [
                (here & ~self.planes[test], box & rest),
                (here & self.planes[test], box & one),
            ]
        leaves, limits = [self._leaf_of_rows(one) for one in rows], self.found.limits
        if min(leaf.rows for leaf in leaves) < limits.least or len(leaves) > (
            limits.leaves or len(leaves)
        ):
            return
        cost += sum(leaf.cost for leaf in leaves)
        order = [
            [space.order(boxes[j], boxes[i]) if space else (False, False) for j in range(i)]
            for i in range(len(boxes))
        ]
        said: list[int] = []

        def assign(extra: int) -> None:
            """Give the next leaf its answers, the cheapest first, and go on with the leaves after
            it; at the last, keep the tree if it keeps all limits.

            extra : what the answers given cost above the best ones.
            """
            nonlocal most
            i, most = len(said), most - 1
            if most < 0:
                return
            if i == len(leaves):
                sums = [
                    sum(
                        leaf.sums[k]
                        for leaf, answer in zip(leaves, said, strict=True)
                        if answer == 1
                    )
                    for k in range(len(leaves[0].sums))
                ]
                if self._keeps_rates(sums):
                    answers = iter(said)
                    self.cost_of_best = cost + extra
                    self.best = [
                        (test, -1) if test >= 0 else (-1, next(answers)) for test in preorder
                    ]
                return
            for dearer, answer in leaves[i].answers:
                if cost + extra + dearer >= self.cost_of_best:
                    return
                if all(
                    (not up or said[j] <= answer) and (not down or answer <= said[j])
                    for j, (up, down) in enumerate(order[i])
                ):
                    said.append(answer)
                    assign(extra + dearer)
                    said.pop()

        assign(0)
