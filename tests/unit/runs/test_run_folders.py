"""Run folders: whole or not at all; found again by fingerprint."""

from __future__ import annotations

import json
import os
import threading

import pytest

from arboretum.api import StoreError, TrackerError
from arboretum.runs import folder as folders
from arboretum.runs.folder import (
    RECORD,
    TREE,
    Index,
    checksum,
    default_root,
    make_ready,
    names_of,
    read_run,
    run_folders,
    write_files,
    write_run,
)
from arboretum.runs.listing import folders_below
from arboretum.runs.sweeps import DONE, FAILED, Note, Notes
from arboretum.runs.tracking import call_tracker


def record_text(fingerprint: str = "f" * 64, verified: bool = True) -> str:
    return json.dumps(
        {
            "schema": "arboretum.record/1",
            "config": {"seed": 1},
            "seed": 1,
            "versions": {},
            "data": {},
            "timings": {},
            "metrics": {"depth": 2.0, "valid_roc_auc": None},
            "solution": None,
            "verified": verified,
            "fingerprint": fingerprint,
            "notes": [],
        }
    )


def test_files_are_written_whole_and_no_temporary_is_left(tmp_path):
    write_files(tmp_path / "a" / "b", {RECORD: record_text(), "tree.txt": "ä ≤ 1"})
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        "record.json",
        "tree.txt",
    ]
    assert (tmp_path / "a" / "b" / "tree.txt").read_text(encoding="utf-8") == "ä ≤ 1"


@pytest.mark.slow
def test_of_a_large_tree_the_text_shows_the_heaviest_branches(monkeypatch):
    import arboretum

    record = arboretum.run(["dataset=iris", "method=cart", "tracker=none"])
    assert folders.artifacts(record)["tree.txt"] == record.tree.to_text()
    monkeypatch.setattr(folders, "LEAVES_IN_TEXT", 3)
    text = folders.artifacts(record)["tree.txt"]
    assert text == record.tree.to_text(max_leaves=3) and "leaves folded" in text


