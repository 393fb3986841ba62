"""Conformance of what is done with grown trees: pruners, tuners, exports."""

from functools import cache

import attrs
import numpy as np
import pytest

from arboretum.api import (
    Capability,
    Selection,
    Solution,
    Status,
    Table,
    Tree,
    ValidationScore,
)
from arboretum.engine.verify import check_prices, check_tree
from arboretum.errors import CapabilityError, sure
from arboretum.model.plain import Facts
from arboretum.model.walk import sum_subtrees
from arboretum.testing.oracles import slow_tree
from arboretum.testing.suites.base import ComponentSuite, claims, copies_of, kind_of_table, skip_if
from arboretum.testing.tables import SEEDS, TreeParts, prices_of, toy_objects, toy_table


class PrunerSuite(ComponentSuite):
    """A tree that is no larger, over the same training rows; the given one stays as it was."""

    kind = "pruner"

    @staticmethod
    def grown(component) -> list[tuple[Tree, Table, Table]]:
        """(tree, training rows, validation rows)."""
        return grown_once(kind_of_table(component))

    def test_the_pruned_tree_is_no_larger_and_holds_at_every_node_the_rows_that_come_to_it(
        self, component
    ):
        for tree, train, valid in self.grown(component):
            pruned = component.prune(tree, train, valid)
            assert pruned.n_nodes <= tree.n_nodes and pruned.n_leaves <= tree.n_leaves
            assert pruned.depth_of.max() <= tree.depth_of.max()
            assert pruned.counts[0] == train.n_rows and np.allclose(
                pruned.weights[0], tree.weights[0], rtol=1e-12
            )
            counts = sum_subtrees(
                np.bincount(pruned.apply(train), minlength=pruned.n_nodes), pruned
            )
            assert counts.tolist() == pruned.counts.tolist()

    def test_the_pruned_tree_asks_tests_of_the_given_one_and_is_what_verification_recomputes(
        self, component
    ):
        """Weights, labels (or numbers) and prices at every node are those of the rows that come
        to it.
        """
        for tree, train, valid in self.grown(component):
            pruned, objects = component.prune(tree, train, valid), toy_objects(train)
            assert set(pruned.rules) <= set(tree.rules), (
                "it asks a test that the given tree does not"
            )
            check_tree(pruned, objects, train)
            check_prices(pruned, objects, prices_of(objects))
            if train.is_regression:
                mean = [float(weights[1] / weights[0]) for weights in pruned.weights]
                assert pruned.value == pytest.approx(mean), "a leaf predicts the mean of its rows"

    def test_weight_two_is_two_copies(self, component):
        skip_if(not claims(component, Capability.weights), "knows objects of weight 1 alone")
        for seed in SEEDS:
            tables = copies_of(toy_table(seed, n_rows=40, kind=kind_of_table(component)))
            pruned = []
            for table, n in zip(tables, (28, 42), strict=True):
                train, valid = table.take(np.arange(n)), table.take(np.arange(n, table.n_rows))
                pruned.append(component.prune(slow_tree(toy_objects(train)), train, valid))
            assert [one.describe() for one in pruned[0].rules] == [
                one.describe() for one in pruned[1].rules
            ]
            assert pruned[0].test.tolist() == pruned[1].test.tolist(), (
                "a row of weight 2 is not two rows of weight 1"
            )

    def test_it_leaves_the_given_tree_alone_and_answers_the_same_twice(self, component):
        for tree, *rows in self.grown(component):
            before = tree.to_json()
            once, twice = component.prune(tree, *rows), component.prune(tree, *rows)
            assert tree.to_json() == before
            assert once.to_json() == twice.to_json()
            assert component.prune(tree.cut([0]), *rows).n_nodes == 1, "a leaf stays a leaf"

    def test_it_says_whether_it_needs_validation_rows_and_its_choice_prunes_as_it_does(
        self, component
    ):
        assert isinstance(component.needs_validation, bool)
        for tree, train, valid in self.grown(component):
            if not component.needs_validation:
                assert component.prune(tree, train, None).n_nodes <= tree.n_nodes
            elif hasattr(component, "choose"):
                chosen = component.choose(tree, valid)
                assert all(key.startswith("pruner.") for key in chosen.kept)
                reported = attrs.evolve(
                    component,
                    **{key.removeprefix("pruner."): value for key, value in chosen.kept.items()},
                )
                assert not reported.needs_validation, (
                    "with the chosen values it needs no validation rows"
                )
                assert reported.prune(tree, train, None) == component.prune(tree, train, valid)

    def test_it_says_whether_it_reads_the_trees_impurity(self, component):
        skip_if(
            getattr(component, "reads_impurity", False),
            "it reads it; a run without impurity is refused",
        )
        for tree, *rows in self.grown(component):
            without = attrs.evolve(tree, impurity=np.full(tree.n_nodes, np.nan))
            assert (
                component.prune(without, *rows).test.tolist()
                == component.prune(tree, *rows).test.tolist()
            )


