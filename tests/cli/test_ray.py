"""A sweep on a cluster of two Ray nodes that share no disk: the second one sees neither the sweep's
folder nor the plugin's file.  Nodes and workers are killed.

``make test-ray`` installs Ray into an environment of its own and does these.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from cli.test_launchers import MORTAL, finished, stored
from ray_nodes import ENVIRONMENT, end_group, may_unshare, start_head, start_node, wait_for

pytest.importorskip("ray", reason="Ray is not installed (make test-ray)")
pytest.importorskip("hydra_plugins.hydra_ray_launcher", reason="the extra 'ray' is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.cold]

HOST, PORT = "127.0.0.2", 6391


class Cluster:
    """Two nodes; the second may be killed and started again."""

    def __init__(self, folder: Path, hidden: Path) -> None:
        self.folder, self.hidden = folder, hidden
        self.head = start_head(folder / "head.log", folder / "r", HOST, PORT)
        self.start_second()

    def start_second(self) -> None:
        log = self.folder / "second.log"
        self.second = start_node(log, f"--address={HOST}:{PORT}", host=HOST, hidden=self.hidden)
        wait_for(lambda: "Ray runtime started" in log.read_text(), 90.0)

    def end(self) -> None:
        for process in (self.second, self.head):
            end_group(process)


@pytest.fixture
def cluster(here: Path, tmp_path_factory: pytest.TempPathFactory):
    if not may_unshare():
        pytest.skip("this user may not give a process a file system of its own (unshare -m)")
    found = Cluster(tmp_path_factory.mktemp("ray", numbered=True), here)
    yield found
    found.end()


@pytest.fixture
def words(here: Path) -> tuple[str, ...]:
    """Words of a sweep; its log lies where both nodes see it."""
    log = here.with_name(f"{here.name}-log")
    log.mkdir()
    (here / "mortal.py").write_text(
        MORTAL.replace(
            "time.sleep(self.seconds)",
            "time.sleep(self.seconds)\n"
            "        (folder / f'{os.getpid()}-sees-{Path(HERE).exists()}').touch()",
        ).replace("import os,", f"HERE = {str(here / 'mortal.py')!r}\nimport os,")
    )
    return (
        *("run", "--plugin", "mortal.py", "--plugin", "lines.py", "-m", "dataset=mortal"),
        *(f"dataset.log={log}", "tracker=lines", "hydra.sweep.dir=s", "hydra/launcher=ray"),
        f"hydra.launcher.ray.init.address={HOST}:{PORT}",
    )


def seen(here: Path) -> set[str]:
    """Whether the processes that loaded data saw the plugin's file: "True", "False"."""
    log = here.with_name(f"{here.name}-log")
    return {path.name.rpartition("-")[2] for path in log.glob("*-sees-*")}


def test_nodes_without_a_common_disk_do_a_sweep(cluster, words, command, here):
    result = command.run(*words, "seed=range(12)", "dataset.seconds=0.3", env=ENVIRONMENT)
    assert result.status == 0, result.err
    assert finished(here / "s") == stored(here) == sorted(map(str, range(12)))
    assert seen(here) == {"True", "False"}, "both nodes worked, and one sees no file of ours"


def test_a_killed_worker_and_a_killed_node_lose_nothing(cluster, words, command, here):
    process = command.start(
        *words, "seed=range(24)", "dataset.seconds=0.3", "dataset.dies_at=5", env=ENVIRONMENT
    )
    wait_for(lambda: "False" in seen(here))
    end_group(cluster.second)
    result = command.finish(process)
    assert result.status == 0, result.err
    assert finished(here / "s") == stored(here) == sorted(map(str, range(24)))


def test_after_a_killed_command_the_same_again_finishes(cluster, words, command, here):
    process = command.start(*words, "seed=range(24)", "dataset.seconds=0.3", env=ENVIRONMENT)
    wait_for(lambda: "True" in seen(here) and len(finished(here / "s")) >= 2)
    os.kill(process.pid, signal.SIGKILL)
    command.finish(process)
    time.sleep(2.0)
    before = finished(here / "s")
    again = command.run(
        *words, "seed=range(24)", "dataset.seconds=0.3", "skip_finished=true", env=ENVIRONMENT
    )
    assert again.status == 0, again.err
    assert finished(here / "s") == stored(here) == sorted(map(str, range(24)))
    assert f"{len(before)} finished before" in again.out
