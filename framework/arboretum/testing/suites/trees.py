"""Conformance of what is done with grown trees: pruners, tuners, exports."""

from typing import Any

import attrs
import numpy as np
import pytest

from arboretum.api import Selection, Solution, Status, Table, ValidationScore
from arboretum.errors import CapabilityError
from arboretum.model.walk import summed
from arboretum.testing.oracles import build_tree, slow_tree
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
        return slow_tree(toy_objects(train)), train, valid

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
        counts = summed(np.bincount(pruned.apply(train), minlength=pruned.n_nodes), pruned)
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


class Workshop:
    """Stands in for the engine: a number among the values asked for decides how deep the tree grows."""

    def __init__(self, seed: int) -> None:
        table = toy_table(seed, n_rows=40)
        self.valid = table.take(np.arange(24, 40))
        self._objects = toy_objects(table.take(np.arange(24)))
        self.asked: list[tuple[dict[str, Any], Solution]] = []

    def fit(self, values: dict[str, Any]) -> Solution:
        numbers = [float(v) for v in values.values() if isinstance(v, int | float)]
        depth = int(abs(sum(numbers)) * 7) % 5
        solution = Solution(slow_tree(self._objects, max_depth=depth), 0.0, 0.0, Status.feasible)
        self.asked.append((dict(values), solution))
        return solution


def score_of(valid: Table, measure: str) -> ValidationScore:
    """The score by the measure that a tuner names, by default the one that fits the rows."""
    return ValidationScore(valid, measure) if measure else ValidationScore.on(valid)


class TunerSuite(ComponentSuite):
    """It keeps a value it has tried, with the tree that came of it, tells what it tried if anything, and tries the same again."""

    kind = "tuner"

    @pytest.fixture(params=SEEDS)
    def workshop(self, request) -> Workshop:
        return Workshop(request.param)

    def test_it_keeps_one_of_the_values_it_tried(self, component, workshop):
        kept, solution = component.tune(workshop.fit, workshop.valid)
        values = Selection.of(kept).kept
        assert any(values == asked and solution.tree is given.tree for asked, given in workshop.asked)

    def test_it_keeps_the_best_tree_on_the_validation_rows_up_to_the_slack_it_states(self, component, workshop):
        """By the measure it states; the slack is that of scores of at most 1."""
        _, kept = component.tune(workshop.fit, workshop.valid)
        score = score_of(workshop.valid, getattr(component, "measure", ""))
        best, found = max(score.of(solution.tree) for _, solution in workshop.asked), score.of(kept.tree)
        rounding = 4 * np.finfo(float).eps * max(1.0, abs(best))
        assert found >= best - getattr(component, "slack", 0.0) - rounding

    def test_what_it_tells_of_its_trials_is_what_it_tried(self, component, workshop):
        kept, _ = component.tune(workshop.fit, workshop.valid)
        selection = Selection.of(kept)
        skip_if(not selection.tried, "it returns the kept values alone, and tells no trials")
        assert [dict(values) for values, _ in selection.tried] == [values for values, _ in workshop.asked]
        score = score_of(workshop.valid, selection.measure)
        for (_, told), (_, solution) in zip(selection.tried, workshop.asked, strict=True):
            assert told == pytest.approx(score.of(solution.tree))

    def test_a_value_that_the_budget_left_without_a_tree_is_kept_only_where_no_other_has_one(self, component, workshop):
        def fit(values: dict[str, Any]) -> Solution:
            solution = workshop.fit(values)
            return solution if len(workshop.asked) == 1 else attrs.evolve(solution, tree=None, finished=False)

        kept, solution = component.tune(fit, workshop.valid)
        assert solution.tree is workshop.asked[0][1].tree and Selection.of(kept).kept == workshop.asked[0][0]

    def test_it_tries_the_same_again(self, component, workshop):
        first = Selection.of(component.tune(workshop.fit, workshop.valid)[0]).kept
        tried = [values for values, _ in workshop.asked]
        workshop.asked.clear()
        assert Selection.of(component.tune(workshop.fit, workshop.valid)[0]).kept == first
        assert [values for values, _ in workshop.asked] == tried


class ExportSuite(ComponentSuite):
    """The same text or bytes for the same tree; a form that cannot hold a tree says so."""

    kind = "export"

    @pytest.fixture(params=SEEDS)
    def grown(self, request, component):
        return slow_tree(toy_objects(toy_table(request.param, kind=kind_of_table(component))))

    def test_its_files_have_an_ending(self, component):
        assert component.suffix.startswith(".") and len(component.suffix) > 1

    def test_a_tree_leaves_as_text_or_bytes_twice_the_same(self, component, grown):
        before = grown.to_json()
        try:
            once = component.write(grown)
        except CapabilityError as error:
            pytest.skip(f"refused, with a reason: {error}")
        assert isinstance(once, str | bytes) and once
        assert component.write(grown) == once
        assert grown.to_json() == before

    def test_a_leaf_alone_leaves_too(self, component, grown):
        try:
            assert component.write(grown.cut([0]))
        except CapabilityError as error:
            pytest.skip(f"refused, with a reason: {error}")
