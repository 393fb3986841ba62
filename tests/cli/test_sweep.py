"""Sweeps: one line of progress, failures at the end, nothing lost, nothing done twice."""

from __future__ import annotations

import json
import re
import signal
import time

import pytest
from cli.tracker_lines import lines_of

from arboretum.config.compose import Loader
from arboretum.runs.folder import read_run, run_folders


def test_a_sweep_ends_with_one_table_and_says_where_it_is_kept(toy, here):
    result = toy("-m", "method=cart,random", "seed=1,2,3", "hydra.sweep.dir=s")
    assert result.status == 0
    table = result.out.splitlines()
    assert table[0].split()[:5] == ["method", "dataset", "best", "valid", "error"], (
        "the goal comes first"
    )
    assert table[2].split()[1:3] == ["toy", "best"] and {
        line.split()[0] for line in table[2:4]
    } == {"cart", "random"}
    assert [line.split()[-2] for line in table[2:4]] == ["3", "3"], "runs"
    assert "6 of 6" in result.out and "kept in s" in result.out
    assert [folder.name for folder in run_folders(here / "s")] == ["0", "1", "2", "3", "4", "5"]
    assert not list((here / "s").glob(".notes-*")), "what jobs leave for the parent is taken away"


def test_the_table_averages_over_seeds(toy, here):
    result = toy("-m", "seed=1,2", "split=none", "hydra.sweep.dir=s")
    depths = [read_run(folder).metrics["depth"] for folder in run_folders(here / "s")]
    header, row = (re.split(r"\s{2,}", result.out.splitlines()[n]) for n in (0, 2))
    assert float(row[header.index("depth")]) == pytest.approx(sum(depths) / 2, abs=5e-4)


def test_what_varies_besides_method_and_data_gets_a_column_of_its_own(toy):
    result = toy("-m", "stopping.standard.max_depth=1,2", "seed=1,2")
    assert result.out.splitlines()[0].split()[2] == "max_depth"
    assert {(line.split()[2], line.split()[-2]) for line in result.out.splitlines()[2:4]} == {
        ("1", "2"),
        ("2", "2"),
    }


def test_a_sweep_is_shown_again_by_its_folder(toy, call):
    told = toy("-m", "method=cart,random", "seed=1,2", "goal=n_leaves", "hydra.sweep.dir=s").out
    shown = call("show", "s").out
    assert shown.startswith("method=cart,random seed=1,2 dataset=toy goal=n_leaves: finished\n")
    assert told.splitlines()[:4] == shown.splitlines()[2:6]


def test_a_failing_run_does_not_stop_the_others_and_is_named_at_the_end(toy, here):
    result = toy("-m", "seed=1,2,3", "dataset.fails_at=2", "hydra.sweep.dir=s")
    assert result.status == 1
    assert "3 of 3, 1 failed" in result.out
    assert "arboretum: failed: seed=2: seed 2 was told to fail" in result.err.splitlines()
    assert [folder.name for folder in run_folders(here / "s")] == ["0", "2"]
    assert (here / "s" / "1" / "error.txt").read_text() == (
        "seed 2 was told to fail\njob: seed=2\n"
    )


def test_a_bug_in_one_run_is_one_line_too(toy):
    result = toy("-m", "seed=1,2", "dataset.crashes_at=2")
    assert result.status == 1
    assert (
        "arboretum: failed: seed=2: dataset 'toy': load raised RuntimeError: a bug (toy.py:24)"
        in result.err
    )
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("sweep", "rule"),
    [
        ("stopping.standard.max_depth=1,2,-1", "stopping.standard.max_depth must be ≥ 0; got -1"),
        ("dataset=toy,iirs", "unknown dataset 'iirs'; did you mean 'iris'"),
        ("method=cart,crat", "unknown method 'crat'; did you mean 'cart'"),
        ("+method.nothing=1,2", "unknown parameter 'nothing'"),
        ("goal=nothing seed=1,2", "goal: unknown metric 'nothing'"),
    ],
)
def test_a_configuration_that_is_wrong_anywhere_fails_the_sweep_before_its_first_run(
    sweep, rule, toy, here
):
    result = toy("-m", "dataset.seconds=20", *sweep.split(" "), "hydra.sweep.dir=s")
    assert (result.status, result.out) == (1, "")
    assert rule in result.error
    assert not (here / "s").exists()


