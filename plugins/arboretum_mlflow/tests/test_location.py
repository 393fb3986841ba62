"""A tracking URI is read once: absolute, safe to show, with the place of the artifacts."""

from __future__ import annotations

from pathlib import Path

import pytest
from arboretum_mlflow.location import locate, without_password

from arboretum.api import TrackerError

HERE = Path("/lab")


def test_a_relative_store_lies_in_the_working_folder_with_its_artifacts_beside():
    found = locate("sqlite:///mlflow.db", "arboretum", here=HERE)
    assert found.uri == "sqlite:////lab/mlflow.db"
    assert found.database == HERE / "mlflow.db"
    assert found.artifacts == "file:///lab/mlruns/arboretum"


def test_an_absolute_store_stays_where_it_is():
    found = locate("sqlite:////data/runs.db?timeout=5", "my / experiment", here=HERE)
    assert (found.uri, found.database) == ("sqlite:////data/runs.db?timeout=5", Path("/data/runs.db"))
    assert found.artifacts == "file:///data/mlruns/my_experiment"


def test_a_server_decides_about_artifacts_unless_told():
    assert locate("http://127.0.0.1:5000", "x", here=HERE).artifacts == ""
    assert locate("http://127.0.0.1:5000", "x", "s3://bucket/", here=HERE).artifacts == "s3://bucket/x"
    assert locate("postgresql://h/db", "x", "files", here=HERE).artifacts == "file:///lab/files/x"


def test_a_password_is_never_shown():
    uri = "postgresql+psycopg://me:s3cret@host:5432/db"
    found = locate(uri, "x", here=HERE)
    assert found.uri == uri
    assert found.shown == without_password(uri) == "postgresql+psycopg://me:…@host:5432/db"


@pytest.mark.parametrize("uri", ["", "mlflow.db", "file:///tmp/x", "./mlruns", "sqlit:///x.db", "ftp://host", "sqlite"])
def test_what_names_no_store_is_refused_with_what_to_write(uri):
    with pytest.raises(TrackerError, match="tracker.uri must be sqlite:///PATH"):
        locate(uri, "x", here=HERE)


@pytest.mark.parametrize("uri", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:mlflow.db"])
def test_a_store_that_would_keep_nothing_is_refused(uri):
    with pytest.raises(TrackerError, match="must name a file"):
        locate(uri, "x", here=HERE)
