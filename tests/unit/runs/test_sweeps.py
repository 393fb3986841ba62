"""What a sweep's folder says of the sweep, and whether the process that works on it is still
there.
"""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest

from arboretum.errors import StoreError
from arboretum.runs.sweeps import Sweep, is_dead, locked, owner, read_sweep, write_sweep


def test_a_sweep_is_read_as_it_was_written(tmp_path):
    sweep = Sweep(
        ("seed=1,2",), ("seed",), "valid_error", {"name": "lines"}, "parent", "host 1 2", "KILLED"
    )
    write_sweep(tmp_path, sweep)
    assert read_sweep(tmp_path) == sweep
    file = tmp_path / "sweep.json"  # of a later version, which says more
    file.write_text(file.read_text().replace("{", '{"later": 1,', 1))
    assert read_sweep(tmp_path) == sweep
    file.write_text("{")
    assert read_sweep(tmp_path) is None


def test_the_name_of_a_sweep_begins_with_what_varies_and_leaves_out_how_it_is_kept():
    said = (
        "dataset=iris",
        "seed=1,2",
        "tracker.uri=postgresql://me:secret@host/db",
        "hydra.sweep.dir=s",
        "skip_finished=true",
    )
    assert Sweep(said, ("seed",)).name == "seed=1,2 dataset=iris"


def test_no_password_is_noted_and_the_parent_is_known_again_all_the_same(tmp_path):
    tracker = {"name": "mlflow", "uri": "postgresql://me:secret@host/db"}
    write_sweep(
        tmp_path,
        Sweep(("tracker.uri=postgresql://me:secret@host/db",), tracker=tracker, id="parent"),
    )
    assert "secret" not in (tmp_path / "sweep.json").read_text()
    found = read_sweep(tmp_path)
    assert found.is_of(tracker) and not found.is_of(
        {**tracker, "uri": "postgresql://me:secret@elsewhere/db"}
    )


def test_a_process_is_dead_once_it_has_ended_and_not_before():
    code = "from arboretum.runs.sweeps import owner; print(owner(), flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    named = child.stdout.readline().strip()
    assert not is_dead(named) and not is_dead(owner())
    child.kill()
    child.communicate()
    assert is_dead(named)


def test_a_number_that_was_given_anew_is_another_process_and_another_machine_is_not_judged():
    host, pid, started = owner().split(" ", 2)
    assert is_dead(f"{host} {pid} 1{started}"), (
        "the number is taken by a process that began at another time"
    )
    assert not is_dead(f"elsewhere.{host} 999999999 {started}")
    assert not is_dead("") and not is_dead(f"{host} nobody")
    assert is_dead(f"{host} {1 << 80} {started}"), "no process has such a number"


def test_a_file_system_without_locks_refuses_nobody_and_says_so(tmp_path, monkeypatch):
    def lack(handle, kind):
        raise OSError(errno.ENOLCK, "No locks available")

    with locked(tmp_path) as trouble:
        assert trouble == ""
        with pytest.raises(StoreError, match="another command works in"), locked(tmp_path):
            pass
    monkeypatch.setattr("fcntl.flock", lack)
    with locked(tmp_path) as trouble, locked(tmp_path):
        assert "cannot be locked (No locks available)" in trouble
