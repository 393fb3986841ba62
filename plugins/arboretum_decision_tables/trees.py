"""From nodes of Δ(T) to trees: the first, the k-th, and the greedy one where the graph is not finished."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arboretum.api import Choice, Family, Tree, assemble
from arboretum_decision_tables.graph import Graph
from arboretum_decision_tables.space import FAMILIES, Space
from arboretum_decision_tables.values import Cost, bundle_in_python, bundles_of

Token = Any
"""What a chooser hands down to itself."""
Chooser = Callable[[np.ndarray, Token], "tuple[int, list[Token]] | None"]
"""(objects, token) → the test asked there and a token per part, or None for a leaf."""


def parts_of(space: Space, rows: np.ndarray, test: int) -> list[tuple[int, np.ndarray]]:
    """(outcome, objects) of a test, by outcome; outcomes without objects are left out."""
    outcome = space.outcome(rows, test)
    return [(int(k), rows[outcome == k]) for k in np.unique(outcome)]


def grown(space: Space, choose: Chooser, token: Token) -> Tree:
    """Ask the chooser from the root down and freeze the tree."""

    def choice(place: tuple[np.ndarray, Token]) -> Choice:
        rows, here = place
        weights, count, chosen = space.class_weights(rows), int(space.count[rows].sum()), choose(rows, here)
        if chosen is None:
            return Choice(weights, count)
        test, tokens = chosen
        below = [(outcome, (part, below)) for (outcome, part), below in zip(parts_of(space, rows, test), tokens, strict=True)]
        return Choice(weights, count, space.objects.rule(test), float(space.price[test]), below)

    return assemble(space.objects, space.impurity, (np.arange(space.n_objects), token), choice)


def optimal_tree(graph: Graph, number: int = 0, count: Mapping[int, int] | None = None) -> Tree:
    """Tree ``number`` of those that a graph of optimal bundles describes.   count : from count_trees; needed unless 0.

    They are ordered by their root's test, features as in the table and tests by index; then by the trees of the branches, the
    last branch changing fastest (branches of a multiway test by the first object that they hold, else by outcome).
    """

    def choose(rows: np.ndarray, token: Token) -> tuple[int, list[Token]] | None:
        if token is None:
            return None
        node, k = token
        for at, _, below in bundles_of(graph, node):
            total = 1 if count is None else math.prod(count[child] for child in below)
            if k >= total:
                k -= total
                continue
            digits = {}
            for child in reversed(below):
                k, digits[child] = (0, 0) if count is None else divmod(k, count[child])
            test = int(graph.stream[at])
            found = [graph.node_of(part) for _, part in parts_of(graph.space, rows, test)]
            return test, [None if child < 0 else (child, digits[child]) for child in found]
        return None  # objects that no test tells apart

    return grown(graph.space, choose, (0, number) if graph.n_nodes else None)


def best_known_tree(graph: Graph, cost: Cost, value: np.ndarray) -> Tree:
    """Where the graph is not finished: its optimum below every node that it knows a tree for, greedy tests above.

    value : float64[n], ∞ where no tree is known.
    """
    space = graph.space

    def choose(rows: np.ndarray, token: Token) -> tuple[int, list[Token]] | None:
        node = graph.node_of(rows)
        if node >= 0 and math.isfinite(value[node]):
            bundles = bundles_of(graph, node)
            if not bundles:
                return None
            best = min(bundles, key=lambda bundle: bundle_in_python(graph, cost, node, bundle, value))
            test = int(graph.stream[best[0]])
        else:
            test = -1 if space.is_leaf(rows) else greedy_test(space, rows)
            if test < 0:
                return None
        return test, [None] * len(parts_of(space, rows, test))

    return grown(space, choose, None)


def greedy_test(space: Space, rows: np.ndarray) -> int:
    """The test that separates most pairs of objects of different classes per price; −1 when none divides the objects."""
    label, weight, n_classes = space.label[rows].astype(np.int64), space.weight[rows], space.objects.n_classes
    best, best_score = -1, -math.inf
    whole = _pairs(np.bincount(label, weight, n_classes))
    for f, bins in enumerate(space.n_bins.tolist()):
        code = space.codes[f, rows].astype(np.int64)
        if (code == code[0]).all():
            continue
        table = np.bincount(code * n_classes + label, weight, bins * n_classes).reshape(bins, n_classes)
        held, total, first = np.bincount(code, minlength=bins), table.sum(axis=0), int(space.first_test[f])
        if space.family[f] == FAMILIES[Family.multiway]:
            after, divides = np.array([_pairs(table).sum()]), np.array([True])
        else:
            if space.family[f] == FAMILIES[Family.thresholds]:
                table, held = table.cumsum(axis=0)[:-1], held.cumsum()[:-1]
            after, divides = _pairs(table) + _pairs(total - table), (held > 0) & (held < len(rows))
        gain = whole - after
        price = space.price[first : first + len(after)]
        score = np.where(divides, np.divide(gain, price, out=np.full(len(gain), math.inf), where=price > 0), -math.inf)
        if score.max() > best_score:
            best, best_score = first + int(score.argmax()), float(score.max())
    return best


def _pairs(weights: np.ndarray) -> np.ndarray:
    """Σ over pairs of classes of the product of their weights; float64[…, classes] → float64[…]."""
    return (weights.sum(axis=-1) ** 2 - (weights**2).sum(axis=-1)) / 2
