"""One job of a sweep, wherever it is done: in this process, or by whatever Hydra's launcher hands
it to, with nothing there but the installed packages.

A worker that sees the sweep's folder keeps its runs there at once, so that nothing finished is lost
when the command is killed; another keeps them in a temporary folder and sends them home.  No worker
talks to the tracker: the command does, when a run has come home.
"""

from __future__ import annotations

import math
import os
import shutil
import socket
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from arboretum.cli import terminal
from arboretum.cli.comparison import goal_of
from arboretum.cli.terminal import error_text, fit
from arboretum.cli.worker import Command, at_work
from arboretum.config.execute import Outcome, Session, session
from arboretum.config.resolve import Resolved, resolve
from arboretum.errors import (
    ArboretumError,
    ConfigError,
    ContractError,
    StoreError,
    VerificationError,
)
from arboretum.model.plain import Facts
from arboretum.plugin.discovery import PluginFile
from arboretum.runs.folder import (
    ERROR,
    Index,
    free_folder,
    holds_others,
    make_ready,
    write_files,
)
from arboretum.runs.grouping import data_set_of
from arboretum.runs.listing import JOB
from arboretum.runs.sweeps import DONE, FAILED, SKIPPED, Note, Notes
from arboretum.runs.tasks import JobResult, Task, files_of, parts_that_write, read_message


@attrs.define(eq=False, slots=False)
class Job:
    """What all jobs of a sweep have in common; in a worker called with a message of tasks.

    files : one-file plugins, for workers that have no registry yet.
    index, sweep : folders of the index of finished runs, and of the sweep; a worker need not see
        any.
    command : which a worker works for, with the notes of what became of jobs.
    constant : keys that all jobs have alike.
    varied : those with which the runs' names begin.
    sweep_id : the tracker's id of the sweep.
    goals : of a search, whose jobs return the values of these.
    own : the command's session; None in a worker.
    """

    files: tuple[PluginFile, ...]
    index: Path
    sweep: Path
    command: Command
    constant: frozenset[str] = frozenset()
    varied: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    sweep_id: str = ""
    own: Session | None = None
    progress: Callable[[float, float | None, str], None] | None = None
    finished: Index | None = None

    def __getstate__(self) -> Facts:  # what a worker process receives
        return {**self.__dict__, **dict.fromkeys(("own", "progress", "finished"))}

    @property
    def notes(self) -> Notes:
        """What jobs leave word in."""
        return self.command.notes

    def __call__(self, config: DictConfig) -> list[JobResult]:
        """Do the tasks of a message; what Hydra calls."""
        tasks = read_message(str(config.message))
        if self.own is not None:
            return [self.work(task) for task in tasks]
        with at_work(self.command, str(HydraConfig.get().runtime.output_dir)):
            return [self.work(task) for task in tasks]

    @property
    def _session(self) -> Session:
        return self.own or session(self.files)

    def has_failed(self) -> bool:
        """Return whether any job of the sweep has failed so far."""
        return any(note.status == FAILED for note in self.notes.read())

    def label(self, overrides: Sequence[str]) -> str:
        """What tells a job of these overrides from the others of the sweep."""
        return " ".join(
            text
            for text in overrides
            if text.partition("=")[0] not in self.constant and not text.startswith("hydra.")
        )

    def work(self, task: Task) -> JobResult:
        """Do one run for somebody else's command, and return what is to be sent home."""
        shared = self.notes.is_seen()
        before = self.notes.find(task.number) if shared and not self.goals else None
        if before is not None:  # a worker before this one got so far, and was killed then
            return JobResult(before, before.value)
        try:
            with _folder_for(task, shared) as folder:
                return self._work_in(folder, task, shared)
        except StoreError as error:  # there is no place to work in, or to leave word
            return JobResult(
                Note(task.number, FAILED, task.label, task.folder, error=error_text(error))
            )

    def _work_in(self, folder: Path, task: Task, shared: bool) -> JobResult:
        """Do one run in a folder of its own.

        shared : it is in the sweep's.  Raises StoreError where no word can be left in that.
        """
        places: Mapping[Path, str] = {}
        resolved = None
        try:
            resolved = resolve(OmegaConf.create(task.config), self._session.registry, task.choices)
            # the command tells the tracker
            parts = attrs.evolve(resolved.parts, tracker=None)
            if not shared:
                make_ready(folder, f"TMPDIR=FOLDER on {socket.gethostname()}")
                parts, places = parts_that_write(parts, folder.parent)
            outcome = self._session.execute(
                attrs.evolve(resolved, parts=parts),
                folder,
                sweep=self.sweep,
                expected=task.expected,
                progress=self.progress,
            )
        except Exception as error:
            where = free_folder(folder)
            note = Note(task.number, FAILED, task.label, str(where), error=error_text(error))
            note = attrs.evolve(note, warnings=_leave_word(where, error, task.label))
            result = JobResult(note)
        else:
            note, values = self.note_of(outcome, resolved, task.number, task.label)
            result = JobResult(note, values, outcome.record.fingerprint)
        if shared:
            self.notes.write(result.note)
            return result
        return attrs.evolve(
            result,
            note=attrs.evolve(result.note, folder=task.folder),
            files=files_of(Path(result.note.folder)),
            written={path: at.read_bytes() for at, path in places.items() if at.exists()},
        )

    def do(
        self,
        resolve_job: Callable[[], Resolved],
        number: int,
        overrides: Sequence[str],
        folder: Path,
    ) -> Any:
        """Do one job in the command's own process, leave a note of it, and return the value of its
        goal; of a search, the list of its goals' values (NaN for one that the run lacks); None
        where the run failed.

        A failure becomes a note and is not raised, so that the other jobs go on.

        resolve_job : called here, so that its ConfigError is the job's failure.
        number, overrides : of the job.
        folder : absolute, for its record.
        """
        label, resolved = self.label(overrides), None
        self.finished = self.finished or Index(self.index, self.sweep)
        where: Facts = {
            "index": self.finished,
            "sweep_id": self.sweep_id,
            "sweep": self.sweep,
            "varied": self.varied,
        }
        try:
            resolved = resolve_job()
            outcome = self._session.execute(
                resolved, folder, **where, beside=True, progress=self.progress
            )
        except Exception as error:
            label = label or (resolved.label if resolved else f"job {number}")
            self.note_failure(
                resolved,
                Note(number, FAILED, label, str(free_folder(folder)), error=error_text(error)),
                error,
            )
            return None
        note, values = self.note_of(outcome, resolved, number, label)
        self.notes.write(note)
        if outcome.record.solution is not None and outcome.record.solution.interrupted:
            raise outcome.record.solution.interrupted  # its best tree is kept; no other job begins
        return values

    def note_of(
        self, outcome: Outcome, resolved: Resolved, number: int, label: str
    ) -> tuple[Note, Any]:
        """Return the note of a run that did not fail, and what its job returns.

        number, label : of the job; "": the run's own label.
        """
        goal, warnings = resolved.settings.goal, outcome.warnings
        metrics = outcome.record.metrics
        values = None
        try:
            goal = goal_of(goal, metrics)
            values = [metrics.get(goal_of(one, metrics), math.nan) for one in self.goals]
        except ConfigError as error:
            warnings = (*warnings, str(error))
        note = Note(
            job=number,
            status=SKIPPED if outcome.skipped else DONE,
            label=label or resolved.label,
            folder=str(outcome.folder),
            dataset=data_set_of(outcome.record),
            goal=goal,
            value=metrics.get(goal),
            tracker_error=outcome.tracker_error,
            warnings=warnings,
        )
        return note, values if self.goals else note.value

    def note_failure(self, resolved: Resolved | None, note: Note, error: Exception) -> None:
        """Leave word of a job that failed, and tell the tracker.

        resolved : None where the configuration was refused; the tracker then hears nothing.
        """
        folder, trouble = Path(note.folder), ""
        terminal.report_traceback(error)
        if resolved is not None:
            trouble = self._session.fail(resolved, folder, self.sweep_id, note.error, self.varied)
        self.notes.write(
            attrs.evolve(
                note, tracker_error=trouble, warnings=_leave_word(folder, error, note.label)
            )
        )


