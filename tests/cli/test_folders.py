"""A finished run is never lost: not to another run in its folder, nor to another sweep."""

from __future__ import annotations

import json

import pytest

from arboretum.config.entry import run as run_in_python
from arboretum.errors import StoreError
from arboretum.runs.folder import free_folder, read_run, run_folders, write_run


def seeds(root) -> list[int]:
    return sorted(read_run(folder).seed for folder in run_folders(root))


def test_another_run_into_the_folder_of_a_finished_one_is_refused_before_any_work(toy, here):
    assert toy("seed=1", "hydra.run.dir=r").status == 0
    kept = (here / "r" / "record.json").read_text()
    result = toy("seed=2", "hydra.run.dir=r")
    assert (result.status, result.out) == (1, "")
    assert "holds another finished run" in result.error and "hydra.run.dir=FOLDER" in result.error
    assert (here / "r" / "record.json").read_text() == kept


def test_the_same_run_again_may_replace_itself(toy, here):
    assert toy("seed=1", "hydra.run.dir=r").status == 0
    assert toy("seed=1", "hydra.run.dir=r").status == 0
    assert seeds(here) == [1]


def test_a_run_refused_for_its_folder_is_no_failed_run_to_the_tracker(call, here):
    arguments = (
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "hydra.run.dir=r",
    )
    assert call(*arguments, "seed=1").status == 0
    assert call(*arguments, "seed=2").status == 1
    calls = [json.loads(line)["call"] for line in (here / "lines.jsonl").read_text().splitlines()]
    assert calls == ["prepare", "store"]


def test_python_refuses_the_folder_of_another_run_too(here):
    arguments = ["dataset=toy", "hydra.run.dir=r"]
    run_in_python([*arguments, "seed=1"], plugins=[here / "toy.py"])
    with pytest.raises(StoreError, match="holds another finished run"):
        run_in_python([*arguments, "seed=2"], plugins=[here / "toy.py"])
    assert seeds(here) == [1]


def test_a_record_that_cannot_be_read_is_not_overwritten_either(toy, here):
    (here / "r").mkdir()
    (here / "r" / "record.json").write_text("of something else")
    assert "holds another finished run" in toy("seed=1", "hydra.run.dir=r").error
    assert (here / "r" / "record.json").read_text() == "of something else"


def test_another_sweep_into_the_folder_of_a_finished_one_is_refused(toy, here):
    assert toy("-m", "seed=1,2,3", "hydra.sweep.dir=s").status == 0
    result = toy("-m", "seed=4,5", "hydra.sweep.dir=s")
    assert (result.status, result.out) == (1, "")
    assert "sweep folder 's' holds 3 finished runs of another sweep" in result.error
    assert "hydra.sweep.dir=FOLDER" in result.error and "skip_finished=true" in result.error
    assert seeds(here / "s") == [1, 2, 3]


def test_the_same_sweep_again_replaces_its_own_runs(toy, here):
    for _ in range(2):
        assert toy("-m", "seed=1,2", "hydra.sweep.dir=s").status == 0
        assert [folder.name for folder in run_folders(here / "s")] == ["0", "1"]


def test_the_same_sweep_with_changed_code_keeps_the_old_runs_beside_the_new(toy, here, monkeypatch):
    assert toy("-m", "seed=1,2", "hydra.sweep.dir=s").status == 0
    (here / "toy.py").write_text((here / "toy.py").read_text() + "\n# another version\n")
    assert toy("-m", "seed=1,2", "hydra.sweep.dir=s").status == 0
    assert [folder.name for folder in run_folders(here / "s")] == ["0", "0-2", "1", "1-2"]
    assert seeds(here / "s") == [1, 1, 2, 2]


def test_a_sweep_that_grows_in_its_folder_loses_nothing_and_repeats_nothing(toy, here):
    assert toy("-m", "method=cart,random", "seed=1,2", "hydra.sweep.dir=s").status == 0
    before = {folder: read_run(folder).fingerprint for folder in run_folders(here / "s")}
    result = toy(
        "-m", "method=cart,random", "seed=1,2,3", "hydra.sweep.dir=s", "skip_finished=true"
    )
    assert "6 of 6, 4 finished before" in result.out
    after = {folder: read_run(folder).fingerprint for folder in run_folders(here / "s")}
    assert before.items() <= after.items()
    assert len(after) == 6 and len(set(after.values())) == 6


def test_a_job_that_fails_leaves_its_error_beside_a_finished_run_not_in_it(toy, here):
    assert toy("-m", "seed=1,2", "hydra.sweep.dir=s", "dataset.fails_at=5").status == 0
    result = toy("-m", "seed=5,2", "hydra.sweep.dir=s", "dataset.fails_at=5", "skip_finished=true")
    assert result.status == 1
    assert not (here / "s" / "0" / "error.txt").exists()
    assert (here / "s" / "0-2" / "error.txt").read_text() == (
        "seed 5 was told to fail\njob: seed=5\n"
    )


def test_a_free_folder_is_the_one_asked_for_or_the_first_that_holds_no_other_run(tmp_path):
    record = json.dumps({"fingerprint": "f", "verified": True})
    assert free_folder(tmp_path / "r", "g") == tmp_path / "r"
    write_run(tmp_path / "r", {"record.json": record})
    assert free_folder(tmp_path / "r", "f") == tmp_path / "r"
    assert free_folder(tmp_path / "r", "g") == tmp_path / "r-2"
    write_run(tmp_path / "r-2", {"record.json": record.replace('"f"', '"g"')})
    assert free_folder(tmp_path / "r", "g") == tmp_path / "r-2"
    assert free_folder(tmp_path / "r", "h") == tmp_path / "r-3"
    assert free_folder(tmp_path / "r") == tmp_path / "r-3", "a failure has no fingerprint"
    write_run(tmp_path / "c", {"record.json": record.replace('"f"', '"unfinished-f"')})
    assert free_folder(tmp_path / "c", "f") == tmp_path / "c", "it was interrupted, and is done now"
    assert free_folder(tmp_path / "c", "unfinished-f") == tmp_path / "c"
    assert free_folder(tmp_path / "c", "g") == tmp_path / "c-2"
    assert free_folder(tmp_path / "r", "unfinished-f") == tmp_path / "r-3", "what is finished stays"
