"""Runs become scores."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arboretum.api import ConfigError, DataError, Record
from arboretum.measure.comparison import scores_of


def run(method: str, dataset: str, seed: int, **metrics: float) -> Record:
    return Record(
        config={"choices": {"method": method}},
        seed=seed,
        versions={},
        data={"name": dataset},
        timings={"fit": 0.5 * seed},
        metrics=metrics,
        solution=None,
        verified=True,
        tree=None,
    )


RUNS = [
    run("cart", "iris", 1, test_error=0.1, test_roc_auc=0.9),
    run("cart", "iris", 3, test_error=0.3, test_roc_auc=math.nan),
    run("id3", "iris", 1, test_error=0.2),
    run("cart", "wine", 1, test_error=0.0, test_roc_auc=0.8),
]


def test_the_mean_over_the_runs_of_a_method_on_a_data_set_is_its_score():
    scores = scores_of(RUNS, "test_error")
    assert (scores.methods, scores.datasets) == (("cart", "id3"), ("iris", "wine"))
    assert np.allclose(scores.values, [[0.2, 0.2], [0.0, math.nan]], equal_nan=True)
    assert (scores.measure, scores.higher_is_better) == ("test error", False)


def test_a_run_without_the_metric_and_a_nan_are_left_out():
    scores = scores_of(RUNS, "test_roc_auc", measure="ROC AUC")
    assert scores.methods == ("cart",) and scores.values.tolist() == [[0.9], [0.8]]
    assert (scores.measure, scores.higher_is_better) == ("ROC AUC", True)


def test_times_are_scores_too_and_columns_may_be_named_otherwise():
    scores = scores_of(RUNS, "timing.fit", name=lambda record: f"seed {record.seed}")
    assert scores.methods == ("seed 1", "seed 3") and scores.values[0].tolist() == [0.5, 1.5]
    assert (scores.measure, scores.higher_is_better) == ("fit time in seconds", False)


def test_a_metric_that_no_run_has_is_refused_with_the_closest():
    with pytest.raises(DataError, match="did you mean 'test_error'"):
        scores_of(RUNS, "tst_error")
    with pytest.raises(DataError, match="known: none"):
        scores_of([], "test_error")
    with pytest.raises(ConfigError, match="unknown metric"):
        scores_of([run("cart", "iris", 1, kept_alpha=0.1)], "kept_alpha")
