"""A run again, from its record: the record's choices and values instead of the defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from arboretum.config.bridge import Start
from arboretum.config.secrets import restored
from arboretum.config.settings import SETTINGS
from arboretum.errors import ConfigError
from arboretum.interfaces.component import KINDS, MANY
from arboretum.model.record import Record
from arboretum.plugin.assemble import DEFAULT_CHOICES
from arboretum.plugin.registry import NONE, Registry

GIVEN = frozenset({"dataset", "split", "encoder", "cost", "tracker"})
"""Groups that stay as recorded when another method is chosen: what is asked, not how it is answered.

But an option that nobody chose, because it was the recorded method's own or the default, gives way to the other method's own.
"""

_GROUP = re.compile(r"^[+~]{0,2}([a-z_]+)(?:=(.*)|$)", re.DOTALL)


def start_from(record: Record, overrides: Sequence[str], registry: Registry) -> Start:
    """The starting point of a repetition.

    overrides : the command line's; a group chosen there forgets the recorded option and its values, and another method
    forgets the recorded recipe (everything but GIVEN, and the method's own choices there).
    Raises ConfigError when the record names no components.
    """
    config = record.config
    broken = any(not isinstance(config[kind], Mapping | None) for kind in KINDS if kind in config)
    if not isinstance(config.get("choices"), Mapping) or "method" not in config or broken:
        raise ConfigError("this record does not hold its configuration, so it cannot be repeated")
    anew = {found[1] for text in overrides if (found := _GROUP.match(text)) and found[1] in KINDS}
    recorded = [kind for kind in KINDS if kind not in anew]
    enforced = recorded
    if "method" in anew:  # another method's preset selects again, but not what was chosen instead of a preset's selection
        methods = _chosen("method", overrides)
        before = config["choices"].get("method")
        chosen = {kind for kind in GIVEN if _recorded(kind, config, registry) != _own(kind, before, registry)}
        enforced = [kind for kind in recorded if kind in chosen]
        recorded = [
            kind
            for kind in recorded
            if kind in GIVEN
            and (kind in chosen or all(_recorded(kind, config, registry) == _own(kind, m, registry) for m in methods))
        ]
    choices: dict[str, Any] = dict(DEFAULT_CHOICES)
    forgotten = {"plugins", "theta"} if anew - GIVEN else {"plugins"}  # θ belongs to components that may be gone
    given = {text.partition("=")[0].lstrip("+") for text in overrides}
    values: dict[str, Any] = {
        key: restored(config[key], key, given) for key in SETTINGS if key in config and key not in forgotten
    }
    for kind in recorded:
        fields = config.get(kind)
        choices[kind] = _recorded(kind, config, registry)
        if fields is not None:
            values[kind] = {
                key: restored(value, f"{kind}.{key}", given) for key, value in fields.items() if key != "name" or kind in MANY
            }
        elif kind in MANY:
            values[kind] = {}
    return Start(choices, values, tuple(enforced))


def _chosen(group: str, overrides: Sequence[str]) -> list[str]:
    """The options that the command line chooses for a group; several in a sweep."""
    found = [match[2] or "" for text in overrides if (match := _GROUP.match(text)) and match[1] == group]
    return [name.strip() for text in found for name in text.split(",")]


def _own(kind: str, method: Any, registry: Registry) -> Any:
    """The option that a method brings when nobody chooses one."""
    preset = registry.find_preset("method", method) if isinstance(method, str) else None
    return DEFAULT_CHOICES[kind] if preset is None else preset.select.get(kind, DEFAULT_CHOICES[kind])


def _recorded(kind: str, config: Mapping[str, Any], registry: Registry) -> Any:
    """The recorded option of a group, several in a tuple where the group takes several."""
    fields = config.get(kind)
    if kind in MANY:
        return tuple(fields or ())
    return NONE if fields is None else _option(kind, config, registry)


def _option(kind: str, config: Mapping[str, Any], registry: Registry) -> str:
    """The preset that was chosen, if it is still one of this component; else the component."""
    name, chosen = config[kind]["name"], config["choices"].get(kind)
    preset = registry.find_preset(kind, chosen) if isinstance(chosen, str) else None
    return chosen if preset is not None and preset.recipe == name else name
