"""Registration; light: Optuna is loaded when a search begins, and nowhere else."""

from arboretum.api import hookimpl
from arboretum_optuna.sweeper import Search


@hookimpl
def arboretum_components() -> list[type]:
    """``hydra/sweeper=arboretum_optuna``."""
    return [Search]
