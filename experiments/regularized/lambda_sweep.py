"""The trade-off λ of EC4.5 and ECART: validation AUC, expected height and tree size over the paper's grid (Figure 2).

    ARBORETUM_DATA=DATA_HOME python experiments/regularized/lambda_sweep.py [--datasets iris,letter] [--seeds 5] [--into FOLDER]

The study's protocol with unit prices, the score as the paper prints it (``variant=paper``) and as the authors' program has it
(``authors``); for EC4.5 the means of five runs are published, in published.json of the plugin's source.  Means over the
seeds.  Writes lambda_sweep.csv and lambda_sweep.svg (six panels, variant=paper); prints a line per data set.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np

from arboretum.api import Axis, Line, LineChart, Panels, charts
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.house import RegistryHouse
from arboretum_regularized.published import AUTHORS, PAPER, UNIT, published
from arboretum_regularized.study import Piece

LAMBDAS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
MEASURES = {"valid_roc_auc": "validation ROC AUC", "expected_height": "expected height", "n_nodes": "tree size (nodes)"}
ALGORITHMS = ("EC4.5", "ECART")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(published().datasets))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    house, rows, start = RegistryHouse(load_registry()), [], time.monotonic()
    names = arguments.datasets.split(",")
    for number, name in enumerate(names):
        found = sweep(house, name, arguments.seeds)
        rows += [(name, *key, *values) for key, values in found.items()]
        spent = time.monotonic() - start
        best = {a: max(LAMBDAS, key=lambda lam, a=a: found[PAPER, a, lam][0]) for a in ALGORITHMS}
        left = spent / (number + 1) * (len(names) - number - 1)
        print(f"{name}: highest validation AUC at λ = {best['EC4.5']:g} (EC4.5), {best['ECART']:g} (ECART);"
              f" {number + 1} of {len(names)}, about {left:.0f} s left", file=sys.stderr, flush=True)  # fmt: skip
    with (arguments.into / "lambda_sweep.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("dataset", "variant", "algorithm", "lam", *MEASURES))
        writer.writerows((*row[:4], *(f"{value:.6g}" for value in row[4:])) for row in rows)
    (arguments.into / "lambda_sweep.svg").write_text(charts.chart_svg(panels(rows)), encoding="utf-8")


def sweep(house: RegistryHouse, name: str, seeds: int) -> dict[tuple[str, str, float], np.ndarray]:
    """(variant, algorithm, λ) → float64[3], means over the seeds of the measures."""
    found: dict[tuple[str, str, float], list[tuple[float, float, float]]] = {}
    for seed in range(1, seeds + 1):
        for variant in (PAPER, AUTHORS):
            key = {"dataset": name, "seed": seed, "prices": UNIT, "variant": variant, "times": False}
            piece = Piece.of(house, key, 0)
            for algorithm in ALGORITHMS:
                for lam in LAMBDAS:
                    tree, _ = piece.grow(algorithm, lam)
                    numbers = (tree.auc(piece.lesson.valid), tree.expected_cost, tree.tree.n_nodes)
                    found.setdefault((variant, algorithm, lam), []).append(numbers)
    return {key: np.mean(values, axis=0) for key, values in found.items()}


def panels(rows: list[tuple]) -> Panels:
    """Figure 2: a row of panels per algorithm, one panel per measure, one line per data set."""
    names = list(dict.fromkeys(row[0] for row in rows))
    shown = []
    for algorithm in ALGORITHMS:
        for m, (measure, label) in enumerate(MEASURES.items()):
            lines = []
            for number, name in enumerate(names):
                own = [row for row in rows if row[:3] == (name, PAPER, algorithm)]
                lines.append(Line(name, [row[3] for row in own], [row[4 + m] for row in own], colour=number))
            axis = Axis(label, log=measure == "n_nodes")
            shown.append(LineChart(algorithm, lines, Axis("λ", log=True), axis))
    return Panels("The trade-off λ: validation AUC, expected height and tree size", shown, columns=3)


if __name__ == "__main__":
    main()
