"""Growth by shares: what becomes of rows without a value is asked of the run's ``missing``, node by node, without kernels.

A node is some objects with a share of each.  The loop is that of :mod:`arboretum.engine.search.growth`; tables are its own,
summed by share, and the same criterion scores them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.errors import CapabilityError, ContractError, blaming
from arboretum.engine.search.choose import check_scores, settled, with_columns
from arboretum.engine.search.contract import Cell
from arboretum.engine.search.growth import ROUNDED, Growth, Open
from arboretum.engine.search.raw import midpoints
from arboretum.kernels.tables import Least, bar_of, equal_from
from arboretum.model.encoded import Family, Node, Tables
from arboretum.model.rules import TestRule
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS


@attrs.define(eq=False, kw_only=True)
class Part(Cell):
    """A node.   who, share : int64[k], float64[k], its objects and how much of each."""

    who: np.ndarray
    share: np.ndarray

    @property
    def size(self) -> int:
        return round(self.share.sum())


@attrs.frozen(eq=False)
class Column:
    """The tests of one feature at a node.

    position : of the raw column.   code : int64[k], bin of each entry, −1 without a value.
    family, rules : how bins become outcomes, and test index → rule.
    prices : float64[tests].   number : of its first test in ``Prices.of``, ``step`` to the next.
    """

    name: str
    position: int
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
class Competing:
    """The tests of a column that compete at a node.

    index, to : of each test, as in :class:`Choice`.   node : as the criterion sees it.   discount : of the scores.
    """

    column: Column
    tables: Tables
    index: Sequence[int]
    to: Sequence[int]
    node: Node
    discount: float


@attrs.frozen(eq=False)
class Choice:
    """A test that competes.   to : where rows without a value go, as ``missing_child`` of a tree, or the arity: their own outcome."""

    column: Column
    index: int
    to: int
    price: float
    score: float


class SharesGrowth(Growth):
    """The growth of a run whose ``missing`` is another rule than that of the kernels."""

    engines = ()

    def root(self) -> Part:
        n = self.problem.objects.n_objects
        return Part(0, n, 0, who=np.arange(n), share=np.ones(n))

    def rows_of(self, cell: Part) -> np.ndarray:
        return cell.who

    def weight_of(self, cell: Part) -> np.ndarray:
        return self.space.statistics.weight[cell.who] * cell.share

    def totals(self, cell: Part) -> tuple[np.ndarray, np.ndarray, float]:
        weights, rows = ((what[cell.who] * cell.share[:, None]).sum(axis=0) for what in self.space.statistics.sums)
        return weights, np.rint(rows).astype(np.int64), float((self.problem.objects.count[cell.who] * cell.share).sum())

    @staticmethod
    def _added(code: np.ndarray, what: np.ndarray, n: int) -> np.ndarray:
        """float64[n, …]: sums of ``what`` by code; entries of code −1 are left out."""
        known = code >= 0
        return np.stack([np.bincount(code[known], part[known], n) for part in what.T], axis=1)

    def columns(self, cell: Part) -> Iterator[Column]:
        """The features, in the order of the raw table."""
        objects, prices = self.problem.objects, self.problem.prices.at(cell.asked, cell.paid)
        offset, n_fixed = objects.test_offset, len(prices.tests)
        features = [(raw, f, feature) for raw, some in enumerate((objects.features, objects.raw_features)) for f, feature in enumerate(some)]
        for raw, f, feature in sorted(features, key=lambda one: (one[2].position, *one[:2])):
            if raw:
                values = objects.raw[cell.who, f].astype(np.float64)
                seen, code = np.unique(values, return_inverse=True)
                code, seen = np.where(np.isnan(values), -1, code), seen[~np.isnan(seen)]
                cut = midpoints(np.stack([seen[:-1], seen[1:]], axis=1))
                rule, family, n = (lambda k, cut=cut, feature=feature: feature.rule(cut[k])), Family.thresholds, len(seen)
                own = np.full(max(n - 1, 0), prices.raw[f])
            else:
                code = objects.codes[cell.who, f].astype(np.int64)
                code, rule, family, n = np.where(code == feature.n_bins, -1, code), feature.rule, feature.family, feature.n_bins
                own = prices.tests[offset[f] : offset[f + 1]]
            own = own * 0.0 if prices.once_per_column and feature.column in cell.asked else own
            first = n_fixed + f if raw else int(offset[f])
            yield Column(feature.column, feature.position, code, n, family, rule, self.space.payable(own, cell), first, 1 - raw)

    def best_test(self, item: Open) -> Choice | None:
        """The best test, the first of equals; None where none may divide the node."""
        best, ties, found = None, self.scorer.ties(item.node), self._listed(item)
        for block, scores in settled(list(found), item.node, self.scorer) if hasattr(self.scorer.criterion, "settle") else found:
            i = int(np.argmax(scores >= equal_from(scores.max(), ties)))
            if scores[i] > (-np.inf if best is None else bar_of(best.score, ties)):
                best = Choice(block.column, block.index[i], block.to[i], float(block.tables.price[i]), float(scores[i]))
        return best

    def _listed(self, item: Open) -> Iterator[tuple[Competing, np.ndarray]]:
        """The tests that may divide a node, column by column, with their scores."""
        first = 0
        for column in self.columns(item.cell):
            block = self._competing(column, item, first) if column.n_bins > 1 else None
            if block is not None:
                scores = self.scorer.score(block.tables, block.node) * block.discount
                check_scores(self.scorer, scores, lambda i, block=block: block.column.rules(block.index[i]))
                yield block, scores
                first += len(scores)

    def _competing(self, column: Column, item: Open, first: int) -> Competing | None:
        """The tests of a column with their tables, numbered from ``first``; None without any."""
        statistics, missing = self.space.statistics, self.problem.parts.missing
        sums, rows = (what[item.cell.who] * item.cell.share[:, None] for what in statistics.sums)
        weights, counts = (column.tables(self._added(column.code, what, column.n_bins)) for what in (sums, rows))
        lost, lost_rows = (what[column.code < 0].sum(axis=0) for what in (sums, rows))
        divides = np.flatnonzero(((counts.sum(axis=2) > 0).sum(axis=1) > 1) & (column.prices < np.inf) if len(counts) else [])
        if lost_rows.any() and getattr(missing, "left_out", False):
            return None
        any_part = self.limits.min_leaf == 1 and getattr(self.scorer.criterion, "weighs_branches", False)
        mass, least = statistics.mass(weights), Least(0.0 if any_part else self.limits.min_leaf - ROUNDED, self.space.min_weight)
        arity, entries = weights.shape[1], []  # (test, placement, weights, counts), with an outcome more that may stay empty
        for test in divides.tolist():
            for to in self._placements(mass[test], bool(lost_rows.any()), column, test):
                part = np.zeros((arity + 1, 1))
                if missing.counted and to == MISSING_SPLITS:
                    part[:-1, 0] = mass[test] / mass[test].sum()
                elif missing.counted and to >= 0:
                    part[to] = 1.0
                both = [np.vstack([own[test], 0.0 * gone]) + part * gone for own, gone in ((weights, lost), (counts, lost_rows))]
                if statistics.allowed(*both, least):
                    entries.append((test, to, *both))
        if not entries:
            return None
        width = arity + any(to == arity for _, to, _, _ in entries)
        own, rows = (np.stack([entry[k][:width] for entry in entries]) for k in (2, 3))
        price = np.array([column.prices[test] for test, *_ in entries], np.float64)
        none, numbers = np.zeros((len(entries), width, 0)), first + np.arange(len(entries))
        node, known = item.node, mass[divides[0]].sum() / item.node.mass if lost_rows.any() else 1.0
        if not missing.counted and known < 1.0:
            whole, whole_rows = weights[divides[0]].sum(axis=0), np.rint(counts[divides[0]].sum(axis=0)).astype(np.int64)
            impurity = self.scorer.node_impurity(whole, statistics, item.cell.who[column.code >= 0])
            node = attrs.evolve(
                node, weights=whole, counts=whole_rows, mass=node.mass * known, total_mass=node.total_mass * known, impurity=impurity,
                n_rows=int(whole_rows.sum()), n_objects=int((column.code >= 0).sum()),
            )  # fmt: skip
        tables = self.scorer.tables(own, np.rint(rows).astype(np.int64), price, none, numbers)
        tables = with_columns(tables, np.full(len(entries), column.position), self.problem.objects)
        index, to = ([entry[k] for entry in entries] for k in (0, 1))
        return Competing(column, tables, index, to, node, known if missing.discounted else 1.0)

    def _placements(self, known: np.ndarray, lost: bool, column: Column, test: int) -> Sequence[int]:
        missing, n = self.problem.parts.missing, len(known)
        with blaming(f"missing {missing.name!r}: placements"):
            found = [int(to) for to in missing.placements(known.copy())]
        if not found or not all(MISSING_SPLITS <= to <= n for to in found) or (not missing.counted and len(found) > 1):
            allowed = f"outcomes, 0 … {n}, MISSING_STOPS or MISSING_SPLITS, one where rows are not counted"
            raise ContractError(f"missing {missing.name!r}: placements must be {allowed}; got {found}")
        if lost:
            return [to for to in found if to < n or column.rules(test).with_missing() is not None]
        outcomes = [to for to in found if 0 <= to < n]  # nobody asks here; later rows will
        return [max(outcomes, key=lambda to: (known[to], -to)) if outcomes else found[0] if found[0] < n else MISSING_STOPS]

    def _division(self, item: Open) -> tuple[Any, ...]:
        """Where the objects go by the chosen test: its rule, the node's surrogates, int64[k] outcomes (−1: none), entries by outcome."""
        cell, column, to, index = item.cell, item.candidate.column, item.candidate.to, item.candidate.index
        if "division" not in cell.memo:  # asked twice where leaves are counted
            rule, outcome = column.rules(index), column.outcome(index)
            surrogates = self._surrogates(rule, cell, outcome)
            rule = rule.with_missing() if to == rule.arity else rule
            outcome[(outcome < 0) & (to >= 0)] = to
            cell.memo["division"] = rule, surrogates, outcome, [np.flatnonzero(outcome == k) for k in range(rule.arity)]
        return cell.memo["division"]

    def n_present(self, item: Open) -> int:
        return sum(len(part) > 0 for part in self._division(item)[-1])

    def children(self, item: Open) -> list[Open | None]:
        choice, cell, grown = item.candidate, item.cell, item.grown
        rule, surrogates, outcome, parts = self._division(item)
        grown.rule, grown.surrogates = rule, surrogates
        own_outcome = rule != choice.column.rules(choice.index)
        grown.missing_child = MISSING_STOPS if own_outcome else choice.to
        weight, lost = self.weight_of(cell), np.flatnonzero((outcome < 0) & (choice.to == MISSING_SPLITS))
        total, prices = weight[outcome >= 0].sum(), self.problem.prices.at(cell.asked, cell.paid)
        if own_outcome and prices.outcomes is not None:
            msg = f"missing {self.problem.parts.missing.name} gives rows an outcome of their own, which prices by outcome do not know; choose cost=table"
            raise CapabilityError(msg)
        own = prices.of(choice.column.number + choice.column.step * choice.index) if choice.price > 0 else ()
        grown.branch_price = list(own) if len(own) == rule.arity else [choice.price] * rule.arity
        below: list[Open | None] = []
        for part, price in zip(parts, grown.branch_price, strict=True):
            here = np.sort(np.concatenate([part, lost]))
            share = cell.share[here] * np.where(outcome[here] < 0, weight[part].sum() / total, 1.0)
            path = {"asked": cell.asked | {choice.column.name}, "paid": cell.paid + price}
            below.append(self.look(Part(0, len(here), cell.depth + 1, **path, who=cell.who[here], share=share)) if len(part) else None)
        return below

    def _surrogates(self, rule: TestRule, cell: Part, outcome: np.ndarray) -> list[tuple[TestRule, tuple[int, ...]]]:
        """The node's surrogates; what they say of rows without an outcome is put into ``outcome``."""
        objects, missing = self.problem.objects, self.problem.parts.missing
        if not hasattr(missing, "surrogates"):
            return []
        rows, others = objects.row_of_object[cell.who], [objects.rule(k) for k in range(int(objects.test_offset[-1]))]
        with blaming(f"missing {missing.name!r}: surrogates"):
            found = list(missing.surrogates(rule, others, objects, rows, self.weight_of(cell)))
        for other, to in found:
            lost = np.flatnonzero(outcome < 0)
            outcome[lost] = np.array([*to, -1])[other.outcomes(objects.table, rows[lost])]
        return found
