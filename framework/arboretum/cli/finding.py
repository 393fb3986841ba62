"""RUN on the command line: a run folder or a tracker's run id, for every verb alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arboretum.cli.progress import waiting
from arboretum.cli.terminal import Parser
from arboretum.errors import ConfigError
from arboretum.model.record import Record
from arboretum.plugin.assemble import DEFAULT_CHOICES, split_values
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import NONE, Registry
from arboretum.runs.load import load_run

OVERRIDES_HELP = "tracker=NAME or tracker.FIELD=VALUE, for a run id of another store (tracker.uri=sqlite:///FILE)"


def add_plugin_option(parser: Parser) -> None:
    """``--plugin FILE``, for verbs that read a run whose one-file plugin has moved."""
    words = "a one-file plugin that the run used, where it is now (needed only if it was moved)"
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE", help=words)


def plugin_files(given: Sequence[str]) -> list[str]:
    """One-file plugins as absolute paths; a file that is named twice is one."""
    return list(dict.fromkeys(str(Path(file).expanduser().resolve()) for file in given))


def plugins_of(record: Record, given: Sequence[str] = ()) -> list[str]:
    """The plugin files to load for a recorded run: its own, but those that moved and are given anew, then the given.

    given : absolute paths.   Raises ConfigError when one is gone and none is given instead.
    """
    recorded = [str(file) for file in record.config.get("plugins") or ()]
    there = [file for file in recorded if Path(file).is_file()]
    gone = [file for file in recorded if file not in there]
    if gone and not given:
        msg = f"the run used the plugin file {gone[0]!r}, which is not there any more; say where it is now: --plugin "
        raise ConfigError(f"{msg}FOLDER/{Path(gone[0]).name}")
    names = {Path(file).name for file in given}
    return list(dict.fromkeys([*(file for file in there if Path(file).name not in names), *given]))


def find_run(run: str, overrides: Sequence[str] = (), plugins: Sequence[str] = ()) -> Record:
    """The record of RUN.   plugins : files that its tree may need besides the recorded ones.

    Raises ConfigError, PluginError, StoreError, TrackerError.
    """
    registry = load_registry(plugins) if plugins else None
    more = [word for word in overrides if "=" not in word]
    if more:
        raise ConfigError(f"one RUN at a time: {run!r}, then {more[0]!r}; {OVERRIDES_HELP}")
    if Path(run).expanduser().exists() or "/" in run:
        return load_run(run)
    tracker = tracker_from(overrides, registry or load_registry())
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
