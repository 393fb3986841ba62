"""Sums by leaf: the search against brute force, the solver, broken promises, bad input."""

from __future__ import annotations

import time
from typing import ClassVar

import attrs
import numpy as np
import pytest

from arboretum.api import (
    CapabilityError,
    Context,
    ContractError,
    DataError,
    Parts,
    Problem,
    Status,
    SumsObjective,
    Task,
    grow,
)
from arboretum.engine.objective_check import Few, broken_objective
from arboretum.testing import CriterionSuite, ObjectiveSuite, SolverSuite
from arboretum.testing.effort import tries
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import TreeParts, prices_of, toy_objects, toy_table
from arboretum_basics.stopping import Standard
from arboretum_gosdt.problem.greedy import SumsReduction
from arboretum_gosdt.regression.problem import SquaredError
from arboretum_gosdt.regression.solver import Regression
from arboretum_gosdt.sums.objectives import PoissonDeviance
from arboretum_gosdt.sums.search import SumsSearch
from arboretum_gosdt.sums.solver import LeafSums


@attrs.frozen
class Squares(SumsObjective):
    """Mean squared error + λ · leaves."""

    name = "squares"

    def moments(self, objects):
        y, w = objects.y, objects.weight
        return np.stack([w, w * y, w * y * y], axis=1)

    def leaf(self, sums):
        return sums[..., 2] - sums[..., 1] ** 2 / sums[..., 0]

    def predicts(self, sums):
        return sums[..., 1] / sums[..., 0]


@attrs.frozen
class Huber(Squares):
    """No superadditive cost: the root of the deviation, which is dearer apart."""

    name = "rooted"
    superadditive: ClassVar[bool] = False

    def leaf(self, sums):
        return np.sqrt(np.maximum(super().leaf(sums), 0.0))


@attrs.frozen
class Liar(Huber):
    """Says that it is."""

    name = "liar"
    superadditive: ClassVar[bool] = True


@attrs.frozen
class Counts(PoissonDeviance):
    """Of toy targets, some of which lie below 0."""

    def moments(self, objects):
        return super().moments(attrs.evolve(objects, y=np.abs(objects.y)))


NUMBERS = TreeParts(task=Task.regression)


def numbers(seed, objective, n_rows=24, **stopping):
    objects = toy_objects(toy_table(seed, n_rows, NUMBERS), multiway=False)
    parts = Parts(
        method=None, objective=objective, solver=LeafSums(), stopping=(Standard(**stopping),)
    )
    return Problem(objects, prices_of(objects), parts)


class TestSquares(ObjectiveSuite):
    @pytest.fixture(params=[Squares(), Huber(), Counts()], ids=lambda one: one.name)
    def component(self, request):
        return request.param


class TestLeafSums(SolverSuite):
    tables = 4

    @pytest.fixture
    def component(self):
        return LeafSums()

    def problems(self, parts):
        for seed in range(self.tables):
            problem = numbers(seed, parts.objective, 6)
            yield attrs.evolve(problem, parts=parts)

    @staticmethod
    def brute_force(problem, value):
        objects, objective = problem.objects, problem.parts.objective
        limits = problem.parts.limits()
        outcome = np.array([objects.outcome(test) for test in range(objects.n_fixed)]).T
        moments = objective.moments(objects)
        price = objective.lam * objects.weight.sum()
        deepest = 6 if limits.max_depth is None else limits.max_depth
        rows = (moments, objects.count, objective.leaf, price)
        found = least(outcome, *rows, deepest, max(1, limits.min_leaf))
        return found / objects.weight.sum(), None

    def test_a_table_of_one_class_is_solved_by_a_leaf(self, parts):
        problem = numbers(2, parts.objective)
        same = np.full(problem.objects.n_objects, 0.5)
        objects = attrs.evolve(problem.objects, y=same)
        solution = LeafSums().solve(attrs.evolve(problem, objects=objects), Context())
        assert solution.tree.n_nodes == 1 and solution.value == pytest.approx(0.05)

    @pytest.fixture
    def parts(self, component):
        return Parts(method=None, solver=component, objective=Squares(lam=0.05))


class TestSumsReduction(CriterionSuite):
    @pytest.fixture
    def component(self):
        return SumsReduction()


def least(outcome, moments, rows, leaf, p, depth, fewest):
    """The least cost over all trees, by trying them all."""

    def best(objects, left):
        sums, held = moments[list(objects)].sum(axis=0), rows[list(objects)].sum()
        found = float(leaf(sums[None])[0]) + p if held >= fewest else np.inf
        for f in range(outcome.shape[1]) if left else ():
            one = tuple(o for o in objects if outcome[o, f])
            rest = tuple(o for o in objects if not outcome[o, f])
            if one and rest:
                found = min(found, best(one, left - 1) + best(rest, left - 1))
        return found

    return best(tuple(range(len(outcome))), depth)


