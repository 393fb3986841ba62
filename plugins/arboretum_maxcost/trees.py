"""From choices to trees, the same way for every search of this plugin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import ColumnSpec, Encoded, TestRule, Tree

LEAF, NO_CHILD, MISSING_STOPS = -1, -1, -1
"""As in Tree."""


@attrs.frozen(eq=False)
class Choice:
    """A node.

    weights : float64[classes].   count : of rows.   rule : the test, None at a leaf.   below : (outcome, place) of the outcomes that
    occur, ascending.   missing : outcome that missing values follow, or MISSING_STOPS.
    """

    weights: np.ndarray
    count: float
    rule: TestRule | None = None
    price: float = 0.0
    below: Sequence[tuple[int, Any]] = ()
    missing: int = MISSING_STOPS


def assemble(objects: Encoded, impurity: Any, root: Any, choose: Callable[[Any], Choice]) -> Tree:
    """Ask for the choice at every place, from the root down, and freeze the tree (preorder, children by outcome)."""
    rules: dict[TestRule, int] = {}
    nodes, tests, children = [], [], []
    stack: list[tuple[Any, tuple[int, int] | None]] = [(root, None)]
    while stack:
        place, above = stack.pop()
        number, node = len(nodes), choose(place)
        if above is not None:
            children[above[0]][above[1]] = number
        nodes.append(node)
        tests.append(LEAF if node.rule is None else rules.setdefault(node.rule, len(rules)))
        children.append([NO_CHILD] * (0 if node.rule is None else node.rule.arity))
        stack.extend((below, (number, outcome)) for outcome, below in reversed(node.below))
    weights, nothing = np.array([node.weights for node in nodes]), np.full(len(nodes), math.nan)
    return Tree(
        task=objects.task,
        columns=tuple(map(ColumnSpec.of, objects.table.columns)),
        classes=objects.table.target.classes,
        rules=tuple(rules),
        test=tests,
        child_offset=np.cumsum([0, *map(len, children)]),
        child=[child for of_node in children for child in of_node],
        missing_child=[node.missing for node in nodes],
        weights=weights,
        counts=[node.count for node in nodes],
        label=weights.argmax(axis=1),
        value=nothing,
        price=[node.price for node in nodes],
        impurity=nothing if impurity is None else impurity.value(weights),
        score=nothing,
    )
