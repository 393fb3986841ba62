"""Prices that depend on the outcome and on what the path has paid: grown trees pay them, and
verify.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arboretum.api import (
    CapabilityError,
    Context,
    ContractError,
    Parts,
    Prices,
    Problem,
    RawFeature,
    grow,
)
from arboretum.engine.check import check_prices
from arboretum.measure import costs_of_rows
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import ToyGini, ToyReduction, toy_objects, toy_table


def objects_of(seed: int, raw: bool = False):
    objects = toy_objects(toy_table(seed, n_rows=40))
    if not raw:
        return objects
    numeric = [f for f in objects.features if f.family.value == "thresholds"]
    kept = [i for i, f in enumerate(objects.features) if f not in numeric]
    values = np.stack([objects.table.columns[f.position].values for f in numeric], axis=1)
    return attrs.evolve(
        objects,
        features=tuple(objects.features[i] for i in kept),
        codes=np.ascontiguousarray(objects.codes[:, kept]),
        raw_features=tuple(RawFeature(f.column, f.position) for f in numeric),
        raw=values,
    )


def by_outcome(objects, seed: int) -> Prices:
    arity = [f.arity for f in objects.features for _ in range(f.n_tests)] + [2] * len(
        objects.raw_features
    )
    rows = np.full((len(arity), max(arity)), np.nan)
    for test, n in enumerate(arity):
        rows[test, :n] = np.random.default_rng([seed, test]).integers(1, 9, n)
    return Prices.by_outcome(rows, len(objects.raw_features))


@attrs.frozen
class Cheapest:
    """Divides the decrease by the mean price of the outcomes, by weight."""

    kind, name, paper, capabilities = "criterion", "cheapest", "", ()
    needs_outcome_prices = True

    def score(self, tables, node):
        weight = tables.weights.sum(axis=2)
        assert (
            tables.outcome_price.shape == weight.shape
            and (tables.outcome_price.max(axis=1) == tables.price).all()
        )
        return ToyReduction().score(tables, node) / (
            1.0 + (weight * tables.outcome_price).sum(axis=1) / weight.sum(axis=1)
        )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("criterion", [ToyReduction(), Cheapest()], ids=lambda one: one.name)
def test_a_grown_tree_pays_by_outcome_and_verifies(seed, raw, criterion):
    objects = objects_of(seed, raw)
    prices = by_outcome(objects, seed)
    problem = Problem(objects, prices, Parts(method=None, criterion=criterion, impurity=ToyGini()))
    solution = grow(problem, Context())
    verify_solution(solution, problem)
    tree = solution.tree
    assert tree.branch_price is not None and (tree.branch_price < tree.price[tree.owner]).any()
    assert (
        costs_of_rows(tree, objects.table)["expected_cost"]
        < costs_of_rows(attrs.evolve(tree, branch_price=None), objects.table)["expected_cost"]
    )


def test_a_price_that_depends_on_what_was_paid_is_asked_on_the_way_down():
    objects = objects_of(1)
    root = by_outcome(objects, 1)
    lists = []

    def after(asked, paid):
        lists.append(paid)
        return attrs.evolve(
            root, tests=root.tests / (1.0 + paid), outcomes=root.outcomes / (1.0 + paid)
        )

    problem = Problem(
        objects,
        attrs.evolve(root, after=after),
        Parts(method=None, criterion=ToyReduction(), impurity=ToyGini()),
    )
    solution = grow(problem, Context())
    verify_solution(solution, problem)
    assert len(set(lists)) > 2, "branches of one test have paid different amounts"


@pytest.mark.parametrize("outcomes", [np.ones((2, 2)), None])
def test_a_list_whose_price_is_not_that_of_its_dearest_outcome_is_refused(outcomes):
    objects = objects_of(0)
    prices = by_outcome(objects, 0)
    wrong = prices.outcomes / 2 if outcomes is None else outcomes
    with pytest.raises(ContractError, match="by_outcome"):
        check_prices(ToyReduction(), attrs.evolve(prices, outcomes=wrong), objects)


def test_bulk_growth_refuses_such_a_list():
    from arboretum.engine.search.bulk import Objects

    objects = objects_of(0)
    with pytest.raises(CapabilityError, match="cost=table"):
        Objects.of(objects, by_outcome(objects, 0))