@pytest.mark.parametrize("kind", [Squares, Huber, PoissonDeviance], ids=lambda one: one.__name__)
def test_the_search_finds_what_brute_force_finds(kind):
    for seed in range(tries(1700)):
        generator = np.random.default_rng([seed, 32])
        n, m = int(generator.integers(2, 9)), int(generator.integers(1, 5))
        outcome = np.unique(generator.integers(0, 2, (n, m)).astype(np.uint8), axis=0)
        n = len(outcome)
        w, y = generator.integers(1, 3, n).astype(float), generator.integers(0, 9, n) / 2
        own = y * np.log(np.where(y > 0, y, 1))
        moments = np.stack([w, w * y, w * (own if kind is PoissonDeviance else y * y)], axis=1)
        rows = generator.integers(1, 3, n)
        depth = int(generator.integers(0, 5))
        p, fewest = float(generator.choice([0.0, 0.1, 0.7])), int(generator.choice([1, 1, 2]))
        objective = kind()
        search = SumsSearch(
            outcome,
            moments,
            rows,
            objective.leaf,
            superadditive=objective.superadditive,
            p=p,
            depth=depth,
            least=fewest,
        )
        assert search.run(None) == ""
        best = least(outcome, moments, rows, objective.leaf, p, depth, fewest)
        if np.isinf(best):
            assert np.isinf(search.upper)
            continue
        assert search.upper == pytest.approx(best, abs=1e-9)
        assert best - 1e-9 <= search.lower <= search.upper + 1e-9


@pytest.mark.parametrize(
    "stopping", [{}, {"max_depth": 2}, {"max_depth": 3, "min_leaf": 3}], ids=str
)
def test_it_agrees_with_the_solver_of_squares(stopping):
    for seed in range(4):
        for lam in (0.0, 0.02, 0.1) if stopping else (0.05, 0.2):
            shared = numbers(seed, SquaredError(lam=lam), 16, **stopping)
            y, w = shared.objects.y, shared.objects.weight
            whole = float(w @ (y - np.average(y, weights=w)) ** 2 / w.sum())
            share = Regression().solve(shared, Context())
            problem = numbers(seed, Squares(lam=lam * whole), 16, **stopping)
            solution = LeafSums().solve(problem, Context())
            verify_solution(solution, problem)
            assert solution.status is Status.optimal
            assert solution.value == pytest.approx(share.value * whole, rel=1e-9)
            assert solution.lower_bound <= solution.value


def test_a_budget_of_seconds_leaves_a_tree_and_a_bound_and_it_goes_on():
    generator = np.random.default_rng(0)
    outcome = np.unique(generator.integers(0, 2, (300, 24)).astype(np.uint8), axis=0)
    y = generator.normal(size=len(outcome))
    moments = np.stack([np.ones(len(y)), y, y * y], axis=1)
    asked = {"superadditive": True, "p": 2.0, "depth": 4}
    rows = np.ones(len(y), np.int64)
    search = SumsSearch(outcome, moments, rows, Squares().leaf, **asked)
    assert search.run(time.monotonic() - 1) == "seconds"
    before = search.lower, search.upper
    assert search.run(time.monotonic() + 0.05) in ("", "seconds")
    assert search.lower >= before[0] and search.upper <= before[1]
    assert search.run(None, 1) == "bytes" or search.lower == search.upper
    assert search.run(None) == "" and search.lower == search.upper
    whole = SumsSearch(outcome, moments, rows, Squares().leaf, **asked)
    whole.run(None)
    assert whole.upper == pytest.approx(search.upper)


def test_a_promise_of_unions_that_does_not_hold_is_refuted_by_name():
    for seed in range(3):
        assert "states superadditive = True" in broken_objective(Few.of(numbers(seed, Liar())))
        assert broken_objective(Few.of(numbers(seed, Huber()))) == ""
        assert broken_objective(Few.of(numbers(seed, Squares()))) == ""


def test_counts_below_zero_are_refused_by_row():
    problem = numbers(0, PoissonDeviance())
    y = problem.objects.y.copy()
    y[5] = -99.0
    problem = attrs.evolve(problem, objects=attrs.evolve(problem.objects, y=y))
    with pytest.raises(DataError, match=r"targets are counts, 0 or more; row 5 has -99"):
        LeafSums().solve(problem, Context())


