"""Means of our runs beside published means."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arboretum.api import Verdict
from arboretum_regularized.paper.means import cell_of_runs, known_between, standard_error

RUNS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
ERROR = math.sqrt(2.5) * math.sqrt(1 / 5 + 1 / 4)
"""Of the difference between their mean and one of four runs: their variance is 2.5."""


def cell(values, behind=4, **options):
    return cell_of_runs("Table 1", "iris", "ec45", 4.0, np.array(values), behind, **options)


def test_the_standard_error_is_that_of_the_difference_of_two_means():
    assert standard_error(RUNS, 4) == pytest.approx(ERROR)
    assert standard_error(RUNS[:1], 4) == 0.0


def test_a_mean_of_runs_is_judged_where_the_runs_say_something_of_the_error():
    found = cell(RUNS)
    assert (found.ours, found.n, found.verdict) == (
        3.0,
        5,
        Verdict.PASS,
    ) and found.error == pytest.approx(ERROR)
    assert cell(RUNS[:3]) is None and cell([3.0] * 5) is None and cell([1.0], behind=1) is None
    assert cell([3.0] * 5, rounding=0.1).error == pytest.approx(0.1 / math.sqrt(12.0))
    assert cell([3.0] * 5, rounding=0.1).verdict is Verdict.FAIL


def test_a_known_difference_predicts_what_lies_between_two_means_widened():
    known = known_between("chosen on few rows", (3.0, 13.0), (RUNS, RUNS + 10.0), 4, "five runs")
    assert (known.low, known.high) == pytest.approx((3.0 - 2 * ERROR, 13.0 + 2 * ERROR))
    far = RUNS - 100.0
    assert cell(far, known=known).verdict is Verdict.KNOWN
    assert (
        cell(far, known=known_between("no", (20.0, 30.0), (RUNS, RUNS), 4, "five runs")).verdict
        is Verdict.FAIL
    )
