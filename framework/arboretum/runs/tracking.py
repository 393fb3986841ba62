"""The tracker's side of a run: it observes, its failure never loses what is in the run folder, and it may be read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from arboretum.blame import account, said
from arboretum.errors import ArboretumError, StoreError, TrackerError
from arboretum.interfaces.results import RunInfo
from arboretum.model.record import Record
from arboretum.model.shown import masked
from arboretum.runs.folder import RECORD, is_tracked, mark_tracked, read_files, read_run, record_from

Result = TypeVar("Result")


def guarded(tracker: Any, action: Callable[[], Result]) -> Result:
    """Run one call of a tracker; whatever it raises becomes a TrackerError of one line."""
    try:
        return action()
    except ArboretumError as error:
        raise TrackerError(masked(str(error))) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise TrackerError(masked(account(error, f"tracker {tracker.name!r}") or said(error))) from error


def track(tracker: Any, info: RunInfo, record: Record, files: Mapping[str, str], fields: Mapping[str, Any]) -> str:
    """Give a finished run to the tracker and note it in the run folder; returns the run's id.

    fields : the tracker's name and values, as noted.   Raises TrackerError.
    """
    run_id = guarded(tracker, lambda: tracker.store(info, record, files))
    if info.folder is not None:
        try:
            mark_tracked(info.folder, fields, run_id, info.sweep_id)
        except StoreError as error:
            raise TrackerError(f"tracker {tracker.name} has the run as {run_id}, but {error}") from error
    return run_id


def track_folder(
    tracker: Any, folder: Path, fields: Mapping[str, Any], sweep_id: str = "", *, name: str = "", copy_of: str = ""
) -> str:
    """Give the run of a folder to the tracker; returns its id, or "" when that tracker has it already (in that sweep).

    name : how the tracker lists it; the tracker's own choice without.   copy_of : see :class:`RunInfo`.
    Raises StoreError (no run there) and TrackerError.
    """
    if is_tracked(folder, fields, sweep_id):
        return ""
    files = read_files(folder)
    record = record_from(files, str(folder))
    info = RunInfo(name, record.config, folder, sweep_id, record.fingerprint, copy_of)
    return track(tracker, info, record, files, fields)


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
