"""Conformance of tuners: which parameter value, judged on validation rows?"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from arboretum.api import Selection, Solution, Status, Table, ValidationScore
from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.suites.base import ComponentSuite, skip_if
from arboretum.testing.tables import SEEDS, toy_objects, toy_table


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
        tree = build_tree(self._objects, slow_greedy(self._objects, max_depth=depth))
        solution = Solution(tree, 0.0, 0.0, Status.feasible)
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
