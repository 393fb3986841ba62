"""What is added up over rows: class weights or moments, with row counts beside them."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np

from arboretum.errors import DataError
from arboretum.interfaces.rows import RowStore
from arboretum.kernels import counting
from arboretum.kernels.tables import Least, Objects
from arboretum.model.encoded import Encoded
from arboretum.model.table import Task, frozen_array
from arboretum.rows.values import adds_exactly

NO_ROWS = np.zeros(0, np.int64)  # in place of rows per object where ``count`` holds them


@attrs.frozen(eq=False)
class Statistics:
    """The additive columns of the training objects.

    label : int32[n], empty for regression.
    y : float64[n], the target minus ``shift``; zeros for classification.
    weight : float64[n].
    count : int64[n], rows that each object stands for, or 1 where objects are counted.
    shift : mean of the target.  Moments are taken about it, because Σwy² − (Σwy)²/Σw would lose the
        digits of a small variance around a large mean; criteria see these centred moments, the tree
        gets the plain ones back.
    unit : every object weighs 1 and counts once, so that tables are integers.
    short_label : ``label``, in one byte where the number of classes allows.
    n_rows : int64[n], rows that each object stands for, where ``count`` is something else; empty
        where it is that.
    exact : class weights add up without rounding, in whatever order.
    """

    task: Task
    label: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    n_classes: int
    shift: float
    unit: bool
    short_label: np.ndarray
    n_rows: np.ndarray = NO_ROWS
    exact: bool = False

    @staticmethod
    def of(objects: Encoded, criterion: object = None, impurity: object = None) -> Statistics:
        """Read them off the encoded objects; raises DataError when there is none.

        criterion : with ``counts_objects``, tables count objects, not the rows these stand for.
        impurity : numbers are taken less its ``about``; None, or without one: less their mean.
        """
        if objects.n_objects == 0:
            raise DataError("no object to learn from; does the split leave any training row?")
        count, n_rows = objects.count, NO_ROWS
        if getattr(criterion, "counts_objects", False) and (count != 1).any():
            count, n_rows = frozen_array(np.ones(len(count), np.int64)), objects.count
        unit = bool((objects.weight == 1.0).all() and (count == 1).all())
        n_classes, shift, y = 0, 0.0, frozen_array(np.zeros(0))
        label = short = frozen_array(np.zeros(0, np.int32))
        if objects.is_classification:
            label = short = objects.label
            n_classes = max(objects.n_classes, int(label.max()) + 1)
            if n_classes <= 256:
                short = frozen_array(label.astype(np.uint8))
        else:
            about = getattr(impurity, "about", None)
            shift = float(np.average(objects.y, weights=objects.weight)) if about is None else about
            y = frozen_array(objects.y - shift)
        return Statistics(
            task=objects.task,
            label=label,
            y=y,
            weight=objects.weight,
            count=count,
            n_classes=n_classes,
            shift=shift,
            unit=unit,
            short_label=short,
            n_rows=n_rows,
            exact=objects.is_classification and (unit or adds_exactly(objects.weight)),
        )

    @staticmethod
    def of_store(store: RowStore, objects: Encoded) -> Statistics:
        """Of rows that lie in a store: no object is here.

        objects : some of the same kind, as :class:`~arboretum.interfaces.rows.Opened` has them.
        """
        return attrs.evolve(
            Statistics.without_rows(objects.task, objects.n_classes),
            shift=store.shift,
            unit=store.units,
            exact=objects.is_classification and store.exact,
        )

    @staticmethod
    def without_rows(task: Task, n_classes: int) -> Statistics:
        """Of rows that are counted elsewhere; moments of numbers are taken about 0.

        n_classes : 0 for regression.
        """
        none, no_rows = frozen_array(np.zeros(0)), frozen_array(NO_ROWS)
        label = frozen_array(np.zeros(0, np.int32))
        return Statistics(task, label, none, none, no_rows, n_classes, 0.0, False, label)

    @property
    def moments(self) -> bool:
        """Whether tables hold moments of a number (Σw, Σwy, Σwy²), not weights of classes."""
        return self.task is Task.regression

    @property
    def objects(self) -> Objects:
        """The columns as kernels take them, labels in their short form."""
        return Objects(self.short_label, self.y, self.weight, self.count, self.unit)

    @property
    def width(self) -> int:
        """Length of a table's last axis."""
        return 3 if self.moments else self.n_classes

    @property
    def count_width(self) -> int:
        """Length of the last axis of a table's counts: number of classes, 1 for moments."""
        return 1 if self.moments else self.n_classes

    @cached_property
    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """float64[n, width] and int64[n, count_width]: what each object adds to tables."""
        if self.moments:
            # in the order in which kernels multiply: sums are the same to the last bit
            weighted = self.weight * self.y
            moments = np.stack([self.weight, weighted, weighted * self.y], axis=1)
            return moments, self.count[:, None]
        own = np.arange(self.n_classes) == self.label[:, None]
        return self.weight[:, None] * own, self.count[:, None] * own

    def empty_tables(self, bins: int) -> tuple[np.ndarray, np.ndarray]:
        """Return float64[bins, width] weights and int64[bins, count_width] counts, zeros."""
        return np.zeros((bins, self.width)), np.zeros((bins, self.count_width), np.int64)

    def mass(self, weights: np.ndarray) -> np.ndarray:
        """Weight of each row of tables."""
        return weights[..., 0] if self.moments else weights.sum(axis=-1)

    def are_allowed(self, weights: np.ndarray, counts: np.ndarray, least: Least) -> np.ndarray:
        """Return bool[tests]: whether every outcome that has rows has enough of them, and weighs
        enough.

        weights : float64[tests, outcomes, width].
        counts : int64[tests, outcomes, count_width].
        """
        rows, mass = counts.sum(axis=-1), self.mass(weights)
        enough = (rows == 0) | (rows >= least.rows) & (mass >= least.weight)
        allowed: np.ndarray = enough.all(axis=-1)
        return allowed

    def totals(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (float64[width], int64[count_width]): the table of a set of objects as a whole.

        rows : int32[k], the objects.
        """
        weights, counts = np.zeros(self.width), np.zeros(self.count_width, np.int64)
        if self.unit and not self.moments:
            counting.class_totals(rows, self.short_label, counts)
            return counts.astype(np.float64), counts
        counting.totals(
            rows, self.label, self.y, self.weight, self.count, weights[None], counts[None]
        )
        return weights, counts

    def count_rows(self, rows: np.ndarray, counts: np.ndarray) -> int:
        """Return how many training rows a set of objects stands for.

        counts : of :meth:`totals`.
        """
        return int(self.n_rows[rows].sum()) if len(self.n_rows) else int(counts.sum())

    def is_pure(self, rows: np.ndarray, counts: np.ndarray) -> bool:
        """Return whether objects are of one class, or have one value of the target.

        rows : int[k], the objects.
        counts : int64 or float64[count_width], by class.
        """
        if not self.moments:
            return bool(np.count_nonzero(counts) <= 1)
        y = self.y[rows]
        return bool(y.min() == y.max())

    def undo_shift(self, weights: np.ndarray) -> np.ndarray:
        """Return moments about 0 from moments about the mean; class weights as they are.

        weights : float64[nodes, width].
        """
        if not self.moments:
            return weights
        w, wy, wyy = weights.T
        # Σwy² of values near 0 is what is left of larger sums: a square below 0 is their rounding
        squares = np.maximum(wyy + 2 * self.shift * wy + self.shift**2 * w, 0.0)
        return np.stack([w, wy + self.shift * w, squares], axis=1)
