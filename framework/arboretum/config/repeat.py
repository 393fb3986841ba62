"""A run again, from its record: the record's choices and values instead of the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arboretum.config.bridge import Start
from arboretum.config.guard import chosen_options
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
    anew = chosen_options(overrides)
    options = {kind: _recorded(kind, config, registry) for kind in KINDS if kind not in anew}
    enforced = tuple(options)
    if "method" in anew:  # another method's preset selects again, but not what was chosen instead of a preset's selection
        before = config["choices"].get("method")
        given = {kind: option for kind, option in options.items() if kind in GIVEN}
        enforced = tuple(kind for kind, option in given.items() if option != _own(kind, before, registry))
        own = {kind: {_own(kind, method, registry) for method in anew["method"]} for kind in given}
        options = {kind: option for kind, option in given.items() if kind in enforced or own[kind] <= {option}}
    choices = {**DEFAULT_CHOICES, **options}
    forgotten = {"plugins", "theta"} if anew.keys() - GIVEN else {"plugins"}  # θ belongs to components that may be gone
    said = {text.partition("=")[0].lstrip("+") for text in overrides}
    values: dict[str, Any] = {key: restored(config[key], key, said) for key in SETTINGS if key in config and key not in forgotten}
    for kind in options:
        fields = config.get(kind)
        if fields is not None or kind in MANY:
            own = {key: value for key, value in (fields or {}).items() if key != "name" or kind in MANY}
            values[kind] = {key: restored(value, f"{kind}.{key}", said) for key, value in own.items()}
    return Start(choices, values, enforced)


def _own(kind: str, method: Any, registry: Registry) -> Any:
    """The option that a method brings when nobody chooses one."""
    preset = registry.find_preset("method", method) if isinstance(method, str) else None
    return DEFAULT_CHOICES[kind] if preset is None else preset.select.get(kind, DEFAULT_CHOICES[kind])


def _recorded(kind: str, config: Mapping[str, Any], registry: Registry) -> Any:
    """The recorded option of a group, several in a tuple where the group takes several."""
    fields = config.get(kind)
    if kind in MANY or fields is None:
        return tuple(fields or ()) if kind in MANY else NONE
    name, chosen = fields["name"], config["choices"].get(kind)  # the preset, if it is still one of this component
    preset = registry.find_preset(kind, chosen) if isinstance(chosen, str) else None
    return chosen if preset is not None and preset.recipe == name else name
