"""Growth of oblivious trees: level by level, one test for all nodes of a level."""

import attrs
import numpy as np

from arboretum.api import Candidate, Growth, GrowthCell, TestRule, midpoints
from arboretum_classic.oblivious.level_kernels import Level, Objects
from arboretum_classic.oblivious.levels import Found, ObliviousSearch, refuse_parts, score_of_table


class LevelTest:
    """The test of a level, as an engine that the loop asks at each of its nodes."""

    rank = 0

    def __init__(self, search: ObliviousSearch, growth: Growth, found: Found) -> None:
        """Bind what the search has found to the rows of a growth.

        search : whose columns are read; found : the best test of a level.
        """
        objects, f = growth.problem.objects, found.feature
        self._objects, self._rows, self.found = objects, growth.space.rows, found
        self._feature = (objects.raw_features if found.raw else objects.features)[f]
        if found.raw:
            values = search.columns.values[f]
            threshold = float(midpoints(values[None, found.index : found.index + 2])[0])
            self.test: TestRule = self._feature.rule(threshold)
            above = search.values[f] > np.float64(threshold)
            self._goes = np.where(np.isnan(search.values[f]), found.side, above).astype(np.int32)
        else:
            code = objects.codes[:, f].astype(np.int64)
            self.test = self._feature.rule(found.index)
            goes = self._feature.family.outcome(found.index, code)
            self._goes = np.where(self._feature.missing(code), found.side, goes).astype(np.int32)
        # no row of the level lacks the value: later ones follow the heaviest outcome
        if found.side < 0:
            heavy = np.bincount(self._goes, growth.space.statistics.weight, self.test.arity)
            self.found = attrs.evolve(found, side=int(heavy.argmax()))

    def rule(self, cell: GrowthCell, candidate: Candidate) -> TestRule:
        """Return the test of the level, whichever node asks."""
        return self.test

    def columns(self, cell: GrowthCell, candidate: Candidate) -> frozenset[str]:
        """Return the name of the one raw column that the test of the level reads."""
        return frozenset([self._feature.column])

    def arity(self, cell: GrowthCell, candidate: Candidate) -> int:
        """Return the number of outcomes of the test of the level."""
        return self.test.arity

    def test_number(self, feature: int, index: int) -> int:
        """Return −1: the price is the candidate's own, not looked up in ``prices.tests``."""
        return -1

    def outcomes(self, cell: GrowthCell, candidate: Candidate) -> np.ndarray:
        """Return int32[cell.size]: outcome of each object of the node, in the order of the
        permutation.

        An object without a value has the outcome ``found.side``.
        """
        return self._goes[self._rows[cell.low : cell.high]]


class ObliviousGrowth(Growth):
    """Grows an oblivious tree.   levels : (test, score) of each."""

    engines = ()
    levels: list

    def run(self, most: int, adds_up: bool):
        """Grow at most ``most`` levels; return the root.

        adds_up : scores are summed as they are, else weighted by mass.
        """
        refuse_parts(self, "oblivious")
        stats = self.space.statistics
        search = ObliviousSearch(self, False, float(max(1, self.limits.min_leaf)))
        objects = Objects(stats.y, stats.weight, stats.count.astype(float))
        first = self.evaluate(self.root())
        nodes, self.levels = [first], []
        while (
            len(self.levels) < most and any(item.cell.wanted for item in nodes) and not self.late()
        ):
            self.report()
            mixed = max(
                (item for item in nodes if item.cell.wanted), key=lambda item: item.node.impurity
            )
            found = search.best(
                self._level(nodes, adds_up), objects, search.columns, mixed.cell, mixed.node
            )
            least = self.limits.min_decrease
            if found is None or (
                least is not None and not found.score > least + self.scorer.tie_floor(mixed.node)
            ):
                break
            test = LevelTest(search, self, found)
            if (
                self.limits.max_leaves is not None
                and self._parts(test, nodes) > self.limits.max_leaves
            ):
                self.refused += 1
                break
            self.levels.append((test.test, found.score))
            nodes = [child for item in nodes for child in self._split(item, test, adds_up)]
        return first.grown

    def _parts(self, test: LevelTest, nodes: list) -> int:
        return sum(len(np.unique(test.outcomes(item.cell, None))) for item in nodes)

    def _split(self, item, test: LevelTest, adds_up: bool) -> list:
        """Return the children of a node that have objects, by the test of its level.

        adds_up : scores are summed as they are; then the node's own score is told.
        """
        found = test.found
        item.candidate = Candidate(
            test, found.feature, found.index, found.side, found.price, np.nan, place=found.place
        )
        below = self.split_node(item)
        if adds_up:
            arity, node = test.test.arity, item.node
            weights = np.zeros((arity, len(node.weights)))
            counts = np.zeros((arity, len(node.counts)), np.int64)
            born = iter(below)
            for outcome in [o for o, child in enumerate(item.grown.children) if child is not None]:
                child = next(born).node
                weights[outcome], counts[outcome] = child.weights, child.counts
            item.grown.score = score_of_table(self.scorer, weights, counts, found.price, node)
        return below

    def _level(self, nodes: list, adds_up: bool) -> Level:
        """Return the rows of all ``nodes`` of a level, as kernels read them.

        adds_up : scores are summed as they are, else weighted by mass.
        """
        stats, rows = self.space.statistics, self.space.rows.astype(np.int64)
        first = np.array([item.cell.low for item in nodes] + [len(rows)])
        weights = np.array([item.node.weights for item in nodes], float)
        counts = np.array([item.node.counts for item in nodes], float).reshape(len(nodes), -1)
        place = np.empty(len(rows), np.int32)
        place[rows] = np.repeat(np.arange(len(nodes)) * weights.shape[1], np.diff(first))
        if not stats.moments:
            place += stats.label
        mass = np.array([item.node.mass for item in nodes])
        factor = np.ones(len(nodes)) if adds_up else mass / self.total_mass
        impurity, wanted = (
            np.array([what(item) for item in nodes])
            for what in (lambda i: i.node.impurity, lambda i: i.cell.wanted)
        )
        return Level(
            place,
            self.space.rows,
            first,
            weights,
            counts,
            mass,
            impurity=impurity,
            factor=factor,
            open=wanted,
            depth=nodes[0].node.depth,
            total=self.total_mass,
        )
