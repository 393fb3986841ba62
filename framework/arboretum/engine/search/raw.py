"""The exact engine: every threshold between neighbouring values of raw columns, presorted, no binning."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from arboretum.engine.search.contract import Block, Candidate, Cell
from arboretum.engine.search.coded import BLOCK_ENTRIES, nan_score
from arboretum.engine.search.compiled_criterion import TIE_TOLERANCE, CompiledCriterion
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import ContractError
from arboretum.kernels import cuts, presort, scan
from arboretum.kernels.coded import NAN_SCORE
from arboretum.model.encoded import Node
from arboretum.model.rules import TestRule
from arboretum.model.table import frozen_array

GAP_FLOAT32 = np.float32(1e-7)
"""float32 neighbours not further apart than this are not separated, as in scikit-learn; float64 ones always are."""


def midpoint(low: np.floating, high: np.floating) -> float:
    """The threshold between two neighbouring values, as scikit-learn computes it: in float64, whatever the column's type.

    The lower value where rounding reaches the upper one, so that "≤" separates the two in every case.
    """
    middle = float(low) / 2.0 + float(high) / 2.0
    return middle if middle < high else float(low)


def midpoints(edges: np.ndarray) -> np.ndarray:
    """float64[m]: :func:`midpoint` of every row of float[m, 2]."""
    low, high = edges.astype(np.float64).T
    with np.errstate(invalid="ignore"):  # −inf and inf
        middle = low / 2.0 + high / 2.0
        return np.where(middle < high, middle, low)


def gap_of(dtype: np.dtype) -> np.floating:
    """Neighbours not further apart than this are not separated."""
    return GAP_FLOAT32 if dtype == np.float32 else np.float64(0.0)


def entry_type(bits: int) -> type:
    """The type of entries of so many bits."""
    return np.uint32 if bits <= 32 else np.uint64


def raw_prices(space: Workspace, cell: Cell) -> np.ndarray:
    """float64[columns]: what asking costs at a node."""
    prices = np.asarray(space.prices.at(cell.asked, cell.paid).raw, np.float64)
    if not space.prices.once_per_column or not cell.asked:
        return prices
    return np.array([0.0 if f.column in cell.asked else p for f, p in zip(space.objects.raw_features, prices, strict=True)])


class RawColumns:
    """What both exact engines know of the raw columns."""

    rank = 1

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace
        objects = workspace.objects
        self._features = objects.raw_features
        positions = [feature.position for feature in self._features]
        if positions != sorted(positions):
            msg = "raw features must be in the order of the raw table; sort them in the encoder"
            raise ContractError(msg)
        self._gap = gap_of(objects.raw.dtype)

    def columns(self, cell: Cell, candidate: Candidate) -> frozenset[str]:
        return frozenset([self._features[candidate.feature].column])

    def position(self, feature: int) -> int:
        return self._features[feature].position

    def arity(self, cell: Cell, candidate: Candidate) -> int:
        return 2

    def test_number(self, feature: int, index: int) -> int:
        return -1

    def _price(self, cell: Cell) -> np.ndarray:
        return raw_prices(self._space, cell)


class PresortedEngine(RawColumns):
    """Exact thresholds over presorted columns, for every criterion.

    Keeps per value four bytes of sorted *entries* (:mod:`arboretum.kernels.presort`; eight where rows and classes are too many
    for four), and the value itself if the table is not stored by columns.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._values = frozen_array(workspace.objects.raw.T)
        n, stats = self._values.shape[1], workspace.statistics
        arity = max((feature.n_bins for feature in workspace.objects.features), default=2)
        self._owner = np.empty(n, np.uint8 if arity <= 256 else np.uint32)
        self._shift = int(n - 1).bit_length()
        bits = self._shift + 1 + max(0, stats.n_classes - 1).bit_length()
        self._order = np.empty(self._values.shape, entry_type(bits))
        self._spare = np.empty(n + 1, self._order.dtype)
        self._search: Callable | None = None
        bits = self._values.view(np.uint32 if self._values.itemsize == 4 else np.uint64)
        presort.sort_columns(self._values, bits, stats.short_label, self._shift, self._gap, self._order)

    def _run(self, feature: int, low: int, high: int) -> np.ndarray:
        """int32[high − low]: objects of a sorted run."""
        rows = np.empty(high - low, np.int32)
        presort.unpack(self._order[feature, low:high], self._shift, rows)
        return rows

    def rule(self, cell: Cell, candidate: Candidate) -> TestRule:
        return self._rule_at(cell, candidate.feature, candidate.index)

    def _rule_at(self, cell: Cell, feature: int, index: int) -> TestRule:
        return self._features[feature].rule(self._threshold(cell, feature, index))

    def _threshold(self, cell: Cell, feature: int, index: int) -> float:
        low, high = self._values[feature, self._run(feature, cell.low + index, cell.low + index + 2)]
        return midpoint(low, high)

    def best(self, cell: Cell, node: Node, scorer: CompiledCriterion) -> Candidate | None:
        space, stats, price = self._space, self._space.statistics, np.array(self._price(cell))
        objects, least = (stats.y, stats.weight, stats.count), (space.min_leaf, space.min_weight)
        ties = (TIE_TOLERANCE, scorer.tie_floor(node))
        place = (self._order, cell.low, cell.high, self._shift, self._values)
        scalars = scorer.scalars(node)
        if scorer.prefix or space.extra.shape[1]:
            feature, index, side, score = cuts.best_cut(
                *place, stats.label, objects, space.extra, price, least, self._gap, scorer.batch, scalars, scorer.params,
                scorer.impurity_at, ties, scorer.prefix,
            )  # fmt: skip
        else:
            if self._search is None:
                self._search = self._compiled_search(scorer)
            feature, index, side, score = self._search(
                *place, objects, (node.weights, node.counts), price, least, self._gap, scalars, scorer.params,
                scorer.impurity_at, ties,
            )  # fmt: skip
        if feature < 0:
            return None
        if side == NAN_SCORE:
            raise nan_score(scorer, self._rule_at(cell, feature, index))
        place = (self.position(feature), self.rank, feature, index)
        return Candidate(self, feature, index, side, float(price[feature]), score, place)

    def _compiled_search(self, scorer: CompiledCriterion) -> Callable:
        stats = self._space.statistics
        return scan.scan_of(scorer.kernel, stats.n_classes, stats.moments, not stats.unit)

    def blocks(self, cell: Cell, scorer: CompiledCriterion, first: int) -> Iterator[Block]:
        space, stats, price = self._space, self._space.statistics, self._price(cell)
        position, side = np.empty(2 * cell.size, np.int32), np.empty(2 * cell.size, np.int32)
        least = (space.min_leaf, space.min_weight)
        step = max(1, BLOCK_ENTRIES // (2 * stats.width))
        for f in range(len(self._features)):
            rows = self._run(f, cell.low, cell.high)
            n, known = cuts.find_cuts(self._values[f], rows, stats.weight, stats.count, least, self._gap, position, side)
            width = 1 if scorer.prefix else space.extra.shape[1]
            state = [np.zeros((3, stats.width)), np.zeros((3, stats.count_width), np.int64), np.zeros((3, width))]
            at = np.array([-1])
            costs = np.empty((4, cell.size if scorer.prefix and n else 0))
            extra_of = np.zeros((len(stats.weight), 1)) if scorer.prefix else space.extra
            if costs.size:
                cuts.fill_prefix_costs(rows, known, stats.y, stats.weight, scorer.prefix, costs)
            for start in range(0, n, step):
                some = slice(start, min(n, start + step))
                m = some.stop - start
                out = np.empty((m, 2, stats.width)), np.empty((m, 2, stats.count_width), np.int64), np.empty((m, 2, width))
                cuts.fill_cuts(
                    rows, known, stats.label, stats.y, stats.weight, stats.count, extra_of, position[some], side[some],
                    *state, at, *out,
                )  # fmt: skip
                if costs.size:
                    form = np.where(side[some] == 1, 2, 0)
                    out[2][:, 0, 0] = costs[form, position[some]]
                    out[2][:, 1, 0] = costs[form + 1, position[some] + 1]
                tables = scorer.tables(out[0], out[1], np.full(m, price[f]), out[2], np.arange(first, first + m))
                yield Block(self, tables, np.full(m, f), position[some].copy(), side[some].copy())
                first += m

    def outcomes(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        values = self._values[candidate.feature, self._space.rows[cell.low : cell.high]]
        threshold = self._threshold(cell, candidate.feature, candidate.index)
        out = (values > threshold).astype(np.int32)
        if candidate.side >= 0:
            out[np.isnan(values)] = candidate.side
        return out

    def divide(self, cell: Cell, children: list[Cell], start: np.ndarray) -> None:
        if any(child.wanted for child in children):
            space = self._space
            presort.partition_order(
                self._order, cell.low, cell.high, self._shift, space.rows, start, self._owner, self._spare
            )

    def close(self, cell: Cell) -> None:
        """Nothing is kept per node."""
