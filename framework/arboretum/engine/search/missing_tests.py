"""The tests of columns at a node whose rows may lack values: where the run's ``missing`` places
these is part of a test, and of its table.

What a column adds up to is the growth's own matter: that of shares of objects
(:mod:`arboretum.engine.search.fractional`), or of a row store
(:mod:`arboretum.engine.search.levels_missing`).
"""

from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np

from arboretum.engine.search.choose import add_columns, check_scores, finalise_blocks
from arboretum.engine.search.contract import Cell
from arboretum.engine.search.growth import ROUNDED, Growth, Open
from arboretum.errors import ContractError, blaming, sure
from arboretum.interfaces.missing import Missing
from arboretum.kernels.tables import Least, bar_of, equal_from
from arboretum.model.encoded import Family, Node, Tables
from arboretum.model.rules import NO_OUTCOME, TestRule
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS


@attrs.frozen(eq=False)
class Column:
    """The tests of one feature at a node.

    names, position : of the raw columns, and of the first of them (−1: made by predicates, which
        are alone).
    code : int64[k], bin of each entry, MISSING without a value.
    family, rules : how bins become outcomes, and test index → rule.
    prices : float64[tests].
    number : of its first test in ``Prices.of``, ``step`` to the next.
    parts : the last test is "known or missing?".
    feature : number of the coded feature; −1 for another.
    """

    names: tuple[str, ...]
    position: int
    code: np.ndarray
    n_bins: int
    family: Family
    rules: Callable[[int], TestRule]
    prices: np.ndarray
    number: int
    step: int
    parts: bool = False
    feature: int = -1

    def outcome(self, index: int) -> np.ndarray:
        """Return int64[k]: outcomes of a test, −1 without a value."""
        return np.where(self.code < 0, NO_OUTCOME, self.family.outcome(index, self.code))

    def is_missing_test(self, index: int) -> bool:
        """Return whether a test is "known or missing?"."""
        return self.parts and index == self.n_bins - 1

    def sum_by_outcome(self, what: np.ndarray) -> np.ndarray:
        """Return [tests, outcomes, k]: sums of what its entries are worth; those without a value
        are left out.

        what : [entries, k], numbers to add up.
        """
        known = self.code >= 0
        return self.by_outcome(
            np.stack(
                [np.bincount(self.code[known], part[known], self.n_bins) for part in what.T], axis=1
            )
        )

    def by_outcome(self, of_bins: np.ndarray) -> np.ndarray:
        """Return [tests, outcomes, k]: sums over the bins of each outcome.

        of_bins : [n_bins, k].
        """
        if self.family is Family.multiway:
            return of_bins[None]
        if self.family is Family.equals:
            return np.stack([of_bins, of_bins.sum(axis=0) - of_bins], axis=1)
        rest = np.cumsum(of_bins[::-1], axis=0)[::-1]
        both = np.stack(
            [np.cumsum(of_bins, axis=0), np.concatenate([rest[1:], 0 * rest[:1]])], axis=1
        )
        return both if self.parts else both[:-1]


@attrs.frozen(eq=False)
class CompetingTests:
    """The tests of a column that compete at a node.

    index, to : of each test, as in :class:`Choice`.
    """

    column: Column
    tables: Tables
    index: Sequence[int]
    to: Sequence[int]


@attrs.frozen(eq=False)
class Choice:
    """A test that competes.

    to : where rows without a value go, as ``missing_child`` of a tree, or the arity: their own
        outcome.
    """

    column: Column
    index: int
    to: int
    price: float
    score: float


@attrs.frozen(eq=False)
class ColumnSums:
    """What the rows of a node add up to, by the tests of a column.

    weights : float64[tests, outcomes, width].
    counts : [tests, outcomes, count width].
    lost, lost_rows : [width] and [count width], of the rows without a value.
    """

    weights: np.ndarray
    counts: np.ndarray
    lost: np.ndarray
    lost_rows: np.ndarray


