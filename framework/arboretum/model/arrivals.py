"""Which objects come by each node of a tree, whole or in shares, and what they add up to there."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.errors import ContractError
from arboretum.model.encoded import Encoded
from arboretum.model.table import Task
from arboretum.model.tree import Tree
from arboretum.model.walk import Places

EPS = float(np.finfo(np.float64).eps)


@attrs.frozen(eq=False)
class Arrivals:
    """Where the objects of a tree come to rest, ordered by node.

    node, who, share : int64[m], int64[m], float64[m]: one entry per whole object (share 1), several for one that is split.
    places : the same of the rows.   start : int64[n_nodes + 1], where the entries of each node begin.
    """

    tree: Tree
    places: Places
    node: np.ndarray
    who: np.ndarray
    share: np.ndarray
    start: np.ndarray

    @staticmethod
    def of(tree: Tree, object_of_row: np.ndarray, n_objects: int, places: Places) -> Arrivals:
        """Raises ContractError unless every object stands for some rows, and these share their path."""
        first = np.full(n_objects, -1)
        first[object_of_row[::-1]] = np.arange(len(object_of_row))[::-1]
        if not (first >= 0).all():
            raise ContractError(f"every object stands for a row: object {int(first.argmin())} does not")
        node, row, share = places.all()
        order = np.lexsort((node, row))
        node, row, share = node[order], row[order], share[order]
        size = np.bincount(row, minlength=len(object_of_row))
        begin, stands = np.cumsum(size) - size, first[object_of_row[row]]  # the row that stands for the object of each entry's row
        twin = np.minimum(begin[stands] + np.arange(len(row)) - begin[row], len(row) - 1)  # and its entry at the same node
        alike = (size[row] == size[stands]) & (node == node[twin]) & (share == share[twin])
        if not alike.all():
            raise ContractError(f"rows merged into one object share their path: row {int(row[np.argmin(alike)])} does not")
        chosen = np.flatnonzero(row == stands)
        node, who, share = node[chosen], object_of_row[row[chosen]], share[chosen]
        order = np.lexsort((who, node))
        start = np.searchsorted(node[order], np.arange(tree.n_nodes + 1))
        return Arrivals(tree, places, node[order], who[order], share[order], start)

    @property
    def split(self) -> bool:
        """Whether any object is split."""
        return len(self.places.row) > 0

    def at(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """(int64[k] objects in ascending order, float64[k] shares) that come by a node."""
        part = slice(self.start[node], self.start[self.tree.subtree_end[node]])
        if not self.split:
            return np.sort(self.who[part]), self.share[part]
        who, place = np.unique(self.who[part], return_inverse=True)
        return who, np.bincount(place, self.share[part], len(who))

    def sizes(self) -> np.ndarray:
        """int64[n_nodes]: how many entries lie in the subtree of each node; the number of objects unless some are split."""
        return self.start[self.tree.subtree_end] - self.start[:-1]

    def totals(self, objects: Encoded, shift: float = 0.0) -> np.ndarray:
        """float64[n_nodes, classes]: class weights of the objects at each node; for numbers their moments about ``shift``."""
        n, mass = self.tree.n_nodes, objects.weight[self.who] * self.share
        if objects.task is Task.classification:
            width = objects.n_classes
            own = np.bincount(self.node * width + objects.label[self.who], mass, n * width).reshape(n, width)
        else:
            y = objects.y[self.who] - shift
            own = np.stack([np.bincount(self.node, mass * y**k, n) for k in range(3)], axis=1)
        return summed(own, self.tree)

    def counts(self, count: np.ndarray) -> np.ndarray:
        """float64[n_nodes]: how many rows (``count`` per object) come by each node, by their shares."""
        return summed(np.bincount(self.node, count[self.who] * self.share, self.tree.n_nodes), self.tree)

    def rounding(self, objects: Encoded) -> float:
        """How far two orders of adding up a node's weights may lie apart, over the sum of their absolute values.

        Twice m·ε for m terms; a share is a product of as many quotients as its path is long, each of sums that are as far off.
        """
        terms = 2 * max(len(self.node), objects.n_objects) * EPS
        return terms * (1 + 2 * int(self.tree.depth_of.max())) if self.split else terms


def summed(own: np.ndarray, tree: Tree) -> np.ndarray:
    """Sums over subtrees of what each node has itself; own : float64[n_nodes] or [n_nodes, k]."""
    total = own.astype(np.float64)
    for node, above in zip(range(tree.n_nodes - 1, 0, -1), tree.parent[:0:-1].tolist(), strict=True):  # children after their parents
        total[above] += total[node]
    return total
