"""Tests of several columns, or of several intervals: what the predicates of this plugin propose.

A row that misses one of the values a test reads has no outcome: the tree's rule for missing values
decides.  Both answers of a test add up in the same order in double precision, so that they agree to
the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    NO_OUTCOME,
    DataError,
    Plain,
    Table,
    TestRule,
    category_codes,
    digits_shown,
    is_missing,
    numbers,
    spell,
)

Spelled = Callable[[str], str]


class Several(TestRule):
    """A test that compares a number made of several values, its ``total``, with a ``bound``:
    outcome 0 is "at most".
    """

    def total(self, values: Sequence[Any]) -> Any:
        """The number, from one value per column (numbers, or arrays of them)."""
        raise NotImplementedError

    @property
    def bound(self) -> float:
        """What the total of a row is compared with."""
        raise NotImplementedError

    def values_in(self, table: Table, rows: np.ndarray) -> list[np.ndarray]:
        """Return float64[len(rows)] per column, NaN = missing."""
        return [numbers(table, name, rows).astype(float) for name in self.columns]

    def value_of(self, position: int, value: Any) -> float:
        """Return the same of one row, where the value is not missing."""
        found: float = value
        return found

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: 0 where the total is at most the bound, 1 above it.

        −1 where one of the values is missing.  Raises DataError where a column of ``table`` is of
        another kind than the test reads.
        """
        values = self.values_in(table, rows)
        result: np.ndarray = (self.total(values) > self.bound).astype(np.int32)
        result[np.isnan(values).any(axis=0)] = NO_OUTCOME
        return result

    def outcome_of(self, row: Plain) -> int:
        """Return 0 where the total of a row is at most the bound, else 1; −1 where it misses a
        value.
        """
        values = [row[name] for name in self.columns]
        if any(map(is_missing, values)):
            return NO_OUTCOME
        return int(
            self.total([self.value_of(i, value) for i, value in enumerate(values)]) > self.bound
        )


def same_length(
    instance: TestRule, attribute: attrs.Attribute[Any], value: Sequence[object]
) -> None:
    """A validator: one entry per column."""
    if len(value) != len(instance.columns) or not value:
        raise DataError(
            f"{type(instance).__name__}.{attribute.name} must have one entry per column, at "
            f"least one; got {value!r}"
        )


def finite(instance: TestRule, attribute: attrs.Attribute[Any], value: Any) -> None:
    """A validator: numbers that are neither NaN nor infinite."""
    given = [
        one
        for one in (value if isinstance(value, tuple) else (value,))
        if isinstance(one, float | int)
    ]
    if not all(map(math.isfinite, given)) or (attribute.name == "scales" and min(given) <= 0):
        raise DataError(
            f"{type(instance).__name__}.{attribute.name} must be finite, and scales above 0; "
            f"got {value!r}"
        )


@attrs.frozen
class Oblique(Several):
    """Outcome 0 is ``Σ coefficients[j] · columns[j] ≤ threshold``."""

    tag = "oblique"
    columns: tuple[str, ...]
    coefficients: tuple[float, ...] = attrs.field(validator=[same_length, finite])
    threshold: float = attrs.field(converter=float, validator=finite)
    digits: int = digits_shown()

    @property
    def bound(self) -> float:
        """The threshold of the sum."""
        return self.threshold

    def total(self, values: Sequence[Any]) -> Any:
        """Return Σ coefficients[j] · values[j], added up in the order of the columns."""
        found = self.coefficients[0] * values[0]
        for coefficient, value in zip(self.coefficients[1:], values[1:], strict=True):
            found = found + coefficient * value
        return found

    @property
    def subject(self) -> str:
        """ "0.5·a − 1.2·b"."""
        text = ""
        for coefficient, name in zip(self.coefficients, self.columns, strict=True):
            sign = (
                ("−" if coefficient < 0 else "")
                if not text
                else " − "
                if coefficient < 0
                else " + "
            )
            size = abs(coefficient)
            text += sign + (name if size == 1.0 else f"{spell(size, digits=self.digits)}·{name}")
        return text

    def outcome_label(self, outcome: int) -> str:
        """ "≤" or ">" and the threshold."""
        return f"{'≤' if outcome == 0 else '>'} {spell(self.threshold, digits=self.digits)}"

    def sql_conditions(self, column: Callable[[str], str], text: Callable[[str], str]) -> list[str]:
        """Per outcome its condition in SQL; neither is true where a column is NULL.

        column : a column's name → the name as SQL writes it.
        """
        terms = [
            f"({coefficient!r}) * {column(name)}"
            for coefficient, name in zip(self.coefficients, self.columns, strict=True)
        ]
        total = " + ".join(terms)
        return [f"{total} <= {self.threshold!r}", f"{total} > {self.threshold!r}"]


