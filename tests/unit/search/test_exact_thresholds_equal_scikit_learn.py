"""Raw columns against scikit-learn: the same impurities, node by node; continuous values, so
that ties do not decide.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest

from arboretum.api import Context, Task, Threshold, grow
from arboretum.testing.effort import tries
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import AbsoluteError, Entropy, Gini, Variance

sys.path.insert(0, str(Path(__file__).parents[2] / "property" / "search"))
from problems import encode, problem_of

NONE = np.zeros((0, 0), np.uint8)


def data(seed: int, n: int = 400, columns: int = 4, classes: int = 3):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, columns)).astype(np.float32)
    y = (x @ generator.normal(size=columns) + generator.normal(size=n) > 0).astype(np.int64) + (
        x[:, 0] > 1
    ) * (classes - 2)
    return x, y


def grown(x, y, impurity, task=Task.classification, weight=None, **limits):
    objects = encode(np.zeros((len(y), 0), np.uint8), [], [], x, y, task, weight)
    return grow(problem_of(objects, Reduction(), impurity, **limits), Context()).tree


def same_nodes(tree, peer) -> None:
    """Walk both trees; children in the order left, right are both in preorder."""
    assert tree.n_nodes == peer.node_count
    assert tree.counts.tolist() == peer.n_node_samples.tolist()
    assert tree.impurity == pytest.approx(peer.impurity, abs=1e-9)
    for node in np.flatnonzero(~tree.is_leaf):
        assert tree.rule(node).column == f"r{peer.feature[node]}"
        assert tree.rule(node).threshold == pytest.approx(peer.threshold[node], rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("impurity", "name"), [(Gini(), "gini"), (Entropy(), "entropy")])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_leaf", [1, 7])
def test_classification_trees_are_the_same(seed, impurity, name, weighted, min_leaf):
    from sklearn.tree import DecisionTreeClassifier

    x, y = data(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(y)) if weighted else None
    peer = DecisionTreeClassifier(
        criterion=name, max_depth=4, min_samples_leaf=min_leaf, random_state=seed
    )
    peer.fit(x, y, sample_weight=weight)
    # at depth 4 of 400 rows two columns may cut off the same rows: compare what they reach
    tree = grown(x, y, impurity, weight=weight, max_depth=4, min_leaf=min_leaf)
    decrease = -np.sort(-tree.score[~tree.is_leaf])
    theirs = -np.sort(-_decreases(peer.tree_))
    assert decrease[:3] == pytest.approx(theirs[:3], abs=1e-9)
    same_nodes(
        grown(x, y, impurity, weight=weight, max_depth=2, min_leaf=min_leaf),
        _cut(peer, x, y, weight),
    )


def _cut(peer, x, y, weight):
    from sklearn.base import clone

    return clone(peer).set_params(max_depth=2).fit(x, y, sample_weight=weight).tree_


def _decreases(peer) -> np.ndarray:
    mass = peer.weighted_n_node_samples
    inner = np.flatnonzero(peer.children_left >= 0)
    left, right = peer.children_left[inner], peer.children_right[inner]
    after = mass[left] * peer.impurity[left] + mass[right] * peer.impurity[right]
    return (mass[inner] * peer.impurity[inner] - after) / mass[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("impurity", "name"),
    [
        (Variance(), "squared_error"),
        pytest.param(AbsoluteError(), "absolute_error", marks=pytest.mark.slow),
    ],
)
def test_regression_trees_are_the_same(seed, impurity, name):
    from sklearn.tree import DecisionTreeRegressor

    x, _ = data(seed, n=150)
    y = x[:, 0] * 3 + np.random.default_rng(seed).normal(size=len(x)) + 10.0
    # thresholds with the same absolute error are common one level down, so there the roots are
    # compared
    depth = 1 if name == "absolute_error" else 2
    peer = DecisionTreeRegressor(criterion=name, max_depth=depth, random_state=seed).fit(x, y)
    tree = grown(x, y, impurity, Task.regression, max_depth=depth)
    same_nodes(tree, peer.tree_)
    assert tree.value == pytest.approx(peer.tree_.value[:, 0, 0], abs=1e-9)


@pytest.mark.parametrize("task", Task)
def test_trees_of_columns_with_gaps_decrease_the_impurity_as_much(task):
    """Few rows of few values: missing ones left, right, and alone; a root of 300 tables each,
    and whole trees where no tests tie.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    classes, generator, asked = task is Task.classification, np.random.default_rng(7), 0
    for k in range(tries(300)):
        whole, n = not classes and k % 2 == 0, int(generator.integers(4, 40))
        x = (
            generator.normal(size=(n, 3))
            if whole
            else generator.integers(0, 4, (n, 3)).astype(float)
        )
        x[generator.random((n, 3)) < generator.choice([0.1, 0.5, 0.9])] = np.nan
        x = x.astype(np.float32)
        y = generator.integers(0, 3, n) if classes else generator.normal(size=n)
        limits = {"max_depth": None if whole else 1, "min_leaf": int(generator.integers(1, 4))}
        peer = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(
            max_depth=limits["max_depth"], min_samples_leaf=limits["min_leaf"]
        )
        theirs = _decreases(peer.fit(x, y).tree_)
        for compiled in (True, False):
            objects = encode(np.zeros((n, 0), np.uint8), [], [], x, y, task, None)
            tree = grow(
                problem_of(objects, Reduction(), Gini() if classes else Variance(), **limits),
                Context(),
                compiled=compiled,
            ).tree
            assert tree.score[~tree.is_leaf].sum() == pytest.approx(theirs.sum(), abs=1e-9), k
            # scikit-learn divides a node that is not pure, also where nothing is gained; so do we
            if not whole:
                assert tree.n_nodes == peer.tree_.node_count
        asked += any(rule.describe().endswith("is known") for rule in tree.rules)
    assert asked > tries(300) // 10


