"""Coded features that say how each of their tests reads on the raw column.

Bins are numbered from low to high, or in the order of the categories.  Where "missing" is a category of its own it is
the last bin; otherwise a missing value has the code ``n_bins`` and no outcome (``has_missing``).
"""

from __future__ import annotations

import attrs

from arboretum.api import (
    Bins,
    Equals,
    Family,
    Feature,
    Interval,
    OrdinalThreshold,
    RawFeature,
    TestRule,
    Threshold,
    Values,
)
from arboretum_data.encoding.rules import Known, OrdinalAtMost


@attrs.frozen
class BinnedFeature(Feature):
    """A continuous column cut at ``edges``: bin k is ``edges[k−1] < value ≤ edges[k]``.

    missing_bin : the last bin is "missing".   unit : as in Column.
    """

    edges: tuple[float, ...] = ()
    missing_bin: bool = False
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
class CategoryFeature(Feature):
    """A categorical or ordinal column; bin k is ``categories[k]``.   missing_bin : the last bin is "missing"."""

    categories: tuple[str, ...] = ()
    missing_bin: bool = False

    def rule(self, index: int) -> TestRule:
        """The equality or multiway test with that index."""
        if self.family is Family.multiway:
            return Values(self.column, self.categories, missing_outcome=self.missing_bin)
        if index == len(self.categories):
            return Equals(self.column, None)
        return Equals(self.column, self.categories[index], missing_is_other=self.missing_bin)


@attrs.frozen
class OrdinalFeature(Feature):
    """An ordinal column whose tests are "at most this value".

    categories : all values of the raw column, low to high.   positions : which of them the bins are, ascending.
    """

    categories: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()
    missing_bin: bool = False

    def rule(self, index: int) -> TestRule:
        """The threshold test with that index."""
        if index == len(self.positions) - 1:
            return Known(self.column)
        kind = OrdinalAtMost if self.missing_bin else OrdinalThreshold
        return kind(self.column, self.categories, self.positions[index])


@attrs.frozen
class SingleTest(Feature):
    """One test with two outcomes; the code is the outcome (family ``thresholds`` with two bins)."""

    test: TestRule | None = None

    def rule(self, index: int) -> TestRule:
        """The test (``index`` is 0)."""
        return self.test


@attrs.frozen
class RawOrdinal(RawFeature):
    """An ordinal column searched raw: its values are the codes 0, 1, …, its tests "at most this value"."""

    categories: tuple[str, ...] = ()

    def rule(self, threshold: float) -> TestRule:
        """The test "code ≤ threshold", read as "at most the category with the highest such code"."""
        last = len(self.categories) - 1
        return OrdinalThreshold(self.column, self.categories, min(int(threshold // 1), last))
