"""A row store in a few lines of NumPy: what all others must answer."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from arboretum.interfaces.rows import NodeSplit, NodeTables, NodeTotals
from arboretum.model.encoded import Encoded
from arboretum.rows.values import adds_exactly


@attrs.define(eq=False)
class ReferenceRows:
    """The objects of an encoded table, row by row: slow, and plain.

    node : int64[n], where each object is.
    columns : float64[n, k], what each adds to the criterion's own columns.
    """

    objects: Encoded
    shift: float
    node: np.ndarray
    columns: np.ndarray = attrs.field(factory=lambda: np.zeros((0, 0)))

    @property
    def n_columns(self) -> int:
        """How many columns of the criterion's own there are."""
        return int(self.columns.shape[1])

    @staticmethod
    def of(objects: Encoded, about: float | None = None) -> ReferenceRows:
        """Put all objects into node 0.

        about : what targets are taken less of, None: their mean.
        """
        mean = 0.0
        if objects.is_regression:
            weighted = np.average(objects.y, weights=objects.weight)
            mean = float(weighted) if about is None else about
        return ReferenceRows(objects, mean, np.zeros(objects.n_objects, np.int64))

    @property
    def n_rows(self) -> int:
        """Objects in all."""
        return self.objects.n_objects

    @property
    def total_weight(self) -> float:
        """What they weigh."""
        return float(self.objects.weight.sum())

    @property
    def units(self) -> bool:
        """Whether every object weighs 1."""
        return bool((self.objects.weight == 1.0).all())

    @property
    def exact(self) -> bool:
        """Whether sums of weights are kept as they are."""
        return adds_exactly(self.objects.weight)

    def _adds(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """What a row adds to weights and counts."""
        w = float(self.objects.weight[row])
        if self.objects.is_regression:
            y = float(self.objects.y[row]) - self.shift
            return np.array([w, w * y, w * y * y]), np.ones(1, np.int64)
        own = np.arange(self.objects.n_classes) == self.objects.label[row]
        return w * own, own.astype(np.int64)

    def totals(self, nodes: Sequence[int]) -> NodeTotals:
        """What the rows of these nodes add up to, row by row."""
        width, count_width = (len(part) for part in self._adds(0))
        weights, counts = np.zeros((len(nodes), width)), np.zeros((len(nodes), count_width), int)
        low, high = np.zeros(len(nodes)), np.zeros(len(nodes))
        for k, node in enumerate(nodes):
            rows = np.flatnonzero(self.node == node)
            for row in rows.tolist():
                w, c = self._adds(row)
                weights[k] += w
                counts[k] += c
            if self.objects.is_regression:
                y = self.objects.y[rows] - self.shift
                low[k], high[k] = y.min(initial=np.inf), y.max(initial=-np.inf)
        return NodeTotals(weights, counts, low, high)

    def tables(self, nodes: Sequence[int]) -> NodeTables:
        """Their rows by bin, row by row."""
        features = self.objects.features
        offset = np.cumsum([0, *(f.n_bins + f.has_missing for f in features)])
        width, count_width = (len(part) for part in self._adds(0))
        weights = np.zeros((len(nodes), offset[-1], width))
        counts = np.zeros((len(nodes), offset[-1], count_width), np.int64)
        columns = np.zeros((len(nodes), offset[-1], self.n_columns))
        for k, node in enumerate(nodes):
            for row in np.flatnonzero(self.node == node).tolist():
                w, c = self._adds(row)
                for f in range(len(features)):
                    place = offset[f] + int(self.objects.codes[row, f])
                    weights[k, place] += w
                    counts[k, place] += c
                    columns[k, place] += self.columns[row] if self.n_columns else 0.0
        plain = self.units and self.objects.is_classification
        own = columns if self.n_columns else None
        return NodeTables(counts, None if plain else weights, own)

    def split(self, splits: Sequence[NodeSplit]) -> None:
        """Send the rows of these nodes to the nodes below."""
        before = self.node.copy()
        for one in splits:
            feature = self.objects.features[one.feature]
            rows = np.flatnonzero(before == one.node)
            codes = self.objects.codes[rows, one.feature].astype(np.int64)
            outcome = feature.family.outcome(one.index, codes)
            gone = feature.missing(codes)
            outcome[gone] = one.side
            below = np.array(one.children)[outcome]
            self.node[rows] = np.where(gone & (one.side < 0), one.node, below)
