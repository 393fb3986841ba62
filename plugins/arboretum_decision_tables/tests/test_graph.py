"""Δ(T) from the kernels is Δ(T) by the paper's words; so are the values on it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import slow_truth as slow
from decision_tables import GiniInNumpy, problem_from, problems, random_problem
from hypothesis import given, settings, strategies as st

from arboretum.api import Context, Family, LeafRule
from arboretum.kernels import complexity_kernel
from arboretum.testing.effort import examples
from arboretum.testing.tables import ToyGini
from arboretum_decision_tables.complexities import COMPLEXITIES
from arboretum_decision_tables.exact import graph as graphs
from arboretum_decision_tables.exact.search import minimise_complexity
from arboretum_decision_tables.exact.space import space_of
from arboretum_decision_tables.exact.values import (
    Cost,
    bundles_of,
    count_trees,
    keep_optimal_bundles,
    values_of_nodes,
)

WHOLE = [c() for c in COMPLEXITIES]


class Longest:
    """A complexity of an author's own: two for each test, and the longest branch; compiled."""

    name = "longest"

    def leaf(self):
        return 0.5

    @staticmethod
    @complexity_kernel
    def node(mass, price, children):
        best = 0.0
        for child in children:
            best = max(best, child)
        return 2.0 * price + best


class SumInPython:
    """Another, in plain Python."""

    name = "sum_in_python"

    def leaf(self):
        return 1.0

    def node(self, mass, price, children):
        return float(np.sqrt(mass) + children.sum())


USERS = [Longest(), SumInPython()]
COSTS = [Cost.of(complexity) for complexity in (*WHOLE, *USERS)]


def same_graph(space, graph):
    """Every subtable of the slow Δ(T) has its node, with the same bundles, and there are no
    more.
    """
    slow_graph = slow.delta(space)
    inner = {rows for rows in slow_graph if not slow.is_leaf(space, rows)}
    node_of = {rows: graph.node_of(np.array(sorted(rows))) for rows in slow_graph}
    assert sorted(node_of[rows] for rows in inner) == list(range(graph.n_nodes))
    for rows in slow_graph:
        if rows not in inner:
            assert node_of[rows] == -1
            continue
        node = node_of[rows]
        assert graph.size[node] == len(rows)
        assert np.isclose(graph.mass[node], sum(space.weight[row] for row in rows), rtol=1e-13)
        expected = [
            (
                test,
                sum(node_of[part] < 0 for part in parts.values()),
                sorted(node_of[p] for p in parts.values() if node_of[p] >= 0),
            )
            for test, parts in slow_graph[rows]
        ]
        found = [
            (int(graph.stream[at]), leaves, sorted(below))
            for at, leaves, below in bundles_of(graph, node)
        ]
        assert found == expected
    return slow_graph, inner


@examples(80)
@given(problems(max_rows=9, max_features=4))
def test_small_tables_have_the_nodes_and_bundles_that_the_paper_describes(problem):
    space = space_of(problem)
    same_graph(space, graphs.build_graph(space))


@pytest.mark.parametrize(
    "families", [[f] * 4 for f in Family] + [[*Family, Family.multiway]], ids=str
)
@pytest.mark.parametrize(
    "rule", [LeafRule(), LeafRule(min_split=4, theta=0.03), LeafRule(delta=0.4)], ids=str
)
def test_so_have_tables_of_more_rows_than_a_word_has_bits(families, rule):
    n = 130 if families[0] is Family.multiway else 75
    problem = random_problem(
        1,
        n,
        4,
        values=3,
        families=families,
        rule=rule,
        impurity=ToyGini(),
        prices=[2, 1, 3, 1, 1, 2],
    )
    space = space_of(problem)
    graph = graphs.build_graph(space, count_leaves=True)
    every, inner = same_graph(space, graph)
    assert graph.leaves == len(every) - len(inner)


def test_arrays_that_grow_and_a_clock_that_is_root_cuts_often_change_nothing(monkeypatch):
    space = space_of(random_problem(2, 120, 5, families=[*Family, *Family][:5]))
    at_once = graphs.build_graph(space)
    monkeypatch.setattr(graphs, "SLICE", 0)
    monkeypatch.setattr(graphs, "FIRST_NODES", 2)
    monkeypatch.setattr(graphs, "FIRST_STREAM", 1)
    in_pieces = graphs.build_graph(space)
    same_graph(space, in_pieces)
    assert in_pieces.n_nodes == at_once.n_nodes


def test_an_impurity_without_a_kernel_gives_the_same_graph_slowly():
    fast = space_of(random_problem(3, 40, 4, rule=LeafRule(delta=0.5), impurity=ToyGini()))
    space = space_of(random_problem(3, 40, 4, rule=LeafRule(delta=0.5), impurity=GiniInNumpy()))
    assert not space.compiled_impurity and fast.compiled_impurity
    graph = graphs.build_graph(space)
    same_graph(space, graph)
    assert graph.n_nodes == graphs.build_graph(fast).n_nodes


