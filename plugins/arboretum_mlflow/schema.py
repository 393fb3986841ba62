"""Make or migrate the schema of a database, once, however many processes ask.  Runs where MLflow is loaded.

A fresh SQLite store is made under another name and moved into place, so that nobody ever sees half a schema; an older one
is copied before it is migrated.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from arboretum.api import TrackerError
from arboretum_mlflow.location import LONG, Location
from arboretum_mlflow.ready import check_file, check_folder, explain_absent, made_here, note_schema
from arboretum_mlflow.trouble import WAY_OUT


def make_ready(location: Location, seconds: float) -> None:
    """Bring the database to the schema of the installed MLflow.  Raises TrackerError, or whatever the database says."""
    if location.is_server:
        return
    if location.database is None:
        sidecar = Path(tempfile.gettempdir()) / f"arboretum-{hashlib.sha256(location.uri.encode()).hexdigest()[:16]}.lock"
        with locked(sidecar, LONG * seconds, location.shown):
            _migrate(location)
        return
    check_folder(location)
    with locked(location.sidecar, LONG * seconds, location.shown):
        if not location.database.exists() or location.database.stat().st_size == 0:
            _make_fresh(location)
        elif check_file(location, seconds) in made_here(location):  # while this one waited
            return
        else:
            _migrate(location)
        note_schema(location.sidecar, _head())


def look(location: Location, seconds: float) -> None:
    """Bring a database that holds runs to this schema; raises TrackerError where nothing was ever kept."""
    if location.database is None and not location.is_server:
        from mlflow.store.db import utils as database

        engine = database.create_sqlalchemy_engine(location.uri)
        try:
            if database._is_empty_database(engine):
                raise TrackerError(explain_absent(location.shown))
        finally:
            engine.dispose()
    make_ready(location, seconds)


@contextlib.contextmanager
def locked(path: Path, seconds: float, shown: str) -> Iterator[None]:
    """Hold an exclusive lock on a file; raises TrackerError when it is not to be had within ``seconds``."""
    import fcntl

    deadline = time.monotonic() + seconds
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    msg = f"MLflow store {shown}: another process has been preparing it for {seconds:.0f} s; end that"
                    raise TrackerError(f"{msg}, {WAY_OUT}") from None
                time.sleep(0.05)
        yield


def _head() -> str:
    from mlflow.store.db.utils import _get_latest_schema_revision

    return _get_latest_schema_revision()


def _make_fresh(location: Location) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    draft = location.database.with_name(f".{location.database.name}.{os.getpid()}.draft")
    draft.unlink(missing_ok=True)
    try:
        store = SqlAlchemyStore(f"sqlite:///{draft}", location.artifacts.rpartition("/")[0])
        store._dispose_engine()
        os.replace(draft, location.database)
    finally:
        draft.unlink(missing_ok=True)


def _migrate(location: Location) -> None:
    import sqlalchemy
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError
    from mlflow.store.db import utils as database

    engine = database.create_sqlalchemy_engine(location.uri)
    try:
        if database._is_empty_database(engine):
            database._initialize_tables(engine)
            return
        version = database._get_schema_version(engine)
        if version is None and "experiments" not in sqlalchemy.inspect(engine).get_table_names():
            msg = f"MLflow store {location.shown} is a database of something else; leave it alone: "
            raise TrackerError(msg + "choose another file with tracker.uri=sqlite:///PATH.db")
        if version == _head():
            return
        try:
            script = ScriptDirectory.from_config(database._get_alembic_config(location.uri))
            script.get_revision(version)
        except CommandError:
            raise TrackerError(_too_new(location, version)) from None
        if location.database is not None:
            shutil.copy2(location.database, f"{location.database}.before-{version}")
        database._upgrade_db(engine)
    finally:
        engine.dispose()


def _too_new(location: Location, version: str) -> str:
    from importlib import metadata

    return (
        f"MLflow store {location.shown} has the schema {version!r}, which MLflow {metadata.version('mlflow')} does not know: "
        f"a newer MLflow made it; upgrade (pip install -U mlflow), {WAY_OUT}"
    )
