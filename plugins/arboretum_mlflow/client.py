"""Carries requests to the process that holds MLflow, and waits no longer than allowed."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import weakref
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TextIO

from arboretum.api import Plain, TrackerError, masked, sure
from arboretum_mlflow.environment import DEFAULTS, ENVIRONMENT
from arboretum_mlflow.location import WAY_OUT, Location

REST = 60.0
"""Seconds for which a store that did not answer is not asked again: a sweep must not wait for it
at each run.
"""
GRACE = 0.5
"""Seconds that a write under way gets when the command ends (one takes 0.05 s)."""


def child_environment() -> dict[str, str]:
    """Environment for a process that imports MLflow and finds the same packages as this one."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return {
        **DEFAULTS,
        **os.environ,
        **ENVIRONMENT,
        "PYTHONPATH": paths,
        "PYTHONWARNINGS": "ignore",
    }


class Client:
    """One process with MLflow, started when first needed and again after a failure."""

    def __init__(self, location: Location, experiment: str, seconds: float) -> None:
        self.location, self.experiment, self.seconds = location, experiment, seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection | None = None
        self._said: TextIO | None = None
        self._busy = False
        self._resting_until = 0.0

    def ask(self, action: str, arguments: Plain | None = None, patience: float = 1.0) -> Any:
        """Send a request and wait for its answer, ``patience`` times the allowed seconds.

        Raises TrackerError: the store's trouble in one line, or that it did not answer.
        """
        if time.monotonic() < self._resting_until:
            msg = (
                f"MLflow store {self.location.shown} did not answer within {self.seconds:.0f} s "
                "a moment ago; check it"
            )
            raise TrackerError(f"{msg}, {WAY_OUT}")
        # of a request that nobody waited for, or whose wait Ctrl-C interrupted
        self._answer(self.seconds * patience)
        self._send(action, arguments or {})
        answer = self._answer(self.seconds * patience)
        if answer is None:
            reason = last_line(sure(self._said))
            self.end()
            raise TrackerError(
                f"MLflow store {self.location.shown}: the process that writes it ended "
                f"({reason}); mend that, {WAY_OUT}"
            )
        value, error = answer
        if error:
            raise TrackerError(error)
        return value

    def start(self, action: str) -> None:
        """Send a request and do not wait: the next one does.  Its failure shows at the next
        request.
        """
        if not self._busy and time.monotonic() >= self._resting_until:
            self._send(action, {})

    def end(self) -> None:
        """End the process; a request under way is given up."""
        process, self._process, self._busy = self._process, None, False
        if process is not None:
            _end(process, sure(self._line), sure(self._said))

    def close(self) -> None:
        """End the process; whoever asks next means it, also where the store is left to rest."""
        self.end()
        self._resting_until = 0.0

    def _send(self, action: str, arguments: Plain) -> None:
        line, self._busy = self._connection(), True
        with contextlib.suppress(OSError):  # the process is gone: there will be no answer
            line.send((action, arguments))

    def _answer(self, seconds: float) -> tuple[Any, str] | None:
        """Return (value, error) of the request under way; None where there is none, or the process
        is gone.  Ends one that takes too long.
        """
        if not self._busy:
            return None
        try:
            line = sure(self._line)
            if not line.poll(seconds):
                self._resting_until = time.monotonic() + REST
                self.end()
                msg = (
                    f"MLflow store {self.location.shown} did not answer within {seconds:.0f} s "
                    "(tracker.timeout); check it"
                )
                raise TrackerError(f"{msg}, {WAY_OUT}")
            answer: tuple[Any, str] | None = line.recv()
        except (EOFError, OSError):
            answer = None
        self._busy = False
        return answer

    def _connection(self) -> Connection:
        """Return the connection to MLflow's process, which is started where none runs."""
        if self._process is not None and self._process.poll() is None:
            return sure(self._line)
        self.end()
        self._line, theirs = Pipe()
        said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._said = said  # closed by end
        command = [sys.executable, "-P", "-m", "arboretum_mlflow.worker"]
        with theirs:
            process = subprocess.Popen(
                command, stdin=theirs.fileno(), stdout=said, stderr=said, env=child_environment()
            )
            self._process = process
            self._line.send((self.location, self.experiment, self.seconds))
        # also at the end of the command
        weakref.finalize(self, _end, process, self._line, said, GRACE)
        return self._line


def last_line(said: TextIO) -> str:
    """Return the last line of what a process has said: why it ended."""
    said.seek(0)
    lines = [line.strip() for line in said if line.strip()]
    return masked(lines[-1])[:300] if lines else "it said nothing"


def _end(
    process: subprocess.Popen[bytes], line: Connection, said: TextIO, grace: float = 0.0
) -> None:
    """Let the process go: close its line, wait ``grace`` seconds for it to finish a write, then
    end it.
    """
    line.close()
    said.close()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
