"""Run folders of runs that nobody did: for what reads many of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from arboretum.model.record import Record

DATASETS = ("iris", "wine", "wdbc", "monk1", "monk2", "monk3", "car", "vote")
METHODS: Mapping[str, float] = {"cart": 0.10, "id3": 0.12, "random": 0.30}
"""Method → its error, about."""


def made_record(
    method: str, dataset: str, seed: int = 0, error: float = 0.1, **more: object
) -> Record:
    """A record; more : ``config``, ``metrics``, ``solution`` … of it, added to what is made."""
    split = {"name": "holdout", "train": 0.7, "valid": 0.1, "test": 0.2}
    config = {"choices": {"method": method, "dataset": dataset, "split": "holdout"}, "split": split}
    metrics = {"test_error": error, "expected_cost": 2 + 10 * error, "max_cost": 5.0, "n_leaves": 6}
    parts = {
        "versions": {},
        "data": {"name": dataset, "sha256": dataset, "n_rows": 150, "n_train": 105, "n_test": 30},
        "timings": {"fit": 0.01},
        "solution": None,
        "verified": True,
        "tree": None,
        **more,
        "config": {**config, "seed": seed, **more.get("config", {})},
        "metrics": {**metrics, **more.get("metrics", {})},
    }
    return Record(seed=seed, **parts)


def keep(folder: Path, record: Record) -> Path:
    """Write a record as a run does."""
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(record.to_json(), encoding="utf-8")
    return folder


def made_study(
    root: Path,
    methods: Mapping[str, float] = METHODS,
    datasets: tuple[str, ...] = DATASETS,
    seeds: int = 5,
) -> Path:
    """A folder per run of every method on every data set from every seed."""
    draw, number = np.random.default_rng(0), 0
    for dataset in datasets:
        harder = draw.uniform(0, 0.1)
        for seed in range(seeds):
            for method, error in methods.items():
                found = round(float(error + harder + draw.normal(0, 0.01)), 4)
                keep(root / str(number), made_record(method, dataset, seed, found))
                number += 1
    return root
