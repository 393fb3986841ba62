"""What costs of classes, and costs that differ by object, take against errors.

    ARBORETUM_DATA=… ARBORETUM_BENCH=… python experiments/benchmarks/costs_by_object.py

The tables of the race (experiments/benchmarks/solvers), λ = 0.02 without a limit on depth and λ = 0
within depths 3 and 4.  ``classes``: cost_matrix with costs 1 to 3; ``digits k``: each row's error
costs a number from ½ to 2 with k digits behind the point; ``floats``: with all of them; λ grows
with the mean cost.  Seconds of the processor of ``solve`` after kernels are loaded, the median of
three, in turns; what accuracy proves in less than a millisecond, or not in ten seconds, is left
out.  The table is costs_by_object.md beside this file.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import attrs
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "solvers"))
TABLES = (
    "monk1@onehot",
    "monk2@onehot",
    "tic-tac-toe@onehot",
    "car-gosdt@binary",
    "balance-scale@onehot",
    "compas-binary@binary",
    "fico-binary@binary",
    "bar-7@binary",
    "iris@binary",
    "hypothyroid@binary",
    "heart-cleveland@binary",
)
SECONDS, REPEATS, LEAST = 10.0, 3, 0.001


def main() -> None:
    """Measure, and write the table."""
    from suites import load, problem_of_bits

    from arboretum.api import AdditiveObjective, Context, Parts, Problem, Status, Target, Task
    from arboretum_basics.stopping import Standard
    from arboretum_gosdt.problem.objectives import Accuracy, CostMatrix
    from arboretum_gosdt.solvers.gosdt import Gosdt

    @attrs.frozen
    class Own(AdditiveObjective):
        name = "own"
        digits: int = 1

        def costs(self, problem):
            objects = problem.objects
            each = np.random.default_rng(1).uniform(0.5, 2, objects.n_objects)
            each = each if self.digits > 15 else each.round(self.digits)
            return (objects.label[:, None] != np.arange(objects.n_classes)) * each[:, None]

    def problem_of(name: str) -> Problem:
        x, y = load(name)
        y = np.unique(y, return_inverse=True)[1].astype(np.int32)
        target = Target("y", Task.classification, y, tuple(map(str, range(int(y.max()) + 1))))
        return problem_of_bits(x, target, Parts(method=None, solver=Gosdt()))

    def objectives(lam: float, classes: int) -> dict[str, object]:
        costs = np.random.default_rng(0).integers(1, 4, (classes, classes))
        np.fill_diagonal(costs, 0)
        dearer = float(costs.sum() / (classes * (classes - 1)))
        return {
            "accuracy": Accuracy(lam=lam),
            "classes": CostMatrix(lam=round(lam * dearer, 4), costs=costs.tolist()),
            **{f"digits {k}": Own(lam=lam * 1.25, digits=k) for k in (1, 3)},
            "floats": Own(lam=lam * 1.25, digits=17),
        }

    lines, ratios = [], dict[str, list[float]]()
    for name in TABLES:
        base = problem_of(name)
        for lam, depth in ((0.02, None), (0.0, 3), (0.0, 4)):
            seconds = dict[str, list[float]]()
            states = {}
            asked = objectives(lam, base.objects.n_classes)
            for turn in range(REPEATS):
                for kind, objective in asked.items():
                    parts = attrs.evolve(
                        base.parts, objective=objective, stopping=(Standard(max_depth=depth),)
                    )
                    problem = attrs.evolve(base, parts=parts)
                    if turn == 0:
                        Gosdt().warm_up(problem, Context())
                    started = time.process_time()
                    found = Gosdt().solve(problem, Context(deadline=time.monotonic() + SECONDS))
                    seconds.setdefault(kind, []).append(time.process_time() - started)
                    states[kind] = found.status is Status.optimal
            middle = {kind: statistics.median(found) for kind, found in seconds.items()}
            if middle["accuracy"] < LEAST or not states["accuracy"]:
                continue
            cells = []
            for kind, value in middle.items():
                if kind != "accuracy" and states[kind]:
                    ratios.setdefault(kind, []).append(value / middle["accuracy"])
                cells.append(f"{1000 * value:.1f}" + ("" if states[kind] else " (open)"))
            what = f"λ = {lam:g}" if lam else f"depth {depth}"
            lines.append(f"| {name} | {what} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    kinds = list(asked)
    mean = [
        f"{statistics.geometric_mean(ratios[kind]):.2f} ({len(ratios[kind])})" for kind in kinds[1:]
    ]
    text = [
        "# Costs by object against errors",
        "",
        *(line for line in (__doc__ or "").strip().split("\n")[4:]),
        "",
        "| table | problem | " + " | ".join(f"{kind}, ms" for kind in kinds) + " |",
        "|" + "---|" * (2 + len(kinds)),
        *lines,
        "| geometric mean of the ratios to accuracy (problems) | | 1 | " + " | ".join(mean) + " |",
    ]
    (HERE / "costs_by_object.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
