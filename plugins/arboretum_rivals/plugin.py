"""Registration of the plugin; imports neither numba nor anything heavy."""

from __future__ import annotations

from arboretum.api import hookimpl
from arboretum_rivals.binoct import BinOct
from arboretum_rivals.itemsets import Dl8, Dl85
from arboretum_rivals.printed import GosdtReference
from arboretum_rivals.rank import Osdt, Rank
from arboretum_rivals.reproduction import GosdtStudy


@hookimpl
def arboretum_components() -> list[type]:
    """The components of this plugin; its presets lie beside."""
    return [GosdtReference, Dl8, Dl85, Rank, Osdt, BinOct, GosdtStudy]
