"""Conformance of pruners: what should be cut back?"""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.suites.base import ComponentSuite, kind_of_table, skip_if
from arboretum.testing.tables import SEEDS, toy_objects, toy_table


class PrunerSuite(ComponentSuite):
    """A tree that is no larger, over the same training rows; the given one stays as it was."""

    kind = "pruner"

    @pytest.fixture(params=SEEDS)
    def grown(self, request, component):
        """(tree, training rows, validation rows)."""
        kind = kind_of_table(component)
        table = toy_table(request.param, n_rows=40, kind=kind)
        train, valid = table.take(np.arange(0, 28)), table.take(np.arange(28, 40))
        objects = toy_objects(train)
        return build_tree(objects, slow_greedy(objects)), train, valid

    def test_it_says_whether_it_needs_validation_rows(self, component):
        assert isinstance(component.needs_validation, bool)

    def test_the_pruned_tree_is_no_larger(self, component, grown):
        tree, pruned = grown[0], component.prune(*grown)
        assert pruned.n_nodes <= tree.n_nodes and pruned.n_leaves <= tree.n_leaves
        assert pruned.depth_of.max() <= tree.depth_of.max()

    def test_every_node_holds_the_rows_that_come_to_it(self, component, grown):
        tree, train, _ = grown
        pruned = component.prune(*grown)
        assert pruned.counts[0] == train.n_rows and np.allclose(pruned.weights[0], tree.weights[0], rtol=1e-12)
        counts = np.bincount(pruned.apply(train), minlength=pruned.n_nodes)
        for node in range(pruned.n_nodes - 1, 0, -1):
            counts[pruned.parent[node]] += counts[node]
        assert counts.tolist() == pruned.counts.tolist()

    def test_it_leaves_the_given_tree_alone_and_answers_the_same_twice(self, component, grown):
        before = grown[0].to_json()
        once, twice = component.prune(*grown), component.prune(*grown)
        assert grown[0].to_json() == before
        assert once.to_json() == twice.to_json()

    def test_a_leaf_stays_a_leaf(self, component, grown):
        _, train, valid = grown
        leaf = build_tree(toy_objects(train), None)
        assert component.prune(leaf, train, valid).n_nodes == 1

    def test_without_validation_rows_it_prunes_too_unless_it_needs_them(self, component, grown):
        tree, train, _ = grown
        skip_if(component.needs_validation, "needs validation rows; a run without them is refused")
        assert component.prune(tree, train, None).n_nodes <= tree.n_nodes

    def test_the_values_it_chooses_prune_as_it_does(self, component, grown):
        tree, train, valid = grown
        skip_if(not (component.needs_validation and hasattr(component, "choose")), "it chooses no values of its own")
        chosen = component.choose(tree, valid)
        assert all(key.startswith("pruner.") for key in chosen.kept)
        told = attrs.evolve(component, **{key.removeprefix("pruner."): value for key, value in chosen.kept.items()})
        assert not told.needs_validation, "with the chosen values it needs no validation rows"
        assert told.prune(tree, train, None) == component.prune(tree, train, valid)

    def test_it_says_whether_it_reads_the_trees_impurity(self, component, grown):
        tree, train, valid = grown
        skip_if(getattr(component, "reads_impurity", False), "it reads it; a run without impurity is refused")
        without = attrs.evolve(tree, impurity=np.full(tree.n_nodes, np.nan))
        assert component.prune(without, train, valid).test.tolist() == component.prune(tree, train, valid).test.tolist()
