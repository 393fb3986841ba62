"""OpenML: ``dataset=openml`` by id or name, and the copies of named sets, through scikit-learn's
client.

Downloads are kept in the data home (or, where that cannot be written, in the user's cache), so a
set is fetched once.
"""

from __future__ import annotations

import json
import re
import socket
import warnings
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError

import attrs
import numpy as np

from arboretum.api import (
    ConfigError,
    DataError,
    Facts,
    Plain,
    Table,
    by_code,
    param,
)
from arboretum_data.home import SUFFIX, Entry, data_home, writable
from arboretum_data.reading.build import (
    WORDING,
    Schema,
    TaskChoice,
    build_table,
    mapping_param,
    one_against_rest,
    worded,
)
from arboretum_data.reading.cells import Cells, factorise
from arboretum_data.reading.roles import RoleColumns, roles_last

if TYPE_CHECKING:
    from pandas import Series
    from sklearn.utils import Bunch


TIMEOUT_SECONDS = 20.0
"""For one answer, or one pause in it; the client tries four times."""


@attrs.frozen(eq=False)
class Fetched:
    """What OpenML answered: columns (the target among them), which of them are nominal,
    warnings.
    """

    cells: tuple[Cells, ...]
    target: str
    nominal: frozenset[str]
    notes: tuple[str, ...] = ()


@attrs.frozen(field_transformer=roles_last)
class OpenMLDataset(RoleColumns):
    """Any data set of openml.org, by number or by name; kept in the data home after the first
    time.
    """

    kind = "dataset"
    name = "openml"
    paper = (
        "Vanschoren, van Rijn, Bischl & Torgo 2013: OpenML: networked science in machine learning"
    )
    capabilities = ()
    example = "dataset.id=61"

    id: int | None = param(None, "number of the data set on openml.org", ge=1)
    data_name: str | None = param(None, "its name there, instead of the number")
    version: int | None = param(None, "version of the name; the active one when not given", ge=1)
    target: str | None = param(None, "column to predict; OpenML's own target when not given")
    kinds: dict[str, str] = mapping_param("column → continuous, ordinal or categorical")
    orders: dict[str, list[str]] = mapping_param("ordinal column → values, low to high")
    task: TaskChoice = param(TaskChoice.auto, "what the target is")
    positive: str | None = param(None, "class that becomes the target, one against the rest")
    ignore: tuple[str, ...] = param((), "columns to leave out", converter=tuple)
    questions: dict[str, str] = mapping_param(WORDING)

    def load(self, seed: int) -> Table:
        """Fetch or read from the cache.  Raises ConfigError unless exactly one of id and
        data_name is given.
        """
        del seed
        if (self.id is None) == (self.data_name is None):
            raise ConfigError(
                "dataset=openml needs dataset.id=NUMBER or dataset.data_name=NAME, and not both"
            )
        if self.id is not None and self.version is not None:
            raise ConfigError(
                "dataset.version belongs to dataset.data_name; a number is one version"
            )
        asked = (
            {"data_id": self.id}
            if self.id is not None
            else {"name": self.data_name, "version": self.version}
        )
        target, roles = self.column_to_predict(self.target), self.by_role()
        fetched = fetch({k: v for k, v in asked.items() if v is not None}, data_home(), target)
        kinds = {**dict.fromkeys(fetched.nominal, "categorical"), **self.kinds}
        kinds = {
            column: "ordinal" if column in self.orders else kind for column, kind in kinds.items()
        }
        task = TaskChoice.classification if self.treatment else self.task
        schema = Schema(
            fetched.target,
            kinds,
            self.orders,
            ignore=self.ignore,
            task=task,
            roles=roles,
            event_value=self.event_value,
        )
        name = self.data_name or f"openml-{self.id}"
        table = build_table(name, fetched.cells, schema)
        if fetched.notes:
            table = attrs.evolve(table, notes={**table.notes, "openml": "; ".join(fetched.notes)})
        return worded(one_against_rest(table, self.positive), self.questions)


