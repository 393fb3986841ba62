"""Appendix A: (50, 50) divided into (24, 0) | (26, 50) or into (25, 25) | (25, 25)."""

from __future__ import annotations

from fractions import Fraction

import definition_oracle
import numpy as np
import pytest
from definition_oracle import Instance
from instances import contingency, encoded, problem

from arboretum.api import Context, grow
from arboretum_basics.stopping import MassAtMost
from arboretum_classic.criteria.impurities import Entropy, Gini
from arboretum_regularized.coverages import Probability, UnlikePairs
from arboretum_regularized.criteria import ImpurePairs, Regularized

TELLING, USELESS = 0, 1
BOTH = ("probability", "pairs")


@pytest.fixture(scope="module")
def example() -> Instance:
    """One hundred objects of probability 1/100; the first fifty are of class 0."""
    telling = [int(i >= 24) for i in range(100)]
    return Instance(
        [Fraction(1, 100)] * 100,
        [int(i >= 50) for i in range(100)],
        [telling, [i % 2 for i in range(100)]],
        [1, 1],
    )


def parts(criterion, impurity, coverage=(Probability(), UnlikePairs())):
    from arboretum.api import Parts

    return Parts(
        method=None,
        criterion=criterion,
        impurity=impurity,
        coverage=coverage,
        stopping=(MassAtMost(),),
    )


def test_the_pairs_are_those_of_the_text(example):
    left = [example.pairs(s) for s in example.outcomes(example.everyone, TELLING)]
    right = [example.pairs(s) for s in example.outcomes(example.everyone, USELESS)]
    assert (example.pairs(example.everyone), left, right) == (2500, [0, 1300], [625, 625])


def test_the_terms_are_those_of_the_text(example):
    objects = encoded(example)
    criterion = Regularized()
    found = {}
    for test in (TELLING, USELESS):
        tables, node = contingency(
            example,
            objects,
            example.everyone,
            test,
            criterion,
            Entropy(),
            (Probability(), UnlikePairs()),
        )
        found[test] = {
            name: float(value[0]) for name, value in criterion.terms(tables, node).items()
        }
    assert found[TELLING]["B"] == pytest.approx(0.24) and found[USELESS]["B"] == pytest.approx(0.5)
    assert found[TELLING]["E"] == pytest.approx(0.700606, abs=5e-7) and found[USELESS][
        "E"
    ] == pytest.approx(0.876263, abs=5e-7)
    assert found[TELLING]["D"] == pytest.approx(0.295618, abs=5e-7) and found[USELESS][
        "D"
    ] == pytest.approx(0.0, abs=1e-12)


def test_the_efficiency_is_exact(example):
    """Uncovered of f after the useless test: 49 of 99 other objects and 625 of 2500 pairs; after
    the telling one, 24 objects are covered, and the others have 75 of 99 and 1300 of 2500 left.
    """
    found = [
        definition_oracle.efficiency(example, BOTH, example.everyone, [], test)
        for test in (TELLING, USELESS)
    ]
    telling = Fraction(24, 100) + Fraction(76, 100) * (1 - Fraction(75, 99) * Fraction(1300, 2500))
    assert found == [telling, 1 - Fraction(49, 99) * Fraction(625, 2500)]


@pytest.mark.parametrize(
    ("impurity", "flip"), [(Entropy(), 1.473717), (Gini(), 2.759158)], ids=["entropy", "gini"]
)
def test_the_choice_flips_where_the_text_says(example, impurity, flip):
    def chosen(lam):
        tree = grow(problem(example, parts(Regularized(lam=lam), impurity)), Context()).tree
        return int(tree.rule(0).columns[0].removeprefix("t"))

    assert [chosen(lam) for lam in (0.0, flip - 1e-6, flip + 1e-6, 100.0, np.inf)] == [
        USELESS,
        USELESS,
        TELLING,
        TELLING,
        TELLING,
    ]


def test_ip_takes_the_useless_test(example):
    tree = grow(problem(example, parts(ImpurePairs(), Gini(), ())), Context()).tree
    assert tree.rule(0).columns == ("t1",)
    assert tree.score[0] == 1250
