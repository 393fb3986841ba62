"""The slow truth: Δ(T) and dynamic programming as the paper writes them, and brute force over all
trees.

Subtables are frozensets of object numbers, trees nested tuples: ``None`` for a leaf, else (test,
{outcome: tree}) with the global index of the test.  Nothing here shares code with the kernels.

Tests of one feature that divide a subtable alike count as one, the cheapest, ties to the first: a
paper's attribute is one multiway test, where this cannot happen.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from arboretum_decision_tables.exact.space import Space

Rows = frozenset
Bundle = tuple[int, dict[int, Rows]]
"""Global index of a test, outcome → objects."""
Sketch = None | tuple[int, dict[int, Any]]


def parts_of(space: Space, rows: Rows, test: int) -> dict[int, Rows]:
    """Outcome → the objects that have it, those of the lowest number first."""
    listed = sorted(rows)
    found: dict[int, list[int]] = {}
    for row, outcome in zip(
        listed, space.outcomes_of_test(np.array(listed), test).tolist(), strict=True
    ):
        found.setdefault(outcome, []).append(row)
    return {outcome: frozenset(part) for outcome, part in found.items()}


def bundles_of(space: Space, rows: Rows) -> list[Bundle]:
    """All tests that divide a subtable, in the order of features and tests."""
    found: list[Bundle] = []
    bounds = [*space.first_test.tolist(), len(space.price)]
    for low, high in itertools.pairwise(bounds):
        alike: dict[frozenset[Rows], list[Bundle]] = {}
        for test in range(low, high):
            parts = parts_of(space, rows, test)
            if len(parts) > 1:
                alike.setdefault(frozenset(parts.values()), []).append((test, parts))
        found += [min(group, key=lambda bundle: space.price[bundle[0]]) for group in alike.values()]
    return found


def is_leaf(space: Space, rows: Rows) -> bool:
    """By class or leaf rule; a subtable that no test divides has no bundles."""
    return space.is_leaf(np.array(sorted(rows)))


def delta(space: Space) -> dict[Rows, list[Bundle]]:
    """Δ(T): every separable subtable that is met, with its bundles (none at a leaf)."""
    whole = frozenset(range(space.n_objects))
    graph: dict[Rows, list[Bundle]] = {}
    waiting = [whole]
    while waiting:
        rows = waiting.pop()
        if rows not in graph:
            graph[rows] = [] if is_leaf(space, rows) else bundles_of(space, rows)
            waiting += [part for _, parts in graph[rows] for part in parts.values()]
    return graph


def minima(
    space: Space, complexity: Any, graph: dict[Rows, list[Bundle]] | None = None
) -> dict[Rows, float]:
    """The minimum of ψ over the trees for every subtable (not divided by the mass)."""
    graph = delta(space) if graph is None else graph
    value: dict[Rows, float] = {}
    for rows in sorted(graph, key=len):
        value[rows] = min(
            (bundle_value(space, complexity, rows, bundle, value) for bundle in graph[rows]),
            default=complexity.leaf(),
        )
    return value


def bundle_value(
    space: Space, complexity: Any, rows: Rows, bundle: Bundle, value: dict[Rows, float]
) -> float:
    """F of a bundle."""
    mass = float(sum(space.weight[row] for row in sorted(rows)))
    children = np.array([value[part] for part in bundle[1].values()])
    return float(complexity.node(mass, float(space.price[bundle[0]]), children))


def optimal_part(
    space: Space, complexity: Any, graph: dict[Rows, list[Bundle]]
) -> dict[Rows, list[Bundle]]:
    """The same nodes with their optimal bundles alone: the trees whose subtrees are all optimal."""
    value = minima(space, complexity, graph)
    slack = space.slack
    return {
        rows: [
            b
            for b in bundles
            if bundle_value(space, complexity, rows, b, value) <= value[rows] * (1 + slack)
        ]
        for rows, bundles in graph.items()
    }


def count(graph: dict[Rows, list[Bundle]]) -> dict[Rows, int]:
    """Number of trees that the bundles describe, for every subtable."""
    number: dict[Rows, int] = {}
    for rows in sorted(graph, key=len):
        total = 0
        for _, parts in graph[rows]:
            product = 1
            for part in parts.values():
                product *= number[part]
            total += product
        number[rows] = total if graph[rows] else 1
    return number


def in_sequence(space: Space, complexities: Sequence[Any]) -> tuple[list[float], int]:
    """Minimise the first, then the second among the trees kept, …; the minima, and the number of
    trees kept at last.
    """
    graph, whole = delta(space), frozenset(range(space.n_objects))
    found = []
    for complexity in complexities:
        found.append(minima(space, complexity, graph)[whole])
        graph = optimal_part(space, complexity, graph)
    return found, count(graph)[whole]


def all_trees(space: Space, rows: Rows | None = None) -> Iterator[Sketch]:
    """Brute force: every tree that the leaf rule allows."""
    rows = frozenset(range(space.n_objects)) if rows is None else rows
    bundles = [] if is_leaf(space, rows) else bundles_of(space, rows)
    if not bundles:
        yield None
    for test, parts in bundles:
        options = [list(all_trees(space, part)) for part in parts.values()]
        for choice in itertools.product(*options):
            yield test, dict(zip(parts, choice, strict=True))


def value_of_sketch(
    space: Space, complexity: Any, sketch: Sketch, rows: Rows | None = None
) -> float:
    """ψ of one tree, by its definition (not divided by the mass)."""
    rows = frozenset(range(space.n_objects)) if rows is None else rows
    if sketch is None:
        return complexity.leaf()
    test, below = sketch
    parts = parts_of(space, rows, test)
    children = np.array(
        [value_of_sketch(space, complexity, below[k], part) for k, part in parts.items()]
    )
    mass = float(sum(space.weight[row] for row in sorted(rows)))
    return float(complexity.node(mass, float(space.price[test]), children))


def is_optimal_throughout(
    space: Space, complexity: Any, sketch: Sketch, value: dict[Rows, float]
) -> bool:
    """Whether all subtrees of a tree are optimal for their subtables."""
    whole = frozenset(range(space.n_objects))

    def holds(part: Sketch, rows: Rows) -> bool:
        if part is None:
            return True
        if value_of_sketch(space, complexity, part, rows) > value[rows] * (1 + space.slack):
            return False
        parts = parts_of(space, rows, part[0])
        return all(holds(below, parts[k]) for k, below in part[1].items())

    return holds(sketch, whole)


def capped(weights: list[float], free: float) -> list[float]:
    """The weights above ``free``, and the rest in portions of ``free``."""
    class_weight, rest = [w for w in weights if w > free], sum(w for w in weights if w <= free)
    while rest > free > 0.0:
        class_weight.append(free)
        rest -= free
    return [*class_weight, rest] if rest > 1e-9 * free else class_weight


def huffman_length(weights: list[float], arity: int) -> float:
    """Σ weight × length of the best prefix code of ``arity`` letters."""
    heap = sorted(weights)
    while len(heap) > 1 and (len(heap) - 1) % (arity - 1):
        heapq.heappush(heap, 0.0)  # Huffman merges full groups; words of no weight fill the first
    total = 0.0
    while len(heap) > 1:
        merged = sum(heapq.heappop(heap) for _ in range(min(arity, len(heap))))
        total += merged
        heapq.heappush(heap, merged)
    return total
