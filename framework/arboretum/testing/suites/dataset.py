"""Conformance of data sets: where does the table come from?"""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.api import Capability, ColumnKind, Task
from arboretum.testing.suites.base import ComponentSuite, claims, skip_if


class DatasetSuite(ComponentSuite):
    """A table of equal-length columns with known kinds, a target worth learning, and the same content every time."""

    kind = "dataset"

    @pytest.fixture
    def table(self, component):
        """What the component loads with seed 0.  Override to load once for a slow source."""
        return component.load(0)

    def test_it_loads_rows_and_columns(self, table):
        assert table.n_rows > 1
        assert table.columns, "a table without an attribute cannot be learnt from"
        assert table.name and all(column.name for column in table.columns)

    def test_every_column_has_one_value_per_row_and_a_name_of_its_own(self, table):
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names)
        assert [c.name for c in table.columns if len(c.values) != table.n_rows] == []
        assert table.target.name not in names

    def test_numbers_are_finite_or_missing_and_codes_point_at_their_categories(self, table):
        for column in table.columns:
            if column.kind is ColumnKind.continuous:
                assert column.values.dtype in (np.float32, np.float64)
                assert not np.isinf(column.values).any(), column.name
                assert column.categories == ()
            else:
                assert column.values.dtype == np.int32
                assert column.values.min() >= -1 and column.values.max() < len(column.categories), column.name
                assert len(set(column.categories)) == len(column.categories)
                assert all(isinstance(category, str) for category in column.categories)

    def test_the_target_has_a_value_in_every_row_and_more_than_one(self, table):
        target = table.target
        if target.task is Task.classification:
            assert target.codes.dtype == np.int32
            assert target.codes.min() >= 0 and target.codes.max() < len(target.classes)
            assert len(np.unique(target.codes)) > 1
            assert len(set(target.classes)) == len(target.classes)
        else:
            assert np.isfinite(target.values).all() and len(np.unique(target.values)) > 1

    def test_weights_are_positive(self, table):
        skip_if(table.weights is None, "the rows have no weights")
        assert table.weights.shape == (table.n_rows,) and (table.weights > 0).all()

    def test_the_same_seed_loads_the_same_content(self, component, table):
        again = component.load(0)
        assert again.sha256() == table.sha256()
        assert [c.name for c in again.columns] == [c.name for c in table.columns]

    def test_the_seed_matters_only_where_that_is_declared(self, component, table):
        sums = {component.load(seed).sha256() for seed in (1, 2)} | {table.sha256()}
        if claims(component, Capability.randomised):
            assert len(sums) > 1, "declared randomised, but three seeds gave one content"
        else:
            assert len(sums) == 1, "depends on the seed: declare the capability 'randomised'"
