"""Tables that were counted elsewhere, scored by any criterion and impurity that need no more."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.engine.search.choose import finalise_blocks
from arboretum.engine.search.compiled_criterion import CompiledCriterion, component_name
from arboretum.engine.search.statistics import Statistics
from arboretum.errors import CapabilityError, ContractError
from arboretum.interfaces.criterion import Criterion
from arboretum.interfaces.impurity import Impurity
from arboretum.kernels.tables import equal_from
from arboretum.model.encoded import Node, Tables
from arboretum.model.table import Task

NO_ROWS = np.zeros(0, np.int64)


@attrs.frozen
class _Block:
    """Tables, as criteria that look at all scores of a node are handed them."""

    tables: Tables


@attrs.frozen(eq=False)
class TableScorer:
    """What growth asks of a node's tables: scores, and which of them wins.

    Tables of one node are float64[tests, outcomes, classes] weights and int64 counts of the same
    shape; of a number the weights hold (Σw, Σwy, Σwy²) on the last axis, and counts one number.
    Rows without a value must be in one of the outcomes, or in no table.
    """

    compiled: CompiledCriterion
    statistics: Statistics

    @staticmethod
    def of(
        criterion: Criterion,
        impurity: Impurity | None,
        task: Task,
        n_classes: int = 0,
        seed: int = 0,
    ) -> TableScorer:
        """Prepare criterion and impurity, as growth does.

        n_classes : 0 where the target is a number.   seed : of a criterion that draws.
        Raises CapabilityError, naming the part, where it needs more than tables.
        """
        statistics = Statistics.without_rows(task, n_classes)
        compiled = CompiledCriterion.of(criterion, impurity, statistics, seed)
        if compiled.has_columns:
            raise CapabilityError(
                f"criterion {component_name(criterion)!r} adds up columns of its own, object by "
                "object, which no table of weights holds; choose another"
            )
        if hasattr(impurity, "of_values") or compiled.prefix:
            raise CapabilityError(
                f"impurity {component_name(impurity)!r} looks at the values of a node, not at "
                "their sums; choose another"
            )
        return TableScorer(compiled, statistics)

    def node(
        self, weights: np.ndarray, counts: np.ndarray, *, total_mass: float, depth: int = 0
    ) -> Node:
        """Return a node.

        weights, counts : float64[width], int64[count width], of the node as a whole.
        total_mass : weight of the root.   depth : number of tests above.
        """
        weights, counts = np.asarray(weights, np.float64), np.asarray(counts, np.int64)
        mass, rows = float(self.statistics.mass(weights)), int(counts.sum())
        impurity = self.compiled.node_impurity(weights, self.statistics, NO_ROWS)
        return Node(weights, counts, mass, total_mass, impurity, depth, n_rows=rows, n_objects=rows)

    def score(
        self,
        node: Node,
        weights: np.ndarray,
        counts: np.ndarray,
        price: np.ndarray | None = None,
        *,
        column: np.ndarray | None = None,
        levels: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return float64[tests], the scores of all tests that compete at a node; more is better,
        −∞ refuses a test.

        weights, counts : as of the class.   price : float64[tests]; None: 1 each.
        column, levels : as of :class:`~arboretum.model.encoded.Tables`, for criteria that read them
            (C4.5's).
        Raises ContractError for tables of another form, and for a score that is NaN or +∞.
        """
        weights = np.ascontiguousarray(weights, np.float64)
        counts = np.ascontiguousarray(counts, np.int64)
        stats, n = self.statistics, len(weights)
        if weights.shape[2:] != (stats.width,) or counts.shape != (
            *weights.shape[:2],
            stats.count_width,
        ):
            raise ContractError(
                f"tables must be weights[tests, outcomes, {stats.width}] and counts[tests, "
                f"outcomes, {stats.count_width}]; got {list(weights.shape)} and "
                f"{list(counts.shape)}"
            )
        prices = np.ones(n) if price is None else np.ascontiguousarray(price, np.float64)
        none, numbers = np.zeros((*weights.shape[:2], 0)), np.arange(n)
        tables = self.compiled.tables(weights, counts, prices, none, numbers)
        tables = attrs.evolve(tables, column=column, levels=levels)
        by_kernel = not self.compiled.listing
        score = self.compiled.score_by_kernel if by_kernel else self.compiled.score
        scores = score(tables, node)
        if n and hasattr(self.compiled.criterion, "finalise_scores"):
            ((_, scores),) = finalise_blocks([(_Block(tables), scores)], node, self.compiled)
        if not (scores < np.inf).all():
            name = component_name(self.compiled.criterion)
            which = int((~(scores < np.inf)).argmax())
            raise ContractError(
                f"criterion {name!r} scored table {which} with {scores[which]}; return a finite "
                "score, or −inf to refuse a test"
            )
        return scores

    def best(self, node: Node, scores: np.ndarray) -> int | None:
        """Return the first test whose score equals the best, by the tolerance of growth; None where
        all are refused, or there is none.
        """
        if not len(scores) or scores.max() == -np.inf:
            return None
        return int(np.argmax(scores >= equal_from(scores.max(), self.compiled.ties(node))))
