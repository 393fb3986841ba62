"""Decomposable impurities by their parts, what the check refuses, and the sentence about Theorem
1.
"""

from __future__ import annotations

import math
from typing import ClassVar

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import DataError, Parts, Problem, Table, Target, Task, lint
from arboretum.testing import ImpuritySuite
from arboretum.testing.tables import ToyGini, prices_of, toy_objects, toy_table
from arboretum_classic.criteria.impurities import Auto, Entropy, Gini, Misclassification
from arboretum_decision_tables.criteria import UnlikePairs as TotalPairs
from arboretum_regularized.coverages import OthersExcluded, Probability, UnlikePairs
from arboretum_regularized.criteria import Regularized, Weighting
from arboretum_regularized.guarantee import conflicting, guarantee_of
from arboretum_regularized.impurities import Decomposable, Tsallis

VECTORS = st.lists(st.sampled_from([0.0, 0.0, 0.25, 1.0, 3.0, 40.0]), min_size=2, max_size=5)


@attrs.frozen
class EntropyByParts(Decomposable):
    """Entropy in bits, given by h(q) = −log2 q."""

    name: ClassVar[str] = "entropy_by_parts"

    def parts(self, q):
        return -np.log2(q)


@attrs.frozen
class GiniByParts(Decomposable):
    """Gini's index, given by h(q) = 1 − q."""

    name: ClassVar[str] = "gini_by_parts"

    def parts(self, q):
        return 1.0 - q


class TestEntropyByParts(ImpuritySuite):
    component = EntropyByParts()


class TestGiniByParts(ImpuritySuite):
    component = GiniByParts()


@given(VECTORS)
def test_entropy_and_gini_are_the_sums_of_their_parts(weights):
    vector = np.array(weights)
    assert EntropyByParts().value(vector) == pytest.approx(Entropy().value(vector), abs=1e-12)
    assert GiniByParts().value(vector) == pytest.approx(Gini().value(vector), abs=1e-12)
    assert Tsallis(order=2.0).value(vector) == pytest.approx(Gini().value(vector), abs=1e-12)
    assert Tsallis(order=1.0).value(vector) == pytest.approx(
        math.log(2) * Entropy().value(vector), abs=1e-12
    )


@given(VECTORS, st.sampled_from([0.25, 1.0, 1.0 + 1e-9, 1.5, 2.0, 7.0]))
def test_the_kernel_of_tsallis_entropy_is_its_value(weights, order):
    impurity, vector = Tsallis(order=order), np.array(weights)
    # both add up as many terms, each with the rounding of a logarithm and a power
    assert impurity.kernel(vector) == pytest.approx(
        float(impurity.value(vector)), rel=1e-12, abs=1e-14
    )


@pytest.mark.parametrize(
    "impurity", [EntropyByParts(), GiniByParts(), Tsallis(order=0.5), Tsallis(order=4.0)], ids=repr
)
def test_sums_of_parts_satisfy_what_theorem_1_asks_for(impurity):
    found = lint(impurity)
    assert found.theorems[0].unmet(found.found) == []


def made(parts) -> Decomposable:
    """A decomposable impurity with these parts."""
    return type("Made", (Decomposable,), {"name": "made", "parts": lambda self, q: parts(q)})()


@pytest.mark.parametrize(
    ("parts", "broken"),
    [
        (lambda q: 1.5 - q, "zero at purity: F(0, 0) ≠ 0"),
        (
            lambda q: (1 - q) * np.arange(1.0, 1 + q.shape[-1]),
            "symmetric: F(1, 2) ≠ F(2, 1): 0.666667 ≠ 0.666667",
        ),
        (lambda q: q * (1 - q) ** 2 * (q < 0.6), "maximal at uniform: "),
        (lambda q: np.where(q < 1, q**4, 0.0), "maximal at uniform: F(1, 2) > F(1.5, 1.5): "),
        (lambda q: (1 - q) ** 3 * q**2, "concave: "),
        (lambda q: 1.0 / (q - 0.5), "non-negative: "),
    ],
)
def test_other_parts_are_refuted_by_a_counterexample(parts, broken):
    with np.errstate(all="ignore"):
        found = lint(made(parts)).found
    assert broken.split(": ")[0] in [name for name, each in found.items() if each.holds is False]


