"""The exact solver: equal to the slow truth whatever bounds it uses, its tree is what it says,
and it stops when it must.
"""

from __future__ import annotations

import itertools
import math
import time

import attrs
import numpy as np
import pytest
from front_truth import Held, random_problem, true_front
from slow_search import least_loss, least_price

from arboretum.api import (
    CapabilityError,
    ConfigError,
    Context,
    LeafRule,
    Limits,
    Parts,
    Prices,
    Problem,
    Status,
)
from arboretum.testing import ObjectiveSuite, SolverSuite
from arboretum.testing.effort import tries
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import ToyGini, prices_of, toy_objects, toy_table
from arboretum_decision_tables.complexities import Depth, MaxCost as Dearest, Nodes, ZeroError
from arboretum_decision_tables.criteria import UnlikePairs
from arboretum_decision_tables.exact.solver import SubtableDP
from arboretum_gosdt.problem.objectives import Accuracy
from arboretum_maxcost.greedy.impurities import HingedPairs, Powers
from arboretum_maxcost.optimal.budgeted import pareto_step_function
from arboretum_maxcost.optimal.objectives import MaxCost
from arboretum_maxcost.optimal.search import BOUNDS, EVER, MaxCostSearch
from arboretum_maxcost.optimal.solver import MaxCostSolver
from arboretum_maxcost.optimal.space import as_whole_numbers, space_of


class Foreign:
    """Somebody's impurity without a kernel: Σ_{i<j} (n_i n_j)²."""

    kind = "impurity"
    name = "foreign"
    scale = "total"
    capabilities = ("classification", "multiclass", "weights", "admissible")

    def value(self, weights):
        squares = weights**2
        return (squares.sum(axis=-1) ** 2 - (squares**2).sum(axis=-1)) / 2

    def __repr__(self):
        return "foreign"


IMPURITIES = [
    None,
    Foreign(),
    UnlikePairs(),
    Powers(l=3),
    HingedPairs(epsilon=0.2),
    HingedPairs(1.0, subtract_square=False),
]
"""A share is another α for each total weight, and each α a kernel of its own: half a second."""
SWITCHES = [names for k in range(len(BOUNDS) + 1) for names in itertools.combinations(BOUNDS, k)]


def asked(problem, objective, complexity=None, impurity=None, without=(), stopping=None):
    stopping = problem.parts.stopping if stopping is None else stopping
    solver = MaxCostSolver(without=without)
    parts = Parts(
        method=None,
        solver=solver,
        objective=objective,
        complexity=complexity,
        impurity=impurity,
        stopping=stopping,
    )
    return attrs.evolve(problem, parts=parts)


def solved(problem, context=Context()):
    solution = problem.parts.solver.solve(problem, context)
    if solution.tree is not None:
        verify_solution(solution, problem)
    return solution


class TestConformance(SolverSuite):
    tables = 10

    @pytest.fixture
    def component(self):
        return MaxCostSolver()

    @pytest.fixture(
        params=[Dearest(), Depth(), MaxCost(error=0.3)], ids=["max_cost", "depth", "error"]
    )
    def parts(self, component, request):
        if isinstance(request.param, MaxCost):
            return Parts(method=None, solver=component, objective=request.param)
        return Parts(method=None, solver=component, objective=ZeroError(), complexity=request.param)

    def problems(self, parts):
        """Those that have a tree of so few errors."""
        for problem in super().problems(parts):
            space = space_of(problem, without_error=False)
            if space.equivalent_loss.sum() <= getattr(parts.objective, "error", 1.0) * space.total:
                yield problem


class TestObjective(ObjectiveSuite):
    component = MaxCost(error=0.6)


@pytest.mark.parametrize("batch", range(6))
def test_every_answer_is_that_of_all_trees_whatever_bounds_are_used(batch):
    """Budgets and limits in any order, so that what is kept of one question serves another."""
    for seed in range(batch * tries(50), (batch + 1) * tries(50)):
        random, problem = np.random.default_rng(seed), random_problem(seed)
        for without_error in (False, True):
            space = space_of(problem, without_error=without_error)
            truth = least_loss(space)
            search = MaxCostSearch(space, Context(), SWITCHES[seed % len(SWITCHES)])
            budgets = np.unique(np.append(0, space.price[:, None] * np.arange(4)))
            if random.random() < 0.5:
                search.grow_greedy_tree(EVER)
            for budget in random.permutation(budgets)[:6].tolist():
                limit = EVER if random.random() < 0.5 else int(random.integers(0, search.leaf + 1))
                search.search_within(budget, limit)
                low, _, up, _ = search.known_bounds(budget)
                assert low == up or low > limit
                for other in budgets.tolist():
                    low, reach, up, spent = search.known_bounds(other)
                    assert low <= truth(other) <= up and spent <= other
                    assert truth(min(reach, int(budgets.max()) * 3)) >= low
                    assert search.bound_loss(other)[0] <= truth(other) or without_error
                assert search.best_tree(budget).price_to.max() <= float(budget * space.coin) * (
                    1 + 1e-9
                )


