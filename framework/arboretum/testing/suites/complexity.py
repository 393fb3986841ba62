"""Conformance of complexities: what does a whole tree cost?"""

from __future__ import annotations

import math

import pytest

from arboretum.testing.oracles import build_tree, cut_at, inner_paths, slow_greedy
from arboretum.testing.suites.base import ComponentSuite
from arboretum.testing.tables import SEEDS, prices_of, toy_objects, toy_table

SLACK = 1e-12
"""Relative; a value is a sum of some dozens of products."""


class ComplexitySuite(ComponentSuite):
    """A finite number that no cut can raise: cutting a subtree back to a leaf never makes a tree dearer."""

    kind = "complexity"

    @pytest.fixture(params=SEEDS)
    def grown(self, request):
        objects = toy_objects(toy_table(request.param))
        return objects, slow_greedy(objects), prices_of(objects, request.param)

    def test_it_is_a_finite_number_of_at_least_zero_and_the_same_twice(self, component, grown):
        objects, sketch, prices = grown
        tree = build_tree(objects, sketch, prices)
        value = component.of(tree)
        assert isinstance(value, float | int) and math.isfinite(value) and value >= 0
        assert component.of(tree) == value

    def test_cutting_a_subtree_back_never_makes_a_tree_dearer(self, component, grown):
        objects, sketch, prices = grown
        whole = component.of(build_tree(objects, sketch, prices))
        for path in inner_paths(sketch):
            part = component.of(build_tree(objects, cut_at(sketch, path), prices))
            assert part <= whole + SLACK * max(1.0, abs(whole)), f"cut at {path}"

    def test_some_tree_is_dearer_than_a_leaf(self, component, grown):
        objects, sketch, prices = grown
        assert component.of(build_tree(objects, sketch, prices)) > component.of(build_tree(objects, None, prices))
