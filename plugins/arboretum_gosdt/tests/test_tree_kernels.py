"""What nodes hold, and the last test of a tree, against what is said of them row by row."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum_gosdt.problem import tree_kernels
from arboretum_gosdt.problem.prepared import unpack_bits


@pytest.mark.parametrize("seed", range(60))
def test_the_best_test_is_the_first_whose_sides_save_most(seed):
    draw = np.random.default_rng(seed)
    features, classes, n = draw.choice([1, 5, 31, 32, 33, 70]), 2 + seed % 3, draw.integers(1, 40)
    outcome = draw.integers(0, 2, (n, features)).astype(np.uint8)
    outcome = np.pad(outcome, [(0, 0), (0, -features % 32)])
    bits = np.packbits(outcome, axis=1, bitorder="little").view(np.uint32)
    weights = draw.integers(0, 4, (n, classes))
    rows = np.flatnonzero(draw.random(n) < 0.7)
    has, some = unpack_bits(bits, features)[rows].astype(np.int64), weights[rows]
    most, best = some.sum(axis=0).max(), -1
    for feature in range(features):
        one = some[has[:, feature] == 1].sum(axis=0)
        saved = one.max() + (some.sum(axis=0) - one).max()
        if saved > most:
            most, best = saved, feature
    assert tree_kernels.best_test(bits, weights, rows, features) == (best, most)
