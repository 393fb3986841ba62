"""The solver: conformance, counts, lists, stages, budgets, and what it refuses."""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import time
from pathlib import Path

import attrs
import numpy as np
import pytest
import slow_truth as slow
from decision_tables import Rule, problem_from, problems, random_problem, repeated
from hypothesis import given, settings, strategies as st

from arboretum.api import (
    CapabilityError,
    ConfigError,
    Context,
    DataError,
    Family,
    LeafRule,
    Limits,
    Parts,
    Status,
    value_of,
    within_bytes,
)
from arboretum.measure.complexity import complexities as measured
from arboretum.testing import ComplexitySuite, ObjectiveSuite, SolverSuite
from arboretum.testing.effort import examples
from arboretum.testing.oracles import branches
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import ToyGini
from arboretum_decision_tables.complexities import (
    COMPLEXITIES,
    AverageDepth,
    Depth,
    ExpectedCost,
    Nodes,
    ZeroError,
)
from arboretum_decision_tables.exact import graph as graphs, search as searching
from arboretum_decision_tables.exact.bound_kernels import huffman_length, pool_light_classes
from arboretum_decision_tables.exact.search import minimise_complexity
from arboretum_decision_tables.exact.solver import Inconsistent, SubtableDP
from arboretum_decision_tables.exact.space import space_of
from arboretum_decision_tables.exact.values import decimal_digits

NAMES = [cls.name for cls in COMPLEXITIES]


def asked(problem, complexity, **parts):
    """The problem, with something to minimise."""
    return attrs.evolve(
        problem,
        parts=attrs.evolve(
            problem.parts,
            complexity=complexity,
            objective=ZeroError(),
            solver=SubtableDP(),
            **parts,
        ),
    )


class TestConformance(SolverSuite):
    tables = 6

    @pytest.fixture(params=COMPLEXITIES, ids=NAMES)
    def complexity(self, request):
        return request.param()

    @pytest.fixture
    def component(self):
        return SubtableDP()

    @pytest.fixture
    def parts(self, component, complexity):
        return Parts(method=None, solver=component, objective=ZeroError(), complexity=complexity)


class TestComplexities(ComplexitySuite):
    @pytest.fixture(params=COMPLEXITIES, ids=NAMES)
    def component(self, request):
        return request.param()


class TestObjective(ObjectiveSuite):
    component = ZeroError()

    @staticmethod
    def parts(component):
        return Parts(method=None, objective=component, complexity=AverageDepth())


@examples(60)
@given(problems(max_rows=7), st.sampled_from([cls() for cls in COMPLEXITIES]))
def test_the_tree_is_lawful_verified_and_of_least_value_under_any_leaf_rule(problem, complexity):
    problem = asked(problem, complexity)
    solution = SubtableDP().solve(problem, Context())
    verify_solution(solution, problem)
    space = space_of(problem)
    best = slow.minima(space, complexity)[frozenset(range(space.n_objects))]
    scale = space.total_mass if complexity.per_object else 1.0
    assert solution.status is Status.optimal
    assert np.isclose(solution.value, best / scale, rtol=1e-12, atol=0)
    assert np.isclose(measured(solution.tree)[complexity.name], solution.value, rtol=1e-12, atol=0)
    assert (
        value_of(complexity, solution.tree)
        == solution.value
        == ZeroError().value(solution.tree, problem)
    )


def least(objects, prices, rule, rows):
    """The least Σ mass · price over inner nodes, all trees tried: a leaf has one class, few
    objects, few rows or little mass, or no test divides it.
    """
    mass = objects.weight[rows].sum()
    light = mass <= rule.theta * objects.weight.sum() * (1 + 1e-12)
    few = len(rows) < rule.min_objects or objects.count[rows].sum() < rule.min_split
    if light or few or len(set(objects.label[rows].tolist())) == 1:
        return 0.0
    found = [
        mass * prices[test] + sum(least(objects, prices, rule, part) for part in parts.values())
        for test in range(len(prices))
        if len(parts := branches(objects, test, rows)) > 1
    ]
    return min(found, default=0.0)


RULES_OF_OBJECTS = [
    LeafRule(min_objects=3),
    LeafRule(theta=0.15, min_objects=3),
    LeafRule(6, 0.1, min_objects=4),
    LeafRule(5),
]


