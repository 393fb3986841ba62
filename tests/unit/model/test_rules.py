"""Every test answers twice, for many rows and for one; both answers are the same, and both read
aloud.
"""

from __future__ import annotations

import numpy as np
import pytest
from drawn_trees import columns, row_of, rows_like, rules, tables
from hypothesis import given, strategies as st

from arboretum.errors import DataError
from arboretum.model.rules import (
    Bins,
    Equals,
    Interval,
    OrdinalThreshold,
    TestRule,
    Threshold,
    Values,
    spell,
)


@given(st.data())
def test_many_rows_answer_as_one_row_does(data):
    table = data.draw(tables(max_columns=2))
    rows, rule = (
        data.draw(rows_like(table)),
        data.draw(rules(data.draw(st.sampled_from(table.columns)))),
    )
    picked = np.array(data.draw(st.lists(st.integers(0, rows.n_rows - 1), max_size=5)), np.int64)
    found = rule.outcomes(rows, picked)
    assert found.dtype == np.int32
    assert found.tolist() == [rule.outcome_of(row_of(rows, r)) for r in picked]
    assert ((found >= -1) & (found < rule.arity)).all()


@given(st.data())
def test_every_rule_survives_json(data):
    rule = data.draw(rules(data.draw(columns("x", 3))))
    assert TestRule.from_json(rule.to_json()) == rule


@given(st.data())
def test_outcomes_read_differently(data):
    rule = data.draw(rules(data.draw(columns("x", 3))))
    labels = [rule.outcome_label(k) for k in range(rule.arity)]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("rule", "sentence", "labels"),
    [
        (Threshold("age", 26.5), "age ≤ 26.5", ["≤ 26.5", "> 26.5"]),
        (OrdinalThreshold("size", ("s", "m", "l"), 1), "size ≤ m", ["≤ m", "> m"]),
        (Equals("odor", "almond"), "odor = almond", ["= almond", "≠ almond"]),
        (Equals("odor", None), "odor = missing", ["= missing", "≠ missing"]),
        (Values("sky", ("sun", "rain"), True), "sky", ["= sun", "= rain", "= missing"]),
        (Bins("t", (1, 2.5), True), "t", ["≤ 1", "in (1, 2.5]", "> 2.5", "= missing"]),
        (Interval("t", 1, 2), "t in (1, 2]", ["in (1, 2]", "not in (1, 2]"]),
        (Interval("t", None, 2), "t ≤ 2", ["≤ 2", "> 2"]),
        (Interval("t", 1, None), "t > 1", ["> 1", "≤ 1"]),
    ],
)
def test_tests_read_aloud(rule, sentence, labels):
    assert rule.describe() == sentence
    assert [rule.outcome_label(k) for k in range(rule.arity)] == labels


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (0.1, "0.1"),
        (1234567.5, "1234567.5"),
        (2e6, "2000000"),
        (1e20, "1e+20"),
        (1 / 3, "0.333333"),
    ],
)
def test_numbers_are_spelled_for_readers(value, text):
    assert spell(value) == text


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_test_against_no_number_is_refused(value):
    with pytest.raises(DataError, match=r"Threshold\.threshold must be finite"):
        Threshold("age", value)
    with pytest.raises(DataError, match=r"Bins\.edges"):
        Bins("age", (1.0, value))


def test_an_unknown_type_of_test_names_the_closest():
    with pytest.raises(DataError, match="did you mean 'threshold'"):
        TestRule.from_json({"type": "thresold", "column": "age", "threshold": 3})


def test_a_threshold_with_an_outcome_for_missing_values_shows_the_same_number():
    third = Threshold("x", 1 / 3, digits=9)
    assert third.outcome_label(0) == third.with_missing().outcome_label(0)
