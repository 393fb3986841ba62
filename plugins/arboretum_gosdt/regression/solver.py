"""Regression trees of proven least squared or absolute error + λ · leaves: a problem becomes
integers, its best tree is grown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np

from arboretum.api import (
    DEFAULT_BYTES,
    Attempt,
    CapabilityError,
    Context,
    Facts,
    Problem,
    ProofWriter,
    Shape,
    Solution,
    Task,
    Tree,
    TreeLimits,
    param,
    rational,
    shape_of,
    sure,
    within_bytes,
)
from arboretum.kernels.plain import fewer
from arboretum.kernels.solving.memo import MemoArrays
from arboretum_gosdt.problem.prepared import (
    all_tests,
    group_equal_rows,
    pack_distinct_tests,
    refuse_many_pairs,
    run_slices_of_steps,
    unpack_bits,
)
from arboretum_gosdt.regression.problem import (
    change_by_rounding,
    deviation_from_median,
    deviations_of_all,
    is_absolute,
    regression_tree,
    round_targets,
    squares_of,
    whole_weights,
)

if TYPE_CHECKING:
    from arboretum.interfaces.objective import Objective


SLICE = 20_000_000
"""Work between looks at the clock."""
BITS = 50
"""Costs of the whole table stay below 2^BITS."""
SLACK = 1e-9
"""Relative: a gap that rounding leaves counts as none."""
ANY = 1 << 20
PER_OBJECT = 2_000
"""Steps of what is reckoned in fractions of whole numbers."""


@attrs.frozen
class Regression:
    """Proven least squared or absolute error + λ · leaves, under limits on depth, leaves and rows
    per leaf.

    Sets of rows are solved once each, with bounds (branch and bound with a memo); squared errors
    within two levels by strips of rows between thresholds, whose bounds hardly depend on the number
    of rows.  Two-way tests: of ``encoder=auto`` all there are, of ``encoder=raw`` every threshold.
    Stopped by a budget, Ctrl-C or SIGTERM it returns its best tree and what is proven.
    """

    kind = "solver"
    name = "regression"
    paper = "Zhang, Xin, Seltzer & Rudin 2023, after Lin et al. 2020"
    capabilities = ("regression", "weights", "thresholds", "exact", "anytime")
    needs = ("objective",)
    minimises = ("deviation",)
    limits = ("max_depth", "max_leaves", "min_leaf")
    example = "dataset=diabetes encoder=bins method=regression stopping.standard.max_depth=3"

    proof: str = param(
        "",
        "file for the proof of a squared error within two levels (arboretum verify checks it), "
        "written after the search; nothing: none",
        writes=True,
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError, DataError or BudgetError with
        the way out, StoreError where a proof cannot be written.
        """
        from arboretum_gosdt.regression.two_levels import TwoLevelSearch, write_proof

        limits = limits_of(problem)
        two = limits.depth is not None and limits.depth <= 2
        if two and not is_absolute(problem.parts.objective):
            if self.proof:
                ProofWriter.place(self.proof)  # known before the search, whose result would be lost
            levels = TwoLevelSearch(problem, limits, context)
            found = Attempt(problem, levels, "sets of rows", SLACK).go_on(context)
            if not self.proof:
                return found
            return context.after(found, lambda: write_proof(self.proof, levels, found, context))
        if self.proof:
            raise CapabilityError(
                "solver.proof: proofs of regression trees are of squared errors within two levels; "
                "set stopping.standard.max_depth=2, or leave it out"
            )
        search = RegressionSearch(problem, limits, context)
        return Attempt(problem, search, "sets of rows", SLACK).go_on(context)

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Compile, or load, what will be called."""
        depth = problem.parts.limits().max_depth
        absolute = is_absolute(problem.parts.objective)
        if depth is not None and depth <= 2 and not absolute:
            return  # NumPy's
        context.progress(0, None, "loading the kernels of regression")
        rng = np.random.default_rng(0)
        for absolute in (False, True):
            DeviationSearch(
                rng.integers(0, 2, (40, 5), np.uint8),
                np.ones(40, np.int64),
                rng.integers(-9, 9, 40),
                np.ones(40, np.int64),
                np.arange(40),
                absolute=absolute,
                price=Fraction(1, 50),
            ).run()

    def least(self, problem: Problem, context: Context) -> tuple[Objective, Solution]:
        """Return the objective that is certified, and its least value within the limits."""
        found = self.solve(problem, context)
        return sure(problem.parts.objective), found


class DeviationSearch:
    """The tree of least deviation + λ · leaves, of a table of whole numbers.

    outcome : uint8[objects, tests], 0 or 1.
    weight, total, rows, group : int64[objects], Σ w, Σ w y, training rows, and of absolute errors
        the group of equal outcomes that an object, of one target, is in.
    absolute : whether errors are absolute, else squared.
    price : of a leaf, in the unit of the deviation.
    depth, leaves : tests on a path, and leaves, at most; None: any number.
    least : training rows in every leaf.
    memory_bytes : of its arrays; raises BudgetError where they take more.
    """

    def __init__(
        self,
        outcome: np.ndarray,
        weight: np.ndarray,
        total: np.ndarray,
        rows: np.ndarray,
        group: np.ndarray,
        absolute: bool,
        price: Fraction,
        *,
        depth: int | None = None,
        leaves: int | None = None,
        least: int = 1,
        memory_bytes: int = DEFAULT_BYTES,
    ) -> None:
        from arboretum.kernels.solving.fingerprints import random_words
        from arboretum_gosdt.regression import loop as kernels, pairs

        self._kernels, (n, tests), kind = kernels, outcome.shape, np.int64
        order = np.argsort(total / weight, kind="stable")
        outcome, weight, total, rows, group = (
            np.ascontiguousarray(one[order]) for one in (outcome, weight, total, rows, group)
        )
        bits = min(BITS, 60 - n.bit_length())
        square, worst, self.scale, self.constant = scale_costs(weight, total, group, absolute, bits)
        # else no tree costs less than a leaf
        self.p = min(round(price * self.scale), 2**bits)
        self.pays = tests > 0 and price * self.scale < 2**bits
        shift = int(weight.sum()).bit_length()
        shift = 0 if absolute or int(np.abs(total).sum()).bit_length() + shift > 61 else shift
        keys = random_words(n).view(kind)
        self._table = pairs.RegressionTable(
            outcome=outcome,
            weight=weight,
            total=total,
            square=square,
            worst=worst,
            rows=rows,
            keys=keys,
            p=self.p,
            least=least,
            absolute=absolute,
            similar=least <= 1,
            slack=2 * n + 64,
            shift=shift,
            scale=float(self.scale),
        )
        self.upper = int(kernels.leaf_cost(self._table, np.arange(n))) + self.p
        most_depth = int(kernels.UNLIMITED) if depth is None else depth
        levels = min(n, most_depth, self.upper // self.p if self.p else n) + 3
        self.leaves, self.depth = min(leaves or 0, n), most_depth
        k = self.leaves + 1
        self._bytes = memory_bytes
        refuse_many_pairs(
            tests,
            levels,
            8
            * (
                levels * (tests * tests + 4 * tests * k + 5 * tests)
                + (3 + 12 * absolute) * tests * tests
                + n * (levels + 7)
            ),
            memory_bytes,
        )

        self._levels = pairs.new_levels(levels, tests, n, k)
        self._scratch = pairs.new_scratch(tests, n, absolute)
        self._memo = MemoArrays(dict.fromkeys(kernels.Memo._fields[1:], kind))
        self._state = np.zeros(1, kernels.STATE)
        self._levels.objects[:n], self._levels.first[1] = np.arange(n), n
        root = self._levels.node[0]
        root["budget"], root["ub"], root["key"] = pairs.NEVER, self.upper, keys.sum(axis=0)
        root["depth"], root["leaves"] = most_depth, self.leaves
        root["child"], root["first"] = pairs.NEW, -1

    def run(self, until: float | None = None, report: Callable[[], None] = lambda: None) -> str:
        """Search; returns "" when the least cost is known, else what ran out, "seconds" or "bytes".

        until : ``time.monotonic()`` value at which it stops; None: no limit.
        report : called after every slice.
        """

        def work(most: int) -> int:
            """Search for a slice, no step above ``most`` simple ones; returns how it ended."""
            memo = self._kernels.Memo(*self._memo.values())
            found: int = self._kernels.search(
                self._table,
                self._levels,
                self._scratch,
                memo,
                self._state,
                fewer(SLICE, self._kernels.search),
                most,
            )
            return found

        def make_room() -> bool:
            known = int(self._state["known"][0]) + len(self._levels.node) + 3
            return self._memo.room_for(known, self._bytes)

        with self._memo.moved_by(until):
            return run_slices_of_steps(work, make_room, until, report)

    @property
    def lower(self) -> int:
        """No tree costs less."""
        found: int = max(int(self._state["bound"][0]), self.p)
        return found

    @property
    def best(self) -> int:
        """What the best tree known costs."""
        return int(self._levels.node["ub"][0])

    @property
    def opened(self) -> int:
        """Sets whose tests were counted in pairs."""
        return int(self._state["opened"][0])

    def deviation(self, cost: int) -> Fraction:
        """Return the deviation that a cost stands for, prices of leaves included, in whole units of
        the table.
        """
        found: Fraction = (cost - self.constant) / self.scale
        return found

    def tree(self) -> list[int]:
        """Return the best tree known, as its tests in preorder (−1: a leaf; the side of outcome 1
        comes first).
        """
        node = self._levels.node[0]
        start = int(node["first"]), int(node["given"])
        if start[0] < 0:
            return [-1]
        return self._best_tree_of_set(
            np.arange(len(self._table.weight)), self.depth, self.leaves, start
        )[1]

    def _best_tree_of_set(
        self, rows: np.ndarray, depth: int, leaves: int, start: tuple[int, int] | None = None
    ) -> tuple[int, list[int]]:
        """Return (cost, tests in preorder) of the best tree known of a set.

        rows : int64, the objects.
        depth : tests that may follow, ANY or more: any number; leaves : at most, 0: any number.
        start : the first test and the leaves of its side of outcome 1, where they are known; None:
            as the memo has them, or the best tree of one test.
        """
        from arboretum.kernels.solving.fingerprints import find

        kernels, table = self._kernels, self._table
        best = int(kernels.leaf_cost(table, rows)) + self.p, [-1]
        if depth < 1 or leaves == 1:
            return best
        if start is None:
            best = min(best, self._best_stump(rows), key=lambda tree: tree[0])
            one, two = (np.uint64(int(key) % 2**64) for key in table.keys[rows].sum(axis=0))
            known = [
                find(self._memo["slots"], key_with_limits(int(one), depth, k), two)
                for k in (range(2, leaves + 1) if leaves else (0,))
            ]
            known = [
                at
                for at in known
                if at >= 0 and self._memo["test"][at] >= 0 and self._memo["upper"][at] < best[0]
            ]
            if not known:
                return best
            at = min(known, key=lambda at: int(self._memo["upper"][at]))
            start = int(self._memo["test"][at]), int(self._memo["share"][at])
        mine = table.outcome[rows, start[0]] == 1
        less = depth if depth >= ANY else depth - 1
        below = self._best_tree_of_set(rows[mine], less, start[1])
        rest = self._best_tree_of_set(rows[~mine], less, leaves and leaves - start[1])
        return min(
            best, (below[0] + rest[0], [start[0], *below[1], *rest[1]]), key=lambda tree: tree[0]
        )

    def _best_stump(self, rows: np.ndarray) -> tuple[int, list[int]]:
        """Return cost and tests in preorder of the best tree of one test that the least leaf
        allows; NEVER and a leaf where none is.

        rows : int64, the objects.
        """
        kernels, table = self._kernels, self._table
        found = int(kernels.NEVER), [-1]
        for f in range(table.outcome.shape[1]):
            mine = table.outcome[rows, f] == 1
            sides = rows[mine], rows[~mine]
            if all(len(side) and table.rows[side].sum() >= table.least for side in sides):
                cost = sum(int(kernels.leaf_cost(table, side)) for side in sides) + 2 * self.p
                found = min(found, (cost, [f, -1, -1]), key=lambda tree: tree[0])
        return found


def scale_costs(
    weight: np.ndarray, total: np.ndarray, group: np.ndarray, absolute: bool, bits: int
) -> tuple[np.ndarray, np.ndarray, Fraction, Any]:
    """Return (square, worst, scale) as in
    :class:`arboretum_gosdt.regression.pairs.RegressionTable`, all below 2^bits, and what rounding
    up adds to the cost of all trees.

    weight, total, group : int64[objects], in the order of their targets; see
        :class:`DeviationSearch`.
    absolute : whether errors are absolute; then nothing is rounded up.
    """
    y, square = total / weight, np.zeros(len(total), np.int64)
    each, of, squares = squares_of(total, weight)
    scale = Fraction(2) ** (
        bits - math.ceil(deviation_from_median(total, weight) if absolute else squares).bit_length()
    )
    far = np.maximum(y - y[0], y[-1] - y)
    worst = np.minimum(
        np.ceil(float(scale) * weight * (far if absolute else far**2)) + 2, 2.0**bits
    ).astype(np.int64)
    if not absolute:
        square[:] = np.array([math.ceil(scale * one) + 1 for one in each])[of]
        return square, worst, scale, int(square.sum()) - scale * squares
    for one in np.unique(group):
        mine = np.flatnonzero(group == one)
        square[mine[0]] = math.floor(scale * deviation_from_median(total[mine], weight[mine]))
    return square, worst, scale, 0


def key_with_limits(one: int, depth: int, leaves: int) -> np.uint64:
    """Return the first word of a set whose trees have limits, as the kernels do.

    one : the set's first word, any whole number; depth : ANY or more: no limit.
    leaves : 0: no limit.
    """
    from arboretum_gosdt.regression import loop as kernels

    return np.uint64(
        (
            one
            + int(kernels.LEAVES_KEY) * leaves
            + (int(kernels.DEPTH_KEY) * depth if depth < ANY else 0)
        )
        % 2**64
    )


def limits_of(problem: Problem) -> TreeLimits:
    """Return what trees are held to.  Raises CapabilityError for another objective, for rules that
    the search does not know, and where it would not end.
    """
    objective = problem.parts.objective
    if not is_absolute(objective) and shape_of(objective) is not Shape.squares:
        raise CapabilityError(
            "solver regression minimises squared_error or absolute_error; add "
            "objective=squared_error"
        )
    allowed = TreeLimits.of("regression", problem, Regression.limits)
    allowed.refuse_rules("regression", Regression.limits)
    allowed.refuse_endless(cast(Any, objective).lam, Regression.limits)
    return allowed


class RegressionSearch:
    """A problem in whole numbers, and its search."""

    def __init__(self, problem: Problem, allowed: TreeLimits, context: Context) -> None:
        """Raise CapabilityError, DataError or BudgetError, with the way out.

        allowed : as of :func:`limits_of`.
        """
        objective, objects = cast(Any, problem.parts.objective), problem.objects
        self.problem, self.tests = problem, all_tests(problem, Task.regression, context)
        mass = whole_weights(objects.weight)
        context.check_time(PER_OBJECT * objects.n_objects)
        target, off = round_targets(objects.y, int(mass.sum()))
        planes, self.kept = pack_distinct_tests(self.tests, context)
        absolute = is_absolute(objective)
        group, first = group_equal_rows(planes)
        many = len(first)
        if absolute:  # equal rows of one target are an object
            both, first, of = np.unique(
                np.column_stack([group, target]), axis=0, return_index=True, return_inverse=True
            )
            group, of = both[:, 0], of.ravel()
        else:
            of, group = group, np.arange(many)
        weight, total, rows = np.zeros((3, len(first)), np.int64)
        np.add.at(weight, of, mass)
        np.add.at(total, of, mass * target)
        np.add.at(rows, of, objects.count)
        self.all, self.apart = deviations_of_all(mass, target, weight, total, absolute)
        limits: Facts = {
            "depth": allowed.depth,
            "leaves": allowed.leaves,
            "least": allowed.least,
            "memory_bytes": within_bytes(context).memory_bytes,
        }
        self.search = DeviationSearch(
            unpack_bits(planes[:, first].T, len(self.kept)),
            weight,
            total,
            rows,
            group,
            absolute=absolute,
            price=rational(objective.lam) * self.all,
            **limits,
        )
        leaves = min(many, 2 ** min(62, allowed.depth or many), allowed.leaves or many)
        moved = change_by_rounding(mass, target, off, absolute)
        self.slack = float((2 * Fraction(moved) + 2 * leaves / self.search.scale) / (self.all or 1))
        pays = bool(self.all) and self.search.pays
        self.rounded = "targets have more digits than the search counts" if pays else ""

    def _value(self, cost: int) -> float:
        """Return the objective's value of a cost, which has the price of leaves in it; λ where the
        targets are all the same.
        """
        objective: Any = self.problem.parts.objective
        return (
            float((self.search.deviation(cost) + self.apart) / self.all)
            if self.all
            else float(objective.lam)
        )

    def run(self, context: Context, report: Callable[..., None]) -> str:
        """Go on until it is finished, "", or "seconds" or "bytes" run out."""
        return self.search.run(context.deadline, report) if self.rounded else ""

    @property
    def subproblems(self) -> int:
        """Sets of rows whose tests were counted in pairs."""
        return self.search.opened

    @property
    def lower(self) -> float:
        """What is proven of every tree, less what rounding may have changed; a leaf costs λ."""
        objective: Any = self.problem.parts.objective
        return max(float(objective.lam), self._value(self.search.lower) - self.slack)

    @property
    def upper(self) -> float:
        """Value of the best tree known."""
        return self._value(self.search.best)

    def tree(self) -> Tree:
        """Return the best tree known, with the value that the objective asks of every leaf."""
        from arboretum_gosdt.problem.trees import preorder_to_nodes

        nodes = preorder_to_nodes(self.search.tree())
        inner = nodes[:, 0] >= 0
        nodes[inner, 0] = self.kept[nodes[inner, 0]]
        return regression_tree(self.problem, self.tests, nodes)
