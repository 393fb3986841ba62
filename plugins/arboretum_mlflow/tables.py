"""Writes a run into MLflow's own tables, where it holds a database itself: a statement a table.

MLflow's client makes an object of every tag, parameter and metric, reads the run again for each
call, and asks after every name: 37 processor milliseconds a run, where these statements take a
fifth.  What a database then holds is what the client would have written; the first run that a
process writes is read back through the client, and where that says anything else (another MLflow,
another schema) the client writes all.
"""

from __future__ import annotations

import contextlib
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.tracking import MlflowClient
from mlflow.utils.file_utils import local_file_uri_to_path

from arboretum.api import Facts, Plain, TrackerError
from arboretum_mlflow.location import WAY_OUT

KEY = "arboretum.key"
NAME = "mlflow.runName"
CONTEXT = ("mlflow.data.context", "training")
ARTIFACTS = "artifacts"
TABLES = ("Run", "Tag", "Param", "Metric", "LatestMetric", "Dataset", "Input", "InputTag")
"""MLflow's, in the order in which rows are inserted: those that others point to first."""


def write_texts(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, text by name, into a folder; raises TrackerError for a name that leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise TrackerError(f"artifact name {name!r} leaves the run's folder; {WAY_OUT}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def as_folder(files: Mapping[str, str]) -> Iterator[str]:
    """Hold a temporary folder of files, as of :func:`write_texts`."""
    with tempfile.TemporaryDirectory() as made:
        write_texts(Path(made), files)
        yield made


class OtherSchemaError(MlflowException):
    """The store does not say what was written into its tables.  (One of MLflow's, since its
    sessions make every other one of their own.)
    """


@attrs.define(eq=False)
class Tables:
    """The tables of one experiment.

    rows : name of a table → SQLAlchemy's table.
    artifacts : folder or URI of the experiment's files.
    datasets : (name, digest) → id, of those that are known.
    checked : a run was read back and was as written.
    """

    client: MlflowClient
    experiment: str
    artifacts: str
    rows: Mapping[str, Any]
    datasets: dict[tuple[str, str], str] = attrs.field(factory=dict)
    checked: bool = False

    @staticmethod
    def of(client: MlflowClient, experiment: str) -> Tables | None:
        """Return the tables of an experiment; None where they are not as known."""
        try:
            from mlflow.store.tracking.dbmodels import models

            rows = {name: getattr(models, f"Sql{name}").__table__ for name in TABLES}
        except (ImportError, AttributeError):
            return None
        location = client.get_experiment(experiment).artifact_location
        return Tables(client, experiment, location, rows)

    def find(self, session: Any, key: str) -> bool:
        """Whether a run of that key is stored."""
        from sqlalchemy import select

        tags = self.rows["Tag"].c
        asked = select(tags.run_uuid).where(tags.key == KEY, tags.value == key).limit(1)
        return session.execute(asked).first() is not None

    def write(self, session: Any, entries: Sequence[tuple[Plain, Mapping[str, str]]]) -> list[str]:
        """Write runs that are not stored yet, without their files; returns their ids.

        entries : entry, and its tags but for the name.

        Raises OtherSchemaError where the first is not read back as written.
        """
        rows: dict[str, list[Facts]] = {name: [] for name in TABLES}
        runs = [self._add_rows(session, entry, tags, rows) for entry, tags in entries]
        for table, found in rows.items():
            if found:
                session.execute(self.rows[table].insert(), found)
        if runs and not self.checked:
            self._check(runs[0], *entries[0])
        return runs

    def _add_rows(
        self, session: Any, entry: Plain, tags: Mapping[str, str], rows: dict[str, list[Facts]]
    ) -> str:
        """Add the rows of a run to those of each table; returns its new id."""
        run = uuid.uuid4().hex
        info = {
            "run_uuid": run,
            "name": entry["name"],
            "artifact_uri": self.files_of(run),
            "experiment_id": int(self.experiment),
            "source_type": "UNKNOWN",
            "source_name": "",
            "entry_point_name": "",
            "user_id": tags.get("mlflow.user", "unknown"),
            "status": entry["status"],
            "start_time": entry["start"],
            "end_time": entry["end"],
            "deleted_time": None,
            "source_version": "",
            "lifecycle_stage": "active",
        }
        last, points = _metrics_of(entry)
        rows["Run"].append(info)
        rows["Tag"] += _pairs(run, {**tags, NAME: entry["name"]})
        rows["Param"] += _pairs(run, entry["params"])
        rows["Metric"] += [{"run_uuid": run, **point} for point in points]
        rows["LatestMetric"] += [{"run_uuid": run, **point} for point in last]
        if entry["dataset"]:
            edge, (name, value) = uuid.uuid4().hex, CONTEXT
            ends = {"source_type": "DATASET", "destination_type": "RUN", "destination_id": run}
            ends["source_id"] = self._find_dataset(session, entry["dataset"], rows)
            rows["Input"].append({"input_uuid": edge, **ends})
            rows["InputTag"].append({"input_uuid": edge, "name": name, "value": value})
        return run

    def files_of(self, run: str) -> str:
        """Return the folder or URI of a run's files."""
        return f"{self.artifacts.rstrip('/')}/{run}/{ARTIFACTS}"

    def keep_files(self, run: str, files: Mapping[str, str]) -> None:
        """Keep files, text by name, as a run's artifacts; a folder of this machine takes them as
        they are.
        """
        where = self.files_of(run)
        if not where.startswith("file://") and "://" in where:
            with as_folder(files) as folder:
                get_artifact_repository(where).log_artifacts(folder)
            return
        write_texts(Path(local_file_uri_to_path(where)), files)

    def _find_dataset(self, session: Any, dataset: Plain, rows: dict[str, list[Facts]]) -> str:
        """Return the id of a data set, whose row is added where the experiment has it not yet."""
        from sqlalchemy import select

        key = str(dataset["name"]), str(dataset["digest"])
        if key not in self.datasets:
            known = self.rows["Dataset"].c
            asked = select(known.dataset_uuid).where(
                known.experiment_id == int(self.experiment),
                known.name == key[0],
                known.digest == key[1],
            )
            found = session.execute(asked).scalar()
            self.datasets[key] = found or uuid.uuid4().hex
            if found is None:
                fields = {
                    "dataset_uuid": self.datasets[key],
                    "experiment_id": int(self.experiment),
                    "name": key[0],
                    "digest": key[1],
                    "dataset_source_type": dataset["source_type"],
                    "dataset_source": dataset["source"],
                    "dataset_schema": dataset["schema"],
                    "dataset_profile": dataset["profile"],
                }
                rows["Dataset"].append(fields)
        return self.datasets[key]

    def _check(self, run: str, entry: Plain, tags: Mapping[str, str]) -> None:
        """Read a run back through the client.  Raises OtherSchemaError."""
        try:
            found = self.client.get_run(run)
        except MlflowException as error:
            raise OtherSchemaError(str(error)) from error
        last, _ = _metrics_of(entry)
        inputs = found.inputs.dataset_inputs if found.inputs else []
        digests = [one.dataset.digest for one in inputs]
        pairs = (
            (found.data.tags, {**tags, NAME: entry["name"]}),
            (found.data.params, dict(entry["params"])),
            (found.data.metrics, {point["key"]: point["value"] for point in last}),
            (found.info.status, entry["status"]),
            ((found.info.start_time, found.info.end_time), (entry["start"], entry["end"])),
            (found.info.artifact_uri, self.files_of(run)),
            (digests, [entry["dataset"]["digest"]] if entry["dataset"] else []),
        )
        for here, there in pairs:
            if here != there:
                raise OtherSchemaError(f"{here!r} was read, and {there!r} written")
        self.checked = True


def _pairs(run: str, values: Mapping[str, str]) -> list[Facts]:
    """Return rows of a table of names and values."""
    return [{"run_uuid": run, "key": key, "value": value} for key, value in values.items()]


def _metrics_of(entry: Plain) -> tuple[list[Facts], list[Facts]]:
    """Return the rows of the last value of each metric, and of all values; of a series, the step is
    its millisecond.
    """
    last = {
        name: {"key": name, "value": value, "timestamp": entry["end"], "step": 0, "is_nan": False}
        for name, value in entry["metrics"].items()
    }
    points = list(last.values())
    for name, series in entry["series"].items():
        steps = {
            at: {
                "key": name,
                "value": value,
                "timestamp": entry["start"] + at,
                "step": at,
                "is_nan": False,
            }
            for at, value in series
        }
        points += steps.values()
        last[name] = steps[max(steps)]
    return list(last.values()), points
