"""``make demo``, as the README shows it."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0
"""What the demo may take after set-up, first compilation included (processor time: other work on the machine is not counted)."""


def _make(target: str, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    command = ["make", "-f", str(ROOT / "Makefile"), *arguments, target]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[str, Path, float]:
    """What the demo printed, where it ran, seconds of processor time; set-up is taken as done, kernels are compiled anew."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    folder = tmp_path_factory.mktemp("demo")
    stamp = f"{sys.prefix}/.installed"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = _make("demo", folder, "-o", stamp, f"VENV={sys.prefix}", NUMBA_CACHE_DIR=str(folder / "kernels"))
    assert done.returncode == 0, done.stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, folder, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows(demo, reading):
    printed = demo[0]
    shown = [block for block in reading.blocks_of(ROOT / "README.md") if block.words == ("text", "output")]
    assert len(shown) == 1
    reading.assert_printed(shown[0].text, printed, shown[0].where)


@pytest.mark.slow
def test_the_demo_compares_three_methods_on_three_data_sets_and_says_how_to_open_the_store(demo):
    printed = demo[0]
    rows = [line.split()[:2] for line in printed.splitlines() if line.split()[:1] in (["cart"], ["id3"], ["random"])]
    assert {(m, d) for m in ("cart", "id3", "random") for d in ("iris", "wine", "wdbc")} <= {tuple(row) for row in rows}
    assert "arboretum ui" in printed


@pytest.mark.slow
def test_the_demo_keeps_every_run_and_logs_it(demo):
    _, folder, _ = demo
    assert len(list(folder.glob("runs/demo/*/record.json"))) == 27
    assert len(list(folder.glob("runs/demo/*/tracked.json"))) == 27


@pytest.mark.slow
def test_the_demo_ends_within_a_minute(demo):
    assert demo[2] < SECONDS


def test_without_a_usable_python_set_up_says_what_is_needed(tmp_path):
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    done = _make("setup", tmp_path, "PYTHON=no-such-python")
    assert done.returncode != 0
    assert "no usable Python: need 3.11, 3.12 or 3.13" in done.stdout
