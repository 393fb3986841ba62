"""Overrides → composed configuration, with Hydra's loader and our errors."""

from __future__ import annotations

import copy
import os
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from hydra._internal.config_loader_impl import ConfigLoaderImpl, get_overrides_dirname
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import setup_globals
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from arboretum.config.bridge import PRIMARY, Start, stored
from arboretum.config.guard import normalise, refuse_code
from arboretum.config.messages import translated
from arboretum.config.resolve import Resolved, resolve
from arboretum.config.secrets import conceal
from arboretum.config.settings import SETTINGS
from arboretum.errors import ConfigError
from arboretum.plugin.registry import Registry

_VALUE = re.compile(r"^(?:hydra\.run\.dir|(?!hydra[./])\+{0,2}(?:[A-Za-z_][\w-]*(?:\.[\w-]+)+|" + "|".join(SETTINGS) + r"))=")
"""An override that sets a value; the others choose options, or remove something, and may change what is composed."""

KEPT = 10_000
"""Checked jobs kept for the launcher (some KB each); what lies beyond is composed again."""
SHAPES = 256
"""Compositions kept (50 KB each)."""


@attrs.frozen(eq=False)
class Composed:
    """A composed configuration, Hydra's own part included.   choices : group → option, as Hydra keeps them."""

    config: DictConfig

    @property
    def choices(self) -> dict[str, Any]:
        return OmegaConf.to_container(self.config.hydra.runtime.choices)

    @property
    def task(self) -> DictConfig:
        """The part that describes the run."""
        config = self.config.copy()
        with open_dict(config):
            del config["hydra"]
        return config

    def resolved(self, registry: Registry) -> Resolved:
        """Its components, built.  Raises ConfigError."""
        return resolve(self.config, self.choices, registry)


class Loader(ConfigLoaderImpl):
    """Hydra's loader, with checks before anything is executed.

    A sweep's configurations are composed once: the launcher is handed what was composed when the sweep was checked.
    """

    def __init__(self, search_path: ConfigSearchPath, registry: Registry, start: Start | None = None) -> None:
        super().__init__(search_path)
        self.registry: Registry | None = registry
        self.start = start
        self._ready: dict[tuple[str, ...], Resolved] = {}
        self._shapes: dict[tuple[str, ...], Callable[[], DictConfig]] = {}
        self._base: dict[tuple[tuple[str, ...], RunMode], DictConfig] = {}
        self._n_checked = 0
        self._said: Sequence[str] = ()  # on the command line; a file's sweeper may make overrides of its own
        self.planned: int | None = None
        """Jobs to come, as a sweeper states them that composes one after another."""

    def __getstate__(self) -> dict[str, Any]:  # what a worker process receives
        return {**self.__dict__, "registry": None, "_ready": {}, "_shapes": {}, "_base": {}}

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Loader:
        return self  # Hydra copies its global state for workers: the loader in it is never changed there

    def load_configuration(self, config_name: str | None, overrides: list[str], run_mode: RunMode, *how: bool, **more: bool) -> DictConfig:
        """Compose; raises ConfigError in one line with the closest match, also when the result names code."""
        key = (tuple(overrides), run_mode)
        if key in self._base:
            return self._base.pop(key)
        if self.registry is None:
            return super().load_configuration(config_name, overrides, run_mode, *how, **more)
        with translated(overrides, self.registry):
            config = super().load_configuration(config_name, normalise(overrides), run_mode, *how, **more)
        refuse_code(config, overrides)
        return config

    def compose_once(self, config_name: str, overrides: list[str], run_mode: RunMode) -> DictConfig:
        """Compose ahead of Hydra, which is handed the same when it asks."""
        self._said = overrides
        config = self.load_configuration(config_name, overrides, run_mode)
        conceal(config)  # Hydra writes it down
        self._base[(tuple(overrides), run_mode)] = config
        return config

    @property
    def n_checked(self) -> int:
        """Number of a sweep's configurations found right so far, or of those to come."""
        return self._n_checked if self.planned is None else self.planned

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """One job's configuration: resolved at the first call, which is the check; a second call is the launcher's."""
        config, key = self._job(master_config, sweep_overrides), tuple(sweep_overrides)
        if self.registry is not None and self._ready.pop(key, None) is None:
            resolved = Composed(config).resolved(self.registry)
            if len(self._ready) < KEPT:
                self._ready[key] = resolved
            self._n_checked += 1
        return config

    def resolved(self, master: DictConfig, overrides: Sequence[str]) -> Resolved:
        """What a checked job is made of, for a launcher that needs no configuration."""
        ready = self._ready.pop(tuple(overrides), None)
        return ready or Composed(self._job(master, overrides)).resolved(self.registry)

    def load_run(self, overrides: list[str]) -> DictConfig:
        """One run's configuration, without touching Hydra's global state; for many runs that differ in values."""

        def composed(choices: list[str]) -> DictConfig:
            with stored(self.registry, self.start):
                return self.load_configuration(PRIMARY, choices, RunMode.RUN, from_shell=False)

        if any(text.startswith("hydra.searchpath=") for text in overrides):  # its files may change meanwhile
            self._shapes.clear()
        setup_globals()
        self._said = overrides
        return self._with_values(normalise(overrides), (), composed)

    def _job(self, master: DictConfig, overrides: Sequence[str]) -> DictConfig:
        given, compose = OmegaConf.to_container(master.hydra.overrides.hydra), super().load_sweep_config
        config = self._with_values(normalise(overrides), given, lambda choices: compose(master, choices))
        OmegaConf.copy_cache(from_config=master, to_config=config)
        return config

    def _with_values(self, overrides: list[str], given: Sequence[str], composed: Callable[[list[str]], DictConfig]) -> DictConfig:
        """Hydra's own composition for the choices of options, once per combination; values are set on a copy of it.

        A composition takes 0.1 s, a copy with its values some milliseconds, and most runs repeat few choices with many values.
        given : overrides that ``composed`` adds itself.
        """
        choices = [text for text in overrides if not _VALUE.match(text)]
        key = (*given, *choices)
        if key not in self._shapes:
            if len(self._shapes) >= SHAPES:
                self._shapes.clear()
            self._shapes[key] = _copies(composed(choices))
        config = self._shapes[key]()
        parser = OverridesParser.create(config_loader=self)
        with translated(overrides, self.registry):
            parsed = parser.parse_overrides(overrides)
            self.validate_sweep_overrides_legal(parsed, RunMode.RUN, from_shell=False)
            self._apply_overrides_to_config([o for o in parsed if _VALUE.match(o.input_line)], config)
        words = config.hydra.job.config.override_dirname
        task = [override for override in parsed if not override.is_hydra_override()]
        config.hydra.overrides.task = [override.input_line for override in task]
        config.hydra.job.override_dirname = get_overrides_dirname(task, words.exclude_keys, words.item_sep, words.kv_sep)
        refuse_code(config, self._said)
        return config