METRICS = ("euclidean", "manhattan", "chebyshev", "gower")


@attrs.frozen
class Ball(Several):
    """Outcome 0 is ``ρ(x, centre) ≤ radius``.

    scales : what each column's difference is divided by.
    metric : euclidean √Σd², manhattan Σd, chebyshev max d, gower Σd / columns, with d = |x −
        centre| / scale, and 1 for another category, 0 for the same (a category never seen is
        another one).
    """

    tag = "ball"
    columns: tuple[str, ...]
    centre: tuple[float | str, ...] = attrs.field(validator=[same_length, finite])
    scales: tuple[float, ...] = attrs.field(validator=[same_length, finite])
    radius: float = attrs.field(converter=float, validator=finite)
    metric: str = attrs.field(default="euclidean", validator=attrs.validators.in_(METRICS))
    digits: int = digits_shown()

    @property
    def bound(self) -> float:
        """The radius; for the euclidean metric its square, as ``total`` is one, too."""
        return self.radius * self.radius if self.metric == "euclidean" else self.radius

    def values_in(self, table: Table, rows: np.ndarray) -> list[np.ndarray]:
        """Numbers; for a category whether it is another one than the centre's."""
        found = []
        for name, middle in zip(self.columns, self.centre, strict=True):
            if not isinstance(middle, str):
                found.append(numbers(table, name, rows).astype(float))
                continue
            other = (category_codes(table, name, (middle,), rows) != 0).astype(float)
            found.append(np.where(table.column(name).missing[rows], np.nan, other))
        return found

    def value_of(self, position: int, value: Any) -> float:
        """Return the number itself; of a category 0.0 where it is the centre's, else 1.0."""
        middle = self.centre[position]
        return float(value != middle) if isinstance(middle, str) else value

    def total(self, values: Sequence[Any]) -> Any:
        """Distance from the centre, squared for the euclidean metric; see
        :func:`distance_for_bound`.
        """
        centre = [0.0 if isinstance(middle, str) else middle for middle in self.centre]
        return distance_for_bound(self.metric, values, centre, self.scales)

    @property
    def subject(self) -> str:
        """ "distance to (a = 5.1 ± 0.8, b = 3 ± 0.4)": the number behind ± is the column's
        scale.
        """
        parts = [
            f"{name} = {middle}"
            if isinstance(middle, str)
            else f"{name} = {spell(middle, digits=self.digits)} ± "
            f"{spell(scale, digits=self.digits)}"
            for name, middle, scale in zip(self.columns, self.centre, self.scales, strict=True)
        ]
        return f"{self.metric} distance to ({', '.join(parts)})".removeprefix("euclidean ")

    def outcome_label(self, outcome: int) -> str:
        """ "≤" or ">" and the radius."""
        return f"{'≤' if outcome == 0 else '>'} {spell(self.radius, digits=self.digits)}"

    def sql_conditions(self, column: Callable[[str], str], text: Callable[[str], str]) -> list[str]:
        """Per outcome its condition in SQL; neither is true where a column is NULL.

        column, text : a column's name, and a category → as SQL writes it.
        """
        parts = []
        for name, middle, scale in zip(
            map(column, self.columns), self.centre, self.scales, strict=True
        ):
            if isinstance(middle, str):
                parts.append(
                    f"CASE WHEN {name} = {text(middle)} THEN 0.0 WHEN {name} <> "
                    f"{text(middle)} THEN 1.0 END"
                )
            else:
                apart = f"({name} - ({middle!r})) / {scale!r}"
                parts.append(
                    f"({apart}) * ({apart})" if self.metric == "euclidean" else f"ABS({apart})"
                )
        if self.metric != "chebyshev":
            total = (
                f"({' + '.join(parts)}) / {float(len(parts))!r}"
                if self.metric == "gower"
                else " + ".join(parts)
            )
            return [f"{total} <= {self.bound!r}", f"{total} > {self.bound!r}"]
        known = " AND ".join(f"{column(name)} IS NOT NULL" for name in self.columns)
        far = " OR ".join(f"{part} > {self.bound!r}" for part in parts)
        return [" AND ".join(f"{part} <= {self.bound!r}" for part in parts), f"({far}) AND {known}"]


