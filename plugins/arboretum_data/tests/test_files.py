"""Tables from files: what is read, what is inferred, and what is refused in one line."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import ArboretumError, ColumnKind, ConfigError, DataError, Task
from arboretum.testing import DatasetSuite
from arboretum.testing.effort import examples
from arboretum_data.file import DfepDataset, FileDataset, RandomTableDataset
from arboretum_data.reading import delimited
from arboretum_data.reading.build import TaskChoice

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=6)
PLAIN = "age,job,size,y\n31,cook,small,no\n45,nurse,large,yes\n,cook,?,no\n52,,large,yes\n"


@pytest.fixture
def write(tmp_path):
    """Write a file and return a data set component for it."""

    def written(content, name="table.csv", **fields):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return FileDataset(path=str(path), **{"target": "y", **fields})

    return written


def spelled(table) -> list[list]:
    """The columns as lists of numbers or categories, None where missing."""
    found = []
    for column in table.columns:
        known = ~column.missing
        values = (
            [column.categories[v] for v in column.values]
            if column.categories
            else column.values.tolist()
        )
        found.append([value if there else None for value, there in zip(values, known, strict=True)])
    return found


class TestAFileConforms(DatasetSuite):
    @pytest.fixture
    def component(self, write):
        return write(PLAIN)


class TestRandomTablesConform(DatasetSuite):
    @pytest.fixture
    def component(self):
        return RandomTableDataset()


class TestWordsWithOutliersConform(DatasetSuite):
    @pytest.fixture
    def component(self):
        return DfepDataset(bits=5)


class TestReading:
    """The same table from every format."""

    expected = [
        [31.0, 45.0, None, 52.0],
        ["cook", "nurse", "cook", None],
        ["small", "large", None, "large"],
    ]

    @pytest.mark.parametrize(
        ("content", "name"),
        [
            (PLAIN, "t.csv"),
            (PLAIN, "t.csv.gz"),
            (PLAIN.replace(",", ";"), "t.csv"),
            (PLAIN.replace(",", "\t"), "t.tsv"),
            ("\ufeff" + PLAIN, "bom.csv"),
            (PLAIN.replace("\n", "\r\n"), "windows.csv"),
            (PLAIN.replace("\n", "\n\n"), "blank_lines.txt"),
            (PLAIN.replace(",", " , "), "blanks.csv"),
            (PLAIN.replace("cook", '"cook"'), "quoted.csv"),
        ],
    )
    def test_delimited_text(self, write, content, name):
        table = write(content, name).load(0)
        assert [c.name for c in table.columns] == ["age", "job", "size"]
        assert spelled(table) == self.expected
        assert [c.kind.value for c in table.columns] == ["continuous", "categorical", "categorical"]
        assert [table.target.classes[k] for k in table.target.codes] == ["no", "yes", "no", "yes"]

    def test_parquet(self, tmp_path):
        import pyarrow as pa
        from pyarrow import parquet

        columns = {
            "age": [31, 45, None, 52],
            "job": self.expected[1],
            "size": self.expected[2],
            "y": list("nyny"),
        }
        arrays = {
            k: pa.array(v).dictionary_encode() if k == "job" else pa.array(v)
            for k, v in columns.items()
        }
        parquet.write_table(pa.table(arrays), tmp_path / "t.parquet")
        table = FileDataset(path=str(tmp_path / "t.parquet"), target="y").load(0)
        assert spelled(table) == self.expected

    def test_arff_keeps_the_declared_order_of_nominal_values(self, write):
        text = """% a comment
