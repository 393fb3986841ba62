"""Every method, interpreted and compiled: the same source grows the same tree, so that what tests
find of interpreted kernels holds for compiled ones.
"""

from __future__ import annotations

import json

import pytest

import arboretum
from arboretum.engine import run
from arboretum.errors import CapabilityError
from arboretum.plugin.discovery import load_registry

PRESETS = sorted(preset.name for preset in load_registry(()).presets("method"))
CLASSES = "random_table dataset.n_rows=40 dataset.n_columns=4 dataset.n_classes=2 seed=3"
NUMBERS = "dataset=diabetes"


def grown(preset, data, way, monkeypatch):
    monkeypatch.setenv("ARBORETUM_KERNELS", way)
    record = arboretum.run([f"method={preset}", *data.split(), "tracker=none"])
    solution = record.solution
    return (
        json.loads(record.tree.to_json()),
        dict(record.metrics),
        solution and (solution.value, solution.lower_bound, solution.status),
    )


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_grows_the_same_tree_both_ways(preset, monkeypatch):
    # nothing begins anew with compiled kernels: what cannot be interpreted fails
    monkeypatch.setattr(run, "or_compiled", lambda work: work())
    data = f"dataset={CLASSES}"
    try:
        interpreted = grown(preset, data, "python", monkeypatch)
    except CapabilityError:
        data = NUMBERS
        interpreted = grown(preset, data, "python", monkeypatch)
    assert interpreted == grown(preset, data, "compiled", monkeypatch)