@settings(max_examples=2 * settings().max_examples, deadline=None)
@given(problems(max_rows=7, rules=False), st.sampled_from(RULES_OF_OBJECTS), st.data())
def test_a_leaf_rule_that_counts_merged_objects_is_obeyed_by_graph_and_search_alike(
    problem, rule, data
):
    n = problem.objects.n_objects
    times = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    problem = asked(repeated(problem, times), ExpectedCost(), stopping=(Rule(rule),))
    truth = least(problem.objects, problem.prices.tests, rule, np.arange(n))
    total = problem.objects.weight.sum()
    solution = SubtableDP().solve(problem, Context())
    verify_solution(solution, problem)
    assert solution.status is Status.optimal and np.isclose(
        solution.value * total, truth, rtol=1e-12, atol=0
    )
    assert np.isclose(
        minimise_complexity(space_of(problem), ExpectedCost.FORM).value, truth, rtol=1e-12, atol=0
    )


def test_the_objective_counts_objects_where_the_leaf_rule_does():
    codes, label = np.array([[0], [1], [2]]), np.array([0, 1, 0])
    problem = asked(
        repeated(problem_from(codes, label, [Family.multiway]), np.array([3, 1, 1])), Depth()
    )
    few = attrs.evolve(
        problem, parts=attrs.evolve(problem.parts, stopping=(Rule(LeafRule(min_objects=4)),))
    )
    tree = SubtableDP().solve(few, Context()).tree
    assert tree.n_nodes == 1 and ZeroError().value(tree, few) == 0, "three objects of five rows"
    rows = attrs.evolve(
        problem, parts=attrs.evolve(problem.parts, stopping=(Rule(LeafRule(min_split=4)),))
    )
    assert ZeroError().value(tree, rows) == np.inf


def test_one_graph_gives_the_minima_of_all_complexities():
    problem = random_problem(0, 50, 6)
    found = SubtableDP().minima(problem, [cls() for cls in COMPLEXITIES], Context())
    for cls, solution in zip(COMPLEXITIES, found, strict=True):
        alone = SubtableDP().solve(asked(problem, cls()), Context())
        assert (
            solution.value == alone.value == solution.lower_bound
            and solution.status is Status.optimal
        )
        assert value_of(cls(), solution.tree) == solution.value


@examples(40)
@given(problems(max_rows=5, whole=True), st.sampled_from([cls() for cls in COMPLEXITIES]))
def test_listed_trees_are_distinct_optimal_and_as_many_as_counted(problem, complexity):
    problem = asked(problem, complexity)
    solution = SubtableDP(count=True, enumerate=40).solve(problem, Context())
    trees = [solution.tree, *solution.others]
    number = int(solution.details["optimal_trees"])
    assert len(set(trees)) == len(trees) == min(40, number)
    for tree in trees:
        assert ZeroError().value(tree, problem) == solution.value
    space = space_of(problem)
    best, everything = slow.minima(space, complexity), slow.all_trees(space)
    assert number == sum(
        slow.is_optimal_throughout(space, complexity, tree, best) for tree in everything
    )


def test_stages_are_reported_one_by_one_and_the_tree_is_one_of_those_left():
    problem = asked(random_problem(4, 40, 6), AverageDepth())
    solution = SubtableDP(then=("n_nodes", "depth"), count=True).solve(problem, Context())
    minima, number = slow.in_sequence(space_of(problem), [AverageDepth(), Nodes(), Depth()])
    stages = solution.details["stages"]
    assert list(stages) == ["average_depth", "n_nodes", "depth"]
    assert [stages["n_nodes"], stages["depth"]] == minima[1:] and np.isclose(
        stages["average_depth"] * 40, minima[0]
    )
    assert (
        value_of(Nodes(), solution.tree) == minima[1]
        and value_of(Depth(), solution.tree) == minima[2]
    )
    assert solution.details["optimal_trees"] == str(number)
    loose = SubtableDP(then=("n_nodes",)).solve(asked(problem, Depth()), Context())
    assert any("after depth" in note for note in loose.notes)


