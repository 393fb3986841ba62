"""Contract: which tests may a node use?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded
from arboretum.model.rules import TestRule


class Predicate(Component, Protocol):
    """A generator of tests at the node, from raw columns (``encoder=raw``)."""

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[TestRule]:
        """Return the tests that compete at the node with the objects ``rows`` (int64[k]), read on ``objects.table``.

        Called once per node.  Equal seeds and rows give equal tests; ties of their scores go to the first.
        """
        ...
