"""Registration; light: Ray is loaded when rows are opened, and nowhere else."""

from arboretum.api import hookimpl
from arboretum_ray.rows import RayRows


@hookimpl
def arboretum_components() -> list[type]:
    """``rows=ray``."""
    return [RayRows]
