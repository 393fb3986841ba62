"""Where the rows of one growth lie: in memory, or in chunks in a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import Encoded, InParts, Opened, Sketch, checksum_of, param

if TYPE_CHECKING:
    from arboretum.interfaces.encoder import Encoder

Progress = Callable[[float, float | None, str], None]


@attrs.frozen
class MemoryRows:
    """One table in memory; all methods, criteria, encoders and splits know it."""

    kind = "rows"
    name = "memory"
    paper = ""
    capabilities = ()
    whole = True

    def open(
        self,
        data: InParts,
        encoder: Encoder,
        seed: int,
        about: float | None,
        progress: Progress,
    ) -> Opened:
        """Hold the codes of all parts in one array.  A run loads the table instead, and does not
        ask; this is the store in its shortest form.
        """
        from arboretum.api import rows_of_arrays

        progress(0, None, "reading")
        tables = [part.load() for part in data.parts]
        sketch = Sketch.of(data.schema, 255)
        for table in tables:
            sketch.add(table)
        objects: Encoded = sketch.encode(encoder, seed)
        codes = np.concatenate(
            [
                np.stack([f.codes(table.column(f.column)) for f in objects.features])
                for table in tables
            ],
            axis=1,
        )
        classes = data.schema.is_classification
        targets = [table.target.codes if classes else table.target.values for table in tables]
        target = np.concatenate(targets)
        weight = np.concatenate([table.row_weights() for table in tables])
        shift = 0.0
        if not classes:
            shift = float(np.average(target, weights=weight)) if about is None else about
        store = rows_of_arrays(
            objects.features,
            data.schema.n_classes,
            codes.astype(np.uint8 if codes.max(initial=0) < 256 else np.uint16),
            target,
            weight,
            shift,
        )
        return Opened(store, objects, checksum_of(data), sketch.approximate())


@attrs.frozen
class ChunkRows:
    """Codes in a file, read and written chunk by chunk: a tree on more rows than memory holds.

    Of a Parquet file a row group is read at a time.  A numeric column of at most ``most_values``
    values keeps them all; one of more is cut at quantiles, whose error a note of the run states.
    """

    kind = "rows"
    name = "chunks"
    paper = ""
    capabilities = ()
    example = "dataset=iris split=none"
    whole = False
    keeps_roles = True

    most_values: int = param(
        255, "values of a numeric column, beyond which it is cut at so many quantiles", ge=2, le=255
    )
    folder: str | None = param(
        None, "where codes are laid down while the run lasts; the system's folder if not given"
    )

    def open(
        self,
        data: InParts,
        encoder: Encoder,
        seed: int,
        about: float | None,
        progress: Progress,
    ) -> Opened:
        """Read every column part by part, and lay its codes down in chunks."""
        from arboretum.api import Folder, open_mapped

        folder = Folder(self.folder)
        try:
            return open_mapped(data, encoder, seed, about, folder, self.most_values, progress)
        except BaseException:
            folder.close()
            raise