def _copies(config: DictConfig) -> Callable[[], DictConfig]:
    """Makes copies of a configuration; by pickle, which takes a third of the time, where its classes allow it."""
    try:
        pickled = pickle.dumps(config, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):  # a launcher's own class that Hydra's scan imported twice
        return lambda: copy.deepcopy(config)
    return lambda: pickle.loads(pickled)


def search_path(config_dir: str | None = None) -> ConfigSearchPath:
    """Where Hydra looks: its own configuration, the folder of choices if one is given, the registry's nodes."""
    path = create_config_search_path(None)
    if config_dir is not None:
        folder = os.path.abspath(config_dir)
        if not os.path.isdir(folder):
            raise ConfigError(f"configuration folder {config_dir!r} does not exist")
        if os.path.exists(os.path.join(folder, f"{PRIMARY}.yaml")):  # it would stand for ours, and import what it searches
            msg = f"configuration folder {config_dir!r} holds {PRIMARY}.yaml, the name of the primary configuration; rename it"
            raise ConfigError(msg)
        path.prepend(provider="command-line", path=f"file://{folder}", anchor=SearchPathQuery(provider="schema"))
    return path


def compose(overrides: Sequence[str], registry: Registry, *, start: Start | None = None, config_dir: str | None = None) -> Composed:
    """Compose one run without touching Hydra's global state (about 0.1 s).  Raises ConfigError."""
    return Composed(Loader(search_path(config_dir), registry, start).load_run(list(overrides)))


def compose_and_resolve(overrides: Sequence[str], registry: Registry, **how: Any) -> tuple[Composed, Resolved]:
    """Compose one run and build its components; raises ConfigError.   how : as for :func:`compose`."""
    composed = compose(overrides, registry, **how)
    return composed, composed.resolved(registry)
