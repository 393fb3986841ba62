"""Write entries to a store and read runs back.  Runs where MLflow is loaded; everything here may
raise what MLflow raises.
"""

import contextlib
import json
import math
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from arboretum.api import ArboretumError, Facts, Plain, TrackerError, better, sure
from arboretum_mlflow.description import RUNNING, chosen, describe_sweep
from arboretum_mlflow.entry import MAX_TAG, METRICS, judged_by, listed, shorten
from arboretum_mlflow.location import Location
from arboretum_mlflow.model import read_tree
from arboretum_mlflow.model_files import model_files
from arboretum_mlflow.tables import KEY, OtherSchemaError, Tables, as_folder

NOTE = "mlflow.note.content"
WELCOME = "Decision trees grown by `arboretum run`; sweeps are the parents of their runs."
KIND = "mlflow.experimentKind"
# the UI opens on runs, not on traces of language models
EXPERIMENT_TAGS = {KIND: "custom_model_development", NOTE: WELCOME}
OWNER, FOLDER = "arboretum.owner", "arboretum.folder"
VIEW = "arboretum"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
# MLflow 3.17 asks the address, not the experiment's kind, how it shows a single run
TRAINING = "workflowType=machine_learning"
NAME = "attributes.`Run Name`"
NAME_WIDTH = 420  # names begin with what varies; MLflow gives them 190
SWEEPS = "tags.arboretum.role = 'sweep'"
PARAMETERS = ("dataset", "method", "seed")
"""What the list of runs shows besides name, time and metrics, under the address that ``arboretum
ui`` prints.
"""
MODEL = "model"  # the folder of a run's model: runs:/ID/model
NO_MODEL = "arboretum.no_model"  # tag of a run whose tree makes no model: why
BEST = "best"  # tag of the runs of a sweep's best setting
REPEATED = ("seed", "split.fold")  # in these the runs of one setting differ
LISTED = 50
"""The newest sweeps: the experiment's note names them, and what they vary and call best are
columns, too.
"""
VARIED = "arboretum.varied"
"""Tag of a sweep: the parameters that differ between its runs, as JSON."""
MOST_VARIED = 5
SHOWN_TOO = ("kept_", "verdicts_")
"""How the metrics begin that are columns where there are any: what a tuner or a pruner kept
(``kept_lam``), and how many cells and claims of a reproduction pass.
"""
NEWEST = 200
"""Runs that are looked at for such metrics."""
MAX_PARAMS = 100
MAX_METRICS = 500
SUMMARISED = 5000
"""Runs that the summary of a sweep looks at."""
RECORD = "record.json"
PAGE = 1000
"""Runs that one request lists."""
LARGEST_TEXT = 50_000_000
"""Bytes of an artifact that :meth:`Writer.fetch` reads as text; nothing of ours comes near."""


