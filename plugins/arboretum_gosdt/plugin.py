"""Registration of the plugin; imports neither numba nor anything heavy."""

from __future__ import annotations

from arboretum.api import hookimpl
from arboretum_gosdt.objectives import Accuracy, Balanced, CostMatrix, Weighted
from arboretum_gosdt.solver import Gosdt


@hookimpl
def arboretum_components() -> list[type]:
    """The components of this plugin; its presets lie beside."""
    return [Accuracy, Balanced, Weighted, CostMatrix, Gosdt]
