"""ARFF as Weka's description has it: nominal values in declared order, dense or sparse rows,
weights of rows in braces.

Outside quotes a "%" starts a comment anywhere in a line, commas or blanks (tabs) stand between
values, and ? is missing; inside quotes (either kind) everything is the value, blanks and ? too, and
a backslash escapes as in Java.  Beyond Weka, a value with blanks needs no quotes where commas stand
between the values.
"""

import datetime
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from arboretum.api import (
    DataError,
    sure,
    unknown,
)
from arboretum_data.reading.cells import Cells, checked_header, factorise, parse_numbers
from arboretum_data.reading.delimited import decode, read_bytes

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_OPENED = rf"(?<![^\s,{{}}])(?:{_QUOTED})"  # a quote within a word is a part of it
_PLAIN = re.compile(rf"(?:{_OPENED}|[^%])*")
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:({_QUOTED}|\S+)\s+|([^\s{{]+)(?={{))(.+)", re.IGNORECASE)
_VALUES = re.compile(rf"\{{((?:{_OPENED}|[^}}])*)\}}")
# quotes that do not end with the item are a part of it
_ITEM = re.compile(rf"\s*((?:{_QUOTED})(?=\s*,)|[^,]*?)\s*,")
_WORD = re.compile(rf"{_QUOTED}|[^\s,]+")
_SPARSE_ITEM = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,]*?)\s*(,|$)")
_WEIGHT = re.compile(r"[\s,]*\{\s*([^\s{}'\"]+)\s*\}\s*$")
_SPECIAL = re.compile(r"""['"{%]""")
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-3]?[0-7]{1,2}|.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_EXACT = "\0"  # before a value that stood in quotes; no text that is decoded holds one
NUMERIC = ("numeric", "real", "integer")
TYPES = (*NUMERIC, "string", "date", "relational")
ISO = "yyyy-MM-dd'T'HH:mm:ss"
WEIGHTS = "weight of the row, in braces"
"""Name of the column that holds the weights of rows, where a file has them."""
_FIELD = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")
_FIELDS = {
    "y": "%Y",
    "yy": "%y",
    "M": "%m",
    "MM": "%m",
    "MMM": "%b",
    "MMMM": "%B",
    "d": "%d",
    "dd": "%d",
    "H": "%H",
    "HH": "%H",
    "h": "%I",
    "hh": "%I",
    "m": "%M",
    "mm": "%M",
    "s": "%S",
    "ss": "%S",
    "SSS": "%f",
    "a": "%p",
    "D": "%j",
    "E": "%a",
    "EEE": "%a",
    "EEEE": "%A",
    "Z": "%z",
    "X": "%z",
    "XX": "%z",
    "XXX": "%z",
    "yyyy": "%Y",
}
"""Fields of Java's SimpleDateFormat as those of ``strptime``."""


@attrs.frozen
class Attribute:
    """One ``@attribute`` line; ``values`` is () unless it is nominal, ``pattern`` is "" unless
    it is a date.
    """

    name: str
    type: str = "nominal"
    values: tuple[str, ...] = ()
    pattern: str = ""

    @property
    def left_out(self) -> str:
        """What a sparse row means that does not name the attribute: the first value, 0, or, of
        text, none.
        """
        if self.type == "nominal":
            return _EXACT + self.values[0] if self.values else "?"
        return {"string": "?", "date": "1970-01-01"}.get(self.type, "0")


def read_arff(
    path: Path, *, encoding: str = "utf-8", missing: Sequence[str] = ("?",)
) -> list[Cells]:
    """Read an ARFF file; weights of its rows come as a last column, :data:`WEIGHTS`.  Raises
    DataError with the line that breaks the format.

    missing : spellings, besides ?, of a missing value without quotes; a nominal attribute may
        declare one of them as a value, and text may hold it.
    """
    where = str(path)
    lines = _LINE_ENDS.split(decode(read_bytes(path), encoding, where))
    attributes, start = _read_header(lines, where)
    names = checked_header([a.name for a in attributes], where)
    weights: dict[int, str] = {}
    rows = list(_read_rows(lines, start, attributes, where, weights))
    if not rows:
        raise DataError(f"{where}: there are attributes but no row")
    columns = zip(*rows, strict=True)
    cells = [
        _read_column(name, a, column, missing, where)
        for name, a, column in zip(names, attributes, columns, strict=True)
    ]
    if weights:  # a row without one weighs 1
        cells.append(factorise(WEIGHTS, [weights.get(row, "1") for row in range(len(rows))], ()))
    return cells


