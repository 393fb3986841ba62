"""Is the store ready?  Answered without loading MLflow (which takes seconds), wherever that can be
known; and made so where it is not.

A SQLite store is ready when its schema is the one that this version of MLflow was seen to make; the
sidecar file says which that is.  A server is ready when it says so at ``/health``.  For anything
else the answer is "not known", and MLflow, where it is loaded, makes or migrates the schema: once,
however many processes ask.  A fresh SQLite store is made under another name and moved into place,
so that nobody ever sees half a schema; an older one is copied before it is migrated.
"""

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from arboretum.api import TrackerError, sure
from arboretum_mlflow.location import LONG, WAY_OUT, Location, explain

PATIENCE = 10.0
"""Seconds to wait for a write lock or a server's sign of life, at most: a write of ours takes
0.05 s.
"""


def is_ready(location: Location, seconds: float) -> bool:
    """Return whether the store is known to be usable; False when MLflow has to look.

    Raises TrackerError when it is known to be unusable: locked, not a database, in a folder that
    cannot be written, dead.
    """
    if location.database is not None:
        _check_folder(location)
        return not _is_absent(location.database) and _schema_version(
            location, min(seconds, PATIENCE)
        ) in _made_here(location)
    return location.uri.startswith(("http://", "https://")) and _is_alive(
        location, min(seconds, PATIENCE)
    )


def is_readable(location: Location, seconds: float) -> bool:
    """Return whether the store is known to hold runs of a schema that can be read; False when
    MLflow has to look.

    Nothing is made.  Raises TrackerError: there is no store, it is a database of something else,
    the server is dead.
    """
    if location.database is None:
        if location.is_server:
            is_ready(location, seconds)  # raises when nobody answers
        return location.is_server
    if _is_absent(location.database):
        raise TrackerError(_advice_without_store(location))
    version = _schema_version(location, seconds, mode="ro")
    if version is None:
        raise TrackerError(_foreign(location))
    return version in _made_here(location)


def _is_absent(database: Path) -> bool:
    return not database.is_file() or database.stat().st_size == 0


def _advice_without_store(location: Location) -> str:
    """Return what to do where no run was kept yet."""
    return (
        f"there is no MLflow store {location.shown} yet: the first run makes it (arboretum "
        "run dataset=iris method=cart); "
        "go to the folder where you ran, or name another store with tracker.uri=sqlite:///PATH.db"
    )


def _foreign(location: Location) -> str:
    return (
        f"MLflow store {location.shown} is a database of something else; name another with "
        "tracker.uri=sqlite:///PATH.db"
    )


def _check_folder(location: Location) -> None:
    """Make sure that the store's folder exists and can be written; raises TrackerError."""
    database = sure(location.database)
    folder = database.parent
    try:
        if database.is_dir():
            raise OSError(f"{database} is a folder, no database file")
        folder.mkdir(parents=True, exist_ok=True)
        sure(location.sidecar).open("a").close()
    except OSError as error:
        if (
            isinstance(error, PermissionError | FileExistsError | NotADirectoryError)
            or error.errno == 30
        ):
            msg = (
                f"MLflow store {location.shown}: its folder {folder} cannot be written "
                f"({error.strerror}); "
            )
            msg += (
                "make it writable, or choose another store (tracker.uri=sqlite:///PATH.db), or "
                "none (tracker=none)"
            )
            raise TrackerError(msg) from error
        raise TrackerError(explain(location.shown, str(error))) from error


def _schema_version(location: Location, seconds: float, mode: str = "rw") -> str | None:
    """Return the schema of a SQLite store, None when it has none.  Raises TrackerError if it cannot
    be read, or ("rw") written.
    """
    try:
        address = f"{sure(location.database).as_uri()}?mode={mode}"
        with contextlib.closing(
            sqlite3.connect(address, timeout=seconds, isolation_level=None, uri=True)
        ) as base:
            if mode == "rw":
                base.execute("BEGIN IMMEDIATE")  # takes the write lock, writes nothing
            if (
                base.execute(
                    "SELECT name FROM sqlite_master WHERE name = 'alembic_version'"
                ).fetchone()
                is None
            ):
                return None
            return (base.execute("SELECT version_num FROM alembic_version").fetchone() or ("",))[0]
    except sqlite3.Error as error:
        raise TrackerError(explain(location.shown, str(error))) from error


