"""Registration of the plugin; imports neither numba nor anything heavy."""

from arboretum.api import hookimpl
from arboretum_maxcost.fronts.solver import FrontSolver
from arboretum_maxcost.greedy.combination import Combined
from arboretum_maxcost.greedy.criteria import CRITERIA
from arboretum_maxcost.greedy.impurities import IMPURITIES
from arboretum_maxcost.greedy.portfolio import BestOf
from arboretum_maxcost.greedy.tradeoff import TradeOff
from arboretum_maxcost.optimal.objectives import MaxCost
from arboretum_maxcost.optimal.solver import MaxCostSolver
from arboretum_maxcost.paper.reproduction import MaxCostStudy
from arboretum_maxcost.stopping import Budget


@hookimpl
def arboretum_components() -> list[type]:
    """Return the components of this plugin; its presets lie beside."""
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