def test_more_than_two_to_the_sixty_three_trees_are_counted_exactly():
    """Parity of 7 bits: any order of bits on any path is optimal, so N(d) = d · N(d − 1)²."""
    codes = np.array(list(np.ndindex(*(2,) * 7)))
    solution = SubtableDP(count=True).solve(
        asked(problem_from(codes, codes.sum(axis=1) % 2, [Family.multiway] * 7), Nodes()), Context()
    )
    number = 1
    for d in range(1, 8):
        number = d * number**2
    assert number > 2**63 and solution.details["optimal_trees"] == str(number)


def test_numbers_of_any_length_are_written_in_decimal():
    for number in (0, 7, 10**4000 - 1, 10**4000, 10**8000 + 5, 3**40000):
        text = decimal_digits(number)
        assert (
            int(text[:4000]) == number // 10 ** max(0, len(text) - 4000)
            and text[-3:] == f"{number % 1000:03d}"[-len(text) :]
        )


def test_contradicting_objects_get_the_majority_or_are_refused():
    codes, label = np.array([[0, 0], [0, 0], [0, 0], [1, 0]]), np.array([0, 1, 1, 0])
    problem = asked(problem_from(codes, label, [Family.multiway] * 2), Depth())
    solution = SubtableDP().solve(problem, Context())
    verify_solution(solution, problem)
    assert solution.value == 1 and solution.notes[0].startswith("2 objects")  # equal rows are one
    assert "majority class" in solution.notes[0]
    with pytest.raises(DataError, match="solver.inconsistent=majority"):
        SubtableDP(inconsistent=Inconsistent.refuse).solve(problem, Context())


def test_one_decision_is_depth_zero():
    problem = asked(
        problem_from(np.array([[0], [1]]), np.array([1, 1]), [Family.multiway]), Depth()
    )
    solution = SubtableDP(count=True).solve(problem, Context())
    assert (solution.value, solution.lower_bound, solution.tree.n_nodes) == (0, 0, 1)
    assert solution.details["optimal_trees"] == "1"


class Falling:
    """Cheaper when a branch gets dearer."""

    name = "falling"

    def leaf(self):
        return 1.0

    def node(self, mass, price, children):
        return 10.0 - float(children.sum())


def test_a_complexity_that_is_not_monotone_is_refused_with_the_counterexample():
    with pytest.raises(
        CapabilityError, match=r"falling is not monotone: F\(.*\) = .* is greater than F\(.*\) = "
    ):
        SubtableDP().solve(asked(random_problem(0, 5, 2), Falling()), Context())


class Undefined(Falling):
    name = "undefined"

    def node(self, mass, price, children):
        return float(children.sum()) if mass != 3.0 else float("nan")


def test_a_complexity_that_is_no_number_somewhere_is_refused():
    with pytest.raises(
        CapabilityError,
        match=r"undefined is not monotone: F\(mass=3, .*\) = nan must be a number ≥ 0",
    ):
        SubtableDP().solve(
            asked(
                problem_from(np.array([[0], [1], [1]]), np.array([0, 1, 1]), [Family.multiway]),
                Undefined(),
            ),
            Context(),
        )


@attrs.frozen
class AtMostTwo(Rule):
    def limits(self):
        return Limits(max_depth=2)


def test_what_has_no_minimum_is_refused_with_the_way_out():
    problem = asked(random_problem(0, 8, 2), Depth())
    with pytest.raises(CapabilityError, match="max_depth"):
        SubtableDP().solve(asked(problem, Depth(), stopping=(AtMostTwo(),)), Context())
    with pytest.raises(CapabilityError, match="objective=zero_error"):
        SubtableDP().solve(
            attrs.evolve(problem, parts=attrs.evolve(problem.parts, objective=None)), Context()
        )
    with pytest.raises(CapabilityError, match="complexity=NAME"):
        SubtableDP().solve(
            attrs.evolve(problem, parts=attrs.evolve(problem.parts, complexity=None)), Context()
        )
    with pytest.raises(ConfigError, match="did you mean 'depth'"):
        SubtableDP(then=("dept",)).solve(problem, Context())
    two_way = asked(random_problem(0, 8, 2, families=[Family.equals] * 2), Depth())
    with pytest.raises(CapabilityError, match="paid once for several tests"):
        SubtableDP().solve(
            attrs.evolve(two_way, prices=attrs.evolve(two_way.prices, once_per_column=True)),
            Context(),
        )
    once = attrs.evolve(problem, prices=attrs.evolve(problem.prices, once_per_column=True))
    assert SubtableDP().solve(once, Context()).status is Status.optimal, (
        "a multiway test is never asked twice"
    )


