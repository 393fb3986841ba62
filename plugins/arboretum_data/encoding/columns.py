"""One raw column → coded columns, and their features, which say how each test reads on the raw
column.

Bins are numbered from low to high, or in the order of the categories.  Where "missing" is a
category of its own it is the last bin; otherwise a missing value has the code ``n_bins`` and no
outcome (``has_missing``).
"""

import enum
from collections.abc import Callable

import attrs
import numpy as np

from arboretum.api import (
    Bins,
    CapabilityError,
    Column,
    DataError,
    Distinct,
    Equals,
    Family,
    Feature,
    Interval,
    OrdinalThreshold,
    Plain,
    RawFeature,
    Table,
    TestRule,
    Threshold,
    Values,
    bins_of,
    by_code,
    is_missing,
)
from arboretum_data.encoding import cuts


class Numeric(enum.Enum):
    """How a continuous column is cut."""

    auto = "auto"
    """Raw where the method searches raw columns, else ``midpoints``."""
    raw = "raw"
    midpoints = "midpoints"
    bucketised = "bucketised"
    kmeans = "kmeans"
    kmeans_elkan = "kmeans_elkan"
    """Values half-way between two first centres go where scikit-learn's default before 1.1 put
    them.
    """
    quantile = "quantile"
    equal_width_floor = "equal_width_floor"
    equal_width_round = "equal_width_round"
    mdl = "mdl"
    guessed = "guessed"
    """Where the stumps of a boosted ensemble cut (``encoder.guesses`` of them)."""


class Categorical(enum.Enum):
    """Which tests a categorical column offers."""

    onehot = "onehot"
    """One per value; one in all where there are two values."""
    drop_last = "drop_last"
    """One per value but the last."""
    multiway = "multiway"
    """One with an outcome per value."""


class Ordinal(enum.Enum):
    """Which tests an ordinal column offers."""

    auto = "auto"
    """Raw where the method searches raw columns, else ``thresholds``."""
    raw = "raw"
    thresholds = "thresholds"
    categories = "categories"
    """Those of a categorical column."""


class BinTests(enum.Enum):
    """Which tests the bins of a cut column offer."""

    onehot = "onehot"
    multiway = "multiway"
    thresholds = "thresholds"


Spelled = Callable[[str], str]
Coded = tuple[Feature, np.ndarray]
"""A feature with its codes: uint8, uint16 or uint32[n_rows], as narrow as its bins allow, for all
columns wait side by side until the matrix is put together.
"""


def code_type(*features: Feature) -> type:
    """Return the narrowest unsigned type for the codes of all the features, the missing code
    included.
    """
    highest = max((f.n_bins - 1 + f.has_missing for f in features), default=0)
    return np.uint8 if highest < 1 << 8 else np.uint16 if highest < 1 << 16 else np.uint32