@contextmanager
def _folder_for(task: Task, shared: bool) -> Iterator[Path]:
    """Hold the folder of a task's run: the sweep's, or a temporary one that is then taken away.
    Raises StoreError where none can be made.
    """
    if shared:
        yield Path(task.folder)
        return
    try:
        made = tempfile.mkdtemp(prefix="arboretum-run-")
    except OSError as error:
        raise StoreError(
            f"no temporary folder can be made on {socket.gethostname()} "
            f"({error.strerror or error}); make room, or name another with TMPDIR=FOLDER there"
        ) from error
    try:
        yield Path(made) / "run"
    finally:
        shutil.rmtree(made, ignore_errors=True)


def unforeseen(error: Exception) -> bool:
    """Whether code is at fault, a plugin's or ours, and not what the user asked for."""
    return not isinstance(error, ArboretumError) or isinstance(
        error, ContractError | VerificationError
    )


def explain_failure(folder: Path, error: Exception, label: str = "") -> str:
    """Leave ``error.txt`` in the folder, with the traceback where code is at fault; why that is
    not possible, or "".

    label : what tells the job from others of its sweep, for whoever looks for its result.
    """
    steps = fit("".join(traceback.format_exception(error))) if unforeseen(error) else ""
    if holds_others(folder) and os.path.lexists(folder / ERROR):
        return (
            f"{folder / ERROR} was there before and stays, so the traceback is not kept "
            "(ARBORETUM_DEBUG=1 prints it)"
        )
    try:
        asked = [fit(f"{JOB}{label}")] if label else []
        lines = (error_text(error), *asked, *steps.splitlines())
        write_files(folder, {ERROR: "\n".join(lines) + "\n"})
    except StoreError as problem:
        return str(problem)
    return ""


def _leave_word(folder: Path, error: Exception, label: str) -> tuple[str, ...]:
    """Leave ``error.txt`` in the folder; returns a warning where that is not possible.

    label : what tells the job from others of its sweep.
    """
    return tuple(filter(None, [explain_failure(folder, error, label)]))
