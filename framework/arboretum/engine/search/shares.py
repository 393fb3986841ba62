"""Growth by shares: what becomes of rows without a value is asked of the run's ``missing``, node by node, without kernels.

A node is some objects with a share of each.  Tables are those of the growth loop, summed by share; the same criterion scores them.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.blame import blaming
from arboretum.engine.search.assemble import Grown, to_tree
from arboretum.engine.search.fit_check import check_parts
from arboretum.engine.search.compiled_criterion import TIE_TOLERANCE, CompiledCriterion, component_name
from arboretum.engine.search.statistics import Statistics
from arboretum.errors import CapabilityError, ContractError
from arboretum.interfaces.method import Context, Problem
from arboretum.interfaces.stopping import Limits
from arboretum.model.encoded import Family, Node
from arboretum.model.rules import TestRule
from arboretum.model.solution import Solution, Status
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS


ROUNDED = 1e-9
"""What sums of shares may lack of a whole number of rows: 10⁶ shares lose 10⁶ · 2⁻⁵³, a tenth of that."""


@attrs.define(eq=False)
class Open:
    """A node that may be divided.   who, share : int64[k], float64[k].   asked, paid : on its path."""

    who: np.ndarray
    share: np.ndarray
    node: Node
    grown: Grown
    asked: frozenset[str] = frozenset()
    paid: float = 0.0


@attrs.frozen(eq=False)
class Column:
    """The tests of one feature at a node.

    code : int64[k], bin of each entry, −1 without a value.   family, rules : how bins become outcomes, and test index → rule.
    prices : float64[tests].   number : of its first test in ``Prices.of``, ``step`` to the next.
    """

    name: str
    code: np.ndarray
    n_bins: int
    family: Family
    rules: Any
    prices: np.ndarray
    number: int
    step: int

    def outcome(self, index: int) -> np.ndarray:
        """int64[k]: outcomes of a test, −1 without a value."""
        ways = {Family.multiway: self.code, Family.thresholds: self.code > index, Family.equals: self.code != index}
        return np.where(self.code < 0, -1, ways[self.family]).astype(np.int64)

    def tables(self, of_bins: np.ndarray) -> np.ndarray:
        """[tests, outcomes, k] from the sums of its bins, [n_bins, k]."""
        if self.family is Family.multiway:
            return of_bins[None]
        first = of_bins if self.family is Family.equals else np.cumsum(of_bins, axis=0)[:-1]
        rest = of_bins.sum(axis=0) - of_bins if self.family is Family.equals else np.cumsum(of_bins[::-1], axis=0)[::-1][1:]
        return np.stack([first, rest], axis=1)


@attrs.frozen(eq=False)
class Choice:
    """A test that competes.   to : where rows without a value go, as ``missing_child`` of a tree, or the arity: their own outcome."""

    column: Column
    index: int
    to: int
    price: float
    score: float


def grow_by_shares(problem: Problem, context: Context, order: str = "depth", allow_constant: bool = False) -> Solution:
    """Grow a tree by the run's ``missing``.  Raises CapabilityError for what only growth of whole rows knows."""
    growth = _Growth.of(problem, context, order, allow_constant)
    root = growth.look(np.arange(problem.objects.n_objects), np.ones(problem.objects.n_objects), 0)
    waiting, divided, stopped = deque([root]), 0, False
    while waiting:
        item = waiting.pop() if order == "depth" else waiting.popleft()
        stopped = stopped or (context.deadline is not None and time.monotonic() >= context.deadline)
        if stopped or growth.is_leaf(item) or (choice := growth.choose(item)) is None:
            continue
        children = growth.divide(item, choice)
        divided += bool(children)
        waiting.extend(children[::-1] if order == "depth" else children)
    notes = (f"missing={growth.missing.name}: grown by shares, node by node, without kernels",)
    if stopped:
        notes += (f"budget.seconds ran out: the tree is cut short after {divided} splits",)
    tree = to_tree(root.grown, problem.objects, growth.statistics)
    return Solution(tree, math.nan, math.nan, Status.feasible, divided, not stopped, notes)


