"""Carries requests to the process that holds MLflow, and waits no longer than allowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any, TextIO

from arboretum.api import TrackerError, masked
from arboretum_mlflow.location import Location
from arboretum_mlflow.trouble import WAY_OUT
from arboretum_mlflow.worker import DEFAULTS, ENVIRONMENT, first_line

REST = 60.0
"""Seconds for which a store that did not answer is not asked again: a sweep must not wait for it at each run."""


GRACE = 0.5
"""Seconds that a write under way gets when the command ends (one takes 0.05 s)."""


def child_environment() -> dict[str, str]:
    """Environment for a process that imports MLflow and finds the same packages as this one."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**DEFAULTS, **os.environ, **ENVIRONMENT, "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}


class Client:
    """One process with MLflow, started when first needed and again after a failure."""

    def __init__(self, location: Location, experiment: str, seconds: float) -> None:
        self.location, self.experiment, self.seconds = location, experiment, seconds
        self._process: subprocess.Popen[str] | None = None
        self._errors: TextIO | None = None
        self._busy: threading.Event | None = None
        self._resting_until = 0.0
        self._greeting = ""

    def ask(self, action: str, arguments: Mapping[str, Any] | None = None, patience: float = 1.0) -> Any:
        """Send a request and wait for its answer, ``patience`` times the allowed seconds.

        Raises TrackerError: the store's trouble in one line, or that it did not answer.
        """
        if time.monotonic() < self._resting_until:
            msg = f"MLflow store {self.location.shown} did not answer within {self.seconds:.0f} s a moment ago; check it"
            raise TrackerError(f"{msg}, {WAY_OUT}")
        allowed = self.seconds * patience
        self._wait(allowed)
        answers: list[dict[str, Any]] = []
        self._send(action, arguments or {}, answers)
        self._wait(allowed)
        if not answers:
            raise TrackerError(self._last_words())
        if "error" in answers[0]:
            raise TrackerError(answers[0]["error"])
        return answers[0]["value"]

    def start(self, action: str) -> None:
        """Send a request and do not wait: the next one does.  Its failure shows at the next request."""
        if self._busy is None and time.monotonic() >= self._resting_until:
            self._send(action, {}, [])

    def end(self) -> None:
        """End the process; a request under way is given up."""
        process, self._process, self._busy = self._process, None, None
        if process is not None:
            _end(process, self._errors)

    def _send(self, action: str, arguments: Mapping[str, Any], answers: list[dict[str, Any]]) -> None:
        process = self._running()
        line = json.dumps({"action": action, "arguments": arguments}) + "\n"
        greeting, self._greeting = self._greeting, ""
        answered = threading.Event()

        def exchange() -> None:
            try:
                process.stdin.write(greeting + line)
                process.stdin.flush()
                text = process.stdout.readline()
                if text:
                    answers.append(json.loads(text))
            except (OSError, ValueError):  # the process is gone: no answer
                return
            finally:
                answered.set()

        self._busy = answered  # an event: Thread.join takes a thread for ended when Ctrl-C interrupts it (Python 3.11)
        threading.Thread(target=exchange, name="arboretum-mlflow", daemon=True).start()

    def _wait(self, seconds: float) -> None:
        """Wait for the request under way, if there is one; end the process when it takes too long.

        When Ctrl-C interrupts the wait, the request goes on, and the next one waits for it first.
        """
        if self._busy is None:
            return
        if not self._busy.wait(seconds):
            self._resting_until = time.monotonic() + REST
            self.end()
            msg = f"MLflow store {self.location.shown} did not answer within {seconds:.0f} s (tracker.timeout); check it"
            raise TrackerError(f"{msg}, {WAY_OUT}")
        self._busy = None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.end()
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by end
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "arboretum_mlflow.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=child_environment(),
            text=True,
            encoding="utf-8",
        )
        weakref.finalize(self, _end, process, self._errors, GRACE)  # also at the end of the command
        self._process = process
        self._greeting = first_line(self.location, self.experiment, self.seconds) + "\n"
        return process

    def _last_words(self) -> str:
        """Why the process ended: the last line of what it said."""
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors if line.strip()]
        self.end()
        reason = masked(lines[-1])[:300] if lines else "it said nothing"
        return f"MLflow store {self.location.shown}: the process that writes it ended ({reason}); mend that, {WAY_OUT}"


def _end(process: subprocess.Popen[str], errors: TextIO, grace: float = 0.0) -> None:
    """Let the process go: close its input, wait ``grace`` seconds for it to finish a write, then end it."""
    try:
        process.stdin.close()
    except OSError:  # its last bytes had no reader
        grace = 0.0
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    errors.close()
