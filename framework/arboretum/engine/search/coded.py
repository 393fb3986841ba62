"""The histogram engine: contingency tables of coded features, with sibling subtraction."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from arboretum.engine.search.contract import NO_SIDE, Block, Candidate, Cell
from arboretum.engine.search.compiled_criterion import TIE_TOLERANCE, CompiledCriterion, component_name
from arboretum.engine.search.histograms import Histograms, flat_memory
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import ContractError
from arboretum.kernels import coded as kernels
from arboretum.kernels import counting
from arboretum.model.encoded import Family, Feature, Node
from arboretum.model.rules import TestRule
from arboretum.model.table import frozen_array

FAMILY = {Family.multiway: kernels.MULTIWAY, Family.thresholds: kernels.THRESHOLDS, Family.equals: kernels.EQUALS}

WIDE = 4096
"""A feature with more bins is counted over the codes that occur at the node, not over all its bins."""

BLOCK_ENTRIES = 1 << 21
"""Table entries per block for NumPy criteria: 16 MB of weights."""


@attrs.frozen(eq=False)
class View:
    """Counted features of one node, ready for scoring; ``feature_id`` maps its features to the engine's.

    codes_of : for a wide feature the codes that occur (bin → code), else None.
    """

    counted: kernels.Counted
    used: np.ndarray
    feature_id: np.ndarray
    codes_of: np.ndarray | None = None

    def listed(self, workspace: Workspace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """feature, index, side : int32[tests] of the tests that compete, by the view's own numbers."""
        feature, index, side = np.empty((3, 2 * int(self.counted.offset[-1])), np.int32)
        n = kernels.list_tests(self.counted, workspace.least, self.used, workspace.allow_constant, feature, index, side)
        return feature[:n], index[:n], side[:n]

    def arity(self) -> np.ndarray:
        """int32[features]."""
        bins = np.diff(self.counted.offset) - self.counted.has_missing
        return np.where(self.counted.family == kernels.MULTIWAY, bins, 2).astype(np.int32)

    def outside(self, feature: np.ndarray, index: np.ndarray, side: np.ndarray) -> tuple[np.ndarray, ...]:
        """The same tests by the engine's numbers: feature, index, side."""
        if self.codes_of is None:
            return self.feature_id[feature], index, side
        multiway = self.counted.family[0] == kernels.MULTIWAY
        side = np.where((side >= 0) & multiway, self.codes_of[side], side)
        return self.feature_id[feature], index if multiway else self.codes_of[index], side


class TableEngine:
    """What engines share that count outcomes of fixed tests: the best of the views of a node, or all of them."""

    rank = 0
    _space: Workspace

    def _views(self, cell: Cell) -> Iterator[View]:
        """The tests of a node, counted."""
        raise NotImplementedError

    def _rule(self, cell: Cell, feature: int, index: int) -> TestRule:
        """The test on the raw column."""
        raise NotImplementedError

    def rule(self, cell: Cell, candidate: Candidate) -> TestRule:
        return self._rule(cell, candidate.feature, candidate.index)

    def best(self, cell: Cell, node: Node, scorer: CompiledCriterion) -> Candidate | None:
        best: Candidate | None = None
        for view in self._views(cell):
            feature, index, side = view.listed(self._space)
            if len(feature) == 0:
                continue
            at, score = kernels.best_test(view.counted, feature, index, side, view.arity()[feature], scorer.at(node))
            if at == kernels.NOTHING:
                continue
            if at == kernels.NAN_SCORE:
                f, i, _ = view.outside(*(a[int(score) : int(score) + 1] for a in (feature, index, side)))
                raise nan_score(scorer, self._rule(cell, int(f[0]), int(i[0])))
            outer = view.outside(feature[at : at + 1], index[at : at + 1], side[at : at + 1])
            found = self._candidate(view, feature[at], index[at], outer, score)
            best = found if best is None else better(best, found, scorer.tie_floor(node))
        return best

    def _candidate(self, view: View, feature: int, index: int, outer: tuple[np.ndarray, ...], score: float) -> Candidate:
        f, i, side = (int(a[0]) for a in outer)
        counted = view.counted
        price = 0.0 if counted.free[feature] else float(counted.prices[counted.price_offset[feature] + index])
        return Candidate(self, f, i, side, price, float(score), (self.position(f), self.rank, f, i))

    def blocks(self, cell: Cell, scorer: CompiledCriterion, first: int) -> Iterator[Block]:
        for view in self._views(cell):
            (feature, index, side), counted = view.listed(self._space), view.counted
            arity = view.arity()[feature] if len(feature) else np.zeros(0, np.int32)
            for some in _batches(arity, counted.weights.shape[1]):
                shape = (len(some), int(arity[some].max()))
                weights = np.empty((*shape, counted.weights.shape[1]))
                counts = np.empty((*shape, counted.counts.shape[1]), np.int64)
                extra, price = np.empty((*shape, counted.extra.shape[1])), np.empty(len(some))
                kernels.fill_tables(counted, feature[some], index[some], side[some], weights, counts, extra, price)
                outer = view.outside(feature[some], index[some], side[some])
                yield Block(self, scorer.tables(weights, counts, price, extra, first + some), *outer)
            first += len(feature)


