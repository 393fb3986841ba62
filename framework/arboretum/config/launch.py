"""Who runs the jobs of a sweep: a Hydra launcher, or for the plain way (one after another, here) one without copies.

Hydra's own way copies a job's whole configuration four times, for settings that nobody uses here unless they are asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from hydra._internal.callbacks import Callbacks
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode, TaskFunction
from omegaconf import DictConfig, OmegaConf

from arboretum.config.bridge import PRIMARY
from arboretum.config.resolve import Resolved
from arboretum.config.search import Searcher, search_of

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
PLAIN: dict[str, tuple[Any, ...]] = {
    "launcher._target_": (BASIC,),
    "sweep.subdir": ("${hydra.job.num}",),
    "job.chdir": (None, False),
    "job.env_set": ({},),
}
"""Hydra's settings under which its launcher does nothing that ours does not, as they stand unless somebody sets them; what
else it could do (callbacks, log files, notes of its own) no configuration may ask for."""


class Task(Protocol):
    """What Hydra calls with a configuration, and what can be given what was resolved."""

    def __call__(self, config: DictConfig) -> Any: ...

    def do(self, resolved: Callable[[], Resolved], number: int, overrides: Sequence[str], folder: Path) -> float:
        """Do one job.   number : of the job.   overrides : its own.   folder : absolute."""


class Here(Launcher):
    """One job after another in this process, from what was resolved when the sweep was checked."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.loader, self.task, self.config = hydra_context.config_loader, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Return what each job returns, in their order."""
        folder = Path(str(self.config.hydra.sweep.dir)).absolute()
        returns = []
        for number, overrides in enumerate(job_overrides, initial_job_idx):
            own = [text for text in overrides if not text.startswith("hydra.")]
            done = JobReturn(overrides=own, status=JobStatus.COMPLETED)
            resolved = functools.partial(self.loader.resolved, self.config, overrides)
            done.return_value = self.task.do(resolved, number, own, folder / str(number))
            returns.append(done)
        return returns


def multirun(hydra: Any, job: Task, overrides: Sequence[str]) -> Any:
    """Hydra's ``multirun``, whose launcher is replaced where nothing but the speed tells them apart."""
    config = hydra.compose_config(PRIMARY, list(overrides), RunMode.MULTIRUN, with_log_configuration=True)
    callbacks = Callbacks(config)
    callbacks.on_multirun_start(config=config, config_name=PRIMARY)
    context = HydraContext(config_loader=hydra.config_loader, callbacks=callbacks)
    parts = {"hydra_context": context, "task_function": job, "config": config}
    search = search_of(config)
    if search is None:
        sweeper = Plugins.instance().instantiate_sweeper(**parts)
    else:
        sweeper = Searcher(search)
        sweeper.setup(**parts)
    settings = OmegaConf.to_container(config.hydra, resolve=False)
    if all(_at(settings, path) in values for path, values in PLAIN.items()):
        sweeper.launcher = Here()
        sweeper.launcher.setup(**parts)
    elif search is not None:
        sweeper.launcher = Plugins.instance().instantiate_launcher(**parts)
    returned = sweeper.sweep(arguments=OmegaConf.to_container(config.hydra.overrides.task, resolve=False))
    callbacks.on_multirun_end(config=config, config_name=PRIMARY)
    return returned


def _at(values: Any, path: str) -> Any:
    for key in path.split("."):
        values = values.get(key) if isinstance(values, dict) else None
    return values
