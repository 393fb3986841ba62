"""Growth of fuzzy trees: the loop of greedy trees, over rows that are at a node in shares."""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    MISSING_SPLITS,
    DataError,
    FractionalGrowth,
    Growth,
    GrowthPart,
    TestRule,
    midpoints,
    unknown,
)
from arboretum_classic.fuzzy.kernels import soft_tables, totals
from arboretum_classic.fuzzy.rule import FuzzyThreshold, Shape, shares_above
from arboretum_classic.oblivious.level_kernels import Columns, Level, Objects
from arboretum_classic.oblivious.levels import (
    Found,
    ObliviousSearch,
    refuse_parts,
    score_of_table,
    sorted_columns,
)

GRID = 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0
"""Widths that are tried, in standard deviations of the column, beside 0."""
FEWER = 64  # a node of less than this part of the rows is sorted anew
ROUNDED = 1e-9  # what sums of shares may lack of a whole number of rows


@attrs.frozen(eq=False)
class Choice:
    """A test that competes.

    degrees : float64[k, arity], the share of every object of the node in each outcome, rows without
        a value included.
    splits : rows without a value, or between two outcomes, go several ways.
    """

    rule: TestRule
    degrees: np.ndarray
    splits: bool
    price: float
    score: float


class FuzzyGrowth(FractionalGrowth):
    """Grows a fuzzy tree."""

    def prepare(self, method: Any) -> None:
        """Sort the columns, measure how far their values spread; once, before ``run``.

        method : SoftSplits.

        Raises CapabilityError for parts that cannot be used, DataError where ``method.widths``
        names no raw column of numbers.
        """
        refuse_parts(self, method.name)
        objects, n = self.problem.objects, self.problem.objects.n_objects
        raw = [objects.table.column(feature.column) for feature in objects.raw_features]
        names = [column.name for column in raw if column.is_continuous]
        for name in method.widths:
            if name not in names:
                raise DataError("method.widths: " + unknown("raw column of numbers", name, names))
        crisp = {column.name: 0.0 for column in raw if not column.is_continuous}
        self.logistic = method.shape is Shape.logistic
        self.given = {**method.widths, **crisp}
        self.shape = method.shape.value
        self.share_of_spread = method.width
        self.search = ObliviousSearch(self, True, max(1, self.limits.min_leaf) - ROUNDED)
        self.spread = cache(self._spread)
        self.bins = np.empty_like(self.search.columns.bin)
        self.place, self.weight = np.full(n, -1, np.int32), np.zeros(n)
        self.rows = self.weight if self.space.statistics.unit else np.zeros(n)

    def _spread(self, f: int) -> float:
        """Return the standard deviation of raw column f, in its unit, 0 where it is not known."""
        values = self.search.values[f].astype(float)
        with np.errstate(invalid="ignore", over="ignore"):
            return (
                float(np.nan_to_num(np.nanstd(values), posinf=0.0))
                if not np.isnan(values).all()
                else 0.0
            )

    def totals(self, cell: Any) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the table of a node as a whole, and its training rows; objects count by their
        shares.

        Returns class weights (or moments), float64; rows by class (one entry for a regression),
        int64, rounded; and the number of rows, which may be a fraction.
        """
        if (cell.share == 1.0).all():
            return Growth.totals(self, cell)  # to the bit what a crisp tree has
        stats = self.space.statistics
        weights, rows = np.zeros(stats.width), np.zeros(stats.count_width)
        totals(cell.who, cell.share, stats.objects, weights, rows)
        count = (
            float(stats.n_rows[cell.who] @ cell.share) if len(stats.n_rows) else float(rows.sum())
        )
        return weights, np.rint(rows).astype(np.int64), count

    def best_test(self, item: Any) -> Choice | None:
        """Return the best crisp test by shares, softened where it is a threshold; None where none
        is admissible.

        item : the node, with its cell.
        """
        cell, node, stats = item.cell, item.node, self.space.statistics
        who, columns = cell.who, self._columns(cell.who)
        self.place[who] = 0 if stats.moments else stats.label[who]
        self.weight[who] = self.weight_of(cell)
        if not stats.unit:
            self.rows[who] = stats.count[who] * cell.share
        rows = (
            np.array([[self.rows[who].sum()]])
            if stats.moments
            else np.bincount(stats.label[who], self.rows[who], stats.n_classes)[None]
        )
        mass, impurity, factor, wanted = (
            np.array([value]) for value in (node.mass, node.impurity, 1.0, True)
        )
        first = np.array([0, len(who)])
        level = Level(
            self.place,
            who.astype(np.int32),
            first,
            node.weights[None].astype(float),
            rows,
            mass,
            impurity=impurity,
            factor=factor,
            open=wanted,
            depth=node.depth,
            total=self.total_mass,
        )
        found = self.search.best(
            level, Objects(stats.y, self.weight, self.rows), columns, cell, node
        )
        choice = (
            None
            if found is None
            else self._soft(found, columns, who, node)
            if found.raw
            else self._crisp(found, who)
        )
        self.place[who] = -1
        return choice

    def _columns(self, who: np.ndarray) -> Columns:
        """Return the columns of the node's rows, sorted; those of all rows where they are not many
        more.

        who : int64[m], the rows.
        """
        every = self.search.columns
        if len(who) * FEWER >= len(self.place) or not len(every.order):
            return every
        own = sorted_columns(np.ascontiguousarray(self.search.values[:, who]), self.search.gap)
        self.bins[:, who] = own.bin
        return Columns(
            who.astype(np.uint32)[own.order], own.values, own.known, self.bins, own.start
        )

    def _soft(self, found: Found, columns: Columns, who: np.ndarray, node: Any) -> Choice | None:
        """Return the threshold of a crisp cut with the width that is given or, of :data:`GRID`,
        predicts best; None where shares leave a branch too small.

        found : the cut among ``columns``; who : int64[m], the node's rows.
        """
        f, stats, values = found.feature, self.space.statistics, columns.values[found.feature]
        after = found.index + 1
        while self.place[columns.order[f, after]] < 0:
            after += 1
        threshold = float(midpoints(values[None, [found.index, after]])[0])
        feature = self.problem.objects.raw_features[f]
        x = self.search.values[f, who].astype(float)
        given = self.given.get(
            feature.column,
            None if self.share_of_spread is None else self.share_of_spread * self.spread(f),
        )
        widths = (
            np.array([0.0, *(part * self.spread(f) for part in GRID)])
            if given is None
            else np.array([float(given)])
        )
        label, y = (stats.label, stats.y[who]) if stats.moments else (stats.label[who], stats.y)
        weights = np.zeros((len(widths), 2, stats.width))
        counts = np.zeros((len(widths), 2, stats.count_width))
        error = np.empty(len(widths))
        soft_tables(
            x,
            label,
            y,
            self.weight[who],
            self.rows[who],
            (threshold, self.logistic),
            widths,
            weights,
            counts,
            error,
        )
        mass, lost = stats.mass(weights), np.isnan(x)
        portion = mass / mass.sum(axis=1, keepdims=True)
        if lost.any():  # what has no value is divided as what has one
            gone, gone_rows = self._sums(who[lost])
            weights = weights + portion[:, :, None] * gone
            counts = counts + portion[:, :, None] * gone_rows
        least = max(1, self.limits.min_leaf) - ROUNDED, self.space.min_weight
        error[((counts.sum(axis=2) < least[0]) | (stats.mass(weights) < least[1])).any(axis=1)] = (
            np.inf
        )
        s = int(
            np.argmax(error <= error.min() + 1e-12 * abs(error[0] if error[0] < np.inf else 0.0))
        )
        if error[s] == np.inf:
            return None
        score = score_of_table(
            self.scorer, weights[s], np.rint(counts[s]).astype(np.int64), found.price, node
        )
        splits = bool(widths[s] > 0 or lost.any())
        above = shares_above(x, threshold, widths[s], self.shape)
        above[lost] = portion[s, 1]
        rule = (
            FuzzyThreshold(feature.column, threshold, widths[s], self.shape, feature.unit)
            if widths[s] > 0
            else feature.rule(threshold)
        )
        return (
            None
            if score == -np.inf
            else Choice(rule, np.stack([1.0 - above, above], axis=1), splits, found.price, score)
        )

    def _sums(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (float64[width], float64[count width]) of some of the node's objects, by their
        shares.

        rows : int64[m], which.
        """
        weights, count = self.space.statistics.sums
        unit = self.space.statistics.weight[rows], self.space.statistics.count[rows]
        return tuple(
            (what[rows] * (now[rows] / one)[:, None]).sum(axis=0)
            for what, now, one in zip((weights, count), (self.weight, self.rows), unit, strict=True)
        )

    def _crisp(self, found: Found, who: np.ndarray) -> Choice:
        """Return the test of codes; rows without a value go every way, by the branches' weights.

        who : int64[m], the node's rows.
        """
        feature = self.problem.objects.features[found.feature]
        code = self.problem.objects.codes[who, found.feature].astype(np.int64)
        rule = feature.rule(found.index)
        outcome = feature.family.outcome(found.index, code)
        lost = feature.missing(code)
        degrees = (outcome[:, None] == np.arange(rule.arity)) * ~lost[:, None] * 1.0
        mass = self.weight[who] @ degrees
        degrees[lost] = mass / mass.sum()
        return Choice(rule, degrees, bool(lost.any()), found.price, found.score)

    def n_present(self, item: Any) -> int:
        """Return the number of outcomes of the chosen test in which some object has a share above
        0.
        """
        return int((item.candidate.degrees > 0).any(axis=0).sum())

    def children(self, item: Any) -> list[Any]:
        """Return the nodes below, one per outcome; None where no object has a share above 0.

        Notes on ``item.grown`` the test, its price per branch, and where rows without a value go:
        every way if the test is fuzzy or an object of the node lacks its value, else down the
        heaviest branch.
        """
        choice, cell, grown = item.candidate, item.cell, item.grown
        grown.rule, grown.branch_price = choice.rule, [choice.price] * choice.rule.arity
        path = {
            "asked": cell.asked | set(choice.rule.columns),
            "path_cost": cell.path_cost + choice.price,
        }
        below = []
        for degree in choice.degrees.T:
            there = np.flatnonzero(degree > 0)
            part = GrowthPart(
                0,
                len(there),
                cell.depth + 1,
                **path,
                who=cell.who[there],
                share=cell.share[there] * degree[there],
            )
            below.append(self.evaluate(part) if len(there) else None)
        mass = [0.0 if one is None else one.node.mass for one in below]
        grown.missing_child = MISSING_SPLITS if choice.splits else int(np.argmax(mass))
        return below
