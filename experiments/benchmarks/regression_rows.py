"""How many rows squared errors within two levels stand: certified gaps over time, and the proof.

    python experiments/benchmarks/regression_rows.py [TABLE.md]

Drawn tables of seven columns of normal numbers, six digits each, so that nearly every row is a
threshold of its own; the target is sin 2 x₀ + x₂ where x₁ > .3, and noise of deviation ½;
λ = .001, depth 2, every threshold.  Processor seconds of the search alone, of one thread; then the
proof of what was shown is written, and checked by the separate checker.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from arboretum.api import Context, Problem, table
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry
from arboretum.proof.check import check
from arboretum.proof.format import read

ROWS = (10_000, 100_000, 1_000_000, 2_000_000)
GAPS = (0.01, 0.001, 0.0001)
"""Gaps of the bound, as shares of the value, whose seconds are shown."""
SECONDS = 240.0


def draw(rows: int, path: Path) -> None:
    """Write a table."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 7)).round(6)
    y = np.sin(2 * x[:, 0]) + np.where(x[:, 1] > 0.3, x[:, 2], 0.0) + rng.normal(size=rows) / 2
    head = ",".join([*(f"x{i}" for i in range(7)), "y"])
    np.savetxt(path, np.column_stack([x, y.round(5)]), "%.6g", ",", header=head, comments="")


def measured(rows: int, folder: Path) -> dict[str, object]:
    """One line of the table."""
    path, proof = folder / f"{rows}.csv", folder / f"{rows}.proof"
    draw(rows, path)
    parts = assemble(
        load_registry(),
        {"dataset": "file", "split": "none", "method": "regression", "encoder": "raw"},
        [
            f"dataset.path={path}",
            "dataset.target=y",
            "dataset.task=regression",
            "stopping.standard.max_depth=2",
            "objective.lam=0.001",
            f"solver.proof={proof}",
        ],
    )
    whole = parts.dataset.load(0)
    objects = parts.encoder.encode(whole, whole, raw_thresholds=True, seed=0)
    problem = Problem(objects, parts.cost.price_list(objects, 0), parts)
    found: dict[float, float] = {}
    start = time.process_time()

    def proven(lower: float, upper: float) -> None:
        for gap in GAPS:
            if upper - lower <= gap * upper:
                found.setdefault(gap, time.process_time() - start)

    ended: list[float] = []

    def after(solution, work):
        ended.append(time.process_time())
        return work()

    solution = parts.solver.solve(
        problem,
        Context(deadline=time.monotonic() + SECONDS, proven=proven, after=after),
    )
    written = time.process_time()
    accepted = check(read(proof), problem)
    shown = (solution.value - accepted.lower_bound) / solution.value
    print(rows, solution.status, found, flush=True)
    return {
        "rows": f"{rows:,}",
        **{f"gap {gap:.2%}, s": round(found[gap], 2) if gap in found else "–" for gap in GAPS},
        "searched, s": round(ended[0] - start, 1),
        "gap in the end": f"{(solution.value - solution.lower_bound) / solution.value:.2g}",
        "proof, MB": round(proof.stat().st_size / 1e6, 2),
        "write, s": round(written - ended[0], 1),
        "check, s": round(time.process_time() - written, 1),
        "the proof's gap": f"{shown:.2g}",
    }


def main(file: str = "") -> None:
    """Print the table, and keep it in ``file``."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [measured(rows, Path(folder)) for rows in ROWS]
    if file:
        Path(file).write_text(
            "# Squared errors within two levels, by rows\n\n"
            "Every threshold of seven columns; processor seconds, at most "
            f"{SECONDS:g} of the clock.\n\n{table.markdown_table(lines)}",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
