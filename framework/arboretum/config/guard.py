"""What a configuration must not say: arbitrary code, two components in one group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf

from arboretum.errors import ConfigError
from arboretum.interfaces.component import KINDS, MANY
from arboretum.plugin.registry import NONE

ALLOWED = ("hydra._internal.core_plugins.", "hydra.experimental.callbacks.", "hydra_plugins.", "arboretum.config.callbacks.")
"""Where a ``_target_`` may point: Hydra's own launchers, sweepers and callbacks.  Narrower than "hydra" and "arboretum":
``hydra.utils`` and the plugin loader can fetch anything by name."""

_GROUP = re.compile(r"^(?P<mark>[+~]{0,2})(?P<group>[a-z]+)=(?P<value>.*)$", re.DOTALL)

_HOME = re.compile(r"(?<![^,\[])~(?:/[^,\[\]{}]*)?(?=[,\]]|$)")


def refuse_code(config: DictConfig) -> None:
    """Raise ConfigError when any ``_target_`` (or logging factory) names code outside Hydra's own plugins."""
    for path, key, value in _walk(OmegaConf.to_container(config, resolve=False), ""):
        if key == "_target_" and not (isinstance(value, str) and value.startswith(ALLOWED)):
            msg = (
                f"{path}={value!r} is refused: a configuration selects registered components and names no code; "
                "write a plugin (arboretum new NAME) and select it by name"
            )
            raise ConfigError(msg)
        if "logging" in path and key in ("()", "class") and not str(value).startswith("logging."):
            msg = f"{path}={value!r} is refused: logging handlers come from Python's logging module only"
            raise ConfigError(msg)


def _walk(value: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}" if path else str(key)
            yield here, str(key), item
            yield from _walk(item, here)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]")


def normalise(overrides: Sequence[str]) -> list[str]:
    """Overrides that Hydra accepts: ``group=null`` means ``group=none``, and ``~/file`` needs no quotes.

    Raises ConfigError for a list of options in a group that takes one.
    """
    return [_normalised(quote_home(text)) for text in overrides]


def quote_home(text: str) -> str:
    """``dataset.path=~/a.csv,~/b.csv`` with the quotes that Hydra's grammar asks for; what has quotes stays as it is."""
    key, sign, value = text.partition("=")
    if not sign or "~" not in value or "'" in value or '"' in value:
        return text
    return f"{key}={_HOME.sub(_quoted, value)}"


def _quoted(found: re.Match[str]) -> str:
    return f"'{found[0]}'"


def _normalised(text: str) -> str:
    found = _GROUP.match(text)
    if found is None or found["group"] not in KINDS:
        return text
    group, value = found["group"], found["value"].strip()
    if value == "null":
        return f"{group}={NONE}"
    if value.startswith("[") and group not in MANY and "],[" not in value:
        msg = f"{group} takes one option, not a list; got {value} (several values to try: -m {group}={value[1:-1]})"
        raise ConfigError(msg)
    return text
