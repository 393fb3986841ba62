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
