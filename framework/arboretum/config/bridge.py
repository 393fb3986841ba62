"""Registry → Hydra's store: group = kind, option = name, generated from the attrs fields.

The only module that touches ``ConfigStore``, which is one per process: :func:`hold_nodes` puts the
nodes in and takes them out again, so that a notebook, a thread or somebody else's Hydra application
is left as it was.
"""

import inspect
import json
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import attrs
from hydra import version
from hydra.core.config_store import ConfigNode, ConfigStore
from hydra.core.plugins import Plugins
from omegaconf import OmegaConf

from arboretum.config.guard import chosen_options, restore
from arboretum.config.inside import TOLD_ITS_BASE
from arboretum.config.resolve import SETTINGS, Settings
from arboretum.errors import ConfigError, PluginError, raised_at, said, unknown
from arboretum.interfaces.component import KINDS, MANY
from arboretum.lab import FILE, Lab
from arboretum.model.plain import Facts, Plain
from arboretum.model.shown import masked
from arboretum.plugin.assemble import DEFAULT_CHOICES
from arboretum.plugin.build import config_value, fields_of
from arboretum.plugin.registry import NONE, SWEEPER, Entry, Registry

PRIMARY = "arboretum"  # name of the primary configuration
REPEATED = "repeated_values"  # name of the node that holds the values of a record that is repeated
VERSION_BASE = "1.3"
BASIC = "basic.yaml"  # under which name Hydra's store holds the sweeper that does every combination
RAY = "ray.yaml"
RAY_SETTINGS: Plain = {
    # what a cluster that is there takes for its object store is its own choice: Ray refuses another
    "init": {"address": None, "object_store_memory": None, "log_to_driver": False},
    # a run whose worker was killed is done again
    "remote": {"max_retries": 100},
}
"""What stands in Ray's launcher unless somebody sets it."""

_LOCK = threading.RLock()


class Configured(Protocol):
    """A record, or a proof: what holds a run's configuration."""

    @property
    def config(self) -> Plain:
        """The run's, plain."""


@attrs.frozen
class Start:
    """Where a composition starts from: the defaults, or the choices and values of a record that is
    repeated.

    recorded : groups whose option is the record's; there a method's preset selects nothing any
        more.
    left_out : "KEY=VALUE" of a record that says where something is written, which only a command
        says.
    """

    choices: Plain = attrs.field(factory=lambda: dict(DEFAULT_CHOICES))
    values: Facts = attrs.field(factory=dict)
    recorded: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass
class _Node(ConfigNode):
    """A node that becomes an OmegaConf object when it is loaded: two hundred of them at start
    would take 0.1 s.
    """

    def __copy__(self) -> ConfigNode:
        """The node as Hydra's store hands it out, made an OmegaConf object."""
        node = OmegaConf.create(self.node)
        for key, value in self.node.items():
            if isinstance(value, Mapping) and self.group is not None:
                # a mapping field (prices, kinds) takes any key
                OmegaConf.set_struct(node[key], False)
        return ConfigNode(self.name, node, self.group, self.package, self.provider)


@contextmanager
def hold_nodes(registry: Registry, start: Start | None = None) -> Iterator[None]:
    """Hold the registry's nodes in Hydra's store; other threads that compose wait; restored at the
    end.

    start : None: the defaults.
    """
    with _LOCK:
        # Hydra's own launchers and sweepers register at first use: not inside, where it is undone
        Plugins.instance()
        store, base = ConfigStore.instance(), version.VersionBase.instance()
        before, base_before = store.repo, base.getbase()
        if TOLD_ITS_BASE:
            version.setbase(VERSION_BASE)
        store.repo = {
            name: dict(value) if isinstance(value, dict) else value
            for name, value in before.items()
        }
        try:
            fill(store.repo, registry, start or Start())
            yield
        finally:
            store.repo = before
            base.version_base = base_before


