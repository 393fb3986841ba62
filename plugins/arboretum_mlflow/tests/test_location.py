"""A tracking URI is read once: absolute, safe to show, with the place of the artifacts."""

from __future__ import annotations

import contextlib
import http.server
import sqlite3
import threading
from pathlib import Path

import pytest

from arboretum.api import TrackerError
from arboretum_mlflow.location import explain, locate
from arboretum_mlflow.schema import is_ready
from arboretum_mlflow.tracker import MLflowTracker

HERE = Path("/lab")


def test_a_relative_store_lies_in_the_working_folder_with_its_artifacts_beside():
    found = locate("sqlite:///mlflow.db", "arboretum", here=HERE)
    assert found.uri == "sqlite:////lab/mlflow.db"
    assert found.database == HERE / "mlflow.db"
    assert found.artifacts == "file:///lab/mlruns/arboretum"


def test_an_absolute_store_stays_where_it_is():
    found = locate("sqlite:////data/runs.db?timeout=5", "my / experiment", here=HERE)
    assert (found.uri, found.database) == (
        "sqlite:////data/runs.db?timeout=5",
        Path("/data/runs.db"),
    )
    assert found.artifacts == "file:///data/mlruns/my_experiment"


def test_a_server_decides_about_artifacts_unless_told():
    assert locate("http://127.0.0.1:5000", "x", here=HERE).artifacts == ""
    assert (
        locate("http://127.0.0.1:5000", "x", "s3://bucket/", here=HERE).artifacts == "s3://bucket/x"
    )
    assert locate("postgresql://h/db", "x", "files", here=HERE).artifacts == "file:///lab/files/x"


def test_a_password_is_never_shown():
    uri = "postgresql+psycopg://me:s3cret@host:5432/db"
    found = locate(uri, "x", here=HERE)
    assert found.uri == uri
    assert found.shown == "postgresql+psycopg://me:…@host:5432/db"


def test_a_token_is_never_shown_be_it_ours_or_in_what_a_library_says():
    assert locate("https://t0ken@host/x", "x").shown == "https://…@host/x"
    assert locate("https://host/x?access_token=abc", "x").shown == "https://host/x?access_token=…"
    assert "s3cret" not in explain(
        "shown", "OperationalError: cannot reach postgresql://me:s3cret@host/db"
    )


def test_a_server_whose_address_holds_a_password_is_asked_for_a_sign_of_life():
    asked = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words):
            """Nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert is_ready(
            locate(f"http://me:s3cret@127.0.0.1:{server.server_port}/lab/?token=t", "x"), 10.0
        )
    assert asked == ["/lab/health?token=t"]


@pytest.mark.parametrize(
    "uri", ["", "mlflow.db", "file:///tmp/x", "./mlruns", "sqlit:///x.db", "ftp://host", "sqlite"]
)
def test_what_names_no_store_is_refused_with_what_to_write(uri):
    with pytest.raises(TrackerError, match="tracker.uri must be sqlite:///PATH"):
        locate(uri, "x", here=HERE)


@pytest.mark.parametrize(
    "uri", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:mlflow.db"]
)
def test_a_store_that_would_keep_nothing_is_refused(uri):
    with pytest.raises(TrackerError, match="must name a file"):
        locate(uri, "x", here=HERE)


def test_reading_makes_no_store_and_touches_no_database_of_something_else(tmp_path):
    absent = MLflowTracker(uri=f"sqlite:///{tmp_path}/absent/mlflow.db")
    for read in (absent.check_readable, lambda: absent.fetch("x"), absent.serve):
        with pytest.raises(
            TrackerError, match="there is no MLflow store .* yet: the first run makes it"
        ):
            read()
    other = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(other)) as base, base:
        base.execute("CREATE TABLE notes (text)")
    before = other.read_bytes()
    with pytest.raises(TrackerError, match="is a database of something else; name another"):
        MLflowTracker(uri=f"sqlite:///{other}").fetch("x")
    assert other.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["other.db"]


def test_an_address_that_names_no_store_is_a_wrong_configuration():
    with pytest.raises(ValueError, match="tracker.uri must be sqlite:///PATH"):
        MLflowTracker(uri="foo://bar")
