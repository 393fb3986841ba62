"""From the nodes that a search hands over to a tree that predicts."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from arboretum.api import ColumnSpec, Encoded, Problem, Tree
from arboretum_gosdt.prepared import Tests, Units

LEAF, MISSING_STOPS = -1, -1
"""As in Tree."""


def tree_of(problem: Problem, tests: Tests, units: Units, nodes: np.ndarray) -> Tree:
    """The tree, its labels those of least loss (ties: the smallest).

    nodes : int64[nodes, 3], (test of ``tests`` or −1 for a leaf, node of outcome 1, node of outcome 0), root first.
    """
    from arboretum_gosdt import kernels_prepare, kernels_trees

    objects, nodes = problem.objects, preorder(nodes)
    n, classes = len(nodes), objects.n_classes
    held = kernels_trees.Held(np.zeros((n, classes)), np.zeros(n, np.int64), np.zeros((n, classes), np.int64))
    coded = kernels_prepare.Coded(tests.codes, tests.family, tests.column, tests.index)
    kernels_trees.walk(coded, nodes, kernels_trees.Objects(objects.label, objects.weight, objects.count, units.loss), held)
    return framed(objects, tests, nodes, (held.weights, held.rows, (held.losses @ units.cost).argmin(axis=1), np.full(n, np.nan)))


def framed(objects: Encoded, tests: Tests, nodes: np.ndarray, held: tuple[np.ndarray, ...]) -> Tree:
    """The tree.   nodes : in preorder.   held : weights, counts, label and value, as in Tree."""
    n, inner = len(nodes), nodes[:, 0] != LEAF
    asked, rule_of = nodes[inner, 0], {LEAF: LEAF}
    test = [rule_of.setdefault(one, len(rule_of) - 1) for one in nodes[:, 0].tolist()]
    del rule_of[LEAF]
    price, nothing, (weights, counts, label, value) = np.zeros(n), np.full(n, np.nan), held
    price[inner] = tests.price[asked]
    return Tree(
        task=objects.task,
        columns=tuple(ColumnSpec.of(column) for column in objects.table.columns),
        classes=objects.table.target.classes,
        rules=tuple(tests.rule(one) for one in rule_of),
        test=test,
        child_offset=np.concatenate([[0], np.cumsum(2 * inner)]),
        child=nodes[inner][:, [2, 1]].ravel(),  # outcome 0 first
        missing_child=np.full(n, MISSING_STOPS),
        weights=weights,
        counts=counts,
        label=label,
        value=value,
        price=price,
        impurity=nothing,
        score=nothing,
    )


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
    tree, said = tree_of(problem, tests, units, nodes), preorder(marked)
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


def preorder(nodes: np.ndarray) -> np.ndarray:
    """The same tree, numbered depth first, the branch of outcome 0 before that of outcome 1."""
    listed, found, waiting = nodes.tolist(), [], [(0, -1, 0)]
    while waiting:
        old, above, side = waiting.pop()
        if above >= 0:
            found[above][side] = len(found)
        test, one, rest = listed[old]
        if test >= 0:
            waiting += [(one, len(found), 1), (rest, len(found), 2)]
        found.append([test, -1, -1] if test >= 0 else [test, one, rest])
    return np.array(found, np.int64)
