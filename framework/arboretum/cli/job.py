"""Hydra's task function: one composed configuration → one run, in whatever process the launcher chose."""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from arboretum.cli.comparison import data_set_of, goal_of, worst
from arboretum.cli.terminal import DEBUG, error_text, fit, tell
from arboretum.config.execute import Outcome, Session, session
from arboretum.config.resolve import Resolved, resolve
from arboretum.engine.check import check_goal
from arboretum.errors import ArboretumError, ConfigError, ContractError, StoreError, VerificationError
from arboretum.runs.folder import ERROR, free_folder, remove_if_empty, write_files
from arboretum.runs.index import Index
from arboretum.runs.sweeps import DONE, FAILED, SKIPPED, Note, Notes


@attrs.define(eq=False, slots=False)
class Job:
    """Callable with a configuration.

    files : one-file plugins, for workers that have no registry yet.   index : folder of the index of finished runs.
    notes : where a sweep's jobs leave word; None for a single run, whose result or error is kept here.
    constant : keys that all jobs have alike.   varied : those with which the runs' names begin.   sweep_id : the tracker's id of the sweep.
    goals : of a search, whose jobs return the values of these, or None.
    """

    files: tuple[str, ...]
    index: Path
    own: Session | None = None
    progress: Callable[[float, float | None, str], None] | None = None
    notes: Path | None = None
    sweep: Path | None = None
    constant: frozenset[str] = frozenset()
    varied: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    sweep_id: str = ""
    finished: Index | None = None
    outcome: Outcome | None = None
    error: Exception | None = None
    resolved: Resolved | None = None

    def __getstate__(self) -> dict[str, Any]:  # what a worker process receives
        return {**self.__dict__, **dict.fromkeys(("own", "progress", "finished", "outcome", "error", "resolved"))}

    def __call__(self, config: DictConfig) -> float | None:
        hydra = HydraConfig.get()
        folder = Path(hydra.runtime.output_dir)

        def resolved() -> Resolved:
            return resolve(config, OmegaConf.to_container(hydra.runtime.choices), self._session.registry)

        if self.notes is None:
            return self._alone(resolved, folder)
        return self.do(resolved, hydra.job.num, hydra.overrides.task, folder)

    @property
    def _session(self) -> Session:
        return self.own or session(self.files)

    def _run(self, resolved: Callable[[], Resolved], folder: Path) -> Outcome:
        self.resolved = None
        self.resolved = resolved()
        check_goal(self.resolved.settings.goal)
        if self.finished is None:
            self.finished = Index(self.index, self.sweep)
        return self._session.execute(
            self.resolved,
            folder,
            index=self.finished,
            sweep_id=self.sweep_id,
            sweep=self.sweep,
            varied=self.varied,
            beside=self.own is not None and self.notes is not None,
            progress=self.progress,
        )

    def _alone(self, resolved: Callable[[], Resolved], folder: Path) -> float | None:
        try:
            self.outcome = self._run(resolved, folder)
        except BaseException as error:
            remove_if_empty(folder)
            if not isinstance(error, Exception):  # Ctrl-C ends the command at once
                raise
            text = error_text(error)
            if self.resolved is not None:
                self._session.fail(self.resolved, folder, "", text)
            if unforeseen(error):
                folder = free_folder(folder)
                error.add_note(_explain(folder, text, error) or f"traceback in {folder / ERROR}")
            self.error = error  # Hydra would print a remark of its own
        return None

    def do(self, resolved: Callable[[], Resolved], number: int, overrides: Sequence[str], folder: Path) -> Any:
        """Do a job of a sweep.   resolved : gives what it is made of, or raises ConfigError."""
        task = [text for text in overrides if text.partition("=")[0] not in self.constant]
        label, notes = " ".join(task), Notes(self.notes)
        try:
            outcome = self._run(resolved, folder)
        except Exception as error:
            return self._failed(number, label, folder, error)
        goal, warnings, metrics = self.resolved.settings.goal, outcome.warnings, outcome.record.metrics
        values: list[float] | None = None
        try:
            goal = goal_of(goal, metrics)
            values = [metrics.get(goal_of(one, metrics), math.nan) for one in self.goals]
        except ConfigError as error:
            warnings = (*warnings, str(error))
        value = metrics.get(goal)
        status, label = SKIPPED if outcome.skipped else DONE, label or self.resolved.label
        dataset, untracked = data_set_of(outcome.record), outcome.tracker_error
        notes.write(Note(number, status, label, str(outcome.folder), dataset, goal, value, "", untracked, warnings))
        if self.goals:
            return values
        return worst(goal) if value is None else value

    def _failed(self, job: int, label: str, folder: Path, error: Exception) -> float | None:
        text, trouble, folder = error_text(error), "", free_folder(folder)
        if os.environ.get(DEBUG) == "1":
            tell("".join(traceback.format_exception(error)).rstrip())
        if self.resolved is not None:
            trouble = self._session.fail(self.resolved, folder, self.sweep_id, text, self.varied)
        warnings = tuple(filter(None, [_explain(folder, text, error)]))
        label = label or (self.resolved.label if self.resolved else f"job {job}")
        Notes(self.notes).write(Note(job, FAILED, label, str(folder), error=text, tracker_error=trouble, warnings=warnings))
        if self.goals:
            return None
        return worst(self.resolved.settings.goal) if self.resolved else float("inf")


def unforeseen(error: Exception) -> bool:
    """Whether code is at fault, a plugin's or ours, and not what the user asked for."""
    return not isinstance(error, ArboretumError) or isinstance(error, ContractError | VerificationError)


def _explain(folder: Path, text: str, error: Exception) -> str:
    """Leave ``error.txt`` in the folder, with the traceback where code is at fault; why that is not possible, or ""."""
    steps = fit("".join(traceback.format_exception(error))) if unforeseen(error) else ""
    try:
        write_files(folder, {ERROR: "\n".join((text, *steps.splitlines())) + "\n"})
    except StoreError as problem:
        return str(problem)
    return ""
