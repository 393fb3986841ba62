"""What this plugin registers.  Light: no numba, no scikit-learn."""

from __future__ import annotations

from arboretum.api import hookimpl
from arboretum_classic.ball import Balls
from arboretum_classic.c45 import C45, C45Release8, C45Textbook
from arboretum_classic.c45_growth import Quinlan, QuinlanTextbook
from arboretum_classic.chi2 import ChiSquared
from arboretum_classic.cost_complexity import CostComplexity, PathTable
from arboretum_classic.criteria import GainRatio, RandomChoice, Reduction
from arboretum_classic.decision_table import DecisionTable
from arboretum_classic.expected_loss import ExpectedLoss
from arboretum_classic.fuzzy import SoftSplits
from arboretum_classic.impurities import (
    AbsoluteError,
    Auto,
    Entropy,
    Gini,
    Misclassification,
    Poisson,
    SquaredPairs,
    Variance,
)
from arboretum_classic.intervals import Intervals
from arboretum_classic.m_of_n import MOfNIntervals
from arboretum_classic.missing import Fractional, Ignore, Majority, OwnCategory, Stops, Surrogates
from arboretum_classic.oblique import ObliqueSums
from arboretum_classic.oblivious import Oblivious
from arboretum_classic.oblivious_solver import ObliviousSolver
from arboretum_classic.predicates import Categories, RandomThresholds, Thresholds
from arboretum_classic.pruning import (
    ErrorBased,
    ErrorBasedRelease8,
    MEstimate,
    Pessimistic,
    ReducedError,
)
from arboretum_classic.pruning_optimal import OptimalSubtree
from arboretum_classic.reproduction import Lecture
from arboretum_classic.rpart import RpartLimits, RpartPruning, RpartSurrogates
from arboretum_classic.subsets import OrderedSubset, Subset


@hookimpl
def arboretum_components() -> list[type]:
    """The impurities, criteria and pruners of the classical methods, and what becomes of missing
    values; presets lie beside.
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
