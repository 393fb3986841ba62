"""RUN on the command line: a run folder or a tracker's run id, for every verb alike."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from arboretum.cli.progress import waiting
from arboretum.cli.terminal import Parser, warn
from arboretum.engine.code import version_of
from arboretum.errors import ConfigError
from arboretum.model.record import Record
from arboretum.plugin.assemble import DEFAULT_CHOICES, split_values
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import NONE, ONE_FILE, Owner, Registry
from arboretum.runs.load import load_run

OVERRIDES_HELP = "tracker=NAME or tracker.FIELD=VALUE, for a run id of another store (tracker.uri=sqlite:///FILE)"


def add_plugin_option(parser: Parser) -> None:
    """``--plugin FILE``, for verbs that read a run whose one-file plugin has moved."""
    words = "a one-file plugin that the run used: a run's folder names its plugins, but only what is named here is loaded"
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE", help=words)


def installed(files: Sequence[str] = ()) -> Registry:
    """The registry with the given one-file plugins; what could not be loaded is told in a warning each."""
    registry = load_registry(files)
    for failure in registry.failures:
        warn(f"plugin {failure.plugin} is left out: {failure.reason}")
    return registry


def plugin_files(given: Sequence[str]) -> list[str]:
    """One-file plugins as absolute paths; a file that is named twice is one."""
    return list(dict.fromkeys(str(Path(file).expanduser().resolve()) for file in given))


def require_plugins(record: Record, owners: Iterable[Owner]) -> None:
    """Raise ConfigError, saying what to type, when a one-file plugin of the run is not among those loaded.

    owners : of the registry.   A record names files, and a record that was found somewhere must not decide what is run here.
    """
    loaded = [Path(owner.path) for owner in owners if owner.distribution == ONE_FILE]
    recorded = [Path(file) for file in record.config.get("plugins") or ()]
    if len(loaded) >= len(recorded):
        return
    file = next((file for file in recorded if file.name not in {one.name for one in loaded}), recorded[-1])
    if file.is_file():
        where = f", and a run's folder is not trusted to run code; look at it, then say --plugin {shlex.quote(str(file))}"
    else:
        where = f", which is not there any more; say where it is now: --plugin FOLDER/{shlex.quote(file.name)}"
    raise ConfigError(f"the run used the plugin file {str(file)!r}{where}")


def find_run(run: str, overrides: Sequence[str] = (), plugins: Sequence[str] = ()) -> tuple[Record, Registry]:
    """The record of RUN, and the registry with the installed plugins and the given ones, which its tree may need.

    Warns of a given file that is not what the run used.   Raises ConfigError, PluginError, StoreError, TrackerError.
    """
    more = [word for word in overrides if "=" not in word]
    if more:
        raise ConfigError(f"one RUN at a time: {run!r}, then {more[0]!r}; {OVERRIDES_HELP}")
    registry = load_registry(plugins)
    if Path(run).expanduser().exists() or "/" in run:
        record = load_run(run)
    else:
        tracker = tracker_from(overrides, registry)
        with waiting(f"asking tracker {tracker.name}" if tracker is not None else ""):
            record = load_run(run, tracker)
    if plugins:
        _warn_of_changes(record, {version_of(owner) for owner in registry.owners})
    return record, registry


def _warn_of_changes(record: Record, loaded: set[str]) -> None:
    """Say which one-file plugins of the run are not loaded with the content that they had.   loaded : versions."""
    for name, version in record.versions.items():
        if version == ONE_FILE:
            warn(f"whether the file of {name} is what the run used cannot be told: its record keeps no checksum")
        elif version.startswith(ONE_FILE) and version not in loaded:
            warn(f"the file of {name} is not what the run used: its content differs")


def tracker_from(overrides: Sequence[str], registry: Registry) -> Any:
    """The tracker that overrides choose, else the default one; None for ``tracker=none``."""
    choices, fields, shared = split_values({}, list(overrides))
    stray = [key for key in (*choices, *fields, *shared) if key != "tracker"]
    if stray:
        raise ConfigError(f"{stray[0]!r} has no place here; {OVERRIDES_HELP}")
    name = choices.get("tracker", DEFAULT_CHOICES["tracker"])
    return None if name in (NONE, None) else build(registry.get("tracker", str(name)), fields.get("tracker", {}))
