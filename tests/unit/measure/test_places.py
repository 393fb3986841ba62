"""The best setting, and who is as good: differences block by block, against Student's t from
SciPy's own test.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from arboretum.measure.evaluate import mean_and_error, places


def blocks(values) -> dict[int, float]:
    return dict(enumerate(values))


def test_mean_and_standard_error_by_hand():
    mean, error = mean_and_error([1.0, 2.0, 3.0])
    assert (mean, error) == (2.0, pytest.approx(1 / math.sqrt(3)))  # s = 1, n = 3
    mean, error = mean_and_error([4.0])
    assert mean == 4.0 and math.isnan(error)
    assert all(map(math.isnan, mean_and_error([])))


def test_a_setting_is_worse_exactly_where_the_paired_test_says_so():
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(60):
        hard = rng.normal(size=6)  # what all settings share of a split
        a, b = hard + rng.normal(0, 0.1, 6), hard + rng.normal(0.1, 0.1, 6)
        found = places("test_error", [blocks(a), blocks(b)])
        worse = ttest_rel(a, b).pvalue < 0.05
        first = int(b.mean() < a.mean())
        assert found[first] == "best" and found[1 - first] == ("" if worse else "tied")
        seen.add(worse)
    assert seen == {True, False}


def test_the_same_differences_on_harder_splits_stay_a_difference():
    easy = [0.1, 0.2, 0.3, 0.4]
    worse = [x + d for x, d in zip(easy, (0.05, 0.06, 0.05, 0.06), strict=True)]
    assert places("test_error", [blocks(worse), blocks(easy)]) == ["", "best"]


def test_two_runs_tie_only_where_their_means_are_equal():
    assert places("test_error", [blocks((0.1, 0.2)), blocks((0.2, 0.3)), blocks((0.2, 0.1))]) == [
        "best",
        "",
        "tied",
    ]


def test_three_runs_are_enough_for_a_test():
    settings = [blocks((0.1, 0.2, 0.3)), blocks((0.2, 0.1, 0.31))]
    assert places("test_error", settings) == ["best", "tied"]


def test_a_goal_that_is_better_when_large_and_runs_without_a_value():
    told = places(
        "test_accuracy",
        [blocks((0.5, 0.5, 0.5)), blocks((0.9, 0.9, 0.8)), {}, blocks((math.nan,) * 3)],
    )
    assert told == ["", "best", "", ""]
    assert places("test_error", [{}, {}]) == ["", ""]
