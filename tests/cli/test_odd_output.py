"""Output where it is odd: a locale of few characters, a closed or full stdout, a reader that
goes; texts that a spreadsheet runs; pipes as data.
"""

from __future__ import annotations

import csv
import os

import pytest

from arboretum.model.judgement import csv_text

ODD = '''
"""Raises what is its own, where it is told to."""
import attrs
from arboretum.api import param


class Own(BaseException):
    """Nothing that anybody knows."""


@attrs.frozen
class Odd:
    """A form that raises."""

    kind, name, paper, capabilities, suffix = "export", "odd", "", (), ".txt"

    def write(self, tree):
        raise Own("of its own")
'''


@pytest.fixture
def finished(toy, here):
    assert toy("seed=1", "hydra.run.dir=r").status == 0
    (here / "rows.csv").write_text("a,b\n1,1\n")


@pytest.mark.cold
def test_a_locale_of_few_characters_shows_the_others_spelled_and_data_as_they_are(
    finished, command, here
):
    narrow = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = command.run("show", "r", env=narrow)
    assert (shown.status, shown.err) == (0, "") and "\\u2514" in shown.out
    assert "└" in command.run("export", "r", "--to", "text", env=narrow).out
    assert "└" in command.run("show", "r").out


@pytest.mark.cold
@pytest.mark.parametrize(
    ("to", "status", "said"),
    [
        (">&-", 0, ""),
        ("> /dev/full", 1, "No space left on device"),
        ("2>&-", 0, ""),
        ("| true", 0, ""),
    ],
)
def test_an_output_that_takes_nothing_is_no_surprise(finished, command, here, to, status, said):
    import subprocess
    import sys

    line = f"{sys.executable} -m arboretum.cli show r {to}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=here, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == status and said in done.stderr
    assert (
        "Traceback" not in done.stderr
        and "Exception ignored" not in done.stderr
        and len(done.stderr.splitlines()) <= 1
    )


def test_an_exception_of_a_plugins_own_is_an_error_of_one_line(finished, call, here):
    (here / "odd.py").write_text(ODD)
    assert (
        "Own: of its own"
        in call("export", "r", "--plugin", "odd.py", "--plugin", "toy.py", "--to", "odd").error
    )
    (here / "worse.py").write_text("class Own(BaseException):\n    pass\nraise Own('at import')\n")
    assert (
        "worse.py' does not import: Own: at import (worse.py:3)"
        in call("plugins", "--plugin", "worse.py").error
    )


def test_texts_that_a_spreadsheet_would_run_are_spelled_so_that_it_does_not():
    rows = [["=1+1", "+x", "-y", "@z", "-0.5", "+1e3", "-inf", "plain", 7, -1.5, "\tx", None]]
    assert next(csv.reader([csv_text(rows)])) == [
        "'=1+1",
        "'+x",
        "'-y",
        "'@z",
        "-0.5",
        "+1e3",
        "-inf",
        "plain",
        "7",
        "-1.5",
        "'\tx",
        "",
    ]
    assert next(csv.reader([csv_text(rows, inert=False)]))[:2] == ["=1+1", "+x"]


def test_predictions_are_the_classes_as_they_are_unless_a_spreadsheet_reads_them(call, here):
    lines = [f"{i},{'=cmd' if i < 20 else '-b'}" for i in range(40)]
    (here / "d.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    words = (
        "dataset=file",
        "dataset.path=d.csv",
        "dataset.target=y",
        "split=none",
        "tracker=none",
        "hydra.run.dir=r",
    )
    assert call("run", *words).status == 0
    assert call("predict", "r", "d.csv").out.split()[1:] == ["=cmd"] * 20 + ["-b"] * 20
    (here / "link.csv").symlink_to(here / "d.csv")
    for name in ("./d.csv", "link.csv"):
        said = call("predict", "r", "d.csv", "--output", name).error
        assert f"--output {name} is the FILE that is read, which would be lost" in said
    assert (here / "d.csv").read_text().count("\n") == 41
    assert (
        call("predict", "r", "d.csv", "--for-spreadsheet").out.split()[1:]
        == ["'=cmd"] * 20 + ["'-b"] * 20
    )
    assert call("curves", "r", "--part", "train").status == 0
    cells = [
        cell
        for file in here.glob("r/*.csv")
        for row in csv.reader(file.read_text().splitlines())
        for cell in row
    ]
    assert cells and not [cell for cell in cells if cell.startswith(("=", "@", "-b"))]


def test_a_pipe_into_which_nobody_writes_is_refused_at_once(call, here):
    for name in ("pipe.csv", "pipe.parquet", "pipe.arff"):
        os.mkfifo(here / name)
        error = call(
            "run", "dataset=file", f"dataset.path={name}", "dataset.target=y", "tracker=none"
        ).error
        assert f"{name}: a pipe" in error and error.endswith("into a file first")


def test_a_pipe_into_which_somebody_writes_is_read(finished, call, here):
    read, write = os.pipe()
    os.write(write, b"a,b\n1,1\n")
    os.close(write)
    assert call("predict", "r", f"/dev/fd/{read}").out.splitlines()[0] == "prediction"
    os.close(read)
