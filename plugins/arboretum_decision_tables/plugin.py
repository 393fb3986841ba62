"""Registration of the plugin; imports neither numba nor anything heavy."""

from arboretum.api import hookimpl
from arboretum_decision_tables.complexities import COMPLEXITIES, ZeroError
from arboretum_decision_tables.criteria import CRITERIA, OutsideMajority, UnlikePairs
from arboretum_decision_tables.exact.solver import SubtableDP
from arboretum_decision_tables.paper.reproduction import DecisionTables


@hookimpl
def arboretum_components() -> list[type]:
    """Return the components of this plugin; the presets of the sixteen greedy algorithms lie
    beside.
    """
    return [
        OutsideMajority,
        UnlikePairs,
        *CRITERIA,
        *COMPLEXITIES,
        ZeroError,
        SubtableDP,
        DecisionTables,
    ]
