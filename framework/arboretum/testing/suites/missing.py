"""Conformance of choices for missing values: what becomes of a row without a value?"""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.api import MISSING_SPLITS, MISSING_STOPS, Parts, Task, TestRule, grow
from arboretum.interfaces.node import BETTER_SIDE
from arboretum.testing.example_components import ToyReduction
from arboretum.testing.suites.base import ComponentSuite, skip_if
from arboretum.testing.suites.growing import verified
from arboretum.testing.tables import SEEDS, ToyGini, ToyVariance, TreeParts, context_of, problem_of, toy_table


class MissingSuite(ComponentSuite):
    """Placements that a tree can hold, trees that verify and predict every row, and no say where no value is missing."""

    kind = "missing"

    @staticmethod
    def known():
        for seed in SEEDS:
            for n in (2, 3, 5):
                yield np.random.default_rng([seed, n]).choice([0.0, 0.5, 1.0, 4.0], n, p=[0.1, 0.3, 0.3, 0.3]) + 0.5

    def test_it_states_how_rows_are_counted(self, component):
        assert isinstance(component.counted, bool) and isinstance(component.discounted, bool)
        assert component.kernel in ("", BETTER_SIDE)
        assert not (component.counted and component.discounted), "a score is of the rows in its table"

    def test_placements_are_outcomes_or_what_a_tree_can_hold(self, component):
        for known in self.known():
            before = known.copy()
            found = list(component.placements(known))
            assert found and all(to in (*range(len(known) + 1), MISSING_STOPS, MISSING_SPLITS) for to in found)
            assert found == list(component.placements(known)) and (known == before).all()
            assert component.counted or len(found) == 1, "rows that are in no table cannot tell two placements apart"

    def test_what_says_it_is_the_kernels_rule_is_that_rule(self, component):
        skip_if(component.kernel != BETTER_SIDE, "it is a rule of its own")
        assert component.counted and not component.discounted and not hasattr(component, "surrogates")
        for known in self.known():
            assert list(component.placements(known)) == ([0, 1] if len(known) == 2 else [int(np.argmax(known))])

    @pytest.mark.parametrize("task", Task)
    @pytest.mark.parametrize("multiway", [True, False])
    def test_trees_grown_by_it_verify_and_place_every_row(self, component, task, multiway):
        for seed in SEEDS:
            table = toy_table(seed, n_rows=40, kind=TreeParts(missing=True, task=task))
            tree = self.grown(component, table, multiway)
            assert tree.n_nodes > 1
            node, row, share = tree.places(table).all()
            assert np.bincount(row, share, table.n_rows) == pytest.approx(np.ones(table.n_rows), rel=1e-12)

    def test_it_has_no_say_where_no_value_is_missing(self, component):
        for seed in SEEDS:
            table = toy_table(seed, n_rows=40)
            own, plain = self.grown(component, table), self.grown(None, table)
            assert own.is_leaf.tolist() == plain.is_leaf.tolist()
            inner = np.flatnonzero(~plain.is_leaf)
            assert [own.rule(v) for v in inner] == [plain.rule(v) for v in inner]
            assert own.score == pytest.approx(plain.score, rel=1e-9, nan_ok=True)

    def test_surrogates_are_tests_that_stand_for_outcomes_of_the_chosen_one(self, component):
        skip_if(not hasattr(component, "surrogates"), "it has no surrogates")
        for seed in SEEDS:
            objects = problem_of(toy_table(seed, n_rows=40, kind=TreeParts(missing=True)), Parts(method=None)).objects
            others = [objects.rule(k) for k in range(int(objects.test_offset[-1]))]
            rule, rows = others[seed % len(others)], np.arange(objects.table.n_rows)
            for other, to in component.surrogates(rule, others, objects, rows, np.ones(len(rows))):
                assert isinstance(other, TestRule) and not other.fuzzy and set(other.columns) != set(rule.columns)
                assert len(to) == other.arity and all(-1 <= k < rule.arity for k in to)

    @staticmethod
    def grown(component, table, multiway: bool = True):
        impurity = ToyGini() if table.task is Task.classification else ToyVariance()
        parts = Parts(method=None, criterion=ToyReduction(), impurity=impurity, missing=component)
        return verified(grow, problem_of(table, parts, multiway=multiway), context_of()).tree
