"""A tree of small worst-case cost and one of small expected cost, combined (Cicalese, Laber &
Saettler, ICML 2014).

Take a tree A whose costliest path costs W, a tree B of expected cost E, and ρ > 0.  Follow B as
long as what its path has paid stays within ρ W; where the next test would go beyond it, go on with
A from its root, leaving out what all objects of the node answer alike.

* No path pays more than ρ W + W: ρ W in B at most, and then a path of A.
* An object that leaves B would have paid more than ρ W there.  So its path of A, at most W, costs
  less than 1/ρ of what it would have paid in B, and what it has paid in B is no more than that:
  together (1 + 1/ρ) times its cost in B, at most.  All others pay what they pay in B.

Prices that fall on the way down are no obstacle: A's tests cost no more after others than they do
in A.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Choice,
    ConfigError,
    Context,
    Prices,
    Problem,
    Solution,
    TestRule,
    Tree,
    assemble,
    param,
    sure,
    unknown,
)
from arboretum_maxcost.greedy.criteria import CRITERIA
from arboretum_maxcost.greedy.exact import as_written_fraction, error_and_costs_of
from arboretum_maxcost.greedy.portfolio import GROWS

MEANS = {name: one for one in CRITERIA if (name := vars(one)["name"]) != "worst_case"}
"""Criteria for a small expected cost."""


@attrs.frozen
class Combined:
    """Grow a tree by the run's criterion, for the worst-case cost, and one by information per
    price, for the expected cost, and combine them.

    The costliest path costs at most (1 + ρ) times the first one's, the expected cost is at most (1
    + 1/ρ) times the second one's.
    """

    kind = "method"
    name = "combined"
    paper = "Cicalese, Laber & Saettler 2014"
    capabilities = GROWS
    needs = ("criterion", "impurity")
    example = "dataset=monk2-full criterion=worst_case impurity=pairs cost=random"

    rho: float = param(
        1.0, "ρ: small keeps the worst-case cost, large the expected one", gt=0.0, lt=math.inf
    )
    expected: str = param(
        "eg2", f"criterion of the tree of small expected cost: {', '.join(MEANS)}"
    )

    def __attrs_post_init__(self) -> None:
        if self.expected not in MEANS:
            raise ConfigError("method.expected: " + unknown("criterion", self.expected, MEANS))

    def fit(self, problem: Problem, context: Context) -> Solution:
        """Grow both trees and return their combination, with a note of the two bounds that it
        keeps.

        Raises CapabilityError where they are not promised: prices by outcome, a limit on max cost
        or leaves, rows in shares, predicates.
        """
        from arboretum.api import grow

        if problem.prices.outcomes is not None:
            raise CapabilityError(
                "method combined promises nothing where prices differ by outcome; choose "
                "cost=table, or method=greedy"
            )
        if (
            problem.parts.limits().max_cost is not None
            or problem.parts.limits().max_leaves is not None
        ):
            raise CapabilityError(
                "method combined puts one tree below another, which keeps no max_cost and no "
                "max_leaves; use stopping=[pure]"
            )
        if problem.parts.fractional_rows or problem.parts.predicate:
            raise CapabilityError(
                "method combined knows fixed tests and thresholds, and rows that are whole; "
                "leave missing and predicate out"
            )
        one, other = grow(problem, context), grow(self._for_the_mean(problem), context)
        first, second = sure(one.tree), sure(other.tree)
        tree = combine_trees(first, second, problem, self.rho)
        (_, worst, _), (_, _, mean), (_, most, average) = (
            map(float, error_and_costs_of(each, problem.objects)) for each in (first, second, tree)
        )
        reported = (
            f"max cost {most:g} is at most {1 + self.rho:g} · {worst:g}, that of the first "
            f"tree; expected cost {average:.4g} is at most "
            f"{1 + 1 / self.rho:.4g} · {mean:.4g}, that of the second"
        )
        notes = tuple(dict.fromkeys((*one.notes, *other.notes, reported)))
        steps, finished = one.subproblems + other.subproblems, one.finished and other.finished
        return attrs.evolve(one, tree=tree, subproblems=steps, finished=finished, notes=notes)

    def _for_the_mean(self, problem: Problem) -> Problem:
        return attrs.evolve(
            problem, parts=attrs.evolve(problem.parts, criterion=MEANS[self.expected]())
        )

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels of both trees."""
        from arboretum.api import warm_up

        for one in (problem, self._for_the_mean(problem)):
            warm_up(one, lambda message: context.progress(0, None, message))


