"""Figure 2: validation AUC, expected height and tree size over λ, of EC4.5 and ECART; EC4.5's means beside the published ones."""

from __future__ import annotations

import numpy as np

from arboretum.api import Axis, Cell, Judgement, Line, LineChart, Panels, csv_text
from arboretum_regularized.published import AUTHORS, UNIT, published
from arboretum_regularized.results import Part, Results

NAME = "lambda_sweep"
MEASURES = {"valid_roc_auc": 1, "roc_auc": 2, "expected_cost": 3, "n_nodes": 4}
"""Measure → its place after λ in what is noted."""
SHOWN = {"valid_roc_auc": "validation ROC AUC", "expected_cost": "expected height", "n_nodes": "tree size (nodes)"}
JUDGED = {"valid_roc_auc": ("validation AUC of EC4.5 by λ", "roc_auc"), "expected_cost": ("expected cost of EC4.5 by λ", "expected_cost")}
"""Measure → the title of its cells, and the published measure."""
ALGORITHMS = ("EC4.5", "ECART")


def judge(found: Results) -> Judgement:
    """Cells, a table and the six panels; empty where nothing was swept."""
    part, lambdas, swept = Part(UNIT, AUTHORS), published().sweep_lambdas, {}
    for dataset in found.datasets(part):
        for algorithm in ALGORITHMS:
            rows = [one["sweep"] for one in found.found.get((part, dataset, algorithm), ()) if "sweep" in one]
            for at, lam in enumerate(lambdas if rows else ()):
                numbers = np.array([row[at] for row in rows], np.float64)
                swept[algorithm, dataset, lam] = {measure: numbers[:, place] for measure, place in MEASURES.items()}
    if not swept:
        return Judgement()
    head = ["algorithm", "dataset", "lambda", "splits", *(m + e for m in MEASURES for e in ("", "_sd"))]
    rows = [
        [*place, len(own["n_nodes"]), *(f"{x:.6g}" for v in own.values() for x in (v.mean(), v.std(ddof=1) if len(v) > 1 else 0.0))]
        for place, own in swept.items()
    ]
    settings = {"prices": UNIT, "variant": AUTHORS}
    tables, shown = {f"{NAME}.csv": csv_text([head, *rows])}, {NAME: _panels(swept)}
    return Judgement.of_chapter("trade-off λ (Figure 2)", settings, {}, cells=_cells(swept), tables=tables, pictures=shown)


def _cells(swept: dict[tuple[str, str, float], dict[str, np.ndarray]]) -> list[Cell]:
    """One per published mean; none where splits are too few or all agree."""
    runs, printed = published().runs, published().sweep
    made = [
        Cell.of_runs(title, dataset, f"{lam:g}", printed[dataset, lam, name], own[measure][~np.isnan(own[measure])], runs)
        for measure, (title, name) in JUDGED.items()
        for (algorithm, dataset, lam), own in swept.items() if algorithm == "EC4.5"
    ]  # fmt: skip
    return [cell for cell in made if cell]


def _panels(swept: dict[tuple[str, str, float], dict[str, np.ndarray]]) -> Panels:
    """A row of panels per algorithm, one panel per measure, one line per data set."""
    shown, lambdas = [], list(published().sweep_lambdas)
    names = list(dict.fromkeys(name for _, name, _ in swept))
    for algorithm in ALGORITHMS:
        for measure, label in SHOWN.items():
            lines = [
                Line(name, lambdas, [float(np.mean(swept[algorithm, name, lam][measure])) for lam in lambdas], colour=number)
                for number, name in enumerate(names) if (algorithm, name, lambdas[0]) in swept
            ]  # fmt: skip
            shown.append(LineChart(algorithm, lines, Axis("λ", log=True), Axis(label, log=measure == "n_nodes")))
    return Panels("The trade-off λ: validation AUC, expected height and tree size", shown, columns=3)
