"""Contract: what does an exact solver minimise?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from arboretum.interfaces.component import Component
from arboretum.model.tree import Tree

if TYPE_CHECKING:
    from arboretum.interfaces.method import Problem


class Objective(Component, Protocol):
    """A value of a tree that a solver minimises and verification recomputes."""

    def value(self, tree: Tree, problem: Problem) -> float:
        """The objective's value over the problem's objects; lower is better, ∞ = the tree is not allowed."""
        ...