class Place(NamedTuple):
    """Where some objects stand.   rows : they.   tree, node : whose test comes next."""

    rows: np.ndarray
    tree: Tree
    node: int
    asked: frozenset[str]
    paid: float
    exactly: Fraction


def combine_trees(worst: Tree, expected: Tree, problem: Problem, rho: float) -> Tree:
    """Return the combination of two trees of one problem, verified as any tree: what its nodes hold
    is added up anew.

    worst : the tree of small worst-case cost, below which no path costs more.
    expected : the tree of small expected cost, which is followed first.
    rho : how many times the max cost of ``worst`` a path may pay in ``expected``.
    """
    objects = problem.objects
    prices = Listed(problem)
    budget = as_written_fraction(rho) * error_and_costs_of(worst, problem.objects)[1]

    def choose(place: Place) -> Choice:
        """Return what becomes of the objects of a place: a test with the places below it, or a
        leaf.
        """
        label = objects.label[place.rows]
        weight = objects.weight[place.rows]
        count = float(objects.count[place.rows].sum())
        weights = np.bincount(label, weight, objects.n_classes)
        here, outcome, asks = _next_dividing_test(
            place, worst, prices, budget, bool((label == label[0]).all())
        )
        if outcome is None:
            return Choice(weights, count)
        rule, missing = here.tree.rule(here.node), int(here.tree.missing_child[here.node])
        present = np.unique(outcome).tolist()
        asked = here.asked | set(rule.columns)
        children = here.tree.children(here.node)
        below = [
            (
                k,
                Place(
                    here.rows[outcome == k],
                    here.tree,
                    int(children[k]),
                    asked,
                    here.paid + asks,
                    here.exactly + as_written_fraction(asks),
                ),
            )
            for k in present
        ]
        heaviest = int(np.bincount(outcome, weight, rule.arity).argmax())
        return Choice(
            weights, count, rule, asks, below, missing if missing in present else heaviest
        )

    root = Place(np.arange(objects.n_objects), expected, 0, frozenset(), 0.0, Fraction(0))
    return assemble(objects, problem.parts.impurity, root, choose)


def _next_dividing_test(
    here: Place, worst: Tree, prices: Listed, budget: Fraction, pure: bool
) -> tuple[Place, np.ndarray | None, float]:
    """Return the place of the next test that divides the objects, their outcomes int64[·], and its
    price; (·, None, 0.0) where they are a leaf's.

    here : the objects, and where they are in the tree that is followed; from ``worst`` on it is
        never left.
    budget : most that a path may have paid in the other tree.
    pure : the objects are of one class.
    """
    while not (pure or here.tree.is_leaf[here.node]):
        rule = here.tree.rule(here.node)
        outcome = rule.outcomes(prices.table, prices.row[here.rows])
        outcome = np.where(outcome < 0, here.tree.missing_child[here.node], outcome)
        asks = prices.price_below(rule, here.asked, here.paid)
        if here.tree is not worst and here.exactly + as_written_fraction(asks) > budget:
            here = here._replace(tree=worst, node=0)
        elif (outcome == outcome[0]).all():
            here = here._replace(node=int(here.tree.children(here.node)[outcome[0]]))
        else:
            return here, outcome, asks
    return here, None, 0.0


class Listed:
    """What tests cost on a path, and the rows that objects are read from."""

    def __init__(self, problem: Problem) -> None:
        """Number the tests of a problem by their rules, as its price list does."""
        objects = problem.objects
        self.table, self.row, self._list = objects.table, objects.row_of_object, problem.prices
        self._fixed: dict[TestRule, int] = {
            objects.rule(test): test for test in range(objects.n_fixed)
        }
        self._raw = {feature.column: f for f, feature in enumerate(objects.raw_features)}

    def price_below(self, rule: TestRule, asked: frozenset[str], paid: float) -> float:
        """Return the price of a test below a path that has asked these columns and paid so much; 0
        where the column was paid for.
        """
        if self._list.once_per_column and asked.issuperset(rule.columns):
            return 0.0
        here: Prices = self._list.at(asked, paid)
        return float(
            here.tests[self._fixed[rule]]
            if rule in self._fixed
            else here.raw[self._raw[rule.columns[0]]]
        )
