"""OpenML, as answered by a server of this test on 127.0.0.1; no other address is asked."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from arboretum.api import ColumnKind, ConfigError, DataError, Task
from arboretum_data.home import ENTRIES, writable
from arboretum_data.named import canonical, component_of
from arboretum_data.openml import (
    Fetched,
    OpenMLDataset,
    adapt,
    canonical_form,
    fetch,
    match_columns,
    rename_classes,
)
from arboretum_data.reading.cells import factorise

FLOWERS = """@relation flowers
@attribute 'petal length' numeric
@attribute colour {red,white}
@attribute grade {1,2,10}
@attribute class {Iris-a,Iris-b}
@data
1.5,red,1,Iris-a
?,white,10,Iris-b
2.5,?,2,Iris-b
"""
FEATURES = [
    ("petal length", "numeric", False),
    ("colour", "nominal", False),
    ("grade", "nominal", False),
    ("class", "nominal", True),
]


class Site:
    """What openml.org would answer: data sets by number, and how often it was asked."""

    def __init__(self) -> None:
        self.sets: dict[int, dict] = {}
        self.names: dict[str, int] = {}
        self.asked: list[str] = []

    def add(self, number: int, name: str, arff: str, features, status: str = "active") -> None:
        self.sets[number] = {"name": name, "arff": arff, "features": features, "status": status}
        self.names[name] = number

    def answer(self, path: str, root: str) -> tuple[int, bytes]:
        self.asked.append(path)
        parts = path.strip("/").split("/")
        if parts[0] == "arff":
            return 200, self.sets[int(parts[1])]["arff"].encode()
        if parts[:3] == ["data", "list", "data_name"]:
            if parts[3] not in self.names:
                return 412, b"{}"
            return 200, json.dumps(
                {"data": {"dataset": [{"did": self.names[parts[3]], "version": 1}]}}
            ).encode()
        number = int(parts[-1])
        if number not in self.sets:
            return 412, b"{}"
        return 200, json.dumps(self.page(parts[1], number, root)).encode()

    def page(self, kind: str, number: int, root: str) -> dict:
        item = self.sets[number]
        if kind == "features":
            listed = [
                {
                    "index": str(i),
                    "name": name,
                    "data_type": type_,
                    "is_target": str(target).lower(),
                    "is_ignore": "false",
                    "is_row_identifier": "false",
                    "number_of_missing_values": "0",
                }
                for i, (name, type_, target) in enumerate(item["features"])
            ]
            return {"data_features": {"feature": listed}}
        if kind == "qualities":
            rows = item["arff"].lower().split("@data\n")[1].count("\n")
            return {
                "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(rows)}]}
            }
        return {
            "data_set_description": {
                "id": str(number),
                "name": item["name"],
                "version": "1",
                "description": "made by a test",
                "format": "ARFF",
                "status": item["status"],
                "file_id": str(number),
                "url": f"{root}/arff/{number}/data.arff",
                "md5_checksum": hashlib.md5(item["arff"].encode()).hexdigest(),
            }
        }


@pytest.fixture
def site(monkeypatch, no_home):
    """A running site, with scikit-learn's client pointed at it."""
    from sklearn.datasets import _openml

    pages = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = pages.answer(self.path, root)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    root = f"http://127.0.0.1:{server.server_port}"
    point_client(monkeypatch, _openml, root)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    yield pages
    server.shutdown()
    server.server_close()
    thread.join()


def point_client(monkeypatch, client, root: str) -> None:
    """Every address scikit-learn's client knows, turned to ``root``."""
    tails = {"_SEARCH_NAME": "data/list/data_name/{}/limit/2", "_DATA_INFO": "data/{}"}
    tails |= {"_DATA_FEATURES": "data/features/{}", "_DATA_QUALITIES": "data/qualities/{}"}
    for name, tail in tails.items():
        assert hasattr(client, name)
        monkeypatch.setattr(client, name, f"{root}/{tail}")


