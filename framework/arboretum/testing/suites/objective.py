"""Conformance of objectives: what does an exact solver minimise?"""

from __future__ import annotations

import math

import pytest

from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.suites.base import ComponentSuite, kind_of_table, tasks_of
from arboretum.testing.tables import SEEDS, toy_objects, toy_table


class ObjectiveSuite(ComponentSuite):
    """A number, never NaN, that depends on the tree and the objects alone; it tells some trees apart."""

    kind = "objective"

    @pytest.fixture
    def trees(self, component):
        """(tree, objects) pairs: a leaf, a stump and a grown tree of each small table."""
        kind = kind_of_table(component, tasks_of(component)[0])
        found = []
        for seed in SEEDS:
            objects = toy_objects(toy_table(seed, kind=kind))
            found += [(build_tree(objects, slow_greedy(objects, max_depth=depth)), objects) for depth in (0, 1, 6)]
        return found

    def test_it_is_a_number_never_nan_and_never_minus_infinity(self, component, trees):
        for tree, objects in trees:
            value = component.value(tree, objects)
            assert isinstance(value, float | int) and not math.isnan(value) and value > -math.inf

    def test_it_answers_the_same_twice_and_for_a_tree_that_was_stored(self, component, trees):
        for tree, objects in trees:
            value = component.value(tree, objects)
            assert component.value(tree, objects) == value
            assert component.value(type(tree).from_json(tree.to_json()), objects) == value

    def test_it_tells_some_trees_apart(self, component, trees):
        assert len({component.value(tree, objects) for tree, objects in trees}) > 1
