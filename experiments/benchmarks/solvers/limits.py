"""Least errors within four levels, of at most six leaves, or with 5 % of the rows in every leaf:
ours and pystreed, which knows both limits.

    ARBORETUM_BENCH=FOLDER ARBORETUM_PEERS=PYTHON python experiments/benchmarks/solvers/limits.py
        [--only PART …] [--repeat 5] [--out FOLDER]

Processor seconds, the least of ``--repeat`` fits, with kernels loaded, one after the other; a fit
of pystreed has a process of its own.  Writes limits.md.  Exit status 1 where their errors differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from contestants import problem_of
from report import mean
from suites import load

from arboretum.api import Context, Status, table
from arboretum_gosdt.solvers.gosdt import Gosdt

TABLES = (
    "anneal@binary",
    "german-credit@binary",
    "hypothyroid@binary",
    "tic-tac-toe@onehot",
    "heart-cleveland@binary",
    "compas-binary@binary",
    "fourclass@upto20",
    "bar-7@binary",
    "car-gosdt@binary",
)
DEPTH, LEAVES, SHARE = 4, 6, 20
"""Levels, leaves, and the part of the rows, one in so many, that a leaf has at least."""
PEER = """
import json, sys, time
import numpy as np
from pystreed import STreeDClassifier
x, y = (np.load(sys.argv[1])[name] for name in "xy")
limits, repeat = json.loads(sys.argv[2]), int(sys.argv[3])
x, best = x.astype(int), float("inf")
for _ in range(repeat):
    model = STreeDClassifier(optimization_task="accuracy", time_limit=100, **limits)
    start = time.process_time()
    model.fit(x, y)
    best = min(best, time.process_time() - start)
print(json.dumps([best, int((model.predict(x) != y).sum())]))
"""


def limits(rows: int) -> Iterator[tuple[str, dict[str, int], dict[str, int]]]:
    """(name, limits of ours, the same of the peer)."""
    few = rows // SHARE
    yield f"{LEAVES} leaves", {"leaves": LEAVES}, {"max_num_nodes": LEAVES - 1}
    yield f"{few} rows", {"least": few}, {"min_leaf_node_size": few}


def ours(x: np.ndarray, y: np.ndarray, limit: dict[str, int], repeat: int) -> tuple[float, int]:
    """Seconds, and errors of the tree, which is proven to be the best."""
    problem, best = problem_of(x, y, 0.0, DEPTH, **limit), float("inf")
    solver = Gosdt()
    solver.warm_up(problem, Context())
    solver.solve(problem, Context())  # whatever it compiles for numbers of this width
    for _ in range(repeat):
        start = time.process_time()
        found = solver.solve(problem, Context())
        best = min(best, time.process_time() - start)
    assert found.status is Status.optimal
    return best, int((found.tree.predict(problem.objects.table) != y).sum())


def theirs(x: np.ndarray, y: np.ndarray, limit: dict[str, int], repeat: int) -> tuple[float, int]:
    """The same of pystreed, in the interpreter that ARBORETUM_PEERS names, or this one."""
    python = os.environ.get("ARBORETUM_PEERS") or sys.executable
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.npz")
        np.savez(path, x=x, y=y)
        told = json.dumps({**limit, "max_depth": DEPTH})
        asked = [python, "-c", PEER, str(path), told, str(repeat)]
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    seconds, errors = json.loads(said.splitlines()[-1])
    return float(seconds), int(errors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], help="parts of names of tables")
    parser.add_argument("--repeat", type=int, default=5, help="fits, of which the least counts")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent, help="folder of limits.md"
    )
    options = parser.parse_args()
    lines: list[dict[str, Any]] = []
    for name in TABLES:
        if options.only and not any(one in name for one in options.only):
            continue
        x, y = load(name)
        for limit, mine, peer in limits(len(y)):
            seconds, errors = ours(x, y, mine, options.repeat)
            other, wrong = theirs(x, y, peer, options.repeat)
            note = "" if errors == wrong else f"CONTRADICTION: {wrong} errors"
            lines.append(
                {
                    "table": name,
                    "limit": limit,
                    "errors": errors,
                    "ours": seconds,
                    "pystreed": other,
                    "÷ ours": other / seconds,
                    "note": note,
                }
            )
            print(*lines[-1].values(), flush=True)
    shown = table.text_table(lines, width=None)
    shown += f"\n\nmean ÷ ours (geometric): {mean([line['÷ ours'] for line in lines]):.3g}"
    print(shown)
    (options.out / "limits.md").write_text(
        f"# Limits on leaves and on rows of a leaf\n\nWithin {DEPTH} levels, λ = 0; `limits.py` "
        f"says how it is measured.\n\n```text\n{shown}\n```\n",
        encoding="utf-8",
    )
    return 1 if any(line["note"] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
