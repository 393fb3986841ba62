"""What divides a set of objects in the general search: which nodes may be split, and by which
features; and the columns of the sums that both are read from.
"""

from __future__ import annotations

import attrs
import numpy as np

from arboretum_gosdt.general.known import Bounds

COUNT, SIZE, MASS, OWN = 1, 2, 3, 4
"""Columns of sums over objects, behind the classes' and the influence: training rows, objects,
mass, the problem's objects.
"""


@attrs.frozen
class SplitRules:
    """Which nodes may be split, and how.

    limits : of the whole tree.
    least : training rows in every branch.
    split, light, members : a node of fewer rows, of at most this mass, or of fewer objects is a
        leaf.
    worst : prices count by the costliest path, else by mass.
    """

    limits: Bounds = Bounds()
    least: int = 1
    split: int = 2
    light: float = 0.0
    members: int = 0
    worst: bool = False

    def must_be_leaf(self, sums: np.ndarray) -> np.ndarray:
        """Return bool[…], whether the rules make leaves of sets.  One object alone is a leaf, as
        nothing divides it.

        sums : int64[4, …], of the sets' objects, from column COUNT to OWN.
        """
        count, size, mass, members = sums
        found: np.ndarray = (
            (size < 2)
            | (count < max(self.split, 2 * self.least))
            | (mass <= self.light)
            | (members < self.members)
        )
        return found


@attrs.define(eq=False)
class Split:
    """A node's features: the costs of both children as leaves, lower bounds of theirs if they are
    split, and what the test costs.

    feature, test_cost : int64[m].
    leaf, low : int64[2, m], of outcome 1 and of the rest.
    bound : int64[m], of the whole.
    sums : int64[2, columns, m], of the children.
    must_be_leaf : bool[2, m], whether a child must be a leaf.
    stump : per child its best tree that asks one more test, where that beats a leaf: (cost; feature
        or −1; its price; both leaves), int64[5, 2, m]; None: nobody looked.
    """

    feature: np.ndarray
    test_cost: np.ndarray
    leaf: np.ndarray
    low: np.ndarray
    bound: np.ndarray
    sums: np.ndarray
    must_be_leaf: np.ndarray
    stump: np.ndarray | None = None
