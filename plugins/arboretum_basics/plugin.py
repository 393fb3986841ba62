"""Registration; light: no numba."""

from __future__ import annotations

from arboretum.api import hookimpl
from arboretum_basics.costs import PerColumn, RandomIntegers, TablePrices, Unit
from arboretum_basics.methods import Exact, Greedy
from arboretum_basics.stopping import ImpurityAtMost, MassAtMost, Pure, Standard


@hookimpl
def arboretum_components() -> list[type]:
    """Stopping rules, costs and the recipes ``greedy`` and ``exact``."""
    return [Standard, Pure, MassAtMost, ImpurityAtMost, Unit, TablePrices, RandomIntegers, PerColumn, Greedy, Exact]
