"""The command as it is truly started, for every verb; and that a copy of a warmed-up process
(tests/warm) does the same.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from arboretum.cli.main import VERBS
from arboretum.runs.folder import read_run

SCRIPT = [str(Path(sysconfig.get_path("scripts"), "arboretum"))]
MODULE = [sys.executable, "-m", "arboretum.cli"]


@pytest.mark.cold
@pytest.mark.parametrize(
    ("verb", "start"), [(verb, (SCRIPT, MODULE)[i % 2]) for i, verb in enumerate(VERBS)], ids=VERBS
)
def test_every_verb_starts(verb, start, here):
    done = subprocess.run(
        [*start, verb, "--help"], cwd=here, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"arboretum {verb}" in done.stdout


def test_a_copy_leaves_the_same_record_and_finds_what_the_environment_names(
    command, here, monkeypatch
):
    (here / "path").mkdir()
    (here / "path" / "words.py").write_text("ANSWER = 42\n")
    (here / "asks.py").write_text(
        "import os, sys, words\n"
        + (here / "toy.py").read_text()
        + (
            "print(words.ANSWER, os.getcwd(), sys.argv[1:], sys.prefix, os.environ['WORD'], "
            "sys.stdin.read(), __name__, sys.flags.safe_path)\n"
            "print(sorted(name for name in sys.modules if name.startswith(('pytest', "
            "'_pytest', 'hypothesis'))), sys.path[0])\n"
        )
    )

    def run(python):
        monkeypatch.setattr(sys, "executable", python)
        found = command.run(
            "run",
            "--plugin",
            "asks.py",
            "dataset=toy",
            "tracker=none",
            "hydra.run.dir=r",
            env={"PYTHONPATH": "path", "WORD": "ö"},
        )
        assert found.status == 0, found.err
        record = read_run(here / "r")
        (here / "r").rename(here / f"r{len(list(here.glob('r*')))}")
        return (
            found.out.splitlines()[:2],
            record.fingerprint,
            record.metrics,
            record.config,
            record.versions,
            record.tree.to_json(),
        )

    assert run(sys.executable) == run(MODULE[0])


def begun(command, here):
    """The command in the middle of a run."""
    process = command.start(
        "run",
        "--plugin",
        "toy.py",
        "dataset=toy",
        "dataset.seconds=60",
        "tracker=none",
        "hydra.run.dir=r",
    )
    while not (here / "r").exists() and process.poll() is None:
        time.sleep(0.05)
    return process


@pytest.mark.parametrize(
    ("number", "status", "words"),
    [(signal.SIGTERM, 143, "ended by SIGTERM"), (signal.SIGINT, 130, "interrupted")],
)
def test_a_copy_obeys_signals_and_ends_with_the_status(number, status, words, command, here):
    process = begun(command, here)
    process.send_signal(number)
    found = command.finish(process)
    assert (found.status, found.err) == (status, f"arboretum: {words}\n")


def test_a_copy_is_killed_with_the_process_that_stands_for_it(command, here):
    process = begun(command, here)
    process.kill()
    assert command.finish(process).status == -signal.SIGKILL  # its output ends, too
