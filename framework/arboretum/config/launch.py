"""How the jobs of a sweep come about, and who runs them.

Every combination, by Hydra; or an adaptive search, ``hydra/sweeper=arboretum_optuna``: Optuna proposes settings.  A trial is
a setting; its value is the mean over the seeds and folds that the command names.  The study lies in the sweep's folder, so that
the same command goes on where it stopped.  Optuna is loaded when a search begins, and nowhere else.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from hydra._internal.callbacks import Callbacks
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobRuntime, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf

from arboretum.config.resolve import Settings, read
from arboretum.errors import ConfigError
from arboretum.interfaces.component import param
from arboretum.measure.evaluate import HIGHER, direction
from arboretum.runs.sweeps import UNSAID, flatten

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
PLAIN: dict[str, Any] = {"launcher._target_": BASIC, "sweep.subdir": "${hydra.job.num}", "job.chdir": None}
"""Hydra's settings under which its launcher does nothing that ours does not, as they stand unless somebody sets them; what
else it could do (callbacks, log files, notes of its own) no configuration may ask for."""

NAME = "arboretum_optuna"
STUDY = "study.db"
REPEATED = ("seed", "split.fold")  # keys whose values are no settings: every trial runs them all
KEPT_HOW = (*UNSAID, "goal")  # keys that do not tell one search from another (a tracker's may hold a password)


def multirun(loader: Any, job: Any, config: DictConfig) -> None:
    """Check every job of a composed sweep, then launch them.   job : what Hydra calls with a configuration, and :class:`Here` asks."""
    JobRuntime.instance().set("name", str(config.hydra.job.name))
    parts = {"hydra_context": HydraContext(loader, Callbacks(config)), "task_function": job, "config": config}
    settings, search = OmegaConf.to_container(config.hydra, resolve=False), search_of(config)
    flat = dict(flatten(settings))
    plain_way = all(flat.get(key) == value for key, value in PLAIN.items()) and not settings["job"]["env_set"]
    sweeper = Searcher(search, loader, config) if search else Plugins.instance().instantiate_sweeper(**parts)
    sweeper.launcher = Here(loader, job, config) if plain_way else Plugins.instance().instantiate_launcher(**parts)
    sweeper.sweep(arguments=settings["overrides"]["task"])


@attrs.frozen
class Here:
    """The launcher of the plain way: one job after another in this process, from what was resolved when the sweep was checked.

    Hydra's own copies a job's whole configuration four times, for settings that nobody uses here unless they are asked for.
    """

    loader: Any
    job: Any
    config: DictConfig

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Return what each job returns, in their order."""
        folder, returns = Path(str(self.config.hydra.sweep.dir)).absolute(), []
        for number, overrides in enumerate(job_overrides, initial_job_idx):
            own = [text for text in overrides if not text.startswith("hydra.")]
            returns.append(JobReturn(overrides=own, status=JobStatus.COMPLETED))
            resolved = functools.partial(self.loader.resolved, self.config, overrides)
            returns[-1].return_value = self.job.do(resolved, number, own, folder / str(number))
        return returns


@attrs.frozen
class Search:
    """The fields of the option; it has a name and no ``_target_``: a configuration names no code."""

    kind = "hydra.sweeper"

    n_trials: int = param(20, "settings to try, those of earlier calls included", ge=1)
    n_jobs: int = param(1, "settings proposed at a time, for a launcher that runs jobs side by side", ge=1)
    sampler: str = param("tpe", "who proposes", choices=("tpe", "random"))
    seed: int = param(0, "seed of the proposals", ge=0)
    goals: tuple[str, ...] = param((), "metrics to optimise, several for their trade-off; default: the run's goal")
    params: dict[str, str] | None = param(None, "key → what to try, as on the command line")


