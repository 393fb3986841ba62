"""The budget of a path as a stopping rule."""

import attrs

from arboretum.api import LeafRule, Limits, Node, param


@attrs.frozen
class Budget:
    """No path from the root to a leaf pays more than a budget; tests that can still be paid
    compete.
    """

    kind = "stopping"
    name = "max_cost"
    paper = "Nan, Wang & Saligrama 2015, section 1"
    capabilities = ()
    example = "cost=random"

    limit: float | None = param(
        None, "what a path may pay, at most; none: any amount", ge=0.0, unit="price"
    )

    def limits(self) -> Limits:
        """Return what a path may pay as the only limit."""
        return Limits(max_cost=self.limit)

    def is_leaf(self, node: Node) -> bool:
        """Return False: tests that cannot be paid do not compete, and a node without any is a leaf
        by itself.
        """
        return False

    def leaf_rule(self) -> LeafRule:
        """Return the rule by which no node of several classes has to be a leaf."""
        return LeafRule()
