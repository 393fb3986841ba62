"""Coded features that say how each of their tests reads on the raw column; and tests where "missing" is a category of its own.

Bins are numbered from low to high, or in the order of the categories.  Where "missing" is a category of its own it is
the last bin; otherwise a missing value has the code ``n_bins`` and no outcome (``has_missing``).
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arboretum.api import Bins, Equals, Family, Feature, Interval, OrdinalThreshold, RawFeature, TestRule, Threshold, Values


@attrs.frozen
class CodedFeature(Feature):
    """A feature of this encoder.   missing_bin : the last bin is "missing"."""

    missing_bin: bool = False


@attrs.frozen
class BinnedFeature(CodedFeature):
    """A continuous column cut at ``edges``: bin k is ``edges[k−1] < value ≤ edges[k]``.   unit : as in Column."""

    edges: tuple[float, ...] = ()
    unit: str = ""

    def rule(self, index: int) -> TestRule:
        """The interval, threshold or multiway test with that index."""
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
    """A categorical or ordinal column; bin k is ``categories[k]``.  In the family ``thresholds`` bin 1 is all the rest."""

    categories: tuple[str, ...] = ()

    def rule(self, index: int) -> TestRule:
        """The equality or multiway test with that index."""
        if self.family is Family.multiway:
            return Values(self.column, self.categories, missing_outcome=self.missing_bin)
        if index == len(self.categories):
            return Equals(self.column, None)
        return Equals(self.column, self.categories[index], missing_is_other=self.missing_bin)


@attrs.frozen
class OrdinalFeature(CodedFeature):
    """An ordinal column whose tests are "at most this value".

    categories : all values of the raw column, low to high.   positions : which of them the bins are, ascending.
    """

    categories: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()

    def rule(self, index: int) -> TestRule:
        """The threshold test with that index."""
        if index == len(self.positions) - 1:
            return Known(self.column)
        kind = OrdinalAtMost if self.missing_bin else OrdinalThreshold
        return kind(self.column, self.categories, self.positions[index])


@attrs.frozen
class RawOrdinal(RawFeature):
    """An ordinal column searched raw: its values are the codes 0, 1, …, its tests "at most this value"."""

    categories: tuple[str, ...] = ()

    def rule(self, threshold: float) -> TestRule:
        """The test "code ≤ threshold", read as "at most the category with the highest such code"."""
        last = len(self.categories) - 1
        return OrdinalThreshold(self.column, self.categories, min(int(threshold // 1), last))


@attrs.frozen
class Known(TestRule):
    """Outcome 0 is "the value is known", outcome 1 "it is missing"; no row is without an outcome."""

    tag: ClassVar[str] = "known"
    column: str

    def outcomes(self, table, rows):
        return table.column(self.column).missing[rows].astype(np.int32)

    def outcome_of(self, row):
        value = row[self.column]
        return int(value is None or value != value)  # NaN is the one value that differs from itself

    def outcome_label(self, outcome):
        return "is known" if outcome == 0 else "is missing"


@attrs.frozen
class OrdinalAtMost(TestRule):
    """Outcome 0 is "at most ``categories[index]``" of an ordinal column; a missing or unseen value takes outcome 1."""

    tag: ClassVar[str] = "ordinal_at_most"
    column: str
    categories: tuple[str, ...]
    index: int

    def __attrs_post_init__(self):
        self._threshold  # noqa: B018 - it refuses an index that is no position

    @property
    def _threshold(self) -> OrdinalThreshold:
        return OrdinalThreshold(self.column, self.categories, self.index)

    def outcomes(self, table, rows):
        return np.abs(self._threshold.outcomes(table, rows))  # no outcome (−1) becomes 1

    def outcome_of(self, row):
        return abs(self._threshold.outcome_of(row))

    def outcome_label(self, outcome):
        return f"{'≤' if outcome == 0 else 'not ≤'} {self.categories[self.index]}"
