"""Decimals as whole numbers, whose sums are exact in any order."""

import math
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache

import numpy as np

LONG, WHOLE = 1e15, 1 << 52
"""Numbers whose decimals, as whole numbers, are below the one, and sum up to less than the other,
are exact.
"""
KEPT = 1 << 8
"""Numbers that were read last: a small fit takes as long to read its λ a few times as to solve."""

DIVISOR = 10**7
"""Of a quotient, at most: two of them differ by 10⁻¹⁴, some ninety floats below 1 apart."""


@lru_cache(maxsize=KEPT)
def decimal(number: float) -> Fraction:
    """Return the number as it is written, not as it is stored: 0.1 is 1/10."""
    if number == 0:  # as λ often is
        return Fraction(0)
    return Fraction(repr(float(number)))


@lru_cache(maxsize=KEPT)
def rational(number: float) -> Fraction:
    """Return the number as it is written, a decimal, or as it was divided, whichever is simpler:
    the float next to 138/6907 is 138/6907, and 0.1 is 1/10.

    A quotient of whole numbers counts whose divisor is at most DIVISOR, and that no other float is
    as near to.
    """
    exact = decimal(number)
    if exact.denominator == 1:  # no quotient is simpler
        return exact
    found = Fraction(float(number)).limit_denominator(DIVISOR)
    return found if float(found) == number and found.denominator < exact.denominator else exact


def common_unit(numbers: Collection[Fraction]) -> Fraction:
    """Return the greatest number that they all are whole multiples of; 1 where all are 0."""
    return in_common_unit(numbers)[1]


def in_common_unit(numbers: Collection[Fraction]) -> tuple[list[int], Fraction]:
    """Return the numbers as whole multiples of their common unit, and that."""
    below = math.lcm(*(one.denominator for one in numbers))
    over = [one.numerator * (below // one.denominator) for one in numbers]
    shared = math.gcd(*over) or 1
    return [one // shared for one in over], Fraction(shared, below)


def whole_numbers(numbers: np.ndarray, most: float = WHOLE) -> tuple[np.ndarray, Fraction] | None:
    """Return (int64[n] without a common divisor, unit) whose products are the decimals that were
    written; None where these have too many digits.

    most : what the whole numbers together stay below.
    """
    if len(numbers) > 1 and (numbers == numbers[0]).all():  # as weights often are
        if numbers[0] == 1 and len(numbers) < most:
            return np.ones(len(numbers), np.int64), Fraction(1)
        one = whole_numbers(numbers[:1], most / len(numbers))
        return None if one is None else (np.full(len(numbers), one[0][0]), one[1])
    for places in range(23):  # the powers of ten that are exact
        whole = np.rint(numbers * 10.0**places)
        if np.abs(whole).max(initial=0.0) >= LONG:
            break
        # of 15 digits at most, so that no other decimal of as few is the same number
        if (whole / 10.0**places == numbers).all():
            exact = whole.astype(np.int64)
            shared = int(np.gcd.reduce(exact)) or 1
            if np.abs(exact // shared).sum(dtype=np.float64) >= most:
                break
            return exact // shared, Fraction(shared, 10**places)
    return None


def exact_weights(weight: np.ndarray) -> tuple[np.ndarray, Fraction, Fraction]:
    """Return weights as whole numbers: mass, unit and error, so that weight = mass · unit.

    mass : int64[n] without a common divisor.
    error : by how much mass · unit may be off, less than 2^-33 of the mean weight; 0 unless
        decimals have too many digits.
    """
    if found := whole_numbers(weight):
        return *found, Fraction(0)
    unit = Fraction(float(weight.mean())) / (1 << max(0, min(34, 52 - len(weight).bit_length())))
    mass = np.rint(weight / float(unit)).astype(np.int64)
    shared = int(np.gcd.reduce(mass)) or 1
    return mass // shared, unit * shared, unit
