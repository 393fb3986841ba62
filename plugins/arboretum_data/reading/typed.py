"""Formats that state types: ARFF, Weka's (nominal values in declared order, ``?`` for missing, dense or sparse rows), and Parquet,
through pyarrow (imported here, when such a file is read)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import numpy as np

from arboretum.api import DataError, unknown
from arboretum_data.reading.cells import Cells, checked_header, factorise, parse_numbers
from arboretum_data.reading.delimited import arrow_text_cells, decode, read_bytes

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|\S+)\s+(.+)", re.IGNORECASE)
_ITEM = re.compile(rf"\s*((?:{_QUOTED})(?=\s*,)|[^,]*?)\s*,")  # quotes that do not end with the item are a part of it
_SPARSE_ITEM = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,]*?)\s*(,|$)")
_SPECIAL = re.compile(r"""['\"\\]""")
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
NUMERIC = ("numeric", "real", "integer")
TYPES = (*NUMERIC, "string", "date", "relational")


@attrs.frozen
class Attribute:
    """One ``@attribute`` line; ``values`` is () unless it is nominal."""

    name: str
    values: tuple[str, ...] = ()
    numeric: bool = False


def read_arff(path: Path, *, encoding: str = "utf-8", missing: Sequence[str] = ("?",)) -> list[Cells]:
    """Read an ARFF file.  Raises DataError with the line that breaks the format.

    missing : spellings of a missing value; a nominal attribute may declare one of them as a value, but never "?".
    """
    where = str(path)
    lines = _LINE_ENDS.split(decode(read_bytes(path), encoding, where))
    attributes, start = _header(lines, where)
    names = checked_header([a.name for a in attributes], where)
    rows = list(_rows(lines, start, attributes, where))
    if not rows:
        raise DataError(f"{where}: there are attributes but no row")
    columns = zip(*rows, strict=True)
    return [
        _column(name, attribute, column, missing, where)
        for name, attribute, column in zip(names, attributes, columns, strict=True)
    ]


def _column(name: str, attribute: Attribute, column: Sequence[str], missing: Sequence[str], where: str) -> Cells:
    gone = ("?", "", *(word for word in missing if word not in attribute.values))
    cells = factorise(name, column, gone, declared=attribute.values)
    if attribute.numeric:
        bad = next((value for value in cells.values if parse_numbers((value,)) is None), None)
        if bad is not None:
            raise DataError(f"{where}: the attribute {name!r} is numeric, but {bad!r} is not a number")
    return cells


def _header(lines: Sequence[str], where: str) -> tuple[list[Attribute], int]:
    attributes: list[Attribute] = []
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        word = stripped[:10].lower()
        if word.startswith("@data"):
            if not attributes:
                raise DataError(f"{where}: line {number}: @data before any @attribute")
            return attributes, number
        if word.startswith("@attribute"):
            found = _ATTRIBUTE.match(stripped)
            if not found:
                raise DataError(f"{where}: line {number}: not an attribute: {stripped[:60]!r}")
            attributes.append(_attribute(_unquote(found[1]), found[2].strip(), f"{where}: line {number}"))
    raise DataError(f"{where}: there is no @data line; is this an ARFF file?")


def _attribute(name: str, declared: str, place: str) -> Attribute:
    if declared.startswith("{"):
        if "}" not in declared:
            raise DataError(f"{place}: the values of the attribute {name!r} end without a closing brace")
        values = _split(declared[1 : declared.rindex("}")])
        return Attribute(name, tuple(dict.fromkeys(value for value in values if value not in ("?", ""))))
    word = declared.split()[0].lower()
    if word not in TYPES:
        raise DataError(f"{place}: {unknown('type', word, TYPES)}")
    if word == "relational":
        raise DataError(f"{place}: the attribute {name!r} is relational: a table in each cell, which no test can read")
    return Attribute(name, numeric=word in NUMERIC)


def _unquote(text: str) -> str:
    """Without quotes of either kind, backslashes undone."""
    quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if quoted else text


def _split(text: str) -> list[str]:
    """Comma-separated values, either kind of quote."""
    return [_unquote(item) for item in _ITEM.findall(f"{text},")]


def _rows(lines: Sequence[str], start: int, attributes: Sequence[Attribute], where: str) -> Iterator[list[str]]:
    for number, line in enumerate(lines[start:], start=start + 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("%"):
            continue
        if stripped.startswith("{"):
            row = _sparse(stripped, attributes, f"{where}: line {number}")
        else:
            row = _split(stripped) if _SPECIAL.search(stripped) else stripped.split(",")
        if len(row) != len(attributes):
            raise DataError(f"{where}: line {number} has {len(row)} cells, there are {len(attributes)} attributes")
        yield row


def _sparse(line: str, attributes: Sequence[Attribute], place: str) -> list[str]:
    """A row ``{index value, …}``; an attribute left out has its first nominal value, or 0."""
    row = [a.values[0] if a.values else "0" for a in attributes]
    text = line[1:-1].strip() if line.endswith("}") else line
    at = 0
    while at < len(text):
        item = _SPARSE_ITEM.match(text, at)
        if item is None or int(item[1]) >= len(row):
            msg = f"{place}: {text[at:].split(',')[0].strip()[:40]!r} is not 'index value' of one of {len(row)} attributes"
            raise DataError(msg)
        row[int(item[1])] = _unquote(item[2])
        at = item.end()
    return row


def read_parquet(path: Path, *, missing: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[Cells]:
    """Read a Parquet file: numbers stay numbers, everything else becomes text (dates are then read as ISO text).

    ignore : columns whose content is not looked at.   Raises DataError: no such file, no Parquet, no row, columns of
    lists, structures or bytes.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file")
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from error
    names = checked_header(table.column_names, str(path))
    if not table.num_rows:
        raise DataError(f"{path}: there are columns but no row")
    empty = np.full(table.num_rows, -1, np.int32)
    return [
        Cells(name, (), empty) if name in ignore else arrow_cells(name, table.column(i), missing)
        for i, name in enumerate(names)
    ]


def arrow_cells(name: str, column, missing: Sequence[str]) -> Cells:
    """Cells of one pyarrow column; raises DataError for a type that is neither number, text, truth value nor date."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("s", kind.tz), safe=False)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return Cells(name, numbers=np.asarray(values, np.float64))
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise DataError(f"column {name!r} holds {kind}, which no test can read; 'dataset.ignore=[{name}]' leaves it out")
    try:
        array = column.cast(pa.string()).combine_chunks().dictionary_encode()
    except pa.ArrowException as error:
        raise DataError(f"column {name!r} holds {kind}, which cannot be read as text ({str(error).splitlines()[0]})") from error
    return arrow_text_cells(name, array, missing)
