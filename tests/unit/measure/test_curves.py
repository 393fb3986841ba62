"""Curves of one class against the rest: against scikit-learn's on weighted rows with ties, and
against brute force where it has none.
"""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.calibration
import sklearn.metrics
from drawn_trees import WEIGHTS, rows_like, tables, trees
from hypothesis import given, strategies as st
from scipy.integrate import quad

from arboretum.errors import DataError
from arboretum.measure import evaluate, metrics
from arboretum.measure.curves import Calibration, Curve, Evaluation
from arboretum.measure.evaluate import pareto_front
from arboretum.model.table import Task
from arboretum.model.tree import single_leaf


@st.composite
def scored(draw):
    """Scores with ties, which rows are positive (some, not all), weights."""
    n = draw(st.integers(2, 14))
    score = np.array(
        draw(st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 1.0]), min_size=n, max_size=n))
    )
    positive = np.array(
        draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda one: len(set(one)) == 2))
    )
    return (
        score,
        positive,
        np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n))),
    )


@given(scored(), st.floats(0.01, 1.0))
def test_points_and_areas_are_scikit_learns(case, most):
    score, positive, weight = case
    curve = Curve.of(*case)
    fpr, tpr, threshold = sklearn.metrics.roc_curve(
        positive, score, sample_weight=weight, drop_intermediate=False
    )
    assert curve.threshold.tolist() == threshold.tolist()
    assert curve.fpr == pytest.approx(fpr) and curve.recall == pytest.approx(tpr)
    precision, recall, _ = sklearn.metrics.precision_recall_curve(
        positive, score, sample_weight=weight
    )
    assert curve.precision[::-1] == pytest.approx(precision) and curve.recall[
        ::-1
    ] == pytest.approx(recall)
    assert curve.average_precision == pytest.approx(
        sklearn.metrics.average_precision_score(positive, score, sample_weight=weight)
    )
    area = sklearn.metrics.roc_auc_score(positive, score, sample_weight=weight)
    assert [
        curve.roc_auc,
        curve.partial_auc(1.0),
        curve.partial_auc(1.0, standardised=False),
    ] == pytest.approx([area] * 3)
    part = sklearn.metrics.roc_auc_score(positive, score, sample_weight=weight, max_fpr=most)
    assert curve.partial_auc(most) == pytest.approx(part)


def test_a_partial_area_by_hand():
    curve = Curve.of(
        np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, False, True, False]), np.ones(4)
    )
    # half the recall, over a quarter
    assert curve.partial_auc(0.25, standardised=False) == pytest.approx(0.125)
    assert curve.partial_auc(0.25) == pytest.approx((1 + (0.125 - 0.03125) / (0.25 - 0.03125)) / 2)
    with pytest.raises(DataError, match="above 0 and at most 1; got 0"):
        curve.partial_auc(0.0)
    with pytest.raises(DataError, match="all are of one side"):
        Curve.of(np.array([0.1, 0.2]), np.array([True, True]), np.ones(2))


@given(scored())
def test_between_two_thresholds_precision_runs_as_davis_and_goadrich_say(case):
    curve = Curve.of(*case)
    whole = 0.0
    for i in range(len(curve.hit) - 1):
        (h0, h1), (f0, f1) = curve.hit[i : i + 2], curve.false[i : i + 2]
        if h1 > h0:  # TP / (TP + FP), FP growing in proportion to TP
            whole += quad(
                lambda h, h0=h0, h1=h1, f0=f0, f1=f1: (
                    h / (h + f0 + (f1 - f0) / (h1 - h0) * (h - h0))
                ),
                max(h0, 1e-12),
                h1,
            )[0]
    assert curve.pr_auc == pytest.approx(whole / curve.hit[-1], abs=1e-8)
    recall, precision = curve.pr_line()
    assert np.trapezoid(precision, recall) == pytest.approx(curve.pr_auc, abs=0.02)
    for r, p in zip(curve.recall[1:], curve.precision[1:], strict=True):
        assert np.isclose(recall, r) @ np.isclose(precision, p) > 0  # it meets every point


