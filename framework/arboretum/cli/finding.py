"""RUN on the command line: a run folder or a tracker's run id, for every verb alike."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from arboretum.cli.plugins import plugin_files
from arboretum.cli.progress import waiting
from arboretum.cli.terminal import Parser, warn
from arboretum.engine.code import version_of
from arboretum.errors import ConfigError, StoreError
from arboretum.model.record import Record
from arboretum.plugin.assemble import DEFAULT_CHOICES, split_values
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import NONE, ONE_FILE, Owner, Registry
from arboretum.runs.tracking import load_run

OVERRIDES_HELP = "tracker=NAME or tracker.FIELD=VALUE, for a run id of another store (tracker.uri=sqlite:///FILE)"


def run_parser(verb: str, description: str) -> Parser:
    """A parser for a verb that reads RUN, whose one-file plugin may have moved."""
    parser = Parser(verb, description)
    parser.add_argument("run", metavar="RUN", help="run folder or tracker run id")
    add_plugin_option(parser)
    return parser


def add_plugin_option(parser: Parser) -> None:
    """``--plugin FILE``, for verbs that read runs."""
    words = "a one-file plugin that the run used: a run's folder names its plugins, but only what is named here is loaded"
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE", help=words)


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
    registry = load_registry(plugin_files(plugins))
    if Path(run).expanduser().exists() or "/" in run:
        record = load_run(run)
    else:
        tracker = tracker_from(overrides, registry)
        with waiting(f"asking tracker {tracker.name}" if tracker is not None else ""):
            record = load_run(run, tracker)
    if plugins:
        _warn_of_changes(record, {version_of(owner) for owner in registry.owners})
    return record, registry


def find_tree(run: str, overrides: Sequence[str], plugins: Sequence[str]) -> tuple[Record, Registry]:
    """The same for a run that has a tree; raises StoreError where it has none."""
    record, registry = find_run(run, overrides, plugins)
    if record.tree is None:
        raise StoreError(f"run {run} holds no tree")
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


def write_out(file: str, content: str | bytes) -> None:
    """Write a file that the command line names, whole or not at all.  Raises StoreError."""
    path = Path(file).expanduser()
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error.strerror})") from error
