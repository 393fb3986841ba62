"""Subtree raising: the kernel against its slow twin, and the tree it leaves against the rows."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import given, settings, strategies as st
from slow_raising import Raising, extra_errors as extra_of, preorder

import arboretum
from arboretum.api import (
    Bins,
    CapabilityError,
    Column,
    ColumnKind,
    Equals,
    Surrogate,
    Table,
    Target,
    Task,
    Threshold,
)
from arboretum.engine.verify import check_tree
from arboretum.testing.effort import examples
from arboretum.testing.oracles import build_tree, slow_tree
from arboretum.testing.tables import TreeParts, bare_objects, toy_objects, toy_table
from arboretum_classic.pruning import raising as pruning_raising
from arboretum_classic.pruning.kernels import extra_errors
from arboretum_classic.pruning.pruners import ErrorBased

ESTIMATES = ("normal", "table", "exact")


@pytest.mark.parametrize(
    ("n", "e", "limit"), [(6, 0, 0.2063), (9, 0, 0.1428), (1, 0, 0.75), (16, 1, 0.1596)]
)
def test_the_exact_limit_is_that_of_the_binomial(n, e, limit):
    """The lecture's four; Quinlan prints .157 for the last, of his table."""
    told = ErrorBased(estimate="exact").limit
    assert (e + extra_errors(float(n), float(e), told)) / n == pytest.approx(limit, abs=5e-5)
    assert (e + extra_of(n, e, told)) / n == pytest.approx(limit, abs=5e-5)


@settings(deadline=None)
@given(st.sampled_from(ESTIMATES), st.floats(0.01, 0.5), st.floats(0.0, 1e5), st.floats(0.0, 1.0))
def test_the_compiled_estimate_equals_its_twin_and_grows_with_the_errors(
    estimate, confidence, n, share
):
    limit, e = ErrorBased(confidence, estimate=estimate).limit, share * n
    found = extra_errors(n, e, limit)
    assert found == pytest.approx(float(extra_of(n, e, limit)), abs=1e-9 * max(n, 1.0))
    more = np.linspace(0.0, n, 7)
    # C4.5 adds 0.67 of the rows without error where hardly any is, and so falls there
    if estimate != "table":
        assert (np.diff(more + extra_of(n, more, limit)) >= -1e-9 * max(n, 1.0)).all()
    assert 0.0 <= found <= n


def test_the_deviate_of_the_table_is_that_of_c45():
    assert ErrorBased(estimate="table").limit.z == pytest.approx(0.6925)
    assert ErrorBased().limit.z == pytest.approx(0.6744897501960817, abs=1e-12)


def told(nodes) -> list[tuple[int, list[float]]]:
    return [(origin, np.round(weights, 9).tolist()) for origin, weights in nodes]


def both_ways(tree, table, pruner) -> None:
    """The kernel's tree is that of the twin, and its weights, counts and labels are those of the
    rows.
    """
    slow = list(preorder(Raising(tree, table, pruner.limit, pruner.margin).pruned()))
    found = pruner.prune(tree, table, None)
    rules = [None if node.origin < 0 else tree.rule(node.origin) for node in slow]
    assert [None if found.is_leaf[v] else found.rule(v) for v in range(found.n_nodes)] == rules
    assert found.weights == pytest.approx(np.array([node.weights for node in slow]), abs=1e-9)
    check_tree(found, bare_objects(table), table)


@examples(150)
@given(st.data())
def test_the_kernel_prunes_and_raises_as_its_twin(data):
    table = data.draw(tables(task=Task.classification))
    tree = data.draw(trees(table, max_depth=4))
    margin = data.draw(st.sampled_from([0.0, 0.1, 0.7, 2.0]))
    both_ways(
        tree,
        table,
        ErrorBased(
            data.draw(st.sampled_from([0.05, 0.25, 0.5])),
            estimate=data.draw(st.sampled_from(ESTIMATES)),
            margin=margin,
        ),
    )


def test_a_tree_larger_than_a_dozen_rows_is_raised_as_the_twin_does():
    """Toy tables that are half noise, with missing values that split rows; some branch is raised
    in most of them.
    """
    raised = 0
    for seed in range(12):
        table = toy_table(seed, n_rows=70, kind=TreeParts(weighted=seed % 2 == 0, missing=False))
        tree = slow_tree(toy_objects(table))
        both_ways(tree, table, ErrorBased(margin=0.5))
        found = ErrorBased(margin=0.5).prune(tree, table, None)
        raised += bool(
            np.isnan(found.score[~found.is_leaf]).any() or np.isnan(found.impurity).any()
        )
    assert raised >= 6


def table_of(columns: dict[str, list], classes: list[int], **more) -> Table:
    """Columns of numbers, or of letters."""
    found = []
    for name, values in columns.items():
        letters = isinstance(values[0], str)
        codes = ["abc".index(v) for v in values] if letters else np.array(values, float)
        found.append(
            Column(
                name,
                ColumnKind.categorical if letters else ColumnKind.continuous,
                np.array(codes),
                ("a", "b", "c") * letters,
            )
        )
    return Table(
        "t",
        tuple(found),
        Target("y", Task.classification, np.array(classes, np.int32), ("no", "yes")),
        **more,
    )


