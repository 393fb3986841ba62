"""One command that uses a component, as it is printed beside it: it has to run."""

from __future__ import annotations

import shlex

from arboretum.interfaces.component import MANY, STUDIES, Capability, as_capabilities
from arboretum.plugin.assemble import DEFAULT_CHOICES
from arboretum.plugin.registry import NONE, ONE_FILE, Entry, Preset, Registry

CLASSES, NUMBERS = "iris", "diabetes"
"""Data sets of examples, for classes and for numbers."""

NOTHING = ("", (), NONE)
"""Default choices that leave a group empty."""


def command(item: Entry | Preset, registry: Registry) -> str | None:
    """A command that uses a component or preset; None where it needs a part of which none is installed.

    A component's ``example`` says what it needs besides; words in capitals are for the reader to replace.
    """
    if item.kind in STUDIES:
        return f"arboretum export RUN --to {item.name}" if item.kind == "export" else f"arboretum reproduce {item.name}"
    chosen = overrides(item, registry)
    file = ("--plugin", item.owner.path) if item.owner.distribution.startswith(ONE_FILE) else ()
    words = (*file, *(f"{key}={value}" for key, value in (chosen or {}).items()))
    return None if chosen is None else f"arboretum run {shlex.join(words)}"


def overrides(item: Entry | Preset, registry: Registry) -> dict[str, str] | None:
    """Key → value of the example, as on the command line."""
    cls = item.cls if isinstance(item, Entry) else registry.get(item.kind, item.recipe).cls
    own = dict(word.split("=", 1) for word in getattr(cls, "example", "").split()) if isinstance(item, Entry) else {}
    option = f"[{item.name}]" if item.kind in MANY else item.name
    data = {} if item.kind == "dataset" else {"dataset": own.pop("dataset", _dataset(item, registry))}
    chosen = {**data, item.kind: option, **own}
    preset = item if isinstance(item, Preset) else registry.find_preset("method", own.get("method", ""))
    selected = preset.select if preset is not None else {}
    if item.kind != "method" and selected.get(item.kind) == item.name:
        del chosen[item.kind]  # the preset brings it
    if item.kind == "solver" and "method" not in chosen:  # somebody has to ask it
        asks = [entry.name for entry in registry.entries("method") if "solver" in getattr(entry.cls, "needs", ())]
        chosen |= {"method": asks[0], "encoder": "multiway"} if asks else {}
    wanted = list(getattr(cls, "needs", ()))
    while wanted:
        group = wanted.pop(0)
        if group in (*chosen, *selected) or DEFAULT_CHOICES[group] not in NOTHING:
            continue
        names = registry.names(group)
        if not names:
            return None
        chosen[group] = f"[{names[0]}]" if group in MANY else names[0]
        if registry.find_preset(group, names[0]) is None:  # what was added may need parts itself
            wanted += getattr(registry.get(group, names[0]).cls, "needs", ())
    return chosen


def _dataset(item: Entry | Preset, registry: Registry) -> str:
    """A data set with a target that the component copes with."""
    entries = [item] if isinstance(item, Entry) else []
    if isinstance(item, Preset):
        options = [(kind, names if isinstance(names, tuple) else (names,)) for kind, names in item.select.items()]
        known = {kind: {entry.name for entry in registry.entries(kind)} for kind, _ in options}
        entries = [registry.get(kind, name) for kind, names in options for name in names if name in known[kind]]
    for entry in entries:
        declared = as_capabilities(getattr(entry.cls, "capabilities", ()))
        if Capability.regression in declared and Capability.classification not in declared:
            return NUMBERS
    return CLASSES


def missing_part(item: Entry | Preset, registry: Registry) -> str:
    """The group without an option that keeps an example from running."""
    cls = item.cls if isinstance(item, Entry) else registry.get(item.kind, item.recipe).cls
    return next(group for group in getattr(cls, "needs", ()) if DEFAULT_CHOICES[group] in NOTHING and not registry.names(group))


def runs_anywhere(item: Entry | Preset) -> bool:
    """Whether the example needs neither a file nor the network: False for data sets that do not say so."""
    return item.kind != "dataset" or (isinstance(item, Entry) and bool(getattr(item.cls, "offline", False)))
