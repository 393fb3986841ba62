"""The depth-limited search against all trees of tiny tables, under every switch, budget and
width of lanes.
"""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from arboretum.testing.effort import tries
from arboretum_gosdt.depth import search as limited
from arboretum_gosdt.depth.search import LimitedSearch


def table(seed: int, *, classes: int | None = None, features: int | None = None):
    """(outcomes [rows, features], weights [rows, classes]): every row's least weight 0, not all
    of them.
    """
    rng = np.random.default_rng([seed, 77])
    classes = classes or int(rng.integers(2, 5))
    n, features = int(rng.integers(1, 26)), features or int(rng.integers(1, 7))
    outcomes = (rng.random((n, features)) < rng.choice([0.2, 0.5, 0.8])).astype(np.int64)
    weights = rng.integers(0, rng.choice([2, 4, 60, 900]), (n, classes)) * (
        rng.random((n, classes)) < 0.6
    )
    weights -= weights.min(axis=1, keepdims=True)
    kept = weights.any(axis=1)
    return outcomes[kept], weights[kept]


def packed(outcomes) -> np.ndarray:
    """uint32[rows, words]."""
    words = max(1, -(-outcomes.shape[1] // 32))
    padded = np.zeros((len(outcomes), 32 * words), np.uint8)
    padded[:, : outcomes.shape[1]] = outcomes
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint32)


def searched(outcomes, weights, depth: int, **switches) -> LimitedSearch:
    return LimitedSearch(packed(outcomes), weights, outcomes.shape[1], depth, **switches)


def least(outcomes, weights, depth: int) -> int:
    """The least loss, by trying every tree."""

    @cache
    def of(rows: tuple[int, ...], left: int) -> int:
        chosen = np.array(rows, np.int64)
        whole = weights[chosen].sum(axis=0)
        found = int(whole.sum() - whole.max(initial=0))
        for column in outcomes[chosen].T if left and found else ():
            if 0 < column.sum() < len(rows):
                parts = [tuple(chosen[column == outcome].tolist()) for outcome in (0, 1)]
                found = min(found, of(parts[0], left - 1) + of(parts[1], left - 1))
        return found

    return of(tuple(range(len(weights))), depth)


def loss(tree, outcomes, weights, depth: int) -> int:
    """Of a tree, replayed; every path is short enough, and every test saves something."""

    def below(node: int, rows, left: int) -> int:
        feature, cut, one, other = tree[node]
        whole = weights[rows].sum(axis=0)
        leaf = int(whole.sum() - whole.max(initial=0))
        if feature < 0:
            return leaf
        assert (left > 0, cut) == (True, 0)
        inside = outcomes[rows, feature] == 1
        found = below(one, rows[inside], left - 1) + below(other, rows[~inside], left - 1)
        assert found < leaf
        return found

    return below(0, np.arange(len(weights)), depth)


def check(seed: int, depth: int, features: int | None = None, **switches) -> None:
    outcomes, weights = table(seed, features=features)
    search = searched(outcomes, weights, depth, **switches)
    expected = least(outcomes, weights, depth)
    assert (search.run(), search.lower, search.upper) == ("", expected, expected), (
        seed,
        depth,
        switches,
    )
    assert loss(search.tree(), outcomes, weights, depth) == expected, (seed, depth, switches)


def drawn(seed: int) -> dict:
    """Switches, each of them on or off."""
    rng = np.random.default_rng([seed, 78])
    switches = {name: bool(rng.integers(0, 2)) for name in ("similarity", "cells", "greedy")}
    ways = {name: (None, True, False)[rng.integers(0, 3)] for name in ("ring", "triples")}
    return switches | ways


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4, 5])
def test_the_least_loss_is_that_of_all_trees(depth):
    for seed in range(15):
        check(seed, depth)


def test_every_setting_of_the_switches_finds_the_same_loss():
    for seed in range(60):
        check(seed, 3 + seed % 3, **drawn(seed))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_thousands_of_tables_under_drawn_switches(part):
    for seed in range(1000 * part, 1000 * part + tries(300)):
        rng = np.random.default_rng([seed, 79])
        check(seed, int(rng.integers(1, 6)), word=(None, 32, 64)[rng.integers(0, 3)], **drawn(seed))


