"""Contract: where does the table come from?"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import attrs

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


class Part(Protocol):
    """Some of the rows of a data set, next to each other; picklable, so that it can be loaded where
    its rows are to lie.
    """

    @property
    def name(self) -> str:
        """What an error calls it: "row group 3 of rows.parquet"."""

    @property
    def n_rows(self) -> int:
        """Rows of the table."""

    def load(self, columns: Sequence[str] | None = None) -> Table:
        """Read them.   columns : their names, in the order of the table; None: all."""


@attrs.frozen(eq=False)
class InParts:
    """A data set that is read part by part.

    schema : its table without rows: columns with their kinds and all their categories, the target
        with all its classes; weights (of no row) where rows have weights.
    """

    schema: Table
    parts: tuple[Part, ...]

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return sum(part.n_rows for part in self.parts)

    def tables(self) -> Iterator[Table]:
        """Every part's table, one at a time."""
        return (part.load() for part in self.parts)


class DatasetInParts(Protocol):
    """Optional for a data set: it can be read part by part."""

    def in_parts(self, seed: int) -> InParts:
        """Read what all parts share, and name them.  The rows of the parts, one after the other,
        are those of ``load(seed)``.
        """
