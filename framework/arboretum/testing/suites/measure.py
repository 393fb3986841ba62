"""Conformance of measures: how good was a run?"""

import math

import attrs

from arboretum.api import Certificate, Certified
from arboretum.testing.suites.base import ComponentSuite
from arboretum.testing.suites.tracker import sample_record


class MeasureSuite(ComponentSuite):
    """A number, or None, of every record there may be; the same twice, and nothing changed."""

    kind = "measure"

    def test_it_says_what_it_is_and_which_way_is_better(self, component):
        assert isinstance(component.words, str) and component.words.strip()
        assert "\n" not in component.words and isinstance(component.higher_is_better, bool)

    def test_every_record_has_a_number_or_none(self, component):
        names = ("error", "expected_cost", "max_cost", "roc_auc", "mse", "depth")
        metrics = {f"{part}_{name}": 0.25 for part in ("train", "test") for name in names}
        metrics |= {"n_leaves": 5.0, "expected_cost": 2.0, "depth": 3.0}
        one = Certificate(
            {"name": "x"},
            {},
            {name: Certified(3.0, 2.0, 2.5) for name in ("expected_cost", "depth")},
        )
        whole = sample_record(metrics=metrics)
        undefined = dict.fromkeys(metrics, math.nan)
        records = [
            whole,
            attrs.evolve(whole, certificate=one),
            attrs.evolve(whole, metrics={}),
            attrs.evolve(whole, metrics=undefined),
            attrs.evolve(whole, timings={}, data={}),
        ]
        found = []
        for record in records:
            before = record.to_json()
            value = component.of(record)
            assert value is None or (isinstance(value, float | int) and not math.isinf(value))
            assert repr(component.of(record)) == repr(value) and record.to_json() == before
            found.append(value)
        assert any(value is not None for value in found[:2]), "of an ordinary run it has a number"
