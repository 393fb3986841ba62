"""A binary tree as a real scikit-learn tree, so that the tools written for those work on it.

scikit-learn asks ``X[:, feature] <= threshold`` of numbers only.  A threshold on a raw column stays
that column, and whether its value is known is its threshold ∞; every other test with two outcomes
becomes a column of its own that holds the outcome (0 or 1), named after the test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arboretum.api import (
    NO_OUTCOME,
    CapabilityError,
    DataError,
    Facts,
    Interval,
    TestRule,
    Threshold,
    Tree,
    policies,
    table_like,
)

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

CONSTANT = "(constant)"
"""A column of zeros for a tree that asks nothing of a table without numbers: scikit-learn wants
a column.
"""


def tree_sklearn(tree: Tree) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """Return a fitted DecisionTreeClassifier or DecisionTreeRegressor with the same predictions on
    :func:`sklearn_matrix`.

    ``classes_`` are the class names.  An outcome without a branch becomes a leaf that predicts as
    its parent.  The impurity is gini or variance, computed from the node weights, whatever the tree
    was grown with.
    Raises CapabilityError: multiway tests, surrogates, tests that give degrees; a label that is not
    the majority class of its leaf (scikit-learn has no other); a column of which float32, in which
    scikit-learn reads numbers, has none between two thresholds that differ by more than rounding.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from sklearn.tree._tree import Tree as Core

    _refuse_tree(tree)
    features, classification = _name_features(tree), tree.is_classification
    core = Core(len(features), np.array([max(len(tree.classes), 1)], np.intp), 1)
    core.__setstate__(_tree_state(tree, features, core.__getstate__()["nodes"].dtype))
    estimator = DecisionTreeClassifier() if classification else DecisionTreeRegressor()
    estimator.tree_, estimator.n_outputs_ = core, 1
    estimator.n_features_in_ = estimator.max_features_ = len(features)
    if classification:
        estimator.classes_, estimator.n_classes_ = np.array(tree.classes), len(tree.classes)
    return estimator


def sklearn_features(tree: Tree) -> list[str]:
    """Return the names of the columns that the scikit-learn tree reads: the raw numeric ones, then
    one per other test.
    """
    return [
        feature if isinstance(feature, str) else feature.describe()
        for feature in _name_features(tree)
    ]


def sklearn_matrix(tree: Tree, X: object) -> np.ndarray:
    """Return float32[n_rows, n_features]: the rows as the scikit-learn tree reads them, NaN =
    missing.

    X : a raw table, or whatever :func:`arboretum.api.table_like` reads.  scikit-learn compares in
        float32: a double that would be rounded across a threshold is moved to the nearest float32
        on its own side.
    Raises DataError when a row stops at an inner node or is split over branches: scikit-learn's
    trees know neither; and for a row between two thresholds with no float32 between them.
    """
    _refuse_tree(tree)
    table = table_like(tree, X)
    rows = np.arange(table.n_rows)
    # a row of known outcome but no branch ends at a leaf of our making
    rest, policy = tree.rest(table), policies(tree)
    inner = [
        node for node in np.unique(rest[rest >= 0]) if not tree.is_leaf[node] and policy[node] < 0
    ]
    lost = [
        (tree.rule(node).outcomes(table, np.flatnonzero(rest == node)) == NO_OUTCOME).sum()
        for node in inner
    ]
    if stuck := int((rest < 0).sum()) + int(sum(lost)):
        msg = f"{stuck} rows have missing or new values at a test without a branch for them"
        raise DataError(
            f"{msg}; scikit-learn's trees cannot stop there: predict with this tree instead"
        )
    features, cuts = _name_features(tree), _cuts_of_columns(tree)
    matrix = np.empty((table.n_rows, len(features)), np.float32)
    for j, feature in enumerate(features):
        if feature == CONSTANT:
            matrix[:, j] = 0.0
        elif isinstance(feature, str):
            matrix[:, j] = _as_float32(feature, table.column(feature).values, cuts[feature])
        else:
            outcome = feature.outcomes(table, rows)
            matrix[:, j] = np.where(outcome == NO_OUTCOME, np.nan, outcome)
    return matrix


