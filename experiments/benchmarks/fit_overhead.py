"""What a fit of ``solver=gosdt`` takes, stage by stage, on problems that are solved at once.

    ARBORETUM_DATA=FOLDER ARBORETUM_BENCH=FOLDER python experiments/benchmarks/fit_overhead.py
        [FOLDER] [--fits 60] [--turns 3]

What counts is ``solver.solve(problem, context)`` with kernels loaded, as the race of solvers times
it.  Each fit has a problem of its own, so that nothing is known of it; "again" is of fits of one
problem.  FOLDER is a checkout of another commit, measured before this one in turns, in processes of
its own.  Printed is the least of all fits, of each stage without those inside it, in microseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[2]
PROBLEMS: tuple[tuple[str, float, int | None], ...] = (
    ("monk1@onehot", 0.0, 2),
    ("tic-tac-toe@onehot", 0.0, 2),
    ("bar-7@binary", 0.0, 2),
    ("compas-binary@binary", 0.0, 2),
    ("fico-binary@binary", 0.0, 2),
    ("car-gosdt@binary", 0.0, 3),
    ("iris@binary", 0.0, 3),
    ("balance-scale@onehot", 0.0, 4),
    ("monk1@onehot", 0.05, None),
    ("car-gosdt@binary", 0.05, None),
    ("compas-binary@binary", 0.02, None),
    ("fico-binary@binary", 0.05, None),
)
"""Table, λ and depth."""
STAGES = {
    "limits": "arboretum.solving.limits TreeLimits.of",
    "tests": "arboretum_gosdt.solvers.additive all_tests",
    "integers": "arboretum_gosdt.solvers.additive units_of",
    "rows": "arboretum_gosdt.solvers.choice merge_equal_rows",
    "arrays": "arboretum_gosdt.solvers.choice _search_on_bits",
    "search": "arboretum_gosdt.solvers.additive AdditiveSearch.run",
    "nodes": "arboretum_gosdt.solvers.additive AdditiveSearch.tree",
    "tree": "arboretum_gosdt.solvers.additive build_tree",
    "value": "arboretum.solving.additive AdditiveObjective.value",
}
"""Stage → the function that is it, as it is looked up where it is called."""


class Clock:
    """Seconds of one fit by stage, each without the stages inside it."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._inside = [0.0]

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which counts its time as the stage's."""

        def called(*args: Any, **named: Any) -> Any:
            start = time.perf_counter()
            self._inside.append(0.0)
            try:
                return function(*args, **named)
            finally:
                took = time.perf_counter() - start
                self.spent[stage] = self.spent.get(stage, 0.0) + took - self._inside.pop()
                self._inside[-1] += took

        return called

    def watch(self) -> None:
        """Put itself before every stage."""
        for stage, place in STAGES.items():
            module, _, path = place.partition(" ")
            *outer, name = path.split(".")
            owner: Any = __import__(module, fromlist=["_"])
            for one in outer:
                owner = getattr(owner, one)
            own = vars(owner)[name]
            fixed = isinstance(own, staticmethod)
            timed = self.timed(stage, own.__func__ if fixed else own)
            setattr(owner, name, staticmethod(timed) if fixed else timed)


def measure(fits: int) -> dict[str, dict[str, float]]:
    """Return problem → stage → least microseconds; "whole" and "again" are of the fit, without its
    stages' clocks.
    """
    sys.path.insert(0, str(Path(__file__).parent / "solvers"))
    from contestants import problem_of
    from suites import load

    from arboretum.api import Context
    from arboretum.kernels.jit import compile_clock
    from arboretum_gosdt.solvers.gosdt import Gosdt

    solver, found = Gosdt(), dict[str, dict[str, float]]()

    def context() -> Context:
        return Context(deadline=time.monotonic() + 60.0, memory_bytes=6_000_000_000)

    def least(problems: list[Any], clock: Clock, whole: str) -> dict[str, float]:
        few: dict[str, float] = {}
        for problem in problems:
            clock.spent.clear()
            start = time.perf_counter()
            solver.solve(problem, context())
            for stage, seconds in {**clock.spent, whole: time.perf_counter() - start}.items():
                few[stage] = min(few.get(stage, 1e9), 1e6 * seconds)
        return few

    asked = {
        f"{table.partition('@')[0]} {f'λ={lam:g}' if lam else f'depth {depth}'}": (
            *load(table),
            lam,
            depth,
        )
        for table, lam, depth in PROBLEMS
    }
    for name, one in asked.items():
        with compile_clock(lambda message: None):
            solver.warm_up(problem_of(*one), context())
            solver.solve(problem_of(*one), context())
        found[name] = least([problem_of(*one) for _ in range(fits)], Clock(), "whole")
        found[name] |= least([problem_of(*one)] * fits, Clock(), "again")
    clock = Clock()
    clock.watch()
    for name, one in asked.items():
        problems = [problem_of(*one) for _ in range(fits)]
        found[name] = {**least(problems, clock, "whole"), **found[name]}
    return found


def in_turns(folders: list[Path], fits: int, turns: int) -> list[dict[str, dict[str, float]]]:
    """Measure each folder's code in turns, and return the least of all turns of each."""
    best: list[dict[str, dict[str, float]]] = [{} for _ in folders]
    for _ in range(turns):
        for kept, folder in zip(best, folders, strict=True):
            paths = os.pathsep.join(str(folder / part) for part in ("framework", "plugins"))
            told = subprocess.run(
                [sys.executable, __file__, "--child", "--fits", str(fits)],
                env={**os.environ, "PYTHONPATH": paths},
                check=True,
                stdout=subprocess.PIPE,
            ).stdout
            for name, stages in json.loads(told).items():
                least = kept.setdefault(name, stages)
                least.update({stage: min(least[stage], us) for stage, us in stages.items()})
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="checkout of another commit")
    parser.add_argument("--fits", type=int, default=60)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.fits)))
        return
    folders = [*([options.folder.resolve()] if options.folder else []), HOME]
    found = in_turns(folders, options.fits, options.turns)
    columns = [*STAGES, "whole", "again"]
    print(f"| problem | {' | '.join(columns)} |{' ratios |' if options.folder else ''}")
    print(f"|---|{'---:|' * (len(columns) + bool(options.folder))}")
    for name, after in found[-1].items():
        cells = [
            " → ".join(f"{one[name].get(stage, 0.0):.0f}" for one in found) for stage in columns
        ]
        ratios = ", ".join(f"{found[0][name][one] / after[one]:.2f}" for one in ("whole", "again"))
        print(f"| {name} | {' | '.join(cells)} |{f' {ratios} |' if options.folder else ''}")


if __name__ == "__main__":
    main()
