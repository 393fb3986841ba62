"""Coverage the slow way: object by object, from nothing but ``covered``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arboretum.api import Encoded

COVERED = 1e-12
"""An f_i that misses 1 by no more counts as 1 (the contract of a coverage)."""


def left_of(coverage: Sequence[Any], objects: Encoded, rows: Sequence[int]) -> dict[int, float]:
    """Object → Π (1 − f_i) over the coverages: how far it is from being covered, 0 where it is."""
    found = dict.fromkeys((int(i) for i in rows), 1.0)
    for part in coverage:
        values = part.covered(objects, np.array(list(found), np.int64))
        for i, value in zip(found, values.tolist(), strict=True):
            found[i] *= 0.0 if 1.0 - value <= COVERED else 1.0 - value
    return found


def coverage_of(coverage: Sequence[Any], objects: Encoded, rows: Sequence[int]) -> float:
    """``node.coverage``: the weighted mean of f_i, 0.0 without coverages."""
    if not coverage:
        return 0.0
    left = left_of(coverage, objects, rows)
    mass = sum(float(objects.weight[i]) for i in left)
    return sum(float(objects.weight[i]) * (1.0 - value) for i, value in left.items()) / mass


def gain_of(
    coverage: Sequence[Any], objects: Encoded, rows: Sequence[int], outcome_of: Mapping[int, int], n_outcomes: int
) -> list[float]:
    """Per outcome Σ w_i (f_i(outcome) − f_i(node)) / (1 − f_i(node)) over its objects, covered ones left out."""
    before = left_of(coverage, objects, rows)
    gains = []
    for o in range(n_outcomes):
        part = [int(i) for i in rows if outcome_of.get(int(i)) == o]
        after = left_of(coverage, objects, part) if part else {}
        terms = (float(objects.weight[i]) * (before[i] - after[i]) / before[i] for i in part if before[i] > 0.0)
        gains.append(sum(terms))
    return gains
