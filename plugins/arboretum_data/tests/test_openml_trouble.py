"""What OpenML may answer instead of a data set, and what is kept for the day without a network.

The answers have the form of openml.org's (JSON of the API v1, an ARFF file at the address that the
description names, packed by gzip, as scikit-learn's client asks); the server is this test's, on
127.0.0.1.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from arboretum.api import DataError
from arboretum_data import openml
from arboretum_data.openml import OpenMLDataset

ARFF = "".join(
    [
        "% 1. Title: Flowers\n%\n@RELATION flowers\n\n@ATTRIBUTE "
        "petallength\tREAL\n@ATTRIBUTE colour\t{red,'off white'}\n",
        "@ATTRIBUTE class\t{a,b}\n\n@DATA\n1.5,red,a\n?,'off white',b\n2.5,red,b\n",
    ]
)


def pages(root: str, arff: str = ARFF) -> dict[str, str]:
    """Path → body, as openml.org has them for data set 7."""
    column = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
    features = [
        {
            "index": "0",
            "name": "petallength",
            "data_type": "numeric",
            "is_target": "false",
            **column,
        },
        {
            "index": "1",
            "name": "colour",
            "data_type": "nominal",
            "nominal_value": ["red", "off white"],
            "is_target": "false",
            **column,
        },
        {
            "index": "2",
            "name": "class",
            "data_type": "nominal",
            "nominal_value": ["a", "b"],
            "is_target": "true",
            **column,
        },
    ]
    description = {
        "id": "7",
        "name": "flowers",
        "version": "1",
        "description": "**Author**: a test",
        "format": "ARFF",
        "creator": "nobody",
        "upload_date": "2014-04-06T23:23:39",
        "licence": "Public",
        "url": f"{root}/data/v1/download/7/flowers.arff",
        "parquet_url": f"{root}/data/v1/download/7/flowers.pq",
        "file_id": "7",
        "default_target_attribute": "class",
        "status": "active",
        "md5_checksum": hashlib.md5(ARFF.encode()).hexdigest(),
    }
    listed = {
        "did": 7,
        "name": "flowers",
        "version": 1,
        "status": "active",
        "format": "ARFF",
        "file_id": 7,
    }
    return {
        "/api/v1/json/data/7": json.dumps({"data_set_description": description}),
        "/api/v1/json/data/features/7": json.dumps({"data_features": {"feature": features}}),
        "/api/v1/json/data/qualities/7": json.dumps(
            {
                "data_qualities": {
                    "quality": [
                        {"name": "NumberOfInstances", "value": "3.0"},
                        {"name": "Dimensionality", "value": []},
                    ]
                }
            }
        ),
        "/api/v1/json/data/list/data_name/flowers/limit/2/status/active/": json.dumps(
            {"data": {"dataset": [listed]}}
        ),
        "/data/v1/download/7/flowers.arff": arff,
    }


class Server:
    """Answers from ``pages``; a path in ``trouble`` gets a status, or a pause in seconds,
    instead.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.trouble: dict[str, int | float] = {}
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                owner.asked.append(self.path)
                amiss = next((what for part, what in owner.trouble.items() if part in self.path), 0)
                if isinstance(amiss, float):
                    threading.Event().wait(amiss)  # the client's time.sleep is switched off
                body = owner.pages.get(self.path)
                status = (
                    amiss if isinstance(amiss, int) and amiss else 200 if body is not None else 412
                )
                packed = gzip.compress((body or "{}").encode())
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Encoding", "gzip")
                    self.send_header("Content-Length", str(len(packed)))
                    self.end_headers()
                    self.wfile.write(packed)
                except OSError:
                    pass  # the client has given up, which is what a pause is for

            def log_message(self, *args):
                """Quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.http.server_port}"
        self.pages = pages(self.root)


@pytest.fixture
def server(monkeypatch, no_home):
    from sklearn.datasets import _openml as client

    running = Server()
    tails = {"_SEARCH_NAME": "data/list/data_name/{}/limit/2", "_DATA_INFO": "data/{}"}
    tails |= {"_DATA_FEATURES": "data/features/{}", "_DATA_QUALITIES": "data/qualities/{}"}
    for name, tail in tails.items():
        assert getattr(client, name).endswith(f"api/v1/json/{tail}"), (
            "the client asks as it did when this was written"
        )
        monkeypatch.setattr(client, name, f"{running.root}/api/v1/json/{tail}")
    monkeypatch.setattr(client.time, "sleep", lambda seconds: None)
    thread = threading.Thread(
        target=running.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    yield running
    running.http.shutdown()
    running.http.server_close()
    thread.join()


BY_ID, BY_NAME = OpenMLDataset(id=7), OpenMLDataset(data_name="flowers")


@pytest.mark.parametrize("dataset", [BY_ID, BY_NAME], ids=["by id", "by name"])
def test_what_was_fetched_once_needs_no_network(server, dataset):
    table = dataset.load(0)
    assert [c.categories for c in table.columns] == [(), ("off white", "red")]
    asked = list(server.asked)
    assert asked
    server.trouble = {"/": 503}
    assert dataset.load(0).sha256() == table.sha256()
    assert server.asked == asked


@pytest.mark.parametrize(
    ("where", "status", "said"),
    [
        ("flowers.arff", 404, "404 Not Found"),
        ("data/features", 404, "404 Not Found"),
        ("data/7", 503, "503 Service Unavailable"),
        ("data/7", 412, "data_id 7 not found"),
        ("data_name", 412, "No active dataset flowers found"),
    ],
)
def test_an_answer_that_is_a_refusal_is_told_with_its_status(server, where, status, said):
    server.trouble = {where: status}
    with pytest.raises(DataError) as caught:
        BY_NAME.load(0)
    assert (
        said in str(caught.value)
        and "name=flowers" in str(caught.value)
        and "\n" not in str(caught.value)
    )


def test_a_server_that_does_not_answer_is_given_up(server, monkeypatch):
    monkeypatch.setattr(openml, "TIMEOUT_SECONDS", 0.2)
    server.trouble = {"data/7": 5.0}
    with pytest.raises(
        DataError, match=r"OpenML cannot be reached for data_id=7 \([^)]*timed out[^)]*\)"
    ):
        BY_ID.load(0)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/json/data/7", "<html>maintenance</html>"),
        ("/api/v1/json/data/features/7", '{"data_features": '),
        ("/api/v1/json/data/7", '{"other": 1}'),
        ("/data/v1/download/7/flowers.arff", ARFF[:-20]),
        ("/data/v1/download/7/flowers.arff", "<html>moved</html>"),
    ],
)
def test_a_malformed_answer_is_refused_in_one_line_and_does_not_stay(server, path, body):
    good = server.pages[path]
    server.pages[path] = body
    with pytest.raises(DataError) as caught:
        BY_ID.load(0)
    assert str(caught.value).startswith("OpenML does not give data_id=7: ") and "\n" not in str(
        caught.value
    )
    server.pages[path] = good
    assert BY_ID.load(0).n_rows == 3
