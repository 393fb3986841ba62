"""One tree on two nodes that share no disk: each reads its parts from a copy of its own.  A node
is killed while the tree grows; a copy is another file, or not there.
"""

from __future__ import annotations

import itertools
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from ray_nodes import (
    ENVIRONMENT,
    SLOW_IMPURITY,
    end_group,
    may_unshare,
    start_head,
    start_node,
    wait_for,
)

import arboretum
from arboretum.api import DataError
from arboretum_ray.pool import ActorPool

pytest.importorskip("ray", reason="Ray is not installed (make test-ray)")
pytestmark = [pytest.mark.slow, pytest.mark.cold]

HEAD, SECOND, PORT = "127.0.0.5", "127.0.0.6", 6394
N, GROUP = 4000, 500


def write_rows(path: Path, seed: int = 0) -> Path:
    draw = np.random.default_rng(seed)
    x, colour = draw.integers(0, 50, N) / 2, draw.integers(0, 3, N)
    label = np.where((x > 9) ^ (colour == 1) ^ (draw.random(N) < 0.1), "yes", "no")
    words = np.array(["red", "green", "blue"])[colour]
    table = pa.table({"x": x, "colour": words, "z": draw.integers(0, 9, N), "label": label})
    parquet.write_table(table, path, row_group_size=GROUP)
    return path


class Cluster:
    """Two nodes of a processor each; the second has a data folder of its own."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder, self.data = folder, data
        self.head = start_head(folder / "head.log", folder / "r", HEAD, PORT)
        self.second = None

    def start_second(self, copied: Path | None) -> None:
        log = self.folder / "second.log"
        where = {"host": SECOND, "hidden": self.data.parent, "copied": copied}
        self.second = start_node(log, f"--address={HEAD}:{PORT}", **where)
        wait_for(lambda: "Ray runtime started" in log.read_text(), 90.0)

    def end(self) -> None:
        for process in filter(None, (self.second, self.head)):
            end_group(process)


@pytest.fixture
def cluster(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch):
    if not may_unshare():
        pytest.skip("this user may not give a process a file system of its own (unshare -m)")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    found = Cluster(tmp_path_factory.mktemp("ray"), write_rows(tmp_path / "data" / "rows.parquet"))
    yield found
    found.end()


@pytest.fixture
def elsewhere(cluster: Cluster) -> Path:
    """A folder that both nodes see; what is copied from there lies in neither data folder."""
    folder = cluster.folder / "elsewhere"
    folder.mkdir()
    return folder


def run(rows: str, *more: str):
    # a relative path, which leads nowhere on another node
    data = ("dataset=file", "dataset.path=data/rows.parquet", "dataset.target=label", "split=none")
    grown = ("encoder=midpoints", "method=cart", "stopping.standard.max_depth=5", "tracker=none")
    return arboretum.run([*data, *grown, f"rows={rows}", *more])


def on_ray(*more: str):
    return run("ray", f"rows.address={HEAD}:{PORT}", "rows.timeout=90", *more)


def copy_of(cluster: Cluster, elsewhere: Path) -> Path:
    (elsewhere / "rows.parquet").write_bytes(cluster.data.read_bytes())
    return elsewhere / "rows.parquet"


def check(found) -> None:
    """Every field of the tree is that of rows in memory, every measure that of rows in chunks."""
    known = run("chunks")
    assert found.tree == run("memory").tree and found.tree.n_leaves > 20
    assert found.metrics == known.metrics and found.data == known.data
    assert found.checked["data"].endswith("where its rows lie")


def test_each_node_reads_its_own_copy_and_the_tree_is_that_of_rows_in_memory(cluster, elsewhere):
    cluster.start_second(copy_of(cluster, elsewhere))
    found = on_ray()
    check(found)
    note = next(note for note in found.notes if note.startswith("rows lay"))
    assert note.startswith("rows lay in 2 actors on 2 nodes; growth sent ")
    assert " messages and " in note and note.endswith("kB a level")


@pytest.mark.parametrize("question", ["code", "tables", "visit"])
def test_a_node_that_is_killed_loses_nothing(cluster, elsewhere, question, monkeypatch):
    cluster.start_second(copy_of(cluster, elsewhere))
    start, asked = ActorPool.start, []

    def start_and_kill(self, what):
        calls, name = start(self, what), what.name
        asked.append(name)
        if name == question and asked.count(question) == (2 if question == "tables" else 1):
            end_group(cluster.second)
        return calls

    monkeypatch.setattr(ActorPool, "start", start_and_kill)
    found = on_ray()
    check(found)
    assert [note for note in found.notes if "was lost" in note]


@pytest.mark.parametrize("what", ["no file", "another file", "other values"])
def test_a_node_with_another_file_or_none_is_named_with_the_file(cluster, elsewhere, what):
    copied = None
    if what != "no file":
        copied = write_rows(elsewhere / "rows.parquet", seed=1)
    if what == "other values":  # of the same size, with the same footer
        copied = copy_of(cluster, elsewhere)
        swap_groups(copied)
    cluster.start_second(copied)
    with pytest.raises(DataError) as raised:
        on_ray()
    told = str(raised.value)
    assert told.startswith(f"node {SECOND}: ") and str(cluster.data) in told
    assert "\n" not in told
    if what != "no file":
        assert "the same" in told


def swap_groups(path: Path) -> None:
    """Let the values of a column of one row group take the place of another's, in each half of the
    file: whichever half the node holds.
    """
    metadata, content = parquet.ParquetFile(path).metadata, path.read_bytes()
    with path.open("r+b") as file:
        for half in (range(4), range(4, 8)):
            chunks = [metadata.row_group(g).column(0) for g in half]
            first, second = next(
                (place_of(a), place_of(b))
                for a, b in itertools.combinations(chunks, 2)
                if a.total_compressed_size == b.total_compressed_size
            )
            assert content[first] != content[second]
            for place, values in ((first, content[second]), (second, content[first])):
                file.seek(place.start)
                file.write(values)


def place_of(chunk) -> slice:
    """Where a column of a row group lies in the file."""
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    return slice(begin, begin + chunk.total_compressed_size)


def test_actors_that_a_killed_command_left_are_gone(cluster, elsewhere, command):
    """The cluster has room for the next one."""
    cluster.start_second(copy_of(cluster, elsewhere))
    words = ("dataset=file", "dataset.path=data/rows.parquet", "dataset.target=label")
    ray = ("rows=ray", f"rows.address={HEAD}:{PORT}", "split=none", "tracker=none")
    slow = ("--plugin", "slow.py")
    (cluster.data.parents[1] / "slow.py").write_text(SLOW_IMPURITY)
    for how, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
        started = command.start(
            "run", *slow, *words, *ray, "impurity=slow", "criterion=reduction", env=ENVIRONMENT
        )
        wait_for(lambda: Path("growing").exists(), 120.0)
        Path("growing").unlink()
        started.send_signal(how)
        ended = command.finish(started)
        assert ended.status == status, ended.err
        on_ray()
