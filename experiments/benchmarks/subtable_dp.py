"""What the exact solver subtable_dp needs: random tables of the paper in bulk, and real tables
solved whole.

    ARBORETUM_DATA=… python experiments/benchmarks/subtable_dp.py

Goals on one core, compilation apart: at most 0.5 ms (hoped for: 0.2) for the five minima of one
table of 50 × 10 × {0, 1, 2}; minimum average depth proven on car within 0.05 s, tic-tac-toe 0.3 s,
house-votes 1 s, soybean 10 s.  Printed are seconds of the clock and of the processor; the best of
some repeats counts.  Without the data home only the random tables are measured.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

GOALS = {
    "car": (0.05, 7_007),
    "tic-tac-toe": (0.3, 42_532),
    "house-votes": (1.0, 211_872),
    "soybean": (10.0, None),
}
"""Data set → seconds allowed, and number of separable subtables, leaves included, counted by
plain Python.
"""


def random_table(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The paper's: equal rows merged, the most common decision, ties to the smallest."""
    codes, decision = generator.integers(0, 3, (50, 10)), generator.integers(0, 3, 50)
    codes, group = np.unique(codes, axis=0, return_inverse=True)
    label = [np.bincount(decision[group.ravel() == g]).argmax() for g in range(len(codes))]
    return codes.astype(np.uint8), np.array(label, np.int64)


def timed(function, repeats: int) -> tuple[float, float]:
    """Least seconds of the clock and of the processor."""
    found = []
    for _ in range(repeats):
        clock, processor = time.perf_counter(), time.process_time()
        function()
        found.append((time.perf_counter() - clock, time.process_time() - processor))
    return tuple(np.min(found, axis=0).tolist())


def bulk(tables: int = 500) -> None:
    from arboretum_decision_tables.paper.study import Minima

    generator, solver = np.random.default_rng(0), Minima()
    drawn = [random_table(generator) for _ in range(tables)]
    solver.of(*drawn[0])
    clock, processor = timed(lambda: [solver.of(*table) for table in drawn], 5)
    print(
        f"{tables} random tables, five minima: {clock / tables * 1e3:.3f} ms per table "
        f"({processor / tables * 1e3:.3f} of the processor; goal 0.5)"
    )


def real(name: str, home: Path) -> None:
    from arboretum.api import Context, Parts, Prices, Problem
    from arboretum_data.encoding.encoder import Missing, MultiwayEncoder
    from arboretum_data.home import load_from_home
    from arboretum_decision_tables.complexities import AverageDepth, ZeroError
    from arboretum_decision_tables.exact.graph import build_graph
    from arboretum_decision_tables.exact.solver import SubtableDP
    from arboretum_decision_tables.exact.space import space_of

    table = load_from_home(home, name)
    objects = MultiwayEncoder(missing=Missing.category).encode(
        table, table, raw_thresholds=False, seed=0
    )
    prices = Prices(np.ones(int(objects.test_offset[-1])), np.ones(0))
    problem = Problem(
        objects, prices, Parts(method=None, complexity=AverageDepth(), objective=ZeroError())
    )
    goal, counted = GOALS[name]
    graph = build_graph(space_of(problem), count_leaves=True)
    subtables = graph.n_nodes + graph.leaves
    assert counted is None or subtables == counted, (
        f"{name}: {subtables} subtables, plain Python counted {counted}"
    )
    del graph
    solution = SubtableDP().solve(problem, Context())
    clock, processor = timed(lambda: SubtableDP().solve(problem, Context()), 3)
    print(
        f"{name}: {subtables:,} subtables, minimum average depth {solution.value:.6g} "
        f"{solution.status.value}, "
        f"{clock:.3f} s ({processor:.3f} of the processor; goal {goal:g})"
    )


def main() -> None:
    bulk()
    home = os.environ.get("ARBORETUM_DATA")
    if home is None:
        print("real tables are not measured: ARBORETUM_DATA names no data home")
        return
    for name in GOALS:
        real(name, Path(home))


if __name__ == "__main__":
    main()
