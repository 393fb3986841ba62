"""How far greedy trees are from the minimum, against the number of rows and attributes of random
tables.

    python experiments/decision_tables/shapes.py [--tables 50] [--memory-mb 1000] [--into FOLDER]

Random tables as in the paper (values and decisions uniform on {0, 1, 2}, equal rows merged) of 10
to 200 rows and 5 to 15 attributes.  Per shape, algorithm and cost: the mean of (greedy − minimum) /
minimum over the tables whose minimum is proven within --memory-mb (not seconds, so that every
machine gives the same numbers).  A shape with a table that is not is marked, for its mean is over
easier tables; after the third such table the rest of the shape is left out.  Prints a line per
shape; writes shapes.csv and its pictures.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import attrs
import numpy as np

from arboretum.api import Problem, Status, bulk
from arboretum.engine.run import Budget
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum.report.charts import chart_svg
from arboretum_decision_tables.complexities import COMPLEXITIES
from arboretum_decision_tables.exact.solver import SubtableDP
from arboretum_decision_tables.paper.heat_map import Grid
from arboretum_decision_tables.paper.published import ALGORITHMS, COST_NAMES, COSTS
from arboretum_decision_tables.paper.study import Study

ROWS, ATTRIBUTES = (10, 20, 30, 50, 75, 100, 150, 200), (5, 7, 10, 12, 15)
VALUES = CLASSES = 3
IN_BULK = 64
"""Rows up to which the kernel for many small tables solves them."""
GIVE_UP = 3
SHOWN = ("w_sum/gini", "sum/rt", "max/rt")
"""Algorithms that the pictures show: the paper's best of some cost."""


@attrs.frozen(eq=False)
class Shape:
    """relative : float64[proven, 16, 5].

    left_out : tables not proven within the budget.
    skipped : not tried.
    single : one decision.
    """

    rows: int
    attributes: int
    relative: np.ndarray
    left_out: int
    skipped: int
    single: int
    seconds: float

    @property
    def mean(self) -> np.ndarray:
        return self.relative.mean(axis=0)

    @property
    def error(self) -> np.ndarray:
        """Standard error of the mean."""
        return self.relative.std(axis=0, ddof=1) / np.sqrt(len(self.relative))

    @property
    def enough(self) -> bool:
        return len(self.relative) > 1


def study(
    services: RegistryFactory, rows: int, attributes: int, tables: int, memory_mb: int
) -> Shape:
    """Tables with seeds 0, 1, … of this shape.  Raises VerificationError when a tree is not what
    was said of it.
    """
    shape = {"n_rows": rows, "n_columns": attributes, "n_values": VALUES, "n_classes": CLASSES}
    dataset, exact = (
        services.component("dataset", "random_table", shape),
        Study(services, VALUES, attributes, CLASSES),
    )
    relative, left_out, single, start, tried = [], 0, 0, time.perf_counter(), 0
    for seed in range(tables):
        tried += 1
        codes, label = dataset.cells(seed)
        if (label == label[0]).all():
            single += 1
            continue
        if rows <= IN_BULK:
            relative.append(
                exact.of(np.ascontiguousarray(codes, np.uint8), label.astype(np.uint8)).relative
            )
            continue
        least = minima(services, dataset, seed, memory_mb)
        if least is None:
            left_out += 1
            if left_out == GIVE_UP:
                break
            continue
        objects = bulk.Objects(exact.layout, codes, label, CLASSES)
        forest = bulk.grow_many(objects, exact.judges, exact.stopping)
        assert not bulk.check(forest, objects).any(), "some leaf has two decisions"
        greedy = forest.measures[:, [bulk.MEASURES.index(name) for name in COSTS.values()]]
        assert (greedy >= least).all(), "a greedy tree costs less than the minimum"
        relative.append((greedy - least) / least)
    found = np.array(relative).reshape(-1, len(ALGORITHMS), len(COSTS))
    return Shape(
        rows, attributes, found, left_out, tables - tried, single, time.perf_counter() - start
    )


