"""A table in memory, as if it were read part by part."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from arboretum.interfaces.dataset import InParts
from arboretum.model.table import Column, Table, Target


@attrs.frozen(eq=False)
class TablePart:
    """Some rows of a table."""

    table: Table
    name: str

    @property
    def n_rows(self) -> int:
        """Rows of the part."""
        return self.table.n_rows

    def column(self, name: str) -> Column:
        """One column."""
        return self.table.column(name)

    def target(self) -> Target:
        """The target."""
        return self.table.target

    def weights(self) -> np.ndarray:
        """The weights, float64[n_rows]."""
        return self.table.row_weights()

    def load(self) -> Table:
        """All of it."""
        return self.table


def table_in_parts(table: Table, sizes: Sequence[int]) -> InParts:
    """Return a table in parts of so many rows, the last one taking the rest."""
    ends = [0, *np.cumsum(sizes).tolist()]
    stretches = zip(ends, [*ends[1:], table.n_rows], strict=True)
    parts = tuple(
        TablePart(table.take(np.arange(a, min(b, table.n_rows))), f"part {k} of {table.name}")
        for k, (a, b) in enumerate(stretches)
        if a < min(b, table.n_rows)
    )
    return InParts(table.take(np.arange(0)), parts)
