"""RUN → Record: a run folder, or the id of a run that a tracker keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arboretum.errors import StoreError, TrackerError
from arboretum.model.record import Record
from arboretum.runs.folder import RECORD, read_run, record_from
from arboretum.runs.tracking import guarded


def load_run(run: str | Path, tracker: Any = None) -> Record:
    """The record of a finished run, with its tree.

    run : a run folder (or its record.json), or a run id of ``tracker``.
    Raises StoreError (neither) and TrackerError (the store does not answer, or has no such run).
    """
    path = Path(run).expanduser()
    if path.name == RECORD and path.is_file():
        path = path.parent
    if path.exists() or tracker is None or "/" in str(run):
        if not path.is_dir():
            raise StoreError(f"there is no run folder {str(run)!r}")
        return read_run(path)
    try:
        files = guarded(tracker, lambda: tracker.fetch(str(run)))
    except TrackerError as error:
        raise TrackerError(f"{str(run)!r} is no run folder here, and {error}") from error
    return record_from(files, f"run {run}")
