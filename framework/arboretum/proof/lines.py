"""What values of a whole tree share that sums bound: lines, which records show, and fronts of what
these leave.

A line is an additive cost: what each object costs by the answer of its leaf, and p for a leaf.  Of
two classes it goes by what leaves hold of them: with N of the first and P of the second a leaf
costs min_k (a_k N + b_k P) + p, over its answers k.  Records show of it that every tree costs L or
more: they are records of an additive objective, and are checked as such (:mod:`.additive`), each
line's by itself.  What lines say of a value, and which of its trees they leave, is the value's own
matter (:mod:`.confusion`, :mod:`.areas`, :mod:`.constrained`); what they leave is gone through by
one of them (:mod:`.fronts`).

How a check goes; a star marks what the value's own module answers::

    of(problem, proof)                  is_line * of each line that the end names
        prepare *                       the table's columns and weights
        line_of *                       each line's costs, and the rules of its records
    refusals(proof)                     the records, line by line, by those rules
    root_bound(limits)
        least[k]                        what no tree costs less than, by line k, as records show
        left_by_lines *                 what lies below the claim that no line excludes
        nothing is left                 the claim follows
        the end names a line of fronts  budget *: what such trees cost at most by it;
                                        trees, held, rows *: how all these are kept;
                                        least_of_fronts *: the least of their values
        else                            least_left *: a bound of what is left
    cost_of(tree) *                     the tree's value, from its rows
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import attrs
import numpy as np

from arboretum.errors import VerificationError, sure
from arboretum.interfaces.method import Problem
from arboretum.model.tree import Tree
from arboretum.proof.additive import Additive
from arboretum.proof.format import Proof
from arboretum.proof.fronts import MOST_SETS, Asked, Below, Side, Trees, all_below
from arboretum.proof.ground import MOST, Columns, ProofRules, common_divisor, decimals

ROUNDING = 1e-9
"""Values, which are about 1, are compared up to this."""
DEAREST = 1 << 48
"""What a leaf costs stays below this."""


@attrs.frozen
class LineObjective:
    """What a line costs, as additive records count it.

    answers : (a, b) of each, for whole multiples of ``divisor``.   lam : of a leaf.
    """

    kind: ClassVar[str] = "objective"
    shape: ClassVar[str] = "additive"
    name: ClassVar[str] = "line"

    answers: tuple[tuple[int, int], ...]
    lam: int
    divisor: Fraction

    def factors(self, weights: Sequence[Fraction]) -> list[Fraction]:
        """The same for all classes: no weight matters but the row's."""
        return [1 / self.divisor] * len(weights)

    def errors(self, n_classes: int) -> list[list[int]]:
        """errors[y][k] of two classes, the second being the positive one."""
        return [[answer[y] for answer in self.answers] for y in range(n_classes)]


@attrs.frozen(eq=False)
class Line:
    """A line with what checks its records.

    name : as the log names it.
    cost : int64[merged objects, answers].   p : of a leaf.
    base : int64[merged objects], what each costs besides what records count.
    """

    name: tuple[Any, ...]
    cost: np.ndarray
    p: int
    base: np.ndarray
    rules: Additive

    @staticmethod
    def of(name: tuple[Any, ...], cost: np.ndarray, p: int, rules: Additive) -> Line:
        """A line of these costs.  Raises VerificationError where they exceed 2^53."""
        base = base_of(cost)
        if np.abs(base.astype(float)).sum() >= MOST:
            raise VerificationError("costs of a line exceed 2^53")
        return Line(name, cost, p, base, rules)

    @property
    def constant(self) -> int:
        """What every tree costs besides what records count."""
        return int(self.base.sum())


def base_of(cost: np.ndarray) -> np.ndarray:
    """int64[objects], what each costs besides what records count, which is what it saves by each
    answer, less the most of that.

    cost : int64[objects, answers].
    """
    most = cost.max(axis=1)
    return np.asarray(most - (most[:, None] - cost).sum(axis=1))


