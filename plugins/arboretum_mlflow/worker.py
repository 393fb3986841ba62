"""The process that holds MLflow: its standard input is a connection on which requests come and
answers leave.

It is a process of its own for four reasons: importing MLflow takes two to four seconds and so
happens beside the fit; a store that hangs can be ended; MLflow's log lines and warnings stay out of
the user's terminal; and the memory that benchmarks measure is not MLflow's.
"""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
import time
import warnings
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from arboretum.api import Plain, TrackerError
from arboretum_mlflow.location import Location, explain

if TYPE_CHECKING:
    from arboretum_mlflow.writer import Writer

REPEATABLE = frozenset(
    {
        "open",
        "prepare",
        "upgrade",
        "store",
        "store_all",
        "fetch",
        "annotate",
        "open_sweep",
        "reopen_sweep",
        "open_sweeps",
        "runs",
        "records",
        "close_sweep",
    }
)
"""Requests that may be answered twice: what is stored already is found, what is half-written is
completed.
"""


class Worker:
    """Answers requests; opens the store at the first one that needs it."""

    def __init__(self, location: Location, experiment: str, seconds: float) -> None:
        self.location, self.experiment, self.seconds = location, experiment, seconds
        self._writer: Writer | None = None

    @property
    def writer(self) -> Writer:
        """The writer of the store, made at first use: that imports MLflow, which takes seconds, and
        switches garbage collection on again.
        """
        if self._writer is None:
            from arboretum_mlflow.writer import Writer

            self._writer = Writer(self.location, self.experiment)
            # what modules are made of is never garbage: not looking for any while MLflow loads
            # saves 0.3 of 2.25 s
            gc.freeze()
            # writing one run allocates 50,000 objects; a look every 700 takes a sixth of the time
            gc.set_threshold(100_000)
            gc.enable()
        return self._writer

    def patiently(self, action: str, arguments: Plain) -> Any:
        """Do what is asked; where another process got in the way, once more, for up to half of
        the timeout.
        """
        start = time.monotonic()
        while True:
            try:
                return self.answer(action, arguments)
            except Exception as error:
                if (
                    action not in REPEATABLE
                    or not collided(error)
                    or time.monotonic() - start > self.seconds / 2
                ):
                    raise
                time.sleep(random.uniform(0.02, 0.2))  # two processes in step would collide again

    def answer(self, action: str, arguments: Plain) -> Any:
        """Do what is asked."""
        if action in ("prepare", "upgrade"):
            from arboretum_mlflow import schema

            {"prepare": schema.make_ready, "upgrade": schema.upgrade}[action](
                self.location, self.seconds
            )
            if action == "upgrade":
                return ""
        if action in ("prepare", "open"):
            return self.writer.experiment_id
        return getattr(self.writer, action)(**arguments)


def collided(error: Exception) -> bool:
    """Return whether waiting helps: two writers met (one holds SQLite's lock, or has just inserted
    the row, a data set, that this one wanted), or the store's server is starting.
    """
    words = f"{type(error).__name__}: {error}".lower()
    return any(
        sign in words
        for sign in (
            "database is locked",
            "unique constraint",
            "duplicate key",
            "integrityerror",
            "deadlock",
            "database system is starting up",
            "not yet accepting connections",
        )
    )


def reply(worker: Worker, action: str, arguments: Plain) -> tuple[Any, str]:
    """Return (value, error) of one request; every failure becomes one line with the way out."""
    try:
        return worker.patiently(action, arguments), ""
    except TrackerError as error:
        return None, str(error)
    except Exception as error:  # whatever a store or a driver raises is reported, none is lost
        return None, explain(worker.location.shown, f"{type(error).__name__}: {error}")


def main() -> None:
    """Serve until the connection ends, that is until the command is over, however it ended."""
    # they are for the command, which then closes the sweep
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    warnings.simplefilter("ignore")
    # of MLflow, alembic and SQLAlchemy; failures come back as answers
    logging.disable(logging.CRITICAL)
    gc.disable()  # see Worker.writer
    line = Connection(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what a library starts must not read along
    try:
        worker = Worker(*line.recv())
        while True:
            line.send(reply(worker, *line.recv()))
    except (EOFError, OSError):
        # nothing is open but read-only connections; MLflow's own teardown takes a while
        os._exit(0)


if __name__ == "__main__":
    main()