@pytest.mark.parametrize("impurity", IMPURITIES, ids=repr)
def test_the_least_price_without_error_is_that_of_all_trees(impurity):
    for seed in range(tries(60 if impurity == HingedPairs(epsilon=0.2) else 200)):
        problem = random_problem(1000 + seed)
        delta = None if impurity is None or seed % 2 else float(seed % 5)
        rule = (Held(LeafRule(delta=delta)),)
        problem = asked(
            problem, ZeroError(), Dearest(), impurity, SWITCHES[seed % len(SWITCHES)], rule
        )
        space = space_of(problem, without_error=True)
        found = solved(problem)
        assert found.status is Status.optimal and found.value == pytest.approx(
            float(least_price(space, 0) * space.coin)
        )


@pytest.mark.parametrize("error", [0.0, 0.1, 0.3])
def test_the_least_price_with_few_errors_is_that_of_all_trees(error):
    for seed in range(60):
        problem = asked(
            random_problem(2000 + seed),
            MaxCost(error=error),
            without=SWITCHES[seed % len(SWITCHES)],
        )
        space, found = space_of(problem, without_error=False), solved(problem)
        truth = least_price(space, math.floor(error * space.total + 1e-9))
        if truth < 0:
            assert found.status is Status.infeasible and found.tree is None
        else:
            assert found.status is Status.optimal and found.value == pytest.approx(
                float(truth * space.coin)
            )


def test_the_least_error_within_a_depth_is_that_of_all_trees():
    """Limits on the price are those of a depth where all tests cost the same."""
    for seed in range(60):
        problem = random_problem(3000 + seed)
        problem = attrs.evolve(
            problem,
            prices=attrs.evolve(problem.prices, tests=np.full(len(problem.prices.tests), 0.7)),
        )
        rule = (Held(held=Limits(max_depth=seed % 4)),)
        problem = asked(
            problem, Accuracy(lam=0.0), without=SWITCHES[seed % len(SWITCHES)], stopping=rule
        )
        space, found = space_of(problem, without_error=False), solved(problem)
        assert found.status is Status.optimal and found.tree.depth_of.max() <= seed % 4
        assert found.value == pytest.approx(
            least_loss(space)(int(seed % 4 * space.price.max(initial=0))) / space.total
        )


def test_the_least_error_within_a_budget_is_that_of_all_trees():
    for seed in range(60):
        budget = (0.0, 0.3, 1.0, 2.6, 3.7)[seed % 5]
        rule = (Held(held=Limits(max_cost=budget)),)
        problem = asked(
            random_problem(7000 + seed),
            Accuracy(lam=0.0),
            without=SWITCHES[seed % len(SWITCHES)],
            stopping=rule,
        )
        space, found = space_of(problem, without_error=False), solved(problem)
        assert found.status is Status.optimal and found.tree.price_to.max() <= budget + 1e-9
        assert found.value == pytest.approx(
            least_loss(space)(space.whole_budget(budget)) / space.total
        )


def test_the_step_function_is_the_front_of_error_and_price():
    for seed in range(80):
        problem = random_problem(4000 + seed)
        found = pareto_step_function(problem, without=SWITCHES[seed % len(SWITCHES)])
        steps = [(float(step.errors / found.total), float(step.budget)) for step in found.steps]
        assert found.exact and steps == [
            pytest.approx(one) for one in true_front(problem, "max_cost", 2)
        ]
        assert [(step.budget, step.errors) for step in found.steps] == list(found.lower)
        for step in found.steps:
            leaves = step.tree.weights[step.tree.is_leaf]
            assert float(step.errors) == pytest.approx(leaves.sum() - leaves.max(axis=1).sum())
            assert step.tree.price_to.max() == pytest.approx(float(step.budget))


def test_a_step_function_without_time_has_trees_and_a_bound_that_holds():
    for seed in range(30):
        problem = random_problem(5000 + seed)
        true = pareto_step_function(problem)
        found = pareto_step_function(problem, Context(deadline=time.monotonic() - 1.0))
        for budget in {step.budget for step in true.steps} | {budget for budget, _ in found.lower}:
            least = min(step.errors for step in true.steps if step.budget <= budget)
            assert min(step.errors for step in found.steps if step.budget <= budget) >= least
            assert [errors for start, errors in found.lower if start <= budget][-1] <= least


