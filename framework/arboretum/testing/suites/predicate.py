"""Conformance of predicates: which tests may a node use?"""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.api import ColumnKind, Encoded, RawFeature, TestRule
from arboretum.testing.strategies import row_of
from arboretum.testing.suites.base import ComponentSuite, kind_of_table
from arboretum.testing.tables import SEEDS, bare_objects, toy_table


class PredicateSuite(ComponentSuite):
    """Tests that apply to raw rows, read aloud, survive storage, and are the same for the same seed."""

    kind = "predicate"

    @pytest.fixture
    def cases(self, component) -> list[tuple[Encoded, np.ndarray]]:
        """(raw objects, rows of a node)."""
        found = []
        for seed in SEEDS:
            table = toy_table(seed, kind=kind_of_table(component))
            numeric = [(i, c) for i, c in enumerate(table.columns) if c.kind is ColumnKind.continuous]
            raw = np.stack([c.values for _, c in numeric], axis=1)
            objects = bare_objects(table, raw_features=tuple(RawFeature(c.name, i) for i, c in numeric), raw=raw)
            found += [(objects, np.arange(seed % step, table.n_rows, step)) for step in (1, 3)]
        return found

    def test_every_candidate_sends_every_row_to_one_of_its_outcomes(self, component, cases):
        for objects, rows in cases:
            candidates = component.candidates(objects, rows, 0)
            assert len(candidates) > 0
            for rule in candidates:
                assert isinstance(rule, TestRule)
                found = rule.outcomes(objects.table, rows)
                assert ((found >= -1) & (found < rule.arity)).all()
                assert [rule.outcome_of(row_of(objects.table, int(row))) for row in rows] == found.tolist()

    def test_every_candidate_reads_aloud_and_survives_storage(self, component, cases):
        objects, rows = cases[0]
        for rule in component.candidates(objects, rows, 0):
            assert rule.describe() and all(rule.outcome_label(k) for k in range(rule.arity))
            assert TestRule.from_json(rule.to_json()) == rule

    def test_the_same_seed_gives_the_same_candidates(self, component, cases):
        for objects, rows in cases:
            assert list(component.candidates(objects, rows, 3)) == list(component.candidates(objects, rows, 3))