class Writer:
    """The store behind one tracker."""

    def __init__(self, location: Location, experiment: str) -> None:
        self.location = location
        self.experiment = experiment
        self.client = MlflowClient(location.uri)
        self._tables: Tables | Literal[False] | None = False  # not looked for yet

    @cached_property
    def experiment_id(self) -> str:
        """The experiment, made when something is first written."""
        name = self.experiment
        if (found := self.client.get_experiment_by_name(name)) is None:
            try:
                return self.client.create_experiment(
                    name, self.location.artifacts or None, EXPERIMENT_TAGS
                )
            except MlflowException:  # another process was faster
                if (found := self.client.get_experiment_by_name(name)) is None:
                    raise
        if found.lifecycle_stage != "active":
            msg = (
                f"experiment {name!r} was deleted in MLflow store {self.location.shown}; restore "
                "it "
            )
            msg += (
                f"(mlflow experiments restore -x {found.experiment_id}), or choose another with "
                "tracker.experiment=NAME"
            )
            raise TrackerError(msg)
        if KIND not in found.tags:  # somebody else made it
            self.client.set_experiment_tag(found.experiment_id, KIND, EXPERIMENT_TAGS[KIND])
        return found.experiment_id

    def page(self) -> str:
        """Return the address of the experiment's page; where nothing was ever kept, the list of
        experiments is the page.
        """
        found = self.client.get_experiment_by_name(self.experiment)
        if found is None:
            return "#/experiments"
        if VIEW_TAG not in found.tags:  # no sweep has ended yet
            self.renew_view()
        return self._page(f"viewStateShareKey={VIEW}")

    def renew_view(self, goal: str = METRICS[0]) -> None:
        """Keep the view of all runs on the experiment, as the UI's "share" button does, and the
        sweeps in its note.

        goal : of the sweep that has ended; the runs come in its order.  Columns are what the newest
            sweeps vary and call best besides the usual ones.  The note leads to the sweeps alone,
            since a long one fills the first page of all runs.

        short : metrics that every run that has them also has as a tag.
        """
        newest = self.client.search_runs(
            [self.experiment_id],
            SWEEPS,
            max_results=LISTED,
            order_by=["attributes.start_time DESC"],
        )
        runs = self.client.search_runs([self.experiment_id], max_results=NEWEST)
        varied = dict.fromkeys(
            name for run in newest for name in json.loads(run.data.tags.get(VARIED, "[]"))
        )
        parameters = dict.fromkeys((*list(varied)[:MOST_VARIED], *PARAMETERS))
        goals = [_goal(run) for run in newest if "goal" in run.data.params]
        metrics = list(dict.fromkeys((goal, *goals[:MOST_VARIED], *METRICS)))
        short = {
            name
            for name in metrics
            if all(name in run.data.tags for run in runs if name in run.data.metrics)
        }
        reported = [f"tags.`{name}`" if name in short else f"metrics.`{name}`" for name in metrics]
        further = sorted(
            {name for run in runs for name in run.data.metrics if name.startswith(SHOWN_TOO)}
        )
        first = [NAME, f"tags.`{BEST}`", *reported]
        columns = [f"attributes.`{name}`" for name in ("Created", "Duration")]
        columns += [
            *first[1:],
            *(f"params.`{name}`" for name in parameters),
            *(f"metrics.`{name}`" for name in further),
        ]
        state: Facts = {
            "selectedColumns": columns,
            "columnOrder": first,
            "columnWidths": {NAME: NAME_WIDTH},
        }
        state |= {
            "orderByKey": f"metrics.`{goal}`",
            "orderByAsc": not better(goal, 1.0, 0.0),
            **_first_charts(metrics),
        }
        self.client.set_experiment_tag(self.experiment_id, VIEW_TAG, json.dumps(state))
        self._list_sweeps(newest)

    def _page(self, query: str) -> str:
        return f"#/experiments/{self.experiment_id}/runs?{TRAINING}&{query}"

    def _list_sweeps(self, newest: Sequence[Run]) -> None:
        """Put links to the sweeps into the experiment's note, unless somebody wrote another one."""
        before = self.client.get_experiment(self.experiment_id).tags.get(NOTE, WELCOME)
        if not before.startswith(WELCOME) or not newest:
            return
        lines = [
            f"{WELCOME} [All sweeps]({self._page(f'searchFilter={quote(SWEEPS)}')}); the newest:",
            "",
        ]
        for run in newest:
            name = re.sub(r"([\\\[\]`*_<>])", r"\\\1", run.info.run_name)
            count = run.data.metrics.get("runs")
            reported = run.info.status.lower() + ("" if count is None else f", runs: {count:.0f}")
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.info.start_time / 1000))
            lines.append(
                f"- {when} "
                f"[{name}](#/experiments/{self.experiment_id}/runs/{run.info.run_id}?{TRAINING}): "
                f"{reported}"
            )
        while len("\n".join(lines)) > MAX_TAG:
            lines.pop()
        self.client.set_experiment_tag(self.experiment_id, NOTE, "\n".join(lines))

    # -- runs --------------------------------------------------------------------------------------

    def store(self, entry: Plain, model: str = "") -> str:
        """Write one entry (see :mod:`arboretum_mlflow.entry`) and return the run's id.

        model : the tree as JSON that is kept as a model, too; "": none.

        What is stored already is not stored again; what a killed process left half-written is
        completed.
        """
        return self.store_all([entry], [model])[0]

    def store_all(self, entries: Sequence[Plain], models: Sequence[str]) -> list[str]:
        """Write entries, each with its model as of :meth:`store`, in one transaction where nothing
        is stored of them yet; returns the runs' ids.
        """
        known = self._store_in_tables(entries, models) if self.tables is not None else {}
        return [
            known.get(i) or self._store_by_client(entry, model)
            for i, (entry, model) in enumerate(zip(entries, models, strict=True))
        ]

    def _store_by_client(self, entry: Plain, model: str) -> str:
        """Write an entry with MLflow's client, as far as it is not there; returns the run's id."""
        run = self._find(entry["key"])
        if run is not None and run.info.status == entry["status"]:
            self._move(run, entry["sweep"])
            return str(run.info.run_id)
        entry = _with_model(entry, model) if model else entry
        if run is not None:
            return self._write(run, entry)
        experiment = self.experiment_id
        tags = _tags_of(entry)
        with self._one_transaction():
            return self._write(
                self.client.create_run(experiment, entry["start"], tags, entry["name"]), entry
            )

    @property
    def tables(self) -> Tables | None:
        """The database's tables, None where a server holds it, or the client writes."""
        if self._tables is False:
            holds = hasattr(self.client._tracking_client.store, "ManagedSessionMaker")
            self._tables = Tables.of(self.client, self.experiment_id) if holds else None
        return self._tables or None

    def _store_in_tables(self, entries: Sequence[Plain], models: Sequence[str]) -> dict[int, str]:
        """Write what is not stored at all into the tables; returns place → id of the run.  Nothing
        where the tables are others than known.
        """
        tables = sure(self.tables)
        try:
            with self._one_transaction() as session:
                fresh: dict[int, Plain] = {}
                keys: set[str] = set()
                for i, (entry, model) in enumerate(zip(entries, models, strict=True)):
                    key = entry["key"]
                    if not key or not (key in keys or tables.find(session, key)):
                        fresh[i] = _with_model(entry, model) if model else entry
                        keys.add(key)
                runs = tables.write(session, [(one, _tags_of(one)) for one in fresh.values()])
                for run, one in zip(runs, fresh.values(), strict=True):
                    tables.keep_files(run, one["files"])
                return dict(zip(fresh, runs, strict=True))
        except OtherSchemaError:
            self._tables = None
            return {}
        except BaseException:
            tables.datasets.clear()  # what was inserted is undone
            raise

    def _write(self, run: Run, entry: Plain) -> str:
        """Write all of an entry into a run, and end it; returns its id."""
        self._write_files(run, entry["files"])
        series = [
            Metric(name, value, entry["start"] + at, at)
            for name, points in entry["series"].items()
            for at, value in points
        ]
        self._write_batch(run.info.run_id, entry["params"], entry["metrics"], entry["end"], series)
        if entry["dataset"]:
            dataset = DatasetInput(
                Dataset(**entry["dataset"]), [InputTag("mlflow.data.context", "training")]
            )
            self.client.log_inputs(run.info.run_id, [dataset])
        self.client.set_terminated(run.info.run_id, entry["status"], entry["end"])
        return str(run.info.run_id)

    @contextlib.contextmanager
    def _one_transaction(self) -> Iterator[Any]:
        """Let all that MLflow writes meanwhile be one transaction, where it holds a database
        itself.

        Its store opens 18 sessions to write a run, and reads the run again in each: that is half of
        the time (86 against 48 ms).  The block is handed its session, None of a server.
        """
        store = self.client._tracking_client.store
        managed = getattr(store, "ManagedSessionMaker", None)
        if managed is None:  # a server
            yield None
            return
        with managed(read_only=False) as session:

            @contextlib.contextmanager
            def joined(read_only: bool = True) -> Iterator[object]:
                yield session

            store.ManagedSessionMaker = joined
            try:
                yield session
            finally:
                store.ManagedSessionMaker = managed

    def _run(self, run_id: str) -> Run | None:
        """Return the run of that id, or None where the store has none."""
        try:
            return self.client.get_run(run_id)
        except MlflowException as error:
            if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                raise
            return None

    def _find(self, key: str) -> Run | None:
        """Return the run with that key, a finished one before one that runs; None where none is."""
        if not key:
            return None
        found = self.client.search_runs(
            [self.experiment_id], f"tags.arboretum.key = '{key}'", max_results=10
        )
        finished = [run for run in found if run.info.status != "RUNNING"]
        return next(iter(finished or found), None)

    def _move(self, run: Run, sweep: str) -> None:
        """Let a stored run follow its folder into the sweep that holds it now."""
        if sweep and run.data.tags.get("mlflow.parentRunId") != sweep:
            tags = [RunTag("mlflow.parentRunId", sweep), RunTag("arboretum.sweep", sweep)]
            self.client.log_batch(run.info.run_id, tags=tags)

    def _write_batch(
        self,
        run_id: str,
        params: Mapping[str, str],
        metrics: Mapping[str, float],
        when: int,
        series: Sequence[Metric] = (),
    ) -> None:
        """Parameters and metrics in one call, unless there are more than a call takes; of a
        series, the step is its millisecond.
        """
        values = [*(Metric(name, value, when, 0) for name, value in metrics.items()), *series]
        texts = [Param(name, value) for name, value in params.items()]
        while values or texts:
            self.client.log_batch(run_id, values[:MAX_METRICS], texts[:MAX_PARAMS])
            del values[:MAX_METRICS], texts[:MAX_PARAMS]

    def _write_files(self, run: Run, files: Mapping[str, str]) -> None:
        """Log files, text by name, as artifacts; raises TrackerError for a name that leaves the
        folder.
        """
        with as_folder(files) as folder:
            self.client.log_artifacts(run.info.run_id, folder)

    def fetch(self, run_id: str) -> dict[str, str]:
        """Artifact name → text, for the artifacts at the top level that are text."""
        if self._run(run_id) is None:
            msg = f"no run {run_id!r} in MLflow store {self.location.shown}; "
            raise TrackerError(msg + "give a run's id (arboretum ui shows them) or a run folder")
        texts = {}
        for item in self.client.list_artifacts(run_id):
            if item.is_dir or (item.file_size or 0) > LARGEST_TEXT:
                continue
            with tempfile.TemporaryDirectory() as made:
                raw = Path(self.client.download_artifacts(run_id, item.path, made)).read_bytes()
            try:
                texts[item.path] = raw.decode("utf-8")
            except UnicodeDecodeError:  # a picture: not one of the texts asked for
                continue
        return texts

    # -- sweeps ------------------------------------------------------------------------------------

    def open_sweep(
        self, name: str, tags: Mapping[str, str], files: Mapping[str, str], seconds: float = 0.0
    ) -> str:
        """Create the parent of a multirun; one that this very command has opened there, and was not
        told of since the store went away, is gone on with.

        seconds : how long ago it began.
        """
        mine = tags.get(OWNER), tags.get(FOLDER)
        for one in self.open_sweeps() if all(mine) else ():
            if (one["owner"], one["folder"]) == mine:
                return self.reopen_sweep(one["id"], name, tags, files)
        start = int(1000 * (time.time() - seconds))
        run = self.client.create_run(self.experiment_id, start, dict(tags), name)
        self.client.set_tag(run.info.run_id, "arboretum.sweep", run.info.run_id)
        self._write_files(run, files)
        return str(run.info.run_id)

    def reopen_sweep(
        self, sweep_id: str, name: str, tags: Mapping[str, str], files: Mapping[str, str]
    ) -> str:
        """Let a parent run again, under another name; "" when it is gone."""
        run = self._run(sweep_id)
        if (
            run is None
            or run.info.lifecycle_stage != "active"
            or run.info.experiment_id != self.experiment_id
        ):
            return ""
        self.client.update_run(sweep_id, "RUNNING", name)
        said = {**tags, "arboretum.sweep": sweep_id}
        self.client.log_batch(sweep_id, tags=[RunTag(key, value) for key, value in said.items()])
        self._write_files(run, files)
        return sweep_id

    def open_sweeps(self) -> list[dict[str, str]]:
        """Return the parents that nobody closed."""
        if self.client.get_experiment_by_name(self.experiment) is None:
            return []
        filtered = f"attributes.status = 'RUNNING' and {SWEEPS}"
        found = self.client.search_runs([self.experiment_id], filtered)
        reported = {"owner": OWNER, "folder": FOLDER}
        return [
            {
                "id": r.info.run_id,
                **{name: r.data.tags.get(tag, "") for name, tag in reported.items()},
            }
            for r in found
        ]

    def runs(self) -> list[Facts]:
        """Return all runs of the experiment but parents of sweeps, the newest first."""
        return [
            {
                "id": r.info.run_id,
                "name": r.info.run_name,
                "status": r.info.status,
                "sweep": r.data.tags.get("mlflow.parentRunId", ""),
                "start": r.info.start_time / 1000,
                "params": dict(r.data.params),
                "metrics": dict(r.data.metrics),
            }
            for r in self._all_runs()
            if r.data.tags.get("arboretum.role") != "sweep"
        ]

    def _all_runs(self, filtered: str = "") -> Iterator[Run]:
        """Yield the runs of the experiment that a filter keeps, the newest first."""
        if (experiment := self.client.get_experiment_by_name(self.experiment)) is None:
            return
        token: str | None = None
        while token != "":
            batch = self.client.search_runs(
                [experiment.experiment_id],
                filtered,
                max_results=PAGE,
                order_by=["attributes.start_time DESC"],
                page_token=token,
            )
            yield from batch
            token = batch.token or ""

    def records(self) -> dict[str, str]:
        """Return id → record.json of the finished runs, the oldest first; "" of a run whose file
        cannot be read.
        """
        kept = "attributes.status = 'FINISHED' and tags.arboretum.role = 'run'"
        texts = {}
        for run in reversed(list(self._all_runs(kept))):
            try:
                text = self._record_of(run)
            except (MlflowException, OSError, UnicodeDecodeError):
                text = ""  # who reads it says which run it is
            texts[str(run.info.run_id)] = text
        return texts

    def _record_of(self, run: Run) -> str:
        """Return a run's record.json; raises MlflowException or OSError where it has none."""
        if (scheme := urlsplit(run.info.artifact_uri or "").scheme) in ("", "file"):
            path = urlsplit(run.info.artifact_uri).path if scheme else run.info.artifact_uri
            return Path(unquote(path) if scheme else path, RECORD).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as made:
            found = self.client.download_artifacts(run.info.run_id, RECORD, made)
            return Path(found).read_text(encoding="utf-8")

    def annotate(self, sweep_id: str, text: str, files: Mapping[str, str]) -> None:
        """Files on the parent of a sweep, and the words that its description begins with; a
        single picture is shown there.
        """
        run = self.client.get_run(sweep_id)
        self._write_files(run, files)
        pictures = [name for name in files if name.endswith(".svg")]
        if text and len(pictures) == 1:
            text += f"\n\n![{pictures[0]}](get-artifact?path={pictures[0]}&run_uuid={sweep_id})"
        if text:
            self.client.set_tag(sweep_id, NOTE, shorten(text, MAX_TAG))

    def close_sweep(self, sweep_id: str, best: Mapping[str, float], status: str) -> None:
        """Put the best metrics on the parent and end it; then the parameters that its runs share,
        and a summary.

        Reading the runs back takes 3 s per 1,000, so what must not be lost comes first.
        """
        run = self.client.get_run(sweep_id)
        now = max(int(1000 * time.time()), run.info.start_time)  # a clock may have been set back
        self._write_batch(sweep_id, {}, best, now)
        self.client.set_terminated(sweep_id, status, now)
        filtered, order = f"tags.mlflow.parentRunId = '{sweep_id}'", ["attributes.start_time ASC"]
        children = self.client.search_runs(
            [self.experiment_id], filtered, max_results=SUMMARISED, order_by=order
        )
        common, varied = _compare([run.data.params for run in children])
        counts = {
            "runs": float(len(children)),
            "runs_failed": float(sum(r.info.status == "FAILED" for r in children)),
        }
        known = run.data.params  # a parent that went on has some
        stale = sorted(name for name in known if common.get(name) != known[name])
        if stale and self._remove_params(sweep_id, stale):
            known, stale = {name: value for name, value in known.items() if name not in stale}, []
        self._write_batch(
            sweep_id,
            {name: value for name, value in common.items() if name not in known},
            counts,
            now,
        )
        self._tag_best_runs(children)
        shown = [
            {
                "name": r.info.run_name,
                "status": r.info.status,
                "metrics": r.data.metrics,
                "dataset": r.data.params.get("dataset", ""),
            }
            for r in children
        ]
        said = self.client.get_run(sweep_id).data.tags.get(NOTE, RUNNING)
        summary = describe_sweep(best, shown, varied, said == RUNNING)
        text = summary if said == RUNNING else f"{said}\n\n{summary}"
        if stale:
            text += (
                "\n\nSince this sweep went on, these parameters are no longer those of all "
                f"runs: {', '.join(stale)}."
            )
        tags = {
            NOTE: text,
            VARIED: json.dumps(
                [name for name in chosen(varied) if name not in PARAMETERS][:MOST_VARIED]
            ),
        }
        tags |= listed(best, common.get("goal", ""))
        self.client.log_batch(
            sweep_id, tags=[RunTag(name, shorten(value, MAX_TAG)) for name, value in tags.items()]
        )
        self.renew_view(judged_by(common.get("goal", ""), best))

    def _remove_params(self, run_id: str, names: Sequence[str]) -> bool:
        """Take parameters off a run of ours, which MLflow has no call for; False where a server
        holds the store.
        """
        managed = getattr(self.client._tracking_client.store, "ManagedSessionMaker", None)
        if managed is None:
            return False
        from mlflow.store.tracking.dbmodels.models import SqlParam

        with managed(read_only=False) as session:
            found = session.query(SqlParam).filter(
                SqlParam.run_uuid == run_id, SqlParam.key.in_(names)
            )
            found.delete(synchronize_session=False)
        return True

    def _tag_best_runs(self, children: Sequence[Run]) -> None:
        """Set the tag BEST on the runs of each data set's best setting, and take it off the sweep's
        other runs; a run that is tagged rightly costs no call.
        """
        marked = best_of(children)
        for run in children:
            if run.info.run_id in marked and BEST not in run.data.tags:
                self.client.set_tag(run.info.run_id, BEST, BEST)
            elif run.info.run_id not in marked and BEST in run.data.tags:
                self.client.delete_tag(run.info.run_id, BEST)


