"""``arboretum export RUN --to NAME`` and ``arboretum predict RUN FILE``: the tree of a run in
other forms, and at work.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from arboretum.cli import terminal
from arboretum.cli.show import (
    AGAIN_HELP,
    DATASET,
    OVERRIDES_HELP,
    find_tree,
    reasons_at,
    run_parser,
    split_overrides,
    write_out,
)
from arboretum.errors import ConfigError, DataError, StoreError, sure, unknown
from arboretum.model.frame import table_like
from arboretum.model.judgement import csv_text
from arboretum.model.missing import UNSEEN
from arboretum.model.plain import Facts
from arboretum.model.reading import plain
from arboretum.model.record import Record
from arboretum.model.shown import visible
from arboretum.model.table import Table
from arboretum.model.tree import Tree
from arboretum.plugin.assemble import read_assignment, split_values
from arboretum.plugin.build import build
from arboretum.plugin.registry import Registry
from arboretum.runs.folder import write_files

DESCRIPTION = """\
The tree of a run in the form NAME (arboretum plugins export lists them), on standard output or in a
file."""
PREDICT = """\
Predict every row of a file: CSV (also .gz), Parquet or ARFF, told apart by the ending.  Columns are
matched by name; columns that the tree does not read may be absent, others are ignored.  The file is
read as that of the run was (separator, encoding, decimal, missing), unless options say otherwise.
Writes CSV: the prediction per row."""

EXPLAINED = 200  # nodes whose alternatives a page lists, the heaviest
READER = "file"  # the data set component that reads files
OPTIONS = ("separator", "encoding", "decimal", "missing")


def main(argv: list[str]) -> int:
    """Write the tree."""
    parser = run_parser("export", DESCRIPTION, f"export.FIELD=VALUE; {AGAIN_HELP}")
    parser.add_argument(
        "--to",
        required=True,
        metavar="NAME",
        help=(
            "the form: text, svg, png, graphviz, sql, rules, json, sklearn, questionnaire, "
            "page, mlflow_model, onnx, or a plugin's"
        ),
    )
    parser.add_argument(
        "--out", metavar="FILE", help="write here (of some forms a folder), not on standard output"
    )
    arguments = parser.parse_intermixed_args(argv)
    own, others = split_overrides(arguments.overrides, "export.")
    moved, others = split_overrides(others, DATASET)
    record, tree, registry = find_tree(arguments.run, others, arguments.plugin)
    fields = dict(read_assignment(word.removeprefix("export.")) for word in own)
    export = build(registry.get("export", arguments.to), fields)
    out, most = arguments.out, getattr(export, "alternatives", 0)
    if moved and not most:
        raise ConfigError(f"{moved[0]!r}: only export.alternatives=N reads the table again")
    if out is not None and hasattr(export, "files") and not out.endswith(export.suffix):
        write_folder(Path(out).expanduser(), export.files(tree))
        return 0
    if most:
        written = export.write_explained(tree, alternatives(record, registry, most, moved))
    else:
        written = export.write(tree)
    if out is not None:
        write_out(out, written)
    elif isinstance(written, str):
        terminal.as_data()
        terminal.say(written.rstrip("\n"))
    elif terminal.is_terminal():
        raise ConfigError(
            f"the form {arguments.to!r} is no text: name a file, --out tree{export.suffix}"
        )
    else:
        sys.stdout.buffer.write(written)
    return 0


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write a form that is a folder of files.

    files : name → text, subfolders with "/".

    Raises StoreError where there is a folder that is not empty and not such a form: what is in it
    would be overwritten.
    """
    held = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if held and not {name.partition("/")[0] for name in files} <= held:
        raise StoreError(f"folder {str(folder)!r} holds other files; name one that is not there")
    parts: dict[str, dict[str, str]] = {}
    for name, text in files.items():
        parts.setdefault(str(Path(name).parent), {})[Path(name).name] = text
    for part, texts in parts.items():
        write_files(folder / part, texts, "another FOLDER")


def alternatives(
    record: Record, registry: Registry, most: int, moved: Sequence[str]
) -> dict[int, Facts]:
    """Return, for the heaviest nodes that ask a test, the best that competed there, by growing
    again.

    most : tests of a node.   moved : ``dataset.FIELD=VALUE``, where the table is now.
    Raises ArboretumError where the run cannot be re-created.
    """
    tree = sure(record.tree)
    nodes = tree.inner[np.argsort(-tree.mass[tree.inner], kind="stable")][:EXPLAINED].tolist()
    _, found = reasons_at(record, nodes, registry, moved)
    return {
        node: {
            "of": len(one.candidates),
            "tests": [
                (visible(test.rule.describe()), plain(test.score), test.chosen)
                for rank, test in enumerate(one.candidates)
                if rank < most or test.chosen
            ],
        }
        for node, one in zip(nodes, found, strict=True)
    }


