"""Bins and distinct values in blocks are those of a binary search and of a sort."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import Distinct, bins_of
from arboretum.rows import values as room
from arboretum.testing.effort import examples

numbers = st.lists(
    st.one_of(
        st.integers(-3, 3).map(float),
        st.floats(allow_nan=True, allow_infinity=False),
        st.sampled_from([0.0, -0.0, 1e-300, -1e300, 1e308, float("nan")]),
    ),
    min_size=1,
    max_size=40,
)


def slow_distinct(column):
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return values, counts


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(room, "BLOCK", 4)


@examples(300)
@given(numbers, numbers, st.sampled_from([np.float32, np.float64]))
def test_bins_are_those_of_a_binary_search(column, edges, dtype):
    with np.errstate(over="ignore"):
        column, edges = np.array(column).astype(dtype), np.array(edges).astype(dtype)
    edges = np.unique(edges[np.isfinite(edges)])
    column = column[~np.isinf(column)]
    wanted = np.where(np.isnan(column), 99, np.searchsorted(edges, column, side="left"))
    assert bins_of(column, edges, 99).tolist() == wanted.tolist()


def test_values_on_an_edge_lie_in_the_lower_bin_in_every_grid():
    draw = np.random.default_rng(0)
    for _ in range(50):
        edges = np.unique(draw.normal(size=200) ** 3)
        column = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
        assert (bins_of(column, edges, 0) == np.searchsorted(edges, column)).all()


@pytest.mark.parametrize("seed", range(8))
def test_distinct_values_met_late_and_missing_ones_are_coded(seed, short_blocks):
    draw = np.random.default_rng(seed)
    column = draw.integers(0, 3 + 5 * seed, 37).astype(float)
    column[draw.random(37) < 0.2] = np.nan
    found = Distinct.of(column)
    values, counts = slow_distinct(column)
    assert found.values.tolist() == values.tolist() and found.counts.tolist() == counts.tolist()
    again = np.append(found.values, np.nan)[found.codes]
    assert np.array_equal(again, column, equal_nan=True)
    edges = (values[1:] + values[:-1]) / 2
    assert found.bins(edges, 200).tolist() == bins_of(column, edges, 200).tolist()


def test_more_values_than_codes_are_counted_all_the_same(monkeypatch):
    monkeypatch.setattr(room, "MOST_DISTINCT", 5)
    column = np.arange(12.0) % 7
    monkeypatch.setattr(room.distinct_with_codes, "__defaults__", (5, None))
    found = Distinct.of(column)
    assert found.codes.size == 0 and found.values.tolist() == list(range(7))
    assert found.counts.sum() == 12


def test_an_infinite_value_is_one_of_its_own():
    column = np.array([0.0, np.inf, np.nan, 0.0, np.inf])
    found = Distinct.of(column)
    assert found.values.tolist() == [0.0, np.inf] and found.counts.tolist() == [2, 2]
    assert found.codes.tolist() == [0, 1, 2, 0, 1]
