"""Contract between the search loop and its engines.

The objects of a node are one segment of a permutation that all engines know; an engine answers for
one kind of test: those of *coded* features (histograms), of *raw* ones (exact thresholds), or
*made* at the node by the run's predicates. The first two may be active in one run; their candidates
compete.  The last is alone, or stands in for the first: predicates say which tests there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np

from arboretum.model.encoded import Feature, Node, Prices, RawFeature, Tables
from arboretum.model.rules import TestRule

if TYPE_CHECKING:
    from arboretum.engine.search.compiled_criterion import CompiledCriterion


@attrs.define(eq=False)
class Cell:
    """An open node of the growing tree.

    low, high : its objects are ``rows[low:high]`` of the permutation.
    asked : raw columns asked on the path.
    path_cost : of the tests on the path, for the rows here.
    used : positions in ``prices.tests`` of the fixed tests asked on the path.
    wanted : its tests will be scored (it is not a leaf at once).
    memo : what engines keep for the node.
    node : its number in a row store, where the rows of the growth lie in one.
    bounds : least and most that may be predicted here, where predictions are held monotone.
    """

    low: int
    high: int
    depth: int
    wanted: bool = True
    asked: frozenset[str] = frozenset()
    path_cost: float = 0.0
    used: tuple[int, ...] = ()
    memo: dict[object, Any] = attrs.field(factory=dict)
    node: int = 0
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def size(self) -> int:
        """Number of objects in the node."""
        return self.high - self.low


@attrs.define(eq=False, kw_only=True)
class Part(Cell):
    """A node that holds fractions of objects.

    who : int64[k], its objects.
    share : float64[k], how much of each.
    """

    who: np.ndarray
    share: np.ndarray

    @property
    def size(self) -> int:
        """Number of objects in the node, each counted by its share, rounded."""
        return round(float(self.share.sum()))


@attrs.frozen(eq=False)
class Candidate:
    """A test that competes at a node.

    feature : index among the engine's features.
    index : of the test within the feature; for raw features the position of the cut in the sorted
        node.
    side : the outcome that missing rows follow, NO_SIDE without any.
    place : (feature position in the raw table, 0 coded | 1 raw, feature, index): ties go to the
        lowest.
    """

    engine: Engine
    feature: int
    index: int
    side: int
    price: float
    score: float
    place: tuple[int, int, int, int]


@attrs.frozen(eq=False)
class Block:
    """Some candidates of a node with their tables; entry i of each array belongs to table i."""

    engine: Engine
    tables: Tables
    feature: np.ndarray
    index: np.ndarray
    side: np.ndarray

    def candidate(self, i: int, score: float) -> Candidate:
        """Return the candidate of table i, with this score."""
        feature, index = int(self.feature[i]), int(self.index[i])
        place = (self.engine.position(feature), self.engine.rank, feature, index)
        return Candidate(
            engine=self.engine,
            feature=feature,
            index=index,
            side=int(self.side[i]),
            price=float(self.tables.price[i]),
            score=score,
            place=place,
        )


class Engine(Protocol):
    """One way of finding tests, by default of features with a raw column each.

    Call sequence for a node: ``best`` or ``blocks`` → (a test is chosen) → ``outcomes`` → the loop
    divides the permutation → ``split_node``.
    """

    rank: int
    _features: Sequence[Feature | RawFeature] = ()

    def best(self, cell: Cell, node: Node, scorer: CompiledCriterion) -> Candidate | None:
        """The best admissible candidate by a criterion in kernel form; None if there is none.
        The caller checks its score for NaN.
        """

    def blocks(self, cell: Cell, scorer: CompiledCriterion, first: int) -> Iterator[Block]:
        """All candidates with their tables, in blocks of bounded size; ``tables.test`` counts
        from ``first``.
        """

    def rule(self, cell: Cell, candidate: Candidate) -> TestRule:
        """The test on the raw column."""

    def columns(self, cell: Cell, candidate: Candidate) -> frozenset[str]:
        """Names of the raw columns that the test reads."""
        return frozenset([self._features[candidate.feature].column])

    def position(self, feature: int) -> int:
        """Its position in the raw table; −1 for a test that is made at the node, where no others
        compete.
        """
        return self._features[feature].position

    def arity(self, cell: Cell, candidate: Candidate) -> int:
        """Number of outcomes of the test."""

    def outcomes(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        """int32[cell.size]: the outcome of each object of the node, in the order of the
        permutation.
        """

    def split_node(self, cell: Cell, children: list[Cell], start: np.ndarray) -> None:
        """Hand on to the children what the engine keeps; the permutation has been divided already.

        start : int64[arity + 1], first position of each outcome relative to ``cell.low``, and the
            node's size.

        ``children`` holds all children that have objects.
        """

    def close(self, cell: Cell) -> None:
        """Forget what is kept for a node, such as a leaf."""
        cell.memo.pop(self, None)

    def test_number(self, feature: int, index: int) -> int:
        """Position of a fixed test in ``prices.tests``; −1 for one that is found at the node."""
        return -1


def branch_prices(cell: Cell, candidate: Candidate, prices: Prices) -> list[float]:
    """Return what each outcome of a test costs by the list of its node; the test's price where that
    is 0 (it is free there).
    """
    engine, feature, price = candidate.engine, candidate.feature, candidate.price
    arity = engine.arity(cell, candidate)
    if prices.outcomes is None or price == 0.0:
        return [price] * arity
    number = engine.test_number(feature, candidate.index)
    own = prices.of(number if number >= 0 else len(prices.tests) + feature)
    return list(own) if len(own) == arity else [price] * arity
