"""What honest leaves change: the error, and how much oftener a tree claims to be right than it is.

    python experiments/benchmarks/honest_leaves.py [TABLE.md]

Trees of ``method=cart`` with at least five rows per leaf, not pruned, on ten divisions of each
table (30 % test); the same rows with and without ``honest=0.5``.  "claimed" is the mean share of
the predicted class in the leaf, over test rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import arboretum
from arboretum.api import table
from arboretum.engine.run import Request, prepare
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry

TABLES = ("pima", "wdbc", "spambase", "phoneme", "ilpd", "mammography")
SEEDS = range(10)
KEPT = ["method=cart", "stopping.standard.min_leaf=5", "tracker=none"]
DIVIDED = ["split.valid=0", "split.test=0.3"]


def measured(name: str, honest: float, seed: int) -> tuple[float, float, float, float]:
    """(error, claimed minus true accuracy, Brier score, log loss) on the test rows."""
    record = arboretum.run([f"dataset={name}", *KEPT, *DIVIDED, f"honest={honest}", f"seed={seed}"])
    parts = assemble(load_registry(), {"dataset": name, "split": "holdout"}, DIVIDED)
    rows = prepare(Request(parts, seed)).table
    test = rows.take(parts.split.divide(rows, seed).test)
    claimed = float(record.tree.predict_proba(test).max(axis=1).mean())
    found = record.metrics
    return (
        found["test_error"],
        claimed - found["test_accuracy"],
        found["test_brier"],
        found["test_log_loss"],
    )


def main(file: str = "") -> None:
    """Print the table, and keep it in ``file``."""
    rows = []
    for name in TABLES:
        for honest in (0.0, 0.5):
            means = np.mean([measured(name, honest, seed) for seed in SEEDS], axis=0)
            names = ("error", "claimed − true accuracy", "Brier", "log loss, nats")
            found = dict(zip(names, (round(float(one), 4) for one in means), strict=True))
            rows.append({"table": name, "honest": honest, **found})
            print(rows[-1], flush=True)
    if file:
        Path(file).write_text(
            f"# What honest leaves change\n\n{table.markdown_table(rows)}", encoding="utf-8"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
