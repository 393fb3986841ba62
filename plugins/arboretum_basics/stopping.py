"""Leaf rules.  The search loop makes a node of one class a leaf by itself."""

import attrs

from arboretum.api import LeafRule, Limits, Node, param


@attrs.frozen
class NodeRule:
    """What the rules here share: no limits, and a leaf where the rule that solvers obey says so."""

    kind = "stopping"
    paper = ""
    capabilities = ()

    def limits(self) -> Limits:
        """Return no limits."""
        return Limits()

    def is_leaf(self, node: Node) -> bool:
        """Return whether :meth:`leaf_rule` holds for the node's mass, rows and impurity."""
        return self.leaf_rule().holds(node.mass, node.total_mass, node.count, node.impurity)

    def leaf_rule(self) -> LeafRule:
        """Return the rule by which no node of several classes has to be a leaf."""
        return LeafRule()


@attrs.frozen
class Standard(NodeRule):
    """The usual limits: depth, leaves, rows and weight per leaf, least decrease."""

    name = "standard"

    max_depth: int | None = param(None, "tests on a path, at most", ge=0, unit="tests")
    min_leaf: int = param(1, "rows in every branch that receives any, at least", ge=1, unit="rows")
    max_leaves: int | None = param(
        None,
        "leaves of the tree, at most; method.order=best spends them by gain",
        ge=1,
        unit="leaves",
    )
    min_decrease: float | None = param(
        None, "a test whose score is not above this is refused", ge=0.0
    )
    min_split: int = param(2, "rows a node needs to be split", ge=2, unit="rows")

    min_mass: float = param(
        0.0,
        "weight in every branch that receives any, at least",
        ge=0.0,
        le=0.5,
        unit="share of the total weight",
    )

    def limits(self) -> Limits:
        """Return the limits that are set: depth, leaves, a test's decrease, a branch's rows and
        weight.
        """
        return Limits(
            self.max_depth, self.max_leaves, self.min_leaf, self.min_decrease, self.min_mass
        )

    def leaf_rule(self) -> LeafRule:
        """A leaf is a node of fewer than ``min_split`` rows."""
        return LeafRule(min_split=self.min_split)


@attrs.frozen
class Pure(NodeRule):
    """Stop only where one class is left: the tree makes no error that its tests can avoid."""

    name = "pure"


@attrs.frozen
class MassAtMost(NodeRule):
    """Stop where the node's share of the weight is at most θ (Zhang & Gionis, section 3)."""

    name = "mass"
    paper = "Zhang & Gionis 2023, section 3"

    theta: float = param(
        0.0,
        "share of the total weight",
        ge=0.0,
        le=1.0,
        unit="share of the total weight",
        shared="theta",
    )
    tolerance: float = param(
        0.0,
        "how much more than θ is still at most θ, beside rounding",
        ge=0.0,
        le=1.0,
        unit="share of the total weight",
    )

    def leaf_rule(self) -> LeafRule:
        """A leaf is a node with θ + tolerance of the weight, or less."""
        return LeafRule(theta=min(self.theta + self.tolerance, 1.0))


@attrs.frozen
class ImpurityAtMost(NodeRule):
    """Stop where the impurity is at most δ (α-decision trees; early stopping of Nan et al.,
    Lemma 4.1).
    """

    name = "impurity"

    delta: float = param(0.0, "impurity of a node that need not be split", ge=0.0)

    def leaf_rule(self) -> LeafRule:
        """A leaf is a node with an impurity of δ or less."""
        return LeafRule(delta=self.delta)
