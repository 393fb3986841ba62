"""What is added up over rows: class weights or moments, with row counts beside them."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.errors import DataError
from arboretum.kernels import counting
from arboretum.model.encoded import Encoded
from arboretum.model.table import Task, frozen_array


@attrs.frozen(eq=False)
class Statistics:
    """The additive columns of the training objects.

    label : int32[n], empty for regression.   y : float64[n], the target minus ``shift``; zeros for classification.
    weight : float64[n].   count : int64[n].
    shift : mean of the target.  Moments are taken about it, because Σwy² − (Σwy)²/Σw would lose the digits of a small
        variance around a large mean; criteria see these centred moments, the tree gets the plain ones back.
    unit : every object weighs 1 and stands for one row, so that tables are integers.
    short_label : ``label``, in one byte where the number of classes allows.
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

    @staticmethod
    def of(objects: Encoded) -> Statistics:
        """Read them off the encoded objects; raises DataError when there is none."""
        if objects.n_objects == 0:
            msg = "no object to learn from; does the split leave any training row?"
            raise DataError(msg)
        unit = bool((objects.weight == 1.0).all() and (objects.count == 1).all())
        if objects.task is Task.classification:
            classes = max(objects.n_classes, int(objects.label.max()) + 1)
            short = frozen_array(objects.label.astype(np.uint8)) if classes <= 256 else objects.label
            none = frozen_array(np.zeros(0))
            return Statistics(
                objects.task, objects.label, none, objects.weight, objects.count, classes, 0.0, unit, short
            )
        shift = float(np.average(objects.y, weights=objects.weight))
        none = frozen_array(np.zeros(0, np.int32))
        return Statistics(
            objects.task, none, frozen_array(objects.y - shift), objects.weight, objects.count, 0, shift, unit, none
        )

    @property
    def moments(self) -> bool:
        return self.task is Task.regression

    @property
    def width(self) -> int:
        """Length of a table's last axis."""
        return 3 if self.moments else self.n_classes

    @property
    def count_width(self) -> int:
        return 1 if self.moments else self.n_classes

    def totals(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(float64[width], int64[count_width]): the table of a set of objects as a whole."""
        weights, counts = np.zeros(self.width), np.zeros(self.count_width, np.int64)
        if self.unit and not self.moments:
            counting.class_totals(rows, self.short_label, counts)
            return counts.astype(np.float64), counts
        counting.totals(rows, self.label, self.y, self.weight, self.count, weights, counts)
        return weights, counts

    def is_pure(self, rows: np.ndarray, counts: np.ndarray) -> bool:
        """One class, or one value of the target."""
        if not self.moments:
            return np.count_nonzero(counts) <= 1
        y = self.y[rows]
        return bool(y.min() == y.max())

    def plain_moments(self, weights: np.ndarray) -> np.ndarray:
        """Undo ``shift``: moments about 0 from moments about the mean."""
        if not self.moments:
            return weights
        w, wy, wyy = weights
        return np.array([w, wy + self.shift * w, wyy + 2 * self.shift * wy + self.shift**2 * w])
