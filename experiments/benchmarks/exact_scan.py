"""Exact thresholds where no bound helps: numeric targets and many classes, against scikit-learn's
trees.

    python experiments/benchmarks/exact_scan.py

100,000 × 20 float32 columns, depth 6: variance against DecisionTreeRegressor, gini over 10 and 30
classes against DecisionTreeClassifier.  Both run on one thread and take turns; medians.
"""

from __future__ import annotations

import attrs
import numpy as np
from greedy_tables import Problem, Target, Task, interleaved, one_thread, raw_problem

ROWS, COLUMNS, DEPTH, REPEATS = 100_000, 20, 6, 3


def many_classes(classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32[n, columns], labels: a staircase along the first column, shifted by the second, 30
    % redrawn.
    """
    generator = np.random.default_rng(seed)
    x = generator.random((ROWS, COLUMNS), dtype=np.float32)
    y = ((x[:, 0] * classes).astype(np.int32) + (x[:, 1] > 0.5) * (classes // 2)) % classes
    redrawn = generator.random(ROWS) < 0.3
    y[redrawn] = generator.integers(0, classes, int(redrawn.sum()))
    return x, y.astype(np.int32)


def numbers(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32[n, columns], targets: a wave and a product of columns, with noise."""
    generator = np.random.default_rng(seed)
    x = generator.random((ROWS, COLUMNS), dtype=np.float32)
    return x, np.sin(6.0 * x[:, 0]) + 2.0 * x[:, 1] * x[:, 2] + generator.normal(0.0, 0.5, ROWS)


def numeric(problem: Problem, y: np.ndarray) -> Problem:
    """The same columns with a numeric target."""
    table = attrs.evolve(problem.objects.table, target=Target("y", Task.regression, values=y))
    return attrs.evolve(
        problem, objects=attrs.evolve(problem.objects, table=table, label=None, y=y)
    )


def main() -> None:
    one_thread()
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    from arboretum.api import Context, grow
    from arboretum.engine.search.warmup import warm_up
    from arboretum_classic.criteria.criteria import Reduction
    from arboretum_classic.criteria.impurities import Gini, Variance

    cases = {}
    x, y = numbers()
    blank = np.zeros(ROWS, np.int32)
    problem = numeric(raw_problem(x, blank, Reduction(), Variance(), DEPTH), y)
    cases["variance"] = (problem, x, y, DecisionTreeRegressor(max_depth=DEPTH, random_state=0))
    for classes in (10, 30):
        x, y = many_classes(classes)
        problem = raw_problem(x, y, Reduction(), Gini(), DEPTH)
        cases[f"gini, {classes} classes"] = (
            problem,
            x,
            y,
            DecisionTreeClassifier(max_depth=DEPTH, random_state=0),
        )
    for name, (problem, x, y, peer) in cases.items():
        warm_up(problem)
        runs = {
            "ours": lambda p=problem: grow(p, Context()),
            "theirs": lambda f=peer.fit, a=x, b=y: f(a, b),
        }
        found = interleaved(runs, REPEATS)
        tree, other = grow(problem, Context()).tree, peer.tree_
        assert tree.n_nodes == other.node_count, (
            f"{name}: {tree.n_nodes} nodes, scikit-learn {other.node_count}"
        )
        apart = np.abs(np.sort(tree.impurity) - np.sort(other.impurity)).max()
        print(
            f"exact scan, {name}: {found['ours']:.3f} s, scikit-learn {found['theirs']:.3f} s, "
            f"ratio {found['theirs'] / found['ours']:.1f}; impurities differ by at most {apart:.1e}"
        )


if __name__ == "__main__":
    main()
