"""Delimited text: CSV and its relatives, plain or gzip.

Small files are read by the standard library (no pandas, no pyarrow: iris loads in a millisecond or
two); files above ``LARGE`` bytes by pyarrow's threaded reader, imported there and then.  Both give
the same cells.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arboretum.api import EXACT, MISSING, DataError, by_code
from arboretum_data.reading.cells import Cells, checked_header, factorise, parse_numbers, text_cells

if TYPE_CHECKING:
    from pyarrow import DictionaryArray


LARGE = 4_000_000
"""Bytes (uncompressed) from which pyarrow's reader pays its import of about 0.2 s."""
NARROW = 5_000
"""Bytes per column from which it pays, too: it spends half a millisecond and 30 kB on every
column.
"""
MANY_SPELLINGS = 100_000
_TWO_BYTE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SAMPLE = 500_000
"""Bytes of a large file that are looked at to tell numbers from the rest."""
VARIED = 200
"""Distinct numbers in the sample from which it pays to read a column as numbers at once."""
SEPARATORS = (",", ";", "\t", "|")
MISSING_WORDS = ("", "?", "NA", "N/A", "nan", "NaN", "NAN", "null", "NULL")
"""Spellings of a missing value in a file of unknown origin; a data home knows only the empty
cell.
"""


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, unpacked when it is gzip; raises DataError naming the file and
    the cause.
    """
    refuse_no_file(path, pipes=True)
    try:
        content = _from_pipe(path) if path.is_fifo() else path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    if not content[:1_000].strip() and not content.strip():
        raise DataError(f"{path}: the file is empty")
    for mark, what in _OTHER_FORMATS.items():
        if content.startswith(mark):
            raise DataError(f"{path}: this is {what}")
    return content


def refuse_no_file(path: Path, *, pipes: bool = False) -> None:
    """Raise DataError where nothing, or something else than a file (or, with ``pipes``, a
    pipe) is.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file")
    # a folder has words of its own
    if not (path.is_file() or path.is_dir() or (pipes and path.is_fifo())):
        raise DataError(
            f"{path}: a pipe or a device, and no file; write what it gives into a file first"
        )