class TestAnyDataSet:
    """``dataset=openml``."""

    def test_by_number(self, site):
        site.add(7, "flowers", FLOWERS, FEATURES)
        table = OpenMLDataset(id=7).load(0)
        assert [(c.name, c.kind.value) for c in table.columns] == [
            ("petal length", "continuous"),
            ("colour", "categorical"),
            ("grade", "categorical"),
        ]
        assert table.column("petal length").missing.tolist() == [False, True, False]
        assert table.column("colour").missing.tolist() == [False, False, True]
        assert table.column("grade").categories == ("1", "2", "10")
        assert [table.target.classes[k] for k in table.target.codes] == [
            "Iris-a",
            "Iris-b",
            "Iris-b",
        ]

    def test_by_name_with_kinds_and_another_target(self, site):
        site.add(7, "flowers", FLOWERS, FEATURES)
        orders = {"grade": ["1", "2", "10"]}
        table = OpenMLDataset(
            data_name="flowers", orders=orders, positive="Iris-b", ignore=("colour",)
        ).load(0)
        assert [c.kind for c in table.columns] == [ColumnKind.continuous, ColumnKind.ordinal]
        assert table.target.classes == ("Iris-a", "Iris-b")
        assert OpenMLDataset(id=7, target="colour").load(0).target.name == "colour"

    def test_the_second_time_nothing_is_asked(self, site, no_home):
        site.add(7, "flowers", FLOWERS, FEATURES)
        first = OpenMLDataset(id=7).load(0)
        asked = len(site.asked)
        assert asked > 0
        assert OpenMLDataset(id=7).load(0).sha256() == first.sha256()
        assert len(site.asked) == asked
        assert list(no_home.rglob("*.gz")), "kept in the data home"

    def test_warnings_of_openml_become_a_note(self, site):
        site.add(7, "flowers", FLOWERS, FEATURES, status="deactivated")
        assert "inactive" in OpenMLDataset(id=7).load(0).notes["openml"]

    def test_an_unknown_number_or_name_is_refused_in_one_line(self, site):
        for dataset in (OpenMLDataset(id=99), OpenMLDataset(data_name="nothing")):
            with pytest.raises(DataError, match=r"^OpenML does not give [^\n]+$"):
                dataset.load(0)

    def test_a_regression_target_stays_a_number(self, site):
        arff = (
            "@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n1,0.5\n2,0.7\n3,0.9\n"
        )
        site.add(8, "numbers", arff, [("a", "numeric", False), ("y", "numeric", True)])
        assert OpenMLDataset(id=8).load(0).task is Task.regression

    def test_roles_are_read_from_columns_nominal_ones_too(self, site):
        arff = (
            "@relation t\n@attribute x numeric\n@attribute drug {p,q}\n@attribute got numeric\n"
            "@attribute seen {FALSE,TRUE}\n@attribute fee {1,2.5}\n@attribute y numeric\n@data\n"
            "1,p,0.5,TRUE,1,3.5\n2,q,-1,FALSE,2.5,0.5\n3,p,2,TRUE,1,4\n"
        )
        numeric = ("x", "got", "y")
        site.add(
            9,
            "trial",
            arff,
            [
                (name, "numeric" if name in numeric else "nominal", name == "y")
                for name in ("x", "drug", "got", "seen", "fee", "y")
            ],
        )
        table = OpenMLDataset(
            id=9, event="seen", roles={"fee": "fee"}, ignore=["drug", "got"]
        ).load(0)
        assert [c.name for c in table.columns] == ["x"]
        assert table.role("event").tolist() == [1, 0, 1]
        assert table.role("fee").tolist() == [1, 2.5, 1]
        by_word = OpenMLDataset(id=9, event="drug", event_value="q", ignore=["seen"]).load(0)
        assert by_word.role("event").tolist() == [0, 1, 0]
        table = OpenMLDataset(
            id=9, treatment="drug", outcome="got", costs={"p": "fee", "q": "y"}
        ).load(0)
        assert table.target.name == "drug" and table.target.classes == ("p", "q")
        assert table.role("costs").tolist() == [[1, 3.5], [2.5, 0.5], [1, 4]]
        assert [c.name for c in table.columns] == ["x", "seen"]
        with pytest.raises(DataError, match="dataset.outcome: unknown column 'fees'"):
            OpenMLDataset(id=9, outcome="fees").load(0)
        with pytest.raises(ConfigError, match="dataset.treatment=drug is the target; leave"):
            OpenMLDataset(id=9, treatment="drug", target="y").load(0)

    def test_exactly_one_of_number_and_name_is_asked_for(self):
        with pytest.raises(ConfigError, match="needs dataset.id=NUMBER or dataset.data_name=NAME"):
            OpenMLDataset().load(0)
        with pytest.raises(ConfigError, match="and not both"):
            OpenMLDataset(id=1, data_name="iris").load(0)
        with pytest.raises(ConfigError, match="dataset.version belongs to dataset.data_name"):
            OpenMLDataset(id=1, version=2).load(0)


def test_without_a_network_the_error_says_so(monkeypatch, no_home):
    from sklearn.datasets import _openml

    point_client(monkeypatch, _openml, "http://127.0.0.1:9")  # the discard port: nobody listens
    monkeypatch.setattr(_openml.time, "sleep", lambda seconds: None)
    with pytest.raises(
        DataError,
        match=r"^OpenML cannot be reached for data_id=61 \([^\n]+\); put NAME.csv.gz into",
    ):
        OpenMLDataset(id=61).load(0)
    with pytest.raises(
        DataError,
        match="data set 'letter' is not in the data home .*, and OpenML cannot be reached",
    ) as told:
        component_of("letter")().load(0)
    assert (
        f"put letter.csv.gz into {no_home}, point ARBORETUM_DATA to a folder that has it, or use"
        in str(told.value)
    )


