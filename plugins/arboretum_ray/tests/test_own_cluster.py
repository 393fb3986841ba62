"""A run without an address starts a cluster of its own, and leaves no process, however it ends."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

import pytest
from ray_nodes import ENVIRONMENT, SLOW_IMPURITY, descendants, wait_for

pytest.importorskip("ray", reason="Ray is not installed (make test-ray)")
pytestmark = [pytest.mark.slow, pytest.mark.cold]

RUN = ("run", "dataset=iris", "encoder=midpoints", "rows=ray", "tracker=none")


def is_there(pid: int) -> bool:
    """Whether a process lives; but for Ray's agents, which after a killed command end in a minute
    or two by themselves.
    """
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z" and "Agent" not in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


@pytest.fixture
def ray_folder():
    """A folder for Ray, whose name is short enough for its sockets."""
    with tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def test_a_split_divides_rows_and_no_cluster_that_is_gone_is_looked_for(command, here, ray_folder):
    # where Ray would go if it were asked for no cluster in particular
    (ray_folder / "ray").mkdir()
    (ray_folder / "ray" / "ray_current_cluster").write_text("127.0.0.9:1")
    env = {**ENVIRONMENT, "RAY_TMPDIR": str(ray_folder)}
    words = ("split=holdout", "method=cart", "hydra.run.dir=r")
    result = command.run(*RUN, *words, env=env)
    assert result.status == 0, result.err
    known = command.run(*RUN, *words[:2], "rows=chunks", "hydra.run.dir=k")
    assert known.status == 0, known.err
    assert (here / "r" / "tree.json").read_bytes() == (here / "k" / "tree.json").read_bytes()
    assert [line for line in result.out.splitlines() if line.startswith("test")] == [
        line for line in known.out.splitlines() if line.startswith("test")
    ]


@pytest.mark.parametrize(
    ("how", "status"),
    [(None, 0), (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
)
def test_no_process_is_left(command, here, how, status):
    (here / "slow.py").write_text(SLOW_IMPURITY.replace("60", "3" if how is None else "60"))
    grown = ("criterion=reduction", "impurity=slow", "stopping.standard.max_depth=1")
    started = command.start(
        *RUN, "--plugin", "slow.py", "split=none", "method=greedy", *grown, env=ENVIRONMENT
    )
    wait_for(Path("growing").exists, 120.0)
    below = descendants(started.pid)
    assert len(below) > 3, "a cluster, and its actors"
    if how is not None:
        started.send_signal(how)
    ended = command.finish(started)
    assert ended.status == status, ended.err
    wait_for(lambda: not any(map(is_there, below)), 60.0)
    if how is not None and how != signal.SIGKILL:
        assert "Traceback" not in ended.err


MY_DATA = '''
"""A data set in parts of its own class."""
import attrs
import numpy as np
from arboretum.api import Column, ColumnKind, InParts, Table, Target, Task


def table(seed, n):
    x = np.random.default_rng(seed).integers(0, 9, n).astype(float)
    target = Target("y", Task.classification, (x > 4).astype(np.int32), ("no", "yes"))
    return Table("mine", (Column("x", ColumnKind.continuous, x),), target)


@attrs.frozen
class MyPart:
    """Drawn where it is loaded."""

    seed: int
    n_rows: int = 50

    @property
    def name(self):
        return f"part {self.seed}"

    def load(self):
        return table(self.seed, self.n_rows)

    def column(self, name):
        return self.load().column(name)

    def target(self):
        return self.load().target

    def weights(self):
        return self.load().row_weights()


@attrs.frozen
class Mine:
    """Drawn part by part."""

    kind, name, paper, capabilities = "dataset", "mine", "", ()

    def load(self, seed):
        return table(0, 50)

    def in_parts(self, seed):
        return InParts(table(0, 0), tuple(map(MyPart, range(4))))
'''


def test_a_plugin_file_travels_to_the_actors(command, here):
    (here / "mine.py").write_text(MY_DATA)
    words = ("run", "--plugin", "mine.py", "dataset=mine", "split=none", "encoder=midpoints")
    result = command.run(*words, "method=cart", "rows=ray", "tracker=none", env=ENVIRONMENT)
    assert result.status == 0, result.err
    assert "cart on mine (200 rows" in result.out
    assert "rows lay in" in result.out and "actor" in result.out
