"""The best test of a level of nodes, over all columns; what oblivious and fuzzy trees share."""

from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    ContractError,
    Family,
    Growth,
    GrowthCell,
    Node,
    Problem,
    gap_of,
    sample,
    sure,
)
from arboretum.kernels.scoring import score_tables
from arboretum.kernels.tables import bar_of, equal_from
from arboretum_classic.criteria.kernels import reduction_variance
from arboretum_classic.oblivious import level_kernels as kernels, reference

MOST_CLASSES = 6
MOST_BITS = 10  # of a bin's number
PIECE = {kernels.NO_BOUND: 64, kernels.VERTICES: 8, kernels.VARIANCE: 32}
"""Rows per node and bin, at least: what bounding a bin costs against what scanning it does."""


def refuse_parts(growth: Growth, who: str) -> None:
    """Raise CapabilityError for parts of a run whose scores cannot be added up over nodes, or not
    from sums alone.

    who : the method's name, for the message.
    """
    parts, scorer, prices = growth.problem.parts, growth.scorer, growth.problem.prices
    name = sure(parts.criterion).name
    unknown = {
        f"coverage {', '.join(part.name for part in parts.coverage)}": bool(parts.coverage),
        f"predicate {', '.join(part.name for part in parts.predicate)}": bool(parts.predicate),
        f"criterion {name}, which adds up columns of its own": scorer.has_columns,
        f"criterion {name}, which finalises scores by those of all candidates of a node": hasattr(
            parts.criterion, "finalise_scores"
        ),
        f"criterion {name}, which draws": hasattr(parts.criterion, "with_seed"),
        f"impurity {getattr(parts.impurity, 'name', '')}, which is no function of sums": hasattr(
            parts.impurity, "of_values"
        ),
        "prices that depend on the path or the outcome": not prices.fixed,
    }
    if found := next((what for what, there in unknown.items() if there), None):
        raise CapabilityError(f"method {who} knows no {found}; leave it out, or use method=greedy")


def sorted_columns(values: np.ndarray, gap: Any) -> kernels.Columns:
    """Return the columns of raw values, sorted.

    values : float[columns, k], in C order.
    gap : neighbours not further apart are not separated.
    """
    (n_columns, n) = values.shape
    bits = values.view(np.uint32 if values.itemsize == 4 else np.uint64)
    start = np.empty((n_columns, 1 << min(MOST_BITS, max(1, n.bit_length()))), np.int64)
    columns = kernels.Columns(
        np.empty(values.shape, np.uint32),
        np.empty_like(values),
        np.empty(n_columns, np.int64),
        np.empty(values.shape, np.uint16),
        start,
    )
    kernels.arrange(values, bits, gap, columns)
    return columns


@attrs.frozen
class Found:
    """A test.

    raw : of a raw column, else of a coded one.
    feature : its index there.
    index : of the coded test, or the position of the last row left of the cut.
    side : outcome of rows without a value.
    place : ties go to the lowest.
    """

    raw: bool
    feature: int
    index: int
    side: int
    score: float
    price: float
    place: tuple[int, int, int]


def small_problem(problem: Problem) -> Problem:
    """Return a small problem that calls the same kernels."""
    return attrs.evolve(
        problem,
        objects=sample(problem.objects),
        parts=attrs.evolve(problem.parts, stopping=(), pruner=None),
        valid=None,
    )


def score_of_table(
    scorer: Any, weights: np.ndarray, counts: np.ndarray, price: float, node: Node
) -> float:
    """Return the score of one test by its table: by the kernel where there is one, as elsewhere in
    growth.

    weights : float64[outcomes, ·]; counts : int64[outcomes, ·].
    scorer : a CompiledCriterion; price : of the test.
    """
    tables = scorer.tables(
        weights[None],
        counts[None],
        np.array([price]),
        np.zeros((1, len(weights), 0)),
        np.zeros(1, np.int64),
    )
    if scorer.kernel is None:
        return float(scorer.score(tables, node)[0])
    score = np.empty(1)
    score_tables(
        tables.weights,
        tables.counts,
        tables.price,
        tables.extra,
        scorer.batch,
        scorer.scalars(node),
        scorer.params,
        scorer.impurity_at,
        score,
    )
    return float(score[0])


