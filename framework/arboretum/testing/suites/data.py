"""Conformance of data sets and splits: where does the table come from, which rows train, which
test?
"""

import socket

import attrs
import numpy as np
import pytest

from arboretum.api import DataError, Division, Table, Task
from arboretum.interfaces.split import Split
from arboretum.testing.suites.base import SeededSuite, skip_if
from arboretum.testing.tables import SEEDS, TreeParts, toy_table


class DatasetSuite(SeededSuite):
    """A table of equal-length columns with known kinds, a target worth learning, and the same
    content every time.
    """

    kind = "dataset"

    @pytest.fixture
    def table(self, component):
        """What the component loads with seed 0.  Override to load once for a slow source."""
        return component.load(0)

    def test_it_loads_rows_and_columns_of_one_value_per_row_and_a_name_of_their_own(self, table):
        names = [table.target.name, *(column.name for column in table.columns)]
        assert table.n_rows > 1 and table.name and all(names) and len(set(names)) == len(names)
        assert table.columns, "a table without an attribute cannot be learnt from"
        assert [c.name for c in table.columns if len(c.values) != table.n_rows] == []
        assert table.weights is None or (
            table.weights.shape == (table.n_rows,) and (table.weights > 0).all()
        )

    def test_numbers_are_finite_or_missing_codes_point_at_their_categories_and_targets_differ(
        self, table
    ):
        for column in table.columns:
            if column.is_continuous:
                assert column.values.dtype in (np.float32, np.float64)
                assert not np.isinf(column.values).any(), column.name
                assert column.categories == ()
            else:
                assert column.values.dtype == np.int32
                assert column.values.min() >= -1 and column.values.max() < len(column.categories), (
                    column.name
                )
                assert len(set(column.categories)) == len(column.categories)
                assert all(isinstance(category, str) for category in column.categories)
        target = table.target
        if target.is_classification:
            assert target.codes.dtype == np.int32
            assert target.codes.min() >= 0 and target.codes.max() < len(target.classes)
            assert len(np.unique(target.codes)) > 1
            assert len(set(target.classes)) == len(target.classes)
        else:
            assert np.isfinite(target.values).all() and len(np.unique(target.values)) > 1

    def test_it_asks_nobody_where_it_says_that_it_is_offline(
        self, component, tmp_path, monkeypatch
    ):
        skip_if(not getattr(component, "offline", False), "does not say so")

        def refused(*_, **__):
            raise OSError("this data set states offline = True, and opens a connection")

        monkeypatch.setattr(socket.socket, "connect", refused)
        monkeypatch.setenv("ARBORETUM_DATA", str(tmp_path))
        component.load(0)

    def answers(self, component, seed):
        table = component.load(seed)
        return table.sha256(), [column.name for column in table.columns]


SIZES = (40, 97)  # rows of the small tables: one that most fractions divide, one that none does


class SplitSuite(SeededSuite):
    """Disjoint, ascending, complete; the same for the same seed; groups stay together."""

    kind = "split"

    def tables(self):
        """Tables of both tasks, without and with groups."""
        for seed in SEEDS:
            for n_rows in SIZES:
                for task in Task:
                    table = toy_table(seed, n_rows=n_rows, kind=TreeParts(task=task))
                    yield table
                    groups = np.random.default_rng(seed).integers(0, n_rows // 3, n_rows)
                    yield attrs.evolve(table, groups=groups.astype(np.int64))

    def test_it_divides_every_table_into_parts_that_hold_every_row_once_and_groups_on_one_side(
        self, component
    ):
        """A table with groups may be refused."""
        for table in self.tables():
            division = divide(component, table)
            assert division is not None or table.groups is not None
            parts = () if division is None else attrs.astuple(division)
            assert all(
                part.dtype == np.int64 and part.ndim == 1 and (np.diff(part) > 0).all()
                for part in parts
            ), "parts ascend"
            if division is not None:
                assert sorted(np.concatenate(parts).tolist()) == list(range(table.n_rows)) and len(
                    division.train
                ), "some rows train"
            if parts and table.groups is not None:
                sides = [np.unique(table.groups[part]) for part in parts]
                assert len(np.unique(np.concatenate(sides))) == sum(map(len, sides))

    def answers(self, component, seed):
        """Return the parts of each table that it divides, as lists of rows."""
        divisions = [divide(component, table, seed) for table in self.tables()]
        return [
            [part.tolist() for part in attrs.astuple(division)]
            for division in divisions
            if division is not None
        ]

    def test_rows_read_in_parts_are_assigned_as_they_are_divided(self, component):
        skip_if(not hasattr(component, "assign_rows"), "divides tables alone")
        for table in (table for table in self.tables() if table.groups is None):
            division = divide(component, table)
            codes = table.target.codes if table.is_classification else None
            subsets = component.assign_rows(codes, table.n_rows, 3)
            assert subsets.dtype == np.uint8 and division is not None
            for code, part in enumerate(attrs.astuple(division)):
                assert np.flatnonzero(subsets == code).tolist() == part.tolist()

    def test_the_folds_test_every_row_once(self, component):
        names = {field.name for field in attrs.fields(type(component))}
        skip_if(not {"fold", "folds"} <= names, "has no folds")
        for table in self.tables():
            folds = [divide(attrs.evolve(component, fold=k), table) for k in range(component.folds)]
            tested = [fold.test for fold in folds if fold is not None]
            assert sorted(np.concatenate(tested).tolist()) == list(range(table.n_rows))

    def test_a_tiny_table_is_divided_or_refused(self, component):
        for n_rows in (1, 2, 3):
            division = divide(component, toy_table(1, n_rows=n_rows))
            assert division is None or len(division.train)


def divide(component: Split, table: Table, seed: int = 3) -> Division | None:
    """The division, or None where the component says in one line that there are too few rows, or
    large groups leave a fold empty.
    """
    try:
        return component.divide(table, seed)
    except DataError as error:
        assert "\n" not in str(error)
        return None