def test_the_example_of_davis_and_goadrich():
    # 20 positives, 2000 negatives; A takes 5 and 5, B takes 10 and 30: between them 6, 7, 8, 9 hits
    # with 10, 15, 20, 25 false ones
    score = np.repeat([3.0, 2.0, 1.0], [10, 30, 1980])
    positive = np.concatenate([np.arange(10) < 5, np.arange(30) < 5, np.arange(1980) < 10])
    curve = Curve.of(score, positive, np.ones(2020))
    recall, precision = curve.pr_line()
    for hits, false in ((5, 5), (6, 10), (7, 15), (8, 20), (9, 25), (10, 30)):
        assert np.interp(hits / 20, recall, precision) == pytest.approx(
            hits / (hits + false), abs=2e-3
        )


@given(scored())
def test_the_hull_lies_above_all_points_and_its_corners_are_among_them(case):
    curve = Curve.of(*case)
    hull = curve.hull
    assert (np.interp(curve.fpr, hull.fpr, hull.recall) >= curve.recall - 1e-9)[curve.fpr > 0].all()
    steps = np.column_stack([np.diff(hull.false), np.diff(hull.hit)])
    turns = steps[:-1, 0] * steps[1:, 1] - steps[:-1, 1] * steps[1:, 0]
    assert (turns < 0).all() and set(hull.threshold) <= set(curve.threshold)
    assert (
        hull.roc_auc >= curve.roc_auc - 1e-12
        and hull.hull.threshold.tolist() == hull.threshold.tolist()
    )


@given(scored())
def test_pareto_efficient_thresholds_by_brute_force(case):
    curve = Curve.of(*case)

    def efficient(points):
        beaten = lambda i, j: (
            points[j][0] >= points[i][0] and points[j][1] >= points[i][1] and points[j] != points[i]
        )
        return {i for i in points if not any(beaten(i, j) for j in points)}

    roc = {i: (-curve.fpr[i], curve.recall[i]) for i in range(len(curve.hit))}
    pr = {i: (curve.recall[i], curve.precision[i]) for i in range(1, len(curve.hit))}
    assert set(curve.roc_front.tolist()) == efficient(roc) and set(
        curve.pr_front.tolist()
    ) == efficient(pr)
    assert set(np.searchsorted(-curve.threshold, -curve.hull.threshold)) <= set(
        curve.roc_front.tolist()
    ) | {0, len(curve.hit) - 1}


@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, np.inf, -np.inf, np.nan])] * 3), max_size=8
    ),
    st.integers(1, 3),
    st.booleans(),
)
def test_fronts_of_any_dimension_by_brute_force(points, dimensions, up):
    points = np.array(points).reshape(-1, 3)[:, :dimensions]
    toward = points if up else -points
    expected = [
        i
        for i, one in enumerate(toward)
        if not np.isnan(one).any()
        and not any((other >= one).all() and (other > one).any() for other in toward)
    ]
    found = pareto_front(points, (up,) * dimensions)
    assert sorted(found.tolist()) == expected and (first := points[found, 0].tolist()) == sorted(
        first
    )


@given(scored(), st.integers(1, 12))
def test_calibration_is_scikit_learns_where_rows_weigh_alike_and_copies_otherwise(case, bins):
    score, positive, weight = case
    seen, said = sklearn.calibration.calibration_curve(positive, score, n_bins=bins)
    found = Calibration.of(score, positive, np.full(len(score), 2.0), bins)
    assert found.seen == pytest.approx(seen) and found.said == pytest.approx(said)
    copies = np.repeat(np.arange(len(score)), times := np.ceil(weight).astype(int))
    found = Calibration.of(score, positive, times / 2, bins)
    seen, said = sklearn.calibration.calibration_curve(positive[copies], score[copies], n_bins=bins)
    assert found.seen == pytest.approx(seen) and found.said == pytest.approx(said)


