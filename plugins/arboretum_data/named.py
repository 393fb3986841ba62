"""Named data sets as components: ``dataset=iris`` and every other name of the catalogue and of
the data home.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import attrs

from arboretum.api import DataError, Facts, Table, param
from arboretum_data import generated
from arboretum_data.fetched import fetch_file
from arboretum_data.home import ENTRIES, SUFFIX, Entry, data_home, home_names, load_from_home
from arboretum_data.reading.build import (
    WORDING,
    Overrides,
    TaskChoice,
    described_anew,
    mapping_param,
    one_against_rest,
    worded,
)
from arboretum_data.reading.roles import RoleColumns, roles_last

LOCAL: dict[str, Callable[[], Table]] = {
    "iris": generated.iris,
    "wine": generated.wine,
    "wdbc": generated.wdbc,
    "digits": generated.digits,
    "diabetes": generated.diabetes,
    **{
        f"monk{problem}-full": functools.partial(generated.monk_domain, problem)
        for problem in (1, 2, 3)
    },
    "tic-tac-toe": generated.tic_tac_toe,
    "balance-scale": generated.balance_scale,
    "play-tennis": generated.play_tennis,
    "dfep-synthetic": generated.dfep_synthetic,
}
"""Sets that need no file: bundled with scikit-learn, or made by a rule."""

ONE_AGAINST_REST = {
    f"iris-{species}": ("iris", species) for species in ("setosa", "versicolor", "virginica")
}
"""Registered name → (data set, positive class)."""


@attrs.frozen(field_transformer=roles_last)
class NamedDataset(RoleColumns):
    """A data set known by name; subclasses are made by :func:`component_of`, one per name."""

    kind = "dataset"
    name = ""
    paper = ""
    capabilities = ()
    source = ""
    """The name it is stored under."""
    offline = False

    positive: str | None = param(None, "class that becomes the target, one against the rest")
    ignore: tuple[str, ...] = param((), "columns to leave out", converter=tuple)
    kinds: dict[str, str] = mapping_param("column → continuous or categorical, instead of its own")
    target: str | None = param(None, "column to predict instead of its own target")
    questions: dict[str, str] = mapping_param(WORDING)

    def load(self, seed: int) -> Table:
        """Return the canonical content, then ``ignore``, ``kinds``, the target, columns of roles,
        ``positive`` and ``questions`` applied.
        """
        del seed  # a stored data set has one content
        table = attrs.evolve(canonical(self.source), name=self.name)
        target, roles = self.column_to_predict(self.target), self.by_role()
        classes, value = bool(self.treatment), self.event_value
        overrides = Overrides(self.kinds, self.ignore, target, classes, roles, value)
        return worded(
            one_against_rest(described_anew(table, overrides), self.positive), self.questions
        )

    def __reduce__(self) -> tuple[Callable[[str, Facts], NamedDataset], tuple[str, Facts]]:
        """The class is made at run time, so an instance travels to another process by its name."""
        return rebuild, (self.name, attrs.asdict(self))


def canonical(name: str) -> Table:
    """Return the content of a name: data home, then bundled or generated, then its address, then
    OpenML; its checksum is compared.

    Raises DataError when no source has it or when a source has another content.
    """
    home = data_home()
    entry = ENTRIES.get(name)
    if (home / f"{name}{SUFFIX}").exists():
        return check_content(
            load_from_home(home, name, None if entry is None else entry.orders),
            entry,
            f"the data home {home}",
        )
    if name in LOCAL:
        return check_content(LOCAL[name](), entry, "the bundled copy")
    if entry is None:
        raise DataError(f"data set {name!r} is no longer in the data home {home}")
    if entry.address:
        return check_content(_from_address(entry, home), entry, entry.address)
    if entry.openml is None or entry.unfetched:
        raise DataError(
            f"data set {name!r} is not in the data home {home} and is not fetched "
            f"({entry.unfetched}); "
            f"put {name}{SUFFIX} there or point ARBORETUM_DATA to a folder that has it"
        )
    from arboretum_data.openml import fetch_named

    return fetch_named(entry, home)


def _from_address(entry: Entry, home: Path) -> Table:
    """Return the table of the file at a set's address."""
    from arboretum_data.file import FileDataset

    try:
        path = fetch_file(entry.address, entry.file_sha256, home)
    except DataError as error:
        raise DataError(
            f"data set {entry.name!r} is not in the data home {home}, and {error}"
        ) from error
    task = TaskChoice(entry.task)
    table = FileDataset(path=str(path), task=task, **entry.reading).load(0)
    return attrs.evolve(table, name=entry.name)


def check_content(table: Table, entry: Entry | None, where: str) -> Table:
    """Return the table when it is the canonical content of its name (any content, if the name has
    none: ``entry`` is None).

    where : it was read, for the message.  Raises DataError for another content.
    """
    if entry is not None:
        found = table.sha256()
        if found != entry.sha256:
            raise DataError(
                f"data set {entry.name!r}: {where} holds another content ({table.n_rows} "
                f"rows, checksum {found[:12]}; "
                f"expected {entry.rows} rows, {entry.sha256[:12]}); read it with "
                "dataset=file, or rename it"
            )
    return table


@functools.cache
def component_of(name: str) -> type:
    """Return the component class of a name; one class per name and process, so that instances
    compare equal.

    A name outside the catalogue is one of the data home.
    """
    source, positive = ONE_AGAINST_REST.get(name, (name, None))
    entry = ENTRIES.get(source)
    body = {
        "name": name,
        "source": source,
        "offline": source in LOCAL,
        "paper": entry.paper if entry else "",
        "__module__": __name__,
        "__doc__": f"{_describe(name, entry)}.",
    }
    title = "NamedDataset_" + "".join(c if c.isalnum() else "_" for c in name)
    # no field of its own: attrs need not build it again (1 ms each, 54 times at every start)
    if positive is None:
        return type(title, (NamedDataset,), {**body, "__slots__": ()})
    body["__annotations__"] = {"positive": str | None}
    body["positive"] = param(positive, "class that becomes the target, one against the rest")
    return attrs.frozen(type(title, (NamedDataset,), body))


def _describe(name: str, entry: Entry | None) -> str:
    """Return a sentence on a data set: its size and where it comes from; ``entry`` is None without
    a canonical content.
    """
    if entry is None:
        return f"Data set {name} of the data home"
    where = "needs no download" if entry.name in LOCAL else "from the data home"
    if entry.address:
        where += f" or {urlsplit(entry.address).hostname}"
    if not entry.unfetched and entry.openml and entry.name not in LOCAL:
        where += f" or OpenML {entry.openml}"
    return f"Data set {name}: {entry.rows} rows, {entry.task}, {where}"


def rebuild(name: str, values: Facts) -> NamedDataset:
    """Undo the pickling of a named data set."""
    made: NamedDataset = component_of(name)(**values)
    return made


def named_components(home: Path, taken: frozenset[str] = frozenset()) -> list[type]:
    """Return one class per name: the catalogue, the one-against-rest siblings, and what else lies
    in the data home.

    taken : names of other data set components; a file of the home does not shadow them.
    """
    names = [*ENTRIES, *ONE_AGAINST_REST]
    known = taken.union(names)
    return [
        component_of(name) for name in (*names, *(n for n in home_names(home) if n not in known))
    ]
