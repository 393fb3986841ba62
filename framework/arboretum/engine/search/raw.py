"""The exact engine: every threshold between neighbouring values of raw columns, presorted, no
binning.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from arboretum.engine.search.coded import BLOCK_ENTRIES
from arboretum.engine.search.compiled_criterion import CompiledCriterion
from arboretum.engine.search.contract import Block, Candidate, Cell, Engine
from arboretum.engine.search.histograms import flatten_matrix
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import ContractError, sure
from arboretum.kernels import presort, scan
from arboretum.kernels.tables import NO_SIDE
from arboretum.model.encoded import Encoded, Node, RawFeature
from arboretum.model.rules import TestRule, midpoints
from arboretum.model.table import frozen_array

LISTED_ENTRIES = 1 << 16
"""Table entries up to which the cuts of several columns are listed for NumPy together: half a
megabyte of weights.
"""


def gap_of(objects: Encoded) -> np.floating:
    """Return ``Encoded.gap`` in the type of the raw columns, in which kernels add it."""
    gap: np.floating = objects.raw.dtype.type(objects.gap)
    return gap


def as_integers(values: np.ndarray) -> np.ndarray:
    """Return the same memory, read as unsigned integers: what values are sorted by."""
    return values.view(np.uint32 if values.itemsize == 4 else np.uint64)


def entry_type(bits: int) -> type:
    """The type of sorted entries of so many bits: uint32 up to 32, else uint64."""
    return np.uint32 if bits <= 32 else np.uint64


class RawColumns(Engine):
    """What both exact engines know of the raw columns."""

    rank = 1

    def __init__(self, workspace: Workspace) -> None:
        """Raises ContractError unless raw features come in the order of the raw table."""
        self._space = workspace
        objects = workspace.objects
        self._features: tuple[RawFeature, ...] = objects.raw_features
        positions = [feature.position for feature in self._features]
        if positions != sorted(positions):
            raise ContractError(
                "raw features must be in the order of the raw table; sort them in the encoder"
            )
        self._gap = gap_of(objects)
        self._flat = flatten_matrix(objects.raw)

    def arity(self, cell: Cell, candidate: Candidate) -> int:
        """2: a cut has two sides."""
        return 2

    def _threshold(self, cell: Cell, feature: int, index: int) -> float:
        raise NotImplementedError

    def rule(self, cell: Cell, candidate: Candidate) -> TestRule:
        """The test "value ≤ threshold"; "the value is known" for the cut after all known values."""
        return self._features[candidate.feature].rule(
            self._threshold(cell, candidate.feature, candidate.index)
        )

    def outcomes(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        """int32[cell.size]: 0 up to the threshold, 1 above it; the candidate's ``side`` for NaN."""
        values, row_stride, column_stride = self._flat
        f = candidate.feature
        out = np.empty(cell.size, np.int32)
        threshold = self._threshold(cell, f, candidate.index)
        rows = self._space.rows[cell.low : cell.high]
        presort.threshold_outcomes(
            values, row_stride, f * column_stride, rows, threshold, candidate.side, out
        )
        return out

    def _prices_at(self, cell: Cell) -> np.ndarray:
        """Return float64[columns]: what asking costs at a node, +∞ where it cannot be paid or does
        not compete.
        """
        prices, asked = self._space.prices, cell.asked if self._space.prices.once_per_column else ()
        own = prices.at(cell.asked, cell.path_cost).raw
        here = np.array(
            [0.0 if f.column in asked else p for f, p in zip(self._features, own, strict=True)],
            np.float64,
        )
        return np.where(
            self._space.compete(cell, self._features),
            self._space.payable_prices(here, cell),
            np.inf,
        )


