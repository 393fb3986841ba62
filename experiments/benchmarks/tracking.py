"""What does tracking cost?  Seconds per run over many runs, how many the store then holds, and the
start of a process.

    python experiments/benchmarks/tracking.py [--runs 1000] [--keep FOLDER]

Limits: under 0.1 s per run, no run lost (exit status 1 otherwise).  The records are made up but of
the usual size: 60 parameters, 40 metrics, a tree of 31 nodes as JSON, text and SVG.  Wall-clock
seconds on the machine it runs on; the store is the default one, SQLite with its artifacts beside
it.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import attrs
import numpy as np

from arboretum.api import Record
from arboretum.testing.suites.tracker import sample_files, sample_record, sample_run
from arboretum_mlflow.tracker import MLflowTracker

LIMIT = 0.1
"""Seconds per run, on average."""


def usual_record(seed: int) -> Record:
    """A record with as many parameters and metrics as a real one."""
    base = sample_record(seed)
    config = {
        **base.config,
        **{f"group{i}": {f"field{j}": i * j for j in range(4)} for i in range(13)},
    }
    metrics = {**base.metrics, **{f"test_metric_{i}": i / (seed + 1) for i in range(30)}}
    return attrs.evolve(base, config=config, metrics=metrics)


def store_all(tracker: MLflowTracker, n_runs: int, folder: Path) -> np.ndarray:
    """float64[n_runs]: seconds that each call of ``store`` took."""
    seconds = np.empty(n_runs)
    sweep = tracker.open_sweep(f"{n_runs} runs", {"seed": f"range({n_runs})"})
    for seed in range(n_runs):
        record = usual_record(seed)
        files = {
            **sample_files(record),
            "tree.json": "x" * 8000,
            "tree.svg": "<svg>" + "x" * 12000 + "</svg>",
        }
        run = sample_run(folder / str(seed), seed, sweep)
        start = time.perf_counter()
        tracker.store(run, record, files)
        seconds[seed] = time.perf_counter() - start
    start = time.perf_counter()
    tracker.close_sweep(sweep, {"valid_error": 0.02}, "FINISHED")
    print(f"closing the sweep                {time.perf_counter() - start:8.3f} s, once")
    return seconds


def count(database: Path) -> tuple[int, int, int]:
    """Finished children, their metrics, and their artifact files, as the database and the disk
    have them.
    """
    with contextlib.closing(sqlite3.connect(database)) as base:
        child = "SELECT run_uuid FROM tags WHERE key = 'mlflow.parentRunId'"
        ((runs,),) = base.execute(
            f"SELECT count(*) FROM runs WHERE status = 'FINISHED' AND run_uuid IN ({child})"
        )
        ((metrics,),) = base.execute(f"SELECT count(*) FROM metrics WHERE run_uuid IN ({child})")
    return runs, metrics, len(list((database.parent / "mlruns").rglob("tree.svg")))


def main() -> int:
    """Print the figures; 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="folder for the store (default: a temporary one)")
    chosen = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = chosen.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tracker = MLflowTracker(uri=f"sqlite:///{folder}/mlflow.db")
        stack.callback(tracker.close)
        for words in ("preparing a fresh store", "preparing a store that is ready"):
            start = time.perf_counter()
            tracker.prepare()
            print(f"{words:32} {time.perf_counter() - start:8.3f} s, once")
        seconds = store_all(tracker, chosen.runs, folder / "runs")
        runs, metrics, pictures = count(tracker.location.database)
    fine = seconds.mean() < LIMIT and runs == pictures == chosen.runs
    quantiles = ", ".join(f"{q:g}% {np.percentile(seconds, q):.3f}" for q in (50, 95, 100))
    print(
        f"storing one run                  {seconds.mean():8.3f} s on average ({quantiles}); "
        f"limit {LIMIT} s"
    )
    print(
        f"first 100, last 100              {seconds[:100].mean():8.3f} s, "
        f"{seconds[-100:].mean():.3f} s on average"
    )
    print(
        f"sent {chosen.runs}, finished in the store {runs}, with picture {pictures}, metrics "
        f"{metrics}"
    )
    print("PASS" if fine else "FAIL")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