class BreaksLater(GiniInNumpy):
    """An impurity with a bug that shows inside the search only, not at its root."""

    calls = itertools.count()

    def value(self, weights):
        if next(self.calls) % 20 == 19:
            raise ZeroDivisionError("a bug of a plugin")
        return super().value(weights)


@pytest.mark.parametrize(
    "find",
    [graphs.build_graph, lambda space: minimise_complexity(space, COMPLEXITIES[0].FORM)],
    ids=["graph", "search"],
)
def test_an_impurity_that_raises_inside_a_kernel_ends_the_search(find):
    space = space_of(random_problem(3, 40, 4, rule=LeafRule(delta=0.5), impurity=BreaksLater()))
    with pytest.raises(ZeroDivisionError, match="a bug of a plugin"):
        find(space)


@settings(max_examples=settings().max_examples, deadline=None)
@given(problems(max_rows=8, max_features=3))
def test_every_value_is_the_minimum_by_the_slow_recursion(problem):
    space = space_of(problem)
    graph = graphs.build_graph(space)
    slow_graph = slow.delta(space)
    for cost in COSTS:
        found = values_of_nodes(graph, cost)
        for rows, value in slow.minima(space, cost.complexity, slow_graph).items():
            node = graph.node_of(np.array(sorted(rows)))
            if node >= 0:
                assert np.isclose(found[node], value, rtol=1e-12, atol=0)


@settings(max_examples=settings().max_examples, deadline=None)
@given(problems(max_rows=5, max_features=3))
def test_the_slow_recursion_finds_what_brute_force_over_all_trees_finds(problem):
    space = space_of(problem)
    whole = frozenset(range(space.n_objects))
    trees = list(slow.all_trees(space))
    for complexity in (*WHOLE, *USERS):
        brute = min(slow.value_of_sketch(space, complexity, tree) for tree in trees)
        assert np.isclose(slow.minima(space, complexity)[whole], brute, rtol=1e-12, atol=0)


@settings(max_examples=settings().max_examples, deadline=None)
@given(problems(max_rows=5, max_features=3, whole=True), st.sampled_from([*WHOLE, Longest()]))
def test_counted_are_the_trees_whose_subtrees_are_all_optimal_and_for_sums_all_optimal_trees(
    problem, complexity
):
    space = space_of(problem)
    whole, cost = frozenset(range(space.n_objects)), Cost.of(complexity)
    graph = graphs.build_graph(space)
    number = 1
    if graph.n_nodes:
        number = count_trees(keep_optimal_bundles(graph, cost, values_of_nodes(graph, cost)))[0]
    best = slow.minima(space, complexity)
    trees = list(slow.all_trees(space))
    optimal = [
        tree for tree in trees if slow.value_of_sketch(space, complexity, tree) == best[whole]
    ]
    throughout = [
        tree for tree in optimal if slow.is_optimal_throughout(space, complexity, tree, best)
    ]
    assert number == len(throughout)
    if cost.strict:
        assert number == len(optimal)


@examples(40)
@given(
    problems(max_rows=5, max_features=3, whole=True),
    st.lists(st.sampled_from(WHOLE), min_size=2, max_size=3, unique=True),
)
def test_sequential_optimisation_is_the_least_in_turn_among_the_trees_that_are_left(
    problem, stages
):
    space = space_of(problem)
    found, number = slow.in_sequence(space, stages)
    trees = list(slow.all_trees(space))
    for stage, value in zip(stages, found, strict=True):
        brute = min(slow.value_of_sketch(space, stage, tree) for tree in trees)
        assert value == brute
        best = [slow.value_of_sketch(space, stage, tree) for tree in trees]
        trees = [tree for tree, v in zip(trees, best, strict=True) if v == brute]
        if not Cost.of(stage).strict:
            return  # further stages are about trees that are optimal throughout
    assert number == len(trees)


def test_the_graph_of_a_table_of_one_class_is_empty():
    space = space_of(problem_from(np.array([[0], [1]]), np.array([1, 1]), [Family.multiway]))
    assert graphs.build_graph(space, Context()).n_nodes == 0


def test_a_graph_that_ran_out_of_seconds_can_be_gone_on_with(monkeypatch):
    monkeypatch.setattr(graphs, "SLICE", 100)
    looks = iter(range(10**6))
    monkeypatch.setattr(graphs.time, "monotonic", lambda: float(next(looks)))
    space = space_of(random_problem(3, 90, 6))
    whole, builder = graphs.build_graph(space), graphs.Builder(space)
    sizes, graph = [], None
    while graph is None or not graph.finished:
        graph = builder.run(Context(deadline=next(looks) + 5.0))
        assert graph.stopped in ("seconds", "")
        sizes.append(graph.n_nodes)
    assert len(sizes) > 2 and sizes == sorted(sizes)
    for name in ("size", "mass", "start", "stream", "order"):
        assert np.array_equal(getattr(graph, name), getattr(whole, name))
