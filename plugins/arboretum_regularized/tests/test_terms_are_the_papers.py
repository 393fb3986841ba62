"""B, E, D, f^p and f^φ against the definitions over objects, in exact arithmetic."""

from __future__ import annotations

import itertools
import math

import definition_oracle
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from instances import contingency, encoded, instances, kernel_node

from arboretum.kernels import KernelNode
from arboretum.testing.effort import examples
from arboretum_classic.criteria.impurities import Entropy, Gini, Misclassification
from arboretum_decision_tables.criteria import UnlikePairs as TotalPairs
from arboretum_regularized import kernels, reference
from arboretum_regularized.coverages import OthersExcluded, Probability, UnlikePairs
from arboretum_regularized.criteria import Regularized, Weighting
from arboretum_regularized.impurities import Tsallis

CLOSE = 1e-11
"""Absolute, of numbers up to 1 (λ and the inverse of the price at most 10 and 1).  A term sums at
most 8 objects and divides by p(S) − θ, which is at least 1/2000 here: 64 · 2⁻⁵³ · 2000 = 1.4e-11
would be the worst case of every step; a wrong term is off by a thousandth or more.
"""

FAMILIES = [
    (),
    ("probability",),
    ("pairs",),
    ("excluded",),
    *itertools.combinations(("probability", "pairs", "excluded"), 2),
    ("probability", "pairs", "excluded"),
]


def coverages(names, theta):
    made = {
        "probability": Probability(theta=float(theta)),
        "pairs": UnlikePairs(),
        "excluded": OthersExcluded(),
    }
    return tuple(made[name] for name in names)


def shares(x, impurity):
    """The impurity of class probabilities, for the literal form."""
    return lambda masses: float(impurity.value(np.array([float(m) for m in masses])))


@st.composite
def nodes(draw, **limits):
    """(instance, tests on the path, objects of the node, a test that divides them)."""
    x = draw(instances(**limits))
    asked = draw(st.lists(st.sampled_from(x.tests), max_size=len(x.tests) - 1, unique=True))
    i = draw(st.sampled_from(x.everyone))
    part = x.together(i, asked)
    tests = list(definition_oracle.candidates(x, part, asked))
    assume(tests)
    return x, asked, part, draw(st.sampled_from(tests))


@settings(deadline=None)
@given(nodes())
def test_a_coverage_is_the_function_of_the_tests_on_the_path(case):
    x, asked, part, _ = case
    objects = encoded(x)
    for name in definition_oracle.FUNCTIONS:
        (component,) = coverages((name,), x.theta)
        expected = [float(definition_oracle.FUNCTIONS[name](x, i, asked)) for i in part]
        rows = np.array(part)
        assert component.covered(objects, rows) == pytest.approx(expected, abs=CLOSE)
        assert (
            component.prepare(objects).covered(objects, rows) == component.covered(objects, rows)
        ).all()


@settings(deadline=None)
@given(instances())
def test_every_object_starts_uncovered_and_is_covered_by_all_tests(x):
    objects = encoded(x)
    for component in coverages(definition_oracle.FUNCTIONS, x.theta):
        assert component.covered(objects, np.array(x.everyone)) == pytest.approx(0.0, abs=CLOSE)
        for i in x.everyone:
            assert component.covered(objects, np.array(x.together(i, x.tests))).tolist() == [1.0]


@settings(deadline=None, max_examples=4 * settings().max_examples)
@given(
    nodes(),
    st.sampled_from(FAMILIES),
    st.sampled_from([0.0, 0.25, 1.0, 10.0, math.inf]),
    st.sampled_from(Weighting),
)
def test_the_terms_are_those_of_the_definitions(case, family, lam, form):
    x, asked, part, test = case
    objects = encoded(x)
    for impurity in (Entropy(), Gini(), Tsallis()):
        criterion = Regularized(lam=lam, theta=float(x.theta), d_term=form)
        tables, node = contingency(
            x, objects, part, test, criterion, impurity, coverages(family, x.theta)
        )
        found = {name: float(value[0]) for name, value in criterion.terms(tables, node).items()}
        b = definition_oracle.balance(x, part, test)
        e = definition_oracle.efficiency(x, family, part, asked, test)
        d = definition_oracle.discrimination(
            x, shares(x, impurity), part, test, authors=form is Weighting.authors
        )
        assert found["B"] == pytest.approx(float(b), abs=CLOSE)
        assert found["E"] == pytest.approx(float(e), abs=CLOSE)
        assert found["D"] == pytest.approx(float(d) if lam else 0.0, abs=CLOSE)
        whole = d if lam == math.inf else b + e + lam * d
        assert found["Z"] == pytest.approx(float(whole / x.price[test]), abs=10 * CLOSE)