def test_moments_of_another_shape_or_no_numbers_are_refused():
    @attrs.frozen
    class Short(Squares):
        def moments(self, objects):
            return super().moments(objects)[1:]

    @attrs.frozen
    class Holes(Squares):
        def moments(self, objects):
            found = super().moments(objects)
            found[2, 1] = np.nan
            return found

    @attrs.frozen
    class Odd(Squares):
        def leaf(self, sums):
            return np.where(sums[..., 0] > 20, np.nan, super().leaf(sums))

    with pytest.raises(ContractError, match="leaf must return a cost, or ∞, .* got nan for"):
        LeafSums().solve(numbers(0, Odd()), Context())
    with pytest.raises(ContractError, match=r"moments must return float64\[24, k\]"):
        LeafSums().solve(numbers(0, Short()), Context())
    with pytest.raises(DataError, match=r"number 1 of row 2, whose target is -?[\d.]+, is nan"):
        LeafSums().solve(numbers(0, Holes()), Context())


@attrs.frozen
class Among(Squares):
    """No cost of few objects: of NaN, or ∞ where it is said."""

    name = "among"
    few: float = np.nan

    def leaf(self, sums):
        return np.where(sums[..., 0] < 6, self.few, super().leaf(sums))


@attrs.frozen
class Forbidding(Among):
    """Says that no bound is to be had of it."""

    superadditive: ClassVar[bool] = False
    few: float = np.inf


def test_costs_that_few_objects_do_not_have_make_no_bound():
    """NaN compares with nothing, so that a leaf of all objects would be taken for the best."""
    for seed in range(3):
        assert "a number for every sum" in broken_objective(Few.of(numbers(seed, Among())))
        with pytest.raises(ContractError, match="got nan for the sums"):
            LeafSums().solve(numbers(seed, Among()), Context())
        fault = broken_objective(Few.of(numbers(seed, Among(few=np.inf))))
        assert "a leaf of both" in fault and "which is less" in fault


def test_leaves_that_cost_infinity_are_not_taken_and_the_optimum_is_proven():
    for seed in range(3):
        problem = numbers(seed, Forbidding(), max_depth=2)
        assert broken_objective(Few.of(problem)) == ""
        solution = LeafSums().solve(problem, Context())
        verify_solution(solution, problem)
        assert solution.status is Status.optimal and np.isfinite(solution.lower_bound)
        assert (solution.tree.mass[solution.tree.is_leaf] >= 6).all()


@attrs.frozen
class OneLeaf(Squares):
    """Reads the sums of one leaf."""

    def leaf(self, sums):
        return sums[2] - sums[1] ** 2 / sums[0]


@attrs.frozen
class Echo(Squares):
    """Predicts all sums."""

    def predicts(self, sums):
        return sums


@pytest.mark.parametrize("objective", [OneLeaf(), Echo()])
def test_methods_that_read_the_sums_of_one_leaf_are_refused_by_name(objective):
    method = "leaf" if isinstance(objective, OneLeaf) else "predicts"
    fault = broken_objective(Few.of(numbers(0, objective)))
    assert f"but {method} returns" in fault and "sums[..., i]" in fault


class TestOwnTable(ObjectiveSuite):
    """Of the table that the suite is given."""

    component = PoissonDeviance()

    @staticmethod
    def table(component, seed):
        toy = toy_table(seed, kind=NUMBERS)
        values = np.abs(toy.target.values)
        return attrs.evolve(toy, target=attrs.evolve(toy.target, values=values))


class TestPoisson(ObjectiveSuite):
    component = PoissonDeviance()


def test_the_suite_tries_what_is_promised_of_unions():
    with pytest.raises(AssertionError):
        ObjectiveSuite().test_it_is_of_the_shape_that_it_states(Liar())


def test_greedy_growth_lowers_the_leaf_costs_and_predicts_what_the_objective_says():
    problem = numbers(1, Counts(lam=0.0), max_depth=2)
    parts = attrs.evolve(problem.parts, solver=None, criterion=SumsReduction())
    problem = attrs.evolve(problem, parts=parts)
    tree = grow(problem, Context()).tree
    objective, moments = problem.parts.objective, problem.parts.objective.moments(problem.objects)
    best = -np.inf
    for test in range(problem.objects.n_fixed):
        inside = problem.objects.outcome(test) == 1
        if inside.any() and not inside.all():
            sums = np.stack([moments[inside].sum(axis=0), moments[~inside].sum(axis=0)])
            best = max(best, -float(objective.leaf(sums).sum()))
    at = np.array(tree.apply(problem.objects.table))
    left = at < tree.subtree_end[tree.children(0)[0]]
    sums = np.stack([moments[left].sum(axis=0), moments[~left].sum(axis=0)])
    assert -float(objective.leaf(sums).sum()) == pytest.approx(best)


def test_other_objectives_and_limits_are_refused_with_the_way_out():
    with pytest.raises(CapabilityError, match="solver=regression"):
        LeafSums().least(numbers(0, SquaredError()), Context())
    with pytest.raises(CapabilityError, match="max_leaves"):
        LeafSums().solve(numbers(0, Squares(), max_leaves=3), Context())
