"""``make demo``, as the README shows it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _make(
    target: str, folder: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess:
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
def demo(tmp_path_factory) -> tuple[str, Path]:
    """What the demo printed and where it ran; set-up is taken as done, of the kernels what other
    tests compiled.
    """
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    folder = tmp_path_factory.mktemp("demo")
    stamp = f"{sys.prefix}/.installed"
    done = _make("demo", folder, "-o", stamp, f"VENV={sys.prefix}")
    assert done.returncode == 0, done.stdout
    return done.stdout, folder


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows_but_for_the_times(demo, reading):
    shown = [
        block
        for block in reading.blocks_of(ROOT / "README.md")
        if block.words == ("text", "output")
    ]
    assert len(shown) == 1
    printed = iter(without_times(demo[0]))
    # each in its turn; the demo prints more between the two parts
    for line in filter(None, without_times(shown[0].text)):
        assert line in printed, (
            f"{shown[0].where}: the README shows {line!r}, but the demo printed\n{demo[0]}"
        )


def test_only_times_are_left_out_of_the_comparison():
    table = (
        "method  error   fit s\n──────  ─────  ──────\ncart     0.05  0.0053\n\n3 leaves, depth 2"
    )
    same, other = table.replace("0.0053", "0.12"), table.replace("0.05 ", "0.06 ")
    assert without_times(same) == without_times(table) != without_times(other)
    assert without_times(table.replace("depth 2", "depth 3")) != without_times(table)


def without_times(text: str) -> list[str]:
    """Lines without a last column "fit s", blanks and rules in their shortest form: what is the
    same in every run.
    """
    found, timed = [], False
    for line in text.splitlines():
        timed = (
            bool(line.strip())
            and (timed or line.endswith("fit s"))
            and not line.startswith("best:")
        )
        words = re.sub("─+", "─", line).split()
        found.append(" ".join(words[:-1] if timed else words))
    return found


@pytest.mark.slow
def test_the_demo_compares_three_methods_on_three_data_sets_and_says_how_to_open_the_store(demo):
    printed = demo[0]
    rows = [
        line.split()[:2]
        for line in printed.splitlines()
        if line.split()[:1] in (["cart"], ["id3"], ["random"])
    ]
    assert {(m, d) for m in ("cart", "id3", "random") for d in ("iris", "wine", "wdbc")} <= {
        tuple(row) for row in rows
    }
    assert "arboretum ui" in printed


@pytest.mark.slow
def test_the_demo_keeps_every_run_and_logs_it(demo):
    _, folder = demo
    assert len(list(folder.glob("runs/demo/*/record.json"))) == 27
    assert len(list(folder.glob("runs/demo/*/tracked.json"))) == 27


def test_without_a_usable_python_set_up_says_what_is_needed(tmp_path):
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    done = _make("setup", tmp_path, "PYTHON=no-such-python")
    assert done.returncode != 0
    assert "no usable Python: need 3.11, 3.12 or 3.13" in done.stdout