class PresortedEngine(RawColumns):
    """Exact thresholds over presorted columns, for every criterion.

    Keeps per value four bytes of sorted *entries* (:mod:`arboretum.kernels.presort`; eight where
    rows and classes are too many for four), and the value itself if the table is not stored by
    columns.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._values = frozen_array(workspace.objects.raw.T)
        n, stats = self._values.shape[1], workspace.statistics
        self._flat = (self._values.reshape(-1), 1, n)  # by columns, which are read one at a time
        self._shift = int(n - 1).bit_length()
        bits = self._shift + 1 + max(0, stats.n_classes - 1).bit_length()
        self._order: np.ndarray = np.empty(self._values.shape, entry_type(bits))
        self._spare = np.empty(n + 1, self._order.dtype)
        self._search: Callable[..., tuple[int, int, int, float]] | None = None

    def _sort_columns(self, cell: Cell) -> None:
        """Sort the columns of a node, unless those above it were; its children then have theirs by
        division.
        """
        if cell.memo.get("sorted"):
            return
        cell.memo["sorted"], rows = True, self._space.rows[cell.low : cell.high]
        label = self._space.statistics.short_label
        presort.sort_columns(
            self._values,
            as_integers(self._values),
            rows,
            label,
            self._shift,
            self._gap,
            self._order,
            cell.low,
        )

    def _sorted_rows(self, some: slice | np.ndarray, low: int, high: int) -> np.ndarray:
        """Return int64[columns, high − low]: the objects of sorted runs, places low … high of the
        permutation; entries hold them in their lowest bits.

        some : of the columns.
        """
        mask = self._order.dtype.type((1 << self._shift) - 1)
        return np.asarray(self._order[some, low:high] & mask, np.int64)

    def _threshold(self, cell: Cell, feature: int, index: int) -> float:
        rows = self._sorted_rows(
            slice(feature, feature + 1), cell.low + index, cell.low + index + 2
        )
        return float(midpoints(self._values[feature, rows])[0])

    def best(self, cell: Cell, node: Node, scorer: CompiledCriterion) -> Candidate | None:
        """Return the best cut of a node over all raw columns; None where no cut is admissible.

        The columns are sorted first, unless those of a node above were.
        """
        space, stats, price = self._space, self._space.statistics, self._prices_at(cell)
        self._sort_columns(cell)
        if self._search is None:
            if scorer.sum_form:
                self._search = partial(scan.search_by_sums, scorer.sums(len(space.rows)))
            elif scorer.prefix or space.extra.shape[1]:
                self._search = scan.scan_with_columns(stats.moments, bool(scorer.prefix))
            else:
                self._search = scan.scan_of(
                    sure(scorer.kernel), stats.n_classes, stats.moments, not stats.unit
                )
        runs = scan.Runs(self._order, cell.low, cell.high, self._shift, self._values)
        own, rules = scan.Own(space.extra, scorer.prefix), scan.ScanRules(space.least, self._gap)
        feature, index, side, score = self._search(
            runs, stats.objects, own, (node.weights, node.counts), price, rules, scorer.at(node)
        )
        if feature < 0:
            return None
        place = (self.position(feature), self.rank, feature, index)
        return Candidate(
            engine=self,
            feature=feature,
            index=index,
            side=side,
            price=float(price[feature]),
            score=score,
            place=place,
        )

    def blocks(self, cell: Cell, scorer: CompiledCriterion, first: int) -> Iterator[Block]:
        """Yield all cuts, some columns at a time: a criterion in NumPy costs some 50 µs per call
        whatever the number of tests.
        """
        space, stats, price = self._space, self._space.statistics, self._prices_at(cell)
        self._sort_columns(cell)
        step = max(1, LISTED_ENTRIES // (2 * cell.size * stats.width))
        competing = np.flatnonzero(price < np.inf)
        for start in range(0, len(competing), step):
            some = competing[start : start + step]
            rows = self._sorted_rows(some, cell.low, cell.high)
            values = np.take_along_axis(self._values[some], rows, axis=1)
            lost = np.isnan(values)
            apart, lacking = values[:, 1:] > values[:, :-1] + self._gap, lost.any(axis=1)
            # missing rows left, then right; at last these alone right
            both = apart[:, :, None] & (np.arange(2) <= lacking[:, None, None])
            known = (~lost).sum(axis=1)
            some_known = np.flatnonzero(lacking & (known > 0))
            both[some_known, known[some_known] - 1, 1] = True
            cuts = np.nonzero(both)
            cuts[2][~lacking[cuts[0]]] = NO_SIDE
            sums = [_prefix_sums(what[rows], lost) for what in (*stats.sums, space.extra)]
            costs = self._prefix_costs(rows, lost, scorer.prefix)
            most = max(1, BLOCK_ENTRIES // (2 * stats.width))
            for low in range(0, len(cuts[0]), most):
                column, position, side = cut = tuple(which[low : low + most] for which in cuts)
                weights, counts, extra = (_tables_of_cuts(one, *cut) for one in sums)
                if not stats.moments:
                    weights[counts == 0] = 0.0  # and not 1e-17
                if costs is not None:
                    form = 2 * (side == 1)
                    extra = np.stack(
                        [costs[column, form, position], costs[column, form + 1, position + 1]],
                        axis=1,
                    )[:, :, None]
                kept = stats.are_allowed(weights, counts, space.least)
                weights, counts, extra, column, position, side = (
                    each[kept] for each in (weights, counts, extra, *cut)
                )
                tables = scorer.tables(
                    weights,
                    counts,
                    price[some[column]],
                    extra,
                    np.arange(first, first + len(side)),
                )
                yield Block(self, tables, some[column], position, side)
                first += len(side)

    def _prefix_costs(self, rows: np.ndarray, lost: np.ndarray, prefix: int) -> np.ndarray | None:
        """Return float64[columns, 4, m], see :func:`arboretum.kernels.scan.fill_prefix_costs`; None
        without a prefix kernel.

        rows : int64[columns, m], sorted.
        lost : bool[columns, m], without a value.
        prefix : address of the kernel, or 0.
        """
        if not prefix:
            return None
        stats, costs = self._space.statistics, np.empty((len(rows), 4, rows.shape[1]))
        for run, known, out in zip(
            rows.astype(np.int32), (~lost).sum(axis=1).tolist(), costs, strict=True
        ):
            scan.fill_prefix_costs(run, known, stats.y, stats.weight, prefix, out)
        return costs

    def split_node(self, cell: Cell, children: list[Cell], start: np.ndarray) -> None:
        """Divide the sorted columns as the permutation was, unless all children are leaves.

        start : int64[arity + 1], as in :meth:`Engine.split_node`.
        """
        if any(child.wanted for child in children):
            presort.partition_order(
                self._order, cell.low, cell.high, self._shift, self._space.goes, start, self._spare
            )
            for child in children:
                child.memo["sorted"] = True


def _prefix_sums(what: np.ndarray, lost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return [columns, m, k], sums of the rows so far, those without a value left out, and
    [columns, k], sums of these.

    what : [columns, m, k], numbers of sorted rows.
    lost : bool[columns, m], without a value.
    """
    gone = lost[:, :, None]
    return np.cumsum(np.where(gone, 0, what), axis=1), np.where(gone, what, 0).sum(axis=1)


def _tables_of_cuts(
    sums: tuple[np.ndarray, np.ndarray], column: np.ndarray, position: np.ndarray, side: np.ndarray
) -> np.ndarray:
    """Return [cuts, 2, k]: what lies on both sides of each cut.

    sums : of :func:`_prefix_sums`.
    column, position, side : int64[cuts]; side is where rows without a value go, −1: there are none.
    """
    left, lost = sums
    both = np.empty((len(side), 2, left.shape[2]), left.dtype)
    both[:, 0] = left[column, position]
    np.subtract(left[:, -1][column], both[:, 0], out=both[:, 1])
    sent = np.flatnonzero(side >= 0)
    both[sent, side[sent]] += lost[column[sent]]
    return both
