"""Parts of data sets: those of a table in memory, and rows of others."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from arboretum.errors import ContractError
from arboretum.interfaces.dataset import InParts, Part
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

    def role(self, name: str) -> np.ndarray:
        """A role, float64[n_rows]."""
        return self.table.roles[name]

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
    return InParts(table.take(np.arange(0)), parts, grouped=table.groups is not None)


@attrs.frozen(eq=False)
class SomeRows:
    """Some rows of a part.

    kept : bool[·], whether each row of the part is among them.
    """

    part: Part
    kept: np.ndarray
    n_rows: int

    @property
    def name(self) -> str:
        """How errors name the part."""
        return self.part.name

    def _check(self, found: int) -> None:
        if found != len(self.kept):
            raise ContractError(
                f"{self.name}: {len(self.kept)} rows are announced, and {found} come"
            )

    def column(self, name: str) -> Column:
        """Read one column."""
        column = self.part.column(name)
        self._check(len(column.values))
        return column.take(self.kept)

    def target(self) -> Target:
        """Read the target."""
        target = self.part.target()
        self._check(len(target.missing))
        return target.take(self.kept)

    def weights(self) -> np.ndarray:
        """Read the weights, float64[n_rows]."""
        weights = self.part.weights()
        self._check(len(weights))
        own: np.ndarray = weights[self.kept]
        return own

    def role(self, name: str) -> np.ndarray:
        """Read a role, float64[n_rows]."""
        values = self.part.role(name)
        self._check(len(values))
        own: np.ndarray = values[self.kept]
        return own

    def load(self) -> Table:
        """Read all of it."""
        table = self.part.load()
        self._check(table.n_rows)
        return table.take(self.kept)


def without_attributes(part: Part, schema: Table) -> Table:
    """Return target, weights and roles of a part.   schema : of all."""
    return attrs.evolve(
        schema,
        columns=(),
        target=part.target(),
        weights=None if schema.weights is None else part.weights(),
        roles={name: part.role(name) for name in schema.roles},
    )


def rows_of_parts(data: InParts, kept: np.ndarray) -> InParts:
    """Return some rows of a data set in parts; parts without any are left out.

    kept : bool[n_rows], in the order of rows.
    """
    parts = []
    for start, part in data.starts():
        own = kept[start : start + part.n_rows]
        if own.all():
            parts.append(part)
        elif own.any():
            parts.append(SomeRows(part, own, int(np.count_nonzero(own))))
    return attrs.evolve(data, parts=tuple(parts))
