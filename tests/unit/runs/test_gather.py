"""What a word on the command line names: run folders, folders above, a tracker's runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arboretum.errors import StoreError, TrackerError
from arboretum.runs.gather import gather, gather_from
from arboretum.runs.sweeps import Sweep, write_sweep
from arboretum.testing.suites.tracker import sample_record


def keep(folder: Path, seed: int = 0) -> Path:
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(sample_record(seed).to_json())
    return folder


def test_a_run_a_sweep_and_any_folder_above_name_runs_each_once(tmp_path):
    one, other = keep(tmp_path / "a" / "0", 1), keep(tmp_path / "b" / "deep" / "1", 2)
    assert [r.seed for r in gather([str(one)]).records] == [1]
    assert [r.seed for r in gather([str(one / "record.json")]).records] == [1]
    found = gather([str(tmp_path), str(other), str(tmp_path / "a")])
    assert sorted(r.seed for r in found.records) == [1, 2]
    assert found.damaged == found.failed == ()


def test_a_damaged_record_is_named_and_the_others_go_on(tmp_path):
    keep(tmp_path / "0", 1)
    for name, text in {"1": "{", "2": '{"schema": "other"}', "3": ""}.items():
        keep(tmp_path / name)
        (tmp_path / name / "record.json").write_text(text)
    keep(tmp_path / "4")
    (tmp_path / "4" / "record.json").write_bytes(b"\xff\xfe")
    found = gather([str(tmp_path)])
    assert [r.seed for r in found.records] == [1]
    assert len(found.damaged) == 4
    for name in "1234":
        assert any(str(tmp_path / name) in text and "\n" not in text for text in found.damaged)


def test_a_failed_job_tells_why_and_what_it_was_asked_for(tmp_path):
    keep(tmp_path / "0", 1)
    write_sweep(tmp_path, Sweep(("dataset=iris", "method=cart,id3", "seed=1"), varied=("method",)))
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "error.txt").write_text("out of memory\njob: method=id3 seed=1\nTraceback")
    (failed,) = gather([str(tmp_path)]).failed
    assert failed.reason == "out of memory"
    assert dict(failed.asked) == {"dataset": "iris", "method": "id3", "seed": "1"}


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({}, "there is no run in"),
        ({"0/record.json": "{"}, "of 1 records in"),
        ({"0/error.txt": "no such column\n"}, "all 1 jobs in"),
    ],
)
def test_a_folder_without_any_run_is_refused_with_the_reason(tmp_path, made, words):
    for name, text in made.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(StoreError) as error:
        gather([str(tmp_path)])
    assert words in str(error.value) and "\n" not in str(error.value)


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="there is no folder"):
        gather([str(tmp_path / "nowhere")])


class Store:
    """A tracker that lists and fetches."""

    name = "store"

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def runs(self):
        return [
            *({"id": key, "status": "FINISHED"} for key in self.texts),
            {"id": "broken", "status": "FAILED"},
        ]

    def fetch(self, run_id):
        return {"record.json": self.texts[run_id]}


def test_a_tracker_gives_its_finished_runs_in_one_request_or_one_by_one():
    texts = {"a": sample_record(1).to_json(), "b": sample_record(2).to_json()}
    slow = Store(texts)
    assert [r.seed for r in gather_from(slow).records] == [1, 2]
    quick = Store({})
    quick.records = lambda: texts
    assert gather_from(quick).where == ("a", "b")
    texts["c"] = ""
    assert gather_from(quick).where == ("a", "b")
    assert gather_from(quick).damaged == gather_from(slow).damaged == ("c has no record.json",)


def test_a_tracker_that_gives_nothing_back_or_has_nothing_is_refused():
    with pytest.raises(TrackerError, match="does not give back what it keeps"):
        gather_from(type("Blind", (), {"name": "blind"})())
    with pytest.raises(StoreError, match="keeps no finished run there"):
        gather_from(Store({}))


def test_a_chapter_of_a_reproduction_is_no_run(tmp_path):
    chapter = sample_record(1, config={"choices": {"reproduction": "lecture"}})
    store = Store({"a": chapter.to_json(), "b": sample_record(2).to_json()})
    assert gather_from(store).where == ("b",)


def test_older_records_without_the_rows_that_judge_are_read(tmp_path):
    folder = keep(tmp_path / "0", 1)
    data = json.loads((folder / "record.json").read_text())
    data["data"].pop("n_test", None)
    (folder / "record.json").write_text(json.dumps(data))
    assert gather([str(tmp_path)]).records[0].seed == 1