class ObliviousSearch:
    """Finds the best test of a level.

    growth : of the run.
    shared : rows without a value go every way, in proportion.
    min_rows : of every branch that receives any.
    """

    def __init__(self, growth: Growth, shared: bool, min_rows: float) -> None:
        """Sort the columns of a growth, and choose the kernel of its criterion, or the slow twin
        where it has none.

        shared : objects are in parts, and those without a value go every way.
        min_rows : rows that a branch needs.
        """
        objects, stats, scorer = growth.problem.objects, growth.space.statistics, growth.scorer
        self._growth = growth
        self.values = np.ascontiguousarray(objects.raw.T)
        self.gap = gap_of(objects)
        self.columns = sorted_columns(self.values, self.gap)
        self._codes = [
            np.ascontiguousarray(objects.codes[:, f]) for f in range(len(objects.features))
        ]
        self._raw, self._coded = reference.search, reference.score_coded
        bound = (
            kernels.VERTICES
            if scorer.concave and not stats.moments and stats.n_classes <= MOST_CLASSES
            else kernels.NO_BOUND
        )
        bound = kernels.VARIANCE if scorer.kernel is reduction_variance else bound
        self._rules = kernels.LevelRules(
            min_rows, growth.space.min_weight, self.gap, shared, PIECE[bound]
        )
        if scorer.kernel is not None:
            self._raw = kernels.search_of(
                scorer.kernel,
                stats.n_classes,
                stats.moments,
                shared or not stats.unit,
                not stats.unit,
                bound,
            )
            self._coded = kernels.coded_of(scorer.kernel, stats.moments)

    def best(
        self,
        level: kernels.Level,
        objects: kernels.Objects,
        columns: kernels.Columns,
        cell: GrowthCell,
        node: Node,
    ) -> Found | None:
        """Return the best test, the lowest of equals; None where none is admissible.

        objects : what each object weighs and counts.
        columns : of the level's rows.
        cell, node : of one of its nodes, the most mixed: all have the same path, and ties may
            differ as they may there.
        """
        growth, scorer = self._growth, self._growth.scorer
        features = growth.problem.objects.features
        raw = growth.problem.objects.raw_features
        prices = growth.problem.prices
        asked = cell.asked if prices.once_per_column else ()
        judge, best = scorer.at(node) if scorer.kernel is not None else scorer, None
        if len(raw):
            price = self._payable(
                [0.0 if one.column in asked else p for one, p in zip(raw, prices.raw, strict=True)],
                cell,
            )
            f, at, side, score = self._raw(columns, level, objects, price, self._rules, judge)
            if f >= 0:
                best = Found(
                    True,
                    int(f),
                    int(at),
                    int(side),
                    float(score),
                    float(price[f]),
                    place=(raw[f].position, 1, int(f)),
                )
        first = growth.problem.objects.test_offset
        for f, feature in enumerate(features):
            own = prices.tests[first[f] : first[f + 1]]
            price = self._payable(own * 0.0 if feature.column in asked else own, cell)
            scores = np.empty((2, len(price)))
            to, n_lost = self._coded(
                (list(Family).index(feature.family), feature.n_bins),
                self._codes[f],
                level,
                objects,
                price,
                self._rules,
                judge,
                scores,
            )
            if not scores.size or scores.max() == -np.inf:
                continue
            test, side = divmod(
                int(np.argmax(equal_from(scores.max(), scorer.ties(node)) <= scores.T)), 2
            )
            side = (
                -1
                if n_lost == 0 or self._rules.shared
                else int(to)
                if feature.family is Family.multiway
                else side
            )
            found = Found(
                False,
                f,
                test,
                side,
                float(scores[:, test].max()),
                float(price[test]),
                place=(feature.position, 0, f),
            )
            if (
                best is None
                or found.score > bar_of(best.score, scorer.ties(node))
                or (
                    found.place < best.place
                    and best.score <= bar_of(found.score, scorer.ties(node))
                )
            ):
                best = found
        if best is not None and not best.score < np.inf:
            raise ContractError(
                f"criterion {scorer.criterion.name!r} scored a test with {best.score}; "
                "return a finite score, or −inf to refuse it"
            )
        return best

    def _payable(self, prices: Any, cell: GrowthCell) -> np.ndarray:
        return self._growth.space.payable_prices(np.asarray(prices, float), cell)
