"""Two commits in turns: what fits take in one as a multiple of what they take in the other, in
processor seconds.

    python experiments/benchmarks/two_commits.py OLD [NEW] [--questions NAME…] [--turns 3]
        [--repeats 15]

Each commit is laid out by ``git worktree`` in a temporary folder, with a cache of kernels of its
own; a turn is a process per commit that fits once, which compiles, then times its repeats, so that
both see the same neighbours on a busy machine.  Printed are the ratio of the least times of all
turns, and of each turn, which says how far to trust it.  NEW: HEAD where nothing is said; what is
not committed is not measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
NOISE = """
x = draw.normal(size=(100_000, 20)).astype(np.float32)
y = ((x[:, 0] > 0) ^ (x[:, 1] > 0.5) ^ (draw.random(len(x)) < 0.1)).astype(int)
"""
QUESTIONS = {
    "noise": (NOISE, "TreeClassifier(method='cart', max_depth=6)"),
    "noise, any depth": (NOISE.replace("100_000", "20_000"), "TreeClassifier(method='cart')"),
    "no signal": (
        NOISE.replace("(x[:, 0] > 0) ^ (x[:, 1] > 0.5)", "(x[:, 0] > 9)").replace("0.1)", "0.5)"),
        "TreeClassifier(method='cart', max_depth=6)",
    ),
    "three classes": (NOISE + "y += x[:, 2] > 1\n", "TreeClassifier(method='cart', max_depth=6)"),
    "1000 classes": (
        "x = draw.normal(size=(20_000, 10)).astype(np.float32)\ny = "
        "np.argsort(np.argsort(x[:, 0] + draw.normal(size=20_000) / 5)) // 20\n",
        "TreeClassifier(method='cart', max_depth=8)",
    ),
    "c45": (NOISE, "TreeClassifier(method='j48')"),
    "c45, a fifth missing": (
        NOISE + "x[draw.random(x.shape) < 0.2] = np.nan\n",
        "TreeClassifier(method='j48')",
    ),
    "ec45": (NOISE, "TreeClassifier(method='ec45')"),
    "subtable_dp": (
        "x = draw.integers(0, 3, (200, 12)).astype(np.uint8)\n"
        "y = x[:, 0] + x[:, 1] + (draw.random(len(x)) < 0.2)\n",
        "TreeClassifier(method='subtable_dp')",
    ),
    "max_cost": (
        "x = draw.integers(0, 2, (300, 40)).astype(np.uint8)\ny = x[:, :6].sum(axis=1) % 2\n",
        "TreeClassifier(method='max_cost')",
    ),
}
"""Name → (how the table is made, what is fitted)."""
CHILD = """
import time
import numpy as np
from arboretum import TreeClassifier
draw = np.random.default_rng(0)
{table}
def fit():
    start = time.process_time()
    {model}.fit(x, y)
    return time.process_time() - start
fit()
print(min(fit() for _ in range({repeats})))
"""


def measured(folder: Path, question: str, repeats: int) -> float:
    """The least seconds of so many fits, after a first one, in a process on one commit."""
    table, model = QUESTIONS[question]
    paths = os.pathsep.join([str(folder / "framework"), str(folder / "plugins")])
    surroundings = {
        **os.environ,
        "PYTHONPATH": paths,
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "ARBORETUM_KERNELS": "compiled",  # small tables would be interpreted for seconds
    }
    code = CHILD.format(table=table, model=model, repeats=repeats)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=surroundings,
        cwd=folder,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new", nargs="?", default="HEAD")
    parser.add_argument("--questions", nargs="*", default=list(QUESTIONS), choices=list(QUESTIONS))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=15)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place, str(k)) for k in range(2)]
        try:
            for folder, commit in zip(folders, (asked.old, asked.new), strict=True):
                subprocess.run(
                    [
                        "git",
                        "-C",
                        str(HOME),
                        "worktree",
                        "add",
                        "--detach",
                        "--quiet",
                        str(folder),
                        commit,
                    ],
                    check=True,
                )
            names = (
                subprocess.check_output(
                    ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"], text=True
                ).strip()
                for folder in folders
            )
            print(
                f"| question | {' ÷ '.join(reversed(list(names)))} | turn by turn |\n| --- | "
                "--: | --- |"
            )
            for question in asked.questions:
                turns = [
                    [measured(folder, question, asked.repeats) for folder in folders]
                    for _ in range(asked.turns)
                ]
                old, new = (min(turn[k] for turn in turns) for k in range(2))
                each = ", ".join(f"{turn[1] / turn[0]:.2f}" for turn in turns)
                print(f"| {question} | {new / old:.2f} | {each} |", flush=True)
        finally:
            for folder in folders:
                subprocess.run(
                    ["git", "-C", str(HOME), "worktree", "remove", "--force", str(folder)],
                    check=False,
                )


if __name__ == "__main__":
    main()