def test_the_expected_calibration_error_by_hand():
    found = Calibration.of(
        np.array([0.1, 0.1, 0.9, 0.8]),
        np.array([False, True, True, True]),
        np.array([1.0, 1, 1, 3]),
        bins=2,
    )
    assert found.said == pytest.approx([0.1, 0.825]) and found.seen == pytest.approx([0.5, 1.0])
    assert found.error == pytest.approx((2 * 0.4 + 4 * 0.175) / 6)


@st.composite
def answers(draw):
    """True and predicted classes, shares of them, weights."""
    n_classes, n = draw(st.integers(2, 4)), draw(st.integers(1, 12))
    classes = st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)
    weights = np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n)))
    return np.array(draw(classes)), np.array(draw(classes)), weights, n_classes


@given(answers(), st.sampled_from([0.5, 1.0, 2.0]))
def test_rates_per_class_and_averaged_are_scikit_learns(case, beta):
    codes, predicted, weights, n_classes = case
    table = metrics.confusion(codes, predicted, weights, n_classes)
    assert table == pytest.approx(
        sklearn.metrics.confusion_matrix(
            codes, predicted, labels=range(n_classes), sample_weight=weights
        )
    )
    told = {"sample_weight": weights, "zero_division": 0, "beta": beta}
    expected = sklearn.metrics.precision_recall_fscore_support(
        codes, predicted, labels=range(n_classes), **told
    )
    found = metrics.rates(table, beta=beta)
    for name, values in zip(("precision", "recall", f"f{beta:g}"), expected, strict=False):
        assert found[name] == pytest.approx(values)
    for c in range(n_classes):  # how well the rest is recalled
        if (codes != c).any():
            rest = sklearn.metrics.recall_score(
                codes != c, predicted != c, sample_weight=weights, zero_division=0
            )
            assert found["specificity"][c] == pytest.approx(rest)
    for how in ("macro", "micro", "weighted"):
        expected = sklearn.metrics.precision_recall_fscore_support(
            codes, predicted, average=how, **told
        )[:3]
        found = metrics.rates(table, how, beta)
        assert [found[name] for name in ("precision", "recall", f"f{beta:g}")] == pytest.approx(
            expected
        )


@given(answers(), st.data())
def test_the_brier_score_is_scikit_learns(case, data):
    codes, _, weights, n_classes = case
    cells = st.lists(
        st.sampled_from([0.0, 1.0, 2.0]), min_size=n_classes, max_size=n_classes
    ).filter(any)
    proba = np.array([data.draw(cells) for _ in codes])
    proba /= proba.sum(axis=1, keepdims=True)
    expected = sklearn.metrics.brier_score_loss(
        codes, proba, sample_weight=weights, labels=list(range(n_classes))
    )
    assert metrics.brier(codes, proba, weights) == pytest.approx(expected)


@given(st.data())
def test_what_a_tree_says_of_rows_is_judged_as_its_metrics_say(data):
    table = data.draw(tables(task=Task.classification))
    tree, rows = data.draw(trees(table)), data.draw(rows_like(table))
    evaluation, found = Evaluation.of(tree, rows), evaluate(tree, rows)
    listed = {row["class"]: row for row in evaluation.rows()}
    for name in ("precision", "recall", "f1"):
        assert listed["(macro average)"][name] == found[name]
    if evaluation.curves:
        area = listed["(macro average)"]["roc_auc"]
        assert area == pytest.approx(found["roc_auc"])
    assert {point["class"] for point in evaluation.points()} == set(evaluation.curves)
    assert set(evaluation.charts("t")) == {"roc", "pr", "calibration"}


def test_numbers_have_no_curves():
    from arboretum.model.table import Column, ColumnKind, Table, Target

    rows = Table(
        "t",
        (Column("x", ColumnKind.continuous, np.arange(3.0)),),
        Target("y", Task.regression, values=np.arange(3.0)),
    )
    with pytest.raises(DataError, match="predicts the numbers of 'y'"):
        Evaluation.of(single_leaf(rows), rows)
