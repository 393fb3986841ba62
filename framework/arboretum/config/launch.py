"""How the jobs of a sweep come about, and who runs them: every combination, by Hydra; or what a
plugin's sweeper asks for.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobRuntime, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict

from arboretum.config.compose import explain_missing_launcher
from arboretum.config.guard import contents
from arboretum.config.inside import Callbacks
from arboretum.config.resolve import Settings
from arboretum.errors import ConfigError
from arboretum.measure.evaluate import direction
from arboretum.model.plain import Facts
from arboretum.plugin.build import build
from arboretum.plugin.registry import SWEEPER, Registry
from arboretum.runs.sweeps import flatten
from arboretum.runs.tasks import read_message

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
    loader: Loader,
    job: Any,
    config: DictConfig,
    search: Any,
    begin: Callable[[], None],
    collector: Any,
) -> dict[int, Sequence[str]]:
    """Check every job of a composed sweep, then launch them; returns the number and the overrides
    of each that was launched.

    config : of the sweep, as composed from its command.
    job : what Hydra calls with a configuration, and :class:`Here` asks.
    search : of :func:`search_of`.
    begin : called once, when all that could be checked was found right, before anything is
        launched.
    collector : the :class:`~arboretum.cli.collector.Collector` of jobs that others do.
    """
    JobRuntime.instance().set("name", str(config.hydra.job.name))
    settings = contents(config.hydra)
    flat = dict(flatten(settings))
    plain_way = all(flat.get(key) == value for key, value in PLAIN.items()) and not any(
        settings["job"][key] for key in UNSET
    )
    launcher = Reported(
        Here(loader, job, config) if plain_way else Elsewhere(loader, collector, config),
        begin,
    )
    if search is not None:
        jobs = Jobs(
            asked(loader, config),
            Path(str(config.hydra.sweep.dir)),
            job.has_failed,
            loader,
            config,
            launcher,
            one_by_one=plain_way,
        )
        search.sweep(jobs)
        return launcher.jobs
    sweeper: Any = Plugins.instance().instantiate_sweeper(
        hydra_context=HydraContext(loader, Callbacks(config)), task_function=job, config=config
    )
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

    launcher: Here | Elsewhere
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
class Messages:
    """Hydra's loader, as far as its launchers ask for one: a job's only override is its message,
    and its configuration is that of the sweep, in a temporary folder of the worker's.

    config : of the sweep.
    folder : that Hydra makes folders of jobs in, as an interpolation; "": each job works in the
        folder of its run, in this process.
    """

    config: DictConfig
    folder: str

    def load_sweep_config(self, master: DictConfig, overrides: list[str]) -> DictConfig:
        """Return the configuration of a job.   master : of the sweep, which is known here."""
        config = copy.deepcopy(self.config)
        with open_dict(config):
            config.message = overrides[0]
            config.hydra.sweep.dir = self.folder
            if not self.folder:
                place = Path(read_message(overrides[0])[0].folder)
                config.hydra.sweep.dir, config.hydra.sweep.subdir = str(place.parent), place.name
        return config


def start_launcher(config: DictConfig, function: Callable[[DictConfig], Any]) -> Launcher:
    """Return the launcher that a configuration asks for, ready for messages.

    function : what a worker calls with the configuration of a job; it travels.  Raises ConfigError
    where the launcher's package is not installed.
    """
    bare = copy.deepcopy(config)
    with open_dict(bare):
        for key in [key for key in bare if key != "hydra"]:
            del bare[key]
        bare.message = ""
        bare.hydra.help.template = bare.hydra.hydra_help.template = ""
        bare.hydra.overrides.task = bare.hydra.overrides.hydra = []
        bare.hydra.sweep.dir = str(Path(str(config.hydra.sweep.dir)).absolute())
        bare.hydra.sweep.subdir = "${hydra.job.num}"
    folder = "${oc.env:TMPDIR,/tmp}/arboretum-" + secrets.token_hex(8)
    if bare.hydra.launcher["_target_"] == BASIC:
        folder = ""
    context: Any = HydraContext(Messages(bare, folder), Callbacks(bare))  # type: ignore[arg-type]
    with explain_missing_launcher(str(bare.hydra.runtime.choices.get("hydra/launcher"))):
        return Plugins.instance().instantiate_launcher(
            hydra_context=context, task_function=function, config=bare
        )


def error_of(job: JobReturn) -> Exception | None:
    """Return what a job raised, None where it returned.  Hydra prints before it raises."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            _ = job.return_value
    except Exception as error:
        return error
    return None


@attrs.frozen
class Elsewhere:
    """The launcher of jobs that others do: Hydra's own are handed messages of tasks, and what they
    return is taken in.

    collector : what decides which jobs go out, and takes them in.
    """

    loader: Loader
    collector: Any
    config: DictConfig

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Return what each job returns, in their order.

        job_overrides : of each job.   initial_job_idx : number of the first.
        """
        numbered = dict(enumerate(job_overrides, initial_job_idx))
        tasks = [
            task for item in numbered.items() if (task := self._prepare_task(*item)) is not None
        ]
        self.collector.send(start_launcher(self.config, self.collector.job), tasks)
        returns = []
        for number, overrides in numbered.items():
            own = [text for text in overrides if not text.startswith("hydra.")]
            returns.append(JobReturn(overrides=own, status=JobStatus.COMPLETED))
            returns[-1].return_value = self.collector.values.get(number)
        return returns

    def _prepare_task(self, number: int, overrides: Sequence[str]) -> Any:
        """Return the task of a job; None where there is nothing to do, or it cannot be composed."""
        root = Path(str(self.config.hydra.sweep.dir)).absolute()
        try:
            config, resolved = self.loader.job(self.config, overrides, number)
        except ConfigError as error:
            self.collector.refuse(number, overrides, str(error))
            return None
        values = contents(
            OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        )
        folder = root / str(config.hydra.sweep.subdir)
        return self.collector.prepare_task(number, list(overrides), values, resolved, folder)


@attrs.frozen
class Jobs:
    """What a plugin's sweeper is handed.

    overrides : what was asked, as Hydra has parsed it.
    folder : of the sweep.
    has_failed : whether any job has.
    one_by_one : jobs are done in this process, each before the next begins.
    """

    overrides: Sequence[Override]
    folder: Path
    has_failed: Callable[[], bool]
    _loader: Loader
    _config: DictConfig
    _launcher: Reported
    one_by_one: bool = True

    def check(self, job: Sequence[str]) -> str:
        """Compose a job of these overrides, and run nothing.  Returns why its parts do not go
        together, so that it will fail, "" where they do.  Raises ConfigError.
        """
        self._loader.load_sweep_config(self._config, list(job))
        return self._loader.misfit(job)

    def expect(self, n: int) -> None:
        """Say how many jobs there will be, for the line of progress."""
        self._loader.counting, self._loader.n_jobs = False, n

    def launch(self, jobs: Sequence[Sequence[str]], first: int) -> list[Sequence[float] | None]:
        """Do jobs, numbered from ``first``, and return the values of the goals of each (NaN
        where it has none); None where it failed.
        """
        return [job.return_value for job in self._launcher.launch(jobs, initial_job_idx=first)]


def check_jobs(search: Any, loader: Loader, config: DictConfig) -> None:
    """Let a dry search compose its jobs; nothing is launched."""
    nothing = Reported(Here(loader, None, config), lambda: None)
    folder = Path(str(config.hydra.sweep.dir))
    search.sweep(Jobs((), folder, lambda: False, loader, config, nothing))


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
