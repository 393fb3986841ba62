"""Costs of rows, policies and survival times: the same optimum as STreeD's, and the ratio of times.

    ARBORETUM_PEERS=…/bin/python ARBORETUM_BENCH=… ARBORETUM_DATA=… \\
        python experiments/benchmarks/objectives/against_streed.py

Columns of 0 and 1 of the race's tables, with targets drawn for each objective; depths 2, 3 and 4,
no price of a leaf.  Both get the same numbers: costs by label of each row; for policies the action,
outcome, propensity and expected outcomes (STreeD makes doubly robust scores of them, ours are the
same); times and events.  Values are counted here from the predicted labels, or leaves.  Seconds of
the processor of fit, ours without loading kernels; 60 s.  The table is against_streed.md beside
this file.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import attrs
import numpy as np

HERE = Path(__file__).parent
TABLES = ("monk1@onehot", "car-gosdt@binary", "compas-binary@binary", "anneal@binary")
DEPTHS, LIMIT = (2, 3, 4), 60.0

PEER = r"""
import json
import sys
import time

import numpy as np
import pystreed

given = np.load(sys.argv[1])
kind, depth, limit = sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
x, more = given["x"], {"max_depth": depth, "time_limit": limit}
more["use_terminal_solver"] = sys.argv[5] == "terminal"
kept = pystreed.STreeDSurvivalAnalysis._compute_baseline_cumulative_hazard_function
pystreed.STreeDSurvivalAnalysis._compute_baseline_cumulative_hazard_function = (
    lambda model, events, times: kept(model, [int(event) for event in events], times)
)  # it indexes lists by numpy.bool
kinds = {
    "costs": pystreed.STreeDInstanceCostSensitiveClassifier,
    "policy": pystreed.STreeDPrescriptivePolicyGenerator,
    "survival": pystreed.STreeDSurvivalAnalysis,
}
model, y = kinds[kind](**more), given[kind] if kind != "survival" else None
if kind == "survival":
    pairs = zip(given["event"].astype(bool).tolist(), given["time"].tolist())
    y = np.array(list(pairs), dtype=[("event", bool), ("time", np.float64)])
started = time.process_time()
model.fit(x, y)
answer = {"seconds": time.process_time() - started}
if kind == "survival":
    answer["leaves"] = [str(one) for one in np.asarray(model.predict(x)).tolist()]
else:
    answer["said"] = np.asarray(model.predict(x)).astype(int).tolist()
