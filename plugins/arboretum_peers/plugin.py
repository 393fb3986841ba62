"""Registration; light: the peers themselves are loaded by their own processes alone (see
:mod:`.worker`).
"""

from arboretum.api import hookimpl
from arboretum_peers.paper.reproduction import Records
from arboretum_peers.solvers import PEERS


@hookimpl
def arboretum_components() -> list[type]:
    """Return a solver per peer, and the optima that others print."""
    return [*PEERS, Records]
