"""The component: which store, and what is asked of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from arboretum.api import Plain, Record, RunInfo, TrackerError, param
from arboretum_mlflow import entry
from arboretum_mlflow.location import LONG, Location, locate

if TYPE_CHECKING:
    from arboretum_mlflow.client import Client


@attrs.frozen
class MLflowTracker:
    """Keep records in MLflow: a local SQLite file, a database, or a server, told apart by the URI
    alone.

    MLflow lives in a process of its own (see :mod:`arboretum_mlflow.worker`), so nothing here waits
    longer than ``timeout`` and nothing here loads MLflow.  Every method raises TrackerError: one
    line with the way out.
    """

    kind = "tracker"
    name = "mlflow"
    paper = ""
    capabilities = ()

    uri: str = param(
        "sqlite:///mlflow.db", "tracking URI: sqlite:///FILE, postgresql://…, http(s)://SERVER"
    )
    experiment: str = param("arboretum", "MLflow experiment that the runs belong to")
    artifacts: str = param(
        "",
        "folder or URI for the files of a new experiment; default: mlruns beside the SQLite file",
    )
    timeout: float = param(
        30.0, "a store that has not answered by then counts as failed", gt=0.0, unit="seconds"
    )

    model: bool = param(
        False,
        "also keep each run's tree as a model (runs:/ID/model) that mlflow.pyfunc loads and mlflow "
        "models serve serves",
    )

    def __attrs_post_init__(self) -> None:
        try:
            locate(self.uri, self.experiment, self.artifacts)
        except TrackerError as error:
            # known before any work: a configuration that is wrong, no store in trouble
            raise ValueError(str(error)) from None

    @cached_property
    def location(self) -> Location:
        """Where the store is; relative paths are read when first used."""
        return locate(self.uri, self.experiment, self.artifacts)

    @cached_property
    def _courier(self) -> Client:
        # components are listed at every start, so what only use needs is loaded then
        from arboretum_mlflow.client import Client

        return Client(self.location, self.experiment, self.timeout)

    def prepare(self) -> None:
        """Make the store ready; safe for several processes at once.  Answers in milliseconds
        once it has been made.
        """
        from arboretum_mlflow.schema import is_ready

        if is_ready(self.location, self.timeout):
            self.warm()
        else:
            self._courier.ask("prepare", patience=LONG)

    def check_readable(self) -> None:
        """Make sure that there is something to read; makes no store."""
        from arboretum_mlflow.schema import is_readable

        if not is_readable(self.location, self.timeout):
            self._courier.ask("upgrade", patience=LONG)

    def warm(self) -> None:
        """Load MLflow and open the store in the background, while the run does its work."""
        self._courier.start("open")

    def open_sweep(self, name: str, config: Plain) -> str:
        """Open the parent of a multirun and return its id; the configuration is its artifact
        ``sweep.json``.
        """
        took = config.get("seconds")
        seconds = (
            float(took)
            if type(took) in (int, float) and took is not None and 0.0 <= took < math.inf
            else 0.0
        )
        asked = {**entry.sweep(name, config), "seconds": seconds}
        return str(self._courier.ask("open_sweep", asked))

    def reopen_sweep(self, sweep_id: str, name: str, config: Plain) -> str:
        """Go on with a parent under the name and configuration of now; returns its id, "" when
        it is gone.
        """
        asked = {"sweep_id": sweep_id, **entry.sweep(name, config)}
        return str(self._courier.ask("reopen_sweep", asked))

    def open_sweeps(self) -> list[Mapping[str, str]]:
        """Return the parents that nobody closed: id, owner, folder.  Makes no store; raises
        TrackerError where there is none.
        """
        self.check_readable()
        # the first request waits for MLflow to load
        found: list[Mapping[str, str]] = self._courier.ask("open_sweeps", patience=LONG)
        return found

    def annotate(self, sweep_id: str, text: str, files: Mapping[str, str]) -> None:
        """Put words (Markdown) first on the page of an open sweep, and files among its
        artifacts.
        """
        self._courier.ask("annotate", {"sweep_id": sweep_id, "text": text, "files": dict(files)})

    def store(self, run: RunInfo, record: Record, files: Mapping[str, str]) -> str:
        """Keep one finished run and return its id; the same fingerprint in the same folder is
        kept once.
        """
        return self.store_all([(run, record, files)])[0]

    def store_all(self, runs: Sequence[tuple[RunInfo, Record, Mapping[str, str]]]) -> list[str]:
        """Keep finished runs, all at once or none, and return their ids."""
        asked = {
            "entries": [entry.finished(*one) for one in runs],
            "models": [files.get("tree.json", "") if self.model else "" for *_, files in runs],
        }
        return [str(one) for one in self._courier.ask("store_all", asked)]

    def store_failure(self, run: RunInfo, error: str) -> str:
        """Keep one failed run as FAILED with its error as tag, description and artifact
        ``error.txt``.
        """
        return str(self._courier.ask("store", {"entry": entry.failed(run, error)}))

    def close_sweep(self, sweep_id: str, best: Mapping[str, float], status: str) -> None:
        """End the parent (FINISHED, FAILED or KILLED) with the best metrics, and the parameters
        all its runs share.
        """
        finite, _ = entry.finite_only(best)  # those left out are named on the runs themselves
        self._courier.ask(
            "close_sweep", {"sweep_id": sweep_id, "best": finite, "status": status}, patience=LONG
        )

    def fetch(self, run_id: str) -> Mapping[str, str]:
        """Artifact name → text of a stored run.  Raises TrackerError when there is none, or no
        store.
        """
        self.check_readable()
        texts: Mapping[str, str] = self._courier.ask("fetch", {"run_id": run_id})
        return texts

    def runs(self) -> list[Plain]:
        """Return the runs of the experiment without their files, the newest first; [] where it is
        not there.  Makes no store.
        """
        self.check_readable()
        found: list[Plain] = self._courier.ask("runs", patience=LONG)
        return found

    def records(self) -> Mapping[str, str]:
        """Return id → record.json of the finished runs of the experiment; {} where it is not there.
        Makes no store.
        """
        self.check_readable()
        texts: Mapping[str, str] = self._courier.ask("records", patience=LONG)
        return texts

    def close(self) -> None:
        """End the process that holds MLflow; it is started again when needed.  (It also ends
        with the command.)
        """
        self._courier.close()

    def serve(self, host: str = "127.0.0.1", port: int = 5000) -> None:
        """Serve the store's UI in the foreground until Ctrl-C; prints its address once it
        answers.  Makes no store.
        """
        from arboretum_mlflow.server import serve

        self.check_readable()
        page = self._courier.ask("page", patience=LONG)
        self.close()
        serve(self.location, page, host, port)
