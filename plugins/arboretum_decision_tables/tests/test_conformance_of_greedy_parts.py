"""Impurities and criteria of the greedy algorithms pass the suites of their kinds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from arboretum.testing import CriterionSuite, ImpuritySuite
from arboretum_decision_tables import kernels, reference
from arboretum_decision_tables.criteria import Aggregated, Aggregation, OutsideMajority, UnlikePairs


class TestOutsideMajority(ImpuritySuite):
    component = OutsideMajority()

    def test_it_is_not_supermodular(self, component):
        value = lambda *weights: float(component.value(np.array(weights, float)))
        gains = [value(1, k + 1) - value(1, k) for k in (0, 2)]
        assert gains[0] > gains[1], (
            "the second class gains 1 where it is the lighter one, 0 where it is the heavier"
        )


class TestUnlikePairs(ImpuritySuite):
    component = UnlikePairs()

    def test_it_counts_the_pairs_of_rows_with_different_decisions(self, component):
        decisions = [0, 0, 1, 2, 2, 2]
        pairs = sum(a != b for i, a in enumerate(decisions) for b in decisions[:i])
        assert float(component.value(np.bincount(decisions).astype(float))) == pairs


class _AggregatedSuite(CriterionSuite):
    __test__ = False
    aggregation = Aggregation.sum

    @pytest.fixture
    def component(self):
        return Aggregated(kind=self.aggregation)


def suite(impurity, kind: Aggregation) -> type:
    """The suite of the criterion for one impurity and aggregation."""
    body = {
        "__test__": True,
        "aggregation": kind,
        "impurity": pytest.fixture(lambda self: impurity),
    }
    return type(f"Test_{impurity.name}_{kind.name}", (_AggregatedSuite,), body)


# the suite of all installed components looks at every aggregation with the impurity that is the
# default
TestSumOfMe = suite(OutsideMajority(), Aggregation.sum)
TestWeightedMaxOfMe = suite(OutsideMajority(), Aggregation.w_max)
TestMaxOfRt = suite(UnlikePairs(), Aggregation.max)
TestWeightedSumOfRt = suite(UnlikePairs(), Aggregation.w_sum)


@pytest.mark.parametrize("name", ["entropy", "gini", "me", "rt"])
def test_every_kernel_that_writes_a_measure_out_equals_its_twin(name):
    generator = np.random.default_rng(0)
    for _ in range(200):
        weights = generator.integers(0, 6, (3, 3)) * generator.choice([0.5, 1.0, 1.75])
        weights[0, 0] += 1.0
        counts = np.ceil(weights).astype(np.int64)
        for kind in range(4):
            node = SimpleNamespace(params=[float(kind)], mass=float(weights.sum()))
            found = getattr(kernels, f"aggregated_{name}")(
                weights, counts, 1.0, np.zeros((3, 0)), node
            )
            expected = getattr(reference, f"aggregated_{name}")(
                weights, counts, 1.0, np.zeros((3, 0)), node
            )
            # values stay below 300; sums of nine of them round by some 2⁻⁵² of that each
            assert abs(found - expected) <= 300 * 64 * 2.0**-52
