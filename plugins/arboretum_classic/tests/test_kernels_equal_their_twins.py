"""Kernels against ``reference.py``, as plain Python and compiled."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from arboretum.kernels import KernelNode, mark_of
from arboretum_classic.criteria import kernels, reference
from arboretum_classic.criteria.criteria import _scatter_bits, _scatter_bits_of_one

pytestmark = pytest.mark.compiled

KERNELS = {
    name: f
    for name, f in inspect.getmembers(kernels, inspect.isfunction)
    if mark_of(f) not in (None, "part")
}
IMPURITIES = [
    name
    for name, f in KERNELS.items()
    if mark_of(f) == "impurity" and name not in ("variance", "squared_pairs")
]
CRITERIA = [name for name, f in KERNELS.items() if mark_of(f) == "criterion"]
WEIGHTS = st.sampled_from([0.0, 0.0, 0.1, 1.0, 2.5, 40.0])
CLOSE = 1e-12
"""Relative to the mass: some ten operations on float64, each exact to 1.1e-16."""


def test_every_kernel_has_a_twin_of_the_same_name():
    assert [name for name in KERNELS if not hasattr(reference, name)] == []


@pytest.mark.parametrize("name", IMPURITIES)
@given(weights=st.lists(WEIGHTS, min_size=1, max_size=5))
def test_an_impurity_kernel_equals_its_twin(name, weights):
    found = KERNELS[name](np.array(weights))
    assert getattr(reference, name)(weights) == pytest.approx(found, abs=CLOSE)


@given(y=st.lists(st.sampled_from([-2.0, 0.0, 0.5, 3.0]), min_size=0, max_size=6))
def test_the_variance_kernel_equals_its_twin(y):
    moments = np.array([len(y), sum(y), sum(v * v for v in y)])
    assert reference.variance(moments) == pytest.approx(kernels.variance(moments), abs=1e-11)


@pytest.mark.parametrize("name", CRITERIA)
@settings(deadline=None)
@given(data=st.data(), outcomes=st.integers(2, 4))
def test_a_criterion_kernel_equals_its_twin(name, data, outcomes):
    row = st.lists(WEIGHTS, min_size=3, max_size=3)
    weights = np.array(data.draw(st.lists(row, min_size=outcomes, max_size=outcomes)))
    # Σw, Σwy, Σwy² of an outcome whose objects all have y = 1 or −1
    if name == "reduction_variance":
        weights = np.abs(weights)
        weights[:, 2] = weights[:, 0]
        weights[:, 1] = np.minimum(weights[:, 1], weights[:, 0])
    assume(weights.sum() > 0)  # a node holds an object
    mass = max(float(weights.sum()), 1.0)
    extra = np.abs(weights[:, :1])
    node = KernelNode(mass, 2.0 * mass, 0.75, 1, 0.0, np.zeros(0), reference.gini)
    found = KERNELS[name](weights, weights.astype(np.int64), 1.0, extra, node)
    expected = getattr(reference, name)(weights, weights.astype(np.int64), 1.0, extra, node)
    assert (found == expected) or expected == pytest.approx(found, abs=CLOSE * mass), weights


@settings(deadline=None)
@given(
    objects=st.lists(
        st.tuples(
            st.sampled_from([-3.0, 0.0, 0.1, 0.1, 2.0, 50.0]),
            st.sampled_from([0.25, 1.0, 1.0, 3.0]),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_the_deviations_of_every_prefix_equal_those_from_sorting_it(objects):
    y, weight = np.array(objects).T.copy()
    fast, slow = np.empty(len(y)), np.empty(len(y))
    kernels.absolute_deviations(y, weight, fast)
    reference.absolute_deviations(y, weight, slow)
    assert fast == pytest.approx(slow, abs=1e-10)


def test_the_gain_ratio_of_play_tennis_outlook_is_that_of_the_textbook():
    """Outlook on 14 days: gain 0.2467 bits, split information 1.5774 bits (Quinlan 1993, section
    2.2: .246 / 1.577 = .156).
    """
    weights = np.array([[2.0, 3.0], [4.0, 0.0], [3.0, 2.0]])
    node = KernelNode(14.0, 14.0, math.nan, 0, 0.0, np.zeros(0), reference.entropy)
    found = kernels.gain_ratio(weights, weights.astype(np.int64), 1.0, np.zeros((3, 0)), node)
    assert found == pytest.approx(0.24675 / 1.57741, abs=1e-5)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
def test_mixing_one_number_is_mixing_an_array_of_one(numbers):
    assert [_scatter_bits_of_one(number) for number in numbers] == _scatter_bits(
        np.array(numbers, np.uint64)
    ).tolist()