@pytest.mark.parametrize(
    ("complexity", "families"),
    [
        (cls(), [Family.thresholds, Family.equals] * 3 if k % 2 else None)
        for k, cls in enumerate(COMPLEXITIES)
    ],
    ids=NAMES,
)
def test_when_bytes_run_out_the_bound_is_below_the_minimum_and_the_tree_is_lawful(
    complexity, families
):
    problem = asked(random_problem(5, 90, 6, families=families, prices=[1, 2, 3]), complexity)
    best = SubtableDP().solve(problem, Context()).value
    last = None
    for budget in (1, 800_000, 1_500_000):
        solution = SubtableDP().solve(problem, Context(memory_bytes=budget))
        verify_solution(solution, problem)
        assert solution.lower_bound <= best * (1 + 1e-12) and solution.value >= best * (1 - 1e-12)
        assert solution.lower_bound > 0
        if solution.status is Status.feasible:
            assert "the budget of bytes ran out" in solution.notes[0] and not solution.finished
        last = solution if last is None else last
    assert last.status is Status.feasible, "the smallest budget is too small for this table"


@pytest.mark.compiled  # whose slices are longer
def test_when_seconds_run_out_it_stops_in_time(monkeypatch):
    """A look at the clock lets a second pass, so what is done after the deadline is counted in
    looks: the greedy tree, 600.
    """
    for module in (graphs, searching):
        monkeypatch.setattr(module, "SLICE", 1000)
    looks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(looks)))
    # a first tree is sought for so long
    monkeypatch.setattr("arboretum.interfaces.method.MOMENT", 1e6)
    problem = asked(random_problem(6, 3000, 16), AverageDepth())  # some million subtables
    for seconds in (0, 20, 100):
        points = []
        context = Context(
            deadline=next(looks) + seconds,
            proven=lambda low, value, points=points: points.append((low, value)),
        )
        solution = SubtableDP().solve(problem, context)
        assert next(looks) - context.deadline < 1000
        assert solution.status is Status.feasible and "seconds" in solution.notes[0]
        assert 0 < solution.lower_bound < solution.value
        assert points and all(0 < low <= solution.lower_bound * (1 + 1e-12) for low, _ in points)
        assert all(value >= solution.value * (1 - 1e-12) for _, value in points)


@pytest.mark.parametrize("prices", [None, [1, 2, 3]], ids=["unit", "priced"])
def test_after_warming_up_no_kernel_is_compiled_or_loaded(prices):
    problem = asked(
        random_problem(5, 90, 6, families=[*Family] * 2, prices=prices, weight=np.full(90, 0.5)),
        AverageDepth(),
    )
    SubtableDP().warm_up(problem, Context(deadline=math.inf))
    before = _signatures()
    SubtableDP().solve(problem, Context())
    assert (
        "branch and bound"
        in SubtableDP().solve(problem, Context(deadline=math.inf, memory_bytes=800_000)).notes[0]
    )
    assert _signatures() == before and len(before) > 20


def _signatures() -> dict[str, int]:
    """Kernel of the solver → how many forms of it there are in this process."""
    folder = Path(graphs.__file__).parent
    modules = [
        importlib.import_module(f"arboretum_decision_tables.exact.{path.stem}")
        for path in folder.glob("*.py")
        if path.stem != "__init__"
    ]
    kernels = [
        kernel
        for module in modules
        for kernel in vars(module).values()
        if hasattr(kernel, "nopython_signatures")
    ]
    return {
        f"{kernel.py_func.__module__}.{kernel.__name__}": len(kernel.nopython_signatures)
        for kernel in kernels
    }


@examples(80)
@given(problems(max_rows=8), st.sampled_from([cls() for cls in COMPLEXITIES]))
def test_the_bound_by_class_weights_alone_is_a_bound(problem, complexity):
    space = space_of(problem)
    whole = frozenset(range(space.n_objects))
    if slow.is_leaf(space, whole) or not slow.bundles_of(space, whole):
        return  # a leaf is not searched
    bound = searching.SubtableSearch(space, complexity.form(), ease=0.0)._bound_by_classes()
    assert 0 <= bound <= slow.minima(space, complexity)[whole] * (1 + 1e-12)


