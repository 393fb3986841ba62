"""Growth by levels over a row store by another ``missing`` than that of the growth kernels: such as
sends every row, whole, down a branch, or lets it stay at the node.

Tables, tests and scores are those of growth by shares (:mod:`arboretum.engine.search.fractional`)
with every share 1, from bins that the store has counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import attrs
import numpy as np

from arboretum.engine.search.compiled_criterion import component_name
from arboretum.engine.search.contract import Cell
from arboretum.engine.search.growth import Open
from arboretum.engine.search.levels import NO_ROWS, LevelGrowth
from arboretum.engine.search.missing_tests import Choice, Column, ColumnGrowth, ColumnSums
from arboretum.engine.search.plan import Plan
from arboretum.engine.search.statistics import Statistics
from arboretum.engine.search.subtree import Subtrees
from arboretum.errors import CapabilityError, sure
from arboretum.kernels.block import BlockMemory, block_for
from arboretum.kernels.coded import Features
from arboretum.kernels.fractional import Fractions, score_bins
from arboretum.kernels.subtree import Members, SubtreeRules
from arboretum.model.rules import TestRule
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS

NO_CODE = np.zeros(0, np.int64)


@attrs.frozen(eq=False)
class Placed:
    """A node's test, and where its rows go.

    to : where rows without a value go: an outcome, or MISSING_STOPS.
    rows : int64[outcomes], of each.
    stopped : rows that stay at the node.
    """

    rule: TestRule
    to: int
    rows: np.ndarray
    stopped: int


@attrs.frozen
class BestTest:
    """The best test of a node; feature −1: none.

    side : where rows without a value are counted; −1: nowhere.
    broken : some score is no finite number.
    """

    feature: int
    index: int
    side: int
    score: float
    broken: bool


@attrs.frozen(eq=False)
class BinScan:
    """The kernel of growth by shares, over bins that are counted elsewhere.

    order : int64[F], numbers of the features as the kernel has them.
    """

    subtrees: Subtrees
    order: np.ndarray
    features: Features
    members: Members
    fractions: Fractions
    rules: SubtreeRules
    block: BlockMemory

    @staticmethod
    def of(subtrees: Subtrees, statistics: Statistics, total: float) -> BinScan:
        """Prepare it.   total : weight of all rows."""
        tests = subtrees.tests
        features = tests.coded
        none, one = np.zeros(0), np.zeros(1)
        label, y = (none, one) if statistics.moments else (one, none)
        members = Members(label.astype(np.int32), y, none, NO_CODE, statistics.unit, NO_CODE)
        most = int(max(2, np.diff(features.offset).max()))
        return BinScan(
            subtrees,
            tests.order,
            features,
            members,
            subtrees.allocate_fractions(tests.order, most, none),
            subtrees.rules._replace(total=total),
            block_for(most + 1, statistics.width, statistics.count_width, 0),
        )

    def best(
        self,
        item: Open,
        bins: tuple[np.ndarray, np.ndarray],
        prices: np.ndarray,
        free: np.ndarray,
    ) -> BestTest:
        """Return the best test of a node.

        bins : float64[bins, width] weights and int64[bins, count width] counts of all features.
        prices : float64[tests], ∞ where the path cannot pay.   free : bool[features].
        """
        whole = item.node.weights[None], item.node.counts[None]
        score_bins(
            self.features._replace(prices=prices),
            bins,
            whole,
            self.members,
            self.fractions,
            self.rules,
            free[self.order],
            self.subtrees.scorer,
            (float(item.node.impurity), item.cell.depth),
            self.block,
        )
        state = self.block.state[0]
        found = int(state["feature"])
        broken = bool(state["broken"]) or state["best"] == np.inf
        feature = int(self.order[found]) if found >= 0 else -1
        return BestTest(
            feature, int(state["index"]), int(state["side"]), float(state["best"]), broken
        )


class LevelColumnGrowth(ColumnGrowth, LevelGrowth):
    """A growth whose rows lie in a row store, and whose ``missing`` is asked of every test."""

    together = False

    def columns(self, cell: Cell) -> Iterator[Column]:
        """Yield the features in the order of the raw table."""
        return (self.coded_column(cell, f, NO_CODE) for f in self.engine.in_order)

    def sums_of(self, column: Column, cell: Cell) -> ColumnSums:
        """Return what a node's rows add up to, by the bins of the store."""
        bins = [own.astype(np.float64) for own in self.engine.bins_of(cell, column.feature)]
        known = [column.by_outcome(own[: column.n_bins]) for own in bins]
        return ColumnSums(*known, *(own[column.n_bins :].sum(axis=0) for own in bins))

    def rows_with_value(self, column: Column, cell: Cell) -> np.ndarray:
        """No row is here."""
        return NO_ROWS

    def best_test(self, item: Open) -> Choice | None:
        """Return the best test, the first of equals; None where none may divide the node."""
        if self.scan is not None:
            bins = self.engine.histograms.tables(item.cell)
            payable, free = self.engine.prices_and_free(item.cell)
            found = self.scan.best(item, bins, payable, free)
            if not found.broken:
                return self._choice_of_scan(item.cell, found)
            # a NaN: the loop will meet it, too, and name the test
        return self.best_of_columns(item)

    @cached_property
    def scan(self) -> BinScan | None:
        """The kernel that scores what bins hold, where growth by shares in memory has one: scores
        are then equal to the last bit.
        """
        problem = attrs.evolve(self.problem, store=None)
        if not Plan.of(problem, self.space, self.scorer, "breadth", False).kernel:
            return None
        subtrees = Subtrees.of(problem, self.space, self.scorer, False)
        return BinScan.of(subtrees, self.space.statistics, self.total_mass)

    def _choice_of_scan(self, cell: Cell, found: BestTest) -> Choice | None:
        """Return the test that the kernel found best; None where none may divide the node."""
        if found.feature < 0:
            return None
        column, to = self.coded_column(cell, found.feature, NO_CODE), found.side
        if to < 0 and sure(self.problem.parts.missing).counted:
            sums = self.sums_of(column, cell)
            known = self.space.statistics.mass(sums.weights[found.index])
            lost = bool(sums.lost_rows.any())
            placements = self.allowed_placements(known, lost, column, found.index)
            to = next(iter(placements), MISSING_STOPS)
        price = float(column.prices[found.index])
        return Choice(column, found.index, to, price, found.score)

    def placed(self, item: Open) -> Placed:
        """Return where the rows of a node go by the chosen test, computed once per node.

        Raises CapabilityError where they would go in shares, or uncounted.
        """
        cell, choice, missing = item.cell, item.candidate, sure(self.problem.parts.missing)
        if "placed" in cell.memo:
            found: Placed = cell.memo["placed"]
            return found
        column, index, to = choice.column, choice.index, choice.to
        sums, rule = self.sums_of(column, cell), column.rules(index)
        rows, lost = sums.counts[index].sum(axis=1), int(sums.lost_rows.sum())
        if not missing.counted:
            known = self.space.statistics.mass(sums.weights[index])
            to = next(iter(self.allowed_placements(known, lost > 0, column, index)), MISSING_STOPS)
        if to == MISSING_SPLITS or (lost and to >= 0 and not missing.counted):
            raise CapabilityError(
                f"missing {component_name(missing)!r} sends rows on in shares, or in no table, by "
                f"{rule.describe()!r}, which no row store keeps; use rows=memory"
            )
        if to == rule.arity:
            rule, rows = sure(rule.with_missing()), np.append(rows, 0)
        if to >= 0:
            rows[to] += lost
        cell.memo["placed"] = Placed(
            rule, to, rows.astype(np.int64), lost if to == MISSING_STOPS else 0
        )
        return self.placed(item)

    def n_present(self, item: Open) -> int:
        """Return how many outcomes of the chosen test some row has."""
        return int(np.count_nonzero(self.placed(item).rows))

    def chosen_test(self, item: Open) -> tuple[int, int, int, int]:
        """Return a node's test: feature, index, side, and how many nodes are below."""
        placed, choice = self.placed(item), item.candidate
        return choice.column.feature, choice.index, max(placed.to, -1), len(placed.rows)

    def children(self, item: Open) -> list[Open | None]:
        """Return the nodes below, one per outcome; None for an outcome that no row has."""
        choice, cell, grown, placed = item.candidate, item.cell, item.grown, self.placed(item)
        grown.rule = placed.rule
        own_outcome = placed.rule != choice.column.rules(choice.index)
        grown.missing_child = MISSING_STOPS if own_outcome else placed.to
        grown.branch_price = self.branch_prices_of(choice, placed.rule.arity, cell)
        start = self.starts_below(cell, placed.stopped)
        if placed.stopped:  # a child is not what its siblings leave
            self.engine.close(cell)
        below: list[Open | None] = []
        for k, (number, price) in enumerate(
            zip(self.below[cell.node], grown.branch_price, strict=True)
        ):
            child = Cell(
                cell.low + int(start[k]),
                cell.low + int(start[k + 1]),
                cell.depth + 1,
                asked=cell.asked | {*choice.column.names},
                path_cost=cell.path_cost + price,
                node=number,
            )
            below.append(self.evaluate(child) if child.size else None)
        return below
