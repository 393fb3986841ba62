"""The trade-off λ of EC4.5 and ECART: validation AUC, expected height and tree size over the paper's grid (Figure 2).

    ARBORETUM_DATA=DATA_HOME python experiments/regularized/lambda_sweep.py [--datasets iris,letter] [--seeds 5] [--into FOLDER]

The study's protocol with unit prices, the score as the paper prints it (``variant=paper``) and as the authors' program has it
(``authors``).  Of EC4.5 means of five runs are published, for every data set and λ: they stand beside ours in the authors'
variant and are judged as the study judges its cells, within 4 s √(1/r + 1/5).  Writes lambda_sweep.csv (means and standard
deviations over the seeds), lambda_sweep.txt (the judged cells) and lambda_sweep.svg (six panels, variant=paper); prints a
line per data set.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from arboretum.api import Axis, Cell, Line, LineChart, Panels, Verdict, charts
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.house import RegistryHouse
from arboretum_regularized.judging import LIMIT
from arboretum_regularized.published import AUTHORS, PAPER, UNIT, published
from arboretum_regularized.study import Piece

LAMBDAS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
MEASURES = ("valid_roc_auc", "roc_auc", "expected_cost", "n_nodes")
SHOWN = {"valid_roc_auc": "validation ROC AUC", "expected_cost": "expected height", "n_nodes": "tree size (nodes)"}
JUDGED = {"valid_roc_auc": ("validation AUC", "roc_auc"), "expected_cost": ("expected cost", "expected_cost")}
"""Measure here → its name, and the published measure."""
ALGORITHMS = ("EC4.5", "ECART")
Found = Mapping[tuple[str, str, float], np.ndarray]
"""(variant, algorithm, λ) → float64[seeds, measures]."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(published().datasets))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    house, found, start = RegistryHouse(load_registry()), {}, time.monotonic()
    names = arguments.datasets.split(",")
    for number, name in enumerate(names):
        found[name] = sweep(house, name, arguments.seeds)
        spent = time.monotonic() - start
        best = {a: max(LAMBDAS, key=lambda lam, a=a: found[name][PAPER, a, lam][:, 0].mean()) for a in ALGORITHMS}
        left = spent / (number + 1) * (len(names) - number - 1)
        print(f"{name}: highest validation AUC at λ = {best['EC4.5']:g} (EC4.5), {best['ECART']:g} (ECART);"
              f" {number + 1} of {len(names)}, about {left:.0f} s left", file=sys.stderr, flush=True)  # fmt: skip
    with (arguments.into / "lambda_sweep.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("dataset", "variant", "algorithm", "lam", *(m + end for m in MEASURES for end in ("", "_sd"))))
        for name, values in found.items():
            for key, numbers in values.items():
                both = zip(numbers.mean(axis=0), numbers.std(axis=0, ddof=1), strict=True)
                writer.writerow((name, *key, *(f"{value:.6g}" for pair in both for value in pair)))
    (arguments.into / "lambda_sweep.svg").write_text(charts.chart_svg(panels(found)), encoding="utf-8")
    text = "\n".join(report(judged(found))) + "\n"
    (arguments.into / "lambda_sweep.txt").write_text(text, encoding="utf-8")
    print(text, end="")


def sweep(house: RegistryHouse, name: str, seeds: int) -> Found:
    """All values of λ, on splits of the seeds 1 to ``seeds``."""
    found: dict[tuple[str, str, float], list[tuple[float, ...]]] = {}
    for seed in range(1, seeds + 1):
        for variant in (PAPER, AUTHORS):
            key = {"dataset": name, "seed": seed, "prices": UNIT, "variant": variant, "times": False}
            piece = Piece.of(house, key, 0)
            for algorithm in ALGORITHMS:
                for lam in LAMBDAS:
                    tree, _ = piece.grow(algorithm, lam)
                    valid, test = piece.auc(tree, piece.lesson.valid), piece.auc(tree, piece.lesson.test)
                    numbers = (valid, test, tree.expected_cost, tree.tree.n_nodes)
                    found.setdefault((variant, algorithm, lam), []).append(numbers)
    return {key: np.array(values, float) for key, values in found.items()}


def judged(found: Mapping[str, Found]) -> list[Cell]:
    """EC4.5 in the authors' variant beside the published means; none where all splits agree."""
    made = []
    for measure, (word, printed) in JUDGED.items():
        for name, own in found.items():
            for lam in LAMBDAS:
                values = own[AUTHORS, "EC4.5", lam][:, MEASURES.index(measure)]
                error = float(values.std(ddof=1)) * np.sqrt(1.0 / len(values) + 1.0 / published().runs)
                if error > 0.0:
                    value = published().sweep[name, lam, printed]
                    mean = float(values.mean())
                    made.append(Cell.judged(word, name, f"{lam:g}", value, mean, error, n=len(values), limit=LIMIT))
    return made


def report(cells: list[Cell]) -> list[str]:
    """Counts by measure, then every cell that does not pass."""
    lines = []
    for word, _ in JUDGED.values():
        z = np.array([abs(cell.deviation) for cell in cells if cell.table == word])
        if len(z):
            lines.append(f"{word}: {len(z)} published means, {(z <= 2).sum()} within two standard errors,"
                         f" {(z <= LIMIT).sum()} within four; median deviation {np.median(z):.2f}")  # fmt: skip
    lines += ["", f"{'beyond four':<14s} {'data set':<15s} {'λ':>6s} {'published':>10s} {'here':>10s} {'error':>9s} {'deviation':>10s}"]
    for cell in cells:
        if cell.verdict is not Verdict.PASS:
            lines.append(f"{cell.table:<14s} {cell.row:<15s} {cell.column:>6s} {cell.published:10.5g} {cell.ours:10.5g}"
                         f" {cell.error:9.2g} {cell.deviation:+10.2f}")  # fmt: skip
    return lines


def panels(found: Mapping[str, Found]) -> Panels:
    """Figure 2: a row of panels per algorithm, one panel per measure, one line per data set."""
    shown = []
    for algorithm in ALGORITHMS:
        for measure, label in SHOWN.items():
            m, lines = MEASURES.index(measure), []
            for number, (name, own) in enumerate(found.items()):
                means = [own[PAPER, algorithm, lam][:, m].mean() for lam in LAMBDAS]
                lines.append(Line(name, list(LAMBDAS), means, colour=number))
            axis = Axis(label, log=measure == "n_nodes")
            shown.append(LineChart(algorithm, lines, Axis("λ", log=True), axis))
    return Panels("The trade-off λ: validation AUC, expected height and tree size", shown, columns=3)


if __name__ == "__main__":
    main()
