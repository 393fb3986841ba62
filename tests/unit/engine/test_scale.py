"""Extreme common factors of weights, targets and prices: the same tree, reported in the units of
what was given.
"""

from __future__ import annotations

import attrs
import numpy as np
import pandas as pd
import pytest

import arboretum
from arboretum import TreeClassifier, TreeRegressor
from arboretum.api import DataError
from arboretum.model.tree import Tree

FACTORS = [1e-300, 1e-200, 1e-80, 0.222222, 1e80, 1e160, 1e300]
X = np.arange(12.0)[:, None]
Y = np.array([1, 1, 2, 1, 1, 1, 7, 8, 7, 9, 8, 7.0])
LABEL = (Y > 5).astype(int)
LABEL[[2, 9]] = 2
W = np.tile([1.0, 2.0, 0.5], 4)


def asked(tree: Tree) -> list[str]:
    return [tree.rule(node).describe() for node in np.flatnonzero(~tree.is_leaf)]


@pytest.mark.parametrize("factor", FACTORS)
def test_a_common_factor_of_the_weights_changes_no_tree(factor):
    for plain, model in ((TreeRegressor, Y), (TreeClassifier, LABEL)):
        own = plain(max_depth=2, verify=True).fit(X, model, W).tree_
        tree = plain(max_depth=2, verify=True).fit(X, model, W * factor).tree_
        assert asked(tree) == asked(own)
        assert tree.mass == pytest.approx(own.mass * factor, rel=1e-12)
        assert np.allclose(tree.value, own.value, rtol=1e-12, equal_nan=True)
    assert np.allclose(tree.distribution(), own.distribution(), rtol=1e-12)


@pytest.mark.parametrize("factor", [*FACTORS, -1e300])
def test_a_common_factor_of_the_targets_changes_no_tree(factor):
    own, tree = (TreeRegressor(max_depth=2, verify=True).fit(X, Y * f).tree_ for f in (1.0, factor))
    assert asked(tree) == asked(own)
    assert tree.value == pytest.approx(own.value * factor, rel=1e-12)
    # a variance from moments is wrong by some n · ε · y²
    rounded = np.sqrt(len(Y) * np.finfo(float).eps) * np.abs(Y).max()
    assert tree.deviation() == pytest.approx(
        own.deviation() * abs(factor), rel=1e-6, abs=rounded * abs(factor)
    )
    again = Tree.from_json(tree.to_json())
    assert again == tree and again.to_text() == tree.to_text()
    assert tree.to_sklearn().predict(X) == pytest.approx(
        own.predict({"x0": X[:, 0]}) * factor, rel=1e-12
    )


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("parts", [{"criterion": "cost_benefit"}, {"criterion": "regularized"}, {}])
def test_a_common_factor_of_the_prices_changes_no_tree(factor, parts):
    def grown(f):
        table = np.column_stack([X[:, 0] % 3, X[:, 0] // 4, X[:, 0]])
        costs = {
            "cost": "table",
            "cost.prices": {f"x{j}": price * f for j, price in enumerate((1.0, 2.0, 9.0))},
        }
        return (
            TreeClassifier(
                method="greedy",
                max_depth=3,
                verify=True,
                overrides={"encoder": "midpoints", **parts, **costs},
            )
            .fit(table, LABEL)
            .tree_
        )

    own, tree = grown(1.0), grown(factor)
    assert asked(tree) == asked(own)
    assert tree.price == pytest.approx(own.price * factor, rel=1e-12)


@pytest.mark.parametrize("method", ["cart", "gosdt"])
def test_prices_that_add_up_to_no_number_are_refused(method):
    costs = {"cost": "table", "cost.prices": {"x0": 1.5e308, "x1": 1.5e308}}
    with pytest.raises(DataError, match=r"prices of up to 1.5e\+308 may add up to more than"):
        TreeClassifier(method, overrides=costs).fit(np.column_stack([X, X % 3]), LABEL)


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_a_run_reports_in_the_units_of_its_table_and_says_so(tmp_path, factor):
    def run(f, g):
        pd.DataFrame({"x": X[:, 0], "y": Y * f, "w": W * g}).to_csv(tmp_path / "t.csv", index=False)
        data = [
            f"dataset.path={tmp_path / 't.csv'}",
            "dataset.target=y",
            "dataset.weight=w",
            "dataset.task=regression",
        ]
        return arboretum.run(
            [
                "dataset=file",
                *data,
                "split=none",
                "method=cart",
                "stopping=[standard]",
                "stopping.standard.max_depth=2",
            ]
        )

    own, heavy, far = run(1.0, 1.0), run(1.0, factor), run(factor, 1.0)
    for record in (heavy, far):
        assert asked(record.tree) == asked(own.tree)
        for name in ("train_r2", "average_depth", "expected_cost", "depth"):
            assert record.metrics[name] == pytest.approx(own.metrics[name], rel=1e-12)
        assert "far from 1: the tree was grown with them divided by 2^" in record.notes[-1]
    assert heavy.metrics["train_mse"] == pytest.approx(own.metrics["train_mse"], rel=1e-12)
    assert heavy.metrics["total_path_length"] == pytest.approx(
        own.metrics["total_path_length"] * factor, rel=1e-12
    )
    assert far.metrics["train_mae"] == pytest.approx(own.metrics["train_mae"] * factor, rel=1e-12)
    assert far.metrics["train_mse"] in (0.0, np.inf)  # what float64 holds of it


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        # a spread is no common factor
        (np.where(X[:, 0] < 6, 1e-200, 1.0), "the weights of X reach from"),
        (np.full(12, 1e308), "the weights of all rows together are more than float64 can hold"),
    ],
)
def test_what_no_factor_helps_is_refused(weights, message):
    with pytest.raises(DataError, match=message):
        TreeClassifier().fit(X, LABEL, weights)


def test_who_measures_in_the_units_of_the_numbers_is_refused_rather_than_scaled():
    for parts in ({"pruner": "cost_complexity"}, {"stopping.standard.min_decrease": 0.1}):
        with pytest.raises(DataError, match="float64 cannot hold"):
            TreeRegressor(overrides=parts).fit(X, Y * 1e200)


def test_what_an_objective_predicts_is_in_its_own_unit_and_is_not_scaled():
    event = np.arange(12) % 3 > 0
    model = TreeRegressor("survival_greedy", max_depth=1, verify=True)
    ratios = model.fit(X, Y, event=event).tree_.value
    assert model.fit(X, Y * 1e70, event=event).tree_.value == pytest.approx(ratios)
    with pytest.raises(DataError, match="multiply the whole column by a constant"):
        model.fit(X, Y * 1e-200, event=event)


def test_subnormal_weights_keep_their_shares():
    tree = TreeClassifier(max_depth=1, verify=True).fit(X, LABEL, np.full(12, 5e-324)).tree_
    assert asked(tree) == asked(TreeClassifier(max_depth=1).fit(X, LABEL).tree_)
    assert tree.weights[0].tolist() == [5 * 5e-324, 5 * 5e-324, 2 * 5e-324]
    assert attrs.evolve(tree).predict_proba({"x0": [0.0]})[0] == pytest.approx([5 / 6, 0.0, 1 / 6])