def wide(seed: int, rows: int, features: int, classes: int, heaviest: int = 1):
    """A table of many features, some of them alike, with a hidden rule."""
    rng = np.random.default_rng([seed, 80])
    outcomes = (rng.random((rows, features)) < rng.uniform(0.1, 0.9, features)).astype(np.int64)
    alike = rng.integers(0, features, features // 3)
    outcomes[:, alike] = outcomes[:, (alike + 1) % features] ^ (
        rng.random((rows, len(alike))) < 0.1
    )
    label = (outcomes[:, 0] + 2 * outcomes[:, 1] * outcomes[:, 2]) % classes
    label = np.where(rng.random(rows) < 0.25, rng.integers(0, classes, rows), label)
    weights = np.zeros((rows, classes), np.int64)
    weights[np.arange(rows), label] = rng.integers(1, heaviest + 1, rows)
    return outcomes, weights


@pytest.mark.parametrize(("classes", "features"), [(2, 70), (3, 37), (2, 40)])
def test_without_bounds_and_memory_the_loss_is_the_same(classes, features):
    outcomes, weights = wide(classes, 160, features, classes, 3)
    plain = {"similarity": False, "cells": False, "greedy": False}
    found = []
    for switches in (
        {},
        {"ring": False},
        {"ring": True},
        plain,
        {"similarity": False},
        {"cells": False},
        {"triples": True},
        {"triples": False},
    ):
        search = searched(outcomes, weights, 4 if features < 60 else 3, **switches)
        search.run()
        found.append(search.upper)
        assert loss(search.tree(), outcomes, weights, 4) == search.upper
    assert len(set(found)) == 1, found


@pytest.mark.parametrize(("classes", "features", "heaviest"), [(2, 51, 1), (2, 90, 5), (4, 67, 3)])
def test_triples_are_counted_as_pairs_of_both_sides_are(classes, features, heaviest):
    for seed in range(features, features + 20):
        check(seed, 3, triples=True)
        check(seed, 3, 8 + features % 9, triples=True, word=64)  # of two vectors
    outcomes, weights = wide(features, 250, features, classes, heaviest)
    losses = set()
    for triples in (None, True, False):
        search = searched(outcomes, weights, 3, triples=triples)
        assert search._task.setting.triples == (triples is not False)
        assert search.run() == ""
        assert loss(search.tree(), outcomes, weights, 3) == search.upper == search.lower
        losses.add(search.upper)
    assert len(losses) == 1, losses


@pytest.mark.slow
def test_wider_lanes_count_the_same_and_weights_of_any_size():
    outcomes, weights = wide(5, 300, 40, 2)
    for times, word in ((1, 16), (1, 32), (1, 64), (1_000, 32), (10**12, 64)):
        search = searched(outcomes, weights * times, 3, word=None if times > 1 else word)
        search.run()
        assert search.word == word
        assert search.upper % times == 0
        assert (search.upper // times, search.lower) == (
            searched_loss(outcomes, weights, 3),
            search.upper,
        )


def searched_loss(outcomes, weights, depth: int) -> int:
    search = searched(outcomes, weights, depth)
    search.run()
    return search.upper


def test_what_an_array_holds_before_a_set_is_opened_changes_nothing():
    outcomes, weights = wide(6, 200, 40, 2, 2)
    expected = searched_loss(outcomes, weights, 5)
    search = searched(outcomes, weights, 5)
    task, rng = search._task, np.random.default_rng(1)  # the arrays that the kernel reads
    for levels in (
        task.levels.count,
        task.levels.weight,
        task.levels.key,
        task.levels.total,
        task.levels.sums,
        task.levels.entries,
    ):
        levels[:] = rng.integers(
            -9_000 if levels.dtype.kind == "i" else 0, 9_000, levels.shape
        ).astype(levels.dtype)
    for below in (
        task.levels.low,
        task.levels.up,
        task.levels.rows,
        task.levels.frame,
        task.levels.own,
        task.levels.todo,
    ):
        below[1:] = 1
    for scratch in (
        task.scratch.lanes,
        task.scratch.margins,
        task.scratch.key,
        task.scratch.shared,
        task.scratch.entries,
        task.scratch.flip,
    ):
        scratch[:] = 1
    search.run()
    assert (search.lower, search.upper) == (expected, expected)


def test_a_stopped_search_holds_a_tree_and_a_bound_and_goes_on(monkeypatch):
    monkeypatch.setattr(limited, "SLICE", 20_000)
    outcomes, weights = wide(7, 600, 60, 2)
    search, told = searched(outcomes, weights, 4), []
    expected = searched_loss(outcomes, weights, 4)
    assert search.run(until=time.monotonic() - 1.0) == "seconds"
    assert loss(search.tree(), outcomes, weights, 4) <= search.upper
    stops = 0
    while search.run(until=time.monotonic() + 0.0001, report=lambda *bounds: told.append(bounds)):
        stops += 1
        assert search.lower <= expected <= search.upper
        assert loss(search.tree(), outcomes, weights, 4) <= search.upper
    assert stops > 0
    assert search.lower == search.upper == expected
    lower, upper = zip(*told, strict=True)
    assert (sorted(lower), sorted(upper, reverse=True)) == (list(lower), list(upper))


def test_a_budget_of_bytes_stops_and_a_larger_one_goes_on(monkeypatch):
    monkeypatch.setattr(limited, "FIRST_SETS", 4)
    outcomes, weights = wide(8, 100, 20, 2)
    search = searched(outcomes, weights, 5)
    assert search.run(memory_bytes=1000) == "bytes"
    budget = search.bytes_used + 100
    assert search.run(memory_bytes=budget) == "bytes"
    assert search.bytes_used <= budget
    assert search.lower <= loss(search.tree(), outcomes, weights, 5) <= search.upper
    assert search.run() == ""
    assert (
        loss(search.tree(), outcomes, weights, 5)
        == search.upper
        == searched_loss(outcomes, weights, 5)
    )


@pytest.mark.parametrize("shape", [(0, 3, 2), (5, 0, 2), (5, 3, 1)])
def test_nothing_to_divide_is_one_leaf(shape):
    rows, features, classes = shape
    weights = np.zeros((rows, classes), np.int64)
    weights[::2, 0] = 1
    search = searched(np.zeros((rows, features), np.int64), weights, 3)
    assert search.run() == ""
    assert search.lower == search.upper == 0
    assert search.tree().tolist() == [[-1, 0, -1, -1]]
