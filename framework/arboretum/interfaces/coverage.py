"""Contract: how close is an object to being identified?"""

from typing import Protocol

import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded


class Coverage(Component, Protocol):
    """A monotone submodular function f_i of the tests asked, per object, from 0 to 1 (Zhang &
    Gionis, section 4).

    A run with several coverages uses their disjunction, 1 − Π (1 − f): an object is covered when
    any of them covers it.
    """

    def covered(self, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows)], 0 … 1: f_i for the objects ``rows`` (int64) that are still
        together at a node.

        f_i is 0 at the root (or 1: nothing to ask), never falls on the way down, and is 1 of an
        object that is alone; it depends on the set of objects alone, not on its order.  A value
        that misses 1 by 1e-12 or less counts as 1.  A run in which one of these is seen to be
        otherwise fails, naming coverage, object and value.
        """


class PreparedCoverage(Protocol):
    """What a coverage makes of the objects of a run."""

    def covered(self, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """Return what the component itself answers on these objects."""


class CoverageOptional(Protocol):
    """What a coverage may have besides, each by itself."""

    def prepare(self, objects: Encoded) -> PreparedCoverage:
        """Return what depends on the root alone, computed once per growth: a value with
        ``covered(objects, rows)`` that answers what the component itself answers on these objects.
        """

    def covered_many(self, objects: Encoded, rows: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return float64[len(rows)]: what ``covered`` answers for each set, where a call per set is
        slow; set k is ``rows[start[k]:start[k + 1]]``.  Of the component and of what it prepares.

        rows : int64[m], one set after the other; an object may be in several.
        start : int64[sets + 1], from 0 to m; no set is empty.
        """
