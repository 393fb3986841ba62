"""The encoder component and its named forms.

One class has all the fields; the others are the same class with other defaults.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    Column,
    ColumnKind,
    DataError,
    Distinct,
    Encoded,
    RawFeature,
    Table,
    param,
)
from arboretum_data.encoding import columns as coding
from arboretum_data.encoding.columns import (
    BinTests,
    Categorical,
    Coded,
    Numeric,
    Ordinal,
    RawOrdinal,
)
from arboretum_data.encoding.cuts import NARROWEST_BIN

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


IDENTIFIER = 21
"""Known rows, at least, of a categorical column that is left out because each has another value."""


class Missing(enum.Enum):
    """What a missing value is."""

    keep = "keep"
    """No test on the column has an outcome for it; the method decides."""
    category = "category"
    """A value of its own, with a test or an outcome of its own."""
    drop_rows = "drop_rows"
    drop_columns = "drop_columns"


class Coalesce(enum.Enum):
    """What happens to objects with equal codes."""

    none = "none"
    sum = "sum"
    """They become one object with the sum of their weights."""
    one = "one"
    """They become one object of weight 1."""


class Gap(enum.Enum):
    """Which neighbouring values of a raw column no threshold separates."""

    none = "none"
    sklearn = "sklearn"
    """Those at most 1e-7 apart, whatever their size, for comparisons with scikit-learn."""


CLOSE = {Gap.none: 0.0, Gap.sklearn: 1e-7}


class FitOn(enum.Enum):
    """Which rows place the bins."""

    train = "train"
    all = "all"


@attrs.frozen
class TestsEncoder:
    """The general encoder: every choice is a field.

    Constant columns, columns without a known value, and identifiers are left out with a note.
    """

    __test__ = False  # the name starts with "Test"; pytest must not collect it
    kind = "encoder"
    name = "tests"
    paper = ""
    capabilities = ()

    numeric: Numeric = param(
        Numeric.auto, "how continuous columns are cut; bucketised may lose the optimum"
    )
    ordinal: Ordinal = param(Ordinal.auto, "which tests ordinal columns offer")
    categorical: Categorical = param(Categorical.onehot, "which tests categorical columns offer")
    n_bins: int = param(5, "bins per cut column (mdl and guessed find their own number)", ge=2)
    guesses: int = param(
        40, "stumps of the boosted ensemble whose cuts numeric=guessed takes", ge=1
    )
    bin_tests: BinTests = param(
        BinTests.onehot, "which tests the bins offer (midpoints: always thresholds)"
    )
    fit_on: FitOn = param(FitOn.train, "rows that place the bins and list the values")
    missing: Missing = param(Missing.keep, "what a missing value is")
    coalesce: Coalesce = param(
        Coalesce.none, "what becomes of identical objects; label by weighted majority"
    )
    max_levels: int = param(1000, "a categorical column with more values is left out", ge=2)
    keep_identifiers: bool = param(
        False, "keep categorical columns that have another value in every row"
    )
    gap: Gap = param(Gap.none, "neighbouring values of a raw column that no threshold separates")
    declared: bool = param(
        False,
        "all values that the table declares get a bin, in their order, also those that no row has",
    )

    def encode(self, table: Table, whole: Table, *, raw_thresholds: bool, seed: int) -> Encoded:
        """Encode the training rows; see :class:`arboretum.interfaces.encoder.Encoder`."""
        del seed  # no rule here is random
        notes: list[str] = []
        if self.missing is Missing.drop_rows:
            table, whole = _complete_rows(table, notes), _complete_rows(whole, [])
        source = whole if self.fit_on is FitOn.all else table
        coded: list[Coded] = []
        raw: list[tuple[RawFeature, np.ndarray]] = []
        guessed = {}
        if self.numeric is Numeric.guessed:
            from arboretum_data.encoding.guesses import guessed_edges

            guessed = guessed_edges(source, self.guesses)
        for position, column in enumerate(table.columns):
            origin = source.columns[position]
            choice = {
                ColumnKind.continuous: self.numeric.value,
                ColumnKind.ordinal: self.ordinal.value,
            }.get(column.kind)
            uncoded = choice == "raw" or (choice == "auto" and raw_thresholds)
            if reason := self._reason_to_leave_out(column, origin, uncoded):
                notes.append(f"column {column.name!r} is left out: {reason}")
            elif uncoded:
                raw.append(_raw_feature(column, position))
            else:
                found = self._code(column, origin, position, source, guessed.get(position))
                coded += found
                if not found:
                    wide = f" between bins wider than {NARROWEST_BIN:g}"
                    notes.append(
                        f"column {column.name!r} is left out: {self.numeric.value} finds no cut"
                        + wide * self.numeric.value.startswith("kmeans")
                    )
        notes += _notes_on_gap(raw, CLOSE[self.gap])
        if not coded and not raw:
            raise DataError(
                f"{table.name}: no usable column is left "
                f"({'; '.join(notes[:3]) or 'the table has none'})"
            )
        return self._assemble(table, coded, raw, notes)

    def needs_rows(self, schema: Table) -> str:
        """Say which choice looks at more than the values that each column has; "" for none."""
        kinds = {column.kind for column in schema.columns}
        numeric = ColumnKind.continuous in kinds and self.numeric
        reasons = {
            "encoder.missing=drop_rows leaves out rows": self.missing is Missing.drop_rows,
            f"coalesce={self.coalesce.value} merges rows": self.coalesce is not Coalesce.none,
            "keep_identifiers tells rows apart": self.keep_identifiers,
            "thresholds of raw columns are found among rows": numeric is Numeric.raw
            or (ColumnKind.ordinal in kinds and self.ordinal is Ordinal.raw),
            f"numeric={self.numeric.value} counts rows, or their classes": numeric
            and numeric not in (Numeric.auto, Numeric.midpoints, Numeric.raw),
        }
        return next((reason for reason, holds in reasons.items() if holds), "")

    @property
    def reads_all_rows(self) -> bool:
        """Whether rows that do not train place bins, or list values."""
        return self.fit_on is FitOn.all

    def _reason_to_leave_out(self, column: Column, origin: Column, uncoded: bool) -> str:
        """Return why a column offers no test; "" when it does.

        uncoded : of such a column it is a test whether the value is known.
        """
        missing = column.has_missing or origin.has_missing
        if missing and self.missing is Missing.drop_columns:
            return "it has missing values"
        known = origin.values[~origin.missing]
        if not len(known):
            return "every value is missing"
        constant = bool(np.all(known == known[0]))
        if constant and not (missing and (uncoded or self.missing is Missing.category)):
            way = "its known values are one (encoder.missing=category asks whether one is known)"
            return way if missing else "it is constant"
        if column.kind is ColumnKind.categorical:
            levels = len(np.unique(known))
            if IDENTIFIER <= len(known) == levels and not self.keep_identifiers:
                return (
                    "every row has another value, as an identifier "
                    "(encoder.keep_identifiers=true keeps it)"
                )
            if levels > self.max_levels:
                return f"its {levels} values exceed encoder.max_levels={self.max_levels}"
        return ""

    def _code(
        self, column: Column, origin: Column, position: int, source: Table, edges: np.ndarray | None
    ) -> list[Coded]:
        """Return a column's coded features, each with its codes; none where it asks nothing."""
        missing_bin = self.missing is Missing.category and (
            column.has_missing or origin.has_missing
        )
        if column.is_continuous:
            rule = Numeric.midpoints if self.numeric is Numeric.auto else self.numeric
            distinct = None
            if edges is None:
                distinct = Distinct.of(origin.values)
                edges = coding.cut_points(source, origin, rule, self.n_bins, distinct)
            if not len(edges) and not missing_bin:
                return []
            same = distinct if column is origin else None
            fixed = rule in (Numeric.midpoints, Numeric.bucketised, Numeric.guessed)
            tests = BinTests.thresholds if fixed else self.bin_tests
            return coding.code_numeric(column, position, edges, tests, missing_bin, same)
        values = np.concatenate(
            [column.values, origin.values, *[np.arange(len(column.categories))] * self.declared]
        )
        present = np.unique(values[values >= 0])
        if column.kind is ColumnKind.ordinal and self.ordinal is not Ordinal.categories:
            return coding.code_ordinal(column, position, present, missing_bin)
        return coding.code_categories(column, position, present, self.categorical, missing_bin)

    def _assemble(
        self,
        table: Table,
        coded: list[Coded],
        raw: list[tuple[RawFeature, np.ndarray]],
        notes: list[str],
    ) -> Encoded:
        """Put coded and raw features together into encoded objects."""
        features = tuple(feature for feature, _ in coded)
        raw_features = tuple(feature for feature, _ in raw)
        codes = _stack_columns(
            [column for _, column in coded], table.n_rows, coding.code_type(*features)
        )
        # float32 where every column is
        narrowest = np.result_type(*(values.dtype for _, values in raw)) if raw else np.float64
        values = _stack_columns([values for _, values in raw], table.n_rows, narrowest)
        classes = table.is_classification
        label, y = table.target.codes, table.target.values
        weight = table.row_weights()
        count = np.ones(table.n_rows, np.int64)
        member = np.arange(table.n_rows)
        if self.coalesce is not Coalesce.none:
            first, member = identical_rows(codes, values)
            codes, values = codes[first], values[first]
            n = len(first)
            total = np.bincount(member, weights=weight, minlength=n)
            count = np.bincount(member, minlength=n)
            if classes:
                votes = np.bincount(
                    member * table.n_classes + label, weights=weight, minlength=n * table.n_classes
                )
                label = votes.reshape(n, -1).argmax(axis=1).astype(np.int32)  # ties: the smallest
            else:
                y = np.bincount(member, weights=weight * y, minlength=n) / total
            weight = total if self.coalesce is Coalesce.sum else np.ones(n)
        return Encoded(
            table=table,
            features=features,
            codes=codes,
            raw_features=raw_features,
            raw=values,
            label=label,
            y=y,
            weight=weight,
            count=count,
            object_of_row=member,
            notes=tuple(notes),
            gap=CLOSE[self.gap] if raw else 0.0,
        )


