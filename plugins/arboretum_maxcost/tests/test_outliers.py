"""``arboretum show RUN --outliers``: which rows a budget gives up, what they would cost, and
their picture.
"""

from __future__ import annotations

import csv
import re

import pytest

from arboretum.cli.main import main

DFEP = [
    "dataset=dfep-synthetic",
    "encoder=multiway",
    "criterion=reduction",
    "impurity=rt",
    "method=greedy",
    "tracker=none",
    "split=none",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The 1024 objects at a budget of two tests."""
    found = tmp_path_factory.mktemp("runs") / "dfep"
    assert (
        main(
            [
                "run",
                *DFEP,
                "stopping=[max_cost]",
                "stopping.max_cost.limit=2",
                f"hydra.run.dir={found}",
            ]
        )
        == 0
    )
    return found


def shown(capsys, *words):
    status = main(["show", *map(str, words)])
    found = capsys.readouterr()
    return status, found.out, found.err


def test_exactly_the_four_outliers_are_given_up_at_a_budget_of_two(folder, capsys, tmp_path):
    file = tmp_path / "outliers.csv"
    status, out, _ = shown(capsys, folder, "--outliers", "--out", file)
    assert status == 0
    assert (
        "4 of 1024 rows (0.391 %) are given up: no path pays more than 2; without limits the "
        "costliest pays 10" in out
    )
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [int(row["row"]) for row in rows] == [0, 256, 512, 768]
    assert [(row["class"], row["predicted"]) for row in rows] == [
        ("2", "1"),
        ("3", "2"),
        ("4", "3"),
        ("1", "4"),
    ]
    assert {(float(row["paid"]), float(row["price to classify it"])) for row in rows} == {
        (2.0, 10.0)
    }


def test_the_picture_marks_them(folder, capsys, tmp_path):
    drawn = tmp_path / "outliers.svg"
    assert shown(capsys, folder, "--outliers", "--out", drawn)[0] == 0
    text = drawn.read_text()
    assert len(re.findall("given up: t1", text)) == 4 and "Rows given up: 0, 256, 512, 768" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "x.svg"], "--out goes with --outliers"),
        (["--outliers", "--out", "x.gif"], "a picture (.svg) or a table (.csv); got 'x.gif'"),
        (["--outliers", "--out"], "argument --out: expected one argument (usage"),
    ],
)
def test_what_cannot_be_written_is_refused(folder, capsys, words, said):
    status, _, err = shown(capsys, folder, *words)
    assert status == 1 and said in err


def test_a_row_that_no_test_tells_apart_has_no_price(capsys, tmp_path):
    table = tmp_path / "twins.csv"
    table.write_text(
        "colour,size,target\nred,1,yes\nred,1,no\nred,1,yes\nblue,1,no\nblue,2,yes\ngreen,2,no\n"
    )
    source = ["dataset=file", f"dataset.path={table}", "dataset.target=target", "encoder=multiway"]
    chosen = [
        *DFEP[2:],
        *source,
        "stopping=[max_cost]",
        "stopping.max_cost.limit=1",
        f"hydra.run.dir={tmp_path / 'run'}",
    ]
    assert main(["run", *chosen]) == 0
    capsys.readouterr()
    _, out, _ = shown(capsys, tmp_path / "run", "--outliers")
    lines = [line.split() for line in out.splitlines() if re.match(r"\s*\d+  (yes|no)", line)]
    assert [line[0] for line in lines] == ["1", "4"], out
    assert lines[0][-3:] == ["no", "tests", "do"] and lines[1][-1] == "2"


def test_rows_without_a_value_have_a_place_of_their_own_on_an_axis(capsys, tmp_path):
    table = tmp_path / "absent.csv"
    table.write_text("colour,target\nred,yes\nred,no\nred,yes\n?,no\n?,no\nblue,no\n")
    source = [
        "dataset=file",
        f"dataset.path={table}",
        "dataset.target=target",
        "encoder=multiway",
        f"hydra.run.dir={tmp_path / 'run'}",
    ]
    assert main(["run", *DFEP[2:], *source]) == 0
    capsys.readouterr()
    status, out, _ = shown(capsys, tmp_path / "run", "--outliers", "--out", tmp_path / "drawn.svg")
    assert status == 0 and "2 of 6 rows (33.3 %) are given up" in out
    assert all(
        f">{name}</text>" in (tmp_path / "drawn.svg").read_text()
        for name in ("missing", "red", "blue")
    )


def test_where_nothing_is_given_up_no_row_is_spoken_of(capsys, tmp_path):
    assert main(["run", "dataset=monk1-full", *DFEP[1:], f"hydra.run.dir={tmp_path / 'run'}"]) == 0
    capsys.readouterr()
    _, out, _ = shown(capsys, tmp_path / "run", "--outliers")
    assert out.startswith("0 of 432 rows (0 %) are given up") and "counted" not in out


def test_a_method_that_needs_its_budget_tells_no_price(capsys, tmp_path):
    exact = [
        "method=max_cost",
        "objective=accuracy",
        "objective.lam=0",
        "stopping=[max_cost]",
        "stopping.max_cost.limit=2",
        "split=none",
        "tracker=none",
    ]
    assert main(["run", "dataset=monk3-full", *exact, f"hydra.run.dir={tmp_path / 'run'}"]) == 0
    capsys.readouterr()
    status, out, _ = shown(capsys, tmp_path / "run", "--outliers")
    assert (
        status == 0
        and "12 of 432 rows (2.78 %) are given up" in out
        and "what it would cost is not known: objective accuracy with" in out
    )


def test_a_tree_of_numbers_has_no_outliers(capsys, tmp_path):
    assert (
        main(
            [
                "run",
                "dataset=diabetes",
                "method=cart",
                "stopping.standard.max_depth=2",
                "tracker=none",
                f"hydra.run.dir={tmp_path / 'run'}",
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert "outliers are rows of another class" in shown(capsys, tmp_path / "run", "--outliers")[2]
