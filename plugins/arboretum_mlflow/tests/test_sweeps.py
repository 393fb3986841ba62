"""Sweeps as users start them: many at once on a store that nobody made yet, and one that is
killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from arboretum_mlflow import schema
from arboretum_mlflow.location import locate

pytestmark = pytest.mark.slow  # starts sweeps


def test_who_finds_the_schema_being_made_waits_longer_than_for_an_answer(tmp_path, monkeypatch):
    """One command makes the schema of a fresh store; the others hand nothing in meanwhile, and
    must not give up.
    """
    location = locate(f"sqlite:///{tmp_path}/mlflow.db", "arboretum")
    monkeypatch.setattr(schema, "_make_fresh", lambda where: where.database.write_bytes(b"made"))
    monkeypatch.setattr(schema, "_head", lambda: "newest")
    with location.sidecar.open("a") as maker:
        fcntl.flock(maker, fcntl.LOCK_EX)
        threading.Timer(0.8, fcntl.flock, (maker, fcntl.LOCK_UN)).start()
        schema.make_ready(location, 0.4)
    assert location.database.read_bytes() == b"made"


def start(folder: Path, *words: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "arboretum.cli", *words]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def runs_of(folder: Path) -> list[tuple[str, str, str | None]]:
    """(name, status, parent) of every run in the store of a folder."""
    sql = (
        "SELECT name, status, (SELECT value FROM tags t WHERE t.run_uuid = r.run_uuid AND key = "
        "'mlflow.parentRunId') FROM runs r"
    )
    with contextlib.closing(sqlite3.connect(folder / "mlflow.db")) as base:
        return base.execute(sql).fetchall()


def test_three_sweeps_at_once_on_a_store_that_does_not_exist_lose_no_run(tmp_path):
    sweeps = [
        start(tmp_path, "run", "-m", "dataset=iris", f"seed={i},{i + 1}", f"hydra.sweep.dir=s{i}")
        for i in (1, 3, 5)
    ]
    said = [sweep.communicate(timeout=280)[1] for sweep in sweeps]
    assert [sweep.returncode for sweep in sweeps] == [0, 0, 0], said
    assert "warning" not in "".join(said), said
    parents = {json.loads((tmp_path / f"s{i}" / "sweep.json").read_text())["id"] for i in (1, 3, 5)}
    found = runs_of(tmp_path)
    assert sorted(name for name, _, parent in found if parent in parents) == [
        f"seed={i} cart iris" for i in range(1, 7)
    ]
    assert len(found) == 9 and {status for _, status, _ in found} == {"FINISHED"}


@pytest.mark.cold
def test_a_sweep_that_was_killed_is_closed_by_the_next_command_with_what_it_did(tmp_path):
    sweep = start(tmp_path, "run", "-m", "dataset=iris", "seed=range(0,100)", "hydra.sweep.dir=s")
    deadline = time.monotonic() + 200
    while (
        len(list(tmp_path.glob("s/*/tracked.json"))) < 2
        and sweep.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    sweep.kill()
    sweep.communicate()
    parent = json.loads((tmp_path / "s" / "sweep.json").read_text())["id"]
    assert [status for _, status, below in runs_of(tmp_path) if below is None] == ["RUNNING"]
    sync = start(tmp_path, "sync", "s")
    out, err = sync.communicate(timeout=200)
    assert sync.returncode == 0, err
    assert [status for _, status, below in runs_of(tmp_path) if below is None] == ["KILLED"], out
    kept = len(list(tmp_path.glob("s/*/record.json")))
    assert len([name for name, _, below in runs_of(tmp_path) if below == parent]) == kept >= 2
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as base:
        sql = "SELECT value FROM tags WHERE run_uuid = ? AND key = 'mlflow.note.content'"
        ((text,),) = base.execute(sql, (parent,)).fetchall()
    assert f"**{kept} runs**" in text and "valid error" in text
    assert json.loads((tmp_path / "s" / "sweep.json").read_text())["status"] == "KILLED"
