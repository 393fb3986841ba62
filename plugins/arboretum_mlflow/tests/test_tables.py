"""Runs are written into a store's tables at once, as MLflow's client would have written them."""

from __future__ import annotations

from pathlib import Path

import pytest

from arboretum.testing.suites.tracker import sample_record, sample_run
from arboretum_mlflow import entry
from arboretum_mlflow.location import locate
from arboretum_mlflow.tables import Tables


@pytest.mark.filterwarnings("ignore:The ``noload`` loader")  # MLflow's own
def test_a_run_is_written_in_one_transaction(fresh_store, tmp_path, monkeypatch):
    import sqlalchemy

    from arboretum_mlflow.writer import Writer

    writer, commits = Writer(locate(fresh_store, "arboretum", ""), "arboretum"), []
    note = commits.append
    entries = [
        entry.finished(sample_run(tmp_path / name), sample_record(), {"tree.txt": "x"})
        for name in "abc"
    ]
    writer.store(entries[0])
    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "commit", note)
    try:
        writer.store(entries[1])
    finally:
        sqlalchemy.event.remove(sqlalchemy.engine.Engine, "commit", note)
    # one asks whether it is there; MLflow itself commits once after the metrics
    assert len(commits) <= 3
    monkeypatch.setattr(Tables, "keep_files", lambda *arguments: 1 / 0)
    with pytest.raises(Exception, match="division"):
        writer.store(entries[2])
    assert writer._find(entries[2]["key"]) is None, "whole or not at all"
    monkeypatch.undo()
    assert writer.store(entries[2]) and writer._find(entries[2]["key"]).info.status == "FINISHED"


def test_the_client_writes_a_run_in_one_transaction_too(fresh_store, tmp_path, monkeypatch):
    from arboretum_mlflow.writer import Writer

    writer = Writer(locate(fresh_store, "arboretum", ""), "arboretum")
    monkeypatch.setattr(Writer, "tables", None)
    made = entry.finished(sample_run(tmp_path), sample_record(), {"tree.txt": "x"})
    monkeypatch.setattr(writer.client, "log_inputs", lambda *arguments: 1 / 0)
    with pytest.raises(Exception, match="division"):
        writer.store(made)
    assert writer._find(made["key"]).info.status == "RUNNING"


def test_tables_hold_what_the_client_would_have_written(fresh_store, tmp_path, monkeypatch):
    from arboretum_mlflow.writer import Writer

    made = entry.finished(sample_run(tmp_path), sample_record(), {"tree.txt": "x"})
    made = {**made, "key": "", "series": {"search.value": [(1, 3.0), (7, 2.0)]}}
    written = []
    for by_client in (False, True):
        writer = Writer(locate(fresh_store, "arboretum", ""), "arboretum")
        if by_client:
            monkeypatch.setattr(Writer, "tables", None)
        run = writer.client.get_run(writer.store(made))
        path = writer.client.download_artifacts(run.info.run_id, "tree.txt", str(tmp_path))
        history = writer.client.get_metric_history(run.info.run_id, "search.value")
        written.append(
            (
                run.data.to_dictionary(),
                [one.dataset.to_dictionary() for one in run.inputs.dataset_inputs],
                [(tag.key, tag.value) for one in run.inputs.dataset_inputs for tag in one.tags],
                (run.info.status, run.info.start_time, run.info.end_time, run.info.run_name),
                (run.info.user_id, run.info.lifecycle_stage, run.info.experiment_id),
                [(one.value, one.timestamp, one.step) for one in history],
                Path(path).read_text(),
            )
        )
    assert written[0] == written[1]


def test_many_runs_are_written_at_once_or_not_at_all(fresh_store, tmp_path, monkeypatch):
    from arboretum_mlflow.writer import Writer

    writer = Writer(locate(fresh_store, "arboretum", ""), "arboretum")
    made = [
        entry.finished(sample_run(tmp_path / name), sample_record(), {"tree.txt": name})
        for name in "abc"
    ]
    first = writer.store(made[1])
    monkeypatch.setattr(Tables, "keep_files", lambda *arguments: 1 / 0)
    with pytest.raises(Exception, match="division"):
        writer.store_all(made, [""] * 3)
    monkeypatch.undo()
    assert len(writer.client.search_runs([writer.experiment_id])) == 1
    ids = writer.store_all([*made, made[0]], [""] * 4)
    assert ids[1] == first and ids[3] == ids[0] and len(set(ids)) == 3
    assert writer.store_all(made, [""] * 3) == ids[:3]
    assert len(writer.client.search_runs([writer.experiment_id])) == 3


def test_where_tables_are_others_than_known_the_client_writes(fresh_store, tmp_path, monkeypatch):
    from arboretum_mlflow.writer import Writer

    writer = Writer(locate(fresh_store, "arboretum", ""), "arboretum")
    monkeypatch.setattr(Tables, "_find_dataset", lambda *arguments: "of another experiment")
    entries = [
        entry.finished(sample_run(tmp_path / name), sample_record(), {"tree.txt": "x"})
        for name in "ab"
    ]
    for made in entries:
        run = writer.client.get_run(writer.store(made))
        assert run.info.status == "FINISHED" and len(run.inputs.dataset_inputs) == 1
    assert writer.tables is None
    assert len(writer.client.search_runs([writer.experiment_id])) == 2, "what was amiss is undone"
