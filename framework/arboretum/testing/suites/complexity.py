"""Conformance of complexities: what does a whole tree cost?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from arboretum.api import counterexample_to_monotony, form_of, value_of
from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.suites.base import ComponentSuite, skip_if
from arboretum.testing.tables import SEEDS, prices_of, toy_objects, toy_table

SLACK = 1e-12
"""Relative; a value is a sum of some dozens of products."""


class ComplexitySuite(ComponentSuite):
    """A finite number that no cut can raise: cutting a subtree back to a leaf never makes a tree dearer."""

    kind = "complexity"

    @pytest.fixture(params=SEEDS)
    def grown(self, request):
        objects = toy_objects(toy_table(request.param))
        return build_tree(objects, slow_greedy(objects), prices_of(objects, request.param))

    def test_it_is_a_finite_number_of_at_least_zero_and_the_same_twice(self, component, grown):
        value = value_of(component, grown)
        assert isinstance(value, float | int) and math.isfinite(value) and value >= 0
        assert value_of(component, grown) == value

    def test_cutting_a_subtree_back_never_makes_a_tree_dearer(self, component, grown):
        whole = value_of(component, grown)
        for node in np.flatnonzero(~grown.is_leaf):
            assert value_of(component, grown.cut([node])) <= whole + SLACK * max(1.0, abs(whole)), f"cut at node {node}"

    def test_some_tree_is_dearer_than_a_leaf(self, component, grown):
        assert value_of(component, grown) > value_of(component, grown.cut([0]))

    def test_no_dearer_branch_makes_a_node_cheaper(self, component):
        found = counterexample_to_monotony(component)
        assert found is None, str(found)

    def test_its_closed_form_says_the_same(self, component):
        form = form_of(component)
        skip_if(form is None, f"complexity {component.name!r} has no closed form")
        assert form.leaf == component.leaf()
        generator = np.random.default_rng(0)
        for _ in range(100):
            mass, price = float(generator.integers(1, 100)), float(generator.integers(0, 11))
            children = generator.integers(0, 50, generator.integers(1, 6)).astype(np.float64)
            assert math.isclose(form.node(mass, price, children), component.node(mass, price, children), rel_tol=SLACK)
