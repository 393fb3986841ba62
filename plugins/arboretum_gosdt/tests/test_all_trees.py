"""All trees within a cost bound, against a list of every tree of tiny tables."""

from __future__ import annotations

import itertools
import time
from collections import Counter

import attrs
import numpy as np
import pytest

from arboretum.api import OutOfTime
from arboretum.kernels.solving.fingerprints import find
from arboretum_gosdt.all_trees.enumeration import AllTrees
from arboretum_gosdt.all_trees.table import Rows, make_table
from arboretum_gosdt.sparse.loop import DEPTH_KEY
from arboretum_gosdt.sparse.node import UNLIMITED
from arboretum_gosdt.sparse.search import SparseSearch


def every_tree(table, p, q, most, depth, least):
    """(cost, tests in preorder) of every tree that costs at most so much."""
    total = int(table.mass.sum()) and table.mass

    def trees(rows, depth):
        found = [(q * int(table.cost[rows].sum(axis=0).min()) + p, (-1,))]
        for test in range(table.outcome.shape[1]) if depth > 0 else ():
            mine = table.outcome[rows, test] == 1
            sides = rows[mine], rows[~mine]
            if all(len(side) and table.rows[side].sum() >= least for side in sides):
                test_cost = int(table.price[test] * total[rows].sum())
                ones, rests = (trees(side, depth - 1) for side in sides)
                found += [
                    (a + b + test_cost, (test, *x, *y))
                    for a, x in ones
                    for b, y in rests
                    if a + b + test_cost <= most
                ]
        return [one for one in found if one[0] <= most]

    return trees(np.arange(len(table.mass)), depth)


def random_table(rng, priced):
    answers = int(rng.integers(2, 4))
    outcome = np.unique(
        rng.integers(0, 2, (int(rng.integers(2, 9)), int(rng.integers(1, 5)))), axis=0
    ).astype(np.uint8)
    n, tests = outcome.shape
    price = rng.integers(0, 3, tests) if priced else np.zeros(tests, np.int64)
    return Rows(
        outcome,
        rng.integers(0, 4, (n, answers)),
        rng.integers(1, 4, n),
        rng.integers(1, 4, n),
        price,
    )


@pytest.mark.parametrize("limits", ["none", "depth", "least", "prices", "all"])
def test_counts_and_lists_are_those_of_all_trees(limits):
    rng = np.random.default_rng(len(limits))
    for _ in range(200):
        table = random_table(rng, limits in ("prices", "all"))
        p, q = int(rng.integers(0 if limits == "depth" else 1, 5)), int(rng.integers(1, 3))
        depth = int(rng.integers(0, 4)) if limits in ("depth", "all") else None
        least = int(rng.integers(1, 5)) if limits in ("least", "all") else 1
        limit = 9 if depth is None else depth
        most = min(cost for cost, _ in every_tree(table, p, q, 1 << 40, limit, least)) + int(
            rng.integers(0, 9)
        )
        expected = every_tree(table, p, q, most, limit, least)
        all_trees = AllTrees(table, p, q, most, depth, least)
        assert all_trees.run() == ""
        counted = all_trees.count_trees_of_sets()
        costs, counts = all_trees.costs_and_counts(counted)
        assert dict(zip(costs.tolist(), counts, strict=True)) == Counter(
            cost for cost, _ in expected
        )
        listed = [tuple(tree.tolist()) for tree in all_trees.trees(counted)]
        cost_of = {tree: cost for cost, tree in expected}
        assert len(listed) == len(expected) == len(set(listed))
        assert [cost_of[tree] for tree in listed] == sorted(cost for cost, _ in expected)


def costs_of_trees(table, p, q, most, depth, least, rows):
    """How many trees have each cost, up to ``most``: by all tests and both sides."""
    found = Counter([q * int(table.cost[rows].sum(axis=0).min()) + p])
    for test in range(table.outcome.shape[1]) if depth > 0 else ():
        mine = table.outcome[rows, test] == 1
        sides = rows[mine], rows[~mine]
        if all(len(side) and table.rows[side].sum() >= least for side in sides):
            test_cost = int(table.price[test] * table.mass[rows].sum())
            left = most - test_cost - p
            ones, rests = (
                costs_of_trees(table, p, q, left, depth - 1, least, side) for side in sides
            )
            for a, n in ones.items():
                for b, m in rests.items():
                    found[a + b + test_cost] += n * m
    return Counter({cost: n for cost, n in found.items() if cost <= most})


