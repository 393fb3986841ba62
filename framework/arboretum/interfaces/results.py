"""Contracts: who keeps the record, in which form does a tree leave, do the numbers that a paper reports come out?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs

from arboretum.interfaces.component import Component
from arboretum.interfaces.method import Parts
from arboretum.model.judgement import Judgement
from arboretum.model.record import Record
from arboretum.model.tree import Tree


@attrs.frozen
class RunInfo:
    """What identifies a run: its configuration, folder, and the sweep it belongs to ("" when it is alone).

    copy_of : the folder of the finished run that was taken instead of doing this one again, "" where it was done.
    """

    name: str
    config: Mapping[str, Any]
    folder: Path | None = None
    sweep_id: str = ""
    fingerprint: str = ""
    copy_of: str = ""


class Tracker(Component, Protocol):
    """A store of records.

    It observes: it computes nothing, runs after the clock has stopped, and its failure never loses a finished run (the run folder
    already holds ``record.json``).  Life-cycle of one command::

        prepare()                          once, in the parent process, before any worker starts
        open_sweep(sweep)                  multirun only
            store(run, record, files)      after each finished run        ┐ in the
            store_failure(run, error)      after each failed run          ┘ process that ran it
        close_sweep(sweep, best, status)   multirun only

    It may offer more, which is used where it is there: ``warm()`` starts loading in the background; ``close()`` lets go of
    processes and connections (they are reopened when needed); ``serve(host, port)`` shows the store in a browser until Ctrl-C;
    ``annotate(sweep_id, text, files)`` puts words (Markdown) and files (name → text) on the parent of a sweep before it is closed;
    ``reopen_sweep(sweep_id, name, config)`` goes on with a parent and returns its id, "" when it is gone; ``open_sweeps()`` lists the
    parents that nobody closed: "id", and "owner" and "folder" of the configuration they were opened with ("" without).
    """

    def prepare(self) -> None:
        """Make the store ready (schema migrated under a lock); safe for several processes at once.  Raises TrackerError."""

    def open_sweep(self, name: str, config: Mapping[str, Any]) -> str:
        """Open the parent of a multirun and return its id.

        config : what was asked.  A number ``seconds`` in it says that the work is done and took so long before this call
        (a reproduction is judged before it is sent); ``owner`` names the process that will close it, ``folder`` where its runs are.
        """

    def store(self, run: RunInfo, record: Record, files: Mapping[str, str]) -> str:
        """Keep one finished run and return its id.   files : artifact name → text.   Raises TrackerError.

        The same fingerprint in the same folder is kept once: its id is returned again, and a run that was half written is
        completed.  ``arboretum sync`` relies on it.
        """

    def store_failure(self, run: RunInfo, error: str) -> str:
        """Keep one failed run as FAILED with its error."""

    def close_sweep(self, sweep_id: str, best: Mapping[str, float], status: str) -> None:
        """Put the best metrics on the parent and end it (status FINISHED, FAILED or KILLED)."""

    def fetch(self, run_id: str) -> Mapping[str, str]:
        """Return the text artifacts of a stored run (``arboretum.load``).  Raises TrackerError when there is none."""


class Export(Component, Protocol):
    """A form of a tree, for other programs or for eyes.  ``arboretum export RUN --to NAME --out FILE`` writes it.

    suffix : of its files, with the dot (".sql").
    """

    suffix: str

    def write(self, tree: Tree) -> str | bytes:
        """The tree in this form: text, or bytes for what is none.  Called once per export, outside any clock; changes nothing.

        Raises CapabilityError for a tree that the form cannot hold.
        """


@attrs.frozen
class Piece:
    """One independent piece of work.

    key : plain values (JSON) that say, with the seed, everything the result depends on: it names the result that is kept.
    cost : how long it is expected to take, in any unit; the estimate of the time left goes by it.
    """

    key: Mapping[str, Any]
    cost: float = 1.0


class House(Protocol):
    """What the laboratory lends a piece of work: components of any plugin, by name."""

    def component(self, kind: str, name: str, values: Mapping[str, Any] | None = None) -> Any:
        """Build an installed component.  Raises ConfigError with the closest match."""

    def parts(self, choices: Mapping[str, Any], values: Mapping[str, Any] | Sequence[str] = ()) -> Parts:
        """Put together the parts of a run (group → option, "group.field" → value), presets included.  Raises ConfigError."""

    def run(self, choices: Mapping[str, Any], values: Mapping[str, Any] | Sequence[str] = (), seed: int = 0) -> Record:
        """Do one run, verified, and return its record with its tree; nobody keeps it.  Raises ArboretumError."""


class Reproduction(Component, Protocol):
    """A paper's study: independent pieces of work, and a judgement of their results.

    It starts no process, writes no file and prints nothing.  ``arboretum reproduce NAME`` does that: it hands the pieces to worker
    processes, cheapest first, keeps each result, repeats nothing that is finished, and shows and records what ``judge`` says.  The
    fields of the class are options of the command (``--tables 500``).  It may have ``warm_up(house)``: called once per process
    before its first piece, to compile and load.
    """

    def pieces(self, fraction: float) -> Sequence[Piece]:
        """The work, cheapest first; ``0 < fraction ≤ 1``: of random tables where the paper draws tables, else of cells.

        Never empty.  The same call returns the same pieces, and no two keys are equal.
        """

    def work(self, key: Mapping[str, Any], seed: int, house: House) -> Any:
        """Do one piece and return plain values (JSON, finite numbers).

        The result follows from ``key`` and ``seed`` alone: not from the process, the order, or what was done before.
        Raises ArboretumError when it cannot be done; the other pieces go on.
        """

    def judge(self, results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
        """Judge (key, result) pairs, in the order of ``pieces``; some may be missing (failed, or not asked for).

        What cannot be judged for lack of results has no cell; with no results at all the judgement is empty.
        """
