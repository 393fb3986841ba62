"""MLflow's UI as ``arboretum ui`` serves it: a run opens in the mode for models, until somebody
chooses the other.

The page asks its address or the browser's memory which mode it is in, not the experiment's kind,
and its own links to runs say nothing.  Loaded by the server's worker in the place of MLflow's own
application.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mlflow.server import app as pages
from mlflow.server.fastapi_app import app

if TYPE_CHECKING:
    from flask import Response

__all__ = ["app"]

MODE = "mlflow.workflowType_v1"
SCRIPT = f"""<script>
localStorage.getItem("{MODE}") ?? localStorage.setItem("{MODE}", '"machine_learning"')
</script>"""
index = pages.view_functions["serve"]


def serve() -> Response:
    """MLflow's page, which first remembers the mode where none was chosen."""
    # Flask types what any view may return, and makes responses of less
    response = pages.make_response(cast("Response", index()))
    response.direct_passthrough = False
    response.set_data(response.get_data().replace(b"<head>", b"<head>" + SCRIPT.encode(), 1))
    return response


pages.view_functions["serve"] = serve
