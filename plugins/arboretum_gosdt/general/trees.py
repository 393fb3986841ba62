"""How trees of the general search are put together, and which limits are left for their parts."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum_gosdt.general.known import ANY, Bounds, Grown
from arboretum_gosdt.general.splits import Split


@attrs.frozen(eq=False)
class TreeBuilder:
    """Makes trees that state what the limits of a search are about.

    price : int64[features].
    worst : the costliest path is paid for, not the mean one.
    deep, wide : depth, and leaves, are limited.
    """

    price: np.ndarray
    worst: bool
    deep: bool
    wide: bool

    def leaf(self, cost: int) -> Grown:
        """Return the tree that asks nothing."""
        return Grown(int(cost), 0, int(self.wide), 0)

    def best_child(self, split: Split, side: int, i: int) -> Grown:
        """Return the best tree known of a child: a leaf, or one that asks one test.

        side : 0 for outcome 1, 1 for the rest; i : the test's place in ``split.feature``.
        """
        if split.stump is None or split.stump[1, side, i] < 0:
            return self.leaf(split.leaf[side, i])
        _, f, test_cost, one, rest = split.stump[:, side, i].tolist()
        return self.join(f, test_cost, self.leaf(one), self.leaf(rest))

    def stump_of_test(self, split: Split, i: int) -> Grown:
        """Return the tree that asks one test, above two leaves.

        i : the test's place in ``split.feature``.
        """
        f = int(split.feature[i])
        return self.join(
            f, int(split.test_cost[i]), self.leaf(split.leaf[0, i]), self.leaf(split.leaf[1, i])
        )

    def join(self, f: int, test_cost: int, one: Grown, rest: Grown) -> Grown:
        """Return the tree that asks f, which costs ``test_cost`` here, above two others."""
        path_cost = int(self.price[f]) + max(one.path_cost, rest.path_cost) if self.worst else 0
        depth = 1 + max(one.depth, rest.depth) if self.deep else 0
        return Grown(
            cost=test_cost + one.cost + rest.cost,
            depth=depth,
            leaves=one.leaves + rest.leaves,
            path_cost=path_cost,
            feature=f,
            one=one,
            rest=rest,
        )

    def limits_below(self, limits: Bounds, f: int) -> Bounds:
        """Return the limits of a child if the other one is a leaf.

        f : the feature that is asked, whose price a costliest path pays; limits of ANY stay so.
        """
        path_cost = (
            limits.path_cost - int(self.price[f])
            if self.worst and limits.path_cost < ANY
            else limits.path_cost
        )
        depth, leaves = (one if one == ANY else one - 1 for one in limits[:2])
        return Bounds(depth, leaves, path_cost)