def _tags_of(entry: Plain) -> dict[str, str]:
    """Return the tags of a new run: an entry's, and its key."""
    return {**entry["tags"], **({KEY: entry["key"]} if entry["key"] else {})}


def _with_model(entry: Plain, tree: str) -> Plain:
    """Return an entry with the files of a model; where the tree makes none, a tag says why."""
    try:
        files = model_files(read_tree(tree))
    except ArboretumError as error:
        return {**entry, "tags": {**entry["tags"], NO_MODEL: shorten(str(error), MAX_TAG)}}
    kept = {f"{MODEL}/{name}": text for name, text in files.items()}
    return {**entry, "files": {**entry["files"], **kept}}


def _goal(run: Run) -> str:
    """Return what a run, or the best setting of a sweep, is judged by."""
    return judged_by(run.data.params.get("goal", ""), run.data.metrics)


def best_of(runs: Sequence[Run]) -> set[str]:
    """Ids of the runs of each data set's best setting, by the mean of the goal over seeds and
    folds; none where there is one setting.
    """
    settings: dict[str, dict[tuple[tuple[str, str], ...], list[Run]]] = {}
    for run in runs:
        if _goal(run) in run.data.metrics:
            key = tuple(
                sorted(
                    (name, value) for name, value in run.data.params.items() if name not in REPEATED
                )
            )
            settings.setdefault(run.data.params.get("dataset", ""), {}).setdefault(key, []).append(
                run
            )
    found: set[str] = set()
    for several in (list(mine.values()) for mine in settings.values() if len(mine) > 1):
        goal = _goal(several[0][0])
        means = [
            math.fsum(run.data.metrics.get(goal, math.nan) for run in mine) / len(mine)
            for mine in several
        ]
        sign = -1.0 if better(goal, 1.0, 0.0) else 1.0
        best = min(
            range(len(means)),
            key=lambda i: (math.isnan(means[i]), sign * means[i], several[i][0].info.run_name),
        )
        found |= {run.info.run_id for run in several[best]}
    return found


