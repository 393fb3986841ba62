"""From the points of subtables to trees: which test, and which points of its branches, a point
is the sum of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arboretum.api import Level, Tree, laid_out

if TYPE_CHECKING:
    from arboretum_maxcost.fronts.solver import FrontSearch

    Token = tuple[list[np.ndarray], list[tuple[int, int, int]], int]


GOLDEN = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9], np.uint64)
"""What one more test below a subtable adds to its fingerprint where trees are held to a depth;
as in search_kernels.
"""


class Wanted(NamedTuple):
    """Of a subtable.

    points : POINT[.], as in the search.
    target : error, cost and leaves that its tree must not exceed.

    test : of the first such point, −1 for a leaf.
    own : what asking it costs, without the branches; of a leaf, its cost.
    error : 0 above leaves.
    """

    points: np.ndarray
    target: tuple[int, int, int]
    test: int
    own: int
    error: int


class Trees:
    """Finds trees for points; what it has found of subtables is kept, since trees share most of
    them.
    """

    def __init__(self, search: FrontSearch) -> None:
        self.search = search
        self.space = search.space
        self.form = search.form
        self.table = search.table
        self.known: dict[tuple[int, int], np.ndarray] = {}
        self.shared: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}

    def build_tree(
        self, points: np.ndarray, target: tuple[int, int, int]
    ) -> tuple[tuple[int, int, int], Tree]:
        """Return the error, cost and leaves of a tree, which are at most those of ``target``, and
        the tree.

        points : POINT[.] of the whole table, one of them at or below ``target``.
        """
        space = self.space
        form = self.form
        left = self.search.max_depth or 0
        errors = 0
        paid = [np.zeros(1, np.int64)]

        def choose(level: Level, token: Token) -> tuple[np.ndarray, Callable[[Level], Token]]:
            """Return the test of every set of a level, int64[sets] (−1: a leaf), and what finds the
            points and targets of the sets below.  Adds up errors and costs on the way.

            token : points and targets of the sets, and how many tests may follow.
            """
            nonlocal errors
            masses = level.by_class(space.mass)
            here = list(
                map(
                    self._choose_point,
                    *token[:2],
                    masses.sum(axis=1).astype(int).tolist(),
                    masses.max(axis=1).astype(int).tolist(),
                )
            )
            test, own, error = np.array([one[2:] for one in here]).T
            errors += int(error.sum())
            paid.append(own + paid[-1][level.parent] if form.largest else own)
            return test, lambda below: self._targets_of_branches(here, below, token[2] - 1)

        tree = laid_out(space, space.prices.tests, ([points], [target], left), choose)
        cost = np.concatenate(paid)
        return (
            errors,
            int(cost.max() if form.largest else cost.sum()),
            tree.n_leaves * form.counts,
        ), tree

    def _choose_point(
        self, points: np.ndarray, target: tuple[int, int, int], mass: int, majority: int
    ) -> Wanted:
        """Choose of a set the first point at or below ``target``; return its test, and what that
        test, or a leaf, adds to cost and error.

        points : POINT[.] of the set.
        mass, majority : weight of the set, and of its majority class, as whole numbers.
        """
        from arboretum_maxcost.fronts.lists import first_point_within

        test, form = int(points["test"][first_point_within(points, *target)]), self.form
        if test < 0:
            return Wanted(points, target, test, form.leaf, mass - majority)
        return Wanted(
            points,
            target,
            test,
            (form.per_node + form.per_mass * mass) * int(self.table.price[test]),
            0,
        )

    def _targets_of_branches(
        self, here: list[Wanted], below: Level, left: int
    ) -> tuple[list[np.ndarray], list[tuple[int, int, int]], int]:
        """Return the points of the subtables below, the target of each, and ``left``.

        here : of the sets above; below : the sets of their branches, those of one set together.
        left : tests that may follow below.
        """
        if not len(below):
            return [], [], left
        words = below.sums(self.table.rows["words"])
        if self.search.max_depth is not None:
            words = words + np.uint64(left) * GOLDEN
        keys = list(map(tuple, words.tolist()))
        masses = below.by_class(self.space.mass)
        targets = []
        losses = (masses.sum(axis=1) - masses.max(axis=1)).astype(int).tolist()
        points = [self._points_of_subtable(*each) for each in zip(keys, words, losses, strict=True)]
        first = np.flatnonzero(np.diff(below.parent, prepend=-1)).tolist()
        for start, end in zip(first, [*first[1:], len(below)], strict=True):
            one = here[below.parent[start]]
            wanted = (*keys[start:end], one.target)
            if wanted not in self.shared:
                self.shared[wanted] = self._split_target(one, points[start:end])
            targets += self.shared[wanted]
        return points, targets, left

    def _points_of_subtable(self, key: tuple[int, int], words: np.ndarray, loss: int) -> np.ndarray:
        """Return the points of a subtable, POINT[.], from the search; one leaf where the search
        does not know the subtable.

        key, words : its fingerprint, as two ints, by which what was found is kept, and as
            uint64[2]; with the tests that may follow, where depth is limited.
        loss : of a leaf.
        """
        from arboretum.kernels.solving.fingerprints import find
        from arboretum_maxcost.fronts.lists import POINT

        if key not in self.known:
            node = int(find(self.search.arrays["slots"], *words))
            self.known[key] = (
                self.search.points(node)
                if node >= 0
                else np.array([(loss, self.form.leaf, self.form.counts, -1)], POINT)
            )
        return self.known[key]

    def _split_target(self, one: Wanted, branches: list[np.ndarray]) -> list[tuple[int, int, int]]:
        """Choose a point of each branch, so that they and the test add up to a point at or below
        the target; return their (error, cost, leaves).

        one : of the set above, with its points and its test.
        branches : POINT[.] of each branch.
        """
        from arboretum_maxcost.fronts.lists import (
            first_pair_within,
            first_point_within,
            point_values,
        )

        point, targets = point_values(one.points)[first_point_within(one.points, *one.target)], []
        rest = point - [0, one.own, 0]
        # of least error, often those of the most accurate point
        most_accurate = np.array([point_values(branch)[0] for branch in branches])
        total = most_accurate.sum(axis=0)
        if self.form.largest:
            total[1] = most_accurate[:, 1].max()
        if (total <= rest).all():
            return list(map(tuple, most_accurate.tolist()))

        def within(points: np.ndarray) -> np.ndarray:
            kept: np.ndarray = points[(point_values(points) <= rest).all(axis=1)]
            return kept

        sums = [within(branches[-1])]  # of the points of each branch and all after it
        for branch in branches[-2:0:-1]:
            sums.append(
                within(self.search.sum_of_fronts(within(branch), sums[-1], int(rest[0]) + 1))
            )
        for branch, others in zip(branches[:-1], sums[::-1], strict=True):
            i, j = first_pair_within(branch, others, *rest.tolist(), self.form)
            targets.append(tuple(point_values(branch)[i].tolist()))
            rest = point_values(others)[j]
        return [*targets, tuple(rest.tolist())]
