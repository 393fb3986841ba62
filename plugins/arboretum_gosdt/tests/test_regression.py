"""Optimal regression trees, against all trees of tiny tables in fractions of their own."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import attrs
import numpy as np
import pytest
from tiny_tables import Held, numbers

from arboretum.api import (
    Column,
    ColumnKind,
    Context,
    Limits,
    Parts,
    Problem,
    Status,
    Table,
    Target,
    Task,
)
from arboretum.testing import ObjectiveSuite, SolverSuite
from arboretum.testing.effort import tries
from arboretum.testing.suites.base import fit_and_verify
from arboretum.testing.tables import TreeParts, prices_of, toy_objects, toy_table
from arboretum_data.encoding.columns import BinTests, Numeric
from arboretum_data.encoding.encoder import Missing, TestsEncoder
from arboretum_gosdt.problem.objectives import CostMatrix, decimal
from arboretum_gosdt.problem.prepared import all_tests
from arboretum_gosdt.regression.problem import AbsoluteDeviation, round_targets
from arboretum_gosdt.regression.solver import Regression
from arboretum_gosdt.solvers.gosdt import Gosdt
from arboretum_gosdt.sums.objectives import SquaredError
from arboretum_gosdt.sums.solver import LeafSums


def least(problem: Problem, absolute: bool) -> Fraction:
    """The least value over all trees."""
    objects = problem.objects
    limits = problem.parts.limits()
    tests = all_tests(problem, Task.regression)
    rows = range(objects.n_objects)
    sides = [
        frozenset(np.flatnonzero(tests.outcome(test, np.array(rows))).tolist())
        for test in range(len(tests.column))
    ]
    y = [Fraction(one) for one in objects.y.tolist()]
    w = [decimal(one) for one in objects.weight.tolist()]

    @cache
    def leaf(who: frozenset) -> Fraction:
        if absolute:
            return min(sum(w[i] * abs(y[i] - y[j]) for i in who) for j in who)
        mean = sum(w[i] * y[i] for i in who) / sum(w[i] for i in who)
        return sum(w[i] * (y[i] - mean) ** 2 for i in who)

    @cache
    def trees(who: frozenset, depth: int) -> dict:
        """The least deviation by the number of leaves."""
        found = {1: leaf(who)}
        for side in sides if depth else ():
            parts = who & side, who - side
            if all(
                part and sum(int(objects.count[i]) for i in part) >= limits.min_leaf
                for part in parts
            ):
                for (a, x), (b, z) in itertools.product(
                    *(trees(part, depth - 1).items() for part in parts)
                ):
                    found[a + b] = min(found.get(a + b, x + z), x + z)
        return found

    every = trees(frozenset(rows), 9 if limits.max_depth is None else limits.max_depth)
    whole = leaf(frozenset(rows))
    lam = decimal(problem.parts.objective.lam)
    return min(
        (loss / whole if whole else 0) + lam * leaves
        for leaves, loss in every.items()
        if leaves <= (limits.max_leaves or 99)
    )


class TestObjectives(ObjectiveSuite):
    @pytest.fixture(params=[SquaredError(), AbsoluteDeviation(lam=0.0)], ids=lambda one: one.name)
    def component(self, request):
        return request.param


class TestConformance(SolverSuite):
    tables = 6

    @pytest.fixture(params=[SquaredError(lam=0.03), AbsoluteDeviation()], ids=lambda one: one.name)
    def parts(self, request):
        return Parts(method=None, solver=Regression(), objective=request.param)

    @pytest.fixture
    def component(self):
        return Regression()

    def problems(self, parts):
        return (numbers(seed, parts.objective) for seed in range(self.tables))

    @staticmethod
    def brute_force(problem, value):
        return float(least(problem, isinstance(problem.parts.objective, AbsoluteDeviation))), None

    def test_a_table_of_one_class_is_solved_by_a_leaf(self, parts):
        problem = numbers(2, parts.objective)
        same = np.full(problem.objects.n_objects, 0.1)
        table = attrs.evolve(
            problem.objects.table, target=Target("y", Task.regression, values=same)
        )
        solution = Regression().solve(
            attrs.evolve(problem, objects=attrs.evolve(problem.objects, table=table, y=same)),
            Context(),
        )
        assert (
            solution.status is Status.optimal
            and solution.tree.n_nodes == 1
            and solution.value == parts.objective.lam
        )


@pytest.mark.parametrize("kind", [SquaredError, AbsoluteDeviation])
@pytest.mark.parametrize(
    "seeds",
    [range(60), pytest.param(range(60, 60 + tries(1440)), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_the_optimum_is_that_of_all_trees(kind, seeds):
    for seed in seeds:
        rng = np.random.default_rng([seed, 7])
        lam = float(rng.choice([0.0, 0.005, 0.02, 0.1, 0.4]))
        fewest = int(rng.integers(1, 4)) if seed % 7 == 2 else 1
        depth = None if (lam or fewest > 1) and seed % 3 else int(rng.integers(1, 5))
        limits = Limits(
            max_depth=depth,
            max_leaves=int(rng.integers(1, 6)) if seed % 5 == 1 else None,
            min_leaf=fewest,
        )
        problem = numbers(seed, kind(lam=lam), limits, raw=seed % 6 == 0)
        found = Regression().solve(problem, Context())
        assert found.status is Status.optimal, seed
        assert found.value == pytest.approx(
            float(least(problem, kind is AbsoluteDeviation)), abs=1e-9
        ), (seed, limits)
        assert found.lower_bound >= found.value - 1e-9


def squares_of_lam(seed: int) -> Problem:
    """A tiny problem of squared errors; of every fifth seed some values are missing, which is a
    category to ask for.
    """
    rng = np.random.default_rng([seed, 8])
    objective = SquaredError(lam=float(rng.choice([0.0, 0.005, 0.02, 0.1, 0.4])))
    limits = Limits(max_depth=int(rng.integers(0, 4)), min_leaf=int(rng.choice([1, 1, 2])))
    if seed % 5:
        return numbers(seed, objective, limits, raw=seed % 6 == 0)
    table = toy_table(
        seed, 7, TreeParts(task=Task.regression, missing=True, weighted=seed % 2 == 0)
    )
    two_bins = {"numeric": Numeric.quantile, "n_bins": 2, "bin_tests": BinTests.thresholds}
    encoder = TestsEncoder(**two_bins, missing=Missing.category)
    objects = encoder.encode(table, table, raw_thresholds=False, seed=0)
    parts = Parts(method=None, objective=objective, stopping=(Held(limits),))
    return Problem(objects, prices_of(objects), parts)


@pytest.mark.parametrize(
    "seeds",
    [range(300), pytest.param(range(300, 300 + tries(1200)), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_searches_of_sums_and_of_deviations_find_the_least_square(seeds):
    asked_for_missing = 0
    for seed in seeds:
        problem = squares_of_lam(seed)
        best = float(least(problem, absolute=False))
        asked_for_missing += any(c.has_missing for c in problem.objects.table.columns)
        for solver in (LeafSums(), Regression()):
            own = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver))
            found = fit_and_verify(solver.solve, own, Context())
            assert found.status is Status.optimal, (seed, solver.name)
            assert found.value == pytest.approx(best, abs=1e-9), (seed, solver.name)
            assert best - 2e-9 <= found.lower_bound <= best + 1e-12, (seed, solver.name)
    assert asked_for_missing > len(seeds) / 6


def test_targets_far_from_zero_are_solved_as_near_it():
    """Squares of what is added would be rounded by more than is left."""
    for seed in range(1, 40):
        problem = squares_of_lam(seed)
        y = problem.objects.y + 2.0**40
        table = problem.objects.table
        table = attrs.evolve(table, target=attrs.evolve(table.target, values=y))
        objects = attrs.evolve(problem.objects, table=table, y=y)
        for solver in (LeafSums(), Regression()):
            parts = attrs.evolve(problem.parts, solver=solver)
            own = attrs.evolve(problem, objects=objects, parts=parts)
            found = fit_and_verify(solver.solve, own, Context())
            assert found.value == pytest.approx(float(least(own, absolute=False)), abs=1e-9), seed


@pytest.mark.parametrize(("lam", "depth"), [(0.02, None), (0.005, 3), (0.002, 4)])
def test_absolute_errors_of_larger_tables_are_those_of_classes_with_a_table_of_costs(lam, depth):
    """A median is one of the targets: what it costs to say a target of another one is a problem
    of the solver for classes.
    """
    rng = np.random.default_rng(depth)
    codes = rng.integers(0, 2, (70, 7))
    y = 3 * codes[:, 0] * codes[:, 1] + 2 * codes[:, 2] + rng.integers(0, 3, 70)
    columns = tuple(
        Column(f"x{c}", ColumnKind.categorical, codes[:, c].astype(np.int32), ("n", "y"))
        for c in range(7)
    )
    spread = float(np.abs(y - np.median(y)).mean())
    held = (Held(Limits(max_depth=depth)),)
    numbers_of, names = np.unique(y), tuple(f"{one:02d}" for one in np.unique(y))
    costs = np.abs(numbers_of[:, None] - numbers_of).tolist()
    found = []
    for target, objective, solver in (
        (
            Target("y", Task.regression, values=y.astype(float)),
            AbsoluteDeviation(lam=lam),
            Regression(),
        ),
        (
            Target(
                "y", Task.classification, np.searchsorted(numbers_of, y).astype(np.int32), names
            ),
            CostMatrix(lam=lam * spread, costs=costs),
            Gosdt(),
        ),
    ):
        objects = toy_objects(Table("larger", columns, target))
        found.append(
            solver.solve(
                Problem(
                    objects,
                    prices_of(objects),
                    Parts(method=None, objective=objective, solver=solver, stopping=held),
                ),
                Context(),
            )
        )
    assert found[0].value == pytest.approx(found[1].value / spread, abs=1e-9)
    assert found[0].status is Status.optimal and found[0].tree.n_leaves > 3


def test_a_budget_and_an_interrupt_leave_a_tree_and_a_bound_that_hold():
    problem = numbers(3, SquaredError(lam=0.001), rows=8, columns=3)
    whole = Regression().solve(problem, Context())
    late = Regression().solve(problem, Context(deadline=0.0))
    assert late.status is Status.feasible and late.lower_bound <= whole.value <= late.value

    def stop(*_):
        raise KeyboardInterrupt

    stopped = Regression().solve(problem, Context(progress=stop))
    assert stopped.interrupted and stopped.lower_bound <= whole.value <= stopped.value


@pytest.mark.parametrize("value", [1e15, 1e15 + 1, 1e150])
def test_equal_targets_of_any_size_are_a_leaf(value):
    assert round_targets(np.full(3, value), 3)[0].tolist() == [0, 0, 0]
