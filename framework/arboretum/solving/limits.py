"""Which trees a problem allows: limits of depth, leaves and rows, and when a node is a leaf; and
what a search knows of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from arboretum.errors import CapabilityError
from arboretum.interfaces.method import Problem


@attrs.frozen
class TreeLimits:
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
    def of(solver: str, problem: Problem, obeyed: Sequence[str]) -> TreeLimits:
        """Return the limits of a problem.  Raises CapabilityError for limits that the solver does
        not obey, and for a leaf rule that looks at impurities.

        solver : its name, for messages.
        obeyed : names of the limits that it keeps to.
        """
        parts = problem.parts
        rule, limits = parts.leaf_rule(counting_objects=True, obeyed=obeyed), parts.limits()
        if rule.delta is not None:
            raise CapabilityError(
                f"solver {solver} knows no leaf rule that looks at impurities; leave "
                "stopping=impurity out"
            )
        light = rule.levels(float(problem.objects.weight.sum()))[0]
        return TreeLimits(
            limits.max_depth,
            limits.max_leaves,
            limits.min_leaf,
            rule.min_split,
            light,
            rule.min_objects,
        )

    @property
    def any_node(self) -> bool:
        """Whether no leaf rule forbids that a node of several classes is divided."""
        return self.split <= 2 and not self.light and self.members <= 2

    def refuse_rules(self, solver: str, known: Sequence[str]) -> None:
        """Raise CapabilityError for leaf rules beside the limits of these names.

        solver : its name, for the message.
        """
        if not self.any_node:
            listed = " and ".join(filter(None, (", ".join(known[:-1]), *known[-1:])))
            raise CapabilityError(
                f"solver {solver} knows {listed or 'no limits'}; leave other leaf rules out"
            )

    def refuse_endless(self, lam: float, ends: Sequence[str]) -> None:
        """Raise CapabilityError where leaves cost nothing, and none of the limits of these names
        is given, so that trees grow without end.

        lam : what a leaf costs.
        ends : names of limits that end growth: max_depth, max_leaves, min_leaf.
        """
        given = {
            "max_depth": self.depth is not None,
            "max_leaves": self.leaves is not None,
            "min_leaf": self.least > 1,
        }
        if not lam and not any(given[name] for name in ends):
            raise CapabilityError(
                "objective.lam=0 needs a limit, or trees grow without end; set "
                f"stopping.standard.{', '.join(ends[:-1])} or {ends[-1]}"
            )
