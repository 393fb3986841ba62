"""One value, one spelling: five sources × eight types, learned from in one and predicted in
another; integers keep every digit.
"""

from __future__ import annotations

import datetime as dt

import attrs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import arboretum
from arboretum import TreeClassifier, TreeRegressor
from arboretum.api import (
    Column,
    ColumnKind,
    DataError,
    Table,
    Target,
    Task,
    canonical,
    speller,
    spelling,
    table_like,
)
from arboretum.model.frame import column_of_series, spelled
from arboretum.model.tree import single_leaf
from arboretum.testing.effort import examples
from arboretum_data.file import FileDataset
from arboretum_data.reading import delimited
from arboretum_data.reading.build import TaskChoice

BIG = 2**53
TYPES = {
    "truth values": ([True, False, True], ["true", "false", "true"]),
    "integers": ([10, 2, -1], ["10", "2", "-1"]),
    "whole floats": ([1.0, 10.0, 1e22], ["1", "10", "10000000000000000000000"]),
    "fractions": ([0.1, 2.5, 1e-07], ["0.1", "2.5", "1e-07"]),
    "integers beyond 2^53": ([BIG, BIG + 1, 7], ["9007199254740992", "9007199254740993", "7"]),
    "text": (["a b", "Yes", "007"], ["a b", "Yes", "007"]),
    "days": (
        [dt.date(2020, 3, 1), dt.date(1969, 1, 2), dt.date(2020, 3, 2)],
        ["2020-03-01", "1969-01-02", "2020-03-02"],
    ),
    "moments": (
        [
            dt.datetime(2020, 3, 1, 12, 30, 0, 100_000),
            dt.datetime(2020, 3, 1, 12, 30),
            dt.datetime(2020, 3, 1),
        ],
        ["2020-03-01 12:30:00.1", "2020-03-01 12:30:00", "2020-03-01"],
    ),
}
SOURCES = ("CSV", "Parquet", "ARFF", "pandas", "NumPy")


def write(folder, values, source):
    """The column "a" of these values and a class, in a file."""
    frame = pd.DataFrame({"a": values, "y": ["u", "v", "u"]})
    path = folder / f"t.{source.lower()}"
    if source == "CSV":
        frame.to_csv(path, index=False)
    elif source == "Parquet":
        frame.to_parquet(path)
    else:
        rows = "".join(f"'{value}',{y}\n" for value, y in zip(values, frame["y"], strict=True))
        path.write_text(
            f"@relation r\n@attribute a string\n@attribute y {{u,v}}\n@data\n{rows}",
            encoding="utf-8",
        )
    return path


def category(folder, values, source) -> Column:
    """The column as a source gives it to learn from, its values taken as categories."""
    if source in ("CSV", "Parquet", "ARFF"):
        return (
            FileDataset(
                path=str(write(folder, values, source)), target="y", kinds={"a": "categorical"}
            )
            .load(0)
            .column("a")
        )
    if source == "pandas":
        return column_of_series("a", pd.Series(values).astype("category"))
    texts, codes = spelled(np.array(values))
    return Column("a", ColumnKind.categorical, codes, tuple(texts))


def words(column: Column) -> list[str | None]:
    return [column.categories[k] if k >= 0 else None for k in column.values]


def tree_of(column: Column):
    return single_leaf(
        Table(
            "t",
            (column,),
            Target("y", Task.classification, np.array([0, 1, 0], np.int32), ("u", "v")),
        )
    )


def rows(folder, values, source, tree):
    """The column as a source gives it to predict on."""
    if source in ("CSV", "Parquet", "ARFF"):
        path = write(folder, values, source)
        return FileDataset(path=str(path)).rows(path, tree.columns)
    if source == "pandas":
        return pd.DataFrame({"a": values})
    return np.array(values, object if isinstance(values[0], dt.date) else None).reshape(-1, 1)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("type_", TYPES)
def test_every_source_spells_a_value_alike_and_finds_it_again_in_every_other(
    tmp_path, type_, source
):
    values, expected = TYPES[type_]
    column = category(tmp_path, values, source)
    assert words(column) == expected
    tree = tree_of(column)
    for other in SOURCES:
        found = table_like(tree, rows(tmp_path, values, other, tree)).columns[0]
        assert words(found) == expected, other


