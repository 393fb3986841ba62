"""Contract: where does the table come from?"""

from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.table import Table


class Dataset(Component, Protocol):
    """A source of one raw table.

    A class may state ``offline = True``: ``load`` needs neither a file nor the network.  Printed
    examples prefer such sets.
    """

    def load(self, seed: int) -> Table:
        """Return the table.  Called once per run, before encoding; may read files and, for OpenML,
        the network.

        seed : used by random generators only; a stored data set ignores it.
        Raises DataError: missing or empty file, ragged rows, absent target, infinite values, …
        """
