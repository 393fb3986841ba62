"""Every objective against all trees of random tiny tables: weights, ties, duplicates with both
labels, up to three classes, limits.

Use: ``python experiments/gosdt/brute_force.py [TABLES [OUTPUT]]``; TABLES a kind of objective,
5,000 unless said, OUTPUT a CSV file.
"""

from __future__ import annotations

import csv
import math
import multiprocessing
import sys
from pathlib import Path

import numpy as np

sys.path.insert(
    0, str(Path(__file__).resolve().parents[2] / "plugins" / "arboretum_gosdt" / "tests")
)

import test_fronts
from tiny_tables import Held, least, limited, objectives, tiny_problem

from arboretum.api import Context, Limits
from arboretum_gosdt.solvers.fronts import NonDominated
from arboretum_gosdt.solvers.gosdt import Gosdt

RANKED = (
    "f_score",
    "f_score, beta .5",
    "auc",
    "pauc(.3)",
    "pauc(.5), normalised",
    "g_mean",
    "jaccard",
)
ADDITIVE = ("accuracy", "balanced", "weighted", "cost_matrix")
NEAR = 1e-8
"""Values of the ranked are floats of two ways to sum, those of the additive one rounding apart."""
BATCH = 40


def limits_of(seed: int, rng: np.random.Generator) -> dict[str, int]:
    """No limit, or one or two of depth, leaves and rows in a leaf."""
    limits = {}
    if seed % 3 == 0:
        limits["max_depth"] = int(rng.integers(1, 4))
    if seed % 4 == 1:
        limits["max_leaves"] = int(rng.integers(1, 4))
    if seed % 4 == 2:
        limits["min_leaf"] = int(rng.integers(1, 4))
    return limits


def tried(kind: str, seed: int) -> bool | None:
    """Whether the solver's value is that of the best of all trees; None where a table has one
    class.
    """
    rng = np.random.default_rng([seed, 77])
    limits = limits_of(seed, rng)
    depth, leaves, rows = (
        limits.get("max_depth"),
        limits.get("max_leaves"),
        limits.get("min_leaf", 1),
    )
    if kind in ADDITIVE:
        objective = objectives(seed)[ADDITIVE.index(kind)]
        problem = limited(
            tiny_problem(seed, objective, raw=seed % 5 == 0),
            stopping=(Held(Limits(**limits)),),
            objective=objective,
        )
        return math.isclose(
            Gosdt().solve(problem, Context()).value,
            least(problem, depth=depth, leaves=leaves, least=rows),
            abs_tol=NEAR,
        )
    objective = test_fronts.OBJECTIVES[RANKED.index(kind)](
        lam=float(rng.choice([0.005, 0.02, 0.05, 0.2]))
    )
    problem = limited(
        tiny_problem(seed, raw=seed % 5 == 0),
        stopping=(Held(Limits(**limits)),),
        objective=objective,
    )
    if problem.objects.n_classes != 2 or len(np.unique(problem.objects.label)) != 2:
        return None
    found = NonDominated().solve(problem, Context())
    return math.isclose(
        found.value,
        test_fronts.best(problem, objective, depth or 9, leaves or 99, rows),
        abs_tol=NEAR,
    )


def batch(asked: tuple[str, int]) -> list[tuple[int, bool | None]]:
    """What came out for the seeds from ``asked[1]`` on."""
    kind, first = asked
    return [(seed, tried(kind, seed)) for seed in range(first, first + BATCH)]


def main(tables: int, output: Path | None) -> None:
    lines = [("objective", "tables", "wrong", "seeds that are wrong")]
    for kind in (*ADDITIVE, *RANKED):
        done, wrong = 0, []
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            for results in pool.imap_unordered(
                batch, ((kind, first) for first in range(0, 4 * tables, BATCH))
            ):
                done += sum(right is not None for _, right in results)
                wrong += [seed for seed, right in results if right is False]
                print(
                    f"\r{kind}: {done:,} of {tables:,} tables, {len(wrong)} wrong",
                    end="",
                    flush=True,
                )
                if done >= tables:
                    break
        print()
        lines.append((kind, done, len(wrong), " ".join(map(str, sorted(wrong)))))
        if output is not None:
            with output.open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 5000,
        Path(sys.argv[2]) if len(sys.argv) > 2 else None,
    )
