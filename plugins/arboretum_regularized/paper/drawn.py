"""The drawn trees (Figures 1 and 16 to 30): C4.5, EC4.5 and ASR with small trees, beside the
numbers in the captions.

No branch below 1 % of the data set (the paper's "minimum leaf size"), unit prices, λ = 100 for
EC4.5.
"""

import numpy as np

from arboretum.api import (
    Cell,
    Facts,
    Judgement,
    Key,
    Keyed,
    Piece,
    Services,
    csv_text,
    sure,
)
from arboretum_regularized.paper.means import cell_of_runs
from arboretum_regularized.paper.reproduction import Regularized
from arboretum_regularized.paper.results import UNIT, published

DATASETS = {
    "breast-w": 20.0,
    "obesity": 50.0,
    "shoppers": 150.0,
    "spambase": 150.0,
    "speed-dating": 300.0,
}
"""The data sets drawn, and what a piece costs."""
METHODS = ("c45_ig", "ec45", "asr")
PRINTED = {"test ROC AUC": 0.001, "expected height": 0.1}
"""What a caption says, and to which digit."""
LEAF, TAUGHT = 0.01, 0.7
"""Least branch as a share of the data set, and the share of it that trains."""


def pieces(paper: Regularized) -> list[Piece]:
    """Return one piece per data set and split, one split where no caption has numbers; none where
    ``paper`` leaves out unit prices.
    """
    captioned = {name for name, _ in published().captions}
    return [
        Piece({"chapter": "drawn", "dataset": name, "seed": seed}, cost)
        for name, cost in DATASETS.items()
        if UNIT in paper.prices and paper.wants(name)
        for seed in range(published().runs if name in captioned else 1)
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return preset → "roc_auc" on test rows, "height" (average depth), "leaves", and of the first
    split the drawing, "svg"; each of a verified run.
    """
    return {preset: _run_on_drawn_data(services, key, seed, preset) for preset in METHODS}


def _run_on_drawn_data(services: Services, key: Key, seed: int, preset: str) -> Facts:
    """Run a preset on drawn data, and return its measures by name."""
    choices = {"dataset": key["dataset"], "method": preset}
    values = {
        "theta": published().theta,
        "stopping": ["mass", "standard"],
        "stopping.standard.min_mass": round(LEAF / TAUGHT, 6),
    }
    if preset == "ec45":
        choices["criterion"] = "regularized_ec45"
    record = services.run(choices, values, seed=seed + key["seed"])
    metrics = record.metrics
    found = {
        "roc_auc": metrics["test_roc_auc"],
        "height": metrics["average_depth"],
        "leaves": metrics["n_leaves"],
    }
    return found | ({"svg": sure(record.tree).to_svg()} if key["seed"] == 0 else {})


def judge(results: Keyed) -> Judgement:
    """Return the captions' numbers, each of one tree, beside the means of ours; the drawings of the
    first split.
    """
    cells: list[Cell] = []
    pictures: dict[str, str] = {}
    rows: list[list[object]] = [
        ["dataset", "method", "splits", "roc_auc", "roc_auc_sd", "height", "height_sd", "leaves"]
    ]
    for dataset in dict.fromkeys(key["dataset"] for key, _ in results):
        for preset in METHODS:
            own = [result[preset] for key, result in results if key["dataset"] == dataset]
            pictures |= {f"tree_{dataset}_{preset}": one["svg"] for one in own if "svg" in one}
            auc, height, leaves = (
                np.array([one[measure] for one in own])
                for measure in ("roc_auc", "height", "leaves")
            )
            spread = [
                [f"{x.mean():.4g}", f"{x.std(ddof=1):.4g}" if len(x) > 1 else ""]
                for x in (auc, height)
            ]
            rows.append([dataset, preset, len(own), *spread[0], *spread[1], f"{leaves.mean():.4g}"])
            if len(own) >= published().runs and (dataset, preset) in published().captions:
                printed = zip(
                    published().captions[dataset, preset],
                    (auc, height),
                    PRINTED.items(),
                    strict=True,
                )
                for value, values, (word, digit) in printed:
                    place = f"captions of drawn trees: {word}", dataset, preset
                    # a caption is of one tree
                    cells.append(sure(cell_of_runs(*place, value, values, 1, rounding=digit)))
    cells.sort(key=lambda cell: cell.table)
    reported: Facts = {
        "metrics": {"trees": float(len(pictures))},
        "tables": {"drawn_trees.csv": csv_text(rows)},
        "pictures": pictures,
    }
    return Judgement.of_chapter("drawn trees (Figures 1, 16 to 30)", {}, cells=cells, **reported)
