"""What is already finished?  Fingerprint → run folder: one small file per finished run.

The name of a file is the fingerprint, so there is nothing to lock: two processes that finish the same run write the same
name, and either content is right.  A later study asks the same index.
"""

from __future__ import annotations

import os
from pathlib import Path

from arboretum.errors import StoreError
from arboretum.runs.folder import fingerprint_of, identity_of, run_folders, write_files

HOME = "ARBORETUM_RUNS"
"""Environment variable: the folder of the index; default ``outputs`` where the command is run."""


class Index:
    """Finished runs below a root.   more : further folders to look through, once (a sweep folder moved here)."""

    def __init__(self, root: Path, more: Path | None = None) -> None:
        self.root = root / ".finished"
        self._more = more
        self._seen: dict[tuple[str, str], Path] | None = None

    def add(self, fingerprint: str, folder: Path) -> None:
        """Note a finished run.  Raises StoreError when the index cannot be written."""
        write_files(self.root / fingerprint[:2], {fingerprint: f"{folder.resolve()}\n"})

    def find(self, fingerprint: str, names: str = "") -> Path | None:
        """The folder of the finished run with that fingerprint, when it is still there and says the same; else None.

        One of the same names (:func:`~arboretum.runs.folder.names_of`) among ``more`` is preferred, then any.
        """
        seen = self._elsewhere()
        folders = [seen.get((fingerprint, names)), *(path for (mark, _), path in seen.items() if mark == fingerprint)]
        try:
            folders.insert(1, Path((self.root / fingerprint[:2] / fingerprint).read_text(encoding="utf-8").strip()))
        except OSError:
            pass  # not in the index: what lies among ``more`` may do
        return next((path for path in folders if path is not None and fingerprint_of(path) == fingerprint), None)

    def _elsewhere(self) -> dict[tuple[str, str], Path]:
        if self._seen is None:
            folders = run_folders(self._more) if self._more is not None and self._more.is_dir() else []
            self._seen = {found: folder for folder in folders if (found := identity_of(folder))}
        return self._seen


def default_root() -> Path:
    """Where the index is kept."""
    given = os.environ.get(HOME)
    return Path(given).expanduser() if given else Path.cwd() / "outputs"


def note_finished(index: Index, fingerprint: str, folder: Path) -> str:
    """Note a finished run; returns what went wrong ("" when nothing did): the run itself is kept either way."""
    try:
        index.add(fingerprint, folder)
    except StoreError as error:
        return f"not noted as finished, so skip_finished=true would repeat it: {error}"
    return ""