@pytest.mark.compiled
@pytest.mark.parametrize("multiway", [True, False])
def test_a_table_as_large_as_a_search_needs_equals_dynamic_programming(multiway):
    from arboretum_decision_tables.exact.solver import SubtableDP

    for seed in range(4):
        objects = toy_objects(toy_table(seed, n_rows=60), multiway=multiway)
        problem = asked(random_problem(0), ZeroError(), Dearest())
        problem = attrs.evolve(problem, objects=objects, prices=prices_of(objects, seed or None))
        other = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=SubtableDP()))
        assert solved(problem).value == SubtableDP().solve(other, Context()).value


def test_equal_prices_and_two_way_tests_give_the_error_that_gosdt_proves():
    from arboretum_gosdt.solvers.gosdt import Gosdt

    for seed, depth in itertools.product(range(3), (1, 2, 3)):
        objects = toy_objects(toy_table(seed, n_rows=40), multiway=False)
        problem = asked(
            random_problem(0), Accuracy(lam=0.0), stopping=(Held(held=Limits(max_depth=depth)),)
        )
        problem = attrs.evolve(problem, objects=objects, prices=prices_of(objects))
        other = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=Gosdt()))
        assert solved(problem).value == pytest.approx(Gosdt().solve(other, Context()).value)


@pytest.mark.compiled
def test_the_words_with_four_outliers_are_solved_at_once():
    """Section 5.1 of the paper: 1024 objects, where 4 of them need all ten tests."""
    problem = words_of(10)
    found = pareto_step_function(problem)
    assert found.exact
    assert [(step.budget, step.errors) for step in found.steps] == [
        (0, 768),
        (1, 512),
        (2, 4),
        (10, 0),
    ]
    best = solved(asked(problem, ZeroError(), Dearest(), stopping=(Held(),)))
    # the inner nodes of the tree: the conflict set of an outlier refutes the rest
    assert best.status is Status.optimal and best.value == 10 and best.subproblems == 35


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_bound_saves_subtables_somewhere(bound):
    """Of whole prices, on which the lemma says more than of equal ones."""
    saved = 0
    for seed in range(4):
        objects = toy_objects(toy_table(seed, n_rows=60), multiway=True)
        problem = attrs.evolve(
            asked(random_problem(0), ZeroError(), Dearest()),
            objects=objects,
            prices=prices_of(objects, seed),
        )
        without = (
            tuple(other for other in BOUNDS if other != bound) if bound != "ahead" else ("stars",)
        )
        least = problem.parts.solver
        best = attrs.evolve(least, without=without).solve(problem, Context())
        worse = attrs.evolve(least, without=(*without, bound)).solve(problem, Context())
        assert best.value == worse.value
        saved += worse.details["opened"] - best.details["opened"]
    assert saved > 0


def words_of(bits):
    from arboretum_data.encoding.encoder import MultiwayEncoder
    from arboretum_data.generated import dfep

    table = dfep(bits)
    objects = MultiwayEncoder().encode(table, table, raw_thresholds=False, seed=0)
    return Problem(objects, prices_of(objects), Parts(method=None))


def test_stopped_it_says_what_is_proven_and_keeps_a_tree():
    for seed in range(20):
        for objective in (ZeroError(), MaxCost(error=0.2)):
            problem = asked(
                random_problem(6000 + seed),
                objective,
                Dearest() if isinstance(objective, ZeroError) else None,
            )
            best = problem.parts.solver.solve(problem, Context())
            if best.tree is not None:
                found = solved(problem, Context(deadline=time.monotonic() - 1.0))
                assert found.lower_bound <= best.value <= found.value


def test_interrupted_it_keeps_the_greedy_tree():
    def stop(*_):
        raise KeyboardInterrupt(15)

    objects = toy_objects(toy_table(1, n_rows=200), multiway=False)
    problem = attrs.evolve(
        asked(random_problem(0), ZeroError(), Dearest()),
        objects=objects,
        prices=prices_of(objects, 3),
    )
    found = solved(problem, Context(progress=stop))
    assert (
        found.status is Status.feasible
        and found.interrupted.args == (15,)
        and found.lower_bound < found.value
    )


def test_bytes_run_out_before_the_search_does():
    objects = toy_objects(toy_table(1, n_rows=200), multiway=False)
    problem = attrs.evolve(
        asked(random_problem(0), ZeroError(), Dearest()),
        objects=objects,
        prices=prices_of(objects, 3),
    )
    found = solved(problem, Context(memory_bytes=1))
    assert (
        found.status is Status.feasible
        and found.lower_bound < found.value
        and any("bytes" in note for note in found.notes)
    )


