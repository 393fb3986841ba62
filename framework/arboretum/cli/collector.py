"""Where the jobs of a sweep that others do go out and come home: what is finished is not asked for
again, and what comes home is written, noted and told to the tracker.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from arboretum.cli.jobs import Job
from arboretum.cli.terminal import error_text
from arboretum.config.launch import error_of
from arboretum.config.resolve import Resolved
from arboretum.errors import ArboretumError, StoreError, sure
from arboretum.model.plain import Facts
from arboretum.runs.folder import Index, names_of
from arboretum.runs.sweeps import DONE, FAILED, Note
from arboretum.runs.tasks import JobResult, Task, message_of

if TYPE_CHECKING:
    from hydra.plugins.launcher import Launcher

DIED = (
    "a worker process ended before its {} were done (killed, or out of memory: fewer workers may "
    "help; {})"
)


MOST_SHOWN = 120  # characters of a library's error
MOST_JOBS = 256
"""Messages that a launcher gets where nobody says how many runs are in one: each costs some 10 ms,
and at the end workers wait for the longest.
"""
A_PROCESS_EACH = "LocalLauncher"  # submitit's, which starts all jobs at once


def share(n_runs: int, launcher: str) -> int:
    """Return how many runs a message has.   launcher : name of its class."""
    most = (os.cpu_count() or 1) if launcher == A_PROCESS_EACH else MOST_JOBS
    return max(-(-n_runs // most), 1)


def explain_loss(what: str, error: Exception) -> str:
    """Return what is said where a launcher broke.   what : "runs", "pieces"."""
    words = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return DIED.format(what, words if len(words) <= MOST_SHOWN else f"{words[:MOST_SHOWN]}…")


class LostError(StoreError):
    """A launcher broke before all runs came home."""


@attrs.define
class Collector:
    """The command's side of the jobs of one sweep.

    job : what they have in common.
    index : of finished runs.
    asked : number → what the run is made of, of every job that was admitted.
    values : number → what its job returns: goals' values, None where it failed.
    retries : how often what did not come home is sent out once more.
    per_job : runs in one message; None: as many as suits the launcher (:func:`share`).
    """

    job: Job
    index: Index
    asked: dict[int, Resolved] = attrs.field(factory=dict)
    values: dict[int, object] = attrs.field(factory=dict)
    retries: int = 0
    per_job: int | None = None
    _duplicates: dict[str, list[Task]] = attrs.field(factory=dict)

    def prepare_task(
        self, number: int, overrides: list[str], config: Facts, resolved: Resolved, folder: Path
    ) -> Task | None:
        """Return what a worker is to do; None where the run is finished, or is asked for by a job
        before this one.

        number, overrides : of the job.   config : its composed values.   folder : for its record.
        """
        session = sure(self.job.own)
        self.asked[number] = resolved
        choices = dict(resolved.config["choices"])
        label = self.job.label(overrides) or resolved.label
        expected = session.expect(resolved)
        task = Task(number, label, str(folder), config, choices, expected)
        if not (resolved.settings.skip_finished and expected.fingerprint):
            return task
        if self._reuse(task):
            return None
        duplicates = self._duplicates.setdefault(expected.fingerprint, [])
        duplicates.append(task)
        return task if len(duplicates) == 1 else None

    def _reuse(self, task: Task) -> bool:
        """Take the finished run of a task's fingerprint instead of doing it; whether there is
        one.
        """
        session, resolved = sure(self.job.own), self.asked[task.number]
        found = self.index.find(task.expected.fingerprint, names_of(resolved.config))
        if found is None:
            return False
        parts = attrs.evolve(resolved.parts, tracker=None)  # told of it like of all others
        outcome = session.reuse(
            found, Path(task.folder), attrs.evolve(resolved, parts=parts), "", self.job.sweep, ()
        )
        note, self.values[task.number] = self.job.note_of(
            outcome, resolved, task.number, task.label
        )
        self.job.notes.write(note)
        return True

    def collect(self, result: JobResult) -> None:
        """Take in what a job has sent home: its run is kept here from now on, and noted."""
        note = result.unpack()
        self.values[note.job] = None if note.status == FAILED else result.values
        if note.status == DONE:
            trouble = self.index.add(result.fingerprint, Path(note.folder))
            note = attrs.evolve(note, warnings=tuple(filter(None, (*note.warnings, trouble))))
        self.job.notes.write(note)

    def send(self, launcher: Launcher, tasks: list[Task]) -> None:
        """Let a launcher do tasks, and take in what comes home.  Raises LostError where it broke,
        and not all came home in as many tries as there are.
        """
        waiting, broken = tasks, None
        for left in range(self.retries, -1, -1):
            if not waiting:
                break
            broken = None
            try:
                self._launch(launcher, waiting, last=left == 0)
            except ArboretumError:
                raise
            except Exception as error:  # a worker was killed, a cluster went away
                broken = error
            waiting = self.missing(waiting)
        self.resolve_duplicates()
        if broken is not None and waiting:
            raise LostError(explain_loss("runs", broken)) from broken

    def _launch(self, launcher: Launcher, tasks: list[Task], last: bool) -> None:
        """Send out messages, and wait for what comes of them.

        last : there is no other try: tasks of which an error comes home have failed.
        """
        size = self.per_job or share(len(tasks), type(launcher).__name__)
        parts = [tasks[i : i + size] for i in range(0, len(tasks), size)]
        returns = launcher.launch([[message_of(part)] for part in parts], initial_job_idx=0)
        for part, one in zip(parts, returns, strict=True):
            error = error_of(one)
            for result in [] if error is not None else one.return_value:
                self.collect(result)
            if error is not None and last:
                for task in self.missing(part):
                    self.fail(task, error_text(error))

    def refuse(self, number: int, overrides: Sequence[str], error: str) -> None:
        """Note that a job cannot be composed."""
        self.job.notes.write(Note(number, FAILED, self.job.label(overrides), error=error))

    def fail(self, task: Task, error: str) -> None:
        """Note that a run failed of which nothing came home but an error."""
        self.job.notes.write(Note(task.number, FAILED, task.label, task.folder, error=error))

    def missing(self, tasks: list[Task]) -> list[Task]:
        """Return the tasks of which no word has come."""
        heard = {note.job for note in self.job.notes.read()}
        return [task for task in tasks if task.number not in heard]

    def resolve_duplicates(self) -> None:
        """Give every job whose run was asked for by another one that run."""
        for duplicates in self._duplicates.values():
            for task in self.missing(duplicates[1:]):
                if not self._reuse(task):
                    self.fail(task, f"the same run, {duplicates[0].label}, failed")
