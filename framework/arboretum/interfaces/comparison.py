"""Contract: which of several methods differ?"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import attrs

from arboretum.interfaces.component import Component
from arboretum.model.document import Section
from arboretum.model.scores import Repeats

ASKS: Mapping[str, str] = MappingProxyType(
    {
        "overall": "does any method differ?",
        "pairs": "which pairs differ?",
        "control": "which differ from the control?",
        "datasets": "which differ on which data set?",
    }
)
"""What a comparison may ask → the question; reports have them in this order."""


@attrs.frozen
class Terms:
    """What all comparisons of a report go by.

    alpha : level of significance, in (0, 1).
    rope : half the width of the region of practical equivalence, in the measure's unit; 0: none.
    control : the method that the others are held against, "" for none.
    """

    alpha: float = 0.05
    rope: float = 0.0
    control: str = ""


class Comparison(Component, Protocol):
    """A test of methods that ran on the same data sets.  ``arboretum compare`` asks every installed
    one.

    asks : a word of :data:`ASKS`; those that ask for "control" are called only where there is one.
    A comparison that draws declares the capability ``randomised`` and has its seed and number of
    draws as fields: what is to be quick leaves it out.
    """

    @property
    def asks(self) -> str:
        """A word of :data:`ASKS`."""

    def judge(self, repeats: Repeats, terms: Terms) -> Section:
        """Return what it says, in sentences, tables and pictures.

        repeats : values of one measure by data set, block and method; some may be missing.
        Two calls return the same.  Raises DataError, one line, where it cannot be done with these
        values: too few data sets, methods or blocks.  The report then says so and goes on.
        """
