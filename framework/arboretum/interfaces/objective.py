"""Contract: what does an exact solver minimise?"""

from __future__ import annotations

from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded
from arboretum.model.tree import Tree


class Objective(Component, Protocol):
    """A value of a tree that a solver minimises and verification recomputes."""

    def value(self, tree: Tree, objects: Encoded) -> float:
        """The objective's value over the training objects, by weight; lower is better."""
        ...
