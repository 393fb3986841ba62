"""One raw column → coded columns and their features."""

from __future__ import annotations

import enum

import attrs
import numpy as np

from arboretum.api import CapabilityError, Column, ColumnKind, Equals, Family, Feature, Table, Task, Threshold
from arboretum_data.encoding import cuts
from arboretum_data.encoding.features import BinnedFeature, CategoryFeature, OrdinalFeature, SingleTest


class Numeric(enum.Enum):
    """How a continuous column is cut."""

    auto = "auto"
    """Raw where the method searches raw columns, else ``midpoints``."""
    raw = "raw"
    midpoints = "midpoints"
    bucketised = "bucketised"
    kmeans = "kmeans"
    kmeans_elkan = "kmeans_elkan"
    """Values half-way between two first centres go where scikit-learn's default before 1.1 put them."""
    quantile = "quantile"
    equal_width_floor = "equal_width_floor"
    equal_width_round = "equal_width_round"
    mdl = "mdl"


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


@attrs.frozen(eq=False)
class Coded:
    """One column of codes with its feature.

    codes : uint8, uint16 or uint32[n_rows], as narrow as the feature's bins allow: all columns wait side by side until
        the matrix is put together.
    """

    feature: Feature
    codes: np.ndarray

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "codes", self.codes.astype(code_type(self.feature)))


def code_type(*features: Feature) -> type:
    """The narrowest unsigned type for the codes of all the features, the missing code included."""
    highest = max((f.n_bins - 1 + f.has_missing for f in features), default=0)
    return np.uint8 if highest < 1 << 8 else np.uint16 if highest < 1 << 16 else np.uint32


def cut_points(table: Table, column: Column, rule: Numeric, n_bins: int) -> np.ndarray:
    """Ascending edges for a continuous column; empty when it is constant or no cut pays.

    Raises CapabilityError for a supervised rule on a regression target.
    """
    known = ~column.missing
    rows = column.values[known]
    values, counts = np.unique(rows, return_counts=True)
    if rule in (Numeric.bucketised, Numeric.mdl):
        if table.task is not Task.classification:
            msg = f"encoder.numeric={rule.value} looks at classes, but the target {table.target.name!r} holds numbers"
            raise CapabilityError(msg)
        cell = np.searchsorted(values, rows) * table.n_classes + table.target.codes[known]
        counts = np.bincount(cell, minlength=len(values) * table.n_classes).reshape(len(values), table.n_classes)
    if len(values) < 2:
        return np.empty(0)
    if rule in (Numeric.kmeans, Numeric.kmeans_elkan):
        return cuts.kmeans(values, counts, rows, n_bins, elkan=rule is Numeric.kmeans_elkan)
    if rule is Numeric.quantile:
        return cuts.quantile(values, counts, n_bins)
    if rule in (Numeric.equal_width_floor, Numeric.equal_width_round):
        floor = rule is Numeric.equal_width_floor
        return cuts.equal_width_floor(values, n_bins) if floor else cuts.equal_width_round(values, n_bins)
    if rule is Numeric.midpoints:
        return cuts.all_midpoints(values)
    return cuts.mdl(values, counts) if rule is Numeric.mdl else cuts.bucketised(values, counts)


def code_numeric(
    column: Column, position: int, edges: np.ndarray, tests: BinTests, *, missing_bin: bool
) -> list[Coded]:
    """Codes of a continuous column cut at ``edges``."""
    missing = column.missing
    codes = np.searchsorted(edges, column.values, side="left")
    codes[missing] = len(edges) + 1
    has_missing = bool(missing.any()) and not missing_bin
    n_bins = len(edges) + 1 + missing_bin
    spelled = tuple(edges.astype(np.float64).tolist())
    if n_bins == 2 and len(edges) == 1 and tests is not BinTests.multiway:
        rule = Threshold(column.name, spelled[0], column.unit)
        return [Coded(SingleTest(column.name, position, Family.thresholds, 2, has_missing, rule), codes)]
    family = {"onehot": Family.equals, "multiway": Family.multiway, "thresholds": Family.thresholds}[tests.value]
    feature = BinnedFeature(column.name, position, family, n_bins, has_missing, spelled, missing_bin, column.unit)
    return [Coded(feature, codes)]


def present_values(*columns: Column) -> np.ndarray:
    """Ascending codes that occur in one of the columns."""
    size = len(columns[0].categories)
    occurs = np.zeros(size, bool)
    for column in columns:
        occurs[column.values[column.values >= 0]] = True
    return np.flatnonzero(occurs)


def code_categories(
    column: Column, position: int, present: np.ndarray, tests: Categorical, *, missing_bin: bool
) -> list[Coded]:
    """Codes of a categorical column (or of an ordinal one taken so); ``present`` are the values that get a bin."""
    codes, has_missing = _bins_of_values(column, present, missing_bin)
    categories = tuple(column.categories[i] for i in present)
    n_bins = len(present) + missing_bin
    if tests is not Categorical.multiway and (tests is Categorical.drop_last or n_bins == 2):
        return _single_tests(column, position, codes, categories, n_bins, has_missing, missing_bin)
    family = Family.multiway if tests is Categorical.multiway else Family.equals
    return [Coded(CategoryFeature(column.name, position, family, n_bins, has_missing, categories, missing_bin), codes)]


def _bins_of_values(column: Column, present: np.ndarray, missing_bin: bool) -> tuple[np.ndarray, bool]:
    """Bin of each row (missing: ``len(present)``), and whether a row is left without one."""
    lookup = np.full(len(column.categories) + 2, len(present), np.int64)  # two more for the codes −1 and −2
    lookup[present] = np.arange(len(present))
    codes = lookup[column.values]
    return codes, bool((codes == len(present)).any()) and not missing_bin


def _single_tests(column, position, codes, categories, n_bins, has_missing, missing_bin) -> list[Coded]:
    """A two-outcome column of its own for every bin but the last."""
    made = []
    for index in range(n_bins - 1):
        rule = Equals(column.name, categories[index], missing_is_other=missing_bin)
        outcome = np.where(codes == index, 0, 1)
        if has_missing:
            outcome[codes == n_bins] = 2
        made.append(Coded(SingleTest(column.name, position, Family.thresholds, 2, has_missing, rule), outcome))
    return made


def code_ordinal(column: Column, position: int, present: np.ndarray, *, missing_bin: bool) -> list[Coded]:
    """Codes of an ordinal column whose tests are thresholds on its order."""
    codes, has_missing = _bins_of_values(column, present, missing_bin)
    feature = OrdinalFeature(
        column.name, position, Family.thresholds, len(present) + missing_bin, has_missing, column.categories,
        tuple(present.tolist()), missing_bin,
    )  # fmt: skip
    return [Coded(feature, codes)]


def is_identifier(column: Column, least: int = 21) -> bool:
    """Whether a categorical column has another value in each of its (at least 21) known rows."""
    if column.kind is not ColumnKind.categorical:
        return False
    known = column.values[column.values >= 0]
    return len(known) >= least and len(np.unique(known)) == len(known)