def _read_column(
    name: str, attribute: Attribute, column: Sequence[str], missing: Sequence[str], where: str
) -> Cells:
    """Return the cells of an attribute.

    missing : spellings that mean "missing", unless the attribute declares them as values.
    where : the file, for messages.  Raises DataError for what does not fit the attribute's type.
    """
    gone = (
        {"?", ""}
        if attribute.type == "string"
        else {"?", "", *(word for word in missing if word not in attribute.values)}
    )
    cells = factorise(name, column, gone, attribute.values, _EXACT)
    if attribute.type in NUMERIC:
        bad = next((value for value in cells.values if parse_numbers((value,)) is None), None)
        if bad is not None:
            raise DataError(
                f"{where}: the attribute {name!r} is numeric, but {bad!r} is not a number"
            )
    if attribute.pattern:
        return attrs.evolve(
            cells, values=tuple(_read_moment(value, attribute, where) for value in cells.values)
        )
    return cells


def _read_moment(text: str, attribute: Attribute, where: str) -> str:
    """Return a date in ISO form, read by the attribute's pattern, or as ISO.

    where : the file, for the message of the DataError where it is neither.
    """
    try:
        # the pattern says whether it has a zone
        return str(datetime.datetime.strptime(text, attribute.pattern))
    except ValueError:
        try:
            return str(datetime.datetime.fromisoformat(text))
        except ValueError:
            raise DataError(
                f"{where}: the attribute {attribute.name!r} is a date, but {text!r} does not "
                "have its format"
            ) from None


def _read_header(lines: Sequence[str], where: str) -> tuple[list[Attribute], int]:
    """Return the attributes, and the number of the line ``@data``, counted from 1; raises
    DataError, naming the file ``where`` and the line, for what is no header.
    """
    attributes: list[Attribute] = []
    for number, line in enumerate(lines, start=1):
        stripped = _without_comment(line).strip()
        word = stripped[:10].lower()
        if word.startswith("@data"):
            if not attributes:
                raise DataError(f"{where}: line {number}: @data before any @attribute")
            return attributes, number
        if word.startswith("@attribute"):
            found = _ATTRIBUTE.match(stripped)
            if not found:
                raise DataError(f"{where}: line {number}: not an attribute: {stripped[:60]!r}")
            name = _unquoted(found[1] or found[2]).removeprefix(_EXACT)
            attributes.append(_read_attribute(name, found[3].strip(), f"{where}: line {number}"))
    raise DataError(f"{where}: there is no @data line; is this an ARFF file?")


def _read_attribute(name: str, declared: str, place: str) -> Attribute:
    """Return an attribute as it is declared behind its name: values in braces, or a type.

    place : file and line, for the message of the DataError.
    """
    if declared.startswith("{"):
        found = _VALUES.match(declared)
        if found is None:
            raise DataError(
                f"{place}: the values of the attribute {name!r} end without a closing brace"
            )
        values = (
            value.removeprefix(_EXACT)
            for value in _split_values(found[1], 0)
            if value not in ("?", "")
        )
        return Attribute(name, values=tuple(dict.fromkeys(values)))
    word, *rest = declared.split(maxsplit=1)
    word = word.lower()
    if word not in TYPES:
        raise DataError(f"{place}: {unknown('type', word, TYPES)}")
    if word == "relational":
        raise DataError(
            f"{place}: the attribute {name!r} is relational: a table in each cell, which no "
            "test can read"
        )
    if word != "date":
        return Attribute(name, word)
    given = sure(_WORD.match(rest[0]))[0] if rest else ""
    return Attribute(
        name, word, pattern=_date_pattern(_unquoted(given).removeprefix(_EXACT) or ISO, place)
    )


