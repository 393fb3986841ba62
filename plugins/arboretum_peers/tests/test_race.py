"""The race's own arithmetic: encodings, counting, contradictions, totals."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module", autouse=True)
def _found():
    folder = str(Path(__file__).parents[3] / "experiments" / "benchmarks" / "solvers")
    sys.path.insert(0, folder)
    yield
    sys.path.remove(folder)


@pytest.fixture
def table(tmp_path, monkeypatch):
    """NAME → its lines are written to the data home."""
    monkeypatch.setenv("ARBORETUM_BENCH", str(tmp_path))

    def write(name, *lines):
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")

    return write


def test_encodings_are_what_their_names_say(table):
    import suites

    table("small", "a,b,c,target", "x,1,0,no", "y,2,1,yes", "z,3,1,no", "x,4,0,yes")
    x, y = suites.load("small@onehot")
    assert y.tolist() == [0, 1, 0, 1]
    assert x.T.tolist() == [
        [1, 0, 0, 1],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        *np.eye(4, dtype=int).tolist(),
        [0, 1, 1, 0],
    ]
    table("numbers", "b,c,target", "1,0,0", "2,1,1", "3,1,0", "4,0,1")
    assert suites.load("numbers@binary")[0].T.tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 1, 1, 0],
    ]
    assert suites.load("numbers@upto3")[0].shape == (4, 4) and suites.load("numbers@upto1")[
        0
    ].T.tolist()[0] == [1, 1, 0, 0]
    assert (
        suites.load("numbers@cut1")[0].shape[1] == 2
        and suites.load("numbers@numbers")[0].dtype == np.float64
    )
    with pytest.raises(FileNotFoundError, match="ARBORETUM_BENCH"):
        suites.load("nothing@onehot")


def test_the_suites_have_as_many_problems_as_they_say():
    import suites

    assert len(list(suites.questions("sparse", [], [], []))) == 95
    names = [one.name for one in suites.questions("limited", ["bar-7"], [], [3, 4])]
    assert names == ["bar-7@binary depth 3", "bar-7@binary depth 4"]
    assert [one.name for one in suites.questions("sparse", ["bar-7"], ["0.001"], [5])] == [
        "bar-7@binary λ=0.001 depth 5"
    ]


def test_a_tree_is_counted_row_by_row():
    import race

    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2, np.uint8)
    y = np.array([0, 1, 1, 1, 0, 0, 1, 1])
    nodes = [[0, 0, 1, 2], [1, 0, 3, 4], [-1, None, 0, 0], [-1, 1, 0, 0], [-1, None, 0, 0]]
    # two rows say 1 where 0 is right, one of the tied leaf
    assert race.errors_of(nodes, x, y) == (3, 2)


def test_what_contradicts_what_is_told_and_what_agrees_is_not():
    import report
    from suites import Question

    def result(who, value, lower, *, proven=True, counted=True, depth=3):
        return report.Result(
            Question("t", "0", depth), who, 1.0, value, lower, proven, 1, 2, counted
        )

    fine = [
        result("a", 0.2, 0.2),
        result("b", 0.3, 0.1, proven=False),
        result("c", 0.2, 0.2, counted=False),
    ]
    assert report.contradictions(fine) == []
    wrong = [result("a", 0.2, 0.2), result("b", 0.25, 0.25), result("c", 0.1, 0.1, counted=False)]
    said = report.contradictions(wrong)
    assert said == [
        "t depth 3: b proves 0.250000, but a has a tree of 0.200000",
        "t depth 3: c says 0.100000 without a tree, the best tree has 0.200000",
    ]
    text, found = report.closing(wrong, ["a", "b", "c"], 15.0)
    assert found == said and "CONTRADICTION: t depth 3: b proves" in text and "1 of 1" in text
    text, found = report.closing(
        [result("a", 0.2, 0.0, proven=False), result("b", 0.1, 0.1)], ["a", "b"], 15.0
    )
    assert (
        "worse: t depth 3: a 0.200000, b 0.100000" in text
        and "open: t depth 3: [0.0000, 0.2000]" in text
        and "15" in text
        and not found
    )
