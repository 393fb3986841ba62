"""``dataset=file``: a table of the user's own; ``dataset=random_table``: a table drawn at
random.
"""

import enum
from collections.abc import Container, Sequence
from pathlib import Path

import attrs
import numpy as np

from arboretum.api import (
    MISSING,
    TRUTH,
    CapabilityError,
    ColumnKind,
    ColumnSpec,
    ConfigError,
    DataError,
    InParts,
    Table,
    by_code,
    param,
)
from arboretum_data import generated
from arboretum_data.fetched import check_file, check_sum, fetch_file, is_address
from arboretum_data.home import data_home
from arboretum_data.reading.arff import WEIGHTS, read_arff
from arboretum_data.reading.build import (
    WORDING,
    Schema,
    TaskChoice,
    build_table,
    mapping_param,
    one_against_rest,
    worded,
)
from arboretum_data.reading.cells import Cells, interpret, no_number
from arboretum_data.reading.delimited import MISSING_WORDS, read_delimited
from arboretum_data.reading.groups import parquet_in_parts
from arboretum_data.reading.parquet import read_parquet
from arboretum_data.reading.roles import RoleColumns, roles_last


class Decimal(enum.Enum):
    """The sign before the decimals of a number."""

    point = "point"
    comma = "comma"


PARQUET = (".parquet", ".pq")
TEXT = {".csv": ",", ".tsv": "\t", ".txt": ","}
SIGNS = {None: None, Decimal.point: ".", Decimal.comma: ","}


