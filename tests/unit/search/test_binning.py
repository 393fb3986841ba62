"""Values get the bin of the first edge that is not below them, whatever way that edge is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from arboretum.engine.search.bounded import bin_edges
from arboretum.kernels.binning import LAST_BIN, MISSING_BIN, assign_bins
from arboretum.testing.effort import examples


def check(raw: np.ndarray) -> None:
    edges = bin_edges(raw)
    codes, single = np.empty(raw.size, np.uint8), np.ones((raw.shape[1], 256), bool)
    flat = np.ascontiguousarray(raw).reshape(-1)
    assign_bins(flat, len(raw), raw.shape[1], 1, edges, codes, single)
    for f in range(raw.shape[1]):
        known = ~np.isnan(raw[:, f])
        expected = np.minimum(np.searchsorted(edges[f], raw[:, f], side="left"), LAST_BIN)
        assert (codes.reshape(raw.shape)[:, f] == np.where(known, expected, MISSING_BIN)).all()
        for b in range(LAST_BIN + 1):
            assert single[f, b] == (raw[known & (expected == b), f] == edges[f, b]).all()


@examples(200)
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]))
def test_any_values_even_huge_tiny_and_missing_ones(data, dtype):
    width = 32 if dtype is np.float32 else 64
    numbers = st.floats(width=width, allow_nan=True, allow_infinity=False)
    check(
        data.draw(
            hnp.arrays(dtype, st.tuples(st.integers(1, 40), st.integers(1, 2)), elements=numbers)
        )
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_values_evenly_spread_crowded_and_with_outliers(dtype):
    generator = np.random.default_rng(0)
    even = generator.random(20_003)
    columns = [
        even,
        even**9,
        np.where(even < 0.001, 1e30 * even, even),
        np.round(even * 20),
        np.exp(40 * even),
    ]
    check(np.stack(columns, axis=1).astype(dtype))


def test_a_column_without_any_value():
    check(np.full((5, 1), np.nan))
