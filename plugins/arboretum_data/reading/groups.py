"""A Parquet file, one row group at a time: the table that reading it at once would give, in parts.

What a spelling means depends on all spellings of its column: numbers or words, dates, their order.
So the spellings of all groups are collected first, a small table of them is built as any other,
and the cells of a group are looked up in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    EVENT,
    MISSING,
    Column,
    DataError,
    InParts,
    Table,
    Target,
    check_role,
    check_row_weights,
    field_of_role,
)
from arboretum_data.reading.build import (
    Schema,
    TaskChoice,
    build_table,
    check_finite,
    one_against_rest,
)
from arboretum_data.reading.cells import Cells, checked_header
from arboretum_data.reading.delimited import refuse_no_file
from arboretum_data.reading.parquet import arrow_cells

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

LOOK = 50_000
"""Numbers of a column that are looked at for decimals, as reading at once does."""
MANY = 1000
"""Numbers of a target that are told apart: with more of them it is no class."""


@attrs.frozen(eq=False)
class Meaning:
    """What the cells of a column mean.

    place : of the column in the file.
    known : the spellings, or the numbers (ascending), that it holds; None: numbers are what they
        are.
    values : float64[k] or int32[k], what each of these is in the table.
    """

    place: int
    known: tuple[str, ...] | np.ndarray | None = None
    values: np.ndarray = attrs.field(factory=lambda: np.zeros(0))

    def read(self, cells: Cells, where: str) -> np.ndarray:
        """Return float64[n] or int32[n], the cells of a part.

        Raises DataError, naming the part, where they are others than all groups together had.
        """
        if self.known is None:
            if cells.numbers is None:
                raise DataError(
                    f"{where}: column {cells.name!r} holds integers beyond 2^53, and other row "
                    "groups do not; rows=memory reads them as text"
                )
            return np.asarray(cells.numbers, np.float64)
        missing = MISSING if self.values.dtype.kind == "i" else np.nan
        listed = np.append(self.values, missing).astype(self.values.dtype)
        if cells.numbers is None:
            words = self.known if isinstance(self.known, tuple) else ()
            spot = {word: i for i, word in enumerate(words)}
            place = [spot.get(word, -2) for word in cells.values]
            if -2 in place:
                raise changed(where, cells.name)
            found: np.ndarray = listed[np.append(np.array(place, np.int64), -1)[cells.codes]]
            return found
        known = np.asarray(self.known)
        spots = np.searchsorted(known, cells.numbers)
        gone = np.isnan(cells.numbers)
        spots[gone] = len(known)
        if not (np.append(known, np.nan)[spots] == cells.numbers)[~gone].all():
            raise changed(where, cells.name)
        numbers: np.ndarray = listed[spots]
        return numbers


def changed(where: str, column: str) -> DataError:
    """The error for a file that is another one than it was."""
    return DataError(
        f"{where}: column {column!r} has values that it had not when the file was looked through; "
        "it has changed meanwhile"
    )


@attrs.frozen(eq=False)
class ParquetParts:
    """What all row groups of a file share.

    missing : words of text that mean "missing".
    stamp : size and time of change of the file.
    footer : checksum of its footer, which says what lies where, and of what least and greatest
        values.
    whole : without rows, the table as it is to be; ``built`` as it is before one class is set
        against the rest (``positive``).
    roles : role → its column.
    moved : whether this was pickled.  Where it comes to the file may be a copy, of the same
        size and with the same footer, that was made at another time.
    """

    path: Path
    missing: tuple[str, ...]
    stamp: tuple[int, int]
    footer: str
    meaning_of: dict[str, Meaning]
    whole: Table
    built: Table
    weight: str | None
    positive: str | None
    roles: Mapping[str, str]
    moved: bool = False

    def cells(self, group: int, name: str, where: str) -> np.ndarray:
        """Read a column of a row group, as the table has it."""
        meaning = self.meaning_of[name]
        found = stamp_of(self.path)
        if self.moved:
            if found[0] != self.stamp[0] or _footer(self.path, found) != self.footer:
                raise DataError(
                    f"{where}: the file is not the one that the run began with; all nodes need "
                    "the same"
                )
        elif found != self.stamp:
            raise DataError(f"{where}: the file has changed since the run began; start it again")
        file = _opened(self.path, found)
        cells = read_cells(file, group, meaning.place, name, self.missing, where)
        return meaning.read(cells, where)

    def __reduce__(self) -> tuple[Callable[[], ParquetParts], tuple[()]]:
        """What is pickled is read elsewhere, where no relative path leads to the file."""
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(ParquetParts)}
        there = {"path": self.path.absolute(), "moved": True}
        return partial(ParquetParts, **{**fields, **there}), ()


@attrs.frozen(eq=False)
class RowGroup:
    """A row group that has rows with a target.

    kept : bool[·], its rows with a target; None: all.
    """

    shared: ParquetParts
    group: int
    n_rows: int
    kept: np.ndarray | None

    @property
    def name(self) -> str:
        """How errors name it."""
        return f"row group {self.group} of {self.shared.path}"

    def _read(self, name: str) -> np.ndarray:
        found = self.shared.cells(self.group, name, self.name)
        return found if self.kept is None else found[self.kept]

    def column(self, name: str) -> Column:
        """Read one column.  Raises DataError, naming the row group."""
        column = self.shared.whole.column(name)
        values = self._read(name)
        if column.is_continuous:
            check_finite(f"{name} ({self.name})", values)
        return attrs.evolve(column, values=values)

    def target(self) -> Target:
        """Read the target."""
        target = self.shared.built.target
        values = self._read(target.name)
        if target.is_regression:
            check_finite(f"{target.name} ({self.name})", values)
            return attrs.evolve(target, values=values)
        read = attrs.evolve(target, codes=values)
        table = Table(self.name, (), read)
        return one_against_rest(table, self.shared.positive).target

    def weights(self) -> np.ndarray:
        """Read the weights, float64[n_rows]."""
        column = str(self.shared.weight)
        what = f"{self.name}: dataset.weight: column {column!r}"
        return check_row_weights(self._read(column), what)

    def role(self, name: str) -> np.ndarray:
        """Read a role, float64[n_rows].  Raises DataError where a number is none of its kind."""
        column = self.shared.roles[name]
        what = f"{self.name}: dataset.{field_of_role(name)}: column {column!r}"
        return check_role(name, self._read(column), what)

    def load(self) -> Table:
        """Read all of it."""
        whole = self.shared.whole
        return attrs.evolve(
            whole,
            columns=tuple(self.column(column.name) for column in whole.columns),
            target=self.target(),
            weights=None if whole.weights is None else self.weights(),
            roles={role: self.role(role) for role in whole.roles},
        )


def open_file(path: Path) -> ParquetFile:
    """Open a Parquet file; raises DataError where it is none."""
    import pyarrow as pa
    from pyarrow import parquet

    refuse_no_file(path)
    try:
        return parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"{path}: cannot be read as Parquet ({first})") from error


@lru_cache(maxsize=2)
def _opened(path: Path, stamp: tuple[int, int]) -> ParquetFile:
    """The same file for all columns of all groups: its footer is read once.   stamp : its own."""
    return open_file(path)


@lru_cache(maxsize=2)
def _footer(path: Path, stamp: tuple[int, int]) -> str:
    """Checksum of a file's footer.   stamp : its own."""
    with path.open("rb") as file:
        file.seek(max(0, stamp[0] - 8))  # its length, and the word PAR1
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(0, stamp[0] - 8 - length))
        return hashlib.sha256(file.read()).hexdigest()


