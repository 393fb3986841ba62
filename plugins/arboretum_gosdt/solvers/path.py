"""The whole regularisation path: the best tree for every λ from the smallest one up, and what
lies between.
"""

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Context,
    Ended,
    Front,
    FrontPoint,
    Problem,
    Shape,
    Solution,
    Status,
    Tree,
    TreeLimits,
    param,
    shape_of,
    sure,
    within_bytes,
)
from arboretum_gosdt.all_trees.enumeration import AllTrees
from arboretum_gosdt.all_trees.few_leaves import (
    best_tree_of_each_shape,
    nodes_of_preorder,
)
from arboretum_gosdt.all_trees.table import Rows, unpack_outcomes
from arboretum_gosdt.problem.prepared import (
    Merged,
    Tests,
    Units,
    all_tests,
    merge_equal_rows,
    units_of,
)
from arboretum_gosdt.problem.trees import build_tree, count_by_group
from arboretum_gosdt.solvers.choice import Which, search_kind
from arboretum_gosdt.solvers.gosdt import Gosdt

if TYPE_CHECKING:
    from arboretum_gosdt.sparse.search import SparseSearch


@attrs.frozen(eq=False)
class Step:
    """A tree of the path.

    loss : in whole losses, without what every tree has.
    nodes : as a search hands them over.
    """

    loss: int
    leaves: int
    nodes: np.ndarray


def _lower_hull(steps: list[Step]) -> list[Step]:
    """Return the steps that alone cost least at some price, most leaves first.

    steps : the one of most leaves and that of fewest are of these.
    """
    hull: list[Step] = []
    for c in sorted(steps, key=lambda step: (-step.leaves, step.loss)):
        if hull and hull[-1].leaves == c.leaves:
            continue
        while len(hull) > 1:
            a, b = hull[-2:]
            if (b.loss - a.loss) * (a.leaves - c.leaves) < (c.loss - a.loss) * (
                a.leaves - b.leaves
            ):
                break
            hull.pop()
        hull.append(c)
    return hull


