"""What the jobs of a sweep tell its parent: one small file per job, whatever process or machine ran it."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from arboretum.errors import StoreError
from arboretum.runs.folder import write_files

FINISHED, SKIPPED, FAILED = "finished", "skipped", "failed"


@attrs.frozen
class Note:
    """How one job ended.

    job : its number.   status : finished, skipped (finished before) or failed.   label : "method=cart dataset=iris seed=1".
    folder : where the run is kept.   dataset : its name, "" where the job failed.   goal : the metric looked at, "" where there is none; value : its value, or None.
    """

    job: int
    status: str
    label: str
    folder: str = ""
    dataset: str = ""
    goal: str = ""
    value: float | None = None
    error: str = ""
    tracker_error: str = ""
    warnings: tuple[str, ...] = ()


class Notes:
    """The folder of a sweep's notes; it lives as long as the sweep runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, Note] = {}

    @staticmethod
    def open(sweep: Path) -> Notes:
        """Make the folder inside a sweep's folder, under a name of its own.  Raises StoreError."""
        notes = Notes(sweep / f".notes-{secrets.token_hex(4)}")
        try:
            notes.folder.mkdir(parents=True)
        except OSError as error:
            msg = f"sweep folder {str(sweep)!r} cannot be written ({error.strerror}); choose another with hydra.sweep.dir=FOLDER"
            raise StoreError(msg) from error
        return notes

    def write(self, note: Note) -> None:
        """Leave a note.  Raises StoreError."""
        write_files(self.folder, {f"{note.job}.json": json.dumps(attrs.asdict(note))})

    def read(self) -> list[Note]:
        """All notes so far, by job; each file is read once."""
        names = [p.name for p in self.folder.glob("*.json") if not p.name.startswith(".")] if self.folder.is_dir() else []
        for name in names:
            if name not in self._read:
                self._read[name] = _note(json.loads((self.folder / name).read_text(encoding="utf-8")))
        return sorted(self._read.values(), key=lambda note: note.job)

    def close(self) -> None:
        """Read what is left and take the folder away."""
        self.read()
        shutil.rmtree(self.folder, ignore_errors=True)


def _note(data: Mapping[str, Any]) -> Note:
    return Note(**{**data, "warnings": tuple(data["warnings"])})
