"""Jobs of a sweep, here and in other processes: what they report, and what is said of those that
report nothing.
"""

from __future__ import annotations

import re
import shutil
import socket

import pytest
from cli.fresh_launcher import fresh_launcher
from cli.tracker_lines import lines_of

from arboretum.runs.folder import read_run
from arboretum.runs.sweeps import Notes


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


def before_job(here, number: int, words: str) -> dict[str, str]:
    """Install the launcher "fresh"; in the worker of a job, some code comes first.  Returns the
    environment that finds it.
    """
    environment = fresh_launcher(here)
    source = here / "path" / "hydra_plugins" / "hydra_joblib_launcher" / "joblib_launcher.py"
    first = f"    if number == {number}:\n        {words}\n"
    last = "    Path(f'files-{number}').write_text(' '.join(sorted(done.return_value[0].files)))\n"
    text = source.read_text().replace("    done = run_job(", f"{first}    done = run_job(")
    source.write_text(text.rstrip("\n") + f"\n{last}")
    return environment


OTHER_DISK = "function.notes.token = 'of another disk'"


@pytest.mark.slow
def test_a_worker_that_does_not_see_the_sweep_s_folder_sends_its_run_home(command, here):
    environment = before_job(here, 1, OTHER_DISK)
    words = ("run", "--plugin", "toy.py", "dataset=toy", "tracker=none", "-m", "seed=1,2,3")
    result = command.run(*words, "hydra/launcher=fresh", "hydra.sweep.dir=s", env=environment)
    assert result.status == 0, result.err
    assert "3 of 3; " in result.out
    sent = [(here / f"files-{number}").read_text() for number in range(3)]
    assert sent == ["", "record.json tree.json tree.svg tree.txt", ""]
    command.run(*words, "hydra.sweep.dir=here")
    for number in "012":
        one, other = read_run(here / "s" / number), read_run(here / "here" / number)
        assert (one.fingerprint, one.metrics, one.tree) == (
            other.fingerprint,
            other.metrics,
            other.tree,
        )


@pytest.mark.slow
def test_what_a_component_writes_by_name_comes_home_too(command, here):
    environment = before_job(here, 0, OTHER_DISK)
    result = command.run(
        *("run", "--plugin", "toy.py", "dataset=toy", "tracker=none", "-m", "seed=1"),
        *("method=exact", "solver=gosdt", "objective=accuracy", "objective.lam=0.1"),
        *("solver.proof=kept/mine.proof", "hydra/launcher=fresh", "hydra.sweep.dir=s"),
        env=environment,
    )
    assert result.status == 0, result.err
    assert read_run(here / "s" / "0").config["solver"]["proof"] == "kept/mine.proof"
    accepted = command.run("verify", "kept/mine.proof", "--plugin", "toy.py")
    assert accepted.status == 0, accepted.err


@pytest.mark.slow
def test_a_failure_elsewhere_comes_home_with_its_note(command, here):
    environment = before_job(here, 1, OTHER_DISK)
    result = command.run(
        *("run", "--plugin", "toy.py", "dataset=toy", "tracker=none", "-m", "seed=1,2"),
        *("dataset.crashes_at=2", "hydra/launcher=fresh", "hydra.sweep.dir=s"),
        env=environment,
    )
    assert result.status == 1 and "2 of 2, 1 failed; " in result.out
    assert "a bug" in (here / "s" / "1" / "error.txt").read_text()


@pytest.mark.slow
def test_a_worker_without_room_names_its_place_and_the_others_go_on(command, here):
    full = (
        "import tempfile; tempfile.mkdtemp = lambda **how: open('/dev/full', 'wb', 0).write(b'x')"
    )
    environment = before_job(here, 1, f"{OTHER_DISK}; {full}")
    words = ("run", "--plugin", "toy.py", "dataset=toy", "tracker=none", "-m", "seed=1,2,3")
    words += ("hydra/launcher=fresh", "hydra.sweep.dir=s", "skip_finished=true")
    result = command.run(*words, env=environment)
    assert result.status == 1 and "3 of 3, 1 failed; " in result.out, result.err
    assert f"no temporary folder can be made on {socket.gethostname()} (No space left" in result.err
    assert "make room, or name another with TMPDIR=FOLDER there" in result.err
    assert "Traceback" not in result.err
    again = command.run(*words, env=environment)  # what is left is its first job
    assert again.status == 0 and "3 of 3, 2 finished before; " in again.out, again.err


