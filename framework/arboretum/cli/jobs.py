"""One job of a sweep, wherever it is done: in this process, or by whatever Hydra's launcher hands
it to, with nothing there but the installed packages.

A worker that sees the sweep's folder keeps its runs there at once, so that nothing finished is lost
when the command is killed; another keeps them in a temporary folder and sends them home.  No worker
talks to the tracker: the command does, when a run has come home.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from arboretum import lab
from arboretum.cli import terminal
from arboretum.cli.comparison import goal_of
from arboretum.cli.terminal import error_text, fit
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
    remove_empty,
    write_files,
)
from arboretum.runs.grouping import data_set_of
from arboretum.runs.listing import JOB
from arboretum.runs.sweeps import DONE, FAILED, SKIPPED, Note, Notes, is_dead
from arboretum.runs.tasks import JobResult, Task, files_of, parts_that_write, read_message

LOOK_SECONDS = 0.5
"""Between two looks of a worker whether its command still lives."""
TOLD_TO_END = 75
"""Status of a worker that ended because its command did."""


@attrs.define(eq=False, slots=False)
class Job:
    """What all jobs of a sweep have in common; in a worker called with a message of tasks.

    files : one-file plugins, for workers that have no registry yet.
    index, notes, sweep : folders of the index of finished runs, of what jobs leave word of, of the
        sweep; a worker need not see any.
    owner : the process of the command.
    here : its working folder.
    data : the data home that its lab names, "" where it names none.
    constant : keys that all jobs have alike.
    varied : those with which the runs' names begin.
    sweep_id : the tracker's id of the sweep.
    goals : of a search, whose jobs return the values of these.
    own : the command's session; None in a worker.
    """

    files: tuple[PluginFile, ...]
    index: Path
    notes: Notes
    sweep: Path
    owner: str
    here: str
    data: str = ""
    constant: frozenset[str] = frozenset()
    varied: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    sweep_id: str = ""
    own: Session | None = None
    progress: Callable[[float, float | None, str], None] | None = None
    finished: Index | None = None

    def __getstate__(self) -> Facts:  # what a worker process receives
        kept = {**self.__dict__, **dict.fromkeys(("own", "progress", "finished"))}
        return {**kept, "notes": self.notes.anew()}

    def __call__(self, config: DictConfig) -> list[JobResult]:
        """Do the tasks of a message; what Hydra calls."""
        tasks = read_message(str(config.message))
        if self.own is not None:
            return [self.work(task) for task in tasks]
        _begin_work(self)
        with _command_watch().held(self):
            results = [self.work(task) for task in tasks]
        made = Path(str(HydraConfig.get().runtime.output_dir))
        for folder in (made, made.parent):  # Hydra's, and nothing is in them
            remove_empty(folder)
        return results

    @property
    def _session(self) -> Session:
        return self.own or session(self.files)

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
        with _folder_for(task, shared) as folder, contextlib.redirect_stdout(sys.stderr):
            places: Mapping[Path, str] = {}
            resolved = None
            try:
                resolved = resolve(
                    OmegaConf.create(task.config), self._session.registry, task.choices
                )
                # the command tells the tracker
                parts = attrs.evolve(resolved.parts, tracker=None)
                if not shared:
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
        """Leave word of a job that failed, and tell the tracker.   resolved : None where the
        configuration was refused; the tracker then hears nothing.
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
    """Hold the folder of a task's run: the sweep's, or a temporary one that is then taken away."""
    if shared:
        yield Path(task.folder)
        return
    made = tempfile.mkdtemp(prefix="arboretum-run-")
    try:
        yield Path(made) / "run"
    finally:
        shutil.rmtree(made, ignore_errors=True)


class CommandWatch:
    """Ends this process, a worker, when the command that it works for has ended; while it works,
    also when the command takes the sweep's notes away, which it does at its end.
    """

    def __init__(self) -> None:
        """Begin to look."""
        self._job: Job | None = None
        self._at_work = False
        threading.Thread(target=self._look, daemon=True).start()

    @contextmanager
    def held(self, job: Job) -> Iterator[None]:
        """Work for the command of a job until the block ends."""
        self._job, self._at_work = job, job.notes.is_seen()
        try:
            yield
        finally:
            self._at_work = False  # a launcher may keep it for the next sweep of the command

    def _look(self) -> None:
        """Look now and then, for ever."""
        while True:
            time.sleep(LOOK_SECONDS)
            job, at_work = self._job, self._at_work
            if job is not None and (is_dead(job.owner) or (at_work and not job.notes.is_seen())):
                os._exit(TOLD_TO_END)


@functools.lru_cache(maxsize=1)
def _command_watch() -> CommandWatch:
    """Return the watch of this process."""
    return CommandWatch()


def _begin_work(job: Job) -> None:
    """Prepare a worker's process for a job: Ctrl-C is for the command, which ends its workers; what
    its lab chose has been composed, and the lab's plugins travel.
    """
    os.environ[lab.VARIABLE] = lab.NONE
    if job.data and Path(job.data).is_dir():
        os.environ.setdefault("ARBORETUM_DATA", job.data)
    with contextlib.suppress(OSError):
        os.chdir(job.here)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


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
