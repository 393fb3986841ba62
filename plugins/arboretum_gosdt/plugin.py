"""Registration of the plugin; imports neither numba nor anything heavy."""

from arboretum.api import hookimpl
from arboretum_gosdt.paper.reproduction import GosdtStudy
from arboretum_gosdt.problem.greedy import CostReduction, SumsReduction
from arboretum_gosdt.problem.objectives import (
    Accuracy,
    Balanced,
    CostMatrix,
    InstanceCost,
    Weighted,
)
from arboretum_gosdt.problem.ranked import Auc, FScore, PartialAuc
from arboretum_gosdt.regression.problem import AbsoluteDeviation
from arboretum_gosdt.regression.solver import Regression
from arboretum_gosdt.solvers.constrained import Constrained
from arboretum_gosdt.solvers.fronts import NonDominated
from arboretum_gosdt.solvers.gosdt import Gosdt
from arboretum_gosdt.solvers.path import Path
from arboretum_gosdt.solvers.rashomon import Rashomon
from arboretum_gosdt.solvers.thresholds import GosdtThresholds
from arboretum_gosdt.sums.objectives import PoissonDeviance, SquaredError
from arboretum_gosdt.sums.solver import LeafSums


@hookimpl
def arboretum_components() -> list[type]:
    """Return the components of this plugin; its presets lie beside."""
    sums = [Accuracy, Balanced, Weighted, CostMatrix, InstanceCost]
    others = [FScore, Auc, PartialAuc, SquaredError, AbsoluteDeviation]
    return [
        *sums,
        *others,
        Gosdt,
        GosdtThresholds,
        NonDominated,
        Rashomon,
        Path,
        Regression,
        Constrained,
        GosdtStudy,
        CostReduction,
        SumsReduction,
        PoissonDeviance,
        LeafSums,
    ]
