"""Contract: which tests may a node use?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded
from arboretum.model.rules import TestRule


class Predicate(Component, Protocol):
    """A generator of tests at the node, from the raw table.

    With a predicate its tests are the only ones: what the encoder makes says which columns have a price.  But where it states
    ``beside_raw = True`` thresholds on raw columns compete as well; ties then go to the lowest column.
    """

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[TestRule]:
        """Return the tests that compete at the node with the objects ``rows`` (int64[k]); none makes it a leaf.

        Object i is row ``objects.row_of_object[i]`` of ``objects.table``.  Equal seeds and rows give equal tests; ties of their
        scores go to the first.  A test of one outcome at the node never competes.  It costs, summed over the columns it reads,
        what the dearest test of each column costs (0 where ``Prices.once_per_column`` and the path has asked the column).
        """
