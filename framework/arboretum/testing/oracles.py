"""Naive oracles: trees built from nested choices, grown by a slow loop, enumerated for brute force.

A *sketch* of a tree is ``None`` for a leaf, or ``(test, {outcome: sketch})`` with the global index of a fixed test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from arboretum.api import Encoded, Prices, Task, Tree
from arboretum.testing.scoring import contingency, node_of
from arboretum.testing.tables import outcomes, prices_of, toy_impurity

Sketch = None | tuple[int, dict[int, Any]]


def branches(objects: Encoded, test: int, rows: np.ndarray) -> dict[int, np.ndarray]:
    """Outcome → the rows that have it; outcomes without rows are left out."""
    found = outcomes(objects, test, rows)
    return {int(k): rows[found == k] for k in np.unique(found) if k >= 0}


def all_sketches(objects: Encoded, rows: np.ndarray | None = None) -> Iterator[Sketch]:
    """Every tree that asks only tests which divide their node; there are very many: keep rows and tests few."""
    rows = np.arange(objects.n_objects) if rows is None else rows
    yield None
    for test in range(int(objects.test_offset[-1])):
        parts = branches(objects, test, rows)
        if len(parts) > 1:
            options = [list(all_sketches(objects, part)) for part in parts.values()]
            for choice in np.ndindex(*map(len, options)):
                yield test, {k: options[i][choice[i]] for i, k in enumerate(parts)}


def best_tree(objects: Encoded, value: Callable[[Tree], float], prices: Prices | None = None) -> tuple[float, Tree]:
    """The smallest value over all trees, and a tree that has it."""
    trees = (build_tree(objects, sketch, prices) for sketch in all_sketches(objects))
    return min(((float(value(tree)), tree) for tree in trees), key=lambda pair: pair[0])


def slow_greedy(objects: Encoded, *, rows: np.ndarray | None = None, max_depth: int = 6) -> Sketch:
    """Grow depth first by weighted impurity, counting every table anew."""
    rows = np.arange(objects.n_objects) if rows is None else rows
    tables, node = contingency(objects, rows, impurity=toy_impurity(objects.task))
    if max_depth == 0 or tables.n_tests == 0 or node.impurity == 0:
        return None
    divides = [t for t in range(int(objects.test_offset[-1])) if len(branches(objects, t, rows)) > 1]
    test = divides[int(np.argmin((tables.mass * tables.impurity(tables.weights)).sum(axis=1)))]
    parts = branches(objects, test, rows)
    return test, {k: slow_greedy(objects, rows=part, max_depth=max_depth - 1) for k, part in parts.items()}


def build_tree(objects: Encoded, sketch: Sketch, prices: Prices | None = None) -> Tree:
    """Turn a sketch into a tree with the weights of the training objects; raises ContractError if it is none."""
    from arboretum.engine.search.assemble import Grown

    prices = prices_of(objects) if prices is None else prices
    impurity = toy_impurity(objects.task)

    def grown(part: Sketch, rows: np.ndarray) -> Grown:
        here = node_of(objects, rows, impurity=impurity)
        node = Grown(here.weights, here.count, mean_of(here.weights, objects.task), here.impurity)
        if part is not None:
            test, below = part
            parts = branches(objects, test, rows)
            node.rule, node.price = objects.rule(test), float(prices.tests[test])
            node.children = [grown(below[k], parts[k]) if k in parts else None for k in range(node.rule.arity)]
        return node

    return planted(grown(sketch, np.arange(objects.n_objects)), objects)


def slow_tree(objects: Encoded, prices: Prices | None = None, max_depth: int = 6) -> Tree:
    """The tree that the slow loop grows."""
    return build_tree(objects, slow_greedy(objects, max_depth=max_depth), prices)


def mean_of(weights: np.ndarray, task: Task) -> float:
    """What a node with these moments predicts; NaN for classes."""
    return float(weights[1] / weights[0]) if task is Task.regression else float("nan")


def planted(root: Any, objects: Encoded) -> Tree:
    """The tree below a grown node whose moments are about 0."""
    from arboretum.engine.search.assemble import to_tree
    from arboretum.engine.search.statistics import Statistics

    return to_tree(root, objects, attrs.evolve(Statistics.of(objects), shift=0.0))
