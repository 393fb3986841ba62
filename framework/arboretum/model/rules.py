"""Tests on raw columns: what a node of a tree asks, and how it reads aloud.

A test sends a row to one of ``arity`` outcomes.  It is written against raw values, never against
codes of one encoding, so that a tree can be read ("age ≤ 26.5") and applied to rows that no encoder
has seen.

Every rule answers twice: :meth:`TestRule.outcomes` for many rows with NumPy, and
:meth:`TestRule.outcome_of` for one row in plain Python.  The second is the slow truth that
verification replays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.errors import DataError, unknown
from arboretum.model.dates import UNITS
from arboretum.model.digits import digits_shown, spell
from arboretum.model.missing import MISSING, by_code, is_missing
from arboretum.model.plain import Facts, Plain
from arboretum.model.reading import built
from arboretum.model.table import Table

# the value is missing, or was never seen: the tree decides what to do with the row
NO_OUTCOME = MISSING


Row = Mapping[str, Any]
"""Column → float, category or None (missing)."""


@attrs.frozen
class TestRule:
    """A question about one row.

    Subclasses state ``tag`` (their name in JSON) and are attrs classes whose fields are plain JSON
    values.  One that shows numbers has the field ``digits = digits_shown()`` and writes them by
    ``spell(number, digits=self.digits)``.
    """

    __test__ = False  # the name starts with "Test"; pytest must not collect it
    tag = ""
    fuzzy = False
    """Whether a row goes down several branches in shares: then ``degrees`` and ``degrees_of``
    take the place of outcomes.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the raw columns that the test reads."""
        return (self.column,)  # type: ignore[attr-defined]

    @property
    def arity(self) -> int:
        """Number of outcomes."""
        return 2

    @property
    def cuts(self) -> tuple[float, ...] | None:
        """Rising numbers between which (low < value ≤ high) all values of a continuous column
        have one outcome; None where it has no such.
        """
        return None

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """int32[len(rows)]: outcome of each row, −1 where the value is missing or unseen."""
        raise NotImplementedError

    def outcome_of(self, row: Row) -> int:
        """Outcome of one row, a mapping from column name to float, category or None (missing)."""
        raise NotImplementedError

    def degrees(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """float64[len(rows), arity]: the share of each row that goes to each outcome, adding up
        to 1; zeros without a value.
        """
        raise NotImplementedError

    def degrees_of(self, row: Row) -> Sequence[float]:
        """The same of one row, in plain Python."""
        raise NotImplementedError

    def outcome_label(self, outcome: int) -> str:
        """How the edge to that outcome reads, after the column's name: "≤ 26.5", "= almond"."""
        raise NotImplementedError

    @property
    def subject(self) -> str:
        """What an outcome's label completes to a sentence: "age", "0.5·a + b"."""
        return ", ".join(self.columns)

    def describe(self) -> str:
        """Return the test as a sentence: "age ≤ 26.5"."""
        return f"{self.subject} {self.outcome_label(0)}"

    def with_missing(self) -> TestRule | None:
        """The same test with an outcome more, the last, for missing values; None where it has no
        such form.
        """
        return None

    def to_json(self) -> Facts:
        """Return a JSON object with ``type`` and the fields, but for ``digits``, which are no part
        of the question.
        """
        fields = {
            key: value
            for key, value in attrs.asdict(self).items()
            if key != "digits" and (key != "unit" or value)
        }
        return {
            "type": self.tag,
            **{k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()},
        }

    @staticmethod
    def from_json(data: Plain) -> TestRule:
        """Rebuild a test; rules defined by plugins are found once the plugin is imported.

        Raises DataError: unknown type, missing, surplus or mistyped field.
        """
        return rules_from_json([data])[0]


