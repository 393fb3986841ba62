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


def test_columns_that_divide_rows_alike_stand_once_for_sets_of_trees():
    import rashomon

    x = np.array([[0, 1, 0, 1, 0], [1, 0, 1, 1, 0], [1, 0, 0, 1, 1]], np.uint8)
    # the second is the contrary of the first, the fourth divides nothing
    assert rashomon.distinct(x).tolist() == x[:, [0, 2, 4]].tolist()


def test_ours_counts_the_trees_that_there_are():
    import rashomon

    draw = np.random.default_rng(3)
    x, y = draw.integers(2, size=(20, 3)).astype(np.uint8), draw.integers(2, size=20)
    x = rashomon.distinct(x)
    question = rashomon.Question("toy@binary", 20, 0.05, 2, 0.3)

    def values(rows, depth):
        """Of all trees, in errors + leaves (λ · n is 1); a test divides its rows."""
        counts = np.bincount(y[rows], minlength=2)
        found = [int(counts.min()) + 1]
        for column in x.T if depth else ():
            low, high = rows[column[rows] == 0], rows[column[rows] == 1]
            if len(low) and len(high):
                found += [a + b for a in values(low, depth - 1) for b in values(high, depth - 1)]
        return found

    every = values(np.arange(20), 2)
    near = sum(value <= 1.3 * min(every) + 1e-9 for value in every)
    assert near > 2
    for count_alone in (False, True):
        found = rashomon.ours(question, x, y, 20.0, count_alone=count_alone)
        assert found["trees"] == near and found["least"] == pytest.approx(min(every) / 20)


def test_what_is_listed_above_the_bound_is_not_counted():
    import rashomon

    from arboretum_peers.worker import within

    histogram = [(100, 3), (108, 4), (109, 5), (110, 6)]  # of 1.09 · 100, some list up to 110
    assert within(histogram, 0.09) == 12 and within(histogram, 0.0899) == 7
    rows = [
        {"problem": "t", "λ": 0.1, "depth": 3, "ε": 0.1, "who": who, "trees": trees}
        for who, trees in (
            ("ours", 7),
            ("treefarms", 7),
            ("arborenum", 8),
            ("tree-praxis/near", 5),
            ("tree-praxis/exact", None),
        )
    ]
    assert rashomon.contradictions(rows) == ["t, λ = 0.1: arborenum counts 8, ours 7"]
    rows[1] |= {
        "trees": 5,
        "note": rashomon.loses_at_bound("treefarms", {"trees": 5}, {"trees": 7, "last": 2}),
    }
    assert rows[1]["note"] == "loses 2 of the 2 trees at the bound"
    assert len(rashomon.contradictions(rows)) == 1
    assert not rashomon.loses_at_bound("treefarms", {"trees": 4}, {"trees": 7, "last": 2})
    assert not rashomon.loses_at_bound("arborenum", {"trees": 5}, {"trees": 7, "last": 2})
