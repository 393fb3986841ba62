"""A PostgreSQL store: fresh, found by two processes at once, and read back.

Needs a driver (psycopg) and either a server named by ARBORETUM_TEST_POSTGRESQL
(postgresql+psycopg://USER@HOST/DATABASE, an empty database) or PostgreSQL's own programs, of which
a private server on the loopback is then made and ended here.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from arboretum.api import TrackerError
from arboretum.testing.suites.tracker import sample_files, sample_record, sample_run
from arboretum_mlflow.tracker import MLflowTracker

SERVER = "ARBORETUM_TEST_POSTGRESQL"
START_SECONDS = 60
WORK = """
import pathlib, sys
from arboretum_mlflow.tracker import MLflowTracker
from arboretum.testing.suites.tracker import sample_files, sample_record, sample_run
tracker = MLflowTracker(uri=sys.argv[1], artifacts=sys.argv[2], timeout=60.0)
tracker.prepare()
sweep = tracker.open_sweep("sweep " + sys.argv[3], {})
for seed in range(int(sys.argv[3]), int(sys.argv[3]) + 8):
    record, folder = sample_record(seed), pathlib.Path(sys.argv[2]) / "runs" / str(seed)
    tracker.store(sample_run(folder, seed), record, sample_files(record))
tracker.close_sweep(sweep, {"valid_error": 0.1}, "FINISHED")
"""


def program(name: str) -> str | None:
    """The path of one of PostgreSQL's programs; Debian keeps them off the path."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(kept[-1]) if kept else None)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[str]:
    """The URI of an empty database."""
    pytest.importorskip(
        "psycopg", reason="no driver for PostgreSQL (pip install 'psycopg[binary]')"
    )
    if os.environ.get(SERVER):
        yield os.environ[SERVER]
        return
    initdb, postgres = program("initdb"), program("postgres")
    if initdb is None or postgres is None:
        pytest.skip(f"no PostgreSQL on this machine, and {SERVER} names no server")
    server = Server.make(Path(initdb), Path(postgres))
    try:
        server.start()
        _make_database(server.port)
        yield server.uri
    finally:
        server.stop(signal.SIGINT)
        shutil.rmtree(server.home, ignore_errors=True)


def owner_of_servers() -> str | None:
    """Who PostgreSQL runs as where that is not this user: it does not start as root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        pytest.skip(f"PostgreSQL does not start as root; name a server with {SERVER}")


@attrs.define
class Server:
    """A private server on the loopback, that can be stopped and started again."""

    command: list[str]
    home: Path
    port: int
    process: subprocess.Popen | None = None

    @staticmethod
    def make(initdb: Path, postgres: Path) -> Server:
        """Make its folder, which its user can reach."""
        user, home = owner_of_servers(), Path(tempfile.mkdtemp(prefix="arboretum-postgresql-"))
        if user is not None:
            shutil.chown(home, user)
        subprocess.run(
            [initdb, "-D", home / "data", "-U", "lab", "--auth=trust", "-E", "UTF8"],
            check=True,
            capture_output=True,
            user=user,
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [str(postgres), "-D", str(home / "data"), "-h", "127.0.0.1", "-p", str(port)]
        return Server([*command, "-c", "unix_socket_directories="], home, port)

    @property
    def uri(self) -> str:
        return f"postgresql+psycopg://lab@127.0.0.1:{self.port}/lab"

    def start(self) -> None:
        with (self.home / "log").open("a") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, user=owner_of_servers()
            )

    def stop(self, how: signal.Signals) -> None:
        """SIGINT: in order; SIGQUIT: at once, as a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)


def _make_database(port: int) -> None:
    import psycopg

    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with psycopg.connect(
                host="127.0.0.1", port=port, user="lab", dbname="postgres", autocommit=True
            ) as base:
                base.execute("CREATE DATABASE lab")
            return
        except psycopg.OperationalError:  # not up yet
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@pytest.fixture
def mortal() -> Iterator[Server]:
    """A server of the test's own, with an empty database."""
    pytest.importorskip("psycopg", reason="no driver for PostgreSQL")
    initdb, postgres = program("initdb"), program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("no PostgreSQL on this machine")
    server = Server.make(Path(initdb), Path(postgres))
    try:
        server.start()
        _make_database(server.port)
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(server.home, ignore_errors=True)


