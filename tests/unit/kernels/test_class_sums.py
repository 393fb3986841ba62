"""Sums that grow row by row are off from those of tables by no more than is allowed for."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.kernels import class_sums
from arboretum.kernels.impurity_sums import entropy_after, gini_after

WEIGHTS = {
    "units": (1.0,),
    "parts": (0.1, 0.3, 2.5),
    "apart": (1e-9, 0.1, 1.0, 1e6),
    "small": (1e-12, 3e-12),
}
FORMS = {class_sums.GINI: gini_after, class_sums.ENTROPY: entropy_after}


@pytest.mark.parametrize("form", FORMS, ids=["gini", "entropy"])
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("classes", [2, 30, 400])
def test_costs_of_all_cuts_are_those_of_their_tables(form, kind, classes):
    draw = np.random.default_rng(classes)
    rows, known = 300, 280
    label, weight = draw.integers(0, classes, rows), draw.choice(WEIGHTS[kind], rows)
    entries = label.astype(np.uint64) << np.uint64(20) | np.arange(rows, dtype=np.uint64)
    keys = class_sums.Keys(np.uint64(20), ~np.uint64(0), np.uint64((1 << 20) - 1))
    unit, all_w = kind == "units", _summed(label, weight, classes)
    moved = class_sums.Moved(weight, np.ones(rows, np.int64), unit)
    error = class_sums.error_of.py_func(form, rows, classes, float(all_w.sum()), unit)
    costs, at = np.empty((4, rows + 1)), np.zeros(classes)
    class_sums.fill_costs(form, entries, known, keys, moved, error, at, costs)
    assert not at.any(), "scratch is left as it was found"
    lost, all_c = (
        _summed(label[known:], weight[known:], classes),
        np.bincount(label, minlength=classes),
    )
    for j in range(known - 1):
        left = _summed(label[: j + 1], weight[: j + 1], classes)
        here = np.bincount(label[: j + 1], minlength=classes)
        for side, gone in ((0, np.bincount(label[known:], minlength=classes)), (1, 0)):
            one = left + lost if side == 0 else left
            other = np.where(all_c - here - gone == 0, 0.0, all_w - one)
            found = costs[2 * side, j] + costs[2 * side + 1, j + 1]
            wanted = FORMS[form](np.stack([one, other]))
            assert found == -np.inf or abs(found - wanted) <= error, (j, side)
    assert form != class_sums.GINI or kind != "units" or error == 0.0


def _summed(label, weight, classes):
    """One object after the other, as every scan adds them."""
    found = np.zeros(classes)
    np.add.at(found, label, weight)
    return found
