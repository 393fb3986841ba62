"""All measures of a tree on a table, and which way is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType

import attrs
import numpy as np

from arboretum.errors import ConfigError, DataError, unknown
from arboretum.measure import metrics
from arboretum.measure.complexity import costs_of_rows
from arboretum.model.front import unbeaten
from arboretum.model.table import Table
from arboretum.model.tree import Tree
from arboretum.model.walk import Places

HIGHER, LOWER = "higher", "lower"
DIRECTIONS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            "accuracy",
            "balanced_accuracy",
            "precision",
            "recall",
            "f1",
            "roc_auc",
            "r2",
            "concordance",
            "lower_bound",
        ),
        HIGHER,
    )
    | dict.fromkeys(("error", "log_loss", "brier", "mse", "mae", "value", "gap"), LOWER)
    | dict.fromkeys(("mean_cost", "mean_cost_error", "integrated_brier"), LOWER)
    | dict.fromkeys(
        ("depth", "average_depth", "total_path_length", "n_nodes", "n_leaves", "n_internal"), LOWER
    )
    | dict.fromkeys(("expected_cost", "covering_cost", "max_cost"), LOWER)
)
"""Name of a measure, without the part of the rows it is taken on → which way is better."""

PARTS = ("train", "valid", "test")


def direction(name: str) -> str:
    """HIGHER or LOWER for the name of a metric, with or without ``train_``, ``valid_``, ``test_``.

    Raises ConfigError for a name that is no metric, with the closest one.
    """
    part = name.partition("_")[0]
    prefix = f"{part}_" if part in PARTS else ""
    if (base := name.removeprefix(prefix)) in DIRECTIONS:
        return DIRECTIONS[base]
    raise ConfigError(unknown("metric", name, [prefix + known for known in DIRECTIONS]))


def better(name: str, a: float, b: float) -> bool:
    """Return whether the value ``a`` of a metric is better than ``b``; any number is better than
    NaN.
    """
    if np.isnan(a):
        return False
    return bool(np.isnan(b) or (a > b if direction(name) == HIGHER else a < b))


def evaluate(tree: Tree, table: Table, prefix: str = "") -> dict[str, float]:
    """Measure the tree's predictions, and what they cost, on the rows of a table.

    table : its columns must be those the tree reads, its classes begin with the tree's (see
        :func:`arboretum.model.frame.table_like`).
    prefix : "test" names the metrics "test_error", "test_expected_cost".

    Classification: error, accuracy, balanced_accuracy, precision, recall and f1 (macro averages),
    log_loss, brier, roc_auc. Regression: mse, mae, r2.  Both: expected_cost, max_cost,
    average_depth, total_path_length, depth over these rows.  Nothing for an empty table.
    """
    if table.n_rows == 0:
        return {}
    places = tree.places(table)
    found = _measure_quality(tree, table, places) | costs_of_rows(tree, table, places)
    return {f"{prefix}_{name}" if prefix else name: value for name, value in found.items()}


def _measure_quality(tree: Tree, table: Table, places: Places) -> dict[str, float]:
    """Return every measure of a tree's predictions for the rows of a table, by its name; raises
    DataError where its classes are not the tree's.
    """
    weights, target = table.row_weights(), table.target
    if tree.is_regression:
        predicted = tree.predict(table, places)
        return {
            name: getattr(metrics, name)(target.values, predicted, weights)
            for name in ("mse", "mae", "r2")
        }
    if target.classes[: len(tree.classes)] != tree.classes or (target.codes < 0).any():
        raise DataError(
            "the rows do not name their classes as the tree does; read them with table_like "
            "and give a target"
        )
    predicted, proba = tree.predict(table, places), tree.predict_proba(table, places)
    names = ("error", "accuracy", "balanced_accuracy")
    found = {name: getattr(metrics, name)(target.codes, predicted, weights) for name in names}
    rates = metrics.rates(
        metrics.confusion(target.codes, predicted, weights, len(target.classes)), "macro"
    )
    found |= {name: rates[name] for name in ("precision", "recall", "f1")}
    found |= {
        name: getattr(metrics, name)(target.codes, proba, weights) for name in ("log_loss", "brier")
    }
    return found | {"roc_auc": _of_cuts(tree, table, "roc_auc", places)(())}


@attrs.frozen(eq=False)
class ValidationScore:
    """The score of trees on some rows; more is better.

    table : at least one row, of the classes and columns of the trees.
    measure : "roc_auc", "accuracy" or "r2".
    notes : what a reader must know of the measure: classes that no row shows, or why accuracy takes
        the area's place.
    """

    table: Table
    measure: str
    notes: tuple[str, ...] = ()

    @staticmethod
    def on(table: Table) -> ValidationScore:
        """Return the score that fits the rows; raises DataError for a table without rows."""
        if table.n_rows == 0:
            raise DataError(
                f"there is no validation row of {table.name} to judge on; use split=holdout"
            )
        if table.is_regression:
            return ValidationScore(table, "r2")
        classes = table.target.classes
        shown = np.unique(table.target.codes)
        if len(shown) == 1:
            only = (
                f"the validation rows show one class, {classes[shown[0]]!r}: ROC AUC is "
                "undefined, accuracy takes its place"
            )
            return ValidationScore(table, "accuracy", (only,))
        absent = [name for code, name in enumerate(classes) if code not in shown]
        names = ", ".join(map(repr, absent[:MOST_NAMED])) + (
            f" and {len(absent) - MOST_NAMED} more" if len(absent) > MOST_NAMED else ""
        )
        missing = (
            f"the validation rows show no object of class {names}: ROC AUC is the mean over the "
            f"other {len(shown)}"
        )
        return ValidationScore(table, "roc_auc", (missing,) if absent else ())

    def of(self, tree: Tree) -> float:
        """Return the tree's score on the rows, by ``measure``; more is better."""
        return self.of_cuts(tree)(())

    def of_cuts(self, tree: Tree) -> Callable[[Sequence[int] | np.ndarray], float]:
        """Return a function from nodes to the score of ``tree.cut(nodes)``: rows walk the tree
        once, whatever is asked of it.
        """
        return _of_cuts(tree, self.table, self.measure)