def search_of(config: DictConfig) -> Search | None:
    """The search that a configuration asks for, its goals named; None where it asks for another sweeper.  Raises ConfigError."""
    values = OmegaConf.to_container(config.hydra.sweeper, resolve=True)
    if not isinstance(values, dict) or values.pop("name", None) != NAME:
        return None
    found = read(Search, values, "hydra.sweeper.")
    found = attrs.evolve(found, goals=found.goals or (str(config.get("goal") or Settings().goal),))
    for goal in found.goals:
        direction(goal)
    return found


@attrs.frozen
class Tried:
    """One key of the search.   kind : Optuna's distribution of its values.

    ends : values that are composed before anything is run: all choices, or the ends of a range and a value that is not round.
    """

    key: str
    said: str
    kind: Any
    ends: Sequence[Any]

    @staticmethod
    def of(override: Override, kinds: Any) -> Tried:
        """Read ``interval(a,b)``, ``range(a,b)``, ``choice(a,b)`` or ``a,b``, with ``tag(log, …)`` and ``int(…)``.

        kinds : ``optuna.distributions``.   Raises ConfigError.
        """
        key, said, value = override.get_key_element(), override.input_line, override.value()
        if not override.is_interval_sweep() and not override.is_range_sweep():
            values = tuple(override.sweep_string_iterator())
            return Tried(key, said, kinds.CategoricalDistribution(values), values)
        more: dict[str, Any] = {"log": "log" in value.tags}
        if override.is_interval_sweep():
            low, high = value.start, value.end
        else:
            values = sorted(override.sweep_iterator())
            if not values:
                raise ConfigError(f"{said} holds no value")
            low, high = values[0], values[-1]
            more |= {} if more["log"] else {"step": abs(value.step)}
        whole = isinstance(low, int) and isinstance(high, int)
        try:
            kind = (kinds.IntDistribution if whole else kinds.FloatDistribution)(low, high, **more)
        except ValueError as error:
            raise ConfigError(f"{said}: {' '.join(str(error).split())}") from None
        within = () if override.is_range_sweep() or whole else (low + (high - low) / math.pi,)
        return Tried(key, said, kind, (low, *within, high))


@attrs.frozen
class Space:
    """What a command searches.   fixed : overrides of every job.   repeats : those of each job of a trial."""

    fixed: tuple[str, ...]
    tried: tuple[Tried, ...]
    repeats: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(overrides: Sequence[Override], kinds: Any) -> Space:
        """Sort the overrides; raises ConfigError where there is nothing to search, or several data sets.   kinds : of values."""
        last = {override.get_key_element(): override for override in overrides}
        swept = {key: override for key, override in last.items() if override.is_sweep_override()}
        repeated = [override for key, override in swept.items() if key in REPEATED and override.is_discrete_sweep()]
        if "dataset" in swept:
            raise ConfigError(f"{swept['dataset'].input_line}: errors on two data sets cannot be compared; search on one at a time")
        tried = tuple(Tried.of(override, kinds) for override in swept.values() if override not in repeated)
        if not tried:
            examples = "'stopping.standard.max_depth=range(1,10)', 'criterion.lam=tag(log, interval(0.1,100))'"
            raise ConfigError(f"hydra/sweeper={NAME} has nothing to search; give a key several values: {examples}")
        products = itertools.product(*([f"{o.get_key_element()}={v}" for v in o.sweep_string_iterator()] for o in repeated))
        fixed = (f"{key}={o.get_value_element_as_str()}" for key, o in last.items() if key not in swept)
        return Space(tuple(fixed), tried, tuple(products))

    def jobs(self, setting: Mapping[str, Any]) -> list[list[str]]:
        """The overrides of each job of a setting."""
        chosen = [f"{one.key}={setting[one.key]}" for one in self.tried]
        return [[*self.fixed, *chosen, *repeat] for repeat in self.repeats]

    def samples(self) -> Iterator[list[str]]:
        """A job with each end of each key, the others at their first."""
        first = {one.key: one.ends[0] for one in self.tried}
        seen = [{**first, one.key: value} for one in self.tried for value in one.ends]
        yield from (self.jobs(setting)[0] for i, setting in enumerate(seen) if setting not in seen[:i])


