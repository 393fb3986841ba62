"""Rows from outside: frames, arrays, mappings and other tables read as the tree's training table
was.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from drawn_trees import row_of, rows_like, tables, trees
from hypothesis import given, strategies as st

from arboretum.errors import DataError
from arboretum.model.frame import column_of_series, read_column, spelled, table_like
from arboretum.model.rules import Equals, Threshold
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import ColumnSpec, Tree

COLUMNS = (
    ColumnSpec("age", ColumnKind.continuous),
    ColumnSpec("odor", ColumnKind.categorical, ("almond", "foul", "7")),
    ColumnSpec("idle", ColumnKind.ordinal, ("low", "high")),
)


def small_tree() -> Tree:
    """age ≤ 26.5, then odor = almond; "idle" is never asked."""
    nan = [np.nan] * 5
    return Tree(
        task=Task.classification,
        columns=COLUMNS,
        classes=("no", "yes"),
        rules=(Threshold("age", 26.5), Equals("odor", "almond")),
        test=[0, 1, -1, -1, -1],
        child_offset=[0, 2, 4, 4, 4, 4],
        child=[1, 4, 2, 3],
        missing_child=[-1] * 5,
        weights=[[3, 3], [1, 3], [1, 0], [0, 3], [2, 0]],
        counts=[6, 4, 1, 3, 2],
        label=[0, 1, 0, 1, 0],
        value=nan,
        price=[1, 2, 0, 0, 0],
        impurity=nan,
        score=nan,
    )


def test_an_empty_text_is_missing_unless_it_is_a_category():
    values = ["", "almond", "never seen"]
    assert read_column(COLUMNS[1], values).values.tolist() == [-1, 0, -2]
    own = ColumnSpec("odor", ColumnKind.categorical, ("", "almond"))
    assert read_column(own, values).values.tolist() == [0, 1, -2]


def test_values_whose_spellings_would_be_one_stay_apart():
    assert spelled(["1", "1.0", "2"])[0] == ["1", "1.0", "2"]


ROWS = [
    {"age": 20.0, "odor": "almond", "idle": "low"},
    {"age": 20, "odor": 7, "idle": "high"},
    {"age": 20, "odor": "never seen", "idle": None},
    {"age": None, "odor": "foul", "idle": "low"},
    {"age": 30, "odor": None, "idle": "low"},
    {"age": 20, "odor": None, "idle": "low"},
]
NODES = [2, 3, 3, 0, 4, 1]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        pd.DataFrame(ROWS),
        pd.DataFrame(ROWS).astype({"odor": "category", "age": "Float64"}),
        pd.DataFrame(ROWS)[["idle", "odor", "age"]],
        np.array([[row[c.name] for c in COLUMNS] for row in ROWS], dtype=object),
    ],
    ids=["mappings", "frame", "typed frame", "other order", "array"],
)
def test_every_form_of_the_same_rows_ends_at_the_same_nodes(rows):
    table = table_like(small_tree(), rows)
    assert small_tree().apply(table).tolist() == NODES
    assert table.column("odor").values.tolist() == [0, 2, -2, 1, -1, -1]
    # they read it themselves
    for ask in (Tree.apply, Tree.predict, Tree.predict_proba, Tree.prices_paid, Tree.tests_asked):
        assert np.array_equal(ask(small_tree(), rows), ask(small_tree(), table))


def test_a_column_that_no_test_reads_may_be_absent():
    table = table_like(small_tree(), pd.DataFrame(ROWS).drop(columns="idle"))
    assert small_tree().apply(table).tolist() == NODES
    assert table.column("idle").missing.all()


def test_absent_columns_are_named_together():
    with pytest.raises(DataError, match="absent: age, odor; did you rename 'Age'"):
        table_like(small_tree(), [{"Age": 3}])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"age": "old", "odor": "foul"}], "'age' must hold numbers"),
        ([{"age": np.inf, "odor": "foul"}], "'age' holds an infinite value"),
        (np.zeros((2, 2)), r"expected rows with 3 columns .* \(2, 2\)"),
        (np.zeros(3), r"\(3,\)"),
        ({"age": 3, "odor": "foul"}, "one value of 'age', 3, .* give a list of the mapping"),
        ({"age": [3], "odor": "foul"}, "one value of 'odor', 'foul'"),
        ({"age": [3], "odor": ["foul", "none"]}, "differ in length: age 1, odor 2"),
        (pd.DataFrame([[1, "foul", 2]], columns=["age", "odor", "age"]), "'age' occurs twice"),
    ],
)
def test_unusable_rows_are_refused(rows, message):
    with pytest.raises(DataError, match=message):
        table_like(small_tree(), rows)


def test_no_rows_are_no_predictions():
    assert small_tree().predict(table_like(small_tree(), [])).tolist() == []
    assert small_tree().predict(table_like(small_tree(), pd.DataFrame(ROWS)[:0])).tolist() == []


def test_another_table_is_read_by_spelling_and_its_new_class_is_appended():
    other = Table(
        "other",
        (
            Column(
                "odor",
                ColumnKind.categorical,
                np.array([0, 1, 2, -1, -2]),
                ("7", "musty", "almond"),
            ),
            Column("age", ColumnKind.continuous, np.full(5, 20.0)),
        ),
        Target("y", Task.classification, np.array([0, 1, 2, 1, 0]), ("yes", "maybe", "no")),
    )
    table = table_like(small_tree(), other)
    assert table.column("odor").values.tolist() == [2, -2, 0, -1, -2]
    assert [table.target.classes[c] for c in table.target.codes] == [
        "yes",
        "maybe",
        "no",
        "maybe",
        "yes",
    ]
    assert table.target.classes[:2] == small_tree().classes


def test_a_column_of_another_kind_is_refused():
    other = Table(
        "other",
        (
            Column("age", ColumnKind.categorical, np.zeros(1), ("x",)),
            Column("odor", ColumnKind.continuous, np.ones(1)),
        ),
        Target("y", Task.classification, np.zeros(1), ("no", "yes")),
    )
    with pytest.raises(
        DataError, match="'age' is categorical here, but the tree was grown with it continuous"
    ):
        table_like(small_tree(), other)


@given(st.data())
def test_a_table_spelled_out_row_by_row_reads_as_itself(data):
    table = data.draw(tables())
    tree, rows = data.draw(trees(table)), data.draw(rows_like(table))
    mappings = [row_of(rows, r) for r in range(rows.n_rows)]
    for form in (mappings, pd.DataFrame(mappings)):
        assert tree.rest(table_like(tree, form)).tolist() == tree.rest(rows).tolist()


def test_spellings_are_ordered_and_whole_floats_are_spelled_as_integers():
    assert spelled(np.array([3.0, 1.0, np.nan, 2.5]))[0] == ["1", "2.5", "3"]
    assert spelled(["b", "a", None])[0] == ["a", "b"]
    assert spelled(["b", "a", None])[1].tolist() == [1, 0, -1]
    ordered = pd.Series(
        pd.Categorical(["hot", "cold"], categories=["cold", "mild", "hot"], ordered=True)
    )
    assert spelled(ordered)[0] == ["cold", "mild", "hot"]


@pytest.mark.parametrize("kind", ["date32", "date64", "decimal"])
def test_dates_and_decimals_of_arrow_are_those_of_python(kind):
    arrow = pytest.importorskip("pyarrow")
    decimal = kind == "decimal"
    dtype = arrow.decimal128(6, 2) if decimal else getattr(arrow, kind)()
    values = [Decimal("1.50"), Decimal(-2), None] if decimal else [date(2020, 3, 1), None]
    series = pd.Series(pd.array(values, dtype=pd.ArrowDtype(dtype)))
    same = column_of_series("c", pd.Series(values, dtype=object))
    column = column_of_series("c", series)
    assert (column.kind, column.unit) == (ColumnKind.continuous, "" if decimal else "days")
    assert np.array_equal(column.values, same.values, equal_nan=True)
    asked = read_column(ColumnSpec("c", column.kind, (), column.unit), series)
    assert np.array_equal(asked.values, same.values, equal_nan=True)


@pytest.mark.parametrize("dtype", ["Int64", "uint64[pyarrow]"])
def test_large_integers_beside_a_missing_one_keep_their_digits(dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    series = pd.Series(pd.array([2**53, 2**53 + 1, None], dtype=dtype))
    texts, codes = spelled(series)
    assert texts == ["9007199254740992", "9007199254740993"]
    assert codes.tolist() == [0, 1, -1]
    with pytest.raises(DataError, match="9007199254740992 and 9007199254740993 are one number"):
        column_of_series("c", series)
