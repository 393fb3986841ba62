"""Composed configuration → frozen components: every key accounted for, validators run once,
here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from arboretum.config.guard import contents
from arboretum.engine.check import check_goal
from arboretum.engine.class_weights import check_class_weight
from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.budget import Budget
from arboretum.interfaces.component import KINDS, MANY, param
from arboretum.interfaces.method import Parts
from arboretum.model.plain import Facts, Plain
from arboretum.plugin.assemble import certifier_of
from arboretum.plugin.build import (
    build,
    coerce,
    config_value,
    configuration,
    field_types,
    followers,
)
from arboretum.plugin.registry import NONE, Entry, Registry, plugin_files
from arboretum.runs.sweeps import flatten

MISSING = "???"


@attrs.frozen
class Settings:
    """The top-level keys."""

    kind = "run"

    seed: int = param(0, "seed of every random choice", ge=0)
    theta: float | None = param(
        None, "θ, followed by every component that declares it", ge=0.0, le=1.0
    )
    class_weight: str | Mapping[str, float] | None = param(
        None,
        "what a training row counts by its class: balanced, or {class: weight}; null: 1",
        converter=lambda given: None if given == NONE else given,
    )
    train_fraction: float = param(1.0, "share of the training rows that teach", gt=0, le=1)
    honest: float = param(
        0.0,
        "share of the training rows that do not choose tests but say what leaves predict; 0: none",
        ge=0,
        lt=1,
    )
    goal: str = param(
        "valid_error", "metric that a sweep returns and calls best; its name gives the direction"
    )
    certify: bool = param(False, "compare with the proven minimum over the same tests")
    certifier: str | None = param(
        None, "solver that certifies; null: the run's own, else the first by name that can"
    )
    skip_finished: bool = param(
        False, "do not repeat a run whose configuration, data and code are already finished"
    )
    plugins: tuple[str, ...] = param((), "one-file plugins (as --plugin FILE)")
    study: Mapping[str, str] | None = param(None, "group → the name that a study's file has for it")
    budget: Budget = attrs.field(
        factory=Budget, metadata={"doc": "see budget.seconds, budget.memory_mb"}
    )


SHARES = ("class_weight", "train_fraction", "honest")
"""Those that say what training rows do."""
SETTINGS: tuple[str, ...] = tuple(field.name for field in attrs.fields(Settings))


def read(cls: type, values: object, prefix: str = "") -> Any:
    """Build a class of settings from plain values; raises ConfigError naming key, rule and value.

    prefix : of its keys.
    """
    types = field_types(cls)
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"{prefix[:-1]} has the keys {', '.join(prefix + name for name in types)}; got "
            f"{values!r}"
        )
    for key in values:
        if key not in types:
            raise ConfigError(unknown("parameter", prefix + key, [prefix + name for name in types]))
    inner = {
        key: read(types[key], value or {}, f"{prefix}{key}.")
        for key, value in values.items()
        if attrs.has(types[key])
    }
    arguments = {
        key: inner[key] if key in inner else coerce(value, types[key], prefix + key)
        for key, value in values.items()
    }
    try:
        return cls(**arguments)
    except (ValueError, TypeError) as error:
        raise ConfigError(str(error).removeprefix("run.")) from None


@attrs.frozen(eq=False)
class Resolved:
    """What one run is made of.

    config : plain values of everything; two spellings of one configuration give one.
    """

    settings: Settings
    parts: Parts
    config: Plain

    @property
    def label(self) -> str:
        """Names the run in one glance: "method=cart dataset=iris seed=1"."""
        choices = self.config["choices"]
        return f"method={choices['method']} dataset={choices['dataset']} seed={self.settings.seed}"


def resolve(config: DictConfig, registry: Registry, chosen: Plain | None = None) -> Resolved:
    """Build settings and components.

    config : the composed configuration.
    chosen : Hydra's ``runtime.choices``, where its own node is not in ``config``.
    Raises ConfigError naming key, rule and value: an unknown key, a missing value (``???``), a
    wrong type, a bound.
    """
    options = chosen or contents(config.hydra.runtime.choices)
    values = _plain_values(config, [key for key in config if key != "hydra"])
    for key in values:
        if key not in KINDS and key not in SETTINGS:
            raise ConfigError(unknown("key", key, [*KINDS, *SETTINGS]))
    for key, value in flatten(values):
        if value == MISSING:
            raise ConfigError(f"{key} has no value; say {key}=VALUE")
    settings = _resolve_settings({key: values[key] for key in SETTINGS if key in values}, registry)
    check_goal(settings.goal)
    if settings.certifier is not None:
        # its name is looked at, whether it is needed or not
        none = Parts(method=None)  # no run yet
        certifier_of(registry, none, settings.certifier)
    built: Facts = {}
    for kind in KINDS:
        group = values.get(kind) or {}
        if not isinstance(group, dict):
            raise ConfigError(
                f"{kind} takes the name of an option, then {kind}.FIELD=VALUE; got {group!r}"
            )
        if kind not in MANY:
            built[kind] = _resolve_one(kind, group, options, registry)
            continue
        for name, fields in group.items():
            if not isinstance(fields, dict):
                raise ConfigError(
                    f"{kind}.{name}: a field lives under its component's name "
                    f"({kind}.RULE.{name}={fields}); {kind} here: {', '.join(group)}"
                )
        built[kind] = tuple(
            _build_component(registry.get(kind, name), fields) for name, fields in group.items()
        )
    check_class_weight(settings.class_weight)
    shares: Facts = {name: getattr(settings, name) for name in SHARES}
    parts = Parts(**built, **shares)
    if parts.method is None:
        raise ConfigError(
            f"a run needs a method; choose method=NAME of {', '.join(registry.names('method'))}"
        )
    _refuse_vain_values(settings, parts, registry)
    named = {
        key: config_value(value)
        for key, value in options.items()
        if not key.startswith("hydra") and value != MISSING
    }
    return Resolved(
        settings,
        parts,
        {**config_value(attrs.asdict(settings, recurse=True)), **configuration(parts, named)},
    )


def _plain_values(config: DictConfig, keys: Iterable[Any]) -> Facts:
    """Entries as plain values, interpolations resolved.  Raises ConfigError."""
    try:
        missing = {str(key): MISSING for key in keys if OmegaConf.is_missing(config, key)}
        values = {str(key): config[key] for key in keys if str(key) not in missing}
        return missing | {
            k: OmegaConf.to_container(v, resolve=True) if OmegaConf.is_config(v) else v
            for k, v in values.items()
        }
    except OmegaConfBaseException as error:
        raise ConfigError(" ".join(str(error).split())) from error


def components_of(parts: Parts) -> Iterator[Any]:
    """Yield the components of a run in the order of KINDS, several of a kind in their own order."""
    for kind in KINDS:
        value = getattr(parts, kind)
        yield from value if isinstance(value, tuple) else () if value is None else (value,)


def _refuse_vain_values(settings: Settings, parts: Parts, registry: Registry) -> None:
    """Raise ConfigError for a shared value that no component of the run takes: a sweep over it
    would change nothing.
    """
    taken = {
        name
        for component in components_of(parts)
        for name in followers(component.__class__).values()
    }
    takers: dict[str, list[str]] = {}
    for entry in registry.entries():
        for name in set(followers(entry.cls).values()) - taken:
            takers.setdefault(name, []).append(f"{entry.kind}={entry.name}")
    for name, found in takers.items():
        if (value := getattr(settings, name, None)) is not None:
            raise ConfigError(
                f"{name}={value} changes nothing: no component of this run follows it; leave it "
                f"out, or choose one that does ({', '.join(found)})"
            )


def _resolve_settings(values: Facts, registry: Registry) -> Settings:
    """Return the settings of a run; raises ConfigError where they name a plugin file that is not
    loaded.
    """
    settings = read(Settings, values)
    loaded = {owner.path for owner in registry.owners}
    for file in settings.plugins:
        if plugin_files([file])[0] not in loaded:
            raise ConfigError(
                f"plugins names {file!r}, which is not loaded: say --plugin {file} on the "
                "command line"
            )
    reported: Settings = attrs.evolve(settings, plugins=plugin_files(settings.plugins))
    return reported


def _resolve_one(kind: str, group: Facts, chosen: Plain, registry: Registry) -> Any:
    """Return the component of a kind that a group of the configuration describes, or None where
    none is chosen; raises ConfigError for fields that belong to nothing.
    """
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
            raise ConfigError(
                f"{kind}.{key} has nothing to belong to: {where} names no component; choose "
                f"{kind}=NAME"
            )
        return None
    return _build_component(registry.get(kind, str(name)), fields)


def _build_component(entry: Entry, fields: Facts) -> Any:
    """Return the component; a field that follows an unset shared value keeps its default."""
    return build(
        entry,
        {
            key: value
            for key, value in fields.items()
            if value is not None or key not in followers(entry.cls)
        },
    )


def component_from(config: DictConfig, kind: str, registry: Registry) -> Any:
    """Return one component of a composed configuration whose other groups may still vary (the
    tracker of a sweep).
    """
    return _resolve_one(
        kind, _plain_values(config, [kind])[kind], config.hydra.runtime.choices, registry
    )
