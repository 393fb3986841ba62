"""What records of larger sets say of a set, against the least costs by the definition."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from slow_prover import Exact, problem_of, unit_of

from arboretum.kernels.jit import jit
from arboretum.proof import counting, sets
from arboretum.proof.additive import Additive
from arboretum.proof.format import read
from arboretum.proof.larger_sets import inherit_sides
from arboretum.proof.records import learn, mark_of, path_set
from arboretum.proof.writing import ProofWriter
from arboretum.testing.effort import tries
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix


@jit(borrow=True)
def know(ground, log, mask, end):
    """The first ``end`` records are known, whether they follow or not."""
    for number in range(end):
        path_set(ground, log.words, log.start[number], mask)
        log.mark[number] = mark_of(ground, mask)
    learn(log, np.int64(0), end)


@jit(borrow=True)
def inherit(ground, log, at, node, scratch, depth, leaves, before):
    """Enter the set of the path at a word, and take over what larger sets say of its sides."""
    path_set(ground, log.words, at, node.mask)
    sets.enter(ground, log, node, scratch, depth, leaves)
    for place in range(before.shape[0]):
        before[place] = node.low[place]
    counting.join_sides(node, scratch.joined)
    inherit_sides(ground, log, at, node, scratch, sets.NEVER)


def drawn(rng):
    """A table whose best trees have several leaves: two labels or three, weights, costs, prices, a
    least size of leaves.
    """
    n, columns = int(rng.integers(60, 110)), 5
    x = (rng.random((n, columns)) < rng.choice([0.2, 0.5, 0.5, 0.8], columns)).astype(int)
    y = x[:, 0] ^ x[:, 1] ^ (x[:, 2] & x[:, 3]) ^ (rng.random(n) < 0.1)
    if rng.random() < 0.4:
        y = y + (x[:, 4] & (rng.random(n) < 0.9))
    y[:2], k = (0, 1), int(y.max()) + 1
    costs = rng.integers(1, 4, (k, k)) * (1 - np.eye(k, dtype=int))
    lam = float(rng.choice([0.01, 0.02, 0.03]))
    objective = [Accuracy(lam=lam), Balanced(lam=lam), CostMatrix(lam=lam, costs=costs.tolist())]
    found = objective[rng.integers(3)]
    if rng.random() < 0.4:
        found = attrs.evolve(found, mu=float(rng.choice([0.0005, 0.003, 0.01])))
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.3 else None
    # a part of a leaf of so many rows need not be one
    least = int(rng.choice([1, 1, 1, 5]))
    return problem_of(x, y.astype(int), found, weight, min_leaf=least)


def compare(seed, path):
    """How many bounds of sides were raised, and to what the side really costs."""
    rng = np.random.default_rng([31, seed])
    problem = drawn(rng)
    exact, tests = Exact(problem, unit_of(problem)), problem.objects.n_tests
    depth, leaves = [(-1, -1), (-1, -1), (3, -1), (2, -1), (-1, 4)][rng.integers(5)]
    below = max(depth - 1, -1)
    everything = frozenset(range(problem.objects.n_objects))
    steps = [
        (int(t), int(rng.integers(2))) for t in rng.permutation(exact.tests)[: rng.integers(1, 3)]
    ]

    def rows_of(steps):
        rows = everything
        for step in steps:
            rows = exact.part(rows, *step)
        return rows

    with ProofWriter(path, problem, tests=range(tests), unit=unit_of(problem)) as log:
        for left_out in range(len(steps)):
            for side in ((test, outcome) for test in range(exact.tests) for outcome in range(2)):
                larger = [*steps[:left_out], *steps[left_out + 1 :], side]
                if rows_of(larger):
                    least = int(exact.least(rows_of(larger), below, -1)[0])
                    log.record([exact.literals[t][o] for t, o in larger], least, below, -1)
        log.record([exact.literals[t][o] for t, o in steps], 0, depth, leaves)
        log.close(0, None, None)
    proof, rules = read(path), Additive(problem, range(tests), unit_of(problem))
    rules.new_log(proof.words.copy(), proof.start)
    room = rules.new_nodes(1, leaves)
    node = type(room)(*(array[0] for array in room))
    end = proof.n_records - 1
    know(rules.ground, rules.log, node.mask, end)
    before = np.empty(len(node.low), np.int64)
    at = int(proof.start[end])
    inherit(rules.ground, rules.log, at, node, rules.scratch, depth, leaves, before)
    n, raised, reached = int(node.numbers["columns"]), 0, 0
    literals = {
        int(literal): (test, outcome)
        for test, of_test in enumerate(rules.literals)
        for outcome, literal in enumerate(of_test)
    }
    for level in range(max(1, leaves - 1)):
        for side in range(2):
            for c in range(n):
                place = (2 * level + side) * n + c
                known = literals.get(2 * int(node.columns[c]) + side)
                if known is None:
                    continue
                few = -1 if leaves < 0 else level + 1
                cost = int(exact.least(exact.part(rows_of(steps), *known), below, few)[0])
                assert node.low[place] <= cost, (seed, c, side, level)
                raised += node.low[place] > before[place]
                reached += before[place] < node.low[place] == cost
    return raised, reached


def test_what_is_inherited_is_true(tmp_path):
    raised, reached = np.sum([compare(seed, tmp_path / "log") for seed in range(50)], axis=0)
    assert raised > 40 and reached > 4, (raised, reached)


@pytest.mark.slow
def test_of_many_tables_what_is_inherited_is_true(tmp_path):
    for seed in range(50, 50 + tries(450)):
        compare(seed, tmp_path / "log")
