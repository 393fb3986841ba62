"""``arboretum predict RUN FILE``: rows of a file through the tree of a run."""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from arboretum.cli.finding import add_plugin_option, find_run, plugin_files
from arboretum.cli.terminal import Parser, is_terminal, warn
from arboretum.errors import ConfigError, DataError, StoreError, unknown
from arboretum.model.frame import table_like
from arboretum.model.record import Record
from arboretum.model.shown import visible
from arboretum.model.table import UNSEEN_CODE, ColumnKind, Table
from arboretum.model.tree import Tree
from arboretum.plugin.assemble import split_values
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry

DESCRIPTION = """\
Predict every row of a file: CSV (also .gz; "-" is standard input), Parquet or ARFF, told apart by the ending.  Columns
are matched by name; columns that the tree does not read may be absent, others are ignored.  The file is read as that of
the run was (separator, encoding, decimal, missing), unless options say otherwise.  Writes CSV: the prediction per row."""

READER = "file"
"""The data set component that reads files."""
OPTIONS = ("separator", "encoding", "decimal", "missing")
OVERRIDES_HELP = (
    f"how FILE is read: {', '.join(f'dataset.{name}=…' for name in OPTIONS)}; "
    "which store the run id is of: tracker=NAME, tracker.FIELD=VALUE"
)


def main(argv: list[str]) -> int:
    """Write one line per row."""
    parser = Parser("predict", DESCRIPTION)
    parser.add_argument("run", metavar="RUN", help="run folder or tracker run id")
    parser.add_argument("file", metavar="FILE", help="file with a header, or typed columns")
    parser.add_argument("--output", metavar="FILE", help="write here instead of standard output")
    parser.add_argument("--proba", action="store_true", help="also the probability of each class")
    parser.add_argument("--node", action="store_true", help="also the number of the node where the row comes to rest")
    add_plugin_option(parser)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help=OVERRIDES_HELP)
    arguments = parser.parse_intermixed_args(argv)
    of_file = [text for text in arguments.overrides if text.startswith("dataset.")]
    overrides = [text for text in arguments.overrides if text not in of_file]
    record, _ = find_run(arguments.run, overrides, plugin_files(arguments.plugin))
    if record.tree is None:
        raise StoreError(f"run {arguments.run} holds no tree")
    table = read_table(arguments.file, record, of_file)
    for name, row, value in unseen_values(record.tree, table):
        warn(f"column {name!r}: {value} of {table.n_rows} rows hold categories that the tree never saw (first: row {row})")
    header, lines = predictions(record.tree, table, proba=arguments.proba, node=arguments.node)
    with _output(arguments.output) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)
    return 0


def predictions(tree: Tree, table: Table, *, proba: bool, node: bool) -> tuple[list[str], list[list[Any]]]:
    """Header and one line per row."""
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


def unseen_values(tree: Tree, table: Table) -> list[tuple[str, int, int]]:
    """(column, first row from 1, number of rows) where a column that the tree reads holds unknown categories."""
    read = {name for rule in tree.rules for name in rule.columns}
    found = []
    for column in table.columns:
        if column.name in read and column.kind is not ColumnKind.continuous:
            rows = np.flatnonzero(column.values == UNSEEN_CODE)
            if len(rows):
                found.append((column.name, int(rows[0]) + 1, len(rows)))
    return found


def read_table(file: str, record: Record, overrides: Sequence[str] = ()) -> Table:
    """The rows of a file as the tree of a run wants them.

    Raises ConfigError for options that are none, DataError: no such file, undecodable bytes, ragged rows, a column
    absent that the tree reads, text for a number, infinite values.
    """
    tree = record.tree
    reader = _reader(record.config, overrides)
    with _path(file) as path:
        try:
            return table_like(tree, reader.rows(path, tree.columns))
        except DataError as error:
            name = "standard input" if file == "-" else file
            text = str(error).replace(str(path), name)
            raise DataError(text if name in text else f"{name}: {text}") from error


def _reader(config: Mapping[str, Any], overrides: Sequence[str]) -> Any:
    """The component that reads files, with the options of the run's own file where it came from one."""
    choices, fields, shared = split_values({}, list(overrides))
    given = fields.get("dataset", {})
    stray = next((key for key in (*choices, *shared, *(k for k in fields if k != "dataset"))), None)
    if stray is not None:
        raise ConfigError(f"{stray!r} has no place here; {OVERRIDES_HELP}")
    for key in given:
        if key not in OPTIONS:
            raise ConfigError(f"dataset.{key}: {unknown('option', key, OPTIONS)}")
    own = config.get("dataset") if (config.get("choices") or {}).get("dataset") == READER else None
    kept = {key: own[key] for key in OPTIONS if key in own} if isinstance(own, Mapping) else {}
    return build(load_registry().get("dataset", READER), {**kept, **given})


@contextmanager
def _path(file: str) -> Iterator[Path]:
    """A path to read from; standard input is put into a temporary file."""
    if file != "-":
        yield Path(file).expanduser()
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(sys.stdin.buffer.read())
        yield path


class _Careful:
    """Standard output for eyes: a file gets class names as they are, a terminal does not obey them."""

    def write(self, text: str) -> None:
        sys.stdout.write(visible(text))


@contextmanager
def _output(file: str | None) -> Iterator[TextIO]:
    if file is None:
        yield _Careful() if is_terminal() else sys.stdout
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
