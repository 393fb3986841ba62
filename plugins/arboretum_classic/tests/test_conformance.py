"""Every component of this plugin passes the suite of its kind."""

from __future__ import annotations

import pytest

from arboretum.testing import CriterionSuite, ImpuritySuite
from arboretum_classic.criteria import GainRatio, RandomChoice, Reduction
from arboretum_classic.impurities import AbsoluteError, Entropy, Gini, Misclassification, Variance


class TestGini(ImpuritySuite):
    @pytest.fixture
    def component(self):
        return Gini()


class TestEntropy(ImpuritySuite):
    @pytest.fixture
    def component(self):
        return Entropy()


class TestMisclassification(ImpuritySuite):
    @pytest.fixture
    def component(self):
        return Misclassification()


class TestVariance(ImpuritySuite):
    @pytest.fixture
    def component(self):
        return Variance()


class TestReduction(CriterionSuite):
    scale_free = True

    @pytest.fixture
    def component(self):
        return Reduction()


class TestReductionOfEntropy(CriterionSuite):
    scale_free = True

    @pytest.fixture
    def component(self):
        return Reduction()

    @pytest.fixture
    def impurity(self):
        return Entropy()


class TestGainRatio(CriterionSuite):
    scale_free = True

    @pytest.fixture
    def component(self):
        return GainRatio()


class TestRandomChoice(CriterionSuite):
    @pytest.fixture
    def component(self):
        return RandomChoice()


class TestAbsoluteError(ImpuritySuite):
    @pytest.fixture
    def component(self):
        return AbsoluteError()
