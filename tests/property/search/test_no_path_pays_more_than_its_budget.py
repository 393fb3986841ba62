"""Trees under ``max_cost``, against a naive twin that adds prices up as exact decimals: no path
pays more, and no payable test is passed over.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import (
    CapabilityError,
    Context,
    Family,
    Limits,
    Prices,
    Task,
    VerificationError,
    grow,
)
from arboretum.engine.certificate import beyond
from arboretum.engine.search.bulk import Judges, Objects, grow_many
from arboretum.testing.effort import examples
from arboretum.testing.suites.base import verify_solution
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Variance

sys.path.insert(0, str(Path(__file__).parent))
from naive import check_tree
from problems import Rules, encode, encodeds, problem_of

DECIMALS = [0.0, 0.1, 0.2, 0.3, 0.7, 1.1]
BUDGETS = st.sampled_from([0.0, 0.1, 0.3, 0.4, 0.6, 0.8, 1.1, 1.2, 3.0])


@attrs.frozen
class NumpyOnly:
    """Reduction per unit of price, plus one, without a kernel."""

    def score(self, tables, node):
        assert np.isfinite(tables.price).all(), (
            "a criterion is not asked about tests that nobody can pay"
        )
        return Reduction().score(tables, node) / (1.0 + tables.price)


@st.composite
def price_lists(draw, objects):
    """A list with one price per test, paid once per column or each time; by outcome; or falling
    once a column was asked.
    """
    n, n_raw = int(objects.test_offset[-1]), len(objects.raw_features)
    rows = lambda k: np.array(draw(st.lists(st.sampled_from(DECIMALS), min_size=k, max_size=k)))
    form = draw(st.sampled_from(["plain", "once", "by outcome", "falling"]))
    if form == "by outcome":
        arity = [feature.arity for feature in objects.features for _ in range(feature.n_tests)] + [
            2
        ] * n_raw
        each = [np.append(rows(a), [np.nan] * (max(arity, default=2) - a)) for a in arity]
        return Prices.by_outcome(np.array(each).reshape(len(arity), -1), n_raw)
    dear = Prices(rows(n), rows(n_raw), form == "once")
    cheap = Prices(np.minimum(dear.tests, 0.1), np.minimum(dear.raw, 0.2))
    return attrs.evolve(dear, after=lambda asked, paid=0.0: cheap) if form == "falling" else dear


def check(objects, criterion, impurity, prices, budget, **more):
    problem = problem_of(objects, criterion, impurity, prices=prices, max_cost=budget)
    solution = grow(problem, Context(), **more)
    verify_solution(solution, problem)
    exact = Fraction(str(budget))
    check_tree(solution.tree, objects, prices, criterion.score, impurity, budget=exact)
    by_nodes = grow(problem, Context(), **more, compiled=False).tree
    assert (by_nodes.price_to.tolist(), by_nodes.counts.tolist()) == (
        solution.tree.price_to.tolist(),
        solution.tree.counts.tolist(),
    )
    assert beyond(solution.tree, Limits(max_cost=budget)) == ""
    return solution


@pytest.mark.parametrize(
    "criterion", [Reduction(), NumpyOnly(), GainRatio()], ids=["kernel", "numpy", "settled"]
)
@examples(150)
@given(objects=encodeds(), budget=BUDGETS, data=st.data(), order=st.sampled_from(["depth", "best"]))
def test_paths_keep_the_budget_and_ask_the_best_of_the_tests_that_they_can_pay(
    criterion, objects, budget, data, order
):
    check(objects, criterion, Entropy(), data.draw(price_lists(objects)), budget, order=order)


@examples(150)
@given(objects=encodeds(task=Task.regression), budget=BUDGETS, data=st.data())
def test_so_do_trees_of_numbers(objects, budget, data):
    check(objects, Reduction(), Variance(), data.draw(price_lists(objects)), budget)


@examples(150)
@given(objects=encodeds(), data=st.data())
def test_a_budget_that_suffices_changes_nothing(objects, data):
    prices = data.draw(price_lists(objects))
    free = grow(problem_of(objects, Reduction(), Gini(), prices=prices), Context()).tree
    limited = check(objects, Reduction(), Gini(), prices, 1000.0).tree
    assert limited.to_json() == free.to_json()


@attrs.frozen
class Majority:
    """A rule for missing values that grows trees by shares."""

    name, counted, discounted, kernel = "majority", True, False, ""

    def placements(self, known):
        return [int(np.argmax(known))]


@examples(150)
@given(objects=encodeds(missing=False), budget=BUDGETS, data=st.data())
def test_growth_by_shares_keeps_the_same_budget(objects, budget, data):
    problem = problem_of(
        objects, Reduction(), Gini(), prices=data.draw(price_lists(objects)), max_cost=budget
    )
    fractional = attrs.evolve(problem, parts=attrs.evolve(problem.parts, missing=Majority()))
    one, two = (grow(each, Context()).tree for each in (problem, fractional))
    assert (one.price_to.tolist(), one.counts.tolist()) == (
        two.price_to.tolist(),
        two.counts.tolist(),
    )
    assert np.allclose(one.score, two.score, equal_nan=True)


def three_questions(prices):
    """Eight objects, each in a class of its own, told apart by three questions at these prices."""
    codes = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)], np.uint8)
    objects = encode(codes, [2, 2, 2], [Family.multiway] * 3, np.zeros((8, 0)), np.arange(8))
    return objects, Prices(np.array(prices), np.zeros(0))


@pytest.mark.parametrize(
    ("prices", "budget", "leaves"),
    [
        ([0.1, 0.2, 5.0], 0.3, 4),
        ([0.1, 0.2, 5.0], 0.29999999999, 2),
        ([0.1] * 3, 0.3, 8),
        ([1.1, 2.2, 3.3], 6.6, 8),
        ([1.1, 2.2, 3.3], 6.5999999999, 4),
    ],
)
def test_decimals_add_up_as_they_are_written(prices, budget, leaves):
    """0.1 + 0.2 is more than 0.3 in floating point, and 0.3 pays for it; a budget that lacks
    10⁻¹¹ does not.
    """
    objects, listed = three_questions(prices)
    solution = check(objects, Reduction(), Gini(), listed, budget)
    assert solution.tree.n_leaves == leaves and solution.notes == ()


def test_a_tree_beyond_the_limit_is_told():
    objects, prices = three_questions([1.0, 1.0, 1.5])
    tree = grow(problem_of(objects, Reduction(), Gini(), prices=prices), Context()).tree
    assert beyond(tree, Limits(max_cost=3.5)) == ""
    assert (
        beyond(tree, Limits(max_cost=3.4))
        == "it is beyond the limits: a path pays 3.5, and max_cost is 3.4"
    )
    problem = problem_of(objects, Reduction(), Gini(), prices=prices, max_cost=2.9)
    solution = grow(problem, Context())
    verify_solution(solution, problem)
    with pytest.raises(VerificationError, match="no path pays more than max_cost: reported 3.5"):
        verify_solution(attrs.evolve(solution, tree=tree), problem)


def test_bulk_growth_refuses_a_budget():
    objects, prices = three_questions([1.0] * 3)
    judges = Judges.of([(Reduction(), Gini())], 8)
    with pytest.raises(
        CapabilityError, match="bulk growth knows no limit max_cost; use method=greedy"
    ):
        grow_many(Objects.of(objects, prices), judges, (Rules(max_cost=2.0),))
