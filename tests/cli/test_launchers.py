"""Sweeps on the launchers of others, for real: the same runs whoever does them; what is killed
loses nothing, and nothing is done twice.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from cli.tracker_lines import lines_of

from arboretum.runs.folder import read_run

pytestmark = [pytest.mark.slow, pytest.mark.cold]

MORTAL = '''
"""A data set whose loading takes a while, and kills its process where it is told to."""
import os, signal, time
from pathlib import Path
import attrs
import numpy as np
from arboretum.api import Column, ColumnKind, Table, Target, Task, param


@attrs.frozen
class Mortal:
    """Two columns, two classes."""

    kind, name, paper, capabilities = "dataset", "mortal", "", ("randomised",)

    log: str = param("", "folder for a file per process")
    seconds: float = param(0.0, "how long loading takes", ge=0.0, unit="s")
    dies_at: int = param(-1, "the seed at which the process is killed, the first time")

    def load(self, seed):
        folder = Path(self.log)
        (folder / f"pid-{os.getpid()}").touch()
        time.sleep(self.seconds)
        with open(folder / f"loaded-{seed}", "a") as file:
            file.write("x")
        if seed == self.dies_at and not (folder / "dead").exists():
            (folder / "dead").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        x = np.random.default_rng(seed).normal(size=(40, 2))
        codes = (x[:, 0] + 0.5 * x[:, 1] > 0).astype(np.int32)
        codes[:2] = 0, 1
        columns = tuple(Column(n, ColumnKind.continuous, x[:, i]) for i, n in enumerate("ab"))
        return Table("mortal", columns, Target("y", Task.classification, codes, ("no", "yes")))
'''

ENGINES = {
    "joblib": ("hydra_plugins.hydra_joblib_launcher", ("hydra.launcher.n_jobs=2",)),
    "submitit_local": ("hydra_plugins.hydra_submitit_launcher", ("--runs-per-job", "3")),
}


def words_of(engine: str) -> tuple[str, ...]:
    """Words that choose a launcher; skips the test where it is not installed."""
    package, words = ENGINES[engine]
    pytest.importorskip(package, reason=f"no launcher {engine} is installed")
    return (f"hydra/launcher={engine}", *words)


@pytest.fixture
def mortal(here: Path) -> tuple[str, ...]:
    """Words of a sweep over the data set, in the folder ``s``."""
    (here / "mortal.py").write_text(MORTAL)
    (here / "log").mkdir()
    return (
        *("run", "--plugin", "mortal.py", "--plugin", "lines.py", "-m", "dataset=mortal"),
        *(f"dataset.log={here / 'log'}", "tracker=lines", "hydra.sweep.dir=s"),
    )


def finished(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/record.json"))


def stored(here: Path) -> list[str]:
    return sorted(Path(one["folder"]).name for one in lines_of(here) if one["call"] == "store")


def alive(here: Path) -> list[int]:
    """Processes that have loaded data and still run."""
    found = []
    for path in (here / "log").glob("pid-*"):
        pid = int(path.name.removeprefix("pid-"))
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        found += [pid] * (state != "Z")
    return found


def wait_for(what, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_changes_no_result(engine, mortal, command, here):
    mortal = (*mortal, "method=asr", "theta=0.01")  # which two components of it share
    result = command.run(*mortal, *words_of(engine), "seed=range(7)")
    assert result.status == 0, result.err
    assert finished(here / "s") == stored(here) == sorted("0123456")
    assert command.run(*mortal, "seed=range(7)", "hydra.sweep.dir=plain").status == 0
    for number in "0123456":
        one, other = read_run(here / "s" / number), read_run(here / "plain" / number)
        assert (one.fingerprint, one.metrics, one.config) == (
            other.fingerprint,
            other.metrics,
            other.config,
        )


def test_a_killed_worker_costs_nothing_that_is_finished(mortal, command, here):
    words = (*mortal, *words_of("joblib"), "seed=range(7)", "dataset.dies_at=4")
    result = command.run(*words)
    assert result.status == 1, result.err
    assert "a worker process ended before its runs were done" in result.err
    before = finished(here / "s")
    assert "4" not in before
    again = command.run(*words, "skip_finished=true")
    assert again.status == 0, again.err
    assert finished(here / "s") == stored(here) == sorted("0123456")


def test_with_retries_the_rest_of_a_killed_worker_is_done_at_once(mortal, command, here):
    words = (*mortal, *words_of("submitit_local"), "seed=range(7)", "dataset.dies_at=4")
    result = command.run(*words, "--retries", "2")
    assert result.status == 0, result.err
    assert finished(here / "s") == stored(here) == sorted("0123456")


@pytest.mark.parametrize(
    ("engine", "number"),
    [
        ("joblib", signal.SIGTERM),
        ("joblib", signal.SIGKILL),
        ("submitit_local", signal.SIGTERM),
    ],
)
def test_workers_end_with_their_command_and_the_same_again_finishes(
    engine, number, mortal, command, here
):
    words = (*mortal, *words_of(engine), "seed=range(12)")
    process = command.start(*words, "dataset.seconds=0.4")
    wait_for(lambda: len(finished(here / "s")) >= 2)
    os.kill(process.pid, number)
    result = command.finish(process)
    assert result.status == (143 if number == signal.SIGTERM else -9)
    wait_for(lambda: not alive(here), 10.0)
    before = finished(here / "s")
    assert len(before) < 12
    time.sleep(1.0)
    assert finished(here / "s") == before
    again = command.run(*words, "dataset.seconds=0.4", "skip_finished=true")
    assert again.status == 0, again.err
    assert finished(here / "s") == stored(here) == sorted(map(str, range(12)))
    assert f"{len(before)} finished before" in again.out


def test_a_launcher_whose_package_is_missing_names_the_extra(command, here):
    result = command.run("run", "-m", "dataset=iris", "seed=1,2", "hydra/launcher=rayy")
    assert result.status == 1 and "did you mean 'ray'" in result.err
    assert "arboretum[ray]" in result.err