@cache
def grown_once(kind: TreeParts) -> list[tuple[Tree, Table, Table]]:
    """Trees to prune, with their training and validation rows: of that kind, always the same."""
    found = []
    for seed in SEEDS:
        table = toy_table(seed, n_rows=40, kind=kind)
        train, valid = table.take(np.arange(0, 28)), table.take(np.arange(28, 40))
        found.append((slow_tree(toy_objects(train)), train, valid))
    return found


class Workshop:
    """Stands in for the engine: a number among the values asked for decides how deep the tree
    grows.
    """

    def __init__(self, seed: int) -> None:
        table = toy_table(seed, n_rows=40)
        self.valid = table.take(np.arange(24, 40))
        self.objects = toy_objects(table.take(np.arange(24)))
        self.asked: list[tuple[Facts, Solution]] = []
        self.grown_on: list[tuple[Facts, np.ndarray]] = []

    def fit(self, values: Facts) -> Solution:
        """Return a tree whose depth depends on the values, and remember what was asked."""
        depth = self._depth_of(values)
        solution = Solution(slow_tree(self.objects, max_depth=depth), 0.0, 0.0, Status.feasible)
        self.asked.append((dict(values), solution))
        return solution

    @staticmethod
    def _depth_of(values: Facts) -> int:
        numbers = [float(v) for v in values.values() if isinstance(v, int | float)]
        return int(abs(sum(numbers)) * 7) % 5

    def grow(self, values: Facts, who: np.ndarray) -> Tree:
        """Return such a tree of some of the objects (int64[k]), and remember who they were."""
        self.grown_on.append((dict(values), np.array(who)))
        return slow_tree(self.objects.take(who), max_depth=self._depth_of(values))

    def score(self, measure: str) -> ValidationScore:
        return ValidationScore(self.valid, measure) if measure else ValidationScore.on(self.valid)