def minima(
    services: RegistryFactory, dataset: object, seed: int, memory_mb: int
) -> np.ndarray | None:
    """float64[5], proven; None if memory runs out."""
    table, parts = dataset.load(seed), services.parts({"method": "sum_rt"})
    objects = parts.encoder.encode(table, table, raw_thresholds=False, seed=0)
    problem = Problem(objects, parts.cost.price_list(objects, 0), parts)
    by_name = {cls.name: cls() for cls in COMPLEXITIES}
    context = Budget(None, memory_mb).context(0, lambda *_: None)
    found = SubtableDP().minima(problem, [by_name[name] for name in COSTS.values()], context)
    return (
        np.array([s.value for s in found])
        if all(s.status is Status.optimal for s in found)
        else None
    )


def picture(shapes: Mapping[tuple[int, int], Shape], cost: str) -> Grid:
    """One cost: a block of rows per algorithm, each attribute number a line, the numbers of
    table rows as columns.
    """
    k, lines = list(COSTS).index(cost), [(a, m) for a in SHOWN for m in ATTRIBUTES]

    def value(line: tuple[str, int], n: int) -> float:
        shape = shapes[n, line[1]]
        return float(shape.mean[ALGORITHMS.index(line[0]), k]) if shape.enough else float("nan")

    def text(line: tuple[str, int], n: int) -> str:
        shape = shapes[n, line[1]]
        if not shape.enough:
            return "not proven"
        return f"{100 * value(line, n):.1f} %" + ("*" if shape.left_out else "")

    values = [[value(line, n) for n in ROWS] for line in lines]
    top, marked = float(np.nanmax(values)), any(shape.left_out for shape in shapes.values())
    return Grid(
        title=f"How much dearer than the optimum, by the size of the table: {COST_NAMES[k]}",
        subtitle=(
            "mean of (greedy − minimum) / minimum over random tables with values and "
            "decisions in {0, 1, 2}"
        ),
        rows=[f"{a}, {m} attributes" for a, m in lines],
        columns=[f"{n} rows" for n in ROWS],
        values=values,
        texts=[[text(line, n) for n in ROWS] for line in lines],
        breaks=range(len(ATTRIBUTES), len(lines), len(ATTRIBUTES)),
        scales=[(0.0, top)] * len(ROWS),
        legend="light: 0, dark: the largest of the picture",
        notes=(
            "not proven, *: all or some of the tables drawn had too many subtables for the budget.",
        )
        if marked
        else (),
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=50, help="per shape (default 50)")
    parser.add_argument(
        "--memory-mb", type=int, default=1000, help="for the minima of one table (default 1000)"
    )
    parser.add_argument(
        "--into", type=Path, default=Path(__file__).parent, help="folder of the output"
    )
    a = parser.parse_args(arguments)
    services, shapes = RegistryFactory(load_registry()), {}
    for n in ROWS:
        for m in ATTRIBUTES:
            shape = shapes[n, m] = study(services, n, m, a.tables, a.memory_mb)
            said = (
                f"w_sum/gini h_av {100 * shape.mean[ALGORITHMS.index('w_sum/gini'), 0]:.2f} %"
                if shape.enough
                else "–"
            )
            counts = (
                f"{len(shape.relative)} proven, {shape.left_out} not, {shape.skipped} left out, "
                f"{shape.single} of one decision"
            )
            print(f"{n:4} × {m:<3} {counts}; {said}; {shape.seconds:.1f} s", flush=True)
    with (a.into / "shapes.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [
                "rows",
                "attributes",
                "algorithm",
                "cost",
                "mean",
                "standard_error",
                "proven",
                "not_proven",
                "skipped",
                "single",
            ]
        )
        for (n, m), shape in shapes.items():
            for i, algorithm in enumerate(ALGORITHMS if shape.enough else ()):
                for k, cost in enumerate(COSTS):
                    numbers = [f"{x[i, k]:.6f}" for x in (shape.mean, shape.error)]
                    writer.writerow(
                        [
                            n,
                            m,
                            algorithm,
                            cost,
                            *numbers,
                            len(shape.relative),
                            shape.left_out,
                            shape.skipped,
                            shape.single,
                        ]
                    )
    for cost in ("h_av", "L"):
        (a.into / f"shapes_{cost}.svg").write_text(
            chart_svg(picture(shapes, cost)), encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
