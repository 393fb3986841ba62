"""Parquet, through pyarrow (imported here, when such a file is read)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from arboretum.api import DataError
from arboretum_data.reading.cells import Cells, checked_header
from arboretum_data.reading.delimited import arrow_text_cells


def read_parquet(path: Path, *, missing: Sequence[str] = ()) -> list[Cells]:
    """Read a Parquet file: numbers stay numbers, everything else becomes text."""
    if not path.exists():
        msg = f"{path}: no such file"
        raise DataError(msg)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        msg = f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})"
        raise DataError(msg) from error
    names = checked_header(table.column_names, str(path))
    if not table.num_rows:
        msg = f"{path}: there are columns but no row"
        raise DataError(msg)
    return [arrow_cells(name, table.column(i), missing) for i, name in enumerate(names)]


def arrow_cells(name: str, column, missing: Sequence[str]) -> Cells:
    """Cells of one pyarrow column."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return Cells(name, numbers=np.asarray(values, np.float64))
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    array = column.cast(pa.string()).combine_chunks().dictionary_encode()
    if hasattr(array, "num_chunks"):
        array = array.chunk(0)
    return arrow_text_cells(name, array, missing)
