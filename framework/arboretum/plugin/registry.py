"""The registry: which components and presets are installed, and who owns them.

A registry is an object with a life-cycle: made at the start of a command, passed down, never
global.
"""

import inspect
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs

from arboretum.engine.check import broken_contract, guess_kind
from arboretum.errors import MOST_NAMES, ConfigError, PluginError, closest, listed, unknown
from arboretum.interfaces.component import (
    EVERY_KIND,
    KINDS,
    Capability,
    as_capabilities,
    summary_of,
)

NONE = "none"  # the option that leaves an optional group empty
# the kind of what goes through a sweep in a way of its own: no part of a run, an option of a group
# of Hydra's
SWEEPER = "hydra.sweeper"

NO_NAMES = frozenset({NONE, "null", "nan", "inf", "true", "false", "yes", "no", "on", "off"})
"""Words that Hydra or YAML takes for something else than text, in any spelling."""

_RENAMED: dict[object, dict[str, str]] = {
    "criterion": {"settle": "finalise_scores"},
    "stopping": {"worth": "significance"},
}
"""Kind → method of its contract as it was called → as it is called now."""

ONE_FILE = "(file)"  # distribution of a plugin that is a file given on the command line


def plugin_files(given: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """One-file plugins as absolute paths; a file that is named twice is one."""
    return tuple(dict.fromkeys(str(Path(file).expanduser().resolve()) for file in given))


@attrs.frozen
class Owner:
    """Who brought a component: plugin name, the distribution it came in, its version, its folder
    or file.
    """

    plugin: str
    distribution: str = ""
    version: str = ""
    path: str = ""


@attrs.frozen
class Entry:
    """One registered component."""

    kind: str
    name: str
    cls: type
    owner: Owner

    @property
    def paper(self) -> str:
        """The reference that the class states; "" where it states none."""
        return getattr(self.cls, "paper", "") or ""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The capabilities that the class declares."""
        return as_capabilities(getattr(self.cls, "capabilities", ()))

    @property
    def summary(self) -> str:
        """First paragraph of the class's docstring on one line; "" without a docstring."""
        return summary_of(self.cls.__doc__)


@attrs.frozen
class Preset:
    """A named selection.

    recipe : option of the preset's own kind.
    select : group → option, or options; no values.
    """

    kind: str
    name: str
    recipe: str
    select: Mapping[str, str | tuple[str, ...]]
    owner: Owner
    summary: str = ""
    paper: str = ""


Item = TypeVar("Item", Entry, Preset)


@attrs.frozen
class Failure:
    """A plugin that could not be used, and why (one line)."""

    plugin: str
    reason: str


class Registry:
    """Components and presets by kind and name."""

    def __init__(self) -> None:
        """Begin with no component, plugin or failure."""
        self._items: dict[str, dict[str, Entry | Preset]] = {
            kind: {} for kind in (*EVERY_KIND, SWEEPER)
        }
        self.failures: list[Failure] = []
        self.owners: list[Owner] = []

    def add(self, cls: type, owner: Owner) -> Entry:
        """Register a component class; raises PluginError when it is none, or its name is taken."""
        entry = Entry(*check_component(cls, owner), cls, owner)
        self.put(entry)
        return entry

    def put(self, item: Entry | Preset) -> None:
        """Register a component that :func:`check_component` has passed, or a preset, which
        shares its kind's names.

        Raises PluginError where another has the name.
        """
        taken = self._items[item.kind].setdefault(item.name, item)
        if taken is not item:
            both = (taken.owner, item.owner)
            claims = " and ".join(o.path if o.distribution == ONE_FILE else o.plugin for o in both)
            installed = [o.plugin for o in both if o.distribution != ONE_FILE]
            way = "rename one"
            if installed:
                way += f", uninstall one, or leave one out with ARBORETUM_DISABLE={installed[-1]}"
            raise PluginError(
                f"{item.kind} {item.name!r} is claimed by two plugins: {claims}; {way}"
            )

    def entries(self, kind: str | None = None) -> Iterator[Entry]:
        """All components (of one kind), by kind in the order of EVERY_KIND, then by name."""
        return self._all(Entry, kind)

    def _all(self, of: type[Item], kind: str | None) -> Iterator[Item]:
        """Those of a type, by kind (None: of every kind), then by name."""
        for each in [kind] if kind else EVERY_KIND:
            yield from (
                item for _, item in sorted(self._items[each].items()) if isinstance(item, of)
            )

    def presets(self, kind: str | None = None) -> Iterator[Preset]:
        """All presets (of one kind), by kind in the order of EVERY_KIND, then by name."""
        return self._all(Preset, kind)

    def names(self, kind: str) -> list[str]:
        """Options of a kind: components and presets."""
        return sorted(self._items[kind])

    def find_preset(self, kind: str, name: str) -> Preset | None:
        """The preset of that name, or None when it is a component (or unknown)."""
        item = self._items[kind].get(name)
        return item if isinstance(item, Preset) else None

    def get(self, kind: str, name: str) -> Entry:
        """The component; raises ConfigError with the closest match, the candidates and their
        owners.
        """
        if kind not in EVERY_KIND:
            raise ConfigError(unknown("kind", kind, EVERY_KIND))
        item = self._items[kind].get(name)
        if isinstance(item, Preset) and not item.select:
            return self.get(kind, item.recipe)  # another name of it
        if not isinstance(item, Entry):
            raise ConfigError(self.unknown_option(kind, name))
        return item

    def unknown_option(self, kind: str, name: str) -> str:
        """One line: what is unknown, what it is elsewhere or the closest match, what is
        installed, what failed to load, where else it may be.

        kind : one of EVERY_KIND.   name : what was asked for.
        """
        names, last = self.names(kind), ""
        if other := next((each for each in KINDS if name in self._items[each]), None):
            hint = (
                f"; {name} is {'an' if other[0] in 'aeiou' else 'a'} {other}: say {other}={name};"
            )
        else:
            near = closest(name, names)
            hint = (
                f"; did you mean {near!r} ({self._items[kind][near].owner.plugin})?"
                if near
                else ";"
            )
            last = "" if near else "; one in a file of your own: add --plugin FILE"
        more = f" (arboretum plugins {kind} lists them)" if len(names) > MOST_NAMES else ""
        if self.failures:
            more += f" (not loaded: {', '.join(failure.plugin for failure in self.failures)})"
        return f"unknown {kind} {name!r}{hint} installed: {listed(name, names)}{more}{last}"


def check_component(cls: Any, owner: Owner) -> tuple[str, str]:
    """Return (kind, name) of a component class; raises PluginError naming plugin, class, the
    broken rule and the way out.
    """
    for old, new in _RENAMED.get(getattr(cls, "kind", None), {}).items():
        if hasattr(cls, old) and not hasattr(cls, new):
            warnings.warn(
                f"plugin {owner.plugin}: {cls.__name__}.{old} is called {new} now, and {old} goes "
                "with the next minor version",
                DeprecationWarning,
                2,
            )
            setattr(cls, new, inspect.getattr_static(cls, old))
    if (fault := _fault(cls)) is not None:
        raise PluginError(
            f"plugin {owner.plugin}: {getattr(cls, '__qualname__', repr(cls))}{fault}"
        )
    return cls.kind, cls.name


def _fault(cls: object) -> str | None:
    """What makes a class no component, as the end of a sentence that names it; None where it is
    one.
    """
    if not isinstance(cls, type):
        return " is no class; arboretum_components() returns the classes themselves, not instances"
    kind, name = getattr(cls, "kind", None), getattr(cls, "name", None)
    if not isinstance(kind, str):
        return (
            f' states no kind; add kind = "{guess_kind(cls) or "criterion"}" (kinds: '
            f"{', '.join(EVERY_KIND)})"
        )
    if kind not in (*EVERY_KIND, SWEEPER):
        near = closest(kind, EVERY_KIND)
        return f".kind is {kind!r}; " + (
            f"did you mean {near!r}?" if near else f"it must be one of {', '.join(EVERY_KIND)}"
        )
    if not isinstance(name, str):
        return f' states no name; add name = "…", the word after {kind}= on the command line'
    if name.startswith(("-", ".")) or not name.replace("-", "_").replace(".", "_").isidentifier():
        return f".name is {name!r}; it must be a word of letters, digits, '_', '-'"
    if name.casefold() in NO_NAMES:
        return (
            f".name is {name!r}, which the command line and YAML read as a value; choose another "
            "word"
        )
    if not attrs.has(cls):
        return " is not an attrs class; decorate it with @attrs.frozen"
    if (fault := _field_fault(cls)) is not None:
        return fault
    if not isinstance(paper := getattr(cls, "paper", ""), str):
        return f'.paper is {paper!r}; it must be text ("" where there is none)'
    try:
        as_capabilities(getattr(cls, "capabilities", ()))
    except (ValueError, TypeError) as error:
        return f".capabilities: {error}; known: {', '.join(c.value for c in Capability)}"
    if kind == SWEEPER:
        whole = hasattr(cls, "sweep") and {"goals", "params"} <= {
            field.name for field in attrs.fields(cls)
        }
        return (
            None
            if whole
            else " lacks the method sweep(jobs), or the field goals or params, of a sweeper"
        )
    return broken_contract(kind, cls)


def _field_fault(cls: type) -> str | None:
    """What is wrong with the fields of an attrs class: it must be frozen, and every field typed,
    with a default of its own.  None where nothing is.
    """
    setter: object = cls.__setattr__
    if setter is object.__setattr__:
        return " is not frozen; decorate it with @attrs.frozen"
    if loose := [
        name for name, value in vars(cls).items() if type(value).__name__ == "_CountingAttr"
    ]:
        return (
            f".{loose[0]} is no field, because only its parent is decorated; put @attrs.frozen "
            "above the class, too"
        )
    for field in attrs.fields(cls):
        if field.type is None:
            return (
                f".{field.name} states no type, so nothing checks its values; write "
                f"{field.name}: float = param(…)"
            )
        if field.default is attrs.NOTHING:
            return f".{field.name} has no default; every field of a component has one"
        if type(field.default).__hash__ is None:
            return (
                f".{field.name} has a mutable default, which all instances would share; "
                f"use a tuple, or attrs.Factory({type(field.default).__name__})"
            )
    return None