def test_the_branch_that_is_raised_has_a_leaf_for_values_that_only_the_other_had():
    """u ≤ 0 has two rows of value c; the other branch asks v, where no row says c: raised, it
    has a branch for them.
    """
    table = table_of(
        {"u": [0, 0] + [1] * 20, "v": ["c", "c"] + ["a"] * 10 + ["b"] * 10},
        [1, 1] + [0] * 10 + [1] * 10,
    )
    objects = attrs.evolve(bare_objects(table))
    features = toy_objects(table)
    tree = build_tree(features, (0, {0: None, 1: (1, {0: None, 1: None})}))
    found = ErrorBased(margin=2.0, confidence=0.25).prune(tree, table, None)
    assert found.n_leaves == 3 and found.rule(0).columns == ("v",)
    assert found.children(0).tolist() == [1, 2, 3] and found.weights[3].tolist() == [0.0, 2.0]
    check_tree(found, objects, table)


def test_a_column_paid_by_the_test_that_went_is_paid_where_it_is_asked_first():
    table = table_of({"x": [*range(12)]}, [1] + [0] * 5 + [1] * 6)
    tree = build_tree(toy_objects(table), (0, {0: None, 1: (5, {0: None, 1: None})}))
    # cost=once: x is known below the root
    tree = attrs.evolve(tree, price=np.where(np.arange(tree.n_nodes) == 0, 3.0, 0.0))
    found = ErrorBased(margin=2.0).prune(tree, table, None)
    assert found.rule(0) == Threshold("x", 5.5) and found.price.tolist() == [3.0, 0.0, 0.0]


def test_what_raising_cannot_count_is_refused_with_the_way_out():
    table = table_of({"x": [0, 1, 2, 3]}, [0, 0, 1, 1])
    tree = build_tree(toy_objects(table), (0, {0: None, 1: (1, {0: None, 1: None})}))
    other = attrs.evolve(table, weights=np.full(4, 2.0))
    with pytest.raises(CapabilityError, match="the rows weigh .* say pruner.raising=false"):
        ErrorBased().prune(tree, other, None)
    assert ErrorBased(raising=False).prune(tree, other, None).n_nodes > 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            [
                "dataset=play-tennis",
                "cost=set_up",
                "cost.groups={outlook: g}",
                "cost.set_up={g: 2}",
            ],
            "depends on what was asked above",
        ),
        (
            ["dataset=monk1-full", "objective=expected_loss", "objective.priors=[0.2,0.8]"],
            "the rows weigh",
        ),
    ],
    ids=["prices of a path", "weights of an objective"],
)
def test_it_is_refused_before_anything_grows(more, said, monkeypatch):
    monkeypatch.setattr(
        "arboretum_classic.c45.growth.Quinlan.fit",
        lambda self, problem, context: pytest.fail("it has grown"),
    )
    with pytest.raises(
        CapabilityError, match=f"pruner error_based.*{said}.* say pruner.raising=false"
    ):
        arboretum.run(["method=c45", "split=none", "tracker=none", *more])


def test_surrogates_stand_in_below_a_raised_branch():
    table = table_of(
        {
            "u": [0] * 2 + [1] * 12,
            "v": [1, np.nan] + [0] * 6 + [1] * 6,
            "w": ["b", "b"] + ["a"] * 6 + ["b"] * 6,
        },
        [1, 1] + [0] * 6 + [1] * 6,
    )
    tree = build_tree(toy_objects(table), (0, {0: None, 1: (1, {0: None, 1: None})}))
    asks = next(v for v in range(tree.n_nodes) if v and not tree.is_leaf[v])
    rules = (*tree.rules, Equals("w", "a"))
    tree = attrs.evolve(
        tree,
        rules=rules,
        surrogates=(Surrogate(asks, len(rules) - 1, (0, 1)),),
        missing_child=np.where(tree.is_leaf, -1, 0),
    )
    both_ways(tree, table, ErrorBased(margin=2.0))
    found = ErrorBased(margin=2.0).prune(tree, table, None)
    assert (
        found.n_leaves == 2
        and found.counts.tolist() == [14.0, 6.0, 8.0]
        and found.surrogates[0].node == 0
    )


@pytest.mark.parametrize(
    "rule", [Threshold("x", 1.5), Bins("x", (0.5, 2.5)), Bins("x", (0.5,), True), Equals("x", None)]
)
def test_rules_as_tables_answer_as_they_do(rule):
    table = table_of({"x": [0.0, 0.5, 1.5, 2.0, 2.5, 3.0, np.nan]}, [0, 1] * 3 + [1])
    coded, number, edges, outcome = pruning_raising.RuleTables(table).of(rule)
    values = table.columns[0].values
    found = np.where(np.isnan(values), outcome[-1], outcome[np.searchsorted(edges, values)])
    assert (
        not coded and number == 0 and found.tolist() == rule.outcomes(table, np.arange(7)).tolist()
    )
