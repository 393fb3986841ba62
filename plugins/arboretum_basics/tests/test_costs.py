"""Prices of tests: per column, random, paid once."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

import arboretum
from arboretum.api import (
    CapabilityError,
    Context,
    DataError,
    Parts,
    Problem,
    VerificationError,
    grow,
)
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import ToyGini, ToyReduction, toy_objects, toy_table
from arboretum_basics.costs import (
    ByOutcome,
    Discount,
    PerColumn,
    RandomIntegers,
    SetUp,
    TablePrices,
    Unit,
)

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
    drawn = np.concatenate(
        [RandomIntegers(low=2, high=4).price_list(OBJECTS, seed).tests for seed in range(20)]
    )
    assert set(drawn) == {2.0, 3.0, 4.0}
    assert (
        RandomIntegers().price_list(OBJECTS, 7).tests
        == RandomIntegers().price_list(OBJECTS, 7).tests
    ).all()


def test_a_range_upside_down_is_refused():
    with pytest.raises(ValueError, match="cost.high must be ≥ cost.low; got high 1, low 5"):
        RandomIntegers(low=5, high=1)


@pytest.mark.parametrize(
    "component", [TablePrices(prices={"width": 3.0}), PerColumn(prices={"width": 3.0})]
)
def test_a_tree_reports_what_its_rows_pay(component):
    """Each test on a path is paid; with ``per_column`` a column is paid once, the value being
    known afterwards.
    """
    problem = Problem(
        OBJECTS,
        component.price_list(OBJECTS, 0),
        Parts(method=None, criterion=ToyReduction(), impurity=ToyGini()),
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


SHARED = SetUp(
    prices={"width": 3.0}, groups={"width": "ruler", "height": "ruler"}, set_up={"ruler": 10.0}
)


def test_a_set_up_is_paid_once_per_path_by_the_first_column_of_its_group():
    prices = SHARED.price_list(OBJECTS, 0)
    first = {"width": 13.0, "height": 11.0}
    assert [first.get(name, 1.0) for name in columns_of_tests()] == prices.tests.tolist()
    assert [3.0 if name == "width" else 1.0 for name in columns_of_tests()] == prices.at(
        frozenset({"height"})
    ).tests.tolist()
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
        assert paid[row] == sum(3.0 if name == "width" else 1.0 for name in asked) + (
            10.0 if ruled else 0.0
        )
    assert shared > 1, "no path asks two tests of the group: nothing was tried"
    wrong = np.where(tree.test >= 0, tree.price + 10.0 * (tree.depth_of > 0), 0.0)
    with pytest.raises(VerificationError, match="price of"):
        verify_solution(attrs.evolve(solution, tree=attrs.evolve(tree, price=wrong)), problem)


GROUPS = [
    "cost=set_up",
    "cost.groups={petal_length: ruler, petal_width: ruler}",
    "cost.set_up={ruler: 5}",
]


@pytest.mark.parametrize("encoder", ["auto", "multiway"])
def test_runs_pay_set_ups_in_every_engine_and_exact_search_refuses_them(encoder):
    chosen = ["dataset=iris", f"encoder={encoder}", *GROUPS]
    record = arboretum.run([*chosen, "method=cart"])
    assert record.verified and record.metrics["max_cost"] <= 5.0 + record.metrics["depth"]
    if encoder == "multiway":
        promised = arboretum.run([*chosen, "method=ec45", "encoder.coalesce=sum"]).notes
        assert any(
            "depends on the path or the outcome; choose cost=table" in note for note in promised
        ), promised
        with pytest.raises(
            CapabilityError,
            match="subtable_dp knows one price per test, and here it depends on the path",
        ):
            arboretum.run(
                [
                    *chosen,
                    "method=exact",
                    "solver=subtable_dp",
                    "objective=zero_error",
                    "complexity=max_cost",
                ]
            )


def test_a_group_without_a_set_up_and_an_unknown_column_are_refused():
    with pytest.raises(
        DataError,
        match=(
            "cost.set_up.ruler must be a finite number ≥ 0, because column 'width' is of "
            "that group; got None"
        ),
    ):
        SetUp(groups={"width": "ruler"}).price_list(OBJECTS, 0)
    with pytest.raises(
        DataError, match="cost.groups: unknown column 'widht'; did you mean 'width'"
    ):
        SetUp(groups={"widht": "ruler"}, set_up={"ruler": 1.0}).price_list(OBJECTS, 0)


LENT = Discount(
    prices={"width": 4.0, "height": 2.0, "lit": 3.0},
    groups={"width": "ruler", "height": "ruler", "lit": "lamp"},
    later={"lit": 3.0},
)


def test_a_price_falls_once_a_column_of_the_group_was_asked():
    prices = LENT.price_list(OBJECTS, 0)
    first = {"width": 4.0, "height": 2.0, "lit": 3.0}
    then = {"width": 2.0, "height": 1.0, "lit": 3.0}
    assert [first.get(name, 1.0) for name in columns_of_tests()] == prices.tests.tolist()
    assert [then.get(name, 1.0) for name in columns_of_tests()] == prices.at(
        frozenset({"height"})
    ).tests.tolist()
    assert [first.get(name, 1.0) for name in columns_of_tests()] == prices.at(
        frozenset({"shade", "lit"})
    ).tests.tolist()


def paid_along(tree, table, price_of):
    """What each row pays, replayed: ``price_of(column, columns asked above, outcome's label)``,
    added up along its path.
    """
    found = []
    for leaf in tree.apply(table):
        asked, total = [], 0.0
        for node, outcome in tree.path(int(leaf)):
            rule = tree.rule(node)
            total += price_of(rule.column, asked, rule.outcome_label(outcome))
            asked.append(rule.column)
        found.append(total)
    return found


def test_paths_pay_the_fallen_price_and_the_metrics_say_so():
    prices = LENT.price_list(OBJECTS, 0)
    problem = Problem(
        OBJECTS, prices, Parts(method=None, criterion=ToyReduction(), impurity=ToyGini())
    )
    solution = grow(problem, Context())
    verify_solution(solution, problem)
    tree, later = solution.tree, {"width": 2.0, "height": 1.0}

    def price_of(column, asked, label):
        ruled = column in later and any(name in later for name in asked)
        return (
            later[column] if ruled else {"width": 4.0, "height": 2.0, "lit": 3.0}.get(column, 1.0)
        )

    assert paid_along(tree, OBJECTS.table, price_of) == tree.prices_paid(OBJECTS.table).tolist()
    assert any(0 < price < 2 for price in tree.price[tree.depth_of > 0]), (
        "no test fell in price: nothing was tried"
    )
    with pytest.raises(VerificationError, match="price of"):
        verify_solution(
            attrs.evolve(solution, tree=attrs.evolve(tree, price=tree.price * 2.0)), problem
        )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"groups": {"widht": "a"}}, "cost.groups: unknown column 'widht'; did you mean 'width'"),
        (
            {"groups": {"width": "a"}, "later": {"widht": 1.0}},
            "cost.later: unknown column of a group 'widht'; did you mean 'width'",
        ),
        (
            {"groups": {"width": "a"}, "later": {"width": -1.0}},
            r"cost.later\[width\] must be a finite number ≥ 0; got -1.0",
        ),
        (
            {"groups": {"width": "a"}, "later": {"width": float("nan")}},
            r"cost.later\[width\] must be a finite number ≥ 0; got nan",
        ),
        (
            {"groups": {"width": "a"}, "later": {"width": 1.5}},
            r"cost.later\[width\] must be at most its first price, 1; got 1.5",
        ),
    ],
)
def test_a_discount_that_is_none_is_refused(fields, said):
    with pytest.raises(DataError, match=said):
        Discount(**fields).price_list(OBJECTS, 0)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_0_and_1(share):
    with pytest.raises(ValueError, match="share must be"):
        Discount(share=share)


BALANCE = ["dataset=balance-scale", "split=none", "tracker=none", "method=cart", "cost=by_outcome"]


@pytest.mark.parametrize(
    ("encoder", "given", "price_of"),
    [
        ("multiway", "{1: 3, 5: 0.25}", {"= 1": 3.0, "= 5": 0.25}.get),
        (
            "onehot",
            "{1: 3, other: 2}",
            lambda label: 3.0 if label == "= 1" else 2.0 if label[0] == "≠" else None,
        ),
        (
            "onehot",
            "{1: 3, 5: 0.25}",
            lambda label: {"= 1": 3.0, "= 5": 0.25}.get(
                label, 3.0 if label[0] == "≠" and label != "≠ 1" else None
            ),
        ),
        (
            "midpoints",
            "{1: 3, 5: 0.25}",
            lambda label: {"> 4": 0.25}.get(label, 3.0 if label[0] == "≤" else None),
        ),
        ("auto", "{at_most: 0.5, above: 2}", lambda label: 0.5 if label[0] == "≤" else 2.0),
    ],
)
def test_runs_pay_by_outcome_and_report_what_their_rows_paid(encoder, given, price_of):
    """A branch of several values costs as much as the costliest of them; the columns of
    balance-scale are ordinal, 1 to 5.
    """
    record = arboretum.run(
        [*BALANCE, f"encoder={encoder}", f"cost.prices={{left_weight: {given}}}"]
    )
    tree, paid = record.tree, {}
    for leaf in np.flatnonzero(tree.is_leaf).tolist():
        steps = [(tree.rule(node), outcome) for node, outcome in tree.path(leaf)]
        each = [
            price_of(rule.outcome_label(k)) if rule.column == "left_weight" else None
            for rule, k in steps
        ]
        paid[leaf] = sum(1.0 if price is None else price for price in each)
    assert record.verified and record.metrics["max_cost"] == max(paid.values())
    assert len(set(tree.edge_price.tolist())) > 1
    expected = sum(float(tree.mass[leaf]) * price for leaf, price in paid.items()) / 625
    assert record.metrics[
        "train_expected_cost" if "train_expected_cost" in record.metrics else "expected_cost"
    ] == pytest.approx(expected, rel=1e-12)


def test_a_list_by_outcome_whose_outcomes_cost_the_same_is_one_that_exact_solvers_know():
    prices = ByOutcome(prices={"shade": dict.fromkeys(("dark", "light", "pale"), 2.0)}).price_list(
        toy_objects(toy_table(1), multiway=True), 0
    )
    assert prices.fixed and 2.0 in prices.tests


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"widht": {"a": 1.0}}, "cost.prices: unknown column 'widht'; did you mean 'width'"),
        (
            {"shade": {"drak": 1.0}},
            r"cost.prices\[shade\]: unknown outcome 'drak'; did you mean 'dark'",
        ),
        (
            {"shade": {"dark": -1.0}},
            r"cost.prices\[shade\]\[dark\] must be a finite number ≥ 0; got -1.0",
        ),
        (
            {"shade": {"dark": float("nan")}},
            r"cost.prices\[shade\]\[dark\] must be a finite number ≥ 0; got nan",
        ),
    ],
)
def test_a_price_of_no_outcome_and_a_price_that_is_none_are_refused(given, said):
    with pytest.raises(DataError, match=said):
        ByOutcome(prices=given).price_list(OBJECTS, 0)


def test_a_raw_column_has_no_price_per_value():
    with pytest.raises(
        DataError, match=r"cost.prices\[left_weight\]: unknown outcome '1'; known: above, at_most"
    ):
        arboretum.run([*BALANCE, "encoder=auto", "cost.prices={left_weight: {1: 3}}"])
