"""The engine of tests made at the node: the run's predicates propose them, here they are counted.

A rule is a feature of its own whose bins are its outcomes, and codes are features with many tests,
so that tables, ties, limits and missing rows are those of :mod:`arboretum.engine.search.coded`.
"""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from arboretum.engine.search.coded import FAMILY, TableEngine, View, features_without_codes
from arboretum.engine.search.contract import Candidate, Cell
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import CapabilityError, ContractError, blaming
from arboretum.interfaces.predicate import CodedTests, Predicate
from arboretum.kernels import counting
from arboretum.kernels.coded import bins_for
from arboretum.model.encoded import Encoded, Family, Prices
from arboretum.model.missing import to_bins
from arboretum.model.rules import TestRule
from arboretum.model.table import frozen_array

# outcomes of rows that are kept together, and bins at most: 4 MB and their tables
OUTCOMES_AT_ONCE = 1 << 20


@attrs.frozen(eq=False)
class Proposed:
    """What competes at a node.

    by : who proposes each group.
    owner : int64[codes], group of each code.
    first : int64[groups].
    """

    by: Sequence[Predicate]
    groups: Sequence[CodedTests]
    owner: np.ndarray
    first: np.ndarray


class NodeTestEngine(TableEngine):
    """Tests of predicates.

    seed : the run's, which they draw by.
    two_only : the criterion scores no others.
    """

    def __init__(
        self, workspace: Workspace, predicates: Sequence[Predicate], seed: int, two_only: bool
    ) -> None:
        """``predicates`` : of the run; arguments as of the class."""
        self._space = workspace
        self._predicates = predicates
        self._seed = seed
        self._two_only = two_only
        # of the codes of the node at hand, where others compete
        self._row, self._positions = workspace.objects.row_of_object, list[int]()

    def columns(self, cell: Cell, candidate: Candidate) -> frozenset[str]:
        """Names of the raw columns that the candidate's test reads."""
        return frozenset(self._rule(cell, candidate.feature, candidate.index).columns)

    def position(self, feature: int) -> int:
        """Return the lowest position in the raw table of the columns that a test reads.

        −1 where no predicate is ``beside_raw``, so that no other tests compete.
        """
        return self._positions[feature] if self._positions else -1

    def arity(self, cell: Cell, candidate: Candidate) -> int:
        """Number of outcomes of the candidate's test."""
        return self.rule(cell, candidate).arity

    def _rule(self, cell: Cell, feature: int, index: int) -> TestRule:
        found = self._ask_predicates(cell)
        group = int(found.owner[feature])
        with blaming(f"predicate {found.by[group].name!r}: rule"):
            return found.groups[group].rule(int(feature - found.first[group]), index)

    def _ask_predicates(self, cell: Cell) -> Proposed:
        """Return what the predicates propose for a node; they are asked once, and once more at the
        root, where a second answer must be the same.

        Raises ContractError where it is not.
        """
        if self not in cell.memo:
            rows = self._space.rows[cell.low : cell.high].astype(np.int64)
            by, groups = list[Predicate](), list[CodedTests]()
            for predicate in self._predicates:
                found = self.ask_predicate(predicate, rows)
                if cell.depth == 0 and [*map(_describe_tests, found)] != [
                    *map(_describe_tests, self.ask_predicate(predicate, rows))
                ]:
                    raise ContractError(
                        f"predicate {predicate.name!r}: candidates answers the same question in "
                        "two ways, so that no run could be repeated; draw by the seed given, and "
                        "keep nothing between calls"
                    )
                by, groups = by + [predicate] * len(found), groups + found
            k = np.array([len(tests.n_bins) for tests in groups], np.int64)
            cell.memo[self] = Proposed(
                by, groups, np.repeat(np.arange(len(k)), k), np.cumsum(k) - k
            )
        proposed: Proposed = cell.memo[self]
        return proposed

    def ask_predicate(self, predicate: Predicate, rows: np.ndarray) -> list[CodedTests]:
        """Return what a predicate proposes for some objects; a rule becomes tests by a code, its
        outcome.

        rows : int64[k], the objects.
        Raises ContractError for what is no test, CapabilityError for a test with more outcomes than
        the criterion scores, or than there is room for beside raw columns.
        """
        name = predicate.name
        with blaming(f"predicate {name!r}: candidates"):
            found = tuple(predicate.candidates(self._space.objects, rows, self._seed))
        for one in found:
            if not isinstance(one, TestRule | CodedTests):
                raise ContractError(
                    f"predicate {name!r}: candidates must return tests (TestRule, "
                    f"CodedTests); got {type(one).__name__}"
                )
        groups = [
            self._as_coded_tests(one, rows) if isinstance(one, TestRule) else one for one in found
        ]
        most = 2 if self._two_only else np.iinfo(self._space.goes.dtype).max
        for tests in (
            tests
            for tests in groups
            if tests.family is Family.multiway and tests.n_bins.max(initial=0) > most
        ):
            limit = (
                "the criterion scores two"
                if self._two_only
                else f"beside raw columns a test has at most {most}"
            )
            raise CapabilityError(
                f"predicate {name!r}: the test "
                f"{tests.rule(int(tests.n_bins.argmax()), 0).describe()!r} has "
                f"{tests.n_bins.max()} outcomes, and {limit} only"
            )
        return groups

    def _as_coded_tests(self, rule: TestRule, rows: np.ndarray) -> CodedTests:
        """Return one rule as tests by a code: its outcome.   rows : int[k], the objects."""

        def codes(first: int, stop: int) -> np.ndarray:  # of the one test there is
            found = np.asarray(rule.outcomes(self._space.objects.table, self._row[rows]))[None]
            return to_bins(found, rule.arity)

        family = Family.thresholds if rule.arity == 2 else Family.multiway
        return CodedTests(
            rule.columns, family, np.array([rule.arity]), codes, lambda code, index: rule
        )

    @staticmethod
    def _check_codes(
        predicate: Predicate, tests: CodedTests, first: int, stop: int, n_rows: int
    ) -> np.ndarray:
        """Return unsigned int[stop − first, n_rows], the codes of some tests, as promised: the
        number of bins without an outcome.  Raises ContractError for anything else.
        """
        who = f"predicate {predicate.name!r}: tests on {', '.join(tests.columns)}"
        with blaming(who):
            codes = np.asarray(tests.codes(first, stop))
        most = tests.n_bins[first:stop, None]
        if (
            codes.shape != (stop - first, n_rows)
            or codes.dtype.kind not in "iu"
            or ((codes < 0) | (codes > most)).any()
        ):
            raise ContractError(
                f"{who}: outcomes must be one whole number per row, below {most.max()}, where "
                f"there is an outcome; got {codes.dtype}{list(codes.shape)}"
            )
        return codes

    def _count_views(self, cell: Cell) -> Iterator[View]:
        """Count the proposed tests over the node's objects, and yield them, some features at a
        time.
        """
        space, stats, found = self._space, self._space.statistics, self._ask_predicates(cell)
        if not len(found.owner):
            return
        rows = space.rows[cell.low : cell.high]
        paid = column_prices(space.objects, space.prices, cell.asked, cell.path_cost)
        parts = (stats.label, stats.y, stats.weight, stats.count)
        each = [frozen_array(part[rows] if len(part) else part) for part in parts]
        here = np.arange(len(rows), dtype=np.int32)
        own = space.extra[rows] if space.extra.shape[1] else None
        all_bins, tests_of = (
            np.concatenate(each)
            for each in zip(*((tests.n_bins, tests.n_tests) for tests in found.groups), strict=True)
        )
        family = np.array([FAMILY[tests.family] for tests in found.groups])[found.owner]
        if any(getattr(predicate, "beside_raw", False) for predicate in self._predicates):
            place = {column.name: k for k, column in enumerate(space.objects.table.columns)}
            self._positions = np.array(
                [min(place[name] for name in tests.columns) for tests in found.groups]
            )[found.owner].tolist()
        price = np.array(
            [
                self._price_of(by, tests, paid)
                for by, tests in zip(found.by, found.groups, strict=True)
            ]
        )[found.owner]
        step = max(1, OUTCOMES_AT_ONCE // len(rows))
        for a in range(0, len(all_bins), step):
            b = min(a + step, len(all_bins))
            n_bins = all_bins[a:b]
            n_tests = tests_of[a:b]
            codes = np.empty((b - a, len(rows)), np.uint32)
            for group in range(found.owner[a], found.owner[b - 1] + 1):
                first, tests = int(found.first[group]), found.groups[group]
                low, high = max(a, first), min(b, first + len(tests.n_bins))
                codes[low - a : high - a] = self._check_codes(
                    found.by[group], tests, low - first, high - first, len(rows)
                )
            missing = codes.max(axis=1) == n_bins
            offset = np.cumsum([0, *(n_bins + missing)])
            where = (frozen_array(codes.reshape(-1)), 1, len(rows), np.arange(b - a), offset)
            bins = int(offset[-1])
            weights, counts = stats.empty_tables(bins)
            extra = np.zeros((bins, space.extra.shape[1]))
            counting.count_weights(*where, here, *each, weights, counts)
            if own is not None:
                counting.count_extra(*where, here, own, extra)
            prices = space.payable_prices(np.repeat(price[a:b], n_tests), cell)
            features = features_without_codes(
                family[a:b], offset, missing, np.cumsum(n_tests) - n_tests, prices
            )
            yield View(
                features,
                bins_for(weights, counts, extra),
                np.zeros(b - a, np.bool_),
                (),
                np.arange(a, b),
            )

    @staticmethod
    def _price_of(predicate: Predicate, tests: CodedTests, paid: dict[str, float]) -> float:
        """Return what a group of tests pays: the sum over the columns that it reads.

        paid : price of each column at the node.
        Raises CapabilityError for a column without a price.
        """
        unpriced = [name for name in tests.columns if name not in paid]
        if unpriced:
            raise CapabilityError(
                f"predicate {predicate.name!r} reads column {unpriced[0]!r}, which the "
                "encoder left out and has no price; "
                "read objects.features and objects.raw_features, or choose another encoder"
            )
        return sum(paid[name] for name in dict.fromkeys(tests.columns))

    def outcomes(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        """int32[cell.size]: each object's outcome; the candidate's ``side`` without one."""
        rule, found = self.rule(cell, candidate), self._ask_predicates(cell)
        tests = self._as_coded_tests(rule, self._space.rows[cell.low : cell.high])
        codes = self._check_codes(found.by[found.owner[candidate.feature]], tests, 0, 1, cell.size)[
            0
        ]
        return np.where(codes == rule.arity, candidate.side, codes).astype(np.int32)

    def split_node(self, cell: Cell, children: list[Cell], start: np.ndarray) -> None:
        """Forget what was proposed for the node; predicates are asked anew below."""
        self.close(cell)


def _describe_tests(tests: CodedTests) -> tuple[object, ...]:
    """Return what two answers of a predicate are compared by: what is asked, with the first
    tests.
    """
    return (
        tests.columns,
        tests.family,
        tests.n_bins.tolist(),
        [tests.rule(code, 0) for code in np.flatnonzero(tests.n_tests)[:9].tolist()],
    )


def column_prices(
    objects: Encoded, prices: Prices, asked: frozenset[str], path_cost: float = 0.0
) -> dict[str, float]:
    """Return what a test made at a node pays for each column that it reads: the largest price of
    the column's tests.

    asked, path_cost : raw columns asked, and what was paid, on the path.
    """
    here, found = prices.at(asked, path_cost), dict[str, float]()
    first = objects.test_offset
    for f, feature in enumerate(objects.features):
        own = here.tests[first[f] : first[f + 1]]
        found[feature.column] = max(found.get(feature.column, 0.0), float(own.max(initial=0.0)))
    for raw, price in zip(objects.raw_features, here.raw, strict=True):
        found[raw.column] = max(found.get(raw.column, 0.0), float(price))
    return {
        name: 0.0 if prices.once_per_column and name in asked else price
        for name, price in found.items()
    }
