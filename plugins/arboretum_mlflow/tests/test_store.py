"""What lies in the store after a run: asked of the database itself, past MLflow."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
from urllib.parse import urlsplit

import attrs
import pytest

from arboretum.api import Certificate, Certified, Checked, RunInfo, Solution, Status, TrackerError
from arboretum.cli.main import main
from arboretum.testing.suites.tracker import sample_files, sample_record, sample_run
from arboretum_mlflow import entry
from arboretum_mlflow.tracker import MLflowTracker


def store(tracker, folder, record=None, sweep=""):
    record = record or sample_record()
    return tracker.store(
        attrs.evolve(sample_run(folder), sweep_id=sweep), record, sample_files(record)
    )


def tags_of(query, run_id) -> dict[str, str]:
    return dict(query("SELECT key, value FROM tags WHERE run_uuid = ?", run_id))


def params_of(query, run_id) -> dict[str, str]:
    return dict(query("SELECT key, value FROM params WHERE run_uuid = ?", run_id))


def metrics_of(query, run_id) -> dict[str, float]:
    return dict(query("SELECT key, value FROM metrics WHERE run_uuid = ?", run_id))


def test_a_run_has_its_name_its_end_and_the_time_it_took(mlflow_tracker, query, tmp_path):
    (tmp_path / "record.json").write_text("{}")
    os.utime(tmp_path / "record.json", (1_700_000_000, 1_700_000_000))  # sent later than it ran
    run_id = store(mlflow_tracker, tmp_path)
    row = query("SELECT name, status, start_time, end_time FROM runs WHERE run_uuid = ?", run_id)
    seconds = math.fsum(sample_record().timings.values())
    assert row == [
        ("cart iris seed=0", "FINISHED", 1_700_000_000_000 - int(1000 * seconds), 1_700_000_000_000)
    ]


def test_parameters_are_the_chosen_names_and_every_field(mlflow_tracker, query, tmp_path):
    found = params_of(query, store(mlflow_tracker, tmp_path))
    assert found == {
        "dataset": "iris",
        "method": "cart",
        "criterion": "reduction",
        "stopping": "standard",
        "seed": "0",
        "criterion.lam": "10.0",
        "stopping.standard.max_depth": "3",
        "stopping.standard.min_leaf": "1",
    }


def test_metrics_hold_the_results_the_times_and_the_proof(mlflow_tracker, query, tmp_path):
    curve = ((0.1, 0.0, math.inf), (0.25, 0.25, 0.75), (1.5, 0.25, 0.5))
    record = sample_record(solution=Solution(None, 0.5, 0.25, Status.feasible, 77, curve=curve))
    run_id = store(mlflow_tracker, tmp_path, record)
    expected = dict(record.metrics)
    expected |= {f"time_{name}": seconds for name, seconds in record.timings.items()}
    expected["time_total"] = math.fsum(record.timings.values())
    expected |= {
        "solution.value": 0.5,
        "solution.lower_bound": 0.25,
        "solution.gap": 0.25,
        "solution.subproblems": 77,
    }
    assert metrics_of(query, run_id) == expected | {"search.lower_bound": 0.25, "search.value": 0.5}
    series = query(
        "SELECT key, step, value FROM metrics WHERE run_uuid = ? AND key LIKE 'search.%' "
        "ORDER BY key, step",
        run_id,
    )
    assert [tuple(point) for point in series] == [
        ("search.lower_bound", 100, 0.0),
        ("search.lower_bound", 250, 0.25),
        ("search.lower_bound", 1500, 0.25),
        ("search.value", 250, 0.75),
        ("search.value", 1500, 0.5),
    ]
    assert tags_of(query, run_id)["arboretum.solution"] == "feasible"
    assert "arboretum.solution.checked" not in tags_of(query, run_id)


@pytest.mark.parametrize("checked", Checked)
def test_whose_word_a_value_is_stands_in_a_tag_and_in_the_description(
    mlflow_tracker, query, tmp_path, checked
):
    run_id = store(
        mlflow_tracker,
        tmp_path,
        sample_record(solution=Solution(None, 0.5, 0.5, Status.optimal, checked=checked)),
    )
    tags = tags_of(query, run_id)
    assert tags["arboretum.solution.checked"] == checked.value
    assert ("optimal (claimed): value 0.5, claimed gap 0" in tags["mlflow.note.content"]) == (
        checked is Checked.claimed
    )


def test_a_certificate_becomes_metrics_and_a_table_in_the_description(
    mlflow_tracker, query, tmp_path
):
    found = Certificate(
        {"name": "dp"},
        {"min_split": 0, "theta": 0.0, "delta": None},
        {
            "depth": Certified(3.0, 2.0, 2.0),
            "n_leaves": Certified(5.0, 4.0, 5.0),
            "max_cost": Certified(0.0, 0.0, 0.0),
        },
    )
    run_id = store(mlflow_tracker, tmp_path, sample_record(certificate=found))
    metrics = {k: v for k, v in metrics_of(query, run_id).items() if k.startswith("certificate.")}
    assert metrics == {
        **{
            "certificate.depth.ratio": 1.5,
            "certificate.depth.minimum": 2.0,
            "certificate.depth.lower_bound": 2.0,
        },
        **{"certificate.n_leaves.ratio_at_most": 1.25, "certificate.n_leaves.lower_bound": 4.0},
        **{"certificate.max_cost.minimum": 0.0, "certificate.max_cost.lower_bound": 0.0},
    }
    tags = tags_of(query, run_id)
    assert "arboretum.left_out" not in tags
    lines = tags["mlflow.note.content"].splitlines()
    assert "How far from the minimum, proven by dp:" in lines
    assert ["n_leaves", "5", "≥", "4", "≤", "1.250"] in [line.split() for line in lines]


def test_a_number_that_is_not_finite_is_left_out_and_noted(mlflow_tracker, query, tmp_path):
    run_id = store(
        mlflow_tracker,
        tmp_path,
        sample_record(metrics={"test_roc_auc": math.nan, "train_error": 0.5}),
    )
    found = metrics_of(query, run_id)
    assert "test_roc_auc" not in found
    assert found["train_error"] == 0.5
    assert tags_of(query, run_id)["arboretum.left_out"] == "test_roc_auc"
    assert "Not finite" in tags_of(query, run_id)["mlflow.note.content"]


def test_more_parameters_and_metrics_than_a_call_takes_all_arrive(mlflow_tracker, query, tmp_path):
    config = {"many": {f"field{i:03}": i for i in range(350)}}
    metrics = {f"error_{i:04}": i / 1000 for i in range(1200)}
    run_id = store(mlflow_tracker, tmp_path, sample_record(config=config, metrics=metrics))
    assert {k: v for k, v in params_of(query, run_id).items() if k != "seed"} == {
        f"many.field{i:03}": str(i) for i in range(350)
    }
    assert {
        k: v for k, v in metrics_of(query, run_id).items() if not k.startswith("time_")
    } == metrics


def test_tags_say_which_code_and_whose_plugins_made_it(mlflow_tracker, query, tmp_path):
    found = tags_of(query, store(mlflow_tracker, tmp_path))
    assert found["mlflow.source.git.commit"] == "a" * 40
    assert found["arboretum.version.arboretum"] == "0.1.0"
    assert found["arboretum.plugin.arboretum_classic"] == "arboretum 0.1.0"
    assert found["arboretum.fingerprint"] == "fingerprint-0"
    assert found["arboretum.verified"] == "true"
    assert found["arboretum.folder"] == str(tmp_path)
    assert "mlflow.parentRunId" not in found


def test_the_description_shows_the_quality_and_the_tree(mlflow_tracker, query, tmp_path):
    text = tags_of(query, store(mlflow_tracker, tmp_path))["mlflow.note.content"]
    assert "**iris**, verified" in text
    assert "error: train 0.01, valid 0.02" in text
    assert "valid   0.02" in text
    assert "petal width ≤ 0.8" in text


def test_the_data_set_is_an_input_with_its_content_hash(mlflow_tracker, query, tmp_path):
    run_id = store(mlflow_tracker, tmp_path)
    sql = """SELECT d.name, d.digest, d.dataset_source
             FROM datasets d JOIN inputs i ON i.source_id = d.dataset_uuid
             WHERE i.destination_id = ?"""
    sha256 = sample_record().data["sha256"]
    assert query(sql, run_id) == [
        ("iris", sha256[:36], json.dumps({"dataset": "iris", "sha256": sha256}))
    ]


def test_artifacts_are_plain_files_beside_the_store(mlflow_tracker, query, tmp_path):
    run_id = store(mlflow_tracker, tmp_path)
    ((uri,),) = query("SELECT artifact_uri FROM runs WHERE run_uuid = ?", run_id)
    assert (
        uri
        == (
            mlflow_tracker.location.database.parent / "mlruns" / "arboretum" / run_id / "artifacts"
        ).as_uri()
    )
    for name, text in sample_files(sample_record()).items():
        with open(f"{urlsplit(uri).path}/{name}", encoding="utf-8") as file:
            assert file.read() == text


def test_a_run_whose_record_is_gone_is_given_back_without_text(mlflow_tracker, query, tmp_path):
    run_id = store(mlflow_tracker, tmp_path)
    ((uri,),) = query("SELECT artifact_uri FROM runs WHERE run_uuid = ?", run_id)
    os.remove(f"{urlsplit(uri).path}/record.json")
    assert mlflow_tracker.records()[run_id] == ""


def test_an_artifact_cannot_leave_its_run_s_folder(mlflow_tracker, tmp_path):
    with pytest.raises(TrackerError, match="leaves the run's folder"):
        mlflow_tracker.store(sample_run(tmp_path), sample_record(), {"../../escape.txt": ""})
    assert not list(mlflow_tracker.location.database.parent.rglob("escape.txt"))


def test_a_failed_run_is_failed_and_says_why(mlflow_tracker, query, tmp_path):
    run = RunInfo("cart broken seed=2", {"choices": {"method": "cart"}, "seed": 2}, tmp_path)
    run_id = mlflow_tracker.store_failure(run, "DataError: one class\nsecond line")
    assert query("SELECT status FROM runs WHERE run_uuid = ?", run_id) == [("FAILED",)]
    assert tags_of(query, run_id)["arboretum.error"] == "DataError: one class"
    assert params_of(query, run_id) == {"method": "cart", "seed": "2"}
    assert mlflow_tracker.fetch(run_id) == {"error.txt": "DataError: one class\nsecond line"}


def test_a_half_written_run_is_completed_not_doubled(mlflow_tracker, query, tmp_path):
    """A process that was killed between creating a run and ending it leaves it RUNNING."""
    run_id = store(mlflow_tracker, tmp_path)
    with contextlib.closing(sqlite3.connect(mlflow_tracker.location.database)) as base, base:
        base.execute(
            "UPDATE runs SET status = 'RUNNING', end_time = NULL WHERE run_uuid = ?", (run_id,)
        )
        base.execute("DELETE FROM metrics WHERE run_uuid = ? AND key > 'n'", (run_id,))
        base.execute("DELETE FROM latest_metrics WHERE run_uuid = ? AND key > 'n'", (run_id,))
    assert store(mlflow_tracker, tmp_path) == run_id
    assert query("SELECT status FROM runs WHERE run_uuid = ?", run_id) == [("FINISHED",)]
    assert metrics_of(query, run_id)["valid_error"] == 0.02
    assert len(query("SELECT 1 FROM inputs WHERE destination_id = ?", run_id)) == 1


def test_children_name_their_parent_and_the_parent_shows_the_best_and_what_is_common(
    mlflow_tracker, query, tmp_path
):
    sweep = mlflow_tracker.open_sweep("iris: 2 runs", {"overrides": ["seed=0,1"]})
    children = []
    for seed in (0, 1):
        record = sample_record(seed)
        children.append(
            mlflow_tracker.store(
                sample_run(tmp_path / str(seed), seed, sweep), record, sample_files(record)
            )
        )
    mlflow_tracker.store_failure(
        RunInfo("bad", {"choices": {"method": "cart"}}, tmp_path / "2", sweep), "DataError: x"
    )
    mlflow_tracker.close_sweep(sweep, {"valid_error": 0.02, "undefined": math.inf}, "FINISHED")
    for child in children:
        assert tags_of(query, child)["mlflow.parentRunId"] == sweep
        assert tags_of(query, child)["arboretum.sweep"] == sweep
    assert query("SELECT name, status FROM runs WHERE run_uuid = ?", sweep) == [
        ("iris: 2 runs", "FINISHED")
    ]
    assert metrics_of(query, sweep) == {"valid_error": 0.02, "runs": 3.0, "runs_failed": 1.0}
    assert params_of(query, sweep) == {"method": "cart"}  # the failed run has no other
    text = tags_of(query, sweep)["mlflow.note.content"]
    assert "**3 runs**, 1 failed" in text
    assert "seed (2 values)" in text
    assert text.index("cart iris seed=0         0.02") < text.index(
        "cart iris seed=1         0.03"
    ), "best first"
    assert json.loads(mlflow_tracker.fetch(sweep)["sweep.json"]) == {"overrides": ["seed=0,1"]}


def test_kept_values_and_verdicts_are_columns_of_the_list_of_runs_and_of_a_sweeps_summary(
    fresh_store, tmp_path
):
    tracker = MLflowTracker(uri=fresh_store)

    def ask(sql, *values):
        with contextlib.closing(sqlite3.connect(tracker.location.database)) as base:
            return base.execute(sql, values).fetchall()

    sweep = tracker.open_sweep("tuned", {"overrides": ["seed=0,1"]})
    for seed, lam in ((0, 10.0), (1, 0.1)):
        record = sample_record(seed)
        record = attrs.evolve(record, metrics={**record.metrics, "kept_lam": lam})
        tracker.store(sample_run(tmp_path / str(seed), seed, sweep), record, sample_files(record))
    tracker.close_sweep(sweep, {"valid_error": 0.02}, "FINISHED")
    head, *lines = [
        line.split()
        for line in tags_of(ask, sweep)["mlflow.note.content"].splitlines()
        if "  " in line
    ]
    assert head[-1] == "kept_lam"
    assert {float(line[-1]) for line in lines} == {10.0, 0.1}
    tracker.close_sweep(
        tracker.open_sweep("reproduce coins", {}),
        {"verdicts_PASS": 3.0, "verdicts_FAIL": 0.0},
        "FINISHED",
    )
    try:
        tracker._courier.ask("page")
    finally:
        tracker.close()
    ((view,),) = ask(
        "SELECT value FROM experiment_tags WHERE key = 'mlflow.sharedViewState.arboretum'"
    )
    further = ["metrics.`kept_lam`", "metrics.`verdicts_FAIL`", "metrics.`verdicts_PASS`"]
    assert json.loads(view)["selectedColumns"][-3:] == further


def test_what_sweeps_vary_and_call_best_are_columns_and_older_sweeps_are_listed(
    fresh_store, tmp_path
):
    tracker = MLflowTracker(uri=fresh_store)
    sweeps = []
    try:
        for field in ("max_depth", "min_[leaf]"):
            sweeps.append(tracker.open_sweep(f"{field}=1,2", {}))
            for value in (1, 2):
                config = {
                    **sample_record().config,
                    "goal": "n_leaves",
                    "stopping": {"standard": {field: value}},
                }
                record = attrs.evolve(sample_record(value), config=config)
                tracker.store(
                    sample_run(tmp_path / field / str(value), value, sweeps[-1]),
                    record,
                    sample_files(record),
                )
            tracker.close_sweep(sweeps[-1], {"n_leaves": 3.0}, "FINISHED")
        page = tracker._courier.ask("page")
    finally:
        tracker.close()
    with contextlib.closing(sqlite3.connect(tracker.location.database)) as base:
        tags = dict(base.execute("SELECT key, value FROM experiment_tags").fetchall())
        child = "SELECT run_uuid FROM runs WHERE name LIKE 'cart%' LIMIT 1"
        names = base.execute(
            f"SELECT key FROM latest_metrics WHERE run_uuid = ({child}) ORDER BY rowid"
        ).fetchall()
    assert [name for (name,) in names][:3] == ["n_leaves", "valid_error", "train_error"], (
        "the goal, then the errors"
    )
    assert page.endswith("viewStateShareKey=arboretum")
    view = json.loads(tags["mlflow.sharedViewState.arboretum"])
    shown = view["selectedColumns"]
    assert (view["orderByKey"], view["orderByAsc"]) == ("metrics.`n_leaves`", True), (
        "the best first"
    )
    assert view["columnOrder"][:3] == ["attributes.`Run Name`", "tags.`best`", "tags.`n_leaves`"]
    assert [chart["metricKey"] for chart in view["compareRunCharts"]] == [
        "n_leaves",
        "valid_error",
        "test_error",
    ]
    swept = [f"params.`stopping.standard.{field}`" for field in ("max_depth", "min__leaf_")]
    assert {*swept, "tags.`n_leaves`"} <= set(shown)
    note = tags["mlflow.note.content"]
    assert (
        "searchFilter=tags.arboretum.role%20%3D%20%27sweep%27)" in note
        and f"/runs/{sweeps[0]}?workflowType=machine_learning): finished, runs: 2" in note
    )
    assert note.index(sweeps[1]) < note.index(sweeps[0]), "the newest first"
    assert r"[min\_\[leaf\]=1,2](" in note


def test_the_runs_of_the_best_setting_are_marked_and_numbers_shown_with_four_digits(
    mlflow_tracker, query, tmp_path
):
    sweep, ids = mlflow_tracker.open_sweep("depths", {}), {}

    def kept(depth, seed, error):
        config = {
            **sample_record().config,
            "goal": "valid_error",
            "stopping": {"standard": {"max_depth": depth}},
        }
        record = attrs.evolve(sample_record(seed), config=config)
        record = attrs.evolve(
            record, metrics={**record.metrics, "valid_error": error, "n_leaves": 123456.0}
        )
        run = attrs.evolve(
            sample_run(tmp_path / f"{depth}-{seed}", seed, sweep), fingerprint=f"{depth}-{seed}"
        )
        ids[depth, seed] = mlflow_tracker.store(run, record, sample_files(record))

    def marked():
        return {key for key, run_id in ids.items() if tags_of(query, run_id).get("best") == "best"}

    for depth, seed, error in ((1, 0, 0.0), (1, 1, 0.5), (2, 0, 1 / 7), (2, 1, 1 / 7)):
        kept(depth, seed, error)
    mlflow_tracker.close_sweep(sweep, {"valid_error": 1 / 7}, "FINISHED")
    assert marked() == {(2, 0), (2, 1)}, "the mean of a setting counts, not the luckiest run"
    shown = tags_of(query, ids[2, 0])
    assert (shown["valid_error"], shown["n_leaves"]) == ("0.1429", "123456")
    assert metrics_of(query, ids[2, 0])["valid_error"] == 1 / 7, "the number itself is whole"
    assert tags_of(query, sweep)["valid_error"] == "0.1429"
    mlflow_tracker.reopen_sweep(sweep, "depths", {})
    kept(3, 0, 0.125)
    mlflow_tracker.close_sweep(sweep, {"valid_error": 0.125}, "FINISHED")
    assert marked() == {(3, 0)}


def test_an_experiment_that_somebody_else_made_is_told_its_kind(fresh_store, tmp_path):
    tracker = MLflowTracker(uri=fresh_store, experiment="theirs")
    with contextlib.closing(sqlite3.connect(tracker.location.database)) as base, base:
        values = (7, "theirs", (tmp_path / "files").as_uri(), "active", 1, 1)
        columns = (
            "experiment_id, name, artifact_location, lifecycle_stage, creation_time, "
            "last_update_time"
        )
        base.execute(f"INSERT INTO experiments ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
    store(tracker, tmp_path)
    assert "workflowType=machine_learning" in tracker._courier.ask("page"), "before any sweep, too"
    tracker.close()
    with contextlib.closing(sqlite3.connect(tracker.location.database)) as base:
        tags = dict(
            base.execute(
                "SELECT key, value FROM experiment_tags WHERE experiment_id = 7"
            ).fetchall()
        )
    assert tags["mlflow.experimentKind"] == "custom_model_development"
    assert (
        json.loads(tags["mlflow.sharedViewState.arboretum"])["orderByKey"]
        == "metrics.`valid_error`"
    )


def test_a_note_that_somebody_wrote_stays(fresh_store):
    tracker = MLflowTracker(uri=fresh_store)
    tracker.close_sweep(tracker.open_sweep("one", {}), {}, "FINISHED")
    with contextlib.closing(sqlite3.connect(tracker.location.database)) as base, base:
        base.execute(
            "UPDATE experiment_tags SET value = 'my own words' WHERE key = 'mlflow.note.content'"
        )
    tracker._courier.ask("page")
    tracker.close()
    with contextlib.closing(sqlite3.connect(tracker.location.database)) as base:
        assert base.execute(
            "SELECT value FROM experiment_tags WHERE key = 'mlflow.note.content'"
        ).fetchall() == [("my own words",)]


def test_the_only_picture_of_a_sweep_is_on_its_page(mlflow_tracker, query):
    sweep = mlflow_tracker.open_sweep("one", {})
    mlflow_tracker.annotate(sweep, "the table", {"comparison.svg": "<svg/>", "comparison.csv": "a"})
    mlflow_tracker.close_sweep(sweep, {}, "FINISHED")
    image = f"![comparison.svg](get-artifact?path=comparison.svg&run_uuid={sweep})"
    assert tags_of(query, sweep)["mlflow.note.content"].startswith(
        f"the table\n\n{image}\n\n**0 runs**"
    )


def test_words_and_files_of_a_study_come_first_on_its_page_and_its_time_is_that_of_the_work(
    mlflow_tracker, query
):
    study = mlflow_tracker.open_sweep("reproduce coins", {"seconds": 3600.0})
    mlflow_tracker.annotate(study, "**verdict: PASS**", {"verdict.txt": "all is well"})
    mlflow_tracker.close_sweep(study, {"cells": 2.0}, "FINISHED")
    text = tags_of(query, study)["mlflow.note.content"]
    assert text.startswith("**verdict: PASS**\n\n**0 runs**")
    assert mlflow_tracker.fetch(study)["verdict.txt"] == "all is well"
    ((start, end),) = query("SELECT start_time, end_time FROM runs WHERE run_uuid = ?", study)
    assert 3600 <= (end - start) / 1000 < 3700
    for odd in (math.nan, "long", None, -5, True):
        other = mlflow_tracker.open_sweep("reproduce coins", {"seconds": odd})
        ((start,),) = query("SELECT start_time FROM runs WHERE run_uuid = ?", other)
        assert start >= end, "no number of seconds: it begins now"


def test_an_interrupted_sweep_is_killed_and_keeps_its_runs(mlflow_tracker, query, tmp_path):
    sweep = mlflow_tracker.open_sweep("interrupted", {})
    child = store(mlflow_tracker, tmp_path, sweep=sweep)
    mlflow_tracker.close_sweep(sweep, {}, "KILLED")
    assert query("SELECT status FROM runs WHERE run_uuid = ?", sweep) == [("KILLED",)]
    assert query("SELECT status FROM runs WHERE run_uuid = ?", child) == [("FINISHED",)]


def test_a_run_sent_again_under_a_sweep_moves_into_it(mlflow_tracker, query, tmp_path):
    alone = store(mlflow_tracker, tmp_path)
    sweep = mlflow_tracker.open_sweep("later", {})
    assert store(mlflow_tracker, tmp_path, sweep=sweep) == alone
    assert tags_of(query, alone)["mlflow.parentRunId"] == sweep


def test_a_run_without_a_name_is_called_by_method_data_and_seed():
    assert entry.finished(RunInfo("", {}), sample_record(7), {})["name"] == "cart iris seed=7"


def test_keys_differ_by_fingerprint_folder_and_outcome(tmp_path):
    keys = {
        entry.key_of("a", tmp_path, "FINISHED"),
        entry.key_of("b", tmp_path, "FINISHED"),
        entry.key_of("a", tmp_path / "x", "FINISHED"),
        entry.key_of("a", tmp_path, "FAILED"),
    }
    assert len(keys) == 4
    assert entry.key_of("", tmp_path, "FINISHED") == entry.key_of("a", None, "FINISHED") == ""


def test_a_sweep_that_goes_on_keeps_its_parent_and_tells_of_all_its_runs(
    mlflow_tracker, query, tmp_path
):
    sweep = mlflow_tracker.open_sweep("seed=0", {})
    for seed in (0, 1):
        record = sample_record(seed)
        mlflow_tracker.store(
            sample_run(tmp_path / str(seed), seed, sweep), record, sample_files(record)
        )
        mlflow_tracker.close_sweep(sweep, {"valid_error": 0.5 + seed}, "FINISHED")
        if seed == 0:
            assert (
                mlflow_tracker.reopen_sweep(sweep, "seed=0,1", {"overrides": ["seed=0,1"]}) == sweep
            )
            assert query("SELECT name, status FROM runs WHERE run_uuid = ?", sweep) == [
                ("seed=0,1", "RUNNING")
            ]
    assert query("SELECT name, status FROM runs WHERE run_uuid = ?", sweep) == [
        ("seed=0,1", "FINISHED")
    ]
    latest = dict(query("SELECT key, value FROM latest_metrics WHERE run_uuid = ?", sweep))
    assert (latest["runs"], latest["valid_error"]) == (2.0, 1.5)
    text = tags_of(query, sweep)["mlflow.note.content"]
    assert "**2 runs**" in text and "no longer" not in text
    assert "seed" not in params_of(query, sweep) and params_of(query, sweep)["method"] == "cart", (
        "what all its runs share now"
    )
    assert tags_of(query, sweep)["valid_error"] == "1.5"
    assert json.loads(mlflow_tracker.fetch(sweep)["sweep.json"]) == {"overrides": ["seed=0,1"]}
    assert mlflow_tracker.reopen_sweep("0" * 32, "gone", {}) == ""


def test_parents_that_nobody_closed_are_listed_with_their_owner(mlflow_tracker):
    sweep = mlflow_tracker.open_sweep("left", {"owner": "here 1 2", "folder": "s"})
    assert {"id": sweep, "owner": "here 1 2", "folder": "s"} in mlflow_tracker.open_sweeps()
    mlflow_tracker.close_sweep(sweep, {}, "KILLED")
    assert sweep not in [one["id"] for one in mlflow_tracker.open_sweeps()]


def test_a_sweep_whose_clock_was_set_back_does_not_end_before_it_began(mlflow_tracker, query):
    sweep = mlflow_tracker.open_sweep("early", {})
    with contextlib.closing(sqlite3.connect(mlflow_tracker.location.database)) as base, base:
        later = "UPDATE runs SET start_time = start_time + 3600000 WHERE run_uuid = ?"
        base.execute(later, (sweep,))
    mlflow_tracker.close_sweep(sweep, {}, "FINISHED")
    assert query("SELECT end_time - start_time FROM runs WHERE run_uuid = ?", sweep) == [(0,)]


def test_a_parent_whose_opening_nobody_was_told_of_is_gone_on_with(mlflow_tracker, query):
    """The store went away between the parent and the answer; the same command asks again."""
    asked = {"owner": "here 3 4", "folder": "it's here"}
    one, again = (mlflow_tracker.open_sweep("twice", asked) for _ in range(2))
    other = mlflow_tracker.open_sweep("twice", {**asked, "owner": "here 5 6"})
    assert one == again != other
    assert query("SELECT count(*) FROM runs WHERE name = 'twice'") == [(2,)]
    assert tags_of(query, one)["arboretum.sweep"] == one
    mlflow_tracker.close_sweep(one, {}, "FINISHED")
    assert mlflow_tracker.open_sweep("twice", asked) != one, "what is closed is another sweep"


def test_a_copy_of_a_run_says_of_which_folder(mlflow_tracker, query, tmp_path):
    record = sample_record()
    run_id = mlflow_tracker.store(
        attrs.evolve(sample_run(tmp_path), copy_of="old/3"), record, sample_files(record)
    )
    assert tags_of(query, run_id)["arboretum.copy_of"] == "old/3"


def test_runs_are_listed_with_parameters_and_metrics_and_without_parents(fresh_store, tmp_path):
    tracker = MLflowTracker(uri=fresh_store)
    assert tracker.runs() == []
    sweep = tracker.open_sweep("a sweep", {})
    first = store(tracker, tmp_path / "a", sweep=sweep)
    second = store(tracker, tmp_path / "b", record=sample_record(1))
    lost = tracker.store_failure(sample_run(tmp_path / "c", 2), "no rows\nat all")
    found = {one["id"]: one for one in tracker.runs()}
    tracker.close()
    assert set(found) == {first, second, lost}
    assert [found[run]["status"] for run in (first, lost)] == ["FINISHED", "FAILED"]
    assert (found[first]["sweep"], found[second]["sweep"]) == (sweep, "")
    assert found[first]["params"]["criterion.lam"] == "10.0" and found[first]["start"] > 1e9
    assert found[second]["metrics"]["valid_error"] == sample_record(1).metrics["valid_error"]


def test_the_command_lists_what_the_store_keeps(fresh_store, tmp_path, capsys):
    tracker = MLflowTracker(uri=fresh_store)
    pure = sample_record(1)
    choices = {**pure.config["choices"], "stopping": ["standard", "pure"]}
    pure = attrs.evolve(pure, config={**pure.config, "choices": choices})
    ids = [store(tracker, tmp_path / str(k), r) for k, r in enumerate((sample_record(), pure))]
    tracker.close()
    asked = ["list", "--store", f"tracker.uri={fresh_store}", "--format", "json"]
    for where, expected in {
        "dataset=iris and criterion.lam=10": set(ids),
        "stopping=pure": {ids[1]},
        "valid_error < .025 and status=finished": {ids[0]},
    }.items():
        assert main([*asked, "--where", where, "--columns", "run,seed"]) == 0
        assert {one["run"] for one in json.loads(capsys.readouterr().out)} == expected
    assert main([*asked, "--experiment", "another"]) == 0
    assert json.loads(capsys.readouterr().out) == []
