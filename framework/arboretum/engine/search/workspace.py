"""Arrays that the loop and its engines share during one growth."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.engine.search.statistics import Statistics
from arboretum.model.encoded import Encoded, Prices


@attrs.define(eq=False)
class Workspace:
    """The permutation of the objects, and what is added up over them.

    rows : int32[n], the permutation; a node is a segment of it.   spare : int32[n + 1], scratch.
    extra : float64[n, k], the criterion's own columns of the objects of the node at hand; k = 0 without any.
    """

    objects: Encoded
    prices: Prices
    statistics: Statistics
    min_leaf: int
    allow_constant: bool
    rows: np.ndarray
    spare: np.ndarray
    extra: np.ndarray

    @staticmethod
    def of(objects: Encoded, prices: Prices, statistics: Statistics, min_leaf: int, allow_constant: bool) -> Workspace:
        n = objects.n_objects
        rows = np.arange(n, dtype=np.int32)
        return Workspace(
            objects, prices, statistics, min_leaf, allow_constant, rows, np.empty(n + 1, np.int32), np.zeros((n, 0))
        )

    def set_extra(self, rows: np.ndarray, columns: np.ndarray) -> None:
        """Keep a node's own columns, by object."""
        if self.extra.shape[1] != columns.shape[1]:
            self.extra = np.zeros((self.objects.n_objects, columns.shape[1]))
        self.extra[rows] = columns
