"""Sums by leaf: the search against brute force, the solver, broken promises, bad input."""

from __future__ import annotations

import time
from typing import ClassVar

import attrs
import numpy as np
import pytest
from tiny_sums import NUMBERS, Counts, Huber, Liar, Squares, added, clock, numbers

from arboretum.api import (
    CapabilityError,
    Context,
    ContractError,
    DataError,
    Parts,
    Status,
    grow,
)
from arboretum.engine.objective_check import Few, broken_objective
from arboretum.testing import CriterionSuite, ObjectiveSuite, SolverSuite
from arboretum.testing.effort import tries
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import toy_table
from arboretum_gosdt.problem.greedy import SumsReduction
from arboretum_gosdt.regression.problem import AbsoluteDeviation
from arboretum_gosdt.sums import pairs, search as sums_search
from arboretum_gosdt.sums.objectives import PoissonDeviance
from arboretum_gosdt.sums.search import SumsSearch
from arboretum_gosdt.sums.solver import LeafSums


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
        sums, held = added(moments[list(objects)]), rows[list(objects)].sum()
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
        w, y = (
            generator.integers(1, 3, n).astype(float),
            generator.integers(0, 9, n) / (2 + seed % 9),
        )
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


def drawn_sums(generator, n, columns, values):
    """Objects by the thresholds of some columns, whose pairs lie in one another, and by words."""
    numbers = generator.integers(0, values, (n, columns))
    cuts = [numbers[:, [c]] > np.arange(values - 1) for c in range(columns)]
    words = numbers[:, [0]] == np.arange(values)
    outcome = np.unique(np.hstack([*cuts, words]).astype(np.uint8), axis=0)
    n = len(outcome)
    w, y = generator.integers(1, 4, n).astype(float), generator.normal(size=n).round(3)
    return outcome, np.stack([w, w * y, w * y * y], axis=1), generator.integers(1, 3, n)


def least_by_sets(outcome, moments, rows, leaf, p, depth, fewest):
    """The same as :func:`least`, each set once, the last test by matrices."""
    known = {}

    def best(objects, left):
        key = objects.tobytes(), left
        if key not in known:
            has, mine = outcome[objects].astype(float), moments[objects]
            counts, whole = rows[objects], added(mine)
            with np.errstate(all="ignore"):
                found = float(leaf(whole[None])[0]) + p if counts.sum() >= fewest else np.inf
                if left == 1:
                    sums = np.array(
                        [[added(mine[column == side]) for column in has.T] for side in (1, 0)]
                    )
                    held = np.stack([has.T @ counts, (1 - has).T @ counts])
                    costs = np.where(held < max(fewest, 1), np.inf, leaf(sums) + p)
                    found = min(found, costs.sum(axis=0).min())
            for f in range(outcome.shape[1]) if left > 1 else ():
                inside = has[:, f] == 1
                if inside.any() and not inside.all():
                    both = best(objects[inside], left - 1) + best(objects[~inside], left - 1)
                    found = min(found, both)
            known[key] = found
        return known[key]

    return best(np.arange(len(outcome)), depth)


@pytest.mark.parametrize("room", [{}, {"CELLS": 64}, {"PAIRS_BYTES": 0}, {"MOST_SETS": 1}], ids=str)
@pytest.mark.parametrize("kind", [Squares, Huber], ids=lambda one: one.__name__)
def test_tests_of_one_column_are_bounded_by_one_another(kind, room, monkeypatch):
    """Objects enough that bounds, batches and what is kept of pairs do something."""
    for name, value in room.items():
        monkeypatch.setattr(sums_search, name, value)
    for seed in range(tries(12)):
        generator = np.random.default_rng([seed, 41])
        drawn = drawn_sums(generator, int(generator.integers(20, 45)), 2, 5)
        depth, p = int(generator.choice([3, 3, 4])), float(generator.choice([0.0, 0.3, 2.0]))
        fewest = int(generator.choice([1, 1, 4]))
        search = SumsSearch(
            *drawn,
            kind().leaf,
            superadditive=kind.superadditive,
            p=p,
            depth=depth,
            least=fewest,
        )
        assert search.run(None) == ""
        truth = least_by_sets(*drawn, kind().leaf, p, depth, fewest)
        assert search.upper == pytest.approx(truth, abs=1e-9)
        assert search.lower == search.upper
        assert cost_of(search.best, *drawn, kind().leaf, p, fewest, depth) == pytest.approx(truth)


