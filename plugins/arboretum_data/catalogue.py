"""The table of named data sets: one canonical content per name, whatever its source.

A name is looked for in the data home, then among bundled and generated sets, then on OpenML.  The checksum is that of
:meth:`arboretum.api.Table.sha256`; rows, kinds and spellings are part of it.  ``catalogue.json`` is the table itself;
``canonical.json`` holds the column names and kinds that OpenML's copy of a set is brought to before its checksum is compared.
"""

from __future__ import annotations

import json
from importlib.resources import files

import attrs

PAPERS = {
    "000": "Zhang & Gionis 2023: Regularized impurity reduction: accurate decision trees with complexity guarantees",
    "002": "Lin, Zhong, Hu, Rudin & Seltzer 2020: Generalized and scalable optimal sparse decision trees",
    "003": "Quinlan 1986: Induction of decision trees",
    "004": "Nan, Wang & Saligrama 2015: Max-cost discrete function evaluation problem under a budget",
}
"""Number used in this project → where a named data set is used."""


@attrs.frozen
class Entry:
    """One named data set.

    rows, sha256 : of the canonical content.   openml : OpenML's id of the set, None where there is none.
    openml_rows : keep the first so many rows of OpenML's copy.   unfetched : why OpenML is not asked ("" = it is).
    papers : keys of :data:`PAPERS`.   orders : of ordinal values that are text and that a data home's manifest does not list.
    """

    name: str
    rows: int
    sha256: str
    task: str = "classification"
    openml: int | None = None
    openml_rows: int | None = None
    unfetched: str = ""
    papers: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    orders: dict[str, tuple[str, ...]] = attrs.field(factory=dict)

    @property
    def paper(self) -> str:
        """The first paper here that uses it; "" for none."""
        return PAPERS[self.papers[0]] if self.papers else ""


def _entries() -> tuple[Entry, ...]:
    table = json.loads(files("arboretum_data").joinpath("catalogue.json").read_text(encoding="utf-8"))
    return tuple(Entry(name, **fields) for name, fields in table.items())


ENTRIES = _entries()