def fill(repo: Facts, registry: Registry, start: Start) -> None:
    """Add the primary configuration, a node per component and per preset, and ``none`` per
    optional group.

    repo : Hydra's store, group → file → node; written.
    """
    _put(repo, None, PRIMARY, primary(start), None)
    if start.values:
        _put(repo, None, REPEATED, dict(start.values), "_global_")
    hydra = repo.setdefault("hydra", {})
    hydra["sweeper"] = dict(hydra.get("sweeper", {}))
    # what is null there takes no key from the command line
    if plain_sweeper := hydra["sweeper"].get(BASIC):
        node: Any = OmegaConf.merge(plain_sweeper.node, {"params": {}})
        OmegaConf.set_struct(node.params, False)
        hydra["sweeper"][BASIC] = ConfigNode(
            BASIC, node, plain_sweeper.group, plain_sweeper.package, plain_sweeper.provider
        )
    for file, entry in ((f"{entry.name}.yaml", entry) for entry in registry.entries(SWEEPER)):
        node = component_node(entry)
        hydra["sweeper"][file] = _Node(file, node, "hydra/sweeper", None, PRIMARY)
    hydra["launcher"] = dict(hydra.get("launcher", {}))
    if ray := hydra["launcher"].get(RAY):
        node = OmegaConf.merge(ray.node, {"ray": RAY_SETTINGS})
        hydra["launcher"] |= {RAY: ConfigNode(RAY, node, ray.group, ray.package, ray.provider)}
    for kind in KINDS:
        repo[kind] = {}
        if kind not in ("dataset", "method"):
            _put(repo, kind, NONE, {} if kind in MANY else {"name": NONE}, kind)
    for entry in (entry for kind in KINDS for entry in registry.entries(kind)):
        package = f"{entry.kind}.{entry.name}" if entry.kind in MANY else entry.kind
        _put(repo, entry.kind, entry.name, component_node(entry), package)
    for preset in registry.presets():
        selected = [
            {f"override /{group}": list(o) if group in MANY else o}
            for group, o in preset.select.items()
        ]
        _put(
            repo,
            preset.kind,
            preset.name,
            {"defaults": [f"{preset.recipe}@{preset.kind}", *selected]},
            "_global_",
        )


def primary(start: Start) -> Facts:
    """Return the primary configuration: defaults list, top-level keys, quiet logging, a run folder
    of its own.
    """
    defaults: list[object] = ["_self_"]
    options = {
        kind: list(choice) if kind in MANY else choice or "???"
        for kind, choice in start.choices.items()
    }
    for kind in (*(k for k in KINDS if k not in ("method", "tracker")), "tracker", "method"):
        defaults.append({kind: options[kind]})
    if start.values:
        defaults.append(REPEATED)
    defaults += [
        {f"override /{kind}": options[kind]} for kind in start.recorded if kind != "method"
    ]
    defaults += [{"override hydra/job_logging": "none"}, {"override hydra/hydra_logging": "none"}]
    # two processes that start in the same second get two folders
    when = f"${{now:%Y-%m-%d}}/${{now:%H-%M-%S}}-{secrets.token_hex(2)}"
    hydra = {
        "run": {"dir": f"outputs/{when}"},
        "sweep": {"dir": f"multirun/{when}"},
        "job": {"name": PRIMARY},
    }
    return {
        "defaults": defaults,
        **config_value(attrs.asdict(Settings())),
        **{kind: {} if kind in MANY else {"name": NONE} for kind in KINDS},
        "hydra": {**hydra, "output_subdir": None},  # record.json holds the whole configuration
    }


def component_node(entry: Entry) -> Facts:
    """Field → default, as plain values; a field that follows a shared value is an interpolation.

    Raises PluginError where the class cannot be built with its defaults.
    """
    try:
        instance = entry.cls()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reason = str(error) if isinstance(error, ValueError) else said(error)
        where = raised_at(error, inspect.getsourcefile(entry.cls) or "")
        raise PluginError(
            f"{entry.kind} {entry.name!r} ({entry.owner.plugin}) cannot be built with its own "
            f"defaults: {reason}{where}"
        ) from error
    node: Facts = {} if entry.kind in MANY else {"name": entry.name}
    for key, field in fields_of(entry.cls).items():
        shared = field.metadata.get("shared")
        node[key] = f"${{{shared}}}" if shared else config_value(getattr(instance, field.name))
    return node


def _put(repo: Facts, group: str | None, name: str, node: Any, package: str | None) -> None:
    """Add a node to Hydra's store.

    group : None: it is the primary configuration, or a part of it.
    package : where its values go; None: to its group's place.
    """
    where = repo if group is None else repo[group]
    where[f"{name}.yaml"] = _Node(f"{name}.yaml", node, group, package, "arboretum")


GIVEN = frozenset({"dataset", "split", "cost", "tracker"})
"""Groups that stay as recorded when another method is chosen: what is asked, not how it is
answered.
"""


