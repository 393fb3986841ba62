"""Pruners: their suite, what they cut by hand-made counts, and runs that verify what they leave."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import given, strategies as st

import arboretum
from arboretum.api import CapabilityError, Task, Tree
from arboretum.testing import PrunerSuite
from arboretum.testing.effort import examples
from arboretum.testing.oracles import slow_tree
from arboretum.testing.tables import TreeParts, toy_objects, toy_table
from arboretum_classic.pruning.complexity_path import own_weights
from arboretum_classic.pruning.pruners import ErrorBased, MEstimate, Pessimistic, ReducedError

BY_CLASSES = [
    ErrorBased(raising=False),
    ErrorBased(raising=False, estimate="exact", margin=0.0),
    Pessimistic(),
    MEstimate(),
    MEstimate(m=2.0, prior="training"),
]


class TestErrorBasedWithoutRaising(PrunerSuite):
    component = ErrorBased(raising=False)


def kept_paths(tree: Tree) -> set[tuple[tuple[str, int], ...]]:
    """Every node by the tests and outcomes that lead to it."""
    return {
        tuple((tree.rule(v).describe(), k) for v, k in tree.path(node))
        for node in range(tree.n_nodes)
    }


@examples(60)
@given(st.data())
def test_what_is_left_is_a_subtree_of_what_was_grown(data):
    table = data.draw(tables(task=Task.classification))
    tree = data.draw(trees(table))
    for pruner in (*BY_CLASSES, ReducedError(tolerance=0.1)):
        pruned = pruner.prune(tree, table, table)
        assert kept_paths(pruned) <= kept_paths(tree)
        assert pruned.label[0] == tree.label[0] and np.array_equal(
            pruned.weights[0], tree.weights[0]
        )


@examples(60)
@given(st.data())
def test_what_rests_and_the_leaves_are_all_rows(data):
    table = data.draw(tables(task=Task.classification))
    tree = data.draw(trees(table))
    assert own_weights(tree).sum(axis=0) == pytest.approx(tree.weights[0], abs=1e-9)


def counted(left: list[float], right: list[float]) -> Tree:
    """A root with two leaves of these class weights."""
    table = toy_table(0, kind=TreeParts(weighted=False, multiclass=False))
    tree = slow_tree(toy_objects(table), max_depth=1)
    weights = np.array([np.add(left, right), left, right])
    return attrs.evolve(
        tree, weights=weights, counts=weights.sum(axis=1), label=weights.argmax(axis=1)
    )


def test_pessimistic_compares_half_an_error_more_per_leaf_within_one_standard_error():
    # below: 1 + 2 errors and two halves, 4 of 40: one standard error is √(4 · 36 / 40) = 1.897; the
    # leaf has 5 + ½ or 6 + ½
    assert Pessimistic().prune(counted([19, 1], [16, 4]), None, None).n_leaves == 1, (
        "5.5 ≤ 5 + √(5 · 35 / 40) + …"
    )
    tree = counted([18, 2], [3, 17])
    assert Pessimistic().prune(tree, None, None).n_leaves == 2
    # the leaf errs 6.5 times; below are 3 errors and 2 halves: 4 + s · 1.897
    edge = counted([33, 2], [1, 4])
    below = 3 + 2 * 0.5
    spread = math.sqrt(below * (40 - below) / 40)
    assert (
        Pessimistic(standard_errors=(6.5 - below) / spread + 1e-9).prune(edge, None, None).n_leaves
        == 1
    )
    assert (
        Pessimistic(standard_errors=(6.5 - below) / spread - 1e-9).prune(edge, None, None).n_leaves
        == 2
    )


def test_the_m_estimate_is_that_of_the_definition():
    # Laplace (two classes): root 7 : 5 of 12 errs (5 + 1) / 14; leaves 6 : 2 and 1 : 3 err (2 + 1)
    # / 10 and (1 + 1) / 6
    assert 12 * 6 / 14 > 8 * 3 / 10 + 4 * 2 / 6
    tree = counted([6, 2], [1, 3])
    assert MEstimate().prune(tree, None, None).n_leaves == 2
    # by the training prior 7/12, m = 40: the leaf of the minority class costs 4 (1 + 40 · 7/12) /
    # 44
    leaf, left, right = (
        n * (wrong + 40 * other) / (n + 40)
        for n, wrong, other in ((12, 5, 5 / 12), (8, 2, 5 / 12), (4, 1, 7 / 12))
    )
    assert (
        leaf < left + right
        and MEstimate(m=40.0, prior="training").prune(tree, None, None).n_leaves == 1
    )
    assert MEstimate(m=0.0, prior="training").prune(tree, None, None).n_leaves == 2


@pytest.mark.parametrize("task", list(Task))
@pytest.mark.parametrize("seed", range(4))
def test_reduced_error_leaves_no_cut_that_would_not_raise_the_validation_error(seed, task):
    kind = TreeParts(weighted=False, task=task)
    tree, valid = slow_tree(toy_objects(toy_table(seed, 40, kind))), toy_table(seed + 70, 40, kind)

    def error(one: Tree) -> float:
        wrong = (
            one.predict(valid) != valid.target.codes
            if task is Task.classification
            else (one.predict(valid) - valid.target.values) ** 2
        )
        return float(wrong.sum())

    pruned = ReducedError().prune(tree, None, valid)
    assert error(pruned) <= error(tree) + 1e-9
    assert all(
        error(pruned.cut([node])) > error(pruned) + 1e-9 for node in np.flatnonzero(~pruned.is_leaf)
    )
    assert ReducedError(tolerance=1e9).prune(tree, None, valid).n_nodes == 1


def test_a_tolerance_is_what_one_cut_may_cost():
    kind = TreeParts(weighted=False)
    tree, valid = slow_tree(toy_objects(toy_table(4, 60, kind))), toy_table(24, 60, kind)
    sizes = [
        ReducedError(tolerance=share / 60 + 1e-12).prune(tree, None, valid).n_leaves
        for share in range(6)
    ]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[-1] > 1


def test_estimates_of_errors_are_for_classes_and_validation_needs_rows():
    table = toy_table(0, kind=TreeParts(task=Task.regression))
    tree = slow_tree(toy_objects(table))
    for pruner in (ErrorBased(), ErrorBased(raising=False), Pessimistic(), MEstimate()):
        with pytest.raises(
            CapabilityError,
            match=(
                f"pruner {pruner.name} counts errors.* use pruner=cost_complexity or reduced_error"
            ),
        ):
            pruner.prune(tree, table, None)
    with pytest.raises(CapabilityError, match="there are none; use split=holdout"):
        ReducedError().prune(tree, table, table.take(np.arange(0)))


RUNS = [
    "pruner=error_based",
    "pruner=error_based pruner.raising=false",
    "pruner=pessimistic",
    "pruner=m_estimate",
    "pruner=reduced_error",
]


@pytest.mark.parametrize("pruner", RUNS)
def test_a_run_verifies_what_is_left(pruner):
    record = arboretum.run(
        ["dataset=wdbc", "method=id3", "encoder=auto", "split=holdout", *pruner.split()]
    )
    assert (
        record.checked["weights, counts, labels, prices"] == "every node"
        and record.checked["impurity"] == "every node"
    )
    assert any(note.startswith(f"pruner {pruner.split()[0][7:]} leaves") for note in record.notes)


def test_a_run_that_raises_among_missing_values_states_the_impurity_of_the_rows_that_came(tmp_path):
    """Rows in shares below a raised branch: weights, counts, labels and impurities are computed
    again from all rows.
    """
    table, path = toy_table(1, 300, TreeParts(missing=True, weighted=False)), tmp_path / "toy.csv"
    cells = [
        np.array([*c.categories, ""])[c.values]
        if c.categories
        else np.where(c.missing, "", c.values)
        for c in table.columns
    ]
    rows = zip(*cells, (table.target.classes[k] for k in table.target.codes), strict=True)
    path.write_text(
        "\n".join([",".join([*(c.name for c in table.columns), "y"]), *map(",".join, rows)])
    )
    words = [
        "dataset=file",
        f"dataset.path={path}",
        "dataset.target=y",
        "method=id3",
        "missing=fractional",
        "encoder=auto",
    ]
    record = arboretum.run([*words, "pruner=error_based", "pruner.margin=1"])
    scores = record.tree.score[~record.tree.is_leaf]
    assert np.isnan(scores).any() and record.checked["impurity"] == "every node"
    assert (record.tree.counts != np.rint(record.tree.counts)).any()