def distance_for_bound(
    metric: str, values: Sequence[Any], centre: Sequence[Any], scales: Sequence[float]
) -> Any:
    """Return what a ball's bound is compared with: the distance, squared for the euclidean one.

    metric : "euclidean", "manhattan", "chebyshev" or "gower", the mean of the distances by column.
    values, centre : a number or an array per column.
    scales : by which differences are divided.
    """
    found: Any = None
    for value, middle, scale in zip(values, centre, scales, strict=True):
        apart = (value - middle) / scale
        apart = apart * apart if metric == "euclidean" else abs(apart)
        if found is None:
            found = apart
        elif metric == "chebyshev":
            found = np.maximum(found, apart) if isinstance(found, np.ndarray) else max(found, apart)
        else:
            found = found + apart
    return found / float(len(scales)) if metric == "gower" else found


@attrs.frozen
class MOfN(TestRule):
    """Outcome 0 is "at least ``m`` of the intervals hold their column's value", the other one "at
    most m − 1".

    So it is Σ [low_j < x_j ≤ high_j] ≥ m, and Σ … ≤ d with d = m − 1 is its outcome 1.  A column
    may have several intervals; a side that is infinite is None.
    """

    tag = "m_of_n"
    of: tuple[str, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    m: int
    digits: int = digits_shown()

    def __attrs_post_init__(self) -> None:
        n, sides = len(self.of), zip(self.low, self.high, strict=False)
        if not (
            n == len(self.low) == len(self.high)
            and 1 <= self.m <= n
            and all(side != (None, None) for side in sides)
        ):
            raise DataError(
                f"MOfN needs a bound or two per column of {self.of}, and 1 ≤ m ≤ {n}; got "
                f"{self.low}, {self.high}, {self.m}"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the intervals read, each once, in the order of the intervals."""
        return tuple(dict.fromkeys(self.of))

    def _sides(self) -> list[tuple[str, float, float]]:
        """Return (column, low, high) of each interval, infinite where it has no such bound."""
        sides = zip(self.of, self.low, self.high, strict=True)
        return [
            (name, -math.inf if low is None else low, math.inf if high is None else high)
            for name, low, high in sides
        ]

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: 0 where at least ``m`` intervals hold, else 1.

        −1 where one of the values is missing.  Raises DataError where a column of ``table`` is not
        continuous.
        """
        values = {name: numbers(table, name, rows).astype(float) for name in self.columns}
        held = sum(
            ((values[name] > low) & (values[name] <= high)).astype(np.int32)
            for name, low, high in self._sides()
        )
        return np.where(
            np.isnan(list(values.values())).any(axis=0), NO_OUTCOME, held < self.m
        ).astype(np.int32)

    def outcome_of(self, row: Plain) -> int:
        """Return 0 where at least ``m`` intervals hold for a row, else 1; −1 where it misses a
        value.
        """
        if any(is_missing(row[name]) for name in self.columns):
            return NO_OUTCOME
        return int(sum(low < row[name] <= high for name, low, high in self._sides()) < self.m)

    @property
    def subject(self) -> str:
        """ "number of {a in (1, 2], b > 3}"."""
        parts = []
        for name, low, high in zip(self.of, self.low, self.high, strict=True):
            ends = [None if end is None else spell(end, digits=self.digits) for end in (low, high)]
            parts.append(
                f"{name} > {ends[0]}"
                if high is None
                else f"{name} ≤ {ends[1]}"
                if low is None
                else f"{name} in ({ends[0]}, {ends[1]}]"
            )
        return "number of {" + ", ".join(parts) + "}"

    def outcome_label(self, outcome: int) -> str:
        """ "≥" and m for outcome 0, "≤" and m − 1 for outcome 1."""
        return f"≥ {self.m}" if outcome == 0 else f"≤ {self.m - 1}"

    def sql_conditions(self, column: Callable[[str], str], text: Callable[[str], str]) -> list[str]:
        """Per outcome its condition in SQL; neither is true where a column is NULL.

        column : a column's name → the name as SQL writes it.
        """
        held = []
        for name, low, high in zip(map(column, self.of), self.low, self.high, strict=True):
            sides = [f"{name} > {low!r}"] * (low is not None) + [f"{name} <= {high!r}"] * (
                high is not None
            )
            held.append(f"CASE WHEN {' AND '.join(sides)} THEN 1 ELSE 0 END")
        known = " AND ".join(f"{column(name)} IS NOT NULL" for name in self.columns)
        return [f"{' + '.join(held)} {sign} {self.m} AND {known}" for sign in (">=", "<")]