def rules_from_json(items: Sequence[Plain]) -> tuple[TestRule, ...]:
    """Rebuild several tests; what :meth:`TestRule.from_json` does, with the known types looked
    up once.

    Raises DataError naming what does not fit.
    """
    known = {cls.tag: cls for cls in _subclasses(TestRule) if cls.tag}
    found: list[TestRule] = []
    for item in items:
        if not isinstance(item, Mapping) or not isinstance(tag := item.get("type"), str):
            raise DataError("a test is an object with the key type")
        if tag not in known:
            raise DataError(unknown("type of test", tag, known))
        try:
            found.append(
                built(known[tag], {key: value for key, value in item.items() if key != "type"})
            )
        except (TypeError, ValueError) as error:
            raise DataError(f"not a test of type {tag!r}: {error}") from None
    return tuple(found)


def _subclasses(cls: type[TestRule]) -> list[type[TestRule]]:
    direct = cls.__subclasses__()
    return direct + [sub for child in direct for sub in _subclasses(child)]


def _demand(
    rule: str, holds: Callable[[Any, Any], bool]
) -> Callable[[TestRule, attrs.Attribute[Any], Any], None]:
    """Return a validator of a field, which raises DataError.

    rule : what the value must do, as the message says it.
    holds : called with the test, whose fields before this one are set, and the value.
    """

    def check(instance: TestRule, attribute: attrs.Attribute[Any], value: object) -> None:
        if not holds(instance, value):
            raise DataError(
                f"{type(instance).__name__}.{attribute.name} must {rule}; got {value!r}"
            )

    return check


_finite = _demand(
    "be finite",
    lambda _, value: all(
        math.isfinite(one) for one in (value if isinstance(value, tuple) else [value or 0.0])
    ),
)
_position = _demand(
    "be a position in categories", lambda test, value: 0 <= value < len(test.categories)
)
_distinct = _demand("be distinct", lambda _, value: len(set(value)) == len(value))
_rising = _demand(
    "rise", lambda _, value: all(high > low for low, high in itertools.pairwise(value))
)


def _unit(instance: TestRule, attribute: attrs.Attribute[Any], value: object) -> None:
    """Validator of a field ``unit``: "" or one of dates."""
    if value not in UNITS:
        raise DataError(f"{type(instance).__name__}.unit: {unknown('unit', str(value), UNITS[1:])}")


def _floats(given: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(float, given))


@attrs.frozen
class Threshold(TestRule):
    """Continuous ``column``: outcome 0 is ``value ≤ threshold``, outcome 1 is ``>``."""

    tag = "threshold"
    column: str
    threshold: float = attrs.field(converter=float, validator=_finite)
    unit: str = attrs.field(default="", validator=_unit)
    digits: int = digits_shown()

    @property
    def cuts(self) -> tuple[float, ...]:
        """The threshold, its only cut."""
        return (self.threshold,)

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: 0 up to the threshold, 1 above it, −1 where the value is
        missing.

        Raises DataError where the column is not continuous.
        """
        values = numbers(table, self.column, rows)
        result = (values > np.float64(self.threshold)).astype(np.int32)
        result[np.isnan(values)] = NO_OUTCOME
        return result

    def outcome_of(self, row: Row) -> int:
        """Return 0 up to the threshold, 1 above it, −1 where the value is missing."""
        value = row[self.column]
        if is_missing(value):
            return NO_OUTCOME
        return 0 if value <= self.threshold else 1

    def outcome_label(self, outcome: int) -> str:
        """Return the threshold after "≤" (outcome 0) or ">" (outcome 1), written in the column's
        unit.
        """
        return f"{'≤' if outcome == 0 else '>'} {spell(self.threshold, self.unit, self.digits)}"

    def with_missing(self) -> TestRule | None:
        """Return this cut as :class:`Bins` of three outcomes, the last for a missing value."""
        edges = (self.threshold,)
        return Bins(self.column, edges, missing_outcome=True, unit=self.unit, digits=self.digits)


@attrs.frozen
class OrdinalThreshold(TestRule):
    """Ordinal ``column``: outcome 0 is "at most ``categories[index]``" in the order of
    ``categories``.
    """

    tag = "ordinal_threshold"
    column: str
    categories: tuple[str, ...] = attrs.field(validator=_distinct)
    index: int = attrs.field(validator=_position)

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: 0 up to the category, 1 above it.

        A value that is missing, or not in ``categories``, has outcome −1.
        Raises DataError where the column is continuous.
        """
        codes = category_codes(table, self.column, self.categories, rows)
        return np.where(codes < 0, NO_OUTCOME, codes > self.index).astype(np.int32)

    def outcome_of(self, row: Row) -> int:
        """Return 0 up to the category, 1 above it, −1 where missing or not in ``categories``."""
        value = row[self.column]
        if is_missing(value) or value not in self.categories:
            return NO_OUTCOME
        return 0 if self.categories.index(value) <= self.index else 1

    def outcome_label(self, outcome: int) -> str:
        """Return the category after "≤" (outcome 0) or ">" (outcome 1)."""
        return f"{'≤' if outcome == 0 else '>'} {self.categories[self.index]}"