def test_what_a_sweeper_s_parameters_say_is_swept_looked_at_and_shown(toy, here):
    (here / "conf" / "experiment").mkdir(parents=True)
    params = (
        "# @package _global_\nhydra:\n  sweeper:\n    params:\n      dataset: toy\n      seed: "
        "3,1\n"
    )
    (here / "conf" / "experiment" / "seeds.yaml").write_text(params)
    ways = [
        ("--config-dir", "conf", "+experiment=seeds"),
        ("-m", 'hydra.sweeper.params={seed: "3,1"}'),
        ("-m", "seed=3,1"),
    ]
    for words in ways:
        shown = toy(*words, "--cfg", "job")
        assert shown.status == 0 and shown.out.startswith("# the first run of the sweep: "), (
            shown.err
        )
        assert "\nseed: 3\n" in shown.out and "\nhydra:" not in shown.out
        assert len(run_folders(here)) == 0
    assert "\n  sweeper:" in toy(*ways[0], "--cfg", "hydra").out
    assert (
        "seed=range(0) names no value" in toy("-m", 'hydra.sweeper.params={seed: "range(0)"}').error
    )
    assert "seed=1,1 names 1 twice" in toy("-m", 'hydra.sweeper.params={seed: "1,1"}').error
    assert toy(*ways[0], "-m", "hydra.sweep.dir=s").status == 0
    assert [read_run(folder).seed for folder in run_folders(here / "s")] == [3, 1]


def test_folders_may_be_named_after_what_a_job_was_told(toy, here):
    words = ("hydra.sweep.dir=s", "hydra.sweep.subdir=${hydra.job.override_dirname}")
    exclude = "hydra.job.config.override_dirname.exclude_keys=[dataset,tracker]"
    assert (
        toy("-m", "seed=1,2", *words, exclude, "hydra.job.config.override_dirname.kv_sep=-").status
        == 0
    )
    assert sorted(folder.name for folder in run_folders(here / "s")) == ["seed-1", "seed-2"]


def test_runs_that_lie_deeper_are_in_the_table_and_those_of_a_sweep_within_are_not(toy, call):
    deep = toy("-m", "seed=1,2", "hydra.sweep.dir=s", "hydra.sweep.subdir=seed/${seed}")
    assert deep.status == 0 and "2 of 2" in deep.out
    assert "another sweep" in toy("-m", "seed=3", "hydra.sweep.dir=s").error
    assert toy("-m", "seed=4,5,6", "hydra.sweep.dir=s/within").status == 0
    assert call("show", "s").out.splitlines()[2:5] == deep.out.splitlines()[:3]


def test_finished_runs_are_not_repeated_and_it_says_so(toy, here):
    first = toy("-m", "seed=1,2", "skip_finished=true")
    assert "finished before" not in first.out
    again = toy("-m", "seed=1,2,3", "skip_finished=true", "hydra.sweep.dir=s")
    assert "3 of 3, 2 finished before" in again.out
    assert again.out.splitlines()[2].split()[-2] == "3", "they are in the table all the same"
    assert len(run_folders(here / "s")) == 3, "and in the new folder"
    alone = toy("seed=2", "skip_finished=true", "hydra.run.dir=r")
    assert "finished before, not repeated; kept in r" in alone.out.replace(f"{here}/", "")


def test_other_seeds_settings_or_code_are_other_runs(toy, here):
    toy("seed=1", "skip_finished=true")
    for change in ("seed=2", "stopping.standard.max_depth=1", "split=none"):
        assert "not repeated" not in toy("seed=1", "skip_finished=true", change).out
    assert "not repeated" in toy("seed=1", "skip_finished=true", "goal=valid_accuracy").out, (
        "the goal changes no tree"
    )
    source = (here / "toy.py").read_text()
    (here / "toy.py").write_text(source + "\n# another version\n")
    assert "not repeated" not in toy("seed=1", "skip_finished=true").out


def test_a_sweep_folder_moved_elsewhere_still_counts_as_finished(toy, here, monkeypatch):
    toy("-m", "seed=1,2", "hydra.sweep.dir=s")
    monkeypatch.setenv("ARBORETUM_RUNS", str(here / "another_index"))
    assert (
        "2 of 2, 2 finished before"
        in toy("-m", "seed=1,2", "skip_finished=true", "hydra.sweep.dir=s").out
    )


