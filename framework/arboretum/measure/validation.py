"""How good is a tree on validation rows?  The one number by which pruners and tuners choose.

Classes: the area under the ROC curve, by the rule of :func:`arboretum.measure.metrics.roc_auc` (two classes: of the second
against the first; more: the mean over the classes shown of each against the rest).  Rows that show a single class have no
such area; accuracy takes its place, and a note says so.  Numbers: the coefficient of determination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np

from arboretum.errors import DataError
from arboretum.measure import metrics
from arboretum.model.table import Table, Task
from arboretum.model.tree import Tree
from arboretum.model.walk import Places


def roc_auc(scores: Tree | np.ndarray, table: Table, places: Places | None = None) -> float:
    """Area under the ROC curve on the rows of a table, macro one-vs-rest for more than two classes; NaN if not defined.

    scores : a tree, or its probabilities, float64[n_rows, n_classes].   table : its classes begin with those of the scores.
    places : from :meth:`Tree.places`, where they are known.   Rows count by weight.  Raises DataError for a regression target, or rows without a known class.
    """
    if table.task is Task.regression or (table.target.codes < 0).any():
        raise DataError(f"the area under the ROC curve needs a class for every row; the target {table.target.name!r} gives none")
    if isinstance(scores, Tree):
        return _Cuts.of(scores, table, places).roc_auc(())
    return metrics.roc_auc(table.target.codes, np.asarray(scores, np.float64), table.row_weights())


@attrs.frozen(eq=False)
class ValidationScore:
    """The score of trees on some rows; more is better.

    table : at least one row, of the classes and columns of the trees.   measure : "roc_auc", "accuracy" or "r2".
    notes : what a reader must know of the measure: classes that no row shows, or why accuracy takes the area's place.
    """

    table: Table
    measure: str
    notes: tuple[str, ...] = ()

    @staticmethod
    def on(table: Table) -> ValidationScore:
        """The score that fits the rows; raises DataError for a table without rows."""
        if table.n_rows == 0:
            raise DataError(f"there is no validation row of {table.name} to judge on; use split=holdout")
        if table.task is Task.regression:
            return ValidationScore(table, "r2")
        classes = table.target.classes
        shown = np.unique(table.target.codes)
        if len(shown) == 1:
            only = f"the validation rows show one class, {classes[shown[0]]!r}: ROC AUC is undefined, accuracy takes its place"
            return ValidationScore(table, "accuracy", (only,))
        absent = [name for code, name in enumerate(classes) if code not in shown]
        if not absent:
            return ValidationScore(table, "roc_auc")
        names = ", ".join(map(repr, absent[:MOST_NAMED])) + (f" and {len(absent) - MOST_NAMED} more" if len(absent) > MOST_NAMED else "")
        missing = f"the validation rows show no object of class {names}: ROC AUC is the mean over the other {len(shown)}"
        return ValidationScore(table, "roc_auc", (missing,))

    def of(self, tree: Tree) -> float:
        """The tree's score."""
        return self.of_cuts(tree)(())

    def of_cuts(self, tree: Tree) -> Callable[[Sequence[int] | np.ndarray], float]:
        """A function from nodes to the score of ``tree.cut(nodes)``: rows walk the tree once, whatever is asked of it."""
        return getattr(_Cuts.of(tree, self.table), self.measure)


MOST_NAMED = 5
"""Absent classes that a note names."""


@attrs.frozen(eq=False)
class _Cuts:
    """Where the rows of a table rest in a tree, ready to be moved up.

    whole : int64[k], rows that rest at one node, ``at`` int64[k].   parted : int64[…], rows that are split over branches; these
    walk each cut tree anew, because their shares, summed in another order, would break ties that the cut tree has.
    """

    tree: Tree
    table: Table
    whole: np.ndarray
    at: np.ndarray
    parted: np.ndarray

    @staticmethod
    def of(tree: Tree, table: Table, places: Places | None = None) -> _Cuts:
        rest = (places or tree.places(table)).whole
        whole = np.flatnonzero(rest >= 0)
        return _Cuts(tree, table, whole, rest[whole], np.flatnonzero(rest < 0))

    def _shares(self, nodes: Sequence[int] | np.ndarray) -> np.ndarray:
        """float64[len(parted), n_classes] for the rows that are split."""
        if len(self.parted) == 0:
            return np.zeros((0, len(self.tree.classes)))
        return self.tree.cut(nodes).predict_proba(self.table.take(self.parted))

    def roc_auc(self, nodes: Sequence[int] | np.ndarray) -> float:
        """nodes : int64[…], where to cut."""
        tree, codes, weights = self.tree, self.table.target.codes, self.table.row_weights()
        n_classes = max(len(tree.classes), int(codes.max(initial=0)) + 1)
        place = self.tree.nearest_kept(nodes)[self.at] * n_classes + codes[self.whole]
        mass = np.bincount(place, weights[self.whole], tree.n_nodes * n_classes).reshape(-1, n_classes)
        used = np.flatnonzero(mass.sum(axis=1) > 0)
        share = tree.distribution()
        rows = self.parted
        alone = np.zeros((len(rows), n_classes))
        alone[np.arange(len(rows)), codes[rows]] = weights[rows]
        return metrics.roc_auc_of_groups(np.concatenate([share[used], self._shares(nodes)]), np.concatenate([mass[used], alone]))

    def accuracy(self, nodes: Sequence[int] | np.ndarray) -> float:
        return metrics.accuracy(self.table.target.codes, self._predicted(nodes, self.tree.label), self.table.row_weights())

    def r2(self, nodes: Sequence[int] | np.ndarray) -> float:
        return metrics.r2(self.table.target.values, self._predicted(nodes, self.tree.value), self.table.row_weights())

    def _predicted(self, nodes: Sequence[int] | np.ndarray, of_node: np.ndarray) -> np.ndarray:
        predicted = np.zeros(self.table.n_rows, of_node.dtype)
        predicted[self.whole] = of_node[self.tree.nearest_kept(nodes)[self.at]]
        if len(self.parted):
            predicted[self.parted] = self.tree.cut(nodes).predict(self.table.take(self.parted))
        return predicted
