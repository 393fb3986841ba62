"""The general search against brute force over all trees, for every objective and limit."""

from __future__ import annotations

import math
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from tiny_tables import least, objectives, tiny_problem

from arboretum.api import Price
from arboretum.kernels.plain import interpreted
from arboretum.testing.effort import tries
from arboretum_gosdt.all_trees.enumeration import AllTrees
from arboretum_gosdt.general.known import ANY, Bounds
from arboretum_gosdt.general.relaxed import least_cost_from
from arboretum_gosdt.general.search import GeneralSearch
from arboretum_gosdt.general.splits import SplitRules
from arboretum_gosdt.problem.objectives import Accuracy
from arboretum_gosdt.problem.prepared import all_tests, merge_equal_rows, units_of


def search_of(problem, depth=None, leaves=None, **rules):
    units, objective = units_of(problem), problem.parts.objective
    merged = merge_equal_rows(problem, all_tests(problem), units)
    bounds = Bounds(ANY if depth is None else depth, ANY if leaves is None else leaves)
    return merged, GeneralSearch(
        merged, units.p, units.q, SplitRules(bounds, worst=objective.price is Price.max, **rules)
    )


@pytest.fixture
def without_all_trees(monkeypatch):
    """Limits on leaves are left to the search of sets, as where all trees take too many bytes."""
    monkeypatch.setattr(
        "arboretum_gosdt.general.search.best_tree_of_leaves", lambda *asked: (False, 0, None)
    )


def told(merged, integer):
    return (integer + merged.units.q * merged.base) * merged.units.loss_value / merged.units.q