def test_deep_trees_are_found_level_by_level_and_bounds_hold_on_the_way(monkeypatch):
    """What is proven of all trees is so after each number of levels, however the search ends."""
    solved = 0
    for seed in range(tries(30)):
        generator = np.random.default_rng([seed, 53])
        drawn = drawn_sums(generator, int(generator.integers(10, 22)), 2, 4)
        p, fewest = float(generator.choice([0.05, 0.3, 1.0])), int(generator.choice([1, 1, 3]))
        asked = {"superadditive": True, "p": p, "least": fewest}
        truth = least_by_sets(*drawn, Squares().leaf, p, len(drawn[0]) - 1, fewest)
        search = SumsSearch(*drawn, Squares().leaf, **asked)
        most = 1
        while True:  # the clock ticks when it is read
            monkeypatch.setattr(sums_search.time, "monotonic", clock())
            ended = search.run(most)
            monkeypatch.undo()
            assert search.lower <= truth + 1e-9 <= search.upper + 2e-9
            assert cost_of(search.best, *drawn, Squares().leaf, p, fewest, 99) == pytest.approx(
                search.upper
            )
            if not ended:
                break
            most *= 2
        assert search.upper == pytest.approx(truth, abs=1e-9)
        solved += most > 4
    assert solved


def cost_of(tests, outcome, moments, rows, leaf, p, fewest, depth):
    """What a tree in preorder costs, counted anew; it asks ``depth`` tests on a path at most."""
    waiting = list(reversed(tests))

    def cost(objects, left):
        assert left >= 0
        if (test := waiting.pop()) >= 0:
            inside = outcome[objects, test] == 1
            return cost(objects[inside], left - 1) + cost(objects[~inside], left - 1)
        assert rows[objects].sum() >= fewest
        return float(leaf(added(moments[objects])[None])[0]) + p

    return cost(np.arange(len(outcome)), depth)


@pytest.mark.parametrize("stored", [True, False])
def test_kernels_count_what_masks_count(stored, monkeypatch):
    """The sums, the best second test and the parts of the sides of a node, and of each of them."""
    monkeypatch.setattr(sums_search, "CELLS", 512)
    if not stored:
        monkeypatch.setattr(sums_search, "PAIRS_BYTES", 0)
    for seed in range(tries(12)):
        drawn = drawn_sums(np.random.default_rng([seed, 43]), 30, 2, 4)
        search = SumsSearch(*drawn, Squares().leaf, superadditive=True, p=0.5, least=2)
        table, batch = search._table, search._batch
        inside = table.inside.T
        everyone = np.arange(len(inside))
        node = search._node(everyone, np.arange(inside.shape[1]), deep=True)
        assert (len(node.both) > 0) == stored
        m = len(node.test)
        batch = batch._replace(inside=np.zeros((m, m), np.uint8))
        pairs.open_whole(table, batch, node)
        search._ask_batch(node, batch)
        check_batch(search, node, batch, [everyone])
        has = inside[:, node.test] == 1
        sides = np.stack([~has, has])  # [side, objects, tests]
        for i, j, s, t in np.ndindex(m, m, 2, 2):
            part = not (sides[s, :, i] & ~sides[t, :, j]).any()
            assert i == j or bool(batch.inside[i, j] >> (2 * (1 - s) + 1 - t) & 1) == part
        batch = batch._replace(inside=np.zeros((0, 0), np.uint8))
        places = np.array([*np.ndindex(m, 2)]).T
        for first in range(0, 2 * m, 3):
            asked = np.ascontiguousarray(places[:, first : first + 3])
            count = asked.shape[1]
            pairs.open_sides(table, batch, node, asked, count, search.least)
            search._ask_batch(node, batch)
            check_batch(search, node, batch, [everyone[sides[s, :, i]] for i, s in asked.T])