print(json.dumps(answer))
"""


def drawn(x: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """Targets of all three kinds, that depend on a few columns."""
    generator, n = np.random.default_rng(seed), len(x)
    chosen = generator.permutation(x.shape[1])[:4]
    some = x[:, chosen].astype(float)
    signal = some[:, 0] * some[:, 1] + some[:, 2] - some[:, 3]
    costs = np.stack(
        [generator.uniform(0, 1, n) + signal, generator.uniform(0, 1, n) + 0.5], axis=1
    )
    action = generator.integers(0, 2, n)
    outcome = (signal * action + generator.normal(size=n)).round(3)
    expected = np.stack([np.zeros(n), signal * 0.8], axis=1).round(3)
    hazard = np.exp(signal)
    span = np.maximum(generator.exponential(1 / hazard).round(3), 0.001)
    return {
        "x": x.astype(np.int32),
        "costs": costs.round(2),
        "policy": np.column_stack([action, outcome, np.full(n, 0.5), expected]),
        "time": span,
        "event": (generator.random(n) < 0.7).astype(float),
    }


def asked(peer, path, kind, depth, problem, costs, terminal="terminal"):
    """Return STreeD's seconds, and the value of its tree as it is counted here; None, None where it
    fails.
    """
    done = subprocess.run(
        [peer, "-c", PEER, str(path), kind, str(depth), str(LIMIT), terminal],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(kind, depth, done.stderr.strip().splitlines()[-1:])
        return None, None
    answer = json.loads(done.stdout.splitlines()[-1])
    if kind != "survival":
        label = np.array(answer["said"])
        return answer["seconds"], float(costs[np.arange(len(costs)), label].mean())
    # rows of one prediction are a leaf, or leaves alike
    codes = np.unique(answer["leaves"], return_inverse=True)[1]
    objective = problem.parts.objective
    moments = objective.moments(problem.objects)
    sums = np.zeros((codes.max() + 1, moments.shape[1]))
    np.add.at(sums, codes, moments)
    return answer["seconds"], float(objective.leaf(sums).sum()) / len(moments)


def main() -> None:
    """Run both in turns, and write the table."""
    sys.path.insert(0, str(HERE.parent / "solvers"))
    from suites import load, problem_of_bits

    from arboretum.api import EVENT, AdditiveObjective, Context, Parts, Status, Target, Task
    from arboretum_basics.stopping import Standard
    from arboretum_gosdt.solvers.gosdt import Gosdt
    from arboretum_gosdt.sums.solver import LeafSums
    from arboretum_survival.objective import Survival

    @attrs.frozen(eq=False)
    class Given(AdditiveObjective):
        name = "given"
        table: np.ndarray = attrs.field(default=None)

        def costs(self, problem):
            return self.table[: problem.objects.n_objects]

    def problem_of(given, kind, costs, depth):
        x = given["x"]
        if kind == "survival":
            target, roles = (
                Target("t", Task.regression, values=given["time"]),
                {EVENT: given["event"]},
            )
            objective, solver = Survival(lam=0.0), LeafSums()
        else:
            label = np.arange(len(x), dtype=np.int32) % 2
            target, roles = Target("y", Task.classification, label, ("0", "1")), {}
            objective, solver = Given(lam=0.0, table=costs), Gosdt()
        parts = Parts(
            method=None, solver=solver, objective=objective, stopping=(Standard(max_depth=depth),)
        )
        return problem_of_bits(x, target, parts, roles), solver

    peer, lines, ratios = os.environ["ARBORETUM_PEERS"].split(os.pathsep)[0], [], dict[str, list]()
    with tempfile.TemporaryDirectory() as folder:
        for name in TABLES:
            x, _ = load(name)
            given = drawn(x)
            path = Path(folder) / "given.npz"
            np.savez(path, **given)
            action, outcome, likely = given["policy"][:, :3].T
            scores = given["policy"][:, 3:].copy()
            rows = np.arange(len(x))
            taken = action.astype(int)
            scores[rows, taken] += (outcome - scores[rows, taken]) / likely
            tables = {"costs": given["costs"], "policy": -scores, "survival": None}
            for kind, costs in tables.items():
                for depth in DEPTHS:
                    problem, solver = problem_of(given, kind, costs, depth)
                    if hasattr(solver, "warm_up"):
                        solver.warm_up(problem, Context())
                    started = time.process_time()
                    found = solver.solve(problem, Context(deadline=time.monotonic() + LIMIT))
                    ours = time.process_time() - started
                    theirs, value = asked(peer, path, kind, depth, problem, costs)
                    other = ""
                    if value is not None and value > found.value + 1e-6:
                        _, again = asked(peer, path, kind, depth, problem, costs, "none")
                        other = "" if again is None else f"{again:.6g}"
                    ratio = theirs / ours if theirs is not None else float("nan")
                    if theirs is not None:
                        ratios.setdefault(kind, []).append(ratio)
                    lines.append(
                        f"| {name} | {kind} | {depth} | {found.value:.6g} | "
                        f"{'proven' if found.status is Status.optimal else 'open'} | "
                        f"{1000 * ours:.1f} | {'' if value is None else f'{value:.6g}'} | "
                        f"{'' if theirs is None else f'{1000 * theirs:.1f}'} | {ratio:.2f} | "
                        f"{other} |"
                    )
                    print(lines[-1], flush=True)
    means = ", ".join(
        f"{kind} {statistics.geometric_mean(r):.2f} ({len(r)})" for kind, r in ratios.items()
    )
    text = [
        "# Costs of rows, policies and survival times against STreeD",
        "",
        *(__doc__ or "").strip().split("\n")[5:],
        "",
        "| table | objective | depth | ours | | ms | STreeD's tree | ms | their time ÷ ours | "
        "theirs without its terminal solver, where it was worse |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *lines,
        "",
        f"Geometric means of the ratios (problems): {means}.",
    ]
    (HERE / "against_streed.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
