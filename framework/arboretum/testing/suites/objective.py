"""Conformance of objectives: what does an exact solver minimise?"""

from __future__ import annotations

import math

import pytest

from arboretum.api import Parts, Problem
from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.suites.base import ComponentSuite, kind_of_table
from arboretum.testing.tables import SEEDS, prices_of, toy_objects, toy_table


class ObjectiveSuite(ComponentSuite):
    """A number, never NaN, that depends on the tree and the objects alone; it tells some trees apart."""

    kind = "objective"

    @staticmethod
    def parts(component) -> Parts:
        """What the objective is combined with.  Override where it needs more (a complexity)."""
        return Parts(method=None, objective=component)

    @pytest.fixture
    def trees(self, component):
        """(tree, problem) pairs: a leaf, a stump and a grown tree of each small table."""
        found = []
        for seed in SEEDS:
            objects = toy_objects(toy_table(seed, kind=kind_of_table(component)))
            problem = Problem(objects, prices_of(objects, seed), self.parts(component))
            found += [(build_tree(objects, slow_greedy(objects, max_depth=depth)), problem) for depth in (0, 1, 6)]
        return found

    def test_it_is_a_number_never_nan_and_never_minus_infinity(self, component, trees):
        for tree, problem in trees:
            value = component.value(tree, problem)
            assert isinstance(value, float | int) and not math.isnan(value) and value > -math.inf

    def test_it_answers_the_same_twice_and_for_a_tree_that_was_stored(self, component, trees):
        for tree, problem in trees:
            value = component.value(tree, problem)
            assert component.value(tree, problem) == value
            assert component.value(type(tree).from_json(tree.to_json()), problem) == value

    def test_it_tells_some_trees_apart(self, component, trees):
        assert len({component.value(tree, problem) for tree, problem in trees}) > 1
