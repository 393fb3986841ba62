"""Registration; light: mlflow is loaded neither here nor in the command's own process (see
:mod:`.client`).
"""

from arboretum.api import hookimpl
from arboretum_mlflow.model_files import MLflowModel
from arboretum_mlflow.tracker import MLflowTracker


@hookimpl
def arboretum_components() -> list[type]:
    """Return the tracker ``mlflow``, and the form ``mlflow_model`` of a tree."""
    return [MLflowTracker, MLflowModel]
