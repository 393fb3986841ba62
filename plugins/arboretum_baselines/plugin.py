"""Registration of the plugin; imports neither numba nor anything heavy."""

from arboretum.api import hookimpl
from arboretum_baselines.as_printed.solver import GosdtReference
from arboretum_baselines.binoct import BinOct
from arboretum_baselines.dl8.solver import Dl8, Dl85
from arboretum_baselines.osdt.solver import Osdt, Rank


@hookimpl
def arboretum_components() -> list[type]:
    """Return the components of this plugin; its presets lie beside."""
    return [GosdtReference, Dl8, Dl85, Rank, Osdt, BinOct]
