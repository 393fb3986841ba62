"""The tracker's parent of a sweep: opened or continued, given the runs it lacks, and closed with what the runs tell.

One sweep folder is one parent.  What a sweep that was killed left open is closed by the next command that meets it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from arboretum.cli.comparison import DEFAULT, Comparison, Setting
from arboretum.config.execute import tracker_fields
from arboretum.errors import StoreError, TrackerError
from arboretum.model.shown import masked_values
from arboretum.plugin.registry import Registry
from arboretum.report.charts import chart_svg
from arboretum.runs.folder import RECORD, is_tracked, read_run
from arboretum.runs.names import run_name
from arboretum.runs.sweeps import KILLED, Sweep, is_dead, owner, read_sweep, records_of, write_sweep
from arboretum.runs.tracking import guarded, track_folder

CHIEF = ("test_error", "test_mse")
"""What the parent of a sweep over several data sets shows of the best setting of each, besides the goal."""
TABLE, CHART = "comparison.csv", "comparison.svg"
SHOWN_SETTINGS = 25
"""Rows of the table on the parent's page; all are in the artifact."""


@attrs.define
class Parent:
    """The parent run of one sweep in a tracker that is ready.   sweep : as noted in the folder, its ``id`` the parent's."""

    folder: Path
    sweep: Sweep
    tracker: Any

    @staticmethod
    def open(folder: Path, sweep: Sweep, tracker: Any, config: Any = None) -> Parent:
        """Open the parent, or go on with the one that the folder names; raises TrackerError and StoreError.

        config : what was asked, for the tracker to keep.
        """
        fields = dict(tracker_fields(tracker))
        described = masked_values({"overrides": list(sweep.overrides), **(config or {})})
        described |= {"owner": owner(), "folder": str(folder.absolute())}
        before, found = read_sweep(folder), ""
        if before is not None and before.is_of(fields) and hasattr(tracker, "reopen_sweep"):
            found = guarded(tracker, lambda: tracker.reopen_sweep(before.id, sweep.name, described))
        if not found:
            found = guarded(tracker, lambda: tracker.open_sweep(sweep.name, described))
        sweep = attrs.evolve(sweep, tracker=fields, id=found, owner=described["owner"])
        write_sweep(folder, sweep)
        return Parent(folder, sweep, tracker)

    def send(self, registry: Registry) -> int:
        """Give the parent what it lacks of its folder's runs; returns how many.  Raises TrackerError, StoreError."""
        sent = 0
        for path in sorted(self.folder.glob(f"*/{RECORD}")):
            if not is_tracked(path.parent, self.sweep.tracker, self.sweep.id):
                name = run_name(read_run(path.parent).config, registry, self.sweep.varied)
                sent += bool(track_folder(self.tracker, path.parent, self.sweep.tracker, self.sweep.id, name=name))
        return sent

    def close(self, compared: Comparison, status: str) -> None:
        """Put table, picture and the metrics of the best setting on the parent and end it.  Raises TrackerError, StoreError."""
        if compared.settings and hasattr(self.tracker, "annotate"):
            text = f"```\n{compared.text(most=SHOWN_SETTINGS)}```"
            chart = compared.chart(self.sweep.name)
            files = {TABLE: compared.csv(), **({CHART: chart_svg(chart)} if chart is not None else {})}
            guarded(self.tracker, lambda: self.tracker.annotate(self.sweep.id, text, files))
        guarded(self.tracker, lambda: self.tracker.close_sweep(self.sweep.id, best_metrics(compared.best), status))
        if read_sweep(self.folder) is not None:  # it may be gone: a parent can outlive its folder
            write_sweep(self.folder, attrs.evolve(self.sweep, status=status))


def close_dead(tracker: Any) -> int:
    """Close the sweeps whose command was killed on this machine; returns how many.  Raises TrackerError, StoreError."""
    if not hasattr(tracker, "open_sweeps"):
        return 0
    dead = [one for one in guarded(tracker, tracker.open_sweeps) if is_dead(one["owner"])]
    for one in dead:
        folder = Path(one["folder"])
        sweep = attrs.evolve(read_sweep(folder) or Sweep(), id=one["id"])
        compared = Comparison.of(records_of(folder), sweep.goal or DEFAULT, sweep.traded)
        Parent(folder, sweep, tracker).close(compared, KILLED)
    return len(dead)


def tidy(tracker: Any) -> None:
    """The same for a command that has other things to do: a store in trouble is told of by what that does next."""
    try:
        close_dead(tracker)
    except (TrackerError, StoreError):
        return


def best_metrics(best: Sequence[Setting]) -> dict[str, float]:
    """Means over the runs of the best setting.

    Several data sets: the mean over their best settings, and goal and test error of each, as "valid_error.iris".
    """
    means = [setting.metrics() for setting in best]
    shared = [name for name in (means[0] if means else {}) if all(name in metrics for metrics in means)]
    first = [name for name in (*(setting.goal for setting in best), *CHIEF) if name in shared]  # lists show them in this order
    shared = dict.fromkeys((*first, *shared))
    found = {name: math.fsum(metrics[name] for metrics in means) / len(means) for name in shared}
    for setting, metrics in zip(best, means, strict=True) if len(best) > 1 else ():
        chief = [name for name in dict.fromkeys((setting.goal, *CHIEF)) if name in metrics]
        found |= {f"{name}.{setting.dataset}": metrics[name] for name in chief}  # a "/" would open MLflow's charts on them
    return found
