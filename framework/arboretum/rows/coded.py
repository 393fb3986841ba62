"""Codes of rows, chunk by chunk: a row store whose chunks lie wherever their owner puts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import attrs
import numpy as np

from arboretum.interfaces.rows import NodeSplit, NodeTables, NodeTotals
from arboretum.kernels import coded as families, nodes as kernels
from arboretum.model.encoded import Family, Feature
from arboretum.rows.values import adds_exactly

FAMILY = {
    Family.multiway: families.MULTIWAY,
    Family.thresholds: families.THRESHOLDS,
    Family.equals: families.EQUALS,
}
NONE = np.zeros(0)
NO_LABEL = np.zeros(0, np.int32)


@attrs.frozen(eq=False)
class Chunk:
    """Some rows next to each other.

    codes : uint8 or uint16[features, n].
    node : int32[n], the node that each row is in; written.
    label : uint8 or int32[n], none for regression.
    y : float64[n], the target less the shift; none for classification.
    weight : float64[n]; none where every row weighs 1.
    columns : float64[n, k], what rows add to the criterion's own columns; none without any.
    """

    codes: np.ndarray
    node: np.ndarray
    label: np.ndarray = NO_LABEL
    y: np.ndarray = NONE
    weight: np.ndarray = NONE
    columns: np.ndarray = NONE


@attrs.frozen(eq=False)
class Slots:
    """Nodes that are asked about, numbered.

    first : the lowest of them.
    slot : int32[nodes], by number − first: position among those asked about, −1 for others.
    """

    first: int
    slot: np.ndarray
    n: int

    @staticmethod
    def of(nodes: Sequence[int], last: int) -> Slots:
        """Number them.   nodes : ascending.   last : highest number of any node."""
        first = int(nodes[0]) if len(nodes) else last + 1
        slot = np.full(last - first + 1, -1, np.int32)
        slot[np.asarray(nodes, np.int64) - first] = np.arange(len(nodes))
        return Slots(first, slot, len(nodes))


@attrs.define(eq=False, slots=False)
class CodedRows:
    """A row store over chunks of codes; with several of them, each somewhere else, answers of the
    same nodes are added up (``add``).

    features : one per row of a chunk's codes.
    n_classes : 0 for regression.
    n_columns : of the criterion's own.
    chunks : gives the chunks in the order of rows, the same at every call; what is written to
        ``node`` is there at the next.
    """

    features: tuple[Feature, ...]
    n_classes: int
    n_rows: int
    total_weight: float
    units: bool
    exact: bool
    shift: float
    chunks: Callable[[], Iterator[Chunk]]
    last: int = 0
    n_columns: int = 0

    @cached_property
    def offset(self) -> np.ndarray:
        """int64[features + 1]: the first bin of each feature, that of missing values its last."""
        return np.cumsum([0, *(f.n_bins + f.has_missing for f in self.features)])

    @property
    def _width(self) -> int:
        return self.n_classes or 3

    @property
    def _count_width(self) -> int:
        return self.n_classes or 1

    def totals(self, nodes: Sequence[int], before: NodeTotals | None = None) -> NodeTotals:
        """What the rows of these nodes add up to.

        before : of the rows before these, which is gone on from: the sums are those of all, in
            the order of rows.
        """
        slots, k = Slots.of(nodes, self.last), len(nodes)
        weights, counts = np.zeros((k, self._width)), np.zeros((k, self._count_width), np.int64)
        ends = (
            (np.zeros(k), np.zeros(k))
            if self.n_classes
            else (
                np.full(k, np.inf),
                np.full(k, -np.inf),
            )
        )
        if before is not None:
            weights, counts = before.weights.copy(), before.counts.copy()
            ends = before.low.copy(), before.high.copy()
        for chunk in self.chunks():
            kernels.add_totals(
                chunk.node,
                slots.first,
                slots.slot,
                chunk.label,
                chunk.y,
                chunk.weight,
                weights,
                counts,
                *ends,
            )
        return NodeTotals(weights, counts, *ends)

    def tables(
        self, nodes: Sequence[int], units: bool = True, before: NodeTables | None = None
    ) -> NodeTables:
        """Their rows by bin.

        units : every row of all chunks, here and elsewhere, weighs 1.   before : as of ``totals``.
        """
        slots, bins = Slots.of(nodes, self.last), int(self.offset[-1])
        unit = units and self.units and self.n_classes > 0
        shape = (slots.n, bins, self._count_width)
        counts = np.zeros(shape, np.int32 if unit else np.int64)
        weights = None if unit else np.zeros((slots.n, bins, self._width))
        columns = np.zeros((slots.n, bins, self.n_columns)) if self.n_columns else None
        if before is not None:
            counts = before.counts.copy()
            weights = None if before.weights is None else before.weights.copy()
            columns = None if before.columns is None else before.columns.copy()
        start = np.empty(slots.n + 1, np.int64)
        which, place = np.empty((2, 0), np.int32)
        for chunk in self.chunks():
            n = len(chunk.node)
            if len(which) < n:
                which, place = np.empty((2, n), np.int32)
            m = kernels.pick_rows(chunk.node, slots.first, slots.slot, start, which, place)
            picked = (chunk.codes, self.offset, which[:m], place[:m])
            if weights is None:
                kernels.count_nodes(*picked, chunk.label, counts)
            else:
                label = chunk.label.astype(np.int32, copy=False)
                weight = chunk.weight if len(chunk.weight) else np.ones(n)
                kernels.weigh_nodes(*picked, label, chunk.y, weight, weights, counts)
            if columns is not None:
                kernels.add_columns(*picked, chunk.columns, columns)
        return NodeTables(counts, weights, columns)

    def split(self, splits: Sequence[NodeSplit]) -> None:
        """Send the rows of these nodes to the nodes below."""
        if not splits:
            return
        first, children = splits[0].node, [child for one in splits for child in one.children]
        tests = np.full((self.last - first + 1, 6), -1, np.int64)
        begin = 0
        for one in splits:
            feature = self.features[one.feature]
            tests[one.node - first] = (
                one.feature,
                FAMILY[feature.family],
                one.index,
                feature.n_bins,
                one.side,
                begin,
            )
            begin += len(one.children)
        below = np.array(children, np.int32)
        for chunk in self.chunks():
            kernels.send_rows(chunk.codes, chunk.node, first, tests, below)
        self.last = max(self.last, *children)


def rows_of_arrays(
    features: tuple[Feature, ...],
    n_classes: int,
    codes: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    shift: float,
    chunk: int = 1 << 16,
    columns: np.ndarray = NONE,
) -> CodedRows:
    """A row store of arrays in memory.

    codes : uint8 or uint16[features, n].
    target : integers[n], classes; float64[n], numbers, ``shift`` not yet taken off.
    weight : float64[n].
    columns : float64[n, k], what rows add to the criterion's own columns; none without any.
    """
    n, n_columns = len(target), columns.shape[1] if columns.ndim > 1 else 0
    node = np.zeros(n, np.int32)
    units = bool((weight == 1.0).all())
    label = target.astype(np.uint8 if n_classes <= 256 else np.int32) if n_classes else NO_LABEL
    y = NONE if n_classes else target - shift

    def chunks() -> Iterator[Chunk]:
        for a in range(0, n, chunk):
            part = slice(a, a + chunk)
            yield Chunk(
                np.ascontiguousarray(codes[:, part]),
                node[part],
                label[part],
                y[part],
                NONE if units else weight[part],
                columns[part],
            )

    return CodedRows(
        features,
        n_classes,
        n,
        float(weight.sum()),
        units,
        adds_exactly(weight),
        shift,
        chunks,
        n_columns=n_columns,
    )
