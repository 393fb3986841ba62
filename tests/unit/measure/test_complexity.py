"""What a tree costs, against the definitions: sums over the training objects, one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import given, strategies as st

from arboretum.measure import complexities, costs_of_rows
from arboretum.model.rules import Threshold
from arboretum.model.table import ColumnKind, Task
from arboretum.model.tree import ColumnSpec, Tree


@given(st.data())
def test_complexities_are_sums_over_the_training_objects(data):
    table = data.draw(tables())
    tree = data.draw(trees(table, shares=True))
    weight = table.row_weights()
    length, paid = np.zeros(table.n_rows), np.zeros(table.n_rows)
    for node, row, share in zip(*tree.places(table).all(), strict=True):
        stops = not tree.is_leaf[node]
        length[row] += share * (len(tree.path(node)) + stops)
        paid[row] += share * (
            sum(tree.edge_price[tree.child_offset[v] + k] for v, k in tree.path(node))
            + stops * tree.price[node]
        )
    found = complexities(tree)
    assert found["total_path_length"] == pytest.approx((weight * length).sum())
    assert found["average_depth"] == pytest.approx((weight * length).sum() / weight.sum())
    assert found["expected_cost"] == pytest.approx((weight * paid).sum() / weight.sum())


@given(st.data())
def test_depth_sizes_and_largest_cost_are_those_of_paths_with_a_leaf_where_rows_stop(data):
    table = data.draw(tables())
    tree = data.draw(trees(table))
    stops = {int(node) for node in tree.places(table).all()[0] if not tree.is_leaf[node]}
    ends = [*np.flatnonzero(tree.is_leaf).tolist(), *stops]
    found = complexities(tree)
    assert np.flatnonzero(tree.is_end).tolist() == sorted(ends)
    assert found["depth"] == max(len(tree.path(leaf)) for leaf in ends)
    paid = (
        sum(tree.price[v] for v, _ in tree.path(end)) + (tree.price[end] if end in stops else 0)
        for end in ends
    )
    assert found["max_cost"] == pytest.approx(max(paid))
    assert found["n_leaves"] == len(ends)
    assert found["n_nodes"] == found["n_leaves"] + found["n_internal"] == tree.n_nodes + len(stops)


def test_rows_that_stop_pay_the_whole_price_of_the_test_that_stops_them():
    """Those whose branch is known pay that branch's price, 2 or 3."""
    nan = [math.nan] * 3
    tree = Tree(
        task=Task.classification,
        columns=(ColumnSpec("x", ColumnKind.continuous),),
        classes=("no", "yes"),
        rules=(Threshold("x", 0.5),),
        test=[0, -1, -1],
        child_offset=[0, 2, 2, 2],
        child=[1, 2],
        missing_child=[-1] * 3,
        weights=[[2, 2], [1, 0], [0, 2]],
        counts=[4, 1, 2],
        label=[0, 0, 1],
        value=nan,
        price=[5, 0, 0],
        branch_price=[2, 3],
        impurity=nan,
        score=nan,
    )
    found = complexities(tree)
    assert (found["max_cost"], found["expected_cost"]) == (5, (5 + 2 + 2 * 3) / 4)


@given(st.data())
def test_over_the_training_rows_both_ways_agree(data):
    table = data.draw(tables())
    tree = data.draw(trees(table, shares=True))
    over_objects, over_rows = complexities(tree), costs_of_rows(tree, table)
    for name in ("average_depth", "total_path_length", "expected_cost"):
        assert over_rows[name] == pytest.approx(over_objects[name])
    for name in ("depth", "max_cost"):
        assert over_rows[name] <= over_objects[name] + 1e-12
