"""GOSDT as printed: conformance, brute force, its plain twin iteration by iteration, every
schedule, the graph.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from drawn_tables import brute_force, drawn_problem

from arboretum.api import (
    BudgetError,
    ConfigError,
    Context,
    Parts,
    Status,
    StoreError,
    two_way_problem,
)
from arboretum.testing import SolverSuite
from arboretum.testing.effort import tries
from arboretum.testing.suites.base import verify_solution
from arboretum_baselines.as_printed.solver import GosdtReference, PrintedSearch, Rule
from arboretum_baselines.reference import PrintedGosdt
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix
from arboretum_gosdt.solvers.gosdt import Gosdt

SCHEDULES = [(rule, high) for rule in Rule for high in (True, False)]


class TestConformance(SolverSuite):
    tables = 6

    @pytest.fixture(
        params=[Accuracy(), Balanced(lam=0.05), Accuracy(lam=0.0)],
        ids=["accuracy", "balanced", "error"],
    )
    def objective(self, request):
        return request.param

    @pytest.fixture
    def component(self):
        return GosdtReference()

    @pytest.fixture
    def parts(self, component, objective):
        return Parts(method=None, solver=component, objective=objective)


def objective_of(seed):
    lam = [0.0, 0.01, 0.03, 0.1][seed // 3 % 4]
    return [
        Accuracy(lam=lam),
        Balanced(lam=lam),
        CostMatrix(lam=lam, costs=[[0, 1.5, 2], [0.25, 0, 1], [3, 1, 0]]),
    ][seed % 3]


def finish(search):
    while search.work() != search.kernels.FINISHED:
        assert search.make_room(10**9)
    return search


def cost_of(found, nodes, at=0, held=None):
    """What a tree of nodes costs, by plain recursion."""
    held = np.ones(len(found.cost), bool) if held is None else held
    test, zero, one = nodes[at].tolist()
    if test < 0:
        return int(found.cost[held].sum(axis=0).min()) + found.leaf
    return cost_of(found, nodes, zero, held & ~found.outcome[test]) + cost_of(
        found, nodes, one, held & found.outcome[test]
    )


@pytest.mark.parametrize(
    "seeds",
    [
        range(tries(200)),
        *(
            pytest.param(range(k, k + tries(500)), marks=pytest.mark.slow)
            for k in range(1000, 6000, 500)
        ),
    ],
    ids=str,
)
def test_every_schedule_ends_with_brute_forces_optimum_and_a_tree_of_it(seeds):
    for seed in seeds:
        problem = drawn_problem(seed, objective_of(seed))
        found = two_way_problem(problem, "it")
        best = brute_force(found)[frozenset(range(len(found.cost)))]
        for rule, high in SCHEDULES:
            search = finish(PrintedSearch(found, rule, high, seed))
            assert search.lower == search.upper == best == cost_of(found, search.tree()), (
                seed,
                rule,
                high,
            )


def test_the_solver_agrees_with_the_certified_one_and_is_verified():
    for seed in range(tries(100)):
        size = {"n_rows": 40, "n_columns": 5} if seed % 4 == 0 else {}
        problem = drawn_problem(seed, objective_of(seed), solver=GosdtReference(), **size)
        solution = GosdtReference().solve(problem, Context())
        plain = Gosdt().solve(problem, Context())
        verify_solution(solution, problem)
        assert (
            solution.status is plain.status is Status.optimal
            and solution.value == pytest.approx(plain.value, rel=1e-12, abs=1e-15)
        )


def as_bits(outcome):
    return [sum(1 << u for u in np.flatnonzero(row).tolist()) for row in outcome]


@pytest.mark.parametrize("high", [True, False])
def test_the_kernel_does_what_the_plain_twin_does_iteration_by_iteration(high):
    """Bounds of every set after every iteration, for rules whose keys both compute alike."""
    for seed in range(24):
        found = two_way_problem(
            drawn_problem(seed, objective_of(seed), n_rows=14, n_columns=3), "it"
        )
        whole = float(found.cost.sum())

        def share(support):
            own = float(found.cost[[u for u in range(len(found.cost)) if support >> u & 1]].sum())
            return own / whole if own else 1e-300

        keys = {
            Rule.fifo: lambda p, support, turn: 0.0,
            Rule.bound: lambda p, support, turn: float(p.lower),
            Rule.objective: lambda p, support, turn: float(p.upper),
            Rule.curiosity: lambda p, support, turn: p.lower / share(support),
        }
        for rule, key in keys.items():
            twin = PrintedGosdt(as_bits(found.outcome), found.cost.tolist(), found.leaf, key, high)
            search = PrintedSearch(found, rule, high, 0)

            def compare():
                while search.steps_of(1) == search.kernels.NEED_ROOM:
                    search.make_room(10**9)
                graph = search.arrays()
                numbers = [
                    sum(int(word) << 64 * w for w, word in enumerate(words))
                    for words in graph.rows[: search.known].tolist()
                ]
                bounds = zip(
                    graph.lower[: search.known].tolist(),
                    graph.upper[: search.known].tolist(),
                    strict=True,
                )
                assert dict(zip(numbers, bounds, strict=True)) == {
                    s: (p.lower, p.upper) for s, p in twin.graph.items()
                }

            twin.solve(compare)
            assert (
                search.iterations == twin.iterations
                and (search.lower, search.upper) == (twin.graph[twin.root].lower,) * 2
            )

            def nested(nodes, at, support):
                test, zero, one = nodes[at].tolist()
                if test < 0:
                    return twin.upper(support)[1]
                bits = twin.tests[test]
                return (
                    test,
                    nested(nodes, zero, support & ~bits),
                    nested(nodes, one, support & bits),
                )

            assert nested(search.tree(), 0, twin.root) == twin.extract(twin.root)


def test_bounds_are_bounds_of_every_set_at_every_pop_and_only_tighten():
    """Algorithms 2 to 4 at creation, and what updates make of them."""
    for seed in range(40):
        found = two_way_problem(drawn_problem(seed, objective_of(seed)), "it")
        truth = brute_force(found)
        for rule, high in SCHEDULES[seed % 3 :: 3]:
            search, before = PrintedSearch(found, rule, high, seed), {}
            ended = search.kernels.PAUSED
            while ended != search.kernels.FINISHED:
                graph = search.arrays()
                for number in range(search.known):
                    held = np.unpackbits(graph.rows[number].view(np.uint8), bitorder="little")[
                        : len(found.cost)
                    ]
                    low, high_ = int(graph.lower[number]), int(graph.upper[number])
                    assert low <= truth[frozenset(np.flatnonzero(held).tolist())] <= high_
                    assert (
                        before.get(number, (low, high_))[0] <= low
                        and high_ <= before.get(number, (low, high_))[1]
                    )
                    before[number] = low, high_
                assert cost_of(found, search.tree()) <= search.upper
                ended = search.steps_of(1)
                if ended == search.kernels.NEED_ROOM:
                    search.make_room(10**9)


def test_algorithms_2_to_4_bound_every_set_that_tests_can_make():
    """Lower (9): equivalent points, one leaf; upper (10): a leaf; a set that fails the bounds is
    best as a leaf.
    """
    for seed in range(200):
        found = two_way_problem(drawn_problem(seed, objective_of(seed)), "it")
        plain = PrintedGosdt(
            as_bits(found.outcome), found.cost.tolist(), found.leaf, lambda *_: 0.0
        )
        for rows, best in brute_force(found).items():
            support = sum(1 << u for u in rows)
            lower, (upper, label) = plain.lower(support), plain.upper(support)
            assert lower <= best <= upper == int(found.cost[list(rows), label].sum()) + found.leaf
            if upper - lower <= found.leaf or upper <= 2 * found.leaf:  # Algorithm 4
                assert best == upper


def noise(**more):
    return drawn_problem(3, Accuracy(lam=0.004), n_rows=150, n_columns=9, **more)


def test_a_budget_leaves_a_tree_and_a_bound():
    problem = noise()
    best = Gosdt().solve(problem, Context()).value
    for context in (Context(deadline=time.monotonic()), Context(memory_bytes=800_000)):
        solution = GosdtReference().solve(problem, context)
        verify_solution(solution, problem)
        assert (
            solution.status is Status.feasible
            and solution.lower_bound <= best <= solution.value
            and "ran out" in solution.notes[0]
        )


def test_tables_that_do_not_fit_the_budget_are_refused_with_the_way_out():
    with pytest.raises(
        BudgetError, match="tests of .* groups of rows take .* raise budget.memory_mb"
    ):
        GosdtReference().solve(noise(), Context(memory_bytes=1000))


def test_ctrl_c_leaves_a_tree_and_a_bound():
    def press(lower, value):
        raise KeyboardInterrupt

    problem = noise()
    solution = GosdtReference().solve(problem, Context(proven=press))
    verify_solution(solution, problem)
    assert (
        solution.interrupted
        and solution.lower_bound <= Gosdt().solve(problem, Context()).value <= solution.value
    )


def test_the_dependency_graph_is_drawn_with_its_bounds(tmp_path):
    problem = drawn_problem(11, Accuracy(lam=0.01), n_rows=12, n_columns=3)
    for suffix in ("dot", "svg"):
        path = tmp_path / f"graph.{suffix}"
        solution = GosdtReference(graph=str(path)).solve(problem, Context())
        text = path.read_text()
        assert f"[{solution.value:.4g}, {solution.value:.4g}]" in text and "12 rows" in text
    assert path.with_suffix(".dot").read_text().count("penwidth") == solution.tree.n_nodes - 1
    assert text.count("<rect") == solution.details["sets"] + 1  # and the ground
    large = GosdtReference(graph=str(tmp_path / "large.dot")).solve(
        noise(), Context(memory_bytes=800_000)
    )
    assert (
        "of which at most 400 are drawn" in large.notes[-1]
        and not (tmp_path / "large.dot").exists()
    )
    for name, refused in (("no/graph.dot", StoreError), ("graph.pdf", ConfigError)):
        with pytest.raises(
            refused, match="name another file with solver.graph|must end in .dot or .svg"
        ):
            # before the search
            GosdtReference(graph=str(tmp_path / name)).solve(problem, Context(progress=None))