def _as_float32(name: str, values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return float32[n]: the number of that type nearest to each of ``values``, float64[n], on the
    same side of every one of the ascending ``cuts``; NaN stays.  Raises DataError, naming the
    column, where there is none.
    """
    between = np.searchsorted(cuts, values)
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    low, high = (
        np.append(ends, np.float32(np.nan)) for ends in _interval_ends(cuts)
    )  # NaN is sorted last
    between[np.isnan(values)] = len(low) - 1
    if len(lost := np.flatnonzero(low[between] > high[between])):
        value = float(values[lost[0]])
        raise DataError(
            f"scikit-learn reads column {name!r} as float32, which has no number between the "
            f"thresholds about {value!r} in row {lost[0] + 1}; predict with this tree instead"
        )
    return np.clip(near, low[between], high[between])


def _interval_ends(cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return float32[cuts + 1] each: the least and the largest finite number of that type below,
    between and above the cuts.

    cuts : float64[·], ascending.
    """
    most, cuts = np.finfo(np.float32).max, _thresholds(cuts)
    with np.errstate(over="ignore"):
        below = cuts.astype(np.float32)
        below = np.where(below > cuts, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
    return np.append(-most, above), np.append(below, most)


def _thresholds(cuts: np.ndarray) -> np.ndarray:
    """Return float64[cuts], where scikit-learn's trees divide numbers that it rounds to float32.

    A cut of more than 25 bits lies between numbers that float32 does not hold, and is rounded as a
    number that it is would be (.2 is more than .2 in float32); others may be the middle of two
    neighbours in float32, and stay.
    """
    with np.errstate(over="ignore"):
        near = cuts.astype(np.float32).astype(np.float64)
    digits = np.ldexp(np.frexp(cuts)[0], 25)
    return np.where((digits == np.rint(digits)) | np.isinf(near), cuts, near)


def _apart(cuts: np.ndarray) -> np.ndarray:
    """Return bool[cuts + 1]: whether the cuts about an interval differ by more than the rounding of
    a middle: (.1 + .5)/2 is .3, and (.2 + .4)/2 the number after it.

    cuts : float64[·], ascending.
    """
    found = np.ones(len(cuts) + 1, bool)
    half = cuts / 2  # differences of whole ones may exceed float64
    found[1:-1] = np.diff(half) > 4 * np.finfo(float).eps * np.abs(half[1:])
    return found


def _cuts_of_columns(tree: Tree) -> dict[str, np.ndarray]:
    """Raw numeric column → its thresholds, rising."""
    found: dict[str, set[float]] = {
        column.name: set() for column in tree.columns if column.is_continuous
    }
    for rule in tree.rules:
        if isinstance(rule, Threshold):
            found[rule.column].add(rule.threshold)
    return {name: np.array(sorted(own), float) for name, own in found.items()}


def _refuse_tree(tree: Tree) -> None:
    """Raise CapabilityError for a tree that scikit-learn's trees cannot be: with surrogates,
    degrees, other than two outcomes, or cuts too close for float32.
    """
    if tree.surrogates or any(rule.fuzzy for rule in tree.rules):
        raise CapabilityError(
            "scikit-learn's trees know neither surrogates nor tests that give degrees; "
            "predict with this tree instead"
        )
    if wide := [rule for rule in tree.rules if rule.arity != 2]:
        msg = (
            f"scikit-learn's trees are binary, but {wide[0].describe()!r} has {wide[0].arity} "
            "outcomes"
        )
        raise CapabilityError(f"{msg}; encode with one-hot or thresholds instead")
    for name, cuts in _cuts_of_columns(tree).items():
        low, high = _interval_ends(cuts)
        if len(lost := np.flatnonzero((low > high) & _apart(cuts))):
            ends = [repr(float(cuts[k])) for k in (lost[0] - 1, lost[0]) if 0 <= k < len(cuts)]
            where = (
                f"between {' and '.join(ends)}"
                if len(ends) == 2
                else f"{'below' if lost[0] == 0 else 'above'} {ends[0]}"
            )
            way = (
                "predict with this tree instead, or subtract a constant from the column (or "
                "scale it) before the tree grows"
            )
            raise CapabilityError(
                f"scikit-learn reads column {name!r} as float32, which has no number {where}; {way}"
            )
    odd = (
        np.flatnonzero(tree.label != tree.distribution().argmax(axis=1))
        if tree.is_classification
        else np.zeros(0)
    )
    if len(odd):
        msg = (
            f"node {odd[0]} predicts {tree.classes[tree.label[odd[0]]]!r}, which is not its "
            "majority class"
        )
        raise CapabilityError(f"{msg}; scikit-learn's trees predict only that")


def _name_features(tree: Tree) -> list[str | TestRule]:
    """Raw numeric columns by name, then the other tests, in the order in which the tree holds
    them.
    """
    raw: list[str | TestRule] = [column.name for column in tree.columns if column.is_continuous]
    return raw + [rule for rule in tree.rules if _threshold_of_test(rule) is None] or [CONSTANT]


def _threshold_of_test(rule: TestRule) -> float | None:
    """Return the threshold of a test on a raw column; ∞: a missing value lies above it, as
    scikit-learn has it; None for other tests.
    """
    if isinstance(rule, Threshold):
        return rule.threshold
    parts = (
        isinstance(rule, Interval)
        and rule.missing_is_other
        and rule.low is None
        and rule.high is None
    )
    return np.inf if parts else None


def _tree_state(tree: Tree, features: list[str | TestRule], dtype: np.dtype) -> Facts:
    """Return what scikit-learn's Tree is rebuilt from: its nodes in preorder, a left child right
    after its parent.
    """
    # the node that predicts, and whether this is a leaf made for an absent branch
    found: list[tuple[int, bool]] = []
    right: dict[int, int] = {}
    stack, deepest = [(0, False, 0, -1)], 0
    while stack:
        source, made, depth, above = stack.pop()
        if above >= 0:
            right[above] = len(found)
        if not made and not tree.is_leaf[source]:
            for child, parent in zip(
                tree.children(source)[::-1].tolist(), (len(found), -1), strict=True
            ):
                stack.append((source if child < 0 else child, child < 0, depth + 1, parent))
        found.append((source, made))
        deepest = max(deepest, depth)
    source, made = np.array(found).T
    inner, real = np.array(list(right), np.int64), made == 0
    rules = [tree.rule(node) for node in source[inner]]
    records = np.zeros(len(found), dtype)
    for name, absent in (
        ("left_child", -1),
        ("right_child", -1),
        ("feature", -2),
        ("threshold", -2.0),
    ):
        records[name] = absent
    records["left_child"][inner] = inner + 1
    records["right_child"][inner] = [right[i] for i in inner.tolist()]
    position = {feature: i for i, feature in enumerate(features)}
    bounds = [_threshold_of_test(rule) for rule in rules]
    records["feature"][inner] = [
        position[rule if bound is None else rule.columns[0]]
        for rule, bound in zip(rules, bounds, strict=True)
    ]
    cuts = np.array([0.5 if bound is None else bound for bound in bounds])
    records["threshold"][inner] = _thresholds(cuts)
    records["missing_go_to_left"][inner] = (policies(tree)[source[inner]] == 0) & ~np.isposinf(
        records["threshold"][inner]
    )
    records["impurity"] = tree.plain_impurity()[source]
    records["n_node_samples"] = tree.counts[source] * real
    records["weighted_n_node_samples"] = tree.mass[source] * real
    values = tree.distribution()[source] if tree.is_classification else tree.value[source, None]
    return {
        "max_depth": deepest,
        "node_count": len(found),
        "nodes": records,
        "values": np.ascontiguousarray(values[:, None, :]),
    }