@attrs.frozen
class Equals(TestRule):
    """Outcome 0 is "the value is ``category``", outcome 1 is any other value, also one never seen.

    ``category`` None asks whether the value is missing; then no row is without an outcome.
    ``missing_is_other`` sends a missing value to outcome 1 (missing as a category of its own).
    """

    tag = "equals"
    column: str
    category: str | None
    missing_is_other: bool = False

    @property
    def cuts(self) -> tuple[float, ...]:
        """Empty: all numbers of a continuous column have one outcome."""
        return ()

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: 0 where the value is the category, 1 where it is another.

        A missing value has outcome −1, 1 with ``missing_is_other``; 0 where ``category`` is None.
        Raises DataError for a category of a continuous column.
        """
        missing = table.column(self.column).take(rows).missing
        if self.category is None:
            return np.where(missing, 0, 1).astype(np.int32)
        result = np.where(
            category_codes(table, self.column, (self.category,), rows) == 0, 0, 1
        ).astype(np.int32)
        if not self.missing_is_other:
            result[missing] = NO_OUTCOME
        return result

    def outcome_of(self, row: Row) -> int:
        """Return 0 if the value is the category, 1 if it is another.

        A missing value has outcome −1, 1 with ``missing_is_other``; 0 where ``category`` is None.
        """
        value = row[self.column]
        if is_missing(value):
            if self.category is None:
                return 0
            return 1 if self.missing_is_other else NO_OUTCOME
        return 0 if value == self.category else 1

    def outcome_label(self, outcome: int) -> str:
        """Return the category, or "missing" where it is None, after "=" (outcome 0) or "≠" (outcome
        1).
        """
        name = "missing" if self.category is None else self.category
        return f"{'=' if outcome == 0 else '≠'} {name}"


@attrs.frozen
class Values(TestRule):
    """Multiway test: outcome k is ``categories[k]``; with ``missing_outcome`` the last outcome
    is "missing".
    """

    tag = "values"
    column: str
    categories: tuple[str, ...] = attrs.field(validator=_distinct)
    missing_outcome: bool = False

    @property
    def arity(self) -> int:
        """One outcome for each category, and one more with ``missing_outcome``."""
        return len(self.categories) + self.missing_outcome

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: position of each value in ``categories``, −1 where it is not
        there.

        A missing value has the last outcome with ``missing_outcome``, else −1.
        Raises DataError where the column is continuous.
        """
        result = category_codes(table, self.column, self.categories, rows)
        if self.missing_outcome:
            result[table.column(self.column).take(rows).missing] = len(self.categories)
        return result

    def outcome_of(self, row: Row) -> int:
        """Return the position of the row's value in ``categories``, −1 where it is not there.

        A missing value has the last outcome with ``missing_outcome``, else −1.
        """
        value = row[self.column]
        if is_missing(value):
            return len(self.categories) if self.missing_outcome else NO_OUTCOME
        return self.categories.index(value) if value in self.categories else NO_OUTCOME

    def with_missing(self) -> TestRule | None:
        """Return the same test with a last outcome for missing values; None where it has that
        already.
        """
        return None if self.missing_outcome else attrs.evolve(self, missing_outcome=True)

    def outcome_label(self, outcome: int) -> str:
        """Return the outcome's category after "="; "= missing" for a missing value's own
        outcome.
        """
        return f"= {'missing' if outcome == len(self.categories) else self.categories[outcome]}"

    def describe(self) -> str:
        """Return the column's name, since every outcome is a value of it."""
        return self.column