def stamp_of(path: Path) -> tuple[int, int]:
    """Return size and time of change of a file; raises DataError where it is gone."""
    refuse_no_file(path)
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def read_cells(
    file: ParquetFile, group: int, place: int, name: str, missing: Sequence[str], where: str
) -> Cells:
    """Read a column of a row group; raises DataError, naming the group, where it cannot be.

    place : of the column in the file.   missing : words that mean "missing".
    """
    import pyarrow as pa

    try:
        columns = [file.schema_arrow.names[place]]
        table = file.read_row_group(group, columns=columns, use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"{where}: column {name!r} cannot be read ({first})") from error
    return arrow_cells(name, table.column(0), missing)


def parquet_in_parts(
    path: Path,
    name: str,
    schema: Schema,
    missing: Sequence[str],
    positive: str | None,
    finish: Callable[[Table], Table],
) -> InParts:
    """Look a Parquet file through, and return its table in parts, one per row group.

    name : of the table.   schema, missing, positive : as the data set's.
    finish : what is done with a table that is built, but for its rows.

    Raises DataError as reading at once does, and, naming the row group, where one is unreadable.
    """
    file, stamp = open_file(path), stamp_of(path)
    names = checked_header(file.schema_arrow.names, str(path))
    groups = range(file.metadata.num_row_groups)
    if not file.metadata.num_rows:
        raise DataError(f"{path}: there are columns but no row")
    kept_apart = {schema.target, schema.weight, *schema.roles.values()}
    worded = {k for k, kind in schema.kinds.items() if kind != "continuous"} | {*schema.orders}
    rows = [file.metadata.row_group(g).num_rows for g in groups]
    there = [g for g in groups if rows[g]]
    found: list[Cells] = []
    kept: list[np.ndarray | None] = []
    for place, column in enumerate(names):
        if column in schema.ignore or column == schema.group:
            found.append(Cells(column, (), np.full(1, MISSING, np.int32)))
            continue
        listed = column in worded or column in (schema.target, schema.roles.get(EVENT))

        def read(g: int, column: str = column, place: int = place) -> Cells:
            where = f"row group {g} of {path}"
            return read_cells(file, g, place, column, missing, where)

        cells = None
        if column == schema.target:
            listed = schema.task is TaskChoice.classification or column in worded
            cells, kept = _collect_target(map(read, there), None if listed else MANY)
        elif is_number(file, place) and not listed:
            cells = _first_numbers(map(read, there))
        found.append(_collect(map(read, there)) if cells is None else cells)
    longest = max(c.n_rows for c in found)
    built = build_table(name, [_repeat(c, longest) for c in found], schema)
    meaning_of = {
        c.name: _meaning(c, place, built, schema)
        for place, c in enumerate(found)
        if c.name in kept_apart or any(c.name == column.name for column in built.columns)
    }
    none = np.zeros(0, np.int64)
    before = attrs.evolve(built.take(none), groups=None)
    shared = ParquetParts(
        path,
        tuple(missing),
        stamp,
        _footer(path, stamp),
        meaning_of,
        finish(before),
        before,
        schema.weight,
        positive,
        schema.roles,
    )
    parts_kept = [
        RowGroup(shared, g, rows[g] if mask is None else int(mask.sum()), mask)
        for g, mask in zip(there, kept, strict=True)
        if mask is None or mask.any()
    ]
    lost = sum(rows) - sum(part.n_rows for part in parts_kept)
    whole = shared.whole
    if lost:
        note = f"{lost} of {sum(rows)} rows are left out: no value of the target {schema.target!r}"
        whole = attrs.evolve(whole, notes={**whole.notes, "target": note})
    return InParts(whole, tuple(parts_kept), grouped=schema.group is not None)


