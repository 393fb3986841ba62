"""``arboretum curves`` and ``arboretum importances``."""

from __future__ import annotations

import csv
import io

import pytest

from arboretum import load


@pytest.fixture
def run(call, here):
    """A finished run that the tracker "lines" has."""
    plugins = ("--plugin", "toy.py", "--plugin", "lines.py")
    done = call(
        "run",
        *plugins,
        "dataset=toy",
        "tracker=lines",
        "seed=7",
        "stopping.standard.max_depth=2",
        "hydra.run.dir=r",
    )
    assert done.status == 0
    return "r", *plugins


def test_curves_are_printed_and_kept_with_the_run(call, here, run):
    result = call("curves", *run)
    assert result.status == 0 and "(macro average)" in result.out
    names = [
        f"test_{name}"
        for name in ("calibration.svg", "classes.csv", "curves.csv", "pr.svg", "roc.svg")
    ]
    for name in names:
        assert (here / "r" / name).read_text().startswith(("<svg", "class,"))

    metrics = load(here / "r", plugins=["toy.py"]).metrics
    rows = {
        row["class"]: row
        for row in csv.DictReader(io.StringIO((here / "r" / "test_classes.csv").read_text()))
    }
    for name in ("precision", "recall", "f1"):
        assert float(rows["(macro average)"][name]) == metrics[f"test_{name}"]
    points = list(csv.DictReader(io.StringIO((here / "r" / "test_curves.csv").read_text())))
    assert {point["class"] for point in points} == {"no", "yes"} and points[0]["threshold"] == "inf"


def test_the_part_and_the_folder_can_be_named_also_for_a_run_id(call, here, run):
    assert call("curves", *run, "--part", "train", "--out", "elsewhere").status == 0
    assert (here / "elsewhere" / "train_roc.svg").exists() and not (
        here / "r" / "train_roc.svg"
    ).exists()
    result = call("curves", "id-7", *run[1:], "tracker=lines", "--part", "valid")
    assert "(macro average)" in result.out and not (here / "r" / "valid_roc.svg").exists()
    assert call("curves", *run, "--part", "tets").error.endswith(
        "unknown part 'tets'; did you mean 'test'? known: test, train, valid"
    )


def test_importances_have_a_row_per_column_and_the_seed_fixes_them(call, run):
    first, again = call("importances", *run), call("importances", *run)
    assert first.out == again.out and "lost when shuffled (test rows)" in first.out
    assert {line.split()[0] for line in first.out.splitlines()[2:]} <= {"a", "b"}


def test_an_area_of_rows_of_one_class_is_undefined_and_said_so(call, here):
    (here / "sorted.csv").write_text(
        "a,y\n" + "".join(f"{k % 2},{'p' if k < 6 else 'n'}\n" for k in range(10))
    )
    rows = (
        "dataset=file",
        "dataset.path=sorted.csv",
        "dataset.target=y",
        "tracker=none",
        "split=contiguous",
        "split.folds=2",
    )
    result = call("run", *rows, "method=cart")
    assert (
        result.status == 0
        and "roc_auc is undefined of the test rows, which show one class" in result.out
    )
    assert "undefined" not in call("run", *rows, "method=cart", "split=none").out