class Lines(ProofRules):
    """Checks the records of each line, and what the end makes of them.

    lines : those of the log.   fronts : the line by which the rest is gone through; −1: none.
    target : the bound that is claimed.   least : what no tree costs less than, by each line.
    """

    slack: float = ROUNDING
    assumed = ""
    most_sets: ClassVar[int] = MOST_SETS
    """That are gone through by fronts."""
    form: ClassVar[str]
    """How an end names a line, as a message says it; the number of its records is last."""

    def __init__(
        self,
        problem: Problem,
        tests: Sequence[int | list[int]],
        lines: Sequence[Sequence[Any]],
        fronts: int,
        target: float,
        log_unit: Fraction = Fraction(1),
    ) -> None:
        """Raises VerificationError for lines that are none, and whatever refuses the objective.

        lines : of each what the log names it by.   log_unit : the header's unit.
        """
        objective: Any = problem.parts.objective
        self.problem, self.tests, self.target, self.log_unit = problem, tests, target, log_unit
        self.objective, self.lam = objective, float(objective.lam)
        self._limits = problem.parts.limits()
        self.prepare()
        self.lines = [self.line_of(tuple(line)) for line in lines]
        if not -1 <= fronts < len(self.lines):
            raise VerificationError(f"the end goes through trees by line {fronts}, of {len(lines)}")
        self.fronts = fronts
        self._shown: dict[tuple[int, int], float] = {}
        self.least: list[int] = []

    counts: Sequence[int] = ()
    """Records of each line, in the log's order."""

    @classmethod
    def of(cls, problem: Problem, proof: Proof) -> Self:
        """The rules for a log.  Raises VerificationError where its end does not say of which lines
        its records are.
        """
        end: Any = proof.end
        lines, fronts = end.get("lines"), end.get("fronts")
        if (
            not isinstance(lines, list)
            or not all(
                isinstance(line, list) and line and _is_count(line[-1]) and cls.is_line(line[:-1])
                for line in lines
            )
            or type(fronts) is not int
            or sum(line[-1] for line in lines) != proof.n_records
        ):
            raise VerificationError(
                f"the end of such a proof names its lines as {cls.form}, all of its records, and "
                "the one of its fronts or -1"
            )
        rules = cls(
            problem,
            proof.header["tests"],
            [line[:-1] for line in lines],
            fronts,
            end["bound"],
            proof.unit,
        )
        rules.counts = [line[-1] for line in lines]
        return rules

    @classmethod
    def is_line(cls, line: list[Any]) -> bool:
        """Whether an end may name a line so."""
        raise NotImplementedError

    @classmethod
    def is_usable(cls, line: tuple[Any, ...], lam: float) -> bool:
        """Whether a line that a search names may stand in a log.   lam : λ."""
        del cls, line, lam
        return True

    columns: Columns

    def prepare(self) -> None:
        """Make the columns, and look at the objective, before any line.  Raises VerificationError,
        and whatever refuses the objective.
        """
        raise NotImplementedError

    def line_of(self, name: tuple[Any, ...]) -> Line:
        """A line that the log names.  Raises VerificationError for one that bounds nothing."""
        raise NotImplementedError

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

    def root_bound(self, limits: tuple[int, int]) -> float:
        """What follows of all trees, at most what is claimed; ``limits`` are their depth and
        leaves.
        """
        if limits not in self._shown:
            self.least = [line.rules.root_bound(limits) + line.constant for line in self.lines]
            left, best = self.left_by_lines(*limits)
            if len(left) and self.fronts >= 0:
                best = min(best, self.least_below(self.budget(left, self.fronts)))
            elif len(left):
                best = min(best, self.least_left(left))
            self._shown[limits] = min(self.target, best)
        return self._shown[limits]

    def left_by_lines(self, depth: int, leaves: int) -> tuple[np.ndarray, float]:
        """What the lines leave of trees below the target, as an array of so many parts, and the
        least value of those that were looked at without lines (∞: none was).

        Unless a value knows better, one part: what the best line shows, where that is below.
        """
        shown = max(map(self.bound_of, range(len(self.lines))), default=0.0)
        return np.array([shown] if shown < self.target - self.slack else []), math.inf

    def bound_of(self, k: int) -> float:
        """The value that no tree is below, by line k."""
        raise NotImplementedError

    def least_left(self, left: np.ndarray) -> float:
        """A bound of the values of trees that are left."""
        return left.min().item()  # type: ignore[no-any-return]

    def budget(self, left: np.ndarray, k: int) -> int:
        """What trees that are left, and are below the target, cost at most by line k."""
        raise NotImplementedError

    def trees(self) -> Trees:
        """How trees that are gone through are kept."""
        raise NotImplementedError

    def least_of_fronts(self, trees: Any) -> float:
        """The least value of trees as :meth:`trees` keeps them, within the limit of leaves."""
        raise NotImplementedError

    def least_below(self, budget: int, ask: Asked | None = None) -> float:
        """The least value of trees that cost no more than so much by the line of the fronts, none
        of which is left out that is below the target.

        ask : as of :func:`all_below`.
        """
        below = self.below(budget)
        return self.least_of_fronts(all_below(below, self.trees(), ask, self.most_sets))

    def below(self, budget: int) -> Below:
        """What is gone through by the line of the fronts: all trees that cost no more."""
        line, limits = self.lines[self.fronts], self._limits
        depth = -1 if limits.max_depth is None else limits.max_depth
        if not line.p and limits.max_leaves is not None:  # else nothing ends a path before
            most = limits.max_leaves - 1
            depth = most if depth < 0 else min(depth, most)
        return Below(
            has=self.columns.has,
            cost=line.cost,
            held=self.held(),
            rows=self.rows(),
            base=line.base,
            mass=line.rules.costs.mass,
            price=line.rules.ground.price[:-1],
            p=line.p,
            budget=budget,
            depth=depth,
            least=max(1, limits.min_leaf),
            side=Side(line.rules, line.rules.kept),
        )

    def held(self) -> np.ndarray:
        """int64[objects, n], what trees that are gone through are told of a leaf, as sums."""
        raise NotImplementedError

    def rows(self) -> np.ndarray:
        """int64[objects], of the merged ones."""
        found = np.zeros(len(self.columns.has), np.int64)
        np.add.at(found, self.columns.group, self.problem.objects.count.astype(np.int64))
        return found

    def cost_of(self, tree: Tree) -> float:
        """A tree's value, from where the rows come to rest.  Raises VerificationError where its
        objective says something else.
        """
        raise NotImplementedError

    def said_of(self, tree: Tree) -> float:
        """What the objective says of a tree."""
        return float(sure(self.problem.parts.objective).value(tree, self.problem))


