"""Files as they come: read sensibly, with a note where something was inferred, or refused in one
line.
"""

from __future__ import annotations

import datetime as dt
import gzip

import numpy as np
import pytest

from arboretum.api import ArboretumError, ColumnKind, DataError, Task
from arboretum_data.file import Decimal, FileDataset
from arboretum_data.reading import delimited


@pytest.fixture
def load(tmp_path):
    """Write a file and load it."""

    def loaded(content, name="t.csv", **fields):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        return FileDataset(path=str(tmp_path / name), **{"target": "y", **fields}).load(0)

    return loaded


def shown(column) -> list:
    if column.categories:
        return [column.categories[k] if k >= 0 else None for k in column.values]
    return [None if np.isnan(v) else v for v in column.values.tolist()]


READ = {
    "line end in quotes": ('a,y\n"x\nz",u\n"p ""q""",v\n', ["x\nz", 'p "q"']),
    "carriage returns alone": ("a,y\r1,u\r2,v\r", [1.0, 2.0]),
    "trailing separator everywhere": ("a,y,\n1,u,\n2,v,\n", [1.0, 2.0]),
    "integers beyond 64 bits": (
        "a,y\n12345678901234567890123,u\n-1,v\n",
        [12345678901234567890123.0, -1.0],
    ),
    "hexadecimal is text": ("a,y\n0x1F,u\n0x10,v\n", ["0x1F", "0x10"]),
    "blanks around NaN": ("a,y\n NaN ,u\n2,v\n", [None, 2.0]),
    "mixed truth values": ("a,y\nTrue,u\n1,v\nfalse,u\n", ["True", "1", "false"]),
    "unnamed first column": (",b,y\n1,2,u\n3,4,v\n", [1.0, 3.0]),
    "blank lines around": ("\n\na,y\n1,u\n\n2,v\n\n", [1.0, 2.0]),
    "two-byte text": ("a,y\nä,u\nö,v\n".encode("utf-16"), ["ä", "ö"]),
    "gzip under another name": (gzip.compress(b"a,y\n1,u\n2,v\n"), [1.0, 2.0]),
}


@pytest.mark.parametrize("case", READ)
@pytest.mark.parametrize("large", [False, True, "wide"])
def test_odd_text_files_are_read(case, large, load, monkeypatch):
    monkeypatch.setattr(delimited, "LARGE", 1 if large else 1 << 40)
    monkeypatch.setattr(delimited, "NARROW", 1 << 40 if large == "wide" else 0)
    content, values = READ[case]
    table = load(content)
    assert shown(table.columns[0]) == values
    assert table.notes == {}