def start_from(record: Configured, overrides: Sequence[str], registry: Registry) -> Start:
    """Return the starting point of a repetition.  Raises ConfigError when the record names no
    components.

    overrides : the command line's; a group chosen there forgets the recorded option and its values,
        and another method forgets the recorded recipe (everything but GIVEN).
    """
    config = record.config
    whole = all(_is_group(kind, config[kind]) for kind in KINDS if kind in config)
    if not isinstance(config.get("choices"), Mapping) or "method" not in config or not whole:
        raise ConfigError("this record does not hold its configuration, so it cannot be repeated")
    anew = chosen_options(overrides)
    kept = [kind for kind in KINDS if kind not in anew and (kind in GIVEN or "method" not in anew)]
    options = {kind: _recorded_option(kind, config, registry) for kind in kept}
    # θ belongs to components that may be gone
    forgotten = {"plugins", "theta"} if anew.keys() - GIVEN else {"plugins"}
    said = {text.partition("=")[0].lstrip("+") for text in overrides}
    values: Facts = {
        key: restore(config[key], key, said)
        for key in SETTINGS
        if key in config and key not in forgotten
    }
    left_out = ["hydra"] if "hydra" in config else []
    for kind in options:
        if (fields := config.get(kind, {} if kind in MANY else None)) is not None:
            own = {key: value for key, value in fields.items() if key != "name" or kind in MANY}
            for key, usual in _fields_that_write(kind, fields.get("name"), registry).items():
                if key in own and own.pop(key) != usual and f"{kind}.{key}" not in said:
                    left_out.append(f"{kind}.{key}={masked(str(fields[key]))}")
            values[kind] = {
                key: restore(value, f"{kind}.{key}", said) for key, value in own.items()
            }
    return Start({**DEFAULT_CHOICES, **options}, values, tuple(options), tuple(left_out))


def _fields_that_write(kind: str, name: object, registry: Registry) -> Facts:
    """Field → default, of those that say where a component writes: of a tracker all, as they say
    whose store it is.

    name : of the component; {} for none that is installed.
    """
    if kind in MANY or name not in registry.names(kind):
        return {}
    return {
        key: config_value(field.default)
        for key, field in fields_of(registry.get(kind, name).cls).items()
        if kind == "tracker" or field.metadata.get("writes")
    }


def start_in(
    lab: Lab,
    overrides: Sequence[str],
    choices: Plain = DEFAULT_CHOICES,
    *,
    tracked: bool = True,
) -> Start:
    """Return where a run starts in a lab: its defaults in place of ours.  Raises ConfigError naming
    the key.

    overrides : the command line's; a group that is chosen otherwise there forgets the lab's values,
        and so do all but :data:`GIVEN` where another method is chosen.
    choices : what holds where the lab says nothing.
    tracked : whether the lab chooses the tracker.
    """
    said = dict(json.loads(lab.defaults))
    if not tracked:
        said.pop("tracker", None)
    _check_defaults(lab, said)
    own = {kind: said.pop(kind) for kind in KINDS if kind in said}
    options = {
        kind: tuple(value if isinstance(value, list) else [value]) if kind in MANY else str(value)
        for kind, value in own.items()
    }
    ours, anew = {**choices, **options}, chosen_options(overrides)
    if lab.store:
        said.setdefault("tracker.uri", lab.store)
    chosen = {
        kind: [names] if isinstance(names, str) else list(names) for kind, names in ours.items()
    }
    method = "method" in anew and anew["method"] != chosen["method"]
    values: Facts = {}
    for key, value in said.items():
        kind, *_ = path = key.split(".")
        wanted = anew.get(kind, chosen.get(kind))
        if kind in KINDS and (
            wanted != chosen[kind] or wanted == [NONE] or (method and kind not in GIVEN)
        ):
            continue
        node = values
        for step in path[:-1]:
            node = node.setdefault(step, {})
        node[path[-1]] = value
    return Start(ours, values, tuple(options) if not method else ())


def _check_defaults(lab: Lab, defaults: Plain) -> None:
    """Raise ConfigError where a lab's defaults have a key that nobody knows, or values in place of
    an option's name.
    """
    for key, value in defaults.items():
        if (first := key.partition(".")[0]) not in (*KINDS, *SETTINGS):
            raise ConfigError(
                f"{lab.folder}/{FILE}: defaults: " + unknown("key", first, [*KINDS, *SETTINGS])
            )
        if key in KINDS and isinstance(value, dict):
            raise ConfigError(
                f"{lab.folder}/{FILE}: defaults: {key} takes the name of an option; its "
                f"values are written {key}.FIELD: VALUE"
            )


def _is_group(kind: str, value: object) -> bool:
    """Return whether a recorded group is one: nothing, a component's name and fields, or the fields
    of several by their names.
    """
    if kind in MANY and isinstance(value, Mapping):
        return all(isinstance(fields, Mapping) for fields in value.values())
    return value is None or (isinstance(value, Mapping) and isinstance(value.get("name"), str))


def _recorded_option(kind: str, config: Plain, registry: Registry) -> object:
    """Return the recorded option of a group, several in a tuple where the group takes several."""
    fields = config.get(kind)
    if kind in MANY or fields is None:
        return tuple(fields or ()) if kind in MANY else NONE
    # the preset, if it is still one of this component
    name, chosen = fields["name"], config["choices"].get(kind)
    preset = registry.find_preset(kind, chosen) if isinstance(chosen, str) else None
    return chosen if preset is not None and preset.recipe == name else name
