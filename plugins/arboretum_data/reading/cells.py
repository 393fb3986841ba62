"""One column as a file holds it, before its kind is known, and what its spellings mean.

Every reader hands over the same form: the distinct spellings of a column and a code per row.  Kinds
are inferred from the distinct spellings, so that a column of a million rows costs one look at each
of its values.  Nothing is guessed silently: decimal commas and dates that were inferred, and what
was left as text for want of certainty, become notes.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

import attrs
import numpy as np

from arboretum.api import (
    MISSING,
    DataError,
    by_code,
    fitting_unit,
    from_bins,
    in_unit,
    moment,
    positions,
    refuse_close,
    refuse_merged,
    speller,
    spelling,
    sure,
)

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
"""Text that is a number in two ways: 1,234 is 1234 with a mark between thousands, or 1.234 with
a decimal comma.
"""
_DATE_LIKE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b.*|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}")
_LOOK = 50
"""Spellings of a text column that are looked at for a hint."""
_STRAY = 3
_EXAMPLES = 3
_MANY = 50_000


@attrs.frozen(eq=False)
class Cells:
    """A raw column: text (``values`` and ``codes``) or numbers.

    values : the distinct spellings.
    codes : int32[n_rows] into ``values``, MISSING for none.
    numbers : float64[n_rows] or float32, NaN = missing, where the format is typed (Parquet),
        instead of the two; no integers beyond 2^53.
    declared : the values of a nominal attribute in the order the file declares them (ARFF), or ().
    parsed : float64[len(values)], the values as numbers, where they are known.
    unit : of the numbers, where they are dates (as in :class:`arboretum.api.Column`).
    """

    name: str
    values: tuple[str, ...] = ()
    codes: np.ndarray = attrs.field(default=None)
    numbers: np.ndarray | None = None
    declared: tuple[str, ...] = ()
    parsed: np.ndarray | None = None
    unit: str = ""

    @property
    def n_rows(self) -> int:
        """Number of rows, those without a value included."""
        return len(self.codes if self.numbers is None else self.numbers)

    def as_numbers(self) -> np.ndarray | None:
        """Return float64[n_rows] with NaN = missing, or None when some value is not a number."""
        if self.numbers is not None:
            return np.asarray(self.numbers, float)
        parsed = parse_numbers(self.values) if self.parsed is None else self.parsed
        if parsed is None:
            return None
        return by_code(parsed, self.codes, np.nan)

    def exact_numbers(self) -> np.ndarray | None:
        """Return the same; raises DataError where two integers of the column would become one
        number.
        """
        if (
            self.numbers is None
            and not self.unit
            and (parsed := parse_numbers(self.values) if self.parsed is None else self.parsed)
            is not None
        ):
            refuse_merged(self.name, self.values, parsed)
        return self.as_numbers()

    def as_text(self, order: Sequence[str] = ()) -> Cells:
        """Return the same column with each value in its canonical spelling
        (:mod:`arboretum.model.spelling`).

        order : distinct values listed for it, if any.  Where two of these, or of those declared,
            are spelled apart but one value (1.1 and 1.10 as versions), the text stays as it is.
        """
        if self.numbers is None:
            listed, spell = order or self.declared, speller(self.values)
            if len({*map(spell, listed)}) < len({*listed}):
                return self
            spelt = [*map(spell, self.values)]
            values = tuple(dict.fromkeys(spelt))
            place = positions(spelt, values, MISSING)
            return attrs.evolve(
                self,
                values=values,
                codes=by_code(place, self.codes, MISSING, dtype=np.int32),
                declared=tuple(map(spell, self.declared)),
                parsed=None,
            )
        distinct, codes = np.unique(self.numbers, return_inverse=True)
        n_known = int(np.count_nonzero(~np.isnan(distinct)))
        codes = from_bins(codes, n_known).astype(np.int32)
        return attrs.evolve(
            self, values=tuple(map(spelling, distinct[:n_known])), codes=codes, numbers=None
        )


def parse_numbers(values: Sequence[str]) -> np.ndarray | None:
    """Return float64[len(values)], or None when some value is not a number ("1_000" and "nan" are
    not).
    """
    try:
        parsed = np.array([float(value) for value in values])
    except ValueError:
        return None
    return None if np.isnan(parsed).any() or any("_" in value for value in values) else parsed


def natural_order(values: Iterable[str]) -> list[str]:
    """Sort spellings as numbers where all are numbers, as text otherwise."""
    listed = list(values)
    parsed = parse_numbers(listed)
    if parsed is None:
        return sorted(listed)
    # exact where the numbers are equal
    whole = [int(value) if value.removeprefix("-").isdigit() else 0 for value in listed]
    return [value for *_, value in sorted(zip(parsed.tolist(), whole, listed, strict=True))]


def text_cells(
    name: str,
    spellings: Sequence[str],
    codes: np.ndarray,
    missing: Container[str],
    declared: tuple[str, ...] = (),
    exact: str | None = None,
) -> Cells:
    """Strip the spellings, merge those that become equal, and turn missing-value words into
    MISSING.

    spellings : distinct values as the file has them.
    codes : integers into ``spellings``, or MISSING.
    missing : words that mean "missing".
    declared : values in the order in which the file declares them; () if it does not.
    exact : what stands before a spelling that is the value as it is, blanks and all.
    """
    position: dict[str, int] = {}
    lookup = np.full(len(spellings), MISSING, np.int32)
    for index, word in enumerate(spellings):
        quoted = exact is not None and word.startswith(exact)
        value = word.removeprefix(exact or "") if quoted else word.strip()
        if quoted or value not in missing:
            lookup[index] = position.setdefault(value, len(position))
    return Cells(
        name, tuple(position), by_code(lookup, codes, MISSING, dtype=np.int32), declared=declared
    )


def factorise(
    name: str,
    column: Sequence[str],
    missing: Iterable[str],
    declared: tuple[str, ...] = (),
    exact: str | None = None,
) -> Cells:
    """Return the cells of a column given as one text per row.

    missing, declared, exact : as of :func:`text_cells`.
    """
    position: dict[str, int] = {}
    codes = np.fromiter(
        (position.setdefault(v, len(position)) for v in column), np.int32, len(column)
    )
    return text_cells(name, list(position), codes, frozenset(missing), declared, exact)


def checked_header(names: Sequence[str], where: str) -> list[str]:
    """Return the names without surrounding blanks, empty ones numbered; raises DataError, naming
    the file ``where``, on a name that comes twice.
    """
    header = [name.strip() or f"column_{i + 1}" for i, name in enumerate(names)]
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise DataError(
                f"{where}: column name {name!r} comes twice; rename one of them in the file"
            )
        seen.add(name)
    return header


def interpret(
    cells: Sequence[Cells], decimal: str | None, text: Container[str], undated: Container[str] = ()
) -> tuple[list[Cells], dict[str, str]]:
    """Return the columns, those of text with their numbers where decimal points, decimal commas or
    dates say so; and notes by subject ("decimal NAME", "dates", "hint NAME", "nanoseconds").

    decimal : "." or ",", None to infer it.
    text : columns that stay text.
    undated : in which dates are not looked for.
    """
    found = list(cells)
    spelled = [
        i
        for i, c in enumerate(found)
        if c.numbers is None and not c.declared and c.name not in text
    ]
    for i in spelled:
        if found[i].parsed is None:
            found[i] = attrs.evolve(found[i], parsed=parse_numbers(found[i].values))
    open_ = [i for i in spelled if found[i].parsed is None]
    notes = _read_decimals(found, open_, decimal)  # sets ``parsed`` of those with decimal commas
    hints: dict[str, str] = {}
    dated: list[Cells] = []
    for i in open_:
        c = found[i]
        if c.parsed is not None or c.name in undated:
            continue
        if (dates := read_dates(c.values, c.name)) is not None:
            found[i] = attrs.evolve(c, unit=dates[0], parsed=dates[1])
            dated.append(found[i])
        elif f"decimal {c.name}" not in notes and (hint := _hint_at_meaning(c)):
            hints[f"hint {c.name}"] = f"column {c.name!r} {hint}"
    if any(
        sure(moment(value)) % 1_000 for c in dated if c.unit == "microseconds" for value in c.values
    ):
        hints["nanoseconds"] = "what is finer than microseconds is left out of dates"
    if dated:
        notes["dates"] = (
            f"dates are read as {' and '.join(sorted({c.unit for c in dated}))} since "
            f"1970-01-01: {_names(dated)}; "
            f"'dataset.kinds={{{dated[0].name}: categorical}}' keeps the text"
        )
    return found, notes | hints


def _read_decimals(found: list[Cells], open_: Sequence[int], decimal: str | None) -> dict[str, str]:
    """Set ``parsed`` of columns with decimal commas; return hints for those that may have them.
    Inferred only where some column can be nothing else, and none has decimal points.

    found : changed in place; open_ : places in it of columns that are text so far.
    decimal : "." or ",", None to infer it.
    """
    if decimal == "." or not (open_ or decimal):
        return {}
    pointed = [
        c for c in found if (c.parsed is not None or c.numbers is not None) and _shows_points(c)
    ]
    candidates = {i: parsed for i in open_ if (parsed := parse_commas(found[i].values)) is not None}
    commas = [i for i in candidates if any("," in value for value in found[i].values)]
    certain = any(
        not all(_THOUSANDS.fullmatch(v) for v in found[i].values if "," in v) for i in commas
    )
    if decimal is None and (pointed or not certain):
        return {f"decimal {found[i].name}": _comma_hint(found[i]) for i in commas}
    for i, parsed in candidates.items():
        found[i] = attrs.evolve(found[i], parsed=parsed)
    if decimal is None:
        return {
            "decimal": (
                f"read with decimal commas: {_names([found[i] for i in commas])}; "
                "dataset.decimal=point keeps the text"
            )
        }
    but = (
        "dataset.decimal=comma, but these columns show decimal points and are read with them: "
        f"{_names(pointed)}"
    )
    return {"decimal": but} if pointed else {}


def _shows_points(cells: Cells) -> bool:
    if cells.numbers is not None:
        some = cells.numbers[:_MANY]
        return bool((some != np.floor(some))[np.isfinite(some)].any())
    return any("." in value for value in cells.values[:_MANY])


def parse_commas(values: Sequence[str]) -> np.ndarray | None:
    """Return float64[len(values)] with a comma before decimals; None where a value is no such
    number ("3.14" is none).
    """
    if any("." in value for value in values):
        return None
    return parse_numbers([value.replace(",", ".", 1) for value in values])


def no_number(cells: Cells) -> tuple[str, str]:
    """Return the first spelling that is no number, and what to do about it, where something can be
    done.
    """
    bad = next(value for value in cells.values if parse_numbers((value,)) is None)
    return bad, "; dataset.decimal=comma reads decimal commas" if parse_commas(
        (bad,)
    ) is not None else ""


def _comma_hint(cells: Cells) -> str:
    """Return how to read a column whose commas may mark decimals or thousands."""
    return (
        f"column {cells.name!r} ({_examples(cells)}) is read as text: a comma may mark "
        "decimals or thousands; "
        "dataset.decimal=comma reads decimal commas"
    )


def _hint_at_meaning(cells: Cells) -> str | None:
    """Return why a text column may be meant otherwise, and what to do; None where nothing suggests
    it.
    """
    look = cells.values[:_LOOK]
    if look and all(_DATE_LIKE.fullmatch(value) for value in look):
        return (
            f"({_examples(cells)}) looks like dates and is read as text with "
            f"{len(cells.values)} values; "
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
    return (
        f"is read as text, for {listed} among numbers; if {words} a missing value, "
        f"'dataset.missing=[{_spelt(strays)}]'"
    )


def _spelt(words: Sequence[str]) -> str:
    """Words for a list on the command line, the usual ones among them."""
    return ",".join(f'"{word}"' for word in ("", "?", "NA", "nan", *words))


def _names(cells: Sequence[Cells]) -> str:
    more = f" and {len(cells) - 10} more" if len(cells) > 10 else ""
    return ", ".join(repr(c.name) for c in cells[:10]) + more


def _examples(cells: Cells) -> str:
    shown = ", ".join(repr(value[:30]) for value in cells.values[:_EXAMPLES])
    return shown + (", …" if len(cells.values) > _EXAMPLES else "")


def read_dates(values: Iterable[str], name: str = "") -> tuple[str, np.ndarray] | None:
    """Return the unit that fits all the values, and float64[n]; None unless every one of them is a
    point in time in ISO text.

    name : of the column; raises DataError where two moments differ by less than the finest unit.
    """
    found = []
    for value in values:
        if (nanoseconds := moment(value)) is None:
            return None
        found.append(nanoseconds)
    if not found:
        return None
    ticks = np.array(found, object)
    unit = fitting_unit(ticks, 1)
    numbers = in_unit(ticks, 1, unit).astype(float)
    refuse_close(name, ticks, numbers)
    return unit, numbers
