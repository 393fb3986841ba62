"""Composed configuration → frozen components: every key accounted for, validators run once, here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from arboretum.config.settings import SETTINGS, Settings, read_settings
from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.component import KINDS, MANY
from arboretum.interfaces.method import Parts
from arboretum.model.shown import masked_values
from arboretum.plugin.assemble import certifier_of
from arboretum.plugin.build import build, fields_of, followers, plain
from arboretum.plugin.registry import NONE, Entry, Registry

MISSING = "???"


@attrs.frozen(eq=False)
class Resolved:
    """What one run is made of.

    config : plain values of everything, canonical (two spellings of one configuration give one ``config``).
    """

    settings: Settings
    parts: Parts
    config: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Names the run in one glance: "method=cart dataset=iris seed=1"."""
        choices = self.config["choices"]
        return f"method={choices['method']} dataset={choices['dataset']} seed={self.settings.seed}"


def resolve(config: DictConfig, chosen: Mapping[str, Any], registry: Registry) -> Resolved:
    """Build settings and components.

    config : the composed configuration; Hydra's own node is passed over.   chosen : Hydra's ``runtime.choices``.
    Raises ConfigError naming key, rule and value: an unknown key, a missing value (``???``), a wrong type, a bound.
    """
    try:
        values = {str(key): _plain(config, key) for key in config if key != "hydra"}
    except OmegaConfBaseException as error:
        raise ConfigError(" ".join(str(error).split())) from error
    stray = [key for key in values if key not in KINDS and key not in SETTINGS]
    if stray:
        raise ConfigError(unknown("key", str(stray[0]), [*KINDS, *SETTINGS]))
    _refuse_missing(values, "")
    settings = _settings({key: values[key] for key in SETTINGS if key in values}, registry)
    if settings.certifier is not None:
        certifier_of(registry, Parts(method=None), settings.certifier)  # its name is looked at, whether it is needed or not
    parts: dict[str, Any] = {}
    for kind in KINDS:
        group = values.get(kind) or {}
        if not isinstance(group, dict):
            raise ConfigError(f"{kind} takes the name of an option, then {kind}.FIELD=VALUE; got {group!r}")
        parts[kind] = _several(kind, group, registry) if kind in MANY else _one(kind, group, chosen, registry)
    if parts["method"] is None:
        raise ConfigError(f"a run needs a method; choose method=NAME of {', '.join(registry.names('method'))}")
    _refuse_unfollowed(settings, parts, registry)
    return Resolved(settings, Parts(**parts), canonical(settings, parts, chosen))


def _plain(config: DictConfig, key: Any) -> Any:
    """One entry as plain values, interpolations resolved."""
    if OmegaConf.is_missing(config, key):
        return MISSING
    value = config[key]
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _refuse_unfollowed(settings: Settings, parts: Mapping[str, Any], registry: Registry) -> None:
    """Raise ConfigError for a shared value that no component of the run takes: a sweep over it would change nothing."""
    chosen = [c for part in parts.values() for c in (part if isinstance(part, tuple) else (part,)) if c is not None]
    taken = {name for component in chosen for name in followers(type(component)).values()}
    for name in SETTINGS:
        value = getattr(settings, name)
        if value is None or name in taken:
            continue
        takers = [f"{entry.kind}={entry.name}" for entry in registry.entries() if name in followers(entry.cls).values()]
        if takers:
            msg = f"{name}={value} changes nothing: no component of this run follows it; leave it out, or choose one that does"
            raise ConfigError(f"{msg} ({', '.join(takers)})")


def _settings(values: dict[str, Any], registry: Registry) -> Settings:
    if isinstance(values.get("plugins"), str):
        values["plugins"] = [values["plugins"]]
    settings = read_settings(values)
    loaded = {owner.path for owner in registry.owners}
    for file in settings.plugins:
        if str(Path(file).expanduser().resolve()) not in loaded:
            raise ConfigError(f"plugins names {file!r}, which is not loaded: say --plugin {file} on the command line")
    files = tuple(str(Path(file).expanduser().resolve()) for file in settings.plugins)
    return attrs.evolve(settings, plugins=files)


def _refuse_missing(values: Any, path: str) -> None:
    for key, value in values.items() if isinstance(values, dict) else ():
        here = f"{path}.{key}" if path else str(key)
        if value == MISSING:
            raise ConfigError(f"{here} has no value; say {here}=VALUE")
        _refuse_missing(value, here)


def _one(kind: str, group: dict[str, Any], chosen: Mapping[str, Any], registry: Registry) -> Any:
    option, name = chosen.get(kind), group.get("name", NONE)
    fields = {key: value for key, value in group.items() if key != "name"}
    preset = registry.find_preset(kind, option) if isinstance(option, str) else None
    known = isinstance(option, str) and option in {NONE, *registry.names(kind)}
    if known and name != (preset.recipe if preset else option):
        raise ConfigError(f"{kind}.name is no parameter; choose a {kind} with {kind}={name}")
    if name == NONE:
        if fields:
            key = next(iter(fields))
            where = f"the option {option!r}" if option not in (None, NONE) else f"{kind}=none"
            raise ConfigError(f"{kind}.{key} has nothing to belong to: {where} names no component; choose {kind}=NAME")
        return None
    entry = registry.get(kind, str(name))
    return build(entry, _own(entry, fields))


def _several(kind: str, group: dict[str, Any], registry: Registry) -> tuple[Any, ...]:
    built = []
    for name, fields in group.items():
        if not isinstance(fields, dict):
            example = f"{kind}.RULE.{name}={fields}"
            msg = f"{kind}.{name}: a field lives under its component's name ({example}); {kind} here: {', '.join(group)}"
            raise ConfigError(msg)
        entry = registry.get(kind, name)
        built.append(build(entry, _own(entry, fields)))
    return tuple(built)


def _own(entry: Entry, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields to set: one that follows an unset shared value keeps its component's default."""
    return {key: value for key, value in fields.items() if value is not None or key not in followers(entry.cls)}


def canonical(settings: Settings, parts: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The whole configuration as plain values, derived from what was built; groups without a component are left out."""
    config: dict[str, Any] = plain(attrs.asdict(settings, recurse=True))
    choices = {key: plain(value) for key, value in chosen.items() if not key.startswith("hydra") and value != MISSING}
    for kind in KINDS:
        part = parts[kind]
        if kind in MANY:
            choices[kind] = [component.name for component in part]
            config[kind] = {component.name: component_values(component) for component in part}
        elif part is None:
            choices[kind] = NONE
        else:
            choices.setdefault(kind, part.name)
            config[kind] = {"name": part.name, **component_values(part)}
    return {**config, "choices": choices}


def component_values(component: Any) -> dict[str, Any]:
    """Field → plain value of a built component, for records and others to read: without passwords."""
    fields = fields_of(type(component)).items()
    return {name: masked_values(plain(getattr(component, field.name))) for name, field in fields}


def component_from(config: DictConfig, chosen: Mapping[str, Any], kind: str, registry: Registry) -> Any:
    """One component of a composed configuration whose other groups may still vary (the tracker of a sweep)."""
    try:
        group = OmegaConf.to_container(config[kind], resolve=True)
    except OmegaConfBaseException as error:
        raise ConfigError(" ".join(str(error).split())) from error
    return _one(kind, group, chosen, registry)