def cut_points(
    table: Table, column: Column, rule: Numeric, n_bins: int, distinct: Distinct
) -> np.ndarray:
    """Return the edges, float64[cuts], ascending, at which ``rule`` cuts a continuous column; none
    where it is constant or no cut pays.

    table : the column's; rules that look at classes (bucketised, mdl) read its target.
    rule : one that :mod:`arboretum_data.encoding.cuts` has.
    n_bins : for k-means, quantiles and equal widths; the others find their own number.
    distinct : values of the column.

    Raises CapabilityError for a rule that looks at classes where the target holds numbers, and
    DataError for numbers so large that what k-means, quantiles or equal widths work out is none.
    """
    values, counts = distinct.values, distinct.counts
    if rule in (Numeric.bucketised, Numeric.mdl):
        if table.is_regression:
            raise CapabilityError(
                f"encoder.numeric={rule.value} looks at classes, but the target "
                f"{table.target.name!r} holds numbers"
            )
        known = ~column.missing
        place = np.searchsorted(values, column.values[known])
        cell = place * table.n_classes + table.target.codes[known]
        counts = np.bincount(cell, minlength=len(values) * table.n_classes).reshape(
            len(values), table.n_classes
        )
    if len(values) < 2:
        return np.empty(0)
    squares = rule in (Numeric.kmeans, Numeric.kmeans_elkan) and len(values) > n_bins
    if squares or rule in (Numeric.quantile, Numeric.equal_width_floor, Numeric.equal_width_round):
        with np.errstate(over="ignore"):
            size = values[-1] - values[0]
            most = counts.sum() * size * size if squares else n_bins * size
        if not np.isfinite(most):
            raise DataError(
                f"column {column.name!r} reaches from {values[0]:g} to {values[-1]:g}, and float64 "
                f"cannot hold what encoder.numeric={rule.value} works out of that; choose "
                "encoder.numeric=midpoints, or multiply the whole column by a constant"
            )
    if rule in (Numeric.kmeans, Numeric.kmeans_elkan):
        rows, elkan = column.values[~column.missing], rule is Numeric.kmeans_elkan
        return cuts.kmeans(values, counts, rows, n_bins, elkan=elkan)
    if rule is Numeric.quantile:
        return cuts.quantile(values, counts, n_bins)
    if rule in (Numeric.equal_width_floor, Numeric.equal_width_round):
        floor = rule is Numeric.equal_width_floor
        return (
            cuts.equal_width_floor(values, n_bins)
            if floor
            else cuts.equal_width_round(values, n_bins)
        )
    if rule is Numeric.midpoints:
        return cuts.all_midpoints(values)
    return cuts.mdl(values, counts) if rule is Numeric.mdl else cuts.bucketised(values, counts)


def code_numeric(
    column: Column,
    position: int,
    edges: np.ndarray,
    tests: BinTests,
    missing_bin: bool,
    distinct: Distinct | None = None,
) -> list[Coded]:
    """Return the coded features of a continuous column cut at ``edges``, ascending.

    position : of the column in the table.
    missing_bin : missing values are a bin of their own, the last.
    distinct : values of the column, with codes; None: they are not known.
    """
    codes = (
        bins_of(column.values, edges, len(edges) + 1, np.uint32)
        if distinct is None or not len(distinct.codes)
        else distinct.bins(edges, len(edges) + 1)
    )
    # one test tells two bins apart
    two = len(edges) == 1 and not missing_bin and tests is BinTests.onehot
    family = {
        "onehot": Family.equals,
        "multiway": Family.multiway,
        "thresholds": Family.thresholds,
    }["thresholds" if two else tests.value]
    more = {"edges": tuple(edges.astype(float).tolist()), "unit": column.unit}
    return [
        _make_coded_column(
            BinnedFeature,
            column,
            position,
            family,
            codes,
            len(edges) + 1,
            missing_bin=missing_bin,
            **more,
        )
    ]


def code_categories(
    column: Column, position: int, present: np.ndarray, tests: Categorical, missing_bin: bool
) -> list[Coded]:
    """Return the coded features of a categorical column (or of an ordinal one taken so);
    ``present`` are the values that get a bin.

    position : of the column in the table.
    tests : one feature for all bins, or one per bin.
    missing_bin : missing values are a bin of their own, the last.
    """
    codes = _bins_of_values(column, present)
    categories = tuple(column.categories[i] for i in present)
    n_bins = len(present) + missing_bin
    # a column for every bin but the last
    if tests is Categorical.drop_last or (tests is Categorical.onehot and n_bins == 2):
        gone = codes == n_bins
        outcomes = [np.where(gone, 2, codes != k) for k in range(n_bins - 1)]
        one = [{"categories": (category,)} for category in categories]
        return [
            (
                CategoryFeature(
                    column.name,
                    position,
                    Family.thresholds,
                    2,
                    bool(gone.any()),
                    missing_bin,
                    **own,
                ),
                outcome.astype(np.uint8),
            )
            for own, outcome in zip(one, outcomes, strict=False)
        ]
    family = Family.multiway if tests is Categorical.multiway else Family.equals
    return [
        _make_coded_column(
            CategoryFeature,
            column,
            position,
            family,
            codes,
            len(present),
            missing_bin=missing_bin,
            categories=categories,
        )
    ]


