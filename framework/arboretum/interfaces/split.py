"""Contract: which rows train, which test?"""

from typing import Protocol

import attrs
import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.table import Table


@attrs.frozen(eq=False)
class Division:
    """Row numbers of the three parts; int64 arrays, disjoint, ascending; ``valid`` and ``test``
    may be empty.
    """

    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray


class Split(Component, Protocol):
    """A rule that divides the rows.  One run uses one fold: components with folds have a field
    ``fold``.
    """

    def divide(self, table: Table, seed: int) -> Division:
        """Return the parts.  Called once per run.  Raises DataError when a part that must train
        would be empty.
        """


class SplitInParts(Protocol):
    """Optional for a split: it divides rows that are read part by part, too."""

    def assign_rows(self, classes: np.ndarray | None, n_rows: int, seed: int) -> np.ndarray:
        """Return uint8[n_rows]: 0 for a row that trains, 1 for one of ``valid``, 2 for one of
        ``test``; those of ``divide`` for a table of so many rows without groups.

        classes : ints[n_rows], the class of each row; None where the target is a number.
        Raises DataError as ``divide``.
        """
