"""The combination of two trees: both inequalities, for any two trees, prices and ρ; and what it
becomes at either end.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

import arboretum
from arboretum.api import CapabilityError, ConfigError, Context, Parts, Prices, Problem, grow
from arboretum.testing.effort import examples
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import toy_objects, toy_table
from arboretum_classic.criteria.criteria import Reduction
from arboretum_maxcost.greedy.combination import Combined, combine_trees
from arboretum_maxcost.greedy.criteria import EG2, WorstCase
from arboretum_maxcost.greedy.exact import error_and_costs_of
from arboretum_maxcost.greedy.impurities import HingedPairs, Powers

CRITERIA = [WorstCase(), EG2(), EG2(w=4.0), Reduction()]
SLACK = 1 + 1e-12  # sums of at most a hundred prices


@st.composite
def problems(draw):
    """A toy table with drawn decimal prices, paid each time, once per column, or falling on the
    way down.
    """
    objects = toy_objects(
        toy_table(draw(st.integers(0, 40)), draw(st.integers(6, 40))), multiway=draw(st.booleans())
    )
    n, n_raw = int(objects.test_offset[-1]), len(objects.raw_features)
    drawn = np.random.default_rng(draw(st.integers(0, 10**6))).choice(
        [0.1, 0.3, 1.0, 2.0, 7.0], n + n_raw
    )
    columns = [f.column for f in objects.features for _ in range(f.n_tests)] + [
        f.column for f in objects.raw_features
    ]
    once = draw(st.booleans())
    # a column that is paid once has one price
    drawn = drawn[[columns.index(name) for name in columns]] if once else drawn
    prices = Prices(drawn[:n], drawn[n:], once)
    if draw(st.booleans()):
        prices = attrs.evolve(
            prices, after=lambda asked, paid=0.0: Prices(drawn[:n] / 2, drawn[n:] / 2)
        )
    return Problem(objects, prices, Parts(method=None, criterion=WorstCase(), impurity=Powers()))


def grown(problem, criterion):
    return grow(
        attrs.evolve(problem, parts=attrs.evolve(problem.parts, criterion=criterion)), Context()
    )


@examples(150)
@given(
    problem=problems(),
    one=st.sampled_from(CRITERIA),
    other=st.sampled_from(CRITERIA),
    rho=st.sampled_from([0.05, 0.3, 0.5, 1.0, 1.7, 4.0, 100.0]),
)
def test_both_bills_are_bounded_whatever_the_trees(problem, one, other, rho):
    worst, expected = grown(problem, one), grown(problem, other)
    tree = combine_trees(worst.tree, expected.tree, problem, rho)
    verify_solution(attrs.evolve(worst, tree=tree), problem)
    (error, most, _), (same, _, mean), (found, costliest, average) = (
        error_and_costs_of(each, problem.objects) for each in (worst.tree, expected.tree, tree)
    )
    assert costliest <= (1 + rho) * most * SLACK
    assert average <= (1 + 1 / rho) * mean * SLACK
    assert found == pytest.approx(min(error, same), abs=1e-12), (
        "trees without error that tests can avoid stay so"
    )
    each, table = problem.objects.table, expected.tree.prices_paid(problem.objects.table)
    paid = tree.prices_paid(each)
    stays = table <= rho * most
    assert (paid[stays] <= table[stays] * SLACK).all() and (
        paid[~stays] <= (1 + 1 / rho) * table[~stays] * SLACK
    ).all(), "row by row"


@examples(60)
@given(problem=problems())
def test_a_large_rho_keeps_the_second_tree_and_a_small_one_the_first(problem):
    worst, expected = (grown(problem, criterion).tree for criterion in (WorstCase(), EG2()))
    assert (
        combine_trees(worst, expected, problem, 1e6).prices_paid(problem.objects.table).tolist()
        == expected.prices_paid(problem.objects.table).tolist()
    )
    tiny = combine_trees(worst, expected, problem, 1e-9)
    assert (
        tiny.prices_paid(problem.objects.table).tolist()
        == worst.prices_paid(problem.objects.table).tolist()
    )


def test_between_the_ends_it_is_neither():
    chosen = ["method=two_trees", "dataset=monk2-full", "split=none", "tracker=none", "cost=random"]
    found = {rho: arboretum.run([*chosen, f"method.rho={rho}"]) for rho in (0.1, 0.5, 100)}
    shapes = {
        rho: (record.metrics["max_cost"], record.metrics["expected_cost"], record.tree.n_nodes)
        for rho, record in found.items()
    }
    assert len(set(shapes.values())) == 3, shapes
    assert all(record.verified and record.metrics["train_error"] == 0 for record in found.values())
    assert any(
        "expected cost" in note and "that of the second" in note for note in found[0.5].notes
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            ["cost=by_outcome", "cost.prices={a5: {1: 3}}"],
            "promises nothing where prices differ by outcome",
        ),
        (["stopping=[max_cost]", "stopping.max_cost.limit=3"], "keeps no max_cost"),
        (["stopping=[standard]", "stopping.standard.max_leaves=3"], "no max_leaves"),
    ],
)
def test_what_it_cannot_promise_is_refused(more, said):
    with pytest.raises(CapabilityError, match=said):
        arboretum.run(
            ["method=two_trees", "dataset=monk2-full", "split=none", "tracker=none", *more]
        )


def test_rho_is_positive_and_the_criterion_one_of_three():
    for rho in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="rho must be"):
            Combined(rho=rho)
    with pytest.raises(
        ConfigError, match="method.expected: unknown criterion 'ed2'; did you mean 'eg2'"
    ):
        Combined(expected="ed2")


def test_a_leaf_rule_by_impurity_is_kept_where_the_impurity_is_monotone():
    """Leaves of the combination are parts of leaves of one of the trees."""
    chosen = [
        "method=two_trees",
        "dataset=monk2-full",
        "split=none",
        "tracker=none",
        "cost=random",
        "stopping=[impurity]",
    ]
    record = arboretum.run(
        [
            *chosen,
            "impurity=hinged_pairs",
            "impurity.alpha=2",
            "stopping.impurity.delta=3",
            "method.rho=0.5",
        ]
    )
    leaves = record.tree.weights[record.tree.is_leaf]
    assert record.verified and HingedPairs(2.0).value(leaves).max() <= 3
