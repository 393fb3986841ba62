"""Does a bound of an additive objective follow, of trees that keep constraints?  From lines, in
which rates of groups have a price, and from all trees that these leave.

A tree costs c = loss + λ · leaves + prices, in whole units of the log; its leaves say any class.
Constraints are what the run's solver states (:mod:`arboretum.interfaces.constraints`), and are
counted again from the rows (:mod:`.rates`, :mod:`.order`).  To show: no tree that keeps them costs
less than B.  What is relied on:

1. *Lines.*  Of two groups of n and n' rows (by weight) of which a tree says yes to y and y', it
   keeps the limit ε of a rate only if n' y − n y' ≤ ⌊ε n n'⌋, whole numbers.  So with any
   multipliers m ≥ 0 and a scale s, s c + s Σ m (n' y − n y') exceeds s c by no more than s Σ m
   ⌊ε n n'⌋, over rates and pairs of groups.  That is an additive cost: each object, of equal rows,
   costs a yes more or less; where its part is rounded down, to a multiple of a *grain*, trees cost
   no more.  Records show that all trees cost at least L so (:mod:`.lines`): hence c ≥ (L − s Σ m
   ⌊ε n n'⌋) / s, rounded up.  Constraints that a line does not name only forbid trees.
2. *Rates.*  A tree below B that keeps the rates costs at most C = s (B − 1) + ⌊s Σ m ⌊ε n n'⌋⌋ by
   the line of the fronts: all these are gone through (:mod:`.fronts`), leaves with any of their
   answers, by cost, leaves, and n' y − n y' of each group and the first.  One beats another of the
   same differences that has no less cost and leaves: what it replaces in a tree that keeps the
   rates leaves a tree that keeps them, and costs no more, so that it, too, is within C.
3. *Orders* (monotone predictions) are no sums: trees below B are listed one by one
   (:mod:`.order`).

Trees have a row at every leaf, and ask the sensitive column where the solver says that they may.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import numpy as np

from arboretum.errors import VerificationError, sure
from arboretum.interfaces.constraints import constraints_of
from arboretum.model.tree import Tree
from arboretum.proof.additive import Additive
from arboretum.proof.fronts import Asked, sets_below
from arboretum.proof.ground import MOST, MOST_PAID, Columns, Costs
from arboretum.proof.lines import Line, Lines, are_counts
from arboretum.proof.order import Cells, Listing, splits_of_columns
from arboretum.proof.rates import Rate, beyond_rates, rates_of

MOST_TREES, MOST_COST = 1 << 22, 1 << 61
"""Trees of a set at a time, and what they may cost, so that two of them add up."""


class Numbers(NamedTuple):
    """Numbers of trees that are gone through: int64[trees], and int64[trees, sums]; views."""

    line: np.ndarray
    cost: np.ndarray
    leaves: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, trees: np.ndarray) -> Numbers:
        """The numbers of trees as :class:`ConstrainedTrees` has them."""
        return cls(trees[:, 0], trees[:, 1], trees[:, 2], trees[:, 3:])


class Constrained(Lines):
    """Lines are named by (scale, grain, multipliers), each multiplier by [rate, group, other,
    numerator, divisor]; what is left of trees is one part.

    plain : the objective's own rules.   rates : those that are limited.
    constant : what every tree costs besides what its objects cost by their answers.
    """

    slack = 0
    most_sets = 30_000
    form = "[scale, grain, [[rate, group, other, numerator, divisor], ...], records]"

    @classmethod
    def is_line(cls, line: list[Any]) -> bool:
        """As of :class:`Lines`."""
        return (
            len(line) == 3
            and are_counts(line[:2])
            and isinstance(line[2], list)
            and all(are_counts(one) and len(one) == 5 for one in line[2])
        )

    def prepare(self) -> None:
        """As of :class:`Lines`."""
        problem, objects = self.problem, self.problem.objects
        self.asked = sure(constraints_of(problem.parts.solver))
        hidden = self.asked.sensitive if self.asked.sensitive and not self.asked.asked else None
        self.columns = Columns.of(objects, hidden)
        self.rates = rates_of(problem, self.asked, self.columns.group)
        self.costs = costs = Costs.of(problem, self.columns.group, self.log_unit)
        ordered = self.asked.increasing or self.asked.decreasing
        self.cells = Cells.of(objects, self.columns, self.asked) if ordered else None
        self.plain = Additive(problem, self.tests, self.log_unit, self.columns, costs)
        self.cost = costs.saved.max(axis=1, keepdims=True) - costs.saved
        self.constant = int((costs.saved.sum(axis=1) - costs.saved.max(axis=1)).sum())

    def line_of(self, name: tuple[Any, ...]) -> Line:
        """As of :class:`Lines`: costs ``scale`` times, and what a yes costs besides."""
        scale, grain, _ = name
        more = [(rate.apart(g, h), times) for rate, g, h, times in self._each_multiplier(name)]
        shared = math.lcm(*(times.denominator for _, times in more))
        yes = sum(
            (apart.astype(object) * int(times * shared) for apart, times in more),
            np.zeros(len(self.cost), object),
        )
        rounded = yes // (shared * grain) * grain
        costs, cost = self.costs, self.cost.astype(object) * scale
        cost[:, -1] += rounded
        most = costs.mass.sum() * costs.price.max(initial=0) * len(cost)
        if int(np.abs(cost).sum()) + 4 * scale * costs.p >= MOST or int(most) * scale >= MOST_PAID:
            raise VerificationError("costs of a line exceed 2^53, or prices 2^58")
        whole = cost.astype(np.int64)
        own = attrs.evolve(
            costs,
            saved=whole.max(axis=1, keepdims=True) - whole,
            price=scale * costs.price,
            p=scale * costs.p,
        )
        rules = Additive(self.problem, self.tests, self.log_unit, self.columns, own)
        return Line.of(name, whole, own.p, rules)

    def _each_multiplier(self, name: tuple[Any, ...]) -> list[tuple[Rate, int, int, Fraction]]:
        """The multipliers of a line: rate, both groups, and scale · m.  Raises VerificationError
        for what is no multiplier.
        """
        scale, grain, listed = name
        if not (scale > 0 and grain > 0 and all(divisor > 0 for *_, divisor in listed)):
            raise VerificationError(f"scale, grain and divisors of a line lie above 0; got {name}")
        known = {rate.number: rate for rate in self.rates}
        for number, group, other, *_ in listed:
            n = len(known[number].sizes) if number in known else 0
            if not (group < n and other < n):
                raise VerificationError(
                    f"a multiplier is of the groups {group} and {other} of rate {number}, which "
                    "the run does not limit"
                )
        return [(known[k], g, h, Fraction(scale * x, y)) for k, g, h, x, y in listed]

    def _room(self, k: int) -> Fraction:
        """By how much trees that keep the rates cost more than s c by line k, at most."""
        named = self._each_multiplier(self.lines[k].name)
        return sum((times * rate.room(g, h) for rate, g, h, times in named), Fraction())

    def bound_of(self, k: int) -> int:
        """As of :class:`Lines`."""
        scale = self.lines[k].name[0]
        bound: int = math.ceil((self.least[k] - self._room(k)) / scale)
        return bound + self.constant

    def budget(self, left: np.ndarray, k: int) -> int:
        """As of :class:`Lines`.  Raises VerificationError where it exceeds 61 bits."""
        below = math.ceil(self.target) - 1 - self.constant
        budget = int(self.lines[k].name[0] * below + math.floor(self._room(k)))
        if budget >= MOST_COST:
            raise VerificationError("trees that the lines leave may cost 2^61 or more")
        return budget

    def held(self) -> np.ndarray:
        """As of :class:`Lines`: costs by answer, those of the line, and what a yes adds to sums."""
        line = self.lines[self.fronts].cost
        return np.column_stack([self.cost, line, *(rate.sums for rate in self.rates)])

    def trees(self) -> ConstrainedTrees:
        """As of :class:`Lines`."""
        line = self.lines[self.fronts]
        limited = self._limits.max_leaves is not None
        return ConstrainedTrees(self.cost.shape[1], self.costs.p, line.name[0], limited)

    def least_below(self, budget: int, ask: Asked | None = None) -> float:
        """As of :class:`Lines`; trees are listed where their predictions have an order."""
        if self.cells is None:
            return super().least_below(budget, ask)
        trees, limits = self.trees(), self._limits.max_leaves
        listing = Listing(
            self.cells,
            splits_of_columns(self.cells, self.columns, self.problem.objects, self.costs.price),
            trees.of_leaf,
            self._keeps_rates,
            trees.scale,
            limits,
        )
        below = math.ceil(self.target) - self.constant
        least = listing.least(sets_below(self.below(budget), ask, self.most_sets), below, budget)
        return least + self.constant

    def _keeps_rates(self, trees: np.ndarray) -> np.ndarray:
        """bool[trees], of trees as :class:`ConstrainedTrees` has them."""
        kept, first, sums = np.ones(len(trees), bool), 0, Numbers.of(trees).sums
        for rate in self.rates:
            end = first + len(rate.sizes) - 1
            kept, first = kept & rate.keeps(sums[:, first:end]), end
        return kept

    def least_of_fronts(self, trees: np.ndarray) -> float:
        """As of :class:`Lines`: of those that keep the rates."""
        kept, numbers = self._keeps_rates(trees), Numbers.of(trees)
        if self._limits.max_leaves is not None:
            kept &= numbers.leaves <= self._limits.max_leaves
        return int(numbers.cost[kept].min()) + self.constant if kept.any() else math.inf

    def cost_of(self, tree: Tree) -> Any:
        """A tree's cost as the log counts it.  Raises VerificationError where it does not keep the
        constraints, and as :meth:`Additive.cost_of`.
        """
        if complaint := self._beyond(tree):
            raise VerificationError(f"the tree does not keep the constraints: {complaint}")
        cost = self.plain.cost_of(tree)
        return int(cost) if cost.denominator == 1 else cost

    def _beyond(self, tree: Tree) -> str:
        """Which constraint a tree does not keep; "" where it keeps all."""
        asked = self.asked
        if asked.sensitive and not asked.asked:
            for node in tree.inner.tolist():
                if asked.sensitive in tree.rule(node).columns:
                    return f"node {node} asks the sensitive column {asked.sensitive!r}"
        if self.cells is not None and (why := self.cells.beyond(tree, self.problem.objects)):
            return why
        return beyond_rates(tree, self.problem, self.rates)

    def value(self, bound: Fraction | float) -> float:
        """As the objective is reported."""
        return self.plain.value(bound)

    def value_of(self, tree: Tree, cost: Fraction | float) -> float:
        """As of :class:`Additive`."""
        return self.plain.value_of(tree, cost)


@attrs.frozen(eq=False)
class ConstrainedTrees:
    """Trees as int64[trees, 3 + sums]: what they cost by the line, and by the objective, their
    leaves, and the differences of groups.

    answers : of a leaf.   p : of a leaf.   scale : of the line.
    limited : whether leaves are.
    """

    answers: int
    p: int
    scale: int
    limited: bool

    def of_leaf(self, held: np.ndarray) -> np.ndarray:
        """A tree of one leaf for each answer."""
        n, sums = self.answers, held[2 * self.answers :]
        trees = np.zeros((n, 3 + len(sums)), np.int64)
        numbers = Numbers.of(trees)
        numbers.cost[:], numbers.line[:] = held[:n] + self.p, held[n : 2 * n] + self.scale * self.p
        numbers.leaves[:], numbers.sums[-1] = 1, sums
        return trees

    def of_sides(self, one: np.ndarray, rest: np.ndarray, budget: int, paid: int) -> np.ndarray:
        """All sums of two within the budget that no other beats.  Raises VerificationError where
        more than MOST_TREES are.
        """
        order = rest[np.argsort(Numbers.of(rest).line, kind="stable")]
        left = budget - paid - Numbers.of(one).line
        fits = np.searchsorted(Numbers.of(order).line, left, side="right")
        if int(fits.sum()) > MOST_TREES:
            raise VerificationError(f"its fronts have more than {MOST_TREES:,} trees at a time")
        first = np.repeat(np.arange(len(one)), fits)
        second = np.arange(len(first)) - np.repeat(np.cumsum(fits) - fits, fits)
        found = one[first] + order[second]
        numbers = Numbers.of(found)
        numbers.line[:] += paid
        numbers.cost[:] += paid // self.scale
        return self._unbeaten(found)

    def front(self, found: list[np.ndarray], budget: int) -> np.ndarray:
        """Those within the budget that no other beats."""
        trees = np.concatenate(found)
        return self._unbeaten(trees[Numbers.of(trees).line <= budget])

    def _unbeaten(self, trees: np.ndarray) -> np.ndarray:
        """The trees of which no other has the same sums, no more cost and no more leaves."""
        if len(trees) < 2:
            return trees
        _, cost, leaves, sums = Numbers.of(trees)
        keys: Sequence[np.ndarray] = [leaves, cost, *sums.T]
        trees = trees[np.lexsort(keys)]
        _, _, leaves, sums = Numbers.of(trees)
        new = np.ones(len(trees), bool)
        new[1:] = (sums[1:] != sums[:-1]).any(axis=1)
        if not self.limited:
            return trees[new]
        # the fewest leaves so far, among equal sums
        below = leaves - np.cumsum(new) * (int(leaves.max()) + 1)
        fewer = np.minimum.accumulate(below)
        new[1:] |= below[1:] < fewer[:-1]
        return trees[new]
