"""Every method, interpreted and compiled: the same source grows the same tree, so that what tests
find of interpreted kernels holds for compiled ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import arboretum
from arboretum.plugin.discovery import load_registry
from arboretum.runs.folder import read_run

PRESETS = sorted(preset.name for preset in load_registry(()).presets("method"))
ROWS = 16
CLASSES = (
    f"dataset=random_table dataset.n_rows={ROWS} dataset.n_columns=3 dataset.n_classes=2 seed=3"
)


OWN = {
    "policy": "dataset=trial dataset.n_rows=120 stopping=[standard] stopping.standard.max_depth=2",
    "survival": "dataset=lifetimes dataset.n_rows=120 stopping.standard.max_depth=2",
    "leaf_sums": "dataset=lifetimes dataset.n_rows=120 stopping.standard.max_depth=2",
}
"""Beginning of a preset's name → data that it asks for."""


def of_numbers(folder):
    """A table for methods that refuse classes."""
    path = folder / "numbers.csv"
    drawn = np.random.default_rng(1).normal(size=(ROWS, 4)).round(1)
    np.savetxt(path, drawn, "%.1f", ",", header="a,b,c,y", comments="")
    return f"dataset=file dataset.path={path} dataset.target=y dataset.task=regression"


def grown(record):
    solution = record.solution
    return (
        json.loads(record.tree.to_json()),
        json.dumps(dict(record.metrics), sort_keys=True),  # NaN is NaN there
        solution and (solution.value, solution.lower_bound, solution.status),
    )


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_grows_the_same_tree_both_ways(preset, tmp_path):
    # a process that has compiled nothing interprets all there is; what it cannot do fails
    own = next((data for name, data in OWN.items() if preset.startswith(name)), None)
    for data in (CLASSES, of_numbers(tmp_path)) if own is None else (own,):
        asked = [f"method={preset}", *data.split(), "tracker=none"]
        ended = subprocess.run(
            [sys.executable, "-m", "arboretum.cli", "run", *asked, f"hydra.run.dir={tmp_path}/r"],
            env=os.environ | {"ARBORETUM_KERNELS": "python"},
            capture_output=True,
            text=True,
        )
        if "asks for classification" not in ended.stderr:
            break
    assert ended.returncode == 0, ended.stderr
    assert grown(read_run(tmp_path / "r")) == grown(arboretum.run(asked))
