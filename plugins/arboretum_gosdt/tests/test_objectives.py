"""Objectives against sums by hand."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

from arboretum import TreeClassifier
from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    Parts,
    Price,
    Problem,
    Table,
    Target,
    Task,
)
from arboretum.testing import ObjectiveSuite
from arboretum.testing.oracles import build_tree
from arboretum.testing.suites.base import kind_of_table
from arboretum.testing.tables import prices_of, toy_objects
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix, Weighted

OBJECTIVES = [
    Accuracy(),
    Balanced(mu=0.1),
    Weighted(omega=0.3),
    CostMatrix(mu=0.05, price=Price.max),
    Accuracy(lam=0.0),
]


class TestConformance(ObjectiveSuite):
    @pytest.fixture(params=OBJECTIVES, ids=lambda one: one.name)
    def component(self, request):
        return request.param

    def test_the_suite_gives_two_classes_to_what_knows_no_more(self, component):
        assert kind_of_table(component).multiclass == (component.name != "weighted")


def problem(labels, left, weights=None, classes=("n", "p"), **parts):
    """One binary column, ``left`` where it is 0."""
    codes = np.array([0 if i in left else 1 for i in range(len(labels))])
    column = Column("x", ColumnKind.categorical, codes, ("a", "b"))
    table = Table(
        "hand",
        (column,),
        Target("y", Task.classification, np.array(labels, np.int32), classes),
        weights,
    )
    objects = toy_objects(table, multiway=False)
    return Problem(objects, prices_of(objects), Parts(method=None, **parts))


HAND = problem([0, 0, 0, 1, 1, 0], {0, 1, 2, 3}, np.array([1, 1, 1, 1, 0.5, 2.0]))
"""Left: n 3, p 1.  Right: n 2, p ½."""


def value(objective, sketch, at=HAND, labels=None):
    tree = build_tree(at.objects, sketch, at.prices)
    return objective.value(tree if labels is None else attrs.evolve(tree, label=labels), at)


STUMP = (0, {0: None, 1: None})


def test_losses_by_hand():
    assert value(Accuracy(lam=0.1), None) == pytest.approx(1.5 / 6.5 + 0.1)
    assert value(Accuracy(lam=0.1), STUMP) == pytest.approx(1.5 / 6.5 + 0.2)
    assert value(Accuracy(lam=0.0), STUMP, labels=[0, 1, 0]) == pytest.approx(3.5 / 6.5)
    assert value(Balanced(lam=0.0), STUMP, labels=[0, 1, 0]) == pytest.approx(
        (3 / 5 + 0.5 / 1.5) / 2
    )
    assert value(Weighted(lam=0.0, omega=4.0), STUMP, labels=[0, 1, 0]) == pytest.approx(
        (3 + 4 * 0.5) / (4 * 1.5 + 5)
    )
    costs = CostMatrix(lam=0.0, costs=[[0.5, 1], [7, 0]])
    assert value(costs, STUMP, labels=[0, 1, 0]) == pytest.approx((3 * 1 + 2 * 0.5 + 0.5 * 7) / 6.5)


def test_three_classes_and_one_that_is_absent():
    three = problem([0, 1, 1, 1], {0, 1}, classes=("a", "b", "c"))
    assert value(Balanced(lam=0.0), None, three, labels=[1]) == pytest.approx((1 / 1 + 0) / 2)
    assert value(Balanced(lam=0.0), None, three, labels=[2]) == pytest.approx(1.0)
    with pytest.raises(
        CapabilityError, match="table for 2 classes, but there are 3; give it a row per class"
    ):
        value(CostMatrix(costs=[[0, 1], [1, 0]]), None, three)


@pytest.mark.parametrize("name", ["accuracy", "balanced", "weighted", "cost_matrix"])
def test_an_estimator_that_is_given_one_class_learns_a_leaf(name):
    grown = TreeClassifier(method="gosdt", objective=name).fit([[0], [1], [1]], [1, 1, 1])
    assert grown.tree_.n_leaves == 1 and grown.predict([[0]]) == [1]
    with pytest.raises(CapabilityError, match="objective auc is undefined with one class"):
        TreeClassifier(method="fronts", objective="auc").fit([[0], [1], [1]], [1, 1, 1])


@pytest.mark.parametrize(("price", "test_cost"), [(Price.expected, 3.0), (Price.max, 3.0)])
def test_prices_count_where_they_are_asked_for(price, test_cost):
    dear = attrs.evolve(
        HAND, prices=attrs.evolve(HAND.prices, tests=np.array([3.0] * len(HAND.prices.tests)))
    )
    assert value(Accuracy(lam=0.0, mu=0.5, price=price), STUMP, dear) == pytest.approx(
        1.5 / 6.5 + 0.5 * test_cost
    )
    assert value(Accuracy(lam=0.0, mu=0.5, price=price), None, dear) == pytest.approx(1.5 / 6.5)


def test_an_accuracy_is_a_table_of_costs_and_balanced_weighs_the_classes():
    for labels in ([0, 0, 0], [0, 1, 0], [0, 0, 1]):
        assert value(Accuracy(), STUMP, labels=labels) == value(CostMatrix(), STUMP, labels=labels)
        ratio = 5 / 1.5
        assert value(Balanced(), STUMP, labels=labels) == pytest.approx(
            value(Weighted(omega=ratio), STUMP, labels=labels)
        )


@pytest.mark.parametrize(
    "wrong", [{"lam": -0.1}, {"lam": math.nan}, {"lam": math.inf}, {"mu": -1.0}]
)
def test_a_price_below_zero_or_no_number_is_refused(wrong):
    with pytest.raises(ValueError, match="must be ≥ 0 and < inf"):
        Accuracy(**wrong)


@pytest.mark.parametrize("costs", [[[0, 1]], [[0, -1], [1, 0]], [[0, math.nan], [1, 0]]])
def test_a_table_of_costs_is_square_and_not_below_zero(costs):
    with pytest.raises(ValueError, match="objective.costs must"):
        CostMatrix(costs=costs)