REFUSED = {
    "NUL": (b"a,y\n1,u\n2\x00,v\n", "t.csv: line 3 holds a NUL byte"),
    "two-byte text without a mark": (
        "a,y\n1,u\n".encode("utf-16-le"),
        "dataset.encoding=utf-16-le",
    ),
    "zip": (b"PK\x03\x04abc", "a zip archive or an Excel workbook"),
    "Parquet as CSV": (b"PAR1abc", "a Parquet file; give it the ending .parquet"),
    "ARFF as CSV": (
        "@relation r\n@attribute y {u,v}\n@data\n1,u\n",
        "if this is ARFF, give the file the ending .arff",
    ),
    "comment": ("# made by x\na,y\n1,u\n2,v\n", "delete comments above it"),
    "trailing separator in rows": (
        "a,y\n1,u,\n2,v,\n",
        "line 2 has 3 cells, the header has 2; the row ends with a ','",
    ),
    "comma in text": ("a,y\nx, z,u\n", "text with a comma must stand in quotes"),
    "beyond floats": ("a,y\n1e400,u\n2,v\n", "column 'a' holds an infinite value in row 1"),
    "Infinity": ("a,y\n1,u\n-Infinity,v\n", "column 'a' holds an infinite value in row 2"),
    "equal names after blanks": ("a, a ,y\n1,2,u\n", "column name 'a' comes twice"),
    "gzip cut short": (
        gzip.compress(b"a,y\n" + b"1,u\n2,v\n" * 999)[:-20],
        "t.csv: cannot be read",
    ),
    "open quote": ('a,y\n"x,u\n1,v\n', "cells, the header has 2"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("large", [False, True, "wide"])
def test_broken_text_files_are_refused_in_one_line(case, large, load, monkeypatch):
    monkeypatch.setattr(delimited, "LARGE", 1 if large else 1 << 40)
    monkeypatch.setattr(delimited, "NARROW", 1 << 40 if large == "wide" else 0)
    content, message = REFUSED[case]
    with pytest.raises(ArboretumError) as caught:
        load(content)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def parquet(folder, **columns) -> FileDataset:
    import pyarrow as pa
    from pyarrow import parquet as format_

    arrays = {"y": pa.array(["u", "v", "u"]), **columns}
    format_.write_table(pa.table(arrays), folder / "t.parquet")
    return FileDataset(path=str(folder / "t.parquet"), target="y")


def test_typed_columns_of_parquet_are_read(tmp_path):
    import pyarrow as pa

    noon = dt.datetime(2020, 3, 1, 12)  # a column without a zone
    table = parquet(
        tmp_path,
        bools=pa.array([True, False, None]),
        ints=pa.array([1, None, 3]),
        days=pa.array([noon.date(), None, dt.date(2020, 3, 2)]),
        moments=pa.array([noon, None, noon]),
        zoned=pa.array([noon, None, noon], pa.timestamp("ns", tz="Asia/Tokyo")),
        words=pa.array(["m", None, "n"]).dictionary_encode(),
        nothing=pa.nulls(3),
    ).load(0)
    assert [(c.name, c.kind.value, c.unit) for c in table.columns] == [
        ("bools", "categorical", ""),
        ("ints", "continuous", ""),
        ("days", "continuous", "days"),
        ("moments", "continuous", "seconds"),
        ("zoned", "continuous", "seconds"),
        ("words", "categorical", ""),
        ("nothing", "continuous", ""),
    ]
    assert shown(table.column("days")) == [18322.0, None, 18323.0]
    assert shown(table.column("bools")) == ["true", "false", None]


@pytest.mark.parametrize("value", [[1], {"k": 1}, b"\xff", dt.timedelta(1)])
def test_columns_of_parquet_that_no_test_can_read_are_named_with_a_way_out(tmp_path, value):
    import attrs
    import pyarrow as pa

    dataset = parquet(tmp_path, odd=pa.array([value, None, value]), a=pa.array([1, 2, 3]))
    with pytest.raises(
        DataError, match=r"column 'odd' holds .*'dataset.ignore=\[odd\]' leaves it out"
    ):
        dataset.load(0)
    assert [c.name for c in attrs.evolve(dataset, ignore=("odd",)).load(0).columns] == ["a"]


HEAD = "@relation r\n"
TAIL = "@attribute y {u,v}\n@data\n"


@pytest.mark.parametrize(
    ("declared", "rows", "values"),
    [
        (
            "@attribute a string",
            '"it\'s, fine",u\n\'a "b"\',v\n?,u\n',
            ["it's, fine", 'a "b"', None],
        ),
        ("@attribute a {'x y','it\\'s'}", "'it\\'s',u\n'x y',v\n", ["it's", "x y"]),
        ("@attribute a {NA,SE}", "NA,u\nSE,v\n?,u\n", ["NA", "SE", None]),
        (
            '@attribute a date "yyyy-MM-dd"',
            '"2020-03-01",u\n2020-03-02,v\n?,u\n',
            [18322.0, 18323.0, None],
        ),
        ("@attribute a {'x y',z}", "{0 z}\n{1 v}\n{0 'x y', 1 v}\n", ["z", "x y", "x y"]),
        ("@attribute a string", "'x\u2028z',u\nw,v\n", ["x\u2028z", "w"]),
    ],
)
def test_odd_arff_is_read(load, declared, rows, values):
    assert shown(load(f"{HEAD}{declared}\n{TAIL}{rows}", "t.arff").columns[0]) == values


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            "@attribute a relational\n@attribute x numeric\n@end a",
            "line 2: the attribute 'a' is relational",
        ),
        (
            "@attribute a {u,v",
            "line 2: the values of the attribute 'a' end without a closing brace",
        ),
        ("@attribute a numerical", "unknown type 'numerical'; did you mean 'numeric'?"),
        ("@attribute a numeric", "the attribute 'a' is numeric, but 'one' is not a number"),
    ],
)
def test_broken_arff_is_refused_in_one_line(load, declared, message):
    with pytest.raises(DataError) as caught:
        load(f"{HEAD}{declared}\n{TAIL}one,u\n2,v\n", "t.arff")
    assert message in str(caught.value) and "\n" not in str(caught.value)