def test_leaves_below_a_weight_are_majorised_by_portions_of_it():
    assert slow.capped([5.0, 1.0, 1.0, 0.5], 0.0) == [5.0, 1.0, 1.0, 0.5]
    assert slow.capped([5.0, 1.0, 1.0, 0.5], 1.0) == [5.0, 1.0, 1.0, 0.5]
    assert slow.capped([5.0, 1.0, 1.0, 0.5], 2.0) == [5.0, 2.0, 0.5]
    assert slow.capped([5.0, 4.0], 9.0) == [9.0]
    heap = np.array([0.5, 1.0, 1.0, 5.0])
    assert pool_light_classes(heap, 4, 2.0) == 3 and heap[:3].tolist() == [0.5, 2.0, 5.0]


def test_huffman_knows_the_textbook():
    assert slow.huffman_length([1.0], 2) == 0
    assert slow.huffman_length([1, 1, 2, 4], 2) == 14
    assert slow.huffman_length([1, 1, 1, 1], 3) == 6
    assert slow.huffman_length([5, 5, 5], 3) == 15


@examples(60)
@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0, 2.25, 7.0]), min_size=1, max_size=9),
    st.integers(2, 4),
    st.sampled_from([0.0, 1.0, 2.0]),
)
def test_the_kernels_find_the_portions_and_the_code_that_are_found_slowly(weights, arity, free):
    heap, expected = np.sort(weights), slow.capped(weights, free)
    n = pool_light_classes(heap, len(heap), free)
    assert heap[:n].tolist() == sorted(expected)
    assert huffman_length(heap, n, arity) == pytest.approx(
        slow.huffman_length(expected, arity), rel=1e-12
    )


def test_progress_is_told_in_subtables(monkeypatch):
    monkeypatch.setattr(graphs, "SLICE", 100)
    heard = []
    SubtableDP().solve(
        asked(random_problem(7, 60, 5), ExpectedCost()),
        Context(progress=lambda done, total, message: heard.append((done, total, message))),
    )
    done = [told[0] for told in heard]
    assert len(heard) > 1 and done == sorted(done) and all("subtables" in told[2] for told in heard)


def test_the_objective_forbids_leaves_that_the_rule_forbids():
    problem = asked(random_problem(8, 12, 3), Depth())
    loose = asked(random_problem(8, 12, 3, rule=LeafRule(min_split=6), impurity=ToyGini()), Depth())
    tree = SubtableDP().solve(loose, Context()).tree
    assert ZeroError().value(tree, loose) == tree.depth_of.max()
    assert ZeroError().value(tree, problem) == np.inf


def test_an_attempt_goes_on_where_its_budget_ended(monkeypatch):
    monkeypatch.setattr(searching, "SLICE", 0)
    clock = iter(range(10**9))
    monkeypatch.setattr(searching.time, "monotonic", lambda: next(clock) * 1.0)
    problem = asked(random_problem(5, 90, 6), AverageDepth())
    attempt, found, expanded = SubtableDP().begin(problem), [], []
    while not found or not found[-1].finished:
        found.append(attempt.go_on(Context(deadline=next(clock) + 400.0, memory_bytes=800_000)))
        expanded.append(found[-1].subproblems)
    assert len(found) > 2 and expanded == sorted(expanded), "nothing is done again"
    best = SubtableDP().solve(problem, Context())
    assert found[-1].value == best.value and found[-1].status is Status.optimal
    for earlier, later in itertools.pairwise(found):
        assert (
            earlier.lower_bound <= later.lower_bound <= best.value <= later.value <= earlier.value
        )


def test_without_a_budget_the_graph_still_takes_no_more_than_the_default_bytes(monkeypatch):
    few = functools.partial(within_bytes, most=800_000)
    monkeypatch.setattr("arboretum_decision_tables.exact.solver.within_bytes", few)
    solution = SubtableDP().solve(asked(random_problem(9, 200, 10), AverageDepth()), Context())
    assert (
        solution.status is Status.optimal
        and "budget of bytes; branch and bound proved" in solution.notes[0]
    )
