"""From grown nodes to a frozen tree."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.engine.search.statistics import Statistics
from arboretum.model.encoded import Encoded
from arboretum.model.rules import TestRule
from arboretum.model.tree import LEAF, MISSING_STOPS, NO_CHILD, ColumnSpec, Surrogate, Tree


@attrs.define(eq=False)
class Grown:
    """A node while the tree grows.   children : one per outcome, None where no object went."""

    weights: np.ndarray
    count: float
    value: float
    impurity: float
    rule: TestRule | None = None
    children: list[Grown | None] = attrs.field(factory=list)
    missing_child: int = MISSING_STOPS
    price: float = 0.0
    branch_price: list[float] = attrs.field(factory=list)
    surrogates: list[tuple[TestRule, tuple[int, ...]]] = attrs.field(factory=list)
    score: float = float("nan")


def to_tree(root: Grown, objects: Encoded, statistics: Statistics) -> Tree:
    """Number the nodes in preorder and freeze them."""
    nodes: list[Grown] = []
    stack = [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        stack.extend(child for child in reversed(node.children) if child is not None)
    number = {id(node): i for i, node in enumerate(nodes)}
    rules: dict[TestRule, int] = {}
    for node in nodes:
        if node.rule is not None:
            rules.setdefault(node.rule, len(rules))
        for rule, _ in node.surrogates:
            rules.setdefault(rule, len(rules))
    weights = np.array([statistics.plain_moments(node.weights) for node in nodes])
    classes = not statistics.moments
    return Tree(
        task=objects.task,
        columns=tuple(ColumnSpec.of(c) for c in objects.table.columns),
        classes=objects.table.target.classes,
        rules=tuple(rules),
        test=[LEAF if node.rule is None else rules[node.rule] for node in nodes],
        child_offset=np.cumsum([0, *(len(node.children) for node in nodes)]),
        child=[NO_CHILD if child is None else number[id(child)] for node in nodes for child in node.children],
        missing_child=[node.missing_child for node in nodes],
        weights=weights,
        counts=[node.count for node in nodes],
        label=weights.argmax(axis=1) if classes else np.zeros(len(nodes)),
        value=[np.nan if classes else node.value for node in nodes],
        price=[node.price for node in nodes],
        impurity=[node.impurity for node in nodes],
        score=[node.score for node in nodes],
        surrogates=tuple(Surrogate(i, rules[rule], to) for i, node in enumerate(nodes) for rule, to in node.surrogates),
        branch_price=[p for node in nodes for p in node.branch_price] if any(set(node.branch_price) - {node.price} for node in nodes) else None,
    )
