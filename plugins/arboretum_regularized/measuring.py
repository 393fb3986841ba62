"""What a tree costs and how well it ranks, on coded objects; and that it is what it says it is."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arboretum.api import Prices, Tree, VerificationError
from arboretum_regularized.protocol import Coded, Lesson


@attrs.frozen(eq=False)
class Measured:
    """A tree with its rows.

    rest : int64[distinct rows of the data set], the node at which each comes to rest.   asked : bool[nodes] or None: the
    nodes that still ask their test, where ``rest`` is that of the tree cut back; None: all inner nodes.
    """

    tree: Tree
    lesson: Lesson
    rest: np.ndarray
    asked: np.ndarray | None = None

    @staticmethod
    def of(tree: Tree, lesson: Lesson, prices: Prices) -> Measured:
        """Send all distinct rows of the data set down the tree, once, and verify the tree by them.

        Raises VerificationError when rows and class weights of the nodes are not those that the rows give, or prices not
        those of the tests.
        """
        found = Measured(tree, lesson, rests(tree, lesson.coded))
        found.verify(prices)
        return found

    def verify(self, prices: Prices) -> None:
        """Compare the tree with the training objects that its nodes received, and with the prices of its tests.

        Sums of n weights, in whatever order, differ by at most n ε of their sum.
        """
        tree, lesson = self.tree, self.lesson
        objects, own = lesson.objects, self.rest[lesson.origin]
        counts = np.bincount(own, objects.count, tree.n_nodes)
        masses = np.bincount(own * objects.n_classes + objects.label, objects.weight, tree.n_nodes * objects.n_classes)
        masses = masses.reshape(tree.n_nodes, objects.n_classes)
        if (counts[~tree.is_leaf] != 0).any():
            raise VerificationError("verification failed: a training object has no branch at a node that asks a test")
        parent = tree.parent
        for node in range(tree.n_nodes - 1, 0, -1):
            counts[parent[node]] += counts[node]
            masses[parent[node]] += masses[node]
        if (counts != tree.counts).any():
            node = int(np.flatnonzero(counts != tree.counts)[0])
            msg = f"verification failed: node {node} reports {tree.counts[node]} rows, {counts[node]:g} arrive"
            raise VerificationError(msg)
        slack = 4.0 * objects.n_objects * 2.0**-52 * float(objects.weight.sum())
        if (np.abs(masses - tree.weights) > slack).any():
            raise VerificationError("verification failed: class weights of a node are not those of the objects that arrive")
        offset, place, inner = lesson.coded.whole.test_offset, lesson.coded.place, np.flatnonzero(~tree.is_leaf)
        asked = np.array([offset[place[rule][0]] + place[rule][1] for rule in tree.rules], np.int64)
        due = prices.tests[asked[tree.test[inner]]] if len(inner) else np.empty(0)
        if not np.array_equal(tree.price[inner], due):
            node = int(inner[np.flatnonzero(tree.price[inner] != due)[0]])
            msg = f"verification failed: node {node} reports the price {tree.price[node]:g}, which is not its test's"
            raise VerificationError(msg)
        # the expected cost by nodes is the weighted mean of what each training object pays on its path
        paid = float((tree.price_to[own] * objects.weight).sum() / objects.weight.sum())
        if abs(self.expected_cost - paid) > 4.0 * objects.n_objects * 2.0**-52 * max(1.0, paid):
            msg = f"verification failed: prices by nodes add up to {self.expected_cost!r}, along the paths to {paid!r}"
            raise VerificationError(msg)

    @property
    def expected_cost(self) -> float:
        """Price paid by a training row on average: Σ price · mass over the nodes, by the mass of the root."""
        paid = self.tree.price * self.tree.mass
        return math.fsum(paid if self.asked is None else paid[self.asked]) / float(self.tree.mass[0])

    @property
    def pure(self) -> float:
        """Share of the training rows that end where all objects have one class."""
        tree = self.tree
        return float(tree.mass[tree.is_leaf & (np.count_nonzero(tree.weights, axis=1) == 1)].sum() / tree.mass[0])

    @property
    def useless(self) -> float:
        """What a training row pays on average for tests that leave all objects of their node together."""
        tree, present = self.tree, np.flatnonzero(self.tree.child >= 0)
        branches = np.bincount(np.searchsorted(tree.child_offset, present, side="right") - 1, minlength=tree.n_nodes)
        alone = branches == 1
        return float((tree.price[alone] * tree.mass[alone]).sum() / tree.mass[0])

    def auc(self, tally: np.ndarray, *, taught: bool = False) -> float:
        """Area under the ROC curve on the rows tallied; see :func:`area`.

        taught : leave out classes that no training object is labelled with, as the authors' program does: its trees do not
        know that such a class exists (on firewall, 54 of 65,532 rows, never the majority among equal rows).
        """
        used = np.flatnonzero(tally.sum(axis=1))
        nodes, group = np.unique(self.rest[used], return_inverse=True)
        counts = np.zeros((len(nodes), tally.shape[1]))
        np.add.at(counts, group, tally[used])
        classes = np.flatnonzero(self.tree.weights[0]) if taught else np.arange(tally.shape[1])
        return area(self.tree.distribution()[nodes], counts, classes)


def rests(tree: Tree, data: Coded) -> np.ndarray:
    """int64[distinct rows]: the node at which each comes to rest."""
    from arboretum_regularized.kernels_walk import walk

    place = np.array([data.place[rule] for rule in tree.rules] or [(-1, 0)], np.int64)
    feature, index = np.where(tree.is_leaf, -1, place[tree.test, 0]), place[tree.test, 1]
    rest = np.empty(data.whole.n_objects, np.int64)
    child = np.append(np.asarray(tree.child, np.int64), -1)
    walk(data.whole.codes, data.family, feature, index, np.asarray(tree.child_offset, np.int64), child, rest)
    return rest


def area(scores: np.ndarray, counts: np.ndarray, classes: np.ndarray | None = None) -> float:
    """Area under the ROC curve: of the second class for two, else the mean over ``classes`` of each against the rest.

    scores : float64[groups, classes], the same for all rows of a group.   counts : float64[groups, classes], rows.
    A class without rows, or without rows of another class, is left out; NaN when all are.
    """
    total, areas = counts.sum(axis=1), []
    for c in [1] if counts.shape[1] == 2 else range(counts.shape[1]) if classes is None else classes.tolist():
        positive, negative = counts[:, c], total - counts[:, c]
        pairs = positive.sum() * negative.sum()
        if pairs > 0.0:
            _, group = np.unique(scores[:, c], return_inverse=True)
            up, down = np.bincount(group, positive), np.bincount(group, negative)
            areas.append(float((up * (np.cumsum(down) - down / 2.0)).sum() / pairs))
    return sum(areas) / len(areas) if areas else math.nan
