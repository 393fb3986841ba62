"""Which trees a problem allows: limits of depth, leaves and rows, and when a node is a leaf."""

from __future__ import annotations

import attrs

from arboretum.api import CapabilityError, Problem


@attrs.frozen
class Asked:
    """Over which trees is minimised.

    depth, leaves : at most, None: any.
    least : rows in every branch.

    split, light, members : a node of fewer rows, of at most that weight, or of fewer objects is a
        leaf, by the leaf rule.
    """

    depth: int | None
    leaves: int | None
    least: int
    split: int
    light: float
    members: int

    @staticmethod
    def of(problem: Problem, obeyed: tuple[str, ...]) -> Asked:
        """Raises CapabilityError for limits that are not obeyed."""
        parts = problem.parts
        rule, limits = parts.leaf_rule(counting_objects=True, obeyed=obeyed), parts.limits()
        if rule.delta is not None:
            raise CapabilityError(
                "solver gosdt knows no leaf rule that looks at impurities; leave "
                "stopping=impurity out"
            )
        light = rule.levels(float(problem.objects.weight.sum()))[0]
        return Asked(
            limits.max_depth,
            limits.max_leaves,
            limits.min_leaf,
            rule.min_split,
            light,
            rule.min_objects,
        )

    @property
    def only_depth(self) -> bool:
        """Whether nothing but the depth is limited."""
        return (
            self.leaves is None
            and self.least <= 1
            and self.split <= 2
            and not self.light
            and self.members <= 2
        )
