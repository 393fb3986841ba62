"""Contract: what does a whole tree cost?"""

from __future__ import annotations

from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.tree import Tree


class Complexity(Component, Protocol):
    """A cost of a tree, monotone in the costs of its subtrees: ψ(leaf) = ψ0, ψ(node) = F(mass, price, children)."""

    def of(self, tree: Tree) -> float:
        """The value on a whole tree, over its training objects by weight; ≥ 0, in tests, nodes or the unit of prices."""
        ...
