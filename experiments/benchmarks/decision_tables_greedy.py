"""The sixteen greedy algorithms on random decision tables (50 rows, 10 attributes, values 0, 1, 2):
µs per tree and table.

    python experiments/benchmarks/decision_tables_greedy.py [TABLES]

Prints the time of one tree of each algorithm inside bulk growth, what growing and checking all
sixteen trees of a table costs, the making of the table, and one tree through ``engine.fit`` by the
kernel and by the loop.  Processor time of this thread, the best of five passes: other work on the
machine disturbs that least.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import attrs

from arboretum.api import bulk
from arboretum.engine.run import fit
from arboretum.engine.search.growth import Growth
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry

KINDS, MEASURES = ("max", "sum", "w_max", "w_sum"), ("ent", "gini", "me", "rt")
PER_JUDGE = ("names", "batch", "impurity_at", "params", "column_at")
NAMES = [f"{kind}_{measure}" for kind in KINDS for measure in MEASURES]


def best(work: Callable[[], object], times: int = 5) -> float:
    """Least processor time of the work, seconds."""
    found = []
    for _ in range(times):
        start = time.thread_time()
        work()
        found.append(time.thread_time() - start)
    return min(found)


def main(n_tables: int) -> None:
    registry = load_registry()
    parts = {
        n: assemble(registry, {"method": n}, without=("dataset", "split", "tracker")) for n in NAMES
    }
    generator = registry.get("dataset", "random_table").cls()
    start = time.perf_counter()
    layout = bulk.multiway_layout([generator.n_values] * generator.n_columns)
    judges = bulk.Judges.of(
        [(p.criterion, p.impurity) for p in parts.values()], generator.n_classes
    )
    objects = [
        bulk.Objects(layout, *generator.cells(seed), generator.n_classes)
        for seed in range(n_tables)
    ]
    forests = [bulk.grow_many(o, judges) for o in objects]
    assert all((bulk.check(f, o) == 0).all() for f, o in zip(forests, objects, strict=True)), (
        "some leaf is not pure"
    )
    print(
        f"compiled or loaded in {time.perf_counter() - start:.2f} s; {n_tables} tables, each "
        "tree pure and checked\n"
    )

    nodes = sum(len(f.feature) for f in forests) / n_tables / len(NAMES)
    print(f"µs per tree ({nodes:.1f} nodes on average), alone in a call:")
    for k, name in enumerate(NAMES):
        one = attrs.evolve(judges, **{each: getattr(judges, each)[k : k + 1] for each in PER_JUDGE})
        seconds = best(lambda one=one: [bulk.grow_many(o, one) for o in objects])
        print(f"  {name:12}{seconds / n_tables * 1e6:8.1f}", end="\n" if k % 4 == 3 else "")

    draw = best(
        lambda: [
            bulk.Objects(layout, *generator.cells(s), generator.n_classes) for s in range(n_tables)
        ]
    )
    grow = best(lambda: [bulk.grow_many(o, judges) for o in objects])
    check = best(lambda: [bulk.check(f, o) for f, o in zip(forests, objects, strict=True)])
    print("\nµs per table:")
    found = {
        "drawn": draw,
        "16 trees grown": grow,
        "16 trees checked": check,
        "all": draw + grow + check,
    }
    for what, seconds in found.items():
        print(f"  {what:18}{seconds / n_tables * 1e6:8.1f}")

    tables = [generator.load(seed) for seed in range(min(10, n_tables))]
    own = parts["sum_rt"]
    fast = best(lambda: [fit(own, table) for table in tables])
    use = Growth.use_subtrees
    Growth.use_subtrees = lambda self: None
    slow = best(lambda: [fit(own, table) for table in tables])
    Growth.use_subtrees = use
    fast, slow = fast / len(tables) * 1e3, slow / len(tables) * 1e3
    print(f"\none tree through engine.fit: {fast:.2f} ms by the kernel, {slow:.2f} by the loop")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