@attrs.frozen(field_transformer=roles_last)
class FileDataset(RoleColumns):
    """A table from a file: CSV (also gzip; separator and byte-order mark found), Parquet or ARFF.

    Kinds are inferred (numbers: continuous; text: categorical) unless given.  A target is a class
    when it is text or holds at most 20 distinct whole numbers, else a number to regress on;
    ``task`` or ``kinds`` decide otherwise.
    """

    kind = "dataset"
    name = "file"
    paper = ""
    capabilities = ()
    example = "dataset.path=FILE dataset.target=COLUMN"

    path: str = param(
        "",
        "the file, or its address (https://…); its ending tells the format: .csv, .tsv, .txt (also "
        ".gz), .parquet, .arff",
    )
    target: str = param("", "column to predict")
    kinds: dict[str, str] = mapping_param("column → continuous, ordinal or categorical")
    orders: dict[str, list[str]] = mapping_param("ordinal column → values, low to high")
    task: TaskChoice = param(TaskChoice.auto, "what the target is")
    positive: str | None = param(None, "class that becomes the target, one against the rest")
    ignore: tuple[str, ...] = param((), "columns to leave out", converter=tuple)
    weight: str | None = param(None, "column of row weights (> 0)")
    group: str | None = param(None, "column whose equal values stay on one side of a split")
    missing: tuple[str, ...] = param(MISSING_WORDS, "spellings of a missing value", converter=tuple)
    separator: str | None = param(
        None,
        "between cells: comma, semicolon, tab, pipe, blank or one character; found by itself "
        "when not given",
    )
    encoding: str = param("utf-8", "of text files (UTF-16 with a mark is found by itself)")
    decimal: Decimal | None = param(None, "before decimals; found by itself where it is certain")
    questions: dict[str, str] = mapping_param(WORDING)
    sha256: str | None = param(
        None, "checksum of the file's content; of an address needed, which is fetched once by it"
    )

    def load(self, seed: int) -> Table:
        """Read the file.  Raises ConfigError without path or target, DataError for what the file
        gets wrong.
        """
        del seed
        path = self._path()
        cells, sign = self.cells(path), SIGNS[self.decimal]
        weight, ignore = self.weight, self.ignore
        # of ARFF; a column that is named comes before them
        if any(c.name == WEIGHTS for c in cells):
            weight, ignore = weight or WEIGHTS, (*ignore, *([WEIGHTS] if weight else []))
        schema = self._schema(ignore, weight, sign)
        table = build_table(path.name.split(".", maxsplit=1)[0] or path.name, cells, schema)
        return worded(one_against_rest(table, self.positive), self.questions)

    def in_parts(self, seed: int) -> InParts:
        """Look a Parquet file through, and return its row groups.

        Raises CapabilityError for another format, else as :meth:`load`.
        """
        del seed
        path = self._path()
        if path.is_dir() or path.suffix.lower() not in PARQUET:
            raise CapabilityError(
                f"{path}: only Parquet is read row group by row group; use rows=memory, or write "
                f"it as .parquet{_parquet_command(path, self._sign_between())}"
            )
        schema = self._schema(self.ignore, self.weight, SIGNS[self.decimal])
        name = path.name.split(".", maxsplit=1)[0] or path.name

        def finish(table: Table) -> Table:
            return worded(one_against_rest(table, self.positive), self.questions)

        return parquet_in_parts(path, name, schema, self.missing, self.positive, finish)

    def _schema(self, ignore: tuple[str, ...], weight: str | None, sign: str | None) -> Schema:
        """Return what is known of the columns.   sign : before decimals.

        Raises ConfigError for an order with a word that stands for a missing value.
        """
        declares = self.path.lower().endswith((".arff", ".arff.gz"))  # which words are values
        for column, order in self.orders.items():
            if not declares and (lost := [word for word in order if word in self.missing]):
                raise ConfigError(
                    f"dataset.orders.{column} lists {lost[0]!r}, which dataset.missing takes for "
                    "a missing value; leave it out of one of them"
                )
        return Schema(
            self.column_to_predict(self.target) or "",
            self.kinds,
            self.orders,
            None,
            ignore,
            weight,
            group=self.group,
            task=TaskChoice.classification if self.treatment else self.task,
            decimal=sign,
            roles=self.by_role(),
            event_value=self.event_value,
        )

    def _path(self) -> Path:
        """Return the file, fetched where it is an address; raises ConfigError without path or
        target, and as :func:`fetch_file`.
        """
        said = {"path": self.path, "target": self.column_to_predict(self.target)}
        for field, value in said.items():
            if not value:
                raise ConfigError(
                    f"dataset.{field} is missing; say dataset=file dataset.path=FILE "
                    "dataset.target=COLUMN"
                )
        if is_address(self.path):
            return fetch_file(self.path, self.sha256, data_home())
        path = Path(self.path).expanduser()
        if self.sha256 is not None:
            check_sum(self.sha256)
            check_file(path, self.sha256, "say dataset.path=FILE of the file that has it")
        return path

    def cells(self, path: Path) -> list[Cells]:
        """Return the raw columns, by the reader that the file's ending asks for."""
        if path.is_dir():
            raise DataError(f"{path}: is a folder, not a file")
        endings = [ending.lower() for ending in path.suffixes]
        last = next((ending for ending in reversed(endings) if ending != ".gz"), "")
        if last in PARQUET:
            return read_parquet(path, missing=self.missing, ignore=self.ignore)
        if last == ".arff":
            return read_arff(path, encoding=self.encoding, missing=self.missing)
        text = {name for name, kind in self.kinds.items() if kind != ColumnKind.continuous.value}
        text |= {self.target, *self.orders, *self.ignore, *([self.group] if self.group else [])}
        return read_delimited(
            path,
            separator=self._sign_between(),
            encoding=self.encoding,
            missing=self.missing,
            spelled=None if self.decimal is Decimal.comma else text,
        )

    def _sign_between(self) -> str | None:
        """Return the character between cells, None where it is to be found out; raises ConfigError
        for more than a character.
        """
        separator = (
            None if self.separator is None else SEPARATOR_WORDS.get(self.separator, self.separator)
        )
        if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
            words = ", ".join(SEPARATOR_WORDS)
            raise ConfigError(
                f"dataset.separator must be one character, or one of {words}; got "
                f"{self.separator!r}"
            )
        return separator

    def rows(self, path: Path, columns: Sequence[ColumnSpec]) -> dict[str, np.ndarray]:
        """Return the rows to predict: of the given columns, those that the file has, in the form of
        ``table_like``.

        Numbers: float64[n_rows], NaN = missing.  Dates and categories: text or None; a category
        that is spelled like a missing value is kept.  Only these columns are looked at; ``target``,
        ``kinds`` and the like play no part.
        Raises DataError as :meth:`load`, and for text in a column of numbers.
        """
        words = frozenset(word.lower() for word in self.missing)
        specs = {spec.name: spec for spec in columns}
        cells = attrs.evolve(self, missing=()).cells(path)
        found = [c for c in cells if c.name in specs]
        if not found:
            # a tree that asks nothing still answers every row
            return {"": np.full(cells[0].n_rows, None)}
        kept = [without_words(c, words, specs[c.name].categories) for c in found]
        text = frozenset(spec.name for spec in columns if not spec.is_continuous or spec.unit)
        kept, _ = interpret(kept, SIGNS[self.decimal], text)
        return {c.name: _read_values(c, specs[c.name], path) for c in kept}


