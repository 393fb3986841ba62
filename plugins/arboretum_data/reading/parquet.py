"""Parquet, a format that states types, through pyarrow (imported here, when such a file is
read).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arboretum.api import EXACT, DataError
from arboretum_data.reading.cells import Cells, checked_header
from arboretum_data.reading.delimited import arrow_text_cells, refuse_no_file

if TYPE_CHECKING:
    from pyarrow import ChunkedArray


def read_parquet(
    path: Path, *, missing: Sequence[str] = (), ignore: Sequence[str] = ()
) -> list[Cells]:
    """Read a Parquet file: numbers stay numbers, everything else becomes text (dates are then read
    as ISO text).

    missing : words of text that mean "missing".
    ignore : columns whose content is not looked at.

    Raises DataError: no such file, no Parquet, no row, columns of lists, structures or bytes.
    """
    refuse_no_file(path)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})"
        ) from error
    names = checked_header(table.column_names, str(path))
    if not table.num_rows:
        raise DataError(f"{path}: there are columns but no row")
    empty = np.full(table.num_rows, -1, np.int32)
    return [
        Cells(name, (), empty) if name in ignore else arrow_cells(name, table.column(i), missing)
        for i, name in enumerate(names)
    ]


def arrow_cells(name: str, column: ChunkedArray, missing: Sequence[str]) -> Cells:
    """Return the cells of one pyarrow column; raises DataError for a type that is neither number,
    text, truth value nor date.

    missing : words of text that mean "missing".
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind):
        narrow = kind != pa.float64()
        return Cells(name, numbers=column.cast(pa.float32() if narrow else kind).to_numpy())
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy()
        if not (np.abs(values) >= EXACT).any():
            return Cells(name, numbers=values)
        missing = ()  # integers beyond it are known by their spelling
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if (
        pa.types.is_nested(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    ):
        raise DataError(
            f"column {name!r} holds {kind}, which no test can read; "
            f"'dataset.ignore=[{name}]' leaves it out"
        )
    try:
        array = column.cast(pa.string()).combine_chunks().dictionary_encode()
    except pa.ArrowException as error:
        raise DataError(
            f"column {name!r} holds {kind}, which cannot be read as text "
            f"({str(error).splitlines()[0]})"
        ) from error
    return arrow_text_cells(name, array, missing)
