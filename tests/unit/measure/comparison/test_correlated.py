"""Tests of correlated blocks and of many data sets: other programs first, then what must hold."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.errors import DataError
from arboretum.measure.comparison import bayesian_signed_rank, bayesian_t, corrected_t
from arboretum.measure.comparison.correlated import Posterior
from arboretum.measure.comparison.signed_rank import PRIOR

FIRST = "12 10 15 8 11 14 9 13 10 12 11 12 13 9 10 15 8 12 11 13"
SECOND = "10 9 13 9 10 10 10 11 9 10 10 11 10 10 9 12 9 10 10 11"
"""Two repeats of ten folds of two methods, made up; hundredths."""
BAYCOMP_T = {
    0.0: (0.9801870113671143, 0.0, 0.01981298863288572),
    0.005: (0.8996566402949069, 0.09735011073722288, 0.0029932489678702323),
    0.01: (0.6682146273403256, 0.3313814632085065, 0.00040390945116797194),
    0.03: (0.0029932489678702544, 0.9970065402895182, 2.1074261158382512e-07),
}
"""baycomp 1.0.3, CorrelatedTTest.probs(FIRST, SECOND, rope, runs=2), by rope: P(FIRST − SECOND is
above rope, within, below); scipy 1.17.1.
"""
SCIPY_T = (2.2093554325337736, 0.03962597726577147)
"""t = d̄/√(s²(1/20 + 1/9)) of the same differences d, and 2·scipy.stats.t.sf(|t|, 19)."""
C45 = "763 599 954 628 882 936 661 583 775 1000 940 619 972 957"
C45_M = "768 591 971 661 888 931 668 583 838 1000 962 666 981 978"
"""Demšar 2006, Table 6: C4.5, and with m tuned, on fourteen data sets; thousandths."""
BAYCOMP_RANKS = {
    0.0: (0.999065, 0.0, 0.000935),
    0.005: (0.961755, 0.038155, 9e-05),
    0.01: (0.67135, 0.32865, 0.0),
    0.02: (0.115325, 0.884675, 0.0),
}
"""baycomp 1.0.3, SignedRankTest.probs(C45, C45_M, rope, nsamples=200000, random_state=1), by rope:
P(C45_M is better by more than rope, alike, worse).
"""
DRAWS = (200_000, 50_000)  # theirs, ours


def numbers(digits: str, unit: int) -> np.ndarray:
    return np.array([int(word) for word in digits.split()]) / unit


APART = numbers(FIRST, 100) - numbers(SECOND, 100)


def test_the_corrected_t_is_what_its_formula_gives_by_scipy():
    found = corrected_t(APART, 0.1)
    assert (found.t, found.p) == pytest.approx(SCIPY_T, rel=1e-12)
    assert (found.n, found.mean) == (20, pytest.approx(0.0125))


@pytest.mark.parametrize("rope", BAYCOMP_T)
def test_the_bayesian_t_agrees_with_baycomp(rope):
    """Both are exact: what differs is the rounding of Student's distribution."""
    found = bayesian_t(APART, 0.1, rope)
    assert (found.better, found.alike, found.worse) == pytest.approx(
        BAYCOMP_T[rope], rel=1e-9, abs=1e-12
    )
    assert found.error == 0.0


@pytest.mark.parametrize("rope", BAYCOMP_RANKS)
def test_the_bayesian_signed_rank_agrees_with_baycomp(rope):
    """Both draw: the difference of two shares of S and S′ draws has the standard error
    √(p(1 − p)(1/S + 1/S′)); five of them are exceeded once in 1.7 million.  A region that was never
    drawn has p ≤ 5/S but once in e⁵.
    """
    found = bayesian_signed_rank(numbers(C45_M, 1000) - numbers(C45, 1000), rope)
    spread = sum(1 / n for n in DRAWS)
    for ours, theirs in zip(
        (found.better, found.alike, found.worse), BAYCOMP_RANKS[rope], strict=True
    ):
        p = max(theirs, 5 / DRAWS[0])
        assert abs(ours - theirs) <= 5 * math.sqrt(p * (1 - p) * spread)


