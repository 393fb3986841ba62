"""A plain aligned table, for comparisons in the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from arboretum.report.text import cut, display_width


def text_table(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str] | Mapping[str, str] | None = None,
    *,
    width: int = 120,
    absent: str = "–",
) -> str:
    """Align rows under their headings; numbers to the right, text to the left.

    rows : mappings from column to value.   columns : which to show, in order (all, as first met, unless given); a
    mapping also gives the headings.   width : columns of the terminal; the widest text column gives way.   absent :
    stands for a missing value, None and NaN.  Ends with a newline.
    """
    if columns is None:
        columns = list(dict.fromkeys(key for row in rows for key in row))
    headings = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    if not headings:
        return "(nothing to compare)\n"
    numeric = {name: _numeric(row.get(name) for row in rows) for name in headings}
    cells = [[spell_cell(row.get(name), absent) for name in headings] for row in rows]
    sizes = [
        max(display_width(heading), *(display_width(row[i]) for row in cells)) if cells else display_width(heading)
        for i, heading in enumerate(headings.values())
    ]
    _shrink(sizes, [not numeric[name] for name in headings], width)
    right = [numeric[name] for name in headings]
    lines = [_line(list(headings.values()), sizes, right), "  ".join("─" * size for size in sizes)]
    lines += [_line(row, sizes, right) for row in cells]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _numeric(values: Any) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(not isinstance(value, str | bool) and hasattr(value, "__float__") for value in known)


def _shrink(sizes: list[int], may: list[bool], width: int) -> None:
    """Take columns of the terminal from the widest text columns until the line fits, leaving each at least 8."""
    while sum(sizes) + 2 * (len(sizes) - 1) > width:
        candidates = [i for i in range(len(sizes)) if may[i] and sizes[i] > 8]
        if not candidates:
            return
        sizes[max(candidates, key=lambda i: sizes[i])] -= 1


def _line(cells: Sequence[str], sizes: Sequence[int], right: Sequence[bool]) -> str:
    parts = []
    for cell, size, to_right in zip(cells, sizes, right, strict=True):
        text = cut(cell, size)
        fill = " " * (size - display_width(text))
        parts.append(fill + text if to_right else text + fill)
    return "  ".join(parts)


def spell_cell(value: Any, absent: str = "–") -> str:
    """One value for a reader: whole numbers in full, others with four significant digits, yes and no for booleans."""
    if value is None:
        return absent
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    number = float(value)
    if math.isnan(number):
        return absent
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    if 1e-3 <= abs(number) < 1e4:
        places = max(3 - math.floor(math.log10(abs(number))), 0)
        return f"{number:.{min(places, 4)}f}"
    return f"{number:.4g}"