def _made_here(location: Location) -> set[str]:
    """Schema versions that the installed MLflow is known to make for this store (at most one)."""
    try:
        note = json.loads(sure(location.sidecar).read_text())
    except (OSError, ValueError):  # none yet, or being written
        return set()
    return (
        {note.get("schema", "")} - {""}
        if note.get("mlflow") == metadata.version("mlflow")
        else set()
    )


def _is_alive(location: Location, seconds: float) -> bool:
    """Return whether a server says that it is well (200); False: it answers otherwise.

    Raises TrackerError where nobody answers.
    """
    parts = urlsplit(location.uri)  # urllib would look for a host named "user:password@host"
    place = parts._replace(
        netloc=parts.netloc.rpartition("@")[2], path=f"{parts.path.rstrip('/')}/health"
    )
    try:
        with urllib.request.urlopen(place.geturl(), timeout=seconds) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError:
        return False  # a server behind a gate, perhaps: MLflow's own client finds out
    except (OSError, ValueError) as error:
        raise TrackerError(explain(location.shown, str(error))) from error


# -- where MLflow is loaded ------------------------------------------------------------------------


def make_ready(location: Location, seconds: float) -> None:
    """Bring the database to the schema of the installed MLflow.  Raises TrackerError, or
    whatever the database says.
    """
    if location.is_server:
        return
    if location.database is None:
        sidecar = (
            Path(tempfile.gettempdir())
            / f"arboretum-{hashlib.sha256(location.uri.encode()).hexdigest()[:16]}.lock"
        )
        with _hold_lock(sidecar, LONG * seconds, location.shown):
            _migrate_store(location)
        return
    _check_folder(location)
    with _hold_lock(sure(location.sidecar), LONG * seconds, location.shown):
        if _is_absent(location.database):
            _make_fresh(location)
        elif _schema_version(location, seconds) in _made_here(location):  # while this one waited
            return
        else:
            _migrate_store(location)
        sure(location.sidecar).write_text(
            json.dumps({"mlflow": metadata.version("mlflow"), "schema": _head()})
        )


def upgrade(location: Location, seconds: float) -> None:
    """Bring a database that holds runs to this schema; raises TrackerError where nothing was
    ever kept.
    """
    if location.database is None and not location.is_server:
        from mlflow.store.db import utils as database

        engine = database.create_sqlalchemy_engine(location.uri)
        try:
            if database._is_empty_database(engine):
                raise TrackerError(_advice_without_store(location))
        finally:
            engine.dispose()
    make_ready(location, seconds)


@contextlib.contextmanager
def _hold_lock(path: Path, seconds: float, shown: str) -> Iterator[None]:
    """Hold an exclusive lock on a file; raises TrackerError when it is not to be had within
    ``seconds``.
    """
    import fcntl

    deadline = time.monotonic() + seconds
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    msg = (
                        f"MLflow store {shown}: another process has been preparing it for "
                        f"{seconds:.0f} s; end that"
                    )
                    raise TrackerError(f"{msg}, {WAY_OUT}") from None
                time.sleep(0.05)
        yield


def _head() -> str:
    from mlflow.store.db.utils import _get_latest_schema_revision

    return str(_get_latest_schema_revision())


def _make_fresh(location: Location) -> None:
    """Make the tables of a new SQLite store in a draft that takes its place when it is whole."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    database = sure(location.database)
    draft = database.with_name(f".{database.name}.{os.getpid()}.draft")
    draft.unlink(missing_ok=True)
    try:
        store = SqlAlchemyStore(f"sqlite:///{draft}", location.artifacts.rpartition("/")[0])
        store._dispose_engine()
        os.replace(draft, database)
    finally:
        draft.unlink(missing_ok=True)


def _migrate_store(location: Location) -> None:
    """Bring a store to the schema of the installed MLflow; raises TrackerError where the database
    is not one of MLflow's, or is newer.
    """
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
            raise TrackerError(_foreign(location))
        if version == _head():
            return
        try:
            ScriptDirectory.from_config(database._get_alembic_config(location.uri)).get_revision(
                version
            )
        except CommandError:
            unknown = (
                f"has the schema {version!r}, which MLflow {metadata.version('mlflow')} does not "
                "know: a newer MLflow made it"
            )
            raise TrackerError(
                f"MLflow store {location.shown} {unknown}; upgrade (pip install -U mlflow), "
                f"{WAY_OUT}"
            ) from None
        if location.database is not None:
            shutil.copy2(location.database, f"{location.database}.before-{version}")
        database._upgrade_db(engine)
    finally:
        engine.dispose()
