"""Served stores: the UI's server starts, says where it is and ends with its command; a server is
a store like a file.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from arboretum.api import TrackerError
from arboretum.testing.suites.tracker import sample_files, sample_record, sample_run
from arboretum_mlflow.tracker import MLflowTracker

pytestmark = pytest.mark.slow  # starts servers

SERVE = """
import sys
from arboretum_mlflow.tracker import MLflowTracker
MLflowTracker(uri=sys.argv[1], timeout=60.0).serve(port=int(sys.argv[2]))
"""
ENDS_SECONDS = 30


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served(uri: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """The command that serves a store and the address it prints (it prints once the server
    answers).
    """
    port = free_port()
    command = [sys.executable, "-c", SERVE, uri, str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith(f"MLflow UI: http://127.0.0.1:{port}/"), line + process.stdout.read()
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(ENDS_SECONDS)
        process.stdout.close()


def wait_until_down(address: str) -> None:
    deadline = time.monotonic() + ENDS_SECONDS
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{address}/health", timeout=5).close()
        except OSError:
            return
        time.sleep(0.2)
    pytest.fail(f"a server still answers at {address}")


def assert_ends(process: subprocess.Popen, address: str, how: signal.Signals) -> None:
    """The server ends with its command however that ends."""
    os.kill(process.pid, how)
    status = process.wait(ENDS_SECONDS)
    wait_until_down(address)
    assert status == (-9 if how == signal.SIGKILL else 0)
    assert process.stdout.read() == "", "it ends without a traceback"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_server_ends_with_its_command_however_that_ends(fresh_store, how):
    with served(fresh_store) as (process, address):
        assert_ends(process, address, how)


def test_a_server_takes_runs_as_a_file_does_and_ends_by_sigterm(fresh_store, tmp_path):
    with served(fresh_store) as (process, address):
        tracker = MLflowTracker(uri=address, experiment="by http", timeout=60.0)
        try:
            tracker.prepare()
            sweep = tracker.open_sweep("two runs", {})
            record = sample_record()
            run_id = tracker.store(sample_run(tmp_path, 0, sweep), record, sample_files(record))
            assert (
                tracker.store(sample_run(tmp_path, 0, sweep), record, sample_files(record))
                == run_id
            )
            tracker.close_sweep(sweep, {"valid_error": 0.02}, "FINISHED")
            assert dict(tracker.fetch(run_id)) == sample_files(record)
            with pytest.raises(TrackerError, match="no run 'nope'"):
                tracker.fetch("nope")
            with pytest.raises(TrackerError, match="is a server already"):
                tracker.serve(port=free_port())
        finally:
            tracker.close()
        assert_ends(process, address, signal.SIGTERM)


def test_a_port_that_is_taken_is_refused_before_anything_starts(fresh_store):
    tracker = MLflowTracker(uri=fresh_store)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            TrackerError, match=f"cannot serve on 127.0.0.1:{port} .*choose another port"
        ):
            tracker.serve(port=port)
    tracker.close()


def family(process: int) -> list[int]:
    """A process and all that it has started."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8")
    return [process, *(one for child in listed.split() for one in family(int(child)))]


def arboretum(folder: Path, *words: str) -> tuple[int, str, str]:
    """What a command comes to: its status, and what it prints."""
    command = [sys.executable, "-m", "arboretum.cli", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.cold
def test_a_server_that_hangs_stops_no_sweep_and_has_every_run_once_in_the_end(
    fresh_store, tmp_path
):
    asked = ("run", "-m", "dataset=iris", "seed=1,2,3", "tracker.timeout=6", "skip_finished=true")
    with served(fresh_store) as (process, address):
        uri = f"tracker.uri={address}"
        status, _, said = arboretum(tmp_path, *asked, uri, "hydra.sweep.dir=before")
        assert status == 0, said
        for one in family(process.pid):
            os.kill(one, signal.SIGSTOP)
        try:
            status, _, said = arboretum(tmp_path, *asked, uri, "hydra.sweep.dir=s")
        finally:
            for one in family(process.pid):
                os.kill(one, signal.SIGCONT)
        assert status == 3 and "Traceback" not in said, said
        (warning,) = (line for line in said.splitlines() if "warning" in line)
        assert "3 runs are kept, but not tracked" in warning and "in time; check it" in warning
        assert len(list(tmp_path.glob("s/*/record.json"))) == 3
        for sent in (3, 0):
            status, out, said = arboretum(tmp_path, "sync", "s")
            assert status == 0 and f"{sent} sent" in out, said
        tracker = MLflowTracker(uri=address, timeout=60.0)
        try:
            kept = tracker.runs()
        finally:
            tracker.close()
        assert [run["status"] for run in kept] == ["FINISHED"] * 6
        assert len({run["sweep"] for run in kept}) == 2
