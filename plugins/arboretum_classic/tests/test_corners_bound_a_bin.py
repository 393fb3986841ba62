"""What ``bounded_by_corners`` promises: no cut inside a bin scores higher than the best corner of its class weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.kernels import KernelNode
from arboretum_classic import kernels, reference
from arboretum_classic.criteria import GainRatio, Reduction
from arboretum_classic.impurities import Entropy, Gini, Misclassification

PAIRS = [
    (Reduction(), Gini()), (Reduction(), Entropy()), (Reduction(), Misclassification()), (GainRatio(), Entropy()),
]  # fmt: skip
COUNTS = st.lists(st.integers(0, 12), min_size=3, max_size=3)


@pytest.mark.parametrize(("criterion", "impurity"), PAIRS, ids=lambda part: part.name)
@settings(deadline=None, max_examples=9 * settings().max_examples)
@given(before=COUNTS, inside=COUNTS, after=COUNTS, data=st.data())
def test_a_cut_inside_a_bin_scores_no_higher_than_a_corner(criterion, impurity, before, inside, after, data):
    assert criterion.bounded_by_corners(impurity)
    kernel = criterion.kernel(impurity)
    before, inside, after = (np.array(part, float) for part in (before, inside, after))
    whole = before + inside + after
    if np.count_nonzero(whole) < 2:
        return
    node = KernelNode(
        whole.sum(), whole.sum(), getattr(reference, impurity.name)(whole), 0, 0.0, np.zeros(0), reference.gini
    )

    def score(taken: np.ndarray) -> float:
        left = before + taken
        if left.sum() == 0 or left.sum() == whole.sum():
            return -np.inf  # no cut: the engine looks at no such corner
        table = np.array([left, whole - left])
        return kernel(table, table.astype(np.int64), 1.0, np.zeros((2, 0)), node)

    cut = np.array([data.draw(st.integers(0, int(n))) for n in inside], float)
    corners = max(score(inside * np.array(corner)) for corner in itertools.product((0, 1), repeat=3))
    assert score(cut) <= max(corners, 0.0) + 1e-12


def test_an_impurity_of_the_other_scale_or_not_concave_is_not_bounded():
    class Total(Gini):
        scale = "total"

    class Wild(Gini):
        capabilities = ("classification",)

    assert not Reduction().bounded_by_corners(Total())
    assert not Reduction().bounded_by_corners(Wild())


def test_kernels_of_the_pairs_are_those_of_the_impurity():
    assert Reduction().kernel(Gini()) is kernels.reduction_gini
    assert Reduction().kernel(Misclassification()) is kernels.reduction_misclassification