class TunerSuite(ComponentSuite):
    """It keeps a value it has tried, with the tree that came of it, tells what it tried if
    anything, and tries the same again.
    """

    kind = "tuner"

    @staticmethod
    def tuned(component, seed: int) -> tuple[Workshop, Selection, Solution]:
        workshop = Workshop(seed)
        kept, solution = component.tune(workshop.fit, workshop.valid)
        return workshop, Selection.of(kept), solution

    def test_it_keeps_one_of_the_values_it_tried_and_tries_the_same_again(self, component):
        for seed in SEEDS:
            workshop, selection, solution = self.tuned(component, seed)
            assert any(
                selection.kept == asked and solution.tree is given.tree
                for asked, given in workshop.asked
            )
            again, repeated, _ = self.tuned(component, seed)
            assert repeated.kept == selection.kept
            assert [values for values, _ in again.asked] == [values for values, _ in workshop.asked]

    def test_it_keeps_the_best_tree_on_the_validation_rows_up_to_the_slack_it_states(
        self, component
    ):
        """By the measure it states, by default the one that fits the rows; the slack is that of
        scores of at most 1.
        """
        for seed in SEEDS:
            workshop, _, kept = self.tuned(component, seed)
            score = workshop.score(getattr(component, "measure", ""))
            best = max(score.of(sure(solution.tree)) for _, solution in workshop.asked)
            found = score.of(sure(kept.tree))
            rounding = 4 * np.finfo(float).eps * max(1.0, abs(best))
            assert found >= best - getattr(component, "slack", 0.0) - rounding

    def test_what_it_tells_of_its_trials_is_what_it_tried(self, component):
        for seed in SEEDS:
            workshop, selection, _ = self.tuned(component, seed)
            skip_if(not selection.tried, "it returns the kept values alone, and tells no trials")
            assert [dict(values) for values, _ in selection.tried] == [
                values for values, _ in workshop.asked
            ]
            score = workshop.score(selection.measure)
            for (_, reported), (_, solution) in zip(selection.tried, workshop.asked, strict=True):
                assert reported == pytest.approx(score.of(sure(solution.tree)))

    def test_a_value_that_the_budget_left_without_a_tree_is_kept_only_where_no_other_has_one(
        self, component
    ):
        workshop = Workshop(0)

        def fit(values: Facts) -> Solution:
            solution = workshop.fit(values)
            return (
                solution
                if len(workshop.asked) == 1
                else attrs.evolve(solution, tree=None, finished=False)
            )

        kept, solution = component.tune(fit, workshop.valid)
        assert (
            solution.tree is workshop.asked[0][1].tree
            and Selection.of(kept).kept == workshop.asked[0][0]
        )

    def test_without_validation_rows_it_judges_on_objects_its_trees_have_not_seen(self, component):
        """It keeps a value that it grew trees with, with the tree of all objects, the best of what
        it tells up to its slack, and does the same again.
        """
        assert isinstance(getattr(component, "needs_validation", True), bool)
        skip_if(getattr(component, "needs_validation", True), "it judges on validation rows")
        for seed in SEEDS:
            workshop, again = Workshop(seed), Workshop(seed)
            kept, solution = component.tune_by_growing(
                workshop.fit, workshop.grow, workshop.objects, seed
            )
            chosen = Selection.of(kept)
            assert any(
                chosen.kept == asked and solution.tree is given.tree
                for asked, given in workshop.asked
            )
            known = [values for values, _ in workshop.grown_on]
            assert chosen.kept in known, "it keeps a value that it has not judged"
            for _, who in workshop.grown_on:
                assert 0 < len(set(who.tolist())) == len(who) < workshop.objects.n_objects
                assert who.min() >= 0 and who.max() < workshop.objects.n_objects
            if chosen.tried:
                scores = {str(dict(values)): score for values, score in chosen.tried}
                best = max(scores.values()) - getattr(component, "slack", 0.0)
                assert scores[str(dict(chosen.kept))] >= best - 1e-12
                assert len(chosen.standard_errors) in (0, len(chosen.tried))
            repeated, _ = component.tune_by_growing(again.fit, again.grow, again.objects, seed)
            assert Selection.of(repeated).kept == chosen.kept
            assert [who.tolist() for _, who in again.grown_on] == [
                who.tolist() for _, who in workshop.grown_on
            ]


class ExportSuite(ComponentSuite):
    """The same text or bytes for the same tree; a form that cannot hold a tree says so."""

    kind = "export"

    def test_a_tree_and_a_leaf_alone_leave_as_text_or_bytes_twice_the_same(self, component):
        assert component.suffix.startswith(".") and len(component.suffix) > 1, (
            "its files have an ending"
        )
        refused = []
        for seed in SEEDS:
            whole = slow_tree(toy_objects(toy_table(seed, kind=kind_of_table(component))))
            for tree in (whole, whole.cut([0])):
                before = tree.to_json()
                try:
                    once = component.write(tree)
                except CapabilityError as error:
                    refused.append(str(error))
                    continue
                assert isinstance(once, str | bytes) and once
                assert component.write(tree) == once
                assert tree.to_json() == before
        skip_if(len(refused) == 2 * len(SEEDS), f"all refused, with a reason: {refused[:1]}")
