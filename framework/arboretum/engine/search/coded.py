"""The histogram engine: contingency tables of coded features, with sibling subtraction."""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from arboretum.engine.search.compiled_criterion import (
    TIE_TOLERANCE,
    CompiledCriterion,
    component_name,
)
from arboretum.engine.search.contract import Block, Candidate, Cell, Engine
from arboretum.engine.search.histograms import Histograms, flatten_matrix
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import ContractError, sure
from arboretum.kernels import coded as kernels, counting
from arboretum.kernels.block import BlockMemory, block_for
from arboretum.kernels.coded import NO_CODES, NO_RUNS
from arboretum.kernels.tables import Scorer, Ties
from arboretum.model.encoded import Family, Feature, Node
from arboretum.model.rules import TestRule
from arboretum.model.table import frozen_array

FAMILY = {
    Family.multiway: kernels.MULTIWAY,
    Family.thresholds: kernels.THRESHOLDS,
    Family.equals: kernels.EQUALS,
}

# a feature with more bins is counted over the codes that occur at the node, not over all its bins
WIDE = 4096
BLOCK_ENTRIES = 1 << 21  # table entries per block for NumPy criteria: 16 MB of weights

NO_SCORER = Scorer(0, np.zeros(6), np.zeros(0), 0, Ties(0.0, 0.0))
"""In place of a criterion in kernel form: tests are listed, not scored."""


@attrs.frozen(eq=False)
class View:
    """Counted features of one node, ready for scoring; ``feature_id`` maps them to the engine's.

    asked : positions of the tests asked before, in the view's prices.
    codes_of : for a wide feature the codes that occur (bin → code).
    """

    features: kernels.Features
    bins: kernels.Bins
    free: np.ndarray
    asked: Sequence[int]
    feature_id: np.ndarray
    codes_of: np.ndarray | None = None

    def arity(self) -> np.ndarray:
        """Return int64[features]: how many outcomes the tests of each feature have."""
        bins = np.diff(self.features.offset) - self.features.has_missing
        return np.where(self.features.family == kernels.MULTIWAY, bins, 2)

    def scan_tests(
        self,
        space: Workspace,
        chosen: np.ndarray,
        scorer: Scorer,
        block: BlockMemory,
        skipped: int = 0,
    ) -> np.ndarray:
        """Score or list tests (:func:`~arboretum.kernels.coded.scan_coded`); return int64[chosen],
        how many tests each chosen feature has.

        scorer : the best test stands in ``block``; with NO_SCORER all of them are listed there.
        chosen : int64, features of the view.
        skipped : tests left out at the front, where they are listed.
        """
        asked = np.zeros(len(self.features.prices) if space.allow_constant else 0, np.bool_)
        found = np.empty(len(chosen), np.int64)
        if len(asked):
            asked[list(self.asked)] = True
        allowed = kernels.Allowed(space.least, space.allow_constant, asked, self.free)
        kernels.scan_coded(self.features, chosen, self.bins, allowed, scorer, block, skipped, found)
        return found

    def allocate_block(self, arity: int, listed: int = 0) -> BlockMemory:
        """Return memory for tables of the view's tests.

        arity : most outcomes of a test.
        listed : tables that are kept, and not scored; 0: all are scored, and the best test is kept.
        """
        bins = self.bins
        width, count_width = bins.weights.shape[1], bins.counts.shape[1]
        return block_for(arity, width, count_width, bins.extra.shape[1], listed)

    def to_engine_numbers(self, place: np.ndarray) -> tuple[np.ndarray, ...]:
        """Translate tests to the engine's numbers: (feature, index, side), int arrays[tests].

        place : int32[tests, 3], the same by the view's.
        """
        feature, index, side = place.T
        if self.codes_of is None:
            return self.feature_id[feature], index, side
        multiway = self.features.family[0] == kernels.MULTIWAY
        side = np.where((side >= 0) & multiway, self.codes_of[side], side)
        return self.feature_id[feature], index if multiway else self.codes_of[index], side


