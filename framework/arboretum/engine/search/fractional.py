"""Growth by shares: what becomes of rows without a value is asked of the run's ``missing``, node by
node, without kernels.

A node is some objects with a share of each.  The loop is that of
:mod:`arboretum.engine.search.growth`; tables are its own, summed by share, and the same criterion
scores them.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import cast

import attrs
import numpy as np

from arboretum.engine.search.assemble import Subtree
from arboretum.engine.search.choose import add_columns, check_scores, finalise_blocks
from arboretum.engine.search.contract import Cell, Part
from arboretum.engine.search.fit_check import scores_two_outcomes_only
from arboretum.engine.search.growth import ROUNDED, Growth, Open
from arboretum.engine.search.node_tests import NodeTestEngine, column_prices
from arboretum.engine.search.raw import gap_of
from arboretum.errors import ContractError, blaming, sure
from arboretum.interfaces.method import Problem
from arboretum.interfaces.missing import Missing
from arboretum.kernels.tables import Least, bar_of, equal_from
from arboretum.model.encoded import Encoded, Family, Feature, Node, RawFeature, Tables
from arboretum.model.missing import MISSING, by_code, from_bins
from arboretum.model.rules import NO_OUTCOME, TestRule, midpoints
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, Surrogate, Tree

Division = tuple[
    TestRule, int, list[tuple[TestRule, tuple[int, ...]]], np.ndarray, list[np.ndarray]
]
"""A test, where rows without a value go, the node's surrogates, int64[k] outcomes (−1: none),
entries by outcome.
"""


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
        of_bins = np.stack(
            [np.bincount(self.code[known], part[known], self.n_bins) for part in what.T], axis=1
        )
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


class FractionalGrowth(Growth):
    """A growth whose nodes are :class:`Part`."""

    engines = ()

    def root(self) -> Part:
        """The node of all objects, each with a share of 1, at depth 0."""
        n = self.problem.objects.n_objects
        return Part(0, n, 0, who=np.arange(n), share=np.ones(n))

    def rows_of(self, cell: Cell) -> np.ndarray:
        """int64[k]: the objects of a node, whole or in part."""
        return as_part(cell).who

    def weight_of(self, cell: Cell) -> np.ndarray:
        """Return float64[k]: what the objects of a node weigh there, weight times share."""
        part = as_part(cell)
        weight: np.ndarray = self.space.statistics.weight[part.who] * part.share
        return weight

    def totals(self, cell: Cell) -> tuple[np.ndarray, np.ndarray, float]:
        """Return (float64[width] weights, int64[count_width] counts, training rows) of a node as a
        whole, all summed by share.

        Counts are rounded; the rows are not.
        """
        part = as_part(cell)
        weights, rows = (
            (what[part.who] * part.share[:, None]).sum(axis=0)
            for what in self.space.statistics.sums
        )
        return (
            weights,
            np.rint(rows).astype(np.int64),
            float((self.problem.objects.count[part.who] * part.share).sum()),
        )


class MissingValueGrowth(FractionalGrowth):
    """The growth of a run whose ``missing`` is another rule than that of the kernels."""

    @cached_property
    def own_weight(self) -> np.ndarray:
        """float64[n_objects]: what the rows of each object weigh in the table."""
        return weigh_objects(self.problem.objects)

    def columns(self, cell: Part) -> Iterator[Column]:
        """Yield the features and the tests of predicates, in the order of the raw table."""
        return heapq.merge(
            self._columns_of_features(cell),
            self._columns_of_predicates(cell),
            key=lambda column: column.position,
        )

    def _columns_of_predicates(self, cell: Part) -> Iterator[Column]:
        """Yield what predicates propose at a node, a column for each code."""
        objects, parts = self.problem.objects, self.problem.parts
        if not parts.predicate:
            return
        engine = NodeTestEngine(
            self.space, parts.predicate, self.context.seed, scores_two_outcomes_only(self.scorer)
        )
        place = {column.name: k for k, column in enumerate(objects.table.columns)}
        paid = column_prices(objects, self.problem.prices, cell.asked, cell.path_cost)
        for tests in (
            tests for one in parts.predicate for tests in engine.ask_predicate(one, cell.who)
        ):
            position = place[tests.columns[0]] if parts.beside_raw else -1
            for k, code in enumerate(tests.codes(0, len(tests.n_bins))):
                n = int(tests.n_bins[k])
                price = np.full(
                    int(tests.n_tests[k]), sum(paid[name] for name in set(tests.columns))
                )
                rule = lambda index, k=k, tests=tests: tests.rule(k, index)
                yield Column(
                    names=tests.columns,
                    position=position,
                    code=from_bins(code, n),
                    n_bins=n,
                    family=tests.family,
                    rules=rule,
                    prices=self.space.payable_prices(price, cell),
                    number=0,
                    step=0,
                )

    def _columns_of_features(self, cell: Part) -> Iterator[Column]:
        """Yield the features in the order of the raw table; where there are predicates at most the
        raw ones.
        """
        objects, made = self.problem.objects, self.problem.parts.predicate
        kept: list[tuple[Feature | RawFeature, ...]] = [
            () if made else objects.features,
            objects.raw_features if self.problem.parts.beside_raw or not made else (),
        ]
        features = [
            (feature.position, raw, f)
            for raw, some in enumerate(kept)
            for f, feature in enumerate(some)
        ]
        return (self._column_of_feature(cell, raw, f) for _, raw, f in sorted(features))

    def _column_of_feature(self, cell: Part, raw: int, f: int) -> Column:
        """Return the tests of feature ``f`` at a node; ``raw`` is 1 for a raw feature and 0 for a
        coded one.
        """
        objects, prices = self.problem.objects, self.problem.prices.at(cell.asked, cell.path_cost)
        feature: Feature | RawFeature
        rule: Callable[[int], TestRule]
        if raw:
            values, column = objects.raw[cell.who, f].astype(np.float64), objects.raw_features[f]
            seen, code = np.unique(values, return_inverse=True)
            code, seen = np.where(np.isnan(values), MISSING, code), seen[~np.isnan(seen)]
            cut = np.append(midpoints(np.stack([seen[:-1], seen[1:]], axis=1)), np.inf)
            near = seen.astype(objects.raw.dtype)
            parts = len(seen) > 0 and bool((code < 0).any())
            rule = lambda k: column.rule(cut[k])
            feature = column
            family = Family.thresholds
            n = len(seen)
            first = len(prices.tests) + f
            own = np.where(near[1:] > near[:-1] + gap_of(objects), prices.raw[f], np.inf)
            own = np.append(own, prices.raw[f]) if parts else own
        else:
            coded, first = objects.features[f], int(objects.test_offset[f])
            rule, feature, family, n = coded.rule, coded, coded.family, coded.n_bins
            code = from_bins(objects.codes[cell.who, f], n)
            own, parts = prices.tests[first : first + coded.n_tests], False
        own = (
            np.where(own < np.inf, 0.0, own)
            if prices.once_per_column and feature.column in cell.asked
            else own
        )
        return Column(
            names=(feature.column,),
            position=feature.position,
            code=code,
            n_bins=n,
            family=family,
            rules=rule,
            prices=self.space.payable_prices(own, cell),
            number=first,
            step=1 - raw,
            parts=parts,
        )

    def best_test(self, item: Open) -> Choice | None:
        """Return the best test, the first of equals; None where none may divide the node."""
        if self.subtrees is not None:
            one = self.subtrees.rules._replace(max_depth=item.cell.depth + 1)
            if (below := self.subtrees.grow_arrays(item.cell, one, self.late)) is not None:
                return self._choice_of_kernel(below, as_part(item.cell))
            self.subtrees = None  # a NaN: the loop will meet it, too, and name the test
        best, ties, found = None, self.scorer.ties(item.node), self._score_columns(item)
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

    def _choice_of_kernel(self, below: Subtree, cell: Part) -> Choice | None:
        """Return the test that a kernel found for a node, the first of ``below``; None for a
        leaf.
        """
        if (f := int(below.feature[0])) < 0:
            return None
        f, raw = (f, 0) if (past := f - len(self.problem.objects.features)) < 0 else (past, 1)
        column, index = self._column_of_feature(cell, raw, f), below.number[0]
        if raw:
            index = column.code[
                self.problem.objects.raw[cell.who, f].astype(np.float64) <= index
            ].max()
        return Choice(
            column, int(index), MISSING_STOPS, float(below.price[0]), float(below.score[0])
        )

    def tables(self, item: Open) -> Iterator[Tables]:
        """Yield the tables of all tests that may divide a node, a column at a time."""
        return (block.tables for block, _ in self._score_columns(item))

    def _score_columns(self, item: Open) -> Iterator[tuple[CompetingTests, np.ndarray]]:
        """Yield the tests that may divide a node, column by column, with float64[tests], their
        scores.
        """
        first = 0
        for column in self.columns(as_part(item.cell)):
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
        cell = as_part(item.cell)
        sums, rows = (what[cell.who] * cell.share[:, None] for what in statistics.sums)
        weights, counts = (column.sum_by_outcome(what) for what in (sums, rows))
        lost, lost_rows = (what[column.code < 0].sum(axis=0) for what in (sums, rows))
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
            node = self._node_of_known(
                node, known, whole, np.rint(whole_rows), cell.who[column.code >= 0]
            )
        tables = self.scorer.tables(own, np.rint(rows).astype(np.int64), price, none, numbers)
        tables = add_columns(tables, np.full(n, column.position), self.problem.objects)
        scores = self.scorer.score(tables, node) * (known if missing.discounted else 1.0)
        check_scores(self.scorer, scores, lambda i: column.rules(index[i]))
        return CompetingTests(column, tables, index, to), scores

    def _node_of_known(
        self, node: Node, known: float, weights: np.ndarray, counts: np.ndarray, who: np.ndarray
    ) -> Node:
        """Return a node without the rows that have no value for a column, as a criterion sees it
        where these are in no table.

        known : the part of its weight that is left, and of the table's.
        weights, counts : [width] and [count_width], of what is left.
        who : int64, the objects with a value.
        """
        return attrs.evolve(
            node,
            weights=weights,
            counts=counts.astype(np.int64),
            mass=node.mass * known,
            total_mass=node.total_mass * known,
            impurity=self.scorer.node_impurity(weights, self.space.statistics, who),
            n_rows=int(counts.sum()),
            n_objects=len(who),
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
        found = self._allowed_placements(known, lacking, column, test)
        if not alone:
            return found
        if column.is_missing_test(test):
            return [1] * (max(found, default=0) > 0)
        return [to for to in found if to == len(known) and column.family is Family.multiway]

    def _allowed_placements(
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

    def _divide_objects(self, item: Open) -> Division:
        """Return where the objects go by the chosen test, computed once per node and kept in its
        ``memo``.
        """
        cell = as_part(item.cell)
        column = item.candidate.column
        to = item.candidate.to
        index = item.candidate.index
        if "division" not in cell.memo:  # asked twice where leaves are counted
            rule, outcome = column.rules(index), column.outcome(index)
            # rows without a value are in no table: the rule is asked of the chosen test alone
            if not sure(self.problem.parts.missing).counted:
                known = np.bincount(
                    outcome + 1, self.own_weight[cell.who] * cell.share, rule.arity + 1
                )[1:]
                to = next(
                    iter(self._allowed_placements(known, bool((outcome < 0).any()), column, index)),
                    MISSING_STOPS,
                )
            surrogates = self._fill_by_surrogates(rule, cell, outcome)
            rule = rule.with_missing() if to == rule.arity else rule
            outcome[(outcome < 0) & (to >= 0)] = to
            cell.memo["division"] = (
                rule,
                to,
                surrogates,
                outcome,
                [np.flatnonzero(outcome == k) for k in range(rule.arity)],
            )
        division: Division = cell.memo["division"]
        return division

    def n_present(self, item: Open) -> int:
        """Return how many outcomes of the chosen test some object has; objects split over all have
        none.
        """
        return sum(len(part) > 0 for part in self._divide_objects(item)[-1])

    def children(self, item: Open) -> list[Open | None]:
        """Return the nodes below, one per outcome; None for an outcome that no object has.

        Objects without an outcome have a share in each of these, or in none where they stop.
        """
        choice, cell, grown = item.candidate, as_part(item.cell), item.grown
        rule, to, grown.surrogates, outcome, parts = self._divide_objects(item)
        grown.rule, own_outcome = rule, rule != choice.column.rules(choice.index)
        grown.missing_child = MISSING_STOPS if own_outcome else to
        weight, lost = self.weight_of(cell), np.flatnonzero((outcome < 0) & (to == MISSING_SPLITS))
        total = weight[outcome >= 0].sum()
        prices = self.problem.prices.at(cell.asked, cell.path_cost)
        own = (
            prices.of(choice.column.number + choice.column.step * choice.index)
            if choice.price > 0
            else ()
        )
        grown.branch_price = list(own) if len(own) == rule.arity else [choice.price] * rule.arity
        below: list[Open | None] = []
        for part, price in zip(parts, grown.branch_price, strict=True):
            here = np.sort(np.concatenate([part, lost]))
            share = cell.share[here] * np.where(outcome[here] < 0, weight[part].sum() / total, 1.0)
            child = Part(
                0,
                len(here),
                cell.depth + 1,
                asked=cell.asked | {*choice.column.names},
                path_cost=cell.path_cost + price,
                who=cell.who[here],
                share=share,
            )
            below.append(self.evaluate(child) if len(part) else None)
        return below

    def _fill_by_surrogates(
        self, rule: TestRule, cell: Part, outcome: np.ndarray
    ) -> list[tuple[TestRule, tuple[int, ...]]]:
        """Return the node's surrogates; put what they say of rows without an outcome into
        ``outcome``.

        outcome : int64[k], −1 without one, written.
        """
        objects, rows = self.problem.objects, self.problem.objects.row_of_object[cell.who]
        found = ask_surrogates(rule, self.problem, rows, self.own_weight[cell.who] * cell.share)
        for other, to in found:
            lost = np.flatnonzero(outcome < 0)
            outcome[lost] = by_code(to, other.outcomes(objects.table, rows[lost]), NO_OUTCOME)
        return found


def as_part(cell: Cell) -> Part:
    """Return a node of a growth by shares with its type."""
    return cast(Part, cell)


def weigh_objects(objects: Encoded) -> np.ndarray:
    """Return float64[n_objects]: what their rows weigh, whatever an objective makes of it."""
    return np.bincount(objects.object_of_row, objects.table.row_weights())


def ask_surrogates(
    rule: TestRule, problem: Problem, rows: np.ndarray, weight: np.ndarray
) -> list[tuple[TestRule, tuple[int, ...]]]:
    """Ask ``missing`` for the tests that stand in for one at a node; [] unless it has such.

    rows : int64[k], a row of each object of the node.
    weight : float64[k], what they weigh there.
    """
    objects, missing = problem.objects, problem.parts.missing
    if missing is None or not hasattr(missing, "surrogates"):
        return []
    others = [objects.rule(k) for k in range(objects.n_fixed)]
    with blaming(f"missing {missing.name!r}: surrogates"):
        return list(missing.surrogates(rule, others, objects, rows, weight))


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


def without_gaps(problem: Problem) -> Problem:
    """Return the problem by the rule of the kernels where no test lacks a value: the tree is the
    same but for where later rows go.

    Predicates ask the raw table, whatever the encoder has made of its gaps.
    """
    objects, columns = problem.objects, problem.objects.table.columns
    if not problem.parts.fractional_rows or objects.lacking.any():
        return problem
    if problem.parts.predicate and any(
        columns[one.position].missing.any() for one in objects.all_features
    ):
        return problem
    return attrs.evolve(problem, parts=attrs.evolve(problem.parts, missing=None))


def place_later_rows(tree: Tree, problem: Problem) -> Tree:
    """Return a tree that was grown from complete rows with what the run's ``missing`` says of later
    ones: where they go, and the surrogates of each node.
    """
    objects = problem.objects
    heavy = np.where(tree.child >= 0, tree.mass[tree.child], 0.0)
    to = tree.missing_child.copy()
    rules, found, test = dict[TestRule, int](), list[Surrogate](), tree.test.copy()
    weight, here = weigh_objects(objects), {0: np.arange(objects.n_objects)}
    for v in tree.inner.tolist():
        below = slice(*tree.child_offset[v : v + 2])
        rule = tree.rule(v)
        rows = objects.row_of_object[here[v]]
        to[v] = placement_of_later_rows(
            ask_placements(sure(problem.parts.missing), heavy[below]), heavy[below]
        )
        test[v] = rules.setdefault(rule, len(rules))
        outcome = rule.outcomes(objects.table, rows)
        for other, sides in ask_surrogates(rule, problem, rows, weight[here[v]]):
            found.append(Surrogate(v, rules.setdefault(other, len(rules)), sides))
        here |= {child: here[v][outcome == k] for k, child in enumerate(tree.child[below].tolist())}
        del here[v]
    return attrs.evolve(
        tree, missing_child=to, rules=tuple(rules), test=test, surrogates=tuple(found)
    )
