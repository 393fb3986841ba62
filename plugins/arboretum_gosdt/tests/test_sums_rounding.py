"""What rounding does to sums, to leaves of them, and to what a run says."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
import pytest
from tiny_sums import Spread, Squares, added, numbers

from arboretum.api import Context, Status
from arboretum.engine.objective_check import Few, broken_objective
from arboretum.testing.effort import tries
from arboretum_gosdt.sums.objectives import PoissonDeviance, SquaredError
from arboretum_gosdt.sums.search import SumsSearch, exact_sums
from arboretum_gosdt.sums.solver import LeafSums


def test_sums_are_the_floats_next_to_exact_ones_whatever_their_order():
    for seed in range(tries(100)):
        generator = np.random.default_rng([seed, 47])
        n = int(generator.integers(1, 200))
        moments = generator.normal(size=(n, 3)) * 10.0 ** generator.integers(-6, 6, (n, 3))
        rows = generator.integers(1, 9, n)
        if seed % 2:
            moments[:, 0] = rows
        moments[generator.random(n) < 0.2, 1] = 0.0
        group = generator.permutation(n) % (n // 2 + 1)
        merged_rows = np.bincount(group, rows).astype(np.int64)
        counted = exact_sums(moments, merged_rows, group)
        low, digits = counted.low, counted.digits
        words = counted.sums
        np.testing.assert_array_equal(words[:, counted.rows], merged_rows)

        def floats(sums, low=low, digits=digits):
            found = sums[:3].copy()
            found[low] += sums[digits : digits + len(low)]
            return found

        some = generator.random(len(merged_rows)) < 0.5
        own = np.isin(group, np.flatnonzero(some))
        exact = [added(moments[mine]) for mine in (own, ~own, own | True)]
        shuffled = generator.permutation(np.flatnonzero(some))
        inside, whole = words[shuffled].sum(axis=0), words.sum(axis=0)
        for sums, truth in zip((inside, whole - inside, whole), exact, strict=True):
            np.testing.assert_array_equal(floats(sums), truth)
    assert exact_sums(np.full((2, 1), 0.5), np.array([1, 3])).rows == 1
    tiny = exact_sums(np.array([[1.0], [1e-60], [-1e-60]]), np.ones(3, np.int64))
    assert (np.sign(tiny.sums[1:, tiny.digits]) == [1, -1]).all()


def exact_spread(objects, w, y):
    """The same of objects, their targets and weights as they are, in fractions but for the root."""
    w, y = ([Fraction(one) for one in values[objects].tolist()] for values in (w, y))
    total = sum(w)
    mean = sum(a * b for a, b in zip(w, y, strict=True)) / total
    return math.sqrt(total * sum(a * (b - mean) ** 2 for a, b in zip(w, y, strict=True)))


def test_bounds_that_a_root_takes_of_what_rounding_leaves_are_lowered_by_so_much():
    """Of objects alone the root is 0, and its float up to 1e-8 of the target; so is a bound of
    them.
    """
    off = 0
    for seed in range(tries(60)):
        generator = np.random.default_rng([seed, 59])
        n = int(generator.integers(3, 7))
        outcome = np.unique(generator.integers(0, 2, (n, 3)).astype(np.uint8), axis=0)
        n = len(outcome)
        w, y = generator.integers(1, 9, n) / 7, generator.integers(1, 3, n) * 1000.1
        moments, rows = np.stack([w, w * y, w * y * y], axis=1), np.ones(n, np.int64)
        p, depth = float(generator.choice([0.0, 1e-7])), int(generator.choice([3, 4]))
        search = SumsSearch(
            outcome, moments, rows, Spread().leaf, superadditive=True, p=p, depth=depth
        )
        assert search.run(None) == ""

        def best(objects, left, *given):
            outcome, w, y, p = given
            found = exact_spread(list(objects), w, y) + p
            for f in range(outcome.shape[1]) if left else ():
                one = tuple(o for o in objects if outcome[o, f])
                rest = tuple(o for o in objects if not outcome[o, f])
                if one and rest:
                    both = best(one, left - 1, *given) + best(rest, left - 1, *given)
                    found = min(found, both)
            return found

        truth = best(tuple(range(n)), depth, outcome, w, y, p)
        assert search.lower - search.slack <= truth
        off += search.lower > truth + 1e-9 * max(1.0, truth)
    assert off  # the bound was higher before it is lowered


def test_a_run_is_not_optimal_where_rounding_leaves_more_than_no_gap():
    problem = numbers(0, Spread(lam=0.01), max_depth=3)
    far = attrs.evolve(problem.objects, y=problem.objects.y + 1e6)
    solution = LeafSums().solve(attrs.evolve(problem, objects=far), Context())
    assert solution.status is Status.feasible and solution.finished
    assert "proven up to" in solution.notes[0]
    near = LeafSums().solve(numbers(0, Squares(lam=0.01), max_depth=3), Context())
    assert near.status is Status.optimal


@pytest.mark.parametrize(
    ("objective", "targets"),
    [
        (SquaredError(), [1.0, -1.1, -608.175, 1.0, -2.7595395941955445]),
        (PoissonDeviance(), [3.3, 7.7, 0.1, 3.3, 512.7]),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_promise_of_unions_is_not_broken_by_what_rounding_leaves_of_nothing(objective, targets):
    """Leaves of one target cost 0, a difference of sums as large as targets are."""
    problem = numbers(0, objective)
    objects = problem.objects.take(np.arange(5))
    weight = np.array([1.0, 2.0, 1.0, 2.0, 0.1])
    objects = attrs.evolve(objects, y=np.array(targets), weight=weight)
    assert broken_objective(Few.of(attrs.evolve(problem, objects=objects))) == ""
