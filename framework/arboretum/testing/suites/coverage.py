"""Conformance of coverage functions: how close is an object to being identified?"""

import numpy as np

from arboretum.api import lint
from arboretum.engine.axioms_of_coverages import NEAR
from arboretum.testing.suites.base import (
    ComponentSuite,
    assert_promises_hold,
    kind_of_table,
    skip_if,
)
from arboretum.testing.tables import SEEDS, toy_objects, toy_table


class CoverageSuite(ComponentSuite):
    """It satisfies the axioms of its contract (``arboretum lint``), in each of the forms in
    which it is asked.
    """

    kind = "coverage"

    def cases(self, component):
        """(objects, S, T, U): rows S, and two tests' answers T, U ⊆ S that share an object."""
        for seed in SEEDS:
            objects = toy_objects(toy_table(seed, n_rows=16, kind=kind_of_table(component)))
            generator = np.random.default_rng(seed)
            for _ in range(8):
                keep = generator.random((2, objects.n_objects)) < 0.6
                keep[:, generator.integers(objects.n_objects)] = True
                everyone = np.arange(objects.n_objects)
                yield objects, everyone, everyone[keep[0]], everyone[keep[1]]

    def test_it_satisfies_its_axioms(self, component):
        """With them, what it becomes when truncated or joined to others satisfies them, too."""
        assert lint(component).false == []
        assert_promises_hold(component)

    def test_it_answers_with_a_number_per_object_and_bound_to_its_root_with_the_same(
        self, component
    ):
        for objects, *sets in self.cases(component):
            bound = component.prepare(objects) if hasattr(component, "prepare") else component
            for rows in sets:
                found = component.covered(objects, rows)
                assert found.shape == (len(rows),) and found.dtype == np.float64
                assert np.abs(bound.covered(objects, rows) - found).max() <= NEAR

    def test_many_sets_at_once_are_answered_as_each_by_itself(self, component):
        """Where it has ``covered_many``, or what it prepares has."""
        for objects, everyone, some, others in self.cases(component):
            bound = component.prepare(objects) if hasattr(component, "prepare") else component
            forms = [form for form in (component, bound) if hasattr(form, "covered_many")]
            skip_if(not forms, "answers for one set at a time")
            sets = [some, everyone, others[:1], others, some[::-1]]
            each = np.concatenate([component.covered(objects, rows) for rows in sets])
            for form in forms:
                found = form.covered_many(
                    objects, np.concatenate(sets), np.cumsum([0, *map(len, sets)])
                )
                assert found.dtype == np.float64 and found.shape == each.shape
                assert np.abs(found - each).max() <= NEAR