def test_where_known_against_missing_is_the_test():
    gap = np.array([[np.nan]] * 5 + [[1.0], [2.0], [3.0], [4.0], [5.0]])
    y = np.array([1] * 5 + [0] * 5)
    for x in (gap, np.minimum(gap, 1.0)):  # also where there is one value besides
        tree = grown(x, y, Gini())
        assert [rule.describe() for rule in tree.rules] == ["r0 is known"]
        assert tree.rule(0).outcome_label(1) == "is missing" and tree.weights[1:].tolist() == [
            [5, 0],
            [0, 5],
        ]


def test_a_large_table_goes_the_way_of_bounds_and_reaches_the_same_impurities():
    from sklearn.tree import DecisionTreeClassifier

    x, y = data(0, n=20_000, columns=6, classes=2)
    tree = grown(x, y, Gini(), max_depth=6)
    peer = DecisionTreeClassifier(max_depth=6, random_state=0).fit(x, y).tree_
    assert np.sort(tree.impurity) == pytest.approx(np.sort(peer.impurity), abs=1e-9)


def test_neighbours_within_the_gap_stay_together_and_a_midpoint_that_rounds_up_goes_down():
    close, y = np.array([[0.0], [5e-8], [1.0]], np.float32), np.array([0, 1, 1])
    for gap, threshold in ((0.0, 2.5e-8), (1e-7, 0.5)):  # the second is scikit-learn's
        objects = attrs.evolve(encode(np.zeros((3, 0), np.uint8), [], [], close, y), gap=gap)
        tree = grow(problem_of(objects, Reduction(), Gini()), Context()).tree
        assert [rule.threshold for rule in tree.rules] == pytest.approx([threshold], rel=1e-6)
    low = np.nextafter(4.0, 5.0)  # the midpoint to the next is a tie, rounded to the even upper
    high = np.nextafter(low, 5.0)
    assert grown(np.array([[low], [high]]), np.array([0, 1]), Gini()).rules == (
        Threshold("r0", float(low)),
    )


def test_float32_columns_have_their_midpoints_in_float64_as_scikit_learn_has():
    low = np.nextafter(np.float32(4.0), np.float32(5.0))
    table = np.array([[low], [np.nextafter(low, np.float32(5.0))], [4.5]], np.float32)
    from sklearn.tree import DecisionTreeClassifier

    theirs = DecisionTreeClassifier().fit(table[[0, 2]], [0, 1]).tree_.threshold[0]
    assert grown(table[[0, 2]], np.array([0, 1]), Gini()).rules == (Threshold("r0", float(theirs)),)
