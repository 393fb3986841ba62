"""One class against the rest at every threshold: ROC and precision-recall curves, their areas
and Pareto-efficient points; calibration.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from arboretum.errors import DataError
from arboretum.measure import metrics
from arboretum.measure.evaluate import pareto_front
from arboretum.model.charts import DARK, Axis, Line, LineChart
from arboretum.model.plain import Facts
from arboretum.model.table import Table
from arboretum.model.tree import Tree


@attrs.frozen(eq=False)
class Curve:
    """The classifiers "positive where the score is at least t", from none of the rows to all of
    them; rows of equal score stay together.

    threshold : float64[k], falling from ∞.
    hit, false : float64[k], weight of the positive (negative) rows among those taken.
    """

    threshold: np.ndarray
    hit: np.ndarray
    false: np.ndarray

    @staticmethod
    def of(score: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> "Curve":
        """score : float64[n].

        positive : bool[n].
        weight : float64[n] > 0.   Raises DataError where either side has no row.
        """
        if positive.all() or not positive.any():
            raise DataError(
                "a curve needs rows of the class and rows of others; here all are of one side"
            )
        falling, place = np.unique(-score, return_inverse=True)
        hit, false = (
            np.cumsum(np.bincount(place, weight * side, len(falling)))
            for side in (positive, ~positive)
        )
        return Curve(
            np.concatenate([[np.inf], -falling]), np.append(0.0, hit), np.append(0.0, false)
        )

    @cached_property
    def recall(self) -> np.ndarray:
        """float64[k]: share of the positive rows that are taken (true positive rate,
        sensitivity).
        """
        return np.asarray(self.hit / self.hit[-1])

    @cached_property
    def fpr(self) -> np.ndarray:
        """float64[k]: share of the negative rows that are taken (1 − specificity)."""
        return np.asarray(self.false / self.false[-1])

    @cached_property
    def precision(self) -> np.ndarray:
        """float64[k]: share of the rows taken that are positive; 1 where none is."""
        taken = self.hit + self.false
        share: np.ndarray = np.divide(self.hit, taken, out=np.ones(len(taken)), where=taken > 0)
        return share

    @property
    def roc_auc(self) -> float:
        """Area under the ROC curve."""
        return float(np.trapezoid(self.recall, self.fpr))

    def partial_auc(self, most: float, standardised: bool = True) -> float:
        """Area left of the false positive rate ``most``, in (0, 1]; standardised: 0.5 by chance,
        1 at best (McClish 1989).

        Raises DataError for another ``most``.
        """
        if not 0 < most <= 1:
            raise DataError(
                f"a partial area ends at a false positive rate above 0 and at most 1; got {most:g}"
            )
        stop = int(np.searchsorted(self.fpr, most, "right"))
        end = np.interp(most, self.fpr[stop - 1 : stop + 1], self.recall[stop - 1 : stop + 1])
        area = float(
            np.trapezoid(np.append(self.recall[:stop], end), np.append(self.fpr[:stop], most))
        )
        return (1 + (area - most**2 / 2) / (most - most**2 / 2)) / 2 if standardised else area

    @property
    def average_precision(self) -> float:
        """Precision, averaged over the positive rows in steps: the precision at which each is
        taken, as scikit-learn's.
        """
        return float((np.diff(self.recall) * self.precision[1:]).sum())

    @property
    def pr_auc(self) -> float:
        """Area under the precision-recall curve as it really runs between two thresholds (Davis &
        Goadrich 2006).

        There negatives come in proportion to positives, so the precision of h hits is h / (a +
        b·h), which is no straight line.
        """
        hits, rise = np.diff(self.hit), np.diff(self.hit) > 0
        slope = np.diff(self.false)[rise] / hits[rise]
        b, a = 1 + slope, self.false[:-1][rise] - slope * self.hit[:-1][rise]
        taken = self.hit + self.false
        grows = np.log(
            np.divide(taken[1:][rise], taken[:-1][rise], out=np.ones(len(a)), where=a != 0)
        )
        return float((hits[rise] / b - a / b**2 * grows).sum() / self.hit[-1])

    @cached_property
    def hull(self) -> "Curve":
        """Those whose ROC points are corners of the convex hull: what mixing classifiers at
        random reaches (Provost & Fawcett 2001).
        """
        kept: list[int] = []
        x, y = self.false.tolist(), self.hit.tolist()
        for i in range(len(x)):
            while len(kept) > 1:
                a, b = kept[-2:]
                if (x[b] - x[a]) * (y[i] - y[a]) < (y[b] - y[a]) * (x[i] - x[a]):
                    break
                kept.pop()
            kept.append(i)
        return Curve(self.threshold[kept], self.hit[kept], self.false[kept])

    @cached_property
    def roc_front(self) -> np.ndarray:
        """int[f]: those that no other dominates, by false positive rate and recall."""
        return pareto_front(np.column_stack([self.fpr, self.recall]), (False, True))

    @cached_property
    def pr_front(self) -> np.ndarray:
        """int[f]: those that no other dominates, by recall and precision; the one that takes no
        row has none.
        """
        return pareto_front(
            np.column_stack([self.recall, np.append(np.nan, self.precision[1:])]), (True, True)
        )

    def pr_line(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (recall, precision), float64[m]: the curve between its points as in
        :attr:`pr_auc`, fine enough to be drawn.
        """
        part = np.linspace(0, 1, max(2, min(20, 4000 // len(self.hit))))[1:]
        hit, false = (
            np.append(one[:1], one[:-1, None] + np.diff(one)[:, None] * part)
            for one in (self.hit, self.false)
        )
        precision = np.divide(
            hit, hit + false, out=np.full(len(hit), self.precision[1]), where=hit + false > 0
        )
        return hit / self.hit[-1], precision


@attrs.frozen(eq=False)
class Calibration:
    """Rows by what is said of them, in bins of equal width (low < p ≤ high) that hold any.

    said, seen, weight : float64[b], mean probability, share of positive rows, weight of the rows.
    """

    said: np.ndarray
    seen: np.ndarray
    weight: np.ndarray

    @staticmethod
    def of(
        score: np.ndarray, positive: np.ndarray, weight: np.ndarray, bins: int = 10
    ) -> "Calibration":
        """Arguments as for :meth:`Curve.of`, scores being probabilities."""
        place = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], score)
        said, seen, total = (
            np.bincount(place, weight * one, bins) for one in (score, positive, 1.0)
        )
        held = total > 0
        return Calibration(said[held] / total[held], seen[held] / total[held], total[held])

    @property
    def error(self) -> float:
        """Expected calibration error: the weighted mean of |said − seen| over the bins."""
        return float(np.average(np.abs(self.said - self.seen), weights=self.weight))


@attrs.frozen(eq=False)
class Evaluation:
    """A tree on rows.

    table : from :func:`metrics.confusion`.
    curves, calibrations : by class, of those that some rows are of, but not all.
    """

    classes: tuple[str, ...]
    table: np.ndarray
    curves: Mapping[str, Curve]
    calibrations: Mapping[str, Calibration]
    brier: Mapping[str, float]

    @staticmethod
    def of(tree: Tree, rows: Table) -> "Evaluation":
        """rows : their classes begin with the tree's.   Raises DataError for a tree of numbers."""
        if tree.is_regression:
            raise DataError(
                f"curves are of classes; this tree predicts the numbers of {rows.target.name!r}"
            )
        places = tree.places(rows)
        classes = rows.target.classes
        codes = rows.target.codes
        weight = rows.row_weights()
        proba = np.pad(
            tree.predict_proba(rows, places), [(0, 0), (0, len(classes) - len(tree.classes))]
        )
        table = metrics.confusion(codes, tree.predict(rows, places), weight, len(classes))
        each = {
            name: (proba[:, k], codes == k, weight)
            for k, name in enumerate(classes)
            if 0 < (codes == k).sum() < len(codes)
        }
        brier = {
            name: float(np.average((score - positive) ** 2, weights=weight))
            for name, (score, positive, _) in each.items()
        }
        curves = {name: Curve.of(*one) for name, one in each.items()}
        calibrations = {name: Calibration.of(*one) for name, one in each.items()}
        return Evaluation(classes, table, curves, calibrations, brier)

    def rows(self, beta: float = 1.0) -> list[Facts]:
        """Measures per class, each against the rest, and their averages; of areas and
        calibration, over the classes that have a curve.
        """
        rates, weight, found = metrics.rates(self.table, beta=beta), self.table.sum(axis=1), []
        for k, name in enumerate(self.classes):
            found.append(
                {
                    "class": name,
                    "weight": weight[k],
                    **{what: values[k] for what, values in rates.items()},
                }
            )
            if curve := self.curves.get(name):
                areas = {
                    what: getattr(curve, what)
                    for what in ("roc_auc", "average_precision", "pr_auc")
                }
                found[k] |= {
                    **areas,
                    "brier": self.brier[name],
                    "calibration_error": self.calibrations[name].error,
                }
        drawn = [row for row in found if "brier" in row]
        for how in ("macro", "weighted", "micro"):
            found.append(
                {
                    "class": f"({how} average)",
                    "weight": weight.sum(),
                    **metrics.rates(self.table, how, beta),
                }
            )
            if drawn and how != "micro":
                by = [row["weight"] if how == "weighted" else 1.0 for row in drawn]
                found[-1] |= {
                    what: np.average([row[what] for row in drawn], weights=by)
                    for what in drawn[0]
                    if what not in found[-1]
                }
        return found

    def points(self) -> list[Facts]:
        """Return every point of every curve, and whether it is a corner of the hull or on a Pareto
        front.
        """
        found = []
        for name, curve in self.curves.items():
            values = {
                what: getattr(curve, what) for what in ("threshold", "fpr", "recall", "precision")
            }
            values["roc_hull"] = np.isin(curve.threshold, curve.hull.threshold)
            values |= {
                what: np.isin(np.arange(len(curve.hit)), getattr(curve, what))
                for what in ("roc_front", "pr_front")
            }
            found += [
                {"class": name, **{what: one[i].item() for what, one in values.items()}}
                for i in range(len(curve.hit))
            ]
        return found

    def charts(self, of: str) -> dict[str, LineChart]:
        """ "roc", "pr", "calibration"; of two classes the second's alone, of many the ``DRAWN``
        heaviest.

        of : what is judged, in words.
        """
        heavy = np.argsort(-self.table.sum(axis=1), kind="stable")[:DRAWN]
        names = [name for k, name in enumerate(self.classes) if name in self.curves and k in heavy][
            -1 if len(self.classes) == 2 else 0 :
        ]
        of += (
            f"; the {len(names)} commonest of {len(self.curves)} classes"
            if 2 < len(names) < len(self.curves)
            else ""
        )
        curves = {name: self.curves[name] for name in names}
        calibrations = {name: self.calibrations[name] for name in names}
        return {
            "roc": roc_chart(curves, of),
            "pr": pr_chart(curves, of),
            "calibration": calibration_chart(calibrations, of),
        }


DRAWN = 8  # classes of a chart
MARKED = 60  # Pareto-efficient points of a curve that are marked, evenly chosen


def roc_chart(curves: Mapping[str, Curve], of: str) -> LineChart:
    """Return each curve with its convex hull.   of : what is judged, in words."""
    lines = [_diagonal()]
    for k, (name, curve) in enumerate(curves.items()):
        lines.append(
            _line_with_front(
                f"{name} (area {curve.roc_auc:.3f})", k, curve.fpr, curve.recall, curve.roc_front
            )
        )
        lines.append(
            Line(
                "",
                curve.hull.fpr,
                curve.hull.recall,
                colour=k,
                marked=False,
                dashed=True,
                quiet=True,
            )
        )
    notes = [
        "Marked: Pareto-efficient thresholds (none has a lower false positive rate at no "
        "lower recall, or the other way round)."
    ]
    return _make_chart(
        "ROC",
        lines,
        "false positive rate",
        "true positive rate (recall)",
        of,
        [*notes, "Dashed: the convex hull; by chance."],
    )


def pr_chart(curves: Mapping[str, Curve], of: str) -> LineChart:
    """Return each curve as it runs between its points.

    curves : class → curve.   of : for the subtitle.
    """
    lines = []
    for k, (name, curve) in enumerate(curves.items()):
        lines.append(
            Line(f"{name} (area {curve.pr_auc:.3f})", *curve.pr_line(), colour=k, marked=False)
        )
        lines.append(
            _line_with_front(
                name, k, curve.recall, curve.precision, curve.pr_front, joined=False, quiet=True
            )
        )
    notes = [
        "Marked: Pareto-efficient thresholds (none has a higher precision at no lower "
        "recall, or the other way round)."
    ]
    return _make_chart("Precision and recall", lines, "recall", "precision", of, notes)


def calibration_chart(found: Mapping[str, Calibration], of: str) -> LineChart:
    """Return the share of positive rows over what was said."""
    lines = [
        _diagonal(),
        *(
            Line(f"{name} (error {one.error:.3f})", one.said, one.seen, colour=k)
            for k, (name, one) in enumerate(found.items())
        ),
    ]
    notes = [
        "Rows in bins of equal width. Error: the mean distance from the diagonal, by weight "
        "(expected calibration error)."
    ]
    return _make_chart(
        "Calibration",
        lines,
        "mean predicted probability in a bin",
        "share of the class in the bin",
        of,
        notes,
    )


def _make_chart(
    title: str, lines: list[Line], x: str, y: str, of: str, notes: list[str]
) -> LineChart:
    """Return the chart of curves from 0 to 1, with a note in place of a legend for one.

    x, y : labels of the axes.   of : what is measured on which rows, for the subtitle.
    """
    predicted = [line.label for line in lines if not line.quiet]
    # no legend for one
    return LineChart(
        title,
        lines,
        Axis(x),
        Axis(y),
        f"{of}; {predicted[0]}" if len(predicted) == 1 else of,
        notes,
        unit=True,
    )


def _diagonal() -> Line:
    """From (0, 0) to (1, 1): chance, or perfect calibration."""
    return Line("", (0, 1), (0, 1), colour=DARK, marked=False, dashed=True, quiet=True)


def _line_with_front(
    label: str, colour: int, x: np.ndarray, y: np.ndarray, front: np.ndarray, **look: Any
) -> Line:
    """Return a line with marks at the points of its front, MARKED of them where there are more.

    x, y : float64[k].   front : int[f], places among them.
    """
    shown = front[np.linspace(0, len(front) - 1, MARKED).astype(int)].tolist()
    return Line(
        label,
        x,
        y,
        colour=colour,
        links=["" if i in shown else None for i in range(len(x))],
        **look,
    )
