"""From nodes of Δ(T) to trees: the first, the k-th, and the greedy one where the graph is not
finished.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from arboretum.api import Family, Level, Tree, laid_out
from arboretum_decision_tables.exact.graph import Graph
from arboretum_decision_tables.exact.space import FAMILIES, Space
from arboretum_decision_tables.exact.values import Cost, bundle_value_in_python, bundles_of


def split_by_test(space: Space, rows: np.ndarray, test: int) -> list[tuple[int, np.ndarray]]:
    """Return (outcome, objects int64[·]) of a test, by outcome; outcomes without objects are left
    out.

    rows : int64[·], objects; test : by its global index.
    """
    outcome = space.outcomes_of_test(rows, test)
    return [(int(k), rows[outcome == k]) for k in np.unique(outcome)]


Token = list[tuple[int, int]]


def hand_down_nothing(below: Level) -> None:
    """Hand nothing down to the sets below."""


def optimal_tree(graph: Graph, number: int = 0, count: Mapping[int, int] | None = None) -> Tree:
    """Return tree ``number`` of those that a graph of optimal bundles describes.

    count : from count_trees; needed unless 0.

    They are ordered by their root's test, features as in the table and tests by index; then by the
    trees of the branches, the last branch changing fastest (branches of a multiway test by the
    first object that they hold, else by outcome).
    """

    def chosen(node: int, k: int) -> tuple[int, dict[int, int]]:
        """Return the test of tree k of a node, and the numbers of the trees below it by their
        nodes; (−1, {}) for objects that no test tells apart.
        """
        for at, _, below in bundles_of(graph, node):
            total = 1 if count is None else math.prod(count[child] for child in below)
            if k >= total:
                k -= total
                continue
            digits = {}
            for child in reversed(below):
                k, digits[child] = (0, 0) if count is None else divmod(k, count[child])
            return int(graph.stream[at]), digits
        return -1, {}  # objects that no test tells apart

    def choose(level: Level, token: Token) -> tuple[np.ndarray, Callable[[Level], Token]]:
        """Return the test of every set of a level, int64[sets] (−1: a leaf), and what numbers the
        trees of the sets below.

        token : (node of the graph, −1 for a leaf; number of its tree) of every set.
        """
        found = [chosen(node, k) if node >= 0 else (-1, {}) for node, k in token]

        def hand_down(below: Level) -> Token:
            """Return the node of every set below, and the number of its tree."""
            nodes = graph.nodes_of(below)
            return [
                (node, found[above][1].get(node, 0))
                for node, above in zip(nodes, below.parent.tolist(), strict=True)
            ]

        return np.array([test for test, _ in found]), hand_down

    return laid_out(graph.space, graph.space.price, [(0 if graph.n_nodes else -1, number)], choose)


def best_known_tree(graph: Graph, cost: Cost, value: np.ndarray) -> Tree:
    """Return the tree of an unfinished graph: its optimum below every node that it knows a tree
    for, greedy tests above.

    value : float64[n], ψ of the best tree of every node; ∞ where no tree is known.
    """
    space = graph.space

    def test_of(rows: np.ndarray, node: int, is_leaf: bool) -> int:
        """Return the test of a set: of its node's bundles the one of least F, a greedy test where
        no tree is known of the node; −1 for a leaf.
        """
        if node < 0 or not math.isfinite(value[node]):
            return -1 if is_leaf else greedy_test(space, rows)
        bundles = bundles_of(graph, node)
        if not bundles:
            return -1
        return int(
            graph.stream[
                min(
                    bundles,
                    key=lambda bundle: bundle_value_in_python(graph, cost, node, bundle, value),
                ).at
            ]
        )

    def choose(level: Level, token: None) -> tuple[np.ndarray, Callable[[Level], None]]:
        known = zip(graph.nodes_of(level), space.are_leaves(level).tolist(), strict=True)
        return np.array(
            [test_of(level.of(k), *each) for k, each in enumerate(known)]
        ), hand_down_nothing

    return laid_out(space, space.price, None, choose)


def greedy_test(space: Space, rows: np.ndarray) -> int:
    """Return the test that separates most pairs of objects of different classes per price; −1 when
    none divides the objects.

    rows : int64[≥ 1], objects.
    """
    others = rows[(space.codes[:, rows] != space.codes[:, rows[:1]]).any(axis=0)]
    if not len(others):
        return -1
    if (space.codes[:, others] == space.codes[:, others[:1]]).all():
        return cheapest_test(space, int(rows[0]), int(others[0]))
    label = space.label[rows].astype(np.int64)
    weight = space.weight[rows]
    n_classes = space.objects.n_classes
    best, best_score = -1, -math.inf
    whole = _mass_of_unlike_pairs(np.bincount(label, weight, n_classes))
    for f, bins in enumerate(space.n_bins.tolist()):
        code = space.codes[f, rows].astype(np.int64)
        if (code == code[0]).all():
            continue
        table = np.bincount(code * n_classes + label, weight, bins * n_classes).reshape(
            bins, n_classes
        )
        held = np.bincount(code, minlength=bins)
        total = table.sum(axis=0)
        first = int(space.first_test[f])
        if space.family[f] == FAMILIES[Family.multiway]:
            after, splitting = np.array([_mass_of_unlike_pairs(table).sum()]), np.array([True])
        else:
            if space.family[f] == FAMILIES[Family.thresholds]:
                table, held = table.cumsum(axis=0)[:-1], held.cumsum()[:-1]
            after = _mass_of_unlike_pairs(table) + _mass_of_unlike_pairs(total - table)
            splitting = (held > 0) & (held < len(rows))
        gain = whole - after
        price = space.price[first : first + len(after)]
        score = np.where(
            splitting,
            np.divide(gain, price, out=np.full(len(gain), math.inf), where=price > 0),
            -math.inf,
        )
        if score.max() > best_score:
            best, best_score = first + int(score.argmax()), float(score.max())
    return best


def cheapest_test(space: Space, one: int, other: int) -> int:
    """Return the cheapest test that tells two objects apart, the first of equal ones; −1 when none
    does.

    one, other : numbers of the objects.
    """
    best, least = -1, math.inf
    for f in np.flatnonzero(space.codes[:, one] != space.codes[:, other]).tolist():
        low, high = sorted((int(space.codes[f, one]), int(space.codes[f, other])))
        family, first = space.family[f], int(space.first_test[f])
        tests: Sequence[int] = (low, high)
        if family == FAMILIES[Family.multiway]:
            low, tests = 0, range(1)
        elif family == FAMILIES[Family.thresholds]:
            tests = range(low, high)
        price = space.price[first:]
        test = first + (low if space.even[f] else min(tests, key=price.__getitem__))
        if space.price[test] < least:
            best, least = test, float(space.price[test])
    return best


def _mass_of_unlike_pairs(weights: np.ndarray) -> np.ndarray:
    """Return Σ over pairs of classes of the product of their weights; float64[…, classes] →
    float64[…].
    """
    pairs: np.ndarray = (weights.sum(axis=-1) ** 2 - (weights**2).sum(axis=-1)) / 2
    return pairs