MOST_NAMED = 5  # absent classes that a note names


def _of_cuts(
    tree: Tree, table: Table, measure: str, places: Places | None = None
) -> Callable[[Sequence[int] | np.ndarray], float]:
    """Return a function from nodes to the measure of ``tree.cut(nodes)`` on the rows of a table,
    which walk the tree once.

    measure : "roc_auc", "accuracy" or "r2".   places : of the rows; None: they walk here.

    But rows that are split over branches walk each cut tree anew, because their shares, summed in
    another order, would break ties that the cut tree has.
    """
    rest, weights, target = (places or tree.places(table)).whole, table.row_weights(), table.target
    whole, parted = np.flatnonzero(rest >= 0), np.flatnonzero(rest < 0)

    def predict_cut(nodes: Sequence[int] | np.ndarray, of_node: np.ndarray) -> np.ndarray:
        """What the cut tree predicts of each row.   of_node : [n_nodes], what each node says."""
        found = np.zeros(table.n_rows, of_node.dtype)
        found[whole] = of_node[tree.nearest_kept(nodes)[rest[whole]]]
        if len(parted):
            found[parted] = tree.cut(nodes).predict(table.take(parted))
        return found

    def roc_auc(nodes: Sequence[int] | np.ndarray) -> float:
        """The area, by rows that rest together as one group."""
        codes = target.codes
        n_classes = max(len(tree.classes), int(target.codes.max(initial=0)) + 1)
        place = tree.nearest_kept(nodes)[rest[whole]] * n_classes + codes[whole]
        mass = np.bincount(place, weights[whole], tree.n_nodes * n_classes).reshape(-1, n_classes)
        used = np.flatnonzero(mass.sum(axis=1) > 0)
        share, alone = tree.distribution()[used], np.zeros((len(parted), n_classes))
        alone[np.arange(len(parted)), codes[parted]] = weights[parted]
        if len(parted):
            share = np.concatenate([share, tree.cut(nodes).predict_proba(table.take(parted))])
        return metrics.roc_auc_of_groups(share, np.concatenate([mass[used], alone]))

    return {
        "roc_auc": roc_auc,
        "accuracy": lambda nodes: metrics.accuracy(
            target.codes, predict_cut(nodes, tree.label), weights
        ),
        "r2": lambda nodes: metrics.r2(target.values, predict_cut(nodes, tree.value), weights),
    }[measure]


