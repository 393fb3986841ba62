"""Conformance of encoders: how do raw columns become tests?

The central promise: a test read on the raw columns sends every training row where its object's code
sends it.
"""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from arboretum.api import ArboretumError, Encoded, Sketch, Table, Task
from arboretum.interfaces.encoder import Encoder
from arboretum.rows.parts import table_in_parts
from arboretum.testing import strategies
from arboretum.testing.suites.base import ComponentSuite, skip_if
from arboretum.testing.tables import SEEDS, TreeParts, outcomes, row_of, toy_table

DRAWS = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
"""The component is frozen, so that one instance may serve every draw; and a suite is there to be
inherited by several classes.
"""


def encoded(component: Encoder, table: Table, *, raw_thresholds: bool) -> Encoded | None:
    """The encoded rows, or None where the encoder refuses the table in one line."""
    try:
        return component.encode(table, table, raw_thresholds=raw_thresholds, seed=0)
    except ArboretumError as error:
        assert "\n" not in str(error)
        return None


def assert_rules_agree(objects: Encoded) -> None:
    """Every fixed test: outcome by code = outcome of the rule on the raw row, by NumPy and by
    plain Python.
    """
    table = objects.table
    rows = np.arange(table.n_rows)
    for test in range(objects.n_fixed):
        rule = objects.rule(test)
        expected = outcomes(objects, test, objects.object_of_row).tolist()
        assert rule.outcomes(table, rows).tolist() == expected, rule.describe()
        assert [rule.outcome_of(row_of(table, int(row))) for row in rows] == expected, (
            rule.describe()
        )


class EncoderSuite(ComponentSuite):
    """Codes and raw tests agree; weights and rows are kept; every test can be read aloud."""

    kind = "encoder"

    def cases(self, component):
        """Encoded small tables of both tasks, with and without missing values and raw columns."""
        for seed, task, missing, raw in itertools.product(
            SEEDS, Task, (False, True), (False, True)
        ):
            table = toy_table(seed, n_rows=30, kind=TreeParts(missing=missing, task=task))
            found = encoded(component, table, raw_thresholds=raw)
            if found is not None:
                yield found

    @DRAWS
    @given(table=strategies.tables(max_rows=14))
    def test_tests_on_raw_rows_agree_with_codes(self, component, table):
        objects = encoded(component, table, raw_thresholds=False)
        if objects is not None:
            assert_rules_agree(objects)

    def test_where_no_rows_are_needed_a_sketch_of_parts_has_the_same_features_and_codes(
        self, component
    ):
        """A promise of :class:`~arboretum.interfaces.encoder.EncoderInParts`."""
        for seed, task, missing in itertools.product(SEEDS, Task, (False, True)):
            table = toy_table(seed, n_rows=30, kind=TreeParts(missing=missing, task=task))
            needed = getattr(component, "needs_rows", lambda schema: "it does not say")
            known = encoded(component, table, raw_thresholds=False)
            skip_if(why := needed(table.take(np.arange(0))), why)
            if known is None:
                continue
            data = table_in_parts(table, (11, 9))
            sketch = Sketch.of(data.schema, 255)
            for part in data.parts:
                own = Sketch.of(data.schema, 255)
                own.add(part.load())
                sketch.merge(own)
            assert sketch.encode(component, 0).features == known.features
            for f, feature in enumerate(known.features):
                codes = feature.codes(table.column(feature.column))
                assert codes.tolist() == known.codes[:, f].tolist(), feature.column

    @DRAWS
    @given(table=strategies.tables(max_rows=14))
    def test_raw_columns_hold_the_values_of_the_table(self, component, table):
        objects = encoded(component, table, raw_thresholds=True)
        if objects is None:
            return
        rows = np.arange(objects.table.n_rows)
        for index, feature in enumerate(objects.raw_features):
            column = objects.table.columns[feature.position]
            values = objects.raw[:, index][objects.object_of_row]
            assert np.isnan(values).tolist() == column.missing.tolist()
            expected = np.where(column.missing, np.nan, column.values).astype(np.float64)
            assert np.array_equal(values.astype(np.float64), expected, equal_nan=True)
            for threshold in np.unique(values[~np.isnan(values)])[:3].astype(np.float64):
                wanted = np.where(np.isnan(values), -1, values.astype(np.float64) > threshold)
                assert (
                    feature.rule(float(threshold)).outcomes(objects.table, rows).tolist()
                    == wanted.tolist()
                )

    def test_codes_stay_below_their_bins_tests_read_aloud_and_objects_stand_for_rows(
        self, component
    ):
        for objects in self.cases(component):
            assert objects.codes.dtype in (np.uint8, np.uint16, np.uint32)
            assert objects.codes.shape == (objects.n_objects, len(objects.features))
            for feature, codes in zip(objects.features, objects.codes.T, strict=True):
                assert feature.n_tests >= 1
                assert int(codes.max()) <= feature.n_bins - 1 + feature.has_missing, feature.column
            for feature in objects.all_features:
                assert objects.table.columns[feature.position].name == feature.column
            for test in range(objects.n_fixed):
                rule = objects.rule(test)
                labels = [rule.outcome_label(k) for k in range(rule.arity)]
                assert all(labels) and len(set(labels)) == len(labels), labels
                assert rule.describe().startswith(rule.columns[0])
            table, member = objects.table, objects.object_of_row
            weight = table.row_weights()
            assert member.shape == (table.n_rows,) and (objects.weight > 0).all()
            assert (
                np.bincount(member, minlength=objects.n_objects).tolist() == objects.count.tolist()
            )
            total = np.bincount(member, weight, objects.n_objects)
            as_one = hasattr(component, "coalesce") and (objects.weight == 1).all()
            assert as_one or np.allclose(objects.weight, total, rtol=1e-12), (
                "an object weighs what its rows weigh"
            )
            for index in range(objects.n_objects):
                rows = np.flatnonzero(member == index)
                if table.is_classification:
                    assert (
                        objects.label[index]
                        == np.bincount(table.target.codes[rows], weight[rows]).argmax()
                    )
                else:
                    mean = np.average(table.target.values[rows], weights=weight[rows])
                    assert objects.y[index] == pytest.approx(mean, rel=1e-12, abs=1e-12)

    def test_an_ordinary_table_is_encoded_and_the_same_way_twice(self, component):
        table = toy_table(0, n_rows=30, kind=TreeParts(missing=False))
        first, second = (
            component.encode(table, table, raw_thresholds=False, seed=0) for _ in range(2)
        )
        assert first.features == second.features
        assert np.array_equal(first.codes, second.codes)
        assert np.array_equal(first.raw, second.raw, equal_nan=True)

    def test_a_table_without_a_usable_column_is_refused_in_one_line(self, component):
        table = toy_table(0, n_rows=30)
        constant = table.take(np.zeros(5, np.int64))
        with pytest.raises(ArboretumError, match=r"^[^\n]+$"):
            component.encode(constant, constant, raw_thresholds=False, seed=0)
