"""The sixteen greedy algorithms against the exact minimum on real categorical tables.

    python experiments/decision_tables/real_tables.py [TABLE …] [--seconds 60] [--memory-mb 2000]

One branch per value, a missing value is a value, all rows are taught, leaves have one decision (or
rows that nothing tells apart). Tables are those of the data home (ARBORETUM_DATA); without names,
all in TABLES.  Prints a line per table, and writes real_tables.csv and its pictures beside this
file (with names: into --into).  Every tree is verified as a run verifies it, and every optimal tree
is replayed.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from arboretum.api import ArboretumError
from arboretum.engine import verify
from arboretum.engine.certificate import certified
from arboretum.engine.run import Budget, fit, measure
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum.report.charts import chart_svg
from arboretum_decision_tables.complexities import COMPLEXITIES
from arboretum_decision_tables.exact.solver import SubtableDP
from arboretum_decision_tables.paper.heat_map import Grid
from arboretum_decision_tables.paper.published import ALGORITHMS, COST_NAMES, COSTS, MEASURES

TABLES = (
    "play-tennis",
    "monk1",
    "monk2",
    "monk3",
    "monk1-full",
    "monk2-full",
    "monk3-full",
    "balance-scale",
    "car",
    "tic-tac-toe",
    "house-votes",
    "soybean",
    "soybean-683",
    "dfep-synthetic",
    "car-gosdt",
    "bar-7",
    "compas-binary",
)
COLUMNS = (
    "table",
    "rows",
    "attributes",
    "algorithm",
    "cost",
    "value",
    "lower_bound",
    "best_known",
    "proven",
    "ratio_at_least",
    "ratio_at_most",
)


@attrs.frozen
class Line:
    """One algorithm and cost on one table.

    best : least value known of any tree.
    bound : proven of all trees.
    """

    table: str
    rows: int
    attributes: int
    algorithm: str
    cost: str
    value: float
    bound: float
    best: float

    @property
    def proven(self) -> bool:
        return self.bound >= self.best

    @property
    def at_least(self) -> float:
        """Value ÷ the least value known; NaN where that is 0."""
        return self.value / self.best if self.best > 0 else math.nan

    @property
    def at_most(self) -> float:
        """Value ÷ the proven bound; ∞ where nothing above 0 is proven, NaN where the minimum is
        0.
        """
        return self.value / self.bound if self.bound > 0 else math.nan if self.proven else math.inf

    def cells(self) -> list[Any]:
        numbers = [f"{x:.12g}" for x in (self.value, self.bound, self.best)]
        ratios = [f"{x:.6f}" for x in (self.at_least, self.at_most)]
        return [
            self.table,
            self.rows,
            self.attributes,
            self.algorithm,
            self.cost,
            *numbers,
            "yes" if self.proven else "no",
            *ratios,
        ]


def study(name: str, services: RegistryFactory, budget: Budget) -> tuple[list[Line], str]:
    """All lines of a table, and a sentence on how the minima were found.  Raises
    VerificationError.
    """
    complexities = [
        next(cls for cls in COMPLEXITIES if cls.name == cost)() for cost in COSTS.values()
    ]
    values, answers, said = {}, None, ""
    for algorithm in ALGORITHMS:
        choices = {"method": algorithm.replace("/", "_"), "dataset": name, "split": "none"}
        parts = services.parts(choices, {"encoder.missing": "category"})
        if answers is None:
            table = parts.dataset.load(0)
        fitted = fit(parts, table)
        tree, objects = fitted.solution.tree, fitted.problem.objects
        verify.check_tree(tree, objects, objects.table)
        if answers is None:
            start = time.perf_counter()
            answers = SubtableDP().minima(
                fitted.problem, complexities, budget.context(0, lambda *_: None)
            )
            said = f"{answers[0].subproblems:,} subtables in {time.perf_counter() - start:.1f} s"
        rule, metrics = parts.leaf_rule(), measure(tree, fitted, fitted.train)
        found = certified(complexities, answers, tree, fitted.problem, rule, metrics)
        values[algorithm] = [found[complexity.name] for complexity in complexities]
    lines = []
    for k, cost in enumerate(COSTS):
        best = min(found[k].best_known for found in values.values())
        bound = max(found[k].lower_bound for found in values.values())
        lines += [
            Line(
                name,
                table.n_rows,
                len(table.columns),
                a,
                cost,
                values[a][k].value,
                min(bound, best),
                best,
            )
            for a in ALGORITHMS
        ]
    open_costs = [
        cost for cost in COSTS if not all(line.proven for line in lines if line.cost == cost)
    ]
    return lines, said + (f"; not proven: {', '.join(open_costs)}" if open_costs else "")


def spoken(line: Line) -> str:
    """A ratio: "1.250", or between what it lies."""
    if line.proven:
        return (
            "–" if math.isnan(line.at_most) else "1" if line.at_most == 1 else f"{line.at_most:.3f}"
        )
    return f"≤ {line.at_most:.3f}"


def of_tables(lines: Sequence[Line], cost: str) -> Grid:
    """One cost: algorithm by table."""
    at = {(line.algorithm, line.table): line for line in lines if line.cost == cost}
    names = list(dict.fromkeys(line.table for line in lines))
    values = [[at[a, name].at_least for name in names] for a in ALGORITHMS]
    best = {
        (i, j)
        for j in range(len(names))
        for i in range(len(ALGORITHMS))
        if values[i][j] == min(row[j] for row in values)
    }
    spread = any(not at[a, name].proven for a in ALGORITHMS for name in names)
    return Grid(
        title=f"Greedy trees on real tables: {COST_NAMES[list(COSTS).index(cost)]}",
        subtitle="greedy ÷ exact minimum, one branch per value, all rows, leaves of one decision",
        rows=ALGORITHMS,
        columns=[
            f"{n}\n{at[ALGORITHMS[0], n].rows:,} × {at[ALGORITHMS[0], n].attributes}" for n in names
        ],
        values=values,
        texts=[[spoken(at[a, name]) for name in names] for a in ALGORITHMS],
        breaks=range(len(MEASURES), len(ALGORITHMS), len(MEASURES)),
        scales=[(1.0, max(1.01, *(row[j] for row in values))) for j in range(len(names))],
        framed=frozenset(best),
        legend="light: optimal, dark: worst of the column; framed: the best of a table",
        notes=("≤: only a bound of the minimum is proven; coloured by the least value known.",)
        if spread
        else (),
    )


def of_means(lines: Sequence[Line]) -> Grid:
    """Algorithm by cost: geometric mean over the tables whose five minima are all proven and
    above 0.
    """
    unproven = {line.table for line in lines if not line.proven or line.best == 0}
    kept = [line for line in lines if line.table not in unproven]
    names = list(dict.fromkeys(line.table for line in kept))
    logs = {
        (a, c): [math.log(x.at_most) for x in kept if (x.algorithm, x.cost) == (a, c)]
        for a in ALGORITHMS
        for c in COSTS
    }
    values = [
        [math.exp(math.fsum(logs[a, c]) / len(logs[a, c])) for c in COSTS] for a in ALGORITHMS
    ]
    order = [
        sorted(range(len(ALGORITHMS)), key=lambda i, j=j: values[i][j])[:2]
        for j in range(len(COSTS))
    ]
    return Grid(
        title="How much dearer than the optimum is a greedy tree on real tables?",
        subtitle=f"geometric mean of greedy ÷ exact minimum over {len(names)} tables",
        rows=ALGORITHMS,
        columns=[f"{cost}\n{name}" for cost, name in zip(COSTS, COST_NAMES, strict=True)],
        values=values,
        texts=[
            [
                f"{value:.3f}\noptimal on {sum(x == 0.0 for x in logs[a, c])} of {len(names)}"
                for value, c in zip(row, COSTS, strict=True)
            ]
            for a, row in zip(ALGORITHMS, values, strict=True)
        ],
        breaks=range(len(MEASURES), len(ALGORITHMS), len(MEASURES)),
        framed=frozenset((i, j) for j, best in enumerate(order) for i in best),
        legend="light: best of the column, dark: worst; framed: the best two of a cost",
        notes=(", ".join(names) + ".",),
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="of the data home; default: all in TABLES"
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="for the minima of a table (default 60)"
    )
    parser.add_argument(
        "--memory-mb", type=int, default=2000, help="for the minima of a table (default 2000)"
    )
    parser.add_argument(
        "--into",
        type=Path,
        help="folder of the output; default: this one if all tables are done, else none",
    )
    a = parser.parse_args(arguments)
    services, budget, lines = RegistryFactory(load_registry()), Budget(a.seconds, a.memory_mb), []
    start = time.process_time()
    try:
        for name in a.tables or TABLES:
            found, said = study(name, services, budget)
            lines += found
            worst = max(
                (line for line in found if line.proven), key=lambda line: line.at_most, default=None
            )
            most = f"; most: {worst.algorithm} {worst.cost} {worst.at_most:.3f}" if worst else ""
            print(
                f"{name:15}{found[0].rows:6,} × {found[0].attributes:<3} {said}{most}", flush=True
            )
    except ArboretumError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{time.process_time() - start:.0f} s of processor time")
    into = a.into or (None if a.tables else Path(__file__).parent)
    if into is not None:
        with (into / "real_tables.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([COLUMNS, *(line.cells() for line in lines)])
        (into / "real_tables.svg").write_text(chart_svg(of_means(lines)), encoding="utf-8")
        for cost in ("h_av", "L"):
            (into / f"real_tables_{cost}.svg").write_text(
                chart_svg(of_tables(lines, cost)), encoding="utf-8"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
