"""Passwords in addresses of stores: kept in the environment, so that no configuration, and no file made of one, holds them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import Container, DictConfig, OmegaConf, read_write

from arboretum.errors import ConfigError
from arboretum.model.shown import MASK, masked

VARIABLE = "ARBORETUM_SECRET"
"""Under which name, with a number, an address is kept that no variable of the environment holds."""
_INTERPOLATION = re.compile(r"\$\{[^{}]*\}")
_LEFT_OUT = re.compile(rf"://.*(?::|//|=){MASK}")
WAY_OUT = "'${oc.env:NAME}' takes it from the environment"


def holds_secret(text: str) -> bool:
    """Whether a text names a secret itself; ``${oc.env:NAME}`` in its place is none."""
    plain = _INTERPOLATION.sub("", text)
    return masked(plain) != plain


def concealed(override: str) -> str:
    """The override with ``${oc.env:NAME}`` for an address that holds a secret.  Raises ConfigError where that cannot be done."""
    if not holds_secret(override):
        return override
    try:
        found = OverridesParser.create().parse_override(override)
    except HydraException:
        return override  # it will be refused for what it is
    value = None if found.is_sweep_override() else found.value()
    if not isinstance(value, str) or "${" in value:
        raise ConfigError(f"{override} holds a secret beside other things; {WAY_OUT}, the whole address")
    return f"{override.partition('=')[0]}={_kept(value)}"


def conceal(config: DictConfig) -> None:
    """The same for every value of a composed configuration (a file of choices may hold addresses), in place."""

    def walk(node: Container) -> None:
        for key in node if OmegaConf.is_dict(node) else range(len(node)):
            if OmegaConf.is_missing(node, key) or OmegaConf.is_interpolation(node, key):
                continue
            if OmegaConf.is_config(node[key]):
                walk(node[key])
            elif isinstance(node[key], str) and holds_secret(node[key]):
                node[key] = _kept(node[key])

    with read_write(config):
        walk(config)


def _kept(value: str) -> str:
    """How a configuration names a text that the environment keeps."""
    name = next((name for name, held in os.environ.items() if held == value), None)
    if name is None:
        name = next(name for i in range(len(os.environ) + 1) if (name := f"{VARIABLE}_{i}") not in os.environ)
        os.environ[name] = value
    return f"${{oc.env:{name}}}"


def restored(value: Any, path: str, given: Collection[str] = ()) -> Any:
    """A recorded value for a configuration: its texts as they are, whatever they look like, and its secrets found anew.

    given : keys that the command line sets; their recorded values do not matter.
    A secret was left out of the record; any variable of the environment that holds the whole address serves.  Raises ConfigError.
    """
    if isinstance(value, Mapping):
        return {key: restored(item, f"{path}.{key}", given) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [restored(item, path, given) for item in value]
    if not isinstance(value, str):
        return value
    if path not in given and _LEFT_OUT.search(value):
        return f"${{oc.env:{_holder(value, path)}}}"
    return value.replace("${", r"\${")


def found_again(fields: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Recorded fields with their secrets, from the environment.  Raises ConfigError."""
    return {
        key: os.environ[_holder(value, f"{path}.{key}")] if isinstance(value, str) and _LEFT_OUT.search(value) else value
        for key, value in fields.items()
    }


def _holder(value: str, path: str) -> str:
    name = next((name for name, held in os.environ.items() if held != value and masked(held) == value), None)
    if name is None:
        msg = f"{path}={value} lacks its secret, which records leave out: put the whole address into an environment variable "
        raise ConfigError(f"{msg}(any name: export STORE=…), or say {path}=… anew")
    return name