def _loss_at(line: tuple[int, int, int], leaves: int) -> int:
    """Return the least whole loss of so many leaves on or above a line (``_Search.lines``)."""
    p, q, least = line
    return -((p * leaves - least) // q)


@attrs.frozen
class Path:
    """Proven best trees for every λ from ``objective.lam`` up, as a front of error and leaves; the
    run's tree is that of the smallest λ.

    The least loss + λ · leaves is a concave function of λ, made of a few straight lines, one per
    tree.  Between two known trees the search is asked at the λ where both cost the same: either
    that is the optimum, or a better tree is found (Eisner & Severance 1976). ``exact`` also
    finds the trees that no λ makes best: the least error for every number of leaves.
    """

    kind = "solver"
    name = "path"
    paper = "Lin, Zhong, Hu, Rudin & Seltzer 2020, beyond it"
    capabilities = ("classification", "multiclass", "weights", "thresholds", "exact", "anytime")
    needs = ("objective",)
    minimises = ("additive",)
    limits = ("max_depth",)
    example = "dataset=monk1-full method=path objective.lam=0.01"

    exact: bool = param(
        False,
        "whether the best tree of every number of leaves is found, also where no λ makes it "
        "best; takes longer",
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Find the path.  Raises CapabilityError where the sparse search does not know what is
        asked.
        """
        if shape_of(problem.parts.objective) is not Shape.additive:
            raise CapabilityError(
                "solver path goes through λ for a loss that is a sum over objects; add "
                "objective=accuracy (or balanced, cost_matrix)"
            )
        return _Search(problem, context, self.limits).find_path(self.exact)

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Compile, or load, what will be called."""
        from arboretum.kernels.solving.memo import MemoArrays
        from arboretum_gosdt.all_trees.enumeration import load_kernels
        from arboretum_gosdt.sparse.tree import enter_bounds_between_prices

        memo = MemoArrays({"lower": np.int64, "upper": np.int64, "test": np.int32}, 1).values()
        enter_bounds_between_prices(memo[:2], memo[:2], np.array([[1, 1], [3, 1], [2, 1]]), memo)
        best_tree_of_each_shape(np.zeros((1, 1), np.uint8), np.ones((1, 2), np.int64))
        if self.exact:
            load_kernels()
        Gosdt().warm_up(problem, context)


class _Search:
    """The path as far as it is known."""

    def __init__(self, problem: Problem, context: Context, limits: tuple[str, ...]) -> None:
        self.problem, self.context = problem, within_bytes(context)
        self.limits = TreeLimits.of("path", problem, limits)
        self.tests = all_tests(problem, context=context)
        self.units = units_of(problem)
        units: Units = self.units
        if (
            units.price_value
            or units.slack
            or units.slack_per_leaf
            or search_kind(Which.auto, self.limits, self.tests, units, with_memo=True)
            is not Which.sparse
        ):
            ways = (
                "objective.lam > 0 (the smallest λ), numbers of few digits, no prices, and no "
                "limit but max_depth"
            )
            raise CapabilityError(f"solver path asks the sparse search, which knows {ways}")
        tests: Tests = self.tests
        self.merged: Merged = merge_equal_rows(problem, tests, units, context)
        self.counted = count_by_group(problem, tests, self.merged)
        total = self.merged.weights.sum(axis=0)
        self.equivalent_loss = int(
            self.merged.weights.sum() - self.merged.weights.max(axis=1).sum()
        )
        self.leaf = Step(int(total.sum() - total.max()), 1, np.array([[-1, 0, -1, -1]]))
        self.steps: list[Step] = []  # most leaves first
        # numbers of leaves between which every best tree is known
        self.filled: set[tuple[int, int]] = set()
        # p, q, least: all trees have q · loss + p · leaves ≥ least
        self.lines = [(units.p, units.q, self.equivalent_loss * units.q + units.p)]
        self.search: SparseSearch | None = None  # the last one
        self.searches: list[SparseSearch] = []  # from which bounds are taken, by price
        self.held = 0  # bytes of these
        # of the value at the smallest λ, as long as that is not solved
        self.floor: Fraction | None = self.equivalent_loss + Fraction(units.p, units.q)
        self.trees: dict[int, Tree] = {}
        self.ended = Ended()
        self.sets = 0

    def find_path(self, exact: bool) -> Solution:
        """Return the path, or what a budget or Ctrl-C leaves of it.

        exact : also look for the trees between two steps.
        The solution has a front of error and leaves where errors of objects are errors of rows,
        else the trees alone.  It is optimal where the smallest λ is solved; a note says where the
        path has gaps.
        """
        between: list[Step] = []
        ended = Ended.of(
            lambda: self._find_steps() or (self._find_trees_between(between) if exact else "")
        )
        ended = self.ended if self.ended.error else ended
        self.steps = self.steps or [self.leaf]
        tree = self._tree_of_step(self.steps[0])
        value = float(sure(self.problem.parts.objective).value(tree, self.problem))
        bound = value if self.floor is None else min(value, self._value_of_loss(self.floor))
        errors = (
            sure(self.problem.parts.objective).name == "accuracy" and self._errors_are_of_rows()
        )
        front = self._front_of_steps([*self.steps, *between]) if errors else None
        what = f"the path has gaps: {ended.why} after {self.sets:,} sets of objects"
        details = {
            "lambdas": [float(one * self.units.loss_value) for one in self.lambdas()],
            "leaves": [step.leaves for step in self.steps],
            "losses": [self._value_of_loss(step.loss) for step in self.steps],
        }
        others = (
            ()
            if front
            else tuple(
                map(
                    self._tree_of_step,
                    sorted([*self.steps[1:], *between], key=lambda step: -step.leaves),
                )
            )
        )
        status = Status.optimal if self.floor is None else Status.feasible
        notes = (what,) if ended.by else ()
        return Solution(
            tree=tree,
            value=value,
            lower_bound=bound,
            status=status,
            subproblems=self.sets,
            finished=not ended.by,
            notes=notes,
            details={**details, **ended.details},
            others=others,
            front=front,
        )

    def _errors_are_of_rows(self) -> bool:
        """Return whether errors of objects are those of rows: none were merged under one class, or
        weighed anew.
        """
        objects, rows = self.problem.objects, self.problem.objects.table
        if (objects.label[objects.object_of_row] != rows.target.codes).any():
            return False
        weight = np.bincount(objects.object_of_row, rows.row_weights(), objects.n_objects)
        own = objects.weight / objects.weight.sum()
        # summed in another order: relative errors of n · 2⁻⁵³ stay below 1e-9 for millions of rows
        return bool((np.abs(weight / weight.sum() - own) <= 1e-9 * own).all())

    def lambdas(self) -> list[Fraction]:
        """From which λ on each step is best, in losses; the first: the smallest asked for."""
        turns = [Fraction(b.loss - a.loss, a.leaves - b.leaves) for a, b in pairwise(self.steps)]
        return [(self.units.p + self.units.above) / Fraction(self.units.q), *turns]

    def _find_steps(self) -> str:
        """Find all steps; returns what ran out, or "".

        ``steps`` are the lower hull of the trees that are known.  Where a tree might lie below the
        line through two neighbours, the price is tried at which both cost the same.
        """
        first, ended = self._search_at_price(self.units.p, self.units.q, self.leaf)
        self.steps = [first, self.leaf] if first.leaves > 1 else [first]
        if ended:
            return ended
        seen = 1
        if first.leaves > 2:
            seen, few = self._best_small_trees()
            self.steps = _lower_hull(
                [first, self.leaf, *(step for step in few if 1 < step.leaves < first.leaves)]
            )
        between = range(seen + 1, first.leaves)  # leaves of the trees that may not be known
        least, lines = [self._least_loss(k) for k in between], len(self.lines)
        proven: set[tuple[Step, Step]] = set()
        while pair := next((one for one in pairwise(self.steps) if one not in proven), None):
            a, b = pair
            p, q = Fraction(b.loss - a.loss, a.leaves - b.leaves).as_integer_ratio()
            cost, found, ended = q * a.loss + p * a.leaves, a, ""
            for line in self.lines[lines:]:
                least = [max(one, _loss_at(line, k)) for one, k in zip(least, between, strict=True)]
            lines = len(self.lines)
            if any(q * loss + p * k < cost for loss, k in zip(least, between, strict=True)):
                found, ended = self._search_at_price(p, q, a)
            else:
                self.lines.append((p, q, cost))
            if ended:
                return ended
            if found is a:
                proven.add(pair)
            else:
                self.steps = _lower_hull([*self.steps, found])
        return ""

    def _least_loss(self, leaves: int) -> int:
        """Return a bound that no tree of so many leaves loses less than: losses are whole, and no
        tree lies below a line.
        """
        return max(self.equivalent_loss, *(_loss_at(line, leaves) for line in self.lines))

    def _best_small_trees(self) -> tuple[int, list[Step]]:
        """Return up to how many leaves all trees were gone through, and the best tree of two and of
        three leaves, where there is one.
        """
        seen, trees = best_tree_of_each_shape(
            unpack_outcomes(self.merged), self.merged.weights, self.limits.depth
        )
        return seen, [Step(*one) for one in trees]

    def _search_at_price(self, p: int, q: int, known: Step) -> tuple[Step, str]:
        """Return a tree of least q · loss + p · leaves, and what ran out, or "".

        p, q : int, what a leaf and a loss cost.
        known : a tree that was found; after the first search it is returned where none is better.
        The first search looks at all trees; later ones only below ``known``, with the bounds of the
        searches at the prices next to this one.  Adds a line to ``lines``.
        """
        from arboretum_gosdt.sparse.search import SparseSearch

        prepared, memory = self.merged.prepared, sure(self.context.memory_bytes)
        first = self.search is None
        if not len(prepared.weights) or not len(prepared.tests):
            self.floor = None
            return self.leaf, ""
        if self.search is None:
            search = SparseSearch(
                bits=prepared.bits,
                weights=prepared.weights,
                n_features=len(prepared.tests),
                p=p,
                q=q,
                depth=self.limits.depth,
                memory_bytes=memory,
            )
        else:
            search = self.search.copy_with_leaf_price(p, q)
            search.search_below(q * known.loss + p * known.leaves)
        prices = [one.subproblem for one in self.searches]
        at = sum(one.p * q < p * one.q for one in prices)
        if at:
            search.start_between_prices(
                self.searches[at - 1], self.searches[at] if at < len(prices) else None
            )
        report_bounds = lambda low, up: self.context.progress(
            0, None, f"{len(self.steps)} trees of the path"
        )
        left = memory - self.held
        self.ended = Ended.of(lambda: search.run(self.context.deadline, left, report_bounds))
        ended = self.ended.by
        self.sets += search.subproblems
        self.search = search
        self.lines.append((p, q, search.lower))
        self.searches.insert(at, search)
        self.held += search.bytes_used
        if 2 * self.held >= memory:
            self.searches, self.held = [], 0
        if not first and search.upper >= q * known.loss + p * known.leaves:
            return known, ended
        nodes = search.tree()
        leaves = int((nodes[:, 0] < 0).sum())
        # of an interrupted search ``upper`` lags behind
        cost = search.subproblem.build_subtree(nodes).recompute_cost() if ended else search.upper
        step = Step((cost - p * leaves) // q, leaves, nodes)
        if first:
            # before its bound: whoever is interrupted here has both, or neither
            self.steps = [step]
            self.floor = Fraction(search.lower, q) if ended else None
        return step, ended

    def _find_trees_between(self, found: list[Step]) -> str:
        """Add the best trees of numbers of leaves between two steps to ``found``, where they beat
        those of fewer leaves; returns what ran out, or "".

        They are the trees of the graph whose loss is below that of the step with fewer leaves;
        ``filled`` notes between which steps all are known.
        """
        table = Rows.of_merged(self.merged)
        own = self.equivalent_loss
        for a, b in pairwise(self.steps):
            if a.leaves - b.leaves < 2:
                continue
            turn = Fraction(b.loss - a.loss, a.leaves - b.leaves)
            p, q = turn.numerator, turn.denominator
            all_trees = AllTrees(
                table=table,
                p=p,
                q=q,
                budget=q * (b.loss - own - 1) + p * (a.leaves - 1),
                depth=self.limits.depth,
                least=1,
                memory_bytes=self.context.memory_bytes,
            )
            between = f"trees of {b.leaves + 1} to {a.leaves - 1} leaves"
            report = lambda: self.context.progress(0, None, between)  # noqa: B023 - of this turn
            ended = all_trees.run(self.context.deadline, report)
            fronts = all_trees.fronts(np.ascontiguousarray(table.cost[:, :, None]))
            ended = ended or fronts.run(self.context.deadline, report)
            self.sets += all_trees.n_sets
            if ended:
                return ended
            best: dict[int, tuple[int, np.ndarray]] = {}
            for trees in fronts.trees():
                for loss, leaves, origin in zip(
                    (trees.value[:, 0, 0] + own).tolist(),
                    trees.leaves.tolist(),
                    trees.origin,
                    strict=True,
                ):
                    if b.leaves < leaves < a.leaves and loss < best.get(leaves, (b.loss, None))[0]:
                        best[leaves] = loss, origin.copy()
            loss = b.loss
            for leaves in sorted(best):
                if best[leaves][0] < loss:
                    loss = best[leaves][0]
                    found.append(
                        Step(
                            loss,
                            leaves,
                            nodes_of_preorder(
                                test for test, _ in fronts.nodes_of_tree(best[leaves][1])
                            ),
                        )
                    )
            self.filled.add((a.leaves, b.leaves))
        return ""

    def _front_of_steps(self, steps: list[Step]) -> Front:
        """Return error and leaves of all trees found, and what no tree can beat.

        steps : of the path and between; sorted here, fewest leaves first.
        """
        steps.sort(key=lambda step: step.leaves)
        most = max(1, len(self.merged.weights))  # a leaf for every group of rows
        most = (
            most
            if self.limits.depth is None or self.limits.depth >= most.bit_length()
            else 1 << self.limits.depth
        )
        corners: list[tuple[float, float]] = []
        for leaves in range(1, most + 1):
            low = self._least_loss(leaves)
            if any(few <= leaves < many for many, few in self.filled):
                low = max(low, min(step.loss for step in steps if step.leaves <= leaves))
            corners.append((self._value_of_loss(low), float(leaves)))
            if low <= self.equivalent_loss:
                break
        return Front(
            ("train_error", "n_leaves"),
            [
                FrontPoint((self._value_of_loss(s.loss), float(s.leaves)), self._tree_of_step(s))
                for s in steps
            ],
            corners,
        )

    def _value_of_loss(self, loss: Any) -> float:
        """Return the value of a whole loss, with what every tree has."""
        return float((loss + self.merged.base) * self.units.loss_value)

    def _tree_of_step(self, step: Step) -> Tree:
        """Return the tree of a step with the problem's tests and labels; each is made once."""
        if id(step) in self.trees:
            return self.trees[id(step)]
        nodes = step.nodes[:, [0, 2, 3]]
        inner = nodes[:, 0] >= 0
        nodes[inner, 0] = self.merged.tests[nodes[inner, 0]]
        return self.trees.setdefault(
            id(step),
            build_tree(self.problem, self.tests, self.units, nodes, counted=self.counted),
        )
