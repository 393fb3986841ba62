"""Named data sets, one canonical content per name whatever its source, and the data home, where a
name is looked for first.

The data home is a folder of ``NAME.csv.gz`` files with a ``manifest.json`` that knows their kinds
and orders: the environment variable ``ARBORETUM_DATA``, else the lab's, else the platform's cache
folder of the user.  ``catalogue.json`` is the table of names; its checksums are those of
:meth:`arboretum.api.Table.sha256`, and rows, kinds and spellings are part of them.
``canonical.json`` holds the column names and kinds that OpenML's copy of a set is brought to before
its checksum is compared.
"""

import contextlib
import json
import os
import re
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import attrs

from arboretum.api import DataError, Plain, Table, current_lab
from arboretum_data.reading.build import Schema, TaskChoice, build_table
from arboretum_data.reading.delimited import read_delimited
from arboretum_data.reading.roles import RoleColumns

PAPERS = {
    "000": (
        "Zhang & Gionis 2023: Regularized impurity reduction: accurate decision trees with "
        "complexity guarantees"
    ),
    "002": (
        "Lin, Zhong, Hu, Rudin & Seltzer 2020: Generalized and scalable optimal sparse "
        "decision trees"
    ),
    "003": "Quinlan 1986: Induction of decision trees",
    "004": (
        "Nan, Wang & Saligrama 2015: Max-cost discrete function evaluation problem under a budget"
    ),
}
"""Number used in this project → where a named data set is used."""
SUFFIX = ".csv.gz"
_OPTION = re.compile(r"(?!none$)[A-Za-z][A-Za-z0-9_.-]*")
"""What the registry and the command line take as the name of an option."""


@attrs.frozen
class Entry:
    """One named data set.

    rows, sha256 : of the canonical content.
    address, file_sha256 : of the file that holds it, and of its content.
    reading : fields of ``dataset=file`` that read it.
    openml : OpenML's id of the set, None where there is none.
    openml_rows : keep the first so many rows of OpenML's copy.
    unfetched : why OpenML is not asked ("" = it is).
    papers : keys of :data:`PAPERS`.
    orders : of ordinal values that are text and that a data home's manifest does not list.
    """

    name: str
    rows: int
    sha256: str
    task: str = "classification"
    address: str = ""
    file_sha256: str = ""
    reading: Plain = attrs.field(factory=dict)
    openml: int | None = None
    openml_rows: int | None = None
    unfetched: str = ""
    papers: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    orders: dict[str, tuple[str, ...]] = attrs.field(factory=dict)

    @property
    def paper(self) -> str:
        """The first paper here that uses it; "" for none."""
        return PAPERS[self.papers[0]] if self.papers else ""


ENTRIES: dict[str, Entry] = {
    name: Entry(name, **fields)
    for name, fields in json.loads(
        files("arboretum_data").joinpath("catalogue.json").read_text(encoding="utf-8")
    ).items()
}


def data_home() -> Path:
    """Return the folder in use; it need not exist."""
    given = os.environ.get("ARBORETUM_DATA") or current_lab().data
    return Path(given).expanduser() if given else user_cache()


def user_cache() -> Path:
    """``arboretum/data`` in the platform's cache folder of the user."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "arboretum" / "data"


def writable(home: Path) -> Path:
    """Return the data home where files can be put there, else the user's cache."""
    for folder in (home, user_cache()):
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    raise DataError(
        f"neither {home} nor {user_cache()} can be written; set ARBORETUM_DATA to a folder of yours"
    )


def home_names(home: Path) -> list[str]:
    """Return the names of the data sets that lie in a home and can be options of the command
    line.
    """
    try:
        found = sorted(entry.name for entry in os.scandir(home) if entry.name.endswith(SUFFIX))
    except OSError:
        return []  # no such folder, or not ours to read: then it offers nothing
    names = [name.removesuffix(SUFFIX) for name in found]
    return [name for name in names if _OPTION.fullmatch(name)]


def manifest_entry(home: Path, name: str) -> Plain:
    """Return what ``manifest.json`` in the folder ``home`` says of one data set; {} where it says
    nothing.  Raises DataError for what is no manifest.
    """
    path = home / "manifest.json"
    if not path.exists():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["datasets"]
        return next((entry for entry in entries if entry["name"] == name), {})
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a manifest ({type(error).__name__}: {error})") from error


def load_from_home(
    home: Path, name: str, extra_orders: Mapping[str, tuple[str, ...]] | None = None
) -> Table:
    """Read ``NAME.csv.gz`` in the folder ``home``; kinds from the manifest, else inferred, with the
    column ``target`` or else the last one.

    extra_orders : column → its values, ascending, beyond those of the manifest.
    """
    path, entry = home / f"{name}{SUFFIX}", manifest_entry(home, name)
    cells = read_delimited(path, missing=("",)) if entry else read_delimited(path)
    names, kinds = [c.name for c in cells], entry.get("feature_kinds", {})
    if not entry and "target" not in names:
        return build_table(name, cells, Schema(target=names[-1]))
    schema = Schema(
        target=entry.get("target", "target"),
        kinds={
            column: word
            for word in ("continuous", "ordinal", "categorical")
            for column in kinds.get(word, ())
        },
        orders={**entry.get("orders", {}), **(extra_orders or {})},
        default=kinds.get("default"),
        task=TaskChoice(entry.get("task", "auto")),
        roles=RoleColumns.named_in(entry).by_role(),
        event_value=entry.get("event_value"),
    )
    return build_table(name, cells, schema)
