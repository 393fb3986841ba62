"""Row stores in a file: the columns of a data set are read part by part, coded, and laid down in
chunks, of which one at a time is in memory.

    each column:  for each part: read it; checksum; sketch; where its values are few, write codes of
                  these as they are known by then
    encoder:      features of all columns, from what the sketches know
    each column:  codes of its features, by its first codes where there are such, else read again
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import numpy as np

from arboretum.errors import ContractError, DataError, StoreError, sure
from arboretum.interfaces.dataset import InParts
from arboretum.interfaces.encoder import Encoder
from arboretum.interfaces.rows import Opened
from arboretum.model.encoded import Feature
from arboretum.model.table import Checksum, Column, ColumnKind
from arboretum.rows.coded import NO_LABEL, NONE, Chunk, CodedRows
from arboretum.rows.parts import without_attributes
from arboretum.rows.sketch import ColumnSketch, Sketch
from arboretum.rows.values import adds_exactly

ROWS = 1 << 16
"""Rows of a chunk: one of 20 columns is 1.3 MB."""
HELD = 1 << 28
"""Bytes of rows that stay in memory while a tree grows, which cost a fifth of the time of a deep
tree to be fetched anew at each level; those beyond are let go."""
GONE = 255
"""In first codes, that of a missing value; so there are 255 others."""
MOST = 255
PAIRWISE = 1 << 20

Progress = Callable[[float, float | None, str], None]


@attrs.define(eq=False, slots=False)
class Folder:
    """Where files of one store lie; it goes with the store.

    path : None until the first file is written.
    """

    within: str | None
    _held: tempfile.TemporaryDirectory[str] | None = None

    @property
    def path(self) -> Path:
        """The folder, made when it is asked for first.  Raises StoreError where it cannot be."""
        if self._held is None:
            with full_disk(self.within or tempfile.gettempdir()):
                self._held = tempfile.TemporaryDirectory(
                    prefix="arboretum-rows-", dir=self.within, ignore_cleanup_errors=True
                )
        return Path(self._held.name)

    def mapped(self, name: str, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        """Return an array of zeros in a file of its own.

        Raises StoreError where the disk has no room: it is asked for before anything is written, as
        a page of a mapped file that finds none ends the process.
        """
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        path = self.path / name
        with full_disk(str(self.path)), path.open("w+b") as file:
            if size:
                os.posix_fallocate(file.fileno(), 0, size)
            where = mmap.mmap(file.fileno(), size) if size else bytearray(0)
        return np.frombuffer(where, dtype).reshape(shape)

    def forget(self, name: str) -> None:
        """Delete a file that is read no more."""
        (self.path / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Delete all files."""
        if self._held is not None:
            self._held.cleanup()
            self._held = None


@contextlib.contextmanager
def full_disk(folder: str) -> Iterator[None]:
    """Raise StoreError, naming the folder, where it cannot be written, or has no room."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"rows cannot be kept in {folder!r} ({error.strerror}); rows.folder=FOLDER lays them "
            "elsewhere"
        ) from error


def forget_memory(*arrays: np.ndarray) -> None:
    """Let the system take the memory of some rows of mapped arrays back; what they hold stays in
    the file.
    """
    for array in arrays:
        base: object = array
        while isinstance(base, np.ndarray):
            base = base.base
        held = base.obj if isinstance(base, memoryview) else base
        if isinstance(held, mmap.mmap) and array.nbytes:
            whole = np.frombuffer(held, np.uint8).ctypes.data
            first = array.ctypes.data - whole
            begin = first - first % mmap.PAGESIZE
            held.madvise(mmap.MADV_DONTNEED, begin, array.nbytes + first - begin)


@attrs.define(eq=False)
class MappedRows:
    """Targets and weights of all rows, in files, and where their codes will be.

    n : rows.   label, y, weight : of all rows; those that there are none of have no row.
    node : int32[n], where each row is.
    columns : float64[n, k], what rows add to the criterion's own columns.
    """

    n: int
    label: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    node: np.ndarray
    columns: np.ndarray
    codes: np.ndarray = attrs.field(factory=lambda: np.zeros((0, 0, 0), np.uint8))

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows, chunk by chunk; what is done with one before the next is asked for."""
        per_row = self.codes.itemsize * self.codes.shape[1] + self.node.itemsize
        per_row += sum(each.itemsize for each in (self.label, self.y, self.weight) if len(each))
        per_row += self.columns.itemsize * self.columns.shape[1]
        for b, start in enumerate(range(0, self.n, ROWS)):
            rows = slice(start, min(start + ROWS, self.n))
            chunk = Chunk(
                self.codes[b, :, : rows.stop - start],
                self.node[rows],
                self.label[rows],
                self.y[rows],
                self.weight[rows],
                self.columns[rows],
            )
            yield chunk
            if rows.stop * per_row > HELD:
                forget_memory(self.codes[b], self.node[rows], self.label[rows])
                forget_memory(self.y[rows], self.weight[rows], self.columns[rows])

    def put(self, feature: int, first: int, codes: np.ndarray) -> None:
        """Write the codes of a feature, for rows from ``first`` on."""
        done = 0
        while done < len(codes):
            b, low = divmod(first + done, ROWS)
            k = min(ROWS - low, len(codes) - done)
            self.codes[b, feature, low : low + k] = codes[done : done + k]
            forget_memory(self.codes[b, feature, low : low + k])
            done += k


