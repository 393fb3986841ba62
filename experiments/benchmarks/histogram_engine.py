"""Histogram engine: 1,000,000 × 50 uint8 codes, 2 classes, depth 8.

    python experiments/benchmarks/histogram_engine.py

Goal: at most 1.0 ns per row·column·level, peak memory at most 0.5 × the table above the process
that holds it. Named peer: one pass of numpy.bincount over every column, which is what counting one
level costs in NumPy.
"""

from __future__ import annotations

from pathlib import Path

from greedy_tables import coded_problem, codes, interleaved, one_thread

ROWS, COLUMNS, BINS, DEPTH = 1_000_000, 50, 256, 8


def resident() -> tuple[int, int]:
    """Bytes of this process: now, and at the peak since :func:`forget_peak`."""
    found = dict(
        line.split(":")
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("Vm")
    )
    return tuple(int(found[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    one_thread()
    import numpy as np

    from arboretum.api import Context, grow
    from arboretum.engine.search.warmup import warm_up
    from arboretum_classic.criteria.criteria import Reduction
    from arboretum_classic.criteria.impurities import Gini

    x, y = codes(ROWS, COLUMNS, BINS, 2)
    problem = coded_problem(x, y, BINS, Reduction(), Gini(), DEPTH)
    compile_seconds = warm_up(problem)
    forget_peak()
    before = resident()[0]
    tree = grow(problem, Context()).tree
    extra = resident()[1] - before
    wide = y.astype(np.int64)

    def bincounts() -> None:
        for j in range(COLUMNS):
            np.bincount(x[:, j] + BINS * wide, minlength=2 * BINS)

    median = interleaved({"grow": lambda: grow(problem, Context()), "bincount": bincounts}, 5)
    levels = int(tree.depth_of.max())
    ns = median["grow"] * 1e9 / (ROWS * COLUMNS * levels)
    print(
        f"histogram engine {ROWS:,} x {COLUMNS}, {levels} levels, {tree.n_nodes} nodes; "
        f"warm-up {compile_seconds:.2f} s"
    )
    print(f"  fit {median['grow']:.3f} s = {ns:.2f} ns per row*column*level (goal <= 1.0)")
    print(
        f"  numpy.bincount, one level {median['bincount']:.3f} s; ratio fit : {levels} such "
        "levels = "
        f"{median['grow'] / (levels * median['bincount']):.2f}"
    )
    print(
        f"  peak memory above the table's process {extra / 1e6:.0f} MB = "
        f"{extra / x.nbytes:.2f} x the table (goal <= 0.5)"
    )


if __name__ == "__main__":
    main()