class CodedEngine(TableEngine):
    """Histograms over coded features (families multiway, thresholds, equals)."""

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace
        objects = workspace.objects
        self._features: tuple[Feature, ...] = objects.features
        self._codes, self._row_stride, self._column_stride = flat_memory(objects.codes)
        self._test_offset = objects.test_offset
        # ties go to the lowest column of the raw table: features are looked at in that order
        order = sorted(range(len(self._features)), key=lambda f: (self._features[f].position, f))
        self._narrow = np.array([f for f in order if self._features[f].n_bins <= WIDE], np.int64)
        self._wide = [f for f in order if self._features[f].n_bins > WIDE]
        chosen = [self._features[f] for f in self._narrow]
        self._family = np.array([FAMILY[f.family] for f in chosen], np.int64)
        self._missing = np.array([f.has_missing for f in chosen], np.bool_)
        self._offset = np.cumsum([0, *(f.n_bins + f.has_missing for f in chosen)])
        self._prices = frozen_array(workspace.prices.tests, np.float64)
        self._price_offset = self._test_offset[self._narrow]
        self._histograms: Histograms | None = None
        if len(self._narrow):
            where = (self._codes, self._row_stride, self._column_stride, self._narrow, self._offset)
            self._histograms = Histograms(workspace, where)

    # -- what the loop asks ----------------------------------------------------------------------------------------

    def columns(self, cell: Cell, candidate: Candidate) -> frozenset[str]:
        return frozenset([self._features[candidate.feature].column])

    def position(self, feature: int) -> int:
        return self._features[feature].position

    def arity(self, cell: Cell, candidate: Candidate) -> int:
        return self._features[candidate.feature].arity

    def _rule(self, cell: Cell, feature: int, index: int) -> TestRule:
        return self._features[feature].rule(index)

    def test_number(self, feature: int, index: int) -> int:
        """Position of a test in ``prices.tests``."""
        return int(self._test_offset[feature]) + index

    def outcomes(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        feature, out = self._features[candidate.feature], np.empty(cell.size, np.int32)
        kernels.outcomes_of(
            self._codes, self._row_stride, candidate.feature * self._column_stride,
            self._space.rows[cell.low : cell.high], FAMILY[feature.family], candidate.index, feature.n_bins,
            candidate.side, out,
        )  # fmt: skip
        return out

    def divide(self, cell: Cell, children: list[Cell], start: np.ndarray) -> None:
        if self._histograms is not None:
            self._histograms.divide(cell, children)

    def close(self, cell: Cell) -> None:
        if self._histograms is not None:
            self._histograms.drop(cell)

    # -- counting --------------------------------------------------------------------------------------------------

    def _views(self, cell: Cell) -> Iterator[View]:
        free = self._free(cell)
        used = np.array(cell.used, np.int64)
        if len(self._narrow):
            weights, counts = self._histograms.tables(cell)
            counted = kernels.Counted(
                weights, counts, self._extra(cell), self._family, self._offset, self._missing, self._prices_at(cell),
                self._price_offset, free[self._narrow],
            )  # fmt: skip
            yield View(counted, used, self._narrow)
        for feature in self._wide:
            yield self._wide_view(cell, feature, free, used)

    def _prices_at(self, cell: Cell) -> np.ndarray:
        prices = self._space.prices
        return self._prices if prices.after is None else frozen_array(prices.at(cell.asked, cell.paid).tests, np.float64)

    def _free(self, cell: Cell) -> np.ndarray:
        if not self._space.prices.once_per_column or not cell.asked:
            return np.zeros(len(self._features), np.bool_)
        return np.array([f.column in cell.asked for f in self._features], np.bool_)

    def _extra(self, cell: Cell) -> np.ndarray:
        space = self._space
        out = np.zeros((int(self._offset[-1]), space.extra.shape[1]))
        if space.extra.shape[1]:
            counting.count_extra(*self._histograms.where, space.extra_rows, space.extra, out)
        return out

    def _wide_view(self, cell: Cell, feature: int, free: np.ndarray, used: np.ndarray) -> View:
        """Count one wide feature over the codes that occur at the node."""
        space, stats, spec = self._space, self._space.statistics, self._features[feature]
        rows = space.rows[cell.low : cell.high]
        codes = self._codes[feature * self._column_stride + rows.astype(np.int64) * self._row_stride]
        occurring, compact = np.unique(codes, return_inverse=True)
        occurring = occurring.astype(np.int64)
        missing = bool(spec.has_missing and occurring[-1] == spec.n_bins)
        bins, known = len(occurring), len(occurring) - missing
        weights, counts = np.zeros((bins, stats.width)), np.zeros((bins, stats.count_width), np.int64)
        extra = np.zeros((bins, space.extra.shape[1]))
        by_object = np.zeros(stats.weight.shape[0], np.uint32)
        by_object[rows] = compact
        where = (frozen_array(by_object), 1, 0, np.zeros(1, np.int64), np.array([0, bins]), rows)
        counting.count_weights(*where, stats.label, stats.y, stats.weight, stats.count, weights, counts)
        if extra.shape[1]:
            counting.count_extra(*where[:-1], space.extra_rows, space.extra, extra)
        first = int(self._test_offset[feature])
        multiway = spec.family is Family.multiway
        tests = occurring[:known] if not multiway else np.zeros(1, np.int64)
        prices = frozen_array(self._prices_at(cell)[first + np.minimum(tests, spec.n_tests - 1)])
        local = np.flatnonzero(np.isin(first + tests, used)).astype(np.int64)
        counted = kernels.Counted(
            weights, counts, extra, np.array([FAMILY[spec.family]]), np.array([0, bins]), np.array([missing]), prices,
            np.zeros(1, np.int64), free[feature : feature + 1],
        )  # fmt: skip
        return View(counted, local, np.array([feature]), occurring)


def better(best: Candidate, other: Candidate, floor: float) -> Candidate:
    """The better of two candidates; the one that comes first in the raw table when their scores are equal."""
    if best.place > other.place:
        best, other = other, best
    return other if other.score > best.score + max(TIE_TOLERANCE * abs(best.score), floor) else best


def nan_score(scorer: CompiledCriterion, rule: TestRule) -> ContractError:
    """The error for a criterion that returned NaN."""
    name = component_name(scorer.criterion)
    return ContractError(f"criterion {name!r} returned NaN for the test {rule.describe()!r}; return −inf to refuse a test")


def _batches(arity: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """Positions of the candidates, in groups whose padded tables stay below BLOCK_ENTRIES: two outcomes first."""
    two = np.flatnonzero(arity == 2)
    step = max(1, BLOCK_ENTRIES // (2 * width))
    for start in range(0, len(two), step):
        yield two[start : start + step]
    group: list[int] = []
    widest = 0
    for i in np.flatnonzero(arity != 2):
        widest_then = max(widest, int(arity[i]))
        if group and (len(group) + 1) * widest_then * width > BLOCK_ENTRIES:
            yield np.array(group)
            group, widest_then = [], int(arity[i])
        group.append(int(i))
        widest = widest_then
    if group:
        yield np.array(group)