def statuses(store: str) -> list[tuple[str, str]]:
    import psycopg

    with psycopg.connect(store.replace("+psycopg", "")) as base:
        return sorted(base.execute("SELECT name, status FROM runs").fetchall())


def test_an_empty_database_is_not_filled_by_reading_then_two_sweeps_at_once_lose_nothing(
    store, tmp_path
):
    with pytest.raises(
        TrackerError, match="there is no MLflow store .* yet: the first run makes it"
    ):
        MLflowTracker(uri=store).fetch("x")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, store, str(tmp_path), str(first)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for first in (0, 8)
    ]
    said = [process.communicate(timeout=240)[0] for process in running]
    assert [(process.returncode, text) for process, text in zip(running, said, strict=True)] == [
        (0, "")
    ] * 2
    wanted = [(f"cart iris seed={seed}", "FINISHED") for seed in range(16)] + [
        (f"sweep {n}", "FINISHED") for n in (0, 8)
    ]
    assert statuses(store) == sorted(wanted)
    tracker = MLflowTracker(uri=store, artifacts=str(tmp_path))
    try:
        record = sample_record(3)
        again = tracker.store(sample_run(tmp_path / "runs" / "3", 3), record, sample_files(record))
        assert tracker.fetch(again)["record.json"] == record.to_json(), "found, not stored anew"
        assert statuses(store) == sorted(wanted)
    finally:
        tracker.close()


SLOWLY = """
import time
import attrs
import numpy as np
from arboretum.api import Column, ColumnKind, Table, Target, Task

@attrs.frozen
class Slowly:
    kind, name, paper, capabilities = "dataset", "slowly", "", ("randomised",)

    def load(self, seed):
        time.sleep(0.4)
        x = np.random.default_rng(seed).normal(size=40)
        y = Target("y", Task.classification, (x > 0).astype(np.int32), ("no", "yes"))
        return Table("slowly", (Column("a", ColumnKind.continuous, x),), y)
"""


def arboretum(folder: Path, *words: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "arboretum.cli", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.slow
@pytest.mark.cold
@pytest.mark.parametrize("returns", [True, False])
def test_a_server_that_dies_in_the_middle_of_two_sweeps_loses_no_run(returns, mortal, tmp_path):
    (tmp_path / "slowly.py").write_text(SLOWLY)
    asked = ("run", "--plugin", "slowly.py", "-m", "dataset=slowly", f"tracker.uri={mortal.uri}")
    sweeps = [
        arboretum(tmp_path, *asked, f"seed=range({9 * i},{9 * i + 9})", f"hydra.sweep.dir=s{i}")
        for i in (0, 1)
    ]
    deadline = time.monotonic() + 200
    while len(list(tmp_path.glob("s?/*/tracked.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    mortal.stop(signal.SIGQUIT)
    if returns:
        time.sleep(1.0)
        mortal.start()
    said = [sweep.communicate(timeout=200) for sweep in sweeps]
    assert len(list(tmp_path.glob("s?/*/record.json"))) == 18, said
    assert "Traceback" not in str(said)
    if not returns:
        assert [sweep.returncode for sweep in sweeps] == [3, 3], said
        assert all("arboretum sync s" in err.splitlines()[-1] for _, err in said), said
        mortal.start()
    sync = arboretum(tmp_path, "sync", "s0", "s1")
    _, err = sync.communicate(timeout=200)
    assert sync.returncode == 0, err
    found = statuses(mortal.uri)
    assert {status for _, status in found} == {"FINISHED"}, "parents, too"
    parents = [json.loads((tmp_path / f"s{i}" / "sweep.json").read_text()) for i in (0, 1)]
    assert len({one["id"] for one in parents}) == 2 and not any(one["pending"] for one in parents)
    assert sorted(name for name, _ in found if name.startswith("seed=") and "cart" in name) == (
        sorted(f"seed={seed} cart slowly" for seed in range(18))
    )
    assert len(found) == 20, found
