"""Conformance of price lists: what does asking a test cost?"""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.api import Capability, Parts, Prices, Problem, grow
from arboretum.testing.example_components import ToyReduction
from arboretum.testing.suites.base import ComponentSuite, claims
from arboretum.testing.suites.growing import verify_solution
from arboretum.testing.tables import SEEDS, ToyGini, context_of, toy_objects, toy_table


class CostSuite(ComponentSuite):
    """One finite price ≥ 0 per test; the same for the same seed."""

    kind = "cost"

    @pytest.fixture(params=[True, False], ids=["multiway", "two-way"])
    def objects(self, request):
        return toy_objects(toy_table(3), multiway=request.param)

    def test_every_test_has_one_finite_price_of_at_least_zero(self, component, objects):
        for seed in SEEDS:
            prices = component.price_list(objects, seed)
            assert isinstance(prices, Prices) and isinstance(prices.once_per_column, bool)
            for found, n in ((prices.tests, int(objects.test_offset[-1])), (prices.raw, len(objects.raw_features))):
                assert found.shape == (n,) and found.dtype == np.float64
                assert np.isfinite(found).all() and (found >= 0).all()
            arity = [f.arity for f in objects.features for _ in range(f.n_tests)] + [2] * len(objects.raw_features)
            for test, n in enumerate(arity):
                own, dearest = prices.of(test), (*prices.tests, *prices.raw)[test]
                assert len(own) in (1, n) and min(own) >= 0 and max(own) == dearest, "the list's price is that of the dearest outcome"

    def test_no_price_rises_on_the_way_down(self, component, objects):
        prices, asked = component.price_list(objects, 1), frozenset()
        assert prices.at(asked) is prices
        for feature in (*objects.features, *objects.raw_features):
            above, asked = prices.at(asked), asked | {feature.column}
            below = prices.at(asked)
            for found, before in ((below.tests, above.tests), (below.raw, above.raw)):
                assert found.shape == before.shape and (found >= 0).all() and (found <= before).all()

    def test_the_same_seed_gives_the_same_prices(self, component, objects):
        for seed in SEEDS:
            once, twice = component.price_list(objects, seed), component.price_list(objects, seed)
            assert (once.tests == twice.tests).all() and (once.raw == twice.raw).all()

    def test_prices_depend_on_the_seed_exactly_where_it_declares_so(self, component, objects):
        lists = {tuple(component.price_list(objects, seed).tests) for seed in range(20)}
        if claims(component, Capability.randomised):
            assert len(lists) > 1, "declared randomised, but twenty seeds give one price list"
        else:
            assert len(lists) == 1, "prices change with the seed; declare the capability 'randomised'"

    def test_it_leaves_the_global_random_state_alone(self, component, objects):
        before = np.random.get_state()[1].copy()  # noqa: NPY002 - the state that must not move
        component.price_list(objects, 1)
        assert (np.random.get_state()[1] == before).all()  # noqa: NPY002

    def test_a_tree_pays_the_prices_of_the_list(self, component, objects):
        parts = Parts(method=None, criterion=ToyReduction(), impurity=ToyGini(), cost=component)
        problem = Problem(objects, component.price_list(objects, 1), parts)
        verify_solution(grow(problem, context_of()), problem)  # recomputes what every node asks for
