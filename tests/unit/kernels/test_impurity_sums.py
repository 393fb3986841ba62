"""Functions under the mark ``part`` are compiled with the kernels that call them; impurities are
known by their values.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from arboretum.kernels import (
    baked,
    criterion_kernel,
    function_pointers,
    impurity_sums,
    kernel_part,
    known_impurity,
    mark_of,
)
from arboretum.kernels.scoring import score_tables
from arboretum_classic.criteria.impurities import Entropy, Gini

TABLES = st.lists(
    st.lists(st.sampled_from([0.0, 0.125, 1.0, 2.5, 7.0]), min_size=3, max_size=3),
    min_size=1,
    max_size=4,
)


@settings(deadline=None)
@given(rows=TABLES)
def test_the_sums_are_mass_times_impurity_of_every_outcome(rows):
    weights = np.array(rows)
    for part, impurity in (
        (impurity_sums.entropy_after, Entropy()),
        (impurity_sums.gini_after, Gini()),
    ):
        expected = math.fsum((weights.sum(axis=1) * impurity.value(weights)).tolist())
        # a dozen terms of at most 21 · log2 3
        assert part(weights) == pytest.approx(expected, rel=1e-12, abs=1e-12)


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
    assert (
        compiled_score(made_of_parts)
        == made_of_parts(WEIGHTS[0], None, 1.0, None, None)
        == 6.0 - 2.0
    )


WEIGHTS = np.array([[[1.0, 3.0], [0.5, 0.25]]])


def compiled_score(kernel):
    out, scalars = np.empty(1), np.array([4.75, 4.75, 0.5, 0.0, 0.0, 2.0])
    arguments = WEIGHTS.astype(np.int64), np.ones(1), np.zeros((1, 2, 0))
    impurity = function_pointers.address_of(Gini.kernel, "impurity")
    score_tables(
        WEIGHTS,
        *arguments,
        function_pointers.address_of(kernel, "criterion"),
        scalars,
        np.zeros(0),
        impurity,
        out,
    )
    return out[0]


ROW, measured, WRONG = 0, heaviest, False


@criterion_kernel
def of_a_family(weights, counts, price, extra, node):
    return measured(weights, ROW, "an argument too many") if WRONG else measured(weights, ROW)


@kernel_part
def lightest(weights, o):
    return min(weights[o, 0], weights[o, 1])


def test_a_family_has_one_source_and_a_name_and_constants_per_kernel():
    found = {}
    for name, part in (("heaviest", heaviest), ("lightest", lightest)):
        for row in (0, 1):
            kernel = baked(of_a_family, f"of_a_family_{name}_{row}", ROW=row, measured=part)
            assert mark_of(kernel) == "criterion" and kernel.__name__ == f"of_a_family_{name}_{row}"
            found[name, row] = compiled_score(kernel)
            assert found[name, row] == kernel(WEIGHTS[0], None, 1.0, None, None)
    assert found == {
        ("heaviest", 0): 6.0,
        ("heaviest", 1): 1.0,
        ("lightest", 0): 1.0,
        ("lightest", 1): 0.25,
    }
    assert of_a_family(WEIGHTS[0], None, 1.0, None, None) == 6.0


def test_an_impurity_is_known_by_its_name_and_its_values():
    assert (
        known_impurity("gini", Gini.kernel) == "gini"
        and known_impurity("entropy", Entropy.kernel) == "entropy"
    )
    assert (
        known_impurity("entropy", Gini.kernel) is None
        and known_impurity("mine", Gini.kernel) is None
    )
    assert known_impurity("mine", Gini.kernel, (("mine", (0.625, 0.375, 0.625)),)) == "mine"
    assert known_impurity("mine", Gini.kernel, (("mine", (0.625, 0.375, 0.5)),)) is None
