"""Fronts equal those of all trees, listed one by one; a search that is cut short keeps trees,
and a bound that holds.
"""

from __future__ import annotations

import time

import attrs
import numpy as np
import pytest
from front_truth import Held, random_problem, true_front

import arboretum
from arboretum.api import (
    CapabilityError,
    ConfigError,
    Context,
    LeafRule,
    Limits,
    OutOfTime,
    Parts,
    Status,
)
from arboretum.engine.verify import check_tree, complexities, errors
from arboretum.testing import SolverSuite
from arboretum.testing.effort import tries
from arboretum_maxcost.fronts.solver import FrontSolver, spread_evenly
from arboretum_maxcost.optimal.budgeted import pareto_step_function

AXES = [
    ("error", "expected_cost"),
    ("error", "max_cost"),
    ("error", "n_leaves"),
    ("error", "depth"),
    ("error", "expected_cost", "leaves"),
    ("error", "max_cost", "leaves"),
]
LIMITS = [
    Limits(),
    Limits(max_depth=1),
    Limits(max_depth=2),
    Limits(max_leaves=3),
    Limits(min_leaf=2),
    Limits(max_depth=2, max_leaves=3),
]
RULES = [LeafRule(), LeafRule(min_split=4), LeafRule(theta=0.4)]


def solved(problem, axes, context=Context()):
    return FrontSolver(axes=axes).solve(problem, context)


def check_points(problem, front):
    """Every tree is one, and has the values of its point; once the time is up some points have
    none, but never the most accurate.
    """
    assert front.most_accurate.tree is not None
    for point in (point for point in front.points if point.tree is not None):
        tree, arrived, _ = check_tree(point.tree, problem.objects, problem.objects.table)
        known = {
            **complexities(tree, problem.objects, arrived),
            **errors(tree, problem.objects.table, arrived.places),
        }
        np.testing.assert_allclose(point.values, [known[axis] for axis in front.axes], atol=1e-12)


@pytest.mark.parametrize("axes", AXES, ids=" ".join)
def test_the_front_is_that_of_all_trees(axes):
    for seed in range(tries(100)):
        problem = random_problem(seed)
        found = solved(problem, axes)
        np.testing.assert_allclose(
            [p.values for p in found.front.points],
            true_front(problem, found.front.axes[1], len(axes)),
            atol=1e-9,
        )
        assert found.status is Status.optimal and found.front.gap == 0.0
        check_points(problem, found.front)


class TestConformance(SolverSuite):
    """Of the most accurate tree."""

    @pytest.fixture
    def component(self):
        return FrontSolver()

    @pytest.fixture
    def parts(self, component):
        return Parts(method=None, solver=component)

    @pytest.fixture
    def value(self):
        return lambda tree, problem: float(
            (tree.weights.sum(axis=1) - tree.weights.max(axis=1))[tree.is_leaf].sum()
            / problem.objects.weight.sum()
        )


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_front_is_that_of_all_trees_within_limits(limits, rule):
    for seed in range(100, 112):
        problem, axes = random_problem(seed, rule=rule, held=limits), AXES[seed % len(AXES)]
        found = solved(problem, axes)
        np.testing.assert_allclose(
            [p.values for p in found.front.points],
            true_front(problem, found.front.axes[1], len(axes)),
            atol=1e-9,
        )
        check_points(problem, found.front)


@pytest.mark.parametrize("axes", AXES, ids=" ".join)
def test_a_search_without_time_keeps_greedy_trees_and_a_bound_that_holds(axes):
    open_gaps = 0
    for seed in range(200, 200 + tries(100)):
        problem = random_problem(seed, most_rows=9)
        short = solved(problem, axes, Context(deadline=time.monotonic()))
        exact = solved(problem, axes)
        check_points(problem, short.front)
        for point in exact.front.points:
            assert any(np.less_equal(corner, point.values).all() for corner in short.front.bound), (
                "no tree is below the bound"
            )
        worst = max(
            short.front.error_within(p.values[1:]) - p.values[0] for p in exact.front.points
        )
        assert worst <= short.front.gap + 1e-12
        open_gaps += short.front.gap > 0
    assert open_gaps, "some of these tables are not solved by greedy trees alone"


def test_interrupted_it_keeps_the_front_of_the_rounds_before():
    def stop(done, total, message):
        if message.endswith("round 1"):
            raise KeyboardInterrupt(15)

    axes = ("error", "expected_cost")
    drawn = (random_problem(seed, most_rows=9) for seed in range(200, 240))
    problem = next(
        one for one in drawn if solved(one, axes, Context(deadline=time.monotonic())).front.gap > 0
    )
    found, truth = solved(problem, axes, Context(progress=stop)), solved(problem, axes)
    assert found.interrupted.args == (15,) and not found.finished and found.details["rounds"] == 0
    check_points(problem, found.front)
    for point in truth.front.points:
        assert any(
            all(np.less_equal(corner, np.add(point.values, 1e-12))) for corner in found.front.bound
        )


def test_the_tree_of_a_run_is_the_most_accurate_and_of_those_the_cheapest():
    for seed in range(20):
        problem = random_problem(seed)
        found = solved(problem, AXES[0])
        assert found.tree is found.front.most_accurate.tree
        assert (
            found.value == min(point.values[0] for point in found.front.points) == found.lower_bound
        )


