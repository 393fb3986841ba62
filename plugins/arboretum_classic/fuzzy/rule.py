"""A test that sends a row near its threshold down both branches, in shares."""

from __future__ import annotations

import enum
import math

import attrs
import numpy as np

from arboretum.api import (
    DataError,
    Plain,
    Table,
    TestRule,
    digits_shown,
    is_missing,
    numbers,
    spell,
    unknown,
)

STEEP, CUT = 4.0, 2.0
"""As in ``kernels.py``, which is not imported for them."""


class Shape(enum.Enum):
    """How the share above a threshold grows."""

    linear = "linear"
    logistic = "logistic"


def _known_shape(instance: object, attribute: object, value: str) -> None:
    if value not in Shape.__members__:
        raise DataError(f"FuzzyThreshold.shape: {unknown('shape', str(value), Shape.__members__)}")


def _number(instance: object, attribute: attrs.Attribute[float], value: float) -> None:
    """A validator: a finite number, a width ≥ 0."""
    if not math.isfinite(value) or (attribute.name == "width" and value < 0):
        raise DataError(
            f"FuzzyThreshold.{attribute.name} must be a finite "
            f"number{' ≥ 0' * (attribute.name == 'width')}; got {value!r}"
        )


def shares_above(values: np.ndarray, threshold: float, width: float, shape: str) -> np.ndarray:
    """Return float64[n]: what of each value goes above a threshold, 0 … 1; see
    :class:`FuzzyThreshold`.

    values : float64[n], NaN stays.
    width : in the unit of the values; 0: a crisp test.
    shape : "linear" or "logistic".
    """
    if width == 0:
        return (values > threshold).astype(float)
    z = (values - threshold) / width
    if shape == "linear":
        return np.clip(z + 0.5, 0.0, 1.0)
    return np.where(np.abs(z) >= CUT, z > 0, 1.0 / (1.0 + np.exp(-STEEP * np.clip(z, -CUT, CUT))))


SHORT = {"": "", "days": " days", "seconds": " s", "milliseconds": " ms", "microseconds": " µs"}
"""Unit of dates → how a width in it is written."""


@attrs.frozen
class FuzzyThreshold(TestRule):
    """Continuous ``column``: the share that goes to outcome 1, "above", rises from 0 to 1 within
    ``width`` around ``threshold``.

    linear: evenly.   logistic: 1 / (1 + exp(−4 z)), z the distance in widths, as steep at the
    threshold; cut to 0 and 1 two widths away. width 0: ``value > threshold``.
    """

    tag = "fuzzy_threshold"
    fuzzy = True
    column: str
    threshold: float = attrs.field(converter=float, validator=_number)
    width: float = attrs.field(converter=float, validator=_number)
    shape: str = attrs.field(default="linear", validator=_known_shape)
    unit: str = ""
    digits: int = digits_shown()

    def degrees(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows), 2]: the shares of each row below and above; zeros without a
        value.

        Raises DataError where the column is not continuous in ``table``.
        """
        values = numbers(table, self.column, rows).astype(float)
        above = shares_above(values, self.threshold, self.width, self.shape)
        return np.where(np.isnan(values)[:, None], 0.0, np.stack([1.0 - above, above], axis=1))

    def degrees_of(self, row: Plain) -> tuple[float, float]:
        """Return (share below, share above) of one row; (0, 0) without a value."""
        value = row[self.column]
        if is_missing(value):
            return 0.0, 0.0
        above = float(
            shares_above(np.asarray(value, float), self.threshold, self.width, self.shape)
        )
        return 1.0 - above, above

    def outcome_label(self, outcome: int) -> str:
        """ "≤ 5.2 ± 0.4", or ">" for outcome 1; half of the width stands behind ±, unless it is 0.

        A logistic threshold of some width ends with "(logistic)".
        """
        around = (
            ""
            if self.width == 0
            else f" ± {spell(float(f'{self.width / 2:.3g}'))}{SHORT[self.unit]}"
        )
        shape = " (logistic)" if self.shape == "logistic" and self.width > 0 else ""
        return (
            f"{'≤' if outcome == 0 else '>'} "
            f"{spell(self.threshold, self.unit, self.digits)}{around}{shape}"
        )
