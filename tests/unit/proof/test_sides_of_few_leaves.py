"""What trees of three and of four leaves cost on a side of a test, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from slow_prover import Exact, problem_of, unit_of

from arboretum.kernels.jit import jit
from arboretum.proof import counting, sets
from arboretum.proof.additive import Additive
from arboretum.proof.check import rules_of
from arboretum.proof.few_leaves import HALF, bound_few_leaves, fewest_beside
from arboretum.proof.format import read
from arboretum.proof.writing import ProofWriter
from arboretum.testing.effort import tries
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix


@jit(borrow=True)
def enter(ground, log, node, scratch):
    sets.enter(ground, log, node, scratch, np.int64(-1), np.int64(-1))


@jit(borrow=True)
def bound_side(ground, node, scratch, c, s, most, out):
    counting.count_column(ground, node, scratch, c)
    out[0], out[1] = bound_few_leaves(ground, node, scratch, c, s, most)


@jit(borrow=True)
def fewest(ground, n, side, whole_0, whole_1, most, out):
    out[0], out[1] = fewest_beside(ground, n, side, whole_0, whole_1, most)


def entered(problem):
    """(rules, node) of the set of all objects, counted."""
    rules = Additive(problem, range(problem.objects.n_tests), unit_of(problem))
    assert rules.ground.plain
    rules.new_log(np.zeros(0, np.int32), np.zeros(1, np.int64))
    room = rules.new_nodes(1, -1)
    node = type(room)(*(array[0] for array in room))
    node.mask[:] = rules.ground.everything
    enter(rules.ground, rules.log, node, rules.scratch)
    return rules, node


def drawn(rng, uneven=0.0, lists=0.0):
    """A table of two labels whose best trees have some three to six leaves: a few tests, or a noisy
    function of some; weights; costs of errors that differ.

    uneven : share of tables of which four leaves suffice, of a small part and of a large one.
    lists : share of those of a list of leaves, one of a label and two of the other.
    """
    n, columns = int(rng.integers(12, 40)), int(rng.integers(3, 6))
    # rare and frequent ones: of sides that differ little, one says much about the other
    x = (rng.random((n, columns)) < rng.choice([0.1, 0.5, 0.5, 0.9], columns)).astype(int)
    y = (x[:, 0] ^ (x[:, 1] & x[:, 2])) ^ (rng.random(n) < rng.choice([0.0, 0.1, 0.3]))
    if rng.random() < uneven:
        x = (rng.random((60, 4)) < [0.25, 0.5, 0.5, 0.5]).astype(int)
        y, n = np.where(x[:, 0], x[:, 1], x[:, 2]), 60
    if lists and rng.random() < lists:
        x = (rng.random((60, 5)) < rng.choice([0.2, 0.35, 0.5], 5)).astype(int)
        y, n = np.where(x[:, 0], 0, x[:, 1] | x[:, 2]) ^ (rng.random(60) < 0.05), 60
    y[:2] = 0, 1
    lam = float(rng.choice([0.005, 0.02, 0.03, 0.05, 0.08]))
    objective = [
        Accuracy(lam=lam),
        Balanced(lam=lam),
        CostMatrix(lam=lam, costs=[[0, int(rng.integers(1, 4))], [int(rng.integers(1, 4)), 0]]),
    ][rng.integers(3)]
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.3 else None
    return problem_of(x, y.astype(int), objective, weight)


def sides(problem):
    """(rules, node, column, side, rows, exact) of every side of every column that is not idle."""
    exact = Exact(problem, unit_of(problem))
    rules, node = entered(problem)
    tests = {
        int(literal): (test, outcome)
        for test, literals in enumerate(rules.literals)
        for outcome, literal in enumerate(literals)
    }
    everything = frozenset(range(problem.objects.n_objects))
    for c in range(int(node.numbers["columns"])):
        for side in range(2):
            if at := tests.get(2 * int(node.columns[c]) + side):
                yield rules, node, c, side, exact.part(everything, *at), exact


def compare(seed):
    """How many sides were compared, and how many of them have a best tree of three leaves, and of
    four.
    """
    n, of_three, of_four, out = 0, 0, 0, np.zeros(2, np.int64)
    rng, known = np.random.default_rng([28, seed]), []
    for rules, node, c, side, rows, exact in sides(drawn(rng, uneven=0.2, lists=0.3)):
        p = int(rules.ground.p)
        two, three, four, best = (int(exact.least(rows, -1, most)[0]) for most in (2, 3, 4, -1))
        for most in (4 * p, 5 * p, int(rng.integers(4 * p, 5 * p + 1))):
            bound_side(rules.ground, node, rules.scratch, c, side, most, out)
            bound, found = map(int, out)
            assert min(two, bound) == min(two, four, most), (seed, c, side, most)
            assert found >= best, (seed, c, side, most)
            assert bound == most or found == bound, (seed, c, side, most)
        # what is known of the sides of all tests spares counting, and changes nothing
        known.append((c, side, best, most, bound))
        n, of_three, of_four = n + 1, of_three + (three < two), of_four + (four < three)
    for c, side, best, *_ in known:
        place = side * int(node.numbers["columns"]) + c
        node.low[place] = node.own[place] = best
    for c, side, _, most, bound in known:
        bound_side(rules.ground, node, rules.scratch, c, side, most, out)
        assert out[0] == bound, (seed, c, side, most)
    return n, of_three, of_four


def test_pairs_of_many_words_are_counted():
    """More than four words of one label and one power of two, and not only multiples of four."""
    rng = np.random.default_rng(30)
    x, y = rng.integers(0, 2, (420, 12)), (rng.random(420) < 0.85).astype(int)
    rules, node = entered(problem_of(x, y, Accuracy(lam=0.02)))
    out, n, p = np.zeros(2, np.int64), int(node.numbers["columns"]), int(rules.ground.p)
    columns = int((node.test_cost[:n] < sets.NEVER).sum())
    saved = rules.costs.saved[rules.kept] // int(rules.ground.unit)
    words = np.diff(node.ends, prepend=0)
    assert columns >= 10 and words.max() > 4 and (words % 4).any()
    for c in range(2):
        bound_side(rules.ground, node, rules.scratch, c, 1, 4 * p, out)
        has = rules.has[:, node.columns[:columns]].astype(np.int64)
        both = has * has[:, [c]]
        assert (node.pairs[c, :columns] == saved[:, 0] @ both).all()
        assert (node.pairs[c, n : n + columns] == saved[:, 1] @ both).all()


def test_the_least_beside_two_leaves_is_by_the_definition():
    rules, out, found = entered(drawn(np.random.default_rng(1)))[0], np.zeros(2, np.int64), 0
    for seed in range(200):
        rng = np.random.default_rng([32, seed])
        side, whole = rng.integers(0, 60, (2, 32)).astype(np.int32), np.array([60, 60], np.int32)
        most = int(rng.integers(4 * rules.ground.p, 5 * rules.ground.p + 1))
        allowed = (most - 4 * int(rules.ground.p)) // int(rules.ground.unit)
        fewest(rules.ground, 32, side.ravel(), *whole, most, out)
        sides = np.concatenate([side, whole[:, None] - side], axis=1)
        for label in range(2):
            fits = whole[1 - label] - 2 * sides[1 - label] <= allowed
            least = sides[label][fits].min(initial=int(HALF))
            assert out[label] == least, (seed, label)
            found += least < 60
    assert found > 100


def test_three_leaves_and_four_are_counted():
    n, of_three, of_four = np.sum([compare(seed) for seed in range(60)], axis=0)
    assert n > 300 and of_three > 100 and of_four > 40


@pytest.mark.slow
def test_of_many_tables_three_leaves_and_four_are_counted():
    for seed in range(60, 60 + tries(470)):
        compare(seed)


def test_one_record_shows_trees_of_more_leaves_and_never_too_much(tmp_path):
    shown, large = 0, 0
    for seed in range(60):
        problem = drawn(np.random.default_rng([29, seed]))
        exact, everything = Exact(problem, unit_of(problem)), range(problem.objects.n_objects)
        few, best = (int(exact.least(frozenset(everything), -1, most)[0]) for most in (4, -1))
        with ProofWriter(
            tmp_path / "log", problem, tests=range(problem.objects.n_tests), unit=unit_of(problem)
        ) as log:
            log.record([], best, -1, -1)
            log.record([], best + 1, -1, -1)
            log.close(0, None, None)
        proof = read(tmp_path / "log")
        refused = dict(rules_of(proof, problem).refusals(proof, lambda number: None))
        assert 1 in refused
        shown, large = shown + (0 not in refused), large + (0 not in refused and best < few)
    assert shown > 40 and large > 5
