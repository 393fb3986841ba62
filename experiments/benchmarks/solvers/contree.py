"""The thirteen tables of ConTree's paper, over all thresholds, within depths of 3 and 4.

    ARBORETUM_BENCH=FOLDER python experiments/benchmarks/solvers/contree.py
        [--only TABLE …] [--depth 3 4] [--seconds 600] [--out FOLDER]

Each question has so many seconds; shown are those of the processor, one thread, kernels compiled
before.  A line per question is added to ``contree.csv`` as it ends, and questions that are there
are left out, so that the table can be made in pieces; ``contree.md`` shows it.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

from contestants import problem_of
from suites import load

from arboretum.api import Context, Status
from arboretum_gosdt.solvers.gosdt import Gosdt

TABLES = (
    "bank", "bidding", "raisin", "room", "segment", "occupancy", "page", "eeg", "magic", "fault",
    "bean", "htru", "avila",
)  # fmt: skip
KEYS = ("table", "depth", "s", "error", "bound", "proven")


def solved(table: str, depth: int, seconds: float) -> dict[str, object]:
    """One line of the table."""
    problem, solver = problem_of(*load(f"ct_{table}@numbers"), 0.0, depth), Gosdt()
    solver.warm_up(problem, Context())
    start = time.process_time()
    found = solver.solve(problem, Context(deadline=time.monotonic() + seconds))
    return {
        "table": table,
        "depth": depth,
        "s": f"{time.process_time() - start:.3g}",
        "error": f"{found.value:.6f}",
        "bound": f"{found.lower_bound:.6f}",
        "proven": "yes" if found.status is Status.optimal else f"not in {seconds:g} s",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=TABLES)
    parser.add_argument("--depth", nargs="*", type=int, default=[3, 4])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    target, lines = asked.out / "contree.csv", list[dict[str, object]]()
    if target.exists():
        with target.open(newline="", encoding="utf-8") as file:
            lines = [dict(line) for line in csv.DictReader(file)]
    for depth in asked.depth:
        for table in asked.only:
            if (table, str(depth)) not in {(line["table"], str(line["depth"])) for line in lines}:
                lines.append(solved(table, depth, asked.seconds))
                print(*lines[-1].values(), flush=True)
                with target.open("w", newline="", encoding="utf-8") as file:
                    writer = csv.DictWriter(file, KEYS)
                    writer.writeheader()
                    writer.writerows(lines)
    rows = ["| " + " | ".join(KEYS) + " |", "| :-- | --: | --: | --: | --: | :-- |"]
    lines.sort(key=lambda line: (int(str(line["depth"])), TABLES.index(str(line["table"]))))
    rows += ["| " + " | ".join(str(line[key]) for key in KEYS) + " |" for line in lines]
    words = ["# The tables of ConTree", "", "Processor seconds, one thread.", "", *rows, ""]
    (asked.out / "contree.md").write_text("\n".join(words))


if __name__ == "__main__":
    main()
