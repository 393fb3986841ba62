"""How the jobs of a sweep come about, and who runs them: every combination, by Hydra; or what a
plugin's sweeper asks for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobRuntime, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig

from arboretum.config.guard import contents
from arboretum.config.inside import Callbacks
from arboretum.config.resolve import Settings
from arboretum.measure.evaluate import direction
from arboretum.model.plain import Facts
from arboretum.plugin.build import build
from arboretum.plugin.registry import SWEEPER, Registry
from arboretum.runs.sweeps import flatten

if TYPE_CHECKING:
    from hydra.plugins.launcher import Launcher

    from arboretum.config.compose import Loader

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
PLAIN: Facts = {"launcher._target_": BASIC, "sweep.subdir": "${hydra.job.num}"}
"""Hydra's settings under which its launcher does nothing that ours does not, as they stand unless
somebody sets them; what else it could do (callbacks, log files, notes of its own) no configuration
may ask for.
"""
UNSET = ("env_set", "chdir")  # of ``hydra.job``; chdir is null in Hydra 1.3 and false in 1.4


def multirun(
    loader: Loader, job: Any, config: DictConfig, search: Any, begin: Callable[[], None]
) -> dict[int, Sequence[str]]:
    """Check every job of a composed sweep, then launch them; returns the number and the overrides
    of each that was launched.

    config : of the sweep, as composed from its command.
    job : what Hydra calls with a configuration, and :class:`Here` asks.
    search : of :func:`search_of`.
    begin : called once, when all that could be checked was found right, before anything is
        launched.
    """
    JobRuntime.instance().set("name", str(config.hydra.job.name))
    parts = {
        "hydra_context": HydraContext(loader, Callbacks(config)),
        "task_function": job,
        "config": config,
    }
    settings = contents(config.hydra)
    flat = dict(flatten(settings))
    plain_way = all(flat.get(key) == value for key, value in PLAIN.items()) and not any(
        settings["job"][key] for key in UNSET
    )
    launcher = Reported(
        Here(loader, job, config)
        if plain_way
        else Plugins.instance().instantiate_launcher(**parts),
        begin,
    )
    if search is not None:
        search.sweep(
            Jobs(asked(loader, config), Path(str(config.hydra.sweep.dir)), loader, config, launcher)
        )
        return launcher.jobs
    sweeper: Any = Plugins.instance().instantiate_sweeper(**parts)
    sweeper.launcher = launcher
    sweeper.sweep(arguments=settings["overrides"]["task"])
    return launcher.jobs


def asked(loader: Loader, config: DictConfig) -> list[Override]:
    """Return what a composed sweep is over: the parameters of its sweeper, then the command line's
    overrides.
    """
    said = [f"{key}={value}" for key, value in (config.hydra.sweeper.get("params") or {}).items()]
    return OverridesParser.create(config_loader=loader).parse_overrides(
        [*said, *config.hydra.overrides.task]
    )


def first_job(loader: Loader, config: DictConfig) -> list[str]:
    """Return the overrides of the first job of a sweep: of several values the first, of an interval
    its beginning.
    """
    found = {}
    for one in asked(loader, config):
        if one.is_discrete_sweep():
            value = next(one.sweep_string_iterator())
        else:
            given: Any = one.value()
            value = given.start if one.is_interval_sweep() else one.get_value_element_as_str()
        found[one.get_key_element()] = value
    return [f"{key}={value}" for key, value in found.items()]


@attrs.frozen
class Reported:
    """A launcher that remembers what it was told to do.

    begin : called before the first job.
    jobs : number → overrides.
    """

    launcher: Here | Launcher
    begin: Callable[[], None]
    jobs: dict[int, Sequence[str]] = attrs.field(factory=dict)

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Pass it on.

        job_overrides : of each job.   initial_job_idx : number of the first.
        """
        if not self.jobs:
            self.begin()
        self.jobs.update(enumerate(job_overrides, initial_job_idx))
        jobs: Sequence[JobReturn] = self.launcher.launch(
            job_overrides, initial_job_idx=initial_job_idx
        )
        return jobs


@attrs.frozen
class Here:
    """The launcher of the plain way: one job after another in this process, from what was resolved
    when the sweep was checked.

    Hydra's own copies a job's whole configuration four times, for settings that nobody uses here
    unless they are asked for.
    """

    loader: Loader
    job: Any
    config: DictConfig

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Return what each job returns, in their order.

        job_overrides : of each job.   initial_job_idx : number of the first.
        """
        folder, returns = Path(str(self.config.hydra.sweep.dir)).absolute(), []
        for number, overrides in enumerate(job_overrides, initial_job_idx):
            own = [text for text in overrides if not text.startswith("hydra.")]
            returns.append(JobReturn(overrides=own, status=JobStatus.COMPLETED))
            resolved = functools.partial(self.loader.resolved, self.config, overrides)
            returns[-1].return_value = self.job.do(resolved, number, own, folder / str(number))
        return returns


@attrs.frozen
class Jobs:
    """What a plugin's sweeper is handed.

    overrides : what was asked, as Hydra has parsed it.
    folder : of the sweep.
    """

    overrides: Sequence[Override]
    folder: Path
    _loader: Loader
    _config: DictConfig
    _launcher: Reported

    def check(self, job: Sequence[str]) -> None:
        """Compose a job of these overrides, and run nothing.  Raises ConfigError."""
        self._loader.load_sweep_config(self._config, list(job))

    def expect(self, n: int) -> None:
        """Say how many jobs there will be, for the line of progress."""
        self._loader.counting, self._loader.n_jobs = False, n

    def launch(self, jobs: Sequence[Sequence[str]], first: int) -> list[Sequence[float] | None]:
        """Do jobs, numbered from ``first``, and return the values of the goals of each (NaN
        where it has none); None where it failed.
        """
        return [job.return_value for job in self._launcher.launch(jobs, initial_job_idx=first)]


def search_of(config: DictConfig, registry: Registry) -> Any:
    """Return the plugin's sweeper that a configuration asks for, its goals named; None where it
    asks for Hydra's.  Raises ConfigError.
    """
    values = contents(config.hydra.sweeper, resolve=True)
    name = values.pop("name", None)
    for entry in (entry for entry in registry.entries(SWEEPER) if entry.name == name):
        found = build(entry, values)
        found = attrs.evolve(
            found, goals=found.goals or (str(config.get("goal") or Settings().goal),)
        )
        for goal in found.goals:
            direction(goal)
        return found
    return None
