"""Functions under the mark ``part`` are compiled with the kernels that call them; impurities are known by their values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.kernels import criterion_kernel, kernel_part, known_impurity, parts, pointers
from arboretum.kernels.scoring import score_tables
from arboretum_classic.impurities import Entropy, Gini

TABLES = st.lists(st.lists(st.sampled_from([0.0, 0.125, 1.0, 2.5, 7.0]), min_size=3, max_size=3), min_size=1, max_size=4)


@settings(deadline=None)
@given(rows=TABLES)
def test_the_sums_are_mass_times_impurity_of_every_outcome(rows):
    weights = np.array(rows)
    for part, impurity in ((parts.entropy_after, Entropy()), (parts.gini_after, Gini())):
        expected = math.fsum((weights.sum(axis=1) * impurity.value(weights)).tolist())
        assert part(weights) == pytest.approx(expected, rel=1e-12, abs=1e-12)  # a dozen terms of at most 21 · log2 3


@kernel_part
def doubled(x):
    return 2.0 * x


@kernel_part
def heaviest(weights, o):
    top = 0.0
    for k in range(weights.shape[1]):
        top = max(top, doubled(weights[o, k]))
    return top


@criterion_kernel
def made_of_parts(weights, counts, price, extra, node):
    return heaviest(weights, 0) - doubled(heaviest(weights, 1))


def test_a_kernel_may_call_parts_and_these_other_parts():
    weights, out = np.array([[[1.0, 3.0], [0.5, 0.25]]]), np.empty(1)
    scalars = np.array([4.75, 4.75, 0.5, 0.0, 0.0, 2.0])
    arguments = weights.astype(np.int64), np.ones(1), np.zeros((1, 2, 0))
    impurity = pointers.impurity_address(Gini.kernel)
    score_tables(weights, *arguments, pointers.batch_address(made_of_parts), scalars, np.zeros(0), impurity, out)
    assert out[0] == made_of_parts(weights[0], None, 1.0, None, None) == 6.0 - 2.0


def test_an_impurity_is_known_by_its_name_and_its_values():
    assert known_impurity("gini", Gini.kernel) == "gini" and known_impurity("entropy", Entropy.kernel) == "entropy"
    assert known_impurity("entropy", Gini.kernel) is None and known_impurity("mine", Gini.kernel) is None
    assert known_impurity("mine", Gini.kernel, (("mine", (0.625, 0.375, 0.625)),)) == "mine"
    assert known_impurity("mine", Gini.kernel, (("mine", (0.625, 0.375, 0.5)),)) is None
