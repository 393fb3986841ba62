"""What this plugin registers.  Light: no numba, no scikit-learn."""

from __future__ import annotations

from arboretum.api import hookimpl
from arboretum_classic.c45.criterion import C45, C45Release8, C45Textbook
from arboretum_classic.c45.growth import Quinlan, QuinlanTextbook
from arboretum_classic.criteria.criteria import GainRatio, RandomChoice, Reduction
from arboretum_classic.criteria.impurities import (
    AbsoluteError,
    Auto,
    Entropy,
    Gini,
    Misclassification,
    Poisson,
    SquaredPairs,
    Variance,
)
from arboretum_classic.fuzzy.method import SoftSplits
from arboretum_classic.missing.rpart import RpartLimits, RpartPruning, RpartSurrogates
from arboretum_classic.missing.rules import (
    Fractional,
    Ignore,
    Majority,
    OwnCategory,
    Stops,
    Surrogates,
)
from arboretum_classic.oblivious.decision_table import DecisionTable
from arboretum_classic.oblivious.method import Oblivious
from arboretum_classic.oblivious.solver import ObliviousSolver
from arboretum_classic.paper.reproduction import Lecture
from arboretum_classic.predicates.ball import Balls
from arboretum_classic.predicates.intervals import Intervals
from arboretum_classic.predicates.m_of_n import MOfNIntervals
from arboretum_classic.predicates.oblique import ObliqueSums
from arboretum_classic.predicates.predicates import Categories, RandomThresholds, Thresholds
from arboretum_classic.predicates.subsets import OrderedSubset, Subset
from arboretum_classic.pruning.cost_complexity import CostComplexity, PathTable
from arboretum_classic.pruning.expected_loss import ExpectedLoss
from arboretum_classic.pruning.optimal import OptimalSubtree
from arboretum_classic.pruning.pruners import (
    ErrorBased,
    ErrorBasedRelease8,
    MEstimate,
    Pessimistic,
    ReducedError,
)
from arboretum_classic.stopping.chi2 import ChiSquared


@hookimpl
def arboretum_components() -> list[type]:
    """Return the impurities, criteria and pruners of the classical methods, and what becomes of
    missing values; presets lie beside.
    """
    return [
        C45,
        C45Release8,
        C45Textbook,
        Quinlan,
        QuinlanTextbook,
        Reduction,
        GainRatio,
        RandomChoice,
        Auto,
        Gini,
        Entropy,
        Misclassification,
        Variance,
        AbsoluteError,
        Poisson,
        SquaredPairs,
        CostComplexity,
        ErrorBased,
        ErrorBasedRelease8,
        Pessimistic,
        ReducedError,
        MEstimate,
        OptimalSubtree,
        ChiSquared,
        OrderedSubset,
        Subset,
        ExpectedLoss,
        PathTable,
        RpartLimits,
        RpartPruning,
        RpartSurrogates,
        Fractional,
        Ignore,
        Majority,
        OwnCategory,
        Stops,
        Surrogates,
        Categories,
        Intervals,
        RandomThresholds,
        Thresholds,
        MOfNIntervals,
        ObliqueSums,
        Balls,
        Oblivious,
        ObliviousSolver,
        DecisionTable,
        SoftSplits,
        Lecture,
    ]
