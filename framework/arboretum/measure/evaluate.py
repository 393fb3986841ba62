"""All measures of a tree on a table, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from arboretum.errors import ConfigError, DataError, unknown
from arboretum.measure import metrics
from arboretum.measure.complexity import costs_of_rows
from arboretum.measure.validation import roc_auc
from arboretum.model.table import Table, Task
from arboretum.model.tree import Tree
from arboretum.model.walk import Places

HIGHER, LOWER = "higher", "lower"
DIRECTIONS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("accuracy", "balanced_accuracy", "roc_auc", "r2", "lower_bound"), HIGHER)
    | dict.fromkeys(("error", "log_loss", "mse", "mae", "value", "gap"), LOWER)
    | dict.fromkeys(("depth", "average_depth", "total_path_length", "n_nodes", "n_leaves", "n_internal"), LOWER)
    | dict.fromkeys(("expected_cost", "covering_cost", "max_cost"), LOWER)
)
"""Name of a measure, without the part of the rows it is taken on → which way is better."""

PARTS = ("train", "valid", "test")


def direction(name: str) -> str:
    """HIGHER or LOWER for the name of a metric, with or without ``train_``, ``valid_``, ``test_``.

    Raises ConfigError for a name that is no metric, with the closest one.
    """
    part, _, rest = name.partition("_")
    base = rest if part in PARTS else name
    if base in DIRECTIONS:
        return DIRECTIONS[base]
    prefix = f"{part}_" if part in PARTS else ""
    raise ConfigError(unknown("metric", name, [prefix + known for known in DIRECTIONS]))


def better(name: str, a: float, b: float) -> bool:
    """Whether the value ``a`` of a metric is better than ``b``; any number is better than NaN."""
    if np.isnan(a):
        return False
    return bool(np.isnan(b) or (a > b if direction(name) == HIGHER else a < b))


def evaluate(tree: Tree, table: Table, prefix: str = "") -> dict[str, float]:
    """Measure the tree's predictions, and what they cost, on the rows of a table.

    table : its columns must be those the tree reads, its classes begin with the tree's (see
        :func:`arboretum.model.frame.table_like`).   prefix : "test" names the metrics "test_error",
        "test_expected_cost".

    Classification: error, accuracy, balanced_accuracy, log_loss, roc_auc.  Regression: mse, mae, r2.  Both:
    expected_cost, max_cost, average_depth, total_path_length, depth over these rows.  Nothing for an empty table.
    """
    if table.n_rows == 0:
        return {}
    places = tree.places(table)
    found = _quality(tree, table, places) | costs_of_rows(tree, table, places)
    return {f"{prefix}_{name}" if prefix else name: value for name, value in found.items()}


def _quality(tree: Tree, table: Table, places: Places) -> dict[str, float]:
    weights, target = table.row_weights(), table.target
    if tree.task is Task.regression:
        predicted = tree.predict(table, places)
        return {name: getattr(metrics, name)(target.values, predicted, weights) for name in ("mse", "mae", "r2")}
    if target.classes[: len(tree.classes)] != tree.classes or (target.codes < 0).any():
        msg = "the rows do not name their classes as the tree does; read them with table_like and give a target"
        raise DataError(msg)
    predicted, proba = tree.predict(table, places), tree.predict_proba(table, places)
    found = {
        name: getattr(metrics, name)(target.codes, predicted, weights)
        for name in ("error", "accuracy", "balanced_accuracy")
    }
    found["log_loss"] = metrics.log_loss(target.codes, proba, weights)
    found["roc_auc"] = roc_auc(tree, table, places)
    return found
