"""Contract: who keeps the record?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from arboretum.interfaces.component import Component
from arboretum.model.plain import Plain
from arboretum.model.record import Record


@attrs.frozen
class RunInfo:
    """What identifies a run: its configuration, folder, and the sweep it belongs to ("" when it is
    alone).

    copy_of : the folder of the finished run that was taken instead of doing this one again, ""
        where it was done.
    """

    name: str
    config: Plain
    folder: Path | None = None
    sweep_id: str = ""
    fingerprint: str = ""
    copy_of: str = ""


class Tracker(Component, Protocol):
    """A store of records.

    It observes: it computes nothing, runs after the clock has stopped, and its failure never loses
    a finished run (the run folder already holds ``record.json``).  Life-cycle of one command::

        prepare()                          once, in the parent process, before any worker starts
        open_sweep(sweep)                  multirun only
            store(run, record, files)      after each finished run        ┐ in the
            store_failure(run, error)      after each failed run          ┘ process that ran it
        close_sweep(sweep, best, status)   multirun only

    It may offer more, which is used where it is there: ``warm()`` starts loading in the background;
    ``close()`` lets go of processes and connections (they are reopened when needed); ``serve(host,
    port)`` shows the store in a browser until Ctrl-C; ``annotate(sweep_id, text, files)`` puts
    words (Markdown) and files (name → text) on the parent of a sweep before it is closed, and files
    alone on a finished run; ``reopen_sweep(sweep_id, name, config)`` goes on with a parent and
    returns its id, "" when it is gone; ``open_sweeps()`` lists the parents that nobody closed:
    "id", and "owner" and "folder" of the configuration they were opened with ("" without);
    ``runs()`` lists the runs that are kept, parents of sweeps apart, the newest first: "id",
    "name", "status" (FINISHED, FAILED …), "sweep" (the parent's id, "" without), "start" (seconds
    since 1970), "params" (key → text) and "metrics" (name → number); ``records()``
    returns id → text of ``record.json`` of every finished run, "" where it cannot be read, for
    comparisons of thousands.
    """

    def prepare(self) -> None:
        """Make the store ready (schema migrated under a lock); safe for several processes at
        once.  Raises TrackerError.
        """

    def open_sweep(self, name: str, config: Plain) -> str:
        """Open the parent of a multirun and return its id.

        config : what was asked.  A number ``seconds`` in it says that the work is done and took so
            long before this call (a reproduction is judged before it is sent); ``owner`` names the
            process that will close it, ``folder`` where its runs are.
        """

    def store(self, run: RunInfo, record: Record, files: Mapping[str, str]) -> str:
        """Keep one finished run and return its id.

        files : artifact name → text.   Raises TrackerError.

        The same fingerprint in the same folder is kept once: its id is returned again, and a run
        that was half written is completed.  ``arboretum sync`` relies on it.
        """

    def store_failure(self, run: RunInfo, error: str) -> str:
        """Keep one failed run as FAILED with its error."""

    def close_sweep(self, sweep_id: str, best: Mapping[str, float], status: str) -> None:
        """Put the best metrics on the parent and end it (status FINISHED, FAILED or KILLED)."""


class TrackerOptional(Protocol):
    """What a tracker may offer besides; one that only writes leaves it out, and its runs are
    loaded from their folders.
    """

    def store_all(self, runs: Sequence[tuple[RunInfo, Record, Mapping[str, str]]]) -> Sequence[str]:
        """Keep finished runs, each as :meth:`Tracker.store` does, and return their ids; all are
        kept, or none.  Raises TrackerError.
        """

    def fetch(self, run_id: str) -> Mapping[str, str]:
        """Return the text artifacts of a stored run (``arboretum.load``).  Raises TrackerError
        when there is none.
        """
