"""Look for the smallest table on which one greedy algorithm loses to another by the largest factor.

    python experiments/decision_tables/miner.py max/gini w_sum/gini depth --tables 20000 --rows 12 --columns 5

Algorithms: max, sum, w_max, w_sum / ent, gini, me, rt.  Complexities: depth, total_path_length, n_nodes, n_internal, n_leaves.
Prints the table, both trees, an optimal tree and the proven minimum; ``--csv FILE`` keeps the table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from arboretum.api import ArboretumError
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.component_factory import RegistryFactory
from arboretum_decision_tables.miner import Search, csv_of, mine, report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loser")
    parser.add_argument("winner")
    parser.add_argument("complexity")
    for name, default, meaning in (
        ("tables", 20_000, "random tables to draw"), ("rows", 12, "rows of a table, at most"), ("columns", 5, "attributes, at most"),
        ("values", 2, "values of an attribute"), ("classes", 2, "decisions"), ("seed", 0, "of the tables"),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{meaning} (default {default})")
    parser.add_argument("--csv", type=Path, help="file to keep the table in")
    a = parser.parse_args(arguments)

    def progress(done: int, message: str) -> None:
        if sys.stderr.isatty() or done == a.tables:
            print(f"\r{done:,} of {a.tables:,} tables: {message}", end="\n" if done == a.tables else "", file=sys.stderr, flush=True)

    try:
        search = Search(a.loser, a.winner, a.complexity, a.tables, a.rows, a.columns, a.values, a.classes, a.seed)
        found = mine(search, RegistryFactory(load_registry()), progress)
    except ArboretumError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if found is None:
        print(f"{a.loser} never lost to {a.winner} on {a.tables:,} tables; draw more, or larger ones")
        return 1
    print(report(found), end="")
    if a.csv:
        a.csv.write_text(csv_of(found.table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
