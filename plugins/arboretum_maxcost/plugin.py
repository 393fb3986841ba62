"""Registration of the plugin; imports neither numba nor anything heavy."""

from __future__ import annotations

from arboretum.api import hookimpl
from arboretum_maxcost.combination import Combined
from arboretum_maxcost.criteria import CRITERIA
from arboretum_maxcost.front import FrontSolver
from arboretum_maxcost.impurities import IMPURITIES
from arboretum_maxcost.objectives import MaxCost
from arboretum_maxcost.portfolio import BestOf
from arboretum_maxcost.reproduction import MaxCostStudy
from arboretum_maxcost.solver import MaxCostSolver
from arboretum_maxcost.stopping import Budget
from arboretum_maxcost.tradeoff import TradeOff


@hookimpl
def arboretum_components() -> list[type]:
    """The components of this plugin; its presets lie beside."""
    return [
        Combined,
        *CRITERIA,
        FrontSolver,
        *IMPURITIES,
        MaxCost,
        BestOf,
        MaxCostStudy,
        MaxCostSolver,
        Budget,
        TradeOff,
    ]