def fetch(asked: Plain, home: Path, target: str | None = None, named: str = "NAME") -> Fetched:
    """Return one data set by ``data_id`` or by ``name`` (and ``version``), as ``asked``.

    home : folder in which it is kept.
    target : its column; None: as OpenML says.
    named : what it is called in a data home.

    Raises DataError when OpenML cannot be reached, does not have it, or answers something else than
    a data set.
    """
    from sklearn.datasets import fetch_openml

    what = " ".join(f"{key}={value}" for key, value in asked.items())
    way_out = (
        f"put {named}{SUFFIX} into {home}, point ARBORETUM_DATA to a folder that has it, or use "
        "dataset=file"
    )
    folder = writable(home)
    known, before = _cached(folder), socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_SECONDS)  # scikit-learn opens its connections without a limit
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bunch = fetch_openml(
                **asked,
                target_column=target or "default-target",
                data_home=str(folder),
                # keeps spellings; the one by pandas turns "01" into 1 and fails on numbers
                parser="liac-arff",
                as_frame="auto",
                n_retries=1,
                delay=0.1,
            )
    except HTTPError as error:
        raise DataError(
            f"OpenML does not give {what}: it answers {error.code} {error.reason}; {way_out}"
        ) from error
    except OSError as error:  # no route, no name server, time out, HTTP status
        reason = getattr(error, "reason", error)
        raise DataError(f"OpenML cannot be reached for {what} ({reason}); {way_out}") from error
    except Exception as error:  # the client and its parsers raise a dozen unrelated families
        fresh = _cached(folder) - known
        # an answer that cannot be understood must not be asked again from the cache
        for file in fresh:
            file.unlink(missing_ok=True)
        reason = " ".join(str(error).split())[:200]
        if isinstance(error, KeyError | TypeError | AttributeError | IndexError):
            reason = f"its answer has another form than expected ({type(error).__name__}: {reason})"
        old = (
            ""
            if fresh or not known
            else f"; if the copy in {folder / 'openml'} is damaged, delete it"
        )
        raise DataError(
            f"OpenML does not give {what}: {reason or type(error).__name__}{old}"
        ) from error
    finally:
        socket.setdefaulttimeout(before)
    notes = tuple(
        str(w.message) for w in caught if "OpenML" in str(w.message) or "inactive" in str(w.message)
    )
    return _cells_of(bunch, what, notes)


def _cached(folder: Path) -> frozenset[Path]:
    """Return the files that the client keeps in a data home."""
    return frozenset(path for path in (folder / "openml").rglob("*") if path.is_file())


def _cells_of(bunch: Bunch, what: str, notes: tuple[str, ...]) -> Fetched:
    """Return the columns of what scikit-learn has fetched.

    what : was asked for, for the message.  Raises DataError for none or several targets.
    """
    names = list(bunch.target_names or ())
    if len(names) != 1:
        raise DataError(
            f"OpenML {what} has {len(names)} targets; name one with dataset.target=COLUMN"
        )
    if bunch.frame is None:  # sparse
        dense = bunch.data.toarray()
        cells = [
            Cells(n, numbers=dense[:, i].astype(float)) for i, n in enumerate(bunch.feature_names)
        ]
        target = factorise(names[0], [str(v) for v in bunch.target], ("",))
        return Fetched((*cells, target), names[0], frozenset(), notes)
    frame = bunch.frame
    cells = [_series_cells(str(name), frame[name]) for name in frame.columns]
    nominal = frozenset(cell.name for cell in cells if cell.numbers is None)
    return Fetched(tuple(cells), names[0], nominal, notes)


def _series_cells(name: str, series: Series) -> Cells:
    """Return the cells of a pandas column; categories keep their spelling, numbers stay numbers."""
    if hasattr(series, "cat"):
        codes = series.cat.codes.to_numpy()
        spelled = [str(v) for v in series.cat.categories]
        return Cells(name, tuple(spelled), np.asarray(codes, np.int32))
    if series.dtype.kind in "iuf":
        return Cells(name, numbers=series.to_numpy(dtype=float, na_value=np.nan))
    missing = series.isna().to_numpy()
    words = ["" if gone else str(value) for gone, value in zip(missing, series, strict=True)]
    return factorise(name, words, ("",))


# -- named sets ------------------------------------------------------------------------------------


