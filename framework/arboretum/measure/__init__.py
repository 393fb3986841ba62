"""How good is a tree, and what does it cost?"""

from __future__ import annotations

from arboretum.measure.complexity import complexities, costs_of_rows, covering_cost
from arboretum.measure.evaluate import DIRECTIONS, HIGHER, LOWER, ValidationScore, better, direction, evaluate, roc_auc

__all__ = [
    "DIRECTIONS",
    "HIGHER",
    "LOWER",
    "ValidationScore",
    "better",
    "complexities",
    "costs_of_rows",
    "covering_cost",
    "direction",
    "evaluate",
    "roc_auc",
]