@attrs.define(eq=False)
class ColumnReader:
    """What is known of one column while it passes by.

    first : uint8[n], codes of its values as they were known when a part passed; None: too many.
    versions : of each part, the values known then.
    """

    sketch: ColumnSketch
    first: np.ndarray | None
    versions: list[np.ndarray] = attrs.field(factory=list)

    def take_in(self, column: Column, start: int) -> None:
        """Sketch the rows of a part, which begin at ``start``, and note their codes."""
        codes = self.sketch.add(column)
        known = self.sketch.values
        if codes is None or len(known) > GONE or self.first is None:
            self.first = None
            return
        own = self.first[start : start + len(codes)]
        own[:] = codes
        if len(known) < GONE:
            own[codes == len(known)] = GONE
        self.versions.append(known)
        forget_memory(own)


def open_mapped(
    data: InParts,
    encoder: Encoder,
    seed: int,
    about: float | None,
    folder: Folder,
    most: int = MOST,
    progress: Progress = lambda done, total, message: None,
) -> Opened:
    """Read, code and lay down a data set, as :meth:`arboretum.interfaces.rows.Rows.open`
    says.

    folder : for the files, which are there until it is closed.
    most : distinct numbers of a column, up to MOST, beyond which it is cut at quantiles.
    """
    schema, n = data.schema, data.n_rows
    checksum, sketch = Checksum(), Sketch.of(schema, most)
    sketch.check(encoder)
    readers = []
    for k, (column, own) in enumerate(zip(schema.columns, sketch.columns, strict=True)):
        progress(k, len(schema.columns), f"reading column {column.name}")
        reader = ColumnReader(own, folder.mapped(f"first{k}", (n,), np.uint8))
        checksum.begin(column)
        for start, part in data.starts():
            found = part.column(column.name)
            _check_length(len(found.values), part.n_rows, part.name)
            checksum.add(found.values)
            reader.take_in(found, start)
        readers.append(reader)
    rows, shift, total = _read_targets(data, checksum, about, folder)
    objects = sketch.encode(encoder, seed)
    features = objects.features
    wide = max((f.n_bins + f.has_missing for f in features), default=1) > 256
    n_chunks = -(-n // ROWS)
    rows.codes = folder.mapped(
        "codes", (n_chunks, len(features), ROWS), np.uint16 if wide else np.uint8
    )
    for k, (column, reader) in enumerate(zip(schema.columns, readers, strict=True)):
        progress(k, len(schema.columns), f"coding column {column.name}")
        own_features = [
            (f, feature) for f, feature in enumerate(features) if feature.column == column.name
        ]
        _code_column(column, own_features, reader, data, rows)
        folder.forget(f"first{k}")
    units = not len(rows.weight)
    store = CodedRows(
        features=features,
        n_classes=schema.n_classes,
        n_rows=n,
        total_weight=total,
        units=units,
        exact=units or _all_exact(rows.weight, total),
        shift=shift,
        chunks=rows.chunks,
        n_columns=rows.columns.shape[1],
    )
    objects = attrs.evolve(objects, notes=(*objects.notes, *sketch.notes()))
    return Opened(store, objects, checksum.sha256, sketch.approximate(), folder.close)


def _code_column(
    column: Column,
    features: list[tuple[int, Feature]],
    reader: ColumnReader,
    data: InParts,
    rows: MappedRows,
) -> None:
    """Write the codes of a column's features: by the codes of its values, or from its parts."""
    for i, (start, part) in enumerate(data.starts() if features else ()):
        if reader.first is None:
            found = part.column(column.name)
            for f, feature in features:
                rows.put(f, start, feature.codes(found))
            continue
        known = reader.versions[i]
        own = reader.first[start : start + part.n_rows]
        coded = not column.is_continuous
        shown = np.append(known, [-1 if coded else np.nan])
        for f, feature in features:
            by_value = feature.codes(attrs.evolve(column, values=shown))
            table = np.zeros(256, rows.codes.dtype)
            table[: len(known)], table[GONE] = by_value[:-1], by_value[-1]
            rows.put(f, start, table.take(own))
        forget_memory(own)


def _read_targets(
    data: InParts, checksum: Checksum, about: float | None, folder: Folder
) -> tuple[MappedRows, float, float]:
    """Return targets and weights in files, what targets are taken less of, and the total weight."""
    schema, n = data.schema, data.n_rows
    classes = schema.is_classification
    kind = np.uint8 if schema.n_classes <= 256 else np.int32
    label = folder.mapped("label", (n,), kind) if classes else NO_LABEL
    y = NONE if classes else folder.mapped("target", (n,), np.float64)
    weight = NONE if schema.weights is None else folder.mapped("weight", (n,), np.float64)
    checksum.begin(schema.target)
    for start, part in data.starts():
        target, stop = part.target(), start + part.n_rows
        found = target.codes if classes else target.values
        _check_length(len(found), part.n_rows, part.name)
        checksum.add(found)
        (label if classes else y)[start:stop] = found
    if schema.weights is not None:
        checksum.begin(None)
        for start, part in data.starts():
            weight[start : start + part.n_rows] = found = part.weights()
            checksum.add(found)
    for role in sorted(schema.roles):
        checksum.begin(Column(role, ColumnKind.continuous, schema.roles[role]))
        for _, part in data.starts():
            found = part.role(role)
            _check_length(len(found), part.n_rows, part.name)
            checksum.add(found)
    total = pairwise_sum(lambda a, b: weight[a:b], n) if len(weight) else float(n)
    shift = 0.0
    if not classes:
        shift = about if about is not None else _mean(y, weight, total)
        for start in range(0, n, ROWS):
            y[start : start + ROWS] -= shift
            forget_memory(y[start : start + ROWS])
    units = not len(weight) or bool((weight == 1.0).all())
    node = folder.mapped("node", (n,), np.int32)
    columns = _read_columns(data, weight, total, folder)
    return MappedRows(n, label, y, NONE if units else weight, node, columns), shift, total


def _read_columns(data: InParts, weight: np.ndarray, total: float, folder: Folder) -> np.ndarray:
    """Return what rows add to the criterion's own columns: float64[n, k], in a file."""
    found = np.zeros((data.n_rows, 0))
    for start, part in data.starts() if data.columns is not None else ():
        table = without_attributes(part, data.schema)
        for first in range(0, part.n_rows, ROWS):
            some = table.take(np.arange(first, min(first + ROWS, part.n_rows)))
            rows = slice(start + first, start + first + some.n_rows)
            share = (weight[rows] if len(weight) else np.ones(some.n_rows)) / total
            try:
                own = sure(data.columns)(some, share)
            except DataError as error:
                raise DataError(f"{part.name}, of its rows from {first + 1} on: {error}") from error
            _check_length(len(own), some.n_rows, part.name)
            if not found.shape[1]:
                found = folder.mapped("columns", (data.n_rows, own.shape[1]), np.float64)
            found[rows] = own
            forget_memory(found[rows])
    return found


def _mean(y: np.ndarray, weight: np.ndarray, total: float) -> float:
    """Return the mean of the targets, the number that ``np.average`` has of all at once."""

    def weighted(a: int, b: int) -> np.ndarray:
        part: np.ndarray = y[a:b] * (weight[a:b] if len(weight) else np.ones(b - a))
        return part

    return pairwise_sum(weighted, len(y)) / total


def pairwise_sum(part: Callable[[int, int], np.ndarray], n: int) -> float:
    """Return ``np.sum`` of ``part(0, n)``, to the last bit, from pieces.

    NumPy adds halves, cut at a multiple of 8, down to 128 numbers; so do we, down to a million.
    part : float64[b − a], the numbers a … b − 1.
    """

    def between(a: int, b: int) -> float:
        if b - a <= PAIRWISE:
            return float(part(a, b).sum())
        half = (b - a) // 2
        half -= half % 8
        return between(a, a + half) + between(a + half, b)

    return between(0, n)


def _all_exact(weight: np.ndarray, total: float) -> bool:
    """Return whether all weights add up exactly (:func:`~arboretum.rows.values.adds_exactly`)."""
    pieces = (weight[a : a + ROWS] for a in range(0, len(weight), ROWS))
    return all(map(adds_exactly, pieces)) and adds_exactly(np.array([total]))


def _check_length(found: int, wanted: int, name: str) -> None:
    if found != wanted:
        raise ContractError(f"{name}: {wanted} rows are announced, and {found} come")
