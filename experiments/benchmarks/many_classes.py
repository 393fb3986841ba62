"""CART on tables of many classes against scikit-learn's DecisionTreeClassifier: exact thresholds,
one thread.

    python experiments/benchmarks/many_classes.py [--rows 20000] [--classes 10 100 1000]
        [--depths 6 10 0] [--turns 3] [--enough 20]

Goal: no slower, whatever the number of classes.  20 float32 columns, depth 0 is without a limit;
the labels are noise, or follow two columns, with noise about the borders.  Both fit in turns.
Printed are the least processor seconds, their ratio, and by how much the impurity of any node
differs: "ties" where the trees are others below a node at which several tests are equally good.
Where turns take longer than ``--enough`` seconds, two have to do.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from exact_cart import same_impurities
from greedy_tables import one_thread

COLUMNS, LEAST_TURNS = 20, 2


def labelled(rows: int, classes: int, signal: bool) -> tuple[np.ndarray, np.ndarray]:
    """float32[rows, columns], labels: drawn without looking; or the rank of a blurred column,
    scattered where another one is above 0.
    """
    draw = np.random.default_rng(0)
    x = draw.normal(size=(rows, COLUMNS)).astype(np.float32)
    if not signal:
        return x, draw.integers(0, classes, rows)
    y = np.argsort(np.argsort(x[:, 0] + draw.normal(size=rows) / 5)) * classes // rows
    return x, np.where(x[:, 1] > 0, (7 * y + 3) % classes, y)


def seconds(fit: Callable[[], object]) -> float:
    start = time.process_time()
    fit()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[20_000])
    parser.add_argument("--classes", type=int, nargs="*", default=[10, 100, 1_000])
    parser.add_argument("--depths", type=int, nargs="*", default=[6, 10, 0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--enough", type=float, default=20.0)
    asked = parser.parse_args()
    one_thread()
    from sklearn.tree import DecisionTreeClassifier

    from arboretum.sklearn import TreeClassifier

    print(
        "| rows | classes | labels | depth | `TreeClassifier`, s | scikit-learn, s | ratio | "
        "impurities differ by |\n" + "|---" * 8 + "|"
    )
    for rows in asked.rows:
        for classes in asked.classes:
            for signal in (False, True):
                x, y = labelled(rows, classes, signal)
                for depth in (d or None for d in asked.depths):
                    ours, peer = (
                        TreeClassifier(method="cart", max_depth=depth),
                        DecisionTreeClassifier(max_depth=depth, random_state=0),
                    )
                    ours.fit(x[:5000], y[:5000])  # loads the kernels
                    mine, theirs = [], []
                    while len(mine) < asked.turns and (
                        len(mine) < LEAST_TURNS or sum(mine + theirs) < asked.enough
                    ):
                        mine.append(seconds(lambda: ours.fit(x, y)))
                        # called at once
                        theirs.append(seconds(lambda: peer.fit(x, y)))
                    apart = same_impurities(ours.tree_.impurity, peer.tree_.impurity)
                    told = f"{apart:.0e}" if apart < 1e-6 else "ties"
                    print(
                        f"| {rows:,} | {classes:,} | {'signal' if signal else 'noise'} | "
                        f"{depth or '∞'} | {min(mine):.3f} | {min(theirs):.3f} "
                        f"| {min(mine) / min(theirs):.3f} | {told} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
