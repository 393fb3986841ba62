"""Oblivious and fuzzy growth on 100,000 × 20 float32 columns against a crisp tree of the same size.

    python experiments/benchmarks/oblivious_and_fuzzy.py [TABLE.md]

Goal: at most 3 × the time of the crisp tree.  Size is held equal by the same depth, 6, and by the
same number of leaves where trees are cut to 32: the crisp and fuzzy ones by ``max_leaves`` with
``order=best``, the oblivious one by five full levels, at most 32.  All run on one thread and take
turns; the least of several, compilation apart.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
from greedy_tables import noisy_xor, one_thread, pure_noise, raw_problem, two_ands

from arboretum.api import Context, LeafRule, Limits, Problem, Solution, Task, grow, table

ROWS, COLUMNS, DEPTH, LEAVES, REPEATS = 100_000, 20, 6, 32, 5


@attrs.frozen
class Leaves:
    """A leaf rule: at most so many leaves."""

    most: int

    def limits(self) -> Limits:
        return Limits(max_leaves=self.most)

    def is_leaf(self, node: object) -> bool:
        return False

    def leaf_rule(self) -> LeafRule:
        return LeafRule()


def problems() -> dict[str, Problem]:
    """Tables that differ in what there is to find."""
    from arboretum_classic.criteria.criteria import Reduction
    from arboretum_classic.criteria.impurities import Gini, Variance

    drawn = {
        "two ANDs": two_ands(ROWS, COLUMNS),
        "noisy XOR": noisy_xor(ROWS, COLUMNS),
        "pure noise": pure_noise(ROWS, COLUMNS),
        "pure noise, 3 classes": pure_noise(ROWS, COLUMNS, classes=3),
    }
    found = {name: raw_problem(x, y, Reduction(), Gini(), DEPTH) for name, (x, y) in drawn.items()}
    x, y = drawn["two ANDs"]
    number = y + x[:, 4] + np.random.default_rng(1).normal(0.0, 0.3, ROWS)
    plain = raw_problem(x, y, Reduction(), Variance(), DEPTH)
    target = attrs.evolve(
        plain.objects.table.target, task=Task.regression, codes=None, classes=(), values=number
    )
    objects = attrs.evolve(
        plain.objects, table=attrs.evolve(plain.objects.table, target=target), label=None, y=number
    )
    return {**found, "two ANDs, a number": attrs.evolve(plain, objects=objects)}


def fits(problem: Problem, cut: bool) -> dict[str, Callable[[], Solution]]:
    """Method → a call that grows its tree, warmed up.

    cut : to LEAVES leaves, else to DEPTH levels.
    """
    from arboretum_classic.fuzzy.method import Order, SoftSplits
    from arboretum_classic.oblivious.method import Oblivious

    order = "best" if cut else "depth"
    held = (
        attrs.evolve(problem, parts=attrs.evolve(problem.parts, stopping=(Leaves(LEAVES),)))
        if cut
        else problem
    )
    methods = {"oblivious": Oblivious(levels=5 if cut else DEPTH)}
    for name, fields in {
        "fuzzy, width 0": {"width": 0.0},
        "fuzzy, width 0.1 sd": {"width": 0.1},
        "fuzzy, learned": {},
    }.items():
        methods[name] = SoftSplits(order=Order(order), **fields)
    found: dict[str, Callable[[], Solution]] = {"crisp": lambda: grow(held, Context(), order=order)}
    for name, method in methods.items():
        own = attrs.evolve(held, parts=attrs.evolve(held.parts, method=method))
        found[name] = lambda method=method, own=own: method.fit(own, Context())
    for fit in found.values():
        fit()
    return found


def main(file: str | None = None) -> None:
    one_thread()
    rows = []
    for name, problem in problems().items():
        for cut in (False, True):
            calls, best, leaves = fits(problem, cut), {}, {}
            for _ in range(REPEATS):
                for method, call in calls.items():
                    start = time.perf_counter()
                    leaves[method] = call().tree.n_leaves
                    best[method] = min(best.get(method, np.inf), time.perf_counter() - start)
            size = f"{LEAVES} leaves" if cut else f"depth {DEPTH}"
            row = {
                "table": name,
                "size": size,
                "crisp, ms": round(best["crisp"] * 1e3),
                "crisp leaves": leaves["crisp"],
            }
            for method in list(calls)[1:]:
                row |= {
                    f"{method}, ×": round(best[method] / best["crisp"], 2),
                    f"{method}, leaves": leaves[method],
                }
            rows.append(row)
            print(row, flush=True)
    if file:
        Path(file).write_text(
            f"# The cost of oblivious and fuzzy trees\n\n{table.markdown_table(rows)}",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