@attrs.frozen
class Bins(TestRule):
    """Multiway test on a continuous column: outcome k is ``edges[k−1] < value ≤ edges[k]``.

    ``missing_outcome`` adds "missing" as the last outcome.
    """

    tag = "bins"
    column: str
    edges: tuple[float, ...] = attrs.field(converter=_floats, validator=[_finite, _rising])
    missing_outcome: bool = False
    unit: str = attrs.field(default="", validator=_unit)
    digits: int = digits_shown()

    @property
    def arity(self) -> int:
        """One outcome more than there are edges, and another with ``missing_outcome``."""
        return len(self.edges) + 1 + self.missing_outcome

    @property
    def cuts(self) -> tuple[float, ...]:
        """The edges of the bins."""
        return self.edges

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: number of edges below each row's value.

        A missing value has the last outcome with ``missing_outcome``, else −1.
        Raises DataError where the column is not continuous.
        """
        values = numbers(table, self.column, rows)
        result = np.searchsorted(
            np.asarray(self.edges), values.astype(np.float64), side="left"
        ).astype(np.int32)
        result[np.isnan(values)] = len(self.edges) + 1 if self.missing_outcome else NO_OUTCOME
        return result

    def outcome_of(self, row: Row) -> int:
        """Return the number of edges below the row's value.

        A missing value has the last outcome with ``missing_outcome``, else −1.
        """
        value = row[self.column]
        if is_missing(value):
            return len(self.edges) + 1 if self.missing_outcome else NO_OUTCOME
        return sum(edge < value for edge in self.edges)

    def with_missing(self) -> TestRule | None:
        """Return the same test with a last outcome for missing values; None where it has that
        already.
        """
        return None if self.missing_outcome else attrs.evolve(self, missing_outcome=True)

    def outcome_label(self, outcome: int) -> str:
        """Return the outcome's interval: "≤ 1", "in (1, 2]" or "> 2"; "is known" where there is no
        edge.

        A missing value's own outcome reads "= missing".
        """
        if outcome > len(self.edges):
            return "= missing"
        if not self.edges:
            return "is known"
        if outcome == 0:
            return f"≤ {spell(self.edges[0], self.unit, self.digits)}"
        if outcome == len(self.edges):
            return f"> {spell(self.edges[-1], self.unit, self.digits)}"
        return (
            f"in ({spell(self.edges[outcome - 1], self.unit, self.digits)}, "
            f"{spell(self.edges[outcome], self.unit, self.digits)}]"
        )

    def describe(self) -> str:
        """Return the column's name, since every outcome is an interval of its values."""
        return self.column