def features_without_codes(
    family: np.ndarray,
    offset: np.ndarray,
    has_missing: np.ndarray,
    price_offset: np.ndarray,
    prices: np.ndarray,
) -> kernels.Features:
    """Return a kernel's features whose bins are counted elsewhere, so that it reads no codes.

    family, price_offset : int64[F].
    offset : int64[F + 1], first bin of each.
    has_missing : bool[F].
    prices : float64[tests].
    """
    here = np.arange(len(family))
    return kernels.Features(
        *NO_CODES, here, family, offset, has_missing, price_offset, prices, here, *NO_RUNS
    )


class TableEngine(Engine):
    """What engines share that count outcomes of fixed tests: the best of the views of a node, or
    all of them.
    """

    rank = 0
    _space: Workspace

    def _count_views(self, cell: Cell) -> Iterator[View]:
        """The tests of a node, counted."""
        raise NotImplementedError

    def _rule(self, cell: Cell, feature: int, index: int) -> TestRule:
        """The test on the raw column."""
        raise NotImplementedError

    def _competing_features(self, cell: Cell, view: View) -> np.ndarray:
        """bool[features]: whether those of a view compete."""
        return np.ones(len(view.feature_id), np.bool_)

    def rule(self, cell: Cell, candidate: Candidate) -> TestRule:
        """The candidate's test on the raw column."""
        return self._rule(cell, candidate.feature, candidate.index)

    def best(self, cell: Cell, node: Node, scorer: CompiledCriterion) -> Candidate | None:
        """The best test over the views of a node; None where no test is admissible.

        Raises ContractError, naming the test, where its score is NaN.
        """
        best: Candidate | None = None
        for view in self._count_views(cell):
            block = view.allocate_block(int(view.arity().max()))
            view.scan_tests(
                self._space,
                np.flatnonzero(self._competing_features(cell, view)),
                scorer.at(node),
                block,
            )
            state = block.state[0]
            feature, index, side = (int(state[name]) for name in ("feature", "index", "side"))
            if feature < 0:
                continue
            place = np.array([[feature, index, side]])
            f, test, side = (int(each[0]) for each in view.to_engine_numbers(place))
            if state["broken"]:
                raise nan_score_error(scorer, self._rule(cell, f, test))
            price = (
                0.0
                if view.free[feature]
                else float(view.features.prices[view.features.price_offset[feature] + index])
            )
            found = Candidate(
                engine=self,
                feature=f,
                index=test,
                side=side,
                price=price,
                score=float(state["best"]),
                place=(self.position(f), self.rank, f, test),
            )
            best = better_candidate(best, found, scorer.tie_floor(node))
        return best

    def blocks(self, cell: Cell, scorer: CompiledCriterion, first: int) -> Iterator[Block]:
        """Tests of the same number of outcomes at a time: a criterion in NumPy costs some 50 µs
        per call whatever the number of tests.
        """
        for view in self._count_views(cell):
            arity, competing = view.arity(), self._competing_features(cell, view)
            n_tests = competing * view.scan_tests(
                self._space,
                np.arange(len(arity)),
                NO_SCORER,
                view.allocate_block(int(arity.max()), 1),
            )
            number = first + np.cumsum(n_tests) - n_tests
            for outcomes in np.unique(arity[n_tests > 0]):
                chosen = np.flatnonzero((arity == outcomes) & competing)
                test = np.concatenate(
                    [np.arange(number[f], number[f] + n_tests[f]) for f in chosen]
                )
                most = max(1, BLOCK_ENTRIES // (int(outcomes) * view.bins.weights.shape[1]))
                for skipped in range(0, len(test), most):
                    n = min(most, len(test) - skipped)
                    block = view.allocate_block(int(outcomes), n)
                    view.scan_tests(self._space, chosen, NO_SCORER, block, skipped)
                    tables = scorer.tables(
                        block.shaped_w[:n],
                        block.shaped_c[:n],
                        block.price[:n],
                        block.shaped_e[:n],
                        test[skipped : skipped + n],
                    )
                    yield Block(self, tables, *view.to_engine_numbers(block.place[:n]))
            first += int(n_tests.sum())


class CodedEngine(TableEngine):
    """Histograms over coded features (families multiway, thresholds, equals)."""

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace
        objects = workspace.objects
        self._features: tuple[Feature, ...] = objects.features
        self._codes, self._row_stride, self._column_stride = flatten_matrix(objects.codes)
        self._test_offset = objects.test_offset
        # ties go to the lowest column of the raw table: features are looked at in that order
        order = sorted(range(len(self._features)), key=lambda f: (self._features[f].position, f))
        self._narrow = np.array([f for f in order if self._features[f].n_bins <= WIDE], np.int64)
        self._wide = [f for f in order if self._features[f].n_bins > WIDE]
        chosen = [self._features[f] for f in self._narrow]
        self._family = np.array([FAMILY[f.family] for f in chosen], np.int64)
        self._missing = np.array([f.has_missing for f in chosen], np.bool_)
        self._offset = np.cumsum([0, *(f.n_bins + f.has_missing for f in chosen)])
        self._prices = np.array(workspace.prices.tests, np.float64)
        self._price_offset = self._test_offset[self._narrow]
        self._histograms: Histograms | None = None
        if len(self._narrow):
            where = (self._codes, self._row_stride, self._column_stride, self._narrow, self._offset)
            self._histograms = Histograms(workspace, where)

    # -- what the loop asks ------------------------------------------------------------------------

    def arity(self, cell: Cell, candidate: Candidate) -> int:
        """Number of outcomes of the candidate's test."""
        return self._features[candidate.feature].arity

    def _rule(self, cell: Cell, feature: int, index: int) -> TestRule:
        return self._features[feature].rule(index)

    def test_number(self, feature: int, index: int) -> int:
        """Position of a test in ``prices.tests``."""
        return int(self._test_offset[feature]) + index

    def outcomes(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        """int32[cell.size]: each object's outcome; the candidate's ``side`` without a value."""
        feature, out = self._features[candidate.feature], np.empty(cell.size, np.int32)
        kernels.outcomes_of(
            self._codes,
            self._row_stride,
            candidate.feature * self._column_stride,
            self._space.rows[cell.low : cell.high],
            FAMILY[feature.family],
            candidate.index,
            feature.n_bins,
            candidate.side,
            out,
        )
        return out

    def split_node(self, cell: Cell, children: list[Cell], start: np.ndarray) -> None:
        """Hand the node's bins on to its children; features of more than WIDE bins have none."""
        if self._histograms is not None:
            self._histograms.split_node(cell, children)

    def close(self, cell: Cell) -> None:
        """Forget the node's counted bins."""
        if self._histograms is not None:
            self._histograms.drop(cell)

    # -- counting ----------------------------------------------------------------------------------

    def _count_views(self, cell: Cell) -> Iterator[View]:
        """One view of all features of at most WIDE bins, counted together, then one of each wider
        feature, counted over the codes that occur at the node.
        """
        free = self._free_features(cell)
        if len(self._narrow):
            features = features_without_codes(
                self._family, self._offset, self._missing, self._price_offset, self._prices_at(cell)
            )
            bins = kernels.bins_for(
                *sure(self._histograms).tables(cell), self._sum_own_columns(cell)
            )
            yield View(features, bins, free[self._narrow], cell.used, self._narrow)
        for feature in self._wide:
            yield self._count_wide_feature(cell, feature, free[feature : feature + 1])

    def _competing_features(self, cell: Cell, view: View) -> np.ndarray:
        """Return bool[features of the view]: whether they compete at the node."""
        found: np.ndarray = self._space.compete(cell, self._features)[view.feature_id]
        return found

    def _prices_at(self, cell: Cell) -> np.ndarray:
        """Return float64[tests]: prices at the node, +∞ where its path cannot pay them."""
        prices = self._space.prices
        here = (
            self._prices
            if prices.after is None
            else np.array(prices.at(cell.asked, cell.path_cost).tests, np.float64)
        )
        return self._space.payable_prices(here, cell)

    def _free_features(self, cell: Cell) -> np.ndarray:
        """Return bool[features]: those whose column was asked above, where that makes them free."""
        if not self._space.prices.once_per_column or not cell.asked:
            return np.zeros(len(self._features), np.bool_)
        return np.array([f.column in cell.asked for f in self._features], np.bool_)

    def _sum_own_columns(self, cell: Cell) -> np.ndarray:
        """Return float64[bins, k]: the criterion's own columns, summed by bin of the narrow
        features.
        """
        space = self._space
        out = np.zeros((int(self._offset[-1]), space.extra.shape[1]))
        if space.extra.shape[1]:
            counting.count_extra(*sure(self._histograms).where, space.extra_rows, space.extra, out)
        return out

    def _count_wide_feature(self, cell: Cell, feature: int, free: np.ndarray) -> View:
        """Count one wide feature over the codes that occur at the node, and return its view.

        feature : index among the engine's.
        free : bool[1], whether it costs nothing here.
        """
        space, stats, spec = self._space, self._space.statistics, self._features[feature]
        rows = space.rows[cell.low : cell.high]
        codes = self._codes[
            feature * self._column_stride + rows.astype(np.int64) * self._row_stride
        ]
        occurring, compact = np.unique(codes, return_inverse=True)
        occurring = occurring.astype(np.int64)
        missing = bool(spec.has_missing and occurring[-1] == spec.n_bins)
        bins, known = len(occurring), len(occurring) - missing
        weights, counts = stats.empty_tables(bins)
        extra = np.zeros((bins, space.extra.shape[1]))
        by_object = np.zeros(stats.weight.shape[0], np.uint32)
        by_object[rows] = compact
        where = (frozen_array(by_object), 1, 0, np.zeros(1, np.int64), np.array([0, bins]), rows)
        counting.count_weights(
            *where, stats.label, stats.y, stats.weight, stats.count, weights, counts
        )
        if extra.shape[1]:
            counting.count_extra(*where[:-1], space.extra_rows, space.extra, extra)
        first = int(self._test_offset[feature])
        multiway = spec.family is Family.multiway
        tests = occurring[:known] if not multiway else np.zeros(1, np.int64)
        prices = self._prices_at(cell)[first + np.minimum(tests, spec.n_tests - 1)]
        features = features_without_codes(
            np.array([FAMILY[spec.family]]),
            np.array([0, bins]),
            np.array([missing]),
            np.zeros(1, np.int64),
            prices,
        )
        asked = np.flatnonzero(np.isin(first + tests, cell.used)).tolist()
        return View(
            features,
            kernels.bins_for(weights, counts, extra),
            free,
            asked,
            np.array([feature]),
            occurring,
        )


def better_candidate(best: Candidate | None, other: Candidate, floor: float) -> Candidate:
    """Return the better of two candidates; the one that comes first in the raw table when their
    scores are equal.

    best : None: there is no other yet.   floor : absolute tolerance of ties.
    """
    if best is None:
        return other
    if best.place > other.place:
        best, other = other, best
    return other if other.score > best.score + max(TIE_TOLERANCE * abs(best.score), floor) else best


def nan_score_error(scorer: CompiledCriterion, rule: TestRule) -> ContractError:
    """Return the error for a score that is NaN; it names the criterion and the test."""
    name = component_name(scorer.criterion)
    return ContractError(
        f"criterion {name!r} returned NaN for the test {rule.describe()!r}; return −inf to "
        "refuse a test"
    )