@pytest.mark.slow
@pytest.mark.cold
@pytest.mark.parametrize(
    ("number", "status", "words"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
    ],
)
def test_a_signal_keeps_the_finished_runs_closes_the_parent_and_sets_the_status(
    number, status, words, command, here
):
    process = command.start(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "-m",
        "seed=range(0,40)",
        "dataset.seconds=0.2",
        "hydra.sweep.dir=s",
    )
    deadline = time.monotonic() + 60
    while (
        len(run_folders(here / "s")) < 2 and process.poll() is None and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    process.send_signal(number)
    result = command.finish(process)
    assert result.status == status, result.err
    assert "Traceback" not in result.err
    last = result.err.splitlines()[-1]
    kept = run_folders(here / "s")
    assert 2 <= len(kept) < 40
    # the signal may come when a run is written and not yet counted
    told = [
        f"{words}; {n} of 40 runs are finished and kept in s" for n in (len(kept), len(kept) - 1)
    ]
    assert any(text in last for text in told), last
    assert all(read_run(folder).verified for folder in kept)
    assert lines_of(here)[-1]["call"] == "close_sweep" and lines_of(here)[-1]["status"] == "KILLED"


def test_a_signal_while_configurations_are_checked_counts_no_runs(call, toy, here, monkeypatch):
    def interrupted(self, *told, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(Loader, "load_sweep_config", interrupted)
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "dataset=toy",
        "tracker=none",
        "-m",
        "seed=1,2",
        "hydra.sweep.dir=s",
    )
    said = "arboretum: interrupted while configurations were checked; no run had begun"
    assert (result.status, result.err.splitlines()[-1]) == (130, said)
    assert not (here / "s").exists()


TWO_NAMES = (
    "method=cart,greedy",
    "criterion=reduction",
    "impurity=gini",
    "stopping=standard",
    "hydra.sweep.dir=s",
)
"""Two spellings of the same work: the fingerprints are equal, the names are not."""


def test_a_resumed_sweep_keeps_every_run_under_its_own_name(toy, here):
    for seeds in ("seed=1,2", "seed=1,2,3"):
        table = toy("-m", *TWO_NAMES, seeds, "skip_finished=true").out
        told = {line.split()[0]: line.split()[-2] for line in table.splitlines()[2:4]}
        assert told == dict.fromkeys(("cart", "greedy"), str(seeds.count(",") + 1))
    kept = [read_run(folder) for folder in run_folders(here / "s")]
    assert sorted((run.method, run.seed) for run in kept) == [
        (m, s) for m in ("cart", "greedy") for s in (1, 2, 3)
    ]
    assert len({run.fingerprint for run in kept}) == 3


@pytest.mark.slow
def test_two_sweeps_at_once_in_one_folder_of_work_disturb_nobody(command, here):
    arguments = (
        "run",
        "--plugin",
        "toy.py",
        "dataset=toy",
        "tracker=none",
        "-m",
        "seed=1,2,3",
        "skip_finished=true",
    )
    results = [command.finish(process) for process in [command.start(*arguments) for _ in range(2)]]
    assert [result.status for result in results] == [0, 0], [result.err for result in results]
    folders = run_folders(here / "multirun")
    assert len(folders) == 6
    assert all(read_run(folder).verified for folder in folders)
    assert "3 finished before" in command.run(*arguments).out


def test_class_weights_are_swept_over(toy, here):
    words = "class_weight=null,balanced,{yes: 3, no: 0.5}"
    assert toy("-m", "method=id3", "encoder=bins", words, "hydra.sweep.dir=s").status == 0
    read = [json.loads((here / f"s/{k}/record.json").read_text()) for k in range(3)]
    found = [record["config"]["class_weight"] for record in read]
    assert found == [None, "balanced", {"yes": 3.0, "no": 0.5}]
    assert len({record["fingerprint"] for record in read}) == 3
    assert "unknown class 'maybe'" in toy("class_weight={maybe: 1}").error


def test_shares_of_the_training_rows_are_swept_over_and_read_again(toy, call, here):
    words = ("method=id3", "encoder=bins", "train_fraction=0.25,0.5,1", "hydra.sweep.dir=s")
    done = toy("-m", *words)
    assert done.status == 0 and "train_fraction" in done.out.splitlines()[0], done.err
    read = [json.loads((here / f"s/{k}/record.json").read_text()) for k in range(3)]
    assert [record["config"]["train_fraction"] for record in read] == [0.25, 0.5, 1.0]
    taught = [record["data"]["n_train"] for record in read]
    assert taught[0] < taught[1] < taught[2]
    assert len({record["data"]["n_test"] for record in read}) == 1
    why = call("why", "s/0", "0", "--plugin", "toy.py")
    assert why.status == 0 and f"{taught[0]} rows" in why.out, why.out + why.err
    compared = call("compare", "s", "--by", "train_fraction")
    assert compared.status == 0 and "0.25" in compared.out, compared.err
    again = toy("-m", *words, "skip_finished=true")
    assert again.status == 0 and "3 finished before" in again.out
    assert "train_fraction must be > 0 and ≤ 1; got 2.0" in toy("train_fraction=2").error
