"""What is already done of a study?  Content hash → result of one piece: one small file each.

As with finished runs (:mod:`arboretum.runs.index`) the name of a file is its fingerprint, so there is nothing to lock, and
a piece that was done once, by whatever command with whatever fraction, is not done again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from arboretum.runs.folder import read_json, write_files

SCHEMA = "arboretum.piece/1"
OUT = "--out FOLDER"
"""How a study's folder is chosen."""


@attrs.frozen
class Job:
    """What the pieces of one study share.

    name : of the reproduction.   fields : its fields, as JSON.   plugins : one-file plugins.   code : hash of all code that
    may take part.   Hashable, and sent to workers as it is.
    """

    name: str
    seed: int = 0
    fields: str = "{}"
    plugins: tuple[str, ...] = ()
    code: str = ""

    def fingerprint(self, key: Mapping[str, Any]) -> str:
        """Content hash of a piece, the seed and the code version: equal fingerprints mean equal results.

        Fields are left out: they choose pieces, and a piece's key says all that matters.
        """
        text = json.dumps([SCHEMA, self.name, key, self.seed, self.code], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@attrs.frozen
class Done:
    """A finished piece.   result : JSON text.   seconds : processor time it took when it was done."""

    key: Mapping[str, Any]
    result: str
    seconds: float

    @property
    def value(self) -> Any:
        return json.loads(self.result)


class Pieces:
    """Finished pieces in a folder."""

    def __init__(self, folder: Path, job: Job) -> None:
        self.folder, self.job = folder, job

    def _path(self, fingerprint: str) -> Path:
        return self.folder / fingerprint[:2] / f"{fingerprint}.json"

    def find(self, key: Mapping[str, Any]) -> Done | None:
        """The finished piece; None where it is not finished, or its file is not what was written."""
        fingerprint = self.job.fingerprint(key)
        data = read_json(self._path(fingerprint))
        result, seconds = data.get("result"), data.get("seconds")
        whole = isinstance(result, str) and data.get("sha256") == _digest(result) and isinstance(seconds, int | float)
        return Done(key, result, float(seconds)) if whole and data.get("fingerprint") == fingerprint else None

    def keep(self, done: Done) -> None:
        """Keep a finished piece, whole or not at all.  Raises StoreError."""
        fingerprint = self.job.fingerprint(done.key)
        data = {
            "schema": SCHEMA,
            "reproduction": self.job.name,
            "piece": done.key,
            "seed": self.job.seed,
            "fingerprint": fingerprint,
            "seconds": done.seconds,
            "sha256": _digest(done.result),
            "result": done.result,
        }
        path = self._path(fingerprint)
        write_files(path.parent, {path.name: json.dumps(data, indent=1)}, OUT)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
