"""Prices of tests: per column, random, paid once."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

import arboretum
from arboretum.api import CapabilityError, Context, DataError, Parts, Problem, VerificationError, grow
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import ToyGini, ToyReduction, toy_objects, toy_table
from arboretum_basics.costs import PerColumn, RandomIntegers, SetUp, TablePrices, Unit

OBJECTS = toy_objects(toy_table(1))


def columns_of_tests() -> list[str]:
    return [feature.column for feature in OBJECTS.features for _ in range(feature.n_tests)]


def test_unit_prices_are_one():
    assert set(Unit().price_list(OBJECTS, 0).tests) == {1.0}


def test_a_price_per_column_is_paid_by_each_of_its_tests_and_others_cost_the_default():
    prices = TablePrices(prices={"width": 5.0, "lit": 0.0}, default=2.0).price_list(OBJECTS, 0)
    expected = {"width": 5.0, "lit": 0.0, "shade": 2.0, "height": 2.0}
    assert [expected[name] for name in columns_of_tests()] == prices.tests.tolist()
    assert not prices.once_per_column


@pytest.mark.parametrize("component", [TablePrices, PerColumn])
def test_a_price_for_an_unknown_column_names_the_closest(component):
    with pytest.raises(DataError, match="unknown column 'widht'; did you mean 'width'"):
        component(prices={"widht": 1.0}).price_list(OBJECTS, 0)


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_price_must_be_finite_and_not_negative(price):
    with pytest.raises(DataError, match="must be a finite number ≥ 0"):
        TablePrices(prices={"width": price}).price_list(OBJECTS, 0)


def test_random_prices_are_whole_numbers_of_the_whole_range_and_follow_the_seed():
    drawn = np.concatenate([RandomIntegers(low=2, high=4).price_list(OBJECTS, seed).tests for seed in range(20)])
    assert set(drawn) == {2.0, 3.0, 4.0}
    assert (RandomIntegers().price_list(OBJECTS, 7).tests == RandomIntegers().price_list(OBJECTS, 7).tests).all()


def test_a_range_upside_down_is_refused():
    with pytest.raises(ValueError, match="cost.high must be ≥ cost.low; got high 1, low 5"):
        RandomIntegers(low=5, high=1)


@pytest.mark.parametrize("component", [TablePrices(prices={"width": 3.0}), PerColumn(prices={"width": 3.0})])
def test_a_tree_reports_what_its_rows_pay(component):
    """Each test on a path is paid; with ``per_column`` a column is paid once, the value being known afterwards."""
    problem = Problem(
        OBJECTS, component.price_list(OBJECTS, 0), Parts(method=None, criterion=ToyReduction(), impurity=ToyGini())
    )
    solution = grow(problem, Context())
    verify_solution(solution, problem)
    tree, paid = solution.tree, solution.tree.prices_paid(OBJECTS.table)
    at = tree.apply(OBJECTS.table)
    for row in range(OBJECTS.table.n_rows):
        asked = [tree.rule(node).columns[0] for node, _ in tree.path(int(at[row]))]
        once = component.name == "per_column"
        expected = sum(3.0 if name == "width" else 1.0 for name in (set(asked) if once else asked))
        assert paid[row] == expected


SHARED = SetUp(prices={"width": 3.0}, groups={"width": "ruler", "height": "ruler"}, set_up={"ruler": 10.0})


def test_a_set_up_is_paid_once_per_path_by_the_first_column_of_its_group():
    prices = SHARED.price_list(OBJECTS, 0)
    first = {"width": 13.0, "height": 11.0}
    assert [first.get(name, 1.0) for name in columns_of_tests()] == prices.tests.tolist()
    assert [3.0 if name == "width" else 1.0 for name in columns_of_tests()] == prices.at(frozenset({"height"})).tests.tolist()
    assert (prices.at(frozenset({"lit"})).tests == prices.tests).all()


def test_trees_pay_a_shared_set_up_once_and_verification_knows_the_price_of_every_path():
    parts = Parts(method=None, criterion=ToyReduction(), impurity=ToyGini())
    problem = Problem(OBJECTS, SHARED.price_list(OBJECTS, 0), parts)
    solution = grow(problem, Context())
    verify_solution(solution, problem)
    tree = solution.tree
    paid, at = tree.prices_paid(OBJECTS.table), tree.apply(OBJECTS.table)
    shared = 0
    for row in range(OBJECTS.table.n_rows):
        asked = [tree.rule(node).columns[0] for node, _ in tree.path(int(at[row]))]
        ruled = sum(name in ("width", "height") for name in asked)
        shared = max(shared, ruled)
        assert paid[row] == sum(3.0 if name == "width" else 1.0 for name in asked) + (10.0 if ruled else 0.0)
    assert shared > 1, "no path asks two tests of the group: nothing was tried"
    wrong = np.where(tree.test >= 0, tree.price + 10.0 * (tree.depth_of > 0), 0.0)
    with pytest.raises(VerificationError, match="price of"):
        verify_solution(attrs.evolve(solution, tree=attrs.evolve(tree, price=wrong)), problem)


GROUPS = ["cost=set_up", "cost.groups={petal_length: ruler, petal_width: ruler}", "cost.set_up={ruler: 5}"]


@pytest.mark.parametrize("encoder", ["auto", "multiway"])
def test_runs_pay_set_ups_in_every_engine_and_exact_search_refuses_them(encoder):
    chosen = ["dataset=iris", f"encoder={encoder}", *GROUPS]
    record = arboretum.run([*chosen, "method=cart"])
    assert record.verified and record.metrics["max_cost"] <= 5.0 + record.metrics["depth"]
    if encoder == "multiway":
        promised = arboretum.run([*chosen, "method=ec45", "encoder.coalesce=sum"]).notes
        assert any("depends on the path or the outcome; choose cost=table" in note for note in promised), promised
        with pytest.raises(CapabilityError, match="subtable_dp knows one price per test, and here it depends on the path"):
            arboretum.run([*chosen, "method=exact", "solver=subtable_dp", "objective=zero_error", "complexity=max_cost"])


def test_a_group_without_a_set_up_and_an_unknown_column_are_refused():
    with pytest.raises(DataError, match="cost.set_up.ruler must be a finite number ≥ 0, because column 'width' is of that group; got None"):
        SetUp(groups={"width": "ruler"}).price_list(OBJECTS, 0)
    with pytest.raises(DataError, match="cost.groups: unknown column 'widht'; did you mean 'width'"):
        SetUp(groups={"widht": "ruler"}, set_up={"ruler": 1.0}).price_list(OBJECTS, 0)
