"""rpart's defaults under its own name (Therneau & Atkinson): its leaf rule, and its pruning by
cp.
"""

import attrs

from arboretum.api import LeafRule, Limits, Node, param
from arboretum_classic.missing.rules import Surrogates
from arboretum_classic.pruning.cost_complexity import CostComplexity

PAPER = "Therneau & Atkinson, An introduction to recursive partitioning using the rpart routines"


@attrs.frozen
class RpartLimits:
    """rpart's control: minsplit, minbucket, maxdepth; a test that improves nothing is none."""

    kind = "stopping"
    name = "rpart"
    paper = PAPER
    capabilities = ()

    minsplit: int = param(20, "rows a node needs to be split", ge=2, unit="rows")
    minbucket: int = param(7, "rows in every branch, at least", ge=1, unit="rows")
    maxdepth: int = param(30, "tests on a path, at most", ge=0, unit="tests")

    def limits(self) -> Limits:
        """Limits: ``maxdepth`` tests on a path, ``minbucket`` rows in a branch, scores above 0."""
        return Limits(max_depth=self.maxdepth, min_leaf=self.minbucket, min_decrease=0.0)

    def leaf_rule(self) -> LeafRule:
        """A node of fewer than ``minsplit`` rows is a leaf."""
        return LeafRule(min_split=self.minsplit)

    def is_leaf(self, node: Node) -> bool:
        """Return whether the node has fewer than ``minsplit`` rows."""
        return self.leaf_rule().holds(node.mass, node.total_mass, node.count, node.impurity)


@attrs.frozen
class RpartPruning(CostComplexity):
    """Cost-complexity pruning with alpha=cp a share of the root's error; to choose it,
    ``pruner=cost_complexity`` with the same fields and folds.
    """

    name = "rpart"
    paper = PAPER

    alpha: float | None = param(0.01, "cp, a share of the risk of the root", ge=0.0)
    risk: str = param(
        "error",
        "R: errors, or squared errors",
        choices=("impurity", "error", "gini", "entropy", "variance"),
    )
    direction: str = param(
        "rpart",
        "how complexities are compared, as of cost_complexity",
        choices=("bottom_up", "top_down", "rpart"),
    )
    relative: bool = param(True, "whether alpha and grid are shares of the root's R, as rpart's cp")


@attrs.frozen
class RpartSurrogates(Surrogates):
    """``surrogates`` as rpart 4.1 has them: a factor that disagrees on fewer than two rows does
    not stand in.
    """

    name = "rpart"
    paper = PAPER

    errors: int = param(2, "rows on which a test of categories disagrees, at least", ge=0)
