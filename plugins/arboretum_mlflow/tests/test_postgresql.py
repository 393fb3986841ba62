"""A PostgreSQL store: fresh, found by two processes at once, and read back.

Needs a driver (psycopg) and either a server named by ARBORETUM_TEST_POSTGRESQL
(postgresql+psycopg://USER@HOST/DATABASE, an empty database) or PostgreSQL's own programs, of which
a private server on the loopback is then made and ended here.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        pytest.skip(f"PostgreSQL does not start as root; name a server with {SERVER}")
    home = tmp_path_factory.mktemp("postgresql")
    subprocess.run(
        [initdb, "-D", home / "data", "-U", "lab", "--auth=trust", "-E", "UTF8"],
        check=True,
        capture_output=True,
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        postgres,
        "-D",
        home / "data",
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-c",
        "unix_socket_directories=",
    ]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _make_database(port)
        yield f"postgresql+psycopg://lab@127.0.0.1:{port}/lab"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


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
