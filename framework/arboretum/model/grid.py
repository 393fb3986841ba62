"""A picture as data: numbers in rows and columns, each with the words that stand in its field."""

from __future__ import annotations

from collections.abc import Sequence

import attrs


@attrs.frozen
class Grid:
    """A table that is shown as coloured fields.

    title, subtitle : above the fields.   rows, columns : labels.   values : float[rows][columns], what is coloured.
    texts : str[rows][columns], what stands in a field.   small : str[rows][columns], a second, smaller line, or ().
    breaks : numbers of the rows before which a gap is left.   scales : per column the values of the lightest and the
        darkest colour; () for the column's own least and largest.
    framed : (row, column) of fields with a frame around them.   legend : what colours and frames mean.   notes : below.
    column_notes : a second line under a column's label.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    texts: Sequence[Sequence[str]]
    subtitle: str = ""
    small: Sequence[Sequence[str]] = ()
    breaks: Sequence[int] = ()
    scales: Sequence[tuple[float, float]] = ()
    framed: frozenset[tuple[int, int]] = frozenset()
    legend: str = ""
    notes: Sequence[str] = ()
    column_notes: Sequence[str] = ()
