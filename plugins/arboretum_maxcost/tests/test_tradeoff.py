"""Trade-off curves: one pass over a tree is what growing anew with every δ, α or budget gives."""

from __future__ import annotations

import csv
import io

import attrs
import numpy as np
import pytest

from arboretum.api import CapabilityError, Context, Problem
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum_maxcost.greedy.tradeoff import (
    Curve,
    TradeOff,
    curve_over_alpha,
    curve_over_budget,
    curve_over_delta,
    hinge_values,
    stop_at_impurity,
)
from arboretum_maxcost.paper.study import Measured

FUNCTIONS = [
    ("pairs", {}),
    ("powers", {"l": 3}),
    ("powers", {"l": 5}),
    ("hinged_pairs", {"alpha": 1.0}),
]


@pytest.fixture(scope="module")
def services() -> RegistryFactory:
    return RegistryFactory(load_registry())


def problem_of(
    services, impurity, fields, seed, cost="unit", encoder="multiway", n_rows=60
) -> Problem:
    """A random table of four columns of three values and three classes, as a problem of
    GREEDYTREE.
    """
    table = services.component("dataset", "random_table", {"n_rows": n_rows, "n_columns": 4}).load(
        seed
    )
    values = {f"impurity.{name}": value for name, value in fields.items()}
    parts = services.parts(
        {
            "method": "greedy",
            "criterion": "worst_case",
            "impurity": impurity,
            "stopping": ["impurity"],
            "cost": cost,
        },
        values,
    )
    objects = services.component("encoder", encoder, {"coalesce": "one"}).encode(
        table, table, raw_thresholds=False, seed=0
    )
    return Problem(objects, parts.cost.price_list(objects, seed), parts)


def grow(problem: Problem, delta: float = 0.0):
    stopping = tuple(attrs.evolve(rule, delta=delta) for rule in problem.parts.stopping)
    return problem.parts.method.fit(
        attrs.evolve(problem, parts=attrs.evolve(problem.parts, stopping=stopping)), Context()
    ).tree


def measures(curve: Curve, place: int) -> tuple[float, ...]:
    return tuple(
        float(getattr(curve, name)[place])
        for name in ("max_cost", "error", "expected_cost", "n_leaves")
    )


def measured(tree, objects) -> tuple[float, ...]:
    """By walking every object down."""
    found = Measured.walk(tree, objects)
    return (
        found.max_cost,
        found.errors / objects.n_objects,
        found.expected_cost,
        float(found.leaves),
    )


@pytest.mark.parametrize("impurity, fields", FUNCTIONS)
@pytest.mark.parametrize(
    "cost, encoder", [("unit", "multiway"), ("random", "multiway"), ("random", "onehot")]
)
def test_one_pass_is_growing_with_every_delta(services, impurity, fields, cost, encoder):
    for seed in range(4):
        problem = problem_of(services, impurity, fields, seed, cost, encoder)
        curve = curve_over_delta(grow(problem))
        assert (np.diff(curve.at) < 0).all() and curve.at[-1] == 0.0
        for place, delta in enumerate(curve.at.tolist()):
            expected = measured(grow(problem, delta), problem.objects)
            assert measures(curve, place) == pytest.approx(expected, rel=1e-12, abs=1e-12), (
                f"seed {seed}, δ = {delta}"
            )


def test_between_two_of_its_deltas_the_tree_is_that_of_the_smaller_one(services):
    problem = problem_of(services, "pairs", {}, 7)
    tree = grow(problem)
    curve = curve_over_delta(tree)
    for place in range(1, len(curve)):
        between = (curve.at[place] + curve.at[place - 1]) / 2
        assert stop_at_impurity(tree, between) == stop_at_impurity(tree, float(curve.at[place]))


def test_a_tree_cut_at_delta_is_the_one_that_is_grown_with_it(services):
    problem = problem_of(services, "powers", {"l": 4}, 3)
    tree = grow(problem)
    for delta in curve_over_delta(tree).at.tolist():
        # rules may be numbered otherwise
        assert stop_at_impurity(tree, delta).to_text() == grow(problem, delta).to_text()


