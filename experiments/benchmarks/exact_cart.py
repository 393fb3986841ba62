"""Exact CART on 100,000 × 20 float32 columns, depth 6, against scikit-learn's
DecisionTreeClassifier.

    python experiments/benchmarks/exact_cart.py

Goal: the same impurity in every node, and a fit at least 15 × faster (moonshot 30 ×), sorting or
binning included. Both run on one thread and take turns; medians.  The first lines are the goal's
table, whose classes depend on the columns; then come others: how much of a table the bounds of bins
rule out, and so the ratio, depends on what there is to find.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from greedy_tables import (
    interleaved,
    noisy_xor,
    one_and,
    one_thread,
    pure_noise,
    raw_problem,
    two_ands,
)

ROWS, COLUMNS, DEPTH, REPEATS, FEWER = 100_000, 20, 6, 7, 3
SHAPES: dict[str, Callable[[int, int], tuple[np.ndarray, np.ndarray]]] = {
    "two ANDs": two_ands,
    "one AND": one_and,
    "noisy XOR": noisy_xor,
    "pure noise": pure_noise,
    "pure noise, 3 classes": lambda n, columns: pure_noise(n, columns, classes=3),
}


def same_impurities(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Largest difference between the sorted impurities of both trees; inf if they differ in
    size.
    """
    return (
        float(np.abs(np.sort(mine) - np.sort(theirs)).max()) if len(mine) == len(theirs) else np.inf
    )


def largest_regret(tree: object, x: np.ndarray, y: np.ndarray) -> float:
    """How much more any node's test could reduce the Gini index by scikit-learn's own search on the
    node's rows.

    For tables with ties, where equally good tests lead to other trees below.
    """
    from sklearn.tree import DecisionTreeClassifier

    worst, rows_of = 0.0, {0: np.arange(len(y))}
    for v in range(tree.n_nodes):
        if tree.is_leaf[v]:
            continue
        rows, rule = rows_of[v], tree.rule(v)
        left = x[rows, int(rule.column[1:])] <= rule.threshold
        rows_of[int(tree.children(v)[0])], rows_of[int(tree.children(v)[1])] = (
            rows[left],
            rows[~left],
        )
        peer = DecisionTreeClassifier(max_depth=1, random_state=0).fit(x[rows], y[rows]).tree_
        theirs = (peer.n_node_samples[1:] * peer.impurity[1:]).sum() / len(rows)
        ours = sum(np.mean(part) * _gini(y[rows[part]]) for part in (left, ~left))
        worst = max(worst, ours - theirs)
    return worst


def _gini(y: np.ndarray) -> float:
    return 1.0 - float(((np.bincount(y) / len(y)) ** 2).sum())


def main() -> None:
    one_thread()
    from sklearn.tree import DecisionTreeClassifier

    from arboretum.api import Context, grow
    from arboretum.engine.search.warmup import warm_up
    from arboretum.sklearn import TreeClassifier
    from arboretum_classic.criteria.criteria import Reduction
    from arboretum_classic.criteria.impurities import Gini

    for number, (shape, make) in enumerate(SHAPES.items()):
        x, y = make(ROWS, COLUMNS)
        problem = raw_problem(x, y, Reduction(), Gini(), DEPTH)
        compile_seconds = warm_up(problem)
        peer = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
        ours = TreeClassifier(method="cart", max_depth=DEPTH)
        ours.fit(x[:1000], y[:1000])
        runs = {
            "scikit-learn": lambda peer=peer, x=x, y=y: peer.fit(x, y),
            "grow": lambda problem=problem: grow(problem, Context()),
            "TreeClassifier": lambda ours=ours, x=x, y=y: ours.fit(x, y),
        }
        median = interleaved(runs, REPEATS if number == 0 else FEWER)
        tree = grow(problem, Context()).tree
        if number == 0:
            print(
                f"exact CART {ROWS:,} x {COLUMNS} float32, depth {DEPTH}, {tree.n_nodes} nodes; "
                f"warm-up {compile_seconds:.2f} s"
            )
            print(
                "  largest difference of a node's impurity: "
                f"{same_impurities(tree.impurity, peer.tree_.impurity):.1e}"
            )
            for name in ("grow", "TreeClassifier"):
                print(
                    f"  {name} {median[name]:.4f} s, scikit-learn {median['scikit-learn']:.3f} s, "
                    f"ratio {median['scikit-learn'] / median[name]:.1f} (goal >= 15, moonshot 30)"
                )
            names = f"\n{'shape':24}{'seconds':>10}{'scikit-learn':>14}{'ratio':>7}"
            print(f"{names}{'a better test, at most by':>28}")
        mine, theirs = median["TreeClassifier"], median["scikit-learn"]
        regret = largest_regret(tree, x, y)
        print(f"{shape:24}{mine:10.4f}{theirs:14.3f}{theirs / mine:7.1f}{regret:28.1e}", flush=True)


if __name__ == "__main__":
    main()
