"""The components of an estimator from its overrides: the one-file plugins among them, and the keys that only a run takes."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.component import KINDS
from arboretum.interfaces.method import Parts
from arboretum.plugin.assemble import assemble, split_values
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Registry

_ELSEWHERE: Mapping[str, str] = {
    "dataset": "rows are given to fit",
    "split": "fit learns from every row it is given; hold rows out with train_test_split or cross_val_score",
    "tracker": "an estimator records nothing; arboretum.run does",
    "seed": "give random_state=…",
    "budget": "an estimator grows to the end; bound it by max_depth=… or min_samples_leaf=…, or use arboretum.run",
    "goal": "say what to optimise by scoring=… of GridSearchCV, or use arboretum.run",
    "certify": "only arboretum.run compares with the proven minimum",
    "certifier": "only arboretum.run compares with the proven minimum",
    "skip_finished": "an estimator records nothing; arboretum.run does",
}
"""Keys of a run that an estimator does not take, and what to do instead."""


UNUSED = ("dataset", "split", "tracker")
"""Groups an estimator has no use for: rows are given, all of them teach, and nothing is recorded."""


@functools.cache
def _registry(files: tuple[str, ...] = ()) -> Any:
    """The plugins, found once per process and files: an ensemble of a thousand trees must not look a thousand times."""
    return load_registry(files)


def assembled(method: str, overrides: Mapping[str, Any] | Sequence[str]) -> Parts:
    """The components of an estimator, kept by their JSON text: they are frozen, and an ensemble asks for the same ones often."""
    try:
        text = json.dumps(overrides)
    except (TypeError, ValueError):  # a value that JSON does not know, such as an enum
        return _assembled_now(method, overrides)
    return _assembled_from_text(method, text)


@functools.lru_cache(maxsize=64)
def _assembled_from_text(method: str, text: str) -> Parts:
    return _assembled_now(method, json.loads(text))


def _assembled_now(method: str, overrides: Mapping[str, Any] | Sequence[str]) -> Parts:
    files, keys, overrides = split_plugins(overrides)
    registry = _registry(files)
    refuse_keys(registry, keys)
    return assemble(registry, {"method": method}, overrides, without=UNUSED)


def split_plugins(overrides: Mapping[str, Any] | Sequence[str]) -> tuple[tuple[str, ...], list[str], Any]:
    """Absolute paths of the one-file plugins, the other keys, and the overrides without ``plugins``."""
    if isinstance(overrides, Mapping):
        rest = {key: value for key, value in overrides.items() if key != "plugins"}
        return _files(overrides.get("plugins")), list(rest), rest
    listed = [text for text in overrides if _key(text) == "plugins"]
    others = [text for text in overrides if _key(text) != "plugins"]
    return _files(split_values({}, listed)[2].get("plugins")), [_key(text) for text in others], others


def _key(text: str) -> str:
    return str(text).partition("=")[0].strip().lstrip("+")


def _files(value: Any) -> tuple[str, ...]:
    """Absolute paths of the one-file plugins; a single path may stand for a list of one."""
    given = [] if value is None else [value] if isinstance(value, str | PathLike) else value
    if not isinstance(given, Sequence) or not all(isinstance(file, str | PathLike) for file in given):
        msg = f"plugins must be a list of files such as ['my_criterion.py']; got {value!r}"
        raise ConfigError(msg)
    return tuple(str(Path(file).expanduser().resolve()) for file in given)


def refuse_keys(registry: Registry, keys: Sequence[str]) -> None:
    """Raise ConfigError for a key that would have no effect."""
    for key in keys:
        first, dot, _ = key.partition(".")
        if first in _ELSEWHERE:
            msg = f"an estimator takes no {key!r} among its overrides: {_ELSEWHERE[first]}"
            raise ConfigError(msg)
        if not dot and first not in KINDS and first not in (shared := _shared(registry)):
            raise ConfigError(unknown("override", key, [*KINDS, *sorted(shared), "plugins"]))


def _shared(registry: Registry) -> set[str]:
    """The top-level values that components of the registry follow, such as theta."""
    fields = (field for entry in registry.entries() for field in attrs.fields(entry.cls))
    return {field.metadata["shared"] for field in fields if field.metadata.get("shared")}
