"""From the points of subtables to trees: which test, and which points of its branches, a point is the sum of."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arboretum.api import Choice, Tree, assemble

GOLDEN = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9], np.uint64)
"""What one more test below a subtable adds to its fingerprint where trees are held to a depth; as in kernels_front."""


@attrs.define(eq=False)
class Subtable:
    """rows : of a subtable.   points : int64[., 4], as in the search.   weights : int64[classes].   held : float64[classes], the same in
    the unit of the data.   count : rows of the data.

    parts : test → (outcomes, subtables, sums of the points of each subtable and all after it; nothing for the first).   chosen : what is
    wanted → the choice, its own cost and error.
    """

    rows: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    held: np.ndarray
    count: int
    parts: dict[int, Any] = attrs.field(factory=dict)
    chosen: dict[Any, tuple[Choice, int, int]] = attrs.field(factory=dict)


class Trees:
    """Finds trees for points; what it has found of subtables is kept, since trees share most of them."""

    def __init__(self, search: Any) -> None:
        self.search, self.space, self.table = search, search.space, search.table
        self.limited = search.max_depth is not None
        self.known: dict[tuple[int, int], Subtable] = {}
        self.largest, self.counts = bool(search.form.largest), search.form.counts

    def tree(self, points: np.ndarray, target: tuple[int, int, int]) -> tuple[tuple[int, int, int], Tree]:
        """A tree whose error, cost and leaves are at most those of ``target``, and its own.   points : of the whole table, one of them that."""
        space, depth, asked = self.space, self.search.max_depth or 0, []
        root = attrs.evolve(self._subtable(np.arange(space.n_objects), depth), points=points, parts={}, chosen={})

        def choose(place: tuple[Subtable, Any, int]) -> Choice:
            here, wanted, left = place
            if wanted not in here.chosen:
                here.chosen[wanted] = self._choice(here, wanted, left)
            choice, *own = here.chosen[wanted]
            asked.append(own)
            return choice

        tree = assemble(space.objects, space.impurity, (root, target, depth), choose)
        cost, error = (list(each) for each in zip(*asked, strict=True))
        if self.largest:  # what is paid on the way to each node; a parent comes before its children
            for number, above in enumerate(tree.parent.tolist()[1:], start=1):
                cost[number] += cost[above]
        return (sum(error), max(cost) if self.largest else sum(cost), tree.n_leaves * self.counts), tree

    def _choice(self, here: Subtable, wanted: Any, left: int) -> tuple[Choice, int, int]:
        """What stands at a subtable of which a point is wanted, what it costs without its branches, and its error, 0 above leaves."""
        test, targets = self._chosen(here, wanted, left)
        if test < 0:
            return Choice(here.held, here.count), self.search.form.leaf, int(here.weights.sum() - here.weights.max())
        outcomes, kids, _ = here.parts[test]
        below = [(outcome, (kid, of_kid, left - 1)) for outcome, kid, of_kid in zip(outcomes, kids, targets, strict=True)]
        rule, price = self.space.objects.rule(test), float(self.space.prices.tests[test])
        return Choice(here.held, here.count, rule, price, below), self._own(here, test), 0

    def _own(self, here: Subtable, test: int) -> int:
        """What asking a test costs a subtable, without its branches."""
        form = self.search.form
        return (form.per_node + form.per_mass * int(here.weights.sum())) * int(self.table.price[test])

    def _subtable(self, rows: np.ndarray, left: int) -> Subtable:
        from arboretum.kernels.solving.fingerprints import find

        words = self.table.words[rows].sum(axis=0, dtype=np.uint64)
        if self.limited:
            words = words + np.uint64(left) * GOLDEN
        key = (int(words[0]), int(words[1]))
        if key not in self.known:
            weights = np.bincount(self.table.label[rows], self.table.mass[rows], self.table.n_classes).astype(np.int64)
            node, unit = int(find(self.search.arrays["slots"], *words)), self.space.unit
            loss = int(weights.sum() - weights.max())
            points = self.search.points(node) if node >= 0 else np.array([[loss, self.search.form.leaf, self.counts, -1]], np.int64)
            self.known[key] = Subtable(rows, points, weights, weights * unit.numerator / unit.denominator, int(self.table.count[rows].sum()))
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
        rest = point[:3] - [0, self._own(here, test), 0]
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
        leaf, parts = int(here.weights.sum() - here.weights.max()), self.space.parts(here.rows, test)
        kids = [self._subtable(rows, left - 1) for _, rows in parts]
        sums = [kids[-1].points]
        for kid in kids[-2:0:-1]:
            sums.append(self.search.sums(kid.points, sums[-1], leaf))
        return [outcome for outcome, _ in parts], kids, [np.zeros((0, 4), np.int64), *sums[::-1]]
