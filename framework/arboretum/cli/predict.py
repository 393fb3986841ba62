"""``arboretum predict RUN FILE``: rows of a CSV file through the tree of a run."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from arboretum.cli.finding import OVERRIDES_HELP, find_run
from arboretum.cli.terminal import Parser
from arboretum.errors import DataError, StoreError
from arboretum.model.frame import table_like
from arboretum.model.table import ColumnKind
from arboretum.model.tree import Tree

DESCRIPTION = """\
Predict every row of a CSV file (also .gz; "-" is standard input; commas, semicolons or tabs).  Columns are matched by
name; columns that the tree does not read may be absent, others are ignored.  Writes CSV: the prediction per row."""

MISSING = frozenset({"", "?", "na", "nan", "null", "none", "n/a"})
"""Spellings of a missing value, without regard to case; a category of the tree that is spelled so is kept."""


def main(argv: list[str]) -> int:
    """Write one line per row."""
    parser = Parser("predict", DESCRIPTION)
    parser.add_argument("run", metavar="RUN", help="run folder or tracker run id")
    parser.add_argument("file", metavar="FILE", help="CSV file with a header line")
    parser.add_argument("--output", metavar="FILE", help="write here instead of standard output")
    parser.add_argument("--proba", action="store_true", help="also the probability of each class")
    parser.add_argument("--node", action="store_true", help="also the number of the node where the row comes to rest")
    parser.add_argument("overrides", nargs="*", metavar="tracker.…", help=OVERRIDES_HELP)
    arguments = parser.parse_args(argv)
    record = find_run(arguments.run, arguments.overrides)
    if record.tree is None:
        raise StoreError(f"run {arguments.run} holds no tree")
    rows = read_rows(arguments.file, record.tree)
    header, lines = predictions(record.tree, rows, proba=arguments.proba, node=arguments.node)
    with _output(arguments.output) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)
    return 0


def predictions(tree: Tree, rows: list[Mapping[str, Any]], *, proba: bool, node: bool) -> tuple[list[str], list[list[Any]]]:
    """Header and one line per row.  Raises DataError when the rows do not fit the tree."""
    if not rows:
        return ["prediction"], []
    table = table_like(tree, rows)
    answer = tree.predict(table)
    columns: list[list[Any]] = [[tree.classes[code] for code in answer] if tree.classes else [repr(float(v)) for v in answer]]
    header = ["prediction"]
    if proba:
        shares = tree.predict_proba(table)
        header += [f"p({name})" for name in tree.classes]
        columns += [[f"{share:.6g}" for share in shares[:, k]] for k in range(len(tree.classes))]
    if node:
        header.append("node")
        columns.append(tree.apply(table).tolist())
    return header, [list(line) for line in zip(*columns, strict=True)]


def read_rows(file: str, tree: Tree) -> list[Mapping[str, Any]]:
    """Rows as mappings from column to number, text or None (missing).

    Raises DataError: no such file, undecodable bytes, no header, a name twice, ragged rows, text for a number.
    """
    text = _text(file)
    if not text.strip():
        raise DataError(f"{file} is empty")
    lines = text.splitlines()
    separator = max(",;\t", key=lambda sign: lines[0].count(sign))
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    header = [name.strip() for name in next(reader)]
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{file}: the column {twice!r} occurs twice")
    specs = {spec.name: spec for spec in tree.columns}
    rows: list[Mapping[str, Any]] = []
    for cells in reader:
        if not cells and len(header) > 1:
            continue  # a blank line
        if len(cells) != len(header):
            raise DataError(f"{file}, line {reader.line_num}: {len(cells)} cells where the header names {len(header)}")
        row = zip(header, cells, strict=True)
        rows.append({name: _value(cell, specs[name], file, reader.line_num) for name, cell in row if name in specs})
    return rows


def _value(cell: str, spec: Any, file: str, line: int) -> Any:
    text = cell.strip()
    if spec.kind is not ColumnKind.continuous:
        return None if text not in spec.categories and text.lower() in MISSING else text
    if text.lower() in MISSING:
        return None
    try:
        value = float(text)
    except ValueError:
        raise DataError(f"{file}, line {line}: {spec.name} must be a number; got {text!r}") from None
    if not np.isfinite(value):
        raise DataError(f"{file}, line {line}: {spec.name} must be finite; got {text!r}")
    return value


def _text(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).expanduser().read_bytes()
        if file.endswith(".gz"):
            data = gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise DataError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error


@contextmanager
def _output(file: str | None) -> Iterator[TextIO]:
    if file is None:
        yield sys.stdout
        return
    path = Path(file)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        temporary.replace(path)
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error.strerror})") from error
    finally:
        temporary.unlink(missing_ok=True)
