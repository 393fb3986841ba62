"""Branch and bound of the decision-table solver on real tables, against the whole graph where that
ends.

Run from the repository with the data home given:

    ARBORETUM_DATA=FOLDER python experiments/benchmarks/branch_and_bound.py [--seconds 10 60]
        [--tables NAME …] [--complexity average_depth …]

Prints, for tables that are solved, seconds and subtables visited beside those of the graph; for the
large ones what is known when the seconds are over: value, proven lower bound, gap, subtables, bytes
of the search's arrays and growth of the process.  The kernels are compiled before the clock starts.
"""

from __future__ import annotations

import argparse
import resource
import time

from arboretum.api import Context, Parts, Problem
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum_decision_tables.complexities import COMPLEXITIES
from arboretum_decision_tables.exact import graph
from arboretum_decision_tables.exact.search import minimise_complexity
from arboretum_decision_tables.exact.space import Space, space_of

SMALL = ("car", "tic-tac-toe", "house-votes", "soybean-683")
LARGE = ("dna", "phishing-websites", "fico-binary")
BYTES = 4_000_000_000


def space(name: str) -> Space:
    """All rows, multiway tests at price 1, leaves of one class; a missing value is a value of
    its own.
    """
    registry = load_registry()
    table = build(registry.get("dataset", name), {}).load(0)
    encoder = build(registry.get("encoder", "multiway"), {"missing": "category"})
    objects = encoder.encode(table, table, raw_thresholds=False, seed=0)
    prices = build(registry.get("cost", "unit"), {}).price_list(objects, 0)
    return space_of(
        Problem(
            objects,
            prices,
            Parts(method=None, stopping=(build(registry.get("stopping", "pure"), {}),)),
        )
    )


def megabytes() -> float:
    """Largest resident size of the process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[10.0, 60.0])
    parser.add_argument("--tables", nargs="+", default=[*SMALL, *LARGE])
    parser.add_argument("--complexity", nargs="+", default=["average_depth"])
    options = parser.parse_args()
    classes = {cls.name: cls for cls in COMPLEXITIES}
    for name in options.tables:
        given = space(name)
        for complexity in (classes[text] for text in options.complexity):
            scale = given.total_mass if complexity.per_object else 1.0
            minimise_complexity(given, complexity.FORM, Context(deadline=time.monotonic() + 0.01))
            if name in SMALL:
                graph.build_graph(given, Context(deadline=time.monotonic() + 0.01))
            for seconds in options.seconds:
                before, start = megabytes(), time.monotonic()
                found = minimise_complexity(
                    given, complexity.FORM, Context(deadline=start + seconds, memory_bytes=BYTES)
                )
                took = time.monotonic() - start
                value, bound = found.value / scale, found.lower_bound / scale
                print(
                    f"{name:18s} {complexity.name:14s} {took:8.3f} s  value {value:9.4f}  "
                    f"bound {bound:9.4f}  gap {value - bound:8.4f} "
                    f"({(value - bound) / value:6.2%})  subtables {found.subproblems:8,} "
                    f"opened {found.opened:8,}  "
                    f"arrays {found.peak_bytes / 1e6:6.1f} MB, process "
                    f"+{megabytes() - before:.0f} MB",
                    flush=True,
                )
                if found.solved:
                    break
        if name in SMALL:
            start = time.monotonic()
            known = graph.build_graph(given, Context(deadline=start + 120.0, memory_bytes=BYTES))
            ended = "whole graph" if known.finished else f"graph, stopped by {known.stopped}"
            print(
                f"{name:18s} {ended}: {known.n_nodes:,} subtables that are no leaves in "
                f"{time.monotonic() - start:.3f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
