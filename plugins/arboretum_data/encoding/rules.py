"""Tests on ordinal columns where "missing" is a category of its own: a missing value takes the second outcome."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arboretum.api import OrdinalThreshold, TestRule


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
    """Outcome 0 is "at most ``categories[index]``"; a missing or unseen value takes outcome 1."""

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
