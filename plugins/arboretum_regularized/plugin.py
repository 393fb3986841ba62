"""Registration of the plugin; imports neither numba nor anything heavy."""

from arboretum.api import hookimpl
from arboretum_regularized.coverages import COVERAGES, RULES
from arboretum_regularized.criteria import BASELINES, CRITERIA
from arboretum_regularized.impurities import Tsallis
from arboretum_regularized.paper.reproduction import Regularized
from arboretum_regularized.tuning import Descending


@hookimpl
def arboretum_components() -> list[type]:
    """Return the components of this plugin; the presets of the paper's methods lie beside."""
    return [*CRITERIA, *BASELINES, *COVERAGES, *RULES, Tsallis, Descending, Regularized]