@pytest.mark.slow
def test_a_worker_whose_data_are_others_refuses_the_run(command, here):
    (here / "t.csv").write_text("a,y\n" + "".join(f"{i},{'np'[i > 9]}\n" for i in range(20)))
    environment = before_job(here, 1, "Path('t.csv').write_text('a,y\\n1,n\\n2,p\\n')")
    result = command.run(
        *("run", "-m", "dataset=file", "dataset.path=t.csv", "dataset.target=y", "split=none"),
        *("tracker=none", "seed=1,2", "hydra/launcher=fresh", "hydra.sweep.dir=s"),
        env=environment,
    )
    assert result.status == 1 and "2 of 2, 1 failed; " in result.out
    assert "of this worker is another than the sweep's (checksums " in result.err


@pytest.mark.slow
def test_a_worker_with_another_version_of_a_plugin_refuses_the_run_and_names_it(command, here):
    other = "import arboretum.engine.code as c; own = c.code_hash; c.code_hash = "
    other += "lambda paths: 'f' * 64 if 'arboretum_' in str(paths) else own(paths)"
    environment = before_job(here, 1, other)
    result = command.run(
        *("run", "--plugin", "toy.py", "dataset=toy", "tracker=none", "-m", "seed=1,2"),
        *("method=cart", "hydra/launcher=fresh", "hydra.sweep.dir=s"),
        env=environment,
    )
    assert result.status == 1 and "2 of 2, 1 failed; " in result.out, result.err
    assert re.search(r"seed=2: arboretum_\w+ of this worker is another than the sw", result.err)
    assert "(code ffffffffffff and " in result.err
    assert "install the same version on both machines" in result.err


@pytest.mark.slow
def test_one_piece_of_work_under_two_names_is_sent_out_once(command, here):
    counted = 'with open("loads", "a") as file:\n            file.write("x")\n        '
    source = (here / "toy.py").read_text()
    (here / "toy.py").write_text(source.replace("time.sleep(", f"{counted}time.sleep("))
    result = command.run(
        *("run", "--plugin", "toy.py", "dataset=toy", "tracker=none", "skip_finished=true", "-m"),
        *("+study={method:a},{method:b}", "hydra/launcher=fresh", "hydra.sweep.dir=s"),
        env=fresh_launcher(here),
    )
    assert result.status == 0, result.err
    assert "2 of 2, 1 finished before; " in result.out
    names = [read_run(here / "s" / number).config["study"]["method"] for number in "01"]
    assert names == ["a", "b"]
    assert (here / "loads").read_text() == "xx", "by the command, which compares, and by one worker"


def test_joblib_runs_the_jobs_in_parallel_with_progress_tracking_and_skip_finished(command, here):
    pytest.importorskip(
        "hydra_plugins.hydra_joblib_launcher", reason="the extra 'joblib' is not installed"
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
    # so slow that the tracker is told of the first while others run
    words = ("seed=range(0,5)", "dataset.fails_at=0", "dataset.seconds=0.8")
    result = command.run(*arguments, *words)
    assert result.status == 1, result.err
    assert "5 of 5, 1 failed; " in result.out
    assert "arboretum: failed: seed=0: seed 0 was told to fail" in result.err
    calls = [line["call"] for line in lines_of(here)]
    assert (
        calls.count("store") == 4
        and calls.count("store_failure") == 1
        and calls[-1] == "close_sweep"
    )
    again = command.run(*arguments, *words, "skip_finished=true")
    assert "4 finished before" in again.out


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
