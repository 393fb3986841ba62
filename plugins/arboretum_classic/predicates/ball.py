"""Tests of the distance to an object: metric balls."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from arboretum.api import CodedTests, Column, Encoded, Family, param
from arboretum_classic.predicates.predicates import (
    ALL,
    HANDLES,
    HOW_MANY,
    columns_of,
    generator_of,
    ranks,
)
from arboretum_classic.predicates.proposals import plain_numbers, rounded
from arboretum_classic.predicates.rules import METRICS, Ball, distance_for_bound


@attrs.frozen
class Balls:
    """Is a row near a training object: ρ(x, x₀) ≤ r for drawn objects x₀ of the node and every r
    that tells; O(c n (p + log n)) per node, c = ``centres``.

    Differences are divided by the column's standard deviation at the node (gower: by its range, and
    categories count, 1 where they differ), to two digits.  A row that misses one of the values has
    no outcome.
    """

    kind, name, paper, capabilities = "predicate", "ball", "", HANDLES

    metric: str = param("euclidean", "how distance is measured", choices=METRICS)
    centres: int = param(32, "objects of the node that are tried as centres", ge=1)
    columns: int = param(ALL, HOW_MANY, ge=0)

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[CodedTests]:
        """Return all balls around up to ``centres`` drawn objects of the node, one code per centre.

        None where no column varies at the node, or every object lacks one of the values.
        """
        columns, scales = self._columns(objects, rows, seed)
        values = [
            column.values.astype(float) if column.is_continuous else column.values
            for column in columns
        ]
        complete = (
            np.flatnonzero(~np.any([column.missing for column in columns], axis=0))
            if columns
            else np.zeros(0, np.int64)
        )
        if not len(complete):
            return []
        some = np.sort(generator_of(seed, rows).permutation(complete)[: self.centres])
        _, distinct = np.unique(
            np.stack([value[some] for value in values]), axis=1, return_index=True
        )
        some = some[np.sort(distinct)]
        centre, apart = [], []
        for column, value in zip(columns, values, strict=True):
            middle = value[some][:, None]
            number = column.is_continuous
            apart.append(
                value[None] if number else np.where(column.missing, np.nan, value[None] != middle)
            )
            centre.append(middle if number else 0.0)
        distance = distance_for_bound(self.metric, apart, centre, scales)
        coded = [_code_distances(one, self.metric) for one in distance]
        codes, radii = np.stack([code for code, _ in coded]), [cut for _, cut in coded]

        def rule(ball: int, index: int) -> Ball:
            """Return the ball of that number, of the radius with that index."""
            who = some[ball]
            middle = tuple(
                float(v[who]) if c.is_continuous else c.categories[v[who]]
                for c, v in zip(columns, values, strict=True)
            )
            return Ball(
                tuple(column.name for column in columns),
                middle,
                scales,
                float(radii[ball][index]),
                self.metric,
            )

        names, n_bins = tuple(column.name for column in columns), [len(cut) + 1 for cut in radii]
        return [
            CodedTests(
                names, Family.thresholds, n_bins, lambda first, stop: codes[first:stop], rule
            )
        ]

    def _columns(
        self, objects: Encoded, rows: np.ndarray, seed: int
    ) -> tuple[list[Column], tuple[float, ...]]:
        """Return the columns that are measured, and by which scale each: its standard deviation,
        for Gower's distance its range, 1 of a category.

        rows : int64[k], objects of the node.
        """
        columns = plain_numbers(objects, rows, seed, self.columns)
        if self.metric != "gower":
            spread = [
                rounded(float(np.nanstd(column.values.astype(float))), 2) for column in columns
            ]
            return [c for c, s in zip(columns, spread, strict=True) if s > 0], tuple(
                s for s in spread if s > 0
            )
        names = {column.name for column in columns}
        both = [
            c
            for c in columns_of(objects, rows, seed, self.columns)
            if c.name in names or (not c.is_continuous and len(set(c.values)) > 1)
        ]
        return both, tuple(
            rounded(float(np.nanmax(c.values) - np.nanmin(c.values)), 2) if c.name in names else 1.0
            for c in both
        )


def _code_distances(total: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (int64[n], float64[m]): the bin of each distance between radii, m + 1 without a value.

    total : float64[n], NaN = missing; a euclidean one is a square, by which it is told apart.
    """
    if metric != "euclidean":
        return ranks(total)
    _, radii = ranks(np.sqrt(total))
    radii = radii[np.diff(radii * radii, prepend=-1.0) > 0]
    return np.where(
        np.isnan(total), len(radii) + 1, np.searchsorted(radii * radii, total, side="left")
    ), radii