@pytest.mark.parametrize("seed", range(120))
def test_counts_on_more_objects_and_tests_than_a_word_holds_are_those_of_all_trees(seed):
    """Thresholds of columns among the tests, weights of many digits, two and three answers."""
    rng = np.random.default_rng([seed, 5])
    deep = seed % 2 == 0  # where sides have to be solved by a search
    for _ in range(2 if deep else 6):
        most_values = int(rng.integers(3, 5 if deep else 12))
        values = rng.integers(0, most_values, (int(rng.integers(30, 160)), 3))
        parts = [
            (values[:, [at]] > np.arange(values[:, at].max())[None, :])
            for at in range(int(rng.integers(1, 4)))
        ]
        parts += [rng.integers(0, 2, (len(values), int(rng.integers(0, 3)))) == 1]
        column = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
        free = np.flatnonzero(column == len(parts) - 1)
        column[free] += np.arange(len(free))
        outcome, first = np.unique(np.hstack(parts), axis=0, return_index=True)
        divides = outcome.any(axis=0) & ~outcome.all(axis=0)
        outcome, column = outcome[:, divides].astype(np.uint8), column[divides]
        n, tests = outcome.shape
        # noise on what two of the tests say
        says = (values[first, 0] > 2).astype(np.int64) + (values[first, -1] > 3)
        says = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), says)
        answers = int(rng.integers(2, 4))
        weight = rng.integers(1, int(rng.choice([2, 5, 1000])), n)
        price = rng.integers(0, 2, tests) if seed % 3 == 0 else np.zeros(tests, np.int64)
        table = Rows(
            outcome,
            weight[:, None] * (np.arange(answers) != says[:, None] % answers),
            rng.integers(1, 4, n),
            rng.integers(1, 4, n),
            price,
            column if seed % 4 < 2 else None,
            np.stack([outcome[:, column == b].sum(axis=1) for b in np.unique(column)], axis=1)
            if seed % 4 == 0 or seed % 8 == 1
            else None,
        )
        depth, q = 3 if deep else int(rng.integers(1, 3)), int(rng.integers(1, 3))
        p = int(rng.integers(1, 1 + max(1, q * int(weight.sum()) // 20)))
        least = int(rng.integers(1, 6)) if seed % 5 == 1 else 1
        asked = table, p, q, 1 << 40, depth, least, np.arange(n)
        best = min(costs_of_trees(*asked))
        most = best + int(rng.integers(0, 2 * p))
        expected = costs_of_trees(table, p, q, most, depth, least, np.arange(n))
        all_trees = AllTrees(table, p, q, most, depth, least)
        if seed % 3:  # the least cost first, then from what is known of it
            all_trees.restart(q * int(table.cost.sum(axis=0).min()) + p)
            assert all_trees.find_least() == ""
            assert all_trees.least_cost == best
            all_trees.restart(most)
            assert all_trees.asked_for(most) and not all_trees.asked_for(most + 1)
        assert all_trees.run() == "" and all_trees.asked_for(most)
        counted = all_trees.count_trees_of_sets()
        costs, counts = all_trees.costs_and_counts(counted)
        assert dict(zip(costs.tolist(), counts, strict=True)) == expected
        listed = list(itertools.islice(all_trees.trees(counted), 200))
        assert len({tuple(tree.tolist()) for tree in listed}) == min(200, sum(counts))
        for tree in listed:
            assert cost_of_tree(table, p, q, iter(tree.tolist()), np.arange(n)) <= most


def cost_of_tree(table, p, q, preorder, rows):
    """What a tree costs, by its tests in preorder."""
    test = next(preorder)
    if test < 0:
        return q * int(table.cost[rows].sum(axis=0).min()) + p
    mine = table.outcome[rows, test] == 1
    return int(table.price[test] * table.mass[rows].sum()) + sum(
        cost_of_tree(table, p, q, preorder, side) for side in (rows[mine], rows[~mine])
    )


@pytest.mark.slow  # compiles once more
def test_costs_beyond_the_narrow_lanes_give_the_same_trees():
    rng, times = np.random.default_rng(2), 1 << 33
    for _ in range(40):
        table = random_table(rng, priced=False)
        most = min(cost for cost, _ in every_tree(table, 2, 1, 1 << 40, 9, 1)) + int(
            rng.integers(0, 6)
        )
        wide = attrs.evolve(table, cost=table.cost * times)
        plain, scaled = AllTrees(table, 2, 1, most), AllTrees(wide, 2 * times, 1, most * times)
        assert plain.run() == scaled.run() == ""
        (costs, counts), (large, again) = (
            one.costs_and_counts(one.count_trees_of_sets()) for one in (plain, scaled)
        )
        assert (large == costs * times).all() and again == counts


def test_a_budget_below_the_optimum_has_no_tree():
    table = random_table(np.random.default_rng(3), priced=False)
    least = min(cost for cost, _ in every_tree(table, 2, 1, 1 << 40, 9, 1))
    all_trees = AllTrees(table, 2, 1, least - 1)
    assert all_trees.run() == ""
    assert list(all_trees.trees(all_trees.count_trees_of_sets())) == []


def test_large_counts_are_exact_by_remainders(monkeypatch):
    rng = np.random.default_rng(5)
    outcome = np.unique(rng.integers(0, 2, (9, 5)), axis=0).astype(np.uint8)
    ones = np.ones(len(outcome), np.int64)
    all_trees = AllTrees(
        Rows(outcome, rng.integers(0, 2, (len(outcome), 2)), ones, ones, np.zeros(5, np.int64)),
        1,
        1,
        40,
    )
    assert all_trees.run() == ""
    counted = all_trees.count_trees_of_sets()
    _, whole = all_trees.costs_and_counts(counted)
    assert max(whole) > 1000
    monkeypatch.setattr("arboretum_gosdt.all_trees.enumeration.EXACT", 1.0)
    monkeypatch.setattr("arboretum_gosdt.all_trees.enumeration.PRIMES", (101, 103, 107, 109))
    assert all_trees.costs_and_counts(counted)[1] == whole


def test_counting_is_left_and_entered_again_and_ends_with_the_time(monkeypatch):
    rng, looks = np.random.default_rng(6), []
    table = random_table(rng, priced=False)
    nothing = np.zeros(table.outcome.shape[1], bool)
    all_trees = AllTrees(table, 2, 1, 30)
    assert all_trees.run(time.monotonic() + 600, lambda: looks.append(1)) == ""
    whole, before = all_trees.costs_and_counts(all_trees.count_trees_of_sets()), len(looks)
    assert all_trees.count_trees_of_sets() is all_trees.count_trees_of_sets()
    monkeypatch.setattr("arboretum_gosdt.all_trees.enumeration.PAIRS", 1)
    counted = all_trees.count_trees_of_sets(nothing)
    assert (
        all_trees.costs_and_counts(counted)[1] == whole[1]
        and (all_trees.costs_and_counts(counted)[0] == whole[0]).all()
        and len(looks) >= before + 3
    )
    monkeypatch.setattr("arboretum.kernels.solving.slices.time.monotonic", lambda: float("inf"))
    with pytest.raises(OutOfTime, match="while trees were counted"):
        all_trees.count_trees_of_sets(nothing)


def test_what_the_trees_have_in_common_is_counted_without_listing_them():
    rng = np.random.default_rng(11)
    for _ in range(40):
        table = random_table(rng, priced=False)
        most = min(cost for cost, _ in every_tree(table, 2, 1, 1 << 40, 9, 1)) + int(
            rng.integers(0, 6)
        )
        trees = every_tree(table, 2, 1, most, 9, 1)
        all_trees = AllTrees(table, 2, 1, most)
        assert all_trees.run() == ""
        for test in range(table.outcome.shape[1]):
            without = np.arange(table.outcome.shape[1]) == test
            _, counts = all_trees.costs_and_counts(all_trees.count_trees_of_sets(without))
            assert sum(counts) == sum(test not in tree for _, tree in trees)
        said = np.zeros_like(table.cost, float)
        for _, tree in trees:
            answers(table, iter(tree), np.arange(len(table.cost)), said)
        assert all_trees.shares_of_answers(all_trees.count_trees_of_sets()) == pytest.approx(
            said / len(trees)
        )


def test_no_layout_of_a_table_has_kernels_compiled_once_more():
    rng = np.random.default_rng(12)
    for priced in (False, True):
        table = make_table(random_table(rng, priced), 2, 1, 1, None).table
        assert [
            name
            for name, array in table._asdict().items()
            if isinstance(array, np.ndarray) and not array.flags.c_contiguous
        ] == []


def test_marks_with_a_number_that_must_be_equal_keep_the_least_loss_for_each():
    rng = np.random.default_rng(8)
    for _ in range(60):
        table = random_table(rng, priced=False)
        most = min(cost for cost, _ in every_tree(table, 2, 1, 1 << 40, 9, 1)) + int(
            rng.integers(0, 8)
        )
        all_trees = AllTrees(table, 2, 1, most)
        assert all_trees.run() == ""
        # rows that are told class 1
        told = (np.arange(table.cost.shape[1]) == 1) * table.rows[:, None]
        fronts = all_trees.fronts(np.stack([table.cost, told], axis=2), equal=(False, True))
        assert fronts.run() == ""
        found = {}
        for trees in fronts.trees():
            for (loss, yes), leaves in zip(
                trees.value[:, :, 0].tolist(), trees.leaves.tolist(), strict=True
            ):
                found[yes, leaves] = min(loss, found.get((yes, leaves), loss))
        expected = {}
        for loss, yes, leaves in labelled(table, np.arange(len(table.cost))):
            if loss + 2 * leaves <= most:
                expected[yes, leaves] = min(loss, expected.get((yes, leaves), loss))
        for (yes, leaves), loss in expected.items():
            assert (
                min(value for (other, k), value in found.items() if other == yes and k <= leaves)
                <= loss
            )
        assert all(expected[key] <= loss for key, loss in found.items())


def labelled(table, rows):
    """(loss, rows told class 1, leaves) of every tree with every answer in its leaves."""
    found = {
        (int(table.cost[rows, k].sum()), int(table.rows[rows].sum()) * (k == 1), 1)
        for k in range(table.cost.shape[1])
    }
    for test in range(table.outcome.shape[1]):
        mine = table.outcome[rows, test] == 1
        if mine.any() and not mine.all():
            found |= {
                tuple(np.add(a, b).tolist())
                for a in labelled(table, rows[mine])
                for b in labelled(table, rows[~mine])
            }
    return found


def answers(table, preorder, rows, said):
    """Add to said[object, answer] what a tree says."""
    test = next(preorder)
    if test < 0:
        said[rows, table.cost[rows].sum(axis=0).argmin()] += 1
        return
    mine = table.outcome[rows, test] == 1
    answers(table, preorder, rows[mine], said)
    answers(table, preorder, rows[~mine], said)


@pytest.mark.parametrize("seed", range(100))
def test_what_a_search_hands_on_is_no_more_than_trees_cost(seed):
    rng = np.random.default_rng([seed, 8])
    n, m = int(rng.integers(4, 12)), int(rng.integers(2, 5))
    table = rng.integers(0, 2, (n, m)).astype(bool)
    weights = rng.integers(1, 9, n)[:, None] * np.eye(2, dtype=np.int64)[rng.integers(0, 2, n)]
    p = int(rng.integers(1, 9))

    def least(rows):
        cost = [int(weights[rows].sum() - weights[rows].sum(axis=0).max()) + p]
        for f in range(m):
            sides = rows[table[rows, f]], rows[~table[rows, f]]
            cost += [sum(map(least, sides))] if all(map(len, sides)) else []
        return min(cost)

    bits = np.packbits(np.pad(table, ((0, 0), (0, 32 - m))), axis=1, bitorder="little").view(
        np.uint32
    )
    search = SparseSearch(bits, weights, m, p, 1)
    search.run(None, None, lambda low, up: None)
    words, slots, lower, upper, first = search.bounds_of_closed_sets(
        int(rng.integers(0, 2 * p)), None, None
    )
    for f in range(m):
        sides = np.flatnonzero(table[:, f]), np.flatnonzero(~table[:, f])
        if all(map(len, sides)):
            assert first[f] <= sum(map(least, sides))
    for rows in {
        tuple(np.flatnonzero((table[:, tests] == says).all(axis=1))) for tests, says in paths(m)
    } - {()}:
        rows = np.array(rows)
        one, two = words[rows].sum(axis=0, dtype=np.uint64)
        if (
            known := find(
                slots, np.uint64((int(one) + int(DEPTH_KEY) * int(UNLIMITED)) % 2**64), two
            )
        ) >= 0:
            assert lower[known] <= least(rows) <= upper[known]


def paths(m):
    for says in itertools.product((0, 1, 2), repeat=m):  # 2: not asked
        tests = [f for f in range(m) if says[f] < 2]
        yield tests, np.array([says[f] for f in tests], bool)
