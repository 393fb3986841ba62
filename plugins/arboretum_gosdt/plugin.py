"""Registration of the plugin; imports neither numba nor anything heavy."""

from __future__ import annotations

from arboretum.api import hookimpl
from arboretum_gosdt.constrained import Constrained
from arboretum_gosdt.fronts import NonDominated
from arboretum_gosdt.objectives import Accuracy, Balanced, CostMatrix, Weighted
from arboretum_gosdt.path import Path
from arboretum_gosdt.ranked import Auc, FScore, PartialAuc
from arboretum_gosdt.rashomon import Rashomon
from arboretum_gosdt.regression import AbsoluteDeviation, Regression, SquaredError
from arboretum_gosdt.solver import Gosdt
from arboretum_gosdt.thresholds import GosdtThresholds


@hookimpl
def arboretum_components() -> list[type]:
    """The components of this plugin; its presets lie beside."""
    sums, others = (
        [Accuracy, Balanced, Weighted, CostMatrix],
        [FScore, Auc, PartialAuc, SquaredError, AbsoluteDeviation],
    )
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
    ]
