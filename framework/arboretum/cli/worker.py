"""A worker's process: it works for one command, however a launcher came to start it, and ends with
that.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from arboretum import lab
from arboretum.runs.folder import remove_empty
from arboretum.runs.sweeps import Notes, is_dead, owner

LOOK_SECONDS = 0.5
"""Between two looks of a worker whether its command still lives."""
COMMAND_ENDED = 75
"""Status of a worker that ended because its command did."""


@attrs.frozen(eq=False)
class Command:
    """What a worker knows of the command that it works for.

    process : as :func:`~arboretum.runs.sweeps.owner` names it.
    folder : that it was given in.
    data : the data home that its lab names, "" where it names none.
    notes : of its jobs; there as long as it waits for them.
    """

    process: str
    folder: str
    data: str
    notes: Notes

    @staticmethod
    def current(notes: Notes) -> Command:
        """Return this process's own command."""
        return Command(owner(), os.getcwd(), lab.current().data, notes)


@contextmanager
def at_work(command: Command, made: str) -> Iterator[None]:
    """Work for a command until the block ends: Ctrl-C is for the command, which ends its workers;
    what its lab chose has been composed, and what is printed is no result.

    made : the folder that Hydra made for the job, which nothing is written into.
    """
    os.environ[lab.VARIABLE] = lab.NONE
    if command.data and Path(command.data).is_dir():
        os.environ.setdefault("ARBORETUM_DATA", command.data)
    with contextlib.suppress(OSError):
        os.chdir(command.folder)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with _command_watch().held(command), contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        for folder in (Path(made), Path(made).parent):
            remove_empty(folder)


class CommandWatch:
    """Ends this process, a worker, when the command that it works for has ended; while it works,
    also when the command takes its notes away, which it does at its end.
    """

    def __init__(self) -> None:
        """Begin to look."""
        self._command: Command | None = None
        self._at_work = False
        threading.Thread(target=self._look, daemon=True).start()

    @contextmanager
    def held(self, command: Command) -> Iterator[None]:
        """Work for a command until the block ends."""
        self._command, self._at_work = command, command.notes.is_seen()
        try:
            yield
        finally:
            self._at_work = False  # a launcher may keep it for the next sweep of the command

    def _look(self) -> None:
        """Look now and then, for ever."""
        while True:
            time.sleep(LOOK_SECONDS)
            command, at_work = self._command, self._at_work
            if command is not None and (
                is_dead(command.process) or (at_work and not command.notes.is_seen())
            ):
                os._exit(COMMAND_ENDED)


@functools.lru_cache(maxsize=1)
def _command_watch() -> CommandWatch:
    """Return the watch of this process."""
    return CommandWatch()