def _from_pipe(path: Path) -> bytes:
    """Return what somebody writes into a pipe; raises DataError at once where nobody does."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    with open(descriptor, "rb") as file:
        content = file.read()
    if not content:
        raise DataError(
            f"{path}: a pipe into which nobody writes; write what it is to give into a file first"
        )
    return content


_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; unpack it, or save the sheet as CSV",
    b"PAR1": "a Parquet file; give it the ending .parquet",
    b"BZh": "packed by bzip2; unpack it or pack it by gzip",
    b"\xfd7zXZ\x00": "packed by xz; unpack it or pack it by gzip",
    b"\x28\xb5\x2f\xfd": "packed by zstd; unpack it or pack it by gzip",
    b"\xd0\xcf\x11\xe0": "an old Office document; save the sheet as CSV",
}


def decode(content: bytes, encoding: str, where: str) -> str:
    """Return the text of the bytes, byte-order mark removed; raises DataError, naming the file
    ``where``, with the line of the first bad byte.

    Two-byte text (UTF-16, as Excel's "Unicode text") is known by its mark, whatever ``encoding``
    says; a NUL byte in any other text is refused.
    """
    if content[:2] in _TWO_BYTE_MARKS:
        encoding = "utf-16"
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise DataError(
                f"{where}: line {line} holds a NUL byte; is this a binary file, or "
                "dataset.encoding=utf-16-le?"
            )
        return text
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{where}: byte 0x{content[error.start]:02x} in line {line} is not {encoding}; "
            "set dataset.encoding (latin-1 reads any bytes) or convert the file"
        ) from error
    except LookupError as error:
        raise DataError(
            f"dataset.encoding: unknown encoding {encoding!r}; try utf-8 or latin-1"
        ) from error


def sniff_separator(text: str) -> str:
    """Return the separator that the first line shows most often outside quotes; a comma when it
    shows none.
    """
    first = next((line for line in text[:1_000_000].splitlines() if line.strip()), "")
    unquoted = "".join(first.split('"')[::2])
    return max(SEPARATORS, key=lambda s: (unquoted.count(s), -SEPARATORS.index(s)))


def read_delimited(
    path: Path,
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
    missing: Sequence[str] = MISSING_WORDS,
    spelled: Container[str] | None = None,
) -> list[Cells]:
    """Read a CSV-like file with a header line.

    separator : between cells; None: the likeliest by the header.
    missing : words that mean "missing".
    spelled : columns whose spelling matters (None: all); in a large file the others come as
        numbers, if they are.

    Raises DataError: no file, empty, header only, ragged (with the line), duplicate names,
    undecodable bytes.
    """
    content = read_bytes(path)
    where = str(path)
    text = decode(content, encoding, where)
    separator = separator or sniff_separator(text)
    wide = len(content) >= LARGE and len(content) < NARROW * text[: text.find("\n")].count(
        separator
    )
    if len(content) >= LARGE and not wide:
        plain = codecs.lookup(encoding).name == "utf-8" and content[:2] not in _TWO_BYTE_MARKS
        cells = _read_large(
            text, content if plain else text.encode(), separator, missing, where, spelled
        )
        if cells is not None:
            return cells
    del content
    return parse_delimited(text, separator, missing, where, spelled if wide else None)


def parse_delimited(
    text: str,
    separator: str,
    missing: Sequence[str],
    where: str,
    spelled: Container[str] | None = None,
) -> list[Cells]:
    """Return the cells of delimited text, by the standard library.

    missing : words that mean "missing"; where : the file, for messages.
    spelled : as of :func:`read_delimited`.
    """
    # a StringIO would take four bytes per character
    lines = io.TextIOWrapper(
        io.BytesIO(text.encode("utf-8", "surrogatepass")), "utf-8", "surrogatepass", newline=""
    )
    reader = csv.reader(lines, delimiter=separator)
    rows: list[list[str]] = []
    header: list[str] = []
    try:
        for row in reader:
            if not row:
                continue  # an empty line is no row
            if not header:
                header = checked_header(row, where)
            elif len(row) != len(header):
                raise DataError(_refuse_ragged_row(row, header, reader.line_num, separator, where))
            else:
                rows.append(row)
    except csv.Error as error:
        raise DataError(f"{where}: line {reader.line_num}: {error}") from error
    if not rows:
        raise DataError(f"{where}: there is a header but no row")
    words = frozenset(missing)
    columns = zip(header, zip(*rows, strict=True), strict=True)
    if spelled is None:
        return [factorise(name, column, missing) for name, column in columns]
    return [
        (None if name in spelled else _clean_numbers(name, column, words))
        or factorise(name, column, missing)
        for name, column in columns
    ]


def _clean_numbers(name: str, column: Sequence[str], missing: Container[str]) -> Cells | None:
    """Return the cells of a column of numbers, without their spellings, which take eight times as
    much; None where it may be another.

    missing : words that mean "missing".
    """
    known = np.array([value not in missing for value in column])
    parsed = parse_numbers(list(itertools.compress(column, known)))
    numbers = np.full(len(column), np.nan)
    # of integers beyond it the spelling matters
    if parsed is None or (np.abs(parsed) >= EXACT).any():
        return None
    numbers[known] = parsed
    return Cells(name, numbers=numbers)


def _refuse_ragged_row(
    row: Sequence[str], header: Sequence[str], line: int, separator: str, where: str
) -> str:
    """Return the refusal of a row that is not as long as the header, with the likeliest reason.

    line, where : of the row, for the message.
    """
    msg = f"{where}: line {line} has {len(row)} cells, the header has {len(header)}"
    if header[0].startswith(("#", "//")):
        return f"{msg}; the first line is the header: delete comments above it"
    if header[0].lower().startswith("@relation"):
        return f"{msg}; if this is ARFF, give the file the ending .arff"
    if len(header) == 1:
        return (
            f"{msg}; the separator was taken to be {separator!r}, dataset.separator=… sets another"
        )
    if len(row) == len(header) + 1 and not row[-1]:
        return f"{msg}; the row ends with a {separator!r}, the header does not"
    if len(row) > len(header) and separator == ",":
        return f"{msg}; text with a comma must stand in quotes"
    return msg


def _read_large(
    text: str,
    content: bytes,
    separator: str,
    missing: Sequence[str],
    where: str,
    spelled: Container[str] | None,
) -> list[Cells] | None:
    """Return the cells by pyarrow, or None where it stumbles: the slow reader then names the line.

    content : ``text`` in UTF-8.
    """
    first = text[: max(text.find("\n"), 0)]
    if first.count('"') % 2 or not first.strip() or "\r" in first[:-1]:
        return None  # a header that spans lines, or lines that end with carriage returns alone
    header = checked_header(next(csv.reader([first.rstrip("\r")], delimiter=separator)), where)
    start, numeric = content.find(b"\n") + 1, frozenset[str]()
    body, quoted = memoryview(content)[start:], b'"' in content
    if spelled is not None:
        end = content.find(b"\n", start + SAMPLE)
        sample = _arrow_cells(
            body if end < 0 else body[: end + 1 - start], header, separator, missing, quoted
        )
        numeric = frozenset(
            c.name
            for c in sample or ()
            if c.name not in spelled and len(c.values) >= VARIED and c.as_numbers() is not None
        )
    cells = _arrow_cells(body, header, separator, missing, quoted, numeric) if numeric else None
    return cells or _arrow_cells(body, header, separator, missing, quoted)


def _arrow_cells(
    body: memoryview,
    header: Sequence[str],
    separator: str,
    missing: Sequence[str],
    quoted: bool,
    numeric: frozenset[str] = frozenset(),
) -> list[Cells] | None:
    """Return the cells of rows without a header; None where pyarrow refuses them, or a ``numeric``
    column holds something else.

    Numbers are read as such (both readers round correctly, so that the values are the same),
    everything else by its distinct spellings, which takes five times as long where nearly every row
    has its own.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    words = pa.dictionary(pa.int32(), pa.string())
    try:
        table = arrow_csv.read_csv(
            pa.py_buffer(body),
            read_options=arrow_csv.ReadOptions(column_names=list(header), block_size=1 << 23),
            parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=quoted),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.float64() if name in numeric else words for name in header},
                null_values=list(missing),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    found = []
    for name in header:
        column = table.column(name)
        if name not in numeric:
            found.append(
                arrow_text_cells(name, column.unify_dictionaries().combine_chunks(), missing)
            )
            continue
        values = column.to_numpy()
        if np.count_nonzero(np.isnan(values)) != column.null_count:
            return None  # a word like "-nan", which is text to the other reader
        if (np.abs(values) >= EXACT).any():
            return None  # integers beyond it are known by their spelling
        found.append(Cells(name, numbers=values))
    return found