def _parquet_command(path: Path, separator: str | None) -> str:
    """Return a command that writes a text file as Parquet, a block at a time, with what introduces
    it; "" for a file that is none.

    separator : between cells; None: found by the ending.
    """
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    if not path.is_file() or not endings or endings[-1] not in TEXT or {*str(path)} & {*"'\"$`\\"}:
        return ""
    sign = separator or TEXT[endings[-1]]
    parse = "" if sign == "," else f", parse_options=csv.ParseOptions(delimiter={sign!r})"
    to = path.with_name(f"{path.name.removesuffix('.gz').rpartition('.')[0]}.parquet")
    return (
        f" once: python -c \"from pyarrow import csv, parquet; r = csv.open_csv('{path}', "
        f"csv.ReadOptions(block_size=1 << 26){parse}); w = parquet.ParquetWriter('{to}', r.schema);"
        ' [w.write_batch(b) for b in r]; w.close()"'
    )


def _read_values(cells: Cells, spec: ColumnSpec, path: Path) -> np.ndarray:
    """Return the values of one column as outside rows give them: numbers, NaN = missing, or words,
    None = missing.

    spec : the tree's column.  Raises DataError, naming row and path, for what is no number.
    """
    if not spec.is_continuous or (spec.unit and cells.numbers is None):
        text = cells.as_text()
        return by_code(text.values, text.codes, None, dtype=object)
    dates = bool(cells.unit) and not spec.unit  # days since 1970 are no answer
    values = None if dates else cells.as_numbers()
    if values is not None:
        return values
    text = cells.as_text()
    if set(text.values) <= TRUTH.keys():
        return by_code([*map(TRUTH.get, text.values)], text.codes, np.nan)
    if dates:
        cells, bad, way = text, text.values[0], ", a date"
    else:
        bad, way = no_number(cells)
    row = int(np.argmax(cells.codes == cells.values.index(bad))) + 1
    raise DataError(f"{path}: {spec.name} must be a number; got {bad!r} in row {row}{way}")


def without_words(cells: Cells, words: Container[str], categories: Container[str]) -> Cells:
    """Return the column with the words that mean "missing" turned to missing, unless they are
    categories of the tree.

    words : in lower case.
    """
    if cells.numbers is not None:
        return cells
    kept = [
        value
        for value in cells.values
        if value in categories or (value and value.lower() not in words)
    ]
    position = {value: i for i, value in enumerate(kept)}
    place = [position.get(value, MISSING) for value in cells.values]
    codes = by_code(place, cells.codes, MISSING, dtype=np.int32)
    return Cells(cells.name, tuple(kept), codes)


SEPARATOR_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "blank": " "}
"""Separators by name: on a command line most of the signs have a meaning of their own."""


@attrs.frozen
class RandomTableDataset:
    """A random decision table: values and decisions uniform, equal rows merged to their most
    common decision.
    """

    kind = "dataset"
    name = "random_table"
    paper = (
        "Alkhalid, Chikalov & Moshkov 2011: Decision tree construction using greedy algorithms "
        "and dynamic programming"
    )
    capabilities = ("randomised",)
    offline = True

    n_rows: int = param(50, "rows drawn (equal ones are merged afterwards)", ge=2, unit="rows")
    n_columns: int = param(10, "attributes", ge=1)
    n_values: int = param(3, "values of each attribute", ge=1)
    n_classes: int = param(3, "decisions", ge=2)
    positive: str | None = param(None, "class that becomes the target, one against the rest")
    questions: dict[str, str] = mapping_param(WORDING)

    def cells(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the same draw as numbers, for studies of many tables: int64[rows, n_columns]
        values, int64[rows] decisions.

        A value's number is its spelling in the table; ``positive`` is left aside.
        """
        return generated.random_cells(
            self.n_rows, self.n_columns, self.n_values, self.n_classes, seed
        )

    def load(self, seed: int) -> Table:
        """Draw the table from ``seed``."""
        table = generated.random_table(
            self.n_rows, self.n_columns, self.n_values, self.n_classes, seed
        )
        return worded(one_against_rest(table, self.positive), self.questions)


@attrs.frozen
class DfepDataset:
    """All words of some bits in four classes, a quarter each, with one outlier per quarter: its
    first object.

    With ten bits these are the 1024 objects of ``dataset=dfep-synthetic``.  Without errors a tree's
    costliest path has all bits, and 2 where the four outliers are given up: a constant against log₂
    n.
    """

    kind = "dataset"
    name = "dfep"
    paper = (
        "Nan, Wang & Saligrama 2015: Max-cost discrete function evaluation problem under a budget"
    )
    capabilities = ()
    offline = True

    bits: int = param(10, "binary columns; there are 2^bits objects", ge=3, le=20)
    positive: str | None = param(None, "class that becomes the target, one against the rest")
    questions: dict[str, str] = mapping_param(WORDING)

    def load(self, seed: int) -> Table:
        """Return the table, the same for every seed."""
        del seed
        return worded(one_against_rest(generated.dfep(self.bits), self.positive), self.questions)
