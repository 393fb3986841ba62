"""Leaf rules of the paper and of its authors' program, beside ``mass`` (p ≤ θ)."""

from __future__ import annotations

from typing import ClassVar

import attrs

from arboretum.api import LeafRule, Limits, Node, param

@attrs.frozen
class Covered:
    """Stop where every object is covered: its f_i, the disjunction of the run's coverages, is 1.

    Without coverages nothing is ever covered.  A node of one class is a leaf in any case.
    """

    kind: ClassVar[str] = "stopping"
    name: ClassVar[str] = "covered"
    paper: ClassVar[str] = "Zhang & Gionis 2023, problem 2"
    capabilities: ClassVar[tuple] = ()
    needs_coverage: ClassVar[bool] = True

    def limits(self) -> Limits:
        return Limits()

    def is_leaf(self, node: Node) -> bool:
        """Whether the mean of f over the node's objects is 1."""
        return node.coverage >= 1.0


@attrs.frozen
class FewObjects:
    """Stop where few distinct objects are left, as the authors' program does at two.

    Distinct objects are those of a coalescing encoder; without one, every row is an object.
    """

    kind: ClassVar[str] = "stopping"
    name: ClassVar[str] = "few_objects"
    paper: ClassVar[str] = "the program of Zhang & Gionis 2023"
    capabilities: ClassVar[tuple] = ()

    most: int = param(2, "objects of a node that is a leaf, at most", ge=1, unit="objects")

    def limits(self) -> Limits:
        return Limits()

    def is_leaf(self, node: Node) -> bool:
        """Whether the node has that few objects (rows, where nobody counted objects)."""
        return (node.count if node.n_objects is None else node.n_objects) <= self.most

    def leaf_rule(self) -> LeafRule:
        return LeafRule(min_objects=self.most + 1)


RULES = [Covered, FewObjects]