def _date_pattern(java: str, place: str) -> str:
    """Return a pattern of Java's SimpleDateFormat for ``strptime``; raises DataError, at ``place``,
    for a field that it does not know.
    """
    parts = []
    for found in _FIELD.finditer(java):
        text = found[0]
        if found[2] is None:
            parts.append(
                ((found[1].replace("''", "'") or "'") if found[1] is not None else text).replace(
                    "%", "%%"
                )
            )
        elif text in _FIELDS:
            parts.append(_FIELDS[text])
        else:
            known = "; give the column as text with dates such as 2020-03-01, or as numbers"
            raise DataError(
                f"{place}: the date format {java!r} has the field {text!r}, which is not "
                f"read{known}"
            )
    return "".join(parts)


def _without_comment(line: str) -> str:
    return sure(_PLAIN.match(line))[0] if "%" in line else line


def _unquoted(text: str) -> str:
    """Without quotes of either kind, escapes undone, and marked as exact; bare text as it is."""
    quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
    return _EXACT + _ESCAPE.sub(_escaped, text[1:-1]) if quoted else text


def _escaped(found: re.Match[str]) -> str:
    text = found[1]
    if text[0] == "u" and len(text) == 5:
        return chr(int(text[1:], 16))
    return chr(int(text, 8)) if text[0] in "01234567" else _CONTROLS.get(text, text)


def _split_values(text: str, n: int) -> list[str]:
    """Return the values between commas; between blanks, too, where that makes ``n`` of them."""
    found = _ITEM.findall(f"{text},")
    if len(found) != n and len(words := _WORD.findall(text)) == n:
        found = words
    return [_unquoted(item) for item in found]


def _read_rows(
    lines: Sequence[str],
    start: int,
    attributes: Sequence[Attribute],
    where: str,
    weights: dict[int, str],
) -> Iterator[list[str]]:
    """Yield the cells of each row; ``weights`` takes, by row, those that stand in braces.

    start : lines before the first row; where : the file, for messages.
    """
    n, row = len(attributes), 0
    left_out = [a.left_out for a in attributes]
    for number, line in enumerate(lines[start:], start=start + 1):
        special = _SPECIAL.search(line)
        text = (_without_comment(line) if special else line).strip()
        if not text:
            continue
        if text.startswith("{"):
            cells, text = _read_sparse_row(text, left_out, f"{where}: line {number}")
        else:
            cells = None
        if special and (weight := _WEIGHT.search(text)):
            weights[row], text = weight[1], text[: weight.start()]
        if cells is None:
            cells = text.split(",")
            cells = _split_values(text, n) if special or len(cells) != n else cells
        elif text:
            raise DataError(f"{where}: line {number}: {text[:40]!r} after the closing brace")
        if len(cells) != n:
            raise DataError(
                f"{where}: line {number} has {len(cells)} cells, there are {n} attributes"
            )
        yield cells
        row += 1


def _read_sparse_row(line: str, left_out: Sequence[str], place: str) -> tuple[list[str], str]:
    """Return a row ``{index value, …}``, and what stands behind it.

    left_out : what an attribute has that the row does not name.
    place : file and line, for the message of the DataError.
    """
    found = _VALUES.match(line)
    if found is None:
        raise DataError(f"{place}: the row ends without a closing brace")
    row, text, at, said = list(left_out), found[1].strip(), 0, set()
    while at < len(text):
        item = _SPARSE_ITEM.match(text, at)
        if item is None or int(item[1]) >= len(row) or item[1] in said:
            how = "again" if item and item[1] in said else "not"
            raise DataError(
                f"{place}: {text[at:].split(',')[0].strip()[:40]!r} is {how} 'index value' "
                f"of one of {len(row)} attributes"
            )
        said.add(item[1])
        row[int(item[1])] = _unquoted(item[2])
        at = item.end()
    return row, line[found.end() :].strip()
