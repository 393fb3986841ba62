"""What the search over intervals of cuts tells the search for all trees."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_tables import Held, limited, tiny_problem

from arboretum.api import Context, Limits, Status
from arboretum_gosdt.all_trees import first_tests
from arboretum_gosdt.all_trees.enumeration import AllTrees
from arboretum_gosdt.all_trees.first_tests import Thresholds, bound_first_tests_of_set
from arboretum_gosdt.problem.objectives import Accuracy
from arboretum_gosdt.solvers.rashomon import Rashomon


def least_cost(codes, weights, p, depth):
    """Of the best tree, by all of them."""
    found = p + int(weights.sum() - weights.sum(axis=0).max())
    if depth:
        for _, one, rest in sides_of_all_thresholds(codes):
            sides = [least_cost(codes[side], weights[side], p, depth - 1) for side in (one, rest)]
            found = min(found, sum(sides))
    return found


def sides_of_all_thresholds(codes):
    for b, column in enumerate(codes.T):
        for k in range(int(column.min()), int(column.max())):
            yield (b, k), column > k, column <= k


def read_codes_everywhere(monkeypatch):
    """As where thresholds are many."""
    for where in ("all_trees.table.FEW", "all_trees.table.MANY", "problem.prepared.MANY"):
        monkeypatch.setattr(f"arboretum_gosdt.{where}_THRESHOLDS", 0)
    monkeypatch.setattr("arboretum_gosdt.solvers.rashomon.MANY_TESTS", 0)


@pytest.mark.parametrize("seed", range(40))
def test_first_tests_of_a_set_cost_what_all_trees_say(seed):
    """With values that no object has, so that neighbouring thresholds divide it alike."""
    rng = np.random.default_rng([seed, 21])
    n, depth, p = int(rng.integers(3, 12)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    codes = rng.choice([1, 2, 5, 6, 9], (n, int(rng.integers(1, 3)))).astype(np.int32)
    weights = np.zeros((n, 2), np.int64)
    weights[np.arange(n), rng.integers(0, 2, n)] = rng.integers(0, 5, n)
    margin = int(rng.integers(1, 9))
    found = bound_first_tests_of_set(codes, weights, p, depth, margin)
    least = least_cost(codes, weights, p, depth)
    if found is None:
        assert least == p or not any(True for _ in sides_of_all_thresholds(codes))
        return
    named = {
        (b, int(k)): (int(bound), sides.tolist())
        for b, (tests, first, both) in enumerate(zip(*found, strict=True))
        for k, bound, sides in zip(tests, first, both.T, strict=True)
    }
    for test, one, rest in sides_of_all_thresholds(codes):
        sides = [least_cost(codes[side], weights[side], p, depth - 1) for side in (one, rest)]
        bound, known = named.pop(test)
        assert bound <= sum(sides)
        if sum(sides) < least + margin:
            assert bound == sum(sides) and known == sides
    assert not named


@pytest.mark.parametrize("ran_out", [False, True])
def test_sets_of_several_levels_have_the_same_trees_with_bounds_from_intervals(
    ran_out, monkeypatch
):
    read_codes_everywhere(monkeypatch)
    asked = []

    def bound(*of):
        asked.append(bound_first_tests_of_set(*of))
        return None if ran_out else asked[-1]

    monkeypatch.setattr(first_tests, "bound_first_tests_of_set", bound)
    solvers = Rashomon(epsilon=0.1, listed=20), Rashomon(k=40, listed=20)
    for seed in range(40):
        problem = tiny_problem(seed, n_rows=60, n_columns=3, raw=True, most_values=9)
        if problem.objects.n_classes > 2:
            continue
        objective, stopping = Accuracy(lam=0.02), (Held(Limits(max_depth=3 + seed % 2)),)
        problem = limited(problem, objective=objective, stopping=stopping)
        found = [solver.solve(problem, Context()) for solver in solvers]
        with monkeypatch.context() as patch:
            patch.setattr(Thresholds, "bound_first_tests", lambda *_: None)
            others = [solver.solve(problem, Context()) for solver in solvers]
        for one, other in zip(found, others, strict=True):
            assert one.details == other.details and one.value == other.value
            values = [
                [objective.value(tree, problem) for tree in (each.tree, *each.others)]
                for each in (one, other)
            ]
            assert values[0] == values[1]
    assert len(asked) > 100 and sum(one is not None for one in asked) > 50


@pytest.mark.parametrize("budget", ["seconds", "bytes"])
def test_the_optimum_is_told_where_the_set_is_too_much(budget, monkeypatch):
    read_codes_everywhere(monkeypatch)
    problem = tiny_problem(3, n_rows=60, n_columns=3, raw=True, most_values=9)
    stopping = (Held(Limits(max_depth=3)),)
    problem = limited(problem, objective=Accuracy(lam=0.02), stopping=stopping)
    whole = Rashomon(epsilon=0.1, listed=0).solve(problem, Context())
    with monkeypatch.context() as patch:
        patch.setattr(AllTrees, "run", lambda *_: budget)
        patch.setattr("arboretum_gosdt.solvers.rashomon.choose_search", None)  # no other begins
        found = Rashomon(epsilon=0.1).solve(problem, Context())
    assert found.status is Status.optimal and found.value == whole.value and not found.finished
    assert problem.parts.objective.value(found.tree, problem) == pytest.approx(whole.value)
    assert any("the set is not known" in note for note in found.notes)
    assert not found.others
