"""The command, called in this process (fast) or in one of its own (true)."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest

from arboretum.cli.main import main

PLUGIN = '''
"""Data sets that are slow, or fail where they are told to."""
import time
import attrs
import numpy as np
from arboretum.api import Column, ColumnKind, DataError, Table, Target, Task, param


@attrs.frozen
class Toy:
    """Two columns, two classes, as slow as one likes."""

    kind, name, paper, capabilities = "dataset", "toy", "", ("randomised",)

    seconds: float = param(0.0, "how long loading takes", ge=0.0, unit="s")
    fails_at: int = param(-1, "the seed that fails")
    crashes_at: int = param(-1, "the seed with a bug")

    def load(self, seed):
        time.sleep(self.seconds)
        if seed == self.fails_at:
            raise DataError(f"seed {seed} was told to fail")
        if seed == self.crashes_at:
            raise RuntimeError("a bug")
        x = np.random.default_rng(seed).normal(size=(40, 2))
        codes = (x[:, 0] + 0.5 * x[:, 1] > 0).astype(np.int32)
        codes[:2] = 0, 1
        columns = tuple(Column(n, ColumnKind.continuous, x[:, i]) for i, n in enumerate("ab"))
        return Table("toy", columns, Target("y", Task.classification, codes, ("no", "yes")))
'''

TRACKER = '''
"""A tracker that keeps lines in a file, and fails where it is told to."""
import json, os, signal
from pathlib import Path
import attrs
from arboretum.api import TrackerError, param


@attrs.frozen
class Lines:
    """One line per call."""

    kind, name, paper, capabilities = "tracker", "lines", "", ()

    file: str = param("lines.jsonl", "where to write")
    fails: str = param("", "the call that fails")
    heals: bool = param(False, "fails once only")
    kills: bool = param(False, "fails by killing its process")

    def _write(self, call, **more):
        if self.fails == call and not (self.heals and Path("healed").exists()):
            Path("healed").touch()
            if self.kills:
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError(f"no {call} today")
        with Path(self.file).open("a") as stream:
            stream.write(json.dumps({"call": call, **more}) + "\\n")

    def prepare(self):
        self._write("prepare")

    def open_sweep(self, name, config):
        self._write("open_sweep", name=name)
        return "parent"

    def reopen_sweep(self, sweep_id, name, config):
        self._write("reopen_sweep", sweep=sweep_id, name=name)
        return sweep_id

    def annotate(self, sweep_id, text, files):
        self._write("annotate", sweep=sweep_id, text=text, files=sorted(files))

    def store(self, run, record, files):
        place = dict(folder=str(run.folder), copy_of=run.copy_of)
        self._write("store", name=run.name, sweep=run.sweep_id, files=sorted(files), **place)
        return f"id-{record.seed}"

    def store_failure(self, run, error):
        self._write("store_failure", name=run.name, sweep=run.sweep_id, error=error)
        return "failed"

    def close_sweep(self, sweep_id, best, status):
        self._write("close_sweep", sweep=sweep_id, best=dict(best), status=status)

    def fetch(self, run_id):
        for line in Path(self.file).read_text().splitlines():
            found = json.loads(line)
            if found["call"] == "store" and run_id == "id-7":
                files = Path(found["folder"]).iterdir()
                return {p.name: p.read_text() for p in files if p.name != "tracked.json"}
        raise TrackerError(f"no run {run_id!r}")
'''


@attrs.frozen
class Result:
    """What a call of the command left behind."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line of an error; fails the test when stderr holds anything else."""
        # a slow machine may have said what it was doing before
        beside = (
            "configurations checked",
            "loading data",
            "encoding",
            "opening tracker",
            "asking tracker",
            "starting the user interface",
        )
        lines = [
            line
            for line in self.err.splitlines()
            if not (line.startswith(beside) or re.match(r"\d+ of ", line))
        ]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        assert lines[0].startswith("arboretum: error: "), lines[0]
        return lines[0].removeprefix("arboretum: error: ")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder without an MLflow store of anybody else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARBORETUM_RUNS", raising=False)
    (tmp_path / "toy.py").write_text(PLUGIN)
    (tmp_path / "lines.py").write_text(TRACKER)
    return tmp_path


@pytest.fixture
def call(here: Path, capsys: pytest.CaptureFixture):
    """Call the command in this process."""

    def caller(*argv: str) -> Result:
        capsys.readouterr()
        status = main(list(argv))
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return caller


class Command:
    """The command in processes of its own, in one folder."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd

    def start(
        self, *argv: str, env: Mapping[str, str] | None = None, before: str = ""
    ) -> subprocess.Popen:
        """Start it.   before : shell words that come first (ulimit …)."""
        command = [sys.executable, "-m", "arboretum.cli", *argv]
        if before:
            command = ["bash", "-c", f"{before}; exec {shlex.join(command)}"]
        return subprocess.Popen(
            command,
            cwd=self.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )

    def finish(self, process: subprocess.Popen) -> Result:
        """Wait for it."""
        out, err = process.communicate(timeout=300)  # the first compiles its kernels
        return Result(process.returncode, out, err)

    def run(self, *argv: str, env: Mapping[str, str] | None = None, before: str = "") -> Result:
        return self.finish(self.start(*argv, env=env, before=before))


@pytest.fixture
def command(here: Path) -> Command:
    return Command(here)


@pytest.fixture
def toy(call):
    """Do one run of the toy data set in this process."""
    return lambda *argv: call("run", "--plugin", "toy.py", "dataset=toy", "tracker=none", *argv)