class ColumnGrowth(Growth):
    """A growth that asks ``missing`` of every test of every column."""

    def columns(self, cell: Cell) -> Iterator[Column]:
        """Yield the columns of a node, in the order of the raw table."""
        raise NotImplementedError

    def sums_of(self, column: Column, cell: Cell) -> ColumnSums:
        """Return what a node's rows add up to."""
        raise NotImplementedError

    def rows_with_value(self, column: Column, cell: Cell) -> np.ndarray:
        """int64[k]: the node's objects with a value; none where they are not here."""
        raise NotImplementedError

    def payable_prices(self, own: np.ndarray, column: str, cell: Cell) -> np.ndarray:
        """float64[tests]: what tests of a column cost at a node; nothing once it is paid for.

        own : float64[tests], of the list; inf: no test.
        """
        if self.problem.prices.once_per_column and column in cell.asked:
            own = np.where(own < np.inf, 0.0, own)
        return self.space.payable_prices(own, cell)

    def coded_column(self, cell: Cell, f: int, code: np.ndarray) -> Column:
        """Return the tests of coded feature ``f`` at a node.   code : int64[k], of its objects."""
        objects, prices = self.problem.objects, self.problem.prices.at(cell.asked, cell.path_cost)
        feature, first = objects.features[f], int(objects.test_offset[f])
        own = prices.tests[first : first + feature.n_tests]
        return Column(
            names=(feature.column,),
            position=feature.position,
            code=code,
            n_bins=feature.n_bins,
            family=feature.family,
            rules=feature.rule,
            prices=self.payable_prices(own, feature.column, cell),
            number=first,
            step=1,
            feature=f,
        )

    def best_of_columns(self, item: Open) -> Choice | None:
        """Return the best test, the first of equals; None where none may divide the node."""
        best, ties, found = None, self.scorer.ties(item.node), self.score_columns(item)
        for block, scores in (
            finalise_blocks(list(found), item.node, self.scorer)
            if hasattr(self.scorer.criterion, "finalise_scores")
            else found
        ):
            i = int(np.argmax(scores >= equal_from(scores.max(), ties)))
            if scores[i] > (-np.inf if best is None else bar_of(best.score, ties)):
                best = Choice(
                    block.column,
                    int(block.index[i]),
                    int(block.to[i]),
                    float(block.tables.price[i]),
                    float(scores[i]),
                )
        return best

    def tables(self, item: Open) -> Iterator[Tables]:
        """Yield the tables of all tests that may divide a node, a column at a time."""
        return (block.tables for block, _ in self.score_columns(item))

    def score_columns(self, item: Open) -> Iterator[tuple[CompetingTests, np.ndarray]]:
        """Yield the tests that may divide a node, column by column, with float64[tests], their
        scores.
        """
        first = 0
        for column in self.columns(item.cell):
            found = self._score_column(column, item, first) if column.n_bins > 0 else None
            if found is not None:
                yield found
                first += len(found[1])

    def _score_column(
        self, column: Column, item: Open, first: int
    ) -> tuple[CompetingTests, np.ndarray] | None:
        """Return the tests of a column with their tables, numbered from ``first``, and
        float64[tests], their scores; None without any.
        """
        statistics, missing = self.space.statistics, sure(self.problem.parts.missing)
        weights, counts, lost, lost_rows = attrs.astuple(
            self.sums_of(column, item.cell), recurse=False
        )
        present = (counts.sum(axis=2) > 0).sum(axis=1)
        splitting = np.flatnonzero(
            (present > (0 if lost_rows.any() else 1)) & (column.prices < np.inf)
        )
        if lost_rows.any() and getattr(missing, "left_out", False):
            return None  # the rule lets no test with missing values compete
        any_part = self.limits.min_leaf == 1 and getattr(
            self.scorer.criterion, "weighs_branches", False
        )
        mass = statistics.mass(weights)
        least = Least(0.0 if any_part else self.limits.min_leaf - ROUNDED, self.space.min_weight)
        arity, lacking = weights.shape[1], bool(lost_rows.any())
        # [pairs, 2]: a test, and where rows without a value go
        pairs = np.array(
            [
                (test, to)
                for test in splitting.tolist()
                for to in self._outcomes_of_missing(
                    mass[test], present[test] == 1, lacking, column, test
                )
            ]
            if missing.counted
            else [(test, MISSING_STOPS) for test in splitting[present[splitting] > 1]],
            np.int64,
        ).reshape(-1, 2)
        # of rows without a value, with an outcome more
        part = (pairs[:, 1:] == np.arange(arity + 1)).astype(np.float64)[:, :, None]
        if (split := pairs[:, 1] == MISSING_SPLITS).any():
            part[split, :-1, 0] = mass[pairs[split, 0]] / mass[pairs[split, 0]].sum(
                axis=1, keepdims=True
            )
        wide = [
            np.concatenate([own[pairs[:, 0]], 0.0 * own[pairs[:, 0], :1]], axis=1) + part * gone
            for own, gone in ((weights, lost), (counts, lost_rows))
        ]
        kept = statistics.are_allowed(wide[0], wide[1], least)
        if not kept.any():
            return None
        (index, to), n = pairs[kept].T, int(kept.sum())
        # a copy, in C order as kernels ask
        own, rows = (each[:, : arity + (to == arity).any()][kept] for each in wide)
        price = column.prices[index]
        none = np.zeros((n, own.shape[1], 0))
        numbers = first + np.arange(n)
        node = item.node
        known = mass[splitting[0]].sum() / node.mass if lacking else 1.0
        if not missing.counted and known < 1.0:
            whole, whole_rows = (what[splitting[0]].sum(axis=0) for what in (weights, counts))
            node = self._node_of_known(item, column, known, whole, np.rint(whole_rows))
        tables = self.scorer.tables(own, np.rint(rows).astype(np.int64), price, none, numbers)
        tables = add_columns(tables, np.full(n, column.position), self.problem.objects)
        scores = self.scorer.score(tables, node) * (known if missing.discounted else 1.0)
        check_scores(self.scorer, scores, lambda i: column.rules(index[i]))
        return CompetingTests(column, tables, index, to), scores

    def _node_of_known(
        self, item: Open, column: Column, known: float, weights: np.ndarray, counts: np.ndarray
    ) -> Node:
        """Return a node without the rows that have no value for a column, as a criterion sees it
        where these are in no table.

        known : the part of its weight that is left, and of the table's.
        weights, counts : [width] and [count_width], of what is left.
        """
        who, node = self.rows_with_value(column, item.cell), item.node
        rows = int(counts.sum())
        return attrs.evolve(
            node,
            weights=weights,
            counts=counts.astype(np.int64),
            mass=node.mass * known,
            total_mass=node.total_mass * known,
            impurity=self.scorer.node_impurity(weights, self.space.statistics, who),
            n_rows=rows,
            n_objects=len(who) or rows,
        )

    def _outcomes_of_missing(
        self, known: np.ndarray, alone: bool, lacking: bool, column: Column, test: int
    ) -> Sequence[int]:
        """Return where rows without a value may go, as ``to`` of :class:`Choice`.

        known : float64[outcomes], weight with a value.
        alone : one outcome has rows with one, so that the test is between known and missing, or
            none.
        lacking : whether rows of the node have no value.
        """
        found = self.allowed_placements(known, lacking, column, test)
        if not alone:
            return found
        if column.is_missing_test(test):
            return [1] * (max(found, default=0) > 0)
        return [to for to in found if to == len(known) and column.family is Family.multiway]

    def allowed_placements(
        self, known: np.ndarray, lost: bool, column: Column, test: int
    ) -> Sequence[int]:
        """Return what the rule says of rows without a value, without the outcomes that the test
        cannot give them.

        known : float64[outcomes], weight with a value.
        lost : whether rows of the node have no value.
        """
        found, n = ask_placements(sure(self.problem.parts.missing), known), len(known)
        if lost:
            return [
                to
                for to in found
                if to < n
                or column.is_missing_test(test)
                or column.rules(test).with_missing() is not None
            ]
        return [placement_of_later_rows(found, known)]

    def branch_prices_of(self, choice: Choice, arity: int, cell: Cell) -> list[float]:
        """Return what each of ``arity`` outcomes of a test costs."""
        prices, column = self.problem.prices.at(cell.asked, cell.path_cost), choice.column
        own = prices.of(column.number + column.step * choice.index) if choice.price > 0 else ()
        return list(own) if len(own) == arity else [choice.price] * arity


def ask_placements(missing: Missing, known: np.ndarray) -> list[int]:
    """Ask a rule where rows without a value may go, and check its answer; raise ContractError.

    known : float64[outcomes], weight with a value.
    """
    with blaming(f"missing {missing.name!r}: placements"):
        found = [int(to) for to in missing.placements(known.copy())]
    if (
        not found
        or not all(MISSING_SPLITS <= to <= len(known) for to in found)
        or (not missing.counted and len(found) > 1)
    ):
        raise ContractError(
            f"missing {missing.name!r}: placements must be outcomes, 0 … {len(known)}, "
            f"MISSING_STOPS or MISSING_SPLITS, one where rows are not counted; got {found}"
        )
    return found


def placement_of_later_rows(found: Sequence[int], known: np.ndarray) -> int:
    """Return where rows go that ask a test later, where nobody at its node lacks the value.

    found : what the rule allows.
    known : float64[outcomes], weight with a value.
    """
    outcomes = [to for to in found if 0 <= to < len(known)]
    return (
        max(outcomes, key=lambda to: (known[to], -to))
        if outcomes
        else found[0]
        if found[0] < len(known)
        else MISSING_STOPS
    )
