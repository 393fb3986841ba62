"""Sorted columns: the order of NumPy's stable sort, and what an entry says about its row."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.engine.search.raw import as_integers
from arboretum.kernels.presort import partition_order, sort_columns

SIZES = (1, 2, 7, 1000, 5000)


def columns(n: int, dtype: type) -> np.ndarray:
    """Uniform, rounded, mostly missing with both signs of NaN, zeros of both signs, infinities,
    many magnitudes.
    """
    generator = np.random.default_rng(n)
    x = generator.normal(size=(6, n)).astype(dtype)
    x[1] = np.round(x[1])
    x[2][generator.random(n) < 0.3] = np.nan
    x[2, ::5] = np.copysign(np.nan, -1.0)
    x[3] = np.where(generator.random(n) < 0.5, -0.0, 0.0)
    x[4, :: 3 + n // 10], x[4, 1 :: 3 + n // 10] = np.inf, -np.inf
    x[5] = x[5] ** 9
    return x


def entries(
    x: np.ndarray, label: np.ndarray, gap: float, kind: type = np.uint32
) -> tuple[np.ndarray, int]:
    shift = int(x.shape[1] - 1).bit_length()
    order = np.empty(x.shape, kind)
    rows = np.arange(x.shape[1], dtype=np.int32)
    sort_columns(x, as_integers(x), rows, label, shift, x.dtype.type(gap), order, 0)
    return order, shift


def rows_of(run: np.ndarray, shift: int) -> np.ndarray:
    return (run & run.dtype.type((1 << shift) - 1)).astype(np.int64)


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_columns_are_sorted_stably_with_missing_rows_last(n, dtype, kind):
    x = columns(n, dtype)
    order, shift = entries(x, np.zeros(0, np.int32), 0.0, kind)
    for f, column in enumerate(x):
        np.testing.assert_array_equal(
            rows_of(order[f], shift), np.argsort(column, kind="stable"), err_msg=str(f)
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_rows_of_a_node_are_sorted_at_its_place(dtype):
    x, gap = columns(1000, dtype), dtype(0.0)
    label = np.random.default_rng(0).integers(0, 7, 1000).astype(np.uint8)
    rows = np.flatnonzero(np.random.default_rng(1).random(1000) < 0.4).astype(np.int32)
    order = np.zeros(x.shape, np.uint32)
    sort_columns(x, as_integers(x), rows, label, 10, gap, order, 300)
    here = slice(300, 300 + len(rows))
    some, _ = entries(x[:, rows].copy(), label[rows], 0.0)
    shift = int(len(rows) - 1).bit_length()
    for run, own in zip(order, some, strict=True):
        np.testing.assert_array_equal(rows_of(run[here], 10), rows[rows_of(own, shift)])
        np.testing.assert_array_equal(run[here] >> 10, own >> shift)
        assert not run[:300].any() and not run[here.stop :].any()


@pytest.mark.parametrize("dtype, gap", [(np.float32, 1e-7), (np.float64, 0.0)])
def test_an_entry_tells_the_class_and_whether_every_greater_value_is_far_enough(dtype, gap):
    x = columns(1000, dtype)
    x[0] = np.round(x[0] * 2e6) / dtype(4e7)  # many neighbours about 1e-7 apart
    label = np.random.default_rng(0).integers(0, 7, 1000).astype(np.uint8)
    order, shift = entries(x, label, gap)
    for f, column in enumerate(x):
        rows = rows_of(order[f], shift)
        np.testing.assert_array_equal(order[f] >> (shift + 1), label[rows])
        separated = (order[f] >> shift & 1).astype(bool)
        for j in range(len(rows) - 1):
            assert separated[j] == (column[rows[j + 1]] > column[rows[j]] + dtype(gap))
        assert not separated[-1]


@pytest.mark.parametrize("arity", [2, 3])
def test_division_keeps_the_order_of_every_column_within_each_outcome(arity):
    x = columns(1000, np.float32)
    order, shift = entries(x, np.zeros(0, np.int32), 0.0)
    outcome = np.random.default_rng(1).integers(0, arity, 1000)
    rows = np.argsort(outcome, kind="stable").astype(np.int32)
    start = np.searchsorted(outcome[rows], np.arange(arity + 1))
    before = [rows_of(run, shift) for run in order]
    partition_order(
        order, 0, 1000, shift, outcome.astype(np.uint8), start, np.empty(1001, order.dtype)
    )
    for run, old in zip(order, before, strict=True):
        expected = np.concatenate([old[outcome[old] == k] for k in range(arity)])
        np.testing.assert_array_equal(rows_of(run, shift), expected)
