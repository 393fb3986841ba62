"""What is a run called in lists?  What its sweep varies, then method, data set and seed, and what differs from the usual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arboretum.errors import ArboretumError
from arboretum.interfaces.component import KINDS, MANY
from arboretum.plugin.assemble import expand
from arboretum.plugin.build import default_of, fields_of
from arboretum.plugin.registry import NONE, Registry

UNSAID = frozenset({"method", "dataset", "tracker"})
"""Groups of which the name says the option, or nothing."""


def run_name(config: Mapping[str, Any], registry: Registry, varied: Sequence[str] = ()) -> str:
    """Compose "max_depth=3 seed=1 cart iris criterion=gain_ratio".

    config : a record's.  Options are named where they differ from the preset's (or the default's), fields where they
    differ from their component's defaults.   varied : keys that come first, as lists cut names at their end.
    """
    choices = config.get("choices", {})
    words = {key: str(choices[key]) for key in ("method", "dataset") if choices.get(key)}
    words |= {key: f"{key.rpartition('.')[2]}={_spelled(value)}" for key, value in _unusual(config, registry)}
    words["seed"] = f"seed={config.get('seed', 0)}"
    first = {key: words.pop(key, None) or f"{key.rpartition('.')[2]}={_spelled(_value(config, key))}" for key in varied}
    return " ".join([*first.values(), *words.values()])


def _value(config: Mapping[str, Any], key: str) -> Any:
    """What a key of an override has: the option of a group, or a field ("stopping.standard.max_depth")."""
    if key in config.get("choices", {}):
        return config["choices"][key]
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _unusual(config: Mapping[str, Any], registry: Registry) -> Iterator[tuple[str, Any]]:
    choices = config.get("choices", {})
    try:
        usual = expand(registry, {"method": choices.get("method", NONE)})
    except ArboretumError:  # a method of a plugin that is gone
        usual = {}
    for kind in (kind for kind in KINDS if kind not in UNSAID):
        chosen = choices.get(kind, NONE)
        if usual and _option(chosen) != _option(usual.get(kind)):
            yield kind, chosen
    for kind in (kind for kind in KINDS if kind not in ("dataset", "tracker")):
        group = config.get(kind) or {}
        parts = group.items() if kind in MANY else [(group.get("name", NONE), group)]
        for name, fields in parts:
            yield from _changed(kind, name, fields, registry)
    if config.get("theta") is not None:
        yield "theta", config["theta"]


def _changed(kind: str, name: str, fields: Mapping[str, Any], registry: Registry) -> Iterator[tuple[str, Any]]:
    """Fields of one component that differ from its defaults; a field that follows a shared value is not repeated."""
    try:
        known = fields_of(registry.get(kind, name).cls)
    except ArboretumError:
        return
    for key, value in fields.items():
        field = known.get(key)
        if field is not None and not field.metadata.get("shared") and _spelled(value) != _spelled(default_of(field)):
            yield f"{kind}.{name}.{key}", value


def _option(value: Any) -> tuple[str, ...]:
    several = value if isinstance(value, list | tuple) else [value]
    return tuple(str(item) for item in several if item not in (None, "", NONE))


def _spelled(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(_spelled(item) for item in value) or NONE
    if isinstance(value, bool):
        return str(value).lower()
    return NONE if value is None else str(getattr(value, "name", value))