@settings(deadline=None, max_examples=4 * settings().max_examples)
@given(
    nodes(),
    st.sampled_from(FAMILIES),
    st.sampled_from([0.0, 0.25, 1.0, 10.0, math.inf]),
    st.sampled_from(Weighting),
)
def test_a_kernel_and_its_twin_give_the_score_of_the_terms(case, family, lam, form):
    x, _, part, test = case
    objects = encoded(x)
    for impurity in (Entropy(), Gini(), Misclassification()):
        criterion = Regularized(lam=lam, theta=float(x.theta), d_term=form)
        coverage = coverages(family, x.theta)
        kernel = criterion.kernel(impurity, coverage)
        if kernel is None:
            assert lam == math.inf and form is Weighting.authors
            return
        tables, node = contingency(x, objects, part, test, criterion, impurity, coverage)
        expected = float(criterion.score(tables, node)[0])
        seen = kernel_node(criterion, node, impurity)
        given_ = (tables.weights[0], tables.counts[0], tables.price[0], tables.extra[0], seen)
        plain = slow(kernel)(*given_)
        assert plain == pytest.approx(expected, abs=10 * CLOSE)
        assert reference.score_of(kernel.__name__, *given_) == pytest.approx(plain, abs=10 * CLOSE)


def slow(kernel):
    """The kernel as plain Python, its helpers, too."""
    from arboretum.engine.search.kernel_check import as_plain_python

    return as_plain_python(kernel)


@examples(50)
@given(nodes(), st.sampled_from(FAMILIES))
def test_the_kernels_of_all_families_have_names_of_their_own_and_twins(case, family):
    x, _, part, test = case
    objects, coverage, names = encoded(x), coverages(family, x.theta), []
    for lam, impurity in itertools.product(
        (0.0, 2.0, math.inf), (Entropy(), Gini(), Misclassification(), TotalPairs())
    ):
        criterion = Regularized(lam=lam, theta=float(x.theta))
        kernel = criterion.kernel(impurity, coverage)
        assert criterion.kernel(impurity, coverage[::-1]) is kernel
        tables, node = contingency(x, objects, part, test, criterion, impurity, coverage)
        given_ = (
            tables.weights[0],
            tables.counts[0],
            tables.price[0],
            tables.extra[0],
            kernel_node(criterion, node, impurity),
        )
        size = max(1.0, float(node.impurity))  # a total is of the size of φ(S)
        assert reference.score_of(kernel.__name__, *given_) == pytest.approx(
            slow(kernel)(*given_), abs=10 * CLOSE * size
        )
        names.append(kernel.__name__)
    assert len(set(names)) == 1 + 4 + 4


def test_baselines_have_twins_of_the_same_names():
    for kernel in (kernels.balance, kernels.impure_pairs):
        weights = np.array([[3.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
        counts = np.array([[2, 1], [2, 2], [0, 1]])
        for params in itertools.product((0.0, 1.0), repeat=2):
            node = KernelNode(
                9.0, 18.0, math.nan, 1, 0.0, np.array(params), lambda weights: math.nan
            )
            given_ = (weights, counts, 1.5, np.zeros((3, 1)), node)
            assert getattr(reference, kernel.__name__)(*given_) == pytest.approx(
                slow(kernel)(*given_), rel=1e-14
            )


@settings(deadline=None)
@given(nodes())
def test_the_column_is_what_heavy_objects_add(case):
    x, _, part, test = case
    criterion, objects = Regularized(theta=float(x.theta)), encoded(x)
    _, node = contingency(x, objects, part, test, criterion)
    seen = kernel_node(criterion, node)
    for i in part:
        found = criterion.column(objects.weight[i], x.label[i], seen)
        assert found == pytest.approx(
            reference.excess_weight(objects.weight[i], x.label[i], seen), rel=1e-9, abs=CLOSE
        )
        assert (found == 0.0) == (x.p[i] <= x.theta or x.mass(part) <= x.theta or len(part) == 1)


@settings(deadline=None)
@given(nodes())
def test_the_two_forms_of_the_pairs_differ_by_a_factor_of_2_in_total(case):
    """Appendix A: by a simple double counting."""
    x, _, part, _ = case
    assert sum(x.others(i, part) for i in part) == 2 * x.pairs(part)