@attrs.define
class Searcher:
    """Runs trials until there are ``n_trials`` in the study."""

    search: Search
    loader: Any
    config: DictConfig
    launcher: Any = None
    space: Any = None
    study: Any = None

    def sweep(self, arguments: list[str]) -> None:
        """Search.  Raises ConfigError: Optuna is not installed, a key cannot be searched so, the study is of another search."""
        try:
            import optuna
        except ModuleNotFoundError:
            raise ConfigError(f"hydra/sweeper={NAME} needs Optuna; install it with pip install 'arboretum[optuna]'") from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        said = [f"{key}={value}" for key, value in (self.search.params or {}).items()]
        overrides = OverridesParser.create(config_loader=self.loader).parse_overrides([*said, *arguments])
        self.space = Space.of(overrides, optuna.distributions)
        kinds = {one.key: one.kind for one in self.space.tried}
        try:
            for job in self.space.samples():
                self.loader.load_sweep_config(self.config, job)
        except ConfigError as error:
            hint = "; int(interval(…)) proposes whole numbers" if "whole number" in str(error) else ""
            raise ConfigError(f"{error}{hint}") from error
        folder = Path(str(self.config.hydra.sweep.dir))
        folder.mkdir(parents=True, exist_ok=True)
        self.study = self._study(optuna, folder / STUDY)
        # one that was killed while it was proposed has not all parameters
        whole = [trial for trial in self.study.get_trials(deepcopy=False) if trial.params.keys() == kinds.keys()]
        left = [trial for trial in whole if not trial.state.is_finished()]
        wanted = self.search.n_trials
        self.loader.counting, self.loader.n_jobs = False, (len(left) + max(wanted - len(whole), 0)) * len(self.space.repeats)
        for trial in left:  # killed while it was run
            self._run(optuna, [trial])
        sampler = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}[self.search.sampler]
        for start in range(len(whole), wanted, self.search.n_jobs):
            batch = []
            for number in range(start, min(start + self.search.n_jobs, wanted)):
                # a sampler for one trial, so that a search that was interrupted proposes what it would have proposed
                seed = int(np.random.SeedSequence([self.search.seed, number]).generate_state(1)[0])
                self.study.sampler = sampler(seed=seed)
                batch.append(self.study.ask(kinds))
            self._run(optuna, batch)

    def _run(self, optuna: Any, trials: Sequence[Any]) -> None:
        """Launch the jobs of trials with successive numbers and tell what they returned; None fails a trial."""
        n = len(self.space.repeats)
        jobs = [job for trial in trials for job in self.space.jobs(trial.params)]
        returned = [job.return_value for job in self.launcher.launch(jobs, initial_job_idx=trials[0].number * n)]
        for i, trial in enumerate(trials):
            mine = returned[i * n : (i + 1) * n]
            whole = all(values is not None and all(map(math.isfinite, values)) for values in mine)
            means = [math.fsum(values) / n for values in zip(*mine, strict=True)] if whole else None
            self.study.tell(trial.number, means, state=None if whole else optuna.trial.TrialState.FAIL)

    def _study(self, optuna: Any, file: Path) -> Any:
        """The study in the folder, made if it is not there.  Raises ConfigError when it is of another search."""
        from sqlalchemy import URL

        goals = self.search.goals
        study = optuna.create_study(
            storage=URL.create("sqlite", database=str(file.absolute())).render_as_string(),
            study_name=NAME,
            directions=["maximize" if direction(goal) == HIGHER else "minimize" for goal in goals],
            load_if_exists=True,
        )
        fixed = [text for text in self.space.fixed if text.lstrip("+~").partition("=")[0].partition(".")[0] not in KEPT_HOW]
        asked = json.dumps([[one.said for one in self.space.tried], goals, fixed, self.space.repeats])
        if study.user_attrs.setdefault("search", asked) != asked:
            raise ConfigError(f"{str(file)!r} holds another search; it is kept: choose another folder with hydra.sweep.dir=FOLDER")
        study.set_user_attr("search", asked)
        return study
