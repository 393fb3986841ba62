"""A run again, from its record: the record's choices and values instead of the defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from arboretum.config.bridge import Start
from arboretum.config.settings import SETTINGS
from arboretum.errors import ConfigError
from arboretum.interfaces.component import KINDS, MANY
from arboretum.model.record import Record
from arboretum.plugin.registry import NONE, Registry

GIVEN = frozenset({"dataset", "split", "encoder", "cost", "tracker"})
"""Groups that stay as recorded when another method is chosen: what is asked, not how it is answered."""

_GROUP = re.compile(r"^[+~]{0,2}([a-z_]+)(?:=|$)")


def start_from(record: Record, overrides: Sequence[str], registry: Registry) -> Start:
    """The starting point of a repetition.

    overrides : the command line's; a group chosen there forgets the recorded option and its values, and another method
    forgets the recorded recipe (everything but GIVEN).   Raises ConfigError when the record names no components.
    """
    config = record.config
    if not isinstance(config.get("choices"), Mapping) or "method" not in config:
        raise ConfigError("this record does not hold its configuration, so it cannot be repeated")
    anew = {found[1] for text in overrides if (found := _GROUP.match(text)) and found[1] in KINDS}
    recorded = [kind for kind in KINDS if kind not in anew and not ("method" in anew and kind not in GIVEN)]
    from arboretum.plugin.assemble import DEFAULT_CHOICES

    choices: dict[str, Any] = dict(DEFAULT_CHOICES)
    forgotten = {"plugins", "theta"} if anew - GIVEN else {"plugins"}  # θ belongs to components that may be gone
    values: dict[str, Any] = {key: config[key] for key in SETTINGS if key in config and key not in forgotten}
    for kind in recorded:
        fields = config.get(kind)
        if kind in MANY:
            choices[kind] = tuple(fields or ())
            values[kind] = dict(fields or {})
        elif fields is None:
            choices[kind] = NONE
        else:
            choices[kind] = _option(kind, config, registry)
            values[kind] = {key: value for key, value in fields.items() if key != "name"}
    return Start(choices, values, () if "method" in anew else tuple(recorded))  # another method's preset selects again


def _option(kind: str, config: Mapping[str, Any], registry: Registry) -> str:
    """The preset that was chosen, if it is still one of this component; else the component."""
    name, chosen = config[kind]["name"], config["choices"].get(kind)
    preset = registry.find_preset(kind, chosen) if isinstance(chosen, str) else None
    return chosen if preset is not None and preset.recipe == name else name
