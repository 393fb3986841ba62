"""What a sweep tells its tracker: one parent, each run under a name of its own, also in trouble."""

from __future__ import annotations

import pytest
from cli.tracker_lines import lines_of

from arboretum.runs.folder import read_run, run_folders


@pytest.mark.parametrize(
    "wrong",
    [
        "stopping.standard.max_depth=1,-1",
        "goal=nothing",
        "seed=range(0)",
        "certify=true certifier=cart",
        "method=cart,crat",
    ],
)
def test_a_sweep_that_is_refused_leaves_no_parent_in_its_tracker(wrong, call, here):
    lines = (
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "hydra.sweep.dir=s",
        "-m",
    )
    assert call(*lines, "seed=1,2", *wrong.split()).status == 1
    assert not (here / "lines.jsonl").exists() and not (here / "s").exists()
    assert call(*lines, "seed=1").status == 0
    kept = (here / "s" / "sweep.json").read_text()
    assert call(*lines, "seed=1,2", "skip_finished=true", *wrong.split()).status == 1
    assert (here / "s" / "sweep.json").read_text() == kept, "what is there goes on to be known"
    assert [line["call"] for line in lines_of(here)] == [
        "prepare",
        "open_sweep",
        "store",
        "annotate",
        "close_sweep",
    ]


def test_a_seed_that_is_not_the_run_s_own_is_called_by_its_whole_name(call, here):
    lines = (
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "-m",
        "hydra.sweep.dir=s",
    )
    result = call(*lines, "criterion=random", "criterion.seed=1,2", "seed=1,2")
    assert result.out.splitlines()[0].split()[2] == "criterion.seed"
    assert {line["name"] for line in lines_of(here) if line["call"] == "store"} == {
        f"criterion.seed={inner} seed={seed} cart toy" for inner in (1, 2) for seed in (1, 2)
    }
    assert lines_of(here)[1]["name"].startswith("criterion.seed=1,2 seed=1,2 ")


def test_the_tracker_sees_a_parent_its_children_and_the_best_metrics(call, here):
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "-m",
        "seed=1,2,3",
        "dataset.fails_at=3",
        "hydra.sweep.dir=s",
        "goal=train_error",
    )
    assert result.status == 1
    seen = lines_of(here)
    assert [line["call"] for line in seen] == [
        "prepare",
        "open_sweep",
        "store",
        "store",
        "store_failure",
        "annotate",
        "close_sweep",
    ]
    assert {line["sweep"] for line in seen if "sweep" in line} == {"parent"}
    assert seen[2]["name"] == "seed=1 cart toy", "what varies comes first"
    assert seen[1]["name"] == "seed=1,2,3 dataset=toy fails_at=3 goal=train_error"
    assert seen[2]["files"] == ["record.json", "tree.json", "tree.svg", "tree.txt"]
    assert seen[4]["error"] == "seed 3 was told to fail"
    errors = [read_run(folder).metrics["train_error"] for folder in run_folders(here / "s")]
    assert seen[5]["files"] == ["comparison.csv"] and "0.0" in seen[5]["text"], (
        "one setting is no picture"
    )
    assert seen[6]["best"]["train_error"] == pytest.approx(sum(errors) / 2), (
        "of the best setting, not of the luckiest run"
    )
    assert seen[6]["status"] == "FINISHED"


def test_best_is_said_per_data_set_and_so_it_is_on_the_parent(call, here):
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy,iris",
        "tracker=lines",
        "-m",
        "seed=1,2",
        "hydra.sweep.dir=s",
    )
    assert result.status == 0
    records = [(folder, read_run(folder)) for folder in run_folders(here / "s")]
    best = lines_of(here)[-1]["best"]
    for name in ("toy", "iris"):
        errors = [
            r.metrics["valid_error"] for _, r in records if r.config["choices"]["dataset"] == name
        ]
        assert best[f"valid_error.{name}"] == pytest.approx(sum(errors) / 2), (
            "the mean of the setting, not the luckiest run"
        )
    assert best["valid_error"] == pytest.approx(
        (best["valid_error.iris"] + best["valid_error.toy"]) / 2
    )
    assert {name for name in best if "." in name} == {
        f"{m}_error.{d}" for m in ("test", "valid") for d in ("iris", "toy")
    }


