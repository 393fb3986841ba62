"""The tracker's side of the command: the parent of a sweep, ``arboretum sync`` and ``arboretum
ui``.

One sweep folder is one parent.  What a sweep that was killed left open is closed by the next
command that meets it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from arboretum.cli import terminal
from arboretum.cli.compared import page_of_sweep
from arboretum.cli.comparison import DEFAULT, Comparison, Setting
from arboretum.cli.show import OVERRIDES_HELP, PLUGIN_HELP, tracker_from
from arboretum.cli.terminal import Parser, at_least
from arboretum.config.execute import Session, tracker_fields
from arboretum.config.guard import found_again
from arboretum.errors import ArboretumError, CapabilityError, StoreError, TrackerError
from arboretum.interfaces.tracker import Tracker
from arboretum.model.plain import Plain
from arboretum.model.shown import masked_values
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import NONE, Registry, plugin_files
from arboretum.report.charts import chart_svg
from arboretum.runs.folder import TRACKED, read_json, read_run, run_folders
from arboretum.runs.sweeps import (
    KILLED,
    RUNNING,
    Sweep,
    is_dead,
    owner,
    read_sweep,
    records_of,
    write_sweep,
)
from arboretum.runs.tracking import call_tracker, track_folder, track_folders, unsent

DESCRIPTION = """\
Send finished runs that never reached a tracker.  FOLDER holds run folders at any depth (default:
outputs and multirun here).  Each run goes to the tracker it was meant for, or to the one named
here; what a tracker has is not sent again.
Runs that asked for no tracker (tracker=none) are left alone unless a tracker is named here.  A
reproduction that reached no tracker is named with the command that sends it: it is judged anew from
its finished pieces."""
UI = "Open the tracker's user interface on this machine; Ctrl-C ends it."
DEFAULT_FOLDERS = ("outputs", "multirun")

CHIEF = ("test_error", "test_mse")
"""What the parent of a sweep over several data sets shows of the best setting of each, besides
the goal.
"""
TABLE, CHART, PAGE = "comparison.csv", "comparison.svg", "comparison.html"
SHOWN_SETTINGS = 25  # rows of the table on the parent's page; all are in the artifact


@attrs.define
class Parent:
    """The parent run of one sweep in a tracker that is ready.

    sweep : as noted in the folder, its ``id`` the parent's.
    registry : of the plugins whose tests its report has; None: the installed ones.
    """

    folder: Path
    sweep: Sweep
    tracker: Any
    registry: Registry | None = None

    @staticmethod
    def open(folder: Path, sweep: Sweep, tracker: Tracker, config: Plain | None = None) -> Parent:
        """Open the parent, or go on with the one that the folder names; raises TrackerError and
        StoreError.

        config : what was asked, for the tracker to keep.
        """
        fields = tracker_fields(tracker)
        described = masked_values({"overrides": list(sweep.overrides), **(config or {})})
        described |= {"owner": owner(), "folder": str(folder.absolute())}
        before, found = read_sweep(folder), ""
        if before is not None and before.is_of(fields) and hasattr(tracker, "reopen_sweep"):
            found = call_tracker(
                tracker, lambda: tracker.reopen_sweep(before.id, sweep.name, described)
            )
        found = found or call_tracker(tracker, lambda: tracker.open_sweep(sweep.name, described))
        sweep = attrs.evolve(sweep, tracker=fields, id=found, owner=described["owner"])
        write_sweep(folder, sweep)
        return Parent(folder, sweep, tracker)

    def send(self, folder: Path) -> bool:
        """Give the parent a run of its folder; whether it lacked it.  Raises TrackerError,
        StoreError.
        """
        return bool(
            track_folder(self.tracker, folder, self.sweep.tracker, self.sweep.id, self.sweep.varied)
        )

    def send_all(self, folders: Sequence[Path]) -> None:
        """Give the parent runs of its folder, together where the tracker takes many at once."""
        if hasattr(self.tracker, "store_all"):
            known = self.sweep.tracker, self.sweep.id, self.sweep.varied
            track_folders(self.tracker, folders, *known)
            return
        for folder in folders:
            self.send(folder)

    def close(self, status: str, compared: Comparison | None = None) -> None:
        """Put table, picture, report and the metrics of the best setting on the parent and end it.
        Raises TrackerError, StoreError.

        compared : the folder's runs, where they have been read.
        """
        compared = compared or Comparison.of(
            records_of(self.folder), self.sweep.goal or DEFAULT, self.sweep.traded
        )
        if compared.settings and hasattr(self.tracker, "annotate"):
            text = f"```\n{compared.text(most=SHOWN_SETTINGS)}```"
            chart = compared.chart(self.sweep.name)
            records = [record for setting in compared.settings for record in setting.records]
            page = page_of_sweep(records, self.sweep.varied, self.registry or load_registry())
            files = {
                TABLE: compared.csv(),
                **({CHART: chart_svg(chart)} if chart is not None else {}),
                **({PAGE: page} if page is not None else {}),
            }
            call_tracker(self.tracker, lambda: self.tracker.annotate(self.sweep.id, text, files))
        call_tracker(
            self.tracker,
            lambda: self.tracker.close_sweep(self.sweep.id, best_metrics(compared.best), status),
        )
        if read_sweep(self.folder) is not None:  # it may be gone: a parent can outlive its folder
            write_sweep(self.folder, attrs.evolve(self.sweep, status=status, pending=False))


def close_dead(tracker: Tracker) -> None:
    """Close the sweeps whose command was killed on this machine, or could not say how it ended.
    Raises TrackerError, StoreError.
    """
    for one in (
        call_tracker(tracker, tracker.open_sweeps) if hasattr(tracker, "open_sweeps") else ()
    ):
        if is_dead(one["owner"]):
            folder = Path(one["folder"])
            noted = read_sweep(folder) or Sweep()
            status = noted.status if noted.pending and noted.id == one["id"] else KILLED
            Parent(folder, attrs.evolve(noted, id=one["id"]), tracker).close(status)


def best_metrics(best: Sequence[Setting]) -> dict[str, float]:
    """Metric → mean over the runs of the best setting, of metrics that all of ``best`` have.

    Several data sets: the mean over their best settings, and goal and test error of each, as
    "valid_error.iris".
    """
    means = [setting.metrics() for setting in best]
    shared = [
        name for name in (means[0] if means else {}) if all(name in metrics for metrics in means)
    ]
    # lists show them in this order
    first = [name for name in (*(setting.goal for setting in best), *CHIEF) if name in shared]
    found = {
        name: math.fsum(metrics[name] for metrics in means) / len(means)
        for name in dict.fromkeys((*first, *shared))
    }
    for setting, metrics in zip(best, means, strict=True) if len(best) > 1 else ():
        chief = [name for name in (setting.goal, *CHIEF) if name in metrics]
        # a "/" would open MLflow's charts on them
        found |= {f"{name}.{setting.dataset}": metrics[name] for name in chief}
    return found


def main(argv: list[str]) -> int:
    """Send; status 1 when any run could not be sent."""
    parser = Parser("sync", DESCRIPTION, plugin=PLUGIN_HELP)
    parser.add_argument(
        "words", nargs="*", metavar="FOLDER", help=f"where to look; {OVERRIDES_HELP}"
    )
    parser.add_argument(
        "--all", action="store_true", help="also runs that another tracker has already"
    )
    arguments = parser.parse_intermixed_args(argv)
    overrides = [word for word in arguments.words if "=" in word]
    roots = _folders_to_search([word for word in arguments.words if "=" not in word])
    registry = load_registry(plugin_files(arguments.plugin))
    chosen = tracker_from(overrides, registry) if overrides else None
    found = [folder for root in roots for folder in run_folders(root)]
    waiting = [folder for folder in found if arguments.all or _lacks_parent(folder)]
    session = Session(registry)
    parents: dict[tuple[Path, Tracker], Parent] = {}

    def tracker_of(folder: Path) -> Tracker | None:
        """The one that was named, or that the run was meant for; None for none.  Raises
        StoreError, ConfigError, TrackerError.
        """
        fields = dict(read_run(folder).config.get("tracker") or {}) if chosen is None else {}
        name = fields.pop("name", NONE)
        if chosen is None and name == NONE:
            return None
        return session.prepare_tracker(
            chosen or build(registry.get("tracker", name), found_again(fields, "tracker"))
        )

    sent, failures, alone = 0, 0, 0
    for folder in waiting:
        try:
            if (tracker := tracker_of(folder)) is None:
                alone += 1
            else:
                sent += _parent_of(folder.parent, tracker, parents).send(folder)
        except ArboretumError as error:
            terminal.report_error(error)
            failures += 1
            # the store itself is in trouble: the next run would meet the same
            if isinstance(error, TrackerError):
                failures = len(waiting) - sent - alone
                break
    try:
        for parent in parents.values():
            if parent.sweep.owner == owner():
                parent.close(KILLED if parent.sweep.status == RUNNING else parent.sweep.status)
        for home, folder in {folder.parent: folder for folder in found}.items():
            sweep = read_sweep(home)
            killed = (
                sweep is not None and sweep.id and sweep.status == RUNNING and is_dead(sweep.owner)
            )
            if killed and (tracker := tracker_of(folder)) is not None:
                close_dead(tracker)
            if sweep is not None and sweep.pending and (tracker := tracker_of(folder)) is not None:
                if sweep.is_of(tracker_fields(tracker)):
                    Parent(home, sweep, tracker).close(sweep.status)
    except ArboretumError as error:
        terminal.report_error(error)
        failures += 1
    for facts in (facts for root in roots for facts in unsent(root)):
        failures += 1
        terminal.report(f"a reproduction is sent by its own command: {facts.get('command')}")
    untouched = f", {alone} asked for no tracker (name one: tracker=mlflow)" if alone else ""
    terminal.say(
        f"{sent} sent, {len(found) - len(waiting)} there already, {failures} not sent{untouched}"
    )
    return 1 if failures else 0


def _folders_to_search(words: Sequence[str]) -> list[Path]:
    """The folders that were named, or of DEFAULT_FOLDERS those that are here.  Raises StoreError
    where one of these is none, or there is nothing to look in.
    """
    named = [Path(word).expanduser() for word in words]
    for folder in named:
        if not folder.is_dir():
            raise StoreError(f"there is no folder {str(folder)!r}")
    found = named or [path for path in map(Path, DEFAULT_FOLDERS) if path.is_dir()]
    if not found:
        raise StoreError(
            f"nothing to send: neither {' nor '.join(DEFAULT_FOLDERS)} is a folder here; say "
            "sync FOLDER"
        )
    return found


def _lacks_parent(folder: Path) -> bool:
    """Return whether no tracker has the run of a folder, or has it without the parent of its sweep,
    which could not be opened then.
    """
    if not (folder / TRACKED).exists():
        return True
    alone = read_json(folder / TRACKED).get("sweep") == ""
    return alone and read_sweep(folder.parent) is not None


def _parent_of(home: Path, tracker: Tracker, parents: dict[tuple[Path, Tracker], Parent]) -> Parent:
    """The sweep in a folder, its parent open in the tracker; an empty one where it is no
    sweep's.  Raises TrackerError, StoreError.

    parents : those that are open, by folder and tracker, which a new one joins.
    """
    sweep = read_sweep(home)
    if sweep is None:
        return Parent(home, Sweep(tracker=tracker_fields(tracker)), tracker)
    if (home, tracker) not in parents:
        # its own command closes it
        at_work = sweep.is_running and sweep.is_of(tracker_fields(tracker))
        parents[home, tracker] = (
            Parent(home, sweep, tracker) if at_work else Parent.open(home, sweep, tracker)
        )
    return parents[home, tracker]


def ui_main(argv: list[str]) -> int:
    """Serve until Ctrl-C."""
    parser = Parser("ui", UI)
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default 127.0.0.1: this machine only)",
    )
    parser.add_argument("--port", type=at_least(0), default=5000, help="port (default 5000)")
    parser.add_argument("overrides", nargs="*", metavar="tracker.…", help=OVERRIDES_HELP)
    arguments = parser.parse_intermixed_args(argv)
    tracker = tracker_from(arguments.overrides, load_registry())
    if tracker is None or not hasattr(tracker, "serve"):
        name = "none" if tracker is None else tracker.name
        raise CapabilityError(
            f"tracker {name} has no user interface; choose another with tracker=NAME"
        )
    terminal.report(
        f"starting the user interface of tracker {tracker.name}, which takes some seconds"
    )
    with suppress(KeyboardInterrupt):
        with suppress(TrackerError, StoreError):  # what is in trouble is told by what comes next
            close_dead(tracker)
        call_tracker(tracker, lambda: tracker.serve(host=arguments.host, port=arguments.port))
    return 0
