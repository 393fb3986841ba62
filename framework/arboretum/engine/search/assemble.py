"""From grown nodes to a frozen tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import attrs
import numpy as np

from arboretum.engine.search.statistics import Statistics
from arboretum.errors import sure
from arboretum.model.encoded import Encoded
from arboretum.model.rules import TestRule
from arboretum.model.table import Table
from arboretum.model.tree import LEAF, MISSING_STOPS, NO_CHILD, Surrogate, Tree


@attrs.frozen(eq=False, slots=False)
class Subtree:
    """Nodes that a kernel grew, as arrays; a node's parent comes before it, and children come in
    the order of outcomes.

    feature : −1 at a leaf.
    number : what tells the tests of a feature apart.
    side : outcome of missing values, −1: there were none.
    parent, branch : the node above, and the outcome of its test.
    count : rows.
    shift : what to add to the mean, NaN for classes.
    rule_of : (feature, number) → test.
    fills : whether later rows follow the heaviest branch where there were no missing values; else
        ``side`` is what a tree says.
    """

    feature: np.ndarray
    number: np.ndarray
    side: np.ndarray
    parent: np.ndarray
    branch: np.ndarray
    price: np.ndarray
    score: np.ndarray
    impurity: np.ndarray
    weights: np.ndarray
    count: np.ndarray
    shift: float
    rule_of: Callable[[int, float], TestRule]
    fills: bool = True

    @cached_property
    def missing_outcome(self) -> np.ndarray:
        """Return int64[nodes]: the outcome that missing values follow; where a node had none, that
        of the heaviest branch, if ``fills``.
        """
        mass = self.weights[:, 0] if self.shift == self.shift else self.weights.sum(axis=1)
        found = np.where(self.feature >= 0, self.side, MISSING_STOPS).astype(np.int64)
        if not self.fills:
            return found
        by = np.lexsort((self.branch, -mass, self.parent))[1:]
        above = self.parent[by]
        heaviest = np.flatnonzero(np.diff(above, prepend=-1))
        up = above[heaviest]
        found[up] = np.where(self.side[up] >= 0, self.side[up], self.branch[by[heaviest]])
        return found

    @cached_property
    def value(self) -> np.ndarray:
        """float64[nodes], the number predicted."""
        mean: np.ndarray = self.weights[:, 1] / self.weights[:, 0]
        return mean + self.shift

    def number_tests(self, known: dict[TestRule, int]) -> list[int]:
        """Return each node's test by its number in ``known``, which new tests join; −1 at a
        leaf.
        """
        seen: dict[tuple[int, float], int] = {}
        found = []
        for f, x in zip(self.feature.tolist(), self.number.tolist(), strict=True):
            kind = LEAF if f < 0 else seen.get((f, x), LEAF)
            if f >= 0 and kind < 0:
                kind = seen[f, x] = known.setdefault(self.rule_of(f, x), len(known))
            found.append(kind)
        return found


@attrs.define(eq=False)
class Grown:
    """A node while the tree grows.

    children : one per outcome, None where no object went.
    below : what a kernel grew, this node first.
    """

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
    below: Subtree | None = None


def _list_in_preorder(root: Grown) -> tuple[list[Grown], list[int], list[int]]:
    """List the nodes of the loop in depth-first preorder: (nodes, number of each node's parent,
    outcome of the parent's test that leads to it).
    """
    nodes, parent, branch = list[Grown](), list[int](), list[int]()
    stack = [(root, -1, 0)]
    while stack:
        node, above, outcome = stack.pop()
        stack += [
            (child, len(nodes), o)
            for o, child in reversed(list(enumerate(node.children)))
            if child is not None
        ]
        nodes.append(node)
        parent.append(above)
        branch.append(outcome)
    return nodes, parent, branch


def to_tree(root: Grown, objects: Encoded | Table, statistics: Statistics | None = None) -> Tree:
    """Number the nodes in preorder, those that kernels grew among them, and return them as a frozen
    tree.

    objects : or a table, whose columns and classes are read.
    statistics : those it was grown by, None: those of the objects; moments lose their shift.
    """
    table = objects if isinstance(objects, Table) else objects.table
    if statistics is None:
        statistics = (
            Statistics.without_rows(objects.task, objects.n_classes)
            if isinstance(objects, Table)
            else Statistics.of(objects)
        )
    nodes, parent, branch = _list_in_preorder(root)
    tops = [v for v, node in enumerate(nodes) if node.below is not None]
    below = [node.below for node in nodes if node.below is not None]
    first = np.cumsum([len(nodes), *(len(each.feature) - 1 for each in below)])

    def join_nodes(own: list[int] | list[float], name: str, dtype: type = np.float64) -> np.ndarray:
        """An array over all nodes: those of the loop, then those of the kernels; a kernel's
        first node is one of the loop's.
        """
        found: np.ndarray = np.array(own, dtype)
        if name in ("price", "score", "missing_outcome"):
            found[tops] = [getattr(each, name)[0] for each in below]
        return np.concatenate([found, *(getattr(each, name)[1:] for each in below)])

    above = [
        np.where(each.parent[1:] > 0, each.parent[1:] + start - 1, v)
        for each, start, v in zip(below, first, tops, strict=False)
    ]
    up = np.concatenate([np.array(parent, np.int64), *above])
    at = places_in_preorder(up)
    order = np.argsort(at)
    rules, test, number = _collect_tests(nodes, tops, order)
    offset = np.concatenate([[0], np.cumsum([rules[k].arity if k >= 0 else 0 for k in test])])
    child = np.full(offset[-1], NO_CHILD)
    child[offset[at[up[1:]]] + join_nodes(branch, "branch", np.int64)[1:]] = at[1:]
    weights = np.concatenate(
        [np.array([node.weights for node in nodes]), *(each.weights[1:] for each in below)]
    )[order]
    classes = not statistics.moments
    return Tree(
        task=objects.task,
        columns=tuple(column.spec for column in table.columns),
        classes=table.target.classes,
        rules=rules,
        test=np.array(test),
        child_offset=offset,
        child=child,
        missing_child=join_nodes(
            [node.missing_child for node in nodes], "missing_outcome", np.int64
        )[order],
        weights=statistics.undo_shift(weights),
        counts=join_nodes([node.count for node in nodes], "count")[order],
        label=weights.argmax(axis=1) if classes else np.zeros(len(order)),
        value=np.full(len(order), np.nan)
        if classes and root.value != root.value
        else join_nodes([node.value for node in nodes], "value")[order],
        price=join_nodes([node.price for node in nodes], "price")[order],
        impurity=join_nodes([node.impurity for node in nodes], "impurity")[order],
        score=join_nodes([node.score for node in nodes], "score")[order],
        surrogates=tuple(
            Surrogate(int(at[v]), number[rule], to)
            for v, node in enumerate(nodes)
            for rule, to in node.surrogates
        ),
        branch_price=np.array([p for node in nodes for p in node.branch_price])
        if any(set(node.branch_price) - {node.price} for node in nodes)
        else None,
    )


def _collect_tests(
    nodes: list[Grown], tops: list[int], order: np.ndarray
) -> tuple[tuple[TestRule, ...], list[int], dict[TestRule, int]]:
    """Collect the distinct tests in the order of preorder; return them, each node's test by its
    number (LEAF: none), and the number of each test.

    nodes : of the loop; ``tops`` have more below, in their order.
    order : int64, all nodes by preorder.
    """
    known: dict[TestRule, int] = {}
    kind = [
        LEAF if node.rule is None else known.setdefault(node.rule, len(known)) for node in nodes
    ]
    for v in tops:
        own = sure(nodes[v].below).number_tests(known)
        kind[v] = own[0]
        kind += own[1:]
    sequence: list[int] = []
    for v in order.tolist():
        sequence.append(kind[v])
        if v < len(nodes):
            sequence += [known.setdefault(rule, len(known)) for rule, _ in nodes[v].surrogates]
    place = {k: i for i, k in enumerate(k for k in dict.fromkeys(sequence) if k >= 0)}
    found = list(known)
    rules = tuple(found[k] for k in place)
    return (
        rules,
        [place.get(kind[v], LEAF) for v in order.tolist()],
        {rule: place[k] for rule, k in known.items()},
    )


def places_in_preorder(parent: np.ndarray) -> np.ndarray:
    """Return int64[nodes]: the place of every node in depth-first preorder.

    parent : int64[nodes], −1 at the root; a parent stands before its children, which come in their
        order.
    """
    above = parent.tolist()
    size, place = [1] * len(above), [0] * len(above)
    for v in range(len(above) - 1, 0, -1):
        size[above[v]] += size[v]
    after = [1] * len(above)  # where the next child of a node goes
    for v in range(1, len(above)):
        up = above[v]
        place[v] = after[up]
        after[up] += size[v]
        after[v] = place[v] + 1
    return np.array(place, np.int64)
