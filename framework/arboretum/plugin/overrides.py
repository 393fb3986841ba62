"""The components of an estimator from its overrides: the one-file plugins among them, and the keys that only a run takes."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.component import KINDS
from arboretum.interfaces.method import Parts
from arboretum.plugin.assemble import assemble, read_assignment
from arboretum.plugin.build import followers
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


_registry = functools.cache(load_registry)
"""The plugins, found once per process and files: an ensemble of a thousand trees must not look a thousand times."""


def assembled(overrides: Mapping[str, Any]) -> Parts:
    """The components of an estimator, kept by their JSON text: they are frozen, and an ensemble asks for the same ones often.

    overrides : group → option (its name, or a component), "group.field" → value, "plugins" → files.
    """
    try:
        text = json.dumps(overrides)
    except (TypeError, ValueError):  # a value that JSON does not know, such as a component or an enum
        return _assembled_now(overrides)
    return _assembled_from_text(text)


@functools.lru_cache(maxsize=64)
def _assembled_from_text(text: str) -> Parts:
    return _assembled_now(json.loads(text))


def _assembled_now(overrides: Mapping[str, Any]) -> Parts:
    values = {key: value for key, value in overrides.items() if key != "plugins"}
    registry = _registry(_files(overrides.get("plugins")))
    refuse_keys(registry, list(values))
    return assemble(registry, {}, values, without=UNUSED)


def as_mapping(overrides: Mapping[str, Any] | Sequence[str] | None) -> Mapping[str, Any]:
    """Overrides by key, however they were written; raises ConfigError for what is neither a mapping nor a list of texts."""
    if isinstance(overrides, Mapping):
        return overrides
    if isinstance(overrides, str) or not isinstance(overrides, Sequence | None):
        raise ConfigError(f"overrides must be a mapping such as {{'criterion.lam': 10}} or a list of texts; got {overrides!r}")
    return dict(map(read_assignment, overrides or ()))


def _files(value: Any) -> tuple[str, ...]:
    """Absolute paths of the one-file plugins; a single path may stand for a list of one."""
    given = [] if value is None else [value] if isinstance(value, str | PathLike) else value
    if not isinstance(given, Sequence) or not all(isinstance(file, str | PathLike) for file in given):
        raise ConfigError(f"plugins must be a list of files such as ['my_criterion.py']; got {value!r}")
    return tuple(str(Path(file).expanduser().resolve()) for file in given)


def refuse_keys(registry: Registry, keys: Sequence[str]) -> None:
    """Raise ConfigError for a key that would have no effect."""
    for key in keys:
        first, dot, _ = key.partition(".")
        if first in _ELSEWHERE:
            raise ConfigError(f"an estimator takes no {key!r} among its overrides: {_ELSEWHERE[first]}")
        if not dot and first not in KINDS:
            shared = {name for entry in registry.entries() for name in followers(entry.cls).values()}
            if first not in shared:
                raise ConfigError(unknown("override", key, [*KINDS, *sorted(shared), "plugins"]))
