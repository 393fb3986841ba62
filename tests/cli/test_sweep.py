"""Sweeps: one line of progress, failures at the end, nothing lost, nothing done twice."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time

import pytest

from arboretum.runs.folder import read_run, run_folders
from arboretum.runs.sweeps import Notes


def lines_of(here) -> list[dict]:
    return [json.loads(line) for line in (here / "lines.jsonl").read_text().splitlines()]


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
    assert (here / "s" / "1" / "error.txt").read_text() == "seed 2 was told to fail\n"


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


LAUNCHER = '''
"""Runs each job in a fresh process, as joblib and submitit do: everything is pickled with
cloudpickle, nothing is inherited."""
import subprocess, sys, tempfile
import cloudpickle as pickle
from dataclasses import dataclass
from pathlib import Path
from hydra.core.config_store import ConfigStore
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from omegaconf import open_dict


@dataclass
class FreshConf:
    _target_: str = "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher"


ConfigStore.instance().store(group="hydra/launcher", name="fresh", node=FreshConf, provider="fresh")


class JoblibLauncher(Launcher):  # a name that configurations may give
    def setup(self, *, hydra_context, task_function, config):
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def launch(self, job_overrides, initial_job_idx):
        returns = []
        for i, overrides in enumerate(job_overrides):
            sweep = (self.hydra_context, self.task_function, self.config)
            job = (*sweep, list(overrides), initial_job_idx + i, Singleton.get_state())
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "job").write_bytes(pickle.dumps(job))
                code = f"from {__name__} import work; work({folder!r})"
                subprocess.run([sys.executable, "-c", code], check=True)
                value = pickle.loads(Path(folder, "value").read_bytes())
            done = JobReturn(status=JobStatus.COMPLETED)
            done.return_value = value
            returns.append(done)
        return returns


def work(folder):
    setup_globals()
    job = pickle.loads(Path(folder, "job").read_bytes())
    context, function, config, overrides, number, state = job
    Singleton.set_state(state)
    sweep_config = context.config_loader.load_sweep_config(config, overrides)
    with open_dict(sweep_config):
        sweep_config.hydra.job.id = sweep_config.hydra.job.num = number
    done = run_job(hydra_context=context, task_function=function, config=sweep_config,
                   job_dir_key="hydra.sweep.dir", job_subdir_key="hydra.sweep.subdir")
    Path(folder, "value").write_bytes(pickle.dumps(done.return_value))
'''


def fresh_launcher(here) -> dict[str, str]:
    """Install the launcher "fresh" in the working folder; returns the environment that finds it."""
    package = here / "path" / "hydra_plugins" / "hydra_joblib_launcher"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "joblib_launcher.py").write_text(LAUNCHER)
    return {"PYTHONPATH": str(here / "path")}


@pytest.mark.slow
def test_jobs_in_other_processes_load_one_file_plugins_and_report_to_the_parent(command, here):
    result = command.run(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "-m",
        "seed=1,2",
        "dataset.fails_at=2",
        "hydra/launcher=fresh",
        "hydra.sweep.dir=s",
        env=fresh_launcher(here),
    )
    assert result.status == 1, result.err
    assert "2 of 2, 1 failed; " in result.out
    assert "arboretum: failed: seed=2: seed 2 was told to fail" in result.err
    assert [line["call"] for line in lines_of(here) if line["call"] != "prepare"] == [
        "open_sweep",
        "store",
        "store_failure",
        "annotate",
        "close_sweep",
    ]


@pytest.mark.slow
def test_a_killed_worker_leaves_table_and_parent_of_what_is_finished(command, here):
    result = command.run(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "-m",
        "seed=1,2",
        "tracker.fails=store",
        "tracker.kills=true",
        "tracker.heals=true",
        "hydra/launcher=fresh",
        "hydra.sweep.dir=s",
        env=fresh_launcher(here),
    )
    assert result.status == 1
    assert result.out.splitlines()[2].split()[-2] == "1", (
        "the run that was kept before its worker died"
    )
    stored, told, closed = lines_of(here)[-3:]
    assert (stored["call"], stored["name"], stored["sweep"]) == (
        "store",
        "seed=1 cart toy",
        "parent",
    )
    assert told["call"] == "annotate" and (closed["status"], "test_error" in closed["best"]) == (
        "FAILED",
        True,
    )


def elsewhere(monkeypatch, number: int, what: str) -> None:
    """Let a job's worker write to a disk of its own: its record, its note, or both are not where
    the sweep looks.
    """
    kept = Notes.write

    def write(notes: Notes, note) -> None:
        if note.job == number and what != "note":
            shutil.rmtree(note.folder)
        if note.job != number or what == "record":
            kept(notes, note)

    monkeypatch.setattr(Notes, "write", write)
    monkeypatch.setattr("arboretum.cli.sweep.LATE_SECONDS", 0.0)


@pytest.mark.parametrize("what", ["both", "note", "record"])
def test_a_run_of_which_nothing_is_here_is_a_failure(what, toy, here, monkeypatch):
    elsewhere(monkeypatch, 2, what)
    result = toy("-m", "seed=1,2,3,4", "hydra.sweep.dir=s")
    assert result.status == 1 and "4 of 4, 1 failed; " in result.out
    (said,) = (line for line in result.err.splitlines() if "failed: " in line)
    where = (
        f"its record is not in {here / 's' / '2'}"
        if what == "record"
        else f"it left no word in {here / 's'}"
    )
    assert (
        said.startswith(f"arboretum: failed: seed=3: {where}: ") and "hydra.sweep.dir names" in said
    )
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert toy("-m", "seed=1,2,3,4", "hydra.sweep.dir=s", "skip_finished=true").status == 0, (
        "it can be gone on with"
    )


def test_a_run_of_a_search_of_which_nothing_is_here_is_a_failure(toy, here, monkeypatch):
    elsewhere(monkeypatch, 1, "both")
    words = (
        "stopping.standard.max_depth=range(1,5)",
        "hydra/sweeper=arboretum_optuna",
        "hydra.sweeper.n_trials=3",
    )
    result = toy("-m", *words, "hydra.sweep.dir=s")
    assert (
        result.status == 1
        and "3 of 3, 1 failed; " in result.out
        and "it left no word in " in result.err
    )


@pytest.mark.slow
def test_a_worker_that_does_not_share_the_sweep_s_folder_is_told_of(command, here):
    environment = fresh_launcher(here)
    source = here / "path" / "hydra_plugins" / "hydra_joblib_launcher" / "joblib_launcher.py"
    away = (
        "    if number == 1:\n        function.notes, sweep_config.hydra.sweep.dir = "
        "Path(folder), folder\n"
    )
    source.write_text(
        source.read_text().replace("    done = run_job(", f"{away}    done = run_job(")
    )
    result = command.run(
        "run",
        "--plugin",
        "toy.py",
        "dataset=toy",
        "tracker=none",
        "-m",
        "seed=1,2,3",
        "hydra/launcher=fresh",
        "hydra.sweep.dir=s",
        env=environment,
    )
    assert result.status == 1, result.err
    assert "3 of 3, 1 failed; " in result.out
    assert (
        f"arboretum: failed: seed=2: it left no word in {here / 's'}: its worker ended, or "
        "does not see that folder" in result.err
    )


def test_joblib_runs_the_jobs_in_parallel_with_progress_tracking_and_skip_finished(command, here):
    pytest.importorskip(
        "hydra_plugins.hydra_joblib_launcher", reason="the extra 'parallel' is not installed"
    )
    arguments = (
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        "-m",
        "hydra/launcher=joblib",
        "hydra.launcher.n_jobs=2",
        "hydra.sweep.dir=s",
    )
    result = command.run(*arguments, "seed=range(0,4)", "dataset.fails_at=2")
    assert result.status == 1, result.err
    assert "4 of 4, 1 failed; " in result.out
    assert "arboretum: failed: seed=2: seed 2 was told to fail" in result.err
    calls = [line["call"] for line in lines_of(here)]
    assert (
        calls.count("store") == 3
        and calls.count("store_failure") == 1
        and calls[-1] == "close_sweep"
    )
    again = command.run(*arguments, "seed=range(0,4)", "dataset.fails_at=2", "skip_finished=true")
    assert "3 finished before" in again.out


def test_a_job_here_copies_no_configuration_and_finds_what_a_job_of_hydras_launcher_finds(
    toy, here, monkeypatch
):
    from omegaconf import DictConfig

    copied, deepcopy = [], DictConfig.__deepcopy__
    monkeypatch.setattr(
        DictConfig, "__deepcopy__", lambda self, memo: copied.append(self) or deepcopy(self, memo)
    )
    counts = []
    for folder, seeds in (("few", "1,2"), ("many", "1,2,3,4,5,6")):
        copied.clear()
        assert (
            toy("-m", f"seed={seeds}", "dataset.fails_at=2", f"hydra.sweep.dir={folder}").status
            == 1
        )
        counts.append(len(copied))
    assert counts[1] <= counts[0], "what is copied is copied per sweep, not per job"
    theirs = toy(
        "-m",
        "seed=1,2",
        "dataset.fails_at=2",
        "hydra.sweep.dir=theirs",
        "hydra.sweep.subdir=job-${hydra.job.num}",
    )
    assert theirs.status == 1 and "arboretum: failed: seed=2: seed 2 was told to fail" in theirs.err
    one, other = read_run(here / "few" / "0"), read_run(here / "theirs" / "job-0")
    assert (one.fingerprint, one.metrics, one.config) == (
        other.fingerprint,
        other.metrics,
        other.config,
    )
