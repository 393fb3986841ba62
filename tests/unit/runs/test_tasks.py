"""What jobs are told and send home."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from arboretum.errors import DataError, PluginError
from arboretum.runs.sweeps import DONE, FAILED, Note
from arboretum.runs.tasks import Expected, JobResult, Task, message_of, read_message

CODE = {"arboretum": "aaa", "mine": "bbb"}


def test_what_is_as_expected_or_not_known_is_no_refusal():
    Expected("f", "123", CODE).compare("123", "iris", CODE)
    Expected().compare("123", "iris", CODE)
    Expected(code={"mine": "bbb"}).compare("123", "drawn", CODE)


@pytest.mark.parametrize(
    ("sha256", "code", "error", "said"),
    [
        ("124", CODE, DataError, "the data set iris of this worker is another"),
        ("123", {**CODE, "mine": "ccc"}, PluginError, "mine of this worker is another"),
        ("123", {"arboretum": "aaa"}, PluginError, "mine of this worker is another"),
        ("123", {**CODE, "arboretum": "x"}, PluginError, "arboretum of this worker is another"),
    ],
)
def test_other_data_and_another_version_of_a_plugin_are_refused(sha256, code, error, said):
    with pytest.raises(error, match=said):
        Expected("f", "123", CODE).compare(sha256, "iris", code)


def test_a_message_says_what_tasks_say():
    tasks = [
        Task(
            3, "seed=1", "/s/3", {"a": [1, None, "ü"]}, {"method": "cart"}, Expected("f", "1", CODE)
        ),
        Task(4, "seed=2", "/s/4", {}, {"stopping": ["pure"]}),
    ]
    assert read_message(message_of(tasks)) == tasks


def test_a_message_that_a_configuration_passes_on_keeps_what_is_read_elsewhere():
    tasks = [Task(0, "theta=0.01", "/s/0", {"theta": 0.01, "of": "${theta} $ \\\\${x}"}, {})]
    passed = OmegaConf.create({"message": message_of(tasks)})
    assert read_message(passed.message) == tasks


def test_a_run_that_came_home_is_written_and_takes_no_other_s_place(tmp_path):
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "record.json").write_text("{}")
    note = Note(0, DONE, "seed=1", str(tmp_path / "0"), value=0.5)
    written = {str(tmp_path / "deep" / "mine.proof"): b"proof"}
    found = JobResult(note, 0.5, "f", {"record.json": b"[]"}, written).unpack()
    assert found.folder == str(tmp_path / "0-2")
    assert (tmp_path / "0-2" / "record.json").read_bytes() == b"[]"
    assert (tmp_path / "0" / "record.json").read_text() == "{}"
    assert (tmp_path / "deep" / "mine.proof").read_bytes() == b"proof"


def test_a_run_that_cannot_be_written_has_failed(tmp_path):
    (tmp_path / "file").write_text("")
    note = Note(0, DONE, "seed=1", str(tmp_path / "file" / "0"), value=0.5)
    found = JobResult(note, 0.5, "f", {"record.json": b"[]"}).unpack()
    assert found.status == FAILED and found.value is None and "cannot be written" in found.error
