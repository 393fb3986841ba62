"""What the spellings of a column mean: decimal commas, dates; and hints where a column is text that looks like more.

Nothing is guessed silently: what was inferred, and what was left as text for want of certainty, becomes a note.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs
import numpy as np

from arboretum.api import read_dates
from arboretum_data.reading.cells import Cells, parse_numbers

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
"""Text that is a number in two ways: 1,234 is 1234 with a mark between thousands, or 1.234 with a decimal comma."""
_DATE_LIKE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b.*|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}")
_LOOK = 50
"""Spellings of a text column that are looked at for a hint."""
_STRAY = 3
_EXAMPLES = 3
_MANY = 50_000


@attrs.frozen
class Reading:
    """How spellings are read.   decimal : "." or ",", None to infer it.
    text : columns that stay text.   undated : columns in which dates are not looked for (the target).
    """

    decimal: str | None = None
    text: frozenset[str] = frozenset()
    undated: frozenset[str] = frozenset()


def interpret(cells: Sequence[Cells], reading: Reading) -> tuple[list[Cells], dict[str, str]]:
    """Give text columns their numbers where decimal commas or dates say so; also notes, by subject."""
    found = [c if c.numbers is not None or c.declared or c.name in reading.text else with_numbers(c) for c in cells]
    spelled = [i for i, c in enumerate(found) if c.numbers is None and not c.declared and c.name not in reading.text]
    open_ = [i for i in spelled if found[i].parsed is None]
    plain = [c for c in found if c.parsed is not None or c.numbers is not None]
    notes = _read_decimals(found, open_, reading.decimal, plain)
    open_ = [i for i in open_ if found[i].parsed is None]
    dated = []
    for i in open_:
        dates = None if found[i].name in reading.undated else read_dates(found[i].values)
        if dates is not None:
            unit, values = dates
            found[i] = attrs.evolve(found[i], parsed=values, unit=unit)
            dated.append(found[i])
    if dated:
        notes["dates"] = (
            f"dates are read as {' and '.join(sorted({c.unit for c in dated}))} since 1970-01-01: {_names(dated)}; "
            f"'dataset.kinds={{{dated[0].name}: categorical}}' keeps the text"
        )
    for i in open_:
        skip = found[i].parsed is not None or f"decimal {found[i].name}" in notes or found[i].name in reading.undated
        hint = None if skip else _hint(found[i])
        if hint:
            notes[f"hint {found[i].name}"] = f"column {found[i].name!r} {hint}"
    return found, notes


def with_numbers(cells: Cells) -> Cells:
    """The column with its spellings parsed, if all of them are numbers."""
    return cells if cells.parsed is not None else attrs.evolve(cells, parsed=parse_numbers(cells.values))


def _read_decimals(
    found: list[Cells], open_: Sequence[int], decimal: str | None, plain: Sequence[Cells]
) -> dict[str, str]:
    """Set ``parsed`` of columns with decimal commas.  Inferred only where some column can be nothing else.

    plain : the columns that are numbers as they stand; where one has decimal points, a comma is hardly a decimal, too.
    """
    if decimal == ".":
        return {}
    pointed = [c for c in plain if _shows_points(c)] if open_ or decimal else []
    points = bool(pointed)
    if decimal == "," and pointed:
        return {**_read_decimals(found, open_, ",", ()), "decimal": (
            f"dataset.decimal=comma, but these columns show decimal points and are read with them: {_names(pointed)}"
        )}
    candidates = {i: parsed for i in open_ if (parsed := parse_commas(found[i].values)) is not None}
    commas = [i for i in candidates if any("," in value for value in found[i].values)]
    if decimal is None:
        certain = any(not all(_THOUSANDS.fullmatch(v) for v in found[i].values if "," in v) for i in commas)
        if points or not certain:
            return {f"decimal {found[i].name}": _comma_hint(found[i]) for i in commas}
    for i, parsed in candidates.items():
        found[i] = attrs.evolve(found[i], parsed=parsed)
    if decimal is None and commas:
        listed = _names([found[i] for i in commas])
        return {"decimal": f"read with decimal commas: {listed}; dataset.decimal=point keeps the text"}
    return {}


def _shows_points(cells: Cells) -> bool:
    if cells.numbers is not None:
        some = cells.numbers[:_MANY]
        return bool((some != np.floor(some))[np.isfinite(some)].any())
    return any("." in value for value in cells.values[:_MANY])


def parse_commas(values: Sequence[str]) -> np.ndarray | None:
    """float64[len(values)] with a comma before decimals; None where a value is no such number ("3.14" is none)."""
    if any("." in value for value in values):
        return None
    return parse_numbers([value.replace(",", ".", 1) for value in values])


def _comma_hint(cells: Cells) -> str:
    return (
        f"column {cells.name!r} ({_examples(cells)}) is read as text: a comma may mark decimals or thousands; "
        "dataset.decimal=comma reads decimal commas"
    )


def _hint(cells: Cells) -> str | None:
    """Why a text column may be meant otherwise, and what to do; None where nothing suggests it."""
    look = cells.values[:_LOOK]
    if look and all(_DATE_LIKE.fullmatch(value) for value in look):
        return (
            f"({_examples(cells)}) looks like dates and is read as text with {len(cells.values)} values; "
            "write dates as 2020-03-01 and they are compared as dates"
        )
    strays = []
    for value in cells.values[:_MANY]:
        if parse_numbers((value,)) is None and parse_commas((value,)) is None:
            strays.append(value)
            if len(strays) > _STRAY:
                return None
    if len(cells.values) < 10 * len(strays) or not strays:
        return None
    listed = ", ".join(repr(value) for value in strays)
    words = "it means" if len(strays) == 1 else "they mean"
    return f"is read as text, for {listed} among numbers; if {words} a missing value, 'dataset.missing=[{_spelt(strays)}]'"


def _spelt(words: Sequence[str]) -> str:
    """Words for a list on the command line, the usual ones among them."""
    return ",".join(f'"{word}"' for word in ("", "?", "NA", "nan", *words))


def _names(cells: Sequence[Cells]) -> str:
    more = f" and {len(cells) - 10} more" if len(cells) > 10 else ""
    return ", ".join(repr(c.name) for c in cells[:10]) + more


def _examples(cells: Cells) -> str:
    shown = ", ".join(repr(value[:30]) for value in cells.values[:_EXAMPLES])
    return shown + (", …" if len(cells.values) > _EXAMPLES else "")


