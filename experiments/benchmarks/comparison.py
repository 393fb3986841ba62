"""What ``arboretum compare`` takes of 2,000 runs, with every test and the page, in units: u is the
processor seconds of ``python -c "import numpy, numba"`` on the same machine.

    python experiments/benchmarks/comparison.py

Runs that nobody did: records of a study of 8 methods × 10 data sets × 5 seeds × 5 folds, errors on
a grid of 30 rows, so that many tie.  Printed, on two cores that others used, too: u 0.38 s, compare
3.90 s = 10.3 u for two measures, a control and all files; the goal is 15 u (exit status 1 above).
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

METHODS, DATASETS, SEEDS, FOLDS = 8, 10, 5, 5
JUDGED = 30  # rows that judge
GOAL = 15.0  # u


def make(root: Path) -> int:
    """Write the runs' folders; returns how many."""
    import arboretum

    like = json.loads(arboretum.run(["dataset=iris", "method=cart", "tracker=none"]).to_json())
    draw, number = np.random.default_rng(1), 0
    for d in range(DATASETS):
        for m in range(METHODS):
            for seed in range(SEEDS):
                for fold in range(FOLDS):
                    record = json.loads(json.dumps(like))
                    choices = {"method": f"m{m}", "dataset": f"data{d}", "split": "kfold"}
                    record["config"]["choices"] |= choices
                    record["config"]["split"] = {"name": "kfold", "folds": FOLDS, "fold": fold}
                    record["config"]["seed"] = record["seed"] = seed
                    record["data"] |= {"name": f"data{d}", "sha256": f"{d:064x}", "n_test": JUDGED}
                    wrong = draw.binomial(JUDGED, 0.1 + 0.02 * d + 0.01 * m)
                    record["metrics"]["test_error"] = wrong / JUDGED
                    record["metrics"]["expected_cost"] = 5 - 0.3 * m + float(draw.uniform())
                    record["metrics"]["n_leaves"] = float(draw.integers(10, 20) + m)
                    folder = root / str(number)
                    folder.mkdir()
                    (folder / "record.json").write_text(json.dumps(record, indent=2))
                    number += 1
    return number


def processor_seconds(*command: str) -> float:
    """Processor seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    """Print the figure; 1 where it is above the goal."""
    with tempfile.TemporaryDirectory() as made:
        study = Path(made, "study")
        study.mkdir()
        n, report = make(study), Path(made, "report")
        ask = [str(study), "--measure", "test_error,expected_cost", "--control", "m0"]
        command = (sys.executable, "-m", "arboretum.cli", "compare", *ask, "--out", str(report))
        units, taken = [], []
        for _ in range(3):
            units.append(processor_seconds(sys.executable, "-c", "import numpy, numba"))
            taken.append(processor_seconds(*command))
        unit, seconds = statistics.median(units), statistics.median(taken)
        size = (report / "comparison.html").stat().st_size
    print(f"{n} runs: u {unit:.2f} s, compare {seconds:.2f} s = {seconds / unit:.1f} u", end="; ")
    print(f"page {size / 1e6:.2f} MB; goal {GOAL:g} u")
    return int(seconds > GOAL * unit)


if __name__ == "__main__":
    raise SystemExit(main())
