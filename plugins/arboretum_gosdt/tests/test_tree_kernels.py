"""What nodes hold, and the last test of a tree, against what is said of them row by row."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_tables import objectives, tiny_problem

from arboretum_gosdt.problem import kernels, tree_kernels
from arboretum_gosdt.problem.prepared import all_tests, units_of, unpack_bits


@pytest.mark.parametrize("seed", range(60))
def test_the_best_test_is_the_first_whose_sides_save_most(seed):
    draw = np.random.default_rng(seed)
    features, classes, n = draw.choice([1, 5, 31, 32, 33, 70]), 2 + seed % 3, draw.integers(1, 40)
    outcome = draw.integers(0, 2, (n, features)).astype(np.uint8)
    outcome = np.pad(outcome, [(0, 0), (0, -features % 32)])
    bits = np.packbits(outcome, axis=1, bitorder="little").view(np.uint32)
    weights = draw.integers(0, 4, (n, classes))
    rows = np.flatnonzero(draw.random(n) < 0.7)
    has, some = unpack_bits(bits, features)[rows].astype(np.int64), weights[rows]
    most, best = some.sum(axis=0).max(), -1
    for feature in range(features):
        one = some[has[:, feature] == 1].sum(axis=0)
        saved = one.max() + (some.sum(axis=0) - one).max()
        if saved > most:
            most, best = saved, feature
    assert tree_kernels.best_test(bits, weights, rows, features) == (best, most, some.sum())


@pytest.mark.parametrize("seed", range(60))
def test_the_best_cut_is_the_first_whose_sides_save_most(seed):
    draw = np.random.default_rng(seed)
    columns, classes, n = draw.integers(1, 6), 2 + seed % 3, draw.integers(1, 40)
    ranks = draw.integers(0, draw.integers(1, 12), (columns, n)).astype(np.int32)
    weights = draw.integers(0, 4, (n, classes))
    rows = np.flatnonzero(draw.random(n) < 0.7)
    some = weights[rows]
    most, best = some.sum(axis=0).max(), (-1, 0)
    for column in range(columns):
        for cut in range(ranks.max() + 1):
            left = some[ranks[column, rows] <= cut].sum(axis=0)
            saved = left.max() + (some.sum(axis=0) - left).max()
            if saved > most:
                most, best = saved, (column, cut)
    assert tree_kernels.best_cut(ranks, weights, rows) == best


@pytest.mark.parametrize("seed", range(20))
def test_a_node_holds_the_objects_that_come_by(seed):
    problem = tiny_problem(seed, objectives(seed)[0])
    objects, tests, units = problem.objects, all_tests(problem), units_of(problem)
    draw, n_tests = np.random.default_rng(seed), len(tests.column)
    nodes = np.array(
        [[0, 1, 4], [draw.integers(n_tests), 2, 3], *[[-1, -1, -1]] * 3]
        if n_tests
        else [[-1, -1, -1]]
    )
    n, labels = len(nodes), units.costs.shape[1]
    held = tree_kernels.Held(
        np.zeros((n, objects.n_classes)), np.zeros(n, np.int64), np.zeros((n, labels), np.int64)
    )
    tree_kernels.add_objects_to_nodes(
        kernels.Coded(tests.codes, tests.family, tests.column, tests.index),
        nodes,
        tree_kernels.Objects(objects.label, objects.weight, objects.count, units.costs),
        held,
    )
    inside = {0: np.arange(objects.n_objects)}
    for node, (test, one, rest) in enumerate(nodes.tolist()):
        here = inside[node]
        if test >= 0:
            has = tests.outcome(test, here)
            inside |= {one: here[has], rest: here[~has]}
        weights = np.bincount(objects.label[here], objects.weight[here], objects.n_classes)
        assert held.weights[node].tolist() == weights.tolist()
        assert held.rows[node] == objects.count[here].sum()
        assert held.costs[node].tolist() == units.costs[here].sum(axis=0).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_costs_span_at_least_nothing(seed):
    costs = np.random.default_rng(seed).integers(-5, 9, (seed, 1 + seed % 4))
    most, least = costs.max(axis=1, initial=0), costs.min(axis=1, initial=0)
    saved = (most[:, None] - costs).sum()
    assert kernels.span_of_costs(costs) == ((most - least).sum(), saved)
