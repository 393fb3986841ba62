"""Conformance of tuners: which parameter value, judged on validation rows?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arboretum.api import Solution, Status
from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.suites.base import ComponentSuite
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


class TunerSuite(ComponentSuite):
    """It keeps a value it has tried, with the tree that came of it, and tries the same again for the same rows."""

    kind = "tuner"

    @pytest.fixture(params=SEEDS)
    def workshop(self, request) -> Workshop:
        return Workshop(request.param)

    def test_it_keeps_one_of_the_values_it_tried(self, component, workshop):
        values, solution = component.tune(workshop.fit, workshop.valid)
        assert any(values == asked and solution is given for asked, given in workshop.asked)

    def test_it_keeps_no_tree_that_is_worse_than_all_others_on_the_validation_rows(self, component, workshop):
        _, kept = component.tune(workshop.fit, workshop.valid)
        errors = {id(s): float((s.tree.predict(workshop.valid) != workshop.valid.target.codes).mean()) for _, s in workshop.asked}
        assert errors[id(kept)] < max(errors.values()) or len(set(errors.values())) == 1

    def test_it_tries_the_same_again(self, component, workshop):
        first = component.tune(workshop.fit, workshop.valid)[0]
        tried = [values for values, _ in workshop.asked]
        workshop.asked.clear()
        assert component.tune(workshop.fit, workshop.valid)[0] == first
        assert [values for values, _ in workshop.asked] == tried