@attrs.frozen
class Interval(TestRule):
    """Outcome 0 is ``low < value ≤ high`` on a continuous column (either side may be infinite,
    written None).
    """

    tag = "interval"
    column: str
    low: float | None = attrs.field(converter=attrs.converters.optional(float), validator=_finite)
    high: float | None = attrs.field(converter=attrs.converters.optional(float), validator=_finite)
    missing_is_other: bool = False
    unit: str = attrs.field(default="", validator=_unit)
    digits: int = digits_shown()

    @property
    def cuts(self) -> tuple[float, ...]:
        """The bounds that are given, from low to high."""
        return tuple(sorted(bound for bound in (self.low, self.high) if bound is not None))

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: 0 inside the interval, 1 outside.

        A missing value has outcome −1, 1 with ``missing_is_other``.
        Raises DataError where the column is not continuous.
        """
        values = numbers(table, self.column, rows)
        low = np.float64(-np.inf if self.low is None else self.low)
        high = np.float64(np.inf if self.high is None else self.high)
        result = np.where((values > low) & (values <= high), 0, 1).astype(np.int32)
        if not self.missing_is_other:
            result[np.isnan(values)] = NO_OUTCOME
        return result

    def outcome_of(self, row: Row) -> int:
        """Return 0 inside the interval, 1 outside.

        A missing value has outcome −1, 1 with ``missing_is_other``.
        """
        value = row[self.column]
        if is_missing(value):
            return 1 if self.missing_is_other else NO_OUTCOME
        return (
            0
            if (self.low is None or value > self.low) and (self.high is None or value <= self.high)
            else 1
        )

    def outcome_label(self, outcome: int) -> str:
        """Return the interval after "in" or "not in"; a comparison where it has one bound.

        Without bounds the outcomes read "is known" and "is missing".
        """
        if self.low is None:
            if self.high is None:
                return "is known" if outcome == 0 else "is missing"
            return f"{'≤' if outcome == 0 else '>'} {spell(self.high, self.unit, self.digits)}"
        if self.high is None:
            return f"{'>' if outcome == 0 else '≤'} {spell(self.low, self.unit, self.digits)}"
        return (
            f"{'in' if outcome == 0 else 'not in'} ({spell(self.low, self.unit, self.digits)}, "
            f"{spell(self.high, self.unit, self.digits)}]"
        )


def midpoints(edges: np.ndarray) -> np.ndarray:
    """Return float64[m]: the threshold between the two neighbouring values in every row of
    ``edges``, float[m, 2], as scikit-learn computes it: in float64, whatever the column's type.

    The lower value where rounding reaches the upper one, so that "≤" separates the two in every
    case.  ∞ where the upper value is missing: the cut is after all that are known.
    """
    low, high = edges.astype(np.float64).T
    with np.errstate(invalid="ignore"):  # −inf and inf
        middle = low / 2.0 + high / 2.0
        return np.where(np.isnan(high), np.inf, np.where(middle < high, middle, low))


def numbers(table: Table, name: str, rows: np.ndarray) -> np.ndarray:
    """float32 or float64[len(rows)]: values of a continuous column, NaN = missing; raises DataError
    for another kind.

    Compare them with ``np.float64`` bounds: a Python float would be rounded to float32 first, and a
    midpoint between two neighbouring float32 values would then fall on one of them.
    """
    column = table.column(name)
    if not column.is_continuous:
        raise DataError(
            f"column {name!r} is {column.kind.value} here, but the tree compares it with a "
            "number; give it as numbers"
        )
    return np.asarray(column.values[rows])


def category_codes(
    table: Table, name: str, categories: tuple[str, ...], rows: np.ndarray
) -> np.ndarray:
    """Return int32[len(rows)]: position of each row's value in ``categories``; −1 where missing or
    not among them.

    Spellings are compared as they are: how a column spells its values is known of all of them
    together (:mod:`arboretum.model.frame`), and not of the few that a test names.
    Raises DataError for a continuous column.
    """
    column = table.column(name)
    if column.is_continuous:
        raise DataError(
            f"column {name!r} is continuous here, but the tree asks for one of its "
            "categories; give it as text"
        )
    if column.categories == categories:
        return np.asarray(np.maximum(column.values[rows], NO_OUTCOME))
    place = {category: i for i, category in enumerate(categories)}
    where = [place.get(category, NO_OUTCOME) for category in column.categories]
    return by_code(where, column.values[rows], NO_OUTCOME, dtype=np.int32)