def code_ordinal(
    column: Column, position: int, present: np.ndarray, missing_bin: bool
) -> list[Coded]:
    """Return the coded feature of an ordinal column whose tests are thresholds on its order.

    position : of the column in the table; present : the values that get a bin, ascending.
    missing_bin : missing values are a bin of their own, the last.
    """
    codes = _bins_of_values(column, present)
    more = {"categories": column.categories, "positions": tuple(present.tolist())}
    return [
        _make_coded_column(
            OrdinalFeature,
            column,
            position,
            Family.thresholds,
            codes,
            len(present),
            missing_bin=missing_bin,
            **more,
        )
    ]


def _bins_of_values(column: Column, present: np.ndarray) -> np.ndarray:
    """Bin of each row, those behind the last for what is not present."""
    bins = np.full(len(column.categories), len(present))
    bins[present] = np.arange(len(present))
    return by_code(bins, column.values, len(present))


def _make_coded_column(
    kind: type,
    column: Column,
    position: int,
    family: Family,
    codes: np.ndarray,
    known: int,
    missing_bin: bool,
    **more: object,
) -> Coded:
    """Return a column of one feature.

    kind : class of the feature, which takes ``more``.
    position : of the column in the table.
    codes : ``known``, the number of known bins, where the value is missing.
    missing_bin : that is a bin like others.
    """
    has_missing = not missing_bin and bool((codes == known).any())
    feature = kind(
        column.name, position, family, known + missing_bin, has_missing, missing_bin, **more
    )
    return feature, codes.astype(code_type(feature), copy=False)


@attrs.frozen
class CodedFeature(Feature):
    """A feature of this encoder.   missing_bin : the last bin is "missing"."""

    missing_bin: bool = False


@attrs.frozen
class BinnedFeature(CodedFeature):
    """A continuous column cut at ``edges``: bin k is ``edges[k−1] < value ≤ edges[k]``.

    unit : as in Column.
    """

    edges: tuple[float, ...] = ()
    unit: str = ""

    def codes(self, column: Column) -> np.ndarray:
        """Return ints[n]: the bin of each row of the column, also of other rows."""
        return bins_of(column.values, np.array(self.edges), len(self.edges) + 1)

    def rule(self, index: int) -> TestRule:
        """Return the interval, threshold or multiway test with that index."""
        edges = self.edges
        if self.family is Family.multiway:
            return Bins(self.column, edges, missing_outcome=self.missing_bin, unit=self.unit)
        if self.family is Family.thresholds:
            if not self.missing_bin:
                return Threshold(self.column, edges[index], self.unit)
            high = edges[index] if index < len(edges) else None  # the last test: known or missing?
            return Interval(self.column, None, high, missing_is_other=True, unit=self.unit)
        if index > len(edges):
            return Equals(self.column, None)
        low = edges[index - 1] if index else None
        high = edges[index] if index < len(edges) else None
        return Interval(self.column, low, high, missing_is_other=self.missing_bin, unit=self.unit)


@attrs.frozen
class CategoryFeature(CodedFeature):
    """A categorical or ordinal column; bin k is ``categories[k]``.  In the family ``thresholds``
    bin 1 is all the rest.
    """

    categories: tuple[str, ...] = ()

    def codes(self, column: Column) -> np.ndarray:
        """Return ints[n]: the bin of each row of the column, also of other rows."""
        n = len(self.categories)
        if self.family is not Family.thresholds:
            bins = {category: k for k, category in enumerate(self.categories)}
            place = [bins.get(category, n) for category in column.categories]
            return by_code(place, column.values, n, dtype=np.int64)
        # one category against the rest: a missing value is among them, or has no outcome
        other = [int(category != self.categories[0]) for category in column.categories]
        return by_code(other, column.values, 1 if self.missing_bin else 2, dtype=np.int64)

    def rule(self, index: int) -> TestRule:
        """Return the equality or multiway test with that index."""
        if self.family is Family.multiway:
            return Values(self.column, self.categories, missing_outcome=self.missing_bin)
        if index == len(self.categories):
            return Equals(self.column, None)
        return Equals(self.column, self.categories[index], missing_is_other=self.missing_bin)


