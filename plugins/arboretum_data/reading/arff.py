"""ARFF, Weka's format: typed attributes, nominal values in declared order, ``?`` for missing, dense or sparse rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import attrs

from arboretum.api import DataError
from arboretum_data.reading.cells import Cells, checked_header, factorise
from arboretum_data.reading.delimited import decode, read_bytes

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.+)", re.IGNORECASE)


@attrs.frozen
class Attribute:
    """One ``@attribute`` line; ``values`` is () unless it is nominal."""

    name: str
    values: tuple[str, ...]


def read_arff(path: Path, *, encoding: str = "utf-8", missing: Sequence[str] = ("?",)) -> list[Cells]:
    """Read an ARFF file.  Raises DataError with the line that breaks the format."""
    where = str(path)
    lines = decode(read_bytes(path), encoding, where).splitlines()
    attributes, start = _header(lines, where)
    names = checked_header([a.name for a in attributes], where)
    rows = _rows(lines, start, attributes, where)
    if not rows:
        msg = f"{where}: there are attributes but no row"
        raise DataError(msg)
    columns = zip(*rows, strict=True)
    return [
        factorise(name, column, (*missing, ""), declared=attribute.values)
        for name, attribute, column in zip(names, attributes, columns, strict=True)
    ]


def _header(lines: Sequence[str], where: str) -> tuple[list[Attribute], int]:
    attributes: list[Attribute] = []
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        word = stripped[:10].lower()
        if word.startswith("@data"):
            if not attributes:
                msg = f"{where}: line {number}: @data before any @attribute"
                raise DataError(msg)
            return attributes, number
        if word.startswith("@attribute"):
            found = _ATTRIBUTE.match(stripped)
            if not found:
                msg = f"{where}: line {number}: not an attribute: {stripped[:60]!r}"
                raise DataError(msg)
            attributes.append(Attribute(_unquote(found[1]), _nominal(found[2].strip())))
    msg = f"{where}: there is no @data line; is this an ARFF file?"
    raise DataError(msg)


def _nominal(declared: str) -> tuple[str, ...]:
    if not declared.startswith("{"):
        return ()
    return tuple(v.strip() for v in _split(declared[1 : declared.rindex("}")]) if v.strip() != "?")


def _unquote(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name[:1] in "'\"" else name


def _split(text: str) -> list[str]:
    """Comma-separated values, either kind of quote."""
    quote = '"' if '"' in text and "'" not in text else "'"
    return next(csv.reader([text], quotechar=quote, escapechar="\\", skipinitialspace=True))


def _rows(lines: Sequence[str], start: int, attributes: Sequence[Attribute], where: str) -> list[list[str]]:
    rows = []
    for number, line in enumerate(lines[start:], start=start + 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("%"):
            continue
        row = _sparse(stripped, attributes, where, number) if stripped.startswith("{") else _split(stripped)
        if len(row) != len(attributes):
            msg = f"{where}: line {number} has {len(row)} cells, there are {len(attributes)} attributes"
            raise DataError(msg)
        rows.append(row)
    return rows


def _sparse(line: str, attributes: Sequence[Attribute], where: str, number: int) -> list[str]:
    """A row ``{index value, …}``; an attribute left out has its first nominal value, or 0."""
    row = [a.values[0] if a.values else "0" for a in attributes]
    for item in _split(line[1 : line.rindex("}")]) if line.endswith("}") else [""]:
        index, _, value = item.strip().partition(" ")
        if not index and line.strip("{} ") == "":
            continue
        if not index.isdigit() or int(index) >= len(row):
            msg = f"{where}: line {number}: {item[:40]!r} is not 'index value' of one of {len(row)} attributes"
            raise DataError(msg)
        row[int(index)] = value.strip().strip("'\"")
    return row
