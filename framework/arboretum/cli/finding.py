"""RUN on the command line: a run folder or a tracker's run id, for every verb alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arboretum.cli.progress import waiting
from arboretum.errors import ConfigError
from arboretum.model.record import Record
from arboretum.plugin.assemble import DEFAULT_CHOICES, split_values
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import NONE, Registry
from arboretum.runs.load import load_run

OVERRIDES_HELP = "tracker=NAME or tracker.FIELD=VALUE, for a run id of another store (tracker.uri=sqlite:///FILE)"


def find_run(run: str, overrides: Sequence[str] = ()) -> Record:
    """The record of RUN; raises ConfigError, StoreError, TrackerError."""
    more = [word for word in overrides if "=" not in word]
    if more:
        raise ConfigError(f"one RUN at a time: {run!r}, then {more[0]!r}; {OVERRIDES_HELP}")
    if Path(run).expanduser().exists() or "/" in run:
        return load_run(run)
    tracker = tracker_from(overrides, load_registry())
    with waiting(f"asking tracker {tracker.name}" if tracker is not None else ""):
        return load_run(run, tracker)


def tracker_from(overrides: Sequence[str], registry: Registry) -> Any:
    """The tracker that overrides choose, else the default one; None for ``tracker=none``."""
    choices, fields, shared = split_values({}, list(overrides))
    stray = [key for key in (*choices, *fields, *shared) if key != "tracker"]
    if stray:
        raise ConfigError(f"{stray[0]!r} has no place here; {OVERRIDES_HELP}")
    name = choices.get("tracker", DEFAULT_CHOICES["tracker"])
    return None if name in (NONE, None) else build(registry.get("tracker", str(name)), fields.get("tracker", {}))
