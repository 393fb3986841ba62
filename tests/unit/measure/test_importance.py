"""Which columns a tree lives on, against scikit-learn and against what the tree costs."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import given, strategies as st
from sklearn.inspection import permutation_importance

from arboretum import TreeClassifier, TreeRegressor
from arboretum.measure import complexities
from arboretum.measure.importance import importances
from arboretum.model.table import Column, ColumnKind, Table, Target, Task

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 4))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)


def numbered(y) -> Table:
    columns = tuple(Column(f"x{j}", ColumnKind.continuous, X[:, j]) for j in range(4))
    codes = Target("y", Task.classification, y.astype(np.int32), ("0", "1", "2"))
    return Table(
        "t", columns, codes if y.dtype.kind == "i" else Target("y", Task.regression, values=y)
    )


@pytest.mark.parametrize(
    "weights", [None, RNG.integers(1, 5, len(X)).astype(float)], ids=["alike", "weighted"]
)
@pytest.mark.parametrize("y", [Y, X @ [3.0, 2, 1, 0.5]], ids=["classes", "numbers"])
def test_shares_of_the_decrease_are_scikit_learns_for_the_same_tree(y, weights):
    model = (TreeClassifier if y.dtype.kind == "i" else TreeRegressor)(max_depth=4).fit(
        X, y, weights
    )
    expected = model.to_sklearn().feature_importances_
    assert model.feature_importances_ == pytest.approx(expected, abs=1e-9)
    listed = {one["column"]: one["decrease"] for one in importances(model.tree_)}
    assert [listed.get(f"x{j}", 0.0) for j in range(4)] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("y", [Y, X @ [3.0, 2, 1, 0.5]], ids=["classes", "numbers"])
def test_what_shuffling_loses_is_what_scikit_learn_measures(y):
    model = (TreeClassifier if y.dtype.kind == "i" else TreeRegressor)(max_depth=4).fit(X, y)
    found = {
        one["column"]: one for one in importances(model.tree_, numbered(y), repeats=60, seed=3)
    }
    theirs = permutation_importance(model, X, y, n_repeats=60, random_state=1)
    for j in range(4):
        ours = found.get(f"x{j}", {"permutation": 0.0, "error": 0.0})
        error = np.hypot(ours["error"], theirs.importances_std[j] / np.sqrt(59))
        assert abs(ours["permutation"] - theirs.importances_mean[j]) <= 4 * error


def test_the_seed_fixes_the_shuffles():
    tree = TreeClassifier(max_depth=3).fit(X, Y).tree_
    first, again, other = (
        importances(tree, numbered(Y), repeats=3, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert importances(tree, numbered(Y), repeats=1)[0]["error"] is None


def test_the_error_of_two_shuffles_is_half_their_difference():
    """s/√n with n − 1 below the variance; the first column's first shuffle comes first."""
    tree = TreeClassifier(max_depth=3).fit(X, Y).tree_
    first = tree.rules[0].columns[0]
    once, both = (
        next(
            one
            for one in importances(tree, numbered(Y), repeats=repeats, seed=1)
            if one["column"] == first
        )
        for repeats in (1, 2)
    )
    assert once["permutation"] != both["permutation"]
    assert both["error"] == pytest.approx(abs(once["permutation"] - both["permutation"]))


@given(st.data())
def test_prices_add_up_to_the_expected_cost_and_decreases_to_one(data):
    tree = data.draw(trees(data.draw(tables()), splits=False, shares=True))
    found = importances(tree)
    assert sum(one["price"] for one in found) == pytest.approx(complexities(tree)["expected_cost"])
    assert sum(one["decrease"] for one in found) in (0.0, pytest.approx(1.0))
    gain = tree.impurity_decrease()
    for one in found:
        assert one["decrease_per_price"] == (
            gain.get(one["column"], 0.0) / one["price"] if one["price"] > 0 else None
        )