def test_when_one_file_cannot_be_written_none_is(tmp_path, monkeypatch):
    """The disk fills up at the last file: what was there before is still there, whole."""
    write_files(tmp_path, {RECORD: "old", "tree.txt": "old"})
    real, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(folders.os, "fsync", full)
    with pytest.raises(
        StoreError,
        match=r"cannot be written \(No space left on device\); make room, or choose another",
    ):
        write_files(tmp_path, {RECORD: "new", "tree.txt": "new"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        RECORD: "old",
        "tree.txt": "old",
    }


def test_the_record_comes_last_so_that_its_presence_means_the_run_is_whole(tmp_path, monkeypatch):
    order = []
    real = folders.Path.replace
    monkeypatch.setattr(
        folders.Path,
        "replace",
        lambda self, target: (order.append(target.name), real(self, target))[1],
    )
    write_files(tmp_path, {RECORD: "r", "tree.json": "t", "zebra.txt": "z"})
    assert order[-1] == RECORD and len(order) == 3


def test_a_new_run_takes_away_what_the_old_one_said_about_failure_and_tracker(tmp_path):
    write_files(tmp_path, {"error.txt": "failed", "tracked.json": "{}"})
    write_run(tmp_path, {RECORD: record_text()})
    assert [path.name for path in tmp_path.iterdir()] == [RECORD]


def test_a_folder_is_proved_writable_without_a_trace(tmp_path):
    make_ready(tmp_path / "new" / "run")
    assert list((tmp_path / "new" / "run").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        make_ready(tmp_path / "file" / "run")


def test_a_record_that_is_none_is_refused_with_its_place(tmp_path):
    for text in ("", "{", "[]", '{"schema": "arboretum.record/1"}', '{"schema": "other/9"}'):
        (tmp_path / RECORD).write_text(text)
        with pytest.raises(StoreError, match=str(tmp_path)):
            read_run(tmp_path)
    with pytest.raises(StoreError, match="a sweep's folder holds one run folder per job"):
        read_run(tmp_path.parent)


def test_a_finished_run_is_found_by_its_fingerprint_until_it_is_gone_or_another(tmp_path):
    index, run = Index(tmp_path / "outputs"), tmp_path / "run"
    mark = "ab" + "0" * 62
    assert index.find(mark) is None
    write_run(run, {RECORD: record_text(mark)})
    index.add(mark, run)
    assert index.find(mark) == run
    assert Index(tmp_path / "outputs").find(mark) == run, "another process finds it, too"
    write_run(run, {RECORD: record_text("cd" + "0" * 62)})
    assert index.find(mark) is None, "the folder holds another run now"
    write_run(run, {RECORD: record_text(mark, verified=False)})
    assert index.find(mark) is None, "what is not verified is not finished"
    whole = {**json.loads(record_text(mark)), "checksums": {TREE: checksum("{}")}}
    write_run(run, {RECORD: json.dumps(whole), TREE: "{}"})
    assert index.find(mark) == run
    (run / TREE).write_text("{ }")
    assert index.find(mark) is None, "its tree is another"
    (run / RECORD).unlink()
    assert index.find(mark) is None


def test_of_runs_of_one_fingerprint_that_of_the_same_names_comes_first(tmp_path):
    mark, moved = "ab" + "0" * 62, tmp_path / "sweep" / "0"
    for run in (tmp_path / "run", moved):
        write_run(run, {RECORD: record_text(mark)})
    index = Index(tmp_path / "outputs", tmp_path / "sweep")
    index.add(mark, tmp_path / "run")
    assert index.find(mark, names_of({"seed": 1})) == moved
    assert index.find(mark, "other names") == tmp_path / "run"


def test_runs_below_a_given_folder_are_found_without_the_index(tmp_path):
    mark = "ef" + "0" * 62
    write_run(tmp_path / "sweep" / "3", {RECORD: record_text(mark)})
    assert Index(tmp_path / "outputs", tmp_path / "sweep").find(mark) == tmp_path / "sweep" / "3"
    assert run_folders(tmp_path) == [tmp_path / "sweep" / "3"]


def test_many_writers_of_one_name_leave_one_whole_file(tmp_path):
    index, mark = Index(tmp_path), "aa" + "0" * 62
    runs = [tmp_path / f"run{i}" for i in range(8)]
    for run in runs:
        write_run(run, {RECORD: record_text(mark)})
    threads = [threading.Thread(target=index.add, args=(mark, run)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert index.find(mark) in runs
    assert [path.name for path in (tmp_path / ".finished" / "aa").iterdir()] == [mark]


def test_an_index_that_cannot_be_written_is_a_warning_and_no_loss(tmp_path):
    (tmp_path / "outputs").write_text("a file in the way")
    assert "skip_finished=true would repeat it" in Index(tmp_path / "outputs").add(
        "ab" * 32, tmp_path
    )


def test_the_index_lives_where_the_command_is_run_or_where_the_environment_says(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARBORETUM_RUNS", raising=False)
    assert default_root() == tmp_path / "outputs"
    monkeypatch.setenv("ARBORETUM_RUNS", str(tmp_path / "elsewhere"))
    assert default_root() == tmp_path / "elsewhere"


def test_notes_of_jobs_reach_the_parent_in_order_and_survive_the_end_of_the_folder(tmp_path):
    notes = Notes.open(tmp_path)
    for job in (2, 0, 1):
        Notes(notes.folder).write(
            Note(job, FAILED if job == 1 else DONE, f"seed={job}", warnings=("w",))
        )
    assert [note.job for note in notes.read()] == [0, 1, 2]
    notes.close()
    assert not notes.folder.exists()
    assert [note.status for note in notes.read()] == [DONE, FAILED, DONE]
    assert notes.read()[0].warnings == ("w",)


def test_whatever_a_tracker_raises_is_one_line():
    class Tracker:
        name = "shaky"

    def broken():
        raise KeyError("a\nb")

    with pytest.raises(TrackerError, match=r"^tracker 'shaky' raised KeyError: '.*'$"):
        call_tracker(Tracker(), broken)


def test_what_a_tracker_has_copied_is_no_run_of_a_folder_above_it(tmp_path):
    kept, copy = tmp_path / "s" / "0", tmp_path / "mlruns" / "arboretum" / ("0a" * 16) / "artifacts"
    for folder in (kept, copy):
        folder.mkdir(parents=True)
        (folder / "record.json").write_text("{}")
    assert run_folders(tmp_path) == [kept]
    assert run_folders(copy) == [copy], "whoever names it means it"
    below = [path for path, names in folders_below(tmp_path) if "record.json" in names]
    assert below == [str(kept)]