@pytest.mark.parametrize("source", ("CSV", "Parquet", "ARFF"))
@pytest.mark.parametrize("type_", TYPES)
def test_classes_are_spelled_alike_too(tmp_path, type_, source):
    values, expected = TYPES[type_]
    table = FileDataset(
        path=str(write(tmp_path, values, source)), target="a", task=TaskChoice.classification
    ).load(0)
    assert [table.target.classes[k] for k in table.target.codes] == expected
    if isinstance(values[0], bool | int | str):
        tree = TreeClassifier(method="cart").fit(np.zeros((3, 1)), np.array(values)).tree_
        assert set(tree.classes) == set(expected)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "type_", ["truth values", "integers", "whole floats", "fractions", "days", "moments"]
)
def test_numbers_are_the_same_numbers_from_every_source(tmp_path, type_, source):
    values, _ = TYPES[type_]
    column = column_of_series("a", pd.Series(values))
    assert column.kind is ColumnKind.continuous
    tree = tree_of(column)
    assert (
        table_like(tree, rows(tmp_path, values, source, tree)).columns[0].values.tolist()
        == column.values.tolist()
    )


@pytest.mark.parametrize(
    "spelt",
    [
        ["true", "True", "TRUE", "false"],
        ["1", "1.0", "1.00", "2"],
        ["2020-03-01 12:00", "2020-03-01T12:00:00Z", "2020-03-02"],
    ],
)
def test_spellings_of_one_value_become_one_with_a_note(tmp_path, spelt):
    (tmp_path / "t.csv").write_text(
        "a,y\n" + "".join(f"{word},{'uv'[i % 2]}\n" for i, word in enumerate(spelt))
    )
    table = FileDataset(path=str(tmp_path / "t.csv"), target="y", kinds={"a": "categorical"}).load(
        0
    )
    assert len(set(words(table.column("a")))) == len(set(map(speller(spelt), spelt))) < len(spelt)
    assert f"column 'a': {spelt[0]!r} and {spelt[1]!r} are one value" in table.notes["spelling a"]
    tree = tree_of(attrs.evolve(table.column("a"), values=table.column("a").values[:3]))
    for word in spelt:
        assert (
            words(table_like(tree, {"a": [word] * 3}).columns[0])
            == [words(table.column("a"))[spelt.index(word)]] * 3
        )


