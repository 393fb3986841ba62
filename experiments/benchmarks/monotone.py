"""Monotone greedy trees against scikit-learn's ``monotonic_cst``: training errors, leaves, and for
how many rows both predict the same.

    python experiments/benchmarks/monotone.py [TABLE.md]

The four columns that correlate most with the target are ordered, each in the direction of its
correlation.  Where two tests tie, scikit-learn draws and this package takes the first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from arboretum import TreeClassifier, TreeRegressor
from arboretum.api import table
from arboretum.engine.run import Request, prepare
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry

TABLES = (
    "diabetes",
    "boston-housing",
    "mammography",
    "pima",
    "wdbc",
    "ionosphere",
    "sonar",
    "spambase",
    "fourclass",
    "ilpd",
    "phoneme",
)
ORDERED = 4


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Columns of numbers without gaps (float32), the target, and whether that is a number."""
    rows = prepare(Request(assemble(load_registry(), {"dataset": name}), 0)).table
    kept = [c.values for c in rows.columns if c.is_continuous and not c.missing.any()]
    kept = [values for values in kept if np.ptp(values) > 0]
    x = np.column_stack(kept).astype(np.float32)
    return x, rows.target.values if rows.is_regression else rows.target.codes, rows.is_regression


def compared(name: str, depth: int) -> dict[str, Any]:
    """One row of the table."""
    x, y, numbers = rows_of(name)
    correlation = np.array([np.corrcoef(column, y)[0, 1] for column in x.T])
    ordered = np.argsort(-np.abs(correlation))[:ORDERED]
    way = np.zeros(x.shape[1], int)
    way[ordered] = np.where(correlation[ordered] > 0, 1, -1)
    rising, falling = ([f"x{k}" for k in np.flatnonzero(way == one)] for one in (1, -1))
    theirs, ours = (
        (DecisionTreeRegressor, TreeRegressor)
        if numbers
        else (DecisionTreeClassifier, TreeClassifier)
    )
    free = theirs(max_depth=depth, random_state=0).fit(x, y)
    other = theirs(max_depth=depth, random_state=0, monotonic_cst=way.tolist()).fit(x, y)
    own = ours(max_depth=depth, method__increasing=rising, method__decreasing=falling, verify=True)
    own.fit(x, y)

    def error(model: Any) -> float:
        found = model.predict(x)
        return float(((found - y) ** 2).mean() if numbers else (found != y).mean())

    said = [m.predict(x) if numbers else m.predict_proba(x)[:, 1] for m in (other, own)]
    return {
        "table": name,
        "rows": len(y),
        "depth": depth,
        "error, no order": round(error(free), 4),
        "error, scikit-learn": round(error(other), 4),
        "error": round(error(own), 4),
        "leaves, scikit-learn": int(other.get_n_leaves()),
        "leaves": own.get_n_leaves(),
        "rows predicted alike": round(float(np.isclose(*said).mean()), 4),
    }


def main(file: str = "") -> None:
    """Print the table, and keep it in ``file``."""
    rows = []
    for name in TABLES:
        for depth in (3, 5):
            rows.append(compared(name, depth))
            print(rows[-1], flush=True)
    if file:
        Path(file).write_text(
            f"# Monotone trees and scikit-learn's\n\n{table.markdown_table(rows)}",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
