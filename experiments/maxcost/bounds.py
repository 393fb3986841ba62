"""What the bounds of the exact search save, in subtables and seconds: writes bounds.csv and
bounds.md beside itself.

    ARBORETUM_DATA=… python experiments/maxcost/bounds.py [TABLE …]

Every table is solved with all bounds, without each, and without any, and by dynamic programming
over subtables, each within LIMIT seconds and two gigabytes; kernels are loaded before.  Seconds are
those of the whole solver, the least of three where one takes less than a second.
"""

from __future__ import annotations

import csv
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from arboretum.api import Context, LeafRule, Limits, Parts, Prices, Problem, Status, table
from arboretum_data.encoding.columns import BinTests, Categorical, Numeric
from arboretum_data.encoding.encoder import Coalesce, Missing, MultiwayEncoder
from arboretum_data.named import canonical
from arboretum_decision_tables.complexities import MaxCost, ZeroError
from arboretum_decision_tables.exact.solver import SubtableDP
from arboretum_maxcost.optimal.budgeted import pareto_step_function
from arboretum_maxcost.optimal.solver import MaxCostSolver

LIMIT = 4.0
TEXT = f"""Made by `python experiments/maxcost/bounds.py`.  Subtables visited / seconds of the whole
solver, kernels loaded before; in brackets where {LIMIT:g} seconds were not enough: subtables, and
the bound that was proven.  *No stars* leaves out the lemma on stars of objects, *no lemma* that on
whole subtables; *none* leaves out both."""
NINE = (
    "house-votes",
    "sonar",
    "ionosphere",
    "dna",
    "boston-quartile",
    "soybean",
    "pima",
    "wdbc",
    "mammography",
)
OTHERS = (
    "car",
    "tic-tac-toe",
    "monk1-full",
    "monk2-full",
    "monk3-full",
    "balance-scale",
    "dfep-synthetic",
)
TWO_WAY = ("monk1-full", "monk2-full", "monk3-full", "house-votes", "car", "tic-tac-toe")
KINDS: dict[str, dict[str, bool]] = {
    "Least maximum path cost without error: multiway tests, equal prices": {},
    "Least maximum path cost without error: multiway tests, whole prices from 1 to 10 at random": {
        "random_prices": True
    },
    "Least maximum path cost without error: two-way tests, equal prices": {"two_way": True},
}
FRONT = "Least errors by budget: multiway tests, equal prices"
CELLS = Path(__file__).with_suffix(".csv")
WAYS = {
    "all bounds": (),
    "no stars": ("stars",),
    "no lemma": ("lemma", "ahead"),
    "none": ("stars", "lemma", "ahead"),
}


class Pure:
    """The leaf rule."""

    kind = "stopping"
    name = "pure"

    def limits(self) -> Limits:
        return Limits()

    def leaf_rule(self) -> LeafRule:
        return LeafRule()


def problem_of(name: str, *, two_way: bool = False, random_prices: bool = False) -> Problem:
    """Zero error at the least maximum path cost; continuous columns in ten equal widths, duplicates
    merged, as in the paper.
    """
    data = canonical(name)
    tests = (
        (Categorical.onehot, BinTests.thresholds)
        if two_way
        else (Categorical.multiway, BinTests.multiway)
    )
    encoder = MultiwayEncoder(
        n_bins=10,
        missing=Missing.category,
        numeric=Numeric.equal_width_round,
        coalesce=Coalesce.one,
        categorical=tests[0],
        bin_tests=tests[1],
    )
    objects = encoder.encode(data, data, raw_thresholds=False, seed=0)
    n = int(objects.test_offset[-1])
    price = (
        np.random.default_rng(0).integers(1, 11, n).astype(np.float64)
        if random_prices
        else np.ones(n)
    )
    parts = Parts(method=None, objective=ZeroError(), complexity=MaxCost(), stopping=(Pure(),))
    return Problem(objects, Prices(price, np.ones(0)), parts)


def solved(solver: Any, problem: Problem) -> tuple[Any, float]:
    """(solution, least seconds)."""
    least = np.inf
    for _ in range(3):
        start = time.monotonic()
        found = solver.solve(problem, Context(deadline=start + LIMIT, memory_bytes=2_000_000_000))
        least = min(least, time.monotonic() - start)
        if least > 1.0:
            break
    return found, least


def row(name: str, **kind: bool) -> Iterator[str]:
    problem = problem_of(name, **kind)
    found = {}
    for way, without in WAYS.items():
        solver = MaxCostSolver(without=without)
        solver.warm_up(problem, Context())
        found[way] = solved(solver, problem)
    dp = SubtableDP()
    dp.warm_up(problem, Context(deadline=time.monotonic() + 60.0))
    found["subtable_dp"] = solved(dp, problem)
    optima = {one.value for one, _ in found.values() if one.status is Status.optimal}
    assert len(optima) <= 1, f"{name}: {optima}"
    best = found["all bounds"][0]
    yield f"{name}"
    yield f"{problem.objects.n_objects:,}"
    yield (
        f"{best.value:g}"
        if best.status is Status.optimal
        else f"{best.lower_bound:g} to {best.value:g}"
    )
    for one, seconds in found.values():
        proven = one.status is Status.optimal
        yield (
            f"{one.subproblems:,} / {seconds:.3g} s"
            if proven
            else f"({one.subproblems:,}, at {one.lower_bound:g})"
        )


def front(name: str) -> Iterator[str]:
    problem = problem_of(name)
    pareto_step_function(problem, Context(deadline=time.monotonic() + 1.0))
    start = time.monotonic()
    found = pareto_step_function(
        problem, Context(deadline=start + LIMIT, memory_bytes=2_000_000_000)
    )
    yield name
    yield ", ".join(f"{float(step.errors):g} at {float(step.budget):g}" for step in found.steps)
    yield "yes" if found.exact else f"no: from {float(found.lower[-1][0]):g} on only bounds"
    yield f"{found.subproblems:,}"
    yield f"{time.monotonic() - start:.2f}"


def rows_of(name: str) -> Iterator[list[str]]:
    """section, then the cells of its row."""
    for title, kind in KINDS.items():
        if not kind.get("two_way") or name in TWO_WAY:
            yield [title, *row(name, **kind)]
    yield [FRONT, *front(name)]


def main() -> None:
    """Solve the tables named on the command line (all without any); the others are those of the
    runs before.
    """
    kept = {}
    if CELLS.exists():
        with CELLS.open(newline="") as file:
            kept = {(one[0], one[1]): one for one in csv.reader(file)}
    for name in sys.argv[1:] or (*OTHERS, *NINE):
        for one in rows_of(name):
            print(*one, sep=" | ", flush=True)
            kept[one[0], one[1]] = one
    with CELLS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(kept.values())
    lines = ["# What the bounds of solver=max_cost save", "", TEXT, ""]
    for title in (*KINDS, FRONT):
        heads = (
            ["table", "errors at budget", "exact", "subtables", "seconds"]
            if title == FRONT
            else ["table", "objects", "optimum", *WAYS, "subtable_dp"]
        )
        cells = [kept[title, name][1:] for name in (*OTHERS, *NINE) if (title, name) in kept]
        lines += [
            f"## {title}",
            "",
            table.markdown_table([dict(zip(heads, one, strict=True)) for one in cells]),
            "",
        ]
    Path(__file__).with_suffix(".md").write_text(
        re.sub("\n\n\n+", "\n\n", "\n".join(lines)).rstrip() + "\n"
    )


if __name__ == "__main__":
    main()
