"""From the points of subtables to trees: which test, and which points of its branches, a point is the sum of."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from arboretum.api import ColumnSpec, Tree

LEAF, NO_CHILD, MISSING_STOPS = -1, -1, -1
"""As in Tree."""
GOLDEN = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9], np.uint64)
"""What one more test below a subtable adds to its fingerprint where trees are held to a depth; as in kernels_front."""


@attrs.define(eq=False)
class Subtable:
    """rows : of a subtable.   points : int64[., 4], as in the search.   weights : int64[classes].   count : rows of the data.

    parts : test → (outcomes, subtables, sums of the points of each subtable and all after it; nothing for the first).   chosen : what is
    wanted → test, and what is wanted of its branches.
    """

    rows: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    count: int
    impurity: float
    parts: dict[int, Any] = attrs.field(factory=dict)
    chosen: dict[Any, tuple[int, list[Any]]] = attrs.field(factory=dict)


class Trees:
    """Finds trees for points; what it has found of subtables is kept, since trees share most of them."""

    def __init__(self, search: Any) -> None:
        self.search, self.space, self.table = search, search.space, search.space.table
        self.offset = np.append(self.table.first_test, len(self.table.price))
        self.limited = search.max_depth is not None
        self.known: dict[tuple[int, int], Subtable] = {}
        self.impurity = self.space.problem.parts.impurity
        self.largest, self.counts = bool(search.form.largest), search.form.counts

    def tree(self, points: np.ndarray, target: tuple[int, int, int]) -> tuple[tuple[int, int, int], Tree]:
        """A tree whose error, cost and leaves are at most those of ``target``, and its own.   points : of the whole table, one of them that."""
        root = attrs.evolve(self._subtable(np.arange(self.space.n), self.search.max_depth or 0), points=points, parts={}, chosen={})
        rules: dict[Any, int] = {}
        tests, children, price, nodes, below = [], [], [], [], []
        stack: list[Any] = [(root, target, None, self.search.max_depth or 0)]
        features = self.space.problem.objects.features
        while stack:
            here, wanted, above, left = stack.pop()
            number = len(tests)
            if above is not None:
                children[above[0]][above[1]] = number
            nodes.append(here)
            below.append(above[0] if above else -1)
            if wanted not in here.chosen:
                here.chosen[wanted] = self._chosen(here, wanted, left)
            test, targets = here.chosen[wanted]
            if test < 0:
                tests.append(LEAF)
                children.append([])
                price.append(0)
                continue
            f = int(np.searchsorted(self.offset, test, side="right")) - 1
            rule = features[f].rule(test - int(self.offset[f]))
            tests.append(rules.setdefault(rule, len(rules)))
            children.append([NO_CHILD] * rule.arity)
            price.append(test)
            outcomes, kids, _ = here.parts[test]
            stack.extend((kid, of_kid, (number, outcome), left - 1) for outcome, kid, of_kid in reversed(list(zip(outcomes, kids, targets, strict=True))))
        return self._values(tests, price, nodes, below), self._frozen(rules, tests, children, price, nodes)

    def _values(self, tests: list[int], asked: list[int], nodes: list[Subtable], above: list[int]) -> tuple[int, int, int]:
        """Error, cost and leaves of a tree in preorder.   above : the parent of each node."""
        form, cost = self.search.form, [0] * len(tests)
        error = leaves = 0
        for number in range(len(tests) - 1, -1, -1):
            mass = int(nodes[number].weights.sum())
            if tests[number] == LEAF:
                cost[number] = form.leaf
                error, leaves = error + mass - int(nodes[number].weights.max()), leaves + 1
            else:
                cost[number] += (form.per_node + form.per_mass * mass) * int(self.table.price[asked[number]])
            if (up := above[number]) >= 0:
                cost[up] = max(cost[up], cost[number]) if self.largest else cost[up] + cost[number]
        return error, cost[0], leaves * self.counts

    def _frozen(self, rules: dict, tests: list[int], children: list[list[int]], asked: list[int], nodes: list[Subtable]) -> Tree:
        objects, prices = self.space.problem.objects, self.space.problem.prices.tests
        weights = np.array([node.weights for node in nodes]) / self.space.scale
        nothing = np.full(len(tests), math.nan)
        return Tree(
            task=objects.task,
            columns=tuple(ColumnSpec.of(column) for column in objects.table.columns),
            classes=objects.table.target.classes,
            rules=tuple(rules),
            test=tests,
            child_offset=np.cumsum([0, *map(len, children)]),
            child=[child for of_node in children for child in of_node],
            missing_child=[MISSING_STOPS] * len(tests),
            weights=weights,
            counts=[node.count for node in nodes],
            label=weights.argmax(axis=1),
            value=nothing,
            price=[0.0 if test == LEAF else prices[own] for test, own in zip(tests, asked, strict=True)],
            impurity=[node.impurity for node in nodes],
            score=nothing,
        )

    def _subtable(self, rows: np.ndarray, left: int) -> Subtable:
        from arboretum.kernels.solving.fingerprints import find

        words = self.table.words[rows].sum(axis=0, dtype=np.uint64)
        if self.limited:
            words = words + np.uint64(left) * GOLDEN
        key = (int(words[0]), int(words[1]))
        if key not in self.known:
            weights = np.bincount(self.table.label[rows], self.table.weight[rows], self.table.n_classes).astype(np.int64)
            node, impurity = int(find(self.search.arrays["slots"], *words)), math.nan
            if self.impurity is not None:
                impurity = float(self.impurity.value(weights / self.space.scale))
            loss = int(weights.sum() - weights.max())
            points = self.search.points(node) if node >= 0 else np.array([[loss, self.search.form.leaf, self.counts, -1]], np.int64)
            self.known[key] = Subtable(rows, points, weights, int(self.table.count[rows].sum()), impurity)
        return self.known[key]

    def _chosen(self, here: Subtable, wanted: Any, left: int) -> tuple[int, list[Any]]:
        """The test of a point at or below ``wanted``, −1 for a leaf, and what is wanted of its branches."""
        point = here.points[(here.points[:, :3] <= wanted).all(axis=1)][0]
        test = int(point[3])
        if test < 0:
            return -1, []
        if test not in here.parts:
            here.parts[test] = self._parts(here, test, left)
        _, kids, sums = here.parts[test]
        mass, form = int(here.weights.sum()), self.search.form
        rest = point[:3] - [0, (form.per_node + form.per_mass * mass) * int(self.table.price[test]), 0]
        targets = []
        for kid, suffix in zip(kids[:-1], sums[1:], strict=True):
            ones, others = (all_[(all_[:, :3] <= rest).all(axis=1), :3] for all_ in (kid.points, suffix))
            fits = np.add.outer(ones[:, 0], others[:, 0]) <= rest[0]
            if not self.largest:
                fits &= np.add.outer(ones[:, 1], others[:, 1]) <= rest[1]
            if self.counts:
                fits &= np.add.outer(ones[:, 2], others[:, 2]) <= rest[2]
            i, j = divmod(int(fits.argmax()), len(others))
            targets.append(tuple(ones[i].tolist()))
            rest = others[j]
        return test, [*targets, tuple(rest.tolist())]

    def _parts(self, here: Subtable, test: int, left: int) -> tuple[list[int], list[Subtable], list[np.ndarray]]:
        """Outcomes of a test, the subtables that have them, and per outcome the sums of the points from there on."""
        rows, leaf = here.rows, int(here.weights.sum() - here.weights.max())
        f = int(np.searchsorted(self.offset, test, side="right")) - 1
        code, k = self.table.codes[f, rows].astype(np.int64), test - int(self.offset[f])
        outcome = (code, code > k, code != k)[self.table.family[f]].astype(np.int64)
        outcomes = np.unique(outcome).tolist()
        kids = [self._subtable(rows[outcome == one], left - 1) for one in outcomes]
        sums = [kids[-1].points]
        for kid in kids[-2:0:-1]:
            sums.append(self.search.sums(kid.points, sums[-1], leaf))
        return outcomes, kids, [np.zeros((0, 4), np.int64), *sums[::-1]]
