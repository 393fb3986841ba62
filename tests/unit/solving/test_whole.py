"""Decimals as they were written become whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import common_unit, decimal, rational, whole_numbers
from arboretum.proof import ground
from arboretum.solving.additive import AdditiveObjective


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(0, 6))
def test_decimals_of_few_digits_are_whole_multiples_of_one_unit(numbers, places):
    values = np.array([one / 10**places for one in numbers])
    whole, unit = whole_numbers(values)
    assert [Fraction(one, 10**places) for one in numbers] == [int(one) * unit for one in whole]
    assert math.gcd(*whole.tolist()) in (0, 1)


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_a_quotient_of_whole_numbers_is_itself_and_a_decimal_too(a, b):
    a, b = sorted((a, b))
    assert rational(a / b) == ground.rational(a / b) == Fraction(a, b)
    for number in (a / 10**7, float(a), b * 1e6, -a / 10**7, 0.0):
        assert rational(number) == ground.rational(number) == decimal(number)


def test_what_is_no_quotient_of_such_numbers_is_the_decimal():
    for number in (math.pi / 10, 0.1 + 0.2, 0.019979730707977001, 0.123456789012):
        assert rational(number) == ground.rational(number) == decimal(number)


@pytest.mark.parametrize("values", [[0.1, math.pi], [1e15, 1.0], [2.0**51, 2.0**51, 1.0]])
def test_more_digits_than_add_up_exactly_are_none(values):
    assert whole_numbers(np.array(values)) is None


@given(st.integers(-(10**6), 10**6), st.integers(0, 6), st.integers(1, 9))
def test_equal_numbers_are_as_one_of_them(number, places, n):
    whole, unit = whole_numbers(np.full(n, number / 10**places))
    assert (whole == whole[0]).all() and len(whole) == n and whole.dtype == np.int64
    assert Fraction(number, 10**places) == int(whole[0]) * unit and abs(whole[0]) <= 1
    assert whole_numbers(np.full(n, math.pi)) is None


def test_what_they_may_add_up_to_can_be_said():
    assert whole_numbers(np.ones(5), 5) is None and whole_numbers(np.full(5, 0.3), 5) is None
    assert whole_numbers(np.ones(4), 5) is not None
    assert whole_numbers(np.array([3.0, 2.0]), 5) is None
    whole, unit = whole_numbers(np.array([-0.5, 2.5]), math.inf)
    assert whole.tolist() == [-1, 5] and unit == Fraction(1, 2)


def test_the_common_unit_is_the_greatest():
    assert common_unit([Fraction(1, 6), decimal(0.1)]) == Fraction(1, 30)
    assert common_unit([Fraction(0)]) == 1


@given(st.lists(st.fractions(Fraction(1, 10**6), 10**6), min_size=1, max_size=5))
def test_an_error_on_every_object_adds_one_to_the_loss(weights):
    factors = AdditiveObjective().factors(weights)
    assert sum(weight * factor for weight, factor in zip(weights, factors, strict=True)) == 1
