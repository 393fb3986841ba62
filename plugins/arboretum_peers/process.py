"""A peer's process, seen from here: started, waited for, given one job, ended in time."""

import os
import subprocess
import sys
import tempfile
import time
import weakref
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TextIO

import numpy as np

from arboretum.api import (
    ArboretumError,
    CapabilityError,
    Facts,
    Plain,
    masked,
)

INTERPRETER = "ARBORETUM_PEERS"
"""Variable: interpreters that have the peers, where this one has not, separated as in PATH; the
first one that has a peer runs it.
"""
WORKER = Path(__file__).parent / "worker.py"
LOADING = 300.0
"""Seconds for which a peer may load; one of them compiles when it is first used."""
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class PeerProcess:
    """One process for one job.

    script : what it runs.
    words : its arguments, the peer's name first.
    python : who runs it.
    """

    def __init__(self, script: Path, *words: str, python: str = "") -> None:
        """Start an interpreter that runs ``script``.

        words : its arguments, the peer's name first.
        python : the interpreter; "": as the environment says, else this one.
        """
        self.name, self.version = words[0], ""
        named = os.environ.get(INTERPRETER, "").split(os.pathsep)
        self._interpreters = [python] if python else [one for one in named if one]
        self._command = ["-I", "-W", "ignore", str(script), *words]
        self._start(self._interpreters.pop(0) if self._interpreters else sys.executable)

    def _start(self, python: str) -> None:
        """Start the script in one interpreter.  Raises CapabilityError where that is none."""
        self._line, theirs = Pipe()
        said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._said = said  # closed by _end
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [python, *self._command],
                    env={**os.environ, **ONE_THREAD},
                    stdin=theirs.fileno(),
                    stdout=self._said,
                    stderr=self._said,
                )
            except OSError as error:
                self._line.close()
                self._said.close()
                raise CapabilityError(
                    f"{INTERPRETER}={python} does not start ({error.strerror}); name a Python "
                    "interpreter"
                ) from None
        self._end = weakref.finalize(self, _end, self._process, self._line, self._said)

    def ready(self, until: float | None = None) -> str:
        """Wait until the peer is loaded, by the first interpreter that has it; returns its version
        ("" where it is not by then).  Raises CapabilityError where it is not installed.
        """
        reasons: list[str] = []
        while not self.version:
            reported = self._next_message(time.monotonic() + LOADING if until is None else until)
            if reported == {}:
                return ""
            if reported is not None and "ready" in reported:
                self.version = reported["ready"]
                break
            reasons.append(reported["absent"] if reported else self._last_words())
            self.end()
            if not self._interpreters:
                way = (
                    "install it (pip install 'arboretum[peers]'), or name an interpreter that has "
                    f"it in {INTERPRETER}"
                )
                why = "; ".join(dict.fromkeys(reasons))
                raise CapabilityError(f"{self.name} does not load ({why}); {way}")
            self._start(self._interpreters.pop(0))
        return self.version

    def ask(
        self,
        x: np.ndarray,
        y: np.ndarray,
        until: float | None,
        *,
        keep: bool = False,
        **job: object,
    ) -> Plain:
        """Its answer; ``{"spent": "seconds"}`` where there is none at ``until``
        (``time.monotonic()``), when the process is killed.

        ``{"spent": "memory"}`` where it ended without a word under a limit of memory.  Raises
        ArboretumError with its last words where it failed.

        keep : a script that takes several jobs lives on.
        """
        arrays = {name: (a.tobytes(), a.dtype.str, a.shape) for name, a in (("x", x), ("y", y))}
        try:
            self._line.send({**arrays, **job})
            found = self._next_message(until)
        except OSError:
            found = None
        why = "" if found is not None else self._last_words()
        if not keep or not found:
            self.end()
        if found == {}:
            return {"spent": "seconds"}
        # what C++ does where there is no memory: it aborts
        if found is None and job.get("bytes") is not None:
            return {"spent": "memory"}
        if found is None or "error" in found:
            raise ArboretumError(f"{self.name} failed: {found['error'] if found else why}")
        return found

    @property
    def runs(self) -> bool:
        """Whether it can be asked (again)."""
        return self._end.alive

    def end(self) -> None:
        """Kill the process, if it still runs."""
        self._end()

    def _next_message(self, until: float | None) -> Facts | None:
        """Return the next message; {} where none came in time, None where the process has ended.

        until : ``time.monotonic()`` value; None: wait for ever.
        """
        seconds = None if until is None else max(0.0, until - time.monotonic())
        try:
            return self._line.recv() if self._line.poll(seconds) else {}
        except (EOFError, OSError):
            return None

    def _last_words(self) -> str:
        status = self._process.wait()
        self._said.seek(0)
        lines = [text.strip() for text in self._said if text.strip()]
        return masked(lines[-1])[:300] if lines else f"it ended with status {status}"


def _end(process: subprocess.Popen[bytes], line: Connection, said: TextIO) -> None:
    line.close()
    said.close()
    process.kill()
    process.wait()
