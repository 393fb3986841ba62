"""The floor for solvers: sets by fingerprint, rows of outcomes, arrays within a budget, slices."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.errors import OutOfTime
from arboretum.kernels.solving.arrays import Arrays
from arboretum.kernels.solving.fingerprints import enter, find, random_words, rehash
from arboretum.kernels.solving.rows import (
    EQUALS,
    MIXED,
    MULTIWAY,
    NOBODY,
    THRESHOLDS,
    cheapest,
    goes,
    sort_few,
    take_rows,
    union,
)
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED, run_slices
from arboretum.testing.effort import examples


@examples(100)
@given(st.lists(st.frozensets(st.integers(0, 9), min_size=1), max_size=60), st.integers(7, 9))
def test_a_table_of_fingerprints_knows_what_a_dictionary_knows(sets, bits):
    words, slots, known = random_words(10), np.zeros((1 << bits, 2), np.uint64), {}
    larger = np.zeros((2 << bits, 2), np.uint64)
    of = lambda one: words[sorted(one)].sum(axis=0, dtype=np.uint64)
    for each in sets:
        number = known.setdefault(each, len(known))
        assert enter(slots, *of(each), number if number == len(known) - 1 else len(known)) == number
    rehash(slots, larger)
    for table in (slots, larger):
        assert all(find(table, *of(each)) == number for each, number in known.items())
        assert find(table, *of(frozenset(range(10)))) == known.get(frozenset(range(10)), -1)


@examples(100)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
    st.sampled_from([MULTIWAY, THRESHOLDS, EQUALS]),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_rows_of_an_outcome_are_those_that_a_comparison_finds(codes, family, index, outcome):
    codes = np.array(codes, np.uint8)
    outcome = outcome if family == MULTIWAY else outcome % 2
    truth = {MULTIWAY: codes, THRESHOLDS: 1 * (codes > index), EQUALS: 1 * (codes != index)}[
        family
    ] == outcome
    assert [goes(family, int(code), index, outcome) for code in codes] == truth.tolist()
    rows = np.concatenate([np.arange(len(codes)), np.full(len(codes), -1)]).astype(np.int32)
    end = take_rows(codes, family, index, outcome, rows, 0, len(codes), len(codes))
    assert (
        rows[len(codes) : end].tolist() == np.flatnonzero(truth).tolist()
        and (rows[end:] == -1).all()
    )


@examples(50)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=10), st.data())
def test_small_helpers_are_what_python_says(values, data):
    array = np.array(values)
    low = data.draw(st.integers(0, len(values) - 1))
    high = data.draw(st.integers(low + 1, len(values)))
    assert cheapest(array.astype(float), 0, low, high) == low + int(np.argmin(array[low:high]))
    sort_few(array, high)
    assert array.tolist() == sorted(values[:high]) + values[high:]
    classes = {NOBODY: set(), MIXED: {0, 1, 2}, 0: {0}, 1: {1}}
    for a in classes:
        for b in classes:
            both = classes[a] | classes[b]
            assert union(a, b) == (
                NOBODY if not both else next(iter(both)) if len(both) == 1 else MIXED
            )


def test_arrays_grow_within_their_budget_and_keep_what_they_hold():
    slots = np.zeros((4, 2), np.uint64)
    enter(slots, np.uint64(3), np.uint64(1 << 40), 0)
    arrays = Arrays({"slots": slots, "value": np.arange(4.0)})
    assert arrays.bytes_used() == arrays.peak == 64 + 32
    assert not arrays.make_room({"value": 5}, budget=159) and arrays["value"].tolist() == [
        0,
        1,
        2,
        3,
    ]
    assert arrays.make_room({"value": 5, "slots": 4}, budget=160)
    assert (
        len(arrays["value"]) == 8
        and arrays["value"][:4].tolist() == [0, 1, 2, 3]
        and arrays.peak == 160
    )
    assert arrays.make_room({"slots": 9}, None) and len(arrays["slots"]) == 16
    assert find(arrays["slots"], np.uint64(3), np.uint64(1 << 40)) == 0
    assert find(arrays["slots"], np.uint64(4), np.uint64(1 << 40)) == -1
    assert [len(array) for array in arrays.values()] == [16, 8]


def test_no_array_is_moved_that_would_still_be_moving_when_the_time_is_up(monkeypatch):
    monkeypatch.setattr("arboretum.kernels.solving.arrays.time.monotonic", lambda: 100.0)
    monkeypatch.setattr("arboretum.kernels.solving.arrays.FRESH_BYTES", 64.0)
    # 128 bytes are written anew for 8 slots, 32 for 8 values
    arrays = Arrays({"slots": np.zeros((4, 2), np.uint64), "value": np.arange(4.0)})
    with arrays.moved_by(101.9):
        assert arrays.make_room({"value": 5}, None)
        with pytest.raises(OutOfTime, match="ends before .* MB are moved"):
            arrays.make_room({"slots": 5}, None)
        assert (
            run_slices(
                lambda: NEED_ROOM, lambda: arrays.make_room({"slots": 5}, None), None, lambda: None
            )
            == "seconds"
        )
        assert [len(array) for array in arrays.values()] == [4, 8]
    with arrays.moved_by(None):
        assert arrays.make_room({"slots": 5}, None)
    assert [len(array) for array in arrays.values()] == [8, 8]


@pytest.mark.parametrize(
    ("found", "room", "until", "spent", "worked"),
    [
        ([PAUSED, NEED_ROOM, FINISHED], True, None, "", 3),
        ([NEED_ROOM, FINISHED], False, None, "bytes", 1),
        ([PAUSED] * 9, True, 2.5, "seconds", 3),
        ([FINISHED], True, 0.0, "seconds", 0),
    ],
)
def test_slices_are_worked_until_something_runs_out_and_can_be_gone_on_with(
    monkeypatch, found, room, until, spent, worked
):
    done = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(done)))
    left = iter([*found, FINISHED])
    assert run_slices(lambda: next(left), lambda: room, until, lambda: done.append(1)) == spent
    assert len(done) == worked
    assert run_slices(lambda: next(left, FINISHED), lambda: True, None, lambda: None) == ""
