"""The best pruned subtree against all pruned subtrees of small trees."""

from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import given, strategies as st

import arboretum
from arboretum.api import Task, Tree
from arboretum.testing import PrunerSuite
from arboretum.testing.effort import examples
from arboretum.testing.oracles import slow_tree
from arboretum.testing.tables import TreeParts, toy_objects, toy_table
from arboretum_classic.pruning.optimal import OptimalSubtree, prices_of_nodes
from arboretum_classic.pruning.pruners import costs_by_node

PRICES = ("leaves", "nodes", "tests", "mdl")


class TestTheShortestDescription(PrunerSuite):
    component = OptimalSubtree(price="mdl")


class TestTheLeastErrorOfThreeLeaves(PrunerSuite):
    component = OptimalSubtree(max_price=3.0)


def cuts(tree: Tree, node: int = 0):
    """Every way to cut the branch at a node: the nodes that become leaves."""
    yield (node,)
    below = [list(cuts(tree, int(child))) for child in tree.children(node) if child >= 0]
    if not tree.is_leaf[node]:
        for choice in itertools.product(*below):
            yield tuple(itertools.chain.from_iterable(choice))


def every_subtree(tree: Tree, rows, train, price: str) -> np.ndarray:
    """float64[subtrees, 2]: (price, error share) of every pruned subtree, added up node by node."""
    leaf, rest, mass = costs_by_node(tree, rows)
    of_leaf, of_test = prices_of_nodes(tree, train, price)
    found = []
    for nodes in cuts(tree):
        kept = tree.nearest_kept(nodes) == np.arange(tree.n_nodes)
        ends = kept & (tree.is_leaf | np.isin(np.arange(tree.n_nodes), nodes))
        inner = kept & ~ends
        found.append(
            (
                of_leaf[ends].sum() + of_test[inner].sum(),
                (leaf[ends].sum() + rest[inner].sum()) / mass,
            )
        )
    return np.array(found)


def told(tree: Tree, pruned: Tree, rows, train, price: str) -> tuple[float, float]:
    leaf, rest, mass = costs_by_node(pruned, rows)
    of_leaf, of_test = prices_of_nodes(pruned, train, price)
    at, ends = pruned.is_leaf, ~pruned.is_leaf
    return float(of_leaf[at].sum() + of_test[ends].sum()), float(
        (leaf[at].sum() + rest[ends].sum()) / mass
    )


@examples(80)
@given(st.data())
def test_no_pruned_subtree_is_better(data):
    table = data.draw(tables(max_rows=10))
    tree = data.draw(trees(table, max_depth=3))
    price = data.draw(st.sampled_from(PRICES if tree.task is Task.classification else PRICES[:3]))
    every = every_subtree(tree, table, table, price)
    alpha = data.draw(st.sampled_from([0.0, 0.01, 0.2]))
    limit = data.draw(st.sampled_from([None, *every[:, 0]]))
    fits = every if limit is None else every[every[:, 0] <= limit + 1e-9]
    pruner = OptimalSubtree(price=price, max_price=limit, alpha=alpha)
    paid, error = told(tree, pruner.prune(tree, table, None), table, table, price)
    bits = price == "mdl" and alpha == 0.0 and limit is None
    assert limit is None or paid <= limit + 1e-9
    best = fits[:, 0].min() if bits else (fits[:, 1] + alpha * fits[:, 0]).min()
    assert (paid if bits else error + alpha * paid) == pytest.approx(best, abs=1e-9)
    if alpha == 0.0 and not bits:
        assert paid == pytest.approx(fits[fits[:, 1] <= best + 1e-9, 0].min(), abs=1e-9), (
            "of equally good ones the cheapest"
        )


@examples(60)
@given(st.data())
def test_no_pruned_subtree_within_the_error_is_cheaper(data):
    table = data.draw(tables(max_rows=10))
    tree = data.draw(trees(table, max_depth=3))
    price = data.draw(st.sampled_from(PRICES[:3]))
    every = every_subtree(tree, table, table, price)
    allowed = data.draw(st.sampled_from(every[:, 1].tolist()))
    paid, error = told(
        tree,
        OptimalSubtree(price=price, max_error=allowed).prune(tree, table, None),
        table,
        table,
        price,
    )
    assert error <= allowed + 1e-9
    assert paid == pytest.approx(every[every[:, 1] <= allowed + 1e-9, 0].min(), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_least_error_of_every_number_of_leaves(seed):
    """A multiway tree of some twenty leaves: no k leaves err less than those of k + 1, and k
    leaves are at most k.
    """
    table = toy_table(seed, 60, TreeParts(weighted=False))
    tree = slow_tree(toy_objects(table))
    found = [
        OptimalSubtree(max_price=float(k)).prune(tree, table, None)
        for k in range(1, tree.n_leaves + 1)
    ]
    wrong = [(one.predict(table) != table.target.codes).sum() for one in found]
    assert all(one.n_leaves <= k for k, one in enumerate(found, 1)) and wrong == sorted(
        wrong, reverse=True
    )
    assert wrong[-1] == (tree.predict(table) != table.target.codes).sum()


def test_validation_rows_may_judge():
    kind = TreeParts(weighted=False)
    train, valid = toy_table(2, 60, kind), toy_table(32, 60, kind)
    tree = slow_tree(toy_objects(train), max_depth=4)
    pruner = OptimalSubtree(rows="validation")
    assert pruner.needs_validation and not OptimalSubtree().needs_validation
    wrong = (pruner.prune(tree, train, valid).predict(valid) != valid.target.codes).mean()
    assert wrong == pytest.approx(every_subtree(tree, valid, train, "leaves")[:, 1].min())


def test_bits_are_those_of_the_code():
    """Three rows of one class and one of the other: C(5, 1) · C(4, 1) = 20 ways; a threshold is
    one of three on one column.
    """
    table = toy_table(0, kind=TreeParts(weighted=False, multiclass=False))
    column = attrs.evolve(table.columns[0], values=np.array([0.0, 1.0, 2.0, 3.0]))
    table = attrs.evolve(table.take(np.arange(4)), columns=(column,))
    tree = slow_tree(
        toy_objects(
            attrs.evolve(
                table, target=attrs.evolve(table.target, codes=np.array([0, 0, 0, 1], np.int32))
            )
        )
    )
    leaf, test = prices_of_nodes(tree, table, "mdl")
    assert leaf[0] == pytest.approx(1 + np.log2(20)) and test[0] == pytest.approx(1 + np.log2(3))


def test_a_run_verifies_the_shortest_description():
    record = arboretum.run(
        ["dataset=wdbc", "method=cart", "pruner=optimal_subtree", "pruner.price=mdl"]
    )
    assert (
        record.checked["weights, counts, labels, prices"] == "every node"
        and 1 < record.tree.n_leaves < 15
    )