def check_batch(search, node, batch, sets):
    """Whether a batch of these sets of objects says of each what masks say."""
    table = search._table
    for b, objects in enumerate(sets):
        m = batch.width[b]
        has = table.inside.T[objects][:, node.test[batch.at[b, :m]]].astype(float)
        mine = table.moments[objects]
        np.testing.assert_array_equal(batch.whole[b], mine.sum(axis=0))
        np.testing.assert_array_equal(batch.one[b, :m], has.T @ mine)
        every = table.inside.T[objects][:, node.test]
        both_hold = every.T.astype(np.int64) @ mine[:, table.rows].astype(np.int64)
        rest = mine[:, table.rows].sum() - both_hold
        divisions = {
            min(one.tobytes(), (1 - one).tobytes())
            for one in every.T[(both_hold >= 2) & (rest >= 2)]
        }
        kept = {min(one.tobytes(), (1 - one).tobytes()) for one in has.T.astype(np.uint8)}
        assert kept == divisions and len(kept) == m

        def cost(mask, mine=mine):
            sums = mask @ mine
            held = sums[..., table.rows]
            with np.errstate(all="ignore"):
                return np.where(held < 2, np.inf, Squares().leaf(sums[..., :3]) + search.p)

        for side, mask in enumerate([1 - has.T, has.T]):
            two = cost(mask)
            np.testing.assert_allclose(batch.leaf[b, side, :m], two, atol=1e-9)
            for j in range(m):
                two = np.minimum(two, cost(mask * has[:, j]) + cost(mask * (1 - has[:, j])))
            np.testing.assert_allclose(batch.two[b, side, :m], two, atol=1e-9)


@pytest.mark.compiled
def test_a_budget_of_seconds_leaves_a_tree_and_a_bound_and_it_goes_on():
    generator = np.random.default_rng(0)
    outcome = np.unique(generator.integers(0, 2, (300, 16)).astype(np.uint8), axis=0)
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
    with pytest.raises(DataError, match=r"targets are counts, 0 or more; row 6 has -99"):
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
    with pytest.raises(DataError, match=r"number 1 of row 3, whose target is -?[\d.]+, is nan"):
        LeafSums().solve(numbers(0, Holes()), Context())


def squares_but(**methods):
    return type("Odd", (Squares,), methods)(0.0)


def write_over(self, sums):
    return np.subtract(sums[..., 2], sums[..., 1] ** 2 / sums[..., 0], out=sums[..., 2])


def always(number):
    return lambda self, sums: np.full(sums.shape[:-1], number)


@pytest.mark.parametrize(
    ("methods", "error", "said"),
    [
        (
            {"moments": lambda self, objects: np.zeros((objects.n_objects, 0))},
            ContractError,
            "k at",
        ),
        ({"leaf": always(np.inf)}, DataError, "found to cost is inf; let leaf return a number"),
        ({"leaf": always(-np.inf)}, DataError, "found to cost is -inf; let leaf return a number"),
        ({"predicts": always(np.nan)}, ContractError, "predicts must return a finite number"),
        (
            {"unit": lambda self, objects: 0.0},
            ContractError,
            "unit must return .* above 0.*; got 0",
        ),
        ({"unit": lambda self, objects: -1.0}, ContractError, "unit must return .*; got -1"),
        ({"unit": lambda self, objects: np.nan}, ContractError, "unit must return .*; got nan"),
        ({"unit": lambda self, objects: np.ones(1)}, ContractError, r"the shape \(1,\)"),
        ({"unit": lambda self, objects: "1"}, ContractError, "unit must return real numbers"),
        ({"leaf": write_over}, ValueError, "read-only"),
    ],
)
def test_functions_that_are_none_of_sums_are_refused(methods, error, said):
    with pytest.raises(error, match=said):
        LeafSums().solve(numbers(0, squares_but(**methods), max_depth=2), Context())


def test_nobody_lets_leaf_write_over_the_sums(tmp_path):
    """Who adds up still needs them: a bound of what was written over is none."""
    objective, sums = squares_but(leaf=write_over), np.ones((2, 3))
    problem = numbers(0, objective)
    tree = LeafSums().solve(numbers(0, Squares(0.0)), Context()).tree
    criterion = SumsReduction().for_problem(problem)
    for ask in (lambda: objective.value(tree, problem), lambda: criterion.leaf(sums)):
        with pytest.raises(ValueError, match="read-only"):
            ask()
    with pytest.raises(ContractError, match="read-only"):
        broken_objective(Few.of(problem))


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
    with pytest.raises(CapabilityError, match="absolute_error says none; use solver=regression"):
        LeafSums().least(numbers(0, AbsoluteDeviation()), Context())
    with pytest.raises(CapabilityError, match="max_leaves"):
        LeafSums().solve(numbers(0, Squares(), max_leaves=3), Context())
