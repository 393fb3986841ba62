"""Finished and failed runs as flat facts, key → value, read quickly: from folders without their
trees, or from a tracker.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from arboretum.errors import StoreError, TrackerError
from arboretum.interfaces.tracker import Tracker
from arboretum.model.plain import Facts, Plain
from arboretum.runs.folder import ERROR, RECORD, is_copy, read_json
from arboretum.runs.sweeps import DONE, FAILED, SWEEP, flatten
from arboretum.runs.tracking import call_tracker
from arboretum.runs.where import typed

JOB = "job: "  # how the line of an error.txt begins that says what was asked for
UNREADABLE, UNVERIFIED = "unreadable", "unverified"
ANY_TABLE = ("file", "openml")
"""Options of ``dataset`` that say where a table comes from, not which it is."""
NAMED = "study."  # keys of the names that a study has for what its runs choose


def runs_in(folders: Sequence[Path]) -> list[Facts]:
    """Return the facts of every run at or below the folders, by path; failed ones, too.

    Raises StoreError for a folder that is not there.
    """
    found: dict[str, Facts] = {}
    for folder in folders:
        if not folder.is_dir():
            raise StoreError(f"there is no folder {str(folder)!r}")
        for path, names in folders_below(folder):
            if RECORD in names:
                found[os.path.realpath(path)] = facts_of_folder(Path(path))
            elif ERROR in names and SWEEP not in names:
                found[os.path.realpath(path)] = _failed(Path(path))
    return [found[key] for key in sorted(found)]


def folders_below(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield every folder with the names of its files; what begins with a dot is left out, and what
    a tracker has copied.
    """
    for path, inner, names in os.walk(root):
        inner[:] = sorted(
            name
            for name in inner
            if not (name.startswith(".") or is_copy(Path(path).absolute() / name))
        )
        yield path, names


def facts_of_folder(folder: Path) -> Facts:
    """Return what a run folder's record says, flat.

    run : the folder.   status : "finished", "unverified", or "unreadable".
    dataset, method, criterion, … : chosen options, by the names of a run's study where it has
        such; ``criterion.base`` … fields of components.
    Metrics, ``n_rows`` and the like, ``time_fit`` …, ``solution.value`` … by name.
    when : "2026-11-27 11:25", local time.
    """
    data = read_json(folder / RECORD)
    facts: Facts = {"run": str(folder), "when": _when(_changed(folder / RECORD))}
    if not isinstance(config := data.get("config"), dict):
        return {**facts, "status": UNREADABLE}
    facts["status"] = DONE if data.get("verified") is True else UNVERIFIED
    facts |= _of_config(config)
    sizes = _part(data, "data")
    if facts.get("dataset") in ANY_TABLE and sizes.get("name"):
        facts["dataset"] = sizes["name"]
    facts |= {key: value for key, value in sizes.items() if key != "name"}
    facts["verified"] = data.get("verified")
    timings = {k: v for k, v in _part(data, "timings").items() if isinstance(v, int | float)}
    facts |= {f"time_{name}": seconds for name, seconds in timings.items()}
    facts["time_total"] = sum(timings.values())
    facts |= {
        f"solution.{key}": value
        for key, value in _part(data, "solution").items()
        if not isinstance(value, dict | list)
    }
    return _named({**facts, **_part(data, "metrics")})


def _named(facts: Plain) -> Facts:
    """Return facts in which a study's names stand for what they choose, as in its own tables."""
    named = {key: facts[key] for key in facts if key.startswith(NAMED)}
    rest = {key: value for key, value in facts.items() if key not in named}
    return rest | {key.removeprefix(NAMED): value for key, value in named.items()}


def _part(data: Plain, name: str) -> Mapping[str, Any]:
    """Return a mapping inside a record; {} where it is none."""
    return part if isinstance(part := data.get(name), dict) else {}


def _of_config(config: Plain) -> Facts:
    """Return the keys of a configuration: chosen options by group, then fields with dots."""
    choices = config.get("choices")
    fields = {key: value for key, value in config.items() if key != "choices"}
    flat = {key: value for key, value in flatten(fields) if not key.endswith(".name")}
    return {**flat, **(choices if isinstance(choices, dict) else {})}


def _failed(folder: Path) -> Facts:
    """Return what a folder says of a failed run: its error, and what it was asked for."""
    facts: Facts = {"run": str(folder), "when": _when(_changed(folder / ERROR)), "status": FAILED}
    with suppress(OSError):
        lines = (folder / ERROR).read_text(encoding="utf-8", errors="replace").splitlines()
        facts["error"] = next((line for line in lines if line.strip()), "")
        asked = next((line for line in lines if line.startswith(JOB)), "").removeprefix(JOB)
        pairs = (word.lstrip("+").partition("=") for word in asked.split())
        facts |= {key: typed(text) for key, sign, text in pairs if sign and key not in facts}
    return facts


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _when(seconds: float) -> str:
    """Return a time as text that sorts: "2026-11-27 11:25"."""
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def runs_of_tracker(tracker: Tracker) -> list[Facts]:
    """Return the same of every run that a tracker keeps; raises TrackerError."""
    if not hasattr(tracker, "runs"):
        raise TrackerError(
            f"tracker {tracker.name} does not list what it keeps; name folders of runs instead"
        )
    kept: Sequence[Plain] = call_tracker(tracker, lambda: tracker.runs())
    return [
        _named(
            {
                "run": one["id"],
                "name": one["name"],
                "when": _when(one["start"]),
                "status": one["status"].lower(),
                **{key: _value(key, text) for key, text in one["params"].items()},
                **one["metrics"],
            }
        )
        for one in kept
    ]


def _value(key: str, text: str) -> object:
    """Return a parameter's value: several options of a group are a list, "standard, pure"."""
    if "." not in key and ", " in text:
        return text.split(", ")
    return typed(text)