@RELATION people
@attribute age numeric
@attribute 'the job' {nurse, 'pastry cook', driver}
@attribute size {small,large}
@attribute y {yes,no}
@DATA
31,'pastry cook',small,no
% another
45,nurse,large,yes
?,'pastry cook',?,no
52,?,large,yes
"""
        table = write(text, "t.arff").load(0)
        assert spelled(table)[1] == ["pastry cook", "nurse", "pastry cook", None]
        assert table.column("the job").categories == ("nurse", "pastry cook", "driver")
        assert table.column("size").categories == ("small", "large")
        assert table.target.classes == ("yes", "no")

    def test_sparse_arff_rows_fill_in_zeros_and_first_values(self, write):
        head = "@relation r\n@attribute a numeric\n@attribute b {u,v}\n@attribute y {n,p}\n@data\n"
        text = head + "{0 2.5, 2 p}\n{}\n{1 v}\n"
        table = write(text, "t.arff").load(0)
        assert spelled(table) == [[2.5, 0.0, 0.0], ["u", "u", "v"]]
        assert table.target.codes.tolist() == [1, 0, 0]

    @pytest.mark.parametrize("many", [1, 100_000])
    def test_a_large_file_is_read_as_a_small_one(self, write, monkeypatch, many):
        monkeypatch.setattr(delimited, "MANY_SPELLINGS", many)
        generator = np.random.default_rng(0)
        rows = "\n".join(
            f"{a},{w},{'?' if a > 0.9 else a},{k}"
            for a, w, k in zip(
                generator.normal(size=500).round(3),
                generator.choice(["a b", '"x, y"', "", " c"], 500),
                generator.integers(0, 3, 500),
                strict=True,
            )
        )
        dataset = write(f"u,v,w,y\n{rows}\n")
        small = dataset.load(0)
        monkeypatch.setattr(delimited, "LARGE", 1)
        for narrow in (0, 1 << 40):  # by pyarrow, and as a table of many columns
            monkeypatch.setattr(delimited, "NARROW", narrow)
            large = dataset.load(0)
            assert large.sha256() == small.sha256()
            assert [c.categories for c in large.columns] == [c.categories for c in small.columns]

    def test_a_table_of_many_columns_takes_little_memory(self, tmp_path):
        row = ",".join(f"{k}.25" for k in range(20_000))
        lines = [
            ",".join(f"c{k}" for k in range(20_000)) + ",y",
            *(f"{row},{'uv'[k % 2]}" for k in range(40)),
        ]
        (tmp_path / "wide.csv").write_text("\n".join(lines))
        code = (
            "import resource, sys; from arboretum_data.file import FileDataset; most = "
            "resource.RUSAGE_SELF\n"
            "before = resource.getrusage(most).ru_maxrss\n"
            "table = FileDataset(path=sys.argv[1], target='y').load(0); assert "
            "table.columns[19_999].values[0] == 19_999.25\n"
            "print(resource.getrusage(most).ru_maxrss - before)"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "wide.csv")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        assert int(done.stdout) * 1024 < 200 * 20_000 * 40, "bytes per cell"

    def test_ragged_rows_of_a_large_file_are_named_too(self, write, monkeypatch):
        monkeypatch.setattr(delimited, "LARGE", 1)
        monkeypatch.setattr(delimited, "NARROW", 0)
        with pytest.raises(DataError, match="line 3 has 2 cells, the header has 4"):
            write("a,b,c,y\n1,2,3,u\n1,2\n").load(0)

    @given(
        st.lists(
            st.lists(TEXT, min_size=3, max_size=3),
            min_size=2,
            max_size=8,
        )
    )
    @examples(60)
    def test_any_text_a_csv_writer_writes_is_read_back(self, rows):
        out = io.StringIO()
        csv.writer(out, quoting=csv.QUOTE_ALL).writerows([["a", "b", "c"], *rows])
        cells = delimited.parse_delimited(out.getvalue(), ",", ("",), "here")
        for index, column in enumerate(cells):
            read = [column.values[k] if k >= 0 else "" for k in column.codes]
            assert read == [row[index].strip() for row in rows]

    def test_iris_needs_neither_pandas_nor_scikit_learn(self):
        import subprocess
        import sys

        code = (
            "import sys\nfrom arboretum_data.named import "
            "component_of\ncomponent_of('iris')().load(0)\n"
            "print([m for m in ('pandas', 'sklearn', 'scipy', 'pyarrow', 'numba') if m in "
            "sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "[]"


class TestKinds:
    """Numbers are continuous, text is categorical, unless the user says otherwise."""

    def test_given_kinds_and_orders_win(self, write):
        orders = {"size": ["small", "large"]}
        table = write(PLAIN, kinds={"age": "categorical", "size": "ordinal"}, orders=orders).load(0)
        assert table.column("age").categories == ("31", "45", "52")
        assert table.column("size").kind is ColumnKind.ordinal
        assert table.column("size").categories == ("small", "large")

    def test_an_order_alone_makes_a_column_ordinal(self, write):
        assert (
            write(PLAIN, orders={"size": ["small", "large"]}).load(0).column("size").kind
            is ColumnKind.ordinal
        )

    @pytest.mark.parametrize("word", ["1_000", "nan?", "0x10", "one"])
    def test_what_is_no_number_makes_a_column_text(self, write, word):
        assert (
            write(f"a,y\n10,u\n{word},v\n2,u\n").load(0).columns[0].kind is ColumnKind.categorical
        )

    def test_numeric_categories_are_ordered_as_numbers(self, write):
        table = write("a,y\n10,u\n9,v\n2,u\n", kinds={"a": "ordinal"}).load(0)
        assert table.column("a").categories == ("2", "9", "10")

    def test_missing_words_can_be_changed(self, write):
        table = write("a,y\nNA,u\nSE,v\n-,u\n", missing=("-",)).load(0)
        assert table.column("a").categories == ("NA", "SE")

    @pytest.mark.parametrize(
        ("values", "task"),
        [
            ("0 1 1 0", Task.classification),
            ("1 2 3 20", Task.classification),
            ("0.5 1 1 0", Task.regression),
            (" ".join(map(str, range(20))), Task.classification),
            (" ".join(map(str, range(21))), Task.regression),
            ("a b a b", Task.classification),
        ],
    )
    def test_a_target_of_few_whole_numbers_is_a_class(self, write, values, task):
        text = "a,y\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values.split()))
        assert write(text).load(0).task is task

    def test_task_and_kinds_decide_for_the_target(self, write):
        text = "a,y\n1,0\n2,1\n3,2\n"
        assert write(text, task=TaskChoice.regression).load(0).task is Task.regression
        assert write(text, kinds={"y": "continuous"}).load(0).task is Task.regression
        many = "a,y\n" + "".join(f"{i},{i}\n" for i in range(300))
        assert write(many, task=TaskChoice.classification).load(0).n_classes == 300

    def test_weight_group_and_ignored_columns_are_no_attributes(self, write):
        text = "a,b,w,g,y\n1,1,0.5,u,n\n2,2,1,v,p\n3,1,2,u,n\n"
        table = write(text, weight="w", group="g", ignore=("b",)).load(0)
        assert [c.name for c in table.columns] == ["a"]
        assert table.weights.tolist() == [0.5, 1.0, 2.0]
        assert table.groups[0] == table.groups[2] != table.groups[1]

    def test_positive_makes_one_class_against_the_rest(self, write):
        table = write("a,y\n1,u\n2,v\n3,w\n", positive="v").load(0)
        assert table.target.classes == ("rest", "v")
        assert table.target.codes.tolist() == [0, 1, 0]

    def test_of_two_classes_both_keep_their_names(self, write):
        assert write(PLAIN, positive="no").load(0).target.classes == ("yes", "no")

    def test_rows_without_a_target_are_left_out_with_a_note(self, write):
        table = write("a,y\n1,u\n2,\n3,v\n").load(0)
        assert table.n_rows == 2
        assert table.notes["target"] == "1 of 3 rows are left out: no value of the target 'y'"


REFUSED = {
    "empty file": ("", {}, "the file is empty"),
    "blank file": ("\n\n", {}, "the file is empty"),
    "header only": ("a,y\n", {}, "there is a header but no row"),
    "ragged": ("a,b,y\n1,2,u\n1,2,3,4\n", {}, "line 3 has 4 cells, the header has 3"),
    "absent target": (
        "age,y\n1,u\n2,v\n",
        {"target": "agee"},
        "unknown column 'agee'; did you mean 'age'",
    ),
    "unknown kind column": (
        PLAIN,
        {"kinds": {"jobb": "ordinal"}},
        "unknown column 'jobb'; did you mean 'job'",
    ),
    "unknown kind": (
        PLAIN,
        {"kinds": {"job": "nominal"}},
        "dataset.kinds.job: unknown kind 'nominal'",
    ),
    "unknown ignored": (PLAIN, {"ignore": ("z",)}, "dataset.ignore: unknown column 'z'"),
    "unknown weight": (PLAIN, {"weight": "z"}, "dataset.weight: unknown column 'z'"),
    "text as numbers": (
        PLAIN,
        {"kinds": {"job": "continuous"}},
        "column 'job' is to be continuous, but 'cook' is not",
    ),
    "incomplete order": (
        PLAIN,
        {"orders": {"size": ["small"]}},
        "column 'size': unknown value 'large'",
    ),
    "order with a value twice": (
        PLAIN,
        {"orders": {"size": ["small", "large", "small"]}},
        "dataset.orders.size names 'small' twice",
    ),
    "order with a missing word": (
        PLAIN,
        {"orders": {"size": ["NA", "small", "large"]}},
        "dataset.orders.size lists 'NA', which dataset.missing takes for a missing value",
    ),
    "order of numbers": (
        PLAIN,
        {"orders": {"age": [1, 2]}, "kinds": {"age": "continuous"}},
        "dataset.orders: 'age' is continuous by dataset.kinds",
    ),
    "weight is the target": (
        "a,y\n1,1\n2,2\n",
        {"weight": "y"},
        "dataset.weight: 'y' is the target",
    ),
    "missing target": ("a,y\n1,\n2,\n", {}, "the target 'y' is missing in every row"),
    "no attribute": ("y\nu\nv\n", {}, "no column is left besides the target 'y'"),
    "infinite": ("a,y\n1,u\ninf,v\n", {}, "column 'a' holds an infinite value in row 2"),
    "infinite target": ("a,y\n1,0.5\n2,-inf\n", {}, "column 'y' holds an infinite value in row 2"),
    "duplicate": ("a,a,y\n1,2,u\n1,3,v\n", {}, "column name 'a' comes twice"),
    "bytes": (b"a,y\n1,u\n2,\xffv\n", {}, "byte 0xff in line 3 is not utf-8; set dataset.encoding"),
    "positive": (PLAIN, {"positive": "maybe"}, "dataset.positive: unknown class 'maybe'"),
    "positive number": ("a,y\n1,0.5\n2,0.7\n", {"positive": "0.5"}, "holds numbers, not classes"),
    "weight zero": (
        "a,w,y\n1,0,u\n2,1,v\n",
        {"weight": "w"},
        "column 'w' must hold a positive number in every row; row 1 has 0",
    ),
    "weight absent": ("a,w,y\n1,1,u\n2,,v\n", {"weight": "w"}, "in every row; row 2 has nan"),
    "weight text": ("a,w,y\n1,1,u\n2,x,v\n", {"weight": "w"}, "in every row; row 2 has 'x'"),
    "regression on text": (
        PLAIN,
        {"task": TaskChoice.regression},
        "dataset.task=regression, but the target 'y' holds text: row 1 has 'no'; leave it out",
    ),
    "continuous text": (
        PLAIN,
        {"kinds": {"y": "continuous"}},
        "dataset.kinds={y: continuous}, but the target 'y' holds text: row 1 has 'no'",
    ),
    "encoding": (PLAIN, {"encoding": "utf-9"}, "unknown encoding 'utf-9'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_line(write, case):
    content, fields, message = REFUSED[case]
    with pytest.raises(ArboretumError) as caught:
        write(content, **fields).load(0)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv.gz", b"\x1f\x8b\x08 cut off", "cannot be read"),
        ("t.parquet", b"PAR1 not", "cannot be read as Parquet"),
        ("t.arff", b"a,b\n1,2\n", "there is no @data line"),
        (
            "t.arff",
            b"@attribute a numeric\n@attribute y {u,v}\n@data\n1,u\n2\n",
            "line 5 has 1 cells",
        ),
        (
            "t.arff",
            b"@attribute a numeric\n@attribute y {u,v}\n@data\n{7 u}\n",
            "line 4: '7 u' is not 'index value'",
        ),
        (
            "t.arff",
            b"@attribute a numeric\n@attribute y {u,v}\n@data\n1,w\n1,u\n",
            "unknown value 'w'",
        ),
    ],
)
def test_broken_formats_are_refused_in_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        FileDataset(path=str(tmp_path / name), target="y").load(0)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    for name in ("absent.csv", "absent.parquet", "absent.arff"):
        with pytest.raises(DataError, match=f"{name}: no such file"):
            FileDataset(path=str(tmp_path / name), target="y").load(0)
    with pytest.raises(DataError, match="is a folder"):
        FileDataset(path=str(tmp_path), target="y").load(0)


def test_path_and_target_are_asked_for(tmp_path):
    with pytest.raises(ConfigError, match="dataset.path is missing"):
        FileDataset(target="y").load(0)
    with pytest.raises(ConfigError, match="dataset.target is missing"):
        FileDataset(path=str(tmp_path / "t.csv")).load(0)


def test_latin_letters_are_read_with_their_encoding(write):
    table = attrs.evolve(write("a,y\nblå,u\nröd,v\n".encode("latin-1")), encoding="latin-1").load(0)
    assert set(table.columns[0].categories) == {"blå", "röd"}