@attrs.define(eq=False)
class _Growth:
    """sums, rows : float64[n_objects, width], [n_objects, count_width], what each object adds to tables of weights and counts."""

    problem: Problem
    missing: Any
    scorer: CompiledCriterion
    statistics: Statistics
    limits: Limits
    least: float
    sums: np.ndarray
    rows: np.ndarray
    leaves: int = 1

    @staticmethod
    def of(problem: Problem, context: Context, order: str, allow_constant: bool) -> _Growth:
        objects, parts = problem.objects, problem.parts
        statistics = Statistics.of(objects, bool(getattr(parts.criterion, "counts_objects", False)))
        scorer = CompiledCriterion.of(parts.criterion, parts.impurity, statistics, context.seed)
        check_parts(problem, scorer, statistics, allow_constant)
        unknown = {
            "coverage": parts.coverage, "predicate": parts.predicate, "constant tests": allow_constant, "method.order=best": order == "best",
            "columns of a criterion's own": scorer.has_columns, "criterion that settles scores": hasattr(scorer.criterion, "settle"),
            "impurity of sorted values": hasattr(scorer.impurity, "of_values"),
        }  # fmt: skip
        for what, there in unknown.items():
            if there:
                msg = f"missing {parts.missing.name} grows by shares, which knows no {what}; leave it out, or use missing=better_side"
                raise CapabilityError(msg)
        if statistics.moments:
            sums, rows = np.stack([objects.weight * statistics.y**k for k in range(3)], axis=1), statistics.count[:, None]
        else:
            sums, rows = (part[:, None] * np.eye(statistics.width)[objects.label] for part in (objects.weight, statistics.count))
        limits = parts.limits()
        least = limits.min_weight(float(objects.weight.sum()), objects.n_objects)
        return _Growth(problem, parts.missing, scorer, statistics, limits, least, sums, rows)

    def look(self, who: np.ndarray, share: np.ndarray, depth: int, asked: frozenset[str] = frozenset(), paid: float = 0.0) -> Open:
        """Describe a node."""
        statistics, objects = self.statistics, self.problem.objects
        weights = (self.sums[who] * share[:, None]).sum(axis=0)
        count, mass = float((objects.count[who] * share).sum()), float(weights[0] if statistics.moments else weights.sum())
        level = self.scorer.node_impurity(weights, statistics, who)
        counts = np.rint((self.rows[who] * share[:, None]).sum(axis=0)).astype(np.int64)
        node = Node(weights, counts, mass, float(statistics.weight.sum()), level, depth, 0.0, round(count), len(who))
        value = float(weights[1] / weights[0]) + statistics.shift if statistics.moments else math.nan
        return Open(who, share, node, Grown(weights, count, value, level), asked, paid)

    @staticmethod
    def _added(code: np.ndarray, what: np.ndarray, n: int) -> np.ndarray:
        """float64[n, …]: sums of ``what`` by code; entries of code −1 are left out."""
        known = code >= 0
        return np.stack([np.bincount(code[known], part[known], n) for part in what.T], axis=1)

    def is_leaf(self, item: Open) -> bool:
        limits, node = self.limits, item.node
        return (
            self.statistics.is_pure(item.who, node.weights)
            or (limits.max_depth is not None and node.depth >= limits.max_depth)
            or item.grown.count < 2 * limits.min_leaf - ROUNDED
            or node.mass < 2.0 * self.least
            or any(rule.is_leaf(node) for rule in self.problem.parts.stopping)
        )

    def columns(self, item: Open) -> Iterator[Column]:
        """The features, in the order of the raw table."""
        objects, prices = self.problem.objects, self.problem.prices.at(item.asked, item.paid)
        offset, n_fixed = objects.test_offset, len(prices.tests)
        features = [(raw, f, feature) for raw, some in enumerate((objects.features, objects.raw_features)) for f, feature in enumerate(some)]
        for raw, f, feature in sorted(features, key=lambda one: (one[2].position, *one[:2])):
            if raw:
                values = objects.raw[item.who, f].astype(np.float64)
                seen, code = np.unique(values, return_inverse=True)
                code, seen = np.where(np.isnan(values), -1, code), seen[~np.isnan(seen)]
                middle = seen[:-1] / 2.0 + seen[1:] / 2.0
                cut = np.where(middle < seen[1:], middle, seen[:-1])
                rule, family, n = (lambda k, cut=cut, feature=feature: feature.rule(cut[k])), Family.thresholds, len(seen)
                own = np.full(max(n - 1, 0), prices.raw[f])
            else:
                code = objects.codes[item.who, f].astype(np.int64)
                code, rule, family, n = np.where(code == feature.n_bins, -1, code), feature.rule, feature.family, feature.n_bins
                own = prices.tests[offset[f] : offset[f + 1]]
            own = own * 0.0 if prices.once_per_column and feature.column in item.asked else own
            yield Column(feature.column, code, n, family, rule, own, n_fixed + f if raw else int(offset[f]), 1 - raw)

    def choose(self, item: Open) -> Choice | None:
        """The best test, the first of equals; None where none may divide the node."""
        best, floor = None, self.scorer.tie_floor(item.node)
        for column in self.columns(item):
            found = self._best_of(column, item, floor) if column.n_bins > 1 else None
            if found is not None and (best is None or found.score > best.score + max(TIE_TOLERANCE * abs(best.score), floor)):
                best = found
        least = self.limits.min_decrease
        return best if best is not None and (least is None or best.score > least + floor) else None

    def _best_of(self, column: Column, item: Open, floor: float) -> Choice | None:
        sums, rows = (what[item.who] * item.share[:, None] for what in (self.sums, self.rows))
        weights, counts = (column.tables(self._added(column.code, what, column.n_bins)) for what in (sums, rows))
        lost, lost_rows = (what[column.code < 0].sum(axis=0) for what in (sums, rows))
        divides = np.flatnonzero(((counts.sum(axis=2) > 0).sum(axis=1) > 1) if len(counts) else [])
        mass = weights[..., 0] if self.statistics.moments else weights.sum(axis=2)
        arity, entries = weights.shape[1], []  # (test, placement, weights, counts), with an outcome more that may stay empty
        for test in divides.tolist():
            for to in self._placements(mass[test], bool(lost_rows.any()), column, test):
                part = np.zeros((arity + 1, 1))
                if self.missing.counted and to == MISSING_SPLITS:
                    part[:-1, 0] = mass[test] / mass[test].sum()
                elif self.missing.counted and to >= 0:
                    part[to] = 1.0
                both = [np.vstack([own[test], 0.0 * gone]) + part * gone for own, gone in ((weights, lost), (counts, lost_rows))]
                if self._allowed(*both):
                    entries.append((test, to, *both))
        if not entries:
            return None
        width = arity + any(to == arity for _, to, _, _ in entries)
        own, rows = (np.stack([entry[k][:width] for entry in entries]) for k in (2, 3))
        price = np.array([column.prices[test] for test, *_ in entries], np.float64)
        none, numbers = np.zeros((len(entries), width, 0)), np.arange(len(entries))
        scores = self.scorer.score(self.scorer.tables(own, np.rint(rows).astype(np.int64), price, none, numbers), item.node)
        if self.missing.discounted:
            scores = scores * (mass[divides[0]].sum() / item.node.mass)
        if np.isnan(scores).any() or np.isposinf(scores).any():
            i = int(np.argmax(np.isnan(scores) | np.isposinf(scores)))
            who, test = component_name(self.scorer.criterion), column.rules(entries[i][0]).describe()
            raise ContractError(f"criterion {who!r} scored {test!r} with {scores[i]}; return a finite score, or −inf to refuse a test")
        i = int(np.argmax(scores >= scores.max() - max(TIE_TOLERANCE * abs(scores.max()), floor)))
        return None if scores[i] == -np.inf else Choice(column, entries[i][0], entries[i][1], float(price[i]), float(scores[i]))

    def _placements(self, known: np.ndarray, lost: bool, column: Column, test: int) -> Sequence[int]:
        name, n = self.missing.name, len(known)
        with blaming(f"missing {name!r}: placements"):
            found = [int(to) for to in self.missing.placements(known.copy())]
        if not found or not all(MISSING_SPLITS <= to <= n for to in found) or (not self.missing.counted and len(found) > 1):
            allowed = f"outcomes, 0 … {n}, MISSING_STOPS or MISSING_SPLITS, one where rows are not counted"
            raise ContractError(f"missing {name!r}: placements must be {allowed}; got {found}")
        if lost:
            return [to for to in found if to < n or column.rules(test).with_missing() is not None]
        outcomes = [to for to in found if 0 <= to < n]  # nobody asks here; later rows will
        return [max(outcomes, key=lambda to: (known[to], -to)) if outcomes else found[0] if found[0] < n else MISSING_STOPS]

    def _allowed(self, weights: np.ndarray, counts: np.ndarray) -> bool:
        rows = counts.sum(axis=1)
        mass = (weights[:, 0] if self.statistics.moments else weights.sum(axis=1))[rows > 0]
        return bool((rows[rows > 0] >= self.limits.min_leaf - ROUNDED).all() and (mass >= self.least).all())

    def divide(self, item: Open, choice: Choice) -> list[Open]:
        """Ask the chosen test; returns the children, none where the leaf budget does not allow them."""
        objects, column, grown, to = self.problem.objects, choice.column, item.grown, choice.to
        rule, outcome = column.rules(choice.index), column.outcome(choice.index)
        surrogates = self._surrogates(rule, item, outcome)
        own_outcome = to == rule.arity
        rule = rule.with_missing() if own_outcome else rule
        outcome[(outcome < 0) & (to >= 0)] = to
        weight = objects.weight[item.who] * item.share
        parts = [np.flatnonzero(outcome == k) for k in range(rule.arity)]
        if self.limits.max_leaves is not None and self.leaves - 1 + sum(len(part) > 0 for part in parts) > self.limits.max_leaves:
            return []
        total, lost = weight[outcome >= 0].sum(), np.flatnonzero((outcome < 0) & (to == MISSING_SPLITS))
        prices = self.problem.prices.at(item.asked, item.paid)
        if own_outcome and prices.outcomes is not None:
            msg = f"missing {self.missing.name} gives rows an outcome of their own, which prices by outcome do not know; choose cost=table"
            raise CapabilityError(msg)
        own = prices.of(column.number + column.step * choice.index) if choice.price > 0 else ()
        grown.branch_price = list(own) if len(own) == rule.arity else [choice.price] * rule.arity
        grown.rule, grown.price, grown.score, grown.surrogates = rule, choice.price, choice.score, surrogates
        grown.missing_child = MISSING_STOPS if own_outcome else to
        below: list[Open | None] = []
        for part, price in zip(parts, grown.branch_price, strict=True):
            here = np.sort(np.concatenate([part, lost]))
            share = item.share[here] * np.where(outcome[here] < 0, weight[part].sum() / total, 1.0)
            asked, depth = item.asked | {column.name}, item.node.depth + 1
            below.append(self.look(item.who[here], share, depth, asked, item.paid + price) if len(part) else None)
        grown.children = [None if child is None else child.grown for child in below]
        self.leaves += sum(child is not None for child in below) - 1
        return [child for child in below if child is not None]

    def _surrogates(self, rule: TestRule, item: Open, outcome: np.ndarray) -> list[tuple[TestRule, tuple[int, ...]]]:
        """The node's surrogates; what they say of rows without an outcome is put into ``outcome``."""
        if not hasattr(self.missing, "surrogates"):
            return []
        objects = self.problem.objects
        rows, others = objects.row_of_object[item.who], [objects.rule(k) for k in range(int(objects.test_offset[-1]))]
        with blaming(f"missing {self.missing.name!r}: surrogates"):
            found = list(self.missing.surrogates(rule, others, objects, rows, objects.weight[item.who] * item.share))
        for other, to in found:
            lost = np.flatnonzero(outcome < 0)
            outcome[lost] = np.array([*to, -1])[other.outcomes(objects.table, rows[lost])]
        return found
