"""Does a bound of a loss of false positives and false negatives follow?  From lines, which records
show, from trees of up to three leaves, which are counted, and from fronts of what lines leave.

A tree has (f, g, h): the weights of its false positives and false negatives, in whole multiples of
the weights' common divisor, and its leaves; its value is R = loss(f, g) + λ h.  To show: no tree
has R < B.  What is relied on:

1. *Lines.*  Records show of some weights (a, b, p) that every tree costs a f + b g + p h ≥ L: they
   are records of an additive objective, and are checked as such (:mod:`.additive`), each line's by
   itself.
2. *The loss falls neither with f nor with g.*  That is tried, on all pairs of them where these are
   few, else on a grid; what was not tried is taken on trust, and said so.  Then for h leaves and f
   from f₀ to f₁, g is at least what the lines demand at f₁, and R at least loss(f₀, g) + λ h.  Such
   steps are halved as long as that is below B.
3. *Few leaves.*  Where trees of one to three leaves are left by the lines, all these are counted.
4. *Fronts.*  Where others are left, these cost a f + b g + p h ≤ C by one of the lines, C being the
   most that a step that is left allows: all of them are gone through, set by set
   (:mod:`.fronts`), and the least of their values is taken.

If some part fails, what follows is the least R of what is left, which may be less than is claimed.
Values are floats, and compared up to ``ROUNDING``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from arboretum.errors import ArboretumError, VerificationError, sure
from arboretum.interfaces.method import Problem
from arboretum.interfaces.monotony import monotone_losses
from arboretum.model.tree import Tree
from arboretum.proof.additive import Additive
from arboretum.proof.format import Proof
from arboretum.proof.fronts import Below, Side, all_below
from arboretum.proof.ground import MOST, Columns, common_divisor, decimals

ROUNDING = 1e-9
"""Of values, which are about 1."""
SUMMED = 1e-12
"""By which sums of floats may be off."""
TRIED = 200
"""Numbers of false positives, and of false negatives, of the grid on which a loss is tried."""
ALL_TRIED = 1 << 16
"""Pairs that are all tried."""
STEPS, MOST_STEPS = 64, 20_000
"""Steps of the false positives for each number of leaves at first, and together at last."""
MOST_LEAVES, DEAREST = 10_000, 1 << 48
"""That are looked at; what a leaf costs stays below, so that leaves fit into 62 bits together."""
FEW = 3
"""Leaves of trees that are counted."""


@attrs.frozen
class LineObjective:
    """a · false positives + b · false negatives, in whole multiples of ``divisor``, + lam · leaves,
    as additive records count it.
    """

    kind: ClassVar[str] = "objective"
    shape: ClassVar[str] = "additive"
    name: ClassVar[str] = "line"

    a: int
    b: int
    lam: int
    divisor: Fraction

    def factors(self, weights: Sequence[Fraction]) -> list[Fraction]:
        """Of each class the same: no weight matters but the row's."""
        return [1 / self.divisor] * len(weights)

    def errors(self, n_classes: int) -> list[list[int]]:
        """errors[y][k] of two classes, the second being the positive one."""
        del n_classes
        return [[0, self.a], [self.b, 0]]


@attrs.frozen(eq=False)
class Line:
    """A line with what checks its records.

    constant : what every tree costs besides what records count.
    """

    a: int
    b: int
    p: int
    rules: Additive
    constant: int


