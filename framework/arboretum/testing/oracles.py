"""Naive oracles: trees built from nested choices, grown by a slow loop, enumerated for brute force.

A *sketch* of a tree is ``None`` for a leaf, or ``(test, {outcome: sketch})`` with the global index of a fixed test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from arboretum.api import Encoded, Node, Prices, Tables, Task, Tree
from arboretum.model.tree import ColumnSpec
from arboretum.testing.tables import contingency, node_of, outcomes, prices_of, toy_impurity

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


def slow_greedy(
    objects: Encoded,
    score: Callable[[Tables, Node], np.ndarray] | None = None,
    *,
    rows: np.ndarray | None = None,
    max_depth: int = 6,
) -> Sketch:
    """Grow depth first, counting every table anew; by weighted impurity unless ``score`` is given."""
    rows = np.arange(objects.n_objects) if rows is None else rows
    impurity = toy_impurity(objects.task)
    tables, node = contingency(objects, rows, impurity=impurity)
    if max_depth == 0 or tables.n_tests == 0 or node.impurity == 0:
        return None
    if score is None:
        found = -(tables.mass * tables.impurity(tables.weights)).sum(axis=1)
    else:
        found = score(tables, node)
    if not np.isfinite(found).any():
        return None
    divides = [t for t in range(int(objects.test_offset[-1])) if len(branches(objects, t, rows)) > 1]
    test = divides[int(np.argmax(found))]
    parts = branches(objects, test, rows)
    return test, {k: slow_greedy(objects, score, rows=part, max_depth=max_depth - 1) for k, part in parts.items()}


def build_tree(objects: Encoded, sketch: Sketch, prices: Prices | None = None) -> Tree:
    """Turn a sketch into a tree with the weights of the training objects; raises ContractError if it is none."""
    prices = prices_of(objects) if prices is None else prices
    impurity = toy_impurity(objects.task)
    nodes: list[dict[str, Any]] = []
    rules: list[Any] = []

    def add(part: Sketch, rows: np.ndarray) -> int:
        here = node_of(objects, rows, impurity=impurity)
        me = {"node": here, "rule": -1, "children": [], "price": 0.0}
        nodes.append(me)
        number = len(nodes) - 1
        if part is not None:
            test, below = part
            rule = objects.rule(test)
            if rule not in rules:
                rules.append(rule)
            parts = branches(objects, test, rows)
            me.update(rule=rules.index(rule), price=float(prices.tests[test]))
            me["children"] = [add(below[k], parts[k]) if k in parts else -1 for k in range(rule.arity)]
        return number

    add(sketch, np.arange(objects.n_objects))
    weights = np.array([entry["node"].weights for entry in nodes])
    regression = objects.task is Task.regression
    return Tree(
        task=objects.task,
        columns=tuple(ColumnSpec.of(c) for c in objects.table.columns),
        classes=objects.table.target.classes,
        rules=tuple(rules),
        test=np.array([entry["rule"] for entry in nodes]),
        child_offset=np.cumsum([0, *(len(entry["children"]) for entry in nodes)]),
        child=np.array([child for entry in nodes for child in entry["children"]], np.int32),
        missing_child=np.full(len(nodes), -1),
        weights=weights,
        counts=np.array([entry["node"].count for entry in nodes]),
        label=np.zeros(len(nodes)) if regression else weights.argmax(axis=1),
        value=weights[:, 1] / weights[:, 0] if regression else np.full(len(nodes), np.nan),
        price=np.array([entry["price"] for entry in nodes]),
        impurity=np.array([entry["node"].impurity for entry in nodes]),
        score=np.full(len(nodes), np.nan),
    )


def cut_at(sketch: Sketch, path: tuple[int, ...]) -> Sketch:
    """The same sketch with a leaf where ``path`` (a sequence of outcomes) leads."""
    if not path or sketch is None:
        return None
    test, below = sketch
    return test, {k: cut_at(part, path[1:]) if k == path[0] else part for k, part in below.items()}


def inner_paths(sketch: Sketch, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The paths of all inner nodes."""
    if sketch is not None:
        yield path
        for k, part in sketch[1].items():
            yield from inner_paths(part, (*path, k))