# -- Theorem 1 -------------------------------------------------------------------------------------


def two_classes(weights, labels):
    """Objects of these weights and classes; their columns do not matter."""
    table = toy_table(0, n_rows=len(weights))
    target = Target("y", Task.classification, np.array(labels, np.int32), ("a", "b"))
    whole = Table("t", table.columns, target, np.array(weights, float))
    return distinct(toy_objects(whole))


def distinct(objects):
    """The same objects, no two with the same values."""
    return attrs.evolve(objects, raw=np.arange(float(objects.n_objects))[:, None])


BOTH = (Probability(), UnlikePairs())


def test_gamma_is_the_one_of_the_theorem():
    """Uniform p, two balanced classes, θ = 0: Δ ≥ (1/n) / (1 − 1/n) · 1/(n/2)²."""
    n = 10
    objects = two_classes([1.0] * n, [0, 1] * (n // 2))
    found = guarantee_of(objects, BOTH, 0.0, 2.0, Gini())
    assert found.delta == pytest.approx(1 / (n - 1) / 25)
    assert found.eps_h == pytest.approx(1 - 1 / n)
    gamma = 15 * (1 + math.log(9 * 25) + math.log2(10) + 2 * 0.9)
    assert found.gamma == pytest.approx(gamma) and found.ratio == pytest.approx(20 * gamma)
    assert guarantee_of(objects, BOTH, 0.0, 2.0, Auto().for_objects(objects)) == found
    assert guarantee_of(objects, BOTH, 0.0, 1.0, Entropy()).eps_h == pytest.approx(math.log2(10))
    assert guarantee_of(objects, BOTH, 0.0, 1.0, GiniByParts()).eps_h == pytest.approx(0.9)
    assert guarantee_of(objects, BOTH, 0.0, 1.0, EntropyByParts()).eps_h == pytest.approx(
        math.log2(10)
    )


@pytest.mark.parametrize(("theta", "above"), [(0.05, 1.0), (0.055, 0.5), (0.3, 1.0), (0.01, 1.0)])
def test_above_theta_the_next_possible_weight_bounds_the_increments(theta, above):
    """One hundred objects of weight 1: p(S) − θ is at least the distance to the next hundredth
    above θ.
    """
    objects = two_classes([1.0] * 100, [0, 1] * 50)
    found = guarantee_of(objects, BOTH[:1], theta, 0.0, None)
    assert found.delta == pytest.approx(above * 0.01 / (1 - max(theta, 0.01)))


def test_the_sentence_gives_the_numbers():
    objects = two_classes([1.0] * 10, [0, 1] * 5)
    text = str(guarantee_of(objects, BOTH, 0.0, 2.0, Gini()))
    assert text == (
        "guarantee: expected cost at most 20γ = 3,461 times the least (Theorem 1; n = 10, "
        "p_min = 0.1, Δ ≥ 0.00444, ε_h ≤ 0.9)"
    )


@pytest.mark.parametrize(
    ("coverage", "theta", "impurity", "reason"),
    [
        ((), 0.0, Gini(), "needs coverages"),
        (BOTH, 0.0, TotalPairs(), "impurity rt is not known to be decomposable"),
        (BOTH, 0.0, Misclassification(), "misclassification is not known to be decomposable"),
        (BOTH, 0.0, None, "impurity none"),
        (BOTH, 0.2, Gini(), "least increment of coverage probability is not known"),
    ],
)
def test_where_nothing_is_promised_the_reason_is_said(coverage, theta, impurity, reason):
    objects = two_classes([0.3, 1.1, 0.7, 0.9], [0, 1, 0, 1])
    found = guarantee_of(objects, coverage, theta, 1.0, impurity)
    assert reason in str(found) and str(found).startswith("no guarantee: ")


def test_one_class_needs_no_guarantee():
    whole = guarantee_of(two_classes([1.0] * 4, [0, 1] * 2), BOTH, 1.0, 1.0, Gini())
    assert str(whole) == "no guarantee: the root is a leaf"
    assert "the root is a leaf" in str(
        guarantee_of(two_classes([1.0] * 4, [0] * 4), BOTH, 0.0, 1.0, Gini())
    )


@given(st.integers(0, 30), st.booleans())
def test_objects_that_no_test_tells_from_another_class_are_counted(seed, merged):
    generator = np.random.default_rng(seed)
    objects = toy_objects(toy_table(0, n_rows=24))
    codes = generator.integers(0, 2, objects.codes.shape).astype(np.uint8)
    raw = generator.integers(0, 2, (24, 1)) * generator.choice([0.0, -0.0, 1.5], (24, 1))
    objects = attrs.evolve(objects, codes=codes, raw=raw, count=np.full(24, 1 + merged))
    same = lambda i, j: (codes[i] == codes[j]).all() and (raw[i] == raw[j]).all()
    alike = [
        any(same(i, j) and objects.label[i] != objects.label[j] for j in range(24))
        for i in range(24)
    ]
    assert conflicting(objects) == sum(alike), (
        "merged or not: what an encoder leaves alike is alike"
    )


def test_a_run_is_told_what_theorem_1_says():
    objects = distinct(toy_objects(toy_table(1)))
    told = lambda criterion, coverage: criterion.notes(
        Problem(
            objects,
            prices_of(objects),
            Parts(method=None, criterion=criterion, impurity=ToyGini(), coverage=coverage),
        )
    )[-1]
    assert "toy_gini is not known" in told(Regularized(), BOTH)
    assert told(Regularized(lam=0.0), (UnlikePairs(),)).startswith("guarantee: ")
    assert told(Regularized(lam=0.0), (OthersExcluded(),)).startswith("guarantee: ")
    assert "lam=inf" in told(Regularized(lam=math.inf), BOTH)
    parts = Parts(method=None, impurity=Gini(), coverage=BOTH)
    text = Regularized(d_term=Weighting.authors).notes(Problem(objects, prices_of(objects), parts))[
        -1
    ]
    assert text == "no guarantee: the theorem is proved for criterion.d_term=paper"
    light = Parts(method=None, impurity=Gini(), coverage=(Probability(theta=0.1), UnlikePairs()))
    objects = two_classes([1.0] * 20, [0, 1] * 10)
    told = Regularized(theta=0.1).notes(Problem(objects, prices_of(objects), light))[-1]
    assert (
        told
        == "no guarantee: nodes of at most theta=0.1 are divided further; choose stopping=[mass]"
    )


def test_weights_that_do_not_sum_to_1_are_normalised_with_a_note_or_refused():
    raw, labels = np.array([0.3, 1.1, 0.7, 0.9]), [0, 1, 0, 1]
    told = lambda weights: Regularized().notes(
        Problem(
            objects := two_classes(weights, labels),
            prices_of(objects),
            Parts(method=None, impurity=Gini(), coverage=BOTH),
        )
    )
    first, promise = told(raw)
    assert first == "the weights of the training rows sum to 3: probabilities are their shares"
    assert told(raw / 3) == (promise,)
    strict, rows = Probability(normalise=False), np.arange(2)
    with pytest.raises(
        DataError, match="sum to 3 and not to 1; choose coverage.probability.normalise=true"
    ):
        strict.prepare(two_classes(raw, labels))
    expected = Probability().covered(two_classes(raw, labels), rows)
    assert strict.covered(two_classes(raw / 3, labels), rows) == pytest.approx(expected)
    equal = attrs.evolve(two_classes(raw, labels), weight=np.ones(4))
    equal = attrs.evolve(equal, table=attrs.evolve(equal.table, weights=None))
    assert strict.prepare(equal).known == 4.0


@pytest.mark.parametrize("weights", [[1e-9, 1e9, 1e-9], [1e-9, 1e9, 1e9]])
def test_a_row_whose_share_float64_does_not_tell_from_0_is_refused(weights):
    objects = two_classes(np.array(weights), [0, 1, 0])
    with pytest.raises(DataError, match="of a row of weight 1e-09 from 0; give the rows weights"):
        Probability().prepare(objects)
