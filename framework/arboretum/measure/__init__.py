"""How good is a tree, and what does it cost?"""

from __future__ import annotations

from arboretum.measure.complexity import complexities, costs_of_rows
from arboretum.measure.evaluate import DIRECTIONS, HIGHER, LOWER, better, direction, evaluate

__all__ = [
    "DIRECTIONS",
    "HIGHER",
    "LOWER",
    "better",
    "complexities",
    "costs_of_rows",
    "direction",
    "evaluate",
]
