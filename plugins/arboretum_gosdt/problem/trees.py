"""From the nodes that a search hands over to a tree that predicts."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import attrs
import numpy as np

from arboretum.api import Problem, Tree, labelled, two_way_order, two_way_tree
from arboretum_gosdt.problem.prepared import Merged, Tests, Units


class Counted(NamedTuple):
    """Rows that nodes count.

    codes : of the tests, [columns, rows].
    held : label, weight, count and costs of each row, as ``tree_kernels.Objects`` has them.
    """

    codes: np.ndarray
    held: tuple[np.ndarray, ...]


def count_by_group(problem: Problem, tests: Tests, merged: Merged) -> Counted | None:
    """Return a row for every label of each group of equal objects, with which trees come out as
    with all objects; None where that is not shorter, or not known to be exact.

    It is where errors are counted and weights are whole numbers: a group's weight of a label is
    what it weighs less what it loses by that label.
    """
    objects, (groups, labels) = problem.objects, merged.costs.shape
    _, unit, error = objects.exact_weights
    name = getattr(problem.parts.objective, "name", "")
    if name != "accuracy" or unit != 1 or error or 2 * groups * labels > objects.n_objects:
        return None
    weight = merged.mass[:, None] - merged.costs
    first = np.arange(labels) == 0  # rows and losses count once
    held = (
        np.tile(np.arange(labels, dtype=objects.label.dtype), groups),
        weight.ravel().astype(np.float64),
        (merged.rows[:, None] * first).ravel(),
    )
    for one in held:  # as the objects' own, or the kernel would be compiled once more
        one.setflags(write=False)
    return Counted(
        np.ascontiguousarray(np.repeat(tests.codes[:, merged.first], labels, axis=1)),
        (*held, (merged.costs[:, None] * first[:, None]).reshape(-1, labels)),
    )


def build_tree(
    problem: Problem,
    tests: Tests,
    units: Units,
    nodes: np.ndarray,
    *,
    idle: bool = False,
    counted: Counted | None = None,
) -> Tree:
    """Return the tree, its labels those of least loss (ties: the smallest).

    tests, units : the problem in integers; ``units`` has the losses that labels are chosen by,
        where they are exact: what was rounded may tie, or tell apart, what the losses do not.
    nodes : int64[nodes, 3], (test of ``tests`` or −1 for a leaf, node of outcome 1, node of outcome
        0), root first.
    idle : tests that send all objects one way stay; where a leaf costs nothing a search may ask
        some.
    counted : what is counted in place of the objects one by one (:func:`count_by_group`).
    """
    from arboretum_gosdt.problem import kernels, tree_kernels

    objects, nodes = problem.objects, two_way_order(nodes)
    counted = counted or Counted(
        tests.codes, (objects.label, objects.weight, objects.count, units.costs)
    )
    n, classes = len(nodes), objects.n_classes
    held = tree_kernels.Held(
        np.zeros((n, classes)), np.zeros(n, np.int64), np.zeros((n, classes), np.int64)
    )
    coded = kernels.Coded(counted.codes, tests.family, tests.column, tests.index)
    tree_kernels.add_objects_to_nodes(coded, nodes, tree_kernels.Objects(*counted.held), held)
    if not idle and not held.rows.all():
        nodes = _skip_idle_tests(nodes, held.rows > 0)
        return build_tree(problem, tests, units, nodes, counted=counted)
    held_by_nodes = (
        held.weights,
        held.rows,
        held.costs.argmin(axis=1),
        np.full(n, np.nan),
    )
    tree = two_way_tree(objects, nodes, tests.rule, tests.price, held_by_nodes)
    return labelled(tree, problem) if units.slack or units.more else tree


def _skip_idle_tests(nodes: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Return the same nodes, each test that sends all objects one way passed over.

    reached : bool[nodes], by any object.
    """

    def down(node: int) -> int:
        while nodes[node, 0] >= 0 and not reached[nodes[node, 1:]].all():
            node = nodes[node, 1 if reached[nodes[node, 1]] else 2]
        return node

    kept, inner = nodes.copy(), nodes[:, 0] >= 0
    kept[inner, 1:] = [[down(one), down(rest)] for one, rest in nodes[inner, 1:]]
    kept[0] = kept[down(0)]
    return kept


def build_labelled_tree(
    problem: Problem, tests: Tests, units: Units, kept: np.ndarray, best: Iterable[tuple[int, int]]
) -> Tree:
    """Return the tree of features and answers in preorder.

    kept : int64[features], the test of ``tests`` that each is.
    best : (feature, −1) for every inner node and (−1, answer) for every leaf, the side of outcome 1
        first; answer −1: that of least loss.
    """
    best = list(best)
    nodes = preorder_to_nodes([test for test, _ in best])
    inner = nodes[:, 0] >= 0
    nodes[inner, 0] = kept[nodes[inner, 0]]
    marked = np.array(nodes)
    marked[~inner, 1] = [answer for test, answer in best if test < 0]
    tree, said = build_tree(problem, tests, units, nodes, idle=True), two_way_order(marked)
    label = np.where((said[:, 0] < 0) & (said[:, 1] >= 0), said[:, 1], tree.label)
    return tree if (label == tree.label).all() else attrs.evolve(tree, label=label)


def build_tree_of_numbers(
    problem: Problem, tests: Tests, nodes: np.ndarray, predicts: Callable[[np.ndarray], float]
) -> Tree:
    """Return a tree for a target of numbers.

    nodes : as :func:`build_tree` reads them.
    predicts : what a node with these objects, int64, predicts.
    """
    objects, nodes = problem.objects, two_way_order(nodes)
    weights, (counts, value) = np.zeros((len(nodes), 3)), np.zeros((2, len(nodes)))
    at = {0: np.arange(objects.n_objects)}
    for v, (test, one, rest) in enumerate(nodes.tolist()):
        rows = at.pop(v)
        y, w = objects.y[rows], objects.weight[rows]
        weights[v] = [w.sum(), w @ y, w @ y**2]
        counts[v], value[v] = objects.count[rows].sum(), predicts(rows)
        if test >= 0:
            mine = tests.outcome(test, rows)
            at[one], at[rest] = rows[mine], rows[~mine]
    held = weights, counts, np.zeros(len(nodes), np.int64), value
    return two_way_tree(objects, nodes, tests.rule, tests.price, held)


def preorder_to_nodes(preorder: Iterable[int]) -> np.ndarray:
    """Return int64[nodes, 3], as :func:`build_tree` reads them, from tests in preorder (−1: a leaf;
    the side of outcome 1 comes first).
    """
    rest = iter(preorder)
    nodes: list[list[int]] = []

    def add_subtree() -> int:
        """Add the subtree that comes next in preorder, and return the number of its root."""
        test, at = next(rest), len(nodes)
        nodes.append([test, -1, -1])
        if test >= 0:
            nodes[at][1] = add_subtree()
            nodes[at][2] = add_subtree()
        return at

    add_subtree()
    return np.array(nodes)