def predict_main(argv: list[str]) -> int:
    """Write one line per row."""
    how = (
        f"how FILE is read: {', '.join(f'dataset.{name}=…' for name in OPTIONS)}; which store "
        f"the run id is of: {OVERRIDES_HELP}"
    )
    parser = run_parser(
        "predict", PREDICT, how, more={"file": "file with a header, or typed columns"}
    )
    parser.add_argument("--output", metavar="FILE", help="write here instead of standard output")
    parser.add_argument("--proba", action="store_true", help="also the probability of each class")
    parser.add_argument(
        "--node",
        action="store_true",
        help="also the number of the node where the row comes to rest",
    )
    parser.add_argument(
        "--for-spreadsheet",
        action="store_true",
        help="spell class names that a spreadsheet would run (=…) with a ' before them",
    )
    arguments = parser.parse_intermixed_args(argv)
    own, others = split_overrides(arguments.overrides, DATASET)
    if arguments.output is not None and same_file(arguments.output, arguments.file):
        raise ConfigError(
            f"--output {arguments.output} is the FILE that is read, which would be lost; choose "
            "another FILE"
        )
    record, tree, registry = find_tree(arguments.run, others, arguments.plugin)
    table = read_table(arguments.file, record, tree, own, registry)
    read = {name for rule in tree.rules for name in rule.columns}
    for column in (one for one in table.columns if one.name in read and not one.is_continuous):
        if len(rows := np.flatnonzero(column.values == UNSEEN)):
            terminal.warn(
                f"column {column.name!r}: {len(rows)} of {table.n_rows} rows hold categories that "
                f"the tree never saw (first: row {rows[0] + 1})"
            )
    columns = predictions(tree, table, proba=arguments.proba, node=arguments.node)
    text = csv_text(
        [list(columns), *zip(*columns.values(), strict=True)], inert=arguments.for_spreadsheet
    )
    if arguments.output is not None:
        write_out(arguments.output, text)
    else:  # a file gets class names as they are, a terminal does not obey them
        terminal.as_data()
        sys.stdout.write(visible(text) if terminal.is_terminal() else text)
    return 0


def same_file(one: str, other: str) -> bool:
    """Return whether two names are of one file that is there, behind links as well."""
    paths = [Path(name).expanduser() for name in (one, other)]
    return all(path.is_file() for path in paths) and paths[0].samefile(paths[1])


def predictions(tree: Tree, table: Table, *, proba: bool, node: bool) -> dict[str, list[object]]:
    """Heading → column of the answers for all rows, as they are written.

    proba, node : also the probability of each class, and the node where the row comes to rest.
    """
    answer = tree.predict(table)
    columns = {
        "prediction": [tree.classes[code] if tree.classes else repr(float(code)) for code in answer]
    }
    if proba:
        shares = tree.predict_proba(table)
        columns |= {
            f"p({name})": [f"{share:.6g}" for share in shares[:, k]]
            for k, name in enumerate(tree.classes)
        }
    return {**columns, "node": tree.apply(table).tolist()} if node else columns


def read_table(
    file: str, record: Record, tree: Tree, overrides: Sequence[str], registry: Registry
) -> Table:
    """The rows of a file as the tree of a run wants them, read as the run's own file was.

    overrides : ``dataset.OPTION=VALUE``, which count before the run's options.
    Raises ConfigError for options that are none, DataError: no such file, undecodable bytes, ragged
    rows, a column absent that the tree reads, text for a number, infinite values.
    """
    given = split_values({}, list(overrides))[1].get("dataset", {})
    for key in given:
        if key not in OPTIONS:
            raise ConfigError(f"dataset.{key}: {unknown('option', key, OPTIONS)}")
    # with the options of the run's own file, where it came from one
    own = (
        record.config.get("dataset")
        if (record.config.get("choices") or {}).get("dataset") == READER
        else None
    )
    kept = {key: own[key] for key in OPTIONS if key in own} if isinstance(own, Mapping) else {}
    reader = build(registry.get("dataset", READER), {**kept, **given})
    try:
        return table_like(tree, reader.rows(Path(file).expanduser(), tree.columns))
    except DataError as error:
        raise DataError(str(error) if file in str(error) else f"{file}: {error}") from error