def test_runs_that_differ_have_names_that_differ(call, here):
    call(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "-m",
        "seed=1,2",
        "criterion=reduction,gain_ratio",
        "stopping.standard.max_depth=null,2",
        "impurity=auto,entropy",
    )
    names = [line["name"] for line in lines_of(here) if line["call"] == "store"]
    assert len(set(names)) == len(names) == 16
    assert "criterion=gain_ratio max_depth=2 impurity=entropy seed=2 cart toy" in names
    assert "criterion=reduction max_depth=none impurity=auto seed=1 cart toy" in names, (
        "also where it is the default"
    )


def test_a_store_that_makes_a_sweep_wait_is_asked_once(call, here):
    source = (here / "lines.py").read_text()
    (here / "lines.py").write_text(
        source.replace("        if self.fails == call and", SLOW_TROUBLE)
    )
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "tracker.fails=store",
        "-m",
        "seed=1,2,3,4",
        "hydra.sweep.dir=s",
    )
    assert result.status == 3
    assert (here / "asked").read_text() == "xx", (
        "three of four runs did not wait for it; at the end it is asked once more"
    )
    assert "4 runs are kept, but not tracked" in result.err
    assert len(run_folders(here / "s")) == 4
    (here / "lines.py").write_text(source)


@pytest.mark.parametrize("fails", ["prepare", "open_sweep", "store"])
def test_a_tracker_that_was_in_trouble_for_a_while_has_every_run_at_the_end(fails, call, here):
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        f"tracker.fails={fails}",
        "tracker.heals=true",
        "-m",
        "seed=1,2",
        "hydra.sweep.dir=s",
    )
    assert result.status == 0 and "warning" not in result.err, result.err
    stored = {(line["name"], line["sweep"]) for line in lines_of(here) if line["call"] == "store"}
    assert {("seed=1 cart toy", "parent"), ("seed=2 cart toy", "parent")} <= stored
    assert lines_of(here)[-1]["call"] == "close_sweep"


def test_one_sweep_folder_is_one_parent_however_often_it_is_gone_on_with(call, here):
    lines = (
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "-m",
        "skip_finished=true",
    )
    call(*lines, "seed=1,2", "hydra.sweep.dir=s")
    seen = len(lines_of(here))
    call(*lines, "seed=2,3", "hydra.sweep.dir=s")
    calls = [line["call"] for line in lines_of(here)[seen:] if line["call"] != "prepare"]
    assert calls == ["reopen_sweep", "store", "annotate", "close_sweep"], (
        "what the parent has is not sent again"
    )
    told = (
        lines_of(here)[-1]["best"]["train_error"],
        lines_of(here)[-2]["text"].splitlines()[3].split()[-2],
    )
    errors = [read_run(folder).metrics["train_error"] for folder in run_folders(here / "s")]
    assert told == (pytest.approx(sum(errors) / 3), "3"), "the parent tells of all its runs"


def test_a_run_finished_elsewhere_is_a_run_of_this_sweep_too(call, here):
    lines = (
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "-m",
        "skip_finished=true",
    )
    call(*lines, "seed=1", "hydra.sweep.dir=one")
    call(*lines, "seed=1,2", "hydra.sweep.dir=two")
    stored = [
        (line["folder"], line["copy_of"]) for line in lines_of(here) if line["call"] == "store"
    ]
    one, two = here / "one" / "0", here / "two"
    assert stored == [(str(one), ""), (str(two / "0"), str(one)), (str(two / "1"), "")]
    assert (two / "0" / "record.json").stat().st_mtime == (one / "record.json").stat().st_mtime, (
        "it was computed then"
    )


