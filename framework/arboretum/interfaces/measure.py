"""Contract: how good was a run?"""

from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.record import Record


class Measure(Component, Protocol):
    """A number of a finished run by which methods are compared, besides the metrics that a record
    has.  ``arboretum compare --measure NAME`` takes it.

    words : as tables and pictures show it, with its unit.
    """

    @property
    def words(self) -> str:
        """As shown: "ratio to the proven minimum"."""

    @property
    def higher_is_better(self) -> bool:
        """Which way is better."""

    def of(self, record: Record) -> float | None:
        """Return the number of a run; None or NaN where it has none.

        Called once per run and report.  The record is read from its file and has no tree.
        """