def test_an_order_that_lists_two_spellings_keeps_them_apart(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1.1,u\n1.10,v\n1.2,u\n")
    dataset = FileDataset(
        path=str(tmp_path / "t.csv"), target="y", orders={"a": ["1.1", "1.2", "1.10"]}
    )
    assert words(dataset.load(0).column("a")) == ["1.1", "1.10", "1.2"]
    listed = FileDataset(path=str(tmp_path / "t.csv"), target="y", orders={"a": [1.1, 1.2]}).load(0)
    assert listed.column("a").categories == ("1.1", "1.2")


def test_codes_with_zeros_in_front_and_mixtures_stay_text():
    for texts in (
        ["007", "7"],
        ["True", "1", "false"],
        ["1e5", "100000"],
        ["+1", "1"],
        ["2020-03-01", "today"],
    ):
        assert canonical(texts) == tuple(texts)


@pytest.mark.parametrize(
    "values",
    [
        ["1.1", "1.10", "beta"],
        ["1", "1.0", "beta"],
        ["0", "1", "true", "false"],
        ["true", "TRUE", "perhaps"],
        ["2020-01-01", "2020-01-01T00:00", "never"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("method", ["cart", "gosdt", "id3"])
def test_what_a_column_keeps_apart_its_tests_keep_apart(values, method, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{v},{k}\n" for k, v in enumerate(values)))
    run = arboretum.run(
        [
            "dataset=file",
            f"dataset.path={tmp_path / 't.csv'}",
            "dataset.target=y",
            "dataset.task=classification",
            f"method={method}",
            "split=none",
            "tracker=none",
            *(["objective.lam=0.001"] if method == "gosdt" else []),
        ]
    )
    codes = list(range(len(values)))
    assert run.tree.predict([{"x": value} for value in values]).tolist() == codes
    model = TreeClassifier(method).fit(pd.DataFrame({"x": values}), codes)
    assert model.predict(pd.DataFrame({"x": values})).tolist() == codes


@pytest.mark.parametrize("kind", [object, "category"])
def test_blanks_around_text_are_nothing_in_a_frame_as_in_a_file(kind):
    x = pd.DataFrame({"x": pd.Series(["a", " a", "b", "b "], dtype=kind)})
    model = TreeClassifier().fit(x, ["p", "p", "q", "q"])
    assert model.tree_.columns[0].categories == ("a", "b")
    assert model.predict(x[::-1]).tolist() == ["q", "q", "p", "p"]


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_dates_are_no_numbers_to_a_tree_that_compares_numbers(tmp_path, end):
    tree = TreeClassifier().fit(pd.DataFrame({"x": [1, 30000]}), ["p", "q"]).tree_
    frame = pd.DataFrame({"x": pd.to_datetime(["2020-01-01", "1960-01-02"])})
    path = tmp_path / f"q.{end}"
    frame.to_csv(path, index=False) if end == "csv" else frame.to_parquet(path)
    with pytest.raises(DataError, match="x must be a number; got '2020-01-01' in row 1, a date"):
        FileDataset(path=str(path), target="y").rows(path, tree.columns)


def test_mixed_objects_are_told_apart_by_type_where_python_calls_them_equal():
    texts, codes = spelled(pd.Series([True, 1, 1.0, "1", None, False, 0], dtype=object))
    assert [texts[k] if k >= 0 else None for k in codes] == [
        "true",
        "1",
        "1",
        "1",
        None,
        "false",
        "0",
    ]


def test_float32_is_spelled_as_itself(tmp_path):
    values = np.array([0.1, 2.5, 1.0], np.float32)
    pd.DataFrame({"a": values, "y": ["u", "v", "u"]}).to_parquet(tmp_path / "t.parquet")
    column = (
        FileDataset(path=str(tmp_path / "t.parquet"), target="y", kinds={"a": "categorical"})
        .load(0)
        .column("a")
    )
    assert words(column) == ["0.1", "2.5", "1"]
    assert words(table_like(tree_of(column), {"a": values}).columns[0]) == ["0.1", "2.5", "1"]


def test_truth_values_and_their_numbers_answer_each_other():
    flag = tree_of(Column("a", ColumnKind.categorical, np.array([1, 0, 1]), ("false", "true")))
    assert words(table_like(flag, np.array([[1.0], [0.0], [2.0]])).columns[0]) == [
        "true",
        "false",
        None,
    ]
    number = tree_of(Column("a", ColumnKind.continuous, np.array([1.0, 0.0, 1.0])))
    assert table_like(number, {"a": ["TRUE", False, None]}).columns[0].values.tolist()[:2] == [
        1.0,
        0.0,
    ]


@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.booleans()
    | st.datetimes()
    | st.dates()
)
@examples(200)
def test_a_canonical_spelling_is_canonical(value):
    text = spelling(value)
    assert speller([text])(text) == text
    if isinstance(value, float | int) and not isinstance(value, bool):
        assert type(value)(text) == value


MERGING = [
    [BIG, BIG + 1, 7],
    [2**60 + i for i in range(3)],
    [-BIG - 1, -BIG, 0],
    [2**63, 2**63 + 1, 1],
    [10**25, 10**25 + 1, 5],
]


@pytest.mark.parametrize("values", MERGING)
@pytest.mark.parametrize("source", ["CSV", "large CSV", "wide CSV", "Parquet", "ARFF"])
def test_integers_that_would_merge_are_refused_with_the_column_and_kept_as_categories(
    tmp_path, monkeypatch, values, source
):
    if source != "CSV" and source.endswith("CSV"):
        monkeypatch.setattr(delimited, "LARGE", 1)
        monkeypatch.setattr(delimited, "VARIED", 1)
        monkeypatch.setattr(delimited, "NARROW", 1 << 40 if source == "wide CSV" else 0)
    if source == "Parquet" and max(values) >= 2**64:
        pytest.skip("Parquet has no such integers")
    dataset = FileDataset(path=str(write(tmp_path, values, source.rpartition(" ")[2])), target="y")
    with pytest.raises(
        DataError, match=r"column 'a': -?\d+ and -?\d+ are one number in float64, exact up to 2\^53"
    ):
        dataset.load(0)
    assert words(attrs.evolve(dataset, kinds={"a": "categorical"}).load(0).column("a")) == [
        str(v) for v in values
    ]
    classes = attrs.evolve(dataset, target="a").load(0).target.classes
    assert list(classes) == [str(v) for v in sorted(values)]
    with pytest.raises(DataError, match="column 'a'"):
        attrs.evolve(dataset, target="a", task=TaskChoice.regression).load(0)


def test_integers_beyond_that_stay_apart_are_numbers(tmp_path):
    values = [BIG, BIG + 2, 2**60]
    for source in ("CSV", "Parquet", "ARFF"):
        table = FileDataset(path=str(write(tmp_path, values, source)), target="y").load(0)
        assert table.column("a").values.tolist() == values


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        lambda v: v,
        pd.DataFrame,
        lambda v: pd.DataFrame(v, dtype=object),
        lambda v: pd.DataFrame(v, dtype="Int64"),
    ],
)
def test_estimators_refuse_them_too(form):
    X = form([[1, BIG], [2, BIG + 1], [3, 5]])
    with pytest.raises(
        DataError, match="column '?(x?1)'?: 9007199254740992 and 9007199254740993 are one number"
    ):
        TreeClassifier().fit(X, [0, 1, 0])
    with pytest.raises(DataError, match="column 'y'"):
        TreeRegressor().fit([[1.0], [2.0], [3.0]], np.array([BIG, BIG + 1, 5]))
    with pytest.raises(DataError, match="column 'b': "):
        TreeClassifier().fit(
            pd.DataFrame({"a": ["x", "y", "x"], "b": [BIG, BIG + 1, 5]}), [0, 1, 0]
        )


@pytest.mark.parametrize(
    ("y", "type_", "spelt"),
    [
        ([BIG, BIG + 1, BIG], "Int64", (str(BIG), str(BIG + 1))),
        ([2**64 - 2, 2**64 - 1, 2**64 - 2], "UInt64", (str(2**64 - 2), str(2**64 - 1))),
        ([False, True, False], "boolean", ("false", "true")),
    ],
)
@pytest.mark.parametrize("x", [[[1.0], [2.0], [3.0]], pd.DataFrame({"a": ["u", "v", "w"]})])
def test_a_target_of_a_type_of_pandas_keeps_its_digits(x, y, type_, spelt):
    """scikit-learn made floats of them, and one class of two integers."""
    given = pd.Series(y, dtype=type_)
    model = TreeClassifier().fit(x, given)
    assert model.tree_.classes == spelt and model.predict(x).tolist() == y
    assert model.measures(x, given)["error"] == 0
    if type_ != "boolean":
        with pytest.raises(DataError, match="column 'y': .* are one number"):
            TreeRegressor().fit(x, given)


def test_a_run_never_merges_them(tmp_path):
    pd.DataFrame({"x": [1, 2, 3] * 4, "y": [BIG, BIG + 1, 7] * 4}).to_parquet(
        tmp_path / "t.parquet"
    )
    record = arboretum.run(
        [
            "dataset=file",
            f"dataset.path={tmp_path / 't.parquet'}",
            "dataset.target=y",
            "split=none",
            "method=cart",
        ]
    )
    assert (
        record.tree.classes == ("7", str(BIG), str(BIG + 1)) and record.metrics["train_error"] == 0
    )


@pytest.mark.parametrize("form", [lambda v: pd.DataFrame({"a": v}), lambda v: {"a": v}])
def test_an_empty_text_is_missing_to_a_tree_that_has_no_such_category(tmp_path, form):
    """The frame that wrote the file had values never seen where the file has none."""
    tree = tree_of(category(tmp_path, ["b", "", "c"], "Parquet"))
    assert table_like(tree, form(["", "b", " ", "d"])).column("a").values.tolist() == [
        -1,
        0,
        -1,
        -2,
    ]
    of_frame = tree_of(column_of_series("a", pd.Series(["b", "", "c"])))
    assert words(table_like(of_frame, form(["", "c"])).column("a")) == ["", "c"]


@pytest.mark.parametrize("source", ["CSV", "Parquet", "ARFF"])
def test_times_of_day_are_spelled_alike_whatever_digits_a_type_gives_them(tmp_path, source):
    """Parquet wrote 12:30:00.000000 where CSV had 12:30:00."""
    times = [dt.time(12, 30), dt.time(0, 0, 10), dt.time(1, 2, 3, 500_000)]
    column = category(tmp_path, times, source)
    assert words(column) == ["12:30:00", "00:00:10", "01:02:03.5"]


@pytest.mark.parametrize("source", ["CSV", "Parquet", "pandas", "ARFF"])
@pytest.mark.parametrize(
    ("step", "unit"),
    [("100ms", "milliseconds"), ("3us", "microseconds"), ("2s", "seconds"), ("1D", "days")],
)
def test_moments_keep_their_fractions(tmp_path, step, unit, source):
    times = pd.date_range("2024-03-01", periods=3, freq=step)
    column = column_of_series("a", pd.Series(times))
    if source != "pandas":
        column = (
            FileDataset(path=str(write(tmp_path, times, source)), target="y").load(0).column("a")
        )
    assert column.unit == unit and len(np.unique(column.values)) == 3
    tree = tree_of(column)
    for values in (
        times.to_numpy(),
        list(times),
        [str(t) for t in times],
        times.to_numpy().astype("datetime64[us]"),
    ):
        assert table_like(tree, {"a": values}).columns[0].values.tolist() == column.values.tolist()


@pytest.mark.parametrize("source", ["CSV", "Parquet", "pandas"])
def test_moments_that_would_merge_are_refused(tmp_path, source):
    times = pd.Series(pd.to_datetime([1, 2, 5000], unit="ns"))
    with pytest.raises(DataError, match="column 'a' holds moments less than a microsecond apart"):
        column_of_series("a", times) if source == "pandas" else FileDataset(
            path=str(write(tmp_path, times, source)), target="y"
        ).load(0)
    apart = FileDataset(
        path=str(write(tmp_path, pd.to_datetime([1, 2001, 5000], unit="ns"), "CSV")), target="y"
    ).load(0)
    assert apart.notes["nanoseconds"] == "what is finer than microseconds is left out of dates"
