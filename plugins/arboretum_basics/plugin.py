"""Registration; light: no numba."""

from __future__ import annotations

from arboretum.api import hookimpl
from arboretum_basics.costs import PerColumn, RandomIntegers, SetUp, TablePrices, Unit
from arboretum_basics.methods import Exact, Greedy
from arboretum_basics.stopping import ImpurityAtMost, MassAtMost, Pure, Standard


@hookimpl
def arboretum_components() -> list[type]:
    """Stopping rules, costs and the recipes ``greedy`` and ``exact``."""
    costs = [Unit, TablePrices, RandomIntegers, PerColumn, SetUp]
    return [Standard, Pure, MassAtMost, ImpurityAtMost, *costs, Greedy, Exact]