class TestDecimalCommas:
    def test_they_are_read_where_nothing_else_is_possible_with_a_note(self, load):
        table = load("a;b;y\n3,14;x;0,5\n2,7;y;1,25\n;x;2\n1,234;y;3\n")
        assert shown(table.columns[0]) == [3.14, 2.7, None, 1.234]
        assert table.task is Task.regression
        assert table.notes == {
            "decimal": "read with decimal commas: 'a', 'y'; dataset.decimal=point keeps the text"
        }

    def test_thousands_and_decimals_that_look_alike_are_left_as_text_with_a_hint(self, load):
        text = "a;y\n1,234;u\n2,777;v\n"
        table = load(text)
        assert table.columns[0].kind is ColumnKind.categorical
        assert "dataset.decimal=comma reads decimal commas" in table.notes["decimal a"]
        assert shown(load(text, decimal=Decimal.comma).columns[0]) == [1.234, 2.777]

    def test_points_elsewhere_make_them_uncertain(self, load):
        table = load("a;b;y\n1,5;1.5;u\n2,7;2.5;v\n")
        assert [c.kind for c in table.columns] == [ColumnKind.categorical, ColumnKind.continuous]
        assert "column 'a'" in table.notes["decimal a"]

    def test_the_user_decides(self, load):
        text = "a;b;y\n1,5;1.5;u\n2,7;2.5;v\n"
        assert load(text, decimal=Decimal.point).notes == {}
        table = load(text, decimal=Decimal.comma)
        assert shown(table.columns[0]) == [1.5, 2.7]
        assert "show decimal points and are read with them: 'b'" in table.notes["decimal"]
        assert load(text, kinds={"a": "categorical"}).notes == {}

    def test_a_column_that_is_to_be_continuous_says_how(self, load):
        with pytest.raises(
            DataError, match="'1,234' is not a number; dataset.decimal=comma reads decimal commas"
        ):
            load("a;y\n1,234;u\n2,777;v\n", kinds={"a": "continuous"})

    @pytest.mark.parametrize("narrow", [0, 1 << 40])
    def test_large_files_too(self, load, monkeypatch, narrow):
        monkeypatch.setattr(delimited, "LARGE", 1)
        monkeypatch.setattr(delimited, "NARROW", narrow)
        assert shown(load("a;y\n3,14;u\n2,7;v\n").columns[0]) == [3.14, 2.7]