class Confusion:
    """Checks the records of each line, and what the end makes of them.

    lines : those of the log.   fronts : the line by which the rest is gone through; −1: none.
    target : the bound that is claimed.
    mass : int64[problem's objects], weights in multiples of their common divisor.
    weights : int64[objects, 3], of both classes and rows, of the merged objects.
    unit : of a weight.   total : int64[2], weights of both classes.
    """

    slack = ROUNDING

    def __init__(
        self,
        problem: Problem,
        tests: Sequence[int | list[int]],
        lines: Sequence[Sequence[int]],
        fronts: int,
        target: float,
    ) -> None:
        """Raises VerificationError for lines that are none, and whatever refuses the objective.

        lines : (a, b, p) of each.
        """
        objective: Any = problem.parts.objective
        objective.classes_of(problem)
        self.problem, self.objective, self.target = problem, objective, target
        self.lam = float(objective.lam)
        objects = problem.objects
        different, which = np.unique(objects.weight, return_inverse=True)
        exact = decimals(different)
        self.divisor = common_divisor(exact)
        whole = [int(weight / self.divisor) for weight in exact]
        if float(np.array(whole, float)[which].sum()) >= MOST:
            raise VerificationError("weights without their common divisor exceed 2^53 together")
        self.columns = Columns.of(objects)
        self.weights = np.zeros((len(self.columns.has), 3), np.int64)
        self.mass = np.array(whole, np.int64)[which]
        np.add.at(self.weights, (self.columns.group, objects.label), self.mass)
        np.add.at(self.weights[:, 2], self.columns.group, objects.count.astype(np.int64))
        self.total, self.unit = self.weights[:, :2].sum(axis=0), float(self.divisor)
        self._limits = problem.parts.limits()
        self._tried = self._try_monotone()
        self.lines = [self._line(line, tests) for line in lines]
        if not -1 <= fronts < len(self.lines):
            raise VerificationError(f"the end goes through trees by line {fronts}, of {len(lines)}")
        self.fronts = fronts
        self._shown: dict[tuple[int, int], float] = {}
        self.least: list[int] = []

    @classmethod
    def of(cls, problem: Problem, proof: Proof) -> Confusion:
        """The rules for a log.  Raises VerificationError where its end does not say of which lines
        its records are.
        """
        end: Any = proof.end
        lines, fronts = end.get("lines"), end.get("fronts")
        if (
            not isinstance(lines, list)
            or not all(
                isinstance(line, list)
                and len(line) == 4
                and all(type(number) is int and 0 <= number < MOST for number in line)
                for line in lines
            )
            or type(fronts) is not int
            or sum(line[3] for line in lines) != proof.n_records
        ):
            raise VerificationError(
                "the end of the proof of a confusion names its lines as [a, b, p, records], all of "
                "its records, and the one of its fronts or -1"
            )
        rules = cls(
            problem,
            proof.header["tests"],
            [line[:3] for line in lines],
            fronts,
            float(end["bound"]),
        )
        rules.counts = [line[3] for line in lines]
        return rules

    counts: Sequence[int] = ()
    """Records of each line, in the log's order."""

    def _line(self, line: Sequence[int], tests: Sequence[int | list[int]]) -> Line:
        a, b, p = line
        if not (a > 0 and b > 0 and 0 < p < DEAREST):
            raise VerificationError(
                f"weights of a line lie above 0, a leaf's below 2^48; got {list(line)}"
            )
        objective: Any = LineObjective(a, b, p, self.divisor)
        parts = attrs.evolve(self.problem.parts, objective=objective, complexity=None)
        problem = attrs.evolve(self.problem, parts=parts)
        rules = Additive(problem, tests, Fraction(1), self.columns)
        return Line(a, b, p, rules, int(np.minimum(*self.costs_of(a, b)).sum()))

    def costs_of(self, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
        """What each merged object costs a line where its leaf says the second class, and the
        first.
        """
        return a * self.weights[:, 0], b * self.weights[:, 1]

    def _try_monotone(self) -> bool:
        """Try that the loss does not fall; whether on all pairs.  Raises VerificationError."""
        whole = int((self.total[0] + 1) * (self.total[1] + 1)) <= ALL_TRIED
        grid = [
            np.arange(most + 1)
            if whole
            else np.unique(np.linspace(0, most, TRIED).astype(np.int64))
            for most in self.total.tolist()
        ]
        positives, negatives = self.total[1] * self.unit, self.total[0] * self.unit
        try:
            monotone_losses(
                self.objective, grid[0] * self.unit, grid[1] * self.unit, positives, negatives
            )
        except ArboretumError as error:
            raise VerificationError(str(error)) from None
        return whole

    def refusals(self, proof: Proof, report: Callable[[int], None]) -> Iterator[tuple[int, str]]:
        """As of :class:`arboretum.proof.additive.Additive`, line by line."""
        first = 0
        for line, count in zip(self.lines, self.counts, strict=True):
            at = proof.start[first : first + count + 1]
            own = attrs.evolve(proof, words=proof.words[at[0] : at[-1]], start=at - at[0])

            def further(n: int, first: int = first) -> None:
                report(first + n)

            for number, why in line.rules.refusals(own, further):
                yield first + number, why
            first += count

    def loss(self, fp: Any, fn: Any) -> np.ndarray:
        """float64, of the shape of both: the loss at weights in whole multiples."""
        return np.asarray(
            self.objective.loss(
                np.asarray(fp, np.float64) * self.unit,
                np.asarray(fn, np.float64) * self.unit,
                self.total[1] * self.unit,
                self.total[0] * self.unit,
            ),
            np.float64,
        )

    def root_bound(self, limits: tuple[int, int]) -> float:
        """What follows of all trees, at most what is claimed; ``limits`` are their depth and
        leaves.
        """
        if limits not in self._shown:
            self._shown[limits] = self._bound(*limits)
        return self._shown[limits]

    def _bound(self, depth: int, leaves: int) -> float:
        self.least = [line.rules.root_bound((depth, leaves)) for line in self.lines]
        left, best = self.steps_left(), min(self.target, self.of_many_leaves())
        if len(left) and left[:, 0].min() <= FEW:
            best = min(best, self.least_of_few_leaves(depth, leaves))
            left = left[left[:, 0] > FEW]
        if len(left) and self.fronts >= 0:
            below = self.below(left)
            best = min(best, self.least_of_fronts(all_below(below)))
        elif len(left):
            best = min(best, float(left[:, 4].min()))
        return best

    def of_many_leaves(self) -> float:
        """The least value of trees of more leaves than are looked at; ∞: there are none."""
        most = min(len(self.weights), self._limits.max_leaves or len(self.weights))
        many = MOST_LEAVES + 1
        return float(self.loss(0, 0)) + self.lam * many if most >= many else np.inf

    def steps_left(self) -> np.ndarray:
        """float64[steps, 5], where the lines leave room below the target: leaves, the first and the
        last false positives, the fewest false negatives, and the least value.
        """
        least = float(self.loss(0, 0))
        free = self.target - ROUNDING - least
        if free <= 0:
            return np.empty((0, 5))
        # of more leaves no tree is below the target
        most = min(free / self.lam if self.lam else np.inf, MOST_LEAVES, len(self.weights))
        most = int(min(most, self._limits.max_leaves or most))
        leaves = np.arange(1, max(1, most) + 1)
        cuts = np.unique(np.linspace(0, self.total[0], STEPS + 1).astype(np.int64))
        first, last = cuts, np.append(cuts[1:] - 1, self.total[0])
        kept = first <= last
        steps = np.stack(
            [
                np.repeat(leaves, kept.sum()),
                np.tile(first[kept], len(leaves)),
                np.tile(last[kept], len(leaves)),
            ],
            axis=1,
        )
        done: list[np.ndarray] = []
        while True:
            fewest = np.zeros(len(steps), np.int64)
            for line, shown in zip(self.lines, self.least, strict=True):
                rest = shown + line.constant - line.a * steps[:, 2] - line.p * steps[:, 0]
                np.maximum(fewest, -(-rest // line.b), out=fewest)
            there = fewest <= self.total[1]
            steps, fewest = steps[there], fewest[there]
            value = self.loss(steps[:, 1], fewest) + self.lam * steps[:, 0]
            open_ = value < self.target - ROUNDING
            steps, fewest, value = steps[open_], fewest[open_], value[open_]
            wide = steps[:, 2] > steps[:, 1]
            wide &= len(steps) + sum(len(one) for one in done) < MOST_STEPS
            done.append(np.column_stack([steps, fewest, value])[~wide])
            if not wide.any():
                return np.concatenate(done)
            middle = (steps[wide, 1] + steps[wide, 2]) // 2
            below, above = steps[wide].copy(), steps[wide].copy()
            below[:, 2], above[:, 1] = middle, middle + 1
            steps = np.concatenate([below, above])

    def least_of_few_leaves(self, depth: int, leaves: int) -> float:
        """The least value of trees of one, two and three leaves within limits; −1: none.

        A leaf of no rows counts, where one row is enough: without it there is a better tree.
        """
        most = min(FEW, leaves if leaves > 0 else FEW, FEW if depth < 0 else depth + 1)
        need = self._limits.min_leaf
        # sums of whole numbers below 2^24 are exact in 32 bits
        kind = np.float32 if self.weights.sum(axis=0).max() < 1 << 24 else np.float64
        weights = self.weights if need > 1 else self.weights[:, :2]
        has, whole = self.columns.has.astype(kind), weights.sum(axis=0).astype(kind)
        best = float(min(self.loss(whole[0], 0.0), self.loss(0.0, whole[1]))) + self.lam
        if most < 2 or not has.shape[1]:
            return best
        inside = (has.T @ weights.astype(kind)).T  # [numbers, tests]
        rest = whole[:, None] - inside
        best = min(best, self._least_of_leaves([inside, rest], need))
        if most < 3:
            return best
        both = np.stack([pairs_of(has, column.astype(kind)) for column in weights.T])
        for of, other in ((inside, rest), (rest, inside)):
            one = both if of is inside else inside[:, None] - both
            two = of[:, :, None] - one
            best = min(best, self._least_of_leaves([one, two, other[:, :, None]], need))
        return best

    def _least_of_leaves(self, leaves: list[np.ndarray], need: int) -> float:
        """The least value of trees of these leaves, [numbers, …] each, over their answers.

        need : rows in a leaf, the third number, if it is above 1.
        """
        found, allowed = np.inf, np.array(0.0)
        if need > 1:
            enough = np.array(True)
            for leaf in leaves:
                enough = enough & (leaf[2] >= need)
            allowed = np.where(enough, 0.0, np.inf)
        for answers in itertools.product((0, 1), repeat=len(leaves)):
            fp, fn = (
                sum(
                    (leaf[k] for leaf, says in zip(leaves, answers, strict=True) if says != k),
                    np.zeros((1,) * (leaves[0].ndim - 1)),
                )
                for k in (0, 1)
            )
            found = min(found, float((self.loss(*np.broadcast_arrays(fp, fn)) + allowed).min()))
        return found + self.lam * len(leaves)

    def below(self, left: np.ndarray) -> Below:
        """What is gone through by the line of the fronts: all trees that the steps that are left
        allow.   left : as of :meth:`steps_left`.
        """
        line, limits = self.lines[self.fronts], self._limits
        most = self._most_false_negatives(left)
        budget = int(
            (
                line.a * left[:, 2].astype(np.int64)
                + line.b * most
                + line.p * left[:, 0].astype(np.int64)
            ).max()
        )
        return Below(
            has=self.columns.has,
            weights=self.weights,
            costs=np.stack(self.costs_of(line.a, line.b)),
            p=line.p,
            budget=budget,
            depth=-1 if limits.max_depth is None else limits.max_depth,
            least=max(1, limits.min_leaf),
            side=Side(line.rules, line.rules.kept),
        )

    def _most_false_negatives(self, left: np.ndarray) -> np.ndarray:
        """int64[steps], the most false negatives of trees of a step that are below the target."""
        low, high = left[:, 3].astype(np.int64), np.full(len(left), self.total[1])
        while (low < high).any():
            middle = (low + high + 1) // 2
            under = self.loss(left[:, 1], middle) + self.lam * left[:, 0] < self.target - ROUNDING
            low, high = np.where(under, middle, low), np.where(under, high, middle - 1)
        return low

    def least_of_fronts(self, trees: np.ndarray) -> float:
        """The least value of trees, int64[trees, 3]: false positives, false negatives, leaves."""
        most = self._limits.max_leaves
        trees = trees if most is None else trees[trees[:, 2] <= most]
        if not len(trees):
            return np.inf
        return float((self.loss(trees[:, 0], trees[:, 1]) + self.lam * trees[:, 2]).min())

    def value(self, bound: Fraction | float) -> float:
        """As the objective is reported."""
        return float(bound)

    def value_of(self, tree: Tree, cost: Fraction | float) -> float:
        """The objective's value of a tree of this cost."""
        del tree
        return float(cost)

    def cost_of(self, tree: Tree) -> float:
        """A tree's value, from where the rows come to rest.  Raises VerificationError where its
        objective says something else.
        """
        objects = self.problem.objects
        says = tree.predict(objects.table)[objects.row_of_object]
        wrong = says != objects.label
        fp, fn = (int(self.mass[wrong & (says == k)].sum()) for k in (1, 0))
        paid = self.lam * int(tree.is_end.sum())
        value = float(self.loss(fp, fn)) + paid
        said = float(sure(self.problem.parts.objective).value(tree, self.problem))
        # its sums are of floats, of which a root may make much
        low, high = (float(self.loss(fp * by, fn * by)) + paid for by in (1 - SUMMED, 1 + SUMMED))
        if not low - ROUNDING <= said <= high + ROUNDING:
            raise VerificationError(
                f"the tree's value is {value!r}, but its objective says {said!r}"
            )
        return value

    @property
    def assumed(self) -> str:
        """What is not shown, as an accepted proof says it; "" where it is nothing."""
        if self._tried:
            return ""
        return (
            "the loss falls neither with false positives nor with false negatives; tried on a grid "
            f"of {TRIED} of each"
        )


def pairs_of(has: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """[columns, columns], what weighs that has both of two columns.   has : [objects, columns];
    weight : [objects].
    """
    some = weight > 0
    mine = has[some]
    return np.asarray((mine * weight[some][:, None]).T @ mine)