def test_axes_that_make_no_front_are_refused():
    for axes in (
        (),
        ("error",),
        ("expected_cost", "error"),
        ("error", "accuracy"),
        ("error", "n_leaves", "leaves"),
        ("error", "max_cost", "depth"),
    ):
        with pytest.raises(ConfigError, match="solver.axes"):
            FrontSolver(axes=axes)


@pytest.mark.parametrize("objective", ["accuracy", "weighted", "max_cost", "zero_error", "auc"])
def test_an_objective_beside_it_is_refused_by_name(objective):
    with pytest.raises(
        CapabilityError,
        match=f"solver front minimises no objective but .*leave objective {objective} out",
    ):
        arboretum.run(
            [
                "dataset=monk1-full",
                "method=front",
                f"objective={objective}",
                "complexity=depth",
                "tracker=none",
            ]
        )


def test_what_it_cannot_add_up_exactly_is_refused():
    problem = random_problem(1)
    third = attrs.evolve(
        problem,
        prices=attrs.evolve(problem.prices, tests=np.full(len(problem.prices.tests), 1 / 3)),
    )
    with pytest.raises(CapabilityError, match=r"no common unit \(such as 0\.3+\)"):
        solved(third, AXES[0])
    impure = attrs.evolve(
        problem, parts=attrs.evolve(problem.parts, stopping=(Held(LeafRule(delta=0.1)),))
    )
    with pytest.raises(CapabilityError, match="no leaf rule by impurity"):
        solved(impure, AXES[0])


def test_the_search_under_a_budget_finds_the_same_steps():
    """Dynamic programming here, branch and bound there."""
    for seed in range(300, 330):
        problem = random_problem(seed)
        steps = pareto_step_function(problem).steps
        found = solved(problem, AXES[1]).front.points
        np.testing.assert_allclose(
            [p.values for p in found], unbeaten_steps(problem, steps), atol=1e-9
        )


def unbeaten_steps(problem, steps):
    total, kept = problem.objects.weight.sum(), []
    for step in steps:
        if not kept or step.errors < kept[-1].errors:
            kept.append(step)
    return [(float(step.errors) / total, float(step.budget)) for step in kept]


@pytest.mark.parametrize("ended", ["signal", "deadline"])
def test_of_a_large_front_few_trees_are_laid_out_once_the_time_is_up(ended, monkeypatch):
    monkeypatch.setattr("arboretum_maxcost.fronts.solver.MOMENT", -1.0)
    problem = random_problem(10)
    whole = FrontSolver(axes=AXES[0], trees=0).solve(problem, Context())
    assert len(whole.front.points) == 5 and whole.finished

    def progress(done, total, message):
        if message == "trees of the front" and ended == "signal":
            raise KeyboardInterrupt(15)
        if message == "trees of the front":
            monkeypatch.setattr(
                "arboretum_maxcost.fronts.solver.time.monotonic", lambda: float("inf")
            )

    found = FrontSolver(axes=AXES[0], trees=0).solve(
        problem, Context(deadline=time.monotonic() + 600, progress=progress)
    )
    assert [point.tree is not None for point in found.front.points].count(
        True
    ) == 1 and not found.finished
    assert [point.values for point in found.front.points] == [
        point.values for point in whole.front.points
    ]
    assert (
        found.value == whole.value
        and found.tree is not None
        and (found.interrupted is not None) == (ended == "signal")
    )


@pytest.mark.parametrize("axes", AXES)
def test_without_time_for_a_tree_the_front_is_the_best_leaf(axes, monkeypatch):
    problem = random_problem(12)
    whole = FrontSolver(axes=axes).solve(problem, Context())

    def out_of_time(*_):
        raise OutOfTime("the budget of seconds ran out before there was any tree")

    monkeypatch.setattr("arboretum_maxcost.fronts.solver.FrontSearch.run", out_of_time)
    found = FrontSolver(axes=axes).solve(problem, Context())
    leaf = found.front.points[0]
    assert (
        len(found.front.points) == leaf.tree.n_leaves == 1
        and not found.finished
        and "the best leaf" in found.notes[0]
    )
    assert leaf.values == pytest.approx(
        min(whole.front.points, key=lambda point: point.values[1:]).values
    )
    assert all(
        any(np.less_equal(corner, point.values).all() for corner in found.front.bound)
        for point in whole.front.points
    )


def test_numbers_are_spread_in_every_beginning():
    assert (
        spread_evenly(1, 1, 0) == [0]
        and spread_evenly(9, 9, 8)[:4] == [8, 0, 4, 2]
        and sorted(spread_evenly(9, 9, 8)) == [*range(9)]
    )
    assert len(spread_evenly(1000, 20, 999)) == 20


def test_greedy_curves_lie_on_or_above_the_front():
    problem = random_problem(25, most_rows=9)
    front = FrontSolver(axes=AXES[1], curves=True).solve(problem, Context()).front
    assert "greedy, powers 2" in front.curves
    for curve in front.curves.values():
        assert all(front.error_within(values[1:]) <= values[0] + 1e-12 for values in curve)


def test_a_front_of_many_points_may_keep_some_trees_only():
    problem, whole = next(
        (problem, front)
        for seed in range(210, 260)
        if len((front := solved(problem := random_problem(seed, 9), AXES[4]).front).points) > 3
    )
    some = FrontSolver(axes=AXES[4], trees=2).solve(problem, Context())
    assert [p.values for p in some.front.points] == [p.values for p in whole.points]
    assert 2 <= sum(point.tree is not None for point in some.front.points) <= 3
    assert some.tree is not None and "have their tree" in some.notes[0]
