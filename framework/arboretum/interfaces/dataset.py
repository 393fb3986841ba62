"""Contract: where does the table come from?"""

from collections.abc import Callable, Iterator
from typing import Protocol

import attrs
import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.table import Column, Table, Target


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

    def column(self, name: str) -> Column:
        """Read one column, as the schema has it.  Raises DataError, naming the part."""

    def target(self) -> Target:
        """Read the target."""

    def weights(self) -> np.ndarray:
        """Read the weights, float64[n_rows]; asked where the schema has weights."""

    def role(self, name: str) -> np.ndarray:
        """Read a role, float64[n_rows]; asked where the schema has it."""

    def load(self) -> Table:
        """Read all of it."""


@attrs.frozen(eq=False)
class InParts:
    """A data set that is read part by part.

    schema : its table without rows: columns with their kinds and all their categories, the target
        with all its classes; weights and roles (of no row) where rows have such.
    grouped : rows of one group are to stay on one side of a split.
    columns : what rows add to the criterion's own columns: float64[n, k], of a table of n rows that
        has target, weights and roles, and no attribute, and of float64[n], the share of each row in
        the weight of all; None: nothing.
    """

    schema: Table
    parts: tuple[Part, ...]
    grouped: bool = False
    columns: Callable[[Table, np.ndarray], np.ndarray] | None = None

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return sum(part.n_rows for part in self.parts)

    def starts(self) -> Iterator[tuple[int, Part]]:
        """Yield each part, with the number of its first row in the table."""
        first = 0
        for part in self.parts:
            yield first, part
            first += part.n_rows


class DatasetInParts(Protocol):
    """Optional for a data set: it can be read part by part."""

    def in_parts(self, seed: int) -> InParts:
        """Read what all parts share, and name them.  The rows of the parts, one after the other,
        are those of ``load(seed)``.
        """
