"""Trees of unlimited depth, where every small node counts, against scikit-learn's DecisionTreeClassifier.

    python experiments/benchmarks/deep_trees.py [--loop]

Goal: at most twice scikit-learn's time at every size.  ``--loop`` measures growth without the kernel for subtrees, too.
Half of the columns are binary, half continuous; 30 % of the labels are redrawn, so that trees are large.  Both run on one
thread and take turns; medians.
"""

from __future__ import annotations

import sys

import numpy as np
from greedy_tables import interleaved, one_thread, raw_problem, two_ands

SIZES = ((200, 8), (1_000, 8), (5_000, 20), (20_000, 20), (2_000, 400), (100_000, 20))
REPEATS, NO_LIMIT = 5, 10_000


def noisy(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """float32[rows, columns], labels."""
    x, y = two_ands(rows, columns)
    generator = np.random.default_rng(1)
    x[:, 1::2] = x[:, 1::2] > 0.5
    redrawn = generator.random(rows) < 0.3
    y[redrawn] = generator.integers(0, 2, int(redrawn.sum()))
    return x, y


def main() -> None:
    one_thread()
    from sklearn.tree import DecisionTreeClassifier

    from arboretum.api import Context, grow
    from arboretum.engine.search.warmup import warm_up
    from arboretum_classic.criteria import Reduction
    from arboretum_classic.impurities import Gini

    for rows, columns in SIZES:
        x, y = noisy(rows, columns)
        problem = raw_problem(x, y, Reduction(), Gini(), NO_LIMIT)
        warm_up(problem)
        peer = DecisionTreeClassifier(random_state=0)
        runs = {"peer": lambda: peer.fit(x, y), "grow": lambda: grow(problem, Context())}  # noqa: B023 — called at once
        if "--loop" in sys.argv:
            runs["loop"] = lambda: grow(problem, Context(), compiled=False)  # noqa: B023 — called at once
        median = interleaved(runs, REPEATS)
        tree = grow(problem, Context()).tree
        slow = f", loop {median['loop']:.4f} s" if "loop" in median else ""
        print(
            f"{rows:>7,} x {columns:<3} grow {median['grow']:.4f} s ({tree.n_nodes} nodes,"
            f" {median['grow'] / tree.n_nodes * 1e6:.1f} us each), scikit-learn {median['peer']:.4f} s"
            f" ({peer.tree_.node_count} nodes), ratio {median['grow'] / median['peer']:.2f} (goal <= 2){slow}"
        )


if __name__ == "__main__":
    main()
