"""Data sets, splits and encoders of the laboratory."""

from arboretum.api import hookimpl

# a stored tree may hold these tests; light
from arboretum_data.encoding import columns  # noqa: F401


@hookimpl
def arboretum_components() -> list[type]:
    """Return every data set known by name (the data home's too), files, OpenML, generators; splits;
    encoders; row stores.
    """
    from arboretum_data.encoding.encoder import ENCODERS
    from arboretum_data.file import DfepDataset, FileDataset, RandomTableDataset
    from arboretum_data.home import data_home
    from arboretum_data.named import named_components
    from arboretum_data.openml import OpenMLDataset
    from arboretum_data.rows import ChunkRows, MemoryRows
    from arboretum_data.splits import Contiguous, Holdout, KFold

    sources = [FileDataset, OpenMLDataset, RandomTableDataset, DfepDataset]
    named = named_components(data_home(), frozenset(vars(source)["name"] for source in sources))
    return [*sources, *named, Holdout, KFold, Contiguous, *ENCODERS, MemoryRows, ChunkRows]
