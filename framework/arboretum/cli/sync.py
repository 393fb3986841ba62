"""``arboretum sync``: runs that never reached the tracker are sent now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arboretum.cli import terminal
from arboretum.cli.comparison import Comparison
from arboretum.cli.finding import OVERRIDES_HELP, add_plugin_option, tracker_from
from arboretum.cli.parent import Parent, close_dead
from arboretum.cli.plugins import plugin_files
from arboretum.cli.reproduce import command_of
from arboretum.cli.terminal import Parser
from arboretum.config.execute import Session, tracker_fields
from arboretum.config.secrets import found_again
from arboretum.errors import ArboretumError, StoreError, TrackerError
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import NONE, Registry
from arboretum.runs.folder import TRACKED, read_run, run_folders
from arboretum.runs.names import run_name
from arboretum.runs.sweeps import KILLED, RUNNING, Sweep, is_dead, owner, read_sweep, records_of
from arboretum.runs.tracking import track_folder
from arboretum.runs.verdict import unsent

DESCRIPTION = """\
Send finished runs that never reached a tracker.  FOLDER holds run folders at any depth (default: outputs and multirun
here).  Each run goes to the tracker it was meant for, or to the one named here; what a tracker has is not sent again.
Runs that asked for no tracker (tracker=none) are left alone unless a tracker is named here.  A reproduction that reached
no tracker is named with the command that sends it: it is judged anew from its finished pieces."""

DEFAULT_FOLDERS = ("outputs", "multirun")


def main(argv: list[str]) -> int:
    """Send; status 1 when any run could not be sent."""
    parser = Parser("sync", DESCRIPTION)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="where to look")
    parser.add_argument("--all", action="store_true", help="also runs that another tracker has already")
    add_plugin_option(parser)
    parser.epilog = f"OVERRIDES: {OVERRIDES_HELP}"
    arguments = parser.parse_intermixed_args(argv)
    overrides = [word for word in arguments.folders if "=" in word]
    named = [word for word in arguments.folders if "=" not in word]
    registry = load_registry(plugin_files(arguments.plugin))
    chosen = tracker_from(overrides, registry) if overrides else None
    found = [folder for root in _roots(named) for folder in run_folders(root)]
    waiting = [folder for folder in found if arguments.all or not (folder / TRACKED).exists()]
    session, parents = Session(registry), {}

    def tracker_of(folder: Path) -> Any:
        component = chosen or recorded_tracker(folder, registry)
        return None if component is None else session.prepare_tracker(component)

    sent, failures, alone = 0, 0, 0
    for folder in waiting:
        try:
            tracker = tracker_of(folder)
            if tracker is None:
                alone += 1
                continue
            sweep = _sweep(folder.parent, tracker, parents)
            name = run_name(read_run(folder).config, registry, sweep.varied)
            sent += bool(track_folder(tracker, folder, tracker_fields(tracker), sweep.id, name=name))
        except TrackerError as error:  # the store itself is in trouble: the next run would meet the same
            terminal.report_error(error)
            failures = len(waiting) - sent - alone
            break
        except ArboretumError as error:
            terminal.report_error(error)
            failures += 1
    try:
        for parent in parents.values():
            _close(parent)
        for home, folder in {folder.parent: folder for folder in found}.items():
            sweep = read_sweep(home)
            killed = sweep is not None and sweep.id and sweep.status == RUNNING and is_dead(sweep.owner)
            if killed and (tracker := tracker_of(folder)) is not None:
                close_dead(tracker)
    except ArboretumError as error:
        terminal.report_error(error)
        failures += 1
    for folder, facts in (one for root in _roots(named) for one in unsent(root)):
        failures += 1
        terminal.tell(f"a reproduction is sent by its own command: {command_of(facts, folder, registry)}")
    untouched = f", {alone} asked for no tracker (name one: tracker=mlflow)" if alone else ""
    terminal.say(f"{sent} sent, {len(found) - len(waiting)} there already, {failures} not sent{untouched}")
    return 1 if failures else 0


def _sweep(home: Path, tracker: Any, parents: dict[Any, Parent]) -> Sweep:
    """The sweep in a folder, its parent open in the tracker; an empty one where it is no sweep's.  Raises TrackerError, StoreError."""
    sweep = read_sweep(home)
    if (home, tracker) not in parents and sweep is not None:
        at_work = sweep.is_running and sweep.is_of(tracker_fields(tracker))  # its own command closes it
        parents[home, tracker] = Parent(home, sweep, tracker) if at_work else Parent.open(home, sweep, tracker)
    return parents[home, tracker].sweep if (home, tracker) in parents else Sweep()


def _close(parent: Parent) -> None:
    sweep = parent.sweep
    if sweep.owner == owner():
        parent.close(Comparison.of(records_of(parent.folder), sweep.goal), KILLED if sweep.status == RUNNING else sweep.status)


def _roots(named: list[str]) -> list[Path]:
    roots = [Path(name).expanduser() for name in named] or [p for p in map(Path, DEFAULT_FOLDERS) if p.is_dir()]
    for root in roots:
        if not root.is_dir():
            raise StoreError(f"there is no folder {str(root)!r}")
    if not roots:
        raise StoreError(f"nothing to send: neither {' nor '.join(DEFAULT_FOLDERS)} is a folder here; say sync FOLDER")
    return roots


def recorded_tracker(folder: Path, registry: Registry) -> Any:
    """The tracker that the run was meant for, None for none.  Raises StoreError, ConfigError."""
    fields = dict(read_run(folder).config.get("tracker") or {})
    name = fields.pop("name", NONE)
    return None if name == NONE else build(registry.get("tracker", name), found_again(fields, "tracker"))
