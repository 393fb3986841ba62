"""From choices to components, without Hydra: what estimators, bulk experiments and the config resolver share.

``choices`` says which option each group takes; ``values`` says which fields differ from their defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.component import KINDS, MANY
from arboretum.interfaces.method import Parts
from arboretum.plugin.build import build, fields_of
from arboretum.plugin.registry import NONE, Entry, Owner, Registry, check_component

DEFAULT_CHOICES: Mapping[str, str | tuple[str, ...]] = {
    "dataset": "",
    "split": "holdout",
    "encoder": "auto",
    "predicate": NONE,
    "impurity": "auto",
    "coverage": (),
    "criterion": "reduction",
    "stopping": ("standard",),
    "missing": "better_side",
    "cost": "unit",
    "complexity": NONE,
    "objective": NONE,
    "solver": NONE,
    "pruner": NONE,
    "tuner": NONE,
    "tracker": "mlflow",
    "method": "cart",
}
"""Option of each group when nobody chooses; ``method`` comes last so that its preset can select the others."""


def expand(registry: Registry, choices: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in defaults and presets: group → option (tuple of options for ``stopping`` and ``coverage``).

    What is chosen explicitly wins over what a preset selects, which wins over the default.
    Raises ConfigError on an unknown group or option.
    """
    wrong = [group for group in choices if group not in KINDS]
    if wrong:
        raise ConfigError(unknown("group", wrong[0], KINDS))
    method = choices.get("method", DEFAULT_CHOICES["method"])
    result: dict[str, Any] = {**DEFAULT_CHOICES}
    preset = registry.find_preset("method", method) if isinstance(method, str) else None
    if preset is not None:
        result.update(preset.select)
    result.update(choices)
    result["method"] = preset.recipe if preset is not None else method
    for group in MANY:
        value = result[group]
        one = isinstance(value, str) or not isinstance(value, Sequence)
        result[group] = () if value in (NONE, None, "") else (value,) if one else tuple(value)
    return result


def assemble(
    registry: Registry,
    choices: Mapping[str, Any],
    values: Mapping[str, Any] | Sequence[str] = (),
    *,
    without: Sequence[str] = (),
) -> Parts:
    """Build the components of a run.

    choices : group → option, or a component itself.   values : "criterion.lam" → 10, or a list ["criterion.lam=10"]; a bare group name
        ("criterion") chooses an option.   without : groups to leave empty.
    Raises ConfigError naming field, rule and value.
    """
    choices, fields, shared = split_values(choices, values)
    chosen = expand(registry, choices)
    parts: dict[str, Any] = {}
    for group in KINDS:
        option = chosen[group]
        wanted = fields.pop(group, {})
        if group in without or option in (NONE, "", None):
            continue
        if group in MANY:
            names = [getattr(each, "name", each) for each in option]
            stray = [key for key in wanted if key not in names]
            if stray:
                raise ConfigError(unknown(f"{group} rule", stray[0], names))
            pairs = zip(option, names, strict=True)
            parts[group] = tuple(_built(registry, group, each, wanted.get(name, {}), shared) for each, name in pairs)
        else:
            parts[group] = _built(registry, group, option, wanted, shared)
    return Parts(**parts)


def _built(registry: Registry, group: str, option: Any, values: Mapping[str, Any], shared: Mapping[str, Any]) -> Any:
    """The component that an option names; of a component, the same with ``values`` put in, checked as a plugin's is."""
    if isinstance(option, str):
        return build(registry.get(group, option), values, shared)
    cls, owner = type(option), Owner("(given)")
    if not attrs.has(cls) or (kind := getattr(cls, "kind", group)) != group:
        what = f"a {kind}" if attrs.has(cls) else repr(option)
        raise ConfigError(f"{group} must be a name (arboretum plugins {group} lists them) or a component of that kind; got {what}")
    own = {name: getattr(option, field.name) for name, field in fields_of(cls).items()}
    return build(Entry(*check_component(cls, owner), cls, owner), {**own, **values})


def certifier_of(registry: Registry, parts: Parts, name: str | None = None, shared: Mapping[str, Any] | None = None) -> Any:
    """The solver that certifies a run (one with ``minima``); None where none is installed.

    name : whom to take; by default the run's own solver if it can, else the first by name that can.
    shared : top-level values that its fields follow.   Raises ConfigError when the solver of that name is unknown or cannot.
    """
    own = parts.solver if hasattr(parts.solver, "minima") else None
    able = [entry for entry in registry.entries("solver") if hasattr(entry.cls, "minima")]
    if name is None:
        return own if own is not None else build(able[0], {}, shared) if able else None
    if own is not None and own.name == name:
        return own
    found = [entry for entry in able if entry.name == name]
    if not found:
        cannot = f"solver {name} proves no minima; " if name in registry.names("solver") else ""
        raise ConfigError(f"certifier: {cannot}" + unknown("certifier", name, [entry.name for entry in able]))
    return build(found[0], {}, shared)


def certified_complexities(registry: Registry, parts: Parts, shared: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
    """Every installed complexity, by name; the run's own as the run has it."""
    own = parts.complexity
    built = (build(entry, {}, shared) for entry in registry.entries("complexity"))
    return tuple(own if own is not None and own.name == found.name else found for found in built)


def split_values(
    choices: Mapping[str, Any], values: Mapping[str, Any] | Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Sort overrides into (choices, nested fields per group, shared top-level values such as theta)."""
    if not isinstance(values, Mapping):
        values = dict(read_assignment(text) for text in values)
    chosen, fields, shared = dict(choices), {}, {}
    for key, value in values.items():
        group, *rest = key.split(".")
        if not rest and group in KINDS:
            chosen[group] = value
        elif not rest:
            shared[group] = value
        else:
            if group not in KINDS:
                raise ConfigError(unknown("group", group, KINDS))
            where = fields.setdefault(group, {})
            if group in MANY:
                if len(rest) < 2:
                    raise ConfigError(f"{key} must name the rule: {group}.RULE.{rest[0]} (for example {group}.standard.{rest[0]})")
                where = where.setdefault(rest.pop(0), {})
            where[".".join(rest)] = value
    return chosen, fields, shared


def read_assignment(text: str) -> tuple[str, Any]:
    """Key and value of an override as the command line takes it; raises ConfigError for what is none."""
    import yaml

    key, sign, value = text.partition("=")
    if not sign:
        raise ConfigError(f"cannot read override {text!r}; expected KEY=VALUE")
    try:
        return key.strip().lstrip("+"), yaml.safe_load(value) if value else ""
    except yaml.YAMLError as error:
        msg = f"cannot read override {text!r}: some of its characters have a meaning of their own; quote them: {key}='…'"
        raise ConfigError(msg) from error