def replayed(merged, search, worst):
    """The value of the search's tree, from its nodes and the merged objects."""
    nodes, units, leaves, costliest = search.tree(), merged.units, 0, 0
    total, waiting = merged.base * units.q, [(0, np.arange(len(merged.bits)), 0)]
    while waiting:
        node, rows, test_cost = waiting.pop()
        f, _, one, rest = nodes[node].tolist()
        if f < 0:
            weights = merged.weights[rows]
            total += units.q * int(weights.sum() - weights.sum(axis=0).max()) + units.p
            leaves, costliest = leaves + 1, max(costliest, test_cost)
            continue
        bit = (merged.bits[rows, f // 32] >> (f % 32)) & 1 == 1
        assert 0 < bit.sum() < len(rows)
        price = int(merged.price[f])
        total += 0 if worst else price * int(merged.mass[rows].sum())
        waiting += [(one, rows[bit], test_cost + price), (rest, rows[~bit], test_cost + price)]
    return (total + (costliest if worst else 0)) * units.loss_value / units.q


def check(seed, objective, **limits):
    problem = tiny_problem(seed, objective, raw=seed % 6 == 0)
    rules = {"least": limits["least"]} if "least" in limits else {}
    rules |= {"split": limits["split"]} if "split" in limits else {}
    merged, search = search_of(problem, limits.get("depth"), limits.get("leaves"), **rules)
    heard = []
    assert search.run(None, None, lambda low, up: heard.append((low, up))) == ""
    best = least(problem, **limits)
    assert told(merged, search.upper) == best, (seed, objective, limits)
    assert search.lower == search.upper
    assert replayed(merged, search, objective.price is Price.max) == best
    assert all(told(merged, low) <= best <= told(merged, up) for low, up in heard)
    assert heard and heard[-1] == (search.lower, search.upper)


LIMITS = [
    {},
    {"depth": 0},
    {"depth": 1},
    {"depth": 2},
    {"leaves": 1},
    {"leaves": 2},
    {"leaves": 3},
    {"leaves": 4, "depth": 2},
    {"leaves": 5},
    {"least": 2},
    {"least": 3, "leaves": 3},
    {"split": 4, "depth": 3},
    {"least": 2, "depth": 2, "leaves": 3},
]


@pytest.mark.compiled  # so that the tests of the other files find them compiled
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_it_finds_what_brute_force_finds(limits):
    for seed in range(25):
        for objective in objectives(seed):
            check(seed, objective, **limits)


@pytest.mark.usefixtures("without_all_trees")
@pytest.mark.parametrize("limits", [one for one in LIMITS if "leaves" in one], ids=str)
def test_the_search_of_sets_knows_limits_on_leaves_too(limits):
    for seed in range(15):
        for objective in objectives(seed):
            check(seed, objective, **limits)


@pytest.mark.compiled
def test_all_trees_that_a_price_leaves_settle_a_limit_on_leaves(monkeypatch):
    """Also where the price is not the best one, or no tree of few leaves is known; and where bytes
    run out, what is known stays true.
    """
    from arboretum_gosdt.general import search as general

    asked, real = [], general.best_tree_of_leaves

    def noted(merged, price, *others):
        found = real(merged, price, *others)
        asked.append((found[0], price[2] > 0, found[2] is not None))
        return found

    monkeypatch.setattr(general, "best_tree_of_leaves", noted)
    for seed in range(12):
        for lam, mu in ((0.0, 0.0), (0.002, 0.0), (0.02, 0.0), (0.0, 0.002), (0.004, 0.004)):
            objective, costs = Accuracy(lam=lam, mu=mu), set()
            problem = tiny_problem(seed, objective, n_rows=40, n_columns=5)
            for depth, leaves in ((None, 4), (3, 5), (4, 6)):
                for relaxed, ended in ((True, None), (False, None), (True, "bytes")):
                    merged, search = search_of(problem, depth, leaves, least=1 + seed % 3)
                    search._relaxed.usable &= relaxed
                    with monkeypatch.context() as within:
                        if ended:
                            within.setattr(AllTrees, "run", lambda *asked: "bytes")
                        assert search.run(None, None, lambda low, up: None) == ""
                    assert replayed(merged, search, False) == told(merged, search.upper)
                    costs.add((depth, leaves, search.lower, search.upper))
            assert len(costs) == 3, (seed, lam, mu)
    assert {(True, True, True), (True, True, False), (False, True, False)} <= set(asked)


def test_python_too_clears_marks_and_adds_fingerprints():
    """What leaves its type there would have a run compiled anew."""
    with interpreted(math.inf):
        for seed in (5, 7):
            for objective in objectives(seed):
                check(seed, objective)
        problem = tiny_problem(0, next(iter(objectives(0))), n_rows=24, n_columns=3)
        assert search_of(problem, depth=4)[1].run(None, None, lambda low, up: None) == ""


@pytest.mark.compiled
@pytest.mark.usefixtures("without_all_trees")
def test_interpreting_small_problems_changes_nothing_of_what_is_searched(monkeypatch):
    """The fast searches of sets work as long where their kernels are compiled already."""
    monkeypatch.setattr("arboretum_gosdt.general.search.PATIENCE", 1)
    monkeypatch.setattr("arboretum_gosdt.general.search.STEP", 1)
    monkeypatch.setattr("arboretum_gosdt.sparse.search.SLICE", 20_000)
    problem = tiny_problem(3, Accuracy(lam=0.01), n_rows=60, n_columns=7)
    found = set()
    for way in (nullcontext, partial(interpreted, 5.0)):
        with way():
            _, search = search_of(problem, None, 7)
            assert search.run(None, None, lambda low, up: None) == ""
            found.add((search.subproblems, search.upper))
    assert len(found) == 1


@pytest.mark.compiled
@pytest.mark.usefixtures("without_all_trees")
def test_looking_ahead_and_relaxing_change_nothing_but_the_work(monkeypatch):
    """On tables too large for brute force, where sets have several levels below."""
    for seed in range(2):
        for objective in objectives(seed):
            for limits in ({}, {"depth": 4}, {"leaves": 5}, {"depth": 3, "leaves": 6, "least": 2}):
                problem = tiny_problem(seed, objective, n_rows=24, n_columns=4)
                rules = {"least": limits["least"]} if "least" in limits else {}
                found = []
                for wide, relaxed, bits in (
                    (400, False, 29),
                    (0, True, 29),
                    (400, True, 29),
                    (400, True, 4),
                ):
                    monkeypatch.setattr("arboretum_gosdt.general.search.WIDE", wide)
                    monkeypatch.setattr("arboretum_gosdt.general.relaxed.BITS", bits)
                    merged, search = search_of(
                        problem, limits.get("depth"), limits.get("leaves"), **rules
                    )
                    search._relaxed.usable &= relaxed
                    assert search.run(None, None, lambda low, up: None) == ""
                    assert replayed(merged, search, objective.price is Price.max) == told(
                        merged, search.upper
                    )
                    found.append(search.upper)
                assert len(set(found)) == 1, (seed, objective, limits)


@pytest.mark.usefixtures("without_all_trees")
def test_what_is_relaxed_ends_by_counts_and_not_by_clocks(monkeypatch):
    monkeypatch.setattr("arboretum_gosdt.sparse.search.SLICE", 20_000)
    monkeypatch.setattr("arboretum_gosdt.sparse.search.EASY", 3)
    monkeypatch.setattr("arboretum_gosdt.general.search.PATIENCE", 8)
    monkeypatch.setattr("arboretum_gosdt.general.search.STEP", 1)
    problem, found = tiny_problem(3, Accuracy(lam=0.003), n_rows=40, n_columns=5), set()
    for seconds in (1e-5, 0.03, 1.0):
        monkeypatch.setattr("arboretum_gosdt.sparse.search.SLICE_SECONDS", seconds)
        _merged, search = search_of(problem, leaves=6)
        assert search.run(None, None, lambda low, up: None) == ""
        found.add((search.subproblems, search.upper))
    assert len(found) == 1


@pytest.mark.parametrize(("p", "q"), [(0, 1), (1, 1), (3, 2), (4, 6), (7, 3)])
def test_a_bound_by_leaves_is_raised_to_the_next_cost_that_a_tree_can_have(p, q):
    for leaves in range(1, 6):
        costs = {q * loss + p * k for loss in range(60) for k in range(1, leaves + 1)}
        assert [least_cost_from(low, leaves, p, q) for low in range(1, 50)] == [
            min(cost for cost in costs if cost >= low) for low in range(1, 50)
        ]


@pytest.mark.slow
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_it_finds_what_brute_force_finds_on_thousands_of_tables(limits):
    for seed in range(1000, 1000 + tries(70)):
        for objective in objectives(seed):
            check(seed, objective, **limits)
