"""DL8 and DL8.5: conformance, brute force, the certified solver; bounds hold, trees are worth
what is said.
"""

from __future__ import annotations

import time

import attrs
import numpy as np
import pytest
from drawn_tables import brute_force, drawn_problem

from arboretum.api import Context, Parts, Status, two_way_problem
from arboretum.testing import SolverSuite
from arboretum.testing.effort import tries
from arboretum.testing.suites.base import verify_solution
from arboretum_baselines.dl8.solver import BottomUp, Dl8, Dl8Search, Dl85
from arboretum_basics.stopping import Standard
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix
from arboretum_gosdt.solvers.gosdt import Gosdt

BOTH = pytest.mark.parametrize("solver", [Dl8(), Dl85()], ids=["dl8", "dl85"])


class TestConformance(SolverSuite):
    tables = 6

    @pytest.fixture(params=[Dl8(), Dl85(row_sets=True)], ids=["dl8", "dl85"])
    def component(self, request):
        return request.param

    @pytest.fixture
    def parts(self, component):
        return Parts(
            method=None,
            solver=component,
            objective=Accuracy(lam=0.0),
            stopping=(Standard(max_depth=3),),
        )


@pytest.mark.parametrize(
    "seeds",
    [
        range(tries(300)),
        *(
            pytest.param(range(k, k + tries(500)), marks=pytest.mark.slow)
            for k in range(1000, 6000, 500)
        ),
    ],
    ids=str,
)
def test_error_is_that_of_brute_force_for_every_depth_and_support(seeds):
    for seed in seeds:
        lam = [0.0, 0.0, 0.03, 0.125][seed // 9 % 4]
        objective = [
            Accuracy(lam=lam),
            Balanced(lam=lam),
            CostMatrix(lam=lam, costs=[[0, 1.5, 2], [0.25, 0, 1], [3, 1, 0]]),
        ][seed % 3]
        depth, least = (0, 1, 2, 3, None)[seed % 5], 1 + seed // 3 % 3
        found = two_way_problem(
            drawn_problem(seed, objective, max_depth=depth, min_leaf=least), "it", Dl8.limits
        )
        best = brute_force(found, depth, least)[frozenset(range(found.outcome.shape[1]))]
        for solver in (Dl8(), Dl85()):
            problem = drawn_problem(seed, objective, solver=solver, max_depth=depth, min_leaf=least)
            solution = solver.solve(problem, Context())
            verify_solution(solution, problem)
            assert solution.status is Status.optimal and solution.value == pytest.approx(
                found.value(best), rel=1e-12, abs=1e-15
            ), (seed, solver)
            assert solution.tree.depth_of.max() <= (
                depth if depth is not None else 99
            ) and solution.tree.counts.min() >= min(least, solution.tree.counts[0])


def noise(seed, solver, n_rows=60, n_columns=7, **limits):
    return drawn_problem(
        seed, Accuracy(lam=0.0), n_rows=n_rows, n_columns=n_columns, solver=solver, **limits
    )


@BOTH
def test_the_certified_solver_finds_the_same(solver):
    for seed, depth in ((0, 2), (1, 3), (2, 4), (3, 3)):
        problem = noise(seed, solver, max_depth=depth)
        solution, plain = solver.solve(problem, Context()), Gosdt().solve(problem, Context())
        verify_solution(solution, problem)
        assert (
            solution.status is plain.status is Status.optimal
            and solution.value == pytest.approx(plain.value, rel=1e-12)
        )


@BOTH
def test_a_budget_leaves_a_tree_and_a_bound(solver):
    problem = noise(4, solver, n_rows=200, n_columns=12, max_depth=6)
    best = Gosdt().solve(problem, Context(deadline=time.monotonic() + 5)).lower_bound
    for context in (Context(deadline=time.monotonic()), Context(memory_bytes=300_000)):
        solution = solver.solve(problem, context)
        verify_solution(solution, problem)
        assert (
            solution.status is Status.feasible
            and solution.lower_bound <= best <= solution.value
            and "ran out" in solution.notes[0]
        )


@BOTH
def test_ctrl_c_leaves_a_tree_and_a_bound(solver):
    def press(lower, value):
        raise KeyboardInterrupt

    problem = noise(4, solver, max_depth=5)
    solution = solver.solve(problem, Context(proven=press))
    verify_solution(solution, problem)
    assert (
        solution.interrupted
        and solution.lower_bound <= Gosdt().solve(problem, Context()).value <= solution.value
    )


def test_bounds_of_itemsets_are_bounds_whenever_the_search_is_left():
    """What the cache says of an itemset, against DL8's exact error of the same itemset."""
    for seed in range(12):
        problem = drawn_problem(seed, Accuracy(lam=0.0), n_rows=40, n_columns=4, max_depth=3)
        found = two_way_problem(problem, "it", ("max_depth",))
        exact, search = (kind(found, 3, 1, False) for kind in (BottomUp, Dl8Search))
        while exact.work() != exact.kernels.FINISHED:
            assert exact.make_room(10**8)
        truth = dict(
            zip(
                map(tuple, exact.cache.key[: exact.known].tolist()),
                exact.cache.error[: exact.known].tolist(),
                strict=True,
            )
        )
        ended = search.kernels.PAUSED
        while ended != search.kernels.FINISHED:
            ended = search.steps_of(1)
            cache = search.cache
            for n, key in enumerate(map(tuple, cache.key[: search.known].tolist())):
                assert min(cache.bound[n], cache.error[n]) <= truth[key] <= cache.error[n]
        assert search.error == exact.error


def test_one_problem_is_met_several_times_by_different_itemsets():
    problem = noise(5, Dl85(row_sets=True), max_depth=4)
    details = Dl85(row_sets=True).solve(problem, Context()).details
    assert 0 < details["row_sets"] < details["itemsets"]


def test_depth_zero_and_a_table_without_tests_are_a_leaf():
    for solver in (Dl8(), Dl85()):
        problem = noise(1, solver, n_rows=20, max_depth=0)
        assert solver.solve(problem, Context()).tree.n_nodes == 1
        same = attrs.evolve(problem.objects, codes=np.zeros_like(problem.objects.codes))
        problem = attrs.evolve(
            problem,
            objects=same,
            parts=attrs.evolve(problem.parts, stopping=(Standard(max_depth=3),)),
        )
        solution = solver.solve(problem, Context())
        assert solution.tree.n_nodes == 1 and solution.status is Status.optimal
