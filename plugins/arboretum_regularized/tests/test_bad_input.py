"""What a run of the paper's methods refuses, in one line with the rule, the value and the way
out; and what it only tells.
"""

from __future__ import annotations

import pytest

import arboretum
from arboretum.api import ArboretumError

RUN = ["dataset=iris", "method=ec45", "split=none", "tracker=none"]
REFUSED = {
    "theta=-0.1": "theta must be ≥ 0 and ≤ 1; got -0.1",
    "theta=1.5": "theta must be ≥ 0 and ≤ 1; got 1.5",
    "cost.prices={petal_length: -1}": (
        "cost.prices[petal_length] must be a finite number ≥ 0; got -1.0"
    ),
    "cost.prices={petal_width: 0}": (
        "must be > 0; got 0 for column 'petal_width': raise it, or leave the column out"
    ),
    "cost.default=0": (
        "must be > 0; got 0 for column 'sepal_length': raise it, or leave the column out"
    ),
    "coverage.probability.normalise=false dataset.weight=w": (
        "sum to 16 and not to 1; choose coverage.probability.normalise=true"
    ),
}


@pytest.fixture
def table(tmp_path) -> list[str]:
    """Eight rows that weigh 16; the first two are alike but for their class."""
    rows = [f"v{max(i, 1) % 5},u{max(i, 1) % 3},2,c{i % 2}" for i in range(8)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,w,class", *rows, ""]), encoding="utf-8")
    return ["dataset=file", f"dataset.path={tmp_path / 'table.csv'}", "dataset.target=class"]


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused_is_named_with_its_value_and_the_way_out(words, table):
    own = table if "dataset." in words else []
    cost = ["cost=table"] if "cost." in words else []
    choices = list([words] if "{" in words else words.split())
    with pytest.raises(ArboretumError) as told:
        arboretum.run([*RUN, *cost, *own, *choices])
    assert REFUSED[words] in str(told.value)
    assert "\n" not in str(told.value)


def test_objects_that_nothing_tells_apart_are_told_and_grown_around(table):
    record = arboretum.run([*RUN, *table, "dataset.ignore=[w]", "encoder.coalesce=none"])
    assert (
        "no guarantee: 2 objects share all answers with one of another class; "
        "encoder.coalesce=sum makes them one" in record.notes
    )
    merged = arboretum.run([*RUN, *table, "dataset.ignore=[w]"])
    assert merged.data["n_objects"] == record.data["n_objects"] - 1
    assert any(note.startswith("guarantee: ") for note in merged.notes)
    drawn = arboretum.run([*RUN, *table, "dataset.ignore=[w]", "method.max_features=1"])
    assert (
        "no guarantee: not every test competes at a node; leave method.max_features out"
        in drawn.notes
    )


def test_probabilities_are_shares_of_weights_and_a_note_says_so(table):
    record = arboretum.run([*RUN, *table, "dataset.weight=w"])
    assert (
        "the weights of the training rows sum to 16: probabilities are their shares" in record.notes
    )


@pytest.mark.parametrize("coverage", ["pairs", "excluded"])
@pytest.mark.parametrize(
    "method", ["cart_regression", "level_by_level criterion=reduction impurity=variance"]
)
def test_a_coverage_of_classes_is_refused_for_numbers(coverage, method, tmp_path):
    (tmp_path / "numbers.csv").write_text("x,y\n1,1.5\n2,2.5\n3,1\n", encoding="utf-8")
    data = [
        "dataset=file",
        f"dataset.path={tmp_path / 'numbers.csv'}",
        "dataset.target=y",
        "dataset.task=regression",
    ]
    with pytest.raises(
        ArboretumError,
        match=f"coverage {coverage} does classification, but the target 'y' .* asks for regression",
    ):
        arboretum.run(
            [
                f"method={method.split()[0]}",
                *method.split()[1:],
                *data,
                f"coverage=[{coverage}]",
                "split=none",
                "tracker=none",
            ]
        )
