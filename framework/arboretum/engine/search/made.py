"""The engine of tests made at the node: the run's predicate proposes them, here they are counted.

Each test is a feature of its own whose bins are its outcomes, so that tables, ties, limits and missing rows are those of
:mod:`arboretum.engine.search.coded`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from arboretum.errors import CapabilityError, ContractError, blaming
from arboretum.engine.search.coded import TableEngine, View, counted_features
from arboretum.engine.search.contract import Candidate, Cell
from arboretum.engine.search.workspace import Workspace
from arboretum.kernels import counting
from arboretum.kernels.coded import MULTIWAY, THRESHOLDS, bins_for
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.rules import TestRule
from arboretum.model.table import frozen_array

OUTCOMES_AT_ONCE = 1 << 22  # outcomes of rows that are kept together: 16 MB


class MadeEngine(TableEngine):
    """Tests of a predicate.   seed : the run's, which the predicate draws by.   two_only : the criterion scores no others."""

    def __init__(self, workspace: Workspace, predicate: Any, seed: int, two_only: bool) -> None:
        self._space, self._predicate, self._seed, self._two_only = workspace, predicate, seed, two_only
        self._row, self._positions = workspace.objects.row_of_object, []  # of the tests of the node at hand, where others compete

    def columns(self, cell: Cell, candidate: Candidate) -> frozenset[str]:
        return frozenset(self._rule(cell, candidate.feature, 0).columns)

    def position(self, feature: int) -> int:
        return self._positions[feature] if self._positions else -1

    def arity(self, cell: Cell, candidate: Candidate) -> int:
        return self._rule(cell, candidate.feature, 0).arity

    def test_number(self, feature: int, index: int) -> int:
        return -1

    def _column(self, name: str) -> int:
        return next(k for k, column in enumerate(self._space.objects.table.columns) if column.name == name)

    def _rule(self, cell: Cell, feature: int, index: int) -> TestRule:
        return self._rules(cell)[feature]

    def _rules(self, cell: Cell) -> Sequence[TestRule]:
        """What the predicate proposes; asked once per node, and once more at the root."""
        if self not in cell.memo:
            rows = self._space.rows[cell.low : cell.high].astype(np.int64)
            found = self._asked(rows)
            if cell.depth == 0 and found != self._asked(rows):
                msg = f"predicate {self._predicate.name!r}: candidates answers the same question in two ways"
                raise ContractError(f"{msg}, so that no run could be repeated; draw by the seed given, and keep nothing between calls")
            cell.memo[self] = found
        return cell.memo[self]

    def _asked(self, rows: np.ndarray) -> tuple[TestRule, ...]:
        name = self._predicate.name
        with blaming(f"predicate {name!r}: candidates"):
            found = tuple(self._predicate.candidates(self._space.objects, rows, self._seed))
        for rule in found:
            if not isinstance(rule, TestRule):
                raise ContractError(f"predicate {name!r}: candidates must return tests (TestRule); got {type(rule).__name__}")
            if rule.arity > (most := 2 if self._two_only else np.iinfo(self._space.goes.dtype).max):
                why = "the criterion scores two" if self._two_only else f"beside raw columns a test has at most {most}"
                msg = f"predicate {name!r}: the test {rule.describe()!r} has {rule.arity} outcomes, and {why} only"
                raise CapabilityError(msg)
        return found

    def _outcomes(self, rule: TestRule, rows: np.ndarray) -> np.ndarray:
        """int[len(rows)]: outcomes of objects, the arity where there is none."""
        with blaming(f"predicate {self._predicate.name!r}: test {rule.describe()!r}"):
            found = np.asarray(rule.outcomes(self._space.objects.table, self._row[rows]))
        if found.shape != rows.shape or found.dtype.kind not in "iu" or ((found < -1) | (found >= rule.arity)).any():
            want = f"must be one whole number per row, −1 … {rule.arity - 1}; got {found.dtype}{list(found.shape)}"
            raise ContractError(f"predicate {self._predicate.name!r}: outcomes of {rule.describe()!r} {want}")
        return np.where(found < 0, rule.arity, found)

    def _views(self, cell: Cell) -> Iterator[View]:
        space, stats, rules = self._space, self._space.statistics, self._rules(cell)
        if getattr(self._predicate, "beside_raw", False):
            self._positions = [min(map(self._column, rule.columns)) for rule in rules]
        rows = space.rows[cell.low : cell.high]
        paid = column_prices(space.objects, space.prices, cell.asked, cell.paid)
        step = max(1, OUTCOMES_AT_ONCE // len(rows))
        parts = (stats.label, stats.y, stats.weight, stats.count)
        each = [frozen_array(part[rows] if len(part) else part) for part in parts]
        for first in range(0, len(rules), step):
            some = rules[first : first + step]
            codes = np.empty((len(some), len(rows)), np.uint32)
            for code, rule in zip(codes, some, strict=True):
                code[:] = self._outcomes(rule, rows)
            arity = np.array([rule.arity for rule in some])
            missing = codes.max(axis=1) == arity
            offset = np.cumsum([0, *(arity + missing)])
            where = (frozen_array(codes.reshape(-1)), 1, len(rows), np.arange(len(some)), offset)
            bins = int(offset[-1])
            weights, counts = np.zeros((bins, stats.width)), np.zeros((bins, stats.count_width), np.int64)
            extra = np.zeros((bins, space.extra.shape[1]))
            here = np.arange(len(rows), dtype=np.int32)
            counting.count_weights(*where, here, *each, weights, counts)
            if extra.shape[1]:
                counting.count_extra(*where, here, space.extra[rows], extra)
            prices = space.payable(np.array([self._price(rule, paid) for rule in some], np.float64), cell)
            features = counted_features(np.where(arity == 2, THRESHOLDS, MULTIWAY), offset, missing, np.arange(len(some)), prices)
            yield View(features, bins_for(weights, counts, extra), np.zeros(len(some), np.bool_), (), np.arange(first, first + len(some)))

    def _price(self, rule: TestRule, paid: dict[str, float]) -> float:
        unpriced = [name for name in rule.columns if name not in paid]
        if unpriced:
            what = f"predicate {self._predicate.name!r}: the test {rule.describe()!r} reads column {unpriced[0]!r}"
            way = "read objects.features and objects.raw_features, or choose another encoder"
            raise CapabilityError(f"{what}, which the encoder left out, so that it has no price; {way}")
        return sum(paid[name] for name in dict.fromkeys(rule.columns))

    def outcomes(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        rule, rows = self._rule(cell, candidate.feature, 0), self._space.rows[cell.low : cell.high]
        found = self._outcomes(rule, rows)
        return np.where(found == rule.arity, candidate.side, found).astype(np.int32)

    def divide(self, cell: Cell, children: list[Cell], start: np.ndarray) -> None:
        self.close(cell)

    def close(self, cell: Cell) -> None:
        cell.memo.pop(self, None)


def column_prices(objects: Encoded, prices: Prices, asked: frozenset[str], spent: float = 0.0) -> dict[str, float]:
    """What a test made at a node pays for each column that it reads: the largest price of the column's tests.

    asked, spent : raw columns asked, and what was paid, on the path.
    """
    here, found = prices.at(asked, spent), {}
    first = objects.test_offset
    for f, feature in enumerate(objects.features):
        own = here.tests[first[f] : first[f + 1]]
        found[feature.column] = max(found.get(feature.column, 0.0), float(own.max(initial=0.0)))
    for feature, price in zip(objects.raw_features, here.raw, strict=True):
        found[feature.column] = max(found.get(feature.column, 0.0), float(price))
    return {name: 0.0 if prices.once_per_column and name in asked else price for name, price in found.items()}
