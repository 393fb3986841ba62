"""Is the store ready?  Answered without loading MLflow (which takes seconds), wherever that can be known.

A SQLite store is ready when its schema is the one that this version of MLflow was seen to make; the sidecar file says
which that is.  A server is ready when it says so at ``/health``.  For anything else the answer is "not known".
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import urllib.error
import urllib.request
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from arboretum.api import TrackerError
from arboretum_mlflow.location import Location
from arboretum_mlflow.trouble import explain

PATIENCE = 10.0
"""Seconds to wait for a write lock or a server's sign of life, at most: a write of ours takes 0.05 s."""
SQLITE_HEADER = b"SQLite format 3\x00"


def is_ready(location: Location, seconds: float) -> bool:
    """Whether the store is known to be usable; False when MLflow has to look.

    Raises TrackerError when it is known to be unusable: locked, not a database, in a folder that cannot be written, dead.
    """
    if location.database is not None:
        check_folder(location)
        if not location.database.exists() or location.database.stat().st_size == 0:
            return False
        return check_file(location, min(seconds, PATIENCE)) in made_here(location)
    if location.uri.startswith(("http://", "https://")):
        return _is_alive(location, min(seconds, PATIENCE))
    return False


def is_readable(location: Location, seconds: float) -> bool:
    """Whether the store is known to hold runs of a schema that can be read; False when MLflow has to look.

    Nothing is made.  Raises TrackerError: there is no store, it is a database of something else, the server is dead.
    """
    if location.database is None:
        if location.is_server:
            is_ready(location, seconds)  # raises when nobody answers
        return location.is_server
    if not location.database.is_file() or location.database.stat().st_size == 0:
        raise TrackerError(explain_absent(location.shown))
    try:
        with contextlib.closing(sqlite3.connect(f"{location.database.as_uri()}?mode=ro", timeout=seconds, uri=True)) as base:
            row = base.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise TrackerError(explain(location.shown, str(error))) from error
        msg = f"MLflow store {location.shown} is a database of something else; name another with tracker.uri=sqlite:///PATH.db"
        raise TrackerError(msg) from error
    except sqlite3.Error as error:
        raise TrackerError(explain(location.shown, str(error))) from error
    return row is not None and row[0] in made_here(location)


def explain_absent(shown: str) -> str:
    """What to do where no run was kept yet."""
    return (
        f"there is no MLflow store {shown} yet: the first run makes it (arboretum run dataset=iris method=cart); "
        "go to the folder where you ran, or name another store with tracker.uri=sqlite:///PATH.db"
    )


def check_folder(location: Location) -> None:
    """Make sure that the store's folder exists and can be written; raises TrackerError."""
    folder = location.database.parent
    try:
        if location.database.is_dir():
            raise OSError(f"{location.database} is a folder, no database file")
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(location.sidecar, os.O_RDWR | os.O_CREAT, 0o644)
        os.close(descriptor)
    except OSError as error:
        if isinstance(error, PermissionError | FileExistsError | NotADirectoryError) or error.errno == 30:
            msg = f"MLflow store {location.shown}: its folder {folder} cannot be written ({error.strerror}); "
            msg += "make it writable, or choose another store (tracker.uri=sqlite:///PATH.db), or none (tracker=none)"
            raise TrackerError(msg) from error
        raise TrackerError(explain(location.shown, str(error))) from error


def check_file(location: Location, seconds: float) -> str:
    """The schema version of a SQLite store, "" when it has none.  Raises TrackerError if it cannot be written."""
    with location.database.open("rb") as file:
        if file.read(len(SQLITE_HEADER)) != SQLITE_HEADER:
            raise TrackerError(explain(location.shown, "file is not a database"))
    try:
        with contextlib.closing(sqlite3.connect(location.database, timeout=seconds, isolation_level=None)) as base:
            base.execute("BEGIN IMMEDIATE")  # takes the write lock, writes nothing
            try:
                row = base.execute("SELECT version_num FROM alembic_version").fetchone()
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):
                    raise
                row = None
            base.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise TrackerError(explain(location.shown, str(error))) from error
    return row[0] if row else ""


def made_here(location: Location) -> set[str]:
    """Schema versions that the installed MLflow is known to make for this store (at most one)."""
    try:
        note = json.loads(location.sidecar.read_text())
    except (OSError, ValueError):  # none yet, or being written
        return set()
    return {note.get("schema", "")} - {""} if note.get("mlflow") == metadata.version("mlflow") else set()


def note_schema(sidecar: Path, schema: str) -> None:
    """Remember the schema that the installed MLflow makes.  Called while the sidecar is locked."""
    sidecar.write_text(json.dumps({"mlflow": metadata.version("mlflow"), "schema": schema}))


def _is_alive(location: Location, seconds: float) -> bool:
    parts = urlsplit(location.uri)  # urllib would look for a host named "user:password@host"
    place = parts._replace(netloc=parts.netloc.rpartition("@")[2], path=f"{parts.path.rstrip('/')}/health")
    try:
        with urllib.request.urlopen(place.geturl(), timeout=seconds) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False  # a server behind a gate, perhaps: MLflow's own client finds out
    except (OSError, ValueError) as error:
        raise TrackerError(explain(location.shown, str(error))) from error
