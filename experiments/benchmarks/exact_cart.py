"""Exact CART on 100,000 × 20 float32 columns, depth 6, against scikit-learn's DecisionTreeClassifier.

    python experiments/benchmarks/exact_cart.py

Goal: the same impurity in every node, and a fit at least 15 × faster (moonshot 30 ×), sorting or binning included.
Both run on one thread and take turns; medians.
"""

from __future__ import annotations

import numpy as np
from greedy_tables import interleaved, one_thread, raw_problem, two_ands

ROWS, COLUMNS, DEPTH, REPEATS = 100_000, 20, 6, 7


def same_impurities(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Largest difference between the sorted impurities of both trees; inf if they differ in size."""
    return float(np.abs(np.sort(mine) - np.sort(theirs)).max()) if len(mine) == len(theirs) else np.inf


def main() -> None:
    one_thread()
    from sklearn.tree import DecisionTreeClassifier

    from arboretum.api import Context, grow
    from arboretum.engine.search.warmup import warm_up
    from arboretum.sklearn import TreeClassifier
    from arboretum_classic.criteria import Reduction
    from arboretum_classic.impurities import Gini

    x, y = two_ands(ROWS, COLUMNS)
    problem = raw_problem(x, y, Reduction(), Gini(), DEPTH)
    compile_seconds = warm_up(problem)
    peer = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    ours = TreeClassifier(method="cart", max_depth=DEPTH)
    ours.fit(x[:1000], y[:1000])
    median = interleaved(
        {
            "scikit-learn": lambda: peer.fit(x, y),
            "grow": lambda: grow(problem, Context()),
            "TreeClassifier": lambda: ours.fit(x, y),
        },
        REPEATS,
    )
    tree = grow(problem, Context()).tree
    print(f"exact CART {ROWS:,} x {COLUMNS} float32, depth {DEPTH}, {tree.n_nodes} nodes; warm-up {compile_seconds:.2f} s")
    print(f"  largest difference of a node's impurity: {same_impurities(tree.impurity, peer.tree_.impurity):.1e}")
    for name in ("grow", "TreeClassifier"):
        print(f"  {name} {median[name]:.4f} s, scikit-learn {median['scikit-learn']:.3f} s, "
              f"ratio {median['scikit-learn'] / median[name]:.1f} (goal >= 15, moonshot 30)")  # fmt: skip


if __name__ == "__main__":
    main()
