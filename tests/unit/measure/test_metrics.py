"""Measures of predictions against scikit-learn's and against their definitions."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import sklearn.metrics
from drawn_trees import WEIGHTS, rows_like, tables, trees
from hypothesis import assume, given, strategies as st

from arboretum.errors import ConfigError, DataError
from arboretum.measure import DIRECTIONS, better, direction, evaluate, metrics
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import single_leaf


@st.composite
def scored_rows(draw, min_classes=2, max_classes=4):
    """True classes, class shares with many ties, weights."""
    n_classes, n = draw(st.integers(min_classes, max_classes)), draw(st.integers(2, 12))
    codes = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    cells = st.lists(
        st.sampled_from([0.0, 1.0, 1.0, 2.0]), min_size=n_classes, max_size=n_classes
    ).filter(any)
    proba = np.array(draw(st.lists(cells, min_size=n, max_size=n)))
    weights = np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n)))
    return codes, proba / proba.sum(axis=1, keepdims=True), weights


@given(scored_rows())
def test_the_area_is_the_chance_that_a_positive_outscores_a_negative(case):
    codes, proba, weights = case
    areas = []
    for c in [1] if proba.shape[1] == 2 else range(proba.shape[1]):
        won = total = 0.0
        for i in np.flatnonzero(codes == c):
            for j in np.flatnonzero(codes != c):
                pair = weights[i] * weights[j]
                won += pair * ((proba[i, c] > proba[j, c]) + 0.5 * (proba[i, c] == proba[j, c]))
                total += pair
        if total:
            areas.append(won / total)
    found = metrics.roc_auc(codes, proba, weights)
    assert found == pytest.approx(np.mean(areas)) if areas else math.isnan(found)


@given(scored_rows(max_classes=2))
def test_the_binary_area_is_scikit_learns(case):
    codes, proba, weights = case
    assume(len(set(codes)) == 2)
    expected = sklearn.metrics.roc_auc_score(codes, proba[:, 1], sample_weight=weights)
    assert metrics.roc_auc(codes, proba, weights) == pytest.approx(expected)


@given(scored_rows(min_classes=3))
def test_the_multiclass_area_is_scikit_learns_macro_one_versus_rest(case):
    codes, proba, weights = case
    n_classes = proba.shape[1]
    assume(len(set(codes)) == n_classes)
    expected = sklearn.metrics.roc_auc_score(
        codes, proba, sample_weight=weights, multi_class="ovr", labels=list(range(n_classes))
    )
    assert metrics.roc_auc(codes, proba, weights) == pytest.approx(expected)


@given(scored_rows())
def test_shares_of_rows_are_scikit_learns(case):
    codes, proba, weights = case
    predicted = proba.argmax(axis=1)
    score = sklearn.metrics.accuracy_score(codes, predicted, sample_weight=weights)
    assert metrics.accuracy(codes, predicted, weights) == pytest.approx(score)
    assert metrics.error(codes, predicted, weights) == pytest.approx(1 - score)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of predicted classes that no row shows
        balanced = sklearn.metrics.balanced_accuracy_score(codes, predicted, sample_weight=weights)
    assert metrics.balanced_accuracy(codes, predicted, weights) == pytest.approx(balanced)


def test_the_log_loss_of_certain_truth_is_zero_without_a_sign():
    found = metrics.log_loss(np.array([0, 1]), np.eye(2), np.ones(2))
    assert found == 0.0 and not np.signbit(found)


def test_a_class_that_no_training_row_had_has_no_probability():
    codes, proba, weights = np.array([2, 0]), np.array([[1.0, 0.0], [1.0, 0.0]]), np.ones(2)
    assert metrics.brier(codes, proba, weights) == 0.5  # (1² + 0² + 1²)/2, and half of it
    lost = -math.log(np.finfo(float).eps) / 2
    assert metrics.log_loss(codes, proba, weights) == pytest.approx(lost)


@given(scored_rows())
def test_the_log_loss_is_scikit_learns(case):
    codes, proba, weights = case
    labels = list(range(proba.shape[1]))
    expected = sklearn.metrics.log_loss(codes, proba, sample_weight=weights, labels=labels)
    assert metrics.log_loss(codes, proba, weights) == pytest.approx(expected)


numbers = st.lists(
    st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.sampled_from(WEIGHTS)), min_size=2, max_size=9
)


@given(numbers)
def test_regression_measures_are_scikit_learns(rows):
    values, predicted, weights = np.array(rows).T
    for name, other in (("mse", "mean_squared_error"), ("mae", "mean_absolute_error")):
        expected = getattr(sklearn.metrics, other)(values, predicted, sample_weight=weights)
        assert getattr(metrics, name)(values, predicted, weights) == pytest.approx(expected)
    assume(np.ptp(values) > 1e-3)
    expected = sklearn.metrics.r2_score(values, predicted, sample_weight=weights)
    assert metrics.r2(values, predicted, weights) == pytest.approx(expected)


def test_a_constant_target_is_explained_or_not():
    ones = np.ones(3)
    assert metrics.r2(ones, ones, ones) == 1.0
    assert metrics.r2(ones, 2 * ones, ones) == 0.0


@given(st.data())
def test_a_trees_measures_are_those_of_its_predictions(data):
    table = data.draw(tables(task=Task.classification))
    tree, rows = data.draw(trees(table)), data.draw(rows_like(table))
    found = evaluate(tree, rows, "test")
    codes, proba, weights = rows.target.codes, tree.predict_proba(rows), rows.row_weights()
    assert found["test_error"] == pytest.approx(metrics.error(codes, tree.predict(rows), weights))
    assert found["test_accuracy"] == pytest.approx(1 - found["test_error"])
    assert found["test_roc_auc"] == pytest.approx(
        metrics.roc_auc(codes, proba, weights), nan_ok=True
    )
    assert found["test_log_loss"] == pytest.approx(metrics.log_loss(codes, proba, weights))


@given(st.data())
def test_a_regression_trees_measures_are_those_of_its_predictions(data):
    table = data.draw(tables(task=Task.regression))
    tree, rows = data.draw(trees(table)), data.draw(rows_like(table))
    found = evaluate(tree, rows)
    values, predicted, weights = rows.target.values, tree.predict(rows), rows.row_weights()
    for name in ("mse", "mae", "r2"):
        assert found[name] == pytest.approx(getattr(metrics, name)(values, predicted, weights))
    assert "error" not in found


def test_every_measure_has_a_direction():
    column = Column("x", ColumnKind.continuous, np.array([0.0, 1.0]))
    classes = Target("y", Task.classification, np.array([0, 1]), ("a", "b"))
    for target in (classes, Target("y", Task.regression, values=np.ones(2))):
        table = Table("t", (column,), target)
        tree = single_leaf(table)
        for name in evaluate(tree, table, "valid"):
            assert name.removeprefix("valid_") in DIRECTIONS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("valid_error", "lower"),
        ("test_roc_auc", "higher"),
        ("expected_cost", "lower"),
        ("r2", "higher"),
        ("test_expected_cost", "lower"),
        ("n_leaves", "lower"),
        ("lower_bound", "higher"),
    ],
)
def test_the_name_of_a_metric_says_which_way_is_better(name, expected):
    assert direction(name) == expected


def test_an_unknown_metric_names_the_closest():
    with pytest.raises(
        ConfigError, match="unknown metric 'valid_eror'; did you mean 'valid_error'"
    ):
        direction("valid_eror")


def test_better_follows_the_direction_and_any_number_beats_nan():
    assert better("test_error", 0.1, 0.2)
    assert not better("test_error", 0.2, 0.2)
    assert better("test_accuracy", 0.9, 0.8)
    assert better("test_accuracy", 0.1, math.nan)
    assert not better("test_accuracy", math.nan, 0.1)


def test_rows_whose_classes_are_named_otherwise_are_refused():
    column = Column("x", ColumnKind.continuous, np.array([0.0, 1.0]))
    table = Table("t", (column,), Target("y", Task.classification, np.array([0, 1]), ("a", "b")))
    other = Table("t", (column,), Target("y", Task.classification, np.array([0, 1]), ("b", "a")))
    unknown = Table("t", (column,), Target("y", Task.classification, np.array([0, -1]), ("a", "b")))
    for rows in (other, unknown):
        with pytest.raises(DataError, match="do not name their classes"):
            evaluate(single_leaf(table), rows)


def test_an_empty_table_has_no_measures():
    column = Column("x", ColumnKind.continuous, np.array([0.0, 1.0]))
    table = Table("t", (column,), Target("y", Task.classification, np.array([0, 1]), ("a", "b")))
    assert evaluate(single_leaf(table), table.take(np.zeros(0, int)), "test") == {}
