"""A folder that holds several sweeps, as a table: how each stands, how many runs it has, and its
best setting.
"""

import os
from pathlib import Path

from arboretum.cli.comparison import DEFAULT, Comparison
from arboretum.model.plain import Facts
from arboretum.report.table import spell_cell, text_table
from arboretum.runs.folder import ERROR, RECORD
from arboretum.runs.listing import folders_below
from arboretum.runs.sweeps import KILLED, RUNNING, SWEEP, Sweep, read_sweep, records_of

HEADINGS = {
    "folder": "sweep",
    "state": "state",
    "finished": "finished",
    "failed": "failed",
    "best": "best",
    "what": "what was asked",
}


def sweeps_below(folder: Path) -> list[Path]:
    """Return the folders of sweeps below a folder, sorted; not the folder itself."""
    return sorted(
        Path(path)
        for path, names in folders_below(folder)
        if SWEEP in names and Path(path) != folder
    )


def overview(folder: Path, sweeps: list[Path], width: int | None) -> str:
    """Return a row per sweep, and how many runs belong to none.

    sweeps : as of :func:`sweeps_below`.   width : of the terminal; None: uncut.
    """
    counts = {sweep: [0, 0] for sweep in sweeps}
    alone = [0, 0]
    for path, names in folders_below(folder):
        if RECORD not in names and (ERROR not in names or SWEEP in names):
            continue
        above = [parent for parent in Path(path).parents if parent in counts]
        mine = counts[above[0]] if above else alone  # the nearest comes first
        mine[RECORD not in names] += 1
    rows = [
        _row(sweep, os.path.relpath(sweep, folder), finished, failed)
        for sweep, (finished, failed) in counts.items()
    ]
    lines = [text_table(rows, HEADINGS, width=width).rstrip("\n")]
    if any(alone):
        failed = f", {alone[1]} failed" if alone[1] else ""
        lines.append(f"besides {alone[0]} runs of no sweep{failed} (arboretum list {folder})")
    return "\n".join(lines) + "\n"


def _row(sweep: Path, name: str, finished: int, failed: int) -> Facts:
    """Return the row of a sweep.   name : of its folder, as shown."""
    noted = read_sweep(sweep) or Sweep()
    compared = Comparison.of(records_of(sweep), noted.goal or DEFAULT, noted.traded)
    best = [
        f"{setting.goal} {spell_cell(setting.mean(setting.goal)[0])}: {setting.label()}"
        for setting in compared.best
    ]
    more = f" (and of {len(best) - 1} data sets more)" if len(best) > 1 else ""
    return {
        "folder": name,
        "state": state_of(noted),
        "finished": finished,
        "failed": failed,
        "best": best[0] + more if best else None,
        "what": noted.name,
    }


def state_of(sweep: Sweep) -> str:
    """Return how a sweep stands: "running", "finished", "failed", "killed"."""
    dead = sweep.status == RUNNING and not sweep.is_running
    return (KILLED if dead else sweep.status).lower()