class OfTwoClasses(Lines):
    """Lines by what leaves hold of two classes.

    mass : int64[problem's objects], weights in multiples of their common divisor.
    weights : int64[objects, 3], of both classes and rows, of the merged objects.
    unit : of a weight.   total : int64[2], weights of both classes.
    """

    @classmethod
    def is_usable(cls, line: tuple[Any, ...], lam: float) -> bool:
        """As of :class:`Lines`; the last of a name is what a leaf costs."""
        return bool(line[-1] < DEAREST and (line[-1] > 0) == (lam > 0))

    def prepare(self) -> None:
        """As of :class:`Lines`."""
        problem, objects = self.problem, self.problem.objects
        self.objective.classes_of(problem)
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
        self.weights[:, 2] = self.rows()
        self.total, self.unit = self.weights[:, :2].sum(axis=0), float(self.divisor)

    def costs_of(self, *line: Any) -> tuple[Sequence[tuple[int, int]], int]:
        """The answers of a line, (a, b) each, and what a leaf costs it.  Raises VerificationError
        for one that bounds nothing.
        """
        raise NotImplementedError

    def line_of(self, name: tuple[Any, ...]) -> Line:
        """As of :class:`Lines`."""
        answers, p = self.costs_of(*name)
        objective: Any = LineObjective(tuple(answers), p, self.divisor)
        parts = attrs.evolve(self.problem.parts, objective=objective, complexity=None)
        problem = attrs.evolve(self.problem, parts=parts)
        rules = Additive(problem, self.tests, Fraction(1), self.columns)
        return Line.of(name, self.weights[:, :2] @ np.array(answers, np.int64).T, p, rules)

    def held(self) -> np.ndarray:
        """As of :class:`Lines`: the weights of both classes."""
        return self.weights[:, :2]


def _is_count(number: object) -> bool:
    return type(number) is int and 0 <= number < MOST


def are_counts(numbers: object) -> bool:
    """Whether something is a list of whole numbers from 0 on below 2^53."""
    return isinstance(numbers, list) and all(map(_is_count, numbers))
