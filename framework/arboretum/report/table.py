"""Tables: aligned for the terminal, as CSV, as Markdown."""

import math
from collections.abc import Iterable, Mapping, Sequence

from arboretum.model.judgement import csv_text
from arboretum.model.plain import Plain
from arboretum.report.text import cut, display_width, padded

SHORTEST_HEADING = 5  # columns of the terminal that the heading of numbers keeps


def text_table(
    rows: Sequence[Plain],
    columns: Sequence[str] | Mapping[str, str] | None = None,
    *,
    width: int | None = 120,
    absent: str = "–",
) -> str:
    """Align rows under their headings; numbers to the right, text to the left.

    rows : mappings from column to value.
    columns : which to show, in order (all, as first met, unless given); a mapping also gives the
        headings.
    width : columns of the terminal, None where nothing is to be cut: first the headings of numbers
        give way, then the widest texts, as far as two texts of a column stay two.
    absent : stands for a missing value, None and NaN.  Ends with a newline.
    """
    headings = _headings(rows, columns)
    if not headings:
        return "(nothing to compare)\n"
    right = [_holds_numbers(row.get(name) for row in rows) for name in headings]
    titles = list(headings.values())
    cells = [[spell_cell(row.get(name), absent) for name in headings] for row in rows]
    sizes = [
        max(map(display_width, (title, *(row[i] for row in cells))))
        for i, title in enumerate(titles)
    ]
    if width is not None:
        _shrink_columns(
            sizes,
            [
                _least_width(title, [row[i] for row in cells], right[i])
                for i, title in enumerate(titles)
            ],
            right,
            width,
        )
    rule = "  ".join("─" * size for size in sizes)
    lines = [
        "  ".join(
            padded(cut(cell, size), size, to_right)
            for cell, size, to_right in zip(row, sizes, right, strict=True)
        )
        for row in (titles, *cells)
    ]
    return "\n".join(line.rstrip() for line in (lines[0], rule, *lines[1:])) + "\n"


def csv_table(
    rows: Sequence[Plain], columns: Sequence[str] | Mapping[str, str] | None = None
) -> str:
    """Return the rows as CSV: numbers in full, true and false for booleans, nothing for a missing
    value, None and NaN.

    Arguments as for :func:`text_table`.
    """
    headings = _headings(rows, columns)

    def csv_value(value: object) -> object:
        """One cell as the csv module writes it."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        # a NumPy number would be written by its repr
        return float(value) if isinstance(value, float) else value

    return csv_text(
        [
            list(headings.values()),
            *([csv_value(row.get(name)) for name in headings] for row in rows),
        ]
    )


def markdown_table(
    rows: Sequence[Plain],
    columns: Sequence[str] | Mapping[str, str] | None = None,
    *,
    absent: str = "–",
) -> str:
    """Return the rows as a Markdown table, numbers spelled and aligned as in :func:`text_table`,
    which explains the arguments.
    """
    headings = _headings(rows, columns)
    right = [_holds_numbers(row.get(name) for row in rows) for name in headings]
    lines = [list(headings.values()), ["--:" if numeric else ":--" for numeric in right]]
    lines += [[spell_cell(row.get(name), absent) for name in headings] for row in rows]
    safe = [[" ".join(cell.replace("|", "\\|").split()) for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in safe)


def _headings(
    rows: Sequence[Plain], columns: Sequence[str] | Mapping[str, str] | None
) -> dict[str, str]:
    """Return heading by column: those asked for, else (None) all keys of the rows in the order in
    which they occur.
    """
    if columns is None:
        columns = list(dict.fromkeys(key for row in rows for key in row))
    return dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}


def _holds_numbers(values: Iterable[object]) -> bool:
    """Whether all that is known of a column are numbers, and something is."""
    known = [value for value in values if value is not None]
    return bool(known) and all(
        not isinstance(value, str | bool) and hasattr(value, "__float__") for value in known
    )


def _least_width(title: str, cells: Sequence[str], numeric: bool) -> int:
    """Return the width a column keeps: all of its numbers (``numeric``); of its texts what tells
    them apart, and 8.

    title, cells : of the column.
    """
    widest = max(map(display_width, cells), default=0)
    if numeric:
        return max(widest, min(SHORTEST_HEADING, display_width(title)))
    least = min(8, max(widest, display_width(title)))
    different = set(cells)
    while least < widest and len({cut(text, least) for text in different}) < len(different):
        least += 1
    return least


def _shrink_columns(
    sizes: list[int], least: Sequence[int], numeric: Sequence[bool], width: int
) -> None:
    """Take columns of the terminal until the line fits: from the headings of numbers, then from
    the widest texts.

    sizes, least, numeric : by column; ``sizes`` is written.
    """
    for numbers in (True, False):
        while sum(sizes) + 2 * (len(sizes) - 1) > width:
            candidates = [
                i for i, size in enumerate(sizes) if numeric[i] is numbers and size > least[i]
            ]
            if not candidates:
                break
            sizes[max(candidates, key=lambda i: sizes[i])] -= 1


def spell_cell(value: bool | str | float | None, absent: str = "–") -> str:
    """Return one value for a reader: whole numbers below 1e15 in full, others with four significant
    digits and at most four decimals, below 1e-3 and from 1e4 on without that limit, by exponent
    where it is shorter; yes and no for booleans.
    """
    if isinstance(value, bool | str):
        return value if isinstance(value, str) else "yes" if value else "no"
    number = math.nan if value is None else float(value)
    if math.isnan(number):
        return absent
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    if 1e-3 <= abs(number) < 1e4:
        return f"{number:.{min(max(3 - math.floor(math.log10(abs(number))), 0), 4)}f}"
    return f"{number:.4g}"


def spell_means(cells: Sequence[tuple[float, float]]) -> list[str | None]:
    """ "0.0533 ± 0.0082", the signs under each other.

    cells : (mean, standard error); a mean that is NaN has None, an error that is NaN is left out.
    """
    means = [None if math.isnan(mean) else spell_cell(mean) for mean, _ in cells]
    errors = ["" if math.isnan(error) else f" ± {spell_cell(error)}" for _, error in cells]
    left, right = (
        max(map(len, (text or "" for text in column)), default=0) for column in (means, errors)
    )
    return [
        None if mean is None else mean.rjust(left) + error.ljust(right)
        for mean, error in zip(means, errors, strict=True)
    ]
