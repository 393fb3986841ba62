"""A binary tree as a real scikit-learn tree, so that the tools written for those work on it.

scikit-learn asks ``X[:, feature] <= threshold`` of numbers only.  A threshold on a raw column stays that column; every
other test with two outcomes becomes a column of its own that holds the outcome (0 or 1), named after the test.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arboretum.errors import CapabilityError, DataError
from arboretum.model.frame import table_like
from arboretum.model.rules import NO_OUTCOME, TestRule, Threshold
from arboretum.model.table import ColumnKind, Task
from arboretum.model.tree import Tree
from arboretum.model.walk import policies


CONSTANT = "(constant)"
"""A column of zeros for a tree that asks nothing of a table without numbers: scikit-learn wants a column."""


def tree_sklearn(tree: Tree) -> Any:
    """A fitted DecisionTreeClassifier or DecisionTreeRegressor with the same predictions on :func:`sklearn_matrix`.

    ``classes_`` are the class names.  An outcome without a branch becomes a leaf that predicts as its parent.  The
    impurity is gini or variance, computed from the node weights, whatever the tree was grown with.
    Raises CapabilityError: multiway tests, surrogates, tests that give degrees; a label that is not the heaviest class of its leaf (scikit-learn has no
    other).
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from sklearn.tree._tree import Tree as Core

    _refuse(tree)
    features, nodes = _features(tree), _nodes(tree)
    classification = tree.task is Task.classification
    n_outputs_classes = np.array([len(tree.classes) if classification else 1], dtype=np.intp)
    core = Core(len(features), n_outputs_classes, 1)
    values = np.array([_value(tree, node.source) for node in nodes])[:, None, :]
    core.__setstate__(
        {
            "max_depth": max(node.depth for node in nodes),
            "node_count": len(nodes),
            "nodes": _records(tree, nodes, features, core),
            "values": np.ascontiguousarray(values, np.float64),
        }
    )
    estimator = DecisionTreeClassifier() if classification else DecisionTreeRegressor()
    estimator.tree_, estimator.n_outputs_ = core, 1
    estimator.n_features_in_ = estimator.max_features_ = len(features)
    if classification:
        estimator.classes_, estimator.n_classes_ = np.array(tree.classes), len(tree.classes)
    return estimator


def sklearn_features(tree: Tree) -> list[str]:
    """Names of the columns that the scikit-learn tree reads: the raw numeric ones, then one per other test."""
    return [feature if isinstance(feature, str) else feature.describe() for feature in _features(tree)]


def sklearn_matrix(tree: Tree, X: Any) -> np.ndarray:
    """float32[n_rows, n_features]: the rows as the scikit-learn tree reads them, NaN = missing.

    X : a raw table, or whatever :func:`arboretum.model.frame.table_like` reads.  scikit-learn compares in float32: a
    double that would be rounded across a threshold is moved to the neighbouring float32 on its own side.
    Raises DataError when a row stops at an inner node or is split over branches: scikit-learn's trees know neither.
    """
    _refuse(tree)
    table = table_like(tree, X)
    rows = np.arange(table.n_rows)
    stuck = _stuck(tree, table)
    if stuck:
        msg = f"{stuck} rows have missing or new values at a test without a branch for them"
        raise DataError(f"{msg}; scikit-learn's trees cannot stop there: predict with this tree instead")
    features = _features(tree)
    matrix = np.empty((table.n_rows, len(features)), np.float32)
    for j, feature in enumerate(features):
        if feature == CONSTANT:
            matrix[:, j] = 0.0
        elif isinstance(feature, str):
            cuts = [r.threshold for r in tree.rules if isinstance(r, Threshold) and r.column == feature]
            matrix[:, j] = _as_float32(table.column(feature).values, cuts)
        else:
            outcome = feature.outcomes(table, rows)
            matrix[:, j] = np.where(outcome == NO_OUTCOME, np.nan, outcome)
    return matrix


def _stuck(tree: Tree, table: Any) -> int:
    """Number of rows that are split, or stop at an inner node for want of an outcome.

    A row whose outcome is known but has no branch is not among them: it ends at a leaf of our making.
    """
    rest, policy = tree.rest(table), policies(tree)
    stuck = int((rest < 0).sum())
    for node in np.unique(rest[rest >= 0]):
        if not tree.is_leaf[node] and policy[node] < 0:
            stuck += int((tree.rule(node).outcomes(table, np.flatnonzero(rest == node)) == NO_OUTCOME).sum())
    return stuck