def _first_charts(metrics: Sequence[str]) -> Facts:
    """Return the first charts of a view: what is judged, before all other metrics, which MLflow
    puts in the order of their names.
    """
    known = {"deleted": False, "isGenerated": True}
    names = {"arboretum-goal": "Goal", "arboretum-rest": "Model metrics"}
    sections = [
        {"uuid": uuid, "name": name, "display": True, "isReordered": True, **known}
        for uuid, name in names.items()
    ]
    bars = {"type": "BAR", "runsCountToCompare": 10, "metricSectionId": "arboretum-goal", **known}
    charts = [
        {**bars, "uuid": f"arboretum-{name}", "metricKey": name, "dataAccessKey": name}
        for name in metrics
    ]
    return {
        "compareRunSections": sections,
        "compareRunCharts": charts,
        "isAccordionReordered": True,
    }


def _compare(params: Sequence[Mapping[str, str]]) -> tuple[dict[str, str], dict[str, int]]:
    """Parameters with one value in all runs, and the number of values of those with several."""
    values = {
        name: [found[name] for found in params if name in found]
        for name in sorted(set().union(*params))
    }
    common = {
        name: found[0]
        for name, found in values.items()
        if len(found) == len(params) and len(set(found)) == 1
    }
    return common, {name: len(set(found)) for name, found in values.items() if len(set(found)) > 1}