@pytest.mark.parametrize("cost", ["unit", "random"])
def test_within_a_budget_no_path_pays_more(services, cost):
    problem = problem_of(services, "pairs", {}, 5, cost)
    tree = grow(problem)
    due = np.array(
        [
            tree.price_to[np.append(tree.children(v)[tree.children(v) >= 0], v)].max()
            for v in range(tree.n_nodes)
        ]
    )
    curve = curve_over_budget(tree)
    for place, budget in enumerate(curve.at.tolist()):
        cut = tree.cut(np.flatnonzero(due > budget))
        assert measures(curve, place) == pytest.approx(
            measured(cut, problem.objects), rel=1e-12, abs=1e-12
        )
        assert curve.max_cost[place] <= budget


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize(
    "cost, encoder", [("unit", "multiway"), ("random", "multiway"), ("unit", "onehot")]
)
def test_a_sweep_over_alpha_is_growing_with_each(services, cost, encoder, squared):
    """The compiled form against the criterion and the impurity that it stands for; whole and
    other α.
    """
    for seed in range(2):
        problem = problem_of(
            services, "hinged_pairs", {"subtract_square": squared}, seed, cost, encoder, n_rows=70
        )
        alphas = [0.0, 0.5, 1.0, 2.25, 5.0, 40.0]
        curve = curve_over_alpha(problem, alphas)
        for place, alpha in enumerate(alphas):
            impurity = attrs.evolve(problem.parts.impurity, alpha=alpha)
            tree = grow(attrs.evolve(problem, parts=attrs.evolve(problem.parts, impurity=impurity)))
            assert measures(curve, place) == pytest.approx(
                measured(tree, problem.objects), rel=1e-12, abs=1e-12
            ), f"seed {seed}, α = {alpha}"


@pytest.mark.parametrize("weights", [[30, 30], [40, 7, 12], [5, 0, 9], [12, 0], [1, 1]])
@pytest.mark.parametrize("squared", [True, False])
def test_the_hinges_end_where_the_root_becomes_a_leaf(services, weights, squared):
    weights = np.array(weights, float)
    alphas = hinge_values(weights, subtract_square=squared)
    fields = {"subtract_square": squared}
    value = [
        float(
            services.component("impurity", "hinged_pairs", {"alpha": alpha, **fields}).value(
                weights
            )
        )
        for alpha in alphas
    ]
    assert alphas[0] == 0.0 and value[-1] == 0.0 and all(v > 0.0 for v in value[:-1])
    assert set(hinge_values(weights, 10)) <= set(np.linspace(0.0, weights.sum() / 2, 11))


def test_the_lowest_errors_are_those_that_no_cheaper_tree_has():
    draw = np.random.default_rng(0)
    for _ in range(50):
        cost, error = draw.integers(0, 6, 12).astype(float), draw.integers(0, 9, 12) / 9.0
        curve = Curve("delta", np.arange(12.0), cost, error, cost, np.ones(12, np.int64))
        kept = curve.lowest()
        assert (np.diff(cost[kept]) > 0).all() and (np.diff(error[kept]) < 0).all()
        for budget in np.arange(-1.0, 7.0, 0.5):
            within = error[cost <= budget]
            found = float(curve.error_within([budget])[0])
            assert np.isnan(found) if not len(within) else found == within.min()


def test_the_export_has_a_line_per_delta(services):
    tree = grow(problem_of(services, "pairs", {}, 1))
    header, *rows = csv.reader(io.StringIO(TradeOff().write(tree)))
    curve = curve_over_delta(tree)
    assert header == ["delta", "max_cost", "error", "expected_cost", "n_leaves"]
    assert [float(row[0]) for row in rows] == curve.at.tolist() and [
        float(row[2]) for row in rows
    ] == curve.error.tolist()


def test_a_curve_says_what_it_needs(services):
    with pytest.raises(CapabilityError, match="impurity=hinged_pairs"):
        curve_over_alpha(problem_of(services, "pairs", {}, 0), [1.0])
    with pytest.raises(CapabilityError, match="impurity=pairs"):
        tree = grow(problem_of(services, "pairs", {}, 0))
        curve_over_delta(attrs.evolve(tree, impurity=np.full(tree.n_nodes, np.nan)))