def arrow_text_cells(name: str, array: DictionaryArray, missing: Sequence[str]) -> Cells:
    """Return the cells of a pyarrow dictionary array of strings, or a column of one such chunk.

    A column with a hundred thousand spellings or more is trimmed, compared and parsed by pyarrow: a
    loop over them takes a second per million.  It falls back to the loop where stripping makes two
    spellings equal.
    """
    import pyarrow as pa
    from pyarrow import compute

    array = array.chunk(0) if hasattr(array, "num_chunks") else array
    codes = array.indices.fill_null(MISSING).to_numpy(zero_copy_only=False).astype(np.int64)
    spellings = array.dictionary
    if len(spellings) < MANY_SPELLINGS or not compute.utf8_trim_whitespace(spellings).equals(
        spellings
    ):
        return text_cells(name, spellings.to_pylist(), codes, missing)
    known = compute.invert(
        compute.is_in(spellings, value_set=pa.array(list(missing), spellings.type))
    )
    kept = known.to_numpy(zero_copy_only=False)
    values = spellings.filter(known)
    place = np.where(kept, np.cumsum(kept) - 1, MISSING)
    try:
        parsed = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        parsed = None  # some value is no number to pyarrow; Cells asks again
    if parsed is not None and np.isnan(parsed).any():
        parsed = None
    codes = by_code(place, codes, MISSING, dtype=np.int32)
    return Cells(name, tuple(values.to_pylist()), codes, parsed=parsed)
