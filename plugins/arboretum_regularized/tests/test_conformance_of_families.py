"""The criterion passes the suite of its kind with every family of coverages and impurities that
has kernels.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arboretum.api import CapabilityError, ConfigError, DataError, Node, Tables
from arboretum.engine.search.compiled_criterion import numeric_fields
from arboretum.testing import CriterionSuite, ImpuritySuite
from arboretum.testing.tables import ToyGini
from arboretum_classic.criteria.impurities import Entropy, Gini, Misclassification
from arboretum_decision_tables.criteria import UnlikePairs as TotalPairs
from arboretum_regularized.coverages import OthersExcluded, Probability, UnlikePairs
from arboretum_regularized.criteria import (
    BASELINES,
    CRITERIA,
    EC45,
    ECART,
    CostBenefit,
    ImpurePairs,
    Regularized,
    SubmodularRanking,
    Weighting,
)
from arboretum_regularized.impurities import Tsallis

pytestmark = pytest.mark.slow  # one suite per kernel of the family


class _Suite(CriterionSuite):
    __test__ = False
    # B leaves out the outcome with the most objects, the first of several: the others may weigh
    # another amount
    outcome_symmetric = False
    scale_free = True
    used = Regularized()

    @pytest.fixture
    def component(self):
        return self.used


def suite(component, impurity, *coverage) -> type:
    body = {
        "__test__": True,
        "used": component,
        "impurity": pytest.fixture(lambda self: impurity),
        "coverage": pytest.fixture(lambda self: coverage),
    }
    return type(
        "Test_" + "_".join(each.name for each in (component, impurity, *coverage)), (_Suite,), body
    )


BOTH = (Probability(), UnlikePairs())

TestAuthors = suite(Regularized(lam=10.0, d_term=Weighting.authors), Entropy(), *BOTH)
TestGini = suite(Regularized(lam=0.5, theta=0.1), Gini(), Probability(theta=0.1))
TestPairs = suite(Regularized(lam=0.5), Gini(), UnlikePairs())
TestExcluded = suite(Regularized(lam=2.0), Entropy(), OthersExcluded())
TestAnyMean = suite(Regularized(lam=2.0), Misclassification())
TestRanking = suite(SubmodularRanking(theta=0.1), Entropy(), Probability(theta=0.1), UnlikePairs())
TestNumPy = suite(Regularized(lam=2.0), Tsallis(), *BOTH)
TestProbabilityExcluded = suite(
    Regularized(lam=2.0, theta=0.1), Gini(), Probability(theta=0.1), OthersExcluded()
)
TestPairsExcluded = suite(SubmodularRanking(), Entropy(), UnlikePairs(), OthersExcluded())
TestThree = suite(Regularized(lam=2.0), Entropy(), *BOTH, OthersExcluded())
TestNothingButGain = suite(Regularized(lam=float("inf")), Entropy())
TestAuthorsPairs = suite(ImpurePairs(weighting=Weighting.authors), Entropy())
TestPairsWithoutPrice = suite(ImpurePairs(per_price=False), Entropy())


class TestTotalInZ(_Suite):
    __test__ = True
    used = Regularized(lam=0.25)
    # pairs grow with the square of the weight, B with the weight: which wins depends on the unit
    scale_free = False

    @pytest.fixture
    def impurity(self):
        return TotalPairs()


class TestCostBenefitOfATotal(TestTotalInZ):
    used = CostBenefit()
    outcome_symmetric = True


class TestTsallis(ImpuritySuite):
    component = Tsallis(order=3.0)


def test_kernels_find_lambda_theta_and_the_form_in_this_order():
    for criterion in (Regularized, SubmodularRanking, EC45, ECART):
        made = criterion(lam=0.5, theta=0.25, d_term=Weighting.authors)
        assert numeric_fields(made).tolist() == [0.5, 0.25, 1.0]
    assert numeric_fields(ImpurePairs(per_price=False, weighting=Weighting.authors)).tolist() == [
        0.0,
        1.0,
    ]


def test_each_family_has_the_kernel_of_its_name():
    both = BOTH
    name = lambda criterion, impurity, coverage: criterion.kernel(impurity, coverage).__name__
    assert name(Regularized(), Entropy(), both) == "regularized_entropy_probability_pairs"
    assert name(Regularized(), Entropy(), both[::-1]) == "regularized_entropy_probability_pairs"
    assert name(Regularized(), Misclassification(), both[:1]) == "regularized_mean_probability"
    assert name(Regularized(), TotalPairs(), ()) == "regularized_total"
    assert name(Regularized(), Gini(), (OthersExcluded(),)) == "regularized_gini_excluded"
    assert name(Regularized(lam=0), Tsallis(), both) == "submodular_probability_pairs"
    assert name(SubmodularRanking(), None, both[1:]) == "submodular_pairs"
    assert name(Regularized(lam=float("inf")), Gini(), both) == "cost_benefit_gini"
    assert name(Regularized(), Tsallis(), both) == "regularized_mean_probability_pairs"
    assert (
        name(Regularized(), Entropy(), (*both, OthersExcluded()))
        == "regularized_entropy_probability_pairs_excluded"
    )
    assert Regularized().kernel(Entropy(), (Probability(), Probability())) is None


def test_an_impurity_that_only_has_the_name_is_not_taken_for_entropy():
    pretender = type("Pretender", (ToyGini,), {"name": "entropy"})()
    assert Regularized().kernel(pretender, ()).__name__ == "regularized_mean"


def test_a_coverage_of_the_same_name_by_somebody_else_is_scored_by_its_definition():
    @attrs.frozen
    class Mine:
        name = "pairs"

    assert Regularized().kernel(Entropy(), (Mine(),)) is None


def test_two_thetas_are_refused():
    with pytest.raises(
        ConfigError, match=r"criterion.theta is 0.1 and coverage.probability.theta 0.2"
    ):
        Regularized(theta=0.1).kernel(Entropy(), (Probability(theta=0.2),))


def test_the_authors_form_of_a_total_is_refused():
    with pytest.raises(CapabilityError, match="d_term=authors weighs means"):
        Regularized(d_term=Weighting.authors).kernel(TotalPairs(), ())


@pytest.mark.parametrize(
    "criterion", [Regularized(), CostBenefit(), ImpurePairs()], ids=lambda c: c.name
)
@pytest.mark.parametrize("price", [0.0, -1.0])
def test_a_price_that_is_not_positive_is_refused(criterion, price):
    weights = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    tables = Tables(
        weights,
        weights.astype(np.int64),
        np.array([price]),
        np.zeros((1, 2, 1)),
        np.array([0]),
        Gini().value,
    )
    node = Node(np.ones(2), np.ones(2, np.int64), 2.0, 2.0, 0.5, 0)
    with pytest.raises(DataError, match="divides by the price of a test, which must be > 0"):
        criterion.score(tables, node)
    assert criterion.divides_by_price and not ImpurePairs(per_price=False).divides_by_price


def test_no_criterion_claims_regression():
    for criterion in (*CRITERIA, *BASELINES):
        assert "regression" not in criterion.capabilities
        assert "multiclass" in criterion.capabilities
