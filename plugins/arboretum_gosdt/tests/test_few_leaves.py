"""Trees of two and three leaves against those drawn one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from arboretum_gosdt.all_trees.few_leaves import (
    best_tree_of_each_shape,
    most_leaves_listed,
    shapes_of_few_leaves,
)


def leaves_of(outcome, tests):
    """bool[leaves, objects]: where the objects of a tree end, by its tests in order, outcome 1
    first.
    """
    rest = iter(tests)

    def walk(here):
        test = next(rest)
        if test < 0:
            return [here]
        return walk(here & (outcome[:, test] == 1)) + walk(here & (outcome[:, test] == 0))

    return np.array(walk(np.ones(len(outcome), bool)))


@pytest.mark.parametrize("seed", range(20))
def test_they_are_all_trees_with_what_lies_in_their_leaves(seed):
    rng = np.random.default_rng(seed)
    n, tests = rng.integers(1, 9, 2)
    outcome, planes = rng.integers(0, 2, (n, tests), np.uint8), rng.integers(0, 5, (n, 3))
    found = set()
    for shape in shapes_of_few_leaves(outcome, planes, 3):
        for at in itertools.product(range(tests), repeat=shape.leaves[0].ndim - 1):
            order = shape.tests_of_tree(at)
            held = leaves_of(outcome, order)
            np.testing.assert_array_equal(
                [leaf[(slice(3), *at)] for leaf in shape.leaves], held @ planes
            )
            pair = held[shape.last : shape.last + 2].any(axis=0)  # what the last test divides
            assert (leaves_of(outcome, [order[0], -1, -1]) == pair).all(axis=1).any() or (
                len(held) == 2 and pair.all()
            )
            found.add(tuple(order))
    pairs = list(itertools.product(range(tests), repeat=2))
    assert found == {(t, -1, -1) for t in range(tests)} | {(t, s, -1, -1, -1) for t, s in pairs} | {
        (t, -1, s, -1, -1) for t, s in pairs
    }


@pytest.mark.parametrize("seed", range(20))
def test_the_best_of_each_shape_loses_least_among_all_of_it(seed):
    rng = np.random.default_rng(seed)
    n, tests, classes = rng.integers(1, 9), rng.integers(1, 6), rng.integers(2, 4)
    outcome = rng.integers(0, 2, (n, tests), np.uint8)
    weights = rng.integers(0, 9, (n, classes))

    def loss(order):
        return weights.sum() - (leaves_of(outcome, order) @ weights).max(axis=1).sum()

    pairs = list(itertools.product(range(tests), repeat=2))
    least = [
        min(loss([i, -1, -1]) for i in range(tests)),
        min(loss([i, j, -1, -1, -1]) for i, j in pairs),
        min(loss([i, -1, j, -1, -1]) for i, j in pairs),
    ]
    for depth, most in ((None, 3), (1, 2), (0, 1)):
        seen, found = best_tree_of_each_shape(outcome, weights, depth)
        assert seen == most
        assert [(one, leaves) for one, leaves, _ in found] == list(
            zip(least, (2, 3, 3), strict=True)
        )[: (0, 1, 3)[most - 1]]
        for one, leaves, nodes in found:
            assert loss(nodes[:, 0].tolist()) == one and (nodes[:, 0] < 0).sum() == leaves


def test_limits_and_many_tests_leave_fewer():
    table = np.zeros((4, 3), np.uint8)
    assert [
        most_leaves_listed(table, *more)
        for more in ((None, None), (2, None), (9, 2), (None, 1), (1, None), (None, 0))
    ] == [3, 2, 3, 2, 1, 1]
    assert most_leaves_listed(np.zeros((1, 1 << 15), np.uint8), None, None) == 2
    assert most_leaves_listed(np.zeros((4, 0), np.uint8), None, None) == 1
    assert (
        not list(shapes_of_few_leaves(table, table, 1))
        and len(list(shapes_of_few_leaves(table, table, 2))) == 1
    )