def test_a_copy_in_a_sweep_whose_parent_could_not_be_opened_is_sent_later(call, here):
    words = ("--plugin", "toy.py", "--plugin", "lines.py")
    asked = ("run", *words, "dataset=toy", "tracker=lines", "-m", "skip_finished=true", "seed=1,2")
    assert call(*asked, "hydra.sweep.dir=one").status == 0
    source = (here / "lines.py").read_text()
    (here / "lines.py").write_text(
        source.replace('return "parent"', "raise TrackerError('it is away')")
    )
    failed = call(*asked, "hydra.sweep.dir=two")
    assert failed.status == 3 and "2 runs are kept, but not tracked: it is away" in failed.err
    (here / "lines.py").write_text(source)
    sent = call("sync", *words, "two")
    assert sent.status == 0 and "2 sent, 0 there already" in sent.out, sent.err
    stored = [(line["folder"], line["sweep"]) for line in lines_of(here) if line["call"] == "store"]
    for number in "01":
        copies = [sweep for folder, sweep in stored if (here / folder) == here / "two" / number]
        assert copies[-1] == "parent", "it was there alone"
    assert "0 sent, 2 there already" in call("sync", *words, "two").out


SLOW_TROUBLE = """        if self.fails == call:
            import time
            with Path("asked").open("a") as stream:
                stream.write("x")
            time.sleep(1.2)
        if self.fails == call and"""


@pytest.mark.parametrize("fails", ["prepare", "open_sweep", "store", "close_sweep"])
def test_a_tracker_that_fails_loses_no_run_of_a_sweep_and_the_status_is_3(fails, call, here):
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        f"tracker.fails={fails}",
        "-m",
        "seed=1,2",
        "hydra.sweep.dir=s",
    )
    assert result.status == 3
    assert len(run_folders(here / "s")) == 2
    assert f"no {fails} today" in result.err and "arboretum sync s" in result.err
    assert "Traceback" not in result.err


def test_a_parent_that_could_not_be_closed_is_closed_later_with_what_the_sweep_said(call, here):
    words = ("--plugin", "toy.py", "--plugin", "lines.py")
    asked = ("dataset=toy", "tracker=lines", "tracker.fails=close_sweep", "tracker.heals=true")
    result = call("run", *words, *asked, "-m", "seed=1,2", "hydra.sweep.dir=s")
    assert result.status == 3 and "the sweep's parent run is not tracked" in result.err
    assert [line["call"] for line in lines_of(here)][-1] == "annotate"
    sent = call("sync", *words, "s")
    assert sent.status == 0 and "0 sent, 2 there already" in sent.out, sent.err
    last = lines_of(here)[-1]
    assert (last["call"], last["status"], last["sweep"]) == ("close_sweep", "FINISHED", "parent")
    seen = len(lines_of(here))
    assert call("sync", *words, "s").status == 0
    assert len(lines_of(here)) == seen, "the tracker is told once"


def test_a_tracker_that_rests_is_asked_to_open_again_when_all_is_done(call, here):
    """It answers once it was closed: what a store does that is left alone for a minute."""
    source = (here / "lines.py").read_text()
    resting = source.replace(
        "        if self.fails == call and",
        """        if call == "store" and not Path("opened").exists():
            import time
            time.sleep(1.2)
            raise RuntimeError("it rests")
        if self.fails == call and""",
    )
    closing = "    def prepare(self):"
    (here / "lines.py").write_text(
        resting.replace(
            closing, f'    def close(self):\n        Path("opened").touch()\n\n{closing}'
        )
    )
    words = ("--plugin", "toy.py", "--plugin", "lines.py", "dataset=toy", "tracker=lines")
    result = call("run", *words, "-m", "seed=1,2", "hydra.sweep.dir=s")
    assert result.status == 0 and "warning" not in result.err, result.err
    assert [line["call"] for line in lines_of(here)].count("store") == 2
