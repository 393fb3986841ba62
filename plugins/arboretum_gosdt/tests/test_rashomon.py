"""The Rashomon set and the k best trees, against every tree of tiny tables."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from tiny_tables import Held, OwnCosts, least, limited, tiny_problem

from arboretum.api import CapabilityError, ColumnKind, Context, Limits, Status, StoreError
from arboretum.testing.effort import tries
from arboretum_gosdt.all_trees.first_tests import Thresholds
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix
from arboretum_gosdt.problem.prepared import all_tests, merge_equal_rows, units_of
from arboretum_gosdt.solvers.rashomon import Rashomon, TreeSet


def every_value(problem, depth):
    """How many trees have each value, by all trees over the tests that differ; in exact
    fractions.
    """
    objects, objective, units = problem.objects, problem.parts.objective, units_of(problem)
    merged, tests = merge_equal_rows(problem, all_tests(problem), units), all_tests(problem)
    everything = np.arange(objects.n_objects)
    outcomes = [tests.outcome(int(test), everything) for test in merged.tests]
    prices = [
        Fraction(units.price_value) * Fraction(str(float(tests.price[test])))
        for test in merged.tests
    ]

    def trees(rows, depth):
        loss = min(int(units.costs[rows, k].sum()) for k in range(units.costs.shape[1]))
        found = Counter([units.q * loss + units.p])
        for outcome, price in zip(outcomes, prices, strict=True) if depth else ():
            sides = rows[outcome[rows]], rows[~outcome[rows]]
            if all(map(len, sides)):
                test_cost = price * int(units.mass[rows].sum())
                for a, n in trees(sides[0], depth - 1).items():
                    for b, m in trees(sides[1], depth - 1).items():
                        found[a + b + test_cost] += n * m
        return found

    unit = units.loss_value / units.q
    assert objective is not None
    return {cost * unit: n for cost, n in trees(everything, depth).items()}


@pytest.mark.parametrize("seed", range(60))
def test_the_set_is_that_of_all_trees(seed, monkeypatch):
    monkeypatch.setattr("arboretum_gosdt.solvers.rashomon.FEW_TESTS", 0)
    if seed % 2:  # as where tests are many, or few
        monkeypatch.setattr("arboretum_gosdt.solvers.rashomon.MANY_TESTS", 0)
    rng = np.random.default_rng([seed, 77])
    more = {
        "lam": float(rng.choice([0.01, 0.05, 0.125, 2 / 37])),
        "mu": float(rng.choice([0.0, 0.0, 0.1])),
    }
    objective = [
        Accuracy(**more),
        Balanced(**more),
        CostMatrix(costs=[[0, 1, 2], [1, 0, 1], [3, 1, 0]], **more),
    ][seed % 3]
    problem = limited(tiny_problem(seed, objective, n_columns=2), objective=objective)
    depth = 2 if seed % 4 == 0 else None
    if depth:
        problem = limited(problem, stopping=(Held(Limits(max_depth=depth)),))
    epsilon = float(rng.choice([0.0, 0.05, 0.5]))
    expected = every_value(problem, depth or 9)
    best = min(expected)
    if depth is None:
        assert best == least(problem)
    kept = {
        value: n for value, n in expected.items() if value <= best * (1 + Fraction(str(epsilon)))
    }
    found = Rashomon(epsilon=epsilon, listed=5).solve(problem, Context())
    assert found.status is Status.optimal and found.value == pytest.approx(float(best))
    assert int(found.details["trees"]) == sum(kept.values())
    assert found.details["most"] == pytest.approx(float(max(kept)))
    ordered = sorted(value for value, n in kept.items() for _ in range(min(n, 6)))[1:6]
    assert [objective.value(tree, problem) for tree in found.others] == pytest.approx(
        [float(value) for value in ordered]
    )
    k = int(rng.integers(1, 30))
    several = sorted(value for value, n in expected.items() for _ in range(min(n, 30)))
    last = several[min(k, len(several)) - 1]
    found = Rashomon(k=k, listed=0, compared=0).solve(problem, Context())
    assert int(found.details["trees"]) == sum(n for value, n in expected.items() if value <= last)


@pytest.mark.parametrize("few_tests", [0, 14])
@pytest.mark.parametrize("seed", range(6))
def test_of_a_gain_a_share_is_given_up(seed, few_tests, monkeypatch):
    """And however great ε is, no more than all trees are asked for."""
    monkeypatch.setattr("arboretum_gosdt.solvers.rashomon.FEW_TESTS", few_tests)
    objective = OwnCosts(seed=seed, lam=0.1)
    problem = limited(tiny_problem(seed, objective, n_columns=2), objective=objective)
    values = sorted(float(one) for one, n in every_value(problem, 9).items() for _ in range(n))
    assert values[0] == pytest.approx(float(least(problem)))
    for epsilon in (0.0, 0.3, 1.0, 1e300):
        most = values[0] + epsilon * abs(values[0]) + 1e-9
        found = Rashomon(epsilon=epsilon).solve(problem, Context())
        assert found.value == pytest.approx(values[0])
        assert int(found.details["trees"]) == sum(value <= most for value in values)


@pytest.mark.parametrize("seed", range(tries(150)))
def test_the_set_over_thresholds_is_that_of_all_trees(seed, monkeypatch):
    """By codes in place of bits, and by the search over intervals of cuts, whose bounds of first
    tests are tried: no tree costs less that begins with one.
    """
    monkeypatch.setattr("arboretum_gosdt.solvers.rashomon.MANY_TESTS", 0)
    monkeypatch.setattr("arboretum_gosdt.all_trees.table.FEW_THRESHOLDS", 0)
    if seed % 2:
        monkeypatch.setattr("arboretum_gosdt.all_trees.table.MANY_THRESHOLDS", 0)
        monkeypatch.setattr("arboretum_gosdt.problem.prepared.MANY_THRESHOLDS", 0)
    rng = np.random.default_rng([seed, 78])
    lam = float(rng.choice([0.01, 0.03, 0.125, 2 / 37]))
    objective = [
        Accuracy(lam=lam),
        Balanced(lam=lam),
        CostMatrix(costs=[[0, 1, 2], [1, 0, 1], [3, 1, 0]], lam=lam),
    ][seed % 3]
    problem = tiny_problem(seed, objective, n_rows=9, n_columns=2, raw=True, most_values=7)
    depth = 1 + seed // 2 % 3
    problem = limited(problem, objective=objective, stopping=(Held(Limits(max_depth=depth)),))
    epsilon = float(rng.choice([0.0, 0.05, 0.3, 2.0]))
    expected = every_value(problem, depth)
    best = min(expected)
    kept = {
        value: n for value, n in expected.items() if value <= best * (1 + Fraction(str(epsilon)))
    }
    found = Rashomon(epsilon=epsilon, listed=5).solve(problem, Context())
    assert found.status is Status.optimal and found.value == pytest.approx(float(best))
    assert int(found.details["trees"]) == sum(kept.values())
    assert found.details["most"] == pytest.approx(float(max(kept)))
    assert [objective.value(tree, problem) for tree in (found.tree, *found.others)] == (
        pytest.approx(
            [float(v) for v in sorted(v for v, n in kept.items() for _ in range(min(n, 6)))[:6]]
        )
    )
    k = int(rng.integers(1, 30))
    several = sorted(value for value, n in expected.items() for _ in range(min(n, 30)))
    last = several[min(k, len(several)) - 1]
    found = Rashomon(k=k, listed=0, compared=0).solve(problem, Context())
    assert int(found.details["trees"]) == sum(n for value, n in expected.items() if value <= last)


def test_intervals_of_cuts_bound_the_set_over_thresholds(monkeypatch):
    """The same as without them, of tables where they leave few first tests."""
    monkeypatch.setattr("arboretum_gosdt.solvers.rashomon.MANY_TESTS", 0)
    monkeypatch.setattr("arboretum_gosdt.all_trees.table.FEW_THRESHOLDS", 0)
    bounded, plain = [], Thresholds.bound_first_tests

    def bound(self, *asked):
        bounded.append(plain(self, *asked))
        return bounded[-1]

    for seed in range(8):
        problem = tiny_problem(seed, n_rows=60, n_columns=3, raw=True, most_values=8)
        stopping = (Held(Limits(max_depth=2 + seed % 2)),)
        problem = limited(problem, objective=Accuracy(lam=0.03), stopping=stopping)
        found = []
        for way in (bound, lambda *asked: None):
            monkeypatch.setattr(Thresholds, "bound_first_tests", way)
            found.append(Rashomon(epsilon=0.1, listed=20).solve(problem, Context()))
        assert found[0].details == found[1].details and found[0].value == found[1].value
    assert sum(len(set(known.first.tolist())) > 2 for known in bounded) > 4


@pytest.mark.parametrize("labels", [2, 3])
def test_codes_find_the_set_that_bits_find(labels, monkeypatch):
    """Of more objects and thresholds than a word holds, with weights whose sums do not fit where
    several are packed in one number; in the same order.
    """
    monkeypatch.setattr("arboretum_gosdt.solvers.rashomon.MANY_TESTS", 0)
    packed, many = [], 0
    for seed in range(6):
        problem = tiny_problem(seed, n_rows=150, n_columns=3, raw=True, most_values=60)
        table = problem.objects.table
        rng = np.random.default_rng([seed, 79])
        signal = problem.objects.raw[:, 0] + problem.objects.raw[:, 1] + rng.integers(0, 20, 150)
        label = (signal * labels // (signal.max() + 1)).astype(np.int32)
        weights = rng.choice([1.0, 2.0 if seed % 2 else 2.0**17 + 1], 150)
        target = attrs.evolve(table.target, codes=label, classes=tuple("uvw"[:labels]))
        table = attrs.evolve(table, target=target, weights=weights)
        objects = attrs.evolve(problem.objects, table=table, label=label, weight=weights)
        problem = attrs.evolve(problem, objects=objects)
        stopping = (Held(Limits(max_depth=1 + seed % 3)),)
        problem = limited(problem, objective=Accuracy(lam=0.02), stopping=stopping)
        found = []
        for few in (0, 10**6):
            for module in ("all_trees.table", "problem.prepared"):
                monkeypatch.setattr(f"arboretum_gosdt.{module}.MANY_THRESHOLDS", few)
            found.append(Rashomon(epsilon=0.05, listed=50).solve(problem, Context()))
            read = TreeSet.read(problem, Context(), Rashomon.limits)
            read.optimum()
            held = read.chosen.search.all_trees._table.numbers
            assert held.coded == (few == 0)
            packed.append(bool(held.packed))
        many += int(found[0].details["trees"]) > 50
        assert found[0].details == found[1].details and found[0].value == found[1].value
        for one, other in zip(found[0].others, found[1].others, strict=True):
            assert [one.rules[t] for t in one.test[one.test >= 0]] == [
                other.rules[t] for t in other.test[other.test >= 0]
            ]
    assert many and any(packed) == (labels == 2)


def test_importances_are_means_over_all_pairs_of_rows():
    tried = 0
    for seed in range(30):
        problem = tiny_problem(seed, Accuracy(lam=0.02), n_columns=2)
        found = Rashomon(epsilon=0.3, listed=200).solve(problem, Context())
        if not 1 < int(found.details["trees"]) <= 200:
            continue
        tried += 1
        objects, table = problem.objects, problem.objects.table
        rows = [
            {
                one.name: one.values[r]
                if one.kind is ColumnKind.continuous
                else one.categories[one.values[r]]
                for one in table.columns
            }
            for r in range(table.n_rows)
        ]
        weight = objects.weight / objects.weight.sum()
        for name, told in found.details["columns"].items():
            lost = []
            for tree in (found.tree, *found.others):
                wrong = (
                    np.array(
                        [[says(tree, row | {name: other[name]}) for other in rows] for row in rows]
                    )
                    != objects.label[:, None]
                )
                lost.append(weight @ wrong @ weight - weight @ np.diag(wrong))
            assert (told["importance_from"], told["importance_to"]) == pytest.approx(
                (min(lost), max(lost)), abs=1e-12
            )
    assert tried > 5


def says(tree, row):
    at = 0
    while not tree.is_leaf[at]:
        outcome = tree.rules[tree.test[at]].outcome_of(row)
        at = tree.child[tree.child_offset[at] + outcome]
    return tree.label[at]


def test_the_page_needs_no_other_file_and_a_bad_folder_is_named(tmp_path):
    problem = tiny_problem(8, Accuracy(lam=0.02), n_columns=2)
    Rashomon(epsilon=2.0, page=str(tmp_path / "set.html")).solve(problem, Context())
    page = (tmp_path / "set.html").read_text(encoding="utf-8")
    assert "Rows on which good trees disagree" in page and "src=" not in page and "<svg" in page
    assert "%</span>" in page and ", 1 leaf<" in page
    assert "Importance:" in page
    raw = limited(tiny_problem(8, n_rows=30, n_columns=2, raw=True), objective=Accuracy(lam=0.02))
    Rashomon(epsilon=0.5, compared=0, page=str(tmp_path / "set.html")).solve(raw, Context())
    page = (tmp_path / "set.html").read_text(encoding="utf-8")
    held = [
        line.split("<td>")[2].split("</td>")[0]
        for line in page.split("<h2>Rows on")[1].split("<tr>")[2:]
    ]
    assert held and "Importance:" not in page
    for line in held:  # of several thresholds of a column the nearest
        assert (
            max(line.count(f"{name} {side}") for name in ("x0", "x1") for side in ("≤", "&gt;"))
            == 1
        )
    with pytest.raises(StoreError, match="solver.page="):
        Rashomon(page=str(tmp_path / "absent" / "set.html")).solve(problem, Context())


def test_every_tree_is_listed_once_whichever_of_the_best_the_search_found():
    tied = 0
    for seed in range(60):
        problem = limited(tiny_problem(seed, n_rows=9, n_columns=3), objective=Accuracy(lam=0.03))
        found = Rashomon(epsilon=0.1, listed=3000, compared=0).solve(problem, Context())
        trees = [
            str(
                [
                    (one.test[v] >= 0 and one.rules[one.test[v]], one.child.tolist())
                    for v in range(one.n_nodes)
                ]
            )
            for one in (found.tree, *found.others)
        ]
        assert len(set(trees)) == len(trees) == int(found.details["trees"])
        tied += (
            len(
                [
                    one
                    for one in found.others
                    if problem.parts.objective.value(one, problem) == found.value
                ]
            )
            > 0
        )
    assert tied > 5


@pytest.mark.compiled
def test_trees_that_would_take_too_long_to_list_are_counted_and_left(monkeypatch):
    problem = limited(
        tiny_problem(5, n_rows=200, n_columns=3, raw=True), objective=Accuracy(lam=0.001)
    )
    whole = Rashomon(epsilon=1.0, listed=3).solve(problem, Context())
    left = int(whole.details["trees"]) - 4
    assert left > 1000 and f", {left:,} of them not listed" in whole.notes[-1]
    deadline = time.monotonic() + 600.0
    seconds = itertools.count(deadline - 20.0)  # each look at the clock takes one
    monkeypatch.setattr(
        "arboretum_gosdt.solvers.rashomon.time", SimpleNamespace(monotonic=lambda: next(seconds))
    )
    found = Rashomon(epsilon=1.0, listed=10**9, compared=10**9).solve(
        problem, Context(deadline=deadline)
    )
    assert (
        found.details["trees"] == whole.details["trees"]
        and 0 < len(found.others) < left
        and 0 < found.details["compared"] < left
    )


def test_without_a_price_of_a_leaf_the_rows_in_it_may_limit_trees():
    problem = limited(tiny_problem(4, n_columns=2), objective=Accuracy(lam=0.0))
    with pytest.raises(CapabilityError, match="objective.lam=0 needs a limit"):
        Rashomon().solve(problem, Context())
    wide = [
        limited(problem, stopping=(Held(Limits(max_depth=depth, min_leaf=2)),))
        for depth in (None, 9)
    ]
    assert (
        Rashomon().solve(wide[0], Context()).details == Rashomon().solve(wide[1], Context()).details
    )


@pytest.mark.parametrize("many", [0, 300])  # with 0 another search has to take over
def test_too_little_memory_leaves_the_optimum_and_says_so(many, monkeypatch):
    monkeypatch.setattr("arboretum_gosdt.solvers.rashomon.MANY_TESTS", many)
    monkeypatch.setattr("arboretum_gosdt.solvers.rashomon.FEW_TESTS", 0)
    problem = tiny_problem(3, Accuracy(lam=0.02), n_columns=2)
    whole = Rashomon().solve(problem, Context())
    monkeypatch.setattr("arboretum_gosdt.all_trees.enumeration.DEFAULT_BYTES", 8)
    found = Rashomon().solve(problem, Context())
    assert found.status is Status.optimal and found.value == whole.value and not found.finished
    assert (
        "the set is not known: the pairs of" in found.notes[0]
        and "budget.memory_mb" in found.notes[0]
    )