def identical_rows(codes: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (first, member): the first row of each distinct object, in order of appearance; the
    object of each row.

    codes : integers[n, f].
    raw : floats[n, r]; two NaN are equal, and so are 0.0 and −0.0.
    """
    values = raw + 0.0
    values[np.isnan(values)] = np.nan
    bytes_of_row = np.hstack([_as_bytes(codes), _as_bytes(values)])
    if not bytes_of_row.shape[1]:
        return np.zeros(1, np.int64), np.zeros(len(codes), np.int64)
    keys = bytes_of_row.view(np.dtype((np.void, bytes_of_row.shape[1]))).ravel()
    _, first, member = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[member.ravel()]


def _as_bytes(matrix: np.ndarray) -> np.ndarray:
    """Return uint8[n, bytes per row]: the rows of a matrix as they lie in memory."""
    rows = np.ascontiguousarray(matrix)
    return (
        rows.view(np.uint8).reshape(len(rows), -1)
        if rows.size
        else np.zeros((len(rows), 0), np.uint8)
    )


def _complete_rows(table: Table, notes: list[str]) -> Table:
    """Return the table without the rows that miss a value, of which ``notes`` receives a sentence;
    raises DataError where none is left.
    """
    incomplete = np.any([column.missing for column in table.columns], axis=0)
    if incomplete.all():
        raise DataError(
            f"{table.name}: encoder.missing=drop_rows leaves no row; each of the "
            f"{table.n_rows} misses a value"
        )
    if not incomplete.any():
        return table
    notes.append(f"{int(incomplete.sum())} rows with missing values are left out")
    return table.take(~incomplete)


def _raw_feature(column: Column, position: int) -> tuple[RawFeature, np.ndarray]:
    """Return a raw feature and its values; the codes of an ordinal column as floats, NaN = missing.

    position : of the column in the table.
    """
    if column.is_continuous:
        return RawFeature(column.name, position, column.unit), column.values
    values = column.as_numbers().astype(np.float32)
    return RawOrdinal(column.name, position, categories=column.categories), values


def _notes_on_gap(raw: list[tuple[RawFeature, np.ndarray]], gap: float) -> list[str]:
    """Return what ``gap`` takes for equal that is not: a sentence per column of ``raw``, features
    and their values.
    """
    notes = [] if raw or not gap else ["encoder.gap changes nothing: no column is raw"]
    for feature, values in raw if gap else ():
        distinct = np.unique(values[~np.isnan(values)])
        if close := int((~(distinct[1:] > distinct[:-1] + distinct.dtype.type(gap))).sum()):
            notes.append(
                f"column {feature.column!r}: {close} of {len(distinct) - 1} cuts lie between "
                f"values at most {gap:g} apart and are left out (encoder.gap)"
            )
    return notes


def _stack_columns(columns: list[np.ndarray], n_rows: int, dtype: DTypeLike) -> np.ndarray:
    """Return [n_rows, columns] of that type: the columns side by side, the values of each next to
    each other in memory.

    n_rows : said, since there may be no column.
    """
    matrix: np.ndarray = np.empty((n_rows, len(columns)), dtype, order="F")
    for index, column in enumerate(columns):
        matrix[:, index] = column
    return matrix


# -- named forms -----------------------------------------------------------------------------------


@attrs.frozen
class AutoEncoder(TestsEncoder):
    """Raw columns where the method searches them; else binary as is, numbers by all midpoints,
    categories one-hot.
    """

    name = "auto"


@attrs.frozen
class RawEncoder(TestsEncoder):
    """Continuous and ordinal columns stay raw, for methods that make thresholds or predicates at
    the node.
    """

    name = "raw"
    numeric: Numeric = param(Numeric.raw, "how continuous columns are cut")
    ordinal: Ordinal = param(Ordinal.raw, "which tests ordinal columns offer")


@attrs.frozen
class MultiwayEncoder(TestsEncoder):
    """One test per column with an outcome per value; numbers in k-means bins unless ``numeric``
    says otherwise.
    """

    name = "multiway"
    numeric: Numeric = param(Numeric.kmeans, "how continuous columns are cut")
    ordinal: Ordinal = param(Ordinal.categories, "which tests ordinal columns offer")
    categorical: Categorical = param(Categorical.multiway, "which tests categorical columns offer")
    bin_tests: BinTests = param(BinTests.multiway, "which tests the bins offer")


@attrs.frozen
class MixedEncoder(MultiwayEncoder):
    """One test per nominal column with an outcome per value; numbers stay raw, for thresholds
    found at the node.
    """

    name = "mixed"
    numeric: Numeric = param(Numeric.raw, "how continuous columns are cut")


@attrs.frozen
class DeclaredEncoder(MixedEncoder):
    """``mixed`` with every value that the table declares, however many, as Weka reads an ARFF
    file.
    """

    name = "declared"
    max_levels: int = param(1_000_000, "a categorical column with more values is left out", ge=2)
    keep_identifiers: bool = param(
        True, "keep categorical columns that have another value in every row"
    )
    declared: bool = param(
        True,
        "all values that the table declares get a bin, in their order, also those that no row has",
    )


@attrs.frozen
class OneHotEncoder(TestsEncoder):
    """One test per value or bin; ordinals as categories, numbers in five k-means bins."""

    name = "onehot"
    paper = (
        "Zhang & Gionis 2023: Regularized impurity reduction: accurate decision trees with "
        "complexity guarantees"
    )
    numeric: Numeric = param(Numeric.kmeans, "how continuous columns are cut")
    ordinal: Ordinal = param(Ordinal.categories, "which tests ordinal columns offer")


@attrs.frozen
class OneHotKMeans5Encoder(OneHotEncoder):
    """``onehot`` as a published protocol has it: bins of all rows, missing as a category, identical
    rows merged.

    A merged object has the sum of the weights and the majority's class, the smallest of equal ones.
    """

    name = "onehot_kmeans5"
    fit_on: FitOn = param(FitOn.all, "rows that place the bins and list the values")
    missing: Missing = param(Missing.category, "what a missing value is")
    coalesce: Coalesce = param(
        Coalesce.sum, "what becomes of identical objects; label by weighted majority"
    )


@attrs.frozen
class BinsEncoder(TestsEncoder):
    """Thresholds between ten quantile bins; other rules and tests by ``numeric`` and
    ``bin_tests``.
    """

    name = "bins"
    numeric: Numeric = param(Numeric.quantile, "how continuous columns are cut")
    ordinal: Ordinal = param(Ordinal.thresholds, "which tests ordinal columns offer")
    n_bins: int = param(10, "bins per cut column (mdl finds its own number)", ge=2)
    bin_tests: BinTests = param(BinTests.thresholds, "which tests the bins offer")


@attrs.frozen
class MidpointsEncoder(TestsEncoder):
    """Every threshold between neighbouring values, also for methods that could search raw
    columns.
    """

    name = "midpoints"
    numeric: Numeric = param(Numeric.midpoints, "how continuous columns are cut")
    ordinal: Ordinal = param(Ordinal.thresholds, "which tests ordinal columns offer")


ENCODERS = [
    AutoEncoder,
    BinsEncoder,
    DeclaredEncoder,
    MidpointsEncoder,
    MixedEncoder,
    MultiwayEncoder,
    OneHotEncoder,
    OneHotKMeans5Encoder,
    RawEncoder,
    TestsEncoder,
]
