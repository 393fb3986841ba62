"""What ``bounded_by_vertices`` promises: no cut inside a bin scores higher than the best vertex
of its class weights.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from arboretum.kernels import KernelNode
from arboretum_classic.criteria import kernels, reference
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Misclassification
from arboretum_classic.oblivious import level_kernels

PAIRS = [
    (Reduction(), Gini()),
    (Reduction(), Entropy()),
    (Reduction(), Misclassification()),
    (GainRatio(), Entropy()),
]
COUNTS = st.lists(st.integers(0, 12), min_size=3, max_size=3)


@pytest.mark.parametrize(("criterion", "impurity"), PAIRS, ids=lambda part: part.name)
@settings(deadline=None, max_examples=9 * settings().max_examples)
@given(before=COUNTS, inside=COUNTS, after=COUNTS, data=st.data())
def test_a_cut_inside_a_bin_scores_no_higher_than_a_corner(
    criterion, impurity, before, inside, after, data
):
    assert criterion.bounded_by_vertices(impurity)
    kernel = criterion.kernel(impurity)
    before, inside, after = (np.array(part, float) for part in (before, inside, after))
    whole = before + inside + after
    if np.count_nonzero(whole) < 2:
        return
    node = KernelNode(
        whole.sum(),
        whole.sum(),
        getattr(reference, impurity.name)(whole),
        0,
        0.0,
        np.zeros(0),
        reference.gini,
    )

    def score(taken: np.ndarray) -> float:
        left = before + taken
        if left.sum() == 0 or left.sum() == whole.sum():
            return -np.inf  # no cut: the engine looks at no such vertex
        table = np.array([left, whole - left])
        return kernel(table, table.astype(np.int64), 1.0, np.zeros((2, 0)), node)

    cut = np.array([data.draw(st.integers(0, int(n))) for n in inside], float)
    vertices = max(
        score(inside * np.array(vertex)) for vertex in itertools.product((0, 1), repeat=3)
    )
    assert score(cut) <= max(vertices, 0.0) + 1e-12


def test_an_impurity_of_the_other_scale_or_not_concave_is_not_bounded():
    class Total(Gini):
        scale = "total"

    class Wild(Gini):
        capabilities = ("classification",)

    assert not Reduction().bounded_by_vertices(Total())
    assert not Reduction().bounded_by_vertices(Wild())


def test_kernels_of_the_pairs_are_those_of_the_impurity():
    assert Reduction().kernel(Gini()) is kernels.reduction_gini
    assert Reduction().kernel(Misclassification()) is kernels.reduction_misclassification


@pytest.mark.parametrize("lost", [0, 3])
def test_no_division_of_a_bin_reduces_the_variance_by_more_than_its_octagon(lost):
    """All subsets of up to seven rows, with weights, some rows without a value going both ways
    in proportion; few or no rows beside the bin.
    """
    generator, near = np.random.default_rng(lost), 0
    for _ in range(150):
        sizes = generator.integers(0, 6), generator.integers(1, 8), generator.integers(0, 6), lost
        parts = [
            (
                generator.choice([0.5, 1.0, 2.0], n),
                generator.normal(0.0, generator.choice([0.1, 3.0]), n) + generator.integers(-1, 2),
            )
            for n in sizes
        ]
        before, inside, after, gone = ([(w * y**p).sum() for p in range(3)] for w, y in parts)
        before, inside, after, gone = (np.array(part) for part in (before, inside, after, gone))
        whole = before + inside + after + gone
        level = level_kernels.Level(
            None, None, None, whole[None], None, whole[:1], None, np.ones(1), None, 0, whole[0]
        )
        bound = level_kernels.most_inside(
            0, before[None], inside, gone if lost else gone[:0], level
        )
        w, y = parts[1]
        highest = 0.0
        for some in itertools.product((False, True), repeat=len(w)):
            left = before + np.array([(w * y**p)[list(some)].sum() for p in range(3)])
            left = left + gone * left[0] / (whole - gone)[0]
            table = np.array([left, whole - left])
            if 0.0 < left[0] < whole[0] - 1e-9:
                node = KernelNode(
                    whole[0],
                    whole[0],
                    reference.variance(whole),
                    0,
                    0.0,
                    np.zeros(0),
                    reference.variance,
                )
                highest = max(
                    highest,
                    kernels.reduction_variance(
                        table, np.ones((2, 1), np.int64), 1.0, np.zeros((2, 0)), node
                    ),
                )
        assert highest <= bound
        near += bound < 1.5 * highest
    assert near > 30, "the bound is not only high"