def test_downloads_go_to_the_users_cache_where_the_data_home_cannot_be_written(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    blocked = tmp_path / "a file"
    blocked.write_text("")
    assert writable(tmp_path / "home") == tmp_path / "home"
    assert writable(blocked) != blocked


def arff_of(name: str, home, classes=None, columns=None) -> tuple[str, list]:
    """OpenML's copy of a data set as it might be: other names for columns and classes, the same
    values.
    """
    text = gzip.decompress((home / f"{name}.csv.gz").read_bytes()).decode().splitlines()
    form = canonical_form(name)
    names = columns or [f"V{i}" for i in range(len(form["columns"]))]
    nominal = {*form["categorical"], *form["ordinal"]}
    rows = [line.split(",") for line in text[1:]]
    lines, features = ["@relation r"], []
    for index, (column, new) in enumerate(zip(form["columns"], names, strict=True)):
        values = "numeric"
        if column in nominal:
            values = "{" + ",".join(sorted({row[index] for row in rows} - {""})) + "}"
        lines.append(f"@attribute '{new}' {values}")
        features.append((new, "nominal" if column in nominal else "numeric", False))
    classes = classes or {c: c for c in form["classes"]}
    lines += ["@attribute Class {" + ",".join(classes.values()) + "}", "@data"]
    features.append(("Class", "nominal", True))
    lines += [",".join([*(v or "?" for v in row[:-1]), classes[row[-1]]]) for row in rows]
    return "\n".join(lines) + "\n", features


class TestNamedSets:
    """A name that the data home does not hold: OpenML's copy, if it is the canonical content."""

    @pytest.mark.parametrize("name", ["breast-w", "car", "house-votes", "pima", "sonar"])
    def test_the_canonical_content_arrives_under_other_column_names(self, site, data_home, name):
        entry = ENTRIES.get(name)
        site.add(entry.openml, name, *arff_of(name, data_home))
        table = canonical(name)
        assert table.sha256() == entry.sha256
        assert table.target.classes == tuple(canonical_form(name)["classes"])

    def test_classes_are_recognised_by_their_numbers_of_rows(self, site, data_home):
        arff = arff_of("pima", data_home, {"neg": "tested_negative", "pos": "tested_positive"})
        site.add(37, "diabetes", *arff)
        assert canonical("pima").target.classes == ("neg", "pos")

    def test_columns_in_another_order_are_recognised_by_name(self):
        found = match_columns(["Petal.Length", "SEPAL length"], ["sepal_length", "petal_length"])
        assert found == ["petal_length", "sepal_length"]

    def test_the_stated_rows_are_selected(self, data_home):
        """monk1 on OpenML is the training part followed by the whole domain."""
        form = canonical_form("monk1")
        entry = ENTRIES["monk1"]
        files = [data_home / f"{name}.csv.gz" for name in ("monk1", "monk1-full")]
        (header, *train), (_, *domain) = (
            [*csv.reader(gzip.decompress(file.read_bytes()).decode().splitlines())]
            for file in files
        )
        columns = zip(header, zip(*train, *domain, strict=True), strict=True)
        cells = [factorise(column, values, ("",)) for column, values in columns]
        table = adapt(Fetched(tuple(cells), "target", frozenset()), entry, form)
        assert (table.n_rows, table.sha256()) == (124, entry.sha256)

    def test_another_content_is_refused_with_a_statement(self, site, data_home):
        arff, features = arff_of("pima", data_home)
        head, _, last = arff.rstrip("\n").rpartition("\n")
        site.add(37, "diabetes", f"{head}\n7{last}\n", features)  # one digit too many in one cell
        with pytest.raises(DataError) as caught:
            canonical("pima")
        message = str(caught.value)
        assert "OpenML 37 (768 rows, 8 columns) is not the canonical 'pima'" in message
        assert "dataset=openml dataset.id=37" in message

    def test_classes_that_neither_name_nor_size_tells_apart_are_refused(self):
        form = {"classes": ["0", "1"], "class_counts": [2, 2]}
        with pytest.raises(
            DataError, match="its classes p, q do not match 0, 1 by name or by size"
        ):
            rename_classes(factorise("y", ["p", "q", "q", "p"], ("",)), form)

    def test_a_set_of_another_shape_is_refused(self, site):
        site.add(37, "diabetes", FLOWERS, FEATURES)
        with pytest.raises(DataError, match="it has 3 columns instead of 8"):
            canonical("pima")


def test_an_entry_that_differs_is_not_fetched(site):
    with pytest.raises(
        DataError, match="not fetched .OpenML 1480 has the 4 missing values filled in"
    ):
        component_of("ilpd")().load(0)
    assert site.asked == []


def test_a_broken_answer_is_an_error_not_a_crash(site, no_home):
    site.add(7, "flowers", "this is no ARFF\n@data\n", FEATURES)
    with pytest.raises(DataError, match=r"^OpenML does not give data_id=7: [^\n]+$"):
        fetch({"data_id": 7}, no_home)
