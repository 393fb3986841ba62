"""Registration of the plugin; imports neither scikit-learn nor anything heavy."""

from arboretum.api import hookimpl
from arboretum_policy.loans import Loans
from arboretum_policy.objective import PolicyValue
from arboretum_policy.trial import Trial


@hookimpl
def arboretum_components() -> list[type]:
    """Return the components of this plugin; its preset lies beside."""
    return [PolicyValue, Trial, Loans]
