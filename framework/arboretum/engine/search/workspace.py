"""Arrays that the loop and its engines share during one growth."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from arboretum.engine.monotone import Monotone
from arboretum.engine.search.contract import Cell
from arboretum.engine.search.coverage_state import CoverageState
from arboretum.engine.search.statistics import Statistics
from arboretum.interfaces.stopping import Limits
from arboretum.kernels.tables import Least
from arboretum.model.encoded import Encoded, Feature, Prices, RawFeature


@attrs.frozen(eq=False)
class Draw:
    """Some columns compete at a node, drawn anew at each; as many more as it takes until one of
    them has a test.

    most : columns that compete, at least 1.
    columns : int64[k], positions of all that have tests.
    seed : of the run.
    """

    most: int
    columns: np.ndarray
    seed: int

    def widen(self, cell: Cell) -> bool:
        """Let one column more compete; return False where all do."""
        order, most = self._drawn_at(cell)
        cell.memo["drawn"] = order, most + 1
        return most < len(order)

    def are_drawn(self, cell: Cell, positions: np.ndarray) -> np.ndarray:
        """Return bool[k]: whether columns compete at a node.

        positions : int64[k], of the columns.
        """
        order, most = self._drawn_at(cell)
        return np.isin(positions, order[:most])

    def _drawn_at(self, cell: Cell) -> tuple[np.ndarray, int]:
        """Return (columns in the order in which they are drawn, how many compete), by the node's
        place alone, so that it can be asked again.
        """
        if "drawn" not in cell.memo:
            generator = np.random.default_rng([self.seed, cell.low, cell.high, cell.depth])
            cell.memo["drawn"] = generator.permutation(self.columns), self.most
        drawn: tuple[np.ndarray, int] = cell.memo["drawn"]
        return drawn


@attrs.define(eq=False)
class Workspace:
    """The permutation of the objects, and what is added up over them.

    rows : int32[n], the permutation; a node is a segment of it.
    spare : int32[n + 1], scratch.
    goes : uint8/32[n], the outcome of each object of the node that is being divided.
    min_leaf, min_weight : rows and weight in every branch that receives any; the weight allows for
        rounding (:meth:`Limits.min_weight`), so that engines compare plainly, and is 0 without such
        a limit.
    extra : float64[n, k], the criterion's own columns of the objects of the node at hand; k = 0
        without any.
    coverage_state : the run's coverages, None without any.
    extra_rows : int32[m], those of the node's objects that have a value other than 0 in some
        column.
    draw : of the columns that compete at a node; None: all do.
    monotone : the order that predictions keep, None without any.
    competing : bool[columns of the raw table], which compete for now; None: all do.
    columns_of_rows : the criterion is asked for its own columns; else a row store has them.
    """

    objects: Encoded
    prices: Prices
    statistics: Statistics
    limits: Limits
    min_leaf: int
    min_weight: float
    allow_constant: bool
    rows: np.ndarray
    spare: np.ndarray
    goes: np.ndarray
    extra: np.ndarray
    coverage_state: CoverageState | None = None
    extra_rows: np.ndarray = attrs.field(factory=lambda: np.zeros(0, np.int32))
    draw: Draw | None = None
    monotone: Monotone | None = None
    competing: np.ndarray | None = None
    columns_of_rows: bool = True

    @property
    def least(self) -> Least:
        """Rows and weight that every branch needs which receives any, as kernels take them."""
        return Least(self.min_leaf, self.min_weight)

    @staticmethod
    def of(
        objects: Encoded,
        prices: Prices,
        statistics: Statistics,
        limits: Limits,
        allow_constant: bool,
        made: bool,
    ) -> Workspace:
        """Prepare the arrays of a growth.

        allow_constant : tests with one outcome compete too.
        made : tests are made at the nodes, with any number of outcomes.
        """
        n = objects.n_objects
        small = max((feature.n_bins for feature in objects.features), default=2) <= 256 and not made
        return Workspace(
            objects,
            prices,
            statistics,
            limits,
            min_leaf=max(1, limits.min_leaf),
            min_weight=limits.min_weight(float(statistics.weight.sum()), n),
            allow_constant=allow_constant,
            rows=np.arange(n, dtype=np.int32),
            spare=np.empty(n + 1, np.int32),
            goes=np.empty(n, np.uint8 if small else np.uint32),
            extra=np.zeros((n, 0)),
        )

    def payable_prices(self, prices: np.ndarray, cell: Cell) -> np.ndarray:
        """Return float64[k]: prices at a node, +∞ where its path cannot pay them any more: no
        engine lets such a test compete.

        prices : float64[k], by the list of the node.
        """
        most = self.limits.most_paid(cell.depth + 1)
        return (
            prices if most == np.inf else np.where(cell.path_cost + prices <= most, prices, np.inf)
        )

    def compete(self, cell: Cell, features: Sequence[Feature | RawFeature]) -> np.ndarray:
        """Return bool[k]: whether features compete at a node."""
        if self.draw is None and self.competing is None:
            return np.ones(len(features), np.bool_)
        position = np.array([feature.position for feature in features], np.int64)
        some = np.ones(len(features), np.bool_)
        if self.competing is not None:
            some &= self.competing[position]
        return some if self.draw is None else some & self.draw.are_drawn(cell, position)

    def set_own_columns(self, rows: np.ndarray, columns: np.ndarray) -> None:
        """Keep the criterion's own columns of a node, by object.

        rows : int64[k], its objects.
        columns : float64[k, ·].
        """
        if self.extra.shape[1] != columns.shape[1]:
            self.extra = np.zeros((self.objects.n_objects, columns.shape[1]))
        self.extra[rows] = columns
        self.extra_rows = rows[columns.any(axis=1)].astype(np.int32)
