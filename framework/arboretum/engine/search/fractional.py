"""Growth by shares: what becomes of rows without a value is asked of the run's ``missing``, node by
node, without kernels.

A node is some objects with a share of each.  The loop is that of
:mod:`arboretum.engine.search.growth`; tables are its own, summed by share, and the same criterion
scores them.
"""

import heapq
from collections.abc import Iterator
from functools import cached_property
from typing import cast

import attrs
import numpy as np

from arboretum.engine.search.assemble import Subtree
from arboretum.engine.search.contract import Cell, Part
from arboretum.engine.search.fit_check import scores_two_outcomes_only
from arboretum.engine.search.growth import Growth, Open
from arboretum.engine.search.missing_tests import (
    Choice,
    Column,
    ColumnGrowth,
    ColumnSums,
    ask_placements,
    placement_of_later_rows,
)
from arboretum.engine.search.node_tests import NodeTestEngine, column_prices
from arboretum.engine.search.raw import gap_of
from arboretum.errors import blaming, sure
from arboretum.interfaces.method import Problem
from arboretum.model.encoded import Encoded, Family, Feature, RawFeature
from arboretum.model.missing import MISSING, by_code, from_bins
from arboretum.model.rules import NO_OUTCOME, TestRule, midpoints
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, Surrogate, Tree

Division = tuple[
    TestRule, int, list[tuple[TestRule, tuple[int, ...]]], np.ndarray, list[np.ndarray]
]
"""A test, where rows without a value go, the node's surrogates, int64[k] outcomes (−1: none),
entries by outcome.
"""


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


class MissingValueGrowth(ColumnGrowth, FractionalGrowth):
    """The growth of a run whose ``missing`` is another rule than that of the kernels."""

    @cached_property
    def own_weight(self) -> np.ndarray:
        """float64[n_objects]: what the rows of each object weigh in the table."""
        return weigh_objects(self.problem.objects)

    def columns(self, cell: Cell) -> Iterator[Column]:
        """Yield the features and the tests of predicates, in the order of the raw table."""
        part = as_part(cell)
        return heapq.merge(
            self._columns_of_features(part),
            self._columns_of_predicates(part),
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
        if not raw:
            n = objects.features[f].n_bins
            return self.coded_column(cell, f, from_bins(objects.codes[cell.who, f], n))
        values, feature = objects.raw[cell.who, f].astype(np.float64), objects.raw_features[f]
        seen, code = np.unique(values, return_inverse=True)
        code, seen = np.where(np.isnan(values), MISSING, code), seen[~np.isnan(seen)]
        cut = np.append(midpoints(np.stack([seen[:-1], seen[1:]], axis=1)), np.inf)
        near = seen.astype(objects.raw.dtype)
        parts = len(seen) > 0 and bool((code < 0).any())
        own = np.where(near[1:] > near[:-1] + gap_of(objects), prices.raw[f], np.inf)
        own = np.append(own, prices.raw[f]) if parts else own
        return Column(
            names=(feature.column,),
            position=feature.position,
            code=code,
            n_bins=len(seen),
            family=Family.thresholds,
            rules=lambda k: feature.rule(cut[k]),
            prices=self.payable_prices(own, feature.column, cell),
            number=len(prices.tests) + f,
            step=0,
            parts=parts,
        )

    def sums_of(self, column: Column, cell: Cell) -> ColumnSums:
        """Return what a node's objects add up to, by share."""
        part = as_part(cell)
        own = [what[part.who] * part.share[:, None] for what in self.space.statistics.sums]
        return ColumnSums(
            *(column.sum_by_outcome(what) for what in own),
            *(what[column.code < 0].sum(axis=0) for what in own),
        )

    def rows_with_value(self, column: Column, cell: Cell) -> np.ndarray:
        """int64[k]: the node's objects with a value."""
        found: np.ndarray = as_part(cell).who[column.code >= 0]
        return found

    def best_test(self, item: Open) -> Choice | None:
        """Return the best test, the first of equals; None where none may divide the node."""
        if self.subtrees is not None:
            one = self.subtrees.rules._replace(max_depth=item.cell.depth + 1)
            if (below := self.subtrees.grow_arrays(item.cell, one, self.late)) is not None:
                return self._choice_of_kernel(below, as_part(item.cell))
            self.subtrees = None  # a NaN: the loop will meet it, too, and name the test
        return self.best_of_columns(item)

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
                    iter(self.allowed_placements(known, bool((outcome < 0).any()), column, index)),
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
        grown.branch_price = self.branch_prices_of(choice, rule.arity, cell)
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


def without_gaps(problem: Problem) -> Problem:
    """Return the problem by the rule of the kernels where no test lacks a value: the tree is the
    same but for where later rows go.

    Predicates ask the raw table, whatever the encoder has made of its gaps.
    """
    objects, columns = problem.objects, problem.objects.table.columns
    if not problem.parts.fractional_rows or objects.lacking.any():
        return problem
    if problem.parts.predicate and any(
        columns[one.position].has_missing for one in objects.all_features
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
