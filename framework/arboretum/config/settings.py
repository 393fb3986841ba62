"""What a run asks for besides its components: the root of the configuration, typed, once."""

from __future__ import annotations

from typing import Any

import attrs

from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.component import param
from arboretum.plugin.build import coerce, field_types


@attrs.frozen
class Limits:
    """What a run may spend (the group of keys ``budget.…``)."""

    kind = "budget"

    seconds: float | None = param(None, "wall clock for growing or solving", gt=0.0, unit="s")
    memory_mb: int | None = param(
        None, "what growing or solving allocates, at most; a smaller budget than needed is refused", gt=0, unit="MB"
    )


@attrs.frozen
class Settings:
    """The top-level keys."""

    kind = "run"

    seed: int = param(0, "seed of every random choice", ge=0)
    theta: float | None = param(None, "θ, followed by every component that declares it", ge=0.0, le=1.0)
    goal: str = param("valid_error", "metric that a sweep returns and calls best; its name gives the direction")
    certify: bool = param(False, "compare with the proven minimum over the same tests")
    certifier: str | None = param(None, "solver that certifies; null: the run's own, else the first by name that can")
    skip_finished: bool = param(False, "do not repeat a run whose configuration, data and code are already finished")
    plugins: tuple[str, ...] = param((), "one-file plugins (as --plugin FILE)")
    budget: Limits = attrs.field(factory=Limits, metadata={"doc": "see budget.seconds, budget.memory_mb"})


SETTINGS: tuple[str, ...] = tuple(field.name for field in attrs.fields(Settings))
"""Names of the top-level keys that are no group."""


def read_settings(values: dict[str, Any]) -> Settings:
    """Build the root from plain values; raises ConfigError naming key, rule and value."""
    budget = values.get("budget") or {}
    if not isinstance(budget, dict):
        raise ConfigError(f"budget has the keys seconds and memory_mb (budget.seconds=60); got {budget!r}")
    rest = {key: value for key, value in values.items() if key != "budget"}
    return read(Settings, rest, "", {"budget": read(Limits, budget, "budget.", {})})


def read(cls: type, values: dict[str, Any], prefix: str, more: dict[str, Any]) -> Any:
    """Build a class of settings; raises ConfigError naming key, rule and value.   prefix : of its keys.   more : built already."""
    types = field_types(cls)
    stray = [key for key in values if key not in types]
    if stray:
        raise ConfigError(unknown("parameter", prefix + stray[0], [prefix + name for name in types]))
    arguments = {key: coerce(value, types[key], prefix + key) for key, value in values.items()}
    try:
        return cls(**arguments, **more)
    except (ValueError, TypeError) as error:
        raise ConfigError(str(error).removeprefix("run.")) from None