@attrs.frozen
class OrdinalFeature(CodedFeature):
    """An ordinal column whose tests are "at most this value".

    categories : all values of the raw column, low to high.
    positions : which of them the bins are, ascending.
    """

    categories: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()

    def codes(self, column: Column) -> np.ndarray:
        """Return ints[n]: the bin of each row of the column, also of other rows."""
        return _bins_of_values(column, np.array(self.positions, np.int64))

    def rule(self, index: int) -> TestRule:
        """Return the threshold test with that index."""
        if index == len(self.positions) - 1:
            return Known(self.column)
        kind = OrdinalAtMost if self.missing_bin else OrdinalThreshold
        return kind(self.column, self.categories, self.positions[index])


@attrs.frozen
class RawOrdinal(RawFeature):
    """An ordinal column searched raw: its values are the codes 0, 1, …, its tests "at most this
    value".
    """

    categories: tuple[str, ...] = ()

    def rule(self, threshold: float) -> TestRule:
        """Return the test "code ≤ threshold", read as "at most the category with the highest such
        code"; for ∞ "the value is known".
        """
        if threshold == np.inf:
            return Known(self.column)
        last = len(self.categories) - 1
        return OrdinalThreshold(self.column, self.categories, min(int(threshold // 1), last))


@attrs.frozen
class Known(TestRule):
    """Outcome 0 is "the value is known", outcome 1 "it is missing"; no row is without an
    outcome.
    """

    tag = "known"
    column: str

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: 0 where the value is known, 1 where it is missing."""
        lost: np.ndarray = table.column(self.column).missing[rows]
        return lost.astype(np.int32)

    def outcome_of(self, row: Plain) -> int:
        """Return 0 where the value of one row is known, 1 where it is missing (None or NaN)."""
        return int(is_missing(row[self.column]))

    def outcome_label(self, outcome: int) -> str:
        """ "is known" or "is missing"."""
        return "is known" if outcome == 0 else "is missing"

    def sql_conditions(self, name: Spelled, text: Spelled) -> list[str]:
        """Return, per outcome, its condition in SQL: IS NOT NULL, IS NULL.

        name : a column's name → the name as SQL writes it.
        """
        return [f"{name(self.column)} IS NOT NULL", f"{name(self.column)} IS NULL"]


@attrs.frozen
class OrdinalAtMost(TestRule):
    """Outcome 0 is "at most ``categories[index]``" of an ordinal column; a missing or unseen
    value takes outcome 1.
    """

    tag = "ordinal_at_most"
    column: str
    categories: tuple[str, ...]
    index: int

    def __attrs_post_init__(self) -> None:
        self._threshold  # noqa: B018 - it refuses an index that is no position

    @property
    def _threshold(self) -> OrdinalThreshold:
        return OrdinalThreshold(self.column, self.categories, self.index)

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: 0 where the value is at most ``categories[index]``, else 1.

        Raises DataError where the column is continuous in ``table``.
        """
        # no outcome (−1) becomes 1
        return np.asarray(np.abs(self._threshold.outcomes(table, rows)))

    def outcome_of(self, row: Plain) -> int:
        """Return 0 where the value of one row is at most ``categories[index]``, else 1."""
        return abs(self._threshold.outcome_of(row))

    def outcome_label(self, outcome: int) -> str:
        """ "≤ medium" or "not ≤ medium"."""
        return f"{'≤' if outcome == 0 else 'not ≤'} {self.categories[self.index]}"

    def sql_conditions(self, name: Spelled, text: Spelled) -> list[str]:
        """Per outcome its condition in SQL; NULL fulfils that of outcome 1.

        name, text : a column's name, and a category → as SQL writes it.
        """
        low = f"{name(self.column)} IN ({', '.join(map(text, self.categories[: self.index + 1]))})"
        return [low, f"CASE WHEN {low} THEN 0 ELSE 1 END = 1"]