def is_number(file: ParquetFile, place: int) -> bool:
    """Return whether a column states that it holds numbers."""
    import pyarrow as pa

    kind = file.schema_arrow.types[place]
    return bool(
        pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    )


def _first_numbers(parts: Iterable[Cells]) -> Cells | None:
    """The first LOOK numbers of a column; None where they are kept as text."""
    seen: list[np.ndarray] = []
    name = ""
    for cells in parts:
        name = cells.name
        if cells.numbers is None:
            return None
        seen.append(cells.numbers[:LOOK])
        if sum(map(len, seen)) >= LOOK:
            break
    return Cells(name, numbers=np.concatenate(seen))


def _collect(parts: Iterable[Cells], most: int | None = None) -> Cells:
    """A column that shows each spelling, or number, of all groups once; numbers beyond ``most`` are
    no longer looked at.
    """
    words: dict[str, None] = {}
    numbers = np.zeros(0)
    name, typed = "", False
    for cells in parts:
        name = cells.name
        if cells.numbers is None:
            words.update(dict.fromkeys(cells.values))
        else:
            typed = True
            if most is None or len(numbers) <= most:
                numbers = np.union1d(numbers, cells.numbers[~np.isnan(cells.numbers)])
    if typed and words:
        raise DataError(
            f"column {name!r} holds integers beyond 2^53 in some row groups only; rows=memory "
            "reads them as text"
        )
    if typed:
        return Cells(name, numbers=numbers)
    codes = np.arange(len(words), dtype=np.int32)
    return Cells(name, tuple(words), codes if len(codes) else np.full(1, MISSING, np.int32))


def _collect_target(
    parts: Iterable[Cells], most: int | None
) -> tuple[Cells, list[np.ndarray | None]]:
    """The same of the target, and of each group which rows have one, None: all of them."""
    kept: list[np.ndarray | None] = []

    def seen(cells: Cells) -> Cells:
        here = cells.codes != MISSING if cells.numbers is None else ~np.isnan(cells.numbers)
        kept.append(None if here.all() else here)
        return cells

    return _collect(map(seen, parts), most), kept


def _repeat(cells: Cells, n: int) -> Cells:
    """The same column, its rows repeated until they are ``n``."""
    if cells.numbers is None:
        return attrs.evolve(cells, codes=np.resize(cells.codes, n))
    if not len(cells.numbers):
        return attrs.evolve(cells, numbers=np.full(n, np.nan))
    return attrs.evolve(cells, numbers=np.resize(cells.numbers, n))


def _meaning(cells: Cells, place: int, built: Table, schema: Schema) -> Meaning:
    """What each spelling of a column has become in the table that was built of them."""
    target = built.target
    if cells.name == target.name:
        values = target.codes if target.is_classification else target.values
    elif cells.name == schema.weight:
        values = np.asarray(built.weights)
    elif role := next((one for one, column in schema.roles.items() if column == cells.name), ""):
        values = built.roles[role]
    else:
        values = built.column(cells.name).values
    event = cells.name == schema.roles.get(EVENT)  # its values may stand for 1 and 0
    if cells.numbers is not None and values.dtype.kind == "f" and not event:
        return Meaning(place)
    known = cells.values if cells.numbers is None else cells.numbers
    return Meaning(place, known, values[: len(known)])
