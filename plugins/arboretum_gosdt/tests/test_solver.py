"""The solver as a run meets it: conformance, limits, budgets, what it refuses."""

from __future__ import annotations

import re
import time

import attrs
import numpy as np
import pytest
from tiny_tables import least, limited, objectives, tiny_problem

import arboretum
from arboretum.api import BudgetError, CapabilityError, Context, Parts, Price, Prices, Status
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum.testing import SolverSuite
from arboretum.testing.effort import tries
from arboretum.testing.suites.base import verify_solution
from arboretum_basics.stopping import ImpurityAtMost, MassAtMost, Standard
from arboretum_gosdt.continuous.search import IntervalSearch
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix
from arboretum_gosdt.problem.prepared import all_tests
from arboretum_gosdt.problem.proving import prove
from arboretum_gosdt.solvers.choice import Which, bounds_of_search
from arboretum_gosdt.solvers.constrained import Constrained
from arboretum_gosdt.solvers.gosdt import Gosdt
from arboretum_gosdt.solvers.path import Path
from arboretum_gosdt.solvers.rashomon import Rashomon


class TestConformance(SolverSuite):
    tables = 4

    @pytest.fixture(
        params=[Accuracy(), Balanced(mu=0.01), CostMatrix(lam=0.0, mu=0.1, price=Price.max)],
        ids=lambda one: one.name,
    )
    def objective(self, request):
        return request.param

    @pytest.fixture
    def component(self):
        return Gosdt()

    @pytest.fixture
    def parts(self, component, objective):
        return Parts(method=None, solver=component, objective=objective)


def solved(problem, context=Context(), **limits):
    problem = limited(problem, solver=Gosdt(), stopping=(Standard(**limits),))
    return problem, Gosdt().solve(problem, context)


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"max_depth": 2},
        {"max_leaves": 3},
        {"min_leaf": 2},
        {"max_depth": 2, "max_leaves": 3, "min_leaf": 2},
    ],
    ids=str,
)
def test_its_tree_is_verified_and_of_least_value_for_every_objective_and_limit(limits):
    for seed in range(12):
        for objective in objectives(seed):
            problem, solution = solved(tiny_problem(seed, objective, raw=seed % 4 == 0), **limits)
            verify_solution(solution, problem)
            best = float(
                least(
                    problem,
                    depth=limits.get("max_depth"),
                    leaves=limits.get("max_leaves"),
                    least=limits.get("min_leaf", 1),
                )
            )
            assert (
                solution.status is Status.optimal
                and solution.lower_bound
                == solution.value
                == pytest.approx(best, rel=1e-12, abs=1e-15)
            )
            assert solution.tree.depth_of.max() <= limits.get("max_depth", 99)


@pytest.mark.parametrize("raw", [False, True], ids=["tests", "raw"])
def test_where_a_leaf_costs_nothing_no_test_sends_all_objects_one_way(raw):
    for seed in range(12):
        for depth in (4, 5):
            problem, solution = solved(
                tiny_problem(seed, Accuracy(lam=0.0), raw=raw, n_rows=14, n_columns=2),
                max_depth=depth,
            )
            verify_solution(solution, problem)
            assert solution.tree.counts.min() > 0 and solution.status is Status.optimal


def known_to(which, problem, limits):
    """The problem with λ, μ and price as a fast search takes them within limits, the nearest to its
    own.
    """
    objective, alike = problem.parts.objective, problem.objects.weight / problem.objects.count
    lam, mu = objective.lam if which is Which.intervals else 0.0, 0.0
    if which is Which.sparse:
        least, deepest = limits["min_leaf"], limits["max_depth"]
        mu = objective.mu if least == 1 or (alike == alike[0]).all() else 0.0
        endless = deepest is None or (least == 1 and mu == 0)
        lam = objective.lam or (0.05 if endless else 0.0)
    objective = attrs.evolve(objective, lam=lam, mu=mu, price=Price.expected)
    return limited(problem, objective=objective, stopping=(Standard(**limits),))


