"""Registration of the plugin; imports nothing heavy."""

from arboretum.api import hookimpl
from arboretum_survival.lifetimes import Lifetimes
from arboretum_survival.log_rank import LogRank
from arboretum_survival.objective import Survival


@hookimpl
def arboretum_components() -> list[type]:
    """Return the components of this plugin; its presets lie beside."""
    return [Survival, LogRank, Lifetimes]
