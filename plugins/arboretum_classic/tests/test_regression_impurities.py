"""Impurities of numbers beside the variance: as scikit-learn's, as the lecture's, and what they
refuse.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from arboretum.api import DataError
from arboretum.sklearn import TreeRegressor
from arboretum_classic.criteria import kernels, reference
from arboretum_classic.criteria.impurities import Poisson, Variance
from arboretum_classic.pruning.complexity_path import Subtrees

THEIRS = {"variance": "squared_error", "absolute_error": "absolute_error", "poisson": "poisson"}


def rows(n=300):
    """Numbers in general position: where leaves are not too small, no two tests are equally
    good, so that trees agree node for node.
    """
    generator = np.random.default_rng(3)
    X = generator.normal(size=(n, 4)).astype(np.float32)
    return X, generator.poisson(np.exp(X[:, 0] + 0.5 * X[:, 1])).astype(float)


@pytest.mark.parametrize(
    ("impurity", "data"),
    [
        ("variance", "drawn"),
        ("poisson", "drawn"),
        ("variance", "diabetes"),
        ("absolute_error", "diabetes"),
    ],
)  # not where equally good tests make scikit-learn's choice a matter of chance
def test_trees_are_scikit_learns_node_for_node(impurity, data):
    X, y = rows() if data == "drawn" else load_diabetes(return_X_y=True)
    X, weight = (
        X.astype(np.float32),
        np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(X))
        if impurity != "absolute_error"
        else None,
    )
    theirs = DecisionTreeRegressor(
        criterion=THEIRS[impurity], min_samples_leaf=12, random_state=0
    ).fit(X, y, sample_weight=weight)
    ours = TreeRegressor(method="cart", impurity=impurity, min_samples_leaf=12, verify=True).fit(
        X, y, sample_weight=weight
    )
    tree = ours.tree_
    assert tree.counts.tolist() == theirs.tree_.n_node_samples.tolist()
    assert [tree.rule(v).column for v in np.flatnonzero(~tree.is_leaf)] == [
        f"x{f}" for f in theirs.tree_.feature if f >= 0
    ]
    assert tree.impurity == pytest.approx(theirs.tree_.impurity, rel=1e-9, abs=1e-9)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-12)
    path = Subtrees.of(tree, "impurity").path()
    found = theirs.cost_complexity_pruning_path(X, y, sample_weight=weight)
    assert path.alpha[-3:] == pytest.approx(found.ccp_alphas[-3:], rel=1e-9)


def test_a_test_with_nothing_but_zeros_on_a_side_does_not_compete():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 3, 4.0])
    tree = TreeRegressor(method="cart", impurity="poisson").fit(X, y).tree_
    theirs = DecisionTreeRegressor(criterion="poisson").fit(X, y)
    assert tree.n_leaves == theirs.get_n_leaves() and tree.value.min() > 0
    assert sorted(tree.value[tree.is_leaf]) == pytest.approx(
        sorted(theirs.tree_.value[theirs.tree_.feature < 0, 0, 0])
    )
    rpart = (
        TreeRegressor(
            method="cart", impurity="poisson", impurity__zeros=True, max_depth=1, verify=True
        )
        .fit(X, y)
        .tree_
    )
    # as rpart 4.1 divides them
    assert rpart.counts.tolist() == [6, 4, 2] and rpart.value.tolist() == [7 / 6, 0.0, 3.5]


@pytest.mark.parametrize(
    ("y", "complaint"), [([1, -1, 2], "the least is -1 in 'y'"), ([0, 0, 0], "all are 0 in 'y'")]
)
def test_numbers_that_are_no_counts_are_refused(y, complaint):
    with pytest.raises(
        DataError,
        match=f"needs targets ≥ 0 with a positive sum; {complaint}: use impurity=variance",
    ):
        TreeRegressor(method="cart", impurity="poisson").fit(
            np.arange(3.0)[:, None], np.array(y, float)
        )


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0, 3.0, 40.0]), st.sampled_from([0.5, 1.0, 2.0])),
        min_size=1,
        max_size=9,
    )
)
def test_the_prefix_kernel_is_mass_times_the_deviance_of_every_prefix(some):
    y, weight = np.array(some).T
    fast, slow = np.empty(len(y)), np.empty(len(y))
    for name in ("poisson_deviances_with_zeros", "poisson_deviances"):
        getattr(kernels, name)(y, weight, fast)
        getattr(reference, name)(y, weight, slow)
        assert fast == pytest.approx(slow, rel=1e-12, abs=1e-12 * 400 * len(y))
    if y.sum() > 0:
        assert Poisson().of_values(y, weight) * weight.sum() == pytest.approx(
            fast[-1], abs=1e-12 * 400 * len(y)
        )


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9))
def test_squared_pairs_are_half_the_squares_of_all_ordered_pairs(some):
    y = np.array(some, float)
    moments = np.array([len(y), y.sum(), (y * y).sum()])
    pairs = ((y[:, None] - y[None, :]) ** 2 / 2).sum()
    assert kernels.squared_pairs(moments) == reference.squared_pairs(moments) == pairs
    assert pairs == pytest.approx(len(y) ** 2 * Variance().value(moments))


def test_squared_pairs_are_not_weighed_by_mass():
    X, y = rows()
    tree = (
        TreeRegressor(method="cart", impurity="squared_pairs", max_depth=1, verify=True)
        .fit(X, y)
        .tree_
    )
    value = tree.plain_impurity() * tree.mass**2
    assert tree.score[0] == pytest.approx(value[0] - value[1] - value[2], rel=1e-9)