class TestDates:
    def test_iso_dates_are_days_and_say_so(self, load):
        table = load("d,y\n2020-03-01,u\n1969-12-31,v\n,u\n")
        assert shown(table.columns[0]) == [18322.0, -1.0, None]
        assert table.columns[0].unit == "days"
        assert table.notes == {
            "dates": (
                "dates are read as days since 1970-01-01: 'd'; 'dataset.kinds={d: "
                "categorical}' keeps the text"
            )
        }

    def test_the_way_back_to_text_works(self, load):
        table = load("d,y\n2020-03-01,u\n1969-12-31,v\n", kinds={"d": "categorical"})
        assert shown(table.columns[0]) == ["2020-03-01", "1969-12-31"]
        assert table.notes == {}

    def test_other_forms_stay_text_with_a_hint(self, load):
        for first in ("01.03.2020", "3/1/2020", "1 March 2020"):
            table = load(f"d,y\n{first},u\n{first.replace('1', '2', 1)},v\n")
            assert table.columns[0].kind is ColumnKind.categorical
            assert "looks like dates and is read as text" in table.notes["hint d"]

    def test_dates_of_the_target_stay_classes(self, load):
        assert load("a,y\n1,2020-03-01\n2,2020-03-02\n").target.classes == (
            "2020-03-01",
            "2020-03-02",
        )

    def test_trees_read_them_aloud_under_every_encoder(self, load, tmp_path):
        import arboretum

        rows = "".join(
            f"2020-{1 + i // 28:02}-{1 + i % 28:02},{'u' if i < 60 else 'v'}\n" for i in range(120)
        )
        load(f"sold,y\n{rows}")
        for encoder in ("auto", "raw", "midpoints", "bins", "onehot", "multiway"):
            method = "id3" if encoder == "multiway" else "cart"
            overrides = [
                "dataset=file",
                f"dataset.path={tmp_path / 't.csv'}",
                "dataset.target=y",
                "split=none",
            ]
            record = arboretum.run([*overrides, f"encoder={encoder}", f"method={method}"])
            said = record.tree.to_text().splitlines()[2]
            assert "sold ≤ 2020-" in said or "sold in (2020-" in said, encoder
            assert any("dates are read as days" in note for note in record.notes)


def test_what_keeps_a_column_from_being_numbers_is_named_and_the_advice_works(load):
    text = "a,y\n" + "".join(f"{i},{'uv'[i % 2]}\n" for i in range(40)) + "n.a.,u\n"
    table = load(text)
    assert table.columns[0].kind is ColumnKind.categorical
    assert "for 'n.a.' among numbers" in table.notes["hint a"]
    assert '\'dataset.missing=["","?","NA","nan","n.a."]\'' in table.notes["hint a"]
    assert (
        load(text, missing=("", "?", "NA", "nan", "n.a.")).columns[0].kind is ColumnKind.continuous
    )


def test_notes_of_the_table_reach_the_record(load, tmp_path):
    import arboretum

    load("a,y\n1,u\n2,\n3,v\n4,\n")
    record = arboretum.run(
        ["dataset=file", f"dataset.path={tmp_path / 't.csv'}", "dataset.target=y", "split=none"]
    )
    assert "2 of 4 rows are left out: no value of the target 'y'" in record.notes


def test_separators_have_names_for_the_command_line(load):
    for word, sign in {
        "semicolon": ";",
        "tab": "\t",
        "pipe": "|",
        "blank": " ",
        "comma": ",",
    }.items():
        assert shown(load(f"a{sign}y\n1{sign}u\n2{sign}v\n", separator=word).columns[0]) == [
            1.0,
            2.0,
        ]
    with pytest.raises(
        ArboretumError, match="one of comma, semicolon, tab, pipe, blank; got 'semi'"
    ):
        load("a;y\n1;u\n", separator="semi")


@pytest.mark.parametrize("narrow", [0, 1 << 40])
@pytest.mark.parametrize("stray", ["", "-nan", "0x1", "+5", " 7 ", "n.a.", "1_000", "?"])
def test_numbers_of_a_large_file_are_those_of_a_small_one_whatever_stands_among_them(
    load, monkeypatch, stray, narrow
):
    """A late word turns a column that began as numbers into text, in both readers alike."""
    numbers = np.random.default_rng(1).normal(size=600) * 10.0 ** np.random.default_rng(2).integers(
        -300, 300, 600
    )
    rows = "".join(f"{v!r},{i:04},{'uv'[i % 2]}\n" for i, v in enumerate(numbers.tolist()))
    text = f"a,code,y\n{rows}{stray},1,u\n"
    small = load(text, kinds={"code": "categorical"})
    monkeypatch.setattr(delimited, "LARGE", 1)
    monkeypatch.setattr(delimited, "NARROW", narrow)
    monkeypatch.setattr(delimited, "SAMPLE", 10_000)
    large = load(text, kinds={"code": "categorical"})
    assert large.sha256() == small.sha256()
    assert large.notes == small.notes
    assert "0007" in large.column("code").categories
