"""A tree that is cut back: where rows rest, and what each node still says."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_trees import rows_like, tables, trees
from hypothesis import given, strategies as st

from arboretum.errors import ContractError
from arboretum.model.tree import LEAF, MISSING_STOPS


@st.composite
def cuts(draw):
    table = draw(tables())
    tree = draw(trees(table, shares=True))
    nodes = draw(st.lists(st.integers(0, tree.n_nodes - 1), max_size=4))
    return tree, nodes, draw(rows_like(table))


def standing(tree, nodes):
    """The numbers of the nodes without one of ``nodes`` above them."""
    return [v for v in range(tree.n_nodes) if not {above for above, _ in tree.path(v)} & set(nodes)]


@given(cuts())
def test_every_row_rests_at_the_first_cut_on_its_way(case):
    tree, nodes, rows = case
    left = standing(tree, nodes)
    expected, found = np.zeros((2, rows.n_rows, tree.n_nodes))
    for node, row, share in zip(*tree.places(rows).all(), strict=True):
        way = [above for above, _ in tree.path(node)]
        expected[row, next((v for v in way if v in nodes), node)] += share
    for node, row, share in zip(*tree.cut(nodes).places(rows).all(), strict=True):
        found[row, left[node]] += share
    assert found == pytest.approx(expected)


@given(cuts())
def test_heirs_say_where_rows_will_rest(case):
    tree, nodes, _ = case
    ways = ([above for above, _ in tree.path(node)] for node in range(tree.n_nodes))
    assert tree.nearest_kept(nodes).tolist() == [
        next((v for v in way if v in nodes), node) for node, way in enumerate(ways)
    ]


@given(cuts())
def test_what_stands_says_what_it_said_and_new_leaves_ask_nothing(case):
    tree, nodes, _ = case
    cut, left = tree.cut(nodes), standing(tree, nodes)
    assert cut.n_nodes == len(left)
    for name in ("weights", "counts", "label", "value", "impurity"):
        assert np.array_equal(getattr(cut, name), getattr(tree, name)[left], equal_nan=True)
    for new, old in enumerate(left):
        if tree.test[old] == LEAF or old not in nodes:
            assert (
                cut.price[new] == tree.price[old]
                and cut.missing_child[new] == tree.missing_child[old]
            )
            assert cut.score[new] == tree.score[old] or np.isnan(tree.score[old])
        if tree.test[old] != LEAF and old not in nodes:
            assert cut.rule(new) == tree.rule(old)
            assert [left[c] if c >= 0 else c for c in cut.children(new)] == tree.children(
                old
            ).tolist()
        else:
            assert cut.test[new] == LEAF and len(cut.children(new)) == 0
        if tree.test[old] != LEAF and old in nodes:
            assert (cut.price[new], cut.missing_child[new]) == (0.0, MISSING_STOPS) and np.isnan(
                cut.score[new]
            )
    asked = {cut.test[v] for v in range(cut.n_nodes)} - {LEAF} | {
        one.rule for one in cut.surrogates
    }
    kept = [(left[one.node], cut.rules[one.rule], one.to) for one in cut.surrogates]
    stand = [one for one in tree.surrogates if one.node in left and one.node not in nodes]
    assert kept == [(one.node, tree.rules[one.rule], one.to) for one in stand]
    assert asked == set(range(len(cut.rules))), "rules that nobody asks are dropped"


@given(cuts())
def test_cutting_leaves_gives_the_tree_itself(case):
    tree, _, _ = case
    assert tree.cut(np.flatnonzero(tree.is_leaf)) is tree
    assert tree.cut([]) is tree


@given(cuts())
def test_cutting_at_no_node_is_refused(case):
    tree, _, _ = case
    for wrong in (-1, tree.n_nodes):
        with pytest.raises(
            ContractError, match=f"a tree is cut at its nodes, 0 to {tree.n_nodes - 1}; got {wrong}"
        ):
            tree.cut([wrong])