def limits_known_to(which, seed):
    """Limits on depth, and for the sparse search on the rows of leaves."""
    if which is not Which.sparse:
        return {"max_depth": seed % 4, "min_leaf": 1}
    return {"max_depth": seed % 4 if seed % 3 else None, "min_leaf": 1 + seed // 2 % 4}


@pytest.mark.compiled
@pytest.mark.parametrize("which", [Which.sparse, Which.limited, Which.intervals])
def test_every_search_finds_what_the_general_one_finds(which):
    solver = Gosdt(search=which)
    for seed in range(40):
        limits = limits_known_to(which, seed)
        for objective in objectives(seed):
            raw = which is Which.intervals and seed % 3 == 0
            size = {"n_rows": 30, "n_columns": 4} if seed % 5 == 0 else {}
            problem = known_to(which, tiny_problem(seed, objective, raw=raw, **size), limits)
            problem = limited(problem, solver=solver)
            if not all_tests(problem).column.size:
                continue
            solution = solver.solve(problem, Context())
            verify_solution(solution, problem)
            plain = Gosdt(search=Which.general).solve(problem, Context())
            assert solution.status is Status.optimal
            assert solution.value == pytest.approx(plain.value, rel=1e-12, abs=1e-15), (
                seed,
                problem.parts.objective,
                limits,
            )


@pytest.mark.compiled
def test_where_all_tests_have_one_price_the_depth_is_paid(monkeypatch):
    """By few searches within depths; what is known whenever one is left holds."""
    monkeypatch.setattr("arboretum_gosdt.sparse.search.SLICE", 1)
    left = paid = 0
    for seed in (*range(40), 67, 73):  # of the last two one test is best, and two before prices
        objective = Accuracy(lam=0.005, mu=(0.005, 0.03, 0.06)[seed % 3], price=Price.max)
        problem = tiny_problem(seed, objective, n_rows=24, n_columns=4)
        same = np.full_like(problem.prices.tests, 1 + seed % 2)
        prices = attrs.evolve(problem.prices, tests=same, raw=np.full_like(problem.prices.raw, 1))
        limits = {"max_depth": (None, 3)[seed % 2], "min_leaf": 1 + seed // 4 % 3}
        problem = limited(attrs.evolve(problem, prices=prices), stopping=(Standard(**limits),))
        best = Gosdt(search=Which.general).solve(problem, Context()).value
        attempt = Gosdt(search=Which.sparse).begin(problem)
        found = attempt.go_on(Context(deadline=0.0))
        while found.status is not Status.optimal:
            verify_solution(found, problem)
            assert found.lower_bound <= best + 1e-12 and best <= found.value + 1e-12
            left += 1
            found = attempt.go_on(Context(deadline=time.monotonic() + 1e-4))
        verify_solution(found, problem)
        assert found.lower_bound == found.value == pytest.approx(best, rel=1e-12), seed
        plain = attrs.evolve(objective, mu=0.0)
        deeper = Gosdt().solve(limited(problem, objective=plain), Context()).tree
        paid += found.tree.depth_of.max() < deeper.depth_of.max()
    assert left > 40 and paid > 5, "no search is left, or no tree is less deep for its price"


@pytest.mark.parametrize("which", [Which.sparse, Which.limited])
def test_bounds_may_be_left_out_without_another_optimum(which):
    names = bounds_of_search(which)
    assert len(names) >= 3
    for seed in range(6):
        objective = Accuracy(lam=0.03 if which is Which.sparse else 0.0)
        problem = limited(
            tiny_problem(seed, objective, n_rows=30, n_columns=5), stopping=(Standard(max_depth=4),)
        )
        found = {
            Gosdt(search=which, without=left_out).solve(problem, Context()).value
            for left_out in ((), *((n,) for n in names), names)
        }
        assert len(found) == 1, (seed, found)
    with pytest.raises(
        CapabilityError,
        match=f"solver.without: the search {which.name} has the bounds {names[0]}, .*; got 'luck'",
    ):
        Gosdt(search=which, without=("luck",)).solve(problem, Context())


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("which", [Which.sparse, Which.limited, Which.intervals])
def test_every_search_finds_what_brute_force_finds_on_thousands_of_tables(which, part):
    solver = Gosdt(search=which)
    for seed in range(5000 + 170 * part, 5000 + 170 * part + tries(170)):
        limits = limits_known_to(which, seed)
        for objective in objectives(seed):
            raw = which is Which.intervals and seed % 3 == 0
            problem = known_to(which, tiny_problem(seed, objective, raw=raw), limits)
            if all_tests(problem).column.size:
                solution = solver.solve(limited(problem, solver=solver), Context())
                assert solution.status is Status.optimal
                best = float(least(problem, depth=limits["max_depth"], least=limits["min_leaf"]))
                assert solution.value == pytest.approx(best, rel=1e-12, abs=1e-15), (
                    seed,
                    problem.parts.objective,
                    limits,
                )


def test_a_search_that_does_not_know_the_limits_is_refused():
    problem = tiny_problem(8, Accuracy(), n_rows=20)
    for which, limits in (
        (Which.sparse, {"max_leaves": 3}),
        (Which.sparse, {"max_leaves": 3, "min_leaf": 2}),
        (Which.limited, {"max_depth": 3}),
        (Which.intervals, {"max_depth": 3, "max_leaves": 3}),
        (Which.intervals, {}),
    ):
        with pytest.raises(
            CapabilityError, match=f"solver.search={which.name} knows .* choose solver.search=auto"
        ):
            Gosdt(search=which).solve(limited(problem, stopping=(Standard(**limits),)), Context())


PLAIN = Gosdt(search=Which.general)


def noise(n_rows=150, n_columns=12, **objective):
    return tiny_problem(8, Accuracy(**objective), n_rows=n_rows, n_columns=n_columns)


def test_leaf_rules_that_look_at_rows_and_mass_are_obeyed_and_others_refused():
    for seed in range(20):
        problem, solution = solved(tiny_problem(seed, Accuracy(lam=0.0), n_rows=8), min_split=5)
        assert (solution.tree.counts[~solution.tree.is_leaf] >= 5).all()
        assert solution.value == pytest.approx(float(least(problem, split=5)))
        problem = limited(problem, stopping=(MassAtMost(theta=0.5),))
        tree = Gosdt().solve(problem, Context()).tree
        assert (tree.mass[~tree.is_leaf] > 0.5 * tree.mass[0]).all()
    for wrong, words in (
        (ImpurityAtMost(), "leave stopping=impurity out"),
        (Standard(min_decrease=0.1), "know no limit min_decrease"),
    ):
        with pytest.raises(CapabilityError, match=words):
            Gosdt().solve(limited(problem, stopping=(wrong,)), Context())


def test_without_time_it_returns_the_best_leaf_and_its_gap():
    problem, solution = solved(noise(), Context(deadline=time.monotonic()))
    assert (
        solution.tree.n_nodes == 1 and solution.status is Status.feasible and not solution.finished
    )
    assert (
        0
        < solution.lower_bound
        < solution.value
        == problem.parts.objective.value(solution.tree, problem)
    )
    assert "the budget of seconds ran out" in solution.notes[0]


def test_it_goes_on_where_it_stopped_and_is_told_of_every_step():
    problem = limited(noise(70, 6, lam=0.02), solver=Gosdt())
    whole = Gosdt().solve(problem, Context())
    attempt, heard = Gosdt().begin(problem), []
    for _ in range(10_000):
        context = Context(
            deadline=time.monotonic() + 0.02, proven=lambda low, value: heard.append((low, value))
        )
        found = attempt.go_on(context)
        assert found.lower_bound <= whole.value <= found.value + 1e-12
        if found.finished:
            break
    assert found.value == whole.value == found.lower_bound
    assert heard and all(low <= whole.value + 1e-12 <= value + 2e-12 for low, value in heard)


def test_an_interrupt_returns_the_best_tree_so_far():
    problem = limited(noise(lam=0.002), solver=Gosdt(), stopping=(Standard(max_leaves=20),))
    calls = []

    def interrupt(low, value):
        calls.append(value)
        if len(calls) == 2:
            raise KeyboardInterrupt

    solution = PLAIN.solve(problem, Context(proven=interrupt))
    verify_solution(solution, problem)
    assert solution.details == {"interrupted": True} and not solution.finished
    assert solution.value <= calls[1] + 1e-12

    def end(low, value):
        raise KeyboardInterrupt(15)

    ended = PLAIN.solve(problem, Context(proven=end))
    verify_solution(ended, problem)
    assert ended.interrupted.args == (15,) and not ended.finished


def test_memory_is_refused_with_the_estimate_and_runs_out_with_a_tree(monkeypatch):
    monkeypatch.setattr("arboretum.interfaces.method.FEW_BYTES", 0)
    with pytest.raises(BudgetError, match="tests of 200 objects as bits take about 0 MB"):
        solved(noise(n_rows=200), Context(memory_bytes=10))
    with pytest.raises(
        BudgetError, match="in the general search take about .* MB.* raise budget.memory_mb"
    ):
        PLAIN.solve(noise(n_rows=200), Context(memory_bytes=4_000))
    solution = PLAIN.solve(noise(n_rows=200, lam=0.003), Context(memory_bytes=400_000))
    assert solution.status is Status.feasible and "the budget of bytes ran out" in solution.notes[0]


@pytest.mark.parametrize("solver", [Gosdt(), Constrained(increasing=("x0",)), Rashomon(), Path()])
def test_pairs_of_many_thresholds_are_refused_or_told_with_the_estimate_without_a_budget(
    solver, monkeypatch
):
    monkeypatch.setattr("arboretum.solving.attempt.within_bytes.__defaults__", (40_000,))
    problem = noise(n_rows=60)  # what is too much is made little, so that no such table is needed
    says = r"3 levels of 60 objects and .* tests take .* MB; raise budget.memory_mb"
    try:
        solution = solver.solve(problem, Context())
    except BudgetError as error:
        assert re.search(says, str(error))
    else:
        assert re.search(says, solution.notes[0]) and not solution.finished


@pytest.mark.parametrize("classes", [2, 3])
def test_costs_of_classes_with_all_digits_of_a_float_are_as_good_as_short_ones(classes):
    generator = np.random.default_rng(classes)
    for seed in range(tries(60)):
        table = generator.choice([1 / 3, 2**0.5, 1e17 / 3, 1e-9 / 7, 0.5, 2.0], (classes, classes))
        np.fill_diagonal(table, 0)
        lam = generator.choice([0.0, 0.01, 0.3])
        problem = tiny_problem(seed, CostMatrix(lam=float(lam), costs=table.tolist()))
        if problem.objects.n_classes != classes:
            continue
        problem, solution = solved(problem, max_depth=2)
        verify_solution(solution, problem)
        truth, slack = float(least(problem, depth=2)), 1e-9 * max(1.0, table.max())
        assert truth - slack <= solution.lower_bound <= truth * (1 + 1e-12) + 1e-12
        assert abs(solution.value - truth) <= slack


def test_labels_are_of_least_cost_where_weights_were_rounded(tmp_path):
    """Of balanced classes both labels of the root cost the same; a run verifies that they do."""
    rows = (f"{i},{1 + i * 0.1234567891},{'AB'[i % 2]}" for i in range(12))
    (tmp_path / "t.csv").write_text("\n".join(["a,w,y", *rows]))
    run = arboretum.run(
        [
            *("dataset=file", f"dataset.path={tmp_path / 't.csv'}", "dataset.target=y"),
            *("dataset.weight=w", "method=gosdt", "objective=balanced", "objective.lam=0.01"),
            *("stopping.standard.max_depth=2", "split=none", "tracker=none"),
        ]
    )
    assert "more digits" in run.solution.notes[0]


@pytest.mark.parametrize("lam", [0.3, 0.0])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_one_class_is_a_leaf_by_intervals_too_and_has_a_proof(depth, lam, tmp_path):
    solver = Gosdt(search="intervals", proof=str(tmp_path / "proof"))
    for seed in range(3):
        problem = tiny_problem(seed, Accuracy(lam=lam), raw=True, n_rows=4)
        label = np.zeros(problem.objects.n_objects, np.int32)
        problem = attrs.evolve(problem, objects=attrs.evolve(problem.objects, label=label))
        problem = limited(problem, solver=solver, stopping=(Standard(max_depth=depth),))
        solver.warm_up(problem, Context())
        solution = solver.solve(problem, Context())
        assert solution.value == pytest.approx(lam) and solution.tree.n_nodes == 1
        assert check(read(solver.proof), problem).lower_bound == pytest.approx(lam)


def test_one_class_and_no_tests_are_a_leaf():
    problem = tiny_problem(2, n_rows=6)
    same = attrs.evolve(problem.objects, label=np.zeros(6, np.int32))
    _, solution = solved(attrs.evolve(problem, objects=same))
    assert solution.tree.n_nodes == 1 and solution.value == solution.lower_bound == pytest.approx(
        0.01
    )
    constant = attrs.evolve(problem.objects, codes=np.zeros_like(problem.objects.codes))
    _, solution = solved(attrs.evolve(problem, objects=constant))
    assert solution.tree.n_nodes == 1 and solution.status is Status.optimal


def test_a_lambda_above_everything_and_weights_of_many_digits():
    _, solution = solved(tiny_problem(5, Accuracy(lam=1e6), n_rows=8))
    assert solution.tree.n_nodes == 1 and solution.status is Status.optimal
    problem = tiny_problem(7, Balanced(lam=1 / 3e2), n_rows=60, n_columns=4)
    weight = np.random.default_rng(3).random(60)
    problem = limited(
        attrs.evolve(problem, objects=attrs.evolve(problem.objects, weight=weight)), solver=Gosdt()
    )
    solution = Gosdt().solve(problem, Context())
    verify_solution(solution, problem)
    assert solution.status is Status.optimal and solution.value - solution.lower_bound < 1e-8


@pytest.mark.parametrize("solver", [Gosdt(), Constrained(), Path()], ids=lambda one: one.name)
def test_a_lambda_above_all_losses_is_told_as_it_is(solver):
    problem, heard = limited(noise(30, 4, lam=2.0), solver=solver), []
    found = solver.solve(problem, Context(proven=lambda low, value: heard.append((low, value))))
    assert found.tree.n_nodes == 1 and found.status is Status.optimal and found.value > 2
    assert all(low <= found.value + 1e-12 <= value + 2e-12 for low, value in heard)
    assert found.details.get("lambdas", [2.0]) == [2.0]
    with pytest.raises(CapabilityError, match="objective.lam=2 is above all losses"):
        Rashomon().solve(problem, Context())


def test_what_it_does_not_know_is_refused_with_the_way_out():
    problem = tiny_problem(3, Accuracy(mu=0.1))
    shared = attrs.evolve(problem.prices, once_per_column=True)
    several = any(feature.n_tests > 1 for feature in problem.objects.features)
    if several:
        with pytest.raises(CapabilityError, match="paid once for several tests.*cost=table"):
            solved(attrs.evolve(problem, prices=shared))
    by_path = Prices(
        problem.prices.tests, problem.prices.raw, after=lambda asked, test_cost: problem.prices
    )
    for asked in (problem, limited(problem, objective=Accuracy())):
        with pytest.raises(CapabilityError, match="depends on the path or the outcome"):
            solved(attrs.evolve(asked, prices=by_path))
    with pytest.raises(CapabilityError, match="add objective=accuracy"):
        Gosdt().solve(limited(problem, objective=None), Context())


FAMILY = {
    **dict.fromkeys(
        ("gosdt", "rashomon", "constrained", "fronts", "path"), ("monk1-full", "a1", "1")
    ),
    "regression": ("diabetes", "bmi", "above"),
}
PRICES = {
    "by_outcome": lambda column, outcome: [f"cost.prices={{{column}: {{{outcome}: 3}}}}"],
    "set_up": lambda column, _: [f"cost.groups={{{column}: g}}", "cost.set_up={g: 2}"],
    "discount": lambda column, _: [f"cost.groups={{{column}: g}}"],
    "per_column": lambda column, _: ["cost.default=2"],
}


@pytest.mark.parametrize("cost", PRICES)
@pytest.mark.parametrize("method", FAMILY)
def test_prices_that_are_not_one_per_test_are_refused_by_the_whole_family(method, cost):
    """Also where the objective asks for none: a tree says what its paths pay."""
    dataset, column, outcome = FAMILY[method]
    words = [
        f"dataset={dataset}",
        f"method={method}",
        f"cost={cost}",
        *PRICES[cost](column, outcome),
        "encoder=bins",
    ]
    with pytest.raises(
        CapabilityError, match=f"solver {method} knows (one price per test|prices of tests)"
    ):
        arboretum.run([*words, "stopping.standard.max_depth=2", "split=none", "tracker=none"])


def test_kernels_are_loaded_although_the_few_objects_taken_are_of_one_class(monkeypatch):
    """Else the search would load them, within its budget."""
    problem = tiny_problem(3, Accuracy(lam=0.0), raw=True, n_rows=40, n_columns=2)
    one_class = np.zeros(40, np.int32)
    one_class[1] = 1  # every second or third object is taken, from the first on
    problem = attrs.evolve(
        problem,
        objects=attrs.evolve(problem.objects, label=one_class),
        parts=attrs.evolve(problem.parts, stopping=(Standard(max_depth=3),)),
    )
    searched, plain_of = [], IntervalSearch.__init__

    def begin(self, *given):
        plain_of(self, *given)
        searched.append(self.plain)

    monkeypatch.setattr(IntervalSearch, "__init__", begin)
    Gosdt(search=Which.intervals).warm_up(problem, Context())
    assert searched[0] is False


def test_kernels_are_loaded_for_sums_as_wide_as_those_of_all_objects(monkeypatch):
    problem = tiny_problem(3, Accuracy(lam=0.0), raw=True, n_rows=40, n_columns=2)
    heavy = attrs.evolve(problem.objects, weight=20000.0 + np.arange(40))  # 2¹⁵ and more together
    problem = attrs.evolve(
        problem,
        objects=heavy,
        parts=attrs.evolve(problem.parts, stopping=(Standard(max_depth=3),)),
    )
    types, allocate = [], IntervalSearch._allocate

    def allocate_and_look(self, memory_bytes):
        found = allocate(self, memory_bytes)
        types.append([array.dtype for array in self.tables])
        return found

    monkeypatch.setattr(IntervalSearch, "_allocate", allocate_and_look)
    solver = Gosdt(search=Which.intervals)
    solver.warm_up(problem, Context())
    solver.solve(problem, Context())
    assert types[0] == types[-1]


@pytest.mark.compiled
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_intervals_of_cuts_find_what_bits_find_where_leaves_have_a_price(depth, monkeypatch):
    monkeypatch.setattr("arboretum_gosdt.solvers.choice.CUTS_IN_ALL", 0)
    monkeypatch.setattr("arboretum_gosdt.solvers.choice.CUTS", 0)
    kinds = set()
    for seed in range(tries(60)):
        shape = {"n_rows": 6 + seed % 30, "most_values": 8, "n_columns": 1 + seed % 4}
        for objective in objectives(seed):
            objective = attrs.evolve(objective, mu=0.0, lam=objective.lam or 0.02)
            problem = tiny_problem(seed, objective, raw=True, **shape)
            problem = limited(problem, stopping=(Standard(max_depth=depth),))
            attempt = Gosdt().begin(problem)
            found, other = attempt.go_on(Context()), Gosdt(search=Which.sparse).begin(problem)
            kinds.add((search_of(attempt), search_of(other)))
            assert found.value == pytest.approx(other.go_on(Context()).value, rel=1e-12, abs=1e-12)
            assert found.lower_bound == pytest.approx(found.value, rel=1e-12, abs=1e-12)
            assert found.status is Status.optimal
    assert ("IntervalSearch", "SparseSearch") in kinds


def test_a_price_that_lanes_do_not_hold_is_left_to_bits(monkeypatch):
    monkeypatch.setattr("arboretum_gosdt.solvers.choice.CUTS_IN_ALL", 0)
    monkeypatch.setattr("arboretum_gosdt.solvers.choice.CUTS", 0)
    problem = tiny_problem(3, Accuracy(0.0123456789), raw=True, n_rows=30, n_columns=2)
    problem = limited(problem, stopping=(Standard(max_depth=2),))
    assert search_of(Gosdt().begin(problem)) == "SparseSearch"
    with pytest.raises(CapabilityError, match="intervals knows .* fit into 31 bits together"):
        Gosdt(search=Which.intervals).begin(problem)


def test_the_proof_of_a_priced_search_that_was_stopped_shows_its_bound(monkeypatch, tmp_path):
    monkeypatch.setattr("arboretum_gosdt.continuous.search.STEPS", 30)
    shape = {"n_rows": 40, "most_values": 8, "n_columns": 4}
    problem = tiny_problem(3, Accuracy(0.02), raw=True, **shape)
    solver = Gosdt(search=Which.intervals, proof=str(tmp_path / "proof"))
    problem = limited(problem, solver=solver, stopping=(Standard(max_depth=3),))
    attempt = solver.begin(problem)
    found = attempt.go_on(Context(deadline=time.monotonic()))
    assert 0.02 < found.lower_bound < found.value
    prove(solver.proof, attempt.search, found, Context())
    shown = check(read(tmp_path / "proof"), problem).lower_bound
    assert shown == pytest.approx(found.lower_bound, rel=1e-12)


def search_of(attempt):
    return type(attempt.search.chosen.search).__name__


def test_what_is_known_of_a_priced_search_over_intervals_holds_at_any_time(monkeypatch):
    monkeypatch.setattr("arboretum_gosdt.continuous.search.STEPS", 30)
    told = []
    for seed in range(tries(20)):
        shape = {"n_rows": 40, "most_values": 8, "n_columns": 4}
        problem = tiny_problem(seed, Accuracy(0.02), raw=True, **shape)
        problem = limited(problem, stopping=(Standard(max_depth=3),))
        bounds = []
        context = Context(proven=lambda lower, value: bounds.append((lower, value)))
        found = Gosdt(search=Which.intervals).solve(problem, context)
        assert all(low <= found.value + 1e-12 <= value + 2e-12 for low, value in bounds)
        told += bounds
    assert sum(low < value for low, value in told) > 20


def test_columns_of_many_cuts_are_searched_by_intervals_unless_a_proof_is_asked_for(tmp_path):
    rng = np.random.default_rng(4)
    for values, name in ((60, "LimitedSearch"), (200, "IntervalSearch")):
        problem = tiny_problem(3, Accuracy(lam=0.0), raw=True, n_rows=400, n_columns=2)
        raw = rng.integers(0, values, (400, 2)).astype(np.float64)
        problem = attrs.evolve(problem, objects=attrs.evolve(problem.objects, raw=raw))
        problem = limited(problem, stopping=(Standard(max_depth=2),))
        attempt = Gosdt().begin(problem)
        other = Gosdt(search=Which.limited).solve(problem, Context())
        assert search_of(attempt) == name
        assert attempt.go_on(Context()).value == pytest.approx(other.value, abs=1e-12)
        proven = Gosdt(proof=str(tmp_path / "proof")).begin(problem)
        assert search_of(proven) == "LimitedSearch"
