"""Stores for the tests of this plugin."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arboretum_mlflow.tracker import MLflowTracker


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    """The file of a store whose schema is made once; tests work on copies."""
    tracker = MLflowTracker(uri=f"sqlite:///{tmp_path_factory.mktemp('template')}/mlflow.db")
    tracker.prepare()
    tracker.close()
    with contextlib.closing(sqlite3.connect(tracker.location.database)) as base, base:
        # MLflow keeps an experiment's folder as an absolute path: each copy makes its own
        # experiment
        base.execute("DELETE FROM experiment_tags")
        base.execute("DELETE FROM experiments WHERE name = 'arboretum'")
    return tracker.location.database


def copy_store(template: Path, folder: Path) -> Path:
    """Copy the store with its sidecar; returns the file."""
    shutil.copy(
        template.with_name(f".{template.name}.arboretum"), folder / f".{template.name}.arboretum"
    )
    return Path(shutil.copy(template, folder / "mlflow.db"))


@pytest.fixture(scope="module")
def mlflow_tracker(template, tmp_path_factory) -> Iterator[MLflowTracker]:
    """One tracker with a store that the tests of a module share."""
    found = MLflowTracker(uri=f"sqlite:///{copy_store(template, tmp_path_factory.mktemp('store'))}")
    yield found
    found.close()


@pytest.fixture
def fresh_store(template, tmp_path) -> str:
    """The URI of a store of the test's own, schema made, no runs."""
    return f"sqlite:///{copy_store(template, tmp_path)}"


Query = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def query(mlflow_tracker) -> Query:
    """Ask the database itself, past MLflow."""

    def ask(sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        return rows(mlflow_tracker.location.database, sql, *arguments)

    return ask


def rows(database: Path, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
    """The rows that a SQLite file answers."""
    with contextlib.closing(sqlite3.connect(database)) as base:
        return base.execute(sql, arguments).fetchall()
