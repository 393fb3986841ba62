"""Conformance of leaf rules: is this node a leaf?"""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import Limits, Parts
from arboretum.testing.suites.base import ComponentSuite
from arboretum.testing.suites.growing import grow_and_verify
from arboretum.testing.tables import SEEDS, ToyGini, node_of, toy_objects, toy_table
from arboretum.testing.example_components import ToyReduction


class StoppingSuite(ComponentSuite):
    """Sane limits, a plain yes or no that depends on the node alone, and a tree that obeys."""

    kind = "stopping"

    @staticmethod
    def nodes():
        for seed in SEEDS:
            objects = toy_objects(toy_table(seed))
            for step in (1, 2, 7):
                yield node_of(objects, np.arange(0, objects.n_objects, step), impurity=ToyGini(), depth=step - 1)

    def test_its_limits_are_bounds_that_a_tree_can_keep(self, component):
        limits = component.limits()
        assert isinstance(limits, Limits)
        assert limits == component.limits()
        assert limits.max_depth is None or limits.max_depth >= 0
        assert limits.max_leaves is None or limits.max_leaves >= 1
        assert limits.min_leaf >= 1
        assert limits.min_decrease is None or np.isfinite(limits.min_decrease)
        assert 0.0 <= limits.min_mass <= 0.5, "two branches share the weight"

    def test_it_says_yes_or_no_and_the_same_twice(self, component):
        for node in self.nodes():
            answer = component.is_leaf(node)
            assert isinstance(answer, bool | np.bool_), "is_leaf answers with a bool"
            assert component.is_leaf(node) == answer

    def test_it_does_not_change_the_node(self, component):
        for node in self.nodes():
            before = node.weights.copy(), node.counts.copy()
            component.is_leaf(node)
            assert (node.weights == before[0]).all() and (node.counts == before[1]).all()

    def test_it_does_not_depend_on_the_order_of_the_classes(self, component):
        for node in self.nodes():
            turned = attrs.evolve(node, weights=node.weights[::-1].copy(), counts=node.counts[::-1].copy())
            assert component.is_leaf(turned) == component.is_leaf(node)

    def test_a_tree_grown_under_it_obeys_it(self, component):
        limits = component.limits()
        for seed in (0, 1):
            parts = Parts(method=None, criterion=ToyReduction(), impurity=ToyGini(), stopping=(component,))
            table = toy_table(seed, n_rows=40)
            tree = grow_and_verify(table, parts)
            assert limits.max_depth is None or tree.depth_of.max() <= limits.max_depth
            assert limits.max_leaves is None or tree.n_leaves <= limits.max_leaves
            assert tree.n_nodes == 1 or tree.counts.min() >= limits.min_leaf
            least = limits.min_weight(float(tree.mass[0]), int(tree.counts[0]))
            assert tree.n_nodes == 1 or tree.mass.min() >= least
            objects, at = toy_objects(table), tree.apply(table)
            depth, ends = tree.depth_of, [set(np.flatnonzero(at == v).tolist()) for v in range(tree.n_nodes)]
            for v in range(tree.n_nodes - 1, 0, -1):
                ends[tree.parent[v]] |= ends[v]
            for v in np.flatnonzero(~tree.is_leaf):
                node = node_of(objects, np.array(sorted(ends[v])), impurity=ToyGini(), depth=int(depth[v]))
                assert not component.is_leaf(node), f"node {v} was split although the rule makes it a leaf"
