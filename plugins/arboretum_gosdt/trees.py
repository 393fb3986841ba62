"""From the nodes that a search hands over to a tree that predicts."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from arboretum.api import Problem, Tree, two_way_order, two_way_tree
from arboretum_gosdt.prepared import Tests, Units


def tree_of(problem: Problem, tests: Tests, units: Units, nodes: np.ndarray) -> Tree:
    """The tree, its labels those of least loss (ties: the smallest).

    nodes : int64[nodes, 3], (test of ``tests`` or −1 for a leaf, node of outcome 1, node of outcome 0), root first.
    """
    from arboretum_gosdt import kernels_prepare, kernels_trees

    objects, nodes = problem.objects, two_way_order(nodes)
    n, classes = len(nodes), objects.n_classes
    held = kernels_trees.Held(np.zeros((n, classes)), np.zeros(n, np.int64), np.zeros((n, classes), np.int64))
    coded = kernels_prepare.Coded(tests.codes, tests.family, tests.column, tests.index)
    kernels_trees.walk(coded, nodes, kernels_trees.Objects(objects.label, objects.weight, objects.count, units.loss), held)
    held_by_nodes = held.weights, held.rows, (held.losses @ units.cost).argmin(axis=1), np.full(n, np.nan)
    return two_way_tree(objects, nodes, tests.rule, tests.price, held_by_nodes)


def labelled(problem: Problem, tests: Tests, units: Units, kept: np.ndarray, best: Iterable[tuple[int, int]]) -> Tree:
    """The tree of (feature, −1) for every inner node and (−1, answer) for every leaf, in preorder, the side of outcome 1 first; answer −1: that of
    least loss.   kept : test of each feature.
    """
    best = list(best)
    nodes = laid([test for test, _ in best])
    inner = nodes[:, 0] >= 0
    nodes[inner, 0] = kept[nodes[inner, 0]]
    marked = np.array(nodes)
    marked[~inner, 1] = [answer for test, answer in best if test < 0]
    tree, said = tree_of(problem, tests, units, nodes), two_way_order(marked)
    said = np.where((said[:, 0] < 0) & (said[:, 1] >= 0), said[:, 1], -1)
    return attrs.evolve(tree, label=np.where(said >= 0, said, tree.label))


def laid(preorder: Iterable[int]) -> np.ndarray:
    """int64[nodes, 3], as :func:`tree_of` reads them, from tests in preorder (−1: a leaf; the side of outcome 1 comes first)."""
    rest, nodes = iter(preorder), []

    def lay() -> int:
        test, at = next(rest), len(nodes)
        nodes.append([test, -1, -1])
        if test >= 0:
            nodes[at][1] = lay()
            nodes[at][2] = lay()
        return at

    lay()
    return np.array(nodes)
