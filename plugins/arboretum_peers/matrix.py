"""A problem as peers take it, columns of numbers and labels 0 … k − 1, and their trees as trees
over the problem's tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import CapabilityError, DataError, Family, Problem, Tree

if TYPE_CHECKING:
    from arboretum.testing.oracles import Sketch


MOST_CELLS = 2_000_000_000
"""Rows times columns that are handed over: two gigabytes, of which peers make copies."""


Nodes = Sequence[tuple[int, float, int, int]]
"""A peer's tree (:mod:`arboretum_peers.worker`)."""


@attrs.frozen(eq=False)
class Matrix:
    """What a peer gets.

    x : uint8 or float64[objects, columns], without columns that divide nothing.
    y : int64[objects], 0 … k − 1.
    times : int64[objects], rows that each object stands for (its weight).
    test : int64[columns], a test by its global index; the first one where a column offers
        thresholds.
    ordinal : bool[columns], the column holds bins, and "bin ≤ c" is the test c further on; else 1
        stands for outcome 0.
    """

    problem: Problem
    x: np.ndarray
    y: np.ndarray
    times: np.ndarray
    test: np.ndarray
    ordinal: np.ndarray

    @staticmethod
    def of(problem: Problem, *, ordinals: bool) -> Matrix:
        """Return the problem's objects.

        ordinals : whether a column of bins stands for all its thresholds, instead of a column each.

        Raises CapabilityError for what no peer can do: raw columns, missing values, several
        outcomes, broken weights.
        """
        objects = problem.objects
        if objects.raw_features:
            raise CapabilityError(
                "peers take tests that are fixed before the search; use encoder=auto"
            )
        if any(feature.has_missing for feature in objects.features):
            raise CapabilityError(
                "peers know no missing values; use encoder.missing=category (or drop_rows)"
            )
        if any(feature.arity > 2 for feature in objects.features):
            raise CapabilityError(
                "peers know two outcomes only; use encoder=auto or encoder=onehot"
            )
        times = np.rint(objects.weight).astype(np.int64)
        if (times != objects.weight).any():
            raise CapabilityError(
                "peers count rows: weights must be whole numbers; leave the weight column "
                "out, or round it"
            )
        wide = [ordinals and feature.family is Family.thresholds for feature in objects.features]
        columns = sum(
            1 if one else feature.n_tests
            for one, feature in zip(wide, objects.features, strict=True)
        )
        if columns * int(times.sum()) > MOST_CELLS:
            size = columns * int(times.sum()) / 1e6
            raise DataError(
                f"{columns:,} tests on {int(times.sum()):,} rows take {size:,.0f} MB; use "
                "fewer bins (encoder=bins)"
            )
        found: list[np.ndarray] = []
        test, ordinal = [], []
        for f, (feature, first) in enumerate(
            zip(objects.features, objects.test_offset.tolist(), strict=False)
        ):
            codes = objects.codes[:, f].astype(np.int64)
            made: list[np.ndarray] = [codes]
            if not wide[f]:
                made = [
                    codes <= k if feature.family is Family.thresholds else codes == k
                    for k in range(feature.n_tests)
                ]
            for k, column in enumerate(made):
                if column.min() != column.max():
                    found.append(column)
                    test.append(first + k)
                    ordinal.append(wide[f])
        x = (
            np.array(found)
            .T.reshape(objects.n_objects, len(found))
            .astype(np.float64 if any(ordinal) else np.uint8)
        )
        y = np.unique(objects.label, return_inverse=True)[1].astype(np.int64)
        return Matrix(problem, x, y, times, np.array(test, np.int64), np.array(ordinal, bool))

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """x and y with a row for each row that an object stands for."""
        return np.repeat(self.x, self.times, axis=0), np.repeat(self.y, self.times)

    @property
    def root_errors(self) -> int:
        """Rows that the best single leaf gets wrong."""
        counts = np.bincount(self.y, self.times)
        return int(counts.sum() - counts.max())

    @property
    def greatest_depth(self) -> int:
        """No tree that divides at every node is deeper: each test once on a path, each leaf a
        value of its own.
        """
        steps = int(sum(len(np.unique(column)) - 1 for column in self.x.T))
        return min(steps, len(np.unique(self.x, axis=0)) - 1)

    def errors(self, nodes: Nodes) -> tuple[int, int]:
        """Return (rows that a peer's own labels get wrong, its leaves).   nodes : of its tree."""
        wrong = [
            int(self.times[rows][self.y[rows] != nodes[node][1]].sum())
            for node, rows in self._at_leaves(nodes)
        ]
        return sum(wrong), sum(node[0] < 0 for node in nodes)

    def _at_leaves(self, nodes: Nodes) -> list[tuple[int, np.ndarray]]:
        """Return (leaf, places in ``y`` of what reaches it), int64[·], for all leaves that are
        reached or not.
        """
        found, stack = [], [(0, np.arange(len(self.y)))]
        while stack:
            node, rows = stack.pop()
            column, cut, low, high = nodes[node]
            if column < 0:
                found.append((node, rows))
            else:
                below = self.x[rows, column] <= cut
                stack += [(low, rows[below]), (high, rows[~below])]
        return found

    def tree(self, nodes: Nodes) -> Tree:
        """Return the tree of a peer's nodes over the problem's objects, each leaf with its majority
        class.

        A test that divides nothing at its node is left out: it costs leaves and helps nobody.
        """
        from arboretum.testing.oracles import build_tree

        def sketch(node: int, rows: np.ndarray) -> Sketch:
            """Return a test and what lies below it, None at a leaf; tests that divide none of
            ``rows`` are left out.
            """
            column, cut, low, high = nodes[node]
            if column < 0:
                return None
            below = self.x[rows, column] <= cut
            if below.all() or not below.any():
                return sketch(low if below.all() else high, rows)
            # outcome 0 of a threshold is "bin ≤ c", the low side; of a column of 0 and 1 it is the
            # 1
            test, outcome = (
                (self.test[column] + int(cut), 0)
                if self.ordinal[column]
                else (self.test[column], 1)
            )
            return int(test), {
                outcome: sketch(low, rows[below]),
                1 - outcome: sketch(high, rows[~below]),
            }

        return build_tree(
            self.problem.objects, sketch(0, np.arange(len(self.y))), self.problem.prices
        )
