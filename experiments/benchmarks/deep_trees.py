"""Trees of unlimited depth, where every small node counts, against scikit-learn's
DecisionTreeClassifier.

    python experiments/benchmarks/deep_trees.py [--loop]

Goal: at most twice scikit-learn's time at every size, and a sixth of it at 100,000 rows.
``--loop`` measures growth without the kernel for subtrees, too.  30 % of the labels are redrawn, so
that trees are large.  Half of the columns are binary and half continuous; at 100,000 rows also all
continuous, and half of them categories of 8 values, which scikit-learn gets one-hot.  Both run on
one thread and take turns; medians.
"""

from __future__ import annotations

import sys

import numpy as np
from greedy_tables import interleaved, mixed_problem, one_thread, raw_problem, two_ands

SIZES = ((200, 8), (1_000, 8), (5_000, 20), (20_000, 20), (2_000, 400), (100_000, 20))
LARGE = (100_000, 20)
REPEATS, NO_LIMIT, CATEGORIES = 5, 10_000, 8


def noisy(rows: int, columns: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """float32[rows, columns], labels."""
    x, y = two_ands(rows, columns)
    generator = np.random.default_rng(1)
    if kind == "binary":
        x[:, 1::2] = x[:, 1::2] > 0.5
    redrawn = generator.random(rows) < 0.3
    y[redrawn] = generator.integers(0, 2, int(redrawn.sum()))
    return x, y


def main() -> None:
    one_thread()
    from sklearn.tree import DecisionTreeClassifier

    from arboretum.api import Context, grow
    from arboretum.engine.search.warmup import warm_up
    from arboretum_classic.criteria.criteria import Reduction
    from arboretum_classic.criteria.impurities import Gini

    for rows, columns, kind in (
        *((*size, "binary") for size in SIZES),
        (*LARGE, "continuous"),
        (*LARGE, "categories"),
    ):
        x, y = noisy(rows, columns, kind)
        problem = raw_problem(x, y, Reduction(), Gini(), NO_LIMIT)
        if kind == "categories":
            codes = (x[:, 1::2] * CATEGORIES).astype(np.uint8)
            numbers = np.ascontiguousarray(x[:, ::2])
            problem = mixed_problem(numbers, codes, y, Reduction(), Gini(), NO_LIMIT)
            x = np.concatenate(
                [numbers, *(codes == k for k in range(CATEGORIES))], axis=1, dtype=np.float32
            )
        warm_up(problem)
        peer = DecisionTreeClassifier(random_state=0)
        runs = {  # called at once
            "peer": lambda: peer.fit(x, y),
            "grow": lambda: grow(problem, Context()),
        }
        if "--loop" in sys.argv:
            # called at once
            runs["loop"] = lambda: grow(problem, Context(), compiled=False)
        median = interleaved(runs, REPEATS)
        tree = grow(problem, Context()).tree
        slow = f", loop {median['loop']:.4f} s" if "loop" in median else ""
        print(
            f"{rows:>7,} x {columns:<3} {kind:<10} grow {median['grow']:.4f} s "
            f"({tree.n_nodes} nodes,"
            f" {median['grow'] / tree.n_nodes * 1e6:.1f} us each), scikit-learn "
            f"{median['peer']:.4f} s"
            f" ({peer.tree_.node_count} nodes), {median['peer'] / median['grow']:.2f} times "
            f"as fast{slow}"
        )


if __name__ == "__main__":
    main()