def slow_signed_rank(z, rope, weights):
    """The definition, a pair of data sets at a time, for one draw of weights: which is largest."""
    z, share = [0.0, *z], [0.0, 0.0, 0.0]
    for (i, a), (j, b) in itertools.product(enumerate(z), repeat=2):
        mass = weights[i] * weights[j]
        if a + b > 2 * rope:
            share[0] += mass
        elif a + b < -2 * rope:
            share[2] += mass
        elif abs(a + b) == 2 * rope:  # on the edge
            share[0 if a + b > 0 else 2] += mass / 2
            share[1] += mass / 2
        else:
            share[1] += mass
    most = [k for k in range(3) if share[k] >= max(share) - 1e-12]
    return [1 / len(most) if k in most else 0.0 for k in range(3)]


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=6), st.integers(1, 2))
def test_the_signed_rank_is_its_definition_on_the_same_draws(z, rope):
    """Values are whole numbers, so that sums on the edge of the region occur."""
    draws = np.random.default_rng(5).dirichlet([PRIOR, *[1.0] * len(z)], 40)
    slow = np.mean([slow_signed_rank(z, rope, weights) for weights in draws], axis=0)
    found = bayesian_signed_rank(np.array(z, float), rope, samples=40, seed=5)
    assert (found.better, found.alike, found.worse) == pytest.approx(tuple(slow), abs=1e-12)


@given(
    st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=2, max_size=12),
    st.sampled_from([0.0, 0.01, 0.2]),
    st.floats(0.05, 0.5),
)
def test_probabilities_sum_to_one_and_turn_around_with_the_pair(values, rope, share):
    apart = np.array(values)
    for found, other in (
        (bayesian_t(apart, share, rope), bayesian_t(-apart, share, rope)),
        (
            bayesian_signed_rank(apart, rope, samples=500),
            bayesian_signed_rank(-apart, rope, samples=500),
        ),
    ):
        assert found.better + found.alike + found.worse == pytest.approx(1.0)
        assert (found.better, found.alike, found.worse) == pytest.approx(
            (other.worse, other.alike, other.better), abs=1e-9
        )
    t = corrected_t(apart, share)
    assert 0.0 <= t.p <= 1.0 and corrected_t(-apart, share).p == t.p


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=9), st.floats(0.05, 0.45))
def test_more_rows_that_judge_make_a_difference_less_certain(values, share):
    apart = np.array(values) / 100
    assert corrected_t(apart, share + 0.05).p >= corrected_t(apart, share).p


def test_one_sided_p_and_the_posterior_without_a_region_say_the_same():
    t = corrected_t(APART, 0.2)
    assert bayesian_t(APART, 0.2, 0.0).worse == pytest.approx(t.p / 2)


@pytest.mark.parametrize("rope", [0.0, 0.01])
def test_differences_of_zero_are_ties_and_not_errors(rope):
    zeros = np.zeros(5)
    assert (corrected_t(zeros, 0.2).t, corrected_t(zeros, 0.2).p) == (0.0, 1.0)
    for found in (bayesian_t(zeros, 0.2, rope), bayesian_signed_rank(zeros, rope, samples=200)):
        assert (found.better, found.alike, found.worse) == (
            (0.0, 1.0, 0.0) if rope else (0.5, 0.0, 0.5)
        )


def test_the_same_difference_everywhere_leaves_nothing_to_chance():
    same = 0.1 + np.array([0, 1, -1, 0, 0]) * np.spacing(0.1)  # but for rounding
    assert len(set(same)) == 3
    assert corrected_t(same, 0.2).p == 0.0 and corrected_t(-same, 0.2).t == -math.inf
    assert bayesian_t(same, 0.2, 0.01).better == 1.0 and bayesian_t(same, 0.2, 0.5).alike == 1.0


def test_a_verdict_needs_the_level_and_no_more():
    assert Posterior(0.95, 0.05, 0.0).verdict(0.95) == "better"
    assert Posterior(0.94, 0.05, 0.01).verdict(0.95) == ""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: corrected_t(np.array([0.1]), 0.2), "2 or more blocks that both methods have"),
        (lambda: corrected_t(np.zeros(3), math.nan), "is not known"),
        (lambda: corrected_t(np.zeros(3), 0.0), "is 0, and how far"),
        (lambda: bayesian_t(np.zeros(3), 0.2, -1.0), "rope=-1 is half the width"),
        (lambda: bayesian_t(np.zeros(3), 0.2, math.nan), "rope=nan"),
        (lambda: bayesian_signed_rank(np.zeros(1), 0.1), "two or more data sets that both"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(call, words):
    with pytest.raises(DataError) as error:
        call()
    assert words in str(error.value) and "\n" not in str(error.value)