def _as_float32(values: np.ndarray, cuts: list[float]) -> np.ndarray:
    near = values.astype(np.float32)
    for bound in cuts if values.dtype != np.float32 else ():
        cut = np.float64(bound)  # a Python float would be rounded to float32 before it is compared
        above = (near > cut) & (values <= cut)
        below = (near <= cut) & (values > cut)
        near[above] = np.nextafter(near[above], np.float32(-np.inf))
        near[below] = np.nextafter(near[below], np.float32(np.inf))
    return near


def _refuse(tree: Tree) -> None:
    if tree.surrogates or any(rule.fuzzy for rule in tree.rules):
        raise CapabilityError("scikit-learn's trees know neither surrogates nor tests that give degrees; predict with this tree instead")
    wide = [rule for rule in tree.rules if rule.arity != 2]
    if wide:
        msg = f"scikit-learn's trees are binary, but {wide[0].describe()!r} has {wide[0].arity} outcomes"
        raise CapabilityError(f"{msg}; encode with one-hot or thresholds instead")
    if tree.task is Task.classification and (tree.label != tree.weights.argmax(axis=1)).any():
        node = int(np.flatnonzero(tree.label != tree.weights.argmax(axis=1))[0])
        msg = f"node {node} predicts {tree.classes[tree.label[node]]!r}, which is not its heaviest class"
        raise CapabilityError(f"{msg}; scikit-learn's trees predict only that")


def _features(tree: Tree) -> list[str | TestRule]:
    """Raw numeric columns by name, then the other tests, in the order in which the tree holds them."""
    raw: list[str | TestRule] = [column.name for column in tree.columns if column.kind is ColumnKind.continuous]
    return raw + [rule for rule in tree.rules if not isinstance(rule, Threshold)] or [CONSTANT]


@attrs.frozen
class _Node:
    """A node of the scikit-learn tree.   source : the node that predicts.   made : a leaf for an absent branch."""

    source: int
    depth: int
    made: bool = False


def _nodes(tree: Tree) -> list[_Node]:
    """All nodes in preorder, left before right."""
    found, stack = [], [_Node(0, 0)]
    while stack:
        node = stack.pop()
        found.append(node)
        if node.made or tree.is_leaf[node.source]:
            continue
        for child in tree.children(node.source)[::-1]:
            absent = child < 0
            stack.append(_Node(node.source if absent else int(child), node.depth + 1, bool(absent)))
    return found


def _records(tree: Tree, nodes: list[_Node], features: list[str | TestRule], core: Any) -> np.ndarray:
    """The structured array that scikit-learn's Tree is rebuilt from."""
    position, policy = {feature: i for i, feature in enumerate(features)}, policies(tree)
    records = np.zeros(len(nodes), dtype=core.__getstate__()["nodes"].dtype)
    records["left_child"] = records["right_child"] = -1
    records["feature"], records["threshold"] = -2, -2.0
    open_nodes: list[int] = []
    for i, node in enumerate(nodes):
        if i:  # preorder: the latest node that still lacks a child is the parent
            parent = open_nodes[-1]
            if records["left_child"][parent] < 0:
                records["left_child"][parent] = i
            else:
                records["right_child"][parent] = i
                open_nodes.pop()
        records["impurity"][i] = _impurity(tree, node.source)
        if node.made:
            continue
        records["n_node_samples"][i] = tree.counts[node.source]
        records["weighted_n_node_samples"][i] = tree.mass[node.source]
        if tree.is_leaf[node.source]:
            continue
        open_nodes.append(i)
        rule = tree.rule(node.source)
        threshold = isinstance(rule, Threshold)
        records["feature"][i] = position[rule.column if threshold else rule]
        records["threshold"][i] = rule.threshold if threshold else 0.5
        records["missing_go_to_left"][i] = policy[node.source] == 0
    return records


def _value(tree: Tree, node: int) -> np.ndarray:
    if tree.task is Task.regression:
        return tree.value[node : node + 1]
    return tree.weights[node] / tree.weights[node].sum()


def _impurity(tree: Tree, node: int) -> float:
    """Gini or variance of a node."""
    if tree.task is Task.classification:
        return float(1 - (_value(tree, node) ** 2).sum())
    mass, total, squares = tree.weights[node]
    return float(max(squares / mass - (total / mass) ** 2, 0.0))
