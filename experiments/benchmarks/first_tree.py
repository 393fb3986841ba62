"""How long until the first tree?  Processor seconds of whole commands, from an empty cache of
compiled kernels and from a full one, in u: those of ``import numpy, numba`` in the same run.

    python experiments/benchmarks/first_tree.py [--turns 3] [CASE …]

Prints a line a case: median, goal, and the seconds.  ``first`` begins with an empty cache, ``warm``
is the same command again.  Exit status 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORT = [sys.executable, "-c", "import numpy, numba"]
COMMAND = [sys.executable, str(Path(sys.executable).with_name("arboretum"))]
CASES = {
    "cart": ("dataset=iris method=cart tracker=none", 9.0, 2.5),
    "j48": ("dataset=iris method=j48 tracker=none", 12.0, None),
    "gosdt": ("dataset=monk1-full method=gosdt tracker=none", 25.0, None),
    "max_cost": ("dataset=monk1-full method=max_cost tracker=none", 20.0, None),
    "subtable_dp": ("dataset=monk1-full method=subtable_dp tracker=none", 15.0, None),
    "mlflow": ("dataset=iris method=cart", None, 6.0),
}
"""Case → overrides, and the goals in u from an empty cache and from a full one."""
PLUGINS = 0.9


def seconds(command: list[str], **variables: str) -> float:
    """Processor seconds of a command and of all processes that it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **variables})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def turn(case: str) -> tuple[float, float]:
    """Seconds of a case from an empty cache, and again."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"NUMBA_CACHE_DIR": str(Path(folder, "cache"))}
        runs = (
            [
                *COMMAND,
                "run",
                *CASES[case][0].split(),
                f"hydra.run.dir={Path(folder, name)}",
                f"tracker.uri=sqlite:///{Path(folder, 'runs.db')}"
                if case == "mlflow"
                else "seed=0",
            ]
            for name in ("first", "warm")
        )
        first, warm = (seconds(run, **own) for run in runs)
    return first, warm


def main() -> None:
    """Measure the cases asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", default=[*CASES, "plugins"], metavar="CASE")
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    units, lines, missed = [], [], False
    for case in asked.cases:
        turns = []
        for _ in range(asked.turns):
            units.append(seconds(IMPORT))
            turns.append((seconds([*COMMAND, "plugins"]),) if case == "plugins" else turn(case))
        named = ("listed",) if case == "plugins" else ("first", "warm")
        goals = (PLUGINS,) if case == "plugins" else CASES[case][1:]
        medians = map(statistics.median, zip(*turns, strict=True))
        lines += [(case, *each) for each in zip(named, medians, goals, strict=True)]
    u = statistics.median(units)
    print(f"u = {u:.2f} s ({len(units)} times)")
    for case, name, median, goal in lines:
        told = "" if goal is None else f"goal {goal:4.1f}"
        print(f"{case:<12}{name:<8}{median / u:6.1f} u  {told:<10}{median:8.2f} s")
        missed |= goal is not None and median / u > goal
    sys.exit(missed)


if __name__ == "__main__":
    main()