BEST, TIED, BEHIND = "best", "tied", ""
CONFIDENCE = 0.95
LEAST_SHARED = 3
"""Runs that two settings have in common, below which nothing tells a difference from chance (two
splits of few rows easily differ by the same row, and would look certain).
"""


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean, and its standard error s/√n (n − 1 below the variance); the error of a
    single value is NaN, both of none.
    """
    n = len(values)
    mean = math.fsum(values) / n if n else math.nan
    spread = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(spread / (n - 1) / n) if n > 1 else math.nan


def places(goal: str, settings: Sequence[Mapping[Hashable, float]]) -> list[str]:
    """BEST for the setting whose mean is best, TIED for those that are not shown to be worse,
    BEHIND for the others.

    settings : per setting, block (seed and fold) → value of the metric ``goal``; one without finite
        values is BEHIND. A setting is worse where the mean of its differences to the best, block by
        block, is further from 0 than the half width of their confidence interval (Student's t,
        two-sided, ``CONFIDENCE``); with fewer than ``LEAST_SHARED`` common blocks only equal means
        are a tie.  Blocks are compared, not means, because a split that is hard is hard for every
        setting.   Raises ConfigError for a goal that is no metric.
    """
    sign = -1.0 if direction(goal) == HIGHER else 1.0
    finite = [{block: sign * x for block, x in one.items() if math.isfinite(x)} for one in settings]
    means = [mean_and_error(list(one.values()))[0] for one in finite]
    if not any(finite):
        return [BEHIND] * len(settings)
    first = int(np.nanargmin(means))

    def is_tied(one: Mapping[Hashable, float], mean: float) -> bool:
        """Whether a setting is not shown to be worse than the best.

        one : its values by block, less being better.
        """
        shared = [one[block] - finite[first][block] for block in one if block in finite[first]]
        if mean == means[first] or len(shared) < LEAST_SHARED:
            return mean == means[first]
        from scipy.special import stdtrit

        difference, error = mean_and_error(shared)
        return difference <= error * float(stdtrit(len(shared) - 1, (1 + CONFIDENCE) / 2))

    found = [
        TIED if one and is_tied(one, mean) else BEHIND
        for one, mean in zip(finite, means, strict=True)
    ]
    return [*found[:first], BEST, *found[first + 1 :]]


def pareto_front(points: np.ndarray, higher_is_better: tuple[bool, ...]) -> np.ndarray:
    """Return int[f]: the points that no other dominates, by the first coordinate from small to
    large.

    points : float64[n, d]; a point with a NaN is on no front.
    higher_is_better : per coordinate.

    A point dominates another if it is as good in all coordinates and better in one; equal points
    are on the front together.

    Raises DataError where the shapes do not fit.
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != len(higher_is_better):
        raise DataError(
            f"points of shape {points.shape} do not fit {len(higher_is_better)} directions: "
            "give float64[n, directions]"
        )
    whole = np.flatnonzero(~np.isnan(points).any(axis=1))
    distinct, place = np.unique(
        np.where(higher_is_better, -points, points)[whole] + 0.0, axis=0, return_inverse=True
    )
    # by their ranks, which are finite
    ranks = [np.unique(values, return_inverse=True)[1].ravel() for values in distinct.T]
    front = whole[np.isin(place.ravel(), unbeaten(np.column_stack(ranks)))]
    return front[np.lexsort((*points[front].T[:0:-1], points[front, 0]))]
