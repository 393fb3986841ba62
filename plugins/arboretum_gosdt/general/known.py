"""What the general search knows of a set of objects.

It holds for more than the limits it was asked for: a lower bound for all tighter limits, an optimal
tree for all limits between what it uses and what was allowed.  So both are kept with what they hold
for.
"""

from __future__ import annotations

from typing import NamedTuple

from arboretum_gosdt.general.relaxed import Line

ANY = 1 << 62
"""No limit, and a bound above every value."""


class Grown(NamedTuple):
    """A tree: its value without the costliest path, and what it uses of the limits (0 where there
    is none); ``feature`` −1: a leaf.
    """

    cost: int
    depth: int
    leaves: int
    path_cost: int
    feature: int = -1
    one: Grown | None = None
    rest: Grown | None = None


class Bounds(NamedTuple):
    """Limits of a tree: tests on a path, leaves, price of a path."""

    depth: int = ANY
    leaves: int = ANY
    path_cost: int = ANY

    def allow(self, tree: Grown) -> bool:
        """Return whether a tree keeps within these limits.

        tree : what it uses of a limit that does not exist is 0, which any limit allows.
        """
        return (
            tree.depth <= self.depth
            and tree.leaves <= self.leaves
            and tree.path_cost <= self.path_cost
        )

    def is_within(self, other: Bounds) -> bool:
        """Return whether these limits are at least as tight as the others."""
        return (
            self.depth <= other.depth
            and self.leaves <= other.leaves
            and self.path_cost <= other.path_cost
        )


class Known:
    """What is known of a set of objects.

    trees : none of which another beats in everything.
    lows : (limits, lower bound).

    lines : bounds by leaves, of the fast searches.
    """

    __slots__ = ("leaf", "lines", "lows", "trees")

    def __init__(self, leaf: Grown) -> None:
        self.leaf, self.trees = leaf, [leaf]
        self.lows: list[tuple[Bounds, int]] = []
        self.lines: list[Line] = []

    def best(self, limits: Bounds) -> Grown:
        """Return the best known tree within limits; a leaf always is."""
        return min((tree for tree in self.trees if limits.allow(tree)), key=lambda tree: tree.cost)

    def bound(self, limits: Bounds) -> int:
        """Return the greatest proven bound of trees within limits; 0 where nothing is proven.

        A bound that was proven for wider limits holds, and so do the lines of searches of at least
        that depth.
        """
        found = max((low for proven, low in self.lows if limits.is_within(proven)), default=0)
        for line in self.lines:
            if line.depth >= limits.depth:
                found = max(found, line.bound_for_leaves(limits.leaves))
        return found

    def keep_tree(self, tree: Grown) -> None:
        """Keep a tree, unless a known one costs no more and uses no more of any limit, and drop the
        known ones that it replaces in the same sense; of equal trees the older stays.
        """
        limits = Bounds(*tree[1:4])
        if not any(other.cost <= tree.cost and limits.allow(other) for other in self.trees):
            self.trees = [
                t for t in self.trees if not (tree.cost <= t.cost and Bounds(*t[1:4]).allow(tree))
            ] + [tree]

    def keep_bound(self, limits: Bounds, low: int) -> None:
        """Keep a bound unless a better one holds already.

        low : no tree within ``limits`` costs less.  Bounds that it makes needless, under limits as
            tight, are dropped.
        """
        if low > self.bound(limits):
            self.lows = [
                (other, known)
                for other, known in self.lows
                if not (known <= low and other.is_within(limits))
            ] + [(limits, low)]
