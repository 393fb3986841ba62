"""Leaf rules: each limit, its bounds, and how several rules combine."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arboretum.api import Limits, Node, Parts
from arboretum.testing.suites.base import grow_and_verify
from arboretum.testing.tables import ToyGini, ToyReduction, toy_table
from arboretum_basics.stopping import ImpurityAtMost, MassAtMost, Pure, Standard

NODE = Node(
    np.array([3.0, 1.0]), np.array([3, 1]), mass=4.0, total_mass=16.0, impurity=0.375, depth=2
)


def grown(*rules, **options):
    parts = Parts(method=None, criterion=ToyReduction(), impurity=ToyGini(), stopping=rules)
    return grow_and_verify(toy_table(2, n_rows=60), parts, **options)


def test_standard_without_values_limits_nothing():
    assert Standard().limits() == Limits()
    assert grown(Standard()).to_json() == grown(Pure()).to_json()


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_max_depth_is_the_number_of_tests_on_a_path(depth):
    assert grown(Standard(max_depth=depth)).depth_of.max() == depth


@pytest.mark.parametrize("rows", [1, 4, 9])
def test_min_leaf_counts_the_rows_of_every_branch(rows):
    tree = grown(Standard(min_leaf=rows))
    assert tree.counts.min() >= rows and tree.n_leaves > 1


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_min_mass_weighs_every_branch(share):
    tree = grown(Standard(min_mass=share))
    assert tree.mass.min() >= share * tree.mass[0] * (1 - 1e-12) and tree.n_leaves > 1


@pytest.mark.parametrize("leaves", [1, 2, 3, 7])
@pytest.mark.parametrize("order", ["best", "depth", "breadth"])
def test_max_leaves_is_never_exceeded(leaves, order):
    assert grown(Standard(max_leaves=leaves), order=order).n_leaves <= leaves


def test_min_split_makes_small_nodes_leaves():
    tree = grown(Standard(min_split=20))
    assert (tree.counts[~tree.is_leaf] >= 20).all() and tree.n_leaves > 1


def test_min_decrease_refuses_tests_whose_score_is_not_above_it():
    whole = grown(Pure())
    root = float(whole.score[0])
    assert grown(Standard(min_decrease=root)).n_leaves == 1
    tree = grown(Standard(min_decrease=root * (1 - 1e-9)))
    assert tree.n_leaves > 1
    assert (tree.score[~tree.is_leaf] >= root).all()


def test_mass_at_most_theta_is_a_leaf_and_equality_counts():
    assert MassAtMost(theta=0.25).is_leaf(NODE)
    assert not MassAtMost(theta=0.2499999).is_leaf(NODE)
    assert not MassAtMost().is_leaf(NODE)


def test_mass_survives_the_rounding_of_a_sum_of_weights():
    """0.1 + 0.2 is a little more than 0.3; the node holds exactly a share θ of the weight."""
    node = attrs.evolve(NODE, mass=0.1 + 0.2, total_mass=1.0)
    assert MassAtMost(theta=0.3).is_leaf(node)


def test_impurity_at_most_delta_is_a_leaf():
    assert ImpurityAtMost(delta=0.375).is_leaf(NODE)
    assert not ImpurityAtMost(delta=0.37).is_leaf(NODE)
    tree = grown(ImpurityAtMost(delta=0.4))
    assert (tree.impurity[~tree.is_leaf] > 0.4).all()


def test_several_rules_combine_to_the_tightest():
    rules = (
        Standard(max_depth=5, min_leaf=2),
        Standard(max_depth=3),
        Standard(min_leaf=4, max_leaves=9),
    )
    assert Parts(method=None, stopping=rules).limits() == Limits(
        max_depth=3, max_leaves=9, min_leaf=4
    )


@pytest.mark.parametrize(
    ("rule", "values", "words"),
    [
        (Standard, {"max_depth": -1}, "stopping.max_depth must be ≥ 0; got -1"),
        (Standard, {"min_leaf": 0}, "stopping.min_leaf must be ≥ 1; got 0"),
        (Standard, {"min_mass": 0.6}, "stopping.min_mass must be ≥ 0 and ≤ 0.5; got 0.6"),
        (Standard, {"max_leaves": 0}, "stopping.max_leaves must be ≥ 1; got 0"),
        (MassAtMost, {"theta": 1.5}, "stopping.theta must be ≥ 0 and ≤ 1; got 1.5"),
        (MassAtMost, {"theta": float("nan")}, "stopping.theta must be ≥ 0 and ≤ 1; got nan"),
        (ImpurityAtMost, {"delta": -0.1}, "stopping.delta must be ≥ 0; got -0.1"),
    ],
)
def test_a_value_out_of_bounds_names_field_rule_and_value(rule, values, words):
    with pytest.raises(ValueError, match="must be") as caught:
        rule(**values)
    assert str(caught.value) == words


def test_mass_takes_a_tolerance_beside_theta():
    node = attrs.evolve(NODE, mass=4.0, total_mass=16.0)
    assert MassAtMost(theta=0.25).is_leaf(node) and not MassAtMost(theta=0.25 - 1e-8).is_leaf(node)
    assert MassAtMost(theta=0.25 - 1e-8, tolerance=1e-7).is_leaf(node)
    assert not MassAtMost(theta=0.25 - 2e-7, tolerance=1e-7).is_leaf(node)
    assert MassAtMost(theta=1.0, tolerance=1.0).leaf_rule() == MassAtMost(theta=1.0).leaf_rule()