def test_without_error_weights_change_nothing_also_those_that_the_grid_rounds_to_zero():
    for seed in range(60):
        problem = asked(random_problem(3000 + seed), ZeroError(), Dearest())
        objects = problem.objects
        weight = np.random.default_rng(seed).choice([1e-9, 1e9], objects.n_objects)
        table = attrs.evolve(objects.table, weights=weight)
        light = attrs.evolve(
            problem, objects=attrs.evolve(objects, table=table, weight=table.row_weights())
        )
        one, other = solved(problem), solved(light)
        assert (one.status, one.value) == (other.status, other.value)


def test_prices_are_the_decimals_that_were_written():
    numbers, unit, exact = as_whole_numbers(np.array([0.1, 0.25, 3.0]))
    assert numbers.tolist() == [2, 5, 60] and float(unit) == 0.05 and exact
    assert not as_whole_numbers(np.array([1 / 3, math.pi]))[2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"complexity": Nodes(), "objective": ZeroError()}, "complexity=max_cost"),
        ({"objective": Accuracy(lam=0.1)}, "three questions"),
        ({"objective": Accuracy(lam=0.0)}, "stopping.max_cost.limit"),
        (
            {
                "objective": ZeroError(),
                "complexity": Dearest(),
                "stopping": (Held(LeafRule(theta=0.2)),),
            },
            "stopping=\\[pure\\]",
        ),
        (
            {
                "objective": MaxCost(),
                "stopping": (Held(LeafRule(delta=0.2)),),
                "impurity": ToyGini(),
            },
            "counts errors",
        ),
        ({"objective": MaxCost(), "stopping": (Held(held=Limits(max_leaves=3)),)}, "max_leaves"),
        (
            {"objective": Accuracy(lam=0.0), "stopping": (Held(held=Limits(max_depth=2)),)},
            "all tests cost the same",
        ),
    ],
)
def test_what_it_does_not_know_is_refused(change, words):
    problem = random_problem(6)
    assert len(set(problem.prices.tests.tolist())) > 1
    with pytest.raises(CapabilityError, match=words):
        solved(asked(problem, **change))


def test_prices_that_depend_on_the_outcome_are_refused():
    problem = asked(random_problem(5), MaxCost())
    prices = Prices.by_outcome(np.ones((len(problem.prices.tests), 2)))
    with pytest.raises(CapabilityError, match="cost=table"):
        solved(attrs.evolve(problem, prices=prices))


class TestMinima:
    """What it certifies is what it answers when it is asked for it, and what all trees say."""

    @pytest.mark.parametrize("batch", range(2))
    def test_of_path_cost_and_depth_are_those_of_all_trees(self, batch):
        for seed in range(batch * 30, batch * 30 + 30):
            problem = asked(random_problem(seed), None)
            slow = SubtableDP().minima(problem, [Dearest(), Depth()], Context())
            for found, truth in zip(
                MaxCostSolver().minima(problem, [Dearest(), Depth()], Context()), slow, strict=True
            ):
                assert found.status is Status.optimal
                assert found.value == pytest.approx(truth.value, rel=1e-12)

    def test_least_training_error_within_a_budget(self):
        for seed in range(20):
            problem = random_problem(seed)
            budget = float(problem.prices.tests.max(initial=1.0))
            held = asked(problem, None, stopping=(Held(held=Limits(max_cost=budget)),))
            objective, found = MaxCostSolver().least(held, Context())
            same = MaxCostSolver().solve(
                asked(problem, Accuracy(lam=0.0), stopping=held.parts.stopping), Context()
            )
            assert (
                found.value
                == objective.value(found.tree, held)
                == pytest.approx(same.value, rel=1e-12)
            )

    def test_other_complexities_and_bounds_that_do_not_exist_are_refused(self):
        problem = asked(random_problem(0), None)
        with pytest.raises(CapabilityError, match="complexity=max_cost or complexity=depth"):
            MaxCostSolver().minima(problem, [Nodes()], Context())
        with pytest.raises(ConfigError, match="unknown bound 'lemmas'"):
            MaxCostSolver(without=("lemmas",)).minima(problem, [Depth()], Context())

    def test_seconds_are_shared_and_a_bound_is_left(self):
        found = MaxCostSolver().minima(
            asked(random_problem(3), None), [Dearest(), Depth()], Context(deadline=time.monotonic())
        )
        assert [0 <= one.lower_bound <= one.value for one in found] == [True, True]
