"""The exact engine without sorting: bins say where the best threshold can be, only those are
searched.

Same thresholds, scores and ties as the presorted engine, to which nodes are left of which bins say
too little; serves criteria that declare ``bounded_by_vertices``.
"""

from functools import cached_property, lru_cache

import numpy as np

from arboretum.engine.search.compiled_criterion import CompiledCriterion
from arboretum.engine.search.contract import Candidate, Cell
from arboretum.engine.search.histograms import Histograms
from arboretum.engine.search.raw import PresortedEngine, RawColumns, as_integers
from arboretum.engine.search.workspace import Workspace
from arboretum.kernels import binning, bounded
from arboretum.model.encoded import Node
from arboretum.model.rules import midpoints

SAMPLE = 8192  # values per column that the edges of the bins are taken from
# with more classes nearly every bin has too many vertices, and sorting once is cheaper
MOST_CLASSES = 6

MANY_COLUMNS, FEW_ROWS = 4096, 1024
"""A column's bins take 20 kB, its sorted rows 12 bytes each; in tables of few columns that does
not matter.
"""

CROWD = 1 / 3
"""Share of the rows, over all columns, in bins that bounds do not rule out from which whole columns
are sorted, once for all nodes below.  Sorting and scoring a row takes 30 ns in its column, a row
more in the bins of a node 45 ns, at every node below anew.
"""


class BoundedEngine(RawColumns):
    """Exact thresholds on raw columns for concave criteria.

    The ``index`` of a candidate is its bin; the threshold is kept with the node.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        raw = workspace.objects.raw
        n, width = raw.shape
        edges = bin_edges(raw)
        self._codes = np.empty((n, width), np.uint8)
        single = np.ones((width, 256), np.bool_)
        flat, down, across = self._flat
        binning.assign_bins(flat, n, down, across, edges, self._codes.reshape(-1), single)
        self._codes.flags.writeable = False
        self._raw = bounded.Raw(self._codes, flat, as_integers(flat), down, across, edges, ~single)
        where = (self._codes.reshape(-1), width, 1, np.arange(width), np.arange(width + 1) * 256)
        self._histograms = Histograms(workspace, where)

    @cached_property
    def _presorted_engine(self) -> PresortedEngine:
        """The engine of nodes where too many bins may hold the best cut, and of those below."""
        return PresortedEngine(self._space)

    def best(self, cell: Cell, node: Node, scorer: CompiledCriterion) -> Candidate | None:
        """Return the best cut of a node over all raw columns; None where no cut is admissible.

        Where too many bins may hold it, the columns are sorted here, and for all nodes below.
        """
        if cell.memo.get("sorted"):
            return self._presorted_engine.best(cell, node, scorer)
        space, stats, price = self._space, self._space.statistics, self._prices_at(cell)
        weights, counts = self._histograms.tables(cell)
        rows, raw = space.rows[cell.low : cell.high], self._raw
        dropped = np.zeros(raw.many.shape, np.bool_)
        rules = bounded.BoundedRules(space.least, self._gap, CROWD)
        while True:
            f, found = bounded.best_bounded(
                weights, counts, raw, rows, stats.objects, dropped, price, rules, scorer.at(node)
            )
            if f == bounded.CROWDED:
                return self._presorted_engine.best(cell, node, scorer)
            if f < 0:
                return None
            low, high = (
                (found.low, found.high)
                if found.low == found.low
                else bounded.edge_values(raw, rows, f, found.bin)
            )
            dtype = raw.values.dtype.type
            threshold = float(midpoints(np.array([[low, high]], dtype))[0])
            if found.bin == binning.LAST_BIN and np.isnan(found.low):  # known against missing
                threshold = np.inf
                break
            if np.isnan(found.score) or dtype(high) > dtype(low) + self._gap:
                break
            # neighbours on both sides of the bin's edge are too close to be separated here
            dropped[f, found.bin] = True
        place = (self.position(f), self.rank, f, found.bin)
        cell.memo[self] = threshold
        return Candidate(
            engine=self,
            feature=f,
            index=found.bin,
            side=found.side,
            price=float(price[f]),
            score=found.score,
            place=place,
        )

    def _threshold(self, cell: Cell, feature: int, index: int) -> float:
        return float(cell.memo[self])

    def split_node(self, cell: Cell, children: list[Cell], start: np.ndarray) -> None:
        """Hand the node's bins on to its children, or its sorted columns where it has such.

        start : as in :meth:`~arboretum.engine.search.contract.Engine.split_node`.
        """
        if cell.memo.get("sorted"):
            self.close(cell)
            self._presorted_engine.split_node(cell, children, start)
        else:
            self._histograms.split_node(cell, children)

    def close(self, cell: Cell) -> None:
        """Forget the node's bins."""
        self._histograms.drop(cell)


def bin_edges(raw: np.ndarray) -> np.ndarray:
    """Choose float[columns, 256]: up to 254 ascending edges per column, values of the column
    itself, padded with inf.

    Quantiles of an evenly spaced sample, finer towards both ends: there a few objects move the
    shares most, so that wide bins would have loose bounds.  The edges decide the speed, never the
    result.

    raw : float[objects, columns].
    """
    step = max(1, len(raw) // SAMPLE)
    edges = np.full((raw.shape[1], 256), np.inf, raw.dtype)
    some = np.sort(raw[::step].T, axis=1)  # NaN last
    for f, values in enumerate(some):
        distinct = values = values[: np.searchsorted(values, np.inf, side="left")]
        if np.count_nonzero(values[1:] > values[:-1]) >= binning.LAST_BIN:
            distinct = values[_quantile_positions(len(values))]
        first = np.append(distinct[:1] < np.inf, distinct[1:] > distinct[:-1])
        edges[f, : np.count_nonzero(first)] = distinct[first]
    return edges


@lru_cache(maxsize=16)
def _quantile_positions(n: int) -> np.ndarray:
    """Return int64[≤ 254]: positions among n sorted values, doubling their distance from both ends
    up to even spacing.
    """
    tail = [2**k - 1 for k in range(30) if 2 ** (k + 1) < n / 240]
    middle = np.linspace(
        tail[-1] if tail else 0, n - 1 - (tail[-1] if tail else 0), binning.LAST_BIN - 2 * len(tail)
    )
    return np.unique(np.concatenate([tail, middle, n - 1 - np.array(tail, int)]).astype(np.int64))