def fetch_named(entry: Entry, home: Path) -> Table:
    """Return OpenML's copy of a named set, brought to the canonical names; only the canonical
    content is accepted.

    home : folder in which it is kept.

    Columns are matched by name, else by position, classes by spelling, else by their numbers of
    rows.  The checksum decides whether that was right, so a wrong guess is refused, never returned.
    """
    try:
        fetched = fetch({"data_id": entry.openml}, home, named=entry.name)
    except DataError as error:
        raise DataError(
            f"data set {entry.name!r} is not in the data home {home}, and {error}"
        ) from error
    shape = f"{fetched.cells[0].n_rows} rows, {len(fetched.cells) - 1} columns"
    try:
        table = adapt(fetched, entry, canonical_form(entry.name))
        problem = "" if table.sha256() == entry.sha256 else "its values are not the canonical ones"
    except DataError as error:
        problem = str(error)
    if problem:
        raise DataError(
            f"OpenML {entry.openml} ({shape}) is not the canonical {entry.name!r} "
            f"({entry.rows} rows): {problem}; "
            f"take it as it is with dataset=openml dataset.id={entry.openml}, or put "
            f"{entry.name}{SUFFIX} into {home}"
        )
    return table


def canonical_form(name: str) -> Facts:
    """Return the column names, kinds, classes and class counts of a named set
    (``canonical.json``).
    """
    forms = json.loads((files("arboretum_data") / "canonical.json").read_text(encoding="utf-8"))
    form: Facts = forms[name]
    if isinstance(form["columns"], str):  # "V{}": numbered columns
        form["columns"] = [form["columns"].format(i + 1) for i in range(form["n_columns"])]
    if form["categorical"] == "all":
        form["categorical"] = form["columns"]
    return form


def adapt(fetched: Fetched, entry: Entry, form: Plain) -> Table:
    """Return a table with the names, kinds and classes of the canonical ``form``.  Raises DataError
    where that cannot be.

    entry : what is known of the data set, such as how many of OpenML's rows belong to it.
    """
    features = [c for c in fetched.cells if c.name != fetched.target]
    target = next(c for c in fetched.cells if c.name == fetched.target)
    names = match_columns([c.name for c in features], form["columns"])
    cells = [attrs.evolve(c, name=new) for c, new in zip(features, names, strict=True)]
    cells = [next(c for c in cells if c.name == name) for name in form["columns"]]
    target = attrs.evolve(target, name=form["target"])
    if entry.task == "classification":
        target = rename_classes(_first_rows(target.as_text(), entry.openml_rows), form)
    if entry.openml_rows is not None:
        cells = [_first_rows(c, entry.openml_rows) for c in cells]
    kinds = {
        **dict.fromkeys(form["categorical"], "categorical"),
        **dict.fromkeys(form["ordinal"], "ordinal"),
    }
    schema = Schema(
        form["target"], kinds, form["ordinal"], "continuous", task=TaskChoice(entry.task)
    )
    return build_table(entry.name, [*cells, target], schema)


def _first_rows(cells: Cells, n_rows: int | None) -> Cells:
    """Return the first rows, with only the values that occur there; n_rows None: all."""
    if n_rows is None or n_rows >= cells.n_rows:
        return cells
    if cells.numbers is not None:
        return attrs.evolve(cells, numbers=cells.numbers[:n_rows])
    return factorise(
        cells.name, by_code(cells.values, cells.codes[:n_rows], "", dtype=object).tolist(), ("",)
    )


def match_columns(found: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the canonical name, one of ``wanted``, of each column: by name (letters and digits
    only), else by position.  Raises DataError where their numbers differ.
    """
    if len(found) != len(wanted):
        raise DataError(f"it has {len(found)} columns instead of {len(wanted)}")
    plain = {_plain(name): name for name in wanted}
    keys = [_plain(name) for name in found]
    return (
        [plain[k] for k in keys]
        if set(keys) == set(plain) and len(plain) == len(wanted)
        else list(wanted)
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def rename_classes(target: Cells, form: Plain) -> Cells:
    """Return the target with the class names of the canonical ``form``: same spelling, or the class
    of the same number of rows.  Raises DataError where neither decides.
    """
    wanted, counts = form["classes"], form["class_counts"]
    if set(target.values) == set(wanted):
        return target
    found = np.bincount(target.codes[target.codes >= 0], minlength=len(target.values)).tolist()
    if sorted(found) != sorted(counts) or len(set(counts)) != len(counts):
        raise DataError(
            f"its classes {', '.join(target.values[:5])} do not match "
            f"{', '.join(wanted[:5])} by name or by size"
        )
    return attrs.evolve(target, values=tuple(wanted[counts.index(n)] for n in found))
